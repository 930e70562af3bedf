/** Reads what chargers send, whatever the schemas say: numbers as text, missing fields, times without a zone. */

import { wattHours } from "#shared/values/energy.ts";

export type Fields = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The object, or an empty one. */
export const objectOf = (value: unknown): Fields => (isObject(value) ? value : {});

/** The objects of a list; a single object counts as a list of one. */
export const objectsOf = (value: unknown): Fields[] => (Array.isArray(value) ? value : [value]).filter(isObject);

/** A text without outer spaces; a number as text; null for anything else, and for nothing. */
export function textOf(value: unknown): string | null {
  if (typeof value === "number" && Number.isFinite(value)) return String(value);
  return typeof value === "string" ? value.trim() || null : null;
}

/** A number times 10 to the power of `exponent` in whole Wh; null if it is no number, or larger than a meter's register. */
export function wholeOf(value: unknown, exponent = 0): number | null {
  const wh = wattHours(textOf(value) ?? "", exponent);
  return wh !== null && Math.abs(wh) <= 1e12 ? wh : null;
}

/** The largest numbers of 31 and 32 bits, which chargers send for a register that they do not know; 63 bits are too large anyway. */
const UNKNOWN_METERS = [2 ** 31 - 1, 2 ** 32 - 1];

/** The reading of a register in whole Wh, as `wholeOf`; null if the charger did not know it: negative, or the largest number it has. */
export function meterOf(value: unknown, exponent = 0): number | null {
  const wh = wholeOf(value, exponent);
  const isUnknown = [wh, Math.trunc(Number(textOf(value)))].some(
    (each) => each !== null && UNKNOWN_METERS.includes(each),
  );
  return wh === null || wh < 0 || isUnknown ? null : wh;
}

/** A whole number from `from` to `to`, else null. */
export function countOf(value: unknown, from: number, to: number): number | null {
  const text = textOf(value);
  const number = text === null ? Number.NaN : Number(text);
  return Number.isInteger(number) && number >= from && number <= to ? number : null;
}

/** What stands for a time that a charger did not know: before 2010, so the session is flagged `wrong_clock`. */
const UNKNOWN = "1970-01-01T00:00:00.000Z";
const CLOCKS_BEGIN = Date.parse("2010-01-01T00:00:00Z");
const AHEAD_MS = 5 * 60_000;

/** Whether a time in ISO 8601 is of a clock that was ever set. */
export const isSet = (at: string) => Date.parse(at) >= CLOCKS_BEGIN;

/** `charger`: its own time. `arrival`: its clock was wrong, and the message came as it happened. `wrong`: nobody knows. */
export type Clock = "charger" | "arrival" | "wrong";
export type Moment = {
  /** ISO 8601, in UTC. */
  at: string;
  clock: Clock;
  /** The charger's own time, to recognize a repeat by; null if it told none that can be read. */
  told: string | null;
};

const TIME =
  /^(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d+))?)?)?\s*(Z|[+-]\d{2}(?::?\d{2})?)?$/i;

const FIRST_MS = Date.parse("0001-01-01T00:00:00Z");
const LAST_MS = Date.parse("9999-12-31T23:59:59.999Z");

/** Seconds or milliseconds since 1970. */
const EPOCH = /^\d{1,13}(?:\.\d+)?$/;

/** A time in milliseconds; without a zone it is UTC. Null if it cannot be read. */
export function timeOf(value: unknown): number | null {
  const text = textOf(value) ?? "";
  if (EPOCH.test(text)) return Math.floor(Number(text) * (Number(text) < 1e11 ? 1_000 : 1));
  const match = TIME.exec(text);
  if (!match) return null;
  const [, year = "", month = "", day = "", hour = "00", minute = "00", second = "00", fraction = "", zone = "Z"] =
    match;
  const digits = zone.replace(/[^\d]/g, "").padEnd(4, "0");
  const offset = /^z$/i.test(zone) ? "Z" : `${zone[0]}${digits.slice(0, 2)}:${digits.slice(2)}`;
  const written = `${year}-${month.padStart(2, "0")}-${day.padStart(2, "0")}T${hour}:${minute}:${second}.${fraction.padEnd(3, "0").slice(0, 3)}${offset}`;
  const time = Date.parse(written);
  // an offset may lead out of the years that ISO 8601 and Postgres write with four digits
  return time >= FIRST_MS && time <= LAST_MS ? time : null;
}

/**
 * When something happened, by the charger's clock. If that clock lies before 2010 or more than 5 minutes ahead, the time
 * of arrival stands for it; but only for a `live` message, because a queued one may be days old.
 */
export function momentOf(value: unknown, received_at: string, live: boolean): Moment {
  const time = timeOf(value);
  const told = time === null ? null : new Date(time).toISOString();
  if (time !== null && time >= CLOCKS_BEGIN && time <= Date.parse(received_at) + AHEAD_MS)
    return { at: told ?? UNKNOWN, clock: "charger", told };
  return live ? { at: received_at, clock: "arrival", told } : { at: told ?? UNKNOWN, clock: "wrong", told };
}
