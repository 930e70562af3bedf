create unlogged table core.mail_counts (
  subject text  not null,
  day     date  not null,
  sent    int   not null,
  kinds   jsonb not null,
  granted int   not null,
  constraint mail_counts_pkey primary key (subject, day)
) with (fillfactor = 50);
comment on table core.mail_counts is
  'Mails of a Dutch day by subject: an address (hashed), a connection, a log''s endpoints, a browser or a network. The '
  'first run of jobs on the next day deletes them. Unlogged: after a crash the day begins again.';
comment on column core.mail_counts.kinds is 'How many of each kind, as private.counted_kind names them.';
comment on column core.mail_counts.granted is 'How many the last statement that wrote this row was granted.';

create table core.mail_outbox (
  partner_id      uuid        not null,
  id              uuid        not null default gen_random_uuid(),
  owner_id        uuid                 default private.owner_id(),
  cause           text        not null,
  template        text        not null,
  locale          text        not null,
  recipient       text        not null,
  content         jsonb       not null,
  status          text        not null,
  attempts        int         not null default 0,
  next_attempt_at timestamptz not null default private.now(),
  last_error      text,
  created_at      timestamptz not null default private.now(),
  done_at         timestamptz,
  constraint mail_outbox_pkey primary key (partner_id, id),
  constraint mail_outbox_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint mail_outbox_cause_key unique (partner_id, cause),
  constraint mail_outbox_status_known check (status in ('queued', 'sent', 'captured', 'failed', 'bounced', 'nobody',
                                                              'dropped'))
);
comment on table core.mail_outbox is
  'Every mail, once for each cause. The sandbox captures it and never sends it. Its content has personal data, codes '
  'and live links: it is deleted once sent, the row after 90 days.';
comment on column core.mail_outbox.status is
  'bounced: it was sent, and a report says that it did not arrive. nobody: for an address without a login, so that the '
  'answer takes as long as for one with a login. Never sent, deleted by the next run of jobs. dropped: the '
  'address had reached its limit of the day, or its reader opted out since. Never sent; its content is not stored.';
comment on column core.mail_outbox.content is
  'What the mail is about. packages/shared/src/domain/mail writes its text, by template and locale. unsubscribe_url '
  'also becomes the header List-Unsubscribe (RFC 8058), reply_to the header Reply-To.';
comment on column core.mail_outbox.owner_id is
  'The person or CPO client in whose name it was written; null for a partner, a link or a job.';
-- serves: what the worker sends next; it has 'nobody' too, so that both cost the same to write
create index mail_outbox_queued on core.mail_outbox (next_attempt_at) where status in ('queued', 'nobody');
-- serves: a partner's mail, newest first
create index mail_outbox_partner on core.mail_outbox (partner_id, created_at desc, id desc);
select private.enable_tenant_policy('core.mail_outbox', 'select, insert');
-- serves: mail of all partners, newest first
create index mail_outbox_newest on core.mail_outbox (created_at desc, id desc);
-- serves: mail that failed, newest first
create index mail_outbox_failed on core.mail_outbox (created_at desc, id desc)
    where status in ('failed', 'bounced') or status = 'queued' and last_error is not null;
-- serves: mail to an address, and whether a later one arrived
create index mail_outbox_recipient on core.mail_outbox (recipient, created_at desc, id desc);

create table core.notices (
  partner_id    uuid        not null,
  id            uuid        not null default gen_random_uuid(),
  account_id    uuid        not null,
  owner_id      uuid        not null default private.owner_id(),
  connection_id uuid,
  kind          text        not null,
  cause         text        not null,
  details       jsonb       not null default '{}',
  created_at    timestamptz not null default private.now(),
  due_at        timestamptz default private.now(),
  constraint notices_pkey primary key (partner_id, id),
  constraint notices_cause_key unique (partner_id, cause),
  constraint notices_account_fkey foreign key (partner_id, account_id, owner_id)
      references core.accounts (partner_id, id, owner_id),
  constraint notices_connection_fkey foreign key (partner_id, connection_id, owner_id)
      references core.connections (partner_id, id, owner_id),
  constraint notices_kind_known check (kind in (
    'registration_approved', 'registration_rejected', 'something_missing', 'mandate_ending', 'mandate_ended',
        'mandate_withdrawn',
    'payout_sent', 'payout_paid', 'payout_failed', 'payout_iban_changed'))
);
comment on table core.notices is
  'What a customer is told, once for each cause. details is what only the moment knew. Recipient and language are '
  'looked up when it is mailed. No names or addresses in it; kept as long as the account.';
comment on column core.notices.due_at is 'When to make a mail of it; moved on while a worker is at it, null once done.';
comment on column core.notices.details is
  'registration_rejected {grounds}; mandate_ending {valid_until, reminder}; mandate_ended {valid_until}; '
  'mandate_withdrawn {by, covered_until, lost_kwh}; payout_sent {amount_eur, iban_last4, from, until}, the days on '
  'which it is expected; payout_paid {amount_eur, iban_last4, quarters, kwh}; payout_failed {amount_eur, '
  'iban_last4}; payout_iban_changed {iban_last4, by, held_until}, without the number if told at the end of the day.';
-- Whether a kind is about money: the mail leads to the own pages, and is also sent after the account is closed.
create function private.notice_of_money(kind text) returns boolean
language sql immutable
return kind in ('payout_sent', 'payout_paid', 'payout_failed', 'payout_iban_changed');
-- serves: what the worker mails next
create index notices_due on core.notices (due_at) where due_at is not null;
-- serves: what an account was told
create index notices_account on core.notices (partner_id, account_id);
-- serves: deleting a connection
create index notices_connection on core.notices (partner_id, connection_id) where connection_id is not null;
select private.enable_tenant_policy('core.notices', 'select, insert');
