begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
-- no booking changes until the years are added up, below
lock table core.bookings in exclusive mode;
SET local check_function_bodies = off;

CREATE TABLE "core"."account_years" (
  "partner_id"    uuid                     NOT NULL,
  "account_id"    uuid                     NOT NULL,
  "delivery_year" integer                  NOT NULL,
  "owner_id"      uuid                     NOT NULL,
  "kwh"           numeric(18,3)            NOT NULL,
  "ere"           numeric                  NOT NULL,
  "ere_json"      text                     NOT NULL,
  "eur_json"      text                     NOT NULL,
  "changed_at"    timestamp with time zone NOT NULL,
  CONSTRAINT "account_years_pkey" PRIMARY KEY (partner_id, account_id, delivery_year)
);

ALTER TABLE "core"."account_years"
  ENABLE ROW LEVEL SECURITY;

CREATE OR REPLACE FUNCTION private.check_sums (
  tenant uuid
)
  RETURNS SETOF private.check_result
  LANGUAGE sql
  STABLE
  SET search_path TO ''
  AS $function$
  select 'sums of bookings are those of their rows', coalesce(sum(s.kwh), 0), coalesce(sum(k.kwh), 0),
         count(*) filter (where s is distinct from k), min('booking ' || coalesce(s.booking_id, k.booking_id)) filter (where s is distinct from k)
    from (select * from core.booking_sums where partner_id = tenant) s
    full join (select * from core.account_bookings where partner_id = tenant) k on k.booking_id = s.booking_id and k.account_id = s.account_id
  union all
  select 'sums of years are those of their bookings', coalesce(sum(s.ere), 0), coalesce(sum(k.ere), 0),
         count(*) filter (where s is distinct from k),
         min(format('account %s %s', coalesce(s.account_id, k.account_id), coalesce(s.delivery_year, k.delivery_year))) filter (where s is distinct from k)
    from (select * from core.year_sums where partner_id = tenant) s
    full join (select * from core.account_years where partner_id = tenant) k on k.account_id = s.account_id and k.delivery_year = s.delivery_year
  union all
  select 'prices of figures are those of their sales', coalesce(sum(p.price), 0), coalesce(sum(f.price), 0),
         count(*) filter (where f.price is distinct from p.price), min('year ' || f.delivery_year) filter (where f.price is distinct from p.price)
    from core.figures f cross join lateral (select private.average_price(tenant, f.delivery_year) as price) p
   where f.partner_id = tenant
$function$;

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
    select r.booking_id from core.booking_rows r where r.partner_id = tenant and r.id = any (gone))) order by b.quarter);
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
    perform private.sum_booking(tenant, booking.id);
    if exists (select from core.booking_rows r where r.partner_id = tenant and r.booking_id = booking.id) then
      perform private.settle_difference(booking);
    else
      perform private.erase_entries(tenant, '{}', array[booking.id]);
      delete from core.bookings b where b.partner_id = tenant and b.id = booking.id;
    end if;
  end loop;
end $function$;

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
    -- what remains on these accounts moves to the tenant's account `closed`
    perform private.post(booking.partner_id, array_agg(case when b.balance > 0
        then row('closed:' || a.id, a.unit, b.balance, a.kind, a.owner, 'closed', a.partner_id)::private.posting
        else row('closed:' || a.id, a.unit, -b.balance, 'closed', a.partner_id, a.kind, a.owner)::private.posting end))
      from core.ledger_accounts a
     cross join lateral (select private.balance(a.partner_id, a.unit, a.kind, a.owner) as balance) b
     where a.partner_id = booking.partner_id and a.owner = any (sales || booking.id) and b.balance <> 0
    having count(*) > 0;
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
    -- its months are locked while they have a booking row, so both go together
    delete from core.delivered_months d using core.booking_rows r
     where r.partner_id = booking.partner_id and r.booking_id = booking.id and r.live
       and d.partner_id = r.partner_id and d.connection_id = r.connection_id and d.period = r.period;
    delete from core.booking_rows r where r.partner_id = booking.partner_id and r.booking_id = booking.id;
    get diagnostics counted = row_count;
    perform private.sum_booking(booking.partner_id, booking.id);
    delete from core.bookings b where b.partner_id = booking.partner_id and b.id = booking.id;
    deleted := deleted + counted + 1;
    exit when deleted >= size;
  end loop;
  -- GET /partner/payouts no longer lists these quarters
  delete from core.told_payouts t where t.period < private.quarter_name(border);
  return deleted;
end $function$;

CREATE OR REPLACE FUNCTION private.latest_ere (
  account uuid,
  years   integer[]
)
  RETURNS json
  LANGUAGE plpgsql
  STABLE
  SET search_path TO ''
  AS $function$
declare
  year constant int := (
    select max(extract(year from m.period))
      from core.connections c join core.counted_months m on m.partner_id = c.partner_id and m.connection_id = c.id
     where c.partner_id = private.partner_id() and c.account_id = account and extract(year from m.period) = any (years));
begin
  return (select p.answer -> 'ere' from private.positions(array[coalesce(year, years[1])]) p where p.partner_id = private.partner_id() and p.account_id = account);
end $function$;

CREATE OR REPLACE FUNCTION private.positions (
  years integer[]
)
  RETURNS TABLE (
    partner_id       uuid,
    account_id       uuid,
    client_id        uuid,
    created_at       timestamp with time zone,
    cpo_external_ref text,
    answer           json
  )
  LANGUAGE sql
  STABLE
BEGIN ATOMIC
 WITH published
  AS MATERIALIZED (
          SELECT f.delivery_year,
             f.price,
             f.published_at,
             k.renewable_share,
             k.ere_per_kwh
            FROM (core.figures f
              JOIN core.ere_factors k ON ((k.delivery_year = f.delivery_year)))
           WHERE ((f.partner_id = private.partner_id()) AND (f.delivery_year = (positions.years)[1]))
         )
  SELECT g.partner_id,
     g.account_id,
     g.client_id,
     g.created_at,
     g.cpo_external_ref,
     row_to_json(r.*) AS row_to_json
    FROM ((((core.account_gates g
      CROSS JOIN LATERAL ( SELECT string_agg(private.month_json(d_1.*), ','::text ORDER BY d_1.period, d_1.connection_id) AS months,
             sum(d_1.total_kwh) FILTER (WHERE ((d_1.status = 'staged'::text) OR d_1.locked)) AS total_kwh,
             sum(d_1.total_kwh) FILTER (WHERE ((d_1.status = 'staged'::text) AND (d_1.period <@ k.newest))) AS open_kwh,
             max(d_1.received_at) FILTER (WHERE ((d_1.status = 'staged'::text) AND (d_1.period <@ k.newest))) AS open_at
            FROM ((core.connections c
              LEFT JOIN LATERAL ( SELECT (k_1.covered * ( SELECT datemultirange(daterange(make_date((positions.years)[1], 1, 1), make_date(((positions.years)[1] + 1), 1, 1))) AS datemultirange)) AS newest
                    FROM core.connection_coverage k_1
                   WHERE ((k_1.partner_id = c.partner_id) AND (k_1.connection_id = c.id) AND (cardinality(positions.years) > 0))
                  OFFSET 0) k ON (true))
              JOIN core.delivered_months d_1 ON (((d_1.partner_id = c.partner_id) AND (d_1.connection_id = c.id))))
           WHERE ((c.partner_id = g.partner_id) AND (c.account_id = g.account_id))) d)
      LEFT JOIN core.account_years s ON (((s.partner_id = g.partner_id) AND (s.account_id = g.account_id) AND (s.delivery_year = (positions.years)[1]))))
      LEFT JOIN LATERAL ( SELECT
                 CASE
                     WHEN ((s.account_id IS NULL) AND (d.open_at IS NULL) AND (cardinality(positions.years) > 1)) THEN private.latest_ere(g.account_id, positions.years)
                     ELSE (concat('{"delivery_year":', p.delivery_year, ',"kwh_counted":', (COALESCE(s.kwh, (0)::numeric) + COALESCE(d.open_kwh, (0)::numeric)), ',"renewable_share":', p.renewable_share, ',"ere_per_kwh":', p.ere_per_kwh, ',"ere_estimated":', round((COALESCE(s.ere, (0)::numeric) + (COALESCE(d.open_kwh, (0)::numeric) * p.ere_per_kwh)), 2), ',', COALESCE(s.ere_json, '"ere_registered":0.00,"ere_sold":0.00,"reserved_ere":0.00'::text), ',"price_per_ere_eur":', COALESCE((p.price)::text, 'null'::text), ',', COALESCE(s.eur_json, '"gross_eur":0,"fee_pct":null,"net_eur":0'::text), ',"currency":"EUR","updated_at":"', private.iso(GREATEST(p.published_at, s.changed_at, d.open_at)), '"}'))::json
                 END AS ere
            FROM published p) e ON (true))
      CROSS JOIN LATERAL ( SELECT g.account_id,
             g.cpo_external_ref,
             g.payout_handler,
             g.ere_eligible,
             g.mandate_valid_from,
             g.checklist,
             (concat('[', d.months, ']'))::json AS delivered_months,
             COALESCE(d.total_kwh, (0)::numeric) AS total_kwh_delivered,
             e.ere) r);
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
  -- whoever comes second sees what the first did: a sale the figures, figures the sale, and a booking the other bookings of its year
  perform pg_advisory_xact_lock(hashtextextended('figures of ' || tenant || ' ' || year, 0));
  update core.figures f set price = private.average_price(tenant, year) where f.partner_id = tenant and f.delivery_year = year;
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
  insert into core.sales (partner_id, booking_id, reference, buyer, ere, price, gross, sold_on)
  values (booking.partner_id, booking.id, record_sale.reference, record_sale.buyer, record_sale.ere, record_sale.price, round(ere * price, 2), record_sale.sold_on)
  returning * into sale;
  perform private.allocate_sale(sale);
  perform private.sum_booking(booking.partner_id, booking.id);
  perform private.audit('sale.recorded', sale.id, jsonb_build_object('reference', sale.reference, 'ere', sale.ere, 'gross', sale.gross));
  perform private.emit_sale(sale.partner_id, 'ere.sold', array(select a.id from core.allocations a where a.partner_id = sale.partner_id and a.sale_id = sale.id));
  return sale;
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
  SET enable_seqscan TO 'off'
  SET search_path TO ''
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
  perform private.sum_booking(sale.partner_id, sale.booking_id);
  perform private.audit('sale.reversed', sale.id, jsonb_build_object('allocations', reversed, 'recover', reverse_sale.recover));
  perform private.emit_sale(sale.partner_id, 'ere.sale_reversed', array(
            select a.id from core.allocations a where a.partner_id = sale.partner_id and a.sale_id = sale.id and a.reversal_id = reversal)),
          private.tell_payouts(array(
            select distinct a.share_partner_id from core.allocations a
             where a.partner_id = sale.partner_id and a.sale_id = sale.id and a.reversal_id = reversal and a.partner_share > 0));
end $function$;

CREATE OR REPLACE FUNCTION private.sum_booking (
  tenant  uuid,
  booking uuid
)
  RETURNS void
  LANGUAGE plpgsql
  SET enable_seqscan TO 'off'
  SET enable_hashjoin TO 'off'
  SET enable_mergejoin TO 'off'
  SET search_path TO ''
  AS $function$
declare
  year     constant int := (select extract(year from b.quarter) from core.bookings b where b.partner_id = tenant and b.id = booking);
  accounts uuid[];
begin
  perform private.price_figures(tenant, year);
  with gone as (delete from core.account_bookings s where s.partner_id = tenant and s.booking_id = booking returning s.account_id)
  select array_agg(g.account_id) into accounts from gone g;
  with made as (
    insert into core.account_bookings select * from core.booking_sums s where s.partner_id = tenant and s.booking_id = booking returning account_id)
  select accounts || array_agg(m.account_id) into accounts from made m;
  delete from core.account_years y where y.partner_id = tenant and y.account_id = any (accounts) and y.delivery_year = year;
  insert into core.account_years
  select * from core.year_sums s where s.partner_id = tenant and s.account_id = any (accounts) and s.delivery_year = year;
end $function$;

CREATE VIEW "core"."year_sums" WITH (security_invoker=true) AS  SELECT partner_id,
    account_id,
    delivery_year,
    owner_id,
    sum(kwh) AS kwh,
    sum(ere) AS ere,
    format('"ere_registered":%s,"ere_sold":%s,"reserved_ere":%s'::text, round(sum(registered_ere), 2), round(sum(sold_ere), 2), round((sum(registered_ere) - sum(sold_ere)), 2)) AS ere_json,
    format('"gross_eur":%s,"fee_pct":%s,"net_eur":%s'::text, sum(gross), COALESCE((
        CASE
            WHEN (min(lowest_fee) = max(highest_fee)) THEN min(lowest_fee)
            ELSE NULL::numeric
        END)::text, 'null'::text), sum(net)) AS eur_json,
    max(changed_at) AS changed_at
   FROM core.account_bookings b
  GROUP BY partner_id, account_id, delivery_year, owner_id;

CREATE POLICY "a tenant reaches its own rows" ON "core"."account_years"
  FOR ALL
  TO "api_owner"
  USING ((partner_id = private.partner_id()))
  WITH CHECK ((partner_id = private.partner_id()));

CREATE POLICY "an owner reaches only their own rows" ON "core"."account_years"
  AS RESTRICTIVE
  FOR ALL
  TO "api_owner"
  USING (
CASE
    WHEN (NOT (COALESCE(( SELECT private.reach() AS reach), owner_id) IS DISTINCT FROM owner_id)) THEN true
    ELSE false
END);

COMMENT ON TABLE "core"."account_years" IS 'core.year_sums for each account and year. private.sum_booking stores it, so that a position reads one row. Kept as long as the bookings.';

COMMENT ON VIEW "core"."year_sums" IS 'What the bookings of an account sum to in a year: kWh, ERE (exact), and what a position says of ERE and euro, as JSON text.';

REVOKE ALL ON FUNCTION "private"."latest_ere"(uuid, integer[]) FROM PUBLIC;

GRANT EXECUTE ON FUNCTION "private"."latest_ere"(uuid, integer[]) TO "api_owner";

GRANT SELECT ON TABLE "core"."account_years" TO "api_owner";

GRANT SELECT ON TABLE "core"."year_sums" TO "api_owner";

insert into core.account_years select * from core.year_sums;

commit;
