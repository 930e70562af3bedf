// A partner with a row in every table of a tenant.

import { randomUUID } from "node:crypto";
import { expect } from "vitest";
import { newPartnerKey } from "#shared/auth/tokens.ts";
import { thisYear } from "#shared/values/dutch_clock.ts";
import { giveBooking } from "./booked.ts";
import { giveChargingIn, ingest, MID_CHARGER } from "./chargers.ts";
import { giveNotice, signMandate } from "./mandate.ts";
import { createAccount, type Partner } from "./people.ts";
import type { World } from "./world.ts";

/** A row of everything, made the way it is made for real. */
export async function giveEverything(world: World, partner: Partner): Promise<void> {
  const { admin } = world.database;
  const token = await partner.client.token();
  const { account_id, connection_id } = await createAccount(world, partner);
  await signMandate(world, account_id, partner);
  await giveBooking(admin, connection_id);
  await giveNotice(admin, account_id);
  const month = { period: `${thisYear()}-01`, total_kwh: 100 };
  const charger = { account_id, ...MID_CHARGER, serial_number: partner.client.client_id };
  const registered = await world.post("/v1/chargers", charger, token);
  for (const answer of [
    registered,
    await world.post("/v1/sessions:batch", { account_id, months: [month] }, token),
    // replaces what was delivered
    await world.post("/v1/sessions:batch", { account_id, months: [{ ...month, total_kwh: 200 }] }, token),
    // numbers its log
    await world.get("/v1/events", token),
  ])
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  const session = { charger_id: registered.body.charger_id, external_id: "1", started_at: "2026-02-01T10:00:00Z" };
  await ingest(world, { ...session, ended_at: "2026-02-01T11:00:00Z", wh: 5000 });
  // replaces what was said before
  await ingest(world, { ...session, ended_at: "2026-02-01T11:00:00Z", wh: 4000 });
  await admin.query(
    "insert into core.virtual_chargers (partner_id, charger_id, owner_id, wh_per_session, sessions_per_week, power_kw, since) select partner_id, id, owner_id, 12000, 4, 11, '2026-01-01' from core.chargers where partner_id = $1 and id = $2",
    [partner.id, registered.body.charger_id],
  );
  await giveChargingIn(admin, registered.body.charger_id);
  const person = randomUUID();
  await admin.query("insert into auth.users (id, email) values ($1, $2)", [person, `${person}@example.nl`]);
  await admin.query("select private.reserve_customer($1, $2, 'manual')", [person, partner.id]);
  await admin.query("insert into core.partner_managers (partner_id, user_id) values ($1, $2)", [partner.id, person]);
  await admin.query(
    "insert into core.imports (partner_id, id, user_id, ciphertext, key_id, row_count) values ($1, gen_random_uuid(), $2, 'x', 'x', 1)",
    [partner.id, person],
  );
  await admin.query(
    "insert into core.ended_attributions (partner_id, user_id, attached_month, last_month) values ($1, $2, '2026-01-01', '2026-02-01')",
    [partner.id, person],
  );
  await admin.query("insert into core.dashboards (partner_id, as_of, figures) values ($1, now(), '{}')", [partner.id]);
  const { api_key, stored } = newPartnerKey(world.environment.config);
  await admin.query(
    "insert into core.partner_keys (partner_id, key_hash, prefix, last4) values ($1, decode($2, 'hex'), $3, $4)",
    [partner.id, stored.key_hash, stored.prefix, stored.last4],
  );
  await admin.query(
    "insert into core.announced_payouts (partner_id, payout_id, period, status) values ($1, $1, '2026-Q1', 'paid')",
    [partner.id],
  );
  await admin.query(
    "insert into core.manager_invitations (partner_id, email, token_hash) values ($1, 'collega@example.nl', sha256($2))",
    [partner.id, Buffer.from(`invitation ${partner.id}`)],
  );
  await admin.query(
    "insert into core.partner_logos (partner_id, hash, png, width, height) values ($1, sha256($2), $2, 1, 1)",
    [partner.id, Buffer.from(partner.id)],
  );
  await admin.query(
    `with endpoint as (
       insert into core.webhook_endpoints (partner_id, id, owner_id, url, secret_ciphertext, secret_key_id, delivered_to)
       values ($1, gen_random_uuid(), $1, 'https://receiver.example.com/', 'x', 'x', 0) returning partner_id, id),
     retry as (insert into core.webhook_retries (partner_id, endpoint_id, event_id, attempts) select partner_id, id, id, 10 from endpoint)
     insert into core.webhook_attempts (partner_id, endpoint_id, event_id, type, attempt, at, ms) select partner_id, id, id, 'ping', 1, private.now(), 1 from endpoint`,
    [partner.id],
  );
  const row = { naam: "Sanne de Vries", email: `${person}@voorbeeld.nl` };
  const imported = await world.post("/partner/customers", { consent: true, ...row }, api_key);
  const [{ draft_id }] = imported.body.created;
  expect((await world.post("/partner/drafts/auth-link", { draft_id }, api_key)).status).toBe(200);
  await admin.query("insert into core.ledger_checks (partner_id) values ($1)", [partner.id]);
}
