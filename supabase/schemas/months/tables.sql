create type core.replaced_total as (
  period        date,
  total_kwh     numeric(12, 3),
  session_count int,
  delivery_id   uuid,
  received_at   timestamptz);
comment on type core.replaced_total is
  'What a month held before, and since when. The delivery is null for a sum of charging sessions.';

create table core.deliveries (
  partner_id    uuid        not null,
  id            uuid        not null default gen_random_uuid(),
  connection_id uuid        not null,
  owner_id      uuid        not null default private.owner_id(),
  client_id     uuid        not null,
  request_id    text        not null,
  body          text        not null,
  body_sha256   text        not null,
  received_at   timestamptz not null default private.now(),
  replaced      core.replaced_total[],
  upload_id     uuid,
  constraint deliveries_pkey primary key (partner_id, id),
  constraint deliveries_connection_key unique (partner_id, connection_id, id),
  constraint deliveries_connection_fkey foreign key (partner_id, connection_id, owner_id)
      references core.connections (partner_id, id, owner_id)
);
comment on table core.deliveries is
  'Months of a connection as they came in: a call of sessions:batch, or the rows of a file. For the regulator''s '
  'audit. Append-only, kept seven years.';
comment on column core.deliveries.body is 'The body of the call; of a file its rows, as JSON by heading.';
comment on column core.deliveries.upload_id is 'The file (core.uploads); null for a call.';
comment on column core.deliveries.replaced is
  'Each total that it replaced; null if none. Part of the row: rows of their own, with indexes and keys, cost a batch '
  'a sixth of its time. core.replaced_months shows one a row.';
-- serves: whether an upload is kept
create index deliveries_upload on core.deliveries (partner_id, upload_id) where upload_id is not null;
select private.enable_tenant_policy('core.deliveries', 'select, insert');

create table core.delivered_months (
  partner_id    uuid           not null,
  connection_id uuid           not null,
  owner_id      uuid           not null default private.owner_id(),
  period        date           not null,
  total_kwh     numeric(12, 3) not null,
  session_count int            not null,
  source        text           not null,
  status        text           not null,
  locked        boolean        not null generated always as (status in ('submitted', 'registered')) stored,
  accepted_kwh  numeric(12, 3),
  delivery_id   uuid,
  received_at   timestamptz    not null,
  constraint delivered_months_pkey primary key (partner_id, connection_id, period),
  constraint delivered_months_connection_fkey foreign key (partner_id, connection_id, owner_id)
      references core.connections (partner_id, id, owner_id),
  -- with its connection, so that deleting a delivery looks at the months of one connection
  constraint delivered_months_delivery_fkey foreign key (partner_id, connection_id, delivery_id)
    references core.deliveries (partner_id, connection_id, id),
  constraint delivered_months_period_is_month check (period = date_trunc('month', period)),
  constraint delivered_months_total_kwh_range check (total_kwh between 0 and 1000000),
  constraint delivered_months_session_count_positive check (session_count >= 0),
  constraint delivered_months_status_known check (status in ('staged', 'outside_mandate', 'submitted',
                                                             'registered', 'rejected'))
);
-- serves: the months of a quarter, for a booking. Neither tenant nor month leads: else the planner, while it has no
-- statistics, looks a month up by it, and not by the primary key
create index delivered_months_quarter on core.delivered_months (private.quarter_of(period), partner_id);
-- serves: the accounts with a month that the register rejected and nobody delivered again
create index delivered_months_rejected on core.delivered_months (partner_id, connection_id) where status = 'rejected';
comment on table core.delivered_months is 'The kWh of one connection in one month. Kept seven years.';
comment on column core.delivered_months.locked is 'Registered as ERE, or about to be: deliveries no longer change it.';
comment on column core.delivered_months.accepted_kwh is
  'What the register accepted, copied from core.credits, so that a position need not look it up. Null until then.';
comment on column core.delivered_months.delivery_id is
  'Null if the month is the sum of charging sessions that came in one by one.';
select private.enable_tenant_policy('core.delivered_months', 'select, insert, update');

create view core.replaced_months with (security_invoker = true) as
select d.partner_id, d.connection_id, r.period, r.total_kwh, r.session_count, r.delivery_id, r.received_at,
    d.id as replaced_by, d.received_at as replaced_at
  from core.deliveries d
  cross join unnest(d.replaced) r;
comment on view core.replaced_months is
  'Each total that a later delivery replaced, with the delivery that brought it and the one that replaced it.';

create view core.connection_coverage with (security_invoker = true) as
select m.partner_id,
       m.connection_id,
       bool_or(m.status <> 'declined') as decided,
       range_agg(daterange(m.valid_from, m.covered_until,
                           '[]')) filter (where m.covered_until >= m.valid_from) as covered
  from core.mandates m
 group by m.partner_id, m.connection_id;
comment on view core.connection_coverage is
  'Whether anybody decided about a mandate of a connection, and the days its mandates cover. Read once for all its '
  'months; no row if nobody was asked.';
grant select on core.connection_coverage to api_owner;

-- Which delivered months count toward ERE, and what they are worth. All code that shows ERE reads core.counted_months.

create table core.ere_factors (
  delivery_year   int           not null,
  renewable_share numeric(5, 4) not null,
  -- 183 g CO2-eq per MJ avoided, 3.6 MJ per kWh, 1000 g per ERE
  ere_per_kwh     numeric(9, 6) not null generated always as (renewable_share * 183 * 3.6 / 1000) stored,
  bookable_until  date,
  constraint ere_factors_pkey primary key (delivery_year),
  constraint ere_factors_share_is_share check (renewable_share between 0 and 1)
);
comment on table core.ere_factors is
  'What a delivered kWh is worth in ERE, by the year of delivery. Published by the authority; reference data. A share '
  'by which something was booked never changes.';
comment on column core.ere_factors.bookable_until is
  'The last day on which the register takes months of this year; null until it is known.';
create policy "api functions read the factors" on core.ere_factors for select to api_owner using (true);
grant select on core.ere_factors to api_owner;

insert into core.ere_factors (delivery_year, renewable_share) values (2026, 0.505);

create view core.counted_months with (security_invoker = true) as
select d.partner_id, d.connection_id, d.period, d.total_kwh, d.session_count, d.status, f.ere_per_kwh,
    d.total_kwh * f.ere_per_kwh as ere, d.received_at
  from core.delivered_months d
  join core.ere_factors f on f.delivery_year = extract(year from d.period)
 where d.locked
    or d.status = 'staged' and exists (
         select from core.connection_coverage k
          where k.partner_id = d.partner_id and k.connection_id = d.connection_id and d.period <@ k.covered);
comment on view core.counted_months is
  'The delivered months that count toward ERE: inside a mandate, or booked already. A month that is staged because '
  'nobody has signed yet does not count.';
grant select on core.counted_months to api_owner;
