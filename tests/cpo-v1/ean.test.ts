import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type CodeboekPoint, faults, startEanCodeboek } from "../harness/ean_codeboek.ts";
import { accountBody, createAccount, newEan } from "../harness/people.ts";
import { createWorld, rowCounts, statementsOf, type World } from "../harness/world.ts";

const TEST_EAN = "8716870000000000";
const worlds: World[] = [];
async function worldOf(variables: Record<string, string>, host: "sandbox" | "production" = "sandbox"): Promise<World> {
  const world = await createWorld({ host, limits: "lifted", variables });
  worlds.push(world);
  return world;
}
afterAll(() => Promise.all(worlds.map((world) => world.close())));

async function create(world: World, connection: Record<string, unknown>, partner = world.partnerA) {
  return world.post("/v1/accounts", accountBody({ connection }), await partner.client.token());
}
const lastCheck = (world: World) =>
  world.row("select connection_id, ean_code, source, outcome, reason from core.ean_checks order by id desc limit 1");
const addressOf = (world: World, connection: string) =>
  world.row(
    `select l.street, l.city from core.connections c
       join core.locations l on l.partner_id = c.partner_id and l.id = c.location_id where c.id = $1`,
    connection,
  );

let sandbox: World;
beforeAll(async () => {
  sandbox = await worldOf({});
});

describe("contract §5 the sandbox's EAN test values", () => {
  const at = (digits: string) => ({ ean_code: TEST_EAN + digits, postal_code: "3818LH", house_number: 1 });

  test.each([
    ["16", "matched", { outcome: "matched", reason: null }, "Teststraat"],
    ["23", "unverified", { outcome: "unavailable", reason: "silent" }, null],
    ["47", "unverified", { outcome: "unknown_address", reason: null }, null],
    ["61", "unverified", { outcome: "unavailable", reason: "timeout" }, null],
  ])(
    "contract §5 the test value %s is stored as %s, and the check is recorded",
    async (digits, status, check, street) => {
      const { body } = await create(sandbox, { ...at(digits), house_number: Number(digits) });
      expect(body.ean_validation_status).toBe(status);
      expect(await lastCheck(sandbox)).toEqual({
        connection_id: body.connection_id,
        ean_code: TEST_EAN + digits,
        source: "sandbox",
        ...check,
      });
      expect((await addressOf(sandbox, body.connection_id)).street).toBe(street);
    },
  );

  test("contract §5 the test value 30 is ean_address_mismatch: nothing is stored but the check", async () => {
    const before = await rowCounts(sandbox, "accounts", "connections", "locations");
    const { status, body } = await create(sandbox, at("30"));
    expect([status, body]).toEqual([
      422,
      { error: "ean_address_mismatch", detail: expect.stringContaining("EAN register"), request_id: expect.anything() },
    ]);
    expect(await rowCounts(sandbox, "accounts", "connections", "locations")).toEqual(before);
    expect(await lastCheck(sandbox)).toMatchObject({
      connection_id: null,
      ean_code: `${TEST_EAN}30`,
      outcome: "mismatch",
    });
  });

  test("contract §5 the test value 54 is ean_in_use, and the EAN register is not even asked", async () => {
    const before = await rowCounts(sandbox, "accounts", "ean_checks");
    const { status, body } = await create(sandbox, at("54"));
    expect([status, body.error]).toEqual([409, "ean_in_use"]);
    expect(await rowCounts(sandbox, "accounts", "ean_checks")).toEqual(before);
  });

  test("contract §5 the test values are exempt from uniqueness: every integrator can use them at once", async () => {
    const partners = [sandbox.partnerA, sandbox.partnerA, sandbox.partnerB];
    const answers = await Promise.all(partners.map((partner) => create(sandbox, at("16"), partner)));
    expect(answers.map(({ body }) => body.ean_validation_status)).toEqual(["matched", "matched", "matched"]);
  });

  test("contract §5 any other EAN is matched, and still unique", async () => {
    const connection = { ...at("16"), ean_code: newEan() };
    expect((await create(sandbox, connection)).body.ean_validation_status).toBe("matched");
    expect((await create(sandbox, connection)).body.error).toBe("ean_in_use");
  });

  test("contract §2 street and city are filled from the register where absent, and never over what was sent", async () => {
    const there = (house_number: number, fields = {}) => ({ ...at("16"), house_number, ...fields });
    const none = await create(sandbox, there(201));
    expect(await addressOf(sandbox, none.body.connection_id)).toEqual({ street: "Teststraat", city: "Utrecht" });
    const street = await create(sandbox, there(202, { street: " Kerkstraat ", city: "" }));
    expect(await addressOf(sandbox, street.body.connection_id)).toEqual({ street: "Kerkstraat", city: "Utrecht" });
  });
});

describe("contract §2 ean_in_use: another active connection, in any tenant, holds the EAN", () => {
  test("contract §9 it says that the EAN is taken, never by whom: own, colleague's and foreign look the same", async () => {
    const colleague = { id: sandbox.partnerA.id, client: await sandbox.addClient(sandbox.partnerA.id) };
    const connection = { ean_code: newEan(), postal_code: "1017AB", house_number: 1 };
    const { account_id, connection_id } = await createAccount(sandbox, sandbox.partnerA, { connection });
    const before = await rowCounts(sandbox, "accounts", "connections", "ean_checks");
    for (const partner of [sandbox.partnerA, colleague, sandbox.partnerB]) {
      const { status, body } = await create(sandbox, connection, partner);
      expect(status).toBe(409);
      expect(body).toEqual({
        error: "ean_in_use",
        detail: "Another active connection has this EAN. If yours is right, ask the operator.",
        request_id: expect.anything(),
      });
      expect(JSON.stringify(body)).not.toMatch(new RegExp(`${account_id}|${connection_id}`));
    }
    expect(await rowCounts(sandbox, "accounts", "connections", "ean_checks")).toEqual(before);
  });

  test("contract §2 the EAN of an archived connection is free again", async () => {
    const connection = { ean_code: newEan(), postal_code: "1017AB", house_number: 2 };
    const { connection_id } = await createAccount(sandbox, sandbox.partnerA, { connection });
    await sandbox.row("update core.connections set status = 'archived' where id = $1", connection_id);
    expect((await create(sandbox, connection, sandbox.partnerB)).status).toBe(200);
  });

  test("contract §2 ten calls of two tenants for one EAN at once: one winner", async () => {
    const ean_code = newEan();
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, at) =>
        create(
          sandbox,
          { ean_code, postal_code: "1017AB", house_number: 3 },
          at % 2 ? sandbox.partnerA : sandbox.partnerB,
        ),
      ),
    );
    const won = answers.filter(({ status }) => status === 200);
    expect(won).toHaveLength(1);
    expect(new Set(answers.filter(({ status }) => status !== 200).map(({ body }) => body.error))).toEqual(
      new Set(["ean_in_use"]),
    );
    const { n } = await sandbox.row("select count(*)::int as n from core.connections where ean_code = $1", ean_code);
    expect(n).toBe(1);
  });
});

describe("contract §2 production asks a table of its own", () => {
  let world: World;
  beforeAll(async () => {
    world = await worldOf({ EAN_REGISTER: "table" }, "production");
    await world.row(
      `insert into core.ean_register_points (ean_code, postal_code, house_number, house_number_addition, street, city)
       values ('871687000000000047', '9712CP', 12, null, 'Broerstraat', 'Groningen'),
              ('871687000000000111', '9712CP', 12, 'A',  'Broerstraat', 'Groningen')`,
    );
    await createAccount(world); // the process has seen the client before
  });

  test.each([
    ["the EAN at its address", "871687000000000047", 12, "matched", "Broerstraat"],
    ["the EAN at its addition", "871687000000000111", "12-a", "matched", "Broerstraat"],
    ["an address it does not know", "871687000000000128", 14, "unverified", null],
  ])("contract §2 the table answers for %s", async (_name, ean_code, house_number, status, street) => {
    const names = await statementsOf(world, async () => {
      const { body } = await create(world, { ean_code, postal_code: "9712CP", house_number });
      expect(body.ean_validation_status).toBe(status);
      expect((await addressOf(world, body.connection_id)).street).toBe(street);
      expect(await lastCheck(world)).toMatchObject({ source: "table", connection_id: body.connection_id });
    });
    expect(names, "one statement").toEqual(["create_account"]);
  });

  test("contract §2 an EAN that is not among the points of the address is refused", async () => {
    const { status, body } = await create(world, { ean_code: newEan(), postal_code: "9712CP", house_number: "12A" });
    expect([status, body.error]).toEqual([422, "ean_address_mismatch"]);
  });

  test("contract §5 the sandbox's test values mean nothing here: 54 is free, 16 is unique", async () => {
    const at = (digits: string) => ({ ean_code: TEST_EAN + digits, postal_code: "1017AB", house_number: 1 });
    expect((await create(world, at("54"))).body.ean_validation_status).toBe("unverified");
    expect((await create(world, at("16"))).status).toBe(200);
    expect((await create(world, at("16"), world.partnerB)).body.error).toBe("ean_in_use");
  });
});

describe("contract §2 production asks the EAN-codeboek; down or slow, it never fails a write", () => {
  const known = newEan();
  const point = (streetNumber: number): CodeboekPoint => ({
    ean: streetNumber === 12 ? known : newEan(),
    address: { postalCode: "9712CP", streetNumber, street: "Broerstraat", city: "Groningen" },
    product: "ELK",
    gridOperatorEan: "8716871000002",
  });
  const points = [point(12), point(16), point(18)];
  const at = (house_number: number) => ({
    ean_code: points.find(({ address }) => address?.streetNumber === house_number)?.ean ?? newEan(),
    postal_code: "9712 cp",
    house_number,
  });
  let codeboek: Awaited<ReturnType<typeof startEanCodeboek>>;
  let world: World;
  const start = async () => {
    codeboek = await startEanCodeboek(points);
    world = await worldOf({ EAN_REGISTER: "http", EAN_REGISTER_URL: codeboek.url }, "production");
  };
  beforeAll(start);
  afterAll(() => codeboek[Symbol.asyncDispose]());

  test("contract §2 matched, mismatch, unknown address; asked only where an answer is needed", async () => {
    const token = await world.partnerA.client.token();
    // the process has seen the client before
    await world.post("/v1/accounts", accountBody({ connection: { ean_code: newEan() } }), token);
    const body = accountBody({ connection: at(12) });
    const names = await statementsOf(world, async () => {
      const created = await world.post("/v1/accounts", body, token);
      expect(created.body.ean_validation_status).toBe("matched");
      expect(await addressOf(world, created.body.connection_id)).toEqual({ street: "Broerstraat", city: "Groningen" });
    });
    expect(names, "one more, for the register is asked outside any transaction").toEqual([
      "create_account",
      "create_account",
    ]);
    expect(codeboek.requests).toHaveLength(1);
    expect((await world.post("/v1/accounts", body, token)).body.idempotent).toBe(true);
    expect((await create(world, { ...at(12), house_number: 99 })).body.error).toBe("ean_in_use");
    expect(codeboek.requests, "neither a repeat nor a taken EAN needs the register").toHaveLength(1);

    expect((await create(world, { ...at(12), ean_code: newEan() })).body.error).toBe("ean_address_mismatch");
    expect(await lastCheck(world)).toMatchObject({ source: "codeboek", outcome: "mismatch", connection_id: null });
    expect((await create(world, at(14))).body.ean_validation_status).toBe("unverified");
    expect(await lastCheck(world)).toMatchObject({ source: "codeboek", outcome: "unknown_address" });
  });

  test("contract §2 ten first calls at once ask once and make one account", async () => {
    codeboek.requests.length = 0;
    codeboek.queue.push(faults.slow(200));
    const token = await world.partnerA.client.token();
    const body = accountBody({ connection: at(16) });
    const answers = await Promise.all(Array.from({ length: 10 }, () => world.post("/v1/accounts", body, token)));
    expect(new Set(answers.map((answer) => answer.body.account_id)).size).toBe(1);
    expect(answers[0]?.body.ean_validation_status).toBe("matched");
    expect(codeboek.requests).toHaveLength(1);
  });

  test("contract §2 slow: the first attempt is given up after 3 s, the second answers", async () => {
    codeboek.queue.push(faults.hang);
    const started = performance.now();
    expect((await create(world, at(18))).body.ean_validation_status).toBe("matched");
    expect(performance.now() - started).toBeGreaterThan(2_900);
    expect(performance.now() - started).toBeLessThan(6_000);
  });

  test("contract §2 down: unverified, also while the circuit is open, and when nobody listens any more", async () => {
    codeboek.always = faults.reset;
    for (const [house_number, reason] of [
      [20, "network"],
      [22, "network"],
      [24, "circuit_open"],
    ] as const) {
      const { status, body } = await create(world, at(house_number));
      expect([status, body.ean_validation_status]).toEqual([200, "unverified"]);
      expect(await lastCheck(world)).toMatchObject({
        outcome: "unavailable",
        reason,
        connection_id: body.connection_id,
      });
    }
    await codeboek[Symbol.asyncDispose]();
    await start();
    await codeboek[Symbol.asyncDispose]();
    expect((await create(world, at(26))).body.ean_validation_status).toBe("unverified");
    expect(await lastCheck(world)).toMatchObject({ outcome: "unavailable", reason: "network" });
  });
});
