-- Reads charging sessions item by item, and flags implausible ones.

-- Sessions as a source sent them, each read on its own: [{charger_id, source, external_id, connector?, started_at,
-- ended_at?, wh, status?, meter_wh?, meter_id?, meter_start_wh?, meter_end_wh?, power_type?: AC|DC, flags?:
-- [no_end|meter_disagrees|abroad], end_from?, document?, sent_sha256?: hex, signed?: [text], client_id?, upload_id?,
-- request_id?, place?, sheet_row?}]. reason is null, or bad_ and the unreadable field. Without ended_at a session is
-- charging, unless status says active. What is beside the session comes from our own doors, which checked its shape.
-- shared: sent_sha256 and upload_id of all. meant: the charger of each, in their order; items without one are left out.
create function private.read_charging_sessions(sessions jsonb, shared jsonb default '{}',
                                               meant private.found_charger[] default null)
returns setof private.charging_session_item
language plpgsql stable
set plan_cache_mode = 'force_generic_plan'
as $$
declare
  known   constant text[] := '{no_end,meter_disagrees,abroad}';
  client  constant uuid   := private.client_id();
  request constant text   := nullif(current_setting('app.request_id', true), '');
  upload  constant uuid   := shared ->> 'upload_id';
  hash    constant bytea  := decode(shared ->> 'sent_sha256', 'hex');
begin
  return query
  select coalesce(i.place, i.n::int), r.charger_id, r.source, r.external_id, r.connector, r.started_at, r.ended_at,
      r.wh, r.status,
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
         case when i.flags is null then '{}' else array(select f from jsonb_array_elements_text(i.flags) f
                                                        where f = any (known)) end,
         i.end_from, i.document, coalesce(hash, decode(i.sent_sha256, 'hex')),
         case when i.signed is null then '{}' else array(select jsonb_array_elements_text(i.signed)) end,
         coalesce(i.client_id, client), coalesce(upload, i.upload_id), coalesce(i.request_id, request), i.sheet_row
    from rows from (
           jsonb_to_recordset(sessions) as (
             place int, charger_id text, source text, external_id text, connector jsonb, started_at text, ended_at text,
                 wh jsonb, status text,
             meter_wh jsonb, meter_id text, meter_start_wh jsonb, meter_end_wh jsonb, power_type text, flags jsonb,
                 end_from text, document jsonb,
             sent_sha256 text, signed jsonb, client_id uuid, upload_id uuid, request_id text,
                 sheet_row int, evse_no int),
           unnest(meant)) with ordinality
         as i (place, charger_id, source, external_id, connector, started_at, ended_at, wh, status, meter_wh, meter_id,
               meter_start_wh, meter_end_wh,
               power_type, flags, end_from, document, sent_sha256, signed, client_id, upload_id, request_id,
                   sheet_row, evse_no,
               found_place, found_id, found_evse_no, found_reason, found_moved, n)
   -- read once, though judged by several columns
   cross join lateral (
     select case when meant is null then private.as_uuid(i.charger_id) else i.found_id end as charger_id,
            case when length(i.source) between 1 and 40 then i.source end as source,
            case when i.external_id is null and meant is not null then coalesce(i.found_evse_no, i.evse_no, 1) || '@'
                 || i.started_at
                 when length(i.external_id) between 1 and 120 then i.external_id end as external_id,
            case when meant is not null then coalesce(i.found_evse_no, i.evse_no, 1)
                 when i.connector is null then 1
                 when private.as_count(i.connector) between 1 and 100 then private.as_count(i.connector)::int
                     end as connector,
            private.as_moment(i.started_at) as started_at, private.as_moment(i.ended_at) as ended_at,
                private.as_count(i.wh) as wh,
            case when i.ended_at is not null then 'completed' else coalesce(i.status, 'charging') end as status
     offset 0) r
   where meant is null or i.found_id is not null;
end $$;

-- The last end at an EVSE before a charge, at most 24 hours before it. A charger that told only the end of a charge
-- drew its energy since.
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

-- Why a session is implausible, by its own fields alone. meter_disagrees: readings and energy differ by over 1 % and
-- 0.1 kWh.
create function private.charging_session_flags(item private.charging_session_item, power_kw numeric) returns text[]
language sql stable
return array_remove(array[
    case when item.wh < 0 then 'negative' end,
    case when item.ended_at < item.started_at then 'ends_before_start' end,
    -- five minutes, because clocks differ; a charger that lost the time starts again in 1970 or 2000
    case when greatest(item.started_at, item.ended_at) > private.now() + interval '5 minutes'
         or item.started_at < '2010-01-01Z' then 'wrong_clock' end,
    case when item.ended_at - item.started_at > interval '31 days' then 'too_long' end,
    -- A tenth for the meter's and the grid's tolerance, a minute for the clock's. 50 kW is the most an AC charger of
    -- ours may have, 400 kW a fast one.
    case when item.wh > coalesce(power_kw, case item.power_type when 'DC' then 400 else 50 end) * 1000 * 1.1
                        * (extract(epoch from greatest(coalesce(item.ended_at, private.now())
                           - case when item.source = 'ocpp' and item.started_at = item.ended_at
                                  then private.idle_since(item) else item.started_at end,
                           interval '0')) + 60) / 3600
         then 'beyond_power' end,
    case when 'no_end' = any (item.told_flags) then 'no_end' end,
    case when 'meter_disagrees' = any (item.told_flags)
           or abs(item.meter_end_wh - item.meter_start_wh - item.wh) > greatest(100, 0.01 * item.wh)
               then 'meter_disagrees' end,
    case when 'abroad' = any (item.told_flags) then 'abroad' end
  ], null);

-- The flags of private.charging_session_flags(), and withdrawn: all but overlapping, duplicate and after_lock.
create function private.own_flags(flags text[]) returns text[]
language sql immutable
return array_remove(array_remove(array_remove(flags, 'overlapping'), 'duplicate'), 'after_lock');
