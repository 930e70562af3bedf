create table core.mandate_links (
  partner_id      uuid        not null,
  id              uuid        not null default gen_random_uuid(),
  connection_id   uuid        not null,
  owner_id        uuid        not null default private.owner_id(),
  token_hash      bytea       not null,
  locale          text,
  validity_years  int,
  return_url      text,
  mailed          boolean     not null default false,
  expires_at      timestamptz not null,
  voided_at       timestamptz,
  used_at         timestamptz,
  mail_failed_at  timestamptz,
  mail_failed_reason text,
  created_at      timestamptz not null default private.now(),
  constraint mandate_links_pkey primary key (partner_id, id),
  constraint mandate_links_token_hash_key unique (token_hash),
  constraint mandate_links_connection_fkey foreign key (partner_id, connection_id, owner_id)
      references core.connections (partner_id, id, owner_id),
  constraint mandate_links_mail_failed_known check (private.is_mail_failure(mail_failed_at, mail_failed_reason)),
  constraint mandate_links_locale_known check (locale in ('nl', 'en')),
  constraint mandate_links_validity_known check (validity_years in (1, 3, 5))
);
comment on table core.mandate_links is
  'A link a signatory signs through: good for 14 days, one signature, until a newer one is issued. token_hash is the '
  'SHA-256 of 256 random bits.';
comment on column core.mandate_links.mail_failed_at is 'When its own mail failed, as core.drafts.mail_failed_at.';
comment on column core.mandate_links.locale is 'The language chosen for the signatory; null if nobody chose.';
comment on column core.mandate_links.mailed is
  'Whether we mail it to the signatory; otherwise whoever asked for it has it.';
comment on column core.mandate_links.validity_years is
  'For how many calendar years it asks; null if the signatory chooses.';
-- serves: voiding the older links of a connection
create index mandate_links_connection on core.mandate_links (partner_id, connection_id);
select private.enable_tenant_policy('core.mandate_links', 'select, insert, update');

create table core.mandates (
  partner_id      uuid        not null,
  id              uuid        not null default gen_random_uuid(),
  connection_id   uuid        not null,
  owner_id        uuid        not null default private.owner_id(),
  link_id         uuid,
  status          text        not null,
  renewal         boolean     not null default false,
  valid_from      date,
  valid_until     date,
  signed_name     text,
  signed_at       timestamptz,
  fee_pct         numeric(5, 2),
  partner_share_pct numeric(5, 2),
  document        text,
  document_sha256 text,
  code_confirmed  boolean     not null default false,
  code_sent_to    text,
  address         text,
  user_agent      text,
  locale          text,
  ended_at        timestamptz,
  ended_reason    text,
  lapsed_at       timestamptz,
  covered_until   date        generated always as (
    case when lapsed_at is not null then null
         when status in ('signed', 'expired') then valid_until
         when status = 'revoked' and ended_reason = 'customer'
           then least(valid_until,
                      (date_trunc('month', ended_at at time zone 'Europe/Amsterdam') - interval '1 day')::date)
                      end) stored,
  created_at      timestamptz not null default private.now(),
  constraint mandates_pkey primary key (partner_id, id),
  constraint mandates_connection_fkey foreign key (partner_id, connection_id, owner_id)
      references core.connections (partner_id, id, owner_id),
  constraint mandates_link_fkey foreign key (partner_id, link_id) references core.mandate_links (partner_id, id),
  constraint mandates_link_key unique (partner_id, link_id),
  constraint mandates_status_known check (status in ('signed', 'revoked', 'expired', 'declined')),
  constraint mandates_signed_whole check (
    status = 'declined' or num_nulls(valid_from, valid_until, signed_name, signed_at, fee_pct, partner_share_pct,
                                     document, document_sha256) = 0),
  constraint mandates_percentages check (fee_pct between 0 and 100 and partner_share_pct between 0 and 100)
);
comment on table core.mandates is
  'What a signatory decided, by a mandate link or a claim, with the evidence. That is the text as shown, its SHA-256, '
  'typed name, code proof, network address and user agent. Personal data; append-only but for its end; kept seven '
  'years after it.';
comment on column core.mandates.link_id is 'The mandate link it was decided by; null for a claim.';
comment on column core.mandates.fee_pct is
  'The agreed fee on what the customer''s ERE yield, in percent. The partner''s later changes do not affect it.';
comment on column core.mandates.partner_share_pct is
  'The partner''s part of that fee, in percent, as it was when the mandate was signed.';
comment on column core.mandates.renewal is
  'Decided while another mandate held, for the years after it. Declining these changes nothing.';
comment on column core.mandates.locale is 'The language it was signed in, for later mail to the signatory.';
comment on column core.mandates.covered_until is
  'The last day it covers: the end of its last year, or of the month before a customer''s withdrawal. Null if it '
  'covers nothing any more. The one rule of what a mandate covers.';
comment on column core.mandates.lapsed_at is
  'When EAN or address of the connection was corrected. What it covered is still shown, and counts only if it is '
  'locked.';
-- serves: the latest mandate of a connection
create index mandates_connection on core.mandates (partner_id, connection_id, created_at desc);
-- serves: the job that ends mandates after their last year
create index mandates_ending on core.mandates (valid_until) where status = 'signed';
-- serves: the job that asks for what is still missing
create index mandates_signed on core.mandates (signed_at) where status = 'signed' and not renewal;
select private.enable_tenant_policy('core.mandates', 'select, insert, update');

-- It has the connection's own columns: a query for both would read it twice, because Postgres does not drop such a
-- join.
create view core.connection_mandates with (security_invoker = true) as
select c.partner_id,
       c.id as connection_id,
       c.account_id,
       c.location_id,
       c.ean_code,
       c.status,
       c.registration_status,
       c.ean_validation_status,
       c.created_at,
       case when m.status is null then 'pending'
            when m.status = 'signed' and not m.holds and not m.ahead then 'expired'
            else m.status end as mandate_status,
       m.id as mandate_id,
       m.valid_from,
       m.valid_until,
       m.signed_at,
       m.renewed_until
  from core.connections c
  left join lateral (
    select m.id, m.status, m.valid_from, m.valid_until, m.signed_at, t.holds, t.ahead,
           max(m.valid_until) filter (where m.status = 'signed' and t.ahead) over () as renewed_until
      from core.mandates m
     cross join lateral (
       select coalesce(m.valid_from > (select private.today()), false) as ahead,
              m.status = 'signed' and (select private.today()) between m.valid_from and m.valid_until as holds) t
     where m.partner_id = c.partner_id and m.connection_id = c.id and not (m.status = 'declined' and m.renewal)
     order by t.holds desc, t.ahead, m.created_at desc
     limit 1) m on true;
comment on view core.connection_mandates is
  'A connection and the state of its mandate: the one that covers today, else the latest decision. A mandate has '
  'expired after its last year, even before the job notes it. renewed_until: the last day of the years signed for '
  'ahead.';
grant select on core.connection_mandates to api_owner;
