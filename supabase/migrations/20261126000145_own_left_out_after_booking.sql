begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.own_left_out (
  year integer
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  with month as (
    select d.* from private.own_account_rows() a
      join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id
      join core.delivered_months d on d.partner_id = c.partner_id and d.connection_id = c.id
     where d.period >= make_date(year, 1, 1) and d.period < make_date(year + 1, 1, 1)
  ), left_out as (
    select d.period, d.connection_id, d.total_kwh - coalesce(k.accepted_kwh, 0) as kwh,
           case when d.status = 'staged' then 'no_factor'
                when d.status <> 'outside_mandate' then 'register'
                when d.period < private.first_delivery_month() then 'before_ere' else 'outside_mandate' end as why,
           k.reason
      from month d
      left join lateral (
        select k.accepted_kwh, k.reason
          from core.booking_rows r
          join core.credits k on k.partner_id = r.partner_id and k.row_id = r.id and k.reversed_at is null
         where r.partner_id = d.partner_id and r.connection_id = d.connection_id and r.period = d.period
           and (d.status = 'registered' and r.live or d.status = 'rejected' and r.status = 'rejected')
         order by k.credited_at desc limit 1) k on d.status in ('registered', 'rejected')
     where d.status in ('outside_mandate', 'rejected') and d.total_kwh > 0 or d.status = 'registered' and k.accepted_kwh < d.total_kwh
          or d.status = 'staged' and d.total_kwh > 0
             and not exists (select from core.ere_factors f where f.delivery_year = year)
             and exists (select from core.mandates m where m.partner_id = d.partner_id and m.connection_id = d.connection_id
                                                       and d.period between m.valid_from and m.covered_until)
    union all
    -- what its chargers with a MID meter charged beyond what was booked: the others are private.own_idle_chargers
    select d.period, d.connection_id, h.wh / 1000.0 - d.total_kwh, 'after_booking', null
      from month d
      join lateral (select sum(m.wh) as wh from core.chargers h
                      join core.charger_months m on m.partner_id = h.partner_id and m.charger_id = h.id and m.month = d.period
                     where h.partner_id = d.partner_id and h.connection_id = d.connection_id and h.mid_eligible) h on h.wh > d.total_kwh * 1000
     where d.locked and d.source = 'sessions'
  )
  select coalesce(json_agg(json_build_object('month', l.period, 'kwh', l.kwh, 'why', l.why, 'reason', l.reason)
                           order by l.period, l.connection_id, l.why), '[]')
    from left_out l
$function$;

COMMENT ON FUNCTION "private"."own_left_out"(integer) IS 'What of a person''s year does not count toward ERE: [{month, kwh, why, reason}]. why is before_ere, outside_mandate, register, after_booking (it came, or its charger''s meter was known as MID, after the month was booked), or no_factor as long as the year has none; reason has the register''s own words, if any. Definer, as private.own_accounts.';

commit;
