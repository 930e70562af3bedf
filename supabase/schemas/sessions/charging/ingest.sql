-- Charging sessions: one function stores them, from any source, and updates the monthly totals in the same transaction.

-- These keep their plans, because planning one session takes ten times as long as storing it. A kept plan knows no
-- number of rows. So it looks rows up by their index, one after the other, and joins no array with another. The checks
-- of foreign keys follow the same settings.

-- Flags that no later word of the source clears. A client may tell again what it withdrew; a credited CDR stays
-- credited.
create function private.lasting_flags(session core.charging_sessions) returns text[]
language sql immutable
return case when 'withdrawn' = any (session.flags) and session.source not in ('api', 'file') then '{withdrawn}'::text[]
            else '{}' end;

-- Compares each item with the stored session; the chargers are locked. Of a session that is twice in one batch, the
-- later item counts.
create function private.compare_charging_sessions(
    sent private.charging_session_item[]) returns private.compared_charging_session[]
language plpgsql
as $$
begin
  return array(
    select row(i.item, coalesce(s.id, i.new_id), h.connection_id, h.owner_id, f.flags || private.lasting_flags(s), s,
               case when h.id is null then 'rejected'
                    when (i.item).place < i.latest then 'superseded'
                    when s.id is null then 'created'
                    -- late news of a charge that has ended since does not open it again
                    when (s.ended_at is null or (i.item).ended_at is not null)
                     and (s.connector, s.started_at, s.ended_at, s.wh, s.status, s.meter_id, s.meter_start_wh,
                          s.meter_end_wh, private.own_flags(s.flags))
                         is distinct from ((i.item).connector, (i.item).started_at, (i.item).ended_at, (i.item).wh,
                                           (i.item).status, (i.item).meter_id,
                                           (i.item).meter_start_wh, (i.item).meter_end_wh,
                                               f.flags || private.lasting_flags(s)) then 'updated'
                    else 'unchanged' end)::private.compared_charging_session
      from (select u as item, gen_random_uuid() as new_id,
                   max(u.place) filter (where u.reason is null) over (partition by u.charger_id, u.external_id,
                                                                      u.source) as latest
              from unnest(sent) u) i
      left join core.chargers h on h.partner_id = private.partner_id() and h.id = (i.item).charger_id
          and (i.item).reason is null
      left join core.charging_sessions s
        on s.partner_id = private.partner_id() and s.charger_id = h.id and s.source = (i.item).source
            and s.external_id = (i.item).external_id
     cross join lateral (select private.charging_session_flags(i.item, h.power_kw) as flags offset 0) f);
end $$;

-- Inserts new sessions, keeps the words of new and changed ones as evidence, keeps what completed ones said before they
-- were updated, and returns the new ones. It looks nothing up. Planned for each batch, the check of each foreign key is
-- planned too: 1,000 sessions into empty tables take 540 ms instead of 350.
create function private.write_charging_sessions(compared private.compared_charging_session[],
                                                updated private.charging_session_change[])
returns private.charging_session_change[]
language plpgsql
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  created private.charging_session_change[];
begin
  with written as (
    insert into core.charging_sessions as s
      (partner_id, charger_id, id, connection_id, owner_id, source, external_id, connector, started_at, ended_at, wh,
       status, flags, received_at,
       meter_id, meter_start_wh, meter_end_wh)
    select private.partner_id(), (c.item).charger_id, c.session_id, c.connection_id, c.owner_id, (c.item).source,
        (c.item).external_id,
           (c.item).connector, (c.item).started_at, (c.item).ended_at, (c.item).wh, (c.item).status, c.flags,
               private.now(), (c.item).meter_id,
           (c.item).meter_start_wh, (c.item).meter_end_wh
      from unnest(compared) c where c.status = 'created'
     order by (c.item).started_at, (c.item).source, (c.item).external_id
    returning s as session)
  select array_agg(row(w.session, null)::private.charging_session_change) into created from written w;
  insert into core.charging_evidence
    (partner_id, charger_id, session_id, owner_id, source, external_id, client_id, upload_id, request_id, document,
     document_sha256, sent_sha256,
     signed, signature, meter_id, meter_start_wh, meter_end_wh, end_from, received_at)
  select private.partner_id(), i.charger_id, c.session_id, c.owner_id, i.source, i.external_id, i.client_id,
      i.upload_id, i.request_id, i.document,
         sha256(convert_to(i.document::text, 'UTF8')), i.sent_sha256, i.signed,
             case when i.signed <> '{}' then 'unchecked' end, i.meter_id,
         i.meter_start_wh, i.meter_end_wh, i.end_from, private.now()
    from unnest(compared) c cross join lateral (select (c.item).*) i
   where c.status in ('created', 'updated') and i.document is not null;
  insert into core.replaced_charging_sessions
    (partner_id, charger_id, session_id, owner_id, month, started_at, ended_at, wh, flags, received_at)
  select (u.before).partner_id, (u.before).charger_id, (u.before).id, (u.before).owner_id, (u.before).month,
      (u.before).started_at,
         (u.before).ended_at, (u.before).wh, (u.before).flags, (u.before).received_at
    from unnest(updated) u
   where (u.before).ended_at is not null
     and ((u.before).started_at, (u.before).ended_at, (u.before).wh) is distinct from ((u.after).started_at,
         (u.after).ended_at, (u.after).wh);
  return created;
end $$;

-- Updates changed sessions, and returns them with what they said before.
create function private.correct_charging_sessions(
    compared private.compared_charging_session[]) returns private.charging_session_change[]
language plpgsql
as $$
declare
  updated private.charging_session_change[];
begin
  with written as (
    update core.charging_sessions s
       set connector = (c.item).connector, started_at = (c.item).started_at, ended_at = (c.item).ended_at,
           wh = (c.item).wh,
           status = (c.item).status, received_at = private.now(), meter_id = (c.item).meter_id,
               meter_start_wh = (c.item).meter_start_wh,
           meter_end_wh = (c.item).meter_end_wh, connection_id = coalesce(s.connection_id, c.connection_id),
           flags = c.flags || case when 'after_lock' = any (s.flags) then '{after_lock}'::text[] else '{}' end
      from unnest(compared) c
     where c.status = 'updated' and s.partner_id = private.partner_id() and s.charger_id = (c.item).charger_id
         and s.id = c.session_id
    returning s as session, c.before)
  select array_agg(row(w.session, w.before)::private.charging_session_change) into updated from written w;
  return updated;
end $$;

-- The sessions of a charger that may last into one of these windows, or begin in it. Each window begins a day before
-- what it is for.
create function private.charging_sessions_in(charger uuid, windows tstzmultirange) returns setof core.charging_sessions
language sql stable
begin atomic
  select n.*
    from unnest(windows) w
   cross join lateral (
     select near.* from core.charging_sessions near
      where near.partner_id = private.partner_id() and near.charger_id = charger and near.started_at >= lower(w)
          and near.started_at <= upper(w)
     union all
     -- only a long session that began over a day ago can still last
     select long.* from core.charging_sessions long
      where long.partner_id = private.partner_id() and long.charger_id = charger
          and long.ended_at - long.started_at > interval '23 hours'
        and long.started_at > lower(w) - interval '30 days' and long.started_at < lower(w)) n;
end;

-- Flags changed sessions, and those they overlap or used to, and returns the months that may differ now. Of two that
-- overlap at an EVSE the first to come stands. duplicate: begin and end are within five minutes, and the energy within
-- 1 % or 0.1 kWh; of two sources, beside EVSE 1 too.
create function private.judge_charging_sessions(
    changes private.charging_session_change[]) returns private.touched_month[]
language plpgsql
as $$
declare
  looked   private.charging_session_change[] := coalesce(changes, '{}');
  covered boolean[];
  ends     timestamptz[];
  at       int;
  event    record;
  touched  private.touched_month[];
begin
  if exists (select from unnest(changes) c where (c.before).id is not null) then
    looked := array(
      select distinct on (((k.change).after).id) k.change
        from (select c as change from unnest(changes) c
              union all
              -- A session that was corrected may no longer overlap later ones, or overlap others than before. These
              -- come as they were.
              select row(other, other)::private.charging_session_change
                from (select (c.after).charger_id,
                      range_agg(tstzrange(v.first - interval '5 minutes', v.last + interval '5 minutes')) as spans,
                             range_agg(tstzrange(v.first - interval '1 day', v.last + interval '5 minutes')) as windows
                        from unnest(changes) c
                       cross join lateral (values ((c.before).started_at, (c.before).ended_at),
                                           ((c.after).started_at, (c.after).ended_at)) t (started_at, ended_at)
                       cross join lateral (select least(t.started_at, t.ended_at) as first,
                                           greatest(t.started_at, t.ended_at) as last) v
                       where (c.before).id is not null and t.ended_at is not null
                       group by 1) g
               cross join lateral private.charging_sessions_in(g.charger_id, g.windows) other
               where tstzrange(least(other.started_at, other.ended_at), greatest(other.started_at, other.ended_at),
                               '[]') && g.spans and other.ended_at is not null) k
       order by ((k.change).after).id, (k.change).after is not distinct from (k.change).before);
  end if;
  -- A session is covered if one that arrived before it at its EVSE begins before it ends, and ends after it begins. We
  -- go through an EVSE in order of arrival. ends is a Fenwick tree over the begins: for any number of first begins
  -- (rank) it has the latest end among the arrivals so far. So a session costs one look-up, instead of a comparison
  -- with every other session.
  covered := array_fill(false, array[cardinality(looked)]);
  for event in
    with asking as (
      select c.place, s.* from unnest(looked) with ordinality c (after, before, place)
        cross join lateral (select (c.after).*) s where s.ended_at is not null
    ), told as (
      select a.charger_id, a.connector, a.arrival, a.ended_at as key, a.started_at as bound, a.place::int as place
       from asking a
      union all
      select n.charger_id, n.connector, n.arrival, n.started_at, n.ended_at, null
        from (select a.charger_id,
              range_agg(tstzrange(least(a.started_at, a.ended_at) - interval '1 day',
                                  greatest(a.started_at, a.ended_at), '[]')) as windows
                from asking a group by a.charger_id) g
       cross join lateral private.charging_sessions_in(g.charger_id, g.windows) n
       where n.ended_at is not null and n.flags <@ '{overlapping,duplicate,after_lock}'
    )
    select t.bound, t.place, count(*) filter (where t.place is null) over evse::int as size,
           count(*) filter (where t.place is null) over (evse order by t.key,
                                                         t.place nulls last rows unbounded preceding)::int as rank,
           row_number() over (evse order by t.arrival, t.place nulls last) as n
      from told t
    window evse as (partition by t.charger_id, t.connector)
     order by t.charger_id, t.connector, t.arrival, t.place nulls last
  loop
    if event.n = 1 then
      ends := array_fill('-infinity'::timestamptz, array[event.size]);
    end if;
    at := event.rank;
    if event.place is null then
      while at <= event.size loop
        ends[at] := greatest(ends[at], event.bound);
        at := at + (at & -at);
      end loop;
    else
      while at > 0 loop
        covered[event.place] := covered[event.place] or ends[at] > event.bound;
        at := at - (at & -at);
      end loop;
    end if;
  end loop;
  with looked_at as materialized (
    select s.id, s.charger_id, s.connection_id, s.month, s.counted, s.flags,
        c.after is distinct from c.before as changed, (c.before).month as old_month,
           private.own_flags(s.flags) || case when e.same then '{duplicate}'::text[] when c.covered then '{overlapping}'
                                              else '{}' end as judged,
           -- what came after the lock, and was withdrawn since, was never booked
           not 'withdrawn' = any (s.flags) or exists (
             select from core.replaced_charging_sessions r
              where r.partner_id = s.partner_id and r.charger_id = s.charger_id and r.session_id = s.id
                  and not 'after_lock' = any (r.flags)) as booked,
           s.ended_at is not null and h.mid_eligible is true and exists (
             select from core.delivered_months d
              where d.partner_id = s.partner_id and d.connection_id = s.connection_id and d.locked
                and d.period in (s.month,
                                 case when (c.before).ended_at is not null then (c.before).month end)) as locked
      from rows from (unnest(looked), unnest(covered)) c (after, before, covered)
     cross join lateral (select (c.after).*) s
      join core.chargers h on h.partner_id = s.partner_id and h.id = s.charger_id
     cross join lateral (
       select exists (
         select from (
           -- an EVSE charges one car at a time, so these are enough: more than 300 that begin within ten minutes are no
           -- charges
           select near.* from core.charging_sessions near
            where near.partner_id = private.partner_id() and near.charger_id = s.charger_id
                and near.started_at >= s.started_at - interval '5 minutes'
              and near.started_at <= s.started_at + interval '5 minutes'
            order by near.started_at limit 300) o
          where o.arrival < s.arrival and o.flags <@ '{overlapping,duplicate,after_lock}'
            and abs(extract(epoch from o.ended_at - s.ended_at)) <= 300 and abs(o.wh - s.wh) <= greatest(100,
                0.01 * greatest(o.wh, s.wh))
            -- short sessions of one source may follow each other so closely
            and (o.source <> s.source or o.started_at < s.ended_at and o.ended_at > s.started_at)
            -- A source that names no EVSE means the first. A file without ids knows a session by its EVSE, and may name
            -- it later.
            and (o.connector = s.connector or o.source <> s.source and least(o.connector, s.connector) = 1
                 or s.source = 'file' and o.received_at <> s.received_at and (o.started_at, o.ended_at,
                                                                              o.wh) = (s.started_at, s.ended_at,
                                                                              s.wh))) as same offset 0) e
  ), verdict as materialized (
    select l.*, l.judged
        || case when l.booked
                and ('after_lock' = any (l.flags) or l.locked and (l.changed or not l.counted and l.judged = '{}'))
                                 then '{after_lock}'::text[] else '{}' end as new_flags
      from looked_at l
  ), flagged as (
    update core.charging_sessions s set flags = v.new_flags
      from verdict v
     where v.flags <> v.new_flags and s.partner_id = private.partner_id() and s.charger_id = v.charger_id
         and s.id = v.id
  ), noted as (
    insert into core.charging_changes (partner_id, owner_id, charger_id, session_id)
    select h.partner_id, h.owner_id, h.id, v.id
      from verdict v join core.chargers h on h.partner_id = private.partner_id() and h.id = v.charger_id
          and h.user_id is null
     where v.changed or v.flags <> v.new_flags
     order by v.id
  )
  select array_agg(row(m.charger_id, m.connection_id, m.month)::private.touched_month) into touched
    from (select v.charger_id, v.connection_id, t.month from verdict v
          cross join lateral (values (v.month), (v.old_month)) t (month)
           where t.month is not null and (v.changed or v.flags <> v.new_flags)
           group by 1, 2, 3) m;
  return touched;
end $$;

-- Writes the delivered months of connections from the counted sessions of their MID chargers. Locked months stay.
create function private.deliver_charging_sessions(connections uuid[], months date[]) returns void
language plpgsql
as $$
begin
  -- one total, signature or booking at a time on a connection
  perform from core.connections c where c.partner_id = private.partner_id() and c.id = any (connections)
      order by c.id for no key update;
  insert into core.delivered_months as d (partner_id, connection_id, owner_id, period, total_kwh, session_count, source,
                                          status, received_at)
  select c.partner_id, c.id, c.owner_id, t.month, round(coalesce(sum(s.wh), 0) / 1000.0, 3),
      coalesce(sum(s.sessions), 0), 'sessions',
         private.month_status(t.connection_id, t.month), private.now()
    from (select distinct * from unnest(connections, months) as t (connection_id, month)) t
    join core.connections c on c.partner_id = private.partner_id() and c.id = t.connection_id
    left join lateral (
      select told.wh, told.sessions
        from (select s.charger_id, sum(s.wh) as wh, count(*) as sessions from core.charging_sessions s
               where s.partner_id = private.partner_id() and s.connection_id = t.connection_id and s.month = t.month
                   and s.counted and s.flags = '{}'
               group by s.charger_id) told
        join core.chargers h on h.partner_id = private.partner_id() and h.id = told.charger_id and h.mid_eligible) s
            on true
   group by c.partner_id, c.id, t.connection_id, t.month
  having count(s.wh) > 0 or exists (
    select from core.delivered_months d where d.partner_id = private.partner_id() and d.connection_id = t.connection_id
        and d.period = t.month)
  on conflict on constraint delivered_months_pkey do update
     set total_kwh = excluded.total_kwh, session_count = excluded.session_count, status = excluded.status,
         received_at = excluded.received_at
   where not d.locked
     and d.delivery_id is null  -- a total that a client delivered is corrected by that client only
     and (d.total_kwh, d.session_count) is distinct from (excluded.total_kwh, excluded.session_count);
end $$;

-- Adds up the months of chargers and of their connections again. They are computed from the sessions each time, so they
-- are always the sum.
create function private.total_charging_sessions(touched private.touched_month[]) returns void
language plpgsql
as $$
declare
  connections uuid[];
  months      date[];
begin
  insert into core.charger_months as m (partner_id, charger_id, month, owner_id, wh, sessions)
  select h.partner_id, h.id, t.month, h.owner_id, coalesce(sum(s.wh), 0), count(s.wh)
    -- charger and month are of one query, t, so that one look into the index finds both
    from (select distinct t.charger_id, t.month, t.month::timestamp at time zone 'Europe/Amsterdam' as since,
                 (t.month + interval '1 month') at time zone 'Europe/Amsterdam' as until
            from unnest(touched) t) t
    join core.chargers h on h.partner_id = private.partner_id() and h.id = t.charger_id
    left join core.charging_sessions s
      on s.partner_id = private.partner_id() and s.charger_id = t.charger_id and s.counted and s.started_at >= t.since
          and s.started_at < t.until
   group by h.partner_id, h.id, t.month
  on conflict on constraint charger_months_pkey do update set wh = excluded.wh, sessions = excluded.sessions
   where (m.wh, m.sessions) <> (excluded.wh, excluded.sessions);

  select array_agg(t.connection_id), array_agg(t.month) into connections, months
    from unnest(touched) t
    join core.chargers h on h.partner_id = private.partner_id() and h.id = t.charger_id and h.mid_eligible
   where t.connection_id is not null;
  perform private.deliver_charging_sessions(connections, months);
end $$;

-- Notes when a charger was last heard of. Notes its meter reading too, at the end of a charge or during one.
create function private.note_chargers(compared private.compared_charging_session[]) returns void
language plpgsql
as $$
begin
  update core.chargers h
     set last_seen_at = greatest(h.last_seen_at, seen.at),
         latest_meter_wh = case when seen.meter_at >= coalesce(h.meter_updated_at, '-infinity') then seen.meter_wh
                                else h.latest_meter_wh end,
         meter_updated_at = greatest(h.meter_updated_at, seen.meter_at)
    from (select i.charger_id, max(i.at) as at, max(i.at) filter (where i.meter_wh is not null) as meter_at,
                 (array_agg(i.meter_wh order by i.at desc,
                            i.place desc) filter (where i.meter_wh is not null))[1] as meter_wh
            from (select (c.item).charger_id, (c.item).place, (c.item).meter_wh,
                         least(coalesce((c.item).ended_at, private.now()), private.now()) as at
                    from unnest(compared) c where c.status in ('created', 'updated', 'unchanged')) i
           group by i.charger_id) seen
   where h.partner_id = private.partner_id() and h.id = seen.charger_id
     and (seen.at > h.last_seen_at or h.last_seen_at is null or seen.meter_at is not null);
end $$;

-- Stores sessions that were read. Idempotent by charger, source and external_id. A telling that changes something is
-- kept as evidence.
create function private.store_charging_sessions(
    sent private.charging_session_item[]) returns private.charging_session_result[]
language plpgsql
set enable_hashjoin = 'off' set enable_mergejoin = 'off'
-- only rows cost: to save a page, the planner reads all sessions of a charger instead of the one that a key means.
-- Among 300,000 sessions without statistics, 1,000 more take 0.4 to 0.9 s; without random_page_cost 2.4,
-- enable_hashjoin 3.2, enable_mergejoin 3.1. Among 200,000 with statistics they take 160 to 200 ms, and without
-- cpu_operator_cost 240 to 270.
set random_page_cost = 0 set cpu_operator_cost = 0.0001
as $$
declare
  chargers constant uuid[] := array(select distinct i.charger_id from unnest(sent) i where i.reason is null);
  compared private.compared_charging_session[];
  changes  private.charging_session_change[];
begin
  -- A plan that was kept from a table without rows may read all of the partner for each item. Planning a batch takes
  -- 100 ms: it is done where the table is small.
  if cardinality(sent) > 20 and (select c.reltuples < 10000 from pg_catalog.pg_class c
                                 where c.oid = 'core.charging_sessions'::regclass) then
    perform set_config('plan_cache_mode', 'force_custom_plan', true);
  end if;
  -- one batch at a time on a charger; in order, so that two batches cannot wait for each other
  perform from core.chargers h where h.partner_id = private.partner_id() and h.id = any (chargers)
      order by h.id for no key update;
  perform from core.connections c
    where c.partner_id = private.partner_id()
      and c.id = any (array(select h.connection_id from core.chargers h
                             where h.partner_id = private.partner_id() and h.id = any (chargers) and h.mid_eligible))
    order by c.id for no key update;
  compared := private.compare_charging_sessions(sent);
  if exists (select from unnest(compared) c where c.status = 'updated') then
    changes := private.correct_charging_sessions(compared);
  end if;
  changes := changes || private.write_charging_sessions(compared, changes);
  if changes <> '{}' then
    perform private.total_charging_sessions(private.judge_charging_sessions(changes));
  end if;
  perform private.note_chargers(compared);
  return array(
    select row((c.item).place, (c.item).sheet_row, case when (c.item).source <> 'file' then (c.item).external_id end,
               c.status,
               case when c.status = 'rejected' then coalesce((c.item).reason, 'unknown_charger') end,
                   s)::private.charging_session_result
      from unnest(compared) c
      left join core.charging_sessions s
        on s.partner_id = private.partner_id() and s.charger_id = (c.item).charger_id and s.source = (c.item).source
       and s.external_id = (c.item).external_id and c.status <> 'rejected');
end $$;

-- Results as [{place, status: created|updated|unchanged|superseded|rejected|parked, reason?, session_id?, flags?}].
create function private.charging_results(results private.charging_session_result[]) returns jsonb
language plpgsql stable
as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
             'place', r.place, 'status', r.status, 'reason', r.reason, 'session_id', (r.session).id, 'flags',
                 (r.session).flags))), '[]')
      from unnest(results) r);
end $$;

-- As private.store_charging_sessions, from items as private.read_charging_sessions takes them, to
-- private.charging_results.
create function private.ingest_charging_sessions(sessions jsonb) returns jsonb
language plpgsql
set plan_cache_mode = 'force_generic_plan'  -- with read_charging_sessions: else one session takes 5.3 ms instead of 4.3
as $$
begin
  return private.charging_results(private.store_charging_sessions(array(select r
          from private.read_charging_sessions(sessions) r)));
end $$;
