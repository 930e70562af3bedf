// What chargers of the field send, and what is read from it.

import { describe, expect, test } from "vitest";
import { readingsOf } from "#shared/domain/charging_in/ocpp/energy.ts";
import { momentOf, timeOf, wholeOf } from "#shared/domain/charging_in/ocpp/lenient.ts";
import { type Protocol, readMessage } from "#shared/domain/charging_in/ocpp/read.ts";

const NOW = "2026-03-10T12:00:00.000Z";
const read = (protocol: Protocol, action: string, payload: unknown, live = true) =>
  readMessage(protocol, { action, payload, received_at: NOW, live });
const sample = (...sampledValue: object[]) => [{ timestamp: "2026-03-10T11:00:00Z", sampledValue }];
const wh = (...values: object[]) => readingsOf(sample(...values), NOW, true).last?.wh ?? null;

describe("energy", () => {
  test.each<[string, object[], number | null]>([
    ["no measurand, unit or context", [{ value: "1234" }], 1234],
    ["a number", [{ value: 1234.4 }], 1234],
    ["kWh", [{ value: "1.2345", unit: "kWh" }], 1235],
    ["half a Wh, in decimal arithmetic", [{ value: "0.5005", unit: "kWh" }], 501],
    ["an exponent", [{ value: "1.2e3", unit: "Wh" }], 1200],
    ["a unit in other case", [{ value: "2", unit: "KWH" }], 2000],
    ["the unit of 2.0.1", [{ value: 12.5, unitOfMeasure: { unit: "kWh" } }], 12500],
    ["a multiplier of 2.0.1", [{ value: 12.5, unitOfMeasure: { unit: "Wh", multiplier: 3 } }], 12500],
    ["the sum of the phases", [1, 2, 3].map((n) => ({ value: n * 100, phase: `L${n}` })), 600],
    ["the phases to neutral", [1, 2, 3].map((n) => ({ value: n * 100, phase: `L${n}-N` })), 600],
    ["one phase, of a charger with one", [{ value: 100, phase: "L1" }], 100],
    ["the total rather than its phases", [{ value: 500 }, { value: 100, phase: "L1" }], 500],
    ["the end rather than a larger value", [{ value: 900 }, { value: 800, context: "Transaction.End" }], 800],
    ["the larger of two registers", [{ value: 12 }, { value: 1234 }], 1234],
    ["power", [{ value: 11000, measurand: "Power.Active.Import" }], null],
    ["export", [{ value: 11000, measurand: "Energy.Active.Export.Register" }], null],
    ["an interval", [{ value: 11000, measurand: "Energy.Active.Import.Interval" }], null],
    ["the grid side, of a charger that measures nowhere else", [{ value: 11000, location: "Inlet" }], 11000],
    ["a line voltage's phase", [{ value: 11000, phase: "L1-L2" }], null],
    ["no energy unit", [{ value: 11000, unit: "varh" }], null],
    ["text", [{ value: "NaN" }], null],
    ["nothing", [{}], null],
    ["a text too long for a number", [{ value: `${"0".repeat(250_000)}x` }], null],
    ["an absurd register", [{ value: 1e15 }], null],
    ["an absurd multiplier", [{ value: 1, unitOfMeasure: { unit: "Wh", multiplier: 400 } }], null],
  ])("contract §6 %s", (_, values, expected) => expect(wh(...values)).toBe(expected));

  test("contract §6 a begin is only a start, and a register only grows", () => {
    const readings = readingsOf(
      [
        { timestamp: "2026-03-10T11:30:00Z", sampledValue: [{ value: 1500 }] },
        { timestamp: "2026-03-10T10:00:00Z", sampledValue: [{ value: 1000, context: "Transaction.Begin" }] },
        { timestamp: "2026-03-10T11:45:00Z", sampledValue: [{ value: 0 }] },
      ],
      NOW,
      true,
    );
    const begin = { at: "2026-03-10T10:00:00.000Z", wh: 1000 };
    expect(readings).toMatchObject({
      begin,
      first: begin,
      last: { at: "2026-03-10T11:30:00.000Z", wh: 1500 },
      end: null,
    });
  });

  test("contract §6 signed values are kept as they were sent, in both protocols", () => {
    expect(readingsOf(sample({ value: "A1B2", format: "SignedData" }), NOW, true)).toMatchObject({
      signed: ["A1B2"],
      last: null,
    });
    expect(readingsOf(sample({ value: "OCMF|{}|{}" }), NOW, true).signed).toEqual(["OCMF|{}|{}"]);
    expect(readingsOf(sample({ value: 5, signedMeterValue: { signedMeterData: "OCMF|x" } }), NOW, true)).toMatchObject({
      signed: ["OCMF|x"],
      last: { wh: 5 },
    });
  });

  test.each([null, 5, "x", [], {}, [null, 5, "x"], [{ sampledValue: 5 }], [{ sampledValue: [[]] }]])(
    "contract §6 %j holds no reading",
    (samples) => expect(readingsOf(samples, NOW, true)).toMatchObject({ first: null, last: null, signed: [] }),
  );

  test.each([
    ["0.0005", 3, 1],
    [0.5005, 3, 501],
    ["5.005e-1", 3, 501],
    [".5", 0, 1],
    ["000000000000000000012.", 3, 12_000],
    ["-0.5", 0, -1],
    [-0.4, 0, 0],
    ["1000000000001", 0, null],
    ["1e30", 0, null],
    ["1.2.3", 0, null],
    [".", 0, null],
    ["0.4", 0, 0],
    [" 12 ", 0, 12],
    ["", 0, null],
    [null, 0, null],
    [true, 0, null],
    [Number.NaN, 0, null],
  ])("contract §6 %j times ten to the %i is %j", (value, exponent, expected) =>
    expect(wholeOf(value, exponent)).toBe(expected),
  );
});

describe("clocks", () => {
  test.each<[unknown, string | null]>([
    ["2026-03-10T11:00:00Z", "2026-03-10T11:00:00.000Z"],
    ["2026-03-10T11:00:00.1234567z", "2026-03-10T11:00:00.123Z"],
    ["2026-03-10T12:00:00+01:00", "2026-03-10T11:00:00.000Z"],
    ["2026-03-10T12:00:00+0100", "2026-03-10T11:00:00.000Z"],
    ["2026-03-10T12:00:00+01", "2026-03-10T11:00:00.000Z"],
    // without a zone it is UTC
    ["2026-03-10T11:00:00", "2026-03-10T11:00:00.000Z"],
    ["2026-03-10 11:00", "2026-03-10T11:00:00.000Z"],
    ["1970-1-1", "1970-01-01T00:00:00.000Z"],
    ["0001-01-01T00:00:00+02:00", null],
    ["9999-12-31T23:59:59-01:00", null],
    ["2026-13-10T11:00:00Z", null],
    ["10-03-2026", null],
    ["", null],
    [1773140400, "2026-03-10T11:00:00.000Z"],
    ["1773140400.5", "2026-03-10T11:00:00.500Z"],
    [1773140400123, "2026-03-10T11:00:00.123Z"],
    ["20260310110000", null],
    [null, null],
  ])("contract §6 %j is %j", (text, expected) => {
    const time = timeOf(text);
    expect(time === null ? null : new Date(time).toISOString()).toBe(expected);
  });

  test.each<[string, unknown, boolean, string, string]>([
    ["right", "2026-03-10T11:00:00Z", false, "2026-03-10T11:00:00.000Z", "charger"],
    ["five minutes ahead", "2026-03-10T12:05:00Z", true, "2026-03-10T12:05:00.000Z", "charger"],
    ["of 1970, live", "1970-01-01T00:10:00Z", true, NOW, "arrival"],
    ["of 1970, queued", "1970-01-01T00:10:00Z", false, "1970-01-01T00:10:00.000Z", "wrong"],
    ["of tomorrow, live", "2026-03-11T12:00:00Z", true, NOW, "arrival"],
    ["of tomorrow, queued", "2026-03-11T12:00:00Z", false, "2026-03-11T12:00:00.000Z", "wrong"],
    ["local, labelled Z, live", "2026-03-10T13:00:00Z", true, NOW, "arrival"],
    ["missing, live", undefined, true, NOW, "arrival"],
    ["missing, queued", undefined, false, "1970-01-01T00:00:00.000Z", "wrong"],
  ])("contract §6 a clock that is %s", (_, text, live, at, clock) =>
    expect(momentOf(text, NOW, live)).toMatchObject({ at, clock }),
  );
});

describe("messages", () => {
  test("contract §6 a boot of either protocol tells what the charger is", () => {
    const boot = { vendor: "Alfen BV", model: "NG910-60023", serial_number: "ACE1", firmware: "6.4" };
    expect(
      read("ocpp1.6", "BootNotification", {
        chargePointVendor: " Alfen BV ",
        chargePointModel: "NG910-60023",
        chargePointSerialNumber: "ACE1",
        firmwareVersion: "6.4",
        meterType: "x".repeat(300),
      }).happened,
    ).toMatchObject({ kind: "boot", boot: { ...boot, meter_type: "x".repeat(120) } });
    expect(
      read("ocpp2.0.1", "BootNotification", {
        reason: "PowerUp",
        chargingStation: { vendorName: "Alfen BV", model: "NG910-60023", serialNumber: "ACE1", firmwareVersion: "6.4" },
      }).happened,
    ).toMatchObject({ kind: "boot", boot });
  });

  test("contract §6 a start of 1.6 names connector, time and register, also as text and with a long tag", () => {
    const { happened, answer } = read("ocpp1.6", "StartTransaction", {
      connectorId: "2",
      idTag: "0123456789012345678901",
      meterStart: "100",
      timestamp: "2026-03-10T11:00:00+00:00",
      extra: 1,
    });
    expect(happened).toMatchObject({ kind: "start", connector: 2, meter_wh: 100, at: "2026-03-10T11:00:00.000Z" });
    expect(happened).toMatchObject({ id_tag: "0123456789012345678901" });
    expect(answer(7)).toEqual({ payload: { transactionId: 7, idTagInfo: { status: "Accepted" } } });
  });

  test.each([0, -1, -16, "17", 9223372036854775807n.toString(), null])(
    "contract §6 a stop of transaction %j is read",
    (id) => {
      const { happened, answer, unusable } = read("ocpp1.6", "StopTransaction", {
        transactionId: id,
        meterStop: 200,
        timestamp: "2026-03-10T11:00:00Z",
      });
      expect(happened).toMatchObject({ kind: "stop", transaction: id === null ? null : String(id), meter_wh: 200 });
      expect(unusable).toBeUndefined();
      expect(answer()).toEqual({ payload: {} });
    },
  );

  test("contract §6 values of connector 0 and values without energy tell nothing", () => {
    const meterValue = sample({ value: 5 });
    expect(read("ocpp1.6", "MeterValues", { connectorId: 0, meterValue }).happened).toBeNull();
    expect(read("ocpp2.0.1", "MeterValues", { evseId: 0, meterValue }).happened).toBeNull();
    expect(
      read("ocpp1.6", "MeterValues", { connectorId: 1, meterValue: sample({ value: 5, unit: "A" }) }).happened,
    ).toBeNull();
    expect(read("ocpp1.6", "MeterValues", { connectorId: 1, transactionId: 3, meterValue }).happened).toMatchObject({
      kind: "values",
      connector: 1,
      transaction: "3",
      last: { wh: 5 },
    });
  });

  test("contract §6 an event of 2.0.1 names its transaction, and its token is answered", () => {
    const payload = {
      eventType: "Started",
      timestamp: "2026-03-10T11:00:00Z",
      transactionInfo: { transactionId: "t-1" },
      evse: { id: 2, connectorId: 1 },
      meterValue: sample({ value: 5, context: "Transaction.Begin" }),
    };
    const { happened, answer } = read("ocpp2.0.1", "TransactionEvent", payload);
    expect(happened).toMatchObject({ kind: "event", transaction: "t-1", type: "Started", connector: 2, id_tag: null });
    expect(answer()).toEqual({ payload: {} });
    expect(read("ocpp2.0.1", "TransactionEvent", { ...payload, idToken: { idToken: "X" } }).answer()).toEqual({
      payload: { idTokenInfo: { status: "Accepted" } },
    });
  });

  test("contract §6 a transaction whose id is too long to be stored is known by its hash", () => {
    const named = (transactionId: string) =>
      read("ocpp2.0.1", "TransactionEvent", { eventType: "Started", transactionInfo: { transactionId } });
    const stored = (id: string) => (named(id).happened as { transaction: string }).transaction;
    expect(stored("x".repeat(109))).toBe("x".repeat(109));
    expect(stored("x".repeat(110))).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(stored("x".repeat(256))).not.toBe(stored("x".repeat(255)));
    expect(named("x".repeat(257)).unusable).toBe("transactionInfo.transactionId");
  });

  test("contract §6 an event that a station queued tells nothing of now, whatever its clock", () => {
    const payload = {
      eventType: "Started",
      timestamp: "1970-01-01T00:10:00Z",
      transactionInfo: { transactionId: "t" },
    };
    const clock = (more: object) => read("ocpp2.0.1", "TransactionEvent", { ...payload, ...more }).happened;
    expect(clock({})).toMatchObject({ at: NOW, clock: "arrival" });
    expect(clock({ offline: false })).toMatchObject({ clock: "arrival" });
    expect(clock({ offline: true })).toMatchObject({ at: "1970-01-01T00:10:00.000Z", clock: "wrong" });
  });

  test.each<[Protocol, string, unknown, string]>([
    ["ocpp1.6", "StartTransaction", {}, "meterStart"],
    ["ocpp1.6", "StartTransaction", [], "payload"],
    ["ocpp2.0.1", "TransactionEvent", { eventType: "Ended" }, "transactionInfo.transactionId"],
    [
      "ocpp2.0.1",
      "TransactionEvent",
      { transactionInfo: { transactionId: "x".repeat(500) } },
      "transactionInfo.transactionId",
    ],
    ["ocpp2.0.1", "TransactionEvent", { transactionInfo: { transactionId: "x" } }, "eventType"],
    ["ocpp1.6", "Heartbeat", null, "payload"],
  ])("contract §6 %s %s of %j is answered, and named unusable", (protocol, action, payload, unusable) => {
    const reading = read(protocol, action, payload);
    expect(reading.unusable).toBe(unusable);
    expect(reading.answer()).toHaveProperty("payload");
  });

  test.each(["TransactionEvent", "toString", "__proto__", ""])("contract §6 1.6 knows no %j", (action) =>
    expect(read("ocpp1.6", action, {}).answer()).toMatchObject({ error: { code: "NotImplemented" } }),
  );
});
