create table core.events (
  partner_id uuid        not null,
  id         uuid        not null default gen_random_uuid(),
  owner_id   uuid        not null,
  arrival    bigint      not null generated always as identity,
  sequence   bigint,
  type       text        not null,
  account_id uuid,
  user_id    uuid,
  subject_id uuid,
  data       jsonb       not null default '{}',
  request_id text,
  created_at timestamptz not null default private.now(),
  constraint events_pkey primary key (partner_id, id),
  constraint events_sequence_key unique (partner_id, owner_id, sequence),
  constraint events_type_known check (type in (
    'account.created', 'account.eligibility_changed', 'account.months_locked', 'account.months_registered',
        'account.months_rejected',
    'account.months_reopened', 'mandate.signed', 'mandate.renewed', 'mandate.declined', 'mandate.revoked',
        'mandate.expired', 'mandate.mail_failed',
    'ean.status_changed', 'charger.registered', 'charger.connected', 'charger.mid_confirmed', 'registration.submitted',
    'registration.approved', 'registration.rejected', 'draft.claimed', 'draft.active', 'draft.expired',
        'draft.conflict', 'draft.mail_failed', 'customer.sharing_ended', 'ere.sold',
    'ere.sale_reversed', 'charging.parked', 'charging.evidence_over_quota', 'ocpi.pull_failed', 'payout.approved',
        'payout.paid', 'payout.failed', 'payout.reversed', 'webhook_endpoint.disabled'))
);
comment on table core.events is
  'What happened, for integrators: ids, new status, and nothing of a person. Kept 90 days, so no partition for each '
  'year.';
comment on column core.events.owner_id is
  'The owner of its log: a CPO client (its id), or the partner itself (partner_id).';
comment on column core.events.arrival is
  'The order of writing within one transaction, and between transactions that waited for each other.';
comment on column core.events.sequence is 'Its place in its log, 1, 2, 3 …; null until it is numbered.';
comment on column core.events.user_id is 'The customer it is about, in a partner''s log: shown as customer_ref.';
comment on column core.events.data is
  'The part that never changes. The integrator''s own references are looked up when it is read; customer.sharing_ended '
  'keeps the last one.';
-- serves: numbering
create index events_unnumbered on core.events (partner_id, owner_id, arrival) where sequence is null;
-- serves: the sweep
create index events_age on core.events (created_at);
-- serves: the reference of a customer who left
create index events_sharing_ended on core.events (partner_id, user_id) where type = 'customer.sharing_ended';
select private.enable_tenant_policy('core.events', 'select');

create table core.event_heads (
  partner_id uuid   not null,
  owner_id   uuid   not null,
  sequence   bigint not null default 0,
  swept      bigint not null default 0,
  constraint event_heads_pkey primary key (partner_id, owner_id)
);
comment on table core.event_heads is 'Up to where each log is numbered, and up to where it was swept.';
select private.enable_tenant_policy('core.event_heads', 'select');

create type private.occurrence as (account_id uuid, subject_id uuid, data jsonb);
comment on type private.occurrence is
  'Something that happened to an account: its subject (a connection, a charger), and the data of its event.';

create table core.webhook_endpoints (
  partner_id          uuid        not null,
  id                  uuid        not null,
  owner_id            uuid        not null,
  url                 text        not null,
  types               text[],
  pseudonymous        boolean     not null default false,
  status              text        not null default 'enabled',
  disabled_reason     text,
  secret_ciphertext   text        not null,
  secret_key_id       text        not null,
  secret_id           uuid,
  previous_ciphertext text,
  previous_key_id     text,
  previous_until      timestamptz,
  delivered_to        bigint      not null,
  failures            int         not null default 0,
  failing_since       timestamptz,
  last_error          text,
  warnings            int         not null default 0,
  probe_at            timestamptz,
  lease_id            uuid,
  lease_until         timestamptz,
  created_at          timestamptz not null default private.now(),
  constraint webhook_endpoints_pkey primary key (partner_id, id),
  constraint webhook_endpoints_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint webhook_endpoints_url_length check (length(url) between 1 and 500),
  constraint webhook_endpoints_types_some check (cardinality(types) > 0),
  constraint webhook_endpoints_status_known check (status in ('enabled', 'disabled')),
  constraint webhook_endpoints_disabled_whole check ((status = 'disabled') = (disabled_reason is not null)),
  constraint webhook_endpoints_previous_whole check (num_nulls(previous_ciphertext, previous_key_id,
                                                               previous_until) in (0, 3))
);
comment on table core.webhook_endpoints is
  'Where the events of a client''s log, or of a partner''s own, are sent. The secrets are encrypted (AES-256-GCM, '
  'bound to the endpoint) before they reach the database.';
comment on column core.webhook_endpoints.types is 'Null: all.';
comment on column core.webhook_endpoints.pseudonymous is
  'A person''s application made or redirected it. It is sent what GET /partner/events shows that application: no '
  'reference of a customer and no registration.';
comment on column core.webhook_endpoints.secret_id is
  'The id of the form that made the secret, so that sending it twice makes one; null without a form.';
comment on column core.webhook_endpoints.delivered_to is
  'Every event up to this number of the log was sent, or waits in core.webhook_retries.';
comment on column core.webhook_endpoints.failures is
  'Attempts that failed since the last success. From the fifth on there is one attempt at a time, at probe_at.';
comment on column core.webhook_endpoints.last_error is
  'Why the last attempt failed, as in core.webhook_attempts, or http_ and the status; null after a success. '
  'secret_unreadable: we lack the key of its secret.';
comment on column core.webhook_endpoints.warnings is
  'How many of the two mails about its failing were written: after 24 and after 96 hours.';
comment on column core.webhook_endpoints.lease_id is
  'The worker with this lease sends, until lease_until; no other does.';
-- serves: the worker, which looks at all that are enabled
create index webhook_endpoints_enabled on core.webhook_endpoints (lease_until nulls first) where status = 'enabled';
select private.enable_tenant_policy('core.webhook_endpoints', 'select, insert, update, delete');

create table core.webhook_retries (
  partner_id      uuid        not null,
  endpoint_id     uuid        not null,
  event_id        uuid        not null,
  attempts        int         not null,
  next_attempt_at timestamptz,
  constraint webhook_retries_pkey primary key (partner_id, endpoint_id, event_id),
  constraint webhook_retries_endpoint_fkey foreign key (partner_id, endpoint_id)
      references core.webhook_endpoints (partner_id, id) on delete cascade
);
comment on table core.webhook_retries is
  'Events to be sent to an endpoint out of turn: retries, replays, and pings, which are in no log. next_attempt_at is '
  'null once it was given up.';
-- serves: what is to be sent next to an endpoint
create index webhook_retries_due on core.webhook_retries (partner_id, endpoint_id, next_attempt_at)
    where next_attempt_at is not null;
select private.enable_tenant_policy('core.webhook_retries', 'select, insert, update, delete');

create table core.webhook_attempts (
  partner_id      uuid        not null,
  id              bigint      not null generated always as identity,
  endpoint_id     uuid        not null,
  event_id        uuid        not null,
  type            text        not null,
  attempt         int         not null,
  at              timestamptz not null,
  status          int,
  ms              int         not null,
  error           text,
  next_attempt_at timestamptz,
  constraint webhook_attempts_pkey primary key (partner_id, id),
  constraint webhook_attempts_endpoint_fkey foreign key (partner_id, endpoint_id)
      references core.webhook_endpoints (partner_id, id) on delete cascade,
  constraint webhook_attempts_error_length check (length(error) <= 200)
);
comment on table core.webhook_attempts is 'What was sent and its result, without bodies. Kept 30 days.';
-- serves: the latest attempts of an endpoint
create index webhook_attempts_endpoint on core.webhook_attempts (partner_id, endpoint_id, id desc);
-- serves: the sweep
create index webhook_attempts_age on core.webhook_attempts (at);
select private.enable_tenant_policy('core.webhook_attempts', 'select');
