-- What a partner sees of its customers and of itself, and what the people who manage it may change.

-- GET /partner/customers ---------------------------------------------------------------------------------------------

-- serves: the customers of a partner, newest first
create index attributions_newest on core.attributions (partner_id, created_at desc, user_id desc);

create function private.customer_ref(person uuid, partner uuid, key text) returns text
language plpgsql immutable
set search_path = ''
as $$ begin return 'cus_' || left(encode(private.claim_mac('customer:' || partner || ':' || person, key), 'hex'), 32); end $$;
comment on function private.customer_ref(uuid, uuid, text) is
  'How a partner knows a customer: the same for good, another for every partner, and nothing to be read from it.';

create function private.customer_page(partner core.partners, disclosing boolean, query jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
declare
  house constant uuid := private.house();
  size  constant int  := (query ->> 'size')::int;
  key   constant text := query ->> 'key';
begin
  return (
    with page as materialized (
      select a.* from core.attributions a
       where a.partner_id = partner.id
         and (query ->> 'after' is null
              or (a.created_at, a.user_id) < ((query #>> '{after,at}')::timestamptz, (query #>> '{after,id}')::uuid))
       order by a.created_at desc, a.user_id desc limit size + 1
    ), shown as (
      select * from page order by created_at desc, user_id desc limit size
    ), customers as (
      select a.created_at, a.user_id,
             private.customer_ref(a.user_id, a.partner_id, key) as customer_ref,
             -- what the partner typed itself may name the person, so an application does not get to see it
             case when disclosing then a.external_ref end as external_ref,
             a.attached_month, a.source,
             disclosing and a.source in ('partner_upload', 'partner_invite') as disclosed,
             coalesce(b.type, 'particulier') as type,
             s.full_name, s.email, s.phone,
             l.postal_code, l.street, l.house_number, l.house_number_addition, l.city,
             c.registration_status,
             coalesce(c.mandate_signed, false) as is_active,
             h.brand, m.model, h.connection_type, h.mid_eligible, coalesce(h.charger_count, 0) as charger_count
        from shown a
        left join lateral (
          select b.* from core.accounts b where b.partner_id = house and b.user_id = a.user_id order by b.created_at, b.id limit 1) b on true
        left join core.signatories s on s.partner_id = house and s.account_id = b.id
        -- of several connections the one that is furthest
        left join lateral (
          select c.*, d.mandate_status = 'signed' as mandate_signed
            from core.connections c
            join core.connection_mandates d on d.partner_id = c.partner_id and d.connection_id = c.id
           where c.partner_id = house and c.account_id = b.id and c.status = 'active'
           order by d.mandate_status = 'signed' desc, c.created_at, c.id limit 1) c on true
        left join core.locations l on l.partner_id = house and l.id = c.location_id
        left join lateral (
          select h.*, count(*) over () as charger_count from core.chargers h
           where h.partner_id = house and h.user_id = a.user_id and h.status = 'active'
           order by h.created_at desc, h.id limit 1) h on true
        left join core.charger_models m on m.id = h.catalog_charger_id
    )
    select json_build_object(
      'next', (select case when count(*) > size then (
                 select json_build_object('at', k.created_at, 'id', k.user_id) from shown k order by k.created_at, k.user_id limit 1) end from page),
      'customers', coalesce(json_agg(
        case when k.disclosed then json_build_object(
          'customer_ref', k.customer_ref, 'external_ref', k.external_ref,
          'naam', k.full_name, 'email', k.email, 'phone', k.phone,
          'postal_code', k.postal_code, 'street', k.street, 'house_number', concat_ws(' ', k.house_number, k.house_number_addition),
          'city', k.city, 'registration_status', k.registration_status,
          'attached_month', k.attached_month, 'is_active', k.is_active,
          'effective_fee_pct', partner.default_fee_pct, 'partner_share_pct', partner.partner_share_pct, 'source', k.source, 'type', k.type,
          'charger_brand', k.brand, 'charger_model', k.model, 'charger_connection_type', k.connection_type,
          'charger_mid_eligible', k.mid_eligible, 'charger_count', k.charger_count, 'has_charger', k.charger_count > 0,
          'brand_asked_at', null)
        else json_build_object(
          'customer_ref', k.customer_ref, 'external_ref', k.external_ref, 'city', k.city,
          'attached_month', k.attached_month, 'is_active', k.is_active,
          'effective_fee_pct', partner.default_fee_pct, 'partner_share_pct', partner.partner_share_pct, 'source', k.source, 'type', k.type,
          'charger_brand', k.brand, 'charger_model', k.model, 'charger_connection_type', k.connection_type,
          'charger_mid_eligible', k.mid_eligible, 'charger_count', k.charger_count, 'has_charger', k.charger_count > 0,
          'brand_asked_at', null)
        end order by k.created_at desc, k.user_id desc), '[]'))
    from customers k);
end $$;
comment on function private.customer_page(core.partners, boolean, jsonb) is
  'A page of the people a partner brought: {size, after, key} to {next, customers}. Definer, because people own what they have in the house: this is the one place that crosses over, and it discloses who they are only where the partner itself uploaded or invited them.';
grant execute on function private.customer_ref(uuid, uuid, text), private.customer_page(core.partners, boolean, jsonb) to api_owner;

create function private.own_partner() returns core.partners
language plpgsql stable
set search_path = ''
as $$
declare
  partner core.partners;
begin
  select * into partner from core.partners p where p.id = private.partner_id();
  return partner;
end $$;
comment on function private.own_partner() is 'The tenant of this transaction, as row-level security lets it see itself.';
grant execute on function private.own_partner() to api_owner;

create function api.list_customers(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'partner');
  return private.customer_page(private.own_partner(), caller ->> 'manager_id' is null, query);
end $$;
comment on function api.list_customers(jsonb, jsonb) is
  'GET /partner/customers, one stretch of it: {size, after, key} to {next, customers}, newest first. For a person (manager_id) everybody is pseudonymised.';
select private.expose('api.list_customers(jsonb, jsonb)');

-- GET /partner/me ----------------------------------------------------------------------------------------------------

create function private.partner_answer() returns json
language plpgsql stable
set search_path = ''
as $$
begin
  return (select json_build_object(
    'id', p.id,
    'name', p.name,
    'slug', p.slug,
    'is_active', p.is_active,
    'referral_code', p.referral_code,
    'referral_url', null,
    'return_url', p.return_url,
    'default_fee_pct', p.default_fee_pct,
    'partner_share_pct', p.partner_share_pct,
    'company', (select json_object_agg(f.name, p.company ->> f.name)
                  from unnest(array['name', 'kvk', 'vat', 'street', 'house_number', 'postal_code', 'city']) as f (name)),
    'payout', json_build_object('iban_masked', '**** ' || p.iban_last4, 'account_holder', p.iban_holder),
    'branding', (select json_object_agg(f.name, p.branding ->> f.name)
                   from unnest(array['display_name', 'logo_url', 'primary_color', 'reply_to']) as f (name)),
    'cap', json_build_object('rolling_days', 30, 'rolling_cap', private.draft_cap(), 'remaining', greatest(private.draft_cap() - private.drafts_made(), 0)),
    'api_key', (select json_build_object('prefix', k.prefix, 'last4', k.last4, 'created_at', private.iso(k.created_at),
                                         'last_used_at', private.iso(k.last_used_at))
                  from core.partner_keys k where k.partner_id = p.id and k.revoked_at is null))
    from core.partners p where p.id = private.partner_id());
end $$;
grant execute on function private.partner_answer() to api_owner;

create function api.get_partner(caller jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'partner');
  return json_build_object('partner', private.partner_answer());
end $$;
comment on function api.get_partner(jsonb) is 'GET /partner/me: {partner}. The IBAN by its last four, the API key by its prefix and last four.';
select private.expose('api.get_partner(jsonb)');

-- GET /partner/payouts, GET /partner/dashboard -----------------------------------------------------------------------

create function api.list_payouts(caller jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'partner');
  -- a payout follows from a sale of ERE, and none is booked here yet
  return json_build_object('payouts', '[]'::json);
end $$;
comment on function api.list_payouts(jsonb) is 'GET /partner/payouts: {payouts}, newest first. Empty until sales are booked.';
select private.expose('api.list_payouts(jsonb)');

create function private.ere_per_kwh(delivery_year int) returns numeric
language plpgsql stable
set search_path = ''
as $$ begin return (select f.ere_per_kwh from core.ere_factors f where f.delivery_year = ere_per_kwh.delivery_year); end $$;
comment on function private.ere_per_kwh(int) is 'ERE of a delivered kWh, null where the year''s factor is not published.';

create function private.partner_figures(partner core.partners) returns json
language plpgsql stable security definer
set search_path = ''
as $$
declare
  house   constant uuid := private.house();
  figures json;
begin
  with customers as materialized (
    select a.user_id, a.attached_month,
           exists (select from core.accounts b
                     join core.connections c on c.partner_id = b.partner_id and c.account_id = b.id and c.status = 'active'
                     join core.connection_mandates m on m.partner_id = c.partner_id and m.connection_id = c.id
                    where b.partner_id = house and b.user_id = a.user_id and m.mandate_status = 'signed') as is_active,
           (select count(*) from core.chargers h where h.partner_id = house and h.user_id = a.user_id and h.status = 'active') as chargers
      from core.attributions a where a.partner_id = partner.id
  ), delivered as materialized (
    select k.user_id, d.period, d.total_kwh,
           case when d.status in ('submitted', 'registered') or exists (
                  select from core.mandates m
                   where m.partner_id = d.partner_id and m.connection_id = d.connection_id and m.status in ('signed', 'expired')
                     and d.period between m.valid_from and m.valid_until)
                then d.total_kwh * coalesce(private.ere_per_kwh(extract(year from d.period)::int), 0) else 0 end as ere
      from customers k
      join core.accounts b on b.partner_id = house and b.user_id = k.user_id
      join core.connections c on c.partner_id = b.partner_id and c.account_id = b.id
      join core.delivered_months d on d.partner_id = c.partner_id and d.connection_id = c.id
     -- what a customer charged before the partner brought them is not its business
     where d.period >= k.attached_month and d.status in ('staged', 'submitted', 'registered')
  ), months as (
    select d.period, sum(d.total_kwh) as kwh, sum(d.ere) as ere, count(distinct d.user_id) filter (where d.total_kwh > 0) as active
      from delivered d group by d.period
  )
  select json_build_object(
    'customers_total', (select count(*) from customers),
    'customers_active', (select count(*) from customers where is_active),
    'drafts', (select json_object_agg(s.status, (select count(*) from core.drafts d
                                                  where d.partner_id = partner.id and private.draft_status(d) = s.status))
                 from unnest(array['invited', 'claimed', 'expired', 'conflict', 'active']) as s (status)),
    'chargers_total', (select coalesce(sum(chargers), 0) from customers),
    'kwh_total', (select round(coalesce(sum(kwh), 0), 2) from months),
    'kwh_this_month', (select round(coalesce(sum(kwh), 0), 2) from months where period = date_trunc('month', private.today())),
    'ere_estimated', (select round(coalesce(sum(ere), 0), 2) from months),
    'partner_share_estimated_eur', 0,
    'months', (select coalesce(json_agg(json_build_object('month', to_char(m.period, 'YYYY-MM'), 'kwh', round(m.kwh, 2), 'ere_credits', round(m.ere, 2),
                                                          'active_customers', m.active) order by m.period desc), '[]') from months m))
    into figures;
  return figures;
end $$;
comment on function private.partner_figures(core.partners) is
  'Sums over a partner''s customers and drafts, from the month each was attached. Definer, because the customers'' rows are in the house; sums say nothing of one of them that the list does not.';
grant execute on function private.ere_per_kwh(int), private.partner_figures(core.partners) to api_owner;

create function api.get_dashboard(caller jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'partner');
  return private.partner_figures(private.own_partner());
end $$;
comment on function api.get_dashboard(jsonb) is
  'GET /partner/dashboard. ERE of months inside a mandate, at the published factor of their year; the share in euros is 0 until a price is known.';
select private.expose('api.get_dashboard(jsonb)');

-- What a managing person changes -------------------------------------------------------------------------------------

create function private.act_as_manager(caller jsonb) returns void
language plpgsql
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'partner');
  if caller ->> 'manager_id' is null then
    raise exception 'a partner key may not run this function' using errcode = 'insufficient_privilege';
  end if;
  -- one change of a partner's settings at a time
  perform from core.partners p where p.id = private.partner_id() for no key update;
end $$;
comment on function private.act_as_manager(jsonb) is 'The second lock behind admission: settings are changed by a person, never by a key.';

create function private.manager_emails(partner uuid) returns setof text
language sql stable security definer
set search_path = ''
as $$
  select u.email
    from core.partner_managers m join auth.users u on u.id = m.user_id
   where m.partner_id = partner and u.email is not null
$$;
comment on function private.manager_emails(uuid) is 'Whom to write to about a partner itself. Definer, because logins belong to Supabase Auth.';
grant execute on function private.act_as_manager(jsonb), private.manager_emails(uuid) to api_owner;

create function api.set_partner_company(caller jsonb, company jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'partner'), private.act_as_manager(caller);
  update core.partners p set company = p.company || set_partner_company.company where p.id = private.partner_id();
  perform private.audit('partner.company_changed', private.partner_id(), jsonb_build_object('manager_id', caller -> 'manager_id'));
  return json_build_object('ok', true, 'company', private.partner_answer() -> 'company');
end $$;
comment on function api.set_partner_company(jsonb, jsonb) is 'POST /partner/company: what was sent replaces, what was not stays.';
select private.expose('api.set_partner_company(jsonb, jsonb)');

create function api.set_partner_branding(caller jsonb, branding jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'partner'), private.act_as_manager(caller);
  update core.partners p set branding = p.branding || set_partner_branding.branding where p.id = private.partner_id();
  perform private.audit('partner.branding_changed', private.partner_id(), jsonb_build_object('manager_id', caller -> 'manager_id'));
  return json_build_object('ok', true, 'branding', private.partner_answer() -> 'branding');
end $$;
comment on function api.set_partner_branding(jsonb, jsonb) is 'POST /partner/branding: what was sent replaces, what was not stays.';
select private.expose('api.set_partner_branding(jsonb, jsonb)');

create function api.set_partner_iban(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'partner'), private.act_as_manager(caller);
  update core.partners p
     set iban_ciphertext = input #>> '{iban,ciphertext}', iban_key_id = input #>> '{iban,key_id}', iban_last4 = input #>> '{iban,last4}',
         iban_holder = input ->> 'account_holder'
   where p.id = private.partner_id();
  perform private.enqueue_mails(input -> 'mail', (
    select jsonb_agg(jsonb_build_object('recipient', m.email, 'cause', 'partner_iban:' || gen_random_uuid(), 'fields', jsonb_build_object(
             'partner_name', (private.own_partner()).name, 'iban_masked', '**** ' || (input #>> '{iban,last4}'), 'account_holder', input ->> 'account_holder')))
      from private.manager_emails(private.partner_id()) m (email)));
  perform private.audit('partner.iban_changed', private.partner_id(), jsonb_build_object('manager_id', caller -> 'manager_id'));
  return json_build_object('ok', true, 'payout', private.partner_answer() -> 'payout');
end $$;
comment on function api.set_partner_iban(jsonb, jsonb) is
  'POST /partner/payout-iban: {iban: {ciphertext, key_id, last4}, account_holder, mail}. Everybody who manages the partner is told by mail.';
select private.expose('api.set_partner_iban(jsonb, jsonb)');

create function api.mint_partner_key(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  minted json;
begin
  perform private.act_as(caller, 'partner'), private.act_as_manager(caller);
  minted := private.store_partner_key(input, (input ->> 'rotate')::boolean);
  if minted is null then
    perform private.refuse('api_key_exists');
  end if;
  return minted;
end $$;
comment on function api.mint_partner_key(jsonb, jsonb) is 'POST /partner/api-keys: {rotate, key_hash, prefix, last4}. The key itself never comes here.';
select private.expose('api.mint_partner_key(jsonb, jsonb)');

create function api.revoke_partner_key(caller jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  revoked boolean;
begin
  perform private.act_as(caller, 'partner'), private.act_as_manager(caller);
  update core.partner_keys k set revoked_at = private.now() where k.partner_id = private.partner_id() and k.revoked_at is null;
  revoked := found;
  if revoked then
    perform private.audit('partner.key_revoked', private.partner_id(), jsonb_build_object('manager_id', caller -> 'manager_id'));
  end if;
  return json_build_object('ok', true, 'revoked', revoked);
end $$;
comment on function api.revoke_partner_key(jsonb) is 'POST /partner/api-keys/revoke: the active key, if there is one, stops working at once.';
select private.expose('api.revoke_partner_key(jsonb)');
