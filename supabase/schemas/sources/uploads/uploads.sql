-- Files of months or sessions of a CPO client, by API and in the portal.

-- The active connections of the client that rows of months mean, by every name that a row has: {place,
-- cpo_external_ref, ean, connection_id}. null where none matches, or more than one (reason).
create function private.find_connections(items jsonb) returns table (place int, connection_id uuid, reason text)
language plpgsql stable
as $$
begin
  return query
  with told as (
    select i.place, i.cpo_external_ref, i.ean, i.connection_id
      from jsonb_to_recordset(items) as i (place int, cpo_external_ref text, ean text, connection_id uuid)
  ), known as (
    select c.id, c.ean_code, a.cpo_external_ref
      from (select distinct t.cpo_external_ref from told t where t.cpo_external_ref is not null) t
      join core.accounts a on a.partner_id = private.partner_id() and a.client_id = private.client_id()
          and a.cpo_external_ref = t.cpo_external_ref
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
      join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id and c.status = 'active'
          and not c.ean_exclusive
     where (select d.host from core.deployment d) = 'sandbox' and a.partner_id = private.partner_id()
         and a.owner_id = private.client_id()
       and c.ean_code in (select t.ean from told t where t.cpo_external_ref is null)
    union
    select c.id, c.ean_code, a.cpo_external_ref
      from (select distinct t.connection_id from told t where t.connection_id is not null) t
      join core.connections c on c.partner_id = private.partner_id() and c.id = t.connection_id
          and c.owner_id = private.client_id() and c.status = 'active'
      join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
  ), found as (
    -- a row names a customer, a metering point or both: each name is looked up by itself, and all must agree
    select t.place, k.id from told t join known k on k.cpo_external_ref = t.cpo_external_ref
     where (t.ean is null or t.ean = k.ean_code) and (t.connection_id is null or t.connection_id = k.id)
    union
    select t.place, k.id from told t join known k on k.ean_code = t.ean
     where t.cpo_external_ref is null and (t.connection_id is null or t.connection_id = k.id)
    union
    select t.place, k.id from told t join known k on k.id = t.connection_id where t.cpo_external_ref is null
        and t.ean is null
  ), one as (
    select f.place, (array_agg(f.id))[1] as id, count(*) as hits from found f group by f.place
  )
  select t.place, case when o.hits = 1 then o.id end,
         case when o.hits is null then 'account_not_found' when o.hits > 1 then 'ambiguous_connection' end
    from told t left join one o on o.place = t.place;
end $$;

-- Stores the months of a file, each row judged by itself: {upload_id, items: [{place, sheet_row, cpo_external_ref, ean,
-- connection_id, period, total_kwh, session_count, document}]} to [{row, sheet_row, status, reason?, connection_id?,
-- period}]. As api.ingest_months, for many connections at once.
create function private.store_months_of_file(input jsonb) returns jsonb
language plpgsql
as $$
declare
  today       constant date := private.today();
  tenant      constant uuid := private.partner_id();
  owner       constant uuid := private.client_id();
  means       jsonb;
  connections uuid[];
  results     jsonb;
begin
  select jsonb_agg(jsonb_build_object('place', f.place, 'connection', f.connection_id, 'reason', f.reason)),
      array_agg(distinct f.connection_id) filter (where f.connection_id is not null)
    into means, connections
    from private.find_connections(input -> 'items') f;
  -- one batch, signature or booking at a time on a connection
  perform from core.connections c where c.partner_id = tenant and c.id = any (connections)
      order by c.id for no key update;
  with told as (
    select i.*, f.connection, f.reason,
           count(*) filter (where f.connection is not null) over (partition by f.connection, i.period) as times
      from jsonb_to_recordset(input -> 'items') as i (place int, sheet_row int, period date, total_kwh numeric(12, 3),
                                                      session_count int, document jsonb)
      join jsonb_to_recordset(means) as f (place int, connection uuid, reason text) on f.place = i.place
  ), covered as materialized (
    select c.connection, private.coverage_of(c.connection) as coverage from unnest(connections) c (connection)
  ), judged as (
    select t.*, d.total_kwh as old_kwh, d.session_count as old_count, d.delivery_id as old_delivery,
        d.received_at as old_received_at,
           case when t.connection is null then t.reason
                when t.times > 1 then 'duplicate_in_file'
                when t.period > today then 'future_period'
                when d.locked then 'locked'
                else private.judge_month(k.coverage, t.period) end as verdict
      from told t
      left join core.delivered_months d on d.partner_id = tenant and d.connection_id = t.connection
          and d.period = t.period
      left join covered k on k.connection = t.connection
  ), batch as (
    select j.connection, gen_random_uuid() as delivery,
           jsonb_agg(j.document order by j.place)::text as body,
           array_agg((j.period, j.old_kwh, j.old_count, j.old_delivery, j.old_received_at)::core.replaced_total)
             filter (where j.old_kwh is not null and (j.old_kwh, j.old_count) <> (j.total_kwh,
                 j.session_count)) as replaced
      from judged j where j.verdict in ('staged', 'outside_mandate') group by j.connection
  ), delivered as (
    insert into core.deliveries (partner_id, id, connection_id, owner_id, client_id, request_id, body, body_sha256,
                                 replaced, upload_id)
    select tenant, b.delivery, b.connection, owner, owner, current_setting('app.request_id', true), b.body,
           encode(sha256(convert_to(b.body, 'UTF8')), 'hex'), b.replaced,
           (input ->> 'upload_id')::uuid
      from batch b
  ), stored as (
    insert into core.delivered_months as d
      (partner_id, connection_id, owner_id, period, total_kwh, session_count, source, status, delivery_id, received_at)
    select tenant, j.connection, owner, j.period, j.total_kwh, j.session_count, 'file', j.verdict,
        b.delivery, private.now()
      from judged j join batch b on b.connection = j.connection
     where j.verdict in ('staged', 'outside_mandate')
    on conflict on constraint delivered_months_pkey do update
       set total_kwh = excluded.total_kwh, session_count = excluded.session_count, source = excluded.source,
           status = excluded.status, delivery_id = excluded.delivery_id, received_at = excluded.received_at
     where not d.locked
  )
  select jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
           'row', j.place, 'sheet_row', j.sheet_row,
           'status', case when j.verdict = 'staged' then 'ingested' when j.verdict in ('outside_mandate', 'locked')
                          then j.verdict else 'invalid' end,
           'reason', case when j.verdict not in ('staged', 'outside_mandate', 'locked') then j.verdict end,
           'connection_id', j.connection, 'period', to_char(j.period, 'YYYY-MM'),
           'flags', case when j.total_kwh > w.kw * private.hours_of(j.period) then array['beyond_power'] end)))
    into results
    from judged j
    -- else the view adds up the whole tenant
    left join lateral (select * from core.connection_power w where w.partner_id = tenant
                       and w.connection_id = j.connection offset 0) w on true;
  return coalesce(results, '[]');
end $$;

-- Stores the sessions of a file as POST /v1/charging-sessions does: {upload_id, sha256, items, read} to [{row,
-- sheet_row, session_id?, status, …}].
create function private.store_sessions_of_file(input jsonb) returns jsonb
language plpgsql
as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
             'row', s.place, 'sheet_row', s.sheet_row, 'session_id', s.source_id, 'status', s.status,
             'reason', s.reason, 'charging_session_id', s.charging_session_id, 'flags', s.flags,
             'counted', s.counted, 'not_counted', s.not_counted))), '[]')
      from private.stored_sessions(input -> 'items', jsonb_build_object(
             'upload_id', input -> 'upload_id', 'sent_sha256', input -> 'sha256')
             || case when (input -> 'read' ->> 'ids_ignored')::boolean then jsonb '{"ids_ignored": true}'
                     else '{}' end) s);
end $$;

-- An upload as the API answers it.
create function private.upload_answer(upload core.uploads) returns jsonb
language sql immutable
as $$
  select jsonb_build_object('upload_id', upload.id, 'kind', upload.kind, 'created_at', private.iso(upload.created_at),
                            'rows', upload.rows,
                            'columns', upload.columns, 'counts', upload.counts, 'results', upload.results)
         || upload.read
$$;

-- Rows of which nothing is stored, by an upload's counts.
create function private.rows_left_out(counts jsonb) returns int
language sql immutable
as $$
  select (counts ->> 'invalid')::int + coalesce((counts ->> 'locked')::int, 0)
$$;

-- Whether sessions of an upload are parked, or were since, or are withdrawn, or its results were not kept: the same
-- file once more stores them again.
create function private.can_store_again(upload core.uploads) returns boolean
language sql stable
as $$
  with row as materialized (  -- row-level security keeps a cast of its own from an index
    select r.result ->> 'status' as status, (r.result ->> 'charging_session_id')::uuid as session_id
      from jsonb_array_elements(upload.results) r (result)
  )
  select upload.read ? 'evidence_over_quota' or exists (
    select from row r
      left join lateral (
        select s.flags from core.charging_sessions s
         where s.partner_id = upload.partner_id and s.id = r.session_id limit 1) s on true
     where r.status = 'parked' or 'withdrawn' = any (s.flags))
$$;

-- Stores a file that was read: {upload_id, kind, sha256, said, file_name, rows, columns, read, items, rejected,
-- ignored, statuses, dry_run} to its answer. ignored: by row the fields that were left out. As a client. The client's
-- newest file once more is answered as it was stored, by a dry run too, unless a row that was refused, locked, parked
-- or withdrawn can be stored now.
create function private.store_upload(input jsonb) returns jsonb
language plpgsql
as $$
declare
  dry    constant boolean := (input ->> 'dry_run')::boolean;
  upload core.uploads;
  newest core.uploads;
  results jsonb;
  told    bigint;
begin
  -- one file of a client at a time, so that equal ones find the first stored; packages/shared/src/domain/charging_in/
  -- file/one_at_a_time.ts says the same of a file in its own process
  begin
    perform private.lock('uploads', private.client_id()::text);
  exception when lock_not_available then
    return private.refusal('too_many_requests', json_build_object(
      'reason', 'upload_running', 'retry_after_seconds', 5,
      'detail', 'Another file of yours is being stored. Wait retry_after_seconds, then send this one again.'));
  end;
  select * into upload from core.uploads u where u.partner_id = private.partner_id()
      and u.id = (input ->> 'upload_id')::uuid;
  if found then  -- confirmed twice at once
    return private.upload_answer(upload) || '{"idempotent": true}';
  end if;
  select * into newest from core.uploads u
   where u.partner_id = private.partner_id() and u.owner_id = private.client_id() order by u.arrival desc limit 1;
  if newest.sha256 = decode(input ->> 'sha256', 'hex') and newest.kind = input ->> 'kind'
      and newest.said = input -> 'said'
     and not private.can_store_again(newest) then
    if private.rows_left_out(newest.counts) = 0 then
      return private.upload_answer(newest) || '{"idempotent": true}';
    end if;
  else
    newest := null;
  end if;
  begin
    upload.results := case input ->> 'kind' when 'months' then private.store_months_of_file(input)
                           else private.store_sessions_of_file(input) end;
    upload.results := (
      select coalesce(jsonb_agg(r.result || jsonb_strip_nulls(
                        jsonb_build_object('ignored', input -> 'ignored' -> (r.result ->> 'row')))
                      order by (r.result ->> 'row')::int), '[]') from (
        -- the id of a session that a dry run undoes is nobody's
        select e.result - case
                when dry and bool_or(e.result ->> 'status' = 'created') over (
            partition by e.result ->> 'charging_session_id')
                               then 'charging_session_id' else '' end as result
          from jsonb_array_elements(upload.results) e (result)
        union all
        select jsonb_strip_nulls('{"status": "invalid"}' || e.result)
         from jsonb_array_elements(input -> 'rejected') e (result)) r);
    upload.read := (input -> 'read') || case when exists (
      select from jsonb_to_recordset(input -> 'items') as i (place int, external_id text)
        join jsonb_to_recordset(upload.results) as r ("row" int, session_id text) on r.row = i.place
       where input ->> 'kind' = 'sessions' and i.external_id <> coalesce(r.session_id, ''))
      then jsonb '{"ids_ignored": true}' else '{}' end;
    upload.counts := (
      select jsonb_object_agg(s.status, coalesce(n.rows, 0))
        from jsonb_array_elements_text(input -> 'statuses') s (status)
        left join (select e.result ->> 'status' as status, count(*) as rows
                   from jsonb_array_elements(upload.results) e (result) group by 1) n
          on n.status = s.status);
    if dry or private.rows_left_out(upload.counts) >= private.rows_left_out(newest.counts) then
      raise exception using errcode = 'DRY01';
    end if;
    told := octet_length(concat(input -> 'columns', upload.read, upload.results));
    results := upload.results;
    if told > (select r.bytes from private.evidence_room(private.client_id()) r) then
      upload.read := upload.read || '{"evidence_over_quota": true}';
      upload.results := '[]';
      upload.columns := '[]';
    else
      upload.columns := input -> 'columns';
    end if;
    insert into core.uploads (partner_id, id, owner_id, user_id, file_name, sha256, said, kind, rows, columns, read,
                              counts, results)
    values (private.partner_id(), (input ->> 'upload_id')::uuid, private.client_id(), private.manager_id(),
            input ->> 'file_name',
            decode(input ->> 'sha256', 'hex'), input -> 'said', input ->> 'kind', (input ->> 'rows')::int,
            upload.columns, upload.read, upload.counts, upload.results)
    returning * into upload;
    perform private.count_evidence(told, private.client_id());
  exception when sqlstate 'DRY01' then
    -- the exception undid the rows that we stored to judge them
    if private.rows_left_out(upload.counts) >= private.rows_left_out(newest.counts) then
      return private.upload_answer(newest) || '{"idempotent": true}';
    end if;
    return jsonb_build_object('upload_id', null, 'kind', input -> 'kind', 'created_at', null, 'rows', input -> 'rows',
                              'columns', input -> 'columns',
                              'counts', upload.counts, 'results', upload.results) || upload.read;
  end;
  upload.results := results;
  upload.columns := input -> 'columns';
  return private.upload_answer(upload);
end $$;

create function api.deliver_upload(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
begin
  perform private.act_as(caller, 'cpo');
  return private.store_upload(input);
end $$;
comment on function api.deliver_upload(jsonb, jsonb) is
  'POST /v1/uploads: a file that was read, as private.store_upload takes it, to {upload_id, kind, created_at, rows, '
  'columns, counts, results, sheet, header_row, read_as, ids_ignored, sums, evidence_over_quota?, idempotent?}.';
grant execute on function api.deliver_upload(jsonb, jsonb) to edge_slow;

create function api.get_upload(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
as $$
declare
  upload core.uploads;
begin
  perform private.act_as(caller, 'cpo');
  select * into upload from core.uploads u
   where u.partner_id = private.partner_id() and u.id = (query ->> 'upload_id')::uuid
       and u.owner_id = private.client_id();
  if not found then
    perform private.refuse('upload_not_found');
  end if;
  return private.upload_answer(upload);
end $$;
comment on function api.get_upload(jsonb, jsonb) is
  'GET /v1/uploads/{upload_id}: {upload_id} to the upload as it was answered, or over the quota without columns and '
  'results.';
