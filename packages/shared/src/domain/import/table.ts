import { readCsvText } from "#shared/domain/sheet/csv.ts";
import { HEAD_ROWS, type Sheet, SheetError, withFewColumns } from "#shared/domain/sheet/model.ts";
import { readSheet } from "#shared/domain/sheet/read_sheet.ts";
import { COLUMNS, columnOf, namePartOf, type RawRow, suggestionFor } from "./rows.ts";

/** What a file says, as texts. */
export type Table = {
  encoding: Sheet["encoding"];
  header: string[];
  /** Each with the number that the spreadsheet shows beside it. A formula without a usable result is its error, such as `#N/A`. */
  rows: { sheet_row: number; cells: (string | { error: string })[] }[];
  /** Rows beyond these, which were counted only. */
  more: number;
};

/** Customers of a file. */
export type Customers = {
  /** Each header with the column it was understood as, or else, after suggestColumns(), with the one it may mean. */
  columns: { header: string; column: string | null; suggestion: string | null }[];
  rows: RawRow[];
  /** For each row its number in the spreadsheet. */
  sheet_rows: number[];
};

/** A header with no column of e-mail addresses: nobody can be signed up by it. */
class NoEmailColumn extends Error {
  override name = "NoEmailColumn";
  readonly wrong = "no_header";

  constructor() {
    super("None of the first 20 lines is a header with a column email, separated by commas or semicolons.");
  }
}

/** A fault of a file, whose message says what to do about it. */
export const isFileFault = (error: unknown): error is SheetError | NoEmailColumn =>
  error instanceof SheetError || error instanceof NoEmailColumn;

const isColumn = (header: string): boolean => COLUMNS.has(columnOf(header) ?? "");

/** Reads a file of customers, CSV or XLSX. @throws {SheetError} */
export const readTable = async (file: Uint8Array): Promise<Table> => tableOf(await readSheet(file, isColumn));

/** The same of a file that somebody is asked about, heading by heading. @throws {SheetError} also if it has too many columns */
export const readTableToShow = async (file: Uint8Array): Promise<Table> =>
  tableOf(withFewColumns(await readSheet(file, isColumn)));

/** Reads the text of a CSV file. @throws {SheetError} */
const readCsvTable = async (csv: string): Promise<Table> => tableOf(await readCsvText(csv, "utf-8", isColumn));

/** A title may stand above the header, which then is the first of the first 20 rows that names a column of e-mail addresses. */
function tableOf({ encoding, rows: all, more }: Sheet): Table {
  const at = all.slice(0, HEAD_ROWS).findIndex(({ cells }) => cells.some(({ text }) => columnOf(text) === "email"));
  const [header, ...rows] = all.slice(Math.max(at, 0));
  return {
    encoding,
    header: (header?.cells ?? []).map(({ text }) => text),
    rows: rows.map(({ sheet_row, cells }) => ({
      sheet_row,
      cells: cells.map((cell) => (cell.kind === "error" ? { error: cell.text } : cell.text)),
    })),
    more,
  };
}

/**
 * The rows of a table by column. Of two headers for one column the first counts; but where somebody chose them, a name is made of all its
 * parts, first name first.
 * @param chosen the column of each header, null for none, where somebody chose them
 */
export function customersOf({ header, rows }: Table, chosen?: readonly (string | null)[]): Customers {
  const places = new Map<string, number[]>();
  const columns = header.map((name, place) => {
    const column = chosen ? chosen[place] : columnOf(name);
    const before = places.get(column ?? "");
    const read = column != null && COLUMNS.has(column) && (!before || (chosen !== undefined && column === "naam"));
    if (read) places.set(column, [...(before ?? []), place]);
    return { header: name, column: read ? column : null, suggestion: null as string | null };
  });
  const ordered = [...places].map(
    ([column, at]) =>
      [column, at.toSorted((one, other) => namePartOf(header[one] ?? "") - namePartOf(header[other] ?? ""))] as const,
  );
  return {
    columns,
    rows: rows.map(({ cells }) =>
      Object.fromEntries(ordered.map(([column, at]) => [column, joined(at.map((place) => cells[place] ?? ""))])),
    ),
    sheet_rows: rows.map(({ sheet_row }) => sheet_row),
  };
}

/**
 * Adds the column that a header may mean; where none means e-mail addresses, the column that has them. Compares many names for
 * each header, so only where somebody is asked.
 */
export function suggestColumns({ columns }: Customers, rows: Table["rows"]): void {
  const known = new Set(columns.map(({ column }) => column));
  // several headers may be suggested for a name, each a part of it
  const suggested = new Map<string, boolean>();
  for (const each of columns) {
    const suggestion = each.column ? null : suggestionFor(each.header);
    if (!suggestion || known.has(suggestion)) continue;
    const isPart = namePartOf(each.header) >= 0;
    const before = suggested.get(suggestion);
    if (before === false || (before && !isPart)) continue;
    suggested.set(suggestion, isPart);
    each.suggestion = suggestion;
  }
  if (known.has("email") || suggested.has("email")) return;
  const addresses = columns.find(({ column }, place) => !column && hasAddresses(rows, place));
  if (addresses) addresses.suggestion = "email";
}

/** Whether most of the first cells of a column are e-mail addresses. */
function hasAddresses(rows: Table["rows"], place: number): boolean {
  const texts = rows.slice(0, 20).flatMap(({ cells }) => cells[place] || []);
  return texts.filter((text) => typeof text === "string" && text.includes("@")).length * 2 > texts.length;
}

/** The cells of one column; an error of any is that of all. */
function joined(cells: Table["rows"][number]["cells"]): (typeof cells)[number] {
  const [first = ""] = cells;
  if (cells.length < 2) return first;
  const texts = cells.map((cell) => (typeof cell === "string" ? cell.trim() : cell));
  const wrong = texts.find((cell) => typeof cell !== "string");
  return wrong ?? texts.filter((cell) => cell !== "").join(" ");
}

export const hasEmail = ({ columns }: Customers): boolean => columns.some(({ column }) => column === "email");

/** The customers of a CSV text. @throws {SheetError} @throws {NoEmailColumn} */
export async function readCsv(csv: string): Promise<Customers & { more: number }> {
  return asCustomers(await readCsvTable(csv));
}

/** The customers of a file, CSV or XLSX. @throws {SheetError} @throws {NoEmailColumn} */
export async function readFile(file: Uint8Array): Promise<Customers & { more: number }> {
  return asCustomers(await readTable(file));
}

function asCustomers(table: Table): Customers & { more: number } {
  const columns = table.header.map((name) => columnOf(name) ?? (namePartOf(name) >= 0 ? "naam" : null));
  // nobody is asked, so parts of a name are one where no column has it whole
  const inParts = !table.header.some((name) => columnOf(name) === "naam");
  const customers = customersOf(table, inParts ? columns : undefined);
  if (!hasEmail(customers)) throw new NoEmailColumn();
  return { ...customers, more: table.more };
}
