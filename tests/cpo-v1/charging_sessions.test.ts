// POST /v1/charging-sessions and what belongs to it: names of chargers, parked sessions, withdrawing, reading back by a cursor.

import { createHash } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { MID_CHARGER } from "../harness/chargers.ts";
import { signMandate } from "../harness/mandate.ts";
import { createAccount } from "../harness/people.ts";
import { createWorld, type World } from "../harness/world.ts";

let world: World;
let token: string;
let account: { account_id: string; connection_id: string };
let reference: string;
let charger_id: string;
let count = 0;
beforeAll(async () => {
  world = await createWorld({ now: "2027-02-01T12:00:00Z" });
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
      { session_id: "b", status: "superseded", charging_session_id: id, flags: [], counted: true },
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
    ["unknown_charger", { external_ref: undefined, charger_id: "5f0b7c1e-3d2a-4c58-9a41-0d6c2f7e8b90" }],
    ["bad_external_ref", { external_ref: 7 }],
    ["bad_started_at", { started_at: "2026-03-10T19:00:00" }],
    ["bad_started_at", { started_at: "2026-02-30T19:00:00Z" }],
    ["bad_started_at", { started_at: "2026-03-10T25:00:00Z" }],
    ["bad_started_at", { started_at: 1773000000 }],
    ["bad_ended_at", { ended_at: "later" }],
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
    const sessions = [session(), session({ session_id: "p", external_ref: "dry", ...at(12) })];
    const dry = await deliver(sessions, { dry_run: true });
    expect(dry).toMatchObject({ created: 1, parked: 1 });
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
        `/v1/charging-sessions?limit=3${query}${cursor ? `&after=${cursor}` : ""}`,
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
});
