// The session pipeline: one way in, and monthly totals that are always the sum of what counts.

import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { claimKey } from "#shared/domain/claim/links.ts";
import { aboutMail } from "#shared/domain/mail/about.ts";
import { addCharger, ingest, MID_CHARGER, type SessionItem } from "../harness/chargers.ts";
import { giveMandate, signMandate } from "../harness/mandate.ts";

import { createAccount, type User } from "../harness/people.ts";
import { createWorld, type World } from "../harness/world.ts";
import { operatorOf } from "../operator/operator.ts";

let world: World;
let user: User;
let charger: string;
beforeAll(async () => {
  world = await createWorld({ now: "2027-02-01T12:00:00Z" });
});
afterAll(() => world.close());
beforeEach(async () => {
  user = await world.addUser();
  charger = await addCharger(world, user);
});

/** One hour of 5 kWh, unless told. */
const session = (external_id: string, fields: Partial<SessionItem> = {}): SessionItem => ({
  charger_id: charger,
  external_id,
  started_at: "2026-03-10T18:00:00Z",
  ended_at: "2026-03-10T19:00:00Z",
  wh: 5000,
  ...fields,
});

async function rows(statement: string, ...values: unknown[]) {
  return (await world.database.admin.query(statement, values)).rows;
}

/** Wh by month of the charger, as /energy reads them. */
async function months(): Promise<Record<string, number>> {
  const found = await rows(
    "select to_char(month, 'YYYY-MM') as month, wh::int from core.charger_months where charger_id = $1 and sessions > 0 order by month",
    charger,
  );
  return Object.fromEntries(found.map(({ month, wh }) => [month, wh]));
}

/** What counts toward ERE: kWh and status by month of the connection. */
async function delivered(): Promise<Record<string, string>> {
  const found = await rows(
    `select to_char(period, 'YYYY-MM') as month, total_kwh::float8 || ' ' || status as what, session_count
       from core.delivered_months where connection_id = $1 order by period`,
    user.connection_id,
  );
  return Object.fromEntries(found.map(({ month, what, session_count }) => [month, `${what} ${session_count}`]));
}

const stored = (external_id: string) =>
  world.row("select * from core.charging_sessions where charger_id = $1 and external_id = $2", charger, external_id);

const lockMonth = (period: string, status = "registered") =>
  world.row(
    "update core.delivered_months set status = $3 where connection_id = $1 and period = $2",
    user.connection_id,
    period,
    status,
  );
/** Opens a month again, as the end of a booking does. */
async function openMonth(period: string, status: string) {
  await lockMonth(period, status);
  await world.row(
    `select private.set_tenant(partner_id), private.release_charging_sessions(array[id], array[$2::date])
       from core.connections where id = $1`,
    user.connection_id,
    period,
  );
}

describe("§1 a session belongs to the Dutch month in which it started", () => {
  test.each([
    ["well inside a month", "2026-03-10T18:00:00Z", "2026-03-10T19:00:00Z", "2026-03"],
    ["the last second of January in the Netherlands", "2026-01-31T22:59:59Z", "2026-01-31T23:30:00Z", "2026-01"],
    [
      "the first second of February there, still January in UTC",
      "2026-01-31T23:00:00Z",
      "2026-02-01T00:00:00Z",
      "2026-02",
    ],
    ["the last second of June, in summer time", "2026-06-30T21:59:59Z", "2026-06-30T23:00:00Z", "2026-06"],
    ["the first second of July, still June in UTC", "2026-06-30T22:00:00Z", "2026-06-30T23:00:00Z", "2026-07"],
    ["over midnight at the end of a month", "2026-04-30T20:00:00Z", "2026-05-01T04:00:00Z", "2026-04"],
    ["over the new year", "2026-12-31T22:30:00Z", "2027-01-01T03:00:00Z", "2026-12"],
    ["over the new year in which deliveries begin", "2025-12-31T22:30:00Z", "2026-01-01T03:00:00Z", "2025-12"],
    ["through the hour that 29 March 2026 does not have", "2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z", "2026-03"],
    ["through the hour that 25 October 2026 has twice", "2026-10-24T23:30:00Z", "2026-10-25T02:30:00Z", "2026-10"],
  ])("the month of a session is that of its start: %s", async (_, started_at, ended_at, month) => {
    expect(await ingest(world, session("a", { started_at, ended_at }))).toMatchObject([
      { status: "created", flags: [] },
    ]);
    expect(await months()).toEqual({ [month]: 5000 });
  });

  test("an offset is an offset: the same moment said in local time is the same session", async () => {
    await ingest(
      world,
      session("a", { started_at: "2026-02-01T00:30:00+01:00", ended_at: "2026-02-01T01:30:00+01:00" }),
    );
    const again = session("a", { started_at: "2026-01-31T23:30:00Z", ended_at: "2026-02-01T00:30:00Z" });
    expect(await ingest(world, again)).toMatchObject([{ status: "unchanged" }]);
    expect(await months()).toEqual({ "2026-02": 5000 });
  });

  test("on the night of 12.5 hours a charger may deliver no more than 12.5 hours of power", async () => {
    // 20:00 to 07:30 on the clock; one hour longer, because the clock goes back
    const night = { started_at: "2026-10-24T18:00:00Z", ended_at: "2026-10-25T06:30:00Z" };
    expect(await ingest(world, session("full", { ...night, wh: 137_500 }))).toMatchObject([{ flags: [] }]);
    const [over] = await ingest(world, session("full", { ...night, wh: 152_000 }));
    expect(over?.flags).toEqual(["beyond_power"]);
  });
});

describe("§1 a session is known by charger, source and external id", () => {
  test("brought again it changes nothing", async () => {
    const [first] = await ingest(world, session("a"));
    const [again] = await ingest(world, session("a"));
    expect([first?.status, again?.status]).toEqual(["created", "unchanged"]);
    expect(again?.session_id).toBe(first?.session_id);
    expect(await months()).toEqual({ "2026-03": 5000 });
    expect(
      await rows("select from core.replaced_charging_sessions where session_id = $1", first?.session_id),
    ).toHaveLength(0);
  });

  test("of another source, or another charger, it is another", async () => {
    const other = await addCharger(world, user);
    const later = { started_at: "2026-03-11T18:00:00Z", ended_at: "2026-03-11T19:00:00Z" };
    const results = await ingest(
      world,
      session("a"),
      session("a", { source: "cloud", ...later }),
      session("a", { charger_id: other }),
    );
    expect(new Set(results.map(({ session_id }) => session_id)).size).toBe(3);
    expect(await months()).toEqual({ "2026-03": 10_000 });
  });

  test("twice in one batch: the later word counts", async () => {
    const results = await ingest(world, session("a", { wh: 1000 }), session("b", { started_at: "bad" }), session("a"));
    expect(results.map(({ status }) => status)).toEqual(["superseded", "rejected", "created"]);
    expect(await months()).toEqual({ "2026-03": 5000 });
  });

  test("ten at once make one session", async () => {
    const answers = await Promise.all(Array.from({ length: 10 }, () => ingest(world, session("a"))));
    const statuses = answers.flat().map(({ status }) => status);
    expect(statuses.filter((status) => status === "created")).toHaveLength(1);
    expect(statuses.filter((status) => status === "unchanged")).toHaveLength(9);
    expect(await months()).toEqual({ "2026-03": 5000 });
  });

  test("ten different ones at once are all in the total", async () => {
    const day = (n: number) => `2026-03-${String(n + 10)}T`;
    await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        ingest(world, session(`s${n}`, { started_at: `${day(n)}18:00:00Z`, ended_at: `${day(n)}19:00:00Z` })),
      ),
    );
    expect(await months()).toEqual({ "2026-03": 50_000 });
    expect(await delivered()).toEqual({ "2026-03": "50 staged 10" });
  });

  test("batches for one charger queue, those for another do not", async () => {
    const other = await addCharger(world, user, { connection_id: null });
    const holder = await world.database.admin.connect();
    try {
      await holder.query("begin");
      await holder.query("select from core.chargers where id = $1 for no key update", [charger]);
      let through = false;
      const waiting = ingest(world, session("a")).then(() => {
        through = true;
      });
      await ingest(world, session("a", { charger_id: other }));
      expect(through, "the charger is locked, its batch waits").toBe(false);
      await holder.query("commit");
      await waiting;
    } finally {
      holder.release();
    }
    expect(await months()).toEqual({ "2026-03": 5000 });
  });
});

describe("§1 a session that is going on", () => {
  test("is updated in place, counts when it is completed, and then does not open again", async () => {
    const going = { ended_at: null };
    const [first] = await ingest(world, session("a", { ...going, wh: 0, status: "active" }));
    expect(await stored("a")).toMatchObject({ status: "active", counted: false });
    await ingest(world, session("a", { ...going, wh: 2000 }));
    expect(await stored("a")).toMatchObject({ id: first?.session_id, status: "charging", wh: "2000", counted: false });
    expect(await months()).toEqual({});
    expect(await ingest(world, session("a"))).toMatchObject([{ status: "updated" }]);
    expect(await months()).toEqual({ "2026-03": 5000 });
    // a message that was held up on the way
    expect(await ingest(world, session("a", { ...going, wh: 2000 }))).toMatchObject([{ status: "unchanged" }]);
    expect(await months()).toEqual({ "2026-03": 5000 });
    expect(
      await rows("select from core.replaced_charging_sessions where session_id = $1", first?.session_id),
    ).toHaveLength(0);
  });

  test("blocks no other: a stop that never came costs nobody a session", async () => {
    await ingest(world, session("lost", { started_at: "2026-03-01T10:00:00Z", ended_at: null }));
    expect(await ingest(world, session("next"))).toMatchObject([{ flags: [] }]);
    expect(await months()).toEqual({ "2026-03": 5000 });
  });
});

describe("§1 a correction", () => {
  test("moves the total, to another month too, and keeps what was said before", async () => {
    const [first] = await ingest(world, session("a"));
    const moved = { started_at: "2026-02-28T18:00:00Z", ended_at: "2026-02-28T19:00:00Z", wh: 4321 };
    expect(await ingest(world, session("a", moved))).toMatchObject([
      { status: "updated", session_id: first?.session_id },
    ]);
    expect(await months()).toEqual({ "2026-02": 4321 });
    expect(await delivered()).toEqual({ "2026-02": "4.321 staged 1", "2026-03": "0 staged 0" });
    const [kept] = await rows(
      "select wh::int, month::text, flags from core.replaced_charging_sessions where session_id = $1",
      first?.session_id,
    );
    expect(kept).toEqual({ wh: 5000, month: "2026-03-01", flags: [] });
  });

  test("years late is taken all the same, where we knew the charger then", async () => {
    await world.row("update core.chargers set created_at = '2020-01-01Z' where id = $1", charger);
    await ingest(world, session("a", { started_at: "2019-05-01T10:00:00Z", ended_at: "2019-05-01T11:00:00Z" }));
    expect(await months()).toEqual({ "2019-05": 5000 });
  });
});

describe("§1 what cannot be true is flagged, kept and not counted", () => {
  test.each<[string, Partial<SessionItem>, string[]]>([
    ["less than nothing", { wh: -1 }, ["negative"]],
    ["an end before the start", { ended_at: "2026-03-10T17:00:00Z", wh: 0 }, ["ends_before_start"]],
    ["no time at all and much energy", { source: "api", ended_at: "2026-03-10T18:00:00Z" }, ["beyond_power"]],
    [
      "only an end by OCPP, and more than 11 kW give in a day",
      { ended_at: "2026-03-10T18:00:00Z", wh: 290_700 },
      ["beyond_power"],
    ],
    ["more than 11 kW give in an hour", { wh: 12_400 }, ["beyond_power"]],
    ["the future", { started_at: "2027-02-01T13:00:00Z", ended_at: "2027-02-01T14:00:00Z" }, ["wrong_clock"]],
    ["an end in the future", { started_at: "2027-02-01T11:00:00Z", ended_at: "2027-02-01T14:00:00Z" }, ["wrong_clock"]],
    [
      "a clock that began again",
      { started_at: "1970-01-01T00:10:00Z", ended_at: "1970-01-01T01:10:00Z" },
      ["wrong_clock"],
    ],
    ["more than a month", { ended_at: "2026-04-11T18:00:00Z" }, ["too_long"]],
    [
      "all of it",
      { started_at: "2027-02-02T10:00:00Z", ended_at: "2027-02-01T09:00:00Z", wh: -5 },
      ["negative", "ends_before_start", "wrong_clock"],
    ],
  ])("a session is flagged that has %s", async (_, fields, flags) => {
    expect(await ingest(world, session("a", fields))).toMatchObject([{ status: "created", flags }]);
    expect(await stored("a")).toMatchObject({ counted: false, wh: String(fields.wh ?? 5000) });
    expect(await months()).toEqual({});
    expect(await delivered()).toEqual({});
  });

  test.each<[string, Partial<SessionItem>]>([
    ["nothing", { wh: 0 }],
    ["nothing in no time", { wh: 0, ended_at: "2026-03-10T18:00:00Z" }],
    ["only an end by OCPP, and what 11 kW give in a day", { ended_at: "2026-03-10T18:00:00Z", wh: 290_600 }],
    ["11 kW and the tolerance of meter and clock", { wh: 12_290 }],
    ["a clock four minutes ahead", { started_at: "2027-02-01T11:04:00Z", ended_at: "2027-02-01T12:04:00Z" }],
    ["three weeks at the plug", { ended_at: "2026-03-31T18:00:00Z" }],
  ])("a session with %s can be true", async (_, fields) => {
    expect(await ingest(world, session("a", fields))).toMatchObject([{ flags: [] }]);
  });

  test("a charger of unknown power is judged by 50 kW", async () => {
    await world.row("update core.chargers set power_kw = null where id = $1", charger);
    expect(await ingest(world, session("a", { wh: 50_000 }))).toMatchObject([{ flags: [] }]);
    expect(await ingest(world, session("a", { wh: 60_000 }))).toMatchObject([{ flags: ["beyond_power"] }]);
  });

  test("corrected, it counts; and a flag that no longer holds goes when it is brought again", async () => {
    await ingest(world, session("a", { wh: -5000 }));
    expect(await ingest(world, session("a"))).toMatchObject([{ status: "updated", flags: [] }]);
    expect(await months()).toEqual({ "2026-03": 5000 });
    await ingest(
      world,
      session("b", { started_at: "2026-03-12T18:00:00Z", ended_at: "2026-03-12T19:00:00Z", wh: 22_000 }),
    );
    await world.row("update core.chargers set power_kw = 22 where id = $1", charger);
    const again = session("b", { started_at: "2026-03-12T18:00:00Z", ended_at: "2026-03-12T19:00:00Z", wh: 22_000 });
    expect(await ingest(world, again)).toMatchObject([{ status: "updated", flags: [] }]);
    expect(await months()).toEqual({ "2026-03": 27_000 });
  });
});

describe("§1 two sessions that overlap", () => {
  const a = (fields: Partial<SessionItem> = {}) => session("a", fields);
  const b = (fields: Partial<SessionItem> = {}) =>
    session("b", { started_at: "2026-03-10T18:30:00Z", ended_at: "2026-03-10T19:30:00Z", wh: 3000, ...fields });

  test("the one that came first stands, whichever started first", async () => {
    await ingest(world, b());
    expect(await ingest(world, a())).toMatchObject([{ flags: ["overlapping"] }]);
    expect(await months()).toEqual({ "2026-03": 3000 });
  });

  test("in one batch the earlier start came first", async () => {
    const [later, earlier] = await ingest(world, b(), a());
    expect([later?.flags, earlier?.flags]).toEqual([["overlapping"], []]);
  });

  test("end and start at one moment do not overlap, nor do two connectors", async () => {
    await ingest(world, a({ connector: 1 }));
    expect(await ingest(world, b({ connector: 1, started_at: "2026-03-10T19:00:00Z" }))).toMatchObject([{ flags: [] }]);
    expect(await ingest(world, b({ external_id: "c", connector: 2 }))).toMatchObject([{ flags: [] }]);
  });

  test("one whose source named no EVSE may be at any of them", async () => {
    await ingest(world, a());
    expect(await ingest(world, b({ connector: 2 }))).toMatchObject([{ flags: ["overlapping"] }]);
  });

  test.each([
    ["three weeks", "2026-02-17T18:30:00Z"],
    ["24 hours", "2026-03-09T18:30:00Z"],
    ["a minute less than 24 hours", "2026-03-09T18:31:00Z"],
  ])("a session that began %s earlier overlaps while it lasts", async (_, started_at) => {
    await ingest(world, a({ started_at, ended_at: "2026-03-10T18:31:00Z" }));
    expect(await ingest(world, b())).toMatchObject([{ flags: ["overlapping"] }]);
  });

  test("a correction of the first frees the second, and another takes it back", async () => {
    await ingest(world, a());
    await ingest(world, b());
    await ingest(world, a({ ended_at: "2026-03-10T18:30:00Z" }));
    expect(await stored("b")).toMatchObject({ flags: [], counted: true });
    expect(await months()).toEqual({ "2026-03": 8000 });
    await ingest(world, a());
    expect(await stored("b")).toMatchObject({ flags: ["overlapping"], counted: false });
    expect(await months()).toEqual({ "2026-03": 5000 });
  });

  test("one that cannot be true blocks no other", async () => {
    await ingest(world, a({ wh: -1 }));
    expect(await ingest(world, b())).toMatchObject([{ flags: [] }]);
  });
});

describe("§1 what cannot be read is rejected by itself", () => {
  test.each<[string, object]>([
    ["bad_charger_id", { charger_id: "x" }],
    ["bad_source", { source: "" }],
    ["bad_external_id", { external_id: null }],
    ["bad_external_id", { external_id: "x".repeat(121) }],
    ["bad_connector", { connector: 0 }],
    ["bad_connector", { connector: 1e11 }],
    ["bad_started_at", { started_at: "yesterday" }],
    ["bad_started_at", { started_at: "2026-02-30T10:00:00Z" }],
    ["bad_started_at", { started_at: "2026-03-10T18:00:00" }],
    ["bad_started_at", { started_at: "infinity" }],
    ["bad_ended_at", { ended_at: "later" }],
    ["bad_wh", { wh: "5" }],
    ["bad_wh", { wh: 1e300 }],
    ["bad_status", { ended_at: null, status: "completed" }],
    ["unknown_charger", { charger_id: "00000000-0000-4000-8000-000000000001" }],
  ])("a session is rejected as %s that has %o", async (reason, fields) => {
    const [bad, good] = await ingest(world, { ...session("bad"), ...fields } as SessionItem, session("good"));
    expect(bad).toEqual({ status: "rejected", reason });
    expect(good).toMatchObject({ status: "created" });
    expect(await months()).toEqual({ "2026-03": 5000 });
  });
});

describe("§1 a session counts toward ERE only with MID meter and mandate", () => {
  test("without a mandate its month is stored and not yet counted, with one it is", async () => {
    await ingest(world, session("a"));
    expect(await delivered()).toEqual({ "2026-03": "5 staged 1" });
    const counted = () =>
      rows("select ere::float8 from core.counted_months where connection_id = $1", user.connection_id);
    expect(await counted()).toEqual([]);
    await giveMandate(world, user);
    expect(await counted()).toEqual([{ ere: 1.66347 }]);
  });

  test("outside its mandate it is stored as outside_mandate", async () => {
    await giveMandate(world, user, "2026-01-01", "2026-12-31");
    await ingest(
      world,
      session("a", { started_at: "2025-12-31T22:30:00Z", ended_at: "2025-12-31T23:30:00Z" }),
      session("b"),
      session("c", { started_at: "2026-12-31T23:00:00Z", ended_at: "2027-01-01T00:30:00Z" }),
    );
    expect(await delivered()).toEqual({
      "2025-12": "5 outside_mandate 1",
      "2026-03": "5 staged 1",
      "2027-01": "5 outside_mandate 1",
    });
  });

  test.each([[false], [null]])(
    "with mid_eligible %s it is energy only, until the meter is confirmed",
    async (mid_eligible) => {
      charger = await addCharger(world, user, { mid_eligible });
      await ingest(world, session("a"));
      expect([await months(), await delivered()]).toEqual([{ "2026-03": 5000 }, {}]);
      await world.row("update core.chargers set mid_eligible = true where id = $1", charger);
      expect(await delivered()).toEqual({ "2026-03": "5 staged 1" });
      await world.row("update core.chargers set mid_eligible = false where id = $1", charger);
      expect(await delivered()).toEqual({ "2026-03": "0 staged 0" });
    },
  );

  test("without a connection it is energy only, until the charger is bound to one", async () => {
    charger = await addCharger(world, user, { connection_id: null });
    await ingest(world, session("a"));
    expect([await months(), await delivered()]).toEqual([{ "2026-03": 5000 }, {}]);
    await world.row("update core.chargers set connection_id = $2 where id = $1", charger, user.connection_id);
    expect(await delivered()).toEqual({ "2026-03": "5 staged 1" });
  });

  test("two chargers of a connection add up in its month", async () => {
    const second = await addCharger(world, user);
    await Promise.all([ingest(world, session("a")), ingest(world, session("a", { charger_id: second, wh: 2500 }))]);
    expect(await delivered()).toEqual({ "2026-03": "7.5 staged 2" });
  });
});

describe("§3 a locked month stays as it was", () => {
  beforeEach(async () => {
    await giveMandate(world, user);
    await ingest(world, session("a"));
    await lockMonth("2026-03-01");
  });

  test.each(["submitted", "registered"])(
    "a correction of a month that is %s is kept and flagged; the energy follows, the booking does not",
    async (status) => {
      await lockMonth("2026-03-01", status);
      expect(await ingest(world, session("a", { wh: 4000 }))).toMatchObject([
        { status: "updated", flags: ["after_lock"] },
      ]);
      expect(await months()).toEqual({ "2026-03": 4000 });
      expect(await delivered()).toEqual({ "2026-03": `5 ${status} 1` });
      expect(
        await rows(
          "select wh::int from core.replaced_charging_sessions where session_id = (select id from core.charging_sessions where external_id = 'a' and charger_id = $1)",
          charger,
        ),
      ).toEqual([{ wh: 5000 }]);
    },
  );

  test("a late session is kept and flagged", async () => {
    const late = { started_at: "2026-03-12T18:00:00Z", ended_at: "2026-03-12T19:00:00Z" };
    expect(await ingest(world, session("b", late))).toMatchObject([{ flags: ["after_lock"] }]);
    expect([await months(), await delivered()]).toEqual([{ "2026-03": 10_000 }, { "2026-03": "5 registered 1" }]);
  });

  test("a session that moves out of it counts nowhere twice", async () => {
    const april = { started_at: "2026-04-12T18:00:00Z", ended_at: "2026-04-12T19:00:00Z" };
    await ingest(world, session("a", april));
    await ingest(world, session("a", { ...april, wh: 4500 }));
    expect(await stored("a")).toMatchObject({ flags: ["after_lock"] });
    expect([await months(), await delivered()]).toEqual([{ "2026-04": 4500 }, { "2026-03": "5 registered 1" }]);
    await openMonth("2026-03-01", "staged");
    expect(await stored("a")).toMatchObject({ flags: [] });
    expect(await delivered()).toMatchObject({ "2026-04": "4.5 staged 1" });
  });

  test("one that moved to another month that is booked too waits until both are open", async () => {
    await ingest(world, session("b", { started_at: "2026-04-10T18:00:00Z", ended_at: "2026-04-10T19:00:00Z" }));
    await lockMonth("2026-04-01");
    await ingest(world, session("a", { started_at: "2026-04-12T18:00:00Z", ended_at: "2026-04-12T19:00:00Z" }));
    await openMonth("2026-04-01", "staged");
    // March is booked with it
    expect(await stored("a")).toMatchObject({ flags: ["after_lock"] });
    expect(await delivered()).toEqual({ "2026-03": "5 registered 1", "2026-04": "5 staged 1" });
    await openMonth("2026-03-01", "staged");
    expect(await delivered()).toEqual({ "2026-03": "0 staged 0", "2026-04": "10 staged 2" });
  });

  test("one that moved waits for no month that it was never booked in", async () => {
    await openMonth("2026-03-01", "staged");
    // told in March, moved to April, and booked there; then March was locked without it
    const april = { started_at: "2026-04-12T18:00:00Z", ended_at: "2026-04-12T19:00:00Z" };
    await ingest(world, session("a", april));
    await lockMonth("2026-04-01");
    await lockMonth("2026-03-01");
    await ingest(world, session("a", { ...april, wh: 4500 }));
    expect(await stored("a")).toMatchObject({ flags: ["after_lock"] });
    await openMonth("2026-04-01", "staged");
    expect(await stored("a")).toMatchObject({ flags: [] });
    expect(await delivered()).toEqual({ "2026-03": "0 registered 0", "2026-04": "4.5 staged 1" });
  });

  test("one that moved before the lock of a month waits for that month no longer than for its own", async () => {
    await openMonth("2026-03-01", "staged");
    await ingest(world, session("b", { started_at: "2026-04-10T18:00:00Z", ended_at: "2026-04-10T19:00:00Z" }));
    await lockMonth("2026-04-01");
    await ingest(world, session("a", { started_at: "2026-04-12T18:00:00Z", ended_at: "2026-04-12T19:00:00Z" }));
    // March is booked without it
    await lockMonth("2026-03-01");
    await openMonth("2026-04-01", "staged");
    expect(await stored("a")).toMatchObject({ flags: [] });
    expect(await delivered()).toEqual({ "2026-03": "0 registered 0", "2026-04": "10 staged 2" });
  });

  test("one that moved out of a booked month waits for it no longer when that month is booked again without it", async () => {
    await ingest(world, session("b", { started_at: "2026-04-10T18:00:00Z", ended_at: "2026-04-10T19:00:00Z" }));
    await lockMonth("2026-04-01");
    await ingest(world, session("a", { started_at: "2026-04-12T18:00:00Z", ended_at: "2026-04-12T19:00:00Z" }));
    await openMonth("2026-03-01", "staged");
    expect(await stored("a")).toMatchObject({ flags: ["after_lock"] });
    await lockMonth("2026-03-01");
    await openMonth("2026-04-01", "staged");
    expect(await stored("a")).toMatchObject({ flags: [] });
    expect(await delivered()).toEqual({ "2026-03": "0 registered 0", "2026-04": "10 staged 2" });
  });

  test("attack: one that moved out of a booked month still waits after its meter was doubted and confirmed again", async () => {
    await ingest(world, session("a", { started_at: "2026-04-12T18:00:00Z", ended_at: "2026-04-12T19:00:00Z" }));
    await world.row("update core.chargers set mid_eligible = false where id = $1", charger);
    await ingest(world, session("a", { started_at: "2026-04-13T18:00:00Z", ended_at: "2026-04-13T19:00:00Z" }));
    await world.row("update core.chargers set mid_eligible = true where id = $1", charger);
    expect(await stored("a")).toMatchObject({ flags: ["after_lock"] });
    expect(await delivered()).toEqual({ "2026-03": "5 registered 1" });
  });

  const april = { started_at: "2026-04-12T18:00:00Z", ended_at: "2026-04-12T19:00:00Z" };
  const judgeMeter = (mid_eligible: boolean | null) =>
    world.row("update core.chargers set mid_eligible = $2 where id = $1", charger, mid_eligible);

  test.each([[false], [null]])(
    "attack: one that is booked, and moves while its meter is doubted (%s), counts in no other month once it is confirmed",
    async (doubt) => {
      await judgeMeter(doubt);
      await ingest(world, session("a", april));
      await judgeMeter(true);
      expect(await stored("a")).toMatchObject({ flags: ["after_lock"] });
      expect(await delivered()).toEqual({ "2026-03": "5 registered 1" });
      await openMonth("2026-03-01", "staged");
      expect(await delivered()).toEqual({ "2026-03": "0 staged 0", "2026-04": "5 staged 1" });
    },
  );

  test("one that is booked is booked still after a doubt, and its month opens with it", async () => {
    await judgeMeter(null);
    await judgeMeter(true);
    expect(await stored("a")).toMatchObject({ flags: [] });
    await openMonth("2026-03-01", "staged");
    expect(await stored("a")).toMatchObject({ flags: [], booked_as: null });
    expect(await delivered()).toEqual({ "2026-03": "5 staged 1" });
  });

  test("one that is booked, and whose month opens while its meter is doubted, counts where it is then", async () => {
    await judgeMeter(false);
    await openMonth("2026-03-01", "staged");
    expect(await delivered()).toEqual({ "2026-03": "0 staged 0" });
    await lockMonth("2026-03-01");
    await judgeMeter(true);
    expect(await stored("a")).toMatchObject({ flags: ["after_lock"] });
    await ingest(world, session("a", april));
    expect(await stored("a")).toMatchObject({ flags: [] });
    expect(await delivered()).toEqual({ "2026-03": "0 registered 0", "2026-04": "5 staged 1" });
  });

  test("one that was told while its meter was doubted, in a month that was booked, counts where it moves after the confirmation", async () => {
    await judgeMeter(null);
    await ingest(world, session("u", { started_at: "2026-03-12T18:00:00Z", ended_at: "2026-03-12T19:00:00Z" }));
    await judgeMeter(true);
    expect(await stored("u")).toMatchObject({ flags: ["after_lock"] });
    await ingest(world, session("u", april));
    expect(await stored("u")).toMatchObject({ flags: [] });
    expect(await delivered()).toEqual({ "2026-03": "5 registered 1", "2026-04": "5 staged 1" });
  });

  test("attack: one that is booked, of a charger that is doubted and then released, is not the next registration's", async () => {
    await judgeMeter(false);
    await world.row("update core.chargers set counts_from = 'infinity' where id = $1", charger);
    expect(await stored("a")).toMatchObject({ flags: ["other_registration", "after_lock"] });
    const { booked } = await world.row(
      "select count(*)::int as booked from private.still_booked($1, '-infinity', 'infinity')",
      charger,
    );
    expect(booked).toBe(1);
  });

  test("one that moved waits for no month that was locked while its meter was not confirmed", async () => {
    await world.row("update core.chargers set mid_eligible = null where id = $1", charger);
    await ingest(world, session("u", { started_at: "2026-03-12T18:00:00Z", ended_at: "2026-03-12T19:00:00Z" }));
    await ingest(world, session("u", { started_at: "2026-04-12T18:00:00Z", ended_at: "2026-04-12T19:00:00Z" }));
    await world.row("update core.chargers set mid_eligible = true where id = $1", charger);
    await ingest(world, session("u", { started_at: "2026-04-13T18:00:00Z", ended_at: "2026-04-13T19:00:00Z" }));
    expect(await stored("u")).toMatchObject({ flags: [] });
  });

  test.each(["while it does not count", "when it counts again"])(
    "one that is booked, and that another took the socket of, is booked still when it moves %s",
    async (when) => {
      await openMonth("2026-03-01", "staged");
      const at = (connector: number, day: number, month = 3) => ({
        connector,
        started_at: `2026-0${month}-${day}T18:00:00Z`,
        ended_at: `2026-0${month}-${day}T19:00:00Z`,
      });
      await ingest(world, session("x", at(1, 12)));
      await ingest(world, session("y", at(2, 14)));
      await ingest(world, session("s", at(3, 14)));
      await lockMonth("2026-03-01");
      expect(await delivered()).toEqual({ "2026-03": "20 registered 4" });
      await ingest(world, session("x", at(1, 14)));
      expect(await stored("s")).toMatchObject({ flags: ["beyond_capacity"] });
      if (when === "when it counts again") {
        await ingest(world, session("x", at(1, 12)));
        expect(await stored("s")).toMatchObject({ flags: ["after_lock"] });
      }
      await ingest(world, session("s", at(3, 14, 4)));
      expect(await stored("s")).toMatchObject({ flags: ["after_lock"] });
      expect(await delivered()).toEqual({ "2026-03": "20 registered 4" });
      // its booking ends while it does not count
      await ingest(world, session("s", at(3, 14)));
      await openMonth("2026-03-01", "staged");
      expect(await stored("s")).toMatchObject({ booked_as: null });
      await ingest(world, session("s", at(3, 14, 4)));
      await openMonth("2026-03-01", "staged");
      expect(await delivered()).toEqual({ "2026-03": "15 staged 3", "2026-04": "5 staged 1" });
    },
  );

  test("one that is booked, and becomes a duplicate of one that is corrected, is booked still when it moves", async () => {
    const at = (minute: number, month = 3) => ({
      started_at: `2026-0${month}-12T18:0${minute}:00Z`,
      ended_at: `2026-0${month}-12T18:0${minute + 3}:00Z`,
      wh: 300,
    });
    await openMonth("2026-03-01", "staged");
    await ingest(world, session("x", { ...at(0, 2), source: "ocpi" }));
    await ingest(world, session("s", at(4)));
    await lockMonth("2026-03-01");
    await ingest(world, session("x", { ...at(0), source: "ocpi" }));
    expect(await stored("s")).toMatchObject({ flags: ["duplicate"] });
    await ingest(world, session("s", at(4, 4)));
    expect(await stored("s")).toMatchObject({ flags: ["after_lock"] });
    expect(await delivered()).toMatchObject({ "2026-03": "5.3 registered 2" });
    await openMonth("2026-03-01", "staged");
    expect(await delivered()).toMatchObject({ "2026-03": "5.3 staged 2", "2026-04": "0.3 staged 1" });
  });

  test("one that came too late and is moved to an open month counts there at once", async () => {
    await ingest(world, session("b", { started_at: "2026-03-12T18:00:00Z", ended_at: "2026-03-12T19:00:00Z" }));
    expect(await stored("b")).toMatchObject({ flags: ["after_lock"] });
    await ingest(world, session("b", { started_at: "2026-04-12T18:00:00Z", ended_at: "2026-04-12T19:00:00Z" }));
    expect(await stored("b")).toMatchObject({ flags: [] });
    expect(await delivered()).toEqual({ "2026-03": "5 registered 1", "2026-04": "5 staged 1" });
  });

  test("opened again it takes in what came meanwhile", async () => {
    await ingest(world, session("a", { wh: 4000 }));
    await openMonth("2026-03-01", "rejected");
    expect(await delivered()).toEqual({ "2026-03": "4 staged 1" });
    expect(await stored("a")).toMatchObject({ flags: [] });
  });

  test("what comes again unchanged is no correction", async () => {
    expect(await ingest(world, session("a"))).toMatchObject([{ status: "unchanged", flags: [] }]);
  });
});

describe("§3 a charger changes while its month is booked", () => {
  test("changes, and sessions that come in, wait for a booking and for each other in one order; what is booked is what counted, and each kWh counts once", async () => {
    const other = await world.addUser();
    const chargers = [charger, await addCharger(world, other)];
    const connections = [user, other].map(({ connection_id }) => connection_id);
    for (const each of [user, other]) await giveMandate(world, each);
    const at = (day: number) => ({ started_at: `2026-03-${day}T18:00:00Z`, ended_at: `2026-03-${day}T19:00:00Z` });
    const tell = (id: string, day: number, wh: number) =>
      ingest(world, ...chargers.toReversed().map((charger_id) => session(id, { charger_id, ...at(day), wh })));
    const countFrom = (place: number, from: string | null) =>
      world.row("update core.chargers set counts_from = $2 where id = $1", chargers[place], from);
    /** Books or opens the month of both, once `others` wait for it. */
    const during = async (status: string, others: () => Promise<unknown>[]) => {
      const booking = await world.database.admin.connect();
      try {
        await booking.query("begin");
        await booking.query("select private.set_tenant(private.people_tenant())");
        await booking.query("select private.lock_connections(private.people_tenant(), $1)", [connections]);
        await booking.query("update core.delivered_months set status = $2 where connection_id = any ($1)", [
          connections,
          status,
        ]);
        const begun = others();
        const waiting = "select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()";
        await expect.poll(async () => (await rows(waiting)).length).toBe(begun.length);
        if (status === "staged")
          await booking.query("select private.release_charging_sessions($1, '{2026-03-01,2026-03-01}')", [connections]);
        await booking.query("commit");
        await Promise.all(begun);
      } finally {
        await booking.query("rollback");
        booking.release();
      }
    };
    /** Wh of the month of each connection, and what its sessions say of it. */
    const sums = () =>
      rows(
        `select (d.total_kwh * 1000)::int as month, d.locked,
                (select sum(case when r.id is not null then r.wh when s.flags = '{}' then s.wh else 0 end)::int
                   from core.charging_sessions s left join core.replaced_charging_sessions r on r.id = s.booked_as
                  where s.connection_id = d.connection_id) as sessions
           from core.delivered_months d where d.connection_id = any ($1) order by array_position($1, d.connection_id)`,
        connections,
      );
    await tell("a", 10, 5000);
    await tell("b", 12, 5000);
    for (const [round, wh] of [10_000, 10_000, 10_999].entries()) {
      await during("submitted", () => [
        ...[0, 1].flatMap((hour) => [0, 1].map((place) => countFrom(place, `2026-03-11T0${hour}:00:00Z`))),
        tell(`c${round}`, 14 + round, 1000),
        tell("b", 12, 4000 - round),
      ]);
      expect(await sums()).toEqual([
        { month: wh, locked: true, sessions: wh },
        { month: wh, locked: true, sessions: wh },
      ]);
      await during("staged", () => [
        countFrom(1, "2026-03-11T02:00:00Z"),
        countFrom(0, "2026-03-11T02:00:00Z"),
        tell("a", 10, 5001),
        countFrom(0, null),
        countFrom(1, null),
      ]);
      await Promise.all([0, 1].map((place) => countFrom(place, null)));
      const open = await sums();
      expect(open.map(({ month, locked, sessions }) => [locked, month - sessions])).toEqual([
        [false, 0],
        [false, 0],
      ]);
      expect(
        await rows(
          "select from core.charging_sessions where charger_id = any ($1) and ('after_lock' = any (flags) or booked_as is not null)",
          chargers,
        ),
      ).toEqual([]);
      await tell("a", 10, 5000);
    }
  });
});

describe("§3 chargers are locked before connections, and connections in one order", () => {
  const waiting = async () =>
    (await rows("select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()")).length;

  /** Tells of a charge, while something else looks for the charger's connection. */
  const tellDuring = async (charger_id: string, other: () => Promise<unknown>) => {
    const telling = await world.database.admin.connect();
    try {
      await telling.query("begin");
      await telling.query("select private.set_tenant(private.people_tenant())");
      // as private.store_sessions begins
      await telling.query("select from core.chargers where id = $1 for no key update", [charger_id]);
      let isOver = false;
      const others = other().finally(() => {
        isOver = true;
      });
      await expect.poll(async () => isOver || (await waiting()) > 0).toBe(true);
      const told = telling
        .query("select count(*) from private.store_sessions($1)", [
          JSON.stringify([{ source: "ocpp", ...session("a", { charger_id }) }]),
        ])
        .then(() => telling.query("commit"));
      await Promise.all([others, told]);
    } finally {
      await telling.query("rollback");
      telling.release();
    }
  };

  test("attack: a charge is told while the sandbox reviews the registration of its charger", async () => {
    const undecided = await addCharger(world, user, { mid_eligible: null });
    await world.row(
      `update core.chargers h set catalog_charger_id = m.id, brand = m.brand
         from (select * from core.charger_models order by id limit 1) m where h.id = $1`,
      undecided,
    );
    await world.row(
      `update core.connections set registration_status = 'ingediend', submitted_at = private.now() - interval '3 minutes'
        where id = $1`,
      user.connection_id,
    );
    const state = () =>
      world.row(
        `select h.mid_eligible, c.registration_status = 'ingediend' as waits
           from core.chargers h join core.connections c on c.id = h.connection_id where h.id = $1`,
        undecided,
      );
    const review = () => world.row("select private.review_due_registrations()");
    await tellDuring(undecided, review);
    expect(await state()).toEqual({ mid_eligible: null, waits: true });
    await review();
    expect(await state()).toEqual({ mid_eligible: true, waits: false });
    expect(await delivered()).toMatchObject({ "2026-03": expect.stringMatching(/^5 /) });
  });

  test.each<[string, () => Promise<unknown>]>([
    [
      "the operator archives its connection",
      () => operatorOf(world.database)(`connection archive ${user.connection_id}`),
    ],
    [
      "its owner closes the account",
      () =>
        world.environment.db.call(
          "close_own_account",
          {
            kind: "session",
            user_id: user.id,
            partner_id: "00000000-0000-4000-8000-000000000000",
            signed_in_at: world.environment.now().toISOString(),
            host: world.environment.config.API_HOST,
            request_id: "test",
          } as never,
          {
            key: claimKey(world.environment),
            mail: aboutMail(world.environment.config, "account_closed", "nl", {}),
          },
        ),
    ],
  ])("attack: a charge is told while %s", async (_what, end) => {
    await tellDuring(charger, end);
    expect(await stored("a")).toMatchObject({ flags: [] });
    expect(await world.row("select status from core.chargers where id = $1", charger)).toEqual({ status: "removed" });
  });

  test("attack: a booking of two connections is made while the operator releases a charger, and the next one has its time", async () => {
    const [low, high] = [user, await world.addUser()].toSorted((a, b) => (a.connection_id < b.connection_id ? -1 : 1));
    if (!low || !high) throw new Error("two users");
    const released = await addCharger(world, high);
    const next = await addCharger(world, low);
    await ingest(world, session("a", { charger_id: released }), session("a", { charger_id: next }));
    const numbered = "brand = 'Alfen', serial_number = 'LOCKS-1'";
    await world.row(
      `update core.chargers set ${numbered}, status = 'removed', removed_at = '2026-03-11Z', counts_until = '2026-03-11Z'
        where id = $1`,
      released,
    );
    await world.row(`update core.chargers set ${numbered}, counts_from = '2026-03-11Z' where id = $1`, next);
    const booking = await world.database.admin.connect();
    const lock = (each: User) =>
      booking.query("select private.lock_connections(private.people_tenant(), array[$1::uuid])", [each.connection_id]);
    try {
      await booking.query("begin");
      await lock(low);
      const releasing = operatorOf(world.database)(`charger release ${released} --reason ticket-4711`);
      await expect.poll(waiting).toBe(1);
      const locked = lock(high).then(() => booking.query("commit"));
      await Promise.all([releasing, locked]);
    } finally {
      await booking.query("rollback");
      booking.release();
    }
    expect(await rows("select flags from core.charging_sessions where charger_id = $1", released)).toEqual([
      { flags: ["other_registration"] },
    ]);
    expect(await rows("select flags from core.charging_sessions where charger_id = $1", next)).toEqual([{ flags: [] }]);
  });
});

describe("contract §2 the connections of a CPO", () => {
  test("sessions of a CPO's charger make months too, by the same rule; a total its client delivered stays", async () => {
    const { partnerA } = world;
    const token = await partnerA.client.token();
    const { account_id } = await createAccount(world);
    await signMandate(world, account_id);
    const { body } = await world.post("/v1/chargers", { account_id, ...MID_CHARGER }, token);
    charger = body.charger_id;
    await world.post("/v1/sessions:batch", { account_id, months: [{ period: "2027-01", total_kwh: 99 }] }, token);
    await ingest(
      world,
      session("a", { started_at: "2027-01-10T18:00:00Z", ended_at: "2027-01-10T19:00:00Z" }),
      session("b", { started_at: "2027-02-01T10:00:00Z", ended_at: "2027-02-01T11:00:00Z" }),
    );
    const months = async () => {
      const position = await world.get("/v1/ere-positions?limit=1", token);
      return position.body.positions[0].delivered_months.map(
        (month: { period: string; total_kwh: number }) => `${month.period} ${month.total_kwh}`,
      );
    };
    expect(await months()).toEqual(["2027-01-01 99", "2027-02-01 5"]);
    await world.post("/v1/sessions:batch", { account_id, months: [{ period: "2027-02", total_kwh: 7 }] }, token);
    expect(await months()).toEqual(["2027-01-01 99", "2027-02-01 7"]);
  });
});

describe("§4.4 the charger is seen", () => {
  test("when a charge ended, or now while one is going on; its meter goes forward with the later word", async () => {
    const seen = () =>
      world.row("select last_seen_at, latest_meter_wh, meter_updated_at from core.chargers where id = $1", charger);
    await ingest(world, session("a", { meter_wh: 1_005_000 }));
    expect(await seen()).toEqual({
      last_seen_at: new Date("2026-03-10T19:00:00Z"),
      latest_meter_wh: "1005000",
      meter_updated_at: new Date("2026-03-10T19:00:00Z"),
    });
    const earlier = { started_at: "2026-03-01T18:00:00Z", ended_at: "2026-03-01T19:00:00Z" };
    await ingest(world, session("b", { ...earlier, meter_wh: 1_000_000 }));
    expect(await seen()).toMatchObject({ latest_meter_wh: "1005000" });
    await ingest(world, session("c", { started_at: "2027-02-01T11:00:00Z", ended_at: null, wh: 10 }));
    expect(await seen()).toMatchObject({ last_seen_at: new Date("2027-02-01T12:00:00Z"), latest_meter_wh: "1005000" });
  });
});

test("§1 whatever comes, in whatever order, the totals are the sums of what counts", async () => {
  await giveMandate(world, user);
  const item = fc.record({
    external_id: fc.constantFrom("a", "b", "c", "d", "e"),
    // hours around the end of a month, close enough to overlap
    hour: fc.integer({ min: -30, max: 30 }),
    hours: fc.integer({ min: -1, max: 12 }),
    wh: fc.integer({ min: -100, max: 60_000 }),
    going_on: fc.boolean(),
    lock: fc.constantFrom(null, null, null, "2026-05-01", "2026-04-01"),
    unlock: fc.boolean(),
  });
  const border = Date.UTC(2026, 3, 30, 22);
  const at = (hour: number) => `${new Date(border + hour * 3_600_000).toISOString().slice(0, 19)}Z`;
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(item, { minLength: 1, maxLength: 4 }), { maxLength: 8 }), async (batches) => {
      charger = await addCharger(world, user);
      for (const batch of batches) {
        const results = await ingest(
          world,
          ...batch.map(({ external_id, hour, hours, wh, going_on }) =>
            session(external_id, { started_at: at(hour), ended_at: going_on ? null : at(hour + hours), wh }),
          ),
        );
        expect(results.every(({ status }) => status !== "rejected")).toBe(true);
        for (const { lock, unlock } of batch) {
          if (lock) await lockMonth(lock);
          if (unlock) await openMonth("2026-04-01", "staged");
        }
        const wrong = await rows(
          `select month from (
             select month, wh, sessions from core.charger_months where charger_id = $1 and sessions > 0) m
           full join (
             select month, sum(wh) as wh, count(*) as sessions from core.charging_sessions where charger_id = $1 and counted group by month) s
           using (month) where m.wh is distinct from s.wh or m.sessions is distinct from s.sessions`,
          charger,
        );
        expect(wrong).toEqual([]);
        const undelivered = await rows(
          `select d.period from core.delivered_months d
             cross join lateral (
               select coalesce(sum(s.wh), 0) as wh, count(s.wh) as sessions from core.charging_sessions s
                 join core.chargers h on h.id = s.charger_id and h.mid_eligible
                where s.connection_id = d.connection_id and s.month = d.period and s.counted and s.flags = '{}') s
            where d.connection_id = $1 and d.status not in ('submitted', 'registered')
              and (d.total_kwh * 1000 <> s.wh or d.session_count <> s.sessions)`,
          user.connection_id,
        );
        expect(undelivered).toEqual([]);
        const [{ overlapping }] = await rows(
          `select count(*)::int as overlapping from core.charging_sessions a join core.charging_sessions b
              on b.charger_id = a.charger_id and b.arrival > a.arrival and a.counted and b.counted
             and a.busy_from < b.ended_at and a.ended_at > b.busy_from
            where a.charger_id = $1`,
          charger,
        );
        expect(overlapping, "no two counted sessions overlap").toBe(0);
        const misjudged = await rows(
          `select s.external_id from core.charging_sessions s
            where s.charger_id = $1 and s.ended_at is not null and (s.flags && '{overlapping,duplicate}') <> exists (
              select from core.charging_sessions o
               where o.charger_id = s.charger_id and o.arrival < s.arrival and o.flags <@ '{overlapping,duplicate,after_lock}'
                 and o.busy_from < s.ended_at and o.ended_at > s.busy_from)`,
          charger,
        );
        expect(misjudged, "each that overlaps one that came first is flagged, and no other").toEqual([]);
      }
    }),
    { numRuns: 40 },
  );
});
