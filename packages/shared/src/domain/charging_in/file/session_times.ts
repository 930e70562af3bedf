import { EMPTY, isNone, type Row } from "../../sheet/model.ts";
import { dayIn, type Order, orderOf, readTime, type Written } from "../../sheet/times.ts";
import type { Work } from "../../sheet/work.ts";
import { AMSTERDAM, momentOf, type Zone, zoneOf } from "../../sheet/zones.ts";
import { UploadFault } from "./fault.ts";
import { areDayFirst, type Heading } from "./headings.ts";
import { type Layout, placesOf, type TimeColumns } from "./layout.ts";

const DAY = 86_400_000;

type Wall = { wall: number; zone: Zone | undefined };

/** When the sessions of a file began and ended. */
export class Times {
  readonly hasEnd: boolean;
  readonly #headers: readonly string[];
  readonly #headings: readonly Heading[];
  readonly #layout: Layout;
  readonly #rows: readonly Row[];
  /** By column what its cells say. */
  readonly #written = new Map<number, (Written | null)[]>();
  #order: Order = "dmy";

  private constructor(headers: readonly string[], headings: readonly Heading[], layout: Layout, rows: readonly Row[]) {
    this.#headers = headers;
    this.#headings = headings;
    this.#layout = layout;
    this.#rows = rows;
    this.hasEnd = layout.end !== null;
  }

  /**
   * Reads the columns of times.
   * @param sent the order of day and month that the sender named
   * @throws {UploadFault} the order is not clear, or a zone is not known
   */
  static async of(
    headers: readonly string[],
    headings: readonly Heading[],
    layout: Layout,
    rows: readonly Row[],
    sent: Order | undefined,
    work: Work,
  ): Promise<Times> {
    const times = new Times(headers, headings, layout, rows);
    for (const place of times.#places()) {
      const written: (Written | null)[] = [];
      for (const { cells } of rows) {
        written.push(readTime(cells[place] ?? EMPTY));
        const pause = work.pause();
        if (pause) await pause;
      }
      times.#written.set(place, written);
    }
    times.#order = sent ?? times.#decideOrder();
    times.#checkZones();
    return times;
  }

  #places(): Set<number> {
    return new Set([...placesOf(this.#layout.start), ...placesOf(this.#layout.end)]);
  }

  /** One date that can only be month first, AM or PM beside slashes, or slashes below English headings: only the sender knows. */
  #decideOrder(): Order {
    const all = [...this.#written].flatMap(([place, written]) =>
      written.map((read, index) => ({ place, index, read })),
    );
    const asDutch = areDayFirst(this.#headers) && !all.some(({ read }) => read?.isTwelve);
    // dates with dashes say nothing about those with slashes
    for (const [sign, alike] of Map.groupBy(all, ({ read }) => read?.sign)) {
      const { shown, open, monthFirst } = orderOf(alike.map(({ read }) => read));
      if (shown === "dmy" || (shown === null && (open === null || sign !== "/" || asDutch))) continue;
      throw this.#ambiguous(alike[open ?? monthFirst ?? 0]);
    }
    return "dmy";
  }

  #ambiguous(shown: { place: number; index: number; read: Written | null } | undefined): UploadFault {
    const { place = 0, index = 0, read } = shown ?? {};
    const row = this.#rows[index];
    const [dmy, mdy] = [inWords(read?.day), inWords(read?.monthFirst)];
    const value = (row?.cells[place]?.text ?? "").slice(0, 40);
    return new UploadFault("ambiguous_dates", {
      column: this.#headers[place] ?? "",
      sheet_row: row?.sheet_row ?? 0,
      value,
      ...(dmy === null ? {} : { dmy }),
      ...(mdy === null ? {} : { mdy }),
    });
  }

  #checkZones(): void {
    const place = this.#layout.places.get("time_zone");
    if (place === undefined) return;
    this.#rows.forEach(({ cells, sheet_row }, index) => {
      const cell = cells[place] ?? EMPTY;
      if (isNone(cell) || zoneOf(cell.text) !== null) return;
      // a time that names its own zone needs none
      if ([...this.#places()].every((each) => this.#written.get(each)?.[index]?.zone !== undefined)) return;
      throw new UploadFault("unknown_zone", {
        column: this.#headers[place] ?? "",
        sheet_row,
        value: cell.text.slice(0, 40),
      });
    });
  }

  /** The moment at which the session of a row began, in milliseconds since 1970; null where it cannot be read. */
  start(index: number): number | null {
    const start = this.#wallAt(this.#layout.start, index, null);
    return start && momentOf(start.wall, this.#zone(start, index, this.#layout.start));
  }

  /**
   * When it ended. A clock alone is that of the day on which it began, or of the next if it would end before.
   * @param notBefore when it began
   */
  end(index: number, notBefore: number | undefined): number | null {
    const { start: began, end: ended } = this.#layout;
    const start = hasOwnDay(ended) ? null : this.#wallAt(began, index, null);
    const end = this.#wallAt(ended, index, start);
    if (!end) return null;
    end.zone ??= start?.zone;
    return momentOf(end.wall, this.#zone(end, index, ended), notBefore);
  }

  isEndEmpty(index: number): boolean {
    return placesOf(this.#layout.end).every((place) => isNone(this.#rows[index]?.cells[place] ?? EMPTY));
  }

  isShort = (index: number): boolean => this.#isShort(this.#layout.start, index);
  isEndShort = (index: number): boolean => this.#isShort(this.#layout.end, index);

  #isShort(columns: TimeColumns | null, index: number): boolean {
    return placesOf(columns).some((place) => this.#written.get(place)?.[index]?.isShort);
  }

  #wallAt(columns: TimeColumns | null, index: number, start: Wall | null): Wall | null {
    if (!columns) return null;
    const at = (place: number) => this.#written.get(place)?.[index] ?? null;
    if ("moment" in columns) {
      const read = at(columns.moment);
      const day = read && dayIn(read, this.#order);
      return read && day !== null && read.clock !== null ? { wall: day + read.clock, zone: read.zone } : null;
    }
    const read = at(columns.clock);
    if (read?.clock == null) return null;
    const dated = columns.day === null ? null : at(columns.day);
    const own = dated && dayIn(dated, this.#order);
    const isOwn = columns.day !== null && !isNone(this.#rows[index]?.cells[columns.day] ?? EMPTY);
    const day = isOwn ? own : start && Math.floor(start.wall / DAY) * DAY;
    if (day === null) return null;
    const wall = day + read.clock;
    return { wall: !isOwn && start && wall < start.wall ? wall + DAY : wall, zone: read.zone ?? dated?.zone };
  }

  #zone({ zone }: Wall, index: number, columns: TimeColumns | null): Zone {
    if (zone !== undefined) return zone;
    const place = this.#layout.places.get("time_zone");
    const cell = place === undefined ? EMPTY : (this.#rows[index]?.cells[place] ?? EMPTY);
    if (!isNone(cell)) return zoneOf(cell.text) ?? AMSTERDAM;
    return (
      placesOf(columns)
        .map((each) => this.#headings[each]?.zone)
        .find((each) => each != null) ?? AMSTERDAM
    );
  }
}

const hasOwnDay = (columns: TimeColumns | null): boolean =>
  columns !== null && ("moment" in columns || columns.day !== null);

const IN_WORDS = new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeZone: "UTC" });
export const inWords = (day: number | null | undefined): string | null => (day == null ? null : IN_WORDS.format(day));
