// Rows to measure over, made by set-based statements with triggers off, as fast as the disk takes them. They are what the functions
// would have made: with address, signatory, mandate, charger and months; every tenth account unsigned, every seventh without a
// charger, every fifth without an IBAN, so that answers differ.

import { createHash } from "node:crypto";
import type pg from "pg";
import { progress } from "./bench.ts";
import type { Served } from "./serve.ts";
import type { Stack } from "./stack.ts";

export const MONTHS = 12;

export type Client = { partner_id: string; id: string; client_id: string; client_secret: string };
export type Account = { n: number; id: string; reference: string; connection_id: string; client: number };
export type Seeded = { clients: Client[]; accounts: Account[] };

/** Takes the rate limits out of the way: each request is still counted. */
export async function liftLimits(db: pg.Pool): Promise<void> {
  await db.query("update core.rate_limits set quota = 1000000000");
}

/**
 * So many CPO clients, each of a partner of its own, with so many accounts between them, each with a connection and the last twelve
 * months. The figures are published, and the quarters of this year that are over are booked and half sold, of each account that lacks
 * nothing; `booked: false` leaves all of that out. Gives the clients, and up to 20,000 of the accounts, from all over the table in no order.
 */
export async function seed(
  db: pg.Pool,
  clients: number,
  accounts: number,
  { booked = true }: { booked?: boolean } = {},
): Promise<Seeded> {
  const started = performance.now();
  const client_secret = "a client of the bench";
  const made = await db.query<Client>(
    `with partner as (
       insert into core.partners (name, slug) select 'Bench ' || n, 'bench-' || n from generate_series(1, $1::int) n returning id, slug)
     insert into core.oauth_clients (client_id, partner_id, name, secret_hash, scopes, return_url)
     select slug, id, slug, decode($2, 'hex'), private.scopes_of('client'), 'https://bench.test' from partner
     returning partner_id, id, client_id, $3 as client_secret`,
    [clients, createHash("sha256").update(client_secret).digest("hex"), client_secret],
  );
  const connection = await db.connect();
  try {
    await connection.query(SETTINGS);
    await connection.query(SLEEPING_INDEXES, [TABLES]);
    await connection.query(PLAN_TABLE);
    await connection.query(PLAN, [accounts, made.rows.map(({ id }) => id), made.rows.map((row) => row.partner_id)]);
    for (const statement of ROWS) await connection.query(statement);
    // month after month, as they are delivered: those of one connection do not lie side by side
    for (let month = MONTHS - 1; month >= 0; month--) await connection.query(MONTH, [month]);
    // autovacuum may not have come yet, and a plan without statistics may join 7,000 accounts by comparing all pairs
    if (booked) for (const statement of ["analyze", ...BOOKED]) await connection.query(statement);
    for (const table of TABLES) await connection.query(`reindex table ${table}`);
    if (booked) for (const statement of SUMMED) await connection.query(statement);
  } finally {
    connection.release(true);
  }
  const { rows } = await db.query<Account>(
    `select n, account_id as id, reference, connection_id, place - 1 as client from bench.plan order by hashint4(n) limit 20000`,
  );
  await db.query("drop table bench.plan");
  await db.query("vacuum (analyze)");
  await db.query("checkpoint");
  progress(`${accounts} accounts with ${MONTHS} months each in ${((performance.now() - started) / 1000).toFixed(1)} s`);
  return { clients: made.rows, accounts: rows };
}

/** Triggers look up owners and check foreign keys row by row; here both are right by construction. */
const SETTINGS = `
  set session_replication_role = replica;
  set synchronous_commit = off;
  set work_mem = '256MB';
  set maintenance_work_mem = '512MB';
`;

const TABLES = [
  "core.locations",
  "core.accounts",
  "core.signatories",
  "core.connections",
  "core.mandate_links",
  "core.mandates",
  "core.chargers",
  "core.deliveries",
  "core.delivered_months",
  "core.booking_rows",
  "core.credits",
  "core.allocations",
];

/** Rows that come in are entered into no index of these tables until it is built again, which takes a fraction of the time. */
const SLEEPING_INDEXES =
  "update pg_index set indisready = false, indisvalid = false where indrelid = any ($1::regclass[])";

/** Every account and the ids of what hangs on it, which no statement after it has to look up. */
const PLAN_TABLE = `
  create unlogged table bench.plan (
    n int, place int, reference text, ean text, house_number int, account_id uuid, connection_id uuid, link_id uuid, delivery_id uuid,
    client_id uuid, partner_id uuid)`;
const EAN = "(870000000000000000 + n)::text";
const PLAN = `
  insert into bench.plan
  select n, place, 'bench-' || n, ${EAN}, 1 + n % 1000,
         gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), ($2::uuid[])[place], ($3::uuid[])[place]
    from (select n, 1 + (n - 1) % cardinality($2::uuid[]) as place from generate_series(1, $1::int) n) planned`;

const ROWS = [
  `insert into core.locations (partner_id, postal_code, house_number, street, city)
   select distinct partner_id, '3818LH', house_number, 'Stationsplein', 'Amersfoort' from bench.plan`,
  `insert into core.accounts (partner_id, id, client_id, type, payout_handler, cpo_external_ref, iban_ciphertext, iban_key_id, iban_last4, created_at)
   select partner_id, account_id, client_id, 'particulier', 'service_pays_customer', reference,
          case when n % 5 > 0 then repeat('x', 60) end, case when n % 5 > 0 then 'bench' end, case when n % 5 > 0 then '4300' end,
          now() - make_interval(secs => n)
     from bench.plan`,
  // as their triggers would
  `insert into core.account_counts (partner_id, owner_id, hour, accounts)
   select partner_id, owner_id, date_trunc('hour', created_at, 'UTC'), count(*) from core.accounts where client_id is not null group by 1, 2, 3`,
  `insert into core.signatories (partner_id, account_id, owner_id, full_name, email)
   select partner_id, account_id, client_id, 'Sanne de Vries', 'sanne' || n || '@example.nl' from bench.plan`,
  `insert into core.connections (partner_id, id, account_id, owner_id, location_id, ean_code, ean_validation_status, ean_checked_at, registration_status, created_at)
   select p.partner_id, p.connection_id, p.account_id, p.client_id, l.id, p.ean, 'matched', now(),
          case when n % 10 > 0 and n % 7 > 0 and n % 5 > 0 then 'goedgekeurd' else 'concept' end, now() - make_interval(secs => n)
     from bench.plan p join core.locations l on l.partner_id = p.partner_id and l.house_number = p.house_number`,
  `insert into core.mandate_links (partner_id, id, connection_id, owner_id, token_hash, locale, validity_years, expires_at, used_at)
   select partner_id, link_id, connection_id, client_id, sha256(link_id::text::bytea), 'nl', 3, now(), now() from bench.plan where n % 10 > 0`,
  `insert into core.mandates (partner_id, connection_id, owner_id, link_id, status, valid_from, valid_until, fee_pct, partner_share_pct, signed_name, signed_at, document, document_sha256)
   select partner_id, connection_id, client_id, link_id, 'signed', date_trunc('year', now()), date_trunc('year', now()) + interval '3 years - 1 day',
          20, 25, 'Sanne de Vries', now(), 'bench', 'bench'
     from bench.plan where n % 10 > 0`,
  `insert into core.chargers (partner_id, account_id, connection_id, owner_id, catalog_charger_id, brand, serial_number, mid_eligible, created_at)
   select p.partner_id, p.account_id, p.connection_id, p.client_id, m.id, m.brand, 'BENCH' || p.n, true, '2010-06-01Z'
     from bench.plan p, (select * from core.charger_models where mid_meter order by id limit 1) m where p.n % 7 > 0`,
  `insert into core.deliveries (partner_id, id, connection_id, owner_id, client_id, request_id, body, body_sha256)
   select partner_id, delivery_id, connection_id, client_id, client_id, 'bench', '{}', 'bench' from bench.plan`,
];

/** What stands above for the n-th account. */
export const eanOf = ({ n }: Account): string => String(870_000_000_000_000_000n + BigInt(n));
export const serialOf = ({ n }: Account): string => `BENCH${n}`;
export const houseNumberOf = ({ n }: Account): number => 1 + (n % 1000);
export const isSigned = ({ n }: Account): boolean => n % 10 > 0;
export const hasCharger = ({ n }: Account): boolean => n % 7 > 0;
/** Whose months are staged and open: signed, and booked by nobody for want of a charger or an IBAN. */
export const isOpen = ({ n }: Account): boolean => n % 10 > 0 && (n % 7 === 0 || n % 5 === 0);

/** The month so many before this one, of every account, judged as `private.month_status` does. */
const MONTH = `
  insert into core.delivered_months (partner_id, connection_id, owner_id, period, total_kwh, session_count, source, status, delivery_id, received_at)
  select p.partner_id, p.connection_id, p.client_id, m.period, 100 + p.n % 400 + 0.125, 20, 'bench',
         case when p.n % 10 = 0 or m.period >= greatest(date_trunc('year', now())::date, private.first_delivery_month()) then 'staged' else 'outside_mandate' end,
         p.delivery_id, now()
    from bench.plan p, (select (date_trunc('month', now()) - make_interval(months => $1::int))::date as period) m`;

/** What submit, credit and a sale of half of it leave behind, but for ledger, events and audit, which no position reads. */
const BOOKED = [
  `insert into core.bookings (partner_id, run_id, quarter, number, status, submitted_at)
   select p.partner_id, gen_random_uuid(), q.quarter::date, 1, 'submitted', now()
     from (select distinct partner_id from bench.plan) p,
          generate_series(date_trunc('year', now()), date_trunc('quarter', now()) - interval '3 months', '3 months') q (quarter)`,
  `insert into core.booking_rows
     (partner_id, booking_id, account_id, connection_id, owner_id, period, status, kwh, session_count, source, delivery_id, ere_per_kwh, ean_code,
      ean_exclusive, signatory, postal_code, house_number, street, city, mandate_id, mandate_signed_at, mandate_valid_from, mandate_valid_until,
      fee_pct, partner_share_pct, share_partner_id, charger_brand, charger_serial)
   select p.partner_id, b.id, p.account_id, p.connection_id, p.client_id, d.period, 'registered', d.total_kwh, d.session_count, 'delivered_total',
          d.delivery_id, f.ere_per_kwh, p.ean, true, 'Sanne de Vries', '3818LH', p.house_number, 'Stationsplein', 'Amersfoort', m.id, m.signed_at,
          m.valid_from, m.valid_until, m.fee_pct, m.partner_share_pct, p.partner_id, 'bench', 'BENCH' || p.n
     from bench.plan p
     join core.mandates m on m.partner_id = p.partner_id and m.connection_id = p.connection_id
     join core.delivered_months d on d.partner_id = p.partner_id and d.connection_id = p.connection_id and d.status = 'staged'
     join core.bookings b on b.partner_id = p.partner_id and d.period >= b.quarter and d.period < b.quarter + interval '3 months'
     join core.ere_factors f on f.delivery_year = extract(year from d.period)
    where p.n % 7 > 0 and p.n % 5 > 0`,
  `insert into core.credits (partner_id, row_id, owner_id, accepted_kwh, ere)
   select partner_id, id, owner_id, kwh, trunc(kwh * ere_per_kwh, 6) from core.booking_rows`,
  `update core.delivered_months d set status = r.status, accepted_kwh = r.kwh
     from core.booking_rows r where r.partner_id = d.partner_id and r.connection_id = d.connection_id and r.period = d.period`,
  `insert into core.sales (partner_id, booking_id, reference, buyer, ere, price, gross, sold_on)
   select partner_id, id, quarter, 'Bench', 1, 0.42, 0, current_date from core.bookings`,
  `insert into core.allocations (partner_id, sale_id, row_id, account_id, owner_id, ere, gross, fee_pct, partner_share_pct, partner_share)
   select r.partner_id, s.id, r.id, r.account_id, r.owner_id, h.ere, round(h.ere * 0.42, 2), r.fee_pct, r.partner_share_pct, 0
     from core.booking_rows r
     join core.sales s on s.partner_id = r.partner_id and s.booking_id = r.booking_id
    cross join lateral (select trunc(r.kwh * r.ere_per_kwh / 2, 6) as ere) h`,
  `update core.sales s set ere = a.ere, gross = a.gross
     from (select sale_id, sum(ere) as ere, sum(gross) as gross from core.allocations group by sale_id) a where a.sale_id = s.id`,
];

const SUMMED = [
  "analyze core.booking_rows, core.credits, core.allocations",
  "select private.sum_booking(partner_id, id) from core.bookings",
  `insert into core.figures (partner_id, delivery_year, price)
   select p.partner_id, f.delivery_year, private.average_price(p.partner_id, f.delivery_year)
     from (select distinct partner_id from bench.plan) p, core.ere_factors f`,
];

/** A token for each client, as any client gets one. */
export async function tokensOf(
  stack: Stack,
  clients: readonly Client[],
  variables: Record<string, string> = {},
): Promise<string[]> {
  const issuer: Served = await stack.serve("oauth-token", variables);
  const tokens: string[] = [];
  for (const { client_id, client_secret } of clients) {
    const answer = await fetch(`${issuer.url}/oauth-token`, {
      method: "POST",
      headers: { "x-forwarded-for": "192.0.2.1" },
      body: new URLSearchParams({ grant_type: "client_credentials", client_id, client_secret }),
    });
    if (answer.status !== 200) throw new Error(`/oauth-token answered ${answer.status}: ${await answer.text()}`);
    tokens.push(((await answer.json()) as { access_token: string }).access_token);
  }
  await issuer.stop();
  return tokens;
}

/** One after another, for ever. */
export function inTurn<T>(list: readonly T[]): () => T {
  if (list.length === 0) throw new Error("there is nothing to take in turn");
  let at = 0;
  return () => list[at++ % list.length] as T;
}

export const bearer = (token: string | undefined): Record<string, string> => ({ authorization: `Bearer ${token}` });
