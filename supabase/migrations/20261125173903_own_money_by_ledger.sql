begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

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
    'all_eur', coalesce(sum(p.amount), 0),
    'debt_eur', (select coalesce(sum(greatest(-private.still_owed(a.partner_id, a.id), 0)), 0) from private.own_account_rows() a))
    from private.own_account_rows() a
    join core.payout_parts p on p.ledger_partner_id = a.partner_id and p.partner_id = a.partner_id and p.payee_id = a.id and p.kind = 'customer'
    join core.payout_lines l on l.partner_id = p.partner_id and l.id = p.line_id and l.status = 'paid'
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
           'sold_on', s.sold_on,
           'paid_on', (select max((l.paid_at at time zone 'Europe/Amsterdam')::date)
                         from core.payout_parts p
                         join core.payout_lines l on l.partner_id = p.partner_id and l.id = p.line_id and l.status = 'paid'
                        where p.ledger_partner_id = a.partner_id and p.partner_id = a.partner_id and p.payee_id = a.id and p.kind = 'customer'))), '{}')
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
      select min(k.first_month) as first_month, max(k.booked_at) as booked_at
        from core.connections c
       cross join lateral (
         select (select min(m.period) from core.counted_months m
                  where m.partner_id = c.partner_id and m.connection_id = c.id and m.total_kwh > 0) as first_month,
                (select max(b.submitted_at) from core.booking_rows r join core.bookings b on b.partner_id = r.partner_id and b.id = r.booking_id
                  where r.partner_id = c.partner_id and r.connection_id = c.id and r.live) as booked_at) k
       where c.partner_id = a.partner_id and c.account_id = a.id) e on true
    left join lateral (
      select max(s.sold_on) as sold_on
        from core.allocations l join core.sales s on s.partner_id = l.partner_id and s.id = l.sale_id
       where l.partner_id = a.partner_id and l.account_id = a.id and l.reversal_id is null) s on true
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

CREATE OR REPLACE FUNCTION private.still_owed (
  tenant  uuid,
  account uuid
)
  RETURNS numeric
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select private.balance(tenant, 'EUR', 'customer', account) + coalesce((
    select sum(p.amount)
      from core.payout_parts p
      join core.payout_lines l on l.partner_id = p.partner_id and l.id = p.line_id and l.status = 'pending'
     where p.ledger_partner_id = tenant and p.payee_id = account and p.kind = 'customer'), 0)
$function$;

COMMENT ON FUNCTION "private"."own_paid"(integer) IS 'What this transaction''s person was paid since the year began, and ever, or the CPO that settles with them; and what of it was taken back since, which comes off later payments: {year_eur, all_eur, debt_eur}. Definer, as private.own_accounts.';

REVOKE ALL ON FUNCTION "private"."still_owed"(uuid, uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."still_owed"(uuid, uuid) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."still_owed"(uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."still_owed"(uuid, uuid) TO "postgres";

commit;
