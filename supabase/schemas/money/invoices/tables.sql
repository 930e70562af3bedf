create table core.vat_rates (
  valid_from date          not null,
  rate       numeric(5, 2) not null,
  constraint vat_rates_pkey primary key (valid_from),
  constraint vat_rates_rate_is_percentage check (rate between 0 and 100)
);
comment on table core.vat_rates is
  'The Dutch standard rate of VAT, in percent, from a day on. Reference data; a rate by which an invoice was issued '
  'never changes.';

insert into core.vat_rates (valid_from, rate) values ('2012-10-01', 21);

create table core.invoices (
  partner_id uuid           not null,
  id         uuid           not null default gen_random_uuid(),
  year       int            not null,
  number     int            not null,
  quarter    date           not null,
  issued_on  date           not null,
  issued_by  text           not null,
  vat_regime text           not null,
  vat_rate   numeric(5, 2)  not null,
  net        numeric(14, 2) not null,
  vat        numeric(14, 2) not null,
  corrects   uuid,
  name       text           not null,
  company    jsonb          not null,
  months     jsonb          not null default '[]',
  constraint invoices_pkey primary key (partner_id, id),
  constraint invoices_number_key unique (partner_id, year, number),
  constraint invoices_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint invoices_number_positive check (number > 0),
  constraint invoices_quarter_is_quarter check (quarter = date_trunc('quarter', quarter)),
  constraint invoices_year_of_issue check (year = extract(year from issued_on)),
  constraint invoices_regime_known check (vat_regime in ('none', 'small_business', 'regular', 'reverse_charge')),
  constraint invoices_rate_of_regime check (vat_regime = 'regular' or vat_rate = 0),
  constraint invoices_corrects_fkey foreign key (partner_id, corrects) references core.invoices (partner_id, id),
  constraint invoices_vat_of_net check (case when corrects is null then vat = round(net * vat_rate * 0.01, 2)
                                             else abs(vat - net * vat_rate * 0.01) <= 0.01 end),
  constraint invoices_credit_notes_correct check (case when corrects is null then net > 0 else net < 0 end)
);
comment on table core.invoices is
  'A self-billing invoice: the partner''s share in the fees of a quarter of delivery, less what earlier invoices had. '
  'Or a credit note, of what was taken back from an invoice. Numbered without gaps by partner and year of issue, with '
  'the partner''s name and company data of then. Append-only, kept seven years.';
comment on column core.invoices.vat is
  'On top of the share, rounded half up once, away from zero. For the credit notes of one invoice the sum is rounded, '
  'so that together they have the invoice''s cents.';
comment on column core.invoices.months is
  'What it charges by month of delivery, as private.invoice_months found when it was issued: it outlives the sales.';
comment on column core.invoices.corrects is
  'The invoice that a credit note corrects, at its rate; null for an invoice.';
-- serves: the credit notes of an invoice
create index invoices_corrects on core.invoices (partner_id, corrects) where corrects is not null;
select private.enable_tenant_policy('core.invoices', 'select');

create table core.invoice_entries (
  partner_id        uuid           not null,
  ledger_partner_id uuid           not null,
  entry_id          bigint         not null,
  invoice_id        uuid           not null,
  amount            numeric(14, 2) not null,
  constraint invoice_entries_pkey primary key (partner_id, ledger_partner_id, entry_id),
  constraint invoice_entries_invoice_fkey foreign key (partner_id, invoice_id) references core.invoices (partner_id, id)
);
comment on table core.invoice_entries is
  'An entry of a ledger (the partner''s own, or the people''s tenant''s) that an invoice charges, each on one. '
  'Append-only, kept seven years.';
-- serves: the entries of an invoice
create index invoice_entries_invoice on core.invoice_entries (partner_id, invoice_id);
select private.enable_tenant_policy('core.invoice_entries', 'select');
