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
  'One row per change that somebody may have to account for. No personal data and no secrets in details. Append-only, '
  'kept seven years.';
comment on column core.audit_log.partner_id is
  'The tenant of the change. The people''s tenant if it has none: what the operator did to the service, or a person to '
  'their own login.';
-- serves: the history of one account, client or connection
create index audit_log_subject on core.audit_log (subject_id, id);
-- serves: the log in the pages of a partner, newest first
create index audit_log_partner on core.audit_log (partner_id, id desc) where actor ~ '^(partner|operator)';
create policy "api functions append, and read nothing" on core.audit_log
  for insert to api_owner with check (partner_id = coalesce(private.partner_id(), private.people_tenant()));
grant insert on core.audit_log to api_owner;
select private.partition_by_year('core.audit_log');

create table core.audit_chains (
  partner_id          uuid        not null,
  log                 text        not null,
  position            bigint      not null default 0,
  hash                bytea       not null,
  -- every row up to here that was ever committed has its link, and no other can come any more
  settled_id          bigint      not null default 0,
  -- every row up to here that was visible at that moment has its link; transactions that ran then are below
  -- marked_before
  marked_id           bigint      not null default 0,
  marked_at           timestamptz not null default private.now(),
  marked_before       xid8,
  last_id             bigint      not null default 0,
  sealed_position     bigint      not null default 0,
  -- the link that retention deleted last: the next link follows its hash
  checkpoint_position bigint      not null default 0,
  checkpoint_hash     bytea       not null,
  constraint audit_chains_pkey primary key (partner_id, log),
  constraint audit_chains_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint audit_chains_log_known check (log in ('audit', 'ledger'))
);
comment on table core.audit_chains is
  'The chain of a tenant''s audit log or ledger: where it ends, and how far its job is. The checkpoint is where it '
  'begins after older rows were deleted.';
select private.enable_tenant_policy('core.audit_chains', 'select');

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
  'One link per row of the audit log and the ledger, in the order in which the job saw them. It has the SHA-256 of the '
  'row''s content, and a hash over the previous hash and this content. Append-only; only private.chain_rows writes it. '
  'No personal data.';
select private.enable_tenant_policy('core.audit_links', 'select');

create table core.audit_seals (
  day   date  not null,
  heads jsonb not null,
  hash  bytea not null,
  constraint audit_seals_pkey primary key (day)
);
comment on table core.audit_seals is
  'One row a day: where each chain that grew since the last seal ended. Its hash covers that and the last seal. A copy '
  'kept outside reveals a chain that was cut off or rebuilt. No personal data; never deleted.';

create view core.audit_content with (security_invoker = true) as
select a.partner_id, 'audit' as log, a.id as row_id, a.at, a.action as what,
       sha256(convert_to(jsonb_build_array(
         a.partner_id, a.id, a.at at time zone 'UTC', a.actor, a.action, a.subject_id, a.details, a.request_id)::text,
             'UTF8')) as content
  from core.audit_log a
union all
select e.partner_id, 'ledger', e.id, e.at, e.cause,
       sha256(convert_to(jsonb_build_array(
         e.partner_id, e.id, e.at at time zone 'UTC', e.cause, e.unit, e.amount, e.debit, e.credit,
         -- and the owners of both
         (select a.kind || ' ' || a.owner from core.ledger_accounts a where a.partner_id = e.partner_id
          and a.id = e.debit),
         (select a.kind || ' ' || a.owner from core.ledger_accounts a where a.partner_id = e.partner_id
          and a.id = e.credit))::text, 'UTF8'))
  from core.ledger_entries e;
comment on view core.audit_content is
  'What is chained: the SHA-256 of each row''s current values, as one JSON array with moments in UTC.';

create type private.audit_fault as (
  fault    text,
  position bigint,
  row_id   bigint,
  at       timestamptz,
  what     text);
