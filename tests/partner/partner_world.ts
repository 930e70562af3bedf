// The small world of the other tests with what partners have in it: API keys, people who manage a partner, drafts, customers.

import { randomBytes, randomUUID } from "node:crypto";
import { expect } from "vitest";
import { issueUserToken, newPartnerKey } from "#shared/auth/tokens.ts";
import type { Answer } from "../harness/answers.ts";
import { newEan, type Partner } from "../harness/people.ts";
import { createWorld, type World, type WorldOptions } from "../harness/world.ts";

export type PartnerWorld = World & {
  keyA: string;
  keyB: string;
  /** A new active API key; the one before stops working. */
  key: (partner: Partner) => Promise<string>;
  /** An application's token for a person who manages the partner. */
  manager: (partner: Partner | null, ...scopes: string[]) => Promise<string>;
  import: (rows: unknown[], fields?: Record<string, unknown>, key?: string) => Promise<Answer>;
};

export async function createPartnerWorld(options: WorldOptions = {}): Promise<PartnerWorld> {
  const world = await createWorld({ limits: "lifted", ...options });
  const key: PartnerWorld["key"] = ({ id }) => giveKey(world, id);
  for (const { id } of [world.partnerA, world.partnerB])
    await world.row("update core.partners set return_url = 'https://' || slug || '.example/klaar' where id = $1", id);
  const keyA = await key(world.partnerA);
  return {
    ...world,
    key,
    manager: (partner, ...scopes) => giveManager(world, partner, ...scopes),
    keyA,
    keyB: await key(world.partnerB),
    import: (rows, fields = {}, token = keyA) =>
      world.post("/partner/drafts/import", { consent: true, send_invite: false, rows, ...fields }, token),
  };
}

/** An application's token for a new person, who manages the partner if there is one. */
export async function giveManager(world: World, partner: { id: string } | null, ...scopes: string[]): Promise<string> {
  const granted = scopes.length > 0 ? scopes : ["partners:read", "partners:write"];
  const { id: userId } = await addLogin(world);
  if (partner)
    await world.row("insert into core.partner_managers (partner_id, user_id) values ($1, $2)", partner.id, userId);
  const app = await world.addClient(null, { scopes: granted, grant_types: ["authorization_code"] });
  const { id: grantId } = await world.row(
    "insert into core.oauth_grants (user_id, client_id, scopes) values ($1, $2, $3) returning id",
    userId,
    app.id,
    granted,
  );
  const scope = granted.join(" ");
  return issueUserToken(world.environment, { userId, clientId: app.client_id, scope, grantId, secretNumber: 1 });
}

/** A new active API key of a partner; the one before stops working. */
export async function giveKey(world: World, partner: string): Promise<string> {
  const { api_key, stored } = newPartnerKey(world.environment.config);
  const { key_hash, prefix, last4 } = stored;
  await world.row(
    "update core.partner_keys set revoked_at = now() where partner_id = $1 and revoked_at is null",
    partner,
  );
  await world.row(
    "insert into core.partner_keys (partner_id, key_hash, prefix, last4) values ($1, decode($2, 'hex'), $3, $4)",
    partner,
    key_hash,
    prefix,
    last4,
  );
  return api_key;
}

export const newEmail = () => `${randomBytes(6).toString("hex")}@voorbeeld.nl`;

export function draftRow(fields: Record<string, unknown> = {}): Record<string, unknown> & { email: string } {
  return { naam: "Sanne de Vries", email: newEmail(), postcode: "3818 LH", huisnummer: "8", ...fields };
}

export async function addLogin(world: World, email = newEmail()): Promise<{ id: string; email: string }> {
  return world.row("insert into auth.users (id, email) values ($1, $2) returning id, email", randomUUID(), email);
}

/** A draft as the import makes it. */
export async function addDraft(world: PartnerWorld, fields: Record<string, unknown> = {}, key = world.keyA) {
  const { status, body } = await world.import([draftRow(fields)], {}, key);
  expect([status, body.added, body.rejected], JSON.stringify([body, status === 500 ? world.log.at(-1) : null])).toEqual(
    [200, 1, []],
  );
  return body.created[0] as { draft_id: string; email: string; claim_url: string; ean_status: string };
}

export const SECRETS = {
  full_name: "Qwertina Geheim",
  email: "qwertina@geheim.nl",
  phone: "+31699999999",
  postal_code: "9999ZZ",
  street: "Geheimstraat",
  house_number: 77,
  addition: "QX",
};

/** A person with everything: login, account, signatory, signed connection, charger, delivered months; attributed by a source. */
export async function addCustomer(
  world: World,
  partner: Partner,
  source: string,
  fields: Partial<typeof SECRETS> & { external_ref?: string; created_at?: string; kwh?: number } = {},
): Promise<string> {
  const person = { ...SECRETS, email: newEmail(), ...fields };
  const { id } = await addLogin(world, person.email);
  await world.row(
    `with account as (
       insert into core.accounts (partner_id, user_id, access_channel, type, payout_handler)
       values (private.people_tenant(), $1, 'user', 'particulier', 'service_pays_customer') returning partner_id, id, owner_id),
     signatory as (
       insert into core.signatories (partner_id, account_id, owner_id, full_name, email, phone) select partner_id, id, owner_id, $2, $3, $4 from account),
     location as (
       insert into core.locations (partner_id, postal_code, house_number, house_number_addition, street, city)
       select partner_id, $5, $6, $7, $8, 'Amersfoort' from account
       on conflict on constraint locations_address_key do update set house_number = excluded.house_number returning partner_id, id),
     connection as (
       insert into core.connections (partner_id, account_id, owner_id, location_id, ean_code, ean_validation_status, registration_status)
       select a.partner_id, a.id, a.owner_id, l.id, $9, 'matched', 'afgekeurd' from account a, location l returning partner_id, id, account_id, owner_id),
     link as (
       insert into core.mandate_links (partner_id, connection_id, owner_id, token_hash, locale, validity_years, expires_at, used_at)
       select partner_id, id, owner_id, sha256(id::text::bytea), 'nl', 1, now(), now() from connection returning partner_id, id, connection_id, owner_id),
     mandate as (
       insert into core.mandates (partner_id, connection_id, owner_id, link_id, status, valid_from, valid_until, fee_pct, partner_share_pct, signed_name, signed_at, document, document_sha256)
       select partner_id, connection_id, owner_id, id, 'signed', '2026-01-01', '2026-12-31', 20, 25, $2, now(), 'test', 'test' from link),
     months as (
       insert into core.delivered_months (partner_id, connection_id, owner_id, period, total_kwh, session_count, source, status, received_at)
       select partner_id, id, owner_id, m, $10, 1, 'test', 'staged', now() from connection, unnest(array['2026-09-01', '2026-10-01', '2026-11-01']::date[]) m)
     insert into core.chargers (partner_id, account_id, connection_id, owner_id, user_id, catalog_charger_id, brand, mid_eligible, connection_type)
     select c.partner_id, c.account_id, c.id, $1, $1, m.id, m.brand, true, 'ocpp'
       from connection c, (select * from core.charger_models where brand = 'Alfen' and mid_meter limit 1) m`,
    id,
    person.full_name,
    person.email,
    person.phone,
    person.postal_code,
    person.house_number,
    person.addition,
    person.street,
    newEan(),
    fields.kwh ?? 100,
  );
  await world.row(
    `insert into core.attributions (partner_id, user_id, source, external_ref, attached_month, created_at)
     values ($1, $2, $3, $4, '2026-10-01', coalesce($5::timestamptz, now()))`,
    partner.id,
    id,
    source,
    fields.external_ref ?? null,
    fields.created_at ?? null,
  );
  return id;
}
