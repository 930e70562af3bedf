-- Makes a plain Postgres look enough like Supabase for our migrations, the local Auth issuer and `supabase db advisors`.
-- Local and in tests only. Run by the superuser supabase_admin in each database, before `supabase db push`. Idempotent.

-- Roles belong to the cluster. Attributes as on the platform: postgres migrates and is no superuser.
do $$
declare
  wanted record;
begin
  for wanted in
    select * from (values
      ('postgres',            'login createdb createrole replication bypassrls'),
      ('anon',                'nologin noinherit'),
      ('authenticated',       'nologin noinherit'),
      ('service_role',        'nologin noinherit bypassrls'),
      ('authenticator',       'nologin noinherit'),
      ('supabase_auth_admin', 'login noinherit createrole')
    ) as roles (name, attributes)
  loop
    if not exists (select from pg_catalog.pg_roles where rolname = wanted.name) then
      execute format('create role %I %s', wanted.name, wanted.attributes);
    end if;
  end loop;
end $$;
grant anon, authenticated, service_role to authenticator;
grant anon, authenticated, service_role to postgres with admin option;
grant pg_monitor, pg_read_all_data, pg_signal_backend to postgres with admin option;

do $$
begin
  execute format('alter database %I owner to postgres', current_database());
  -- as hosted: crypt() and digest() are found without naming their schema
  execute format('alter database %I set search_path = "$user", public, extensions', current_database());
end $$;

-- Schemas of the platform belong to supabase_admin: `supabase db reset` drops every other one.
create schema if not exists extensions;
create schema if not exists auth authorization supabase_admin;
grant usage, create on schema extensions to postgres with grant option;
grant usage on schema extensions to anon, authenticated, service_role;
grant usage on schema auth to anon, authenticated, service_role, postgres, supabase_auth_admin;

create extension if not exists pgcrypto with schema extensions;
create extension if not exists pg_trgm with schema extensions;
create extension if not exists citext with schema extensions;
create extension if not exists btree_gist with schema extensions;
create extension if not exists pg_stat_statements with schema extensions;

-- The columns of Auth's own table that our keys point at and the local issuer fills.
create table if not exists auth.users (
  instance_id        uuid,
  id                 uuid         not null primary key,
  aud                varchar(255),
  role               varchar(255),
  email              varchar(255),
  encrypted_password varchar(255),
  email_confirmed_at timestamptz,
  last_sign_in_at    timestamptz,
  raw_app_meta_data  jsonb,
  raw_user_meta_data jsonb,
  phone              text,
  banned_until       timestamptz,
  is_sso_user        boolean      not null default false,
  is_anonymous       boolean      not null default false,
  created_at         timestamptz  default now(),
  updated_at         timestamptz  default now(),
  deleted_at         timestamptz
);
-- What our schema clears of a login that its owner did not make; the local issuer uses none of it.
alter table auth.users
  add column if not exists confirmation_token varchar(255) default '',
  add column if not exists recovery_token varchar(255) default '',
  add column if not exists reauthentication_token varchar(255) default '',
  add column if not exists email_change varchar(255) default '',
  add column if not exists email_change_token_new varchar(255) default '',
  add column if not exists email_change_token_current varchar(255) default '',
  add column if not exists phone_confirmed_at timestamptz,
  add column if not exists phone_change text default '',
  add column if not exists phone_change_token varchar(255) default '';
create unique index if not exists users_email_partial_key on auth.users (email) where is_sso_user = false;

-- One row a sign-in; signing out deletes it.
create table if not exists auth.sessions (
  id           uuid        not null primary key,
  user_id      uuid        not null references auth.users on delete cascade,
  created_at   timestamptz default now(),
  updated_at   timestamptz default now(),
  not_after    timestamptz,
  refreshed_at timestamp
);
create index if not exists sessions_user_id_idx on auth.sessions (user_id);

create table if not exists auth.refresh_tokens (
  id          bigint generated always as identity primary key,
  token_hash  text        not null unique,
  user_id     uuid        not null references auth.users on delete cascade,
  session_id  uuid        not null references auth.sessions on delete cascade,
  method      text        not null,
  revoked     boolean     not null default false,
  created_at  timestamptz not null default now()
);
create index if not exists refresh_tokens_session on auth.refresh_tokens (session_id);

-- One at a time for each login, as Supabase Auth has it: a new one replaces the one before.
create table if not exists auth.one_time_tokens (
  user_id    uuid        not null primary key references auth.users on delete cascade,
  token_hash text        not null unique,
  created_at timestamptz not null default now()
);

-- Other ways into a login that Supabase Auth has; the local issuer writes none of them.
create table if not exists auth.identities (
  id            uuid        not null default gen_random_uuid() primary key,
  provider_id   text        not null,
  user_id       uuid        not null references auth.users on delete cascade,
  identity_data jsonb       not null,
  provider      text        not null,
  created_at    timestamptz default now(),
  updated_at    timestamptz default now(),
  constraint identities_provider_id_provider_unique unique (provider_id, provider)
);
create table if not exists auth.mfa_factors (
  id            uuid        not null primary key,
  user_id       uuid        not null references auth.users on delete cascade,
  friendly_name text,
  factor_type   text        not null,
  status        text        not null,
  created_at    timestamptz not null,
  updated_at    timestamptz not null,
  secret        text
);

alter table auth.users owner to supabase_auth_admin;
alter table auth.users enable row level security;
alter table auth.sessions owner to supabase_auth_admin;
alter table auth.sessions enable row level security;
alter table auth.refresh_tokens owner to supabase_auth_admin;
alter table auth.refresh_tokens enable row level security;
alter table auth.one_time_tokens owner to supabase_auth_admin;
alter table auth.one_time_tokens enable row level security;
alter table auth.identities owner to supabase_auth_admin;
alter table auth.identities enable row level security;
alter table auth.mfa_factors owner to supabase_auth_admin;
alter table auth.mfa_factors enable row level security;
-- as hosted: postgres reads and writes rows, and owns nothing
grant select, insert, update, delete, references, trigger on all tables in schema auth to postgres;

create or replace function auth.jwt() returns jsonb language sql stable as $$
  select nullif(current_setting('request.jwt.claims', true), '')::jsonb
$$;
create or replace function auth.uid() returns uuid language sql stable as $$
  select (auth.jwt() ->> 'sub')::uuid
$$;
create or replace function auth.role() returns text language sql stable as $$
  select auth.jwt() ->> 'role'
$$;

-- What the migrations do wherever the migrating role may, and may not here: no login makes large objects.
do $$
declare
  made regprocedure;
begin
  for made in
    select p.oid from pg_catalog.pg_proc p
     where p.pronamespace = 'pg_catalog'::regnamespace and p.proname ~ '^(lo_.*|loread|lowrite)$'
  loop
    execute format('revoke execute on function %s from public', made);
  end loop;
end $$;
