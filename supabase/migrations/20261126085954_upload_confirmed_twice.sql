begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

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
  newest core.uploads;
begin
  -- one file of a client at a time, so that equal ones find the first stored
  perform pg_advisory_xact_lock(hashtextextended('uploads of ' || private.client_id(), 0));
  select * into upload from core.uploads u where u.partner_id = private.partner_id() and u.id = (input ->> 'upload_id')::uuid;
  if found then  -- confirmed twice at once
    return private.upload_answer(upload) || '{"idempotent": true}';
  end if;
  select * into newest from core.uploads u
   where u.partner_id = private.partner_id() and u.owner_id = private.client_id() order by u.arrival desc limit 1;
  if newest.sha256 = decode(input ->> 'sha256', 'hex') and newest.kind = input ->> 'kind' and newest.decimal is not distinct from input ->> 'decimal'
     and not private.can_store_again(newest) then
    if private.rows_left_out(newest.counts) = 0 then
      return private.upload_answer(newest) || '{"idempotent": true}';
    end if;
  else
    newest := null;
  end if;
  begin
    upload.results := case input ->> 'kind' when 'months' then private.deliver_months_of_file(input) else private.deliver_sessions_of_file(input) end;
    upload.results := (
      select coalesce(jsonb_agg(r.result order by (r.result ->> 'row')::int), '[]') from (
        -- the id of a session that a dry run undoes is nobody's
        select e.result - case when dry and bool_or(e.result ->> 'status' = 'created') over (partition by e.result ->> 'charging_session_id')
                               then 'charging_session_id' else '' end as result
          from jsonb_array_elements(upload.results) e (result)
        union all
        select jsonb_strip_nulls(e.result || '{"status": "invalid"}') from jsonb_array_elements(input -> 'rejected') e (result)) r);
    upload.counts := (
      select jsonb_object_agg(s.status, coalesce(n.rows, 0))
        from jsonb_array_elements_text(input -> 'statuses') s (status)
        left join (select e.result ->> 'status' as status, count(*) as rows from jsonb_array_elements(upload.results) e (result) group by 1) n
          on n.status = s.status);
    if dry or private.rows_left_out(upload.counts) >= private.rows_left_out(newest.counts) then
      raise exception using errcode = 'DRY01';
    end if;
    insert into core.uploads (partner_id, id, owner_id, user_id, file_name, sha256, decimal, kind, rows, columns, counts, results)
    values (private.partner_id(), (input ->> 'upload_id')::uuid, private.client_id(), private.manager_id(), input ->> 'file_name',
            decode(input ->> 'sha256', 'hex'), input ->> 'decimal', input ->> 'kind', (input ->> 'rows')::int, input -> 'columns',
            upload.counts, upload.results)
    returning * into upload;
  exception when sqlstate 'DRY01' then
    -- it was judged by storing it, and is undone
    if private.rows_left_out(upload.counts) >= private.rows_left_out(newest.counts) then
      return private.upload_answer(newest) || '{"idempotent": true}';
    end if;
    return jsonb_build_object('upload_id', null, 'kind', input -> 'kind', 'created_at', null, 'rows', input -> 'rows', 'columns', input -> 'columns',
                              'counts', upload.counts, 'results', upload.results);
  end;
  return private.upload_answer(upload);
end $function$;

commit;
