import { afterAll, beforeAll, expect, test } from "vitest";
import { accountBody, createAccount, newEan } from "../harness/people.ts";
import { createWorld, statementsOf, type World } from "../harness/world.ts";

// A request is one round trip to the database, which admits it, does it and debits its limit. What a rule refused is undone with its
// debit, so that one is made up for by a statement of its own; what is refused before the database has that one alone. One more
// where the EAN register must be asked about an address that the caller left out, for then the database has to say it first, and where
// two IBANs have the same last characters.

let world: World;
let owned: Awaited<ReturnType<typeof createAccount>>;
let taken: string;
beforeAll(async () => {
  world = await createWorld();
  taken = newEan();
  owned = await createAccount(world, world.partnerA, {
    connection: { ean_code: taken, postal_code: "3818LH", house_number: 8 },
  });
});
afterAll(() => world.close());

const whole = () => ({ ean_code: newEan(), postal_code: "3818LH", house_number: 8 });

test.each<[string, string, () => object | undefined, number, string[]]>([
  ["a new account without IBAN", "/v1/accounts", () => accountBody({ iban: undefined }), 200, ["create_account"]],
  ["a new account with an IBAN", "/v1/accounts", () => accountBody(), 200, ["create_account"]],
  ["a repeat", "/v1/accounts", () => ({ ...accountBody({ iban: null }), ...owned.account }), 200, ["create_account"]],
  [
    "a repeat with the IBAN that is there, which only the keys tell",
    "/v1/accounts",
    () => ({ ...accountBody(), ...owned.account }),
    200,
    ["create_account", "create_account"],
  ],
  [
    "a repeat of which the rest is broken",
    "/v1/accounts",
    () => ({ cpo_external_ref: owned.account.cpo_external_ref }),
    200,
    ["repeat_account"],
  ],
  ["a broken body with a new reference", "/v1/accounts", () => ({ cpo_external_ref: "new" }), 400, ["repeat_account"]],
  ["a broken body without reference", "/v1/accounts", () => ({}), 400, ["admit"]],
  ["an invalid IBAN", "/v1/accounts", () => accountBody({ iban: "x" }), 400, ["admit"]],
  [
    "a taken EAN",
    "/v1/accounts",
    () => accountBody({ connection: { ...whole(), ean_code: taken } }),
    409,
    ["create_account", "admit"],
  ],
  ["the list", "/v1/accounts", () => undefined, 200, ["list_accounts"]],
  [
    "a whole correction",
    "/v1/connections:update",
    () => ({ account_id: owned.account_id, connection: whole() }),
    200,
    ["update_connection"],
  ],
  [
    "a correction of the EAN",
    "/v1/connections:update",
    () => ({ account_id: owned.account_id, connection: { ean_code: newEan() } }),
    200,
    ["update_connection"],
  ],
  [
    "a correction of the house number, when the EAN that decides on the sandbox is in the database",
    "/v1/connections:update",
    () => ({ account_id: owned.account_id, connection: { house_number: 9 } }),
    200,
    ["update_connection", "update_connection"],
  ],
  [
    "a mandate link, mailed",
    "/v1/mandate-links",
    () => ({ account_id: owned.account_id, send_email: true }),
    200,
    ["issue_mandate_link"],
  ],
])("§4.1 %s runs no other statements than these", async (_name, path, body, status, operations) => {
  const token = await world.partnerA.client.token();
  const names = await statementsOf(world, async () => {
    expect((await world.send(path, { token, body: body() })).status).toBe(status);
  });
  expect(names).toEqual(operations);
});

test("§4.1 a forged token is refused before the database is touched", async () => {
  const [header, payload] = (await world.partnerA.client.token()).split(".");
  const names = await statementsOf(world, async () => {
    const answer = await world.get("/v1/accounts", `${header}.${payload}.${"A".repeat(86)}`);
    expect(answer.status).toBe(401);
  });
  expect(names).toEqual([]);
});
