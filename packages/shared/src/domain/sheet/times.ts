import { type Cell, wordsOf } from "./model.ts";
import { monthNumber } from "./months.ts";
import { AMSTERDAM, momentOf, type Zone, zoneOf } from "./zones.ts";

export const ORDERS = ["dmy", "mdy"] as const;
/** Which comes first in a date of digits: the day or the month. */
export type Order = (typeof ORDERS)[number];

/** What a cell says about a time. */
export type Written = {
  /** Midnight of its day, in milliseconds since 1970 as if at UTC. Read day first, where the form leaves the order open. */
  day: number | null;
  /** The same read month first; undefined where the form leaves no choice. */
  monthFirst?: number | null;
  /** Milliseconds since midnight; null without a time. */
  clock: number | null;
  /** The zone that the cell itself names. */
  zone?: Zone;
  /** What stands between day, month and year. */
  sign?: string;
  /** It has AM or PM. */
  isTwelve?: boolean;
  /** Its year has two digits, so nothing is read. */
  isShort?: boolean;
};

const ZONE = String.raw`(?: ?(z|(?:utc|gmt)?[+-]\d{1,2}(?::?\d{2})?(?:\[[\w/]+\])?|utc|gmt|cest|cet|mest|met|[a-z]+/[a-z_/]+))?`;
const CLOCK = String.raw`(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?(?: ?([ap])\.?m\.?)?(?: ?(?:uur|uhr|h))?${ZONE}`;
const YEAR_FIRST = new RegExp(String.raw`^(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?:[t ,]+${CLOCK})?$`);
const YEAR_LAST = new RegExp(String.raw`^(\d{1,2})([-/.])(\d{1,2})\2(\d{4}|\d{2})(?:[t ,]+${CLOCK})?$`);
const NAMED = new RegExp(String.raw`^(\d{1,2})[-. ]+([a-zäé]+)\.?[-., ]+(\d{4})(?:[t ,]+${CLOCK})?$`);
const NAME_FIRST = new RegExp(String.raw`^([a-zäé]+)\.? (\d{1,2}),? (\d{4})(?:[t ,]+${CLOCK})?$`);
const CLOCK_ONLY = new RegExp(`^${CLOCK}$`);

const DAY = 86_400_000;
/** Programs write a time without a day as a time of 1899 or 1900. */
const FIRST_YEAR = 1901;

/** What a cell says about a time; null where it says none. */
export function readTime(cell: Cell): Written | null {
  if (cell.kind === "date") return ofDate(cell);
  const text = wordsOf(cell);
  return text === null ? null : ofText(text);
}

function ofDate({ wall, shows }: Extract<Cell, { kind: "date" }>): Written {
  const clock = ((wall % DAY) + DAY) % DAY;
  // a day without a time tells no moment
  if (shows === "time" || wall < Date.UTC(FIRST_YEAR, 0)) return { day: null, clock };
  return { day: wall - clock, clock: shows === "moment" || clock !== 0 ? clock : null };
}

function ofText(text: string): Written | null {
  const yearFirst = YEAR_FIRST.exec(text);
  if (yearFirst) {
    const [, year, , month, day] = yearFirst;
    return written(yearFirst, 5, Number(year) < FIRST_YEAR ? null : dayOf(year, month, day));
  }
  const yearLast = YEAR_LAST.exec(text);
  if (yearLast) {
    const [, one, sign = "", two, year = ""] = yearLast;
    if (year.length === 2) return { day: null, clock: null, isShort: true };
    if (Number(year) < FIRST_YEAR) return written(yearLast, 5, null);
    const read = written(yearLast, 5, dayOf(year, two, one));
    return read && { ...read, monthFirst: dayOf(year, one, two), sign };
  }
  const clock = CLOCK_ONLY.exec(text);
  if (clock) return written(clock, 1, null);
  const named = NAMED.exec(text);
  if (named) return written(named, 4, dayOf(named[3], monthNumber(named[2] ?? ""), named[1]));
  const nameFirst = NAME_FIRST.exec(text);
  return nameFirst ? written(nameFirst, 4, dayOf(nameFirst[3], monthNumber(nameFirst[1] ?? ""), nameFirst[2])) : null;
}

/** @param at where the groups of CLOCK begin. Null where the time is none, or its zone is not known. */
function written(found: RegExpExecArray, at: number, day: number | null): Written | null {
  const typed = found[at];
  if (typed === undefined) return { day, clock: null };
  const [minute, second] = [Number(found[at + 1]), Number(found[at + 2] ?? 0)];
  const half = found[at + 3];
  let hour = Number(typed);
  if (minute > 59 || second > 59 || hour > 23 || (half && (hour < 1 || hour > 12))) return null;
  if (half) hour = (hour % 12) + (half === "p" ? 12 : 0);
  const read: Written = { day, clock: ((hour * 60 + minute) * 60 + second) * 1000 };
  if (half) read.isTwelve = true;
  const zone = found[at + 4];
  if (zone !== undefined) {
    const meant = zoneOf(zone.replace(/\[.*/, ""));
    if (meant === null) return null;
    read.zone = meant;
  }
  return read;
}

/** Midnight of a day; null of 31 February. */
function dayOf(year: unknown, month: unknown, day: unknown): number | null {
  const midnight = Date.UTC(Number(year), Number(month) - 1, Number(day));
  const read = new Date(midnight);
  return read.getUTCMonth() === Number(month) - 1 && read.getUTCDate() === Number(day) && Number(month) >= 1
    ? midnight
    : null;
}

/** The day that a time means in this order. */
export const dayIn = (read: Written, order: Order): number | null =>
  order === "mdy" && read.monthFirst !== undefined ? read.monthFirst : read.day;

/**
 * What dates say about the order of day and month: `dmy` or `mdy` if some can only be so, `both`, or nothing (null). `open` is the
 * first date that may be either.
 */
export function orderOf(dates: readonly (Written | null)[]): {
  shown: Order | "both" | null;
  /** The place of the first date that may be either and means two days. */
  open: number | null;
  /** The place of the first date that can only be month first. */
  monthFirst: number | null;
} {
  const shown = new Set<Order>();
  let open: number | null = null;
  let monthFirst: number | null = null;
  dates.forEach((read, place) => {
    if (read?.monthFirst === undefined) return;
    if (read.day === null && read.monthFirst !== null) {
      shown.add("mdy");
      monthFirst ??= place;
    } else if (read.day !== null && read.monthFirst === null) shown.add("dmy");
    else if (read.day !== read.monthFirst) open ??= place;
  });
  const [one = null] = shown;
  return { shown: shown.size > 1 ? "both" : one, open, monthFirst };
}

/**
 * The moment that a cell names, in milliseconds since 1970; null where it names none. Year first, day first, or a month by its name;
 * with a fraction, AM or PM, or a zone; or a date cell that has a time. In the hour that March skips there is none; in the one that
 * October has twice it is the first.
 * @param notBefore what it ends: in the hour that October has twice it is the second, where the first lies before this
 * @param zone of a time that names none
 */
export function readMoment(
  cell: Cell,
  notBefore?: number,
  order: Order = "dmy",
  zone: Zone = AMSTERDAM,
): number | null {
  const read = readTime(cell);
  const day = read && dayIn(read, order);
  return read && day !== null && read.clock !== null ? momentOf(day + read.clock, read.zone ?? zone, notBefore) : null;
}
