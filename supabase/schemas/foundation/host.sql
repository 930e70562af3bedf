-- Which host this database belongs to: sandbox or production.

-- Which server this is. A restore, a failover, a copy and a new major version each make it another one.
create function private.server() returns text
language plpgsql
as $$
begin
  return (select concat_ws(' ', c.system_identifier, left(pg_walfile_name(pg_current_wal_lsn()), 8),
                           'core.deployment'::regclass::oid) from pg_control_system() c);
exception when insufficient_privilege then
  perform private.refuse('server_unknown');
end $$;

create table core.deployment (
  only_row   boolean     not null default true,
  host       text        not null,
  key_prefix text        not null default 'ere',
  set_at     timestamptz not null default private.now(),
  pays_from  text        not null default private.server(),
  constraint deployment_pkey primary key (only_row),
  constraint deployment_has_one_row check (only_row),
  constraint deployment_host_known check (host in ('sandbox', 'production')),
  constraint deployment_key_prefix_shape check (key_prefix ~ '^[a-z]{2,12}$')
);
comment on table core.deployment is
  'One row: the host of this database, which the operator set before the first partner. Customers of the two hosts '
  'never share a database.';
comment on column core.deployment.key_prefix is
  'The prefix of this deployment''s keys, as KEY_PREFIX of its functions, for keys that the operator makes.';
comment on column core.deployment.pays_from is
  'The server that may pay out, as private.server says it. On another one payments to the bank may be missing, so an '
  'operator must say that none is.';
create policy "every function may know the host" on core.deployment for select to api_owner using (true);
grant select on core.deployment to api_owner;

-- The host of this database; null until the operator has set it.
create function private.host() returns text
language plpgsql stable
as $$ begin return (select d.host from core.deployment d); end $$;

-- Refuses a function whose API_HOST is not the host of this database.
create function private.require_host(claimed text) returns void
language plpgsql stable
as $$
declare
  host constant text := (select d.host from core.deployment d);
begin
  -- cannot_connect_now: the function answers 503, as if the database did not answer
  if host is null then
    raise exception 'this database does not know its host' using errcode = 'cannot_connect_now',
      hint = 'the operator says it once: host set sandbox, or host set production';
  elsif claimed <> host then
    raise exception 'API_HOST is %, and this database belongs to the % host', claimed,
        host using errcode = 'cannot_connect_now';
  end if;
end $$;

-- Whether this database belongs to the sandbox host.
create function private.is_sandbox() returns boolean
language plpgsql stable
as $$ begin return coalesce(private.host() = 'sandbox', false); end $$;

-- A second check behind the routes, which exist on the sandbox host only.
create function private.only_in_sandbox() returns void
language plpgsql
as $$
begin
  if not private.is_sandbox() then
    raise exception 'this function runs on the sandbox only' using errcode = 'insufficient_privilege';
  end if;
end $$;
