// Requests per second of GET /v1/ere-positions?cpo_external_ref=… and months per second of POST /v1/sessions:batch, beside the bare
// floor (bench/floor.ts) in the same run; statements per request, counted at the database; and the list at two sizes.
//
//   npx node bench/main_job.ts [--accounts 20000]

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import pg from "pg";
import { denoProgram } from "../packages/local/src/checkout.ts";
import { startStack } from "../packages/local/src/runner.ts";
import { compare, load, type Target } from "./load.ts";

const { values } = parseArgs({ options: { accounts: { type: "string", default: "20000" } } });
const ACCOUNTS = Number(values.accounts);
const CONCURRENCY = 16;
const SMALL = { client_id: "bench-small", client_secret: "a client of a thousand accounts, for comparison" };

const data_dir = mkdtempSync(join(tmpdir(), "ere-bench-"));
const { stack, stop } = await startStack({ host: "sandbox", port: await freePort(), data_dir, fresh: false });
const db = new pg.Pool({ connectionString: stack.database_url });
let floor: ChildProcess | undefined;
try {
  const { base_url, demo, database_url } = stack;
  const account = await fill(demo.cpo.client_id, ACCOUNTS);
  await fill(SMALL.client_id, 1000);
  const floorPort = await freePort();
  floor = spawn(denoProgram(), ["run", "--quiet", "-A", new URL("floor.ts", import.meta.url).pathname], {
    env: { ...process.env, PORT: String(floorPort), DATABASE_URL: database_url },
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(floor.stdout ?? floor, "data");

  const headers = { authorization: `Bearer ${await token(demo.cpo)}` };
  const at = (path: string): Target => ({ url: `${base_url}${path}`, headers });
  const floorAt = (path: string): Target => ({ url: `http://127.0.0.1:${floorPort}${path}` });

  const read = at(`/v1/ere-positions?cpo_external_ref=${account.reference}`);
  const readFloor = floorAt(`/read?partner=${account.partner_id}&account=${account.id}`);
  report("GET /v1/ere-positions?cpo_external_ref=…, requests/s", await compare(read, readFloor, 3000, CONCURRENCY));
  await countStatements("GET /v1/ere-positions", read);

  // every request delivers the same twelve months of one of a hundred connections with new totals
  const months = Array.from({ length: 12 }, (_, index) => `2025-${String(index + 1).padStart(2, "0")}`);
  const pick = () => account.hundred[Math.floor(Math.random() * account.hundred.length)] ?? account;
  const kwh = () => Math.round(Math.random() * 500_000) / 1000;
  const write: Target = {
    ...at("/v1/sessions:batch"),
    method: "POST",
    body: () =>
      JSON.stringify({ account_id: pick().id, months: months.map((period) => ({ period, total_kwh: kwh() })) }),
  };
  const writeFloor: Target = {
    ...floorAt("/write"),
    method: "POST",
    body: () => {
      const { connection_id } = pick();
      return JSON.stringify(months.map((period) => ({ connection_id, period: `${period}-01`, total_kwh: kwh() })));
    },
  };
  const batches = await compare(write, writeFloor, 1000, CONCURRENCY);
  const perMonth = (figures: { per_second: number }) => ({
    ...figures,
    per_second: figures.per_second * months.length,
  });
  report("POST /v1/sessions:batch of 12 months, months/s", {
    ...batches,
    ours: perMonth(batches.ours),
    floor: perMonth(batches.floor),
  } as typeof batches);
  await countStatements("POST /v1/sessions:batch", write);

  const page = at("/v1/ere-positions?limit=50");
  const small = { ...page, headers: { authorization: `Bearer ${await token(SMALL)}` } };
  const lists = await compare(page, small, 300, 4);
  console.log(
    `GET /v1/ere-positions?limit=50: p50 ${lists.ours.p50_ms} ms for a client of ${ACCOUNTS} accounts, ${lists.floor.p50_ms} ms for one of 1000`,
  );
} finally {
  floor?.kill();
  await db.end();
  await stop();
  rmSync(data_dir, { recursive: true, force: true });
}

// Arrangements --------------------------------------------------------------------------------------------------------

type Client = { client_id: string; client_secret: string };

async function token({ client_id, client_secret }: Client): Promise<string> {
  const answer = await fetch(`${stack.auth_url}/oauth-token`, {
    method: "POST",
    body: new URLSearchParams({ grant_type: "client_credentials", client_id, client_secret }),
  });
  return ((await answer.json()) as { access_token: string }).access_token;
}

/** Accounts of a client with a connection and twelve delivered months each, made by plain inserts; limits out of the way. */
async function fill(client_id: string, count: number) {
  await db.query("create schema if not exists bench");
  await db.query(
    "create table if not exists bench.months (connection_id uuid, period date, total_kwh numeric(12, 3), primary key (connection_id, period))",
  );
  await db.query("update core.rate_limits set quota = 100000000");
  await db.query(
    `insert into core.oauth_clients (client_id, partner_id, name, secret_hash, scopes)
     select $1, partner_id, 'Bench', sha256(convert_to($2, 'UTF8')), scopes from core.oauth_clients where client_id = 'demo-cpo'
     on conflict do nothing`,
    [SMALL.client_id, SMALL.client_secret],
  );
  await db.query(
    `with client as (select id, partner_id from core.oauth_clients where client_id = $1),
     location as (insert into core.locations (partner_id, postal_code, house_number)
       select partner_id, '3818LH', n from client, generate_series(1, 100) n on conflict on constraint locations_address_key do update set house_number = excluded.house_number
       returning partner_id, id, house_number),
     account as (insert into core.accounts (partner_id, client_id, type, payout_handler, cpo_external_ref, created_at)
       select partner_id, id, 'particulier', 'service_pays_customer', $1 || '-' || n, now() - make_interval(secs => n) from client, generate_series(1, $2::int) n
       returning partner_id, id),
     signatory as (insert into core.signatories (partner_id, account_id, full_name) select partner_id, id, 'Bench' from account),
     connection as (insert into core.connections (partner_id, account_id, location_id, ean_code, ean_validation_status)
       select a.partner_id, a.id, l.id, lpad((abs(hashtextextended(a.id::text, 0)) % 1000000000000000000)::text, 18, '0'), 'matched'
         from account a join location l on l.house_number = 1 + abs(hashtext(a.id::text)) % 100
       returning partner_id, id),
     delivery as (insert into core.deliveries (partner_id, connection_id, client_id, request_id, body, body_sha256)
       select c.partner_id, c.id, client.id, 'bench', '{}', '' from connection c, client returning partner_id, id, connection_id)
     insert into core.delivered_months (partner_id, connection_id, period, total_kwh, session_count, source, status, delivery_id, received_at)
     select d.partner_id, d.connection_id, make_date(2025, m, 1), 250, 20, 'bench', 'staged', d.id, now() from delivery d, generate_series(1, 12) m`,
    [client_id, count],
  );
  await db.query("vacuum analyze");
  const { rows } = await db.query<{ partner_id: string; id: string; reference: string; connection_id: string }>(
    `select a.partner_id, a.id, a.cpo_external_ref as reference, c.id as connection_id
       from core.accounts a join core.connections c on c.partner_id = a.partner_id and c.account_id = a.id
      where a.cpo_external_ref like $1 || '-%' limit 100`,
    [client_id],
  );
  const [first] = rows;
  if (!first) throw new Error("the bench filled nothing");
  return { ...first, hundred: rows };
}

/** Transactions the database committed per request, read from its own statistics. */
async function countStatements(name: string, target: Target): Promise<void> {
  const committed = async () => {
    await new Promise((resolve) => setTimeout(resolve, 1500)); // backends report their counts at most once a second
    const { rows } = await db.query(
      "select xact_commit::int as count from pg_stat_database where datname = current_database()",
    );
    return rows[0].count as number;
  };
  const idle = await committed();
  const before = await committed();
  await load(target, 500, 4);
  const after = await committed();
  console.log(
    `${name}: ${((after - before - (before - idle)) / 500).toFixed(2)} statements per request at the database`,
  );
}

function report(name: string, { ours, floor, ratio }: Awaited<ReturnType<typeof compare>>): void {
  console.log(
    `${name}: ${ours.per_second} (p50 ${ours.p50_ms} ms, p99 ${ours.p99_ms} ms); floor ${floor.per_second}; ratio ${ratio}`,
  );
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
