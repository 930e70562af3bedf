import { type Cell, wordsOf } from "./model.ts";

const ZONE = String.raw`(?: ?(z|[+-]\d{2}:?\d{2}))?`;
const CLOCK = String.raw`(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?`;
const YEAR_FIRST = new RegExp(String.raw`^(\d{4})-(\d{1,2})-(\d{1,2})[t ]+${CLOCK}${ZONE}$`);
const DAY_FIRST = new RegExp(String.raw`^(\d{1,2})([-/.])(\d{1,2})\2(\d{4})[t ,]+${CLOCK}${ZONE}$`);

/** A clock's time: its milliseconds since 1970 as if it stood at UTC, and how far it is ahead of UTC, where that is said. */
type Told = { wall: number; ahead: number | null };

/**
 * The moment that a cell names, in milliseconds since 1970; null where it names none. `YYYY-MM-DD HH:mm[:ss]`, also with `T`, a
 * fraction or a zone; or day first, `DD-MM-YYYY HH:mm`, with `-`, `/` or `.`; never month first; or a date cell that has a time.
 * Without a zone it is a time of Amsterdam. In the hour that March skips there is none; in the one that October has twice it is the
 * first.
 * @param notBefore what it ends: in the hour that October has twice it is the second, where the first lies before this
 */
export function readMoment(cell: Cell, notBefore?: number): number | null {
  const told = toldBy(cell);
  if (!told) return null;
  const { wall, ahead } = told;
  if (ahead !== null) return wall - ahead;
  const moments = OFFSETS.filter((offset) => aheadAt(wall - offset) === offset).map((offset) => wall - offset);
  return moments.find((moment) => notBefore === undefined || moment >= notBefore) ?? moments[0] ?? null;
}

function toldBy(cell: Cell): Told | null {
  if (cell.kind === "date") {
    // a day without a time tells no moment
    const tells = cell.shows === "moment" || (cell.shows !== "time" && cell.wall % DAY !== 0);
    return tells ? { wall: cell.wall, ahead: null } : null;
  }
  const text = wordsOf(cell);
  if (text === null) return null;
  const iso = YEAR_FIRST.exec(text);
  if (iso) {
    const [, year, month, day, hour, minute, second, zone] = iso;
    return told([year, month, day, hour, minute, second], zone);
  }
  const [found, day, , month, year, hour, minute, second, zone] = DAY_FIRST.exec(text) ?? [];
  return found ? told([year, month, day, hour, minute, second], zone) : null;
}

function told(parts: (string | undefined)[], zone: string | undefined): Told | null {
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts.map((part) => Number(part ?? 0));
  const wall = Date.UTC(year, month - 1, day, hour, minute, second);
  const read = new Date(wall);
  // 31 February would be a day in March
  if (read.getUTCMonth() !== month - 1 || read.getUTCDate() !== day || hour > 23 || minute > 59 || second > 59)
    return null;
  return { wall, ahead: zone === undefined ? null : aheadOf(zone) };
}

function aheadOf(zone: string): number {
  if (zone === "z") return 0;
  const [hours, minutes] = [Number(zone.slice(1, 3)), Number(zone.slice(-2))];
  return (zone.startsWith("-") ? -1 : 1) * (hours * 60 + minutes) * 60_000;
}

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** How far Amsterdam is ahead of UTC, in summer and in winter. The first makes the earlier moment. */
const OFFSETS = [2 * HOUR, HOUR];

const amsterdam = new Intl.DateTimeFormat("en", {
  timeZone: "Europe/Amsterdam",
  hourCycle: "h23",
  year: "numeric",
  month: "numeric",
  day: "numeric",
  hour: "numeric",
});
/** By day of UTC: its offset where it is the same at its begin and end, which spares a file of 5,000 rows its calendar. */
const days = new Map<number, number | null>();

function aheadAt(moment: number): number {
  const day = Math.floor(moment / DAY);
  let same = days.get(day);
  if (same === undefined) {
    const [begin, end] = [ask(day * DAY), ask((day + 1) * DAY)];
    same = begin === end ? begin : null;
    if (days.size < 10_000) days.set(day, same);
  }
  return same ?? ask(moment);
}

function ask(moment: number): number {
  const hour = Math.floor(moment / HOUR) * HOUR;
  const part = Object.fromEntries(amsterdam.formatToParts(hour).map(({ type, value }) => [type, Number(value)]));
  return Date.UTC(part.year ?? 0, (part.month ?? 0) - 1, part.day ?? 0, part.hour ?? 0) - hour;
}
