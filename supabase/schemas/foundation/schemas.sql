-- What everything else is built on: schemas and roles.
--
--   core     tables with row-level security; nobody but `api_owner` and the table owner reaches them
--   api      one function = one transaction that an edge function may run
--   ops      one function = one transaction that the operator's command line may run
--   private  helpers; the few that cross tenants are security definer and say why
--
-- Nothing lives in `public`, and the Data API is off. A schema file may use what the files before it in `schema_paths` made.
--
-- A function in plpgsql keeps its plans for the life of the connection; one in SQL is planned again in every
-- statement that calls it, unless it can be inlined, which a set search_path forbids. So what every request runs is plpgsql, or a view.

create schema core;
create schema api;
create schema ops;
create schema private;

comment on schema core is 'Tables. Every tenant table carries partner_id and is isolated by row-level security.';
comment on schema api is 'What edge functions may run. Owned by api_owner, which owns no table and obeys row-level security.';
comment on schema ops is 'What the operator may run. Crosses tenants on purpose; every change writes an audit row.';
comment on schema private is 'Helpers. Not callable by a login role.';

-- Roles belong to the cluster, not to the database: several databases of one server share them.
do $$
declare
  wanted record;
begin
  for wanted in
    select * from (values
      ('edge',      'login noinherit'),
      ('operator',  'login noinherit'),
      ('api_owner', 'nologin noinherit')
    ) as roles (name, attributes)
  loop
    if not exists (select from pg_catalog.pg_roles where rolname = wanted.name) then
      begin
        execute format('create role %I %s', wanted.name, wanted.attributes);
      exception when duplicate_object or unique_violation then
        null;  -- another database of this cluster was being migrated at the same moment
      end;
    end if;
  end loop;
  -- the migrating role hands functions over to api_owner and keeps the right to replace them
  if not pg_catalog.pg_has_role(current_user, 'api_owner', 'set') then
    execute format('grant api_owner to %I with inherit true, set true', current_user);
  end if;
end $$;

comment on role edge is 'Login of the edge functions. May execute functions in api, and nothing else.';
comment on role operator is 'Login of the operator command line. May execute functions in ops, and nothing else.';
comment on role api_owner is 'Owner of the api functions. No login, no table, no bypassrls: policies hold inside the functions.';

alter default privileges revoke execute on functions from public;

grant usage on schema api to edge;
grant usage on schema ops to operator;
grant usage, create on schema api to api_owner;
grant usage on schema core, private to api_owner;
