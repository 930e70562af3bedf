-- Payouts: one file for the bank, with a line for each payee, made of balances.

create table core.payout_batches (
  id               uuid           not null default gen_random_uuid(),
  status           text           not null default 'prepared',
  minimum          numeric(14, 2) not null,
  prepared_by      text           not null,
  prepared_at      timestamptz    not null default private.now(),
  approved_by      text,
  approved_at      timestamptz,
  exported_by      text,
  exported_at      timestamptz,
  file_ciphertext  text,
  file_key_id      text,
  file_sha256      text,
  settled_by       text,
  settled_at       timestamptz,
  cancelled_by     text,
  cancelled_at     timestamptz,
  cancelled_reason text,
  reject_asked_by  text,
  constraint payout_batches_pkey primary key (id),
  constraint payout_batches_status_known check (status in ('prepared', 'approved', 'exported', 'settled', 'cancelled',
                                                            'rejected')),
  constraint payout_batches_minimum_positive check (minimum >= 0),
  constraint payout_batches_two_people check (approved_by <> prepared_by),
  constraint payout_batches_approved_whole check (num_nulls(approved_by, approved_at) in (0, 2)),
  constraint payout_batches_exported_whole check (num_nulls(exported_by, exported_at, file_ciphertext, file_key_id,
                                                            file_sha256) in (0, 5)),
  constraint payout_batches_cancelled_whole check (num_nulls(cancelled_by, cancelled_at, cancelled_reason) in (0, 3)),
  constraint payout_batches_rejected_by_two check (status <> 'rejected' or reject_asked_by <> cancelled_by),
  constraint payout_batches_steps check (case status
    when 'prepared' then num_nonnulls(approved_at, exported_at, settled_at, cancelled_at) = 0
    when 'approved' then approved_at is not null and num_nonnulls(exported_at, settled_at, cancelled_at) = 0
    when 'exported' then num_nulls(approved_at, exported_at) = 0 and num_nonnulls(settled_at, cancelled_at) = 0
    when 'settled' then num_nulls(approved_at, settled_at) = 0 and cancelled_at is null
        and (exported_at is not null or prepared_by = 'sandbox')
    when 'rejected' then num_nulls(approved_at, exported_at, cancelled_at) = 0 and settled_at is null
    else cancelled_at is not null and num_nonnulls(exported_at, settled_at) = 0 end)
);
comment on table core.payout_batches is
  'What goes to the bank in one file, for all tenants. It is the service''s own; two logins prepare and approve it. '
  'Kept seven years.';
comment on column core.payout_batches.reject_asked_by is
  'Who said first that the bank refused the file. Somebody else has to say so too: then it is rejected, which '
  'cancelled_by, cancelled_at and cancelled_reason tell of.';
comment on column core.payout_batches.file_ciphertext is
  'The file for the bank, gzip and encrypted (AES-256-GCM, key file_key_id) before it reaches the database. Later '
  'exports have the same bytes. file_sha256 is of the file itself.';

create table core.payout_lines (
  partner_id      uuid           not null,
  id              uuid           not null default gen_random_uuid(),
  arrival         bigint         not null generated always as identity,
  batch_id        uuid           not null,
  account_id      uuid,
  owner_id        uuid,
  payee_id        uuid           not null generated always as (coalesce(account_id, partner_id)) stored,
  amount          numeric(14, 2) not null,
  name            text           not null,
  iban_ciphertext text           not null,
  iban_key_id     text           not null,
  iban_last4      text           not null,
  status          text           not null default 'pending',
  paid_at         timestamptz,
  failed_at       timestamptz,
  failed_reason   text,
  failed_effect   text,
  return_asked_by text,
  return_asked_reason text,
  returned        boolean        not null default false,
  booked_on       date,
  booked_again    date,
  surplus_on      date,
  failed_by       text,
  unfailed_at     timestamptz,
  released_at     timestamptz,
  released_reason text,
  constraint payout_lines_pkey primary key (partner_id, id),
  constraint payout_lines_batch_fkey foreign key (batch_id) references core.payout_batches (id),
  constraint payout_lines_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint payout_lines_account_fkey foreign key (partner_id, account_id, owner_id)
      references core.accounts (partner_id, id, owner_id),
  constraint payout_lines_payee_key unique (partner_id, batch_id, payee_id),
  constraint payout_lines_owner_whole check (num_nulls(account_id, owner_id) in (0, 2)),
  constraint payout_lines_amount_positive check (amount > 0),
  constraint payout_lines_name_shape check (length(name) between 1 and 70),
  constraint payout_lines_status_known check (status in ('pending', 'paid', 'failed', 'cancelled')),
  constraint payout_lines_paid check (status <> 'paid' or paid_at is not null),
  constraint payout_lines_failed check (num_nulls(failed_at, failed_reason, failed_effect)
                                        = case status when 'failed' then 0 else 3 end),
  constraint payout_lines_effect_known check (failed_effect in ('account', 'holder', 'none')),
  constraint payout_lines_return_asked check (num_nulls(return_asked_by, return_asked_reason) in (0, 2)
                                              and (return_asked_by is null or status in ('pending', 'paid'))),
  constraint payout_lines_released check (num_nulls(released_at, released_reason) in (0, 2)
                                          and (released_at is null or status = 'failed'))
);
comment on table core.payout_lines is
  'One payment: to a customer (account_id), or to a partner. Name and encrypted IBAN are as they were when it was '
  'prepared. Personal data; kept seven years.';
comment on column core.payout_lines.partner_id is
  'The tenant of the account, or the partner that is paid. The IBAN is encrypted for this tenant.';
comment on column core.payout_lines.failed_effect is
  'What private.failure_effect made of the reason: account bars the IBAN, holder bars the payee, none bars nothing.';
comment on column core.payout_lines.booked_on is 'The day on which a file of the bank says that it was booked.';
comment on column core.payout_lines.booked_again is
  'Another day on which the bank booked it: it paid twice. What comes back first is that surplus.';
comment on column core.payout_lines.surplus_on is 'The day on which the surplus of booked_again came back.';
comment on column core.payout_lines.failed_by is
  'The login that reported it; null if two did. Somebody else releases its IBAN, because both together make it payable '
  'again.';
comment on column core.payout_lines.unfailed_at is
  'When an operator said that it failed here by mistake: the bank had booked it. Once at most.';
comment on column core.payout_lines.return_asked_by is
  'Who read first in a file of the bank that it did not pay or sent back. Somebody else has to read it too.';
comment on column core.payout_lines.returned is
  'The bank booked it and sent it back, so its one entry of the batch has it in.';
comment on column core.payout_lines.released_at is
  'A failed line bars its IBAN, or its payee, despite later payments, until the operator releases it.';
-- serves: the latest payments of a payee
create index payout_lines_payee on core.payout_lines (partner_id, payee_id, arrival desc);
-- serves: the payment that a customer names
create index payout_lines_reference on core.payout_lines (private.payment_reference(id));
-- serves: the accounts whose payment the bank sent back
create index payout_lines_barred on core.payout_lines (partner_id, account_id)
  where failed_effect = 'account' and released_at is null;
-- serves: the lines of a batch
create index payout_lines_batch on core.payout_lines (batch_id);
-- serves: deleting an account
create index payout_lines_account on core.payout_lines (partner_id, account_id) where account_id is not null;
select private.enable_tenant_policy('core.payout_lines', 'select');

create table core.payout_parts (
  partner_id        uuid           not null,
  id                uuid           not null default gen_random_uuid(),
  line_id           uuid           not null,
  ledger_partner_id uuid           not null,
  kind              text           not null,
  account_id        uuid,
  owner_id          uuid,
  payee_id          uuid           not null generated always as (coalesce(account_id, partner_id)) stored,
  amount            numeric(14, 2) not null,
  forgotten         numeric(14, 2) not null default 0,
  constraint payout_parts_pkey primary key (partner_id, id),
  constraint payout_parts_line_fkey foreign key (partner_id, line_id) references core.payout_lines (partner_id, id),
  constraint payout_parts_ledger_fkey foreign key (ledger_partner_id) references core.partners (id),
  constraint payout_parts_account_fkey foreign key (partner_id, account_id, owner_id)
      references core.accounts (partner_id, id, owner_id),
  constraint payout_parts_kind_known check (kind in ('customer', 'partner', 'vat')),
  constraint payout_parts_owner check (case kind when 'customer' then num_nulls(account_id, owner_id) = 0
                                            and ledger_partner_id = partner_id
                                                 else num_nonnulls(account_id, owner_id) = 0 end),
  constraint payout_parts_amount_moves check (amount <> 0)
);
comment on table core.payout_parts is
  'One balance that a line pays, whole, from the ledger of ledger_partner_id. A customer''s line has their own '
  'balance. A partner''s line has its share, the VAT on it, and its customers'' balances; the share in people''s fees '
  'is in the people''s tenant''s ledger. A balance below zero is subtracted. Append-only, kept seven years.';
comment on column core.payout_parts.payee_id is 'The owner of the ledger account it was taken from.';
comment on column core.payout_parts.forgotten is
  'EUR of sales that retention deleted. core.payout_entries has the rest, except VAT, which belongs to no sale.';
-- serves: the parts of a line, a page of them
create index payout_parts_line on core.payout_parts (partner_id, line_id, id);
-- serves: what was paid of a ledger account
create index payout_parts_payee on core.payout_parts (ledger_partner_id, payee_id, kind);
-- serves: deleting an account
create index payout_parts_account on core.payout_parts (partner_id, account_id) where account_id is not null;
select private.enable_tenant_policy('core.payout_parts', 'select');

create table core.payout_entries (
  partner_id        uuid           not null,
  part_id           uuid           not null,
  ledger_partner_id uuid           not null,
  allocation_id     uuid           not null,
  owner_id          uuid,
  amount            numeric(14, 2) not null,
  sold              boolean        not null,
  constraint payout_entries_pkey primary key (partner_id, part_id, allocation_id),
  constraint payout_entries_part_fkey foreign key (partner_id, part_id) references core.payout_parts (partner_id, id),
  constraint payout_entries_sold check (amount > 0 or amount < 0 and not sold)
);
comment on table core.payout_entries is
  'What a part of a payment pays: one whole part of a sale, as it was when the line was prepared. So it is fixed which '
  'line pays what, whatever the bank does with the lines, in any order. Append-only, kept seven years.';
comment on column core.payout_entries.allocation_id is 'The part of a sale, in the ledger of ledger_partner_id.';
comment on column core.payout_entries.sold is
  'Whether the sale stood when the line was prepared. If not, amount is below zero, or it gives back what another line '
  'subtracted.';
-- serves: which payments have a part of a sale
create index payout_entries_allocation on core.payout_entries (ledger_partner_id, allocation_id);
select private.enable_tenant_policy('core.payout_entries', 'select');

create type private.payee as (
  partner_id        uuid,
  account_id        uuid,
  owner_id          uuid,
  amount            numeric,
  name              text,
  iban_ciphertext   text,
  iban_key_id       text,
  iban_last4        text,
  iban_changed_at   timestamptz,
  -- the IBANs that a failed payment bars: [{ciphertext, key_id}], null if there are none
  failed            jsonb,
  reason            text);

create table core.announced_payouts (
  partner_id uuid not null,
  payout_id  uuid not null,
  period     text not null,
  status     text not null,
  constraint announced_payouts_pkey primary key (partner_id, payout_id),
  constraint announced_payouts_partner_id_fkey foreign key (partner_id) references core.partners (id)
);
comment on table core.announced_payouts is
  'The last status that an event told of each payout of GET /partner/payouts; no row before the first.';
select private.enable_tenant_policy('core.announced_payouts', 'select');
