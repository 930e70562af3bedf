-- The operator on applications: register, list, rotate the secret, disable, change scopes, link to a partner.

-- private.act_as_operator, and the application that {app} names by id or client_id, locked. Its partner becomes the
-- tenant.
create function private.app_named(input jsonb) returns core.oauth_clients
language plpgsql
as $$
declare
  named constant text := input ->> 'app';
  app   core.oauth_clients;
begin
  perform private.act_as_operator(input);
  select * into app from core.oauth_clients c
   where (c.id = private.as_uuid(named) or c.client_id = named)
       and 'authorization_code' = any (c.grant_types) for update;
  perform private.refuse_if('app_not_found', not found, json_build_object('app', named));
  perform private.set_tenant(app.partner_id);
  return app;
end $$;

-- An application as the operator sees it, with how many people use it, without the secret's hash.
create function private.app_row(app uuid) returns json
language sql stable
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

create function ops.app_create(input jsonb) returns json
language plpgsql security definer
as $$
declare
  wanted constant text[] := array(select distinct jsonb_array_elements_text(input -> 'redirect_uris'));
  app    uuid;
begin
  perform private.act_as_operator(input);
  -- compared letter for letter later on, so what is registered must be plain: https, or http on the machine itself;
  -- ASCII; no credentials, no fragment (RFC 6749 section 3.1.2, RFC 9700 section 2.1)
  if cardinality(wanted) not between 1 and 10 or exists (
    select from unnest(wanted) uri
     where length(uri) > 500 or uri ~ '[^!-~]' or uri ~ '[\\"<>^`{|}#]'
        or uri !~ '^(https://[^/?@]+|http://(localhost|127\.0\.0\.1|\[::1\])(:[0-9]+)?)([/?].*)?$') then
    perform private.refuse('invalid_redirect_uris');
  end if;
  insert into core.oauth_clients (client_id, partner_id, name, operated_by, secret_hash, grant_types,
                                  scopes, redirect_uris)
  values (input ->> 'client_id',
          case when input ->> 'partner' is not null then (private.business_named(input)).id end,
          private.operator_name(input ->> 'name'),
          private.operator_name(input ->> 'operated_by'),
          decode(input ->> 'secret_hash', 'hex'),
          '{authorization_code,refresh_token}',
          private.read_scopes(input -> 'scopes', 'user'),
          wanted)
  on conflict on constraint oauth_clients_client_id_key do nothing
  returning id into app;
  perform private.refuse_if('client_id_taken', app is null, json_build_object('client_id', input ->> 'client_id'));
  perform private.audit('app.created', app,
                        jsonb_build_object('scopes', input -> 'scopes', 'redirect_uris', input -> 'redirect_uris'));
  return json_build_object('app', private.app_row(app));
end $$;
comment on function ops.app_create(jsonb) is
  'Registers an application that acts for people: {name, operated_by, redirect_uris, scopes, partner?, client_id, '
  'secret_hash} to {app}. secret_hash is the SHA-256 in hex.';

create function ops.app_list(input jsonb) returns json
language sql stable security definer
as $$
  select json_build_object('apps', coalesce(json_agg(private.app_row(c.id) order by c.created_at desc, c.id), '[]'))
    from private.chosen_partner(input) as chosen (id)
    join core.oauth_clients c on (chosen.id is null or c.partner_id = chosen.id)
        and 'authorization_code' = any (c.grant_types)
$$;
comment on function ops.app_list(jsonb) is
  'Applications, newest first, disabled ones included: {partner?} to {apps}. Never a secret.';

create function ops.app_rotate_secret(input jsonb) returns json
language plpgsql security definer
as $$
declare
  app core.oauth_clients := private.app_named(input);
begin
  perform ops.client_rotate_secret(input || jsonb_build_object('client', app.client_id));
  return json_build_object('app', private.app_row(app.id));
end $$;
comment on function ops.app_rotate_secret(jsonb) is
  'Replaces the secret; the old one stops at once: {app, secret_hash, revoke_tokens?} to {app}. revoke_tokens also '
  'ends every access token issued before.';

create function ops.app_disable(input jsonb) returns json
language plpgsql security definer
as $$
declare
  app     core.oauth_clients := private.app_named(input);
  outcome json;
begin
  outcome := ops.client_disable(input || jsonb_build_object('client', app.client_id));
  return json_build_object('changed', outcome -> 'changed', 'app', private.app_row(app.id));
end $$;
comment on function ops.app_disable(jsonb) is
  'Ends an application: {app} to {changed, app}. Its secret and its tokens stop at once. It cannot be enabled again.';

create function ops.app_link(input jsonb) returns json
language plpgsql security definer
as $$
declare
  app     constant core.oauth_clients := private.app_named(input);
  changed constant boolean := private.link_client(app, input);
begin
  return json_build_object('changed', changed, 'app', private.app_row(app.id));
end $$;
comment on function ops.app_link(jsonb) is
  'Links an application to a partner, which its users'' first consents attribute from then on: {app, partner} to '
  '{changed, app}.';

create function ops.app_set_scopes(input jsonb) returns json
language plpgsql security definer
as $$
declare
  wanted  constant text[] := private.read_scopes(input -> 'scopes', 'user');
  app     constant core.oauth_clients := private.app_named(input);
  changed constant boolean := private.set_scopes(app, wanted);
begin
  return json_build_object('changed', changed, 'app', private.app_row(app.id));
end $$;
comment on function ops.app_set_scopes(jsonb) is
  'Replaces what an application may ask people for: {app, scopes} to {changed, app}. A scope taken away stops in '
  'issued tokens too.';
