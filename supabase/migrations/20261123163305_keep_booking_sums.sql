begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
-- no booking changes until its rows are added up, below
lock table core.bookings in exclusive mode;
SET local check_function_bodies = off;

DROP VIEW "core"."earned_months";

DROP FUNCTION "private"."last_price"(uuid);

DROP FUNCTION "private"."position_figures"(uuid[], integer[]);

CREATE TABLE "core"."account_bookings" (
  "partner_id"     uuid                     NOT NULL,
  "account_id"     uuid                     NOT NULL,
  "booking_id"     uuid                     NOT NULL,
  "owner_id"       uuid                     NOT NULL,
  "delivery_year"  integer                  NOT NULL,
  "kwh"            numeric(18,3)            NOT NULL,
  "ere"            numeric                  NOT NULL,
  "registered_ere" numeric(18,6)            NOT NULL,
  "sold_ere"       numeric(18,6)            NOT NULL,
  "gross"          numeric(14,2)            NOT NULL,
  "net"            numeric(14,2)            NOT NULL,
  "lowest_fee"     numeric(5,2)             NOT NULL,
  "highest_fee"    numeric(5,2)             NOT NULL,
  "changed_at"     timestamp with time zone NOT NULL,
  CONSTRAINT "account_bookings_pkey" PRIMARY KEY (partner_id, account_id, booking_id)
);

ALTER TABLE "core"."account_bookings"
  ENABLE ROW LEVEL SECURITY;

ALTER TABLE "core"."figures"
  ADD COLUMN "price" numeric;

CREATE OR REPLACE FUNCTION api.charge()
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  admitted constant jsonb := current_setting('app.admission');
  rate     jsonb;
  ignored  text;
begin
  -- a request that wrote nothing until here commits without waiting for the disk: a crash loses its debit
  if pg_current_xact_id_if_assigned() is null then
    ignored := set_config('synchronous_commit', 'off', true);
  end if;
  if coalesce(admitted ->> 'key_hash', admitted ->> 'token_hash') is not null then
    perform private.note_use(decode(admitted ->> 'key_hash', 'hex'), decode(admitted ->> 'token_hash', 'hex'));
  end if;
  -- the last lock of all: who holds a limit's row waits for nothing more, so that nobody waits for each other
  rate := private.take(admitted ->> 'subject', admitted ->> 'bucket', (admitted ->> 'quota')::int, (admitted ->> 'window_seconds')::int);
  if not (rate ->> 'allowed')::boolean then
    perform private.turn_away('too_many_requests', json_build_object('rate', rate));
  end if;
  return json_build_object('caller', admitted -> 'caller', 'rate', rate);
end $function$;

CREATE OR REPLACE FUNCTION api.list_ere_positions (
  caller jsonb,
  query  jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  SET plan_cache_mode TO 'force_generic_plan'
  AS $function$
declare
  years     int[];
  found     uuid[];
  positions json;
begin
  perform private.act_as(caller, 'cpo');
  years := array(
    select f.delivery_year from core.figures f
     where f.partner_id = private.partner_id() and f.delivery_year = coalesce((query ->> 'delivery_year')::int, f.delivery_year)
     order by f.delivery_year desc);
  if query ->> 'cpo_external_ref' is null then
    found := private.account_page(query);
    positions := (
      select json_agg(row_to_json(r) order by p.created_at desc, p.account_id desc)
        from core.ere_positions p
        left join lateral private.position_ere(p.partner_id, p.account_id, years) e on true
        cross join lateral (
          select p.account_id, p.cpo_external_ref, p.payout_handler, p.ere_eligible, p.mandate_valid_from, p.checklist, p.delivered_months,
                 p.total_kwh_delivered, e.ere) r
       where p.partner_id = private.partner_id() and p.account_id = any (found[:(query ->> 'limit')::int]));
  else
    -- what integrators ask for most, without looking the account up first: 20 us of 280
    select array_agg(p.account_id), json_agg(row_to_json(r)) into found, positions
      from core.ere_positions p
      left join lateral private.position_ere(p.partner_id, p.account_id, years) e on true
      cross join lateral (
        select p.account_id, p.cpo_external_ref, p.payout_handler, p.ere_eligible, p.mandate_valid_from, p.checklist, p.delivered_months,
               p.total_kwh_delivered, e.ere) r
     where p.client_id = private.client_id() and p.cpo_external_ref = query ->> 'cpo_external_ref' and (query ->> 'offset')::bigint = 0;
  end if;
  return private.page_answer('positions', positions, found, query);
end $function$;

CREATE OR REPLACE FUNCTION ops.figures_publish (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  year   constant int := (input ->> 'delivery_year')::int;
  chosen uuid;
  tenant uuid;
  made   boolean := false;
begin
  perform private.act_as_operator(input);
  chosen := private.chosen_partner(input);
  if not exists (select from core.ere_factors f where f.delivery_year = year) then
    perform private.refuse('factor_missing', json_build_object('delivery_year', year));
  end if;
  for tenant in select p.id from core.partners p where chosen is null or p.id = chosen order by p.id loop
    perform private.act_for_partner(tenant);
    if private.publish_figures(tenant, year) then
      made := true;
      perform private.audit('figures.published', tenant, jsonb_build_object('delivery_year', year));
    end if;
  end loop;
  return json_build_object('changed', made, 'figures', (
    select json_agg(private.figures_row(g) order by p.slug)
      from core.figures g join core.partners p on p.id = g.partner_id
     where g.delivery_year = year and (chosen is null or g.partner_id = chosen)));
end $function$;

CREATE OR REPLACE FUNCTION private.check_books (
  tenant uuid
)
  RETURNS TABLE (
    what     text,
    expected numeric,
    found    numeric,
    wrong    bigint,
    example  text
  )
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select * from private.check_units(tenant)
  union all select * from private.check_kwh(tenant)
  union all select * from private.check_ere(tenant)
  union all select * from private.check_money(tenant)
  union all select * from private.check_owed(tenant)
  union all select * from private.check_sums(tenant)
  union all select * from private.check_payouts(tenant)
  union all select * from private.check_invoices(tenant)
$function$;

CREATE OR REPLACE FUNCTION private.check_sums (
  tenant uuid
)
  RETURNS TABLE (
    what     text,
    expected numeric,
    found    numeric,
    wrong    bigint,
    example  text
  )
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  SET enable_nestloop TO 'off'
  AS $function$
  select 'sums of bookings are those of their rows', coalesce(sum(s.kwh), 0), coalesce(sum(k.kwh), 0),
         count(*) filter (where s is distinct from k), min('booking ' || coalesce(s.booking_id, k.booking_id)) filter (where s is distinct from k)
    from (select * from core.booking_sums where partner_id = tenant) s
    full join (select * from core.account_bookings where partner_id = tenant) k on k.booking_id = s.booking_id and k.account_id = s.account_id
  union all
  select 'prices of figures are those of their sales', coalesce(sum(p.price), 0), coalesce(sum(f.price), 0),
         count(*) filter (where f.price is distinct from p.price), min('year ' || f.delivery_year) filter (where f.price is distinct from p.price)
    from core.figures f cross join lateral (select private.average_price(tenant, f.delivery_year) as price) p
   where f.partner_id = tenant
$function$;

CREATE OR REPLACE FUNCTION private.credit_booking (
  booking core.bookings,
  lines   private.credit_line[],
  granted numeric
)
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  credited constant int := private.credit_rows(booking, lines);
  sold     constant numeric := private.balance(booking.partner_id, 'ERE', 'sold', booking.id);
begin
  if granted < sold then
    perform private.refuse('granted_below_sold', json_build_object('granted_ere', granted, 'sold_ere', sold));
  elsif granted is distinct from booking.granted_ere and granted is not null then
    update core.bookings b set granted_ere = granted where b.partner_id = booking.partner_id and b.id = booking.id;
    perform private.audit('booking.granted', booking.id, jsonb_build_object('before', booking.granted_ere, 'after', granted));
    booking.granted_ere := granted;
  end if;
  perform private.settle_difference(booking);
  if credited > 0 then
    perform private.sum_booking(booking.partner_id, booking.id);
    perform private.audit('booking.credited', booking.id, jsonb_build_object('rows', credited));
  end if;
  return credited;
end $function$;

CREATE OR REPLACE FUNCTION private.erase_bookings (
  tenant   uuid,
  accounts uuid[]
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  gone     uuid[];
  causes   text[];
  touched  core.bookings[];
  booking  core.bookings;
begin
  perform private.only_in_sandbox(), private.lock_bookings_of(tenant, accounts);
  gone := array(select r.id from core.booking_rows r where r.partner_id = tenant and r.account_id = any (accounts));
  touched := array(select b from core.bookings b where b.partner_id = tenant and b.id = any (array(
    select r.booking_id from core.booking_rows r where r.partner_id = tenant and r.id = any (gone))));
  causes := array(
    select 'row:' || g.id from unnest(gone) g (id)
    union all select 'credit:' || c.id from core.credits c where c.partner_id = tenant and c.row_id = any (gone)
    union all select 'allocation:' || a.id from core.allocations a where a.partner_id = tenant and a.row_id = any (gone));
  perform private.erase_payouts(tenant, accounts, array(
    select a.share_partner_id from core.allocations a where a.partner_id = tenant and a.row_id = any (gone) and a.partner_share > 0
    union
    -- who was paid for them, be it without a share
    select l.partner_id from core.payout_parts p join core.payout_lines l on l.partner_id = p.partner_id and l.id = p.line_id
     where p.ledger_partner_id = tenant and p.kind = 'customer' and p.payee_id = any (accounts) and l.account_id is null));
  perform private.erase_entries(tenant, causes, accounts);

  -- of a sale that others have a part in, that part is left
  with erased as (
    delete from core.allocations a where a.partner_id = tenant and a.row_id = any (gone) returning a.sale_id, a.ere, a.gross
  )
  update core.sales s set ere = s.ere - e.ere, gross = s.gross - e.gross
    from (select sale_id, sum(ere) as ere, sum(gross) as gross from erased group by sale_id) e
   where s.partner_id = tenant and s.id = e.sale_id and s.ere > e.ere;
  delete from core.sale_reversals v
   where v.partner_id = tenant and not exists (select from core.allocations a where a.partner_id = tenant and a.sale_id = v.sale_id);
  with nobody_s as (
    delete from core.sales s
     where s.partner_id = tenant and not exists (select from core.allocations a where a.partner_id = tenant and a.sale_id = s.id)
    returning s.id)
  delete from core.ledger_accounts a using nobody_s s where a.partner_id = tenant and a.owner = s.id;
  delete from core.credits c where c.partner_id = tenant and c.row_id = any (gone);
  delete from core.booking_rows r where r.partner_id = tenant and r.id = any (gone);
  foreach booking in array touched loop
    perform private.sum_booking(tenant, booking.id), private.price_figures(tenant, extract(year from booking.quarter)::int);
    if exists (select from core.booking_rows r where r.partner_id = tenant and r.booking_id = booking.id) then
      perform private.settle_difference(booking);
    else
      perform private.erase_entries(tenant, '{}', array[booking.id]);
      delete from core.bookings b where b.partner_id = tenant and b.id = booking.id;
    end if;
  end loop;
end $function$;

CREATE OR REPLACE FUNCTION private.figures_row (
  figures core.figures
)
  RETURNS json
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select json_build_object(
    'partner_slug', (select p.slug from core.partners p where p.id = figures.partner_id), 'delivery_year', figures.delivery_year,
    'renewable_share', f.renewable_share, 'ere_per_kwh', f.ere_per_kwh,
    'price_per_ere_eur', figures.price, 'published_at', private.iso(figures.published_at))
  from core.ere_factors f where f.delivery_year = figures.delivery_year
$function$;

CREATE OR REPLACE FUNCTION private.forget_bookings (
  border date,
  size   integer
)
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  booking core.bookings;
  sales   uuid[];
  checked uuid[] := '{}';
  deleted int := 0;
  counted int;
begin
  for booking in select * from core.bookings b where b.quarter < border order by b.quarter, b.partner_id, b.id for update loop
    if booking.partner_id <> all (checked) then
      perform private.require_agreement(booking.partner_id);
      checked := checked || booking.partner_id;
    end if;
    sales := array(select s.id from core.sales s where s.partner_id = booking.partner_id and s.booking_id = booking.id);
    perform private.close_balances(booking.partner_id, sales || booking.id);
    with gone as (
      delete from core.allocations a where a.partner_id = booking.partner_id and a.sale_id = any (sales) returning a.id
    ), entry as (
      delete from core.payout_entries e using gone a where e.ledger_partner_id = booking.partner_id and e.allocation_id = a.id returning e.*
    )
    update core.payout_parts p set forgotten = p.forgotten + e.amount
      from (select e.partner_id, e.part_id, sum(e.amount) as amount from entry e group by e.partner_id, e.part_id) e
     where p.partner_id = e.partner_id and p.id = e.part_id;
    delete from core.sale_reversals v where v.partner_id = booking.partner_id and v.sale_id = any (sales);
    delete from core.sales s where s.partner_id = booking.partner_id and s.id = any (sales);
    delete from core.credits c using core.booking_rows r
     where r.partner_id = booking.partner_id and r.booking_id = booking.id and c.partner_id = r.partner_id and c.row_id = r.id;
    -- with its months, which are locked as long as there is a row of them
    delete from core.delivered_months d using core.booking_rows r
     where r.partner_id = booking.partner_id and r.booking_id = booking.id and r.live
       and d.partner_id = r.partner_id and d.connection_id = r.connection_id and d.period = r.period;
    delete from core.booking_rows r where r.partner_id = booking.partner_id and r.booking_id = booking.id;
    get diagnostics counted = row_count;
    perform private.sum_booking(booking.partner_id, booking.id), private.price_figures(booking.partner_id, extract(year from booking.quarter)::int);
    delete from core.bookings b where b.partner_id = booking.partner_id and b.id = booking.id;
    deleted := deleted + counted + 1;
    exit when deleted >= size;
  end loop;
  -- a quarter that is not listed any more is no news
  delete from core.told_payouts t where t.period < private.quarter_name(border);
  return deleted;
end $function$;

CREATE OR REPLACE FUNCTION private.last_price (
  tenant uuid
)
  RETURNS numeric
  LANGUAGE sql
  STABLE
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
  select f.price from core.figures f where f.partner_id = tenant and f.price is not null order by f.delivery_year desc limit 1
$function$;

CREATE OR REPLACE FUNCTION private.position_ere (
  tenant  uuid,
  account uuid,
  years   integer[]
)
  RETURNS TABLE (
    ere json
  )
  LANGUAGE sql
  STABLE
BEGIN ATOMIC
 WITH earned
  AS (
          SELECT s.delivery_year AS year,
             s.kwh,
             s.ere,
             s.registered_ere,
             s.sold_ere,
             s.gross,
             s.net,
             s.lowest_fee,
             s.highest_fee,
             s.changed_at
            FROM core.account_bookings s
           WHERE ((s.partner_id = position_ere.tenant) AND (s.account_id = position_ere.account) AND (s.delivery_year = ANY (position_ere.years)))
         UNION ALL
          SELECT (EXTRACT(year FROM m.period))::integer AS year,
             m.total_kwh,
             m.ere,
             0,
             0,
             0,
             0,
             NULL::numeric AS lowest_fee,
             NULL::numeric AS highest_fee,
             m.received_at
            FROM (core.connections c
              JOIN core.counted_months m ON (((m.partner_id = c.partner_id) AND (m.connection_id = c.id))))
           WHERE ((c.partner_id = position_ere.tenant) AND (c.account_id = position_ere.account) AND (m.status = 'staged'::text) AND ((EXTRACT(year FROM m.period))::integer = ANY (position_ere.years)))
         ), latest AS (
          SELECT e.year,
             sum(e.kwh) AS kwh,
             sum(e.ere) AS ere,
             sum(e.registered_ere) AS registered,
             sum(e.sold_ere) AS sold,
             sum(e.gross) AS gross,
             sum(e.net) AS net,
                 CASE
                     WHEN (min(e.lowest_fee) = max(e.highest_fee)) THEN min(e.lowest_fee)
                     ELSE NULL::numeric
                 END AS fee_pct,
             max(e.changed_at) AS changed_at
            FROM earned e
           GROUP BY e.year
           ORDER BY e.year DESC
          LIMIT 1
         )
  SELECT row_to_json(f.*) AS row_to_json
    FROM ((((( SELECT 1 AS "?column?") one
      LEFT JOIN latest l ON (true))
      JOIN core.figures p ON (((p.partner_id = position_ere.tenant) AND (p.delivery_year = COALESCE(l.year, (position_ere.years)[1])))))
      JOIN core.ere_factors k ON ((k.delivery_year = p.delivery_year)))
      CROSS JOIN LATERAL ( SELECT p.delivery_year,
             COALESCE(l.kwh, (0)::numeric) AS kwh_counted,
             k.renewable_share,
             k.ere_per_kwh,
             COALESCE(round(l.ere, 2), (0)::numeric) AS ere_estimated,
             COALESCE(round(l.registered, 2), (0)::numeric) AS ere_registered,
             COALESCE(round(l.sold, 2), (0)::numeric) AS ere_sold,
             COALESCE(round((l.registered - l.sold), 2), (0)::numeric) AS reserved_ere,
             p.price AS price_per_ere_eur,
             COALESCE(l.gross, (0)::numeric) AS gross_eur,
             l.fee_pct,
             COALESCE(l.net, (0)::numeric) AS net_eur,
             'EUR'::text AS currency,
             private.iso(GREATEST(p.published_at, l.changed_at)) AS updated_at) f)
   WHERE (cardinality(position_ere.years) > 0);
END;

CREATE OR REPLACE FUNCTION private.price_figures (
  tenant uuid,
  year   integer
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
begin
  -- whoever comes second sees what the first did: a sale the figures, and figures the sale
  perform pg_advisory_xact_lock(hashtextextended('figures of ' || tenant || ' ' || year, 0));
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
  insert into core.figures (partner_id, delivery_year) values (tenant, year) on conflict on constraint figures_pkey do nothing;
  if not found then
    return false;
  end if;
  perform private.price_figures(tenant, year), private.emit_published(tenant, year);
  return true;
end $function$;

CREATE OR REPLACE FUNCTION private.record_sale (
  booking core.bookings,
  wanted  core.sales
)
  RETURNS core.sales
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  sellable constant numeric := private.sellable_ere(booking);
  sale     core.sales;
begin
  if wanted.ere > sellable then
    perform private.refuse('not_enough_ere', json_build_object('ere', wanted.ere, 'sellable_ere', sellable));
  elsif wanted.gross = 0 then
    perform private.refuse('worth_nothing');
  end if;
  insert into core.sales (partner_id, booking_id, reference, buyer, ere, price, gross, sold_on)
  values (wanted.partner_id, wanted.booking_id, wanted.reference, wanted.buyer, wanted.ere, wanted.price, wanted.gross, wanted.sold_on)
  returning * into sale;
  perform private.allocate_sale(sale);
  perform private.sum_booking(booking.partner_id, booking.id), private.price_figures(booking.partner_id, extract(year from booking.quarter)::int);
  perform private.audit('sale.recorded', sale.id, jsonb_build_object('reference', sale.reference, 'ere', sale.ere, 'gross', sale.gross));
  perform private.emit_sale(sale.partner_id, 'ere.sold', array(select a.id from core.allocations a where a.partner_id = sale.partner_id and a.sale_id = sale.id));
  return sale;
end $function$;

CREATE OR REPLACE FUNCTION private.reverse_credit (
  line   core.booking_rows,
  reason text
)
  RETURNS boolean
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  credit core.credits;
  sold   text;
begin
  select * into credit from core.credits c where c.partner_id = line.partner_id and c.row_id = line.id and c.reversed_at is null;
  if not found then
    return false;
  end if;
  select min(s.reference) into sold
    from core.allocations a join core.sales s on s.partner_id = a.partner_id and s.id = a.sale_id
   where a.partner_id = line.partner_id and a.row_id = line.id and a.reversal_id is null;
  if sold is not null then
    perform private.refuse('row_sold', json_build_object('row', line.id, 'reference', sold));
  elsif line.status = 'rejected' then
    perform private.lock_connections(line.partner_id, array[line.connection_id]);
    if not exists (select from core.delivered_months d
                    where d.partner_id = line.partner_id and d.connection_id = line.connection_id and d.period = line.period
                      and d.status = 'rejected' and d.total_kwh = line.kwh)
       or line.ean_exclusive and private.ean_booked(line.ean_code, line.period) then
      perform private.refuse('month_delivered_again', json_build_object('row', line.id, 'period', to_char(line.period, 'YYYY-MM')));
    end if;
  end if;
  update core.credits c set reversed_at = private.now(), reversed_reason = reverse_credit.reason where c.partner_id = credit.partner_id and c.id = credit.id;
  update core.booking_rows r set status = 'submitted' where r.partner_id = line.partner_id and r.id = line.id;
  update core.delivered_months d set status = 'submitted', accepted_kwh = null
   where d.partner_id = line.partner_id and d.connection_id = line.connection_id and d.period = line.period;
  perform private.reverse_postings(line.partner_id, array(
    select 'credit:' || credit.id || ':' || what from unnest(array['registered', 'written_off', 'rejected', 'ere']) what));
  perform private.sum_booking(line.partner_id, line.booking_id);
  perform private.audit('credit.reversed', line.id, jsonb_build_object('accepted_kwh', credit.accepted_kwh));
  -- it waits for the register again, and is locked as it was then
  perform private.emit_months(line.partner_id, 'account.months_locked', array[line.id]);
  return true;
end $function$;

CREATE OR REPLACE FUNCTION private.reverse_sale (
  sale    core.sales,
  reason  text,
  recover boolean,
  OUT     reversed integer,
  OUT     paid_out integer
)
  RETURNS record
  LANGUAGE plpgsql
  SET search_path TO ''
  SET plan_cache_mode TO 'auto'
  SET enable_seqscan TO 'off'
  AS $function$
declare
  paid     uuid[] := private.paid_out_allocations(sale);
  reversal uuid;
  causes   text[];
begin
  paid_out := cardinality(paid);
  if recover then
    paid := '{}';
  end if;
  if not exists (select from core.allocations a
                  where a.partner_id = sale.partner_id and a.sale_id = sale.id and a.reversal_id is null and a.id <> all (paid)) then
    reversed := 0;
    return;
  end if;
  insert into core.sale_reversals (partner_id, sale_id, reason, recover) values (sale.partner_id, sale.id, reverse_sale.reason, reverse_sale.recover)
  returning id into reversal;
  with taken_back as (
    update core.allocations a set reversal_id = reversal
     where a.partner_id = sale.partner_id and a.sale_id = sale.id and a.reversal_id is null and a.id <> all (paid)
    returning a.id)
  select array_agg('allocation:' || t.id || ':' || what), count(distinct t.id) into causes, reversed
    from taken_back t cross join unnest(array['ere', 'net', 'share', 'fee']) what;
  perform private.reverse_postings(sale.partner_id, causes);
  perform private.sum_booking(sale.partner_id, sale.booking_id), private.price_figures(sale.partner_id, (
            select extract(year from b.quarter)::int from core.bookings b where b.partner_id = sale.partner_id and b.id = sale.booking_id));
  perform private.audit('sale.reversed', sale.id, jsonb_build_object('allocations', reversed, 'recover', reverse_sale.recover));
  perform private.emit_sale(sale.partner_id, 'ere.sale_reversed', array(
            select a.id from core.allocations a where a.partner_id = sale.partner_id and a.sale_id = sale.id and a.reversal_id = reversal)),
          private.tell_payouts(array(
            select distinct a.share_partner_id from core.allocations a
             where a.partner_id = sale.partner_id and a.sale_id = sale.id and a.reversal_id = reversal and a.partner_share > 0));
end $function$;

CREATE OR REPLACE FUNCTION private.settle_customers (
  partner uuid,
  quarter date,
  price   numeric
)
  RETURNS json
  LANGUAGE plpgsql
  SECURITY DEFINER
  SET search_path TO ''
  AS $function$
declare
  house    constant uuid := private.house();
  most     constant int  := private.settled_at_once();
  people   uuid[];
  accounts uuid[];
  due      uuid[];
begin
  perform private.only_in_sandbox(), private.lock_payouts_of(partner);
  -- a reset locks accounts before their bookings too
  people := array(
    select a.id from core.attributions t
      join core.accounts a on a.partner_id = house and a.user_id = t.user_id
     where t.partner_id = partner and t.source in ('partner_upload', 'partner_invite')
     order by a.id for key share of a);
  accounts := array(select a.id from core.accounts a where a.partner_id = partner order by a.id for key share);
  due := private.due_accounts(array[house, partner], people || accounts, quarter);
  if due <> '{}' then
    -- the authority publishes a year's factor late; a rehearsal takes the one of the year before
    insert into core.ere_factors (delivery_year, renewable_share)
    select extract(year from quarter), f.renewable_share from core.ere_factors f
     where f.delivery_year < extract(year from quarter) order by f.delivery_year desc limit 1
    on conflict on constraint ere_factors_pkey do nothing;
  end if;
  perform private.settle_accounts(house, due[1:most], quarter, price), private.settle_accounts(partner, due[1:most], quarter, price);
  perform private.pay_accounts(partner, people || accounts);
  perform private.act_for_partner(partner);
  perform private.publish_figures(partner, f.delivery_year) from core.ere_factors f where f.delivery_year = extract(year from quarter);
  return (private.settled_quarter(partner, people || accounts, quarter)::jsonb
          || jsonb_build_object('accounts_left', greatest(0, cardinality(due) - most)))::json;
end $function$;

CREATE OR REPLACE FUNCTION private.submit_booking (
  tenant     uuid,
  booking_id uuid,
  chosen     uuid[] DEFAULT NULL::uuid[]
)
  RETURNS integer
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  booking  constant core.bookings := private.lock_booking(tenant, booking_id);
  held     uuid[];
  postings private.posting[];
begin
  if booking.status <> 'open' then
    return null;
  end if;
  -- the factor by which the months are taken in does not change meanwhile, nor afterwards
  perform from core.ere_factors f where f.delivery_year = extract(year from booking.quarter) for share;
  held := array(
    select distinct d.connection_id
      from core.delivered_months d
      join core.connections c on c.partner_id = d.partner_id and c.id = d.connection_id
     where d.partner_id = tenant and d.period >= booking.quarter and d.period < (booking.quarter + interval '3 months')::date and not d.locked
       and (chosen is null or c.account_id = any (chosen)));
  perform private.lock_connections(tenant, held);
  -- of a connection whose first month came since, nothing is locked: its months are for the next booking
  postings := private.claim_months(booking, chosen, held);
  if postings is null then
    return 0;
  end if;
  perform private.post(tenant, postings);
  update core.bookings b set status = 'submitted', submitted_at = private.now() where b.partner_id = tenant and b.id = booking.id;
  perform private.sum_booking(tenant, booking.id);
  perform private.audit('booking.submitted', booking.id, jsonb_build_object('rows', cardinality(postings)));
  perform private.emit_months(tenant, 'account.months_locked', array(select r.id from core.booking_rows r where r.partner_id = tenant and r.booking_id = booking.id));
  return cardinality(postings);
end $function$;

CREATE OR REPLACE FUNCTION private.sum_booking (
  tenant  uuid,
  booking uuid
)
  RETURNS void
  LANGUAGE plpgsql
  SET search_path TO ''
  SET enable_seqscan TO 'off'
  SET enable_hashjoin TO 'off'
  SET enable_mergejoin TO 'off'
  AS $function$
begin
  delete from core.account_bookings s where s.partner_id = tenant and s.booking_id = booking;
  insert into core.account_bookings select * from core.booking_sums s where s.partner_id = tenant and s.booking_id = booking;
end $function$;

CREATE OR REPLACE FUNCTION private.withdraw_booking (
  tenant     uuid,
  booking_id uuid,
  reason     text
)
  RETURNS boolean
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  booking constant core.bookings := private.lock_booking(tenant, booking_id);
  taken   core.booking_rows[];
begin
  if booking.status = 'withdrawn' then
    return false;
  elsif exists (select from core.booking_rows r where r.partner_id = tenant and r.booking_id = booking.id and r.status in ('registered', 'rejected')) then
    perform private.refuse('booking_credited', json_build_object('booking', booking.id));
  elsif booking.exported_at is not null and reason is null then
    perform private.refuse('booking_exported', json_build_object('booking', booking.id, 'exported_at', private.iso(booking.exported_at)));
  end if;
  taken := array(select r from core.booking_rows r where r.partner_id = tenant and r.booking_id = booking.id);
  perform private.lock_connections(tenant, array(select r.connection_id from unnest(taken) r));
  update core.booking_rows r set status = 'withdrawn' where r.partner_id = tenant and r.booking_id = booking.id;
  perform private.reverse_postings(tenant, array(select 'row:' || r.id || ':submitted' from unnest(taken) r));
  perform private.unlock_months(tenant, array_agg(r.connection_id), array_agg(r.period)) from unnest(taken) r;
  update core.bookings b set status = 'withdrawn', withdrawn_at = private.now() where b.partner_id = tenant and b.id = booking.id;
  perform private.sum_booking(tenant, booking.id);
  perform private.audit('booking.withdrawn', booking.id, jsonb_strip_nulls(jsonb_build_object('rows', cardinality(taken), 'reason', reason)));
  perform private.emit_months(tenant, 'account.months_reopened', array(select r.id from unnest(taken) r));
  return true;
end $function$;

ALTER TABLE "core"."account_bookings"
  ADD CONSTRAINT "account_bookings_booking_fkey" FOREIGN KEY (partner_id, booking_id) REFERENCES core.bookings(partner_id, id);

CREATE VIEW "core"."earned_months" WITH (security_invoker=true) AS  SELECT m.partner_id,
    m.connection_id,
    m.period,
    m.ere_per_kwh,
    r.id AS row_id,
    r.booking_id,
    r.account_id,
    r.owner_id,
    r.fee_pct,
    r.partner_share_pct,
    COALESCE(k.accepted_kwh, m.total_kwh) AS kwh,
    (COALESCE(k.accepted_kwh, m.total_kwh) * m.ere_per_kwh) AS ere,
    COALESCE(k.ere, (0)::numeric) AS registered_ere,
    COALESCE(s.ere, (0)::numeric) AS sold_ere,
    COALESCE(s.gross, (0)::numeric) AS gross,
    COALESCE(s.net, (0)::numeric) AS net,
    s.sold_on,
    GREATEST(m.received_at, k.credited_at, s.changed_at) AS changed_at
   FROM (((core.counted_months m
     LEFT JOIN core.booking_rows r ON (((r.partner_id = m.partner_id) AND (r.connection_id = m.connection_id) AND (r.period = m.period) AND r.live)))
     LEFT JOIN LATERAL ( SELECT c.partner_id,
            c.id,
            c.row_id,
            c.owner_id,
            c.accepted_kwh,
            c.ere,
            c.reason,
            c.credited_at,
            c.reversed_at,
            c.reversed_reason
           FROM core.credits c
          WHERE ((c.partner_id = r.partner_id) AND (c.row_id = r.id) AND (c.reversed_at IS NULL))
         OFFSET 0) k ON (true))
     LEFT JOIN LATERAL ( SELECT sum(a.ere) FILTER (WHERE (a.reversal_id IS NULL)) AS ere,
            sum(a.gross) FILTER (WHERE (a.reversal_id IS NULL)) AS gross,
            sum(a.net) FILTER (WHERE (a.reversal_id IS NULL)) AS net,
            min(s_1.sold_on) FILTER (WHERE (a.reversal_id IS NULL)) AS sold_on,
            max(GREATEST(s_1.recorded_at, v.reversed_at)) AS changed_at
           FROM ((core.allocations a
             JOIN core.sales s_1 ON (((s_1.partner_id = a.partner_id) AND (s_1.id = a.sale_id))))
             LEFT JOIN core.sale_reversals v ON (((v.partner_id = a.partner_id) AND (v.id = a.reversal_id))))
          WHERE ((a.partner_id = r.partner_id) AND (a.row_id = r.id))) s ON (true));

CREATE VIEW "core"."booking_sums" WITH (security_invoker=true) AS  SELECT partner_id,
    account_id,
    booking_id,
    owner_id,
    (EXTRACT(year FROM min(period)))::integer AS delivery_year,
    sum(kwh) AS kwh,
    sum(ere) AS ere,
    sum(registered_ere) AS registered_ere,
    sum(sold_ere) AS sold_ere,
    sum(gross) AS gross,
    sum(net) AS net,
    min(fee_pct) AS lowest_fee,
    max(fee_pct) AS highest_fee,
    max(changed_at) AS changed_at
   FROM core.earned_months m
  WHERE (booking_id IS NOT NULL)
  GROUP BY partner_id, account_id, booking_id, owner_id;

CREATE INDEX account_bookings_booking ON core.account_bookings USING btree (partner_id, booking_id);

CREATE POLICY "a tenant reaches its own rows" ON "core"."account_bookings"
  FOR ALL
  TO "api_owner"
  USING ((partner_id = private.partner_id()))
  WITH CHECK ((partner_id = private.partner_id()));

CREATE POLICY "an owner reaches only their own rows" ON "core"."account_bookings"
  AS RESTRICTIVE
  FOR ALL
  TO "api_owner"
  USING (
CASE
    WHEN (NOT (COALESCE(( SELECT private.reach() AS reach), owner_id) IS DISTINCT FROM owner_id)) THEN true
    ELSE false
END);

COMMENT ON COLUMN "core"."figures"."price" IS 'private.average_price of the year, kept when a sale of it is recorded or taken back.';

COMMENT ON FUNCTION "private"."last_price"(uuid) IS 'What an ERE brought on average in the latest year whose figures are published to a tenant, in euro; null while none is known. Definer, because a customer''s pages see no sales.';

COMMENT ON FUNCTION "private"."position_ere"(uuid, uuid, integer[]) IS 'What an account earns in the latest of these published years (newest first) in which it has months that count, else in the first: the object ere of GET /v1/ere-positions, no row where no year is published. kWh as accepted where they are credited; ERE with two decimals; the price with six. Planned as part of the statement that calls it.';

COMMENT ON FUNCTION "private"."price_figures"(uuid, integer) IS 'Keeps the average price of a year beside its figures, where they are published.';

COMMENT ON FUNCTION "private"."publish_figures"(uuid, integer) IS 'From now on positions of a tenant say what a year yields. False: they did already.';

COMMENT ON FUNCTION "private"."sum_booking"(uuid, uuid) IS 'Adds up a booking again, its row locked: the last step of whatever changes it.';

COMMENT ON TABLE "core"."account_bookings" IS 'What core.booking_sums says of each account of a booking, kept by the step that changes it, so that a position does not add up a year. Kept as long as the booking.';

COMMENT ON VIEW "core"."booking_sums" IS 'The sums of each account in each booking: kWh, ERE (exact), ERE credited and sold, euro, and the lowest and highest fee.';

COMMENT ON VIEW "core"."earned_months" IS 'What came of each month that counts: the kWh that the register accepted, or that it has still to accept, their ERE (exact), and what of it is credited and sold. Euro.';

REVOKE ALL ON FUNCTION "private"."check_sums"(uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."check_sums"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."check_sums"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."last_price"(uuid) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."last_price"(uuid) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."last_price"(uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."last_price"(uuid) TO "postgres";

REVOKE ALL ON FUNCTION "private"."position_ere"(uuid, uuid, integer[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."position_ere"(uuid, uuid, integer[]) TO "api_owner";

REVOKE ALL ON FUNCTION "private"."position_ere"(uuid, uuid, integer[]) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."position_ere"(uuid, uuid, integer[]) TO "postgres";

REVOKE ALL ON FUNCTION "private"."price_figures"(uuid, integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."price_figures"(uuid, integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."price_figures"(uuid, integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."publish_figures"(uuid, integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."publish_figures"(uuid, integer) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."publish_figures"(uuid, integer) TO "postgres";

REVOKE ALL ON FUNCTION "private"."sum_booking"(uuid, uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION "private"."sum_booking"(uuid, uuid) FROM "postgres";

GRANT EXECUTE ON FUNCTION "private"."sum_booking"(uuid, uuid) TO "postgres";

GRANT SELECT ON TABLE "core"."account_bookings" TO "api_owner";

GRANT SELECT ON TABLE "core"."booking_sums" TO "api_owner";

GRANT SELECT ON TABLE "core"."earned_months" TO "api_owner";

insert into core.account_bookings select * from core.booking_sums;
update core.figures f set price = private.average_price(f.partner_id, f.delivery_year);

commit;
