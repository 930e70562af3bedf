-- The operator on customers: find, show. Who looks somebody up leaves an audit row.

create function ops.customer_find(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  wanted  constant text := lower(btrim(input ->> 'text'));
  -- an EAN, a telephone number and an address are typed in groups
  joined  constant text := regexp_replace(wanted, '[\s.-]', '', 'g');
  id      constant uuid := private.as_uuid(wanted);
  found   jsonb;
  row     jsonb;
begin
  perform private.act_as_operator(input);
  if coalesce(length(wanted), 0) < 3 then
    perform private.refuse('text_too_short');
  end if;
  with account as (
    select 'account' as kind, a.partner_id, a.id, p.slug, coalesce(s.full_name, a.display_name) as name, s.email, a.cpo_external_ref as reference,
           (select array_agg(c.ean_code order by c.status, c.created_at) from core.connections c where c.partner_id = a.partner_id and c.account_id = a.id) as eans,
           (select m.mandate_status from core.connection_mandates m where m.partner_id = a.partner_id and m.account_id = a.id
             order by m.status, m.created_at limit 1) as status
      from core.accounts a
      join core.partners p on p.id = a.partner_id
      left join core.signatories s on s.partner_id = a.partner_id and s.account_id = a.id
     where a.id = customer_find.id
        or position(wanted in lower(concat_ws(' ', s.full_name, s.email, a.display_name, a.cpo_external_ref))) > 0
        or length(joined) >= 6 and position(joined in s.phone) > 0
        or exists (select from core.connections c join core.locations l on l.partner_id = c.partner_id and l.id = c.location_id
                    where c.partner_id = a.partner_id and c.account_id = a.id
                      and (c.ean_code = joined or c.id = customer_find.id or lower(concat(l.postal_code, l.house_number, l.house_number_addition)) = joined))
  ), draft as (
    select 'draft' as kind, d.partner_id, d.id, p.slug, coalesce(d.contact_name, d.name, d.company_name) as name, d.email, d.external_ref as reference,
           array_remove(array[d.ean], null) as eans, private.draft_status(d) as status
      from core.drafts d
      join core.partners p on p.id = d.partner_id
     -- what became an account is found as that
     where d.status <> 'active'
       and (d.id = customer_find.id or d.ean = joined
            or position(wanted in lower(concat_ws(' ', d.name, d.contact_name, d.company_name, d.email, d.external_ref))) > 0
            or lower(concat(d.postal_code, d.house_number, d.house_number_addition)) = joined)
  ), page as (
    select * from (select * from account union all select * from draft) f
     order by lower(f.name) nulls last, f.kind, f.id limit coalesce((input ->> 'limit')::int, 20)
  )
  select coalesce(jsonb_agg(jsonb_build_object('kind', p.kind, 'id', p.id, 'partner_id', p.partner_id, 'partner_slug', p.slug, 'name', p.name, 'email', p.email,
                                               'reference', p.reference, 'eans', p.eans, 'status', p.status)), '[]')
    into found from page p;
  for row in select f.row from jsonb_array_elements(found) as f (row) loop
    perform private.act_for_partner((row ->> 'partner_id')::uuid), private.audit('customer.found', (row ->> 'id')::uuid);
  end loop;
  return json_build_object('customers', found);
end $$;
comment on function ops.customer_find(jsonb) is
  'Accounts and open drafts by a part of a name, e-mail address or reference, by an id, EAN, telephone number or postal code with house number: {text, limit?} to {customers}. Leaves an audit row for each.';
select private.expose_ops('ops.customer_find(jsonb)');

create function private.account_story(account core.accounts) returns json
language sql stable
set search_path = ''
as $$
  select json_build_object(
    'account', json_build_object(
      'account_id', account.id, 'partner_slug', (select p.slug from core.partners p where p.id = account.partner_id),
      'cpo_external_ref', account.cpo_external_ref, 'access_channel', account.access_channel, 'type', account.type,
      'display_name', account.display_name, 'company', account.company, 'payout_handler', account.payout_handler,
      'iban_last4', account.iban_last4, 'balance_eur', private.balance(account.partner_id, 'EUR', 'customer', account.id),
      'brought_by', (select p.slug from core.attributions t join core.partners p on p.id = t.partner_id where t.user_id = account.user_id),
      'created_at', private.iso(account.created_at)),
    'signatory', (select json_build_object('full_name', s.full_name, 'email', s.email, 'phone', s.phone)
                    from core.signatories s where s.partner_id = account.partner_id and s.account_id = account.id),
    'connections', (select coalesce(json_agg(private.connection_row(c.partner_id, c.id) order by c.created_at, c.id), '[]')
                      from core.connections c where c.partner_id = account.partner_id and c.account_id = account.id),
    'mandates', (select coalesce(json_agg(json_build_object(
                          'connection_id', c.id, 'status', m.status, 'renewal', m.renewal, 'valid_from', m.valid_from, 'valid_until', m.valid_until,
                          'covered_until', m.covered_until, 'fee_pct', m.fee_pct, 'signed_name', m.signed_name, 'signed_at', private.iso(m.signed_at),
                          'code_confirmed', m.code_confirmed, 'ended_at', private.iso(m.ended_at), 'ended_reason', m.ended_reason)
                          order by m.created_at, m.id), '[]')
                   from core.connections c join core.mandates m on m.partner_id = c.partner_id and m.connection_id = c.id
                  where c.partner_id = account.partner_id and c.account_id = account.id),
    'chargers', (select coalesce(json_agg(private.charger_row(h) order by h.created_at, h.id), '[]')
                   from core.chargers h where h.partner_id = account.partner_id and h.account_id = account.id),
    'months', (select coalesce(json_agg(json_build_object('year', g.year, 'status', g.status, 'months', g.months, 'kwh', g.kwh) order by g.year, g.status), '[]')
                 from (select extract(year from d.period)::int as year, d.status, count(*) as months, sum(d.total_kwh) as kwh
                         from core.connections c join core.delivered_months d on d.partner_id = c.partner_id and d.connection_id = c.id
                        where c.partner_id = account.partner_id and c.account_id = account.id group by 1, 2) g),
    'told', (select coalesce(json_agg(json_build_object('kind', n.kind, 'created_at', private.iso(n.created_at), 'waits', n.due_at is not null) order by n.created_at, n.id), '[]')
               from core.notices n where n.partner_id = account.partner_id and n.account_id = account.id))
$$;
comment on function private.account_story(core.accounts) is 'Everything about an account that its operator needs at hand, but its months one by one.';

create function ops.account_show(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  account core.accounts;
begin
  perform private.act_as_operator(input);
  account := private.account_named(input ->> 'account');
  perform private.audit('account.shown', account.id);
  return private.account_story(account);
end $$;
comment on function ops.account_show(jsonb) is
  'One account: {account} to {account, signatory, connections, mandates, chargers, months, told}. Leaves an audit row.';
select private.expose_ops('ops.account_show(jsonb)');
