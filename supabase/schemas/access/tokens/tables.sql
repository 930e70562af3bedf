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
  constraint personal_tokens_scopes_known check (scopes <@ private.scopes_of('personal_token'))
);
comment on table core.personal_tokens is
  'A token a person made in the dashboard, as its SHA-256; shown once. Never carries partners:*.';
-- serves: the tokens of a person
create index personal_tokens_user on core.personal_tokens (user_id, created_at desc);
create policy "a person reaches their own tokens" on core.personal_tokens to api_owner
  using (user_id = (select private.user_id())) with check (user_id = (select private.user_id()));
grant select, insert, update on core.personal_tokens to api_owner;
-- serves: everybody's tokens, newest first
create index personal_tokens_newest on core.personal_tokens (created_at desc);
