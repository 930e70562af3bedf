-- Totals of chargers and connections: sums of what counts, made again each time.

-- Adds up months of chargers, and of their connections, which are locked: [{charger_id, owner_id, connection_id?,
-- month}].
create function private.total_sessions(touched jsonb) returns void
language plpgsql
set enable_seqscan = off  -- as private.store_sessions
as $$
begin
  insert into core.charger_months as m (partner_id, charger_id, month, owner_id, wh, sessions)
  select private.partner_id(), t.charger_id, t.month, t.owner_id, s.wh, s.sessions
    from (select distinct t.charger_id, t.owner_id, t.month, private.dutch_midnight(t.month) as since,
                 private.dutch_midnight((t.month + interval '1 month')::date) as until
            from jsonb_to_recordset(touched) as t (charger_id uuid, owner_id uuid, month date)) t
   cross join lateral (
     select coalesce(sum(s.wh), 0) as wh, count(*) as sessions from core.charging_sessions s
      where s.partner_id = private.partner_id() and s.charger_id = t.charger_id and s.counted
        and s.started_at >= t.since and s.started_at < t.until) s
  on conflict on constraint charger_months_pkey do update set wh = excluded.wh, sessions = excluded.sessions
   where (m.wh, m.sessions) <> (excluded.wh, excluded.sessions);
  if jsonb_path_exists(touched, '$[*].connection_id ? (@ != null)') then
    perform private.deliver_sessions(touched);
  end if;
end $$;

-- Writes the delivered months of connections from the sessions of their MID chargers: [{connection_id?, month}]. The
-- connections are locked. Locked months stay. No connection gives more than 1,000,000 kWh in a month: sessions beyond
-- it are flagged.
create function private.deliver_sessions(months jsonb) returns void
language plpgsql
as $$
declare
  excess jsonb;
begin
  with month as (
    select c.id, c.owner_id, t.month, s.wh, s.sessions, d.period is not null as known, d.locked is true as locked,
           k.coverage
      from (select distinct * from jsonb_to_recordset(months) as t (connection_id uuid, month date)) t
     cross join lateral (
       select c.id, c.owner_id from core.connections c
        where c.partner_id = private.partner_id() and c.id = t.connection_id limit 1) c
     cross join lateral (
       select coalesce(sum(g.wh), 0) as wh, coalesce(sum(g.sessions), 0) as sessions
         from (select s.charger_id, sum(s.wh) as wh, count(*) as sessions from core.charging_sessions s
                where s.partner_id = private.partner_id() and s.connection_id = t.connection_id and s.month = t.month
                  and s.counted and s.flags = '{}'
                group by s.charger_id) g
        where (select h.mid_eligible from core.chargers h
                where h.partner_id = private.partner_id() and h.id = g.charger_id)) s
      left join lateral (
        select d.period, d.locked from core.delivered_months d
         where d.partner_id = private.partner_id() and d.connection_id = c.id and d.period = t.month limit 1) d on true
      left join lateral (
        select k as coverage from core.connection_coverage k
         where k.partner_id = private.partner_id() and k.connection_id = c.id limit 1) k on true
  ), written as (
    insert into core.delivered_months as d (partner_id, connection_id, owner_id, period, total_kwh, session_count,
                                            source, status, received_at)
    select private.partner_id(), m.id, m.owner_id, m.month, round(m.wh / 1000.0, 3), m.sessions, 'sessions',
           private.judge_month(m.coverage, m.month), private.now()
      from month m
     where m.wh <= 1000000000
       and (m.sessions > 0 or m.known)
    on conflict on constraint delivered_months_pkey do update
       set total_kwh = excluded.total_kwh, session_count = excluded.session_count, status = excluded.status,
           received_at = excluded.received_at
     where not d.locked
       and d.delivery_id is null  -- a total that a client delivered is corrected by that client only
       and (d.total_kwh, d.session_count) is distinct from (excluded.total_kwh, excluded.session_count)
  )
  select jsonb_agg(jsonb_build_object('connection_id', m.id, 'month', m.month)) into excess
    from month m where m.wh > 1000000000 and not m.locked;
  if excess is not null then
    perform private.total_sessions(private.flag_excess(excess));
  end if;
end $$;

-- Flags the sessions with which months exceed 1,000,000 kWh, in the order in which they came. Returns months as
-- private.judge_sessions.
create function private.flag_excess(months jsonb) returns jsonb
language plpgsql
as $$
declare
  touched jsonb;
begin
  with beyond as (
    select r.* from jsonb_to_recordset(months) as m (connection_id uuid, month date)
     cross join lateral (
       select s.id, sum(s.wh) over (order by s.arrival) as wh
         from core.charging_sessions s
        where s.partner_id = private.partner_id() and s.connection_id = m.connection_id and s.month = m.month
          and s.counted and s.flags = '{}'
          and (select h.mid_eligible from core.chargers h
                where h.partner_id = private.partner_id() and h.id = s.charger_id)) r
     where r.wh > 1000000000
  ), flagged as (
    update core.charging_sessions s set flags = '{beyond_capacity}'
      from beyond b
     where s.partner_id = private.partner_id() and s.id = b.id
    returning s.charger_id, s.owner_id, s.connection_id, s.month, s.id
  ), noted as (
    insert into core.charging_changes (partner_id, owner_id, charger_id, session_id)
    select h.partner_id, h.owner_id, h.id, f.id
      from flagged f join core.chargers h on h.partner_id = private.partner_id() and h.id = f.charger_id
     where h.user_id is null
  )
  select jsonb_agg(jsonb_build_object('charger_id', f.charger_id, 'owner_id', f.owner_id,
                                      'connection_id', f.connection_id, 'month', f.month)) into touched from flagged f;
  return touched;
end $$;
