-- The operator on sales: record, list, show, reverse.

-- A sale as the operator sees it: what stands, for whom, and what was reversed.
create function private.sale_row(sale core.sales) returns json
language sql stable
as $$
  select json_build_object(
    'sale_id', sale.id, 'reference', sale.reference, 'booking_id', sale.booking_id,
    'partner_slug', (select p.slug from core.partners p where p.id = sale.partner_id),
    'quarter', (select private.quarter_name(b.quarter) from core.bookings b where b.partner_id = sale.partner_id
                and b.id = sale.booking_id),
    'buyer', sale.buyer, 'sold_on', sale.sold_on, 'ere', sale.ere, 'price', sale.price, 'gross_eur', sale.gross,
    'rows', t.rows, 'customers_eur', t.net, 'partners_eur', t.share, 'service_eur', t.kept, 'reversed_ere',
        t.reversed_ere,
    'reversed_eur', t.reversed_eur, 'recorded_at', private.iso(sale.recorded_at))
  from (select count(*) filter (where a.reversal_id is null) as rows,
               coalesce(sum(a.net) filter (where a.reversal_id is null), 0) as net,
               coalesce(sum(a.partner_share) filter (where a.reversal_id is null), 0) as share,
               coalesce(sum(a.fee - a.partner_share) filter (where a.reversal_id is null), 0) as kept,
               coalesce(sum(a.ere) filter (where a.reversal_id is not null), 0) as reversed_ere,
               coalesce(sum(a.gross) filter (where a.reversal_id is not null), 0) as reversed_eur
          from core.allocations a where a.partner_id = sale.partner_id and a.sale_id = sale.id) t
$$;

-- The one sale that {sale, partner?} names, by its id or reference. Its partner becomes the tenant of the transaction.
create function private.sale_named(input jsonb) returns core.sales
language plpgsql
as $$
declare
  named      constant text := input ->> 'sale';
  partner    constant uuid := private.chosen_partner(input);
  candidates constant core.sales[] := array(
    select s from core.sales s
     where s.partner_id = any (array(select p.id from core.partners p where partner is null or p.id = partner))
       and (s.id = private.as_uuid(named) or s.reference = named));
begin
  perform private.act_as_operator(input);
  perform private.refuse_if('sale_not_found', cardinality(candidates) = 0, json_build_object('sale', named));
  perform private.refuse_if('sale_ambiguous', cardinality(candidates) > 1, json_build_object('sale', named));
  perform private.set_tenant((candidates[1]).partner_id);
  return candidates[1];
end $$;

-- The ERE of a booking that are credited and unsold, at most what the register granted in total.
create function private.sellable_ere(booking core.bookings) returns numeric
language sql stable
as $$
  select least(private.balance(booking.partner_id, 'ERE', 'unsold', booking.id),
               booking.granted_ere - private.balance(booking.partner_id, 'ERE', 'sold', booking.id))
$$;

-- Records a sale of a booking, its row locked, and splits it over its rows.
create function private.record_sale(booking core.bookings, reference text, buyer text, ere numeric, price numeric,
                                    sold_on date) returns core.sales
language plpgsql
as $$
declare
  sellable constant numeric := private.sellable_ere(booking);
  sale     core.sales;
begin
  perform private.refuse_if('not_enough_ere', ere > sellable, json_build_object('ere', ere, 'sellable_ere', sellable));
  perform private.refuse_if('worth_nothing', round(ere * price, 2) = 0);
  perform private.lock_year(booking.partner_id, extract(year from booking.quarter)::int);
  insert into core.sales (partner_id, booking_id, reference, buyer, ere, price, gross, sold_on)
  values (booking.partner_id, booking.id, record_sale.reference, record_sale.buyer, record_sale.ere, record_sale.price,
          round(ere * price, 2), record_sale.sold_on)
  returning * into sale;
  perform private.allocate_sale(sale);
  perform private.sum_booking(booking.partner_id, booking.id);
  perform private.audit('sale.recorded', sale.id, jsonb_build_object('reference', sale.reference, 'ere', sale.ere,
                                                                     'gross', sale.gross));
  perform private.emit_sale(sale.partner_id, 'ere.sold',
                            array(select a.id from core.allocations a where a.partner_id = sale.partner_id
                                  and a.sale_id = sale.id));
  return sale;
end $$;

create function ops.sale_record(input jsonb) returns json
language plpgsql security definer
as $$
declare
  booking constant core.bookings := private.submitted_booking_named(input);
  named   constant text    := private.operator_name(input ->> 'reference');
  buyer   constant text    := private.operator_name(input ->> 'buyer');
  ere     constant numeric := private.as_decimal(input ->> 'ere', 6);
  price   constant numeric := private.as_decimal(input ->> 'price', 6);
  day     constant date    := private.as_day(input ->> 'date');
  sale    core.sales;
  changed boolean;
begin
  perform private.refuse_if('invalid_ere', ere > 0 is not true);
  perform private.refuse_if('invalid_price', (price > 0 and price < 1000000) is not true);
  perform private.refuse_if('invalid_date', input ? 'date' and (day <= private.today()) is not true);
  -- of two at once with one reference, for whatever bookings of a tenant, the second sees what the first recorded
  perform private.lock('sale', booking.partner_id || ' ' || named);
  select * into sale from core.sales s where s.partner_id = booking.partner_id and s.reference = named;
  changed := not found;
  if changed then
    sale := private.record_sale(booking, named, buyer, ere, price, coalesce(day, private.today()));
  elsif (sale.booking_id, sale.buyer, sale.ere, sale.price) <> (booking.id, buyer, ere, price) or sale.sold_on <> day
      then
    perform private.refuse('reference_taken', json_build_object('reference', sale.reference));
  end if;
  return json_build_object('changed', changed, 'sale', private.sale_row(sale));
end $$;
comment on function ops.sale_record(jsonb) is
  'Sells ERE of a booking and splits them over its rows: {booking, partner?, ere, price, buyer, reference, date?} to '
  '{changed, sale}. The same reference with the same values is a repeat.';

create function ops.sale_preview(input jsonb) returns json
language plpgsql security definer
as $$
declare
  wanted  constant date    := private.read_quarter(input ->> 'booking');
  named   constant text    := private.operator_name(input ->> 'reference');
  offered constant numeric := private.as_decimal(input ->> 'price', 6);
begin
  perform private.refuse_if('invalid_price', (offered > 0 and offered < 1000000) is not true);
  perform private.act_as_operator(input);
  return (
    with booking as (
      -- of a supplementary booking the reference has its number behind it, because one sale is of one booking
      select b, p.slug, named || case when b.number > 1 then '-' || b.number else '' end as reference
        from core.bookings b join core.partners p on p.id = b.partner_id
       where b.quarter = wanted and b.status = 'submitted'
    ), sale as (
      select (k.b).id as booking_id, k.slug, (k.b).number, k.reference, s.id is not null as recorded,
             coalesce(s.ere, e.ere) as ere, coalesce(s.gross - v.gross, round(e.ere * offered, 2)) as gross,
             v.ere as reversed, case when s.id is null then 0 else e.ere end as unsold
        from booking k
        left join core.sales s on s.partner_id = (k.b).partner_id and s.reference = k.reference
            and s.booking_id = (k.b).id and s.price = offered
       cross join lateral (select greatest(private.sellable_ere(k.b), 0) as ere) e
       cross join lateral (select coalesce(sum(a.ere), 0) as ere, coalesce(sum(a.gross), 0) as gross
                             from core.allocations a
                            where a.partner_id = s.partner_id and a.sale_id = s.id and a.reversal_id is not null) v
    )
    select json_build_object(
             'quarter', input ->> 'booking', 'ere', coalesce(sum(s.ere - s.reversed), 0),
             'gross_eur', coalesce(sum(s.gross), 0),
             'sales', coalesce(json_agg(json_build_object(
               'booking_id', s.booking_id, 'partner_slug', s.slug, 'number', s.number, 'reference', s.reference,
               'ere', s.ere, 'reversed_ere', s.reversed, 'gross_eur', s.gross, 'recorded', s.recorded,
               'unsold_ere', s.unsold) order by s.slug, s.number), '[]'))
      from sale s where s.recorded or s.gross > 0);
end $$;
comment on function ops.sale_preview(jsonb) is
  'The sales that one price and reference make of a quarter, one a booking, of all that is credited and unsold: '
  '{booking: quarter, price, reference} to {quarter, ere, gross_eur, sales}. gross_eur is what the buyer is invoiced: '
  'without what was reversed. unsold_ere is what a booking has besides a sale that was recorded; it takes another '
  'reference.';

create function ops.sale_list(input jsonb) returns json
language sql stable security definer
as $$
  select json_build_object('sales', coalesce(json_agg(private.sale_row(s) order by s.arrival desc), '[]'))
    from (select s.* from private.bookings_named(input ->> 'booking', private.chosen_partner(input)) b
            join core.sales s on s.partner_id = b.partner_id and s.booking_id = b.id
           order by s.arrival desc limit coalesce((input ->> 'limit')::int, 50)) s
$$;
comment on function ops.sale_list(jsonb) is
  'Sales, newest first: {booking?, partner?, limit?} to {sales}. booking is a booking id, a run id or a quarter.';

create function ops.sale_show(input jsonb) returns json
language plpgsql security definer
as $$
declare
  sale constant core.sales := private.sale_named(input);
begin
  return json_build_object(
    'sale', private.sale_row(sale),
    'allocations', (
      select coalesce(json_agg(json_build_object(
               'row_id', a.row_id, 'account_id', a.account_id, 'ean_code', a.ean_code, 'period',
                   to_char(a.period, 'YYYY-MM'), 'ere', a.ere,
               'gross_eur', a.gross, 'fee_pct', a.fee_pct, 'fee_eur', a.fee, 'partner_share_eur', a.partner_share,
                   'net_eur', a.net,
               'reversed', a.reversal_id is not null) order by a.row_id), '[]')
        from (select a.*, r.ean_code, r.period
                from core.allocations a join core.booking_rows r on r.partner_id = a.partner_id and r.id = a.row_id
               where a.partner_id = sale.partner_id and a.sale_id = sale.id
               order by a.row_id limit coalesce((input ->> 'limit')::int, 1000)) a));
end $$;
comment on function ops.sale_show(jsonb) is
  'A sale and its parts, by row id: {sale, partner?, limit?} to {sale, allocations}.';

create function ops.sale_reverse(input jsonb) returns json
language plpgsql security definer
as $$
declare
  reason constant text := private.operator_reason(input ->> 'reason');
  sale   core.sales;
  done   record;
begin
  perform private.lock('payouts', shared => true);
  sale := private.sale_named(input);
  perform private.lock_booking(sale.partner_id, sale.booking_id);
  select * into done from private.reverse_sale(sale, reason, coalesce((input ->> 'recover')::boolean, false));
  perform private.refuse_if('sale_paid_out', done.reversed = 0 and done.paid_out > 0,
                            json_build_object('sale', sale.reference));
  return json_build_object('changed', done.reversed > 0, 'reversed', done.reversed, 'paid_out', done.paid_out,
                           'sale', private.sale_row(sale));
end $$;
comment on function ops.sale_reverse(jsonb) is
  'Takes back what of a sale is not paid out, or with recover all of it: {sale, partner?, reason, recover?} to '
  '{changed, reversed, paid_out, sale}.';
