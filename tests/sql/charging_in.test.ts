// Charging data of a CPO client: names of chargers, evidence, what is parked, what is taken back. Asked as the api functions run.

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { MID_CHARGER } from "../harness/chargers.ts";
import { runDueJobs } from "../harness/due_jobs.ts";
import { signMandate } from "../harness/mandate.ts";
import { createAccount } from "../harness/people.ts";
import { createWorld, type World } from "../harness/world.ts";

let world: World;
let account: { account_id: string; connection_id: string };
let charger: string;
let owner: string;
let count = 0;
beforeAll(async () => {
  world = await createWorld({ now: "2027-02-01T12:00:00Z" });
  await world.limit("cpo_write");
  owner = world.partnerA.client.id;
});
afterAll(() => world.close());
beforeEach(async () => {
  account = await createAccount(world);
  charger = await addCharger();
});

async function addCharger(account_id = account.account_id): Promise<string> {
  count += 1;
  const body = { account_id, ...MID_CHARGER, serial_number: `S${count}` };
  const answer = await world.post("/v1/chargers", body, await world.partnerA.client.token());
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body.charger_id;
}

/** Runs a statement as partner A's client, as the owner of the api functions. */
async function acting<Row = { answer: unknown }>(statement: string, ...values: unknown[]): Promise<Row[]> {
  const session = await world.database.admin.connect();
  try {
    await session.query("begin; set local role api_owner");
    const caller = { kind: "cpo", partner_id: world.partnerA.id, client_id: owner, host: "sandbox", request_id: "r1" };
    await session.query("select private.act_as($1, 'cpo')", [caller]);
    const { rows } = await session.query(statement, values);
    await session.query("commit");
    return rows;
  } catch (error) {
    await session.query("rollback");
    throw error;
  } finally {
    session.release();
  }
}

const SENT = "ab".repeat(32);
const session = (fields: object = {}) => ({
  place: 1,
  source: "api",
  external_id: "s1",
  charger_id: charger,
  started_at: "2026-03-10T18:00:00Z",
  ended_at: "2026-03-10T19:00:00Z",
  wh: 5000,
  sent_sha256: SENT,
  document: { kwh: 5 },
  ...fields,
});
type Result = { place: number; status: string; reason?: string; session_id?: string; flags?: string[] };
async function deliver(...sessions: object[]): Promise<Result[]> {
  const [row] = await acting<{ answer: Result[] }>(
    `select json_agg(json_strip_nulls(json_build_object('place', r.place, 'status', r.status, 'reason', r.reason,
              'session_id', r.session_id, 'flags', r.flags))) as answer from private.store_client_sessions($1, $2) r`,
    owner,
    JSON.stringify(sessions.map((each, at) => ({ ...each, place: at + 1 }))),
  );
  return (row?.answer ?? []).sort((a, b) => a.place - b.place);
}
const name = (charger_id: string, names: object) =>
  acting<{ told: string[] }>(
    "select private.name_charger(h, $2) as told from core.chargers h where id = $1",
    charger_id,
    names,
  );
const rows = async (statement: string, ...values: unknown[]) =>
  (await world.database.admin.query(statement, values)).rows;
const evidence = () => rows("select * from core.charging_evidence where charger_id = $1 order by id", charger);
const totals = async () =>
  (
    await rows(
      "select to_char(period, 'YYYY-MM') || ' ' || total_kwh::float8 as month from core.delivered_months where connection_id = $1 order by period",
      account.connection_id,
    )
  ).map(({ month }) => month);

describe("§1 evidence is kept in the transaction that stores the session", () => {
  test("a new session and a correction leave what was said; a repeat leaves nothing", async () => {
    const first = session({ meter_start_wh: 100_000, meter_end_wh: 105_000, meter_id: "M1", signed: ["OCMF|x"] });
    const [created] = await deliver(first);
    expect(created).toMatchObject({ status: "created", flags: [] });
    expect(await deliver(first)).toMatchObject([{ status: "unchanged" }]);
    await deliver({ ...first, meter_end_wh: 105_100, wh: 5100, document: { kwh: 5.1 } });
    expect(await evidence()).toMatchObject([
      {
        session_id: created?.session_id,
        owner_id: owner,
        client_id: owner,
        source: "api",
        external_id: "s1",
        request_id: "r1",
        document: { kwh: 5 },
        sent_sha256: Buffer.from(SENT, "hex"),
        signed: ["OCMF|x"],
        signature: "unchecked",
        meter_id: "M1",
        meter_start_wh: "100000",
        meter_end_wh: "105000",
      },
      { document: { kwh: 5.1 }, meter_end_wh: "105100" },
    ]);
    const [{ same }] = await rows(
      "select bool_and(document_sha256 = sha256(convert_to(document::text, 'UTF8'))) as same from core.charging_evidence where charger_id = $1",
      charger,
    );
    expect(same).toBe(true);
  });

  test("readings that come later are a change of their own", async () => {
    await deliver(session());
    expect(await deliver(session({ meter_start_wh: 1000, meter_end_wh: 6000 }))).toMatchObject([{ status: "updated" }]);
    expect(await evidence()).toHaveLength(2);
  });

  test("nobody changes or deletes it", async () => {
    await deliver(session());
    await expect(acting("update core.charging_evidence set source = 'x'")).rejects.toMatchObject({ code: "42501" });
    await expect(acting("delete from core.charging_evidence")).rejects.toMatchObject({ code: "42501" });
  });
});

describe("§1 what its own words contradict is stored, flagged and not counted", () => {
  test.each([
    [
      "readings that disagree by more than 1 % and 0.1 kWh",
      { meter_start_wh: 0, meter_end_wh: 5200 },
      ["meter_disagrees"],
    ],
    ["readings that disagree by 0.1 kWh", { meter_start_wh: 0, meter_end_wh: 5100 }, []],
    ["readings that disagree by 1 %", { meter_start_wh: 0, meter_end_wh: 49_500, wh: 50_000 }, []],
    ["a meter that ran backward", { meter_start_wh: 9000, meter_end_wh: 4000 }, ["meter_disagrees"]],
    ["another country", { flags: ["abroad"] }, ["abroad"]],
    ["no end", { flags: ["no_end"], ended_at: null }, ["no_end"]],
    ["a flag that no source may say", { flags: ["overlapping", "withdrawn"] }, []],
    ["a fast charger's hour", { wh: 150_000, power_type: "DC" }, []],
    ["the same of AC", { wh: 150_000, power_type: "AC" }, ["beyond_power"]],
  ])("%s", async (_, fields, flags) => {
    expect(await deliver(session(fields))).toMatchObject([{ status: "created", flags }]);
  });
});

describe("§1 two tellings of one charge", () => {
  test("nearly the same begin, end and energy is a duplicate, else they overlap; the first to come stands", async () => {
    const [, twin, other] = await deliver(
      session(),
      session({ external_id: "s2", started_at: "2026-03-10T18:04:00Z", ended_at: "2026-03-10T19:05:00Z", wh: 5090 }),
      session({ external_id: "s3", started_at: "2026-03-10T18:10:00Z", ended_at: "2026-03-10T19:05:00Z" }),
    );
    expect([twin?.flags, other?.flags]).toEqual([["duplicate"], ["overlapping"]]);
    expect(await totals()).toEqual(["2026-03 5"]);
  });

  test("by two sources too; where the first is taken back, the second counts", async () => {
    const [first] = await deliver(session());
    const [second] = await deliver(session({ source: "ocpi", external_id: "NL-TNM:1" }));
    expect(second?.flags).toEqual(["duplicate"]);
    const withdraw = () =>
      acting<{ gone: string[] }>(
        "select private.withdraw_charging_sessions(array[$1::uuid], '{\"withdraw\": true}', '\\xab', '\\xabcd') as gone",
        first?.session_id,
      );
    expect(await withdraw()).toEqual([{ gone: [first?.session_id] }]);
    expect(
      await rows("select source, flags from core.charging_sessions where charger_id = $1 order by source", charger),
    ).toEqual([
      { source: "api", flags: ["withdrawn"] },
      { source: "ocpi", flags: [] },
    ]);
    expect(await totals()).toEqual(["2026-03 5"]);
    expect(await withdraw()).toEqual([{ gone: [] }]);
    // the words of a CDR stand beside the CDRs
    expect((await evidence()).map(({ document }) => document)).toEqual([{ kwh: 5 }, null, { withdraw: true }]);
    // told again by the client itself it stands again, after the other
    expect(await deliver(session())).toMatchObject([{ status: "updated", flags: [] }]);
    expect(
      await rows("select source, flags from core.charging_sessions where charger_id = $1 order by source", charger),
    ).toEqual([
      { source: "api", flags: [] },
      { source: "ocpi", flags: ["duplicate"] },
    ]);
  });

  test("of two sources at two EVSEs too, where one names none; at two that are named these are two", async () => {
    expect(await deliver(session({ evse_no: 2 }))).toMatchObject([{ flags: [] }]);
    expect(await deliver(session({ source: "ocpi", external_id: "NL-TNM:5" }))).toMatchObject([
      { flags: ["duplicate"] },
    ]);
    const later = { started_at: "2026-03-11T18:00:00Z", ended_at: "2026-03-11T19:00:00Z" };
    expect(
      await deliver(
        session({ external_id: "s2", ...later, evse_no: 1 }),
        session({ external_id: "s3", ...later, evse_no: 2 }),
      ),
    ).toMatchObject([{ flags: [] }, { flags: [] }]);
    expect(await totals()).toEqual(["2026-03 15"]);
  });

  test("of a file without ids that names the EVSE later; two rows that name two EVSEs are two", async () => {
    const row = session({ source: "file", external_id: null });
    expect(await deliver(row)).toMatchObject([{ flags: [] }]);
    await world.row("update core.charging_sessions set received_at = received_at - interval '1 hour'");
    expect(await deliver({ ...row, evse_no: 2 })).toMatchObject([{ status: "created", flags: ["duplicate"] }]);
    expect(await totals()).toEqual(["2026-03 5"]);
    const later = { started_at: "2026-03-11T18:00:00Z", ended_at: "2026-03-11T19:00:00Z" };
    expect(await deliver({ ...row, ...later, evse_no: 1 }, { ...row, ...later, evse_no: 2 })).toMatchObject([
      { flags: [] },
      { flags: [] },
    ]);
    expect(await totals()).toEqual(["2026-03 15"]);
  });

  test("attack: a duplicate that is corrected to more energy stays out: 10 and then 10.5 kWh are not 20.5", async () => {
    const short = { started_at: "2026-03-10T18:00:00Z", ended_at: "2026-03-10T18:03:00Z", wh: 500 };
    const twin = session({ ...short, source: "ocpi", external_id: "NL-TNM:9", started_at: "2026-03-10T18:03:30Z" });
    await deliver(session(short), { ...twin, ended_at: "2026-03-10T18:07:00Z" });
    expect(await totals()).toEqual(["2026-03 0.5"]);
    expect(await deliver({ ...twin, ended_at: "2026-03-10T18:07:00Z", wh: 650 })).toMatchObject([
      { status: "updated", flags: ["duplicate"] },
    ]);
    expect(await totals()).toEqual(["2026-03 0.5"]);
  });

  test("attack: a duplicate whose twin names another EVSE later stays out", async () => {
    await deliver(session());
    await deliver(session({ source: "ocpi", external_id: "NL-TNM:8", evse_no: 2 }));
    expect(await deliver(session({ evse_no: 1 }))).toMatchObject([{ status: "updated", flags: [] }]);
    expect(await totals()).toEqual(["2026-03 5"]);
  });

  test("a credited CDR stays credited, however often it is read", async () => {
    const cdr = session({ source: "ocpi", external_id: "NL-TNM:2" });
    const [stored] = await deliver(cdr);
    await acting("select private.withdraw_charging_sessions(array[$1::uuid], '{}', '\\xab', null)", stored?.session_id);
    expect(await deliver(cdr)).toMatchObject([{ status: "unchanged", flags: ["withdrawn"] }]);
    expect(await deliver({ ...cdr, wh: 4000 })).toMatchObject([{ status: "updated", flags: ["withdrawn"] }]);
    expect(await totals()).toEqual(["2026-03 0"]);
  });
});

describe("§1 no charger gives more than it can", () => {
  const flagsOf = async (...sessions: object[]) => (await deliver(...sessions)).map(({ flags }) => flags);
  const evse = (evse_no: number, fields: object = {}) => session({ external_id: `e${evse_no}`, evse_no, ...fields });

  test("attack: twelve connectors of one charger at one time are two sockets, or as many as it has names of EVSEs", async () => {
    const twelve = Array.from({ length: 12 }, (_, n) => evse(n + 1));
    expect((await flagsOf(...twelve)).filter((flags) => flags?.includes("beyond_capacity"))).toHaveLength(10);
    expect(await totals()).toEqual(["2026-03 10"]);
    charger = await addCharger();
    await name(charger, { evses: [1, 2, 3].map((n) => ({ evse_uid: `${charger}-${n}` })) });
    expect((await flagsOf(...twelve.map((each) => ({ ...each, charger_id: charger })))).flat()).toHaveLength(9);
  });

  test("who came later has the socket of one that is taken back, and its successors in turn", async () => {
    const [one] = await deliver(evse(1), evse(2));
    expect(await flagsOf(evse(3))).toEqual([["beyond_capacity"]]);
    await acting("select private.withdraw_charging_sessions(array[$1::uuid], '{}', '\\xab', null)", one?.session_id);
    expect(await flagsOf(evse(3))).toEqual([[]]);
    // told again it has its place again
    expect(await flagsOf(evse(1, { wh: 4000 }))).toEqual([[]]);
    expect(await flagsOf(evse(3))).toEqual([["beyond_capacity"]]);
    expect(await totals()).toEqual(["2026-03 9"]);
  });

  test("one after the other at two sockets are as many as they like, though they overlap a third in turn", async () => {
    const at = (from: number, to: number) => ({
      started_at: `2026-03-10T${from}:00:00Z`,
      ended_at: `2026-03-10T${to}:00:00Z`,
    });
    const long = evse(1, at(10, 20));
    expect(await flagsOf(long, evse(2, at(10, 12)), evse(3, at(12, 14)), evse(4, at(14, 16)))).toEqual([
      [],
      [],
      [],
      [],
    ]);
  });

  test("attack: a month of a connection above 1,000,000 kWh flags what exceeds it, and stops nobody", async () => {
    await world.row("update core.chargers set power_kw = 1000 where id = $1", charger);
    const march = { started_at: "2026-03-01T00:00:00Z", ended_at: "2026-03-31T00:00:00Z", wh: 700_000_000 };
    const [first, second, small] = await deliver(
      evse(1, march),
      evse(2, { ...march, external_id: "e2", wh: 600_000_000 }),
      session({ external_id: "april", started_at: "2026-04-02T10:00:00Z", ended_at: "2026-04-02T11:00:00Z" }),
    );
    expect([first?.flags, second?.flags, small?.flags]).toEqual([[], ["beyond_capacity"], []]);
    expect(await totals()).toEqual(["2026-03 700000", "2026-04 5"]);
    expect(
      await rows("select wh::text from core.charger_months where charger_id = $1 order by month", charger),
    ).toEqual([{ wh: "700000000" }, { wh: "5000" }]);
  });

  test("attack: sessions without a duration take the time that their energy needs, of one moment and of one after the other", async () => {
    const moment = (n: number, fields: object = {}) => {
      const at = new Date(Date.UTC(2026, 2, 10, 18) + n * 1000).toISOString().replace(".000", "");
      return session({
        external_id: `m${n}-${JSON.stringify(fields).length}`,
        started_at: at,
        ended_at: at,
        wh: 180,
        ...fields,
      });
    };
    await deliver(...Array.from({ length: 200 }, (_, n) => moment(0, { external_id: `same${n}` })));
    await deliver(...Array.from({ length: 200 }, (_, n) => moment(n + 1)));
    expect(await totals()).toEqual(["2026-03 0.18"]);
    // by OCPP only an end is known: it drew its energy in the hours before, and those are used once
    charger = await addCharger();
    const ends = Array.from({ length: 20 }, (_, n) => moment(n, { source: "ocpp", external_id: `o${n}`, wh: 250_000 }));
    const before = session({ started_at: "2026-03-10T10:00:00Z", ended_at: "2026-03-10T17:00:00Z", wh: 50_000 });
    await deliver(...ends.map((each) => ({ ...each, charger_id: charger })));
    await deliver({ ...before, charger_id: charger });
    expect(await rows("select wh::text from core.charger_months where charger_id = $1", charger)).toEqual([
      { wh: "250000" },
    ]);
  });

  test("what is told of long before we knew the charger has a wrong clock", async () => {
    const early = { started_at: "2025-12-01T10:00:00Z", ended_at: "2025-12-01T11:00:00Z" };
    expect(await flagsOf(session(early))).toEqual([["wrong_clock"]]);
  });
});

describe("§1 names of chargers", () => {
  test("each kind means the charger and its EVSE, however it is written", async () => {
    await name(charger, {
      external_ref: "Paal 7",
      evses: [{}, { evse_uid: "uid-2", evse_id: "NL*TNM*E77*2", meter_id: "m2" }],
    });
    const by = async (names: object) => {
      const [result] = await deliver({
        ...session({ external_id: JSON.stringify(names) }),
        charger_id: undefined,
        ...names,
      });
      const [{ connector }] = await rows(
        "select connector from core.charging_sessions where id = $1",
        result?.session_id,
      );
      return connector;
    };
    expect(await by({ external_ref: " paal 7 " })).toBe(1);
    expect(await by({ external_ref: "PAAL 7", evse_no: 3 })).toBe(3);
    expect(await by({ evse_uid: "UID-2" })).toBe(2);
    expect(await by({ evse_id: "nltnme772" })).toBe(2);
    expect(await by({ meter_id: "M2" })).toBe(2);
    expect(await by({ serial_number: `s${count}` })).toBe(1);
    // one that nobody knows does not matter beside one that is known
    expect(await by({ external_ref: "paal 7", meter_id: "other" })).toBe(1);
  });

  test("a name of another charger is taken, and nothing changes; the same again is none", async () => {
    const other = await addCharger();
    await name(charger, { external_ref: "one", evses: [{ evse_uid: "u1" }] });
    await name(charger, { external_ref: "one", evses: [{ evse_uid: "u1" }] });
    await expect(name(other, { external_ref: "two", evses: [{ evse_uid: "U1" }] })).rejects.toMatchObject({
      message: "name_taken",
      detail: '{"kind" : "evse_uid"}',
    });
    expect(await rows("select from core.charger_names where charger_id = $1", other)).toEqual([]);
    // an empty list clears, what is left out stays
    await name(charger, { evses: [] });
    expect(
      await rows(
        "select kind, value, until is not null as ended from core.charger_names where charger_id = $1 order by kind desc",
        charger,
      ),
    ).toEqual([{ kind: "external_ref", value: "ONE", ended: false }]);
    await name(other, { external_ref: "two", evses: [{ evse_uid: "u1" }] });
    await name(charger, { external_ref: null });
    await name(other, { external_ref: "one" });
  });

  test("ten chargers at once want one name: one gets it", async () => {
    const chargers = [charger, await addCharger(), await addCharger()];
    const tries = await Promise.allSettled(chargers.map((each) => name(each, { external_ref: "wanted" })));
    expect(tries.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  });

  test("names that mean two chargers are refused; a party's own name, however it is written, comes before one for all", async () => {
    const other = await addCharger();
    await name(charger, { external_ref: "x1", evses: [{ evse_uid: "same", party: "NL-AAA" }] });
    await name(other, { external_ref: "x2", evses: [{ evse_uid: "same", party: "nlbbb" }] });
    const bare = { ...session(), charger_id: undefined };
    expect(await deliver({ ...bare, external_ref: "x1", evse_uid: "same", party: "NL-BBB" })).toMatchObject([
      { status: "rejected", reason: "ambiguous_charger" },
    ]);
    await deliver({ ...bare, evse_uid: "same", party: "NL-BBB" });
    expect(await rows("select from core.charging_sessions where charger_id = $1", other)).toHaveLength(1);
    expect(await deliver({ ...bare, evse_uid: "same", external_id: "s9" })).toMatchObject([{ status: "parked" }]);
  });

  test("attack: a party's own name does not mean what another charger has by the name of all, nor the other way round", async () => {
    const other = await addCharger();
    const told = { ...session(), charger_id: undefined, party: "NL-AAA" };
    const give = (id: string, party: string | undefined, uid: string, since: string) =>
      acting(
        "select private.name_charger(h, $2, $3) from core.chargers h where id = $1",
        id,
        { evses: [{ evse_uid: uid, party }] },
        since,
      );
    await give(charger, undefined, "all", "2027-01-01Z");
    expect(await deliver({ ...told, evse_uid: "all" })).toMatchObject([{ status: "created" }]);
    await expect(give(other, "NL-AAA", "all", "2026-03-01Z")).rejects.toMatchObject({ message: "name_in_use" });
    await give(other, "NL-AAA", "all", "2027-01-15Z");
    expect(await deliver({ ...told, evse_uid: "all" })).toMatchObject([{ status: "unchanged" }]);
    const later = { started_at: "2027-01-20T18:00:00Z", ended_at: "2027-01-20T19:00:00Z", external_id: "later" };
    await deliver({ ...told, ...later, evse_uid: "all" });
    expect(await rows("select external_id from core.charging_sessions where charger_id = $1", other)).toEqual([
      { external_id: "later" },
    ]);

    await give(charger, "NL-AAA", "one", "2027-01-01Z");
    const eleventh = { external_id: "s11", started_at: "2026-03-11T18:00:00Z", ended_at: "2026-03-11T19:00:00Z" };
    expect(await deliver({ ...told, ...eleventh, evse_uid: "one" })).toMatchObject([{ status: "created" }]);
    const third = await addCharger();
    await expect(give(third, undefined, "one", "2026-03-01Z")).rejects.toMatchObject({ message: "name_in_use" });
    await give(third, undefined, "one", "2027-01-15Z");
    expect(await deliver({ ...told, ...eleventh, evse_uid: "one" })).toMatchObject([{ status: "unchanged" }]);
  });

  test("of a removed charger they mean what began before; then they are free for another", async () => {
    await name(charger, { external_ref: "moved" });
    await world.row(
      "update core.chargers set status = 'removed', removed_at = '2026-06-01T00:00:00Z' where id = $1",
      charger,
    );
    await world.row(
      "update core.charger_names set since = '2026-01-01Z', until = '2026-06-01Z' where charger_id = $1",
      charger,
    );
    const bare = { ...session(), charger_id: undefined, external_ref: "moved" };
    const later = { started_at: "2026-07-01T10:00:00Z", ended_at: "2026-07-01T11:00:00Z", external_id: "late" };
    expect(await deliver(bare, { ...bare, ...later })).toMatchObject([
      { status: "created" },
      { status: "parked", reason: "charger_removed" },
    ]);
    const next = await addCharger();
    const [given] = await acting<{ told: string[] }>(
      "select private.name_charger(h, '{\"external_ref\": \"moved\"}', '2026-06-15Z') as told from core.chargers h where id = $1",
      next,
    );
    await acting("select private.store_parked($1, $2)", owner, given?.told);
    expect(await deliver(bare)).toMatchObject([{ status: "unchanged" }]);
    expect(await rows("select external_id from core.charging_sessions where charger_id = $1", next)).toEqual([
      { external_id: "late" },
    ]);
  });

  test("another client's name or charger is nobody's", async () => {
    const b = await createAccount(world, world.partnerB);
    const { body } = await world.post(
      "/v1/chargers",
      { account_id: b.account_id, ...MID_CHARGER, serial_number: "B1" },
      await world.partnerB.client.token(),
    );
    const bare = { ...session(), charger_id: undefined };
    expect(
      await deliver({ ...bare, charger_id: body.charger_id }, { ...bare, external_id: "b", serial_number: "B1" }),
    ).toMatchObject([
      { status: "rejected", reason: "unknown_charger" },
      { status: "parked", reason: "unknown_charger" },
    ]);
  });
});

describe("§1 a session whose charger nobody knows", () => {
  // a name that meant a charger once means it for what began before, so each test has its own
  const later = () => `later ${count}`;
  const parked = () =>
    rows(
      "select * from core.parked_charging where owner_id = $1 and $2 = any (names)",
      owner,
      `external_ref:LATER ${count}`,
    );
  const unknown = (fields: object = {}) => ({ ...session(), charger_id: undefined, external_ref: later(), ...fields });

  test("is parked once, told of once, and stored with its evidence when the name appears", async () => {
    const told = () =>
      rows(
        "select data from core.events where type = 'charging.parked' and data ->> 'names' like '%LATER ' || $1 || '\"%'",
        count,
      );
    expect(
      await deliver(
        unknown(),
        unknown({ external_id: "s2", started_at: "2026-03-11T18:00:00Z", ended_at: "2026-03-11T19:00:00Z" }),
      ),
    ).toMatchObject([{ status: "parked", reason: "unknown_charger" }, { status: "parked" }]);
    await deliver(unknown({ wh: 6000, document: { kwh: 6 } }));
    expect(await parked()).toHaveLength(2);
    expect((await told()).map(({ data }) => data)).toEqual([
      { names: [{ kind: "external_ref", value: `LATER ${count}` }], name_count: 1 },
    ]);
    const [given] = await name(charger, { external_ref: later() });
    const freed = () => acting<{ n: number }>("select private.store_parked($1, $2) as n", owner, given?.told);
    expect(await freed()).toEqual([{ n: 2 }]);
    expect(await freed()).toEqual([{ n: 0 }]);
    expect(await parked()).toEqual([]);
    expect(await totals()).toEqual(["2026-03 11"]);
    expect(await evidence()).toMatchObject([
      { document: { kwh: 6 }, client_id: owner, request_id: "r1" },
      { document: { kwh: 5 } },
    ]);
  });

  test("stored under its id by another name, it is parked no more", async () => {
    await deliver(unknown());
    await deliver(session());
    expect(await parked()).toEqual([]);
  });

  test("what was told of it since by the charger's id stands", async () => {
    await deliver(unknown());
    await world.row("update core.parked_charging set received_at = received_at - interval '1 hour'");
    const corrected = { started_at: "2026-03-10T18:30:00Z", wh: 2000 };
    await deliver(session(corrected));
    const [given] = await name(charger, { external_ref: later() });
    await acting("select private.store_parked($1, $2)", owner, given?.told);
    expect(await parked()).toEqual([]);
    expect(await totals()).toEqual(["2026-03 2"]);
  });

  test("attack: of 1,002 with one name a thousand are stored when it is given, and the last ones by the worker", async () => {
    const [one] = [unknown({ source: "file", external_id: null, external_ref: undefined })];
    await rows(
      `insert into core.parked_charging (partner_id, owner_id, source, known_as, external_id, names, item, reason)
       select $1, $2, 'api', 'many-' || n, 'many-' || n, '{external_ref:MANY}',
              $3::jsonb || jsonb_build_object('source', 'api', 'external_id', 'many-' || n,
                'started_at', timestamptz '2026-02-01Z' + n * interval '20 minutes',
                'ended_at', timestamptz '2026-02-01Z' + n * interval '20 minutes' + interval '10 minutes'), 'unknown_charger'
         from generate_series(1, 1002) n`,
      world.partnerA.id,
      owner,
      { ...one, external_ref: "MANY" },
    );
    const many = async () =>
      (await rows("select count(*)::int as n from core.parked_charging where 'external_ref:MANY' = any (names)"))[0].n;
    const [given] = await name(charger, { external_ref: "many" });
    expect(await acting("select private.store_parked($1, $2) as answer", owner, given?.told)).toEqual([
      { answer: 1000 },
    ]);
    expect(await many()).toBe(2);
    // as if it were one of more than 10,000
    await rows("update core.parked_charging set retry_at = null where external_id = 'many-1002'");
    expect(await runDueJobs(world)).toMatchObject({ parked_stored: 2 });
    expect(await many()).toBe(0);
    await rows("update core.charging_sessions set flags = '{withdrawn}' where external_id like 'many-%'");
  });

  test("attack: of 1,002 with one name, one that is stored and one that still waits are told again: each counts once, as told last", async () => {
    const minute = (n: number) => new Date(Date.UTC(2026, 1, 1) + n * 60_000).toISOString();
    const each = (n: number, fields: object = {}) =>
      unknown({
        ...{ external_id: `told-${n}`, external_ref: "TOLD" },
        ...{ started_at: minute(n * 20), ended_at: minute(n * 20 + 10), wh: 1000, ...fields },
      });
    const all = Array.from({ length: 1002 }, (_, n) => each(n));
    expect((await deliver(...all)).every(({ status }) => status === "parked")).toBe(true);
    const [given] = await name(charger, { external_ref: "told" });
    expect(await acting("select private.store_parked($1, $2) as answer", owner, given?.told)).toEqual([
      { answer: 1000 },
    ]);
    const [last] = await rows("select external_id from core.parked_charging where 'external_ref:TOLD' = any (names)");
    const waits = Number(last.external_id.slice(5));
    expect(await deliver(each(waits, { wh: 1500 }), each(0, { wh: 1500 }))).toMatchObject([
      { status: "created" },
      { status: "updated" },
    ]);
    expect(await runDueJobs(world)).toMatchObject({ parked_stored: 1 });
    expect(await rows("select from core.parked_charging where 'external_ref:TOLD' = any (names)")).toHaveLength(0);
    expect(
      await rows(
        "select sum(sessions)::int as sessions, sum(wh)::int as wh from core.charger_months where charger_id = $1",
        charger,
      ),
    ).toEqual([{ sessions: 1002, wh: 1_003_000 }]);
  });

  test("attack: a thousand that cannot be stored keep no later one of their name from being stored", async () => {
    await rows(
      `insert into core.parked_charging (partner_id, owner_id, source, known_as, external_id, names, item, reason, received_at, retry_at)
       select $1, $2, 'api', 'behind-' || n, 'behind-' || n, '{external_ref:BEHIND}',
              $3::jsonb || jsonb_build_object('external_id', 'behind-' || n,
                'started_at', timestamptz '2026-02-01Z' + n * interval '20 minutes',
                'ended_at', timestamptz '2026-02-01Z' + n * interval '20 minutes' + interval '10 minutes'),
              case when n between 2 and 1001 then 'no_times' else 'unknown_charger' end,
              private.now() - (2000 - n) * interval '1 second', case n when 1 then private.now() end
         from generate_series(1, 1002) n`,
      world.partnerA.id,
      owner,
      { ...unknown({ external_ref: "BEHIND" }) },
    );
    await name(charger, { external_ref: "behind" });
    for (let turn = 0; turn < 4; turn += 1) await runDueJobs(world);
    expect(
      await rows(
        "select count(*)::int as n, bool_and(reason = 'no_times') as all from core.parked_charging where 'external_ref:BEHIND' = any (names)",
      ),
    ).toEqual([{ n: 1000, all: true }]);
    await rows("delete from core.parked_charging where 'external_ref:BEHIND' = any (names)");
  });

  test("without an id it is known by its names, EVSE and start", async () => {
    const row = unknown({ source: "file", external_id: null });
    await deliver(row);
    await deliver({ ...row, wh: 4000, document: { kwh: 4 } });
    expect(await parked()).toHaveLength(1);
    await name(charger, { external_ref: later() });
    expect(await deliver({ ...row, wh: 4500, document: { kwh: 4.5 } })).toMatchObject([{ status: "created" }]);
    // the worker, which looks once more where a name was given at the same moment
    await world.row("update core.parked_charging set retry_at = private.now()");
    await acting(
      "select private.act_as('{\"kind\": \"worker\"}', 'worker'), private.retry_due_parked($1, $2)",
      world.partnerA.id,
      owner,
    );
    expect(await parked()).toEqual([]);
    expect(await rows("select external_id, source from core.charging_sessions where charger_id = $1", charger)).toEqual(
      [{ external_id: "1@2026-03-10T18:00:00Z", source: "file" }],
    );
  });
});

describe("§1 what is kept of a source has a quota a day", () => {
  const MIB = 1_048_576;
  const limit = (kind: string, bytes: number) =>
    rows("update core.evidence_limits set bytes_a_day = $2 where kind = $1", kind, bytes);
  const told = async () =>
    (
      await rows(
        "select data from core.events where type = 'charging.evidence_over_quota' and owner_id = $1 order by arrival",
        owner,
      )
    ).map(({ data }) => data);
  const documents = async () => (await evidence()).map(({ document }) => (document === null ? null : document.id));
  /** A session of its own hour whose document has this many bytes more. */
  const hour = (n: number, size: number, fields: object = {}) =>
    session({
      external_id: `q${n}`,
      started_at: `2026-03-${10 + Math.floor(n / 24)}T${String(n % 24).padStart(2, "0")}:00:00Z`,
      ended_at: `2026-03-${10 + Math.floor(n / 24)}T${String(n % 24).padStart(2, "0")}:30:00Z`,
      document: { id: n, text: "x".repeat(size) },
      ...fields,
    });
  beforeEach(async () => {
    await rows("delete from core.kept_evidence");
    await rows("delete from core.events where type = 'charging.evidence_over_quota'");
    await limit("client", 10_000);
  });
  afterAll(async () => {
    await limit("client", 64 * MIB);
    await world.freeze("2027-02-01T12:00:00Z");
  });

  test("a client over it stores sessions, of whose words only the hash is kept; the next day is another", async () => {
    await deliver(hour(1, 6000, { signed: ["OCMF|a"] }));
    const results = await deliver(hour(2, 6000, { signed: ["OCMF|b"] }), hour(3, 10));
    expect(results).toMatchObject([{ status: "created" }, { status: "created" }]);
    expect(await evidence()).toMatchObject([
      { document: { id: 1 }, signed: ["OCMF|a"], signature: "unchecked" },
      {
        document: null,
        signed: [],
        signature: null,
        document_sha256: expect.any(Buffer),
        sent_sha256: expect.any(Buffer),
      },
      { document: null },
    ]);
    expect(await totals()).toEqual(["2026-03 15"]);
    // a repeat tells nothing new
    expect(await deliver(hour(2, 6000))).toMatchObject([{ status: "unchanged" }]);
    const { tellings } = await world.row(
      "select ops.charging_show(jsonb_build_object('session', $1::text)) -> 'session' as shown, ops.charging_show(jsonb_build_object('session', $1::text)) -> 'session' -> 'tellings' as tellings",
      results[0]?.session_id,
    );
    expect(tellings).toMatchObject([{ document: null, evidence_over_quota: true }]);
    await world.freeze("2027-02-01T22:59:00Z");
    await deliver(hour(4, 10));
    await world.freeze("2027-02-01T23:01:00Z");
    await deliver(hour(5, 6000));
    await world.freeze("2027-02-01T12:00:00Z");
    expect(await documents()).toEqual([1, null, null, null, 5]);
  });

  test("in one request the first ones are kept", async () => {
    await deliver(hour(1, 4000), hour(2, 4000), hour(3, 4000));
    expect(await documents()).toEqual([1, 2, null]);
  });

  test("the client's log says so once a day, with the limit; the metric counts the source", async () => {
    await deliver(hour(1, 6000));
    expect(await told()).toEqual([]);
    await Promise.all([2, 3, 4, 5].map((n) => deliver(hour(n, 6000))));
    await deliver(hour(6, 6000));
    expect(await told()).toEqual([{ charger_id: null, bytes_a_day: 10_000 }]);
    expect(
      await rows(
        "select label, value::int from private.metrics() where name = 'charging_evidence_over_quota' order by label",
      ),
    ).toEqual([
      { label: "charger", value: 0 },
      { label: "client", value: 1 },
    ]);
    await world.freeze("2027-02-02T12:00:00Z");
    await deliver(hour(7, 11_000));
    await world.freeze("2027-02-01T12:00:00Z");
    expect(await told()).toHaveLength(2);
  });

  test("of ten requests at once each is counted", async () => {
    await limit("client", MIB);
    await Promise.all(Array.from({ length: 10 }, (_, n) => deliver(hour(n, 1000))));
    const [{ bytes }] = await rows("select bytes::int from core.kept_evidence where source_id = $1", owner);
    expect(bytes).toBeGreaterThan(10_000);
    expect(bytes).toBeLessThan(11_000);
  });

  test("what is parked keeps its words when it is stored, though the quota is full; over it nothing is parked", async () => {
    const unknown = (n: number, size: number) =>
      hour(n, size, { charger_id: undefined, external_ref: `quota ${count}` });
    const kept = async () =>
      Number((await rows("select bytes from core.kept_evidence where source_id = $1", owner))[0].bytes);
    expect(await deliver(unknown(1, 6000))).toMatchObject([{ status: "parked" }]);
    const once = await kept();
    expect(once).toBeGreaterThan(6000);
    // the same again replaces it
    await deliver(unknown(1, 6000));
    expect(await kept()).toBe(once);
    await expect(deliver(hour(2, 10), unknown(3, 6000))).rejects.toMatchObject({ message: "parked_limit" });
    expect(await evidence()).toEqual([]);
    await deliver(hour(2, 6000));
    const full = await kept();
    const [given] = await name(charger, { external_ref: `quota ${count}` });
    expect(await acting("select private.store_parked($1, $2) as answer", owner, given?.told)).toEqual([{ answer: 1 }]);
    expect(await documents()).toEqual([null, 1]);
    expect(await kept()).toBe(full);
  });

  test("attack: a client that corrects a session over and over fills its quota with what was corrected", async () => {
    for (let wh = 1000; wh < 1040; wh += 1) await deliver(hour(1, 10, { wh }));
    const [{ replaced }] = await rows(
      "select sum(octet_length(r::text))::int as replaced from core.replaced_charging_sessions r where charger_id = $1",
      charger,
    );
    expect(replaced).toBeGreaterThan(8000);
    expect((await documents()).slice(-5)).toEqual([null, null, null, null, null]);
    expect(await told()).toEqual([{ charger_id: null, bytes_a_day: 10_000 }]);
    expect(await totals()).toEqual(["2026-03 1.039"]);
  });

  test("attack: taking sessions back and telling them again fills the quota too", async () => {
    const [first] = await deliver(hour(1, 10));
    for (let turn = 0; turn < 25; turn += 1) {
      await acting(
        "select private.withdraw_charging_sessions(array[$1::uuid], '{}', '\\xab', null)",
        first?.session_id,
      );
      await deliver(hour(1, 10));
    }
    expect(await told()).toEqual([{ charger_id: null, bytes_a_day: 10_000 }]);
    expect((await documents()).at(-1)).toBeNull();
    expect(await totals()).toEqual(["2026-03 5"]);
  });

  test("attack: the results of files are in the quota; over it a file is stored, and its results are answered once", async () => {
    type Stored = { answer: { upload_id: string } };
    const send = async (n: number) => {
      const file = { upload_id: randomUUID(), kind: "sessions", sha256: `0${n}`, said: {}, file_name: "f", rows: 1 };
      const columns = [{ header: "x".repeat(4000), field: null }];
      const statuses = ["created", "updated", "unchanged", "invalid"];
      const items = [hour(n, 10, { place: 1 })];
      const input = { ...file, columns, read: {}, rejected: [], dry_run: false, items, statuses };
      const [stored] = await acting<Stored>("select private.store_upload($1) as answer", JSON.stringify(input));
      return (stored as Stored).answer;
    };
    await send(1);
    await send(2);
    const over = await send(3);
    expect(over).toMatchObject({ evidence_over_quota: true, counts: { created: 1 }, results: [{ status: "created" }] });
    const [kept] = await rows("select * from core.uploads where id = $1", over.upload_id);
    expect(kept).toMatchObject({ rows: 1, counts: { created: 1 }, results: [], columns: [] });
    expect(await told()).toEqual([{ charger_id: null, bytes_a_day: 10_000 }]);
    // nothing of it can be answered again, so it is stored again, and changes nothing
    expect(await send(3)).toMatchObject({ results: [{ status: "unchanged" }] });
    expect(await totals()).toEqual(["2026-03 15"]);
  });

  test("attack: a charger that tells more than 4 MiB in a day keeps the hash only, and its client's other words stay", async () => {
    const tell = (n: number) =>
      acting("select * from private.store_sessions($1)", JSON.stringify([hour(n, 3 * MIB, { source: "ocpp" })]));
    await tell(1);
    await tell(2);
    expect(await documents()).toEqual([1, null]);
    expect(await told()).toEqual([{ charger_id: charger, bytes_a_day: 4 * MIB }]);
    await deliver(hour(3, 10));
    await world.freeze("2027-02-02T12:00:00Z");
    await tell(4);
    await world.freeze("2027-02-01T12:00:00Z");
    expect(await documents()).toEqual([1, null, 3, 4]);
  });
});

describe("§1 taken back after its month was booked", () => {
  const lock = (until = "2027-01-01") =>
    world.row(
      "update core.delivered_months set status = 'submitted' where connection_id = $1 and period < $2",
      account.connection_id,
      until,
    );
  const open = async () => {
    await world.row(
      "update core.delivered_months set status = 'staged' where connection_id = $1",
      account.connection_id,
    );
    await world.row(
      `select private.set_tenant(partner_id), private.release_charging_sessions(array[id], array['2026-03-01'::date])
         from core.connections where id = $1`,
      account.connection_id,
    );
  };
  const flagsOf = async (id = "s1") =>
    (await rows("select flags from core.charging_sessions where charger_id = $1 and external_id = $2", charger, id))[0]
      .flags;
  const withdraw = (id?: string) =>
    acting("select private.withdraw_charging_sessions(array[$1::uuid], '{}', '\\xab', null)", id);
  const late = { external_id: "late", started_at: "2026-03-12T18:00:00Z", ended_at: "2026-03-12T19:00:00Z" };
  const night = (fields: object = {}) =>
    session({ connector: 1, started_at: "2026-03-31T20:00:00Z", ended_at: "2026-04-01T02:00:00Z", ...fields });

  test("the booked month stays, and the session says so; one that was never booked does not", async () => {
    await signMandate(world, account.account_id);
    const [booked] = await deliver(session());
    await lock();
    const [after] = await deliver(session(late));
    expect(after?.flags).toEqual(["after_lock"]);
    await withdraw(booked?.session_id);
    await withdraw(after?.session_id);
    expect(await flagsOf()).toEqual(["withdrawn", "after_lock"]);
    expect(await flagsOf("late")).toEqual(["withdrawn"]);
    expect(await totals()).toEqual(["2026-03 5"]);
  });

  test.each([
    ["withdrawn", (id?: string) => withdraw(id)],
    ["corrected to a minute", () => deliver(night({ ended_at: "2026-03-31T20:01:00Z", wh: 100 }))],
    ["corrected to another EVSE", () => deliver(night({ connector: 2 }))],
    ["told with readings that disagree", () => deliver(night({ meter_start_wh: 1000, meter_end_wh: 200_000 }))],
  ])(
    "attack: booked, %s, and told again by another id in the next month, a charge counts there once its month opens",
    async (_what, change) => {
      await signMandate(world, account.account_id);
      const [booked] = await deliver(night());
      await lock();
      await change(booked?.session_id);
      const again = { external_id: "again", started_at: "2026-03-31T22:00:01Z" };
      expect(await deliver(night(again))).toMatchObject([{ flags: ["overlapping"] }]);
      expect(await deliver(night({ ...again, external_id: "2", connector: 3 }))).toMatchObject([{ flags: [] }]);
      await open();
      expect(await flagsOf("again")).toEqual([]);
    },
  );

  test("attack: however often it was corrected before, a session is judged once when its month opens", async () => {
    await signMandate(world, account.account_id);
    for (const wh of [5000, 5001, 5002, 5003]) await deliver(night({ wh }));
    await lock();
    await deliver(night({ wh: 5004 }));
    const changes = () => rows("select from core.charging_changes where charger_id = $1", charger);
    const before = (await changes()).length;
    await open();
    expect(await flagsOf()).toEqual([]);
    expect((await changes()).length - before).toBe(1);
  });

  test("what was taken back before its month was booked is not booked, though it comes again at another time", async () => {
    await signMandate(world, account.account_id);
    const [first] = await deliver(night());
    await withdraw(first?.session_id);
    await deliver(session({ external_id: "other" }));
    await lock("2026-04-01");
    await deliver(night({ started_at: "2026-03-31T12:00:00Z", ended_at: "2026-03-31T13:00:00Z" }));
    const april = night({ external_id: "april", started_at: "2026-03-31T22:00:01Z" });
    expect(await deliver(april)).toMatchObject([{ flags: [] }]);
  });

  test("two EVSEs that a file names by words are two, also where one is booked and was taken back", async () => {
    await signMandate(world, account.account_id);
    const word = (evse_no: number, fields: object = {}) =>
      night({ connector: undefined, evse_no, evse_assumed: true, ...fields });
    const [booked] = await deliver(word(50));
    await lock();
    await withdraw(booked?.session_id);
    const april = { started_at: "2026-03-31T22:00:01Z" };
    const told = [word(61, { ...april, external_id: "61" }), word(50, { ...april, external_id: "50" })];
    expect(await deliver(...told)).toMatchObject([{ flags: [] }, { flags: ["overlapping"] }]);
  });

  test("attack: who was taken back and comes again counts in no month beside what is booked and got readings since", async () => {
    await signMandate(world, account.account_id);
    const april = night({ external_id: "april", started_at: "2026-03-31T22:00:01Z" });
    const [first] = await deliver(april);
    await deliver(night());
    await withdraw(first?.session_id);
    await lock("2026-04-01");
    await deliver(night({ meter_start_wh: 1000, meter_end_wh: 6000 }));
    expect(await deliver(april)).toMatchObject([{ flags: ["overlapping"] }]);
    expect(await totals()).toEqual(["2026-03 5", "2026-04 0"]);
  });
});

test("§1 each change of a session, or of its flags, is one row for the client's cursor, numbered once committed", async () => {
  const changes = () =>
    rows("select position from core.charging_changes where charger_id = $1 order by arrival", charger);
  await deliver(session());
  await deliver(session());
  await deliver(session({ external_id: "s2", wh: 4000 }));
  await deliver(session({ ended_at: "2026-03-10T18:00:00Z", wh: 0 }));
  expect(await changes()).toEqual(Array(4).fill({ position: null }));
  await acting("select private.sequence_charging(private.partner_id(), private.client_id())");
  const numbers = (await changes()).map(({ position }) => Number(position));
  expect(numbers.map((each) => each - (numbers[0] ?? 0))).toEqual([0, 1, 2, 3]);
  await world.row(
    "update core.charging_changes set at = private.now() - interval '91 days' where charger_id = $1",
    charger,
  );
  await rows("select private.sweep_charging_changes()");
  expect(await changes()).toEqual([]);
  const [{ swept }] = await rows("select swept::int from core.charging_heads where owner_id = $1", owner);
  expect(swept).toBe(numbers[3]);
});
