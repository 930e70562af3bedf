// @ts-types="npm:@types/papaparse@5.5.2"
import Papa from "papaparse";
import { COLUMNS, columnOf, type RawRow } from "./rows.ts";

/** Why a text is no CSV that customers could be read from; the sentence is for the partner. */
export class CsvError extends Error {
  override name = "CsvError";
}

const DELIMITERS = [",", ";"] as const;

/**
 * The rows of a CSV text, by column name: comma or semicolon, quotes, a byte order mark, any line ends, the `sep=;` line that
 * Excel writes. A value is data whatever it looks like: a formula stays the text it is.
 * @throws {CsvError} no header with an e-mail column, or a quote that is never closed.
 */
export function readCsv(csv: string): RawRow[] {
  let text = csv.replace(/^\ufeff/, "").replace(/\r\n?/g, "\n");
  const separator = /^"?sep=(.)"?\n/i.exec(text);
  if (separator) text = text.slice(separator[0].length);
  text = text.replace(/^[\s,;]*\n/, ""); // blank lines before the header

  const delimiters = DELIMITERS.filter((delimiter) => !separator || separator[1] === delimiter);
  const delimiter = delimiters.find((candidate) => headerOf(text, candidate).includes("email"));
  if (!delimiter && /[\u0000\ufffd]/.test(text.slice(0, 200)))
    throw new CsvError('The file is not UTF-8: save it as "CSV UTF-8" and send it again.');
  if (!delimiter)
    throw new CsvError(
      "The first line must be a header with a column email, separated by commas or semicolons (tabs are not).",
    );

  const { data, errors } = Papa.parse<string[]>(text, { delimiter, newline: "\n", skipEmptyLines: "greedy" });
  const broken = errors.find(({ type }) => type === "Quotes");
  if (broken)
    throw new CsvError(
      `Row ${broken.row ?? 0} has a quote that is not closed; a quote inside a value is written twice.`,
    );
  const [header = [], ...rows] = data;
  // of columns with the same name the first counts
  const places = new Map<string, number>();
  header.map(columnOf).forEach((column, place) => {
    if (column && COLUMNS.has(column) && !places.has(column)) places.set(column, place);
  });
  return rows.map((values) =>
    Object.fromEntries([...places].map(([column, place]) => [column, values[place]?.trim() ?? ""])),
  );
}

function headerOf(text: string, delimiter: string): (string | undefined)[] {
  const { data } = Papa.parse<string[]>(text, { delimiter, newline: "\n", preview: 1, skipEmptyLines: "greedy" });
  return (data[0] ?? []).map(columnOf);
}
