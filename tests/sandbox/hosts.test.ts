// Where the sandbox helpers exist, and for whom (specification section 4.3, contract section 1).

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hashSecret, newPartnerKey } from "#shared/auth/tokens.ts";
import { serve } from "#shared/http/serve.ts";
import { surface } from "../../supabase/functions/sandbox/app.ts";
import type { Answer } from "../harness/answers.ts";
import type { Partner } from "../harness/people.ts";
import { createWorld, type World } from "../harness/world.ts";
import { createPartnerWorld, type PartnerWorld } from "../partner/partner_world.ts";

let sandbox: PartnerWorld;
let production: PartnerWorld;
beforeAll(async () => {
  [sandbox, production] = await Promise.all([createPartnerWorld(), createPartnerWorld({ host: "production" })]);
});
afterAll(() => Promise.all([sandbox.close(), production.close()]));

const ROUTES = [
  ["POST", "/sandbox/v1/drafts/x/claim"],
  ["POST", "/sandbox/v1/customers/x/chargers"],
  ["POST", "/sandbox/v1/customers/x/sync"],
  ["POST", "/sandbox/v1/customers/x/review"],
  ["POST", "/sandbox/v1/customers/x/sign"],
  ["POST", "/sandbox/v1/customers/x/expire-mandate"],
  ["POST", "/sandbox/v1/settle"],
  ["POST", "/sandbox/v1/fixtures"],
  ["GET", "/sandbox/v1/mail"],
  ["POST", "/sandbox/v1/reset"],
] as const;

/** Every kind of credential there is. */
async function credentials(world: PartnerWorld): Promise<Record<string, string | undefined>> {
  const user = await world.addUser();
  return {
    none: undefined,
    nonsense: "nonsense",
    cpo: await world.partnerA.client.token(),
    key: world.keyA,
    personal: await user.token(),
    application: await user.appToken(),
    manager: await world.manager(world.partnerA),
    worker: world.environment.config.WORKER_SECRET,
  };
}
/** The key of a partner with the prefix of a host, kept in the database of this one. */
async function keyOf(world: World, { id }: Partner, host: "live" | "test", created = "2026-11-20"): Promise<string> {
  const { api_key, stored } = newPartnerKey(world.environment.config);
  const key = api_key.replace(/_(live|test)_/, `_${host}_`);
  await world.row("update core.partner_keys set revoked_at = now() where partner_id = $1 and revoked_at is null", id);
  await world.row(
    "insert into core.partner_keys (partner_id, key_hash, prefix, last4, created_at) values ($1, decode($2, 'hex'), $3, $4, $5)",
    ...[id, hashSecret(key), stored.prefix, stored.last4, created],
  );
  return key;
}
const said = ({ status, body }: Answer) => [status, body.error];

describe.each(ROUTES)("§4.3 %s %s", (method, path) => {
  const ask = (world: World, token?: string) => world.send(path, { method, ...(token ? { token } : {}) });

  test("is no route of production, whatever the credential", async () => {
    const { fetch } = serve(surface, production.environment);
    for (const [kind, token] of Object.entries(await credentials(production))) {
      const headers: Record<string, string> = token ? { authorization: `Bearer ${token}` } : {};
      const answer = await fetch(new Request(`http://api.test${path}`, { method, headers }));
      expect([kind, answer.status, (await answer.json()).error]).toEqual([kind, 404, "Not found"]);
    }
  });

  test("takes a partner key of the sandbox, and nothing else", async () => {
    const answers: Record<string, unknown> = {};
    for (const [kind, token] of Object.entries(await credentials(sandbox))) {
      const { status, body } = await ask(sandbox, token);
      answers[kind] = kind === "key" ? status === 401 || status === 403 : [status, body.error, body.required_scope];
    }
    const unreadable = [401, "Missing or invalid API token", undefined];
    const lacking = [403, "Insufficient scope", "partner_api_key"];
    expect(answers).toEqual({
      ...{ none: unreadable, nonsense: unreadable, worker: unreadable, key: false },
      ...{ cpo: lacking, personal: lacking, application: lacking, manager: lacking },
    });
  });

  test("a production key on the sandbox says so; one of before September 2026 works; a deactivated partner's does not", async () => {
    const other = await sandbox.addPartner();
    const live = await ask(sandbox, await keyOf(sandbox, other, "live"));
    expect(live.status).toBe(401);
    expect(live.body.detail).toContain("production key");
    expect((await ask(sandbox, await keyOf(sandbox, other, "live", "2026-08-31"))).status).not.toBe(401);
    const key = await keyOf(sandbox, other, "test");
    await sandbox.row("update core.partners set is_active = false where id = $1", other.id);
    expect(said(await ask(sandbox, key))).toEqual([403, "No partner is linked to this API key"]);
  });
});

test("contract §1 a sandbox key on production is refused where production has routes, and says why", async () => {
  const key = await keyOf(production, production.partnerA, "test");
  const { status, body } = await production.get("/partner/me", key);
  expect([status, body.detail]).toEqual([401, expect.stringContaining("sandbox key")]);
});

test("§8 sixty calls a minute for a key, all helpers together", async () => {
  const world = await createWorld({ now: "2026-11-20T12:00:00Z" });
  const key = await keyOf(world, world.partnerA, "test");
  const statuses: number[] = [];
  for (let n = 0; n < 31; n += 1) {
    statuses.push((await world.get("/sandbox/v1/mail", key)).status);
    statuses.push((await world.send("/sandbox/v1/reset", { method: "POST", token: key })).status);
  }
  expect(statuses).toEqual([...Array(60).fill(200), 429, 429]);
  await world.close();
});

test("§4.3 the functions behind the routes refuse production too", async () => {
  const caller = { kind: "partner", host: "production", partner_id: production.partnerA.id, request_id: "x" };
  const { db, slowDb } = production.environment;
  for (const name of [
    "find_rehearsal",
    "connect_virtual_charger",
    "sync_customer",
    "review_customer",
    "clear_fixture",
    "settle_rehearsal",
    "list_captured_mail",
    "prepare_signature",
    "expire_sandbox_mandate",
  ])
    await expect(db.call(name, caller, {}), name).rejects.toThrow("sandbox only");
  for (const name of ["reset_sandbox", "settle_sandbox"])
    await expect(slowDb.call(name, caller, {}), name).rejects.toThrow("sandbox only");
});
