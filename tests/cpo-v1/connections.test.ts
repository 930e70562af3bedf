import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { addConnection, connectionState } from "../harness/connections.ts";
import { signMandate } from "../harness/mandate.ts";
import { accountBody, createAccount, newEan } from "../harness/people.ts";
import { createWorld, rowCounts, statementsOf, type World } from "../harness/world.ts";

let world: World;
let token: string;
beforeAll(async () => {
  world = await createWorld({ limits: "lifted" });
  token = await world.partnerA.client.token();
});
afterAll(() => world.close());

type Account = Awaited<ReturnType<typeof createAccount>>;
const update = (body: unknown) => world.post("/v1/connections:update", body, token);
const refOf = (account: Account) => account.account.cpo_external_ref;
const MISSING = "00000000-0000-4000-8000-000000000000";
const TEST_EAN = "8716870000000000";

/** What an update could change, as it stands. */
describe("§4.1 POST /v1/connections:update corrects EAN or address", () => {
  test("§4.1 answers what the connection has become", async () => {
    const account = await createAccount(world);
    const ean_code = newEan();
    const { status, body } = await update({ cpo_external_ref: refOf(account), connection: { ean_code } });
    expect(status).toBe(200);
    expect(body).toEqual({
      ok: true,
      changed: true,
      connection_id: account.connection_id,
      account_id: account.account_id,
      ean_code,
      ean_validation_status: "matched",
      registration_status: "concept",
      mandate_status: "pending",
      mandate_revoked: false,
    });
  });

  test("§4.1 omitted, null and empty fields keep their value", async () => {
    const { connection_id } = await createAccount(world, world.partnerA, {
      connection: { ...(accountBody().connection as object), house_number: "8a", street: "Kerkstraat", city: "Ede" },
    });
    const before = await connectionState(world, connection_id);
    const ean_code = newEan();
    const nothing = { street: null, city: "", house_number: null, house_number_addition: "", postal_code: null };
    expect((await update({ connection_id, connection: { ean_code, ...nothing } })).body.changed).toBe(true);
    expect(await connectionState(world, connection_id)).toEqual({ ...before, ean_code });
    await update({ connection_id, connection: { house_number_addition: "b" } });
    expect(await connectionState(world, connection_id)).toMatchObject({
      house_number: 8,
      house_number_addition: "B",
      postal_code: "3818LH",
    });
    await update({ connection_id, connection: { house_number: 8 } });
    expect(
      await connectionState(world, connection_id),
      "a house number comes with its own addition, or none",
    ).toMatchObject({ house_number: 8, house_number_addition: null });
  });

  test("contract §2 a street that was not sent belongs to the old address: the register names the new one", async () => {
    const { connection_id, location_id } = await createAccount(world, world.partnerA, {
      connection: { ...(accountBody().connection as object), house_number: 301, street: "Kerkstraat", city: "Ede" },
    });
    await update({ connection_id, connection: { postal_code: "9712 cp" } });
    expect(await connectionState(world, connection_id)).toMatchObject({
      postal_code: "9712CP",
      street: "Teststraat",
      city: "Groningen",
    });
    expect(
      await world.row("select 1 as kept from core.locations where id = $1", location_id),
      "nobody is left there",
    ).toBeUndefined();
  });

  test("§2 a neighbor at the old address keeps it", async () => {
    const at = { connection: { ...(accountBody().connection as object), house_number: 302 } };
    const moving = await createAccount(world, world.partnerA, at);
    const staying = await createAccount(world, world.partnerA, {
      connection: { ...at.connection, ean_code: newEan() },
    });
    await update({ connection_id: moving.connection_id, connection: { house_number: 303 } });
    expect((await connectionState(world, moving.connection_id)).house_number).toBe(303);
    expect((await connectionState(world, staying.connection_id)).house_number).toBe(302);
  });

  test("contract §1 field rules are those of creation; nothing is stored", async () => {
    const { connection_id } = await createAccount(world);
    const before = await connectionState(world, connection_id);
    for (const [field, value] of [
      ["ean_code", "123"],
      ["ean_code", 871687],
      ["postal_code", "0000AA"],
      ["house_number", "12-"],
      ["house_number_addition", "much too long"],
      ["street", "a\u0000b"],
      ["city", "\ud83d"],
      ["city", "x".repeat(121)],
    ] as const) {
      const { status, body } = await update({ connection_id, connection: { [field]: value } });
      expect([status, body.error, body.issues?.[0].path]).toEqual([400, "invalid_request", `connection.${field}`]);
    }
    for (const connection of [undefined, null, "x", []]) {
      expect((await update({ connection_id, connection })).body.error).toBe("invalid_request");
    }
    expect(await connectionState(world, connection_id)).toEqual(before);
  });
});

describe("contract §2 found by connection_id, account_id or cpo_external_ref; all given must agree", () => {
  let one: Account;
  let other: Account;
  beforeAll(async () => {
    one = await createAccount(world);
    other = await createAccount(world);
  });
  const ids = (account: Account) => ({
    connection_id: account.connection_id,
    account_id: account.account_id,
    cpo_external_ref: refOf(account),
  });
  type Ids = ReturnType<typeof ids>;
  const pick = (from: Ids, ...names: (keyof Ids)[]) => Object.fromEntries(names.map((name) => [name, from[name]]));

  test.each<(keyof Ids)[][]>([
    [["connection_id"]],
    [["account_id"]],
    [["cpo_external_ref"]],
    [["connection_id", "account_id"]],
    [["connection_id", "cpo_external_ref"]],
    [["account_id", "cpo_external_ref"]],
    [["connection_id", "account_id", "cpo_external_ref"]],
  ])("contract §2 a connection is found by %j", async (names) => {
    const { body } = await update({ ...pick(ids(one), ...names), connection: {} });
    expect(body).toMatchObject({ changed: false, connection_id: one.connection_id, account_id: one.account_id });
  });

  test("§1 ids are read in any case, a reference trimmed", async () => {
    const upper = one.connection_id.toUpperCase();
    const { body } = await update({ connection_id: upper, cpo_external_ref: ` ${refOf(one)} `, connection: {} });
    expect(body.connection_id).toBe(one.connection_id);
  });

  test.each<[string, () => object]>([
    ["an unknown connection", () => ({ connection_id: MISSING })],
    ["an unknown account", () => ({ account_id: MISSING })],
    ["an unknown reference", () => ({ cpo_external_ref: "nobody" })],
    ["a connection of another account", () => ({ ...ids(one), connection_id: other.connection_id })],
    ["another account", () => ({ ...ids(one), account_id: other.account_id })],
    ["another reference", () => ({ ...ids(one), cpo_external_ref: refOf(other) })],
    ["two agree, one is unknown", () => ({ ...ids(one), account_id: MISSING })],
    ["an account's id for a connection", () => ({ connection_id: one.account_id })],
    ["a reference in another case", () => ({ cpo_external_ref: refOf(one).toLowerCase() })],
  ])("contract §2 %s is refused with connection_not_found", async (_name, criteria) => {
    const { status, body } = await update({ ...criteria(), connection: { ean_code: newEan() } });
    expect([status, body]).toEqual([
      404,
      {
        error: "connection_not_found",
        detail: "No active connection of this client matches everything that was sent; see GET /v1/accounts.",
        request_id: expect.anything(),
      },
    ]);
  });

  test("contract §2 connection_not_found is also the answer where the tenant has no connection at all", async () => {
    const empty = await world.row("insert into core.partners (name, slug) values ('empty', 'empty') returning id");
    const client = await world.addClient(empty.id);
    const answer = await world.post(
      "/v1/connections:update",
      { connection_id: MISSING, connection: {} },
      await client.token(),
    );
    expect([answer.status, answer.body.error]).toEqual([404, "connection_not_found"]);
  });

  test.each([{}, { connection_id: null }, { cpo_external_ref: "  " }, { account_id: "12" }, { connection_id: 5 }])(
    "contract §1 %j names no connection: invalid_request",
    async (criteria) => {
      expect((await update({ ...criteria, connection: {} })).body.error).toBe("invalid_request");
    },
  );

  test("contract §2 several active connections are ambiguous_connection, until connection_id picks one", async () => {
    const account = await createAccount(world);
    const second = await addConnection(world, account.account_id, { ean_validation_status: "unverified" });
    for (const criteria of [{ account_id: account.account_id }, { cpo_external_ref: refOf(account) }]) {
      const { status, body } = await update({ ...criteria, connection: { ean_code: newEan() } });
      expect([status, body.error]).toEqual([409, "ambiguous_connection"]);
      const picked = await update({ ...criteria, connection_id: second, connection: {} });
      expect(picked.body.connection_id).toBe(second);
    }
    await world.row("update core.connections set status = 'archived' where id = $1", second);
    const { body } = await update({ account_id: account.account_id, connection: {} });
    expect(body.connection_id, "an archived one does not count").toBe(account.connection_id);
    const archived = await update({ connection_id: second, connection: {} });
    expect(archived.body.error).toBe("connection_not_found");
  });
});

describe("contract §2 nothing changes: changed is false", () => {
  const address = { postal_code: "2513AA", house_number: "7-bis", street: "Hofweg", city: "Den Haag" };

  test.each<[string, (ean: string) => object]>([
    ["nothing", () => ({})],
    ["everything as it was", (ean) => ({ ean_code: ean, ...address })],
    [
      "another spelling",
      (ean) => ({
        ean_code: ean.replace(/(\d{2})/, "$1 "),
        postal_code: "2513 aa",
        house_number: "7 BIS",
        street: "HOFWEG",
        city: " den haag ",
      }),
    ],
    ["number and addition apart", () => ({ house_number: 7, house_number_addition: "bis" })],
  ])("contract §2 a request that says %s leaves a signed mandate standing, unasked", async (_name, connection) => {
    const ean_code = newEan();
    const account = await createAccount(world, world.partnerA, { connection: { ean_code, ...address } });
    await signMandate(world, account.account_id);
    const before = await connectionState(world, account.connection_id);
    const counts = await rowCounts(world, "ean_checks", "audit_log", "locations");
    const names = await statementsOf(world, async () => {
      const { body } = await update({ account_id: account.account_id, connection: connection(ean_code) });
      expect(body).toMatchObject({
        ok: true,
        changed: false,
        mandate_revoked: false,
        mandate_status: "signed",
        ean_code,
      });
    });
    expect(names).toEqual(["update_connection"]);
    expect(await connectionState(world, account.connection_id)).toEqual(before);
    expect(await rowCounts(world, "ean_checks", "audit_log", "locations")).toEqual(counts);
  });
});

describe("contract §2 order: found, ambiguous, no-op, ean_in_use, ean_address_mismatch, acknowledgement, write", () => {
  test("contract §2 each is answered before the next is looked at", async () => {
    const account = await createAccount(world);
    const { account_id, connection_id } = account;
    await signMandate(world, account_id);
    const before = await connectionState(world, connection_id);
    const taken = (await connectionState(world, (await createAccount(world)).connection_id)).ean_code;
    const errorOf = async (body: object) => (await update(body)).body.error;

    expect(await errorOf({ account_id, cpo_external_ref: "nobody", connection: { ean_code: taken } })).toBe(
      "connection_not_found",
    );
    const second = await addConnection(world, account.account_id, { ean_validation_status: "unverified" });
    expect(await errorOf({ account_id, connection: { ean_code: taken } })).toBe("ambiguous_connection");
    await world.row("delete from core.connections where id = $1", second);
    expect(await errorOf({ account_id, connection: { ean_code: taken } })).toBe("ean_in_use");
    expect(await errorOf({ account_id, connection: { ean_code: `${TEST_EAN}54` } })).toBe("ean_in_use");
    expect(await errorOf({ account_id, connection: { ean_code: `${TEST_EAN}30` } })).toBe("ean_address_mismatch");
    expect(await errorOf({ account_id, connection: { ean_code: newEan() } })).toBe("mandate_acknowledgement_required");
    expect(await connectionState(world, connection_id), "no refusal stored anything").toEqual(before);
    const checks = await world.database.admin.query(
      "select ean_code, outcome from core.ean_checks where connection_id = $1 order by id",
      [connection_id],
    );
    expect(
      checks.rows.map(({ outcome }) => outcome),
      "but each look into the register",
    ).toEqual(["matched", "mismatch", "matched"]);
  });

  test("contract §2 a register that gives no answer never fails the write: unverified", async () => {
    const { connection_id } = await createAccount(world);
    for (const digits of ["23", "47", "61"]) {
      const { body } = await update({ connection_id, connection: { ean_code: TEST_EAN + digits } });
      expect(body).toMatchObject({ changed: true, ean_validation_status: "unverified" });
    }
  });

  test("§9.6 a correction keeps the check result it returned", async () => {
    const account = await createAccount(world);
    for (const ean_code of [`${TEST_EAN}23`, newEan()]) {
      const { body } = await update({ connection_id: account.connection_id, connection: { ean_code } });
      const { accounts } = (await world.get(`/v1/accounts?cpo_external_ref=${refOf(account)}`, token)).body;
      const { ean_validation_status } = body;
      expect(accounts[0].connections[0]).toMatchObject({ ean_code, ean_validation_status });
    }
  });

  test("contract §2 ten corrections to one EAN at once: one winner", async () => {
    const accounts = await Promise.all(Array.from({ length: 10 }, () => createAccount(world)));
    const ean_code = newEan();
    const answers = await Promise.all(
      accounts.map(({ connection_id }) => update({ connection_id, connection: { ean_code } })),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(409)]);
    expect(new Set(answers.filter(({ status }) => status === 409).map(({ body }) => body.error))).toEqual(
      new Set(["ean_in_use"]),
    );
  });

  test("contract §2 ten corrections of one connection at once all succeed, and the last one stands", async () => {
    const { connection_id } = await createAccount(world);
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, at) => update({ connection_id, connection: { house_number: 400 + at } })),
    );
    expect(answers.map(({ body }) => body.changed)).toEqual(Array(10).fill(true));
    const left = await world.row(
      "select count(*)::int as n from core.locations where house_number between 400 and 409",
    );
    expect(left.n, "addresses nobody is at any more are gone").toBe(1);
  });
});
