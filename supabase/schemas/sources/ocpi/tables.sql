-- The tables of OCPI: how the platform of a CPO client stands with us, and the CDRs that it sent.

create table core.ocpi_connections (
  partner_id              uuid        not null,
  owner_id                uuid        not null default private.owner_id(),
  status                  text        not null,
  versions_url            text,
  cdrs_url                text,
  origins                 text[]      not null default '{}',
  parties                 text[]      not null default '{}',
  added_parties           text[]      not null default '{}',
  hubs                    text[]      not null default '{}',
  token_hash              bytea,
  previous_token_hash     bytea,
  previous_until          timestamptz,
  registration_token_hash bytea,
  registration_until      timestamptz,
  their_token_ciphertext  text,
  their_token_key_id      text,
  plain_token             boolean     not null default false,
  hint                    text,
  registered_at           timestamptz,
  push_seen_at            timestamptz,
  taken                   bigint      not null default 0,
  refused                 bigint      not null default 0,
  last_refusal            text,
  last_refused_at         timestamptz,
  pulled_to               timestamptz,
  pull_from               timestamptz,
  pull_until              timestamptz,
  pull_party              text,
  pull_offset             int         not null default 0,
  pull_pages              int         not null default 0,
  pull_refused            jsonb,
  left_from               timestamptz,
  left_names              bigint,
  pull_due_at             timestamptz,
  pull_lease_id           uuid,
  pull_lease_until        timestamptz,
  failing_since           timestamptz,
  last_error              text,
  last_error_detail       text,
  warned                  boolean     not null default false,
  created_at              timestamptz not null default private.now(),
  constraint ocpi_connections_pkey primary key (partner_id, owner_id),
  constraint ocpi_connections_client_fkey foreign key (partner_id, owner_id)
      references core.oauth_clients (partner_id, id),
  constraint ocpi_connections_status_known check (status in ('invited', 'registered', 'unregistered', 'disabled')),
  constraint ocpi_connections_token_whole check ((status = 'registered') = (token_hash is not null)),
  constraint ocpi_connections_invited_whole check ((status = 'invited') = (registration_token_hash is not null)),
  constraint ocpi_connections_their_token_whole check ((their_token_ciphertext is null) = (their_token_key_id is null))
);
comment on table core.ocpi_connections is
  'The OCPI connection of a CPO client with its platform, one a client. Tokens of ours are SHA-256, theirs encrypted. '
  'Kept as long as the client.';
comment on column core.ocpi_connections.cdrs_url is 'Their CDRs as SENDER; null if they only push.';
comment on column core.ocpi_connections.origins is
  'What the operator allows our requests to, beside the origin of versions_url.';
comment on column core.ocpi_connections.parties is
  'The CPO roles of their credentials, as NL-TNM. The operator adds those behind a hub: added_parties.';
comment on column core.ocpi_connections.previous_token_hash is
  'The token that PUT replaced. It ends when the new one is used, or at previous_until: the answer with the new one '
  'may be lost.';
comment on column core.ocpi_connections.hubs is
  'The HUB roles of their credentials: they may pass on CDRs of the parties, and send none of their own.';
comment on column core.ocpi_connections.plain_token is 'They take their token as it is only, not in base64.';
comment on column core.ocpi_connections.hint is
  'What their credentials or details lack to get CDRs from them, for the operator.';
comment on column core.ocpi_connections.registration_token_hash is
  'Opens versions and credentials until registration_until, and one registration.';
comment on column core.ocpi_connections.taken is
  'CDRs that were new; refused: answered with 2001. last_refusal says why, without values.';
comment on column core.ocpi_connections.pulled_to is
  'Up to where their CDRs were read, but those of a party that was refused. A pass reads from 48 hours before it, or '
  'from pull_from, to pull_until, and is at pull_offset.';
comment on column core.ocpi_connections.pull_party is
  'Whose CDRs the pass reads, where the platform gives those of one party at a time; null for the first.';
comment on column core.ocpi_connections.pull_refused is
  'What the platform refused in this pass: {reason, saw} of the first party, and how many parties.';
comment on column core.ocpi_connections.pull_pages is 'The pages in a row that brought nothing new.';
comment on column core.ocpi_connections.left_from is
  'Since when CDRs were left with the platform, because their charger is unknown and there was no room to park them. '
  'They are read again when the client has other names of chargers than then: left_names counts them.';
comment on column core.ocpi_connections.last_error_detail is 'What we saw of their answer.';
-- serves: admission
create index ocpi_connections_token on core.ocpi_connections (token_hash) where token_hash is not null;
create index ocpi_connections_previous on core.ocpi_connections (previous_token_hash)
    where previous_token_hash is not null;
create index ocpi_connections_registration on core.ocpi_connections (registration_token_hash)
    where registration_token_hash is not null;
-- serves: the worker
create index ocpi_connections_due on core.ocpi_connections (pull_due_at) where pull_due_at is not null;
select private.enable_tenant_policy('core.ocpi_connections', 'select, insert, update, delete');

create table core.ocpi_cdrs (
  partner_id      uuid        not null,
  owner_id        uuid        not null default private.owner_id(),
  party           text        not null,
  cdr_id          text        not null,
  kept_sha256     bytea       not null,
  credit_of       text,
  status          text        not null,
  document        jsonb,
  document_sha256 bytea       not null,
  received_at     timestamptz not null default private.now(),
  constraint ocpi_cdrs_pkey primary key (partner_id, owner_id, party, cdr_id),
  constraint ocpi_cdrs_connection_fkey foreign key (partner_id, owner_id)
      references core.ocpi_connections (partner_id, owner_id),
  constraint ocpi_cdrs_status_known check (status in ('taken', 'credited', 'credit', 'nothing')),
  constraint ocpi_cdrs_credit_whole check ((status = 'credit') = (credit_of is not null))
);
comment on table core.ocpi_cdrs is
  'A CDR that an OCPI platform sent, once. taken: it is a charging session, or parked. nothing: no energy, or a '
  'reservation. Kept seven years. Personal data: the address of a home charger.';
comment on column core.ocpi_cdrs.cdr_id is 'In upper case, as party: OCPI compares ids without case.';
comment on column core.ocpi_cdrs.kept_sha256 is 'SHA-256 of what may not change when a CDR of this id comes again.';
comment on column core.ocpi_cdrs.document is 
  'What we keep of it: no card, no tariff, no remark. document_sha256 is of its text as Postgres writes it. Null over '
  'the quota of the day (evidence_over_quota).';
-- serves: whether a CDR was credited, also before it came
create index ocpi_cdrs_credits on core.ocpi_cdrs (partner_id, owner_id, party, credit_of) where credit_of is not null;
select private.enable_tenant_policy('core.ocpi_cdrs', 'select, insert, update, delete');

create type private.sent_cdr as (
  place int, party text, id text, kept_sha256 text, sent_sha256 text, document jsonb, kind text, credit_of text,
      session jsonb, refused text);
comment on type private.sent_cdr is
  'A CDR as domain/charging_in/ocpi reads it. kind: session, nothing, credit. refused says what is wrong with it; the '
  'rest may then be null.';
