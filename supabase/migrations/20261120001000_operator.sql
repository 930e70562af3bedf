-- What the operator runs: partners, clients, connections, mandates, reviews, months, rate limits, mail.
--
-- Every function takes one jsonb and answers one json. All are definers owned by the role that owns the tables, so they cross
-- tenants, which is the operator's work; the tenant they touch is set all the same, for the audit row and for shared helpers.
-- A change that changes nothing answers changed: false and leaves no audit row.

create function private.expose_ops(signature regprocedure) returns void
language plpgsql
set search_path = ''
as $$
begin
  execute format('revoke all on function %s from public', signature);
  execute format('grant execute on function %s to operator', signature);
end $$;
comment on function private.expose_ops(regprocedure) is 'Stands beside each ops function: lets the operator''s login run it, and nobody else.';

create function private.act_as_operator(input jsonb) returns void
language sql
set search_path = ''
as $$
  -- who typed the command is what the command line says: the login is shared
  select set_config('app.caller_kind', concat_ws(':', 'operator', nullif(left(input ->> 'operator', 64), '')), true),
         set_config('app.partner_id', '', true),
         set_config('app.client_id', '', true),
         set_config('app.request_id', '', true)
$$;
comment on function private.act_as_operator(jsonb) is
  'First line of every ops function that changes or shows something personal: {operator} is the person the audit row names.';

create function private.as_uuid(value text) returns uuid
language sql immutable
set search_path = ''
as $$ select case when value ~* '^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$' then value::uuid end $$;
comment on function private.as_uuid(text) is 'The text as an id, or null where it is none: what a person typed may be a name.';

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

-- Partners -----------------------------------------------------------------------------------------------------------

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
  -- accents fall off their letters: Énergie is energie
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

-- Clients ------------------------------------------------------------------------------------------------------------

create function private.cpo_scopes() returns text[]
language sql immutable
set search_path = ''
as $$ select array['cpo:accounts:read', 'cpo:accounts:write', 'cpo:mandates:write', 'cpo:chargers:write', 'cpo:sessions:write'] $$;
comment on function private.cpo_scopes() is 'The scopes of a CPO client, in the specification''s order.';

create function private.read_scopes(scopes jsonb) returns text[]
language plpgsql immutable
set search_path = ''
as $$
declare
  wanted constant text[] := array(select jsonb_array_elements_text(scopes));
begin
  if cardinality(wanted) = 0 or not wanted <@ private.cpo_scopes() then
    perform private.refuse('unknown_scope', json_build_object('scopes', private.cpo_scopes()));
  end if;
  return array(select s from unnest(private.cpo_scopes()) s where s = any (wanted));
end $$;
comment on function private.read_scopes(jsonb) is 'A list of at least one scope, each once, in the order of cpo_scopes.';

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
          case when input ->> 'partner' is not null then (private.partner_named(input ->> 'partner')).id end,
          private.operator_name(input ->> 'name'),
          decode(input ->> 'secret_hash', 'hex'),
          case when input ->> 'scopes' is null then private.cpo_scopes() else private.read_scopes(input -> 'scopes') end,
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
  wanted  constant text[] := private.read_scopes(input -> 'scopes');
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
  partner := private.partner_named(input ->> 'partner');
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

-- Connections --------------------------------------------------------------------------------------------------------

create function private.connections_named(named text) returns setof core.connections
language sql stable
set search_path = ''
as $$
  -- the keys lead with the tenant; naming every tenant lets them serve a look across all
  select c.* from core.connections c
   where c.partner_id = any (array(select p.id from core.partners p)) and c.id = private.as_uuid(named)
  union
  select c.* from core.connections c
   where c.partner_id = any (array(select p.id from core.partners p)) and c.account_id = private.as_uuid(named)
  union
  -- no index holds the EANs of archived connections: read them all, but only for what looks like an EAN
  select c.* from core.connections c where named ~ '^[0-9]{18}$' and c.ean_code = named
  union
  select c.*
    from core.accounts a join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id
   where a.client_id = any (array(select k.id from core.oauth_clients k)) and a.cpo_external_ref = named
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
    select a from core.accounts a
     where a.client_id = any (array(select k.id from core.oauth_clients k)) and a.cpo_external_ref = named);
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
  -- the register is asked by the weekly re-check, which finds this connection due as soon as its mandate is signed
  insert into core.connections (partner_id, account_id, location_id, ean_code, ean_validation_status, ean_checked_at)
  values (account.partner_id, account.id, private.location_for(input), input ->> 'ean_code', 'unverified', '-infinity')
  on conflict (ean_code) where status = 'active' and ean_exclusive do nothing
  returning * into connection;
  if found then
    perform private.audit('connection.added', connection.id);
    return private.connection_answer(connection, true);
  end if;
  select * into connection from core.connections c
   where c.partner_id = account.partner_id and c.account_id = account.id and c.status = 'active' and c.ean_code = input ->> 'ean_code';
  if not found then
    perform private.refuse('ean_in_use', json_build_object('ean_code', input ->> 'ean_code'));
  end if;
  return private.connection_answer(connection, false);
end $$;
comment on function ops.connection_add(jsonb) is
  'Gives an account one more connection, unverified: {account, ean_code, postal_code, house_number, house_number_addition?, street?, city?} to {changed, connection}.';
select private.expose_ops('ops.connection_add(jsonb)');

create function ops.connection_set_ean(input jsonb) returns json
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
    -- what the register said is not the operator's to take back
    perform private.refuse('ean_not_manual', json_build_object('ean_validation_status', connection.ean_validation_status));
  end if;
  update core.connections c set ean_validation_status = wanted
   where c.partner_id = connection.partner_id and c.id = connection.id;
  perform private.audit('connection.ean_status_set', connection.id,
                        jsonb_build_object('before', connection.ean_validation_status, 'after', wanted));
  perform private.advance_registration(connection.account_id, wanted = 'manual');
  return private.connection_answer(connection, true);
end $$;
comment on function ops.connection_set_ean(jsonb) is
  'Vouches for an EAN (manual), or takes that back (unverified): {connection, status} to {changed, connection}. Submits the registration when this was the last gate.';
select private.expose_ops('ops.connection_set_ean(jsonb)');

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
  -- else a charger that moves along could never be registered on the next connection
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

-- Mandates, registrations, chargers ----------------------------------------------------------------------------------

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
  perform private.end_mandate(connection.id, 'revoked', 'operator');
  return private.connection_answer(connection, true);
end $$;
comment on function ops.mandate_revoke(jsonb) is
  'Revokes the signed mandate of a connection: {connection} to {changed, connection}. Open months are judged again; locked ones and the registration stay.';
select private.expose_ops('ops.mandate_revoke(jsonb)');

-- serves: the registrations that wait for review, oldest first
create index connections_submitted on core.connections (submitted_at, id) where registration_status = 'ingediend' and status = 'active';

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

create function private.closed_gates(connection core.connections) returns text[]
language plpgsql stable
set search_path = ''
as $$
begin
  return (
    select array_remove(array[case when not g.mandate_signed then 'mandate_signed' end,
                              case when not g.ean_validated then 'ean_validated' end,
                              case when not g.mid_charger_registered then 'mid_charger_registered' end], null)
      from core.connection_gates g where g.partner_id = connection.partner_id and g.connection_id = connection.id);
end $$;
comment on function private.closed_gates(core.connections) is
  'The gates that keep a registration from being approved: one may have closed since it was submitted. A missing IBAN is no ground.';

create function private.review_registration(connection core.connections, verdict text) returns text[]
language plpgsql
set search_path = ''
as $$
declare
  closed constant text[] := private.closed_gates(connection);
begin
  if verdict = 'goedgekeurd' and cardinality(closed) > 0 then
    return closed;
  end if;
  update core.connections c set registration_status = verdict
   where c.partner_id = connection.partner_id and c.id = connection.id;
  perform private.audit('registration.reviewed', connection.id, jsonb_build_object('verdict', verdict));
  return '{}';
end $$;
comment on function private.review_registration(core.connections, text) is
  'Decides a submitted registration, its row locked: goedgekeurd or afgekeurd. Nothing happens, and the closed gates come back, where an approval has no ground.';
grant execute on function private.closed_gates(core.connections), private.review_registration(core.connections, text) to api_owner;

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
  closed := private.review_registration(connection, verdict);
  if cardinality(closed) > 0 then
    perform private.refuse('gates_closed', json_build_object('gates', closed));
  end if;
  return private.connection_answer(connection, true);
end $$;
comment on function ops.registration_review(jsonb) is
  'Judges a submitted registration: {connection, verdict: goedgekeurd|afgekeurd} to {changed, connection}. goedgekeurd needs mandate, EAN and MID charger.';
select private.expose_ops('ops.registration_review(jsonb)');

-- serves: the chargers whose MID evidence is to be judged, oldest first
create index chargers_unconfirmed on core.chargers (created_at, id) where status = 'active' and mid_eligible is null;

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
    perform private.advance_registration(charger.account_id, wanted);
  end if;
  return json_build_object('changed', changed, 'charger', private.charger_row(charger));
end $$;
comment on function ops.charger_confirm_mid(jsonb) is
  'Judges the evidence of a MID meter where the catalogue leaves it open: {charger, no_mid?, evidence?} to {changed, charger}.';
select private.expose_ops('ops.charger_confirm_mid(jsonb)');

-- Months -------------------------------------------------------------------------------------------------------------

create function private.delivered_month_named(input jsonb) returns core.delivered_months
language plpgsql
set search_path = ''
as $$
declare
  connection core.connections;
  month      core.delivered_months;
begin
  if coalesce(input ->> 'period', '') !~ '^[12][0-9]{3}-(0[1-9]|1[0-2])(-01)?$' then
    perform private.refuse('invalid_period');
  end if;
  connection := private.connection_named(input ->> 'connection');
  select * into month from core.delivered_months d
   where d.partner_id = connection.partner_id and d.connection_id = connection.id
     and d.period = to_date(left(input ->> 'period', 7), 'YYYY-MM')
     for update;
  if not found then
    perform private.refuse('month_not_found', json_build_object('period', left(input ->> 'period', 7)));
  end if;
  return month;
end $$;
comment on function private.delivered_month_named(jsonb) is 'The delivered month of {connection, period}, locked together with its connection.';

create function private.set_month_status(month core.delivered_months, wanted text, action text) returns json
language plpgsql
set search_path = ''
as $$
declare
  before constant text := month.status;
begin
  if wanted <> before then
    update core.delivered_months d set status = wanted
     where d.partner_id = month.partner_id and d.connection_id = month.connection_id and d.period = month.period
    returning * into month;
    perform private.audit(action, month.connection_id, jsonb_build_object('period', month.period, 'before', before, 'after', wanted));
  end if;
  return json_build_object(
    'changed', wanted <> before,
    'month', json_build_object('connection_id', month.connection_id, 'period', month.period, 'total_kwh', month.total_kwh,
                               'session_count', month.session_count, 'status', month.status,
                               'received_at', private.iso(month.received_at)));
end $$;

create function ops.month_lock(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  month core.delivered_months;
begin
  perform private.act_as_operator(input);
  month := private.delivered_month_named(input);
  if month.status not in ('staged', 'registered') then
    perform private.refuse('month_not_staged', json_build_object('status', month.status));
  end if;
  return private.set_month_status(month, 'registered', 'month.locked');
end $$;
comment on function ops.month_lock(jsonb) is
  'Marks a staged month as registered, after which deliveries no longer change it: {connection, period} to {changed, month}.';
select private.expose_ops('ops.month_lock(jsonb)');

create function ops.month_unlock(input jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  month core.delivered_months;
begin
  perform private.act_as_operator(input);
  month := private.delivered_month_named(input);
  return private.set_month_status(
    month, case month.status when 'registered' then private.month_status(month.connection_id, month.period) else month.status end,
    'month.unlocked');
end $$;
comment on function ops.month_unlock(jsonb) is
  'Opens a registered month again, as staged or outside_mandate, whichever it now is: {connection, period} to {changed, month}.';
select private.expose_ops('ops.month_unlock(jsonb)');

-- Rate limits --------------------------------------------------------------------------------------------------------

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

-- Mail ---------------------------------------------------------------------------------------------------------------

-- serves: mail of all partners, newest first
create index mail_outbox_newest on core.mail_outbox (created_at desc, id desc);

create function private.mail_row(mail core.mail_outbox) returns json
language sql stable
set search_path = ''
as $$
  select json_build_object(
    'id', mail.id,
    'partner_slug', (select p.slug from core.partners p where p.id = mail.partner_id),
    'created_at', private.iso(mail.created_at),
    'status', mail.status,
    'recipient', mail.recipient,
    'subject', mail.subject,
    'template', mail.template,
    'attempts', mail.attempts,
    'last_error', mail.last_error,
    'done_at', private.iso(mail.done_at))
$$;

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
  return query
    select * from core.mail_outbox m
     where (partner is null or m.partner_id = partner) and (wanted is null or m.recipient = wanted)
     order by m.created_at desc, m.id desc limit size;
end $$;
comment on function private.newest_mails(jsonb, int) is 'The newest mails of {to?, partner?}.';

create function ops.mail_list(input jsonb) returns json
language sql stable security definer
set search_path = ''
as $$
  select json_build_object('mails', coalesce(json_agg(private.mail_row(m) order by m.created_at desc, m.id desc), '[]'))
    from private.newest_mails(input, coalesce((input ->> 'limit')::int, 20)) m
$$;
comment on function ops.mail_list(jsonb) is 'Mail that waits, was sent or was captured, newest first, without its text: {to?, partner?, limit?} to {mails}.';
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
    select * into mail from core.mail_outbox m where m.id = private.as_uuid(input ->> 'id');
  end if;
  if mail.id is null then
    perform private.refuse('mail_not_found');
  end if;
  -- a mail may hold a code or a link that lets its reader act as the recipient
  perform private.act_for_partner(mail.partner_id), private.audit('mail.shown', mail.id);
  return json_build_object('mail', private.mail_row(mail), 'text', mail.text, 'links', mail.links);
end $$;
comment on function ops.mail_show(jsonb) is
  'One mail with its text and links: {id}, or the newest of {to?, partner?}, to {mail, text, links}. Leaves an audit row, for it reads what was meant for the recipient.';
select private.expose_ops('ops.mail_show(jsonb)');
