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
const S = (wh: unknown) => start(wh, "00:00:00");
const T = (wh: unknown, ...d: object[]) => stop(wh, "08:00:00", ...d);
const B = (name: string): Row => [`O9 ${name}`, [event("Started", "00:00:00", at("00:00:00", 1_000, { ...BEGIN, location: name })), event("Updated", "01:00:00", at("01:00:00", 3_000, { location: name })), event("Ended", "02:00:00", at("02:00:00", 6_000, { ...END, location: name }))], 5];
const ROWS: Row[] = [
  ["O1", [S(0), values(at("00:00:00", 40_000, BEGIN)), values(at("00:30:00", 42_000)), T(45_000)], 5],
  ["O1 Begin 5s", [S(0), values(at("00:00:05", 40_000, BEGIN)), values(at("00:30:00", 42_000)), T(45_000)], 5],
  ["O2", [S(0), values(at("00:01:00", 40_100)), T(45_000)], 4.9],
  ["O3", [event("Started", "00:00:00", at("00:00:00", 0, BEGIN)), event("Updated", "00:01:00", at("00:01:00", 40_100)), event("Ended", "08:00:00", at("08:00:00", 45_000, END))], 4.9],
  ["O4", [S(-1), values(at("00:00:00", 40_000, BEGIN)), T(45_000)], 5],
  ["O5", [S(0), values(at("00:05:00", 300)), values(at("03:00:00", 5_000)), T(5_000)], 5],
  ["O6", [S(10_000), values(at("00:00:30", 12_000, BEGIN)), T(15_000)], 5, "meter_disagrees"],
  ["O7a", [S(0), values(at("01:00:00", 5_000)), T(-1)], 5],
  ["O7b", [S(1_000), values(at("01:00:00", 6_000)), T(4294967295)], 5],
  ["O8a", [S(0), values(at("01:00:00", 5_000)), loose(at("01:10:00", 936_120)), T(0, at("08:00:00", 5_250, END))], 5.25],
  ["O8b", [S(100), values(at("01:00:00", 5_000)), loose(at("01:10:00", 936_120)), T(0, at("08:00:00", 5_250, END))], 5.15],
  B("Body"), B("Inlet"), B("Cable"),
  // my own
  ["kWh unit", [S(0), values(at("00:00:05", 40, { ...BEGIN, unit: "kWh" })), T(45_000)], 5],
  ["twenty samples of 0 then register", [S(0), ...Array.from({ length: 20 }, (_, n) => values(at(`00:${String(n + 1).padStart(2, "0")}:00`, 0))), values(at("00:30:00", 500_000)), T(505_000)], 5],
  ["stop as text with decimals", [S("1000"), T("6000.4")], 5],
  ["comma text", [S("1000"), values(at("01:00:00", "3000,5")), T("6000")], 5],
  ["INT_MIN", [S(-2147483648), values(at("00:00:05", 40_000, BEGIN)), T(45_000)], 5],
  ["register 2^31-2 is a reading?", [S(2_147_480_000), T(2_147_483_646)], 3.646],
];
test.each(ROWS)("readme %s", async (_w, frames, kwh, ...flags) => {
  await send(frames, true, "2026-08-15T12:00:00.000Z");
  expect(await stored()).toEqual([[kwh, flags]]);
});
