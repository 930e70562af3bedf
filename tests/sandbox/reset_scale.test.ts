// POST /sandbox/v1/reset where there is much to delete.

import { afterAll, beforeAll, expect, test } from "vitest";
import { createSandboxWorld, everyCount, type SandboxWorld, testEan } from "./sandbox_world.ts";

let world: SandboxWorld;
beforeAll(async () => {
  world = await createSandboxWorld();
});
afterAll(() => world.close());

/** What a reset leaves: its own audit row, and how much of a limit is used. */
const counts = async (): Promise<Record<string, number>> => ({
  ...(await everyCount(world)),
  audit_log: 0,
  rate_limit_state: 0,
});
const deleted = ({ status, body }: { status: number; body: Record<string, unknown> }) => [
  status,
  body.customers_deleted,
  body.drafts_deleted,
];

test("§8 a reset is set-based, however many customers there are, each with charger, sessions, mandate and mail", async () => {
  await seed(world, world.partnerB.id, 50);
  const before = await counts();
  const timed = async (size: number) => {
    await seed(world, world.partnerA.id, size);
    // as autovacuum does: else checks of foreign keys keep the plan that they made while their tables were empty
    await world.rows("analyze");
    const begun = performance.now();
    const answer = await world.reset();
    const ms = Math.round(performance.now() - begun);
    expect(deleted(answer), JSON.stringify(world.log.at(-1))).toEqual([200, size, size]);
    expect(await counts()).toEqual(before);
    return ms;
  };
  const few = await timed(100);
  const many = await timed(1_500);
  console.log(`100 customers: ${few} ms; 1,500: ${many} ms`);
  // fifteen times as many: with a nested loop anywhere they would take two hundred times as long
  expect(many).toBeLessThan(100 * few);
});

/** Customers as claims leave them, by a statement a table. */
async function seed(world: SandboxWorld, partner: string, size: number): Promise<void> {
  const statements = [
    `create temp table seeded on commit drop as
       select n, gen_random_uuid() as user_id, gen_random_uuid() as account_id, gen_random_uuid() as location_id, gen_random_uuid() as connection_id,
              gen_random_uuid() as link_id, gen_random_uuid() as charger_id, gen_random_uuid() as draft_id, 'k' || n || '.' || left(md5('${partner}'), 8) || '@example.nl' as email
         from generate_series(1, ${size}) n`,
    `insert into auth.users (id, email, email_confirmed_at, raw_app_meta_data) select user_id, email, now(), jsonb_build_object('claimed_for', '${partner}') from seeded`,
    `insert into core.accounts (partner_id, id, user_id, access_channel, type, payout_handler) select private.people_tenant(), account_id, user_id, 'user', 'particulier', 'service_pays_customer' from seeded`,
    `insert into core.signatories (partner_id, account_id, owner_id, full_name, email) select private.people_tenant(), account_id, user_id, 'Sanne de Vries', email from seeded`,
    `insert into core.locations (partner_id, id, postal_code, house_number, house_number_addition) select private.people_tenant(), location_id, '9999ZZ', n, left('${partner}', 4) from seeded`,
    `insert into core.connections (partner_id, id, account_id, owner_id, location_id, ean_code, ean_exclusive, ean_validation_status, registration_status, submitted_at)
       select private.people_tenant(), connection_id, account_id, user_id, location_id, '${testEan(16)}', false, 'matched', 'goedgekeurd', private.now() from seeded`,
    `insert into core.ean_checks (partner_id, connection_id, owner_id, ean_code, postal_code, house_number, source, outcome)
       select private.people_tenant(), connection_id, user_id, '${testEan(16)}', '9999ZZ', n, 'sandbox', 'matched' from seeded`,
    `insert into core.mandate_links (partner_id, id, connection_id, owner_id, token_hash, locale, validity_years, expires_at) select private.people_tenant(), link_id, connection_id, user_id, sha256(link_id::text::bytea), 'nl', 1, now() from seeded`,
    `insert into core.mandates (partner_id, connection_id, owner_id, link_id, status, valid_from, valid_until, fee_pct, partner_share_pct, signed_name, signed_at, document, document_sha256)
       select private.people_tenant(), connection_id, user_id, link_id, 'signed', '2026-01-01', '2026-12-31', 20, 25, 'Sanne de Vries', now(), 'x', 'x' from seeded`,
    `insert into core.chargers (partner_id, id, account_id, connection_id, owner_id, user_id, catalog_charger_id, brand, mid_eligible, serial_number)
       select private.people_tenant(), charger_id, account_id, connection_id, user_id, user_id, m.id, m.brand, true, 'S-' || upper(replace(charger_id::text, '-', '')) from seeded, (select * from core.charger_models where mid_meter limit 1) m`,
    `insert into core.virtual_chargers (partner_id, charger_id, owner_id, wh_per_session, sessions_per_week, power_kw, since, synced_at) select private.people_tenant(), charger_id, user_id, 12000, 0, 11, '2026-01-01', private.now() from seeded`,
    `insert into core.charging_sessions (partner_id, charger_id, id, connection_id, owner_id, source, external_id, started_at, busy_from, ended_at, wh, status, received_at)
       select private.people_tenant(), charger_id, gen_random_uuid(), connection_id, user_id, 'sandbox', m::text, make_date(2026, m, 5), make_date(2026, m, 5), make_date(2026, m, 5) + interval '1 hour', 9000, 'completed', now() from seeded, generate_series(1, 2) m`,
    `insert into core.charger_months (partner_id, charger_id, month, owner_id, wh, sessions) select private.people_tenant(), charger_id, make_date(2026, m, 1), user_id, 9000, 1 from seeded, generate_series(1, 2) m`,
    `insert into core.delivered_months (partner_id, connection_id, owner_id, period, total_kwh, session_count, source, status, received_at)
       select private.people_tenant(), connection_id, user_id, make_date(2026, m, 1), 9, 1, 'sessions', 'staged', now() from seeded, generate_series(1, 2) m`,
    `insert into core.attributions (partner_id, user_id, source, attached_month) select '${partner}', user_id, 'partner_upload', '2026-11-01' from seeded`,
    `insert into core.drafts (partner_id, id, batch_id, source, type, name, email, ean_status, send_invite, status, user_id, account_id, expires_at)
       select '${partner}', draft_id, draft_id, 'api', 'particulier', 'Sanne', email, 'resolved', true, 'active', user_id, account_id, now() + interval '60 days' from seeded`,
    `insert into core.draft_uploads (partner_id) select '${partner}' from seeded`,
    `insert into core.mail_outbox (partner_id, cause, template, locale, recipient, content, status)
       select '${partner}', 'claim_' || c || ':' || draft_id, 'claim', 'nl', email, '{}', 'captured' from seeded, generate_series(1, 4) c`,
  ];
  const client = await world.database.admin.connect();
  await client.query("begin");
  for (const statement of statements) await client.query(statement);
  await client.query("commit");
  client.release();
}
