-- Scheduled work: the worker calls, and each call does what is due. The runs are kept for /health/ready and the
-- figures.

create function api.run_due_jobs(caller jsonb) returns json
language sql security definer
as $$
  select private.act_as(caller, 'worker');
  select json_build_object(
    'mandates_expired', private.expire_mandates(),
    'endings_announced', private.announce_endings(),
    'missing_asked', private.announce_missing(),
    'mail_purged', private.sweep('mail'),
    'logos_purged', private.sweep('logos'),
    'invitations_purged', private.sweep('invitations'),
    'oauth_purged', private.sweep('oauth'),
    'sessions_synced', private.sync_virtual_chargers(),
    'charges_given_up', private.give_up_charges(),
    'parked_stored', private.judge_due_parked(),
    'registrations_reviewed', private.review_due_registrations(),
    'partitions_made', private.make_due_partitions(),
    'events_swept', private.sweep_events(),
    'charging_changes_swept', private.sweep_charging_changes(),
    'parked_swept', private.sweep('parked'),
    'webhook_attempts_swept', private.sweep('webhook_attempts'),
    'job_runs_swept', private.sweep('job_runs'),
    'mail_counts_swept', private.sweep('mail_counts'),
    -- last: whose bucket it deletes waits until this transaction ends
    'rate_limits_swept', private.sweep('rate_limits'));
$$;
comment on function api.run_due_jobs(jsonb) is
  'Does everything that is due, in one transaction: counts by job. Safe to call at any time, from several callers at '
  'once.';
grant execute on function api.run_due_jobs(jsonb) to edge_slow;

create function private.record_job_run(job text, ok boolean, ms int) returns void
language sql security definer
as $$ insert into core.job_runs (job, ok, ms) values (record_job_run.job, record_job_run.ok, record_job_run.ms) $$;
comment on function private.record_job_run(text, boolean, int) is
  'Definer, because runs belong to no tenant, and nobody else writes them.';

create function api.record_job_run(caller jsonb, run jsonb) returns json
language plpgsql security definer
as $$
begin
  perform private.act_as(caller, 'worker');
  perform private.record_job_run(run ->> 'job', (run ->> 'ok')::boolean, (run ->> 'ms')::int);
  return json_build_object('recorded', true);
end $$;
comment on function api.record_job_run(jsonb, jsonb) is
  'Notes that a run of a job ended: {job: worker or documents, ok, ms}.';
grant execute on function api.record_job_run(jsonb, jsonb) to edge_slow;

create function private.readiness() returns json
language plpgsql stable security definer
as $$
declare
  version text;
begin
  -- the CLI's own table, which a database that was made of the schema files does not have
  if to_regclass('supabase_migrations.schema_migrations') is not null then
    execute 'select max(m.version) from supabase_migrations.schema_migrations m' into version;
  end if;
  return json_build_object('schema_version', version, 'worker_age_seconds', (
    select extract(epoch from private.now() - r.finished_at)::int from core.job_runs r where r.job = 'worker'
      order by r.id desc limit 1));
end $$;
comment on function private.readiness() is
  'The newest migration of this database, and the seconds since a run of the worker ended: {schema_version, '
  'worker_age_seconds}, each null if there is none. Definer, because these tables belong to no tenant.';

create function api.read_health(caller jsonb) returns json
language sql stable security definer
as $$ select private.act_as(caller, 'anyone'); select private.readiness(); $$;
comment on function api.read_health(jsonb) is 'What /health/ready asks: private.readiness.';
