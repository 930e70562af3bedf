-- What the operator runs for applications that act for people, and for people's tokens.

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
-- serves: how many people use an application
create index oauth_consents_client_id on core.oauth_consents (client_id);

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

create function private.read_user_scopes(scopes jsonb) returns text[]
language plpgsql immutable
set search_path = ''
as $$
declare
  wanted constant text[] := array(select jsonb_array_elements_text(scopes));
begin
  if cardinality(wanted) = 0 or not wanted <@ private.user_scope_names() then
    perform private.refuse('unknown_scope', json_build_object('scopes', private.user_scope_names()));
  end if;
  return array(select s from unnest(private.user_scope_names()) s where s = any (wanted));
end $$;
comment on function private.read_user_scopes(jsonb) is 'A list of at least one scope of a person, each once, in the order of user_scope_names.';

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
          case when input ->> 'partner' is not null then (private.partner_named(input ->> 'partner')).id end,
          private.operator_name(input ->> 'name'),
          private.operator_name(input ->> 'operated_by'),
          decode(input ->> 'secret_hash', 'hex'),
          '{authorization_code,refresh_token}',
          private.read_user_scopes(input -> 'scopes'),
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

-- People's tokens ----------------------------------------------------------------------------------------------------

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
-- serves: everybody's tokens, newest first
create index personal_tokens_newest on core.personal_tokens (created_at desc);

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
