-- The runs of scheduled jobs, for /health/ready and the figures for monitoring.

create function private.record_job_run(job text, ok boolean, ms int) returns void
language sql security definer
as $$ insert into core.job_runs (job, ok, ms) values (record_job_run.job, record_job_run.ok, record_job_run.ms) $$;
comment on function private.record_job_run(text, boolean, int) is 'Definer, because runs belong to no tenant, and nobody else writes them.';
grant execute on function private.record_job_run(text, boolean, int) to api_owner;

create function api.record_job_run(caller jsonb, run jsonb) returns json
language plpgsql security definer
as $$
begin
  perform private.act_as(caller, 'worker');
  perform private.record_job_run(run ->> 'job', (run ->> 'ok')::boolean, (run ->> 'ms')::int);
  return json_build_object('recorded', true);
end $$;
comment on function api.record_job_run(jsonb, jsonb) is 'Notes that a run of a job ended: {job: worker or documents, ok, ms}.';
grant execute on function api.record_job_run(jsonb, jsonb) to edge_slow;

create function private.schema_version() returns text
language plpgsql stable security definer
as $$
declare
  version text;
begin
  -- the CLI's own table, which a database that was made of the schema files does not have
  if to_regclass('supabase_migrations.schema_migrations') is not null then
    execute 'select max(m.version) from supabase_migrations.schema_migrations m' into version;
  end if;
  return version;
end $$;
comment on function private.schema_version() is
  'The newest migration of this database; null if it was made without. Definer, because the table is the owner''s.';
grant execute on function private.schema_version() to api_owner;

create function private.job_age(job text) returns int
language sql stable security definer
as $$
  select extract(epoch from private.now() - r.finished_at)::int
    from core.job_runs r where r.job = job_age.job order by r.id desc limit 1
$$;
comment on function private.job_age(text) is 'Seconds since a job last ended; null if it never did. Definer, because runs belong to no tenant.';
grant execute on function private.job_age(text) to api_owner;

create function api.ready(caller jsonb) returns json
language plpgsql security definer
as $$
begin
  perform private.act_as(caller, 'anyone');
  return json_build_object('schema_version', private.schema_version(), 'worker_age_seconds', private.job_age('worker'));
end $$;
comment on function api.ready(jsonb) is 'What /health/ready asks: {schema_version, worker_age_seconds}, each null if there is none.';
