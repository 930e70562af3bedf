// Charges as chargers of the field send them, and what is stored: kWh by hand, and flags.
// Public reports of the same kinds stand beside a row; the frames are made by hand.

import { createHash } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createWorld, type World } from "../harness/world.ts";

let world: World;
let secret: string;
let link: { charger_id: string; generation: number };

const NOW = "2026-08-15T12:00:00.000Z";
beforeAll(async () => {
  world = await createWorld({ limits: "lifted", variables: { OCPP_GATEWAY_URL: "wss://gateway.example" } });
  await world.freeze(NOW);
  secret = world.environment.config.GATEWAY_SECRET;
});
afterAll(() => world?.close());
async function connectAnother(): Promise<void> {
  // a person's second charger counts only with a serial number
  const token = await (await world.addUser()).token();
  const { body } = await world.post("/chargers", { nickname: "Oprit", connection_type: "ocpp" }, token);
  const { identity, password } = body.ocpp;
  const admitted = (await world.post("/ocpp/chargers:admit", { identity, password }, secret)).body;
  link = { charger_id: admitted.charger_id, generation: admitted.generation };
}
beforeEach(connectAnother);

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

/** The id that we gave to a start: 0 is the first. */
const ours = (n: number) => `ours ${n}`;

async function send(frames: readonly Frame[], live: boolean, received_at = NOW, mirror?: boolean): Promise<void> {
  const ids: unknown[] = [];
  for (const [action, payload] of frames) {
    const id = "transactionId" in payload ? String(payload.transactionId) : "";
    const given = id === ID ? ids.at(-1) : id.startsWith("ours ") ? ids[Number(id.slice(5))] : undefined;
    const named = given === undefined ? payload : { ...payload, transactionId: given };
    const sent_sha256 = createHash("sha256").update(JSON.stringify(named)).digest("hex");
    const protocol = action === "TransactionEvent" ? "ocpp2.0.1" : "ocpp1.6";
    const messages = [{ action, payload: named, received_at, live, sent_sha256 }];
    const { status, body } = await world.post("/ocpp/messages", { ...link, protocol, mirror, messages }, secret);
    expect(status, JSON.stringify(body)).toBe(200);
    if (action === "StartTransaction") ids.push(body.answers[0].payload.transactionId);
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

const FAR_STOP: Row[] = [
  [
    "a stop of another register than the start and the values",
    [start(100_000), values(at("08:58:00", 100_200)), stop(140_000)],
    40,
    "meter_disagrees",
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
  test.each([...REGISTER_AT_THE_START, ...UNKNOWN_STOP, ...FAR_STOP])(
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

  test("attack: of a charger without the time, what a mirror tells twice, ten minutes late, counts once", async () => {
    const never = "1970-01-01T00:00:00Z";
    const told: Frame[] = [
      ["StartTransaction", { connectorId: 1, meterStart: 100_000, timestamp: never }],
      [
        "MeterValues",
        { connectorId: 1, transactionId: 77, meterValue: [{ timestamp: never, sampledValue: [{ value: "101000" }] }] },
      ],
      ["StopTransaction", { transactionId: 77, meterStop: 102_000, timestamp: never }],
    ];
    for (const [n, minute] of [0, 4, 8, 10, 14, 18].entries())
      await send([told[n % 3] as Frame], true, `2026-08-15T10:${String(minute).padStart(2, "0")}:00.000Z`, true);
    const { wh } = await world.row(
      "select sum(wh)::int as wh from core.charging_sessions where charger_id = $1 and flags = '{}'",
      link.charger_id,
    );
    expect(wh).toBe(2_000);
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

// A copy of what the station sends to another back office: our answers reach nobody, and that one gives the ids.
const begins = (connectorId: number, meterStart: number, time: string): Frame => [
  "StartTransaction",
  { connectorId, idTag: "A", timestamp: day(time), meterStart },
];
const reads = (connectorId: number, transactionId: unknown, ...readings: [time: string, wh: number][]): Frame => [
  "MeterValues",
  { connectorId, transactionId, meterValue: readings.map(([time, wh]) => at(time, wh)) },
];
const ends = (transactionId: unknown, meterStop: number | undefined, time: string, ...data: object[]): Frame => [
  "StopTransaction",
  { transactionId, timestamp: day(time), meterStop, ...(data.length > 0 ? { transactionData: data } : {}) },
];
const says = (connectorId: number, status: string, time: string): Frame => [
  "StatusNotification",
  { connectorId, status, errorCode: "NoError", timestamp: day(time) },
];
type Copy = [what: string, frames: Frame[], ...kwh: (number | "open")[]];

const MIRRORED: Copy[] = [
  [
    "the other's id is our earlier one, of the other connector",
    [
      begins(1, 100_000, "01:00:00"),
      ends(77, 110_000, "02:00:00"),
      begins(2, 130_000, "03:00:00"),
      ends(ours(0), 135_000, "04:00:00"),
    ],
    10,
    5,
  ],
  [
    "direct first, then a copy with our id of then",
    [
      begins(1, 10_000, "01:00:00"),
      ends(ours(0), 17_000, "02:00:00"),
      begins(1, 20_000, "03:00:00"),
      ends(ours(0), 30_000, "04:00:00"),
      ends(ours(0), 17_000, "02:00:00"),
      ends(ours(0), 30_000, "04:00:00"),
    ],
    7,
    10,
  ],
  [
    "our id of then, in values as well",
    [
      begins(1, 10_000, "01:00:00"),
      ends(ours(0), 17_000, "02:00:00"),
      begins(2, 20_000, "03:00:00"),
      reads(2, ours(0), ["03:30:00", 25_000]),
      ends(ours(0), 30_000, "04:00:00"),
    ],
    7,
    10,
  ],
  [
    "two cars at once, with values",
    [
      begins(1, 10_000, "01:00:00"),
      begins(2, 50_000, "01:05:00"),
      reads(1, 501, ["01:30:00", 12_000]),
      reads(2, 502, ["01:30:00", 52_000]),
      ends(502, 56_000, "02:00:00"),
      ends(501, 18_000, "02:10:00"),
    ],
    8,
    6,
  ],
  [
    "two cars at once, with ids that are ours the other way round",
    [
      begins(1, 10_000, "01:00:00"),
      begins(2, 11_000, "01:05:00"),
      reads(1, ours(1), ["01:30:00", 12_000]),
      reads(2, ours(0), ["01:30:00", 13_000]),
      ends(ours(0), 17_000, "02:00:00"),
      ends(ours(1), 18_000, "02:10:00"),
    ],
    8,
    6,
  ],
  [
    "two cars at once, and the other's id of one is ours of the other",
    [
      begins(1, 100_000, "01:00:00"),
      begins(2, 130_000, "01:10:00"),
      ends(ours(0), 135_000, "02:00:00"),
      says(2, "Finishing", "02:00:05"),
      ends(999, 110_000, "02:10:00"),
    ],
    10,
    5,
  ],
  [
    "two cars at once, without values, by a mirror that translates ids to ours",
    [
      begins(1, 10_000, "01:00:00"),
      begins(2, 11_000, "01:05:00"),
      ends(ours(0), 17_000, "02:00:00"),
      ends(ours(1), 19_000, "02:10:00"),
    ],
    7,
    8,
  ],
  [
    "two cars at once, named by the other back office first, then by our ids",
    [
      begins(1, 10_000, "01:00:00"),
      begins(2, 11_000, "01:05:00"),
      reads(1, 501, ["01:10:00", 11_000]),
      reads(2, 502, ["01:20:00", 12_000]),
      reads(1, ours(0), ["01:30:00", 12_000]),
      reads(2, ours(1), ["01:30:00", 13_000]),
      ends(ours(0), 17_000, "02:00:00"),
      ends(ours(1), 19_000, "02:10:00"),
    ],
    7,
    8,
  ],
  [
    "two cars at once, told apart by Finishing alone",
    [
      begins(1, 10_000, "01:00:00"),
      begins(2, 11_000, "01:05:00"),
      ends(0, 17_000, "02:00:00"),
      says(2, "Finishing", "02:00:05"),
      ends(0, 18_000, "02:10:00"),
    ],
    8,
    6,
  ],
  [
    "two cars at once, and nothing that tells them apart",
    [begins(1, 10_000, "01:00:00"), begins(2, 11_000, "01:05:00"), ends("a", 17_000, "02:00:00")],
    "open",
    "open",
  ],
  [
    "two connectors, one after the other, without values",
    [
      begins(1, 10_000, "01:00:00"),
      ends("f-1", 20_000, "02:00:00"),
      begins(2, 40_000, "03:00:00"),
      ends("f-2", 50_000, "04:00:00"),
    ],
    10,
    10,
  ],
  [
    "a stop of a charge whose start never came, while another connector's has no stop",
    [
      begins(1, 100_000, "00:05:00"),
      ends(-1, 107_000, "00:20:00"),
      begins(2, 73_000, "00:26:00"),
      reads(2, -1, ["01:21:00", 91_000]),
      ends(-1, 110_000, "02:24:00"),
      begins(1, 110_000, "03:15:00"),
      reads(1, -1, ["03:30:00", 113_000]),
    ],
    7,
    18,
    "open",
  ],
  [
    "two connectors with one register",
    [
      begins(1, 10_000, "01:00:00"),
      reads(1, "a", ["01:30:00", 11_000]),
      ends("a", 12_000, "02:00:00"),
      begins(2, 12_000, "03:00:00"),
      ends("b", 15_000, "04:00:00"),
      begins(1, 15_000, "05:00:00"),
      ends("c", 16_000, "06:00:00"),
    ],
    2,
    3,
    1,
  ],
  [
    "no start, values and a stop",
    [reads(1, 77, ["01:00:00", 102_000]), reads(1, 77, ["01:15:00", 106_000]), ends(77, 110_000, "02:00:00")],
    8,
  ],
  [
    "no start and the id 0, with values in one message",
    [reads(1, 0, ["01:00:00", 102_000], ["01:15:00", 106_000]), ends(0, 110_000, "02:00:00")],
    8,
  ],
  [
    "no start, and an id that is ours of the other connector",
    [
      begins(1, 10_000, "01:00:00"),
      reads(1, ours(0), ["01:30:00", 12_000]),
      ends(ours(0), 17_000, "02:00:00"),
      reads(2, ours(0), ["03:00:00", 20_000]),
      reads(2, ours(0), ["03:30:00", 24_000]),
      ends(ours(0), 26_000, "04:00:00"),
    ],
    7,
    6,
  ],
  [
    "no stop, and a next start",
    [
      begins(1, 100_000, "01:00:00"),
      reads(1, 77, ["02:00:00", 108_000]),
      begins(1, 110_000, "03:00:00"),
      ends(78, 112_000, "04:00:00"),
    ],
    8,
    2,
  ],
  [
    "no stop, and a next start that comes after its first value",
    [
      begins(1, 100_000, "01:00:00"),
      reads(1, 5, ["02:00:00", 108_000]),
      reads(1, 5, ["03:05:00", 111_000]),
      begins(1, 110_000, "03:00:00"),
      ends(5, 112_000, "04:00:00"),
    ],
    10,
    2,
  ],
  [
    "neither stop nor next start",
    [
      begins(1, 100_000, "01:00:00"),
      reads(1, 77, ["02:00:00", 108_000]),
      reads(1, 78, ["03:00:00", 112_000]),
      ends(78, 114_000, "04:00:00"),
    ],
    14,
  ],
  [
    "a refused card",
    [begins(1, 10_000, "01:00:00"), begins(1, 10_000, "01:10:00"), ends(9, 16_000, "02:00:00")],
    "open",
    6,
  ],
  [
    "one id for all, at both connectors",
    [
      begins(1, 10_000, "01:00:00"),
      reads(1, 1, ["01:30:00", 12_000]),
      ends(1, 14_000, "02:00:00"),
      begins(2, 50_000, "03:00:00"),
      reads(2, 1, ["03:30:00", 52_000]),
      ends(1, 53_000, "04:00:00"),
      begins(1, 14_000, "05:00:00"),
      ends(1, 19_000, "06:00:00"),
    ],
    4,
    3,
    5,
  ],
  [
    "each message twice, the second ten minutes late, and out of order",
    [
      ends(77, 110_000, "02:00:00"),
      reads(1, 77, ["01:30:00", 105_000]),
      begins(1, 100_000, "01:00:00"),
      begins(1, 110_000, "02:05:00"),
      reads(1, 77, ["01:30:00", 105_000]),
      begins(1, 100_000, "01:00:00"),
      ends(78, 113_000, "02:30:00"),
      ends(77, 110_000, "02:00:00"),
      reads(1, 77, ["01:40:00", 106_000]),
      begins(1, 110_000, "02:05:00"),
      ends(78, 113_000, "02:30:00"),
    ],
    10,
    3,
  ],
  [
    "two mirrors and the charger itself at once",
    [
      begins(1, 100_000, "01:00:00"),
      begins(1, 100_000, "01:00:00"),
      reads(1, ours(0), ["01:30:00", 105_000]),
      reads(1, 501, ["01:30:00", 105_000]),
      reads(1, "b-9", ["01:30:00", 105_000]),
      ends("b-9", 110_000, "02:00:00"),
      reads(1, "c", ["01:45:00", 107_000]),
      ends(ours(0), 110_000, "02:00:00"),
      ends(501, 110_000, "02:00:00"),
      begins(1, 110_000, "02:10:00"),
      reads(1, 501, ["01:45:00", 107_000]),
      ends(502, 111_000, "02:20:00"),
      ends(ours(1), 111_000, "02:20:00"),
    ],
    10,
    1,
  ],
  [
    "our id of a charge that ended, for the next one, whose start never came",
    [
      begins(1, 100_000, "01:00:00"),
      ends(ours(0), 107_000, "02:00:00"),
      reads(1, ours(0), ["03:00:00", 108_000]),
      reads(1, ours(0), ["03:30:00", 115_000]),
      reads(1, ours(0), ["03:40:00", 115_500]),
      ends(ours(0), 116_000, "04:00:00"),
    ],
    7,
    8,
  ],
  [
    "our id of a charge that ended, for its own values, told late and by another clock",
    [
      begins(1, 100_000, "01:00:00"),
      ends(ours(0), 107_000, "02:00:00"),
      reads(1, ours(0), ["02:30:00", 103_000]),
      reads(1, ours(0), ["02:45:00", 105_000]),
    ],
    7,
  ],
  [
    "two mirrors, one behind, whose start tells that a stop ended two charges in one",
    [
      begins(1, 100_000, "01:00:00"),
      reads(1, "a", ["01:30:00", 101_000]),
      reads(1, "b", ["02:15:00", 103_000]),
      ends("b", 111_000, "03:00:00"),
      reads(1, "c", ["03:30:00", 112_000]),
      begins(1, 102_000, "02:00:00"),
      reads(1, "b", ["02:15:00", 103_000]),
      ends("b", 111_000, "03:00:00"),
      ends("c", 120_000, "04:00:00"),
    ],
    11,
    8,
  ],
  [
    "one id for all charges, and a stop of the other connector, whose start never came",
    [
      begins(2, 100_000, "01:00:00"),
      reads(2, 5, ["01:10:00", 101_000]),
      ends(5, 204_000, "01:20:00"),
      reads(2, 5, ["01:30:00", 103_000]),
      ends(5, 104_000, "01:40:00"),
    ],
    4,
  ],
  [
    "no ids, a stop that fits two charges, and values of the next one before it is known which",
    [
      begins(1, 30_000, "01:00:00"),
      reads(1, 0, ["01:30:00", 33_000]),
      begins(2, 100_000, "02:00:00"),
      reads(2, 0, ["02:30:00", 105_000]),
      ends(0, 110_000, "03:00:00"),
      reads(2, 0, ["03:30:00", 115_000]),
    ],
    "open",
    "open",
  ],
  [
    "a stop that has its own begin, then its start, late",
    [
      ends(77, 110_000, "02:00:00", at("01:00:00", 100_000, BEGIN), at("02:00:00", 110_000, END)),
      begins(1, 100_000, "01:00:00"),
      reads(1, 77, ["01:30:00", 105_000]),
      ends(77, 110_000, "02:00:00", at("01:00:00", 100_000, BEGIN), at("02:00:00", 110_000, END)),
    ],
    10,
  ],
  [
    "values under one id and the stop under another, and Finishing at its connector",
    [
      begins(1, 100_000, "01:00:00"),
      reads(1, "a", ["01:30:00", 105_000]),
      ends("b", 110_000, "02:00:00"),
      says(1, "Finishing", "02:00:03"),
    ],
    10,
  ],
  [
    "values under one id and the stop under another, and the next start where it ended",
    [
      begins(1, 100_000, "01:00:00"),
      reads(1, "a", ["01:30:00", 105_000]),
      ends("b", 110_000, "02:00:00"),
      begins(1, 110_000, "03:00:00"),
      ends("c", 112_000, "04:00:00"),
    ],
    10,
    2,
  ],
  [
    "values under one id and the stop under another, and nothing else",
    [begins(1, 100_000, "01:00:00"), reads(1, "a", ["01:30:00", 105_000]), ends("b", 110_000, "02:00:00")],
    "open",
  ],
  [
    "a stop of the other connector, whose start never came, by our id of a charge that its values call otherwise",
    [
      begins(2, 100_000, "00:48:13"),
      ends(ours(0), 103_644, "01:05:28"),
      begins(1, 109_765, "03:00:38"),
      reads(1, 3, ["03:15:38", 112_855]),
      ends(ours(1), 127_594, "04:42:25"),
      says(2, "Finishing", "04:42:25"),
    ],
    3.644,
    "open",
  ],
  [
    "a stop by our id, at a charger of one connector whose values name another",
    [begins(1, 100_000, "01:00:00"), reads(1, 501, ["01:30:00", 105_000]), ends(ours(0), 110_000, "02:00:00")],
    10,
  ],
  [
    "no start, by our id of a charge that goes on at the other connector",
    [
      begins(2, 100_000, "00:43:46"),
      reads(2, ours(0), ["00:48:46", 101_093]),
      reads(1, ours(0), ["00:58:35", 96_332], ["01:08:35", 96_998]),
      reads(2, ours(0), ["01:18:46", 107_652]),
      reads(1, ours(0), ["01:48:35", 99_661]),
      ends(ours(0), 99_867, "01:51:40"),
    ],
    "open",
    3.535,
  ],
  ...[-1, 5].map(
    (id): Copy => [
      `no start, and the id ${id} for all, with a late value of the charge before in one message`,
      [
        begins(1, 2_000, "00:07:44"),
        reads(1, id, ["00:22:44", 6_262]),
        ends(id, 23_621, "01:23:49"),
        reads(1, id, ["01:22:44", 23_313], ["02:13:48", 24_143], ["02:23:48", 25_188]),
        ends(id, 25_216, "02:24:04"),
      ],
      21.621,
      1.073,
    ],
  ),
  [
    "no start and the id 0, and values that come after the next one began",
    [
      reads(1, 0, ["01:00:00", 102_000], ["01:15:00", 106_000]),
      begins(1, 110_000, "02:00:00"),
      reads(1, 0, ["01:30:00", 108_000], ["01:45:00", 109_000]),
      ends(0, 112_000, "03:00:00"),
    ],
    7,
    2,
  ],
  [
    "a late value of the charge before, in one message with values of one whose start never came",
    [
      begins(1, 48_500, "01:00:00"),
      reads(1, 5, ["01:30:00", 49_800]),
      ends(5, 49_900, "02:00:00"),
      reads(1, 5, ["03:00:00", 50_700], ["03:10:00", 52_300]),
      reads(1, 5, ["01:30:00", 49_800], ["03:20:00", 54_000]),
      ends(5, 63_200, "04:10:00"),
    ],
    1.4,
    12.5,
  ],
  [
    "one id for all charges, and a stop that comes twice, while the other connector's has no stop",
    [
      begins(2, 47_700, "04:30:00"),
      reads(2, 5, ["05:00:00", 50_400]),
      reads(1, 5, ["06:10:00", 117_500]),
      reads(1, 5, ["06:50:00", 129_800]),
      ends(5, 131_200, "06:58:00"),
      says(1, "Finishing", "06:58:01"),
      ends(5, 131_200, "06:58:00"),
    ],
    "open",
    13.7,
  ],
  [
    "no values, and a stop of the other connector, whose start never came, where a stop was lost before",
    [
      begins(1, 116_000, "00:30:00"),
      begins(2, 115_000, "00:50:00"),
      ends(2, 123_700, "01:40:00"),
      begins(1, 117_000, "01:45:00"),
      ends(4, 134_800, "02:40:00"),
    ],
    "open",
    8.7,
    "open",
  ],
  [
    "no values, and a stop that waits where one was lost before, until the next start tells",
    [
      begins(1, 116_000, "00:30:00"),
      begins(2, 115_000, "00:50:00"),
      ends("b", 123_700, "01:40:00"),
      begins(1, 117_000, "01:45:00"),
      ends("c", 126_800, "02:15:00"),
      begins(1, 126_800, "03:00:00"),
    ],
    "open",
    8.7,
    9.8,
    "open",
  ],
  [
    "a stop without a register after values to 9,000",
    [begins(1, 1_000, "01:00:00"), reads(1, 7, ["01:30:00", 9_000]), ends(7, undefined, "02:00:00")],
    8,
  ],
  [
    "values that go on after the stop, without energy",
    [
      begins(1, 1_000, "01:00:00"),
      reads(1, 7, ["01:30:00", 3_000]),
      ends(7, 4_000, "02:00:00"),
      reads(1, 7, ["02:30:00", 4_000]),
    ],
    3,
  ],
  [
    "values beyond what the charger can give",
    [begins(1, 1_000, "01:00:00"), reads(1, 7, ["01:10:00", 900_000]), ends(7, 4_000, "02:00:00")],
    3,
  ],
  [
    "a stop of a connector whose start never came, and then the stop of the charge that it seemed to end",
    [
      begins(2, 44_000, "00:24:00"),
      begins(1, 100_000, "00:57:00"),
      ends("a", 101_400, "01:28:00"),
      ends("b", 65_000, "01:32:00"),
      begins(2, 65_000, "02:21:00"),
      ends("c", 115_900, "03:22:00"),
      ends("d", 73_000, "03:24:00"),
      ends("c", 115_900, "03:22:00"),
    ],
    21,
    1.4,
    8,
  ],
  [
    "a stop of a connector whose start comes after the stop of the charge that it seemed to end",
    [
      begins(1, 100_000, "00:57:00"),
      ends("a", 101_400, "01:28:00"),
      begins(2, 65_000, "02:21:00"),
      ends("c", 115_900, "03:22:00"),
      ends("d", 73_000, "03:24:00"),
      begins(1, 101_400, "02:03:00"),
    ],
    1.4,
    14.5,
    8,
  ],
  [
    "a stop of a connector of which nothing is known, and the next start below it",
    [
      begins(1, 100_000, "00:58:00"),
      ends(0, 211_600, "04:23:00"),
      begins(1, 128_400, "04:26:00"),
      ends(0, 128_600, "05:02:00"),
    ],
    0.2,
  ],
  [
    "stops by 0 of a register that begins near 0 at each charge",
    [begins(1, 5, "00:58:00"), ends(0, 8_000, "02:23:00"), begins(1, 7, "04:26:00"), ends(0, 9_000, "06:02:00")],
    7.995,
    8.993,
  ],
  [
    "stops by 0 of such a register, a start of which comes late",
    [begins(1, 5, "00:58:00"), ends(0, 8_000, "02:23:00"), ends(0, 6_000, "06:02:00"), begins(1, 7, "04:26:00")],
    7.995,
    5.993,
  ],
  [
    "a register that lost its last watt-hours before the next start",
    [begins(1, 10_000, "00:58:00"), ends(0, 20_000, "02:23:00"), begins(1, 19_940, "04:26:00")],
    10,
    "open",
  ],
  [
    "a second stop of one name, with an older reading",
    [begins(1, 10_000, "01:00:00"), ends("77", 20_000, "02:23:00"), ends("77", 12_000, "02:31:00")],
    10,
  ],
  [
    "a later, lower stop that only the other connector can have reached",
    [
      begins(1, 30_000, "01:50:00"),
      begins(2, 65_000, "02:21:00"),
      ends("a", 45_000, "02:50:00"),
      ends("b", 73_000, "03:00:00"),
      ends("c", 70_000, "03:24:00"),
    ],
    15,
    8,
  ],
  [
    "one id for all charges: a stop that seemed to be of the other connector, whose values go on",
    [
      begins(2, 100_000, "00:38:00"),
      reads(1, 5, ["00:51:39", 100_200]),
      ends(5, 100_360, "00:52:20"),
      reads(1, 5, ["01:11:39", 101_000], ["01:31:39", 101_800]),
      begins(2, 100_360, "01:36:45"),
      reads(1, 5, ["01:41:39", 102_200]),
      ends(5, 102_600, "01:50:20"),
    ],
    0.36,
    0.8,
    1.6,
    "open",
  ],
  [
    "our id of the other connector in values, before that one has values of its own",
    [
      begins(2, 101_000, "00:36:00"),
      reads(1, ours(0), ["00:49:00", 101_400]),
      reads(1, ours(0), ["00:59:00", 104_200], ["01:39:00", 115_600]),
      reads(2, ours(0), ["00:51:00", 104_100], ["01:41:00", 114_600]),
      ends(ours(0), 115_300, "01:44:00"),
      reads(1, ours(0), ["01:49:00", 118_500]),
      ends(ours(0), 122_000, "02:01:00"),
    ],
    14.3,
    20.6,
  ],
  [
    "a stop of another connector, whose start never came, is not guessed",
    [begins(1, 1_000, "01:00:00"), says(2, "Finishing", "02:00:00"), ends(9, 8_000, "02:00:00")],
    "open",
  ],
];

describe.each([
  ["at a mirror's address", true],
  ["at the charger's own address", false],
])("contract §6 a copy of another back office's line %s", (_, mirror) => {
  test.each(MIRRORED)("%s", async (_what, frames, ...kwh) => {
    await send(frames, true, NOW, mirror);
    const { list } = await world.row(
      `select coalesce(json_agg(case when ended_at is null then '"open"' else to_json(wh / 1000.0) end order by started_at, connector), '[]') as list
         from core.charging_sessions where charger_id = $1 and flags = '{}'`,
      link.charger_id,
    );
    expect(list).toEqual(kwh);
  });
});

const many = (...rows: [type: string, id: string, time: string, wh: number, evse?: number][]): Frame[] =>
  rows.map(([type, transactionId, time, wh, evse = 1]) => {
    const [action, payload] = event(type, time, at(time, wh, type === "Updated" ? {} : type === "Ended" ? END : BEGIN));
    return [action, { ...payload, transactionInfo: { transactionId }, evse: { id: evse } }];
  });

/** Charges of one connector, one after the other: what each counts, and its flags. */
const IN_ORDER: [what: string, frames: Frame[], ...charges: [kwh: number, ...flags: string[]][]][] = [
  [
    "a Begin of 0 of a station that was offline for a day, and no earlier charge",
    many(
      ["Started", "a", "2026-06-01T10:00:00Z", 0],
      ["Updated", "a", "2026-06-02T10:00:00Z", 909_948],
      ["Ended", "a", "2026-06-02T10:10:00Z", 910_031],
    ),
    [910.031, "meter_disagrees"],
  ],
  [
    "a Begin of 0 of a station that was offline for a day, after another charge",
    many(
      ["Started", "a", "2026-06-01T07:00:00Z", 909_000],
      ["Ended", "a", "2026-06-01T08:00:00Z", 909_948],
      ["Started", "b", "2026-06-01T10:00:00Z", 0],
      ["Updated", "b", "2026-06-02T10:00:00Z", 909_948],
      ["Ended", "b", "2026-06-02T10:10:00Z", 910_031],
    ),
    [0.948],
    [0.083],
  ],
  [
    "0 at each start, without values",
    [
      begins(1, 0, "2026-06-01T18:00:00Z"),
      ends(ours(0), 50_000, "2026-06-02T06:00:00Z"),
      begins(1, 0, "2026-06-02T18:00:00Z"),
      ends(ours(1), 60_000, "2026-06-03T06:00:00Z"),
    ],
    [50],
    [10],
  ],
  [
    "0 at each start, and the stop of the first comes last",
    [
      begins(1, 0, "2026-06-01T18:00:00Z"),
      reads(1, ours(0), ["2026-06-01T19:00:00Z", 8_000]),
      begins(1, 0, "2026-06-02T18:00:00Z"),
      ends(ours(1), 60_000, "2026-06-03T06:00:00Z"),
      ends(ours(0), 50_000, "2026-06-02T06:00:00Z"),
    ],
    [50],
    [10],
  ],
  [
    "0 at each start, with values, of a young register",
    [
      begins(1, 0, "01:00:00"),
      reads(1, ours(0), ["01:15:00", 1_500]),
      ends(ours(0), 5_000, "02:00:00"),
      begins(1, 0, "03:00:00"),
      reads(1, ours(1), ["03:15:00", 6_500]),
      ends(ours(1), 10_000, "04:00:00"),
      begins(1, 0, "05:00:00"),
      reads(1, ours(2), ["05:15:00", 11_500]),
      ends(ours(2), 15_000, "06:00:00"),
    ],
    [5],
    [5],
    [5],
  ],
  [
    "0 at each start, of a register that counts from 0",
    [
      ...[9_000, 4_000, 7_000, 3_000, 8_000].flatMap((wh, n) => [
        begins(1, 0, `0${n}:00:00`),
        ends(ours(n), wh, `0${n}:45:00`),
      ]),
    ],
    [9],
    [4],
    // it fell once: from here on it may have gone on
    [3],
    [3],
    // it fell twice
    [8],
  ],
  [
    "a stop of an ended transaction, once more, while the next charges",
    [
      begins(1, 100_000, "01:00:00"),
      ends(ours(0), 108_000, "02:00:00"),
      begins(1, 108_000, "04:00:00"),
      reads(1, ours(1), ["04:15:00", 109_000]),
      ends(ours(0), 110_000, "04:30:00"),
      ends(ours(1), 120_000, "06:00:00"),
    ],
    [8],
    [12],
  ],
  [
    "a stop of an ended transaction, once more, while the next charges without values",
    [
      begins(1, 100_000, "01:00:00"),
      ends(ours(0), 108_000, "02:00:00"),
      begins(1, 108_000, "04:00:00"),
      ends(ours(0), 110_000, "04:30:00"),
      ends(ours(1), 120_000, "06:00:00"),
    ],
    [8],
    [12],
  ],
  [
    "no stop, values from 0, and the register at the next start",
    [
      begins(1, 5_000_000, "01:00:00"),
      reads(1, ours(0), ["01:00:30", 0], ["01:15:00", 2_750]),
      reads(1, ours(0), ["02:00:00", 8_000]),
      begins(1, 5_008_000, "04:00:00"),
      ends(ours(1), 5_010_000, "05:00:00"),
    ],
    [8],
    [2],
  ],
  [
    "no stop, values from 0, and less at the next start",
    [
      begins(1, 5_000_000, "01:00:00"),
      reads(1, ours(0), ["01:15:00", 2_750], ["02:00:00", 8_000]),
      begins(1, 5_001_000, "04:00:00"),
      ends(ours(1), 5_003_000, "05:00:00"),
    ],
    [8, "meter_disagrees"],
    [2],
  ],
  [
    "no stop, and one value far below the start",
    [
      begins(1, 5_000_000, "01:00:00"),
      reads(1, ours(0), ["02:00:00", 8_000]),
      begins(1, 5_008_000, "04:00:00"),
      ends(ours(1), 5_010_000, "05:00:00"),
    ],
    [0, "meter_disagrees"],
    [2],
  ],
  [
    "2.0.1: an id used again at another EVSE, where neither the end nor the next start came",
    many(
      ["Started", "1", "01:00:00", 100_000],
      ["Updated", "1", "02:00:00", 104_000],
      ["Updated", "1", "03:00:00", 250_000, 2],
      ["Ended", "1", "04:00:00", 255_000, 2],
      ["Updated", "1", "02:10:00", 104_500],
    ),
    [4.5],
    [5],
  ],
  [
    "2.0.1: an id used again, where the end did not come",
    many(
      ["Started", "1", "01:00:00", 100_000],
      ["Updated", "1", "02:00:00", 104_000],
      ["Started", "1", "03:00:00", 104_000],
      ["Started", "1", "03:00:00", 104_000],
      ["Ended", "1", "04:00:00", 109_000],
    ),
    [4],
    [5],
  ],
  [
    "2.0.1: an id used again, where the start did not come, or comes late",
    many(
      ["Started", "1", "01:00:00", 100_000],
      ["Ended", "1", "02:00:00", 104_000],
      ["Updated", "1", "02:10:00", 104_000],
      ["Updated", "1", "03:00:00", 106_000],
      ["Ended", "1", "04:00:00", 109_000],
      ["Updated", "1", "05:30:00", 111_000],
      ["Started", "1", "05:00:00", 110_000],
      ["Ended", "1", "06:00:00", 113_000],
    ),
    [4],
    [3],
    [3],
  ],
  [
    "2.0.1: an id used again after another charge, where neither the end nor the next start came",
    many(
      ["Started", "1", "01:00:00", 100_000],
      ["Updated", "1", "02:00:00", 104_000],
      ["Started", "0", "03:00:00", 105_000],
      ["Ended", "0", "04:00:00", 128_000],
      ["Updated", "1", "05:00:00", 130_000],
      ["Ended", "1", "06:00:00", 140_000],
    ),
    [4],
    [23],
    [10],
  ],
  [
    "2.0.1: an id used again after another charge, of which only the end came",
    many(
      ["Started", "1", "01:00:00", 100_000],
      ["Updated", "1", "02:00:00", 104_000],
      ["Started", "0", "03:00:00", 105_000],
      ["Ended", "0", "04:00:00", 128_000],
      ["Ended", "1", "06:00:00", 140_000],
    ),
    [4],
    [23],
    [0],
  ],
  [
    "2.0.1: an id used again, and another charge between that is told late",
    many(
      ["Started", "1", "01:00:00", 100_000],
      ["Updated", "1", "05:00:00", 130_000],
      ["Started", "0", "03:00:00", 105_000],
      ["Ended", "0", "04:00:00", 128_000],
    ),
    [5],
    [23],
  ],
  [
    "2.0.1: an id of 109 signs, used again",
    many(
      ["Started", "x".repeat(109), "01:00:00", 100_000],
      ["Ended", "x".repeat(109), "02:00:00", 104_000],
      ["Started", "x".repeat(109), "03:00:00", 104_000],
      ["Ended", "x".repeat(109), "04:00:00", 109_000],
    ),
    [4],
    [5],
  ],
  [
    "2.0.1: an id of 110 signs, used again",
    many(
      ["Started", "x".repeat(110), "01:00:00", 100_000],
      ["Ended", "x".repeat(110), "02:00:00", 104_000],
      ["Started", "x".repeat(110), "03:00:00", 104_000],
      ["Ended", "x".repeat(110), "04:00:00", 109_000],
    ),
    [4],
    [5],
  ],
];

test.each(IN_ORDER)("contract §6 charges in order: %s", async (_what, frames, ...charges) => {
  await send(frames, true);
  expect(await stored()).toEqual(charges.map(([kwh, ...flags]) => [kwh, flags]));
});
