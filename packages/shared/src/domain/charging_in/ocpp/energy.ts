/** Reads the energy register out of sampled values, of OCPP 1.6 and 2.0.1 alike. */

import { type Clock, type Fields, isSet, meterOf, momentOf, objectOf, objectsOf, textOf } from "./lenient.ts";

/** A reading of the meter's register for imported energy, in Wh. */
export type Reading = { at: string; wh: number };

export type Readings = {
  /** The earliest reading with context Transaction.Begin. */
  begin: Reading | null;
  /** The earliest reading of any context. */
  first: Reading | null;
  /** The earliest reading above 0 that is of no Transaction.Begin or End. */
  rise: Reading | null;
  /** The largest reading that is no Transaction.Begin: a register only grows, so a sample that drops is a fault. */
  last: Reading | null;
  /** The largest reading with context Transaction.End. */
  end: Reading | null;
  /** Signed meter values, as they were sent. */
  signed: string[];
  /** Whether a time of arrival stands for the charger's. */
  clock: Clock;
};

const ENERGY = "energy.active.import.register";
const TOTAL = "";
const PHASE = /^L[123](?:-N)?$/i;
/** Where a charger measures; the first of these that a message has counts. A reading of the car's meter is none. */
const LOCATIONS = ["outlet", "cable", "body", "inlet"];

type Context = "begin" | "end" | "running";
/** `wh` is null if the charger did not know it. */
type Value = { location: number; phase: string; context: Context; wh: number | null };

const contextOf = (value: Fields): Context => {
  const context = (textOf(value.context) ?? "").toLowerCase();
  return context === "transaction.begin" ? "begin" : context === "transaction.end" ? "end" : "running";
};

/** The power of ten that makes Wh of a value; null if it is no energy. */
function exponentOf(value: Fields): number | null {
  const measure = objectOf(value.unitOfMeasure);
  const multiplier = Number(textOf(measure.multiplier) ?? 0);
  if (!Number.isInteger(multiplier) || Math.abs(multiplier) > 12) return null;
  switch ((textOf(value.unit) ?? textOf(measure.unit) ?? "Wh").toLowerCase()) {
    case "wh":
      return multiplier;
    case "kwh":
      return 3 + multiplier;
    case "mwh":
      return 6 + multiplier;
    default:
      return null;
  }
}

/** The signed text of a value: 1.6 labels the value, 2.0.1 has a field of its own. */
function signedOf(value: Fields): string | null {
  const text = textOf(value.value);
  if ((textOf(value.format) ?? "").toLowerCase() === "signeddata" || text?.startsWith("OCMF|")) return text;
  return textOf(objectOf(value.signedMeterValue).signedMeterData);
}

/** Energy, as one value of a sample; null for any other measurand. */
function energyValue(value: Fields): Value | null {
  if ((textOf(value.measurand) ?? ENERGY).toLowerCase() !== ENERGY) return null;
  const location = LOCATIONS.indexOf((textOf(value.location) ?? "Outlet").toLowerCase());
  if (location < 0) return null;
  if ((textOf(value.format) ?? "Raw").toLowerCase() !== "raw") return null;
  const phase = textOf(value.phase) ?? TOTAL;
  if (phase !== TOTAL && !PHASE.test(phase)) return null;
  const exponent = exponentOf(value);
  if (exponent === null) return null;
  return {
    location,
    phase: phase.toUpperCase().slice(0, 2),
    context: contextOf(value),
    wh: meterOf(value.value, exponent),
  };
}

/** The largest number; null if there is none. */
const largest = (values: readonly Value[]) =>
  values.reduce<number | null>((most, { wh }) => (wh === null || (most !== null && most >= wh) ? most : wh), null);

/**
 * The register of one context: the total, else the sum of the phases; of several registers, the largest. Null if a
 * phase is unknown: the others alone would be a lower register.
 */
function registerOf(values: readonly Value[], context: Context): number | null {
  const here = values.filter((value) => value.context === context);
  const total = largest(here.filter(({ phase }) => phase === TOTAL));
  if (total !== null) return total;
  const phases = ["L1", "L2", "L3"]
    .map((name) => here.filter(({ phase }) => phase === name))
    .filter((each) => each.length > 0)
    .map(largest);
  return phases.length === 0 || phases.includes(null) ? null : phases.reduce<number>((sum, wh) => sum + (wh ?? 0), 0);
}

/** The earlier of two. One of a clock that was not set is none, beside one of a clock that was. */
const earlier = (one: Reading | null, other: Reading | null) => {
  if (!one || !other) return one ?? other;
  if (isSet(one.at) !== isSet(other.at)) return isSet(one.at) ? one : other;
  return other.at < one.at || (other.at === one.at && other.wh < one.wh) ? other : one;
};
const larger = (one: Reading | null, other: Reading | null) =>
  !one || !other ? (one ?? other) : other.wh > one.wh ? other : one;

/**
 * The register over a list of samples: `meterValue` of MeterValues and TransactionEvent, `transactionData` of
 * StopTransaction. In one sample a Transaction.End wins over other values. `each` gets the reading of each sample.
 */
export function readingsOf(samples: unknown, received_at: string, live: boolean, each: Reading[] = []): Readings {
  const readings: Readings = {
    begin: null,
    first: null,
    rise: null,
    last: null,
    end: null,
    signed: [],
    clock: "charger",
  };
  const read = objectsOf(samples).map((sample) => {
    const sampled = objectsOf(sample.sampledValue ?? sample.value);
    readings.signed.push(...sampled.map(signedOf).filter((text) => text !== null));
    return { sample, energy: sampled.map(energyValue).filter((value) => value !== null) };
  });
  // two places are two registers
  const nearest = read.flatMap(({ energy }) => energy).reduce((least, { location }) => Math.min(least, location), 9);
  for (const { sample, energy } of read) {
    const values = energy.filter(({ location }) => location === nearest);
    if (values.length === 0) continue;
    const { at, clock } = momentOf(sample.timestamp, received_at, live);
    if (clock !== "charger") readings.clock = clock;
    const of = (context: Context) => {
      const wh = registerOf(values, context);
      return wh === null ? null : { at, wh };
    };
    const [begin, running, end] = [of("begin"), of("running"), of("end")];
    const now = end ?? running;
    const any = now ?? begin;
    if (any) each.push(any);
    readings.begin = earlier(readings.begin, begin);
    readings.first = earlier(readings.first, begin ?? now);
    readings.rise = earlier(readings.rise, running && running.wh > 0 ? running : null);
    readings.last = larger(readings.last, now);
    readings.end = larger(readings.end, end);
  }
  return readings;
}
