// A key that an application minted: no more than the application, in what it sees and in how long it lives.

import { decodeJwt } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import { hashSecret, newSecret } from "#shared/auth/tokens.ts";
import { addCustomer, addDraft, addLogin, createPartnerWorld, giveKey, type PartnerWorld } from "./partner_world.ts";

let world: PartnerWorld;
beforeAll(async () => {
  world = await createPartnerWorld();
});
afterAll(() => world.close());

type Minted = { key: string; grant: string; client_id: string; person: string; token: string };

/** A key that an application of a managing person mints in place of the one before. */
async function minted(): Promise<Minted> {
  const token = await world.manager(world.partnerA);
  const { body } = await world.post("/partner/api-keys", { rotate: true }, token);
  const { grant_id, client_id, sub } = decodeJwt(token);
  return { key: body.api_key, grant: String(grant_id), client_id: String(client_id), person: String(sub), token };
}
const get = (path: string, key: string) => world.get(`/partner/${path}`, key);
const status = async (key: string) => (await get("me", key)).status;
const shown = async (token: string) => (await get("me", token)).body.partner.api_key;

test("§4.5 attack: partners:write turns no pseudonym into a name: its key sees what the application sees", async () => {
  world.keyA = await giveKey(world, world.partnerA.id);
  await addCustomer(world, world.partnerA, "partner_upload", { external_ref: "REF-1" });
  await addDraft(world);
  expect((await get("customers", world.keyA)).body.customers[0]).toHaveProperty("naam");
  const { key, token } = await minted();
  for (const path of ["customers", "drafts", "events", "dashboard", "payouts"]) {
    const [byKey, byToken] = [await get(path, key), await get(path, token)];
    // counted when it is read
    const { as_of, ...body } = byToken.body;
    expect([path, byKey.status, byKey.body]).toEqual([
      path,
      200,
      { ...body, ...(as_of && { as_of: expect.any(String) }) },
    ]);
  }
  const { body } = await get("customers", key);
  expect(body.customers).toHaveLength(1);
  for (const field of ["naam", "email", "phone", "street"]) expect(body.customers[0]).not.toHaveProperty(field);
  expect((await addDraft(world, {}, key)).draft_id, "it works as a key").toBeTruthy();
  expect((await world.post("/partner/company", { name: "X" }, key)).status, "and is no manager").toBe(403);
});

test.each<[string, (minted: Minted) => Promise<unknown>]>([
  [
    "the person ends the application",
    ({ person, client_id }) =>
      world.row(
        "select private.end_application($1, c.id) from core.oauth_clients c where c.client_id = $2",
        person,
        client_id,
      ),
  ],
  ["the grant ends", ({ grant }) => world.row("select private.end_grant($1, 'test')", grant)],
  ["the grant is purged", ({ grant }) => world.row("delete from core.oauth_grants where id = $1", grant)],
  ["the application is disabled", ({ client_id }) => operate("client_disable", { client: client_id })],
  [
    "the application loses partners:write",
    ({ client_id }) => operate("app_set_scopes", { app: client_id, scopes: ["partners:read"] }),
  ],
  [
    "its secret leaked and its tokens are revoked",
    ({ client_id }) =>
      operate("app_rotate_secret", { app: client_id, secret_hash: hashSecret(newSecret()), revoke_tokens: true }),
  ],
  [
    "the person manages the partner no more",
    ({ person }) => world.row("delete from core.partner_managers where user_id = $1", person),
  ],
  [
    "the login is banned",
    ({ person }) => world.row("update auth.users set banned_until = 'infinity' where id = $1", person),
  ],
])(
  "§4.5 attack: a key of an application ends once %s, and the next takes its place without rotate",
  async (_what, end) => {
    const made = await minted();
    const { id } = await addLogin(world);
    await world.row("insert into core.partner_managers (partner_id, user_id) values ($1, $2)", world.partnerA.id, id);
    expect(await status(made.key)).toBe(200);
    await end(made);
    expect(await status(made.key)).toBe(401);
    const other = await world.manager(world.partnerA);
    expect(await shown(other)).toBeNull();
    const next = await world.post("/partner/api-keys", {}, other);
    expect(next.status).toBe(200);
    expect(await status(next.body.api_key)).toBe(200);
  },
);

test("§5 a rotated secret alone, and the partner's own key, end nothing", async () => {
  const made = await minted();
  await operate("app_rotate_secret", { app: made.client_id, secret_hash: hashSecret(newSecret()) });
  expect(await status(made.key)).toBe(200);
  const own = await giveKey(world, world.partnerA.id);
  await world.row("select private.end_grant($1, 'test')", made.grant);
  expect(await status(own)).toBe(200);
});

test("contract §4 everybody who manages the partner is mailed about a new key, whoever makes it", async () => {
  const { id, email } = await addLogin(world);
  await world.row("insert into core.partner_managers (partner_id, user_id) values ($1, $2)", world.partnerA.id, id);
  const mails = async () => {
    const { rows } = await world.database.admin.query(
      "select content from core.mail_outbox where template = 'key_minted' and recipient = $1 order by created_at",
      [email],
    );
    return rows.map(({ content }) => content);
  };
  const { key, person } = await minted();
  const { email: by } = await world.row("select email from auth.users where id = $1", person);
  expect(await mails()).toEqual([
    { partner_name: expect.any(String), key: `ere_test_…${key.slice(-4)}`, by, application: expect.any(String) },
  ]);
  const stored = { key_hash: hashSecret(newSecret()), prefix: "ere_test_", last4: "abcd" };
  await operate("partner_mint_key", { partner: world.partnerA.id, rotate: true, ...stored });
  expect((await mails())[1]).toMatchObject({ key: "ere_test_…abcd", by: null, application: null });
});

async function operate(name: string, input: object): Promise<unknown> {
  return world.row(`select ops.${name}($1::jsonb) as done`, JSON.stringify({ operator: "test", ...input }));
}
