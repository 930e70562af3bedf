// A signed mandate, as a signatory gives it or by its row.

import { randomBytes } from "node:crypto";
import type pg from "pg";
import { expect } from "vitest";
import { hashSecret } from "#shared/auth/tokens.ts";
import { claimKey } from "#shared/domain/claim/links.ts";
import type { User } from "./people.ts";
import type { World } from "./world.ts";

/** Signs the mandate of a connection the way the page does: link, code, signature. */
export async function signMandate(
  world: World,
  account_id: string,
  partner = world.partnerA,
  validity_years = 1,
): Promise<void> {
  const link = await world.post("/v1/mandate-links", { account_id, validity_years }, await partner.client.token());
  expect(link.status, JSON.stringify(link.body)).toBe(200);
  const token_hash = hashSecret(link.body.mandate_link.split("/").pop());
  const code_hash = hashSecret(token_hash);
  const caller = { kind: "anyone", host: world.environment.config.API_HOST, request_id: "test" };
  const db = world.environment.db;
  const { facts, periods } = JSON.parse(
    await db.call("open_mandate_link", caller, { token_hash, address_hash: randomBytes(8).toString("hex") }),
  );
  const key = claimKey(world.environment);
  const content = { full_name: "Sanne de Vries", partner_name: "test" };
  const code = { template: "mandate_code", locale: "nl", content: { ...content, code: "123456" }, key };
  const copy = {
    template: "mandate_signed",
    locale: "nl",
    content: { ...content, link: "https://pages.example/mandate/test", document: "test" },
    key,
  };
  // without an address the name and tick suffice
  if (facts.email) await db.call("send_mandate_code", caller, { token_hash, code_hash, mail: code });
  const signed = await db.call("sign_mandate", caller, {
    token_hash,
    facts: { ...facts, ...periods[0] },
    signed_name: facts.full_name,
    code_hash,
    key,
    document: "test",
    document_sha256: hashSecret("test"),
    address: "192.0.2.1",
    user_agent: "test",
    mail: copy,
  });
  expect(JSON.parse(signed)).toEqual({ ok: true });
}

/** A signed mandate on a person's connection, by its row: the signing page has tests of its own. */
export async function giveMandate(world: World, user: User, from = "2026-01-01", until = "2026-12-31"): Promise<void> {
  await world.row(
    `with link as (
       insert into core.mandate_links (partner_id, connection_id, owner_id, token_hash, locale, validity_years, expires_at, used_at)
       select partner_id, id, owner_id, sha256(gen_random_uuid()::text::bytea), 'nl', 1, private.now(), private.now()
         from core.connections where id = $1 returning *)
     insert into core.mandates (partner_id, connection_id, owner_id, link_id, status, valid_from, valid_until, fee_pct, partner_share_pct, signed_name, signed_at, document, document_sha256)
     select partner_id, connection_id, owner_id, id, 'signed', $2, $3, 20, 25, 'Sanne de Vries', private.now(), 'test', 'test' from link`,
    user.connection_id,
    from,
    until,
  );
}

/** Something that the customer of an account is to be told. */
export async function giveNotice(admin: pg.Pool, account_id: string): Promise<void> {
  await admin.query(
    `insert into core.notices (partner_id, account_id, owner_id, kind, cause)
     select partner_id, id, owner_id, 'registration_approved', 'test:' || id from core.accounts where id = $1`,
    [account_id],
  );
}
