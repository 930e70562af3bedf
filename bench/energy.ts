// GET /energy and GET /ere-position of a person with ten years of four sessions a day, beside one with a single month of them, in the
// same run: both read monthly totals, so the ratio says what ten years cost. And what taking those sessions in cost.
//
//   npx node bench/energy.ts

import { createHash, randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { freePort } from "../packages/local/src/postgres.ts";
import { startStack } from "../packages/local/src/runner.ts";
import { compare, type Target } from "./load.ts";

const DAY = 86_400_000;
const data_dir = mkdtempSync(join(tmpdir(), "ere-bench-"));
const { stack, stop } = await startStack({ host: "sandbox", port: await freePort(), data_dir, fresh: false });
const db = new pg.Pool({ connectionString: stack.database_url });
try {
  await db.query("update core.rate_limits set quota = 100000000");
  const decade = await person(3650);
  const month = await person(30);
  await db.query("vacuum analyze");
  for (const path of ["/energy", "/ere-position", "/sessions?limit=20"]) {
    const { ours, floor, ratio } = await compare(at(path, decade), at(path, month), 1500, 8);
    console.log(
      `GET ${path}: ten years ${ours.per_second}/s (p50 ${ours.p50_ms} ms, p99 ${ours.p99_ms} ms), ` +
        `one month ${floor.per_second}/s (p50 ${floor.p50_ms} ms, p99 ${floor.p99_ms} ms); ratio ${ratio}`,
    );
  }
} finally {
  await db.end();
  await stop();
  rmSync(data_dir, { recursive: true, force: true });
}

function at(path: string, token: string): Target {
  return { url: `${stack.base_url}${path}`, headers: { authorization: `Bearer ${token}` } };
}

/** A person with a MID charger, a mandate and four sessions a day for the last `days` days, taken in as the gateway does; their token. */
async function person(days: number): Promise<string> {
  const token = `ere_pat_${randomBytes(24).toString("hex")}`;
  const { rows } = await db.query<{ charger_id: string }>(
    `with person as (insert into auth.users (id, email) values (gen_random_uuid(), $1) returning id),
     account as (insert into core.accounts (partner_id, user_id, access_channel, type, payout_handler)
       select private.house(), id, 'user', 'particulier', 'service_pays_customer' from person returning partner_id, id, user_id),
     location as (insert into core.locations (partner_id, postal_code, house_number) values (private.house(), '3818LH', $2) returning partner_id, id),
     connection as (insert into core.connections (partner_id, account_id, location_id, ean_code, ean_validation_status)
       select a.partner_id, a.id, l.id, lpad($2::text, 18, '8'), 'matched' from account a, location l returning partner_id, id, account_id),
     link as (insert into core.mandate_links (partner_id, connection_id, token_hash, locale, validity_years, expires_at, used_at)
       select partner_id, id, sha256(id::text::bytea), 'nl', 1, now(), now() from connection returning partner_id, connection_id, id),
     mandate as (insert into core.mandates (partner_id, connection_id, link_id, status, valid_from, valid_until, fee_pct, partner_share_pct, signed_name, signed_at, document, document_sha256)
       select partner_id, connection_id, id, 'signed', '2026-01-01', '2030-12-31', 20, 25, 'Bench', now(), 'bench', 'bench' from link),
     token as (insert into core.personal_tokens (user_id, name, token_hash, last4, scopes)
       select id, 'Bench', decode($3, 'hex'), 'abcd', '{energy:read,sessions:read}' from person)
     insert into core.chargers (partner_id, account_id, connection_id, user_id, connection_type, power_kw, mid_eligible)
     select c.partner_id, a.id, c.id, a.user_id, 'ocpp', 11, true from connection c, account a returning id as charger_id`,
    [`${token.slice(-12)}@example.nl`, days, createHash("sha256").update(token).digest("hex")],
  );
  const start = Math.floor(Date.now() / DAY) * DAY - days * DAY;
  const iso = (ms: number) => new Date(ms).toISOString();
  const sessions = Array.from({ length: days * 4 }, (_, n) => ({
    charger_id: rows[0]?.charger_id,
    source: "bench",
    external_id: String(n),
    started_at: iso(start + (n * DAY) / 4),
    ended_at: iso(start + (n * DAY) / 4 + DAY / 12),
    wh: 12_000,
  }));
  const begun = performance.now();
  for (let n = 0; n < sessions.length; n += 5000) {
    const batch = { sessions: sessions.slice(n, n + 5000) };
    await db.query("select api.ingest_charging_sessions($1, $2)", [{ kind: "worker" }, batch]);
  }
  const seconds = (performance.now() - begun) / 1000;
  console.log(`${sessions.length} sessions taken in, ${Math.round(sessions.length / seconds)}/s`);
  return token;
}
