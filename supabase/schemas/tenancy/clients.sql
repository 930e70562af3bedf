-- OAuth clients: of charge-point operators, which act for themselves, and applications, which act for people.

create table core.oauth_clients (
  id                uuid        not null default gen_random_uuid(),
  client_id         text        not null,
  partner_id        uuid,
  name              text        not null,
  grant_types       text[]      not null default '{client_credentials}',
  secret_hash       bytea       not null,
  secret_rotated_at timestamptz not null default private.now(),
  scopes            text[]      not null default '{}',
  return_url        text,
  tokens_valid_from timestamptz not null default '-infinity',
  disabled_at       timestamptz,
  created_at        timestamptz not null default private.now(),
  redirect_uris     text[]      not null default '{}',
  operated_by       text,
  constraint oauth_clients_pkey primary key (id),
  constraint oauth_clients_client_id_key unique (client_id),
  constraint oauth_clients_partner_key unique (partner_id, id),
  constraint oauth_clients_not_of_the_house check (partner_id <> '00000000-0000-4000-8000-000000000000'),
  constraint oauth_clients_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint oauth_clients_grant_types_known check (grant_types <@ '{client_credentials,authorization_code,refresh_token}'),
  constraint oauth_clients_scopes_known check (scopes <@ (private.scopes_of('client') || private.scopes_of('user'))),
  constraint oauth_clients_secret_is_sha256 check (length(secret_hash) = 32),
  constraint oauth_clients_return_url_length check (length(return_url) <= 500),
  constraint oauth_clients_operated_by_length check (length(operated_by) between 1 and 120)
);
comment on table core.oauth_clients is
  'A registered OAuth client. secret_hash is the SHA-256 of 32 random bytes; the secret is shown once and never stored. Never deleted: disabled.';
comment on column core.oauth_clients.partner_id is 'Null until the operator links the client; a client without partner is refused with client_not_linked.';
comment on column core.oauth_clients.tokens_valid_from is 'Access tokens issued earlier are refused: how an operator ends the tokens that were issued for a leaked secret.';
comment on column core.oauth_clients.redirect_uris is 'Compared letter for letter (RFC 9700 section 2.1).';
comment on column core.oauth_clients.operated_by is 'Who runs the application, as the consent page names them; null: the partner it belongs to.';
alter table core.oauth_clients enable row level security;
create policy "a client sees itself" on core.oauth_clients
  for select to api_owner using (id = (select private.client_id()));
grant select on core.oauth_clients to api_owner;

create function private.may_act_for_people(client core.oauth_clients) returns boolean
language plpgsql stable
set search_path = ''
as $$ begin return client.partner_id is null or private.active_partner(client.partner_id) is not null; end $$;
comment on function private.may_act_for_people(core.oauth_clients) is
  'Whether an application may get and use tokens of people: not one of a partner that was deactivated.';
grant execute on function private.may_act_for_people(core.oauth_clients) to api_owner;

create function private.client_by_client_id(client_id text) returns core.oauth_clients
language plpgsql stable security definer
set search_path = ''
as $$
declare
  client core.oauth_clients;
begin
  select * into client from core.oauth_clients c where c.client_id = client_by_client_id.client_id;
  return client;
end $$;
comment on function private.client_by_client_id(text) is
  'Looks a client up before its tenant is known; definer for that reason alone.';
grant execute on function private.client_by_client_id(text) to api_owner;
