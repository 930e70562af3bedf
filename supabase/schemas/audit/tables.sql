-- The tables and views of audit.

create table core.audit_log (
  partner_id  uuid        not null,
  id          bigint generated always as identity,
  at          timestamptz not null default private.now(),
  actor       text        not null,
  action      text        not null,
  subject_id  uuid,
  details     jsonb       not null default '{}',
  request_id  text,
  constraint audit_log_pkey primary key (partner_id, id, at)
) partition by range (at);
comment on table core.audit_log is
  'One row per change somebody may have to account for. No personal data and no secrets in details. Append-only, kept seven years.';
comment on column core.audit_log.partner_id is 'The tenant it happened in; the house where it was in none: what the operator did to the service itself, and a person to their own login.';
-- serves: the history of one account, client or connection
create index audit_log_subject on core.audit_log (subject_id, id);
-- serves: the log in the pages of a partner, newest first
create index audit_log_partner on core.audit_log (partner_id, id desc) where actor ~ '^(partner|operator)';
alter table core.audit_log enable row level security;
create policy "api functions append, and read nothing" on core.audit_log
  for insert to api_owner with check (partner_id = coalesce(private.partner_id(), private.house()));
grant insert on core.audit_log to api_owner;
select private.partition_by_year('core.audit_log');

create table core.audit_chains (
  partner_id          uuid        not null,
  log                 text        not null,
  position            bigint      not null default 0,
  hash                bytea       not null,
  -- every row up to here that was ever committed has its link, and none can come any more
  settled_id          bigint      not null default 0,
  -- every row up to here that could be seen at that moment has its link; who was at work then has a transaction before marked_before
  marked_id           bigint      not null default 0,
  marked_at           timestamptz not null default private.now(),
  marked_before       xid8,
  last_id             bigint      not null default 0,
  sealed_position     bigint      not null default 0,
  -- the link that retention deleted last: the next one follows its hash
  checkpoint_position bigint      not null default 0,
  checkpoint_hash     bytea       not null,
  constraint audit_chains_pkey primary key (partner_id, log),
  constraint audit_chains_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint audit_chains_log_known check (log in ('audit', 'ledger'))
);
comment on table core.audit_chains is 'The chain of a tenant''s audit log, or of its ledger: where it ends, how far the job that makes it is, and where it begins since older rows were deleted.';
select private.isolate('core.audit_chains', 'select');

create table core.audit_links (
  partner_id uuid   not null,
  log        text   not null,
  position   bigint not null,
  row_id     bigint not null,
  content    bytea  not null,
  hash       bytea  not null,
  constraint audit_links_pkey primary key (partner_id, log, position),
  constraint audit_links_row_key unique (partner_id, log, row_id)
);
comment on table core.audit_links is
  'One row per row of the audit log and of the ledger, in the order in which the job saw them: the SHA-256 of its content, and that of the hash before it and this content. Append-only; written by private.chain_rows alone. No personal data.';
select private.isolate('core.audit_links', 'select');

create table core.audit_seals (
  day   date  not null,
  heads jsonb not null,
  hash  bytea not null,
  constraint audit_seals_pkey primary key (day)
);
comment on table core.audit_seals is
  'One row a day: where each chain that has grown since the last seal ended, and a hash over that and the last seal. Kept outside too, it shows a chain that was cut off or made anew. No personal data; never deleted.';
alter table core.audit_seals enable row level security;

create view core.audit_content with (security_invoker = true) as
select a.partner_id, 'audit' as log, a.id as row_id, a.at, a.action as what,
       sha256(convert_to(jsonb_build_array(
         a.partner_id, a.id, a.at at time zone 'UTC', a.actor, a.action, a.subject_id, a.details, a.request_id)::text, 'UTF8')) as content
  from core.audit_log a
union all
select e.partner_id, 'ledger', e.id, e.at, e.cause,
       sha256(convert_to(jsonb_build_array(
         e.partner_id, e.id, e.at at time zone 'UTC', e.cause, e.unit, e.amount, e.debit, e.credit,
         -- and whose these are
         (select a.kind || ' ' || a.owner from core.ledger_accounts a where a.partner_id = e.partner_id and a.id = e.debit),
         (select a.kind || ' ' || a.owner from core.ledger_accounts a where a.partner_id = e.partner_id and a.id = e.credit))::text, 'UTF8'))
  from core.ledger_entries e;
comment on view core.audit_content is
  'What is chained: the SHA-256 of each row as it stands, of its values as one array of JSON with moments in UTC.';

create type private.audit_fault as (
  fault    text,
  position bigint,
  row_id   bigint,
  at       timestamptz,
  what     text);
