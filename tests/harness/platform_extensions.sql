-- What stands in for pg_cron, pg_net and the vault, which the embedded Postgres lacks: their tables and functions as a deployment
-- uses them. Jobs are run by the test, and requests are kept instead of being sent.
create schema cron;
create table cron.job (
  jobid    bigint generated always as identity primary key,
  schedule text    not null,
  command  text    not null,
  active   boolean not null default true,
  jobname  text    unique
);
create function cron.schedule(job_name text, schedule text, command text) returns bigint language sql as $$
  insert into cron.job (jobname, schedule, command) values (job_name, schedule, command)
  on conflict (jobname) do update set schedule = excluded.schedule, command = excluded.command, active = true
  returning jobid
$$;
create table cron.job_run_details (
  jobid bigint, runid bigint generated always as identity primary key, status text, start_time timestamptz, end_time timestamptz
);

create schema net;
create table net.requests (id bigint generated always as identity primary key, url text not null, headers jsonb not null);
create function net.http_post(url text, body jsonb default '{}', params jsonb default '{}', headers jsonb default '{}', timeout_milliseconds int default 5000)
returns bigint language sql as $$
  insert into net.requests (url, headers) values (url, headers) returning id
$$;

create schema vault;
create table vault.secrets (id uuid primary key default gen_random_uuid(), name text unique, secret text not null);
create view vault.decrypted_secrets as select id, name, secret as decrypted_secret from vault.secrets;
create function vault.create_secret(new_secret text, new_name text) returns uuid language sql as $$
  insert into vault.secrets (name, secret) values (new_name, new_secret) returning id
$$;
create function vault.update_secret(secret_id uuid, new_secret text) returns void language sql as $$
  update vault.secrets set secret = new_secret where id = secret_id
$$;
grant usage on schema cron, net, vault to postgres;
grant all on all tables in schema cron, net, vault to postgres;
