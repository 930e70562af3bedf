// What others of a partner's clients may take, and lists. Requests with somebody else's identifiers are made in tests/tenancy/.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { MID_CHARGER } from "../harness/chargers.ts";
import { signMandate } from "../harness/mandate.ts";
import { accountBody, createAccount, type Partner } from "../harness/people.ts";
import { createWorld, type World } from "../harness/world.ts";

let world: World;
/** The owner's account, with everything on it that an outsider could reach for. */
let owned: Awaited<ReturnType<typeof createAccount>>;
/** An account of the outsider's own, to mix foreign ids with. */
const own = new Map<string, Awaited<ReturnType<typeof createAccount>>>();
const outsiders = new Map<string, Partner>();
beforeAll(async () => {
  world = await createWorld({ limits: "lifted" });
  owned = await createAccount(world);
  await signMandate(world, owned.account_id);
  const token = await world.partnerA.client.token();
  const charger = { account_id: owned.account_id, serial_number: "SN-1", ...MID_CHARGER };
  expect((await world.post("/v1/chargers", charger, token)).status).toBe(200);
  const months = [{ period: "2026-01", total_kwh: 10 }];
  expect((await world.post("/v1/sessions:batch", { account_id: owned.account_id, months }, token)).status).toBe(200);
  outsiders.set("another partner", world.partnerB);
  outsiders.set("another client of the same partner", {
    id: world.partnerA.id,
    client: await world.addClient(world.partnerA.id),
  });
  for (const [name, outsider] of outsiders) own.set(name, await createAccount(world, outsider));
});
afterAll(() => world.close());

/** Every row of the owner's account, but for what a rate limiter or an audit counts. */
async function ownersRows(): Promise<unknown> {
  const rows: Record<string, unknown> = {};
  for (const [table, column] of [
    ["accounts", "id"],
    ["signatories", "account_id"],
    ["connections", "account_id"],
    ["chargers", "account_id"],
    ["mandates", "connection_id"],
    ["mandate_links", "connection_id"],
    ["delivered_months", "connection_id"],
    ["deliveries", "connection_id"],
  ]) {
    const id = column === "connection_id" ? owned.connection_id : owned.account_id;
    const { rows: found } = await world.database.admin.query(`select * from core.${table} where ${column} = $1`, [id]);
    expect(found.length, `${table} holds something to protect`).toBeGreaterThan(0);
    rows[table ?? ""] = found;
  }
  return rows;
}

describe.each(["another partner", "another client of the same partner"])("contract §1 to %s", (who) => {
  test("contract §2 the owner's reference is free for an own account, and lists show only that", async () => {
    const outsider = outsiders.get(who) as Partner;
    const token = await outsider.client.token();
    const before = await ownersRows();
    const body = accountBody({ cpo_external_ref: owned.account.cpo_external_ref, iban: "DE89370400440532013000" });
    const created = await world.post("/v1/accounts", body, token);
    expect(created.body).toMatchObject({ idempotent: false });
    expect(created.body.account_id).not.toBe(owned.account_id);
    for (const path of ["/v1/accounts?limit=200", "/v1/ere-positions?limit=200"]) {
      const text = JSON.stringify((await world.get(path, token)).body);
      expect(text).toContain(created.body.account_id);
      expect(text).not.toContain(owned.account_id);
      expect(text).not.toContain(owned.connection_id);
    }
    expect(await ownersRows(), "a new IBAN went to the new account").toEqual(before);
  });

  test("contract §9 the two exceptions say that a thing is taken, never by whom", async () => {
    const outsider = outsiders.get(who) as Partner;
    const token = await outsider.client.token();
    const { ean_code } = await world.row("select ean_code from core.connections where id = $1", owned.connection_id);
    const mine = own.get(who) as NonNullable<ReturnType<typeof own.get>>;
    const connection = { ean_code, postal_code: "9712CP", house_number: 1 };
    const answers = [
      await world.post("/v1/accounts", accountBody({ connection }), token),
      await world.post("/v1/connections:update", { account_id: mine.account_id, connection: { ean_code } }, token),
      await world.post("/v1/chargers", { account_id: mine.account_id, serial_number: "sn-1", ...MID_CHARGER }, token),
    ];
    expect(answers.map(({ status, body }) => [status, body.error])).toEqual([
      [409, "ean_in_use"],
      [409, "ean_in_use"],
      [409, "charger_claimed"],
    ]);
    for (const { body } of answers) expect(Object.keys(body).sort()).toEqual(["detail", "error", "request_id"]);
  });
});
