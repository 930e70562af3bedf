-- The database as the files of supabase/schemas make it, in the order of schema_paths in supabase/config.toml.
-- Written by `npm run migration -- --baseline`, and until the first release written anew.
set lock_timeout = '5s';

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
--
-- A statement that waits or runs too long ends: each waiting one holds a connection that every other request needs. The limits are
-- the role's, because `set local` inside a function does not lengthen the statement that runs it. What takes long by its nature
-- (a reset, scheduled work, ten thousand sessions at once) has a login role of its own, and nothing else may run as it.
do $$
declare
  wanted  record;
  setting text;
begin
  for wanted in
    select * from (values
      ('edge',      'login noinherit',   '{statement_timeout=8s,lock_timeout=3s}'::text[]),
      ('edge_slow', 'login noinherit',   '{statement_timeout=1min,lock_timeout=10s}'),
      ('operator',  'login noinherit',   '{statement_timeout=10min,lock_timeout=30s}'),
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
        execute format('alter role %I set %I = %L', wanted.name, split_part(setting, '=', 1), split_part(setting, '=', 2));
      end if;
    end loop;
  end loop;
  -- the migrating role hands functions over to api_owner and keeps the right to replace them
  if not pg_catalog.pg_has_role(current_user, 'api_owner', 'set') then
    execute format('grant api_owner to %I with inherit true, set true', current_user);
  end if;
end $$;

-- A type of pg_temp is found before those of pg_catalog, also where search_path is empty. So whoever may make one could have a
-- definer's cast to uuid run a function of their own, with the rights of the owner of the database. Of our logins none may.
do $$
begin
  execute format('revoke temporary on database %I from public', current_database());
  if has_database_privilege('edge', current_database(), 'temporary') then
    raise exception 'temporary objects can be made by every login of database %: its owner has to revoke that', current_database();
  end if;
end $$;

comment on role edge is 'Login of the edge functions. May execute functions in api, and nothing else.';
comment on role edge_slow is 'Login of the edge functions for what takes long. May execute the few functions in api that do, and nothing else.';
comment on role operator is 'Login of the operator command line. May execute functions in ops, and nothing else.';
comment on role api_owner is 'Owner of the api functions. No login, no table, no bypassrls: policies hold inside the functions.';

alter default privileges revoke execute on functions from public;

grant usage on schema api to edge, edge_slow;
grant usage on schema ops to operator;
grant usage, create on schema api to api_owner;
grant usage on schema core, private to api_owner;

-- Publishing: what stands beside each table and each function that a login role may reach.

create function private.expose(signature regprocedure, login name default 'edge') returns void
language plpgsql
set search_path = ''
as $$
begin
  execute format('revoke all on function %s from public', signature);
  execute format('grant execute on function %s to %I', signature, login);
  execute format('alter function %s owner to api_owner', signature);
end $$;
comment on function private.expose(regprocedure, name) is
  'Stands beside each api function: hands it to api_owner, so that row-level security holds inside it, and lets edge run it, or edge_slow what takes long.';

create function private.expose_ops(signature regprocedure) returns void
language plpgsql
set search_path = ''
as $$
begin
  execute format('revoke all on function %s from public', signature);
  execute format('grant execute on function %s to operator', signature);
end $$;
comment on function private.expose_ops(regprocedure) is 'Stands beside each ops function: lets the operator''s login run it, and nobody else.';

create function private.isolate(tenant_table regclass, privileges text) returns void
language plpgsql
set search_path = ''
as $$
begin
  execute format('alter table %s enable row level security', tenant_table);
  -- not as a sub-select: inlined, it is a condition of the index, looked up once a scan, and the planner sees that joined tables have it alike
  execute format('create policy "a tenant reaches its own rows" on %s to api_owner '
                 'using (partner_id = private.partner_id()) with check (partner_id = private.partner_id())', tenant_table);
  execute format('grant %s on %s to api_owner', privileges, tenant_table);
end $$;
comment on function private.isolate(regclass, text) is
  'Stands beside each tenant table: row-level security by partner_id, and what the api functions may do with the rows.';

create function private.keep_to_owner(tenant_table regclass, owner_column name default 'owner_id') returns void
language plpgsql
set search_path = ''
as $$
begin
  execute format('create policy "an owner reaches only their own rows" on %1$s as restrictive to api_owner '
                 -- Without an owner every row is like itself. As a sub-select, because it is asked of every row, and once, because each
                 -- costs a plan of its own. A case, of which the planner expects half the rows: of a comparison it would expect one
                 -- in two hundred, and join ten thousand with nested loops.
                 'using (case when coalesce((select private.owner_id()), %2$I) is not distinct from %2$I then true else false end)',
                 tenant_table, owner_column);
end $$;
comment on function private.keep_to_owner(regclass, name) is
  'Stands beside each table whose rows belong to a person or a CPO client: within the tenant either reaches their own. Who belongs to neither reaches the tenant''s.';

create function private.take_owner() returns trigger
language plpgsql
set search_path = ''
as $$
begin
  execute format('select p.owner_id from %s p where p.partner_id = $1 and p.id = $2', tg_argv[0])
    into new.owner_id using new.partner_id, (to_jsonb(new) ->> tg_argv[1])::uuid;
  return new;
end $$;
comment on function private.take_owner() is
  'The owner of a row that nobody in particular wrote (the worker, the operator, the bearer of a link) is that of what it hangs on: table and column are its arguments.';
grant execute on function private.take_owner() to api_owner;

create function private.belong_with(tenant_table regclass, parent regclass, parent_column name) returns void
language plpgsql
set search_path = ''
as $$
begin
  perform private.keep_to_owner(tenant_table);
  execute format('create trigger take_owner before insert on %s for each row when (new.owner_id is null) '
                 'execute function private.take_owner(%L, %L)', tenant_table, parent, parent_column);
end $$;
comment on function private.belong_with(regclass, regclass, name) is
  'keep_to_owner for what hangs on something else that has an owner. Its foreign key holds both to the same owner.';

-- The one clock. Tests replace private.now() in their own copy of the database, to travel in time.
--
-- The bodies are parsed when the functions are made, so no search_path can lead them astray, none need be set, and the planner writes
-- them into the queries that call them. A plan that holds one is made anew when the function is replaced.

create function private.now() returns timestamptz
language sql stable parallel safe
return pg_catalog.now();
comment on function private.now() is
  'The only clock of the rules. Tests replace this one function in their own copy of the database to travel in time.';
grant execute on function private.now() to api_owner;

create function private.today() returns date
language sql stable parallel safe
return (private.now() at time zone 'Europe/Amsterdam')::date;
comment on function private.today() is 'The calendar day in the Netherlands: borders of months, years and mandates are Dutch.';
grant execute on function private.today() to api_owner;

-- Shown in every row of every list: 0.5 us a moment, where to_char takes 0.9, and took 1.6 in a function of its own.
create function private.iso(moment timestamptz) returns text
language sql stable parallel safe
return substr(to_json(moment at time zone 'UTC')::text, 2, 19) || 'Z';
comment on function private.iso(timestamptz) is 'A moment as the API writes it: UTC, no fraction, Z.';
grant execute on function private.iso(timestamptz) to api_owner;

-- Which host this database belongs to: sandbox or production.

create table core.deployment (
  only_row   boolean     not null default true,
  host       text        not null,
  key_prefix text        not null default 'ere',
  set_at     timestamptz not null default private.now(),
  constraint deployment_pkey primary key (only_row),
  constraint deployment_has_one_row check (only_row),
  constraint deployment_host_known check (host in ('sandbox', 'production')),
  constraint deployment_key_prefix_shape check (key_prefix ~ '^[a-z]{2,12}$')
);
comment on table core.deployment is
  'One row: the host that this database belongs to, as the operator said before the first partner. Customers of the two hosts never share a database.';
comment on column core.deployment.key_prefix is 'What keys of this deployment begin with, as KEY_PREFIX says to its functions: for the keys that the operator makes.';
alter table core.deployment enable row level security;
create policy "every function may know the host" on core.deployment for select to api_owner using (true);
grant select on core.deployment to api_owner;

create function private.host() returns text
language plpgsql stable
set search_path = ''
as $$ begin return (select d.host from core.deployment d); end $$;
comment on function private.host() is 'The host that this database belongs to; null until the operator has said.';
grant execute on function private.host() to api_owner;

create function private.require_host(claimed text) returns void
language plpgsql stable
set search_path = ''
as $$
declare
  host constant text := (select d.host from core.deployment d);
begin
  -- cannot_connect_now: to a function that is another host, or a database that is none, there is nothing here to work with
  if host is null then
    raise exception 'this database does not know its host' using errcode = 'cannot_connect_now',
      hint = 'the operator says it once: host set sandbox, or host set production';
  elsif claimed <> host then
    raise exception 'API_HOST is %, and this database belongs to the % host', claimed, host using errcode = 'cannot_connect_now';
  end if;
end $$;
comment on function private.require_host(text) is 'Refuses a function whose API_HOST is not the host of this database.';
grant execute on function private.require_host(text) to api_owner;

create function private.is_sandbox() returns boolean
language plpgsql stable
set search_path = ''
as $$ begin return coalesce(private.host() = 'sandbox', false); end $$;
comment on function private.is_sandbox() is 'Whether this database belongs to the sandbox host.';
grant execute on function private.is_sandbox() to api_owner;

create function private.only_in_sandbox() returns void
language plpgsql
set search_path = ''
as $$
begin
  if not private.is_sandbox() then
    raise exception 'this function runs on the sandbox only' using errcode = 'insufficient_privilege';
  end if;
end $$;
comment on function private.only_in_sandbox() is 'The second lock behind the routes, which exist on the sandbox host only.';
grant execute on function private.only_in_sandbox() to api_owner;

-- The caller of this transaction, and the tenant that row-level security reads.

create function private.act_as(caller jsonb, variadic kinds text[]) returns void
language plpgsql
set search_path = ''
as $$
declare
  admitted jsonb := caller;
  ignored  text;
begin
  if caller ? 'credential' then
    admitted := private.admit(caller);
  -- compared here, which takes a third of calling who knows what to say of it
  elsif caller ->> 'host' is distinct from (select d.host from core.deployment d) then
    perform private.require_host(caller ->> 'host');
  end if;
  if (admitted ->> 'kind') = any (kinds) is not true then
    raise exception 'caller kind % may not run this function', coalesce(admitted ->> 'kind', 'none')
      using errcode = 'insufficient_privilege';
  end if;
  -- assignments, because plpgsql evaluates these by themselves: a perform of the same goes through the executor
  ignored := set_config('app.caller_kind', coalesce(admitted ->> 'kind', ''), true);
  ignored := set_config('app.partner_id',  coalesce(admitted ->> 'partner_id', ''), true);
  ignored := set_config('app.client_id',   coalesce(admitted ->> 'client_id', ''), true);
  ignored := set_config('app.user_id',     coalesce(admitted ->> 'user_id', ''), true);
  ignored := set_config('app.manager_id',  coalesce(admitted ->> 'manager_id', ''), true);
  ignored := set_config('app.signed_in_at', coalesce(admitted ->> 'signed_in_at', ''), true);
  ignored := set_config('app.request_id',  coalesce(caller ->> 'request_id', ''), true);
end $$;
comment on function private.act_as(jsonb, text[]) is
  'First line of every api function: who calls, admitted here where caller is a ticket (admission/admit.sql); the second lock behind the scope check, and the tenant for row-level security, local to the transaction.';
grant execute on function private.act_as(jsonb, text[]) to api_owner;

create function private.act_for_partner(partner uuid) returns void
language sql
set search_path = ''
as $$ select set_config('app.partner_id', coalesce(partner::text, ''), true) $$;
comment on function private.act_for_partner(uuid) is
  'Narrows the transaction to the tenant a link or a job was found to belong to.';
grant execute on function private.act_for_partner(uuid) to api_owner;

-- Read by the policies of every table: the bodies are parsed here, and the planner writes them into each query (0.2 us, where a function
-- of its own took 1.1).

create function private.partner_id() returns uuid
language sql stable parallel safe
return nullif(current_setting('app.partner_id', true), '')::uuid;
comment on function private.partner_id() is 'The tenant of this transaction; null matches no row.';
grant execute on function private.partner_id() to api_owner;

create function private.client_id() returns uuid
language sql stable parallel safe
return nullif(current_setting('app.client_id', true), '')::uuid;
comment on function private.client_id() is 'The CPO client of this transaction, or null.';
grant execute on function private.client_id() to api_owner;

create function private.user_id() returns uuid
language sql stable parallel safe
return nullif(current_setting('app.user_id', true), '')::uuid;
comment on function private.user_id() is 'The person this transaction acts for, or null.';
grant execute on function private.user_id() to api_owner;

create function private.owner_id() returns uuid
language sql stable parallel safe
-- an application that acts for a person, or for a partner, owns nothing: what it reaches is what they do
return nullif(coalesce(nullif(current_setting('app.user_id', true), ''),
                       case when current_setting('app.caller_kind', true) = 'cpo' then current_setting('app.client_id', true) end), '')::uuid;
comment on function private.owner_id() is
  'Whose rows this transaction reaches within its tenant: a person''s or a CPO client''s. Null where a partner, the worker or the bearer of a link acts: the whole tenant''s.';
grant execute on function private.owner_id() to api_owner;

create function private.manager_id() returns uuid
language plpgsql stable
set search_path = ''
as $$ begin return nullif(current_setting('app.manager_id', true), '')::uuid; end $$;
comment on function private.manager_id() is 'The person who acts for a partner in this transaction; null where its API key does.';
grant execute on function private.manager_id() to api_owner;

create function private.session_began() returns timestamptz
language plpgsql stable
set search_path = ''
as $$ begin return nullif(current_setting('app.signed_in_at', true), '')::timestamptz; end $$;
comment on function private.session_began() is 'When the person of a session signed in.';
grant execute on function private.session_began() to api_owner;

-- What an api function answers in place of its JSON: a refusal, or what it needs first. packages/shared/src/foundation/db.ts reads both.

create function private.refuse(code text, detail json default '{}') returns void
language plpgsql
set search_path = ''
as $$
begin
  raise exception using errcode = 'RULE1', message = code, detail = detail::text;
end $$;
comment on function private.refuse(text, json) is
  'Says no, and nothing that was written stays: the usual refusal. code is a key of the error table; detail holds the extra fields of the error.';
grant execute on function private.refuse(text, json) to api_owner;

create function private.refusal(code text, detail json default '{}') returns json
language sql immutable
set search_path = ''
as $$ select json_build_object('refused', code, 'with', detail) $$;
comment on function private.refusal(text, json) is
  'Says no by an answer, which commits: for where something written must stay (a counted guess, a debit, a recorded check), or before anything is written.';
grant execute on function private.refusal(text, json) to api_owner;

create function private.ask(next text, about json) returns json
language sql immutable
set search_path = ''
as $$ select json_build_object('next', next, 'about', about) $$;
comment on function private.ask(text, json) is
  'Asks for something from outside the database, as an answer: the function is called again with the same input and beside it, under the name of the kind, what was fetched.';
grant execute on function private.ask(text, json) to api_owner;

-- Reading values that came from outside as JSON, and writing bytes.

create function private.as_uuid(value text) returns uuid
language sql immutable
set search_path = ''
as $$ select case when value ~* '^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$' then value::uuid end $$;
comment on function private.as_uuid(text) is 'The text as an id, or null where it is none: what a person typed may be a name.';
grant execute on function private.as_uuid(text) to api_owner;

create function private.as_moment(value text) returns timestamptz
language sql stable
set search_path = ''
as $$
  select case when value ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?(Z|[+-][0-9]{2}:?[0-9]{2})$'
               and pg_input_is_valid(value, 'timestamptz')
              then date_trunc('second', value::timestamptz) end
$$;
comment on function private.as_moment(text) is 'ISO 8601 with its offset, to the second as the API shows it; null where it is none.';
grant execute on function private.as_moment(text) to api_owner;

create function private.as_day(value text) returns date
language sql immutable
set search_path = ''
as $$ select case when value ~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}$' and pg_input_is_valid(value, 'date') then value::date end $$;
comment on function private.as_day(text) is 'A calendar day as people write it, 2026-08-15; null where it is none. Postgres by itself reads infinity and yesterday too.';

create function private.as_count(value jsonb) returns bigint
language sql immutable
set search_path = ''
as $$ select case when jsonb_typeof(value) = 'number' and abs((value #>> '{}')::numeric) < 1e12 then round((value #>> '{}')::numeric)::bigint end $$;
comment on function private.as_count(jsonb) is 'A number of JSON as a whole one; null where it is none, or too large.';
grant execute on function private.as_count(jsonb) to api_owner;

create function private.as_decimal(value text, places int) returns numeric
language sql immutable
set search_path = ''
as $$ select case when value ~ ('^[0-9]{1,9}([.][0-9]{1,' || places || '})?$') then value::numeric end $$;
comment on function private.as_decimal(text, int) is 'A number of at most nine digits and so many decimals, without a sign; null where it is none.';
grant execute on function private.as_decimal(text, int) to api_owner;

create function private.as_border(value text) returns timestamptz
language sql stable
set search_path = ''
as $$ select case when value ~ '^[0-9-]{10}$' then value::timestamp at time zone 'Europe/Amsterdam' else value::timestamptz end $$;
comment on function private.as_border(text) is 'A date as the Dutch midnight it begins with, a moment as itself.';
grant execute on function private.as_border(text) to api_owner;

create function private.claim_token_hash(hex text) returns bytea
language plpgsql immutable
set search_path = ''
as $$
declare
  hash constant bytea := decode(hex, 'hex');
begin
  if length(hash) is distinct from 32 then
    raise exception 'a token is stored as its SHA-256' using errcode = 'invalid_parameter_value';
  end if;
  return hash;
end $$;
comment on function private.claim_token_hash(text) is
  'How a token that was made just now is stored: its SHA-256, from hexadecimal. It is looked up before the tenant is known, and is nobody else''s because it is of 256 random bits.';
grant execute on function private.claim_token_hash(text) to api_owner;

create function private.base64url(bytes bytea) returns text
language sql immutable parallel safe
return translate(rtrim(encode(bytes, 'base64'), '='), E'+/\n', '-_');
comment on function private.base64url(bytea) is 'RFC 4648 section 5, without padding.';
grant execute on function private.base64url(bytea) to api_owner;

create function private.csv_line(variadic fields text[]) returns text
language sql immutable
set search_path = ''
as $$
  -- a spreadsheet would compute what begins like a formula
  select string_agg(case when f.field ~ '[",\r\n]' then '"' || replace(f.field, '"', '""') || '"' else f.field end, ',' order by f.place) || E'\r\n'
    from (select place, case when value ~ '^[=+@\t\r-]' and value !~ '^-[0-9.]+$' then '''' || value else coalesce(value, '') end as field
            from unnest(fields) with ordinality as u (value, place)) f
$$;
comment on function private.csv_line(text[]) is 'A line of CSV as RFC 4180 says: null is an empty field; one that begins like a formula, and is no number, gets a quote in front.';
grant execute on function private.csv_line(text[]) to api_owner;

create function private.words_of(said text) returns text[]
language sql immutable parallel safe
return array_remove(regexp_split_to_array(lower(regexp_replace(normalize(coalesce(said, ''), nfkd), '[\u0300-\u036f]', '', 'g')), '[^[:alnum:]]+'), '');
comment on function private.words_of(text) is 'The words of a text, letters without their accents and in lower case: what is not a letter or a digit only parts them.';
grant execute on function private.words_of(text) to api_owner;

create function private.phone_end(phone text) returns text
language sql immutable parallel safe
return right(regexp_replace(phone, '\D', '', 'g'), 9);
comment on function private.phone_end(text) is 'The last nine digits of a telephone number, which are the same however its beginning is written: 06, +316, 00316.';
grant execute on function private.phone_end(text) to api_owner;

create function private.search_words(variadic said text[]) returns tsvector
language sql immutable parallel safe
return array_to_tsvector(private.words_of(array_to_string(said, ' ')));
comment on function private.search_words(text[]) is 'What a row is found by: the words of these texts. For the index that private.search_query looks into.';
grant execute on function private.search_words(text[]) to api_owner;

create function private.search_query(typed text) returns tsquery
language sql immutable
return (select string_agg(quote_literal(left(w.word, 255)) || ':*', ' & ')::tsquery from unnest(private.words_of(typed)) as w (word));
comment on function private.search_query(text) is 'Whatever has, for each word that was typed, a word that begins with it. Null where nothing was typed but signs.';

-- One-time codes: how long one works, and how many guesses it allows.

-- Each sender keeps its codes in a table of its own; how long they work and how many guesses they allow is the same for all.
create function private.code_expiry() returns timestamptz
language plpgsql stable
set search_path = ''
as $$ begin return private.now() + interval '10 minutes'; end $$;
comment on function private.code_expiry() is 'Until when a one-time code that is mailed now can be used.';
grant execute on function private.code_expiry() to api_owner;

create function private.judge_code(kept bytea, expires_at timestamptz, attempts int, presented text) returns text
language plpgsql stable
set search_path = ''
as $$
begin
  return case when kept is null or expires_at > private.now() is not true then 'code_expired'
              when attempts >= 5 then 'too_many_attempts'
              when kept <> decode(presented, 'hex') is not false then 'wrong_code' end;
end $$;
comment on function private.judge_code(bytea, timestamptz, int, text) is
  'Why the SHA-256 of a presented code is refused, or null; a wrong_code is for the caller to count, its row locked.';
grant execute on function private.judge_code(bytea, timestamptz, int, text) to api_owner;

-- Tables that only grow have a partition for each year, so that an old year can be put away whole. Their borders are Dutch, as those
-- of all years. A row of a year that has no partition goes to the default one, and moves when the year gets its own.

create function private.make_year_partition(parent regclass, year int) returns boolean
language plpgsql
set search_path = ''
as $$
declare
  name      constant text := (select c.relname || '_' || year from pg_catalog.pg_class c where c.oid = parent);
  aside     constant text := (select c.relname || '_default' from pg_catalog.pg_class c where c.oid = parent);
  moment    constant text := (
    select a.attname from pg_catalog.pg_partitioned_table p
      join pg_catalog.pg_attribute a on a.attrelid = p.partrelid and a.attnum = p.partattrs[0] where p.partrelid = parent);
  columns   constant text := (
    select string_agg(quote_ident(a.attname), ', ' order by a.attnum) from pg_catalog.pg_attribute a
     where a.attrelid = parent and a.attnum > 0 and not a.attisdropped and a.attgenerated = '');
  since     constant timestamptz := make_timestamptz(year, 1, 1, 0, 0, 0, 'Europe/Amsterdam');
  until     constant timestamptz := make_timestamptz(year + 1, 1, 1, 0, 0, 0, 'Europe/Amsterdam');
begin
  if to_regclass('core.' || quote_ident(name)) is not null then
    return false;
  end if;
  -- one call at a time makes it; who writes to the table is not kept waiting, unless it is to the default partition
  execute format('lock table only %s in share update exclusive mode nowait', parent);
  if to_regclass('core.' || quote_ident(name)) is not null then
    return false;
  end if;
  execute format('lock table core.%I in access exclusive mode nowait', aside);
  -- made beside the table and then attached: `create table … partition of` would lock the whole table
  execute format('create table core.%I (like %s including defaults including generated including constraints including storage)', name, parent);
  execute format('comment on table core.%I is %L', name, format('%s of %s.', parent, year));
  execute format('alter table core.%I enable row level security', name);
  execute format('with moved as (delete from core.%1$I where %2$I >= %3$L and %2$I < %4$L returning %5$s) insert into core.%6$I (%5$s) select %5$s from moved',
                 aside, moment, since, until, columns, name);
  execute format('alter table %s attach partition core.%I for values from (%L) to (%L)', parent, name, since, until);
  return true;
end $$;
comment on function private.make_year_partition(regclass, int) is
  'Gives a year of a table that is partitioned by private.partition_by_year its partition, with the rows of that year that the default one held; says whether it did. Fails with lock_not_available where it would have to wait.';

create function private.make_due_partitions() returns int
language plpgsql security definer
set search_path = ''
as $$
declare
  due  record;
  made int := 0;
begin
  for due in
    select p.partrelid::regclass as parent, extract(year from private.today())::int + ahead as year
      from pg_catalog.pg_partitioned_table p
      join pg_catalog.pg_class c on c.oid = p.partrelid and c.relnamespace = 'core'::regnamespace
     cross join generate_series(0, 1) as ahead
     where p.partstrat = 'r'
     order by c.relname, ahead
  loop
    begin
      made := made + private.make_year_partition(due.parent, due.year)::int;
    exception when lock_not_available then
      null;  -- somebody reads the default partition, as a dump does: the next run tries again, and has a year
    end;
  end loop;
  return made;
end $$;
comment on function private.make_due_partitions() is
  'Gives this year and the next a partition in every table that has one for each year: the next year''s is there a year ahead. Definer, because tables belong to their owner.';
grant execute on function private.make_due_partitions() to api_owner;

create function private.partition_by_year(parent regclass) returns void
language plpgsql
set search_path = ''
as $$
declare
  aside constant text := (select c.relname || '_default' from pg_catalog.pg_class c where c.oid = parent);
begin
  execute format('create table core.%I partition of %s default', aside, parent);
  execute format('comment on table core.%I is %L', aside, format('%s of years that have no partition.', parent));
  execute format('alter table core.%I enable row level security', aside);
  perform private.make_due_partitions();
end $$;
comment on function private.partition_by_year(regclass) is
  'Stands beside each table that only grows and is made `partition by range` of the moment of its rows: a partition for each year, made by private.make_due_partitions, and a default one, which loses nothing. Policies and grants are the table''s; its partitions have none, and nobody reaches them but through it.';

-- How an operator's function begins. All of them, ops.*, take one jsonb and answer one json. They are definers owned by the role
-- that owns the tables, so they cross tenants, which is the operator's work; the tenant they touch is set all the same, for the
-- audit row and for shared helpers. A change that changes nothing answers changed: false and leaves no audit row.

create function private.act_as_operator(input jsonb) returns void
language sql
set search_path = ''
as $$
  -- the login says who it was, and the command line under which name of the system it was typed
  select set_config('app.caller_kind', concat_ws(':', session_user, nullif(left(input ->> 'operator', 64), '')), true),
         set_config('app.partner_id', '', true),
         set_config('app.client_id', '', true),
         set_config('app.request_id', '', true)
$$;
comment on function private.act_as_operator(jsonb) is
  'First line of every ops function that changes or shows something personal: the audit row names the login of the database, and {operator} beside it.';

create function private.operator_login() returns text
language plpgsql stable
set search_path = ''
as $$
begin
  if session_user !~ '^operator_' then
    perform private.refuse('own_login_needed', json_build_object('login', session_user));
  end if;
  return session_user;
end $$;
comment on function private.operator_login() is
  'The person who acts, for what takes two of them: by a login of their own, and not by the one that all may share.';

create function private.operator_name(value text) returns text
language plpgsql immutable
set search_path = ''
as $$
begin
  if coalesce(length(btrim(value)), 0) not between 1 and 120 or value ~ '[[:cntrl:]]' then
    perform private.refuse('invalid_name');
  end if;
  return btrim(value);
end $$;
comment on function private.operator_name(text) is 'A name of 1 to 120 characters on one line, trimmed.';

create function private.operator_reason(value text) returns text
language plpgsql immutable
set search_path = ''
as $$
begin
  if coalesce(length(btrim(value)), 0) not between 1 and 500 or value ~ '[[:cntrl:]]' then
    perform private.refuse('invalid_reason');
  end if;
  return btrim(value);
end $$;
comment on function private.operator_reason(text) is 'Why something was taken back, 1 to 500 characters on one line, trimmed.';

-- Partners: the tenants, and the service's own tenant among them, the house.

create table core.partners (
  id                uuid          not null default gen_random_uuid(),
  name              text          not null,
  slug              text          not null,
  is_active         boolean       not null default true,
  created_at        timestamptz   not null default private.now(),
  referral_code     text,
  return_url        text,
  default_fee_pct   numeric(5, 2) not null default 20,
  partner_share_pct numeric(5, 2) not null default 25,
  company           jsonb         not null default '{}',
  iban_ciphertext   text,
  iban_key_id       text,
  iban_last4        text,
  iban_holder       text,
  iban_changed_at   timestamptz   not null default private.now(),
  vat_regime        text,
  branding          jsonb         not null default '{}',
  charger_brands    text[]        not null default '{}',
  locale            text,
  mandate_years     int,
  constraint partners_pkey primary key (id),
  constraint partners_slug_key unique (slug),
  constraint partners_slug_shape check (slug ~ '^[a-z0-9]+(-[a-z0-9]+)*$' and length(slug) <= 60),
  constraint partners_name_length check (length(name) between 1 and 120),
  constraint partners_house_is_active check (is_active or id <> '00000000-0000-4000-8000-000000000000'),
  constraint partners_house_has_no_settings check (id <> '00000000-0000-4000-8000-000000000000' or num_nonnulls(referral_code, return_url, iban_last4, vat_regime) = 0
    and company = '{}' and branding = '{}' and charger_brands = '{}' and default_fee_pct = 20 and partner_share_pct = 25 and num_nonnulls(locale, mandate_years) = 0),
  constraint partners_locale_known check (locale in ('nl', 'en')),
  constraint partners_mandate_years_known check (mandate_years in (1, 3, 5)),
  constraint partners_referral_code_key unique (referral_code),
  constraint partners_referral_code_shape check (referral_code ~ '^[A-Z0-9]{4,20}$'),
  constraint partners_vat_regime_known check (vat_regime in ('none', 'small_business', 'regular', 'reverse_charge')),
  constraint partners_return_url_length check (length(return_url) <= 500),
  constraint partners_percentages check (default_fee_pct between 0 and 100 and partner_share_pct between 0 and 100),
  constraint partners_accents_are_colors check (
    concat(branding ->> 'light') ~ '^(#[0-9a-f]{6})?$' and concat(branding ->> 'dark') ~ '^(#[0-9a-f]{6})?$'),
  constraint partners_iban_whole check (num_nulls(iban_ciphertext, iban_key_id, iban_last4, iban_holder) in (0, 4))
);
comment on table core.partners is 'A tenant: a charge-point operator, installer or other business. Kept as long as its customers'' records are.';
comment on column core.partners.return_url is 'Registered by the operator or in the portal; sign-in links may lead back to it and below it, nowhere else.';
comment on column core.partners.branding is 'display_name, logo_url, primary_color, reply_to: how pages and mail to its customers look. light and dark are the colour where it can be read on such a ground, else null: packages/shared/src/domain/brand.ts judges it when it is chosen.';
comment on column core.partners.vat_regime is
  'How VAT is charged on its share: none (no business for VAT), small_business (exempt, the Dutch KOR), regular, reverse_charge (by a business in another country). Set by the operator; null while nobody has asked, and no invoice is written until then.';
comment on column core.partners.iban_changed_at is 'When the account number came, or became another one: money waits 48 hours before it goes there.';
comment on column core.partners.charger_brands is 'Brands whose cloud the partner has linked to the service: a draft may come with a charger of these only. Set by the operator.';
comment on column core.partners.locale is 'The language its customers are spoken to in, null where theirs is not known: pages then speak the browser''s, mail Dutch. Set by the operator.';
comment on column core.partners.mandate_years is 'For how many calendar years its customers sign; null where they choose. Set by the operator.';

create function private.note_iban_change() returns trigger
language plpgsql
set search_path = ''
as $$
begin
  new.iban_changed_at := private.now();
  return new;
end $$;
comment on function private.note_iban_change() is 'Notes when an account number changes, whoever changes it. One that is encrypted anew counts as another.';
grant execute on function private.note_iban_change() to api_owner;

create trigger note_iban_change before update of iban_ciphertext on core.partners for each row
  when (new.iban_ciphertext is distinct from old.iban_ciphertext) execute function private.note_iban_change();

alter table core.partners enable row level security;
create policy "a tenant sees itself" on core.partners
  for select to api_owner using (id = (select private.partner_id()));
create policy "a tenant changes itself" on core.partners for update to api_owner
  using (id = (select private.partner_id())) with check (id = (select private.partner_id()));
grant select on core.partners to api_owner;
grant update (company, iban_ciphertext, iban_key_id, iban_last4, iban_holder, branding) on core.partners to api_owner;

create function private.house() returns uuid
language sql immutable parallel safe
return uuid '00000000-0000-4000-8000-000000000000';
comment on function private.house() is
  'The service''s own tenant. What a person owns lives here, whoever brought them: attribution may come later, or end, without moving a row. Nobody acts for it: it has no clients, keys, managers or settings.';
grant execute on function private.house() to api_owner;

insert into core.partners (id, name, slug) values (private.house(), 'De dienst zelf', 'service');

create function private.active_partner(partner uuid) returns uuid
language plpgsql stable security definer
set search_path = ''
as $$
begin
  return (select p.id from core.partners p where p.id = active_partner.partner and p.is_active);
end $$;
comment on function private.active_partner(uuid) is
  'The partner if it is active, else null; definer because admission runs before a tenant is set.';
grant execute on function private.active_partner(uuid) to api_owner;

create function private.partner_display_name(partner core.partners) returns text
language plpgsql stable
set search_path = ''
as $$ begin return coalesce(partner.branding ->> 'display_name', partner.name); end $$;
grant execute on function private.partner_display_name(core.partners) to api_owner;

create function private.partner_brand(partner core.partners) returns jsonb
language plpgsql stable
set search_path = ''
as $$
begin
  return jsonb_build_object(
    'name', private.partner_display_name(partner),
    'reply_to', nullif(partner.branding ->> 'reply_to', ''),
    'light', partner.branding ->> 'light',
    'dark', partner.branding ->> 'dark');
end $$;
comment on function private.partner_brand(core.partners) is
  'How pages and mail name a partner: {name, reply_to, light, dark}; a colour only where it can be read, else null.';
grant execute on function private.partner_brand(core.partners) to api_owner;

-- The audit log: who did what, in the same transaction as the change.

create table core.audit_log (
  partner_id  uuid        not null,
  id          bigint generated always as identity,
  at          timestamptz not null default private.now(),
  actor       text        not null,
  action      text        not null,
  subject_id  uuid,
  details     jsonb       not null default '{}',
  request_id  text,
  constraint audit_log_pkey primary key (partner_id, id, at)
) partition by range (at);
comment on table core.audit_log is
  'One row per change somebody may have to account for. No personal data and no secrets in details. Append-only, kept seven years.';
comment on column core.audit_log.partner_id is 'The tenant it happened in; the house where it was in none: what the operator did to the service itself, and a person to their own login.';
-- serves: the history of one account, client or connection
create index audit_log_subject on core.audit_log (subject_id, id);
alter table core.audit_log enable row level security;
create policy "api functions append, and read nothing" on core.audit_log
  for insert to api_owner with check (partner_id = coalesce(private.partner_id(), private.house()));
grant insert on core.audit_log to api_owner;
select private.partition_by_year('core.audit_log');

create function private.audit(action text, subject uuid default null, details jsonb default '{}') returns void
language plpgsql
set search_path = ''
as $$
begin
  insert into core.audit_log (actor, action, partner_id, subject_id, details, request_id)
  values (
    concat_ws(':', coalesce(nullif(current_setting('app.caller_kind', true), ''), 'unknown'),
                   coalesce(nullif(current_setting('app.user_id', true), ''), nullif(current_setting('app.client_id', true), ''))),
    action, coalesce(private.partner_id(), private.house()), subject, details, nullif(current_setting('app.request_id', true), ''));
end $$;
comment on function private.audit(text, uuid, jsonb) is 'Appends to the audit log in the same transaction as the change.';
grant execute on function private.audit(text, uuid, jsonb) to api_owner;

-- The log of events: what an integrator is told. An event is written in the transaction of the change it is about, and is numbered after that.
--
-- A cursor over ids or moments of writing would lose events: of two transactions the one that began first may commit last, and a reader
-- who was there in between has passed it. So only what is committed gets its place in the order, by private.sequence_events.

create table core.events (
  partner_id uuid        not null,
  id         uuid        not null default gen_random_uuid(),
  owner_id   uuid        not null,
  arrival    bigint      not null generated always as identity,
  sequence   bigint,
  type       text        not null,
  account_id uuid,
  user_id    uuid,
  subject_id uuid,
  data       jsonb       not null default '{}',
  request_id text,
  created_at timestamptz not null default private.now(),
  constraint events_pkey primary key (partner_id, id),
  constraint events_sequence_key unique (partner_id, owner_id, sequence),
  constraint events_type_known check (type in (
    'account.created', 'account.eligibility_changed', 'account.months_locked', 'account.months_registered', 'account.months_rejected',
    'account.months_reopened', 'mandate.signed', 'mandate.renewed', 'mandate.declined', 'mandate.revoked', 'mandate.expired',
    'ean.status_changed', 'charger.registered', 'charger.mid_confirmed', 'registration.submitted', 'registration.approved',
    'registration.rejected', 'draft.claimed', 'draft.active', 'draft.expired', 'draft.conflict', 'customer.sharing_ended', 'ere.sold',
    'ere.sale_reversed', 'payout.approved', 'payout.paid', 'payout.failed', 'payout.reversed', 'webhook_endpoint.disabled'))
);
comment on table core.events is
  'What happened, for whoever integrates with us: ids, new status, and nothing of a person. Kept 90 days, so no partition for each year.';
comment on column core.events.owner_id is 'Whose log it is in: a CPO client''s (its id), or the partner''s own (partner_id).';
comment on column core.events.arrival is 'The order of writing within one transaction, and between transactions that waited for each other.';
comment on column core.events.sequence is 'Its place in that log, 1, 2, 3 …; null until it is numbered.';
comment on column core.events.user_id is 'The customer it is about, in a partner''s log: shown as customer_ref.';
comment on column core.events.data is 'What does not change afterwards. References of the integrator''s own are looked up when it is read.';
-- serves: numbering
create index events_unnumbered on core.events (partner_id, owner_id, arrival) where sequence is null;
-- serves: the sweep
create index events_age on core.events (created_at);
select private.isolate('core.events', 'select');
select private.keep_to_owner('core.events');

create table core.event_heads (
  partner_id uuid   not null,
  owner_id   uuid   not null,
  sequence   bigint not null default 0,
  swept      bigint not null default 0,
  constraint event_heads_pkey primary key (partner_id, owner_id)
);
comment on table core.event_heads is 'How far each log is numbered, and up to where it was swept.';
select private.isolate('core.event_heads', 'select');
select private.keep_to_owner('core.event_heads');

create function private.events_kept_since() returns timestamptz
language sql stable parallel safe
return private.now() - interval '90 days';
comment on function private.events_kept_since() is 'An event of this moment or before it is not there any more, whether or not it was swept.';
grant execute on function private.events_kept_since() to api_owner;

create function private.sequence_events(partner uuid, owner uuid) returns core.event_heads
language plpgsql security definer
set search_path = ''
as $$
declare
  head core.event_heads;
begin
  if exists (select from core.events e where e.partner_id = partner and e.owner_id = owner and e.sequence is null) then
    insert into core.event_heads (partner_id, owner_id) values (partner, owner) on conflict on constraint event_heads_pkey do nothing;
    -- one at a time numbers a log, and who comes next sees what that one numbered: numbers are committed in their order
    select * into head from core.event_heads h where h.partner_id = partner and h.owner_id = owner for update;
    update core.events e set sequence = head.sequence + n.place
      from (select u.id, row_number() over (order by u.arrival) as place
              from core.events u where u.partner_id = partner and u.owner_id = owner and u.sequence is null) n
     where e.partner_id = partner and e.id = n.id and e.sequence is null;
    update core.event_heads h
       set sequence = greatest(h.sequence, (select max(e.sequence) from core.events e where e.partner_id = partner and e.owner_id = owner))
     where h.partner_id = partner and h.owner_id = owner;
  end if;
  select * into head from core.event_heads h where h.partner_id = partner and h.owner_id = owner;
  return case when head.partner_id is null then row(partner, owner, 0, 0)::core.event_heads else head end;
end $$;
comment on function private.sequence_events(uuid, uuid) is
  'Numbers what is committed of a log and has no number yet, and gives its head. Whoever reads a log calls this first; whoever writes never does. Definer, because nothing else changes an event.';
grant execute on function private.sequence_events(uuid, uuid) to api_owner;

create function private.sweep_events() returns bigint
language plpgsql security definer
set search_path = ''
as $$
declare
  swept bigint;
begin
  -- one that nobody read has to be counted too, for who reads on after it
  perform private.sequence_events(e.partner_id, e.owner_id)
     from (select distinct e.partner_id, e.owner_id from core.events e
            where e.created_at <= private.events_kept_since() and e.sequence is null) e;
  with gone as (
    delete from core.events e
     where (e.partner_id, e.id) in (
       select d.partner_id, d.id from core.events d
        where d.created_at <= private.events_kept_since() order by d.created_at limit 10000 for update skip locked)
    returning e.partner_id, e.owner_id, e.sequence
  ), noted as (
    update core.event_heads h set swept = greatest(h.swept, g.sequence)
      from (select g.partner_id, g.owner_id, max(g.sequence) as sequence from gone g group by g.partner_id, g.owner_id) g
     where h.partner_id = g.partner_id and h.owner_id = g.owner_id
  )
  select count(*) into swept from gone;
  return swept;
end $$;
comment on function private.sweep_events() is 'Deletes events that are older than 90 days, a part in each run. Definer: every tenant at once.';
grant execute on function private.sweep_events() to api_owner;

-- Writing an event: beside private.audit, in the transaction of the change. Who is told follows from whose it is.

create type private.occurrence as (account_id uuid, subject_id uuid, data jsonb);
comment on type private.occurrence is 'Something that happened to an account: what exactly of it (a connection, a charger), and what an event says of it.';

create function private.tell(partner uuid, owner uuid, type text, subject uuid, data jsonb default '{}', customer uuid default null) returns void
language plpgsql security definer
set search_path = ''
as $$
begin
  insert into core.events (partner_id, owner_id, type, user_id, subject_id, data, request_id)
  values (partner, owner, tell.type, customer, subject, tell.data, nullif(current_setting('app.request_id', true), ''));
end $$;
comment on function private.tell(uuid, uuid, text, uuid, jsonb, uuid) is
  'Writes an event into one log. Definer, because events are otherwise only read, and what happens to a person in the house is told to a partner.';
grant execute on function private.tell(uuid, uuid, text, uuid, jsonb, uuid) to api_owner;

create function private.emit_all(tenant uuid, type text, occurrences private.occurrence[]) returns void
language plpgsql security definer
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
begin
  insert into core.events (partner_id, owner_id, type, account_id, user_id, subject_id, data, request_id)
  select a.partner_id, a.client_id, emit_all.type, a.id, null, o.subject_id, o.data, nullif(current_setting('app.request_id', true), '')
    from unnest(occurrences) with ordinality as o (account_id, subject_id, data, place)
    join core.accounts a on a.partner_id = tenant and a.id = o.account_id and a.client_id is not null
   order by o.place;
  if tenant = private.house() then
    -- of its customers a partner is told what GET /partner/customers shows: no gates, no EAN, no months, and where somebody stands with their
    -- registration only if it uploaded or invited them
    insert into core.events (partner_id, owner_id, type, account_id, user_id, subject_id, data, request_id)
    select t.partner_id, t.partner_id, emit_all.type, a.id, t.user_id, o.subject_id,
           jsonb_strip_nulls(jsonb_build_object('registration_status', o.data -> 'registration_status', 'mid_eligible', o.data -> 'mid_eligible')),
           nullif(current_setting('app.request_id', true), '')
      from unnest(occurrences) with ordinality as o (account_id, subject_id, data, place)
      join core.accounts a on a.partner_id = tenant and a.id = o.account_id
      join core.attributions t on t.user_id = a.user_id
     where emit_all.type in ('mandate.signed', 'mandate.renewed', 'mandate.revoked', 'mandate.expired', 'charger.registered', 'charger.mid_confirmed')
        or emit_all.type like 'registration.%' and t.source in ('partner_upload', 'partner_invite')
     order by o.place;
  end if;
end $$;
comment on function private.emit_all(uuid, text, private.occurrence[]) is
  'Writes an event of each occurrence in a tenant: into the log of the client whose account it is, or of the partner who brought the person. Definer, because people are in the house and their partner is another tenant.';
grant execute on function private.emit_all(uuid, text, private.occurrence[]) to api_owner;

create function private.emit(type text, account uuid, subject uuid, data jsonb) returns void
language plpgsql
set search_path = ''
as $$
begin
  perform private.emit_all(private.partner_id(), emit.type, array[row(account, subject, emit.data)::private.occurrence]);
end $$;
comment on function private.emit(text, uuid, uuid, jsonb) is
  'Writes an event of an account of this tenant, in the same transaction as the change. Not for what a client asked for by name: it has the answer.';
grant execute on function private.emit(text, uuid, uuid, jsonb) to api_owner;

create function private.emit_draft(type text, draft uuid, status text) returns void
language plpgsql
set search_path = ''
as $$
begin
  perform private.tell(private.partner_id(), private.partner_id(), emit_draft.type, draft, jsonb_build_object('status', emit_draft.status));
end $$;
comment on function private.emit_draft(text, uuid, text) is 'Writes an event of a draft of this tenant, with the status that it now has.';
grant execute on function private.emit_draft(text, uuid, text) to api_owner;

create function private.tell_sharing_ended() returns trigger
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.tell(old.partner_id, old.partner_id, 'customer.sharing_ended', null, '{}', old.user_id);
  return null;
end $$;
comment on function private.tell_sharing_ended() is
  'A customer does not belong to the partner any more. A trigger, because it may end with the login, which is for Supabase Auth to delete. Definer, as private.tell.';

-- The people who manage a partner. Only they change where money and mail go; the partner's API key cannot.

create table core.partner_managers (
  partner_id uuid        not null,
  user_id    uuid        not null,
  created_at timestamptz not null default private.now(),
  constraint partner_managers_pkey primary key (partner_id, user_id),
  constraint partner_managers_user_id_key unique (user_id),
  constraint partner_managers_not_of_the_house check (partner_id <> '00000000-0000-4000-8000-000000000000'),
  constraint partner_managers_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint partner_managers_user_id_fkey foreign key (user_id) references auth.users (id) on delete cascade
);
comment on table core.partner_managers is 'Who manages a partner in the portal: a person manages one partner. Added by the operator.';
select private.isolate('core.partner_managers', 'select');
select private.keep_to_owner('core.partner_managers', 'user_id');

create function private.claim_manager(person uuid, partner uuid, out added boolean, out manages uuid)
language plpgsql security definer
set search_path = ''
as $$
begin
  insert into core.partner_managers (partner_id, user_id) values (partner, person)
  on conflict on constraint partner_managers_user_id_key do nothing;
  added := found;
  select m.partner_id into manages from core.partner_managers m where m.user_id = person;
end $$;
comment on function private.claim_manager(uuid, uuid) is
  'Lets a person manage a partner unless they manage one already: whether it did, and which one they manage. Definer, because it looks across tenants.';

create function private.managed_partner(person uuid) returns uuid
language plpgsql stable security definer
set search_path = ''
as $$
begin
  return (select m.partner_id from core.partner_managers m join core.partners p on p.id = m.partner_id and p.is_active where m.user_id = person);
end $$;
comment on function private.managed_partner(uuid) is 'The active partner a person manages, or null. Definer, because admission runs before a tenant is set.';
grant execute on function private.managed_partner(uuid) to api_owner;

create function private.act_as_manager() returns void
language plpgsql
set search_path = ''
as $$
begin
  if private.manager_id() is null then
    raise exception 'a partner key may not run this function' using errcode = 'insufficient_privilege';
  end if;
  -- one change of a partner's settings at a time
  perform from core.partners p where p.id = private.partner_id() for no key update;
end $$;
comment on function private.act_as_manager() is 'The second lock behind admission: settings are changed by a person, never by a key.';
grant execute on function private.act_as_manager() to api_owner;

create function private.manager_emails(partner uuid) returns setof text
language sql stable security definer
set search_path = ''
as $$
  select u.email
    from core.partner_managers m join auth.users u on u.id = m.user_id
   where m.partner_id = partner and u.email is not null
$$;
comment on function private.manager_emails(uuid) is 'Whom to write to about a partner itself. Definer, because logins belong to Supabase Auth.';
grant execute on function private.manager_emails(uuid) to api_owner;

-- Partner API keys: one active key a partner, kept as a hash.

create table core.partner_keys (
  partner_id   uuid        not null,
  id           uuid        not null default gen_random_uuid(),
  key_hash     bytea       not null,
  prefix       text        not null,
  last4        text        not null,
  created_at   timestamptz not null default private.now(),
  last_used_at timestamptz,
  revoked_at   timestamptz,
  constraint partner_keys_pkey primary key (partner_id, id),
  constraint partner_keys_key_hash_key unique (key_hash),
  constraint partner_keys_not_of_the_house check (partner_id <> '00000000-0000-4000-8000-000000000000'),
  constraint partner_keys_partner_id_fkey foreign key (partner_id) references core.partners (id)
);
comment on table core.partner_keys is 'Partner API keys as their SHA-256, shown once. One active key a partner. Revoked ones stay for the audit.';
-- serves: one active key a partner
create unique index partner_keys_active on core.partner_keys (partner_id) where revoked_at is null;
select private.isolate('core.partner_keys', 'select, insert, update');

create function private.key_holder(credential jsonb, out partner_id uuid, out partner_active boolean)
language plpgsql stable security definer
set search_path = ''
as $$
begin
  select k.partner_id, p.is_active into key_holder.partner_id, key_holder.partner_active
    from core.partner_keys k join core.partners p on p.id = k.partner_id
   where k.key_hash = decode(credential ->> 'key_hash', 'hex') and k.revoked_at is null
     -- the sandbox handed out keys of the other prefix until September 2026
     and (credential ->> 'key_host' = credential ->> 'host' or credential ->> 'host' = 'sandbox' and k.created_at < '2026-09-01Z');
end $$;
comment on function private.key_holder(jsonb) is
  'Whose active key this is: {key_hash, key_host, host}, where key_host is what the key''s prefix says. Definer, because admission runs before a tenant is set.';

create function private.store_partner_key(key jsonb, rotate boolean) returns json
language plpgsql
set search_path = ''
as $$
declare
  minted core.partner_keys;
begin
  if rotate then
    update core.partner_keys k set revoked_at = private.now() where k.partner_id = private.partner_id() and k.revoked_at is null;
  end if;
  insert into core.partner_keys (partner_id, key_hash, prefix, last4)
  values (private.partner_id(), private.claim_token_hash(key ->> 'key_hash'), key ->> 'prefix', key ->> 'last4')
  on conflict (partner_id) where revoked_at is null do nothing
  returning * into minted;
  if minted.id is null then
    return null;
  end if;
  perform private.audit('partner.key_minted', minted.id, jsonb_build_object('rotated', rotate));
  return json_build_object('prefix', minted.prefix, 'last4', minted.last4, 'created_at', private.iso(minted.created_at));
end $$;
comment on function private.store_partner_key(jsonb, boolean) is
  'Stores a new key of the tenant: {key_hash, prefix, last4}. Null while one is active, unless rotate ends that one at once.';
grant execute on function private.store_partner_key(jsonb, boolean) to api_owner;

-- Scopes: what a client or a token may do. packages/shared/src/values/scopes.ts says what each of them grants; a test compares the two.

create function private.scopes_of(holder text) returns text[]
language sql immutable
set search_path = ''
as $$
  select case holder
    when 'client' then array['cpo:accounts:read', 'cpo:accounts:write', 'cpo:mandates:write', 'cpo:chargers:write', 'cpo:sessions:write']
    when 'personal_token' then own.data
    when 'user' then own.data || array['partners:read', 'partners:write'] end
    from (select array['chargers:read', 'chargers:write', 'sessions:read', 'energy:read', 'profile:read'] as data) own
$$;
comment on function private.scopes_of(text) is
  'The scopes that a CPO client (client), an application that acts for a person (user) or a personal_token may have, in the specification''s order.';
grant execute on function private.scopes_of(text) to api_owner;

create function private.read_scopes(scopes jsonb, holder text) returns text[]
language plpgsql immutable
set search_path = ''
as $$
declare
  wanted constant text[] := array(select jsonb_array_elements_text(scopes));
  known  constant text[] := private.scopes_of(holder);
begin
  if cardinality(wanted) = 0 or not wanted <@ known then
    perform private.refuse('unknown_scope', json_build_object('scopes', known));
  end if;
  return array(select s from unnest(known) s where s = any (wanted));
end $$;
comment on function private.read_scopes(jsonb, text) is 'A list of at least one scope of such a holder, each once, in the order of private.scopes_of.';

-- OAuth clients: of charge-point operators, which act for themselves, and applications, which act for people.

create table core.oauth_clients (
  id                uuid        not null default gen_random_uuid(),
  client_id         text        not null,
  partner_id        uuid,
  name              text        not null,
  grant_types       text[]      not null default '{client_credentials}',
  secret_hash       bytea       not null,
  secret_rotated_at timestamptz not null default private.now(),
  scopes            text[]      not null default '{}',
  return_url        text,
  tokens_valid_from timestamptz not null default '-infinity',
  disabled_at       timestamptz,
  created_at        timestamptz not null default private.now(),
  redirect_uris     text[]      not null default '{}',
  operated_by       text,
  constraint oauth_clients_pkey primary key (id),
  constraint oauth_clients_client_id_key unique (client_id),
  constraint oauth_clients_partner_key unique (partner_id, id),
  constraint oauth_clients_not_of_the_house check (partner_id <> '00000000-0000-4000-8000-000000000000'),
  constraint oauth_clients_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint oauth_clients_grant_types_known check (grant_types <@ '{client_credentials,authorization_code,refresh_token}'),
  constraint oauth_clients_scopes_known check (scopes <@ (private.scopes_of('client') || private.scopes_of('user'))),
  constraint oauth_clients_secret_is_sha256 check (length(secret_hash) = 32),
  constraint oauth_clients_return_url_length check (length(return_url) <= 500),
  constraint oauth_clients_operated_by_length check (length(operated_by) between 1 and 120)
);
comment on table core.oauth_clients is
  'A registered OAuth client. secret_hash is the SHA-256 of 32 random bytes; the secret is shown once and never stored. Never deleted: disabled.';
comment on column core.oauth_clients.partner_id is 'Null until the operator links the client; a client without partner is refused with client_not_linked.';
comment on column core.oauth_clients.tokens_valid_from is 'Access tokens issued earlier are refused: how an operator ends the tokens that were issued for a leaked secret.';
comment on column core.oauth_clients.redirect_uris is 'Compared letter for letter (RFC 9700 section 2.1).';
comment on column core.oauth_clients.operated_by is 'Who runs the application, as the consent page names them; null: the partner it belongs to.';
alter table core.oauth_clients enable row level security;
create policy "a client sees itself" on core.oauth_clients
  for select to api_owner using (id = (select private.client_id()));
grant select on core.oauth_clients to api_owner;

create function private.may_act_for_people(client core.oauth_clients) returns boolean
language plpgsql stable
set search_path = ''
as $$ begin return client.partner_id is null or private.active_partner(client.partner_id) is not null; end $$;
comment on function private.may_act_for_people(core.oauth_clients) is
  'Whether an application may get and use tokens of people: not one of a partner that was deactivated.';
grant execute on function private.may_act_for_people(core.oauth_clients) to api_owner;

create function private.client_by_client_id(client_id text) returns core.oauth_clients
language plpgsql stable security definer
set search_path = ''
as $$
declare
  client core.oauth_clients;
begin
  select * into client from core.oauth_clients c where c.client_id = client_by_client_id.client_id;
  return client;
end $$;
comment on function private.client_by_client_id(text) is
  'Looks a client up before its tenant is known; definer for that reason alone.';
grant execute on function private.client_by_client_id(text) to api_owner;

-- People: logins of Supabase Auth, and the partner that brought each of them.

create function private.user_profile(person uuid, out email text, out name text, out created_at timestamptz)
language sql stable security definer
set search_path = ''
as $$
  select u.email, coalesce(u.raw_user_meta_data ->> 'full_name', u.raw_user_meta_data ->> 'name'), u.created_at
    from auth.users u where u.id = person and u.deleted_at is null
$$;
comment on function private.user_profile(uuid) is
  'E-mail, name and age of a login, all null when it is gone. Definer, because logins belong to Supabase Auth; we keep no copy.';
grant execute on function private.user_profile(uuid) to api_owner;

create function private.login_stands(person uuid) returns boolean
language plpgsql stable security definer
set search_path = ''
as $$
begin
  return exists (select from auth.users u
                  where u.id = person and u.deleted_at is null and (u.banned_until is null or u.banned_until <= private.now()));
end $$;
comment on function private.login_stands(uuid) is
  'Whether a login is there and not banned: no credential of a person is worth more than that. Supabase Auth deletes by a mark alone where it is told so. Definer, because logins belong to it.';
grant execute on function private.login_stands(uuid) to api_owner;

create function private.signed_in_at(person uuid, session uuid) returns timestamptz
language plpgsql stable security definer
set search_path = ''
as $$
begin
  return (select s.created_at from auth.sessions s
           where s.id = session and s.user_id = person and (s.not_after is null or s.not_after > private.now()));
end $$;
comment on function private.signed_in_at(uuid, uuid) is
  'When a person signed in, or null where that session has ended: signing out deletes its row, while its JWT lives on for an hour. Definer, because sessions belong to Supabase Auth.';
grant execute on function private.signed_in_at(uuid, uuid) to api_owner;

create function private.login_at(address text) returns uuid
language sql stable security definer
set search_path = ''
as $$
  select u.id from auth.users u
   where u.email = address and not u.is_sso_user and u.email_confirmed_at is not null
     and private.login_stands(u.id)
$$;
comment on function private.login_at(text) is
  'The login that a code mailed to an address opens, or null. An unconfirmed login does not count: a stranger may have made it, with a password they know. Definer, because logins belong to Supabase Auth.';
grant execute on function private.login_at(text) to api_owner;

create table core.attributions (
  partner_id     uuid        not null,
  user_id        uuid        not null,
  source         text        not null,
  external_ref   text,
  attached_month date        not null,
  created_at     timestamptz not null default private.now(),
  constraint attributions_pkey primary key (partner_id, user_id),
  constraint attributions_user_id_key unique (user_id),
  constraint attributions_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint attributions_user_id_fkey foreign key (user_id) references auth.users (id) on delete cascade,
  constraint attributions_not_to_the_house check (partner_id <> '00000000-0000-4000-8000-000000000000'),
  constraint attributions_source_known
    check (source in ('partner_upload', 'partner_invite', 'referral_link', 'referral_code', 'oauth_consent', 'manual')),
  constraint attributions_attached_month_is_month check (attached_month = date_trunc('month', attached_month))
);
comment on table core.attributions is
  'Which partner brought a person: at most one, never overwritten. Only partner_upload and partner_invite disclose who it is. Ends with the login or when the person stops sharing.';
select private.isolate('core.attributions', 'select');
select private.keep_to_owner('core.attributions', 'user_id');
-- what a partner itself asked for, a reset or a withdrawal, it knows
create trigger tell_sharing_ended after delete on core.attributions for each row
  when (current_setting('app.caller_kind', true) is distinct from 'partner') execute function private.tell_sharing_ended();
-- serves: the customers of a partner, newest first
create index attributions_newest on core.attributions (partner_id, created_at desc, user_id desc);

create function private.claim_customer(person uuid, partner uuid, source text, external_ref text default null) returns text
language plpgsql security definer
set search_path = ''
as $$
begin
  insert into core.attributions (partner_id, user_id, source, external_ref, attached_month)
  select p.id, person, claim_customer.source, claim_customer.external_ref, date_trunc('month', private.today())::date
    from core.partners p where p.id = partner and p.is_active
  on conflict on constraint attributions_user_id_key do nothing;
  return case when found then 'new'
              when exists (select from core.attributions a where a.user_id = person and a.partner_id = partner) then 'own' end;
end $$;
comment on function private.claim_customer(uuid, uuid, text, text) is
  'Attributes a person to an active partner unless somebody has them already: new, own where that is this partner, else null. Definer, because it looks across tenants.';
grant execute on function private.claim_customer(uuid, uuid, text, text) to api_owner;

-- Rate limits: how many requests a subject may make in a window, refilled continuously.

create table core.rate_limits (
  bucket         text not null,
  quota          int  not null,
  window_seconds int  not null default 60,
  constraint rate_limits_pkey primary key (bucket),
  constraint rate_limits_positive check (quota > 0 and window_seconds > 0)
);
comment on table core.rate_limits is 'Requests a subject may make per window, refilled continuously. Changed by the operator.';
alter table core.rate_limits enable row level security;

insert into core.rate_limits (bucket, quota, window_seconds) values
  ('cpo_read',        300,     60),
  ('cpo_write',       120,     60),
  ('cpo_sessions',     60,     60),
  ('token',            60,     60),
  ('token_failures',   10,    300),
  ('page',             60,     60),
  ('user',             60,     60),
  ('partner_read',    120,     60),
  ('partner_write',    60,     60),
  ('partner_import',   10,     60),
  ('sandbox',          60,     60),
  -- ten codes at once, then one each 2.4 hours, five guesses a code: over the 14 days of a link a guess succeeds with less than 1 in 1,000
  ('mandate_code',     10,  86400),
  -- ten codes at once, then one each six hours, five guesses a code: over a draft's 60 days a guess succeeds with about 1 in 800
  ('claim_code',       10, 216000),
  -- Sign-ins on the consent page, counted before Supabase Auth is asked. A browser that signed in to the account before (OWASP: device
  -- cookies) is counted by sign_in, sign_in_day and sign_in_code of its own, and per account with such browsers alone: by nothing that
  -- strangers use up. All others: per account and address in five minutes and in a day, per account, and per address whatever the account.
  -- A hundred a day (NIST SP 800-63B section 5.2.2) are all the passwords that browsers new to an account try, from however many
  -- addresses, and twenty the codes they have mailed, of which one is guessed right in 10,000 days (five guesses each). One address gets
  -- half of either. So a stranger with one address locks nobody out. One with two can use up both, and then the owner gets in from a
  -- browser that was signed in before, and from a new one neither by password nor by code while the stranger goes on; after that within
  -- a quarter of an hour by password, and 72 minutes by code.
  ('sign_in',          10,    300),
  ('sign_in_day',      50,  86400),
  ('sign_in_account', 100,  86400),
  ('sign_in_address',  30,    300),
  ('sign_in_code',     10,  86400),
  ('sign_in_mail',     20,  86400),
  -- links a partner may have mailed to the customer of a draft in a day
  ('draft_mail',       10,  86400);

create table core.rate_limit_overrides (
  subject text not null,
  bucket  text not null,
  quota   int  not null,
  constraint rate_limit_overrides_pkey primary key (subject, bucket),
  constraint rate_limit_overrides_bucket_fkey foreign key (bucket) references core.rate_limits (bucket),
  constraint rate_limit_overrides_positive check (quota > 0)
);
comment on table core.rate_limit_overrides is 'A quota of one subject (client:<uuid>) that differs from the bucket''s.';
alter table core.rate_limit_overrides enable row level security;

-- Unlogged, because it is written on every request and may be lost in a crash.
create unlogged table core.rate_limit_state (
  subject    text        not null,
  bucket     text        not null,
  full_at    timestamptz not null,
  constraint rate_limit_state_pkey primary key (subject, bucket)
) with (fillfactor = 50);
comment on table core.rate_limit_state is
  'When a subject''s bucket is full again (the generic cell rate algorithm). Addresses appear hashed. Rows in the past are swept.';
-- No index has full_at in it: an update then stays on its page and leaves the primary key alone (HOT), and the sweep reads the
-- table, which holds those who called within their window.
alter table core.rate_limit_state enable row level security;

-- The generic cell rate algorithm: a bucket of so many requests a window is full again at some time; each request puts that off by a
-- step, and fits as long as it is no further off than the window. In whole microseconds; what every request runs is written in few
-- expressions, because each is prepared anew in every transaction.

create function private.step(quota int, window_seconds int) returns bigint
language sql immutable parallel safe
-- rounded down: rounded up, the last request of a quota would not fit into its window
return greatest(window_seconds * 1000000::bigint / quota, 1);
comment on function private.step(int, int) is 'Microseconds between two requests of who makes use of a whole quota.';
grant execute on function private.step(int, int) to api_owner;

create function private.rate_json(bucket text, quota int, window_seconds int, full_in bigint, allowed boolean) returns jsonb
language sql stable parallel safe
return jsonb_build_object('allowed', allowed, 'bucket', bucket, 'quota', quota, 'window', window_seconds, 'full_in', full_in);
comment on function private.rate_json(text, int, int, bigint, boolean) is
  'How a bucket stands that is full again in so many microseconds. What follows from it for the client, packages/shared/src/foundation/rate.ts works out: here it took 80 of the 1,700 thousand instructions of a token.';
grant execute on function private.rate_json(text, int, int, bigint, boolean) to api_owner;

create function private.standing(subject text, bucket text, out quota int, out window_seconds int, out full_in bigint, out fits boolean)
language plpgsql stable security definer
set search_path = ''
as $$
begin
  -- as sub-selects, which are looked up by their keys: joined, small tables are read whole and hashed
  select coalesce((select o.quota from core.rate_limit_overrides o where o.subject = standing.subject and o.bucket = l.bucket), l.quota),
         l.window_seconds,
         coalesce(greatest(extract(epoch from (
           select s.full_at from core.rate_limit_state s where s.subject = standing.subject and s.bucket = l.bucket) - private.now()) * 1000000, 0), 0)
    into strict standing.quota, standing.window_seconds, standing.full_in
    from core.rate_limits l
   where l.bucket = standing.bucket;
  fits := full_in + private.step(quota, window_seconds) <= window_seconds * 1000000::bigint;
end $$;
comment on function private.standing(text, text) is
  'A look at a subject''s bucket: its size, in how many microseconds it is full again, and whether one more request fits. Definer, because limits belong to no tenant.';
grant execute on function private.standing(text, text) to api_owner;

create function private.take(subject text, bucket text, quota int, window_seconds int) returns jsonb
language plpgsql security definer
set search_path = ''
as $$
declare
  at      constant timestamptz := private.now();
  step    constant interval := private.step(quota, window_seconds) * interval '1 microsecond';
  full_in bigint;
begin
  insert into core.rate_limit_state as s (subject, bucket, full_at)
  values (take.subject, take.bucket, at + step)
  on conflict on constraint rate_limit_state_pkey do update
     set full_at = greatest(s.full_at, at) + step
   where greatest(s.full_at, at) + step <= at + take.window_seconds * interval '1 second'
  returning extract(epoch from s.full_at - at) * 1000000 into full_in;
  if found then
    return private.rate_json(bucket, quota, window_seconds, full_in, true);
  end if;
  return private.rate_json(bucket, quota, window_seconds, (private.standing(subject, bucket)).full_in, false);
end $$;
comment on function private.take(text, text, int, int) is
  'Takes one request from a subject''s bucket of this size, if it fits, and says what is left. Definer, because limits belong to no tenant.';
grant execute on function private.take(text, text, int, int) to api_owner;

create function private.debit(subject text, bucket text) returns jsonb
language plpgsql security definer
set search_path = ''
as $$
declare
  policy record;
begin
  select coalesce((select o.quota from core.rate_limit_overrides o where o.subject = debit.subject and o.bucket = l.bucket), l.quota) as quota,
         l.window_seconds
    into strict policy
    from core.rate_limits l
   where l.bucket = debit.bucket;
  return private.take(subject, bucket, policy.quota, policy.window_seconds);
end $$;
comment on function private.debit(text, text) is 'Takes one request from a subject''s bucket, if it fits, and says what is left. Definer, because limits belong to no tenant.';
grant execute on function private.debit(text, text) to api_owner;

create function private.count_visit(request jsonb) returns void
language plpgsql
set search_path = ''
as $$
declare
  rate constant jsonb := private.debit('address:' || (request ->> 'address_hash'), 'page');
begin
  if not (rate ->> 'allowed')::boolean then
    perform private.refuse('too_many_requests', json_build_object('rate', rate));
  end if;
end $$;
comment on function private.count_visit(jsonb) is
  'Counts a visit to a page against the address it comes from, {address_hash}; too many are refused. What is refused after it has to be an answer, or the visit would not count.';
grant execute on function private.count_visit(jsonb) to api_owner;

create function private.sweep_rate_limits() returns bigint
language sql security definer
set search_path = ''
as $$
  -- what a request holds is in use, and not waited for
  with swept as (
    delete from core.rate_limit_state s
     where s.ctid = any (array(select f.ctid from core.rate_limit_state f where f.full_at < private.now() for update skip locked))
    returning 1)
  select count(*) from swept
$$;
comment on function private.sweep_rate_limits() is 'Deletes buckets that are full again: same as never used. Definer, because limits belong to no tenant.';
grant execute on function private.sweep_rate_limits() to api_owner;

-- Admission, within the statement that does the work: is the credential still good, may it do this, does the limit allow one more. The
-- limit is debited by charge(), last, so that its row is locked for a moment and not for as long as an import takes. What a ticket leaves
-- out admits nobody: every condition here must be true, and null is not.

create function private.turn_away(code text, detail json default '{}') returns void
language plpgsql
set search_path = ''
as $$
begin
  raise exception using errcode = 'RULE0', message = code, detail = detail::text;
end $$;
comment on function private.turn_away(text, json) is
  'Refuses to admit, before anything is done; packages/shared/src/http/admit.ts reads it. A refusal of the rules, private.refuse, costs the caller a request of its quota, this one does not.';
grant execute on function private.turn_away(text, json) to api_owner;

create function private.admit_cpo(credential jsonb, demand jsonb) returns jsonb
language plpgsql security definer
set search_path = ''
as $$
declare
  client record;
  scope  constant text := demand ->> 'scope';
begin
  -- as a sub-select, which is looked up by its key: joined, few partners are read whole and hashed
  select c.id, c.partner_id, c.scopes, (select p.is_active from core.partners p where p.id = c.partner_id) into client
    from core.oauth_clients c
   where c.client_id = credential ->> 'client_id' and c.disabled_at is null
     and to_timestamp((credential ->> 'issued_at')::bigint) >= c.tokens_valid_from
     and not exists (select from core.revoked_access_tokens r where r.id = credential ->> 'token_id');
  if not found then
    perform private.turn_away('missing_or_invalid_token');
  elsif demand ->> 'kind' is distinct from 'cpo' then
    perform private.turn_away('wrong_kind');
  elsif client.is_active is not true then
    perform private.turn_away('client_not_linked');
  elsif scope is not null and (scope = any (client.scopes) and credential -> 'scopes' ? scope) is not true then
    perform private.turn_away('insufficient_scope', json_build_object('required_scope', scope));
  end if;
  return jsonb_build_object(
    'caller', jsonb_build_object('kind', 'cpo', 'client_id', client.id, 'partner_id', client.partner_id),
    'subject', 'client:' || client.id);
end $$;
comment on function private.admit_cpo(jsonb, jsonb) is
  'A client-credentials token, its signature already verified. A scope holds only while token and client both have it. Definer, as all of admission: there is no tenant yet.';

create function private.user_scopes(credential jsonb, out user_id uuid, out client_id uuid, out scopes text[])
language plpgsql stable security definer
set search_path = ''
as $$
begin
  if credential ->> 'kind' = 'personal_token' then
    select t.user_id, t.scopes into user_scopes.user_id, user_scopes.scopes
      from core.personal_tokens t
     where t.token_hash = decode(credential ->> 'token_hash', 'hex')
       and t.revoked_at is null and (t.expires_at is null or t.expires_at > private.now());
  else
    select g.user_id, c.id, array(select unnest(c.scopes) intersect select jsonb_array_elements_text(credential -> 'scopes'))
      into user_scopes.user_id, user_scopes.client_id, user_scopes.scopes
      from core.oauth_grants g
      join core.oauth_clients c on c.id = g.client_id
     where g.id = (credential ->> 'grant_id')::uuid and g.revoked_at is null
       and g.user_id = (credential ->> 'user_id')::uuid and c.client_id = credential ->> 'client_id'
       and c.disabled_at is null and private.may_act_for_people(c) and to_timestamp((credential ->> 'issued_at')::bigint) >= c.tokens_valid_from
       and not exists (select from core.revoked_access_tokens r where r.id = credential ->> 'token_id');
  end if;
end $$;
comment on function private.user_scopes(jsonb) is
  'Whose token this is and what it may do, all null when it is no longer good. A scope holds only while token and client both have it. Definer, as all of admission.';

create function private.admit_user(credential jsonb, demand jsonb) returns jsonb
language plpgsql security definer
set search_path = ''
as $$
declare
  person  record;
  partner uuid;
  caller  jsonb;
begin
  select * into person from private.user_scopes(credential);
  if person.user_id is null or not private.login_stands(person.user_id) then
    perform private.turn_away('missing_or_invalid_token');
  elsif (demand ->> 'kind' in ('user', 'partner')) is not true then
    perform private.turn_away('wrong_kind');
  elsif ((demand ->> 'scope') = any (person.scopes)) is not true then
    perform private.turn_away('insufficient_scope', json_build_object('required_scope', demand ->> 'scope'));
  elsif demand ->> 'kind' = 'partner' then
    partner := private.managed_partner(person.user_id);
    if partner is null then
      perform private.turn_away('no_partner_linked');
    end if;
    -- manager_id says that a person asks, for whom customers are pseudonymised
    caller := jsonb_build_object('kind', 'partner', 'partner_id', partner, 'manager_id', person.user_id, 'client_id', person.client_id);
  else
    caller := jsonb_build_object('kind', 'user', 'user_id', person.user_id, 'client_id', person.client_id, 'partner_id', private.house());
  end if;
  return jsonb_build_object(
    'caller', caller,
    -- limits are kept per client and person, or per person for their own tokens
    'subject', 'user:' || person.user_id || coalesce(':' || person.client_id, ''),
    'token_hash', credential -> 'token_hash');
end $$;
comment on function private.admit_user(jsonb, jsonb) is
  'A personal token, or the access token of an application acting for a person, who may manage a partner: with partners:* it then acts for that. Definer, as all of admission.';

create function private.admit_sign_in_session(credential jsonb, demand jsonb) returns jsonb
language plpgsql security definer
set search_path = ''
as $$
declare
  person constant uuid := (credential ->> 'user_id')::uuid;
  began  constant timestamptz := private.signed_in_at(person, private.as_uuid(credential ->> 'session_id'));
begin
  if began is null or not private.login_stands(person) then
    perform private.turn_away('missing_or_invalid_token');
  elsif demand ->> 'kind' is distinct from 'session' then
    perform private.turn_away('wrong_kind');
  end if;
  return jsonb_build_object(
    'caller', jsonb_build_object('kind', 'session', 'user_id', person, 'partner_id', private.house(), 'signed_in_at', began),
    'subject', 'user:' || person);
end $$;
comment on function private.admit_sign_in_session(jsonb, jsonb) is 'A person signed in with Supabase Auth, its session JWT already verified: {user_id, session_id}. Signing out ends it at once. Definer, as all of admission.';

create function private.admit_partner_key(credential jsonb, demand jsonb) returns jsonb
language plpgsql security definer
set search_path = ''
as $$
declare
  holder record;
begin
  select * into holder from private.key_holder(credential);
  if holder.partner_id is null then
    perform private.turn_away('missing_or_invalid_token');
  elsif (demand ->> 'kind' in ('partner', 'sandbox')) is not true then
    perform private.turn_away('wrong_kind');
  elsif (demand ->> 'key')::boolean is not true then
    perform private.turn_away('insufficient_scope', json_build_object('required_scope', demand ->> 'scope'));
  elsif holder.partner_active is not true then
    perform private.turn_away('no_partner_linked');
  end if;
  return jsonb_build_object(
    'caller', jsonb_build_object('kind', 'partner', 'partner_id', holder.partner_id),
    'subject', 'partner:' || holder.partner_id,
    'key_hash', credential -> 'key_hash');
end $$;
comment on function private.admit_partner_key(jsonb, jsonb) is 'A partner API key: {key_hash, key_host, host}. Routes that need a managing person refuse it. Definer, as all of admission.';

create function private.admit(ticket jsonb) returns jsonb
language plpgsql security definer
set search_path = ''
as $$
declare
  credential constant jsonb := ticket -> 'credential';
  demand     constant jsonb := ticket -> 'demand';
  admitted   jsonb;
  standing   record;
begin
  if ticket ->> 'host' is distinct from (select d.host from core.deployment d) then
    perform private.require_host(ticket ->> 'host');
  end if;
  admitted := case credential ->> 'kind'
    when 'cpo' then private.admit_cpo(credential, demand)
    when 'user' then private.admit_user(credential, demand)
    when 'personal_token' then private.admit_user(credential, demand)
    when 'session' then private.admit_sign_in_session(credential, demand)
    when 'page_session' then private.admit_page_session(credential, demand)
    when 'partner_key' then private.admit_partner_key(credential, demand)
  end;
  if admitted is null then
    perform private.turn_away('missing_or_invalid_token');
  end if;
  if ticket ->> 'tenant' <> admitted #>> '{caller,partner_id}' then
    perform private.turn_away('tenant_changed');
  end if;
  -- a look, so that who is over the limit is refused before the work; that the request fits is for charge() to decide
  standing := private.standing(admitted ->> 'subject', demand ->> 'bucket');
  if not standing.fits then
    perform private.turn_away('too_many_requests', json_build_object('rate',
      private.rate_json(demand ->> 'bucket', standing.quota, standing.window_seconds, standing.full_in, false)));
  end if;
  admitted := set_config('app.admission', (admitted || jsonb_build_object(
    'bucket', demand -> 'bucket', 'quota', standing.quota, 'window_seconds', standing.window_seconds))::text, true);
  return admitted -> 'caller';
end $$;
comment on function private.admit(jsonb) is
  'The caller of a ticket {credential: {kind, …}, demand: {kind, scope, key, bucket}, tenant}: credential still good, of the kind wanted, partner active, scope held, limit not spent, in that order. '
  'What charge() needs stays behind in app.admission. wrong_kind is a good credential of another kind, for which admit.ts has the refusal; tenant_changed one of another partner than the request was made up for. Definer, because there is no tenant yet.';
grant execute on function private.admit(jsonb) to api_owner;

create function private.note_use(key_hash bytea, token_hash bytea) returns void
language plpgsql security definer
set search_path = ''
as $$
begin
  -- to the minute is enough to show, and saves a write on most requests
  update core.partner_keys k set last_used_at = private.now()
   where k.key_hash = note_use.key_hash and (k.last_used_at is null or k.last_used_at < private.now() - interval '1 minute');
  update core.personal_tokens t set last_used_at = private.now()
   where t.token_hash = note_use.token_hash and (t.last_used_at is null or t.last_used_at < private.now() - interval '1 minute');
end $$;
comment on function private.note_use(bytea, bytea) is 'Notes when a partner key or a personal token was last used. Definer, because admission by itself sets no tenant.';
grant execute on function private.note_use(bytea, bytea) to api_owner;

create function api.charge() returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  admitted constant jsonb := current_setting('app.admission');
  rate     jsonb;
begin
  if coalesce(admitted ->> 'key_hash', admitted ->> 'token_hash') is not null then
    perform private.note_use(decode(admitted ->> 'key_hash', 'hex'), decode(admitted ->> 'token_hash', 'hex'));
  end if;
  -- the last lock of all: who holds a limit's row waits for nothing more, so that nobody waits for each other
  rate := private.take(admitted ->> 'subject', admitted ->> 'bucket', (admitted ->> 'quota')::int, (admitted ->> 'window_seconds')::int);
  if not (rate ->> 'allowed')::boolean then
    perform private.turn_away('too_many_requests', json_build_object('rate', rate));
  end if;
  return json_build_object('caller', admitted -> 'caller', 'rate', rate);
end $$;
comment on function api.charge() is
  'The end of every statement that began with a ticket: notes that the credential was used and debits its limit, {caller, rate}. Of requests that run at the same time as the last one of a quota, all but one end here, and what they did is undone.';
select private.expose('api.charge()');

create function api.admit(ticket jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.admit(ticket);
  return api.charge();
end $$;
comment on function api.admit(jsonb) is
  'Admission by itself, for a request that does nothing else in the database, or that was refused there: a ticket to {caller, rate}.';
select private.expose('api.admit(jsonb)');

-- What an application holds of a person: grants, the codes and refresh tokens of each, and access tokens revoked before their end.

create table core.oauth_grants (
  id         uuid        not null default gen_random_uuid(),
  user_id    uuid        not null,
  client_id  uuid        not null,
  scopes     text[]      not null,
  created_at timestamptz not null default private.now(),
  revoked_at timestamptz,
  constraint oauth_grants_pkey primary key (id),
  constraint oauth_grants_user_id_fkey foreign key (user_id) references auth.users (id) on delete cascade,
  constraint oauth_grants_client_id_fkey foreign key (client_id) references core.oauth_clients (id)
);
comment on table core.oauth_grants is
  'What one authorization code began: every access and refresh token that came of it belongs to it. Revoking it ends them all at once.';
-- serves: the applications of a person
create index oauth_grants_user on core.oauth_grants (user_id, created_at);
-- serves: the purge
create index oauth_grants_created_at on core.oauth_grants (created_at);
alter table core.oauth_grants enable row level security;
create policy "a person sees their own grants" on core.oauth_grants for select to api_owner using (user_id = (select private.user_id()));
grant select on core.oauth_grants to api_owner;

create table core.oauth_codes (
  code_hash      bytea       not null,
  grant_id       uuid        not null,
  redirect_uri   text        not null,
  code_challenge text        not null,
  expires_at     timestamptz not null,
  used_at        timestamptz,
  constraint oauth_codes_pkey primary key (code_hash),
  constraint oauth_codes_grant_id_fkey foreign key (grant_id) references core.oauth_grants (id) on delete cascade
);
comment on table core.oauth_codes is
  'An authorization code as its SHA-256: ten minutes, single use, bound to client, redirect URI and PKCE challenge. Kept after use, to notice a second one; purged after a day.';
-- serves: the purge of grants
create index oauth_codes_grant_id on core.oauth_codes (grant_id);
-- serves: the purge of codes
create index oauth_codes_expires_at on core.oauth_codes (expires_at);
alter table core.oauth_codes enable row level security;

create table core.oauth_refresh_tokens (
  token_hash  bytea       not null,
  grant_id    uuid        not null,
  generation  int         not null,
  expires_at  timestamptz not null,
  rotated_at  timestamptz,
  created_at  timestamptz not null default private.now(),
  constraint oauth_refresh_tokens_pkey primary key (token_hash),
  constraint oauth_refresh_tokens_generation_key unique (grant_id, generation),
  constraint oauth_refresh_tokens_grant_id_fkey foreign key (grant_id) references core.oauth_grants (id) on delete cascade
);
comment on table core.oauth_refresh_tokens is
  'A refresh token as its SHA-256: thirty days, one successor. Kept after rotation, to notice reuse; purged when expired.';
-- serves: the purge
create index oauth_refresh_tokens_expires_at on core.oauth_refresh_tokens (expires_at);
alter table core.oauth_refresh_tokens enable row level security;

create table core.revoked_access_tokens (
  id         text        not null,
  expires_at timestamptz not null,
  constraint revoked_access_tokens_pkey primary key (id)
);
comment on table core.revoked_access_tokens is 'Access tokens (jti) revoked on their own before their hour was over; purged when it is.';
-- serves: the purge
create index revoked_access_tokens_expires_at on core.revoked_access_tokens (expires_at);
alter table core.revoked_access_tokens enable row level security;

create function private.end_grant(grant_id uuid, reason text) returns boolean
language plpgsql
set search_path = ''
as $$
begin
  update core.oauth_grants g set revoked_at = private.now() where g.id = grant_id and g.revoked_at is null;
  if not found then
    return false;
  end if;
  perform private.audit('oauth.grant_ended', grant_id, jsonb_build_object('reason', reason));
  return true;
end $$;
comment on function private.end_grant(uuid, text) is 'Ends every token of a grant at once; says whether it was still live.';

create function private.is_live(oauth_grant core.oauth_grants) returns boolean
language sql stable
set search_path = ''
as $$ select oauth_grant.revoked_at is null and private.login_stands(oauth_grant.user_id) $$;
comment on function private.is_live(core.oauth_grants) is
  'Whether a grant may still give tokens: not revoked, and its login neither deleted nor banned.';

create function private.is_race(used_at timestamptz) returns boolean
language sql stable
set search_path = ''
as $$ select used_at >= private.now() - interval '30 seconds' $$;
comment on function private.is_race(timestamptz) is
  'Whether a second use came so soon after the first (30 seconds) that it is taken for a lost answer or for parallel requests, and not for a theft.';

create function private.add_refresh_token(grant_id uuid, generation int, request jsonb) returns void
language sql
set search_path = ''
as $$
  insert into core.oauth_refresh_tokens (token_hash, grant_id, generation, expires_at)
  values (private.claim_token_hash(request ->> 'new_refresh_hash'), grant_id, generation, private.now() + interval '30 days')
$$;

create function private.purge_oauth() returns bigint
language plpgsql security definer
set search_path = ''
as $$
declare
  purged bigint := 0;
  counted bigint;
begin
  delete from core.revoked_access_tokens r where r.expires_at < private.now();
  get diagnostics counted = row_count;
  purged := purged + counted;
  delete from core.oauth_codes c where c.expires_at < private.now() - interval '1 day';
  get diagnostics counted = row_count;
  purged := purged + counted;
  delete from core.oauth_refresh_tokens t where t.expires_at < private.now();
  get diagnostics counted = row_count;
  purged := purged + counted;
  delete from core.sign_in_codes c where c.expires_at < private.now();
  get diagnostics counted = row_count;
  purged := purged + counted;
  delete from core.page_sessions s where s.expires_at < private.now();
  get diagnostics counted = row_count;
  purged := purged + counted;
  -- without a code or a refresh token a grant has given its last access token more than an hour ago
  delete from core.oauth_grants g
   where g.created_at < private.now() - interval '1 day'
     and not exists (select from core.oauth_codes c where c.grant_id = g.id)
     and not exists (select from core.oauth_refresh_tokens t where t.grant_id = g.id);
  get diagnostics counted = row_count;
  return purged + counted;
end $$;
comment on function private.purge_oauth() is
  'Deletes codes, refresh tokens, revocations, grants, sign-in codes and page sessions that no longer decide anything. Definer: everybody''s at once.';
grant execute on function private.purge_oauth() to api_owner;

-- The client-credentials grant (RFC 6749 section 4.4), and the authentication of a client that every token request begins with.

create function private.authenticate_client(
  request jsonb, grant_type text, out client core.oauth_clients, out rate jsonb, out refusal json)
language plpgsql security definer
set search_path = ''
as $$
declare
  subject  text;
  failures text;
  failed   record;
  policy   record;
begin
  -- one table a query: these four are prepared and run in two thirds of the time of one that joins them
  select * into client from core.oauth_clients c where c.client_id = left(request ->> 'client_id', 200);
  -- an unknown client_id shares one subject an address, so that guessing names does not grow the table
  subject := coalesce('client:' || client.id, 'unknown');
  failures := subject || '@' || (request ->> 'address_hash');
  if exists (select from core.rate_limit_state s where s.subject = failures and s.bucket = 'token_failures') then
    failed := private.standing(failures, 'token_failures');
    if not failed.fits then
      rate := private.rate_json('token_failures', failed.quota, failed.window_seconds, failed.full_in, false);
      refusal := private.refusal('too_many_requests', json_build_object('rate', rate));
      return;
    end if;
  end if;
  if client.id is null or client.disabled_at is not null or client.secret_hash is distinct from decode(request ->> 'secret_hash', 'hex') then
    rate := private.debit(failures, 'token_failures');
    -- parallel guesses all passed the check above; only as many as the limit allows learn whether they were right
    refusal := private.refusal(case when (rate ->> 'allowed')::boolean then 'invalid_client' else 'too_many_requests' end,
                               json_build_object('rate', rate));
    return;
  end if;
  -- only the client itself spends its own requests: a stranger who knows its name cannot lock it out
  rate := private.debit(subject, 'token');
  if not (rate ->> 'allowed')::boolean then
    refusal := private.refusal('too_many_requests', json_build_object('rate', rate));
  elsif not coalesce(grant_type, client.grant_types[1]) = any (client.grant_types)
        or grant_type in ('authorization_code', 'refresh_token') and not private.may_act_for_people(client) then
    refusal := private.refusal('unauthorized_client', json_build_object('rate', rate));
  end if;
end $$;
comment on function private.authenticate_client(jsonb, text) is
  'The client of {client_id, secret_hash, address_hash} when its secret is right and it has the grant type (null: any); else a refusal. '
  'A refusal is an answer, because a failed attempt must be counted. Definer: it runs before there is a client.';
grant execute on function private.authenticate_client(jsonb, text) to api_owner;

create function api.grant_client_credentials(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  door   record;
  held   text[];
  wanted text[];
begin
  perform private.act_as(caller, 'anyone');
  door := private.authenticate_client(request, 'client_credentials');
  if door.refusal is not null then
    return door.refusal;
  end if;
  held := (door.client).scopes;
  wanted := array_remove(string_to_array(request ->> 'scope', ' '), '');
  if not wanted <@ held then
    return private.refusal('invalid_scope', json_build_object('rate', door.rate));
  elsif wanted <> '{}' then
    held := array(select s from unnest(held) s where s = any (wanted));
  end if;
  return json_build_object('client_id', (door.client).client_id, 'scope', array_to_string(held, ' '), 'rate', door.rate);
end $$;
comment on function api.grant_client_credentials(jsonb, jsonb) is
  'Authenticates a client for the client-credentials grant (RFC 6749 section 4.4): {client_id, secret_hash, scope, address_hash} to {client_id, scope, rate}. '
  'Refusals are answers, because a failed attempt must be counted.';
select private.expose('api.grant_client_credentials(jsonb, jsonb)');

-- A person allows an application: consents, authorization codes (RFC 6749 section 4.1, RFC 7636).

create table core.oauth_consents (
  user_id      uuid        not null,
  client_id    uuid        not null,
  scopes       text[]      not null,
  first_at     timestamptz not null default private.now(),
  last_at      timestamptz not null default private.now(),
  withdrawn_at timestamptz,
  constraint oauth_consents_pkey primary key (user_id, client_id),
  constraint oauth_consents_user_id_fkey foreign key (user_id) references auth.users (id) on delete cascade,
  constraint oauth_consents_client_id_fkey foreign key (client_id) references core.oauth_clients (id)
);
comment on table core.oauth_consents is
  'What a person allowed an application: scopes as of the last time. Stays when withdrawn, so that a first consent happens once. Ends with the login.';
alter table core.oauth_consents enable row level security;
-- serves: how many people use an application
create index oauth_consents_client_id on core.oauth_consents (client_id);

create function private.scope_words(scope text) returns text[]
language sql immutable
set search_path = ''
as $$ select array(select distinct s.word from string_to_table(scope, ' ') as s (word) where s.word <> '') $$;
grant execute on function private.scope_words(text) to api_owner;

create function private.check_authorization(
  request jsonb, out client core.oauth_clients, out scopes text[], out refusal text)
language plpgsql stable
set search_path = ''
as $$
declare
  wanted constant text[] := private.scope_words(request ->> 'scope');
begin
  client := private.client_by_client_id(left(request ->> 'client_id', 200));
  scopes := array(select s from unnest(private.scopes_of('user')) s where s = any (wanted) and s = any (client.scopes));
  refusal := case
    when client.id is null or client.disabled_at is not null then 'invalid_client'
    when not (request ->> 'redirect_uri') = any (client.redirect_uris) then 'invalid_redirect_uri'
    when not 'authorization_code' = any (client.grant_types) or not private.may_act_for_people(client) then 'unauthorized_client'
    when wanted = '{}' or not wanted <@ scopes then 'invalid_scope'
  end;
end $$;
comment on function private.check_authorization(jsonb) is
  'The client and scopes of {client_id, redirect_uri, scope}, or why not, in the order in which an answer may be given: without client and redirect URI, never by redirect.';
grant execute on function private.check_authorization(jsonb) to api_owner;

create function private.consent(person uuid, client core.oauth_clients, scopes text[], request jsonb) returns void
language plpgsql security definer
set search_path = ''
as $$
declare
  grant_id uuid;
begin
  insert into core.oauth_consents (user_id, client_id, scopes) values (person, client.id, scopes)
  on conflict on constraint oauth_consents_pkey do nothing;
  if not found then
    update core.oauth_consents c set scopes = consent.scopes, last_at = private.now(), withdrawn_at = null
     where c.user_id = person and c.client_id = consent.client.id;
  -- the first consent, and only that, may attribute (specification section 4.5)
  elsif client.partner_id is not null
        and (private.user_profile(person)).created_at >= private.now() - interval '7 days'
        and private.claim_customer(person, client.partner_id, 'oauth_consent') = 'new' then
    perform private.audit('user.attributed', person, jsonb_build_object('source', 'oauth_consent', 'to', client.partner_id));
  end if;

  insert into core.oauth_grants (user_id, client_id, scopes) values (person, client.id, scopes) returning id into grant_id;
  insert into core.oauth_codes (code_hash, grant_id, redirect_uri, code_challenge, expires_at)
  values (private.claim_token_hash(request ->> 'code_hash'), grant_id, request ->> 'redirect_uri', request ->> 'code_challenge',
          private.now() + interval '10 minutes');
  perform private.audit('oauth.consented', grant_id, jsonb_build_object('client_id', client.client_id, 'scopes', scopes));
end $$;
comment on function private.consent(uuid, core.oauth_clients, text[], jsonb) is
  'Records a person''s consent, attributes them on the first one, and begins a grant with its code. Definer: no caller may read consents, grants and codes.';
grant execute on function private.consent(uuid, core.oauth_clients, text[], jsonb) to api_owner;

create function api.issue_authorization_code(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  checked record;
begin
  perform private.act_as(caller, 'session');
  select * into checked from private.check_authorization(request);
  if checked.refusal is not null then
    perform private.refuse(checked.refusal);
  end if;
  perform private.consent(private.user_id(), checked.client, checked.scopes, request);
  return json_build_object('scope', array_to_string(checked.scopes, ' '));
end $$;
comment on function api.issue_authorization_code(jsonb, jsonb) is
  'The person allows it: {client_id, redirect_uri, scope, code_challenge, code_hash} to {scope}. The code lives ten minutes.';
select private.expose('api.issue_authorization_code(jsonb, jsonb)');

create function api.describe_authorization(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  checked record;
begin
  perform private.act_as(caller, 'anyone');
  perform private.count_visit(request);
  select * into checked from private.check_authorization(request);
  if checked.refusal is not null then
    return private.refusal(checked.refusal);
  end if;
  perform private.act_for_partner((checked.client).partner_id);
  return json_build_object(
    'name', (checked.client).name,
    'operated_by', coalesce((checked.client).operated_by, (select p.name from core.partners p where p.id = private.partner_id())),
    'scopes', checked.scopes);
end $$;
comment on function api.describe_authorization(jsonb, jsonb) is
  'What the consent page shows of {client_id, redirect_uri, scope, address_hash}: {name, operated_by, scopes}. Refusals are answers, because a visit must be counted.';
select private.expose('api.describe_authorization(jsonb, jsonb)');

-- Signing in on the consent page: counted before Supabase Auth is asked, and one-time codes by mail.

create table core.sign_in_codes (
  token_hash bytea       not null,
  code_hash  bytea       not null,
  email      text        not null,
  attempts   int         not null default 0,
  expires_at timestamptz not null,
  used_at    timestamptz,
  constraint sign_in_codes_pkey primary key (token_hash)
);
comment on table core.sign_in_codes is
  'One-time codes of people who sign in by mail: good for ten minutes, five attempts and the one browser that asked. token_hash is the SHA-256 of 256 random bits in its cookie, '
  'code_hash of the code with them. An address without a login has rows too, so that nobody can tell which addresses have one. Personal data; ends with its second use or the next clean-up.';
-- serves: the clean-up
create index sign_in_codes_expiry on core.sign_in_codes (expires_at);
alter table core.sign_in_codes enable row level security;

create function private.count_sign_in(attempt jsonb, buckets text[], account_bucket text) returns jsonb
language plpgsql
set search_path = ''
as $$
declare
  login  constant text := 'login:' || (attempt ->> 'email_hash');
  device constant text := 'device:' || (attempt ->> 'device_hash');
  place  constant text := coalesce(device, 'address:' || (attempt ->> 'address_hash'));
  bucket text;
  rate   jsonb;
begin
  if device is null then
    rate := private.debit(place, 'sign_in_address');
    if not (rate ->> 'allowed')::boolean then
      return rate;
    end if;
  end if;
  foreach bucket in array buckets loop
    rate := private.debit(login || '@' || place, bucket);
    if not (rate ->> 'allowed')::boolean then
      return rate;
    end if;
  end loop;
  -- what strangers used up is not the owner's: browsers that signed in to this account before are counted apart from them. Together too,
  -- for whoever got in once may have signed in from as many as they liked
  return private.debit(case when device is null then login else login || '@devices' end, account_bucket);
end $$;
comment on function private.count_sign_in(jsonb, text[], text) is
  'Counts an attempt {email_hash, address_hash, device_hash} where it comes from, and against the account: one count for browsers that signed in to it before, which device_hash names, one for all others. What was counted before a refusal stays, so the refusal has to be an answer.';
grant execute on function private.count_sign_in(jsonb, text[], text) to api_owner;

create function private.keep_sign_in_code(request jsonb) returns void
language sql security definer
set search_path = ''
as $$
  insert into core.sign_in_codes (token_hash, code_hash, email, expires_at)
  values (private.claim_token_hash(request ->> 'token_hash'), decode(request ->> 'code_hash', 'hex'), request ->> 'email', private.code_expiry())
$$;
comment on function private.keep_sign_in_code(jsonb) is 'Definer: no caller may read codes.';
grant execute on function private.keep_sign_in_code(jsonb) to api_owner;

create function private.redeem_sign_in_code(request jsonb, out refused text, out email text)
language plpgsql security definer
set search_path = ''
as $$
declare
  presented constant bytea := decode(request ->> 'token_hash', 'hex');
  code      core.sign_in_codes;
begin
  -- of ten at once, eight wait here and then see no code
  select * into code from core.sign_in_codes c where c.token_hash = presented for update;
  refused := coalesce(private.judge_code(code.code_hash, code.expires_at, code.attempts, request ->> 'code_hash'),
                      case when private.login_at(code.email) is null then 'wrong_code' end);
  if refused = 'wrong_code' then
    update core.sign_in_codes c set attempts = c.attempts + 1 where c.token_hash = presented;
  elsif refused is null then
    if code.used_at is null then
      -- for a second click: the answer to the first never reached the browser
      update core.sign_in_codes c set used_at = private.now(), expires_at = least(c.expires_at, private.now() + interval '10 seconds')
       where c.token_hash = presented;
    else
      delete from core.sign_in_codes c where c.token_hash = presented;
    end if;
    email := code.email;
  end if;
end $$;
comment on function private.redeem_sign_in_code(jsonb) is
  'Uses a code, once and for a second click, or says why not; a wrong one is counted, and where there is no login every one is wrong. Definer: no caller may read codes.';
grant execute on function private.redeem_sign_in_code(jsonb) to api_owner;

create function api.count_sign_in(caller jsonb, attempt jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  rate jsonb;
begin
  perform private.act_as(caller, 'anyone');
  rate := private.count_sign_in(attempt, array['sign_in', 'sign_in_day'], 'sign_in_account');
  if not (rate ->> 'allowed')::boolean then
    return private.refusal('too_many_requests', json_build_object('rate', rate));
  end if;
  return json_build_object('rate', rate);
end $$;
comment on function api.count_sign_in(jsonb, jsonb) is
  'Counts a sign-in before it is tried, so that guesses sent at once count too: {address_hash, email_hash, device_hash} to {rate}.';
select private.expose('api.count_sign_in(jsonb, jsonb)');

create function api.send_sign_in_code(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  rate jsonb;
begin
  perform private.act_as(caller, 'anyone');
  rate := private.count_sign_in(request, array['sign_in_code'], 'sign_in_mail');
  if not (rate ->> 'allowed')::boolean then
    return private.refusal('too_many_codes', json_build_object('rate', rate));  -- what was counted stays
  end if;
  perform private.keep_sign_in_code(request);
  perform private.act_for_partner(private.house());
  -- the same rows either way: how long the answer takes must not tell whether there is a login
  perform private.enqueue_mail(request -> 'mail', request ->> 'email', 'sign_in_code:' || (request ->> 'token_hash'),
                               to_nobody => private.login_at(request ->> 'email') is null);
  return json_build_object('ok', true);
end $$;
comment on function api.send_sign_in_code(jsonb, jsonb) is
  'Mails a one-time code, good for ten minutes and five attempts, where the address has a login, and answers alike where it has none: '
  '{address_hash, email_hash, device_hash, email, token_hash, code_hash, mail}.';
select private.expose('api.send_sign_in_code(jsonb, jsonb)');

create function api.redeem_sign_in_code(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  redeemed record;
begin
  perform private.act_as(caller, 'anyone');
  select * into redeemed from private.redeem_sign_in_code(request);
  if redeemed.refused is not null then
    return private.refusal(redeemed.refused);  -- a wrong code was counted
  end if;
  return json_build_object('email', redeemed.email);
end $$;
comment on function api.redeem_sign_in_code(jsonb, jsonb) is
  'Uses a one-time code: {token_hash, code_hash} to {email}. Whose e-mail it is may sign in.';
select private.expose('api.redeem_sign_in_code(jsonb, jsonb)');

-- Browsers in which a person is signed in to their own pages: longer than a session JWT lasts, and no longer than the session it came of.

create table core.page_sessions (
  token_hash         bytea       not null,
  user_id            uuid        not null,
  sign_in_session_id uuid        not null,
  created_at         timestamptz not null default private.now(),
  expires_at         timestamptz not null default private.now() + interval '12 hours',
  constraint page_sessions_pkey primary key (token_hash),
  constraint page_sessions_user_id_fkey foreign key (user_id) references auth.users (id) on delete cascade
);
comment on table core.page_sessions is
  'A browser in which a person is signed in to their pages, by the SHA-256 of its cookie: twelve hours, and only while the session of Supabase Auth that it came of is there, so that signing out everywhere, a new password and a ban end it too. Ends by signing out, or with the next clean-up.';
comment on column core.page_sessions.sign_in_session_id is 'The row of auth.sessions; no foreign key, because Supabase Auth deletes its rows as it likes.';
-- serves: the clean-up
create index page_sessions_expiry on core.page_sessions (expires_at);
-- serves: the deletion of a login
create index page_sessions_user on core.page_sessions (user_id);
alter table core.page_sessions enable row level security;
create policy "a person reaches their own browsers" on core.page_sessions to api_owner
  using (user_id = (select private.user_id())) with check (user_id = (select private.user_id()));
grant select, insert, delete on core.page_sessions to api_owner;

create function private.admit_page_session(credential jsonb, demand jsonb) returns jsonb
language plpgsql security definer
set search_path = ''
as $$
declare
  person uuid;
  began  timestamptz;
begin
  select s.user_id, private.signed_in_at(s.user_id, s.sign_in_session_id) into person, began
    from core.page_sessions s
   where s.token_hash = decode(credential ->> 'token_hash', 'hex') and s.expires_at > private.now();
  if began is null or not private.login_stands(person) then
    perform private.turn_away('missing_or_invalid_token');
  elsif demand ->> 'kind' is distinct from 'session' then
    perform private.turn_away('wrong_kind');
  end if;
  return jsonb_build_object(
    'caller', jsonb_build_object('kind', 'session', 'user_id', person, 'partner_id', private.house(), 'signed_in_at', began),
    'subject', 'user:' || person);
end $$;
comment on function private.admit_page_session(jsonb, jsonb) is
  'A browser in which a person is signed in to their pages: {token_hash}. As good as the session of Supabase Auth that it came of, and no better. Definer, as all of admission.';

create function api.begin_page_session(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'session');
  insert into core.page_sessions (token_hash, user_id, sign_in_session_id)
  values (private.claim_token_hash(request ->> 'token_hash'), private.user_id(), (request ->> 'sign_in_session_id')::uuid);
  return json_build_object('ok', true);
end $$;
comment on function api.begin_page_session(jsonb, jsonb) is
  'Who has just signed in goes to their pages: {token_hash, sign_in_session_id}. The id is that of the session JWT by which they were admitted.';
select private.expose('api.begin_page_session(jsonb, jsonb)');

create function api.end_page_session(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'session');
  delete from core.page_sessions s where s.user_id = private.user_id() and s.token_hash = decode(request ->> 'token_hash', 'hex');
  return json_build_object('draft_ids', private.own_drafts());
end $$;
comment on function api.end_page_session(jsonb, jsonb) is
  'Signs a browser out: {token_hash} to {draft_ids}, the claims of the person that the browser may have been led to.';
select private.expose('api.end_page_session(jsonb, jsonb)');

-- The tokens of an application: a code or a refresh token for an access token, and revocation (RFC 6749, 7009, 9700).

create function private.redeem_code(
  client core.oauth_clients, request jsonb, out oauth_grant core.oauth_grants, out scopes text[], out refusal text)
language plpgsql security definer
set search_path = ''
as $$
declare
  presented constant bytea := decode(request ->> 'code_hash', 'hex');
  code      core.oauth_codes;
begin
  refusal := 'invalid_grant';
  -- the grant is locked first: of ten requests at once, nine wait here and then see a used code
  select g.* into oauth_grant from core.oauth_grants g join core.oauth_codes c on c.grant_id = g.id
   where c.code_hash = presented and g.client_id = client.id for update of g;
  select * into code from core.oauth_codes c where c.code_hash = presented and c.grant_id = oauth_grant.id;
  if code.used_at is not null and not private.is_race(code.used_at) then
    perform private.end_grant(oauth_grant.id, 'code_reused');
  elsif code.used_at is null and private.is_live(oauth_grant) and code.expires_at > private.now()
        and code.redirect_uri = request ->> 'redirect_uri' and code.code_challenge = request ->> 'code_challenge' then
    update core.oauth_codes c set used_at = private.now() where c.code_hash = presented;
    perform private.add_refresh_token(oauth_grant.id, 1, request);
    scopes := oauth_grant.scopes;
    refusal := null;
  end if;
end $$;
comment on function private.redeem_code(core.oauth_clients, jsonb) is
  'Uses an authorization code, once, for the client, redirect URI and challenge it was made for; a later second use ends what it gave. Definer: no caller may read codes.';
grant execute on function private.redeem_code(core.oauth_clients, jsonb) to api_owner;

create function private.rotate_refresh_token(
  client core.oauth_clients, request jsonb, out oauth_grant core.oauth_grants, out scopes text[], out refusal text)
language plpgsql security definer
set search_path = ''
as $$
declare
  presented constant bytea := decode(request ->> 'refresh_hash', 'hex');
  wanted    constant text[] := private.scope_words(request ->> 'scope');
  token     core.oauth_refresh_tokens;
  newest    int;
begin
  refusal := 'invalid_grant';
  -- the grant is locked first: of ten requests at once, nine wait here and then see a rotated token
  select g.* into oauth_grant from core.oauth_grants g join core.oauth_refresh_tokens t on t.grant_id = g.id
   where t.token_hash = presented and g.client_id = client.id for update of g;
  select * into token from core.oauth_refresh_tokens t where t.token_hash = presented and t.grant_id = oauth_grant.id;
  if token.rotated_at is not null then
    select max(t.generation) into newest from core.oauth_refresh_tokens t where t.grant_id = oauth_grant.id;
    if token.generation < newest - 1 or not private.is_race(token.rotated_at) then
      perform private.end_grant(oauth_grant.id, 'refresh_token_reused');
    end if;
  elsif private.is_live(oauth_grant) and token.expires_at > private.now() then
    if not wanted <@ oauth_grant.scopes then
      refusal := 'invalid_scope';
      return;
    end if;
    update core.oauth_refresh_tokens t set rotated_at = private.now() where t.token_hash = presented;
    perform private.add_refresh_token(oauth_grant.id, token.generation + 1, request);
    scopes := array(select s from unnest(oauth_grant.scopes) s where wanted = '{}' or s = any (wanted));
    refusal := null;
  end if;
end $$;
comment on function private.rotate_refresh_token(core.oauth_clients, jsonb) is
  'Exchanges a refresh token for its one successor. Its predecessor shown again within 30 seconds is a race and harms nothing; later, or an older one, ends the grant. '
  'Definer: no caller may read refresh tokens.';
grant execute on function private.rotate_refresh_token(core.oauth_clients, jsonb) to api_owner;

create function api.grant_user_token(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  door  record;
  given record;
begin
  perform private.act_as(caller, 'anyone');
  select * into door from private.authenticate_client(request, request ->> 'grant_type');
  if door.refusal is not null then
    return door.refusal;
  end if;
  if request ->> 'grant_type' = 'authorization_code' then
    select * into given from private.redeem_code(door.client, request);
  else
    select * into given from private.rotate_refresh_token(door.client, request);
  end if;
  if given.refusal is not null then
    return private.refusal(given.refusal, json_build_object('rate', door.rate));
  end if;
  return json_build_object(
    'user_id', (given.oauth_grant).user_id,
    'client_id', (door.client).client_id,
    'grant_id', (given.oauth_grant).id,
    'scope', array_to_string(given.scopes, ' '),
    'rate', door.rate);
end $$;
comment on function api.grant_user_token(jsonb, jsonb) is
  'Authenticates a client and redeems its code or refresh token: {grant_type, client_id, secret_hash, address_hash, new_refresh_hash} with {code_hash, redirect_uri, code_challenge} or '
  '{refresh_hash, scope} to {user_id, client_id, grant_id, scope, rate}. Refusals are answers, because attempts are counted and reuse ends a grant.';
select private.expose('api.grant_user_token(jsonb, jsonb)');

create function private.revoke_presented(client core.oauth_clients, request jsonb) returns void
language plpgsql security definer
set search_path = ''
as $$
declare
  access constant jsonb := request -> 'access_token';
begin
  perform private.end_grant(g.id, 'revoked_by_client')
     from core.oauth_grants g join core.oauth_refresh_tokens t on t.grant_id = g.id
    where t.token_hash = decode(request ->> 'token_hash', 'hex') and g.client_id = client.id;
  if access ->> 'client_id' = client.client_id then
    insert into core.revoked_access_tokens (id, expires_at)
    values (access ->> 'id', to_timestamp((access ->> 'expires_at')::bigint))
    on conflict on constraint revoked_access_tokens_pkey do nothing;
  end if;
end $$;
comment on function private.revoke_presented(core.oauth_clients, jsonb) is
  'Ends the grant of a refresh token, or one access token, of this client; any other token is left alone. Definer: no caller may read tokens.';
grant execute on function private.revoke_presented(core.oauth_clients, jsonb) to api_owner;

create function api.revoke_token(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  door record;
begin
  perform private.act_as(caller, 'anyone');
  select * into door from private.authenticate_client(request, null);
  if door.refusal is not null then
    return door.refusal;
  end if;
  perform private.revoke_presented(door.client, request);
  return json_build_object('rate', door.rate);
end $$;
comment on function api.revoke_token(jsonb, jsonb) is
  'RFC 7009: {client_id, secret_hash, address_hash, token_hash, access_token: {id, client_id, expires_at}?} to {rate}; says nothing of the token.';
select private.expose('api.revoke_token(jsonb, jsonb)');

-- The EAN register as a table of our own: what it knows at an address, and how an EAN is judged against it.

create table core.ean_register_points (
  ean_code              text not null,
  postal_code           text not null,
  house_number          int  not null,
  house_number_addition text,
  street                text not null,
  city                  text not null,
  constraint ean_register_points_pkey primary key (ean_code),
  constraint ean_register_points_ean_code_shape check (ean_code ~ '^[0-9]{18}$')
);
comment on table core.ean_register_points is
  'An EAN register of our own, for hosts that do not ask the public one (EAN_REGISTER=table). Metering points, no persons.';
-- serves: the metering points of an address
create index ean_register_points_address on core.ean_register_points (postal_code, house_number);
alter table core.ean_register_points enable row level security;
create policy "every tenant reads the EAN register" on core.ean_register_points for select to api_owner using (true);
grant select on core.ean_register_points to api_owner;

create function private.is_test_ean(ean text) returns boolean
language sql stable
set search_path = ''
as $$ select private.is_sandbox() and ean ~ '^8716870000000000(16|23|30|47|54|61)$' $$;
comment on function private.is_test_ean(text) is 'The six EANs with which an integrator picks the outcome of the check on the sandbox.';
grant execute on function private.is_test_ean(text) to api_owner;

create function private.points_in_table(postal_code text, house_number int, addition text) returns jsonb
language plpgsql stable
set search_path = ''
as $$
begin
  return (
    select coalesce(jsonb_agg(jsonb_build_object('ean_code', p.ean_code, 'street', p.street, 'city', p.city,
                                                 'house_number_addition', p.house_number_addition) order by p.ean_code), '[]')
      from core.ean_register_points p
     where p.postal_code = points_in_table.postal_code and p.house_number = points_in_table.house_number
       and p.house_number_addition is not distinct from addition);
end $$;
comment on function private.points_in_table(text, int, text) is
  'The metering points of an address in the EAN register of our own, as the public one answers them.';
grant execute on function private.points_in_table(text, int, text) to api_owner;

create function private.candidates_at(answers jsonb, ean_register jsonb) returns jsonb
language plpgsql stable
set search_path = ''
as $$
begin
  if ean_register ->> 'source' = 'table' then
    return private.points_in_table(answers ->> 'postal_code', (answers ->> 'house_number')::int, answers ->> 'house_number_addition');
  end if;
  return coalesce(ean_register -> 'points', '[]');
end $$;
comment on function private.candidates_at(jsonb, jsonb) is 'The metering points the EAN register knows at an address, to choose from.';
grant execute on function private.candidates_at(jsonb, jsonb) to api_owner;

create function private.check_ean(
  ean text, postal_code text, house_number int, addition text, ean_register jsonb,
  out outcome text, out street text, out city text, out source text, out reason text)
language plpgsql
set search_path = ''
as $$
declare
  points jsonb := ean_register -> 'points';
begin
  source := ean_register ->> 'source';
  reason := ean_register ->> 'reason';
  if source = 'table' then
    points := private.points_in_table(postal_code, house_number, addition);
  elsif ean_register ->> 'outcome' = 'unavailable' then
    outcome := 'unavailable';
    return;
  end if;
  if points is null or jsonb_array_length(points) = 0 then
    outcome := 'unknown_address';
    return;
  end if;
  select case when bool_or(p.ean_code = ean) then 'matched' else 'mismatch' end, min(p.street), min(p.city)
    into outcome, street, city
    from jsonb_to_recordset(points) as p (ean_code text, street text, city text);
end $$;
comment on function private.check_ean(text, text, int, text, jsonb) is
  'Judges an EAN by the EAN register''s answer for its address: {source, outcome, points, reason}, or {source: "table"} to look it up here.';
grant execute on function private.check_ean(text, text, int, text, jsonb) to api_owner;

-- The catalogue of charger models: brands, models, and the names under which chargers report themselves.

create table core.charger_brands (
  brand text,
  constraint charger_brands_pkey primary key (brand)
);
comment on table core.charger_brands is 'One row per make of charger, as the maker writes it. Reference data.';
alter table core.charger_brands enable row level security;
create policy "api functions read the catalogue" on core.charger_brands for select to api_owner using (true);
grant select on core.charger_brands to api_owner;

create table core.charger_models (
  id            uuid,
  brand         text    not null,
  model         text    not null,
  mid_meter     boolean,
  mid_evidence  text    not null,
  mid_source    text,
  listed        boolean not null generated always as (coalesce(mid_meter, mid_evidence = 'variant')) stored,
  constraint charger_models_pkey primary key (id),
  constraint charger_models_name_key unique (brand, model),
  constraint charger_models_brand_fkey foreign key (brand) references core.charger_brands,
  constraint charger_models_mid_evidence_check check (mid_evidence in ('certain', 'variant', 'unknown')),
  constraint charger_models_mid_meter_check check ((mid_meter is not null) = (mid_evidence = 'certain')),
  constraint charger_models_mid_source_check check ((mid_source is null) = (mid_evidence = 'unknown'))
);
comment on table core.charger_models is
  'One row per model or family of chargers. Reference data; ids never change, registered chargers point at them.';
comment on column core.charger_models.mid_meter is
  'Whether it measures with a MID meter; null where the name does not settle it. The mid_eligible of a charger of this model.';
comment on column core.charger_models.mid_evidence is
  'certain; variant: sold with and without, the row stands for the one with; unknown: not established, and never offered.';
comment on column core.charger_models.mid_source is 'What mid_meter or the variant rests on.';
comment on column core.charger_models.listed is 'Whether GET /v1/catalog/chargers shows it and the resolver suggests it.';
alter table core.charger_models enable row level security;
create policy "api functions read the catalogue" on core.charger_models for select to api_owner using (true);
grant select on core.charger_models to api_owner;

create table core.charger_vendor_aliases (
  vendor       text,
  brand        text,
  names_brand  boolean not null default true,
  constraint charger_vendor_aliases_pkey primary key (vendor, brand),
  constraint charger_vendor_aliases_brand_fkey foreign key (brand) references core.charger_brands
);
comment on table core.charger_vendor_aliases is
  'The chargePointVendor strings of each brand, as private.vendor_key() writes them. Reference data.';
comment on column core.charger_vendor_aliases.names_brand is
  'False where several makers send the string: it then stands for the brand only together with one of its model patterns.';
create unique index charger_vendor_aliases_one_brand on core.charger_vendor_aliases (vendor) where names_brand;
alter table core.charger_vendor_aliases enable row level security;
create policy "api functions read the catalogue" on core.charger_vendor_aliases for select to api_owner using (true);
grant select on core.charger_vendor_aliases to api_owner;

create table core.charger_model_patterns (
  brand               text,
  model_pattern       text,
  meter_type_pattern  text     default '^',
  model               text     not null,
  precedence          smallint not null default 1,
  constraint charger_model_patterns_pkey primary key (brand, model_pattern, meter_type_pattern),
  constraint charger_model_patterns_model_fkey foreign key (brand, model)
    references core.charger_models (brand, model) on update cascade,
  constraint charger_model_patterns_anchored_check check (model_pattern like '^%' and meter_type_pattern like '^%')
);
comment on table core.charger_model_patterns is
  'How the models of a brand name themselves in chargePointModel, as private.charger_key() writes it. Reference data.';
comment on column core.charger_model_patterns.meter_type_pattern is
  'What meterType must say; the default accepts any and none.';
comment on column core.charger_model_patterns.precedence is 'Lower is more specific and is tried first.';
alter table core.charger_model_patterns enable row level security;
create policy "api functions read the catalogue" on core.charger_model_patterns for select to api_owner using (true);
grant select on core.charger_model_patterns to api_owner;

create function private.charger_key(reported text) returns text
language sql immutable
set search_path = ''
as $$
  -- collate "C" gives the same result on every deployment, whatever its locale; NFKC has already replaced the letters it does not know
  select trim(regexp_replace(lower(normalize(reported, nfkc) collate "C"), '\s+', ' ', 'g'))
$$;
comment on function private.charger_key(text) is 'A string of a BootNotification as the patterns expect it.';
grant execute on function private.charger_key(text) to api_owner;

create function private.vendor_key(reported text) returns text
language sql immutable
set search_path = ''
as $$
  select regexp_replace(private.charger_key(reported),
    '[ ,]+(b\.?v\.?|n\.?v\.?|gmbh( ?&? ?co\.? ?kg)?|kg|ag|asa?|a/s|ab|oy|s\.?a\.?s?\.?|s\.?l\.?u?\.?|s\.?r\.?l\.?|s\.?p\.?a\.?|'
    'se|(co\.?,? ?)?ltd\.?|limited|inc\.?|corp\.?|llc|plc)$', '')
$$;
comment on function private.vendor_key(text) is 'A chargePointVendor as the aliases expect it: without the legal form of the company.';
grant execute on function private.vendor_key(text) to api_owner;

create function private.catalog_search_key(words text) returns text
language sql immutable
set search_path = ''
as $$ select private.charger_key(translate(words, '%_,()', '     ')) $$;
comment on function private.catalog_search_key(text) is
  'Both sides of the catalogue search: what the specification blanks in the search is blanked in the names too, so that searching for a whole name finds it.';
grant execute on function private.catalog_search_key(text) to api_owner;

create function private.catalog_charger(entry core.charger_models) returns json
language sql immutable
set search_path = ''
as $$ select json_build_object('catalog_charger_id', entry.id, 'brand', entry.brand, 'model', entry.model) $$;
comment on function private.catalog_charger(core.charger_models) is 'A catalog model as every answer shows it (§2).';
grant execute on function private.catalog_charger(core.charger_models) to api_owner;

create function api.list_catalog_chargers(caller jsonb, query jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  wanted  text := private.catalog_search_key(coalesce(query ->> 'search', ''));
  size    int  := (query ->> 'limit')::int;
  answer  json;
begin
  perform private.act_as(caller, 'cpo');
  with page as (
    select m, row_number() over (order by lower(m.brand) collate "C", lower(m.model) collate "C") as place
      from core.charger_models m
     where m.listed and position(wanted in private.catalog_search_key(m.brand || ' ' || m.model)) > 0
     order by place
     limit size + 1
  )
  select json_build_object(
           'models',   coalesce(json_agg(private.catalog_charger(m) order by place) filter (where place <= size), '[]'),
           'count',    count(*) filter (where place <= size),
           'has_more', count(*) > size)
    into answer
    from page;
  return answer;
end $$;
comment on function api.list_catalog_chargers(jsonb, jsonb) is
  'GET /v1/catalog/chargers: query {search, limit}. The search is a substring of brand, of model, or of both in a row ("alfen eve").';
select private.expose('api.list_catalog_chargers(jsonb, jsonb)');

-- The rows of the catalogue: brands and models.

insert into core.charger_brands (brand) values
  ('ABB'), ('ABL'), ('Alfen'), ('Autel'), ('Charge Amps'), ('CTEK'), ('Easee'), ('Ecotap'), ('EN+'),
  ('Enphase'), ('Etrel'), ('EVBox'), ('FoxESS'), ('Fronius'), ('Garo'), ('go-e'), ('Growatt'), ('Hager'),
  ('Huawei'), ('KEBA'), ('LMS'), ('Mennekes'), ('myenergi'), ('Peblar'), ('Phoenix Contact'), ('Ratio'),
  ('Schneider Electric'), ('Shell Recharge'), ('Smappee'), ('SolarEdge'), ('Sungrow'), ('Tesla'), ('V2C'),
  ('Vestel'), ('Volt Time'), ('Wallbox'), ('Webasto'), ('Zaptec');

insert into core.charger_models (id, brand, model, mid_meter, mid_evidence, mid_source) values
  ('668ceff8-2a78-4a8f-ac60-37de86d8eb61', 'ABB',                'Terra AC (MID variant)',                        null,  'variant', 'MID only on the order codes with -M-'),
  ('8a03a134-5540-47c3-bfed-f0cc29ba1c5e', 'ABL',                'eMH1 / eMH2 / eMH3 / eM4',                      null,  'unknown', null),
  ('c95c3c78-84a9-49ad-8058-60bf7e762fd9', 'Alfen',              'Eve Double (older NG920)',                      null,  'unknown', null),
  ('5136d94b-680b-45b0-920f-360ed073a167', 'Alfen',              'Eve Double Pro-line',                           true,  'certain', 'order codes in an open-source client; dealer listing'),
  ('98e37b4c-6efd-42ab-b609-07537e2abad1', 'Alfen',              'Eve Double Pro-line DE',                        true,  'certain', 'order codes in an open-source client; dealer listing; Eichrecht'),
  ('ac75f287-7d2e-413d-b464-0d82cacbcfb0', 'Alfen',              'Eve Double Pro-line FR',                        true,  'certain', 'order codes in an open-source client; dealer listing; Eichrecht'),
  ('924d9212-7593-40a3-9f32-08e3bd3f71f0', 'Alfen',              'Eve Single Pro-line 1-phase',                   true,  'certain', 'order codes in an open-source client; dealer listing'),
  ('b021b28d-fef7-46f1-99a8-81210c0a8c88', 'Alfen',              'Eve Single Pro-line 3-phase',                   true,  'certain', 'order codes in an open-source client; dealer listing'),
  ('45e2ca4e-8609-4cb9-958c-af2bfc9ee36c', 'Alfen',              'Eve Single Pro-line DE',                        true,  'certain', 'order codes in an open-source client; dealer listing; Eichrecht'),
  ('1b275cc8-953d-4d2b-bfa0-825ad2974fb9', 'Alfen',              'Eve Single S-line 1-phase',                     true,  'certain', 'order codes in an open-source client; dealer listing'),
  ('c8b1d2b0-4c8e-4402-9aec-f3484c9db0da', 'Alfen',              'Eve Single S-line 3-phase',                     true,  'certain', 'order codes in an open-source client; dealer listing'),
  ('abc79eaf-e038-4f4a-af12-0d784eceea81', 'Alfen',              'ICU Eve Mini / Eve Dual',                       null,  'unknown', null),
  ('4c0dbf0c-6b73-44b1-9e61-3702f96a0456', 'Autel',              'MaxiCharger AC (MID variant)',                  null,  'variant', 'MID by variant, open-source OCPP documentation'),
  ('1434478b-062e-4bc6-bf3a-dda05df17dd2', 'Charge Amps',        'Halo / Aura / Luna / Dawn',                     null,  'unknown', null),
  ('5aa2e8b8-4380-4cca-af13-25b0133958da', 'CTEK',               'Chargestorm Connected 2 / 3',                   null,  'unknown', null),
  ('36bf59f9-297e-4464-a8ac-0001711cc6ad', 'Easee',              'Charge',                                        false, 'certain', 'open-source energy clients'),
  ('dcb1e424-2387-4004-8d6b-27e32fe94a48', 'Easee',              'Charge Core',                                   false, 'certain', 'dealer listing'),
  ('28ca0a69-7b90-4621-a4f1-e03289ed461f', 'Easee',              'Charge Lite',                                   false, 'certain', 'open-source energy client'),
  ('9b764efe-a245-4b6d-bbd6-fd6406ffe11b', 'Easee',              'Charge Max',                                    true,  'certain', 'dealer listing: class B, EN 50470-3'),
  ('bf260272-e367-4933-bd81-d83c8e3eefe4', 'Easee',              'Charge Pro',                                    true,  'certain', 'dealer listing and price lists'),
  ('7becc11b-1c74-4fcd-9d5b-c8829fd7fbdc', 'Easee',              'Charge Up',                                     false, 'certain', 'dealer listing'),
  ('61b5f466-8fab-4b72-8c04-58b01016f4db', 'Easee',              'Home',                                          false, 'certain', 'open-source energy clients'),
  ('5a44f533-5d75-499b-95e0-c099db7fbd84', 'Easee',              'One',                                           false, 'certain', 'boot capture over native OCPP'),
  ('b5720b2d-e989-41a8-99ab-f44c4de4295c', 'EN+',                'Caro / Silver',                                 null,  'unknown', null),
  ('8469b7f9-ea36-4c39-b1dd-6c39fdb5b017', 'Enphase',            'IQ EV Charger 2 (EU)',                          true,  'certain', 'MID in the invoice text of the SKU'),
  ('f9f05f65-8927-454f-b369-6550df061b95', 'Etrel',              'INCH Duo',                                      true,  'certain', 'product page of a Dutch seller'),
  ('c6aee07c-c24b-4180-964a-90bf8b2adc24', 'Etrel',              'INCH Home / Pro',                               null,  'unknown', null),
  ('77a75359-e8b7-46ff-bb53-b2809a7d98f3', 'EVBox',              'BusinessLine G3',                               null,  'unknown', null),
  ('4be14706-bef0-42d8-ac00-425cc9e5ff27', 'EVBox',              'BusinessLine G4',                               null,  'unknown', null),
  ('5efb9f20-8407-4571-bd34-00424bc4207d', 'EVBox',              'Elvi (MID variant)',                            null,  'variant', 'the MID meter is an option'),
  ('465545e9-4996-4e1a-9017-9f8a511f13c0', 'EVBox',              'Livo / Liviqo',                                 null,  'unknown', null),
  ('804f58f5-be24-4365-8cb7-1227a863f01e', 'Fronius',            'Wattpilot Home / Go / Flex',                    false, 'certain', 'open-source energy client; built on the go-e charger'),
  ('728bc795-bb21-46ce-a382-388f564b2074', 'Garo',               'Entity Pro / Entity Compact',                   null,  'unknown', null),
  ('e2417a82-d417-4a53-90e6-ec1bec826357', 'go-e',               'Charger HOME / Gemini',                         false, 'certain', 'maker: only the PRO has a MID meter'),
  ('9f180d77-8319-4f23-a368-e1c9a15b3da8', 'go-e',               'Charger PRO (MID variant)',                     null,  'variant', 'maker: only the PRO has a MID meter'),
  ('17b3f008-81f6-43cc-85cc-a66bd1ae6f01', 'Growatt',            'THOR',                                          null,  'unknown', null),
  ('bbeb170c-61b3-4509-a382-f299e95c29a0', 'Hager',              'witty start / plus / pro / park 2',             null,  'unknown', null),
  ('a3976d49-a8e0-4846-9d09-59f5470c53e6', 'Huawei',             'SCharger-7KS / 22KT',                           null,  'unknown', null),
  ('9df4b3e1-abdd-4748-92fc-2d3acbcf4a7b', 'KEBA',               'KeContact P30 c / a / b / e-series',            null,  'unknown', null),
  ('07cfb120-8343-4849-97a3-f9cabce9ddf0', 'KEBA',               'KeContact P30 x-series (MID variant)',          null,  'variant', 'the meter class is part of the order code'),
  ('1fb1364a-332c-41fc-80cc-bec4f69bd5b5', 'KEBA',               'KeContact P40 / P40 Pro',                       null,  'unknown', null),
  ('9acc4fad-50ba-4cc0-a733-8fd215725e52', 'KEBA',               'P30 Deutschland Edition',                       false, 'certain', 'no meter at all, by an open-source client'),
  ('9a46db19-288e-4cdc-ae5e-dc5c78fd817b', 'LMS',                'EVC2.2',                                        null,  'unknown', null),
  ('34c2f1cd-2884-4315-ac59-187185a8be19', 'Mennekes',           'AMTRON 4Business 600/700 (MID variant)',        null,  'variant', 'MID by order code'),
  ('60f01537-d8b2-40e1-a40e-b43c1ae3e41b', 'Mennekes',           'AMTRON 4You 400/500 (MID variant)',             null,  'variant', 'MID by order code'),
  ('20a479f1-0960-46ad-a6f1-9435f13d127d', 'Mennekes',           'AMTRON Charge Control / Professional',          null,  'unknown', null),
  ('516bdc7a-3d88-41da-bcd3-7ce8a4db7ea8', 'Shell Recharge',     'Home Standard / Advanced (Lolo)',               null,  'unknown', null),
  ('ce19247a-3a18-4724-ad83-e7d194ac8fe4', 'Peblar',             'Home / Home Plus / Business',                   null,  'unknown', null),
  ('8fd8312b-8f8e-44ae-96bd-96be86eb1cda', 'Phoenix Contact',    'CHARX SEC-3xxx',                                null,  'unknown', null),
  ('8cbcf007-c52c-4d28-bb16-02fb58e1b562', 'Ratio',              'io6 / io7',                                     null,  'unknown', null),
  ('855676d2-bc09-4bd8-8ae0-834ad2005e12', 'Ratio',              'Solar MID 4G',                                  true,  'certain', 'dealer listing'),
  ('ca406937-b5fd-41ab-bf3c-e2da66b11901', 'Ratio',              'Solar RFID',                                    false, 'certain', 'dealer listing'),
  ('18e62324-a2a4-4b07-92db-ef664d8b8f6c', 'Ratio',              'Start',                                         false, 'certain', 'dealer listing'),
  ('664452a0-75fc-44b2-b132-29f1c126f151', 'Schneider Electric', 'EVlink Pro AC',                                 true,  'certain', 'boot capture: meterType "Embedded MID meter"'),
  ('d06ac5b9-227d-45e7-be42-e955957801d4', 'Schneider Electric', 'EVlink Smart Wallbox (MID variant)',            null,  'variant', 'MID by order code'),
  ('9b6b16b8-5bc5-4c76-b80d-70aefbfaf514', 'Schneider Electric', 'Schneider Charge / Charge Pro',                 null,  'unknown', null),
  ('4ece062a-c9bc-4ea4-937d-a78ed6693b6a', 'Smappee',            'EV Wall Home / Business, EV One',               null,  'unknown', null),
  ('83ab9591-825f-44fa-82d1-e44d2265ebd6', 'Sungrow',            'AC011E-01 / AC22E',                             null,  'unknown', null),
  ('f7873368-c979-4f23-8f31-00bb5afd7a5d', 'Tesla',              'Wall Connector Gen 2 / 3',                      false, 'certain', 'has no OCPP client'),
  ('176e7b5b-499f-44bb-8a90-5a3f28599e6f', 'V2C',                'Trydan / Trydan Pro',                           null,  'unknown', null),
  ('1d2763f9-fbb1-4f48-a88a-693542890af2', 'Vestel',             'EVC04 Home Smart / Connect Plus (MID variant)', null,  'variant', 'the hardware of the Webasto Unite'),
  ('053d8680-8f52-479e-83d2-704bc904c517', 'Volt Time',          'Source / Source 2',                             null,  'unknown', null),
  ('10230766-7d8f-4fc2-9a54-3c07c76af6d4', 'Wallbox',            'Commander / Commander 2',                       false, 'certain', 'maker''s documentation'),
  ('150d9119-7cca-42f0-8e13-a44d53e3a34d', 'Wallbox',            'Copper SB',                                     false, 'certain', 'boot capture: meterType "Internal NON compliant"'),
  ('f4af725b-0e14-4f2c-9451-cac827156cb0', 'Wallbox',            'Copper SB (MID variant)',                       null,  'variant', 'boot capture: meterType "External MID"'),
  ('aabdd075-51ac-46a2-9c98-5eed935594c8', 'Wallbox',            'Pulsar Max',                                    false, 'certain', 'dealer listing'),
  ('cf696861-d58e-4460-8043-d23e797ebecd', 'Wallbox',            'Pulsar Plus',                                   false, 'certain', 'maker''s documentation'),
  ('eb8c9be7-42e1-4b5d-accb-1fab36fc9fea', 'Wallbox',            'Pulsar Pro',                                    false, 'certain', 'maker''s documentation: an external MID meter is an option'),
  ('9e7e3fea-6f6b-438c-89a2-acaf82702203', 'Webasto',            'Next',                                          null,  'unknown', null),
  ('2bcde87e-5b75-4c4e-9eb2-9b328755a40a', 'Webasto',            'Unite (MID variant)',                           null,  'variant', 'MID by variant'),
  ('f5e49885-3000-4a72-88b7-fe6c09195c84', 'Zaptec',             'Go',                                            false, 'certain', 'maker''s firmware; dealer listing'),
  ('e6282b3d-559f-4212-8239-b2dace220824', 'Zaptec',             'Go 2',                                          true,  'certain', 'dealer listing'),
  ('e3fa843b-b7df-4624-bb4a-6353cdffe54a', 'Zaptec',             'Pro',                                           true,  'certain', 'dealer listing: class B');

-- The rows of the catalogue: vendor aliases and model patterns.

insert into core.charger_vendor_aliases (vendor, brand) values
  ('abb', 'ABB'),
  ('abl', 'ABL'),
  ('alfen', 'Alfen'), ('alfen icu', 'Alfen'),
  ('autel', 'Autel'),
  ('charge amps', 'Charge Amps'),
  ('ctek', 'CTEK'),
  ('easee', 'Easee'),
  ('ecotap', 'Ecotap'),
  ('en+', 'EN+'), ('en plus', 'EN+'),
  ('enphase', 'Enphase'), ('enphase energy', 'Enphase'),
  ('etrel', 'Etrel'),
  ('evbox', 'EVBox'), ('ev-box', 'EVBox'),
  ('foxess', 'FoxESS'),
  ('fronius', 'Fronius'),
  ('garo', 'Garo'),
  ('go-e', 'go-e'),
  ('growatt', 'Growatt'),
  ('hager', 'Hager'),
  ('huawei', 'Huawei'),
  ('keba', 'KEBA'),
  ('lms', 'LMS'),
  ('mennekes', 'Mennekes'),
  ('myenergi', 'myenergi'),
  ('peblar', 'Peblar'), ('prodrive technologies', 'Peblar'),
  ('phoenix contact', 'Phoenix Contact'),
  ('ratio', 'Ratio'), ('ratio electric', 'Ratio'),
  ('schneider electric', 'Schneider Electric'),
  ('shell recharge', 'Shell Recharge'), ('newmotion', 'Shell Recharge'), ('the new motion', 'Shell Recharge'),
  ('smappee', 'Smappee'),
  ('solaredge', 'SolarEdge'),
  ('sungrow', 'Sungrow'),
  ('tesla', 'Tesla'),
  ('v2c', 'V2C'),
  ('vestel', 'Vestel'),
  ('volt time', 'Volt Time'), ('volttime', 'Volt Time'),
  ('wallbox', 'Wallbox'), ('wall box chargers', 'Wallbox'),
  ('webasto', 'Webasto'), ('ampure', 'Webasto'),
  ('zaptec', 'Zaptec');
-- strings that more than one maker sends
insert into core.charger_vendor_aliases (vendor, brand, names_brand) values
  ('bender', 'Mennekes', false),  -- builds the controller, which names its own maker
  ('ebee',   'Mennekes', false),  -- Bender's former name
  ('go-e',   'Fronius',  false),  -- builds the Wattpilot
  ('',       'Huawei',   false);  -- leaves the vendor empty, as others may

-- A pattern that can resolve was seen in a boot message or an order-code list, or is the model's whole readable name, which
-- nothing else can mean. Three are names in place of a prefix that is only guessed: Etrel "G-D" would have declared MID,
-- Wallbox "CMX" would have denied it unseen, and the Tesla speaks no OCPP. A prefix of a family that stays unresolved can
-- do no harm: it only tells the detail and the suggestions. Names end in $ ("Go" is not "Go 2"), order codes may run on.
insert into core.charger_model_patterns (brand, model_pattern, model) values
  ('ABB',                '^cdt_tacw(4|7|11|22)(::.*)?$',                    'Terra AC (MID variant)'),
  ('ABL',                '^em(h[123]|4)',                                   'eMH1 / eMH2 / eMH3 / eM4'),
  ('Alfen',              '^ng920-525[0-9]{2}$',                             'Eve Double (older NG920)'),
  ('Alfen',              '^ng920-610(01|02|11|12|21|22|31|32)$',            'Eve Double Pro-line'),
  ('Alfen',              '^ng920-6110[12]$',                                'Eve Double Pro-line DE'),
  ('Alfen',              '^ng920-612(05|06|15|16)$',                        'Eve Double Pro-line FR'),
  ('Alfen',              '^ng910-600(03|05|07)$',                           'Eve Single Pro-line 1-phase'),
  ('Alfen',              '^ng910-600(23|25|27)$',                           'Eve Single Pro-line 3-phase'),
  ('Alfen',              '^ng910-601(23|27)$',                              'Eve Single Pro-line DE'),
  ('Alfen',              '^ng9(00|10)-605(03|05|07)$',                      'Eve Single S-line 1-phase'),
  ('Alfen',              '^ng910-605(2[357]|5[357]|7[357]|8[357]|9[357])$', 'Eve Single S-line 3-phase'),
  ('Alfen',              '^(icu )?eve?[ -]?(mini|dual)$',                   'ICU Eve Mini / Eve Dual'),
  ('Autel',              '^maxi ?charger ?ac',                              'MaxiCharger AC (MID variant)'),
  ('Charge Amps',        '^(halo|aura|luna|dawn)',                          'Halo / Aura / Luna / Dawn'),
  ('CTEK',               '^(cc2|cc3|chargestorm)',                          'Chargestorm Connected 2 / 3'),
  ('Easee',              '^(easee )?charge$',                               'Charge'),
  ('Easee',              '^(easee )?charge core$',                          'Charge Core'),
  ('Easee',              '^(easee )?charge lite$',                          'Charge Lite'),
  ('Easee',              '^(easee )?charge max$',                           'Charge Max'),
  ('Easee',              '^(easee )?charge pro$',                           'Charge Pro'),
  ('Easee',              '^(easee )?charge up$',                            'Charge Up'),
  ('Easee',              '^(easee )?home$',                                 'Home'),
  ('Easee',              '^easee one$',                                     'One'),
  ('EN+',                '^(en\+|caro|silver)',                             'Caro / Silver'),
  ('Enphase',            '^iq-evse-eu-[0-9]{4}',                            'IQ EV Charger 2 (EU)'),
  ('Etrel',              '^(etrel )?inch duo$',                             'INCH Duo'),
  ('Etrel',              '^g-h[a-z0-9]+-a[0-9]{2}$',                        'INCH Home / Pro'),
  ('EVBox',              '^g3-m[0-9]{4}e?',                                 'BusinessLine G3'),
  ('EVBox',              '^g4e?-',                                          'BusinessLine G4'),
  ('EVBox',              '^elvi',                                           'Elvi (MID variant)'),
  ('EVBox',              '^livi?q?o',                                       'Livo / Liviqo'),
  ('Fronius',            '^wattpilot',                                      'Wattpilot Home / Go / Flex'),
  ('Garo',               '^(entity|glb)',                                   'Entity Pro / Entity Compact'),
  ('go-e',               '^go-echarger_v[34]$',                             'Charger HOME / Gemini'),
  ('go-e',               '^go-echarger_v5$',                                'Charger PRO (MID variant)'),
  ('Growatt',            '^thor',                                           'THOR'),
  ('Hager',              '^witty',                                          'witty start / plus / pro / park 2'),
  ('Huawei',             '^acchargepoint$',                                 'SCharger-7KS / 22KT'),
  ('KEBA',               '^kc-p30-e[cs][0-9a-z]{6}-m',                      'KeContact P30 x-series (MID variant)'),
  ('KEBA',               '^kc-p40',                                         'KeContact P40 / P40 Pro'),
  ('KEBA',               '^kc-p30-ec220112-000-de$',                        'P30 Deutschland Edition'),
  ('LMS',                '^evc2',                                           'EVC2.2'),
  ('Mennekes',           '^amtron 4business',                               'AMTRON 4Business 600/700 (MID variant)'),
  ('Mennekes',           '^amtron 4you',                                    'AMTRON 4You 400/500 (MID variant)'),
  ('Shell Recharge',     '^lolo',                                           'Home Standard / Advanced (Lolo)'),
  ('Peblar',             '^wlac1-',                                         'Home / Home Plus / Business'),
  ('Phoenix Contact',    '^ev-cc-ac1-',                                     'CHARX SEC-3xxx'),
  ('Ratio',              '^io[67]',                                         'io6 / io7'),
  ('Ratio',              '^(ratio )?solar mid( 4g)?$',                      'Solar MID 4G'),
  ('Ratio',              '^(ratio )?solar( rfid)?$',                        'Solar RFID'),
  ('Ratio',              '^(ratio )?start$',                                'Start'),
  ('Schneider Electric', '^(evlink smart wallbox|monoblock)$',              'EVlink Smart Wallbox (MID variant)'),
  ('Schneider Electric', '^(schneider )?charge( pro)?$',                    'Schneider Charge / Charge Pro'),
  ('Smappee',            '^(ev ?(wall|one|base)|evw|evb)',                  'EV Wall Home / Business, EV One'),
  ('Sungrow',            '^ac(011e|22e)',                                   'AC011E-01 / AC22E'),
  ('Tesla',              '^(tesla )?wall connector( gen ?[23])?$',          'Wall Connector Gen 2 / 3'),
  ('V2C',                '^trydan',                                         'Trydan / Trydan Pro'),
  ('Vestel',             '^evc04',                                          'EVC04 Home Smart / Connect Plus (MID variant)'),
  ('Volt Time',          '^source',                                         'Source / Source 2'),
  ('Wallbox',            '^(wallbox )?commander( 2)?$',                     'Commander / Commander 2'),
  ('Wallbox',            '^(plp2-|(wallbox )?pulsar max$)',                 'Pulsar Max'),
  ('Wallbox',            '^(plp1-|(wallbox )?pulsar plus$)',                'Pulsar Plus'),
  ('Wallbox',            '^(ppr1-|(wallbox )?pulsar pro$)',                 'Pulsar Pro'),
  ('Webasto',            '^wb_next',                                        'Next'),
  ('Webasto',            '^evc04',                                          'Unite (MID variant)'),
  ('Zaptec',             '^(zaptec )?go$',                                  'Go'),
  ('Zaptec',             '^(zaptec )?go ?2$',                               'Go 2'),
  ('Zaptec',             '^(zaptec )?pro$',                                 'Pro');
-- what is left of a family once its better known members are told apart
insert into core.charger_model_patterns (brand, model_pattern, model, precedence) values
  ('KEBA',     '^kc-p30-',        'KeContact P30 c / a / b / e-series',   2),
  ('Mennekes', '^(amtron|cc612)', 'AMTRON Charge Control / Professional', 2);
-- the model string is the same with and without a MID meter; the meter names itself
insert into core.charger_model_patterns (brand, model_pattern, meter_type_pattern, model) values
  ('Schneider Electric', '^evlink pro ac$', '^embedded mid meter$',     'EVlink Pro AC'),
  ('Wallbox',            '^cpb1-',          '^internal non compliant$', 'Copper SB'),
  ('Wallbox',            '^cpb1-',          '^external mid',            'Copper SB (MID variant)');

-- The resolver: from what a charger says in its BootNotification to a model. One function for the API and any gateway.

create type private.charger_resolution as (
  resolved            boolean,
  vendor              text,
  model               text,
  catalog_charger_id  uuid,
  brand               text,
  catalog_model       text,
  mid_meter           boolean,
  detail              text,
  suggestions         json
);
comment on type private.charger_resolution is
  'The answer of GET /v1/catalog/chargers/resolve, field by field. Unresolved: no model and no mid_meter, brand where it is known.';

create function private.resolve_charger(vendor text, model text, meter_type text default null)
returns private.charger_resolution
language plpgsql stable
set search_path = ''
as $$
declare
  answer      private.charger_resolution;
  family      record;
  vendor_key  text;
  model_key   text;
  meter_key   text := private.charger_key(coalesce(left(meter_type, 120), ''));
begin
  answer.vendor := left(trim(coalesce(vendor, '')), 120);
  answer.model  := left(trim(coalesce(model, '')), 120);
  vendor_key    := private.vendor_key(answer.vendor);
  model_key     := private.charger_key(answer.model);

  select m.id, m.brand, m.model, m.mid_meter, m.mid_evidence, meter_key ~ p.meter_type_pattern as meter_fits
    into family
    from core.charger_vendor_aliases a
    join core.charger_model_patterns p on p.brand = a.brand and model_key ~ p.model_pattern
    join core.charger_models m on m.brand = p.brand and m.model = p.model
   where a.vendor = vendor_key
   order by meter_fits desc, p.precedence, p.brand, p.model_pattern, p.meter_type_pattern
   limit 1;

  answer.resolved := coalesce(family.meter_fits and family.mid_meter is not null, false);
  answer.brand    := coalesce(family.brand,
    (select a.brand from core.charger_vendor_aliases a where a.vendor = vendor_key and a.names_brand));
  if answer.resolved then
    answer.catalog_charger_id := family.id;
    answer.catalog_model      := family.model;
    answer.mid_meter          := family.mid_meter;
    answer.suggestions        := '[]';
  else
    select coalesce(json_agg(private.catalog_charger(m) order by lower(m.model) collate "C"), '[]')
      into answer.suggestions
      from core.charger_models m
     where m.brand = answer.brand and m.listed;
  end if;

  answer.detail := case
    when answer.mid_meter     then format('The %s %s has a MID meter.', family.brand, family.model)
    when not answer.mid_meter then format('The %s %s has no MID meter: what it charges does not count for ERE.', family.brand, family.model)
    when not family.meter_fits then
      format('%s sells this model with and without a MID meter; only its meterType tells which.', family.brand)
    when family.mid_evidence = 'variant' then
      format('This model is sold with and without a MID meter. If this one has it, choose "%s" by its catalog_charger_id.', family.model)
    when family.mid_evidence = 'unknown' then
      format('Whether the %s %s has a MID meter is not established.', family.brand, family.model)
    when answer.brand is null then 'No brand in the catalog is known by this vendor and model.'
    when json_array_length(answer.suggestions) = 0 then
      format('No %s model is known by this name, and none with a MID meter is in the catalog.', answer.brand)
    else format('No %s model is known by this name. If it is one of the suggestions, choose it by its catalog_charger_id.', answer.brand)
  end;
  return answer;
end $$;
comment on function private.resolve_charger(text, text, text) is
  'Which model a charger is, from its BootNotification (chargePointVendor, chargePointModel, meterType). The only resolver: API and gateways ask it. Never raises; takes 120 characters of each.';
grant execute on function private.resolve_charger(text, text, text) to api_owner;

create function api.resolve_catalog_charger(caller jsonb, query jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'cpo');
  return row_to_json(private.resolve_charger(query ->> 'vendor', query ->> 'model', query ->> 'meter_type'));
end $$;
comment on function api.resolve_catalog_charger(jsonb, jsonb) is
  'GET /v1/catalog/chargers/resolve: query {vendor, model} and, where the caller has it, {meter_type}.';
select private.expose('api.resolve_catalog_charger(jsonb, jsonb)');

-- Locations: addresses, shared by the connections whose addresses agree in every part.

create table core.locations (
  partner_id            uuid not null,
  id                    uuid not null default gen_random_uuid(),
  postal_code           text not null,
  house_number          int  not null,
  house_number_addition text,
  street                text,
  city                  text,
  created_at            timestamptz not null default private.now(),
  constraint locations_pkey primary key (partner_id, id),
  constraint locations_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint locations_address_key unique nulls not distinct (partner_id, postal_code, house_number, house_number_addition, street, city),
  constraint locations_postal_code_shape check (postal_code ~ '^[1-9][0-9]{3}[A-Z]{2}$'),
  constraint locations_house_number_positive check (house_number between 1 and 99999)
);
comment on table core.locations is
  'An address, shared by the tenant''s connections that agree in every part of it, street and city included, and never rewritten: who corrects an address moves to another row. Personal data; deleted with the last connection that refers to it.';
select private.isolate('core.locations', 'select, insert, update, delete');

create function private.location_for(address jsonb) returns uuid
language plpgsql
set search_path = ''
as $$
declare
  location uuid;
begin
  insert into core.locations (partner_id, postal_code, house_number, house_number_addition, street, city)
  values (private.partner_id(), address ->> 'postal_code', (address ->> 'house_number')::int,
          address ->> 'house_number_addition', address ->> 'street', address ->> 'city')
  -- changes nothing, but answers the row that is there, and locks it against its deletion until a connection refers to it
  on conflict on constraint locations_address_key do update set city = excluded.city
  returning id into location;
  return location;
end $$;
comment on function private.location_for(jsonb) is
  'The tenant''s row for an address: {postal_code, house_number, house_number_addition, street, city}.';
grant execute on function private.location_for(jsonb) to api_owner;

create function private.drop_unused_location(location uuid) returns void
language plpgsql
set search_path = ''
as $$
begin
  delete from core.locations l
   where l.partner_id = private.partner_id() and l.id = location
     and not exists (select from core.connections c where c.partner_id = l.partner_id and c.location_id = l.id);
exception when foreign_key_violation then
  null;  -- another connection began to use it at the same moment
end $$;
comment on function private.drop_unused_location(uuid) is 'Deletes an address, personal data, that no connection is left at.';
grant execute on function private.drop_unused_location(uuid) to api_owner;

-- Accounts: customers. Each has a signatory and one or more connections.

create table core.accounts (
  partner_id        uuid        not null,
  id                uuid        not null default gen_random_uuid(),
  client_id         uuid,
  user_id           uuid,
  owner_id          uuid        not null generated always as (coalesce(client_id, user_id)) stored,
  access_channel    text        not null default 'cpo_api',
  type              text        not null,
  display_name      text,
  payout_handler    text        not null,
  cpo_external_ref  text,
  company           jsonb,
  iban_ciphertext   text,
  iban_key_id       text,
  iban_last4        text,
  iban_changed_at   timestamptz not null default private.now(),
  created_at        timestamptz not null default private.now(),
  eligibility_told  boolean     not null default false,
  constraint accounts_pkey primary key (partner_id, id),
  constraint accounts_owner_key unique (partner_id, id, owner_id),
  constraint accounts_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint accounts_client_fkey foreign key (partner_id, client_id) references core.oauth_clients (partner_id, id),
  constraint accounts_user_id_fkey foreign key (user_id) references auth.users (id) on delete restrict,
  constraint accounts_cpo_external_ref_key unique (partner_id, client_id, cpo_external_ref),
  constraint accounts_access_channel_known check (access_channel in ('cpo_api', 'user')),
  constraint accounts_owner check (case access_channel when 'cpo_api' then client_id is not null and user_id is null else client_id is null end),
  constraint accounts_type_known check (type in ('particulier', 'zakelijk', 'vve')),
  constraint accounts_payout_handler_known check (payout_handler in ('service_pays_customer', 'via_cpo_invoicing')),
  constraint accounts_lengths check (length(display_name) <= 120 and length(cpo_external_ref) <= 120),
  constraint accounts_iban_whole check (num_nulls(iban_ciphertext, iban_key_id, iban_last4) in (0, 3))
);
comment on column core.accounts.owner_id is 'Whose it is: what hangs on an account, and on that, carries it too, so that a policy need not look.';
comment on table core.accounts is
  'A customer: of a CPO client (client_id), or a person with a login (user_id) in the service''s own tenant. iban_ciphertext is AES-256-GCM made before it reaches the database, under the key iban_key_id; SQL knows presence and last four. Personal data.';
comment on column core.accounts.iban_changed_at is 'When the IBAN came, or became another one: money waits 48 hours before it goes there.';
comment on column core.accounts.eligibility_told is 'Whether it is ERE-eligible, as its last event said; whether it is now, core.account_gates says.';
create trigger note_iban_change before update of iban_ciphertext on core.accounts for each row
  when (new.iban_ciphertext is distinct from old.iban_ciphertext) execute function private.note_iban_change();
-- serves: GET /v1/accounts and GET /v1/ere-positions, newest first. It has all that the policies ask for, so that an offset skips
-- entries of the index and never reads what it skips.
create index accounts_newest on core.accounts (partner_id, owner_id, created_at desc, id desc);
-- serves: the accounts of a person
create index accounts_user on core.accounts (user_id) where user_id is not null;
-- serves: the operator's search. What is written waits in a list, which a writer merges once it is full: a short one, so that none waits long.
create index accounts_words on core.accounts using gin (private.search_words(display_name, cpo_external_ref, company ->> 'name'))
  with (gin_pending_list_limit = 256);
select private.isolate('core.accounts', 'select, insert, update');
select private.keep_to_owner('core.accounts');

create table core.signatories (
  partner_id uuid not null,
  account_id uuid not null,
  owner_id   uuid not null default private.owner_id(),
  full_name  text not null,
  email      text,
  phone      text,
  constraint signatories_pkey primary key (partner_id, account_id),
  constraint signatories_account_fkey foreign key (partner_id, account_id, owner_id) references core.accounts (partner_id, id, owner_id),
  constraint signatories_full_name_length check (length(full_name) between 2 and 120),
  constraint signatories_email_shape check (length(email) <= 254 and email = lower(email))
);
comment on table core.signatories is 'The natural person who signs for an account. Personal data, kept as long as the mandate''s evidence must be.';
-- serves: the operator's search
create index signatories_words on core.signatories using gin (private.search_words(full_name, email, private.phone_end(phone)))
  with (gin_pending_list_limit = 256);
select private.isolate('core.signatories', 'select, insert, update');
select private.belong_with('core.signatories', 'core.accounts', 'account_id');

create function private.store_iban(account uuid, iban jsonb) returns void
language plpgsql
set search_path = ''
as $$
begin
  update core.accounts
     set iban_ciphertext = iban ->> 'ciphertext', iban_key_id = iban ->> 'key_id', iban_last4 = iban ->> 'last4'
   where id = account;
  perform private.audit('account.iban_stored', account);
  perform private.advance_registration(account);
end $$;
comment on function private.store_iban(uuid, jsonb) is 'Stores an encrypted IBAN: {ciphertext, key_id, last4}.';
grant execute on function private.store_iban(uuid, jsonb) to api_owner;

create function private.known_account(cpo_external_ref text) returns uuid
language sql stable
set search_path = ''
as $$
  select a.id from core.accounts a
   where a.client_id = private.client_id() and a.cpo_external_ref = known_account.cpo_external_ref
$$;
grant execute on function private.known_account(text) to api_owner;

create function private.find_account(criteria jsonb) returns uuid
language plpgsql
set search_path = ''
as $$
declare
  account uuid;
begin
  select a.id into account from core.accounts a
   where (criteria ->> 'account_id' is null or a.id = (criteria ->> 'account_id')::uuid)
     and (criteria ->> 'cpo_external_ref' is null or a.client_id = private.client_id() and a.cpo_external_ref = criteria ->> 'cpo_external_ref');
  if not found then
    perform private.refuse('account_not_found');
  end if;
  return account;
end $$;
comment on function private.find_account(jsonb) is 'The account that agrees with every id given: {account_id, cpo_external_ref}, at least one of them.';
grant execute on function private.find_account(jsonb) to api_owner;

-- How many accounts were made when: a page far down a list of a million jumps by the hour, where it would else count its way there,
-- 70 ns an account.

create table core.account_counts (
  partner_id uuid        not null,
  owner_id   uuid        not null,
  hour       timestamptz not null,
  accounts   int         not null,
  constraint account_counts_pkey primary key (partner_id, owner_id, hour)
);
comment on table core.account_counts is
  'How many accounts of a CPO client were made in an hour: always the count of core.accounts, kept by its triggers. Kept as long as they are.';
select private.isolate('core.account_counts', 'select, insert, update');
select private.keep_to_owner('core.account_counts');

create function private.count_accounts() returns trigger
language plpgsql
set search_path = ''
as $$
begin
  insert into core.account_counts as k (partner_id, owner_id, hour, accounts)
  select a.partner_id, a.owner_id, date_trunc('hour', a.created_at, 'UTC'), case tg_op when 'INSERT' then count(*) else -count(*) end
    from changed a
   where a.client_id is not null
   group by 1, 2, 3
   order by 1, 2, 3
  on conflict on constraint account_counts_pkey do update set accounts = k.accounts + excluded.accounts;
  return null;
end $$;
comment on function private.count_accounts() is 'Keeps core.account_counts. Accounts of one client are made one after the other for it, from here to the end of their transactions.';
grant execute on function private.count_accounts() to api_owner;
create trigger count_added_accounts after insert on core.accounts referencing new table as changed
  for each statement execute function private.count_accounts();
create trigger count_removed_accounts after delete on core.accounts referencing old table as changed
  for each statement execute function private.count_accounts();

-- Connections: an EAN at an address, and what became of its checks against the EAN register.

create table core.connections (
  partner_id            uuid        not null,
  id                    uuid        not null default gen_random_uuid(),
  account_id            uuid        not null,
  owner_id              uuid        not null default private.owner_id(),
  location_id           uuid        not null,
  ean_code              text        not null,
  ean_exclusive         boolean     not null default true,
  ean_validation_status text,
  ean_checked_at        timestamptz,
  status                text        not null default 'active',
  registration_status   text        not null default 'concept',
  submitted_at          timestamptz,
  created_at            timestamptz not null default private.now(),
  constraint connections_pkey primary key (partner_id, id),
  constraint connections_owner_key unique (partner_id, id, owner_id),
  constraint connections_account_fkey foreign key (partner_id, account_id, owner_id) references core.accounts (partner_id, id, owner_id),
  constraint connections_location_fkey foreign key (partner_id, location_id) references core.locations (partner_id, id),
  constraint connections_ean_code_shape check (ean_code ~ '^[0-9]{18}$'),
  constraint connections_ean_validation_status_known
    check (ean_validation_status in ('pending', 'matched', 'unverified', 'mismatch', 'not_found', 'manual')),
  constraint connections_status_known check (status in ('active', 'archived')),
  constraint connections_registration_status_known
    check (registration_status in ('concept', 'ingediend', 'goedgekeurd', 'afgekeurd'))
);
comment on table core.connections is
  'An EAN at an address, registered for an account. At most one active connection holds an EAN, across all tenants. Personal data.';
comment on column core.connections.ean_exclusive is 'False only for the sandbox''s test values, which every integrator may use at once.';
-- serves: ean_in_use; unique across tenants on purpose, taken by private.claim_ean
create unique index connections_active_ean on core.connections (ean_code) where status = 'active' and ean_exclusive;
-- serves: what an EAN was before, for the operator and for bookings
create index connections_archived_ean on core.connections (ean_code) where status = 'archived';
-- serves: the connections of an account
create index connections_account on core.connections (partner_id, account_id, created_at);
-- serves: the location that became unused
create index connections_location on core.connections (partner_id, location_id);
-- serves: the weekly re-check of unverified connections
create index connections_unverified on core.connections (ean_checked_at) where status = 'active' and ean_validation_status = 'unverified';
-- serves: the operator's list of EANs that the register has denied
create index connections_denied on core.connections (ean_checked_at, id) where status = 'active' and ean_validation_status in ('mismatch', 'not_found');
select private.isolate('core.connections', 'select, insert, update');
select private.belong_with('core.connections', 'core.accounts', 'account_id');
-- serves: the registrations that wait for review, oldest first
create index connections_submitted on core.connections (submitted_at, id) where registration_status = 'ingediend' and status = 'active';

create table core.ean_checks (
  partner_id    uuid        not null,
  id            bigint generated always as identity,
  connection_id uuid,
  owner_id      uuid                 default private.owner_id(),
  ean_code      text        not null,
  postal_code   text        not null,
  house_number  int         not null,
  house_number_addition text,
  source        text        not null,
  outcome       text        not null,
  reason        text,
  checked_at    timestamptz not null default private.now(),
  constraint ean_checks_pkey primary key (partner_id, id),
  constraint ean_checks_outcome_known check (outcome in ('matched', 'mismatch', 'unknown_address', 'unavailable'))
);
comment on table core.ean_checks is 'Every question put to the EAN register and what it answered, refused creations included. Personal data; kept for audit.';
-- serves: the check history of a connection
create index ean_checks_connection on core.ean_checks (partner_id, connection_id, id);
select private.isolate('core.ean_checks', 'select, insert');
select private.belong_with('core.ean_checks', 'core.connections', 'connection_id');

create function private.ean_taken(ean text, except_connection uuid default null) returns boolean
language sql stable security definer
set search_path = ''
as $$
  select private.is_sandbox() and ean = '871687000000000054'
      or not private.is_test_ean(ean) and exists (
           select from core.connections c
            where c.ean_code = ean_taken.ean and c.status = 'active' and c.ean_exclusive
              and c.id is distinct from except_connection)
$$;
comment on function private.ean_taken(text, uuid) is
  'Whether another active connection holds the EAN. Definer, because it looks across tenants; the answer does not say whose.';
grant execute on function private.ean_taken(text, uuid) to api_owner;

create function private.claim_ean(ean text, for_connection uuid default null) returns boolean
language plpgsql
set search_path = ''
as $$
begin
  -- the test values are everybody's at once
  if not private.is_test_ean(ean) then
    perform pg_advisory_xact_lock(hashtextextended('ean ' || ean, 0));
  end if;
  return not private.ean_taken(ean, for_connection);
end $$;
comment on function private.claim_ean(text, uuid) is
  'Whether an EAN is free to be this connection''s, or a new one''s; it then is until the end of the transaction, for nobody else gets an answer before. Whoever stores the EAN of an active connection asks this first.';
grant execute on function private.claim_ean(text, uuid) to api_owner;

create function private.record_ean_check(
  connection uuid, ean text, postal_code text, house_number int, addition text, source text, outcome text, reason text) returns void
language sql
set search_path = ''
as $$
  insert into core.ean_checks
    (partner_id, connection_id, ean_code, postal_code, house_number, house_number_addition, source, outcome, reason)
  values (private.partner_id(), connection, ean, postal_code, house_number, addition, source, outcome, reason)
$$;
grant execute on function private.record_ean_check(uuid, text, text, int, text, text, text, text) to api_owner;

create function private.find_connection(criteria jsonb) returns uuid
language plpgsql
set search_path = ''
as $$
declare
  account uuid;
  found_ids uuid[];
begin
  -- by way of the account, whose row-level security checks the client as well as the tenant
  select array_agg(c.id order by c.created_at, c.id) into found_ids
    from core.accounts a
    join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id and c.status = 'active'
   where (criteria ->> 'account_id' is null or a.id = (criteria ->> 'account_id')::uuid)
     and (criteria ->> 'cpo_external_ref' is null or a.client_id = private.client_id() and a.cpo_external_ref = criteria ->> 'cpo_external_ref')
     and (criteria ->> 'connection_id' is null or c.id = (criteria ->> 'connection_id')::uuid);
  if found_ids is null then
    perform private.refuse('connection_not_found');
  elsif cardinality(found_ids) > 1 then
    perform private.refuse('ambiguous_connection');
  end if;
  return found_ids[1];
end $$;
comment on function private.find_connection(jsonb) is
  'The one active connection that agrees with every id given: {connection_id, account_id, cpo_external_ref}, at least one of them.';
grant execute on function private.find_connection(jsonb) to api_owner;

create function private.pick_connection(account uuid, wanted uuid, otherwise_first boolean) returns uuid
language plpgsql
set search_path = ''
as $$
declare
  active uuid[] := array(
    select c.id from core.connections c
     where c.partner_id = private.partner_id() and c.account_id = account and c.status = 'active' and (wanted is null or c.id = wanted)
     order by c.created_at, c.id);
begin
  if wanted is not null and not exists (
       select from core.connections c where c.partner_id = private.partner_id() and c.account_id = account and c.id = wanted) then
    perform private.refuse('no_connection', json_build_object('detail', 'The account has no connection with this connection_id; leave it out, or send one of GET /v1/accounts.'));
  elsif cardinality(active) = 0 and wanted is not null then
    perform private.refuse('no_connection', json_build_object('detail', 'The connection is archived; leave connection_id out, or send that of an active one.'));
  elsif cardinality(active) = 0 then
    perform private.refuse('no_connection');
  elsif cardinality(active) > 1 and not otherwise_first then
    perform private.refuse('ambiguous_connection');
  end if;
  return active[1];
end $$;
comment on function private.pick_connection(uuid, uuid, boolean) is
  'The active connection of an account: the one wanted, the only one, or with otherwise_first the first of several.';
grant execute on function private.pick_connection(uuid, uuid, boolean) to api_owner;

-- POST /v1/accounts.

create function private.account_answer(account uuid, idempotent boolean) returns json
language plpgsql stable
set search_path = ''
as $$
begin
  return (select json_build_object(
    'ok', true,
    'idempotent', idempotent,
    'account_id', a.id,
    'connection_id', c.id,
    'location_id', c.location_id,
    'ean_validation_status', c.ean_validation_status,
    'iban_stored', a.iban_ciphertext is not null,
    'mandate_status', m.mandate_status,
    'account', json_build_object(
      'id', a.id, 'type', a.type, 'display_name', a.display_name, 'payout_handler', a.payout_handler,
      'cpo_external_ref', a.cpo_external_ref, 'created_at', private.iso(a.created_at)))
  from core.accounts a
  -- the connection it was created with, unless that one was archived and another took its place
  join lateral (
    select * from core.connections c
     where c.partner_id = a.partner_id and c.account_id = a.id
     order by c.status, c.created_at, c.id
     limit 1) c on true
  join core.connection_mandates m on m.partner_id = c.partner_id and m.connection_id = c.id
  where a.id = account);
end $$;
grant execute on function private.account_answer(uuid, boolean) to api_owner;

create function private.tell_of_iban(before core.accounts, last4 text) returns void
language plpgsql
set search_path = ''
as $$
begin
  perform private.notify(before.id, 'payout_iban_changed', 'payout_iban_changed:' || before.id || ':' || gen_random_uuid(),
                        jsonb_build_object('iban_last4', last4))
   where before.payout_handler = 'service_pays_customer'
     and exists (select from core.mandates m join core.connections c on c.partner_id = m.partner_id and c.id = m.connection_id
                  where c.partner_id = before.partner_id and c.account_id = before.id and m.document is not null);
end $$;
comment on function private.tell_of_iban(core.accounts, text) is
  'Has the signatory of an account told that its client gave another account number for what the service pays them.';
grant execute on function private.tell_of_iban(core.accounts, text) to api_owner;

create function private.repeat_account(account uuid, input jsonb) returns json
language plpgsql
set search_path = ''
as $$
declare
  iban   constant jsonb := input -> 'iban';
  stored core.accounts;
begin
  if jsonb_typeof(iban) = 'object' then
    select * into stored from core.accounts a where a.partner_id = private.partner_id() and a.id = account for no key update;
    -- encrypted anew it is another ciphertext: whether it is another number is known to who has the keys
    if stored.iban_last4 = iban ->> 'last4' and input #>> '{same_iban,as}' is null then
      return private.ask('same_iban', json_build_object('partner_id', stored.partner_id, 'sent', iban,
        'stored', json_build_object('ciphertext', stored.iban_ciphertext, 'key_id', stored.iban_key_id)));
    elsif input #> '{same_iban,same}' is distinct from 'true' or input #>> '{same_iban,as}' is distinct from stored.iban_ciphertext then
      perform private.store_iban(account, iban), private.tell_of_iban(stored, iban ->> 'last4');
    end if;
  end if;
  return private.account_answer(account, true);
end $$;
comment on function private.repeat_account(uuid, jsonb) is
  'A repeat by cpo_external_ref, {iban, same_iban}: stores a new IBAN if one was sent and ignores the rest (specification section 4.1). The one that is there stays as it is, so that nothing waits for it anew. Asks for same_iban, {as: ciphertext, same}, where the last four characters do not tell.';
grant execute on function private.repeat_account(uuid, jsonb) to api_owner;

create function api.repeat_account(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  account uuid;
begin
  perform private.act_as(caller, 'cpo');
  account := private.known_account(input ->> 'cpo_external_ref');
  return case when account is not null then private.repeat_account(account, input) end;
end $$;
comment on function api.repeat_account(jsonb, jsonb) is
  'POST /v1/accounts when the rest of the body cannot be used: {cpo_external_ref, iban} to the account''s answer, or null when the reference is new.';
select private.expose('api.repeat_account(jsonb, jsonb)');

create function api.create_account(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  ean_register constant jsonb := input -> 'ean_register';
  reference  constant text  := input ->> 'cpo_external_ref';
  wanted     constant jsonb := input -> 'connection';
  ean        constant text  := wanted ->> 'ean_code';
  account    uuid;
  connection uuid;
  checked    record;
begin
  perform private.act_as(caller, 'cpo');
  if reference is not null then
    -- parallel first calls queue here, so that the later ones find the account of the first
    perform pg_advisory_xact_lock(hashtextextended(private.client_id() || ' ' || reference, 0));
    account := private.known_account(reference);
    if account is not null then
      return private.repeat_account(account, input);
    end if;
  end if;

  if not private.claim_ean(ean) then
    perform private.refuse('ean_in_use');
  elsif coalesce(jsonb_typeof(ean_register), 'null') = 'null' then
    return private.ask('ean_register', wanted::json);
  end if;
  select * into checked
    from private.check_ean(ean, wanted ->> 'postal_code', (wanted ->> 'house_number')::int, wanted ->> 'house_number_addition', ean_register);
  if checked.outcome = 'mismatch' then
    perform private.record_ean_check(null, ean, wanted ->> 'postal_code', (wanted ->> 'house_number')::int,
      wanted ->> 'house_number_addition', checked.source, checked.outcome, checked.reason);
    return private.refusal('ean_address_mismatch');
  end if;

  insert into core.accounts
    (partner_id, client_id, type, display_name, payout_handler, cpo_external_ref, company, iban_ciphertext, iban_key_id, iban_last4)
  values
    (private.partner_id(), private.client_id(), input ->> 'type', input ->> 'display_name', input ->> 'payout_handler', reference,
     nullif(input -> 'company', 'null'), input #>> '{iban,ciphertext}', input #>> '{iban,key_id}', input #>> '{iban,last4}')
  returning id into account;

  insert into core.signatories (partner_id, account_id, full_name, email, phone)
  values (private.partner_id(), account, input #>> '{person,full_name}', input #>> '{person,email}', input #>> '{person,phone}');

  insert into core.connections (partner_id, account_id, location_id, ean_code, ean_exclusive, ean_validation_status, ean_checked_at)
  values (private.partner_id(), account,
          private.location_for(wanted || jsonb_strip_nulls(jsonb_build_object(
            'street', coalesce(wanted ->> 'street', checked.street), 'city', coalesce(wanted ->> 'city', checked.city)))),
          ean, not private.is_test_ean(ean),
          case checked.outcome when 'matched' then 'matched' else 'unverified' end, private.now())
  returning id into connection;

  perform private.record_ean_check(connection, ean, wanted ->> 'postal_code', (wanted ->> 'house_number')::int,
    wanted ->> 'house_number_addition', checked.source, checked.outcome, checked.reason);
  perform private.audit('account.created', account);
  perform private.emit('account.created', account, connection, jsonb_build_object('connection_id', connection));
  return private.account_answer(account, false);
end $$;
comment on function api.create_account(jsonb, jsonb) is
  'POST /v1/accounts: the body, its iban sealed, and ean_register, the EAN register''s answer. Asks for ean_register where it is needed and null, before anything is stored.';
select private.expose('api.create_account(jsonb, jsonb)');

-- GET /v1/accounts.

create function private.account_page(query jsonb) returns uuid[]
language plpgsql stable
set search_path = '' set plan_cache_mode = 'force_generic_plan'
as $$
declare
  skip  bigint := (query ->> 'offset')::bigint;
  until timestamptz := 'infinity';
  hours record;
begin
  if query ->> 'cpo_external_ref' is not null then
    return array(
      select a.id from core.accounts a
       where a.client_id = private.client_id() and a.cpo_external_ref = query ->> 'cpo_external_ref' and skip = 0);
  end if;
  if skip >= 1000 then
    -- the newest hours that the offset leaves out whole
    select min(h.hour) as first, max(h.accounts) as accounts into hours
      from (select k.hour, sum(k.accounts) over (order by k.hour desc) as accounts
              from core.account_counts k
             where k.partner_id = private.partner_id() and k.owner_id = private.client_id()) h
     where h.accounts <= skip;
    if hours.first is not null then
      until := hours.first;
      skip := skip - hours.accounts;
    end if;
  end if;
  return array(
    select a.id from core.accounts a
     where a.partner_id = private.partner_id() and a.owner_id = private.client_id() and a.created_at < until
     order by a.created_at desc, a.id desc
     limit (query ->> 'limit')::int + 1 offset skip);
end $$;
comment on function private.account_page(jsonb) is
  'The accounts of the client that {limit, offset, cpo_external_ref} asks for, newest first, and one more where there is another page.';
grant execute on function private.account_page(jsonb) to api_owner;

create function private.page_answer(name text, rows json, found uuid[], query jsonb) returns json
language sql stable
return json_build_object(
  name, coalesce(rows, '[]'),
  'limit', (query ->> 'limit')::int,
  'offset', (query ->> 'offset')::bigint,
  'count', coalesce(least(cardinality(found), (query ->> 'limit')::int), 0),
  'has_more', coalesce(cardinality(found) > (query ->> 'limit')::int, false));
comment on function private.page_answer(text, json, uuid[], jsonb) is
  'A page as the API writes it: its rows under their name, and by what private.account_page found how many they are and whether another page follows.';
grant execute on function private.page_answer(text, json, uuid[], jsonb) to api_owner;

create function api.list_accounts(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
-- a plan made for the ids at hand looks cheaper by more than it is, and would be made in every call: 400 us of 620 for one account
set search_path = '' set plan_cache_mode = 'force_generic_plan'
as $$
declare
  found    uuid[];
  accounts json;
begin
  perform private.act_as(caller, 'cpo');
  found := private.account_page(query);
  accounts := (
    select json_agg(row_to_json(r) order by a.created_at desc, a.id desc)
      from core.accounts a
      cross join lateral (
        select a.id,
               a.id as account_id,
               a.type,
               a.display_name,
               a.payout_handler,
               a.cpo_external_ref,
               a.access_channel,
               private.iso(a.created_at) as created_at,
               (select row_to_json(s) from (
                  select s.full_name, s.email from core.signatories s where s.partner_id = a.partner_id and s.account_id = a.id) s) as signatory,
               (select coalesce(json_agg(row_to_json(k) order by c.created_at, c.connection_id), '[]')
                  from core.connection_mandates c
                  cross join lateral (
                    select c.connection_id, c.ean_code, c.status, c.registration_status, c.ean_validation_status, c.mandate_status,
                           c.valid_from as mandate_valid_from, c.valid_until as mandate_valid_until,
                           c.renewed_until as mandate_renewed_until,
                           private.iso(c.signed_at) as mandate_signed_at) k
                 where c.partner_id = a.partner_id and c.account_id = a.id) as connections) r
     where a.partner_id = private.partner_id() and a.id = any (found[:(query ->> 'limit')::int]));
  return private.page_answer('accounts', accounts, found, query);
end $$;
comment on function api.list_accounts(jsonb, jsonb) is
  'GET /v1/accounts: {limit, offset, cpo_external_ref} to a page of the client''s accounts, newest first.';
select private.expose('api.list_accounts(jsonb, jsonb)');

-- POST /v1/connections:update.

create function private.correct_connection(connection core.connections, wanted jsonb, outcome text) returns void
language plpgsql
set search_path = ''
as $$
declare
  ean constant text := wanted ->> 'ean_code';
begin
  update core.connections c
     set ean_code = ean,
         ean_exclusive = not private.is_test_ean(ean),
         location_id = private.location_for(wanted),
         ean_validation_status = case outcome when 'matched' then 'matched' else 'unverified' end,
         ean_checked_at = private.now(),
         registration_status = 'concept',
         submitted_at = null
   where c.partner_id = connection.partner_id and c.id = connection.id;
  perform private.void_mandate_links(connection.id);
  perform private.drop_unused_location(connection.location_id);
end $$;
comment on function private.correct_connection(core.connections, jsonb, text) is
  'Gives a connection another EAN or address, {ean_code, postal_code, house_number, house_number_addition, street, city}, with what the check of it came to. Its registration begins again and its open mandate links are void.';
grant execute on function private.correct_connection(core.connections, jsonb, text) to api_owner;

create function private.connection_update_answer(connection_id uuid, changed boolean, mandate_revoked boolean) returns json
language plpgsql stable
set search_path = ''
as $$
begin
  return (
    select json_build_object(
      'ok', true,
      'changed', changed,
      'connection_id', c.id,
      'account_id', c.account_id,
      'ean_code', c.ean_code,
      'ean_validation_status', c.ean_validation_status,
      'registration_status', c.registration_status,
      'mandate_status', m.mandate_status,
      'mandate_revoked', mandate_revoked)
    from core.connections c
    join core.connection_mandates m on m.partner_id = c.partner_id and m.connection_id = c.id
    where c.partner_id = private.partner_id() and c.id = connection_update_answer.connection_id);
end $$;
grant execute on function private.connection_update_answer(uuid, boolean, boolean) to api_owner;

create function api.update_connection(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  ean_register constant jsonb := input -> 'ean_register';
  wanted_id  uuid;
  connection core.connections;
  current    jsonb;
  wanted     jsonb;
  ean        text;
  signed     boolean;
  lapses     boolean;
  checked    record;
  changed    boolean := false;
begin
  perform private.act_as(caller, 'cpo');
  wanted_id := private.find_connection(input -> 'criteria');
  select c.* into connection from core.connections c
   where c.partner_id = private.partner_id() and c.id = wanted_id and c.status = 'active' for update;
  if not found then
    perform private.refuse('connection_not_found');  -- archived since it was looked up above
  end if;
  select jsonb_build_object('ean_code', connection.ean_code, 'postal_code', l.postal_code, 'house_number', l.house_number,
                            'house_number_addition', l.house_number_addition, 'street', l.street, 'city', l.city)
    into current from core.locations l where l.partner_id = connection.partner_id and l.id = connection.location_id;
  wanted := current || (input -> 'connection');
  ean := wanted ->> 'ean_code';
  select m.mandate_status = 'signed' into signed
    from core.connection_mandates m where m.partner_id = connection.partner_id and m.connection_id = connection.id;
  -- a mandate that holds is lost; of one that ran out the months that still count by it
  lapses := signed or exists (
    select from core.delivered_months d
      join core.mandates m on m.partner_id = d.partner_id and m.connection_id = d.connection_id and m.covered_until is not null
     where d.partner_id = connection.partner_id and d.connection_id = connection.id and d.status = 'staged');

  if lower(wanted::text) is distinct from lower(current::text) then
    if not private.claim_ean(ean, connection.id) then
      perform private.refuse('ean_in_use');
    elsif coalesce(jsonb_typeof(ean_register), 'null') = 'null' then
      return private.ask('ean_register', wanted::json);
    end if;
    -- a street that was not sent belongs to the old address
    if (wanted - 'street' - 'city' - 'ean_code') <> (current - 'street' - 'city' - 'ean_code') then
      wanted := jsonb_build_object('street', null, 'city', null) || (wanted - 'street' - 'city')
                || jsonb_strip_nulls(jsonb_build_object('street', input #> '{connection,street}', 'city', input #> '{connection,city}'));
    end if;
    select * into checked
      from private.check_ean(ean, wanted ->> 'postal_code', (wanted ->> 'house_number')::int, wanted ->> 'house_number_addition', ean_register);
    perform private.record_ean_check(connection.id, ean, wanted ->> 'postal_code', (wanted ->> 'house_number')::int,
      wanted ->> 'house_number_addition', checked.source, checked.outcome, checked.reason);
    if checked.outcome = 'mismatch' then
      return private.refusal('ean_address_mismatch');
    elsif lapses and (input -> 'acknowledge_mandate_lapses') is distinct from 'true' then
      return private.refusal('mandate_acknowledgement_required');
    end if;

    perform private.correct_connection(connection, wanted || jsonb_strip_nulls(jsonb_build_object(
      'street', coalesce(wanted ->> 'street', checked.street), 'city', coalesce(wanted ->> 'city', checked.city))), checked.outcome);
    perform private.lapse_mandates(connection.id);
    if signed then
      perform private.end_mandate(connection.id, 'revoked', 'connection_updated');
    end if;
    perform private.audit('connection.updated', connection.id, jsonb_build_object('mandate_revoked', signed));
    changed := true;
  end if;
  return private.connection_update_answer(connection.id, changed, changed and signed);
end $$;
comment on function api.update_connection(jsonb, jsonb) is
  'POST /v1/connections:update: {criteria, connection, acknowledge_mandate_lapses, ean_register}. Asks for ean_register where it is needed and null. Order: found, ambiguous, no-op, ean_in_use, ean_address_mismatch, acknowledgement, write.';
select private.expose('api.update_connection(jsonb, jsonb)');

-- Mandates: what a signatory signs, for whole calendar years, and what ends it.

create table core.mandate_links (
  partner_id      uuid        not null,
  id              uuid        not null default gen_random_uuid(),
  connection_id   uuid        not null,
  owner_id        uuid        not null default private.owner_id(),
  token_hash      bytea       not null,
  locale          text,
  validity_years  int,
  return_url      text,
  expires_at      timestamptz not null,
  voided_at       timestamptz,
  used_at         timestamptz,
  code_hash       bytea,
  code_expires_at timestamptz,
  code_attempts   int         not null default 0,
  created_at      timestamptz not null default private.now(),
  constraint mandate_links_pkey primary key (partner_id, id),
  constraint mandate_links_token_hash_key unique (token_hash),
  constraint mandate_links_connection_fkey foreign key (partner_id, connection_id, owner_id) references core.connections (partner_id, id, owner_id),
  constraint mandate_links_locale_known check (locale in ('nl', 'en')),
  constraint mandate_links_validity_known check (validity_years in (1, 3, 5))
);
comment on table core.mandate_links is
  'A link a signatory signs through: good for 14 days, one signature, and until a newer one is issued. token_hash is the SHA-256 of 256 random bits; code_hash of the one-time code with that token.';
comment on column core.mandate_links.locale is 'The language that was chosen for the signatory, null where nobody chose.';
comment on column core.mandate_links.validity_years is 'For how many calendar years it asks; null where the signatory chooses.';
-- serves: voiding the older links of a connection
create index mandate_links_connection on core.mandate_links (partner_id, connection_id);
select private.isolate('core.mandate_links', 'select, insert, update');
select private.belong_with('core.mandate_links', 'core.connections', 'connection_id');

create table core.mandates (
  partner_id      uuid        not null,
  id              uuid        not null default gen_random_uuid(),
  connection_id   uuid        not null,
  owner_id        uuid        not null default private.owner_id(),
  link_id         uuid        not null,
  status          text        not null,
  renewal         boolean     not null default false,
  valid_from      date,
  valid_until     date,
  signed_name     text,
  signed_at       timestamptz,
  fee_pct         numeric(5, 2),
  partner_share_pct numeric(5, 2),
  document        text,
  document_sha256 text,
  code_confirmed  boolean     not null default false,
  code_sent_to    text,
  address         text,
  user_agent      text,
  locale          text,
  ended_at        timestamptz,
  ended_reason    text,
  lapsed_at       timestamptz,
  covered_until   date        generated always as (
    case when lapsed_at is not null then null
         when status in ('signed', 'expired') then valid_until
         when status = 'revoked' and ended_reason = 'customer'
           then least(valid_until, (date_trunc('month', ended_at at time zone 'Europe/Amsterdam') - interval '1 day')::date) end) stored,
  created_at      timestamptz not null default private.now(),
  constraint mandates_pkey primary key (partner_id, id),
  constraint mandates_connection_fkey foreign key (partner_id, connection_id, owner_id) references core.connections (partner_id, id, owner_id),
  constraint mandates_link_fkey foreign key (partner_id, link_id) references core.mandate_links (partner_id, id),
  constraint mandates_link_key unique (partner_id, link_id),
  constraint mandates_status_known check (status in ('signed', 'revoked', 'expired', 'declined')),
  constraint mandates_signed_whole check (
    status = 'declined' or num_nulls(valid_from, valid_until, signed_name, signed_at, fee_pct, partner_share_pct, document, document_sha256) = 0),
  constraint mandates_percentages check (fee_pct between 0 and 100 and partner_share_pct between 0 and 100)
);
comment on table core.mandates is
  'What a signatory decided, with the evidence: the text as shown, its SHA-256, the typed name, the code proof, network address and user agent. Personal data; append-only but for its end; kept seven years after it.';
comment on column core.mandates.fee_pct is 'The fee on what the customer''s ERE yield, in percent, as it was agreed: a later change of the partner''s does not touch it.';
comment on column core.mandates.partner_share_pct is 'The partner''s part of that fee, in percent, as it was when the mandate was signed.';
comment on column core.mandates.renewal is 'Decided while another one held, for the years after it: a decline of these changes nothing.';
comment on column core.mandates.locale is 'The language it was signed in, in which the signatory is written to afterwards.';
comment on column core.mandates.covered_until is
  'The last day that counts by it, from valid_from on: its last year''s end; where the customer withdrew it the end of the month before; null where it covers nothing any more. The one rule of what a mandate covers.';
comment on column core.mandates.lapsed_at is
  'When EAN or address of the connection was corrected after the last year of this mandate: what it covered is still to be seen, and counts no more unless it is locked.';
-- serves: the latest mandate of a connection
create index mandates_connection on core.mandates (partner_id, connection_id, created_at desc);
-- serves: the job that ends mandates after their last year
create index mandates_ending on core.mandates (valid_until) where status = 'signed';
-- serves: the job that asks for what is still missing
create index mandates_signed on core.mandates (signed_at) where status = 'signed' and not renewal;
select private.isolate('core.mandates', 'select, insert, update');
select private.belong_with('core.mandates', 'core.connections', 'connection_id');

-- The connection itself is in it: who wants both would otherwise read it twice, and Postgres sees no such join as needless.
create view core.connection_mandates with (security_invoker = true) as
select c.partner_id,
       c.id as connection_id,
       c.account_id,
       c.location_id,
       c.ean_code,
       c.status,
       c.registration_status,
       c.ean_validation_status,
       c.created_at,
       case when m.status is null then 'pending'
            when m.status = 'signed' and m.valid_until < (select private.today()) then 'expired'
            else m.status end as mandate_status,
       m.id as mandate_id,
       m.valid_from,
       m.valid_until,
       m.signed_at,
       m.renewed_until
  from core.connections c
  left join lateral (
    select m.id, m.status, m.valid_from, m.valid_until, m.signed_at,
           max(m.valid_until) filter (where m.status = 'signed' and m.valid_from > (select private.today())) over () as renewed_until
      from core.mandates m
     where m.partner_id = c.partner_id and m.connection_id = c.id and not (m.status = 'declined' and m.renewal)
     order by m.status = 'signed' and (select private.today()) between m.valid_from and m.valid_until desc,
              coalesce(m.valid_from > (select private.today()), false), m.created_at desc
     limit 1) m on true;
comment on view core.connection_mandates is
  'A connection and where it stands with its mandate: the one that covers today, else the latest decision. A mandate has expired after its last year, whether or not the job has noted it. renewed_until: the last day of the years signed for ahead.';
grant select on core.connection_mandates to api_owner;

create function private.signed_until(connection uuid) returns date
language sql stable
set search_path = ''
as $$
  select max(m.valid_until) from core.mandates m
   where m.partner_id = private.partner_id() and m.connection_id = signed_until.connection and m.status = 'signed' and m.valid_until >= private.today()
$$;
comment on function private.signed_until(uuid) is 'The last day of what is signed for a connection, today or later; null where nothing is.';
grant execute on function private.signed_until(uuid) to api_owner;

create function private.is_renewed(mandate core.mandates) returns boolean
language sql stable
set search_path = ''
as $$
  select exists (select from core.mandates m
                  where m.partner_id = mandate.partner_id and m.connection_id = mandate.connection_id and m.status = 'signed'
                    and m.valid_until > mandate.valid_until)
$$;
comment on function private.is_renewed(core.mandates) is 'Whether the years after those of a mandate are signed for too.';
grant execute on function private.is_renewed(core.mandates) to api_owner;

create function private.can_sign(connection uuid) returns boolean
language plpgsql stable
set search_path = ''
as $$
declare
  held_until constant date := private.signed_until(connection);
begin
  return held_until is null or private.today() >= make_date(extract(year from held_until)::int, 11, 1);
end $$;
comment on function private.can_sign(uuid) is
  'Whether somebody may sign for a connection: where no mandate holds, and from 1 November of the last year that is signed for.';
grant execute on function private.can_sign(uuid) to api_owner;

create function private.mandate_periods(connection uuid, fixed_years int) returns jsonb
language plpgsql stable
set search_path = ''
as $$
declare
  today      constant date := private.today();
  year       constant int  := extract(year from today);
  held_until constant date := private.signed_until(connection);
begin
  return (
    select jsonb_agg(jsonb_build_object(
             'validity_years', n.years,
             'valid_from', coalesce(held_until + 1, make_date(year, 1, 1)),
             'valid_until', make_date(
               case when held_until is not null then extract(year from held_until)::int + n.years
                    -- what is signed shortly before the year ends would hold for weeks
                    when extract(month from today) >= 11 then greatest(year + n.years - 1, year + 1)
                    else year + n.years - 1 end, 12, 31)) order by n.years)
      from unnest(case when fixed_years is null then array[1, 3, 5] else array[fixed_years] end) as n (years));
end $$;
comment on function private.mandate_periods(uuid, int) is
  'What can be signed for today: [{validity_years, valid_from, valid_until}], the years that were fixed or each that can be chosen. A first mandate begins on 1 January of this year, and signed in November or December lasts the next year too; a renewal begins after what is signed. The connection may be null: nothing is signed for it.';
grant execute on function private.mandate_periods(uuid, int) to api_owner;

create function private.terms_of(connection uuid, brought_by uuid, out fee_pct numeric, out partner_share_pct numeric)
language sql stable security definer
set search_path = ''
as $$
  select p.default_fee_pct, p.partner_share_pct
    from core.connections c
    join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
    left join core.attributions t on t.user_id = a.user_id
    join core.partners p on p.id = coalesce(brought_by, t.partner_id, c.partner_id)
   where c.partner_id = private.partner_id() and c.id = connection
$$;
comment on function private.terms_of(uuid, uuid) is
  'The percentages a signature agrees to today: those of the partner who brings the person right now, or brought them before; of a CPO''s account those of its partner. Definer, because people are in the house and their partner is another tenant.';
grant execute on function private.terms_of(uuid, uuid) to api_owner;

create function private.end_mandate(connection uuid, new_status text, reason text) returns void
language plpgsql
set search_path = ''
as $$
begin
  update core.mandates m
     set status = new_status, ended_at = private.now(), ended_reason = reason
   where m.connection_id = connection and m.status = 'signed'
     and m.valid_until >= private.today();  -- one that ran out keeps covering its years, whether the job has noted its end or not
  perform private.judge_months(connection);
  perform private.notify(c.account_id, 'mandate_withdrawn', 'mandate_withdrawn:' || k.mandate_id,
                         jsonb_build_object('by', reason, 'covered_until', (
                           select max(m.covered_until) from core.mandates m
                            where m.partner_id = c.partner_id and m.connection_id = c.id and m.covered_until >= m.valid_from)), c.id)
     from core.connections c
     join core.connection_mandates k on k.partner_id = c.partner_id and k.connection_id = c.id
    where c.partner_id = private.partner_id() and c.id = connection;
  perform private.audit('mandate.' || new_status, connection, jsonb_build_object('reason', reason));
  perform private.emit('mandate.' || new_status, c.account_id, c.id, jsonb_build_object('connection_id', c.id, 'mandate_status', new_status))
     from core.connections c
    -- a client that corrects a connection acknowledges that, and reads it in the answer
    where c.partner_id = private.partner_id() and c.id = connection and reason <> 'connection_updated';
  perform private.note_eligibility(c.partner_id, array[c.account_id])
     from core.connections c where c.partner_id = private.partner_id() and c.id = connection;
end $$;
comment on function private.end_mandate(uuid, text, text) is
  'Ends the signed mandate of a connection, and the one that was signed for the years after it; the months they covered are judged again, and the signatory is told. reason: customer, operator, connection_updated or connection_archived. A customer''s withdrawal leaves the whole months before it.';
grant execute on function private.end_mandate(uuid, text, text) to api_owner;

create function private.lapse_mandates(connection uuid) returns void
language plpgsql
set search_path = ''
as $$
begin
  update core.mandates m set lapsed_at = private.now()
   where m.partner_id = private.partner_id() and m.connection_id = connection and m.covered_until is not null;
  if found then
    perform private.judge_months(connection);
  end if;
end $$;
comment on function private.lapse_mandates(uuid) is
  'EAN or address of a connection are others from now on: what was signed for those before covers none of its open months any more.';
grant execute on function private.lapse_mandates(uuid) to api_owner;

create function private.void_mandate_links(connection uuid) returns void
language sql
set search_path = ''
as $$
  update core.mandate_links l set voided_at = private.now()
   where l.partner_id = private.partner_id() and l.connection_id = connection and l.voided_at is null and l.used_at is null
$$;
grant execute on function private.void_mandate_links(uuid) to api_owner;

create function private.return_url_allowed(return_url text, registered text) returns boolean
language sql immutable
set search_path = ''
as $$
  select coalesce(
    starts_with(return_url, registered) and substr(return_url, length(registered) + 1, 1) in ('', '/', '?')
    and position('#' in return_url) = 0
    -- a browser resolves these, and would end up above the registered URL
    and split_part(return_url, '?', 1) !~* '[/\\](\.|%2e){2}([/\\]|$)', false)
$$;
comment on function private.return_url_allowed(text, text) is
  'Whether a return URL is the registered one followed by /, ? or nothing, without a fragment and not climbing out of it.';
grant execute on function private.return_url_allowed(text, text) to api_owner;

-- POST /v1/mandate-links.

create function api.issue_mandate_link(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  account    uuid;
  connection uuid;
  registered text;
  partner    core.partners;
  signatory  core.signatories;
  link       core.mandate_links;
  status     text;
  send_email constant boolean := (input ->> 'send_email')::boolean;
begin
  perform private.act_as(caller, 'cpo');
  select c.return_url into registered from core.oauth_clients c where c.id = private.client_id();
  select * into partner from core.partners p where p.id = private.partner_id();
  if input ->> 'return_url' is not null and not private.return_url_allowed(input ->> 'return_url', registered) then
    perform private.refuse('return_url_not_allowed');
  end if;
  account := private.find_account(input);
  connection := private.pick_connection(account, (input ->> 'connection_id')::uuid, false);
  -- one link, signature or correction at a time on a connection
  perform from core.connections c where c.partner_id = private.partner_id() and c.id = connection for update;
  select m.mandate_status into status
    from core.connection_mandates m where m.partner_id = private.partner_id() and m.connection_id = connection;
  if not private.can_sign(connection) then
    perform private.refuse('mandate_already_signed');
  end if;
  select * into signatory from core.signatories s where s.partner_id = private.partner_id() and s.account_id = account;
  if send_email and signatory.email is null then
    perform private.refuse('signatory_email_missing');
  end if;

  perform private.void_mandate_links(connection);
  insert into core.mandate_links (partner_id, connection_id, token_hash, locale, validity_years, return_url, expires_at)
  values (private.partner_id(), connection, private.claim_token_hash(input ->> 'token_hash'), input ->> 'locale', coalesce((input ->> 'validity_years')::int, partner.mandate_years),
          coalesce(input ->> 'return_url', registered), private.now() + interval '1209600 seconds')
  returning * into link;
  if send_email then
    perform private.enqueue_mail(input -> 'mails' -> coalesce(input ->> 'locale', partner.locale, 'nl'), signatory.email, 'mandate_link:' || link.id,
      jsonb_build_object('full_name', signatory.full_name, 'partner_name', partner.name));
  end if;
  perform private.audit('mandate_link.issued', connection);
  return json_build_object(
    'ok', true,
    'account_id', account,
    'connection_id', connection,
    'mandate_link', input ->> 'mandate_link',
    'expires_at', private.iso(link.expires_at),
    'expires_in', 1209600,
    'mandate_status', status,
    'email_sent', send_email);
end $$;
comment on function api.issue_mandate_link(jsonb, jsonb) is
  'POST /v1/mandate-links: {account_id, cpo_external_ref, connection_id, token_hash, mandate_link, locale, validity_years, return_url, send_email, mails: {nl, en} | null}. Voids the older link. While a mandate holds only from 1 November of its last year: then for the years after it.';
select private.expose('api.issue_mandate_link(jsonb, jsonb)');

-- The signing page: open a link, mail a code, sign, decline.

create function private.link_by_token(token_hash text) returns core.mandate_links
language sql stable security definer
set search_path = ''
as $$ select l from core.mandate_links l where l.token_hash = decode(link_by_token.token_hash, 'hex') $$;
comment on function private.link_by_token(text) is 'Finds a link before its tenant is known; definer for that reason alone. The token is the credential.';
grant execute on function private.link_by_token(text) to api_owner;

create function private.enter_link(caller jsonb, request jsonb) returns core.mandate_links
language plpgsql
set search_path = ''
as $$
declare
  link core.mandate_links;
begin
  perform private.act_as(caller, 'anyone');
  link := private.link_by_token(request ->> 'token_hash');
  perform private.act_for_partner(link.partner_id), set_config('app.caller_kind', 'signatory', true);
  return link;
end $$;
comment on function private.enter_link(jsonb, jsonb) is 'Makes the bearer of a link the caller, within the link''s tenant.';
grant execute on function private.enter_link(jsonb, jsonb) to api_owner;

create function private.link_state(link core.mandate_links) returns text
language sql stable
set search_path = ''
as $$
  select case
    when link.id is null then 'unknown'
    when link.used_at is not null then coalesce(
      (select case m.status when 'declined' then 'declined' else 'signed' end
         from core.mandates m where m.partner_id = link.partner_id and m.link_id = link.id), 'voided')
    -- nobody signs for a partner that was deactivated; once it is active again, its links are good again
    when link.voided_at is not null or private.active_partner(link.partner_id) is null then 'voided'
    when link.expires_at <= private.now() then 'expired'
    else 'open' end
$$;
grant execute on function private.link_state(core.mandate_links) to api_owner;

create function private.connection_facts(connection uuid) returns jsonb
language sql stable
set search_path = ''
as $$
  select jsonb_build_object(
    'partner_name', p.name,
    'type', a.type,
    'company_name', case when a.type <> 'particulier' then coalesce(a.company ->> 'name', a.display_name) end,
    'kvk', case when a.type <> 'particulier' then a.company ->> 'kvk' end,
    'full_name', s.full_name,
    'email', s.email,
    'ean_code', c.ean_code,
    'street', l.street,
    'house_number', l.house_number,
    'house_number_addition', l.house_number_addition,
    'postal_code', l.postal_code,
    'city', l.city,
    'fee_pct', (private.terms_of(c.id, null)).fee_pct)
  from core.connections c
  join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
  join core.signatories s on s.partner_id = a.partner_id and s.account_id = a.id
  join core.locations l on l.partner_id = c.partner_id and l.id = c.location_id
  join core.partners p on p.id = c.partner_id
  where c.partner_id = private.partner_id() and c.id = connection_facts.connection
$$;
comment on function private.connection_facts(uuid) is
  'Everything the mandate''s text is composed of but its years, the fee that is agreed to, and where its code goes: the same facts give the same text.';
grant execute on function private.connection_facts(uuid) to api_owner;

create function private.signed_facts(facts jsonb, periods jsonb, request jsonb) returns jsonb
language plpgsql immutable
set search_path = ''
as $$
declare
  signed constant jsonb := facts || (
    select p.period from jsonb_array_elements(periods) as p (period)
     where p.period -> 'validity_years' = request #> '{facts,validity_years}');
begin
  if signed is distinct from request -> 'facts' then
    perform private.refuse('mandate_changed');
  end if;
  return signed;
end $$;
comment on function private.signed_facts(jsonb, jsonb, jsonb) is
  'The facts of a signature, with the years that were chosen of those that can be: refused unless they are what the signatory read, request.facts.';
grant execute on function private.signed_facts(jsonb, jsonb, jsonb) to api_owner;

create function private.shown_mandate(mandate core.mandates) returns jsonb
language sql stable
set search_path = ''
as $$
  select jsonb_build_object(
    'mandate_id', mandate.id,
    'status', case when mandate.status = 'signed' and mandate.valid_until < private.today() then 'expired' else mandate.status end,
    'document', mandate.document, 'document_sha256', mandate.document_sha256, 'signed_name', mandate.signed_name,
    'signed_at', private.iso(mandate.signed_at), 'code_sent_to', mandate.code_sent_to,
    'valid_from', mandate.valid_from, 'valid_until', mandate.valid_until, 'ended_at', private.iso(mandate.ended_at),
    'covered_until', case when mandate.covered_until >= mandate.valid_from then mandate.covered_until end)
$$;
comment on function private.shown_mandate(core.mandates) is 'What was signed, as its pages show it.';
grant execute on function private.shown_mandate(core.mandates) to api_owner;

create function private.may_sign_again(connection uuid) returns boolean
language plpgsql stable
set search_path = ''
as $$
begin
  return exists (
    select from core.connection_mandates m
     where m.partner_id = private.partner_id() and m.connection_id = may_sign_again.connection and m.status = 'active'
       and m.mandate_status in ('signed', 'expired') and private.can_sign(m.connection_id));
end $$;
comment on function private.may_sign_again(uuid) is
  'Whether who signed may sign again by themselves: in the last weeks of what they signed for, and after it. Not after a revocation, which somebody meant.';
grant execute on function private.may_sign_again(uuid) to api_owner;

create function private.mandate_link_view(link_id uuid) returns json
language plpgsql stable
set search_path = ''
as $$
declare
  link    core.mandate_links;
  partner core.partners;
  state   text;
begin
  select * into link from core.mandate_links l where l.partner_id = private.partner_id() and l.id = link_id;
  select * into partner from core.partners p where p.id = link.partner_id;
  state := private.link_state(link);
  if state not in ('open', 'signed', 'declined') then
    return json_build_object('state', state, 'locale', coalesce(link.locale, partner.locale));
  end if;
  return json_build_object(
    'state', state,
    'locale', coalesce(link.locale, partner.locale),
    'code_sent', coalesce(link.code_expires_at > private.now(), false),
    'partner_name', partner.name,
    'return_url', link.return_url,
    'facts', case when state = 'open' then private.connection_facts(link.connection_id) end,
    'periods', case when state = 'open' then private.mandate_periods(link.connection_id, link.validity_years) end,
    'offer', case when state = 'open' then (
      select private.offer(a.partner_id, a.payout_handler)
        from core.connections c join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
       where c.partner_id = link.partner_id and c.id = link.connection_id) end,
    'held_until', private.signed_until(link.connection_id),
    'signed', case when state = 'signed' then (
      select private.shown_mandate(m) from core.mandates m where m.partner_id = link.partner_id and m.link_id = link.id) end,
    'may_sign_again', state = 'signed' and private.may_sign_again(link.connection_id));
end $$;
comment on function private.mandate_link_view(uuid) is
  'What the pages of a link show. Stable, so that it is all of one moment: what may be signed is other once somebody has signed.';
grant execute on function private.mandate_link_view(uuid) to api_owner;

create function api.open_mandate_link(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.count_visit(request);
  return private.mandate_link_view((private.enter_link(caller, request)).id);
end $$;
comment on function api.open_mandate_link(jsonb, jsonb) is
  'What a link opens: {token_hash, address_hash} to {state: open|signed|declined|voided|expired|unknown, locale}, and where the state allows code_sent, partner_name, return_url, facts and the periods they may be signed for, offer, held_until, signed, may_sign_again.';
select private.expose('api.open_mandate_link(jsonb, jsonb)');

create function api.send_mandate_code(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  link      core.mandate_links;
  recipient text;
  rate      jsonb;
begin
  link := private.enter_link(caller, request);
  select * into link from core.mandate_links l where l.partner_id = link.partner_id and l.id = link.id for update;
  if private.link_state(link) <> 'open' then
    perform private.refuse('link_not_open');
  end if;
  recipient := private.connection_facts(link.connection_id) ->> 'email';
  if recipient is null then
    perform private.refuse('signatory_email_missing');
  end if;
  rate := private.debit('mandate_link:' || link.id, 'mandate_code');
  if not (rate ->> 'allowed')::boolean then
    perform private.refuse('too_many_codes', json_build_object('rate', rate));
  end if;
  update core.mandate_links l
     set code_hash = decode(request ->> 'code_hash', 'hex'), code_expires_at = private.code_expiry(), code_attempts = 0
   where l.partner_id = link.partner_id and l.id = link.id;
  perform private.enqueue_mail(request -> 'mail', recipient, 'mandate_code:' || link.id || ':' || (request ->> 'code_hash'));
  return json_build_object('ok', true);
end $$;
comment on function api.send_mandate_code(jsonb, jsonb) is
  'Mails a one-time code, good for ten minutes and five attempts; ten codes a day: {token_hash, code_hash, mail}.';
select private.expose('api.send_mandate_code(jsonb, jsonb)');

create function private.link_code_refusal(link core.mandate_links, code_hash text) returns text
language plpgsql
set search_path = ''
as $$
declare
  refused constant text := private.judge_code(link.code_hash, link.code_expires_at, link.code_attempts, code_hash);
begin
  if refused = 'wrong_code' then
    update core.mandate_links l set code_attempts = l.code_attempts + 1 where l.partner_id = link.partner_id and l.id = link.id;
  end if;
  return refused;
end $$;
comment on function private.link_code_refusal(core.mandate_links, text) is 'Why a one-time code is refused, or null; a wrong one is counted, so the refusal has to be an answer.';
grant execute on function private.link_code_refusal(core.mandate_links, text) to api_owner;

create function private.lock_link(link core.mandate_links) returns core.mandate_links
language plpgsql
set search_path = ''
as $$
begin
  -- connection first, as connections:update does, so that the two cannot wait for each other
  perform from core.connections c where c.partner_id = link.partner_id and c.id = link.connection_id for update;
  select * into link from core.mandate_links l where l.partner_id = link.partner_id and l.id = link.id for update;
  return link;
end $$;
grant execute on function private.lock_link(core.mandate_links) to api_owner;

create function private.record_signature(link core.mandate_links, facts jsonb, request jsonb, brought_by uuid default null) returns void
language plpgsql
set search_path = ''
as $$
declare
  terms record;
begin
  select * into strict terms from private.terms_of(link.connection_id, brought_by);
  insert into core.mandates
    (partner_id, connection_id, link_id, status, renewal, fee_pct, partner_share_pct, valid_from, valid_until, signed_name, signed_at, document,
     document_sha256, code_confirmed, code_sent_to, address, user_agent, locale)
  values
    (link.partner_id, link.connection_id, link.id, 'signed', (facts ->> 'valid_from')::date > private.today(),
     terms.fee_pct, terms.partner_share_pct, (facts ->> 'valid_from')::date, (facts ->> 'valid_until')::date,
     request ->> 'signed_name', private.now(), request ->> 'document', request ->> 'document_sha256',
     facts ->> 'email' is not null, facts ->> 'email', left(request ->> 'address', 64), left(request ->> 'user_agent', 400),
     request #>> '{mail,locale}');
  update core.mandate_links l set used_at = private.now(), code_hash = null where l.partner_id = link.partner_id and l.id = link.id;
  perform private.void_mandate_links(link.connection_id);
  perform private.request_mandate_document(link);
  perform private.judge_months(link.connection_id);
  perform private.emit(case when (facts ->> 'valid_from')::date > private.today() then 'mandate.renewed' else 'mandate.signed' end,
                       c.account_id, c.id, jsonb_build_object('connection_id', c.id, 'mandate_status', 'signed')),
          private.advance_registration(c.account_id, true)
     from core.connections c where c.partner_id = link.partner_id and c.id = link.connection_id;
  perform private.audit('mandate.signed', link.connection_id, jsonb_build_object('code_confirmed', facts ->> 'email' is not null));
end $$;
comment on function private.record_signature(core.mandate_links, jsonb, jsonb, uuid) is
  'The signature itself, its evidence and what follows from it, wherever it was given: {signed_name, document, document_sha256, address, user_agent} on facts. Who signs has been proven by the caller; brought_by is the partner who brings them with this signature.';
grant execute on function private.record_signature(core.mandate_links, jsonb, jsonb, uuid) to api_owner;

create function api.sign_mandate(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  link    core.mandate_links;
  facts   jsonb;
  refused text;
begin
  link := private.lock_link(private.enter_link(caller, request));
  if private.link_state(link) <> 'open' then
    perform private.refuse('link_not_open');
  end if;
  facts := private.signed_facts(private.connection_facts(link.connection_id),
                                private.mandate_periods(link.connection_id, link.validity_years), request);
  if facts ->> 'email' is not null then
    refused := private.link_code_refusal(link, request ->> 'code_hash');
    if refused is not null then
      return private.refusal(refused);
    end if;
  end if;
  perform private.record_signature(link, facts, request);
  if facts ->> 'email' is not null then
    perform private.enqueue_mail(request -> 'mail', facts ->> 'email', 'mandate_signed:' || link.id);
  end if;
  return json_build_object('ok', true);
end $$;
comment on function api.sign_mandate(jsonb, jsonb) is
  'Signs: {token_hash, facts, signed_name, code_hash, document, document_sha256, address, user_agent, mail}. '
  'facts, with the years that were chosen, must still be what was shown.';
select private.expose('api.sign_mandate(jsonb, jsonb)');

create function api.decline_mandate(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  link core.mandate_links;
begin
  link := private.lock_link(private.enter_link(caller, request));
  if private.link_state(link) <> 'open' then
    perform private.refuse('link_not_open');
  end if;
  insert into core.mandates (partner_id, connection_id, link_id, status, renewal, address, user_agent)
  values (link.partner_id, link.connection_id, link.id, 'declined', private.signed_until(link.connection_id) is not null, left(request ->> 'address', 64), left(request ->> 'user_agent', 400));
  update core.mandate_links l set used_at = private.now(), code_hash = null where l.partner_id = link.partner_id and l.id = link.id;
  perform private.audit('mandate.declined', link.connection_id);
  -- whoever declines the years after those that are signed for changes nothing
  perform private.emit('mandate.declined', c.account_id, c.id, jsonb_build_object('connection_id', c.id, 'mandate_status', 'declined'))
     from core.connections c
    where c.partner_id = link.partner_id and c.id = link.connection_id and private.signed_until(c.id) is null;
  return json_build_object('ok', true);
end $$;
comment on function api.decline_mandate(jsonb, jsonb) is 'Declines to sign: {token_hash, address, user_agent}. While a mandate holds that is for the years after it, and changes nothing.';
select private.expose('api.decline_mandate(jsonb, jsonb)');

create function private.issue_renewal_link(connection uuid, signed_by core.mandate_links, token_hash text, expires_at timestamptz) returns void
language sql
set search_path = ''
as $$
  -- one that the CPO issued meanwhile goes on working: who signs by either voids the other
  insert into core.mandate_links (partner_id, connection_id, token_hash, locale, validity_years, return_url, expires_at)
  values (private.partner_id(), connection, private.claim_token_hash(issue_renewal_link.token_hash), signed_by.locale, signed_by.validity_years,
          signed_by.return_url, issue_renewal_link.expires_at)
$$;
comment on function private.issue_renewal_link(uuid, core.mandate_links, text, timestamptz) is
  'A link by which who signed by an older one may sign again, in the same language, for as many years where those were fixed, and back to the same address.';
grant execute on function private.issue_renewal_link(uuid, core.mandate_links, text, timestamptz) to api_owner;

create function api.renew_mandate(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  link core.mandate_links;
  rate jsonb;
begin
  link := private.lock_link(private.enter_link(caller, request));
  if private.link_state(link) is distinct from 'signed' or not private.may_sign_again(link.connection_id) then
    perform private.refuse('link_not_open');
  end if;
  rate := private.debit('mandate_renewal:' || link.id, 'mandate_code');
  if not (rate ->> 'allowed')::boolean then
    perform private.refuse('too_many_codes', json_build_object('rate', rate));
  end if;
  perform private.issue_renewal_link(link.connection_id, link, request ->> 'new_token_hash', private.now() + interval '1209600 seconds');
  perform private.audit('mandate_link.issued', link.connection_id, '{"renewal": true}');
  return json_build_object('ok', true);
end $$;
comment on function api.renew_mandate(jsonb, jsonb) is
  'The bearer of a link that was signed by gets one to sign again, from 1 November of the last year on and after it: {token_hash, new_token_hash}. Ten a day.';
select private.expose('api.renew_mandate(jsonb, jsonb)');

-- Chargers, of accounts and of people.

create table core.chargers (
  partner_id         uuid        not null,
  id                 uuid        not null default gen_random_uuid(),
  account_id         uuid,
  connection_id      uuid,
  user_id            uuid,
  owner_id           uuid        not null default private.owner_id(),
  catalog_charger_id uuid,
  brand              text,
  serial_number      text,
  ocpp_vendor        text,
  ocpp_model         text,
  ocpp_meter_type    text,
  mid_eligible       boolean,
  nickname           text,
  connection_type    text        not null default 'other',
  power_kw           numeric(5, 1),
  ocpp_identity      text,
  ocpp_password_hash bytea,
  last_seen_at       timestamptz,
  latest_meter_wh    bigint,
  meter_updated_at   timestamptz,
  status             text        not null default 'active',
  created_at         timestamptz not null default private.now(),
  constraint chargers_pkey primary key (partner_id, id),
  constraint chargers_owner_key unique (partner_id, id, owner_id),
  constraint chargers_account_fkey foreign key (partner_id, account_id, owner_id) references core.accounts (partner_id, id, owner_id),
  constraint chargers_connection_fkey foreign key (partner_id, connection_id, owner_id) references core.connections (partner_id, id, owner_id),
  constraint chargers_user_id_fkey foreign key (user_id) references auth.users (id) on delete restrict,
  constraint chargers_owner check (case when user_id is null then num_nulls(account_id, connection_id, catalog_charger_id, brand) = 0
                                        else owner_id = user_id end),
  constraint chargers_catalog_charger_id_fkey foreign key (catalog_charger_id) references core.charger_models (id),
  constraint chargers_serial_number_shape check (serial_number ~ '^[^[:space:]a-z]{1,64}$'),
  constraint chargers_nickname_length check (length(nickname) between 1 and 100),
  constraint chargers_connection_type_known
    check (connection_type in ('easee', 'wallbox', 'zaptec', 'enphase', 'ocpp', 'smappee', 'v2c', 'other')),
  constraint chargers_power_kw_positive check (power_kw > 0),
  constraint chargers_ocpp_identity_shape check (ocpp_identity ~ '^[A-Za-z0-9_-]{1,64}$'),
  constraint chargers_ocpp_credentials_whole check (num_nulls(ocpp_identity, ocpp_password_hash) in (0, 2)),
  constraint chargers_ocpp_password_is_sha256 check (length(ocpp_password_hash) = 32),
  constraint chargers_status_known check (status in ('active', 'removed'))
);
comment on table core.chargers is
  'A charger of an account, bound to one of its connections; or of a person, who may have no account yet. serial_number is upper-case without spaces, and with its brand active on one account only, across all tenants.';
comment on column core.chargers.mid_eligible is 'Null while the evidence of a MID meter is still to be judged: it opens no gate.';
comment on column core.chargers.power_kw is 'The most it delivers to one car; null where nobody said. What a session is judged against.';
comment on column core.chargers.ocpp_password_hash is
  'SHA-256 of the 160 random bits that the charger sends in HTTP Basic (OCPP-J security profile 2); the gateway checks it, nobody reads it back.';
-- serves: charger_claimed; unique across tenants on purpose, taken by private.claim_serial_number
create unique index chargers_active_serial on core.chargers (brand, serial_number) where status = 'active';
-- serves: the gateway, which knows a charger by its identity alone; unique across tenants on purpose, taken by private.claim_ocpp_identity
create unique index chargers_active_ocpp_identity on core.chargers (ocpp_identity) where status = 'active';
-- serves: the chargers of an account, and its limit
create index chargers_account on core.chargers (partner_id, account_id);
-- serves: the gate mid_charger_registered
create index chargers_connection on core.chargers (partner_id, connection_id);
-- serves: the chargers of a person
create index chargers_user on core.chargers (user_id, created_at) where user_id is not null;
select private.isolate('core.chargers', 'select, insert, update');
select private.belong_with('core.chargers', 'core.accounts', 'account_id');
-- serves: the chargers whose MID evidence is to be judged, oldest first
create index chargers_unconfirmed on core.chargers (created_at, id) where status = 'active' and mid_eligible is null;

create function private.charger_name(charger core.chargers) returns text
language sql stable
set search_path = ''
as $$
  select coalesce(charger.nickname,
    (select concat_ws(' ', m.brand, m.model) from core.charger_models m where m.id = charger.catalog_charger_id), charger.ocpp_identity, 'Charger')
$$;
comment on function private.charger_name(core.chargers) is 'What its owner calls it, or else what it is.';
grant execute on function private.charger_name(core.chargers) to api_owner;

create function private.is_online(charger core.chargers) returns boolean
language sql stable
set search_path = ''
as $$ select coalesce(charger.last_seen_at > private.now() - interval '15 minutes', false) $$;
comment on function private.is_online(core.chargers) is 'Heard of in the last 15 minutes: OCPP chargers send a heartbeat at least that often.';
grant execute on function private.is_online(core.chargers) to api_owner;

create function private.charger_by_identity(identity text) returns core.chargers
language sql stable security definer
set search_path = ''
as $$ select h from core.chargers h where h.ocpp_identity = identity and h.status = 'active' $$;
comment on function private.charger_by_identity(text) is
  'Finds a charger before its tenant is known; definer for that reason alone.';
grant execute on function private.charger_by_identity(text) to api_owner;

create function private.charger_taken(brand text, serial_number text) returns boolean
language plpgsql stable security definer
set search_path = ''
as $$
begin
  return exists (select from core.chargers h
                  where h.brand = charger_taken.brand and h.serial_number = charger_taken.serial_number and h.status = 'active');
end $$;
comment on function private.charger_taken(text, text) is 'Whether a charger is active on some account. Definer, because it looks across tenants; the answer does not say whose.';
grant execute on function private.charger_taken(text, text) to api_owner;

create function private.claim_serial_number(brand text, serial_number text) returns boolean
language plpgsql
set search_path = ''
as $$
begin
  if serial_number is null then
    return true;
  end if;
  perform pg_advisory_xact_lock(hashtextextended('charger ' || brand || ' ' || serial_number, 0));
  return not private.charger_taken(brand, serial_number);
end $$;
comment on function private.claim_serial_number(text, text) is
  'Whether a serial number of a brand is free for a new charger; it then is until the end of the transaction, for nobody else gets an answer before. Whoever stores an active charger asks this first.';
grant execute on function private.claim_serial_number(text, text) to api_owner;

create function private.claim_ocpp_identity(identity text) returns boolean
language plpgsql
set search_path = ''
as $$
begin
  perform pg_advisory_xact_lock(hashtextextended('ocpp_identity ' || identity, 0));
  return (private.charger_by_identity(identity)).id is null;
end $$;
comment on function private.claim_ocpp_identity(text) is
  'Whether an identity is free for a new charger to connect by; it then is until the end of the transaction, for nobody else gets an answer before.';
grant execute on function private.claim_ocpp_identity(text) to api_owner;

create function private.lock_chargers(account uuid, person uuid) returns void
language plpgsql
set search_path = ''
as $$
begin
  if person is null then
    perform from core.accounts a where a.partner_id = private.partner_id() and a.id = account for no key update;
  else
    -- a person may have chargers and no account yet
    perform pg_advisory_xact_lock(hashtextextended('chargers of ' || person, 0));
  end if;
end $$;
comment on function private.lock_chargers(uuid, uuid) is
  'Until the end of the transaction nobody else adds a charger for this person, or where person is null, to this account of a CPO client. Taken before any lock on a connection.';
grant execute on function private.lock_chargers(uuid, uuid) to api_owner;

create function private.require_charger_room(account uuid, person uuid) returns int
language plpgsql
set search_path = ''
as $$
declare
  active int;
begin
  perform private.lock_chargers(account, person);
  if person is null then
    select count(*) into active from core.chargers h
     where h.partner_id = private.partner_id() and h.account_id = account and h.status = 'active';
  else
    select count(*) into active from core.chargers h where h.user_id = person and h.status = 'active';
  end if;
  if active >= 10 then
    perform private.refuse('charger_limit_reached');
  end if;
  return active;
end $$;
comment on function private.require_charger_room(uuid, uuid) is
  'Refuses an eleventh active charger of a person, or where person is null, of an account of a CPO client; else says how many there are.';
grant execute on function private.require_charger_room(uuid, uuid) to api_owner;

create function private.emit_charger(type text, charger core.chargers) returns void
language plpgsql security definer
set search_path = ''
as $$
declare
  about constant jsonb := jsonb_build_object('charger_id', charger.id, 'connection_id', charger.connection_id, 'mid_eligible', charger.mid_eligible);
begin
  if charger.account_id is not null then
    perform private.emit_all(charger.partner_id, emit_charger.type, array[row(charger.account_id, charger.id, about)::private.occurrence]);
  else
    perform private.tell(t.partner_id, t.partner_id, emit_charger.type, charger.id, about - 'charger_id' - 'connection_id', t.user_id)
       from core.attributions t where t.user_id = charger.user_id;
  end if;
end $$;
comment on function private.emit_charger(text, core.chargers) is
  'Writes an event of a charger, which a person may have before there is an account. Definer, because a person''s partner is another tenant.';
grant execute on function private.emit_charger(text, core.chargers) to api_owner;

create function private.add_own_charger(account uuid, connection uuid, chosen jsonb, details jsonb default '{}') returns uuid
language plpgsql
set search_path = ''
as $$
declare
  model   core.charger_models;
  charger core.chargers;
begin
  select * into model from core.charger_models m where m.id = (chosen ->> 'catalog_charger_id')::uuid;
  if not found then
    return null;
  elsif not private.claim_serial_number(model.brand, chosen ->> 'serial_number') then
    perform private.refuse('charger_claimed');
  end if;
  insert into core.chargers (partner_id, account_id, connection_id, user_id, catalog_charger_id, brand, serial_number, mid_eligible, nickname, power_kw)
  values (private.partner_id(), account, connection, private.user_id(), model.id, model.brand, chosen ->> 'serial_number', model.mid_meter,
          left(model.brand || ' ' || model.model, 100), (chosen ->> 'power_kw')::numeric)
  returning * into charger;
  perform private.audit('charger.registered', charger.id, details), private.emit_charger('charger.registered', charger);
  return charger.id;
end $$;
comment on function private.add_own_charger(uuid, uuid, jsonb, jsonb) is
  'A charger on the account of the person who acts: {catalog_charger_id, serial_number, power_kw?}; null where they put it off. Refuses a serial number that is taken.';
grant execute on function private.add_own_charger(uuid, uuid, jsonb, jsonb) to api_owner;

-- What the OCPP gateway asks and tells: may this charger connect, and what is it.

create function private.identify_charger(charger core.chargers, boot jsonb) returns void
language plpgsql
set search_path = ''
as $$
declare
  resolved constant private.charger_resolution :=
    private.resolve_charger(boot ->> 'ocpp_vendor', boot ->> 'ocpp_model', boot ->> 'ocpp_meter_type');
begin
  update core.chargers h
     set catalog_charger_id = m.id, brand = m.brand, mid_eligible = m.mid_meter, ocpp_vendor = boot ->> 'ocpp_vendor',
         ocpp_model = boot ->> 'ocpp_model', ocpp_meter_type = boot ->> 'ocpp_meter_type'
    from core.charger_models m
   where resolved.resolved and m.id = resolved.catalog_charger_id
     and h.partner_id = charger.partner_id and h.id = charger.id and h.catalog_charger_id is null
  returning h.* into charger;
  if found then
    perform private.audit('charger.identified', charger.id);
    if charger.mid_eligible is not null then
      perform private.emit_charger('charger.mid_confirmed', charger);
    end if;
    perform private.advance_registration(charger.account_id, true);
  end if;
end $$;
comment on function private.identify_charger(core.chargers, jsonb) is
  'What a charger''s BootNotification says it is, once: the model, and with it whether its meter is MID. Its earlier sessions count from then on.';
grant execute on function private.identify_charger(core.chargers, jsonb) to api_owner;

create function api.admit_charger(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  charger core.chargers := private.charger_by_identity(input ->> 'identity');
begin
  perform private.act_as(caller, 'worker');
  if charger.id is null or charger.ocpp_password_hash <> decode(input ->> 'password_hash', 'hex') then
    return json_build_object('ok', false);
  end if;
  perform private.act_for_partner(charger.partner_id);
  update core.chargers h set last_seen_at = private.now() where h.partner_id = charger.partner_id and h.id = charger.id;
  if charger.catalog_charger_id is null and input ->> 'ocpp_vendor' is not null and input ->> 'ocpp_model' is not null then
    perform private.identify_charger(charger, input);
  end if;
  return json_build_object('ok', true, 'charger_id', charger.id);
end $$;
comment on function api.admit_charger(jsonb, jsonb) is
  'The gateway asks, when a charger connects or boots and on its heartbeats: {identity, password_hash, ocpp_vendor, ocpp_model, ocpp_meter_type} '
  'to {ok, charger_id}. Marks it as heard of, and settles what it is.';
select private.expose('api.admit_charger(jsonb, jsonb)');

-- The four gates of eligibility, computed here and nowhere else.

-- Three of the four, those of the connection itself: both views below add whether the account has an IBAN, each from the row of
-- core.accounts that it reads anyway.
create view core.connection_checks with (security_invoker = true) as
select c.partner_id,
       c.account_id,
       c.connection_id,
       c.created_at,
       c.valid_from as mandate_valid_from,
       c.mandate_status = 'signed' as mandate_signed,
       coalesce(c.ean_validation_status in ('matched', 'manual'), false) as ean_validated,
       h.found is not null as mid_charger_registered
  from core.connection_mandates c
  -- a join and not an exists: who orders by a gate and shows it too would run an exists twice
  left join lateral (
    select true as found from core.chargers h
     where h.partner_id = c.partner_id and h.connection_id = c.connection_id and h.status = 'active' and h.mid_eligible limit 1) h on true
 where c.status = 'active';
comment on view core.connection_checks is
  'The gates of every active connection that are its own: signed mandate, validated EAN, registered MID charger.';
grant select on core.connection_checks to api_owner;

create view core.connection_gates with (security_invoker = true) as
select g.*, a.iban_ciphertext is not null as iban_present
  from core.connection_checks g
  join core.accounts a on a.partner_id = g.partner_id and a.id = g.account_id;
comment on view core.connection_gates is
  'The four gates of every active connection: signed mandate, validated EAN, registered MID charger, IBAN. Eligibility is computed here and nowhere else.';
grant select on core.connection_gates to api_owner;

-- The account itself is in it, as the connection is in core.connection_mandates.
create view core.account_gates with (security_invoker = true) as
select a.partner_id,
       a.id as account_id,
       a.client_id,
       a.cpo_external_ref,
       a.payout_handler,
       a.created_at,
       json_build_object('mandate_signed', coalesce(g.mandate_signed, false),
                         'ean_validated', coalesce(g.ean_validated, false),
                         'mid_charger_registered', coalesce(g.mid_charger_registered, false),
                         'iban_present', a.iban_ciphertext is not null) as checklist,
       coalesce(g.mandate_signed and g.ean_validated and g.mid_charger_registered and a.iban_ciphertext is not null, false) as ere_eligible,
       case when g.mandate_signed then g.mandate_valid_from end as mandate_valid_from
  from core.accounts a
  -- of several connections the one with which most gates hold stands for the account: it is eligible exactly when all four hold for one of them
  left join lateral (
    select * from core.connection_checks g
     where g.partner_id = a.partner_id and g.account_id = a.id
     order by g.mandate_signed::int + g.ean_validated::int + g.mid_charger_registered::int desc, g.created_at, g.connection_id
     limit 1) g on true;
comment on view core.account_gates is 'An account and its checklist, whether it is ERE-eligible, and from when its mandate holds.';
grant select on core.account_gates to api_owner;

create function private.closed_gates(connection core.connections) returns text[]
language plpgsql stable
set search_path = ''
as $$
begin
  return (
    select array_remove(array[case when not g.mandate_signed then 'mandate_signed' end,
                              case when not g.ean_validated then 'ean_validated' end,
                              case when not g.mid_charger_registered then 'mid_charger_registered' end,
                              case when not g.iban_present then 'iban_present' end], null)
      from core.connection_gates g where g.partner_id = connection.partner_id and g.connection_id = connection.id);
end $$;
comment on function private.closed_gates(core.connections) is 'The gates of a connection that are closed, by their names in the checklist.';
grant execute on function private.closed_gates(core.connections) to api_owner;

create function private.grounds_to_reject(connection core.connections) returns text[]
language plpgsql stable
set search_path = ''
as $$ begin return array_remove(private.closed_gates(connection), 'iban_present'); end $$;
comment on function private.grounds_to_reject(core.connections) is
  'The closed gates that keep a registration from being approved: one may have closed since it was submitted. A missing IBAN does not.';
grant execute on function private.grounds_to_reject(core.connections) to api_owner;

-- The registration of a connection: concept, submitted, reviewed.

create function private.note_eligibility(tenant uuid, accounts uuid[]) returns void
language plpgsql
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  turned private.occurrence[];
begin
  with now_so as (
    update core.accounts a set eligibility_told = g.ere_eligible
      from core.account_gates g
     where a.partner_id = tenant and a.id = any (accounts) and a.client_id is not null
       and g.partner_id = tenant and g.account_id = a.id and g.ere_eligible <> a.eligibility_told
    returning a.id, g.ere_eligible, g.checklist
  )
  select array_agg(row(n.id, null, jsonb_build_object('ere_eligible', n.ere_eligible, 'checklist', n.checklist))::private.occurrence order by n.id)
    into turned from now_so n;
  if turned is not null then
    perform private.emit_all(tenant, 'account.eligibility_changed', turned);
  end if;
end $$;
comment on function private.note_eligibility(uuid, uuid[]) is
  'Writes an event for each of these accounts of CPO clients that has become ERE-eligible, or is not any more. Called after anything that can close a gate; private.advance_registration calls it after what can open one.';
grant execute on function private.note_eligibility(uuid, uuid[]) to api_owner;

create function private.advance_registration(account uuid, corrected boolean default false) returns void
language plpgsql
set search_path = ''
as $$
declare
  submitted uuid;
begin
  perform private.note_eligibility(private.partner_id(), array[account]);
  for submitted in
    update core.connections c
       set registration_status = 'ingediend', submitted_at = private.now()
      from core.connection_gates g
      join core.accounts a on a.partner_id = g.partner_id and a.id = g.account_id
     where g.account_id = account and g.partner_id = c.partner_id and g.connection_id = c.id
       and (c.registration_status = 'concept' or corrected and c.registration_status = 'afgekeurd')
       and g.mandate_signed
       and case a.access_channel
             when 'user' then exists (select from core.chargers h
                                       where h.partner_id = c.partner_id and h.connection_id = c.id and h.status = 'active')
             else g.ean_validated and g.mid_charger_registered and g.iban_present end
    returning c.id
  loop
    perform private.emit('registration.submitted', account, submitted,
                         jsonb_build_object('connection_id', submitted, 'registration_status', 'ingediend'));
  end loop;
end $$;
comment on function private.advance_registration(uuid, boolean) is
  'Submits the registration of a connection: of a CPO''s account by itself once all four gates hold, of a person''s when they have done their part, a signature and a charger; review judges the rest. Called after anything that can open a gate; corrected says that it is an answer to a rejection.';
grant execute on function private.advance_registration(uuid, boolean) to api_owner;

create function private.review_registration(connection core.connections, verdict text) returns void
language plpgsql
set search_path = ''
as $$
begin
  update core.connections c set registration_status = verdict
   where c.partner_id = connection.partner_id and c.id = connection.id;
  perform private.audit('registration.reviewed', connection.id, jsonb_build_object('verdict', verdict));
  perform private.emit(case verdict when 'goedgekeurd' then 'registration.approved' else 'registration.rejected' end, connection.account_id, connection.id,
                       jsonb_build_object('connection_id', connection.id, 'registration_status', verdict));
  perform private.notify(connection.account_id, case verdict when 'goedgekeurd' then 'registration_approved' else 'registration_rejected' end,
                         'registration:' || connection.id || ':' || private.iso(connection.submitted_at),
                         case verdict when 'afgekeurd' then jsonb_build_object('grounds', private.grounds_to_reject(connection)) else '{}' end,
                         connection.id);
end $$;
comment on function private.review_registration(core.connections, text) is
  'Decides a submitted registration, its row locked: goedgekeurd or afgekeurd, and has the signatory told. On what ground is for the reviewer who asks.';
grant execute on function private.review_registration(core.connections, text) to api_owner;

-- POST /v1/chargers.

create function private.charger_answer(charger core.chargers, idempotent boolean) returns json
language sql stable
set search_path = ''
as $$
  select json_build_object(
    'ok', true,
    'idempotent', idempotent,
    'charger_id', charger.id,
    'catalog', private.catalog_charger(m),
    'mid_eligible', charger.mid_eligible,
    'account_ere_eligible', (select g.ere_eligible from core.account_gates g
                              where g.partner_id = charger.partner_id and g.account_id = charger.account_id))
  from core.charger_models m where m.id = charger.catalog_charger_id
$$;
grant execute on function private.charger_answer(core.chargers, boolean) to api_owner;

create function private.choose_model(input jsonb) returns core.charger_models
language plpgsql
set search_path = ''
as $$
declare
  chosen   core.charger_models;
  resolved private.charger_resolution;
begin
  if input ->> 'catalog_charger_id' is not null then
    select * into chosen from core.charger_models m
     where m.id = (input ->> 'catalog_charger_id')::uuid and (m.mid_meter is not null or m.listed);
    if not found then
      perform private.refuse('catalog_unresolved', json_build_object('suggestions', '[]'::json));
    end if;
  else
    resolved := private.resolve_charger(input ->> 'ocpp_vendor', input ->> 'ocpp_model', input ->> 'ocpp_meter_type');
    if not resolved.resolved then
      perform private.refuse('catalog_unresolved', json_build_object('detail', resolved.detail, 'suggestions', resolved.suggestions));
    end if;
    select * into chosen from core.charger_models m where m.id = resolved.catalog_charger_id;
  end if;
  return chosen;
end $$;
comment on function private.choose_model(jsonb) is
  'The catalogue model of {catalog_charger_id} or {ocpp_vendor, ocpp_model, ocpp_meter_type}; the id wins when both are sent.';
grant execute on function private.choose_model(jsonb) to api_owner;

create function private.known_charger(account uuid, serial text) returns core.chargers
language plpgsql stable
set search_path = ''
as $$
declare
  charger core.chargers;
begin
  -- through the account, where row-level security holds the client as well as the tenant
  select h.* into charger
    from core.accounts a join core.chargers h on h.partner_id = a.partner_id and h.account_id = a.id
   where a.id = account and h.serial_number = serial and h.status = 'active';
  return charger;
end $$;
comment on function private.known_charger(uuid, text) is 'The active charger of an account with a serial number, or null: the idempotency key.';
grant execute on function private.known_charger(uuid, text) to api_owner;

create function api.repeat_charger(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  charger core.chargers;
begin
  perform private.act_as(caller, 'cpo');
  charger := private.known_charger((input ->> 'account_id')::uuid, input ->> 'serial_number');
  return case when charger.id is not null then private.charger_answer(charger, true) end;
end $$;
comment on function api.repeat_charger(jsonb, jsonb) is
  'POST /v1/chargers when the rest of the body cannot be used: {account_id, serial_number} to the charger''s answer, or null when it is new.';
select private.expose('api.repeat_charger(jsonb, jsonb)');

create function api.register_charger(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  serial     constant text := input ->> 'serial_number';
  account    uuid;
  connection uuid;
  model      core.charger_models;
  charger    core.chargers;
begin
  perform private.act_as(caller, 'cpo');
  account := private.find_account(input);
  -- of parallel registrations of one charger the later ones wait here, and then find it
  perform private.lock_chargers(account, null);
  charger := private.known_charger(account, serial);
  if charger.id is not null then
    return private.charger_answer(charger, true);
  end if;
  connection := private.pick_connection(account, (input ->> 'connection_id')::uuid, true);
  model := private.choose_model(input);
  if serial is null then
    select h.* into charger from core.chargers h
     where h.partner_id = private.partner_id() and h.account_id = account and h.status = 'active'
       and h.serial_number is null and h.catalog_charger_id = model.id;
    if found then
      return private.charger_answer(charger, true);
    end if;
  end if;
  if private.require_charger_room(account, null) > 0 and serial is null then
    perform private.refuse('serial_number_required');
  elsif not private.claim_serial_number(model.brand, serial) then
    perform private.refuse('charger_claimed');
  end if;

  insert into core.chargers
    (partner_id, account_id, connection_id, catalog_charger_id, brand, serial_number, ocpp_vendor, ocpp_model, ocpp_meter_type, mid_eligible)
  values
    (private.partner_id(), account, connection, model.id, model.brand, serial, input ->> 'ocpp_vendor', input ->> 'ocpp_model',
     input ->> 'ocpp_meter_type', model.mid_meter)
  returning * into charger;
  perform private.advance_registration(account, true);
  perform private.audit('charger.registered', charger.id);
  return private.charger_answer(charger, false);
end $$;
comment on function api.register_charger(jsonb, jsonb) is
  'POST /v1/chargers: {account_id, connection_id, catalog_charger_id | ocpp_vendor, ocpp_model, ocpp_meter_type, serial_number}.';
select private.expose('api.register_charger(jsonb, jsonb)');

-- Delivered months: one total a connection and month, with the raw deliveries and every replaced value kept for audit.

create table core.deliveries (
  partner_id    uuid        not null,
  id            uuid        not null default gen_random_uuid(),
  connection_id uuid        not null,
  owner_id      uuid        not null default private.owner_id(),
  client_id     uuid        not null,
  request_id    text        not null,
  body          text        not null,
  body_sha256   text        not null,
  received_at   timestamptz not null default private.now(),
  constraint deliveries_pkey primary key (partner_id, id),
  constraint deliveries_connection_fkey foreign key (partner_id, connection_id, owner_id) references core.connections (partner_id, id, owner_id)
);
comment on table core.deliveries is 'A call of sessions:batch as it came in, for the regulator''s audit. Append-only, kept seven years.';
-- serves: the deliveries of a connection
create index deliveries_connection on core.deliveries (partner_id, connection_id, received_at);
select private.isolate('core.deliveries', 'select, insert');
select private.belong_with('core.deliveries', 'core.connections', 'connection_id');

create table core.delivered_months (
  partner_id    uuid           not null,
  connection_id uuid           not null,
  owner_id      uuid           not null default private.owner_id(),
  period        date           not null,
  total_kwh     numeric(12, 3) not null,
  session_count int            not null,
  source        text           not null,
  status        text           not null,
  locked        boolean        not null generated always as (status in ('submitted', 'registered')) stored,
  delivery_id   uuid,
  received_at   timestamptz    not null,
  constraint delivered_months_pkey primary key (partner_id, connection_id, period),
  constraint delivered_months_connection_fkey foreign key (partner_id, connection_id, owner_id) references core.connections (partner_id, id, owner_id),
  constraint delivered_months_delivery_fkey foreign key (partner_id, delivery_id) references core.deliveries (partner_id, id),
  constraint delivered_months_period_is_month check (period = date_trunc('month', period)),
  constraint delivered_months_total_kwh_range check (total_kwh between 0 and 1000000),
  constraint delivered_months_session_count_positive check (session_count >= 0),
  constraint delivered_months_status_known check (status in ('staged', 'outside_mandate', 'submitted', 'registered', 'rejected'))
);
-- serves: the months of a quarter, for a booking
create index delivered_months_period on core.delivered_months (partner_id, period);
comment on table core.delivered_months is
  'The kWh of one connection in one month. Kept seven years.';
comment on column core.delivered_months.locked is 'Registered as ERE, or about to be: no delivery changes it any more.';
comment on column core.delivered_months.delivery_id is 'Null where the month is the sum of charging sessions that came in one by one.';
select private.isolate('core.delivered_months', 'select, insert, update');
select private.belong_with('core.delivered_months', 'core.connections', 'connection_id');

create table core.replaced_months (
  partner_id    uuid           not null,
  id            bigint generated always as identity,
  connection_id uuid           not null,
  owner_id      uuid           not null default private.owner_id(),
  period        date           not null,
  total_kwh     numeric(12, 3) not null,
  session_count int            not null,
  delivery_id   uuid,
  received_at   timestamptz    not null,
  replaced_at   timestamptz    not null default private.now(),
  constraint replaced_months_pkey primary key (partner_id, id),
  constraint replaced_months_connection_fkey foreign key (partner_id, connection_id, owner_id) references core.connections (partner_id, id, owner_id)
);
comment on table core.replaced_months is 'Each total that a later delivery replaced by another. Append-only, kept seven years.';
-- serves: the history of one month
create index replaced_months_month on core.replaced_months (partner_id, connection_id, period);
select private.isolate('core.replaced_months', 'select, insert');
select private.belong_with('core.replaced_months', 'core.connections', 'connection_id');

create function private.first_delivery_month() returns date
language sql immutable
return date '2026-01-01';
comment on function private.first_delivery_month() is 'Deliveries count from 2026-01.';
grant execute on function private.first_delivery_month() to api_owner;

create view core.connection_coverage with (security_invoker = true) as
select m.partner_id,
       m.connection_id,
       bool_or(m.status <> 'declined') as decided,
       range_agg(daterange(m.valid_from, m.covered_until, '[]')) filter (where m.covered_until >= m.valid_from) as covered
  from core.mandates m
 group by m.partner_id, m.connection_id;
comment on view core.connection_coverage is
  'Whether anybody decided about a mandate of a connection, and the days that its mandates cover. Read once for all months of a connection; no row where nobody was asked.';
grant select on core.connection_coverage to api_owner;

create function private.judge_month(coverage core.connection_coverage, period date) returns text
language sql immutable
return case when (coverage).decided is not true then 'staged'  -- nobody has signed yet: kept until somebody does
            when period >= private.first_delivery_month() and period <@ (coverage).covered then 'staged'
            else 'outside_mandate' end;
comment on function private.judge_month(core.connection_coverage, date) is 'Whether a month lies inside a mandate of its connection: staged, or outside_mandate.';
grant execute on function private.judge_month(core.connection_coverage, date) to api_owner;

create function private.coverage_of(connection uuid) returns core.connection_coverage
language plpgsql stable
set search_path = ''
as $$
declare
  coverage core.connection_coverage;
begin
  select * into coverage from core.connection_coverage k where k.partner_id = private.partner_id() and k.connection_id = coverage_of.connection;
  return coverage;
end $$;
comment on function private.coverage_of(uuid) is 'What the mandates of a connection cover; all null where nobody was asked.';
grant execute on function private.coverage_of(uuid) to api_owner;

create function private.month_status(connection uuid, period date) returns text
language plpgsql stable
set search_path = ''
as $$ begin return private.judge_month(private.coverage_of(connection), period); end $$;
comment on function private.month_status(uuid, date) is 'judge_month for a single month, of which nobody has read the coverage.';
grant execute on function private.month_status(uuid, date) to api_owner;

create function private.judge_months(connection uuid) returns void
language plpgsql
set search_path = ''
as $$
declare
  coverage constant core.connection_coverage := private.coverage_of(connection);
begin
  update core.delivered_months d
     set status = private.judge_month(coverage, d.period)
   where d.partner_id = private.partner_id() and d.connection_id = connection
     and d.status in ('staged', 'outside_mandate')
     and d.status <> private.judge_month(coverage, d.period);
end $$;
comment on function private.judge_months(uuid) is 'Judges a connection''s open months again, after a signature or its end. Locked months stay as they are.';
grant execute on function private.judge_months(uuid) to api_owner;

-- Which delivered months count toward ERE, and what they are worth. Whoever shows ERE reads core.counted_months.

create table core.ere_factors (
  delivery_year   int           not null,
  renewable_share numeric(5, 4) not null,
  -- 183 g CO2-eq per MJ avoided, 3.6 MJ per kWh, 1000 g per ERE
  ere_per_kwh     numeric(9, 6) not null generated always as (renewable_share * 183 * 3.6 / 1000) stored,
  bookable_until  date,
  constraint ere_factors_pkey primary key (delivery_year),
  constraint ere_factors_share_is_share check (renewable_share between 0 and 1)
);
comment on table core.ere_factors is 'What a delivered kWh is worth in ERE, by the year of delivery. Published by the authority; reference data. A share by which something was booked never changes.';
comment on column core.ere_factors.bookable_until is 'The last day on which the register takes months of this year; null while it has not said.';
alter table core.ere_factors enable row level security;
create policy "api functions read the factors" on core.ere_factors for select to api_owner using (true);
grant select on core.ere_factors to api_owner;

insert into core.ere_factors (delivery_year, renewable_share) values (2026, 0.505);

create view core.counted_months with (security_invoker = true) as
select d.partner_id, d.connection_id, d.period, d.total_kwh, d.session_count, d.status, f.ere_per_kwh, d.total_kwh * f.ere_per_kwh as ere, d.received_at
  from core.delivered_months d
  join core.ere_factors f on f.delivery_year = extract(year from d.period)
 where d.locked
    or d.status = 'staged' and exists (
         select from core.mandates m
          where m.partner_id = d.partner_id and m.connection_id = d.connection_id
            and d.period between m.valid_from and m.covered_until);
comment on view core.counted_months is
  'The delivered months that count toward ERE: inside a mandate, or booked already. A month that is staged because nobody has signed yet is not among them.';
grant select on core.counted_months to api_owner;

-- POST /v1/sessions:batch.

create type private.batch_item as (
  place         int,
  period_sent   text,
  period        date,
  total_kwh     numeric,
  session_count numeric,
  reason        text);

create function private.read_batch(months jsonb) returns setof private.batch_item
language sql stable
begin atomic
  -- read once: written into the rest, each of these expressions would be evaluated four times over
  with sent as materialized (
    select m.place,
           m.period as period_sent,
           case when m.period ~ '^[12][0-9]{3}-(0[1-9]|1[0-2])(-01)?$' then to_date(left(m.period, 7), 'YYYY-MM') end as period,
           case when jsonb_typeof(m.total_kwh) = 'number' and m.total_kwh::numeric between 0 and 1000000 then round(m.total_kwh::numeric, 3) end as total_kwh,
           case when coalesce(jsonb_typeof(m.session_count), 'null') = 'null' then 0
                when jsonb_typeof(m.session_count) = 'number' and m.session_count::numeric between 0 and 1000000 then m.session_count::numeric end as session_count
      from rows from (jsonb_to_recordset(months) as (period text, total_kwh jsonb, session_count jsonb)) with ordinality as m (period, total_kwh, session_count, place)
  )
  select place::int, period_sent, period, total_kwh, session_count,
         case when period is null then 'bad_period'
              when count(*) over (partition by period) > 1 then 'duplicate_in_batch'
              when period > private.today() then 'future_period'
              when total_kwh is null then 'bad_kwh'
              when session_count is null or session_count <> trunc(session_count) then 'bad_session_count' end
    from sent;
end;
comment on function private.read_batch(jsonb) is
  'The items of a batch in their order, each read on its own: reason is null, bad_period, duplicate_in_batch, future_period, bad_kwh or bad_session_count. kWh, three decimals.';
grant execute on function private.read_batch(jsonb) to api_owner;

create function private.lock_for_delivery(account uuid, wanted uuid) returns uuid
language plpgsql
set search_path = '' set plan_cache_mode = 'force_generic_plan'
as $$
declare
  connection uuid;
begin
  select c.id into connection
    from core.accounts a
    join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id and c.status = 'active' and (wanted is null or c.id = wanted)
   where a.partner_id = private.partner_id() and a.id = account
   order by c.created_at, c.id limit 1
     for no key update of c;
  if not found then
    -- these know why not, in the words of the API
    perform private.find_account(json_build_object('account_id', account)::jsonb);
    connection := private.pick_connection(account, wanted, true);
    perform from core.connections c where c.partner_id = private.partner_id() and c.id = connection for no key update;
  end if;
  return connection;
end $$;
comment on function private.lock_for_delivery(uuid, uuid) is
  'The active connection of an account that months are delivered for, the one wanted or the first, locked: one batch, signature or booking at a time.';
grant execute on function private.lock_for_delivery(uuid, uuid) to api_owner;

create function api.ingest_months(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = '' set plan_cache_mode = 'force_generic_plan'
as $$
declare
  delivery   constant uuid := gen_random_uuid();
  account    constant uuid := (input ->> 'account_id')::uuid;
  tenant     uuid;
  owner      uuid;
  connection uuid;
  coverage   core.connection_coverage;
  answer     json;
begin
  perform private.act_as(caller, 'cpo');
  tenant := private.partner_id();
  owner := private.owner_id();
  connection := private.lock_for_delivery(account, (input ->> 'connection_id')::uuid);
  coverage := private.coverage_of(connection);

  with delivered as (
    insert into core.deliveries (partner_id, id, connection_id, owner_id, client_id, request_id, body, body_sha256)
    values (tenant, delivery, connection, owner, private.client_id(), caller ->> 'request_id', input ->> 'body', input ->> 'body_sha256')
  ), judged as materialized (
    select b.*, coalesce(d.locked, false) as locked,
           d.total_kwh as old_kwh, d.session_count as old_count, d.delivery_id as old_delivery, d.received_at as old_received_at,
           private.judge_month(coverage, b.period) as new_status
      from private.read_batch(input -> 'months') b
      left join core.delivered_months d on d.partner_id = tenant and d.connection_id = connection and d.period = b.period and b.reason is null
  ), kept as (
    insert into core.replaced_months (partner_id, connection_id, owner_id, period, total_kwh, session_count, delivery_id, received_at)
    select tenant, connection, owner, j.period, j.old_kwh, j.old_count, j.old_delivery, j.old_received_at
      from judged j
     where j.reason is null and not j.locked and (j.old_kwh, j.old_count) is distinct from (j.total_kwh, j.session_count::int)
       and j.old_kwh is not null
  ), stored as (
    insert into core.delivered_months as d
      (partner_id, connection_id, owner_id, period, total_kwh, session_count, source, status, delivery_id, received_at)
    select tenant, connection, owner, j.period, j.total_kwh, j.session_count::int, input ->> 'source', j.new_status, delivery, private.now()
      from judged j where j.reason is null and not j.locked
    on conflict on constraint delivered_months_pkey do update
       set total_kwh = excluded.total_kwh, session_count = excluded.session_count, source = excluded.source,
           status = excluded.status, delivery_id = excluded.delivery_id, received_at = excluded.received_at
     where not d.locked
  ), results as (
    select j.place, j.period_sent as period, j.reason,
           case when j.reason is not null then 'invalid'
                when j.locked then 'locked'
                when j.new_status = 'outside_mandate' then 'outside_mandate'
                else 'ingested' end as status
      from judged j
  )
  select json_build_object(
    'ok', true,
    'account_id', account,
    'connection_id', connection,
    'accepted', count(*) filter (where r.status = 'ingested'),
    'outside_mandate', count(*) filter (where r.status = 'outside_mandate'),
    'locked', count(*) filter (where r.status = 'locked'),
    'invalid', count(*) filter (where r.status = 'invalid'),
    'results', json_agg(case when r.reason is null then row_to_json(stored) else row_to_json(invalid) end order by r.place))
  into answer
  from results r
  cross join lateral (select r.period, r.status) stored
  cross join lateral (select r.period, r.status, r.reason) invalid;
  return answer;
end $$;
comment on function api.ingest_months(jsonb, jsonb) is
  'POST /v1/sessions:batch: {account_id, connection_id, source, months, body, body_sha256}. One set-based statement; a bad item is a result, never an exception.';
select private.expose('api.ingest_months(jsonb, jsonb)');

-- Charging sessions, and the totals of each charger and month.
--
-- A session belongs whole to the Dutch month in which it started: a split over midnight would be an estimate, while this is
-- what the meter said, can be recomputed from the list, and never moves while the car is still charging.

-- Every key has the tenant and the charger in it, so that the table can be partitioned by the hash of the charger. As long as nobody
-- has analyzed it, one charger looks to the planner as few rows as one session, and the smaller index wins. So in the primary key the
-- id comes before the charger, or overlaps would be looked for in it; and charging_sessions_charger has the id in it, or sessions would
-- be looked up by that.
create table core.charging_sessions (
  partner_id    uuid        not null,
  charger_id    uuid        not null,
  id            uuid        not null default gen_random_uuid(),
  arrival       bigint      not null generated always as identity,
  connection_id uuid,
  owner_id      uuid        not null default private.owner_id(),
  source        text        not null,
  external_id   text        not null,
  connector     int         not null default 1,
  started_at    timestamptz not null,
  ended_at      timestamptz,
  wh            bigint      not null,
  status        text        not null,
  flags         text[]      not null default '{}',
  received_at   timestamptz not null,
  month         date        not null generated always as (date_trunc('month', started_at at time zone 'Europe/Amsterdam')::date) stored,
  counted       boolean     not null generated always as (ended_at is not null and flags <@ '{after_lock}') stored,
  constraint charging_sessions_pkey primary key (partner_id, id, charger_id),
  constraint charging_sessions_external_id_key unique (partner_id, external_id, source, charger_id),
  constraint charging_sessions_charger_fkey foreign key (partner_id, charger_id, owner_id) references core.chargers (partner_id, id, owner_id),
  constraint charging_sessions_connection_fkey foreign key (partner_id, connection_id, owner_id) references core.connections (partner_id, id, owner_id),
  constraint charging_sessions_status_known check (status in ('active', 'charging', 'completed')),
  constraint charging_sessions_completed_has_end check ((status = 'completed') = (ended_at is not null)),
  constraint charging_sessions_flags_known check (
    flags <@ '{negative,ends_before_start,wrong_clock,too_long,beyond_power,overlapping,after_lock}')
);
comment on table core.charging_sessions is
  'One charge of one car, as its source last told it. Implausible ones are flagged and kept, and counted in no total. Personal data; kept seven years.';
comment on column core.charging_sessions.arrival is 'The order in which sessions came in: of two that overlap the first stands.';
comment on column core.charging_sessions.connection_id is 'The connection the charger was bound to when the session came in, or else the first one it was bound to afterwards.';
comment on column core.charging_sessions.flags is
  'after_lock: it came, or changed, after its month was locked, so the energy counts and the booked ERE does not move. Every other flag keeps it out of all totals.';
-- serves: overlaps, and the total of a charger's month
create index charging_sessions_charger on core.charging_sessions (partner_id, charger_id, started_at, id);
-- serves: GET /sessions, newest first, of one charger too: a person has ten at most
create index charging_sessions_owner on core.charging_sessions (owner_id, started_at desc, id desc);
-- serves: the delivered month of a connection
create index charging_sessions_connection on core.charging_sessions (partner_id, connection_id, month);
-- serves: the session that is going on at a charger
create index charging_sessions_open on core.charging_sessions (partner_id, charger_id) where ended_at is null;
-- serves: what came too late for a booking
create index charging_sessions_after_lock on core.charging_sessions (partner_id, month) where 'after_lock' = any (flags);
select private.isolate('core.charging_sessions', 'select, insert, update');
select private.belong_with('core.charging_sessions', 'core.chargers', 'charger_id');

create table core.replaced_charging_sessions (
  partner_id  uuid        not null,
  charger_id  uuid        not null,
  id          bigint      generated always as identity,
  session_id  uuid        not null,
  owner_id    uuid        not null default private.owner_id(),
  month       date        not null,
  started_at  timestamptz not null,
  ended_at    timestamptz not null,
  wh          bigint      not null,
  flags       text[]      not null,
  received_at timestamptz not null,
  replaced_at timestamptz not null default private.now(),
  constraint replaced_charging_sessions_pkey primary key (partner_id, charger_id, id),
  constraint replaced_charging_sessions_session_fkey foreign key (partner_id, charger_id, session_id) references core.charging_sessions (partner_id, charger_id, id),
  -- a session has the owner of its charger, and so has what it said before
  constraint replaced_charging_sessions_charger_fkey foreign key (partner_id, charger_id, owner_id) references core.chargers (partner_id, id, owner_id)
);
comment on table core.replaced_charging_sessions is
  'What a completed session said before its source corrected it. Append-only, kept seven years.';
-- serves: the history of one session
create index replaced_charging_sessions_session on core.replaced_charging_sessions (partner_id, charger_id, session_id);
select private.isolate('core.replaced_charging_sessions', 'select, insert');
select private.belong_with('core.replaced_charging_sessions', 'core.chargers', 'charger_id');

create table core.charger_months (
  partner_id uuid   not null,
  charger_id uuid   not null,
  month      date   not null,
  owner_id   uuid   not null default private.owner_id(),
  wh         bigint not null,
  sessions   int    not null,
  constraint charger_months_pkey primary key (partner_id, charger_id, month),
  constraint charger_months_charger_fkey foreign key (partner_id, charger_id, owner_id) references core.chargers (partner_id, id, owner_id),
  constraint charger_months_month_is_month check (month = date_trunc('month', month))
);
comment on table core.charger_months is
  'The counted sessions of one charger and month, added up: always the sum of core.charging_sessions, so that no reader adds sessions. Kept as long as they are.';
-- serves: GET /energy
create index charger_months_owner on core.charger_months (owner_id, month);
select private.isolate('core.charger_months', 'select, insert, update');
select private.belong_with('core.charger_months', 'core.chargers', 'charger_id');

-- Reading charging sessions: what came in, item by item, and what is implausible about it.

create type private.charging_session_item as (
  place       int,
  charger_id  uuid,
  source      text,
  external_id text,
  connector   int,
  started_at  timestamptz,
  ended_at    timestamptz,
  wh          bigint,
  status      text,
  meter_wh    bigint,
  reason      text);

create function private.read_charging_sessions(sessions jsonb) returns setof private.charging_session_item
language sql stable
set search_path = ''
as $$
  with sent as (
    select i.item,
           coalesce((i.item ->> 'place')::int, i.ordinality::int) as place,
           private.as_uuid(i.item ->> 'charger_id') as charger_id,
           case when length(i.item ->> 'source') between 1 and 40 then i.item ->> 'source' end as source,
           case when length(i.item ->> 'external_id') between 1 and 120 then i.item ->> 'external_id' end as external_id,
           case when i.item ->> 'connector' is null then 1
                when private.as_count(i.item -> 'connector') between 1 and 100 then (i.item ->> 'connector')::numeric::int end as connector,
           private.as_moment(i.item ->> 'started_at') as started_at,
           private.as_moment(i.item ->> 'ended_at') as ended_at,
           private.as_count(i.item -> 'wh') as wh,
           case when i.item ->> 'ended_at' is not null then 'completed' else coalesce(i.item ->> 'status', 'charging') end as status,
           private.as_count(i.item -> 'meter_wh') as meter_wh
      from jsonb_array_elements(sessions) with ordinality as i (item, ordinality)
  )
  select place, charger_id, source, external_id, connector, started_at, ended_at, wh, status, meter_wh,
         case when charger_id is null then 'bad_charger_id'
              when source is null then 'bad_source'
              when external_id is null then 'bad_external_id'
              when connector is null then 'bad_connector'
              when started_at is null then 'bad_started_at'
              when item ->> 'ended_at' is not null and ended_at is null then 'bad_ended_at'
              when wh is null then 'bad_wh'
              when status not in ('active', 'charging') and ended_at is null then 'bad_status' end
    from sent
$$;
comment on function private.read_charging_sessions(jsonb) is
  'Sessions as a source tells them, each read on its own: reason is null, or bad_ and the field that cannot be read. Without ended_at a session is charging, unless status says active.';
grant execute on function private.read_charging_sessions(jsonb) to api_owner;

create function private.charging_session_flags(started_at timestamptz, ended_at timestamptz, wh bigint, power_kw numeric) returns text[]
language sql stable
set search_path = ''
as $$
  select array_remove(array[
    case when wh < 0 then 'negative' end,
    case when ended_at < started_at then 'ends_before_start' end,
    -- five minutes, because clocks differ; a charger that lost the time starts again in 1970 or 2000
    case when greatest(started_at, ended_at) > private.now() + interval '5 minutes' or started_at < '2010-01-01Z' then 'wrong_clock' end,
    case when ended_at - started_at > interval '31 days' then 'too_long' end,
    -- a tenth for the meter's and the grid's tolerance, a minute for the clock's; 50 kW is the most a charger of ours may have
    case when wh > coalesce(power_kw, 50) * 1000 * 1.1
                   * (extract(epoch from greatest(coalesce(ended_at, private.now()) - started_at, interval '0')) + 60) / 3600 then 'beyond_power' end
  ], null)
$$;
comment on function private.charging_session_flags(timestamptz, timestamptz, bigint, numeric) is
  'Why a session is implausible, judged by its own fields alone.';
grant execute on function private.charging_session_flags(timestamptz, timestamptz, bigint, numeric) to api_owner;

create function private.own_flags(flags text[]) returns text[]
language sql immutable
set search_path = ''
as $$ select array_remove(array_remove(flags, 'overlapping'), 'after_lock') $$;
comment on function private.own_flags(text[]) is 'The flags of private.charging_session_flags() among them: all but overlapping and after_lock.';
grant execute on function private.own_flags(text[]) to api_owner;

-- Charging sessions: one function takes them in, from whatever source, and keeps the monthly totals in step in the same transaction.

-- What became of a session that was stored: before is null where it is new.
create type private.charging_session_change as (after core.charging_sessions, before core.charging_sessions);

-- These plan for the batch at hand (force_custom_plan): a plan made for one session would meet ten thousand with nested loops. For
-- the same reason what one statement hands to the next goes through an array, whose length the planner sees.
create function private.store_charging_sessions(items private.charging_session_item[]) returns private.charging_session_change[]
language plpgsql
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  old    core.charging_sessions[];
  stored core.charging_sessions[];
begin
  old := array(
    select s from unnest(items) i
      join core.charging_sessions s
        on s.partner_id = private.partner_id() and s.charger_id = i.charger_id and s.source = i.source and s.external_id = i.external_id);
  with written as (
    insert into core.charging_sessions as s
      (partner_id, charger_id, connection_id, owner_id, source, external_id, connector, started_at, ended_at, wh, status, flags, received_at)
    select h.partner_id, h.id, h.connection_id, h.owner_id, i.source, i.external_id, i.connector, i.started_at, i.ended_at, i.wh, i.status,
           private.charging_session_flags(i.started_at, i.ended_at, i.wh, h.power_kw), private.now()
      from unnest(items) i
      join core.chargers h on h.partner_id = private.partner_id() and h.id = i.charger_id
     order by i.started_at, i.source, i.external_id
    on conflict on constraint charging_sessions_external_id_key do update
       set connector = excluded.connector, started_at = excluded.started_at, ended_at = excluded.ended_at, wh = excluded.wh,
           status = excluded.status, received_at = excluded.received_at,
           connection_id = coalesce(s.connection_id, excluded.connection_id),
           flags = excluded.flags || case when 'after_lock' = any (s.flags) then '{after_lock}'::text[] else '{}' end
     -- late news of a charge that has ended since does not open it again
     where (s.ended_at is null or excluded.ended_at is not null)
       and (s.connector, s.started_at, s.ended_at, s.wh, s.status, private.own_flags(s.flags))
           is distinct from (excluded.connector, excluded.started_at, excluded.ended_at, excluded.wh, excluded.status, excluded.flags)
    returning s as session)
  select array_agg(w.session) into stored from written w;

  insert into core.replaced_charging_sessions
    (partner_id, charger_id, session_id, owner_id, month, started_at, ended_at, wh, flags, received_at)
  select o.partner_id, o.charger_id, o.id, o.owner_id, o.month, o.started_at, o.ended_at, o.wh, o.flags, o.received_at
    from unnest(stored) s
    join unnest(old) o on o.id = s.id
   where o.ended_at is not null and (o.started_at, o.ended_at, o.wh) is distinct from (s.started_at, s.ended_at, s.wh);
  return array(
    select row(s, o)::private.charging_session_change from unnest(stored) s left join unnest(old) o on o.id = s.id);
end $$;
comment on function private.store_charging_sessions(private.charging_session_item[]) is
  'Inserts what is new, updates what differs, leaves the rest alone, and says what changed. One item per session; the chargers are locked.';
grant execute on function private.store_charging_sessions(private.charging_session_item[]) to api_owner;

create type private.touched_month as (charger_id uuid, connection_id uuid, month date);

create function private.judge_charging_sessions(changes private.charging_session_change[]) returns private.touched_month[]
language plpgsql
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  candidates core.charging_sessions[];
  touched    private.touched_month[];
begin
  candidates := array(
    select distinct on ((k.session).id) k.session
      from (select c.after as session from unnest(changes) c
            union all
            -- a session that was corrected may no longer overlap later ones, or overlap others than before
            select other.session
              from unnest(changes) c
              cross join lateral (values ((c.before).started_at, (c.before).ended_at), ((c.after).started_at, (c.after).ended_at)) span (started_at, ended_at)
              cross join lateral (
                select s as session from core.charging_sessions s
                 where s.partner_id = private.partner_id() and s.charger_id = (c.after).charger_id
                   and s.started_at < span.ended_at and s.ended_at > span.started_at and s.started_at > span.started_at - interval '31 days'
                offset 0) other  -- one index lookup per span, instead of a join of all sessions with all
             where (c.before).id is not null) k);
  with looked_at as (
    select s.id, s.charger_id, s.connection_id, s.month, s.counted, s.flags, (c.after).id is not null as changed, (c.before).month as old_month,
           private.own_flags(s.flags) || case when s.ended_at is not null and exists (
             select from core.charging_sessions o
              where o.partner_id = s.partner_id and o.charger_id = s.charger_id and o.connector = s.connector
                and o.arrival < s.arrival and o.flags <@ '{overlapping,after_lock}'
                and o.started_at < s.ended_at and o.ended_at > s.started_at and o.started_at > s.started_at - interval '31 days')
             then '{overlapping}'::text[] else '{}' end as judged,
           s.ended_at is not null and h.mid_eligible is true and exists (
             select from core.delivered_months d
              where d.partner_id = s.partner_id and d.connection_id = s.connection_id and d.locked
                and (d.period = s.month or d.period = (c.before).month and (c.before).ended_at is not null)) as locked
      from unnest(candidates) s
      join core.chargers h on h.partner_id = s.partner_id and h.id = s.charger_id
      left join unnest(changes) c on (c.after).id = s.id
  ), verdict as materialized (
    select l.*, l.judged || case when 'after_lock' = any (l.flags) or l.locked and (l.changed or not l.counted and l.judged = '{}')
                                 then '{after_lock}'::text[] else '{}' end as new_flags
      from looked_at l
  ), flagged as (
    update core.charging_sessions s set flags = v.new_flags
      from verdict v
     where v.flags <> v.new_flags and s.partner_id = private.partner_id() and s.charger_id = v.charger_id and s.id = v.id
  )
  select array_agg(row(m.charger_id, m.connection_id, m.month)::private.touched_month) into touched
    from (select charger_id, connection_id, month from verdict
          union select charger_id, connection_id, old_month from verdict where old_month is not null) m;
  return touched;
end $$;
comment on function private.judge_charging_sessions(private.charging_session_change[]) is
  'Flags what changed, and what it overlaps or used to, and says whose months may be different now. Of two sessions of a connector that overlap, the one that came first stands; it does so even when it overlaps another itself.';
grant execute on function private.judge_charging_sessions(private.charging_session_change[]) to api_owner;

create function private.deliver_charging_sessions(connections uuid[], months date[]) returns void
language plpgsql
set search_path = ''
as $$
begin
  -- one total, signature or booking at a time on a connection
  perform from core.connections c where c.partner_id = private.partner_id() and c.id = any (connections) order by c.id for no key update;
  insert into core.delivered_months as d (partner_id, connection_id, owner_id, period, total_kwh, session_count, source, status, received_at)
  select c.partner_id, c.id, c.owner_id, t.month, round(coalesce(sum(s.wh), 0) / 1000.0, 3), count(s.wh), 'sessions',
         private.month_status(t.connection_id, t.month), private.now()
    from (select distinct * from unnest(connections, months) as t (connection_id, month)) t
    join core.connections c on c.partner_id = private.partner_id() and c.id = t.connection_id
    left join lateral (
      select s.wh from core.charging_sessions s
        join core.chargers h on h.partner_id = s.partner_id and h.id = s.charger_id and h.mid_eligible
       where s.partner_id = private.partner_id() and s.connection_id = t.connection_id and s.month = t.month and s.counted and s.flags = '{}') s on true
   group by c.partner_id, c.id, t.connection_id, t.month
  having count(s.wh) > 0 or exists (
    select from core.delivered_months d where d.partner_id = private.partner_id() and d.connection_id = t.connection_id and d.period = t.month)
  on conflict on constraint delivered_months_pkey do update
     set total_kwh = excluded.total_kwh, session_count = excluded.session_count, status = excluded.status, received_at = excluded.received_at
   where not d.locked
     and d.delivery_id is null  -- a total that a client delivered is corrected by that client only
     and (d.total_kwh, d.session_count) is distinct from (excluded.total_kwh, excluded.session_count);
end $$;
comment on function private.deliver_charging_sessions(uuid[], date[]) is
  'Writes the delivered months of connections from the counted sessions of their MID chargers: the same rule as a delivery of a client, locked months untouched.';
grant execute on function private.deliver_charging_sessions(uuid[], date[]) to api_owner;

create function private.total_charging_sessions(touched private.touched_month[]) returns void
language plpgsql
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  connections uuid[];
  months      date[];
begin
  insert into core.charger_months as m (partner_id, charger_id, month, owner_id, wh, sessions)
  select h.partner_id, h.id, t.month, h.owner_id, coalesce(sum(s.wh), 0), count(s.wh)
    from (select distinct t.charger_id, t.month from unnest(touched) t) t
    join core.chargers h on h.partner_id = private.partner_id() and h.id = t.charger_id
    left join core.charging_sessions s
      on s.partner_id = h.partner_id and s.charger_id = h.id and s.counted
     and s.started_at >= t.month::timestamp at time zone 'Europe/Amsterdam'
     and s.started_at < (t.month + interval '1 month') at time zone 'Europe/Amsterdam'
   group by h.partner_id, h.id, t.month
  on conflict on constraint charger_months_pkey do update set wh = excluded.wh, sessions = excluded.sessions
   where (m.wh, m.sessions) <> (excluded.wh, excluded.sessions);

  select array_agg(t.connection_id), array_agg(t.month) into connections, months
    from unnest(touched) t
    join core.chargers h on h.partner_id = private.partner_id() and h.id = t.charger_id and h.mid_eligible
   where t.connection_id is not null;
  perform private.deliver_charging_sessions(connections, months);
end $$;
comment on function private.total_charging_sessions(private.touched_month[]) is
  'Adds up the months of chargers and of their connections again. They are computed from the sessions each time, never incremented, so they are always the sum.';
grant execute on function private.total_charging_sessions(private.touched_month[]) to api_owner;

create function private.see_chargers(items private.charging_session_item[]) returns void
language sql
set search_path = ''
as $$
  update core.chargers h
     set last_seen_at = greatest(h.last_seen_at, seen.at),
         latest_meter_wh = case when seen.meter_at >= coalesce(h.meter_updated_at, '-infinity') then seen.meter_wh else h.latest_meter_wh end,
         meter_updated_at = greatest(h.meter_updated_at, seen.meter_at)
    from (select i.charger_id, max(i.at) as at, max(i.at) filter (where i.meter_wh is not null) as meter_at,
                 (array_agg(i.meter_wh order by i.at desc, i.place desc) filter (where i.meter_wh is not null))[1] as meter_wh
            from (select *, least(coalesce(ended_at, private.now()), private.now()) as at from unnest(items)) i
           group by i.charger_id) seen
   where h.partner_id = private.partner_id() and h.id = seen.charger_id
$$;
comment on function private.see_chargers(private.charging_session_item[]) is
  'Notes when a charger was last heard of, and what its meter said: at the end of a charge, or now while one is going on.';
grant execute on function private.see_chargers(private.charging_session_item[]) to api_owner;

create function private.ingest_charging_sessions(sessions jsonb) returns jsonb
language plpgsql
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  sent    constant private.charging_session_item[] := array(select r from private.read_charging_sessions(sessions) r);
  -- of a session that is twice in one batch, the later item counts
  items   constant private.charging_session_item[] := array(
    select i from (select distinct on (i.charger_id, i.source, i.external_id) i
                     from unnest(sent) i where i.reason is null
                    order by i.charger_id, i.source, i.external_id, i.place desc) as last (i));
  chargers constant uuid[] := array(select distinct i.charger_id from unnest(items) i);
  changes private.charging_session_change[];
begin
  -- one batch at a time on a charger; in order, so that two batches cannot wait for each other
  perform from core.chargers h where h.partner_id = private.partner_id() and h.id = any (chargers) order by h.id for no key update;
  perform from core.connections c
    where c.partner_id = private.partner_id()
      and c.id = any (array(select h.connection_id from core.chargers h
                             where h.partner_id = private.partner_id() and h.id = any (chargers) and h.mid_eligible))
    order by c.id for no key update;
  changes := private.store_charging_sessions(items);
  perform private.total_charging_sessions(private.judge_charging_sessions(changes));
  perform private.see_chargers(items);
  return (
    select coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
             'place', i.place,
             'status', case when s.id is null then 'rejected'
                            when i.place < last.place then 'superseded'
                            when (c.after).id is null then 'unchanged'
                            when (c.before).id is null then 'created'
                            else 'updated' end,
             'reason', case when s.id is null then coalesce(i.reason, 'unknown_charger') end,
             'session_id', s.id,
             'flags', s.flags))), '[]')
      from unnest(sent) i
      left join unnest(items) last
        on i.reason is null and last.charger_id = i.charger_id and last.source = i.source and last.external_id = i.external_id
      left join core.charging_sessions s
        on s.partner_id = private.partner_id() and s.charger_id = last.charger_id and s.source = last.source and s.external_id = last.external_id
      left join unnest(changes) c on (c.after).id = s.id);
end $$;
comment on function private.ingest_charging_sessions(jsonb) is
  'The one way in for charging sessions, within a tenant: [{charger_id, source, external_id, connector?, started_at, ended_at?, wh, status?, meter_wh?}] '
  'to [{place, status: created|updated|unchanged|superseded|rejected, reason?, session_id?, flags?}]. Idempotent by charger, source and external_id.';
grant execute on function private.ingest_charging_sessions(jsonb) to api_owner;

create function private.tenants_of_chargers(chargers uuid[]) returns table (partner_id uuid, charger_id uuid)
language sql stable security definer
set search_path = ''
as $$
  select h.partner_id, h.id from core.chargers h
   where h.partner_id = any (array(select p.id from core.partners p)) and h.id = any (chargers)
$$;
comment on function private.tenants_of_chargers(uuid[]) is
  'Whose chargers these are. Definer, because the gateway that brings their sessions knows no tenant.';
grant execute on function private.tenants_of_chargers(uuid[]) to api_owner;

create function api.ingest_charging_sessions(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  tenant  record;
  results jsonb := '[]';
begin
  perform private.act_as(caller, 'worker');
  for tenant in
    with item as (
      select case when jsonb_typeof(i.item) = 'object' then i.item else '{}' end || jsonb_build_object('place', i.place) as item
        from jsonb_array_elements(input -> 'sessions') with ordinality as i (item, place)
    ), owner as (
      select * from private.tenants_of_chargers(array(select private.as_uuid(i.item ->> 'charger_id') from item i))
    )
    select o.partner_id as id, jsonb_agg(i.item) as sessions
      from item i left join owner o on o.charger_id = private.as_uuid(i.item ->> 'charger_id')
     group by o.partner_id order by o.partner_id
  loop
    perform private.act_for_partner(tenant.id);
    results := results || private.ingest_charging_sessions(tenant.sessions);
  end loop;
  return json_build_object('ok', true, 'results', (
    select coalesce(json_agg(r.result - 'place' order by (r.result ->> 'place')::int), '[]') from jsonb_array_elements(results) r (result)));
end $$;
comment on function api.ingest_charging_sessions(jsonb, jsonb) is
  'Sessions from the gateway, of any tenant: {sessions} to {ok, results} in their order. A bad item is a result, never an exception.';
select private.expose('api.ingest_charging_sessions(jsonb, jsonb)', 'edge_slow');

-- What else changes what counts: a charger that moves or whose meter is confirmed, a month that is open again.

create function private.charger_changed() returns trigger
language plpgsql
set search_path = ''
as $$
begin
  perform private.act_for_partner(new.partner_id);
  if new.connection_id is not null then
    update core.charging_sessions s set connection_id = new.connection_id
     where s.partner_id = new.partner_id and s.charger_id = new.id and s.connection_id is null;
  end if;
  perform private.deliver_charging_sessions(array_agg(m.connection_id), array_agg(m.month))
     from (select distinct s.connection_id, s.month from core.charging_sessions s
            where s.partner_id = new.partner_id and s.charger_id = new.id and s.connection_id is not null) m;
  return null;
end $$;
comment on function private.charger_changed() is
  'A charger that is bound to a connection, or whose MID meter is confirmed, counts with the sessions it already had.';
create trigger charger_changed after update of connection_id, mid_eligible on core.chargers
  for each row when (old.connection_id is distinct from new.connection_id or old.mid_eligible is distinct from new.mid_eligible)
  execute function private.charger_changed();

create function private.release_charging_sessions(connections uuid[], months date[]) returns void
language plpgsql
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  touched_connections uuid[];
  touched_months      date[];
begin
  with opened as (
    select * from unnest(connections, months) as o (connection_id, month)
  ), released as (
    update core.charging_sessions s set flags = array_remove(s.flags, 'after_lock')
      from opened o
     where s.partner_id = private.partner_id() and s.connection_id = o.connection_id and 'after_lock' = any (s.flags)
       and (s.month = o.month or exists (
              select from core.replaced_charging_sessions r where r.partner_id = s.partner_id and r.charger_id = s.charger_id and r.session_id = s.id and r.month = o.month))
       -- one that moved between months waits until both are open: where the other is booked, it is booked with it
       and not exists (
              select from core.delivered_months d
               where d.partner_id = s.partner_id and d.connection_id = s.connection_id and d.locked
                 and (d.period = s.month or exists (
                        select from core.replaced_charging_sessions r
                         where r.partner_id = s.partner_id and r.charger_id = s.charger_id and r.session_id = s.id and r.month = d.period)))
    returning s.connection_id, s.month)
  select array_agg(t.connection_id), array_agg(t.month) into touched_connections, touched_months
    from (select * from released union select * from opened) t;
  perform private.deliver_charging_sessions(touched_connections, touched_months);
end $$;
comment on function private.release_charging_sessions(uuid[], date[]) is
  'Called where months that were locked are open again: what came meanwhile counts.';

-- The ledger: every kWh, ERE and cent, from which account to which. docs/ere.md says what moves when.

create table core.ledger_accounts (
  partner_id uuid        not null,
  id         uuid        not null default gen_random_uuid(),
  unit       text        not null,
  kind       text        not null,
  owner      uuid        not null,
  opened_at  timestamptz not null default private.now(),
  constraint ledger_accounts_pkey primary key (partner_id, id),
  constraint ledger_accounts_unit_key unique (partner_id, id, unit),
  constraint ledger_accounts_owner_key unique (partner_id, owner, kind, unit),
  constraint ledger_accounts_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint ledger_accounts_kind_known check ((unit, kind) in (
    -- a customer's; then a booking's
    ('kWh', 'delivered'), ('kWh', 'submitted'), ('kWh', 'registered'), ('kWh', 'written_off'),
    -- a booking's
    ('ERE', 'register'), ('ERE', 'unsold'), ('ERE', 'sold'), ('ERE', 'difference'),
    -- a sale's; a customer's; a partner's; the service's, whose id is that of the house
    ('EUR', 'buyer'), ('EUR', 'customer'), ('EUR', 'partner'), ('EUR', 'service'),
    -- a payee's: what is on its way to their bank, and what arrived there
    ('EUR', 'payout'), ('EUR', 'bank'),
    -- a partner's VAT on its share; the service's claim to get that back from the tax authority
    ('EUR', 'vat'), ('EUR', 'input_vat'),
    -- the tenant's: the other side of balances whose entries, or whose things, retention deleted
    ('kWh', 'closed'), ('ERE', 'closed'), ('EUR', 'closed')))
);
comment on table core.ledger_accounts is
  'What a balance is kept of: a unit, a kind, and whose it is (owner: the id of a customer''s account, a booking, a sale or a partner). Its balance is what was credited less what was debited. No personal data; kept as long as its entries.';
select private.isolate('core.ledger_accounts', 'select');

create table core.ledger_entries (
  partner_id uuid           not null,
  id         bigint         not null generated always as identity,
  debit      uuid           not null,
  credit     uuid           not null,
  unit       text           not null,
  amount     numeric(20, 6) not null,
  -- what it is for, such as row:<id>:submitted; in the collation of its bytes, so that an index finds the causes of one thing
  cause      text           collate "C" not null,
  at         timestamptz    not null default private.now(),
  constraint ledger_entries_pkey primary key (partner_id, id),
  constraint ledger_entries_cause_key unique (partner_id, cause),
  constraint ledger_entries_debit_fkey foreign key (partner_id, debit, unit) references core.ledger_accounts (partner_id, id, unit),
  constraint ledger_entries_credit_fkey foreign key (partner_id, credit, unit) references core.ledger_accounts (partner_id, id, unit),
  constraint ledger_entries_sides_differ check (debit <> credit),
  constraint ledger_entries_amount_positive check (amount > 0),
  constraint ledger_entries_amount_scale check (amount = round(amount, case unit when 'EUR' then 2 when 'kWh' then 3 else 6 end))
);
comment on table core.ledger_entries is
  'An amount that moved from the account debit to the account credit. One row is both sides, so an unbalanced entry cannot exist. Append-only; a correction is a reversal. No personal data; kept seven years.';
comment on column core.ledger_entries.cause is 'Unique in a tenant: a step that is done twice writes nothing.';
-- serve: the balance of one account, each a scan of one range
create index ledger_entries_debit on core.ledger_entries (partner_id, debit) include (amount);
create index ledger_entries_credit on core.ledger_entries (partner_id, credit) include (amount);
select private.isolate('core.ledger_entries', 'select');

create view core.ledger_balances with (security_invoker = true) as
select a.partner_id, a.id as account_id, a.unit, a.kind, a.owner, a.opened_at, coalesce(s.balance, 0) as balance
  from core.ledger_accounts a
  left join (
    select e.partner_id, e.account_id, sum(e.amount) as balance
      from (select partner_id, credit as account_id, amount from core.ledger_entries
            union all
            select partner_id, debit, -amount from core.ledger_entries) e
     group by e.partner_id, e.account_id) s on s.partner_id = a.partner_id and s.account_id = a.id;
comment on view core.ledger_balances is 'All balances, for a look at many of them. Of one account private.balance is quicker.';
grant select on core.ledger_balances to api_owner;

create function private.balance(partner uuid, unit text, kind text, owner uuid) returns numeric
language plpgsql stable
set search_path = ''
as $$
begin
  return coalesce((
    select coalesce((select sum(e.amount) from core.ledger_entries e where e.partner_id = a.partner_id and e.credit = a.id), 0)
           - coalesce((select sum(e.amount) from core.ledger_entries e where e.partner_id = a.partner_id and e.debit = a.id), 0)
      from core.ledger_accounts a
     where a.partner_id = balance.partner and a.owner = balance.owner and a.kind = balance.kind and a.unit = balance.unit), 0);
end $$;
comment on function private.balance(uuid, text, text, uuid) is 'What was credited to an account less what was debited from it; 0 where nothing ever was.';

-- A step writes thousands of rows, and the next one reads them before any statistics know of them. So what is looked up by its key in
-- these tables, and in those of bookings and sales, is looked up row by row (lateral, with offset 0): never a join of all with all.
--
-- A function that reads for such a step is planned anew each time, for what its arguments are (force_custom_plan). That setting goes on
-- to whatever runs meanwhile: so a function that writes, or that is called for each row, says auto, or every check of a foreign key, and
-- each of those calls, would be planned anew. And it says that no table is read whole, which a plan that was made while there were few
-- rows would go on doing.
create type private.posting as (
  cause        text,
  unit         text,
  amount       numeric,
  debit_kind   text,
  debit_owner  uuid,
  credit_kind  text,
  credit_owner uuid);

create function private.post(partner uuid, postings private.posting[]) returns int
language plpgsql
set search_path = '' set plan_cache_mode = 'auto' set enable_seqscan = off set work_mem = '64MB'
as $$
declare
  written int;
begin
  insert into core.ledger_accounts (partner_id, unit, kind, owner)
  select distinct partner, p.unit, side.kind, side.owner
    from unnest(postings) p
    cross join lateral (values (p.debit_kind, p.debit_owner), (p.credit_kind, p.credit_owner)) side (kind, owner)
   where p.amount <> 0
   order by 4, 3, 2  -- two transactions that open the same accounts wait for each other in one order
  on conflict on constraint ledger_accounts_owner_key do nothing;

  insert into core.ledger_entries (partner_id, debit, credit, unit, amount, cause)
  select partner, d.id, c.id, p.unit, p.amount, p.cause
    from unnest(postings) p
   cross join lateral (
     select a.id from core.ledger_accounts a
      where a.partner_id = partner and a.owner = p.debit_owner and a.kind = p.debit_kind and a.unit = p.unit offset 0) d
   cross join lateral (
     select a.id from core.ledger_accounts a
      where a.partner_id = partner and a.owner = p.credit_owner and a.kind = p.credit_kind and a.unit = p.unit offset 0) c
   where p.amount <> 0
   order by p.cause collate "C"
  on conflict on constraint ledger_entries_cause_key do nothing;
  get diagnostics written = row_count;

  -- what was there already has to be the same thing
  if written < (select count(*) from unnest(postings) p where p.amount <> 0) and exists (
    select from unnest(postings) p
      join core.ledger_entries e on e.partner_id = partner and e.cause = p.cause
      join core.ledger_accounts d on d.partner_id = partner and d.id = e.debit
      join core.ledger_accounts c on c.partner_id = partner and c.id = e.credit
     where (e.unit, e.amount, d.kind, d.owner, c.kind, c.owner)
           is distinct from (p.unit, p.amount, p.debit_kind, p.debit_owner, p.credit_kind, p.credit_owner)) then
    raise exception 'the ledger holds another entry of the same cause';
  end if;
  return written;
end $$;
comment on function private.post(uuid, private.posting[]) is
  'Writes entries and opens the accounts they name; says how many were new. An amount of 0 moves nothing and is left out; the same cause again must be the same entry, and writes nothing.';

create function private.reverse_postings(partner uuid, causes text[]) returns int
language plpgsql
set search_path = '' set plan_cache_mode = 'auto' set enable_seqscan = off
as $$
declare
  written int;
begin
  insert into core.ledger_entries (partner_id, debit, credit, unit, amount, cause)
  select e.partner_id, e.credit, e.debit, e.unit, e.amount, e.cause || ':reversed'
    from unnest(causes) c (cause)
   cross join lateral (select * from core.ledger_entries e where e.partner_id = partner and e.cause = c.cause offset 0) e
   order by e.cause
  on conflict on constraint ledger_entries_cause_key do nothing;
  get diagnostics written = row_count;
  return written;
end $$;
comment on function private.reverse_postings(uuid, text[]) is
  'Moves back what the entries of these causes moved; a cause without an entry had nothing to move. Once each: says how many were new.';

-- The chain: what makes the audit log and the ledger tamper-evident. Each row of theirs has a link, with the SHA-256 of its content and
-- a hash over that and the link before it, one chain for each tenant and log. Nobody who writes waits for it, or writes anything more:
-- a job follows what was committed. It comes right behind many new rows, which no statistics know of yet, so what it looks up by its key
-- it looks up row by row.

create table core.audit_chains (
  partner_id          uuid        not null,
  log                 text        not null,
  position            bigint      not null default 0,
  hash                bytea       not null,
  -- every row up to here that was ever committed has its link, and none can come any more
  settled_id          bigint      not null default 0,
  -- every row up to here that could be seen at that moment has its link; who was at work then has a transaction before marked_before
  marked_id           bigint      not null default 0,
  marked_at           timestamptz not null default private.now(),
  marked_before       xid8,
  last_id             bigint      not null default 0,
  sealed_position     bigint      not null default 0,
  -- the link that retention deleted last: the next one follows its hash
  checkpoint_position bigint      not null default 0,
  checkpoint_hash     bytea       not null,
  constraint audit_chains_pkey primary key (partner_id, log),
  constraint audit_chains_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint audit_chains_log_known check (log in ('audit', 'ledger'))
);
comment on table core.audit_chains is 'The chain of a tenant''s audit log, or of its ledger: where it ends, how far the job that makes it is, and where it begins since older rows were deleted.';
select private.isolate('core.audit_chains', 'select');

create table core.audit_links (
  partner_id uuid   not null,
  log        text   not null,
  position   bigint not null,
  row_id     bigint not null,
  content    bytea  not null,
  hash       bytea  not null,
  constraint audit_links_pkey primary key (partner_id, log, position),
  constraint audit_links_row_key unique (partner_id, log, row_id)
);
comment on table core.audit_links is
  'One row per row of the audit log and of the ledger, in the order in which the job saw them: the SHA-256 of its content, and that of the hash before it and this content. Append-only; written by private.chain_rows alone. No personal data.';
select private.isolate('core.audit_links', 'select');

create table core.audit_seals (
  day   date  not null,
  heads jsonb not null,
  hash  bytea not null,
  constraint audit_seals_pkey primary key (day)
);
comment on table core.audit_seals is
  'One row a day: where each chain that has grown since the last seal ended, and a hash over that and the last seal. Kept outside too, it shows a chain that was cut off or made anew. No personal data; never deleted.';
alter table core.audit_seals enable row level security;

create view core.audit_content with (security_invoker = true) as
select a.partner_id, 'audit' as log, a.id as row_id, a.at, a.action as what,
       sha256(convert_to(jsonb_build_array(
         a.partner_id, a.id, a.at at time zone 'UTC', a.actor, a.action, a.subject_id, a.details, a.request_id)::text, 'UTF8')) as content
  from core.audit_log a
union all
select e.partner_id, 'ledger', e.id, e.at, e.cause,
       sha256(convert_to(jsonb_build_array(
         e.partner_id, e.id, e.at at time zone 'UTC', e.cause, e.unit, e.amount, e.debit, e.credit,
         -- and whose these are
         (select a.kind || ' ' || a.owner from core.ledger_accounts a where a.partner_id = e.partner_id and a.id = e.debit),
         (select a.kind || ' ' || a.owner from core.ledger_accounts a where a.partner_id = e.partner_id and a.id = e.credit))::text, 'UTF8'))
  from core.ledger_entries e;
comment on view core.audit_content is
  'What is chained: the SHA-256 of each row as it stands, of its values as one array of JSON with moments in UTC.';

create function private.seal_hash(day date, heads jsonb, before bytea) returns bytea
language sql immutable
set search_path = ''
as $$ select sha256(coalesce(before, '') || convert_to(jsonb_build_array(day::text, heads)::text, 'UTF8')) $$;
comment on function private.seal_hash(date, jsonb, bytea) is 'The hash of a seal: over the last one''s, the day, and where the chains ended.';

create function private.open_chains() returns void
language sql
set search_path = ''
as $$
  insert into core.audit_chains (partner_id, log, hash, checkpoint_hash)
  select p.id, l.log, g.hash, g.hash
    from core.partners p
   cross join (values ('audit'), ('ledger')) l (log)
   -- a chain begins with whose it is
   cross join lateral (select sha256(convert_to(l.log || ' of ' || p.id, 'UTF8')) as hash) g
   where not exists (select from core.audit_chains c where c.partner_id = p.id and c.log = l.log)
  on conflict on constraint audit_chains_pkey do nothing
$$;

create function private.chain_rows(partner uuid, of_log text, size int) returns int
language plpgsql
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  -- of the transactions that could have written, those before this are over for whatever is read from here on
  over     constant xid8 := pg_snapshot_xmin(pg_current_snapshot());
  chain    core.audit_chains;
  ids      bigint[];
  contents bytea[];
  hashes   bytea[] := '{}';
  reached  bigint;
begin
  select * into chain from core.audit_chains c where c.partner_id = partner and c.log = of_log for update skip locked;
  if not found then
    return 0;  -- another one is at it
  end if;

  with fresh as materialized (
    select a.row_id
      from (select 'audit' as log, a.id as row_id from core.audit_log a where a.partner_id = partner
            union all
            select 'ledger', e.id from core.ledger_entries e where e.partner_id = partner) a
     where a.log = of_log and a.row_id > chain.settled_id
       and (select l.position from core.audit_links l where l.partner_id = partner and l.log = of_log and l.row_id = a.row_id) is null
     order by a.row_id limit size
  )
  select array_agg(v.row_id order by v.row_id), array_agg(v.content order by v.row_id) into ids, contents
    from fresh f
   cross join lateral (select * from core.audit_content c where c.partner_id = partner and c.log = of_log and c.row_id = f.row_id offset 0) v;

  for n in 1 .. coalesce(cardinality(ids), 0) loop
    chain.hash := sha256(chain.hash || contents[n]);
    hashes := array_append(hashes, chain.hash);
  end loop;
  insert into core.audit_links (partner_id, log, position, row_id, content, hash)
  select partner, of_log, chain.position + k.n, k.row_id, k.content, k.hash
    from unnest(ids, contents, hashes) with ordinality k (row_id, content, hash, n);

  -- Ids are given before rows are committed, so one may still come that is lower than those seen. Whoever could bring it was at work when
  -- these were seen. A transaction that begins a minute later, when this run is over, has a higher number than all of them; once there
  -- is none before that one any more, nothing can come.
  chain.last_id := greatest(chain.last_id, ids[cardinality(ids)]);
  reached := case when cardinality(hashes) < size then chain.last_id else ids[size] end;
  if chain.marked_id > chain.settled_id and chain.marked_before is null then
    if private.now() > chain.marked_at + interval '1 minute' then
      chain.marked_before := pg_current_xact_id();
    end if;
  else
    if chain.marked_id > chain.settled_id and reached >= chain.marked_id
       -- of another server, whose numbers a dump brought here, nobody is at work
       and (over >= chain.marked_before or chain.marked_before > pg_snapshot_xmax(pg_current_snapshot())) then
      chain.settled_id := chain.marked_id;
    end if;
    if chain.marked_id = chain.settled_id then
      chain.marked_id := reached;
      chain.marked_at := private.now();
      chain.marked_before := null;
    end if;
  end if;
  update core.audit_chains c
     set position = chain.position + cardinality(hashes), hash = chain.hash, settled_id = chain.settled_id, last_id = chain.last_id,
         marked_id = chain.marked_id, marked_at = chain.marked_at, marked_before = chain.marked_before
   where c.partner_id = partner and c.log = of_log;
  return cardinality(hashes);
end $$;
comment on function private.chain_rows(uuid, text, int) is
  'Gives rows of a log that were committed since their links, so many at most, and says how many. Another one that is at the same chain is not waited for.';

create function private.seal_chains() returns void
language plpgsql
set search_path = ''
as $$
declare
  yesterday constant date := private.today() - 1;
  grown     jsonb;
begin
  if exists (select from core.audit_seals s where s.day >= yesterday) or not pg_try_advisory_xact_lock(hashtextextended('audit seal', 0)) then
    return;
  end if;
  with held as materialized (
    select * from core.audit_chains c where c.position > c.sealed_position order by c.partner_id, c.log for update
  ), sealed as (
    update core.audit_chains c set sealed_position = h.position from held h where c.partner_id = h.partner_id and c.log = h.log
  )
  select jsonb_agg(jsonb_build_object('partner_id', h.partner_id, 'log', h.log, 'position', h.position, 'hash', encode(h.hash, 'hex'))
                   order by h.partner_id, h.log) into grown
    from held h;
  insert into core.audit_seals (day, heads, hash)
  select yesterday, grown, private.seal_hash(yesterday, grown, (select s.hash from core.audit_seals s order by s.day desc limit 1))
   where grown is not null
  on conflict on constraint audit_seals_pkey do nothing;
end $$;
comment on function private.seal_chains() is 'Seals the chains as they are, once a day, for the day that is over.';

create function private.chain_audit(size int) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  due     record;
  chained int := 0;
begin
  perform private.open_chains();
  begin
    perform private.seal_chains();
  exception when lock_not_available then
    null;  -- a chain is being written: the next run seals
  end;
  for due in
    select c.partner_id, c.log
      from core.audit_chains c
     where case c.log when 'audit' then exists (select from core.audit_log a where a.partner_id = c.partner_id and a.id > c.settled_id)
                      else exists (select from core.ledger_entries e where e.partner_id = c.partner_id and e.id > c.settled_id) end
     order by c.partner_id, c.log
  loop
    chained := chained + private.chain_rows(due.partner_id, due.log, size - chained);
    exit when chained >= size;
  end loop;
  return json_build_object(
    'chained', chained, 'more', chained >= size,
    'sealed', (select json_build_object('day', s.day, 'hash', encode(s.hash, 'hex')) from core.audit_seals s order by s.day desc limit 1));
end $$;
comment on function private.chain_audit(int) is
  'Gives what was committed to the audit log and the ledger its links, so many rows at most: {chained, more, sealed}. Definer, because nobody else may write links, and chains are of all tenants.';
grant execute on function private.chain_audit(int) to api_owner;

create function api.chain_audit(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'worker');
  return private.chain_audit((input ->> 'size')::int);
end $$;
comment on function api.chain_audit(jsonb, jsonb) is
  'Follows the audit log and the ledger: {size} to {chained, more, sealed: {day, hash} or null}. Safe to call at any time, from several callers at once.';
select private.expose('api.chain_audit(jsonb, jsonb)', 'edge_slow');

-- Whether the audit log and the ledger are as they were chained. Each function names what does not fit, and reads in one snapshot.

create type private.audit_fault as (
  fault    text,
  position bigint,
  row_id   bigint,
  at       timestamptz,
  what     text);

create function private.verify_links(chain core.audit_chains, after bigint, size int, expected bytea,
                                     out last bigint, out links int, out is_there boolean, out first_fault private.audit_fault)
language plpgsql stable
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  -- what is deleted on the sandbox is what a reset takes out of the ledger
  may_be_gone constant boolean := chain.log = 'ledger' and private.is_sandbox();
  before      constant bytea := case when after <= chain.checkpoint_position then chain.checkpoint_hash else (
    select l.hash from core.audit_links l where l.partner_id = chain.partner_id and l.log = chain.log and l.position = after) end;
begin
  after := greatest(after, chain.checkpoint_position);
  select count(*), max(l.position), coalesce(bool_or(l.hash = expected), false) into links, last, is_there
    from (select * from core.audit_links k
           where k.partner_id = chain.partner_id and k.log = chain.log and k.position > after order by k.position limit size) l;

  select j.fault, j.position, j.row_id, j.at, j.what into first_fault
    from (
      select l.position, l.row_id, v.at, v.what,
             case when l.position <> coalesce(l.position_before, after) + 1 then 'link_missing'
                  when v.row_id is null and not may_be_gone then 'deleted'
                  when v.content <> l.content then 'changed'
                  when l.hash is distinct from sha256(coalesce(l.hash_before, before) || l.content) then 'reordered' end as fault
        from (select k.*, lag(k.hash) over w as hash_before, lag(k.position) over w as position_before
                from core.audit_links k
               where k.partner_id = chain.partner_id and k.log = chain.log and k.position > after and k.position <= last
              window w as (order by k.position)) l
        left join lateral (
          select * from core.audit_content c where c.partner_id = chain.partner_id and c.log = chain.log and c.row_id = l.row_id offset 0) v on true) j
   where j.fault is not null
   order by j.position limit 1;
end $$;
comment on function private.verify_links(core.audit_chains, bigint, int, bytea) is
  'Walks so many links of a chain after a position: the last of them, how many there are, whether one has the expected hash, and the first that does not fit.';

create function private.verify_rest(chain core.audit_chains) returns private.audit_fault
language plpgsql stable
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  last  core.audit_links;
  found private.audit_fault;
begin
  select * into last from core.audit_links l where l.partner_id = chain.partner_id and l.log = chain.log order by l.position desc limit 1;
  if (chain.position, chain.hash) is distinct from (coalesce(last.position, chain.checkpoint_position), coalesce(last.hash, chain.checkpoint_hash)) then
    found.fault := 'cut_off';
    found.position := coalesce(last.position, chain.checkpoint_position) + 1;
    return found;
  end if;
  -- a row that came behind what is settled was not written by the service; one after that waits for the job, for ten minutes at most
  select case when v.row_id <= chain.settled_id then 'inserted' else 'not_chained' end, null, v.row_id, v.at, v.what into found
    from core.audit_content v
   where v.partner_id = chain.partner_id and v.log = chain.log
     and (v.row_id <= chain.settled_id or v.at < private.now() - interval '10 minutes')
     and (select l.position from core.audit_links l where l.partner_id = v.partner_id and l.log = chain.log and l.row_id = v.row_id) is null
   order by v.row_id limit 1;
  return found;
end $$;
comment on function private.verify_rest(core.audit_chains) is 'What a walk along the links does not see: links cut off at the end, and the first row that has none.';

-- Bookings: what is sent to the register for a quarter, row by row, and what the register granted of it.

create table core.bookings (
  partner_id    uuid           not null,
  id            uuid           not null default gen_random_uuid(),
  run_id        uuid           not null,
  quarter       date           not null,
  number        int            not null,
  status        text           not null default 'open',
  granted_ere   numeric(18, 6),
  opened_at     timestamptz    not null default private.now(),
  submitted_at  timestamptz,
  withdrawn_at  timestamptz,
  export_sha256 text,
  exported_at   timestamptz,
  constraint bookings_pkey primary key (partner_id, id),
  constraint bookings_number_key unique (partner_id, quarter, number),
  constraint bookings_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint bookings_quarter_is_quarter check (quarter = date_trunc('quarter', quarter)),
  constraint bookings_status_known check (status in ('open', 'submitted', 'withdrawn')),
  constraint bookings_submitted_at check (case status when 'open' then num_nonnulls(submitted_at, withdrawn_at) = 0
                                                      when 'submitted' then submitted_at is not null and withdrawn_at is null
                                                      else withdrawn_at is not null end),
  constraint bookings_granted_positive check (granted_ere >= 0),
  constraint bookings_export_whole check (num_nulls(export_sha256, exported_at) in (0, 2))
);
comment on table core.bookings is
  'What a tenant sends to the register for a quarter: the first one, and supplementary ones for what came later. Kept seven years.';
comment on column core.bookings.run_id is 'Shared by the bookings of all tenants that were opened at once.';
comment on column core.bookings.granted_ere is
  'What the register granted for the whole, where that is another total than the sum of the rows; never more of it is sold.';
comment on column core.bookings.export_sha256 is 'Of the file for the register, when it was first written: it is always the same.';
-- serves: the open booking of a quarter, of which there is one
create unique index bookings_open on core.bookings (partner_id, quarter) where status = 'open';
select private.isolate('core.bookings', 'select');

create table core.booking_rows (
  partner_id            uuid           not null,
  id                    uuid           not null default gen_random_uuid(),
  booking_id            uuid           not null,
  account_id            uuid           not null,
  connection_id         uuid           not null,
  owner_id              uuid           not null,
  period                date           not null,
  status                text           not null default 'submitted',
  live                  boolean        not null generated always as (status in ('submitted', 'registered')) stored,
  kwh                   numeric(12, 3) not null,
  session_count         int            not null,
  source                text           not null,
  delivery_id           uuid,
  ere_per_kwh           numeric(9, 6)  not null,
  ean_code              text           not null,
  ean_exclusive         boolean        not null,
  signatory             text           not null,
  postal_code           text           not null,
  house_number          int            not null,
  house_number_addition text,
  street                text,
  city                  text,
  mandate_id            uuid           not null,
  mandate_signed_at     timestamptz    not null,
  mandate_valid_from    date           not null,
  mandate_valid_until   date           not null,
  fee_pct               numeric(5, 2)  not null,
  partner_share_pct     numeric(5, 2)  not null,
  share_partner_id      uuid,
  charger_brand         text,
  charger_model         text,
  charger_serial        text,
  flags                 text[]         not null default '{}',
  constraint booking_rows_pkey primary key (partner_id, id),
  constraint booking_rows_owner_key unique (partner_id, id, owner_id),
  constraint booking_rows_booking_fkey foreign key (partner_id, booking_id) references core.bookings (partner_id, id),
  constraint booking_rows_connection_fkey foreign key (partner_id, connection_id, owner_id) references core.connections (partner_id, id, owner_id),
  constraint booking_rows_mandate_fkey foreign key (partner_id, mandate_id) references core.mandates (partner_id, id),
  constraint booking_rows_delivery_fkey foreign key (partner_id, delivery_id) references core.deliveries (partner_id, id),
  constraint booking_rows_period_is_month check (period = date_trunc('month', period)),
  constraint booking_rows_status_known check (status in ('submitted', 'registered', 'rejected', 'withdrawn')),
  constraint booking_rows_kwh_positive check (kwh > 0),
  constraint booking_rows_source_known check (source in ('delivered_total', 'own_sessions')),
  constraint booking_rows_source_has_delivery check ((source = 'delivered_total') = (delivery_id is not null)),
  constraint booking_rows_percentages check (fee_pct between 0 and 100 and partner_share_pct between 0 and 100),
  constraint booking_rows_flags_known check (
    flags <@ '{beyond_power,above_average,too_many_sessions,repeated_total,no_sessions}')
-- each row is updated once, when it is credited: on its own page that touches no index
) with (fillfactor = 50);
comment on table core.booking_rows is
  'One connection and month of a booking, with what was true when it was submitted: nothing of that changes afterwards. Personal data; kept seven years.';
comment on column core.booking_rows.account_id is 'The account of the connection.';
comment on column core.booking_rows.delivery_id is 'The delivery that the kWh came with; null where they are the sum of charging sessions.';
comment on column core.booking_rows.live is 'Taken in, and neither withdrawn nor rejected: its kWh are in nobody else''s booking.';
comment on column core.booking_rows.share_partner_id is
  'The partner that has a share in the fee: of a CPO''s account its own, of a person whoever had brought them by that month. Null: the fee stays with the service.';
comment on column core.booking_rows.flags is 'What made the month look implausible. It holds nothing back.';
-- serves: a month of a connection is booked once
create unique index booking_rows_live_month on core.booking_rows (partner_id, connection_id, period) where live;
-- serves: a month of an EAN is booked once; unique across tenants on purpose, and only private.claim_months relies on it
create unique index booking_rows_live_ean on core.booking_rows (ean_code, period) where live and ean_exclusive;
-- serves: the rows of a booking
create index booking_rows_booking on core.booking_rows (partner_id, booking_id);
select private.isolate('core.booking_rows', 'select');
select private.keep_to_owner('core.booking_rows');

create table core.credits (
  partner_id      uuid           not null,
  id              uuid           not null default gen_random_uuid(),
  row_id          uuid           not null,
  owner_id        uuid           not null,
  accepted_kwh    numeric(12, 3) not null,
  ere             numeric(18, 6) not null,
  reason          text,
  credited_at     timestamptz    not null default private.now(),
  reversed_at     timestamptz,
  reversed_reason text,
  constraint credits_pkey primary key (partner_id, id),
  constraint credits_row_fkey foreign key (partner_id, row_id, owner_id) references core.booking_rows (partner_id, id, owner_id),
  constraint credits_accepted_positive check (accepted_kwh >= 0 and ere >= 0),
  constraint credits_reason_length check (length(reason) between 1 and 500),
  constraint credits_reversal_whole check (num_nulls(reversed_at, reversed_reason) in (0, 2))
);
comment on table core.credits is
  'What the register granted of a row: the accepted kWh, none where it rejected the row, and their ERE, cut to six decimals once and for all. A reversed one is kept. Kept seven years.';
-- serves: the credit of a row, of which one at a time stands
create unique index credits_standing on core.credits (partner_id, row_id) where reversed_at is null;
select private.isolate('core.credits', 'select');
select private.keep_to_owner('core.credits');

create function private.quarter_name(quarter date) returns text
language sql immutable
set search_path = ''
as $$ select to_char(quarter, 'YYYY-"Q"Q') $$;
comment on function private.quarter_name(date) is 'A quarter as people write it: 2026-Q2.';
grant execute on function private.quarter_name(date) to api_owner;

-- What a booking of a quarter would take in, why it leaves the rest out, and what looks implausible.

create type private.judged_month as (
  connection_id uuid,
  account_id    uuid,
  ean_code      text,
  period        date,
  kwh           numeric,
  session_count int,
  delivery_id   uuid,
  mandate_id    uuid,
  ere_per_kwh   numeric,
  flags         text[],
  reason        text);

create function private.months_of(quarter date) returns table (period date, hours numeric)
language sql immutable
set search_path = ''
as $$
  select m::date, extract(epoch from (m + interval '1 month') at time zone 'Europe/Amsterdam' - m at time zone 'Europe/Amsterdam') / 3600
    from generate_series(quarter::timestamp, quarter + interval '2 months', interval '1 month') m
$$;
comment on function private.months_of(date) is 'The three months of a quarter, and how many hours each has in the Netherlands.';

create function private.ean_booked(ean text, month date) returns boolean
language plpgsql stable security definer
set search_path = '' set plan_cache_mode = 'auto' set enable_seqscan = off
as $$
begin
  return exists (select from core.booking_rows r where r.ean_code = ean and r.period = month and r.live and r.ean_exclusive);
end $$;
comment on function private.ean_booked(text, date) is
  'Whether the kWh of an EAN in a month are in a booking of whatever tenant. Definer, because it looks across tenants.';

create function private.ean_delivered(ean text, month date, except_connection uuid) returns boolean
language plpgsql stable security definer
set search_path = '' set plan_cache_mode = 'auto' set enable_seqscan = off
as $$
begin
  return exists (
    select from core.connections c
      join core.delivered_months d on d.partner_id = c.partner_id and d.connection_id = c.id and d.period = month
       and d.delivery_id is not null and (d.status = 'staged' or d.locked)
     where (c.ean_code = ean and c.status = 'active' and c.ean_exclusive or c.ean_code = ean and c.status = 'archived' and c.ean_exclusive)
       and c.id <> except_connection);
end $$;
comment on function private.ean_delivered(text, date, uuid) is
  'Whether another connection with this EAN, of whatever tenant, has a delivered total of the month. Definer, because it looks across tenants.';

create function private.year_is_booked(year int) returns boolean
language plpgsql stable security definer
set search_path = ''
as $$
begin
  return exists (
    select from core.bookings b
      join core.booking_rows r on r.partner_id = b.partner_id and r.booking_id = b.id and r.live
     where b.status = 'submitted' and extract(year from b.quarter) = year);
end $$;
comment on function private.year_is_booked(int) is
  'Whether kWh of a year are in a booking of whatever tenant, by the factor of that year. Definer, because it looks across tenants.';

create function private.judge_quarter(tenant uuid, quarter date, chosen uuid[] default null) returns setof private.judged_month
language plpgsql stable
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  today  constant date := private.today();
  factor core.ere_factors;
begin
  select * into factor from core.ere_factors f where f.delivery_year = extract(year from quarter);
  return query
  -- what is a connection's is looked up once for all its months of the quarter
  select c.id, c.account_id, c.ean_code, m.period, m.total_kwh, m.session_count, m.delivery_id, s.mandate_id, factor.ere_per_kwh,
         case when m.total_kwh > 0 then array_remove(array[
           case when m.total_kwh > h.kw * l.hours then 'beyond_power' end,
           case when m.total_kwh > 5 * b.average then 'above_average' end,
           case when m.session_count > l.hours then 'too_many_sessions' end,
           case when b.repeats = 2 then 'repeated_total' end,
           case when m.session_count = 0 then 'no_sessions' end], null) else '{}' end,
         case when m.locked or c.ean_exclusive and private.ean_booked(c.ean_code, m.period) then 'already_booked'
              when (m.period + interval '1 month')::date > today then 'month_not_over'
              when factor.bookable_until < today then 'year_closed'
              when s.signed is null then 'no_mandate'
              when s.mandate_id is null then 'outside_mandate'
              when g.ean_validated is not true then 'gate:ean_validated'  -- an archived connection has no gates
              when not g.mid_charger_registered then 'gate:mid_charger_registered'
              when not g.iban_present then 'gate:iban_present'
              when c.registration_status in ('concept', 'ingediend') then 'registration_open'
              when c.registration_status = 'afgekeurd' then 'registration_rejected'
              when m.status = 'rejected' then 'rejected_by_register'
              when m.total_kwh = 0 then 'zero_kwh'
              when m.delivery_id is null and c.ean_exclusive and private.ean_delivered(c.ean_code, m.period, c.id) then 'already_delivered' end
    from (select d.connection_id, array_agg(d) as months
            from core.delivered_months d
           where d.partner_id = tenant and d.period >= quarter and d.period < (quarter + interval '3 months')::date
           group by d.connection_id) q
   cross join lateral (
     select * from core.connections c
      where c.partner_id = tenant and c.id = q.connection_id and (chosen is null or c.account_id = any (chosen)) offset 0) c
    left join lateral (select * from core.connection_gates g where g.partner_id = tenant and g.connection_id = c.id offset 0) g on true
   cross join lateral (
     -- of a charger that nobody described as much as of its sessions is believed
     select sum(coalesce(h.power_kw, 50)) as kw from core.chargers h where h.partner_id = tenant and h.connection_id = c.id and h.status = 'active') h
   cross join lateral unnest(q.months) m
    join private.months_of(quarter) l on l.period = m.period
   cross join lateral (
     select avg(p.total_kwh) as average,
            count(*) filter (where p.period >= m.period - interval '2 months' and p.total_kwh = m.total_kwh) as repeats
       from core.delivered_months p
      where p.partner_id = tenant and p.connection_id = c.id
        and p.period >= (m.period - interval '12 months')::date and p.period < m.period) b
    left join lateral (
      -- one that covers the month before one that does not, the newest first
      select true as signed, case when k.covers then s.id end as mandate_id
        from core.mandates s
       cross join lateral (select coalesce(m.period between s.valid_from and s.covered_until, false) as covers) k
       where s.partner_id = tenant and s.connection_id = c.id and s.status <> 'declined'
       order by k.covers desc, s.signed_at desc, s.id limit 1) s on true;
end $$;
comment on function private.judge_quarter(uuid, date, uuid[]) is
  'Every delivered month of a quarter, of all accounts or of those chosen, judged as it is now. reason is null where a booking takes it in, else the first that holds of already_booked, month_not_over, year_closed, no_mandate, outside_mandate, gate:<name>, registration_open, registration_rejected, rejected_by_register, zero_kwh, already_delivered. flags say what is implausible and hold nothing back: more kWh than the power of its chargers allows, more than five times the average of the twelve months before, more sessions than hours, the same total for the third month running, kWh without a session.';

-- Opening a booking, taking its months in, and withdrawing it.

create function private.open_booking(tenant uuid, quarter date, run uuid) returns core.bookings
language plpgsql
set search_path = ''
as $$
declare
  booking core.bookings;
begin
  -- of two at once the second finds what the first opened
  perform pg_advisory_xact_lock(hashtextextended('bookings of ' || tenant || ' for ' || quarter, 0));
  select * into booking from core.bookings b where b.partner_id = tenant and b.quarter = open_booking.quarter and b.status = 'open';
  if not found then
    insert into core.bookings (partner_id, run_id, quarter, number)
    select tenant, run, open_booking.quarter, 1 + count(*) from core.bookings b where b.partner_id = tenant and b.quarter = open_booking.quarter
    returning * into booking;
    perform private.audit('booking.opened', booking.id, jsonb_build_object('quarter', booking.quarter, 'number', booking.number));
  end if;
  return booking;
end $$;
comment on function private.open_booking(uuid, date, uuid) is
  'The open booking of a quarter, or where there is none a new one: the first, or one that supplements those that were submitted.';

create function private.lock_booking(tenant uuid, booking_id uuid) returns core.bookings
language plpgsql
set search_path = ''
as $$
declare
  booking core.bookings;
begin
  select * into strict booking from core.bookings b where b.partner_id = tenant and b.id = booking_id for update;
  return booking;
end $$;
comment on function private.lock_booking(uuid, uuid) is 'A booking, its row locked: whatever is done with it is done by one at a time.';

create function private.lock_connections(tenant uuid, connections uuid[]) returns void
language plpgsql
set search_path = ''
as $$
begin
  -- in their order, as deliveries lock them, so that neither waits for the other
  perform from core.connections c where c.partner_id = tenant and c.id = any (connections) order by c.id for no key update;
end $$;
comment on function private.lock_connections(uuid, uuid[]) is 'Until the end of the transaction nobody delivers, signs or corrects anything of these connections.';

create function private.claim_months(booking core.bookings, chosen uuid[]) returns private.posting[]
language plpgsql
set search_path = '' set plan_cache_mode = 'auto' set enable_seqscan = off set work_mem = '64MB'
as $$
declare
  postings private.posting[];
begin
  with claimed as (
    insert into core.booking_rows
      (partner_id, booking_id, account_id, connection_id, owner_id, period, kwh, session_count, source, delivery_id, ere_per_kwh, ean_code,
       ean_exclusive, signatory, postal_code, house_number, house_number_addition, street, city, mandate_id, mandate_signed_at,
       mandate_valid_from, mandate_valid_until, fee_pct, partner_share_pct, share_partner_id, charger_brand, charger_model, charger_serial, flags)
    select booking.partner_id, booking.id, c.account_id, c.id, c.owner_id, j.period, j.kwh, j.session_count,
           case when j.delivery_id is null then 'own_sessions' else 'delivered_total' end, j.delivery_id, j.ere_per_kwh, c.ean_code,
           c.ean_exclusive, coalesce(c.full_name, m.signed_name), c.postal_code, c.house_number, c.house_number_addition, c.street, c.city,
           m.id, m.signed_at, m.valid_from, m.valid_until, m.fee_pct, m.partner_share_pct,
           -- a person is in the house, and belongs to whoever had brought them by that month
           case when c.user_id is null then booking.partner_id when c.attached_month <= j.period then c.brought_by end,
           h.brands, h.models, h.serials, j.flags
      from (select j.connection_id, array_agg(j) as months
              from private.judge_quarter(booking.partner_id, booking.quarter, chosen) j where j.reason is null group by j.connection_id) q
     cross join lateral (
       select c.*, a.user_id, s.full_name, t.partner_id as brought_by, t.attached_month,
              l.postal_code, l.house_number, l.house_number_addition, l.street, l.city
         from core.connections c
         join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
         join core.locations l on l.partner_id = c.partner_id and l.id = c.location_id
         left join core.signatories s on s.partner_id = c.partner_id and s.account_id = c.account_id
         left join core.attributions t on t.user_id = a.user_id
        where c.partner_id = booking.partner_id and c.id = q.connection_id offset 0) c
     cross join lateral (
       select string_agg(coalesce(h.brand, h.ocpp_vendor), '; ' order by h.created_at, h.id) as brands,
              string_agg(coalesce((select k.model from core.charger_models k where k.id = h.catalog_charger_id), h.ocpp_model), '; '
                         order by h.created_at, h.id) as models,
              string_agg(h.serial_number, '; ' order by h.created_at, h.id) as serials
         from core.chargers h
        where h.partner_id = booking.partner_id and h.connection_id = c.id and h.status = 'active' and h.mid_eligible) h
     cross join lateral unnest(q.months) j
     cross join lateral (select * from core.mandates m where m.partner_id = booking.partner_id and m.id = j.mandate_id offset 0) m
     order by j.ean_code, j.period  -- two tenants that claim the same EANs wait for each other in one order
    -- somebody else's booking took the EAN and month a moment ago
    on conflict do nothing
    returning id, account_id, connection_id, period, kwh
  ), locked as (
    update core.delivered_months d set status = 'submitted'
      from claimed r
     where d.partner_id = booking.partner_id and d.connection_id = r.connection_id and d.period = r.period
  )
  select array_agg(row('row:' || r.id || ':submitted', 'kWh', r.kwh, 'delivered', r.account_id, 'submitted', booking.id)::private.posting)
    into postings from claimed r;
  return postings;
end $$;
comment on function private.claim_months(core.bookings, uuid[]) is
  'Takes in what a booking may, writes down what is true of it, and locks the months; what is to be posted of it. The connections are locked. The one function that relies on the index over EAN and month of all tenants.';

create function private.submit_booking(tenant uuid, booking_id uuid, chosen uuid[] default null) returns int
language plpgsql
set search_path = ''
as $$
declare
  booking  constant core.bookings := private.lock_booking(tenant, booking_id);
  postings private.posting[];
begin
  if booking.status <> 'open' then
    return null;
  end if;
  -- the factor by which the months are taken in does not change meanwhile, nor afterwards
  perform from core.ere_factors f where f.delivery_year = extract(year from booking.quarter) for share;
  perform private.lock_connections(tenant, array(
    select d.connection_id from core.delivered_months d
     where d.partner_id = tenant and d.period >= booking.quarter and d.period < (booking.quarter + interval '3 months')::date and not d.locked));
  postings := private.claim_months(booking, chosen);
  if postings is null then
    return 0;
  end if;
  perform private.post(tenant, postings);
  update core.bookings b set status = 'submitted', submitted_at = private.now() where b.partner_id = tenant and b.id = booking.id;
  perform private.audit('booking.submitted', booking.id, jsonb_build_object('rows', cardinality(postings)));
  perform private.emit_months(tenant, 'account.months_locked', array(select r.id from core.booking_rows r where r.partner_id = tenant and r.booking_id = booking.id));
  return cardinality(postings);
end $$;
comment on function private.submit_booking(uuid, uuid, uuid[]) is
  'Takes in every month that may be booked, of all accounts or of those chosen, and locks them: says how many. 0: there was none, and it stays open. Null: it is not open any more.';

create function private.unlock_months(tenant uuid, connections uuid[], months date[]) returns void
language plpgsql
set search_path = '' set plan_cache_mode = 'auto' set enable_seqscan = off
as $$
begin
  update core.delivered_months d set status = private.month_status(d.connection_id, d.period)
    from unnest(connections, months) as m (connection_id, month)
   where d.partner_id = tenant and d.connection_id = m.connection_id and d.period = m.month and d.locked;
  perform private.release_charging_sessions(connections, months);
end $$;
comment on function private.unlock_months(uuid, uuid[], date[]) is
  'Opens months again, as staged or outside_mandate, whichever each now is; what came in meanwhile counts. Their connections are locked.';

create function private.withdraw_booking(tenant uuid, booking_id uuid) returns boolean
language plpgsql
set search_path = ''
as $$
declare
  booking constant core.bookings := private.lock_booking(tenant, booking_id);
  taken   core.booking_rows[];
begin
  if booking.status = 'withdrawn' then
    return false;
  elsif exists (select from core.booking_rows r where r.partner_id = tenant and r.booking_id = booking.id and r.status in ('registered', 'rejected')) then
    perform private.refuse('booking_credited', json_build_object('booking', booking.id));
  end if;
  taken := array(select r from core.booking_rows r where r.partner_id = tenant and r.booking_id = booking.id);
  perform private.lock_connections(tenant, array(select r.connection_id from unnest(taken) r));
  update core.booking_rows r set status = 'withdrawn' where r.partner_id = tenant and r.booking_id = booking.id;
  perform private.reverse_postings(tenant, array(select 'row:' || r.id || ':submitted' from unnest(taken) r));
  perform private.unlock_months(tenant, array_agg(r.connection_id), array_agg(r.period)) from unnest(taken) r;
  update core.bookings b set status = 'withdrawn', withdrawn_at = private.now() where b.partner_id = tenant and b.id = booking.id;
  perform private.audit('booking.withdrawn', booking.id, jsonb_build_object('rows', cardinality(taken)));
  perform private.emit_months(tenant, 'account.months_reopened', array(select r.id from unnest(taken) r));
  return true;
end $$;
comment on function private.withdraw_booking(uuid, uuid) is
  'Takes a booking back before anything of it was credited: its months can be delivered and booked again. False: it was withdrawn already.';

-- Sales of ERE, and how each is split over the rows of its booking.

create table core.sales (
  partner_id  uuid           not null,
  id          uuid           not null default gen_random_uuid(),
  arrival     bigint         not null generated always as identity,
  booking_id  uuid           not null,
  reference   text           not null,
  buyer       text           not null,
  ere         numeric(18, 6) not null,
  price       numeric(12, 6) not null,
  gross       numeric(14, 2) not null,
  sold_on     date           not null,
  recorded_at timestamptz    not null default private.now(),
  constraint sales_pkey primary key (partner_id, id),
  constraint sales_reference_key unique (partner_id, reference),
  constraint sales_booking_fkey foreign key (partner_id, booking_id) references core.bookings (partner_id, id),
  constraint sales_lengths check (length(reference) between 1 and 120 and length(buyer) between 1 and 120),
  constraint sales_positive check (ere > 0 and price > 0 and gross >= 0)
);
comment on table core.sales is
  'A quantity of ERE of one booking, sold at a price in euro. reference is the buyer''s or our own number of it. Kept seven years.';
comment on column core.sales.gross is 'ERE times price, rounded to the cent.';
comment on column core.sales.arrival is 'The order in which sales were recorded, which is the order in which they are paid out.';
-- serves: what of a booking was sold
create index sales_booking on core.sales (partner_id, booking_id);
select private.isolate('core.sales', 'select');

create table core.sale_reversals (
  partner_id  uuid        not null,
  id          uuid        not null default gen_random_uuid(),
  sale_id     uuid        not null,
  reason      text        not null,
  recover     boolean     not null,
  reversed_at timestamptz not null default private.now(),
  constraint sale_reversals_pkey primary key (partner_id, id),
  constraint sale_reversals_sale_fkey foreign key (partner_id, sale_id) references core.sales (partner_id, id),
  constraint sale_reversals_reason_length check (length(reason) between 1 and 500)
);
comment on table core.sale_reversals is
  'A decision to take a sale back, for what had not been paid out, or with recover for all of it. Append-only, kept seven years.';
-- serves: the reversals of a sale
create index sale_reversals_sale on core.sale_reversals (partner_id, sale_id);
select private.isolate('core.sale_reversals', 'select');

create table core.allocations (
  partner_id        uuid           not null,
  id                uuid           not null default gen_random_uuid(),
  sale_id           uuid           not null,
  row_id            uuid           not null,
  account_id        uuid           not null,
  owner_id          uuid           not null,
  share_partner_id  uuid,
  ere               numeric(18, 6) not null,
  gross             numeric(14, 2) not null,
  fee_pct           numeric(5, 2)  not null,
  partner_share_pct numeric(5, 2)  not null,
  fee               numeric(14, 2) not null generated always as (trunc(gross * fee_pct * 0.01, 2)) stored,
  partner_share     numeric(14, 2) not null,
  net               numeric(14, 2) not null generated always as (gross - trunc(gross * fee_pct * 0.01, 2)) stored,
  reversal_id       uuid,
  constraint allocations_pkey primary key (partner_id, id),
  constraint allocations_sale_fkey foreign key (partner_id, sale_id) references core.sales (partner_id, id),
  constraint allocations_row_fkey foreign key (partner_id, row_id, owner_id) references core.booking_rows (partner_id, id, owner_id),
  constraint allocations_reversal_fkey foreign key (partner_id, reversal_id) references core.sale_reversals (partner_id, id),
  constraint allocations_row_key unique (partner_id, sale_id, row_id),
  constraint allocations_positive check (ere > 0 and gross >= 0),
  constraint allocations_partner_share check (
    partner_share = case when share_partner_id is null then 0 else trunc(trunc(gross * fee_pct * 0.01, 2) * partner_share_pct * 0.01, 2) end)
);
comment on table core.allocations is
  'A row''s part of a sale: its ERE, its cents, and how those are divided between the customer (net), the partner (partner_share) and the service (fee less partner_share), by the percentages agreed when the mandate was signed. Written once, never computed again. Kept seven years.';
comment on column core.allocations.account_id is 'As the row has it, like owner, percentages and share_partner_id.';
comment on column core.allocations.reversal_id is 'Null while it stands.';
-- serves: what of a row was sold
create index allocations_row on core.allocations (partner_id, row_id);
-- serves: what a customer was sold
create index allocations_account on core.allocations (partner_id, account_id);
select private.isolate('core.allocations', 'select');
select private.keep_to_owner('core.allocations');

-- What the register grants of a booking: row by row, for the whole, and what takes that back.

create type private.credit_line as (line int, row_id uuid, accepted_kwh numeric, reason text, problem text);

create function private.read_credit_lines(booking core.bookings, lines jsonb) returns setof private.credit_line
language plpgsql stable
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
begin
  return query
  with sent as materialized (
    select coalesce((l.item ->> 'line')::int, l.place::int) as line, private.as_uuid(l.item ->> 'row_id') as row_id,
           private.as_decimal(l.item ->> 'accepted_kwh', 3) as accepted_kwh, nullif(btrim(l.item ->> 'reason'), '') as reason
      from jsonb_array_elements(lines) with ordinality as l (item, place)
  )
  select s.line, s.row_id, s.accepted_kwh, s.reason,
         case when r.id is null then 'unknown_row'
              when r.booking_id <> booking.id then 'row_of_another_booking'
              when count(*) over (partition by s.row_id) > 1 then 'doubled_row'
              when s.accepted_kwh is null then 'invalid_kwh'
              when s.accepted_kwh > r.kwh then 'more_than_submitted'
              when s.accepted_kwh < r.kwh and s.reason is null then 'reason_missing'
              when length(s.reason) > 500 or s.reason ~ '[[:cntrl:]]' then 'invalid_reason'
              when c.accepted_kwh <> s.accepted_kwh then 'credited_otherwise' end
    from sent s
    left join lateral (select * from core.booking_rows r where r.partner_id = booking.partner_id and r.id = s.row_id offset 0) r on true
    left join lateral (
      select * from core.credits c where c.partner_id = booking.partner_id and c.row_id = r.id and c.reversed_at is null offset 0) c on true;
end $$;
comment on function private.read_credit_lines(core.bookings, jsonb) is
  'What the register said of rows, [{line?, row_id, accepted_kwh, reason?}], each read on its own; problem is null where it can be credited, or is already. kWh, three decimals.';

create type private.credited_row as (
  credit_id     uuid,
  row_id        uuid,
  owner_id      uuid,
  account_id    uuid,
  connection_id uuid,
  period        date,
  kwh           numeric,
  accepted_kwh  numeric,
  ere           numeric,
  reason        text);

create function private.write_credits(tenant uuid, lines private.credit_line[]) returns private.credited_row[]
language plpgsql
set search_path = '' set plan_cache_mode = 'auto' set enable_seqscan = off
as $$
declare
  credited private.credited_row[];
begin
  credited := array(
    select row(gen_random_uuid(), r.id, r.owner_id, r.account_id, r.connection_id, r.period, r.kwh, l.accepted_kwh,
               trunc(l.accepted_kwh * r.ere_per_kwh, 6), l.reason)::private.credited_row
      from unnest(lines) l
      cross join lateral (
        select * from core.booking_rows r where r.partner_id = tenant and r.id = l.row_id and r.status = 'submitted' offset 0) r);
  insert into core.credits (partner_id, id, row_id, owner_id, accepted_kwh, ere, reason)
  select tenant, c.credit_id, c.row_id, c.owner_id, c.accepted_kwh, c.ere, c.reason from unnest(credited) c;
  update core.booking_rows r set status = 'registered'
   where r.partner_id = tenant and r.id = any (array(select c.row_id from unnest(credited) c where c.accepted_kwh > 0));
  update core.booking_rows r set status = 'rejected'
   where r.partner_id = tenant and r.id = any (array(select c.row_id from unnest(credited) c where c.accepted_kwh = 0));
  update core.delivered_months d set status = case when c.accepted_kwh > 0 then 'registered' else 'rejected' end
    from unnest(credited) c
   where d.partner_id = tenant and d.connection_id = c.connection_id and d.period = c.period;
  return credited;
end $$;
comment on function private.write_credits(uuid, private.credit_line[]) is
  'Writes down what the register granted of the rows that wait for it, and marks them and their months: what was written.';

create function private.credit_rows(booking core.bookings, lines private.credit_line[]) returns int
language plpgsql
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  credited private.credited_row[];
begin
  -- a rejected month is open for a new delivery
  perform private.lock_connections(booking.partner_id, array(
    select r.connection_id from unnest(lines) l
      cross join lateral (select * from core.booking_rows r where r.partner_id = booking.partner_id and r.id = l.row_id offset 0) r
     where l.accepted_kwh = 0));
  credited := private.write_credits(booking.partner_id, lines);
  perform private.post(booking.partner_id, array(
    select row('credit:' || c.credit_id || ':' || p.what, p.unit, p.amount, p.debit_kind, booking.id, p.credit_kind, p.credit_owner)::private.posting
      from unnest(credited) c
      cross join lateral (values
        ('registered', 'kWh', c.accepted_kwh, 'submitted', 'registered', booking.id),
        ('written_off', 'kWh', case when c.accepted_kwh > 0 then c.kwh - c.accepted_kwh else 0 end, 'submitted', 'written_off', booking.id),
        ('rejected', 'kWh', case when c.accepted_kwh > 0 then 0 else c.kwh end, 'submitted', 'delivered', c.account_id),
        ('ere', 'ERE', c.ere, 'register', 'unsold', booking.id)) p (what, unit, amount, debit_kind, credit_kind, credit_owner)));
  perform private.release_charging_sessions(array_agg(c.connection_id), array_agg(c.period)) from unnest(credited) c where c.accepted_kwh = 0;
  perform private.emit_months(booking.partner_id, 'account.months_registered', array(select c.row_id from unnest(credited) c where c.accepted_kwh > 0)),
          private.emit_months(booking.partner_id, 'account.months_rejected', array(select c.row_id from unnest(credited) c where c.accepted_kwh = 0));
  return cardinality(credited);
end $$;
comment on function private.credit_rows(core.bookings, private.credit_line[]) is
  'Credits the rows that wait for it, and leaves those alone that were credited: says how many. None of an accepted kWh is a rejection; less than submitted is credited, and the rest written off.';

create function private.settle_difference(booking core.bookings) returns void
language plpgsql
set search_path = ''
as $$
declare
  tenant   constant uuid := booking.partner_id;
  credited constant numeric := private.balance(tenant, 'ERE', 'unsold', booking.id) + private.balance(tenant, 'ERE', 'sold', booking.id);
  missing  constant numeric := booking.granted_ere - credited - private.balance(tenant, 'ERE', 'difference', booking.id);
  cause    text;
begin
  if missing <> 0 then
    select 'booking:' || booking.id || ':difference:' || 1 + count(*) into cause
      from core.ledger_entries e
     where e.partner_id = tenant and e.cause > 'booking:' || booking.id || ':difference:' and e.cause < 'booking:' || booking.id || ':difference;';
    perform private.post(tenant, array[case when missing > 0
      then row(cause, 'ERE', missing, 'register', booking.id, 'difference', booking.id)::private.posting
      else row(cause, 'ERE', -missing, 'difference', booking.id, 'register', booking.id)::private.posting end]);
  end if;
end $$;
comment on function private.settle_difference(core.bookings) is
  'Where the register granted another total than the rows come to, the difference has an account of its own: what came from the register is what it granted.';

create function private.credit_booking(booking core.bookings, lines private.credit_line[], granted numeric) returns int
language plpgsql
set search_path = ''
as $$
declare
  credited constant int := private.credit_rows(booking, lines);
  sold     constant numeric := private.balance(booking.partner_id, 'ERE', 'sold', booking.id);
begin
  if granted < sold then
    perform private.refuse('granted_below_sold', json_build_object('granted_ere', granted, 'sold_ere', sold));
  elsif granted is distinct from booking.granted_ere and granted is not null then
    update core.bookings b set granted_ere = granted where b.partner_id = booking.partner_id and b.id = booking.id;
    perform private.audit('booking.granted', booking.id, jsonb_build_object('before', booking.granted_ere, 'after', granted));
    booking.granted_ere := granted;
  end if;
  perform private.settle_difference(booking);
  if credited > 0 then
    perform private.audit('booking.credited', booking.id, jsonb_build_object('rows', credited));
  end if;
  return credited;
end $$;
comment on function private.credit_booking(core.bookings, private.credit_line[], numeric) is
  'Credits rows of a booking, its row locked, and notes what the register granted for the whole, where that was said: says how many rows.';

create function private.reverse_credit(line core.booking_rows, reason text) returns boolean
language plpgsql
set search_path = ''
as $$
declare
  credit core.credits;
  sold   text;
begin
  select * into credit from core.credits c where c.partner_id = line.partner_id and c.row_id = line.id and c.reversed_at is null;
  if not found then
    return false;
  end if;
  select min(s.reference) into sold
    from core.allocations a join core.sales s on s.partner_id = a.partner_id and s.id = a.sale_id
   where a.partner_id = line.partner_id and a.row_id = line.id and a.reversal_id is null;
  if sold is not null then
    perform private.refuse('row_sold', json_build_object('row', line.id, 'reference', sold));
  elsif line.status = 'rejected' then
    perform private.lock_connections(line.partner_id, array[line.connection_id]);
    if not exists (select from core.delivered_months d
                    where d.partner_id = line.partner_id and d.connection_id = line.connection_id and d.period = line.period
                      and d.status = 'rejected' and d.total_kwh = line.kwh)
       or line.ean_exclusive and private.ean_booked(line.ean_code, line.period) then
      perform private.refuse('month_delivered_again', json_build_object('row', line.id, 'period', to_char(line.period, 'YYYY-MM')));
    end if;
  end if;
  update core.credits c set reversed_at = private.now(), reversed_reason = reverse_credit.reason where c.partner_id = credit.partner_id and c.id = credit.id;
  update core.booking_rows r set status = 'submitted' where r.partner_id = line.partner_id and r.id = line.id;
  update core.delivered_months d set status = 'submitted'
   where d.partner_id = line.partner_id and d.connection_id = line.connection_id and d.period = line.period;
  perform private.reverse_postings(line.partner_id, array(
    select 'credit:' || credit.id || ':' || what from unnest(array['registered', 'written_off', 'rejected', 'ere']) what));
  perform private.audit('credit.reversed', line.id, jsonb_build_object('accepted_kwh', credit.accepted_kwh));
  -- it waits for the register again, and is locked as it was then
  perform private.emit_months(line.partner_id, 'account.months_locked', array[line.id]);
  return true;
end $$;
comment on function private.reverse_credit(core.booking_rows, text) is
  'Takes back what the register granted or rejected of a row, so that it can be credited anew; its booking is locked. False: nothing of it stands. Not while its ERE are sold, nor where its month was delivered again after a rejection.';

-- The split of a sale over the rows of its booking.

create function private.split_sale(sale core.sales)
returns table (row_id uuid, ere numeric, gross numeric)
language plpgsql stable
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  -- whole numbers from here on: millionths of an ERE, and cents
  quantity constant numeric := sale.ere * 1000000;
  cents    constant numeric := sale.gross * 100;
begin
  return query
  with held as materialized (
    select r.id, (c.ere - s.ere) * 1000000 as unsold
      from core.booking_rows r
      cross join lateral (
        select c.ere from core.credits c where c.partner_id = r.partner_id and c.row_id = r.id and c.reversed_at is null offset 0) c
      cross join lateral (
        select coalesce(sum(a.ere), 0) as ere from core.allocations a
         where a.partner_id = r.partner_id and a.row_id = r.id and a.reversal_id is null) s
     where r.partner_id = sale.partner_id and r.booking_id = sale.booking_id and r.status = 'registered' and c.ere > s.ere
  ), share as (
    select h.id, div(quantity * h.unsold, sum(h.unsold) over ()) as whole, mod(quantity * h.unsold, sum(h.unsold) over ()) as rest from held h
  ), part as materialized (
    -- what the division leaves goes to the largest remainders, of equal ones to the first row ids, which are ordered as their text is
    select s.id, s.whole + (row_number() over (order by s.rest desc, s.id) <= quantity - sum(s.whole) over ())::int as micro
      from share s
  ), money as (
    select p.id, p.micro, div(cents * p.micro, quantity) as whole, mod(cents * p.micro, quantity) as rest from part p where p.micro > 0
  )
  select m.id, m.micro / 1000000,
         (m.whole + (row_number() over (order by m.rest desc, m.id) <= cents - sum(m.whole) over ())::int) / 100
    from money m;
end $$;
comment on function private.split_sale(core.sales) is
  'What each row gives and gets of a sale: ERE in proportion to what of it is credited and unsold, at six decimals, and cents in proportion to that ERE, both by largest remainder, so that each adds up to the sale.';

create function private.allocate_sale(sale core.sales) returns int
language plpgsql
set search_path = '' set plan_cache_mode = 'auto' set enable_seqscan = off
as $$
declare
  postings private.posting[];
begin
  with allocated as (
    insert into core.allocations
      (partner_id, sale_id, row_id, account_id, owner_id, share_partner_id, ere, gross, fee_pct, partner_share_pct, partner_share)
    select sale.partner_id, sale.id, r.id, r.account_id, r.owner_id, r.share_partner_id, s.ere, s.gross, r.fee_pct, r.partner_share_pct,
           case when r.share_partner_id is null then 0
                else trunc(trunc(s.gross * r.fee_pct * 0.01, 2) * r.partner_share_pct * 0.01, 2) end
      from private.split_sale(sale) s
      cross join lateral (select * from core.booking_rows r where r.partner_id = sale.partner_id and r.id = s.row_id offset 0) r
    returning *
  )
  select array_agg(row('allocation:' || a.id || ':' || p.what, p.unit, p.amount, p.debit_kind, p.debit_owner, p.credit_kind, p.credit_owner)::private.posting)
    into postings
    from allocated a
    cross join lateral (values
      ('ere', 'ERE', a.ere, 'unsold', sale.booking_id, 'sold', sale.booking_id),
      ('net', 'EUR', a.net, 'buyer', sale.id, 'customer', a.account_id),
      ('share', 'EUR', a.partner_share, 'buyer', sale.id, 'partner', coalesce(a.share_partner_id, private.house())),
      ('fee', 'EUR', a.fee - a.partner_share, 'buyer', sale.id, 'service', private.house())
    ) p (what, unit, amount, debit_kind, debit_owner, credit_kind, credit_owner);
  perform private.post(sale.partner_id, postings);
  return cardinality(postings) / 4;
end $$;
comment on function private.allocate_sale(core.sales) is
  'Splits a sale, writes each part down for good, and moves its ERE and its money: to the customer what is left of the gross after the fee, of the fee the partner''s share to the partner and the rest to the service.';

-- Taking a sale back.

-- reads all that a tenant ever sold: hash joins, whatever the planner believes
create function private.paid_out_allocations(sale core.sales) returns uuid[]
language plpgsql stable
set search_path = '' set plan_cache_mode = 'force_custom_plan' set enable_nestloop = off
as $$
begin
  if not exists (select from core.ledger_accounts a where a.partner_id = sale.partner_id and a.kind = 'payout') then
    return '{}';
  end if;
  return array(
    with part as materialized (
      -- what each part of each sale brings to its payees: to a customer, and where there is one to a partner
      select p.kind, p.owner, p.amount, a.id, a.sale_id
        from core.allocations a
        cross join lateral (values ('customer', a.account_id, a.net), ('partner', a.share_partner_id, a.partner_share)) p (kind, owner, amount)
       where a.partner_id = sale.partner_id and a.reversal_id is null and p.amount > 0
    ), payee as materialized (
      select w.kind, w.owner, private.balance(sale.partner_id, 'EUR', w.kind, w.owner) as balance
        from (select distinct p.kind, p.owner from part p where p.sale_id = sale.id) w
    ), due as (
      -- the oldest is paid first: a part is paid out, be it in part, as soon as less is left than it and all after it come to
      select p.id, p.sale_id, y.balance,
             sum(p.amount) over (partition by p.kind, p.owner order by s.arrival desc, p.id desc) as due_from_here
        from payee y
        join part p on p.kind = y.kind and p.owner = y.owner
        join core.sales s on s.partner_id = sale.partner_id and s.id = p.sale_id
    )
    select distinct d.id from due d where d.sale_id = sale.id and d.balance < d.due_from_here);
end $$;
comment on function private.paid_out_allocations(core.sales) is
  'Which parts of a sale have been paid out, or are on their way, to the customer or to the partner, be it in part. What is not paid is in the payee''s balance.';

create function private.reverse_sale(sale core.sales, reason text, recover boolean, out reversed int, out paid_out int)
language plpgsql
set search_path = '' set plan_cache_mode = 'auto' set enable_seqscan = off
as $$
declare
  paid     uuid[] := private.paid_out_allocations(sale);
  reversal uuid;
  causes   text[];
begin
  paid_out := cardinality(paid);
  if recover then
    paid := '{}';
  end if;
  if not exists (select from core.allocations a
                  where a.partner_id = sale.partner_id and a.sale_id = sale.id and a.reversal_id is null and a.id <> all (paid)) then
    reversed := 0;
    return;
  end if;
  insert into core.sale_reversals (partner_id, sale_id, reason, recover) values (sale.partner_id, sale.id, reverse_sale.reason, reverse_sale.recover)
  returning id into reversal;
  with taken_back as (
    update core.allocations a set reversal_id = reversal
     where a.partner_id = sale.partner_id and a.sale_id = sale.id and a.reversal_id is null and a.id <> all (paid)
    returning a.id)
  select array_agg('allocation:' || t.id || ':' || what), count(distinct t.id) into causes, reversed
    from taken_back t cross join unnest(array['ere', 'net', 'share', 'fee']) what;
  perform private.reverse_postings(sale.partner_id, causes);
  perform private.audit('sale.reversed', sale.id, jsonb_build_object('allocations', reversed, 'recover', reverse_sale.recover));
  perform private.emit_sale(sale.partner_id, 'ere.sale_reversed', array(
            select a.id from core.allocations a where a.partner_id = sale.partner_id and a.sale_id = sale.id and a.reversal_id = reversal)),
          private.tell_payouts(array(
            select distinct a.share_partner_id from core.allocations a
             where a.partner_id = sale.partner_id and a.sale_id = sale.id and a.reversal_id = reversal and a.partner_share > 0));
end $$;
comment on function private.reverse_sale(core.sales, text, boolean) is
  'Gives back what of a sale has not been paid out, or with recover all of it: what was paid is then a negative balance, which later payouts settle. Its booking is locked. How many parts were reversed, and how many had been paid out.';

-- Figures: what a delivery year is said to yield, once the operator says so.

create table core.figures (
  partner_id    uuid        not null,
  delivery_year int         not null,
  published_at  timestamptz not null default private.now(),
  constraint figures_pkey primary key (partner_id, delivery_year),
  constraint figures_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint figures_factor_fkey foreign key (delivery_year) references core.ere_factors (delivery_year)
);
comment on table core.figures is
  'A delivery year whose figures are published to a tenant: from then on positions say what it yields. Kept for good.';
select private.isolate('core.figures', 'select');

create function private.average_price(tenant uuid, year int) returns numeric
language plpgsql stable security definer
set search_path = ''
as $$
begin
  return (
    select round((sum(s.gross) - coalesce(sum(v.gross), 0)) / nullif(sum(s.ere) - coalesce(sum(v.ere), 0), 0), 6)
      from core.bookings b
      join core.sales s on s.partner_id = b.partner_id and s.booking_id = b.id
      -- the parts of a sale add up to it, so only those that were taken back are looked up
      left join lateral (
        select sum(a.ere) as ere, sum(a.gross) as gross
          from core.allocations a
         where a.partner_id = s.partner_id and a.sale_id = s.id and a.reversal_id is not null
           and exists (select from core.sale_reversals r where r.partner_id = s.partner_id and r.sale_id = s.id)) v on true
     where b.partner_id = tenant and b.quarter >= make_date(year, 1, 1) and b.quarter < make_date(year + 1, 1, 1));
end $$;
comment on function private.average_price(uuid, int) is
  'What an ERE of a delivery year brought on average, in euro: the gross of all its sales that stand by their ERE, six decimals. Null before the first. Definer, because it is of all the tenant''s customers.';
grant execute on function private.average_price(uuid, int) to api_owner;

create view core.earned_months with (security_invoker = true) as
select m.partner_id, m.connection_id, m.period, m.ere_per_kwh, r.id as row_id, r.fee_pct, r.partner_share_pct,
       coalesce(k.accepted_kwh, m.total_kwh) as kwh, coalesce(k.accepted_kwh, m.total_kwh) * m.ere_per_kwh as ere,
       coalesce(k.ere, 0) as registered_ere, coalesce(s.ere, 0) as sold_ere, coalesce(s.gross, 0) as gross, coalesce(s.net, 0) as net,
       s.sold_on, greatest(m.received_at, k.credited_at, s.changed_at) as changed_at
  from core.counted_months m
  left join core.booking_rows r on r.partner_id = m.partner_id and r.connection_id = m.connection_id and r.period = m.period and r.live
  left join core.credits k on k.partner_id = r.partner_id and k.row_id = r.id and k.reversed_at is null
  left join lateral (
    select sum(a.ere) filter (where a.reversal_id is null) as ere, sum(a.gross) filter (where a.reversal_id is null) as gross,
           sum(a.net) filter (where a.reversal_id is null) as net, min(s.sold_on) filter (where a.reversal_id is null) as sold_on,
           max(greatest(s.recorded_at, v.reversed_at)) as changed_at
      from core.allocations a
      join core.sales s on s.partner_id = a.partner_id and s.id = a.sale_id
      left join core.sale_reversals v on v.partner_id = a.partner_id and v.id = a.reversal_id
     where a.partner_id = r.partner_id and a.row_id = r.id) s on true;
comment on view core.earned_months is
  'What came of each month that counts: the kWh that the register accepted, or that it has still to accept, their ERE (exact), and what of it is credited and sold. Euro.';
grant select on core.earned_months to api_owner;

create function private.position_figures(accounts uuid[], years int[]) returns json[]
language plpgsql stable
-- planned once: to plan it takes ten times what it takes to run for one account; by keys alone, whatever the tables held when it was planned
set search_path = '' set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off
as $$
declare
  tenant constant uuid := private.partner_id();
begin
  return array(
    with published as materialized (
      select f.delivery_year, f.published_at, k.renewable_share, k.ere_per_kwh, private.average_price(tenant, f.delivery_year) as price
        from core.figures f join core.ere_factors k on k.delivery_year = f.delivery_year
       where f.partner_id = tenant and f.delivery_year = any (years)
    ), earned as (
      select c.account_id, extract(year from m.period)::int as year, sum(m.kwh) as kwh, sum(m.ere) as estimated, sum(m.registered_ere) as registered,
             sum(m.sold_ere) as sold, sum(m.gross) as gross, sum(m.net) as net, max(m.changed_at) as changed_at,
             case when min(m.fee_pct) = max(m.fee_pct) then min(m.fee_pct) end as fee_pct
        from core.connections c
        join core.earned_months m on m.partner_id = c.partner_id and m.connection_id = c.id
       where c.partner_id = tenant and c.account_id = any (accounts) and extract(year from m.period) = any (years)
       group by c.account_id, extract(year from m.period)
    ), latest as (
      select distinct on (e.account_id) e.* from earned e order by e.account_id, e.year desc
    )
    select row_to_json(f)
      from unnest(accounts) with ordinality as w (account_id, place)
      left join latest l on l.account_id = w.account_id
      join published p on p.delivery_year = coalesce(l.year, years[1])
      cross join lateral (
        select p.delivery_year, coalesce(l.kwh, 0) as kwh_counted, p.renewable_share, p.ere_per_kwh, coalesce(round(l.estimated, 2), 0) as ere_estimated,
               coalesce(round(l.registered, 2), 0) as ere_registered, coalesce(round(l.sold, 2), 0) as ere_sold,
               coalesce(round(l.registered - l.sold, 2), 0) as reserved_ere, p.price as price_per_ere_eur,
               coalesce(l.gross, 0) as gross_eur, l.fee_pct, coalesce(l.net, 0) as net_eur, 'EUR' as currency,
               private.iso(greatest(p.published_at, l.changed_at)) as updated_at) f
     order by w.place);
end $$;
comment on function private.position_figures(uuid[], int[]) is
  'What accounts of this tenant earn, in their order, each of the latest of these published years (newest first) in which it has months that count, else of the first: the object ere of GET /v1/ere-positions. kWh as accepted where they are credited; ERE with two decimals; the price with six.';
grant execute on function private.position_figures(uuid[], int[]) to api_owner;

-- GET /v1/ere-positions.

create view core.ere_positions with (security_invoker = true) as
select g.partner_id, g.account_id, g.client_id, g.cpo_external_ref, g.payout_handler, g.created_at, g.ere_eligible, g.mandate_valid_from, g.checklist,
       coalesce(d.months, '[]') as delivered_months, coalesce(d.total_kwh, 0) as total_kwh_delivered
  from core.account_gates g
  cross join lateral (
    select json_agg(row_to_json(m) order by d.period, d.connection_id) as months,
           sum(d.total_kwh) filter (where d.status = 'staged' or d.locked) as total_kwh
      from core.connections c
      join core.delivered_months d on d.partner_id = c.partner_id and d.connection_id = c.id
      -- rows, and not json_build_object: that looks the type of each of its arguments up for each row, 3.3 us a month where this takes 1.8
      cross join lateral (
        select d.period, d.total_kwh, d.session_count, d.status, private.iso(d.received_at) as received_at, d.connection_id,
               case when d.status = 'registered' then (
                 select k.accepted_kwh
                   from core.booking_rows r
                   join core.credits k on k.partner_id = r.partner_id and k.row_id = r.id and k.reversed_at is null
                  where r.partner_id = d.partner_id and r.connection_id = d.connection_id and r.period = d.period and r.live) end as accepted_kwh) m
     where c.partner_id = g.partner_id and c.account_id = g.account_id) d;
comment on view core.ere_positions is 'The position of an account as the API shows it, but for its ere.';
grant select on core.ere_positions to api_owner;

create function api.list_ere_positions(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
-- planned once: a plan made for the values at hand is no better, and looks cheaper than it is by what planning costs
set search_path = '' set plan_cache_mode = 'force_generic_plan'
as $$
declare
  years     int[];
  found     uuid[];
  figures   json[];
  positions json;
begin
  perform private.act_as(caller, 'cpo');
  years := array(
    select f.delivery_year from core.figures f
     where f.partner_id = private.partner_id() and f.delivery_year = coalesce((query ->> 'delivery_year')::int, f.delivery_year)
     order by f.delivery_year desc);
  if query ->> 'cpo_external_ref' is null then
    found := private.account_page(query);
    if years <> '{}' then
      figures := private.position_figures(found[:(query ->> 'limit')::int], years);
    end if;
    positions := (
      select json_agg(row_to_json(r) order by p.created_at desc, p.account_id desc)
        from core.ere_positions p
        cross join lateral (
          select p.account_id, p.cpo_external_ref, p.payout_handler, p.ere_eligible, p.mandate_valid_from, p.checklist, p.delivered_months,
                 p.total_kwh_delivered, figures[array_position(found, p.account_id)] as ere) r
       where p.partner_id = private.partner_id() and p.account_id = any (found[:(query ->> 'limit')::int]));
  else
    if years <> '{}' then
      figures := private.position_figures(array(
        select a.id from core.accounts a where a.client_id = private.client_id() and a.cpo_external_ref = query ->> 'cpo_external_ref'), years);
    end if;
    -- what integrators ask for most, without looking the account up first: 20 us of 280
    select array_agg(p.account_id), json_agg(row_to_json(r)) into found, positions
      from core.ere_positions p
      cross join lateral (
        select p.account_id, p.cpo_external_ref, p.payout_handler, p.ere_eligible, p.mandate_valid_from, p.checklist, p.delivered_months,
               p.total_kwh_delivered, figures[1] as ere) r
     where p.client_id = private.client_id() and p.cpo_external_ref = query ->> 'cpo_external_ref' and (query ->> 'offset')::bigint = 0;
  end if;
  return private.page_answer('positions', positions, found, query);
end $$;
comment on function api.list_ere_positions(jsonb, jsonb) is
  'GET /v1/ere-positions: {limit, offset, cpo_external_ref, delivery_year} to a page of positions, newest account first. ere is null until figures are published, of the year asked for where one is.';
select private.expose('api.list_ere_positions(jsonb, jsonb)');

-- Payouts: what goes to the bank in one file, a line for each payee, and of which balances a line is made.

create table core.payout_batches (
  id               uuid           not null default gen_random_uuid(),
  status           text           not null default 'prepared',
  minimum          numeric(14, 2) not null,
  prepared_by      text           not null,
  prepared_at      timestamptz    not null default private.now(),
  approved_by      text,
  approved_at      timestamptz,
  exported_by      text,
  exported_at      timestamptz,
  file_ciphertext  text,
  file_key_id      text,
  file_sha256      text,
  settled_by       text,
  settled_at       timestamptz,
  cancelled_by     text,
  cancelled_at     timestamptz,
  cancelled_reason text,
  constraint payout_batches_pkey primary key (id),
  constraint payout_batches_status_known check (status in ('prepared', 'approved', 'exported', 'settled', 'cancelled')),
  constraint payout_batches_minimum_positive check (minimum >= 0),
  constraint payout_batches_two_people check (approved_by <> prepared_by),
  constraint payout_batches_approved_whole check (num_nulls(approved_by, approved_at) in (0, 2)),
  constraint payout_batches_exported_whole check (num_nulls(exported_by, exported_at, file_ciphertext, file_key_id, file_sha256) in (0, 5)),
  constraint payout_batches_cancelled_whole check (num_nulls(cancelled_by, cancelled_at, cancelled_reason) in (0, 3)),
  constraint payout_batches_steps check (case status
    when 'prepared' then num_nonnulls(approved_at, exported_at, settled_at, cancelled_at) = 0
    when 'approved' then approved_at is not null and num_nonnulls(exported_at, settled_at, cancelled_at) = 0
    when 'exported' then num_nulls(approved_at, exported_at) = 0 and num_nonnulls(settled_at, cancelled_at) = 0
    when 'settled' then num_nulls(approved_at, settled_at) = 0 and cancelled_at is null and (exported_at is not null or prepared_by = 'sandbox')
    else cancelled_at is not null and num_nonnulls(exported_at, settled_at) = 0 end)
);
comment on table core.payout_batches is
  'What goes to the bank in one file, of all tenants: the service''s own, and prepared and approved by two logins. Kept seven years.';
comment on column core.payout_batches.file_ciphertext is
  'The file for the bank, gzip and AES-256-GCM made before it reaches the database, under the key file_key_id: asked for again it is the same bytes. file_sha256 is of the file itself.';
alter table core.payout_batches enable row level security;

create table core.payout_lines (
  partner_id      uuid           not null,
  id              uuid           not null default gen_random_uuid(),
  arrival         bigint         not null generated always as identity,
  batch_id        uuid           not null,
  account_id      uuid,
  owner_id        uuid,
  payee_id        uuid           not null generated always as (coalesce(account_id, partner_id)) stored,
  amount          numeric(14, 2) not null,
  name            text           not null,
  iban_ciphertext text           not null,
  iban_key_id     text           not null,
  iban_last4      text           not null,
  status          text           not null default 'pending',
  paid_at         timestamptz,
  failed_at       timestamptz,
  failed_reason   text,
  released_at     timestamptz,
  released_reason text,
  constraint payout_lines_pkey primary key (partner_id, id),
  constraint payout_lines_batch_fkey foreign key (batch_id) references core.payout_batches (id),
  constraint payout_lines_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint payout_lines_account_fkey foreign key (partner_id, account_id, owner_id) references core.accounts (partner_id, id, owner_id),
  constraint payout_lines_payee_key unique (partner_id, batch_id, payee_id),
  constraint payout_lines_owner_whole check (num_nulls(account_id, owner_id) in (0, 2)),
  constraint payout_lines_amount_positive check (amount > 0),
  constraint payout_lines_name_shape check (length(name) between 1 and 70),
  constraint payout_lines_status_known check (status in ('pending', 'paid', 'failed', 'cancelled')),
  constraint payout_lines_paid check (status <> 'paid' or paid_at is not null),
  constraint payout_lines_failed check ((status = 'failed') = (failed_at is not null)),
  constraint payout_lines_released check (num_nulls(released_at, released_reason) in (0, 2) and (released_at is null or status = 'failed'))
);
comment on table core.payout_lines is
  'One payment: to a customer (account_id), or to a partner. Name and IBAN are those of the moment it was prepared, the IBAN as it was encrypted then. Personal data; kept seven years.';
comment on column core.payout_lines.partner_id is 'The tenant of the payee, which its IBAN is encrypted for: that of the account, or the partner who is paid.';
comment on column core.payout_lines.released_at is 'A line that failed holds back its IBAN until there is another one, or the operator releases it.';
-- serves: the latest payments of a payee
create index payout_lines_payee on core.payout_lines (partner_id, payee_id, arrival desc);
-- serves: the lines of a batch
create index payout_lines_batch on core.payout_lines (batch_id);
select private.isolate('core.payout_lines', 'select');
select private.keep_to_owner('core.payout_lines');

create table core.payout_parts (
  partner_id        uuid           not null,
  id                uuid           not null default gen_random_uuid(),
  line_id           uuid           not null,
  ledger_partner_id uuid           not null,
  kind              text           not null,
  account_id        uuid,
  owner_id          uuid,
  payee_id          uuid           not null generated always as (coalesce(account_id, partner_id)) stored,
  amount            numeric(14, 2) not null,
  constraint payout_parts_pkey primary key (partner_id, id),
  constraint payout_parts_line_fkey foreign key (partner_id, line_id) references core.payout_lines (partner_id, id),
  constraint payout_parts_ledger_fkey foreign key (ledger_partner_id) references core.partners (id),
  constraint payout_parts_account_fkey foreign key (partner_id, account_id, owner_id) references core.accounts (partner_id, id, owner_id),
  constraint payout_parts_kind_known check (kind in ('customer', 'partner', 'vat')),
  constraint payout_parts_owner check (case kind when 'customer' then num_nulls(account_id, owner_id) = 0 and ledger_partner_id = partner_id
                                                 else num_nonnulls(account_id, owner_id) = 0 end),
  constraint payout_parts_amount_moves check (amount <> 0)
);
comment on table core.payout_parts is
  'What a line is made of: one balance of the ledger of ledger_partner_id, taken whole. A customer''s own; or of a partner its share, where a person earned it in the house''s ledger, the VAT on it, and what its customers get through it. A balance below zero is taken off. Append-only, kept seven years.';
comment on column core.payout_parts.payee_id is 'Whose account of the ledger it was taken from.';
-- serves: the parts of a line
create index payout_parts_line on core.payout_parts (partner_id, line_id);
-- serves: what was paid of an account of the ledger
create index payout_parts_payee on core.payout_parts (ledger_partner_id, payee_id, kind);
select private.isolate('core.payout_parts', 'select');
select private.keep_to_owner('core.payout_parts');

-- Events of money and of what leads to it: months that are booked, sales, payouts. Set by set, because a booking has thousands.

create function private.emit_months(tenant uuid, type text, rows uuid[]) returns void
language plpgsql security definer
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
begin
  -- what people have is in the house, and no partner sees months of theirs
  if tenant <> private.house() then
    perform private.emit_all(tenant, emit_months.type, array(
      select row(r.account_id, r.booking_id, jsonb_build_object(
               'periods', jsonb_agg(distinct r.period order by r.period),
               'status', case emit_months.type when 'account.months_locked' then 'submitted' when 'account.months_reopened' then 'staged'
                                               else replace(emit_months.type, 'account.months_', '') end))::private.occurrence
        from core.booking_rows r where r.partner_id = tenant and r.id = any (rows)
       group by r.account_id, r.booking_id order by min(r.id::text)));
  end if;
end $$;
comment on function private.emit_months(uuid, text, uuid[]) is
  'Writes one event for each account that has months among these booking rows. Definer, as private.emit_all.';

create function private.emit_sale(tenant uuid, type text, allocations uuid[]) returns void
language plpgsql security definer
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  share record;
begin
  for share in
    select a.share_partner_id as partner, b.quarter
      from core.allocations a
      join core.booking_rows r on r.partner_id = a.partner_id and r.id = a.row_id
      join core.bookings b on b.partner_id = r.partner_id and b.id = r.booking_id
     where a.partner_id = tenant and a.id = any (allocations) and a.partner_share > 0
     group by a.share_partner_id, b.quarter order by a.share_partner_id
  loop
    perform private.tell(share.partner, share.partner, emit_sale.type, private.payout_id(share.partner, share.quarter),
                         jsonb_build_object('payout_id', private.payout_id(share.partner, share.quarter), 'period', private.quarter_name(share.quarter)));
  end loop;
  perform private.emit_all(tenant, emit_sale.type, array(
    select row(a.account_id, null, jsonb_build_object('delivery_year', f.delivery_year))::private.occurrence
      from core.allocations a
      join core.accounts c on c.partner_id = a.partner_id and c.id = a.account_id and c.payout_handler = 'via_cpo_invoicing'
      join core.booking_rows r on r.partner_id = a.partner_id and r.id = a.row_id
      -- a position says nothing of a year that is not published
      join core.figures f on f.partner_id = a.partner_id and f.delivery_year = extract(year from r.period)
     where a.partner_id = tenant and a.id = any (allocations)
     group by a.account_id, f.delivery_year order by a.account_id, f.delivery_year));
end $$;
comment on function private.emit_sale(uuid, text, uuid[]) is
  'Writes the events of parts of a sale: one for each partner who has a share, and one for each account that its CPO settles with. Definer, because a person''s ERE are sold in the house.';

create function private.emit_published(tenant uuid, year int) returns void
language plpgsql security definer
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
begin
  perform private.emit_all(tenant, 'ere.sold', array(
    select row(a.account_id, null, jsonb_build_object('delivery_year', year))::private.occurrence
      from core.allocations a
      join core.accounts c on c.partner_id = a.partner_id and c.id = a.account_id and c.payout_handler = 'via_cpo_invoicing'
      join core.booking_rows r on r.partner_id = a.partner_id and r.id = a.row_id
     where a.partner_id = tenant and a.reversal_id is null and extract(year from r.period) = year
     group by a.account_id order by a.account_id));
end $$;
comment on function private.emit_published(uuid, int) is 'What was sold of a year before its figures were published is told when they are. Definer, as private.emit_sale.';

create table core.told_payouts (
  partner_id uuid not null,
  payout_id  uuid not null,
  period     text not null,
  status     text not null,
  constraint told_payouts_pkey primary key (partner_id, payout_id),
  constraint told_payouts_partner_id_fkey foreign key (partner_id) references core.partners (id)
);
comment on table core.told_payouts is 'The status of each payout of GET /partner/payouts that its last event told, once that is another than pending.';
select private.isolate('core.told_payouts', 'select');

create function private.tell_payouts(partners uuid[]) returns void
language plpgsql security definer
set search_path = ''
as $$
declare
  payout record;
begin
  for payout in
    with current as materialized (
      select p.id as partner_id, y.* from unnest(partners) p (id)
       cross join lateral json_to_recordset(private.partner_payouts(p.id)) as y (payout_id uuid, period text, status text)
    ), news as materialized (
      -- what was reversed whole is not listed any more
      select coalesce(c.partner_id, t.partner_id) as partner_id, coalesce(c.payout_id, t.payout_id) as payout_id,
             coalesce(c.period, t.period) as period, coalesce(c.status, 'pending') as status
        from current c
        full join (select t.* from core.told_payouts t where t.partner_id = any (partners)) t on t.partner_id = c.partner_id and t.payout_id = c.payout_id
       where coalesce(c.status, 'pending') <> coalesce(t.status, 'pending')
    ), noted as (
      insert into core.told_payouts (partner_id, payout_id, period, status) select n.partner_id, n.payout_id, n.period, n.status from news n
      on conflict on constraint told_payouts_pkey do update set status = excluded.status
    )
    select * from news n order by n.partner_id, n.period
  loop
    perform private.tell(payout.partner_id, payout.partner_id, case payout.status when 'pending' then 'payout.reversed' else 'payout.' || payout.status end,
                         payout.payout_id, jsonb_build_object('payout_id', payout.payout_id, 'period', payout.period, 'status', payout.status));
  end loop;
end $$;
comment on function private.tell_payouts(uuid[]) is
  'Tells these partners whatever is new of their payouts. Called after anything that may change one. Definer, as private.partner_payouts.';

create function private.lines_of(batch uuid) returns core.payout_lines[]
language sql stable
set search_path = ''
as $$ select array(select l from core.payout_lines l where l.batch_id = batch order by l.arrival) $$;
comment on function private.lines_of(uuid) is 'The lines of a batch.';

create function private.emit_payouts(type text, lines core.payout_lines[]) returns void
language plpgsql security definer
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  tenant uuid;
begin
  -- customers of a CPO that settles with them itself are paid through it
  for tenant in select distinct l.partner_id from unnest(lines) l where l.account_id is null order by l.partner_id loop
    perform private.emit_all(tenant, emit_payouts.type, array(
      select row(p.account_id, l.id, jsonb_build_object('status', case emit_payouts.type when 'payout.reversed' then 'pending'
                                                                                         else replace(emit_payouts.type, 'payout.', '') end))::private.occurrence
        from unnest(lines) l
        join core.payout_parts p on p.partner_id = l.partner_id and p.line_id = l.id and p.account_id is not null
       where l.partner_id = tenant and l.account_id is null
       order by p.account_id));
  end loop;
  perform private.tell_payouts(array(select distinct l.partner_id from unnest(lines) l where l.account_id is null));
end $$;
comment on function private.emit_payouts(text, core.payout_lines[]) is
  'Writes the events of payout lines that took a step: for the accounts of which a partner is paid, and for the partners themselves. Definer: every tenant at once.';

-- Who is owed what, and whether it can be paid now.

create function private.sepa_name(name text) returns text
language plpgsql immutable
set search_path = ''
as $$
declare
  -- letters come apart from their accents, which go
  plain   text := regexp_replace(normalize(name, nfkd), '[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]', '', 'g');
  letters text[];
begin
  foreach letters slice 1 in array array[['ß', 'ss'], ['ẞ', 'SS'], ['æ', 'ae'], ['Æ', 'AE'], ['œ', 'oe'], ['Œ', 'OE'], ['þ', 'th'], ['Þ', 'Th']] loop
    plain := replace(plain, letters[1], letters[2]);
  end loop;
  plain := translate(plain, 'øØłŁđĐðÐħĦŧŦı', 'oOlLdDdDhHtTi');
  plain := btrim(left(btrim(regexp_replace(plain, '[^A-Za-z0-9/?:().,''+-]+', ' ', 'g')), 70));
  return case when plain ~ '[A-Za-z0-9]' then plain end;
end $$;
comment on function private.sepa_name(text) is
  'A name in the characters that every bank of SEPA takes (EPC217-08), at most 70 of them: letters without their accents; what has no such letter is a space. Null where nothing is left.';

create function private.payable_balances(owners uuid[])
returns table (partner_id uuid, account_id uuid, ledger_partner_id uuid, kind text, of_account_id uuid, amount numeric)
language plpgsql stable
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
begin
  return query
  with balance as materialized (
    select b.partner_id, b.kind, b.owner, b.balance
      from core.ledger_balances b where owners is null and b.unit = 'EUR' and b.kind in ('customer', 'partner', 'vat')
    union all
    select l.partner_id, l.kind, l.owner, private.balance(l.partner_id, l.unit, l.kind, l.owner)
      from core.ledger_accounts l
     where l.partner_id = any (array(select p.id from core.partners p)) and l.owner = any (owners)
       and l.unit = 'EUR' and l.kind in ('customer', 'partner', 'vat')
  )
  select b.partner_id, case a.payout_handler when 'service_pays_customer' then a.id end, b.partner_id, b.kind, a.id, b.balance
    from balance b
    join core.accounts a on a.partner_id = b.partner_id and a.id = b.owner
   where b.kind = 'customer' and b.balance <> 0
  union all
  select b.owner, null, b.partner_id, b.kind, null, b.balance from balance b where b.kind in ('partner', 'vat') and b.balance <> 0;
end $$;
comment on function private.payable_balances(uuid[]) is
  'Every balance, or those of owners, of a customer or a partner with who is to be paid it: the customer, or the partner (account_id is null) where the CPO settles with its customers. What a person earned a partner is in the ledger of the house. Below zero: it was paid, and taken back since.';

create function private.may_yield(account_partner uuid, account uuid) returns boolean
language plpgsql stable
set search_path = '' set plan_cache_mode = 'auto' set enable_seqscan = off
as $$
begin
  return exists (
      select from core.connections c
        join core.mandates m on m.partner_id = c.partner_id and m.connection_id = c.id
       where c.partner_id = account_partner and c.account_id = account and m.status = 'signed' and m.valid_until >= private.today())
    or exists (
      select from core.connections c
        join core.counted_months m on m.partner_id = c.partner_id and m.connection_id = c.id
        join core.ere_factors f on f.delivery_year = extract(year from m.period)
       where c.partner_id = account_partner and c.account_id = account and m.status = 'staged' and m.total_kwh > 0
         and (f.bookable_until is null or f.bookable_until >= private.today()))
    or exists (
      select from core.connections c
        join core.booking_rows r on r.partner_id = c.partner_id and r.connection_id = c.id and r.live
        left join core.credits k on k.partner_id = r.partner_id and k.row_id = r.id and k.reversed_at is null
       where c.partner_id = account_partner and c.account_id = account
         and (k.id is null or k.ere > (select coalesce(sum(a.ere), 0) from core.allocations a
                                        where a.partner_id = r.partner_id and a.row_id = r.id and a.reversal_id is null)));
end $$;
comment on function private.may_yield(uuid, uuid) is
  'Whether more can come of an account: a mandate that is not over, a month that can still be booked, kWh that wait for their credit, or ERE that are not sold.';

create function private.partner_may_yield(partner uuid) returns boolean
language plpgsql stable
set search_path = '' set plan_cache_mode = 'auto' set enable_seqscan = off
as $$
begin
  return exists (select from core.accounts a where a.partner_id = partner and private.may_yield(a.partner_id, a.id))
      or exists (select from core.attributions t
                   join core.accounts a on a.partner_id = private.house() and a.user_id = t.user_id
                  where t.partner_id = partner and private.may_yield(a.partner_id, a.id));
end $$;
comment on function private.partner_may_yield(uuid) is 'Whether more can come to a partner, of its own accounts or of the people it brought.';

create type private.payee as (
  partner_id        uuid,
  account_id        uuid,
  owner_id          uuid,
  amount            numeric,
  name              text,
  iban_ciphertext   text,
  iban_key_id       text,
  iban_last4        text,
  iban_changed_at   timestamptz,
  -- of the latest payment where that failed, and nobody released it
  failed_ciphertext text,
  failed_key_id     text,
  reason            text);

create function private.payees(minimum numeric, owners uuid[] default null) returns setof private.payee
language plpgsql stable
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
begin
  return query
  with owed as materialized (
    select b.partner_id, b.account_id, sum(b.amount) as amount from private.payable_balances(owners) b group by b.partner_id, b.account_id
  )
  select o.partner_id, o.account_id, a.owner_id, o.amount, n.name, i.ciphertext, i.key_id, i.last4, i.changed_at,
         f.iban_ciphertext, f.iban_key_id,
         case when o.amount < 0 then 'owes'
              when o.amount < minimum and case when o.account_id is null then private.partner_may_yield(o.partner_id)
                                               else private.may_yield(o.partner_id, o.account_id) end then 'below_minimum'
              when i.ciphertext is null then 'iban_missing'
              when i.changed_at > private.now() - interval '48 hours' then 'iban_changed'
              when n.name is null then 'name_unreadable' end
    from owed o
    join core.partners p on p.id = o.partner_id
    left join core.accounts a on a.partner_id = o.partner_id and a.id = o.account_id
    left join core.signatories s on s.partner_id = a.partner_id and s.account_id = a.id
    cross join lateral (
      -- a business is paid in its own name
      select private.sepa_name(case when o.account_id is null then p.iban_holder
                                    else coalesce(case when a.type <> 'particulier' then a.company ->> 'name' end, s.full_name, a.display_name) end) as name) n
    cross join lateral (
      select case when o.account_id is null then p.iban_ciphertext else a.iban_ciphertext end as ciphertext,
             case when o.account_id is null then p.iban_key_id else a.iban_key_id end as key_id,
             case when o.account_id is null then p.iban_last4 else a.iban_last4 end as last4,
             case when o.account_id is null then p.iban_changed_at else a.iban_changed_at end as changed_at) i
    left join lateral (
      select l.* from core.payout_lines l
       where l.partner_id = o.partner_id and l.payee_id = coalesce(o.account_id, o.partner_id) and l.status <> 'cancelled'
       order by l.arrival desc limit 1) f on f.status = 'failed' and f.released_at is null
   where o.amount <> 0;
end $$;
comment on function private.payees(numeric, uuid[]) is
  'Everybody, or of owners those, who is owed something, or owes it, and why they are not paid now; reason is null where nothing is in the way that the database knows of. What is below the minimum is carried over while more can come.';

-- A batch through its steps: prepared, approved, exported, settled; or cancelled. Money leaves a balance when its line is prepared.

create function private.lock_payouts(exclusively boolean) returns void
language plpgsql
set search_path = ''
as $$
declare
  key constant bigint := hashtextextended('payouts', 0);
begin
  if exclusively then
    perform pg_advisory_xact_lock(key);
  else
    perform pg_advisory_xact_lock_shared(key);
  end if;
end $$;
comment on function private.lock_payouts(boolean) is
  'Balances are paid out by one transaction at a time (exclusively), and not while another takes back what was not paid out.';

create function private.lock_payouts_of(partner uuid) returns void
language plpgsql
set search_path = ''
as $$
begin
  perform private.lock_payouts(exclusively => false), pg_advisory_xact_lock(hashtextextended('payouts of ' || partner, 0));
end $$;
comment on function private.lock_payouts_of(uuid) is
  'For the sandbox, where a partner''s customers are settled and reset: one at a time of each partner, and not while the operator pays. Before any row is locked.';

create function private.euro_posting(cause text, amount numeric, from_kind text, from_owner uuid, to_kind text, to_owner uuid) returns private.posting
language plpgsql immutable
set search_path = ''
as $$
begin
  if amount > 0 then
    return row(cause, 'EUR', amount, from_kind, from_owner, to_kind, to_owner)::private.posting;
  end if;
  return row(cause, 'EUR', -amount, to_kind, to_owner, from_kind, from_owner)::private.posting;
end $$;
comment on function private.euro_posting(text, numeric, text, uuid, text, uuid) is
  'Euros from one account to another; an amount below zero goes the other way.';

create function private.make_batch(payees private.payee[], from_euro numeric, by_login text, owners uuid[] default null) returns uuid
language plpgsql
set search_path = '' set plan_cache_mode = 'auto' set enable_seqscan = off
as $$
declare
  made   uuid;
  ledger record;
begin
  insert into core.payout_batches (minimum, prepared_by) values (from_euro, by_login) returning id into made;
  for ledger in
    with part as materialized (
      select gen_random_uuid() as line_id, coalesce(y.account_id, y.partner_id) as payee_id, y.* from unnest(payees) y
    ), balance as materialized (
      select l.line_id, b.* from part l
        join private.payable_balances(owners) b on b.partner_id = l.partner_id and coalesce(b.account_id, b.partner_id) = l.payee_id
    ), lines as (
      insert into core.payout_lines (partner_id, id, batch_id, account_id, owner_id, amount, name, iban_ciphertext, iban_key_id, iban_last4)
      select l.partner_id, l.line_id, made, l.account_id, l.owner_id, b.amount, l.name, l.iban_ciphertext, l.iban_key_id, l.iban_last4
        from part l join (select b.line_id, sum(b.amount) as amount from balance b group by b.line_id) b on b.line_id = l.line_id
       order by l.name, l.line_id
    ), parts as (
      insert into core.payout_parts (partner_id, line_id, ledger_partner_id, kind, account_id, owner_id, amount)
      select b.partner_id, b.line_id, b.ledger_partner_id, b.kind, b.of_account_id, a.owner_id, b.amount
        from balance b
        left join core.accounts a on a.partner_id = b.partner_id and a.id = b.of_account_id
      returning *
    )
    select p.ledger_partner_id as partner_id,
           array_agg(private.euro_posting('payout:' || p.id, p.amount, p.kind, p.payee_id, 'payout', y.payee_id)) as postings
      from parts p join part y on y.line_id = p.line_id
     group by p.ledger_partner_id
  loop
    perform private.post(ledger.partner_id, ledger.postings);
  end loop;
  return made;
end $$;
comment on function private.make_batch(private.payee[], numeric, text, uuid[]) is
  'A batch with a line for each of these payees, for all that is owed to them as it stands now, or what of it owners have; the money is on its way from here on. Payouts are locked.';

create function private.return_lines(lines core.payout_lines[]) returns void
language plpgsql
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  ledger record;
begin
  for ledger in
    select p.ledger_partner_id as partner_id,
           array_agg('payout:' || p.id) || coalesce(array_agg('payout:' || p.id || ':paid') filter (where l.status = 'paid'), '{}') as causes
      from unnest(lines) l
      join core.payout_parts p on p.partner_id = l.partner_id and p.line_id = l.id
     group by p.ledger_partner_id
  loop
    perform private.reverse_postings(ledger.partner_id, ledger.causes);
  end loop;
end $$;
comment on function private.return_lines(core.payout_lines[]) is 'Gives what these lines took back to the balances it came from.';

create function private.pay_lines(batch uuid) returns int
language plpgsql
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  ledger record;
  paid   int;
begin
  for ledger in
    select p.ledger_partner_id as partner_id,
           array_agg(private.euro_posting('payout:' || p.id || ':paid', p.amount, 'payout', l.payee_id, 'bank', l.payee_id)) as postings
      from core.payout_lines l
      join core.payout_parts p on p.partner_id = l.partner_id and p.line_id = l.id
     where l.batch_id = batch and l.status = 'pending'
     group by p.ledger_partner_id
  loop
    perform private.post(ledger.partner_id, ledger.postings);
  end loop;
  update core.payout_lines l set status = 'paid', paid_at = private.now() where l.batch_id = batch and l.status = 'pending';
  get diagnostics paid = row_count;
  perform private.request_statements(batch);
  perform private.emit_payouts('payout.paid', array(select l from unnest(private.lines_of(batch)) l where l.status = 'paid'));
  return paid;
end $$;
comment on function private.pay_lines(uuid) is 'Notes of a batch that the bank paid every line that was not said to have failed: how many.';

create function private.fail_line(line core.payout_lines, reason text) returns void
language plpgsql
set search_path = ''
as $$
begin
  perform private.return_lines(array[line]), private.withdraw_statement(line);
  update core.payout_lines l set status = 'failed', failed_at = private.now(), failed_reason = fail_line.reason, paid_at = null
   where l.partner_id = line.partner_id and l.id = line.id;
  perform private.act_for_partner(line.partner_id), private.audit('payout.failed', line.payee_id, jsonb_build_object('line', line.id, 'amount', line.amount));
  perform private.emit_payouts('payout.failed', array[line]);
  if line.account_id is not null then
    perform private.notify(line.account_id, 'payout_failed', 'payout_failed:' || line.id,
                           jsonb_build_object('amount_eur', line.amount, 'iban_last4', line.iban_last4));
  end if;
end $$;
comment on function private.fail_line(core.payout_lines, text) is
  'The bank could not pay a line, or sent it back: the money is in the balance again, the IBAN is held back, and the customer is asked for another.';

create function private.notify_paid(batch uuid) returns void
language plpgsql
set search_path = '' set plan_cache_mode = 'auto' set enable_seqscan = off
as $$
begin
  insert into core.notices (partner_id, account_id, owner_id, kind, cause, details)
  select l.partner_id, l.account_id, l.owner_id, 'payout_sent', 'payout_sent:' || l.id,
         jsonb_build_object('amount_eur', l.amount, 'iban_last4', l.iban_last4)
    from core.payout_lines l where l.batch_id = batch and l.account_id is not null
  on conflict on constraint notices_cause_key do nothing;
end $$;
comment on function private.notify_paid(uuid) is 'Has the customers of a batch told that their money is on its way.';

create function private.payments(tenant uuid, kind text, payee uuid)
returns table (allocation_id uuid, amount numeric, state text, paid_at timestamptz)
language plpgsql stable
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
begin
  return query
  with due as materialized (
    -- the oldest part of a balance is paid first
    select a.id, k.amount, sum(k.amount) over (order by s.arrival, a.id) as up_to
      from core.allocations a
      join core.sales s on s.partner_id = a.partner_id and s.id = a.sale_id
      cross join lateral (select case payments.kind when 'customer' then a.net else a.partner_share end as amount) k
     where a.partner_id = tenant and a.reversal_id is null and k.amount > 0
       and case payments.kind when 'customer' then a.account_id = payee else a.share_partner_id = payee end
  ), taken as (
    select l.arrival, case when l.status = 'paid' then 'paid' when b.status = 'prepared' then 'pending' else 'approved' end as state, l.paid_at,
           sum(p.amount) over (order by l.status <> 'paid', l.arrival) as up_to
      from core.payout_parts p
      join core.payout_lines l on l.partner_id = p.partner_id and l.id = p.line_id and l.status in ('pending', 'paid')
      join core.payout_batches b on b.id = l.batch_id
     where p.ledger_partner_id = tenant and p.payee_id = payee and p.kind = payments.kind
  )
  select d.id, d.amount, coalesce(t.state, 'pending'), t.paid_at
    from due d
    left join lateral (select t.* from taken t where t.up_to >= d.up_to order by t.state <> 'paid', t.arrival limit 1) t on true;
end $$;
comment on function private.payments(uuid, text, uuid) is
  'How far each part of a sale that stands has come to one payee (kind customer or partner): pending, approved once two people let it go to the bank, or paid, with the moment. A part that was paid in part is not paid.';

-- Whether payouts and the ledger agree; see ledger/check.sql.

create function private.check_payouts(tenant uuid)
returns table (what text, expected numeric, found numeric, wrong bigint, example text)
language sql stable
set search_path = '' set enable_nestloop = off
as $$
  with part as materialized (
    select p.*, l.status, l.payee_id as line_payee_id
      from core.payout_parts p join core.payout_lines l on l.partner_id = p.partner_id and l.id = p.line_id
     where p.ledger_partner_id = tenant
  ), line as (
    select l.id, l.amount, coalesce(sum(p.amount), 0) as parts
      from core.payout_lines l left join core.payout_parts p on p.partner_id = l.partner_id and p.line_id = l.id
     where l.partner_id = tenant group by l.id, l.amount
  ), owed as (
    select k.kind, p.line_payee_id as payee_id, sum(p.amount) as amount
      from part p join (values ('payout', 'pending'), ('bank', 'paid')) k (kind, status) on k.status = p.status
     group by k.kind, p.line_payee_id
  ), balance as (
    select coalesce(b.owner, o.payee_id) as payee_id, coalesce(o.amount, 0) as amount, coalesce(b.balance, 0) as balance
      from (select * from core.ledger_balances where partner_id = tenant and unit = 'EUR' and kind in ('payout', 'bank')) b
      full join owed o on o.kind = b.kind and o.payee_id = b.owner
  )
  select 'lines of payouts are the sum of their parts', coalesce(sum(l.parts), 0), coalesce(sum(l.amount), 0),
         count(*) filter (where l.parts <> l.amount), min('line ' || l.id) filter (where l.parts <> l.amount)
    from line l
  union all
  select 'what is on its way, and what was paid, are lines of payouts', coalesce(sum(b.amount), 0), coalesce(sum(b.balance), 0),
         count(*) filter (where b.amount <> b.balance), min('payee ' || b.payee_id) filter (where b.amount <> b.balance)
    from balance b
$$;

-- GET /v1/settlements: what a CPO that settles with its customers itself was paid for each of them.

create function private.settlements(partner uuid, client uuid, query jsonb)
returns table (settlement_id uuid, account_id uuid, cpo_external_ref text, amount_eur numeric, status text, payment_reference text,
               created_at timestamptz, paid_at timestamptz)
language plpgsql stable security definer
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
begin
  return query
  select p.id, a.id, a.cpo_external_ref, p.amount,
         case when l.status = 'pending' and b.status <> 'prepared' then 'approved' else l.status end,
         replace(l.id::text, '-', ''), b.prepared_at, l.paid_at
    from core.payout_lines l
    join core.payout_batches b on b.id = l.batch_id
    join core.payout_parts p on p.partner_id = l.partner_id and p.line_id = l.id and p.kind = 'customer'
    join core.accounts a on a.partner_id = p.partner_id and a.id = p.account_id and a.client_id = client
   where l.partner_id = partner and l.payee_id = partner and l.status <> 'cancelled'
     and (query ->> 'payment_reference' is null or l.id = private.line_id_of(query ->> 'payment_reference'))
     and (query ->> 'cpo_external_ref' is null or a.cpo_external_ref = query ->> 'cpo_external_ref')
   order by l.arrival desc, p.id
   limit (query ->> 'limit')::int + 1 offset (query ->> 'offset')::bigint;
end $$;
comment on function private.settlements(uuid, uuid, jsonb) is
  'What of payments to a partner is for accounts that a client made, newest payment first, and one more than the limit. Definer, because the payment itself is the partner''s and its batch the service''s own.';
grant execute on function private.settlements(uuid, uuid, jsonb) to api_owner;

create function api.list_settlements(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'cpo');
  return (
    with page as materialized (
      select * from private.settlements(private.partner_id(), private.client_id(), query) with ordinality
    )
    select private.page_answer('settlements',
      (select json_agg(json_build_object(
         'settlement_id', p.settlement_id, 'account_id', p.account_id, 'cpo_external_ref', p.cpo_external_ref, 'amount_eur', p.amount_eur,
         'status', p.status, 'payment_reference', p.payment_reference, 'created_at', private.iso(p.created_at), 'paid_at', private.iso(p.paid_at))
         order by p.ordinality) from page p where p.ordinality <= (query ->> 'limit')::int),
      array(select p.settlement_id from page p order by p.ordinality), query));
end $$;
comment on function api.list_settlements(jsonb, jsonb) is
  'GET /v1/settlements: {limit, offset, payment_reference, cpo_external_ref} to a page of settlements, newest payment first.';
select private.expose('api.list_settlements(jsonb, jsonb)');

create function api.write_settlements(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'cpo');
  return (
    select json_build_object('csv', private.csv_line('settlement_id', 'account_id', 'cpo_external_ref', 'amount_eur', 'status', 'payment_reference', 'created_at', 'paid_at')
           || coalesce(string_agg(private.csv_line(
                p.settlement_id::text, p.account_id::text, p.cpo_external_ref, p.amount_eur::text, p.status, p.payment_reference,
                private.iso(p.created_at), private.iso(p.paid_at)), '' order by p.ordinality), ''))
      from private.settlements(private.partner_id(), private.client_id(), query) with ordinality p
     where p.ordinality <= (query ->> 'limit')::int);
end $$;
comment on function api.write_settlements(jsonb, jsonb) is
  'GET /v1/settlements.csv: the same as list_settlements, as {csv}. Without a formula in it.';
select private.expose('api.write_settlements(jsonb, jsonb)');

-- Invoices: what the service writes in a partner's name for its share (self-billing), and the VAT that comes on top.

create table core.vat_rates (
  valid_from date          not null,
  rate       numeric(5, 2) not null,
  constraint vat_rates_pkey primary key (valid_from),
  constraint vat_rates_rate_is_percentage check (rate between 0 and 100)
);
comment on table core.vat_rates is 'The Dutch standard rate of VAT, in percent, from a day on. Reference data; one by which an invoice was issued never changes.';
alter table core.vat_rates enable row level security;

insert into core.vat_rates (valid_from, rate) values ('2012-10-01', 21);

create table core.invoices (
  partner_id uuid           not null,
  id         uuid           not null default gen_random_uuid(),
  year       int            not null,
  number     int            not null,
  quarter    date           not null,
  issued_on  date           not null,
  issued_by  text           not null,
  vat_regime text           not null,
  vat_rate   numeric(5, 2)  not null,
  net        numeric(14, 2) not null,
  vat        numeric(14, 2) not null generated always as (round(net * vat_rate * 0.01, 2)) stored,
  corrects   uuid,
  name       text           not null,
  company    jsonb          not null,
  constraint invoices_pkey primary key (partner_id, id),
  constraint invoices_number_key unique (partner_id, year, number),
  constraint invoices_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint invoices_number_positive check (number > 0),
  constraint invoices_quarter_is_quarter check (quarter = date_trunc('quarter', quarter)),
  constraint invoices_year_of_issue check (year = extract(year from issued_on)),
  constraint invoices_regime_known check (vat_regime in ('none', 'small_business', 'regular', 'reverse_charge')),
  constraint invoices_rate_of_regime check (vat_regime = 'regular' or vat_rate = 0),
  constraint invoices_corrects_fkey foreign key (partner_id, corrects) references core.invoices (partner_id, id),
  constraint invoices_credit_notes_correct check (case when corrects is null then net > 0 else net < 0 end)
);
comment on table core.invoices is
  'A self-billing statement: the partner''s share in the fees of a quarter of delivery, as far as no invoice before it had it; or a credit note, of what an invoice had and was taken back since. Numbered without gaps by partner and year of issue. With the partner''s name and company data as they were. Append-only, kept seven years.';
comment on column core.invoices.vat is 'On top of the share, rounded half up once, away from zero: a credit note mirrors its invoice.';
comment on column core.invoices.corrects is 'The invoice of which a credit note takes back, at the rate it was charged; null in an invoice.';
-- serves: the credit notes of an invoice
create index invoices_corrects on core.invoices (partner_id, corrects) where corrects is not null;
select private.isolate('core.invoices', 'select');

create table core.invoice_entries (
  partner_id        uuid           not null,
  ledger_partner_id uuid           not null,
  entry_id          bigint         not null,
  invoice_id        uuid           not null,
  amount            numeric(14, 2) not null,
  constraint invoice_entries_pkey primary key (partner_id, ledger_partner_id, entry_id),
  constraint invoice_entries_invoice_fkey foreign key (partner_id, invoice_id) references core.invoices (partner_id, id)
);
comment on table core.invoice_entries is
  'An entry of a ledger (the partner''s own, or that of the house) that an invoice charges: each is on one. Append-only, kept seven years.';
-- serves: the entries of an invoice
create index invoice_entries_invoice on core.invoice_entries (partner_id, invoice_id);
select private.isolate('core.invoice_entries', 'select');

create function private.invoice_number(invoice core.invoices) returns text
language sql immutable
return invoice.year || '-' || lpad(invoice.number::text, greatest(4, length(invoice.number::text)), '0');
comment on function private.invoice_number(core.invoices) is 'A number as people write it: 2026-0001. Null of null.';
grant execute on function private.invoice_number(core.invoices) to api_owner;

create function private.share_entries(partner uuid)
returns table (ledger_partner_id uuid, entry_id bigint, quarter date, amount numeric, corrects uuid)
language plpgsql stable
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
begin
  return query
  with account as materialized (
    select a.partner_id, a.id from core.ledger_accounts a
     where a.partner_id = any (array[share_entries.partner, private.house()]) and a.owner = share_entries.partner and a.kind = 'partner' and a.unit = 'EUR'
  ), entry as materialized (
    select e.partner_id, e.id, e.cause, e.amount
      from account a join core.ledger_entries e on e.partner_id = a.partner_id and e.credit = a.id where e.cause like 'allocation:%'
    union all
    select e.partner_id, e.id, e.cause, -e.amount
      from account a join core.ledger_entries e on e.partner_id = a.partner_id and e.debit = a.id where e.cause like 'allocation:%'
  )
  select e.partner_id, e.id, b.quarter, e.amount, i.invoice_id
    from entry e
    join core.allocations a on a.partner_id = e.partner_id and a.id = private.as_uuid(split_part(e.cause, ':', 2))
    join core.sales s on s.partner_id = a.partner_id and s.id = a.sale_id
    join core.bookings b on b.partner_id = s.partner_id and b.id = s.booking_id
    -- what is taken back, and the invoice that had it
    left join core.ledger_entries t on e.amount < 0 and t.partner_id = e.partner_id and t.cause = regexp_replace(e.cause, ':reversed$', '')
    left join core.invoice_entries i on i.partner_id = share_entries.partner and i.ledger_partner_id = t.partner_id and i.entry_id = t.id
   where not exists (select from core.invoice_entries o
                      where o.partner_id = share_entries.partner and o.ledger_partner_id = e.partner_id and o.entry_id = e.id);
end $$;
comment on function private.share_entries(uuid) is
  'What came to a partner''s share, or was taken back from it, and is on no invoice yet: the quarter of delivery, euro, and the invoice that it takes back from.';

create function private.dutch_vat_number(value text) returns boolean
language sql immutable
return regexp_replace(upper(value), '[ .-]', '', 'g') ~ '^NL[0-9]{9}B[0-9]{2}$';
comment on function private.dutch_vat_number(text) is 'Whether it looks like a Dutch VAT number. Nobody asks the tax authority.';

create function private.why_no_invoice(partner core.partners) returns text
language sql immutable
set search_path = ''
as $$
  select case
    when partner.vat_regime is null then 'vat_regime_missing'
    when partner.vat_regime in ('regular', 'reverse_charge') and coalesce(partner.company ->> 'vat', '') = '' then 'vat_number_missing'
    when partner.vat_regime = 'regular' and not private.dutch_vat_number(partner.company ->> 'vat') then 'vat_number_not_dutch'
    when partner.vat_regime = 'reverse_charge' and private.dutch_vat_number(partner.company ->> 'vat') then 'vat_number_dutch'
    when coalesce(partner.company ->> 'street', '') = '' or coalesce(partner.company ->> 'city', '') = '' then 'address_missing' end
$$;
comment on function private.why_no_invoice(core.partners) is 'What has to be known of a partner before an invoice is written in its name, the first that is not; null where it is.';

create function private.write_invoice(partner core.partners, invoice core.invoices) returns core.invoices
language plpgsql
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
begin
  invoice.issued_on := private.today();
  invoice.year := extract(year from invoice.issued_on);
  invoice.number := (select 1 + coalesce(max(i.number), 0) from core.invoices i where i.partner_id = partner.id and i.year = invoice.year);
  -- one statement: what is sold while it runs is on the next invoice
  with charged as materialized (
    select e.ledger_partner_id, e.entry_id, e.amount from private.share_entries(partner.id) e
     where e.quarter = invoice.quarter and e.corrects is not distinct from invoice.corrects
  ), written as (
    insert into core.invoices (partner_id, year, number, quarter, issued_on, issued_by, vat_regime, vat_rate, net, corrects, name, company)
    select partner.id, invoice.year, invoice.number, invoice.quarter, invoice.issued_on, invoice.issued_by, invoice.vat_regime, invoice.vat_rate,
           sum(c.amount), invoice.corrects, coalesce(partner.company ->> 'name', partner.name), partner.company
      from charged c having sum(c.amount) <> 0
    returning *
  ), listed as (
    insert into core.invoice_entries (partner_id, ledger_partner_id, entry_id, invoice_id, amount)
    select w.partner_id, c.ledger_partner_id, c.entry_id, w.id, c.amount from written w cross join charged c
  )
  select * into invoice from written;
  if not found then
    return null;
  end if;
  if invoice.vat <> 0 then
    perform private.post(partner.id, array[private.euro_posting('invoice:' || invoice.id || ':vat', invoice.vat, 'input_vat', private.house(), 'vat', partner.id)]);
  end if;
  perform private.request_invoice_document(invoice);
  perform private.act_for_partner(partner.id),
          private.audit('invoice.issued', invoice.id, jsonb_build_object('number', private.invoice_number(invoice), 'net', invoice.net, 'vat', invoice.vat));
  return invoice;
end $$;
comment on function private.write_invoice(core.partners, core.invoices) is
  'Writes an invoice of what of its quarter is on none, or a credit note of what was taken back from the one it corrects, and moves its VAT to an account of its own, which the next payout pays; null where there is nothing. Invoices of the partner are locked.';

create function private.issue_invoices(partner core.partners, wanted date, by_login text) returns setof core.invoices
language plpgsql
set search_path = ''
as $$
declare
  corrected core.invoices;
  invoice   core.invoices;
begin
  -- of two at once the second finds nothing left, and the numbers have no gaps
  perform pg_advisory_xact_lock(hashtextextended('invoices of ' || partner.id, 0));
  for corrected in
    select i.* from core.invoices i
     where i.partner_id = partner.id
       and i.id in (select e.corrects from private.share_entries(partner.id) e where e.quarter = wanted)
     order by i.year, i.number
  loop
    invoice := null;
    invoice.corrects := corrected.id;
    invoice.quarter := wanted;
    invoice.issued_by := by_login;
    invoice.vat_regime := corrected.vat_regime;
    invoice.vat_rate := corrected.vat_rate;
    invoice := private.write_invoice(partner, invoice);
    if invoice.id is not null then
      return next invoice;
    end if;
  end loop;
  if private.why_no_invoice(partner) is null then
    invoice := null;
    invoice.quarter := wanted;
    invoice.issued_by := by_login;
    invoice.vat_regime := partner.vat_regime;
    invoice.vat_rate := case partner.vat_regime
      when 'regular' then (select r.rate from core.vat_rates r where r.valid_from <= private.today() order by r.valid_from desc limit 1) else 0 end;
    invoice := private.write_invoice(partner, invoice);
    if invoice.id is not null then
      return next invoice;
    end if;
  end if;
end $$;
comment on function private.issue_invoices(core.partners, date, text) is
  'Writes what a partner''s share in a quarter still needs: a credit note for each invoice of which something was taken back, at the rate of that invoice, and an invoice of what is on none.';

create function private.invoice_months(invoice core.invoices) returns json
language sql stable
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
  with charged as materialized (
    select i.ledger_partner_id, i.amount, private.as_uuid(split_part(e.cause, ':', 2)) as allocation_id
      from core.invoice_entries i
      join core.ledger_entries e on e.partner_id = i.ledger_partner_id and e.id = i.entry_id
     where i.partner_id = invoice.partner_id and i.invoice_id = invoice.id
  )
  select coalesce(json_agg(json_build_object('period', to_char(m.period, 'YYYY-MM'), 'customers', m.customers, 'ere', m.ere, 'fee_eur', m.fee,
                                             'share_eur', m.share) order by m.period), '[]')
    from (select r.period, count(distinct a.account_id) as customers, sum(a.ere * sign(c.amount)) as ere, sum(a.fee * sign(c.amount)) as fee, sum(c.amount) as share
            from charged c
            join core.allocations a on a.partner_id = c.ledger_partner_id and a.id = c.allocation_id
            join core.booking_rows r on r.partner_id = a.partner_id and r.id = a.row_id
           group by r.period) m
$$;
comment on function private.invoice_months(core.invoices) is
  'What an invoice charges by the month of delivery: [{period, customers, ere, fee_eur, share_eur}].';

create function private.check_invoices(tenant uuid)
returns table (what text, expected numeric, found numeric, wrong bigint, example text)
language sql stable
set search_path = ''
as $$
  with invoice as materialized (
    select i.id, i.net, i.vat, coalesce((select sum(e.amount) from core.invoice_entries e where e.partner_id = i.partner_id and e.invoice_id = i.id), 0) as entries,
           coalesce((select e.amount * case d.kind when 'input_vat' then 1 else -1 end
                       from core.ledger_entries e join core.ledger_accounts d on d.partner_id = e.partner_id and d.id = e.debit
                      where e.partner_id = tenant and e.cause = 'invoice:' || i.id || ':vat'), 0) as in_ledger
      from core.invoices i where i.partner_id = tenant
  )
  select 'invoices charge what they list', coalesce(sum(i.entries), 0), coalesce(sum(i.net), 0), count(*) filter (where i.net <> i.entries),
         min('invoice ' || i.id) filter (where i.net <> i.entries)
    from invoice i
  union all
  select 'VAT in the ledger is that of invoices', coalesce(sum(i.vat), 0), coalesce(sum(i.in_ledger), 0), count(*) filter (where i.vat <> i.in_ledger),
         min('invoice ' || i.id) filter (where i.vat <> i.in_ledger)
    from invoice i
  union all
  select 'numbers of invoices have no gaps', coalesce(sum(y.last), 0), coalesce(sum(y.invoices), 0), count(*) filter (where y.last <> y.invoices),
         min('year ' || y.year) filter (where y.last <> y.invoices)
    from (select i.year, max(i.number) as last, count(*) as invoices from core.invoices i where i.partner_id = tenant group by i.year) y
$$;

-- Documents that people keep: asked for in the transaction of what they show, rendered once by the function `documents`, and only read after that.

create table core.documents (
  partner_id  uuid        not null,
  id          uuid        not null default gen_random_uuid(),
  account_id  uuid,
  owner_id    uuid        default private.owner_id(),
  mandate_id  uuid,
  line_id     uuid,
  part_id     uuid,
  invoice_id  uuid,
  -- compressed already
  pdf         bytea       storage external,
  sha256      text,
  created_at  timestamptz not null default private.now(),
  due_at      timestamptz not null default private.now(),
  rendered_at timestamptz,
  constraint documents_pkey primary key (partner_id, id),
  constraint documents_account_fkey foreign key (partner_id, account_id, owner_id) references core.accounts (partner_id, id, owner_id),
  constraint documents_mandate_fkey foreign key (partner_id, mandate_id) references core.mandates (partner_id, id),
  constraint documents_line_fkey foreign key (partner_id, line_id) references core.payout_lines (partner_id, id),
  constraint documents_part_fkey foreign key (partner_id, part_id) references core.payout_parts (partner_id, id),
  constraint documents_invoice_fkey foreign key (partner_id, invoice_id) references core.invoices (partner_id, id),
  constraint documents_mandate_key unique (partner_id, mandate_id),
  constraint documents_line_key unique (partner_id, line_id),
  constraint documents_part_key unique (partner_id, part_id),
  constraint documents_invoice_key unique (partner_id, invoice_id),
  constraint documents_of_one_thing check (num_nonnulls(mandate_id, line_id, part_id, invoice_id) = 1),
  constraint documents_of_somebody check (num_nulls(account_id, owner_id) = case when invoice_id is null then 0 else 2 end),
  constraint documents_rendered_whole check (num_nulls(pdf, sha256, rendered_at) in (0, 3)),
  constraint documents_sha256_true check (sha256 = encode(sha256(pdf), 'hex'))
);
comment on table core.documents is
  'A document to keep, as PDF: of a signed mandate, of what a customer was paid, or an invoice, which is of a partner and no account. Personal data. Written once; kept as long as the evidence of what it shows, and deleted with it.';
comment on column core.documents.line_id is 'The payout line that it is the statement of; null where it shows something else.';
comment on column core.documents.part_id is 'The settlement that it is: a customer''s part of a payment to the CPO; null where it shows something else.';
comment on column core.documents.created_at is 'When it was asked for, which is the moment that the document itself says it was made.';
comment on column core.documents.due_at is 'When it may be rendered, as long as it is not: moved on by whoever is about to.';
-- serves: the documents to be rendered next
create index documents_due on core.documents (due_at) where pdf is null;
-- serves: the documents of an account
create index documents_account on core.documents (partner_id, account_id);
select private.isolate('core.documents', 'select, insert, update');
select private.belong_with('core.documents', 'core.accounts', 'account_id');

create function private.request_mandate_document(link core.mandate_links) returns void
language sql
set search_path = ''
as $$
  insert into core.documents (partner_id, account_id, mandate_id)
  select m.partner_id, c.account_id, m.id
    from core.mandates m
    join core.connections c on c.partner_id = m.partner_id and c.id = m.connection_id
   where m.partner_id = link.partner_id and m.link_id = link.id and m.document is not null
  on conflict on constraint documents_mandate_key do nothing
$$;
comment on function private.request_mandate_document(core.mandate_links) is 'Has what was signed by a link rendered as a document.';
grant execute on function private.request_mandate_document(core.mandate_links) to api_owner;

create function private.request_invoice_document(invoice core.invoices) returns void
language sql
set search_path = ''
as $$
  insert into core.documents (partner_id, invoice_id) values (invoice.partner_id, invoice.id)
$$;
comment on function private.request_invoice_document(core.invoices) is 'Has an invoice rendered as a document.';

-- Statements: what a customer was paid, and for what.

create function private.request_statements(batch uuid) returns void
language sql
set search_path = ''
as $$
  insert into core.documents (partner_id, account_id, owner_id, line_id)
  select l.partner_id, l.account_id, l.owner_id, l.id
    from core.payout_lines l
   where l.batch_id = batch and l.status = 'paid' and l.account_id is not null
  on conflict on constraint documents_line_key do nothing;
  insert into core.documents (partner_id, account_id, owner_id, part_id)
  select p.partner_id, p.account_id, p.owner_id, p.id
    from core.payout_lines l
    join core.payout_parts p on p.partner_id = l.partner_id and p.line_id = l.id and p.kind = 'customer'
   where l.batch_id = batch and l.status = 'paid' and l.account_id is null
  on conflict on constraint documents_part_key do nothing
$$;
comment on function private.request_statements(uuid) is 'Has a statement rendered of every line of a batch by which a customer was paid, or what of it was paid to a CPO.';

create function private.withdraw_statement(line core.payout_lines) returns void
language sql
set search_path = ''
as $$
  delete from core.documents d
   where d.partner_id = line.partner_id
     and (d.line_id = line.id or d.part_id = any (array(select p.id from core.payout_parts p where p.partner_id = line.partner_id and p.line_id = line.id)))
$$;
comment on function private.withdraw_statement(core.payout_lines) is
  'A line that was paid came back: nothing was paid by it, and the months are on the statement of the line that pays them.';

create function private.statement_content(document core.documents) returns json
language sql stable
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
  with line as materialized (
    select l.partner_id, l.id, p.account_id, p.amount, l.account_id is null as to_partner, l.paid_at, l.iban_last4,
           coalesce((select sum(o.amount) from core.payout_parts o
                       join core.payout_lines e on e.partner_id = o.partner_id and e.id = o.line_id and e.status = 'paid' and e.arrival < l.arrival
                      where o.ledger_partner_id = p.ledger_partner_id and o.payee_id = p.payee_id and o.kind = 'customer'), 0) as before
      from core.payout_parts p
      join core.payout_lines l on l.partner_id = p.partner_id and l.id = p.line_id
     where p.partner_id = document.partner_id and p.kind = 'customer' and p.account_id = document.account_id
       and (p.line_id = document.line_id or p.id = document.part_id)
  ), due as materialized (
    -- the oldest part of a balance is paid first; what was taken back since was paid by this line all the same
    select a.row_id, a.ere, a.gross, a.fee, a.net, sum(a.net) over (order by s.arrival, a.id) as up_to
      from line l
      join core.allocations a on a.partner_id = l.partner_id and a.account_id = l.account_id and a.net > 0
      join core.sales s on s.partner_id = a.partner_id and s.id = a.sale_id
      left join core.sale_reversals v on v.partner_id = a.partner_id and v.id = a.reversal_id
     where v.id is null or v.reversed_at > l.paid_at
  ), months as materialized (
    select r.ean_code, r.period, round(sum(d.ere) / r.ere_per_kwh, 3) as kwh, sum(d.ere) as ere, sum(d.gross) as gross, sum(d.fee) as fee, sum(d.net) as net
      from line l
      join due d on d.up_to > l.before and d.up_to <= l.before + l.amount
      join core.booking_rows r on r.partner_id = l.partner_id and r.id = d.row_id
     group by r.id, r.ean_code, r.period, r.ere_per_kwh
  ), total as (
    select coalesce(sum(m.kwh), 0.000) as kwh, coalesce(sum(m.ere), 0.000000) as ere, coalesce(sum(m.gross), 0.00) as gross,
           coalesce(sum(m.fee), 0.00) as fee, coalesce(sum(m.net), 0.00) as net
      from months m
  )
  select json_build_object(
           'locale', coalesce((
             select m.locale from core.mandates m join core.connections c on c.partner_id = m.partner_id and c.id = m.connection_id
              where c.partner_id = a.partner_id and c.account_id = a.id and m.locale is not null order by m.created_at desc limit 1), 'nl'),
           'customer', case when a.type = 'particulier' then s.full_name else coalesce(a.company ->> 'name', a.display_name, s.full_name) end,
           'reference', replace(l.id::text, '-', ''),
           'paid_on', (l.paid_at at time zone 'Europe/Amsterdam')::date,
           'iban_last4', case when not l.to_partner then l.iban_last4 end,
           'paid_to', case when l.to_partner then (select coalesce(t.company ->> 'name', t.name) from core.partners t where t.id = l.partner_id) end,
           'rows', (select coalesce(json_agg(json_build_object(
                             'period', to_char(m.period, 'YYYY-MM'), 'ean_code', m.ean_code, 'kwh', m.kwh::text, 'ere', m.ere::text,
                             'gross', m.gross::text, 'fee', m.fee::text, 'net', m.net::text) order by m.ean_code, m.period), '[]') from months m),
           'totals', json_build_object('kwh', t.kwh::text, 'ere', t.ere::text, 'gross', t.gross::text, 'fee', t.fee::text, 'net', t.net::text),
           'other', (l.amount - t.net)::text,
           'amount', l.amount::text)
    from line l
    cross join total t
    join core.accounts a on a.partner_id = l.partner_id and a.id = l.account_id
    join core.signatories s on s.partner_id = a.partner_id and s.account_id = a.id
$$;
comment on function private.statement_content(core.documents) is
  'What the statement of a payout line, or of a customer''s part of one to a CPO, says: who was paid, when, where to (the end of an IBAN, or the name of the CPO), and for which months how many kWh and ERE, what they yielded, the fee and the net. Decimals as text, exact. other is what of the amount no month explains: a sale taken back that was paid before.';

-- Invoices as documents: what they say.

create function private.invoice_content(document core.documents) returns json
language sql stable
set search_path = ''
as $$
  select json_build_object(
           'locale', coalesce(p.locale, 'nl'), 'number', private.invoice_number(i), 'issued_on', i.issued_on, 'quarter', private.quarter_name(i.quarter),
           'corrects', (select json_build_object('number', private.invoice_number(c), 'issued_on', c.issued_on)
                          from core.invoices c where c.partner_id = i.partner_id and c.id = i.corrects),
           'supplier', i.company || jsonb_build_object('name', i.name),
           'vat_regime', i.vat_regime, 'vat_rate', i.vat_rate::text, 'net', i.net::text, 'vat', i.vat::text, 'total', (i.net + i.vat)::text,
           'months', (select coalesce(json_agg(json_build_object('period', m ->> 'period', 'customers', (m ->> 'customers')::int, 'ere', m ->> 'ere',
                                                                 'fee', m ->> 'fee_eur', 'share', m ->> 'share_eur')), '[]')
                        from json_array_elements(private.invoice_months(i)) m))
    from core.invoices i
    join core.partners p on p.id = i.partner_id
   where i.partner_id = document.partner_id and i.id = document.invoice_id
$$;
comment on function private.invoice_content(core.documents) is
  'What an invoice says: number, day, quarter, supplier, VAT, and by the month of delivery what it charges. Decimals as text, exact.';

-- Rendering documents: what is due is claimed, composed of its subject, and kept.

create function private.document_content(document core.documents) returns json
language sql stable
set search_path = ''
as $$
  select case when document.line_id is not null or document.part_id is not null then private.statement_content(document)
              when document.invoice_id is not null then private.invoice_content(document) else (select json_build_object(
                   'document', m.document, 'document_sha256', m.document_sha256, 'signed_name', m.signed_name,
                   'signed_at', private.iso(m.signed_at), 'code_sent_to', m.code_sent_to, 'valid_from', m.valid_from,
                   'valid_until', m.valid_until, 'mandate_id', m.id, 'connection_id', m.connection_id)
            from core.mandates m where m.partner_id = document.partner_id and m.id = document.mandate_id) end
$$;
comment on function private.document_content(core.documents) is 'What a document is composed of: the same each time, whatever became of its subject.';

create function private.claim_documents(size int) returns json
language sql security definer
set search_path = ''
as $$
  with claimed as (
    update core.documents d set due_at = private.now() + interval '5 minutes'
     where (d.partner_id, d.id) in (
       select w.partner_id, w.id from core.documents w
        where w.pdf is null and w.due_at <= private.now()
        order by w.due_at limit size for update skip locked)
    returning d.*)
  select coalesce(json_agg(json_build_object(
           'partner_id', d.partner_id, 'id', d.id, 'kind', case when d.mandate_id is not null then 'mandate' when d.invoice_id is not null then 'invoice' else 'statement' end, 'created_at', private.iso(d.created_at),
           'content', private.document_content(d)) order by d.created_at, d.id), '[]')
    from claimed d
$$;
comment on function private.claim_documents(int) is 'Definer: documents of every tenant are rendered at once.';
grant execute on function private.claim_documents(int) to api_owner;

create function api.claim_documents(caller jsonb, batch jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'worker');
  return private.claim_documents((batch ->> 'size')::int);
end $$;
comment on function api.claim_documents(jsonb, jsonb) is
  'The next documents to render: {size} to [{partner_id, id, kind, created_at, content}]. Each is claimed for five minutes, then offered again.';
select private.expose('api.claim_documents(jsonb, jsonb)', 'edge_slow');

create function api.store_document(caller jsonb, rendered jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'worker'), private.act_for_partner((rendered ->> 'partner_id')::uuid);
  update core.documents d
     set pdf = decode(rendered ->> 'pdf', 'base64'), sha256 = rendered ->> 'sha256', rendered_at = private.now()
   where d.partner_id = private.partner_id() and d.id = (rendered ->> 'id')::uuid and d.pdf is null;
  return json_build_object('stored', found);
end $$;
comment on function api.store_document(jsonb, jsonb) is
  'Keeps what was rendered: {partner_id, id, pdf (base64), sha256} to {stored}, which is false where it was kept before; then that stays.';
select private.expose('api.store_document(jsonb, jsonb)', 'edge_slow');

-- Reading documents: that of a signed mandate by the CPO client whose account it is, and by whoever signed.

create function private.kept_document(document core.documents, name text) returns json
language plpgsql stable
set search_path = ''
as $$
begin
  if document.pdf is null then
    perform private.refuse('document_not_ready');
  end if;
  return json_build_object('pdf', translate(encode(document.pdf, 'base64'), E'\n', ''), 'sha256', document.sha256, 'name', name);
end $$;
comment on function private.kept_document(core.documents, text) is
  'A document: {pdf (base64), sha256, name}, the name without its ending. Refused with document_not_ready before it is rendered.';
grant execute on function private.kept_document(core.documents, text) to api_owner;

create function private.mandate_document(mandate uuid) returns json
language plpgsql stable
set search_path = ''
as $$
declare
  name text;
begin
  select concat_ws('-', 'mandate', to_char(m.valid_from, 'YYYY'), nullif(to_char(m.valid_until, 'YYYY'), to_char(m.valid_from, 'YYYY'))) into name
    from core.mandates m where m.partner_id = private.partner_id() and m.id = mandate;
  if name is null then
    perform private.refuse('mandate_not_found');
  end if;
  return private.kept_document((
    select d from core.documents d where d.partner_id = private.partner_id() and d.mandate_id = mandate), name);
end $$;
comment on function private.mandate_document(uuid) is
  'private.kept_document of a mandate of the tenant, named by its years. Refused with mandate_not_found without one.';
grant execute on function private.mandate_document(uuid) to api_owner;

create function private.signed_mandate(connection uuid) returns uuid
language sql stable
set search_path = ''
as $$
  select m.id from core.mandates m
   where m.partner_id = private.partner_id() and m.connection_id = connection and m.document is not null
   order by m.status = 'signed' and private.today() between m.valid_from and m.valid_until desc, m.created_at desc limit 1
$$;
comment on function private.signed_mandate(uuid) is 'The mandate of a connection that is to be shown: the one that covers today, else the one signed last. Null where nobody signed.';
grant execute on function private.signed_mandate(uuid) to api_owner;

create function api.read_connection_mandate(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  connection uuid;
begin
  perform private.act_as(caller, 'cpo');
  select c.id into connection from core.connections c
   where c.partner_id = private.partner_id() and c.id = (request ->> 'connection_id')::uuid;
  if connection is null then
    perform private.refuse('connection_not_found');
  end if;
  return private.mandate_document(private.signed_mandate(connection));
end $$;
comment on function api.read_connection_mandate(jsonb, jsonb) is
  'GET /v1/connections/{connection_id}/mandate: {connection_id} to private.mandate_document.';
select private.expose('api.read_connection_mandate(jsonb, jsonb)');

create function api.read_link_mandate(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  link core.mandate_links;
begin
  link := private.enter_link(caller, request);
  return private.mandate_document((
    select m.id from core.mandates m
     where m.partner_id = link.partner_id and m.link_id = link.id and m.document is not null and private.link_state(link) = 'signed'));
end $$;
comment on function api.read_link_mandate(jsonb, jsonb) is
  'What was signed by a mandate link: {token_hash} to private.mandate_document. Its page counts the visit.';
select private.expose('api.read_link_mandate(jsonb, jsonb)');

-- Reading documents about money: a partner its invoices, a CPO client what was settled of its customers.

create function api.list_invoices(caller jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'partner');
  return json_build_object('invoices', (
    select coalesce(json_agg(json_build_object(
             'number', private.invoice_number(i), 'period', private.quarter_name(i.quarter), 'issued_on', i.issued_on,
             'corrects', private.invoice_number(c), 'vat_regime', i.vat_regime, 'vat_rate', i.vat_rate,
             'net_eur', i.net, 'vat_eur', i.vat, 'total_eur', i.net + i.vat) order by i.year desc, i.number desc), '[]')
      from core.invoices i
      left join core.invoices c on c.partner_id = i.partner_id and c.id = i.corrects
     where i.partner_id = private.partner_id()));
end $$;
comment on function api.list_invoices(jsonb) is 'GET /partner/invoices: {invoices}, newest first.';
select private.expose('api.list_invoices(jsonb)');

create function api.read_invoice(caller jsonb, request jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
declare
  document core.documents;
begin
  perform private.act_as(caller, 'partner');
  select d.* into document
    from core.documents d
    join core.invoices i on i.partner_id = d.partner_id and i.id = d.invoice_id
   where d.partner_id = private.partner_id() and d.invoice_id is not null and private.invoice_number(i) = request ->> 'number';
  if document.id is null then
    perform private.refuse('invoice_not_found');
  end if;
  return private.kept_document(document, 'invoice-' || (request ->> 'number'));
end $$;
comment on function api.read_invoice(jsonb, jsonb) is 'GET /partner/invoices/{invoice_number}: {number} to private.kept_document.';
select private.expose('api.read_invoice(jsonb, jsonb)');

create function api.read_settlement(caller jsonb, request jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
declare
  document core.documents;
begin
  perform private.act_as(caller, 'cpo');
  select d.* into document from core.documents d
   where d.partner_id = private.partner_id() and d.part_id = (request ->> 'settlement_id')::uuid;
  if document.id is null then
    perform private.refuse('settlement_not_found');
  end if;
  return private.kept_document(document, 'settlement-' || (document.created_at at time zone 'Europe/Amsterdam')::date);
end $$;
comment on function api.read_settlement(jsonb, jsonb) is
  'GET /v1/settlements/{settlement_id}: {settlement_id} to private.kept_document. Refused with settlement_not_found before the payment was made.';
select private.expose('api.read_settlement(jsonb, jsonb)');

-- What a signatory is told before signing: what an ERE was worth, and who pays.

create function private.last_price(tenant uuid) returns numeric
language plpgsql stable security definer
set search_path = ''
as $$
declare
  year  int;
  price numeric;
begin
  for year in select f.delivery_year from core.figures f where f.partner_id = tenant order by f.delivery_year desc loop
    price := private.average_price(tenant, year);
    exit when price is not null;
  end loop;
  return price;
end $$;
comment on function private.last_price(uuid) is
  'What an ERE brought on average in the latest year whose figures are published to a tenant, in euro; null while none is known. Definer, because a customer''s pages see no sales.';
grant execute on function private.last_price(uuid) to api_owner;

create function private.offer(tenant uuid, payout_handler text) returns jsonb
language sql stable
set search_path = ''
as $$
  select jsonb_build_object(
    'payout_handler', payout_handler,
    'ere_per_kwh', (select f.ere_per_kwh from core.ere_factors f
                     where f.delivery_year <= extract(year from private.today()) order by f.delivery_year desc limit 1),
    'price_per_ere_eur', private.last_price(tenant))
$$;
comment on function private.offer(uuid, text) is
  'What a mandate yields, as far as it is known: the latest factor, the last average price of the tenant (null while there is none), and who pays.';
grant execute on function private.offer(uuid, text) to api_owner;

-- Whether the ledger, the months, the bookings, the sales and the payouts agree. Each function answers what should be, what is, how many
-- things do not agree, and the first of them. They read all that a tenant has: hash joins, whatever the planner believes.

create function private.check_units(tenant uuid)
returns table (what text, expected numeric, found numeric, wrong bigint, example text)
language sql stable
set search_path = '' set enable_nestloop = off
as $$
  select b.unit || ' sums to zero', 0, sum(b.balance), (sum(b.balance) <> 0)::int, b.unit
    from core.ledger_balances b where b.partner_id = tenant group by b.unit
$$;

create function private.check_kwh(tenant uuid)
returns table (what text, expected numeric, found numeric, wrong bigint, example text)
language sql stable
set search_path = '' set enable_nestloop = off
as $$
  with booked as materialized (
    select r.*, c.accepted_kwh
      from core.booking_rows r
      left join core.credits c on c.partner_id = r.partner_id and c.row_id = r.id and c.reversed_at is null
     where r.partner_id = tenant and r.live
  ), month as materialized (
    select coalesce(d.connection_id, r.connection_id) as connection_id, coalesce(d.period, r.period) as period, d.total_kwh,
           case when d.locked then 0 else d.total_kwh end as left_out, r.kwh as booked,
           -- a locked month has a live row that says the same, and an open one has none
           coalesce(d.locked, false) is distinct from (r.id is not null) or r.kwh <> d.total_kwh or r.status <> d.status as is_wrong
      from (select * from core.delivered_months where partner_id = tenant) d
      full join booked r on r.connection_id = d.connection_id and r.period = d.period
  ), ledger as (
    select b.owner, b.kind, b.balance from core.ledger_balances b where b.partner_id = tenant and b.unit = 'kWh' and b.kind not in ('delivered', 'closed')
  ), booking as (
    select r.booking_id as owner, k.kind, sum(k.kwh) as kwh
      from booked r
      cross join lateral (values ('submitted', case r.status when 'submitted' then r.kwh end), ('registered', r.accepted_kwh),
                                 ('written_off', r.kwh - r.accepted_kwh)) k (kind, kwh)
     group by r.booking_id, k.kind
  ), account as (
    select coalesce(l.owner, b.owner) as owner, coalesce(l.balance, 0) as balance, coalesce(b.kwh, 0) as kwh
      from ledger l full join booking b on b.owner = l.owner and b.kind = l.kind
  )
  select 'kWh booked and left out are those delivered', coalesce(sum(m.total_kwh), 0), coalesce(sum(m.left_out), 0) + coalesce(sum(m.booked), 0),
         count(*) filter (where m.is_wrong), min(m.connection_id || ' ' || to_char(m.period, 'YYYY-MM')) filter (where m.is_wrong)
    from month m
  union all
  select 'kWh in the ledger are those booked', coalesce(sum(a.kwh), 0), coalesce(sum(a.balance), 0),
         count(*) filter (where a.kwh <> a.balance), min('booking ' || a.owner) filter (where a.kwh <> a.balance)
    from account a
$$;

create function private.check_ere(tenant uuid)
returns table (what text, expected numeric, found numeric, wrong bigint, example text)
language sql stable
set search_path = '' set enable_nestloop = off
as $$
  with credited as materialized (
    select r.booking_id, r.id, c.ere, trunc(c.accepted_kwh * r.ere_per_kwh, 6) as by_factor
      from core.booking_rows r
      join core.credits c on c.partner_id = r.partner_id and c.row_id = r.id and c.reversed_at is null
     where r.partner_id = tenant
  ), sold as materialized (
    select a.row_id, sum(a.ere) as ere from core.allocations a where a.partner_id = tenant and a.reversal_id is null group by a.row_id
  ), booking as materialized (
    select b.id, b.granted_ere, coalesce(sum(c.ere), 0) as credited, coalesce(sum(s.ere), 0) as sold
      from core.bookings b
      left join credited c on c.booking_id = b.id
      left join sold s on s.row_id = c.id
     where b.partner_id = tenant group by b.id, b.granted_ere
  ), ledger as materialized (
    select b.owner, coalesce(sum(b.balance) filter (where b.kind = 'unsold'), 0) as unsold, coalesce(sum(b.balance) filter (where b.kind = 'sold'), 0) as sold,
           coalesce(-sum(b.balance) filter (where b.kind = 'register'), 0) as granted
      from core.ledger_balances b where b.partner_id = tenant and b.unit = 'ERE' and b.kind <> 'closed'
     -- of a booking that retention deleted its accounts stay, with nothing in them
     group by b.owner having bool_or(b.balance <> 0)
  ), judged as materialized (
    select b.*, coalesce(l.unsold, 0) as in_unsold, coalesce(l.sold, 0) as in_sold, coalesce(l.granted, 0) as in_granted
      from booking b full join ledger l on l.owner = b.id
  )
  select 'ERE credited are kWh by the factor', coalesce(sum(c.by_factor), 0), coalesce(sum(c.ere), 0),
         count(*) filter (where c.ere <> c.by_factor), min('row ' || c.id) filter (where c.ere <> c.by_factor)
    from credited c
  union all
  select 'ERE in the ledger are those credited', coalesce(sum(j.credited), 0), coalesce(sum(j.in_unsold + j.in_sold), 0),
         count(*) filter (where j.credited is distinct from j.in_unsold + j.in_sold),
         min('booking ' || j.id) filter (where j.credited is distinct from j.in_unsold + j.in_sold)
    from judged j
  union all
  select 'ERE sold are those allocated', coalesce(sum(j.sold), 0), coalesce(sum(j.in_sold), 0),
         count(*) filter (where j.sold is distinct from j.in_sold), min('booking ' || j.id) filter (where j.sold is distinct from j.in_sold)
    from judged j
  union all
  select 'ERE from the register are those granted', coalesce(sum(coalesce(j.granted_ere, j.credited)), 0), coalesce(sum(j.in_granted), 0),
         count(*) filter (where coalesce(j.granted_ere, j.credited) is distinct from j.in_granted or j.in_sold > j.in_granted),
         min('booking ' || j.id) filter (where coalesce(j.granted_ere, j.credited) is distinct from j.in_granted or j.in_sold > j.in_granted)
    from judged j
$$;

create function private.check_money(tenant uuid)
returns table (what text, expected numeric, found numeric, wrong bigint, example text)
language sql stable
set search_path = '' set enable_nestloop = off
as $$
  with moved as materialized (
    -- what was moved for each part, less what was moved back
    select k.allocation_id, sum(k.amount) filter (where k.what = 'net') as net, sum(k.amount) filter (where k.what = 'share') as share,
           sum(k.amount) filter (where k.what = 'fee') as fee
      from (select split_part(e.cause, ':', 2) as allocation_id, split_part(e.cause, ':', 3) as what,
                   case split_part(e.cause, ':', 4) when 'reversed' then -e.amount else e.amount end as amount
              from core.ledger_entries e
             where e.partner_id = tenant and e.cause > 'allocation:' and e.cause < 'allocation;') k
     group by k.allocation_id
  ), part as materialized (
    select a.*, a.reversal_id is null as stands, coalesce(m.net, 0) as in_net, coalesce(m.share, 0) as in_share, coalesce(m.fee, 0) as in_fee
      from (select * from core.allocations where partner_id = tenant) a
      left join moved m on m.allocation_id = a.id::text
  ), sale as materialized (
    select s.id, s.reference, s.gross, s.ere, sum(p.gross) as parts, sum(p.ere) as parts_ere, coalesce(sum(p.gross) filter (where p.stands), 0) as stands,
           -private.balance(tenant, 'EUR', 'buyer', s.id) as owed
      from core.sales s left join part p on p.sale_id = s.id
     where s.partner_id = tenant group by s.id, s.reference, s.gross, s.ere
  )
  select 'parts of sales add up to them', coalesce(sum(s.gross), 0), coalesce(sum(s.parts), 0),
         count(*) filter (where (s.gross, s.ere) is distinct from (s.parts, s.parts_ere)),
         min('sale ' || s.reference) filter (where (s.gross, s.ere) is distinct from (s.parts, s.parts_ere))
    from sale s
  union all
  select 'buyers owe what was sold', coalesce(sum(s.stands), 0), coalesce(sum(s.owed), 0),
         count(*) filter (where s.stands <> s.owed), min('sale ' || s.reference) filter (where s.stands <> s.owed)
    from sale s
  union all
  select 'customers, partners and the service got what was sold', coalesce(sum(p.gross) filter (where p.stands), 0),
         coalesce(sum(p.in_net + p.in_share + p.in_fee), 0), count(*) filter (where k.is_wrong), min('row ' || p.row_id) filter (where k.is_wrong)
    from part p
    cross join lateral (
      select (p.in_net, p.in_share, p.in_fee) is distinct from
             case when p.stands then row(p.net, p.partner_share, p.fee - p.partner_share) else row(0.00, 0.00, 0.00) end as is_wrong) k
$$;

create function private.check_ledger(tenant uuid)
returns table (what text, expected numeric, found numeric, wrong bigint, example text)
language sql stable
set search_path = ''
as $$
  select * from private.check_units(tenant)
  union all select * from private.check_kwh(tenant)
  union all select * from private.check_ere(tenant)
  union all select * from private.check_money(tenant)
  union all select * from private.check_payouts(tenant)
  union all select * from private.check_invoices(tenant)
$$;
comment on function private.check_ledger(uuid) is
  'What must hold of a tenant''s ledger, months, bookings, sales and payouts: what should be, what is, how many things are wrong, and the first of them.';

-- The mail outbox: written in the transaction of what it is about, sent by the worker.

create table core.mail_outbox (
  partner_id      uuid        not null,
  id              uuid        not null default gen_random_uuid(),
  owner_id        uuid                 default private.owner_id(),
  cause           text        not null,
  template        text        not null,
  locale          text        not null,
  recipient       text        not null,
  subject         text        not null,
  html            text        not null,
  text            text        not null,
  links           text[]      not null default '{}',
  reply_to        text,
  unsubscribe_url text,
  status          text        not null,
  attempts        int         not null default 0,
  next_attempt_at timestamptz not null default private.now(),
  last_error      text,
  created_at      timestamptz not null default private.now(),
  done_at         timestamptz,
  constraint mail_outbox_pkey primary key (partner_id, id),
  constraint mail_outbox_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint mail_outbox_cause_key unique (partner_id, cause),
  constraint mail_outbox_status_known check (status in ('queued', 'sent', 'captured', 'failed', 'nobody'))
);
comment on table core.mail_outbox is
  'Every mail, as composed. Never twice for one cause. On the sandbox it is captured and never sent. Personal data and live links in it: the body is wiped once sent, the row purged after 90 days.';
comment on column core.mail_outbox.status is
  'nobody: written for an address that has no login, as long as it takes to look like one that has; never sent, deleted by the next run of jobs.';
comment on column core.mail_outbox.owner_id is 'The person or CPO client in whose name it was written; null where it was the partner''s, a link''s or a job''s.';
comment on column core.mail_outbox.unsubscribe_url is 'For the header List-Unsubscribe (RFC 8058); null where the mail answers what its reader just did.';
-- serves: what the worker sends next; 'nobody' is in it so that both are as much work to write
create index mail_outbox_queued on core.mail_outbox (next_attempt_at) where status in ('queued', 'nobody');
-- serves: a partner's mail, newest first
create index mail_outbox_partner on core.mail_outbox (partner_id, created_at desc, id desc);
select private.isolate('core.mail_outbox', 'select, insert');
select private.keep_to_owner('core.mail_outbox');
-- serves: mail of all partners, newest first
create index mail_outbox_newest on core.mail_outbox (created_at desc, id desc);
-- serves: mail that failed, newest first
create index mail_outbox_failed on core.mail_outbox (created_at desc, id desc) where status = 'failed' or status = 'queued' and last_error is not null;

create function private.escape_html(value text) returns text
language sql immutable parallel safe
begin atomic
  select replace(replace(replace(replace(replace(value, '&', '&amp;'), '<', '&lt;'), '>', '&gt;'), '"', '&quot;'), '''', '&#39;');
end;
grant execute on function private.escape_html(text) to api_owner;

-- One mail goes to hundreds. Its marks are looked for once: {{name}} becomes %1$s, and format() fills the rest in for each letter.

create function private.mark_names(template text) returns text[]
language plpgsql immutable
set search_path = ''
as $$ begin return array(select distinct m[1] from regexp_matches(template, '{{(\w+)}}', 'g') as m); end $$;
comment on function private.mark_names(text) is 'The names of the marks {{name}} in a template.';
grant execute on function private.mark_names(text) to api_owner;

create function private.as_format(template text, names text[]) returns text
language plpgsql immutable
set search_path = ''
as $$
declare
  pattern text := replace(template, '%', '%%');
begin
  for place in 1 .. cardinality(names) loop
    pattern := replace(pattern, '{{' || names[place] || '}}', '%' || place || '$s');
  end loop;
  return pattern;
end $$;
comment on function private.as_format(text, text[]) is 'A template as format() reads it: the mark of each name stands for the argument of its place.';
grant execute on function private.as_format(text, text[]) to api_owner;

create function private.mark_values(names text[], fields jsonb) returns table (plain text[], escaped text[])
language sql immutable
begin atomic
  select array_agg(v.value order by n.place), array_agg(private.escape_html(v.value) order by n.place)
    from unnest(names) with ordinality as n (name, place)
    cross join lateral (
      select case when fields ? n.name then replace(coalesce(fields ->> n.name, ''), '{{', '{ {') else '{{' || n.name || '}}' end as value offset 0) v;
end;
comment on function private.mark_values(text[], jsonb) is
  'The fields of these names, as format() puts them where their marks were, as they are and for HTML. A mark inside a field stays text; a mark without a field stays.';
grant execute on function private.mark_values(text[], jsonb) to api_owner;

create function private.fill_marks(template text, fields jsonb, escape boolean) returns text
language plpgsql immutable
set search_path = ''
as $$
declare
  names constant text[] := private.mark_names(template);
begin
  return (select format(private.as_format(template, names), variadic case when escape then v.escaped else v.plain end) from private.mark_values(names, fields) v);
end $$;
comment on function private.fill_marks(text, jsonb, boolean) is 'The template with each {{name}} replaced by the field of that name. A mark inside a field is not replaced; what is put into HTML is escaped.';
grant execute on function private.fill_marks(text, jsonb, boolean) to api_owner;

create function private.enqueue_mails(mail jsonb, letters jsonb) returns void
language plpgsql
set search_path = '' set plan_cache_mode = 'force_generic_plan'
as $$
declare
  names    constant text[]  := private.mark_names(concat_ws(' ', mail ->> 'subject', mail ->> 'html', mail ->> 'text', mail ->> 'links'));
  subject  constant text    := private.as_format(mail ->> 'subject', names);
  html     constant text    := private.as_format(mail ->> 'html', names);
  body     constant text    := private.as_format(mail ->> 'text', names);
  links    constant text[]  := array(select private.as_format(l.link, names) from jsonb_array_elements_text(mail -> 'links') with ordinality as l (link, place) order by l.place);
  captured constant boolean := private.is_sandbox();
begin
  insert into core.mail_outbox
    (partner_id, cause, template, locale, recipient, subject, html, text, links, reply_to, unsubscribe_url, status, done_at)
  select private.partner_id(), l.cause, mail ->> 'template', mail ->> 'locale', l.recipient,
         format(subject, variadic v.plain),
         format(html, variadic v.escaped),
         format(body, variadic v.plain),
         array(select format(link, variadic v.plain) from unnest(links) as link),
         l.fields ->> 'reply_to', l.fields ->> 'unsubscribe_url',
         case when l.to_nobody then 'nobody' when captured then 'captured' else 'queued' end,
         case when l.to_nobody or captured then private.now() end
    from jsonb_to_recordset(letters) as l (recipient text, cause text, fields jsonb, to_nobody boolean)
    cross join lateral (select l.fields || coalesce(mail -> 'defaults', '{}') || jsonb_strip_nulls(l.fields) as marks offset 0) as m
    cross join private.mark_values(names, m.marks) as v
  on conflict on constraint mail_outbox_cause_key do nothing;
end $$;
comment on function private.enqueue_mails(jsonb, jsonb) is
  'enqueue_mail for many: one composed mail, and letters [{recipient, cause, fields, to_nobody}]; its defaults stand in for fields that are null. The fields reply_to and unsubscribe_url also become the mail''s headers.';
grant execute on function private.enqueue_mails(jsonb, jsonb) to api_owner;

create function private.enqueue_mail(mail jsonb, recipient text, cause text, fields jsonb default '{}', to_nobody boolean default false) returns void
language plpgsql
set search_path = ''
as $$
begin
  perform private.enqueue_mails(mail, jsonb_build_array(jsonb_build_object('recipient', recipient, 'cause', cause, 'to_nobody', to_nobody,
    'fields', fields || jsonb_strip_nulls(jsonb_build_object('reply_to', mail -> 'reply_to')))));
end $$;
comment on function private.enqueue_mail(jsonb, text, text, jsonb, boolean) is
  'Puts a composed mail {template, locale, subject, html, text, links, defaults, reply_to} in the outbox. {{name}} marks are filled from fields: what only the database knows when the mail is composed. '
  'to_nobody does the same work for a mail that is never sent.';
grant execute on function private.enqueue_mail(jsonb, text, text, jsonb, boolean) to api_owner;

create function api.claim_mail(caller jsonb, batch jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'worker');
  return private.claim_mail((batch ->> 'size')::int);
end $$;
comment on function api.claim_mail(jsonb, jsonb) is
  'The next mails to send: {size} to [{partner_id, id, recipient, subject, html, text}]. Each is claimed for five minutes, then offered again.';
select private.expose('api.claim_mail(jsonb, jsonb)', 'edge_slow');

create function private.claim_mail(size int) returns json
language sql security definer
set search_path = ''
as $$
  with claimed as (
    update core.mail_outbox m
       set attempts = m.attempts + 1, next_attempt_at = private.now() + interval '5 minutes'
     where (m.partner_id, m.id) in (
       select q.partner_id, q.id from core.mail_outbox q
        where q.status = 'queued' and q.next_attempt_at <= private.now()
          -- what a deactivated partner invites to opens nothing, and waits until it is active again; what was signed stays told
          and (q.template not in ('claim', 'reminder', 'sign_in', 'mandate_link')
               or q.partner_id in (select p.id from core.partners p where p.is_active))
        order by q.next_attempt_at limit size for update skip locked)
    returning m.*)
  select coalesce(json_agg(json_build_object('partner_id', partner_id, 'id', id, 'recipient', recipient, 'subject', subject,
                                             'html', html, 'text', text, 'reply_to', reply_to, 'unsubscribe_url', unsubscribe_url)
                           order by created_at), '[]')
    from claimed
$$;
comment on function private.claim_mail(int) is 'Definer: the worker sends the mail of every tenant.';
grant execute on function private.claim_mail(int) to api_owner;

create function private.count_waiting_mail() returns json
language sql stable security definer
set search_path = ''
as $$ select json_build_object('waiting', count(*)) from core.mail_outbox where status = 'queued' $$;
comment on function private.count_waiting_mail() is 'Definer: the worker sends the mail of every tenant.';
grant execute on function private.count_waiting_mail() to api_owner;

create function api.count_waiting_mail(caller jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'worker');
  return private.count_waiting_mail();
end $$;
comment on function api.count_waiting_mail(jsonb) is 'How many mails wait to be sent, as {waiting}: for a worker that has no mail server, so that it can say so.';
select private.expose('api.count_waiting_mail(jsonb)', 'edge_slow');

create function private.settle_mail(tenant uuid, mail uuid, failure text, permanent boolean) returns void
language sql security definer
set search_path = ''
as $$
  update core.mail_outbox m
     set status = case when failure is null then 'sent' when permanent or m.attempts >= 12 then 'failed' else 'queued' end,
         done_at = case when failure is null or permanent or m.attempts >= 12 then private.now() end,
         last_error = left(failure, 200),
         -- 1, 2, 4 … 256 minutes: a mail server may be down for most of a day
         next_attempt_at = private.now() + make_interval(mins => (2 ^ least(m.attempts - 1, 8))::int),
         html = case when failure is null then '' else m.html end,
         text = case when failure is null then '' else m.text end,
         links = case when failure is null then '{}' else m.links end,
         unsubscribe_url = case when failure is not null then m.unsubscribe_url end
   where m.partner_id = tenant and m.id = mail and m.status = 'queued'
$$;
comment on function private.settle_mail(uuid, uuid, text, boolean) is
  'Wipes what was sent: it held live links and codes. Definer: the worker sends the mail of every tenant.';
grant execute on function private.settle_mail(uuid, uuid, text, boolean) to api_owner;

create function api.settle_mail(caller jsonb, results jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'worker');
  perform private.settle_mail(r.partner_id, r.id, r.failure, coalesce(r.permanent, false))
     from jsonb_to_recordset(results) as r (partner_id uuid, id uuid, failure text, permanent boolean);
  return json_build_object('ok', true);
end $$;
comment on function api.settle_mail(jsonb, jsonb) is
  'What became of claimed mails: [{partner_id, id, failure, permanent}], failure null when sent. A temporary one is tried again with back-off, twelve times over 17 hours.';
select private.expose('api.settle_mail(jsonb, jsonb)', 'edge_slow');

create function private.purge_mail() returns bigint
language sql security definer
set search_path = ''
as $$
  with purged as (
    delete from core.mail_outbox m
     where m.status = 'nobody' or m.created_at < private.now() - interval '90 days' and m.status <> 'queued' returning 1)
  select count(*) from purged
$$;
comment on function private.purge_mail() is 'Deletes mail older than 90 days, and what was written to nobody. Definer: every tenant at once.';
grant execute on function private.purge_mail() to api_owner;

-- Notices: what a customer is to be told after signing. Written in the transaction of what it is about; the worker makes a mail of each.

create table core.notices (
  partner_id    uuid        not null,
  id            uuid        not null default gen_random_uuid(),
  account_id    uuid        not null,
  owner_id      uuid        not null default private.owner_id(),
  connection_id uuid,
  kind          text        not null,
  cause         text        not null,
  details       jsonb       not null default '{}',
  created_at    timestamptz not null default private.now(),
  due_at        timestamptz default private.now(),
  constraint notices_pkey primary key (partner_id, id),
  constraint notices_cause_key unique (partner_id, cause),
  constraint notices_account_fkey foreign key (partner_id, account_id, owner_id) references core.accounts (partner_id, id, owner_id),
  constraint notices_connection_fkey foreign key (partner_id, connection_id, owner_id) references core.connections (partner_id, id, owner_id),
  constraint notices_kind_known check (kind in (
    'registration_approved', 'registration_rejected', 'something_missing', 'mandate_ending', 'mandate_ended', 'mandate_withdrawn',
    'payout_sent', 'payout_failed', 'payout_iban_changed'))
);
comment on table core.notices is
  'What a customer is told: one cause is told once, ever. details is what only the moment knew; who is told, where and in which language is looked up when it is mailed. No names or addresses in it; kept as long as the account.';
comment on column core.notices.due_at is 'When a mail is to be made of it; moved on while a worker is at it, null once that is done.';
comment on column core.notices.details is
  'registration_rejected {grounds}; mandate_ending {valid_until, reminder}; mandate_ended {valid_until}; mandate_withdrawn {by, covered_until}; payout_sent, payout_failed {amount_eur, iban_last4}; payout_iban_changed {iban_last4}.';
-- serves: what the worker mails next
create index notices_due on core.notices (due_at) where due_at is not null;
-- serves: what an account was told
create index notices_account on core.notices (partner_id, account_id);
select private.isolate('core.notices', 'select, insert');
select private.belong_with('core.notices', 'core.accounts', 'account_id');

create function private.notify(account uuid, kind text, cause text, details jsonb default '{}', connection uuid default null) returns void
language sql
set search_path = ''
as $$
  insert into core.notices (partner_id, account_id, connection_id, kind, cause, details)
  values (private.partner_id(), account, connection, notify.kind, notify.cause, notify.details)
  on conflict on constraint notices_cause_key do nothing
$$;
comment on function private.notify(uuid, text, text, jsonb, uuid) is
  'Has a customer of this tenant told by mail, once for a cause. Who has no e-mail address is not told.';
grant execute on function private.notify(uuid, text, text, jsonb, uuid) to api_owner;

create function private.still_missing(account core.accounts) returns text[]
language sql stable
set search_path = ''
as $$
  select array_remove(array[
    case when account.iban_last4 is null then 'iban' end,
    -- one whose meter is still to be judged is for us to see to
    case when not exists (select from core.chargers h
                           where h.partner_id = account.partner_id and h.account_id = account.id and h.status = 'active'
                             and h.mid_eligible is distinct from false) then 'charger' end], null)
$$;
comment on function private.still_missing(core.accounts) is 'What of iban and charger a customer has yet to give.';

create function private.notice_details(notice core.notices) returns jsonb
language plpgsql stable
set search_path = ''
as $$
declare
  missing text[];
begin
  if notice.kind = 'something_missing' then
    select private.still_missing(a) into missing from core.accounts a where a.partner_id = notice.partner_id and a.id = notice.account_id;
    return case when cardinality(missing) > 0 then jsonb_build_object('missing', missing) end;
  elsif notice.kind = 'mandate_ending' and private.signed_until(notice.connection_id) is distinct from (notice.details ->> 'valid_until')::date
     or notice.kind = 'mandate_ended' and private.signed_until(notice.connection_id) is not null then
    return null;
  end if;
  return notice.details;
end $$;
comment on function private.notice_details(core.notices) is
  'What a notice says now; null where there is nothing left to say: what was missing was given, the mandate was renewed or has ended.';

create function private.notice_post(notice core.notices) returns jsonb
language plpgsql stable
set search_path = ''
as $$
declare
  details constant jsonb := private.notice_details(notice);
begin
  return (
    select jsonb_build_object(
             'partner_id', notice.partner_id,
             'notice_id', notice.id,
             'notice', details || jsonb_build_object('kind', notice.kind),
             'locale', coalesce(
               (select m.locale from core.mandates m join core.connections c on c.partner_id = m.partner_id and c.id = m.connection_id
                 where c.partner_id = a.partner_id and c.account_id = a.id and m.locale is not null order by m.created_at desc limit 1),
               d.locale, p.locale, 'nl'),
             'full_name', s.full_name,
             'partner_name', p.name,
             -- a person is spoken to in the name of who brought them, a CPO's customer in the service's own
             'brand', case when d.id is not null then private.partner_brand(p) end,
             'account', case when a.user_id is null then 'cpo' else 'own' end,
             'draft_id', d.id,
             'may_sign', notice.kind in ('mandate_ending', 'mandate_ended') and private.may_sign_again(notice.connection_id))
      from core.accounts a
      join core.signatories s on s.partner_id = a.partner_id and s.account_id = a.id and s.email is not null
      left join lateral (
        select d.* from core.drafts d where d.user_id = a.user_id and d.account_id = a.id and d.status = 'active' limit 1) d on true
      join core.partners p on p.id = coalesce(d.partner_id, a.partner_id)
     where a.partner_id = notice.partner_id and a.id = notice.account_id and details is not null);
end $$;
comment on function private.notice_post(core.notices) is
  'What a mail about a notice is composed of; null where there is nothing left to say, or nobody to say it to.';

create function private.due_notices(size int) returns jsonb
language plpgsql security definer
set search_path = ''
as $$
declare
  notice core.notices;
  post   jsonb;
  posts  jsonb := '[]';
begin
  for notice in
    update core.notices n set due_at = private.now() + interval '5 minutes'
     where (n.partner_id, n.id) in (
       select d.partner_id, d.id from core.notices d where d.due_at <= private.now() order by d.due_at limit size for update skip locked)
    returning *
  loop
    perform private.act_for_partner(notice.partner_id);
    post := private.notice_post(notice);
    if post is null then
      update core.notices n set due_at = null where n.partner_id = notice.partner_id and n.id = notice.id;
    else
      posts := posts || post;
    end if;
  end loop;
  return posts;
end $$;
comment on function private.due_notices(int) is 'The next notices to mail, each claimed for five minutes. Definer: every tenant at once, and what the draft of a person''s account says is in its partner''s.';
grant execute on function private.due_notices(int) to api_owner;

create function api.due_notices(caller jsonb, batch jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'worker');
  return private.due_notices((batch ->> 'size')::int)::json;
end $$;
comment on function api.due_notices(jsonb, jsonb) is
  'The next notices to mail: {size} to [{partner_id, notice_id, notice, locale, full_name, partner_name, brand, account, draft_id, may_sign}].';
select private.expose('api.due_notices(jsonb, jsonb)', 'edge_slow');

create function private.mail_notice(post jsonb) returns boolean
language plpgsql security definer
set search_path = ''
as $$
declare
  notice core.notices;
  signed core.mandate_links;
  email  text;
begin
  -- a reset locks accounts first
  perform from core.notices n join core.accounts a on a.partner_id = n.partner_id and a.id = n.account_id
    where n.partner_id = (post ->> 'partner_id')::uuid and n.id = (post ->> 'notice_id')::uuid for key share of a;
  update core.notices n set due_at = null
   where n.partner_id = (post ->> 'partner_id')::uuid and n.id = (post ->> 'notice_id')::uuid and n.due_at is not null
  returning * into notice;
  if notice.id is null then
    return false;  -- another worker was quicker
  end if;
  perform private.act_for_partner(notice.partner_id);
  if post ->> 'token_hash' is not null then
    select l.* into signed
      from core.mandates m join core.mandate_links l on l.partner_id = m.partner_id and l.id = m.link_id
     where m.partner_id = notice.partner_id and m.connection_id = notice.connection_id and m.status <> 'declined'
     order by m.created_at desc limit 1;
    perform private.issue_renewal_link(notice.connection_id, signed, post ->> 'token_hash', greatest(
      private.now() + interval '1209600 seconds',
      -- until the January after it: who signs then loses no month
      make_timestamptz(extract(year from (notice.details ->> 'valid_until')::date)::int + 1, 2, 1, 0, 0, 0, 'Europe/Amsterdam')));
  end if;
  select s.email into email from core.signatories s where s.partner_id = notice.partner_id and s.account_id = notice.account_id;
  if post ->> 'draft_id' is not null then
    -- beside the other mail of the claim, which its partner sees on the sandbox
    perform private.act_for_partner((private.draft_by_id((post ->> 'draft_id')::uuid)).partner_id);
  end if;
  perform private.enqueue_mail(post -> 'mail', email, case when post ->> 'draft_id' is null then 'notice:' else 'claim_notice:' end || notice.id)
    where email is not null;
  return true;
end $$;
comment on function private.mail_notice(jsonb) is 'Puts the mail of a notice in the outbox, once; with token_hash there is a link in it to sign by. Definer: every tenant at once.';
grant execute on function private.mail_notice(jsonb) to api_owner;

create function api.mail_notices(caller jsonb, posts jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'worker');
  return json_build_object('mailed', (
    select count(*) filter (where private.mail_notice(p.post)) from jsonb_array_elements(posts) as p (post)));
end $$;
comment on function api.mail_notices(jsonb, jsonb) is
  'The mails of due notices: [{partner_id, notice_id, draft_id, token_hash, mail}] to {mailed}. token_hash is that of the link to sign by in it, or null.';
select private.expose('api.mail_notices(jsonb, jsonb)', 'edge_slow');

-- The scheduled work on mandates: warnings before they end, their end, what is still missing after a signature. Each takes the accounts
-- it tells something before it writes, those that nobody holds, and leaves the others to the next run: a reset locks accounts first.

create function private.emit_ended(tenant uuid, ended uuid[]) returns void
language plpgsql
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
begin
  perform private.emit_all(tenant, 'mandate.expired', array(
    select row(c.account_id, c.connection_id, jsonb_build_object('connection_id', c.connection_id, 'mandate_status', 'expired'))::private.occurrence
      from core.connection_mandates c
     -- of one that was renewed the next years have begun
     where c.partner_id = tenant and c.connection_id = any (ended) and c.status = 'active' and c.mandate_status = 'expired'
     order by c.connection_id));
  perform private.note_eligibility(tenant, array(
    select distinct c.account_id from core.connections c where c.partner_id = tenant and c.id = any (ended)));
end $$;
comment on function private.emit_ended(uuid, uuid[]) is 'Writes the events of connections whose mandate has run out.';

create function private.expire_mandates() returns bigint
language plpgsql security definer
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  expired core.mandates[];
  tenant  uuid;
begin
  with ended as (
    update core.mandates m set status = 'expired', ended_at = private.now(), ended_reason = 'last_year_over'
     where (m.partner_id, m.id) in (
       -- on 1 January all of them: a part in each run, so that mail and the other jobs go on
       select e.partner_id, e.id
         from core.mandates e
         join core.connections c on c.partner_id = e.partner_id and c.id = e.connection_id
         join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
        where e.status = 'signed' and e.valid_until < private.today()
        limit 10000 for key share of a skip locked for update of e skip locked)
    returning m as mandate
  ), noted as (
    insert into core.audit_log (actor, action, partner_id, subject_id)
    select 'worker', 'mandate.expired', (e.mandate).partner_id, (e.mandate).connection_id from ended e
  ), told as (
    insert into core.notices (partner_id, account_id, owner_id, connection_id, kind, cause, details)
    select c.partner_id, c.account_id, c.owner_id, c.id, 'mandate_ended', 'mandate_ended:' || (e.mandate).id,
           jsonb_build_object('valid_until', (e.mandate).valid_until)
      from ended e
      join core.connections c on c.partner_id = (e.mandate).partner_id and c.id = (e.mandate).connection_id and c.status = 'active'
     where (e.mandate).lapsed_at is null and not private.is_renewed(e.mandate)
    on conflict on constraint notices_cause_key do nothing
  )
  select array_agg(e.mandate) into expired from ended e;
  for tenant in select distinct m.partner_id from unnest(expired) m order by m.partner_id loop
    perform private.emit_ended(tenant, array(select m.connection_id from unnest(expired) m where m.partner_id = tenant));
  end loop;
  return coalesce(cardinality(expired), 0);
end $$;
comment on function private.expire_mandates() is
  'Writes down what connection_mandates already reads from the calendar, and has those told who have not renewed. Months inside the mandate stay covered. Definer: every tenant at once.';
grant execute on function private.expire_mandates() to api_owner;

create function private.announce_endings() returns bigint
language sql security definer
set search_path = ''
as $$
  with this as (
    select private.today() as today, extract(year from private.today())::int as year
  ), ending as (
    select m.partner_id, c.account_id, m.owner_id, m.connection_id, m.valid_until, r.reminder, 'mandate_ending:' || m.id || ':' || r.reminder as cause
      from this
      join core.mandates m on m.status = 'signed' and m.valid_until = make_date(this.year, 12, 31)
      join core.connections c on c.partner_id = m.partner_id and c.id = m.connection_id and c.status = 'active'
      join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
      -- nobody signs for a partner that was deactivated
      join core.partners p on p.id = m.partner_id and p.is_active
      cross join lateral (select case when this.today >= make_date(this.year, 12, 1) then 2 else 1 end as reminder) r
     where this.today >= make_date(this.year, 11, 1) and not private.is_renewed(m)
       and not exists (select from core.notices n where n.partner_id = m.partner_id and n.cause = 'mandate_ending:' || m.id || ':' || r.reminder)
     limit 10000 for key share of a skip locked
  ), told as (
    insert into core.notices (partner_id, account_id, owner_id, connection_id, kind, cause, details)
    select e.partner_id, e.account_id, e.owner_id, e.connection_id, 'mandate_ending', e.cause,
           jsonb_build_object('valid_until', e.valid_until, 'reminder', e.reminder)
      from ending e
    on conflict on constraint notices_cause_key do nothing
    returning 1)
  select count(*) from told
$$;
comment on function private.announce_endings() is
  'Has those told whose mandate ends this year and who have not renewed: from 1 November on, and once more from 1 December on, whichever of them is due. Definer: every tenant at once.';
grant execute on function private.announce_endings() to api_owner;

create function private.announce_missing() returns bigint
language sql security definer
set search_path = ''
as $$
  with asked as (
    select m.partner_id, a.id as account_id, m.owner_id, m.connection_id
      from core.mandates m
      join core.connections c on c.partner_id = m.partner_id and c.id = m.connection_id and c.status = 'active'
      -- a CPO sees to what its own customers lack
      join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id and a.user_id is not null
     where m.status = 'signed' and not m.renewal
       and m.signed_at <= private.now() - interval '3 days' and m.signed_at > private.now() - interval '60 days'
       and cardinality(private.still_missing(a)) > 0
       and not exists (select from core.notices n where n.partner_id = m.partner_id and n.cause = 'something_missing:' || a.id)
     limit 10000 for key share of a skip locked
  ), told as (
    insert into core.notices (partner_id, account_id, owner_id, connection_id, kind, cause)
    select a.partner_id, a.account_id, a.owner_id, a.connection_id, 'something_missing', 'something_missing:' || a.account_id from asked a
    on conflict on constraint notices_cause_key do nothing
    returning 1)
  select count(*) from told
$$;
comment on function private.announce_missing() is
  'Has a person told, once, three days after signing, that the IBAN or the charger is still missing. Definer: every tenant at once.';
grant execute on function private.announce_missing() to api_owner;

-- Drafts: what a partner uploads, and a customer turns into an account.

create function private.claim_draft_id() returns uuid
language plpgsql
set search_path = ''
as $$ begin return gen_random_uuid(); end $$;
comment on function private.claim_draft_id() is
  'The id of a new draft. A claim link knows the draft by it alone, before the tenant is known; it is nobody else''s because it is random.';
grant execute on function private.claim_draft_id() to api_owner;

create table core.drafts (
  partner_id      uuid        not null,
  id              uuid        not null default private.claim_draft_id(),
  batch_id        uuid        not null,
  source          text        not null,
  status          text        not null default 'invited',
  type            text        not null,
  name            text,
  email           text        not null,
  phone           text,
  external_ref    text,
  kvk             text,
  vat             text,
  company_name    text,
  contact_name    text,
  referral_code   text,
  ean             text,
  postal_code     text,
  house_number    int,
  house_number_addition text,
  street          text,
  city            text,
  charger         jsonb,
  ean_status      text        not null,
  ean_candidates  jsonb       not null default '[]',
  ean_looked_up_at timestamptz,
  send_invite     boolean     not null,
  locale          text,
  progress        jsonb       not null default '{}',
  code_hash       bytea,
  code_expires_at timestamptz,
  code_attempts   int         not null default 0,
  used_code_hash  bytea,
  code_used_at    timestamptz,
  conflict_reason text,
  reminders_sent  int         not null default 0,
  user_id         uuid,
  account_id      uuid,
  created_at      timestamptz not null default private.now(),
  invited_at      timestamptz,
  claimed_at      timestamptz,
  activated_at    timestamptz,
  expires_at      timestamptz not null,
  constraint drafts_pkey primary key (partner_id, id),
  constraint drafts_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint drafts_user_id_fkey foreign key (user_id) references auth.users (id) on delete set null,
  constraint drafts_status_known check (status in ('invited', 'claimed', 'expired', 'conflict', 'active')),
  constraint drafts_source_known check (source in ('csv', 'api', 'invite')),
  constraint drafts_type_known check (type in ('particulier', 'zakelijk', 'vve')),
  constraint drafts_ean_status_known check (ean_status in ('pending', 'resolved', 'ambiguous', 'not_found', 'provided', 'no_address', 'failed')),
  constraint drafts_email_shape check (email = lower(email) and length(email) <= 254)
);
comment on table core.drafts is
  'A customer a partner uploaded, to be claimed by that customer. progress keeps what was typed on the claim pages. Personal data; deleted on withdrawal and 30 days after expiry; once active it stays beside the account.';
comment on column core.drafts.locale is 'The language that was chosen for the customer, null where nobody chose: then the partner''s (core.partners.locale).';
comment on column core.drafts.code_hash is 'The one-time code with the claim token and what the code is for, as SHA-256: a code that proves the address cannot sign.';
comment on column core.drafts.used_code_hash is 'The code that was used last, at code_used_at, with the secret of the browser it came from, as SHA-256: that browser may send it twice.';
comment on column core.drafts.progress is
  'What was typed and confirmed on the claim pages: {answers, confirmed, candidates, ean_check, iban, return_url}. The IBAN is encrypted. Emptied once active.';
comment on column core.drafts.account_id is 'The account it became, in the service''s own tenant.';
-- serves: already_drafted; one open draft an e-mail address and partner
create unique index drafts_open_email on core.drafts (partner_id, email) where status in ('invited', 'claimed');
-- serves: conflict, across tenants on purpose
create index drafts_email on core.drafts (email) where status in ('invited', 'claimed');
-- serves: GET /partner/drafts, newest first
create index drafts_newest on core.drafts (partner_id, created_at desc, id desc);
-- serves: GET /partner/drafts?external_ref=…
create index drafts_external_ref on core.drafts (partner_id, external_ref) where external_ref is not null;
-- serves: a claim link, which knows the draft alone; unique across tenants on purpose, given by private.claim_draft_id
create unique index drafts_id on core.drafts (id);
-- serves: the draft a person claimed
create index drafts_user on core.drafts (user_id) where user_id is not null;
-- serves: expiry and reminders
create index drafts_expiring on core.drafts (expires_at) where status = 'invited';
-- serves: the purge
create index drafts_ended on core.drafts (expires_at) where status in ('expired', 'conflict');
-- serves: the operator's search
create index drafts_words on core.drafts using gin (private.search_words(
  name, contact_name, company_name, email, external_ref, ean, postal_code, postal_code || house_number, private.phone_end(phone)))
  with (gin_pending_list_limit = 256) where status <> 'active';
-- serves: the operator's list, newest first
create index drafts_by_status on core.drafts (status, created_at desc, id desc);
-- serves: the operator's list of EANs that the register has not confirmed
create index drafts_unresolved on core.drafts (created_at, id) where ean_status in ('not_found', 'ambiguous') and status in ('invited', 'claimed');
-- serves: the look-ups that wait
create index drafts_to_look_up on core.drafts (created_at) where ean_status in ('pending', 'failed') and status in ('invited', 'claimed');
select private.isolate('core.drafts', 'select, insert, update, delete');
select private.keep_to_owner('core.drafts', 'user_id');
comment on column core.drafts.ean_candidates is 'The metering points of the address, [{ean_code, street, city, house_number_addition}]: several where the customer has to choose.';
comment on column core.drafts.invited_at is 'When the claim mail was written; null where the partner passes the link on itself.';
-- serves: reminders
create index drafts_to_remind on core.drafts (reminders_sent, created_at) where status = 'invited' and send_invite;

create table core.draft_uploads (
  partner_id uuid        not null,
  id         bigint generated always as identity,
  at         timestamptz not null default private.now(),
  constraint draft_uploads_pkey primary key (partner_id, id),
  constraint draft_uploads_partner_id_fkey foreign key (partner_id) references core.partners (id)
);
comment on table core.draft_uploads is 'One row per draft ever made, without personal data: the rolling cap counts withdrawn ones too. Swept after 31 days.';
-- serves: the rolling cap
create index draft_uploads_at on core.draft_uploads (partner_id, at);
select private.isolate('core.draft_uploads', 'select, insert');

create function private.draft_status(draft core.drafts) returns text
language sql stable
return case when draft.status = 'invited' and draft.expires_at <= private.now() then 'expired' else draft.status end;
comment on function private.draft_status(core.drafts) is 'The status as of now: an invited draft has expired after its last moment, whether or not the job has noted it.';
grant execute on function private.draft_status(core.drafts) to api_owner;

create function private.draft_login(draft core.drafts, out user_id uuid, out empty boolean)
language plpgsql stable security definer
set search_path = ''
as $$
begin
  user_id := coalesce(draft.user_id, (select u.id from auth.users u where u.email = draft.email and u.is_sso_user = false));
  empty := not exists (select from core.accounts a join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id
                        where a.partner_id = private.house() and (a.id = draft.account_id or a.user_id = draft_login.user_id));
end $$;
comment on function private.draft_login(core.drafts) is
  'The login of a draft''s customer, and whether their account has no connection yet. Definer, because logins belong to Auth and accounts to the house.';
grant execute on function private.draft_login(core.drafts) to api_owner;

create function private.release_customer(person uuid, partner uuid) returns void
language sql security definer
set search_path = ''
as $$
  delete from core.attributions a
   where a.user_id = person and a.partner_id = partner and a.source in ('partner_upload', 'partner_invite')
     and not exists (select from core.accounts b where b.user_id = person)
$$;
comment on function private.release_customer(uuid, uuid) is
  'Unlinks a login that a claimed draft made from its partner; the login stays. Definer, because attributions are otherwise only read.';
grant execute on function private.release_customer(uuid, uuid) to api_owner;

create function private.drop_waiting_mail(draft uuid) returns void
language sql security definer
set search_path = ''
as $$
  delete from core.mail_outbox m
   where m.partner_id = private.partner_id() and m.status = 'queued' and m.cause like 'claim%:' || draft || '%'
$$;
comment on function private.drop_waiting_mail(uuid) is 'Mail about a draft that was not sent yet is not sent any more. Definer, because the outbox is otherwise only written.';
grant execute on function private.drop_waiting_mail(uuid) to api_owner;

-- Links and hashes under the claim key: the claim link, opting out, the sign-in links that a partner asks for.
-- `links` is {key, pages_url}: the claim key (hex), which the database never stores, and the root of the pages.

create table core.draft_links (
  partner_id uuid        not null,
  id         uuid        not null default gen_random_uuid(),
  draft_id   uuid        not null,
  token_hash bytea       not null,
  return_url text,
  expires_at timestamptz not null,
  used_at    timestamptz,
  used_by    bytea,
  created_at timestamptz not null default private.now(),
  constraint draft_links_pkey primary key (partner_id, id),
  constraint draft_links_token_hash_key unique (token_hash),
  constraint draft_links_draft_fkey foreign key (partner_id, draft_id) references core.drafts (partner_id, id) on delete cascade
);
comment on table core.draft_links is 'A sign-in link (auth-link) as its SHA-256: 300 seconds, single use, voided by a newer one.';
comment on column core.draft_links.used_by is 'The browser that used it, by its secret with the token, as SHA-256: it may click twice.';
-- serves: voiding the older link of a draft
create index draft_links_draft on core.draft_links (partner_id, draft_id) where used_at is null;
select private.isolate('core.draft_links', 'select, insert, update');
create policy "an owner reaches only their own rows" on core.draft_links as restrictive to api_owner
  using ((select private.owner_id()) is null
         or exists (select from core.drafts d where d.partner_id = draft_links.partner_id and d.id = draft_links.draft_id));

create function private.claim_mac(message text, key text) returns bytea
language plpgsql immutable security definer
set search_path = ''
as $$ begin return extensions.hmac(convert_to(message, 'UTF8'), decode(key, 'hex'), 'sha256'); end $$;
comment on function private.claim_mac(text, text) is
  'HMAC-SHA-256 under the claim key. Definer, because api_owner has no business in the schema of the extensions.';
grant execute on function private.claim_mac(text, text) to api_owner;

-- These are written into the queries that ask for them, five hundred times in an import. The casts to text are part of it: what joins a
-- text to a uuid is not immutable, and would keep the planner from it.

create function private.claim_token(draft uuid, key text) returns text
language sql immutable
return replace(draft::text, '-', '') || '-' || private.base64url(private.claim_mac('claim:' || draft::text, key));
comment on function private.claim_token(uuid, text) is 'The token of a claim link, derived whenever it is shown; claimToken in packages/shared/src/domain/claim/links.ts makes the same.';
grant execute on function private.claim_token(uuid, text) to api_owner;

create function private.email_hash(email text, key text) returns bytea
language sql immutable
return private.claim_mac('email:' || lower(email), key);
comment on function private.email_hash(text, text) is 'An address as the opt-out list and unsubscribe links know it.';
grant execute on function private.email_hash(text, text) to api_owner;

create function private.unsubscribe_token(email text, key text) returns text
language plpgsql immutable
set search_path = ''
as $$
declare
  hash constant text := encode(private.email_hash(email, key), 'hex');
begin
  return hash || '-' || private.base64url(private.claim_mac('unsubscribe:' || hash, key));
end $$;
comment on function private.unsubscribe_token(text, text) is
  'The token of an unsubscribe link: it names the address by its hash, so that it works when the draft is long gone.';
grant execute on function private.unsubscribe_token(text, text) to api_owner;

create function private.claim_url(draft uuid, links jsonb) returns text
language sql immutable
return (links ->> 'pages_url') || '/claim/' || private.claim_token(draft, links ->> 'key');
grant execute on function private.claim_url(uuid, jsonb) to api_owner;

create function private.unsubscribe_url(email text, links jsonb) returns text
language sql immutable
return (links ->> 'pages_url') || '/unsubscribe/' || private.unsubscribe_token(email, links ->> 'key');
grant execute on function private.unsubscribe_url(text, jsonb) to api_owner;

create function api.issue_auth_link(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  draft      core.drafts;
  status     text;
  customer   record;
  registered text;
  target     text;
  link       uuid;
  email_sent boolean;
begin
  perform private.act_as(caller, 'partner');
  -- of several drafts the newest that can be claimed; parallel calls for one draft queue here, so that one link is left
  select * into draft from core.drafts d
   where d.partner_id = private.partner_id()
     and (input ->> 'draft_id' is null or d.id = (input ->> 'draft_id')::uuid)
     and (input ->> 'email' is null or d.email = input ->> 'email')
   order by private.draft_status(d) in ('invited', 'claimed') desc, d.created_at desc, d.id limit 1
     for no key update;
  if draft.id is null then
    perform private.refuse('draft_not_found');
  end if;
  select p.return_url into registered from core.partners p where p.id = draft.partner_id;
  target := coalesce(input ->> 'return_url', registered);
  if input ->> 'return_url' is not null and not private.return_url_allowed(target, registered) then
    perform private.refuse('return_url_not_allowed');
  end if;
  status := private.draft_status(draft);
  select * into customer from private.draft_login(draft);
  if status in ('expired', 'conflict') or status = 'active' and not customer.empty then
    perform private.refuse('draft_not_claimable', json_build_object(
      'status', status, 'reason', case status when 'active' then 'already_active' else status end));
  end if;
  update core.draft_links l set expires_at = private.now()
   where l.partner_id = draft.partner_id and l.draft_id = draft.id and l.used_at is null and l.expires_at > private.now();
  insert into core.draft_links (partner_id, draft_id, token_hash, return_url, expires_at)
  values (draft.partner_id, draft.id, private.claim_token_hash(input ->> 'token_hash'), target, private.now() + interval '300 seconds')
  returning id into link;
  email_sent := input -> 'mails' <> 'null' and not private.is_suppressed(private.email_hash(draft.email, input #>> '{links,key}'));
  if email_sent then
    email_sent := private.debit('draft:' || draft.id, 'draft_mail') ->> 'allowed';
  end if;
  if email_sent then
    perform private.enqueue_mails(input -> 'mails' -> coalesce(draft.locale, (private.own_partner()).locale, 'nl'), (
      select jsonb_build_array(jsonb_build_object('recipient', draft.email, 'cause', 'claim_sign_in:' || draft.id || ':' || link,
               'fields', private.letter_fields(draft, private.partner_brand(p), input -> 'links')))
        from core.partners p where p.id = draft.partner_id));
  end if;
  perform private.audit('draft.auth_link_issued', draft.id);
  return json_build_object('ok', true, 'auth_url', input ->> 'auth_url', 'expires_in', 300,
                           'resume', customer.user_id is not null, 'return_url', target, 'email_sent', email_sent);
end $$;
comment on function api.issue_auth_link(jsonb, jsonb) is
  'POST /partner/drafts/auth-link: {draft_id, email, return_url, token_hash, auth_url, mails: {nl, en} | null, links}. A newer link voids the older. '
  'Where there are mails the customer gets theirs, unless they opted out or had ten today.';
select private.expose('api.issue_auth_link(jsonb, jsonb)');

-- Opting out of mail: for good, by the hash of the address.

create table core.suppressions (
  email_hash bytea       not null,
  created_at timestamptz not null default private.now(),
  constraint suppressions_pkey primary key (email_hash)
);
comment on table core.suppressions is 'Addresses that asked not to be written to, as SHA-256 of the address with a key of the deployment. Kept for good.';
alter table core.suppressions enable row level security;

create function private.suppress(email_hash bytea) returns void
language sql security definer
set search_path = ''
as $$ insert into core.suppressions (email_hash) values (suppress.email_hash) on conflict do nothing $$;
comment on function private.suppress(bytea) is 'Puts an address on the opt-out list. Definer, because no tenant owns the list or may read it.';
grant execute on function private.suppress(bytea) to api_owner;

create function private.is_suppressed(email_hash bytea) returns boolean
language plpgsql stable security definer
set search_path = ''
as $$ begin return exists (select from core.suppressions s where s.email_hash = is_suppressed.email_hash); end $$;
comment on function private.is_suppressed(bytea) is 'Whether an address asked not to be written to. Definer, because no tenant may read the list.';
grant execute on function private.is_suppressed(bytea) to api_owner;

create function private.forget_opt_outs(emails text[], key text) returns void
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.only_in_sandbox();
  delete from core.suppressions s where s.email_hash = any (array(select private.email_hash(e, key) from unnest(emails) e));
end $$;
comment on function private.forget_opt_outs(text[], text) is
  'Takes addresses off the opt-out list, where nobody is written to: on the sandbox, which a reset makes as new. Definer, because no tenant owns the list.';
grant execute on function private.forget_opt_outs(text[], text) to api_owner;

create function api.opt_out(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'anyone');
  perform private.suppress(decode(request ->> 'email_hash', 'hex'));
  return json_build_object('ok', true);
end $$;
comment on function api.opt_out(jsonb, jsonb) is
  'The bearer of an unsubscribe link wants no more mail: {email_hash}. Not rate limited: mail services send it for many people from one address.';
select private.expose('api.opt_out(jsonb, jsonb)');

-- POST /partner/drafts/import, POST /partner/customers.

create function private.letter_fields(draft core.drafts, brand jsonb, links jsonb) returns jsonb
language sql stable
return jsonb_build_object(
  'full_name', coalesce(draft.contact_name, draft.name, draft.company_name),
  'partner_name', brand -> 'name',
  'accent', brand -> 'light',
  'reply_to', brand -> 'reply_to',
  'claim_url', private.claim_url(draft.id, links),
  'unsubscribe_url', private.unsubscribe_url(draft.email, links));
comment on function private.letter_fields(core.drafts, jsonb, jsonb) is
  'What the marks in a mail to a draft''s customer stand for, in the private.partner_brand of its partner: full_name, partner_name, accent, reply_to, claim_url, unsubscribe_url. Null is for the mail''s defaults.';
grant execute on function private.letter_fields(core.drafts, jsonb, jsonb) to api_owner;

create function private.draft_cap() returns int
language plpgsql immutable
set search_path = ''
as $$ begin return 1000; end $$;
comment on function private.draft_cap() is 'Drafts a partner may make in any 30 days; withdrawn ones count.';
grant execute on function private.draft_cap() to api_owner;

create function private.drafts_made() returns bigint
language plpgsql stable
set search_path = ''
as $$
begin
  return (select count(*) from core.draft_uploads u where u.partner_id = private.partner_id() and u.at > private.now() - interval '30 days');
end $$;
comment on function private.drafts_made() is 'What the partner has used of its cap.';
grant execute on function private.drafts_made() to api_owner;

create function private.known_addresses(emails text[], tenant uuid, key text) returns table (email text, reason text)
language plpgsql stable security definer
set search_path = '' set plan_cache_mode = 'force_generic_plan'
as $$
begin
  return query
  with open as (
    select d.email, bool_or(d.partner_id = tenant) as own, bool_or(d.partner_id <> tenant and p.is_active) as foreign
      from core.drafts d
      join core.partners p on p.id = d.partner_id
     where d.email = any (emails) and d.status in ('invited', 'claimed') and (d.status = 'claimed' or d.expires_at > private.now())
     group by d.email
  ), people as (
    select distinct u.email::text as email from auth.users u
     -- the condition of Auth's own index on the address
     where u.email = any (emails) and u.is_sso_user = false
       and (exists (select from core.attributions a where a.user_id = u.id)
            or exists (select from core.accounts a where a.user_id = u.id))
  )
  select e.email,
         case when o.own then 'already_drafted'
              when p.email is not null then 'existing_user'
              when s.email_hash is not null then 'suppressed'
              when o.foreign then 'conflict' end
    from unnest(emails) as e (email)
    left join open o on o.email = e.email
    left join people p on p.email = e.email
    left join core.suppressions s on s.email_hash = private.email_hash(e.email, key);
end $$;
comment on function private.known_addresses(text[], uuid, text) is
  'Why an address gets no new draft of this partner, null where it may. Definer, because it looks across tenants and into Auth; the answer does not say whose.';
grant execute on function private.known_addresses(text[], uuid, text) to api_owner;

create function private.charger_brand(named text) returns text
language plpgsql stable
set search_path = ''
as $$
begin
  return coalesce(
    (select b.brand from core.charger_brands b where private.charger_key(b.brand) = private.charger_key(named)),
    (select a.brand from core.charger_vendor_aliases a where a.vendor = private.vendor_key(named) and a.names_brand));
end $$;
comment on function private.charger_brand(text) is 'The catalogue''s brand of that name or vendor string, or null.';
grant execute on function private.charger_brand(text) to api_owner;

create function private.judge_charger(charger jsonb) returns text
language plpgsql stable
set search_path = ''
as $$
declare
  brand constant text := private.charger_brand(charger ->> 'brand');
begin
  return case when brand is null then 'charger_brand_unsupported'
              when not exists (select from core.partners p where p.id = private.partner_id() and brand = any (p.charger_brands)) then 'charger_not_linked'
              when private.charger_taken(brand, charger ->> 'serial_number') then 'charger_claimed' end;
end $$;
comment on function private.judge_charger(jsonb) is 'Why a draft cannot come with this charger {brand, serial_number}; null when it can.';
grant execute on function private.judge_charger(jsonb) to api_owner;

create function private.referral_code_known(code text) returns boolean
language plpgsql stable security definer
set search_path = ''
as $$ begin return exists (select from core.partners p where p.referral_code = upper(code) and p.is_active); end $$;
comment on function private.referral_code_known(text) is 'Whether a referral code is an active partner''s. Definer, because it looks across tenants.';
grant execute on function private.referral_code_known(text) to api_owner;

create type private.draft_row as (
  place           int,
  email           text,
  reason          text,
  detail          text,
  address_ignored text,
  ean_ignored     text,
  type            text,
  name            text,
  phone           text,
  external_ref    text,
  kvk             text,
  vat             text,
  company_name    text,
  contact_name    text,
  referral_code   text,
  ean             text,
  postal_code     text,
  house_number    int,
  house_number_addition text,
  street          text,
  city            text,
  charger         jsonb);

create function private.lock_imports(tenant uuid) returns void
language sql
set search_path = ''
as $$ select pg_advisory_xact_lock(hashtextextended('core.drafts import', 0) # hashtextextended(tenant::text, 1)) $$;
comment on function private.lock_imports(uuid) is 'Until the end of the transaction no other import of the partner begins.';
grant execute on function private.lock_imports(uuid) to api_owner;

create function private.claim_addresses(emails text[], tenant uuid) returns void
language plpgsql
set search_path = ''
as $$
declare
  -- in one order, so that two imports cannot wait for each other
  keys constant bigint[] := array(select distinct hashtextextended('core.drafts email ' || e.email, 0) from unnest(emails) as e (email) order by 1);
begin
  -- Every address is one entry of the lock table of the server, which holds a few thousand (max_locks_per_transaction times
  -- max_connections, 3,840 with 60 connections), and everybody's statements fail once it is full. So a long list waits for one of
  -- four places first; a short one, a customer at a time, never does.
  if cardinality(keys) > 50 then
    perform pg_advisory_xact_lock(hashtextextended('core.drafts long import ' || abs(hashtextextended(tenant::text, 0) % 4), 0));
  end if;
  perform pg_advisory_xact_lock(k.key) from unnest(keys) as k (key);
end $$;
comment on function private.claim_addresses(text[], uuid) is
  'Until the end of the transaction no other import, of whichever partner, judges one of these addresses: it waits, and then sees the draft that was made. Taken after private.lock_imports.';
grant execute on function private.claim_addresses(text[], uuid) to api_owner;

create type private.settled_row as (id uuid, row private.draft_row, outcome text);

create function private.settle_rows(rows jsonb, tenant uuid, key text, remaining bigint) returns setof private.settled_row
language plpgsql
set search_path = '' set plan_cache_mode = 'force_generic_plan'
as $$
begin
  return query
  with sent as materialized (
    select r as row, r.* from jsonb_populate_recordset(null::private.draft_row, rows) r
  ), known as (
    select * from private.known_addresses(array(select distinct s.email from sent s where s.reason is null), tenant, key)
  ), judged as materialized (
    select s.row, s.place, s.email,
           coalesce(s.reason, k.reason, case when s.charger is not null then private.judge_charger(s.charger) end) as verdict
      from sent s left join known k on s.reason is null and k.email = s.email
  ), once as (
    select j.place, row_number() over (partition by j.email order by j.place) as occurrence from judged j where j.verdict is null
  ), fitting as (
    select o.place, row_number() over (order by o.place) as rank from once o where o.occurrence = 1
  )
  select private.claim_draft_id(), j.row,
         coalesce(j.verdict, case when f.place is null then 'already_drafted' when f.rank > remaining then 'over_cap' end)
    from judged j left join fitting f on f.place = j.place;
end $$;
comment on function private.settle_rows(jsonb, uuid, text, bigint) is
  'Decides each row of an import: outcome is null where a draft with this id is to be made, else why not. A row may already come with its reason; remaining is what the cap leaves.';
grant execute on function private.settle_rows(jsonb, uuid, text, bigint) to api_owner;

create function api.import_drafts(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = '' set plan_cache_mode = 'force_generic_plan'
as $$
declare
  tenant       uuid;
  links        constant jsonb   := input -> 'links';
  send_invite  constant boolean := (input ->> 'send_invite')::boolean;
  batch        constant uuid    := gen_random_uuid();
  emails       constant text[]  := array(select r ->> 'email' from jsonb_array_elements(input -> 'rows') r);
  brand        jsonb;
  remaining    bigint;
  answer       json;
  letters      jsonb;
begin
  perform private.act_as(caller, 'partner');
  tenant := private.partner_id();
  -- judged against what the import before this one made: the cap among the imports of a partner, "nobody else's" address by address
  perform private.lock_imports(tenant);
  perform private.claim_addresses(array(select r ->> 'email' from jsonb_array_elements(input -> 'rows') r where r ->> 'reason' is null), tenant);
  select private.partner_brand(p) into brand from core.partners p where p.id = tenant;
  remaining := greatest(private.draft_cap() - private.drafts_made(), 0);
  -- a draft that has expired, noted or not, no longer keeps its address from being drafted again
  update core.drafts d set status = 'expired'
   where d.partner_id = tenant and d.status = 'invited' and d.expires_at <= private.now()
     and d.email = any (emails);

  with settled as materialized (
    select (r.row).*, r.id, r.outcome from private.settle_rows(input -> 'rows', tenant, links ->> 'key', remaining) r
  ), created as (
    insert into core.drafts as d
      (partner_id, id, batch_id, source, type, name, email, phone, external_ref, kvk, vat, company_name, contact_name, referral_code,
       ean, postal_code, house_number, house_number_addition, street, city, charger, ean_status, send_invite, invited_at, expires_at)
    select tenant, s.id, batch, input ->> 'source', s.type, s.name, s.email, s.phone, s.external_ref, s.kvk, s.vat, s.company_name,
           s.contact_name, s.referral_code, s.ean, s.postal_code, s.house_number, s.house_number_addition, s.street, s.city,
           case when s.charger is not null then s.charger || jsonb_build_object('brand', private.charger_brand(s.charger ->> 'brand')) end,
           case when s.ean is not null then 'provided' when s.postal_code is null then 'no_address' else 'pending' end,
           send_invite, case when send_invite then private.now() end, private.now() + interval '60 days'
      from settled s where s.outcome is null
    returning d as draft
  ), counted as (
    insert into core.draft_uploads (partner_id) select tenant from created
  ), shown as (
    select s.place, private.claim_url(s.id, links) as claim_url, c.draft
      from created c join settled s on s.id = (c.draft).id
  )
  select json_build_object(
      'ok', true,
      'added', (select count(*) from shown),
      'batch_id', batch,
      'created', (select coalesce(json_agg(row_to_json(r) order by s.place), '[]')
                    from shown s
                    cross join lateral (select (s.draft).id as draft_id, (s.draft).email, (s.draft).external_ref, s.claim_url, (s.draft).ean_status,
                                               0 as ean_candidates) r),
      'address_ignored', (select coalesce(json_agg(json_build_object('email', s.email, 'reason', s.address_ignored) order by s.place), '[]')
                            from settled s where s.outcome is null and s.address_ignored is not null),
      'ean_ignored', (select coalesce(json_agg(json_build_object('email', s.email, 'reason', s.ean_ignored) order by s.place), '[]')
                        from settled s where s.outcome is null and s.ean_ignored is not null),
      'claim_urls', (select coalesce(json_agg(json_build_object('email', (s.draft).email, 'claim_url', s.claim_url) order by s.place), '[]')
                       from shown s where not send_invite),
      'referral_codes', (select coalesce(json_agg(json_build_object(
          'email', s.email, 'code', s.referral_code, 'matched', private.referral_code_known(s.referral_code)) order by s.place), '[]')
                           from settled s where s.outcome is null and s.referral_code is not null),
      'rejected', (select coalesce(json_agg(
          case when s.detail is null or s.reason is null
               then json_build_object('email', s.email, 'reason', s.outcome, 'row', s.place)
               else json_build_object('email', s.email, 'reason', s.outcome, 'row', s.place, 'detail', s.detail) end order by s.place), '[]')
                     from settled s where s.outcome is not null),
      'skipped', (select json_object_agg(w.reason, case w.reason when 'over_request_limit' then (input ->> 'over_request_limit')::bigint
                                                                 else coalesce(n.rows, 0) end order by w.place)
                    from jsonb_array_elements_text(input -> 'counters') with ordinality as w (reason, place)
                    left join (select s.outcome, count(*) as rows from settled s group by s.outcome) n on n.outcome = w.reason),
      'cap', json_build_object('rolling_days', 30, 'rolling_cap', private.draft_cap(), 'remaining_before', remaining)),
    (select jsonb_agg(jsonb_build_object('recipient', (s.draft).email, 'cause', 'claim:' || (s.draft).id,
                                         'fields', private.letter_fields(s.draft, brand, links)))
       from shown s where send_invite)
    into answer, letters;

  if letters is not null then
    perform private.enqueue_mails(input -> 'mails' -> coalesce((private.own_partner()).locale, 'nl'), letters);
  end if;
  if (answer ->> 'added')::int > 0 then
    perform private.audit('drafts.imported', batch, jsonb_build_object('added', answer -> 'added', 'source', input -> 'source'));
  end if;
  return answer;
end $$;
comment on function api.import_drafts(jsonb, jsonb) is
  'POST /partner/drafts/import and /partner/customers: {source, send_invite, rows, over_request_limit, counters, links, mails: {nl, en} | null}. Rows come read and judged on their own; one set-based statement judges the rest.';
select private.expose('api.import_drafts(jsonb, jsonb)');

-- The EAN of a draft, looked up by its address.

create function private.record_draft_lookup(draft uuid, ean_register jsonb) returns json
language plpgsql
set search_path = ''
as $$
declare
  found_draft core.drafts;
  points      jsonb;
  count       int;
begin
  select * into found_draft from core.drafts d
   where d.partner_id = private.partner_id() and d.id = draft and d.status in ('invited', 'claimed') and d.ean_status in ('pending', 'failed')
     for no key update;
  if not found then
    return null;  -- withdrawn, claimed with an EAN, or looked up by somebody else meanwhile
  end if;
  points := case
    when ean_register ->> 'source' = 'table' then
      private.points_in_table(found_draft.postal_code, found_draft.house_number, found_draft.house_number_addition)
    when ean_register ->> 'outcome' = 'points' then ean_register -> 'points'
    when ean_register ->> 'outcome' = 'unknown_address' then '[]' end;
  count := jsonb_array_length(points);
  update core.drafts d
     set ean_status = case when count is null then 'failed' when count = 0 then 'not_found' when count = 1 then 'resolved' else 'ambiguous' end,
         ean = case when count = 1 then points #>> '{0,ean_code}' end,
         ean_candidates = coalesce(points, '[]'),
         street = coalesce(d.street, points #>> '{0,street}'),
         city = coalesce(d.city, points #>> '{0,city}'),
         ean_looked_up_at = private.now()
   where d.partner_id = found_draft.partner_id and d.id = found_draft.id
  returning * into found_draft;
  return json_build_object('draft_id', found_draft.id, 'ean_status', found_draft.ean_status, 'ean_candidates', coalesce(count, 0));
end $$;
comment on function private.record_draft_lookup(uuid, jsonb) is
  'Writes down what the EAN register knows at a draft''s address: {source, outcome, points}, or {source: "table"} to look it up here. No answer is failed, and tried again for a day.';
grant execute on function private.record_draft_lookup(uuid, jsonb) to api_owner;

create function api.record_draft_lookups(caller jsonb, results jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'partner');
  return (select coalesce(json_agg(private.record_draft_lookup((r ->> 'draft_id')::uuid, r -> 'ean_register')), '[]')
            from jsonb_array_elements(results) r);
end $$;
comment on function api.record_draft_lookups(jsonb, jsonb) is 'The EAN register''s answers during an import: [{draft_id, ean_register}] to [{draft_id, ean_status, ean_candidates}].';
select private.expose('api.record_draft_lookups(jsonb, jsonb)');

create function private.due_draft_lookups(size int) returns json
language sql security definer
set search_path = ''
as $$
  -- claimed for an hour by the time of the look-up; the result ends it, a failure is due again after that hour, for a day
  with claimed as (
    update core.drafts d set ean_looked_up_at = private.now()
     where d.id in (
       select w.id from core.drafts w
        where w.ean_status in ('pending', 'failed') and w.status in ('invited', 'claimed')
          and w.partner_id in (select p.id from core.partners p where p.is_active)
          and (w.ean_looked_up_at is null or w.ean_looked_up_at <= private.now() - interval '1 hour')
          and (w.ean_status = 'pending' or w.created_at > private.now() - interval '1 day')
        order by w.created_at limit size for update skip locked)
    returning d.*)
  select coalesce(json_agg(json_build_object('partner_id', partner_id, 'draft_id', id, 'postal_code', postal_code,
                                             'house_number', house_number, 'house_number_addition', house_number_addition)), '[]')
    from claimed
$$;
comment on function private.due_draft_lookups(int) is 'Drafts whose address waits to be looked up. Definer: every tenant at once.';
grant execute on function private.due_draft_lookups(int) to api_owner;

create function api.due_draft_lookups(caller jsonb, batch jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'worker');
  return private.due_draft_lookups((batch ->> 'size')::int);
end $$;
comment on function api.due_draft_lookups(jsonb, jsonb) is
  'The next addresses to look up: {size} to [{partner_id, draft_id, postal_code, house_number, house_number_addition}].';
select private.expose('api.due_draft_lookups(jsonb, jsonb)', 'edge_slow');

create function api.record_draft_lookup(caller jsonb, due jsonb, ean_register jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'worker'), private.act_for_partner((due ->> 'partner_id')::uuid);
  return private.record_draft_lookup((due ->> 'draft_id')::uuid, ean_register);
end $$;
comment on function api.record_draft_lookup(jsonb, jsonb, jsonb) is 'The EAN register''s answer for a due draft; null where it waits no longer.';
select private.expose('api.record_draft_lookup(jsonb, jsonb, jsonb)', 'edge_slow');

-- GET /partner/drafts.

create function api.list_drafts(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
declare
  links      constant jsonb   := query -> 'links';
  disclosing boolean;
begin
  perform private.act_as(caller, 'partner');
  disclosing := private.manager_id() is null;
  return (
    select json_build_object('drafts', coalesce(json_agg(row_to_json(r) order by d.created_at desc, d.id desc), '[]'))
      from core.drafts d
      cross join lateral (select private.draft_status(d) as status, disclosing or d.status not in ('claimed', 'active') as disclosed) s
      -- rows, and not json_build_object: that looks the type of each of its arguments up for each draft
      cross join lateral (
        select d.id as draft_id,
               s.status,
               d.type,
               case when s.disclosed then d.name end as naam,
               case when s.disclosed then d.email end as email,
               case when s.disclosed then d.external_ref end as external_ref,
               d.city,
               d.ean_status,
               jsonb_array_length(d.ean_candidates) as ean_candidates,
               case when s.disclosed and s.status in ('invited', 'claimed') then private.claim_url(d.id, links) end as claim_url,
               d.batch_id,
               private.iso(d.created_at) as created_at,
               private.iso(d.invited_at) as invited_at,
               private.iso(d.claimed_at) as claimed_at,
               private.iso(d.expires_at) as expires_at) r
     where d.partner_id = private.partner_id()
       and (query ->> 'external_ref' is null or s.disclosed and d.external_ref = query ->> 'external_ref')
       and (query ->> 'status' is null or s.status = query ->> 'status'));
end $$;
comment on function api.list_drafts(jsonb, jsonb) is 'GET /partner/drafts: {external_ref, status, links} to {drafts}, newest first. claim_url is null unless the draft can be claimed. For a person (manager_id) a draft that was claimed has no identity and no link, as its customer has none in private.customer_page.';
select private.expose('api.list_drafts(jsonb, jsonb)');

-- POST /partner/drafts/withdraw.

create function api.withdraw_draft(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  draft core.drafts;
begin
  perform private.act_as(caller, 'partner');
  -- waits for a claim under way, and sees what came of it
  select * into draft from core.drafts d
   where d.partner_id = private.partner_id() and d.id = (input ->> 'draft_id')::uuid for update;
  if draft.id is null then
    perform private.refuse('draft_not_found', json_build_object('code', 'draft_not_found'));
  elsif draft.status = 'active' then
    perform private.refuse('draft_active', json_build_object('code', 'draft_active'));
  end if;
  delete from core.drafts d where d.partner_id = draft.partner_id and d.id = draft.id;
  perform private.release_customer(draft.user_id, draft.partner_id), private.drop_waiting_mail(draft.id);
  perform private.audit('draft.withdrawn', draft.id, jsonb_build_object('status', private.draft_status(draft)));
  return json_build_object('ok', true);
end $$;
comment on function api.withdraw_draft(jsonb, jsonb) is
  'POST /partner/drafts/withdraw: {draft_id}. The draft, its links and its waiting mail go, a login it made is unlinked; an audit row without personal data stays.';
select private.expose('api.withdraw_draft(jsonb, jsonb)');

-- The scheduled work on drafts: reminders, expiry, purge.

create function private.forget_claimed_drafts(size int) returns int
language plpgsql security definer
set search_path = ''
as $$
declare
  draft   core.drafts;
  deleted int := 0;
begin
  for draft in
    select * from core.drafts d
     where d.status = 'claimed' and d.claimed_at <= private.now() - interval '180 days'
     order by d.partner_id, d.id limit size for update skip locked
  loop
    delete from core.mail_outbox m where m.partner_id = draft.partner_id and m.status = 'queued' and m.cause like 'claim%:' || draft.id || '%';
    delete from core.drafts d where d.partner_id = draft.partner_id and d.id = draft.id;
    perform private.release_customer(draft.user_id, draft.partner_id);
    insert into core.audit_log (actor, action, partner_id, subject_id, details)
    values ('worker', 'draft.deleted', draft.partner_id, draft.id, jsonb_build_object('status', draft.status));
    deleted := deleted + 1;
  end loop;
  return deleted;
end $$;
comment on function private.forget_claimed_drafts(int) is
  'Deletes drafts that were claimed 180 days ago and never signed, with their waiting mail, as a withdrawal does. Definer: every tenant at once.';

create function private.expire_drafts(out expired bigint, out purged bigint)
language plpgsql security definer
set search_path = ''
as $$
begin
  with ended as (
    update core.drafts d set status = 'expired', progress = '{}', code_hash = null, code_expires_at = null
     where d.status = 'invited' and d.expires_at <= private.now() returning d.partner_id, d.id
  ), told as (
    insert into core.events (partner_id, owner_id, type, subject_id, data)
    select e.partner_id, e.partner_id, 'draft.expired', e.id, '{"status": "expired"}' from ended e
  ), dropped as (
    delete from core.mail_outbox m using ended e
     where m.partner_id = e.partner_id and m.status = 'queued' and m.cause like 'claim%:' || e.id || '%')
  select count(*) into expired from ended;
  with ended as (
    delete from core.drafts d where d.status in ('expired', 'conflict') and d.expires_at <= private.now() - interval '30 days'
    returning d.partner_id, d.id, d.status
  ), noted as (
    insert into core.audit_log (actor, action, partner_id, subject_id, details)
    select 'worker', 'draft.deleted', e.partner_id, e.id, jsonb_build_object('status', e.status) from ended e
    returning 1)
  select count(*) + private.forget_claimed_drafts(1000) into purged from noted;
  delete from core.draft_uploads u where u.at <= private.now() - interval '31 days';
end $$;
comment on function private.expire_drafts() is
  'Writes expiry down and drops the mail that still waits, deletes what expired or conflicted 30 days after its last day and what was claimed and not signed for 180, and sweeps what the rolling cap counts no longer. Definer: every tenant at once.';
grant execute on function private.expire_drafts() to api_owner;

create function private.remind_drafts(mails jsonb, links jsonb, size int) returns bigint
language plpgsql security definer
set search_path = ''
as $$
declare
  post     record;
  reminded bigint := 0;
begin
  for post in
    with due as (
      -- where several reminders are due, one mail is sent for all of them
      update core.drafts d
         set reminders_sent = (select count(*) from unnest(array[3, 10, 30]) as r (day) where d.created_at + make_interval(days => r.day) <= private.now())
       where d.id in (
         select w.id from core.drafts w
          where w.status = 'invited' and w.send_invite and w.reminders_sent < 3 and w.expires_at > private.now()
            and w.created_at + make_interval(days => (array[3, 10, 30])[w.reminders_sent + 1]) <= private.now()
            -- those of a deactivated partner stay due
            and w.partner_id in (select p.id from core.partners p where p.is_active)
          order by w.created_at limit size for update skip locked)
      returning d as draft)
    select p.id as partner_id, coalesce((due.draft).locale, p.locale, 'nl') as locale,
           jsonb_agg(jsonb_build_object('recipient', (due.draft).email, 'cause', 'claim_reminder:' || (due.draft).id || ':' || (due.draft).reminders_sent,
             'fields', private.letter_fields(due.draft, private.partner_brand(p), links))) as letters
      from due join core.partners p on p.id = (due.draft).partner_id
     where not private.is_suppressed(private.email_hash((due.draft).email, links ->> 'key'))
     group by p.id, 2
  loop
    perform private.act_for_partner(post.partner_id), private.enqueue_mails(mails -> post.locale, post.letters);
    reminded := reminded + jsonb_array_length(post.letters);
  end loop;
  return reminded;
end $$;
comment on function private.remind_drafts(jsonb, jsonb, int) is
  'Writes the reminders of day 3, 10 and 30 to those who were mailed and have not claimed; never to who opted out. Definer: every tenant at once.';
grant execute on function private.remind_drafts(jsonb, jsonb, int) to api_owner;

create function api.run_draft_jobs(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  ended record;
begin
  perform private.act_as(caller, 'worker');
  select * into ended from private.expire_drafts();
  return json_build_object('expired', ended.expired, 'purged', ended.purged,
                           'reminded', private.remind_drafts(input -> 'mails', input -> 'links', (input ->> 'size')::int));
end $$;
comment on function api.run_draft_jobs(jsonb, jsonb) is
  'Everything of drafts that is due: {mails: {nl, en}, links, size} to counts. Safe to call at any time, from several callers at once.';
select private.expose('api.run_draft_jobs(jsonb, jsonb)', 'edge_slow');

-- Retention: what is deleted once it need not be kept any more, docs/retention.md. What of a delivery year must be kept is deleted from
-- 1 January of the seventh year after it on, when the operator says so. Each step deletes some rows of one kind, whole, in an order in
-- which nothing refers to what is gone.

create function private.retention_border() returns date
language sql stable
set search_path = ''
as $$ select make_date(extract(year from private.today())::int - 6, 1, 1) $$;
comment on function private.retention_border() is 'What was before this day may be deleted: on 1 January 2033 what was before 2027.';

create function private.dutch_midnight(day date) returns timestamptz
language sql stable
set search_path = ''
as $$ select day::timestamp at time zone 'Europe/Amsterdam' $$;

-- What is deleted leaves balances as they are: they are closed into an account of the tenant, or carried forward from it.
create function private.close_balances(tenant uuid, owners uuid[]) returns void
language plpgsql
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
begin
  perform private.post(tenant, array_agg(case when b.balance > 0
      then row('closed:' || a.id, a.unit, b.balance, a.kind, a.owner, 'closed', tenant)::private.posting
      else row('closed:' || a.id, a.unit, -b.balance, 'closed', tenant, a.kind, a.owner)::private.posting end))
    from core.ledger_accounts a
   cross join lateral (select private.balance(tenant, a.unit, a.kind, a.owner) as balance) b
   where a.partner_id = tenant and a.owner = any (owners) and b.balance <> 0
  having count(*) > 0;
end $$;
comment on function private.close_balances(uuid, uuid[]) is 'Moves what is left in the accounts of these owners to the tenant''s account of what was closed.';

create function private.forget_payouts(border date, size int) returns int
language plpgsql
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  gone core.payout_lines[] := array(
    select l from core.payout_lines l join core.payout_batches b on b.id = l.batch_id
     where l.status <> 'pending' and greatest(b.settled_at, b.cancelled_at, l.paid_at, l.failed_at) < private.dutch_midnight(border)
     order by l.partner_id, l.id limit size for update of l);
  tenant   uuid;
  postings private.posting[];
begin
  for tenant, postings in
    select k.ledger_partner_id, array_agg(case when k.amount > 0
             then row('closed:line:' || k.line_id, 'EUR', k.amount, 'bank', k.payee_id, 'closed', k.ledger_partner_id)::private.posting
             else row('closed:line:' || k.line_id, 'EUR', -k.amount, 'closed', k.ledger_partner_id, 'bank', k.payee_id)::private.posting end)
      from (select p.ledger_partner_id, p.line_id, l.payee_id, sum(p.amount) as amount
              from unnest(gone) l join core.payout_parts p on p.partner_id = l.partner_id and p.line_id = l.id
             where l.status = 'paid' group by 1, 2, 3) k
     where k.amount <> 0 group by k.ledger_partner_id
  loop
    perform private.post(tenant, postings);
  end loop;
  perform private.withdraw_statement(l) from unnest(gone) l;
  delete from core.payout_parts p using unnest(gone) l where p.partner_id = l.partner_id and p.line_id = l.id;
  delete from core.payout_lines d using unnest(gone) l where d.partner_id = l.partner_id and d.id = l.id;
  delete from core.payout_batches b
   where greatest(b.settled_at, b.cancelled_at) < private.dutch_midnight(border) and not exists (select from core.payout_lines l where l.batch_id = b.id);
  return cardinality(gone);
end $$;

create function private.forget_invoices(border date, size int) returns int
language plpgsql
set search_path = ''
as $$
declare
  deleted int;
begin
  -- a partner's invoices of a year together, because their numbers have no gaps; not while a later credit note refers to one of them
  with year as (
    select i.partner_id, i.year from core.invoices i
     where i.year < extract(year from border)
       and not exists (select from core.invoices c join core.invoices o on o.partner_id = c.partner_id and o.id = c.corrects
                        where o.partner_id = i.partner_id and o.year = i.year and c.year > i.year)
     group by 1, 2 order by 2, 1 limit size
  ), listed as (
    delete from core.invoice_entries e using core.invoices i join year y on y.partner_id = i.partner_id and y.year = i.year
     where e.partner_id = i.partner_id and e.invoice_id = i.id
  ), rendered as (
    delete from core.documents d using core.invoices i join year y on y.partner_id = i.partner_id and y.year = i.year
     where d.partner_id = i.partner_id and d.invoice_id = i.id
  )
  delete from core.invoices i using year y where i.partner_id = y.partner_id and i.year = y.year;
  get diagnostics deleted = row_count;
  return deleted;
end $$;

create function private.forget_bookings(border date, size int) returns int
language plpgsql
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  booking core.bookings;
  sales   uuid[];
  deleted int := 0;
  counted int;
begin
  for booking in select * from core.bookings b where b.quarter < border order by b.quarter, b.partner_id, b.id for update loop
    sales := array(select s.id from core.sales s where s.partner_id = booking.partner_id and s.booking_id = booking.id);
    perform private.close_balances(booking.partner_id, sales || booking.id);
    delete from core.allocations a where a.partner_id = booking.partner_id and a.sale_id = any (sales);
    delete from core.sale_reversals v where v.partner_id = booking.partner_id and v.sale_id = any (sales);
    delete from core.sales s where s.partner_id = booking.partner_id and s.id = any (sales);
    delete from core.credits c using core.booking_rows r
     where r.partner_id = booking.partner_id and r.booking_id = booking.id and c.partner_id = r.partner_id and c.row_id = r.id;
    -- with its months, which are locked as long as there is a row of them
    delete from core.delivered_months d using core.booking_rows r
     where r.partner_id = booking.partner_id and r.booking_id = booking.id and r.live
       and d.partner_id = r.partner_id and d.connection_id = r.connection_id and d.period = r.period;
    delete from core.booking_rows r where r.partner_id = booking.partner_id and r.booking_id = booking.id;
    get diagnostics counted = row_count;
    delete from core.bookings b where b.partner_id = booking.partner_id and b.id = booking.id;
    deleted := deleted + counted + 1;
    exit when deleted >= size;
  end loop;
  -- a quarter that is not listed any more is no news
  delete from core.told_payouts t where t.period < private.quarter_name(border);
  return deleted;
end $$;

create function private.forget_months(border date, size int) returns int
language plpgsql
set search_path = ''
as $$
declare
  deleted int;
begin
  delete from core.replaced_months r where r.period < border;
  with old as (
    select d.partner_id, d.connection_id, d.period from core.delivered_months d
     where d.period < border
       and not exists (select from core.booking_rows r where r.partner_id = d.partner_id and r.connection_id = d.connection_id and r.period = d.period)
     limit size for update skip locked)
  delete from core.delivered_months d using old o where d.partner_id = o.partner_id and d.connection_id = o.connection_id and d.period = o.period;
  get diagnostics deleted = row_count;
  return deleted;
end $$;

create function private.forget_sessions(border date, size int) returns int
language plpgsql
set search_path = ''
as $$
declare
  gone    core.charging_sessions[] := array(select s from core.charging_sessions s where s.month < border limit size for update skip locked);
  deleted int;
begin
  delete from core.replaced_charging_sessions r using unnest(gone) s
   where r.partner_id = s.partner_id and r.charger_id = s.charger_id and r.session_id = s.id;
  delete from core.charging_sessions d using unnest(gone) s where d.partner_id = s.partner_id and d.charger_id = s.charger_id and d.id = s.id;
  get diagnostics deleted = row_count;
  delete from core.charger_months m
   where m.month < border and not exists (
     select from core.charging_sessions s where s.partner_id = m.partner_id and s.charger_id = m.charger_id and s.month = m.month);
  return deleted;
end $$;

create function private.forget_deliveries(border date, size int) returns int
language plpgsql
set search_path = ''
as $$
declare
  deleted int;
begin
  delete from core.deliveries d
   where (d.partner_id, d.id) in (
     select e.partner_id, e.id from core.deliveries e
      where e.received_at < private.dutch_midnight(border)
        and not exists (select from core.delivered_months m where m.partner_id = e.partner_id and m.delivery_id = e.id)
        and not exists (select from core.booking_rows r where r.partner_id = e.partner_id and r.delivery_id = e.id) limit size);
  get diagnostics deleted = row_count;
  return deleted;
end $$;

create function private.forget_checks(border date, size int) returns int
language plpgsql
set search_path = ''
as $$
declare
  deleted int;
begin
  delete from core.ean_checks c
   where (c.partner_id, c.id) in (select e.partner_id, e.id from core.ean_checks e where e.checked_at < private.dutch_midnight(border) limit size);
  get diagnostics deleted = row_count;
  return deleted;
end $$;

create function private.forget_mandates(border date, size int) returns int
language plpgsql
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  gone core.mandates[] := array(
    select m from core.mandates m
     where coalesce(m.valid_until, (m.created_at at time zone 'Europe/Amsterdam')::date) < border
       and not exists (select from core.booking_rows r where r.partner_id = m.partner_id and r.connection_id = m.connection_id and r.mandate_id = m.id)
     limit size for update of m skip locked);
begin
  delete from core.documents d using unnest(gone) m where d.partner_id = m.partner_id and d.mandate_id = m.id;
  delete from core.mandates d using unnest(gone) m where d.partner_id = m.partner_id and d.id = m.id;
  delete from core.mandate_links l
   where l.expires_at < private.dutch_midnight(border) and not exists (select from core.mandates m where m.partner_id = l.partner_id and m.link_id = l.id);
  return cardinality(gone);
end $$;

create function private.forget_accounts(border date, size int) returns int
language plpgsql
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  gone        core.accounts[];
  connections core.connections[];
begin
  -- a customer of whom nothing is left that has to be kept, and to whom nothing is owed
  gone := array(
    select a from core.accounts a
     where a.created_at < private.dutch_midnight(border)
       and not exists (select from core.payout_lines l where l.partner_id = a.partner_id and l.account_id = a.id)
       and not exists (select from core.payout_parts p where p.partner_id = a.partner_id and p.account_id = a.id)
       and not exists (select from core.booking_rows r where r.partner_id = a.partner_id and r.account_id = a.id)
       and not exists (
         select from core.connections c
          where c.partner_id = a.partner_id and c.account_id = a.id
            and (exists (select from core.mandates m where m.partner_id = c.partner_id and m.connection_id = c.id)
                 or exists (select from core.delivered_months d where d.partner_id = c.partner_id and d.connection_id = c.id)
                 or exists (select from core.deliveries d where d.partner_id = c.partner_id and d.connection_id = c.id)
                 or exists (select from core.charging_sessions s where s.partner_id = c.partner_id and s.connection_id = c.id)))
       and not exists (
         select from core.chargers h join core.charging_sessions s on s.partner_id = h.partner_id and s.charger_id = h.id
          where h.partner_id = a.partner_id and h.account_id = a.id)
       and private.balance(a.partner_id, 'EUR', 'customer', a.id) = 0
     order by a.partner_id, a.id limit size for update of a);
  connections := array(select c from core.connections c join unnest(gone) a on c.partner_id = a.partner_id and c.account_id = a.id);
  delete from core.notices n using unnest(gone) a where n.partner_id = a.partner_id and n.account_id = a.id;
  delete from core.documents d using unnest(gone) a where d.partner_id = a.partner_id and d.account_id = a.id;
  delete from core.virtual_chargers v using core.chargers h join unnest(gone) a on h.partner_id = a.partner_id and h.account_id = a.id
   where v.partner_id = h.partner_id and v.charger_id = h.id;
  delete from core.charger_months m using core.chargers h join unnest(gone) a on h.partner_id = a.partner_id and h.account_id = a.id
   where m.partner_id = h.partner_id and m.charger_id = h.id;
  delete from core.chargers h using unnest(gone) a where h.partner_id = a.partner_id and h.account_id = a.id;
  delete from core.replaced_months r using unnest(connections) c where r.partner_id = c.partner_id and r.connection_id = c.id;
  delete from core.ean_checks e using unnest(connections) c where e.partner_id = c.partner_id and e.connection_id = c.id;
  delete from core.mandate_links l using unnest(connections) c where l.partner_id = c.partner_id and l.connection_id = c.id;
  delete from core.connections d using unnest(connections) c where d.partner_id = c.partner_id and d.id = c.id;
  delete from core.locations l using unnest(connections) c
   where l.partner_id = c.partner_id and l.id = c.location_id
     and not exists (select from core.connections o where o.partner_id = l.partner_id and o.location_id = l.id);
  delete from core.drafts d using unnest(gone) a where d.account_id = a.id;
  delete from core.signatories s using unnest(gone) a where s.partner_id = a.partner_id and s.account_id = a.id;
  delete from core.accounts d using unnest(gone) a where d.partner_id = a.partner_id and d.id = a.id;
  return cardinality(gone);
end $$;

create function private.forget_log(of_log text, border date, size int) returns int
language plpgsql
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  chain   core.audit_chains;
  kept    bigint;
  upto    core.audit_links;
  deleted int := 0;
  rows    bigint[];
begin
  for chain in select * from core.audit_chains c where c.log = of_log and c.position > c.checkpoint_position order by c.partner_id for update loop
    -- from the oldest end on, up to the first row that has to stay: chained by then, or it is of another year
    select min(l.position) into kept
      from core.audit_links l
     cross join lateral (
       select v.at, v.what from core.audit_content v where v.partner_id = l.partner_id and v.log = of_log and v.row_id = l.row_id offset 0) v
     where l.partner_id = chain.partner_id and l.log = of_log and l.position <= chain.checkpoint_position + size
       and (v.at >= private.dutch_midnight(border)
            or v.what like 'invoice:%' and exists (
              select from core.invoices i where i.partner_id = l.partner_id and i.id = private.as_uuid(split_part(v.what, ':', 2))));
    select * into upto from core.audit_links l
     where l.partner_id = chain.partner_id and l.log = of_log and l.position = coalesce(kept - 1, least(chain.position, chain.checkpoint_position + size));
    continue when not found;
    rows := array(select l.row_id from core.audit_links l where l.partner_id = chain.partner_id and l.log = of_log and l.position <= upto.position);
    if of_log = 'audit' then
      delete from core.audit_log a where a.partner_id = chain.partner_id and a.id = any (rows);
    else
      perform private.carry_forward(chain.partner_id, rows, upto.position);
      delete from core.ledger_entries e where e.partner_id = chain.partner_id and e.id = any (rows);
    end if;
    delete from core.audit_links l where l.partner_id = chain.partner_id and l.log = of_log and l.position <= upto.position;
    update core.audit_chains c set checkpoint_position = upto.position, checkpoint_hash = upto.hash
     where c.partner_id = chain.partner_id and c.log = of_log;
    deleted := deleted + cardinality(rows);
    exit when deleted >= size;
  end loop;
  return deleted;
end $$;
comment on function private.forget_log(text, date, int) is
  'Deletes the oldest rows of the audit log or of the ledger with their links, and leaves the hash of the last of them, which the next link follows.';

create function private.carry_forward(tenant uuid, entries bigint[], upto bigint) returns void
language plpgsql
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
begin
  perform private.post(tenant, array_agg(case when n.amount > 0
      then row('carried:' || upto || ':' || a.id, a.unit, n.amount, 'closed', tenant, a.kind, a.owner)::private.posting
      else row('carried:' || upto || ':' || a.id, a.unit, -n.amount, a.kind, a.owner, 'closed', tenant)::private.posting end))
    from (
      select s.account_id, sum(s.amount) as amount
        from (select e.credit as account_id, e.amount from core.ledger_entries e where e.partner_id = tenant and e.id = any (entries)
              union all
              select e.debit, -e.amount from core.ledger_entries e where e.partner_id = tenant and e.id = any (entries)) s
       group by s.account_id) n
    join core.ledger_accounts a on a.partner_id = tenant and a.id = n.account_id
   where n.amount <> 0 and a.kind <> 'closed'
  having count(*) > 0;
end $$;
comment on function private.carry_forward(uuid, bigint[], bigint) is
  'Posts what these entries came to in each account, so that its balance stays when they are deleted.';

create function private.retention_step(kind text, size int) returns int
language plpgsql
set search_path = ''
as $$
declare
  border constant date := private.retention_border();
begin
  return case kind
    when 'drafts' then private.forget_claimed_drafts(size)
    when 'payouts' then private.forget_payouts(border, size)
    when 'invoices' then private.forget_invoices(border, size)
    when 'bookings' then private.forget_bookings(border, size)
    when 'months' then private.forget_months(border, size)
    when 'sessions' then private.forget_sessions(border, size)
    when 'deliveries' then private.forget_deliveries(border, size)
    when 'ean_checks' then private.forget_checks(border, size)
    when 'mandates' then private.forget_mandates(border, size)
    when 'accounts' then private.forget_accounts(border, size)
    when 'audit_log' then private.forget_log('audit', border, size)
    when 'ledger' then private.forget_log('ledger', border, size) end;
end $$;
comment on function private.retention_step(text, int) is 'Deletes some rows of a kind that need not be kept any more, and says how many.';

create function private.retention_kinds() returns text[]
language sql immutable
set search_path = ''
as $$ select '{drafts,payouts,invoices,bookings,months,sessions,deliveries,ean_checks,mandates,accounts,audit_log,ledger}'::text[] $$;
comment on function private.retention_kinds() is 'The kinds in the order in which they are deleted: what refers to something goes before it.';

-- The claim of a draft by its customer: where it stands, and what its pages show.

create function private.draft_by_id(draft uuid) returns core.drafts
language sql stable security definer
set search_path = ''
as $$ select d from core.drafts d where d.id = draft $$;
comment on function private.draft_by_id(uuid) is
  'Finds a draft before its tenant is known; definer for that reason alone. The claim token, verified before it gets here, is the credential.';
grant execute on function private.draft_by_id(uuid) to api_owner;

create function private.claimant_stands(draft core.drafts) returns boolean
language plpgsql stable security definer
set search_path = ''
as $$
declare
  login constant uuid := coalesce(draft.user_id, (
    select u.id from auth.users u where u.email = draft.email and not u.is_sso_user and u.deleted_at is null));
begin
  return login is null or private.login_stands(login);
end $$;
comment on function private.claimant_stands(core.drafts) is
  'Whether the customer of a draft may act: false while their login is banned, by whatever link they come. Definer, because logins belong to Supabase Auth.';
grant execute on function private.claimant_stands(core.drafts) to api_owner;

create function private.enter_draft(draft_id uuid, lock boolean) returns core.drafts
language plpgsql
set search_path = ''
as $$
declare
  draft core.drafts := private.draft_by_id(draft_id);
begin
  -- nobody claims for a partner that was deactivated; what a customer has signed stays theirs to see and to change
  if draft.status in ('invited', 'claimed') and private.active_partner(draft.partner_id) is null or not private.claimant_stands(draft) then
    draft := null;
  end if;
  perform private.act_for_partner(draft.partner_id);
  if current_setting('app.caller_kind') = 'sandbox' then
    perform private.only_in_sandbox();
  else
    perform set_config('app.caller_kind', 'customer', true);
  end if;
  if lock then
    select * into draft from core.drafts d where d.partner_id = private.partner_id() and d.id = draft_id for update;
  end if;
  return draft;
end $$;
comment on function private.enter_draft(uuid, boolean) is
  'Makes the bearer of a claim link the caller, within the tenant of the draft; a sandbox helper that plays the customer stays who it is. An open draft of a deactivated partner is as good as gone, and any draft while its customer''s login is banned.';
grant execute on function private.enter_draft(uuid, boolean) to api_owner;

create function private.draft_state(draft core.drafts) returns text
language sql stable
set search_path = ''
as $$
  select case
    when draft.id is null then 'gone'
    when private.draft_status(draft) in ('invited', 'claimed') then 'open'
    else private.draft_status(draft) end
$$;
grant execute on function private.draft_state(core.drafts) to api_owner;

create function private.claim_stage(draft core.drafts) returns text
language plpgsql immutable
set search_path = ''
as $$
begin
  return case when draft.status = 'claimed' and draft.user_id is null and not draft.progress ? 'by_link' then 'invited' else draft.status end;
end $$;
comment on function private.claim_stage(core.drafts) is
  'The status of a claim; where the login was deleted meanwhile the address is to be proven again. A claim begun by a sign-in link may have no login until it is signed.';
grant execute on function private.claim_stage(core.drafts) to api_owner;

create function private.claim_answers(draft core.drafts) returns jsonb
language sql stable
set search_path = ''
as $$
  select jsonb_build_object(
    'type', draft.type,
    'full_name', coalesce(draft.contact_name, draft.name),
    'company_name', coalesce(draft.company_name, case when draft.type <> 'particulier' and draft.contact_name is not null then draft.name end),
    'kvk', draft.kvk,
    'vat', draft.vat,
    'phone', draft.phone,
    'postal_code', draft.postal_code,
    'house_number', draft.house_number,
    'house_number_addition', draft.house_number_addition,
    'street', draft.street,
    'city', draft.city,
    'ean_code', draft.ean,
    'brand', draft.charger ->> 'brand',
    'serial_number', draft.charger ->> 'serial_number') || coalesce(draft.progress -> 'answers', '{}')
$$;
comment on function private.claim_answers(core.drafts) is 'What the partner uploaded, overlaid with what the customer confirmed or changed.';
grant execute on function private.claim_answers(core.drafts) to api_owner;

create function private.claim_steps() returns text[]
language sql immutable
set search_path = ''
as $$ select array['details', 'company', 'address', 'ean', 'payout', 'charger'] $$;
comment on function private.claim_steps() is
  'What a customer confirms before the mandate, in this order. STEP_NAMES in packages/shared/src/domain/claim/flow.ts is the same list; a test compares the two.';
grant execute on function private.claim_steps() to api_owner;

create function private.claim_open_step(draft core.drafts) returns text
language sql stable
set search_path = ''
as $$
  select s.step
    from unnest(private.claim_steps()) with ordinality as s (step, place)
   where not coalesce(draft.progress -> 'confirmed', '[]') ? s.step
     and (s.step <> 'company' or private.claim_answers(draft) ->> 'type' <> 'particulier')
   order by s.place limit 1
$$;
comment on function private.claim_open_step(core.drafts) is 'The first step the customer has not confirmed; null when only the mandate is left.';
grant execute on function private.claim_open_step(core.drafts) to api_owner;

create function private.partner_full_name(partner core.partners) returns text
language plpgsql stable
set search_path = ''
as $$ begin return concat(partner.name, ' (' || nullif(private.partner_display_name(partner), partner.name) || ')'); end $$;
comment on function private.partner_full_name(core.partners) is 'As a claim''s mandate names a partner: under the name it is registered by, and the one its customers know it by.';
grant execute on function private.partner_full_name(core.partners) to api_owner;

create function private.claim_facts(draft core.drafts) returns jsonb
language sql stable
set search_path = ''
as $$
  select jsonb_build_object(
    'partner_name', private.partner_full_name(p),
    'type', a.answers ->> 'type',
    'company_name', case when a.answers ->> 'type' <> 'particulier' then a.answers ->> 'company_name' end,
    'kvk', case when a.answers ->> 'type' <> 'particulier' then a.answers ->> 'kvk' end,
    'full_name', a.answers ->> 'full_name',
    'email', draft.email,
    'ean_code', a.answers ->> 'ean_code',
    'street', a.answers ->> 'street',
    'house_number', (a.answers ->> 'house_number')::int,
    'house_number_addition', a.answers ->> 'house_number_addition',
    'postal_code', a.answers ->> 'postal_code',
    'city', a.answers ->> 'city',
    'fee_pct', p.default_fee_pct,
    -- the account number above all: somebody else may have a session of this claim too
    'besides', encode(sha256(convert_to(jsonb_build_array(a.answers, draft.progress -> 'iban')::text, 'UTF8')), 'hex'))
  from core.partners p, lateral (select private.claim_answers(draft) as answers) as a
  where p.id = draft.partner_id
$$;
comment on function private.claim_facts(core.drafts) is
  'What private.connection_facts gives of a connection, of a draft that has none yet: what the mandate''s text is composed of; and besides, the hash of everything given, so that nothing of it changes between reading and signing.';
grant execute on function private.claim_facts(core.drafts) to api_owner;

create function private.what_may_be_signed(facts jsonb, connection uuid, partner core.partners) returns jsonb
language sql stable
set search_path = ''
as $$
  select jsonb_build_object('facts', facts, 'periods', private.mandate_periods(connection, partner.mandate_years),
                            'offer', private.offer(private.house(), 'service_pays_customer'))
$$;
comment on function private.what_may_be_signed(jsonb, uuid, core.partners) is
  'What a customer reads before signing: facts, the periods they may be signed for, and what they yield.';
grant execute on function private.what_may_be_signed(jsonb, uuid, core.partners) to api_owner;

create function private.withdrawal_means(connection uuid) returns jsonb
language sql stable
set search_path = ''
as $$
  with month as (select date_trunc('month', private.today())::date as began)
  select jsonb_build_object(
    'covered_until', case when exists (
      select from core.mandates m
       where m.partner_id = private.partner_id() and m.connection_id = connection
         and month.began - 1 between m.valid_from and m.covered_until) then month.began - 1 end,
    'month', month.began,
    'lost_kwh', coalesce((
      select sum(d.total_kwh) from core.delivered_months d
       where d.partner_id = private.partner_id() and d.connection_id = connection and d.period >= month.began and d.status = 'staged'), 0))
  from month
$$;
comment on function private.withdrawal_means(uuid) is
  'What a withdrawal today would leave and lose: {covered_until, month, lost_kwh}. The whole months before it stay covered; the kWh of this month are lost.';
grant execute on function private.withdrawal_means(uuid) to api_owner;

create function private.renewal_facts(connection uuid, partner core.partners) returns jsonb
language plpgsql stable
set search_path = ''
as $$ begin return private.connection_facts(connection) || jsonb_build_object('partner_name', private.partner_full_name(partner)); end $$;
comment on function private.renewal_facts(uuid, core.partners) is
  'The facts of a person''s connection, which is in the house, at the request of the partner that brought them.';
grant execute on function private.renewal_facts(uuid, core.partners) to api_owner;

create function private.claim_outcome(draft core.drafts) returns jsonb
language plpgsql
set search_path = ''
as $$
declare
  partner core.partners;
  outcome jsonb;
begin
  select * into partner from core.partners p where p.id = draft.partner_id;
  perform private.enter_account(draft);
  -- in one statement, so that it is all of one moment: what may be signed is other once somebody has signed
  select jsonb_build_object(
           'signed', private.shown_mandate(m),
           'renewal', (select private.shown_mandate(r) from core.mandates r
                        where r.partner_id = c.partner_id and r.connection_id = c.id and r.status = 'signed' and r.valid_from > private.today()
                        order by r.valid_until desc limit 1),
           'held_until', private.signed_until(c.id),
           'withdrawal', case when k.mandate_status = 'signed' then private.withdrawal_means(c.id) end,
           'checklist', g.checklist,
           'registration_status', c.registration_status,
           'ean_validation_status', c.ean_validation_status,
           'iban_last4', a.iban_last4,
           'payouts', private.statements_of(a.id),
           'chargers', (select coalesce(jsonb_agg(jsonb_build_object('name', private.charger_name(h), 'serial_number', h.serial_number,
                                                                     'mid_eligible', h.mid_eligible) order by h.created_at, h.id), '[]')
                          from core.chargers h where h.partner_id = c.partner_id and h.account_id = c.account_id and h.status = 'active'))
         || case when private.may_sign_again(c.id) then private.what_may_be_signed(private.renewal_facts(c.id, partner), c.id, partner) else '{}' end
    into outcome
    from core.connections c
    join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
    join core.connection_mandates k on k.partner_id = c.partner_id and k.connection_id = c.id
    join core.mandates m on m.partner_id = c.partner_id and m.id = k.mandate_id and m.document is not null
    join core.account_gates g on g.partner_id = c.partner_id and g.account_id = c.account_id
   where c.partner_id = private.house() and c.account_id = draft.account_id
   order by c.status, m.created_at desc limit 1;
  perform private.act_for_partner(draft.partner_id);
  return coalesce(outcome, '{}');
end $$;
comment on function private.claim_outcome(core.drafts) is
  'What an active draft led to: {signed, renewal, held_until, withdrawal, checklist, registration_status, ean_validation_status, iban_last4, payouts, chargers}, and where the customer may sign again facts, periods and offer.';
grant execute on function private.claim_outcome(core.drafts) to api_owner;

create function private.charger_choice(brand text) returns jsonb
language sql stable
set search_path = ''
as $$
  with models as (select m.* from core.charger_models m where m.mid_meter is not null or m.listed)
  select jsonb_build_object(
    'brands', (select jsonb_agg(b.brand order by lower(b.brand) collate "C") from (select distinct m.brand from models m) as b),
    'models', (select jsonb_agg(jsonb_build_object('id', m.id, 'model', m.model, 'mid_meter', m.mid_meter) order by lower(m.model) collate "C")
                 from models m where m.brand = charger_choice.brand))
$$;
comment on function private.charger_choice(text) is 'The brands of the catalogue, and the models of one.';
grant execute on function private.charger_choice(text) to api_owner;

create function private.is_proven(draft core.drafts, session jsonb) returns boolean
language plpgsql stable
set search_path = ''
as $$
begin
  return coalesce(case session ->> 'proved_by'
    when 'code' then true
    when 'link' then session ->> 'stage' = draft.status and (draft.status <> 'active' or (private.draft_login(draft)).empty) end, false);
end $$;
comment on function private.is_proven(core.drafts, jsonb) is
  'Whether a claim session {proved_by: code|link, stage} shows that the customer is here. A link came through the partner: what it began ends when the customer signs.';
grant execute on function private.is_proven(core.drafts, jsonb) to api_owner;

create function private.draft_for(draft core.drafts, proved_by text) returns core.drafts
language plpgsql immutable
set search_path = ''
as $$
begin
  if proved_by is distinct from 'link' and draft.progress -> 'iban_by_link' = 'true' then
    draft.progress := (draft.progress - 'iban' - 'iban_by_link')
      || jsonb_build_object('confirmed', coalesce(draft.progress -> 'confirmed', '[]') - 'payout');
  end if;
  return draft;
end $$;
comment on function private.draft_for(core.drafts, text) is
  'The draft as it counts for a session proved by code or link. An IBAN that came in behind a sign-in link may be the partner''s, which could have opened the link: who proved the address by a code is asked for it anew.';
grant execute on function private.draft_for(core.drafts, text) to api_owner;

create function private.claim_view(draft core.drafts, request jsonb) returns jsonb
language plpgsql
set search_path = ''
as $$
declare
  state  constant text := private.draft_state(draft);
  answers jsonb;
  view   jsonb;
begin
  draft := private.draft_for(draft, request #>> '{session,proved_by}');
  draft.status := private.claim_stage(draft);
  select jsonb_build_object('state', state, 'status', draft.status, 'locale', coalesce(draft.locale, p.locale),
                            'brand', private.partner_brand(p), 'partner_name', p.name) into view
    from core.partners p where p.id = draft.partner_id;
  if state not in ('open', 'active') then
    return coalesce(view, jsonb_build_object('state', state));
  end if;
  view := view || jsonb_build_object('email', draft.email, 'code_sent', coalesce(draft.code_expires_at > private.now(), false));
  if not private.is_proven(draft, request -> 'session') then
    return view;  -- the link alone shows nothing of what is known or typed
  elsif state = 'active' then
    view := view || private.claim_outcome(draft) || jsonb_build_object(
      'return_url', coalesce(draft.progress ->> 'return_url', (select p.return_url from core.partners p where p.id = draft.partner_id)));
    -- what the partner uploaded describes the first charger, not a second one
    answers := case when view -> 'chargers' = '[]' then coalesce(draft.charger, '{}') else '{}' end;
    return view || jsonb_build_object('answers', answers)
      || case when request ->> 'step' = 'charger'
              then private.charger_choice(coalesce(request ->> 'brand', answers ->> 'brand')) else '{}' end;
  elsif draft.status <> 'claimed' then
    return view;
  end if;
  answers := private.claim_answers(draft);
  return view || jsonb_build_object(
    'answers', answers,
    'confirmed', coalesce(draft.progress -> 'confirmed', '[]'),
    'open_step', private.claim_open_step(draft),
    'candidates', coalesce(draft.progress -> 'candidates', '[]'),
    'iban_last4', draft.progress #>> '{iban,last4}',
    'charger', (select jsonb_build_object('name', m.brand || ' ' || m.model, 'mid_meter', m.mid_meter)
                  from core.charger_models m where m.id = (answers ->> 'catalog_charger_id')::uuid))
    || case when private.claim_open_step(draft) is null
            then private.what_may_be_signed(private.claim_facts(draft), null, private.own_partner()) else '{}' end
    || case when request ->> 'step' = 'charger'
            then private.charger_choice(coalesce(request ->> 'brand', answers ->> 'brand')) else '{}' end;
end $$;
comment on function private.claim_view(core.drafts, jsonb) is
  'What the pages of a claim may show: state open|active|expired|conflict|gone and branding; the address where a code goes; and with a {session} that proves it what was uploaded and typed.';
grant execute on function private.claim_view(core.drafts, jsonb) to api_owner;

create function api.open_claim(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'anyone', 'sandbox');
  perform private.count_visit(request);
  return private.claim_view(private.enter_draft((request ->> 'draft_id')::uuid, false), request)::json;
end $$;
comment on function api.open_claim(jsonb, jsonb) is
  'What a claim link opens: {draft_id, address_hash, session, step, brand} to private.claim_view. session is what the claim session of the browser says of itself, or null.';
select private.expose('api.open_claim(jsonb, jsonb)');

-- A claim begins: the e-mail address is proven, by a mailed code or by a partner's sign-in link.

create function api.send_claim_code(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  draft core.drafts;
  rate  jsonb;
begin
  perform private.act_as(caller, 'anyone', 'sandbox');
  draft := private.enter_draft((request ->> 'draft_id')::uuid, true);
  if private.draft_state(draft) not in ('open', 'active') or private.claim_stage(draft) <> coalesce(request ->> 'stage', private.claim_stage(draft)) then
    perform private.refuse('claim_not_open');
  elsif private.judge_code(draft.code_hash, draft.code_expires_at, draft.code_attempts, request ->> 'code_hash') is null then
    return json_build_object('ok', true);  -- this code was sent already
  end if;
  rate := private.debit('draft:' || draft.id, 'claim_code');
  if not (rate ->> 'allowed')::boolean then
    perform private.refuse('too_many_codes', json_build_object('rate', rate));
  end if;
  update core.drafts d
     set code_hash = decode(request ->> 'code_hash', 'hex'), code_expires_at = private.code_expiry(), code_attempts = 0
   where d.partner_id = draft.partner_id and d.id = draft.id;
  perform private.enqueue_mail(request -> 'mail', draft.email, 'claim_code:' || draft.id || ':' || (request ->> 'code_hash'));
  return json_build_object('ok', true);
end $$;
comment on function api.send_claim_code(jsonb, jsonb) is
  'Mails a one-time code, good for ten minutes and five attempts: {draft_id, code_hash, mail, stage?}. With stage (invited, claimed) only while the claim is there.';
select private.expose('api.send_claim_code(jsonb, jsonb)');

create function private.claim_code_refusal(draft core.drafts, code_hash text) returns text
language plpgsql
set search_path = ''
as $$
declare
  refused constant text := private.judge_code(draft.code_hash, draft.code_expires_at, draft.code_attempts, code_hash);
begin
  if refused = 'wrong_code' then
    update core.drafts d set code_attempts = d.code_attempts + 1 where d.partner_id = draft.partner_id and d.id = draft.id;
  end if;
  return refused;
end $$;
comment on function private.claim_code_refusal(core.drafts, text) is 'Why a one-time code is refused, or null; a wrong one is counted, so the refusal has to be an answer.';
grant execute on function private.claim_code_refusal(core.drafts, text) to api_owner;

create function private.is_second_click(draft core.drafts, repeat_hash text) returns boolean
language plpgsql
set search_path = ''
as $$
begin
  update core.drafts d set used_code_hash = null
   where d.partner_id = draft.partner_id and d.id = draft.id
     and d.used_code_hash = decode(repeat_hash, 'hex') and d.code_used_at > private.now() - interval '10 seconds';
  return found;
end $$;
comment on function private.is_second_click(core.drafts, text) is
  'Whether the browser that repeat_hash names sends the code that it just used once more, because the answer to the first click never reached it: true once, within ten seconds.';
grant execute on function private.is_second_click(core.drafts, text) to api_owner;

create function private.expect_second_click(draft core.drafts, repeat_hash text) returns void
language sql
set search_path = ''
as $$
  update core.drafts d set used_code_hash = decode(repeat_hash, 'hex'), code_used_at = private.now()
   where d.partner_id = draft.partner_id and d.id = draft.id
$$;
grant execute on function private.expect_second_click(core.drafts, text) to api_owner;

create function private.ask_for_login(draft core.drafts, login uuid, request jsonb) returns json
language plpgsql
set search_path = ''
as $$
begin
  if request ? 'login' then
    -- it was made, and is not there: somebody signed up with the address at that moment, or the login ended
    perform private.refuse('service_unavailable');
  end if;
  return private.ask('login', json_build_object('email', draft.email, 'unconfirmed_user', login, 'partner_id', draft.partner_id));
end $$;
comment on function private.ask_for_login(core.drafts, uuid, jsonb) is
  'Asks for the login of a draft''s customer, with the unconfirmed one that it replaces or null. Once: after that the customer tries again, with the same code.';
grant execute on function private.ask_for_login(core.drafts, uuid, jsonb) to api_owner;

create function private.claimant(email text, partner uuid, out user_id uuid, out confirmed boolean, out taken boolean)
language sql stable security definer
set search_path = ''
as $$
  select u.id, u.email_confirmed_at is not null,
         exists (select from core.attributions a where a.user_id = u.id and a.partner_id <> partner)
         or exists (select from core.accounts a where a.user_id = u.id)
    from auth.users u where u.email = claimant.email and not u.is_sso_user and u.deleted_at is null
$$;
comment on function private.claimant(text, uuid) is
  'The login of an address, all null when there is none; taken when another partner has it or it has an account of its own. Definer: logins belong to Supabase Auth, and the question crosses tenants.';
grant execute on function private.claimant(text, uuid) to api_owner;

create function private.end_in_conflict(draft core.drafts, reason text) returns void
language plpgsql
set search_path = ''
as $$
begin
  update core.drafts d
     set status = 'conflict', conflict_reason = reason, progress = '{}', code_hash = null, code_expires_at = null
   where d.partner_id = draft.partner_id and d.id = draft.id;
  perform private.audit('draft.conflict', draft.id, jsonb_build_object('reason', reason)), private.emit_draft('draft.conflict', draft.id, 'conflict');
end $$;
grant execute on function private.end_in_conflict(core.drafts, text) to api_owner;

create function private.prove_draft(draft core.drafts, by_link boolean, request jsonb) returns json
language plpgsql
set search_path = ''
as $$
declare
  login record;
begin
  if draft.status = 'active' then
    update core.drafts d set code_hash = null, code_expires_at = null where d.partner_id = draft.partner_id and d.id = draft.id;
    return null;
  end if;
  select * into login from private.claimant(draft.email, draft.partner_id);
  if login.taken then
    perform private.end_in_conflict(draft, 'existing_user');
    return private.refusal('claim_conflict');
  elsif login.confirmed is not true and not by_link then
    return private.ask_for_login(draft, login.user_id, request);
  elsif draft.status = 'invited' and draft.ean is not null and private.ean_taken(draft.ean) then
    perform private.end_in_conflict(draft, 'ean_in_use');
    return private.refusal('claim_conflict');
  end if;
  update core.drafts d
     set status = 'claimed', user_id = case when login.confirmed then login.user_id end,
         progress = d.progress - 'by_link' || case when by_link and login.confirmed is not true then '{"by_link": true}' else '{}' end::jsonb,
         claimed_at = coalesce(d.claimed_at, private.now()), code_hash = null, code_expires_at = null
   where d.partner_id = draft.partner_id and d.id = draft.id;
  if draft.status = 'invited' then
    perform private.audit('draft.claimed', draft.id), private.emit_draft('draft.claimed', draft.id, 'claimed');
  end if;
  return null;
end $$;
comment on function private.prove_draft(core.drafts, boolean, jsonb) is
  'The address is proven: the draft is claimed, and null; or it is in conflict, which stays, so the refusal is an answer. Asks for login, and stores nothing, where Supabase Auth must make it first; a link makes and replaces none, for the partner may have opened it.';
grant execute on function private.prove_draft(core.drafts, boolean, jsonb) to api_owner;

create function api.prove_claim(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  draft   core.drafts;
  view    jsonb;
  refused text;
  answer  json;
begin
  perform private.act_as(caller, 'anyone', 'sandbox');
  perform private.count_visit(request);
  draft := private.enter_draft((request ->> 'draft_id')::uuid, true);
  view := private.claim_view(draft, request);
  if private.draft_state(draft) not in ('open', 'active') then
    refused := 'claim_not_open';
  elsif private.is_second_click(draft, request ->> 'repeat_hash') then
    return view::json;
  else
    refused := private.claim_code_refusal(draft, request ->> 'code_hash');
  end if;
  if refused is null then
    answer := private.prove_draft(draft, false, request);
    refused := answer ->> 'refused';
    if answer is null then
      perform private.expect_second_click(draft, request ->> 'repeat_hash');
    end if;
  end if;
  if refused is not null then
    return private.refusal(refused, json_build_object('claim', view));
  end if;
  return coalesce(answer, view::json);
end $$;
comment on function api.prove_claim(jsonb, jsonb) is
  'Proves the address by its code: {draft_id, address_hash, code_hash, repeat_hash} to private.claim_view, which a refusal has too, as claim. '
  'May ask for login first; the code is used up once it is made, but for a second click in the browser that repeat_hash names.';
select private.expose('api.prove_claim(jsonb, jsonb)');

create function private.sign_in_link(token_hash text) returns core.draft_links
language sql stable security definer
set search_path = ''
as $$ select l from core.draft_links l where l.token_hash = decode(sign_in_link.token_hash, 'hex') $$;
comment on function private.sign_in_link(text) is 'Finds a link before its tenant is known; definer for that reason alone. The token is the credential.';
grant execute on function private.sign_in_link(text) to api_owner;

create function private.sign_in_link_state(link core.draft_links, draft core.drafts) returns text
language sql stable
set search_path = ''
as $$
  select case when link.id is null then 'unknown' when link.used_at is not null then 'used'
              -- the account is the customer's alone from its first connection on
              when draft.status = 'active' and not (private.draft_login(draft)).empty then 'used'
              when link.expires_at <= private.now() then 'expired' else 'open' end
$$;
grant execute on function private.sign_in_link_state(core.draft_links, core.drafts) to api_owner;

create function api.open_sign_in_link(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  link  core.draft_links;
  draft core.drafts;
  view  jsonb;
begin
  perform private.act_as(caller, 'anyone');
  perform private.count_visit(request);
  link := private.sign_in_link(request ->> 'token_hash');
  draft := private.enter_draft(link.draft_id, false);
  view := private.claim_view(draft, '{}') - 'email';
  -- the state of the draft tells the reader more than the state of the link
  if private.draft_state(draft) in ('open', 'active', 'gone') and private.sign_in_link_state(link, draft) <> 'open' then
    view := view || jsonb_build_object('state', private.sign_in_link_state(link, draft), 'draft_id', draft.id);
  end if;
  return view::json;
end $$;
comment on function api.open_sign_in_link(jsonb, jsonb) is
  'What a sign-in link opens, without using it up: {token_hash, address_hash} to {state: open|active|expired|conflict|used|unknown, locale, brand}, with draft_id where the link no longer opens it.';
select private.expose('api.open_sign_in_link(jsonb, jsonb)');

create function api.use_sign_in_link(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  link   core.draft_links;
  draft  core.drafts;
  answer json;
begin
  perform private.act_as(caller, 'anyone');
  link := private.sign_in_link(request ->> 'token_hash');
  draft := private.enter_draft(link.draft_id, true);
  select * into link from core.draft_links l where l.partner_id = link.partner_id and l.id = link.id for update;
  if link.used_by = decode(request ->> 'browser_hash', 'hex') and link.used_at > private.now() - interval '10 seconds' then
    -- a second click: the answer to the first never reached the browser
    link.used_at := null;
    request := request - 'browser_hash';
  end if;
  if private.sign_in_link_state(link, draft) <> 'open' or private.draft_state(draft) not in ('open', 'active') then
    perform private.refuse('link_not_open');
  end if;
  answer := private.prove_draft(draft, true, request);
  update core.draft_links l set used_at = private.now(), used_by = decode(request ->> 'browser_hash', 'hex') where l.partner_id = link.partner_id and l.id = link.id;
  update core.drafts d set progress = d.progress || jsonb_build_object('return_url', link.return_url)
   where d.partner_id = draft.partner_id and d.id = draft.id and link.return_url is not null and d.status <> 'conflict';
  return coalesce(answer, json_build_object('draft_id', draft.id, 'stage', case draft.status when 'active' then 'active' else 'claimed' end));
end $$;
comment on function api.use_sign_in_link(jsonb, jsonb) is
  'Uses a sign-in link up, which begins a claim session until the customer signs: {token_hash, browser_hash} to {draft_id, stage}. Makes no login. The browser may click twice.';
select private.expose('api.use_sign_in_link(jsonb, jsonb)');

-- The steps of a claim, each of which keeps what the customer confirmed.

create function private.save_step(draft core.drafts, request jsonb) returns json
language plpgsql
set search_path = ''
as $$
declare
  step     constant text  := request ->> 'step';
  typed    constant jsonb := request -> 'answers';
  before   constant jsonb := private.claim_answers(draft);
  kept     jsonb := draft.progress;
  answers  jsonb := coalesce(kept -> 'answers', '{}') || typed;
  points   jsonb;
  moved    boolean;
  checked  record;
begin
  case step
    when 'address' then
      moved := (before - 'street' - 'city') || (typed - 'street' - 'city') <> before - 'street' - 'city';
      points := private.candidates_at(typed, request -> 'ean_register');
      if points = '[]' and not moved then
        points := draft.ean_candidates;  -- the EAN register gives no answer now, but gave one when the draft was made
      end if;
      kept := kept || jsonb_build_object('candidates', points);
      answers := answers || jsonb_strip_nulls(jsonb_build_object(
        'street', coalesce(typed ->> 'street', points #>> '{0,street}'), 'city', coalesce(typed ->> 'city', points #>> '{0,city}')));
      if moved and before ->> 'postal_code' is not null then
        -- another address has another connection
        answers := answers || '{"ean_code": null}';
        kept := (kept - 'ean_check') || jsonb_build_object('confirmed', coalesce(kept -> 'confirmed', '[]') - 'ean');
      end if;
    when 'ean' then
      if private.ean_taken(typed ->> 'ean_code') then
        perform private.refuse('ean_in_use');
      end if;
      select * into checked from private.check_ean(typed ->> 'ean_code', before ->> 'postal_code', (before ->> 'house_number')::int,
        before ->> 'house_number_addition', request -> 'ean_register');
      if checked.outcome = 'mismatch' then
        perform private.refuse('ean_address_mismatch');
      end if;
      kept := kept || jsonb_build_object('ean_check', to_jsonb(checked) - 'street' - 'city');
    when 'payout' then
      kept := case when jsonb_typeof(request -> 'iban') = 'object' then kept || jsonb_build_object('iban', request -> 'iban', 'iban_by_link', request ->> 'proved_by' = 'link')
                   when request -> 'later' = 'true' then kept - 'iban' - 'iban_by_link' else kept end;
    when 'charger' then
      if private.charger_taken(typed ->> 'brand', typed ->> 'serial_number') then
        perform private.refuse('charger_claimed');
      end if;
    else null;
  end case;
  update core.drafts d
     set progress = kept || jsonb_build_object(
           'answers', answers, 'confirmed', (coalesce(kept -> 'confirmed', '[]') - step) || to_jsonb(step))
   where d.partner_id = draft.partner_id and d.id = draft.id
  returning * into draft;
  return json_build_object('open_step', private.claim_open_step(private.draft_for(draft, request ->> 'proved_by')));
end $$;
comment on function private.save_step(core.drafts, jsonb) is
  'Keeps what a step asked: {step, answers, ean_register, iban, later, proved_by} to {open_step}, the one that comes next.';
grant execute on function private.save_step(core.drafts, jsonb) to api_owner;

create function api.save_claim(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  draft core.drafts;
begin
  perform private.act_as(caller, 'anyone', 'sandbox');
  draft := private.enter_draft((request ->> 'draft_id')::uuid, true);
  if draft.status is distinct from 'claimed' then
    perform private.refuse('claim_not_open');
  end if;
  return private.save_step(draft, request);
end $$;
comment on function api.save_claim(jsonb, jsonb) is
  'Keeps a step of a claim whose address is proven: {draft_id, step, answers, ean_register, iban, later, proved_by} to {open_step}.';
select private.expose('api.save_claim(jsonb, jsonb)');

-- Signing: the draft becomes an account in the service's own tenant.

create function private.attribute_claimant(draft core.drafts) returns boolean
language plpgsql
set search_path = ''
as $$
begin
  return private.claim_customer(draft.user_id, draft.partner_id, case draft.source when 'invite' then 'partner_invite' else 'partner_upload' end,
                                draft.external_ref) is not null;
end $$;
comment on function private.attribute_claimant(core.drafts) is 'Attributes the person of a draft to its partner; false when another partner has them.';
grant execute on function private.attribute_claimant(core.drafts) to api_owner;

create function private.link_for_signature(connection uuid, request jsonb) returns core.mandate_links
language sql
set search_path = ''
as $$
  insert into core.mandate_links (partner_id, connection_id, token_hash, locale, expires_at)
  values (private.partner_id(), connection, sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), request #>> '{mail,locale}', private.now())
  returning mandate_links
$$;
comment on function private.link_for_signature(uuid, jsonb) is
  'A mandate refers to a mandate link; this one of a claim exists for that alone, and nobody can open it.';
grant execute on function private.link_for_signature(uuid, jsonb) to api_owner;

create function private.open_account(draft core.drafts, facts jsonb, request jsonb) returns uuid
language plpgsql
set search_path = ''
as $$
declare
  answers    constant jsonb := private.claim_answers(draft);
  checked    constant jsonb := draft.progress -> 'ean_check';
  ean        constant text := facts ->> 'ean_code';
  account    uuid;
  connection uuid;
  link       core.mandate_links;
begin
  perform private.enter_account(draft);
  insert into core.accounts
    (partner_id, user_id, access_channel, type, display_name, payout_handler, company, iban_ciphertext, iban_key_id, iban_last4)
  values
    (private.house(), draft.user_id, 'user', facts ->> 'type', coalesce(facts ->> 'company_name', facts ->> 'full_name'), 'service_pays_customer',
     case when facts ->> 'type' <> 'particulier' then
       jsonb_build_object('name', facts ->> 'company_name', 'kvk', facts ->> 'kvk', 'vat', answers ->> 'vat') end,
     draft.progress #>> '{iban,ciphertext}', draft.progress #>> '{iban,key_id}', draft.progress #>> '{iban,last4}')
  returning id into account;
  insert into core.signatories (partner_id, account_id, full_name, email, phone)
  values (private.house(), account, facts ->> 'full_name', draft.email, answers ->> 'phone');
  insert into core.connections (partner_id, account_id, location_id, ean_code, ean_exclusive, ean_validation_status, ean_checked_at)
  values (private.house(), account, private.location_for(facts), ean, not private.is_test_ean(ean),
          case checked ->> 'outcome' when 'matched' then 'matched' else 'unverified' end, private.now())
  returning id into connection;
  perform private.record_ean_check(connection, ean, facts ->> 'postal_code', (facts ->> 'house_number')::int,
    facts ->> 'house_number_addition', checked ->> 'source', checked ->> 'outcome', checked ->> 'reason');
  perform private.add_own_charger(account, connection, answers);
  link := private.link_for_signature(connection, request);
  perform private.audit('account.created', account, jsonb_build_object('draft_id', draft.id, 'for', draft.partner_id));
  perform private.record_signature(link, facts, request, draft.partner_id);
  perform private.act_for_partner(draft.partner_id);
  return account;
end $$;
comment on function private.open_account(core.drafts, jsonb, jsonb) is
  'What a signed claim becomes, in the service''s own tenant: account, signatory, connection, charger where one was chosen, mandate. The EAN is claimed; a serial number that is taken is refused.';
grant execute on function private.open_account(core.drafts, jsonb, jsonb) to api_owner;

create function private.signable_connection(account uuid) returns uuid
language plpgsql
set search_path = ''
as $$
declare
  connection uuid;
begin
  -- locked as every other change of a mandate does
  perform from core.connections c where c.partner_id = private.partner_id() and c.account_id = account and c.status = 'active' for update;
  select c.id into connection
    from core.connections c
    join core.connection_mandates m on m.partner_id = c.partner_id and m.connection_id = c.id
   where c.partner_id = private.partner_id() and c.account_id = account and private.may_sign_again(c.id)
   order by m.signed_at desc, c.id limit 1;
  return connection;
end $$;
comment on function private.signable_connection(uuid) is 'The connection of an account for which may be signed again, locked; null where there is none.';
grant execute on function private.signable_connection(uuid) to api_owner;

create function private.sign_again(draft core.drafts, request jsonb) returns json
language plpgsql
set search_path = ''
as $$
declare
  partner    constant core.partners := private.own_partner();
  connection uuid;
  facts      jsonb;
  refused    text;
  link       core.mandate_links;
begin
  perform private.enter_account(draft);
  connection := private.signable_connection(draft.account_id);
  if connection is null then
    perform private.refuse('claim_not_open');
  end if;
  facts := private.signed_facts(private.renewal_facts(connection, partner), private.mandate_periods(connection, partner.mandate_years), request);
  perform private.act_for_partner(draft.partner_id);
  refused := private.use_claim_code(draft, request ->> 'code_hash');
  if refused is not null then
    return private.refusal(refused);
  end if;
  perform private.enter_account(draft);
  link := private.link_for_signature(connection, request);
  perform private.record_signature(link, facts, request);
  perform private.act_for_partner(draft.partner_id);
  perform private.enqueue_mail(request -> 'mail', draft.email, 'claim_signed:' || draft.id || ':' || link.id);
  return json_build_object('ok', true);
end $$;
comment on function private.sign_again(core.drafts, jsonb) is
  'The customer of a signed claim signs for the years after, or anew once their mandate has ended; by a code that was mailed for signing.';
grant execute on function private.sign_again(core.drafts, jsonb) to api_owner;

create function api.sign_claim(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  draft    core.drafts;
  facts    jsonb;
  refused  text;
  account  uuid;
  login    record;
begin
  perform private.act_as(caller, 'anyone', 'sandbox');
  draft := private.draft_for(private.enter_draft((request ->> 'draft_id')::uuid, true), request ->> 'proved_by');
  if draft.status = 'active' then
    return private.sign_again(draft, request);
  elsif private.claim_stage(draft) is distinct from 'claimed' or private.claim_open_step(draft) is not null then
    perform private.refuse('claim_not_open');
  end if;
  facts := private.signed_facts(private.claim_facts(draft), private.mandate_periods(null, (private.own_partner()).mandate_years), request);
  refused := private.claim_code_refusal(draft, request ->> 'code_hash');
  if refused is not null then
    return private.refusal(refused);
  end if;
  select * into login from private.claimant(draft.email, draft.partner_id);
  if login.taken then
    perform private.end_in_conflict(draft, 'existing_user');
    return private.refusal('claim_conflict');
  elsif draft.user_id is null and login.confirmed is not true then
    -- begun by a sign-in link; the code proves now what the link did not
    return private.ask_for_login(draft, login.user_id, request);
  elsif not private.claim_ean(facts ->> 'ean_code') then
    perform private.end_in_conflict(draft, 'ean_in_use');
    return private.refusal('claim_conflict');
  end if;
  if draft.user_id is null then
    -- stored before the account is opened: from then on this transaction acts for the person, and sees their own drafts only
    update core.drafts d set user_id = login.user_id where d.partner_id = draft.partner_id and d.id = draft.id returning * into draft;
  end if;

  -- first, so that the partner is told what becomes of its customer
  if not private.attribute_claimant(draft) then
    raise exception 'the login of draft % was attributed elsewhere meanwhile', draft.id using errcode = 'serialization_failure';
  end if;
  account := private.open_account(draft, facts, request);
  update core.drafts d
     set status = 'active', account_id = account, activated_at = private.now(), code_hash = null, code_expires_at = null,
         progress = jsonb_strip_nulls(jsonb_build_object('return_url', d.progress ->> 'return_url'))
   where d.partner_id = draft.partner_id and d.id = draft.id;
  if not found then
    raise exception 'draft % is out of sight of the person who signed it', draft.id;
  end if;
  perform private.enqueue_mail(request -> 'mail', draft.email, 'claim_signed:' || draft.id);
  perform private.audit('draft.activated', draft.id), private.emit_draft('draft.active', draft.id, 'active');
  return json_build_object('ok', true);
end $$;
comment on function api.sign_claim(jsonb, jsonb) is
  'Signs, and makes the draft an account: {draft_id, facts, signed_name, code_hash, document, document_sha256, address, user_agent, mail, proved_by}. '
  'facts, with the years that were chosen, must still be what was shown. Once the draft is active it signs again, where that may be. May ask for login first. A conflict, and a wrong code that was counted, stay: these refusals are answers.';
select private.expose('api.sign_claim(jsonb, jsonb)');

-- After signing: what was put off is added, the mandate is ended.

create function private.enter_account(draft core.drafts) returns void
language plpgsql
set search_path = ''
as $$ begin perform private.act_for_partner(private.house()), set_config('app.user_id', draft.user_id::text, true); end $$;
comment on function private.enter_account(core.drafts) is 'What a draft became is the person''s own, in the house: from here the transaction acts for that person.';
grant execute on function private.enter_account(core.drafts) to api_owner;

create function private.mandated_connection(account uuid) returns uuid
language plpgsql
set search_path = ''
as $$
declare
  connection uuid;
begin
  -- locked as every other change of a mandate does
  perform from core.connections c where c.partner_id = private.partner_id() and c.account_id = account and c.status = 'active' for update;
  select c.id into connection
    from core.connections c
    join core.connection_mandates m on m.partner_id = c.partner_id and m.connection_id = c.id and m.mandate_status = 'signed'
   where c.partner_id = private.partner_id() and c.account_id = account and c.status = 'active'
   order by m.signed_at desc, c.id limit 1;
  return connection;
end $$;
comment on function private.mandated_connection(uuid) is 'The active connection of an account whose mandate holds, locked; null where none does.';
grant execute on function private.mandated_connection(uuid) to api_owner;

create function private.use_claim_code(draft core.drafts, code_hash text) returns text
language plpgsql
set search_path = ''
as $$
declare
  refused constant text := private.claim_code_refusal(draft, code_hash);
begin
  if refused is null then
    update core.drafts d set code_hash = null, code_expires_at = null where d.partner_id = draft.partner_id and d.id = draft.id;
  end if;
  return refused;
end $$;
comment on function private.use_claim_code(core.drafts, text) is 'As private.claim_code_refusal; a code that is right is used up.';
grant execute on function private.use_claim_code(core.drafts, text) to api_owner;

create function private.complete_payout(draft core.drafts, request jsonb) returns json
language plpgsql
set search_path = ''
as $$
declare
  before  text;
  refused text;
begin
  select a.iban_last4 into before from core.accounts a where a.partner_id = private.partner_id() and a.id = draft.account_id for no key update;
  if not found or jsonb_typeof(request -> 'iban') is distinct from 'object' then
    perform private.refuse('claim_not_open');
  elsif before is not null and request -> 'missing' = 'true' then
    return null;
  elsif before is not null then
    perform private.act_for_partner(draft.partner_id);
    if before = request #>> '{iban,last4}'
       and (request ->> 'code_hash' is null or private.is_second_click(draft, request ->> 'repeat_hash')) then
      return null;  -- a second click: this number is there
    end if;
    refused := private.use_claim_code(draft, request ->> 'code_hash');
    if refused is not null then
      return private.refusal(refused);
    end if;
    perform private.expect_second_click(draft, request ->> 'repeat_hash');
    perform private.enter_account(draft);
  end if;
  perform private.store_iban(draft.account_id, request -> 'iban');
  perform private.act_for_partner(draft.partner_id);
  perform private.enqueue_mail(request -> 'mail', draft.email, 'claim_iban:' || draft.id || ':' || gen_random_uuid());
  return null;
end $$;
comment on function private.complete_payout(core.drafts, jsonb) is
  'Stores where the compensation goes, also when the mandate has ended: what was registered before is still paid. The customer is mailed. Where another IBAN is there, a code that was mailed for this is needed, whose refusal is an answer, and which the browser that repeat_hash names may send twice; with missing that one stays.';
grant execute on function private.complete_payout(core.drafts, jsonb) to api_owner;

create function private.complete_charger(draft core.drafts, answers jsonb) returns void
language plpgsql
set search_path = ''
as $$
declare
  connection uuid;
  model      constant uuid := (answers ->> 'catalog_charger_id')::uuid;
  serial     constant text := answers ->> 'serial_number';
begin
  perform private.lock_chargers(null, draft.user_id);
  connection := private.mandated_connection(draft.account_id);
  if connection is null or model is null then
    perform private.refuse('claim_not_open');
  end if;
  if exists (select from core.chargers h
              where h.partner_id = private.partner_id() and h.account_id = draft.account_id and h.status = 'active'
                and h.catalog_charger_id = model and h.serial_number is not distinct from serial) then
    return;
  end if;
  if private.require_charger_room(null, draft.user_id) > 0 and serial is null then
    perform private.refuse('serial_number_required');
  end if;
  perform private.add_own_charger(draft.account_id, connection, answers);
  perform private.advance_registration(draft.account_id, true);
end $$;
comment on function private.complete_charger(core.drafts, jsonb) is
  'Adds a charger to the account of a signed claim, by the rules of POST /v1/chargers; the same one again changes nothing. A mandate that ended takes none.';
grant execute on function private.complete_charger(core.drafts, jsonb) to api_owner;

create function api.complete_claim(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  draft   core.drafts;
  refused json;
begin
  perform private.act_as(caller, 'anyone', 'sandbox');
  draft := private.enter_draft((request ->> 'draft_id')::uuid, true);
  if draft.status is distinct from 'active' then
    perform private.refuse('claim_not_open');
  end if;
  perform private.enter_account(draft);
  case request ->> 'step'
    when 'payout' then refused := private.complete_payout(draft, request);
    when 'charger' then perform private.complete_charger(draft, request -> 'answers');
    else perform private.refuse('claim_not_open');
  end case;
  return coalesce(refused, json_build_object('ok', true));
end $$;
comment on function api.complete_claim(jsonb, jsonb) is
  'Adds to a signed claim what was put off, or changes it: {draft_id, step: payout|charger, answers, iban, missing, code_hash, repeat_hash, mail}. '
  'The browser has a session of this claim.';
select private.expose('api.complete_claim(jsonb, jsonb)');

create function api.revoke_claim(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  draft      core.drafts;
  connection uuid;
  refused    text;
begin
  perform private.act_as(caller, 'anyone', 'sandbox');
  draft := private.enter_draft((request ->> 'draft_id')::uuid, true);
  if draft.status is distinct from 'active' then
    perform private.refuse('claim_not_open');
  end if;
  refused := private.use_claim_code(draft, request ->> 'code_hash');
  if refused is not null then
    return private.refusal(refused);
  end if;
  perform private.enter_account(draft);
  connection := private.mandated_connection(draft.account_id);
  if connection is null then
    perform private.refuse('claim_not_open');
  end if;
  perform private.end_mandate(connection, 'revoked', 'customer');
  return json_build_object('ok', true);
end $$;
comment on function api.revoke_claim(jsonb, jsonb) is
  'The customer ends the mandate of their claim by a code that was mailed for this: {draft_id, code_hash}. Open months are judged again; locked ones and the registration stay.';
select private.expose('api.revoke_claim(jsonb, jsonb)');

-- The documents of what a claim led to, for the browser that proved the address.

create function private.statements_of(account uuid) returns json
language sql stable
set search_path = ''
as $$
  select coalesce(json_agg(json_build_object('line_id', l.id, 'paid_on', (l.paid_at at time zone 'Europe/Amsterdam')::date, 'amount_eur', l.amount)
                           order by l.arrival desc), '[]')
    from (select l.* from core.documents d
            join core.payout_lines l on l.partner_id = d.partner_id and l.id = d.line_id
           where d.partner_id = private.partner_id() and d.account_id = account
           order by l.arrival desc limit 100) l
$$;
comment on function private.statements_of(uuid) is 'The payouts of an account that have a statement, newest first: [{line_id, paid_on, amount_eur}].';
grant execute on function private.statements_of(uuid) to api_owner;

create function private.enter_signed_claim(caller jsonb, request jsonb) returns core.drafts
language plpgsql
set search_path = ''
as $$
declare
  draft core.drafts;
begin
  perform private.act_as(caller, 'anyone');
  draft := private.enter_draft((request ->> 'draft_id')::uuid, false);
  if private.draft_state(draft) is distinct from 'active' or not private.is_proven(draft, request -> 'session') then
    perform private.refuse('claim_not_open');
  end if;
  perform private.enter_account(draft);
  return draft;
end $$;
comment on function private.enter_signed_claim(jsonb, jsonb) is
  'Makes the browser that proved the address of a claim the person it led to. Its page counts the visit.';
grant execute on function private.enter_signed_claim(jsonb, jsonb) to api_owner;

create function api.read_claim_mandate(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  draft constant core.drafts := private.enter_signed_claim(caller, request);
begin
  return private.mandate_document((
    select m.id from core.mandates m
      join core.connections c on c.partner_id = m.partner_id and c.id = m.connection_id
     where m.partner_id = private.partner_id() and m.id = (request ->> 'mandate_id')::uuid and c.account_id = draft.account_id));
end $$;
comment on function api.read_claim_mandate(jsonb, jsonb) is
  'The document of a mandate that a claim led to: {draft_id, session, mandate_id} to private.mandate_document.';
select private.expose('api.read_claim_mandate(jsonb, jsonb)');

create function private.statement_document(line_id uuid, account uuid default null) returns json
language plpgsql stable
set search_path = ''
as $$
declare
  line core.payout_lines;
begin
  select l.* into line from core.payout_lines l
   where l.partner_id = private.partner_id() and l.id = statement_document.line_id and l.status = 'paid'
     and l.account_id = coalesce(account, l.account_id);
  if line.id is null then
    perform private.refuse('statement_not_found');
  end if;
  return private.kept_document((
    select d from core.documents d where d.partner_id = line.partner_id and d.line_id = line.id),
    'statement-' || (line.paid_at at time zone 'Europe/Amsterdam')::date);
end $$;
comment on function private.statement_document(uuid, uuid) is
  'private.kept_document of a payout, of one account or of any that the transaction reaches. Refused with statement_not_found where it is none of theirs.';
grant execute on function private.statement_document(uuid, uuid) to api_owner;

create function api.read_claim_statement(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  draft constant core.drafts := private.enter_signed_claim(caller, request);
begin
  return private.statement_document((request ->> 'line_id')::uuid, draft.account_id);
end $$;
comment on function api.read_claim_statement(jsonb, jsonb) is
  'The statement of a payout to whom a claim led to: {draft_id, session, line_id} to private.statement_document.';
select private.expose('api.read_claim_statement(jsonb, jsonb)');

-- GET /partner/customers.

create function private.customer_ref(person uuid, partner uuid, key text) returns text
language sql immutable
return 'cus_' || left(encode(private.claim_mac('customer:' || partner::text || ':' || person::text, key), 'hex'), 32);
comment on function private.customer_ref(uuid, uuid, text) is
  'How a partner knows a customer: always the same, different for every partner, and without meaning to anybody else.';
grant execute on function private.customer_ref(uuid, uuid, text) to api_owner;

create function private.customer_borders(partner uuid, size int) returns jsonb
language sql stable security definer
set search_path = ''
as $$
  -- the last customer is no border: nobody comes after it
  select coalesce(jsonb_agg(jsonb_build_object('at', k.created_at, 'id', k.user_id) order by k.place), '[]')
    from (select a.created_at, a.user_id, row_number() over newest as place, lead(a.user_id) over newest as next
            from core.attributions a where a.partner_id = partner window newest as (order by a.created_at desc, a.user_id desc)) k
   where k.place % size = 0 and k.next is not null
$$;
comment on function private.customer_borders(uuid, int) is
  'The last customer of each stretch of so many, but of the last stretch: [{at, id}], newest first. Definer, as private.customer_page.';
grant execute on function private.customer_borders(uuid, int) to api_owner;

create function private.customer_page(partner core.partners, disclosing boolean, query jsonb) returns json
language plpgsql stable security definer
-- Table by table, each joined once to all of the stretch: a look into six of them for each customer took 34 us. Planned for the
-- stretch and the house at hand, which decide whether to look rows up or to read a table through.
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  house constant uuid := private.house();
  key   constant text := query ->> 'key';
  after core.attributions;
  until core.attributions;
begin
  after.created_at := coalesce((query #>> '{after,at}')::timestamptz, 'infinity');
  after.user_id    := coalesce((query #>> '{after,id}')::uuid, private.house());
  until.created_at := coalesce((query #>> '{until,at}')::timestamptz, '-infinity');
  until.user_id    := coalesce((query #>> '{until,id}')::uuid, private.house());
  return (
    with shown as materialized (
      select a.* from core.attributions a
       where a.partner_id = partner.id
         and (a.created_at, a.user_id) < (after.created_at, after.user_id) and (a.created_at, a.user_id) >= (until.created_at, until.user_id)
    ), charger as (
      -- the newest, and how many there are
      select distinct on (h.user_id) h.user_id, h.brand, m.model, h.connection_type, h.mid_eligible,
             count(*) over (partition by h.user_id order by h.created_at desc, h.id rows between unbounded preceding and unbounded following) as charger_count
        from shown k
        join core.chargers h on h.partner_id = house and h.user_id = k.user_id and h.status = 'active'
        left join core.charger_models m on m.id = h.catalog_charger_id
       order by h.user_id, h.created_at desc, h.id
    ), customers as (
      -- the oldest account, and of several connections the one that is furthest
      select distinct on (k.created_at, k.user_id) k.*, b.type, s.full_name, s.email, s.phone,
             l.postal_code, l.street, l.house_number, l.house_number_addition, l.city, c.registration_status, c.mandate_status,
             h.brand, h.model, h.connection_type, h.mid_eligible, coalesce(h.charger_count, 0) as charger_count
        from shown k
        left join core.accounts b on b.partner_id = house and b.user_id = k.user_id
        left join core.signatories s on s.partner_id = house and s.account_id = b.id
        left join core.connection_mandates c on c.partner_id = house and c.account_id = b.id and c.status = 'active'
        left join core.locations l on l.partner_id = house and l.id = c.location_id
        left join charger h on h.user_id = k.user_id
       order by k.created_at desc, k.user_id desc, b.created_at, b.id, c.mandate_status = 'signed' desc, c.created_at, c.connection_id
    )
    select coalesce(json_agg(
             case when disclosing and k.source in ('partner_upload', 'partner_invite') then row_to_json(disclosed) else row_to_json(pseudonymous) end
             order by k.created_at desc, k.user_id desc), '[]')
      from customers k
      cross join lateral (
        select private.customer_ref(k.user_id, k.partner_id, key) as customer_ref,
               -- what the partner typed itself may name the person, so an application does not get to see it
               case when disclosing then k.external_ref end as external_ref,
               coalesce(k.mandate_status = 'signed', false) as is_active, coalesce(k.type, 'particulier') as type) r
      cross join lateral (
        select r.customer_ref, r.external_ref, k.full_name as naam, k.email, k.phone, k.postal_code, k.street,
               concat_ws(' ', k.house_number, k.house_number_addition) as house_number, k.city, k.registration_status, k.attached_month,
               r.is_active, partner.default_fee_pct as effective_fee_pct, partner.partner_share_pct, k.source, r.type,
               k.brand as charger_brand, k.model as charger_model, k.connection_type as charger_connection_type,
               k.mid_eligible as charger_mid_eligible, k.charger_count, k.charger_count > 0 as has_charger, null as brand_asked_at) disclosed
      cross join lateral (
        select r.customer_ref, r.external_ref, k.city, k.attached_month,
               r.is_active, partner.default_fee_pct as effective_fee_pct, partner.partner_share_pct, k.source, r.type,
               k.brand as charger_brand, k.model as charger_model, k.connection_type as charger_connection_type,
               k.mid_eligible as charger_mid_eligible, k.charger_count, k.charger_count > 0 as has_charger, null as brand_asked_at) pseudonymous);
end $$;
comment on function private.customer_page(core.partners, boolean, jsonb) is
  'A stretch of the people a partner brought, {after, until, key} to [customer, …]: those after one border, up to and including the other. Definer, because people own what they have in the house: this is the one place that crosses over, and it discloses who they are only where the partner itself uploaded or invited them.';
grant execute on function private.customer_page(core.partners, boolean, jsonb) to api_owner;

create function private.own_partner() returns core.partners
language plpgsql stable
set search_path = ''
as $$
declare
  partner core.partners;
begin
  select * into partner from core.partners p where p.id = private.partner_id();
  return partner;
end $$;
comment on function private.own_partner() is 'The tenant of this transaction, as row-level security lets it see itself.';
grant execute on function private.own_partner() to api_owner;

create function api.list_customers(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
declare
  partner core.partners;
  borders jsonb := '[]';
begin
  perform private.act_as(caller, 'partner');
  partner := private.own_partner();
  if coalesce(jsonb_typeof(query -> 'after'), 'null') = 'null' then
    borders := private.customer_borders(partner.id, (query ->> 'size')::int);
    query := query || jsonb_build_object('until', borders -> 0);
  end if;
  return json_build_object('borders', borders, 'customers', private.customer_page(partner, private.manager_id() is null, query));
end $$;
comment on function api.list_customers(jsonb, jsonb) is
  'GET /partner/customers, in stretches: {size, key} to the first one and the borders at which the others begin, {after, until, key} to any other; {borders, customers}, newest first. For a person (manager_id) everybody is pseudonymised.';
select private.expose('api.list_customers(jsonb, jsonb)');

-- GET /v1/events, GET /partner/events: a log, read from a cursor on.

create function private.cursor_at(owner uuid, sequence bigint) returns text
language sql immutable
-- base64url of 16 bytes: where it is, and half a hash by which a cursor of another log, or one that was made up, is known
return translate(rtrim(encode(int8send(sequence) || substr(sha256(uuid_send(owner) || int8send(sequence)), 1, 8), 'base64'), '='), '+/', '-_');
comment on function private.cursor_at(uuid, bigint) is 'The cursor of a log behind the event of this number.';
grant execute on function private.cursor_at(uuid, bigint) to api_owner;

create function private.cursor_sequence(owner uuid, after text) returns bigint
language plpgsql immutable
set search_path = ''
as $$
declare
  bytes bytea;
  place bigint;
begin
  if after !~ '^[A-Za-z0-9_-]{22}$' then
    return null;
  end if;
  bytes := decode(translate(after, '-_', '+/') || '==', 'base64');
  place := ('x' || encode(substr(bytes, 1, 8), 'hex'))::bit(64)::bigint;
  return case when private.cursor_at(owner, place) = after then place end;
end $$;
comment on function private.cursor_sequence(uuid, text) is 'The number of the event that a cursor of this log is behind; null where it is none of this log.';
grant execute on function private.cursor_sequence(uuid, text) to api_owner;

create function private.oldest_event(head core.event_heads) returns bigint
language plpgsql stable
set search_path = ''
as $$
begin
  return coalesce((
    select e.sequence - 1 from core.events e
     where e.partner_id = head.partner_id and e.owner_id = head.owner_id and e.sequence > head.swept and e.created_at > private.events_kept_since()
     order by e.sequence limit 1), head.sequence);
end $$;
comment on function private.oldest_event(core.event_heads) is 'Behind which number the events of a log begin that are still kept.';
grant execute on function private.oldest_event(core.event_heads) to api_owner;

create function private.start_of(head core.event_heads, after text) returns bigint
language plpgsql stable
set search_path = ''
as $$
declare
  oldest constant bigint := private.oldest_event(head);
  place  bigint;
begin
  if after is null then
    return oldest;
  end if;
  place := private.cursor_sequence(head.owner_id, after);
  if (place between 0 and head.sequence) is not true then
    perform private.refuse('invalid_cursor');
  elsif place < oldest then
    perform private.refuse('cursor_expired', json_build_object('oldest_cursor', private.cursor_at(head.owner_id, oldest)));
  end if;
  return place;
end $$;
comment on function private.start_of(core.event_heads, text) is
  'Behind which number a reader of a log goes on, who has this cursor, or null. Refused with invalid_cursor, and with cursor_expired where an event after it is not kept any more.';
grant execute on function private.start_of(core.event_heads, text) to api_owner;

create function private.event_data(event core.events, disclosing boolean, key text) returns jsonb
language plpgsql stable
set search_path = ''
as $$
declare
  reference text;
begin
  if event.account_id is not null and event.user_id is null then
    select a.cpo_external_ref into reference from core.accounts a where a.partner_id = event.partner_id and a.id = event.account_id;
    return jsonb_build_object('account_id', event.account_id, 'cpo_external_ref', reference) || event.data;
  elsif event.type like 'draft.%' then
    select d.external_ref into reference from core.drafts d where d.partner_id = event.partner_id and d.id = event.subject_id and disclosing;
    return jsonb_build_object('draft_id', event.subject_id, 'external_ref', reference) || event.data;
  elsif event.user_id is not null then
    select t.external_ref into reference from core.attributions t where t.partner_id = event.partner_id and t.user_id = event.user_id and disclosing;
    return jsonb_build_object('customer_ref', private.customer_ref(event.user_id, event.partner_id, key), 'external_ref', reference) || event.data;
  end if;
  return event.data;
end $$;
comment on function private.event_data(core.events, boolean, text) is
  'What an event says to whoever reads its log: its data and their own reference of what it is about. A person (not disclosing) reads no reference of a customer, which may name them.';
grant execute on function private.event_data(core.events, boolean, text) to api_owner;

create function private.event_answer(event core.events, disclosing boolean, key text) returns json
language plpgsql stable
set search_path = ''
as $$
begin
  return json_build_object(
    'id', event.id, 'type', event.type, 'created_at', private.iso(event.created_at), 'sequence', event.sequence,
    'account_id', case when event.user_id is null then event.account_id end, 'data', private.event_data(event, disclosing, key));
end $$;
grant execute on function private.event_answer(core.events, boolean, text) to api_owner;

create function private.is_shown(event core.events, disclosing boolean) returns boolean
language sql immutable
-- GET /partner/customers shows a person none of their registrations
return disclosing or event.type not like 'registration.%';
comment on function private.is_shown(core.events, boolean) is 'Whether a reader of a log is shown an event of it.';
grant execute on function private.is_shown(core.events, boolean) to api_owner;

create function api.list_events(caller jsonb, query jsonb) returns json
language plpgsql security definer
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  size    constant int := (query ->> 'limit')::int;
  types   constant text[] := (select array_agg(t) from jsonb_array_elements_text(nullif(query -> 'type', 'null')) t);
  account constant uuid := (query ->> 'account_id')::uuid;
  disclosing boolean;
  head    core.event_heads;
  start   bigint;
  page    core.events[];
begin
  perform private.act_as(caller, 'cpo', 'partner');
  disclosing := private.manager_id() is null;
  -- a client's log is its own, and a partner's is that of no client
  head := private.sequence_events(private.partner_id(), coalesce(private.owner_id(), private.partner_id()));
  start := private.start_of(head, query ->> 'after');
  page := array(
    select e from core.events e
     where e.partner_id = private.partner_id() and e.owner_id = head.owner_id and e.sequence > start and e.sequence <= head.sequence
       and (types is null or e.type = any (types)) and (account is null or e.account_id = account) and private.is_shown(e, disclosing)
     order by e.sequence limit size + 1);
  return json_build_object(
    'events', (select coalesce(json_agg(private.event_answer(p, disclosing, query ->> 'key') order by p.sequence), '[]') from unnest(page[:size]) p),
    'next_cursor', private.cursor_at(head.owner_id, case when cardinality(page) > size then page[size].sequence else head.sequence end),
    'has_more', cardinality(page) > size);
end $$;
comment on function api.list_events(jsonb, jsonb) is
  'GET /v1/events and GET /partner/events: {after, limit, type, account_id, key} to {events, next_cursor, has_more}, oldest first.';
select private.expose('api.list_events(jsonb, jsonb)');

create function api.get_event(caller jsonb, query jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  disclosing boolean;
  owner      uuid;
  event      core.events;
begin
  perform private.act_as(caller, 'cpo', 'partner');
  disclosing := private.manager_id() is null;
  owner := coalesce(private.owner_id(), private.partner_id());
  perform private.sequence_events(private.partner_id(), owner);
  select * into event from core.events e
   where e.partner_id = private.partner_id() and e.owner_id = owner and e.id = (query ->> 'event_id')::uuid
     and e.created_at > private.events_kept_since() and private.is_shown(e, disclosing);
  if not found then
    perform private.refuse('event_not_found');
  end if;
  return private.event_answer(event, disclosing, query ->> 'key');
end $$;
comment on function api.get_event(jsonb, jsonb) is 'GET /v1/events/{event_id} and GET /partner/events/{event_id}: {event_id, key} to the event.';
select private.expose('api.get_event(jsonb, jsonb)');

-- GET /partner/me.

create function private.partner_answer() returns json
language plpgsql stable
set search_path = ''
as $$
begin
  return (select json_build_object(
    'id', p.id,
    'name', p.name,
    'slug', p.slug,
    'is_active', p.is_active,
    'referral_code', p.referral_code,
    'referral_url', null,
    'return_url', p.return_url,
    'default_fee_pct', p.default_fee_pct,
    'partner_share_pct', p.partner_share_pct,
    'company', (select json_object_agg(f.name, p.company ->> f.name)
                  from unnest(array['name', 'kvk', 'vat', 'street', 'house_number', 'postal_code', 'city']) as f (name)),
    'payout', json_build_object('iban_masked', '**** ' || p.iban_last4, 'account_holder', p.iban_holder),
    'branding', (select json_object_agg(f.name, p.branding ->> f.name)
                   from unnest(array['display_name', 'logo_url', 'primary_color', 'reply_to']) as f (name)),
    'cap', json_build_object('rolling_days', 30, 'rolling_cap', private.draft_cap(), 'remaining', greatest(private.draft_cap() - private.drafts_made(), 0)),
    'api_key', (select json_build_object('prefix', k.prefix, 'last4', k.last4, 'created_at', private.iso(k.created_at),
                                         -- a key that asks is in use; its row says so when the request is charged
                                         'last_used_at', private.iso(case when private.manager_id() is null then private.now() else k.last_used_at end))
                  from core.partner_keys k where k.partner_id = p.id and k.revoked_at is null))
    from core.partners p where p.id = private.partner_id());
end $$;
grant execute on function private.partner_answer() to api_owner;

create function api.get_partner(caller jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'partner');
  return json_build_object('partner', private.partner_answer());
end $$;
comment on function api.get_partner(jsonb) is 'GET /partner/me: {partner}. The IBAN by its last four, the API key by its prefix and last four.';
select private.expose('api.get_partner(jsonb)');

-- GET /partner/payouts, GET /partner/dashboard.

create function private.payout_id(partner uuid, quarter date) returns uuid
language sql immutable
return md5('payout ' || partner::text || ' ' || quarter)::uuid;
comment on function private.payout_id(uuid, date) is 'The id of what a partner earned in a quarter of delivery: the same for good.';

create function private.partner_payouts(partner uuid) returns json
language plpgsql stable security definer
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  tenants constant uuid[] := array[partner, private.house()];
begin
  return (
    with paid as materialized (
      select p.* from unnest(tenants) t (id) cross join lateral private.payments(t.id, 'partner', partner_payouts.partner) p
    ), part as materialized (
      select b.quarter, a.account_id, a.row_id, a.ere, a.partner_share, k.accepted_kwh, coalesce(p.state, 'paid') as state, p.paid_at
        from core.allocations a
        join core.booking_rows r on r.partner_id = a.partner_id and r.id = a.row_id
        join core.bookings b on b.partner_id = r.partner_id and b.id = r.booking_id
        join core.credits k on k.partner_id = r.partner_id and k.row_id = r.id and k.reversed_at is null
        left join paid p on p.allocation_id = a.id
       where a.partner_id = any (tenants) and a.share_partner_id = partner_payouts.partner and a.reversal_id is null
    ), quarter as (
      select p.quarter, count(distinct p.account_id) as customers, sum(p.ere) as ere, sum(p.partner_share) as share,
             (select sum(r.accepted_kwh) from (select distinct q.row_id, q.accepted_kwh from part q where q.quarter = p.quarter) r) as kwh,
             case when bool_and(p.state = 'paid') then 'paid'
                  when (select l.status from core.payout_lines l
                         where l.partner_id = partner_payouts.partner and l.payee_id = partner_payouts.partner and l.status <> 'cancelled'
                         order by l.arrival desc limit 1) = 'failed' then 'failed'
                  when bool_and(p.state in ('paid', 'approved')) then 'approved'
                  else 'pending' end as status,
             max(p.paid_at) as paid_at
        from part p group by p.quarter
    )
    select coalesce(json_agg(json_build_object(
             'payout_id', private.payout_id(partner_payouts.partner, q.quarter), 'period', private.quarter_name(q.quarter), 'status', q.status,
             'customers', q.customers, 'kwh', round(q.kwh, 2), 'ere_units', round(q.ere, 2), 'partner_share_eur', q.share, 'vat_eur', coalesce(i.vat, 0),
             'paid_at', case when q.status = 'paid' then private.iso(q.paid_at) end, 'invoice_number', i.number) order by q.quarter desc), '[]')
      from quarter q
      left join lateral (
        select sum(i.vat) as vat, (array_agg(private.invoice_number(i) order by i.year desc, i.number desc))[1] as number
          from core.invoices i where i.partner_id = partner_payouts.partner and i.quarter = q.quarter) i on true);
end $$;
comment on function private.partner_payouts(uuid) is
  'What a partner earned by the quarter of delivery, from the first sale on: of its CPO accounts, and of the people it brought from the month of attachment. Definer, because what people own is in the house; it discloses sums.';
grant execute on function private.partner_payouts(uuid) to api_owner;

create function api.list_payouts(caller jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'partner');
  return json_build_object('payouts', private.partner_payouts(private.partner_id()));
end $$;
comment on function api.list_payouts(jsonb) is 'GET /partner/payouts: {payouts}, newest quarter first. Empty until something is sold.';
select private.expose('api.list_payouts(jsonb)');

create function private.partner_figures(partner core.partners) returns json
language plpgsql stable security definer
-- planned for the partner at hand: a plan for any partner joins a hundred thousand customers with nested loops, and ran out of time
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  house   constant uuid := private.house();
  figures json;
begin
  with customers as materialized (
    select a.user_id, a.attached_month from core.attributions a where a.partner_id = partner.id
  ), connected as materialized (
    select k.user_id, k.attached_month, c.connection_id, c.mandate_id, c.status = 'active' and c.mandate_status = 'signed' as signed
      from customers k
      join core.accounts b on b.partner_id = house and b.user_id = k.user_id
      join core.connection_mandates c on c.partner_id = b.partner_id and c.account_id = b.id
  ), months as materialized (
    select d.period, sum(d.total_kwh) as kwh, coalesce(sum(m.ere), 0) as ere, count(distinct k.user_id) filter (where d.total_kwh > 0) as active,
           -- the partner's part of its ERE, sold or not: a booked month by what its row says, any other by the mandate
           sum(coalesce(c.accepted_kwh * m.ere_per_kwh, m.ere)
               * case when r.id is null then coalesce(g.fee_pct * g.partner_share_pct, partner.default_fee_pct * partner.partner_share_pct)
                      when r.share_partner_id = partner.id then r.fee_pct * r.partner_share_pct end) / 10000 as shared_ere
      from connected k
      -- what a customer charged before the partner brought them does not concern the partner
      join core.delivered_months d on d.partner_id = house and d.connection_id = k.connection_id and d.period >= k.attached_month
      left join core.counted_months m on m.partner_id = d.partner_id and m.connection_id = d.connection_id and m.period = d.period
      left join core.mandates g on g.partner_id = house and g.id = k.mandate_id
      left join core.booking_rows r on r.partner_id = house and r.connection_id = d.connection_id and r.period = d.period and r.live
      left join core.credits c on c.partner_id = house and c.row_id = r.id and c.reversed_at is null
     where d.status = 'staged' or d.locked
     group by d.period
  ), unsold as (
    select coalesce((select sum(m.shared_ere) from months m), 0) - coalesce(sum(a.ere * a.fee_pct * a.partner_share_pct) / 10000, 0) as ere
      from core.allocations a where a.partner_id = house and a.share_partner_id = partner.id and a.reversal_id is null
  )
  select json_build_object(
    'customers_total', (select count(*) from customers),
    'customers_active', (select count(distinct k.user_id) from connected k where k.signed),
    'drafts', (select json_object_agg(s.status, coalesce(n.drafts, 0) order by s.place)
                 from unnest(array['invited', 'claimed', 'expired', 'conflict', 'active']) with ordinality as s (status, place)
                 left join (select private.draft_status(d) as status, count(*) as drafts from core.drafts d where d.partner_id = partner.id group by 1) n
                   on n.status = s.status),
    'chargers_total', (select count(*) from customers k join core.chargers h on h.partner_id = house and h.user_id = k.user_id and h.status = 'active'),
    'kwh_total', (select round(coalesce(sum(kwh), 0), 2) from months),
    'kwh_this_month', (select round(coalesce(sum(kwh), 0), 2) from months where period = date_trunc('month', private.today())),
    'ere_estimated', (select round(coalesce(sum(ere), 0), 2) from months),
    'partner_share_estimated_eur', (select trunc(greatest(u.ere, 0) * coalesce(private.last_price(house), 0), 2) from unsold u),
    'months', (select coalesce(json_agg(json_build_object('month', to_char(m.period, 'YYYY-MM'), 'kwh', round(m.kwh, 2), 'ere_credits', round(m.ere, 2),
                                                          'active_customers', m.active) order by m.period desc), '[]') from months m))
    into figures;
  return figures;
end $$;
comment on function private.partner_figures(core.partners) is
  'Sums over a partner''s customers and drafts, from the month each was attached. Definer, because the customers'' rows are in the house; the sums disclose nothing about a customer that the list does not.';
grant execute on function private.partner_figures(core.partners) to api_owner;

create function api.get_dashboard(caller jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'partner');
  return private.partner_figures(private.own_partner());
end $$;
comment on function api.get_dashboard(jsonb) is
  'GET /partner/dashboard. ERE of months inside a mandate, at the published factor of their year; the share in euro is that of ERE that are not sold yet at the last average price, 0 until there is one.';
select private.expose('api.get_dashboard(jsonb)');

-- What a managing person changes: company, branding, payout IBAN, keys.

create function api.set_partner_company(caller jsonb, company jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'partner'), private.act_as_manager();
  update core.partners p set company = p.company || set_partner_company.company where p.id = private.partner_id();
  perform private.audit('partner.company_changed', private.partner_id(), jsonb_build_object('manager_id', private.manager_id()));
  return json_build_object('ok', true, 'company', private.partner_answer() -> 'company');
end $$;
comment on function api.set_partner_company(jsonb, jsonb) is 'POST /partner/company: what was sent replaces, what was not stays.';
select private.expose('api.set_partner_company(jsonb, jsonb)');

create function api.set_partner_branding(caller jsonb, branding jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'partner'), private.act_as_manager();
  update core.partners p set branding = p.branding || set_partner_branding.branding where p.id = private.partner_id();
  perform private.audit('partner.branding_changed', private.partner_id(), jsonb_build_object('manager_id', private.manager_id()));
  return json_build_object('ok', true, 'branding', private.partner_answer() -> 'branding');
end $$;
comment on function api.set_partner_branding(jsonb, jsonb) is 'POST /partner/branding: what was sent replaces, what was not stays. With a primary_color come light and dark, where it can be read.';
select private.expose('api.set_partner_branding(jsonb, jsonb)');

create function api.set_partner_iban(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'partner'), private.act_as_manager();
  update core.partners p
     set iban_ciphertext = input #>> '{iban,ciphertext}', iban_key_id = input #>> '{iban,key_id}', iban_last4 = input #>> '{iban,last4}',
         iban_holder = input ->> 'account_holder'
   where p.id = private.partner_id();
  perform private.enqueue_mails(input -> 'mail', (
    select jsonb_agg(jsonb_build_object('recipient', m.email, 'cause', 'partner_iban:' || gen_random_uuid(), 'fields', jsonb_build_object(
             'partner_name', (private.own_partner()).name, 'iban_masked', '**** ' || (input #>> '{iban,last4}'), 'account_holder', input ->> 'account_holder')))
      from private.manager_emails(private.partner_id()) m (email)));
  perform private.audit('partner.iban_changed', private.partner_id(), jsonb_build_object('manager_id', private.manager_id()));
  return json_build_object('ok', true, 'payout', private.partner_answer() -> 'payout');
end $$;
comment on function api.set_partner_iban(jsonb, jsonb) is
  'POST /partner/payout-iban: {iban: {ciphertext, key_id, last4}, account_holder, mail}. Everybody who manages the partner is told by mail.';
select private.expose('api.set_partner_iban(jsonb, jsonb)');

create function api.mint_partner_key(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  minted json;
begin
  perform private.act_as(caller, 'partner'), private.act_as_manager();
  minted := private.store_partner_key(input, (input ->> 'rotate')::boolean);
  if minted is null then
    perform private.refuse('api_key_exists');
  end if;
  return minted;
end $$;
comment on function api.mint_partner_key(jsonb, jsonb) is 'POST /partner/api-keys: {rotate, key_hash, prefix, last4}. The key itself never comes here.';
select private.expose('api.mint_partner_key(jsonb, jsonb)');

create function api.revoke_partner_key(caller jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  revoked boolean;
begin
  perform private.act_as(caller, 'partner'), private.act_as_manager();
  update core.partner_keys k set revoked_at = private.now() where k.partner_id = private.partner_id() and k.revoked_at is null;
  revoked := found;
  if revoked then
    perform private.audit('partner.key_revoked', private.partner_id(), jsonb_build_object('manager_id', private.manager_id()));
  end if;
  return json_build_object('ok', true, 'revoked', revoked);
end $$;
comment on function api.revoke_partner_key(jsonb) is 'POST /partner/api-keys/revoke: the active key, if there is one, stops working at once.';
select private.expose('api.revoke_partner_key(jsonb)');

-- GET and POST /chargers, and /profile.

create function api.get_profile(caller jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'user');
  return (select json_build_object('email', p.email, 'name', p.name) from private.user_profile(private.user_id()) p);
end $$;
comment on function api.get_profile(jsonb) is 'GET /profile: {email, name}.';
select private.expose('api.get_profile(jsonb)');

create function api.list_own_chargers(caller jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'user');
  return (
    select json_build_object('chargers', coalesce(json_agg(json_strip_nulls(json_build_object(
             'id', h.id,
             'nickname', private.charger_name(h),
             'connection_type', h.connection_type,
             'status', case when private.is_online(h) then 'online' else 'offline' end,
             'mid_certified', h.mid_eligible is true,
             'is_charging', coalesce(s.status = 'charging', false),
             'current_session', case when s.id is not null then json_build_object(
               'id', s.id, 'started_at', private.iso(s.started_at), 'kwh_so_far', round(s.wh / 1000.0, 2)) end,
             'latest_meter_wh', h.latest_meter_wh,
             'meter_updated_at', private.iso(h.meter_updated_at))) order by h.created_at desc, h.id desc), '[]'))
      from core.chargers h
      left join lateral (
        select * from core.charging_sessions s
         where s.partner_id = h.partner_id and s.charger_id = h.id and s.ended_at is null
         order by s.started_at desc, s.id limit 1) s on true
     where h.user_id = private.user_id() and h.status = 'active');
end $$;
comment on function api.list_own_chargers(jsonb) is 'GET /chargers: {chargers}, newest first, each with the session that is going on.';
select private.expose('api.list_own_chargers(jsonb)');

create function api.register_own_charger(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  account    uuid;
  connection uuid;
  charger    core.chargers;
begin
  perform private.act_as(caller, 'user');
  perform private.require_charger_room(null, private.user_id());
  select a.id, c.id into account, connection
    from core.accounts a
    join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id and c.status = 'active'
   where a.user_id = private.user_id()
   order by c.created_at, c.id limit 1;
  if not private.claim_ocpp_identity(input ->> 'ocpp_identity') then
    perform private.refuse('ocpp_identity_taken', json_build_object('ocpp_identity', input ->> 'ocpp_identity'));
  end if;
  insert into core.chargers
    (partner_id, account_id, connection_id, user_id, nickname, connection_type, ocpp_identity, ocpp_password_hash)
  values (private.partner_id(), account, connection, private.user_id(), input ->> 'nickname', 'ocpp',
          input ->> 'ocpp_identity', decode(input ->> 'password_hash', 'hex'))
  returning * into charger;
  perform private.audit('charger.registered', charger.id), private.emit_charger('charger.registered', charger);
  return json_build_object('id', charger.id);
end $$;
comment on function api.register_own_charger(jsonb, jsonb) is
  'POST /chargers: {nickname, ocpp_identity, password_hash} to {id}. Bound to the person''s first active connection, where there is one.';
select private.expose('api.register_own_charger(jsonb, jsonb)');

-- GET /sessions.

create function private.charging_session_row(session core.charging_sessions) returns json
language sql stable
set search_path = ''
as $$
  select json_build_object(
    'id', session.id,
    'charger_id', session.charger_id,
    'charger_nickname', private.charger_name(h),
    'started_at', private.iso(session.started_at),
    'ended_at', private.iso(session.ended_at),
    'kwh', round(session.wh / 1000.0, 2),
    'status', session.status,
    'ere_credits', case when h.mid_eligible and session.counted and session.flags = '{}' then round(session.wh / 1000.0 * m.ere_per_kwh, 2) end,
    'flags', session.flags)
    from core.chargers h
    left join core.counted_months m
      on m.partner_id = session.partner_id and m.connection_id = session.connection_id and m.period = session.month
   where h.partner_id = session.partner_id and h.id = session.charger_id
$$;
grant execute on function private.charging_session_row(core.charging_sessions) to api_owner;

create function api.list_own_charging_sessions(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
declare
  page_limit  constant int         := (query ->> 'limit')::int;
  page_offset constant bigint      := (query ->> 'offset')::bigint;
  charger     constant uuid        := (query ->> 'charger_id')::uuid;
  since       constant timestamptz := coalesce(private.as_border(query ->> 'from'), '-infinity');
  until       constant timestamptz := coalesce(private.as_border(query ->> 'to'), 'infinity');
begin
  perform private.act_as(caller, 'user');
  return (
    with page as materialized (
      select s.* from core.charging_sessions s
       where s.owner_id = private.user_id() and (charger is null or s.charger_id = charger)
         and s.started_at >= since and s.started_at < until
       order by s.started_at desc, s.id desc
       limit page_limit + 1 offset page_offset
    ), shown as (
      select * from page order by started_at desc, id desc limit page_limit
    )
    select json_build_object(
      'sessions', coalesce(json_agg(private.charging_session_row(s) order by s.started_at desc, s.id desc), '[]'),
      'limit', page_limit,
      'offset', page_offset,
      'count', count(*),
      'has_more', (select count(*) from page) > page_limit)
    from shown s);
end $$;
comment on function api.list_own_charging_sessions(jsonb, jsonb) is
  'GET /sessions: {limit, offset, charger_id, from, to} to a page of the person''s sessions, newest first. from inclusive, to exclusive.';
select private.expose('api.list_own_charging_sessions(jsonb, jsonb)');

-- GET /energy and GET /ere-position: months are read, never sessions.

create function private.own_counted_months(since date, until date) returns table (month date, kwh numeric, ere numeric)
language plpgsql stable
set search_path = ''
as $$
begin
  return query
  select m.period, sum(m.kwh), sum(m.ere)
    from core.accounts a
    join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id
    join core.earned_months m on m.partner_id = c.partner_id and m.connection_id = c.id
   where a.user_id = private.user_id() and m.period >= since and m.period < until
   group by m.period;
end $$;
comment on function private.own_counted_months(date, date) is 'What counts toward ERE for the person of this transaction, over all their connections: of a credited month the kWh that the register accepted. since inclusive, until exclusive.';
grant execute on function private.own_counted_months(date, date) to api_owner;

create function private.own_months(since date, until date) returns table (month date, kwh numeric, sessions bigint, ere_credits numeric)
language plpgsql stable
set search_path = ''
as $$
begin
  return query
  with energy as (
    select m.month, sum(m.wh) / 1000.0 as kwh, sum(m.sessions) as sessions
      from core.charger_months m
     where m.owner_id = private.user_id() and m.sessions > 0 and m.month >= since and m.month < until
     group by m.month
  )
  select coalesce(e.month, c.month), coalesce(e.kwh, 0), coalesce(e.sessions, 0), coalesce(c.ere, 0)
    from energy e full join private.own_counted_months(since, until) c on c.month = e.month;
end $$;
comment on function private.own_months(date, date) is
  'What the person of this transaction charged, by month, and the ERE of it, exact. since inclusive, until exclusive.';
grant execute on function private.own_months(date, date) to api_owner;

create function api.get_energy(caller jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'user');
  return (
    select json_build_object(
      'total_kwh', round(coalesce(sum(m.kwh), 0), 2),
      'total_ere_credits', round(coalesce(sum(m.ere_credits), 0), 2),
      'total_sessions', coalesce(sum(m.sessions), 0),
      'months', coalesce(json_agg(json_build_object(
        'month', to_char(m.month, 'YYYY-MM'), 'kwh', round(m.kwh, 2), 'ere_credits', round(m.ere_credits, 2), 'sessions', m.sessions)
        order by m.month desc), '[]'))
    from private.own_months('-infinity', 'infinity') m);
end $$;
comment on function api.get_energy(jsonb) is 'GET /energy: {total_kwh, total_ere_credits, total_sessions, months}, newest month first.';
select private.expose('api.get_energy(jsonb)');

create function private.forecast_kwh(this_month date) returns numeric
language sql stable
set search_path = ''
as $$
  with counted as materialized (
    select * from private.own_counted_months((this_month - interval '12 months')::date, (this_month + interval '1 month')::date)
  ), past as (
    -- complete months since the first that counted, at most the last twelve; one without charging is a zero among them
    select coalesce(sum(c.kwh) / nullif(
             (extract(year from age(this_month, min(c.month))) * 12 + extract(month from age(this_month, min(c.month))))::int, 0), 0) as average
      from counted c where c.month < this_month and c.month >= this_month - interval '12 months'
  )
  select coalesce(sum(c.kwh) filter (where c.month >= date_trunc('year', this_month)), 0)
         + greatest(t.average - coalesce(sum(c.kwh) filter (where c.month = this_month), 0), 0)
         + t.average * (12 - extract(month from this_month))
    from past t left join counted c on true
   group by t.average
$$;
comment on function private.forecast_kwh(date) is
  'The kWh that will count this year: what does already, and the trailing average for the rest of this month and each month after it.';
grant execute on function private.forecast_kwh(date) to api_owner;

create function private.own_quarters(year int)
returns table (quarter int, kwh numeric, ere numeric, registered_ere numeric, sold_ere numeric, gross numeric, net numeric, sold_on date, is_paid boolean)
language plpgsql stable security definer
set search_path = ''
as $$
begin
  return query
  with own as materialized (
    select a.partner_id, a.id from core.accounts a where a.user_id = private.user_id()
  ), paid as materialized (
    select o.partner_id, p.allocation_id, p.state from own o cross join lateral private.payments(o.partner_id, 'customer', o.id) p
  )
  select extract(quarter from m.period)::int, sum(m.kwh), sum(m.ere), sum(m.registered_ere), sum(m.sold_ere), sum(m.gross), sum(m.net), min(m.sold_on),
         bool_and(not exists (select from core.allocations a join paid p on p.partner_id = a.partner_id and p.allocation_id = a.id
                               where a.partner_id = m.partner_id and a.row_id = m.row_id and p.state <> 'paid'))
    from own o
    join core.connections c on c.partner_id = o.partner_id and c.account_id = o.id
    join core.earned_months m on m.partner_id = c.partner_id and m.connection_id = c.id
   where m.period >= make_date(own_quarters.year, 1, 1) and m.period < make_date(own_quarters.year + 1, 1, 1)
   group by 1;
end $$;
comment on function private.own_quarters(int) is
  'A year of the person of this transaction, by the quarters in which something counts: ERE exact, credited and sold; euro gross, and what the person gets of it; when the first of it was sold, and whether all that was sold is paid. Definer, because whether a payment is on its way stands in the service''s own batch.';
grant execute on function private.own_quarters(int) to api_owner;

create function private.own_ere_position(year int) returns json
language plpgsql stable
set search_path = ''
as $$
declare
  this_month constant date := date_trunc('month', private.today());
  this_year  constant int  := extract(year from this_month);
  -- quarters of the year that have begun
  begun      constant int  := case when year = this_year then extract(quarter from this_month) else 4 end;
  factor     core.ere_factors;
begin
  select * into factor from core.ere_factors f where f.delivery_year = year;
  return (
    with own as materialized (
      select * from private.own_quarters(year)
    )
    select json_build_object(
      'year', year,
      'kwh', round(coalesce(sum(o.kwh), 0), 2),
      'renewable_share', factor.renewable_share,
      'reserved_ere', round(coalesce(sum(o.registered_ere - o.sold_ere), 0), 2),
      'sold_ere', round(coalesce(sum(o.sold_ere), 0), 2),
      'forecast_ere', case when year = this_year then round(private.forecast_kwh(this_month) * coalesce(factor.ere_per_kwh, 0), 2) end,
      'quarters', json_agg(json_build_object(
        'quarter', year || '-Q' || q,
        'kwh', round(coalesce(o.kwh, 0), 2),
        'ere_credits', round(coalesce(o.ere, 0), 2),
        'sold_ere', round(coalesce(o.sold_ere, 0), 2),
        'price_per_ere', round(o.gross / nullif(o.sold_ere, 0), 2),
        'revenue_eur', case when o.sold_ere > 0 then o.net end,
        'status', case when o.sold_ere > 0 and o.is_paid then 'paid'
                       when o.sold_ere > 0 then 'sold'
                       when year < this_year or q < begun then 'closed' else 'open' end,
        'sold_at', private.iso(o.sold_on::timestamp at time zone 'Europe/Amsterdam')) order by q))
    from generate_series(1, begun) q left join own o on o.quarter = q);
end $$;
comment on function private.own_ere_position(int) is
  'The object of GET /ere-position, of a year that has begun; of a past one there is no forecast. A quarter is sold once any of it is, and paid once all that was sold is.';
grant execute on function private.own_ere_position(int) to api_owner;

create function api.get_ere_position(caller jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'user');
  return private.own_ere_position(extract(year from private.today())::int);
end $$;
comment on function api.get_ere_position(jsonb) is 'GET /ere-position: the current year and its quarters so far.';
select private.expose('api.get_ere_position(jsonb)');

-- Personal tokens: made by the person, shown once.

create table core.personal_tokens (
  id           uuid        not null default gen_random_uuid(),
  user_id      uuid        not null,
  name         text        not null,
  token_hash   bytea       not null,
  last4        text        not null,
  scopes       text[]      not null,
  expires_at   timestamptz,
  last_used_at timestamptz,
  revoked_at   timestamptz,
  created_at   timestamptz not null default private.now(),
  constraint personal_tokens_pkey primary key (id),
  constraint personal_tokens_token_hash_key unique (token_hash),
  constraint personal_tokens_user_id_fkey foreign key (user_id) references auth.users (id) on delete cascade,
  constraint personal_tokens_name_length check (length(name) between 1 and 100),
  constraint personal_tokens_scopes_known check (scopes <@ private.scopes_of('personal_token'))
);
comment on table core.personal_tokens is
  'A token a person made in the dashboard, as its SHA-256; shown once. Never carries partners:*.';
-- serves: the tokens of a person
create index personal_tokens_user on core.personal_tokens (user_id, created_at desc);
alter table core.personal_tokens enable row level security;
create policy "a person reaches their own tokens" on core.personal_tokens to api_owner
  using (user_id = (select private.user_id())) with check (user_id = (select private.user_id()));
grant select, insert, update on core.personal_tokens to api_owner;
-- serves: everybody's tokens, newest first
create index personal_tokens_newest on core.personal_tokens (created_at desc);

create function private.token_row(token core.personal_tokens) returns json
language sql stable
set search_path = ''
as $$
  select json_build_object(
    'id', token.id, 'name', token.name, 'scopes', token.scopes, 'last4', token.last4, 'created_at', private.iso(token.created_at),
    'expires_at', private.iso(token.expires_at), 'last_used_at', private.iso(token.last_used_at))
$$;
grant execute on function private.token_row(core.personal_tokens) to api_owner;

create function api.list_personal_tokens(caller jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'session');
  return (
    select json_build_object('tokens', coalesce(json_agg(private.token_row(t) order by t.created_at desc, t.id desc), '[]'))
      from core.personal_tokens t where t.user_id = private.user_id() and t.revoked_at is null);
end $$;
comment on function api.list_personal_tokens(jsonb) is 'GET /tokens: those not revoked, newest first; never the token itself.';
select private.expose('api.list_personal_tokens(jsonb)');

create function api.create_personal_token(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  token   core.personal_tokens;
  expires constant timestamptz := (input ->> 'expires_at')::timestamptz;
begin
  perform private.act_as(caller, 'session');
  perform pg_advisory_xact_lock(hashtextextended('tokens of ' || private.user_id(), 0));
  if (select count(*) from core.personal_tokens t where t.user_id = private.user_id() and t.revoked_at is null) >= 50 then
    perform private.refuse('token_limit_reached');
  elsif expires <= private.now() then
    perform private.refuse('invalid_request', json_build_object(
      'detail', 'expires_at: must be in the future',
      'issues', json_build_array(json_build_object('path', 'expires_at', 'message', 'must be in the future'))));
  elsif (expires is null or expires > private.now() + interval '1 year')
        and private.session_began() < private.now() - interval '15 minutes' then
    -- whoever finds an open browser does not leave with a key for good
    perform private.refuse('recent_sign_in_required');
  end if;
  insert into core.personal_tokens (user_id, name, token_hash, last4, scopes, expires_at)
  values (private.user_id(), input ->> 'name', private.claim_token_hash(input ->> 'token_hash'), input ->> 'last4',
          array(select distinct jsonb_array_elements_text(input -> 'scopes') order by 1), expires)
  returning * into token;
  perform private.audit('personal_token.created', token.id, jsonb_build_object('scopes', token.scopes));
  return private.token_row(token);
end $$;
comment on function api.create_personal_token(jsonb, jsonb) is
  'POST /tokens: {name, scopes, expires_at, token_hash, last4} to the token''s row. One that lasts longer than a year needs a sign-in of the last 15 minutes. The token itself never reaches the database.';
select private.expose('api.create_personal_token(jsonb, jsonb)');

create function api.revoke_personal_token(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  token core.personal_tokens;
begin
  perform private.act_as(caller, 'session');
  select * into token from core.personal_tokens t
   where t.user_id = private.user_id() and t.id = private.as_uuid(input ->> 'id') for update;
  if not found then
    perform private.refuse('token_not_found');
  elsif token.revoked_at is null then
    update core.personal_tokens t set revoked_at = private.now() where t.id = token.id;
    perform private.audit('personal_token.revoked', token.id);
  end if;
  return json_build_object('ok', true);
end $$;
comment on function api.revoke_personal_token(jsonb, jsonb) is 'DELETE /tokens/{id}: acts at once; a second time changes nothing.';
select private.expose('api.revoke_personal_token(jsonb, jsonb)');

-- What a person's own pages show: one statement a page.

create function private.own_draft(account uuid) returns uuid
language plpgsql stable security definer
set search_path = ''
as $$
begin
  return (select d.id from core.drafts d where d.user_id = private.user_id() and d.account_id = account and d.status = 'active'
           order by d.activated_at desc limit 1);
end $$;
comment on function private.own_draft(uuid) is
  'The claim by which an account of the person of this transaction began, whose pages can do more with it; null where there was none. Definer, because drafts are in the tenant of the partner.';
grant execute on function private.own_draft(uuid) to api_owner;

create function private.own_drafts() returns json
language plpgsql stable security definer
set search_path = ''
as $$
begin
  return (select coalesce(json_agg(d.id), '[]') from core.drafts d where d.user_id = private.user_id() and d.status = 'active');
end $$;
comment on function private.own_drafts() is 'Every claim of the person of this transaction that was signed. Definer, as private.own_draft.';
grant execute on function private.own_drafts() to api_owner;

create function private.own_brand() returns jsonb
language plpgsql stable security definer
set search_path = ''
as $$
begin
  return (select jsonb_build_object('partner_id', p.id, 'name', private.partner_display_name(p), 'source', a.source, 'since', a.attached_month)
            from core.attributions a join core.partners p on p.id = a.partner_id
           where a.user_id = private.user_id());
end $$;
comment on function private.own_brand() is
  'The partner that brought the person of this transaction: {partner_id, name, source, since}; null where nobody did, or no longer. Definer, because a partner is another tenant.';
grant execute on function private.own_brand() to api_owner;

create function private.own_accounts() returns json
language sql stable
set search_path = ''
as $$
  select coalesce(json_agg(json_build_object(
           'account_id', a.id,
           'draft_id', private.own_draft(a.id),
           'payout_handler', a.payout_handler,
           'iban_last4', a.iban_last4,
           'iban_held_until', case when a.iban_ciphertext is not null and a.iban_changed_at > private.now() - interval '48 hours'
                                   then private.iso(a.iban_changed_at + interval '48 hours') end,
           'checklist', g.checklist,
           'chargers', (select json_build_object('count', count(*), 'with_mid', count(*) filter (where h.mid_eligible),
                                                 'waiting', count(*) filter (where h.mid_eligible is null))
                          from core.chargers h where h.partner_id = a.partner_id and h.account_id = a.id and h.status = 'active'),
           'connections', (select coalesce(json_agg(json_build_object(
                                    'connection_id', c.connection_id, 'ean_code', c.ean_code, 'ean_validation_status', c.ean_validation_status,
                                    'street', l.street, 'house_number', l.house_number, 'house_number_addition', l.house_number_addition,
                                    'postal_code', l.postal_code, 'city', l.city,
                                    'registration_status', c.registration_status, 'mandate_status', c.mandate_status,
                                    'valid_from', c.valid_from, 'valid_until', c.valid_until, 'renewed_until', c.renewed_until,
                                    'may_sign_again', private.may_sign_again(c.connection_id)) order by c.created_at, c.connection_id), '[]')
                             from core.connection_mandates c
                             join core.locations l on l.partner_id = c.partner_id and l.id = c.location_id
                            where c.partner_id = a.partner_id and c.account_id = a.id and c.status = 'active'))
           order by a.created_at, a.id), '[]')
    from core.accounts a
    join core.account_gates g on g.partner_id = a.partner_id and g.account_id = a.id
   where a.user_id = private.user_id()
$$;
comment on function private.own_accounts() is
  'The accounts of the person of this transaction: {account_id, draft_id, payout_handler, iban_last4, iban_held_until, checklist, chargers, connections}.';
grant execute on function private.own_accounts() to api_owner;

create function private.own_prices(year int) returns json
language sql stable
set search_path = ''
as $$
  select json_build_object(
    'price_per_ere_eur', private.last_price(private.house()),
    'ere_per_kwh', (select f.ere_per_kwh from core.ere_factors f where f.delivery_year = year),
    'fee_pct', (select m.fee_pct from core.accounts a
                  join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id
                  join core.mandates m on m.partner_id = c.partner_id and m.connection_id = c.id and m.status <> 'declined'
                 where a.user_id = private.user_id() order by m.signed_at desc limit 1))
$$;
comment on function private.own_prices(int) is
  'What an estimate for the person of this transaction is reckoned with: {price_per_ere_eur, ere_per_kwh, fee_pct}, the last average price, the factor of a year, and the fee they signed for last; null where there is none.';
grant execute on function private.own_prices(int) to api_owner;

create function private.own_years() returns json
language sql stable
set search_path = ''
as $$
  select json_agg(y order by y desc)
    from (select min(m.month) as first from core.charger_months m where m.owner_id = private.user_id() and m.sessions > 0) k,
         generate_series(extract(year from coalesce(least(k.first, private.today()), private.today()))::int, extract(year from private.today())::int) y
$$;
comment on function private.own_years() is 'The years in which the person of this transaction charged, this one and those between included, newest first.';
grant execute on function private.own_years() to api_owner;

create function api.read_own_overview(caller jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
declare
  year constant int := extract(year from private.today());
begin
  perform private.act_as(caller, 'session');
  return (
    select json_build_object(
      'email', p.email, 'year', year,
      'name', coalesce(p.name, (select s.full_name from core.accounts a
                                  join core.signatories s on s.partner_id = a.partner_id and s.account_id = a.id
                                 where a.user_id = private.user_id() order by a.created_at limit 1)),
      'months', (select coalesce(json_agg(m order by m.month), '[]') from private.own_months(make_date(year, 1, 1), make_date(year + 1, 1, 1)) m),
      'position', private.own_ere_position(year),
      'prices', private.own_prices(year),
      'accounts', private.own_accounts())
      from private.user_profile(private.user_id()) p);
end $$;
comment on function api.read_own_overview(jsonb) is
  'What a person sees first: {email, name, year, months, position, prices, accounts}.';
select private.expose('api.read_own_overview(jsonb)');

create function api.read_own_charging(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
declare
  year        constant int    := coalesce((query ->> 'year')::int, extract(year from private.today())::int);
  one_month   constant date   := (query ->> 'month')::date;
  page_limit  constant int    := (query ->> 'limit')::int;
  page_offset constant bigint := (query ->> 'offset')::bigint;
begin
  perform private.act_as(caller, 'session');
  return (
    with page as materialized (
      select s.* from core.charging_sessions s
       where s.owner_id = private.user_id() and one_month is not null
         and s.started_at >= one_month::timestamp at time zone 'Europe/Amsterdam'
         and s.started_at < (one_month + interval '1 month') at time zone 'Europe/Amsterdam'
       order by s.started_at desc, s.id desc
       limit page_limit + 1 offset page_offset
    ), shown as (
      select * from page order by started_at desc, id desc limit page_limit
    )
    select json_build_object(
      'email', (private.user_profile(private.user_id())).email,
      'year', year,
      'years', private.own_years(),
      'months', (select coalesce(json_agg(m order by m.month), '[]') from private.own_months(make_date(year, 1, 1), make_date(year + 1, 1, 1)) m),
      'sessions', (select coalesce(json_agg(private.charging_session_row(s) order by s.started_at desc, s.id desc), '[]') from shown s),
      'has_more', (select count(*) from page) > page_limit));
end $$;
comment on function api.read_own_charging(jsonb, jsonb) is
  'A year of a person''s charging by months, and a page of the sessions of one of them: {year, month, limit, offset} to {email, year, years, months, sessions, has_more}. Without a month there are no sessions.';
select private.expose('api.read_own_charging(jsonb, jsonb)');

create function api.read_own_earnings(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
declare
  year constant int := coalesce((query ->> 'year')::int, extract(year from private.today())::int);
begin
  perform private.act_as(caller, 'session');
  return json_build_object(
    'email', (private.user_profile(private.user_id())).email,
    'year', year,
    'years', private.own_years(),
    'position', private.own_ere_position(year),
    'prices', private.own_prices(year),
    'accounts', private.own_accounts(),
    'payouts', (select coalesce(json_agg(json_build_object('line_id', l.id, 'paid_on', (l.paid_at at time zone 'Europe/Amsterdam')::date, 'amount_eur', l.amount)
                                         order by l.arrival desc), '[]')
                  from (select l.* from core.documents d join core.payout_lines l on l.partner_id = d.partner_id and l.id = d.line_id
                         where d.owner_id = private.user_id() order by l.arrival desc limit 100) l));
end $$;
comment on function api.read_own_earnings(jsonb, jsonb) is
  'What a person''s charging yields in a year, and what they were paid: {year} to {email, year, years, position, prices, accounts, payouts}.';
select private.expose('api.read_own_earnings(jsonb, jsonb)');

create function api.read_own_mandates(caller jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'session');
  return json_build_object(
    'email', (private.user_profile(private.user_id())).email,
    'accounts', private.own_accounts(),
    'mandates', (select coalesce(json_agg(m.shown order by m.signed_at desc), '[]')
                   from (select m.signed_at, private.shown_mandate(m) || jsonb_build_object('connection_id', m.connection_id) as shown
                           from core.mandates m
                          where m.partner_id = private.partner_id() and m.owner_id = private.user_id() and m.document is not null
                          order by m.signed_at desc limit 20) m));
end $$;
comment on function api.read_own_mandates(jsonb) is
  'What a person signed, newest first, and for which of their accounts: {email, accounts, mandates}.';
select private.expose('api.read_own_mandates(jsonb)');

create function api.read_own_document(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'session');
  if request ->> 'mandate_id' is not null then
    return private.mandate_document((request ->> 'mandate_id')::uuid);
  end if;
  return private.statement_document((request ->> 'line_id')::uuid);
end $$;
comment on function api.read_own_document(jsonb, jsonb) is
  'A document of a person''s own: {mandate_id} or {line_id} to private.kept_document. Another''s is not found.';
select private.expose('api.read_own_document(jsonb, jsonb)');

create function api.open_own_claim(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  draft uuid;
begin
  perform private.act_as(caller, 'session');
  select private.own_draft(a.id) into draft from core.accounts a
   where a.user_id = private.user_id() and a.id = (request ->> 'account_id')::uuid;
  if draft is null then
    perform private.refuse('account_not_found');
  end if;
  perform private.audit('claim.entered', draft);
  return json_build_object('draft_id', draft);
end $$;
comment on function api.open_own_claim(jsonb, jsonb) is
  'A person goes on to the claim pages of an account of theirs: {account_id} to {draft_id}. What moves money or ends the mandate asks for a mailed code there all the same.';
select private.expose('api.open_own_claim(jsonb, jsonb)');

-- The sandbox: an integrator plays the customer, the charger, the reviewer and the mailbox. What happens here happens through the
-- functions that production runs; only who starts them differs. Nothing of it runs on another host.

create table core.virtual_chargers (
  partner_id        uuid          not null,
  id                uuid          not null default gen_random_uuid(),
  charger_id        uuid          not null,
  owner_id          uuid          not null default private.owner_id(),
  wh_per_session    int           not null,
  sessions_per_week numeric(4, 2) not null,
  power_kw          numeric(4, 2) not null,
  since             date          not null,
  synced_at         timestamptz,
  created_at        timestamptz   not null default private.now(),
  constraint virtual_chargers_pkey primary key (partner_id, id),
  constraint virtual_chargers_charger_key unique (partner_id, charger_id),
  constraint virtual_chargers_charger_fkey foreign key (partner_id, charger_id, owner_id) references core.chargers (partner_id, id, owner_id),
  constraint virtual_chargers_wh_range check (wh_per_session between 100 and 100000),
  constraint virtual_chargers_sessions_range check (sessions_per_week between 0 and 50),
  constraint virtual_chargers_power_range check (power_kw between 1 and 50),
  constraint virtual_chargers_fit_a_week check (wh_per_session * sessions_per_week <= 168000 * power_kw)
);
comment on table core.virtual_chargers is
  'What a virtual charger of the sandbox charges, and up to when that was collected: it stands for the cloud of a maker. Empty in production.';
-- serves: the collection that is due
create index virtual_chargers_due on core.virtual_chargers (synced_at);
select private.isolate('core.virtual_chargers', 'select, insert, update');
select private.belong_with('core.virtual_chargers', 'core.chargers', 'charger_id');

create function private.virtual_charging_sessions(virtual core.virtual_chargers, upto timestamptz) returns jsonb
language plpgsql stable
set search_path = ''
as $$
declare
  started constant timestamptz := virtual.since::timestamp at time zone 'Europe/Amsterdam';
  lasts   constant bigint := ceil(virtual.wh_per_session * 3.6 / virtual.power_kw);
  slot    bigint;
begin
  if virtual.sessions_per_week = 0 then
    return '[]';
  end if;
  -- one session in each slot, anywhere in it where it ends before the next slot begins: sessions never overlap
  slot := floor(604800 / virtual.sessions_per_week);
  return (
    select coalesce(jsonb_agg(jsonb_build_object(
             'charger_id', virtual.charger_id, 'source', 'sandbox', 'external_id', n::text,
             'started_at', private.iso(s.at), 'ended_at', private.iso(s.at + make_interval(secs => lasts)),
             'wh', virtual.wh_per_session, 'meter_wh', (n + 1) * virtual.wh_per_session) order by n), '[]')
      from generate_series(greatest(floor(extract(epoch from coalesce(virtual.synced_at, started) - started) / slot)::bigint - 1, 0),
                           floor(extract(epoch from upto - started) / slot)::bigint) n
      cross join lateral (
        select started + make_interval(secs => n * slot
                 + (hashtextextended(virtual.charger_id || ':' || n, 0) & 9223372036854775807) % (greatest(slot - lasts, 0) + 1)) as at) s
     where s.at + make_interval(secs => lasts) <= upto
       and (virtual.synced_at is null or s.at + make_interval(secs => lasts) > virtual.synced_at));
end $$;
comment on function private.virtual_charging_sessions(core.virtual_chargers, timestamptz) is
  'The sessions of a virtual charger that ended since it was last collected, as private.ingest_charging_sessions takes them. Always the same: the charger''s id decides when the n-th takes place.';
grant execute on function private.virtual_charging_sessions(core.virtual_chargers, timestamptz) to api_owner;

create function private.collect_charging_sessions(virtuals core.virtual_chargers[]) returns bigint
language plpgsql
set search_path = ''
as $$
declare
  sessions jsonb;
  created  bigint;
begin
  select coalesce(jsonb_agg(s.session), '[]') into sessions
    from unnest(virtuals) v cross join lateral jsonb_array_elements(private.virtual_charging_sessions(v, private.now())) s (session);
  select count(*) into created from jsonb_array_elements(private.ingest_charging_sessions(sessions)) r where r ->> 'status' = 'created';
  update core.virtual_chargers v set synced_at = private.now()
   where v.partner_id = private.partner_id() and v.id = any (array(select u.id from unnest(virtuals) u));
  return created;
end $$;
comment on function private.collect_charging_sessions(core.virtual_chargers[]) is
  'Takes in what locked virtual chargers charged up to now, and says how many sessions were new.';
grant execute on function private.collect_charging_sessions(core.virtual_chargers[]) to api_owner;

create function private.sync_virtual_chargers() returns bigint
language plpgsql
set search_path = ''
as $$
declare
  due     core.virtual_chargers[];
  created bigint := 0;
begin
  if private.is_sandbox() then
    perform private.act_for_partner(private.house());
    due := array(
      select v from core.virtual_chargers v join core.chargers h on h.partner_id = v.partner_id and h.id = v.charger_id and h.status = 'active'
       where v.partner_id = private.house() and (v.synced_at is null or v.synced_at <= private.now() - interval '10 minutes')
       order by v.synced_at nulls first limit 2000 for update of v skip locked);
    created := private.collect_charging_sessions(due);
    perform private.act_for_partner(null);
  end if;
  return created;
end $$;
comment on function private.sync_virtual_chargers() is
  'Collects every virtual charger ten minutes after it was last collected: with a worker that runs each minute, within fifteen.';
grant execute on function private.sync_virtual_chargers() to api_owner;

create function private.virtual_charger_answer(virtual core.virtual_chargers) returns jsonb
language plpgsql stable
set search_path = ''
as $$
begin
  return (
    select jsonb_build_object('charger_id', h.id, 'integration_id', virtual.id, 'catalog_charger_id', m.id, 'brand', m.brand, 'model', m.model,
                              'mid', coalesce(h.mid_eligible, false))
      from core.chargers h join core.charger_models m on m.id = h.catalog_charger_id
     where h.partner_id = virtual.partner_id and h.id = virtual.charger_id);
end $$;
grant execute on function private.virtual_charger_answer(core.virtual_chargers) to api_owner;

create function private.virtual_model(profile jsonb) returns core.charger_models
language plpgsql
set search_path = ''
as $$
declare
  model core.charger_models;
begin
  if (profile ->> 'since')::date > private.today() then
    perform private.refuse('invalid_request', json_build_object(
      'detail', 'since: must not be after today', 'issues', json_build_array(json_build_object('path', 'since', 'message', 'must not be after today'))));
  elsif profile ->> 'catalog_charger_id' is not null then
    return private.choose_model(jsonb_build_object('catalog_charger_id', profile -> 'catalog_charger_id'));
  end if;
  select m.* into model from core.charger_models m
   where m.mid_meter = (profile ->> 'mid')::boolean order by lower(m.brand) collate "C", lower(m.model) collate "C" limit 1;
  return model;
end $$;
comment on function private.virtual_model(jsonb) is 'The catalogue model of a profile: the one named, else the first with or without a MID meter. Refuses a profile that begins in the future.';
grant execute on function private.virtual_model(jsonb) to api_owner;

-- POST /sandbox/v1/customers/{id}/chargers, …/sync, …/review.

create function private.own_customer(named text, key text, out account_id uuid, out user_id uuid)
language sql stable security definer
set search_path = ''
as $$
  -- a customer_ref is not stored: it is looked for among the partner's own
  select a.id, a.user_id
    from core.attributions t
    join core.accounts a on a.partner_id = private.house() and a.user_id = t.user_id
   where t.partner_id = private.partner_id() and t.source in ('partner_upload', 'partner_invite')
     and case when named like 'cus\_%' then private.customer_ref(t.user_id, t.partner_id, key) = named else a.id = private.as_uuid(named) end
   order by a.created_at, a.id limit 1
$$;
comment on function private.own_customer(text, text) is
  'The account of a customer the partner itself brought, by customer_ref or account id; nulls where it has none. Definer, because people own their accounts in the house.';
grant execute on function private.own_customer(text, text) to api_owner;

create function private.require_customer(named text, key text, out account_id uuid, out user_id uuid)
language plpgsql
set search_path = ''
as $$
begin
  select c.account_id, c.user_id into require_customer.account_id, require_customer.user_id from private.own_customer(named, key) c;
  if require_customer.account_id is null then
    perform private.refuse('customer_not_found');
  end if;
  -- from here on the transaction reaches what is the customer's; the audit log says who plays them
  perform private.act_for_partner(private.house()), set_config('app.user_id', require_customer.user_id::text, true),
          set_config('app.caller_kind', 'sandbox', true);
end $$;
comment on function private.require_customer(text, text) is 'private.own_customer, or the refusal customer_not_found; the transaction then acts as that person.';
grant execute on function private.require_customer(text, text) to api_owner;

create function api.connect_virtual_charger(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  customer   record;
  profile    constant jsonb := input -> 'profile';
  model      core.charger_models;
  connection uuid;
  virtual    core.virtual_chargers;
  charger    uuid;
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  model := private.virtual_model(profile);
  select * into customer from private.require_customer(input ->> 'id', input ->> 'key');
  perform private.lock_chargers(null, customer.user_id);
  perform from core.accounts a where a.partner_id = private.house() and a.id = customer.account_id for no key update;
  if not found then
    perform private.refuse('customer_not_found');  -- a reset deleted it meanwhile
  end if;
  connection := private.pick_connection(customer.account_id, null, true);
  -- a repeat: the same model charging the same way
  select v.* into virtual
    from core.virtual_chargers v join core.chargers h on h.partner_id = v.partner_id and h.id = v.charger_id
   where v.partner_id = private.house() and h.account_id = customer.account_id and h.status = 'active' and h.catalog_charger_id = model.id
     and (v.wh_per_session, v.sessions_per_week, v.power_kw, v.since)
         = ((profile ->> 'wh_per_session')::int, (profile ->> 'sessions_per_week')::numeric, (profile ->> 'power_kw')::numeric, (profile ->> 'since')::date)
   order by v.created_at, v.id limit 1;
  if virtual.id is null then
    perform private.require_charger_room(null, customer.user_id);
    charger := private.add_own_charger(customer.account_id, connection, jsonb_build_object(
      'catalog_charger_id', model.id, 'serial_number', 'SANDBOX-' || upper(left(replace(gen_random_uuid()::text, '-', ''), 16)),
      'power_kw', profile -> 'power_kw'), '{"virtual": true}');
    insert into core.virtual_chargers (partner_id, charger_id, wh_per_session, sessions_per_week, power_kw, since)
    values (private.house(), charger, (profile ->> 'wh_per_session')::int, (profile ->> 'sessions_per_week')::numeric,
            (profile ->> 'power_kw')::numeric, (profile ->> 'since')::date)
    returning * into virtual;
    perform private.advance_registration(customer.account_id, true);
  end if;
  return private.virtual_charger_answer(virtual)::json;
end $$;
comment on function api.connect_virtual_charger(jsonb, jsonb) is
  'POST /sandbox/v1/customers/{id}/chargers: {id, key, profile: {mid, catalog_charger_id, wh_per_session, sessions_per_week, power_kw, since}}. '
  'The same profile again is the same charger. Its sessions are collected by api.sync_customer.';
select private.expose('api.connect_virtual_charger(jsonb, jsonb)');

create function api.sync_customer(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  customer record;
  virtuals core.virtual_chargers[];
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  select * into customer from private.require_customer(input ->> 'id', input ->> 'key');
  virtuals := array(
    select v from core.virtual_chargers v join core.chargers h on h.partner_id = v.partner_id and h.id = v.charger_id
     where v.partner_id = private.house() and h.account_id = customer.account_id and h.status = 'active'
     order by v.id for update of v);
  return json_build_object('ok', true, 'sessions_created', private.collect_charging_sessions(virtuals), 'error', null);
end $$;
comment on function api.sync_customer(jsonb, jsonb) is
  'POST /sandbox/v1/customers/{id}/sync: {id, key} to {ok, sessions_created, error}. Collects every virtual charger of the customer up to now.';
select private.expose('api.sync_customer(jsonb, jsonb)');

create function private.review_due_registrations() returns bigint
language plpgsql security definer
set search_path = ''
as $$
declare
  connection core.connections;
  reviewed   bigint := 0;
begin
  if private.is_sandbox() then
    for connection in
      select c.* from core.connections c
        join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
       where c.registration_status = 'ingediend' and c.status = 'active' and c.submitted_at <= private.now() - interval '2 minutes'
       -- a reset locks accounts first, and what is told of the review refers to the account
       order by c.submitted_at, c.id limit 500 for key share of a skip locked for update of c skip locked
    loop
      perform private.act_for_partner(connection.partner_id);
      perform private.review_registration(connection,
        case when cardinality(private.grounds_to_reject(connection)) = 0 then 'goedgekeurd' else 'afgekeurd' end);
      reviewed := reviewed + 1;
    end loop;
    perform private.act_for_partner(null);
  end if;
  return reviewed;
end $$;
comment on function private.review_due_registrations() is
  'The sandbox''s reviewer: two minutes after it was submitted a registration is approved where mandate, EAN and MID charger hold, else rejected. Definer: every tenant at once.';
grant execute on function private.review_due_registrations() to api_owner;

create function api.review_customer(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  outcome    constant text := input ->> 'outcome';
  customer   record;
  connection core.connections;
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  select * into customer from private.own_customer(input ->> 'id', input ->> 'key');
  if customer.account_id is null then
    -- or an account that a CPO client of the partner made
    customer.account_id := private.as_uuid(input ->> 'id');
  else
    perform private.act_for_partner(private.house()), set_config('app.user_id', customer.user_id::text, true);
  end if;
  perform from core.accounts a where a.partner_id = private.partner_id() and a.id = customer.account_id for no key update;
  if not found then
    perform private.refuse('customer_not_found');
  end if;
  select c.* into connection from core.connections c
   where c.partner_id = private.partner_id() and c.account_id = customer.account_id and c.status = 'active'
   order by c.registration_status = 'ingediend' desc, c.submitted_at desc nulls last, c.id limit 1 for update;
  if connection.registration_status is distinct from 'ingediend' then
    perform private.refuse('nothing_to_review', json_build_object('registration_status', connection.registration_status));
  end if;
  perform private.review_registration(connection, outcome);
  return json_build_object('ok', true, 'from', 'ingediend', 'to', outcome, 'closed_gates', private.closed_gates(connection));
end $$;
comment on function api.review_customer(jsonb, jsonb) is
  'POST /sandbox/v1/customers/{id}/review: {id, key, outcome} to {ok, from, to, closed_gates}. The outcome is the one asked for, closed gates or not, so that each can be rehearsed; a registration is decided once.';
select private.expose('api.review_customer(jsonb, jsonb)');

-- POST /sandbox/v1/drafts/{id}/claim: where a rehearsal stands. The claim itself runs through the functions of the pages.

create function private.foreign_login(email text, partner uuid) returns boolean
language sql stable security definer
set search_path = ''
as $$
  select exists (
    select from auth.users u
     where u.email = foreign_login.email and u.is_sso_user = false and u.deleted_at is null
       and u.raw_app_meta_data ->> 'claimed_for' is distinct from partner::text)
$$;
comment on function private.foreign_login(text, uuid) is
  'Whether an address has a login that no claim of this partner made. Definer, because logins belong to Supabase Auth.';
grant execute on function private.foreign_login(text, uuid) to api_owner;

create function private.customer_standing(account uuid) returns jsonb
language plpgsql stable security definer
set search_path = ''
as $$
begin
  return (
    select jsonb_build_object(
             'registration_status', c.registration_status,
             'iban_present', a.iban_ciphertext is not null,
             'charger', (select private.virtual_charger_answer(v)
                           from core.virtual_chargers v join core.chargers h on h.partner_id = v.partner_id and h.id = v.charger_id
                          where v.partner_id = a.partner_id and h.account_id = a.id and h.status = 'active'
                          order by v.created_at, v.id limit 1))
      from core.accounts a
      left join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id and c.status = 'active'
     where a.partner_id = private.house() and a.id = account
     order by c.created_at, c.id limit 1);
end $$;
comment on function private.customer_standing(uuid) is
  'How far the account of a draft is: registration, IBAN, first virtual charger. Definer, because accounts of people are in the house.';
grant execute on function private.customer_standing(uuid) to api_owner;

create function api.find_rehearsal(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  named   constant text := input ->> 'id';
  draft   core.drafts;
  answers jsonb;
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  -- of several drafts with one reference the newest that can be claimed
  select d.* into draft from core.drafts d
   where d.partner_id = private.partner_id() and (d.id = private.as_uuid(named) or d.external_ref = named)
   order by d.id = private.as_uuid(named) desc nulls last, private.draft_status(d) in ('invited', 'claimed') desc, d.created_at desc, d.id limit 1;
  if draft.id is null then
    perform private.refuse('draft_not_found');
  elsif jsonb_typeof(input -> 'profile') = 'object' then
    perform private.virtual_model(input -> 'profile');
  end if;
  answers := private.claim_answers(draft);
  return (jsonb_build_object(
    'draft_id', draft.id,
    'external_ref', draft.external_ref,
    'email', draft.email,
    'type', draft.type,
    'locale', coalesce(draft.locale, (private.own_partner()).locale, 'nl'),
    'draft_status', private.draft_status(draft),
    'stage', private.claim_stage(draft),
    'foreign_login', private.foreign_login(draft.email, draft.partner_id),
    'banned_login', not private.claimant_stands(draft),
    'account_id', draft.account_id,
    'customer_ref', private.customer_ref(draft.user_id, draft.partner_id, input ->> 'key'),
    'brand', private.partner_brand(private.own_partner()),
    'answers', answers,
    'candidates', case when draft.postal_code is null
                         or (answers ->> 'postal_code', answers ->> 'house_number', answers ->> 'house_number_addition')
                            is not distinct from (draft.postal_code, draft.house_number::text, draft.house_number_addition)
                       then draft.ean_candidates
                       else coalesce(draft.progress -> 'candidates', '[]') end,  -- of the address the customer gave instead
    'confirmed', coalesce(draft.progress -> 'confirmed', '[]'))
    || coalesce(private.customer_standing(draft.account_id), '{}'))::json;
end $$;
comment on function api.find_rehearsal(jsonb, jsonb) is
  'A draft of the partner by its id or external_ref, and how far its claim is: {id, key, profile?}; a profile that cannot be connected is refused at once. foreign_login: a login the caller did not make, which no helper enters.';
select private.expose('api.find_rehearsal(jsonb, jsonb)');

create function api.settle_rehearsal(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  ean   constant text := input ->> 'ean';
  draft core.drafts;
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  select * into draft from core.drafts d
   where d.partner_id = private.partner_id() and d.id = (input ->> 'draft_id')::uuid and private.draft_state(d) = 'open' for update;
  if draft.id is not null and (private.claimant(draft.email, draft.partner_id)).taken then
    perform private.end_in_conflict(draft, 'existing_user');
    return private.refusal('draft_not_claimable');
  elsif draft.id is not null and private.ean_taken(ean) then
    perform private.end_in_conflict(draft, 'ean_in_use');
    return private.refusal('draft_not_claimable');
  elsif ean is not null and private.claim_stage(draft) = 'invited' and private.ean_taken(draft.ean) then
    update core.drafts d set ean = input ->> 'ean', ean_status = 'provided' where d.partner_id = draft.partner_id and d.id = draft.id;
  end if;
  return json_build_object('ok', true);
end $$;
comment on function api.settle_rehearsal(jsonb, jsonb) is
  'Ends a draft in conflict where the pages would: its login is another partner''s or has an account of its own, or the EAN that is wanted is in use: {draft_id, ean | null}, refused as draft_not_claimable. '
  'An EAN that is free takes the place of an uploaded one that is in use, before the address is proven.';
select private.expose('api.settle_rehearsal(jsonb, jsonb)');

-- GET /sandbox/v1/mail.

create function private.captured_mail(partner uuid, address text, size int) returns setof core.mail_outbox
language sql stable security definer
set search_path = ''
as $$
  select m.* from core.mail_outbox m
   where m.status = 'captured' and (address is null or m.recipient = address)
     and (m.partner_id = partner
          -- what the service writes to its customers itself: a code to sign in with
          or m.partner_id = private.house() and exists (
               select from auth.users u
                where u.email = m.recipient and u.is_sso_user = false and u.raw_app_meta_data ->> 'claimed_for' = partner::text))
   order by m.created_at desc, m.id desc limit size
$$;
comment on function private.captured_mail(uuid, text, int) is
  'Mail written on a partner''s behalf, and to the logins that claims of its drafts made, newest first. Definer, because the latter is in the house.';
grant execute on function private.captured_mail(uuid, text, int) to api_owner;

create function api.list_captured_mail(caller jsonb, query jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  return (
    select json_build_object('mail', coalesce(json_agg(json_build_object(
        'id', m.id, 'captured_at', private.iso(m.created_at), 'to', m.recipient, 'from', query ->> 'from', 'subject', m.subject,
        'template', m.template, 'links', m.links, 'html', m.html, 'text', m.text) order by m.created_at desc, m.id desc), '[]'))
      from private.captured_mail(private.partner_id(), query ->> 'to', (query ->> 'limit')::int) m);
end $$;
comment on function api.list_captured_mail(jsonb, jsonb) is
  'GET /sandbox/v1/mail: {to, limit, from} to {mail}, newest first: every mail written on behalf of the partner, its CPO accounts'' mandates included, and its customers'' codes to sign in.';
select private.expose('api.list_captured_mail(jsonb, jsonb)');

-- What a reset takes out of bookings, sales, payouts and the ledger. On the sandbox only: elsewhere nothing of these is ever deleted.

create function private.lock_bookings_of(tenant uuid, accounts uuid[]) returns void
language plpgsql
set search_path = ''
as $$
begin
  perform from core.bookings b
    where b.partner_id = tenant
      and b.id = any (array(select r.booking_id from core.booking_rows r where r.partner_id = tenant and r.account_id = any (accounts)))
    order by b.id for update;
end $$;
comment on function private.lock_bookings_of(uuid, uuid[]) is 'Locks the bookings that have rows of accounts: before their connections, as every step of a booking does.';

create function private.erase_entries(tenant uuid, causes text[], accounts uuid[]) returns void
language plpgsql
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
begin
  delete from core.ledger_entries e using unnest(causes) c (cause)
   where e.partner_id = tenant and e.cause > c.cause || ':' and e.cause < c.cause || ';';
  delete from core.ledger_entries e using core.ledger_accounts a
   where a.partner_id = tenant and a.owner = any (accounts) and e.partner_id = tenant and (e.debit = a.id or e.credit = a.id);
  delete from core.ledger_accounts a where a.partner_id = tenant and a.owner = any (accounts);
end $$;
comment on function private.erase_entries(uuid, text[], uuid[]) is
  'Deletes what was posted for these things, and whatever else moved to or from these owners, with their ledger accounts. An entry is both sides, so what is left is balanced.';

create function private.erase_payouts(tenant uuid, accounts uuid[], partners uuid[]) returns void
language plpgsql
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  gone   core.payout_lines[];
  ledger record;
begin
  gone := array(
    select l from core.payout_lines l where l.partner_id = tenant and l.account_id = any (accounts)
    union all
    select l from core.payout_lines l where l.partner_id = any (partners) and l.account_id is null);
  for ledger in
    select p.ledger_partner_id as partner_id, array_agg('payout:' || p.id || suffix) as causes
      from unnest(gone) l
      join core.payout_parts p on p.partner_id = l.partner_id and p.line_id = l.id
      cross join unnest(array['', ':paid', ':reversed', ':paid:reversed']) suffix
     group by p.ledger_partner_id
  loop
    delete from core.ledger_entries e using unnest(ledger.causes) c (cause) where e.partner_id = ledger.partner_id and e.cause = c.cause;
  end loop;
  delete from core.ledger_entries e using core.invoices i where i.partner_id = any (partners) and e.partner_id = i.partner_id and e.cause = 'invoice:' || i.id || ':vat';
  delete from core.documents d where d.partner_id = any (partners) and d.invoice_id is not null;
  delete from core.invoice_entries i where i.partner_id = any (partners);
  delete from core.invoices i where i.partner_id = any (partners);
  perform private.withdraw_statement(l) from unnest(gone) l;
  delete from core.payout_parts p using unnest(gone) l where p.partner_id = l.partner_id and p.line_id = l.id;
  delete from core.payout_lines d using unnest(gone) l where d.partner_id = l.partner_id and d.id = l.id;
  delete from core.payout_batches b using unnest(gone) l
   where b.id = l.batch_id and not exists (select from core.payout_lines o where o.batch_id = b.id);
end $$;
comment on function private.erase_payouts(uuid, uuid[], uuid[]) is
  'Deletes what was paid to accounts, and all that was paid to and invoiced of partners who had a share in what is erased: what is left of that share is to be paid again. Run by private.erase_bookings only.';

create function private.erase_bookings(tenant uuid, accounts uuid[]) returns void
language plpgsql
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  gone     uuid[];
  causes   text[];
  touched  core.bookings[];
  booking  core.bookings;
begin
  perform private.only_in_sandbox(), private.lock_bookings_of(tenant, accounts);
  gone := array(select r.id from core.booking_rows r where r.partner_id = tenant and r.account_id = any (accounts));
  touched := array(select b from core.bookings b where b.partner_id = tenant and b.id = any (array(
    select r.booking_id from core.booking_rows r where r.partner_id = tenant and r.id = any (gone))));
  causes := array(
    select 'row:' || g.id from unnest(gone) g (id)
    union all select 'credit:' || c.id from core.credits c where c.partner_id = tenant and c.row_id = any (gone)
    union all select 'allocation:' || a.id from core.allocations a where a.partner_id = tenant and a.row_id = any (gone));
  perform private.erase_payouts(tenant, accounts, array(
    select distinct a.share_partner_id from core.allocations a where a.partner_id = tenant and a.row_id = any (gone) and a.partner_share > 0));
  perform private.erase_entries(tenant, causes, accounts);

  -- of a sale that others have a part in, that part is left
  with erased as (
    delete from core.allocations a where a.partner_id = tenant and a.row_id = any (gone) returning a.sale_id, a.ere, a.gross
  )
  update core.sales s set ere = s.ere - e.ere, gross = s.gross - e.gross
    from (select sale_id, sum(ere) as ere, sum(gross) as gross from erased group by sale_id) e
   where s.partner_id = tenant and s.id = e.sale_id and s.ere > e.ere;
  delete from core.sale_reversals v
   where v.partner_id = tenant and not exists (select from core.allocations a where a.partner_id = tenant and a.sale_id = v.sale_id);
  with nobody_s as (
    delete from core.sales s
     where s.partner_id = tenant and not exists (select from core.allocations a where a.partner_id = tenant and a.sale_id = s.id)
    returning s.id)
  delete from core.ledger_accounts a using nobody_s s where a.partner_id = tenant and a.owner = s.id;
  delete from core.credits c where c.partner_id = tenant and c.row_id = any (gone);
  delete from core.booking_rows r where r.partner_id = tenant and r.id = any (gone);
  foreach booking in array touched loop
    if exists (select from core.booking_rows r where r.partner_id = tenant and r.booking_id = booking.id) then
      perform private.settle_difference(booking);
    else
      perform private.erase_entries(tenant, '{}', array[booking.id]);
      delete from core.bookings b where b.partner_id = tenant and b.id = booking.id;
    end if;
  end loop;
end $$;
comment on function private.erase_bookings(uuid, uuid[]) is
  'Deletes what was booked, credited, sold and paid of accounts, on the sandbox: their rows, what was posted for them, and bookings and sales of which nothing is left. Run by private.erase_accounts only.';

create function private.erase_books(partner uuid) returns void
language plpgsql security definer
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  accounts    constant uuid[] := array(select a.id from core.accounts a where a.partner_id = partner order by a.id for update);
  connections uuid[];
  months      date[];
begin
  perform private.only_in_sandbox(), private.lock_bookings_of(partner, accounts);
  select array_agg(r.connection_id), array_agg(r.period) into connections, months
    from (select distinct r.connection_id, r.period from core.booking_rows r where r.partner_id = partner and r.account_id = any (accounts)) r;
  perform private.lock_connections(partner, connections), private.erase_bookings(partner, accounts);
  -- the months stay, rejected ones too, and can be delivered and booked anew
  update core.delivered_months d set status = private.month_status(d.connection_id, d.period)
    from unnest(connections, months) as m (connection_id, month)
   where d.partner_id = partner and d.connection_id = m.connection_id and d.period = m.month and d.status in ('submitted', 'registered', 'rejected');
  delete from core.figures f where f.partner_id = partner;
  delete from core.told_payouts t where t.partner_id = partner;
end $$;
comment on function private.erase_books(uuid) is
  'Deletes what was booked, credited, sold and paid of a partner''s CPO accounts, and that figures were published to it; accounts and months stay. Definer, because nothing else deletes these.';
grant execute on function private.erase_books(uuid) to api_owner;

-- POST /sandbox/v1/reset, and the customer that a fixture replaces.

create function private.erase_accounts(accounts uuid[], chargers uuid[], connections uuid[]) returns void
language plpgsql
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  house     constant uuid := private.house();
  locations constant uuid[] := array(
    select distinct c.location_id from core.connections c where c.partner_id = house and c.id = any (connections));
begin
  perform private.erase_bookings(house, accounts);
  delete from core.replaced_charging_sessions r where r.partner_id = house and r.charger_id = any (chargers);
  delete from core.charger_months m where m.partner_id = house and m.charger_id = any (chargers);
  delete from core.charging_sessions s where s.partner_id = house and s.charger_id = any (chargers);
  delete from core.virtual_chargers v where v.partner_id = house and v.charger_id = any (chargers);
  delete from core.replaced_months r where r.partner_id = house and r.connection_id = any (connections);
  delete from core.delivered_months d where d.partner_id = house and d.connection_id = any (connections);
  delete from core.notices n where n.partner_id = house and n.account_id = any (accounts);
  delete from core.documents d where d.partner_id = house and d.account_id = any (accounts);
  delete from core.mandates m where m.partner_id = house and m.connection_id = any (connections);
  delete from core.mandate_links l where l.partner_id = house and l.connection_id = any (connections);
  delete from core.ean_checks e where e.partner_id = house and e.connection_id = any (connections);
  delete from core.chargers h where h.partner_id = house and h.id = any (chargers);
  delete from core.connections c where c.partner_id = house and c.id = any (connections);
  delete from core.locations l
   where l.partner_id = house and l.id = any (locations)
     and not exists (select from core.connections c where c.partner_id = house and c.location_id = l.id);
  delete from core.signatories s where s.partner_id = house and s.account_id = any (accounts);
  delete from core.accounts a where a.partner_id = house and a.id = any (accounts);
end $$;
comment on function private.erase_accounts(uuid[], uuid[], uuid[]) is
  'Deletes accounts of the house with everything below them: connections, chargers, charging sessions, months, mandates and their documents. Their rows are locked; run by private.erase_customers only.';

create function private.erase_customers(partner uuid, chosen uuid[], key text, out customers bigint, out drafts bigint)
language plpgsql security definer
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  house       constant uuid := private.house();
  everything  constant boolean := chosen is null;
  gone        core.drafts[];
  people      uuid[];
  logins      uuid[];
  accounts    uuid[];
  chargers    uuid[];
  connections uuid[];
begin
  -- before any row, as who prepares a payout does
  perform private.only_in_sandbox(), private.lock_payouts_of(partner);
  -- waits for requests under way on these drafts, to see what they changed
  gone := array(select d from core.drafts d where d.partner_id = partner and (everything or d.id = any (chosen)) order by d.id for update);
  people := array(
    select d.user_id from unnest(gone) d where d.user_id is not null
    union select a.user_id from core.attributions a where everything and a.partner_id = partner
    -- a withdrawn draft leaves its login behind
    union select u.id from auth.users u where everything and u.raw_app_meta_data ->> 'claimed_for' = partner::text);
  -- a login is deleted only where a claim of this partner made it and nobody else relies on it
  logins := array(
    select u.id from auth.users u
     where u.id = any (people) and u.raw_app_meta_data ->> 'claimed_for' = partner::text
       and not exists (select from core.attributions a where a.user_id = u.id and a.partner_id <> partner)
       and not exists (select from core.partner_managers m where m.user_id = u.id));
  accounts := array(
    select a.id from core.accounts a
     where a.partner_id = house and (a.id = any (array(select d.account_id from unnest(gone) d)) or a.user_id = any (logins))
     order by a.id for update);
  perform private.lock_bookings_of(private.house(), accounts);
  -- an opt-out outlives its draft; what remembers a draft that was withdrawn is the mail by which its customer opted out
  perform private.forget_opt_outs(array(
    select d.email from unnest(gone) d
    union select u.email from auth.users u where u.id = any (people)
    union select m.recipient from core.mail_outbox m where everything and m.partner_id = partner and m.cause like 'claim%'), key);
  -- locked in the order in which charging sessions lock them
  perform from core.virtual_chargers v join core.chargers h on h.partner_id = v.partner_id and h.id = v.charger_id
    where v.partner_id = house and (h.account_id = any (accounts) or h.user_id = any (logins)) order by v.id for update of v;
  chargers := array(select h.id from core.chargers h
                     where h.partner_id = house and (h.account_id = any (accounts) or h.user_id = any (logins)) order by h.id for update);
  connections := array(select c.id from core.connections c where c.partner_id = house and c.account_id = any (accounts) order by c.id for update);

  perform private.erase_accounts(accounts, chargers, connections);

  -- what was written about drafts; the mandates of CPO accounts may have gone to the same people
  delete from core.mail_outbox m
   where m.partner_id = partner and m.cause like 'claim%'
     and (everything or m.recipient = any (array(select d.email from unnest(gone) d)));
  delete from core.mail_outbox m using auth.users u where u.id = any (logins) and m.partner_id = house and m.recipient = u.email;
  delete from core.drafts d where d.partner_id = partner and d.id = any (array(select g.id from unnest(gone) g));
  drafts := cardinality(gone);
  -- deleted drafts do not count toward the cap
  delete from core.draft_uploads u
   where u.partner_id = partner
     and (everything or u.id in (select n.id from core.draft_uploads n where n.partner_id = partner order by n.id desc limit drafts));
  with ended as (delete from core.attributions a where a.partner_id = partner and a.user_id = any (people) returning 1)
  select count(*) into customers from ended;
  delete from auth.users u where u.id = any (logins);
end $$;
comment on function private.erase_customers(uuid, uuid[], text) is
  'Deletes a partner''s drafts, those chosen or (null) all, with what customers made of them: accounts and all under them, mail, logins, opt-outs, which the claim key finds. '
  'A person who came with a login of their own keeps it, and no longer belongs to the partner. Definer, because customers are in the house and logins in Auth.';
grant execute on function private.erase_customers(uuid, uuid[], text) to api_owner;

create function api.reset_sandbox(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  erased record;
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  -- an import that runs is either before this or after it, whole
  perform private.lock_imports(private.partner_id());
  select * into erased from private.erase_customers(private.partner_id(), null, input ->> 'key');
  perform private.erase_books(private.partner_id());
  perform private.audit('sandbox.reset', private.partner_id(), jsonb_build_object('customers', erased.customers, 'drafts', erased.drafts));
  return json_build_object('ok', true, 'customers_deleted', erased.customers, 'drafts_deleted', erased.drafts);
end $$;
comment on function api.reset_sandbox(jsonb, jsonb) is
  'POST /sandbox/v1/reset: {key}. Every customer attributed to the partner, every draft it made, and what was booked and sold of its CPO accounts, in one transaction. These accounts and their months, keys and settings stay.';
select private.expose('api.reset_sandbox(jsonb, jsonb)', 'edge_slow');

create function api.clear_fixture(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  erased record;
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  select * into erased from private.erase_customers(private.partner_id(), array(
    select d.id from core.drafts d where d.partner_id = private.partner_id() and d.external_ref = input ->> 'external_ref'), input ->> 'key');
  perform private.forget_opt_outs(array[input ->> 'email'], input ->> 'key');
  return json_build_object('drafts_deleted', erased.drafts);
end $$;
comment on function api.clear_fixture(jsonb, jsonb) is 'Makes room for a fixture: {external_ref, email, key}. The drafts with that reference go, with their customers; who opted out at that address may be written to again.';
select private.expose('api.clear_fixture(jsonb, jsonb)');

-- POST /sandbox/v1/settle: a quarter of the caller's customers, from kWh to a paid euro, by the functions that the operator runs.

create function private.settle_accounts(tenant uuid, accounts uuid[], quarter date, price numeric) returns void
language plpgsql
set search_path = ''
as $$
declare
  run     constant uuid := gen_random_uuid();
  booking core.bookings;
  sale    core.sales;
  taken   int;
begin
  if not exists (select from private.judge_quarter(tenant, quarter, accounts) j where j.reason is null) then
    return;
  end if;
  perform private.act_for_partner(tenant);
  loop
    booking := private.open_booking(tenant, quarter, run);
    taken := private.submit_booking(tenant, booking.id, accounts);
    exit when taken is not null;  -- null: somebody submitted the one that was open
  end loop;
  if taken = 0 then
    -- another booking took the same months a moment ago
    delete from core.bookings b where b.partner_id = tenant and b.id = booking.id and b.run_id = run;
    return;
  end if;
  booking := private.lock_booking(tenant, booking.id);
  perform private.credit_booking(booking, array(
    select row(0, r.id, r.kwh, null, null)::private.credit_line
      from core.booking_rows r where r.partner_id = tenant and r.booking_id = booking.id), null);
  sale.partner_id := tenant;
  sale.booking_id := booking.id;
  sale.reference := 'sandbox-' || booking.id;
  sale.buyer := 'Sandbox';
  sale.ere := private.sellable_ere(booking);
  sale.price := price;
  sale.gross := round(sale.ere * price, 2);
  sale.sold_on := private.today();
  -- less than half a cent is credited and stays unsold
  if sale.gross > 0 then
    perform private.record_sale(booking, sale);
  end if;
end $$;
comment on function private.settle_accounts(uuid, uuid[], date, numeric) is
  'Books every month of these accounts that can be booked, also of a quarter that is not over, credits all of it and sells it at a price in euro. Nothing where there is none.';

create function private.settled_quarter(partner uuid, accounts uuid[], quarter date) returns json
language plpgsql stable
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
declare
  tenants constant uuid[] := array[partner, private.house()];
begin
  return (
    with settled as materialized (
      select b.id as booking_id, b.partner_id, b.number, r.account_id, r.connection_id, r.period, c.accepted_kwh, c.ere, s.gross, s.net
        from core.bookings b
        join core.booking_rows r on r.partner_id = b.partner_id and r.booking_id = b.id and r.status = 'registered' and r.account_id = any (accounts)
        join core.credits c on c.partner_id = r.partner_id and c.row_id = r.id and c.reversed_at is null
        cross join lateral (
          select coalesce(sum(a.gross), 0) as gross, coalesce(sum(a.net), 0) as net
            from core.allocations a where a.partner_id = r.partner_id and a.row_id = r.id and a.reversal_id is null) s
       where b.partner_id = any (tenants) and b.quarter = settled_quarter.quarter
    ), left_out as materialized (
      select j.account_id, to_char(j.period, 'YYYY-MM') as period, j.reason
        from unnest(tenants) t (id)
        cross join lateral private.judge_quarter(t.id, settled_quarter.quarter, accounts) j
       where j.reason is not null
         and not exists (select from settled s where s.connection_id = j.connection_id and s.period = j.period)
       order by j.account_id, j.period, j.connection_id limit 1000
    )
    select json_build_object(
      'booking_id', (select s.booking_id from settled s order by s.partner_id = partner desc, s.number desc limit 1),
      'accounts', count(distinct t.account_id), 'kwh', coalesce(sum(t.accepted_kwh), 0), 'ere', coalesce(round(sum(t.ere), 2), 0),
      'gross_eur', coalesce(sum(t.gross), 0), 'net_eur', coalesce(sum(t.net), 0),
      'left_out', (select coalesce(json_agg(row_to_json(l)), '[]') from left_out l))
      from settled t);
end $$;
comment on function private.settled_quarter(uuid, uuid[], date) is
  'What of a quarter of these accounts, of a partner and of the house, is credited and sold, and which months are in no booking: {booking_id, accounts, kwh, ere, gross_eur, net_eur, left_out}. kWh; ERE to two decimals; of left_out the first 1000.';

create function private.pay_accounts(partner uuid, accounts uuid[]) returns void
language plpgsql
set search_path = ''
as $$
declare
  owners constant uuid[] := accounts || partner;
  payees constant private.payee[] := array(
    select y from private.payees(0, owners) y
     where y.amount > 0 and num_nulls(y.iban_ciphertext, y.name) = 0 and (y.account_id = any (accounts) or y.account_id is null and y.partner_id = partner));
  batch  uuid;
begin
  if cardinality(payees) > 0 then
    batch := private.make_batch(payees, 0, 'sandbox', owners);
    perform private.notify_paid(batch), private.pay_lines(batch);
    update core.payout_batches b
       set status = 'settled', approved_by = 'sandbox: nobody', approved_at = private.now(), settled_by = 'sandbox', settled_at = private.now()
     where b.id = batch;
  end if;
end $$;
comment on function private.pay_accounts(uuid, uuid[]) is
  'Pays a partner and these accounts all they are owed, at once: without the 48 hours, the minimum, the second person and the bank. Who has no IBAN is left out.';

create function private.settled_at_once() returns int
language sql immutable
return 1000;
comment on function private.settled_at_once() is
  'How many accounts one call settles: seconds, also on a machine that has much else to do. A statement has a minute.';

create function private.due_accounts(tenants uuid[], accounts uuid[], quarter date) returns uuid[]
language sql stable
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
  select array(
    select distinct j.account_id
      from unnest(tenants) t (id)
      cross join lateral private.judge_quarter(t.id, due_accounts.quarter, due_accounts.accounts) j
     where j.reason is null
     order by j.account_id)
$$;
comment on function private.due_accounts(uuid[], uuid[], date) is 'Which of these accounts have a month of a quarter that can be booked.';

create function private.settle_customers(partner uuid, quarter date, price numeric) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  house    constant uuid := private.house();
  most     constant int  := private.settled_at_once();
  people   uuid[];
  accounts uuid[];
  due      uuid[];
begin
  perform private.only_in_sandbox(), private.lock_payouts_of(partner);
  -- a reset locks accounts before their bookings too
  people := array(
    select a.id from core.attributions t
      join core.accounts a on a.partner_id = house and a.user_id = t.user_id
     where t.partner_id = partner and t.source in ('partner_upload', 'partner_invite')
     order by a.id for key share of a);
  accounts := array(select a.id from core.accounts a where a.partner_id = partner order by a.id for key share);
  due := private.due_accounts(array[house, partner], people || accounts, quarter);
  perform private.settle_accounts(house, due[1:most], quarter, price), private.settle_accounts(partner, due[1:most], quarter, price);
  perform private.pay_accounts(partner, people || accounts);
  perform private.act_for_partner(partner);
  insert into core.figures (partner_id, delivery_year)
  select partner, f.delivery_year from core.ere_factors f where f.delivery_year = extract(year from quarter)
  on conflict on constraint figures_pkey do nothing;
  if found then
    perform private.emit_published(partner, extract(year from quarter)::int);
  end if;
  return (private.settled_quarter(partner, people || accounts, quarter)::jsonb
          || jsonb_build_object('accounts_left', greatest(0, cardinality(due) - most)))::json;
end $$;
comment on function private.settle_customers(uuid, date, numeric) is
  'Settles a quarter of a partner''s CPO accounts and of the people it uploaded or invited, a thousand accounts at most, pays them, publishes the year''s figures to it, and says what is settled by now and how many accounts are left. Definer, because people are in the house, and only the operator books.';
grant execute on function private.settle_customers(uuid, date, numeric) to api_owner;

create function api.settle_sandbox(caller jsonb, input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  named   constant text := input ->> 'quarter';
  settled json;
begin
  perform private.act_as(caller, 'partner'), private.only_in_sandbox();
  settled := private.settle_customers(
    private.partner_id(), make_date(left(named, 4)::int, right(named, 1)::int * 3 - 2, 1), (input ->> 'price_per_ere')::numeric);
  if settled ->> 'booking_id' is null then
    perform private.refuse('nothing_to_settle', json_build_object('left_out', settled -> 'left_out'));
  end if;
  perform private.audit('sandbox.settled', private.partner_id(), jsonb_build_object('quarter', named));
  return json_build_object(
    'ok', true, 'quarter', named, 'booking_id', settled -> 'booking_id', 'accounts', settled -> 'accounts', 'kwh', settled -> 'kwh',
    'ere', settled -> 'ere', 'gross_eur', settled -> 'gross_eur', 'net_eur', settled -> 'net_eur', 'accounts_left', settled -> 'accounts_left',
    'left_out', settled -> 'left_out');
end $$;
comment on function api.settle_sandbox(jsonb, jsonb) is
  'POST /sandbox/v1/settle: {quarter, price_per_ere} to {ok, quarter, booking_id, accounts, kwh, ere, gross_eur, net_eur, accounts_left, left_out}. What is settled already stays as it is; the price is that of months which were not.';
select private.expose('api.settle_sandbox(jsonb, jsonb)', 'edge_slow');

-- Scheduled work: each call does what is due. The worker calls.

create function api.run_due_jobs(caller jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'worker');
  return json_build_object(
    'mandates_expired', private.expire_mandates(),
    'endings_announced', private.announce_endings(),
    'missing_asked', private.announce_missing(),
    'mail_purged', private.purge_mail(),
    'oauth_purged', private.purge_oauth(),
    'sessions_synced', private.sync_virtual_chargers(),
    'registrations_reviewed', private.review_due_registrations(),
    'partitions_made', private.make_due_partitions(),
    'events_swept', private.sweep_events(),
    -- last: whose bucket it deletes waits until this transaction ends
    'rate_limits_swept', private.sweep_rate_limits());
end $$;
comment on function api.run_due_jobs(jsonb) is 'Everything that is due, in one transaction: counts by job. Safe to call at any time, from several callers at once.';
select private.expose('api.run_due_jobs(jsonb)', 'edge_slow');

-- The weekly re-check of unverified connections.

create function private.due_ean_checks(size int) returns json
language sql security definer
set search_path = ''
as $$
  -- claimed for an hour by moving the last check; the result moves it again
  with claimed as (
    update core.connections c
       set ean_checked_at = private.now() - interval '7 days' + interval '1 hour'
     where (c.partner_id, c.id) in (
       select u.partner_id, u.id
         from core.connections u
         join core.mandates m on m.partner_id = u.partner_id and m.connection_id = u.id and m.status = 'signed'
        where u.status = 'active' and u.ean_validation_status = 'unverified' and u.ean_checked_at <= private.now() - interval '7 days'
        order by u.ean_checked_at limit size for update of u skip locked)
    returning c.*)
  select coalesce(json_agg(json_build_object(
           'partner_id', c.partner_id, 'connection_id', c.id, 'ean_code', c.ean_code, 'postal_code', l.postal_code,
           'house_number', l.house_number, 'house_number_addition', l.house_number_addition)), '[]')
    from claimed c join core.locations l on l.partner_id = c.partner_id and l.id = c.location_id
$$;
comment on function private.due_ean_checks(int) is 'Signed connections whose EAN has been unverified for a week. Definer: every tenant at once.';
grant execute on function private.due_ean_checks(int) to api_owner;

create function api.due_ean_checks(caller jsonb, batch jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'worker');
  return private.due_ean_checks((batch ->> 'size')::int);
end $$;
comment on function api.due_ean_checks(jsonb, jsonb) is
  'The next connections to re-check: {size} to [{partner_id, connection_id, ean_code, postal_code, house_number, house_number_addition}].';
select private.expose('api.due_ean_checks(jsonb, jsonb)', 'edge_slow');

create function api.record_ean_recheck(caller jsonb, due jsonb, ean_register jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  connection core.connections;
  checked    record;
  result     text;
begin
  perform private.act_as(caller, 'worker'), private.act_for_partner((due ->> 'partner_id')::uuid);
  select c.* into connection from core.connections c
   where c.partner_id = private.partner_id() and c.id = (due ->> 'connection_id')::uuid for update;
  -- corrected, archived or settled by an operator meanwhile: that result stands
  if connection.ean_code is distinct from due ->> 'ean_code' or connection.ean_validation_status <> 'unverified' then
    return json_build_object('ean_validation_status', connection.ean_validation_status);
  end if;
  select * into checked
    from private.check_ean(connection.ean_code, due ->> 'postal_code', (due ->> 'house_number')::int, due ->> 'house_number_addition', ean_register);
  result := case checked.outcome when 'matched' then 'matched' when 'mismatch' then 'mismatch'
                                 when 'unknown_address' then 'not_found' else 'unverified' end;
  update core.connections c set ean_validation_status = result, ean_checked_at = private.now()
   where c.partner_id = connection.partner_id and c.id = connection.id;
  perform private.record_ean_check(connection.id, connection.ean_code, due ->> 'postal_code', (due ->> 'house_number')::int,
    due ->> 'house_number_addition', checked.source, checked.outcome, checked.reason);
  if result <> 'unverified' then
    perform private.emit('ean.status_changed', connection.account_id, connection.id,
                         jsonb_build_object('connection_id', connection.id, 'ean_validation_status', result));
  end if;
  perform private.advance_registration(connection.account_id, result = 'matched');
  perform private.audit('connection.rechecked', connection.id, jsonb_build_object('ean_validation_status', result));
  return json_build_object('ean_validation_status', result);
end $$;
comment on function api.record_ean_recheck(jsonb, jsonb, jsonb) is
  'The EAN register''s answer for a due connection: matched, mismatch, not_found, or unverified for another week.';
select private.expose('api.record_ean_recheck(jsonb, jsonb, jsonb)', 'edge_slow');

-- The operator on the host that the database belongs to.

create function ops.host_show(input jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
declare
  deployment core.deployment;
begin
  select * into deployment from core.deployment;
  if not found then
    perform private.refuse('host_not_set');
  end if;
  return json_build_object('host', json_build_object('host', deployment.host, 'key_prefix', deployment.key_prefix, 'set_at', private.iso(deployment.set_at)));
end $$;
comment on function ops.host_show(jsonb) is 'The host of this database: {} to {host}.';
select private.expose_ops('ops.host_show(jsonb)');

create function ops.host_set(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  wanted  constant text := input ->> 'host';
  changed boolean;
begin
  perform private.act_as_operator(input);
  insert into core.deployment (host, key_prefix) values (wanted, coalesce(input ->> 'key_prefix', 'ere')) on conflict on constraint deployment_pkey do nothing;
  changed := found;
  if not changed and private.host() <> wanted then
    -- a mistake is undone as long as nobody is here
    if exists (select from core.partners p where p.id <> private.house()) or exists (select from core.oauth_clients)
       or exists (select from core.accounts) or exists (select from core.chargers) or exists (select from core.personal_tokens) then
      perform private.refuse('host_is_set', json_build_object('host', private.host()));
    end if;
    update core.deployment set host = wanted, set_at = private.now();
    changed := true;
  end if;
  update core.deployment d set key_prefix = input ->> 'key_prefix' where d.key_prefix <> input ->> 'key_prefix';
  changed := changed or found;
  if changed then
    perform private.audit('host.set', null, jsonb_build_object('host', wanted, 'key_prefix', (select d.key_prefix from core.deployment d)));
  end if;
  return (ops.host_show(input)::jsonb || jsonb_build_object('changed', changed))::json;
end $$;
comment on function ops.host_set(jsonb) is
  'Says which host this database belongs to, and what its keys begin with: {host, key_prefix?} to {changed, host}. Another host is refused once it is another one''s and has partners, clients or customers.';
select private.expose_ops('ops.host_set(jsonb)');

-- Logins of operators, one a person. Whoever owns the database makes them; the role operator has no right to make any.

create function private.login_row(role name) returns json
language sql stable
set search_path = ''
as $$
  select json_build_object('login', substr(r.rolname, length('operator_') + 1), 'role', r.rolname, 'enabled', r.rolcanlogin)
    from pg_catalog.pg_roles r where r.rolname = role
$$;

create function private.login_create(input jsonb) returns json
language plpgsql
set search_path = ''
as $$
declare
  role    constant name := 'operator_' || (input ->> 'name');
  setting text;
begin
  perform private.act_as_operator(input);
  if coalesce(input ->> 'name', '') !~ '^[a-z][a-z0-9]{0,30}$' then
    perform private.refuse('invalid_login');
  elsif exists (select from pg_catalog.pg_roles r where r.rolname = role) then
    perform private.refuse('login_taken', json_build_object('login', input ->> 'name'));
  end if;
  execute format('create role %I login password %L', role, input ->> 'verifier');
  execute format('grant operator to %I with inherit true, set false', role);
  -- how long a statement may take is not inherited
  for setting in
    select unnest(s.setconfig) from pg_catalog.pg_db_role_setting s where s.setrole = 'operator'::regrole and s.setdatabase = 0
  loop
    execute format('alter role %I set %I = %L', role, split_part(setting, '=', 1), split_part(setting, '=', 2));
  end loop;
  perform private.audit('operator.login_created', null, jsonb_build_object('role', role));
  return json_build_object('login', private.login_row(role));
end $$;
comment on function private.login_create(jsonb) is
  'A login of one operator: {name, verifier} to {login}. verifier is the SCRAM-SHA-256 verifier of its password. With the rights of who calls: of the owner of the database, who alone may make roles.';

create function private.login_disable(input jsonb) returns json
language plpgsql
set search_path = ''
as $$
declare
  role    constant name := 'operator_' || (input ->> 'name');
  enabled boolean;
begin
  perform private.act_as_operator(input);
  select r.rolcanlogin into enabled from pg_catalog.pg_roles r where r.rolname = role;
  if not found then
    perform private.refuse('login_not_found', json_build_object('login', input ->> 'name'));
  end if;
  if enabled then
    execute format('alter role %I nologin', role);
    perform private.audit('operator.login_disabled', null, jsonb_build_object('role', role));
  end if;
  return json_build_object('changed', enabled, 'login', private.login_row(role));
end $$;
comment on function private.login_disable(jsonb) is
  'Ends a login of an operator: {name} to {changed, login}. The role stays, so that its name is never another person''s. With the rights of who calls, as login_create.';

create function ops.login_list(input jsonb) returns json
language sql stable security definer
set search_path = ''
as $$
  select json_build_object('logins', coalesce(json_agg(private.login_row(r.rolname) order by r.rolname), '[]'))
    from pg_catalog.pg_roles r where r.rolname ~ '^operator_[a-z]'
$$;
comment on function ops.login_list(jsonb) is 'Every operator''s login, by name: {} to {logins}.';
select private.expose_ops('ops.login_list(jsonb)');

-- The operator on partners: create, list, activate, settings, managers, the first key.

create function private.partner_named(named text) returns core.partners
language plpgsql
set search_path = ''
as $$
declare
  partner core.partners;
begin
  select * into partner from core.partners p where p.id = private.as_uuid(named) or p.slug = named;
  if not found then
    perform private.refuse('partner_not_found', json_build_object('partner', named));
  end if;
  perform private.act_for_partner(partner.id);
  return partner;
end $$;
comment on function private.partner_named(text) is 'The partner of an id or a slug, made the tenant of this transaction.';

create function private.business_named(named text) returns core.partners
language plpgsql
set search_path = ''
as $$
declare
  partner constant core.partners := private.partner_named(named);
begin
  if partner.id = private.house() then
    perform private.refuse('house_has_no_clients');
  end if;
  return partner;
end $$;
comment on function private.business_named(text) is 'The partner of an id or a slug, as partner_named, for what the house does not have: somebody who acts for it.';

create function private.partner_row(partner core.partners) returns json
language sql stable
set search_path = ''
as $$
  select json_build_object('id', partner.id, 'name', partner.name, 'slug', partner.slug, 'is_active', partner.is_active,
                           'created_at', private.iso(partner.created_at))
$$;

create function ops.partner_create(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  name    constant text := private.operator_name(input ->> 'name');
  -- letters lose their accents: Énergie becomes energie
  slug    constant text := coalesce(input ->> 'slug', btrim(left(btrim(regexp_replace(regexp_replace(
    lower(normalize(name, nfkd)), '[\u0300-\u036f]', '', 'g'), '[^a-z0-9]+', '-', 'g'), '-'), 60), '-'));
  partner core.partners;
begin
  perform private.act_as_operator(input);
  -- an id must never be read as somebody's slug
  if slug !~ '^[a-z0-9]+(-[a-z0-9]+)*$' or length(slug) > 60 or private.as_uuid(slug) is not null then
    perform private.refuse('invalid_slug');
  end if;
  insert into core.partners (name, slug) values (name, slug)
  on conflict on constraint partners_slug_key do nothing
  returning * into partner;
  if partner.id is null then
    perform private.refuse('slug_taken', json_build_object('slug', slug));
  end if;
  perform private.act_for_partner(partner.id), private.audit('partner.created', partner.id);
  return json_build_object('partner', private.partner_row(partner));
end $$;
comment on function ops.partner_create(jsonb) is 'Makes a partner, active at once: {name, slug?} to {partner}. The slug comes from the name where none is given.';
select private.expose_ops('ops.partner_create(jsonb)');

create function ops.partner_list(input jsonb) returns json
language sql stable security definer
set search_path = ''
as $$
  select json_build_object('partners', coalesce(json_agg(private.partner_row(p) order by p.slug), '[]')) from core.partners p
$$;
comment on function ops.partner_list(jsonb) is 'Every partner, by slug: {} to {partners}.';
select private.expose_ops('ops.partner_list(jsonb)');

create function private.set_partner_active(input jsonb, wanted boolean) returns json
language plpgsql
set search_path = ''
as $$
declare
  partner core.partners;
  changed boolean;
begin
  perform private.act_as_operator(input);
  partner := private.partner_named(input ->> 'partner');
  if partner.id = private.house() and not wanted then
    perform private.refuse('house_stays_active');
  end if;
  update core.partners p set is_active = wanted where p.id = partner.id and p.is_active <> wanted;
  changed := found;
  if changed then
    partner.is_active := wanted;
    perform private.audit(case when wanted then 'partner.activated' else 'partner.deactivated' end, partner.id);
  end if;
  return json_build_object('changed', changed, 'partner', private.partner_row(partner));
end $$;

create function ops.partner_activate(input jsonb) returns json
language sql security definer
set search_path = ''
as $$ select private.set_partner_active(input, true) $$;
comment on function ops.partner_activate(jsonb) is 'Lets a partner''s credentials in again: {partner} to {changed, partner}.';
select private.expose_ops('ops.partner_activate(jsonb)');

create function ops.partner_deactivate(input jsonb) returns json
language sql security definer
set search_path = ''
as $$ select private.set_partner_active(input, false) $$;
comment on function ops.partner_deactivate(jsonb) is 'Refuses a partner''s credentials from now on; its data stays: {partner} to {changed, partner}.';
select private.expose_ops('ops.partner_deactivate(jsonb)');

create function private.read_return_url(url text) returns text
language plpgsql immutable
set search_path = ''
as $$
declare
  -- return URLs continue with / or ?, so a slash at the end would allow none
  wanted constant text := rtrim(url, '/');
begin
  if length(wanted) > 500 or wanted !~ '^(https://[^/?#@[:space:][:cntrl:]]+|http://(localhost|127\.0\.0\.1)(:[0-9]+)?)(/[^?#[:space:][:cntrl:]]*)?$' then
    perform private.refuse('invalid_return_url');
  end if;
  return wanted;
end $$;
comment on function private.read_return_url(text) is
  'The root of a client''s return URLs: https, or http on this machine; no credentials, query or fragment. Null stays null.';

create function private.partner_settings(partner core.partners) returns json
language sql stable
set search_path = ''
as $$
  select json_build_object(
    'id', partner.id, 'slug', partner.slug, 'name', partner.name, 'is_active', partner.is_active, 'return_url', partner.return_url,
    'referral_code', partner.referral_code, 'default_fee_pct', partner.default_fee_pct, 'partner_share_pct', partner.partner_share_pct,
    'charger_brands', partner.charger_brands, 'locale', partner.locale, 'mandate_years', partner.mandate_years,
    'vat_regime', partner.vat_regime)
$$;
comment on function private.partner_settings(core.partners) is 'A partner as the operator''s partner set shows it.';

create function ops.partner_set(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  before core.partners;
  after  core.partners;
begin
  perform private.act_as_operator(input);
  before := private.business_named(input ->> 'partner');
  begin
    update core.partners p
       set return_url        = coalesce(private.read_return_url(input ->> 'return_url'), p.return_url),
           referral_code     = coalesce(upper(input ->> 'referral_code'), p.referral_code),
           default_fee_pct   = coalesce((input ->> 'fee_pct')::numeric, p.default_fee_pct),
           partner_share_pct = coalesce((input ->> 'share_pct')::numeric, p.partner_share_pct),
           vat_regime        = coalesce(input ->> 'vat_regime', p.vat_regime),
           locale            = case when input ? 'locale' then nullif(input ->> 'locale', 'any') else p.locale end,
           mandate_years     = case when input ? 'mandate_years' then nullif(input ->> 'mandate_years', 'any')::int else p.mandate_years end,
           charger_brands    = case when jsonb_typeof(input -> 'charger_brands') = 'array' then array(
                                 select b.brand from core.charger_brands b join jsonb_array_elements_text(input -> 'charger_brands') w (brand)
                                     on lower(w.brand) = lower(b.brand) order by 1) else p.charger_brands end
     where p.id = before.id
    returning * into after;
  exception
    when check_violation or numeric_value_out_of_range or invalid_text_representation then
      perform private.refuse('invalid_partner_setting');
    when unique_violation then
      perform private.refuse('referral_code_taken', json_build_object('referral_code', upper(input ->> 'referral_code')));
  end;
  if cardinality(after.charger_brands) < coalesce(jsonb_array_length(input -> 'charger_brands'), 0) then
    perform private.refuse('unknown_charger_brand');
  end if;
  if after is distinct from before then
    perform private.audit('partner.settings_changed', after.id);
  end if;
  return json_build_object('changed', after is distinct from before, 'partner', private.partner_settings(after));
end $$;
comment on function ops.partner_set(jsonb) is
  'Sets what is given: {partner, return_url?, referral_code?, fee_pct?, share_pct?, charger_brands?, locale?, mandate_years?, vat_regime?} to {changed, partner}.';
select private.expose_ops('ops.partner_set(jsonb)');

create function ops.partner_add_manager(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  partner core.partners;
  person  uuid;
  claimed record;
begin
  perform private.act_as_operator(input);
  partner := private.business_named(input ->> 'partner');
  select u.id into person from auth.users u where u.email = lower(input ->> 'user');
  if not found then
    perform private.refuse('user_not_found', json_build_object('user', input ->> 'user'));
  end if;
  select * into claimed from private.claim_manager(person, partner.id);
  if claimed.manages <> partner.id then
    perform private.refuse('manages_another_partner', json_build_object('user', input ->> 'user'));
  end if;
  if claimed.added then
    perform private.audit('partner.manager_added', person);
  end if;
  return json_build_object('changed', claimed.added, 'manager', json_build_object('user_id', person, 'partner_id', partner.id, 'partner_slug', partner.slug));
end $$;
comment on function ops.partner_add_manager(jsonb) is 'Lets a person with a login manage a partner: {partner, user} to {changed, manager}. A person manages one.';
select private.expose_ops('ops.partner_add_manager(jsonb)');

create function ops.partner_mint_key(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  partner core.partners;
  minted  jsonb;
begin
  perform private.act_as_operator(input);
  partner := private.business_named(input ->> 'partner');
  if private.host() is null then
    perform private.refuse('host_not_set');
  elsif input ->> 'prefix' <> (select d.key_prefix || case d.host when 'sandbox' then '_test_' else '_live_' end from core.deployment d) then
    perform private.refuse('key_of_another_host', json_build_object('host', private.host()));
  end if;
  perform from core.partners p where p.id = partner.id for no key update;
  minted := private.store_partner_key(input, coalesce((input ->> 'rotate')::boolean, false));
  if minted is null then
    perform private.refuse('api_key_exists');
  end if;
  return json_build_object('key', minted || jsonb_build_object('partner_id', partner.id, 'partner_slug', partner.slug));
end $$;
comment on function ops.partner_mint_key(jsonb) is 'The first API key of a partner, or its successor: {partner, rotate?, key_hash, prefix, last4} to {key}. The prefix says the deployment and the host, which must be this one.';
select private.expose_ops('ops.partner_mint_key(jsonb)');

-- The operator on clients of charge-point operators: create, list, rotate the secret, disable, change scopes, link to a partner.

create function private.client_named(named text) returns core.oauth_clients
language plpgsql
set search_path = ''
as $$
declare
  client core.oauth_clients;
begin
  select * into client from core.oauth_clients c where c.id = private.as_uuid(named) or c.client_id = named for update;
  if not found then
    perform private.refuse('client_not_found', json_build_object('client', named));
  end if;
  perform private.act_for_partner(client.partner_id);
  return client;
end $$;
comment on function private.client_named(text) is 'The client of an id or a client_id, locked, and its partner made the tenant of this transaction.';

create function private.client_row(client core.oauth_clients) returns json
language sql stable
set search_path = ''
as $$
  select json_build_object(
    'id', client.id,
    'client_id', client.client_id,
    'name', client.name,
    'partner_id', client.partner_id,
    'partner_slug', (select p.slug from core.partners p where p.id = client.partner_id),
    'scopes', client.scopes,
    'return_url', client.return_url,
    'secret_rotated_at', private.iso(client.secret_rotated_at),
    'tokens_valid_from', private.iso(nullif(client.tokens_valid_from, '-infinity')),
    'disabled_at', private.iso(client.disabled_at),
    'created_at', private.iso(client.created_at))
$$;
comment on function private.client_row(core.oauth_clients) is 'A client as the operator sees it: everything but the secret''s hash.';

create function ops.client_create(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  client core.oauth_clients;
begin
  perform private.act_as_operator(input);
  insert into core.oauth_clients (client_id, partner_id, name, secret_hash, scopes, return_url)
  values (input ->> 'client_id',
          case when input ->> 'partner' is not null then (private.business_named(input ->> 'partner')).id end,
          private.operator_name(input ->> 'name'),
          decode(input ->> 'secret_hash', 'hex'),
          case when input ->> 'scopes' is null then private.scopes_of('client') else private.read_scopes(input -> 'scopes', 'client') end,
          private.read_return_url(input ->> 'return_url'))
  on conflict on constraint oauth_clients_client_id_key do nothing
  returning * into client;
  if client.id is null then
    perform private.refuse('client_id_taken', json_build_object('client_id', input ->> 'client_id'));
  end if;
  perform private.audit('client.created', client.id, jsonb_build_object('scopes', client.scopes));
  return json_build_object('client', private.client_row(client));
end $$;
comment on function ops.client_create(jsonb) is
  'Provisions a CPO client: {partner?, name, scopes?, return_url?, client_id, secret_hash} to {client}. secret_hash is the SHA-256 in hex; without scopes it gets all; without partner it waits for client_link.';
select private.expose_ops('ops.client_create(jsonb)');

create function ops.client_list(input jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
declare
  partner uuid;
begin
  if input ->> 'partner' is not null then
    partner := (private.partner_named(input ->> 'partner')).id;
  end if;
  return (
    select json_build_object('clients', coalesce(json_agg(private.client_row(c) order by c.created_at desc, c.id), '[]'))
      from core.oauth_clients c where partner is null or c.partner_id = partner);
end $$;
comment on function ops.client_list(jsonb) is 'Clients, newest first, disabled ones included: {partner?} to {clients}. Never a secret.';
select private.expose_ops('ops.client_list(jsonb)');

create function ops.client_rotate_secret(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  client core.oauth_clients;
  revoke constant boolean := coalesce((input ->> 'revoke_tokens')::boolean, false);
begin
  perform private.act_as_operator(input);
  client := private.client_named(input ->> 'client');
  if client.disabled_at is not null then
    perform private.refuse('client_disabled', json_build_object('client', client.client_id));
  end if;
  update core.oauth_clients c
     set secret_hash = decode(input ->> 'secret_hash', 'hex'),
         secret_rotated_at = private.now(),
         tokens_valid_from = case when revoke then private.now() else c.tokens_valid_from end
   where c.id = client.id returning * into client;
  perform private.audit('client.secret_rotated', client.id, jsonb_build_object('revoke_tokens', revoke));
  return json_build_object('client', private.client_row(client));
end $$;
comment on function ops.client_rotate_secret(jsonb) is
  'Replaces the secret; the old one is dead at once: {client, secret_hash, revoke_tokens?} to {client}. revoke_tokens also ends every token issued before.';
select private.expose_ops('ops.client_rotate_secret(jsonb)');

create function ops.client_disable(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  client  core.oauth_clients;
  changed boolean;
begin
  perform private.act_as_operator(input);
  client := private.client_named(input ->> 'client');
  changed := client.disabled_at is null;
  if changed then
    update core.oauth_clients c set disabled_at = private.now() where c.id = client.id returning * into client;
    perform private.audit('client.disabled', client.id);
  end if;
  return json_build_object('changed', changed, 'client', private.client_row(client));
end $$;
comment on function ops.client_disable(jsonb) is 'Ends a client for good: its secret and its tokens stop at once: {client} to {changed, client}.';
select private.expose_ops('ops.client_disable(jsonb)');

create function ops.client_set_scopes(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  client  core.oauth_clients;
  wanted  constant text[] := private.read_scopes(input -> 'scopes', 'client');
  changed boolean;
begin
  perform private.act_as_operator(input);
  client := private.client_named(input ->> 'client');
  changed := not (client.scopes <@ wanted and client.scopes @> wanted);
  if changed then
    perform private.audit('client.scopes_set', client.id, jsonb_build_object('before', client.scopes, 'after', wanted));
    update core.oauth_clients c set scopes = wanted where c.id = client.id returning * into client;
  end if;
  return json_build_object('changed', changed, 'client', private.client_row(client));
end $$;
comment on function ops.client_set_scopes(jsonb) is
  'Replaces the scopes of a client: {client, scopes} to {changed, client}. A scope taken away stops in issued tokens too.';
select private.expose_ops('ops.client_set_scopes(jsonb)');

create function ops.client_link(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  client  core.oauth_clients;
  partner core.partners;
  changed boolean;
begin
  perform private.act_as_operator(input);
  client := private.client_named(input ->> 'client');
  partner := private.business_named(input ->> 'partner');
  changed := client.partner_id is distinct from partner.id;
  if changed then
    -- accounts stay with the tenant they were created in: the client would lose them
    if exists (select from core.accounts a where a.client_id = client.id) then
      perform private.refuse('client_has_accounts', json_build_object('client', client.client_id));
    end if;
    update core.oauth_clients c set partner_id = partner.id where c.id = client.id returning * into client;
    perform private.audit('client.linked', client.id);
  end if;
  return json_build_object('changed', changed, 'client', private.client_row(client));
end $$;
comment on function ops.client_link(jsonb) is 'Binds a client to a partner: {client, partner} to {changed, client}. Refused once the client has created accounts under another.';
select private.expose_ops('ops.client_link(jsonb)');

-- The operator on rate limits: list, set for all or for one, reset.

create function private.rate_limit_row(bucket text, client uuid) returns json
language sql stable
set search_path = ''
as $$
  select json_build_object(
    'bucket', l.bucket,
    'client_id', (select c.client_id from core.oauth_clients c where c.id = client),
    'quota', coalesce(o.quota, l.quota),
    'window_seconds', l.window_seconds,
    'is_default', o.quota is null)
  from core.rate_limits l
  left join core.rate_limit_overrides o on o.bucket = l.bucket and o.subject = 'client:' || client
  where l.bucket = rate_limit_row.bucket
$$;

create function ops.rate_limit_list(input jsonb) returns json
language sql stable security definer
set search_path = ''
as $$
  select json_build_object('rate_limits', coalesce(json_agg(private.rate_limit_row(r.bucket, r.client) order by r.bucket, r.client nulls first), '[]'))
    from (select l.bucket, null::uuid as client from core.rate_limits l
          union all
          select o.bucket, private.as_uuid(substr(o.subject, 8)) from core.rate_limit_overrides o where o.subject like 'client:%') r
$$;
comment on function ops.rate_limit_list(jsonb) is 'Every bucket''s quota, and the clients that have their own: {} to {rate_limits}.';
select private.expose_ops('ops.rate_limit_list(jsonb)');

create function private.bucket_named(bucket text, of_a_client boolean) returns void
language plpgsql
set search_path = ''
as $$
declare
  buckets text[] := array(
    select l.bucket from core.rate_limits l
     -- the others count addresses, links and people
     where not of_a_client or l.bucket = 'token' or l.bucket like 'cpo\_%' order by l.bucket);
begin
  if bucket is null or not bucket = any (buckets) then
    perform private.refuse('unknown_bucket', json_build_object('bucket', bucket, 'buckets', buckets));
  end if;
end $$;

create function ops.rate_limit_set(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  named   constant text := input ->> 'bucket';
  wanted  constant numeric := (input ->> 'quota')::numeric;
  client  uuid;
  changed boolean;
begin
  perform private.act_as_operator(input), private.bucket_named(named, input ->> 'client' is not null);
  -- beyond a million the time between two requests comes near the clock's microsecond
  if wanted is null or wanted not between 1 and 1000000 or wanted <> trunc(wanted) then
    perform private.refuse('invalid_quota');
  end if;
  if input ->> 'client' is null then
    update core.rate_limits l set quota = wanted where l.bucket = named and l.quota <> wanted;
  else
    client := (private.client_named(input ->> 'client')).id;
    insert into core.rate_limit_overrides as o (subject, bucket, quota) values ('client:' || client, named, wanted)
    on conflict on constraint rate_limit_overrides_pkey do update set quota = excluded.quota where o.quota <> excluded.quota;
  end if;
  changed := found;
  if changed then
    perform private.audit('rate_limit.set', client, jsonb_build_object('bucket', named, 'quota', wanted));
  end if;
  return json_build_object('changed', changed, 'rate_limit', private.rate_limit_row(named, client));
end $$;
comment on function ops.rate_limit_set(jsonb) is
  'Sets how many requests a bucket holds, for everybody or for one client: {bucket, quota, client?} to {changed, rate_limit}. In force at once.';
select private.expose_ops('ops.rate_limit_set(jsonb)');

create function ops.rate_limit_reset(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  named   constant text := input ->> 'bucket';
  client  uuid;
  changed boolean;
begin
  perform private.act_as_operator(input), private.bucket_named(named, true);
  client := (private.client_named(input ->> 'client')).id;
  delete from core.rate_limit_overrides o where o.subject = 'client:' || client and o.bucket = named;
  changed := found;
  if changed then
    perform private.audit('rate_limit.reset', client, jsonb_build_object('bucket', named));
  end if;
  return json_build_object('changed', changed, 'rate_limit', private.rate_limit_row(named, client));
end $$;
comment on function ops.rate_limit_reset(jsonb) is 'Puts a client back to the bucket''s own quota: {bucket, client} to {changed, rate_limit}.';
select private.expose_ops('ops.rate_limit_reset(jsonb)');

-- The operator on applications: register, list, rotate the secret, disable, link to a partner.

create function private.app_named(named text) returns core.oauth_clients
language plpgsql
set search_path = ''
as $$
declare
  app core.oauth_clients;
begin
  select * into app from core.oauth_clients c
   where (c.id = private.as_uuid(named) or c.client_id = named) and 'authorization_code' = any (c.grant_types) for update;
  if not found then
    perform private.refuse('app_not_found', json_build_object('app', named));
  end if;
  perform private.act_for_partner(app.partner_id);
  return app;
end $$;
comment on function private.app_named(text) is 'The application of an id or a client_id, locked, and its partner made the tenant of this transaction.';

create function private.app_row(app uuid) returns json
language sql stable
set search_path = ''
as $$
  select json_build_object(
    'id', c.id,
    'client_id', c.client_id,
    'name', c.name,
    'operated_by', c.operated_by,
    'partner_id', c.partner_id,
    'partner_slug', (select p.slug from core.partners p where p.id = c.partner_id),
    'redirect_uris', c.redirect_uris,
    'scopes', c.scopes,
    'people', (select count(*) from core.oauth_consents o where o.client_id = c.id and o.withdrawn_at is null),
    'secret_rotated_at', private.iso(c.secret_rotated_at),
    'disabled_at', private.iso(c.disabled_at),
    'created_at', private.iso(c.created_at))
  from core.oauth_clients c where c.id = app
$$;
comment on function private.app_row(uuid) is 'An application as the operator sees it, with how many people use it: everything but the secret''s hash.';

create function private.read_redirect_uris(uris jsonb) returns text[]
language plpgsql immutable
set search_path = ''
as $$
declare
  wanted constant text[] := array(select distinct jsonb_array_elements_text(uris));
begin
  -- compared letter for letter later on, so what is registered must be plain: https, or http on the machine itself; ASCII; no
  -- credentials, no fragment (RFC 6749 section 3.1.2, RFC 9700 section 2.1)
  if cardinality(wanted) not between 1 and 10 or exists (
    select from unnest(wanted) uri
     where length(uri) > 500 or uri ~ '[^!-~]' or uri ~ '[\\"<>^`{|}#]'
        or uri !~ '^(https://[^/?@]+|http://(localhost|127\.0\.0\.1|\[::1\])(:[0-9]+)?)([/?].*)?$') then
    perform private.refuse('invalid_redirect_uris');
  end if;
  return wanted;
end $$;
comment on function private.read_redirect_uris(jsonb) is 'One to ten redirect URIs, each once.';

create function ops.app_create(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  app uuid;
begin
  perform private.act_as_operator(input);
  insert into core.oauth_clients (client_id, partner_id, name, operated_by, secret_hash, grant_types, scopes, redirect_uris)
  values (input ->> 'client_id',
          case when input ->> 'partner' is not null then (private.business_named(input ->> 'partner')).id end,
          private.operator_name(input ->> 'name'),
          private.operator_name(input ->> 'operated_by'),
          decode(input ->> 'secret_hash', 'hex'),
          '{authorization_code,refresh_token}',
          private.read_scopes(input -> 'scopes', 'user'),
          private.read_redirect_uris(input -> 'redirect_uris'))
  on conflict on constraint oauth_clients_client_id_key do nothing
  returning id into app;
  if app is null then
    perform private.refuse('client_id_taken', json_build_object('client_id', input ->> 'client_id'));
  end if;
  perform private.audit('app.created', app, jsonb_build_object('scopes', input -> 'scopes', 'redirect_uris', input -> 'redirect_uris'));
  return json_build_object('app', private.app_row(app));
end $$;
comment on function ops.app_create(jsonb) is
  'Registers an application that acts for people: {name, operated_by, redirect_uris, scopes, partner?, client_id, secret_hash} to {app}. secret_hash is the SHA-256 in hex.';
select private.expose_ops('ops.app_create(jsonb)');

create function ops.app_list(input jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
declare
  partner uuid;
begin
  if input ->> 'partner' is not null then
    partner := (private.partner_named(input ->> 'partner')).id;
  end if;
  return (
    select json_build_object('apps', coalesce(json_agg(private.app_row(c.id) order by c.created_at desc, c.id), '[]'))
      from core.oauth_clients c
     where 'authorization_code' = any (c.grant_types) and (partner is null or c.partner_id = partner));
end $$;
comment on function ops.app_list(jsonb) is 'Applications, newest first, disabled ones included: {partner?} to {apps}. Never a secret.';
select private.expose_ops('ops.app_list(jsonb)');

create function ops.app_rotate_secret(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  app core.oauth_clients := private.app_named(input ->> 'app');
begin
  perform ops.client_rotate_secret(input || jsonb_build_object('client', app.client_id));
  return json_build_object('app', private.app_row(app.id));
end $$;
comment on function ops.app_rotate_secret(jsonb) is
  'Replaces the secret; the old one is dead at once: {app, secret_hash, revoke_tokens?} to {app}. revoke_tokens also ends every access token issued before.';
select private.expose_ops('ops.app_rotate_secret(jsonb)');

create function ops.app_disable(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  app     core.oauth_clients := private.app_named(input ->> 'app');
  outcome json;
begin
  outcome := ops.client_disable(input || jsonb_build_object('client', app.client_id));
  return json_build_object('changed', outcome -> 'changed', 'app', private.app_row(app.id));
end $$;
comment on function ops.app_disable(jsonb) is 'Ends an application for good: its secret and every token it holds stop at once: {app} to {changed, app}.';
select private.expose_ops('ops.app_disable(jsonb)');

create function ops.app_link(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  app     core.oauth_clients := private.app_named(input ->> 'app');
  outcome json;
begin
  outcome := ops.client_link(input || jsonb_build_object('client', app.client_id));
  return json_build_object('changed', outcome -> 'changed', 'app', private.app_row(app.id));
end $$;
comment on function ops.app_link(jsonb) is
  'Lets an application belong to a partner, which its users'' first consents attribute from then on: {app, partner} to {changed, app}.';
select private.expose_ops('ops.app_link(jsonb)');

-- The operator on connections: list, add, set the EAN, archive.

create function private.connections_named(named text) returns setof core.connections
language sql stable
set search_path = ''
as $$
  -- the indexes begin with the tenant; naming every tenant lets them serve a search across tenants
  select c.* from core.connections c
   where c.partner_id = any (array(select p.id from core.partners p)) and c.id = private.as_uuid(named)
  union
  select c.* from core.connections c
   where c.partner_id = any (array(select p.id from core.partners p)) and c.account_id = private.as_uuid(named)
  union
  select c.* from core.connections c where c.status = 'active' and c.ean_exclusive and c.ean_code = named
  union
  select c.* from core.connections c where c.status = 'archived' and c.ean_code = named
  union
  -- no index holds the sandbox's test EANs, which many have
  select c.* from core.connections c where private.is_test_ean(named) and c.ean_code = named
  union
  select c.*
    from core.oauth_clients k
    join core.accounts a on a.partner_id = k.partner_id and a.client_id = k.id and a.cpo_external_ref = named
    join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id
$$;
comment on function private.connections_named(text) is 'Connections by connection id, account id, EAN or cpo_external_ref: whatever the operator has at hand.';

create function private.connection_named(named text) returns core.connections
language plpgsql
set search_path = ''
as $$
declare
  candidates core.connections[] := array(
    select c from private.connections_named(named) c where c.status = 'active' or c.id = private.as_uuid(named));
  connection core.connections;
begin
  if cardinality(candidates) = 0 then
    perform private.refuse('connection_not_found', json_build_object('connection', named));
  elsif cardinality(candidates) > 1 then
    perform private.refuse('connection_ambiguous', json_build_object('connection', named));
  end if;
  perform private.act_for_partner((candidates[1]).partner_id);
  select * into connection from core.connections c
   where c.partner_id = private.partner_id() and c.id = (candidates[1]).id for update;
  return connection;
end $$;
comment on function private.connection_named(text) is
  'The one active connection that is meant, or an archived one by its own id; locked, and its partner made the tenant of this transaction.';

create function private.active_connection_named(named text) returns core.connections
language plpgsql
set search_path = ''
as $$
declare
  connection constant core.connections := private.connection_named(named);
begin
  if connection.status = 'archived' then
    perform private.refuse('connection_archived', json_build_object('connection', connection.id));
  end if;
  return connection;
end $$;

create function private.connection_row(partner uuid, connection uuid) returns json
language sql stable
set search_path = ''
as $$
  select json_build_object(
    'connection_id', c.id,
    'account_id', c.account_id,
    'cpo_external_ref', a.cpo_external_ref,
    'partner_slug', p.slug,
    'ean_code', c.ean_code,
    'address', concat_ws(' ', l.postal_code, l.house_number, l.house_number_addition),
    'status', c.status,
    'registration_status', c.registration_status,
    'submitted_at', private.iso(c.submitted_at),
    'ean_validation_status', c.ean_validation_status,
    'mandate_status', m.mandate_status,
    'mandate_valid_from', m.valid_from,
    'mandate_valid_until', m.valid_until,
    'mandate_renewed_until', m.renewed_until,
    'checklist', case when g.connection_id is not null then json_build_object(
      'mandate_signed', g.mandate_signed, 'ean_validated', g.ean_validated,
      'mid_charger_registered', g.mid_charger_registered, 'iban_present', g.iban_present) end)
  from core.connections c
  join core.accounts a on a.partner_id = c.partner_id and a.id = c.account_id
  join core.partners p on p.id = c.partner_id
  join core.locations l on l.partner_id = c.partner_id and l.id = c.location_id
  join core.connection_mandates m on m.partner_id = c.partner_id and m.connection_id = c.id
  left join core.connection_gates g on g.partner_id = c.partner_id and g.connection_id = c.id
  where c.partner_id = partner and c.id = connection
$$;
comment on function private.connection_row(uuid, uuid) is 'A connection as the operator sees it; its checklist is null once archived.';

create function private.connection_answer(connection core.connections, changed boolean) returns json
language sql stable
set search_path = ''
as $$
  select json_build_object('changed', changed, 'connection', private.connection_row(connection.partner_id, connection.id))
$$;

create function ops.connection_list(input jsonb) returns json
language sql stable security definer
set search_path = ''
as $$
  select json_build_object('connections', coalesce(
           json_agg(private.connection_row(c.partner_id, c.id) order by c.created_at, c.id), '[]'))
    from private.connections_named(input ->> 'connection') c
$$;
comment on function ops.connection_list(jsonb) is
  'Connections, archived ones included, by connection id, account id, EAN or cpo_external_ref: {connection} to {connections}.';
select private.expose_ops('ops.connection_list(jsonb)');

create function private.account_named(named text) returns core.accounts
language plpgsql
set search_path = ''
as $$
declare
  candidates core.accounts[] := array(
    select a from core.accounts a
     where a.partner_id = any (array(select p.id from core.partners p)) and a.id = private.as_uuid(named)
    union
    select a
      from core.oauth_clients k
      join core.accounts a on a.partner_id = k.partner_id and a.client_id = k.id and a.cpo_external_ref = named);
begin
  if cardinality(candidates) = 0 then
    perform private.refuse('account_not_found', json_build_object('account', named));
  elsif cardinality(candidates) > 1 then
    perform private.refuse('account_ambiguous', json_build_object('account', named));
  end if;
  perform private.act_for_partner((candidates[1]).partner_id);
  return candidates[1];
end $$;
comment on function private.account_named(text) is 'The account of an id or a cpo_external_ref, its partner made the tenant of this transaction.';

create function ops.connection_add(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  account    core.accounts;
  connection core.connections;
begin
  perform private.act_as_operator(input);
  account := private.account_named(input ->> 'account');
  -- of parallel calls for one account the later ones wait here, and then find the connection
  perform from core.accounts a where a.partner_id = account.partner_id and a.id = account.id for no key update;
  select * into connection from core.connections c
   where c.partner_id = account.partner_id and c.account_id = account.id and c.status = 'active' and c.ean_code = input ->> 'ean_code';
  if found then
    return private.connection_answer(connection, false);
  end if;
  if not private.claim_ean(input ->> 'ean_code') then
    perform private.refuse('ean_in_use', json_build_object('ean_code', input ->> 'ean_code'));
  end if;
  -- the EAN register is asked by the weekly re-check, which finds this connection due as soon as its mandate is signed
  insert into core.connections (partner_id, account_id, location_id, ean_code, ean_exclusive, ean_validation_status, ean_checked_at)
  values (account.partner_id, account.id, private.location_for(input), input ->> 'ean_code', not private.is_test_ean(input ->> 'ean_code'),
          'unverified', '-infinity')
  returning * into connection;
  perform private.audit('connection.added', connection.id);
  return private.connection_answer(connection, true);
end $$;
comment on function ops.connection_add(jsonb) is
  'Gives an account one more connection, unverified: {account, ean_code, postal_code, house_number, house_number_addition?, street?, city?} to {changed, connection}.';
select private.expose_ops('ops.connection_add(jsonb)');

create function ops.connection_set_ean_status(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  connection core.connections;
  wanted     constant text := input ->> 'status';
begin
  perform private.act_as_operator(input);
  if wanted is null or wanted not in ('manual', 'unverified') then
    perform private.refuse('invalid_ean_status');
  end if;
  connection := private.active_connection_named(input ->> 'connection');
  if connection.ean_validation_status is not distinct from wanted then
    return private.connection_answer(connection, false);
  elsif wanted = 'unverified' and connection.ean_validation_status is distinct from 'manual' then
    -- an operator cannot take back what the EAN register answered
    perform private.refuse('ean_not_manual', json_build_object('ean_validation_status', connection.ean_validation_status));
  end if;
  update core.connections c set ean_validation_status = wanted
   where c.partner_id = connection.partner_id and c.id = connection.id;
  perform private.audit('connection.ean_status_set', connection.id,
                        jsonb_build_object('before', connection.ean_validation_status, 'after', wanted));
  perform private.emit('ean.status_changed', connection.account_id, connection.id,
                       jsonb_build_object('connection_id', connection.id, 'ean_validation_status', wanted));
  perform private.advance_registration(connection.account_id, wanted = 'manual');
  return private.connection_answer(connection, true);
end $$;
comment on function ops.connection_set_ean_status(jsonb) is
  'Vouches for an EAN (manual), or takes that back (unverified): {connection, status} to {changed, connection}. Submits the registration when this was the last gate.';
select private.expose_ops('ops.connection_set_ean_status(jsonb)');

create function private.has_signed_mandate(connection core.connections) returns boolean
language sql stable
set search_path = ''
as $$
  select m.mandate_status = 'signed' from core.connection_mandates m
   where m.partner_id = connection.partner_id and m.connection_id = connection.id
$$;

create function ops.connection_archive(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  connection core.connections;
begin
  perform private.act_as_operator(input);
  connection := private.connection_named(input ->> 'connection');
  if connection.status = 'archived' then
    return private.connection_answer(connection, false);
  end if;
  if private.has_signed_mandate(connection) then
    perform private.end_mandate(connection.id, 'revoked', 'connection_archived');
  end if;
  perform private.void_mandate_links(connection.id);
  -- otherwise a charger could not be registered again on another connection
  update core.chargers h set status = 'removed'
   where h.partner_id = connection.partner_id and h.connection_id = connection.id and h.status = 'active';
  update core.connections c set status = 'archived'
   where c.partner_id = connection.partner_id and c.id = connection.id;
  perform private.audit('connection.archived', connection.id);
  return private.connection_answer(connection, true);
end $$;
comment on function ops.connection_archive(jsonb) is
  'Retires a connection: {connection} to {changed, connection}. Its EAN and chargers are free again, a signed mandate is revoked, open links are void; it stays listed.';
select private.expose_ops('ops.connection_archive(jsonb)');

-- The operator on mandates: revoke.

create function ops.mandate_revoke(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  connection core.connections;
  status     text;
begin
  perform private.act_as_operator(input);
  connection := private.connection_named(input ->> 'connection');
  select m.mandate_status into status from core.connection_mandates m
   where m.partner_id = connection.partner_id and m.connection_id = connection.id;
  if status = 'revoked' then
    return private.connection_answer(connection, false);
  elsif status <> 'signed' then
    perform private.refuse('mandate_not_signed', json_build_object('mandate_status', status));
  end if;
  perform private.end_mandate(connection.id, 'revoked', case when (input ->> 'asked_by_customer')::boolean then 'customer' else 'operator' end);
  return private.connection_answer(connection, true);
end $$;
comment on function ops.mandate_revoke(jsonb) is
  'Revokes the signed mandate of a connection, and one for the years after it: {connection, asked_by_customer?} to {changed, connection}. Open months are judged again; where the customer asked, the whole months before stay covered. Locked ones and the registration stay.';
select private.expose_ops('ops.mandate_revoke(jsonb)');

-- The operator on chargers: list, confirm a MID meter.

create function private.charger_row(charger core.chargers) returns json
language sql stable
set search_path = ''
as $$
  select json_build_object(
    'charger_id', charger.id,
    'account_id', charger.account_id,
    'connection_id', charger.connection_id,
    'partner_slug', (select p.slug from core.partners p where p.id = charger.partner_id),
    'brand', m.brand,
    'model', m.model,
    'serial_number', charger.serial_number,
    'mid_eligible', charger.mid_eligible,
    'status', charger.status,
    'created_at', private.iso(charger.created_at))
  -- a person's charger has no model before it reports one
  from (values (charger.catalog_charger_id)) of_charger (id) left join core.charger_models m on m.id = of_charger.id
$$;

create function ops.charger_list(input jsonb) returns json
language sql stable security definer
set search_path = ''
as $$
  select json_build_object('chargers', coalesce(json_agg(private.charger_row(h) order by h.created_at, h.id), '[]'))
    from (select * from core.chargers h
           where h.status = 'active' and h.mid_eligible is null
           order by h.created_at, h.id limit coalesce((input ->> 'limit')::int, 50)) h
$$;
comment on function ops.charger_list(jsonb) is 'Chargers whose MID evidence is still to be judged, oldest first: {limit?} to {chargers}.';
select private.expose_ops('ops.charger_list(jsonb)');

create function ops.charger_confirm_mid(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  charger core.chargers;
  certain boolean;
  wanted  constant boolean := not coalesce((input ->> 'no_mid')::boolean, false);
  changed boolean;
begin
  perform private.act_as_operator(input);
  select * into charger from core.chargers h
   where h.partner_id = any (array(select p.id from core.partners p)) and h.id = private.as_uuid(input ->> 'charger') for update;
  if not found then
    perform private.refuse('charger_not_found', json_build_object('charger', input ->> 'charger'));
  end if;
  perform private.act_for_partner(charger.partner_id);
  changed := charger.mid_eligible is distinct from wanted;
  select m.mid_meter into certain from core.charger_models m where m.id = charger.catalog_charger_id;
  if changed and certain is not null then
    perform private.refuse('mid_is_certain', json_build_object('mid_meter', certain));
  elsif changed then
    update core.chargers h set mid_eligible = wanted
     where h.partner_id = charger.partner_id and h.id = charger.id returning * into charger;
    perform private.audit('charger.mid_confirmed', charger.id,
                          jsonb_build_object('mid_eligible', wanted, 'evidence', left(input ->> 'evidence', 200)));
    perform private.emit_charger('charger.mid_confirmed', charger), private.advance_registration(charger.account_id, wanted);
  end if;
  return json_build_object('changed', changed, 'charger', private.charger_row(charger));
end $$;
comment on function ops.charger_confirm_mid(jsonb) is
  'Judges the evidence of a MID meter where the catalogue leaves it open: {charger, no_mid?, evidence?} to {changed, charger}.';
select private.expose_ops('ops.charger_confirm_mid(jsonb)');

-- The operator on registrations: list, review.

create function ops.registration_list(input jsonb) returns json
language sql stable security definer
set search_path = ''
as $$
  select json_build_object('connections', coalesce(
           json_agg(private.connection_row(c.partner_id, c.id) order by c.submitted_at, c.id), '[]'))
    from (select * from core.connections c
           where c.registration_status = 'ingediend' and c.status = 'active'
           order by c.submitted_at, c.id limit coalesce((input ->> 'limit')::int, 50)) c
$$;
comment on function ops.registration_list(jsonb) is 'Registrations that wait for review, oldest first: {limit?} to {connections}.';
select private.expose_ops('ops.registration_list(jsonb)');

create function ops.registration_review(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  connection core.connections;
  verdict    constant text := input ->> 'verdict';
  closed     text[];
begin
  perform private.act_as_operator(input);
  if verdict is null or verdict not in ('goedgekeurd', 'afgekeurd') then
    perform private.refuse('invalid_verdict');
  end if;
  connection := private.active_connection_named(input ->> 'connection');
  if connection.registration_status = verdict then
    return private.connection_answer(connection, false);
  elsif connection.registration_status <> 'ingediend' then
    perform private.refuse('registration_not_submitted', json_build_object('registration_status', connection.registration_status));
  end if;
  closed := private.grounds_to_reject(connection);
  if verdict = 'goedgekeurd' and cardinality(closed) > 0 then
    perform private.refuse('gates_closed', json_build_object('gates', closed));
  end if;
  perform private.review_registration(connection, verdict);
  return private.connection_answer(connection, true);
end $$;
comment on function ops.registration_review(jsonb) is
  'Judges a submitted registration: {connection, verdict: goedgekeurd|afgekeurd} to {changed, connection}. goedgekeurd needs mandate, EAN and MID charger.';
select private.expose_ops('ops.registration_review(jsonb)');

-- The operator on factors: what a kWh of a year is worth.

create function private.factor_row(factor core.ere_factors) returns json
language sql stable
set search_path = ''
as $$
  select json_build_object('delivery_year', factor.delivery_year, 'renewable_share', factor.renewable_share, 'ere_per_kwh', factor.ere_per_kwh,
                           'bookable_until', factor.bookable_until)
$$;

create function ops.factor_list(input jsonb) returns json
language sql stable security definer
set search_path = ''
as $$
  select json_build_object('factors', coalesce(json_agg(private.factor_row(f) order by f.delivery_year desc), '[]')) from core.ere_factors f
$$;
comment on function ops.factor_list(jsonb) is 'The factors, newest year first: {} to {factors}.';
select private.expose_ops('ops.factor_list(jsonb)');

create function ops.factor_set(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  year   constant int := (input ->> 'delivery_year')::int;
  share  constant numeric := private.as_decimal(input ->> 'share', 4);
  before core.ere_factors;
  after  core.ere_factors;
begin
  perform private.act_as_operator(input);
  if year not between 2026 and 2100 or (input ? 'share' and (share is null or share > 1))
     or (input ? 'bookable_until' and private.as_day(input ->> 'bookable_until') is null) then
    perform private.refuse('invalid_factor');
  end if;
  -- a booking that is submitted now holds the row that it judges by, and is seen below
  select * into before from core.ere_factors f where f.delivery_year = year for update;
  if not found and share is null then
    perform private.refuse('factor_missing', json_build_object('delivery_year', year));
  elsif share <> before.renewable_share and private.year_is_booked(year) then
    perform private.refuse('factor_in_use', json_build_object('delivery_year', year, 'renewable_share', before.renewable_share));
  end if;
  insert into core.ere_factors as f (delivery_year, renewable_share, bookable_until)
  values (year, coalesce(share, before.renewable_share), coalesce(private.as_day(input ->> 'bookable_until'), before.bookable_until))
  on conflict on constraint ere_factors_pkey do update set renewable_share = excluded.renewable_share, bookable_until = excluded.bookable_until
  returning * into after;
  if after is distinct from before then
    perform private.audit('factor.set', null, jsonb_build_object('before', to_jsonb(before), 'after', to_jsonb(after)));
  end if;
  return json_build_object('changed', after is distinct from before, 'factor', private.factor_row(after));
end $$;
comment on function ops.factor_set(jsonb) is
  'Says what a kWh of a year is worth, and until when its months can be booked: {delivery_year, share?, bookable_until?} to {changed, factor}. The share is needed for a new year, and stays once something is booked by it.';
select private.expose_ops('ops.factor_set(jsonb)');

-- The operator on bookings: preview, open, submit, withdraw, list.

create function private.read_quarter(value text) returns date
language plpgsql
set search_path = ''
as $$
declare
  quarter date;
begin
  if value ~ '^20[0-9]{2}-Q[1-4]$' then
    quarter := make_date(left(value, 4)::int, right(value, 1)::int * 3 - 2, 1);
  end if;
  if quarter is null or quarter < private.first_delivery_month() then
    perform private.refuse('invalid_quarter');
  elsif not exists (select from core.ere_factors f where f.delivery_year = extract(year from quarter)) then
    perform private.refuse('factor_missing', json_build_object('delivery_year', extract(year from quarter)));
  end if;
  return quarter;
end $$;
comment on function private.read_quarter(text) is 'The first day of a quarter written 2026-Q2, of a year that has a factor.';

create function private.bookings_named(named text, partner uuid) returns setof core.bookings
language sql stable
set search_path = ''
as $$
  select b.* from core.bookings b
   where b.partner_id = any (array(select p.id from core.partners p where partner is null or p.id = partner))
     and (named is null or b.id = private.as_uuid(named) or b.run_id = private.as_uuid(named) or private.quarter_name(b.quarter) = named)
$$;
comment on function private.bookings_named(text, uuid) is 'The bookings of a booking id, a run id or a quarter, or all where none is named, of one partner or of all.';

create function private.booking_named(input jsonb) returns core.bookings
language plpgsql
set search_path = ''
as $$
declare
  named      constant text := input ->> 'booking';
  candidates constant core.bookings[] := array(
    select b from private.bookings_named(coalesce(named, ''), case when input ? 'partner' then (private.partner_named(input ->> 'partner')).id end) b
     where b.status <> 'withdrawn' or b.id = private.as_uuid(named));
begin
  if cardinality(candidates) = 0 then
    perform private.refuse('booking_not_found', json_build_object('booking', named));
  elsif cardinality(candidates) > 1 then
    perform private.refuse('booking_ambiguous', json_build_object('booking', named));
  end if;
  perform private.act_for_partner((candidates[1]).partner_id);
  return private.lock_booking((candidates[1]).partner_id, (candidates[1]).id);
end $$;
comment on function private.booking_named(jsonb) is
  'The one booking that is meant by {booking, partner?}: its id, or a run or a quarter in which there is one; locked, and its partner made the tenant of this transaction.';

create function private.booking_row(booking core.bookings) returns json
language sql stable
set search_path = ''
as $$
  select json_build_object(
    'booking_id', booking.id, 'run_id', booking.run_id, 'partner_slug', (select p.slug from core.partners p where p.id = booking.partner_id),
    'quarter', private.quarter_name(booking.quarter), 'number', booking.number, 'status', booking.status,
    'rows', t.rows, 'kwh', t.kwh, 'waiting', t.waiting, 'registered', t.registered, 'rejected', t.rejected,
    'accepted_kwh', t.accepted_kwh, 'ere', t.ere, 'granted_ere', booking.granted_ere, 'sold_ere', s.ere, 'gross_eur', s.gross,
    'opened_at', private.iso(booking.opened_at), 'submitted_at', private.iso(booking.submitted_at),
    'withdrawn_at', private.iso(booking.withdrawn_at), 'export_sha256', booking.export_sha256)
  from (select count(*) as rows, coalesce(sum(r.kwh), 0) as kwh, count(*) filter (where r.status = 'submitted') as waiting,
               count(*) filter (where r.status = 'registered') as registered, count(*) filter (where r.status = 'rejected') as rejected,
               coalesce(sum(c.accepted_kwh), 0) as accepted_kwh, coalesce(sum(c.ere), 0) as ere
          from core.booking_rows r
          left join lateral (
            select * from core.credits c where c.partner_id = r.partner_id and c.row_id = r.id and c.reversed_at is null offset 0) c on true
         where r.partner_id = booking.partner_id and r.booking_id = booking.id) t
  cross join (select coalesce(sum(a.ere), 0) as ere, coalesce(sum(a.gross), 0) as gross
                from core.sales s
                cross join lateral (
                  select * from core.allocations a where a.partner_id = s.partner_id and a.sale_id = s.id and a.reversal_id is null offset 0) a
               where s.partner_id = booking.partner_id and s.booking_id = booking.id) s
$$;
comment on function private.booking_row(core.bookings) is 'A booking as the operator sees it, with what became of its rows.';

create function private.booking_answer(booking core.bookings, changed boolean) returns json
language sql stable
set search_path = ''
as $$
  select json_build_object('changed', changed, 'booking', private.booking_row(b))
    from core.bookings b where b.partner_id = booking.partner_id and b.id = booking.id
$$;

create function ops.booking_list(input jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
declare
  partner uuid;
begin
  if input ? 'partner' then
    partner := (private.partner_named(input ->> 'partner')).id;
  end if;
  if input ? 'booking' and not exists (select from private.bookings_named(input ->> 'booking', partner)) then
    perform private.refuse('booking_not_found', json_build_object('booking', input ->> 'booking'));
  end if;
  return (
    select json_build_object('bookings', coalesce(json_agg(private.booking_row(b) order by b.quarter desc, p.slug, b.number desc), '[]'))
      from (select * from private.bookings_named(input ->> 'booking', partner)
             where input ->> 'status' is null or status = input ->> 'status'
             order by quarter desc, opened_at desc, id limit coalesce((input ->> 'limit')::int, 1000)) b
      join core.partners p on p.id = b.partner_id);
end $$;
comment on function ops.booking_list(jsonb) is 'Bookings, newest quarter first: {booking?, partner?, status?, limit?} to {bookings}. booking is a booking id, a run id or a quarter.';
select private.expose_ops('ops.booking_list(jsonb)');

create function ops.booking_open(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  wanted  date;
  run     constant uuid := gen_random_uuid();
  chosen  uuid[];
  opened  core.bookings[] := '{}';
  tenant  uuid;
begin
  perform private.act_as_operator(input);
  wanted := private.read_quarter(input ->> 'quarter');
  if wanted > private.today() then
    perform private.refuse('quarter_not_begun', json_build_object('quarter', input ->> 'quarter'));
  elsif input ? 'partner' then
    chosen := array[(private.partner_named(input ->> 'partner')).id];
  else
    -- whoever has something that could be booked, and whoever has a booking open already
    chosen := array(
      select p.id from core.partners p
       where exists (select from core.bookings b where b.partner_id = p.id and b.quarter = wanted and b.status = 'open')
          or exists (select from core.delivered_months d
                      where d.partner_id = p.id and d.period >= wanted and d.period < (wanted + interval '3 months')::date
                        and d.status = 'staged')
       order by p.id);
  end if;
  foreach tenant in array chosen loop
    perform private.act_for_partner(tenant);
    opened := opened || private.open_booking(tenant, wanted, run);
  end loop;
  return json_build_object(
    'changed', exists (select from unnest(opened) b where b.run_id = run),
    'bookings', (select coalesce(json_agg(private.booking_row(b) order by p.slug), '[]') from unnest(opened) b join core.partners p on p.id = b.partner_id));
end $$;
comment on function ops.booking_open(jsonb) is
  'Opens a booking of a quarter, of one partner or one for each that has months for it: {quarter, partner?} to {changed, bookings}. One that is open already is answered; where it was submitted a supplementary one is opened.';
select private.expose_ops('ops.booking_open(jsonb)');

create function ops.booking_submit(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  booking core.bookings;
  taken   int;
begin
  perform private.act_as_operator(input);
  booking := private.booking_named(input);
  if booking.status = 'withdrawn' then
    perform private.refuse('booking_withdrawn', json_build_object('booking', booking.id));
  elsif (booking.quarter + interval '3 months')::date > private.today() then
    perform private.refuse('quarter_not_over', json_build_object('quarter', private.quarter_name(booking.quarter)));
  end if;
  taken := private.submit_booking(booking.partner_id, booking.id);
  return private.booking_answer(booking, coalesce(taken, 0) > 0);
end $$;
comment on function ops.booking_submit(jsonb) is
  'Takes in every month that may be booked and locks it: {booking, partner?} to {changed, booking}. Where there is none nothing changes and it stays open.';
select private.expose_ops('ops.booking_submit(jsonb)');

create function ops.booking_withdraw(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  booking core.bookings;
  changed boolean;
begin
  perform private.act_as_operator(input);
  booking := private.booking_named(input);
  changed := private.withdraw_booking(booking.partner_id, booking.id);
  return private.booking_answer(booking, changed);
end $$;
comment on function ops.booking_withdraw(jsonb) is
  'Takes a booking back before the register has credited or rejected anything of it: {booking, partner?} to {changed, booking}. Its months are open again.';
select private.expose_ops('ops.booking_withdraw(jsonb)');

-- The operator looks before a booking takes anything in.

create function private.preview_quarter(quarter date, partner uuid)
returns table (slug text, taken boolean, reason text, flags text[], account_id uuid, connection_id uuid, ean_code text, period date,
               kwh numeric, session_count int, source text, ere numeric)
language plpgsql stable
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
begin
  return query
  select p.slug, j.reason is null, j.reason, j.flags, j.account_id, j.connection_id, j.ean_code, j.period, j.kwh, j.session_count,
         case when j.delivery_id is null then 'own_sessions' else 'delivered_total' end, j.kwh * j.ere_per_kwh
    from core.partners p
    cross join lateral private.judge_quarter(p.id, quarter) j
   where preview_quarter.partner is null or p.id = preview_quarter.partner
  union all
  -- charged, or corrected, after the month was booked
  select p.slug, false, 'arrived_after_lock', '{}', c.account_id, c.id, c.ean_code, s.month, sum(s.wh) / 1000.0, count(*)::int, 'own_sessions', null
    from core.charging_sessions s
    join core.partners p on p.id = s.partner_id
    join core.connections c on c.partner_id = s.partner_id and c.id = s.connection_id
   where s.month >= quarter and s.month < (quarter + interval '3 months')::date and 'after_lock' = any (s.flags)
     and (preview_quarter.partner is null or p.id = preview_quarter.partner)
   group by p.slug, c.account_id, c.id, c.ean_code, s.month;
end $$;
comment on function private.preview_quarter(date, uuid) is
  'What bookings of a quarter would take in now, and why they leave the rest out; and the sessions that came after their month was locked, which are in no booking. kWh; ERE exact.';

create function ops.booking_preview(input jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
declare
  quarter constant date := private.read_quarter(input ->> 'quarter');
  partner uuid;
begin
  if input ? 'partner' then
    partner := (private.partner_named(input ->> 'partner')).id;
  end if;
  return (
    with month as materialized (
      select * from private.preview_quarter(quarter, partner)
    ), flagged as (
      select m.* from month m where m.taken and m.flags <> '{}' order by cardinality(m.flags) desc, m.kwh desc, m.ean_code, m.period
    )
    select json_build_object(
      'quarter', private.quarter_name(quarter),
      'flagged', (select coalesce(json_agg(json_build_object(
                    'partner_slug', f.slug, 'ean_code', f.ean_code, 'period', to_char(f.period, 'YYYY-MM'), 'kwh', f.kwh,
                    'session_count', f.session_count, 'flags', f.flags)), '[]') from (select * from flagged limit 20) f),
      'flagged_months', (select count(*) from flagged),
      'taken', (select coalesce(json_agg(json_build_object(
                  'partner_slug', t.slug, 'months', t.months, 'kwh', t.kwh, 'ere', t.ere) order by t.slug), '[]')
                  from (select m.slug, count(*) as months, sum(m.kwh) as kwh, sum(m.ere) as ere from month m where m.taken group by m.slug) t),
      'left_out', (select coalesce(json_agg(json_build_object(
                     'reason', l.reason, 'months', l.months, 'kwh', l.kwh) order by l.months desc, l.reason), '[]')
                     from (select m.reason, count(*) as months, sum(m.kwh) as kwh from month m where not m.taken group by m.reason) l),
      'total', (select json_build_object('months', count(*), 'kwh', coalesce(sum(m.kwh), 0), 'ere', coalesce(sum(m.ere), 0)) from month m where m.taken),
      'csv', case when input ? 'csv' then (
        select private.csv_line('taken', 'reason', 'flags', 'partner', 'account_id', 'connection_id', 'ean', 'period', 'kwh', 'sessions', 'source', 'ere')
               || coalesce(string_agg(private.csv_line(
                    case when m.taken then 'yes' else 'no' end, m.reason, array_to_string(m.flags, ' '), m.slug, m.account_id::text,
                    m.connection_id::text, m.ean_code, to_char(m.period, 'YYYY-MM'), m.kwh::text, m.session_count::text, m.source, m.ere::text), ''
                    order by cardinality(m.flags) desc, m.taken desc, m.slug, m.ean_code, m.period, m.reason), '')
          from month m) end));
end $$;
comment on function ops.booking_preview(jsonb) is
  'What bookings of a quarter, also of the running one, would take in now, of one partner or of all: {quarter, partner?, csv?} to {quarter, flagged, flagged_months, taken, left_out, total, csv}. The implausible months come first; csv holds every month.';
select private.expose_ops('ops.booking_preview(jsonb)');

-- The operator and the register: the file for it, and what it granted.

create function private.submitted_booking_named(input jsonb) returns core.bookings
language plpgsql
set search_path = ''
as $$
declare
  booking constant core.bookings := private.booking_named(input);
begin
  if booking.status <> 'submitted' then
    perform private.refuse('booking_not_submitted', json_build_object('booking', booking.id, 'status', booking.status));
  end if;
  return booking;
end $$;
comment on function private.submitted_booking_named(jsonb) is 'The one submitted booking that is meant, as booking_named.';

create function private.export_csv(booking core.bookings) returns text
language sql stable
set search_path = ''
as $$
  select private.csv_line('row_id', 'booking', 'quarter', 'period', 'ean', 'kwh', 'ere', 'signatory', 'postal_code', 'house_number', 'addition',
                          'street', 'city', 'mandate_id', 'mandate_signed_at', 'mandate_valid_from', 'mandate_valid_until', 'source',
                          'charger_brand', 'charger_model', 'charger_serial')
         || string_agg(private.csv_line(
              r.id::text, r.booking_id::text, private.quarter_name(booking.quarter), to_char(r.period, 'YYYY-MM'), r.ean_code, r.kwh::text,
              trunc(r.kwh * r.ere_per_kwh, 6)::text, r.signatory, r.postal_code, r.house_number::text, r.house_number_addition, r.street, r.city,
              r.mandate_id::text, private.iso(r.mandate_signed_at), to_char(r.mandate_valid_from, 'YYYY-MM-DD'),
              to_char(r.mandate_valid_until, 'YYYY-MM-DD'), r.source, r.charger_brand, r.charger_model, r.charger_serial), ''
              order by r.ean_code, r.period, r.id)
    from core.booking_rows r where r.partner_id = booking.partner_id and r.booking_id = booking.id
$$;
comment on function private.export_csv(core.bookings) is
  'The file for the register: every row as it was submitted, whatever became of it since. The same booking gives the same text.';

create function ops.booking_export(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  booking core.bookings;
  csv     text;
  hash    text;
begin
  perform private.act_as_operator(input);
  booking := private.submitted_booking_named(input);
  csv := private.export_csv(booking);
  hash := encode(sha256(convert_to(csv, 'UTF8')), 'hex');
  if booking.export_sha256 <> hash then
    raise exception 'the rows of booking % are not those that were exported', booking.id;
  end if;
  update core.bookings b set export_sha256 = hash, exported_at = private.now() where b.partner_id = booking.partner_id and b.id = booking.id
     and b.export_sha256 is null;
  perform private.audit('booking.exported', booking.id, jsonb_build_object('sha256', hash));
  return json_build_object('booking_id', booking.id, 'quarter', private.quarter_name(booking.quarter), 'again', booking.export_sha256 is not null,
                           'sha256', hash, 'csv', csv);
end $$;
comment on function ops.booking_export(jsonb) is
  'The file for the register: {booking, partner?} to {booking_id, quarter, again, sha256, csv}. Its hash is kept, and each time it is the same bytes.';
select private.expose_ops('ops.booking_export(jsonb)');

create function ops.booking_credit(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  booking  core.bookings;
  lines    private.credit_line[];
  wrong    private.credit_line;
  granted  constant numeric := private.as_decimal(input ->> 'granted', 6);
  credited int;
begin
  perform private.act_as_operator(input);
  booking := private.submitted_booking_named(input);
  if input ? 'granted' and granted is null then
    perform private.refuse('invalid_ere');
  elsif input ? 'rows' then
    lines := array(select l from private.read_credit_lines(booking, input -> 'rows') l);
  else
    lines := array(select row(0, r.id, r.kwh, null, null)::private.credit_line
                     from core.booking_rows r where r.partner_id = booking.partner_id and r.booking_id = booking.id and r.status = 'submitted');
  end if;
  select * into wrong from unnest(lines) l where l.problem is not null order by l.line limit 1;
  if found then
    perform private.refuse('credit_file_refused', json_build_object('line', wrong.line, 'row', wrong.row_id, 'problem', wrong.problem,
      'others', (select count(*) - 1 from unnest(lines) l where l.problem is not null)));
  end if;
  credited := private.credit_booking(booking, lines, granted);
  return private.booking_answer(booking, credited > 0 or granted is distinct from booking.granted_ere and granted is not null);
end $$;
comment on function ops.booking_credit(jsonb) is
  'What the register granted: {booking, partner?, rows?, granted?} to {changed, booking}. rows, [{line?, row_id, accepted_kwh, reason?}], credits or rejects those alone; without it all that wait are credited whole. granted is the ERE of the whole, where that is another total. One wrong row, and nothing is credited.';
select private.expose_ops('ops.booking_credit(jsonb)');

create function ops.booking_reverse_credit(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  reason  constant text := private.operator_reason(input ->> 'reason');
  line    core.booking_rows;
  booking core.bookings;
  changed boolean;
begin
  perform private.act_as_operator(input);
  select * into line from core.booking_rows r
   where r.partner_id = any (array(select p.id from core.partners p)) and r.id = private.as_uuid(input ->> 'row');
  if not found then
    perform private.refuse('row_not_found', json_build_object('row', input ->> 'row'));
  end if;
  perform private.act_for_partner(line.partner_id);
  booking := private.lock_booking(line.partner_id, line.booking_id);
  select * into line from core.booking_rows r where r.partner_id = line.partner_id and r.id = line.id;
  changed := private.reverse_credit(line, reason);
  perform private.settle_difference(booking);
  return private.booking_answer(booking, changed);
end $$;
comment on function ops.booking_reverse_credit(jsonb) is
  'Takes back what the register granted of a row, or that it rejected it: {row, reason} to {changed, booking}. The row waits for another credit.';
select private.expose_ops('ops.booking_reverse_credit(jsonb)');

-- The operator on sales: record, list, show, reverse.

create function private.sale_row(sale core.sales) returns json
language sql stable
set search_path = ''
as $$
  select json_build_object(
    'sale_id', sale.id, 'reference', sale.reference, 'booking_id', sale.booking_id,
    'partner_slug', (select p.slug from core.partners p where p.id = sale.partner_id),
    'quarter', (select private.quarter_name(b.quarter) from core.bookings b where b.partner_id = sale.partner_id and b.id = sale.booking_id),
    'buyer', sale.buyer, 'sold_on', sale.sold_on, 'ere', sale.ere, 'price', sale.price, 'gross_eur', sale.gross,
    'rows', t.rows, 'customers_eur', t.net, 'partners_eur', t.share, 'service_eur', t.kept, 'reversed_ere', t.reversed_ere,
    'reversed_eur', t.reversed_eur, 'recorded_at', private.iso(sale.recorded_at))
  from (select count(*) filter (where a.reversal_id is null) as rows,
               coalesce(sum(a.net) filter (where a.reversal_id is null), 0) as net,
               coalesce(sum(a.partner_share) filter (where a.reversal_id is null), 0) as share,
               coalesce(sum(a.fee - a.partner_share) filter (where a.reversal_id is null), 0) as kept,
               coalesce(sum(a.ere) filter (where a.reversal_id is not null), 0) as reversed_ere,
               coalesce(sum(a.gross) filter (where a.reversal_id is not null), 0) as reversed_eur
          from core.allocations a where a.partner_id = sale.partner_id and a.sale_id = sale.id) t
$$;
comment on function private.sale_row(core.sales) is 'A sale as the operator sees it: what of it stands, for whom, and what was reversed.';

create function private.sale_named(input jsonb) returns core.sales
language plpgsql
set search_path = ''
as $$
declare
  named      constant text := input ->> 'sale';
  partner    constant uuid := case when input ? 'partner' then (private.partner_named(input ->> 'partner')).id end;
  candidates constant core.sales[] := array(
    select s from core.sales s
     where s.partner_id = any (array(select p.id from core.partners p where partner is null or p.id = partner))
       and (s.id = private.as_uuid(named) or s.reference = named));
begin
  if cardinality(candidates) = 0 then
    perform private.refuse('sale_not_found', json_build_object('sale', named));
  elsif cardinality(candidates) > 1 then
    perform private.refuse('sale_ambiguous', json_build_object('sale', named));
  end if;
  perform private.act_for_partner((candidates[1]).partner_id);
  return candidates[1];
end $$;
comment on function private.sale_named(jsonb) is 'The one sale that is meant by {sale, partner?}, its id or its reference; its partner made the tenant of this transaction.';

create function private.sellable_ere(booking core.bookings) returns numeric
language sql stable
set search_path = ''
as $$
  select least(private.balance(booking.partner_id, 'ERE', 'unsold', booking.id),
               booking.granted_ere - private.balance(booking.partner_id, 'ERE', 'sold', booking.id))
$$;
comment on function private.sellable_ere(core.bookings) is 'What of a booking is credited and unsold, and never more than the register granted for the whole.';

create function private.read_sale(booking core.bookings, input jsonb) returns core.sales
language plpgsql
set search_path = ''
as $$
declare
  ere   constant numeric := private.as_decimal(input ->> 'ere', 6);
  price constant numeric := private.as_decimal(input ->> 'price', 6);
  sale  core.sales;
begin
  if ere > 0 is not true then
    perform private.refuse('invalid_ere');
  elsif (price > 0 and price < 1000000) is not true then
    perform private.refuse('invalid_price');
  elsif input ? 'date' and (private.as_day(input ->> 'date') <= private.today()) is not true then
    perform private.refuse('invalid_date');
  end if;
  sale.partner_id := booking.partner_id;
  sale.booking_id := booking.id;
  sale.reference := private.operator_name(input ->> 'reference');
  sale.buyer := private.operator_name(input ->> 'buyer');
  sale.ere := ere;
  sale.price := price;
  sale.gross := round(ere * price, 2);
  sale.sold_on := coalesce(private.as_day(input ->> 'date'), private.today());
  return sale;
end $$;
comment on function private.read_sale(core.bookings, jsonb) is 'The sale that {reference, buyer, ere, price, date?} says, not yet recorded; without a date it is of today.';

create function private.record_sale(booking core.bookings, wanted core.sales) returns core.sales
language plpgsql
set search_path = ''
as $$
declare
  sellable constant numeric := private.sellable_ere(booking);
  sale     core.sales;
begin
  if wanted.ere > sellable then
    perform private.refuse('not_enough_ere', json_build_object('ere', wanted.ere, 'sellable_ere', sellable));
  elsif wanted.gross = 0 then
    perform private.refuse('worth_nothing');
  end if;
  insert into core.sales (partner_id, booking_id, reference, buyer, ere, price, gross, sold_on)
  values (wanted.partner_id, wanted.booking_id, wanted.reference, wanted.buyer, wanted.ere, wanted.price, wanted.gross, wanted.sold_on)
  returning * into sale;
  perform private.allocate_sale(sale);
  perform private.audit('sale.recorded', sale.id, jsonb_build_object('reference', sale.reference, 'ere', sale.ere, 'gross', sale.gross));
  perform private.emit_sale(sale.partner_id, 'ere.sold', array(select a.id from core.allocations a where a.partner_id = sale.partner_id and a.sale_id = sale.id));
  return sale;
end $$;
comment on function private.record_sale(core.bookings, core.sales) is 'Records a sale of a booking, its row locked, and splits it over its rows.';

create function ops.sale_record(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  booking core.bookings;
  wanted  core.sales;
  sale    core.sales;
  changed boolean;
begin
  perform private.act_as_operator(input);
  booking := private.submitted_booking_named(input);
  wanted := private.read_sale(booking, input);
  -- of two at once with one reference, for whatever bookings of a tenant, the second sees what the first recorded
  perform pg_advisory_xact_lock(hashtextextended('sale of ' || wanted.partner_id || ' ' || wanted.reference, 0));
  select * into sale from core.sales s where s.partner_id = wanted.partner_id and s.reference = wanted.reference;
  changed := not found;
  if changed then
    sale := private.record_sale(booking, wanted);
  elsif (sale.booking_id, sale.buyer, sale.ere, sale.price) <> (wanted.booking_id, wanted.buyer, wanted.ere, wanted.price)
        or input ? 'date' and sale.sold_on <> wanted.sold_on then
    perform private.refuse('reference_taken', json_build_object('reference', sale.reference));
  end if;
  return json_build_object('changed', changed, 'sale', private.sale_row(sale));
end $$;
comment on function ops.sale_record(jsonb) is
  'Sells ERE of a booking and splits them over its rows: {booking, partner?, ere, price, buyer, reference, date?} to {changed, sale}. The same reference with the same values is a repeat.';
select private.expose_ops('ops.sale_record(jsonb)');

create function ops.sale_list(input jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
declare
  partner uuid;
begin
  if input ? 'partner' then
    partner := (private.partner_named(input ->> 'partner')).id;
  end if;
  return (
    select json_build_object('sales', coalesce(json_agg(private.sale_row(s) order by s.arrival desc), '[]'))
      from (select s.* from private.bookings_named(input ->> 'booking', partner) b
              join core.sales s on s.partner_id = b.partner_id and s.booking_id = b.id
             order by s.arrival desc limit coalesce((input ->> 'limit')::int, 50)) s);
end $$;
comment on function ops.sale_list(jsonb) is 'Sales, newest first: {booking?, partner?, limit?} to {sales}. booking is a booking id, a run id or a quarter.';
select private.expose_ops('ops.sale_list(jsonb)');

create function ops.sale_show(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  sale core.sales;
begin
  perform private.act_as_operator(input);
  sale := private.sale_named(input);
  return json_build_object(
    'sale', private.sale_row(sale),
    'allocations', (
      select coalesce(json_agg(json_build_object(
               'row_id', a.row_id, 'account_id', a.account_id, 'ean_code', a.ean_code, 'period', to_char(a.period, 'YYYY-MM'), 'ere', a.ere,
               'gross_eur', a.gross, 'fee_pct', a.fee_pct, 'fee_eur', a.fee, 'partner_share_eur', a.partner_share, 'net_eur', a.net,
               'reversed', a.reversal_id is not null) order by a.row_id), '[]')
        from (select a.*, r.ean_code, r.period
                from core.allocations a join core.booking_rows r on r.partner_id = a.partner_id and r.id = a.row_id
               where a.partner_id = sale.partner_id and a.sale_id = sale.id
               order by a.row_id limit coalesce((input ->> 'limit')::int, 1000)) a));
end $$;
comment on function ops.sale_show(jsonb) is 'A sale and its parts, by row id: {sale, partner?, limit?} to {sale, allocations}.';
select private.expose_ops('ops.sale_show(jsonb)');

create function ops.sale_reverse(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  reason constant text := private.operator_reason(input ->> 'reason');
  sale   core.sales;
  done   record;
begin
  perform private.act_as_operator(input);
  perform private.lock_payouts(exclusively => false);
  sale := private.sale_named(input);
  perform private.lock_booking(sale.partner_id, sale.booking_id);
  select * into done from private.reverse_sale(sale, reason, coalesce((input ->> 'recover')::boolean, false));
  if done.reversed = 0 and done.paid_out > 0 then
    perform private.refuse('sale_paid_out', json_build_object('sale', sale.reference));
  end if;
  return json_build_object('changed', done.reversed > 0, 'reversed', done.reversed, 'paid_out', done.paid_out, 'sale', private.sale_row(sale));
end $$;
comment on function ops.sale_reverse(jsonb) is
  'Takes a sale back as far as it has not been paid out, with recover all of it: {sale, partner?, reason, recover?} to {changed, reversed, paid_out, sale}.';
select private.expose_ops('ops.sale_reverse(jsonb)');

-- The operator on figures: publish a year.

create function private.figures_row(figures core.figures) returns json
language sql stable
set search_path = ''
as $$
  select json_build_object(
    'partner_slug', (select p.slug from core.partners p where p.id = figures.partner_id), 'delivery_year', figures.delivery_year,
    'renewable_share', f.renewable_share, 'ere_per_kwh', f.ere_per_kwh,
    'price_per_ere_eur', private.average_price(figures.partner_id, figures.delivery_year), 'published_at', private.iso(figures.published_at))
  from core.ere_factors f where f.delivery_year = figures.delivery_year
$$;

create function ops.figures_publish(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  year   constant int := (input ->> 'delivery_year')::int;
  chosen uuid;
  tenant uuid;
  made   boolean := false;
begin
  perform private.act_as_operator(input);
  if input ? 'partner' then
    chosen := (private.partner_named(input ->> 'partner')).id;
  end if;
  if not exists (select from core.ere_factors f where f.delivery_year = year) then
    perform private.refuse('factor_missing', json_build_object('delivery_year', year));
  end if;
  for tenant in
    insert into core.figures (partner_id, delivery_year)
    select p.id, year from core.partners p where chosen is null or p.id = chosen order by p.id
    on conflict on constraint figures_pkey do nothing
    returning partner_id
  loop
    made := true;
    perform private.act_for_partner(tenant), private.audit('figures.published', tenant, jsonb_build_object('delivery_year', year));
    perform private.emit_published(tenant, year);
  end loop;
  return json_build_object('changed', made, 'figures', (
    select json_agg(private.figures_row(g) order by p.slug)
      from core.figures g join core.partners p on p.id = g.partner_id
     where g.delivery_year = year and (chosen is null or g.partner_id = chosen)));
end $$;
comment on function ops.figures_publish(jsonb) is
  'From now on positions say what a year yields, of one partner''s accounts or of everybody''s: {delivery_year, partner?} to {changed, figures}.';
select private.expose_ops('ops.figures_publish(jsonb)');

create function ops.figures_list(input jsonb) returns json
language sql stable security definer
set search_path = ''
as $$
  select json_build_object('figures', coalesce(json_agg(private.figures_row(g) order by g.delivery_year desc, p.slug), '[]'))
    from core.figures g join core.partners p on p.id = g.partner_id
$$;
comment on function ops.figures_list(jsonb) is 'What is published, and the average price of each: {} to {figures}.';
select private.expose_ops('ops.figures_list(jsonb)');

-- The operator on payouts: prepare, approve, export, settle, release, cancel, list, show.

create function private.payout_batch_row(batch core.payout_batches) returns json
language sql stable
set search_path = ''
as $$
  select json_build_object(
    'batch_id', batch.id, 'status', batch.status, 'lines', t.lines, 'amount_eur', t.amount, 'paid', t.paid, 'paid_eur', t.paid_amount,
    'failed', t.failed, 'failed_eur', t.failed_amount, 'minimum_eur', batch.minimum,
    'prepared_by', batch.prepared_by, 'prepared_at', private.iso(batch.prepared_at),
    'approved_by', batch.approved_by, 'approved_at', private.iso(batch.approved_at),
    'exported_by', batch.exported_by, 'exported_at', private.iso(batch.exported_at), 'file_sha256', batch.file_sha256,
    'settled_at', private.iso(batch.settled_at), 'cancelled_at', private.iso(batch.cancelled_at), 'cancelled_reason', batch.cancelled_reason)
  from (select count(*) as lines, coalesce(sum(l.amount), 0) as amount,
               count(*) filter (where l.status = 'paid') as paid, coalesce(sum(l.amount) filter (where l.status = 'paid'), 0) as paid_amount,
               count(*) filter (where l.status = 'failed') as failed, coalesce(sum(l.amount) filter (where l.status = 'failed'), 0) as failed_amount
          from core.payout_lines l where l.batch_id = batch.id) t
$$;
comment on function private.payout_batch_row(core.payout_batches) is 'A batch as the operator sees it. Amounts in euro.';

create function private.payout_line_row(line core.payout_lines) returns json
language sql stable
set search_path = ''
as $$
  select json_build_object(
    'line_id', line.id, 'payee', line.payee_id, 'partner_slug', p.slug, 'cpo_external_ref', a.cpo_external_ref, 'name', line.name,
    'iban', '**** ' || line.iban_last4, 'amount_eur', line.amount, 'status', line.status, 'paid_at', private.iso(line.paid_at),
    'failed_at', private.iso(line.failed_at), 'failed_reason', line.failed_reason, 'released_at', private.iso(line.released_at),
    'parts', (select count(*) from core.payout_parts k where k.partner_id = line.partner_id and k.line_id = line.id))
  from core.partners p
  left join core.accounts a on a.partner_id = line.partner_id and a.id = line.account_id
 where p.id = line.partner_id
$$;
comment on function private.payout_line_row(core.payout_lines) is 'A line as the operator sees it: of the IBAN its last four characters.';

create function private.payout_batch_named(named text) returns core.payout_batches
language plpgsql
set search_path = ''
as $$
declare
  batch core.payout_batches;
begin
  select * into batch from core.payout_batches b where b.id = private.as_uuid(named) for update;
  if not found then
    perform private.refuse('payout_batch_not_found', json_build_object('batch', named));
  end if;
  return batch;
end $$;
comment on function private.payout_batch_named(text) is 'The batch of an id, its row locked.';

create function private.read_minimum(input jsonb) returns numeric
language plpgsql immutable
set search_path = ''
as $$
declare
  minimum constant numeric := private.as_decimal(coalesce(input ->> 'minimum', '5'), 2);
begin
  if minimum is null then
    perform private.refuse('invalid_minimum');
  end if;
  return minimum;
end $$;
comment on function private.read_minimum(jsonb) is 'From how many euro on somebody is paid, {minimum?}: 5 unless told. At least that.';

create function ops.payout_due(input jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
begin
  return (
    select json_build_object('payees', coalesce(json_agg(json_build_object(
             'partner_id', y.partner_id, 'account_id', y.account_id, 'iban', json_build_object('ciphertext', y.iban_ciphertext, 'key_id', y.iban_key_id),
             'failed_iban', case when y.failed_ciphertext is not null then json_build_object('ciphertext', y.failed_ciphertext, 'key_id', y.failed_key_id) end)), '[]'))
      from private.payees(private.read_minimum(input)) y where y.reason is null);
end $$;
comment on function ops.payout_due(jsonb) is
  'Whom a batch would take in, with their IBANs as they are encrypted: {minimum?} to {payees}. Who has the keys judges these, for payout_prepare.';
select private.expose_ops('ops.payout_due(jsonb)');

create function ops.payout_prepare(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  login   constant text := private.operator_login();
  minimum constant numeric := private.read_minimum(input);
  judged  jsonb;
  taken   private.payee[];
  made    uuid;
  batch   core.payout_batches;
begin
  perform private.act_as_operator(input), private.lock_payouts(exclusively => true);
  -- judged is what was said of the very IBAN that is there now, by what had failed till now
  select coalesce(jsonb_agg(to_jsonb(y) || jsonb_build_object('reason',
           coalesce(y.reason, case when j.ciphertext is distinct from y.iban_ciphertext or j.failed_ciphertext is distinct from y.failed_ciphertext
                               then 'not_judged' else j.problem end))), '[]')
    into judged
    from private.payees(minimum) y
    left join jsonb_to_recordset(coalesce(input -> 'judged', '[]')) as j (partner_id uuid, account_id uuid, ciphertext text, failed_ciphertext text, problem text)
      on j.partner_id = y.partner_id and coalesce(j.account_id, j.partner_id) = coalesce(y.account_id, y.partner_id);
  taken := array(select y from jsonb_populate_recordset(null::private.payee, judged) y where y.reason is null);
  if cardinality(taken) > 0 then
    made := private.make_batch(taken, minimum, login);
    select * into batch from core.payout_batches b where b.id = made;
    perform private.audit('payout.prepared', batch.id, jsonb_build_object('lines', cardinality(taken)));
  end if;
  return (
    with left_out as materialized (
      select y.*, p.slug from jsonb_populate_recordset(null::private.payee, judged) y join core.partners p on p.id = y.partner_id where y.reason is not null
    )
    select json_build_object(
      'changed', batch.id is not null,
      'batch', case when batch.id is not null then private.payout_batch_row(batch) end,
      'left_out', (select coalesce(json_agg(json_build_object(
                     'reason', t.reason, 'payees', t.payees, 'amount_eur', t.amount) order by t.payees desc, t.reason), '[]')
                     from (select l.reason, count(*) as payees, sum(l.amount) as amount from left_out l group by l.reason) t),
      'payees', (select coalesce(json_agg(json_build_object(
                   'payee', coalesce(l.account_id, l.partner_id), 'partner_slug', l.slug, 'amount_eur', l.amount, 'reason', l.reason,
                   'iban', '**** ' || l.iban_last4, 'iban_changed_at', private.iso(l.iban_changed_at)) order by l.reason, l.amount desc, l.account_id), '[]')
                   from left_out l)));
end $$;
comment on function ops.payout_prepare(jsonb) is
  'A batch of all who can be paid now: {minimum?, judged: [{partner_id, account_id, ciphertext, failed_ciphertext, problem}]} to {changed, batch, left_out, payees}. judged says of each payee of payout_due what is wrong with the IBAN, or null. Who is left out is named, with the reason.';
select private.expose_ops('ops.payout_prepare(jsonb)');

create function ops.payout_approve(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  login   constant text := private.operator_login();
  batch   core.payout_batches;
  changed boolean;
begin
  perform private.act_as_operator(input);
  batch := private.payout_batch_named(input ->> 'batch');
  changed := batch.status = 'prepared';
  if batch.status = 'cancelled' then
    perform private.refuse('payout_cancelled', json_build_object('batch', batch.id));
  elsif batch.prepared_by = login then
    perform private.refuse('second_person_needed', json_build_object('batch', batch.id, 'login', login));
  elsif changed then
    update core.payout_batches b set status = 'approved', approved_by = login, approved_at = private.now() where b.id = batch.id returning * into batch;
    perform private.audit('payout.approved', batch.id), private.emit_payouts('payout.approved', private.lines_of(batch.id));
  end if;
  return json_build_object('changed', changed, 'batch', private.payout_batch_row(batch));
end $$;
comment on function ops.payout_approve(jsonb) is 'Lets a batch go to the bank, by another person than who prepared it: {batch} to {changed, batch}.';
select private.expose_ops('ops.payout_approve(jsonb)');

create function ops.payout_export(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  again constant boolean := coalesce((input ->> 'again')::boolean, false);
  batch core.payout_batches;
begin
  perform private.act_as_operator(input);
  batch := private.payout_batch_named(input ->> 'batch');
  if batch.status = 'approved' then
    return json_build_object(
      'batch', private.payout_batch_row(batch),
      'created_at', to_char(private.now() at time zone 'Europe/Amsterdam', 'YYYY-MM-DD"T"HH24:MI:SS'),
      'lines', (select json_agg(json_build_object(
                  'line_id', l.id, 'partner_id', l.partner_id, 'name', l.name, 'amount_eur', l.amount,
                  'iban', json_build_object('ciphertext', l.iban_ciphertext, 'key_id', l.iban_key_id)) order by l.arrival)
                  from core.payout_lines l where l.batch_id = batch.id));
  elsif batch.file_sha256 is null then
    perform private.refuse('payout_not_approved', json_build_object('batch', batch.id, 'status', batch.status));
  elsif not again then
    perform private.refuse('payout_exported', json_build_object('batch', batch.id, 'exported_at', private.iso(batch.exported_at)));
  end if;
  perform private.audit('payout.exported_again', batch.id, jsonb_build_object('reason', private.operator_reason(input ->> 'reason')));
  return json_build_object('batch', private.payout_batch_row(batch), 'file', json_build_object('ciphertext', batch.file_ciphertext, 'key_id', batch.file_key_id));
end $$;
comment on function ops.payout_export(jsonb) is
  'What the file for the bank is made of, IBANs as they are encrypted: {batch} to {batch, created_at, lines}. With again and a reason, of a batch that was exported: {batch, file}, as payout_keep_file was given it.';
select private.expose_ops('ops.payout_export(jsonb)');

create function ops.payout_keep_file(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  batch core.payout_batches;
begin
  perform private.act_as_operator(input);
  batch := private.payout_batch_named(input ->> 'batch');
  if batch.status <> 'approved' then
    perform private.refuse('payout_exported', json_build_object('batch', batch.id, 'exported_at', private.iso(batch.exported_at)));
  end if;
  update core.payout_batches b
     set status = 'exported', exported_by = session_user, exported_at = private.now(),
         file_ciphertext = input #>> '{file,ciphertext}', file_key_id = input #>> '{file,key_id}', file_sha256 = input ->> 'sha256'
   where b.id = batch.id returning * into batch;
  perform private.notify_paid(batch.id), private.audit('payout.exported', batch.id, jsonb_build_object('sha256', batch.file_sha256));
  return json_build_object('batch', private.payout_batch_row(batch));
end $$;
comment on function ops.payout_keep_file(jsonb) is
  'Keeps the file that was made for the bank, encrypted, before it is written anywhere, and has customers told: {batch, file: {ciphertext, key_id}, sha256} to {batch}. Of two at once one is kept.';
select private.expose_ops('ops.payout_keep_file(jsonb)');

create function private.line_id_of(named text) returns uuid
language sql immutable
set search_path = ''
as $$ select private.as_uuid(regexp_replace(named, '^(.{8})(.{4})(.{4})(.{4})(.{12})$', '\1-\2-\3-\4-\5')) $$;
comment on function private.line_id_of(text) is 'The id of a line, as itself or as the bank names it: the EndToEndId, without dashes.';

create function private.fail_lines(ids text[], reason text) returns int
language plpgsql
set search_path = ''
as $$
declare
  named  text;
  line   core.payout_lines;
  status text;
  failed int := 0;
begin
  foreach named in array ids loop
    select * into line from core.payout_lines l
     where l.partner_id = any (array(select p.id from core.partners p)) and l.id = private.line_id_of(named);
    if not found then
      perform private.refuse('payout_line_not_found', json_build_object('line', named));
    end if;
    select b.status into status from core.payout_batches b where b.id = line.batch_id;
    if status not in ('exported', 'settled') then
      perform private.refuse('payout_not_exported', json_build_object('batch', line.batch_id, 'status', status));
    end if;
    if line.status <> 'failed' then
      perform private.fail_line(line, reason);
      failed := failed + 1;
    end if;
  end loop;
  return failed;
end $$;
comment on function private.fail_lines(text[], text) is 'The bank did not pay these lines: how many of them it had not said that of yet. Payouts are locked exclusively.';

create function ops.payout_settle(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  failed constant text[] := array(select jsonb_array_elements_text(coalesce(input -> 'failed', '[]')));
  batch  core.payout_batches;
  paid   int := 0;
  lost   int;
begin
  if input ->> 'batch' is null and cardinality(failed) = 0 then
    perform private.refuse('nothing_to_settle');
  end if;
  perform private.act_as_operator(input), private.lock_payouts(exclusively => true);
  if input ->> 'batch' is not null then
    batch := private.payout_batch_named(input ->> 'batch');
    if batch.status not in ('exported', 'settled') then
      perform private.refuse('payout_not_exported', json_build_object('batch', batch.id, 'status', batch.status));
    end if;
  end if;
  lost := private.fail_lines(failed, private.operator_reason(coalesce(input ->> 'reason', 'the bank could not pay it')));
  perform private.act_for_partner(null);
  if batch.status = 'exported' then
    paid := private.pay_lines(batch.id);
    update core.payout_batches b set status = 'settled', settled_by = session_user, settled_at = private.now() where b.id = batch.id returning * into batch;
    perform private.audit('payout.settled', batch.id, jsonb_build_object('paid', paid));
  end if;
  return json_build_object(
    'changed', paid + lost > 0, 'paid', paid, 'failed', lost,
    'batch', case when batch.id is not null then private.payout_batch_row(batch) end,
    'lines', (select coalesce(json_agg(private.payout_line_row(l) order by l.arrival), '[]') from core.payout_lines l
               where l.partner_id = any (array(select p.id from core.partners p)) and l.id = any (array(select private.line_id_of(f) from unnest(failed) f))));
end $$;
comment on function ops.payout_settle(jsonb) is
  'What the bank did: {batch?, failed?: [line], reason?} to {changed, paid, failed, batch, lines}. The lines of failed go back to the balances; of the batch every line is paid that was not said to have failed.';
select private.expose_ops('ops.payout_settle(jsonb)');

create function ops.payout_cancel(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  reason  constant text := private.operator_reason(input ->> 'reason');
  batch   core.payout_batches;
  changed boolean;
begin
  perform private.act_as_operator(input), private.lock_payouts(exclusively => true);
  batch := private.payout_batch_named(input ->> 'batch');
  changed := batch.status <> 'cancelled';
  if batch.status in ('exported', 'settled') then
    perform private.refuse('payout_gone', json_build_object('batch', batch.id));
  elsif changed then
    perform private.return_lines(array(select l from core.payout_lines l where l.batch_id = batch.id));
    update core.payout_lines l set status = 'cancelled' where l.batch_id = batch.id;
    update core.payout_batches b set status = 'cancelled', cancelled_by = session_user, cancelled_at = private.now(), cancelled_reason = reason
     where b.id = batch.id returning * into batch;
    perform private.audit('payout.cancelled', batch.id);
    if batch.approved_at is not null then
      perform private.emit_payouts('payout.reversed', private.lines_of(batch.id));
    end if;
  end if;
  return json_build_object('changed', changed, 'batch', private.payout_batch_row(batch));
end $$;
comment on function ops.payout_cancel(jsonb) is
  'Gives back what a batch took, before it was exported: {batch, reason} to {changed, batch}.';
select private.expose_ops('ops.payout_cancel(jsonb)');

create function ops.payout_release(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  reason  constant text := private.operator_reason(input ->> 'reason');
  line    core.payout_lines;
  changed boolean;
begin
  perform private.act_as_operator(input), private.lock_payouts(exclusively => true);
  select l.* into line
    from core.payout_lines l join core.partners p on p.id = l.partner_id
   where l.partner_id = any (array(select q.id from core.partners q)) and l.status <> 'cancelled'
     and l.payee_id = coalesce(private.as_uuid(input ->> 'payee'), (select q.id from core.partners q where q.slug = input ->> 'payee'))
   order by l.arrival desc limit 1;
  if line.status is distinct from 'failed' then
    perform private.refuse('nothing_to_release', json_build_object('payee', input ->> 'payee'));
  end if;
  changed := line.released_at is null;
  if changed then
    update core.payout_lines l set released_at = private.now(), released_reason = reason
     where l.partner_id = line.partner_id and l.id = line.id returning * into line;
    perform private.act_for_partner(line.partner_id), private.audit('payout.released', line.payee_id, jsonb_build_object('line', line.id));
  end if;
  return json_build_object('changed', changed, 'line', private.payout_line_row(line));
end $$;
comment on function ops.payout_release(jsonb) is
  'Lets the IBAN of a payment that failed be paid again: {payee, reason} to {changed, line}. payee is an account id, or a partner''s slug or id.';
select private.expose_ops('ops.payout_release(jsonb)');

create function ops.payout_list(input jsonb) returns json
language sql stable security definer
set search_path = ''
as $$
  select json_build_object('batches', coalesce(json_agg(private.payout_batch_row(b) order by b.prepared_at desc, b.id), '[]'))
    from (select * from core.payout_batches b
           where input ->> 'status' is null or b.status = input ->> 'status'
           order by b.prepared_at desc, b.id limit coalesce((input ->> 'limit')::int, 50)) b
$$;
comment on function ops.payout_list(jsonb) is 'Batches, newest first: {status?, limit?} to {batches}.';
select private.expose_ops('ops.payout_list(jsonb)');

create function ops.payout_show(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  batch core.payout_batches;
begin
  perform private.act_as_operator(input);
  batch := private.payout_batch_named(input ->> 'batch');
  perform private.audit('payout.read', batch.id);
  return json_build_object(
    'batch', private.payout_batch_row(batch),
    'lines', (select coalesce(json_agg(private.payout_line_row(l) order by l.arrival), '[]')
                from (select l.* from core.payout_lines l
                       where l.batch_id = batch.id and (input ->> 'status' is null or l.status = input ->> 'status')
                       order by l.arrival limit coalesce((input ->> 'limit')::int, 1000)) l));
end $$;
comment on function ops.payout_show(jsonb) is 'A batch and its lines, in the order of the file: {batch, status?, limit?} to {batch, lines}. Names people, so it leaves an audit row.';
select private.expose_ops('ops.payout_show(jsonb)');

create function private.yearly_overview(account core.accounts, year int) returns json
language plpgsql stable
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
begin
  return (
    with sold as materialized (
      -- sold in that year, or taken back in it
      select k.at, b.quarter, s.price, a.ere * k.sign as ere, a.gross * k.sign as gross, a.fee * k.sign as fee, a.net * k.sign as net
        from core.allocations a
        join core.sales s on s.partner_id = a.partner_id and s.id = a.sale_id
        join core.bookings b on b.partner_id = s.partner_id and b.id = s.booking_id
        left join core.sale_reversals v on v.partner_id = a.partner_id and v.id = a.reversal_id
        cross join lateral (values (s.sold_on, 1), ((v.reversed_at at time zone 'Europe/Amsterdam')::date, -1)) k (at, sign)
       where a.partner_id = account.partner_id and a.account_id = account.id and extract(year from k.at) = yearly_overview.year
    ), payment as materialized (
      select (l.paid_at at time zone 'Europe/Amsterdam')::date as at, p.amount, l.account_id is null as to_partner, l.iban_last4
        from core.payout_parts p
        join core.payout_lines l on l.partner_id = p.partner_id and l.id = p.line_id and l.status = 'paid'
       where p.ledger_partner_id = account.partner_id and p.payee_id = account.id and p.kind = 'customer'
         and extract(year from l.paid_at at time zone 'Europe/Amsterdam') = yearly_overview.year
    )
    select json_build_object(
      'account_id', account.id, 'year', yearly_overview.year, 'currency', 'EUR',
      'ere_sold', coalesce(sum(s.ere), 0), 'gross_eur', coalesce(sum(s.gross), 0), 'fee_eur', coalesce(sum(s.fee), 0), 'net_eur', coalesce(sum(s.net), 0),
      'paid_eur', (select coalesce(sum(p.amount), 0) from payment p),
      'sales', (select coalesce(json_agg(json_build_object(
                  'sold_on', q.at, 'quarter', private.quarter_name(q.quarter), 'price_per_ere_eur', q.price, 'ere', q.ere, 'gross_eur', q.gross,
                  'fee_eur', q.fee, 'net_eur', q.net) order by q.at, q.quarter, q.price, q.ere < 0), '[]')
                  from (select o.at, o.quarter, o.price, sum(o.ere) as ere, sum(o.gross) as gross, sum(o.fee) as fee, sum(o.net) as net
                          from sold o group by o.at, o.quarter, o.price, sign(o.ere)) q),
      'payments', (select coalesce(json_agg(json_build_object(
                     'paid_on', p.at, 'amount_eur', p.amount, 'to', case when p.to_partner then 'cpo' else 'customer' end, 'iban', '**** ' || p.iban_last4)
                     order by p.at), '[]') from payment p))
      from sold s);
end $$;
comment on function private.yearly_overview(core.accounts, int) is
  'What was sold of a customer in a calendar year, and what they were paid in it: {account_id, year, ere_sold, gross_eur, fee_eur, net_eur, paid_eur, sales, payments}. The fee has its VAT in it.';

create function ops.payout_overview(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  account core.accounts;
begin
  perform private.act_as_operator(input);
  select * into account from core.accounts a
   where a.partner_id = any (array(select p.id from core.partners p)) and a.id = private.as_uuid(input ->> 'account');
  if not found then
    perform private.refuse('account_not_found', json_build_object('account', input ->> 'account'));
  end if;
  perform private.act_for_partner(account.partner_id), private.audit('account.overview_read', account.id);
  return json_build_object('overview', private.yearly_overview(account, (input ->> 'year')::int));
end $$;
comment on function ops.payout_overview(jsonb) is
  'A customer''s year: {account, year} to {overview}. Of a person, so it leaves an audit row.';
select private.expose_ops('ops.payout_overview(jsonb)');

-- The operator on invoices: issue, list, show; the rates of VAT.

create function private.invoice_row(invoice core.invoices) returns json
language sql stable
set search_path = ''
as $$
  select json_build_object(
    'invoice_id', invoice.id, 'number', private.invoice_number(invoice), 'partner_slug', (select p.slug from core.partners p where p.id = invoice.partner_id),
    'name', invoice.name,
    'corrects', (select private.invoice_number(i) from core.invoices i where i.partner_id = invoice.partner_id and i.id = invoice.corrects), 'quarter', private.quarter_name(invoice.quarter), 'issued_on', invoice.issued_on, 'issued_by', invoice.issued_by,
    'vat_regime', invoice.vat_regime, 'vat_rate', invoice.vat_rate, 'net_eur', invoice.net, 'vat_eur', invoice.vat, 'total_eur', invoice.net + invoice.vat)
$$;
comment on function private.invoice_row(core.invoices) is 'An invoice as the operator sees it: below zero a credit note, with the number of the invoice it corrects.';

create function ops.invoice_issue(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  wanted   constant date := private.read_quarter(input ->> 'quarter');
  chosen   uuid;
  partner  core.partners;
  invoice  core.invoices;
  owed     numeric;
  issued   jsonb := '[]';
  left_out jsonb := '[]';
begin
  perform private.act_as_operator(input);
  if input ? 'partner' then
    chosen := (private.business_named(input ->> 'partner')).id;
  end if;
  -- what is sold of a quarter that runs is a part of it
  if wanted + interval '3 months' > private.today() then
    perform private.refuse('quarter_not_over', json_build_object('quarter', private.quarter_name(wanted)));
  end if;
  for partner in
    select p.* from core.partners p
     where p.id <> private.house() and (chosen is null or p.id = chosen)
       and exists (select from core.ledger_accounts a
                    where a.partner_id = any (array[p.id, private.house()]) and a.owner = p.id and a.kind = 'partner' and a.unit = 'EUR')
     order by p.id
  loop
    for invoice in select * from private.issue_invoices(partner, wanted, session_user) loop
      issued := issued || private.invoice_row(invoice)::jsonb;
    end loop;
    owed := (select sum(e.amount) from private.share_entries(partner.id) e where e.quarter = wanted);
    if owed <> 0 and private.why_no_invoice(partner) is not null then
      left_out := left_out || jsonb_build_object('partner_slug', partner.slug, 'net_eur', owed, 'reason', private.why_no_invoice(partner));
    end if;
  end loop;
  return json_build_object('changed', issued <> '[]', 'invoices', issued, 'left_out', left_out);
end $$;
comment on function ops.invoice_issue(jsonb) is
  'Writes invoices of a quarter of delivery, one for each partner with a share that is on none, and credit notes of what was taken back: {quarter, partner?} to {changed, invoices, left_out}.';
select private.expose_ops('ops.invoice_issue(jsonb)');

create function ops.invoice_list(input jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
declare
  chosen uuid;
begin
  if input ? 'partner' then
    chosen := (private.partner_named(input ->> 'partner')).id;
  end if;
  return (
    select json_build_object('invoices', coalesce(json_agg(private.invoice_row(i) order by i.issued_on desc, i.year desc, i.number desc, i.partner_id), '[]'))
      from (select i.* from core.invoices i
             where (chosen is null or i.partner_id = chosen)
               and (input ->> 'quarter' is null or private.quarter_name(i.quarter) = upper(input ->> 'quarter'))
             order by i.issued_on desc, i.year desc, i.number desc, i.partner_id limit coalesce((input ->> 'limit')::int, 50)) i);
end $$;
comment on function ops.invoice_list(jsonb) is 'Invoices, newest first: {quarter?, partner?, limit?} to {invoices}.';
select private.expose_ops('ops.invoice_list(jsonb)');

create function ops.invoice_show(input jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
declare
  partner constant core.partners := private.business_named(input ->> 'partner');
  invoice core.invoices;
begin
  select * into invoice from core.invoices i where i.partner_id = partner.id and private.invoice_number(i) = input ->> 'number';
  if not found then
    perform private.refuse('invoice_not_found', json_build_object('number', input ->> 'number', 'partner', partner.slug));
  end if;
  return json_build_object('invoice', private.invoice_row(invoice), 'company', invoice.company, 'months', private.invoice_months(invoice));
end $$;
comment on function ops.invoice_show(jsonb) is 'An invoice, the company data it has, and what it charges by the month of delivery: {partner, number} to {invoice, company, months}.';
select private.expose_ops('ops.invoice_show(jsonb)');

create function ops.vat_set(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  wanted  constant numeric := private.as_decimal(input ->> 'rate', 2);
  since   constant date := private.as_day(input ->> 'valid_from');
  changed boolean;
begin
  perform private.act_as_operator(input);
  if wanted is null or wanted > 100 or since is null then
    perform private.refuse('invalid_vat_rate');
  end if;
  changed := not exists (select from core.vat_rates r where r.valid_from = since and r.rate = wanted);
  if changed and exists (select from core.invoices i where i.issued_on >= since) then
    perform private.refuse('vat_rate_in_use', json_build_object('valid_from', since));
  elsif changed then
    insert into core.vat_rates as r (valid_from, rate) values (since, wanted)
    on conflict on constraint vat_rates_pkey do update set rate = excluded.rate;
    perform private.audit('vat.rate_set', null, jsonb_build_object('valid_from', since, 'rate', wanted));
  end if;
  return json_build_object('changed', changed, 'rate', json_build_object('valid_from', since, 'rate', wanted));
end $$;
comment on function ops.vat_set(jsonb) is 'The standard rate of VAT from a day on, which no invoice was issued on or after: {valid_from, rate} to {changed, rate}.';
select private.expose_ops('ops.vat_set(jsonb)');

create function ops.vat_list(input jsonb) returns json
language sql stable security definer
set search_path = ''
as $$
  select json_build_object('rates', json_agg(json_build_object('valid_from', r.valid_from, 'rate', r.rate) order by r.valid_from desc)) from core.vat_rates r
$$;
comment on function ops.vat_list(jsonb) is 'The standard rates of VAT, the latest first: {} to {rates}.';
select private.expose_ops('ops.vat_list(jsonb)');

-- The operator on the ledger: check.

create function ops.ledger_check(input jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
declare
  partner uuid;
begin
  if input ? 'partner' then
    partner := (private.partner_named(input ->> 'partner')).id;
  end if;
  return (
    with checked as materialized (
      select p.slug, k.* from core.partners p cross join lateral private.check_ledger(p.id) k where partner is null or p.id = partner
    )
    select json_build_object(
      'ok', coalesce(sum(k.wrong), 0) = 0 and coalesce(bool_and(k.expected = k.found), true),
      'checks', (select json_agg(json_build_object('check', c.what, 'expected', c.expected, 'found', c.found, 'wrong', c.wrong) order by c.what)
                   from (select k.what, sum(k.expected) as expected, sum(k.found) as found, sum(k.wrong) as wrong from checked k group by k.what) c),
      'wrong', (select coalesce(json_agg(json_build_object('partner_slug', k.slug, 'check', k.what, 'expected', k.expected, 'found', k.found,
                                                           'wrong', k.wrong, 'first', k.example) order by k.slug, k.what), '[]')
                  from checked k where k.wrong > 0 or k.expected <> k.found))
      from checked k);
end $$;
comment on function ops.ledger_check(jsonb) is
  'Whether kWh, ERE and money agree from the delivered months to the last cent, of one partner or of all: {partner?} to {ok, checks, wrong}.';
select private.expose_ops('ops.ledger_check(jsonb)');

-- The operator on the audit log: verify.

create function private.fault_row(fault private.audit_fault) returns json
language sql stable
set search_path = ''
as $$
  select case when fault.fault is not null then json_build_object(
    'fault', fault.fault, 'position', fault.position, 'row', fault.row_id, 'at', private.iso(fault.at), 'what', fault.what) end
$$;

create function ops.audit_chains(input jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
declare
  partner uuid;
begin
  if input ? 'partner' then
    partner := (private.partner_named(input ->> 'partner')).id;
  end if;
  return (
    -- of a tenant that was made just now, or whose chains are gone, there is none yet
    select json_build_object('chains', coalesce(json_agg(json_build_object(
             'partner_id', p.id, 'partner_slug', p.slug, 'log', l.log, 'links', coalesce(c.position - c.checkpoint_position, 0),
             'first', c.checkpoint_position + 1, 'position', coalesce(c.position, 0), 'hash', encode(c.hash, 'hex')) order by p.slug, l.log), '[]'))
      from core.partners p
     cross join (values ('audit'), ('ledger')) l (log)
      left join core.audit_chains c on c.partner_id = p.id and c.log = l.log
     where partner is null or p.id = partner);
end $$;
comment on function ops.audit_chains(jsonb) is 'The chains of the audit log and of the ledger, of one partner or of all: {partner?} to {chains}.';
select private.expose_ops('ops.audit_chains(jsonb)');

create function ops.audit_verify_part(input jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
declare
  chain core.audit_chains;
  part  record;
  rest  private.audit_fault;
begin
  select * into chain from core.audit_chains c where c.partner_id = (input ->> 'partner_id')::uuid and c.log = input ->> 'log';
  if not found then
    -- as one that has nothing yet: what has been written is named once it is ten minutes old
    chain.partner_id := (input ->> 'partner_id')::uuid;
    chain.log := input ->> 'log';
    chain.position := 0;
    chain.settled_id := 0;
    chain.checkpoint_position := 0;
  end if;
  part := private.verify_links(chain, (input ->> 'after')::bigint, (input ->> 'size')::int, decode(input ->> 'expect', 'hex'));
  if part.links < (input ->> 'size')::int and (part.first_fault).fault is null then
    rest := private.verify_rest(chain);
  end if;
  return json_build_object(
    'last', part.last, 'links', part.links, 'is_there', part.is_there, 'done', part.links < (input ->> 'size')::int,
    'fault', private.fault_row(case when (part.first_fault).fault is null then rest else part.first_fault end));
end $$;
comment on function ops.audit_verify_part(jsonb) is
  'Walks a part of a chain: {partner_id, log, after, size, expect?} to {last, links, is_there, done, fault or null}. The last part looks for rows without a link too.';
select private.expose_ops('ops.audit_verify_part(jsonb)');

create function ops.audit_verify_seals(input jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
begin
  return (
    with seal as (
      select s.*, private.seal_hash(s.day, s.heads, lag(s.hash) over (order by s.day)) as made from core.audit_seals s
    ), wrong as (
      select s.day, null::text as partner_slug, null::text as log, null::bigint as position from seal s where s.hash <> s.made
      union all
      select s.day, p.slug, h.log, h.position
        from seal s
       cross join lateral jsonb_to_recordset(s.heads) h (partner_id uuid, log text, position bigint, hash text)
        left join core.partners p on p.id = h.partner_id
        left join core.audit_chains c on c.partner_id = h.partner_id and c.log = h.log
        left join core.audit_links l on l.partner_id = h.partner_id and l.log = h.log and l.position = h.position
       where h.position > coalesce(c.checkpoint_position, 0) and encode(l.hash, 'hex') is distinct from h.hash
    )
    select json_build_object(
      'seals', count(*), 'is_there', coalesce(bool_or(s.hash = decode(input ->> 'expect', 'hex')), false),
      'last', (select json_build_object('day', l.day, 'hash', encode(l.hash, 'hex')) from seal l order by l.day desc limit 1),
      'wrong', (select json_build_object('day', w.day, 'partner_slug', w.partner_slug, 'log', w.log, 'position', w.position)
                  from wrong w order by w.day, w.partner_slug nulls first, w.log limit 1))
      from seal s);
end $$;
comment on function ops.audit_verify_seals(jsonb) is
  'Whether the seals follow each other and the chains still are what was sealed: {expect?} to {seals, is_there, last, wrong or null}, the first that does not fit.';
select private.expose_ops('ops.audit_verify_seals(jsonb)');

-- The operator for the verifier: what a booking rests on, part by part and page by page, so that a large one fits into little memory.

create function ops.evidence_open(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  booking core.bookings;
  csv     text;
begin
  perform private.act_as_operator(input);
  booking := private.submitted_booking_named(input);
  csv := private.export_csv(booking);
  perform private.audit('booking.evidence_shown', booking.id);
  return json_build_object(
    'booking_id', booking.id, 'partner_id', booking.partner_id,
    'partner_slug', (select p.slug from core.partners p where p.id = booking.partner_id),
    'quarter', private.quarter_name(booking.quarter), 'number', booking.number, 'submitted_at', private.iso(booking.submitted_at),
    'rows', (select count(*) from core.booking_rows r where r.partner_id = booking.partner_id and r.booking_id = booking.id),
    'export_sha256', booking.export_sha256, 'csv', csv);
end $$;
comment on function ops.evidence_open(jsonb) is
  'What the evidence of a booking begins with: {booking, partner?} to {booking_id, partner_id, …, rows, export_sha256, csv}. Names people, so it leaves an audit row.';
select private.expose_ops('ops.evidence_open(jsonb)');

create function private.evidence_rows(booking core.bookings, after uuid, size int) returns table (key uuid, line json)
language sql stable
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
  select r.id, to_json(j)
    from (select * from core.booking_rows r
           where r.partner_id = booking.partner_id and r.booking_id = booking.id and r.id > after order by r.id limit size) r
    left join core.credits c on c.partner_id = r.partner_id and c.row_id = r.id and c.reversed_at is null
   cross join lateral (
     select r.id as row_id, r.account_id, r.connection_id, r.ean_code, to_char(r.period, 'YYYY-MM') as period, r.status, r.kwh, r.session_count, r.source,
            r.ere_per_kwh, r.delivery_id, r.signatory, r.postal_code, r.house_number, r.house_number_addition, r.street, r.city,
            r.mandate_id, r.fee_pct, r.partner_share_pct, r.charger_brand, r.charger_model, r.charger_serial, r.flags,
            c.accepted_kwh, c.ere, c.reason) j
$$;

create function private.evidence_mandates(booking core.bookings, after uuid, size int) returns table (key uuid, line json)
language sql stable
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
  select m.id, json_build_object(
           'mandate_id', m.id, 'connection_id', m.connection_id, 'status', m.status, 'valid_from', m.valid_from, 'valid_until', m.valid_until,
           'signed_at', private.iso(m.signed_at), 'signed_name', m.signed_name, 'code_confirmed', m.code_confirmed, 'code_sent_to', m.code_sent_to,
           'address', m.address, 'user_agent', m.user_agent, 'ended_at', private.iso(m.ended_at), 'ended_reason', m.ended_reason,
           'document', m.document, 'document_sha256', m.document_sha256, 'pdf_sha256', d.sha256)
    from (select distinct r.mandate_id from core.booking_rows r
           where r.partner_id = booking.partner_id and r.booking_id = booking.id and r.mandate_id > after order by r.mandate_id limit size) k
    join core.mandates m on m.partner_id = booking.partner_id and m.id = k.mandate_id
    left join core.documents d on d.partner_id = m.partner_id and d.mandate_id = m.id
$$;

create function private.evidence_pdfs(booking core.bookings, after uuid, size int) returns table (key uuid, line json)
language sql stable
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
  -- of one that is not rendered yet there is a line too, without a document
  select k.mandate_id, json_build_object('mandate_id', k.mandate_id, 'sha256', d.sha256, 'pdf', translate(encode(d.pdf, 'base64'), e'\n', ''))
    from (select distinct r.mandate_id from core.booking_rows r
           where r.partner_id = booking.partner_id and r.booking_id = booking.id and r.mandate_id > after order by r.mandate_id limit size) k
    left join core.documents d on d.partner_id = booking.partner_id and d.mandate_id = k.mandate_id
$$;

create function private.evidence_deliveries(booking core.bookings, after uuid, size int) returns table (key uuid, line json)
language sql stable
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
  select d.id, json_build_object(
           'delivery_id', d.id, 'connection_id', d.connection_id, 'client_id', d.client_id, 'request_id', d.request_id,
           'received_at', private.iso(d.received_at), 'body', d.body, 'body_sha256', d.body_sha256)
    from (select distinct r.delivery_id from core.booking_rows r
           where r.partner_id = booking.partner_id and r.booking_id = booking.id and r.delivery_id > after order by r.delivery_id limit size) k
    join core.deliveries d on d.partner_id = booking.partner_id and d.id = k.delivery_id
$$;

create function private.evidence_connections(booking core.bookings, after uuid, size int) returns table (key uuid, line json)
language sql stable
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
  select k.connection_id, json_build_object(
           'connection_id', k.connection_id,
           'chargers', (select coalesce(json_agg(json_build_object(
                'charger_id', h.id, 'status', h.status, 'brand', h.brand, 'serial_number', h.serial_number, 'ocpp_vendor', h.ocpp_vendor,
                'ocpp_model', h.ocpp_model, 'ocpp_meter_type', h.ocpp_meter_type, 'mid_eligible', h.mid_eligible, 'power_kw', h.power_kw,
                'model', m.model, 'mid_evidence', m.mid_evidence, 'mid_source', m.mid_source) order by h.created_at, h.id), '[]')
              from core.chargers h left join core.charger_models m on m.id = h.catalog_charger_id
             where h.partner_id = booking.partner_id and h.connection_id = k.connection_id),
           'ean_checks', (select coalesce(json_agg(json_build_object(
                'ean_code', e.ean_code, 'source', e.source, 'outcome', e.outcome, 'reason', e.reason, 'checked_at', private.iso(e.checked_at)) order by e.id), '[]')
              from core.ean_checks e where e.partner_id = booking.partner_id and e.connection_id = k.connection_id),
           'replaced_months', (select coalesce(json_agg(json_build_object(
                'period', to_char(r.period, 'YYYY-MM'), 'total_kwh', r.total_kwh, 'delivery_id', r.delivery_id, 'replaced_at', private.iso(r.replaced_at)) order by r.id), '[]')
              from core.replaced_months r
             where r.partner_id = booking.partner_id and r.connection_id = k.connection_id
               and r.period >= booking.quarter and r.period < booking.quarter + interval '3 months'),
           'charging_sessions', (select coalesce(json_agg(json_build_object(
                'session_id', s.id, 'charger_id', s.charger_id, 'source', s.source, 'external_id', s.external_id, 'started_at', private.iso(s.started_at),
                'ended_at', private.iso(s.ended_at), 'wh', s.wh, 'flags', s.flags, 'received_at', private.iso(s.received_at)) order by s.started_at, s.id), '[]')
              from core.charging_sessions s
             where s.partner_id = booking.partner_id and s.connection_id = k.connection_id
               and s.month >= booking.quarter and s.month < booking.quarter + interval '3 months'))
    from (select distinct r.connection_id from core.booking_rows r
           where r.partner_id = booking.partner_id and r.booking_id = booking.id and r.connection_id > after order by r.connection_id limit size) k
$$;

create function private.evidence_audit(booking core.bookings, after uuid, size int) returns table (key uuid, line json)
language sql stable
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
  select k.subject, json_build_object(
           'subject', k.subject,
           'rows', (select coalesce(json_agg(json_build_object(
                'id', a.id, 'at', private.iso(a.at), 'actor', a.actor, 'action', a.action, 'details', a.details, 'request_id', a.request_id,
                'position', l.position, 'hash', encode(l.hash, 'hex')) order by a.id), '[]')
              from core.audit_log a
              left join core.audit_links l on l.partner_id = a.partner_id and l.log = 'audit' and l.row_id = a.id
              -- that somebody looked at this is no part of it, so that it stays the same
             where a.subject_id = k.subject and a.partner_id = booking.partner_id and a.action <> 'booking.evidence_shown'))
    from (select distinct s.subject
            from core.booking_rows r cross join lateral (values (r.booking_id), (r.account_id), (r.connection_id), (r.mandate_id)) s (subject)
           where r.partner_id = booking.partner_id and r.booking_id = booking.id and s.subject > after order by s.subject limit size) k
$$;

create function ops.evidence_page(input jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
declare
  booking core.bookings;
  after   constant uuid := coalesce((input ->> 'after')::uuid, '00000000-0000-0000-0000-000000000000');
  size    constant int := (input ->> 'size')::int;
  page    json;
begin
  select * into booking from core.bookings b where b.partner_id = (input ->> 'partner_id')::uuid and b.id = (input ->> 'booking_id')::uuid;
  execute format('select json_build_object(''lines'', coalesce(json_agg(p.line order by p.key), ''[]''), ''last'', max(p.key::text)) from private.%I($1, $2, $3) p',
                 case input ->> 'part' when 'rows' then 'evidence_rows' when 'mandates' then 'evidence_mandates' when 'pdfs' then 'evidence_pdfs'
                                       when 'deliveries' then 'evidence_deliveries' when 'connections' then 'evidence_connections'
                                       when 'audit' then 'evidence_audit' end)
    into page using booking, after, size;
  return page;
end $$;
comment on function ops.evidence_page(jsonb) is
  'A page of the evidence of a booking: {partner_id, booking_id, part, after?, size} to {lines, last}. part is rows, mandates, pdfs, deliveries, connections or audit; last is what the next page comes after, null where there is none.';
select private.expose_ops('ops.evidence_page(jsonb)');

-- The operator on one account: its story in order, from who made it to what it was paid.

create function private.account_meant(named text) returns core.accounts
language plpgsql
set search_path = ''
as $$
declare
  candidates uuid[] := array(
    select c.account_id from core.connections c where c.ean_code = regexp_replace(named, '[ .]', '', 'g')
    union
    select s.account_id from core.signatories s where s.email = lower(btrim(named))
    union
    select a.id from auth.users u join core.accounts a on a.user_id = u.id where u.email = lower(btrim(named)));
begin
  if cardinality(candidates) > 1 then
    perform private.refuse('account_several', json_build_object('account', named, 'accounts', candidates));
  end if;
  return private.account_named(coalesce(candidates[1]::text, named));
end $$;
comment on function private.account_meant(text) is
  'The account of an id, a cpo_external_ref, an EAN that it has or had, or the e-mail address of its signatory or its login.';

create function private.account_events(account core.accounts)
returns table (at timestamptz, what text, by text, period text, kwh numeric, ere numeric, eur numeric, note text)
language sql stable
set search_path = '' set plan_cache_mode = 'force_custom_plan'
as $$
  with connection as materialized (
    select c.id, c.ean_code from core.connections c where c.partner_id = account.partner_id and c.account_id = account.id
  ), booked as materialized (
    select r.*, b.quarter, b.number, b.submitted_at, b.withdrawn_at
      from connection c
      join core.booking_rows r on r.partner_id = account.partner_id and r.connection_id = c.id
      join core.bookings b on b.partner_id = r.partner_id and b.id = r.booking_id
  ), subject as (
    select account.id as id
    union all select c.id from connection c
    union all select m.id from connection c join core.mandates m on m.partner_id = account.partner_id and m.connection_id = c.id
    union all select h.id from core.chargers h where h.partner_id = account.partner_id and h.account_id = account.id
    union all select d.id from core.drafts d where d.account_id = account.id
  )
  -- what somebody did, of whatever tenant they were
  select a.at, a.action, a.actor, a.details ->> 'period', null::numeric, null::numeric, null::numeric, nullif(a.details::text, '{}')
    from subject s join core.audit_log a on a.subject_id = s.id
  union all
  select m.signed_at, 'mandate signed', m.signed_name, null, null, null, null,
         format('%s until %s, fee %s %%, EAN %s', m.valid_from, m.valid_until, m.fee_pct, c.ean_code)
    from connection c join core.mandates m on m.partner_id = account.partner_id and m.connection_id = c.id where m.signed_at is not null
  union all
  select m.ended_at, 'mandate ended', null, null, null, null, null, format('%s, EAN %s', coalesce(m.ended_reason, m.status), c.ean_code)
    from connection c join core.mandates m on m.partner_id = account.partner_id and m.connection_id = c.id where m.ended_at is not null
  union all
  select d.received_at, 'month delivered', d.source, to_char(d.period, 'YYYY-MM'), d.total_kwh, null, null, d.status
    from connection c join core.delivered_months d on d.partner_id = account.partner_id and d.connection_id = c.id
  union all
  select r.received_at, 'month delivered, replaced since', null, to_char(r.period, 'YYYY-MM'), r.total_kwh, null, null, 'replaced ' || private.iso(r.replaced_at)
    from connection c join core.replaced_months r on r.partner_id = account.partner_id and r.connection_id = c.id
  union all
  select b.submitted_at, 'booked', null, to_char(b.period, 'YYYY-MM'), b.kwh, null, null,
         concat_ws(', ', private.quarter_name(b.quarter) || ' number ' || b.number, nullif(array_to_string(b.flags, ' '), ''))
    from booked b
  union all
  select b.withdrawn_at, 'booking withdrawn', null, to_char(b.period, 'YYYY-MM'), b.kwh, null, null, private.quarter_name(b.quarter) || ' number ' || b.number
    from booked b where b.withdrawn_at is not null
  union all
  select e.at, e.what, null, to_char(b.period, 'YYYY-MM'), c.accepted_kwh, c.ere, null, e.note
    from booked b
    join core.credits c on c.partner_id = b.partner_id and c.row_id = b.id
   cross join lateral (values (c.credited_at, case when c.accepted_kwh > 0 then 'credited' else 'rejected by the register' end, c.reason),
                              (c.reversed_at, 'credit taken back', c.reversed_reason)) e (at, what, note)
   where e.at is not null
  union all
  select e.at, e.what, null, to_char(b.period, 'YYYY-MM'), null, a.ere, a.net,
         format('%s, gross %s, fee %s, of which to the partner %s', s.reference, a.gross, a.fee, a.partner_share)
    from booked b
    join core.allocations a on a.partner_id = b.partner_id and a.row_id = b.id
    join core.sales s on s.partner_id = a.partner_id and s.id = a.sale_id
    left join core.sale_reversals v on v.partner_id = a.partner_id and v.id = a.reversal_id
   cross join lateral (values (s.recorded_at, 'sold'), (v.reversed_at, 'sale taken back')) e (at, what)
   where e.at is not null
  union all
  select e.at, e.what, e.by, null, null, null, l.amount, concat_ws(', ', 'to …' || l.iban_last4, e.note)
    from core.payout_lines l
    join core.payout_batches b on b.id = l.batch_id
   cross join lateral (values (b.prepared_at, 'payment prepared', b.prepared_by, null), (l.paid_at, 'paid', b.settled_by, null),
                              (l.failed_at, 'payment failed', null, l.failed_reason), (b.cancelled_at, 'payment cancelled', b.cancelled_by, b.cancelled_reason)) e (at, what, by, note)
   where l.partner_id = account.partner_id and l.account_id = account.id and e.at is not null
$$;
comment on function private.account_events(core.accounts) is 'Everything that happened to an account and is still kept.';

create function ops.audit_story(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  account core.accounts;
begin
  perform private.act_as_operator(input);
  account := private.account_meant(input ->> 'account');
  perform private.audit('account.story_shown', account.id);
  return (
    select json_build_object(
      'account_id', account.id, 'partner_slug', (select p.slug from core.partners p where p.id = account.partner_id),
      'cpo_external_ref', account.cpo_external_ref, 'balance_eur', private.balance(account.partner_id, 'EUR', 'customer', account.id),
      'events', coalesce(json_agg(json_build_object(
        'at', private.iso(e.at), 'what', e.what, 'by', e.by, 'period', e.period, 'kwh', e.kwh, 'ere', e.ere, 'eur', e.eur, 'note', e.note)
        order by e.at, e.period nulls first, e.what), '[]'))
      from private.account_events(account) e
     -- that it was looked at, just now and before, is in the audit log and no part of the story
     where e.what not in ('account.story_shown', 'account.shown'));
end $$;
comment on function ops.audit_story(jsonb) is
  'The story of an account: {account} (id, cpo_external_ref, EAN or e-mail address) to {account_id, …, events: [{at, what, by, period, kwh, ere, eur, note}]}, the oldest first. Leaves an audit row.';
select private.expose_ops('ops.audit_story(jsonb)');

-- The operator on retention: run, and what a run would delete.

create function ops.retention_preview(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  counts jsonb := '[]';
  kind   text;
begin
  perform private.act_as_operator(input);
  -- what is exactly deleted shows when it is: done, counted, and taken back
  begin
    foreach kind in array private.retention_kinds() loop
      counts := counts || jsonb_build_object('kind', kind, 'rows', private.retention_step(kind, 1000000000));
    end loop;
    raise exception using errcode = 'RTEST';
  exception when sqlstate 'RTEST' then
    null;
  end;
  return json_build_object('before', private.retention_border(), 'kinds', counts);
end $$;
comment on function ops.retention_preview(jsonb) is 'What retention would delete now: {} to {before, kinds: [{kind, rows}]}. Nothing is changed.';
select private.expose_ops('ops.retention_preview(jsonb)');

create function ops.retention_kinds(input jsonb) returns json
language sql stable security definer
set search_path = ''
as $$ select json_build_object('before', private.retention_border(), 'kinds', private.retention_kinds()) $$;
comment on function ops.retention_kinds(jsonb) is 'The kinds of data in the order in which retention deletes them: {} to {before, kinds}.';
select private.expose_ops('ops.retention_kinds(jsonb)');

create function ops.retention_step(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  deleted int;
begin
  perform private.act_as_operator(input);
  -- of two that run at once each deletes what the other has left
  perform pg_advisory_xact_lock(hashtextextended('retention', 0));
  deleted := private.retention_step(input ->> 'kind', (input ->> 'size')::int);
  if deleted > 0 then
    perform private.audit('retention.deleted', null, jsonb_build_object('kind', input ->> 'kind', 'rows', deleted, 'before', private.retention_border()));
  end if;
  return json_build_object('kind', input ->> 'kind', 'rows', deleted);
end $$;
comment on function ops.retention_step(jsonb) is 'Deletes so many rows of a kind at most, whole things at least: {kind, size} to {kind, rows}.';
select private.expose_ops('ops.retention_step(jsonb)');

-- The operator on mail: list, show, send again.

create function private.mail_row(mail core.mail_outbox, subject text) returns json
language sql stable
set search_path = ''
as $$
  select json_build_object(
    'id', mail.id,
    'partner_slug', (select p.slug from core.partners p where p.id = mail.partner_id),
    'created_at', private.iso(mail.created_at),
    'status', mail.status,
    'recipient', mail.recipient,
    'subject', subject,
    'template', mail.template,
    'attempts', mail.attempts,
    'last_error', mail.last_error,
    'done_at', private.iso(mail.done_at))
$$;

create function private.masked(subject text) returns text
language sql immutable
return regexp_replace(subject, '^\d{6}(?!\d)', '••••••');
comment on function private.masked(text) is 'A subject without the code in front of it, which stands there for a phone to show.';

create function private.newest_mails(input jsonb, size int) returns setof core.mail_outbox
language plpgsql stable
set search_path = ''
as $$
declare
  partner uuid;
  wanted  constant text := lower(input ->> 'to');
begin
  if input ->> 'partner' is not null then
    partner := (private.partner_named(input ->> 'partner')).id;
  end if;
  if (input ->> 'failed')::boolean then
    return query
      select * from core.mail_outbox m
       where (m.status = 'failed' or m.status = 'queued' and m.last_error is not null)
         and (partner is null or m.partner_id = partner) and (wanted is null or m.recipient = wanted)
       order by m.created_at desc, m.id desc limit size;
  else
    return query
      select * from core.mail_outbox m
       where (partner is null or m.partner_id = partner) and (wanted is null or m.recipient = wanted) and m.status <> 'nobody'
       order by m.created_at desc, m.id desc limit size;
  end if;
end $$;
comment on function private.newest_mails(jsonb, int) is 'The newest mails of {to?, partner?, failed?}: failed for good, or waiting after a failure.';

create function ops.mail_list(input jsonb) returns json
language sql stable security definer
set search_path = ''
as $$
  -- to read a code takes mail_show, which leaves an audit row
  select json_build_object('mails', coalesce(json_agg(private.mail_row(m, private.masked(m.subject))
                                                      order by m.created_at desc, m.id desc), '[]'))
    from private.newest_mails(input, coalesce((input ->> 'limit')::int, 20)) m
$$;
comment on function ops.mail_list(jsonb) is
  'Mail that waits, was sent or was captured, newest first, without its text, and a code in its subject masked: {to?, partner?, failed?, limit?} to {mails}.';
select private.expose_ops('ops.mail_list(jsonb)');

create function ops.mail_show(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  mail core.mail_outbox;
begin
  perform private.act_as_operator(input);
  if input ->> 'id' is null then
    select * into mail from private.newest_mails(input, 1);
  else
    -- the key begins with the tenant; naming every tenant lets it serve
    select * into mail from core.mail_outbox m
     where m.partner_id = any (array(select p.id from core.partners p)) and m.id = private.as_uuid(input ->> 'id');
  end if;
  if mail.id is null then
    perform private.refuse('mail_not_found');
  end if;
  -- a mail may hold a code or a link that lets its reader act as the recipient
  perform private.act_for_partner(mail.partner_id), private.audit('mail.shown', mail.id);
  return json_build_object('mail', private.mail_row(mail, mail.subject), 'text', mail.text, 'links', mail.links);
end $$;
comment on function ops.mail_show(jsonb) is
  'One mail with its text and links: {id}, or the newest of {to?, partner?}, to {mail, text, links}. Leaves an audit row, for it reads what was meant for the recipient.';
select private.expose_ops('ops.mail_show(jsonb)');

create function private.still_opens(mail core.mail_outbox) returns boolean
language plpgsql stable
set search_path = ''
as $$
declare
  about      constant text[] := string_to_array(mail.cause, ':');
  matter     constant text   := about[1];
  subject_id constant uuid   := private.as_uuid(about[2]);
  link       core.mandate_links;
  draft      core.drafts;
  notice     core.notices;
begin
  if matter in ('mandate_link', 'mandate_code') then
    select * into link from core.mandate_links l where l.partner_id = mail.partner_id and l.id = subject_id;
    return private.link_state(link) = 'open' and mail.recipient = (private.connection_facts(link.connection_id) ->> 'email')
       and (matter = 'mandate_link' or private.judge_code(link.code_hash, link.code_expires_at, link.code_attempts, about[3]) is null);
  elsif matter in ('claim', 'claim_reminder', 'claim_sign_in', 'claim_code') then
    select * into draft from core.drafts d where d.partner_id = mail.partner_id and d.id = subject_id;
    return draft.email = mail.recipient and private.draft_status(draft) in ('invited', 'claimed', 'active') and case matter
      when 'claim_code' then private.judge_code(draft.code_hash, draft.code_expires_at, draft.code_attempts, about[3]) is null
      when 'claim_sign_in' then exists (
        select from core.draft_links l
         where l.partner_id = mail.partner_id and l.id = private.as_uuid(about[3]) and l.used_at is null and l.expires_at > private.now())
      -- who came needs no invitation any more, and of reminders the newest says it
      else private.draft_status(draft) = 'invited' and (matter = 'claim' or draft.reminders_sent::text = about[3]) end;
  elsif matter = 'sign_in_code' then
    return exists (
      select from core.sign_in_codes c
       where c.token_hash = decode(about[2], 'hex') and c.used_at is null and c.expires_at > private.now() and c.attempts < 5);
  elsif matter in ('notice', 'claim_notice') then
    select * into notice from core.notices n
     where n.partner_id = case matter when 'notice' then mail.partner_id else private.house() end and n.id = subject_id;
    perform private.act_for_partner(notice.partner_id);
    return private.notice_details(notice) is not null and not exists (
      -- of the mails about a mandate that ends, one to a CPO's customer has a link to sign by in it
      select from unnest(mail.links) as l (url)
       cross join lateral private.link_by_token(encode(sha256(convert_to(regexp_replace(l.url, '^.*/', ''), 'UTF8')), 'hex')) as k
       where private.link_state(k) not in ('unknown', 'open'));
  end if;
  return true;
end $$;
comment on function private.still_opens(core.mail_outbox) is
  'Whether what a mail asks its reader to do can still be done by it: its code or link has not expired and was not used or replaced, and what it asks for is still missing. What only tells something always does.';

create function private.wants_no_mail(mail core.mail_outbox) returns boolean
language sql stable
set search_path = ''
as $$
  select coalesce(private.is_suppressed(decode((regexp_match(mail.unsubscribe_url, '/([0-9a-f]{64})-[^/]*$'))[1], 'hex')), false)
$$;
comment on function private.wants_no_mail(core.mail_outbox) is 'Whether its reader has opted out of mail of this kind; the link to opt out by has the hash of the address in it.';

create function ops.mail_resend(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  mail    core.mail_outbox;
  partner core.partners;
begin
  perform private.act_as_operator(input);
  select * into mail from core.mail_outbox m
   where m.partner_id = any (array(select p.id from core.partners p)) and m.id = private.as_uuid(input ->> 'id') and m.status <> 'nobody' for update;
  if mail.id is null then
    perform private.refuse('mail_not_found', json_build_object('mail', input ->> 'id'));
  elsif mail.status = 'sent' then
    perform private.refuse('mail_sent', json_build_object('mail', mail.id));
  elsif mail.status = 'captured' then
    perform private.refuse('mail_captured', json_build_object('mail', mail.id));
  end if;
  select * into partner from core.partners p where p.id = mail.partner_id;
  perform private.act_for_partner(mail.partner_id);
  if mail.template in ('claim', 'reminder', 'sign_in', 'mandate_link') and not partner.is_active then
    perform private.refuse('mail_of_inactive_partner', json_build_object('mail', mail.id, 'partner', partner.slug));
  elsif private.wants_no_mail(mail) then
    perform private.refuse('mail_unwanted', json_build_object('mail', mail.id));
  elsif private.still_opens(mail) is not true then
    perform private.refuse('mail_outdated', json_build_object('mail', mail.id));
  elsif mail.status = 'queued' and mail.next_attempt_at <= private.now() + interval '5 minutes' then
    -- it goes by itself, or a worker has it in hand, which claims it for five minutes: it must not be sent twice
    return json_build_object('changed', false, 'mail', private.mail_row(mail, private.masked(mail.subject)));
  end if;
  update core.mail_outbox m set status = 'queued', attempts = 0, next_attempt_at = private.now(), done_at = null
   where m.partner_id = mail.partner_id and m.id = mail.id
  returning * into mail;
  perform private.act_for_partner(mail.partner_id), private.audit('mail.resent', mail.id);
  return json_build_object('changed', true, 'mail', private.mail_row(mail, private.masked(mail.subject)));
end $$;
comment on function ops.mail_resend(jsonb) is
  'Has a mail that failed, or waits long after a failure, sent by the next run of the worker: {id} to {changed, mail}. Not what was sent, which is wiped; nor what its reader can do nothing with any more, or asked not to get.';
select private.expose_ops('ops.mail_resend(jsonb)');

-- The operator on customers: find, show. Who looks somebody up leaves an audit row.

create function private.found_accounts(typed text, size int) returns table (partner_id uuid, account_id uuid)
language plpgsql stable rows 20
set search_path = ''
as $$
declare
  partners constant uuid[]  := array(select p.id from core.partners p);
  -- an EAN, a telephone number and a postal code are typed in groups
  joined   constant text    := upper(regexp_replace(typed, '[\s.-]', '', 'g'));
  address  constant text[]  := regexp_match(joined, '^([1-9][0-9]{3}[A-Z]{2})([0-9]{1,5})');
  dialled  constant text    := case when joined ~ '^[+]?[0-9]{10,14}$' then private.phone_end(joined) end;
  query    constant tsquery := private.search_query(typed);
begin
  return query
    select f.partner_id, f.account_id from (
      (select s.partner_id, s.account_id from core.signatories s
        where private.search_words(s.full_name, s.email, private.phone_end(s.phone)) @@ (query || coalesce(quote_literal(dialled)::tsquery, query))
        limit size)
      union
      (select a.partner_id, a.id from core.accounts a
        where private.search_words(a.display_name, a.cpo_external_ref, a.company ->> 'name') @@ query limit size)
      union
      select a.partner_id, a.id from core.accounts a where a.partner_id = any (partners) and a.id = private.as_uuid(typed)
      union
      select c.partner_id, c.account_id from private.connections_named(typed) c
      union
      select c.partner_id, c.account_id from private.connections_named(joined) c
      union
      (select c.partner_id, c.account_id
         from core.locations l join core.connections c on c.partner_id = l.partner_id and c.location_id = l.id
        where l.partner_id = any (partners) and l.postal_code = address[1] and l.house_number = address[2]::int limit size)) f
    limit size;
end $$;
comment on function private.found_accounts(text, int) is
  'Accounts, not more than so many, by words of the signatory or the account, telephone number, id, EAN, reference or postal code with house number; whichever comes first.';

create function private.found_drafts(typed text, size int) returns setof core.drafts
language plpgsql stable rows 20
set search_path = ''
as $$
declare
  joined  constant text    := regexp_replace(typed, '[\s.-]', '', 'g');
  address constant text    := (regexp_match(lower(joined), '^[1-9][0-9]{3}[a-z]{2}[0-9]{1,5}'))[1];
  dialled constant text    := case when joined ~ '^[+]?[0-9]{10,14}$' then private.phone_end(joined) end;
  query   constant tsquery := private.search_query(typed);
begin
  return query
    (select d.* from core.drafts d
      where d.status <> 'active'
        and private.search_words(d.name, d.contact_name, d.company_name, d.email, d.external_ref, d.ean, d.postal_code, d.postal_code || d.house_number,
                                 private.phone_end(d.phone))
            @@ (query || coalesce(quote_literal(address)::tsquery, query) || coalesce(quote_literal(dialled)::tsquery, query)
                      || case when joined ~ '^[0-9]{18}$' then quote_literal(joined)::tsquery else query end)
      limit size)
    union
    select d.* from core.drafts d where d.id = private.as_uuid(typed) and d.status <> 'active'
    limit size;
end $$;
comment on function private.found_drafts(text, int) is
  'Drafts that are no account yet, not more than so many, by their words, telephone number, id, EAN or postal code with house number; whichever comes first.';

create function ops.customer_find(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  typed     constant text := btrim(input ->> 'text');
  -- of more than these, which come first by name cannot be said without reading them all
  most      constant int  := 1000;
  size      constant int  := least(coalesce((input ->> 'limit')::int, 20), most);
  customers jsonb;
  found_all bigint;
  customer  jsonb;
begin
  perform private.act_as_operator(input);
  if length(array_to_string(private.words_of(typed), '')) < 3 then
    perform private.refuse('text_too_short');
  end if;
  with matched as (
    select 'account' as kind, f.partner_id, f.account_id as id, coalesce(s.full_name, a.display_name) as name, s.email, a.cpo_external_ref as reference,
           null::text[] as eans, null as status
      from private.found_accounts(typed, most + 1) f
      join core.accounts a on a.partner_id = f.partner_id and a.id = f.account_id
      left join core.signatories s on s.partner_id = f.partner_id and s.account_id = f.account_id
    union all
    select 'draft', d.partner_id, d.id, coalesce(d.contact_name, d.name, d.company_name), d.email, d.external_ref,
           array_remove(array[d.ean], null), private.draft_status(d)
      from private.found_drafts(typed, most + 1) d
  ), page as (
    select m.*, row_number() over (order by lower(m.name) nulls last, m.kind, m.id) as place, count(*) over () as found_all from matched m
     order by place limit size
  )
  select coalesce(jsonb_agg(jsonb_build_object(
           'kind', p.kind, 'id', p.id, 'partner_id', p.partner_id, 'partner_slug', r.slug, 'name', p.name, 'email', p.email, 'reference', p.reference,
           'eans', case p.kind when 'draft' then to_jsonb(p.eans) else (
              select coalesce(jsonb_agg(c.ean_code order by c.status, c.created_at, c.id), '[]') from core.connections c
               where c.partner_id = p.partner_id and c.account_id = p.id) end,
           'status', case p.kind when 'draft' then p.status else (
              select m.mandate_status from core.connection_mandates m where m.partner_id = p.partner_id and m.account_id = p.id
               order by m.status, m.created_at limit 1) end) order by p.place), '[]'), coalesce(max(p.found_all), 0)
    into customers, found_all
    from page p join core.partners r on r.id = p.partner_id;
  for customer in select c.customer from jsonb_array_elements(customers) as c (customer) loop
    perform private.act_for_partner((customer ->> 'partner_id')::uuid), private.audit('customer.found', (customer ->> 'id')::uuid);
  end loop;
  return json_build_object('customers', customers, 'more', found_all > jsonb_array_length(customers));
end $$;
comment on function ops.customer_find(jsonb) is
  'Accounts, and drafts that are none yet: {text, limit?} to {customers, more}. By the beginning of each word typed, of name, e-mail address or reference; or by an id, EAN, telephone number, or postal code with house number. At least three letters or digits. Leaves an audit row for each.';
select private.expose_ops('ops.customer_find(jsonb)');

create function private.account_story(account core.accounts) returns json
language sql stable
set search_path = ''
as $$
  select json_build_object(
    'account', json_build_object(
      'account_id', account.id, 'partner_slug', (select p.slug from core.partners p where p.id = account.partner_id),
      'cpo_external_ref', account.cpo_external_ref, 'access_channel', account.access_channel, 'type', account.type,
      'display_name', account.display_name, 'company', account.company, 'payout_handler', account.payout_handler,
      'iban_last4', account.iban_last4, 'balance_eur', private.balance(account.partner_id, 'EUR', 'customer', account.id),
      'brought_by', (select p.slug from core.attributions t join core.partners p on p.id = t.partner_id where t.user_id = account.user_id),
      'created_at', private.iso(account.created_at)),
    'signatory', (select json_build_object('full_name', s.full_name, 'email', s.email, 'phone', s.phone)
                    from core.signatories s where s.partner_id = account.partner_id and s.account_id = account.id),
    'connections', (select coalesce(json_agg(private.connection_row(c.partner_id, c.id) order by c.created_at, c.id), '[]')
                      from core.connections c where c.partner_id = account.partner_id and c.account_id = account.id),
    'mandates', (select coalesce(json_agg(json_build_object(
                          'connection_id', c.id, 'status', m.status, 'renewal', m.renewal, 'valid_from', m.valid_from, 'valid_until', m.valid_until,
                          'covered_until', m.covered_until, 'fee_pct', m.fee_pct, 'signed_name', m.signed_name, 'signed_at', private.iso(m.signed_at),
                          'code_confirmed', m.code_confirmed, 'ended_at', private.iso(m.ended_at), 'ended_reason', m.ended_reason)
                          order by m.created_at, m.id), '[]')
                   from core.connections c join core.mandates m on m.partner_id = c.partner_id and m.connection_id = c.id
                  where c.partner_id = account.partner_id and c.account_id = account.id),
    'chargers', (select coalesce(json_agg(private.charger_row(h) order by h.created_at, h.id), '[]')
                   from core.chargers h where h.partner_id = account.partner_id and h.account_id = account.id),
    'months', (select coalesce(json_agg(json_build_object('year', g.year, 'status', g.status, 'months', g.months, 'kwh', g.kwh) order by g.year, g.status), '[]')
                 from (select extract(year from d.period)::int as year, d.status, count(*) as months, sum(d.total_kwh) as kwh
                         from core.connections c join core.delivered_months d on d.partner_id = c.partner_id and d.connection_id = c.id
                        where c.partner_id = account.partner_id and c.account_id = account.id group by 1, 2) g),
    'told', (select coalesce(json_agg(json_build_object('kind', n.kind, 'created_at', private.iso(n.created_at), 'waits', n.due_at is not null) order by n.created_at, n.id), '[]')
               from core.notices n where n.partner_id = account.partner_id and n.account_id = account.id))
$$;
comment on function private.account_story(core.accounts) is 'Everything about an account that its operator needs at hand, but its months one by one.';

create function ops.account_show(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  account core.accounts;
begin
  perform private.act_as_operator(input);
  account := private.account_named(input ->> 'account');
  perform private.audit('account.shown', account.id);
  return private.account_story(account);
end $$;
comment on function ops.account_show(jsonb) is
  'One account: {account} to {account, signatory, connections, mandates, chargers, months, told}. Leaves an audit row.';
select private.expose_ops('ops.account_show(jsonb)');

-- The operator on drafts: list.

create function private.newest_drafts(tenant uuid, wanted text, size int) returns setof core.drafts
language plpgsql stable
set search_path = ''
as $$
begin
  return query
    select d.* from (
      -- status by status, each of which an index has newest first
      select l.* from unnest(case when wanted is null then array['invited', 'claimed', 'expired', 'conflict', 'active'] else array[wanted] end) as s (status)
        cross join lateral (
          select d.* from core.drafts d
           where d.status = s.status and (tenant is null or d.partner_id = tenant)
             and (wanted is null or d.status <> 'invited' or d.expires_at > private.now())
           order by d.created_at desc, d.id desc limit size) l
      union all
      -- expired, and not written down by the job yet
      (select d.* from core.drafts d
        where wanted = 'expired' and d.status = 'invited' and d.expires_at <= private.now() and (tenant is null or d.partner_id = tenant)
        order by d.created_at desc, d.id desc limit size)) d
    order by d.created_at desc, d.id desc limit size;
end $$;
comment on function private.newest_drafts(uuid, text, int) is 'The newest drafts, of one partner and one status where those are given.';

create function ops.draft_list(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  tenant uuid;
  found  json;
begin
  perform private.act_as_operator(input);
  if input ->> 'partner' is not null then
    tenant := (private.business_named(input ->> 'partner')).id;
  end if;
  found := (
    select coalesce(json_agg(json_build_object(
             'draft_id', d.id, 'partner_slug', p.slug, 'status', private.draft_status(d), 'conflict_reason', d.conflict_reason, 'type', d.type,
             'name', coalesce(d.contact_name, d.name, d.company_name), 'email', d.email, 'external_ref', d.external_ref, 'ean_status', d.ean_status,
             'open_step', case when d.status = 'claimed' then private.claim_open_step(d) end, 'reminders_sent', d.reminders_sent,
             'created_at', private.iso(d.created_at), 'claimed_at', private.iso(d.claimed_at), 'expires_at', private.iso(d.expires_at))
             order by d.created_at desc, d.id desc), '[]')
      from private.newest_drafts(tenant, input ->> 'status', coalesce((input ->> 'limit')::int, 20)) d
      join core.partners p on p.id = d.partner_id);
  if json_array_length(found) > 0 then
    perform private.audit('drafts.listed', tenant, jsonb_build_object('drafts', json_array_length(found)));
  end if;
  return json_build_object('drafts', found);
end $$;
comment on function ops.draft_list(jsonb) is
  'Drafts, newest first: {partner?, status?, limit?} to {drafts}. Leaves an audit row, for it shows who they are of.';
select private.expose_ops('ops.draft_list(jsonb)');

-- The operator on EANs that the EAN register has not confirmed: list.

create function private.unconfirmed_connections(failed boolean, size int) returns json
language sql stable
set search_path = ''
as $$
  select json_agg(json_build_object(
           'kind', 'connection', 'id', c.id, 'partner_slug', p.slug, 'ean_code', c.ean_code,
           'address', concat_ws(' ', l.postal_code, l.house_number, l.house_number_addition),
           'status', c.ean_validation_status, 'outcome', k.outcome, 'reason', k.reason, 'checked_at', private.iso(k.checked_at))
           order by c.ean_checked_at, c.id)
    from (
      select u.* from (
        (select d.* from core.connections d
          where d.status = 'active' and d.ean_validation_status in ('mismatch', 'not_found') order by d.ean_checked_at, d.id limit size)
        union all
        (select d.* from core.connections d
          where d.status = 'active' and d.ean_validation_status = 'unverified'
            and (not failed or 'unavailable' = (
              select k.outcome from core.ean_checks k where k.partner_id = d.partner_id and k.connection_id = d.id order by k.id desc limit 1))
          order by d.ean_checked_at limit size)) u
      order by u.ean_checked_at, u.id limit size) c
    join core.partners p on p.id = c.partner_id
    join core.locations l on l.partner_id = c.partner_id and l.id = c.location_id
    left join lateral (
      select * from core.ean_checks k where k.partner_id = c.partner_id and k.connection_id = c.id order by k.id desc limit 1) k on true
$$;
comment on function private.unconfirmed_connections(boolean, int) is
  'Active connections whose EAN the register denied, or could not be asked about; with failed not those about which it was not asked yet. Asked longest ago first.';

create function private.unconfirmed_drafts(failed boolean, size int) returns json
language sql stable
set search_path = ''
as $$
  select json_agg(json_build_object(
           'kind', 'draft', 'id', d.id, 'partner_slug', p.slug, 'ean_code', d.ean,
           'address', concat_ws(' ', d.postal_code, d.house_number, d.house_number_addition),
           'status', d.ean_status, 'outcome', null, 'reason', null, 'checked_at', private.iso(d.ean_looked_up_at)) order by d.created_at, d.id)
    from (
      select u.* from (
        (select w.* from core.drafts w
          where w.ean_status in ('pending', 'failed') and w.status in ('invited', 'claimed') and private.draft_status(w) <> 'expired'
            and (not failed or w.ean_status = 'failed')
          order by w.created_at limit size)
        union all
        (select w.* from core.drafts w
          where w.ean_status in ('not_found', 'ambiguous') and w.status in ('invited', 'claimed') and private.draft_status(w) <> 'expired'
            and (not failed or w.ean_status = 'not_found')
          order by w.created_at, w.id limit size)) u
      order by u.created_at, u.id limit size) d
    join core.partners p on p.id = d.partner_id
$$;
comment on function private.unconfirmed_drafts(boolean, int) is
  'Open drafts whose EAN was not found; with failed not those that wait for the look-up or for their customer''s choice. Oldest first.';

create function ops.ean_list(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  failed constant boolean := coalesce((input ->> 'failed')::boolean, false);
  size   constant int     := coalesce((input ->> 'limit')::int, 50);
  eans   json;
  drafts json;
begin
  perform private.act_as_operator(input);
  eans := coalesce(private.unconfirmed_connections(failed, size), '[]');
  drafts := coalesce(private.unconfirmed_drafts(failed, size), '[]');
  if json_array_length(eans) + json_array_length(drafts) > 0 then
    perform private.audit('eans.listed', null, jsonb_build_object('connections', json_array_length(eans), 'drafts', json_array_length(drafts)));
  end if;
  return json_build_object('connections', eans, 'drafts', drafts);
end $$;
comment on function ops.ean_list(jsonb) is
  'What the EAN register has not confirmed: {failed?, limit?} to {connections, drafts}, at most so many of each. failed: what it denied, or could not be asked. Leaves an audit row, for it shows addresses.';
select private.expose_ops('ops.ean_list(jsonb)');

-- The operator on one partner: show.

create function private.partner_story(partner core.partners) returns json
language sql stable
set search_path = ''
as $$
  select json_build_object(
    'partner', private.partner_settings(partner),
    'counts', json_build_object(
      'cpo_accounts', (select coalesce(sum(k.accounts), 0) from core.account_counts k where k.partner_id = partner.id),
      'customers', (select count(*) from core.attributions t where t.partner_id = partner.id),
      'drafts', (select coalesce(json_object_agg(g.status, g.drafts order by g.status), '{}')
                   from (select case when d.status = 'invited' and d.expires_at <= (select private.now()) then 'expired' else d.status end as status,
                                count(*) as drafts
                           from core.drafts d where d.partner_id = partner.id group by 1) g),
      'drafts_left', greatest(private.draft_cap() - (
        select count(*) from core.draft_uploads u where u.partner_id = partner.id and u.at > private.now() - interval '30 days'), 0),
      'failed_mails', (select count(*) from core.mail_outbox m
                        where (m.status = 'failed' or m.status = 'queued' and m.last_error is not null) and m.partner_id = partner.id),
      -- what people bring it is earned in the house's ledger
      'balance_eur', (select sum(private.balance(l.tenant, 'EUR', 'partner', partner.id))
                        from unnest(array[partner.id, private.house()]) as l (tenant) where partner.id <> private.house())),
    'company', partner.company,
    'branding', partner.branding,
    'payout', json_build_object('iban_last4', partner.iban_last4, 'account_holder', partner.iban_holder),
    'managers', (select coalesce(json_agg(json_build_object('user_id', m.user_id, 'email', (private.user_profile(m.user_id)).email) order by m.user_id), '[]')
                   from core.partner_managers m where m.partner_id = partner.id),
    'key', (select json_build_object('prefix', k.prefix, 'last4', k.last4, 'created_at', private.iso(k.created_at), 'last_used_at', private.iso(k.last_used_at))
              from core.partner_keys k where k.partner_id = partner.id and k.revoked_at is null),
    'clients', (select coalesce(json_agg(private.client_row(c) order by c.created_at, c.id), '[]') from core.oauth_clients c where c.partner_id = partner.id))
$$;
comment on function private.partner_story(core.partners) is 'A partner with its settings, its managers, what it has and how many customers.';

create function ops.partner_show(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  partner core.partners;
begin
  perform private.act_as_operator(input);
  partner := private.partner_named(input ->> 'partner');
  perform private.audit('partner.shown', partner.id);
  return private.partner_story(partner);
end $$;
comment on function ops.partner_show(jsonb) is
  'One partner: {partner} to {partner, counts, company, branding, payout, managers, key, clients}. Leaves an audit row, for it shows who manages it.';
select private.expose_ops('ops.partner_show(jsonb)');

-- The operator on everything at once: what waits, how much there is, what was sold. No personal data.
-- It answers as quickly of a million accounts as of ten: what waits is counted by the index that serves it and no further than
-- ten thousand, and how many rows a large table has is what the planner reckons.

create function private.waiting(what text, query text) returns json
language plpgsql stable
set search_path = ''
as $$
declare
  most    constant int := 10000;
  waiting int;
begin
  execute format('select count(*) from (%s limit %s) w', query, most + 1) into waiting;
  return json_build_object('what', what, 'count', least(waiting, most), 'or_more', waiting > most);
end $$;
comment on function private.waiting(text, text) is 'How many rows a query of ours has, counted up to ten thousand: {what, count, or_more}.';

create function private.held(what text, kind regclass) returns json
language plpgsql stable
set search_path = ''
as $$
declare
  counted constant json := private.waiting(what, format('select from %s', kind));
begin
  if not (counted ->> 'or_more')::boolean then
    return json_build_object('what', what, 'count', (counted ->> 'count')::bigint, 'about', false);
  end if;
  return json_build_object('what', what, 'about', true, 'count', greatest((counted ->> 'count')::bigint, (
    select sum(greatest(c.reltuples, 0))::bigint from pg_partition_tree(kind) t join pg_class c on c.oid = t.relid where t.isleaf)));
end $$;
comment on function private.held(text, regclass) is 'How many rows a table has, exactly up to ten thousand and about above that: {what, count, about}.';

create function private.sold_by_year() returns json
language sql stable
set search_path = ''
as $$
  select coalesce(json_agg(json_build_object('delivery_year', y.year, 'sales', y.sales, 'ere', y.ere, 'gross_eur', y.gross) order by y.year), '[]')
    from (
      select extract(year from b.quarter)::int as year, count(*) as sales,
             sum(s.ere) - coalesce(sum(v.ere), 0) as ere, sum(s.gross) - coalesce(sum(v.gross), 0) as gross
        from core.sales s
        join core.bookings b on b.partner_id = s.partner_id and b.id = s.booking_id
        left join lateral (
          select sum(a.ere) as ere, sum(a.gross) as gross
            from core.allocations a
           where a.partner_id = s.partner_id and a.sale_id = s.id and a.reversal_id is not null
             and exists (select from core.sale_reversals r where r.partner_id = s.partner_id and r.sale_id = s.id)) v on true
       group by 1) y
$$;
comment on function private.sold_by_year() is 'What was sold of each year of delivery, less what was taken back.';

create function ops.stats(input jsonb) returns json
language sql stable security definer
set search_path = ''
as $$
  select json_build_object(
    'at', private.iso(private.now()),
    'waits', json_build_array(
      private.waiting('registrations to review', $q$select from core.connections c where c.registration_status = 'ingediend' and c.status = 'active'$q$),
      private.waiting('chargers to judge', $q$select from core.chargers h where h.status = 'active' and h.mid_eligible is null$q$),
      private.waiting('EANs denied', $q$select from core.connections c where c.status = 'active' and c.ean_validation_status in ('mismatch', 'not_found')$q$),
      private.waiting('EANs to check again', $q$select from core.connections c where c.status = 'active' and c.ean_validation_status = 'unverified'$q$),
      private.waiting('drafts to look up',
        $q$select from core.drafts d where d.ean_status in ('pending', 'failed') and d.status in ('invited', 'claimed')$q$),
      private.waiting('mail to send', $q$select from core.mail_outbox m where m.status = 'queued'$q$),
      private.waiting('mail that failed',
        $q$select from core.mail_outbox m where m.status = 'failed' or m.status = 'queued' and m.last_error is not null$q$),
      private.waiting('notices to mail', 'select from core.notices n where n.due_at is not null'),
      private.waiting('bookings to submit', $q$select from core.bookings b where b.status = 'open'$q$),
      private.waiting('payout batches to approve', $q$select from core.payout_batches b where b.status = 'prepared'$q$),
      private.waiting('payout batches to export', $q$select from core.payout_batches b where b.status = 'approved'$q$),
      private.waiting('payout batches to settle', $q$select from core.payout_batches b where b.status = 'exported'$q$)),
    'holds', json_build_array(
      private.held('partners', 'core.partners'), private.held('clients', 'core.oauth_clients'), private.held('drafts', 'core.drafts'),
      private.held('accounts', 'core.accounts'), private.held('connections', 'core.connections'), private.held('mandates', 'core.mandates'),
      private.held('chargers', 'core.chargers'), private.held('charging sessions', 'core.charging_sessions'),
      private.held('months', 'core.delivered_months'), private.held('booked months', 'core.booking_rows'),
      private.held('ledger entries', 'core.ledger_entries'), private.held('audit rows', 'core.audit_log')),
    'sold', private.sold_by_year())
$$;
comment on function ops.stats(jsonb) is
  'What waits for somebody or for a job, how much there is, and what was sold by year of delivery: {} to {at, waits, holds, sold}. No personal data. Counts above ten thousand are not exact.';
select private.expose_ops('ops.stats(jsonb)');

-- The operator on people's tokens: list, revoke.

create function private.token_row(token uuid) returns json
language sql stable
set search_path = ''
as $$
  select json_build_object(
           'id', p.id, 'kind', 'personal', 'user_id', p.user_id, 'email', (private.user_profile(p.user_id)).email,
           'name', p.name, 'scopes', p.scopes, 'created_at', private.iso(p.created_at),
           'last_used_at', private.iso(p.last_used_at), 'expires_at', private.iso(p.expires_at), 'revoked_at', private.iso(p.revoked_at))
    from core.personal_tokens p where p.id = token
  union all
  select json_build_object(
           'id', g.id, 'kind', 'application', 'user_id', g.user_id, 'email', (private.user_profile(g.user_id)).email,
           'name', c.name, 'scopes', g.scopes, 'created_at', private.iso(g.created_at),
           'last_used_at', private.iso(newest.created_at), 'expires_at', private.iso(newest.expires_at), 'revoked_at', private.iso(g.revoked_at))
    from core.oauth_grants g
    join core.oauth_clients c on c.id = g.client_id
    left join lateral (select t.created_at, t.expires_at from core.oauth_refresh_tokens t
                        where t.grant_id = g.id order by t.generation desc limit 1) newest on true
   where g.id = token
$$;
comment on function private.token_row(uuid) is
  'A personal token, or what an application holds by one consent (last used when it was last refreshed), as the operator sees it.';

create function private.newest_tokens(person uuid, size int) returns table (id uuid, created_at timestamptz)
language plpgsql stable
set search_path = ''
as $$
begin
  if person is null then
    return query
      (select p.id, p.created_at from core.personal_tokens p order by p.created_at desc limit size)
      union all
      (select g.id, g.created_at from core.oauth_grants g order by g.created_at desc limit size)
      order by 2 desc, 1 limit size;
  else
    return query
      (select p.id, p.created_at from core.personal_tokens p where p.user_id = person order by p.created_at desc limit size)
      union all
      (select g.id, g.created_at from core.oauth_grants g where g.user_id = person order by g.created_at desc limit size)
      order by 2 desc, 1 limit size;
  end if;
end $$;
comment on function private.newest_tokens(uuid, int) is 'The newest personal tokens and grants of a person, or of everybody.';

create function ops.token_list(input jsonb) returns json
language plpgsql stable security definer
set search_path = ''
as $$
declare
  person uuid;
begin
  if input ->> 'user' is not null then
    select u.id into person from auth.users u where u.id = private.as_uuid(input ->> 'user') or u.email = lower(input ->> 'user');
    if person is null then
      perform private.refuse('user_not_found', json_build_object('user', input ->> 'user'));
    end if;
  end if;
  return (
    select json_build_object('tokens', coalesce(json_agg(private.token_row(t.id) order by t.created_at desc, t.id), '[]'))
      from private.newest_tokens(person, coalesce((input ->> 'limit')::int, 50)) t);
end $$;
comment on function ops.token_list(jsonb) is
  'Personal tokens and what applications hold, newest first: {user?: id or e-mail, limit?} to {tokens}. Never a token.';
select private.expose_ops('ops.token_list(jsonb)');

create function ops.token_revoke(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  token   constant uuid := private.as_uuid(input ->> 'token');
  person  uuid;
  client  uuid;
  changed boolean;
begin
  perform private.act_as_operator(input);
  select p.user_id into person from core.personal_tokens p where p.id = token;
  if person is not null then
    update core.personal_tokens p set revoked_at = private.now() where p.id = token and p.revoked_at is null;
    changed := found;
    if changed then
      perform private.audit('token.revoked', token);
    end if;
  else
    select g.user_id, g.client_id into person, client from core.oauth_grants g where g.id = token for update;
    if person is null then
      perform private.refuse('token_not_found', json_build_object('token', input ->> 'token'));
    end if;
    changed := private.end_grant(token, 'revoked_by_operator');
    -- the last grant of this application: the person is done with it
    update core.oauth_consents o set withdrawn_at = private.now()
     where o.user_id = person and o.client_id = client and o.withdrawn_at is null
       and not exists (select from core.oauth_grants g where g.user_id = person and g.client_id = client and g.revoked_at is null);
  end if;
  return json_build_object(
    'changed', changed,
    'token', private.token_row(token));
end $$;
comment on function ops.token_revoke(jsonb) is
  'Ends a personal token, or everything an application holds by one consent, at once: {token} to {changed, token}.';
select private.expose_ops('ops.token_revoke(jsonb)');
