// Charges as chargers of the field send them, and what is stored: kWh by hand, and flags.
// Public reports of the same kinds stand beside a row; the frames are made by hand.

import { createHash } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createWorld, type World } from "../harness/world.ts";

let world: World;
let secret: string;
let token: string;
let link: { charger_id: string; generation: number };

const NOW = "2026-08-15T12:00:00.000Z";
beforeAll(async () => {
  world = await createWorld({ limits: "lifted", variables: { OCPP_GATEWAY_URL: "wss://gateway.example" } });
  await world.freeze(NOW);
  secret = world.environment.config.GATEWAY_SECRET;
});
afterAll(() => world?.close());
let left = 0;
beforeEach(async () => {
  // a person has at most ten chargers
  if (left === 0) {
    token = await (await world.addUser()).token();
    left = 10;
  }
  left -= 1;
  const { body } = await world.post("/chargers", { nickname: "Oprit", connection_type: "ocpp" }, token);
  const { identity, password } = body.ocpp;
  const admitted = (await world.post("/ocpp/chargers:admit", { identity, password }, secret)).body;
  link = { charger_id: admitted.charger_id, generation: admitted.generation };
});

const day = (time: string) => (time.includes("T") ? time : `2026-08-15T${time}Z`);
type Frame = [action: string, payload: object];
/** A value at a time; a number is Wh at the outlet. */
const at = (time: string, value: unknown, more: object = {}) => ({
  timestamp: day(time),
  sampledValue: typeof value === "object" && Array.isArray(value) ? value : [{ value, ...more }],
});
const BEGIN = { context: "Transaction.Begin" };
const END = { context: "Transaction.End" };
const ID = "the id that we gave";

const start = (meterStart: unknown, time = "08:00:00", more: object = {}): Frame => [
  "StartTransaction",
  { connectorId: 1, idTag: "A", timestamp: day(time), ...(meterStart === undefined ? {} : { meterStart }), ...more },
];
const values = (...meterValue: object[]): Frame => ["MeterValues", { connectorId: 1, transactionId: ID, meterValue }];
const loose = (...meterValue: object[]): Frame => ["MeterValues", { connectorId: 1, meterValue }];
const stop = (meterStop: unknown, time = "09:00:00", ...transactionData: object[]): Frame => [
  "StopTransaction",
  {
    transactionId: ID,
    timestamp: day(time),
    ...(meterStop === undefined ? {} : { meterStop }),
    ...(transactionData.length > 0 ? { transactionData } : {}),
  },
];
const event = (eventType: string, time: string, ...meterValue: object[]): Frame => [
  "TransactionEvent",
  {
    eventType,
    timestamp: day(time),
    seqNo: 0,
    transactionInfo: { transactionId: "tx" },
    evse: { id: 1 },
    ...(meterValue.length > 0 ? { meterValue } : {}),
  },
];

async function send(frames: readonly Frame[], live: boolean, received_at = NOW): Promise<void> {
  let id: unknown;
  for (const [action, payload] of frames) {
    const named =
      "transactionId" in payload && payload.transactionId === ID ? { ...payload, transactionId: id } : payload;
    const sent_sha256 = createHash("sha256").update(JSON.stringify(named)).digest("hex");
    const protocol = action === "TransactionEvent" ? "ocpp2.0.1" : "ocpp1.6";
    const messages = [{ action, payload: named, received_at, live, sent_sha256 }];
    const { status, body } = await world.post("/ocpp/messages", { ...link, protocol, messages }, secret);
    expect(status, JSON.stringify(body)).toBe(200);
    if (action === "StartTransaction") id = body.answers[0].payload.transactionId;
  }
}
const stored = async () =>
  (
    await world.row(
      `select coalesce(json_agg(json_build_array(wh / 1000.0, flags) order by started_at, wh), '[]') as list
         from core.charging_sessions where charger_id = $1`,
      link.charger_id,
    )
  ).list;

type Row = [what: string, frames: Frame[], kwh: number, ...flags: string[]];
const YOUNG = 8_000;

const REGISTER_AT_THE_START: Row[] = [
  // evcc 29374, 29654: a lifetime register as one charge
  ["0, and its Begin has the register", [start(0), values(at("08:00:10", 909_948, BEGIN)), stop(915_000)], 5.052],
  ["0, and the Begin of a young charger", [start(0), values(at("08:00:10", YOUNG, BEGIN)), stop(12_000)], 4],
  [
    "0, and the Begin of a young charger comes with the stop, at its time",
    [start(0), stop(12_000, "09:00:00", at("09:00:00", YOUNG, BEGIN), at("09:00:00", 12_000, END))],
    4,
  ],
  ["0, and its first value has the register", [start(0), values(at("08:15:00", 909_948)), stop(915_000)], 5.052],
  [
    "0, and values of 0 before the register",
    [start(0), values(at("08:05:00", 0), at("08:06:00", 50_000)), stop(53_000)],
    3,
  ],
  [
    "0, and a Begin of 0 before the register",
    [start(0), values(at("08:00:00", 0, BEGIN), at("08:06:00", 50_000)), stop(53_000)],
    3,
  ],
  [
    "0, of a charger that counts from 0",
    [start(0), values(at("08:00:00", 0, BEGIN), at("08:30:00", 5_000)), stop(10_000)],
    10,
  ],
  ["0, and a first value that it can have charged", [start(0), values(at("08:30:00", 5_000)), stop(10_000)], 10],
  ["0, without values", [start(0), stop(10_000)], 10],
  [
    "0, values from 0 and a stop of the young register",
    [start(0), values(at("08:00:00", 0), at("08:55:00", 4_000)), stop(45_000)],
    45,
    "meter_disagrees",
  ],
  ["0, values of the register and a stop from 0", [start(0), values(at("08:00:05", 50_000, BEGIN)), stop(5_000)], 5],
  ["0, a Begin and a stop of 0", [start(0), values(at("08:00:05", 50_000, BEGIN)), stop(0)], 0, "no_end"],
  ["-1, and its Begin", [start(-1), values(at("08:00:00", 50_000, BEGIN)), stop(53_000)], 3],
  ["-1, and its first value", [start(-1), values(at("08:15:00", YOUNG)), stop(12_000)], 4],
  ["-1, without values", [start(-1), stop(12_000)], 0, "no_end"],
  ["the largest of 31 bits", [start(2147483647), values(at("08:01:00", YOUNG)), stop(12_000)], 4],
  ["the largest of 32 bits, as text", [start("4294967295"), values(at("08:01:00", YOUNG)), stop(12_000)], 4],
  ["the largest of 63 bits", [start("9223372036854775807"), values(at("08:01:00", YOUNG)), stop(12_000)], 4],
  ["missing", [start(undefined), values(at("08:01:00", YOUNG)), stop(12_000)], 4],
  ["no number", [start("NaN"), values(at("08:01:00", YOUNG)), stop(12_000)], 4],
  [
    "another than its Begin of the same minute",
    [start(50_000), values(at("08:00:30", 20_000, BEGIN)), stop(53_000)],
    3,
    "meter_disagrees",
  ],
  ["0.1 kWh from its Begin", [start(50_000), values(at("08:00:30", 50_100, BEGIN)), stop(53_000)], 3],
  // MicroOcpp 66, Home Assistant ocpp 919: values from 0 beside a meterStart that grows
  [
    "known, and values from 0",
    [start(50_000), values(at("08:00:30", 5, BEGIN), at("08:30:00", 1_500)), stop(53_000)],
    3,
  ],
  ["known, a Begin an hour later", [start(50_000), values(at("08:59:00", 20_000, BEGIN)), stop(53_000)], 3],
  [
    "known, values from 0 and no stop",
    [start(50_000), values(at("08:00:30", 0, BEGIN), at("08:30:00", 3_000)), stop(undefined)],
    3,
  ],
  [
    "known, and far below the first value",
    [start(1_000), values(at("08:00:30", 50_000)), stop(53_000)],
    52,
    "meter_disagrees",
  ],
  // citrineos-core 1060: a Begin of 0 of a station that was offline
  [
    "2.0.1: 0, and a later value has the register",
    [
      event("Started", "08:00:00", at("08:00:00", 0, BEGIN)),
      event("Updated", "08:10:00", at("08:10:00", 909_948)),
      event("Ended", "09:00:00", at("09:00:00", 910_031, END)),
    ],
    0.083,
  ],
  [
    "2.0.1: 0, of a young charger",
    [
      event("Started", "08:00:00", at("08:00:00", 0, BEGIN)),
      event("Updated", "08:01:00", at("08:01:00", YOUNG)),
      event("Ended", "09:00:00", at("09:00:00", 12_000, END)),
    ],
    4,
  ],
  [
    "2.0.1: 0, of a charger that counts from 0",
    [
      event("Started", "08:00:00", at("08:00:00", 0, BEGIN)),
      event("Updated", "08:30:00", at("08:30:00", 5_000)),
      event("Ended", "09:00:00", at("09:00:00", 10_000, END)),
    ],
    10,
  ],
  [
    "2.0.1: -1",
    [
      event("Started", "08:00:00", at("08:00:00", -1, BEGIN)),
      event("Updated", "08:15:00", at("08:15:00", YOUNG)),
      event("Ended", "09:00:00", at("09:00:00", 12_000, END)),
    ],
    4,
  ],
  [
    "2.0.1: missing",
    [
      event("Started", "08:00:00"),
      event("Updated", "08:15:00", at("08:15:00", YOUNG)),
      event("Ended", "09:00:00", at("09:00:00", 12_000, END)),
    ],
    4,
  ],
  [
    "2.0.1: far below the first value",
    [
      event("Started", "08:00:00", at("08:00:00", 1_000, BEGIN)),
      event("Updated", "08:00:30", at("08:00:30", 50_000)),
      event("Ended", "09:00:00", at("09:00:00", 53_000, END)),
    ],
    52,
    "meter_disagrees",
  ],
];

// a stop of an unknown transaction, with all that is known of the charge
const UNKNOWN_STOP: Row[] = [
  [
    "0, of a stop whose start never came",
    [stop(53_000, "09:00:00", at("08:00:00", 0, BEGIN), at("08:05:00", 50_000), at("09:00:00", 53_000, END))],
    3,
  ],
  [
    "known, of a stop whose start never came",
    [stop(53_000, "09:00:00", at("08:00:00", 50_000, BEGIN), at("09:00:00", 53_000, END))],
    3,
  ],
];

const NO_READING: Row[] = [
  // ocpp-go 114: -1 stands for unknown
  ["-1 at the stop", [start(1_000), values(at("08:30:00", 3_000)), stop(-1)], 2],
  ["-1 at the stop, and an End", [start(1_000), stop(-1, "09:00:00", at("09:00:00", 6_000, END))], 5],
  ["-1 at the stop, and nothing else", [start(1_000), stop(-1)], 0, "no_end"],
  ["the largest of 31 bits at the stop", [start(1_000), values(at("08:30:00", 3_000)), stop(2147483647)], 2],
  ["the largest of 32 bits at the stop", [start(1_000), values(at("08:30:00", 3_000)), stop(4294967295)], 2],
  ["the largest of 63 bits at the stop", [start(1_000), values(at("08:30:00", 3_000)), stop("9223372036854775807")], 2],
  ["no number at the stop", [start(1_000), values(at("08:30:00", 3_000)), stop("nan")], 2],
  ["0 at the stop after values that rose", [start(1_000), values(at("08:30:00", 3_000)), stop(0)], 2],
  ["0 and 0, after values that rose", [start(0), values(at("08:30:00", 3_000)), stop(0)], 3],
  ["0 and 0, after values of 0", [start(0), values(at("08:30:00", 0)), stop(0)], 0],
  // MicroOcpp 73
  ["0 and 0, without values", [start(0), stop(0)], 0],
  [
    "samples that are none",
    [start(1_000), values(at("08:10:00", -1), at("08:20:00", 2147483647), at("08:30:00", 3_000)), stop(undefined)],
    2,
  ],
  [
    "a sample of kWh that is none",
    [start(1_000), values(at("08:20:00", 2147483.647, { unit: "kWh" }), at("08:30:00", 3_000)), stop(undefined)],
    2,
  ],
  [
    "a phase that is none",
    [
      start(1_000),
      values(
        at("08:10:00", [
          { value: 900, phase: "L1" },
          { value: 2147483647, phase: "L2" },
          { value: 900, phase: "L3" },
        ]),
      ),
      stop(3_000),
    ],
    2,
  ],
  [
    "an End below a sample that is too large",
    [start(1_000), values(at("08:10:00", 9_000), at("09:00:00", 6_000, END)), stop(undefined)],
    5,
  ],
  ["a known stop, whatever its End", [start(1_000), values(at("09:00:00", 5_900, END)), stop(6_000)], 5],
  // Home Assistant ocpp 374, 919: a main meter's values come without a transaction
  [
    "values of the main meter, after own ones",
    [
      start(1_000),
      values(at("08:10:00", 2_000)),
      loose(at("08:20:00", 90_000)),
      values(at("08:50:00", 4_000)),
      stop(undefined),
    ],
    3,
  ],
  [
    "values of the main meter, before own ones",
    [start(1_000), loose(at("08:05:00", 90_000)), values(at("08:10:00", 2_000)), stop(undefined)],
    1,
  ],
  [
    "values of the main meter, and own ones with the stop",
    [start(1_000), loose(at("08:05:00", 40_000)), stop(undefined, "09:00:00", at("08:59:00", 4_000))],
    3,
  ],
  [
    "values that name no transaction, and no others",
    [start(1_000), loose(at("08:10:00", 2_000), at("08:50:00", 4_000)), stop(undefined)],
    3,
  ],
  [
    "2.0.1: an End of 0 after values that rose",
    [
      event("Started", "08:00:00", at("08:00:00", 1_000, BEGIN)),
      event("Updated", "08:30:00", at("08:30:00", 3_000)),
      event("Ended", "09:00:00", at("09:00:00", 0, END)),
    ],
    2,
  ],
  [
    "2.0.1: an End that is none",
    [
      event("Started", "08:00:00", at("08:00:00", 1_000, BEGIN)),
      event("Updated", "08:30:00", at("08:30:00", 3_000)),
      event("Ended", "09:00:00", at("09:00:00", 4294967295, END)),
    ],
    2,
  ],
  [
    "2.0.1: an End below a sample that is too large",
    [
      event("Started", "08:00:00", at("08:00:00", 1_000, BEGIN)),
      event("Updated", "08:30:00", at("08:30:00", 30_000)),
      event("Ended", "09:00:00", at("09:00:00", 6_000, END)),
    ],
    5,
  ],
  [
    "2.0.1: values of the main meter",
    [
      event("Started", "08:00:00", at("08:00:00", 1_000, BEGIN)),
      ["MeterValues", { connectorId: 1, evseId: 1, meterValue: [at("08:20:00", 30_000)] }],
      event("Ended", "09:00:00", at("09:00:00", 6_000, END)),
    ],
    5,
  ],
];

const place = (location: string) => ({ location });
const LOCATION: Row[] = [
  ...["Body", "Inlet", "Cable"].map(
    (name): Row => [
      `a charger that measures at ${name} only`,
      [start(1_000), values(at("08:30:00", 3_000, place(name))), stop(undefined)],
      2,
    ],
  ),
  // EVerest 2046, ev-server 3823
  [
    "the outlet rather than the inlet of all outlets",
    [
      start(1_000),
      values(
        at("08:30:00", [
          { value: 90_000, location: "Inlet" },
          { value: 3_000, location: "Outlet" },
        ]),
      ),
      stop(undefined),
    ],
    2,
  ],
  [
    "the outlet, though one sample has the inlet alone",
    [
      start(1_000),
      values(at("08:20:00", 3_000, place("Outlet")), at("08:30:00", 90_000, place("Inlet"))),
      stop(undefined),
    ],
    2,
  ],
  [
    "phases at the body",
    [
      start(300),
      values(
        at(
          "08:30:00",
          [1, 2, 3].map((n) => ({ value: 1_000, phase: `L${n}`, location: "Body" })),
        ),
      ),
      stop(undefined),
    ],
    2.7,
  ],
  [
    "never the meter of the car",
    [start(1_000), values(at("08:30:00", 3_000, place("EV"))), stop(undefined)],
    0,
    "no_end",
  ],
  [
    "2.0.1: the inlet",
    [
      event("Started", "08:00:00", at("08:00:00", 1_000, { ...BEGIN, ...place("Inlet") })),
      event("Ended", "09:00:00", at("09:00:00", 6_000, { ...END, ...place("Inlet") })),
    ],
    5,
  ],
];

describe.each([
  ["live", true],
  ["queued", false],
])("contract §6 %s", (_, live) => {
  test.each([...REGISTER_AT_THE_START, ...UNKNOWN_STOP])(
    "a register at the start that is %s",
    async (_what, frames, kwh, ...flags) => {
      await send(frames, live);
      expect(await stored()).toEqual([[kwh, flags]]);
    },
  );
  test.each(NO_READING)("%s", async (_what, frames, kwh, ...flags) => {
    await send(frames, live);
    expect(await stored()).toEqual([[kwh, flags]]);
  });
  test.each(LOCATION)("counts %s", async (_what, frames, kwh, ...flags) => {
    await send(frames, live);
    expect(await stored()).toEqual([[kwh, flags]]);
  });
});

// chargers that restart at the date of their firmware, at 2000, at an uptime, or tell no time at all
const CLOCKS: [what: string, time: unknown][] = [
  ["of 2024, 400 days before the charger was added", "2024-12-01T08:00:00Z"],
  ["of 2000", "2000-01-01T00:00:05Z"],
  ["of its uptime in seconds", 305],
  ["that cannot be read", "15-08-2026 08:00"],
  ["that is missing", undefined],
];
describe("contract §6 a clock", () => {
  const charge = (time: unknown): Frame[] => [
    ["StartTransaction", { connectorId: 1, meterStart: 1_000, timestamp: time }],
    ["StopTransaction", { transactionId: ID, meterStop: 4_000, timestamp: time }],
  ];
  const charge2 = (time: unknown): Frame[] =>
    ["Started", "Ended"].map((eventType, n) => [
      "TransactionEvent",
      {
        eventType,
        timestamp: time,
        transactionInfo: { transactionId: "tx" },
        meterValue: [{ timestamp: time, sampledValue: [{ value: 1_000 + n * 3_000 }] }],
      },
    ]);
  const times = () =>
    world.row(
      "select started_at, ended_at, wh::int, flags from core.charging_sessions where charger_id = $1",
      link.charger_id,
    );

  test.each(CLOCKS.flatMap(([what, time]) => [charge(time), charge2(time)].map((frames) => [what, frames] as const)))(
    "%s is replaced by the time of arrival while live",
    async (_, frames) => {
      await send(frames.slice(0, 1), true, "2026-08-15T10:00:00.000Z");
      const [action, payload] = frames[1] as Frame;
      const { id } = await world.row("select id from core.ocpp_transactions where charger_id = $1", link.charger_id);
      await send(
        [[action, "meterStop" in payload ? { ...payload, transactionId: id } : payload]],
        true,
        "2026-08-15T11:00:00.000Z",
      );
      expect(await times()).toEqual({
        started_at: new Date("2026-08-15T10:00:00Z"),
        ended_at: new Date("2026-08-15T11:00:00Z"),
        wh: 3_000,
        flags: [],
      });
    },
  );

  test.each(CLOCKS)("%s is flagged if it was queued", async (_, time) => {
    await send(charge(time), false);
    const { flags, wh } = await times();
    expect([wh, flags]).toEqual([3_000, expect.arrayContaining(["wrong_clock"])]);
  });

  test.each([
    ["seconds", 1_786_784_400, 1_786_788_000],
    ["seconds, as text", "1786784400", "1786788000.5"],
    ["milliseconds", 1_786_784_400_000, "1786788000000"],
  ])("in %s since 1970 is read", async (_, from, to) => {
    await send(
      [start(1_000, undefined, { timestamp: from }), stop(4_000)].map(
        ([action, payload], n): Frame => [action, n === 0 ? payload : { ...payload, timestamp: to }],
      ),
      false,
    );
    expect(await times()).toMatchObject({ started_at: new Date("2026-08-15T09:00:00Z"), wh: 3_000, flags: [] });
  });
});
