begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

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

commit;
