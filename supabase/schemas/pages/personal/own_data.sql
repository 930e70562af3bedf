-- A person's own data: all of it as one document, and closing the account.

create function private.own_balance() returns numeric
language plpgsql stable security definer
as $$ begin return (select coalesce(sum(private.balance(a.partner_id, 'EUR', 'customer', a.id)), 0) from core.accounts a
                    where a.user_id = private.user_id()); end $$;
comment on function private.own_balance() is
  'What this transaction''s person is still owed, in euro. Definer, because nobody reads the ledger.';

-- What closing the account means: {balance_eur, accounts, mandated, managed_alone, lost_kwh, month, month_kwh,
-- iban_missing, kept_until}. mandated: a mandate still holds. lost_kwh, of months before this one, would count if their
-- registration were approved first. month_kwh, of this month, is lost in any case.
create function private.own_end() returns json
language sql stable
as $$
  with month as (select date_trunc('month', private.today())::date as began), lost as (
    select coalesce(sum(m.total_kwh) filter (where m.period < t.began
                                             and not private.may_still_book(c.registration_status)), 0) as lost_kwh,
           coalesce(sum(m.total_kwh) filter (where m.period >= t.began), 0) as month_kwh
      from month t cross join core.counted_months m join core.connections c on c.partner_id = m.partner_id
          and c.id = m.connection_id
     where c.account_id in (select o.id from core.accounts o where o.user_id = private.user_id())
         and m.status = 'staged')
  select json_build_object(
    'balance_eur', private.own_balance(),
    'accounts', count(*),
    'mandated', exists (
      select from core.mandates m
        join core.connections c on c.partner_id = m.partner_id and c.id = m.connection_id
       where c.account_id in (select o.id from core.accounts o where o.user_id = private.user_id())
           and m.status = 'signed' and m.lapsed_at is null and m.valid_until >= private.today()),
    'managed_alone', private.managed_alone(private.user_id()),
    'lost_kwh', (select lost_kwh from lost),
    'month', (select began from month),
    'month_kwh', (select month_kwh from lost),
    'iban_missing', coalesce(bool_or(a.iban_ciphertext is null and a.payout_handler = 'service_pays_customer'), false),
    -- of this delivery year, which is the last one
    'kept_until', case when count(*) > 0 then make_date(extract(year from private.today())::int + 7, 1, 1) end)
    from core.accounts a where a.user_id = private.user_id()
$$;

create function api.read_own_end(caller jsonb) returns json
language plpgsql stable security definer
as $$
begin
  perform private.act_as(caller, 'session');
  return json_build_object('email', (private.user_profile(private.user_id())).email, 'end', private.own_end());
end $$;
comment on function api.read_own_end(jsonb) is 'What closing a person''s account means: {email, end}.';

create function api.export_own_data(caller jsonb) returns json
language plpgsql stable security definer
as $$
declare
  people_tenant constant uuid := private.people_tenant();
  person        uuid;
begin
  perform private.act_as(caller, 'session');
  person := private.user_id();
  return json_build_object(
    'exported_at', private.iso(private.now()),
    'login', (select json_build_object('email', p.email, 'name', p.name, 'created_at', private.iso(p.created_at))
              from private.user_profile(person) p),
    'accounts', (select coalesce(json_agg(json_build_object(
        'account_id', a.id, 'type', a.type, 'display_name', a.display_name, 'company', a.company,
            'iban_last4', a.iban_last4, 'bank_name', a.bank_name, 'iban_holder', a.iban_holder,
        'payout_handler', a.payout_handler, 'created_at', private.iso(a.created_at),
        'signatory', (select json_build_object('full_name', s.full_name, 'email', s.email, 'phone', s.phone,
                                            'mail_failed_at', private.iso(s.mail_failed_at))
                        from core.signatories s where s.partner_id = people_tenant and s.account_id = a.id),
        'connections', (select coalesce(json_agg(json_build_object(
              'connection_id', c.id, 'ean_code', c.ean_code, 'ean_validation_status', c.ean_validation_status,
                  'status', c.status,
              'registration_status', c.registration_status, 'street', l.street, 'house_number', l.house_number,
              'house_number_addition', l.house_number_addition, 'postal_code', l.postal_code, 'city', l.city,
              'mandates', (select coalesce(json_agg(private.shown_mandate(m) || jsonb_build_object('address', m.address,
                  'user_agent', m.user_agent)
                                                    order by m.created_at), '[]')
                             from core.mandates m where m.partner_id = people_tenant and m.connection_id = c.id),
              'months', (select coalesce(json_agg(json_build_object('month', to_char(d.period, 'YYYY-MM'),
                                                                    'kwh', d.total_kwh, 'status', d.status)
                                                                    order by d.period), '[]')
                           from core.delivered_months d where d.partner_id = people_tenant and d.connection_id = c.id))
                               order by c.created_at), '[]')
            from core.connections c join core.locations l on l.partner_id = c.partner_id and l.id = c.location_id
           where c.partner_id = people_tenant and c.account_id = a.id),
        'payouts', (select coalesce(json_agg(json_build_object('paid_at', private.iso(p.paid_at),
                                                               'amount_eur', p.amount, 'iban_last4', p.iban_last4)
                                                               order by p.arrival), '[]')
                      from core.payout_lines p where p.partner_id = people_tenant and p.account_id = a.id
                          and p.status = 'paid')) order by a.created_at), '[]')
      from core.accounts a where a.partner_id = people_tenant and a.user_id = person),
    'chargers', (select coalesce(json_agg(json_build_object(
        'charger_id', h.id, 'name', private.charger_name(h), 'brand', h.brand, 'serial_number', h.serial_number,
            'ocpp_identity', h.ocpp_identity,
        'mid_eligible', h.mid_eligible, 'status', h.status, 'created_at', private.iso(h.created_at))
            order by h.created_at), '[]')
      from core.chargers h where h.partner_id = people_tenant and h.user_id = person),
    'charging_sessions', (select coalesce(json_agg(json_build_object(
        'charger_id', s.charger_id, 'started_at', private.iso(s.started_at), 'ended_at', private.iso(s.ended_at),
            'kwh', s.wh / 1000.0,
        'meter_id', s.meter_id, 'meter_start_kwh', s.meter_start_wh / 1000.0, 'meter_end_kwh', s.meter_end_wh / 1000.0,
            'source', s.source,
        'status', s.status, 'flags', s.flags) order by s.started_at), '[]')
      from core.charging_sessions s where s.owner_id = person),
    'partner', private.own_brand(),
    'applications', private.own_applications(),
    'tokens', private.own_tokens());
end $$;
comment on function api.export_own_data(jsonb) is
  'Everything of a person under their name, as one document. Ten years of sessions are some three megabytes.';

create function private.close_login(person uuid) returns void
language plpgsql security definer
as $$
declare
  held uuid;
begin
  for held in select g.id from core.oauth_grants g where g.user_id = person and g.revoked_at is null order by g.id loop
    perform private.end_grant(held, 'account_closed');
  end loop;
  delete from core.oauth_consents o where o.user_id = person;
  delete from core.personal_tokens t where t.user_id = person;
  delete from core.page_sessions s where s.user_id = person;
  -- a code that waits in another browser would create the login again
  delete from core.one_time_codes c using auth.users u where u.id = person and c.email = u.email
      and starts_with(c.subject, 'browser:');
  if exists (select from core.accounts a where a.user_id = person) or exists (select from core.chargers h
                                                                              where h.user_id = person) then
    -- as Supabase Auth deletes where rows must stay: by a mark, and with nothing left that says who it was
    update auth.users u
       set deleted_at = private.now(), email = 'closed-' || u.id || '@deleted.invalid', encrypted_password = null,
           raw_user_meta_data = '{}'
     where u.id = person;
  else
    delete from auth.users u where u.id = person;
  end if;
end $$;
comment on function private.close_login(uuid) is
  'Ends every credential of a person, and deletes the login. It is only marked if something of theirs must be kept. '
  'Definer, because logins belong to Supabase Auth.';

create function private.say_farewell(person uuid, ending json, input jsonb) returns void
language plpgsql security definer
as $$
declare
  tenant  constant uuid := private.partner_id();
  address constant text := (private.user_profile(person)).email;
begin
  -- kept as opt-outs are, for these partners alone
  insert into core.suppressions (email_hash)
  select private.claim_mac('ended:' || p.id || ':' || lower(address), (private.keys_for('opt_out', input ->> 'key'))[1])
    from (select a.partner_id from core.attributions a where a.user_id = person
          union select a.partner_id from core.ended_attributions a where a.user_id = person
          union select d.partner_id from core.drafts d where d.user_id = person) p (id)
  on conflict do nothing;
  -- the mail says what these notices would, but for money
  delete from core.notices n using core.accounts a
   where a.user_id = person and n.partner_id = a.partner_id and n.account_id = a.id and n.due_at is not null
       and not private.notice_of_money(n.kind);
  perform private.set_tenant(private.people_tenant()),
          private.enqueue_mail(input -> 'mail', address, 'account_closed:' || person,
                               jsonb_build_object('end', ending)),
          private.set_tenant(tenant);
end $$;
comment on function private.say_farewell(uuid, json, jsonb) is
  'Mails a person what closing the account meant, and keeps the partners that brought them from inviting them again: '
  '{key, mail}. Definer, because the list of opt-outs belongs to no tenant.';

create function api.close_own_account(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  person     uuid;
  ending     json;
  connection uuid;
  brand      jsonb;
begin
  perform private.act_as(caller, 'session');
  person := private.user_id();
  perform private.require_recent_sign_in();
  ending := private.own_end();
  if (ending ->> 'balance_eur')::numeric > 0 and (ending ->> 'iban_missing')::boolean then
    return json_build_object('closed', false);
  end if;
  -- chargers before connections, as private.store_sessions
  perform from core.chargers h where h.partner_id = private.partner_id() and h.user_id = person and h.status = 'active'
    order by h.id for no key update;
  perform from core.connections c
    join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
   where a.user_id = person and c.status = 'active' order by c.id for update of c;
  for connection in
    select c.connection_id from core.connection_mandates c
      join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
     where a.user_id = person and c.status = 'active' and c.mandate_status = 'signed' order by c.connection_id
  loop
    perform private.end_mandate(connection, 'revoked', 'customer');
  end loop;
  update core.chargers h set status = 'removed', removed_at = private.now() where h.partner_id = private.partner_id()
      and h.user_id = person and h.status = 'active';
  brand := private.own_brand();
  perform private.stop_sharing(person, (brand ->> 'partner_id')::uuid) where brand is not null;
  perform private.audit('user.account_closed', person);
  perform private.leave_partner(person, input ->> 'operator');
  perform private.say_farewell(person, ending, input);
  perform private.close_login(person);
  return json_build_object('closed', true, 'end', ending);
end $$;
comment on function api.close_own_account(jsonb, jsonb) is
  'A person closes their account: {operator, key, mail}, operator as private.leave_partner takes it. Mandates end, '
  'chargers and credentials go, and what they are owed is paid without a minimum. Answers {closed, end}; closed is '
  'false if there is money and no IBAN. They are mailed what it meant, and the partner that brought them cannot invite '
  'them again. Refused with recent_sign_in_required a quarter of an hour after signing in. docs/retention.md says what '
  'is kept.';
