create table core.figures (
  partner_id    uuid        not null,
  delivery_year int         not null,
  published_at  timestamptz not null default private.now(),
  price         numeric,
  constraint figures_pkey primary key (partner_id, delivery_year),
  constraint figures_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint figures_factor_fkey foreign key (delivery_year) references core.ere_factors (delivery_year)
);
comment on table core.figures is
  'A delivery year whose figures are published to a tenant: positions then say what it yields. Never deleted.';
comment on column core.figures.price is
  'private.average_price of the year, updated when a sale is recorded or taken back.';
select private.enable_tenant_policy('core.figures', 'select');

create view core.earned_months with (security_invoker = true) as
select m.partner_id, m.connection_id, m.period, m.ere_per_kwh, r.id as row_id, r.booking_id, r.account_id, r.owner_id,
    r.fee_pct, r.partner_share_pct,
       coalesce(k.accepted_kwh, m.total_kwh) as kwh, coalesce(k.accepted_kwh, m.total_kwh) * m.ere_per_kwh as ere,
       coalesce(k.ere, 0) as registered_ere, coalesce(s.ere, 0) as sold_ere, coalesce(s.gross, 0) as gross,
           coalesce(s.net, 0) as net,
       s.sold_on, greatest(m.received_at, k.credited_at, s.changed_at) as changed_at
  from core.counted_months m
  left join core.booking_rows r on r.partner_id = m.partner_id and r.connection_id = m.connection_id
      and r.period = m.period and r.live
  -- by key, also right after the credits were written, when the planner still expects none
  left join lateral (select * from core.credits c where c.partner_id = r.partner_id and c.row_id = r.id
                     and c.reversed_at is null offset 0) k on true
  left join lateral (
    select sum(a.ere) filter (where a.reversal_id is null) as ere,
        sum(a.gross) filter (where a.reversal_id is null) as gross,
           sum(a.net) filter (where a.reversal_id is null) as net,
               min(s.sold_on) filter (where a.reversal_id is null) as sold_on,
           max(greatest(s.recorded_at, v.reversed_at)) as changed_at
      from core.allocations a
      join core.sales s on s.partner_id = a.partner_id and s.id = a.sale_id
      left join core.sale_reversals v on v.partner_id = a.partner_id and v.id = a.reversal_id
     where a.partner_id = r.partner_id and a.row_id = r.id) s on true;
comment on view core.earned_months is
  'Each month that counts: kWh accepted, or still to be accepted, their exact ERE, and the ERE credited and sold. '
  'Euro.';
grant select on core.earned_months to api_owner;

create table core.account_bookings (
  partner_id     uuid           not null,
  account_id     uuid           not null,
  booking_id     uuid           not null,
  owner_id       uuid           not null,
  delivery_year  int            not null,
  kwh            numeric(18, 3) not null,
  ere            numeric        not null,
  registered_ere numeric(18, 6) not null,
  sold_ere       numeric(18, 6) not null,
  gross          numeric(14, 2) not null,
  net            numeric(14, 2) not null,
  lowest_fee     numeric(5, 2)  not null,
  highest_fee    numeric(5, 2)  not null,
  changed_at     timestamptz    not null,
  constraint account_bookings_pkey primary key (partner_id, account_id, booking_id),
  constraint account_bookings_booking_fkey foreign key (partner_id, booking_id)
      references core.bookings (partner_id, id)
);
comment on table core.account_bookings is
  'core.booking_sums for each account of a booking. Each change to a booking stores it, so that a position need not '
  'add up a year. Kept as long as the booking.';
-- serves: the sums of a booking
create index account_bookings_booking on core.account_bookings (partner_id, booking_id);
select private.enable_tenant_policy('core.account_bookings', 'select');

create view core.booking_sums with (security_invoker = true) as
select m.partner_id, m.account_id, m.booking_id, m.owner_id, extract(year from min(m.period))::int as delivery_year,
    sum(m.kwh) as kwh, sum(m.ere) as ere,
       sum(m.registered_ere) as registered_ere, sum(m.sold_ere) as sold_ere, sum(m.gross) as gross, sum(m.net) as net,
       min(m.fee_pct) as lowest_fee, max(m.fee_pct) as highest_fee, max(m.changed_at) as changed_at
  from core.earned_months m
 where m.booking_id is not null
 group by m.partner_id, m.account_id, m.booking_id, m.owner_id;
comment on view core.booking_sums is
  'Sums by account and booking: kWh, ERE (exact), ERE credited and sold, euro, the lowest and the highest fee.';
grant select on core.booking_sums to api_owner;

create table core.account_years (
  partner_id     uuid           not null,
  account_id     uuid           not null,
  delivery_year  int            not null,
  owner_id       uuid           not null,
  kwh            numeric(18, 3) not null,
  ere            numeric        not null,
  registered_ere numeric(18, 6) not null,
  sold_ere       numeric(18, 6) not null,
  gross          numeric(14, 2) not null,
  net            numeric(14, 2) not null,
  fee_pct        numeric(5, 2),
  changed_at     timestamptz    not null,
  constraint account_years_pkey primary key (partner_id, account_id, delivery_year)
);
comment on table core.account_years is
  'core.year_sums for each account and year. private.sum_booking stores it, so that a position reads one row. Kept as '
  'long as the bookings.';
comment on column core.account_years.fee_pct is 'Null if it was not the same all year.';
select private.enable_tenant_policy('core.account_years', 'select');

create view core.year_sums with (security_invoker = true) as
select b.partner_id, b.account_id, b.delivery_year, b.owner_id, sum(b.kwh) as kwh, sum(b.ere) as ere,
       sum(b.registered_ere) as registered_ere, sum(b.sold_ere) as sold_ere, sum(b.gross) as gross, sum(b.net) as net,
       case when min(b.lowest_fee) = max(b.highest_fee) then min(b.lowest_fee) end as fee_pct,
           max(b.changed_at) as changed_at
  from core.account_bookings b
 group by b.partner_id, b.account_id, b.delivery_year, b.owner_id;
comment on view core.year_sums is
  'What the bookings of an account sum to in a year: kWh, ERE (exact), ERE credited and sold, euro, and the fee if it '
  'was the same all year.';
grant select on core.year_sums to api_owner;
