create table core.bookings (
  partner_id    uuid           not null,
  id            uuid           not null default gen_random_uuid(),
  run_id        uuid           not null,
  quarter       date           not null,
  number        int            not null,
  status        text           not null default 'open',
  granted_ere   numeric(18, 6),
  opened_at     timestamptz    not null default private.now(),
  submitted_at  timestamptz,
  withdrawn_at  timestamptz,
  export_sha256 text,
  exported_at   timestamptz,
  constraint bookings_pkey primary key (partner_id, id),
  constraint bookings_number_key unique (partner_id, quarter, number),
  constraint bookings_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint bookings_quarter_is_quarter check (quarter = date_trunc('quarter', quarter)),
  constraint bookings_status_known check (status in ('open', 'submitted', 'withdrawn')),
  constraint bookings_submitted_at check (case status when 'open' then num_nonnulls(submitted_at, withdrawn_at) = 0
                                                      when 'submitted' then submitted_at is not null
                                                          and withdrawn_at is null
                                                      else withdrawn_at is not null end),
  constraint bookings_granted_positive check (granted_ere >= 0),
  constraint bookings_export_whole check (num_nulls(export_sha256, exported_at) in (0, 2))
);
comment on table core.bookings is
  'What a tenant sends to the register for a quarter: the first booking, and supplements for what came later. Kept '
  'seven years.';
comment on column core.bookings.run_id is 'Shared by the bookings of all tenants that were opened together.';
comment on column core.bookings.granted_ere is
  'The total that the register granted, if it differs from the sum of the rows. Sales never exceed it.';
comment on column core.bookings.export_sha256 is
  'SHA-256 of the file for the register, when it was first written. The file never changes.';
-- serves: the one open booking of a quarter
create unique index bookings_open on core.bookings (partner_id, quarter) where status = 'open';
select private.enable_tenant_policy('core.bookings', 'select');

create table core.booking_rows (
  partner_id            uuid           not null,
  id                    uuid           not null default gen_random_uuid(),
  booking_id            uuid           not null,
  account_id            uuid           not null,
  connection_id         uuid           not null,
  owner_id              uuid           not null,
  period                date           not null,
  status                text           not null default 'submitted',
  live                  boolean        not null generated always as (status in ('submitted', 'registered')) stored,
  kwh                   numeric(12, 3) not null,
  session_count         int            not null,
  source                text           not null,
  delivery_id           uuid,
  ere_per_kwh           numeric(9, 6)  not null,
  ean_code              text           not null,
  ean_exclusive         boolean        not null,
  signatory             text           not null,
  postal_code           text           not null,
  house_number          int            not null,
  house_number_addition text,
  street                text,
  city                  text,
  mandate_id            uuid           not null,
  mandate_signed_at     timestamptz    not null,
  mandate_valid_from    date           not null,
  mandate_valid_until   date           not null,
  fee_pct               numeric(5, 2)  not null,
  partner_share_pct     numeric(5, 2)  not null,
  share_partner_id      uuid,
  charger_brand         text,
  charger_model         text,
  charger_serial        text,
  flags                 text[]         not null default '{}',
  constraint booking_rows_pkey primary key (partner_id, id),
  constraint booking_rows_owner_key unique (partner_id, id, owner_id),
  constraint booking_rows_booking_fkey foreign key (partner_id, booking_id) references core.bookings (partner_id, id),
  constraint booking_rows_connection_fkey foreign key (partner_id, connection_id, owner_id)
      references core.connections (partner_id, id, owner_id),
  constraint booking_rows_mandate_fkey foreign key (partner_id, mandate_id) references core.mandates (partner_id, id),
  constraint booking_rows_delivery_fkey foreign key (partner_id, delivery_id)
      references core.deliveries (partner_id, id),
  constraint booking_rows_period_is_month check (period = date_trunc('month', period)),
  constraint booking_rows_status_known check (status in ('submitted', 'registered', 'rejected', 'withdrawn')),
  constraint booking_rows_kwh_positive check (kwh > 0),
  constraint booking_rows_source_known check (source in ('delivered_total', 'own_sessions')),
  constraint booking_rows_source_has_delivery check ((source = 'delivered_total') = (delivery_id is not null)),
  constraint booking_rows_percentages check (fee_pct between 0 and 100 and partner_share_pct between 0 and 100),
  constraint booking_rows_flags_known check (
    flags <@ '{beyond_power,above_average,too_many_sessions,repeated_total,no_sessions,meter_gap,'
             'differs_from_sessions,other_meter}')
-- each row is updated once, when it is credited: the free space keeps that on its page, without touching an index
) with (fillfactor = 50);
comment on table core.booking_rows is
  'One connection and month of a booking, with the facts at its submission, which never change. Personal data; kept '
  'seven years.';
comment on column core.booking_rows.delivery_id is
  'The delivery that brought the kWh; null if they are the sum of charging sessions.';
comment on column core.booking_rows.live is 'Neither withdrawn nor rejected: no other booking has its kWh.';
comment on column core.booking_rows.share_partner_id is
  'The partner that shares in the fee: the account''s CPO, or the partner that had brought the person then. Null: the '
  'service keeps the fee.';
comment on column core.booking_rows.flags is 'What made the month look implausible. It excludes nothing.';
-- serves: a month of a connection is booked once
create unique index booking_rows_live_month on core.booking_rows (partner_id, connection_id, period) where live;
-- serves: a month of an EAN is booked once; unique across tenants on purpose, and only private.reserve_months relies on
-- it
create unique index booking_rows_live_ean on core.booking_rows (ean_code, period) where live and ean_exclusive;
-- serves: why the register rejected a month, and deleting a connection
create index booking_rows_connection on core.booking_rows (partner_id, connection_id, period);
-- serves: deleting a mandate
create index booking_rows_mandate on core.booking_rows (partner_id, mandate_id);
-- serves: deleting a delivery
create index booking_rows_delivery on core.booking_rows (partner_id, delivery_id) where delivery_id is not null;
-- serves: the rows of a booking
create index booking_rows_booking on core.booking_rows (partner_id, booking_id);
select private.enable_tenant_policy('core.booking_rows', 'select');

create table core.credits (
  partner_id      uuid           not null,
  id              uuid           not null default gen_random_uuid(),
  row_id          uuid           not null,
  owner_id        uuid           not null,
  accepted_kwh    numeric(12, 3) not null,
  ere             numeric(18, 6) not null,
  reason          text,
  credited_at     timestamptz    not null default private.now(),
  reversed_at     timestamptz,
  reversed_reason text,
  constraint credits_pkey primary key (partner_id, id),
  constraint credits_row_fkey foreign key (partner_id, row_id, owner_id)
      references core.booking_rows (partner_id, id, owner_id),
  constraint credits_accepted_positive check (accepted_kwh >= 0 and ere >= 0),
  constraint credits_reason_length check (length(reason) between 1 and 500),
  constraint credits_reversal_whole check (num_nulls(reversed_at, reversed_reason) in (0, 2))
);
comment on table core.credits is
  'What the register granted for a row: the accepted kWh, 0 if rejected, and their ERE, cut to six decimals. A '
  'reversed credit is kept. Kept seven years.';
-- serves: the one credit of a row that is not reversed
create unique index credits_standing on core.credits (partner_id, row_id) where reversed_at is null;
-- serves: deleting a row
create index credits_row on core.credits (partner_id, row_id);
select private.enable_tenant_policy('core.credits', 'select');

create type private.judged_month as (
  connection_id uuid,
  account_id    uuid,
  ean_code      text,
  period        date,
  kwh           numeric,
  session_count int,
  delivery_id   uuid,
  mandate_id    uuid,
  ere_per_kwh   numeric,
  flags         text[],
  reason        text);

create type private.credit_line as (line int, row_id uuid, accepted_kwh numeric, reason text, problem text);

create type private.credited_row as (
  credit_id     uuid,
  row_id        uuid,
  owner_id      uuid,
  account_id    uuid,
  connection_id uuid,
  period        date,
  kwh           numeric,
  accepted_kwh  numeric,
  ere           numeric,
  reason        text);
