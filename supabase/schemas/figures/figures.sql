-- Figures: what a delivery year is said to yield, once the operator says so.

create table core.figures (
  partner_id    uuid        not null,
  delivery_year int         not null,
  published_at  timestamptz not null default private.now(),
  constraint figures_pkey primary key (partner_id, delivery_year),
  constraint figures_partner_id_fkey foreign key (partner_id) references core.partners (id),
  constraint figures_factor_fkey foreign key (delivery_year) references core.ere_factors (delivery_year)
);
comment on table core.figures is
  'A delivery year whose figures are published to a tenant: from then on positions say what it yields. Kept for good.';
select private.isolate('core.figures', 'select');

create function private.average_price(tenant uuid, year int) returns numeric
language plpgsql stable security definer
set search_path = ''
as $$
begin
  return (
    select round((sum(s.gross) - coalesce(sum(v.gross), 0)) / nullif(sum(s.ere) - coalesce(sum(v.ere), 0), 0), 6)
      from core.bookings b
      join core.sales s on s.partner_id = b.partner_id and s.booking_id = b.id
      -- the parts of a sale add up to it, so only those that were taken back are looked up
      left join lateral (
        select sum(a.ere) as ere, sum(a.gross) as gross
          from core.allocations a
         where a.partner_id = s.partner_id and a.sale_id = s.id and a.reversal_id is not null
           and exists (select from core.sale_reversals r where r.partner_id = s.partner_id and r.sale_id = s.id)) v on true
     where b.partner_id = tenant and b.quarter >= make_date(year, 1, 1) and b.quarter < make_date(year + 1, 1, 1));
end $$;
comment on function private.average_price(uuid, int) is
  'What an ERE of a delivery year brought on average, in euro: the gross of all its sales that stand by their ERE, six decimals. Null before the first. Definer, because it is of all the tenant''s customers.';
grant execute on function private.average_price(uuid, int) to api_owner;

create view core.earned_months with (security_invoker = true) as
select m.partner_id, m.connection_id, m.period, m.ere_per_kwh, r.id as row_id, r.fee_pct, r.partner_share_pct,
       coalesce(k.accepted_kwh, m.total_kwh) as kwh, coalesce(k.accepted_kwh, m.total_kwh) * m.ere_per_kwh as ere,
       coalesce(k.ere, 0) as registered_ere, coalesce(s.ere, 0) as sold_ere, coalesce(s.gross, 0) as gross, coalesce(s.net, 0) as net,
       s.sold_on, greatest(m.received_at, k.credited_at, s.changed_at) as changed_at
  from core.counted_months m
  left join core.booking_rows r on r.partner_id = m.partner_id and r.connection_id = m.connection_id and r.period = m.period and r.live
  left join core.credits k on k.partner_id = r.partner_id and k.row_id = r.id and k.reversed_at is null
  left join lateral (
    select sum(a.ere) filter (where a.reversal_id is null) as ere, sum(a.gross) filter (where a.reversal_id is null) as gross,
           sum(a.net) filter (where a.reversal_id is null) as net, min(s.sold_on) filter (where a.reversal_id is null) as sold_on,
           max(greatest(s.recorded_at, v.reversed_at)) as changed_at
      from core.allocations a
      join core.sales s on s.partner_id = a.partner_id and s.id = a.sale_id
      left join core.sale_reversals v on v.partner_id = a.partner_id and v.id = a.reversal_id
     where a.partner_id = r.partner_id and a.row_id = r.id) s on true;
comment on view core.earned_months is
  'What came of each month that counts: the kWh that the register accepted, or that it has still to accept, their ERE (exact), and what of it is credited and sold. Euro.';
grant select on core.earned_months to api_owner;

create function private.position_figures(accounts uuid[], years int[]) returns json[]
language plpgsql stable
-- planned once: to plan it takes ten times what it takes to run for one account; by keys alone, whatever the tables held when it was planned
set search_path = '' set plan_cache_mode = 'force_generic_plan' set enable_seqscan = off
as $$
declare
  tenant constant uuid := private.partner_id();
begin
  return array(
    with published as materialized (
      select f.delivery_year, f.published_at, k.renewable_share, k.ere_per_kwh, private.average_price(tenant, f.delivery_year) as price
        from core.figures f join core.ere_factors k on k.delivery_year = f.delivery_year
       where f.partner_id = tenant and f.delivery_year = any (years)
    ), earned as (
      select c.account_id, extract(year from m.period)::int as year, sum(m.kwh) as kwh, sum(m.ere) as estimated, sum(m.registered_ere) as registered,
             sum(m.sold_ere) as sold, sum(m.gross) as gross, sum(m.net) as net, max(m.changed_at) as changed_at,
             case when min(m.fee_pct) = max(m.fee_pct) then min(m.fee_pct) end as fee_pct
        from core.connections c
        join core.earned_months m on m.partner_id = c.partner_id and m.connection_id = c.id
       where c.partner_id = tenant and c.account_id = any (accounts) and extract(year from m.period) = any (years)
       group by c.account_id, extract(year from m.period)
    ), latest as (
      select distinct on (e.account_id) e.* from earned e order by e.account_id, e.year desc
    )
    select row_to_json(f)
      from unnest(accounts) with ordinality as w (account_id, place)
      left join latest l on l.account_id = w.account_id
      join published p on p.delivery_year = coalesce(l.year, years[1])
      cross join lateral (
        select p.delivery_year, coalesce(l.kwh, 0) as kwh_counted, p.renewable_share, p.ere_per_kwh, coalesce(round(l.estimated, 2), 0) as ere_estimated,
               coalesce(round(l.registered, 2), 0) as ere_registered, coalesce(round(l.sold, 2), 0) as ere_sold,
               coalesce(round(l.registered - l.sold, 2), 0) as reserved_ere, p.price as price_per_ere_eur,
               coalesce(l.gross, 0) as gross_eur, l.fee_pct, coalesce(l.net, 0) as net_eur, 'EUR' as currency,
               private.iso(greatest(p.published_at, l.changed_at)) as updated_at) f
     order by w.place);
end $$;
comment on function private.position_figures(uuid[], int[]) is
  'What accounts of this tenant earn, in their order, each of the latest of these published years (newest first) in which it has months that count, else of the first: the object ere of GET /v1/ere-positions. kWh as accepted where they are credited; ERE with two decimals; the price with six.';
grant execute on function private.position_figures(uuid[], int[]) to api_owner;
