begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

DROP FUNCTION "private"."own_payouts"();

DROP FUNCTION "private"."own_quarters"(integer);

ALTER TABLE "core"."connections"
  ADD COLUMN "reviewed_at" timestamp WITH time zone;

CREATE OR REPLACE FUNCTION api.read_own_charging (
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
  year        constant int    := coalesce((query ->> 'year')::int, extract(year from private.today())::int);
  one_month   constant date   := (query ->> 'month')::date;
  page_limit  constant int    := (query ->> 'limit')::int;
  page_offset constant bigint := (query ->> 'offset')::bigint;
begin
  perform private.act_as(caller, 'session', 'signatory');
  return (
    with page as materialized (
      select s.* from core.charging_sessions s
       where s.owner_id = private.user_id() and one_month is not null
         and s.started_at >= one_month::timestamp at time zone 'Europe/Amsterdam'
         and s.started_at < (one_month + interval '1 month') at time zone 'Europe/Amsterdam'
       order by s.started_at desc, s.id desc
       limit page_limit + 1 offset page_offset
    ), shown as (
      select * from page order by started_at desc, id desc limit page_limit
    )
    select json_build_object(
      'email', private.own_email(),
      'year', year,
      'years', private.own_years(),
      'months', (select coalesce(json_agg(m order by m.month), '[]') from private.own_months(make_date(year, 1, 1), make_date(year + 1, 1, 1)) m),
      'left_out', private.own_left_out(year),
      'idle_chargers', private.own_idle_chargers(year),
      'sessions', (select coalesce(json_agg(private.charging_session_row(s) order by s.started_at desc, s.id desc), '[]') from shown s),
      'has_more', (select count(*) from page) > page_limit));
end $function$;

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
    'prices', private.own_prices(year),
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
    'email', private.own_email(), 'year', year,
    'name', private.own_name(),
    'charged_kwh', (select coalesce(sum(m.kwh), 0) from private.own_months(make_date(year, 1, 1), make_date(year + 1, 1, 1)) m),
    'quarters', (select coalesce(json_agg(json_build_object('quarter', q.quarter, 'kwh', q.kwh, 'ere', q.ere, 'sold_ere', q.sold_ere,
                                                            'net_eur', q.net, 'unpaid_eur', q.unpaid) order by q.quarter), '[]')
                   from private.own_quarters('-infinity', 'infinity') q),
    'paid', private.own_paid(year),
    'prices', private.own_prices(year),
    'progress', private.own_progress(),
    'idle_chargers', private.own_idle_chargers(year),
    'left_out', private.own_left_out(year),
    'accounts', private.own_accounts());
end $function$;

CREATE OR REPLACE FUNCTION private.own_ere_position (
  year integer
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  this_month constant date := date_trunc('month', private.today());
  this_year  constant int  := extract(year from this_month);
  -- quarters of the year that have begun
  begun      constant int  := case when year = this_year then extract(quarter from this_month) else 4 end;
  factor     core.ere_factors;
begin
  select * into factor from core.ere_factors f where f.delivery_year = year;
  return (
    with own as materialized (
      select * from private.own_quarters(make_date(year, 1, 1), make_date(year + 1, 1, 1))
    )
    select json_build_object(
      'year', year,
      'kwh', round(coalesce(sum(o.kwh), 0), 2),
      'renewable_share', factor.renewable_share,
      'reserved_ere', round(coalesce(sum(o.registered_ere - o.sold_ere), 0), 2),
      'sold_ere', round(coalesce(sum(o.sold_ere), 0), 2),
      'forecast_ere', case when year = this_year then round(private.forecast_kwh(this_month) * coalesce(factor.ere_per_kwh, 0), 2) end,
      'quarters', json_agg(json_build_object(
        'quarter', year || '-Q' || q,
        'kwh', round(coalesce(o.kwh, 0), 2),
        'ere_credits', round(coalesce(o.ere, 0), 2),
        'sold_ere', round(coalesce(o.sold_ere, 0), 2),
        'price_per_ere', round(o.gross / nullif(o.sold_ere, 0), 2),
        'revenue_eur', case when o.sold_ere > 0 then o.net end,
        'status', case when o.sold_ere > 0 and o.is_paid then 'paid'
                       when o.sold_ere > 0 then 'sold'
                       when year < this_year or q < begun then 'closed' else 'open' end,
        'sold_at', private.iso(o.sold_on::timestamp at time zone 'Europe/Amsterdam')) order by q))
    from generate_series(1, begun) q left join own o on o.quarter = make_date(year, 3 * q - 2, 1));
end $function$;

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
    join lateral (select sum(m.wh) as wh from core.charger_months m
                   where m.partner_id = h.partner_id and m.charger_id = h.id
                     and m.month >= make_date(year, 1, 1) and m.month < make_date(year + 1, 1, 1)) k on k.wh > 0
   where h.user_id = private.user_id() and (h.mid_eligible is not true or h.connection_id is null)
$function$;

CREATE OR REPLACE FUNCTION private.own_paid (
  year integer
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select json_build_object(
    'year_eur', coalesce(sum(p.amount) filter (where l.paid_at >= make_date(year, 1, 1)::timestamp at time zone 'Europe/Amsterdam'), 0),
    'all_eur', coalesce(sum(p.amount), 0))
    from private.own_account_rows() a
    join core.payout_parts p on p.partner_id = a.partner_id and p.payee_id = a.id and p.kind = 'customer'
    join core.payout_lines l on l.partner_id = p.partner_id and l.id = p.line_id and l.status = 'paid'
$function$;

CREATE OR REPLACE FUNCTION private.own_payouts (
  year integer
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select coalesce(json_agg(json_build_object('line_id', l.id, 'part_id', l.part_id, 'cpo', l.cpo, 'paid_on', (l.paid_at at time zone 'Europe/Amsterdam')::date,
                                             'amount_eur', l.amount) order by l.arrival desc, l.part_id), '[]')
    from (select case when d.line_id is not null then l.id end as id, d.part_id, case when d.part_id is not null then p.name end as cpo,
                 l.paid_at, coalesce(t.amount, l.amount) as amount, l.arrival
            from private.own_account_rows() a
            join core.documents d on d.partner_id = a.partner_id and d.account_id = a.id
            left join core.payout_parts t on t.partner_id = d.partner_id and t.id = d.part_id
            join core.payout_lines l on l.partner_id = d.partner_id and l.id = coalesce(d.line_id, t.line_id)
            join core.partners p on p.id = a.partner_id
           where l.paid_at >= make_date(own_payouts.year, 1, 1)::timestamp at time zone 'Europe/Amsterdam'
             and l.paid_at < make_date(own_payouts.year + 1, 1, 1)::timestamp at time zone 'Europe/Amsterdam'
           order by l.arrival desc limit 100) l
$function$;

CREATE OR REPLACE FUNCTION private.own_progress()
  RETURNS json
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select coalesce(json_object_agg(a.id, json_build_object(
           'signed_on', (m.signed_at at time zone 'Europe/Amsterdam')::date,
           'withdrawn_on', (m.withdrawn_at at time zone 'Europe/Amsterdam')::date,
           'approved_on', (c.reviewed_at at time zone 'Europe/Amsterdam')::date,
           'charger_on', (h.since at time zone 'Europe/Amsterdam')::date,
           'silent_chargers', h.silent,
           'first_month', e.first_month,
           'booked_on', (e.booked_at at time zone 'Europe/Amsterdam')::date,
           'sold_on', e.sold_on,
           'paid_on', (select max((l.paid_at at time zone 'Europe/Amsterdam')::date)
                         from core.payout_parts p
                         join core.payout_lines l on l.partner_id = p.partner_id and l.id = p.line_id and l.status = 'paid'
                        where p.partner_id = a.partner_id and p.payee_id = a.id and p.kind = 'customer'))), '{}')
    from private.own_account_rows() a
    left join lateral (
      select min(m.signed_at) as signed_at, max(m.ended_at) filter (where m.status = 'revoked') as withdrawn_at
        from core.connections c join core.mandates m on m.partner_id = c.partner_id and m.connection_id = c.id
       where c.partner_id = a.partner_id and c.account_id = a.id and m.status <> 'declined') m on true
    left join lateral (
      select min(c.reviewed_at) as reviewed_at
        from core.connections c
       where c.partner_id = a.partner_id and c.account_id = a.id and c.registration_status = 'goedgekeurd') c on true
    left join lateral (
      select min(h.created_at) filter (where h.mid_eligible) as since,
             coalesce(json_agg(private.charger_name(h) order by h.created_at)
                        filter (where h.status = 'active' and h.ocpp_identity is not null and h.last_seen_at is null), '[]') as silent
        from core.chargers h where h.partner_id = a.partner_id and h.account_id = a.id) h on true
    left join lateral (
      select min(m.period) as first_month, max(b.submitted_at) as booked_at, max(m.sold_on) as sold_on
        from core.connections c
        join core.earned_months m on m.partner_id = c.partner_id and m.connection_id = c.id and m.kwh > 0
        left join core.bookings b on b.partner_id = m.partner_id and b.id = m.booking_id
       where c.partner_id = a.partner_id and c.account_id = a.id) e on true
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
    unpaid         numeric
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
  ), waiting as materialized (
    select a.row_id, sum(p.amount) as amount
      from own o
     cross join lateral private.payments(o.partner_id, 'customer', o.id) p
      join core.allocations a on a.partner_id = o.partner_id and a.id = p.allocation_id
     where p.state <> 'paid'
     group by a.row_id
  )
  select date_trunc('quarter', m.period)::date, sum(m.kwh), sum(m.ere), sum(m.registered_ere), sum(m.sold_ere), sum(m.gross), sum(m.net), min(m.sold_on),
         bool_and(w.row_id is null), coalesce(sum(w.amount), 0)
    from own o
    join core.connections c on c.partner_id = o.partner_id and c.account_id = o.id
    join core.earned_months m on m.partner_id = c.partner_id and m.connection_id = c.id
    left join waiting w on w.row_id = m.row_id
   where m.period >= since and m.period < until
   group by 1;
end $function$;

CREATE OR REPLACE FUNCTION private.review_registration (
  connection core.connections,
  verdict    text
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  update core.connections c set registration_status = verdict, reviewed_at = private.now()
   where c.partner_id = connection.partner_id and c.id = connection.id;
  perform private.audit('registration.reviewed', connection.id, jsonb_build_object('verdict', verdict));
  perform private.emit(case verdict when 'goedgekeurd' then 'registration.approved' else 'registration.rejected' end, connection.account_id, connection.id,
                       jsonb_build_object('connection_id', connection.id, 'registration_status', verdict));
  perform private.notify(connection.account_id, case verdict when 'goedgekeurd' then 'registration_approved' else 'registration_rejected' end,
                         'registration:' || connection.id || ':' || private.iso(connection.submitted_at),
                         case verdict when 'afgekeurd' then jsonb_build_object('grounds', private.grounds_to_reject(connection)) else '{}' end,
                         connection.id);
end $function$;

COMMENT ON COLUMN "core"."connections"."reviewed_at" IS 'The last verdict on its registration. Null before that, and for verdicts of before this column.';

COMMENT ON FUNCTION "api"."read_own_charging"(jsonb, jsonb) IS 'A person''s charging in a year by month, and a page of one month''s sessions: {year, month, limit, offset} to {email, year, years, months, left_out, idle_chargers, sessions, has_more}. Without a month there are no sessions.';

COMMENT ON FUNCTION "api"."read_own_earnings"(jsonb, jsonb) IS 'What a person''s charging yields in a year, and what they were paid: {year} to {email, year, years, position, prices, left_out, idle_chargers, accounts, payouts, overviews}.';

COMMENT ON FUNCTION "api"."read_own_overview"(jsonb) IS 'What a person sees first: {email, name, year, charged_kwh, quarters, paid, prices, progress, idle_chargers, left_out, accounts}. quarters has every one in which something counts.';

COMMENT ON FUNCTION "private"."own_idle_chargers"(integer) IS 'The chargers of this transaction''s person whose kWh of a year do not count: [{name, kwh, why}], most kWh first. why is no_mid, mid_unknown or no_connection.';

COMMENT ON FUNCTION "private"."own_paid"(integer) IS 'What this transaction''s person was paid since the year began, and ever, or the CPO that settles with them: {year_eur, all_eur}. Definer, as private.own_accounts.';

COMMENT ON FUNCTION "private"."own_payouts"(integer) IS 'What this transaction''s person was paid in a year, newest first, a hundred at most: [{line_id, part_id, cpo, paid_on, amount_eur}]. A payment to the CPO that settles with them has a part_id and the CPO''s name, any other a line_id. Definer, as private.own_accounts.';

COMMENT ON FUNCTION "private"."own_progress"() IS 'How far each account of this transaction''s person is, by its id: {signed_on, withdrawn_on, approved_on, charger_on, silent_chargers, first_month, booked_on, sold_on, paid_on}. Days in Amsterdam, null until then; the last three are the latest. silent_chargers names those that connect by OCPP and never did. Definer, as private.own_accounts.';

COMMENT ON FUNCTION "private"."own_quarters"(date, date) IS 'The quarters in which something counts for this transaction''s person. ERE exact, credited and sold; euro gross, and the person''s part (net). Also the first day of sale, whether all that was sold is paid, and what of net is not (unpaid). since inclusive, until exclusive. Definer, because payments are in the service''s own batch.';

REVOKE ALL ON FUNCTION "private"."own_idle_chargers"(integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."own_idle_chargers"(integer) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."own_paid"(integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."own_paid"(integer) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."own_payouts"(integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."own_payouts"(integer) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."own_progress"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."own_progress"() TO "api_owner";

REVOKE ALL ON FUNCTION "private"."own_quarters"(date, date) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."own_quarters"(date, date) TO "api_owner";

commit;
