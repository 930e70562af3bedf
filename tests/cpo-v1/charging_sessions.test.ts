// POST /v1/charging-sessions and what belongs to it: names of chargers, parked sessions, withdrawing, reading back by a cursor.

import { createHash } from "node:crypto";
import Excel from "exceljs";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { ingest, MID_CHARGER } from "../harness/chargers.ts";
import { signMandate } from "../harness/mandate.ts";
import { createAccount } from "../harness/people.ts";
import { createWorld, type World } from "../harness/world.ts";
import { operatorOf } from "../operator/operator.ts";

let world: World;
let token: string;
let account: { account_id: string; connection_id: string };
let reference: string;
let charger_id: string;
let count = 0;
beforeAll(async () => {
  world = await createWorld({ now: "2027-02-01T12:00:00Z", limits: "lifted" });
  token = await world.partnerA.client.token();
});
afterAll(() => world.close());
beforeEach(async () => {
  account = await createAccount(world);
  count += 1;
  reference = `PAAL-${count}`;
  charger_id = await register({ external_ref: reference });
});

async function register(fields: object = {}): Promise<string> {
  count += 1;
  const body = { account_id: account.account_id, ...MID_CHARGER, serial_number: `S${count}`, ...fields };
  const answer = await world.post("/v1/chargers", body, token);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body.charger_id;
}

const session = (fields: object = {}) => ({
  session_id: "a",
  external_ref: reference,
  started_at: "2026-03-10T19:00:00+01:00",
  ended_at: "2026-03-10T20:00:00+01:00",
  kwh: 5,
  ...fields,
});
const at = (day: number) => ({
  started_at: `2026-03-${String(day).padStart(2, "0")}T18:00:00Z`,
  ended_at: `2026-03-${String(day).padStart(2, "0")}T19:00:00Z`,
});
async function deliver(sessions: unknown[], more: object = {}) {
  const answer = await world.post("/v1/charging-sessions", { sessions, ...more }, token);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body;
}
const get = async (path: string) => {
  const answer = await world.get(path, token);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body;
};
async function months(): Promise<string[]> {
  const { rows } = await world.database.admin.query(
    "select to_char(period, 'YYYY-MM') || ' ' || total_kwh::float8 || ' ' || session_count as month from core.delivered_months where connection_id = $1 order by period",
    [account.connection_id],
  );
  return rows.map(({ month }) => month);
}
const deliverMonth = (month: object) =>
  world.post("/v1/sessions:batch", { account_id: account.account_id, months: [month] }, token);

describe("§4.1 sessions are delivered item by item", () => {
  test("counts and results, in order; what was sent is evidence", async () => {
    const body = {
      sessions: [
        session({ meter_start_kwh: 100.0005, meter_end_kwh: 105.0005 }),
        session({ session_id: "b", ...at(11), kwh: 0.5005 }),
        session({ session_id: "b", ...at(11), kwh: 0.6 }),
        session({ session_id: "c", external_ref: "nobody's", ...at(12) }),
        session({ session_id: "d", kwh: "5" }),
        null,
      ],
    };
    const raw = JSON.stringify(body);
    const answer = await world.send("/v1/charging-sessions", { method: "POST", token, raw });
    expect(answer.body).toMatchObject({
      ok: true,
      created: 2,
      updated: 0,
      unchanged: 0,
      superseded: 1,
      parked: 1,
      invalid: 2,
    });
    const id = expect.stringMatching(/^[0-9a-f-]{36}$/);
    expect(answer.body.results).toEqual([
      { session_id: "a", status: "created", charging_session_id: id, flags: [], counted: true },
      { session_id: "b", status: "superseded", charging_session_id: id, flags: [], counted: false },
      { session_id: "b", status: "created", charging_session_id: id, flags: [], counted: true },
      { session_id: "c", status: "parked", reason: "unknown_charger", counted: false },
      { session_id: "d", status: "invalid", reason: "bad_kwh", counted: false },
      { session_id: null, status: "invalid", reason: "bad_session_id", counted: false },
    ]);
    expect(await months()).toEqual(["2026-03 5.6 2"]);
    const { rows } = await world.database.admin.query(
      "select document, sent_sha256, meter_start_wh::int, meter_end_wh::int, request_id from core.charging_evidence where charger_id = $1 and external_id = 'a'",
      [charger_id],
    );
    expect(rows).toEqual([
      {
        document: {
          session_id: "a",
          external_ref: reference,
          started_at: "2026-03-10T19:00:00+01:00",
          ended_at: "2026-03-10T20:00:00+01:00",
          kwh: 5,
          meter_start_kwh: 100.0005,
          meter_end_kwh: 105.0005,
        },
        sent_sha256: createHash("sha256").update(raw).digest(),
        meter_start_wh: 100_001,
        meter_end_wh: 105_001,
        request_id: expect.any(String),
      },
    ]);
  });

  test.each<[string, object]>([
    ["bad_session_id", { session_id: "" }],
    ["bad_session_id", { session_id: "x".repeat(121) }],
    ["bad_session_id", { session_id: "nul\u0000" }],
    ["no_charger", { external_ref: undefined }],
    ["bad_charger_id", { charger_id: "paal" }],
    // it becomes no text at all
    ["bad_charger_id", { charger_id: { toString: 1 } }],
    ["bad_country", { country: { toString: 1 } }],
    ["unknown_charger", { external_ref: undefined, charger_id: "5f0b7c1e-3d2a-4c58-9a41-0d6c2f7e8b90" }],
    ["bad_external_ref", { external_ref: 7 }],
    ["bad_started_at", { started_at: "2026-03-10T19:00:00" }],
    ["bad_started_at", { started_at: "2026-02-30T19:00:00Z" }],
    ["bad_started_at", { started_at: "2026-03-10T25:00:00Z" }],
    ["bad_started_at", { started_at: 1773000000 }],
    ["bad_ended_at", { ended_at: "later" }],
    ["bad_started_at", { started_at: "9999-12-31T23:59:59-14:00" }],
    ["bad_kwh", { kwh: -1 }],
    ["bad_kwh", { kwh: 1_000_001 }],
    ["bad_kwh", { kwh: null, meter_start_kwh: 5 }],
    ["bad_meter_start_kwh", { meter_start_kwh: "5" }],
    ["bad_meter_end_kwh", { meter_end_kwh: -5 }],
    ["bad_evse_no", { evse_no: 0 }],
    ["bad_power_type", { power_type: "ac" }],
    ["bad_country", { country: "Nederland" }],
    ["bad_signed", { signed: "OCMF|{}" }],
  ])("%s: %o is invalid by itself", async (reason, fields) => {
    const { results } = await deliver([session(fields), session({ session_id: "good", ...at(20) })]);
    expect(results).toMatchObject([{ status: "invalid", reason, counted: false }, { status: "created" }]);
    expect(await months()).toEqual(["2026-03 5 1"]);
  });

  test.each<[string, object, object]>([
    [
      "both readings stand in for kWh",
      { kwh: undefined, meter_start_kwh: 10, meter_end_kwh: 15.5 },
      { flags: [], counted: true },
    ],
    [
      "readings that disagree",
      { meter_start_kwh: 0, meter_end_kwh: 9 },
      { flags: ["meter_disagrees"], not_counted: "flagged" },
    ],
    ["going on", { ended_at: undefined, kwh: undefined }, { flags: [], not_counted: "running" }],
    ["another country", { country: "BEL" }, { flags: ["abroad"], not_counted: "flagged" }],
    ["in the Netherlands", { country: "NLD" }, { flags: [], counted: true }],
    [
      "the future",
      { started_at: "2027-03-01T10:00:00Z", ended_at: "2027-03-01T11:00:00Z" },
      { flags: ["wrong_clock"] },
    ],
  ])("%s is stored", async (_, fields, result) => {
    expect((await deliver([session(fields)])).results).toMatchObject([{ status: "created", ...result }]);
  });

  test("ten equal requests at once make one session", async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => deliver([session()])));
    expect(answers.map(({ created }) => created).sort()).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    expect(await months()).toEqual(["2026-03 5 1"]);
  });

  test("a dry run answers the same, and stores, parks and tells nothing", async () => {
    const sessions = [session({ kwh: 6 }), session(), session({ session_id: "p", external_ref: "dry", ...at(12) })];
    const dry = await deliver(sessions, { dry_run: true });
    expect(JSON.stringify(dry), "the id of a session that is undone").not.toContain("charging_session_id");
    expect(dry).toMatchObject({ created: 1, superseded: 1, parked: 1 });
    expect(await months()).toEqual([]);
    expect(
      (await get("/v1/charging-sessions/parked")).parked.filter(
        ({ session_id }: { session_id: string }) => session_id === "p",
      ),
    ).toEqual([]);
    expect(
      await world.row("select from core.events where type = 'charging.parked' and data::text like '%DRY%'"),
    ).toBeUndefined();
    expect(await deliver(sessions)).toMatchObject({ created: 1, parked: 1 });
  });

  test("none, or more than a thousand, is refused whole", async () => {
    for (const sessions of [[], Array(1001).fill(session())])
      expect((await world.post("/v1/charging-sessions", { sessions }, token)).status).toBe(400);
  });

  test("a token without cpo:sessions:write is refused; another client of the partner reaches nothing", async () => {
    const other = await world.addClient(world.partnerA.id);
    const reading = await other.token("cpo:accounts:read");
    expect((await world.post("/v1/charging-sessions", { sessions: [session()] }, reading)).status).toBe(403);
    const [{ charging_session_id }] = (await deliver([session()])).results;
    const theirs = await other.token();
    const stranger = await world.post(
      "/v1/charging-sessions",
      { sessions: [session(), session({ charger_id })] },
      theirs,
    );
    expect(stranger.body).toMatchObject({ parked: 2 });
    expect((await world.get(`/v1/charging-sessions/${charging_session_id}`, theirs)).status).toBe(404);
    expect((await world.get("/v1/charging-sessions", theirs)).body.sessions).toEqual([]);
    const withdrawing = { session_ids: [charging_session_id, "a"] };
    // "a" is their own parked one
    expect((await world.post("/v1/charging-sessions:withdraw", withdrawing, theirs)).body).toMatchObject({
      withdrawn: 1,
      not_found: 1,
    });
    expect((await world.post("/v1/chargers:update", { charger_id, external_ref: "mine" }, theirs)).status).toBe(404);
    expect((await world.post("/v1/chargers:remove", { external_ref: reference }, theirs)).status).toBe(404);
    expect(await months()).toEqual(["2026-03 5 1"]);
  });
});

describe("§2 a session and its charger's names", () => {
  test("a session before its charger waits, and is stored by the registration that names it", async () => {
    await deliver([
      session({ external_ref: undefined, evse_id: "NL*ABC*E1" }),
      session({ session_id: "b", external_ref: undefined, evse_id: "nl-abc-e1", ...at(11) }),
    ]);
    const parked = await get("/v1/charging-sessions/parked");
    expect(parked.parked).toContainEqual(
      expect.objectContaining({
        reason: "unknown_charger",
        source: "api",
        kwh: 5,
        names: [{ kind: "evse_id", value: "NLABCE1" }],
      }),
    );
    expect(parked.names).toContainEqual({ kind: "evse_id", value: "NLABCE1", sessions: 2 });
    await register({ evses: [{ evse_id: "NL*ABC*E1" }], power_kw: 22 });
    expect(await months()).toEqual(["2026-03 10 2"]);
    expect((await get("/v1/charging-sessions/parked")).names).not.toContainEqual(
      expect.objectContaining({ value: "NLABCE1" }),
    );
  });

  test("one id at two chargers that nobody knows yet is two sessions; told by another name it is the same", async () => {
    const [one, two, known] = ["one", "two", "known"].map((name) => `${reference}-${name}`);
    const waiting = async () =>
      (await get("/v1/charging-sessions/parked")).parked
        .filter(({ names }: { names: { value: string }[] }) => names.some(({ value }) => value.startsWith(reference)))
        .map(({ started_at, kwh }: { started_at: string; kwh: number }) => `${started_at.slice(8, 10)} ${kwh}`)
        .sort();
    const at_one = session({ session_id: "1", external_ref: one });
    await deliver([at_one, session({ session_id: "1", external_ref: two, ...at(11) })]);
    await deliver([session({ session_id: "1", ...at(12) })]);
    expect(await waiting()).toEqual(["10 5", "11 5"]);
    await deliver([{ ...at_one, external_ref: known, kwh: 4 }]);
    expect(await waiting()).toEqual(["10 4", "11 5"]);
    const taken = await world.post("/v1/charging-sessions:withdraw", { session_ids: ["1"] }, token);
    expect(taken.body).toMatchObject({ error: "ambiguous_session", session_id: "1" });
    await register({ external_ref: known?.toLowerCase() });
    await register({ external_ref: two });
    expect(await waiting()).toEqual([]);
    expect(await months()).toEqual(["2026-03 14 3"]);
  });

  test("names are changed, cleared and listed; one of another charger is taken", async () => {
    const update = (body: object) => world.post("/v1/chargers:update", body, token);
    const named = await update({
      charger_id,
      power_kw: 22,
      evses: [{ evse_uid: `u${count}` }, { meter_id: `m${count}` }],
    });
    expect(named.body).toMatchObject({
      ok: true,
      sessions_stored: 0,
      charger: {
        charger_id,
        external_ref: reference,
        power_kw: 22,
        evses: [
          { evse_no: 1, evse_uid: `U${count}` },
          { evse_no: 2, meter_id: `M${count}` },
        ],
        status: "active",
      },
    });
    expect((await update({ external_ref: reference.toLowerCase(), power_kw: null })).body.charger).toMatchObject({
      external_ref: reference,
      power_kw: null,
      evses: [{}, {}],
    });
    const other = await register();
    expect((await update({ charger_id: other, external_ref: reference })).body).toMatchObject({
      error: "name_taken",
      kind: "external_ref",
    });
    expect(
      (
        await world.post(
          "/v1/chargers",
          { account_id: account.account_id, ...MID_CHARGER, serial_number: "fresh", external_ref: reference },
          token,
        )
      ).body,
    ).toMatchObject({ error: "name_taken" });
    expect(await world.row("select from core.chargers where serial_number = 'FRESH'")).toBeUndefined();
    expect((await update({ charger_id, external_ref: null, evses: [] })).body.charger).toMatchObject({
      external_ref: null,
      evses: [],
    });
    expect((await update({ charger_id: other, external_ref: reference })).status).toBe(200);
    expect((await update({ power_kw: 3 })).status).toBe(400);
    expect((await get(`/v1/chargers?external_ref=${reference}`)).chargers).toMatchObject([{ charger_id: other }]);
    const page = await get(`/v1/chargers?account_id=${account.account_id}&limit=1`);
    expect(page).toMatchObject({ chargers: [{}], count: 1, has_more: true });
  });

  test("a removed charger keeps what it charged, and frees its names and serial number", async () => {
    await deliver([session()]);
    const remove = () => world.post("/v1/chargers:remove", { charger_id }, token);
    expect((await remove()).body).toMatchObject({ ok: true, changed: true, removed_at: "2027-02-01T12:00:00Z" });
    expect((await remove()).body).toMatchObject({ changed: false });
    expect(await months()).toEqual(["2026-03 5 1"]);
    expect(await deliver([session({ session_id: "late", ...at(20) })])).toMatchObject({ created: 1 });
    expect((await world.post("/v1/chargers:update", { charger_id, power_kw: 1 }, token)).status).toBe(404);
    expect((await get(`/v1/chargers?account_id=${account.account_id}`)).chargers).toMatchObject([
      { status: "removed" },
    ]);
    await register({ external_ref: reference });
  });

  describe("of a name that goes to another charger", () => {
    const update = async (body: object) => {
      const answer = await world.post("/v1/chargers:update", body, token);
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      return answer.body;
    };
    const uploaded = async (...lines: string[]) => {
      const answer = await world.send("/v1/uploads", { method: "POST", token, raw: lines.join("\n") });
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      return answer.body;
    };
    test("what began before stays with the former charger, by every door, corrected too; what begins since is the other's", async () => {
      await deliver([session(), session({ session_id: "open", ...at(20), ended_at: undefined, kwh: 1 })]);
      const file = ["Laadpaal;Start;Eind;kWh", `${reference.toLowerCase()};11-03-2026 19:00;11-03-2026 20:00;2`];
      await uploaded(...file);
      const from = "2026-04-01T00:00:00Z";
      await update({ charger_id, external_ref: null, from });
      const other = await register();
      await update({ charger_id: other, external_ref: reference, from });
      const april = (day: number) => ({ started_at: `2026-04-${day}T18:00:00Z`, ended_at: `2026-04-${day}T19:00:00Z` });
      const sent = await deliver([session(), session({ session_id: "new", ...april(10) })]);
      expect(sent.results).toMatchObject([
        { status: "unchanged", counted: true },
        { status: "created", counted: true },
      ]);
      expect(await get(`/v1/charging-sessions/${sent.results[1].charging_session_id}`)).toMatchObject({
        charger_id: other,
      });
      // another file, with another energy; the end of a charge that was going on; another id of the same charge
      expect(await uploaded(...file.map((line) => line.replace(/;2$/, ";3")))).toMatchObject({
        counts: { updated: 1 },
      });
      expect(
        await deliver([
          session({ kwh: 5.5, started_at: "2026-03-10T19:30:00+01:00" }),
          session({ session_id: "open", ...at(20), kwh: 4 }),
          session({ session_id: "again", ...at(11), kwh: 3 }),
        ]),
      ).toMatchObject({ updated: 2, created: 1, results: [{}, {}, { flags: ["duplicate"] }] });
      expect(await months()).toEqual(["2026-03 12.5 3", "2026-04 5 1"]);
    });

    test("attack: it cannot go before the last session that was stored by it, however that session was told first", async () => {
      await deliver([session({ external_ref: undefined, charger_id })]);
      expect(await deliver([session()])).toMatchObject({ unchanged: 1 });
      const early = { external_ref: null, from: "2026-03-10T18:00:00Z" };
      const answer = await world.post("/v1/chargers:update", { charger_id, ...early }, token);
      expect([answer.status, answer.body]).toMatchObject([
        409,
        { error: "name_in_use", kind: "external_ref", started_at: "2026-03-10T18:00:00Z" },
      ]);
      const other = await register();
      await update({ charger_id, external_ref: null });
      const taking = { charger_id: other, external_ref: reference, from: "2026-03-01T00:00:00Z" };
      expect((await world.post("/v1/chargers:update", taking, token)).body.error).toBe("name_in_use");
      await update({ charger_id: other, external_ref: reference });
      expect(await deliver([session()])).toMatchObject({ unchanged: 1 });
      expect(await months()).toEqual(["2026-03 5 1"]);
    });

    test("given to the wrong charger, it goes to the right one from the beginning, once its sessions are withdrawn", async () => {
      const session_id = `moved${count}`;
      await deliver([session({ session_id })]);
      await world.post("/v1/charging-sessions:withdraw", { session_ids: [session_id] }, token);
      const from = "2026-01-01T00:00:00Z";
      await update({ charger_id, external_ref: null, from });
      const other = await register();
      await update({ charger_id: other, external_ref: reference, from });
      const { results } = await deliver([session({ session_id })]);
      expect(results).toMatchObject([{ status: "created", counted: true }]);
      expect(await get(`/v1/charging-sessions/${results[0].charging_session_id}`)).toMatchObject({ charger_id: other });
      expect(await months()).toEqual(["2026-03 5 1"]);
    });

    test("between two chargers it means none: a session waits until one has it from then on", async () => {
      const [march, may] = ["2026-03-05T00:00:00Z", "2026-05-01T00:00:00Z"];
      await update({ charger_id, external_ref: reference, from: "2026-02-01T00:00:00Z" });
      await update({ charger_id, external_ref: null, from: march });
      const other = await register();
      await update({ charger_id: other, external_ref: reference, from: may });
      expect(await deliver([session()])).toMatchObject({ parked: 1, results: [{ reason: "unknown_charger" }] });
      expect(await update({ charger_id: other, external_ref: reference, from: march })).toMatchObject({
        sessions_stored: 1,
      });
      expect(await months()).toEqual(["2026-03 5 1"]);
      const future = { charger_id: other, external_ref: reference, from: "2027-02-02T00:00:00Z" };
      expect((await world.post("/v1/chargers:update", future, token)).body).toMatchObject({
        error: "invalid_request",
        issues: [{ path: "from" }],
      });
    });

    test("two chargers that change names are told apart by their own sessions", async () => {
      const second = await register({ external_ref: `${reference}-b` });
      const from = "2026-01-01T00:00:00Z";
      await update({ charger_id, external_ref: null, from });
      await update({ charger_id: second, external_ref: reference, from });
      await update({ charger_id, external_ref: `${reference}-b`, from });
      const both = [session(), session({ external_ref: `${reference}-b` })];
      const { results } = await deliver(both);
      expect(results).toMatchObject([{ flags: [] }, { flags: [] }]);
      expect(await get(`/v1/charging-sessions/${results[0].charging_session_id}`)).toMatchObject({
        charger_id: second,
      });
      expect(await deliver(both)).toMatchObject({ unchanged: 2 });
      expect(await months()).toEqual(["2026-03 10 2"]);
    });

    test("ten equal requests at once while it goes make one session", async () => {
      const other = await register();
      const answers = await Promise.all([
        ...Array.from({ length: 5 }, () => deliver([session()])),
        update({ charger_id, external_ref: null }).then(() => update({ charger_id: other, external_ref: reference })),
        ...Array.from({ length: 5 }, () => deliver([session()])),
      ]);
      expect(answers).toHaveLength(11);
      expect(await deliver([session()])).toMatchObject({ unchanged: 1 });
      expect(await months()).toEqual(["2026-03 5 1"]);
    });
  });

  test("each moment of a charger that is registered again belongs to one registration, by its old id and its new one", async () => {
    const serial_number = `again${count}`;
    const before = await register({ serial_number });
    const by = (id: string, fields: object = {}) => session({ charger_id: id, external_ref: undefined, ...fields });
    await deliver([by(before)]);
    await world.post("/v1/chargers:remove", { charger_id: before }, token);
    const after = await register({ serial_number });
    const { chargers } = await get(`/v1/chargers?account_id=${account.account_id}`);
    expect(chargers.find((each: { charger_id: string }) => each.charger_id === after)).toMatchObject({
      counts_from: "2027-02-01T12:00:00Z",
    });
    const since = { started_at: "2027-02-01T12:00:00Z", ended_at: "2027-02-01T12:04:00Z", kwh: 0.5 };
    const { results } = await deliver([
      by(after, { kwh: 6 }),
      by(after, { session_id: "b", ...at(11) }),
      by(before, { session_id: "c", ...since }),
    ]);
    expect(results).toMatchObject([
      { status: "updated", counted: true },
      { status: "created", counted: true },
      { status: "created", counted: true },
    ]);
    const place = async (n: number) =>
      (await get(`/v1/charging-sessions/${results[n].charging_session_id}`)).charger_id;
    expect([await place(0), await place(1), await place(2)]).toEqual([before, before, after]);
    expect(await months()).toEqual(["2026-03 11 2", "2027-02 0.5 1"]);
  });

  describe.each([
    ["without a serial number, registered again without", false, false],
    ["without a serial number, registered again with one", false, true],
    ["registered again without its serial number", true, false],
  ])("attack: a charger %s", (_, first, second) => {
    const by = (id: string, fields: object = {}) => session({ charger_id: id, external_ref: undefined, ...fields });
    const numbered = (has: boolean) => register({ serial_number: has ? `sometimes${count}` : undefined });
    let before: string;
    beforeEach(async () => {
      account = await createAccount(world);
      before = await numbered(first);
      await deliver([by(before, { session_id: "first", ...at(9) })]);
      await world.post("/v1/chargers:remove", { charger_id: before }, token);
    });

    test("counts a charge once, also before its first one", async () => {
      const after = await numbered(second);
      expect(await deliver([by(after, { session_id: "again", ...at(9) })])).toMatchObject({
        results: [{ flags: ["other_registration"] }],
      });
      expect(await deliver([by(before, { session_id: "early", ...at(7) })])).toMatchObject({
        results: [{ flags: [] }],
      });
      expect(await deliver([by(after, { session_id: "late", ...at(7) })])).toMatchObject({
        results: [{ flags: ["other_registration"] }],
      });
      expect(await months()).toEqual(["2026-03 10 2"]);
    });

    test("counts a charge over their border once, where one request brings both", async () => {
      await world.row("update core.chargers set removed_at = '2026-04-02T10:00:00Z' where id = $1", before);
      const after = await numbered(second);
      const { results } = await deliver([
        by(before, { session_id: "x", started_at: "2026-04-02T09:58:00Z", ended_at: "2026-04-02T12:00:00Z" }),
        by(after, { session_id: "y", started_at: "2026-04-02T10:00:30Z", ended_at: "2026-04-02T12:00:00Z" }),
      ]);
      expect(results).toMatchObject([{ flags: ["other_registration"] }, { flags: [], counted: true }]);
    });

    test("gives its time to the next one when it is released", async () => {
      const after = await numbered(second);
      const told = by(after, { session_id: "again", ...at(9) });
      expect(await deliver([told])).toMatchObject({ results: [{ counted: false }] });
      expect((await operatorOf(world.database)(`charger release ${before} --reason x`)).err).toBe("");
      expect(await get(`/v1/charging-sessions?charger_id=${after}`)).toMatchObject({
        sessions: [{ flags: [], counted: true }],
      });
    });
  });

  test("attack: a charge told by the new id first, and then by the former one, counts once; at another client too", async () => {
    const serial_number = `twice${count}`;
    const before = await register({ serial_number });
    const by = (id: string, fields: object = {}) => session({ charger_id: id, external_ref: undefined, ...fields });
    await deliver([by(before, { session_id: "old", ...at(9) })]);
    await world.post("/v1/chargers:remove", { charger_id: before }, token);
    const theirs = await createAccount(world, world.partnerB);
    const their = await world.partnerB.client.token();
    const registered = await world.post(
      "/v1/chargers",
      { account_id: theirs.account_id, ...MID_CHARGER, serial_number },
      their,
    );
    const told = await world.post("/v1/charging-sessions", { sessions: [by(registered.body.charger_id)] }, their);
    expect(told.body.results).toMatchObject([{ status: "created", flags: ["other_registration"], counted: false }]);
    expect(await deliver([by(before)])).toMatchObject({ results: [{ status: "created", counted: true }] });
    // also before its first charge that was told: a client tells of charges of before
    const early = (id: string) => by(id, { session_id: "early", ...at(7) });
    const first = await world.post("/v1/charging-sessions", { sessions: [early(registered.body.charger_id)] }, their);
    expect(first.body.results).toMatchObject([{ flags: ["other_registration"] }]);
    expect(await deliver([early(before)])).toMatchObject({ results: [{ flags: [], counted: true }] });
    // a registration without a counted session has no span: the next one has all
    const empty = await register({ serial_number: `${serial_number}-b` });
    await world.post("/v1/chargers:remove", { charger_id: empty }, token);
    const next = await register({ serial_number: `${serial_number}-b` });
    const { results } = await deliver([by(next, { ...at(12) }), by(empty, { ...at(12) })]);
    expect(results).toMatchObject([{ status: "superseded" }, { status: "created", counted: true }]);
    expect(await get(`/v1/charging-sessions/${results[1].charging_session_id}`)).toMatchObject({ charger_id: next });
  });

  test("attack: a former registration's charge of a month does not keep the next one's charges from counting", async () => {
    const serial_number = `long${count}`;
    const before = await register({ serial_number });
    const by = (id: string, fields: object = {}) => session({ charger_id: id, external_ref: undefined, ...fields });
    await deliver([by(before)]);
    await world.post("/v1/chargers:remove", { charger_id: before }, token);
    await world.row("update core.chargers set removed_at = '2027-01-01T10:00:00Z' where id = $1", before);
    const theirs = await createAccount(world, world.partnerB);
    const their = await world.partnerB.client.token();
    const { body } = await world.post(
      "/v1/chargers",
      { account_id: theirs.account_id, ...MID_CHARGER, serial_number },
      their,
    );
    const until = (ended_at: string, session_id: string) =>
      by(before, { session_id, started_at: "2027-01-01T09:59:00Z", ended_at, kwh: 0.1 });
    const { results } = await deliver([until("2027-01-31T10:00:00Z", "month"), until("2027-01-02T09:00:00Z", "day")]);
    expect(results).toMatchObject([{ counted: false }, { flags: [] }]);
    expect(results[0].flags).toContain("other_registration");
    const times = (day: string) => ({ started_at: `2027-01-${day}T20:00:00Z`, ended_at: `2027-01-${day}T21:00:00Z` });
    const sessions = ["01", "20"].map((day) => by(body.charger_id, { session_id: day, ...times(day) }));
    expect((await world.post("/v1/charging-sessions", { sessions }, their)).body.results).toMatchObject([
      { flags: ["other_registration"] },
      { flags: [] },
    ]);
  });

  describe("attack: each kWh of a booked month is sold once", () => {
    const lock = (period: string) =>
      world.row(
        "update core.delivered_months set status = 'submitted' where connection_id = $1 and period = $2",
        account.connection_id,
        period,
      );
    /** Another partner registers the charger, and tells of a charge. */
    const elsewhere = async (serial_number: string, ...sessions: object[]) => {
      const theirs = await createAccount(world, world.partnerB);
      const their = await world.partnerB.client.token();
      const charger = { account_id: theirs.account_id, ...MID_CHARGER, serial_number };
      const { body } = await world.post("/v1/chargers", charger, their);
      const by = (each: object) => ({ ...session(each), external_ref: undefined, charger_id: body.charger_id });
      return (await world.post("/v1/charging-sessions", { sessions: sessions.map(by) }, their)).body.results;
    };

    test("a typed month, and one whose sessions were withdrawn, are the former registration's", async () => {
      const withdrawn = await register({ serial_number: `withdrawn${count}` });
      await deliver([session({ charger_id: withdrawn, external_ref: undefined, session_id: "w", ...at(11) })]);
      await lock("2026-03-01");
      await world.post("/v1/chargers:remove", { charger_id: withdrawn }, token);
      await world.post("/v1/charging-sessions:withdraw", { session_ids: ["w"] }, token);
      const other = [{ flags: ["other_registration"] }];
      expect(await elsewhere(`withdrawn${count - 1}`, { ...at(11) })).toMatchObject(other);
      const typed = await register({ serial_number: `typed${count}` });
      await deliverMonth({ period: "2026-04", total_kwh: 100, session_count: 1 });
      await world.post("/v1/chargers:remove", { charger_id: typed }, token);
      expect(await elsewhere(`typed${count - 1}`, { ...at(11) })).toMatchObject(other);
    });

    test.each([
      ["nothing", { kwh: 0 }],
      ["more than it can give", { kwh: 5000 }],
      ["readings that disagree", { meter_start_kwh: 1, meter_end_kwh: 200 }],
    ])("one whose sessions were corrected to %s is the former registration's", async (_, change) => {
      const serial_number = `corrected${count}`;
      const id = await register({ serial_number });
      const told = session({ charger_id: id, external_ref: undefined, ...at(11) });
      await deliver([told]);
      await lock("2026-03-01");
      await deliver([{ ...told, ...change }]);
      await world.post("/v1/chargers:remove", { charger_id: id }, token);
      expect(await elsewhere(serial_number, { ...at(11) })).toMatchObject([{ flags: ["other_registration"] }]);
    });

    test.each([["as it was"], ["corrected to nothing"]])(
      "what was booked before its charger was released is the former registration's, %s",
      async (what) => {
        const serial_number = `released${count}`;
        const id = await register({ serial_number });
        const told = session({ charger_id: id, external_ref: undefined, ...at(11) });
        await deliver([told]);
        await lock("2026-03-01");
        expect((await operatorOf(world.database)(`charger release ${id} --reason x`)).err).toBe("");
        if (what === "corrected to nothing") await deliver([{ ...told, kwh: 0 }]);
        expect(await elsewhere(serial_number, { ...at(11) })).toMatchObject([{ flags: ["other_registration"] }]);
      },
    );

    test.each([
      ["booked, stays the former registration's", ["other_registration"]],
      ["not booked, is the next one's", []],
    ])("after 1,001 charges that are not booked, one that is %s at a release", async (what, flags) => {
      const serial_number = `thousand${count}`;
      const charger_id = await register({ serial_number });
      const minute = (n: number) => new Date(Date.UTC(2027, 0, 1) + n * 60_000).toISOString();
      await ingest(
        world,
        ...Array.from({ length: 1001 }, (_, n) => ({
          ...{ charger_id, source: "api", external_id: `m${n}`, wh: 10 },
          ...{ started_at: minute(n * 30), ended_at: minute(n * 30 + 10) },
        })),
      );
      await deliver([session({ charger_id, external_ref: undefined, ...at(11) })]);
      if (what.startsWith("booked")) await lock("2026-03-01");
      await world.post("/v1/chargers:remove", { charger_id }, token);
      const charge = { ...at(11), session_id: "theirs" };
      expect(await elsewhere(serial_number, charge)).toMatchObject([{ flags: ["other_registration"] }]);
      expect((await operatorOf(world.database)(`charger release ${charger_id} --reason x`)).err).toBe("");
      expect(
        await world.row(
          "select flags from core.charging_sessions where external_id = 'theirs' and charger_id <> $1 order by arrival desc limit 1",
          charger_id,
        ),
      ).toEqual({ flags });
    });

    test("a late end over a booked charge comes after it", async () => {
      const running = session({
        session_id: "running",
        started_at: "2026-03-31T20:00:00Z",
        ended_at: undefined,
        kwh: 0,
      });
      const next = { started_at: "2026-04-01T00:30:00+02:00", ended_at: "2026-04-01T06:00:00+02:00", kwh: 50 };
      await deliver([running]);
      await deliver([session({ session_id: "next", ...next })]);
      await lock("2026-04-01");
      const { results } = await deliver([{ ...running, ended_at: next.ended_at, kwh: 60 }]);
      expect(results).toMatchObject([{ status: "updated", flags: ["overlapping"], counted: false }]);
      expect(await months()).toEqual(["2026-04 50 1"]);
    });

    test.each([
      ["its own number", null, null],
      ["what the former one booted as", "booted_as", "BOOTED"],
      ["what the former one booted as earlier", "booted_before", "{BOOTED}"],
      ["its account, by a clock that went back", "serial_number", null],
    ])("a charge over the border of two registrations, known by %s, counts once", async (_, column, told) => {
      const serial_number = `both${count}`;
      const before = await register({ serial_number: column ? `former${count}` : serial_number });
      const own = told?.replace("BOOTED", serial_number.toUpperCase());
      if (column) await world.row(`update core.chargers set ${column} = $2 where id = $1`, before, own);
      const by = (id: string, fields: object) => session({ charger_id: id, external_ref: undefined, ...fields });
      await deliver([by(before, { session_id: "first", ...at(11) })]);
      await world.post("/v1/chargers:remove", { charger_id: before }, token);
      await world.row("update core.chargers set removed_at = '2026-04-02T10:00:00Z' where id = $1", before);
      const after = await register({ serial_number });
      if (column === "serial_number")
        await world.row("update core.chargers set created_at = '2026-04-02T09:59:58Z' where id = $1", after);
      const { results } = await deliver([
        by(before, { session_id: "x", started_at: "2026-04-02T09:58:00Z", ended_at: "2026-04-02T12:00:00Z", kwh: 10 }),
        by(after, { session_id: "y", started_at: "2026-04-02T10:00:30Z", ended_at: "2026-04-02T12:00:00Z", kwh: 10 }),
      ]);
      expect(results, "one request brings both").toMatchObject([
        { flags: ["other_registration"] },
        { flags: [], counted: true },
      ]);
      const again = { started_at: "2026-04-02T09:59:00Z", ended_at: "2026-04-02T11:00:00Z", kwh: 5 };
      expect(await deliver([by(before, { session_id: "z", ...again })])).toMatchObject({
        results: [{ flags: ["other_registration"] }],
      });
    });

    test("who removed a charger moves the next one's begin by a day at most", async () => {
      const serial_number = `border${count}`;
      const before = await register({ serial_number });
      await deliver([session({ charger_id: before, external_ref: undefined, ...at(11) })]);
      await world.post("/v1/chargers:remove", { charger_id: before }, token);
      await world.row("update core.chargers set removed_at = '2026-04-02T10:00:00Z' where id = $1", before);
      const long = { started_at: "2026-04-02T09:59:00Z", ended_at: "2026-05-01T10:00:00Z", kwh: 0.001 };
      await deliver([session({ charger_id: before, external_ref: undefined, session_id: "long", ...long })]);
      const times = (day: string) => ({ started_at: `2026-04-${day}T20:00:00Z`, ended_at: `2026-04-${day}T21:00:00Z` });
      const told = [
        { session_id: "b", ...times("02") },
        { session_id: "c", ...times("04") },
      ];
      expect(await elsewhere(serial_number, ...told)).toMatchObject([
        { flags: ["other_registration"] },
        { flags: [], counted: true },
      ]);
    });
  });

  test("attack: changes of its names and of its power, at once, do not wait for each other", async () => {
    const deadlocks = async () =>
      (await world.row("select deadlocks::int as n from pg_stat_database where datname = current_database()")).n;
    const before = await deadlocks();
    const changes = Array.from({ length: 10 }, (_, n) =>
      n % 2 ? { power_kw: 10 + n } : { external_ref: `${reference}-${n}` },
    );
    const answers = await Promise.all(
      changes.map((change) => world.post("/v1/chargers:update", { charger_id, ...change }, token)),
    );
    expect(answers.map(({ status }) => status)).toEqual(changes.map(() => 200));
    expect(await deadlocks()).toBe(before);
  });

  test("attack: a name stays in use where it led to another registration of its charger", async () => {
    const serial_number = `led${count}`;
    const called = { external_ref: `${reference}-led` };
    const before = await register({ serial_number, ...called });
    await world.row("update core.charger_names set since = '2026-01-01Z' where charger_id = $1", before);
    await world.post("/v1/chargers:remove", { charger_id: before }, token);
    const after = await register({ serial_number });
    const { results } = await deliver([session(called)]);
    expect(await get(`/v1/charging-sessions/${results[0].charging_session_id}`)).toMatchObject({ charger_id: after });
    const other = await register({ serial_number: `${serial_number}-b` });
    const taking = { charger_id: other, ...called, from: "2026-03-01T00:00:00Z" };
    expect((await world.post("/v1/chargers:update", taking, token)).body).toMatchObject({ error: "name_in_use" });
  });

  test("names that mean two chargers are refused", async () => {
    await register({ external_ref: `${reference}-b`, evses: [{ evse_uid: `${reference}-uid` }] });
    const { results } = await deliver([session({ evse_uid: `${reference}-uid` })]);
    expect(results).toMatchObject([{ status: "invalid", reason: "ambiguous_charger" }]);
  });
});

describe("§4.1 a session is taken back", () => {
  const withdraw = (...session_ids: string[]) => world.post("/v1/charging-sessions:withdraw", { session_ids }, token);

  test("by the client's id or ours; again it is unchanged; told again it stands", async () => {
    const { results } = await deliver([session(), session({ session_id: `w${count}`, ...at(11) })]);
    const id = results[0].charging_session_id;
    expect((await withdraw(id, `w${count}`, "nobody")).body).toMatchObject({
      withdrawn: 2,
      unchanged: 0,
      not_found: 1,
      results: [{ session_id: id, status: "withdrawn" }, { status: "withdrawn" }, { status: "not_found" }],
    });
    expect((await withdraw(id)).body).toMatchObject({ unchanged: 1 });
    expect(await months()).toEqual(["2026-03 0 0"]);
    expect(await get(`/v1/charging-sessions/${id}`)).toMatchObject({
      flags: ["withdrawn"],
      counted: false,
      not_counted: "flagged",
    });
    expect(await deliver([session()])).toMatchObject({ updated: 1, results: [{ counted: true }] });
    expect(await months()).toEqual(["2026-03 5 1"]);
  });

  test("an id that two chargers have is refused, and nothing changes", async () => {
    await register({ external_ref: `${reference}-b` });
    await deliver([
      session({ session_id: `t${count}` }),
      session({ session_id: `t${count}`, external_ref: `${reference}-b` }),
    ]);
    expect((await withdraw(`t${count}`)).body).toMatchObject({ error: "ambiguous_session", session_id: `t${count}` });
    expect(await months()).toEqual(["2026-03 10 2"]);
  });
});

describe("§2 a typed total stands above the sessions of its month", () => {
  test("until the month is handed back to them", async () => {
    await signMandate(world, account.account_id);
    const january = { started_at: "2027-01-10T18:00:00Z", ended_at: "2027-01-10T19:00:00Z" };
    await deliverMonth({ period: "2027-01", total_kwh: 99 });
    expect((await deliver([session(january)])).results).toMatchObject([{ counted: false, not_counted: "typed_total" }]);
    expect(await months()).toEqual(["2027-01 99 0"]);
    const back = await deliverMonth({ period: "2027-01", from_sessions: true });
    expect(back.body).toMatchObject({ accepted: 1, results: [{ status: "ingested" }] });
    expect(await months()).toEqual(["2027-01 5 1"]);
    const { rows } = await world.database.admin.query(
      "select total_kwh::float8 from core.replaced_months where connection_id = $1",
      [account.connection_id],
    );
    expect(rows).toEqual([{ total_kwh: 99 }]);
    await deliver([session({ session_id: "b", started_at: "2027-01-11T18:00:00Z", ended_at: "2027-01-11T19:00:00Z" })]);
    expect(await months()).toEqual(["2027-01 10 2"]);
    // without sessions the month becomes 0; with a total beside it nobody knows what is meant
    expect((await deliverMonth({ period: "2027-02", from_sessions: true })).body).toMatchObject({ accepted: 1 });
    expect((await deliverMonth({ period: "2027-02", from_sessions: true, total_kwh: 1 })).body).toMatchObject({
      results: [{ reason: "bad_kwh" }],
    });
    expect(await months()).toEqual(["2027-01 10 2", "2027-02 0 0"]);
    await world.row(
      "update core.delivered_months set status = 'submitted' where connection_id = $1",
      account.connection_id,
    );
    expect((await deliverMonth({ period: "2027-01", from_sessions: true })).body).toMatchObject({ locked: 1 });
  });
});

describe("§6 sessions are read back by a cursor that loses none", () => {
  type Page = {
    sessions: { session_id: string; kwh: number; flags: string[] }[];
    next_cursor: string;
    has_more: boolean;
  };
  async function readOn(
    client: string,
    after: string | undefined,
    query = "",
  ): Promise<{ seen: string[]; cursor: string }> {
    const seen: string[] = [];
    let cursor = after;
    for (;;) {
      const { status, body } = await world.get(
        `/v1/charging-sessions?${query.includes("limit") ? "" : "limit=3"}${query}${cursor ? `&after=${cursor}` : ""}`,
        client,
      );
      expect(status, JSON.stringify(body)).toBe(200);
      const page = body as Page;
      seen.push(...page.sessions.map(({ session_id, kwh, flags }) => [session_id, kwh, ...flags].join(" ")));
      cursor = page.next_cursor;
      if (!page.has_more) return { seen, cursor };
    }
  }

  test("first all that is stored, then each session that changed, once and as it is now", async () => {
    const fresh = await world.addClient(world.partnerA.id);
    const reader = await fresh.token();
    const mine = await createAccount(world, { ...world.partnerA, client: fresh });
    const body = { account_id: mine.account_id, ...MID_CHARGER, external_ref: "one" };
    await world.post("/v1/chargers", body, reader);
    const send = (...sessions: object[]) =>
      world.post(
        "/v1/charging-sessions",
        { sessions: sessions.map((each) => ({ ...session(), external_ref: "one", ...each })) },
        reader,
      );
    await send(...Array.from({ length: 8 }, (_, n) => ({ session_id: `n${n}`, ...at(n + 1) })));
    const { seen, cursor } = await readOn(reader, undefined);
    expect(seen).toEqual(["n7 5", "n6 5", "n5 5", "n4 5", "n3 5", "n2 5", "n1 5", "n0 5"]);
    expect((await readOn(reader, cursor)).seen).toEqual([]);
    await send({ session_id: "n2", ...at(3), kwh: 6 }, { session_id: "new", ...at(20) });
    await send({ session_id: "n2", ...at(3), kwh: 7 });
    await world.post("/v1/charging-sessions:withdraw", { session_ids: ["n0"] }, reader);
    const next = await readOn(reader, cursor);
    expect(next.seen.sort()).toEqual(["n0 5 withdrawn", "n2 7", "new 5"]);
    expect((await readOn(reader, cursor, "&counted=true")).seen.sort()).toEqual(["n2 7", "new 5"]);
    expect((await readOn(reader, undefined, "&from=2026-03-03&to=2026-03-05")).seen).toEqual(["n3 5", "n2 7"]);
    expect((await readOn(reader, undefined, "&counted=false")).seen).toEqual(["n0 5 withdrawn"]);
    // a page in the middle, and a change of what it has shown already
    const first = (await world.get("/v1/charging-sessions?limit=3", reader)).body as Page;
    await send({ session_id: "new", ...at(20), kwh: 9 });
    expect((await readOn(reader, first.next_cursor)).seen).toContain("new 9");
    expect((await world.get(`/v1/charging-sessions?after=${cursor}`, token)).body).toMatchObject({
      error: "invalid_cursor",
    });
    expect((await world.get("/v1/charging-sessions?after=x", token)).body).toMatchObject({ error: "invalid_cursor" });
    expect((await world.get("/v1/charging-sessions?from=2026-02-30", token)).status).toBe(400);
    await world.row(
      "update core.charging_changes set at = private.now() - interval '91 days' where owner_id = $1",
      fresh.id,
    );
    await world.database.admin.query("select private.sweep_charging_changes()");
    expect((await world.get(`/v1/charging-sessions?after=${cursor}`, reader)).body).toMatchObject({
      error: "cursor_expired",
    });
    expect((await readOn(reader, undefined)).seen).toHaveLength(9);
  });

  /** A client of its own with a charger, and what it does with it. */
  async function reading(serial_number: string) {
    const fresh = await world.addClient(world.partnerA.id);
    const reader = await fresh.token();
    const mine = await createAccount(world, { ...world.partnerA, client: fresh });
    const add = async () => {
      const body = { account_id: mine.account_id, ...MID_CHARGER, serial_number };
      return (await world.post("/v1/chargers", body, reader)).body.charger_id;
    };
    const by = { external_ref: undefined, charger_id: await add() };
    const send = async (...sessions: object[]) => {
      const body = { sessions: sessions.map((each) => session({ ...by, ...each })) };
      expect((await world.post("/v1/charging-sessions", body, reader)).status).toBe(200);
    };
    return { reader, add, send, charger_id: by.charger_id };
  }

  test("attack: of 1,002 that changed, those that are told again meanwhile are seen, once and as they are now", async () => {
    const { reader, send } = await reading(`many${count}`);
    const { cursor } = await readOn(reader, undefined);
    const minute = (n: number) => new Date(Date.UTC(2026, 2, 1) + n * 60_000).toISOString();
    const each = (n: number, kwh = 1) => ({
      ...{ session_id: `n${n}`, kwh },
      ...{ started_at: minute(n * 30), ended_at: minute(n * 30 + 10) },
    });
    const all = Array.from({ length: 1002 }, (_, n) => each(n));
    await send(...all.slice(0, 501));
    await send(...all.slice(501));
    await send(each(0, 2));
    const page = (await world.get(`/v1/charging-sessions?limit=200&after=${cursor}`, reader)).body as Page;
    // one of this page, and one of a later page
    await send(each(1, 2), each(900, 2));
    const { seen } = await readOn(reader, page.next_cursor, "&limit=200");
    const first = page.sessions.map(({ session_id, kwh }) => `${session_id} ${kwh}`);
    expect(first).toHaveLength(200);
    expect([...first, ...seen].toSorted()).toEqual(
      [...all.map(({ session_id }) => session_id), "n1"]
        .map((id, at) => `${id} ${["n0", "n900"].includes(id) || at === 1002 ? 2 : 1}`)
        .toSorted(),
    );
  });

  test("what another registration of its charger changes of a session is told too", async () => {
    const { reader, add, send, charger_id } = await reading(`followed${count}`);
    // the first one stands, though without energy
    await send({ session_id: "first", ...at(11), kwh: 0 });
    await send({ session_id: "beside", ...at(11), started_at: "2026-03-11T18:30:00Z", kwh: 4 });
    const { seen, cursor } = await readOn(reader, undefined);
    expect(seen).toEqual(["beside 4 overlapping", "first 0"]);
    await world.post("/v1/chargers:remove", { charger_id }, reader);
    expect(await add()).not.toBe(charger_id);
    expect((await readOn(reader, cursor)).seen).toEqual(["beside 4 overlapping other_registration"]);
  });
});

describe("§4.1 a file of months or sessions is delivered row by row", () => {
  const upload = (file: BodyInit, query = "") =>
    world.send(`/v1/uploads${query}`, { method: "POST", token, raw: file });
  async function uploaded(file: BodyInit, query = "") {
    const answer = await upload(file, query);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    return answer.body;
  }
  const sessionFile = (...rows: string[]) => ["Laadpaal;Start;Eind;Energie (kWh)", ...rows].join("\n");

  test("sessions of a workbook, with ids: the same as by JSON, with its own words and hash as evidence", async () => {
    const book = new Excel.Workbook();
    const page = book.addWorksheet("Sessies");
    page.addRow(["Sessie", "Laadpaal", "Start", "Eind", "kWh", "Meterstand begin", "Meterstand eind", "Pas"]);
    page.addRow(["x-1", reference, "10-03-2026 19:00", "10-03-2026 20:00", 5, 100, 105, "NL-TAG"]);
    page.addRow([
      "x-2",
      reference,
      new Date("2026-03-11T19:00:00Z"),
      new Date("2026-03-11T20:00:00Z"),
      2.5,
      105,
      107.5,
    ]);
    page.addRow(["x-3", "nobody's", "12-03-2026 19:00", "12-03-2026 20:00", 1]);
    page.addRow(["x-4", reference, "gisteren", "12-03-2026 20:00", 1]);
    page.addRow(["x-1", reference.toLowerCase(), "10-03-2026 19:00", "10-03-2026 20:00", 5, 100, 105]);
    for (const cell of ["C3", "D3"]) page.getCell(cell).numFmt = "dd-mm-yyyy hh:mm";
    const file = new Uint8Array(await book.xlsx.writeBuffer());
    const dry = await uploaded(file, "?dry_run=true");
    expect(dry).toMatchObject({ upload_id: null, counts: { created: 2, superseded: 1, parked: 1, invalid: 1 } });
    expect(JSON.stringify(dry)).not.toContain("charging_session_id");
    expect(await months()).toEqual([]);
    const answer = await uploaded(file);
    expect(answer).toMatchObject({
      kind: "sessions",
      rows: 5,
      counts: { created: 2, updated: 0, unchanged: 0, superseded: 1, parked: 1, invalid: 1 },
      results: [
        { row: 1, sheet_row: 2, session_id: "x-1", status: "superseded", flags: [], counted: false },
        { row: 2, sheet_row: 3, session_id: "x-2", status: "created", counted: true },
        { row: 3, sheet_row: 4, session_id: "x-3", status: "parked", reason: "unknown_charger", counted: false },
        { row: 4, sheet_row: 5, session_id: "x-4", status: "invalid", reason: "bad_started_at", column: "Start" },
        { row: 5, sheet_row: 6, session_id: "x-1", status: "created", flags: [], counted: true },
      ],
    });
    expect(answer.columns.at(-1)).toEqual({ header: "Pas", field: null });
    expect(await months()).toEqual(["2026-03 7.5 2"]);
    // the same session by JSON is the same session
    expect(await deliver([session({ session_id: "x-1", meter_start_kwh: 100, meter_end_kwh: 105 })])).toMatchObject({
      unchanged: 1,
    });
    const { rows } = await world.database.admin.query(
      "select source, document, sent_sha256, upload_id from core.charging_evidence where charger_id = $1 and external_id = 'x-1'",
      [charger_id],
    );
    expect(rows).toEqual([
      {
        source: "api",
        document: {
          Sessie: "x-1",
          Laadpaal: reference.toLowerCase(),
          Start: "10-03-2026 19:00",
          Eind: "10-03-2026 20:00",
          kWh: "5",
          "Meterstand begin": "100",
          "Meterstand eind": "105",
        },
        sent_sha256: createHash("sha256").update(file).digest(),
        upload_id: answer.upload_id,
      },
    ]);
    expect(await get(`/v1/uploads/${answer.upload_id}`)).toEqual(answer);
    const other = await (await world.addClient(world.partnerA.id)).token();
    expect((await world.get(`/v1/uploads/${answer.upload_id}`, other)).status).toBe(404);
  });

  test("without ids a session is known by charger, EVSE and start: a corrected kWh corrects it", async () => {
    const rows = (kwh: string) => sessionFile(`${reference};10-03-2026 19:00;10-03-2026 20:00;${kwh}`);
    const first = await uploaded(rows("5,5"));
    expect(first.counts).toMatchObject({ created: 1 });
    expect((await uploaded(rows("6,5"))).counts).toMatchObject({ updated: 1 });
    expect(await months()).toEqual(["2026-03 6.5 1"]);
    // A, B, A is an undo; the newest once more is answered as it was stored
    const undone = await uploaded(rows("5,5"));
    expect(undone.counts).toMatchObject({ updated: 1 });
    expect(undone.upload_id).not.toBe(first.upload_id);
    expect(await uploaded(rows("5,5"))).toEqual({ ...undone, idempotent: true });
    // a look at it promises nothing else, whatever other doors told since
    const { started_at, ended_at } = { started_at: "2026-03-10T18:00:00Z", ended_at: "2026-03-10T19:00:00Z" };
    const json = { session_id: "j", external_ref: reference, started_at, ended_at, kwh: 5.5 };
    await world.post("/v1/charging-sessions", { sessions: [json] }, token);
    expect(await uploaded(rows("5,5"), "?dry_run=true")).toEqual({ ...undone, idempotent: true });
    expect(await months()).toEqual(["2026-03 5.5 1"]);
    // ours to withdraw by our id
    const [{ charging_session_id }] = undone.results;
    const back = await world.post("/v1/charging-sessions:withdraw", { session_ids: [charging_session_id] }, token);
    expect(back.body).toMatchObject({ withdrawn: 1 });
  });

  test("the newest file once more stores what was taken back, or parked, meanwhile", async () => {
    const file = sessionFile(
      `${reference};10-03-2026 19:00;10-03-2026 20:00;5`,
      `${reference};11-03-2026 19:00;11-03-2026 20:00;2`,
    );
    const first = await uploaded(file);
    const { charging_session_id } = first.results[0];
    const withdraw = (id: string) => world.post("/v1/charging-sessions:withdraw", { session_ids: [id] }, token);
    await withdraw(charging_session_id);
    expect(await months()).toEqual(["2026-03 2 1"]);
    expect((await uploaded(file, "?dry_run=true")).counts).toMatchObject({ updated: 1, unchanged: 1 });
    const again = await uploaded(file);
    expect(again.counts).toMatchObject({ updated: 1, unchanged: 1 });
    expect(again.upload_id).not.toBe(first.upload_id);
    expect(await months()).toEqual(["2026-03 7 2"]);
    expect(await uploaded(file)).toEqual({ ...again, idempotent: true });
    const waits = sessionFile(`${reference}-late;10-03-2026 19:00;10-03-2026 20:00;5`);
    expect((await uploaded(waits)).counts).toMatchObject({ parked: 1 });
    const { parked } = await get("/v1/charging-sessions/parked");
    expect((await withdraw(parked[0].parked_id)).body).toMatchObject({ withdrawn: 1 });
    expect((await uploaded(waits)).counts).toMatchObject({ parked: 1 });
    await register({ external_ref: `${reference}-late` });
    expect((await uploaded(waits)).counts).toMatchObject({ unchanged: 1 });
    expect(await months()).toEqual(["2026-03 12 3"]);
  });

  test("ten equal files at once: one is stored, who comes meanwhile is told that it runs, and to come again", async () => {
    const file = sessionFile(`${reference};10-03-2026 19:00;10-03-2026 20:00;5`);
    const answers = await Promise.all(Array.from({ length: 10 }, () => upload(file)));
    const told = answers.filter(({ status }) => status === 429);
    expect(told.length).toBeGreaterThan(0);
    for (const { headers, body } of told) {
      expect(body).toMatchObject({ error: "Too many requests", reason: "upload_running", retry_after_seconds: 5 });
      expect(headers.get("retry-after")).toBe("5");
    }
    const taken = answers.filter(({ status }) => status === 200).map(({ body }) => body);
    expect(told.length + taken.length).toBe(10);
    const [stored, ...others] = taken.sort((a, b) => Number(a.idempotent ?? false) - Number(b.idempotent ?? false));
    // who came when it was stored is answered the same
    for (const answer of [...others, await uploaded(file)]) expect(answer).toEqual({ ...stored, idempotent: true });
    expect(await months()).toEqual(["2026-03 5 1"]);
  });

  test("a file that another process stores meanwhile: the next one is told so within two seconds", async () => {
    const file = sessionFile(`${reference};10-03-2026 19:00;10-03-2026 20:00;5`);
    const holder = await world.database.admin.connect();
    try {
      await holder.query("begin");
      await holder.query("select private.lock('uploads', $1)", [world.partnerA.client.id]);
      const begun = performance.now();
      expect(await upload(file)).toMatchObject({ status: 429, body: { reason: "upload_running" } });
      expect(performance.now() - begun).toBeLessThan(2_000);
    } finally {
      await holder.query("rollback");
      holder.release();
    }
    expect((await uploaded(file)).counts).toMatchObject({ created: 1 });
  });

  test("a session that is in the file twice is invalid each time; the hours of a change of time are read", async () => {
    const answer = await uploaded(
      sessionFile(
        `${reference};10-03-2026 19:00;10-03-2026 20:00;5`,
        `${reference};10-03-2026 19:00;10-03-2026 20:00;6`,
        `${reference};29-03-2026 02:30;29-03-2026 04:00;5`,
        // October's doubled hour: 01:30Z to 02:15Z would end before it starts, so the end is the second 02:15
        `${reference};25-10-2026 02:30;25-10-2026 02:15;0,5`,
      ),
    );
    expect(answer.results).toMatchObject([
      { status: "invalid", reason: "duplicate_in_file" },
      { status: "invalid", reason: "duplicate_in_file" },
      { status: "invalid", reason: "bad_started_at", column: "Start" },
      { status: "created", flags: [] },
    ]);
    const { sessions } = await get(`/v1/charging-sessions?charger_id=${charger_id}`);
    expect(sessions).toMatchObject([
      { session_id: null, source: "file", started_at: "2026-10-25T00:30:00Z", ended_at: "2026-10-25T01:15:00Z" },
    ]);
  });

  test("months of several customers, as one delivery each; a repeat replaces, a booked month stays", async () => {
    const other = await createAccount(world);
    const { connection_id } = account;
    const ean = await world.row("select ean_code from core.connections where id = $1", other.connection_id);
    const ref = `KL-${count}`;
    await world.row("update core.accounts set cpo_external_ref = $1 where id = $2", ref, account.account_id);
    const file = [
      "Klantnummer;EAN;Maand;Sessies;Verbruik in MWh",
      `${ref};;mrt 2026;12;0,3125`,
      `;${ean.ean_code};maart-26;3;0,1`,
      "KL-niemand;;mrt 2026;;0,1",
      `${ref};;2027-03;;0,1`,
      `${ref};;04-2026;;0,1`,
      `${ref};;2026-04;;0,2`,
      `${ref};;31-04-2026;;0,2`,
      ";;2026-04;;0,2",
    ].join("\r\n");
    const answer = await uploaded(file.replace("Verbruik in MWh", "Verbruik (MWh)"));
    expect(answer.results).toMatchObject([
      { status: "ingested", period: "2026-03", connection_id },
      { status: "ingested", connection_id: other.connection_id },
      { status: "invalid", reason: "account_not_found" },
      { status: "invalid", reason: "future_period" },
      { status: "invalid", reason: "duplicate_in_file" },
      { status: "invalid", reason: "duplicate_in_file" },
      { status: "invalid", reason: "bad_period", column: "Maand" },
      { status: "invalid", reason: "no_account" },
    ]);
    expect(answer.counts).toEqual({ ingested: 2, outside_mandate: 0, locked: 0, summary: 0, invalid: 6 });
    expect(await months()).toEqual(["2026-03 312.5 12"]);
    const { rows } = await world.database.admin.query(
      "select connection_id, body::jsonb as body from core.deliveries where upload_id = $1 order by body",
      [answer.upload_id],
    );
    expect(rows).toHaveLength(2);
    expect(rows).toContainEqual({
      connection_id,
      body: [{ Klantnummer: ref, Maand: "mrt 2026", Sessies: "12", "Verbruik (MWh)": "0,3125" }],
    });
    // the same file is the same upload, until a customer that it names is known
    const again = () => uploaded(file.replace("Verbruik in MWh", "Verbruik (MWh)"));
    expect(await again()).toEqual({ ...answer, idempotent: true });
    const late = await createAccount(world);
    await world.row("update core.accounts set cpo_external_ref = 'KL-niemand' where id = $1", late.account_id);
    const mended = await again();
    expect(mended.counts).toMatchObject({ ingested: 3, invalid: 5 });
    expect(mended.upload_id).not.toBe(answer.upload_id);
    expect(await again()).toEqual({ ...mended, idempotent: true });
    const corrected = (await uploaded(`ref,month,kwh\n${ref},2026-03,300.5\n`)).counts;
    expect(corrected).toMatchObject({ ingested: 1 });
    await world.row("update core.delivered_months set status = 'submitted' where connection_id = $1", connection_id);
    expect((await uploaded(`ref,month,kwh\n${ref},2026-03,99\n`)).counts).toMatchObject({ locked: 1 });
    expect(await months()).toEqual(["2026-03 300.5 0"]);
    const { replaced } = await world.row(
      "select total_kwh::float8 as replaced from core.replaced_months where connection_id = $1",
      connection_id,
    );
    expect(replaced).toBe(312.5);
  });

  test("what is refused whole, by name; nothing is stored", async () => {
    const many = sessionFile(
      ...Array.from({ length: 5001 }, (_, row) => `${reference};1-3-2026 0:00;1-3-2026 1:00;${row}`),
    );
    const ambiguous = sessionFile(
      ...["1.234", "2.500"].map((kwh) => `${reference};${kwh[0]}-3-2026 0:00;${kwh[0]}-3-2026 9:00;${kwh}`),
    );
    const both = "klantnummer;maand;sessies;kwh;laadpaal;start;eind\n1;2026-03;1;1;2;1-3-2026 0:00;1-3-2026 1:00\n";
    const refused: [BodyInit, number, object][] = [
      [new Uint8Array([0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]), 415, { error: "file_type" }],
      ["%PDF-1.7\n\0", 415, { error: "file_type" }],
      ['"laadpaal;start\n', 422, { error: "unreadable_file" }],
      ["%PDF-1.7\nwithout a zero", 415, { error: "file_type" }],
      ['{"sessions": []}', 415, { error: "file_type" }],
      [
        '--x\r\nContent-Disposition: form-data; name="file"\r\n\r\nlaadpaal;start;kwh\r\n',
        415,
        { error: "file_type", detail: expect.stringContaining("not in a form") },
      ],
      ["", 422, { error: "unreadable_file", detail: expect.stringContaining("no rows") }],
      ["naam;bedrag\nSanne;5\n", 422, { error: "unknown_columns", headers: ["naam", "bedrag"] }],
      [
        "Station;Datum start;Eind;Prijs\n1;1-3-2026 0:00;1-3-2026 1:00;2\n",
        422,
        {
          detail: expect.stringMatching(
            /reads as sessions, but has no column for kWh or both readings\. Not understood: Prijs\..+first 20 rows/,
          ),
        },
      ],
      [both, 422, { error: "unknown_columns", detail: expect.stringContaining("send kind=months") }],
      [sessionFile(), 422, { error: "unreadable_file" }],
      [`${["laadpaal;start;kwh", ...Array(498).fill("x")].join(";")}\n1;2;3\n`, 422, { error: "unreadable_file" }],
      [many, 413, { error: "payload_too_large", detail: expect.stringContaining("5001") }],
      [new Uint8Array(4 * 1024 * 1024 + 1), 413, { error: "payload_too_large" }],
      [ambiguous, 422, { error: "ambiguous_decimals", column: "Energie (kWh)", sheet_row: 2, value: "1.234" }],
    ];
    for (const [file, status, body] of refused) expect(await upload(file)).toMatchObject({ status, body });
    expect((await upload(ambiguous, "?decimal=;")).status).toBe(400);
    expect(await uploaded(ambiguous, "?decimal=.&dry_run=true")).toMatchObject({ counts: { created: 2 } });
    // a heading is cut between its characters
    const long = `klantnummer;maand;kwh;${"x".repeat(119)}😀😀\n1;2026-03;1;${"y".repeat(100_000)}\n`;
    expect((await uploaded(long, "?dry_run=true")).columns[3].header).toBe(`${"x".repeat(119)}😀`);
    expect((await uploaded(both, "?kind=months")).counts).toMatchObject({ invalid: 1 });
    expect(await months()).toEqual([]);
    const reader = await (await world.addClient(world.partnerA.id, { scopes: ["cpo:accounts:read"] })).token();
    expect((await world.send("/v1/uploads", { method: "POST", token: reader, raw: both })).status).toBe(403);
  });
});
