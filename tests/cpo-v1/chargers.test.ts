import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { MID_CHARGER } from "../harness/chargers.ts";
import { addConnection } from "../harness/connections.ts";
import { signMandate } from "../harness/mandate.ts";
import { createAccount, type Partner } from "../harness/people.ts";
import { createWorld, type World } from "../harness/world.ts";

let world: World;
let account_id: string;
beforeAll(async () => {
  // the limit of ten chargers is the subject here, not the limit of requests
  world = await createWorld({ limits: "lifted" });
});
afterAll(() => world.close());
beforeEach(async () => {
  ({ account_id } = await createAccount(world));
});

const register = async (fields: Record<string, unknown> = {}, partner: Partner = world.partnerA) =>
  world.post("/v1/chargers", { account_id, ...MID_CHARGER, ...fields }, await partner.client.token());
const serial = () => `sn-${randomUUID().slice(0, 8)}`;
const remove = (charger_id: string) =>
  world.row("update core.chargers set status = 'removed', removed_at = private.now() where id = $1", charger_id);
const modelWhere = async (condition: string): Promise<{ id: string; brand: string; model: string }> =>
  world.row(`select id, brand, model from core.charger_models where ${condition} order by brand, model limit 1`);
const connectionOf = async (charger_id: string) =>
  (await world.row("select connection_id from core.chargers where id = $1", charger_id)).connection_id;

describe("§4.1 which model", () => {
  test("§4.1 its BootNotification gives the catalogue's model, and its MID meter", async () => {
    const { status, body } = await register();
    expect([status, body]).toEqual([
      200,
      {
        ok: true,
        idempotent: false,
        charger_id: expect.any(String),
        catalog: { catalog_charger_id: expect.any(String), brand: "Alfen", model: "Eve Single Pro-line 3-phase" },
        mid_eligible: true,
        account_ere_eligible: false,
      },
    ]);
  });

  test("contract §2 the catalogue id wins over the pair, even over one that means nothing", async () => {
    const { id, brand, model } = await modelWhere("brand = 'Zaptec' and mid_meter");
    for (const pair of [MID_CHARGER, { ocpp_vendor: "Nobody", ocpp_model: "x" }]) {
      const { body } = await register({ ...pair, catalog_charger_id: id, serial_number: serial() });
      expect(body.catalog).toEqual({ catalog_charger_id: id, brand, model });
    }
  });

  test("contract §2 a known model without a MID meter: registered, mid_eligible false, the gate stays closed", async () => {
    await signMandate(world, account_id);
    const { body } = await register({ ocpp_vendor: "Zaptec", ocpp_model: "Go" });
    expect(body).toMatchObject({ mid_eligible: false, account_ere_eligible: false, catalog: { model: "Go" } });
  });

  test("contract §9 a MID variant chosen by its id: mid_eligible null, the gate stays closed until it is confirmed", async () => {
    await signMandate(world, account_id);
    const { id } = await modelWhere("mid_evidence = 'variant'");
    const { body } = await register({ catalog_charger_id: id });
    expect(body).toMatchObject({ ok: true, mid_eligible: null, account_ere_eligible: false });
    await world.row("update core.chargers set mid_eligible = true where id = $1", body.charger_id);
    expect((await register({ catalog_charger_id: id })).body).toMatchObject({
      idempotent: true,
      account_ere_eligible: true,
    });
  });

  const unresolved: [string, Record<string, unknown>, string[] | "some" | "none"][] = [
    ["an unknown vendor", { ocpp_vendor: "Nobody", ocpp_model: "x" }, "none"],
    ["an unknown model of a known brand", { ocpp_vendor: "Alfen BV", ocpp_model: "x" }, "some"],
    ["a family sold with and without the meter", { ocpp_vendor: "ABB", ocpp_model: "CDT_TACW22" }, "some"],
    [
      "a model only its meterType tells apart",
      { ocpp_vendor: "Schneider Electric", ocpp_model: "EVlink Pro AC" },
      "some",
    ],
    ["a catalogue id that is none", { catalog_charger_id: randomUUID() }, "none"],
    ["SQL for a model", { ocpp_vendor: "Alfen BV", ocpp_model: "'; drop table core.chargers; --" }, "some"],
  ];
  test.each(unresolved)(
    "contract §2 %s is refused with 422 catalog_unresolved, and suggestions where there are any",
    async (_what, fields, suggested) => {
      const { status, body } = await register(fields);
      expect([status, body.error]).toEqual([422, "catalog_unresolved"]);
      expect(body.suggestions.length > 0 ? "some" : "none").toBe(suggested);
      for (const suggestion of body.suggestions) {
        expect(suggestion).toEqual({
          catalog_charger_id: expect.any(String),
          brand: expect.any(String),
          model: expect.any(String),
        });
      }
      expect((await world.row("select count(*)::int from core.chargers where account_id = $1", account_id)).count).toBe(
        0,
      );
    },
  );

  test("contract §2 a model whose meter is not established cannot be registered by its id either", async () => {
    const { id } = await modelWhere("mid_evidence = 'unknown'");
    expect((await register({ catalog_charger_id: id })).status).toBe(422);
  });

  test("contract §2 a suggestion can be registered as it is", async () => {
    const { body } = await register({ ocpp_vendor: "Alfen BV", ocpp_model: "x" });
    const [{ catalog_charger_id }] = body.suggestions;
    expect((await register({ ocpp_vendor: undefined, ocpp_model: undefined, catalog_charger_id })).status).toBe(200);
  });

  test("contract §2 ocpp_meter_type decides where the model alone does not", async () => {
    const ambiguous = { ocpp_vendor: "Schneider Electric", ocpp_model: "EVlink Pro AC" };
    expect((await register({ ...ambiguous, ocpp_meter_type: "Embedded MID meter" })).body).toMatchObject({
      mid_eligible: true,
    });
  });
});

describe("contract §2 fields", () => {
  const broken: [string, Record<string, unknown>, string][] = [
    ["no account_id", { account_id: undefined }, "account_id"],
    ["an account_id that is none", { account_id: "KL-1" }, "account_id"],
    ["a null account_id", { account_id: null }, "account_id"],
    ["neither id nor pair", { ocpp_vendor: undefined, ocpp_model: undefined }, "catalog_charger_id"],
    ["half a pair", { ocpp_model: "" }, "catalog_charger_id"],
    ["an empty pair", { ocpp_vendor: "  ", ocpp_model: "  " }, "catalog_charger_id"],
    ["a catalogue id that is no id", { catalog_charger_id: "Alfen" }, "catalog_charger_id"],
    ["a serial number of 65 characters", { serial_number: "x".repeat(65) }, "serial_number"],
    ["a serial number that is a number", { serial_number: 12345 }, "serial_number"],
    ["NUL in a serial number", { serial_number: "a\u0000b" }, "serial_number"],
    ["half a character in a serial number", { serial_number: "a\ud800" }, "serial_number"],
    ["a sign that turns the direction in a serial number", { serial_number: "ACE\u202e2100" }, "serial_number"],
    ["NUL in a model", { ocpp_model: "a\u0000b" }, "ocpp_model"],
    ["an object for a vendor", { ocpp_vendor: {} }, "ocpp_vendor"],
  ];
  test.each(broken)(
    "contract §2 a request with %s is refused with 400, which names the field",
    async (_what, fields, path) => {
      const { status, body } = await register(fields);
      expect([status, body.error]).toEqual([400, "invalid_request"]);
      expect(body.issues.map((issue: { path: string }) => issue.path)).toContain(path);
      expect(body.detail).toContain(path);
    },
  );

  test("§9.2 unknown fields are ignored", async () => {
    expect((await register({ mid_eligible: true, status: "removed", charger_id: randomUUID() })).status).toBe(200);
  });

  test.each(["", null, undefined, "   "])("contract §2 a serial number of %j is none", async (serial_number) => {
    const { body } = await register({ serial_number });
    expect(
      (await world.row("select serial_number from core.chargers where id = $1", body.charger_id)).serial_number,
    ).toBeNull();
  });

  test("contract §2 serial numbers are compared upper-case, without spaces", async () => {
    const written = serial();
    const { body } = await register({ serial_number: written });
    for (const spelling of [written.toUpperCase(), ` ${written} `, written.split("").join(" "), `${written}\t`]) {
      expect((await register({ serial_number: spelling })).body).toMatchObject({
        idempotent: true,
        charger_id: body.charger_id,
      });
    }
  });

  test("contract §2 whatever letters a serial number has, it is stored or refused, and found again", async () => {
    for (const written of [
      "straße-ß",
      "ﬁ-ligature",
      "ıİ-dotless",
      "ǆ-Ǆ",
      "ñandú",
      "αβς",
      "აბგ",
      "⚡⚡",
      "𝒳-𐐨",
      "ᏸꭰ",
      "ɤⱥ",
    ]) {
      const { account_id: another } = await createAccount(world);
      const sent = { account_id: another, serial_number: `${written}-${serial()}` };
      const first = await register(sent);
      expect([written, first.status]).toEqual([written, 200]);
      expect((await register(sent)).body).toMatchObject({ idempotent: true, charger_id: first.body.charger_id });
    }
  });
});

describe("contract §2 order: lookup, then state", () => {
  test("contract §2 an account that is missing, another partner's, or another client's of the same partner: 404, all alike", async () => {
    const { account_id: foreign } = await createAccount(world, world.partnerB);
    const sibling: Partner = { id: world.partnerA.id, client: await world.addClient(world.partnerA.id) };
    const { account_id: siblings } = await createAccount(world, sibling);
    const answers = [];
    for (const id of [randomUUID(), foreign, siblings]) {
      const { status, body } = await register({ account_id: id, ocpp_vendor: "Nobody" });
      answers.push([status, { ...body, request_id: 0 }]);
    }
    expect(answers[0]).toMatchObject([404, { error: "account_not_found" }]);
    expect(answers[1]).toEqual(answers[0]);
    expect(answers[2]).toEqual(answers[0]);
  });

  test("contract §2 an account without an active connection: 409 no_connection, before the model is looked at", async () => {
    await world.row("update core.connections set status = 'archived' where account_id = $1", account_id);
    const { status, body } = await register({ ocpp_vendor: "Nobody" });
    expect([status, body.error]).toEqual([409, "no_connection"]);
  });

  test("§4.1 of several active connections the first, or the one of connection_id", async () => {
    const first = (await world.row("select id from core.connections where account_id = $1", account_id)).id;
    const second = await addConnection(world, account_id);
    const one = await register({ serial_number: serial() });
    const other = await register({ serial_number: serial(), connection_id: second });
    expect([await connectionOf(one.body.charger_id), await connectionOf(other.body.charger_id)]).toEqual([
      first,
      second,
    ]);
  });

  test("contract §2 a connection_id of another account, of nobody, or archived: 409 no_connection, which says which it is", async () => {
    const archived = await addConnection(world, account_id);
    await world.row("update core.connections set status = 'archived' where id = $1", archived);
    const { connection_id } = await createAccount(world);
    for (const id of [randomUUID(), connection_id]) {
      expect(await register({ connection_id: id })).toMatchObject({
        status: 409,
        body: { error: "no_connection", detail: expect.stringContaining("no connection with this connection_id") },
      });
    }
    expect(await register({ connection_id: archived })).toMatchObject({
      status: 409,
      body: { error: "no_connection", detail: expect.stringContaining("archived") },
    });
  });
});

describe("contract §2 repeats and serial numbers", () => {
  test("contract §2 the first charger without a serial number: the same model again is the same charger", async () => {
    const first = await register();
    const again = await register();
    expect(again.body).toEqual({ ...first.body, idempotent: true });
  });

  test("contract §2 a known serial number is recognised before the rest of the body is judged", async () => {
    const serial_number = serial();
    const first = await register({ serial_number });
    for (const rest of [
      { ocpp_vendor: "Nobody" },
      { ocpp_vendor: null, ocpp_model: null },
      { ocpp_vendor: 7 },
      { catalog_charger_id: "no uuid" },
      { catalog_charger_id: randomUUID() },
      { connection_id: randomUUID() },
      { connection_id: 7 },
    ]) {
      const { status, body } = await register({ serial_number, ...rest });
      expect([status, body], JSON.stringify(rest)).toEqual([200, { ...first.body, idempotent: true }]);
    }
    await world.row("update core.connections set status = 'archived' where account_id = $1", account_id);
    expect((await register({ serial_number })).body.idempotent).toBe(true);
  });

  test("contract §2 a serial number of another client's account is not recognised: the body is judged", async () => {
    const sibling: Partner = { id: world.partnerA.id, client: await world.addClient(world.partnerA.id) };
    const theirs = await createAccount(world, sibling);
    const serial_number = serial();
    const body = { ...MID_CHARGER, serial_number, account_id: theirs.account_id };
    expect((await world.post("/v1/chargers", body, await sibling.client.token())).status).toBe(200);
    const { status, body: refused } = await register({ account_id: theirs.account_id, serial_number, ocpp_vendor: 7 });
    expect([status, refused.error]).toEqual([400, "invalid_request"]);
  });

  test("contract §2 from the second charger on serial_number is required", async () => {
    await register();
    const { status, body } = await register({ ocpp_vendor: "Zaptec", ocpp_model: "Go 2" });
    expect([status, body.error]).toEqual([400, "serial_number_required"]);
    expect((await register({ ocpp_vendor: "Zaptec", ocpp_model: "Go 2", serial_number: serial() })).status).toBe(200);
  });

  test("§4.1 the serial number is the idempotency key, whatever else is sent", async () => {
    await register();
    const serial_number = serial();
    const first = await register({ serial_number });
    const again = await register({ serial_number, ocpp_vendor: "Zaptec", ocpp_model: "Go 2" });
    expect(again.body).toEqual({ ...first.body, idempotent: true });
  });

  test("contract §2 a serial number active on another account of the brand: 409 charger_claimed, and not whose", async () => {
    const serial_number = serial();
    await register({ serial_number });
    const theirs = await createAccount(world, world.partnerB);
    const { status, body } = await register(
      { account_id: theirs.account_id, serial_number: ` ${serial_number.toUpperCase()}` },
      world.partnerB,
    );
    expect([status, Object.keys(body).sort()]).toEqual([409, ["detail", "error", "request_id"]]);
    expect(body.error).toBe("charger_claimed");
    expect(JSON.stringify(body)).not.toContain(account_id);
    const own = await createAccount(world);
    expect((await register({ account_id: own.account_id, serial_number })).body.error).toBe("charger_claimed");
  });

  test("contract §2 the same serial number of another brand is another charger", async () => {
    const serial_number = serial();
    await register({ serial_number });
    const { account_id: other } = await createAccount(world);
    expect(
      (await register({ account_id: other, serial_number, ocpp_vendor: "Zaptec", ocpp_model: "Go 2" })).status,
    ).toBe(200);
  });

  test("contract §2 a removed charger frees its serial number, for any account", async () => {
    const serial_number = serial();
    const { body } = await register({ serial_number });
    await remove(body.charger_id);
    const theirs = await createAccount(world, world.partnerB);
    expect((await register({ account_id: theirs.account_id, serial_number }, world.partnerB)).body.idempotent).toBe(
      false,
    );
    expect((await register({ serial_number })).body.error).toBe("charger_claimed");
  });
});

describe("§8 ten active chargers an account", () => {
  const fill = async (count: number) => {
    for (let index = 0; index < count; index++) expect((await register({ serial_number: serial() })).status).toBe(200);
  };

  test("§8 the eleventh: 409 charger_limit_reached; a repeat is still answered, and a removed one makes room", async () => {
    const serial_number = serial();
    const { body } = await register({ serial_number });
    await fill(9);
    for (const fields of [{ serial_number: serial() }, {}]) {
      const refused = await register(fields);
      expect([refused.status, refused.body.error]).toEqual([409, "charger_limit_reached"]);
    }
    expect((await register({ serial_number })).body.idempotent).toBe(true);
    await remove(body.charger_id);
    expect((await register({ serial_number: serial() })).status).toBe(200);
  });

  test("§8 ten at once on an account with five: exactly five more", async () => {
    await fill(5);
    const answers = await Promise.all(Array.from({ length: 10 }, () => register({ serial_number: serial() })));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(5);
    expect(answers.filter(({ body }) => body.error === "charger_limit_reached")).toHaveLength(5);
    expect((await world.row("select count(*)::int from core.chargers where account_id = $1", account_id)).count).toBe(
      10,
    );
  });

  test("§8 ten at once with one serial number, or with none: one charger, nine repeats", async () => {
    for (const fields of [{ serial_number: serial() }, {}]) {
      ({ account_id } = await createAccount(world));
      const answers = await Promise.all(Array.from({ length: 10 }, () => register(fields)));
      expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(200));
      expect(answers.filter(({ body }) => !body.idempotent)).toHaveLength(1);
      expect(new Set(answers.map(({ body }) => body.charger_id)).size).toBe(1);
    }
  });

  test("contract §2 ten accounts at once with one serial number: one has it, nine hear that it is claimed", async () => {
    const serial_number = serial();
    const accounts = await Promise.all(Array.from({ length: 10 }, () => createAccount(world)));
    const answers = await Promise.all(
      accounts.map((account) => register({ account_id: account.account_id, serial_number })),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ body }) => body.error === "charger_claimed")).toHaveLength(9);
  });
});

test("§2 the answer says whether the account is eligible now, and the registration is submitted by itself", async () => {
  await signMandate(world, account_id);
  expect((await register()).body).toMatchObject({ mid_eligible: true, account_ere_eligible: true });
  const { registration_status } = await world.row(
    "select registration_status from core.connections where account_id = $1",
    account_id,
  );
  expect(registration_status).toBe("ingediend");
});
