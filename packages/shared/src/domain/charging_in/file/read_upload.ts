import type { ErrorCode, FieldsOf } from "#shared/foundation/errors.ts";
import { eanCode } from "#shared/values/fields.ts";
import { cut, isPlain, storable } from "#shared/values/text.ts";
import { type Decimal, decideEnergy, type EnergyColumn, readEnergy } from "../../sheet/decimals.ts";
import { type Cell, EMPTY, MAX_ROWS, type Row, type Sheet, SheetError, withFewColumns } from "../../sheet/model.ts";
import { readMonth } from "../../sheet/months.ts";
import { readSheet } from "../../sheet/read_sheet.ts";
import { readMoment } from "../../sheet/times.ts";
import { type Item, readItem, writeInstant } from "../session_item.ts";
import {
  ENERGY,
  type Field,
  fieldsOf,
  isColumn,
  KINDS,
  type Kind,
  lacks,
  type Need,
  type SessionField,
} from "./columns.ts";

/** The largest file, in bytes. */
export const MAX_UPLOAD = 4 * 1024 * 1024;

/** What becomes of a row, and what counts are named by. */
export const STATUSES = {
  months: ["ingested", "outside_mandate", "locked", "invalid"],
  sessions: ["created", "updated", "unchanged", "superseded", "parked", "invalid"],
} as const;

type FaultCode = Extract<
  ErrorCode,
  "file_type" | "unreadable_file" | "payload_too_large" | "unknown_columns" | "ambiguous_decimals"
>;

/** Why a file is refused whole, as an error of the API. */
export class UploadFault<Code extends FaultCode = FaultCode> extends Error {
  override name = "UploadFault";
  readonly code: Code;
  readonly fields: FieldsOf<Code>;
  /** What is wrong with the file itself, where its sheet says. */
  readonly wrong: SheetError["wrong"] | "too_many_rows" | "no_rows" | null;
  /** With unknown_columns: headings that were not understood, at most ten, and what the file lacks; nothing if it fits both kinds. */
  readonly columns: { unread: string[]; lacks: Need[] };

  constructor(
    code: Code,
    fields: FieldsOf<Code>,
    wrong: UploadFault["wrong"] = null,
    columns: UploadFault["columns"] = { unread: [], lacks: [] },
  ) {
    super(code);
    this.code = code;
    this.fields = fields;
    this.wrong = wrong;
    this.columns = columns;
  }
}

/** A row as SQL stores it: of months by the customer, of sessions as private.deliver_named_sessions takes it. */
type Judged = { place: number; sheet_row: number; [field: string]: unknown };
/** A row that cannot be stored; `column` is the sheet's own heading of what is wrong. */
type Rejected = {
  row: number;
  sheet_row: number;
  reason: string;
  column?: string;
  period?: string | null;
  session_id?: string | null;
};

export type ReadUpload = {
  kind: Kind;
  columns: { header: string; field: Field | null }[];
  /** Rows below the header. */
  rows: number;
  items: Judged[];
  rejected: Rejected[];
  /** What the counts are named by. */
  statuses: readonly string[];
  /** The rows as they stand in the file. */
  table: readonly Row[];
};

/** What the sender said about a file. */
export type Said = { kind?: Kind | undefined; decimal?: Decimal | undefined };

/**
 * Reads a CSV or XLSX file of months or sessions, each row by itself.
 * @throws {UploadFault} the file is refused whole
 */
export async function readUpload(file: Uint8Array, said: Said = {}): Promise<ReadUpload> {
  const { rows, more } = await sheetOf(file);
  const [header, ...body] = rows;
  if (body.length === 0)
    throw new UploadFault("unreadable_file", { detail: "The file has no rows below its header." }, "no_rows");
  const headers = (header?.cells ?? []).map(({ text }) => storable(cut(text, 120)));
  const kinds = said.kind ? [said.kind] : KINDS;
  const [kind, another] = kinds.filter((each) => lacks(each, fieldsOf(each, headers)).length === 0);
  if (!kind || another) throw unknownColumns(headers, kinds, another !== undefined);
  if (body.length + more > MAX_ROWS) {
    const detail = `The file has ${body.length + more} rows below its header; at most 5,000 are read. Send it in parts.`;
    throw new UploadFault("payload_too_large", { detail }, "too_many_rows");
  }
  const fields = fieldsOf(kind, headers);
  const table = new Table(headers, fields, body, said.decimal ?? null);
  const { items, rejected } = await (kind === "months" ? readMonths(table) : readSessions(table));
  const columns = headers.map((name, place) => ({ header: name, field: fields[place] ?? null }));
  return { kind, columns, rows: body.length, items, rejected, statuses: STATUSES[kind], table: body };
}

/** What a file needs, in English, as the API says it. */
const NEED_WORDS: Record<Need, string> = {
  customer: "the customer (cpo_external_ref, ean or connection_id)",
  month: "the month",
  kwh: "kWh",
  charger: "the charger",
  start: "the start",
  kwh_or_readings: "kWh or both readings",
};

/** Says which headings were not understood, and what the file lacks to be of the kind that it comes closest to. */
function unknownColumns(headers: string[], kinds: readonly Kind[], isBoth: boolean): UploadFault {
  const near = kinds
    .map((kind) => {
      const fields = fieldsOf(kind, headers);
      return { kind, fields, needs: lacks(kind, fields) };
    })
    .sort((one, other) => one.needs.length - other.needs.length)[0];
  const named = { headers: headers.slice(0, 40) };
  if (isBoth || !near)
    return new UploadFault("unknown_columns", {
      ...named,
      detail: "The headings fit months and sessions alike: send kind=months or kind=sessions.",
    });
  const unread = headers.filter((header, place) => header && !near.fields[place]).slice(0, 10);
  const detail = [
    `The file reads as ${near.kind}, but has no column for ${near.needs.map((need) => NEED_WORDS[need]).join(", or for ")}.`,
    ...(unread.length > 0 ? [`Not understood: ${unread.join(", ")}.`] : []),
    "The headings must be in row 1. The guide on sessions lists those that we know.",
  ];
  return new UploadFault("unknown_columns", { ...named, detail: detail.join(" ") }, null, {
    unread,
    lacks: near.needs,
  });
}

async function sheetOf(file: Uint8Array): Promise<Sheet> {
  try {
    return withFewColumns(await readSheet(file, isColumn));
  } catch (error) {
    if (!(error instanceof SheetError)) throw error;
    throw new UploadFault(error.isOtherKind ? "file_type" : "unreadable_file", { detail: error.message }, error.wrong);
  }
}

/** The rows below the header, by field. */
class Table {
  readonly rows: readonly Row[];
  readonly #places: ReadonlyMap<Field, number>;
  readonly #headers: readonly string[];
  readonly #energy: ReadonlyMap<Field, EnergyColumn>;

  constructor(
    headers: readonly string[],
    fields: readonly (Field | null)[],
    rows: readonly Row[],
    sent: Decimal | null,
  ) {
    this.rows = rows;
    this.#headers = headers;
    this.#places = new Map(fields.flatMap((field, place) => (field ? [[field, place]] : [])));
    this.#energy = new Map(
      ENERGY.filter((field) => this.#places.has(field)).map((field) => {
        const cells = rows.map((row) => this.cell(row, field));
        const header = this.headerOf(field);
        const column = decideEnergy(header, cells, sent);
        const { ambiguous } = column;
        const first = ambiguous === null ? undefined : rows[ambiguous];
        if (first)
          throw new UploadFault("ambiguous_decimals", {
            column: header,
            sheet_row: first.sheet_row,
            value: this.cell(first, field).text.slice(0, 40),
          });
        return [field, column];
      }),
    );
  }

  cell({ cells }: Row, field: Field): Cell {
    return cells[this.#places.get(field) ?? -1] ?? EMPTY;
  }

  headerOf(field: Field): string {
    return this.#headers[this.#places.get(field) ?? -1] ?? field;
  }

  /** Whole watt hours; null if the cell has none. */
  wattHours(row: Row, field: Field): number | null {
    const column = this.#energy.get(field);
    return column ? readEnergy(this.cell(row, field), column) : null;
  }

  /** What the row says in the columns we read, by the sheet's own headings. */
  words(row: Row): Record<string, string> {
    const said: Record<string, string> = {};
    for (const [field, place] of this.#places) {
      const { text } = this.cell(row, field);
      if (text) said[this.#headers[place] ?? field] = storable(cut(text, 200));
    }
    return said;
  }
}

/** The text of a cell that names something: no boolean, date or error. Undefined if it is empty, null if it is no such text. */
function nameIn(cell: Cell): string | null | undefined {
  if (cell.kind === "empty") return undefined;
  const named = cell.kind === "text" || cell.kind === "number";
  return named && cell.text.length <= 120 && isPlain(cell.text) ? cell.text : null;
}

const MOST_WH = 1_000_000_000;
const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

/** The rows, with a pause now and then in which others are answered: 5,000 take a fifth of a second. */
async function* slowly(rows: readonly Row[]): AsyncGenerator<[index: number, row: Row]> {
  for (const [index, row] of rows.entries()) {
    if (index % 50 === 0) await new Promise((resolve) => setTimeout(resolve));
    yield [index, row];
  }
}

async function readMonths(table: Table): Promise<Pick<ReadUpload, "items" | "rejected">> {
  const items: Judged[] = [];
  const rejected: Rejected[] = [];
  for await (const [index, row] of slowly(table.rows)) {
    const read = readMonthRow(table, row);
    const { sheet_row } = row;
    if (isFault(read)) {
      const { reason, field } = read;
      const column = field ? { column: table.headerOf(field) } : {};
      rejected.push({ row: index + 1, sheet_row, reason, ...column, period: readMonth(table.cell(row, "period")) });
    } else items.push({ place: index + 1, sheet_row, ...read, document: table.words(row) });
  }
  return { items, rejected };
}

type Fault = { reason: string; field?: Field };
const isFault = (read: object): read is Fault => "reason" in read;

function readMonthRow(table: Table, row: Row): Fault | Record<string, unknown> {
  const bad = (field: Field) => ({ reason: `bad_${field}`, field });
  const reference = nameIn(table.cell(row, "cpo_external_ref"));
  const ean = nameIn(table.cell(row, "ean"));
  const code = ean ? eanCode().safeParse(ean).data : ean;
  const connection = nameIn(table.cell(row, "connection_id"));
  const month = readMonth(table.cell(row, "period"));
  const wh = table.wattHours(row, "kwh");
  const session_count = countIn(table.cell(row, "session_count"));
  if (reference === null) return bad("cpo_external_ref");
  if (ean !== undefined && !code) return bad("ean");
  if (connection === null || (connection && !UUID.test(connection))) return bad("connection_id");
  if (!reference && !ean && !connection) return { reason: "no_account" };
  if (!month) return bad("period");
  if (wh === null || wh > MOST_WH) return bad("kwh");
  if (session_count === null) return bad("session_count");
  return {
    cpo_external_ref: reference ?? null,
    ean: code ?? null,
    connection_id: connection?.toLowerCase() ?? null,
    period: `${month}-01`,
    total_kwh: wh / 1000,
    session_count,
  };
}

/** A count from 0 to a million; 0 if the cell is empty, null if it is none. */
function countIn(cell: Cell): number | null {
  if (cell.kind === "empty") return 0;
  const count =
    cell.kind === "number" ? cell.value : cell.kind === "text" && /^\d{1,7}$/.test(cell.text) ? Number(cell.text) : -1;
  return Number.isInteger(count) && count >= 0 && count <= 1_000_000 ? count : null;
}

const NAMED: readonly SessionField[] = [
  "session_id",
  "charger_id",
  "external_ref",
  "serial_number",
  "evse_uid",
  "evse_id",
  "meter_id",
];

/** A session of the file as POST /v1/charging-sessions would have it, so that one reader judges both. */
function asSent(table: Table, row: Row): Record<string, unknown> {
  const sent: Record<string, unknown> = {};
  for (const field of NAMED)
    sent[field] = nameIn(table.cell(row, field)) ?? (isEmpty(table, row, field) ? undefined : "");
  const start = readMoment(table.cell(row, "started_at"));
  sent.started_at = start === null ? "" : writeInstant(start);
  if (!isEmpty(table, row, "ended_at")) {
    const end = readMoment(table.cell(row, "ended_at"), start ?? undefined);
    sent.ended_at = end === null ? "" : writeInstant(end);
  }
  for (const field of ENERGY) {
    if (isEmpty(table, row, field)) continue;
    const wh = table.wattHours(row, field);
    sent[field] = wh === null ? -1 : wh / 1000;
  }
  if (!isEmpty(table, row, "evse_no")) sent.evse_no = countIn(table.cell(row, "evse_no"));
  for (const field of ["power_type", "country"] as const)
    if (!isEmpty(table, row, field)) sent[field] = nameIn(table.cell(row, field))?.toUpperCase() ?? "";
  return sent;
}

const isEmpty = (table: Table, row: Row, field: Field): boolean => table.cell(row, field).kind === "empty";

async function readSessions(table: Table): Promise<Pick<ReadUpload, "items" | "rejected">> {
  const read: (Item & { sheet_row: number })[] = [];
  const rejected: Rejected[] = [];
  for await (const [index, row] of slowly(table.rows)) {
    const place = index + 1;
    const { sheet_row } = row;
    const sent = asSent(table, row);
    const item = readItem(sent, place, sent.session_id === undefined ? "file" : "api");
    if ("reason" in item) {
      const reason = String(item.reason);
      const field = reason.replace(/^bad_/, "") as Field;
      const session_id = typeof sent.session_id === "string" ? sent.session_id || null : null;
      rejected.push({
        row: place,
        sheet_row,
        reason,
        ...(field === reason ? {} : { column: table.headerOf(field) }),
        session_id,
      });
    } else read.push({ ...item, sheet_row, document: table.words(row) });
  }
  // in a file no row is later than another: of a session that is in it twice, nobody knows which row is right
  const times = Map.groupBy(read, sessionKey);
  const items: Judged[] = [];
  for (const item of read) {
    if (times.get(sessionKey(item))?.length === 1) items.push(item);
    else
      rejected.push({
        row: item.place,
        sheet_row: item.sheet_row,
        reason: "duplicate_in_file",
        session_id: (item.external_id as string | undefined) ?? null,
      });
  }
  return { items, rejected };
}

const sessionKey = (item: Item): string =>
  JSON.stringify([...NAMED.slice(1).map((field) => item[field]), item.external_id ?? [item.evse_no, item.started_at]]);
