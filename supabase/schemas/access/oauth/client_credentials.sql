-- The client-credentials grant (RFC 6749 section 4.4), and the client authentication that begins every token request.

create function private.authenticate_client(
  request jsonb, grant_type text, out client core.oauth_clients, out rate jsonb, out refusal json)
language plpgsql security definer
as $$
declare
  allowed boolean;
begin
  select * into client from core.oauth_clients c where c.client_id = left(request ->> 'client_id', 200);
  -- before any limit: a stranger who guesses from the same address does not keep the client out
  if client.id is null or client.disabled_at is not null
      or client.secret_hash is distinct from decode(request ->> 'secret_hash', 'hex') then
    -- an unknown client_id shares one subject an address, so that guessing names does not grow the table
    rate := private.debit(coalesce('client:' || client.id, 'unknown') || '@' || (request ->> 'address_hash'),
                          'token_failures');
    refusal := private.refusal(case when (rate ->> 'allowed')::boolean then 'invalid_client'
                                    else 'too_many_requests' end,
                               json_build_object('rate', rate));
    return;
  end if;
  allowed := coalesce(grant_type, client.grant_types[1]) = any (client.grant_types);
  if grant_type in ('authorization_code', 'refresh_token') then
    allowed := allowed and private.may_act_for_people(client);
    if allowed then
      return;
    end if;
  end if;
  -- only the client itself spends its own requests: a stranger who knows its name cannot lock it out
  rate := private.debit('client:' || client.id, 'token');
  if not (rate ->> 'allowed')::boolean then
    refusal := private.refusal('too_many_requests', json_build_object('rate', rate));
  elsif not allowed then
    refusal := private.refusal('unauthorized_client', json_build_object('rate', rate));
  end if;
end $$;
comment on function private.authenticate_client(jsonb, text) is
  'The client of {client_id, secret_hash, address_hash} if its secret is right and it has the grant type (null: any); '
  'else a refusal. Counts the request, but for codes and refresh tokens, which api.grant_user_token counts. A refusal '
  'is an answer, because a failed attempt must be counted. Definer: it runs before there is a client.';

create function api.grant_client_credentials(caller jsonb, request jsonb) returns json
language plpgsql security definer
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
  return json_build_object('client_id', (door.client).client_id, 'scope', array_to_string(held, ' '),
                           'secret_number', (door.client).secret_number, 'rate', door.rate);
end $$;
comment on function api.grant_client_credentials(jsonb, jsonb) is
  'Authenticates a client for the client-credentials grant (RFC 6749 section 4.4): {client_id, secret_hash, scope, '
  'address_hash} to {client_id, scope, secret_number, rate}. '
  'Refusals are answers, because a failed attempt must be counted.';
