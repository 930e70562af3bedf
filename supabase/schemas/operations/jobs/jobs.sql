-- Scheduled work: the worker asks what is due, and runs each as a statement of its own, so that one that fails or hangs
-- stops no other. The runs are kept for /health/ready and the figures.

-- Every job, in the order in which they run. Of what fails for one client or person only, each has a job of its own.
create function private.all_jobs() returns table (place int, job text, partner_id uuid, client_id uuid)
language plpgsql stable
as $$
begin
  return query
    select j.place::int, j.job, null::uuid, private.no_client()
      from unnest(array[
        'mandates_expired', 'endings_announced', 'missing_asked', 'mail_purged', 'logos_purged', 'invitations_purged',
        'oauth_purged', 'sessions_synced', 'charges_given_up', 'cards_dropped', 'registrations_reviewed',
        'partitions_made', 'events_swept', 'charging_changes_swept', 'parked_swept', 'webhook_attempts_swept',
        'job_runs_swept', 'mail_counts_swept', 'rate_limits_swept']) with ordinality j (job, place)
    union all
    select 100, 'silent_ended', s.partner_id, s.owner_id from private.owners_of_silent_charges() s
    union all
    select 100, 'parked_stored', p.partner_id, p.owner_id from private.clients_with_due_parked() p;
end $$;

create function private.due_jobs() returns json
language plpgsql security definer
as $$
begin
  -- of a client that has nothing due any more, or of a job that is no more
  delete from core.failing_jobs f
   where not exists (select from private.all_jobs() a where a.job = f.job and a.client_id = f.client_id);
  return (
    -- clients in any order: a run that ends in time takes others first than the last one
    select json_agg(json_build_object('job', a.job, 'partner_id', a.partner_id,
                                      'owner_id', nullif(a.client_id, private.no_client()))
                    order by a.place, random())
      from private.all_jobs() a
     where not exists (
       select from core.failing_jobs f
        where f.job = a.job and f.client_id = a.client_id and f.retry_at > private.now()));
end $$;
comment on function private.due_jobs() is 'Definer: the jobs and clients of every tenant at once.';

create function api.due_jobs(caller jsonb) returns json
language plpgsql security definer
as $$
begin
  perform private.act_as(caller, 'worker');
  return coalesce(private.due_jobs(), '[]');
end $$;
comment on function api.due_jobs(jsonb) is
  'What api.run_due_job is to run now, without what failed and waits: [{job, partner_id, owner_id}]. Both ids are null '
  'for a job of no client.';
grant execute on function api.due_jobs(jsonb) to edge_slow;

-- Notes that a job failed, or with null that it succeeded. It is tried again after 20 seconds, and after twice as long
-- each time: up to an hour for a client, and up to five minutes for all, which /health/ready waits for.
create function private.note_job(job text, owner uuid, state text) returns int
language plpgsql security definer
as $$
declare
  client constant uuid := coalesce(owner, private.no_client());
  failed int := 0;
begin
  if state is null then
    delete from core.failing_jobs f where f.job = note_job.job and f.client_id = client;
  else
    insert into core.failing_jobs as f (job, client_id, sqlstate, retry_at)
    values (job, client, state, private.now() + interval '20 seconds')
    on conflict on constraint failing_jobs_pkey do update
       set failures = f.failures + 1, sqlstate = excluded.sqlstate, failed_at = private.now(),
           retry_at = private.now() + least(
             interval '10 seconds' * 2 ^ least(f.failures + 1, 10),
             case when owner is null then interval '5 minutes' else interval '1 hour' end)
    returning f.failures into failed;
  end if;
  return failed;
end $$;
comment on function private.note_job(text, uuid, text) is
  'Definer, because jobs belong to no tenant, and nobody else writes them.';

create function api.run_due_job(caller jsonb, due jsonb) returns json
language plpgsql security definer
as $$
declare
  job   constant text := due ->> 'job';
  owner constant uuid := (due ->> 'owner_id')::uuid;
  done  bigint;
begin
  perform private.act_as(caller, 'worker');
  -- another worker runs it, or hangs in it
  if not private.try_lock('job', concat_ws(' ', job, owner)) then
    return json_build_object('rows', 0);
  end if;
  -- a statement for each: the arms of one expression are planned together
  case job
    when 'mandates_expired' then done := private.expire_mandates();
    when 'endings_announced' then done := private.announce_endings();
    when 'missing_asked' then done := private.announce_missing();
    when 'mail_purged' then done := private.sweep('mail');
    when 'logos_purged' then done := private.sweep('logos');
    when 'invitations_purged' then done := private.sweep('invitations');
    when 'oauth_purged' then done := private.sweep('oauth');
    when 'sessions_synced' then done := private.sync_virtual_chargers();
    when 'charges_given_up' then done := private.give_up_charges();
    when 'cards_dropped' then done := private.forget_silent_cards();
    when 'silent_ended' then done := private.end_silent_charges((due ->> 'partner_id')::uuid, owner);
    when 'parked_stored' then done := private.retry_due_parked((due ->> 'partner_id')::uuid, owner);
    when 'registrations_reviewed' then done := private.review_due_registrations();
    when 'partitions_made' then done := private.make_due_partitions();
    when 'events_swept' then done := private.sweep_events();
    when 'charging_changes_swept' then done := private.sweep_charging_changes();
    when 'parked_swept' then done := private.sweep('parked');
    when 'webhook_attempts_swept' then done := private.sweep('webhook_attempts');
    when 'job_runs_swept' then done := private.sweep('job_runs');
    when 'mail_counts_swept' then done := private.sweep('mail_counts');
    when 'rate_limits_swept' then done := private.sweep('rate_limits');
  end case;
  perform private.note_job(job, owner, null);
  return json_build_object('rows', done);
end $$;
comment on function api.run_due_job(jsonb, jsonb) is
  'Does what is due of one job: {job, partner_id, owner_id} of api.due_jobs to {rows}, 0 while another '
  'worker runs it.';
grant execute on function api.run_due_job(jsonb, jsonb) to edge_slow;

create function api.record_failed_job(caller jsonb, failed jsonb) returns json
language plpgsql security definer
as $$
begin
  perform private.act_as(caller, 'worker');
  return json_build_object('failures', private.note_job(failed ->> 'job', (failed ->> 'owner_id')::uuid,
                                                        failed ->> 'sqlstate'));
end $$;
comment on function api.record_failed_job(jsonb, jsonb) is
  'Notes that a job failed: {job, owner_id, sqlstate} to {failures}, how often in a row.';
grant execute on function api.record_failed_job(jsonb, jsonb) to edge_slow;

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
      order by r.id desc limit 1), 'jobs_failing', (
    select count(*) from core.failing_jobs f where f.client_id = private.no_client() and f.failures >= 3));
end $$;
comment on function private.readiness() is
  'The newest migration of this database, the seconds since a run of the worker ended, each null if there is none, and '
  'how many jobs failed three times in a row: {schema_version, worker_age_seconds, jobs_failing}. Not those of one '
  'client, which must not make the host unready. Definer, because these tables belong to no tenant.';

create function api.read_health(caller jsonb) returns json
language sql stable security definer
as $$ select private.act_as(caller, 'anyone'); select private.readiness(); $$;
comment on function api.read_health(jsonb) is 'What /health/ready asks: private.readiness.';
