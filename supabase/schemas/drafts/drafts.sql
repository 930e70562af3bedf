-- Drafts: what a partner uploads, and a customer turns into an account.

create function private.claim_draft_id() returns uuid
language plpgsql
set search_path = ''
as $$ begin return gen_random_uuid(); end $$;
comment on function private.claim_draft_id() is
  'The id of a new draft. A claim link knows the draft by it alone, before the tenant is known; it is nobody else''s because it is random.';
grant execute on function private.claim_draft_id() to api_owner;

create table core.drafts (
  partner_id      uuid        not null,
  id              uuid        not null default private.claim_draft_id(),
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
  code_hash       bytea,
  code_expires_at timestamptz,
  code_attempts   int         not null default 0,
  used_code_hash  bytea,
  code_used_at    timestamptz,
  conflict_reason text,
  reminders_sent  int         not null default 0,
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
  constraint drafts_ean_status_known check (ean_status in ('pending', 'resolved', 'ambiguous', 'not_found', 'provided', 'no_address', 'failed')),
  constraint drafts_email_shape check (email = lower(email) and length(email) <= 254)
);
comment on table core.drafts is
  'A customer a partner uploaded, to be claimed by that customer. progress keeps what was typed on the claim pages. Personal data; deleted on withdrawal and 30 days after expiry; once active it stays beside the account.';
comment on column core.drafts.locale is 'The language that was chosen for the customer, null where nobody chose: then the partner''s (core.partners.locale).';
comment on column core.drafts.code_hash is 'The one-time code with the claim token and what the code is for, as SHA-256: a code that proves the address cannot sign.';
comment on column core.drafts.used_code_hash is 'The code that was used last, at code_used_at, with the secret of the browser it came from, as SHA-256: that browser may send it twice.';
comment on column core.drafts.progress is
  'What was typed and confirmed on the claim pages: {answers, confirmed, candidates, ean_check, iban, return_url}. The IBAN is encrypted. Emptied once active.';
comment on column core.drafts.rehearsal_id is 'The rehearsal that plays its customer on the sandbox, until rehearsal_until at most: others wait for it.';
comment on column core.drafts.account_id is 'The account it became, in the service''s own tenant.';
-- serves: already_drafted; one open draft an e-mail address and partner
create unique index drafts_open_email on core.drafts (partner_id, email) where status in ('invited', 'claimed');
-- serves: conflict, across tenants on purpose
create index drafts_email on core.drafts (email) where status in ('invited', 'claimed');
-- serves: GET /partner/drafts, newest first
create index drafts_newest on core.drafts (partner_id, created_at desc, id desc);
-- serves: GET /partner/drafts?external_ref=…
create index drafts_external_ref on core.drafts (partner_id, external_ref) where external_ref is not null;
-- serves: a claim link, which knows the draft alone; unique across tenants on purpose, given by private.claim_draft_id
create unique index drafts_id on core.drafts (id);
-- serves: the draft a person claimed
create index drafts_user on core.drafts (user_id) where user_id is not null;
-- serves: expiry and reminders
create index drafts_expiring on core.drafts (expires_at) where status = 'invited';
-- serves: those of a partner that have expired and are not noted yet
create index drafts_overdue on core.drafts (partner_id, expires_at) where status = 'invited';
-- serves: the purge
create index drafts_ended on core.drafts (expires_at) where status in ('expired', 'conflict');
-- serves: the operator's search
create index drafts_words on core.drafts using gin (private.search_words(
  name, contact_name, company_name, email, external_ref, ean, postal_code, postal_code || house_number, private.phone_end(phone)))
  with (gin_pending_list_limit = 256) where status <> 'active';
-- serves: the operator's list, newest first
create index drafts_by_status on core.drafts (status, created_at desc, id desc);
-- serves: the operator's list of EANs that the register has not confirmed
create index drafts_unresolved on core.drafts (created_at, id) where ean_status in ('not_found', 'ambiguous') and status in ('invited', 'claimed');
-- serves: the look-ups that wait
create index drafts_to_look_up on core.drafts (created_at) where ean_status in ('pending', 'failed') and status in ('invited', 'claimed');
select private.isolate('core.drafts', 'select, insert, update, delete');
select private.keep_to_owner('core.drafts', 'user_id');
comment on column core.drafts.ean_candidates is 'The metering points of the address, [{ean_code, street, city, house_number_addition}]: several where the customer has to choose.';
comment on column core.drafts.invited_at is 'When the claim mail was written; null where the partner passes the link on itself.';
-- serves: reminders
create index drafts_to_remind on core.drafts (reminders_sent, created_at) where status = 'invited' and send_invite;

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

create function private.draft_status(draft core.drafts) returns text
language sql stable
return case when draft.status = 'invited' and draft.expires_at <= private.now() then 'expired' else draft.status end;
comment on function private.draft_status(core.drafts) is 'The status as of now: an invited draft has expired after its last moment, whether or not the job has noted it.';
grant execute on function private.draft_status(core.drafts) to api_owner;

create function private.draft_login(draft core.drafts, out user_id uuid, out empty boolean)
language plpgsql stable security definer
set search_path = ''
as $$
begin
  user_id := coalesce(draft.user_id, (select u.id from auth.users u where u.email = draft.email and u.is_sso_user = false));
  empty := not exists (select from core.accounts a join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id
                        where a.partner_id = private.house() and (a.id = draft.account_id or a.user_id = draft_login.user_id));
end $$;
comment on function private.draft_login(core.drafts) is
  'The login of a draft''s customer, and whether their account has no connection yet. Definer, because logins belong to Auth and accounts to the house.';
grant execute on function private.draft_login(core.drafts) to api_owner;

create function private.release_customer(person uuid, partner uuid) returns void
language sql security definer
set search_path = ''
as $$
  delete from core.attributions a
   where a.user_id = person and a.partner_id = partner and a.source in ('partner_upload', 'partner_invite')
     and not exists (select from core.accounts b where b.user_id = person)
$$;
comment on function private.release_customer(uuid, uuid) is
  'Unlinks a login that a claimed draft made from its partner; the login stays. Definer, because attributions are otherwise only read.';
grant execute on function private.release_customer(uuid, uuid) to api_owner;

create function private.drop_waiting_mail(draft uuid) returns void
language sql security definer
set search_path = ''
as $$
  delete from core.mail_outbox m
   where m.partner_id = private.partner_id() and m.status = 'queued' and m.cause like 'claim%:' || draft || '%'
$$;
comment on function private.drop_waiting_mail(uuid) is 'Mail about a draft that was not sent yet is not sent any more. Definer, because the outbox is otherwise only written.';
grant execute on function private.drop_waiting_mail(uuid) to api_owner;
