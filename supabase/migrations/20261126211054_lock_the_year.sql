begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.lock_year (
  tenant uuid,
  year   integer
)
  RETURNS void
  LANGUAGE sql
  SET search_path TO ''
  AS $function$ select pg_advisory_xact_lock(hashtextextended('figures of ' || tenant || ' ' || year, 0)) $function$;

CREATE OR REPLACE FUNCTION private.price_figures (
  tenant uuid,
  year   integer
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  perform private.lock_year(tenant, year);
  update core.figures f set price = private.average_price(tenant, year) where f.partner_id = tenant and f.delivery_year = year;
end $function$;

CREATE OR REPLACE FUNCTION private.publish_figures (
  tenant uuid,
  year   integer
)
  RETURNS boolean
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  perform private.lock_year(tenant, year);
  insert into core.figures (partner_id, delivery_year) values (tenant, year) on conflict on constraint figures_pkey do nothing;
  if not found then
    return false;
  end if;
  perform private.price_figures(tenant, year);
  -- the events of its earlier sales
  perform private.emit_all(tenant, 'ere.sold', array(
    select row(a.account_id, null, jsonb_build_object('delivery_year', year))::private.occurrence
      from core.allocations a
      join core.accounts c on c.partner_id = a.partner_id and c.id = a.account_id and c.payout_handler = 'via_cpo_invoicing'
      join core.booking_rows r on r.partner_id = a.partner_id and r.id = a.row_id
     where a.partner_id = tenant and a.reversal_id is null and extract(year from r.period) = year
     group by a.account_id order by a.account_id));
  return true;
end $function$;

CREATE OR REPLACE FUNCTION private.record_sale (
  booking   core.bookings,
  reference text,
  buyer     text,
  ere       numeric,
  price     numeric,
  sold_on   date
)
  RETURNS core.sales
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  sellable constant numeric := private.sellable_ere(booking);
  sale     core.sales;
begin
  perform private.refuse_if('not_enough_ere', ere > sellable, json_build_object('ere', ere, 'sellable_ere', sellable));
  perform private.refuse_if('worth_nothing', round(ere * price, 2) = 0);
  perform private.lock_year(booking.partner_id, extract(year from booking.quarter)::int);
  insert into core.sales (partner_id, booking_id, reference, buyer, ere, price, gross, sold_on)
  values (booking.partner_id, booking.id, record_sale.reference, record_sale.buyer, record_sale.ere, record_sale.price, round(ere * price, 2), record_sale.sold_on)
  returning * into sale;
  perform private.allocate_sale(sale);
  perform private.sum_booking(booking.partner_id, booking.id);
  perform private.audit('sale.recorded', sale.id, jsonb_build_object('reference', sale.reference, 'ere', sale.ere, 'gross', sale.gross));
  perform private.emit_sale(sale.partner_id, 'ere.sold', array(select a.id from core.allocations a where a.partner_id = sale.partner_id and a.sale_id = sale.id));
  return sale;
end $function$;

REVOKE ALL ON FUNCTION "private"."lock_year"(uuid, integer) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."lock_year"(uuid, integer) TO "api_owner";

commit;
