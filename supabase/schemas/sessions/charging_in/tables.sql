-- The tables of charging data that comes in: names of chargers, evidence, what is parked, changes for the cursor,
-- uploads.

create extension if not exists btree_gist with schema extensions;

create table core.charger_names (
  partner_id uuid        not null,
  owner_id   uuid        not null default private.owner_id(),
  party      text        not null default '',
  kind       text        not null,
  value      text        not null,
  since      timestamptz not null default private.now(),
  until      timestamptz,
  charger_id uuid        not null,
  evse_no    int,
  constraint charger_names_pkey primary key (partner_id, owner_id, kind, value, party, since),
  constraint charger_names_one_at_a_time exclude using gist
    (partner_id with =, owner_id with =, kind with =, value with =, party with =, tstzrange(since, until) with &&),
  constraint charger_names_charger_fkey foreign key (partner_id, charger_id, owner_id)
      references core.chargers (partner_id, id, owner_id),
  constraint charger_names_kind_known check (kind in ('external_ref', 'evse_uid', 'evse_id', 'meter_id')),
  constraint charger_names_value_length check (length(value) between 1 and 120),
  constraint charger_names_party_length check (length(party) <= 40),
  constraint charger_names_evse_no_range check (evse_no between 1 and 100),
  constraint charger_names_span check (until > since)
);
comment on table core.charger_names is
  'What a CPO client calls a charger, or an EVSE of it (evse_no, from 1), from since on and before until. A session is '
  'meant by the name as it was at its start; before the first span, the first. value is as private.charger_name_value '
  'writes it. Kept as long as the charger.';
comment on column core.charger_names.party is 'The party of a hub that uses the name, NL-TNM; empty for all.';
comment on column core.charger_names.until is 'When the charger lost the name. Null while it stands.';
-- serves: the names of a charger
create index charger_names_charger on core.charger_names (charger_id);
select private.enable_tenant_policy('core.charger_names', 'select, insert, update, delete');

create table core.charging_evidence (
  partner_id      uuid        not null,
  charger_id      uuid        not null,
  id              bigint      generated always as identity,
  session_id      uuid,
  owner_id        uuid        not null default private.owner_id(),
  source          text        not null,
  external_id     text        not null,
  client_id       uuid,
  upload_id       uuid,
  request_id      text,
  document        jsonb,
  document_sha256 bytea       not null,
  sent_sha256     bytea,
  signed          text[]      not null default '{}',
  signature       text,
  meter_id        text,
  meter_start_wh  bigint,
  meter_end_wh    bigint,
  end_from        text,
  received_at     timestamptz not null default private.now(),
  constraint charging_evidence_pkey primary key (partner_id, charger_id, id),
  constraint charging_evidence_session_fkey foreign key (partner_id, charger_id, session_id)
      references core.charging_sessions (partner_id, charger_id, id),
  constraint charging_evidence_charger_fkey foreign key (partner_id, charger_id, owner_id)
      references core.chargers (partner_id, id, owner_id),
  constraint charging_evidence_signature_known check (signature in ('unchecked', 'verified', 'failed', 'unreadable')),
  constraint charging_evidence_signature_whole check ((signature is null) = (signed = '{}'))
);
comment on table core.charging_evidence is
  'What a source said about a charging session, one row a telling that changed something. Append-only, kept seven '
  'years. Personal data: signed texts may name the card.';
comment on column core.charging_evidence.session_id is 'Null for words that belong to no session.';
comment on column core.charging_evidence.client_id is 'Who told it; null for a charger itself.';
comment on column core.charging_evidence.document is
  'The words of the source, without costs, cards and tokens. document_sha256 is of its text as Postgres writes it. '
  'Null for a CDR, which stands in core.ocpi_cdrs. Null over the quota of the day (evidence_over_quota); then signed '
  'is empty too.';
comment on column core.charging_evidence.sent_sha256 is
  'SHA-256 of the bytes that came: the body of a request, the file, the CDR, the frame.';
comment on column core.charging_evidence.end_from is 'Where the end comes from if no message told it: values, clock.';
-- serves: the tellings of a session
create index charging_evidence_session on core.charging_evidence (session_id);
-- serves: whether an upload is kept
create index charging_evidence_upload on core.charging_evidence (partner_id, upload_id) where upload_id is not null;
select private.enable_tenant_policy('core.charging_evidence', 'select, insert');

create table core.evidence_limits (
  kind        text   not null,
  bytes_a_day bigint not null,
  constraint evidence_limits_pkey primary key (kind),
  constraint evidence_limits_kind_known check (kind in ('client', 'charger')),
  constraint evidence_limits_positive check (bytes_a_day > 0)
);
comment on table core.evidence_limits is
  'How many bytes of the words of a source we keep a day: of a client with its platform, or of an OCPP charger. The '
  'operator changes it.';
create policy "every tenant reads the limits" on core.evidence_limits for select to api_owner using (true);
grant select on core.evidence_limits to api_owner;
insert into core.evidence_limits (kind, bytes_a_day) values ('client', 67108864), ('charger', 4194304);

create table core.kept_evidence (
  partner_id uuid    not null,
  source_id  uuid    not null,
  owner_id   uuid    not null default private.owner_id(),
  kind       text    not null,
  day        date    not null,
  bytes      bigint  not null,
  exceeded   boolean not null default false,
  constraint kept_evidence_pkey primary key (partner_id, source_id),
  constraint kept_evidence_kind_known check (kind in ('client', 'charger'))
);
comment on table core.kept_evidence is
  'How many bytes a source told on its last day, kept or not: a client (its id), or a charger. Kept as long as the '
  'client or charger. No personal data.';
comment on column core.kept_evidence.day is 'The Dutch day of bytes; the next day begins at 0.';
comment on column core.kept_evidence.exceeded is 'That day it told more than core.evidence_limits has, and we said so.';
-- serves: how many sources are over their quota
create index kept_evidence_exceeded on core.kept_evidence (day) where exceeded;
select private.enable_tenant_policy('core.kept_evidence', 'select, insert, update, delete');

-- No index begins with the tenant, as of core.charging_sessions. A row that is looked up by known_as, external_id, name
-- or id is compared with its owner by `is not distinct from`: else, where nothing is analyzed, the owner's whole list
-- would seem to be one row.
create table core.parked_charging (
  partner_id  uuid        not null,
  id          uuid        not null default gen_random_uuid(),
  owner_id    uuid        not null default private.owner_id(),
  source      text        not null,
  known_as    text        not null,
  external_id text,
  party       text        not null default '',
  names       text[]      not null,
  item        jsonb       not null,
  reason      text        not null,
  received_at timestamptz not null default private.now(),
  retry_at    timestamptz,
  constraint parked_charging_pkey primary key (id, partner_id),
  constraint parked_charging_known_as_key unique (known_as, source, owner_id, partner_id),
  constraint parked_charging_client_fkey foreign key (partner_id, owner_id)
      references core.oauth_clients (partner_id, id),
  constraint parked_charging_reason_known check (reason in ('unknown_charger', 'ambiguous_charger',
                                                            'charger_removed', 'no_times', 'unreadable'))
);
comment on table core.parked_charging is
  'A session whose charger we do not know yet, or a CDR that we cannot read. Stored as soon as a name appears, or it '
  'can be read; else deleted after 400 days. Personal data.';
comment on column core.parked_charging.known_as is
  'By what the source knows it: its id, with a hash of its names if the id is the charger''s only; or its names and '
  'start.';
comment on column core.parked_charging.names is 'The names that it was told by, each as kind:value.';
comment on column core.parked_charging.item is
  'The session for private.store_sessions, without a charger. With the words of the source. Of a CDR that we cannot '
  'read: {words, refused, sent_sha256}, refused says what is wrong with it.';
comment on column core.parked_charging.retry_at is
  'When the worker looks for its charger, or reads it, again; null until a name of it is given, or after it looked.';
-- serves: the same session under other names, and taking it back
create index parked_charging_external_id on core.parked_charging (external_id, source);
-- serves: what a new name frees
create index parked_charging_names on core.parked_charging using gin (names);
-- serves: the worker
create index parked_charging_due on core.parked_charging (partner_id, owner_id, retry_at)
    where retry_at is not null and reason <> 'unreadable';
-- serves: the worker, which reads CDRs again
create index parked_charging_unread_due on core.parked_charging (retry_at) where reason = 'unreadable';
-- serves: whether a client has any
create index parked_charging_unread on core.parked_charging (owner_id) where reason = 'unreadable';
-- serves: the client's list, and the sweep
create index parked_charging_received on core.parked_charging (owner_id, received_at, id);
select private.enable_tenant_policy('core.parked_charging', 'select, insert, update, delete');

create table core.charging_changes (
  partner_id uuid        not null,
  owner_id   uuid        not null,
  arrival    bigint      not null generated always as identity,
  position   bigint,
  charger_id uuid        not null,
  session_id uuid        not null,
  at         timestamptz not null default private.now(),
  constraint charging_changes_pkey primary key (partner_id, owner_id, arrival)
);
comment on table core.charging_changes is
  'A change of a session of a CPO client, or of its flags, for the cursor of GET /v1/charging-sessions. Kept 90 days. '
  'No personal data.';
comment on column core.charging_changes.position is
  'Its place in the client''s list, numbered after it was committed, as events are.';
-- serves: numbering
create index charging_changes_unnumbered on core.charging_changes (partner_id, owner_id, arrival)
    where position is null;
-- serves: reading on from a cursor
create unique index charging_changes_position on core.charging_changes (partner_id, owner_id, position)
    where position is not null;
-- serves: the sweep
create index charging_changes_age on core.charging_changes (at);
select private.enable_tenant_policy('core.charging_changes', 'select, insert');

create table core.charging_heads (
  partner_id uuid   not null,
  owner_id   uuid   not null,
  position   bigint not null default 0,
  swept      bigint not null default 0,
  constraint charging_heads_pkey primary key (partner_id, owner_id)
);
comment on table core.charging_heads is
  'Up to where the changes of a client are numbered, and up to where they were deleted.';
select private.enable_tenant_policy('core.charging_heads', 'select');

create table core.uploads (
  partner_id uuid        not null,
  id         uuid        not null default gen_random_uuid(),
  owner_id   uuid        not null default private.owner_id(),
  user_id    uuid,
  file_name  text,
  sha256     bytea       not null,
  said       jsonb       not null,
  kind       text        not null,
  rows       int         not null,
  counts     jsonb       not null,
  results    jsonb       not null,
  created_at timestamptz not null default private.now(),
  arrival    bigint      not null generated always as identity,
  columns    jsonb       not null,
  read       jsonb       not null,
  constraint uploads_pkey primary key (partner_id, id),
  constraint uploads_client_fkey foreign key (partner_id, owner_id) references core.oauth_clients (partner_id, id),
  constraint uploads_kind_known check (kind in ('months', 'sessions')),
  constraint uploads_file_name_length check (length(file_name) <= 200)
);
comment on table core.uploads is
  'A file of months or sessions of a CPO client: its hash and the result of each row, not the file. Kept seven years.';
comment on column core.uploads.owner_id is 'The client whose customers and chargers the file is about.';
comment on column core.uploads.user_id is 'The person who sent it in the portal; null for the API.';
comment on column core.uploads.said is 'What the sender said about the file: {decimal?, dates?, columns?}.';
comment on column core.uploads.read is
  'What was read: {sheet, header_row, read_as, ids_ignored, sums}, as the API answers it.';
comment on column core.uploads.columns is 'Each heading of the file with the field it was read as, null for none.';
-- serves: whether a file is the newest upload of its client
create index uploads_newest on core.uploads (partner_id, owner_id, arrival);
select private.enable_tenant_policy('core.uploads', 'select, insert, delete');
