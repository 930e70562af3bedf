-- Personal tokens: made by the person, shown once.

create function private.token_row(token core.personal_tokens) returns json
language sql stable
as $$
  select json_build_object(
    'id', token.id, 'name', token.name, 'scopes', token.scopes, 'last4', token.last4, 'created_at',
        private.iso(token.created_at),
    'expires_at', private.iso(token.expires_at), 'last_used_at', private.iso(token.last_used_at))
$$;

-- The tokens of this transaction's person that are not revoked, newest first; never the token itself.
create function private.own_tokens() returns json
language sql stable
as $$
  select coalesce(json_agg(private.token_row(t) order by t.created_at desc, t.id desc), '[]')
    from core.personal_tokens t where t.user_id = private.user_id() and t.revoked_at is null
$$;

create function api.list_personal_tokens(caller jsonb) returns json
language plpgsql stable security definer
as $$
begin
  perform private.act_as(caller, 'session');
  return json_build_object('tokens', private.own_tokens());
end $$;
comment on function api.list_personal_tokens(jsonb) is
  'GET /tokens: those not revoked, newest first; never the token itself.';

create function api.read_own_tokens(caller jsonb) returns json
language plpgsql stable security definer
as $$
begin
  perform private.act_as(caller, 'session');
  return json_build_object('email', (private.user_profile(private.user_id())).email, 'tokens', private.own_tokens());
end $$;
comment on function api.read_own_tokens(jsonb) is 'A person''s tokens, as their own pages show them: {email, tokens}.';

create function api.create_personal_token(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  token   core.personal_tokens;
  expires constant timestamptz := (input ->> 'expires_at')::timestamptz;
begin
  perform private.act_as(caller, 'session');
  perform private.lock('tokens', private.user_id()::text);
  -- a form that is sent twice makes the same token
  select * into token from core.personal_tokens t
   where t.user_id = private.user_id() and t.token_hash = decode(input ->> 'token_hash', 'hex')
       and t.revoked_at is null;
  if found then
    return private.token_row(token);
  end if;
  if (select count(*) from core.personal_tokens t where t.user_id = private.user_id() and t.revoked_at is null) >= 50
      then
    perform private.refuse('token_limit_reached');
  elsif expires <= private.now() then
    perform private.refuse('invalid_request', json_build_object(
      'detail', 'expires_at: must be in the future',
      'issues', json_build_array(json_build_object('path', 'expires_at', 'message', 'must be in the future'))));
  elsif expires is null or expires > private.now() + interval '1 year' then
    perform private.require_recent_sign_in();
  end if;
  insert into core.personal_tokens (user_id, name, token_hash, last4, scopes, expires_at)
  values (private.user_id(), input ->> 'name', private.reserve_token_hash(input ->> 'token_hash'), input ->> 'last4',
          array(select distinct jsonb_array_elements_text(input -> 'scopes') order by 1), expires)
  returning * into token;
  perform private.audit('personal_token.created', token.id, jsonb_build_object('scopes', token.scopes));
  return private.token_row(token);
end $$;
comment on function api.create_personal_token(jsonb, jsonb) is
  'POST /tokens: {name, scopes, expires_at, token_hash, last4} to the token''s row. To last longer than a year it '
  'needs a sign-in of the last 15 minutes. The token itself never reaches the database.';

create function api.revoke_personal_token(caller jsonb, input jsonb) returns json
language plpgsql security definer
as $$
declare
  token core.personal_tokens;
begin
  perform private.act_as(caller, 'session');
  select * into token from core.personal_tokens t
   where t.user_id = private.user_id() and t.id = private.as_uuid(input ->> 'id') for update;
  if not found then
    perform private.refuse('token_not_found');
  elsif token.revoked_at is null then
    update core.personal_tokens t set revoked_at = private.now() where t.id = token.id;
    perform private.audit('personal_token.revoked', token.id);
  end if;
  return json_build_object('ok', true);
end $$;
comment on function api.revoke_personal_token(jsonb, jsonb) is
  'DELETE /tokens/{id}: acts at once; a second time changes nothing.';
