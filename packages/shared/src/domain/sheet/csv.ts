// @ts-types="npm:@types/papaparse@5.5.2"
import Papa from "papaparse";
import { type Cell, EMPTY, MAX_ROWS, type Row, type Sheet, SheetError } from "./model.ts";

type IsColumn = (header: string) => boolean;

/** Characters in which the header's delimiter is looked for. */
const LONGEST_HEADER = 100_000;
/** Cells of a row that are kept. A file of 4 MiB may have two million. */
export const MOST_CELLS = 20_000;

/**
 * Reads a CSV file: UTF-8 with or without mark, UTF-16 with a mark, else Windows-1252. Tabs are a delimiter in UTF-16 only, as Excel
 * writes "Unicode text".
 * @throws {SheetError} no text, tabs, or a quote that is not closed
 */
export function readCsvFile(file: Uint8Array, isColumn?: IsColumn): Sheet {
  const { text, encoding } = decode(file);
  return readCsvText(text, encoding, isColumn);
}

function decode(file: Uint8Array): { text: string; encoding: NonNullable<Sheet["encoding"]> } {
  const [first, second, third] = file;
  if (first === 0xff && second === 0xfe) return { text: new TextDecoder("utf-16le").decode(file), encoding: "utf-16" };
  if (first === 0xfe && second === 0xff) return { text: new TextDecoder("utf-16be").decode(file), encoding: "utf-16" };
  const marked = first === 0xef && second === 0xbb && third === 0xbf;
  try {
    return { text: new TextDecoder("utf-8", { fatal: !marked }).decode(file), encoding: "utf-8" };
  } catch {
    return { text: windows1252(file), encoding: "windows-1252" };
  }
}

/** What Windows-1252 has at 0x80 to 0x9f. Node decodes these as Latin-1. */
const HIGH = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ";

const windows1252 = (file: Uint8Array): string =>
  new TextDecoder("windows-1252")
    .decode(file)
    .replace(/[\u0080-\u009f]/g, (each) => HIGH[each.charCodeAt(0) - 0x80] ?? each);

/**
 * Reads the text of a CSV file: comma or semicolon, quotes, any line ends, and the `sep=;` line that Excel writes. Every value is
 * text, whatever it looks like; without the apostrophe that keeps a spreadsheet from taking it for a formula.
 * @throws {SheetError} no text, tabs, or a quote that is not closed
 */
export function readCsvText(
  csv: string,
  encoding: Sheet["encoding"] = "utf-8",
  isColumn: IsColumn = () => false,
): Sheet {
  // a picture, a PDF, a form as curl -F sends it, JSON
  if (csv.includes("\0") || /^(%PDF-|--.+\r\nContent-|\s*\{)/.test(csv)) throw new SheetError("other");
  let text = csv.replace(/^\ufeff/, "").replace(/\r\n?/g, "\n");
  const separator = /^"?sep=(.)"?\n/i.exec(text);
  if (separator) text = text.slice(separator[0].length);
  if (/^\s*</.test(text)) throw new SheetError("markup");
  const blank = /^[\s,;]*\n/.exec(text)?.[0] ?? ""; // lines before the header
  text = text.slice(blank.length);
  const above = blank.split("\n").length - 1;

  const rows: Row[] = [];
  let more = 0;
  let sheet_row = above;
  // row by row: 4 MiB have two million short ones, of which 5,000 are kept
  Papa.parse<string[]>(text, {
    delimiter: delimiterOf(text.slice(0, LONGEST_HEADER), separator?.[1], encoding, isColumn),
    newline: "\n",
    fastMode: false, // which splits all of the text at once
    step({ data, errors }) {
      // with a delimiter given, no other error is known
      if (errors.length > 0) throw new SheetError("open_quote");
      sheet_row++;
      const cells = cellsOf(data);
      if (cells.length === 0) return;
      if (rows.length > MAX_ROWS) more++;
      else rows.push({ sheet_row, cells });
    },
  });
  return { kind: "csv", encoding, rows, more };
}

function cellsOf(values: readonly string[]): Cell[] {
  const cells: Cell[] = values.slice(0, MOST_CELLS).map((value) => {
    const text = value.trim().replace(/^'(?=[=+@-])/, "");
    return text ? { kind: "text", text } : EMPTY;
  });
  while (cells.at(-1)?.kind === "empty") cells.pop();
  return cells;
}

/**
 * The delimiter by which the header has most of the columns that are known, or else most columns, or else the semicolon: a text has a
 * comma in it more often.
 */
function delimiterOf(
  text: string,
  separator: string | undefined,
  encoding: Sheet["encoding"],
  isColumn: IsColumn,
): string {
  const tabs = encoding === "utf-16";
  const headers = [";", ",", "\t"]
    .filter((delimiter) => !separator || separator === delimiter || delimiter === "\t")
    .map((delimiter) => {
      const { data } = Papa.parse<string[]>(text, { delimiter, newline: "\n", preview: 1 });
      const names = data[0] ?? [];
      return { delimiter, known: names.filter(isColumn).length, columns: names.length };
    });
  const [best] = headers.sort((one, other) => other.known - one.known || other.columns - one.columns);
  if (best?.delimiter !== "\t") return best?.delimiter ?? ",";
  if (!tabs) throw new SheetError("tabs");
  return "\t";
}
