-- Reads charging sessions item by item, and flags implausible ones.

create function private.read_charging_sessions(sessions jsonb) returns setof private.charging_session_item
language sql stable
set search_path = ''
as $$
  with sent as (
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
           private.as_count(i.item -> 'meter_wh') as meter_wh
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
              when status not in ('active', 'charging') and ended_at is null then 'bad_status' end
    from sent
$$;
comment on function private.read_charging_sessions(jsonb) is
  'Sessions as a source sent them, each read on its own. reason is null, or bad_ and the unreadable field. Without ended_at a session is charging, unless status says active.';
grant execute on function private.read_charging_sessions(jsonb) to api_owner;

create function private.charging_session_flags(started_at timestamptz, ended_at timestamptz, wh bigint, power_kw numeric) returns text[]
language sql stable
set search_path = ''
as $$
  select array_remove(array[
    case when wh < 0 then 'negative' end,
    case when ended_at < started_at then 'ends_before_start' end,
    -- five minutes, because clocks differ; a charger that lost the time starts again in 1970 or 2000
    case when greatest(started_at, ended_at) > private.now() + interval '5 minutes' or started_at < '2010-01-01Z' then 'wrong_clock' end,
    case when ended_at - started_at > interval '31 days' then 'too_long' end,
    -- a tenth for the meter's and the grid's tolerance, a minute for the clock's; 50 kW is the most a charger of ours may have
    case when wh > coalesce(power_kw, 50) * 1000 * 1.1
                   * (extract(epoch from greatest(coalesce(ended_at, private.now()) - started_at, interval '0')) + 60) / 3600 then 'beyond_power' end
  ], null)
$$;
comment on function private.charging_session_flags(timestamptz, timestamptz, bigint, numeric) is
  'Why a session is implausible, judged by its own fields alone.';
grant execute on function private.charging_session_flags(timestamptz, timestamptz, bigint, numeric) to api_owner;

create function private.own_flags(flags text[]) returns text[]
language sql immutable
set search_path = ''
as $$ select array_remove(array_remove(flags, 'overlapping'), 'after_lock') $$;
comment on function private.own_flags(text[]) is 'The flags of private.charging_session_flags(): all but overlapping and after_lock.';
grant execute on function private.own_flags(text[]) to api_owner;
