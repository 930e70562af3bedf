// @ts-types="npm:@types/papaparse@5.5.2"
import Papa from "papaparse";
import { COLUMNS, columnOf, type RawRow } from "./rows.ts";

/** Why customers cannot be read from the text; an English sentence for the partner. */
export class CsvError extends Error {
  override name = "CsvError";
  readonly wrong: "not_utf8" | "no_header" | "open_quote";

  constructor(wrong: CsvError["wrong"], message: string) {
    super(message);
    this.wrong = wrong;
  }
}

/** A parsed CSV. */
export type Sheet = {
  /** The header as written, with the column each cell was understood as; null if the column is ignored. */
  columns: { header: string; column: string | null }[];
  /** By column name, without blank lines. */
  rows: RawRow[];
  /** For each row its line number in a spreadsheet, counting the header and blank lines. */
  sheet_rows: number[];
};

const DELIMITERS = [",", ";"] as const;

/**
 * The rows of a CSV text, by column name. Accepts comma or semicolon, quotes, a byte order mark, any line ends, and the
 * `sep=;` line that Excel writes. Values are plain text: a formula is not evaluated.
 * @throws {CsvError} no header with an e-mail column, or a quote that is never closed
 */
export function readCsv(csv: string): Sheet {
  let text = csv.replace(/^\ufeff/, "").replace(/\r\n?/g, "\n");
  const separator = /^"?sep=(.)"?\n/i.exec(text);
  if (separator) text = text.slice(separator[0].length);
  const blank = /^[\s,;]*\n/.exec(text)?.[0] ?? ""; // lines before the header
  text = text.slice(blank.length);

  const delimiters = DELIMITERS.filter((delimiter) => !separator || separator[1] === delimiter);
  const delimiter = delimiters.find((candidate) => headerOf(text, candidate).includes("email"));
  if (!delimiter && /[\u0000\ufffd]/.test(text.slice(0, 200)))
    throw new CsvError("not_utf8", 'The file is not UTF-8: save it as "CSV UTF-8" and send it again.');
  if (!delimiter)
    throw new CsvError(
      "no_header",
      "The first line must be a header with a column email, separated by commas or semicolons (tabs are not).",
    );

  const { data, errors } = Papa.parse<string[]>(text, { delimiter, newline: "\n" });
  const broken = errors.find(({ type }) => type === "Quotes");
  if (broken)
    throw new CsvError(
      "open_quote",
      `Row ${broken.row ?? 0} has a quote that is not closed; a quote inside a value is written twice.`,
    );
  const [header = [], ...records] = data;
  const above = blank.split("\n").length; // the header's own number
  // if two columns have the same name, the first counts
  const places = new Map<string, number>();
  const columns = header.map((name, place) => {
    const column = columnOf(name);
    const read = column !== undefined && COLUMNS.has(column) && !places.has(column);
    if (read) places.set(column, place);
    return { header: name.trim(), column: read ? column : null };
  });
  const sheet: Sheet = { columns, rows: [], sheet_rows: [] };
  records.forEach((values, index) => {
    if (values.every((value) => value.trim() === "")) return;
    sheet.rows.push(Object.fromEntries([...places].map(([column, place]) => [column, values[place]?.trim() ?? ""])));
    sheet.sheet_rows.push(above + 1 + index);
  });
  return sheet;
}

function headerOf(text: string, delimiter: string): (string | undefined)[] {
  const { data } = Papa.parse<string[]>(text, { delimiter, newline: "\n", preview: 1, skipEmptyLines: "greedy" });
  return (data[0] ?? []).map(columnOf);
}
