-- Accounts: customers. Each has a signatory and one or more connections.

create table core.accounts (
  partner_id        uuid        not null,
  id                uuid        not null default gen_random_uuid(),
  client_id         uuid,
  user_id           uuid,
  owner_id          uuid        not null generated always as (coalesce(client_id, user_id)) stored,
  access_channel    text        not null default 'cpo_api',
  type              text        not null,
  display_name      text,
  payout_handler    text        not null,
  cpo_external_ref  text,
  company           jsonb,
  iban_ciphertext   text,
  iban_key_id       text,
  iban_last4        text,
  iban_changed_at   timestamptz not null default private.now(),
  created_at        timestamptz not null default private.now(),
  eligibility_told  boolean     not null default false,
  constraint accounts_pkey primary key (partner_id, id),
  constraint accounts_owner_key unique (partner_id, id, owner_id),
  constraint accounts_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint accounts_client_fkey foreign key (partner_id, client_id) references core.oauth_clients (partner_id, id),
  constraint accounts_user_id_fkey foreign key (user_id) references auth.users (id) on delete restrict,
  constraint accounts_cpo_external_ref_key unique (partner_id, client_id, cpo_external_ref),
  constraint accounts_access_channel_known check (access_channel in ('cpo_api', 'user')),
  constraint accounts_owner check (case access_channel when 'cpo_api' then client_id is not null and user_id is null else client_id is null end),
  constraint accounts_type_known check (type in ('particulier', 'zakelijk', 'vve')),
  constraint accounts_payout_handler_known check (payout_handler in ('service_pays_customer', 'via_cpo_invoicing')),
  constraint accounts_lengths check (length(display_name) <= 120 and length(cpo_external_ref) <= 120),
  constraint accounts_iban_whole check (num_nulls(iban_ciphertext, iban_key_id, iban_last4) in (0, 3))
);
comment on column core.accounts.owner_id is 'Whose it is: what hangs on an account, and on that, carries it too, so that a policy need not look.';
comment on table core.accounts is
  'A customer: of a CPO client (client_id), or a person with a login (user_id) in the service''s own tenant. iban_ciphertext is AES-256-GCM made before it reaches the database, under the key iban_key_id; SQL knows presence and last four. Personal data.';
comment on column core.accounts.iban_changed_at is 'When the IBAN came, or became another one: money waits 48 hours before it goes there.';
comment on column core.accounts.eligibility_told is 'Whether it is ERE-eligible, as its last event said; whether it is now, core.account_gates says.';
create trigger note_iban_change before update of iban_ciphertext on core.accounts for each row
  when (new.iban_ciphertext is distinct from old.iban_ciphertext) execute function private.note_iban_change();
-- serves: GET /v1/accounts and GET /v1/ere-positions, newest first. It has all that the policies ask for, so that an offset skips
-- entries of the index and never reads what it skips.
create index accounts_newest on core.accounts (partner_id, owner_id, created_at desc, id desc);
-- serves: the accounts of a person
create index accounts_user on core.accounts (user_id) where user_id is not null;
-- serves: the operator's search. What is written waits in a list, which a writer merges once it is full: a short one, so that none waits long.
create index accounts_words on core.accounts using gin (private.search_words(display_name, cpo_external_ref, company ->> 'name'))
  with (gin_pending_list_limit = 256);
select private.isolate('core.accounts', 'select, insert, update');
select private.keep_to_owner('core.accounts');

create table core.signatories (
  partner_id uuid not null,
  account_id uuid not null,
  owner_id   uuid not null default private.owner_id(),
  full_name  text not null,
  email      text,
  phone      text,
  constraint signatories_pkey primary key (partner_id, account_id),
  constraint signatories_account_fkey foreign key (partner_id, account_id, owner_id) references core.accounts (partner_id, id, owner_id),
  constraint signatories_full_name_length check (length(full_name) between 2 and 120),
  constraint signatories_email_shape check (length(email) <= 254 and email = lower(email))
);
comment on table core.signatories is 'The natural person who signs for an account. Personal data, kept as long as the mandate''s evidence must be.';
-- serves: the operator's search
create index signatories_words on core.signatories using gin (private.search_words(full_name, email, private.phone_end(phone)))
  with (gin_pending_list_limit = 256);
-- serves: whether an address is a signatory's, who signs in by a mailed code
create index signatories_email on core.signatories (email, partner_id) where email is not null;
select private.isolate('core.signatories', 'select, insert, update');
select private.keep_to_owner('core.signatories');

create function private.store_iban(account uuid, iban jsonb) returns void
language plpgsql
set search_path = ''
as $$
begin
  update core.accounts
     set iban_ciphertext = iban ->> 'ciphertext', iban_key_id = iban ->> 'key_id', iban_last4 = iban ->> 'last4'
   where id = account;
  perform private.audit('account.iban_stored', account);
  perform private.advance_registration(account);
end $$;
comment on function private.store_iban(uuid, jsonb) is 'Stores an encrypted IBAN: {ciphertext, key_id, last4}.';
grant execute on function private.store_iban(uuid, jsonb) to api_owner;

create function private.known_account(cpo_external_ref text) returns uuid
language sql stable
set search_path = ''
as $$
  select a.id from core.accounts a
   where a.client_id = private.client_id() and a.cpo_external_ref = known_account.cpo_external_ref
$$;
grant execute on function private.known_account(text) to api_owner;

create function private.find_account(criteria jsonb) returns uuid
language plpgsql
set search_path = ''
as $$
declare
  account uuid;
begin
  select a.id into account from core.accounts a
   where (criteria ->> 'account_id' is null or a.id = (criteria ->> 'account_id')::uuid)
     and (criteria ->> 'cpo_external_ref' is null or a.client_id = private.client_id() and a.cpo_external_ref = criteria ->> 'cpo_external_ref');
  if not found then
    perform private.refuse('account_not_found');
  end if;
  return account;
end $$;
comment on function private.find_account(jsonb) is 'The account that agrees with every id given: {account_id, cpo_external_ref}, at least one of them.';
grant execute on function private.find_account(jsonb) to api_owner;
