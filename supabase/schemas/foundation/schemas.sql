-- What everything else is built on: schemas and roles.
--
--   core     tables with row-level security; nobody but `api_owner` and the table owner reaches them
--   api      one function = one transaction that an edge function may run
--   ops      one function = one transaction that the operator's command line may run
--   private  helpers; the few that cross tenants are security definer and say why
--
-- Nothing lives in `public`, and the Data API is off.
--
-- A function in plpgsql keeps its plans for the life of the connection. A function in SQL is planned again in every
-- statement that calls it, unless the planner inlines it, which a set search_path forbids. So what every request runs
-- is plpgsql, or a view.

-- A body may name what a later file creates. A test checks all bodies once everything is loaded.
set check_function_bodies = off;

create schema core;
create schema api;
create schema ops;
create schema private;

comment on schema core is 'Tables. Every tenant table carries partner_id and is isolated by row-level security.';
comment on schema api is
  'What edge functions may run. Owned by api_owner, which owns no table and obeys row-level security.';
comment on schema ops is 'What the operator may run. Crosses tenants on purpose; every change writes an audit row.';
comment on schema private is 'Helpers. Not callable by a login role.';

-- Roles belong to the cluster: several databases of one server share them. A statement that waits or runs too long
-- ends, because it holds a connection that other requests need. The limits are the role's, because `set local` inside a
-- function does not lengthen the statement that runs it. Slow work (a reset, scheduled work, ten thousand sessions at
-- once) has a login role of its own, for nothing else. jit: the platform's Postgres would compile a statement whose
-- estimate is high each time, which takes longer than to run it.
do $$
declare
  wanted  record;
  setting text;
begin
  for wanted in
    select * from (values
      ('edge',      'login noinherit',   '{statement_timeout=8s,lock_timeout=3s,jit=off}'::text[]),
      ('edge_slow', 'login noinherit',   '{statement_timeout=1min,lock_timeout=1s,jit=off}'),
      ('operator',  'login noinherit',   '{statement_timeout=10min,lock_timeout=30s,jit=off}'),
      ('api_owner', 'nologin noinherit', '{}')
    ) as roles (name, attributes, settings)
  loop
    if not exists (select from pg_catalog.pg_roles where rolname = wanted.name) then
      begin
        execute format('create role %I %s', wanted.name, wanted.attributes);
      exception when duplicate_object or unique_violation then
        null;  -- another database of this cluster was being migrated at the same moment
      end;
    end if;
    foreach setting in array wanted.settings loop
      if not exists (select from pg_catalog.pg_db_role_setting s
                      where s.setrole = wanted.name::regrole and s.setdatabase = 0 and setting = any (s.setconfig)) then
        execute format('alter role %I set %I = %L', wanted.name, split_part(setting, '=', 1),
                       split_part(setting, '=', 2));
      end if;
    end loop;
  end loop;
  -- the platform writes what took ten seconds into its log (auto_explain), with the personal data in its parameters
  begin
    foreach setting in array '{edge_slow,operator}'::text[] loop
      execute format('alter role %I set auto_explain.log_parameter_max_length = 0', setting);
    end loop;
  exception when insufficient_privilege or invalid_name then
    null;  -- where it may not be said, or Postgres is older than 16: docs/deploy.md
  end;
  -- the migrating role hands functions over to api_owner and keeps the right to replace them
  if not pg_catalog.pg_has_role(current_user, 'api_owner', 'set') then
    execute format('grant api_owner to %I with inherit true, set true', current_user);
  end if;
end $$;

-- A type of pg_temp is found before those of pg_catalog, also with an empty search_path. A login that may make one
-- could have a definer's cast to uuid run its own function, with the rights of the database owner. None of our logins
-- may.
do $$
begin
  execute format('revoke temporary on database %I from public', current_database());
  if has_database_privilege('edge', current_database(), 'temporary') then
    raise exception 'temporary objects can be made by every login of database %: its owner has to revoke that',
        current_database();
  end if;
end $$;

-- Large objects belong to no table, and nothing deletes them: a login could fill the disk. On hosted Supabase:
-- docs/security.md.
do $$
declare
  made regprocedure;
begin
  for made in
    select p.oid from pg_catalog.pg_proc p
     where p.pronamespace = 'pg_catalog'::regnamespace and p.proname ~ '^(lo_.*|loread|lowrite)$'
       and pg_catalog.pg_has_role(current_user, p.proowner, 'usage')
  loop
    execute format('revoke execute on function %s from public', made);
  end loop;
end $$;

comment on role edge is 'Login of the edge functions. May execute functions in api, and nothing else.';
comment on role edge_slow is
  'Login of the edge functions for what takes long. May execute the few functions in api that do, and nothing else.';
comment on role operator is 'Login of the operator command line. May execute functions in ops, and nothing else.';
comment on role api_owner is
  'Owner of the api functions. No login, no table, no bypassrls: policies hold inside the functions.';

alter default privileges revoke execute on functions from public;

grant usage on schema api to edge, edge_slow;
grant usage on schema ops to operator;
grant usage, create on schema api to api_owner;
grant usage on schema core, private to api_owner;
