-- The ground everything stands on: schemas, roles, the one clock, the caller, refusals and the audit log.
--
--   core     tables with row-level security; nobody but `api_owner` and the table owner reaches them
--   api      one function = one transaction that an edge function may run
--   ops      one function = one transaction that the operator's command line may run
--   private  helpers; the few that cross tenants are security definer and say why
--
-- Nothing lives in `public`, and the Data API is off.

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

-- Publishing a function ----------------------------------------------------------------------------------------------

create function private.expose(signature regprocedure) returns void
language plpgsql
set search_path = ''
as $$
begin
  execute format('revoke all on function %s from public', signature);
  execute format('grant execute on function %s to edge', signature);
  execute format('alter function %s owner to api_owner', signature);
end $$;
comment on function private.expose(regprocedure) is
  'Stands beside each api function: hands it to api_owner, so that row-level security holds inside it, and lets edge run it.';

create function private.isolate(tenant_table regclass, privileges text) returns void
language plpgsql
set search_path = ''
as $$
begin
  execute format('alter table %s enable row level security', tenant_table);
  execute format('create policy "a tenant reaches its own rows" on %s to api_owner '
                 'using (partner_id = (select private.partner_id())) '
                 'with check (partner_id = (select private.partner_id()))', tenant_table);
  execute format('grant %s on %s to api_owner', privileges, tenant_table);
end $$;
comment on function private.isolate(regclass, text) is
  'Stands beside each tenant table: row-level security by partner_id, and what the api functions may do with the rows.';

-- A note on languages: a function in plpgsql keeps its plans for the life of the connection; one in SQL is planned again in every
-- statement that calls it, unless it can be inlined, which a set search_path forbids. So what every request runs is plpgsql, or a view.

-- The clock ----------------------------------------------------------------------------------------------------------

create function private.now() returns timestamptz
language plpgsql stable
set search_path = ''
as $$ begin return pg_catalog.now(); end $$;
comment on function private.now() is
  'The only clock of the rules. Tests replace this one function in their own copy of the database to travel in time.';

create function private.today() returns date
language plpgsql stable
set search_path = ''
as $$ begin return (private.now() at time zone 'Europe/Amsterdam')::date; end $$;
comment on function private.today() is 'The calendar day in the Netherlands: borders of months, years and mandates are Dutch.';

create function private.iso(moment timestamptz) returns text
language plpgsql immutable
set search_path = ''
as $$ begin return to_char(moment at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'); end $$;
comment on function private.iso(timestamptz) is 'A moment as the API writes it: UTC, no fraction, Z.';

-- The caller ---------------------------------------------------------------------------------------------------------

create function private.act_as(caller jsonb, variadic kinds text[]) returns void
language plpgsql
set search_path = ''
as $$
begin
  if (caller ->> 'kind') = any (kinds) is not true then
    raise exception 'caller kind % may not run this function', coalesce(caller ->> 'kind', 'none')
      using errcode = 'insufficient_privilege';
  end if;
  perform set_config('app.caller_kind', coalesce(caller ->> 'kind', ''), true),
          set_config('app.partner_id',  coalesce(caller ->> 'partner_id', ''), true),
          set_config('app.client_id',   coalesce(caller ->> 'client_id', ''), true),
          set_config('app.user_id',     coalesce(caller ->> 'user_id', ''), true),
          set_config('app.host',        coalesce(caller ->> 'host', ''), true),
          set_config('app.request_id',  coalesce(caller ->> 'request_id', ''), true);
end $$;
comment on function private.act_as(jsonb, text[]) is
  'First line of every api function: the second lock behind the scope check, and the tenant for row-level security, local to the transaction.';

create function private.act_for_partner(partner uuid) returns void
language sql
set search_path = ''
as $$ select set_config('app.partner_id', coalesce(partner::text, ''), true) $$;
comment on function private.act_for_partner(uuid) is
  'Narrows the transaction to the tenant a link or a job was found to belong to.';

create function private.partner_id() returns uuid
language plpgsql stable
set search_path = ''
as $$ begin return nullif(current_setting('app.partner_id', true), '')::uuid; end $$;
comment on function private.partner_id() is 'The tenant of this transaction; null matches no row.';

create function private.client_id() returns uuid
language plpgsql stable
set search_path = ''
as $$ begin return nullif(current_setting('app.client_id', true), '')::uuid; end $$;
comment on function private.client_id() is 'The CPO client of this transaction, or null.';

create function private.user_id() returns uuid
language plpgsql stable
set search_path = ''
as $$ begin return nullif(current_setting('app.user_id', true), '')::uuid; end $$;
comment on function private.user_id() is 'The person this transaction acts for, or null.';

create function private.is_sandbox() returns boolean
language plpgsql stable
set search_path = ''
as $$ begin return coalesce(current_setting('app.host', true), '') = 'sandbox'; end $$;
comment on function private.is_sandbox() is 'Whether this transaction runs for the sandbox host.';

-- Refusals -----------------------------------------------------------------------------------------------------------

create function private.refuse(code text, detail json default '{}') returns void
language plpgsql
set search_path = ''
as $$
begin
  raise exception using errcode = 'RULE1', message = code, detail = detail::text;
end $$;
comment on function private.refuse(text, json) is
  'Ends the transaction with an error of the API. code is a key of the error table; detail holds the extra fields of the answer.';

create function private.refusal(code text, detail json default '{}') returns json
language sql immutable
set search_path = ''
as $$ select json_build_object('refused', code, 'with', detail) $$;
comment on function private.refusal(text, json) is
  'The same refusal as an answer, for where something written in this transaction must stay (an attempt, a recorded check).';

-- Audit --------------------------------------------------------------------------------------------------------------

create table core.audit_log (
  id          bigint generated always as identity,
  at          timestamptz not null default private.now(),
  actor       text        not null,
  action      text        not null,
  partner_id  uuid,
  subject_id  uuid,
  details     jsonb       not null default '{}',
  request_id  text,
  constraint audit_log_pkey primary key (id)
);
comment on table core.audit_log is
  'One row per change somebody may have to account for. No personal data and no secrets in details. Append-only, kept seven years.';
-- serves: the history of one account, client or connection
create index audit_log_subject on core.audit_log (subject_id, id);

alter table core.audit_log enable row level security;
create policy "api functions append, and read nothing" on core.audit_log
  for insert to api_owner with check (partner_id is not distinct from (select private.partner_id()));
grant insert on core.audit_log to api_owner;

create function private.audit(action text, subject uuid default null, details jsonb default '{}') returns void
language sql
set search_path = ''
as $$
  insert into core.audit_log (actor, action, partner_id, subject_id, details, request_id)
  values (
    concat_ws(':', coalesce(nullif(current_setting('app.caller_kind', true), ''), 'unknown'),
                   coalesce(nullif(current_setting('app.user_id', true), ''), nullif(current_setting('app.client_id', true), ''))),
    action, private.partner_id(), subject, details, nullif(current_setting('app.request_id', true), ''))
$$;
comment on function private.audit(text, uuid, jsonb) is 'Appends to the audit log in the same transaction as the change.';

grant execute on function
  private.now(), private.today(), private.iso(timestamptz), private.act_as(jsonb, text[]), private.act_for_partner(uuid),
  private.partner_id(), private.client_id(), private.user_id(), private.is_sandbox(), private.refuse(text, json), private.refusal(text, json),
  private.audit(text, uuid, jsonb)
to api_owner;
