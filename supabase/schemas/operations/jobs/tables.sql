create table core.job_runs (
  id          bigint      not null generated always as identity,
  job         text        not null,
  ok          boolean     not null,
  ms          int         not null,
  finished_at timestamptz not null default private.now(),
  constraint job_runs_pkey primary key (id),
  constraint job_runs_job_known check (job in ('worker', 'documents')),
  constraint job_runs_ms_positive check (ms >= 0)
);
comment on table core.job_runs is
  'Ended runs of the scheduled jobs, newest last: whether all went well, and how long it took. No personal data. Kept '
  'a week, the newest 100,000 at most.';
-- serves: the last run of a job
create index job_runs_newest on core.job_runs (job, id desc);
-- serves: the sweep
create index job_runs_age on core.job_runs (finished_at);

-- What stands for a client where a job has none.
create function private.no_client() returns uuid
language sql immutable
return '00000000-0000-0000-0000-000000000000'::uuid;

create table core.failing_jobs (
  job       text        not null,
  client_id uuid        not null default private.no_client(),
  failures  int         not null default 1,
  sqlstate  text        not null,
  failed_at timestamptz not null default private.now(),
  retry_at  timestamptz not null,
  constraint failing_jobs_pkey primary key (job, client_id)
);
comment on table core.failing_jobs is
  'Jobs whose last run failed; gone when one succeeds. A job that works through clients fails for each alone, and its '
  'other jobs go on. No personal data.';
comment on column core.failing_jobs.client_id is
  'The client for which it failed; private.no_client() for the whole job.';
comment on column core.failing_jobs.failures is 'How often in a row.';
