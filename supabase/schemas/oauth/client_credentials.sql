-- The client-credentials grant (RFC 6749 section 4.4), and the authentication of a client that every token request begins with.

create function private.authenticate_client(
  request jsonb, grant_type text, out client core.oauth_clients, out rate jsonb, out refusal json)
language plpgsql
set search_path = ''
as $$
declare
  subject  text;
  failures text;
  failed   record;
begin
  client := private.client_by_client_id(left(request ->> 'client_id', 200));
  -- an unknown client_id shares one subject an address, so that guessing names does not grow the table
  subject := coalesce('client:' || client.id, 'unknown');
  failures := subject || '@' || (request ->> 'address_hash');
  failed := private.standing(failures, 'token_failures');
  if not failed.fits then
    rate := private.rate_json('token_failures', failed.quota, failed.window_seconds, failed.full_in, false);
    refusal := private.refusal('too_many_requests', json_build_object('rate', rate));
  elsif client.id is null or client.disabled_at is not null or client.secret_hash <> decode(request ->> 'secret_hash', 'hex') then
    rate := private.debit(failures, 'token_failures');
    -- parallel guesses all passed the check above; only as many as the limit allows learn whether they were right
    refusal := private.refusal(case when (rate ->> 'allowed')::boolean then 'invalid_client' else 'too_many_requests' end,
                               json_build_object('rate', rate));
  else
    -- only the client itself spends its own requests: a stranger who knows its name cannot lock it out
    rate := private.debit(subject, 'token');
    if not (rate ->> 'allowed')::boolean then
      refusal := private.refusal('too_many_requests', json_build_object('rate', rate));
    elsif not coalesce(grant_type, client.grant_types[1]) = any (client.grant_types)
          or grant_type in ('authorization_code', 'refresh_token') and not private.may_act_for_people(client) then
      refusal := private.refusal('unauthorized_client', json_build_object('rate', rate));
    end if;
  end if;
end $$;
comment on function private.authenticate_client(jsonb, text) is
  'The client of {client_id, secret_hash, address_hash} when its secret is right and it has the grant type (null: any); else a refusal. '
  'A refusal is an answer, because a failed attempt must be counted.';
grant execute on function private.authenticate_client(jsonb, text) to api_owner;

create function api.grant_client_credentials(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  door    record;
  client  core.oauth_clients;
  wanted  text[];
begin
  perform private.act_as(caller, 'anyone');
  select * into door from private.authenticate_client(request, 'client_credentials');
  if door.refusal is not null then
    return door.refusal;
  end if;
  client := door.client;
  wanted := array(select s.word from string_to_table(request ->> 'scope', ' ') as s (word) where s.word <> '');
  if not wanted <@ client.scopes then
    return private.refusal('invalid_scope', json_build_object('rate', door.rate));
  end if;
  if wanted = '{}' then
    wanted := client.scopes;
  end if;
  return json_build_object(
    'client_id', client.client_id,
    'scope', (select coalesce(string_agg(s, ' '), '') from unnest(client.scopes) s where s = any (wanted)),
    'rate', door.rate);
end $$;
comment on function api.grant_client_credentials(jsonb, jsonb) is
  'Authenticates a client for the client-credentials grant (RFC 6749 section 4.4): {client_id, secret_hash, scope, address_hash} to {client_id, scope, rate}. '
  'Refusals are answers, because a failed attempt must be counted.';
select private.expose('api.grant_client_credentials(jsonb, jsonb)');
