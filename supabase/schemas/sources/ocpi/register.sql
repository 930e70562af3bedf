-- The registration of an OCPI platform: by its POST with a token of ours, or by ours with a token of its own.

-- The connection of the client that acts, locked.
create function private.own_ocpi() returns core.ocpi_connections
language plpgsql
as $$
declare
  link core.ocpi_connections;
begin
  select * into link from core.ocpi_connections c
   where c.partner_id = private.partner_id() and c.owner_id = private.client_id() for no key update;
  return link;
end $$;

create function api.read_ocpi_registration(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  link core.ocpi_connections;
begin
  perform private.act_as(caller, 'ocpi');
  select * into link from core.ocpi_connections c where c.partner_id = private.partner_id()
      and c.owner_id = private.client_id();
  perform private.refuse_if('ocpi_method', (link.status = 'registered') <> (input ->> 'method' <> 'POST'));
  return json_build_object('owner_id', link.owner_id, 'origins', link.origins);
end $$;
comment on function api.read_ocpi_registration(jsonb, jsonb) is
  'Before a platform is asked for its endpoints: {method} to {owner_id, origins}. Refuses with ocpi_method POST when '
  'it is registered, and PUT when it is not.';

-- Stores what both sides agreed: {versions_url, cdrs_url, parties, hubs, plain_token, hint?, token_hash, their_token:
-- {ciphertext, key_id}}. What it has since its last pull comes at once.
create function private.settle_ocpi(link core.ocpi_connections, input jsonb) returns core.ocpi_connections
language plpgsql
as $$
declare
  renewed constant boolean := link.status = 'registered';
begin
  update core.ocpi_connections c
     set status = 'registered', versions_url = input ->> 'versions_url', cdrs_url = input ->> 'cdrs_url',
         parties = array(select jsonb_array_elements_text(input -> 'parties')),
         hubs = array(select jsonb_array_elements_text(input -> 'hubs')),
         plain_token = (input ->> 'plain_token')::boolean, hint = input ->> 'hint',
         previous_token_hash = case when renewed then coalesce(c.previous_token_hash, c.token_hash) end,
         -- the hour begins with the first PUT: the old token cannot be held on to by asking again
         previous_until = case when renewed then coalesce(c.previous_until, private.now() + interval '1 hour') end,
         token_hash = decode(input ->> 'token_hash', 'hex'), registration_token_hash = null, registration_until = null,
         their_token_ciphertext = input #>> '{their_token,ciphertext}',
             their_token_key_id = input #>> '{their_token,key_id}',
         registered_at = private.now(), pull_due_at = case when input ->> 'cdrs_url' is not null then private.now() end,
         -- an offset is of the list that was read: this may be another
         pull_party = null, pull_offset = 0, pull_pages = 0, pull_refused = null, pull_lease_id = null,
             pull_lease_until = null,
         failing_since = null, last_error = null, last_error_detail = null, warned = false
   where c.partner_id = link.partner_id and c.owner_id = link.owner_id
  returning * into link;
  perform private.audit('ocpi.registered', link.owner_id, jsonb_build_object('parties', link.parties));
  return link;
end $$;

create function api.register_ocpi(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  hashes constant bytea[] := array(select decode(h, 'hex') from jsonb_array_elements_text(input -> 'called_with') h);
  link   core.ocpi_connections;
begin
  perform private.act_as(caller, 'ocpi');
  link := private.own_ocpi();
  -- another request may have been first, or the operator may have ended the connection
  if (case input ->> 'method' when 'POST' then link.registration_token_hash = any (hashes)
                              else link.token_hash = any (hashes) or link.previous_token_hash = any (hashes)
                                  end) is not true then
    perform private.refuse('ocpi_method');
  end if;
  -- of two that the old token called, the token of the last holds
  perform private.settle_ocpi(link, input);
  return json_build_object('registered', true);
end $$;
comment on function api.register_ocpi(jsonb, jsonb) is
  'POST and PUT /ocpi/2.2.1/credentials: {method, called_with, versions_url, cdrs_url, parties, hubs, '
  'plain_token, hint?, token_hash, their_token} to {registered}. A registration token does it once.';

-- Ends the tokens of both sides. What was sent stays.
create function private.end_ocpi(link core.ocpi_connections, status text) returns core.ocpi_connections
language plpgsql
as $$
begin
  update core.ocpi_connections c
     set status = end_ocpi.status, token_hash = null, previous_token_hash = null, previous_until = null,
         registration_token_hash = null, registration_until = null,
         their_token_ciphertext = null, their_token_key_id = null, cdrs_url = null, pull_due_at = null,
             pull_lease_id = null, pull_lease_until = null,
         failing_since = null, warned = false
   where c.partner_id = link.partner_id and c.owner_id = link.owner_id
  returning * into link;
  perform private.audit('ocpi.' || end_ocpi.status, link.owner_id);
  return link;
end $$;

create function api.unregister_ocpi(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  link core.ocpi_connections;
begin
  perform private.act_as(caller, 'ocpi');
  link := private.own_ocpi();
  perform private.refuse_if('ocpi_method', link.status is distinct from 'registered');
  perform private.end_ocpi(link, 'unregistered');
  return json_build_object('unregistered', true);
end $$;
comment on function api.unregister_ocpi(jsonb, jsonb) is
  'DELETE /ocpi/2.2.1/credentials: {} to {unregistered}. Ends the tokens of both sides; CDRs stay.';

create function api.get_ocpi(caller jsonb) returns json
language plpgsql stable security definer
as $$
begin
  perform private.act_as(caller, 'cpo');
  return (
    select json_build_object(
             'status', coalesce(c.status, 'none'), 'parties', coalesce(c.parties || c.added_parties, '{}'),
                 'registered_at', private.iso(c.registered_at),
             'pushed_at', private.iso(c.push_seen_at), 'pulls', c.cdrs_url is not null, 'pulled_to',
                 private.iso(c.pulled_to),
             'cdrs_taken', coalesce(c.taken, 0), 'cdrs_refused', coalesce(c.refused, 0), 'last_refusal', c.last_refusal,
             'last_refused_at', private.iso(c.last_refused_at), 'failing_since', private.iso(c.failing_since),
                 'last_error', c.last_error, 'last_error_detail', c.last_error_detail)
      from (values (private.partner_id(), private.client_id())) self (partner_id, client_id)
      left join core.ocpi_connections c on c.partner_id = self.partner_id and c.owner_id = self.client_id);
end $$;
comment on function api.get_ocpi(jsonb) is
  'GET /v1/ocpi: how the OCPI connection of a client stands; status none without one.';
