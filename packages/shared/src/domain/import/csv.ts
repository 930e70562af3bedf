// @ts-types="npm:@types/papaparse@5.5.2"
import Papa from "papaparse";
import { COLUMNS, columnOf, type RawRow } from "./rows.ts";

/** Why a text is no CSV that customers could be read from; the sentence is for the partner, in English. */
export class CsvError extends Error {
  override name = "CsvError";
  readonly wrong: "not_utf8" | "no_header" | "open_quote";

  constructor(wrong: CsvError["wrong"], message: string) {
    super(message);
    this.wrong = wrong;
  }
}

/** What a CSV says. */
export type Sheet = {
  /** The header, as it is written: what each column was understood as, null where nothing of it is read. */
  columns: { header: string; column: string | null }[];
  /** By column name; blank lines are none. */
  rows: RawRow[];
  /** Of each row the number that a spreadsheet shows beside it: header and blank lines counted. */
  sheet_rows: number[];
};

const DELIMITERS = [",", ";"] as const;

/**
 * The rows of a CSV text, by column name: comma or semicolon, quotes, a byte order mark, any line ends, the `sep=;` line that
 * Excel writes. A value is data whatever it looks like: a formula stays the text it is.
 * @throws {CsvError} no header with an e-mail column, or a quote that is never closed.
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
  // of columns with the same name the first counts
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
