begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

DROP FUNCTION "private"."own_prices"(integer);

DROP FUNCTION "private"."own_quarters"(date, date);

CREATE OR REPLACE FUNCTION api.read_own_earnings (
  caller jsonb,
  query  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  year constant int := coalesce((query ->> 'year')::int, extract(year from private.today())::int);
begin
  perform private.act_as(caller, 'session', 'signatory');
  return json_build_object(
    'email', private.own_email(),
    'year', year,
    'years', private.own_years(),
    'position', private.own_ere_position(year),
    'left_out', private.own_left_out(year),
    'idle_chargers', private.own_idle_chargers(year),
    'accounts', private.own_accounts(),
    'payouts', private.own_payouts(year),
    'overviews', private.own_overviews());
end $function$;

CREATE OR REPLACE FUNCTION api.read_own_overview (
  caller jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  year constant int := extract(year from private.today());
begin
  perform private.act_as(caller, 'session', 'signatory');
  return json_build_object(
    'email', private.own_email(), 'year', year, 'name', private.own_name(),
    'months', (select coalesce(json_agg(m order by m.month), '[]') from private.own_months(make_date(year, 1, 1), make_date(year + 1, 1, 1)) m),
    'position', private.own_ere_position(year), 'prices', '{"price_per_ere_eur": null, "ere_per_kwh": null, "fee_pct": null}'::json, 'accounts', private.own_accounts());
end $function$;

CREATE OR REPLACE FUNCTION api.read_own_start (
  caller jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  year constant int := extract(year from private.today());
begin
  perform private.act_as(caller, 'session', 'signatory');
  return json_build_object(
    'email', private.own_email(), 'year', year,
    'name', private.own_name(),
    'charged_kwh', (select coalesce(sum(m.kwh), 0) from private.own_months(make_date(year, 1, 1), make_date(year + 1, 1, 1)) m),
    'quarters', (select coalesce(json_agg(json_build_object('quarter', q.quarter, 'kwh', q.kwh, 'ere', q.ere, 'sold_ere', q.sold_ere,
                                                            'net_eur', q.net, 'unpaid_eur', q.unpaid, 'unsold', q.unsold) order by q.quarter), '[]')
                   from private.own_quarters('-infinity', 'infinity') q),
    'paid', private.own_paid(year),
    'progress', private.own_progress(),
    'idle_chargers', private.own_idle_chargers(year),
    'left_out', private.own_left_out(year),
    'accounts', private.own_accounts());
end $function$;

CREATE OR REPLACE FUNCTION api.read_portal_customers (
  caller jsonb,
  query  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  looks_for jsonb        := jsonb_strip_nulls(query -> 'for');
  size      constant int := (query ->> 'limit')::int;
  partner   core.partners;
  key       constant text := query ->> 'key';
  examined  int;
  ids       uuid[];
  found     json;
begin
  perform private.act_as(caller, 'partner');
  partner := private.own_partner();
  ids := array[private.customer_named(looks_for ->> 'text', partner.id, key)];
  if ids[1] is not null then
    looks_for := looks_for - 'text';
  else
    examined := case when looks_for - 'month' = '{}' then size + 1 else private.customers_examined() end;
    ids := private.customer_candidates(partner.id, looks_for, private.customer_named(query ->> 'after', partner.id, key), examined);
  end if;
  found := private.customer_page(partner, private.is_partner_itself(),
                                 jsonb_build_object('ids', ids, 'for', looks_for, 'limit', size + 1, 'key', query -> 'key'));
  return json_build_object(
    'who', private.portal_who(),
    'counted', case when jsonb_strip_nulls(query -> 'for') = '{}' then private.customers_counted(partner.id, private.customer_named(query ->> 'after', partner.id, key)) end,
    'customers', (select coalesce(json_agg(f.customer order by f.place), '[]')
                    from json_array_elements(found) with ordinality as f (customer, place) where f.place <= size),
    'more_after', case when json_array_length(found) > size then found -> (size - 1) ->> 'customer_ref'
                 when cardinality(ids) = examined then private.customer_ref(ids[examined], private.customer_key(partner.id, key)) end);
end $function$;

CREATE OR REPLACE FUNCTION private.customers_counted (
  partner uuid,
  after   uuid
)
  RETURNS jsonb
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select jsonb_build_object('total', count(*), 'before', count(*) filter (where (a.created_at, a.user_id) >= (l.created_at, l.user_id)))
    from core.attributions a
    left join core.attributions l on l.partner_id = customers_counted.partner and l.user_id = after
   where a.partner_id = customers_counted.partner
$function$;

CREATE OR REPLACE FUNCTION private.own_accounts()
  RETURNS json
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select coalesce(json_agg(json_build_object(
           'account_id', a.id,
           'draft_id', private.own_draft(a.id),
           'cpo', case when a.client_id is not null then (select p.name from core.partners p where p.id = a.partner_id) end,
           'payout_handler', a.payout_handler,
           'fee_pct', (select m.fee_pct from core.connections c
                         join core.mandates m on m.partner_id = c.partner_id and m.connection_id = c.id and m.status <> 'declined'
                        where c.partner_id = a.partner_id and c.account_id = a.id
                        order by m.signed_at desc limit 1),
           'iban_last4', a.iban_last4,
           'iban_held_until', case when a.iban_ciphertext is not null and a.iban_changed_at > private.now() - interval '48 hours'
                                   then private.iso(a.iban_changed_at + interval '48 hours') end,
           'checklist', g.checklist,
           'chargers', (select json_build_object('count', count(*), 'with_mid', count(*) filter (where h.mid_eligible),
                                                 'waiting', count(*) filter (where h.mid_eligible is null))
                          from core.chargers h where h.partner_id = a.partner_id and h.account_id = a.id and h.status = 'active'),
           'connections', (select coalesce(json_agg(json_build_object(
                                    'connection_id', c.connection_id, 'ean_code', c.ean_code, 'ean_validation_status', c.ean_validation_status,
                                    'street', l.street, 'house_number', l.house_number, 'house_number_addition', l.house_number_addition,
                                    'postal_code', l.postal_code, 'city', l.city,
                                    'registration_status', c.registration_status, 'mandate_status', c.mandate_status,
                                    'valid_from', c.valid_from, 'valid_until', c.valid_until, 'renewed_until', c.renewed_until,
                                    'may_sign_again', private.may_sign_again(c.connection_id, c.partner_id)) order by c.created_at, c.connection_id), '[]')
                             from core.connection_mandates c
                             join core.locations l on l.partner_id = c.partner_id and l.id = c.location_id
                            where c.partner_id = a.partner_id and c.account_id = a.id and c.status = 'active'))
           order by a.created_at, a.id), '[]')
    from private.own_account_rows() a
    join core.account_gates g on g.partner_id = a.partner_id and g.account_id = a.id
$function$;

CREATE OR REPLACE FUNCTION private.own_idle_chargers (
  year integer
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select coalesce(json_agg(json_build_object(
           'name', private.charger_name(h), 'kwh', round(k.wh / 1000.0, 3),
           'why', case when h.mid_eligible is null then 'mid_unknown' when not h.mid_eligible then 'no_mid' else 'no_connection' end)
           order by k.wh desc, h.id), '[]')
    from core.chargers h
    join lateral (select sum(case when d.locked then least(m.wh, greatest(d.charged - d.total_kwh * 1000, 0)) else m.wh end) as wh
                    from core.charger_months m
                    -- a month that is booked counts as it was then: what its chargers charged, less its total, was left out
                    left join lateral (
                      select d.locked, d.total_kwh,
                             (select sum(o.wh) from core.chargers n join core.charger_months o on o.partner_id = n.partner_id and o.charger_id = n.id
                               where n.partner_id = d.partner_id and n.connection_id = d.connection_id and o.month = d.period) as charged
                        from core.delivered_months d
                       where d.partner_id = h.partner_id and d.connection_id = h.connection_id and d.period = m.month and d.locked) d on true
                   where m.partner_id = h.partner_id and m.charger_id = h.id
                     and m.month >= make_date(year, 1, 1) and m.month < make_date(year + 1, 1, 1)) k on k.wh > 0
   where h.user_id = private.user_id() and (h.mid_eligible is not true or h.connection_id is null)
$function$;

CREATE OR REPLACE FUNCTION private.own_left_out (
  year integer
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select coalesce(json_agg(json_build_object(
           'month', d.period, 'kwh', d.total_kwh - coalesce(k.accepted_kwh, 0),
           'why', case when d.status = 'staged' then 'no_factor'
                       when d.status <> 'outside_mandate' then 'register'
                       when d.period < private.first_delivery_month() then 'before_ere' else 'outside_mandate' end,
           'reason', k.reason) order by d.period, d.connection_id), '[]')
    from private.own_account_rows() a
    join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id
    join core.delivered_months d on d.partner_id = c.partner_id and d.connection_id = c.id
    left join lateral (
      select k.accepted_kwh, k.reason
        from core.booking_rows r
        join core.credits k on k.partner_id = r.partner_id and k.row_id = r.id and k.reversed_at is null
       where r.partner_id = d.partner_id and r.connection_id = d.connection_id and r.period = d.period
         and (d.status = 'registered' and r.live or d.status = 'rejected' and r.status = 'rejected')
       order by k.credited_at desc limit 1) k on d.status in ('registered', 'rejected')
   where d.period >= make_date(year, 1, 1) and d.period < make_date(year + 1, 1, 1)
     and (d.status in ('outside_mandate', 'rejected') and d.total_kwh > 0 or d.status = 'registered' and k.accepted_kwh < d.total_kwh
          or d.status = 'staged' and d.total_kwh > 0
             and not exists (select from core.ere_factors f where f.delivery_year = year)
             and exists (select from core.mandates m where m.partner_id = d.partner_id and m.connection_id = d.connection_id
                                                       and d.period between m.valid_from and m.covered_until))
$function$;

CREATE OR REPLACE FUNCTION private.own_quarters (
  since date,
  until date
)
  RETURNS TABLE (
    quarter        date,
    kwh            numeric,
    ere            numeric,
    registered_ere numeric,
    sold_ere       numeric,
    gross          numeric,
    net            numeric,
    sold_on        date,
    is_paid        boolean,
    unpaid         numeric,
    unsold         json
  )
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  return query
  with own as materialized (
    select a.partner_id, a.id from private.own_account_rows() a
  ), unpaid as materialized (
    select o.*, a.row_id, p.amount, sum(p.amount) over (partition by o.id) as whole,
           sum(p.amount) over (partition by o.id order by s.arrival, a.id) as up_to
      from own o
     cross join lateral private.payments(o.partner_id, 'customer', o.id) p
      join core.allocations a on a.partner_id = o.partner_id and a.id = p.allocation_id
      join core.sales s on s.partner_id = a.partner_id and s.id = a.sale_id
     where p.state <> 'paid'
  ), owed as materialized (
    select o.id, private.still_owed(o.partner_id, o.id) as amount from own o where o.id in (select u.id from unpaid u)
  ), waiting as materialized (
    -- what was paid and taken back since comes off the oldest
    select u.row_id, sum(least(u.amount, greatest(u.up_to - (u.whole - w.amount), 0))) as amount
      from unpaid u join owed w on w.id = u.id
     group by u.row_id
  ), prices as materialized (
    select t.partner_id, private.last_price(t.partner_id) as price from (select distinct o.partner_id from own o) t
  ), parts as (
    -- ERE are sold for each tenant, and each mandate has its own fee
    select date_trunc('quarter', m.period)::date as first_day, p.price, coalesce(m.fee_pct, s.fee_pct) as fee_pct, sum(m.kwh) as kwh, sum(m.ere) as ere,
           sum(m.registered_ere) as registered_ere, sum(m.sold_ere) as sold_ere, sum(m.gross) as gross, sum(m.net) as net, min(m.sold_on) as sold_on,
           bool_and(w.row_id is null) as is_paid, coalesce(sum(w.amount), 0) as unpaid
      from own o
      join prices p on p.partner_id = o.partner_id
      join core.connections c on c.partner_id = o.partner_id and c.account_id = o.id
      join core.earned_months m on m.partner_id = c.partner_id and m.connection_id = c.id
      left join waiting w on w.row_id = m.row_id
      -- as private.reserve_months will book it
      left join lateral (select d.fee_pct from core.mandates d
                          where m.row_id is null and d.partner_id = c.partner_id and d.connection_id = c.id
                            and m.period between d.valid_from and d.covered_until
                          order by d.signed_at desc limit 1) s on true
     where m.period >= since and m.period < until
     group by 1, 2, 3
  )
  select p.first_day, sum(p.kwh), sum(p.ere), sum(p.registered_ere), sum(p.sold_ere), sum(p.gross), sum(p.net), min(p.sold_on),
         bool_and(p.is_paid), sum(p.unpaid),
         json_agg(json_build_object('ere', p.ere - p.sold_ere, 'price_per_ere_eur', p.price, 'fee_pct', p.fee_pct) order by p.price, p.fee_pct)
    from parts p
   group by p.first_day;
end $function$;

COMMENT ON FUNCTION "api"."read_own_earnings"(jsonb, jsonb) IS 'What a person''s charging yields in a year, and what they were paid: {year} to {email, year, years, position, left_out, idle_chargers, accounts, payouts, overviews}.';

COMMENT ON FUNCTION "api"."read_own_overview"(jsonb) IS 'The first page of 0.9.0, without an estimate, until its functions are replaced: {email, name, year, months, position, prices, accounts}. To be deleted with release 1.0.0.';

COMMENT ON FUNCTION "api"."read_own_start"(jsonb) IS 'What a person sees first: {email, name, year, charged_kwh, quarters, paid, progress, idle_chargers, left_out, accounts}. quarters has every one in which something counts.';

COMMENT ON FUNCTION "api"."read_portal_customers"(jsonb, jsonb) IS 'A page of a partner''s customers, newest first: {for: {text, city, is_active, source, charger, month, registration}, after, limit, key} to {who, counted, customers, more_after}, customers as GET /partner/customers, counted as private.customers_counted if nothing is looked for. Send more_after as after for the next page; null is the end. A page may have fewer than its limit before that.';

COMMENT ON FUNCTION "private"."customers_counted"(uuid, uuid) IS 'How many customers a partner has, and how many of them a list that goes on after one has shown: {total, before}. Definer, because people own what they have in the house. It discloses counts.';

COMMENT ON FUNCTION "private"."own_accounts"() IS 'The accounts of this transaction''s person: {account_id, draft_id, cpo, payout_handler, fee_pct, iban_last4, iban_held_until, checklist, chargers, connections}. cpo names the CPO whose customer they signed as, null for their own account. fee_pct is what they signed for last. Definer, because that is in the tenant of the CPO.';

COMMENT ON FUNCTION "private"."own_left_out"(integer) IS 'What of a person''s year does not count toward ERE: [{month, kwh, why, reason}]. why is before_ere, outside_mandate, register, or no_factor as long as the year has none; reason has the register''s own words, if any. Definer, as private.own_accounts.';

COMMENT ON FUNCTION "private"."own_quarters"(date, date) IS 'The quarters in which something counts for this transaction''s person. ERE exact, credited and sold; euro gross, and the person''s part (net). Also the first day of sale, whether all that was sold is paid, and what of net is not (unpaid). unsold has the ERE that are not sold, by the tenant''s last price and the fee: [{ere, price_per_ere_eur, fee_pct}]. since inclusive, until exclusive. Definer, because payments are in the service''s own batch.';

REVOKE ALL ON FUNCTION "private"."customers_counted"(uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."customers_counted"(uuid, uuid) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."customers_counted"(uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."customers_counted"(uuid, uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."own_quarters"(date, date) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."own_quarters"(date, date) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."own_quarters"(date, date) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."own_quarters"(date, date) TO "postgres";

commit;
