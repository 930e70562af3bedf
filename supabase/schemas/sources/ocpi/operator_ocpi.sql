-- The operator on OCPI connections: invite, register, list, pull, parties, origins, disable.

-- A connection as the operator sees it, without a token.
create function private.ocpi_row(link core.ocpi_connections) returns json
language sql stable
as $$
  select json_build_object(
    'partner_slug', p.slug, 'client_id', c.client_id, 'status', link.status, 'versions_url', link.versions_url, 'pulls',
        link.cdrs_url is not null,
    'parties', array_to_string(link.parties || link.added_parties, ' '), 'origins', array_to_string(link.origins, ' '),
        'registered_at', private.iso(link.registered_at),
    'pushed_at', private.iso(link.push_seen_at), 'pulled_to', private.iso(link.pulled_to), 'cdrs_taken', link.taken,
        'cdrs_refused', link.refused,
    'last_refusal', link.last_refusal, 'failing_since', private.iso(link.failing_since), 'last_error', link.last_error,
    'last_error_detail', link.last_error_detail, 'hint', link.hint)
  from core.partners p join core.oauth_clients c on c.id = link.owner_id
  where p.id = link.partner_id
$$;

-- The connection of {client}, locked. Its client acts from then on.
create function private.ocpi_named(input jsonb) returns core.ocpi_connections
language plpgsql
as $$
declare
  client core.oauth_clients := private.client_named(input);
  link   core.ocpi_connections;
begin
  perform private.refuse_if('client_reads_no_log', client.partner_id is null
                            or 'client_credentials' <> all (client.grant_types),
    json_build_object('client', input ->> 'client'));
  select * into link from core.ocpi_connections c where c.partner_id = client.partner_id
      and c.owner_id = client.id for no key update;
  return link;
end $$;

-- The same, of a client that has one.
create function private.ocpi_standing(input jsonb) returns core.ocpi_connections
language plpgsql
as $$
declare
  link core.ocpi_connections := private.ocpi_named(input);
begin
  perform private.refuse_if('ocpi_not_found', link.owner_id is null, json_build_object('client', input ->> 'client'));
  return link;
end $$;

create function ops.ocpi_add(input jsonb) returns json
language plpgsql security definer
as $$
declare
  link   core.ocpi_connections := private.ocpi_named(input);
  client core.oauth_clients := private.client_named(input);
begin
  perform private.refuse_if('client_disabled', client.disabled_at is not null,
                            json_build_object('client', client.client_id));
  perform private.refuse_if('ocpi_registered', link.status = 'registered',
                            json_build_object('client', client.client_id));
  insert into core.ocpi_connections as c (partner_id, owner_id, status, registration_token_hash, registration_until)
  values (client.partner_id, client.id, 'invited', decode(input ->> 'token_hash', 'hex'),
          private.now() + interval '30 days')
  on conflict on constraint ocpi_connections_pkey do update
     set status = 'invited', registration_token_hash = excluded.registration_token_hash,
         registration_until = excluded.registration_until
  returning * into link;
  perform private.audit('ocpi.invited', link.owner_id);
  return json_build_object('changed', true, 'connection', private.ocpi_row(link), 'owner_id', link.owner_id,
                           'origins', link.origins);
end $$;
comment on function ops.ocpi_add(jsonb) is
  'Invites the platform of a client: {client, token_hash} to {changed, connection, owner_id, origins}. The token '
  'registers once, within 30 days.';

create function ops.ocpi_settle(input jsonb) returns json
language plpgsql security definer
as $$
declare
  link core.ocpi_connections := private.ocpi_standing(input);
begin
  perform private.refuse_if('ocpi_registered',
                            link.registration_token_hash is distinct from decode(input ->> 'token_hash', 'hex'),
    json_build_object('client', input ->> 'client'));
  link := private.settle_ocpi(link, input);
  return json_build_object('changed', true, 'connection', private.ocpi_row(link));
end $$;
comment on function ops.ocpi_settle(jsonb) is
  'Ends a registration that we began: {client, token_hash, versions_url, cdrs_url, parties, hubs, plain_token, '
  'hint?, their_token} to {changed, connection}. token_hash is that of ops.ocpi_add.';

create function ops.ocpi_list(input jsonb) returns json
language sql stable security definer
as $$
  select json_build_object('connections', coalesce(json_agg(private.ocpi_row(c) order by p.slug, c.created_at,
                                                            c.owner_id), '[]'))
    from private.chosen_partner(input) as chosen (id)
    join core.partners p on chosen.id is null or p.id = chosen.id
    join core.ocpi_connections c on c.partner_id = p.id
$$;
comment on function ops.ocpi_list(jsonb) is
  'OCPI connections of all partners or of one: {partner?} to {connections}. No token.';

create function ops.ocpi_pull(input jsonb) returns json
language plpgsql security definer
as $$
declare
  link core.ocpi_connections := private.ocpi_standing(input);
begin
  perform private.refuse_if('ocpi_no_pull', link.status <> 'registered' or link.cdrs_url is null,
                            json_build_object('client', input ->> 'client'));
  update core.ocpi_connections c
     -- a later beginning would leave a gap that nobody reads
     set pull_due_at = private.now(),
         pull_from = case when input ? 'from' then least(private.dutch_midnight((input ->> 'from')::date),
                                                         c.pulled_to - interval '48 hours') else c.pull_from end,
         pull_until = case when input ? 'from' then null else c.pull_until end,
             pull_offset = case when input ? 'from' then 0 else c.pull_offset end,
         pull_party = case when input ? 'from' then null else c.pull_party end,
         pull_refused = case when not input ? 'from' then c.pull_refused end,
         pull_pages = 0,
         pull_lease_id = null, pull_lease_until = null
   where c.partner_id = link.partner_id and c.owner_id = link.owner_id
  returning * into link;
  perform private.audit('ocpi.pull_asked', link.owner_id, jsonb_build_object('from', input -> 'from'));
  return json_build_object('changed', true, 'connection', private.ocpi_row(link));
end $$;
comment on function ops.ocpi_pull(jsonb) is
  'Has the worker read their CDRs in its next run: {client, from?: date} to {changed, connection}. A CDR that we have '
  'changes nothing.';

-- Adds an entry of a list, or removes it.
create function private.ocpi_entry(entries text[], entry text, remove boolean) returns text[]
language sql immutable
as $$ select case when remove then array_remove(entries, entry) when entry = any (entries) then entries
                  else entries || entry end $$;

create function ops.ocpi_party(input jsonb) returns json
language plpgsql security definer
as $$
declare
  link    core.ocpi_connections := private.ocpi_standing(input);
  allowed constant text[] := private.ocpi_entry(link.added_parties, upper(input ->> 'party'),
                                                coalesce((input ->> 'remove')::boolean, false));
  changed constant boolean := allowed <> link.added_parties;
begin
  if changed then
    update core.ocpi_connections c set added_parties = allowed where c.partner_id = link.partner_id
        and c.owner_id = link.owner_id returning * into link;
    perform private.audit('ocpi.parties_set', link.owner_id, jsonb_build_object('parties', allowed));
  end if;
  return json_build_object('changed', changed, 'connection', private.ocpi_row(link));
end $$;
comment on function ops.ocpi_party(jsonb) is
  'Adds a party behind a hub, or removes one that was added: {client, party, remove?} to {changed, connection}.';

create function ops.ocpi_origin(input jsonb) returns json
language plpgsql security definer
as $$
declare
  link    core.ocpi_connections := private.ocpi_standing(input);
  allowed constant text[] := private.ocpi_entry(link.origins, input ->> 'origin',
                                                coalesce((input ->> 'remove')::boolean, false));
  changed constant boolean := allowed <> link.origins;
begin
  if changed then
    update core.ocpi_connections c set origins = allowed where c.partner_id = link.partner_id
        and c.owner_id = link.owner_id returning * into link;
    perform private.audit('ocpi.origins_set', link.owner_id, jsonb_build_object('origins', allowed));
  end if;
  return json_build_object('changed', changed, 'connection', private.ocpi_row(link));
end $$;
comment on function ops.ocpi_origin(jsonb) is
  'Allows our requests, with the platform''s token, to one more origin, or removes it: {client, origin, remove?} to '
  '{changed, connection}.';

create function ops.ocpi_disable(input jsonb) returns json
language plpgsql security definer
as $$
declare
  link    core.ocpi_connections := private.ocpi_standing(input);
  changed constant boolean := link.status <> 'disabled';
begin
  if changed then
    link := private.end_ocpi(link, 'disabled');
  end if;
  return json_build_object('changed', changed, 'connection', private.ocpi_row(link));
end $$;
comment on function ops.ocpi_disable(jsonb) is
  'Ends the tokens of both sides: {client} to {changed, connection}. CDRs stay; ops.ocpi_add opens it again.';
