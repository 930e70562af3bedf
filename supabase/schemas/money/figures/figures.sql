-- Figures: what a delivery year yields, once the operator publishes it.

-- The average price of an ERE of a year: gross by ERE of its unreversed sales. Only definers call it: it is of all the
-- tenant's customers.
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
           and exists (select from core.sale_reversals r where r.partner_id = s.partner_id and r.sale_id = s.id)) v
               on true
     where b.partner_id = tenant and b.quarter >= make_date(year, 1, 1) and b.quarter < make_date(year + 1, 1, 1));
end $$;

-- One transaction at a time changes what a year sums to, before it opens ledger accounts or publishes. Who comes second
-- sees what the first did.
create function private.lock_year(tenant uuid, year int) returns void
language sql
as $$ select private.lock('year', tenant || ' ' || year) $$;

-- Stores the average price of a year beside its figures, if they are published.
create function private.price_figures(tenant uuid, year int) returns void
language plpgsql
as $$
begin
  perform private.lock_year(tenant, year);
  update core.figures f set price = private.average_price(tenant, year) where f.partner_id = tenant
      and f.delivery_year = year;
end $$;

-- Adds up a booking again, and the year of its accounts, its row locked: the last step of every change to it.
create function private.sum_booking(tenant uuid, booking uuid) returns void
language plpgsql
as $$
declare
  year     constant int := (select extract(year from b.quarter) from core.bookings b where b.partner_id = tenant
                            and b.id = booking);
  accounts uuid[];
begin
  perform private.price_figures(tenant, year);
  with gone as (delete from core.account_bookings s where s.partner_id = tenant and s.booking_id = booking
                returning s.account_id)
  select array_agg(g.account_id) into accounts from gone g;
  with made as (
    insert into core.account_bookings
      (partner_id, account_id, booking_id, owner_id, delivery_year, kwh, ere, registered_ere, sold_ere, gross, net,
       lowest_fee, highest_fee, changed_at)
    select s.partner_id, s.account_id, s.booking_id, s.owner_id, s.delivery_year, s.kwh, s.ere, s.registered_ere,
        s.sold_ere, s.gross, s.net,
           s.lowest_fee, s.highest_fee, s.changed_at
      from core.booking_sums s where s.partner_id = tenant and s.booking_id = booking returning account_id)
  select accounts || array_agg(m.account_id) into accounts from made m;
  delete from core.account_years y where y.partner_id = tenant and y.account_id = any (accounts)
      and y.delivery_year = year;
  insert into core.account_years
    (partner_id, account_id, delivery_year, owner_id, kwh, ere, registered_ere, sold_ere, gross, net,
     fee_pct, changed_at)
  select s.partner_id, s.account_id, s.delivery_year, s.owner_id, s.kwh, s.ere, s.registered_ere, s.sold_ere, s.gross,
      s.net, s.fee_pct, s.changed_at
    from core.year_sums s where s.partner_id = tenant and s.account_id = any (accounts) and s.delivery_year = year;
end $$;

-- Publishes a year: positions of the tenant then say what it yields. False: it was published already.
create function private.publish_figures(tenant uuid, year int) returns boolean
language plpgsql
as $$
begin
  perform private.lock_year(tenant, year);
  insert into core.figures (partner_id, delivery_year) values (tenant, year)
    on conflict on constraint figures_pkey do nothing;
  if not found then
    return false;
  end if;
  perform private.price_figures(tenant, year);
  -- the events of its earlier sales
  perform private.emit_all(tenant, 'ere.sold', array(
    select row(a.account_id, null, jsonb_build_object('delivery_year', year))::private.occurrence
      from core.allocations a
      join core.accounts c on c.partner_id = a.partner_id and c.id = a.account_id
          and c.payout_handler = 'via_cpo_invoicing'
      join core.booking_rows r on r.partner_id = a.partner_id and r.id = a.row_id
     where a.partner_id = tenant and a.reversal_id is null and extract(year from r.period) = year
     group by a.account_id order by a.account_id));
  return true;
end $$;
