create extension if not exists btree_gin with schema extensions;

create table core.locations (
  partner_id            uuid not null,
  id                    uuid not null default gen_random_uuid(),
  postal_code           text not null,
  house_number          int  not null,
  house_number_addition text,
  street                text,
  city                  text,
  created_at            timestamptz not null default private.now(),
  constraint locations_pkey primary key (partner_id, id),
  constraint locations_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint locations_address_key unique nulls not distinct (partner_id, postal_code, house_number,
                                                              house_number_addition, street, city),
  constraint locations_postal_code_shape check (postal_code ~ '^[1-9][0-9]{3}[A-Z]{2}$'),
  constraint locations_house_number_positive check (house_number between 1 and 99999)
);
comment on table core.locations is
  'An address, shared by the tenant''s connections that agree in every part, street and city included. It is never '
  'rewritten: a corrected address is another row. Personal data; deleted with the last connection that refers to it.';
select private.enable_tenant_policy('core.locations', 'select, insert, update, delete');

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
  iban_checksum_ok  boolean,
  iban_changed_at   timestamptz not null default private.now(),
  bank_name         text,
  iban_holder       text,
  iban_asked        jsonb,
  created_at        timestamptz not null default private.now(),
  eligibility_announced  boolean     not null default false,
  constraint accounts_pkey primary key (partner_id, id),
  constraint accounts_owner_key unique (partner_id, id, owner_id),
  constraint accounts_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint accounts_client_fkey foreign key (partner_id, client_id) references core.oauth_clients (partner_id, id),
  constraint accounts_user_id_fkey foreign key (user_id) references auth.users (id) on delete restrict,
  constraint accounts_cpo_external_ref_key unique (partner_id, client_id, cpo_external_ref),
  constraint accounts_access_channel_known check (access_channel in ('cpo_api', 'user')),
  constraint accounts_owner check (case access_channel when 'cpo_api' then client_id is not null and user_id is null
                                        else client_id is null end),
  constraint accounts_type_known check (type in ('particulier', 'zakelijk', 'vve')),
  constraint accounts_payout_handler_known check (payout_handler in ('service_pays_customer', 'via_cpo_invoicing')),
  constraint accounts_lengths check (length(display_name) <= 120 and length(cpo_external_ref) <= 120),
  constraint accounts_iban_whole check (num_nulls(iban_ciphertext, iban_key_id, iban_last4) in (0, 3))
);
comment on column core.accounts.owner_id is
  'The client or person that owns the account. Tables below it have owner_id too, so that a policy needs no look-up.';
comment on table core.accounts is
  'A customer: of a CPO client (client_id), or a person with a login (user_id) in the people''s tenant. The IBAN is '
  'encrypted (AES-256-GCM, key iban_key_id) before it reaches the database. SQL knows presence and last four. Personal '
  'data.';
comment on column core.accounts.iban_checksum_ok is
  'Whether the check digits of the IBAN are right, as its function found before it encrypted it; null without one.';
comment on column core.accounts.bank_name is
  'The name that the bank is told if the customer''s own has no letter that banks take. The operator gives it.';
comment on column core.accounts.iban_holder is
  'In whose name the IBAN is, where the operator stored it: of who left, or of heirs. Null where the customer gave it.';
comment on column core.accounts.iban_asked is
  'An IBAN that one operator wants to store, {by, hash, holder}, until another one types the same. hash is keyed.';
comment on column core.accounts.iban_changed_at is
  'When the IBAN was stored or changed: money waits 48 hours before it goes there.';
comment on column core.accounts.eligibility_announced is
  'Whether its last event called the account ERE-eligible. core.account_gates says whether it is now.';
-- serves: GET /v1/accounts and GET /v1/ere-positions, newest first. It has all that the policies need, so an offset
-- reads no rows
create index accounts_newest on core.accounts (partner_id, owner_id, created_at desc, id desc);
-- serves: the accounts of a person
create index accounts_user on core.accounts (user_id) where user_id is not null;
-- serves: the accounts that cannot be paid
create index accounts_iban_wrong on core.accounts (partner_id) where not iban_checksum_ok;
-- serves: a partner's search, which reads no row of another, and the operator's. The list of new entries is short,
-- because the writer who fills it merges it
create index accounts_words
    on core.accounts using gin (partner_id, private.search_words(display_name, cpo_external_ref, company ->> 'name'))
  with (gin_pending_list_limit = 256);
select private.enable_tenant_policy('core.accounts', 'select, insert, update');

create table core.signatories (
  partner_id uuid not null,
  account_id uuid not null,
  owner_id   uuid not null default private.owner_id(),
  full_name  text not null,
  email      text,
  phone      text,
  mail_failed_at     timestamptz,
  mail_failed_reason text,
  constraint signatories_pkey primary key (partner_id, account_id),
  constraint signatories_account_fkey foreign key (partner_id, account_id, owner_id)
      references core.accounts (partner_id, id, owner_id),
  constraint signatories_full_name_length check (length(full_name) between 2 and 120),
  constraint signatories_mail_failed_known check (private.is_mail_failure(mail_failed_at, mail_failed_reason)),
  constraint signatories_email_shape check (length(email) <= 254 and email = lower(email))
);
comment on table core.signatories is
  'The natural person who signs for an account. Personal data, kept as long as the mandate''s evidence must be.';
-- serves: a partner's search, and the operator's
create index signatories_words
    on core.signatories using gin (partner_id, private.search_words(full_name, email, private.phone_end(phone)))
  with (gin_pending_list_limit = 256);
-- serves: whether an address is a signatory's, for sign-in by a mailed code
create index signatories_email on core.signatories (email, partner_id) where email is not null;
-- serves: the customers of a partner's clients whom mail does not reach
create index signatories_mail_failed on core.signatories (partner_id) where mail_failed_at is not null;
comment on column core.signatories.mail_failed_at is
  'When mail to them failed, as core.drafts.mail_failed_at. Null again with another address too.';
-- another address is not to blame for what the old one did
create function private.forget_failed_mail() returns trigger
language plpgsql
as $$
begin
  new.mail_failed_at := null;
  new.mail_failed_reason := null;
  return new;
end $$;
create trigger forget_failed_mail before update of email on core.signatories for each row
  when (new.email is distinct from old.email) execute function private.forget_failed_mail();
select private.enable_tenant_policy('core.signatories', 'select, insert, update');

create table core.account_counts (
  partner_id uuid        not null,
  owner_id   uuid        not null,
  hour       timestamptz not null,
  accounts   int         not null,
  constraint account_counts_pkey primary key (partner_id, owner_id, hour)
);
comment on table core.account_counts is
  'How many accounts of a CPO client were made in an hour. Triggers keep it equal to the count of core.accounts. Kept '
  'as long as the accounts.';
select private.enable_tenant_policy('core.account_counts', 'select, insert, update');

create table core.connections (
  partner_id            uuid        not null,
  id                    uuid        not null default gen_random_uuid(),
  account_id            uuid        not null,
  owner_id              uuid        not null default private.owner_id(),
  location_id           uuid        not null,
  ean_code              text        not null,
  ean_exclusive         boolean     not null default true,
  ean_validation_status text,
  ean_checked_at        timestamptz,
  status                text        not null default 'active',
  registration_status   text        not null default 'concept',
  submitted_at          timestamptz,
  reviewed_at           timestamptz,
  created_at            timestamptz not null default private.now(),
  constraint connections_pkey primary key (partner_id, id),
  constraint connections_owner_key unique (partner_id, id, owner_id),
  constraint connections_account_fkey foreign key (partner_id, account_id, owner_id)
      references core.accounts (partner_id, id, owner_id),
  constraint connections_location_fkey foreign key (partner_id, location_id) references core.locations (partner_id, id),
  constraint connections_ean_code_shape check (ean_code ~ '^[0-9]{18}$'),
  constraint connections_ean_validation_status_known
    check (ean_validation_status in ('pending', 'matched', 'unverified', 'mismatch', 'not_found', 'manual')),
  constraint connections_status_known check (status in ('active', 'archived')),
  constraint connections_registration_status_known
    check (registration_status in ('concept', 'ingediend', 'goedgekeurd', 'afgekeurd'))
);
comment on table core.connections is
  'An EAN at an address, registered for an account. At most one active connection holds an EAN, across all tenants. '
  'Personal data.';
comment on column core.connections.reviewed_at is 'The last verdict on its registration. Null before that.';
comment on column core.connections.ean_exclusive is
  'False only for the sandbox''s test values, which every integrator may use at once.';
-- serves: ean_in_use; unique across tenants on purpose, taken by private.reserve_ean
create unique index connections_active_ean on core.connections (ean_code) where status = 'active' and ean_exclusive;
-- serves: what an EAN was before, for the operator and for bookings
create index connections_archived_ean on core.connections (ean_code) where status = 'archived';
-- serves: the connections of an account
create index connections_account on core.connections (partner_id, account_id, created_at);
-- serves: deleting a location that no connection uses
create index connections_location on core.connections (partner_id, location_id);
-- serves: the weekly re-check of unverified connections
create index connections_unverified on core.connections (ean_checked_at)
    where status = 'active' and ean_validation_status = 'unverified';
-- serves: the operator's list of EANs that the register has denied
create index connections_denied on core.connections (ean_checked_at, id)
    where status = 'active' and ean_validation_status in ('mismatch', 'not_found');
select private.enable_tenant_policy('core.connections', 'select, insert, update');
-- serves: the registrations that wait for review, oldest first
create index connections_submitted on core.connections (submitted_at, id) where registration_status = 'ingediend'
    and status = 'active';

create table core.ean_checks (
  partner_id    uuid        not null,
  id            bigint generated always as identity,
  connection_id uuid,
  owner_id      uuid                 default private.owner_id(),
  ean_code      text        not null,
  postal_code   text        not null,
  house_number  int         not null,
  house_number_addition text,
  source        text        not null,
  outcome       text        not null,
  reason        text,
  checked_at    timestamptz not null default private.now(),
  constraint ean_checks_pkey primary key (partner_id, id),
  constraint ean_checks_of_somebody check (connection_id is null or owner_id is not null),
  constraint ean_checks_outcome_known check (outcome in ('matched', 'mismatch', 'unknown_address', 'unavailable'))
);
comment on table core.ean_checks is
  'Every question to the EAN register with its answer, also for refused creations. Personal data; kept for audit.';
-- serves: the check history of a connection
create index ean_checks_connection on core.ean_checks (partner_id, connection_id, id);
-- serves: how often the register did not answer lately
create index ean_checks_unavailable on core.ean_checks (checked_at) where outcome = 'unavailable';
select private.enable_tenant_policy('core.ean_checks', 'select, insert');
