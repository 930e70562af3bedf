-- Which delivered months count toward ERE, and what they are worth. Whoever shows ERE reads core.counted_months.

create table core.ere_factors (
  delivery_year   int           not null,
  renewable_share numeric(5, 4) not null,
  -- 183 g CO2-eq per MJ avoided, 3.6 MJ per kWh, 1000 g per ERE
  ere_per_kwh     numeric(9, 6) not null generated always as (renewable_share * 183 * 3.6 / 1000) stored,
  bookable_until  date,
  constraint ere_factors_pkey primary key (delivery_year),
  constraint ere_factors_share_is_share check (renewable_share between 0 and 1)
);
comment on table core.ere_factors is 'What a delivered kWh is worth in ERE, by the year of delivery. Published by the authority; reference data. A share by which something was booked never changes.';
comment on column core.ere_factors.bookable_until is 'The last day on which the register takes months of this year; null while it has not said.';
alter table core.ere_factors enable row level security;
create policy "api functions read the factors" on core.ere_factors for select to api_owner using (true);
grant select on core.ere_factors to api_owner;

insert into core.ere_factors (delivery_year, renewable_share) values (2026, 0.505);

create view core.counted_months with (security_invoker = true) as
select d.partner_id, d.connection_id, d.period, d.total_kwh, d.session_count, d.status, f.ere_per_kwh, d.total_kwh * f.ere_per_kwh as ere, d.received_at
  from core.delivered_months d
  join core.ere_factors f on f.delivery_year = extract(year from d.period)
 where d.locked
    or d.status = 'staged' and exists (
         select from core.mandates m
          where m.partner_id = d.partner_id and m.connection_id = d.connection_id
            and d.period between m.valid_from and m.covered_until);
comment on view core.counted_months is
  'The delivered months that count toward ERE: inside a mandate, or booked already. A month that is staged because nobody has signed yet is not among them.';
grant select on core.counted_months to api_owner;
