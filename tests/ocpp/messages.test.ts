// What chargers tell by OCPP, through the edge function, and the charging sessions that it becomes.

import { createHash } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { MID_CHARGER } from "../harness/chargers.ts";
import { runDueJobs } from "../harness/due_jobs.ts";
import { giveMandate } from "../harness/mandate.ts";
import type { User } from "../harness/people.ts";
import { tablesWith } from "../harness/tables.ts";
import { createWorld, type World } from "../harness/world.ts";
import { operatorOf } from "../operator/operator.ts";

let world: World;
let user: User;
let secret: string;
let link: { charger_id: string; generation: number };
let credentials: { identity: string; password: string };

const NOW = "2026-08-15T12:00:00.000Z";
beforeAll(async () => {
  world = await createWorld({ limits: "lifted", variables: { OCPP_GATEWAY_URL: "wss://gateway.example" } });
  await world.freeze(NOW);
  secret = world.environment.config.GATEWAY_SECRET;
});
afterAll(() => world?.close());

const connect = async () => {
  const { body } = await world.post("/ocpp/chargers:admit", credentials, secret);
  const { charger_id, generation } = body;
  return { charger_id, generation };
};
beforeEach(async () => {
  user = await world.addUser();
  const { body } = await world.post("/chargers", { nickname: "Oprit", connection_type: "ocpp" }, await user.token());
  credentials = { identity: body.ocpp.identity, password: body.ocpp.password };
  link = await connect();
});

type Said = [action: string, payload: object, from?: { received_at?: string; live?: boolean }];
const tellAs =
  (protocol: string) =>
  async (...said: Said[]) => {
    let answers: unknown[] = [];
    for (const [action, payload, { received_at = NOW, live = true } = {}] of said) {
      const sent_sha256 = createHash("sha256").update(JSON.stringify(payload)).digest("hex");
      const messages = [{ action, payload, received_at, live, sent_sha256 }];
      const { status, body } = await world.post("/ocpp/messages", { ...link, protocol, messages }, secret);
      expect(status, JSON.stringify(body)).toBe(200);
      answers = body.answers;
    }
    return answers[0] as { payload: { transactionId: number; status: string } };
  };
const tell = tellAs("ocpp1.6");
const tell2 = tellAs("ocpp2.0.1");

const at = (time: string) => `2026-08-15T${time}:00Z`;
const started = (time: string, meterStart: unknown, more: object = {}): Said => [
  "StartTransaction",
  { connectorId: 1, idTag: "04AABBCC", meterStart, timestamp: at(time), ...more },
];
const stopped = (transactionId: unknown, time: string, meterStop: unknown, more: object = {}): Said => [
  "StopTransaction",
  { transactionId, idTag: "04AABBCC", meterStop, timestamp: at(time), ...more },
];
const sample = (time: string, value: unknown, more: object = {}) => ({
  timestamp: at(time),
  sampledValue: [{ value, ...more }],
});
const BEGIN = { context: "Transaction.Begin" };
const END = { context: "Transaction.End" };
const values = (transactionId: number | undefined, ...meterValue: object[]): Said => [
  "MeterValues",
  { connectorId: 1, ...(transactionId === undefined ? {} : { transactionId }), meterValue },
];
/** The same message, received at another time or queued. */
const sent = ([action, payload]: Said, how: NonNullable<Said[2]>): Said => [action, payload, how];
const event = (eventType: string, time: string, meterValue: object[] = [], more: object = {}): Said => [
  "TransactionEvent",
  {
    eventType,
    timestamp: at(time),
    seqNo: 0,
    transactionInfo: { transactionId: "t-1" },
    evse: { id: 1 },
    meterValue,
    ...more,
  },
];

const sessions = async () => {
  const { list } = await world.row(
    `select json_agg(json_build_object('from', to_char(started_at at time zone 'UTC', 'HH24:MI'), 'to', to_char(ended_at at time zone 'UTC', 'HH24:MI'),
                     'wh', wh, 'flags', flags) order by started_at, wh, flags) as list from core.charging_sessions where charger_id = $1`,
    link.charger_id,
  );
  return list ?? [];
};
const session = (from: string, to: string | null, wh: number, ...flags: string[]) => ({ from, to, wh, flags });
const evidence = async () => {
  const { list } = await world.row(
    "select json_agg(e order by id) as list from core.charging_evidence e where charger_id = $1",
    link.charger_id,
  );
  return list ?? [];
};

describe("contract §6 OCPP 1.6", () => {
  test("a charge begins, runs and ends, and its month is the customer's", async () => {
    await giveMandate(world, user);
    await tell([
      "BootNotification",
      {
        chargePointVendor: MID_CHARGER.ocpp_vendor,
        chargePointModel: MID_CHARGER.ocpp_model,
        chargePointSerialNumber: "ace 0001",
      },
    ]);
    const { payload } = await tell(started("08:00", 100_000));
    expect(payload).toEqual({ transactionId: expect.any(Number), idTagInfo: { status: "Accepted" } });
    expect(await sessions()).toEqual([session("08:00", null, 0)]);
    await tell(values(payload.transactionId, sample("08:30", "105.5", { unit: "kWh" })));
    const token = await user.token();
    const [charger] = (await world.get("/chargers", token)).body.chargers;
    expect(charger).toMatchObject({
      status: "online",
      is_charging: true,
      mid_certified: true,
      latest_meter_wh: 105_500,
      current_session: { kwh_so_far: 5.5 },
    });
    await tell(stopped(payload.transactionId, "09:30", 112_000));
    expect(await sessions()).toEqual([session("08:00", "09:30", 12_000)]);
    expect((await world.get("/energy", token)).body.total_kwh).toBe(12);
    expect(await world.row("select serial_number, brand from core.chargers where id = $1", link.charger_id)).toEqual({
      serial_number: "ACE0001",
      brand: "Alfen",
    });
    // its words, without the card
    const kept = await evidence();
    expect(kept.map(({ document }: { document: { action: string } }) => document.action)).toEqual([
      "StartTransaction",
      "StopTransaction",
    ]);
    expect(JSON.stringify(kept)).not.toContain("04AABBCC");
    expect(kept[1]).toMatchObject({ source: "ocpp", meter_start_wh: 100_000, meter_end_wh: 112_000, end_from: null });
  });

  test("each message ten times at once, and again, is one session", async () => {
    const starts = await Promise.all(Array.from({ length: 10 }, () => tell(started("08:00", 0))));
    const ids = new Set(starts.map(({ payload }) => payload.transactionId));
    expect(ids.size).toBe(1);
    const [id = 0] = ids;
    await Promise.all(Array.from({ length: 10 }, () => tell(stopped(id, "09:00", 5000))));
    await tell(started("08:00", 0), stopped(id, "09:00", 5000));
    expect(await sessions()).toEqual([session("08:00", "09:00", 5000)]);
    expect(await evidence()).toHaveLength(2);
  });

  test.each<[string, unknown, unknown, object[], ReturnType<typeof session>]>([
    ["a register of kWh that is text", "0", "7000.4", [], session("08:00", "09:00", 7000)],
    ["1 Wh below its start", 1000, 999, [], session("08:00", "09:00", 0)],
    ["0 and 0", 0, 0, [], session("08:00", "09:00", 0)],
    ["0 and 0, with a value", 0, 0, [sample("08:59", 4000)], session("08:00", "09:00", 4000)],
    ["0, with values", 1000, 0, [sample("08:30", 3000), sample("08:59", 4000)], session("08:00", "09:00", 3000)],
    ["0, with a value of the end", 1000, 0, [sample("08:59", 4000, END)], session("08:00", "09:00", 3000)],
    [
      "far below, with values that drop",
      1000,
      500,
      [sample("08:30", 4000), sample("08:40", 0)],
      session("08:00", "09:00", 3000),
    ],
    ["far below, without values", 1000, 500, [], session("08:00", "09:00", -500, "negative")],
    ["0 at the start only, by values", 0, 0.0, [], session("08:00", "09:00", 0)],
    ["missing, with values", 1000, undefined, [sample("08:59", 4000)], session("08:00", "09:00", 3000)],
    ["missing, without values", 1000, undefined, [], session("08:00", "09:00", 0, "no_end")],
    [
      "right, with values of kWh labelled Wh",
      100_000,
      103_000,
      [sample("08:30", "101.5")],
      session("08:00", "09:00", 3000),
    ],
    [
      "0, with values of kWh labelled Wh",
      100_000,
      0,
      [sample("08:30", "101.5")],
      session("08:00", "09:00", -100_000, "negative"),
    ],
    ["more than the charger can give", 0, 900_000, [], session("08:00", "09:00", 900_000, "beyond_power")],
  ])("a stop at a register that is %s", async (_, meterStart, meterStop, transactionData, expected) => {
    const { payload } = await tell(started("08:00", meterStart));
    await tell(stopped(payload.transactionId, "09:00", meterStop, { transactionData }));
    expect(await sessions()).toEqual([expected]);
  });

  test("values that name a charge that ended before are those of the next, and are not counted twice", async () => {
    const one = (await tell(started("08:00", 1000))).payload.transactionId;
    await tell(stopped(one, "09:00", undefined, { transactionData: [sample("08:59", 4000)] }));
    const two = (await tell(started("10:00", 4000))).payload.transactionId;
    await tell(values(one, sample("10:30", 7000)));
    expect(await sessions()).toEqual([session("08:00", "09:00", 3000), session("10:00", null, 3000)]);
    // a value of before its end may come late
    await tell(stopped(two, "11:00", 8000), values(one, sample("09:00", 4200)), values(one, sample("11:30", 9000)));
    expect(await sessions()).toEqual([session("08:00", "09:00", 3200), session("10:00", "11:00", 4000)]);
  });

  test("a charge that a stop ended by a guess has the values that come after it, if its own stop comes", async () => {
    const { transactionId } = (await tell(started("08:00", 1000))).payload;
    await tell(stopped(0, "09:00", 3000), values(transactionId, sample("09:30", 5000)));
    expect(await sessions()).toEqual([session("08:00", "09:00", 2000)]);
    await tell(stopped(transactionId, "10:00", undefined));
    expect(await sessions()).toEqual([session("08:00", "10:00", 4000)]);
    // not those of after another began, open or ended
    const next = (await tell(started("10:30", 5000))).payload;
    await tell(stopped(0, "11:00", undefined, { transactionData: [sample("10:59", 7000)] }));
    const last = (await tell(started("11:10", 7000))).payload;
    await tell(values(next.transactionId, sample("11:30", 8000)));
    expect((await sessions()).slice(1)).toEqual([session("10:30", "11:00", 2000), session("11:10", null, 1000)]);
    await tell(stopped(last.transactionId, "11:40", 8500), values(next.transactionId, sample("11:30", 8000)));
    expect((await sessions()).slice(1)).toEqual([session("10:30", "11:00", 2000), session("11:10", "11:40", 1500)]);
  });

  test("a start that did not know its register takes it from the values", async () => {
    const { payload } = await tell(started("08:00", 0));
    await tell(
      values(payload.transactionId, sample("08:00", 50_000, BEGIN)),
      values(payload.transactionId, sample("08:59", 55_000)),
    );
    await tell(stopped(payload.transactionId, "09:00", 0));
    expect(await sessions()).toEqual([session("08:00", "09:00", 5000)]);
    await tell(started("10:00", 0));
    await tell(
      stopped(-1, "11:00", undefined, {
        transactionData: [sample("10:00", 55_000, BEGIN), sample("11:00", 58_000, END)],
      }),
    );
    expect((await sessions())[1]).toEqual(session("10:00", "11:00", 3000));
  });

  test.each([0, -1, -16, "9223372036854775807", 9.3e18, 2147483647, null])(
    "a stop of transaction %j ends the one that is open",
    async (id) => {
      await tell(started("08:00", 1000));
      expect(await tell(stopped(id, "09:00", 6000))).toEqual({ payload: {} });
      expect(await sessions()).toEqual([session("08:00", "09:00", 5000)]);
    },
  );

  test("a stop of a transaction of another charger does not touch that charger; its words are kept up to the quota", async () => {
    const { payload } = await tell(started("08:00", 1000));
    const mine = link;
    const other = await world.post("/chargers", { nickname: "Tuin", connection_type: "ocpp" }, await user.token());
    credentials = other.body.ocpp;
    link = await connect();
    await tell(stopped(payload.transactionId, "09:00", 6000));
    expect(await sessions()).toEqual([]);
    // its words are kept, once
    await tell(stopped(payload.transactionId, "09:00", 6000));
    expect(await evidence()).toMatchObject([{ session_id: null, document: { action: "StopTransaction" } }]);
    // but not over what we keep of a charger in a day
    await world.row("update core.evidence_limits set bytes_a_day = 1 where kind = 'charger'");
    await tell(stopped(payload.transactionId, "09:30", 6500));
    await world.row("update core.evidence_limits set bytes_a_day = 4194304 where kind = 'charger'");
    expect(await evidence()).toHaveLength(1);
    await tell(stopped(payload.transactionId, "09:31", 6500));
    expect(await evidence()).toHaveLength(2);
    link = mine;
    expect(await sessions()).toEqual([session("08:00", null, 0)]);
  });

  test("a stop of a day offline, whose start never came, is a session by its own values", async () => {
    const data = [sample("02:00", 1000, BEGIN), sample("03:00", 8000, END)];
    for (let n = 0; n < 2; n += 1)
      await tell(sent(stopped(-5, "03:00", 8000, { transactionData: data }), { live: false }));
    expect(await sessions()).toEqual([session("02:00", "03:00", 7000)]);
  });

  test("of two open transactions on two connectors an unknown stop means neither", async () => {
    await tell(started("08:00", 1000), started("08:00", 1000, { connectorId: 2 }));
    await tell(stopped(-1, "09:00", 6000));
    expect(await sessions()).toEqual([session("08:00", null, 0), session("08:00", null, 0)]);
  });

  test("a stop of an unknown transaction ends none of a charger that has used two connectors, unless its begin says which", async () => {
    await tell(started("08:00", 1000));
    const two = await tell(started("08:10", 50_000, { connectorId: 2 }));
    await tell(stopped(two.payload.transactionId, "08:20", 51_000));
    await tell(stopped(0, "09:00", 60_000));
    expect(await sessions()).toEqual([session("08:00", null, 0), session("08:10", "08:20", 1000)]);
    await tell(
      stopped(0, "09:30", 6000, { transactionData: [sample("08:00", 1000, BEGIN), sample("09:30", 6000, END)] }),
    );
    expect((await sessions())[0]).toEqual(session("08:00", "09:30", 5000));
  });

  test("a stop whose own readings began elsewhere is a session of its own, once, and so is one at the same second", async () => {
    const { payload } = await tell(started("08:00", 1000));
    const data = [sample("06:00", 50_000, BEGIN), sample("07:00", 58_000, END)];
    const other = [sample("05:00", 90_000, BEGIN), sample("05:30", 91_000, END)];
    for (let n = 0; n < 2; n += 1) await tell(stopped(-1, "09:00", 58_000, { transactionData: data }));
    await tell(stopped(-1, "09:00", 91_000, { transactionData: other }));
    expect((await sessions()).map(({ from, wh }: { from: string; wh: number }) => [from, wh])).toEqual([
      ["05:00", 1000],
      ["06:00", 8000],
      ["08:00", 0],
    ]);
    await tell(stopped(payload.transactionId, "10:00", 6000));
    expect((await sessions())[2]).toMatchObject({ from: "08:00", to: "10:00", wh: 5000 });
  });

  test("a stop of an unknown transaction that comes again ends nothing else, and the stop of the transaction itself counts instead", async () => {
    const { payload } = await tell(started("08:00", 1000));
    const unknown = stopped(0, "09:00", 3000);
    await tell(unknown);
    const next = await tell(started("09:00", 2000));
    await tell(unknown);
    expect(await sessions()).toEqual([session("08:00", "09:00", 2000), session("09:00", null, 0)]);
    await tell(stopped(payload.transactionId, "08:50", 1900), stopped(payload.transactionId, "08:55", 1950));
    await tell(stopped(next.payload.transactionId, "10:00", 4000));
    expect(await sessions()).toEqual([session("08:00", "08:50", 900), session("09:00", "10:00", 2000)]);
    // it is below what the one that runs had reached
    const last = await tell(started("10:00", 4000));
    await tell(values(last.payload.transactionId, sample("11:00", 9000)), stopped(0, "11:30", 4500));
    expect((await sessions())[2]).toEqual(session("10:00", null, 5000));
  });

  test("a sample of 1970 is no begin, and a start of tomorrow hides no other", async () => {
    const unset = { timestamp: "1970-01-01T00:00:10Z", sampledValue: [{ value: 1, context: "Transaction.Begin" }] };
    const queued = { live: false };
    await tell2(
      event("Started", "08:00", [sample("08:00", 1000, BEGIN)]),
      sent(event("Updated", "08:10", [unset, sample("08:10", 2000)]), queued),
      sent(event("Updated", "08:20", [unset], { timestamp: unset.timestamp }), queued),
      event("Ended", "09:00", [sample("09:00", 6000, END)]),
    );
    expect(await sessions()).toEqual([session("08:00", "09:00", 5000)]);
    await tell(sent(started("09:00", 7000, { timestamp: "2026-08-16T08:00:00Z" }), queued));
    await tell(started("10:00", 8000), stopped(-1, "11:00", 9000));
    expect((await sessions())[1]).toEqual(session("10:00", "11:00", 1000));
  });

  test("a start without a stop before it leaves that one open, and after two days it has no end, until it has", async () => {
    const { payload } = await tell(started("08:00", 1000));
    await tell(started("10:00", 6000));
    // the newest is the one that charges
    const [charger] = (await world.get("/chargers", await user.token())).body.chargers;
    expect(charger).toMatchObject({ is_charging: true, current_session: { started_at: "2026-08-15T10:00:00Z" } });
    const run = async (time: string) => {
      await world.freeze(time);
      await runDueJobs(world);
    };
    await run("2026-08-17T11:00:00Z");
    expect(await sessions()).toEqual([session("08:00", null, 0), session("10:00", null, 0)]);
    await run("2026-08-17T13:00:00Z");
    expect(await sessions()).toEqual([session("08:00", null, 0, "no_end"), session("10:00", null, 0)]);
    await tell(stopped(payload.transactionId, "09:00", 6000));
    expect((await sessions())[0]).toEqual(session("08:00", "09:00", 5000));
    // what has readings ends with the last one, until its stop comes
    const { transactionId } = (await tell(started("11:00", 50_000, { connectorId: 2 }))).payload;
    const more = (time: string, wh: number): Said => [
      "MeterValues",
      { connectorId: 2, transactionId, meterValue: [sample(time, wh)] },
    ];
    await tell(more("11:30", 53_000));
    await run("2026-08-19T14:00:00Z");
    expect((await sessions())[2]).toEqual(session("11:00", "11:30", 3000));
    await tell(more("11:45", 54_000));
    expect((await sessions())[2]).toEqual(session("11:00", "11:45", 4000));
    await tell(stopped(transactionId, "12:00", 55_000));
    expect((await sessions())[2]).toEqual(session("11:00", "12:00", 5000));
    await world.freeze(NOW);
  });

  test("four starts without a stop and one that ends: one session, and nothing charges", async () => {
    for (const time of ["08:00", "08:10", "08:20", "08:30"]) await tell(started(time, 1000));
    const { payload } = await tell(started("08:40", 1000));
    await tell(stopped(payload.transactionId, "09:00", 6000));
    const token = await user.token();
    expect((await world.get("/chargers", token)).body.chargers[0]).toMatchObject({ is_charging: false });
    const { body } = await world.get("/sessions", token);
    const states = body.sessions.map(({ status, kwh }: { status: string; kwh: number }) => [status, kwh]);
    expect(states).toEqual([["completed", 5], ...Array(4).fill(["active", 0])]);
  });

  test("a charger without the time: its live messages are of now, and each charge is one of its own", async () => {
    const boot = { timestamp: "1970-01-01T00:00:10Z" };
    for (const [hour, meterStop] of [
      ["08", 3000],
      ["10", 2000],
    ] as const) {
      const received_at = `2026-08-15T${hour}:00:00.000Z`;
      const { payload } = await tell(sent(started("00:00", 0, boot), { received_at }));
      await tell(
        sent(stopped(payload.transactionId, "00:00", meterStop, { timestamp: "1970-01-01T01:00:10Z" }), {
          received_at: received_at.replace(":00:", ":50:"),
        }),
      );
    }
    expect(await sessions()).toEqual([session("08:00", "08:50", 3000), session("10:00", "10:50", 2000)]);
    expect((await evidence())[1]).toMatchObject({ end_from: "clock" });
  });

  test.each(["1970-01-01T00:00:10Z", "2026-08-16T08:00:00Z"])(
    "what was queued under a clock of %s is flagged",
    async (timestamp) => {
      const { payload } = await tell(sent(started("08:00", 0, { timestamp }), { live: false }));
      await tell(sent(stopped(payload.transactionId, "09:00", 3000, { timestamp }), { live: false }));
      const [only] = await sessions();
      expect(only.flags).toContain("wrong_clock");
    },
  );

  test("values outside a transaction move the meter only, and drop back never", async () => {
    await tell(values(undefined, sample("08:00", 5000)), values(undefined, sample("07:00", 1)));
    expect(await sessions()).toEqual([]);
    expect((await world.get("/chargers", await user.token())).body.chargers).toMatchObject([{ latest_meter_wh: 5000 }]);
  });

  test("of a backlog the reading that was measured last is the meter's, in whatever order it comes", async () => {
    const meter = async () => {
      const { latest_meter_wh, meter_updated_at } = (await world.get("/chargers", await user.token())).body.chargers[0];
      return [latest_meter_wh, meter_updated_at];
    };
    const { transactionId } = (await tell(started("08:00", 200_000))).payload;
    await tell(values(transactionId, sample("08:30", 204_000)));
    expect(await meter()).toEqual([204_000, at("08:30")]);
    await tell(values(transactionId, sample("09:00", 207_000)));
    expect(await meter()).toEqual([207_000, at("09:00")]);
    await tell(values(transactionId, sample("08:45", 205_000)), stopped(transactionId, "09:30", 211_500));
    expect(await meter()).toEqual([211_500, at("09:30")]);
    await tell(values(undefined, sample("09:15", 209_000)));
    expect(await meter()).toEqual([211_500, at("09:30")]);
    await tell2(
      event("Started", "10:00", [sample("10:00", 211_500)]),
      event("Updated", "10:30", [sample("10:30", 215_000)]),
    );
    expect(await meter()).toEqual([215_000, at("10:30")]);
  });

  test("signed values are kept as they came", async () => {
    const { payload } = await tell(started("08:00", 0));
    const signed = { value: "OCMF|{}|{}", format: "SignedData", context: "Transaction.End" };
    await tell(
      stopped(payload.transactionId, "09:00", 3000, {
        transactionData: [{ timestamp: at("09:00"), sampledValue: [signed] }],
      }),
    );
    expect((await evidence())[1]).toMatchObject({ signed: ["OCMF|{}|{}"], signature: "unchecked" });
  });

  test("text that no database stores loses no session", async () => {
    const { payload } = await tell(started("08:00", 0, { idTag: "\u0000", reason: "\ud800", "\u0000": 1 }));
    await tell(stopped(payload.transactionId, "09:00", 3000, { reason: "a\u0000b" }));
    expect(await sessions()).toEqual([session("08:00", "09:00", 3000)]);
  });

  test("a start that lacks all is logged, and gets an id of its own, by which its stop finds it", async () => {
    await tell(started("07:00", 1000, { connectorId: 2 }));
    const { payload } = await tell([
      "StartTransaction",
      { connectorId: 1, idTag: "secret-tag", timestamp: at("08:00") },
    ]);
    expect(payload.transactionId).toBeGreaterThan(0);
    expect(await tell(["StartTransaction", { connectorId: 1, timestamp: at("08:00") }])).toMatchObject({ payload });
    expect(world.log).toContainEqual(expect.objectContaining({ event: "ocpp_unusable", field: "meterStart" }));
    await tell(["secret-tag", [] as object]);
    expect(world.log).toContainEqual(expect.objectContaining({ event: "ocpp_unusable", action: "other" }));
    expect(JSON.stringify(world.log)).not.toContain("secret-tag");
    await tell(values(payload.transactionId, sample("08:30", 4000)), stopped(payload.transactionId, "09:00", 6000));
    const none = await tell(["StartTransaction", [] as object]);
    expect(none.payload.transactionId).toBeGreaterThan(payload.transactionId);
    await tell(stopped(none.payload.transactionId, "12:00", 9000));
    expect(await sessions()).toEqual([
      session("07:00", null, 0),
      session("08:00", "09:00", 2000),
      session("12:00", "12:00", 0, "no_end"),
    ]);
  });
});

describe("contract §6 OCPP 2.0.1", () => {
  const begin = sample("08:00", 1000, BEGIN);
  const end = sample("09:00", 6000, END);
  const events: Said[] = [
    event("Started", "08:00", [begin]),
    event("Updated", "08:30", [sample("08:30", 3000)]),
    event("Ended", "09:00", [end]),
  ];
  const orders = [
    [0, 1, 2],
    [2, 1, 0],
    [1, 2, 0],
    [2, 0, 1],
    [0, 2, 1],
    [1, 0, 2],
  ];

  test.each(orders.map((order) => [order.join(" ")]))(
    "events in the order %s, each twice, are one session",
    async (order) => {
      const said = order.split(" ").map((place) => events[Number(place)] as Said);
      await tell2(...said, ...said);
      expect(await sessions()).toEqual([session("08:00", "09:00", 5000)]);
    },
  );

  test.each<[string, Said[], ReturnType<typeof session>]>([
    [
      "without a start",
      [event("Updated", "08:10", [sample("08:10", 2000)]), event("Ended", "09:00", [end])],
      session("08:10", "09:00", 4000),
    ],
    ["of its end alone", [event("Ended", "09:00", [begin, end])], session("08:00", "09:00", 5000)],
    [
      "whose end has no values",
      [event("Started", "08:00", [begin]), event("Updated", "08:30", [sample("08:30", 3000)]), event("Ended", "09:00")],
      session("08:00", "09:00", 2000),
    ],
    [
      "without any reading",
      [event("Started", "08:00"), event("Ended", "09:00")],
      session("08:00", "09:00", 0, "no_end"),
    ],
    [
      "whose register drops for a sample",
      [
        event("Started", "08:00", [begin]),
        event("Updated", "08:30", [sample("08:30", 0)]),
        event("Ended", "09:00", [end]),
      ],
      session("08:00", "09:00", 5000),
    ],
    [
      "that ends twice",
      [
        event("Started", "08:00", [begin]),
        event("Ended", "09:00", [end]),
        event("Ended", "10:00", [sample("10:00", 9000, END)]),
      ],
      session("08:00", "09:00", 5000),
    ],
    [
      "with a late update",
      [
        event("Started", "08:00", [begin]),
        event("Ended", "09:00", [end]),
        event("Updated", "08:50", [sample("08:50", 9000)]),
      ],
      session("08:00", "09:00", 5000),
    ],
  ])("a transaction %s", async (_, said, expected) => {
    await tell2(...said);
    expect(await sessions()).toEqual([expected]);
  });

  test("a transaction of which only the end came drew its energy since the last end at its EVSE, a day at most", async () => {
    const ended = (id: string, time: string, from: number, to: number, evse = 1) =>
      event("Ended", time, [sample(time, from, BEGIN), sample(time, to, END)], {
        transactionInfo: { transactionId: id },
        evse: { id: evse },
      });
    // 22 kW and a tenth are 581 kWh a day; of what 0.85 kWh takes, 126 s, nine tenths must be free
    await world.row("update core.chargers set power_kw = 22 where id = $1", link.charger_id);
    await tell2(
      ended("other", "08:59", 5000, 6000, 2),
      ended("day", "09:00", 5000, 575_000),
      ended("more", "09:00", 5000, 595_000, 3),
      // 0 may be a register that it did not know yet
      ended("zero", "09:00", 0, 570_000, 4),
    );
    await tell2(ended("soon", "09:02", 575_000, 575_850), ended("too-soon", "09:03", 576_000, 578_000));
    expect(await sessions()).toEqual([
      session("08:59", "08:59", 1000),
      session("09:00", "09:00", 570_000),
      session("09:00", "09:00", 570_000, "meter_disagrees"),
      session("09:00", "09:00", 590_000, "beyond_power"),
      session("09:02", "09:02", 850),
      session("09:03", "09:03", 2000, "beyond_power"),
    ]);
  });

  test("a station that begins its ids again begins another charge", async () => {
    const again: Said[] = [
      event("Started", "10:00", [sample("10:00", 6000, BEGIN)]),
      event("Updated", "10:30", [sample("10:30", 8000)]),
      event("Ended", "11:00", [sample("11:00", 9000, END)]),
    ];
    await tell2(...events, ...again, ...events, ...again);
    expect(await sessions()).toEqual([session("08:00", "09:00", 5000), session("10:00", "11:00", 3000)]);
  });

  test("its EVSE comes from whichever event names it", async () => {
    await tell2(
      event("Started", "08:00", [begin], { evse: undefined }),
      event("Updated", "08:30", [], { evse: { id: 2 } }),
    );
    expect(
      await world.row("select connector from core.charging_sessions where charger_id = $1", link.charger_id),
    ).toEqual({ connector: 2 });
  });
});

describe("contract §6 what a charger is", () => {
  const boot = (serial: string): Said => [
    "BootNotification",
    {
      chargePointVendor: MID_CHARGER.ocpp_vendor,
      chargePointModel: MID_CHARGER.ocpp_model,
      chargePointSerialNumber: serial,
      firmwareVersion: "7.1",
    },
  ];

  test("its first boot is an event in the log of its owner's partner, later ones are none", async () => {
    await world.row("select private.reserve_customer($1, $2, 'manual')", user.id, world.partnerA.id);
    await Promise.all([tell(boot("ACE 0100")), tell(boot("ACE 0100")), tell2(boot("ACE 0100"))]);
    link = await connect();
    await tell(boot("ACE 0100"));
    const { list } = await world.row(
      "select json_agg(json_build_object('type', type, 'owner', owner_id, 'data', data) order by arrival) as list from core.events where subject_id = $1",
      link.charger_id,
    );
    expect(list).toEqual([
      { type: "charger.connected", owner: world.partnerA.id, data: {} },
      { type: "charger.mid_confirmed", owner: world.partnerA.id, data: { mid_eligible: true } },
    ]);
  });

  test("while another active registration has its serial number, its sessions count nowhere; then all do", async () => {
    const other = await world.addUser();
    const answer = await world.post("/chargers", { nickname: "Oprit", connection_type: "ocpp" }, await other.token());
    const first = { ...link };
    const rows = async (statement: string) => (await world.database.admin.query(statement, [link.charger_id])).rows;
    await tell(boot("ACE 0300"));
    const { identity, password } = answer.body.ocpp;
    const { body } = await world.post("/ocpp/chargers:admit", { identity, password }, secret);
    link = { charger_id: body.charger_id, generation: body.generation };
    const { payload } = await tell(started("08:00", 0));
    await tell(stopped(payload.transactionId, "09:00", 5000));
    const flags = async () =>
      (await rows("select flags from core.charging_sessions where charger_id = $1 order by started_at")).map(
        (row) => row.flags,
      );
    const months = () => rows("select wh::int from core.charger_months where charger_id = $1");
    expect([await flags(), await months()]).toEqual([[[]], [{ wh: 5000 }]]);
    await tell(boot("ACE 0300"));
    const next = await tell(started("09:30", 5000));
    await tell(stopped(next.payload.transactionId, "10:30", 9000));
    expect([await flags(), await months()]).toEqual([[["other_registration"], ["other_registration"]], [{ wh: 0 }]]);
    await world.row(
      "update core.chargers set status = 'removed', removed_at = private.now() where id = $1",
      first.charger_id,
    );
    await tell(values(undefined, sample("11:00", 9000)));
    expect([await flags(), await months()]).toEqual([[[], []], [{ wh: 9000 }]]);
    expect(
      await world.row("select serial_number, counts_from from core.chargers where id = $1", link.charger_id),
    ).toEqual({ serial_number: "ACE0300", counts_from: null });
  });

  const NOTED = "2026-08-15T12:00:00Z";
  test("the operator reads its story, and which chargers tell the serial number of another", async () => {
    const operator = operatorOf(world.database);
    const first = link.charger_id;
    expect((await operator(`charger story ${first}`)).json).toMatchObject({
      transactions: [],
      link: { boot: null },
      charger: { password_refused_at: null },
    });
    await world.post("/ocpp/chargers:admit", { ...credentials, password: "wrong" }, secret);
    await tell(boot("ACE 0200"));
    const { payload } = await tell(started("08:00", 100_000));
    await tell(
      values(payload.transactionId, sample("08:30", 104_000)),
      stopped(payload.transactionId, "12:00", 105_500),
    );
    expect((await operator("charger conflicts")).json).toEqual({ conflicts: [] });

    const { body } = await world.post("/chargers", { nickname: "Twee", connection_type: "ocpp" }, await user.token());
    expect((await operator(`charger story ${body.id}`)).json.link).toBe(null);
    credentials = { identity: body.ocpp.identity, password: body.ocpp.password };
    link = await connect();
    await tell(boot("ace0200"), boot("ace0200"));
    expect((await operator("charger conflicts")).json).toEqual({
      conflicts: [
        {
          ...{ charger_id: link.charger_id, brand: "Alfen", serial_number: "ACE0200" },
          ...{ reason: "booted_as", held_by: first, since: NOTED },
        },
      ],
    });
    const story = await operator(`charger story ${first}`);
    expect(story.json).toMatchObject({
      charger: {
        charger_id: first,
        serial_number: "ACE0200",
        mid_eligible: true,
        meter_kwh: 105.5,
        last_seen_at: NOTED,
        password_refused_at: NOTED,
      },
      link: {
        protocol: "ocpp1.6",
        generation: 1,
        by_mirror: false,
        connected_at: NOTED,
        booted_at: NOTED,
        boot: { firmware: "7.1" },
      },
      transactions: [
        { start_wh: 100_000, last_wh: 104_000, end_wh: 105_500, clock: "charger", ended_by: "stop", counted_wh: 5_500 },
      ],
      waiting: [],
    });
    expect(story.json.changes.map(({ what }: { what: string }) => what)).toEqual([
      "charger.registered",
      "charger.identified",
    ]);
    expect((await operator(`charger story ${user.id}`)).err).toMatch(/No charger has the id/);
  });

  test("the operator sees that a mirror loses messages", async () => {
    const operator = operatorOf(world.database);
    await tell(started("08:00", 100_000), values(77, sample("08:30", 104_000)), started("10:00", 105_500));
    await tell(stopped(78, "10:30", 106_000), stopped(79, "11:00", 400_000));
    const story = await operator(`charger story ${link.charger_id}`);
    const row = {
      called: ["77"],
      ended_by: "last value",
      ended_at: "2026-08-15T08:30:00Z",
      last_wh: 104_000,
      end_wh: null,
    };
    expect(story.json).toMatchObject({
      link: { ids_of_another: true },
      waiting: [{ transaction: "79", at: "2026-08-15T11:00:00Z", meter_wh: 400_000 }],
      transactions: [{ called: ["78"], ended_by: "guess", end_wh: 106_000 }, row],
    });
  });

  test("attack: at one mirror's address two chargers: the second one's kWh count nowhere, and the operator sees it", async () => {
    const copied = async (line: typeof link, ...said: Said[]) => {
      for (const [action, payload] of said) {
        const sent_sha256 = createHash("sha256").update(JSON.stringify(payload)).digest("hex");
        const messages = [{ action, payload, received_at: NOW, live: true, sent_sha256 }];
        const told = { ...line, protocol: "ocpp1.6", mirror: true, messages };
        expect((await world.post("/ocpp/messages", told, secret)).status).toBe(200);
      }
    };
    const own = link;
    const wh = async () => (await sessions()).map((each: { wh: number }) => each.wh);
    await copied(own, boot("ACE 0900"), started("06:00", 1_000), stopped(5, "07:00", 3_000));
    const other = await connect();
    await copied(other, boot("ACE 0901"), started("08:00", 50_000), stopped(9, "09:00", 59_000));
    expect(await wh()).toEqual([2_000]);
    await copied(own, started("08:30", 3_000), stopped(6, "09:30", 6_000));
    expect(await wh()).toEqual([2_000, 3_000]);
    const later = await connect();
    await copied(later, started("10:00", 59_000), stopped(9, "10:30", 60_000));
    expect(await wh(), "nobody knows whose a new line is").toEqual([2_000, 3_000]);
    await copied(later, boot("ACE 0900"), started("10:40", 6_000), stopped(9, "10:50", 7_000));
    expect(await wh()).toEqual([2_000, 3_000, 1_000]);
    for (let n = 0; n < 21; n += 1) await copied(await connect(), boot("ACE 0901"));
    await copied(later, started("11:00", 7_000), stopped(9, "11:10", 7_500));
    expect(await wh(), "however often the other one boots").toEqual([2_000, 3_000, 1_000, 500]);
    const story = async () => (await operatorOf(world.database)(`charger story ${link.charger_id}`)).json;
    expect(await story()).toMatchObject({
      charger: { serial_number: "ACE0900" },
      link: { another_serial_number: "ACE0901", another_at: "2026-08-15T12:00:00Z" },
    });
    // its words are kept
    expect((await evidence()).filter((each: { session_id: string | null }) => each.session_id === null)).not.toEqual(
      [],
    );
    await world.post(`/chargers/${link.charger_id}/ocpp-credentials`, {}, await user.token());
    expect((await story()).link).toMatchObject({ another_serial_number: null });
  });

  test("attack: a charger that named another's number counts again once it names its own", async () => {
    await tell(boot("ACE 0300"));
    const { body } = await world.post("/chargers", { nickname: "Twee", connection_type: "ocpp" }, await user.token());
    credentials = { identity: body.ocpp.identity, password: body.ocpp.password };
    link = await connect();
    await tell(boot("ACE 0301"));
    const since = () => world.row("select counts_from::text from core.chargers where id = $1", link.charger_id);
    expect(await since()).toEqual({ counts_from: null });
    await tell(boot("ACE 0300"));
    expect(await since()).toEqual({ counts_from: "infinity" });
    await tell(boot("ACE 0301"));
    expect(await since()).toEqual({ counts_from: null });
  });

  test("attack: what a charger boots as is taken, whichever serial number it was registered by", async () => {
    const first = link.charger_id;
    const stands = () =>
      world.row("select serial_number, booted_as, counts_from::text from core.chargers where id = $1", link.charger_id);
    await tell(boot("ACE 0400"), boot("ACE 0499"));
    const { payload } = await tell(started("08:00", 100_000));
    await tell(stopped(payload.transactionId, "09:00", 101_000));
    expect(await stands()).toEqual({ serial_number: "ACE0400", booted_as: "ACE0499", counts_from: null });
    const taken = (brand: string) =>
      world.row("select private.charger_taken($1, 'ACE0499') as taken", brand).then(({ taken }) => taken);
    expect([await taken("Alfen"), await taken("Easee")]).toEqual([true, false]);

    const { body } = await world.post("/chargers", { nickname: "Twee", connection_type: "ocpp" }, await user.token());
    credentials = { identity: body.ocpp.identity, password: body.ocpp.password };
    link = await connect();
    await tell(boot("ACE 0499"));
    expect(await stands()).toEqual({ serial_number: null, booted_as: "ACE0499", counts_from: "infinity" });
    const conflicts = async () =>
      (await operatorOf(world.database)("charger conflicts")).json.conflicts.filter(
        ({ charger_id }: { charger_id: string }) => charger_id === link.charger_id,
      );
    expect(await conflicts()).toMatchObject([{ reason: "booted_as", held_by: first }]);
    // the first goes, and leaves the time since
    await world.row(
      "update core.chargers set status = 'removed', removed_at = '2026-08-15T11:00Z' where id = $1",
      first,
    );
    await tell(boot("ACE 0499"));
    expect(await stands()).toEqual({
      serial_number: "ACE0499",
      booted_as: null,
      counts_from: expect.stringContaining("2026-08-15"),
    });
    expect(await conflicts()).toEqual([]);
  });
});

describe("contract §6 a serial number that several registrations tell", () => {
  const boot = (serial?: string): Said => [
    "BootNotification",
    {
      chargePointVendor: MID_CHARGER.ocpp_vendor,
      chargePointModel: MID_CHARGER.ocpp_model,
      ...(serial === undefined ? {} : { chargePointSerialNumber: serial }),
    },
  ];
  let count = 0;
  const newNumber = () => {
    count += 1;
    return `ACE05${String(count).padStart(4, "0")}`;
  };
  type Link = typeof link;
  const of = async <T>(charger: Link, run: () => Promise<T>): Promise<T> => {
    const before = link;
    link = charger;
    try {
      return await run();
    } finally {
      link = before;
    }
  };
  /** Another charger, of another person unless of this one. */
  const another = async (owner?: User, ocpp_identity?: string): Promise<Link> => {
    const token = await (owner ?? (await world.addUser())).token();
    const { body } = await world.post("/chargers", { nickname: "Twee", connection_type: "ocpp", ocpp_identity }, token);
    const { identity, password } = body.ocpp;
    const admitted = await world.post("/ocpp/chargers:admit", { identity, password }, secret);
    return { charger_id: admitted.body.charger_id, generation: admitted.body.generation };
  };
  const charge = async (from: string, to: string, start: number, end: number) => {
    const { payload } = await tell(started(from, start));
    await tell(stopped(payload.transactionId, to, end));
  };
  const flags = async () => (await sessions()).map(({ flags }: { flags: string[] }) => flags);
  const remove = (charger: Link, at: string) =>
    world.row("update core.chargers set status = 'removed', removed_at = $2 where id = $1", charger.charger_id, at);
  const stands = () =>
    world.row("select serial_number, booted_as, counts_from::text from core.chargers where id = $1", link.charger_id);
  const OTHER = ["other_registration"];

  test("attack: one charger added twice counts once, where its boot names no number or one of many", async () => {
    for (const serial of [
      undefined,
      "N/A",
      "0",
      "11111",
      "test 1",
      "UNKNOWN",
      "123456",
      "serial number",
      "chargebox-1",
    ]) {
      await tell(boot(serial));
      expect(await stands(), serial).toEqual({ serial_number: null, booted_as: null, counts_from: null });
    }
    await charge("08:00", "09:00", 100_000, 105_000);
    await of(await another(user), async () => {
      await tell(boot());
      await charge("08:00", "09:00", 100_000, 105_000);
      expect(await flags()).toEqual([OTHER]);
      await tell(boot(newNumber()));
      expect(await flags()).toEqual([[]]);
    });
    expect(await flags()).toEqual([[]]);
    await of(await another(undefined, "wallbox one"), async () => {
      await tell(boot("WALLBOX ONE"));
      expect(await stands()).toMatchObject({ serial_number: null });
      await tell(boot("xy".repeat(33)));
      expect((await stands()).serial_number, "the hash of one that is too long").toMatch(/^[0-9A-F]{64}$/);
    });
  });

  test("attack: a number that a stranger told and gave up costs its owner no kWh", async () => {
    const [empty, used] = [newNumber(), newNumber()];
    for (const [serial, wh] of [
      [empty, 0],
      [used, 500],
    ] as const) {
      await tell(boot(serial));
      await charge("09:30", "10:00", 5000, 5000 + wh);
      await remove(link, "2026-08-15T11:00:00Z");
      await of(await another(), async () => {
        await tell(boot(serial));
        for (const from of ["08:00", "09:40", "11:10"]) await charge(from, from.replace(/.$/, "9"), 7000, 7100);
        expect([wh, await flags()]).toEqual([wh, [[], wh === 0 ? [] : OTHER, []]]);
      });
      link = await another();
    }
  });

  test("attack: one charge of a year ago, told under a stranger's number, claims no year", async () => {
    const serial = newNumber();
    await tell(boot(serial));
    const [from, to] = ["2025-08-15T08:00:00Z", "2025-08-15T09:00:00Z"];
    const { payload } = await tell(sent(started("08:00", 5000, { timestamp: from }), { live: false }));
    await tell(sent(stopped(payload.transactionId, "09:00", 6000, { timestamp: to }), { live: false }));
    await world.freeze("2026-08-15T13:00:00.000Z");
    try {
      await remove(link, "2026-08-15T13:00:00Z");
      link = await another();
      await tell(boot(serial));
      expect(await stands()).toMatchObject({ counts_from: expect.stringContaining("2026-08-15 13:00") });
      await charge("08:00", "09:00", 7000, 8000);
      expect(await flags()).toEqual([[]]);
      const again = await tell(sent(started("08:00", 8000, { timestamp: "2025-08-15T08:30:00Z" }), { live: false }));
      await tell(sent(stopped(again.payload.transactionId, "09:00", 8500, { timestamp: to }), { live: false }));
      expect(await flags(), "and is not counted twice").toEqual([OTHER, []]);
      // nor once something else of it changes
      await tell(boot(newNumber()));
      await world.row("update core.chargers set counts_before = '2026-08-15T12:30Z' where id = $1", link.charger_id);
      expect(await flags()).toEqual([OTHER, []]);
    } finally {
      await world.freeze(NOW);
    }
  });

  test("the operator releases a number that a person without account holds wrongly", async () => {
    const operator = operatorOf(world.database);
    const serial = newNumber();
    await tell(boot(serial));
    await charge("09:30", "10:00", 5000, 5500);
    const wrong = link;
    link = await another();
    await tell(boot(serial));
    await charge("08:00", "09:00", 7000, 8000);
    expect(await flags()).toEqual([OTHER]);
    expect((await operator(`charger release ${wrong.charger_id}`)).err).toMatch(/--reason/);
    const release = `charger release ${wrong.charger_id} --reason ticket-4711`;
    const released = await operator(release);
    expect(released.err).toBe("");
    expect(released.json).toMatchObject({ changed: true, charger: { status: "removed" } });
    expect((await operator(release)).json).toMatchObject({ changed: false });
    expect((await operator(`charger release ${user.id} --reason x`)).err).toMatch(/No charger has the id/);
    await tell(values(undefined, sample("11:00", 9000)));
    expect(await flags()).toEqual([[]]);
    expect(await of(wrong, flags)).toEqual([OTHER]);
    const { details } = await world.row(
      "select details from core.audit_log where subject_id = $1 and action = 'charger.released'",
      wrong.charger_id,
    );
    expect(details).toEqual({ reason: "ticket-4711" });
  });

  test("the operator releases the first of two former registrations: the newest one has its time", async () => {
    const serial = newNumber();
    const lived = async (created_at: string, from: string, to: string, removed_at: string) => {
      await tell(boot(serial));
      await world.row("update core.chargers set created_at = $2 where id = $1", link.charger_id, created_at);
      await charge(from, to, 1000, 1500);
      await remove(link, removed_at);
    };
    await lived("2026-08-14T12:00:00Z", "06:00", "06:30", "2026-08-15T07:00:00Z");
    const wrong = link.charger_id;
    link = await another();
    await lived("2026-08-15T07:30:00Z", "08:00", "08:30", "2026-08-15T09:00:00Z");
    link = await another();
    await tell(boot(serial));
    await charge("06:40", "06:50", 1000, 1500);
    expect(await flags()).toEqual([OTHER]);
    await operatorOf(world.database)(`charger release ${wrong} --reason ticket-4711`);
    expect(await flags()).toEqual([[]]);
  });

  test("the operator releases a number after its owner registered: what was another's counts", async () => {
    const serial = newNumber();
    await tell(boot(serial));
    await charge("08:10", "10:00", 5000, 5500);
    await remove(link, "2026-08-15T11:00:00Z");
    const wrong = link.charger_id;
    link = await another();
    await tell(boot(serial));
    await charge("09:00", "10:00", 7000, 8000);
    expect(await flags()).toEqual([OTHER]);
    await operatorOf(world.database)(`charger release ${wrong} --reason ticket-4711`);
    expect(await flags()).toEqual([[]]);
  });

  test("a number that another charger only booted as changes nothing for one with its own, and the operator sees it", async () => {
    const shared = newNumber();
    await tell(boot(newNumber()), boot(shared));
    const first = link.charger_id;
    link = await another();
    await tell(boot(newNumber()));
    await charge("08:00", "09:00", 7000, 8000);
    await tell(boot(shared));
    expect(await flags()).toEqual([[]]);
    const { conflicts } = (await operatorOf(world.database)("charger conflicts")).json;
    const alike = conflicts.filter(({ reason }: { reason: string }) => reason === "booted_alike");
    expect(alike).toEqual([expect.objectContaining({ serial_number: shared })]);
    expect([alike[0].charger_id, alike[0].held_by].sort()).toEqual([first, link.charger_id].sort());
  });

  test("the own number of another is the other's from that boot on, until it is named no more", async () => {
    const [own, others] = [newNumber(), newNumber()];
    const other = await another();
    await of(other, () => tell(boot(others)));
    await tell(boot(own));
    await charge("06:00", "07:00", 1000, 2000);
    await world.freeze("2026-08-15T08:00:00.000Z");
    try {
      await tell(boot(others));
      await world.freeze("2026-08-15T11:00:00.000Z");
      await charge("09:00", "10:00", 2000, 3000);
      expect(await flags()).toEqual([[], OTHER]);
      await tell(boot(own));
      await world.freeze(NOW);
      await charge("11:00", "11:30", 3000, 4000);
      expect(await flags(), "what it told under the other's number stays the other's").toEqual([[], OTHER, []]);
    } finally {
      await world.freeze(NOW);
    }
  });

  test("a charger is released from another's number though its last boot named none", async () => {
    const serial = newNumber();
    await tell(boot(serial));
    const first = link;
    link = await another();
    await tell(boot(serial), boot());
    expect(await stands()).toMatchObject({ counts_from: "infinity" });
    await remove(first, NOW);
    await tell(values(undefined, sample("11:00", 9000)));
    expect(await stands()).toEqual({ serial_number: serial, booted_as: null, counts_from: null });
  });

  test("attack: what a charger once booted as stays reserved, and passes on as its own number does", async () => {
    const [own, one, two] = [newNumber(), newNumber(), newNumber()];
    await tell(boot(own), boot(one));
    await charge("08:00", "09:00", 1000, 2000);
    await tell(boot(two));
    const first = link;
    link = await another();
    await tell(boot(one));
    await charge("08:00", "09:00", 1000, 2000);
    expect(await flags(), "counted as that number").toEqual([OTHER]);
    expect((await operatorOf(world.database)("charger conflicts")).json.conflicts).toContainEqual(
      expect.objectContaining({ charger_id: link.charger_id, reason: "booted_as", held_by: first.charger_id }),
    );
    await remove(first, "2026-08-15T10:00:00Z");
    await tell(values(undefined, sample("11:00", 9000)));
    await charge("10:30", "11:00", 2000, 3000);
    expect(await flags()).toEqual([OTHER, []]);
  });

  test("attack: a charge of a former registration counts once, though the charger named a third one's number since", async () => {
    const [own, former, others] = [newNumber(), newNumber(), newNumber()];
    await tell(boot(former));
    await charge("08:00", "09:00", 1000, 2000);
    await remove(link, "2026-08-15T10:00:00Z");
    const other = await another();
    await of(other, () => tell(boot(others)));
    link = await another();
    await world.row(
      "update core.chargers set brand = (select brand from core.chargers where id = $2), serial_number = $3 where id = $1",
      ...[link.charger_id, other.charger_id, own],
    );
    await tell(boot(former));
    await charge("08:00", "09:00", 1000, 2000);
    expect(await flags()).toEqual([OTHER]);
    await tell(boot(others));
    await tell(boot(own));
    expect(await flags()).toEqual([OTHER]);
  });

  test.each([
    ["names a number since", undefined, () => newNumber()],
    ["names a number no longer", () => newNumber(), undefined],
    ["never named one", undefined, undefined],
  ])("attack: a charger that its owner added again, and %s, counts each charge once", async (_, before, since) => {
    const owner = await world.addUser();
    link = await another(owner);
    await tell(boot(before?.()));
    await charge("08:00", "09:00", 1000, 2000);
    expect(await flags()).toEqual([[]]);
    await remove(link, "2026-08-15T10:00:00Z");
    link = await another(owner);
    await tell(boot(since?.()));
    await charge("08:00", "09:00", 1000, 2000);
    await charge("10:30", "11:00", 2000, 3000);
    expect(await flags()).toEqual([OTHER, []]);
  });

  test("attack: a charger that tells another's number before its model counts nothing, though it names no number then", async () => {
    const serial = newNumber();
    await tell(boot(serial));
    link = await another();
    const unknown = { chargePointVendor: "Nobody", chargePointModel: "None", chargePointSerialNumber: serial };
    await tell(["BootNotification", unknown]);
    expect(await stands()).toEqual({ serial_number: null, booted_as: serial, counts_from: null });
    await tell(boot());
    expect(await stands()).toEqual({ serial_number: null, booted_as: serial, counts_from: "infinity" });
  });

  test("a board of a charger that was removed changes nothing before it came", async () => {
    const [own, board] = [newNumber(), newNumber()];
    await tell(boot(board));
    await charge("08:00", "09:00", 1000, 2000);
    await remove(link, "2026-08-15T10:00:00Z");
    link = await another();
    await tell(boot(own));
    await charge("08:00", "09:00", 5000, 6000);
    await tell(boot(board));
    expect(await flags()).toEqual([[]]);
  });
});

test("contract §6 a card is shown to its owner while it charges, and is in no other table, no log, no mail and no answer", async () => {
  const CARD = "04D1F0CARD77";
  const idToken = { idToken: CARD, type: "ISO14443", additionalInfo: [{ additionalIdToken: CARD, type: "X" }] };
  const tags = {
    idTag: CARD,
    IDTAG: CARD,
    parentIdTag: CARD,
    idToken,
    groupIdToken: idToken,
    customData: { idTag: CARD },
  };
  const data = [sample("08:00", 0, BEGIN), sample("09:00", 3000, END)];
  const answers = [];
  for (const [tellIn, said] of [
    [tell, ["Authorize", tags]],
    [tell, started("08:00", 0, tags)],
    [tell, stopped(-7, "09:00", 3000, { ...tags, transactionData: data })],
    [tell, stopped(-8, "09:30", 3000, tags)],
    [tell, ["StatusNotification", { ...tags, info: CARD }]],
    [tell, ["DataTransfer", { vendorId: "X", data: CARD }]],
    [tell2, ["Authorize", tags]],
    [tell2, event("Started", "10:00", [sample("10:00", 3000, BEGIN)], tags)],
    [tell2, event("Updated", "10:10", [sample("10:10", 4000, { context: "Transaction.Begin" })], tags)],
    [tell2, event("Ended", "11:00", [sample("11:00", 9000, END)], tags)],
    [tell2, ["NotifyEvent", { eventData: [{ actualValue: CARD }] }]],
    [tell, ["StartTransaction", { ...tags, timestamp: at("12:00") }]],
  ] as const)
    answers.push(await tellIn(said as unknown as Said));
  expect((await sessions()).length).toBeGreaterThan(2);
  expect((await evidence()).length).toBeGreaterThan(4);
  const { rows } = await world.database.admin.query(
    "select ended_at is null as runs, id_tag from core.ocpp_transactions where charger_id = $1 order by id",
    [link.charger_id],
  );
  expect(rows.map(({ runs, id_tag }) => [runs, id_tag])).toEqual([
    [false, null],
    [false, null],
    [true, CARD],
  ]);
  expect(await tablesWith(world, CARD)).toEqual(["core.ocpp_transactions"]);
  expect(await tablesWith(world, link.charger_id), "what is stored is found").toContain("core.charging_evidence");
  const shown = async (token: string) => (await world.get("/chargers", token)).body.chargers[0].current_session;
  expect(await shown(await user.token())).toMatchObject({ id_tag: CARD });
  expect(await shown(await user.appToken()), "an application is not the owner").not.toHaveProperty("id_tag");
  // the stop was lost: the next car has a card of its own
  const later = { received_at: "2026-08-15T15:05:00.000Z" };
  const other = { idTag: "04OTHER77" };
  const { payload } = await tell(sent(started("13:00", 9000, other), later));
  expect(await tablesWith(world, CARD)).toEqual([]);
  expect(await shown(await user.token())).toMatchObject({ id_tag: other.idTag });
  await tell(
    sent(stopped(payload.transactionId, "14:00", 9500, other), later),
    sent(started("13:00", 9000, other), later),
  );
  expect(await tablesWith(world, other.idTag), "a start that comes again is of a charge that ended").toEqual([]);
  // and a charger that is silent for two days
  const two = { transactionInfo: { transactionId: "t-2" } };
  await tell2(
    sent(event("Started", "15:00", [], two), later),
    sent(event("Updated", "15:01", [], { ...two, idToken }), later),
  );
  expect(await shown(await user.token())).toMatchObject({ id_tag: CARD });
  await world.row(
    "update core.chargers set last_seen_at = private.now() - interval '49 hours' where id = $1",
    link.charger_id,
  );
  await world.row("select private.forget_silent_cards()");
  expect(await tablesWith(world, CARD)).toEqual([]);
  for (const said of [answers, world.log, await world.mails()]) expect(JSON.stringify(said)).not.toContain(CARD);
});

describe("contract §6 who may tell", () => {
  test("a new password and a removal end every connection; a newer one ends only one that is silent", async () => {
    const told = (generation: number) =>
      world.post(
        "/ocpp/messages",
        {
          charger_id: link.charger_id,
          generation,
          protocol: "ocpp1.6",
          messages: [
            {
              action: "StartTransaction",
              payload: started("08:00", 0)[1],
              received_at: NOW,
              live: true,
              sent_sha256: "0".repeat(64),
            },
          ],
        },
        secret,
      );
    const seen = async ({ charger_id, generation } = link, silent = false) =>
      (await world.post("/ocpp/seen", { chargers: [{ charger_id, generation, silent }] }, secret)).body.gone;
    const first = link;
    expect(await seen()).toEqual([]);
    link = await connect();
    expect(link.generation).toBe(2);
    expect([await seen(first), await seen(first, true), await seen(link, true)]).toEqual([[], [first], []]);
    for (const generation of [1, 2]) expect((await told(generation)).status).toBe(200);

    const token = await user.token();
    const path = `/chargers/${link.charger_id}/ocpp-credentials`;
    const renewed = await world.post(path, {}, token);
    expect(renewed.status, JSON.stringify(renewed.body)).toBe(200);
    expect(renewed.body.ocpp).toEqual({
      identity: credentials.identity,
      endpoint: `wss://gateway.example/${credentials.identity}`,
      password: expect.stringMatching(/^[0-9a-f]{40}$/),
      mirror_endpoint: expect.stringMatching(/^wss:\/\/gateway\.example\/m\/[0-9a-f]{40}$/),
    });
    expect(await seen()).toEqual([link]);
    for (const generation of [1, 2])
      expect(await told(generation)).toMatchObject({ status: 409, body: { error: "connection_superseded" } });
    expect((await world.post("/ocpp/chargers:admit", credentials, secret)).body).toEqual({ ok: false });
    credentials = renewed.body.ocpp;
    link = await connect();
    expect(await seen()).toEqual([]);

    for (const length of [16, 20, 39, 40, undefined]) {
      const { body } = await world.post(path, { length }, token);
      expect(body.ocpp.password).toMatch(new RegExp(`^[0-9a-f]{${length ?? 40}}$`));
      credentials = body.ocpp;
      link = await connect();
      expect((await told(link.generation)).status).toBe(200);
    }
    for (const length of [15, 41, 16.5, "20", null])
      expect(await world.post(path, { length }, token)).toMatchObject({
        status: 400,
        body: { error: "invalid_request" },
      });

    const stranger = await (await world.addUser()).token();
    for (const bearer of [stranger, token])
      expect(
        (
          await world.post(
            `/chargers/${bearer === stranger ? link.charger_id : "nothing"}/ocpp-credentials`,
            {},
            bearer,
          )
        ).body.error,
      ).toBe("charger_not_found");

    await world.row(
      "update core.chargers set status = 'removed', removed_at = private.now() where id = $1",
      link.charger_id,
    );
    expect(await seen()).toEqual([link]);
    expect((await told(link.generation)).status).toBe(409);
    expect((await world.post(path, {}, token)).status).toBe(404);
  });

  test("an old password does not slip in while it is renewed, and nobody waits for each other", async () => {
    const holder = await world.database.admin.connect();
    const isWaiting = async () =>
      (
        await world.row(
          "select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
        )
      ).n;
    try {
      await holder.query("begin");
      await holder.query("update core.chargers set ocpp_password_hash = sha256('new') where id = $1", [
        link.charger_id,
      ]);
      const admitted = world.post("/ocpp/chargers:admit", credentials, secret);
      const [action, payload] = started("08:00", 0);
      const messages = [{ action, payload, received_at: NOW, live: true, sent_sha256: "0".repeat(64) }];
      const told = world.post("/ocpp/messages", { ...link, protocol: "ocpp1.6", messages }, secret);
      await expect.poll(isWaiting).toBe(2);
      await holder.query(
        "update core.ocpp_links set generation = generation + 1, valid_from = generation + 1 where charger_id = $1",
        [link.charger_id],
      );
      await holder.query("commit");
      expect((await admitted).body).toEqual({ ok: false });
      expect((await told).status).toBe(409);
    } finally {
      holder.release(true);
    }
  });

  test("a report of many chargers names each that is gone", async () => {
    const nobody = Array.from({ length: 999 }, (_, n) => ({
      charger_id: `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`,
      generation: 1,
    }));
    const { body } = await world.post("/ocpp/seen", { chargers: [...nobody, link] }, secret);
    expect(body.gone).toHaveLength(999);
    expect(body.gone).not.toContainEqual(link);
    const heard = () => world.row("select last_seen_at from core.chargers where id = $1", link.charger_id);
    await world.row("update core.chargers set last_seen_at = null where id = $1", link.charger_id);
    // a silent connection is asked about, and its charger was not heard of
    expect((await world.post("/ocpp/seen", { chargers: [{ ...link, silent: true }] }, secret)).body).toEqual({
      gone: [],
    });
    expect(await heard()).toEqual({ last_seen_at: null });
    await world.post("/ocpp/seen", { chargers: [link] }, secret);
    expect(await heard()).toEqual({ last_seen_at: new Date(NOW) });
  });
});
