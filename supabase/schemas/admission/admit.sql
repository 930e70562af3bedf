-- Admission, the first of a request's two statements: is the credential still good, may it do this, is the limit kept.

create function private.admit_cpo(credential jsonb, demand jsonb) returns json
language plpgsql
set search_path = ''
as $$
declare
  client  core.oauth_clients := private.client_by_client_id(credential ->> 'client_id');
  scope   constant text := demand ->> 'scope';
  rate    jsonb;
begin
  if client.id is null or client.disabled_at is not null
     or to_timestamp((credential ->> 'issued_at')::bigint) < client.tokens_valid_from then
    return private.refusal('missing_or_invalid_token');
  elsif demand ->> 'kind' <> 'cpo' then
    return private.refusal('wrong_kind');
  elsif private.active_partner(client.partner_id) is null then
    return private.refusal('client_not_linked');
  elsif scope is not null and not (scope = any (client.scopes) and credential -> 'scopes' ? scope) then
    return private.refusal('insufficient_scope', json_build_object('required_scope', scope));
  end if;

  rate := private.debit('client:' || client.id, demand ->> 'bucket');
  if not (rate ->> 'allowed')::boolean then
    return private.refusal('too_many_requests', json_build_object('rate', rate));
  end if;
  return json_build_object(
    'caller', json_build_object('kind', 'cpo', 'client_id', client.id, 'partner_id', client.partner_id),
    'rate', rate);
end $$;
comment on function private.admit_cpo(jsonb, jsonb) is
  'A client-credentials token, its signature already verified. A scope holds only while token and client both have it.';
grant execute on function private.admit_cpo(jsonb, jsonb) to api_owner;

create function private.user_scopes(credential jsonb, out user_id uuid, out client_id uuid, out scopes text[])
language plpgsql security definer
set search_path = ''
as $$
begin
  if credential ->> 'kind' = 'personal_token' then
    -- to the minute is enough to show, and saves a write on most requests
    update core.personal_tokens t set last_used_at = private.now()
     where t.token_hash = decode(credential ->> 'token_hash', 'hex') and t.revoked_at is null
       and (t.last_used_at is null or t.last_used_at < private.now() - interval '1 minute');
    select t.user_id, t.scopes into user_scopes.user_id, user_scopes.scopes
      from core.personal_tokens t
     where t.token_hash = decode(credential ->> 'token_hash', 'hex')
       and t.revoked_at is null and (t.expires_at is null or t.expires_at > private.now());
  else
    select g.user_id, c.id, array(select unnest(c.scopes) intersect select jsonb_array_elements_text(credential -> 'scopes'))
      into user_scopes.user_id, user_scopes.client_id, user_scopes.scopes
      from core.oauth_grants g
      join core.oauth_clients c on c.id = g.client_id
     where g.id = (credential ->> 'grant_id')::uuid and g.revoked_at is null
       and g.user_id = (credential ->> 'user_id')::uuid and c.client_id = credential ->> 'client_id'
       and c.disabled_at is null and private.may_act_for_people(c) and to_timestamp((credential ->> 'issued_at')::bigint) >= c.tokens_valid_from;
  end if;
end $$;
comment on function private.user_scopes(jsonb) is
  'Whose token this is and what it may do, all null when it is no longer good. A scope holds only while token and client both have it. Definer: admission runs before there is a person.';
grant execute on function private.user_scopes(jsonb) to api_owner;

create function private.admit_user(credential jsonb, demand jsonb) returns json
language plpgsql
set search_path = ''
as $$
declare
  person record;
  rate   jsonb;
begin
  select * into person from private.user_scopes(credential);
  if person.user_id is null or not private.login_stands(person.user_id) then
    return private.refusal('missing_or_invalid_token');
  elsif demand ->> 'kind' not in ('user', 'partner') then
    return private.refusal('wrong_kind');
  elsif demand ->> 'scope' is not null and not (demand ->> 'scope') = any (person.scopes) then
    return private.refusal('insufficient_scope', json_build_object('required_scope', demand ->> 'scope'));
  elsif demand ->> 'kind' = 'partner' then
    return private.admit_partner_user(person.user_id, person.client_id, demand);
  end if;
  -- limits are kept per client and person, or per person for their own tokens
  rate := private.debit('user:' || person.user_id || coalesce(':' || person.client_id, ''), demand ->> 'bucket');
  if not (rate ->> 'allowed')::boolean then
    return private.refusal('too_many_requests', json_build_object('rate', rate));
  end if;
  return json_build_object(
    'caller', json_build_object('kind', 'user', 'user_id', person.user_id, 'client_id', person.client_id, 'partner_id', private.house()),
    'rate', rate);
end $$;
comment on function private.admit_user(jsonb, jsonb) is 'A personal token, or the access token of an application acting for a person.';
grant execute on function private.admit_user(jsonb, jsonb) to api_owner;

create function private.admit_sign_in_session(credential jsonb, demand jsonb) returns json
language plpgsql
set search_path = ''
as $$
declare
  person constant uuid := (credential ->> 'user_id')::uuid;
  began  constant timestamptz := private.signed_in_at(person, private.as_uuid(credential ->> 'session_id'));
  rate   jsonb;
begin
  if began is null or not private.login_stands(person) then
    return private.refusal('missing_or_invalid_token');
  elsif demand ->> 'kind' <> 'session' then
    return private.refusal('wrong_kind');
  end if;
  rate := private.debit('user:' || person, demand ->> 'bucket');
  if not (rate ->> 'allowed')::boolean then
    return private.refusal('too_many_requests', json_build_object('rate', rate));
  end if;
  return json_build_object(
    'caller', json_build_object('kind', 'session', 'user_id', person, 'partner_id', private.house(), 'signed_in_at', began),
    'rate', rate);
end $$;
comment on function private.admit_sign_in_session(jsonb, jsonb) is 'A person signed in with Supabase Auth, its session JWT already verified: {user_id, session_id}. Signing out ends it at once.';
grant execute on function private.admit_sign_in_session(jsonb, jsonb) to api_owner;

create function private.admit_partner_key(credential jsonb, demand jsonb) returns json
language plpgsql
set search_path = ''
as $$
declare
  holder record;
  rate   jsonb;
begin
  select * into holder from private.key_holder(credential);
  if holder.partner_id is null then
    return private.refusal('missing_or_invalid_token');
  elsif demand ->> 'kind' not in ('partner', 'sandbox') then
    return private.refusal('wrong_kind');
  elsif not (demand ->> 'key')::boolean then
    return private.refusal('insufficient_scope', json_build_object('required_scope', demand ->> 'scope'));
  elsif not holder.partner_active then
    return private.refusal('no_partner_linked');
  end if;
  rate := private.debit('partner:' || holder.partner_id, demand ->> 'bucket');
  if not (rate ->> 'allowed')::boolean then
    return private.refusal('too_many_requests', json_build_object('rate', rate));
  end if;
  return json_build_object('caller', json_build_object('kind', 'partner', 'partner_id', holder.partner_id), 'rate', rate);
end $$;
comment on function private.admit_partner_key(jsonb, jsonb) is 'A partner API key: {key_hash, key_host, host}. Routes that need a managing person refuse it.';
grant execute on function private.admit_partner_key(jsonb, jsonb) to api_owner;

create function private.admit_partner_user(person uuid, client uuid, demand jsonb) returns json
language plpgsql
set search_path = ''
as $$
declare
  partner constant uuid := private.managed_partner(person);
  rate    jsonb;
begin
  if partner is null then
    return private.refusal('no_partner_linked');
  end if;
  rate := private.debit('user:' || person || coalesce(':' || client, ''), demand ->> 'bucket');
  if not (rate ->> 'allowed')::boolean then
    return private.refusal('too_many_requests', json_build_object('rate', rate));
  end if;
  return json_build_object(
    'caller', json_build_object('kind', 'partner', 'partner_id', partner, 'manager_id', person, 'client_id', client), 'rate', rate);
end $$;
comment on function private.admit_partner_user(uuid, uuid, jsonb) is
  'A person who manages a partner, through an application with partners:*; manager_id says so, and customers are pseudonymised.';
grant execute on function private.admit_partner_user(uuid, uuid, jsonb) to api_owner;

create function api.admit(credential jsonb, demand jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  if private.is_revoked(credential ->> 'token_id') then
    return private.refusal('missing_or_invalid_token');
  end if;
  return case credential ->> 'kind'
    when 'cpo' then private.admit_cpo(credential, demand)
    when 'user' then private.admit_user(credential, demand)
    when 'personal_token' then private.admit_user(credential, demand)
    when 'session' then private.admit_sign_in_session(credential, demand)
    when 'partner_key' then private.admit_partner_key(credential, demand)
    else private.refusal('missing_or_invalid_token')
  end;
end $$;
comment on function api.admit(jsonb, jsonb) is
  'The first of a request''s two statements: credential still good, partner active, scope held, rate limit debited, in that order. '
  'credential {kind, …}, demand {kind, scope, bucket} to {caller, rate}; wrong_kind is a good credential of another kind, for which admit.ts has the refusal. Refusals are answers: the debit must stay.';
select private.expose('api.admit(jsonb, jsonb)');
