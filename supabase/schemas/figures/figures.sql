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
language plpgsql stable
set search_path = ''
as $$
begin
  return (
    select round(sum(a.gross) / sum(a.ere), 6)
      from core.bookings b
      join core.sales s on s.partner_id = b.partner_id and s.booking_id = b.id
      join core.allocations a on a.partner_id = s.partner_id and a.sale_id = s.id and a.reversal_id is null
     where b.partner_id = tenant and b.quarter >= make_date(year, 1, 1) and b.quarter < make_date(year + 1, 1, 1));
end $$;
comment on function private.average_price(uuid, int) is
  'What an ERE of a delivery year brought on average, in euro: the gross of all its sales that stand by their ERE, six decimals. Null before the first.';
