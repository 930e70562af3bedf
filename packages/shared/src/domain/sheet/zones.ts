const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Ahead of UTC by so many milliseconds, or by what a place of the IANA database keeps. */
export type Zone = number | string;

export const AMSTERDAM = "Europe/Amsterdam";

const OFFSET = /^(?:utc|gmt)? ?([+-])(\d{1,2})(?::?(\d{2}))?$/;
/** Words that mean the civil time of Amsterdam, with its summer time. */
const OURS = /^(?:cest|cet|mest|mez|mesz|met|w\. europe standard time)$|amsterdam/;
const known = new Map<string, Zone | null>();

/** The zone that a text names; null where it names none that we know. `CET` is Amsterdam's civil time, also in summer. */
export function zoneOf(text: string): Zone | null {
  const key = text.trim().toLowerCase();
  let zone = known.get(key);
  if (zone === undefined) {
    zone = find(key);
    if (known.size < 1_000) known.set(key, zone);
  }
  return zone;
}

function find(text: string): Zone | null {
  if (text.length > 80) return null;
  if (OURS.test(text)) return AMSTERDAM;
  const [, sign, hours = "0", minutes = "0"] = OFFSET.exec(text) ?? [];
  if (sign) {
    const ahead = Number(hours) * HOUR + Number(minutes) * MINUTE;
    return Number(hours) > 14 || Number(minutes) > 59 ? null : sign === "-" ? -ahead : ahead;
  }
  // three letters are no place: CST is in America and in China
  if (/^(?:z|zulu|gmt)$/.test(text) || /(?<![a-z])utc(?![a-z]| ?[+-]?\d)/.test(text)) return 0;
  if (!text.includes("/")) return null;
  try {
    return new Intl.DateTimeFormat("en", { timeZone: text }).resolvedOptions().timeZone;
  } catch {
    return null;
  }
}

/**
 * The moment at which a clock of a zone shows `wall`, which is milliseconds since 1970 as if the clock stood at UTC. Null in the hour
 * that spring skips. In the hour that autumn has twice it is the first, or the second where the first lies before `notBefore`.
 */
export function momentOf(wall: number, zone: Zone, notBefore?: number): number | null {
  if (typeof zone === "number") return wall - zone;
  const clock = clockOf(zone);
  const [more, less] = zone === AMSTERDAM ? [2 * HOUR, HOUR] : clock.around(wall);
  const first = clock.ahead(wall - more) === more ? wall - more : null;
  if (first !== null && (notBefore === undefined || first >= notBefore)) return first;
  const second = clock.ahead(wall - less) === less ? wall - less : null;
  return second !== null && (first === null || (notBefore !== undefined && second >= notBefore)) ? second : first;
}

/** Midnight of the day in Amsterdam on which a moment lies, in milliseconds since 1970 as if at UTC. */
export function dayInAmsterdam(moment: number): number {
  const wall = moment + clockOf(AMSTERDAM).ahead(moment);
  return wall - (((wall % DAY) + DAY) % DAY);
}

const clocks = new Map<string, Clock>();

function clockOf(zone: string): Clock {
  let clock = clocks.get(zone);
  if (!clock) {
    clock = new Clock(zone);
    clocks.set(zone, clock);
  }
  return clock;
}

/** How far a place is ahead of UTC. There are some 600 places, so each is kept. */
class Clock {
  readonly #format: Intl.DateTimeFormat;
  /** By day of UTC: the offset where it is the same at begin and end, which spares a file of 5,000 rows its calendar. */
  readonly #days = new Map<number, number | null>();

  constructor(timeZone: string) {
    this.#format = new Intl.DateTimeFormat("en", {
      timeZone,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
    });
  }

  ahead(moment: number): number {
    const day = Math.floor(moment / DAY);
    let same = this.#days.get(day);
    if (same === undefined) {
      const [begin, end] = [this.#ask(day * DAY), this.#ask((day + 1) * DAY)];
      same = begin === end ? begin : null;
      if (this.#days.size < 10_000) this.#days.set(day, same);
    }
    return same ?? this.#ask(moment);
  }

  /** How far it is ahead around a wall's time, the most first. */
  around(wall: number): [more: number, less: number] {
    const [before, after] = [this.ahead(wall - DAY), this.ahead(wall + DAY)];
    return [Math.max(before, after), Math.min(before, after)];
  }

  #ask(moment: number): number {
    const minute = Math.floor(moment / MINUTE) * MINUTE;
    const part = Object.fromEntries(this.#format.formatToParts(minute).map(({ type, value }) => [type, Number(value)]));
    const wall = Date.UTC(part.year ?? 0, (part.month ?? 0) - 1, part.day ?? 0, part.hour ?? 0, part.minute ?? 0);
    return wall - minute;
  }
}
