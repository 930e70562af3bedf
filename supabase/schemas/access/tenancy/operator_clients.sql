-- The operator on clients of charge-point operators: create, list, rotate the secret, disable, change scopes, link to a
-- partner.

-- private.act_as_operator, and the client that {client} names by id or client_id, locked. Its partner becomes the
-- tenant.
create function private.client_named(input jsonb) returns core.oauth_clients
language plpgsql
as $$
declare
  named  constant text := input ->> 'client';
  client core.oauth_clients;
begin
  perform private.act_as_operator(input);
  select * into client from core.oauth_clients c where c.id = private.as_uuid(named) or c.client_id = named for update;
  perform private.refuse_if('client_not_found', not found, json_build_object('client', named));
  perform private.set_tenant(client.partner_id);
  return client;
end $$;

-- A client as the operator sees it, without the secret's hash.
create function private.client_row(client core.oauth_clients) returns json
language sql stable
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
    'secret_number', client.secret_number,
    'tokens_from_secret', client.tokens_from_secret,
    'last_used_at', private.iso(client.last_used_at),
    'disabled_at', private.iso(client.disabled_at),
    'created_at', private.iso(client.created_at))
$$;

create function ops.client_create(input jsonb) returns json
language plpgsql security definer
as $$
declare
  client core.oauth_clients;
begin
  perform private.act_as_operator(input);
  insert into core.oauth_clients (client_id, partner_id, name, secret_hash, scopes, return_url)
  values (input ->> 'client_id',
          case when input ->> 'partner' is not null then (private.business_named(input)).id end,
          private.operator_name(input ->> 'name'),
          decode(input ->> 'secret_hash', 'hex'),
          -- data goes where a client with cpo:webhooks says: only for who is given it by name
          case when input ->> 'scopes' is null then array_remove(private.scopes_of('client'), 'cpo:webhooks')
               else private.read_scopes(input -> 'scopes', 'client') end,
          private.read_return_url(input ->> 'return_url'))
  on conflict on constraint oauth_clients_client_id_key do nothing
  returning * into client;
  perform private.refuse_if('client_id_taken', client.id is null,
                            json_build_object('client_id', input ->> 'client_id'));
  perform private.audit('client.created', client.id, jsonb_build_object('scopes', client.scopes));
  return json_build_object('client', private.client_row(client));
end $$;
comment on function ops.client_create(jsonb) is
  'Provisions a CPO client: {partner?, name, scopes?, return_url?, client_id, secret_hash} to {client}. secret_hash is '
  'the SHA-256 in hex. Without scopes it gets all but cpo:webhooks; without partner it waits for client_link.';

create function ops.client_list(input jsonb) returns json
language sql stable security definer
as $$
  select json_build_object('clients', coalesce(json_agg(private.client_row(c) order by c.created_at desc, c.id), '[]'))
    from private.chosen_partner(input) as chosen (id) join core.oauth_clients c on chosen.id is null
        or c.partner_id = chosen.id
$$;
comment on function ops.client_list(jsonb) is
  'Clients, newest first, disabled ones included: {partner?} to {clients}. Never a secret.';

create function private.rotate_client(client uuid, secret_hash bytea, revoke_tokens boolean) returns void
language plpgsql security definer
as $$
declare
  -- by the time too, so that a restored database gives no number again
  number constant bigint := greatest(extract(epoch from private.now())::bigint, 1 + (
    select c.secret_number from core.oauth_clients c where c.id = client for update));
begin
  update core.oauth_clients c
     set secret_hash = rotate_client.secret_hash, secret_rotated_at = private.now(), secret_number = number,
         -- not by time, because clocks differ, and a request with the old secret may be under way
         tokens_from_secret = case when revoke_tokens then number else c.tokens_from_secret end
   where c.id = client and c.partner_id is not distinct from private.partner_id()
     -- a form that is sent twice makes the same secret
     and c.secret_hash <> rotate_client.secret_hash;
  if not found and revoke_tokens then
    -- it was sent before without this
    update core.oauth_clients c set tokens_from_secret = c.secret_number
     where c.id = client and c.partner_id is not distinct from private.partner_id()
       and c.tokens_from_secret < c.secret_number;
  end if;
  if found then
    perform private.audit('client.secret_rotated', client, jsonb_build_object('revoke_tokens', revoke_tokens));
  end if;
end $$;
comment on function private.rotate_client(uuid, bytea, boolean) is
  'Replaces the secret of a client of the tenant. Definer, because nobody but the operator writes clients.';

create function ops.client_rotate_secret(input jsonb) returns json
language plpgsql security definer
as $$
declare
  revoke constant boolean := coalesce((input ->> 'revoke_tokens')::boolean, false);
  client core.oauth_clients := private.client_named(input);
begin
  perform private.refuse_if('client_disabled', client.disabled_at is not null,
                            json_build_object('client', client.client_id));
  perform private.rotate_client(client.id, decode(input ->> 'secret_hash', 'hex'), revoke);
  select * into client from core.oauth_clients c where c.id = client.id;
  return json_build_object('client', private.client_row(client));
end $$;
comment on function ops.client_rotate_secret(jsonb) is
  'Replaces the secret; the old one stops at once: {client, secret_hash, revoke_tokens?} to {client}. revoke_tokens '
  'also ends every access token of earlier secrets, and an application''s keys.';

create function ops.client_disable(input jsonb) returns json
language plpgsql security definer
as $$
declare
  client  core.oauth_clients := private.client_named(input);
  changed constant boolean := client.disabled_at is null;
begin
  if changed then
    update core.oauth_clients c set disabled_at = private.now() where c.id = client.id returning * into client;
    perform private.audit('client.disabled', client.id);
  end if;
  return json_build_object('changed', changed, 'client', private.client_row(client));
end $$;
comment on function ops.client_disable(jsonb) is
  'Ends a client: {client} to {changed, client}. Its secret and its tokens stop at once. It cannot be enabled again.';

-- As private.client_named, but an application has commands of its own.
create function private.cpo_client_named(input jsonb) returns core.oauth_clients
language plpgsql
as $$
declare
  client core.oauth_clients := private.client_named(input);
begin
  perform private.refuse_if('client_is_application', 'authorization_code' = any (client.grant_types),
                            json_build_object('client', client.client_id));
  return client;
end $$;

-- Replaces the scopes of a client or an application, if they differ; returns whether it did.
create function private.set_scopes(client core.oauth_clients, wanted text[]) returns boolean
language plpgsql
as $$
begin
  if client.scopes <@ wanted and client.scopes @> wanted then
    return false;
  end if;
  perform private.audit('client.scopes_set', client.id, jsonb_build_object('before', client.scopes, 'after', wanted));
  update core.oauth_clients c set scopes = wanted where c.id = client.id;
  return true;
end $$;

create function ops.client_set_scopes(input jsonb) returns json
language plpgsql security definer
as $$
declare
  sent    constant text[] := array(select jsonb_array_elements_text(input -> 'scopes'));
  adds    constant boolean := sent[1] like '+%';
  named   constant text[] := array(select ltrim(s, '+') from unnest(sent) s);
  client  core.oauth_clients := private.cpo_client_named(input);
  wanted  text[];
  changed boolean;
begin
  perform private.refuse_if('mixed_scopes', exists (select from unnest(sent) s where (s like '+%') <> adds));
  wanted := private.read_scopes(to_jsonb(named), 'client');
  if adds then
    wanted := private.read_scopes(to_jsonb(client.scopes || wanted), 'client');
  end if;
  changed := private.set_scopes(client, wanted);
  select * into client from core.oauth_clients c where c.id = client.id;
  return json_build_object('changed', changed, 'client', private.client_row(client));
end $$;
comment on function ops.client_set_scopes(jsonb) is
  'Replaces the scopes of a client: {client, scopes} to {changed, client}. With + before each scope they are added. A '
  'scope taken away stops in issued tokens too.';

-- Binds a client or an application to the partner that {partner} names; returns whether that is another one.
create function private.link_client(client core.oauth_clients, input jsonb) returns boolean
language plpgsql
as $$
declare
  partner constant core.partners := private.business_named(input);
begin
  if client.partner_id is not distinct from partner.id then
    return false;
  end if;
  -- accounts stay with the tenant they were created in: the client would lose them
  perform private.refuse_if('client_has_accounts', exists (select from core.accounts a where a.client_id = client.id),
    json_build_object('client', client.client_id));
  update core.oauth_clients c set partner_id = partner.id where c.id = client.id;
  perform private.audit('client.linked', client.id);
  return true;
end $$;

create function ops.client_link(input jsonb) returns json
language plpgsql security definer
as $$
declare
  client  core.oauth_clients := private.cpo_client_named(input);
  changed constant boolean := private.link_client(client, input);
begin
  select * into client from core.oauth_clients c where c.id = client.id;
  return json_build_object('changed', changed, 'client', private.client_row(client));
end $$;
comment on function ops.client_link(jsonb) is
  'Binds a client to a partner: {client, partner} to {changed, client}. Refused once the client has created accounts '
  'under another.';
