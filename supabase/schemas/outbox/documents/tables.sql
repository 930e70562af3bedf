create table core.documents (
  partner_id  uuid        not null,
  id          uuid        not null default gen_random_uuid(),
  account_id  uuid,
  owner_id    uuid        default private.owner_id(),
  mandate_id  uuid,
  line_id     uuid,
  part_id     uuid,
  invoice_id  uuid,
  year        int,
  year_sha256 text,
  -- compressed already
  pdf         bytea       storage external,
  sha256      text,
  created_at  timestamptz not null default private.now(),
  due_at      timestamptz not null default private.now(),
  rendered_at timestamptz,
  constraint documents_pkey primary key (partner_id, id),
  constraint documents_account_fkey foreign key (partner_id, account_id, owner_id)
      references core.accounts (partner_id, id, owner_id),
  constraint documents_mandate_fkey foreign key (partner_id, mandate_id) references core.mandates (partner_id, id),
  constraint documents_line_fkey foreign key (partner_id, line_id) references core.payout_lines (partner_id, id),
  constraint documents_part_fkey foreign key (partner_id, part_id) references core.payout_parts (partner_id, id),
  constraint documents_invoice_fkey foreign key (partner_id, invoice_id) references core.invoices (partner_id, id),
  constraint documents_mandate_key unique (partner_id, mandate_id),
  constraint documents_line_key unique (partner_id, line_id),
  constraint documents_part_key unique (partner_id, part_id),
  constraint documents_invoice_key unique (partner_id, invoice_id),
  constraint documents_year_key unique (partner_id, account_id, year),
  constraint documents_of_one_thing check (num_nonnulls(mandate_id, line_id, part_id, invoice_id, year) = 1),
  constraint documents_year_whole check (num_nulls(year, year_sha256) in (0, 2)),
  constraint documents_of_somebody check (num_nulls(account_id, owner_id) = case when invoice_id is null then 0
      else 2 end),
  constraint documents_rendered_whole check (num_nulls(pdf, sha256, rendered_at) in (0, 3)),
  constraint documents_sha256_true check (sha256 = encode(sha256(pdf), 'hex'))
);
comment on table core.documents is
  'A document to keep, as PDF: a signed mandate, a statement, a customer''s year, or an invoice, without an account. '
  'Personal data. Kept as long as the evidence of what it shows, and deleted with it.';
comment on column core.documents.line_id is 'The payout line of a statement; null for other documents.';
comment on column core.documents.part_id is
  'A settlement: a customer''s part of a payment to the CPO; null for other documents.';
comment on column core.documents.year is 'The year of an account''s overview; null for other documents.';
comment on column core.documents.year_sha256 is
  'SHA-256 of what a year''s overview says. If a later sale changes that, the overview is written again.';
comment on column core.documents.created_at is 'When it was requested: the document gives this moment as its own.';
comment on column core.documents.due_at is 'When it may be rendered, until it is. Each lease moves it on.';
-- serves: the documents to be rendered next
create index documents_due on core.documents (due_at) where pdf is null;
-- serves: the overviews to delete
create index documents_year on core.documents (year) where year is not null;
select private.enable_tenant_policy('core.documents', 'select, insert, update');
