// POST /chargers, and the door at which the gateway checks what it answered.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { User } from "../harness/people.ts";
import { createWorld, type World } from "../harness/world.ts";

let world: World;
let user: User;
let token: string;
beforeAll(async () => {
  world = await createWorld({ limits: "lifted", variables: { OCPP_GATEWAY_URL: "wss://gateway.example/ocpp/" } });
});
afterAll(() => world.close());
beforeEach(async () => {
  user = await world.addUser();
  token = await user.token();
});

let counter = 0;
function newIdentity() {
  counter += 1;
  return `CP_${process.pid}-${counter}`;
}
const register = (fields: Record<string, unknown> = {}, bearer = token) =>
  world.post("/chargers", { nickname: "Oprit", connection_type: "ocpp", ...fields }, bearer);
const admit = async (identity: unknown, password: unknown) =>
  (await world.post("/ocpp/chargers:admit", { identity, password }, world.environment.config.GATEWAY_SECRET)).body;

describe("§4.4 POST /chargers", () => {
  test("it answers 201 with what the charger needs, the password once and never stored", async () => {
    const ocpp_identity = newIdentity();
    const { status, body } = await register({ nickname: "  Oprit  ", ocpp_identity });
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.any(String),
      nickname: "Oprit",
      connection_type: "ocpp",
      status: "offline",
      mid_certified: false,
      is_charging: false,
      ocpp: {
        identity: ocpp_identity,
        endpoint: `wss://gateway.example/ocpp/${ocpp_identity}`,
        mirror_endpoint: expect.stringMatching(/^wss:\/\/gateway\.example\/ocpp\/m\/[0-9a-f]{40}$/),
        password: expect.stringMatching(/^[0-9a-f]{40}$/),
      },
    });
    const row = await world.row(
      "select to_jsonb(h)::text as kept, connection_id, account_id from core.chargers h where id = $1",
      body.id,
    );
    expect(row.kept).not.toContain(body.ocpp.password);
    expect(row).toMatchObject({ connection_id: user.connection_id, account_id: user.account_id });
    expect((await world.get("/chargers", token)).body.chargers).toMatchObject([{ id: body.id, nickname: "Oprit" }]);
    expect(JSON.stringify(world.log)).not.toContain(body.ocpp.password);
  });

  test("an application may, with chargers:write", async () => {
    expect((await register({}, await user.appToken("chargers:write"))).status).toBe(201);
  });

  test("an identity is made where none is given", async () => {
    const made = await Promise.all([register(), register({ ocpp_identity: null })]);
    expect(made.map(({ status }) => status)).toEqual([201, 201]);
    const identities = made.map(({ body }) => body.ocpp.identity);
    expect(new Set(identities).size).toBe(2);
    for (const identity of identities) expect(identity).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
  });

  test("a person without a connection has a charger all the same", async () => {
    await world.row("update core.connections set status = 'archived' where id = $1", user.connection_id);
    const { status, body } = await register();
    expect(status).toBe(201);
    expect(await world.row("select connection_id from core.chargers where id = $1", body.id)).toEqual({
      connection_id: null,
    });
  });

  test.each([undefined, null, "easee", "OCPP", 1, ["ocpp"], {}])(
    "a connection_type of %j is refused with 400",
    async (connection_type) => {
      const { status, body } = await register({ connection_type });
      expect([status, body.error]).toEqual([400, 'connection_type is required and must be "ocpp"']);
    },
  );

  test.each([
    [{ nickname: undefined }, "nickname"],
    [{ nickname: "  " }, "nickname"],
    [{ nickname: "x".repeat(101) }, "nickname"],
    [{ nickname: "a\u0000b" }, "nickname"],
    [{ ocpp_identity: "" }, "ocpp_identity"],
    [{ ocpp_identity: " a" }, "ocpp_identity"],
    [{ ocpp_identity: "a/b" }, "ocpp_identity"],
    [{ ocpp_identity: ".." }, "ocpp_identity"],
    [{ ocpp_identity: "x".repeat(65) }, "ocpp_identity"],
    [{ ocpp_identity: "café" }, "ocpp_identity"],
    [{ ocpp_identity: `NL-${"0aF5".repeat(10)}` }, "ocpp_identity"],
    [{ ocpp_identity: 5 }, "ocpp_identity"],
  ])("a charger of %j is refused with 400", async (fields, path) => {
    const { status, body } = await register(fields);
    expect([status, body.error, body.issues?.[0]?.path]).toEqual([400, "invalid_request", path]);
  });

  test("one's own second charger of an identity: 409 in the specified words", async () => {
    const ocpp_identity = newIdentity();
    await register({ ocpp_identity });
    const { status, body } = await register({ ocpp_identity });
    expect([status, body.error]).toEqual([409, `A charger with ocpp_identity "${ocpp_identity}" already exists`]);
    await world.row(
      "update core.chargers set status = 'removed', removed_at = private.now() where ocpp_identity = $1",
      ocpp_identity,
    );
    expect((await register({ ocpp_identity })).status).toBe(201);
  });

  test("attack: nobody keeps an identity from its owner: ten people have it, and each password is its charger's", async () => {
    const ocpp_identity = "NL*ABC*E00001:1 left|a@b=c+d.e";
    const people = await Promise.all(Array.from({ length: 10 }, async () => (await world.addUser()).token()));
    const all = await Promise.all(people.map(async (bearer) => (await register({ ocpp_identity }, bearer)).body));
    expect(all[0].ocpp.endpoint).toBe(`wss://gateway.example/ocpp/${encodeURIComponent(ocpp_identity)}`);
    const secret = world.environment.config.GATEWAY_SECRET;
    const admit = async (identity: string | null, password: string) =>
      (await world.post("/ocpp/chargers:admit", { identity, password }, secret)).body;
    for (const { id, ocpp } of all) {
      expect(await admit(ocpp_identity, ocpp.password)).toMatchObject({ ok: true, charger_id: id, identified: false });
      const mirror = ocpp.mirror_endpoint.split("/m/")[1];
      expect(await admit(null, mirror)).toMatchObject({ ok: true, charger_id: id });
      // neither opens what the other does
      expect(await admit(null, ocpp.password)).toEqual({ ok: false });
      expect(await admit("another", ocpp.password)).toEqual({ ok: false });
    }
    const refused = async () =>
      (await Promise.all(people.map(async (bearer) => (await world.get("/chargers", bearer)).body.chargers[0]))).filter(
        ({ password_refused_at }) => password_refused_at,
      ).length;
    expect(await refused()).toBe(0);
    const unseen = "update core.chargers set last_seen_at = null, ocpp_refused_at = null where ocpp_identity = $1";
    await world.row(unseen, ocpp_identity);
    expect(await admit(ocpp_identity, "")).toEqual({ ok: false });
    expect(await refused(), "behind a mirror it was a stranger's").toBe(0);
    for (const { ocpp } of all) await admit(ocpp_identity, ocpp.password);
    await world.row(unseen, ocpp_identity);
    // none at all is told like a wrong one, to each who has the identity
    expect(await admit(ocpp_identity, "")).toEqual({ ok: false });
    expect(await refused()).toBe(10);
    // a guess, and the secret of somebody who renewed it or removed the charger
    const [first, second] = all;
    await world.post(`/chargers/${first.id}/ocpp-credentials`, {}, people[0] ?? "");
    await world.row("update core.chargers set status = 'removed', removed_at = private.now() where id = $1", second.id);
    for (const old of [first, second])
      expect(await admit(null, old.ocpp.mirror_endpoint.split("/m/")[1])).toEqual({ ok: false });
    expect(await admit(null, "0".repeat(40))).toEqual({ ok: false });
    expect(JSON.stringify(world.log)).not.toMatch(
      new RegExp(all.map(({ ocpp }) => ocpp.mirror_endpoint.slice(-40)).join("|")),
    );
  });

  test("a host without a gateway invents no address: 503, and nothing is stored", async () => {
    const { config } = world.environment;
    const { OCPP_GATEWAY_URL, ...without } = config;
    world.environment.config = without;
    try {
      const { status, body, headers } = await register();
      expect([status, body.error, headers.get("retry-after")]).toEqual([503, "gateway_not_configured", null]);
      expect((await register({ connection_type: "easee" })).status, "a field comes first").toBe(400);
      expect((await register({}, "nobody's")).status, "and the credential before it").toBe(401);
    } finally {
      world.environment.config = config;
    }
    expect((await world.get("/chargers", token)).body.chargers).toEqual([]);
  });

  test("ten at once with one identity: one has it", async () => {
    const ocpp_identity = newIdentity();
    const answers = await Promise.all(Array.from({ length: 10 }, () => register({ ocpp_identity })));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(9).fill(409)]);
  });

  test("§8 twelve at once: a person has ten chargers", async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => register()));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(10);
    expect(answers.filter(({ body }) => body.error === "charger_limit_reached")).toHaveLength(2);
  });
});

describe("§4.4 the gateway checks HTTP Basic", () => {
  test("the right password opens and marks the charger as heard of; another does not", async () => {
    await world.freeze("2026-08-15T12:00:00Z");
    const { id, ocpp } = (await register()).body;
    expect(await admit(ocpp.identity, "0".repeat(40))).toEqual({ ok: false });
    expect(await admit(ocpp.identity.toUpperCase(), ocpp.password)).toEqual({ ok: false });
    expect(await admit("nobody\u0000", ocpp.password)).toEqual({ ok: false });
    const refused = async (at: string) => {
      await world.freeze(`2026-08-15T${at}Z`);
      await admit(ocpp.identity, "0".repeat(40));
      return (await world.get("/chargers", token)).body.chargers[0];
    };
    // written once a minute
    const first = { status: "offline", password_refused_at: "2026-08-15T12:00:00Z" };
    expect(await refused("12:00:59")).toMatchObject(first);
    expect(await refused("12:01:01")).toMatchObject({ password_refused_at: "2026-08-15T12:01:01Z" });
    expect(await admit(ocpp.identity, ocpp.password)).toEqual({
      ok: true,
      charger_id: id,
      generation: 1,
      identified: false,
    });
    const [connected] = (await world.get("/chargers", token)).body.chargers;
    expect(connected).toMatchObject({ status: "online" });
    expect(connected).not.toHaveProperty("password_refused_at");
    await world.row("update core.chargers set status = 'removed', removed_at = private.now() where id = $1", id);
    expect(await admit(ocpp.identity, ocpp.password)).toEqual({ ok: false });
  });

  test("contract §8 one whose model is not known yet is in the operator's list", async () => {
    const { id } = (await register()).body;
    const { listed } = await world.row(`select ops.charger_list('{"operator": "test", "limit": 1000}') as listed`);
    expect(listed.chargers).toContainEqual(
      expect.objectContaining({ charger_id: id, brand: null, mid_eligible: null }),
    );
  });

  test("only the gateway may ask", async () => {
    const { ocpp } = (await register()).body;
    for (const bearer of [undefined, token, ocpp.password])
      expect((await world.post("/ocpp/chargers:admit", ocpp, bearer)).status).toBe(401);
  });
});
