begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

DROP FUNCTION "private"."deliver_named_sessions"(uuid, jsonb);

CREATE OR REPLACE FUNCTION api.deliver_charging_sessions (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
declare
  results jsonb;
  answer  json;
begin
  perform private.act_as(caller, 'cpo');
  begin
    results := private.deliver_named_sessions(private.client_id(), input -> 'sessions', jsonb_build_object('sent_sha256', input -> 'sent_sha256'));
    -- a statement of its own, which sees what that one stored
    answer := private.delivered_sessions(results);
    if (input ->> 'dry_run')::boolean then
      raise exception using errcode = 'DRY01';
    end if;
  exception when sqlstate 'DRY01' then
    null;  -- it was judged by storing it, and is undone
  end;
  return answer;
end $function$;

CREATE OR REPLACE FUNCTION api.portal_upload (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  answer jsonb;
begin
  perform private.act_as(caller, 'partner');
  perform private.act_as_manager();
  perform private.act_for_client((input ->> 'client')::uuid);
  answer := private.store_upload(input);
  if not (input ->> 'dry_run')::boolean and not answer ? 'idempotent' then
    perform private.audit('upload.stored', (input ->> 'upload_id')::uuid, jsonb_build_object('kind', input -> 'kind', 'rows', input -> 'rows'));
  end if;
  return answer;
end $function$;

ALTER FUNCTION "api"."portal_upload"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.read_portal_uploads (
  caller jsonb,
  query  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  kept   core.imports;
  upload core.uploads;
begin
  perform private.act_as(caller, 'partner');
  select * into kept from core.imports i
   where i.partner_id = private.partner_id() and i.id = (query ->> 'id')::uuid and i.expires_at > private.now();
  select * into upload from core.uploads u where u.partner_id = private.partner_id() and u.id = (query ->> 'id')::uuid;
  return json_build_object(
    'who', private.portal_who(),
    'clients', (select coalesce(json_agg(json_build_object('id', c.id, 'name', c.name)), '[]') from private.uploading_clients() c),
    'sealed', case when kept.id is not null then json_build_object('ciphertext', kept.ciphertext, 'key_id', kept.key_id) end,
    'upload', case when upload.id is not null then private.upload_answer(upload) || jsonb_build_object('file_name', upload.file_name) end);
end $function$;

ALTER FUNCTION "api"."read_portal_uploads"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION private.act_for_client (
  client uuid
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  if not exists (select from private.uploading_clients() c where c.id = client) then
    raise exception 'not a client of this partner' using errcode = 'insufficient_privilege';
  end if;
  perform set_config('app.client_id', client::text, true), set_config('app.owner_id', client::text, true), set_config('app.breadth', '', true);
end $function$;

CREATE OR REPLACE FUNCTION private.as_count (
  value jsonb
)
  RETURNS bigint
  LANGUAGE sql
  IMMUTABLE
RETURN CASE WHEN ((jsonb_typeof(VALUE) = 'number'::text) AND (abs(((VALUE #>> '{}'::text[]))::numeric) < '1000000000000'::numeric)) THEN
  (round(((VALUE #>> '{}'::text[]))::numeric))::bigint ELSE NULL::bigint END;

CREATE OR REPLACE FUNCTION private.as_moment (
  value text
)
  RETURNS timestamp WITH time zone
  LANGUAGE sql
  STABLE
RETURN CASE WHEN
  ((VALUE ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?(Z|[+-][0-9]{2}:?[0-9]{2})$'::text) AND pg_input_is_valid(VALUE, 'timestamptz'::text)) THEN
  date_trunc('second'::text, (VALUE)::timestamp WITH time zone) ELSE NULL::timestamp WITH time zone END;

CREATE OR REPLACE FUNCTION private.as_uuid (
  value text
)
  RETURNS uuid
  LANGUAGE sql
  IMMUTABLE
RETURN CASE WHEN (VALUE ~* '^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$'::text) THEN (VALUE)::uuid ELSE NULL::uuid END;

CREATE OR REPLACE FUNCTION private.charger_name_value (
  kind  text,
  value text
)
  RETURNS text
  LANGUAGE sql
  IMMUTABLE
RETURN "left"(upper(CASE kind WHEN 'evse_id'::text THEN regexp_replace(VALUE, '[*[:space:]-]'::text, ''::text, 'g'::text) ELSE btrim(VALUE) END), 120);

CREATE OR REPLACE FUNCTION private.charging_session_flags (
  item     private.charging_session_item,
  power_kw numeric
)
  RETURNS text[]
  LANGUAGE sql
  STABLE
RETURN
  array_remove(ARRAY[CASE WHEN ((item).wh < 0) THEN 'negative'::text ELSE NULL::text END, CASE WHEN ((item).ended_at < (item).started_at) THEN 'ends_before_start'::text ELSE
  NULL::text END,
  CASE WHEN ((GREATEST((item).started_at, (item).ended_at) > (private.now() + '00:05:00'::interval)) OR ((item).started_at < '2010-01-01 00:00:00+00'::timestamp
  WITH time zone)) THEN 'wrong_clock'::text ELSE NULL::text END,
  CASE WHEN (((item).ended_at - (item).started_at) > '31 days'::interval) THEN 'too_long'::text ELSE NULL::text END,
  CASE WHEN
  (((item).wh)::numeric > ((((COALESCE(power_kw, (CASE (item).power_type WHEN 'DC'::text THEN 400 ELSE 50 END)::numeric) * (1000)::numeric) * 1.1) * (EXTRACT(epoch FROM
  GREATEST((COALESCE((item).ended_at, private.now()) - CASE WHEN (((item).source = 'ocpp'::text) AND ((item).started_at = (item).ended_at)) THEN private.idle_since(item) ELSE
  (item).started_at END),
  '00:00:00'::interval)) + (60)::numeric)) / (3600)::numeric)) THEN 'beyond_power'::text ELSE NULL::text END,
  CASE WHEN ('no_end'::text = ANY ((item).told_flags)) THEN 'no_end'::text ELSE NULL::text END,
  CASE WHEN
  (('meter_disagrees'::text = ANY ((item).told_flags)) OR ((abs((((item).meter_end_wh - (item).meter_start_wh) - (item).wh)))::numeric > GREATEST((100)::numeric, (0.01 *
  ((item).wh)::numeric)))) THEN 'meter_disagrees'::text ELSE NULL::text END,
  CASE WHEN ('abroad'::text = ANY ((item).told_flags)) THEN 'abroad'::text ELSE NULL::text END], NULL::text);

CREATE OR REPLACE FUNCTION private.deliver_named_sessions (
  owner    uuid,
  sessions jsonb,
  shared   jsonb DEFAULT '{}'::jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
declare
  wanted  private.named_charger[];
  found   private.found_charger[];
  ready   jsonb;
  waiting core.parked_charging[];
  results jsonb;
begin
  wanted := array(
    select row(i.place, i.party, i.started_at, i.charger_id, i.external_ref, i.serial_number, i.evse_uid, i.evse_id, i.meter_id)::private.named_charger
      from jsonb_to_recordset(sessions) as i (place int, party text, started_at timestamptz, charger_id uuid, external_ref text, serial_number text,
                                              evse_uid text, evse_id text, meter_id text));
  found := array(select f from private.find_chargers(owner, wanted) f);
  select coalesce(jsonb_agg(s.item || shared || jsonb_build_object(
           'charger_id', f.charger_id, 'connector', c.evse_no,
           'external_id', coalesce(s.item ->> 'external_id', c.evse_no || '@' || (s.item ->> 'started_at')))), '[]') into ready
    from jsonb_array_elements(sessions) s (item)
    join unnest(found) f on f.place = (s.item ->> 'place')::int
   cross join lateral (select coalesce(f.evse_no, (s.item ->> 'evse_no')::int, 1) as evse_no) c
   where f.charger_id is not null;
  results := private.ingest_charging_sessions(ready);

  -- two that are told alike are one: the later word counts
  waiting := array(
    select distinct on (p.source, p.told_as)
           row(null, null, owner, p.source, p.told_as, p.external_id, p.party, p.names, p.item, p.reason, null, null)::core.parked_charging
      from (select w.place, s.item ->> 'source' as source, s.item ->> 'external_id' as external_id, coalesce(w.party, '') as party, n.names, f.reason,
                   coalesce(s.item ->> 'external_id', concat_ws(' ', array_to_string(n.names, ' '), s.item ->> 'evse_no', s.item ->> 'started_at')) as told_as,
                   (s.item - 'place') || shared || jsonb_strip_nulls(jsonb_build_object('client_id', owner, 'request_id', nullif(current_setting('app.request_id', true), ''))) as item
              from unnest(found) f
              join unnest(wanted) w on w.place = f.place
              join jsonb_array_elements(sessions) s (item) on (s.item ->> 'place')::int = f.place
             cross join lateral (select array_agg(n.kind || ':' || n.value order by n.rank) as names from private.names_told(w) n) n
             where f.reason in ('unknown_charger', 'charger_removed') and n.names is distinct from array['charger_id:' || upper(w.charger_id::text)]) p
     order by p.source, p.told_as, p.place desc);
  perform private.park_charging(owner, waiting);
  -- what was parked under the same id is not any more
  delete from core.parked_charging p
   using jsonb_array_elements(ready) r (item)
   where p.partner_id = private.partner_id() and p.owner_id = owner and p.source = r.item ->> 'source' and p.told_as = r.item ->> 'external_id';
  return results || coalesce((
    select jsonb_agg(case when f.reason = 'ambiguous_charger' then jsonb_build_object('place', f.place, 'status', 'rejected', 'reason', 'ambiguous_charger')
                          when w.external_ref is null and w.serial_number is null and w.evse_uid is null and w.evse_id is null and w.meter_id is null
                          then jsonb_build_object('place', f.place, 'status', 'rejected', 'reason', f.reason)
                          else jsonb_build_object('place', f.place, 'status', 'parked', 'reason', f.reason) end)
      from unnest(found) f join unnest(wanted) w on w.place = f.place where f.reason is not null), '[]');
end $function$;

CREATE OR REPLACE FUNCTION private.deliver_sessions_of_file (
  input jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
declare
  delivered jsonb;
begin
  delivered := private.deliver_named_sessions(
    private.client_id(), input -> 'items', jsonb_build_object('upload_id', input -> 'upload_id', 'sent_sha256', input -> 'sha256'));
  -- a statement of its own, which sees what that one stored
  return (
    select coalesce(jsonb_agg((d.result - 'place') || jsonb_strip_nulls(jsonb_build_object(
             'row', i.place, 'sheet_row', i.sheet_row, 'session_id', i.external_id))), '[]')
      from jsonb_array_elements(private.delivered_sessions(delivered)::jsonb) d (result)
      join jsonb_to_recordset(input -> 'items') as i (place int, sheet_row int, external_id text) on i.place = (d.result ->> 'place')::int);
end $function$;

CREATE OR REPLACE FUNCTION private.lasting_flags (
  session core.charging_sessions
)
  RETURNS text[]
  LANGUAGE sql
  IMMUTABLE
RETURN CASE WHEN (('withdrawn'::text = ANY ((session).flags)) AND ((session).source <> ALL (ARRAY['api'::text, 'file'::text]))) THEN '{withdrawn}'::text[] ELSE '{}'::text[] END;

CREATE OR REPLACE FUNCTION private.names_told (
  wanted private.named_charger
)
  RETURNS TABLE (
    rank  integer,
    kind  text,
    value text
  )
  LANGUAGE sql
  IMMUTABLE
BEGIN ATOMIC
 SELECT n.rank,
     n.kind,
     private.charger_name_value(n.kind, n.value)
  AS charger_name_value
    FROM ( VALUES (0,'charger_id'::text,((names_told.wanted).charger_id)::text), (1,'external_ref'::text,(names_told.wanted).external_ref), (2,'serial_number'::text,(names_told.wanted).serial_number), (3,'evse_uid'::text,(names_told.wanted).evse_uid), (4,'evse_id'::text,(names_told.wanted).evse_id), (5,'meter_id'::text,(names_told.wanted).meter_id)) n(rank, kind, value)
   WHERE (n.value IS NOT NULL);
END;

CREATE OR REPLACE FUNCTION private.own_flags (
  flags text[]
)
  RETURNS text[]
  LANGUAGE sql
  IMMUTABLE
RETURN array_remove(array_remove(array_remove(flags, 'overlapping'::text), 'duplicate'::text), 'after_lock'::text);

CREATE OR REPLACE FUNCTION private.read_charging_sessions (
  sessions jsonb
)
  RETURNS SETOF private.charging_session_item
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
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
$function$;

CREATE OR REPLACE FUNCTION private.uploading_clients()
  RETURNS SETOF core.oauth_clients
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select * from core.oauth_clients c
   where c.partner_id = private.partner_id() and c.disabled_at is null and 'cpo:sessions:write' = any (c.scopes)
   order by c.created_at, c.id
$function$;

CREATE OR REPLACE FUNCTION private.why_not_counted (
  session core.charging_sessions,
  mid     boolean,
  month   core.delivered_months
)
  RETURNS text
  LANGUAGE sql
  IMMUTABLE
RETURN CASE WHEN ((session).ended_at IS NULL) THEN 'running'::text WHEN (NOT ((session).flags <@ '{after_lock}'::text[])) THEN 'flagged'::text WHEN (mid IS
  NOT TRUE) THEN 'mid'::text WHEN ((month).delivery_id IS
  NOT NULL) THEN 'typed_total'::text WHEN ((month).status = 'outside_mandate'::text) THEN 'outside_mandate'::text WHEN ((session).flags <> '{}'::text[]) THEN 'locked'::text ELSE
  NULL::text END;

COMMENT ON FUNCTION "api"."deliver_charging_sessions"(jsonb, jsonb) IS 'POST /v1/charging-sessions: {sessions, sent_sha256, dry_run} to [{place, status, reason?, charging_session_id?, flags?, counted, not_counted?}]. Items as private.deliver_named_sessions takes them.';

COMMENT ON FUNCTION "api"."portal_upload"(jsonb, jsonb) IS 'Stores a file of a client of the partner, or judges it only: {client} and what api.deliver_upload takes, to its answer. By a manager.';

COMMENT ON FUNCTION "api"."read_portal_uploads"(jsonb, jsonb) IS 'The pages on which a partner uploads months or sessions: {id} to {who, clients: [{id, name}], sealed, upload}. sealed is the file as private.keep_import keeps it, upload what was stored by that id.';

COMMENT ON FUNCTION "private"."uploading_clients"() IS 'The clients of the partner that may deliver months and sessions. Definer, because clients are read at admission only.';

REVOKE ALL ON FUNCTION "api"."portal_upload"(jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."portal_upload"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."portal_upload"(jsonb, jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."portal_upload"(jsonb, jsonb) TO "edge_slow";

REVOKE ALL ON FUNCTION "api"."read_portal_uploads"(jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."read_portal_uploads"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."read_portal_uploads"(jsonb, jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."read_portal_uploads"(jsonb, jsonb) TO "edge";

REVOKE ALL ON FUNCTION "private"."act_for_client"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."act_for_client"(uuid) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."act_for_client"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."act_for_client"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."deliver_named_sessions"(uuid, jsonb, jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."deliver_named_sessions"(uuid, jsonb, jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."deliver_named_sessions"(uuid, jsonb, jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."deliver_named_sessions"(uuid, jsonb, jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."uploading_clients"() FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."uploading_clients"() TO "api_owner";

REVOKE ALL ON FUNCTION "private"."uploading_clients"() FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."uploading_clients"() TO "postgres";

commit;
