-- Judges sessions beside others of their charger: each kWh counts once, and a charger gives no more than it can.

-- Sessions of a charger that need its EVSE in this span, or begin or end within five minutes of it. Three looks: what
-- began in the day before, what lasts longer than a day, and what begins later and takes longer than it says.
create function private.sessions_near(charger uuid, since timestamptz, until timestamptz)
returns setof core.charging_sessions
language sql stable
begin atomic
  select s.* from core.charging_sessions s
   where s.partner_id = private.partner_id() and s.charger_id = charger
     and s.started_at >= least(since, until) - interval '1 day 5 minutes'
     and s.started_at <= greatest(since, until) + interval '5 minutes'
     and greatest(s.started_at, s.ended_at) >= least(since, until) - interval '5 minutes'
  union all
  select s.* from core.charging_sessions s
   where s.partner_id = private.partner_id() and s.charger_id = charger
     and s.ended_at - s.started_at > interval '24 hours'
     and s.started_at > least(since, until) - interval '32 days'
     and s.started_at < least(since, until) - interval '1 day 5 minutes'
     and s.ended_at >= least(since, until) - interval '5 minutes'
  union all
  select s.* from core.charging_sessions s
   where s.partner_id = private.partner_id() and s.charger_id = charger and s.busy_from < s.started_at
     and s.started_at > greatest(since, until) + interval '5 minutes'
     and s.started_at < greatest(since, until) + interval '1 day' and s.busy_from < greatest(since, until);
end;

-- What came before a session of a charger, overlaps the time that it needs (busy_from to ended_at) and could be true.
-- Whether it counts does not matter.
create function private.sessions_before(charger uuid, arrived bigint, since timestamptz, until timestamptz)
returns setof core.charging_sessions
language sql stable
begin atomic
  select o.* from core.charging_sessions o
   where o.partner_id = private.partner_id() and o.charger_id = charger
     and o.started_at > since - interval '24 hours' and o.started_at < until
     and o.ended_at > since and o.arrival < arrived
     and o.flags <@ '{overlapping,duplicate,beyond_capacity,after_lock}'
  union all
  select o.* from core.charging_sessions o
   where o.partner_id = private.partner_id() and o.charger_id = charger
     and o.ended_at - o.started_at > interval '24 hours'
     and o.started_at > since - interval '31 days' and o.started_at <= since - interval '24 hours'
     and o.started_at < until and o.ended_at > since and o.arrival < arrived
     and o.flags <@ '{overlapping,duplicate,beyond_capacity,after_lock}'
  union all
  select o.* from core.charging_sessions o
   where o.partner_id = private.partner_id() and o.charger_id = charger and o.busy_from < o.started_at
     and o.started_at >= until and o.started_at < until + interval '24 hours'
     and o.busy_from < until and o.ended_at > since and o.arrival < arrived
     and o.flags <@ '{overlapping,duplicate,beyond_capacity,after_lock}';
end;

-- Whether two sessions may be at one EVSE of their charger. An assumed number is another EVSE than other assumed ones
-- from 3, which files give to EVSEs that they name by words; it may be any EVSE whose number was told.
create function private.may_be_one_evse(one int, one_assumed boolean, other int, other_assumed boolean) returns boolean
language sql immutable
return one = other or one_assumed <> other_assumed or one_assumed and 1 in (one, other);

-- The month of a connection, if a booking has it.
create function private.locked_month(connection uuid, month date) returns setof core.delivered_months
language sql stable
begin atomic
  select d.* from core.delivered_months d
   where d.partner_id = private.partner_id() and d.connection_id = connection and d.period = month and d.locked;
end;

-- Keeps what completed sessions were before they changed: as private.judge_sessions takes them. What a booking has of
-- them stands there until its month opens. had_mid: their meter was confirmed until now. Returns the bytes of it.
create function private.keep_replaced(changed jsonb, had_mid boolean default false) returns bigint
language plpgsql
as $$
declare
  size bigint;
begin
  with replaced as (
    insert into core.replaced_charging_sessions as r
      (partner_id, charger_id, session_id, owner_id, month, connector, evse_assumed, started_at, ended_at, wh, flags,
       received_at)
    select s.partner_id, s.charger_id, s.id, s.owner_id, s.month, s.connector, s.evse_assumed, s.started_at, s.ended_at,
           s.wh, s.flags, s.received_at
      from jsonb_populate_recordset(null::core.charging_sessions, changed) s where s.ended_at is not null
    returning r.id, r.charger_id, r.session_id, r.month, r.flags, octet_length(r::text) as size
  ), booked as (
    update core.charging_sessions s set booked_as = r.id
      from replaced r
     where r.flags = '{}' and s.partner_id = private.partner_id() and s.id = r.session_id
       and (had_mid
            or (select h.mid_eligible from core.chargers h where h.partner_id = s.partner_id and h.id = s.charger_id))
       and exists (select from private.locked_month(s.connection_id, r.month))
  )
  select coalesce(sum(r.size), 0) into size from replaced r;
  return size;
end $$;

-- What is booked at a charger in this span, and was corrected or withdrawn since: it stands until its month opens.
create function private.still_booked(charger uuid, since timestamptz, until timestamptz)
  returns setof core.replaced_charging_sessions
language sql stable
begin atomic
  select r.* from core.replaced_charging_sessions r
   cross join lateral (
     select from core.charging_sessions o where o.id = r.session_id and o.booked_as = r.id limit 1) o
   where r.charger_id = charger and r.started_at < until and r.ended_at > since
     and r.started_at > since - interval '31 days';
end;

-- What is booked so in another month at the time of a session.
create function private.booked_before(s core.charging_sessions) returns setof core.replaced_charging_sessions
language sql stable
begin atomic
  select r.* from private.still_booked(s.charger_id, s.busy_from, s.ended_at) r
   where r.partner_id = private.partner_id() and r.session_id <> s.id and r.month <> s.month
     and private.may_be_one_evse(r.connector, r.evse_assumed, s.connector, s.evse_assumed);
end;

-- How many sessions a charger may have at one time: the EVSEs that it was ever named, else two.
create function private.sockets_of(charger uuid) returns int
language plpgsql stable
as $$
begin
  return (select coalesce(nullif(count(distinct n.evse_no), 0), 2) from core.charger_names n
           where n.partner_id = private.partner_id() and n.charger_id = charger);
end $$;

-- Sessions that corrected ones overlap, or overlapped before: corrected as private.judge_sessions takes it.
create function private.sessions_beside_corrected(corrected jsonb) returns uuid[]
language plpgsql stable
as $$
begin
  return array(
    select distinct o.id
      from (select s.charger_id, range_agg(tstzrange(least(t.since, t.until), greatest(t.since, t.until), '[]'))
                     as spans
              from jsonb_to_recordset(corrected) as n (id uuid, month date, busy_from timestamptz,
                                                       ended_at timestamptz)
             cross join lateral (
               select * from core.charging_sessions s
                where s.partner_id = private.partner_id() and s.id = n.id limit 1) s
             cross join lateral (values (s.busy_from, s.ended_at), (n.busy_from, n.ended_at)) t (since, until)
             where n.month is not null and t.until is not null
             group by s.charger_id) g
     cross join lateral unnest(g.spans) w
     cross join lateral private.sessions_near(g.charger_id, lower(w), upper(w)) o
     where o.ended_at is not null);
end $$;

-- What those beside a session make of it: duplicate, overlapping, or crowded if it needs a socket that it may not have.
create function private.look_beside(s core.charging_sessions) returns text[]
language plpgsql stable
as $$
declare
  beside   text[]  := '{}';
  crowded  boolean := 'beyond_capacity' = any (s.flags);
  one_evse boolean;
  others   int     := 0;
begin
  -- Another told the same charge before: begin and end within five minutes, the energy within 1 % or 0.1 kWh. A
  -- duplicate stays one where its energy or an EVSE is corrected: else 10 and then 10.5 kWh are 20.5.
  if exists (
    select from (
      -- more than 300 that begin within ten minutes are no charges
      select near.* from core.charging_sessions near
       where near.partner_id = private.partner_id() and near.charger_id = s.charger_id
         and near.started_at >= s.started_at - interval '5 minutes'
         and near.started_at <= s.started_at + interval '5 minutes'
       order by near.started_at limit 300) o
     where o.arrival < s.arrival and o.flags <@ '{overlapping,duplicate,beyond_capacity,after_lock}'
       and abs(extract(epoch from o.ended_at - s.ended_at)) <= 300
       and (abs(o.wh - s.wh) <= greatest(100, 0.01 * greatest(o.wh, s.wh)))::int
           + private.may_be_one_evse(o.connector, o.evse_assumed, s.connector, s.evse_assumed)::int
           + ('duplicate' = any (s.flags))::int >= 2
       -- short sessions of one source may follow each other so closely
       and (o.source <> s.source or o.started_at < s.ended_at and o.ended_at > s.started_at))
  then
    beside := '{duplicate}';
  end if;
  if beside = '{}' then
    -- read once: of many pieces of a day each reads all before it
    for one_evse in
      select private.may_be_one_evse(o.connector, o.evse_assumed, s.connector, s.evse_assumed)
        from private.sessions_before(s.charger_id, s.arrival, s.busy_from, s.ended_at) o
    loop
      if one_evse then
        return '{overlapping}';
      end if;
      others := others + 1;
    end loop;
    -- only what needs a socket may lack one
    crowded := crowded or others > 0 and others >= private.sockets_of(s.charger_id);
  end if;
  return case when beside = '{}' and crowded then '{crowded}' else beside end;
end $$;

-- Judges sessions that changed, and each session that overlaps one of them, or did before. changed is an array. It has
-- {id} of a new session, and the row as it was of one that changed. Of two that overlap at an EVSE the first to come
-- stands, or what is booked. Writes flags and the client's log. Returns the months that may differ now: [{charger_id,
-- owner_id, connection_id, month}], without connection where the charger's meter is not confirmed.
create function private.judge_sessions(changed jsonb) returns jsonb
language plpgsql
set enable_seqscan = off  -- as private.store_sessions
as $$
declare
  judged  jsonb;
  touched jsonb;
  one     record;
  freed   uuid[] := '{}';
  pending uuid[] := '{}';
  beside  constant uuid[] := case when jsonb_path_exists(changed, '$[*].month')
                                  then private.sessions_beside_corrected(changed) else '{}' end;
begin
  -- what is booked stands: a correction that comes over it comes after it
  if beside <> '{}' then
    update core.charging_sessions m set arrival = default
     where m.partner_id = private.partner_id() and m.id = any (array(
       select s.id
         from jsonb_to_recordset(changed) as n (id uuid, month date)
        cross join lateral (
          select * from core.charging_sessions s
           where s.partner_id = private.partner_id() and s.id = n.id limit 1) s
        cross join lateral (
          select from private.sessions_near(s.charger_id, s.busy_from, s.ended_at) o
           where o.id <> s.id and o.arrival > s.arrival and o.flags = '{}'
             and o.busy_from < s.ended_at and o.ended_at > s.busy_from
             and private.may_be_one_evse(o.connector, o.evse_assumed, s.connector, s.evse_assumed)
             and exists (select from private.locked_month(o.connection_id, o.month)) limit 1) o
        where n.month is not null));
  end if;
  with looked as (
    select n.id, true as changed, n.month as old_month from jsonb_to_recordset(changed) as n (id uuid, month date)
    union all
    select o.id, false, null from unnest(beside) as o (id)
     where not exists (select from jsonb_to_recordset(changed) as n (id uuid) where n.id = o.id)
  ), known as materialized (  -- else a column that is used twice is looked up twice
    select l.changed, s.charger_id, s.id, case when h.mid_eligible then s.connection_id end as connection_id, s.month,
           l.old_month, s.counted, s.flags, s.owner_id, h.user_id is null as noted,
           -- most have none beside them, and need no closer look, which has its own plan
           case when s.ended_at is not null
                 and (exists (select from core.charging_sessions o
                               where o.partner_id = private.partner_id() and o.charger_id = s.charger_id
                                 and o.started_at >= s.started_at - interval '5 minutes'
                                 and o.started_at <= s.started_at + interval '5 minutes' and o.id <> s.id)
                      or exists (select from private.sessions_before(s.charger_id, s.arrival, s.busy_from, s.ended_at)))
                then private.look_beside(s) else '{}' end as look,
           exists (select from private.booked_before(s)) as booked_before,
           s.ended_at is not null
           and (s.booked_as is not null
                -- what came after the lock, and was withdrawn since, was never booked
                or h.mid_eligible is true and not 'withdrawn' = any (s.flags)
                   and exists (select from private.locked_month(s.connection_id, s.month))) as locked
      from looked l
     cross join lateral (
       select * from core.charging_sessions s
        where s.partner_id = private.partner_id() and s.id = l.id limit 1) s
     cross join lateral (
       select * from core.chargers h
        where h.partner_id = private.partner_id() and h.id = s.charger_id limit 1) h
  ), verdict as (
    select k.*, k.look = '{crowded}' and not k.booked_before as crowded,
           private.own_flags(k.flags)
           || case when k.booked_before and k.look <> '{duplicate}' then '{overlapping}'
                   when k.look <> '{crowded}' then k.look
                   when 'beyond_capacity' = any (k.flags) then '{beyond_capacity}' else '{}' end as judged
      from known k
  ), flagged as (
    select v.*, v.judged
           || case when v.locked
                    and ('after_lock' = any (v.flags) or v.changed or not v.counted and v.judged = '{}')
                   then '{after_lock}'::text[] else '{}' end as new_flags
      from verdict v
  ), noted as (
    insert into core.charging_changes (partner_id, owner_id, charger_id, session_id)
    select private.partner_id(), f.owner_id, f.charger_id, f.id from flagged f
     where f.noted and (f.changed or f.flags <> f.new_flags)
  )
  select jsonb_agg(jsonb_build_object('session_id', f.id, 'flags', f.new_flags, 'differs', f.flags <> f.new_flags,
                                      'changed', f.changed, 'crowded', f.crowded,
                                      'booked', f.locked and f.flags = '{}' and not f.changed))
           filter (where f.flags <> f.new_flags or f.crowded),
         jsonb_agg(jsonb_build_object('charger_id', f.charger_id, 'owner_id', f.owner_id,
                                      'connection_id', f.connection_id, 'month', f.month))
           filter (where f.changed or f.flags <> f.new_flags)
         || coalesce(jsonb_agg(jsonb_build_object('charger_id', f.charger_id, 'owner_id', f.owner_id,
                                                  'connection_id', f.connection_id, 'month', f.old_month))
                       filter (where f.old_month <> f.month), '[]')
    into judged, touched from flagged f;
  if judged is null then
    return touched;
  end if;
  for one in
    select * from jsonb_to_recordset(judged) as j (session_id uuid, flags text[], differs boolean, changed boolean,
                                                   crowded boolean, booked boolean)
  loop
    if one.differs then
      if one.booked then
        perform private.keep_replaced(jsonb_build_array(to_jsonb(s))) from core.charging_sessions s
          where s.partner_id = private.partner_id() and s.id = one.session_id;
      end if;
      update core.charging_sessions s set flags = one.flags
       where s.partner_id = private.partner_id() and s.id = one.session_id;
    end if;
    -- who came later may have a socket now, or none
    if one.crowded then
      pending := pending || one.session_id;
    elsif not one.changed then
      freed := freed || one.session_id;
    end if;
  end loop;
  if freed <> '{}' then
    pending := pending || private.sessions_beside(freed);
  end if;
  return case when pending = '{}' then touched else touched || private.judge_capacity(pending) end;
end $$;

-- Sessions at other EVSEs of the chargers of these, that overlap them and could have a socket.
create function private.sessions_beside(sessions uuid[]) returns uuid[]
language plpgsql stable
as $$
begin
  return array(
    select distinct o.id
      from (select s.charger_id, s.connector, range_agg(tstzrange(s.busy_from, s.ended_at, '[]')) as spans
              from core.charging_sessions s
             where s.partner_id = private.partner_id() and s.id = any (sessions) and s.ended_at >= s.busy_from
             group by s.charger_id, s.connector) g
     cross join lateral unnest(g.spans) w
     cross join lateral private.sessions_near(g.charger_id, lower(w), upper(w)) o
     where o.connector <> g.connector and o.ended_at is not null and o.flags <@ '{beyond_capacity,after_lock}');
end $$;

-- Flags sessions that need one socket more than their charger has, in the order in which they came. Because a session
-- has at most power_kw, the charger then gives no more than its sockets. Returns months as private.judge_sessions.
create function private.judge_capacity(pending uuid[]) returns jsonb
language plpgsql
as $$
declare
  touched jsonb := '[]';
  changed uuid[];
  one     core.charging_sessions;
  charger core.chargers;
  full_at boolean;
  locked  boolean;
begin
  while pending <> '{}' loop
    changed := '{}';
    for one in
      select s.* from core.charging_sessions s
       where s.partner_id = private.partner_id() and s.id = any (pending) and s.flags <@ '{beyond_capacity,after_lock}'
       order by s.arrival
    loop
      -- the most that were open at one time: each begins in the order of time, after what ends then
      select coalesce(max(t.open), 0) >= private.sockets_of(one.charger_id) into full_at
        from (select sum(e.step) over (order by e.at, e.step rows unbounded preceding) as open
                from private.sessions_before(one.charger_id, one.arrival, one.busy_from, one.ended_at) o
               cross join lateral (values (greatest(o.busy_from, one.busy_from), 1), (o.ended_at, -1)) e (at, step)
               where o.flags <@ '{after_lock}') t;
      continue when full_at = ('beyond_capacity' = any (one.flags));
      locked := exists (select from private.locked_month(one.connection_id, one.month));
      -- what came after the lock has a flag by now
      if locked and one.flags = '{}' then
        perform private.keep_replaced(jsonb_build_array(to_jsonb(one)));
      end if;
      update core.charging_sessions s
         set flags = case when full_at then '{beyond_capacity}'::text[] else '{}' end
                     || case when 'after_lock' = any (s.flags) or not full_at and locked
                             then '{after_lock}'::text[] else '{}' end
       where s.partner_id = one.partner_id and s.id = one.id;
      select * into charger from core.chargers h where h.partner_id = one.partner_id and h.id = one.charger_id;
      insert into core.charging_changes (partner_id, owner_id, charger_id, session_id)
      select one.partner_id, one.owner_id, one.charger_id, one.id where charger.user_id is null;
      touched := touched || jsonb_build_object(
        'charger_id', one.charger_id, 'owner_id', one.owner_id,
        'connection_id', case when charger.mid_eligible then one.connection_id end, 'month', one.month);
      changed := changed || one.id;
    end loop;
    -- who came later, in turn; no round goes back in the order of arrival, so they end
    pending := array(
      select l.id from unnest(private.sessions_beside(changed)) b
       cross join lateral (
         select l.id, l.arrival from core.charging_sessions l
          where l.partner_id = private.partner_id() and l.id = b limit 1) l
       where l.arrival > (select min(c.arrival) from core.charging_sessions c
                           where c.partner_id = private.partner_id() and c.id = any (changed)));
  end loop;
  return touched;
end $$;
