-- Reads charging sessions item by item, and flags implausible ones.

-- Sessions as a source sent them, each read on its own. reason is null, or bad_ and the unreadable field. Without ended_at a session is
-- charging, unless status says active. What is beside the session (document, sent_sha256, signed, …) comes from our own doors, which
-- checked its shape.
create function private.read_charging_sessions(sessions jsonb) returns setof private.charging_session_item
language sql stable
as $$
  -- read once, though judged by several columns
  with sent as materialized (
    select i.item,
           coalesce((i.item ->> 'place')::int, i.ordinality::int) as place,
           private.as_uuid(i.item ->> 'charger_id') as charger_id,
           case when length(i.item ->> 'source') between 1 and 40 then i.item ->> 'source' end as source,
           case when length(i.item ->> 'external_id') between 1 and 120 then i.item ->> 'external_id' end as external_id,
           case when i.item ->> 'connector' is null then 1
                when private.as_count(i.item -> 'connector') between 1 and 100 then (i.item ->> 'connector')::numeric::int end as connector,
           private.as_moment(i.item ->> 'started_at') as started_at,
           private.as_moment(i.item ->> 'ended_at') as ended_at,
           private.as_count(i.item -> 'wh') as wh,
           case when i.item ->> 'ended_at' is not null then 'completed' else coalesce(i.item ->> 'status', 'charging') end as status,
           private.as_count(i.item -> 'meter_wh') as meter_wh,
           left(i.item ->> 'meter_id', 120) as meter_id,
           private.as_count(i.item -> 'meter_start_wh') as meter_start_wh,
           private.as_count(i.item -> 'meter_end_wh') as meter_end_wh,
           i.item ->> 'power_type' as power_type,
           case when i.item ? 'flags' then array(
             select f from jsonb_array_elements_text(i.item -> 'flags') f where f in ('no_end', 'meter_disagrees', 'abroad')) else '{}' end as told_flags,
           i.item ->> 'end_from' as end_from,
           nullif(i.item -> 'document', 'null') as document,
           decode(i.item ->> 'sent_sha256', 'hex') as sent_sha256,
           case when i.item ? 'signed' then array(select jsonb_array_elements_text(i.item -> 'signed')) else '{}' end as signed,
           coalesce((i.item ->> 'client_id')::uuid, private.client_id()) as client_id,
           (i.item ->> 'upload_id')::uuid as upload_id,
           coalesce(i.item ->> 'request_id', nullif(current_setting('app.request_id', true), '')) as request_id
      from jsonb_array_elements(sessions) with ordinality as i (item, ordinality)
  )
  select place, charger_id, source, external_id, connector, started_at, ended_at, wh, status, meter_wh,
         case when charger_id is null then 'bad_charger_id'
              when source is null then 'bad_source'
              when external_id is null then 'bad_external_id'
              when connector is null then 'bad_connector'
              when started_at is null then 'bad_started_at'
              when item ->> 'ended_at' is not null and ended_at is null then 'bad_ended_at'
              when wh is null then 'bad_wh'
              when status not in ('active', 'charging') and ended_at is null then 'bad_status' end,
         meter_id, meter_start_wh, meter_end_wh, power_type, told_flags, end_from, document, sent_sha256, signed, client_id, upload_id, request_id
    from sent
$$;

-- The last end at an EVSE before a charge, at most 24 hours before it. A charger that told only the end of a charge drew its energy since.
create function private.idle_since(item private.charging_session_item) returns timestamptz
language sql stable
as $$
  select coalesce(max(s.ended_at), item.ended_at - interval '24 hours')
    from core.charging_sessions s
   where s.partner_id = private.partner_id() and s.charger_id = item.charger_id and s.connector = item.connector
     and s.started_at between item.ended_at - interval '31 days' and item.ended_at
     and s.ended_at between item.ended_at - interval '24 hours' and item.ended_at
     and (s.source, s.external_id) <> (item.source, item.external_id)
$$;

-- Why a session is implausible, judged by its own fields alone. meter_disagrees: its readings and its energy differ by more than 1 % and
-- 0.1 kWh.
create function private.charging_session_flags(item private.charging_session_item, power_kw numeric) returns text[]
language sql stable
return array_remove(array[
    case when item.wh < 0 then 'negative' end,
    case when item.ended_at < item.started_at then 'ends_before_start' end,
    -- five minutes, because clocks differ; a charger that lost the time starts again in 1970 or 2000
    case when greatest(item.started_at, item.ended_at) > private.now() + interval '5 minutes' or item.started_at < '2010-01-01Z' then 'wrong_clock' end,
    case when item.ended_at - item.started_at > interval '31 days' then 'too_long' end,
    -- A tenth for the meter's and the grid's tolerance, a minute for the clock's. 50 kW is the most an AC charger of ours may have, 400 kW a
    -- fast one.
    case when item.wh > coalesce(power_kw, case item.power_type when 'DC' then 400 else 50 end) * 1000 * 1.1
                        * (extract(epoch from greatest(coalesce(item.ended_at, private.now())
                           - case when item.source = 'ocpp' and item.started_at = item.ended_at then private.idle_since(item) else item.started_at end,
                           interval '0')) + 60) / 3600
         then 'beyond_power' end,
    case when 'no_end' = any (item.told_flags) then 'no_end' end,
    case when 'meter_disagrees' = any (item.told_flags)
           or abs(item.meter_end_wh - item.meter_start_wh - item.wh) > greatest(100, 0.01 * item.wh) then 'meter_disagrees' end,
    case when 'abroad' = any (item.told_flags) then 'abroad' end
  ], null);

-- The flags of private.charging_session_flags(), and withdrawn: all but overlapping, duplicate and after_lock.
create function private.own_flags(flags text[]) returns text[]
language sql immutable
return array_remove(array_remove(array_remove(flags, 'overlapping'), 'duplicate'), 'after_lock');
