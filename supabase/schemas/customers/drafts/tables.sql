create function private.reserve_draft_id() returns uuid
language plpgsql
as $$ begin return gen_random_uuid(); end $$;
comment on function private.reserve_draft_id() is
  'The id of a new draft. A claim link knows only this id, before the tenant is known. It is random, so no other draft '
  'has it.';

create table core.drafts (
  partner_id      uuid        not null,
  id              uuid        not null default private.reserve_draft_id(),
  batch_id        uuid        not null,
  source          text        not null,
  status          text        not null default 'invited',
  type            text        not null,
  name            text,
  email           text        not null,
  phone           text,
  external_ref    text,
  kvk             text,
  vat             text,
  company_name    text,
  contact_name    text,
  referral_code   text,
  ean             text,
  postal_code     text,
  house_number    int,
  house_number_addition text,
  street          text,
  city            text,
  charger         jsonb,
  ean_status      text        not null,
  ean_candidates  jsonb       not null default '[]',
  ean_looked_up_at timestamptz,
  send_invite     boolean     not null,
  locale          text,
  progress        jsonb       not null default '{}',
  conflict_reason text,
  reminders_sent  int         not null default 0,
  mail_failed_at  timestamptz,
  mail_failed_reason text,
  rehearsal_id    uuid,
  rehearsal_until timestamptz,
  user_id         uuid,
  account_id      uuid,
  created_at      timestamptz not null default private.now(),
  invited_at      timestamptz,
  claimed_at      timestamptz,
  activated_at    timestamptz,
  expires_at      timestamptz not null,
  constraint drafts_pkey primary key (partner_id, id),
  constraint drafts_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint drafts_user_id_fkey foreign key (user_id) references auth.users (id) on delete set null,
  constraint drafts_status_known check (status in ('invited', 'claimed', 'expired', 'conflict', 'active')),
  constraint drafts_source_known check (source in ('csv', 'api', 'invite')),
  constraint drafts_type_known check (type in ('particulier', 'zakelijk', 'vve')),
  constraint drafts_ean_status_known check (ean_status in ('pending', 'resolved', 'ambiguous', 'not_found', 'provided',
                                                           'no_address', 'failed')),
  constraint drafts_mail_failed_known check (private.is_mail_failure(mail_failed_at, mail_failed_reason)),
  constraint drafts_email_shape check (email = lower(email) and length(email) <= 254)
);
comment on table core.drafts is
  'A customer whom a partner uploaded, and who may claim the draft. Personal data; deleted on withdrawal and 30 days '
  'after expiry. Once active it stays beside the account.';
comment on column core.drafts.locale is
  'The language chosen for the customer; null means the partner''s (core.partners.locale).';
comment on column core.drafts.mail_failed_at is
  'When a mail to its customer was refused, came back or was given up. Null again once a later mail was taken.';
comment on column core.drafts.progress is
  'What the customer typed and confirmed on the claim pages: {answers, confirmed, candidates, ean_check, iban, '
  'return_url}. The IBAN is encrypted. Emptied once active.';
comment on column core.drafts.rehearsal_id is
  'The sandbox rehearsal that plays its customer, until rehearsal_until at most; others wait for it.';
comment on column core.drafts.account_id is 'The account it became, in the service''s own tenant.';
-- serves: already_drafted; one open draft an e-mail address and partner
create unique index drafts_open_email on core.drafts (partner_id, email) where status in ('invited', 'claimed');
-- serves: conflict, across tenants on purpose
create index drafts_email on core.drafts (email) where status in ('invited', 'claimed');
-- serves: GET /partner/drafts, newest first
create index drafts_newest on core.drafts (partner_id, created_at desc, id desc);
-- serves: GET /partner/drafts?external_ref=…
create index drafts_external_ref on core.drafts (partner_id, external_ref) where external_ref is not null;
-- serves: a claim link, which knows the draft alone; unique across tenants on purpose, given by
-- private.reserve_draft_id
create unique index drafts_id on core.drafts (id);
-- serves: the draft a person claimed
create index drafts_user on core.drafts (user_id) where user_id is not null;
-- serves: expiry and reminders
create index drafts_expiring on core.drafts (expires_at) where status = 'invited';
-- serves: expired drafts of a partner that are not noted yet
create index drafts_overdue on core.drafts (partner_id, expires_at) where status = 'invited';
-- serves: the purge
create index drafts_ended on core.drafts (expires_at) where status in ('expired', 'conflict');
-- serves: the operator's search
create index drafts_words on core.drafts using gin (private.search_words(
  name, contact_name, company_name, email, external_ref, ean, postal_code, postal_code || house_number,
      private.phone_end(phone)))
  with (gin_pending_list_limit = 256) where status <> 'active';
-- serves: the operator's list, newest first
create index drafts_by_status on core.drafts (status, created_at desc, id desc);
-- serves: the operator's list of EANs that the register has not confirmed
create index drafts_unresolved on core.drafts (created_at, id) where ean_status in ('not_found', 'ambiguous')
    and status in ('invited', 'claimed');
-- serves: the look-ups that wait
create index drafts_to_look_up on core.drafts (created_at) where ean_status in ('pending', 'failed')
    and status in ('invited', 'claimed');
select private.enable_tenant_policy('core.drafts', 'select, insert, update, delete');
select private.enable_owner_policy('core.drafts', 'user_id');
comment on column core.drafts.ean_candidates is
  'The metering points of the address, [{ean_code, street, city, house_number_addition}]: several if the customer must '
  'choose.';
comment on column core.drafts.invited_at is 'When the claim mail was written; null if the partner passes the link on.';
-- serves: reminders
create index drafts_to_remind on core.drafts (reminders_sent, created_at) where status = 'invited' and send_invite;

create table core.draft_uploads (
  partner_id uuid        not null,
  id         bigint generated always as identity,
  at         timestamptz not null default private.now(),
  constraint draft_uploads_pkey primary key (partner_id, id),
  constraint draft_uploads_partner_id_fkey foreign key (partner_id) references core.partners (id)
);
comment on table core.draft_uploads is
  'One row per draft ever made, without personal data: the rolling cap also counts withdrawn ones. Deleted after 31 '
  'days.';
-- serves: the rolling cap
create index draft_uploads_at on core.draft_uploads (partner_id, at);
select private.enable_tenant_policy('core.draft_uploads', 'select, insert');

create table core.draft_links (
  partner_id uuid        not null,
  id         uuid        not null default gen_random_uuid(),
  draft_id   uuid        not null,
  token_hash bytea       not null,
  return_url text,
  expires_at timestamptz not null,
  used_at    timestamptz,
  used_by    bytea,
  created_at timestamptz not null default private.now(),
  constraint draft_links_pkey primary key (partner_id, id),
  constraint draft_links_token_hash_key unique (token_hash),
  constraint draft_links_draft_fkey foreign key (partner_id, draft_id) references core.drafts (partner_id, id)
      on delete cascade
);
comment on table core.draft_links is
  'A sign-in link (auth-link) as its SHA-256: 300 seconds, single use, voided by a newer one.';
comment on column core.draft_links.used_by is
  'SHA-256 of the secret of the browser that used it, with the token: that browser may click twice.';
-- serves: voiding the older link of a draft, and deleting a draft
create index draft_links_draft on core.draft_links (partner_id, draft_id);
select private.enable_tenant_policy('core.draft_links', 'select, insert, update');
create policy "an owner reaches only their own rows" on core.draft_links as restrictive to api_owner
  using ((select private.visible_owner()) is null
         or exists (select from core.drafts d where d.partner_id = draft_links.partner_id
                    and d.id = draft_links.draft_id));

create table core.suppressions (
  email_hash bytea       not null,
  created_at timestamptz not null default private.now(),
  constraint suppressions_pkey primary key (email_hash)
);
comment on table core.suppressions is
  'Addresses that opted out of mail, as SHA-256 of the address with a key of the deployment. An address of a customer '
  'who ended the account is stored with its partner. Production never deletes a row.';

create type private.draft_row as (
  place           int,
  sheet_row       int,
  email           text,
  reason          text,
  detail          text,
  address_ignored text,
  ean_ignored     text,
  type            text,
  name            text,
  phone           text,
  external_ref    text,
  kvk             text,
  vat             text,
  company_name    text,
  contact_name    text,
  referral_code   text,
  ean             text,
  postal_code     text,
  house_number    int,
  house_number_addition text,
  street          text,
  city            text,
  charger         jsonb);

create type private.settled_row as (id uuid, row private.draft_row, outcome text);
