-- Sales of ERE, and how each is split over the rows of its booking.

create table core.sales (
  partner_id  uuid           not null,
  id          uuid           not null default gen_random_uuid(),
  arrival     bigint         not null generated always as identity,
  booking_id  uuid           not null,
  reference   text           not null,
  buyer       text           not null,
  ere         numeric(18, 6) not null,
  price       numeric(12, 6) not null,
  gross       numeric(14, 2) not null,
  sold_on     date           not null,
  recorded_at timestamptz    not null default private.now(),
  constraint sales_pkey primary key (partner_id, id),
  constraint sales_reference_key unique (partner_id, reference),
  constraint sales_booking_fkey foreign key (partner_id, booking_id) references core.bookings (partner_id, id),
  constraint sales_lengths check (length(reference) between 1 and 120 and length(buyer) between 1 and 120),
  constraint sales_positive check (ere > 0 and price > 0 and gross >= 0)
);
comment on table core.sales is
  'A quantity of ERE of one booking, sold at a price in euro. reference is the buyer''s or our own number for it. Kept '
  'seven years.';
comment on column core.sales.arrival is 'The order in which sales were recorded and are paid out.';
-- serves: what of a booking was sold
create index sales_booking on core.sales (partner_id, booking_id);
select private.enable_tenant_policy('core.sales', 'select');

create table core.sale_reversals (
  partner_id  uuid        not null,
  id          uuid        not null default gen_random_uuid(),
  sale_id     uuid        not null,
  reason      text        not null,
  recover     boolean     not null,
  reversed_at timestamptz not null default private.now(),
  constraint sale_reversals_pkey primary key (partner_id, id),
  constraint sale_reversals_sale_fkey foreign key (partner_id, sale_id) references core.sales (partner_id, id),
  constraint sale_reversals_reason_length check (length(reason) between 1 and 500)
);
comment on table core.sale_reversals is
  'A decision to take a sale back: what was not paid out, or with recover all of it. Append-only, kept seven years.';
-- serves: the reversals of a sale
create index sale_reversals_sale on core.sale_reversals (partner_id, sale_id);
select private.enable_tenant_policy('core.sale_reversals', 'select');

create table core.allocations (
  partner_id        uuid           not null,
  id                uuid           not null default gen_random_uuid(),
  sale_id           uuid           not null,
  row_id            uuid           not null,
  account_id        uuid           not null,
  owner_id          uuid           not null,
  share_partner_id  uuid,
  ere               numeric(18, 6) not null,
  gross             numeric(14, 2) not null,
  fee_pct           numeric(5, 2)  not null,
  partner_share_pct numeric(5, 2)  not null,
  fee               numeric(14, 2) not null generated always as (trunc(gross * fee_pct * 0.01, 2)) stored,
  partner_share     numeric(14, 2) not null,
  net               numeric(14, 2) not null generated always as (gross - trunc(gross * fee_pct * 0.01, 2)) stored,
  reversal_id       uuid,
  constraint allocations_pkey primary key (partner_id, id),
  constraint allocations_sale_fkey foreign key (partner_id, sale_id) references core.sales (partner_id, id),
  constraint allocations_row_fkey foreign key (partner_id, row_id, owner_id)
      references core.booking_rows (partner_id, id, owner_id),
  constraint allocations_reversal_fkey foreign key (partner_id, reversal_id)
      references core.sale_reversals (partner_id, id),
  constraint allocations_row_key unique (partner_id, sale_id, row_id),
  constraint allocations_positive check (ere > 0 and gross >= 0),
  constraint allocations_partner_share check (
    partner_share = case when share_partner_id is null then 0
                         else trunc(trunc(gross * fee_pct * 0.01, 2) * partner_share_pct * 0.01, 2) end)
);
comment on table core.allocations is
  'A row''s part of a sale: its ERE and its cents. The customer gets net, the partner partner_share, the service the '
  'rest of the fee, by the percentages of the mandate. Written once, never computed again. Kept seven years.';
comment on column core.allocations.account_id is 'As in the row, like owner, percentages and share_partner_id.';
comment on column core.allocations.reversal_id is 'Null while it stands.';
-- serves: what of a row was sold
create index allocations_row on core.allocations (partner_id, row_id);
-- serves: what a partner earned by the people it brought, among all that the people's tenant sold
create index allocations_share on core.allocations (partner_id, share_partner_id) where share_partner_id is not null;
-- serves: what a customer was sold
create index allocations_account on core.allocations (partner_id, account_id);
-- serves: deleting a reversal, whose foreign key looks here
create index allocations_reversal on core.allocations (partner_id, reversal_id) where reversal_id is not null;
select private.enable_tenant_policy('core.allocations', 'select');
