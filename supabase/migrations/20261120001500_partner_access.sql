-- The partner surface: what a partner is beside a tenant, who manages it, its API key, and how both are admitted.

alter table core.partners
  add column referral_code      text,
  add column return_url         text,
  add column default_fee_pct    numeric(5, 2) not null default 20,
  add column partner_share_pct  numeric(5, 2) not null default 25,
  add column company            jsonb not null default '{}',
  add column iban_ciphertext    text,
  add column iban_key_id        text,
  add column iban_last4         text,
  add column iban_holder        text,
  add column branding           jsonb not null default '{}',
  add constraint partners_referral_code_key unique (referral_code),
  add constraint partners_referral_code_shape check (referral_code ~ '^[A-Z0-9]{4,20}$'),
  add constraint partners_return_url_length check (length(return_url) <= 500),
  add constraint partners_percentages check (default_fee_pct between 0 and 100 and partner_share_pct between 0 and 100),
  add constraint partners_iban_whole check (num_nulls(iban_ciphertext, iban_key_id, iban_last4, iban_holder) in (0, 4));
comment on column core.partners.return_url is 'Registered by the operator or in the portal; sign-in links may lead back to it and below it, nowhere else.';
alter table core.partners add column charger_brands text[] not null default '{}';
comment on column core.partners.charger_brands is 'Brands whose cloud the partner has linked to the service: a draft may come with a charger of these only. Set by the operator.';
create policy "a tenant changes itself" on core.partners for update to api_owner
  using (id = (select private.partner_id())) with check (id = (select private.partner_id()));
grant update (company, iban_ciphertext, iban_key_id, iban_last4, iban_holder, branding) on core.partners to api_owner;
comment on column core.partners.branding is 'display_name, logo_url, primary_color, reply_to: how pages and mail to its customers look.';

create table core.partner_managers (
  partner_id uuid        not null,
  user_id    uuid        not null,
  created_at timestamptz not null default private.now(),
  constraint partner_managers_pkey primary key (partner_id, user_id),
  constraint partner_managers_user_id_key unique (user_id),
  constraint partner_managers_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint partner_managers_user_id_fkey foreign key (user_id) references auth.users (id) on delete cascade
);
comment on table core.partner_managers is 'Who manages a partner in the portal: a person manages one partner. Added by the operator.';
select private.isolate('core.partner_managers', 'select');

create table core.partner_keys (
  partner_id   uuid        not null,
  id           uuid        not null default gen_random_uuid(),
  key_hash     bytea       not null,
  prefix       text        not null,
  last4        text        not null,
  created_at   timestamptz not null default private.now(),
  last_used_at timestamptz,
  revoked_at   timestamptz,
  constraint partner_keys_pkey primary key (partner_id, id),
  constraint partner_keys_key_hash_key unique (key_hash),
  constraint partner_keys_partner_id_fkey foreign key (partner_id) references core.partners (id)
);
comment on table core.partner_keys is 'Partner API keys as their SHA-256, shown once. One active key a partner. Revoked ones stay for the audit.';
-- serves: one active key a partner
create unique index partner_keys_active on core.partner_keys (partner_id) where revoked_at is null;
select private.isolate('core.partner_keys', 'select, insert, update');

insert into core.rate_limits (bucket, quota, window_seconds) values
  ('partner_read', 120, 60),
  ('partner_write', 60, 60),
  ('partner_import', 10, 60);

-- Drafts: what a partner uploads, and a customer turns into an account -------------------------------------------------

create table core.drafts (
  partner_id      uuid        not null,
  id              uuid        not null default gen_random_uuid(),
  batch_id        uuid        not null,
  source          text        not null,
  status          text        not null default 'invited',
  type            text        not null,
  naam            text,
  email           text        not null,
  phone           text,
  external_ref    text,
  kvk             text,
  btw             text,
  bedrijfsnaam    text,
  contactpersoon  text,
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
  locale          text        not null default 'nl',
  progress        jsonb       not null default '{}',
  code_hash       bytea,
  code_expires_at timestamptz,
  code_attempts   int         not null default 0,
  conflict_reason text,
  reminders_sent  int         not null default 0,
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
  constraint drafts_ean_status_known check (ean_status in ('pending', 'resolved', 'ambiguous', 'not_found', 'provided', 'no_address', 'failed')),
  constraint drafts_email_shape check (email = lower(email) and length(email) <= 254)
);
comment on table core.drafts is
  'A customer a partner uploaded, to be claimed by that customer. progress keeps what was typed on the claim pages. Personal data; deleted on withdrawal, 30 days after expiry, and folded into the account once active.';
comment on column core.drafts.code_hash is 'The one-time code with the claim token and what the code is for, as SHA-256: a code that proves the address cannot sign.';
comment on column core.drafts.progress is
  'What was typed and confirmed on the claim pages: {answers, confirmed, candidates, ean_check, iban, return_url}. The IBAN is encrypted. Emptied once active.';
comment on column core.drafts.account_id is 'The account it became, in the service''s own tenant.';
-- serves: already_drafted; one open draft an e-mail address and partner
create unique index drafts_open_email on core.drafts (partner_id, email) where status in ('invited', 'claimed');
-- serves: conflict, across tenants on purpose
create index drafts_email on core.drafts (email) where status in ('invited', 'claimed');
-- serves: GET /partner/drafts, newest first
create index drafts_newest on core.drafts (partner_id, created_at desc, id desc);
-- serves: GET /partner/drafts?external_ref=…
create index drafts_external_ref on core.drafts (partner_id, external_ref) where external_ref is not null;
-- serves: a claim link, which knows the draft alone; unique across tenants on purpose
create unique index drafts_id on core.drafts (id);
-- serves: the draft a person claimed
create index drafts_user on core.drafts (user_id) where user_id is not null;
-- serves: expiry and reminders
create index drafts_expiring on core.drafts (expires_at) where status = 'invited';
-- serves: the purge
create index drafts_ended on core.drafts (expires_at) where status in ('expired', 'conflict');
-- serves: the look-ups that wait
create index drafts_to_look_up on core.drafts (created_at) where ean_status in ('pending', 'failed') and status in ('invited', 'claimed');
select private.isolate('core.drafts', 'select, insert, update, delete');

create table core.draft_uploads (
  partner_id uuid        not null,
  id         bigint generated always as identity,
  at         timestamptz not null default private.now(),
  constraint draft_uploads_pkey primary key (partner_id, id),
  constraint draft_uploads_partner_id_fkey foreign key (partner_id) references core.partners (id)
);
comment on table core.draft_uploads is 'One row per draft ever made, without personal data: the rolling cap counts withdrawn ones too. Swept after 31 days.';
-- serves: the rolling cap
create index draft_uploads_at on core.draft_uploads (partner_id, at);
select private.isolate('core.draft_uploads', 'select, insert');

create table core.draft_links (
  partner_id uuid        not null,
  id         uuid        not null default gen_random_uuid(),
  draft_id   uuid        not null,
  token_hash bytea       not null,
  return_url text,
  expires_at timestamptz not null,
  used_at    timestamptz,
  created_at timestamptz not null default private.now(),
  constraint draft_links_pkey primary key (partner_id, id),
  constraint draft_links_token_hash_key unique (token_hash),
  constraint draft_links_draft_fkey foreign key (partner_id, draft_id) references core.drafts (partner_id, id) on delete cascade
);
comment on table core.draft_links is 'A sign-in link (auth-link) as its SHA-256: 300 seconds, single use, voided by a newer one.';
-- serves: voiding the older link of a draft
create index draft_links_draft on core.draft_links (partner_id, draft_id) where used_at is null;
select private.isolate('core.draft_links', 'select, insert, update');

create table core.suppressions (
  email_hash bytea       not null,
  created_at timestamptz not null default private.now(),
  constraint suppressions_pkey primary key (email_hash)
);
comment on table core.suppressions is 'Addresses that asked not to be written to, as SHA-256 of the address with a key of the deployment. Kept for good.';
alter table core.suppressions enable row level security;

-- Admission ----------------------------------------------------------------------------------------------------------

create function private.key_holder(credential jsonb, out partner_id uuid, out partner_active boolean)
language plpgsql security definer
set search_path = ''
as $$
declare
  hash constant bytea := decode(credential ->> 'key_hash', 'hex');
begin
  select k.partner_id, p.is_active into key_holder.partner_id, key_holder.partner_active
    from core.partner_keys k join core.partners p on p.id = k.partner_id
   where k.key_hash = hash and k.revoked_at is null
     -- the sandbox handed out keys of the other prefix until September 2026
     and (credential ->> 'key_host' = credential ->> 'host' or credential ->> 'host' = 'sandbox' and k.created_at < '2026-09-01Z');
  if found then
    -- last use to the minute: worth showing, not worth a write a request
    update core.partner_keys k set last_used_at = private.now()
     where k.key_hash = hash and (k.last_used_at is null or k.last_used_at < private.now() - interval '1 minute');
  end if;
end $$;
comment on function private.key_holder(jsonb) is
  'Whose active key this is: {key_hash, key_host, host}, where key_host is what the key''s prefix says. Definer, because admission runs before a tenant is set.';

create function private.managed_partner(person uuid) returns uuid
language plpgsql stable security definer
set search_path = ''
as $$
begin
  return (select m.partner_id from core.partner_managers m join core.partners p on p.id = m.partner_id and p.is_active where m.user_id = person);
end $$;
comment on function private.managed_partner(uuid) is 'The active partner a person manages, or null. Definer, because admission runs before a tenant is set.';
grant execute on function private.key_holder(jsonb), private.managed_partner(uuid) to api_owner;

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
    return json_build_object('wrong_kind', true);
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
grant execute on function private.admit_partner_key(jsonb, jsonb), private.admit_partner_user(uuid, uuid, jsonb) to api_owner;
