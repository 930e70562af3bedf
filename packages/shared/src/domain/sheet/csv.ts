import { unguarded } from "./guards.ts";
import { type Cell, EMPTY, HEAD_ROWS, MAX_COLUMNS, MAX_ROWS, type Row, type Sheet, SheetError } from "./model.ts";
import { Work } from "./work.ts";

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
export function readCsvFile(
  file: Uint8Array,
  isColumn: IsColumn | undefined,
  work: Work,
  most?: number,
): Promise<Sheet> {
  const { text, encoding } = decode(file);
  return readCsvText(text, encoding, isColumn, work, most);
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
 * text, whatever it looks like; without what keeps a spreadsheet from changing it.
 * @param most rows that are kept; others are counted
 * @throws {SheetError} no text, tabs, a quote that is not closed, or not read within 5 s
 */
export async function readCsvText(
  csv: string,
  encoding: Sheet["encoding"] = "utf-8",
  isColumn: IsColumn = () => false,
  work = new Work(),
  most = MAX_ROWS + 1,
): Promise<Sheet> {
  // a picture, a PDF, a form as curl -F sends it, JSON
  if (csv.includes("\0") || /^(%PDF-|--.+\r\nContent-|\s*\{)/.test(csv)) throw new SheetError("other");
  let text = await withNewlines(csv.replace(/^\ufeff/, ""), work);
  const separator = /^"?sep=(.)"?\n/i.exec(text);
  if (separator) text = text.slice(separator[0].length);
  if (/^\s*</.test(text)) throw new SheetError("markup");
  const blank = /^[\s,;]*\n/.exec(text)?.[0] ?? ""; // lines before the header
  text = text.slice(blank.length);
  const above = blank.split("\n").length - 1;

  const rows: Row[] = [];
  let more = 0;
  let sheet_row = above;
  const delimiter = delimiterOf(text.slice(0, LONGEST_HEADER), separator?.[1], encoding, isColumn);
  // row by row: 4 MiB have two million short ones, of which 5,000 are kept
  for (const { values, isOpen } of rowsOf(text, delimiter)) {
    if (isOpen) throw new SheetError("open_quote");
    sheet_row++;
    const cells = cellsOf(values);
    if (cells.length > 0 && rows.length >= most) more++;
    else if (cells.length > 0)
      rows.push(values.length > cells.length ? { sheet_row, cells, width: values.length } : { sheet_row, cells });
    const pause = work.pause();
    if (pause) await pause;
  }
  return { kind: "csv", encoding, rows, more, delimiter };
}

/** In so many characters at once we replace line ends. A file may have four million. */
const PIECE = 256 * 1024;

async function withNewlines(csv: string, work: Work): Promise<string> {
  let text = "";
  for (let at = 0, end = 0; at < csv.length; at = end) {
    end = at + PIECE;
    if (csv[end] === "\n") end++;
    text += csv.slice(at, end).replaceAll("\r\n", "\n").replaceAll("\r", "\n");
    await work.pause();
  }
  return text;
}

/**
 * The rows of a text, as RFC 4180 writes them, each with at most MOST_CELLS values. `isOpen`: a quote does not close, or more than
 * spaces follow it. Looks at each character once, because one row may have all of the text.
 */
function* rowsOf(text: string, delimiter: string): Generator<{ values: string[]; isOpen: boolean }> {
  let values: string[] = [];
  let isOpen = false;
  for (let at = 0; at < text.length; ) {
    let value = "";
    if (text[at] === '"') {
      const from = at + 1;
      do {
        at = text.indexOf('"', at + 1) + 1;
      } while (at > 0 && text[at] === '"');
      if (at === 0) at = text.length + 1;
      isOpen ||= at > text.length;
      value = text.slice(from, at - 1).replaceAll('""', '"');
      while (text[at] === " ") at++;
      isOpen ||= at < text.length && text[at] !== delimiter && text[at] !== "\n";
    }
    const rest = at;
    while (at < text.length && text[at] !== delimiter && text[at] !== "\n") at++;
    if (values.length < MOST_CELLS) values.push(value + text.slice(rest, at));
    if (text[at++] === delimiter) continue;
    yield { values, isOpen };
    values = [];
  }
  // it ends with a delimiter
  if (values.length > 0) yield { values: [...values, ""], isOpen };
}

function cellsOf(values: readonly string[]): Cell[] {
  const cells: Cell[] = values.map((value) => {
    const text = unguarded(value);
    return text ? { kind: "text", text } : EMPTY;
  });
  while (cells.at(-1)?.kind === "empty") cells.pop();
  return cells;
}

/**
 * The delimiter by which one of the first rows has most of the columns that are known, or else the first has most columns, or else the
 * semicolon: a text has a comma in it more often.
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
      let [known, columns, seen] = [0, 0, 0];
      for (const { values } of rowsOf(text, delimiter)) {
        known = Math.max(known, values.slice(0, MAX_COLUMNS).filter(isColumn).length);
        if (seen === 0) columns = values.length;
        if (++seen === HEAD_ROWS) break;
      }
      return { delimiter, known, columns };
    });
  const [best] = headers.sort((one, other) => other.known - one.known || other.columns - one.columns);
  if (best?.delimiter !== "\t") return best?.delimiter ?? ",";
  if (!tabs) throw new SheetError("tabs");
  return "\t";
}
