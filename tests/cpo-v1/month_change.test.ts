// What POST /v1/sessions:batch says became of a stored total.

import { afterAll, beforeAll, expect, test } from "vitest";
import { createAccount } from "../harness/people.ts";
import { createWorld, type World } from "../harness/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld({ limits: "lifted" });
});
afterAll(() => world.close());

const token = () => world.partnerA.client.token();
const deliver = async (account_id: string, ...months: object[]) =>
  (await world.post("/v1/sessions:batch", { account_id, months }, await token())).body.results;
const changes = async (account_id: string, ...months: object[]) =>
  (await deliver(account_id, ...months)).map(({ change }: { change?: string }) => change);

test("§4.1 a total is created, then unchanged or changed, by its kWh and its sessions", async () => {
  const { account_id } = await createAccount(world);
  const month = { period: "2026-03", total_kwh: 312.5, session_count: 24 };
  expect(await changes(account_id, month)).toEqual(["created"]);
  expect(await changes(account_id, { ...month, period: "2026-03-01", total_kwh: 312.5004 })).toEqual(["unchanged"]);
  expect(await changes(account_id, { ...month, session_count: 25 })).toEqual(["changed"]);
  expect(await changes(account_id, { ...month, total_kwh: 312.501, session_count: 25 })).toEqual(["changed"]);
  expect(
    await changes(account_id, { ...month, period: "2026-04" }, { ...month, total_kwh: 312.501, session_count: 25 }),
  ).toEqual(["created", "unchanged"]);
});

test("§4.1 a locked or invalid month has no change", async () => {
  const { account_id, connection_id } = await createAccount(world);
  await deliver(account_id, { period: "2026-02", total_kwh: 1 });
  await world.row("update core.delivered_months set status = 'submitted' where connection_id = $1", connection_id);
  expect(await deliver(account_id, { period: "2026-02", total_kwh: 2 }, { period: "2026-01", total_kwh: -1 })).toEqual([
    { period: "2026-02", status: "locked" },
    { period: "2026-01", status: "invalid", reason: "bad_kwh" },
  ]);
});

test("contract §2 attack: ten equal totals at once are created once", async () => {
  const { account_id } = await createAccount(world);
  const month = { period: "2026-03", total_kwh: 7 };
  const all = await Promise.all(Array.from({ length: 10 }, () => changes(account_id, month)));
  expect(all.flat().sort()).toEqual(["created", ...Array(9).fill("unchanged")]);
});
