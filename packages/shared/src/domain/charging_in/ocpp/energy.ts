/** Reads the energy register out of sampled values, of OCPP 1.6 and 2.0.1 alike. */

import { type Clock, type Fields, isSet, momentOf, objectOf, objectsOf, textOf, wholeOf } from "./lenient.ts";

/** A reading of the meter's register for imported energy, in Wh. */
type Reading = { at: string; wh: number };

export type Readings = {
  /** The earliest reading with context Transaction.Begin. */
  begin: Reading | null;
  /** The earliest reading of any context. */
  first: Reading | null;
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

type Context = "begin" | "end" | "running";
type Value = { phase: string; context: Context; wh: number };

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

/** Energy at the outlet, as one value of a sample; null for any other measurand. */
function energyValue(value: Fields): Value | null {
  if ((textOf(value.measurand) ?? ENERGY).toLowerCase() !== ENERGY) return null;
  if ((textOf(value.location) ?? "Outlet").toLowerCase() !== "outlet") return null;
  if ((textOf(value.format) ?? "Raw").toLowerCase() !== "raw") return null;
  const phase = textOf(value.phase) ?? TOTAL;
  if (phase !== TOTAL && !PHASE.test(phase)) return null;
  const exponent = exponentOf(value);
  const wh = exponent === null ? null : wholeOf(value.value, exponent);
  return wh === null ? null : { phase: phase.toUpperCase().slice(0, 2), context: contextOf(value), wh };
}

const largest = (numbers: number[]) => (numbers.length === 0 ? null : Math.max(...numbers));

/** The register of one context: the total, else the sum of the phases; of several registers, the largest. */
function registerOf(values: readonly Value[], context: Context): number | null {
  const here = values.filter((value) => value.context === context);
  const total = largest(here.filter(({ phase }) => phase === TOTAL).map(({ wh }) => wh));
  if (total !== null) return total;
  const phases = ["L1", "L2", "L3"].map((name) =>
    largest(here.filter(({ phase }) => phase === name).map(({ wh }) => wh)),
  );
  return phases.every((wh) => wh === null) ? null : phases.reduce<number>((sum, wh) => sum + (wh ?? 0), 0);
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
 * StopTransaction. In one sample a Transaction.End wins over other values.
 */
export function readingsOf(samples: unknown, received_at: string, live: boolean): Readings {
  const readings: Readings = { begin: null, first: null, last: null, end: null, signed: [], clock: "charger" };
  for (const sample of objectsOf(samples)) {
    const sampled = objectsOf(sample.sampledValue ?? sample.value);
    readings.signed.push(...sampled.map(signedOf).filter((text) => text !== null));
    const values = sampled.map(energyValue).filter((value) => value !== null);
    if (values.length === 0) continue;
    const { at, clock } = momentOf(sample.timestamp, received_at, live);
    if (clock !== "charger") readings.clock = clock;
    const of = (context: Context) => {
      const wh = registerOf(values, context);
      return wh === null ? null : { at, wh };
    };
    const [begin, end] = [of("begin"), of("end")];
    const now = end ?? of("running");
    readings.begin = earlier(readings.begin, begin);
    readings.first = earlier(readings.first, begin ?? now);
    readings.last = larger(readings.last, now);
    readings.end = larger(readings.end, end);
  }
  return readings;
}
