begin;
set local lock_timeout = '2s';
lock table core.deployment in access exclusive mode;
SET local check_function_bodies = off;

CREATE OR REPLACE FUNCTION private.move_drop (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SET search_path TO ''
  AS $function$
declare
  part record;
begin
  select * into part from private.partner_tables() t where t.name = input ->> 'table' and t.kind = 'own';
  execute format('delete from core.%I t where %s and %s', part.name, part.condition, private.among_keys(part.name, part.key))
    using (input ->> 'partner_id')::uuid, input -> 'keys';
  return '{}';
end $function$;

CREATE OR REPLACE FUNCTION private.move_read (
  input jsonb
)
  RETURNS json
  LANGUAGE plpgsql
  SET "TimeZone" TO 'UTC'
  SET extra_float_digits TO '1'
  SET search_path TO ''
  AS $function$
declare
  part   record;
  answer json;
begin
  select * into part from private.partner_tables() t where t.name = input ->> 'table';
  execute format(
    'with page as materialized (
       select row_number() over (order by %1$s) as n, to_jsonb(array[%2$s]) as key, (select row_to_json(r) from (select %3$s) r) as row
         from core.%4$I t where %5$s and %6$s order by %1$s limit $3)
     select json_build_object(''rows'', count(*), ''last'', (array_agg(key order by n desc))[1], ''data'', json_agg(row order by n)::text) from page',
    private.listed(part.key, 't.%I'), private.listed(part.key, 't.%I::text'),
    private.listed(private.moved_columns(part.kind, part.columns, part.secrets), 't.%I'), part.name, part.condition,
    case when input ? 'keys' then private.among_keys(part.name, part.key)
         else format('($2 is null or (%s) > (%s))', private.listed(part.key, 't.%I'), private.typed_key(part.name, part.key, '$2')) end)
    into answer using (input ->> 'partner_id')::uuid, coalesce(input -> 'keys', nullif(input -> 'after', 'null')), (input ->> 'size')::int;
  return answer;
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
           WHERE ((f.partner_id = private.partner_id()) AND (f.delivery_year = ANY (positions.years)))
         )
  SELECT g.partner_id,
     g.account_id,
     g.client_id,
     g.created_at,
     g.cpo_external_ref,
     row_to_json(r.*) AS row_to_json
    FROM (((core.account_gates g
      CROSS JOIN LATERAL ( SELECT string_agg(private.month_json(d_1.*), ','::text ORDER BY d_1.period, d_1.connection_id) AS months,
             sum(d_1.total_kwh) FILTER (WHERE ((d_1.status = 'staged'::text) OR d_1.locked)) AS total_kwh,
             sum(d_1.total_kwh) FILTER (WHERE ((d_1.status = 'staged'::text) AND (d_1.period <@ k.newest))) AS open_kwh,
             max(d_1.received_at) FILTER (WHERE ((d_1.status = 'staged'::text) AND (d_1.period <@ k.newest))) AS open_at
            FROM ((core.connections c
              LEFT JOIN LATERAL ( SELECT (k_1.covered * datemultirange(daterange(make_date((positions.years)[1], 1, 1), make_date(((positions.years)[1] + 1), 1, 1)))) AS newest
                    FROM core.connection_coverage k_1
                   WHERE ((k_1.partner_id = c.partner_id) AND (k_1.connection_id = c.id) AND (cardinality(positions.years) > 0))
                  OFFSET 0) k ON (true))
              JOIN core.delivered_months d_1 ON (((d_1.partner_id = c.partner_id) AND (d_1.connection_id = c.id))))
           WHERE ((c.partner_id = g.partner_id) AND (c.account_id = g.account_id))) d)
      LEFT JOIN LATERAL ( SELECT (concat('{"delivery_year":', p.delivery_year, ',"kwh_counted":', (s.kwh + o.kwh), ',"renewable_share":', p.renewable_share, ',"ere_per_kwh":', p.ere_per_kwh, ',"ere_estimated":', round((s.ere + (o.kwh * p.ere_per_kwh)), 2), ',"ere_registered":', round(s.registered, 2), ',"ere_sold":', round(s.sold, 2), ',"reserved_ere":', round((s.registered - s.sold), 2), ',"price_per_ere_eur":', COALESCE((p.price)::text, 'null'::text), ',"gross_eur":', s.gross, ',"fee_pct":', COALESCE((s.fee_pct)::text, 'null'::text), ',"net_eur":', s.net, ',"currency":"EUR","updated_at":"', private.iso(GREATEST(p.published_at, s.changed_at, o.received_at)), '"}'))::json AS ere
            FROM ((((unnest((positions.years || (positions.years)[1])) WITH ORDINALITY y(year, place)
              JOIN published p ON ((p.delivery_year = y.year)))
              CROSS JOIN LATERAL ( SELECT count(*) AS bookings,
                     COALESCE(sum(b.kwh), (0)::numeric) AS kwh,
                     COALESCE(sum(b.ere), (0)::numeric) AS ere,
                     COALESCE(sum(b.registered_ere), (0)::numeric) AS registered,
                     COALESCE(sum(b.sold_ere), (0)::numeric) AS sold,
                     COALESCE(sum(b.gross), (0)::numeric) AS gross,
                     COALESCE(sum(b.net), (0)::numeric) AS net,
                         CASE
                             WHEN (min(b.lowest_fee) = max(b.highest_fee)) THEN min(b.lowest_fee)
                             ELSE NULL::numeric
                         END AS fee_pct,
                     max(b.changed_at) AS changed_at
                    FROM core.account_bookings b
                   WHERE ((b.partner_id = g.partner_id) AND (b.account_id = g.account_id) AND (b.delivery_year = p.delivery_year))) s)
              LEFT JOIN LATERAL ( SELECT sum(m.total_kwh) AS kwh,
                     max(m.received_at) AS received_at
                    FROM (core.connections c
                      JOIN core.counted_months m ON (((m.partner_id = c.partner_id) AND (m.connection_id = c.id))))
                   WHERE ((y.year <> (positions.years)[1]) AND (c.partner_id = g.partner_id) AND (c.account_id = g.account_id) AND (m.status = 'staged'::text) AND (m.period >= make_date(y.year, 1, 1)) AND (m.period < make_date((y.year + 1), 1, 1)))) older ON (true))
              CROSS JOIN LATERAL ( SELECT (COALESCE(older.kwh, (0)::numeric) +
                         CASE
                             WHEN (y.year = (positions.years)[1]) THEN COALESCE(d.open_kwh, (0)::numeric)
                             ELSE (0)::numeric
                         END) AS kwh,
                         CASE
                             WHEN (y.year = (positions.years)[1]) THEN d.open_at
                             ELSE older.received_at
                         END AS received_at) o)
           WHERE ((s.bookings > 0) OR (o.received_at IS NOT NULL) OR (y.place > cardinality(positions.years)))
           ORDER BY y.place
          LIMIT 1) e ON (true))
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

commit;
