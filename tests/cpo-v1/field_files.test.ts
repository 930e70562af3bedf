// Files of the field, delivered and stored: what the answer says of them, and ids that come again (design: field, A).

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { MID_CHARGER } from "../harness/chargers.ts";
import { createAccount } from "../harness/people.ts";
import { createWorld, type World } from "../harness/world.ts";

let world: World;
let token: string;
let account: { account_id: string; connection_id: string };
let paal: string;
let charger_id: string;
let count = 0;
beforeAll(async () => {
  world = await createWorld({ now: "2027-02-01T12:00:00Z", limits: "lifted" });
  token = await world.partnerA.client.token();
});
afterAll(() => world.close());
beforeEach(async () => {
  account = await createAccount(world);
  paal = `PAAL-${++count}`;
  charger_id = await register(paal);
});

async function register(external_ref: string): Promise<string> {
  const evses = [1, 2].map((evse) => ({ evse_id: `NL*TNM*E${external_ref.replace(/\W/g, "")}*${evse}` }));
  const serial_number = `FIELD${external_ref}`;
  const body = { account_id: account.account_id, ...MID_CHARGER, serial_number, external_ref, power_kw: 22, evses };
  const answer = await world.post("/v1/chargers", body, token);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body.charger_id;
}
const upload = (lines: string[], query = "") =>
  world.send(`/v1/uploads${query}`, { method: "POST", token, raw: lines.join("\n") });
async function uploaded(lines: string[], query = "") {
  const answer = await upload(lines, query);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body;
}
async function deliver(...sessions: object[]) {
  const sent = sessions.map((session) => ({ external_ref: paal, kwh: 5, ...session }));
  const answer = await world.post("/v1/charging-sessions", { sessions: sent }, token);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body.results;
}
/** The sessions of the charger that count, as month, kWh and the client's id. */
async function counted(): Promise<string[]> {
  const { rows } = await world.database.admin.query(
    "select concat_ws(' ', to_char(month, 'YYYY-MM'), wh / 1000.0::float8, source, connector) as row from core.charging_sessions where charger_id = $1 and counted order by started_at, connector",
    [charger_id],
  );
  return rows.map(({ row }) => row);
}
const at = (month: string, hour = 18) => ({
  started_at: `2026-${month}-10T${hour}:00:00Z`,
  ended_at: `2026-${month}-10T${hour}:59:00Z`,
});

test("§4.1 the answer says what was read, and keeps it", async () => {
  const file = [
    "Laadsessies;;",
    "Sessie;Laadpaal;Start;Eind;Totaal;Energie (kWh);Land",
    `S-1;${paal};31-03-2026 18:00;31-03-2026 20:10;6,45;18,42;Nederland`,
    `S-2;${paal};01-04-2026 18:00;01-04-2026 20:10;2,98;8,5;Mars`,
    ";;;Totaal;9,43;26,92;",
  ];
  const dry = await uploaded(file, "?dry_run=true");
  const answer = await uploaded(file);
  const said = {
    sheet: null,
    header_row: 2,
    read_as: {
      session_id: "Sessie",
      external_ref: "Laadpaal",
      started_at: "Start",
      ended_at: "Eind",
      kwh: "Energie (kWh)",
      country: "Land",
    },
    sums: {
      kwh: 26.92,
      sessions: 2,
      first_day: "2026-03-31",
      last_day: "2026-04-01",
      first_date: "31 March 2026",
      months: [
        { period: "2026-03", kwh: 18.42, sessions: 1 },
        { period: "2026-04", kwh: 8.5, sessions: 1 },
      ],
    },
    ids_ignored: false,
    counts: { created: 2, updated: 0, unchanged: 0, superseded: 0, parked: 0, summary: 1, invalid: 0 },
    results: [
      { row: 1, sheet_row: 3, status: "created" },
      { row: 2, sheet_row: 4, status: "created", ignored: ["country"] },
      { row: 3, sheet_row: 5, status: "summary" },
    ],
  };
  expect(dry).toMatchObject(said);
  expect(answer).toMatchObject(said);
  expect((await world.get(`/v1/uploads/${answer.upload_id}`, token)).body).toEqual(answer);
  expect(await uploaded(file)).toEqual({ ...answer, idempotent: true });
});

test("§4.1 the same file with another choice is another upload", async () => {
  const file = [
    "Charger,Start,End,Energy (kWh),Delivered (kWh)",
    `${paal},3/4/2026 18:00,3/4/2026 20:00,18.42,20`,
    `${paal},3/5/2026 18:00,3/5/2026 20:00,8.5,9`,
  ];
  expect(await upload(file)).toMatchObject({
    status: 422,
    body: { error: "ambiguous_columns", columns: ["Energy (kWh)", "Delivered (kWh)"] },
  });
  expect(await upload(file, "?columns=4")).toMatchObject({
    status: 422,
    body: {
      error: "ambiguous_dates",
      column: "Start",
      value: "3/4/2026 18:00",
      dmy: "3 April 2026",
      mdy: "4 March 2026",
    },
  });
  expect((await upload(file, "?dates=ymd")).status).toBe(400);
  expect((await uploaded(file, "?columns=4&dates=mdy")).counts).toMatchObject({ created: 2 });
  expect(await uploaded(file, "?columns=4&dates=mdy")).toMatchObject({ idempotent: true });
  expect((await uploaded(file, `?columns=${encodeURIComponent("Delivered (kWh)")}&dates=mdy`)).counts).toMatchObject({
    updated: 2,
  });
  expect(await counted()).toEqual(["2026-03 20 file 1", "2026-03 9 file 1"]);
});

test("§4.1 the sender's own id of a charger waits until a charger has that name", async () => {
  const file = [
    "charger_id,session_id,started_at,ended_at,energy_delivered_kwh",
    `CH_${count},EV_1,2026-03-10T18:00:00Z,2026-03-10T20:10:00Z,18.42`,
  ];
  expect((await uploaded(file)).counts).toMatchObject({ parked: 1 });
  charger_id = await register(`CH_${count}`);
  expect(await counted()).toEqual(["2026-03 18.42 api 1"]);
});

describe("§4.1 an id that comes again", () => {
  const counter = (month: string, one: string, two: string, paaltje = paal) => [
    "sessie;Laadpaal;Start;Eind;kWh",
    `1;${paaltje};10-${month}-2026 18:00;10-${month}-2026 20:10;${one}`,
    `2;${paaltje};11-${month}-2026 18:00;11-${month}-2026 20:10;${two}`,
  ];

  test("in a file it is no id: its rows are known by EVSE and start; each file again changes nothing", async () => {
    const [march, april] = [counter("03", "18,42", "8,5"), counter("04", "10", "11")];
    expect((await uploaded(march)).ids_ignored).toBe(false);
    expect(await uploaded(april, "?dry_run=true")).toMatchObject({ ids_ignored: true, counts: { created: 2 } });
    const stored = await uploaded(april);
    expect(stored).toMatchObject({ ids_ignored: true, counts: { created: 2 } });
    expect((await world.get(`/v1/uploads/${stored.upload_id}`, token)).body).toEqual(stored);
    const all = ["2026-03 18.42 api 1", "2026-03 8.5 api 1", "2026-04 10 file 1", "2026-04 11 file 1"];
    expect(await counted()).toEqual(all);
    expect((await uploaded(march)).counts).toMatchObject({ unchanged: 2 });
    expect((await uploaded(april)).counts).toMatchObject({ unchanged: 2 });
    expect(await counted()).toEqual(all);
    // corrected, with the ids that it had: still the same session; and March, in a file whose ids come again
    expect((await uploaded(counter("04", "12", "11"))).counts).toMatchObject({ updated: 1, unchanged: 1 });
    const mixed = [...counter("03", "19", "8,5"), ...counter("04", "12", "11").slice(1)];
    expect(await uploaded(mixed)).toMatchObject({ ids_ignored: true, counts: { updated: 1, unchanged: 3 } });
    expect(await counted()).toEqual([
      "2026-03 19 api 1",
      "2026-03 8.5 api 1",
      "2026-04 12 file 1",
      "2026-04 11 file 1",
    ]);
  });

  test("a counter of a charger that nobody knows yet loses nothing", async () => {
    const unknown = `${paal}-later`;
    await uploaded(counter("03", "18,42", "8,5", unknown));
    expect(await uploaded(counter("04", "10", "11", unknown))).toMatchObject({
      ids_ignored: true,
      counts: { parked: 2 },
    });
    charger_id = await register(unknown);
    expect(await counted()).toHaveLength(4);
  });

  test("by JSON it is refused, with the start of the charge that has it; two hours later is a correction", async () => {
    await deliver({ session_id: "1", ...at("03") });
    const reused = {
      status: "invalid",
      reason: "session_id_reused",
      stored_started_at: "2026-03-10T18:00:00Z",
      counted: false,
    };
    expect(await deliver({ session_id: "1", ...at("05") })).toEqual([{ session_id: "1", ...reused }]);
    expect(await deliver({ session_id: "1", ...at("03", 20) })).toMatchObject([{ status: "updated" }]);
    // within one call too: the first stands
    const both = await deliver(
      { session_id: "2", ...at("03", 10) },
      { session_id: "2", ...at("05", 10) },
      { session_id: "2", ...at("03", 11) },
    );
    expect(both).toMatchObject([
      { status: "superseded", counted: false },
      { status: "invalid", reason: "session_id_reused", stored_started_at: "2026-03-10T10:00:00Z" },
      { status: "created", counted: true },
    ]);
    expect(await counted()).toEqual(["2026-03 5 api 1", "2026-03 5 api 1"]);
  });

  test("at another EVSE it is another charge, where both name one; what overlaps may be the same", async () => {
    await deliver({ session_id: "1", evse_no: 1, ...at("03") });
    expect(await deliver({ session_id: "1", evse_no: 2, ...at("03") })).toMatchObject([
      { reason: "session_id_reused" },
    ]);
    expect(await deliver({ session_id: "1", ...at("03"), kwh: 6 })).toMatchObject([{ status: "updated" }]);
    const long = { started_at: "2026-03-12T06:00:00Z", ended_at: "2026-03-12T22:00:00Z" };
    await deliver({ session_id: "2", ...long });
    const later = { started_at: "2026-03-12T12:00:00Z", ended_at: "2026-03-12T22:00:00Z" };
    expect(await deliver({ session_id: "2", ...later })).toMatchObject([{ status: "updated" }]);
  });

  test("what was taken back may be told anew; a parked one is not replaced by another charge", async () => {
    const [{ charging_session_id }] = await deliver({ session_id: "1", ...at("03") });
    await world.post("/v1/charging-sessions:withdraw", { session_ids: [charging_session_id] }, token);
    expect(await deliver({ session_id: "1", ...at("05") })).toMatchObject([{ status: "updated", counted: true }]);
    const waits = { session_id: "9", external_ref: `${paal}-waits` };
    await deliver({ ...waits, ...at("03") });
    expect(await deliver({ ...waits, ...at("05") })).toMatchObject([
      { status: "invalid", reason: "session_id_reused", stored_started_at: "2026-03-10T18:00:00Z" },
    ]);
    expect(await deliver({ ...waits, ...at("03", 19) })).toMatchObject([{ status: "parked" }]);
  });

  test("words for nothing are no id", async () => {
    const results = await deliver(
      ...["N/A", "-", "null", "none", "unknown", "0"].map((session_id) => ({ session_id, ...at("03") })),
    );
    expect(results.map(({ status, reason }: { status: string; reason: string }) => `${status} ${reason}`)).toEqual(
      Array(6).fill("invalid no_session_id"),
    );
  });

  test("two rows of one id at two EVSEs are two sessions", async () => {
    const file = [
      "sessie;Laadpaal;EVSE nr;Start;Eind;kWh",
      ...[1, 2].map((evse) => `501;${paal};${evse};10-03-2026 18:00;10-03-2026 20:10;${evse}`),
    ];
    expect(await uploaded(file)).toMatchObject({ ids_ignored: true, counts: { created: 2 } });
    expect(await counted()).toEqual(["2026-03 1 file 1", "2026-03 2 file 2"]);
  });
});

test("§4.1 EVSEs by letters are different EVSEs, the same in every file, unless the charger has these names", async () => {
  const file = (...names: [evse: string, kwh: number][]) => [
    "Laadpaal;EVSE;Start;Eind;kWh",
    ...names.map(([evse, kwh]) => `${paal};${evse};10-03-2026 18:00;10-03-2026 20:10;${kwh}`),
  ];
  expect((await uploaded(file(["B", 1], ["A", 2]))).counts).toMatchObject({ created: 2 });
  const both = ["2026-03 2 file 1", "2026-03 1 file 2"];
  expect(await counted()).toEqual(both);
  // told again in another order, and one alone
  expect((await uploaded(file(["A", 2], ["B", 1]))).counts).toMatchObject({ unchanged: 2 });
  expect((await uploaded(file(["B", 1]))).counts).toMatchObject({ unchanged: 1 });
  expect(await counted()).toEqual(both);
  // its own names
  const own = (evse: number) => `NL*TNM*EPAAL${count}*${evse}`;
  expect((await uploaded(file([own(2), 3], [own(1), 4]))).counts).toMatchObject({ updated: 2 });
  expect(await counted()).toEqual(["2026-03 4 file 1", "2026-03 3 file 2"]);
});

test("§4.1 EVSEs by other words are different EVSEs, the same in every file; what a number tells of one counts once", async () => {
  const at = (word: string, day: number, kwh: number) =>
    `${paal};${word};${day}-03-2026 18:00;${day}-03-2026 20:10;${kwh}`;
  const file = (...rows: string[]) => ["Laadpaal;EVSE;Start;Eind;kWh", ...rows];
  const kwh = async () => (await counted()).map((row) => Number(row.split(" ")[1]));
  // two cars at once
  expect((await uploaded(file(at("voor", 10, 1), at("achter", 10, 2)))).counts).toMatchObject({ created: 2 });
  expect((await kwh()).sort()).toEqual([1, 2]);
  // with another word beside it, which comes between them in the alphabet
  const more = file(at("achter", 10, 2), at("oprit", 11, 4), at("voor", 10, 1));
  expect((await uploaded(more)).counts).toMatchObject({ created: 1, unchanged: 2 });
  expect((await kwh()).sort()).toEqual([1, 2, 4]);
  // alone it may be the kind of plug; and JSON tells the same charge with a number
  const alone = await uploaded(file(at("oprit", 11, 4)));
  expect(alone.results).toMatchObject([{ flags: ["duplicate"], counted: false }]);
  const started_at = "2026-03-11T17:00:00Z";
  const told = { session_id: "J-1", evse_no: 2, started_at, ended_at: "2026-03-11T19:10:00Z", kwh: 4 };
  expect(await deliver(told)).toMatchObject([{ flags: ["duplicate"], counted: false }]);
  expect((await kwh()).sort()).toEqual([1, 2, 4]);
});
