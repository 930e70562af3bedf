-- Which months a booking of a quarter would take in, why it leaves the rest out, and what looks implausible.

-- Whether the kWh of an EAN in a month are in a booking of any tenant. Only definers call it, because it looks across
-- tenants.
create function private.ean_booked(ean text, month date) returns boolean
language plpgsql stable
as $$
begin
  return exists (select from core.booking_rows r where r.ean_code = ean and r.period = month and r.live
                 and r.ean_exclusive);
end $$;

-- Whether another connection with this EAN, of any tenant, has a delivered total of the month. Only definers call it.
create function private.ean_delivered(ean text, month date, except_connection uuid) returns boolean
language plpgsql stable
as $$
begin
  return exists (
    select from core.connections c
      join core.delivered_months d on d.partner_id = c.partner_id and d.connection_id = c.id and d.period = month
       and d.delivery_id is not null and (d.status = 'staged' or d.locked)
     where (c.ean_code = ean and c.status = 'active' and c.ean_exclusive or c.ean_code = ean and c.status = 'archived'
            and c.ean_exclusive)
       and c.id <> except_connection);
end $$;

-- Judges every delivered month of a quarter as of now. chosen limits the accounts, held the connections, which are
-- locked. reason is the first that keeps the month out of a booking; null if none does. flags name what is implausible;
-- a month with flags may be booked.
create function private.judge_quarter(tenant uuid, quarter date, chosen uuid[] default null,
                                      held uuid[] default null) returns setof private.judged_month
language plpgsql stable
as $$
declare
  today  constant date := private.today();
  -- a sandbox settlement names accounts. In January it takes the running month: mandates begin on 1 January, so no
  -- other month exists
  over   constant date := case when chosen is not null and extract(month from today) = 1
                               then date_trunc('year', today) + interval '1 month' else today end;
  factor core.ere_factors;
begin
  select * into factor from core.ere_factors f where f.delivery_year = extract(year from quarter);
  return query
  -- each connection is looked up once for all its months of the quarter
  select c.id, c.account_id, c.ean_code, m.period, m.total_kwh, m.session_count, m.delivery_id, s.mandate_id,
      factor.ere_per_kwh,
         case when m.total_kwh > 0 then array_remove(array[
           -- more kWh than its chargers can give
           case when m.total_kwh > h.kw * l.hours then 'beyond_power' end,
           -- more than five times the average of the twelve months before
           case when m.total_kwh > 5 * b.average then 'above_average' end,
           -- more sessions than hours
           case when m.session_count > l.hours then 'too_many_sessions' end,
           -- the same total for the third month running
           case when b.repeats = 2 then 'repeated_total' end,
           -- kWh without a session
           case when m.session_count = 0 then 'no_sessions' end,
           -- the meter of an EVSE counted more or less than its sessions, by 2 % and 1 kWh: one is missing, or came
           -- twice
           case when v.gap then 'meter_gap' end,
           -- the delivered total is not the sum of the sessions, by as much
           case when m.delivery_id is not null and abs(m.total_kwh * 1000 - v.wh) > greatest(1000, 0.02 * v.wh)
                then 'differs_from_sessions' end,
           -- a session names another meter than its EVSE has
           case when v.other_meter then 'other_meter' end], null) else '{}' end,
         -- in a booking, of this connection or of another with the same EAN
         case when m.locked or c.ean_exclusive and private.ean_booked(c.ean_code, m.period) then 'already_booked'
              when (m.period + interval '1 month')::date > over then 'month_not_over'
              -- the register takes no more months of the year
              when factor.bookable_until < today then 'year_closed'
              -- nobody signed
              when s.signed is null then 'no_mandate'
              -- somebody signed, and nothing they signed covers the month
              when s.mandate_id is null then 'outside_mandate'
              when gate.closed is not null then 'gate:' || gate.closed
              when c.registration_status in ('concept', 'ingediend') then 'registration_open'
              when c.registration_status = 'afgekeurd' then 'registration_rejected'
              -- and nobody delivered it again
              when m.status = 'rejected' then 'rejected_by_register'
              when m.total_kwh = 0 then 'zero_kwh'
              -- a sum of sessions, while another connection with the EAN has a delivered total
              when m.delivery_id is null and c.ean_exclusive and private.ean_delivered(c.ean_code, m.period, c.id)
                then 'already_delivered' end
    from (select d.connection_id, array_agg(d) as months
            from core.delivered_months d
           where d.partner_id = tenant and private.quarter_of(d.period) = quarter
             and (held is null or d.connection_id = any (held))
           group by d.connection_id) q
    join core.connections c on c.partner_id = tenant and c.id = q.connection_id
     and (chosen is null or c.account_id = any (chosen))
    left join lateral (select * from core.connection_gates g where g.partner_id = tenant
                       and g.connection_id = c.id offset 0) g on true
    left join lateral (select * from core.connection_power h where h.partner_id = tenant
                       and h.connection_id = c.id offset 0) h on true
   cross join lateral unnest(q.months) m
   cross join lateral (
     -- a charger that had a MID meter in the month is enough; an archived connection has no gates
     select (case when g.closed_for_booking is null then '{ean_validated}'
                  when h.mid_until >= private.dutch_midnight(m.period) then array_remove(g.closed_for_booking,
                      'mid_charger_registered')
                  else g.closed_for_booking end)[1] as closed) gate
   cross join lateral (select private.hours_of(m.period) as hours) l
   cross join lateral (
     select avg(p.total_kwh) as average,
            count(*) filter (where p.period >= m.period - interval '2 months' and p.total_kwh = m.total_kwh) as repeats
       from core.delivered_months p
      where p.partner_id = tenant and p.connection_id = c.id
        and p.period >= (m.period - interval '12 months')::date and p.period < m.period) b
   cross join lateral (
     -- the sessions of a month must add up to what the meter of their EVSE counted; a meter that starts at 0 for each
     -- session proves nothing
     select sum(e.wh) as wh, bool_or(e.gap) as gap, bool_or(not e.meters <@ n.known) as other_meter
       from (select s.charger_id, s.connector, sum(s.wh) as wh,
                    array_agg(distinct private.charger_name_value('meter_id',
                            s.meter_id)) filter (where s.meter_id is not null) as meters,
                    count(distinct s.meter_id) < 2 and count(*) filter (where s.meter_start_wh = 0) < 2
                    and abs((array_agg(s.meter_end_wh
                                       order by s.started_at desc) filter (where s.meter_end_wh is not null))[1]
                            - (array_agg(s.meter_start_wh
                                    order by s.started_at) filter (where s.meter_start_wh is not null))[1] - sum(s.wh))
                        > greatest(1000, 0.02 * sum(s.wh)) as gap
               from core.charging_sessions s
              where s.partner_id = tenant and s.connection_id = c.id and s.month = m.period and s.counted
              group by s.charger_id, s.connector
             having (select h.mid_eligible from core.chargers h where h.partner_id = tenant and h.id = s.charger_id)) e
      cross join lateral (
        select array_agg(n.value) as known from core.charger_names n
         where n.partner_id = tenant and n.charger_id = e.charger_id and n.kind = 'meter_id' and n.evse_no = e.connector
           and n.until is null and e.meters is not null) n) v
    left join lateral (
      -- the newest mandate that covers the month, or else the newest of all
      select true as signed, case when k.covers then s.id end as mandate_id
        from core.mandates s
       cross join lateral (select coalesce(m.period between s.valid_from and s.covered_until, false) as covers) k
       where s.partner_id = tenant and s.connection_id = c.id and s.status <> 'declined'
       order by k.covers desc, s.signed_at desc, s.id limit 1) s on true;
end $$;
