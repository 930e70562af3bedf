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
