-- The customers of a partner in its portal: the search, and one of them.

-- How many customers a page of the portal reads, of however many: what is rare is searched in parts.
create function private.customers_examined() returns int
language sql immutable
return 2000;

-- How many accounts the clients of a partner made from one day until another, which is left out; in all, without days.
create function private.accounts_made(partner uuid, began date, ended date) returns bigint
language sql stable
as $$
  select coalesce(sum(k.accounts), 0)::bigint from core.account_counts k
   where k.partner_id = accounts_made.partner
     and (began is null or k.hour >= private.dutch_midnight(began) and k.hour < private.dutch_midnight(ended))
$$;

-- The customer of a customer_ref or of an account_id of its clients; null where it is neither.
create function private.listed_customer(ref text, partner uuid, key text) returns uuid
language sql stable
as $$
  select coalesce(private.customer_named(ref, partner, key),
                  (select a.id from core.accounts a
                    where a.partner_id = listed_customer.partner and a.id = private.as_uuid(ref)))
$$;

create function private.customer_candidates(partner uuid, looks_for jsonb, after uuid, size int) returns uuid[]
language plpgsql stable security definer
as $$
declare
  -- more than these are no less work to look up than the newest are to read
  most   constant int  := 1000;
  people_tenant constant uuid := private.people_tenant();
  typed  constant text := looks_for ->> 'text';
  month  constant date := (looks_for ->> 'month')::date;
  words  constant tsquery := private.search_query(typed);
  begins constant text := replace(replace(replace(lower(typed), '\', '\\'), '%', '\%'), '_', '\_') || '%';
  -- null: they are not searched by words
  people   uuid[];
  accounts uuid[];
  last_at timestamptz;
begin
  select coalesce(
    (select a.created_at from core.attributions a
      where a.partner_id = customer_candidates.partner and a.user_id = after),
    (select a.created_at from core.accounts a where a.partner_id = customer_candidates.partner and a.id = after))
    into last_at;
  if length(array_to_string(private.words_of(typed), '')) >= 3 then
    people := array(
      -- cut off before it is joined, so that a common word costs no more than it has to
      (select b.user_id
         from (select s.partner_id, s.account_id from core.signatories s
                where s.partner_id = people_tenant and looks_for ->> 'by' is distinct from 'api'
                  and private.search_words(s.full_name, s.email, private.phone_end(s.phone)) @@ words
                limit most + 1) s
         join core.accounts b on b.partner_id = s.partner_id and b.id = s.account_id)
      union all
      (select a.user_id from core.attributions a
        where a.partner_id = customer_candidates.partner and lower(a.external_ref) like begins limit most + 1));
    accounts := array(
      (select s.account_id from core.signatories s
        where s.partner_id = customer_candidates.partner and looks_for ->> 'by' is distinct from 'brought'
          and private.search_words(s.full_name, s.email, private.phone_end(s.phone)) @@ words limit most + 1)
      union
      (select a.id from core.accounts a
        where a.partner_id = customer_candidates.partner and looks_for ->> 'by' is distinct from 'brought'
          and private.search_words(a.display_name, a.cpo_external_ref, a.company ->> 'name') @@ words limit most + 1));
    people := case when cardinality(people) <= most then people end;
    accounts := case when cardinality(accounts) <= most then accounts end;
  end if;
  -- what an index finds is found among all accounts, if few need it
  accounts := coalesce(accounts, case
    when looks_for ->> 'needs' = 'iban' then array(
      select a.id from core.accounts a
       where a.partner_id = customer_candidates.partner and not a.iban_checksum_ok limit most + 1)
    when looks_for ->> 'needs' = 'payment' then private.accounts_paid_back(customer_candidates.partner)
    when looks_for ->> 'needs' = 'months' then (
      select r.accounts from private.accounts_rejected(customer_candidates.partner) r where r.whole)
    when looks_for ->> 'mail' = 'failed' then array(
      select s.account_id from core.signatories s
       where s.partner_id = customer_candidates.partner and s.mail_failed_at is not null limit most + 1) end);
  accounts := case when cardinality(accounts) <= most then accounts end;
  return array(
    select k.id from (
      (select a.user_id as id, a.created_at from core.attributions a
        where a.partner_id = customer_candidates.partner and looks_for ->> 'by' is distinct from 'api'
          and (people is null or a.user_id = any (people))
          and (month is null or a.attached_month = month)
          and (last_at is null or (a.created_at, a.user_id) < (last_at, after))
        order by a.created_at desc, a.user_id desc limit size)
      union all
      -- client by client, in the order of the index
      (select a.id, a.created_at
         from core.oauth_clients c
        cross join lateral (
          select a.id, a.created_at from core.accounts a
           where a.partner_id = c.partner_id and a.owner_id = c.id
             and (accounts is null or a.id = any (accounts))
             and (month is null or a.created_at >= private.dutch_midnight(month)
                                   and a.created_at < private.dutch_midnight((month + interval '1 month')::date))
             and (last_at is null or (a.created_at, a.id) < (last_at, after))
           order by a.created_at desc, a.id desc limit size) a
        where c.partner_id = customer_candidates.partner and looks_for ->> 'by' is distinct from 'brought')) k
     order by k.created_at desc, k.id desc limit size);
end $$;
comment on function private.customer_candidates(uuid, jsonb, uuid, int) is
  'The next customers of a partner, at most size, newest first, to search for {text, month, by, needs, mail}: people '
  'that it brought, and accounts of its clients. Each kind by its words if few have them, else all. Definer, because '
  'people own what they have in the people''s tenant. It discloses nothing: private.customer_page decides who '
  'is found by what.';

create function private.customers_counted(partner uuid, looks_for jsonb) returns bigint
language sql stable security definer
as $$
  select case when looks_for ->> 'by' is distinct from 'api' then (
           select count(*) from core.attributions a
            where a.partner_id = customers_counted.partner and (m.month is null or a.attached_month = m.month))
         else 0 end
       + case when looks_for ->> 'by' is distinct from 'brought'
              then private.accounts_made(customers_counted.partner, m.month, (m.month + interval '1 month')::date)
              else 0 end
    from (select (looks_for ->> 'month')::date as month) m
$$;
comment on function private.customers_counted(uuid, jsonb) is
  'How many customers a partner has, for {month, by}. Definer, because people own what they have in the people''s '
  'tenant. It discloses a count.';

create function api.read_portal_customers(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
as $$
declare
  looks_for jsonb        := jsonb_strip_nulls(query -> 'for');
  size      constant int := (query ->> 'limit')::int;
  partner   core.partners;
  key       constant text := query ->> 'key';
  after     uuid;
  examined  int;
  ids       uuid[];
  page      json;
  found     json;
begin
  perform private.act_as(caller, 'partner');
  partner := private.own_partner();
  after := private.listed_customer(query ->> 'after', partner.id, key);
  ids := array[private.listed_customer(looks_for ->> 'text', partner.id, key)];
  if ids[1] is not null then
    looks_for := looks_for - 'text';
  else
    examined := case when looks_for - array['month', 'by'] = '{}' then size + 1 else private.customers_examined() end;
    ids := private.customer_candidates(partner.id, looks_for, after, examined);
  end if;
  page := private.customer_page(partner, private.is_partner_itself(),
                                jsonb_build_object('ids', ids, 'for', looks_for, 'limit', size + 1,
                                                   'key', query -> 'key'));
  found := page -> 'customers';
  return json_build_object(
    'who', private.portal_who(),
    'counted', case when jsonb_strip_nulls(query -> 'for') - array['month', 'by'] = '{}'
                    then private.customers_counted(partner.id, looks_for) end,
    'kinds', json_build_object(
      'brought', exists (select from core.attributions a where a.partner_id = partner.id),
      'api', private.accounts_made(partner.id, null, null) > 0),
    'found', page -> 'found',
    'searched_all', cardinality(ids) is distinct from examined,
    'customers', (select coalesce(json_agg(f.customer order by f.place), '[]')
                    from json_array_elements(found) with ordinality as f (customer, place) where f.place <= size),
    'more_after', case when json_array_length(found) > size then found -> (size - 1) ->> 'customer_ref'
                 when cardinality(ids) = examined then coalesce(
                   private.listed_customer(ids[examined]::text, partner.id, key)::text,
                   private.customer_ref(ids[examined], private.customer_key(partner.id, key))) end);
end $$;
comment on function api.read_portal_customers(jsonb, jsonb) is
  'A page of a partner''s customers, newest first: {for: {text, city, is_active, source, charger, month, '
  'registration, by, needs}, after, limit, key} to {who, counted, kinds, found, searched_all, customers, more_after}, '
  'customers as private.customer_page, counted as private.customers_counted if nothing but by and month is looked for. '
  'by is brought or api; kinds says of which there are any. found counts those '
  'after the customer after, among private.customers_examined() of them; searched_all: there are no others. Send '
  'more_after as after for the next page; null is the end. A page may have fewer than its limit before that.';

-- What a partner sees of an account of its client besides the customer: its gates, its active connections, who is
-- paid, whether the IBAN can be right, whether the bank sent our last payment back because of it (paid_back), whether
-- any payment to the partner is there (has_payments), its position as GET /v1/ere-positions has it, and the newest 24
-- months with the request or file that brought them; of several connections with the end of the EAN. Null for anybody
-- else.
create function private.portal_account(partner uuid, account uuid) returns json
language plpgsql stable
as $$
declare
  -- a constant: else the positions of all accounts are made, for one
  years constant int[] := array(select f.delivery_year from core.figures f
                                 where f.partner_id = portal_account.partner order by f.delivery_year desc);
begin
  return (
  select json_build_object(
           'client', json_build_object('id', c.id, 'name', c.name), 'checklist', g.checklist,
           'connections', (
             select coalesce(json_agg(json_build_object(
                      'ean_code', n.ean_code, 'ean_validation_status', n.ean_validation_status) order by n.created_at,
                      n.id), '[]')
               from core.connections n
              where n.partner_id = portal_account.partner and n.account_id = g.account_id and n.status = 'active'),
           'payout_handler', g.payout_handler,
           'iban_checksum_ok', a.iban_checksum_ok,
           'paid_back', private.paid_back_on(a) is not null,
           'has_payments', exists (select from core.payout_lines l
                                    where l.partner_id = portal_account.partner
                                      and l.payee_id = portal_account.partner and l.status <> 'cancelled'),
           'total_kwh', p.answer -> 'total_kwh_delivered', 'ere', p.answer -> 'ere',
           'months', (
             select coalesce(json_agg(json_build_object(
                      'period', to_char(d.period, 'YYYY-MM'), 'total_kwh', d.total_kwh, 'status', d.status,
                      'reason', private.register_reason(d.whole), 'beyond_power', d.beyond_power,
                      'received_at', private.iso(d.received_at), 'request_id', v.request_id,
                      'file', u.file_name, 'upload_id', v.upload_id,
                      'ean_end', case when d.connections > 1 then right(d.ean_code, 4) end)
                      order by d.period desc, d.connection_id), '[]')
               from (select d.*, d as whole, n.ean_code, n.connections,
                            dense_rank() over (order by d.period desc) as place,
                            -- what a booking has cannot be delivered again
                            not d.locked and d.total_kwh > w.kw * private.hours_of(d.period) as beyond_power
                       from (select n.*, count(*) over () as connections from core.connections n
                              where n.partner_id = portal_account.partner and n.account_id = g.account_id) n
                       -- else the view adds up the whole tenant
                       left join lateral (select * from core.connection_power w where w.partner_id = n.partner_id
                                          and w.connection_id = n.id offset 0) w on true
                       join core.delivered_months d on d.partner_id = n.partner_id and d.connection_id = n.id) d
               left join core.deliveries v on v.partner_id = d.partner_id and v.connection_id = d.connection_id
                                          and v.id = d.delivery_id
               left join core.uploads u on u.partner_id = v.partner_id and u.id = v.upload_id
              where d.place <= 24))
    from core.account_gates g
    join core.accounts a on a.partner_id = g.partner_id and a.id = g.account_id
    join private.cpo_clients() c on c.id = g.client_id
    join private.positions(years) p on p.partner_id = portal_account.partner
        and p.account_id = portal_account.account
   where g.partner_id = portal_account.partner and g.account_id = portal_account.account);
end $$;

create function api.read_portal_customer(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
as $$
declare
  partner  core.partners;
  person   uuid;
  customer jsonb;
begin
  perform private.act_as(caller, 'partner');
  partner := private.own_partner();
  person := private.listed_customer(query ->> 'customer_ref', partner.id, query ->> 'key');
  customer := private.customer_page(partner, private.is_partner_itself(),
                                    jsonb_build_object('ids', array[person], 'key', query -> 'key'))::jsonb -> 0;
  perform private.refuse_if('customer_not_found', customer is null);
  return json_build_object(
    'who', private.portal_who(),
    'customer', customer,
    -- a draft names the person, so it is shown with one who is disclosed
    'draft', case when customer ? 'email' then (
      select json_build_object('draft_id', d.id, 'status', d.status, 'created_at', private.iso(d.created_at),
                               'invited_at', private.iso(d.invited_at), 'claimed_at', private.iso(d.claimed_at))
        from core.drafts d where d.partner_id = partner.id and d.user_id = person order by d.created_at desc,
            d.id limit 1) end,
    'account', case when customer ->> 'source' = 'cpo_api' then private.portal_account(partner.id, person) end);
end $$;
comment on function api.read_portal_customer(jsonb, jsonb) is
  'One customer of a partner: {customer_ref, key} to {who, customer, draft, account}, customer as '
  'private.customer_page, draft {draft_id, status, created_at, invited_at, claimed_at} or null, account as '
  'private.portal_account. Refused with customer_not_found for anybody '
  'else.';
