begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

DROP FUNCTION "private"."deliver_named_sessions"(uuid, jsonb, jsonb);

DROP FUNCTION "private"."delivered_sessions"(jsonb);

DROP FUNCTION "private"."note_chargers"(private.charging_session_item[]);

DROP FUNCTION "private"."read_charging_sessions"(jsonb);

DROP FUNCTION "private"."store_charging_sessions"(private.charging_session_item[]);

DROP FUNCTION "private"."write_charging_evidence"(core.charging_sessions[], private.charging_session_item[]);

DROP FUNCTION "private"."write_charging_sessions"(private.charging_session_item[]);

CREATE TYPE "private"."charging_session_result" AS (
  "place"     integer,
  "sheet_row" integer,
  "told_id"   text,
  "status"    text,
  "reason"    text,
  "session"   core.charging_sessions
);

CREATE TYPE "private"."compared_charging_session" AS (
  "item"          private.charging_session_item,
  "session_id"    uuid,
  "connection_id" uuid,
  "owner_id"      uuid,
  "flags"         text[],
  "before"        core.charging_sessions,
  "status"        text
);

CREATE TYPE "private"."told_name" AS (
  "place"      integer,
  "started_at" timestamp WITH time zone,
  "rank"       integer
);

ALTER TYPE "private"."charging_session_item" ADD ATTRIBUTE "sheet_row" integer CASCADE;

CREATE OR REPLACE FUNCTION api.deliver_charging_sessions (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  results private.charging_session_result[];
  answer  json;
begin
  perform private.act_as(caller, 'cpo');
  begin
    results := private.store_named_sessions(private.client_id(), input -> 'sessions', jsonb_build_object('sent_sha256', input -> 'sent_sha256'));
    select coalesce(json_agg(json_strip_nulls(json_build_object(
             'place', d.place, 'status', d.status, 'reason', d.reason, 'charging_session_id', d.charging_session_id, 'flags', d.flags,
             'counted', d.counted, 'not_counted', d.not_counted)) order by d.place), '[]') into answer
      from private.delivered_sessions(results) d;
    if (input ->> 'dry_run')::boolean then
      raise exception using errcode = 'DRY01';
    end if;
  exception when sqlstate 'DRY01' then
    null;  -- it was judged by storing it, and is undone
  end;
  return answer;
end $function$;

CREATE OR REPLACE FUNCTION private.as_count (
  value jsonb
)
  RETURNS bigint
  LANGUAGE sql
  IMMUTABLE
RETURN CASE WHEN ((jsonb_typeof(VALUE) = 'number'::text) AND (abs((VALUE)::numeric) < '1000000000000'::numeric)) THEN (round((VALUE)::numeric))::bigint ELSE NULL::bigint END;

CREATE OR REPLACE FUNCTION private.as_moment (
  value text
)
  RETURNS timestamp WITH time zone
  LANGUAGE sql
  STABLE
RETURN CASE WHEN ((VALUE ~~ '____-__-__T__:__:__Z'::text) AND (translate(VALUE, '0123456789'::text, ''::text) = '--T::Z'::text) AND pg_input_is_valid(VALUE, 'timestamptz'::text))
  THEN (VALUE)::timestamp
  WITH time zone WHEN
  ((VALUE ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?(Z|[+-][0-9]{2}:?[0-9]{2})$'::text) AND pg_input_is_valid(VALUE, 'timestamptz'::text)) THEN
  date_trunc('second'::text, (VALUE)::timestamp WITH time zone) ELSE NULL::timestamp WITH time zone END;

CREATE OR REPLACE FUNCTION private.charging_results (
  results private.charging_session_result[]
)
  RETURNS jsonb
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
begin
  return (
    select coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
             'place', r.place, 'status', r.status, 'reason', r.reason, 'session_id', (r.session).id, 'flags', (r.session).flags))), '[]')
      from unnest(results) r);
end $function$;

CREATE OR REPLACE FUNCTION private.compare_charging_sessions (
  sent private.charging_session_item[]
)
  RETURNS private.compared_charging_session[]
  LANGUAGE plpgsql
  SET random_page_cost TO '0.1'
  SET seq_page_cost TO '0.1'
  SET search_path TO ''
  AS $function$
begin
  return array(
    select row(i.item, coalesce(s.id, i.new_id), h.connection_id, h.owner_id, f.flags || private.lasting_flags(s), s,
               case when h.id is null then 'rejected'
                    when (i.item).place < i.latest then 'superseded'
                    when s.id is null then 'created'
                    -- late news of a charge that has ended since does not open it again
                    when (s.ended_at is null or (i.item).ended_at is not null)
                     and (s.connector, s.started_at, s.ended_at, s.wh, s.status, s.meter_id, s.meter_start_wh, s.meter_end_wh, private.own_flags(s.flags))
                         is distinct from ((i.item).connector, (i.item).started_at, (i.item).ended_at, (i.item).wh, (i.item).status, (i.item).meter_id,
                                           (i.item).meter_start_wh, (i.item).meter_end_wh, f.flags || private.lasting_flags(s)) then 'updated'
                    else 'unchanged' end)::private.compared_charging_session
      from (select u as item, gen_random_uuid() as new_id,
                   max(u.place) filter (where u.reason is null) over (partition by u.charger_id, u.external_id, u.source) as latest
              from unnest(sent) u) i
      left join core.chargers h on h.partner_id = private.partner_id() and h.id = (i.item).charger_id and (i.item).reason is null
      left join core.charging_sessions s
        on s.partner_id = h.partner_id and s.charger_id = h.id and s.source = (i.item).source and s.external_id = (i.item).external_id
     cross join lateral (select private.charging_session_flags(i.item, h.power_kw) as flags offset 0) f);
end $function$;

CREATE OR REPLACE FUNCTION private.correct_charging_sessions (
  compared private.compared_charging_session[]
)
  RETURNS private.charging_session_change[]
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  updated private.charging_session_change[];
begin
  with written as (
    update core.charging_sessions s
       set connector = (c.item).connector, started_at = (c.item).started_at, ended_at = (c.item).ended_at, wh = (c.item).wh,
           status = (c.item).status, received_at = private.now(), meter_id = (c.item).meter_id, meter_start_wh = (c.item).meter_start_wh,
           meter_end_wh = (c.item).meter_end_wh, connection_id = coalesce(s.connection_id, c.connection_id),
           flags = c.flags || case when 'after_lock' = any (s.flags) then '{after_lock}'::text[] else '{}' end
      from unnest(compared) c
     where c.status = 'updated' and s.partner_id = private.partner_id() and s.charger_id = (c.item).charger_id and s.id = c.session_id
    returning s as session, c.before)
  select array_agg(row(w.session, w.before)::private.charging_session_change) into updated from written w;
  insert into core.replaced_charging_sessions
    (partner_id, charger_id, session_id, owner_id, month, started_at, ended_at, wh, flags, received_at)
  select (u.before).partner_id, (u.before).charger_id, (u.before).id, (u.before).owner_id, (u.before).month, (u.before).started_at,
         (u.before).ended_at, (u.before).wh, (u.before).flags, (u.before).received_at
    from unnest(updated) u
   where (u.before).ended_at is not null
     and ((u.before).started_at, (u.before).ended_at, (u.before).wh) is distinct from ((u.after).started_at, (u.after).ended_at, (u.after).wh);
  return updated;
end $function$;

CREATE OR REPLACE FUNCTION private.deliver_charging_sessions (
  connections uuid[],
  months      date[]
)
  RETURNS void
  LANGUAGE plpgsql
  SET plan_cache_mode TO 'auto'
  SET search_path TO ''
  AS $function$
begin
  -- one total, signature or booking at a time on a connection
  perform from core.connections c where c.partner_id = private.partner_id() and c.id = any (connections) order by c.id for no key update;
  insert into core.delivered_months as d (partner_id, connection_id, owner_id, period, total_kwh, session_count, source, status, received_at)
  select c.partner_id, c.id, c.owner_id, t.month, round(coalesce(sum(s.wh), 0) / 1000.0, 3), coalesce(sum(s.sessions), 0), 'sessions',
         private.month_status(t.connection_id, t.month), private.now()
    from (select distinct * from unnest(connections, months) as t (connection_id, month)) t
    join core.connections c on c.partner_id = private.partner_id() and c.id = t.connection_id
    left join lateral (
      select told.wh, told.sessions
        from (select s.charger_id, sum(s.wh) as wh, count(*) as sessions from core.charging_sessions s
               where s.partner_id = private.partner_id() and s.connection_id = t.connection_id and s.month = t.month and s.counted and s.flags = '{}'
               group by s.charger_id) told
        join core.chargers h on h.partner_id = private.partner_id() and h.id = told.charger_id and h.mid_eligible) s on true
   group by c.partner_id, c.id, t.connection_id, t.month
  having count(s.wh) > 0 or exists (
    select from core.delivered_months d where d.partner_id = private.partner_id() and d.connection_id = t.connection_id and d.period = t.month)
  on conflict on constraint delivered_months_pkey do update
     set total_kwh = excluded.total_kwh, session_count = excluded.session_count, status = excluded.status, received_at = excluded.received_at
   where not d.locked
     and d.delivery_id is null  -- a total that a client delivered is corrected by that client only
     and (d.total_kwh, d.session_count) is distinct from (excluded.total_kwh, excluded.session_count);
end $function$;

CREATE OR REPLACE FUNCTION private.deliver_named_sessions (
  owner    uuid,
  sessions jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$ begin return private.charging_results(private.store_named_sessions(owner, sessions, '{}')); end $function$;

CREATE OR REPLACE FUNCTION private.deliver_sessions_of_file (
  input jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET plan_cache_mode TO 'force_generic_plan'
  SET search_path TO ''
  AS $function$
declare
  results constant private.charging_session_result[] := private.store_named_sessions(
    private.client_id(), input -> 'items', jsonb_build_object('upload_id', input -> 'upload_id', 'sent_sha256', input -> 'sha256'));
begin
  return (
    select coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
             'row', d.place, 'sheet_row', d.sheet_row, 'session_id', d.told_id, 'status', d.status, 'reason', d.reason,
             'charging_session_id', d.charging_session_id, 'flags', d.flags, 'counted', d.counted, 'not_counted', d.not_counted))), '[]')
      from private.delivered_sessions(results) d);
end $function$;

CREATE OR REPLACE FUNCTION private.delivered_sessions (
  results private.charging_session_result[]
)
  RETURNS TABLE (
    place               integer,
    sheet_row           integer,
    told_id             text,
    status              text,
    reason              text,
    charging_session_id uuid,
    flags               text[],
    counted             boolean,
    not_counted         text
  )
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_generic_plan'
  SET enable_seqscan TO 'off'
  SET enable_hashjoin TO 'off'
  SET enable_mergejoin TO 'off'
  SET search_path TO ''
  AS $function$
begin
  return query
  select r.place, r.sheet_row, r.told_id, case r.status when 'rejected' then 'invalid' else r.status end, r.reason, s.id, s.flags,
         s.id is not null and w.why is null, w.why
    from unnest(results) r
   cross join lateral (select (r.session).*) s
    left join core.chargers h on h.partner_id = s.partner_id and h.id = s.charger_id
    left join core.delivered_months d on d.partner_id = s.partner_id and d.connection_id = s.connection_id and d.period = s.month
   cross join lateral (select case when s.id is not null then private.why_not_counted(r.session, h.mid_eligible, d) end as why) w;
end $function$;

CREATE OR REPLACE FUNCTION private.find_chargers (
  owner  uuid,
  wanted private.named_charger[]
)
  RETURNS SETOF private.found_charger
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_generic_plan'
  SET enable_seqscan TO 'off'
  SET enable_hashjoin TO 'off'
  SET enable_mergejoin TO 'off'
  SET search_path TO ''
  AS $function$
begin
  return query
  with named as materialized (
    -- each name is looked up once
    select n.kind, n.value, coalesce(w.party, '') as party, array_agg(row(w.place, w.started_at, n.rank)::private.told_name) as told
      from unnest(wanted) w left join lateral private.names_told(w) n on true
     group by n.kind, n.value, coalesce(w.party, '')
  ), meant as materialized (
    select n.told, l.*
      from named n
      left join lateral (
        select c.party, c.charger_id, c.evse_no, c.ended_at
          from core.charger_names c
         where c.partner_id = private.partner_id() and c.owner_id = owner and c.kind = n.kind and c.value = n.value and c.party in (n.party, '')
        union all
        select '', h.id, null, h.removed_at from core.chargers h
         where n.kind = 'serial_number' and h.partner_id = private.partner_id() and h.serial_number = n.value and h.owner_id = owner and h.user_id is null
        union all
        select '', h.id, null, h.removed_at from core.chargers h
         where n.kind = 'charger_id' and h.partner_id = private.partner_id() and h.id = lower(n.value)::uuid and h.owner_id = owner
           and h.user_id is null) l on true
  ), hit as (
    select t.place, t.rank, m.charger_id, m.evse_no, s.stood,
           -- a name of the party before one for all; of those who had the name then, the first to lose it
           m.charger_id is not null and rank() over (
             partition by t.place, t.rank order by s.stood desc nulls last, m.party desc nulls last, coalesce(m.ended_at, 'infinity')) = 1 as nearest
      from meant m
     cross join lateral unnest(m.told) t
     cross join lateral (select case when m.charger_id is not null then m.ended_at is null or t.started_at < m.ended_at end as stood) s
  ), verdict as (
    select h.place, array_agg(distinct h.charger_id) filter (where h.stood and h.nearest) as chargers,
           (array_agg(h.evse_no order by h.rank) filter (where h.stood and h.nearest and h.evse_no is not null))[1] as evse_no,
           bool_or(h.nearest) as named
      from hit h group by h.place
  )
  select v.place, case when cardinality(v.chargers) = 1 then v.chargers[1] end, v.evse_no,
         case when v.named is not true then 'unknown_charger'
              when v.chargers is null then 'charger_removed'
              when cardinality(v.chargers) > 1 then 'ambiguous_charger' end
    from verdict v order by v.place;
end $function$;

CREATE OR REPLACE FUNCTION private.ingest_charging_sessions (
  sessions jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET plan_cache_mode TO 'force_generic_plan'
  SET search_path TO ''
  AS $function$
begin
  return private.charging_results(private.store_charging_sessions(array(select r from private.read_charging_sessions(sessions) r)));
end $function$;

CREATE OR REPLACE FUNCTION private.judge_charging_sessions (
  changes private.charging_session_change[]
)
  RETURNS private.touched_month[]
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  looked  private.charging_session_change[] := changes;
  touched private.touched_month[];
begin
  if exists (select from unnest(changes) c where (c.before).id is not null) then
    looked := array(
      select distinct on (((k.change).after).id) k.change
        from (select c as change from unnest(changes) c
              union all
              -- A session that was corrected may no longer overlap later ones, or overlap others than before. These come as they were.
              select row(other.session, other.session)::private.charging_session_change
                from unnest(changes) c
                cross join lateral (values ((c.before).started_at, (c.before).ended_at), ((c.after).started_at, (c.after).ended_at)) span (started_at, ended_at)
                cross join lateral (
                  select s as session from core.charging_sessions s
                   where s.partner_id = private.partner_id() and s.charger_id = (c.after).charger_id
                     and s.started_at < span.ended_at + interval '5 minutes' and s.ended_at > span.started_at - interval '5 minutes'
                     and s.started_at > span.started_at - interval '31 days'
                  offset 0) other  -- one index lookup per span, instead of a join of all sessions with all
               where (c.before).id is not null) k
       order by ((k.change).after).id, (k.change).after is not distinct from (k.change).before);
  end if;
  with looked_at as materialized (
    select s.id, s.charger_id, s.connection_id, s.month, s.counted, s.flags, c.after is distinct from c.before as changed, (c.before).month as old_month,
           private.own_flags(s.flags) || coalesce(o.flags, '{}') as judged,
           -- what came after the lock, and was withdrawn since, was never booked
           not 'withdrawn' = any (s.flags) or exists (
             select from core.replaced_charging_sessions r
              where r.partner_id = s.partner_id and r.charger_id = s.charger_id and r.session_id = s.id and not 'after_lock' = any (r.flags)) as booked,
           s.ended_at is not null and h.mid_eligible is true and exists (
             select from core.delivered_months d
              where d.partner_id = s.partner_id and d.connection_id = s.connection_id and d.locked
                and d.period in (s.month, case when (c.before).ended_at is not null then (c.before).month end)) as locked
      from unnest(looked) c
     cross join lateral (select (c.after).*) s
      join core.chargers h on h.partner_id = s.partner_id and h.id = s.charger_id
      left join lateral (
        select case when bool_or(e.same) then '{duplicate}'::text[] when count(*) > 0 then '{overlapping}' else '{}' end as flags
          from (
           -- only a long session that began over a day ago can still last
           select near.* from core.charging_sessions near
            where near.partner_id = s.partner_id and near.charger_id = s.charger_id and near.started_at > s.started_at - interval '24 hours'
              and near.started_at <= s.ended_at + interval '5 minutes'
           union all
           select long.* from core.charging_sessions long
            where long.partner_id = s.partner_id and long.charger_id = s.charger_id and long.ended_at - long.started_at > interval '23 hours'
              and long.started_at > s.started_at - interval '31 days' and long.started_at <= s.started_at - interval '24 hours') o
         cross join lateral (
           select abs(extract(epoch from o.started_at - s.started_at)) <= 300 and abs(extract(epoch from o.ended_at - s.ended_at)) <= 300
                  and abs(o.wh - s.wh) <= greatest(100, 0.01 * greatest(o.wh, s.wh))
                  -- short sessions of one source may follow each other so closely
                  and (o.source <> s.source or o.started_at < s.ended_at and o.ended_at > s.started_at) as same) e
         where s.ended_at is not null
           and o.connector = s.connector and o.arrival < s.arrival and o.flags <@ '{overlapping,duplicate,after_lock}'
           and o.started_at <= s.ended_at + interval '5 minutes' and o.ended_at >= s.started_at - interval '5 minutes'
           and (e.same or o.started_at < s.ended_at and o.ended_at > s.started_at)) o on true
  ), verdict as materialized (
    select l.*, l.judged || case when l.booked and ('after_lock' = any (l.flags) or l.locked and (l.changed or not l.counted and l.judged = '{}'))
                                 then '{after_lock}'::text[] else '{}' end as new_flags
      from looked_at l
  ), flagged as (
    update core.charging_sessions s set flags = v.new_flags
      from verdict v
     where v.flags <> v.new_flags and s.partner_id = private.partner_id() and s.charger_id = v.charger_id and s.id = v.id
  ), noted as (
    insert into core.charging_changes (partner_id, owner_id, charger_id, session_id)
    select h.partner_id, h.owner_id, h.id, v.id
      from verdict v join core.chargers h on h.partner_id = private.partner_id() and h.id = v.charger_id and h.user_id is null
     where v.changed or v.flags <> v.new_flags
     order by v.id
  )
  select array_agg(row(m.charger_id, m.connection_id, m.month)::private.touched_month) into touched
    from (select charger_id, connection_id, month from verdict
          union select charger_id, connection_id, old_month from verdict where old_month is not null) m;
  return touched;
end $function$;

CREATE OR REPLACE FUNCTION private.note_chargers (
  compared private.compared_charging_session[]
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  update core.chargers h
     set last_seen_at = greatest(h.last_seen_at, seen.at),
         latest_meter_wh = case when seen.meter_at >= coalesce(h.meter_updated_at, '-infinity') then seen.meter_wh else h.latest_meter_wh end,
         meter_updated_at = greatest(h.meter_updated_at, seen.meter_at)
    from (select i.charger_id, max(i.at) as at, max(i.at) filter (where i.meter_wh is not null) as meter_at,
                 (array_agg(i.meter_wh order by i.at desc, i.place desc) filter (where i.meter_wh is not null))[1] as meter_wh
            from (select (c.item).charger_id, (c.item).place, (c.item).meter_wh,
                         least(coalesce((c.item).ended_at, private.now()), private.now()) as at
                    from unnest(compared) c where c.status in ('created', 'updated', 'unchanged')) i
           group by i.charger_id) seen
   where h.partner_id = private.partner_id() and h.id = seen.charger_id
     and (seen.at > h.last_seen_at or h.last_seen_at is null or seen.meter_at is not null);
end $function$;

CREATE OR REPLACE FUNCTION private.read_charging_sessions (
  sessions jsonb,
  shared   jsonb                   DEFAULT '{}'::jsonb,
  meant    private.found_charger[] DEFAULT NULL::private.found_charger[]
)
  RETURNS SETOF private.charging_session_item
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_generic_plan'
  SET search_path TO ''
  AS $function$
declare
  known   constant text[] := '{no_end,meter_disagrees,abroad}';
  client  constant uuid   := private.client_id();
  request constant text   := nullif(current_setting('app.request_id', true), '');
  upload  constant uuid   := shared ->> 'upload_id';
  hash    constant bytea  := decode(shared ->> 'sent_sha256', 'hex');
begin
  return query
  select coalesce(i.place, i.n::int), r.charger_id, r.source, r.external_id, r.connector, r.started_at, r.ended_at, r.wh, r.status,
         private.as_count(i.meter_wh),
         case when r.charger_id is null then 'bad_charger_id'
              when r.source is null then 'bad_source'
              when r.external_id is null then 'bad_external_id'
              when r.connector is null then 'bad_connector'
              when r.started_at is null then 'bad_started_at'
              when i.ended_at is not null and r.ended_at is null then 'bad_ended_at'
              when r.wh is null then 'bad_wh'
              when r.status not in ('active', 'charging') and r.ended_at is null then 'bad_status' end,
         left(i.meter_id, 120), private.as_count(i.meter_start_wh), private.as_count(i.meter_end_wh), i.power_type,
         case when i.flags is null then '{}' else array(select f from jsonb_array_elements_text(i.flags) f where f = any (known)) end,
         i.end_from, i.document, coalesce(hash, decode(i.sent_sha256, 'hex')),
         case when i.signed is null then '{}' else array(select jsonb_array_elements_text(i.signed)) end,
         coalesce(i.client_id, client), coalesce(upload, i.upload_id), coalesce(i.request_id, request), i.sheet_row
    from rows from (
           jsonb_to_recordset(sessions) as (
             place int, charger_id text, source text, external_id text, connector jsonb, started_at text, ended_at text, wh jsonb, status text,
             meter_wh jsonb, meter_id text, meter_start_wh jsonb, meter_end_wh jsonb, power_type text, flags jsonb, end_from text, document jsonb,
             sent_sha256 text, signed jsonb, client_id uuid, upload_id uuid, request_id text, sheet_row int, evse_no int),
           unnest(meant)) with ordinality
         as i (place, charger_id, source, external_id, connector, started_at, ended_at, wh, status, meter_wh, meter_id, meter_start_wh, meter_end_wh,
               power_type, flags, end_from, document, sent_sha256, signed, client_id, upload_id, request_id, sheet_row, evse_no,
               found_place, found_id, found_evse_no, found_reason, n)
   -- read once, though judged by several columns
   cross join lateral (
     select case when meant is null then private.as_uuid(i.charger_id) else i.found_id end as charger_id,
            case when length(i.source) between 1 and 40 then i.source end as source,
            case when i.external_id is null and meant is not null then coalesce(i.found_evse_no, i.evse_no, 1) || '@' || i.started_at
                 when length(i.external_id) between 1 and 120 then i.external_id end as external_id,
            case when meant is not null then coalesce(i.found_evse_no, i.evse_no, 1)
                 when i.connector is null then 1
                 when private.as_count(i.connector) between 1 and 100 then private.as_count(i.connector)::int end as connector,
            private.as_moment(i.started_at) as started_at, private.as_moment(i.ended_at) as ended_at, private.as_count(i.wh) as wh,
            case when i.ended_at is not null then 'completed' else coalesce(i.status, 'charging') end as status
     offset 0) r
   where meant is null or i.found_id is not null;
end $function$;

CREATE OR REPLACE FUNCTION private.store_charging_sessions (
  sent private.charging_session_item[]
)
  RETURNS private.charging_session_result[]
  LANGUAGE plpgsql
  SET jit TO 'off'
  SET plan_cache_mode TO 'force_generic_plan'
  SET enable_seqscan TO 'off'
  SET enable_hashjoin TO 'off'
  SET enable_mergejoin TO 'off'
  SET search_path TO ''
  AS $function$
declare
  chargers constant uuid[] := array(select distinct i.charger_id from unnest(sent) i where i.reason is null);
  compared private.compared_charging_session[];
  changes  private.charging_session_change[];
begin
  -- what reads is planned for a large batch: a kept plan of a table without statistics may read a charger's sessions for each item
  if cardinality(sent) > 20 then
    perform set_config('plan_cache_mode', 'force_custom_plan', true), set_config('enable_seqscan', 'on', true),
            set_config('enable_hashjoin', 'on', true), set_config('enable_mergejoin', 'on', true);
  end if;
  -- one batch at a time on a charger; in order, so that two batches cannot wait for each other
  perform from core.chargers h where h.partner_id = private.partner_id() and h.id = any (chargers) order by h.id for no key update;
  perform from core.connections c
    where c.partner_id = private.partner_id()
      and c.id = any (array(select h.connection_id from core.chargers h
                             where h.partner_id = private.partner_id() and h.id = any (chargers) and h.mid_eligible))
    order by c.id for no key update;
  compared := private.compare_charging_sessions(sent);
  changes := private.write_charging_sessions(compared);
  if exists (select from unnest(compared) c where c.status = 'updated') then
    changes := changes || private.correct_charging_sessions(compared);
  end if;
  if changes <> '{}' then
    perform private.total_charging_sessions(private.judge_charging_sessions(changes));
  end if;
  perform private.note_chargers(compared);
  return array(
    select row((c.item).place, (c.item).sheet_row, case when (c.item).source <> 'file' then (c.item).external_id end, c.status,
               case when c.status = 'rejected' then coalesce((c.item).reason, 'unknown_charger') end, s)::private.charging_session_result
      from unnest(compared) c
      left join core.charging_sessions s
        on s.partner_id = private.partner_id() and s.charger_id = (c.item).charger_id and s.source = (c.item).source
       and s.external_id = (c.item).external_id and c.status <> 'rejected');
end $function$;

CREATE OR REPLACE FUNCTION private.store_named_sessions (
  owner    uuid,
  sessions jsonb,
  shared   jsonb
)
  RETURNS private.charging_session_result[]
  LANGUAGE plpgsql
  SET plan_cache_mode TO 'force_generic_plan'
  SET enable_seqscan TO 'off'
  SET enable_hashjoin TO 'off'
  SET enable_mergejoin TO 'off'
  SET search_path TO ''
  AS $function$
declare
  wanted  private.named_charger[];
  found   private.found_charger[];
  sent    private.charging_session_item[];
  waiting core.parked_charging[];
  results private.charging_session_result[];
begin
  -- by their order, so that what was found lies beside what was sent
  wanted := array(
    select row(i.n, i.party, i.started_at, i.charger_id, i.external_ref, i.serial_number, i.evse_uid, i.evse_id, i.meter_id)::private.named_charger
      from rows from (jsonb_to_recordset(sessions) as (
             party text, started_at timestamptz, charger_id uuid, external_ref text, serial_number text, evse_uid text, evse_id text, meter_id text))
           with ordinality as i (party, started_at, charger_id, external_ref, serial_number, evse_uid, evse_id, meter_id, n));
  found := array(select f from private.find_chargers(owner, wanted) f);
  sent := array(select r from private.read_charging_sessions(sessions, shared, found) r);
  results := private.store_charging_sessions(sent);
  if exists (select from unnest(found) f where f.reason is not null) then
    with missed as materialized (
      select s.item, s.reason, coalesce(s.party, '') as party, n.names,
             s.reason in ('unknown_charger', 'charger_removed') and n.names is distinct from array['charger_id:' || upper(s.charger_id::text)] as waits
        from rows from (jsonb_array_elements(sessions), unnest(found), unnest(wanted))
             as s (item, place, found_id, evse_no, reason, n, party, started_at, charger_id, external_ref, serial_number, evse_uid, evse_id, meter_id)
       cross join lateral (
         select array_agg(t.kind || ':' || t.value order by t.rank) as names
           from private.names_told(row(s.n, s.party, null, s.charger_id, s.external_ref, s.serial_number, s.evse_uid, s.evse_id, s.meter_id)::private.named_charger) t) n
       where s.reason is not null
    ), told as (
      select m.*, m.item ->> 'source' as source, m.item ->> 'external_id' as external_id, (m.item ->> 'place')::int as place,
             coalesce(m.item ->> 'external_id', concat_ws(' ', array_to_string(m.names, ' '), m.item ->> 'evse_no', m.item ->> 'started_at')) as told_as
        from missed m
    )
    select array(
             -- two that are told alike are one: the later word counts
             select distinct on (t.source, t.told_as)
                    row(null, null, owner, t.source, t.told_as, t.external_id, t.party, t.names,
                        (t.item - 'place') || shared || jsonb_strip_nulls(jsonb_build_object(
                          'client_id', owner, 'request_id', nullif(current_setting('app.request_id', true), ''))), t.reason, null, null)::core.parked_charging
               from told t where t.waits order by t.source, t.told_as, t.place desc),
           results || array(
             select row(t.place, (t.item ->> 'sheet_row')::int, t.external_id, case when t.waits then 'parked' else 'rejected' end, t.reason, null)::private.charging_session_result
               from told t)
      into waiting, results;
    perform private.park_charging(owner, waiting);
  end if;
  -- what was parked under the same id is not any more
  if exists (select from core.parked_charging p where p.partner_id = private.partner_id() and p.owner_id = owner) then
    delete from core.parked_charging p
     using unnest(sent) i
     where p.partner_id = private.partner_id() and p.owner_id = owner and p.source = i.source and p.told_as = i.external_id;
  end if;
  return results;
end $function$;

CREATE OR REPLACE FUNCTION private.total_charging_sessions (
  touched private.touched_month[]
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  connections uuid[];
  months      date[];
begin
  insert into core.charger_months as m (partner_id, charger_id, month, owner_id, wh, sessions)
  select h.partner_id, h.id, t.month, h.owner_id, coalesce(sum(s.wh), 0), count(s.wh)
    -- its borders are columns here: under row-level security an index serves no expression of a function that might leak
    from (select distinct t.charger_id, t.month, t.month::timestamp at time zone 'Europe/Amsterdam' as since,
                 (t.month + interval '1 month') at time zone 'Europe/Amsterdam' as until
            from unnest(touched) t) t
    join core.chargers h on h.partner_id = private.partner_id() and h.id = t.charger_id
    left join core.charging_sessions s
      on s.partner_id = h.partner_id and s.charger_id = h.id and s.counted and s.started_at >= t.since and s.started_at < t.until
   group by h.partner_id, h.id, t.month
  on conflict on constraint charger_months_pkey do update set wh = excluded.wh, sessions = excluded.sessions
   where (m.wh, m.sessions) <> (excluded.wh, excluded.sessions);

  select array_agg(t.connection_id), array_agg(t.month) into connections, months
    from unnest(touched) t
    join core.chargers h on h.partner_id = private.partner_id() and h.id = t.charger_id and h.mid_eligible
   where t.connection_id is not null;
  perform private.deliver_charging_sessions(connections, months);
end $function$;

CREATE OR REPLACE FUNCTION private.write_charging_sessions (
  compared private.compared_charging_session[]
)
  RETURNS private.charging_session_change[]
  LANGUAGE plpgsql
  SET plan_cache_mode TO 'force_generic_plan'
  SET enable_seqscan TO 'off'
  SET enable_hashjoin TO 'off'
  SET enable_mergejoin TO 'off'
  SET search_path TO ''
  AS $function$
declare
  created private.charging_session_change[];
begin
  with written as (
    insert into core.charging_sessions as s
      (partner_id, charger_id, id, connection_id, owner_id, source, external_id, connector, started_at, ended_at, wh, status, flags, received_at,
       meter_id, meter_start_wh, meter_end_wh)
    select private.partner_id(), (c.item).charger_id, c.session_id, c.connection_id, c.owner_id, (c.item).source, (c.item).external_id,
           (c.item).connector, (c.item).started_at, (c.item).ended_at, (c.item).wh, (c.item).status, c.flags, private.now(), (c.item).meter_id,
           (c.item).meter_start_wh, (c.item).meter_end_wh
      from unnest(compared) c where c.status = 'created'
     order by (c.item).started_at, (c.item).source, (c.item).external_id
    returning s as session)
  select array_agg(row(w.session, null)::private.charging_session_change) into created from written w;
  insert into core.charging_evidence
    (partner_id, charger_id, session_id, owner_id, source, external_id, client_id, upload_id, request_id, document, document_sha256, sent_sha256,
     signed, signature, meter_id, meter_start_wh, meter_end_wh, end_from, received_at)
  select private.partner_id(), i.charger_id, c.session_id, c.owner_id, i.source, i.external_id, i.client_id, i.upload_id, i.request_id, i.document,
         sha256(convert_to(i.document::text, 'UTF8')), i.sent_sha256, i.signed, case when i.signed <> '{}' then 'unchecked' end, i.meter_id,
         i.meter_start_wh, i.meter_end_wh, i.end_from, private.now()
    from unnest(compared) c cross join lateral (select (c.item).*) i
   where c.status in ('created', 'updated') and i.document is not null;
  return created;
end $function$;

COMMENT ON FUNCTION "api"."deliver_charging_sessions"(jsonb, jsonb) IS 'POST /v1/charging-sessions: {sessions, sent_sha256, dry_run} to [{place, status, reason?, charging_session_id?, flags?, counted, not_counted?}]. Items as private.store_named_sessions takes them.';

COMMENT ON TYPE "private"."told_name" IS 'An item that gives a name: its place, when its session began, and which of its names it is.';

REVOKE ALL ON FUNCTION "private"."charging_results"(private.charging_session_result[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."charging_results"(private.charging_session_result[]) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."charging_results"(private.charging_session_result[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."charging_results"(private.charging_session_result[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."compare_charging_sessions"(private.charging_session_item[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."compare_charging_sessions"(private.charging_session_item[]) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."compare_charging_sessions"(private.charging_session_item[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."compare_charging_sessions"(private.charging_session_item[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."correct_charging_sessions"(private.compared_charging_session[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."correct_charging_sessions"(private.compared_charging_session[]) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."correct_charging_sessions"(private.compared_charging_session[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."correct_charging_sessions"(private.compared_charging_session[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."deliver_named_sessions"(uuid, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."deliver_named_sessions"(uuid, jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."deliver_named_sessions"(uuid, jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."deliver_named_sessions"(uuid, jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."delivered_sessions"(private.charging_session_result[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."delivered_sessions"(private.charging_session_result[]) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."delivered_sessions"(private.charging_session_result[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."delivered_sessions"(private.charging_session_result[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."note_chargers"(private.compared_charging_session[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."note_chargers"(private.compared_charging_session[]) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."note_chargers"(private.compared_charging_session[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."note_chargers"(private.compared_charging_session[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."read_charging_sessions"(jsonb, jsonb, private.found_charger[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."read_charging_sessions"(jsonb, jsonb, private.found_charger[]) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."read_charging_sessions"(jsonb, jsonb, private.found_charger[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."read_charging_sessions"(jsonb, jsonb, private.found_charger[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."store_charging_sessions"(private.charging_session_item[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."store_charging_sessions"(private.charging_session_item[]) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."store_charging_sessions"(private.charging_session_item[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."store_charging_sessions"(private.charging_session_item[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."store_named_sessions"(uuid, jsonb, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."store_named_sessions"(uuid, jsonb, jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."store_named_sessions"(uuid, jsonb, jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."store_named_sessions"(uuid, jsonb, jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."write_charging_sessions"(private.compared_charging_session[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."write_charging_sessions"(private.compared_charging_session[]) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."write_charging_sessions"(private.compared_charging_session[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."write_charging_sessions"(private.compared_charging_session[]) TO "postgres";

commit;
