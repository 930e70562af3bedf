-- Reads sessions item by item.

-- The id of a session, by which it is known: an RFC 9562 UUID of version 8, of the SHA-256 of charger, source and
-- external id.
create function private.session_id(charger uuid, source text, external_id text) returns uuid
language sql stable
return overlay(overlay(left(encode(sha256(convert_to(concat_ws(' ', charger, source, external_id), 'UTF8')), 'hex'), 32)
                       placing '8' from 13) placing '8' from 17)::uuid;

-- Sessions as doors write them, each read on its own: [{charger_id, source, external_id, connector?, evse_no?,
-- evse_assumed?, started_at, ended_at?, wh, status?, meter_wh?, meter_id?, meter_start_wh?, meter_end_wh?,
-- power_type?: AC|DC, flags?: [no_end|meter_disagrees|abroad], end_from?, document?, sent_sha256?: hex, signed?:
-- [text], client_id?, upload_id?, request_id?, parked_at?, place?, sheet_row?}]. reason is null, or bad_ and the
-- unreadable field. Without ended_at a session is charging, unless status says active. What is beside the session comes
-- from our own doors, which checked its shape. received_at is when it was parked, else now: of two parked words the
-- later one counts, whenever stored. shared: sent_sha256 and upload_id of all. resolved: the charger of each, as
-- private.resolve_chargers answers.
create function private.read_sessions(items jsonb, shared jsonb, resolved jsonb)
returns table (n int, place int, sheet_row int, reason text, charger_id uuid, connector int, evse_assumed boolean,
               session_id uuid, source text, external_id text, started_at timestamptz, ended_at timestamptz, wh bigint,
               status text, meter_wh bigint, meter_id text, meter_start_wh bigint, meter_end_wh bigint, power_type text,
               source_flags text[], end_from text, document jsonb, sent_sha256 bytea, signed text[], names text[],
               client_id uuid, upload_id uuid, request_id text, received_at timestamptz)
language sql stable
begin atomic
  -- materialized: read once, though judged by several columns
  with item as materialized (
    select e.n::int as n, i.*, f.names as found_names, f.reason as not_found,
           coalesce(f.charger_id, private.as_uuid(i.charger_id)) as charger,
           case when coalesce(f.evse_no, i.evse_no) is not null then coalesce(f.evse_no, i.evse_no)
                when i.connector is null then 1
                when private.as_count(i.connector) between 1 and 100 then private.as_count(i.connector)::int
                end as evse,
           f.evse_no is null and (i.evse_assumed is true or num_nonnulls(i.evse_no, i.connector) = 0) as assumed,
           private.as_moment(i.started_at) as start, private.as_moment(i.ended_at) as finish,
           private.as_count(i.wh) as energy,
           case when i.ended_at is not null then 'completed' else coalesce(i.status, 'charging') end as state
      from jsonb_array_elements(items) with ordinality e (item, n)
     cross join lateral jsonb_to_record(e.item) as i (
       place int, sheet_row int, charger_id text, connector jsonb, evse_no int, evse_assumed boolean, source text,
       external_id text, started_at text, ended_at text, wh jsonb, status text, meter_wh jsonb, meter_id text,
       meter_start_wh jsonb, meter_end_wh jsonb, power_type text, flags jsonb, end_from text, document jsonb,
       sent_sha256 text, signed jsonb, client_id uuid, upload_id uuid, request_id text, names text[],
       parked_at timestamptz)
      left join jsonb_to_recordset(resolved) as f (n int, charger_id uuid, evse_no int, names text[], reason text)
        on f.n = e.n
  )
  select i.n, coalesce(i.place, i.n), i.sheet_row,
         case when i.not_found is not null then i.not_found
              when i.charger is null then 'bad_charger_id'
              when length(i.source) between 1 and 40 is not true then 'bad_source'
              -- a session without an id of its own is known by EVSE and start
              when length(i.external_id) between 1 and 120 is not true
               and (i.external_id is not null or i.source <> 'file') then 'bad_external_id'
              when i.evse is null then 'bad_connector'
              when i.start is null then 'bad_started_at'
              when i.ended_at is not null and i.finish is null then 'bad_ended_at'
              when i.energy is null then 'bad_wh'
              when i.state not in ('active', 'charging') and i.finish is null then 'bad_status' end,
         i.charger, i.evse, i.assumed,
         private.session_id(i.charger, i.source, coalesce(i.external_id, i.evse || '@' || i.started_at)),
         i.source, coalesce(i.external_id, i.evse || '@' || i.started_at), i.start, i.finish, i.energy, i.state,
         private.as_count(i.meter_wh), left(i.meter_id, 120), private.as_count(i.meter_start_wh),
         private.as_count(i.meter_end_wh), i.power_type,
         case when i.flags is null then '{}'::text[]
              else array(select f from jsonb_array_elements_text(i.flags) f
                          where f in ('no_end', 'meter_disagrees', 'abroad')) end,
         i.end_from, i.document, decode(coalesce(shared ->> 'sent_sha256', i.sent_sha256), 'hex'),
         case when i.signed is null then '{}'::text[] else array(select jsonb_array_elements_text(i.signed)) end,
         coalesce(i.found_names, i.names, '{}'), coalesce(i.client_id, private.client_id()),
         coalesce((shared ->> 'upload_id')::uuid, i.upload_id),
         coalesce(i.request_id, nullif(current_setting('app.request_id', true), '')),
         coalesce(i.parked_at, private.now())
    from item i;
end;
