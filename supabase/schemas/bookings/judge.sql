-- What a booking of a quarter would take in, why it leaves the rest out, and what looks implausible.

create type private.judged_month as (
  connection_id uuid,
  account_id    uuid,
  ean_code      text,
  period        date,
  kwh           numeric,
  session_count int,
  delivery_id   uuid,
  mandate_id    uuid,
  ere_per_kwh   numeric,
  flags         text[],
  reason        text);

create function private.month_flags(tenant uuid, quarter date)
returns table (connection_id uuid, period date, flags text[])
language plpgsql stable
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
begin
  return query
  with month as materialized (
    select d.connection_id, d.period, d.total_kwh, d.session_count,
           extract(epoch from (d.period + interval '1 month') at time zone 'Europe/Amsterdam' - d.period::timestamp at time zone 'Europe/Amsterdam') / 3600
             as hours
      from core.delivered_months d
     where d.partner_id = tenant and d.period >= quarter and d.period < (quarter + interval '3 months')::date and d.total_kwh > 0
  ), before as materialized (
    select m.connection_id, m.period, avg(p.total_kwh) as average,
           count(*) filter (where p.period >= m.period - interval '2 months' and p.total_kwh = m.total_kwh) as repeats
      from month m
      join core.delivered_months p
        on p.partner_id = tenant and p.connection_id = m.connection_id and p.period >= m.period - interval '12 months' and p.period < m.period
     group by m.connection_id, m.period
  ), power as materialized (
    -- of a charger that nobody described as much as of its sessions is believed
    select h.connection_id, sum(coalesce(h.power_kw, 50)) as kw
      from core.chargers h
     where h.partner_id = tenant and h.status = 'active' and h.connection_id is not null
     group by h.connection_id
  )
  select m.connection_id, m.period, array_remove(array[
           case when m.total_kwh > p.kw * m.hours then 'beyond_power' end,
           case when m.total_kwh > 5 * b.average then 'above_average' end,
           case when m.session_count > m.hours then 'too_many_sessions' end,
           case when b.repeats = 2 then 'repeated_total' end,
           case when m.session_count = 0 then 'no_sessions' end], null)
    from month m
    left join before b on b.connection_id = m.connection_id and b.period = m.period
    left join power p on p.connection_id = m.connection_id;
end $$;
comment on function private.month_flags(uuid, date) is
  'What is implausible about the months of a quarter: more kWh than the chargers'' power allows, more than five times the average of the twelve months before, more sessions than hours, the same total for the third month running, kWh without a session. It holds nothing back.';

create function private.ean_booked(ean text, month date) returns boolean
language plpgsql stable security definer
set search_path = ''
as $$
begin
  return exists (select from core.booking_rows r where r.ean_code = ean and r.period = month and r.live and r.ean_exclusive);
end $$;
comment on function private.ean_booked(text, date) is
  'Whether the kWh of an EAN in a month are in a booking of whatever tenant. Definer, because it looks across tenants.';

create function private.ean_delivered(ean text, month date, except_connection uuid) returns boolean
language plpgsql stable security definer
set search_path = ''
as $$
begin
  return exists (
    select from core.connections c
      join core.delivered_months d on d.partner_id = c.partner_id and d.connection_id = c.id and d.period = month
       and d.delivery_id is not null and (d.status = 'staged' or d.locked)
     where (c.ean_code = ean and c.status = 'active' and c.ean_exclusive or c.ean_code = ean and c.status = 'archived' and c.ean_exclusive)
       and c.id <> except_connection);
end $$;
comment on function private.ean_delivered(text, date, uuid) is
  'Whether another connection with this EAN, of whatever tenant, has a delivered total of the month. Definer, because it looks across tenants.';

create function private.year_is_booked(year int) returns boolean
language plpgsql stable security definer
set search_path = ''
as $$
begin
  return exists (
    select from core.bookings b
      join core.booking_rows r on r.partner_id = b.partner_id and r.booking_id = b.id and r.live
     where b.status = 'submitted' and extract(year from b.quarter) = year);
end $$;
comment on function private.year_is_booked(int) is
  'Whether kWh of a year are in a booking of whatever tenant, by the factor of that year. Definer, because it looks across tenants.';

create function private.judge_quarter(tenant uuid, quarter date, chosen uuid[] default null) returns setof private.judged_month
language plpgsql stable
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  today constant date := private.today();
begin
  return query
  with month as materialized (
    select d.connection_id, d.period, d.total_kwh, d.session_count, d.delivery_id, d.status, d.locked,
           c.account_id, c.ean_code, c.ean_exclusive, c.registration_status
      from core.delivered_months d
      join core.connections c on c.partner_id = d.partner_id and c.id = d.connection_id
     where d.partner_id = tenant and d.period >= quarter and d.period < (quarter + interval '3 months')::date
       and (chosen is null or c.account_id = any (chosen))
  ), signed as materialized (
    -- one that covers the month before one that does not, the newest first
    select distinct on (m.connection_id, m.period) m.connection_id, m.period, case when k.covers then s.id end as mandate_id
      from month m
      join core.mandates s on s.partner_id = tenant and s.connection_id = m.connection_id and s.status <> 'declined'
      cross join lateral (
        select coalesce(m.period between s.valid_from and s.covered_until, false) as covers) k
     order by m.connection_id, m.period, k.covers desc, s.signed_at desc, s.id
  ), gate as materialized (
    select * from core.connection_gates g where g.partner_id = tenant
  ), flag as materialized (
    select * from private.month_flags(tenant, quarter)
  )
  select m.connection_id, m.account_id, m.ean_code, m.period, m.total_kwh, m.session_count, m.delivery_id, s.mandate_id, f.ere_per_kwh,
         coalesce(l.flags, '{}'),
         case when m.locked or m.ean_exclusive and private.ean_booked(m.ean_code, m.period) then 'already_booked'
              when (m.period + interval '1 month')::date > today then 'month_not_over'
              when f.bookable_until < today then 'year_closed'
              when s.connection_id is null then 'no_mandate'
              when s.mandate_id is null then 'outside_mandate'
              when g.ean_validated is not true then 'gate:ean_validated'  -- an archived connection has no gates
              when not g.mid_charger_registered then 'gate:mid_charger_registered'
              when not g.iban_present then 'gate:iban_present'
              when m.registration_status in ('concept', 'ingediend') then 'registration_open'
              when m.registration_status = 'afgekeurd' then 'registration_rejected'
              when m.status = 'rejected' then 'rejected_by_register'
              when m.total_kwh = 0 then 'zero_kwh'
              when m.delivery_id is null and m.ean_exclusive and private.ean_delivered(m.ean_code, m.period, m.connection_id)
                then 'already_delivered' end
    from month m
    join core.ere_factors f on f.delivery_year = extract(year from m.period)
    left join signed s on s.connection_id = m.connection_id and s.period = m.period
    left join gate g on g.connection_id = m.connection_id
    left join flag l on l.connection_id = m.connection_id and l.period = m.period;
end $$;
comment on function private.judge_quarter(uuid, date, uuid[]) is
  'Every delivered month of a quarter, of all accounts or of those chosen, judged as it is now. reason is null where a booking takes it in, else the first that holds of already_booked, month_not_over, year_closed, no_mandate, outside_mandate, gate:<name>, registration_open, registration_rejected, rejected_by_register, zero_kwh, already_delivered.';
