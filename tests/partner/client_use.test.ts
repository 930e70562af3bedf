// When a CPO client was last used, as its partner reads it.

import { afterAll, beforeAll, expect, test } from "vitest";
import { statementsOf } from "../harness/world.ts";
import { createPartnerWorld, type PartnerWorld } from "./partner_world.ts";

let world: PartnerWorld;
beforeAll(async () => {
  world = await createPartnerWorld({ limits: "lifted", now: "2026-11-20T12:00:00Z" });
});
afterAll(() => world.close());

const clientsOf = async (key = world.keyA): Promise<{ client_id: string; last_used_at: string | null }[]> =>
  (await world.get("/partner/me", key)).body.partner.clients;
const usedAt = async (client_id: string) =>
  (await clientsOf()).find((client) => client.client_id === client_id)?.last_used_at;

test("§4.2 says when each client was last admitted, to the minute, and of nobody else's", async () => {
  const client = await world.addClient(world.partnerA.id);
  const token = await client.token();
  expect(await usedAt(client.client_id)).toBeNull();
  expect(await statementsOf(world, () => world.get("/v1/accounts", token))).toEqual(["list_accounts"]);
  expect(await usedAt(client.client_id)).toBe("2026-11-20T12:00:00Z");
  await world.freeze("2026-11-20T12:00:40Z");
  await world.get("/v1/accounts", token);
  expect(await usedAt(client.client_id), "not written again within a minute").toBe("2026-11-20T12:00:00Z");
  await world.freeze("2026-11-20T12:01:30Z");
  await world.get("/v1/accounts", token);
  expect(await usedAt(client.client_id)).toBe("2026-11-20T12:01:30Z");
  expect((await clientsOf(world.keyB)).map(({ client_id }) => client_id)).not.toContain(client.client_id);
});

test("§4.2 a refused scope, and a wrong token, are no use of it; a disabled client is left out", async () => {
  const client = await world.addClient(world.partnerA.id);
  expect((await world.get("/v1/accounts", await client.token("cpo:sessions:write"))).status).toBe(403);
  expect(await usedAt(client.client_id)).toBeNull();
  await world.row("update core.oauth_clients set disabled_at = private.now() where id = $1", client.id);
  expect((await clientsOf()).map(({ client_id }) => client_id)).not.toContain(client.client_id);
});

test("§4.2 attack: sixteen at once by one client wait for nobody for long, and all are answered", async () => {
  const client = await world.addClient(world.partnerA.id);
  const token = await client.token();
  const answers = await Promise.all(Array.from({ length: 16 }, () => world.get("/v1/accounts", token)));
  expect(answers.map(({ status }) => status)).toEqual(Array(16).fill(200));
});
