-- The tokens of an application: a code or a refresh token for an access token, and what ends them (RFC 6749, 7009,
-- 9700).

-- Ends every token of a grant at once; returns whether it was still live.
create function private.end_grant(grant_id uuid, reason text) returns boolean
language plpgsql
as $$
begin
  update core.oauth_grants g set revoked_at = private.now() where g.id = grant_id and g.revoked_at is null;
  if not found then
    return false;
  end if;
  perform private.audit('oauth.grant_ended', grant_id, jsonb_build_object('reason', reason));
  return true;
end $$;

-- Whether a grant may still give tokens: not revoked, and its login neither deleted nor banned.
create function private.is_live(oauth_grant core.oauth_grants) returns boolean
language sql stable
as $$ select oauth_grant.revoked_at is null and private.login_stands(oauth_grant.user_id) $$;

-- Whether a second use came within 30 seconds. It then counts as a lost answer or parallel requests, not as a theft.
create function private.is_race(used_at timestamptz) returns boolean
language sql stable
as $$ select used_at >= private.now() - interval '30 seconds' $$;

create function private.add_refresh_token(grant_id uuid, generation int, token_hash text) returns void
language sql
as $$
  insert into core.oauth_refresh_tokens (token_hash, grant_id, generation, expires_at)
  values (private.reserve_token_hash(add_refresh_token.token_hash), grant_id, generation,
          private.now() + interval '30 days')
$$;

create function private.redeem_code(
  client core.oauth_clients, request jsonb, out oauth_grant core.oauth_grants, out scopes text[], out refusal text)
language plpgsql security definer
as $$
declare
  presented constant bytea := decode(request ->> 'code_hash', 'hex');
  code      core.oauth_codes;
  fits      boolean;
begin
  refusal := 'invalid_grant';
  -- the grant is locked first: of ten requests at once, nine wait here and then see a used code
  select g.* into oauth_grant from core.oauth_grants g join core.oauth_codes c on c.grant_id = g.id
   where c.code_hash = presented and g.client_id = client.id for update of g;
  select * into code from core.oauth_codes c where c.code_hash = presented and c.grant_id = oauth_grant.id;
  fits := code.redirect_uri = request ->> 'redirect_uri' and code.code_challenge = request ->> 'code_challenge';
  if code.used_at is not null and not fits then
    -- from an address or a log: who has no verifier never began the flow, and ends nobody's grant
    perform private.audit('oauth.used_code_refused', oauth_grant.id);
  elsif code.used_at is not null and not private.is_race(code.used_at) then
    perform private.end_grant(oauth_grant.id, 'code_reused');
  elsif code.used_at is null and fits and private.is_live(oauth_grant) and code.expires_at > private.now() then
    update core.oauth_codes c set used_at = private.now() where c.code_hash = presented;
    perform private.add_refresh_token(oauth_grant.id, 1, request ->> 'new_refresh_hash');
    scopes := oauth_grant.scopes;
    refusal := null;
  end if;
end $$;
comment on function private.redeem_code(core.oauth_clients, jsonb) is
  'Uses an authorization code once, for the client, redirect URI and challenge it was made for. A later second use '
  'with the same two ends its grant. Definer: no caller may read codes.';

create function private.rotate_refresh_token(
  client core.oauth_clients, request jsonb, out oauth_grant core.oauth_grants, out scopes text[], out refusal text)
language plpgsql security definer
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
    perform private.add_refresh_token(oauth_grant.id, token.generation + 1, request ->> 'new_refresh_hash');
    scopes := array(select s from unnest(oauth_grant.scopes) s where wanted = '{}' or s = any (wanted));
    refusal := null;
  end if;
end $$;
comment on function private.rotate_refresh_token(core.oauth_clients, jsonb) is
  'Exchanges a refresh token for its one successor. The predecessor shown again within 30 seconds is a race and harms '
  'nothing. Later, or an older one, ends the grant. Definer: no caller may read refresh tokens.';

create function api.grant_user_token(caller jsonb, request jsonb) returns json
language plpgsql security definer
as $$
declare
  door  record;
  given record;
  rate  jsonb;
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
  -- Good ones count by person. Others count apart: anybody can send an application made-up codes, by its redirect URI.
  rate := private.debit(case when given.refusal is null then 'user:' || (given.oauth_grant).user_id || ':'
                                                             || (door.client).id
                             else coalesce('grant:' || (given.oauth_grant).id,
                                           'client:' || (door.client).id || ':unknown_grants') end, 'token');
  if given.refusal is not null then
    return private.refusal(case when (rate ->> 'allowed')::boolean then given.refusal else 'too_many_requests' end,
                           json_build_object('rate', rate));
  end if;
  -- undoes the use of the code or token
  perform private.refuse_if('too_many_requests', not (rate ->> 'allowed')::boolean, json_build_object('rate', rate));
  return json_build_object(
    'user_id', (given.oauth_grant).user_id,
    'client_id', (door.client).client_id,
    'grant_id', (given.oauth_grant).id,
    'scope', array_to_string(given.scopes, ' '),
    'secret_number', (door.client).secret_number,
    'rate', rate);
end $$;
comment on function api.grant_user_token(jsonb, jsonb) is
  'Authenticates a client and redeems its code or refresh token: {grant_type, client_id, secret_hash, address_hash, '
  'new_refresh_hash} with {code_hash, redirect_uri, code_challenge} or '
  '{refresh_hash, scope} to {user_id, client_id, grant_id, scope, secret_number, rate}. Refusals are answers, because '
  'attempts are counted and reuse ends a grant.';

create function private.revoke_presented(client core.oauth_clients, request jsonb) returns void
language plpgsql security definer
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
  'Ends the grant of a refresh token, or one access token, of this client; other tokens stay. Definer: no caller may '
  'read tokens.';

create function api.revoke_token(caller jsonb, request jsonb) returns json
language plpgsql security definer
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
  'RFC 7009: {client_id, secret_hash, address_hash, token_hash, access_token: {id, client_id, expires_at}?} to {rate}; '
  'says nothing of the token.';
