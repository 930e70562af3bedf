import { readCsvFile } from "./csv.ts";
import { MAX_ROWS, type OpenSheet, type Sheet, SheetError } from "./model.ts";
import { Work } from "./work.ts";

const ZIP = [0x50, 0x4b, 0x03, 0x04];
/** A compound file: .xls, or .xlsx with a password. */
const COMPOUND = [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];

type IsColumn = (header: string) => boolean;

/**
 * Opens CSV or XLSX, told apart by the first bytes, to its visible sheets, in order. What reads XLSX is loaded when it is needed.
 * @param isColumn whether a header is one the caller knows; it helps to find the delimiter of a CSV file
 * @param work counts the time, also of what the caller does with the sheets
 * @param most rows that are kept of a sheet
 * @throws {SheetError} a file of another kind, or one that cannot be read, or not within 5 s
 */
export async function openSheets(
  file: Uint8Array,
  isColumn?: IsColumn,
  work = new Work(),
  most = MAX_ROWS + 1,
): Promise<[OpenSheet, ...OpenSheet[]]> {
  if (begins(file, ZIP)) return (await import("./xlsx.ts")).openXlsx(file, work, most);
  if (begins(file, COMPOUND)) throw new SheetError(has(file, "EncryptedPackage") ? "encrypted" : "xls");
  const sheet = await readCsvFile(file, isColumn, work, most);
  return [{ name: null, read: async () => sheet }];
}

/** Reads the first visible sheet of a file. @throws {SheetError} as openSheets() */
export async function readSheet(file: Uint8Array, isColumn?: IsColumn): Promise<Sheet> {
  const [first] = await openSheets(file, isColumn);
  return first.read();
}

const begins = (file: Uint8Array, bytes: readonly number[]): boolean => bytes.every((byte, at) => file[at] === byte);

/** Whether a compound file names a stream, which it does in UTF-16. */
function has(file: Uint8Array, name: string): boolean {
  const text = new TextDecoder("latin1").decode(file);
  return text.includes([...name].join("\0"));
}
