-- Figures: what a delivery year yields, once the operator publishes it.

-- The average price of an ERE of a delivery year: euro, six decimals, gross by ERE of its unreversed sales. Null before the first. Only
-- definers call it, because it is of all the tenant's customers.
create function private.average_price(tenant uuid, year int) returns numeric
language plpgsql stable
as $$
begin
  return (
    select round((sum(s.gross) - coalesce(sum(v.gross), 0)) / nullif(sum(s.ere) - coalesce(sum(v.ere), 0), 0), 6)
      from core.bookings b
      join core.sales s on s.partner_id = b.partner_id and s.booking_id = b.id
      -- the parts of a sale sum to the sale, so only reversed parts are looked up
      left join lateral (
        select sum(a.ere) as ere, sum(a.gross) as gross
          from core.allocations a
         where a.partner_id = s.partner_id and a.sale_id = s.id and a.reversal_id is not null
           and exists (select from core.sale_reversals r where r.partner_id = s.partner_id and r.sale_id = s.id)) v on true
     where b.partner_id = tenant and b.quarter >= make_date(year, 1, 1) and b.quarter < make_date(year + 1, 1, 1));
end $$;

-- Adds up a booking again, its row locked: the last step of every change to it.
create function private.sum_booking(tenant uuid, booking uuid) returns void
language plpgsql
-- Looks up by key, from the rows of the booking on: the planner would read tables whole that were empty a moment ago.
set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
begin
  delete from core.account_bookings s where s.partner_id = tenant and s.booking_id = booking;
  insert into core.account_bookings select * from core.booking_sums s where s.partner_id = tenant and s.booking_id = booking;
end $$;

-- Stores the average price of a year beside its figures, if they are published.
create function private.price_figures(tenant uuid, year int) returns void
language plpgsql
as $$
begin
  -- whoever comes second sees what the first did: a sale the figures, and figures the sale
  perform pg_advisory_xact_lock(hashtextextended('figures of ' || tenant || ' ' || year, 0));
  update core.figures f set price = private.average_price(tenant, year) where f.partner_id = tenant and f.delivery_year = year;
end $$;

-- Publishes a year: positions of the tenant then say what it yields. False: it was published already.
create function private.publish_figures(tenant uuid, year int) returns boolean
language plpgsql
as $$
begin
  insert into core.figures (partner_id, delivery_year) values (tenant, year) on conflict on constraint figures_pkey do nothing;
  if not found then
    return false;
  end if;
  perform private.price_figures(tenant, year), private.emit_published(tenant, year);
  return true;
end $$;

-- What an account earns: the object ere of GET /v1/ere-positions. It is of the latest of these published years (newest first) with months
-- that count, else of the first. No row if no year is published. kWh as accepted once credited; ERE with two decimals; the price with six.
-- Planned as part of the calling statement.
create function private.position_ere(tenant uuid, account uuid, years int[]) returns table (ere json)
language sql stable
begin atomic
  with earned as (
    select s.delivery_year as year, s.kwh, s.ere, s.registered_ere, s.sold_ere, s.gross, s.net, s.lowest_fee, s.highest_fee, s.changed_at
      from core.account_bookings s
     where s.partner_id = tenant and s.account_id = account and s.delivery_year = any (years)
    union all
    select extract(year from m.period)::int as year, m.total_kwh, m.ere, 0, 0, 0, 0, null::numeric as lowest_fee, null::numeric as highest_fee, m.received_at
      from core.connections c
      join core.counted_months m on m.partner_id = c.partner_id and m.connection_id = c.id
     where c.partner_id = tenant and c.account_id = account and m.status = 'staged' and extract(year from m.period)::int = any (years)
  ), latest as (
    select e.year, sum(e.kwh) as kwh, sum(e.ere) as ere, sum(e.registered_ere) as registered, sum(e.sold_ere) as sold, sum(e.gross) as gross,
           sum(e.net) as net, case when min(e.lowest_fee) = max(e.highest_fee) then min(e.lowest_fee) end as fee_pct, max(e.changed_at) as changed_at
      from earned e group by e.year order by e.year desc limit 1
  )
  select row_to_json(f)
    from (select 1) one
    left join latest l on true
    join core.figures p on p.partner_id = tenant and p.delivery_year = coalesce(l.year, years[1])
    join core.ere_factors k on k.delivery_year = p.delivery_year
    cross join lateral (
      select p.delivery_year, coalesce(l.kwh, 0) as kwh_counted, k.renewable_share, k.ere_per_kwh, coalesce(round(l.ere, 2), 0) as ere_estimated,
             coalesce(round(l.registered, 2), 0) as ere_registered, coalesce(round(l.sold, 2), 0) as ere_sold,
             coalesce(round(l.registered - l.sold, 2), 0) as reserved_ere, p.price as price_per_ere_eur,
             coalesce(l.gross, 0) as gross_eur, l.fee_pct, coalesce(l.net, 0) as net_eur, 'EUR' as currency,
             private.iso(greatest(p.published_at, l.changed_at)) as updated_at) f
   where cardinality(years) > 0;
end;
