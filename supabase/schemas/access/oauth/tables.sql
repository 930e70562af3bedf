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
  'What one authorization code began, with its access and refresh tokens. Revoking it ends them all at once.';
-- serves: the applications of a person
create index oauth_grants_user on core.oauth_grants (user_id, created_at);
-- serves: the purge
create index oauth_grants_created_at on core.oauth_grants (created_at);
create policy "a person sees their own grants"
    on core.oauth_grants for select to api_owner using (user_id = (select private.user_id()));
grant select on core.oauth_grants to api_owner;

-- keys that applications minted, which tenancy/tables.sql has
alter table core.partner_keys add constraint partner_keys_grant_id_fkey foreign key (grant_id)
    references core.oauth_grants (id) on delete cascade;
-- serves: the purge of grants
create index partner_keys_grant_id on core.partner_keys (grant_id) where grant_id is not null;

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
  'An authorization code as its SHA-256: ten minutes, single use, bound to client, redirect URI and PKCE challenge. '
  'Kept after use, to notice a second one; purged after a day.';
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
  constraint oauth_refresh_tokens_grant_id_fkey foreign key (grant_id) references core.oauth_grants (id)
      on delete cascade
);
comment on table core.oauth_refresh_tokens is
  'A refresh token as its SHA-256: thirty days, one successor. Kept after rotation, to notice reuse; purged when '
  'expired.';
-- serves: the purge
create index oauth_refresh_tokens_expires_at on core.oauth_refresh_tokens (expires_at);

create table core.revoked_access_tokens (
  id         text        not null,
  expires_at timestamptz not null,
  constraint revoked_access_tokens_pkey primary key (id)
);
comment on table core.revoked_access_tokens is
  'Access tokens (jti) that were revoked before their hour was over; purged after it.';
-- serves: the purge
create index revoked_access_tokens_expires_at on core.revoked_access_tokens (expires_at);

create table core.oauth_consents (
  user_id      uuid        not null,
  client_id    uuid        not null,
  scopes       text[]      not null,
  last_at      timestamptz not null default private.now(),
  withdrawn_at timestamptz,
  constraint oauth_consents_pkey primary key (user_id, client_id),
  constraint oauth_consents_user_id_fkey foreign key (user_id) references auth.users (id) on delete cascade,
  constraint oauth_consents_client_id_fkey foreign key (client_id) references core.oauth_clients (id)
);
comment on table core.oauth_consents is
  'What a person allowed an application: scopes as of the last time. Stays when withdrawn, so that a first consent '
  'happens once. Ends with the login.';
-- serves: how many people use an application
create index oauth_consents_client_id on core.oauth_consents (client_id);

create table core.page_sessions (
  token_hash         bytea       not null,
  user_id            uuid,
  sign_in_session_id uuid,
  signatory          text,
  created_at         timestamptz not null default private.now(),
  expires_at         timestamptz not null default private.now() + interval '12 hours',
  constraint page_sessions_pkey primary key (token_hash),
  constraint page_sessions_user_id_fkey foreign key (user_id) references auth.users (id) on delete cascade,
  constraint page_sessions_of_somebody check (num_nonnulls(user_id, signatory) > 0),
  constraint page_sessions_login_whole check (num_nulls(user_id, sign_in_session_id) in (0, 2))
);
comment on table core.page_sessions is
  'A browser in which somebody is signed in to their pages, by the SHA-256 of its cookie: twelve hours. With a login '
  'it lasts only as long as its session of Supabase Auth. So signing out everywhere, a new password or a ban ends it. '
  'For a signatory it lasts while there is an account that they signed for. Personal data. Ends by signing out, or '
  'with the next clean-up.';
comment on column core.page_sessions.signatory is
  'The address that this browser proved by a mailed code, as a signatory of a CPO''s customer. It reads what '
  'private.signed_accounts finds. Null for a sign-in by password, or without such an account.';
comment on column core.page_sessions.sign_in_session_id is
  'The row of auth.sessions; no foreign key, because Supabase Auth deletes its rows as it likes.';
-- serves: the clean-up
create index page_sessions_expiry on core.page_sessions (expires_at);
-- serves: the deletion of a login
create index page_sessions_user on core.page_sessions (user_id);
create policy "a person reaches their own browsers" on core.page_sessions to api_owner
  using (user_id = (select private.user_id())) with check (user_id = (select private.user_id()));
grant select, insert, delete on core.page_sessions to api_owner;
