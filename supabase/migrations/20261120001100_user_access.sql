-- How a person, or an application acting for them, is admitted: OAuth grants, personal tokens, sessions of Supabase Auth.

alter table core.oauth_clients drop constraint oauth_clients_scopes_known;
alter table core.oauth_clients add constraint oauth_clients_scopes_known check (scopes <@ array[
  'cpo:accounts:read', 'cpo:accounts:write', 'cpo:mandates:write', 'cpo:chargers:write', 'cpo:sessions:write',
  'chargers:read', 'chargers:write', 'sessions:read', 'energy:read', 'profile:read', 'partners:read', 'partners:write']);
alter table core.oauth_clients add column redirect_uris text[] not null default '{}';
comment on column core.oauth_clients.redirect_uris is 'Compared letter for letter (RFC 9700 section 2.1).';

insert into core.rate_limits (bucket, quota, window_seconds) values ('user', 60, 60);

create table core.oauth_grants (
  id         uuid        not null default gen_random_uuid(),
  user_id    uuid        not null,
  client_id  uuid        not null,
  scopes     text[]      not null,
  created_at timestamptz not null default private.now(),
  revoked_at timestamptz,
  constraint oauth_grants_pkey primary key (id),
  constraint oauth_grants_user_id_fkey foreign key (user_id) references auth.users (id) on delete cascade,
  constraint oauth_grants_client_id_fkey foreign key (client_id) references core.oauth_clients (id)
);
comment on table core.oauth_grants is
  'What one authorization code began: the family of access and refresh tokens that came of it. Revoking it ends them all at once.';
-- serves: the applications of a person
create index oauth_grants_user on core.oauth_grants (user_id, created_at);
-- serves: the purge
create index oauth_grants_created_at on core.oauth_grants (created_at);

create table core.oauth_codes (
  code_hash      bytea       not null,
  grant_id       uuid        not null,
  redirect_uri   text        not null,
  code_challenge text        not null,
  expires_at     timestamptz not null,
  used_at        timestamptz,
  constraint oauth_codes_pkey primary key (code_hash),
  constraint oauth_codes_grant_id_fkey foreign key (grant_id) references core.oauth_grants (id) on delete cascade
);
comment on table core.oauth_codes is
  'An authorization code as its SHA-256: ten minutes, single use, bound to client, redirect URI and PKCE challenge. Kept after use, to notice a second one; purged after a day.';
-- serves: the purge of grants
create index oauth_codes_grant_id on core.oauth_codes (grant_id);
-- serves: the purge of codes
create index oauth_codes_expires_at on core.oauth_codes (expires_at);

create table core.oauth_refresh_tokens (
  token_hash  bytea       not null,
  grant_id    uuid        not null,
  generation  int         not null,
  expires_at  timestamptz not null,
  rotated_at  timestamptz,
  created_at  timestamptz not null default private.now(),
  constraint oauth_refresh_tokens_pkey primary key (token_hash),
  constraint oauth_refresh_tokens_generation_key unique (grant_id, generation),
  constraint oauth_refresh_tokens_grant_id_fkey foreign key (grant_id) references core.oauth_grants (id) on delete cascade
);
comment on table core.oauth_refresh_tokens is
  'A refresh token as its SHA-256: thirty days, one successor. Kept after rotation, to notice reuse; purged when expired.';
-- serves: the purge
create index oauth_refresh_tokens_expires_at on core.oauth_refresh_tokens (expires_at);

create table core.revoked_access_tokens (
  id         text        not null,
  expires_at timestamptz not null,
  constraint revoked_access_tokens_pkey primary key (id)
);
comment on table core.revoked_access_tokens is 'Access tokens (jti) revoked on their own before their hour was over; purged when it is.';
-- serves: the purge
create index revoked_access_tokens_expires_at on core.revoked_access_tokens (expires_at);

create table core.personal_tokens (
  id           uuid        not null default gen_random_uuid(),
  user_id      uuid        not null,
  name         text        not null,
  token_hash   bytea       not null,
  last4        text        not null,
  scopes       text[]      not null,
  expires_at   timestamptz,
  last_used_at timestamptz,
  revoked_at   timestamptz,
  created_at   timestamptz not null default private.now(),
  constraint personal_tokens_pkey primary key (id),
  constraint personal_tokens_token_hash_key unique (token_hash),
  constraint personal_tokens_user_id_fkey foreign key (user_id) references auth.users (id) on delete cascade,
  constraint personal_tokens_name_length check (length(name) between 1 and 100),
  constraint personal_tokens_scopes_known check (scopes <@ array['chargers:read', 'chargers:write', 'sessions:read', 'energy:read', 'profile:read'])
);
comment on table core.personal_tokens is
  'A token a person made in the dashboard, as its SHA-256; shown once. Never carries partners:*.';
-- serves: the tokens of a person
create index personal_tokens_user on core.personal_tokens (user_id, created_at desc);

alter table core.oauth_grants enable row level security;
alter table core.oauth_codes enable row level security;
alter table core.oauth_refresh_tokens enable row level security;
alter table core.revoked_access_tokens enable row level security;
alter table core.personal_tokens enable row level security;
create policy "a person reaches their own tokens" on core.personal_tokens to api_owner
  using (user_id = (select private.user_id())) with check (user_id = (select private.user_id()));
grant select, insert, update on core.personal_tokens to api_owner;
create policy "a person sees their own grants" on core.oauth_grants for select to api_owner using (user_id = (select private.user_id()));
grant select on core.oauth_grants to api_owner;

-- Admission ----------------------------------------------------------------------------------------------------------

create function private.user_scopes(credential jsonb, out user_id uuid, out client_id uuid, out scopes text[])
language plpgsql security definer
set search_path = ''
as $$
begin
  if credential ->> 'kind' = 'personal_token' then
    -- last use to the minute: worth showing, not worth a write a request
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
       and c.disabled_at is null and to_timestamp((credential ->> 'issued_at')::bigint) >= c.tokens_valid_from;
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
  if person.user_id is null or (private.user_profile(person.user_id)).created_at is null then
    return private.refusal('missing_or_invalid_token');  -- a login that Auth marks as deleted keeps its rows, and is nobody's
  elsif demand ->> 'kind' not in ('user', 'partner') then
    return json_build_object('wrong_kind', true);
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

create function private.admit_session(credential jsonb, demand jsonb) returns json
language plpgsql
set search_path = ''
as $$
declare
  rate jsonb;
begin
  if (private.user_profile((credential ->> 'user_id')::uuid)).created_at is null then
    return private.refusal('missing_or_invalid_token');  -- the login is gone; its session JWT lives on for a while
  elsif demand ->> 'kind' <> 'session' then
    return json_build_object('wrong_kind', true);
  end if;
  rate := private.debit('user:' || (credential ->> 'user_id'), demand ->> 'bucket');
  if not (rate ->> 'allowed')::boolean then
    return private.refusal('too_many_requests', json_build_object('rate', rate));
  end if;
  return json_build_object(
    'caller', json_build_object('kind', 'session', 'user_id', credential ->> 'user_id', 'partner_id', private.house()),
    'rate', rate);
end $$;
comment on function private.admit_session(jsonb, jsonb) is 'A person signed in with Supabase Auth, its session JWT already verified.';
grant execute on function private.admit_user(jsonb, jsonb), private.admit_session(jsonb, jsonb) to api_owner;

create function private.is_revoked(token_id text) returns boolean
language sql stable security definer
set search_path = ''
as $$ select exists (select from core.revoked_access_tokens r where r.id = token_id) $$;
comment on function private.is_revoked(text) is
  'Whether an access token (jti) was revoked on its own. Definer: admission runs before there is a client or a person.';
grant execute on function private.is_revoked(text) to api_owner;

