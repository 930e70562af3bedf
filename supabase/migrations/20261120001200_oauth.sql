-- Applications that act for people: consent, authorization codes, refresh tokens, revocation (RFC 6749, 7009, 7636, 9700).

alter table core.oauth_clients add column operated_by text;
alter table core.oauth_clients add constraint oauth_clients_operated_by_length check (length(operated_by) between 1 and 120);
comment on column core.oauth_clients.operated_by is 'Who runs the application, as the consent page names them; null: the partner it belongs to.';

-- Sign-ins on the consent page, counted before Supabase Auth is asked: per account and address, and per address. Codes for it, per
-- account and address, and per account: who has one address leaves the owner half of the codes, and who has many guesses right
-- once in 10,000 days (20 codes a day, five guesses each).
insert into core.rate_limits (bucket, quota, window_seconds) values
  ('sign_in',         10, 300),
  ('sign_in_address', 30, 300),
  ('sign_in_code',    10, 86400),
  ('sign_in_mail',    20, 86400);

create table core.oauth_consents (
  user_id      uuid        not null,
  client_id    uuid        not null,
  scopes       text[]      not null,
  first_at     timestamptz not null default private.now(),
  last_at      timestamptz not null default private.now(),
  withdrawn_at timestamptz,
  constraint oauth_consents_pkey primary key (user_id, client_id),
  constraint oauth_consents_user_id_fkey foreign key (user_id) references auth.users (id) on delete cascade,
  constraint oauth_consents_client_id_fkey foreign key (client_id) references core.oauth_clients (id)
);
comment on table core.oauth_consents is
  'What a person allowed an application: scopes as of the last time. Stays when withdrawn, so that a first consent happens once. Ends with the login.';
alter table core.oauth_consents enable row level security;

-- Authorization ------------------------------------------------------------------------------------------------------

create function private.user_scope_names() returns text[]
language sql immutable
set search_path = ''
as $$ select array['chargers:read', 'chargers:write', 'sessions:read', 'energy:read', 'profile:read', 'partners:read', 'partners:write'] $$;
comment on function private.user_scope_names() is 'The scopes of an application that acts for a person, in the specification''s order.';

create function private.scope_words(scope text) returns text[]
language sql immutable
set search_path = ''
as $$ select array(select distinct s.word from string_to_table(scope, ' ') as s (word) where s.word <> '') $$;

create function private.check_authorization(
  request jsonb, out client core.oauth_clients, out scopes text[], out refusal text)
language plpgsql stable
set search_path = ''
as $$
declare
  wanted constant text[] := private.scope_words(request ->> 'scope');
begin
  client := private.client_by_client_id(left(request ->> 'client_id', 200));
  scopes := array(select s from unnest(private.user_scope_names()) s where s = any (wanted) and s = any (client.scopes));
  refusal := case
    when client.id is null or client.disabled_at is not null then 'invalid_client'
    when not (request ->> 'redirect_uri') = any (client.redirect_uris) then 'invalid_redirect_uri'
    when not 'authorization_code' = any (client.grant_types) then 'unauthorized_client'
    when wanted = '{}' or not wanted <@ scopes then 'invalid_scope'
  end;
end $$;
comment on function private.check_authorization(jsonb) is
  'The client and scopes of {client_id, redirect_uri, scope}, or why not, in the order in which an answer may be given: without client and redirect URI, never by redirect.';

create function private.consent(person uuid, client core.oauth_clients, scopes text[], request jsonb) returns void
language plpgsql security definer
set search_path = ''
as $$
declare
  family uuid;
begin
  insert into core.oauth_consents (user_id, client_id, scopes) values (person, client.id, scopes)
  on conflict on constraint oauth_consents_pkey do nothing;
  if not found then
    update core.oauth_consents c set scopes = consent.scopes, last_at = private.now(), withdrawn_at = null
     where c.user_id = person and c.client_id = consent.client.id;
  -- the first consent, and only that, may attribute (specification section 4.5)
  elsif client.partner_id <> private.house()
        and (private.user_profile(person)).created_at >= private.now() - interval '7 days'
        and private.attribute_user(person, client.partner_id, 'oauth_consent') then
    perform private.audit('user.attributed', person, jsonb_build_object('source', 'oauth_consent', 'to', client.partner_id));
  end if;

  insert into core.oauth_grants (user_id, client_id, scopes) values (person, client.id, scopes) returning id into family;
  insert into core.oauth_codes (code_hash, grant_id, redirect_uri, code_challenge, expires_at)
  values (decode(request ->> 'code_hash', 'hex'), family, request ->> 'redirect_uri', request ->> 'code_challenge',
          private.now() + interval '10 minutes');
  perform private.audit('oauth.consented', family, jsonb_build_object('client_id', client.client_id, 'scopes', scopes));
end $$;
comment on function private.consent(uuid, core.oauth_clients, text[], jsonb) is
  'Records a person''s consent, attributes them on the first one, and begins a grant with its code. Definer: consents, grants and codes are nobody''s to read.';

grant execute on function
  private.user_scope_names(), private.scope_words(text), private.check_authorization(jsonb),
  private.consent(uuid, core.oauth_clients, text[], jsonb)
to api_owner;

create function api.issue_authorization_code(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  checked record;
begin
  perform private.act_as(caller, 'session');
  select * into checked from private.check_authorization(request);
  if checked.refusal is not null then
    perform private.refuse(checked.refusal);
  end if;
  perform private.consent(private.user_id(), checked.client, checked.scopes, request);
  return json_build_object('scope', array_to_string(checked.scopes, ' '));
end $$;
comment on function api.issue_authorization_code(jsonb, jsonb) is
  'The person allows it: {client_id, redirect_uri, scope, code_challenge, code_hash} to {scope}. The code lives ten minutes.';
select private.expose('api.issue_authorization_code(jsonb, jsonb)');

create function api.describe_authorization(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  rate    jsonb;
  checked record;
begin
  perform private.act_as(caller, 'anyone');
  rate := private.debit('address:' || (request ->> 'address_hash'), 'page');
  if not (rate ->> 'allowed')::boolean then
    return private.refusal('too_many_requests', json_build_object('rate', rate));
  end if;
  select * into checked from private.check_authorization(request);
  if checked.refusal is not null then
    return private.refusal(checked.refusal);
  end if;
  perform private.act_for_partner((checked.client).partner_id);
  return json_build_object(
    'name', (checked.client).name,
    'operated_by', coalesce((checked.client).operated_by, (select p.name from core.partners p where p.id = private.partner_id())),
    'scopes', checked.scopes);
end $$;
comment on function api.describe_authorization(jsonb, jsonb) is
  'What the consent page shows of {client_id, redirect_uri, scope, address_hash}: {name, operated_by, scopes}. Refusals are answers, because a visit must be counted.';
select private.expose('api.describe_authorization(jsonb, jsonb)');

-- Signing in ---------------------------------------------------------------------------------------------------------

create table core.sign_in_codes (
  token_hash bytea       not null,
  code_hash  bytea       not null,
  email      text        not null,
  attempts   int         not null default 0,
  expires_at timestamptz not null,
  constraint sign_in_codes_pkey primary key (token_hash)
);
comment on table core.sign_in_codes is
  'One-time codes of people who sign in by mail: good for ten minutes, five attempts and the one browser that asked. token_hash is the SHA-256 of 256 random bits in its cookie, '
  'code_hash of the code with them. An address without a login has rows too, for it must not show. Personal data; ends with its use or the next clean-up.';
-- serves: the clean-up
create index sign_in_codes_expiry on core.sign_in_codes (expires_at);
alter table core.sign_in_codes enable row level security;

create function private.count_sign_in(attempt jsonb, bucket text) returns jsonb
language plpgsql
set search_path = ''
as $$
declare
  address constant text  := 'address:' || (attempt ->> 'address_hash');
  rate    constant jsonb := private.debit(address, 'sign_in_address');
begin
  if not (rate ->> 'allowed')::boolean then
    return rate;
  end if;
  -- per account and address: a stranger elsewhere cannot lock the account's owner out
  return private.debit('login:' || (attempt ->> 'email_hash') || '@' || address, bucket);
end $$;

create function private.login_at(address text) returns uuid
language sql stable security definer
set search_path = ''
as $$
  select u.id from auth.users u
   where u.email = address and not u.is_sso_user and u.deleted_at is null and u.email_confirmed_at is not null
     and coalesce(u.banned_until <= private.now(), true)
$$;
comment on function private.login_at(text) is
  'The login that a code mailed to an address opens, or null. One never confirmed may be a stranger''s, laid in wait with a password of theirs. Definer, because logins belong to Supabase Auth.';

create function private.keep_sign_in_code(request jsonb) returns void
language sql security definer
set search_path = ''
as $$
  insert into core.sign_in_codes (token_hash, code_hash, email, expires_at)
  values (decode(request ->> 'token_hash', 'hex'), decode(request ->> 'code_hash', 'hex'), request ->> 'email', private.code_expiry())
$$;
comment on function private.keep_sign_in_code(jsonb) is 'Definer: codes are nobody''s to read.';

create function private.redeem_sign_in_code(request jsonb, out outcome text, out email text)
language plpgsql security definer
set search_path = ''
as $$
declare
  presented constant bytea := decode(request ->> 'token_hash', 'hex');
  code      core.sign_in_codes;
begin
  -- of ten at once, nine wait here and then see no code
  select * into code from core.sign_in_codes c where c.token_hash = presented for update;
  outcome := coalesce(private.judge_code(code.code_hash, code.expires_at, code.attempts, request ->> 'code_hash'),
                      case when private.login_at(code.email) is null then 'wrong_code' else 'right_code' end);
  if outcome = 'wrong_code' then
    update core.sign_in_codes c set attempts = c.attempts + 1 where c.token_hash = presented;
  elsif outcome = 'right_code' then
    delete from core.sign_in_codes c where c.token_hash = presented;
    email := code.email;
  end if;
end $$;
comment on function private.redeem_sign_in_code(jsonb) is
  'Uses a code, once, or says why not; a wrong one is counted, and where there is no login every one is wrong. Definer: codes are nobody''s to read.';

grant execute on function
  private.count_sign_in(jsonb, text), private.login_at(text), private.keep_sign_in_code(jsonb), private.redeem_sign_in_code(jsonb)
to api_owner;

create function api.count_sign_in(caller jsonb, attempt jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  rate jsonb;
begin
  perform private.act_as(caller, 'anyone');
  rate := private.count_sign_in(attempt, 'sign_in');
  if not (rate ->> 'allowed')::boolean then
    return private.refusal('too_many_requests', json_build_object('rate', rate));
  end if;
  return json_build_object('rate', rate);
end $$;
comment on function api.count_sign_in(jsonb, jsonb) is
  'Counts a sign-in before it is tried, so that guesses sent at once count too: {address_hash, email_hash} to {rate}.';
select private.expose('api.count_sign_in(jsonb, jsonb)');

create function api.send_sign_in_code(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  rate jsonb;
begin
  perform private.act_as(caller, 'anyone');
  rate := private.count_sign_in(request, 'sign_in_code');
  if (rate ->> 'allowed')::boolean then
    rate := private.debit('login:' || (request ->> 'email_hash'), 'sign_in_mail');
  end if;
  if not (rate ->> 'allowed')::boolean then
    return json_build_object('outcome', 'too_many_codes', 'retry_after', rate -> 'retry_after');
  end if;
  perform private.keep_sign_in_code(request);
  if private.login_at(request ->> 'email') is not null then
    perform private.act_for_partner(private.house());
    perform private.enqueue_mail(request -> 'mail', request ->> 'email', 'sign_in_code:' || (request ->> 'token_hash'));
  end if;
  return json_build_object('outcome', 'sent');
end $$;
comment on function api.send_sign_in_code(jsonb, jsonb) is
  'Mails a one-time code, good for ten minutes and five attempts, where the address has a login, and answers alike where it has none: '
  '{address_hash, email_hash, email, token_hash, code_hash, mail} to {outcome: sent|too_many_codes, retry_after}.';
select private.expose('api.send_sign_in_code(jsonb, jsonb)');

create function api.redeem_sign_in_code(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
begin
  perform private.act_as(caller, 'anyone');
  return (select row_to_json(r) from private.redeem_sign_in_code(request) as r);
end $$;
comment on function api.redeem_sign_in_code(jsonb, jsonb) is
  'Uses a one-time code: {token_hash, code_hash} to {outcome: right_code|wrong_code|code_expired|too_many_attempts, email}. Whose e-mail it is may sign in.';
select private.expose('api.redeem_sign_in_code(jsonb, jsonb)');

-- Tokens -------------------------------------------------------------------------------------------------------------

create function private.end_grant(family uuid, reason text) returns boolean
language plpgsql
set search_path = ''
as $$
begin
  update core.oauth_grants g set revoked_at = private.now() where g.id = family and g.revoked_at is null;
  if not found then
    return false;
  end if;
  perform private.audit('oauth.grant_ended', family, jsonb_build_object('reason', reason));
  return true;
end $$;
comment on function private.end_grant(uuid, text) is 'Ends every token of a grant at once; says whether it was still live.';

create function private.is_live(family core.oauth_grants) returns boolean
language sql stable
set search_path = ''
as $$ select family.revoked_at is null and (private.user_profile(family.user_id)).created_at is not null $$;
comment on function private.is_live(core.oauth_grants) is
  'Whether a grant may still give tokens: not revoked, and its login not deleted, which Supabase Auth may do by a mark alone.';

create function private.is_race(used_at timestamptz) returns boolean
language sql stable
set search_path = ''
as $$ select used_at >= private.now() - interval '30 seconds' $$;
comment on function private.is_race(timestamptz) is
  'Whether a second use is soon enough after the first to be a lost answer or an honest client racing itself, rather than a theft.';

create function private.add_refresh_token(family uuid, generation int, request jsonb) returns void
language sql
set search_path = ''
as $$
  insert into core.oauth_refresh_tokens (token_hash, grant_id, generation, expires_at)
  values (decode(request ->> 'new_refresh_hash', 'hex'), family, generation, private.now() + interval '30 days')
$$;

create function private.redeem_code(
  client core.oauth_clients, request jsonb, out family core.oauth_grants, out scopes text[], out refusal text)
language plpgsql security definer
set search_path = ''
as $$
declare
  presented constant bytea := decode(request ->> 'code_hash', 'hex');
  code      core.oauth_codes;
begin
  refusal := 'invalid_grant';
  -- the family is locked first: of ten at once, nine wait here and then see a used code
  select g.* into family from core.oauth_grants g join core.oauth_codes c on c.grant_id = g.id
   where c.code_hash = presented and g.client_id = client.id for update of g;
  select * into code from core.oauth_codes c where c.code_hash = presented and c.grant_id = family.id;
  if code.used_at is not null and not private.is_race(code.used_at) then
    perform private.end_grant(family.id, 'code_reused');
  elsif code.used_at is null and private.is_live(family) and code.expires_at > private.now()
        and code.redirect_uri = request ->> 'redirect_uri' and code.code_challenge = request ->> 'code_challenge' then
    update core.oauth_codes c set used_at = private.now() where c.code_hash = presented;
    perform private.add_refresh_token(family.id, 1, request);
    scopes := family.scopes;
    refusal := null;
  end if;
end $$;
comment on function private.redeem_code(core.oauth_clients, jsonb) is
  'Uses an authorization code, once, for the client, redirect URI and challenge it was made for; a later second use ends what it gave. Definer: codes are nobody''s to read.';

create function private.rotate_refresh_token(
  client core.oauth_clients, request jsonb, out family core.oauth_grants, out scopes text[], out refusal text)
language plpgsql security definer
set search_path = ''
as $$
declare
  presented constant bytea := decode(request ->> 'refresh_hash', 'hex');
  wanted    constant text[] := private.scope_words(request ->> 'scope');
  token     core.oauth_refresh_tokens;
  newest    int;
begin
  refusal := 'invalid_grant';
  -- the family is locked first: of ten at once, nine wait here and then see a rotated token
  select g.* into family from core.oauth_grants g join core.oauth_refresh_tokens t on t.grant_id = g.id
   where t.token_hash = presented and g.client_id = client.id for update of g;
  select * into token from core.oauth_refresh_tokens t where t.token_hash = presented and t.grant_id = family.id;
  if token.rotated_at is not null then
    select max(t.generation) into newest from core.oauth_refresh_tokens t where t.grant_id = family.id;
    if token.generation < newest - 1 or not private.is_race(token.rotated_at) then
      perform private.end_grant(family.id, 'refresh_token_reused');
    end if;
  elsif private.is_live(family) and token.expires_at > private.now() then
    if not wanted <@ family.scopes then
      refusal := 'invalid_scope';
      return;
    end if;
    update core.oauth_refresh_tokens t set rotated_at = private.now() where t.token_hash = presented;
    perform private.add_refresh_token(family.id, token.generation + 1, request);
    scopes := array(select s from unnest(family.scopes) s where wanted = '{}' or s = any (wanted));
    refusal := null;
  end if;
end $$;
comment on function private.rotate_refresh_token(core.oauth_clients, jsonb) is
  'Exchanges a refresh token for its one successor. Its predecessor shown again within 30 seconds is a race and harms nothing; later, or an older one, ends the family. '
  'Definer: refresh tokens are nobody''s to read.';

grant execute on function
  private.redeem_code(core.oauth_clients, jsonb), private.rotate_refresh_token(core.oauth_clients, jsonb)
to api_owner;

create function api.grant_user_token(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
as $$
declare
  door  record;
  given record;
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
  if given.refusal is not null then
    return private.refusal(given.refusal, json_build_object('rate', door.rate));
  end if;
  return json_build_object(
    'user_id', (given.family).user_id,
    'client_id', (door.client).client_id,
    'grant_id', (given.family).id,
    'scope', array_to_string(given.scopes, ' '),
    'rate', door.rate);
end $$;
comment on function api.grant_user_token(jsonb, jsonb) is
  'Authenticates a client and redeems its code or refresh token: {grant_type, client_id, secret_hash, address_hash, new_refresh_hash} with {code_hash, redirect_uri, code_challenge} or '
  '{refresh_hash, scope} to {user_id, client_id, grant_id, scope, rate}. Refusals are answers, because attempts are counted and reuse ends a grant.';
select private.expose('api.grant_user_token(jsonb, jsonb)');

create function private.revoke_presented(client core.oauth_clients, request jsonb) returns void
language plpgsql security definer
set search_path = ''
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
  'Ends the grant of a refresh token, or one access token, of this client; what is another''s, or nobody''s, is left alone. Definer: tokens are nobody''s to read.';
grant execute on function private.revoke_presented(core.oauth_clients, jsonb) to api_owner;

create function api.revoke_token(caller jsonb, request jsonb) returns json
language plpgsql security definer
set search_path = ''
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
  'RFC 7009: {client_id, secret_hash, address_hash, token_hash, access_token: {id, client_id, expires_at}?} to {rate}; says nothing of the token.';
select private.expose('api.revoke_token(jsonb, jsonb)');

-- Forgetting ---------------------------------------------------------------------------------------------------------

create function private.purge_oauth() returns bigint
language plpgsql security definer
set search_path = ''
as $$
declare
  purged bigint := 0;
  counted bigint;
begin
  delete from core.revoked_access_tokens r where r.expires_at < private.now();
  get diagnostics counted = row_count;
  purged := purged + counted;
  delete from core.oauth_codes c where c.expires_at < private.now() - interval '1 day';
  get diagnostics counted = row_count;
  purged := purged + counted;
  delete from core.oauth_refresh_tokens t where t.expires_at < private.now();
  get diagnostics counted = row_count;
  purged := purged + counted;
  delete from core.sign_in_codes c where c.expires_at < private.now();
  get diagnostics counted = row_count;
  purged := purged + counted;
  -- without a code or a refresh token a grant has given its last access token more than an hour ago
  delete from core.oauth_grants g
   where g.created_at < private.now() - interval '1 day'
     and not exists (select from core.oauth_codes c where c.grant_id = g.id)
     and not exists (select from core.oauth_refresh_tokens t where t.grant_id = g.id);
  get diagnostics counted = row_count;
  return purged + counted;
end $$;
comment on function private.purge_oauth() is
  'Deletes codes, refresh tokens, revocations, grants and sign-in codes that can decide nothing any more. Definer: everybody''s at once.';
grant execute on function private.purge_oauth() to api_owner;
