begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

DROP INDEX "core"."uploads_newest";

ALTER TABLE "core"."deliveries"
  ADD COLUMN "upload_id" uuid;

ALTER TABLE "core"."uploads"
  ADD COLUMN "arrival" bigint GENERATED ALWAYS AS IDENTITY NOT NULL;

ALTER TABLE "core"."uploads"
  ADD COLUMN "columns" jsonb NOT NULL;

CREATE OR REPLACE FUNCTION api.deliver_upload (
  caller jsonb,
  input  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
begin
  perform private.act_as(caller, 'cpo');
  return private.store_upload(input);
end $function$;

ALTER FUNCTION "api"."deliver_upload"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION api.get_upload (
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
  upload core.uploads;
begin
  perform private.act_as(caller, 'cpo');
  select * into upload from core.uploads u
   where u.partner_id = private.partner_id() and u.id = (query ->> 'upload_id')::uuid and u.owner_id = private.client_id();
  if not found then
    perform private.refuse('upload_not_found');
  end if;
  return private.upload_answer(upload);
end $function$;

ALTER FUNCTION "api"."get_upload"(jsonb, jsonb) OWNER TO "api_owner";

CREATE OR REPLACE FUNCTION private.deliver_months_of_file (
  input jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
declare
  today       constant date := private.today();
  tenant      constant uuid := private.partner_id();
  owner       constant uuid := private.client_id();
  means       jsonb;
  connections uuid[];
  results     jsonb;
begin
  select jsonb_agg(jsonb_build_object('place', f.place, 'connection', f.connection_id, 'reason', f.reason)), array_agg(distinct f.connection_id) filter (where f.connection_id is not null)
    into means, connections
    from private.find_connections(input -> 'items') f;
  -- one batch, signature or booking at a time on a connection
  perform from core.connections c where c.partner_id = tenant and c.id = any (connections) order by c.id for no key update;
  with told as materialized (
    select i.*, f.connection, f.reason,
           count(*) filter (where f.connection is not null) over (partition by f.connection, i.period) as times
      from jsonb_to_recordset(input -> 'items') as i (place int, sheet_row int, period date, total_kwh numeric(12, 3), session_count int, document jsonb)
      join jsonb_to_recordset(means) as f (place int, connection uuid, reason text) on f.place = i.place
  ), covered as materialized (
    select c.connection, private.coverage_of(c.connection) as coverage from unnest(connections) c (connection)
  ), judged as materialized (
    select t.*, d.total_kwh as old_kwh, d.session_count as old_count, d.delivery_id as old_delivery, d.received_at as old_received_at,
           case when t.connection is null then t.reason
                when t.times > 1 then 'duplicate_in_file'
                when t.period > today then 'future_period'
                when d.locked then 'locked'
                else private.judge_month(k.coverage, t.period) end as verdict
      from told t
      left join core.delivered_months d on d.partner_id = tenant and d.connection_id = t.connection and d.period = t.period
      left join covered k on k.connection = t.connection
  ), batch as materialized (
    select j.connection, gen_random_uuid() as delivery,
           jsonb_agg(j.document order by j.place)::text as body,
           array_agg((j.period, j.old_kwh, j.old_count, j.old_delivery, j.old_received_at)::core.replaced_total)
             filter (where j.old_kwh is not null and (j.old_kwh, j.old_count) <> (j.total_kwh, j.session_count)) as replaced
      from judged j where j.verdict in ('staged', 'outside_mandate') group by j.connection
  ), delivered as (
    insert into core.deliveries (partner_id, id, connection_id, owner_id, client_id, request_id, body, body_sha256, replaced, upload_id)
    select tenant, b.delivery, b.connection, owner, owner, current_setting('app.request_id', true), b.body,
           encode(sha256(convert_to(b.body, 'UTF8')), 'hex'), b.replaced,
           (input ->> 'upload_id')::uuid
      from batch b
  ), stored as (
    insert into core.delivered_months as d
      (partner_id, connection_id, owner_id, period, total_kwh, session_count, source, status, delivery_id, received_at)
    select tenant, j.connection, owner, j.period, j.total_kwh, j.session_count, 'file', j.verdict, b.delivery, private.now()
      from judged j join batch b on b.connection = j.connection
     where j.verdict in ('staged', 'outside_mandate')
    on conflict on constraint delivered_months_pkey do update
       set total_kwh = excluded.total_kwh, session_count = excluded.session_count, source = excluded.source,
           status = excluded.status, delivery_id = excluded.delivery_id, received_at = excluded.received_at
     where not d.locked
  )
  select jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
           'row', j.place, 'sheet_row', j.sheet_row,
           'status', case when j.verdict = 'staged' then 'ingested' when j.verdict in ('outside_mandate', 'locked') then j.verdict else 'invalid' end,
           'reason', case when j.verdict not in ('staged', 'outside_mandate', 'locked') then j.verdict end,
           'connection_id', j.connection, 'period', to_char(j.period, 'YYYY-MM')))) into results
    from judged j;
  return coalesce(results, '[]');
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
  delivered := private.deliver_named_sessions(private.client_id(), (
    select coalesce(jsonb_agg(i.item || jsonb_build_object('upload_id', input -> 'upload_id', 'sent_sha256', input -> 'sha256')), '[]')
      from jsonb_array_elements(input -> 'items') i (item)));
  -- a statement of its own, which sees what that one stored
  return (
    select coalesce(jsonb_agg((d.result - 'place') || jsonb_strip_nulls(jsonb_build_object(
             'row', i.place, 'sheet_row', i.sheet_row, 'session_id', i.external_id))), '[]')
      from jsonb_array_elements(private.delivered_sessions(delivered)::jsonb) d (result)
      join jsonb_to_recordset(input -> 'items') as i (place int, sheet_row int, external_id text) on i.place = (d.result ->> 'place')::int);
end $function$;

CREATE OR REPLACE FUNCTION private.evidence_lines (
  booking core.bookings,
  part    text,
  after   uuid,
  size    integer
)
  RETURNS TABLE (
    key  uuid,
    line json
  )
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select r.id, to_json(j)
    from (select * from core.booking_rows r
           where part = 'rows' and r.partner_id = booking.partner_id and r.booking_id = booking.id and r.id > after order by r.id limit size) r
    left join core.credits c on c.partner_id = r.partner_id and c.row_id = r.id and c.reversed_at is null
   cross join lateral (
     select r.id as row_id, r.account_id, r.connection_id, r.ean_code, to_char(r.period, 'YYYY-MM') as period, r.status, r.kwh, r.session_count, r.source,
            r.ere_per_kwh, r.delivery_id, r.signatory, r.postal_code, r.house_number, r.house_number_addition, r.street, r.city,
            r.mandate_id, r.fee_pct, r.partner_share_pct, r.charger_brand, r.charger_model, r.charger_serial, r.flags,
            c.accepted_kwh, c.ere, c.reason) j
  union all
  select m.id, json_build_object(
           'mandate_id', m.id, 'connection_id', m.connection_id, 'status', m.status, 'valid_from', m.valid_from, 'valid_until', m.valid_until,
           'signed_at', private.iso(m.signed_at), 'signed_name', m.signed_name, 'code_confirmed', m.code_confirmed, 'code_sent_to', m.code_sent_to,
           'address', m.address, 'user_agent', m.user_agent, 'ended_at', private.iso(m.ended_at), 'ended_reason', m.ended_reason,
           'document', m.document, 'document_sha256', m.document_sha256, 'pdf_sha256', d.sha256)
    from (select distinct r.mandate_id from core.booking_rows r
           where part = 'mandates' and r.partner_id = booking.partner_id and r.booking_id = booking.id and r.mandate_id > after order by r.mandate_id limit size) k
    join core.mandates m on m.partner_id = booking.partner_id and m.id = k.mandate_id
    left join core.documents d on d.partner_id = m.partner_id and d.mandate_id = m.id
  union all
  -- a mandate that is not rendered yet has a line too, without a document
  select k.mandate_id, json_build_object('mandate_id', k.mandate_id, 'sha256', d.sha256, 'pdf', translate(encode(d.pdf, 'base64'), e'\n', ''))
    from (select distinct r.mandate_id from core.booking_rows r
           where part = 'pdfs' and r.partner_id = booking.partner_id and r.booking_id = booking.id and r.mandate_id > after order by r.mandate_id limit size) k
    left join core.documents d on d.partner_id = booking.partner_id and d.mandate_id = k.mandate_id
  union all
  select d.id, json_build_object(
           'delivery_id', d.id, 'connection_id', d.connection_id, 'client_id', d.client_id, 'request_id', d.request_id,
           'received_at', private.iso(d.received_at), 'body', d.body, 'body_sha256', d.body_sha256,
           'upload_id', d.upload_id, 'file_sha256', encode(u.sha256, 'hex'))
    from (select distinct r.delivery_id from core.booking_rows r
           where part = 'deliveries' and r.partner_id = booking.partner_id and r.booking_id = booking.id and r.delivery_id > after order by r.delivery_id limit size) k
    join core.deliveries d on d.partner_id = booking.partner_id and d.id = k.delivery_id
    left join core.uploads u on u.partner_id = d.partner_id and u.id = d.upload_id
  union all
  select k.connection_id, json_build_object(
           'connection_id', k.connection_id,
           'chargers', (select coalesce(json_agg(json_build_object(
                'charger_id', h.id, 'status', h.status, 'brand', h.brand, 'serial_number', h.serial_number, 'ocpp_vendor', h.ocpp_vendor,
                'ocpp_model', h.ocpp_model, 'ocpp_meter_type', h.ocpp_meter_type, 'mid_eligible', h.mid_eligible, 'power_kw', h.power_kw,
                'model', m.model, 'mid_evidence', m.mid_evidence, 'mid_source', m.mid_source) order by h.created_at, h.id), '[]')
              from core.chargers h left join core.charger_models m on m.id = h.catalog_charger_id
             where h.partner_id = booking.partner_id and h.connection_id = k.connection_id),
           'ean_checks', (select coalesce(json_agg(json_build_object(
                'ean_code', e.ean_code, 'source', e.source, 'outcome', e.outcome, 'reason', e.reason, 'checked_at', private.iso(e.checked_at)) order by e.id), '[]')
              from core.ean_checks e where e.partner_id = booking.partner_id and e.connection_id = k.connection_id),
           'replaced_months', (select coalesce(json_agg(json_build_object(
                'period', to_char(r.period, 'YYYY-MM'), 'total_kwh', r.total_kwh, 'delivery_id', r.delivery_id, 'replaced_by', r.replaced_by,
                'replaced_at', private.iso(r.replaced_at)) order by r.period, r.replaced_at, r.received_at, r.replaced_by), '[]')
              from core.replaced_months r
             where r.partner_id = booking.partner_id and r.connection_id = k.connection_id
               and r.period >= booking.quarter and r.period < booking.quarter + interval '3 months'),
           'charging_sessions', (select coalesce(json_agg(json_build_object(
                'session_id', s.id, 'charger_id', s.charger_id, 'source', s.source, 'external_id', s.external_id, 'started_at', private.iso(s.started_at),
                'ended_at', private.iso(s.ended_at), 'wh', s.wh, 'meter_id', s.meter_id, 'meter_start_wh', s.meter_start_wh, 'meter_end_wh', s.meter_end_wh,
                'flags', s.flags, 'received_at', private.iso(s.received_at),
                'tellings', private.tellings(s),
                'signed', (select coalesce(json_agg(t.signed order by e.id, t.place), '[]')
                             from core.charging_evidence e cross join lateral unnest(e.signed) with ordinality t (signed, place)
                            where e.partner_id = s.partner_id and e.charger_id = s.charger_id and e.session_id = s.id)) order by s.started_at, s.id), '[]')
              from core.charging_sessions s
             where s.partner_id = booking.partner_id and s.connection_id = k.connection_id
               and s.month >= booking.quarter and s.month < booking.quarter + interval '3 months'))
    from (select distinct r.connection_id from core.booking_rows r
           where part = 'connections' and r.partner_id = booking.partner_id and r.booking_id = booking.id and r.connection_id > after order by r.connection_id limit size) k
  union all
  select k.subject, json_build_object(
           'subject', k.subject,
           'rows', (select coalesce(json_agg(json_build_object(
                'id', a.id, 'at', private.iso(a.at), 'actor', a.actor, 'action', a.action, 'details', a.details, 'request_id', a.request_id,
                'position', l.position, 'hash', encode(l.hash, 'hex')) order by a.id), '[]')
              from core.audit_log a
              left join core.audit_links l on l.partner_id = a.partner_id and l.log = 'audit' and l.row_id = a.id
              -- that somebody looked at this is no part of it, so that it stays the same
             where a.subject_id = k.subject and a.partner_id = booking.partner_id and a.action <> 'booking.evidence_shown'))
    from (select distinct s.subject
            from core.booking_rows r cross join lateral (values (r.booking_id), (r.account_id), (r.connection_id), (r.mandate_id)) s (subject)
           where part = 'audit' and r.partner_id = booking.partner_id and r.booking_id = booking.id and s.subject > after order by s.subject limit size) k
$function$;

CREATE OR REPLACE FUNCTION private.find_connections (
  items jsonb
)
  RETURNS TABLE (
    place         integer,
    connection_id uuid,
    reason        text
  )
  LANGUAGE plpgsql
  STABLE
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
begin
  return query
  with told as materialized (
    select i.place, i.cpo_external_ref, i.ean, i.connection_id
      from jsonb_to_recordset(items) as i (place int, cpo_external_ref text, ean text, connection_id uuid)
  ), known as materialized (
    select c.id, c.ean_code, a.cpo_external_ref
      from (select distinct t.cpo_external_ref from told t where t.cpo_external_ref is not null) t
      join core.accounts a on a.partner_id = private.partner_id() and a.client_id = private.client_id() and a.cpo_external_ref = t.cpo_external_ref
      join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id and c.status = 'active'
    union
    select c.id, c.ean_code, a.cpo_external_ref
      from (select distinct t.ean from told t where t.ean is not null and t.cpo_external_ref is null) t
      join core.connections c on c.ean_code = t.ean and c.status = 'active' and c.ean_exclusive
      join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
     where c.partner_id = private.partner_id() and c.owner_id = private.client_id()
    union
    -- test values of the sandbox, which any account may have
    select c.id, c.ean_code, a.cpo_external_ref
      from core.accounts a
      join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id and c.status = 'active' and not c.ean_exclusive
     where (select d.host from core.deployment d) = 'sandbox' and a.partner_id = private.partner_id() and a.owner_id = private.client_id()
       and c.ean_code in (select t.ean from told t where t.cpo_external_ref is null)
    union
    select c.id, c.ean_code, a.cpo_external_ref
      from (select distinct t.connection_id from told t where t.connection_id is not null) t
      join core.connections c on c.partner_id = private.partner_id() and c.id = t.connection_id and c.owner_id = private.client_id() and c.status = 'active'
      join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
  ), found as (
    -- a row names a customer, a metering point or both: each name is looked up by itself, and all must agree
    select t.place, k.id from told t join known k on k.cpo_external_ref = t.cpo_external_ref
     where (t.ean is null or t.ean = k.ean_code) and (t.connection_id is null or t.connection_id = k.id)
    union
    select t.place, k.id from told t join known k on k.ean_code = t.ean
     where t.cpo_external_ref is null and (t.connection_id is null or t.connection_id = k.id)
    union
    select t.place, k.id from told t join known k on k.id = t.connection_id where t.cpo_external_ref is null and t.ean is null
  ), one as (
    select f.place, (array_agg(f.id))[1] as id, count(*) as hits from found f group by f.place
  )
  select t.place, case when o.hits = 1 then o.id end,
         case when o.hits is null then 'account_not_found' when o.hits > 1 then 'ambiguous_connection' end
    from told t left join one o on o.place = t.place;
end $function$;

CREATE OR REPLACE FUNCTION private.store_upload (
  input jsonb
)
  RETURNS jsonb
  LANGUAGE plpgsql
  SET plan_cache_mode TO 'force_custom_plan'
  SET search_path TO ''
  AS $function$
declare
  dry    constant boolean := (input ->> 'dry_run')::boolean;
  upload core.uploads;
begin
  -- one file of a client at a time, so that equal ones find the first stored
  perform pg_advisory_xact_lock(hashtextextended('uploads of ' || private.client_id(), 0));
  if not dry then
    select * into upload from core.uploads u
     where u.partner_id = private.partner_id() and u.owner_id = private.client_id() order by u.arrival desc limit 1;
    if upload.sha256 = decode(input ->> 'sha256', 'hex') and upload.kind = input ->> 'kind' and upload.decimal is not distinct from input ->> 'decimal' then
      return private.upload_answer(upload) || '{"idempotent": true}';
    end if;
  end if;
  begin
    upload.results := case input ->> 'kind' when 'months' then private.deliver_months_of_file(input) else private.deliver_sessions_of_file(input) end;
    upload.results := (
      select coalesce(jsonb_agg(r.result order by (r.result ->> 'row')::int), '[]') from (
        select e.result from jsonb_array_elements(upload.results) e (result)
        union all
        select jsonb_strip_nulls(e.result || '{"status": "invalid"}') from jsonb_array_elements(input -> 'rejected') e (result)) r);
    upload.counts := (
      select jsonb_object_agg(s.status, coalesce(n.rows, 0))
        from jsonb_array_elements_text(input -> 'statuses') s (status)
        left join (select e.result ->> 'status' as status, count(*) as rows from jsonb_array_elements(upload.results) e (result) group by 1) n
          on n.status = s.status);
    if dry then
      raise exception using errcode = 'DRY01';
    end if;
    insert into core.uploads (partner_id, id, owner_id, user_id, file_name, sha256, decimal, kind, rows, columns, counts, results)
    values (private.partner_id(), (input ->> 'upload_id')::uuid, private.client_id(), private.manager_id(), input ->> 'file_name',
            decode(input ->> 'sha256', 'hex'), input ->> 'decimal', input ->> 'kind', (input ->> 'rows')::int, input -> 'columns',
            upload.counts, upload.results)
    returning * into upload;
  exception when sqlstate 'DRY01' then
    -- it was judged by storing it, and is undone
    return jsonb_build_object('upload_id', null, 'kind', input -> 'kind', 'created_at', null, 'rows', input -> 'rows', 'columns', input -> 'columns',
                              'counts', upload.counts, 'results', upload.results);
  end;
  return private.upload_answer(upload);
end $function$;

CREATE OR REPLACE FUNCTION private.upload_answer (
  upload core.uploads
)
  RETURNS jsonb
  LANGUAGE sql
  IMMUTABLE
  SET search_path TO ''
  AS $function$
  select jsonb_build_object('upload_id', upload.id, 'kind', upload.kind, 'created_at', private.iso(upload.created_at), 'rows', upload.rows,
                            'columns', upload.columns, 'counts', upload.counts, 'results', upload.results)
$function$;

CREATE INDEX uploads_newest ON core.uploads USING btree (partner_id, owner_id, arrival);

COMMENT ON COLUMN "core"."deliveries"."body" IS 'The body of the call; of a file its rows, as JSON by heading.';

COMMENT ON COLUMN "core"."deliveries"."upload_id" IS 'The file (core.uploads); null for a call.';

COMMENT ON COLUMN "core"."uploads"."columns" IS 'Each heading of the file with the field it was read as, null for none.';

COMMENT ON FUNCTION "api"."deliver_upload"(jsonb, jsonb) IS 'POST /v1/uploads: a file that was read, as private.store_upload takes it, to {upload_id, kind, created_at, rows, columns, counts, results, idempotent?}.';

COMMENT ON FUNCTION "api"."get_upload"(jsonb, jsonb) IS 'GET /v1/uploads/{upload_id}: {upload_id} to the upload as it was answered.';

COMMENT ON TABLE "core"."deliveries" IS 'Months of a connection as they came in: a call of sessions:batch, or the rows of a file. For the regulator''s audit. Append-only, kept seven years.';

REVOKE ALL ON FUNCTION "api"."deliver_upload"(jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."deliver_upload"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."deliver_upload"(jsonb, jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."deliver_upload"(jsonb, jsonb) TO "edge_slow";

REVOKE ALL ON FUNCTION "api"."get_upload"(jsonb, jsonb) FROM PUBLIC;

REVOKE ALL ON FUNCTION "api"."get_upload"(jsonb, jsonb) FROM "api_owner";

GRANT EXECUTE ON FUNCTION "api"."get_upload"(jsonb, jsonb) TO "api_owner";

GRANT EXECUTE ON FUNCTION "api"."get_upload"(jsonb, jsonb) TO "edge";

REVOKE ALL ON FUNCTION "private"."deliver_months_of_file"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."deliver_months_of_file"(jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."deliver_months_of_file"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."deliver_months_of_file"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."deliver_sessions_of_file"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."deliver_sessions_of_file"(jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."deliver_sessions_of_file"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."deliver_sessions_of_file"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."find_connections"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."find_connections"(jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."find_connections"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."find_connections"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."store_upload"(jsonb) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."store_upload"(jsonb) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."store_upload"(jsonb) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."store_upload"(jsonb) TO "postgres";

REVOKE ALL ON FUNCTION "private"."upload_answer"(core.uploads) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."upload_answer"(core.uploads) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."upload_answer"(core.uploads) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."upload_answer"(core.uploads) TO "postgres";

commit;
