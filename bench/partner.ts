// What the Partner API's two largest requests cost beside the bare SQL that moves the same rows: an import of 500 rows beside an
// `insert … select`, a list of 100,000 customers beside a `json_agg`. CPU and memory are this process's, which runs the function and
// nothing else: what the hosted limits (2 s, 256 MB) are about. It starts a database of its own.
//
//   npx node bench/partner.ts [--customers 100000]

import { generateKeyPairSync, randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import pg from "pg";
import { newPartnerKey } from "#shared/auth/tokens.ts";
import { readEnvironment } from "#shared/foundation/environment.ts";
import { serve } from "#shared/http/surface.ts";
import { bootstrap, migrate, setPasswords } from "../packages/local/src/migrate.ts";
import { freePort, startPostgres } from "../packages/local/src/postgres.ts";
import { surface } from "../supabase/functions/partner/app.ts";

const { values } = parseArgs({ options: { customers: { type: "string", default: "100000" } } });
const CUSTOMERS = Number(values.customers);
const ROWS = 500;
const RUNS = 7;

/** The same columns of the same rows, without a rule about who may see them. */
const BARE = `
  select a.user_id as customer_ref, a.external_ref, s.full_name as naam, s.email, s.phone, l.postal_code, l.street, l.house_number, l.city,
         c.registration_status, a.attached_month, m.status = 'signed' as is_active, 20 as effective_fee_pct, 25 as partner_share_pct, a.source, b.type,
         h.brand as charger_brand, h.nickname as charger_model, h.connection_type as charger_connection_type,
         h.mid_eligible as charger_mid_eligible, 1 as charger_count, true as has_charger, null as brand_asked_at
    from core.attributions a
    join core.accounts b on b.user_id = a.user_id
    join core.signatories s on s.account_id = b.id
    join core.connections c on c.account_id = b.id
    join core.mandates m on m.connection_id = c.id
    join core.locations l on l.id = c.location_id
    join core.chargers h on h.user_id = a.user_id
   where a.partner_id = $1 order by a.created_at desc, a.user_id desc`;

const folder = mkdtempSync(join(tmpdir(), "ere-bench-"));
const server = await startPostgres({
  folder,
  port: await freePort(),
  password: "bench",
  durable: true,
  log_file: join(folder, "postgres.log"),
});
await server.query("create database bench");
await bootstrap(server.url("bench"), "bench");
await migrate(server.url("bench", "postgres", "bench"), { seed: false });
await setPasswords(server.url("bench"), { edge: "bench", operator: "bench" });
const db = new pg.Pool({ connectionString: server.url("bench"), max: 2 });
const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
const environment = readEnvironment({
  API_HOST: "sandbox",
  BASE_URL: "http://bench.test",
  AUTH_URL: "http://bench.test",
  PAGES_URL: "http://bench.test/pages",
  SUPABASE_URL: "http://bench.test",
  EDGE_DATABASE_URL: server.url("bench", "edge", "bench"),
  EDGE_SLOW_DATABASE_URL: server.url("bench", "edge_slow", "bench"),
  TOKEN_KEYS: JSON.stringify({ keys: [{ ...privateKey.export({ format: "jwk" }), kid: "bench" }] }),
  IBAN_KEYS: JSON.stringify({ current: "a", keys: { a: randomBytes(32).toString("base64") } }),
  WORKER_SECRET: randomBytes(32).toString("hex"),
});
environment.log = () => {};
const { fetch } = serve(surface, environment);
try {
  await db.query("insert into core.deployment (host) values ('sandbox')");
  await db.query("update core.rate_limits set quota = 1000000");
  await db.query(
    "create table core.bare_drafts (like core.drafts including defaults including constraints including indexes)",
  );

  const importer = await addPartner("importer");
  const rows = () =>
    Array.from({ length: ROWS }, () => ({
      naam: "Sanne de Vries",
      email: `${randomBytes(8).toString("hex")}@voorbeeld.nl`,
      postcode: "3818LH",
      huisnummer: "8",
      plaats: "Amersfoort",
    }));
  const bareInsert = async (): Promise<undefined> => {
    await db.query(
      `insert into core.bare_drafts (partner_id, batch_id, source, type, name, email, postal_code, house_number, city, ean_status, send_invite, expires_at)
       select $1, gen_random_uuid(), 'csv', 'particulier', r.naam, r.email, r.postcode, r.huisnummer::int, r.plaats, 'pending', false, now() + interval '60 days'
         from jsonb_to_recordset($2::jsonb) as r (naam text, email text, postcode text, huisnummer text, plaats text)`,
      [importer.id, JSON.stringify(rows())],
    );
  };
  const importRows = (send_invite: boolean) => async () => {
    await db.query("delete from core.draft_uploads");
    return send(importer.key, "/partner/drafts/import", { consent: true, send_invite, rows: rows() });
  };
  const insert = await measure(bareInsert);
  report(`insert … select of ${ROWS} rows, bare`, insert);
  report(`POST /partner/drafts/import, ${ROWS} rows, links returned`, await measure(importRows(false)), insert);
  report(`POST /partner/drafts/import, ${ROWS} rows, mails written`, await measure(importRows(true)), insert);

  const { id, key } = await addPartner("keeper");
  await fill(id);
  const bareList = async () => {
    const { rows } = await db.query(`select json_agg(c)::text as list from (${BARE}) c`, [id]);
    return rows[0].list.length as number;
  };
  const list = await measure(bareList);
  report(`json_agg of ${CUSTOMERS} customers, bare`, list);
  report(`GET /partner/customers, ${CUSTOMERS} customers`, await measure(() => send(key, "/partner/customers")), list);
} finally {
  await environment.db.end();
  await db.end();
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
}

async function addPartner(slug: string): Promise<{ id: string; key: string }> {
  const { api_key, stored } = newPartnerKey(environment.config);
  const { rows } = await db.query(
    `with partner as (insert into core.partners (name, slug) values ($1, $1) returning id)
     insert into core.partner_keys (partner_id, key_hash, prefix, last4) select id, decode($2, 'hex'), $3, $4 from partner returning partner_id as id`,
    [slug, stored.key_hash, stored.prefix, stored.last4],
  );
  return { id: rows[0].id, key: api_key };
}

/** People with everything a customer can have, brought by this partner; half of them disclosed. */
async function fill(partner: string): Promise<void> {
  await db.query(
    `with person as (
       insert into auth.users (id, email) select gen_random_uuid(), 'p' || n || '@veel.nl' from generate_series(1, $2::int) n returning id),
     account as (
       insert into core.accounts (partner_id, user_id, access_channel, type, payout_handler)
       select private.house(), id, 'user', 'particulier', 'service_pays_customer' from person returning partner_id, id, user_id),
     signatory as (
       insert into core.signatories (partner_id, account_id, full_name, email, phone)
       select partner_id, id, 'Sanne de Vries', left(id::text, 8) || '@voorbeeld.nl', '+31612345678' from account),
     location as (
       insert into core.locations (partner_id, postal_code, house_number, street, city)
       select private.house(), '3818LH', n, 'Laadlaan', 'Amersfoort' from generate_series(1, 1000) n returning id, house_number),
     connection as (
       insert into core.connections (partner_id, account_id, location_id, ean_code, ean_validation_status)
       select a.partner_id, a.id, l.id, lpad((abs(hashtextextended(a.id::text, 0)) % 1000000000000000000)::text, 18, '0'), 'matched'
         from account a join location l on l.house_number = 1 + abs(hashtext(a.id::text)) % 1000 returning partner_id, id, account_id),
     link as (
       insert into core.mandate_links (partner_id, connection_id, token_hash, locale, validity_years, expires_at)
       select partner_id, id, sha256(id::text::bytea), 'nl', 1, now() from connection returning partner_id, id, connection_id),
     mandate as (
       insert into core.mandates (partner_id, connection_id, link_id, status, valid_from, valid_until, fee_pct, partner_share_pct, signed_name, signed_at, document, document_sha256)
       select partner_id, connection_id, id, 'signed', '2026-01-01', '2026-12-31', 20, 25, 'x', now(), 'x', 'x' from link),
     charger as (
       insert into core.chargers (partner_id, account_id, connection_id, user_id, catalog_charger_id, brand, mid_eligible)
       select c.partner_id, c.account_id, c.id, a.user_id, m.id, m.brand, true
         from connection c join account a on a.id = c.account_id, (select * from core.charger_models where mid_meter order by id limit 1) m)
     insert into core.attributions (partner_id, user_id, source, attached_month, created_at)
     select $1, id, case when random() < 0.5 then 'partner_upload' else 'referral_link' end, '2026-11-01', now() - make_interval(secs => random() * 1000000)
       from person`,
    [partner, CUSTOMERS],
  );
  await db.query("vacuum analyze");
}

/** Sends a request, reads the answer as it comes and keeps none of it. Gives its size in bytes. */
async function send(key: string, path: string, body?: object): Promise<number> {
  const response = await fetch(
    new Request(`http://bench.test${path}`, {
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(body ? { method: "POST", body: JSON.stringify(body) } : {}),
    }),
  );
  if (response.status !== 200) throw new Error(`${path} answered ${response.status} ${await response.text()}`);
  let size = 0;
  for await (const chunk of response.body ?? []) size += chunk.byteLength;
  return size;
}

/** JavaScript's memory in MB, buffers included: what the isolate of a function is held to. */
function used(): number {
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / 1024 / 1024;
}

type Measured = { ms: number; cpu_ms: number; peak_mb: number; bytes: number };

/** The median of several runs, after one to warm up; CPU and the highest memory of this process. */
async function measure(run: () => Promise<number | undefined>): Promise<Measured> {
  await run();
  const measured: Measured[] = [];
  for (let round = 0; round < RUNS; round++) {
    let peak = 0;
    const watch = setInterval(() => {
      peak = Math.max(peak, used());
    }, 5);
    const cpu = process.cpuUsage();
    const started = performance.now();
    const bytes = (await run()) ?? 0;
    const { user, system } = process.cpuUsage(cpu);
    clearInterval(watch);
    peak = Math.max(peak, used());
    measured.push({
      ms: performance.now() - started,
      cpu_ms: (user + system) / 1000,
      peak_mb: peak,
      bytes,
    });
  }
  measured.sort((a, b) => a.ms - b.ms);
  const [median] = measured.slice(Math.floor(RUNS / 2));
  if (!median) throw new Error("nothing was measured");
  return median;
}

function report(name: string, { ms, cpu_ms, peak_mb, bytes }: Measured, bare?: Measured): void {
  const ratio = bare ? `; ratio ${(ms / bare.ms).toFixed(2)}` : "";
  const size = bytes > 0 ? `, ${(bytes / 1024 / 1024).toFixed(1)} MB` : "";
  console.log(
    `${name}: ${ms.toFixed(0)} ms${size} (CPU ${cpu_ms.toFixed(0)} ms, memory ${peak_mb.toFixed(0)} MB)${ratio}`,
  );
}
