import { readCsvFile } from "./csv.ts";
import { type Sheet, SheetError } from "./model.ts";
import { Work } from "./work.ts";

const ZIP = [0x50, 0x4b, 0x03, 0x04];
/** A compound file: .xls, or .xlsx with a password. */
const COMPOUND = [0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1];

/**
 * Reads CSV or XLSX, told apart by the first bytes. Of XLSX it is the first visible sheet. What reads XLSX is loaded when it is
 * needed.
 * @param isColumn whether a header is one the caller knows; it helps to find the delimiter of a CSV file
 * @param work counts the time, also of what the caller does with the sheet
 * @throws {SheetError} a file of another kind, or one that cannot be read, or not within 2 s
 */
export async function readSheet(
  file: Uint8Array,
  isColumn?: (header: string) => boolean,
  work = new Work(),
): Promise<Sheet> {
  if (begins(file, ZIP)) return (await import("./xlsx.ts")).readXlsx(file, work);
  if (begins(file, COMPOUND)) throw new SheetError(has(file, "EncryptedPackage") ? "encrypted" : "xls");
  return readCsvFile(file, isColumn, work);
}

const begins = (file: Uint8Array, bytes: readonly number[]): boolean => bytes.every((byte, at) => file[at] === byte);

/** Whether a compound file names a stream, which it does in UTF-16. */
function has(file: Uint8Array, name: string): boolean {
  const text = new TextDecoder("latin1").decode(file);
  return text.includes([...name].join("\0"));
}
