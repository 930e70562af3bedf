import { eanCode } from "#shared/values/fields.ts";
import { type Decimal, decideEnergy, type EnergyColumn, readEnergy } from "../../sheet/decimals.ts";
import { readDuration } from "../../sheet/durations.ts";
import { type Cell, EMPTY, type Row } from "../../sheet/model.ts";
import { readMonth } from "../../sheet/months.ts";
import { type Order, readTime } from "../../sheet/times.ts";
import type { Work } from "../../sheet/work.ts";
import { nameIn } from "./cells.ts";
import type { Head } from "./columns.ts";
import { UploadFault } from "./fault.ts";
import type { Found } from "./head.ts";
import { unknownColumns } from "./head.ts";
import { ENERGY, type Field, type Heading, type Kind } from "./headings.ts";

/** What the sender said about a file. */
export type Said = {
  kind?: Kind | undefined;
  decimal?: Decimal | undefined;
  dates?: Order | undefined;
  /** The column of kWh, by its heading or its place from 1. */
  columns?: string | undefined;
};

/** What the sender chose, as an upload keeps it. */
export const choicesOf = ({ decimal, dates, columns }: Said): Pick<Said, "decimal" | "dates" | "columns"> => ({
  ...(decimal && { decimal }),
  ...(dates && { dates }),
  ...(columns && { columns }),
});

/** The columns of one end of a session: a moment in one column, or its day and its clock in two; `null`: the day of the start. */
export type TimeColumns = { moment: number } | { day: number | null; clock: number };

/** Which column is read as what. */
export type Layout = {
  /** Of each column the field it is read as. */
  fields: (Field | null)[];
  places: ReadonlyMap<Field, number>;
  energy: ReadonlyMap<Field, EnergyColumn>;
  start: TimeColumns | null;
  end: TimeColumns | null;
  durationUnit: number | null;
};

/** Filled cells that show what a column is. */
const SAMPLE = 30;

/**
 * Chooses among the columns of each field, by what their cells say: of two headings for one field the one that can be read.
 * @throws {UploadFault} no column is energy, or two that differ; units or decimals are not clear; or nothing says when a session ended
 */
export async function layOut(
  { head, name, sheet, at }: Found,
  rows: readonly Row[],
  said: Said,
  work: Work,
): Promise<Layout> {
  const { kind, headers, headings } = head;
  const columns = new Columns(head, rows);
  const energy = new Map<Field, EnergyColumn>();
  const kwh = await chooseEnergy(columns, said, work);
  const places = new Map<Field, number>();
  if (kwh) {
    places.set("kwh", kwh.place);
    energy.set("kwh", kwh.column);
  }
  for (const field of new Set(headings.map((heading) => heading.fields[kind]))) {
    if (!field || field === "kwh") continue;
    const place = columns.best(field);
    if (place === null) continue;
    if (ENERGY.includes(field)) {
      const column = columns.energy(place, said.decimal ?? null);
      if (column.isOther) continue;
      energy.set(field, column);
    }
    places.set(field, place);
    await work.pause();
  }
  const needsEnergy = kind === "months" ? "kwh" : "kwh_or_readings";
  if (!kwh && !(energy.has("meter_start_kwh") && energy.has("meter_end_kwh")))
    throw unknownColumns(head, [needsEnergy], sheet.rows[at]?.sheet_row ?? 0, name);
  for (const [field, { ambiguous }] of energy) {
    if (ambiguous !== null) throw columns.ambiguousDecimals(places.get(field) ?? 0, ambiguous);
  }
  const durationUnit = headings[places.get("duration") ?? -1]?.timeUnit ?? null;
  const layout: Layout = { fields: [], places, energy, start: null, end: null, durationUnit };
  if (kind === "sessions") {
    layout.start = columns.times("started_at");
    layout.end = columns.times("ended_at");
    const duration = places.get("duration");
    const hasDuration = duration !== undefined && columns.isUsable(duration, "duration");
    if (hasDuration && columns.tellsNoEnd()) layout.end = null;
    else if (!layout.end && !hasDuration) {
      const heading = headers[duration ?? -1];
      throw unknownColumns(head, ["end"], sheet.rows[at]?.sheet_row ?? 0, name, heading === undefined ? [] : [heading]);
    }
    if (layout.end) places.delete("duration");
    for (const field of ["started_at", "ended_at", "date"] as const) places.delete(field);
  }
  layout.fields = headers.map((_header, place) => [...places].find(([, each]) => each === place)?.[0] ?? null);
  const mark = (times: TimeColumns | null, field: Field) => {
    for (const place of placesOf(times)) layout.fields[place] ??= field;
  };
  mark(layout.start, "started_at");
  mark(layout.end, "ended_at");
  return layout;
}

/** The columns of a time. */
export const placesOf = (times: TimeColumns | null): number[] =>
  times === null ? [] : "moment" in times ? [times.moment] : [...(times.day === null ? [] : [times.day]), times.clock];

type TimeKind = "moment" | "midnight" | "day" | "clock" | "none";

class Columns {
  readonly #kind: Kind;
  readonly #headers: readonly string[];
  readonly headings: readonly Heading[];
  readonly #rows: readonly Row[];

  constructor({ kind, headers, headings }: Head, rows: readonly Row[]) {
    this.#kind = kind;
    this.#headers = headers;
    this.headings = headings;
    this.#rows = rows;
  }

  headerAt(place: number): string {
    return this.#headers[place] ?? "";
  }

  /** The columns whose headings name a field; those whose name is stronger first. */
  of(field: Field): number[] {
    return this.headings
      .flatMap((heading, place) => (heading.fields[this.#kind] === field ? [place] : []))
      .sort((one, other) => this.#weakness(one) - this.#weakness(other));
  }

  /** A column of local times is read before one that may be UTC. */
  #weakness(place: number): number {
    const heading = this.headings[place];
    return Number(heading?.isWeak) - Number(heading?.isLocal);
  }

  cells(place: number): Cell[] {
    return this.#rows.map(({ cells }) => cells[place] ?? EMPTY);
  }

  /** The first cells that say something. */
  sample(place: number): Cell[] {
    const cells: Cell[] = [];
    for (const row of this.#rows) {
      const cell = row.cells[place];
      if (cell && cell.kind !== "empty" && cells.push(cell) === SAMPLE) break;
    }
    return cells;
  }

  /** Whether most of its first cells are what a column of this field has. */
  isUsable(place: number, field: Field): boolean {
    const unit = this.headings[place]?.timeUnit ?? null;
    const energy = ENERGY.includes(field) ? decideEnergy(this.headerAt(place), this.sample(place)) : null;
    const cells = this.sample(place);
    const good = cells.filter((cell) => {
      if (energy) return readEnergy(cell, energy) !== null || energy.ambiguous !== null;
      if (field === "duration") return readDuration(cell, unit) !== null;
      if (field === "period") return readMonth(cell) !== null;
      if (field === "ean") return eanCode().safeParse(nameIn(cell)).success;
      return nameIn(cell) !== null && nameIn(cell) !== undefined;
    });
    return good.length > 0 && good.length * 2 >= cells.length;
  }

  /** The column that is read as a field; null for none. */
  best(field: Field): number | null {
    const places = this.of(field);
    if (places.length < 2) return places[0] ?? null;
    return places.find((place) => this.isUsable(place, field)) ?? places[0] ?? null;
  }

  energy(place: number, sent: Decimal | null): EnergyColumn {
    return decideEnergy(this.headerAt(place), this.cells(place), sent);
  }

  ambiguousDecimals(place: number, index: number): UploadFault {
    const row = this.#rows[index];
    return new UploadFault("ambiguous_decimals", {
      column: this.headerAt(place),
      sheet_row: row?.sheet_row ?? 0,
      value: (row?.cells[place]?.text ?? "").slice(0, 40),
    });
  }

  timeKind(place: number): TimeKind {
    const seen: Record<Exclude<TimeKind, "midnight">, number> = { moment: 0, day: 0, clock: 0, none: 0 };
    let isMidnight = true;
    for (const cell of this.sample(place)) {
      const read = readTime(cell);
      if (!read) seen.none++;
      else if (read.clock === null) seen.day++;
      else if (read.day === null && read.monthFirst === undefined) seen.clock++;
      else {
        seen.moment++;
        if (read.clock !== 0) isMidnight = false;
      }
    }
    const [kind, times] = Object.entries(seen).sort(([, one], [, other]) => other - one)[0] as [TimeKind, number];
    if (times === 0) return "none";
    return kind === "moment" && isMidnight ? "midnight" : kind;
  }

  /** Whether no column of the end says when a session ended. */
  tellsNoEnd(): boolean {
    return this.of("ended_at").every((place) => ["none", "day", "midnight"].includes(this.timeKind(place)));
  }

  times(field: "started_at" | "ended_at"): TimeColumns | null {
    const own = this.of(field).map((place) => ({ place, kind: this.timeKind(place) }));
    const any = this.of("date").map((place) => ({ place, kind: this.timeKind(place) }));
    const first = (columns: typeof own, ...kinds: TimeKind[]) =>
      columns.find(({ kind }) => kinds.includes(kind))?.place;
    const moment = first(own, "moment");
    if (moment !== undefined) return { moment };
    const clock = first(own, "clock");
    if (clock !== undefined) {
      // an end without a day of its own is on the day of the start, or the next
      const day = first(own, "day", "midnight") ?? (field === "started_at" ? first(any, "day", "midnight") : undefined);
      return { day: day ?? null, clock };
    }
    if (field === "started_at") {
      const dated = first(any, "moment");
      if (dated !== undefined) return { moment: dated };
    }
    const place =
      first(own, "midnight", "day") ?? own[0]?.place ?? (field === "started_at" ? any[0]?.place : undefined);
    return place === undefined ? null : { moment: place };
  }
}

/** The column of energy: a unit in the heading before one in the cells, before none, before a part of it; the sender's own choice before all. */
async function chooseEnergy(
  columns: Columns,
  { decimal = null, columns: chosen }: { decimal?: Decimal | null | undefined; columns?: string | undefined },
  work: Work,
): Promise<{ place: number; column: EnergyColumn } | null> {
  const places = columns.of("kwh");
  const named = chosen === undefined ? null : chosenPlace(columns, chosen);
  const read: { place: number; column: EnergyColumn; rank: number; isUsable: boolean }[] = [];
  for (const place of named === null ? places : [named]) {
    const column = columns.energy(place, decimal);
    await work.pause();
    if (column.isOther) continue;
    const unit = columns.headings[place]?.unit;
    const isPart = columns.headings[place]?.isPart;
    const rank = isPart ? -1 : unit ? 2 : column.named.length > 0 ? 1 : 0;
    read.push({ place, column, rank, isUsable: column.ambiguous !== null || columns.isUsable(place, "kwh") });
  }
  const usable = read.filter(({ isUsable }) => isUsable);
  const most = Math.max(...usable.map(({ rank }) => rank));
  const [best = read[0] ?? null, ...others] = usable.filter(({ rank }) => rank === most);
  if (!best) return null;
  for (const { place, column } of [best, ...others]) {
    const unit = columns.headings[place]?.unit;
    const [other] = column.named.filter((each) => each !== unit);
    if (unit && other)
      throw new UploadFault("ambiguous_units", { column: columns.headerAt(place), units: [unit, other] });
    if (others.length > 0 && column.ambiguous !== null) throw columns.ambiguousDecimals(place, column.ambiguous);
  }
  for (const other of others) {
    if (!agree(columns, best, other)) {
      const differ = [best, other].map(({ place }) => columns.headerAt(place));
      throw new UploadFault("ambiguous_columns", { columns: differ });
    }
    await work.pause();
  }
  return best;
}

/** The place of the heading that the sender named, or that has this place from 1. */
function chosenPlace(columns: Columns, chosen: string): number | null {
  const wanted = chosen.trim().toLowerCase();
  const all = columns.headings.map((_heading, place) => place);
  const byHeading = all.find((place) => columns.headerAt(place).trim().toLowerCase() === wanted);
  return byHeading ?? all.find((place) => String(place + 1) === wanted) ?? null;
}

/** Whether two columns have the same energy in every row: within 1 % or 0.05 kWh. */
function agree(columns: Columns, one: { place: number; column: EnergyColumn }, other: typeof one): boolean {
  const cells = columns.cells(other.place);
  return columns.cells(one.place).every((cell, row) => {
    const [first, second] = [readEnergy(cell, one.column), readEnergy(cells[row] ?? EMPTY, other.column)];
    if (first === null || second === null) return first === second;
    return Math.abs(first - second) <= Math.max(50, 0.01 * Math.max(first, second));
  });
}
