-- What an application holds of a person: grants, the codes and refresh tokens of each, and access tokens revoked before their end.

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
  'What one authorization code began: every access and refresh token that came of it belongs to it. Revoking it ends them all at once.';
-- serves: the applications of a person
create index oauth_grants_user on core.oauth_grants (user_id, created_at);
-- serves: the purge
create index oauth_grants_created_at on core.oauth_grants (created_at);
alter table core.oauth_grants enable row level security;
create policy "a person sees their own grants" on core.oauth_grants for select to api_owner using (user_id = (select private.user_id()));
grant select on core.oauth_grants to api_owner;

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
alter table core.oauth_codes enable row level security;

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
alter table core.oauth_refresh_tokens enable row level security;

create table core.revoked_access_tokens (
  id         text        not null,
  expires_at timestamptz not null,
  constraint revoked_access_tokens_pkey primary key (id)
);
comment on table core.revoked_access_tokens is 'Access tokens (jti) revoked on their own before their hour was over; purged when it is.';
-- serves: the purge
create index revoked_access_tokens_expires_at on core.revoked_access_tokens (expires_at);
alter table core.revoked_access_tokens enable row level security;

create function private.end_grant(grant_id uuid, reason text) returns boolean
language plpgsql
set search_path = ''
as $$
begin
  update core.oauth_grants g set revoked_at = private.now() where g.id = grant_id and g.revoked_at is null;
  if not found then
    return false;
  end if;
  perform private.audit('oauth.grant_ended', grant_id, jsonb_build_object('reason', reason));
  return true;
end $$;
comment on function private.end_grant(uuid, text) is 'Ends every token of a grant at once; says whether it was still live.';

create function private.is_live(oauth_grant core.oauth_grants) returns boolean
language sql stable
set search_path = ''
as $$ select oauth_grant.revoked_at is null and private.login_stands(oauth_grant.user_id) $$;
comment on function private.is_live(core.oauth_grants) is
  'Whether a grant may still give tokens: not revoked, and its login neither deleted nor banned.';

create function private.is_race(used_at timestamptz) returns boolean
language sql stable
set search_path = ''
as $$ select used_at >= private.now() - interval '30 seconds' $$;
comment on function private.is_race(timestamptz) is
  'Whether a second use came so soon after the first (30 seconds) that it is taken for a lost answer or for parallel requests, and not for a theft.';

create function private.add_refresh_token(grant_id uuid, generation int, request jsonb) returns void
language sql
set search_path = ''
as $$
  insert into core.oauth_refresh_tokens (token_hash, grant_id, generation, expires_at)
  values (private.claim_token_hash(request ->> 'new_refresh_hash'), grant_id, generation, private.now() + interval '30 days')
$$;
