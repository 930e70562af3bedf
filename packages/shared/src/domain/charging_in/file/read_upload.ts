import { isRoundedEan } from "#shared/values/ean.ts";
import { eanCode } from "#shared/values/fields.ts";
import { cut, storable } from "#shared/values/text.ts";
import { type EnergyColumn, readEnergy } from "../../sheet/decimals.ts";
import { readDuration } from "../../sheet/durations.ts";
import { type Cell, EMPTY, HEAD_ROWS, isNone, MAX_ROWS, type Row, SheetError } from "../../sheet/model.ts";
import { isMonthFirst, readMonth } from "../../sheet/months.ts";
import { openSheets } from "../../sheet/read_sheet.ts";
import { type Order, readTime } from "../../sheet/times.ts";
import { Work } from "../../sheet/work.ts";
import { dayInAmsterdam } from "../../sheet/zones.ts";
import { type Item, isNoId, NAMES, OPTIONAL, readItem, writeInstant } from "../session_item.ts";
import { isRoundedName, isTotal, nameIn, tellsOfTotal } from "./cells.ts";
import { UploadFault } from "./fault.ts";
import { findHead } from "./head.ts";
import { areDayFirst, ENERGY, type Field, isColumn, type Kind, readHeading, type SessionField } from "./headings.ts";
import { type Layout, layOut, placesOf, type Said } from "./layout.ts";
import { inWords, Times } from "./session_times.ts";

export { UploadFault };

/** The largest file, in bytes. */
export const MAX_UPLOAD = 4 * 1024 * 1024;

/** What becomes of a row, and what counts are named by. */
export const STATUSES = {
  months: ["ingested", "outside_mandate", "locked", "summary", "invalid"],
  sessions: ["created", "updated", "unchanged", "superseded", "parked", "summary", "invalid"],
} as const;

/** Why a row is refused, where its reason needs a sentence. */
const DETAILS: Record<string, string> = {
  too_many_cells:
    "The row has more cells than the headings: put quotes around a value with a comma, or use semicolons.",
  other_headings: "The row is in a table below, which has other headings. Send that table in a file of its own.",
  two_digit_year: "The year has two digits. Write it with four.",
  rounded_ean: "Excel rounded the EAN. Format the column as text, fill in all 18 digits, and send the file again.",
};

/** A row as SQL stores it: of months by the customer, of sessions as private.store_client_sessions takes it. */
type Judged = { place: number; sheet_row: number; [field: string]: unknown };
/** A row that is not stored; `column` is the sheet's own heading of what is wrong. */
type Rejected = {
  row: number;
  sheet_row: number;
  /** Invalid if it has none. */
  status?: "summary";
  reason?: string;
  detail?: string;
  column?: string;
  period?: string | null;
  session_id?: string | null;
};

/** What was read of a file, to look at before it counts. */
export type Sums = {
  kwh: number;
  sessions: number;
  /** The first and the last day, as `2026-03-10`; null without rows. */
  first_day: string | null;
  last_day: string | null;
  /** The day of the first row in words. */
  first_date: string | null;
  months: { period: string; kwh: number; sessions: number }[];
};

/** What was read, as the answer says it. */
type Read = {
  /** The sheet that was read; null for CSV. */
  sheet: string | null;
  /** The row of the headings, as the spreadsheet numbers it. */
  header_row: number;
  /** The heading or headings behind each field. */
  read_as: { [Name in Field]?: string };
  sums: Sums;
  /** An id stands for two sessions, so rows are known by EVSE and start. */
  ids_ignored: boolean;
};

export type ReadUpload = {
  kind: Kind;
  columns: { header: string; field: Field | null }[];
  read: Read;
  /** Rows below the header. */
  rows: number;
  items: Judged[];
  rejected: Rejected[];
  /** By row: fields that could not be read and are not needed. */
  ignored: Record<number, Field[]>;
  /** What the counts are named by. */
  statuses: readonly string[];
  /** The rows as they stand in the file. */
  table: readonly Row[];
};

/**
 * Reads a CSV or XLSX file of months or sessions, each row by itself.
 * @throws {UploadFault} the file is refused whole
 */
export async function readUpload(file: Uint8Array, said: Said = {}): Promise<ReadUpload> {
  try {
    return await readRows(file, said, new Work());
  } catch (error) {
    if (!(error instanceof SheetError)) throw error;
    throw new UploadFault(error.isOtherKind ? "file_type" : "unreadable_file", { detail: error.message }, error.wrong);
  }
}

async function readRows(file: Uint8Array, said: Said, work: Work): Promise<ReadUpload> {
  const found = await findHead(await openSheets(file, isColumn, work, MAX_ROWS + 1 + HEAD_ROWS), said.kind);
  const { head, sheet, at } = found;
  const { kind, headers, headings } = head;
  const top = sheet.rows[at];
  const body = sheet.rows.slice(at + 1);
  const width = sheet.kind === "csv" ? (top?.width ?? headers.length) : Number.POSITIVE_INFINITY;
  const namesWhose = placesOfAny(kind === "months" ? CUSTOMER : NAMED, kind);
  const timePlaces = placesOfAny(kind === "months" ? ["period"] : ["started_at", "date"], kind);
  const kwhPlaces = placesOfAny(["kwh"], kind);
  const energyPlaces = placesOfAny(ENERGY, kind);
  const idPlaces = placesOfAny(["session_id"], kind);
  const known = new Map<string, boolean>();
  const isHeading = (text: string): boolean => {
    const is = known.get(text) ?? readHeading(text).fields[kind] !== null;
    known.set(text, is);
    return is;
  };
  const rejected: Rejected[] = [];
  const rows: Placed[] = [];
  let below: "same" | "other" | null = null;
  for (const [index, row] of body.entries()) {
    const { sheet_row, cells } = row;
    const again: "same" | "other" | null = below === "other" ? null : headingsAgain(row);
    if (again) below = again;
    if (again === "same") rejected.push({ row: index + 1, sheet_row, status: "summary" });
    else if (below === "other") rejected.push({ row: index + 1, sheet_row, ...because("other_headings") });
    else if (isSummary(row)) rejected.push({ row: index + 1, sheet_row, status: "summary" });
    else if (cells.length > width || isSplit(row))
      rejected.push({ row: index + 1, sheet_row, ...because("too_many_cells") });
    else rows.push({ ...row, place: index + 1 });
  }
  const layout = await layOut(found, rows, said, work);
  const table = new Table(headers, layout);
  const {
    items,
    rejected: unread,
    ids_ignored = false,
    sums,
  } = kind === "months"
    ? await readMonths(table, rows, said.dates, work)
    : await readSessions(table, rows, await Times.of(headers, headings, layout, rows, said.dates, work), work);
  return {
    kind,
    columns: headers.map((name, place) => ({ header: name, field: layout.fields[place] ?? null })),
    read: { sheet: found.name, header_row: top?.sheet_row ?? 1, read_as: readAs(headers, layout), ids_ignored, sums },
    rows: body.length,
    items,
    rejected: [...rejected, ...unread],
    ignored: table.ignored,
    statuses: STATUSES[kind],
    table: body,
  };

  function placesOfAny(fields: readonly Field[], of: Kind): number[] {
    return headings.flatMap((heading, place) => (fields.includes(heading.fields[of] as Field) ? [place] : []));
  }

  /** Whether a row has headings again: those of the file, or others, so that the rows below are of another table. */
  function headingsAgain({ cells }: Row): "same" | "other" | null {
    const isWord = (place: number) => {
      const cell = cells[place] ?? EMPTY;
      return cell.kind === "text" && !/\d/.test(cell.text) && !isNone(cell);
    };
    if (
      !timePlaces.some(isWord) ||
      cells.some(({ kind, text }) => kind !== "empty" && (kind !== "text" || /\d/.test(text)))
    )
      return null;
    const words = cells.map(({ text }) => text).filter(Boolean);
    const areOthers = words.length > 2 && new Set(words).size === words.length && kwhPlaces.some(isWord);
    if (!areOthers && words.filter(isHeading).length < 2) return null;
    const texts = headers.map((_header, place) => cells[place]?.text ?? "");
    return texts.every((text, place) => text === headers[place]) && cells.length <= headers.length ? "same" : "other";
  }

  /** Whether a decimal comma split a number, and the row is longer by a cell that is empty. */
  function isSplit({ cells, width: all = 0 }: Row): boolean {
    const isNumber = (place: number) => /^\d+(?:\.\d+)?$/.test(cells[place]?.text ?? "");
    return (
      sheet.delimiter === "," &&
      all > width &&
      energyPlaces.some((at) => /^\d+$/.test(cells[at]?.text ?? "") && isNumber(at + 1))
    );
  }

  /** A sum below the rows: it names no charger or customer, or "Totaal" in its place. */
  function isSummary({ cells }: Row): boolean {
    if ([...idPlaces, ...timePlaces].some((place) => isTotal(cells[place] ?? EMPTY))) return true;
    const hasNoTime = timePlaces.every((place) => isNone(cells[place] ?? EMPTY));
    if (hasNoTime && cells.some(isTotal)) return true;
    const named = namesWhose.map((place) => cells[place] ?? EMPTY).filter((cell) => !isNone(cell));
    if (named.length > 0) return named.every(hasNoTime ? tellsOfTotal : isTotal);
    if (cells.some(isTotal)) return true;
    // neither who nor when
    return hasNoTime && cells.some(({ text }) => /\d/.test(text));
  }
}

/** A row with its place below the header, from 1. */
type Placed = Row & { place: number };

const because = (reason: string) => ({ reason, ...(DETAILS[reason] ? { detail: DETAILS[reason] } : {}) });

const CUSTOMER: readonly Field[] = ["cpo_external_ref", "ean", "connection_id"];
const NAMED: readonly SessionField[] = ["charger_id", ...NAMES];

/** The headings behind each field. */
function readAs(headers: readonly string[], { places, start, end }: Layout): Read["read_as"] {
  const named = (at: readonly number[]) => at.map((place) => headers[place]).join(" + ");
  return Object.fromEntries([
    ...[...places].map(([field, place]) => [field, headers[place]]),
    ...(start ? [["started_at", named(placesOf(start))]] : []),
    ...(end ? [["ended_at", named(placesOf(end))]] : []),
  ]);
}

/** The cells below the header, by field. */
class Table {
  /** By row: fields that were left out. */
  readonly ignored: Record<number, Field[]> = {};
  readonly headers: readonly string[];
  readonly #places: ReadonlyMap<Field, number>;
  readonly #energy: ReadonlyMap<Field, EnergyColumn>;
  /** Every column that is read. */
  readonly #read: readonly number[];
  readonly layout: Layout;

  constructor(headers: readonly string[], layout: Layout) {
    this.headers = headers;
    this.layout = layout;
    this.#places = layout.places;
    this.#energy = layout.energy;
    this.#read = layout.fields.flatMap((field, place) => (field ? [place] : []));
  }

  cell({ cells }: Row, field: Field): Cell {
    return cells[this.#places.get(field) ?? -1] ?? EMPTY;
  }

  has(field: Field): boolean {
    return this.#places.has(field);
  }

  /** The heading of what is wrong, where a column is. */
  columnOf(field: Field): { column?: string } {
    const { start, end } = this.layout;
    const times = field === "started_at" ? start : field === "ended_at" ? end : null;
    const place = this.#places.get(field) ?? placesOf(times)[0];
    return place === undefined ? {} : { column: this.headers[place] ?? field };
  }

  /** Whole watt hours; null if the cell has none. */
  wattHours(row: Row, field: Field): number | null {
    const column = this.#energy.get(field);
    return column ? readEnergy(this.cell(row, field), column) : null;
  }

  /** Notes that a field of a row is left out. */
  leaveOut({ place }: Placed, field: Field): void {
    this.ignored[place] = [...(this.ignored[place] ?? []), field];
  }

  /** What the row says in the columns we read, by the sheet's own headings. */
  words({ cells }: Row): Record<string, string> {
    const said: Record<string, string> = {};
    for (const place of this.#read) {
      const text = cells[place]?.text;
      if (text) said[this.headers[place] ?? ""] = storable(cut(text, 200));
    }
    return said;
  }
}

const MOST_WH = 1_000_000_000;
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

type Result = Pick<ReadUpload, "items" | "rejected"> & { sums: Sums; ids_ignored?: boolean };

async function readMonths(table: Table, rows: readonly Placed[], sent: Order | undefined, work: Work): Promise<Result> {
  const items: Judged[] = [];
  const rejected: Rejected[] = [];
  const sum = new Sum();
  const dayFirst = areDayFirst(table.headers);
  for (const row of rows) {
    const pause = work.pause();
    if (pause) await pause;
    if (!sent && isMonthFirst(table.cell(row, "period"), !dayFirst)) throw monthFirst(table, row);
    const read = readMonthRow(table, row, sent);
    const { sheet_row, place } = row;
    if (isFault(read)) {
      const column = read.field ? table.columnOf(read.field) : {};
      const period = readMonth(table.cell(row, "period"), sent);
      rejected.push({ row: place, sheet_row, ...because(read.reason), ...column, period });
    } else {
      items.push({ place, sheet_row, ...read, document: table.words(row) });
      sum.add(Date.parse(read.period), Math.round(read.total_kwh * 1000), read.session_count);
    }
  }
  return { items, rejected, sums: sum.of("months") };
}

type Fault = { reason: string; field?: Field };
const isFault = (read: object): read is Fault => "reason" in read;
type MonthRow = { period: string; total_kwh: number; session_count: number; [field: string]: unknown };

/** Asks which comes first: a month was written as its first day. */
function monthFirst(table: Table, row: Placed): UploadFault {
  const cell = table.cell(row, "period");
  const read = readTime(cell);
  return new UploadFault("ambiguous_dates", {
    column: table.columnOf("period").column ?? "",
    sheet_row: row.sheet_row,
    value: cell.text.slice(0, 40),
    dmy: inWords(read?.day) ?? "",
    mdy: inWords(read?.monthFirst) ?? "",
  });
}

function readMonthRow(table: Table, row: Placed, order: Order | undefined): Fault | MonthRow {
  const bad = (field: Field) => ({ reason: `bad_${field}`, field });
  const reference = nameIn(table.cell(row, "cpo_external_ref"));
  const ean = nameIn(table.cell(row, "ean"));
  const isRounded = typeof ean === "string" && isRoundedEan(ean);
  let code = ean && !isRounded ? eanCode().safeParse(ean).data : undefined;
  let connection = nameIn(table.cell(row, "connection_id"));
  if (connection && !UUID.test(connection)) connection = null;
  const month = readMonth(table.cell(row, "period"), order);
  const wh = table.wattHours(row, "kwh");
  let session_count = countIn(table.cell(row, "session_count"));
  if (reference === null || (reference && isRoundedName(reference))) return bad("cpo_external_ref");
  // a wrong name beside a right one is left out
  if (ean !== undefined && !code) {
    if (!reference && !connection) return { reason: isRounded ? "rounded_ean" : "bad_ean", field: "ean" };
    table.leaveOut(row, "ean");
    code = undefined;
  }
  if (connection === null) {
    if (!reference && !code) return bad("connection_id");
    table.leaveOut(row, "connection_id");
    connection = undefined;
  }
  if (!reference && !code && !connection) return { reason: "no_account" };
  if (!month) return bad("period");
  if (wh === null || wh > MOST_WH) return bad("kwh");
  if (session_count === null) {
    table.leaveOut(row, "session_count");
    session_count = 0;
  }
  return {
    cpo_external_ref: reference ?? null,
    ean: code ?? null,
    connection_id: connection?.toLowerCase() ?? null,
    period: `${month}-01`,
    total_kwh: wh / 1000,
    session_count,
  };
}

/** A count from 0 to a million; 0 if the cell says nothing, null if it is none. */
function countIn(cell: Cell): number | null {
  if (isNone(cell)) return 0;
  const count =
    cell.kind === "number" ? cell.value : cell.kind === "text" && /^\d{1,7}$/.test(cell.text) ? Number(cell.text) : -1;
  return Number.isInteger(count) && count >= 0 && count <= 1_000_000 ? count : null;
}

/** Adds up what was read, by day. */
class Sum {
  #first: number | null = null;
  readonly #days = new Map<number, { wh: number; sessions: number }>();

  /** @param day midnight, in milliseconds since 1970 as if at UTC */
  add(day: number, wh: number, sessions: number): void {
    this.#first ??= day;
    const sum = this.#days.get(day);
    if (sum) {
      sum.wh += wh;
      sum.sessions += sessions;
    } else this.#days.set(day, { wh, sessions });
  }

  of(kind: Kind): Sums {
    const days = [...this.#days].sort(([one], [other]) => one - other);
    const [lowest, highest] = [days[0]?.[0], days.at(-1)?.[0]];
    const last = highest !== undefined && kind === "months" ? lastOfMonth(highest) : highest;
    const months = Map.groupBy(days, ([day]) => isoDay(day).slice(0, 7));
    const total = (of: typeof days, what: "wh" | "sessions") => of.reduce((sum, [, each]) => sum + each[what], 0);
    return {
      kwh: total(days, "wh") / 1000,
      sessions: total(days, "sessions"),
      first_day: lowest === undefined ? null : isoDay(lowest),
      last_day: last === undefined ? null : isoDay(last),
      first_date: this.#first === null ? null : IN_WORDS.format(this.#first),
      months: [...months].map(([period, of]) => ({
        period,
        kwh: total(of, "wh") / 1000,
        sessions: total(of, "sessions"),
      })),
    };
  }
}

const isoDay = (day: number): string => new Date(day).toISOString().slice(0, 10);
const lastOfMonth = (day: number): number =>
  Date.UTC(new Date(day).getUTCFullYear(), new Date(day).getUTCMonth() + 1, 0);
const IN_WORDS = new Intl.DateTimeFormat("en-GB", { dateStyle: "long", timeZone: "UTC" });

/** A session of the file as POST /v1/charging-sessions would have it, so that one reader judges both. */
function asSent(table: Table, row: Placed, index: number, times: Times): Record<string, unknown> {
  const sent: Record<string, unknown> = {};
  const unread: SessionField[] = [];
  for (const field of NAMED) {
    const name = nameIn(table.cell(row, field));
    if (name === null || (name && isRoundedName(name))) unread.push(field);
    else if (name) sent[field] = name;
  }
  // the sender's own id of a charger is a name of it
  if (typeof sent.charger_id === "string" && !UUID.test(sent.charger_id)) {
    if (sent.external_ref === undefined) sent.external_ref = sent.charger_id;
    else table.leaveOut(row, "charger_id");
    delete sent.charger_id;
  }
  if (typeof sent.serial_number === "string" && sent.serial_number.length > 64) {
    delete sent.serial_number;
    unread.push("serial_number");
  }
  for (const field of unread) {
    if (NAMED.some((name) => sent[name] !== undefined)) table.leaveOut(row, field);
    else sent[field] = "";
  }
  const id = nameIn(table.cell(row, "session_id"));
  if (id === null || (id && isRoundedName(id))) table.leaveOut(row, "session_id");
  else if (id && !isNoId(id)) sent.session_id = id;

  const start = times.start(index);
  sent.started_at = start === null ? "" : writeInstant(start);
  const duration = table.cell(row, "duration");
  if (times.hasEnd) {
    if (!times.isEndEmpty(index)) {
      const end = times.end(index, start ?? undefined);
      sent.ended_at = end === null ? "" : writeInstant(end);
    }
  } else if (!isNone(duration)) {
    const lasted = readDuration(duration, table.layout.durationUnit);
    sent.ended_at = lasted === null || start === null ? "" : writeInstant(start + lasted);
  }

  for (const field of ["meter_start_kwh", "meter_end_kwh"] as const) {
    if (isNone(table.cell(row, field))) continue;
    const wh = table.wattHours(row, field);
    if (wh === null || wh > MOST_READING) table.leaveOut(row, field);
    else sent[field] = wh / 1000;
  }
  const hasReadings = sent.meter_start_kwh !== undefined && sent.meter_end_kwh !== undefined;
  const kwh = table.cell(row, "kwh");
  if (!isNone(kwh)) {
    const wh = table.wattHours(row, "kwh");
    if (wh === null && hasReadings) table.leaveOut(row, "kwh");
    else sent.kwh = wh === null ? -1 : wh / 1000;
  }
  // no meter shows 0 after a charge
  if (sent.meter_start_kwh === 0 && sent.meter_end_kwh === 0 && Number(sent.kwh) > 0)
    for (const field of ["meter_start_kwh", "meter_end_kwh"] as const) {
      delete sent[field];
      table.leaveOut(row, field);
    }
  const evse = nameIn(table.cell(row, "evse_no"));
  if (typeof evse === "string" && /^\d+$/.test(evse) && Number(evse) >= 1 && Number(evse) <= 100)
    sent.evse_no = Number(evse);
  for (const { field, ofWord } of OPTIONAL) {
    const word = nameIn(table.cell(row, field));
    const value = word ? ofWord(word) : undefined;
    if (value) sent[field] = value;
    else if (word !== undefined) table.leaveOut(row, field);
  }
  return sent;
}

/** Watt hours of the largest reading that a meter shows. */
const MOST_READING = 1_000_000_000_000;

async function readSessions(table: Table, rows: readonly Placed[], times: Times, work: Work): Promise<Result> {
  const read: (Item & { sheet_row: number; row: Placed })[] = [];
  const rejected: Rejected[] = [];
  const evses = new Evses(table);
  for (const [index, row] of rows.entries()) {
    const pause = work.pause();
    if (pause) await pause;
    const { sheet_row, place } = row;
    const sent = asSent(table, row, index, times);
    evses.note(sent, row);
    const item = readItem(sent, place, sent.session_id === undefined ? "file" : "api");
    if (!("reason" in item)) {
      read.push({ ...item, sheet_row, row, document: table.words(row) });
      continue;
    }
    const field = String(item.reason).replace(/^bad_/, "") as Field;
    const isShort =
      (field === "started_at" && times.isShort(index)) || (field === "ended_at" && times.isEndShort(index));
    const session_id = typeof sent.session_id === "string" ? sent.session_id : null;
    const wrong = field === "ended_at" && !times.hasEnd ? "duration" : field;
    const reason = isShort ? "two_digit_year" : wrong === field ? String(item.reason) : "bad_duration";
    rejected.push({ row: place, sheet_row, ...because(reason), ...table.columnOf(wrong), session_id });
  }
  evses.settle(read);
  const ids_ignored = haveReusedIds(read);
  // in a file no row is later than another: of a session that is in it twice, nobody knows which row is right
  const keys = read.map(sessionKey);
  const [once, twice] = [new Set<string>(), new Set<string>()];
  for (const key of keys) (once.has(key) ? twice : once).add(key);
  const items: Judged[] = [];
  const sum = new Sum();
  for (const [index, { row: _, ...item }] of read.entries()) {
    if (twice.has(keys[index] ?? "")) {
      const session_id = (item.external_id as string | undefined) ?? null;
      rejected.push({ row: item.place, sheet_row: item.sheet_row, reason: "duplicate_in_file", session_id });
      continue;
    }
    items.push(item);
    sum.add(dayInAmsterdam(Date.parse(String(item.started_at))), Number(item.wh), 1);
  }
  return { items, rejected, ids_ignored, sums: sum.of("sessions") };
}

/** What a row names, its EVSE and when it began. */
const chargeKey = (item: Item): string =>
  JSON.stringify([...NAMED.map((field) => item[field]), item.evse_no, item.started_at]);
const sessionKey = (item: Item): string => `${item.external_id ?? ""} ${chargeKey(item)}`;

/** Whether an id stands for two charges. Then no row of the file is known by its id. Names are compared as SQL does. */
function haveReusedIds(items: Item[]): boolean {
  const byId = Map.groupBy(items, (item) => item.external_id);
  const isReused = [...byId].some(
    ([id, same]) =>
      id !== undefined &&
      same.length > 1 &&
      new Set(
        same.map((item) =>
          chargeKey(item)
            .toUpperCase()
            .replace(/[*\- ]/g, ""),
        ),
      ).size > 1,
  );
  if (isReused)
    for (const item of items) {
      delete item.external_id;
      item.source = "file";
    }
  return isReused;
}

// no other word: Type 2 and CCS2 are kinds of plugs
const EVSE_NUMBER =
  /^(?:(?:EVSE|CONNECTOR|CONN|PORT|POORT|SOCKET|OUTLET|PLUG|STEKKER|STECKER|STOPCONTACT|AANSLUITING|ANSCHLUSS|LAADPUNT|LADEPUNKT)[ #_-]*)?0?([1-9]\d?)(?:[.,]0+)?$|\*0?([1-9])$/;

/** What a word for an EVSE says about its number, so that each file numbers it alike: `B`, `Connector 2`, `2.0`, `NL*TNM*E177*2`, `rechts`. */
function evseNumberOf(word: string): number | null {
  if (/^[A-Z]$/.test(word)) return word.charCodeAt(0) - 64;
  if (/^LIN(?:KS|KER)|^LEFT/.test(word)) return 1;
  if (/^RECHT|^RIGHT/.test(word)) return 2;
  const [, bare, last] = EVSE_NUMBER.exec(word) ?? [];
  return bare || last ? Number(bare ?? last) : null;
}

/** A number from 3 that a word has in every file, but where another word of the charger has it. */
const numberByWord = (word: string): number =>
  3 + [...word.replace(/[*\-\s]/g, "")].reduce((hash, sign) => (hash * 31 + sign.charCodeAt(0)) % 97, 7);

type Evse = { evse_no: number; evse_assumed?: true };

/**
 * EVSEs that a file names by words, such as A and B: of each charger they have the numbers that the words say. A word that says none,
 * or the number of another word, has a number of its own. That is assumed: a charge that somebody told with a number may be the same.
 */
class Evses {
  readonly #table: Table;
  readonly #isNamed: boolean;
  readonly #words = new Map<string, Map<string, Evse | null>>();

  constructor(table: Table) {
    this.#table = table;
    this.#isNamed = (["evse_no", "evse_id", "evse_uid"] as const).some((field) => table.has(field));
  }

  /** The charger of a row and its word for the EVSE; null where it has a number or none. */
  #of(item: Record<string, unknown>, row: Placed): { charger: string; word: string } | null {
    if (!this.#isNamed) return null;
    const charger = ["charger_id", "external_ref", "serial_number"]
      .map((field) => item[field] ?? "")
      .join(" ")
      .trim();
    if (!charger || item.evse_no !== undefined) return null;
    const word = nameIn(this.#table.cell(row, "evse_no")) ?? item.evse_id ?? item.evse_uid;
    return typeof word === "string" ? { charger: charger.toUpperCase(), word: word.toUpperCase() } : null;
  }

  note(item: Record<string, unknown>, row: Placed): void {
    const named = this.#of(item, row);
    if (!named) return;
    const words = this.#words.get(named.charger) ?? new Map<string, Evse | null>();
    this.#words.set(named.charger, words);
    if (!words.has(named.word) && words.size < 90) words.set(named.word, null);
  }

  #number(words: Map<string, Evse | null>): void {
    // sorted, so that another order of rows gives the same numbers
    const named = [...words.keys()].sort();
    const said = named.map(evseNumberOf);
    const taken = new Set<number | null>(said);
    for (const [index, word] of named.entries()) {
      const number = said[index] ?? null;
      if (number !== null && said.indexOf(number) === said.lastIndexOf(number)) words.set(word, { evse_no: number });
      // one word alone may be the kind of plug
      else if (words.size > 1) {
        let other = numberByWord(word);
        while (taken.has(other)) other = other < 99 ? other + 1 : 3;
        taken.add(other);
        words.set(word, { evse_no: other, evse_assumed: true });
      }
    }
  }

  /** A name that a charger has counts before. */
  settle(items: (Item & { row: Placed })[]): void {
    for (const words of this.#words.values()) this.#number(words);
    for (const item of items) {
      const named = this.#of(item, item.row);
      const words = this.#words.get(named?.charger ?? "");
      const evse = words?.get(named?.word ?? "");
      if (evse) Object.assign(item, evse);
      else if (item.evse_no === undefined && !isNone(this.#table.cell(item.row, "evse_no")))
        this.#table.leaveOut(item.row, "evse_no");
    }
  }
}
