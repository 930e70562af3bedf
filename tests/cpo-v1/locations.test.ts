// An address belongs to whoever gave it: nobody else's request changes it, and nobody else is shown it (specification section 2).

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { signMandate } from "../harness/mandate.ts";
import { accountBody, type Client, createAccount, newEan } from "../harness/people.ts";
import { createWorld, type World } from "../harness/world.ts";

let world: World;
let token: string;
let second: Client;
beforeAll(async () => {
  world = await createWorld({ limits: "lifted" });
  token = await world.partnerA.client.token();
  second = await world.addClient(world.partnerA.id);
});
afterAll(() => world.close());

let number = 0;
const newNumber = () => 1000 + ++number;
const SILENT = "871687000000000023";
type At = { house_number: number; street?: string; city?: string; ean_code?: string };
const create = async (at: At, as = token) => {
  const body = accountBody({ connection: { ean_code: newEan(), postal_code: "3818LH", ...at } });
  const { status, body: answer } = await world.post("/v1/accounts", body, as);
  expect(status, JSON.stringify(answer)).toBe(200);
  return answer as { account_id: string; connection_id: string; location_id: string };
};
const addressOf = (connection: string) =>
  world.row(
    `select l.id, l.postal_code, l.house_number, l.street, l.city
       from core.connections c join core.locations l on l.partner_id = c.partner_id and l.id = c.location_id where c.id = $1`,
    connection,
  );
const locationsAt = async (house_number: number): Promise<number> =>
  (await world.row("select count(*)::int as n from core.locations where house_number = $1", house_number)).n;

describe("contract §2 nobody rewrites another's address", () => {
  test("contract §2 a second client's account at the same number changes nothing of the first: street, mandate, changed", async () => {
    const at = { house_number: newNumber(), street: "Kerkstraat", city: "Ede" };
    const first = await create(at);
    await signMandate(world, first.account_id);
    const before = await addressOf(first.connection_id);
    const other = await create({ ...at, street: "Dorpsstraat", city: "Arnhem" }, await second.token());
    expect(other.location_id).not.toBe(first.location_id);
    expect(await addressOf(first.connection_id)).toEqual(before);
    expect(await addressOf(other.connection_id)).toMatchObject({ street: "Dorpsstraat", city: "Arnhem" });
    const { body } = await world.post(
      "/v1/connections:update",
      { connection_id: first.connection_id, connection: { street: "Kerkstraat", city: "Ede" } },
      token,
    );
    expect(body, "what the first client knows of it is still so").toMatchObject({
      changed: false,
      mandate_status: "signed",
    });
  });

  test("contract §2 a correction moves one connection to another location, and leaves its neighbor where it is", async () => {
    const at = { house_number: newNumber(), street: "Kerkstraat", city: "Ede" };
    const moving = await create(at);
    const staying = await create(at, await second.token());
    expect(staying.location_id, "addresses that agree are one").toBe(moving.location_id);
    await signMandate(world, moving.account_id);
    const { body } = await world.post(
      "/v1/connections:update",
      { connection_id: moving.connection_id, connection: { street: "Dorpsstraat" }, acknowledge_mandate_lapses: true },
      token,
    );
    expect(body).toMatchObject({ changed: true, mandate_revoked: true });
    expect(await addressOf(moving.connection_id)).toMatchObject({ street: "Dorpsstraat", city: "Ede" });
    expect(await addressOf(staying.connection_id)).toMatchObject({ id: staying.location_id, street: "Kerkstraat" });
    expect(await locationsAt(at.house_number)).toBe(2);
  });

  test("contract §2 while the register is silent no street that one client typed is shown to another", async () => {
    const house_number = newNumber();
    await create({ house_number, street: "Geheim", city: "Ede", ean_code: SILENT });
    const theirs = await create({ house_number, ean_code: SILENT }, await second.token());
    expect(await addressOf(theirs.connection_id)).toMatchObject({ street: null, city: null });
    // nor is it when the second one was there first
    const mine = await create({ house_number, street: "Later", city: "Ede", ean_code: SILENT });
    expect(await addressOf(theirs.connection_id)).toMatchObject({ street: null, city: null });
    expect(await addressOf(mine.connection_id)).toMatchObject({ street: "Later" });
  });

  test("contract §2 ten accounts at once at one address share one location", async () => {
    const house_number = newNumber();
    const made = await Promise.all(Array.from({ length: 10 }, () => create({ house_number })));
    expect(new Set(made.map(({ location_id }) => location_id)).size).toBe(1);
    expect(await locationsAt(house_number)).toBe(1);
  });

  test("contract §2 ten move in while the only one there moves out: nobody fails, and no location is left empty", async () => {
    const [house_number, elsewhere] = [newNumber(), newNumber()];
    const moving = await createAccount(world, world.partnerA, {
      connection: { ean_code: newEan(), postal_code: "3818LH", house_number },
    });
    const move = world.post(
      "/v1/connections:update",
      { connection_id: moving.connection_id, connection: { house_number: elsewhere } },
      token,
    );
    const [moved, ...made] = await Promise.all([
      move,
      ...Array.from({ length: 10 }, () => create({ house_number }, token)),
    ]);
    expect(moved.status).toBe(200);
    expect(new Set(made.map(({ location_id }) => location_id)).size).toBe(1);
    expect([await locationsAt(house_number), await locationsAt(elsewhere)]).toEqual([1, 1]);
  });

  test("contract §2 a refused account leaves no location", async () => {
    const house_number = newNumber();
    const taken = newEan();
    await create({ house_number: newNumber(), ean_code: taken });
    const body = accountBody({ connection: { ean_code: taken, postal_code: "3818LH", house_number } });
    expect((await world.post("/v1/accounts", body, token)).body.error).toBe("ean_in_use");
    expect(await locationsAt(house_number)).toBe(0);
  });
});
