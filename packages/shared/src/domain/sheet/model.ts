/** A cell of a spreadsheet. `text` is what it says, for columns of text; "" where it says nothing. */
export type Cell =
  | { kind: "empty"; text: "" }
  /** As typed: text that looks like a number or a date is text. Without spaces around it. */
  | { kind: "text"; text: string }
  /** `text` has no more digits than the number is exact to, and the leading zeros that its format shows. */
  | {
      kind: "number";
      text: string;
      value: number;
      /** What its format says that it counts; `other` is money, a percentage or another quantity than energy. */
      unit?: EnergyUnit | "other";
    }
  /**
   * A clock's time without a zone: `wall` is its milliseconds since 1970, as if the clock stood at UTC. `shows` is what its format
   * shows: a month without a day, a day without a time, a time without a day, or both.
   */
  | { kind: "date"; text: string; wall: number; shows: "month" | "day" | "time" | "moment" }
  | { kind: "boolean"; text: "TRUE" | "FALSE"; value: boolean }
  /** A formula without a usable result, or a value that is none of its kind: `#N/A`, `#REF!`. */
  | { kind: "error"; text: string };

export type EnergyUnit = "Wh" | "kWh" | "MWh";

export const EMPTY: Cell = { kind: "empty", text: "" };

/** Words by which people and programs say that there is nothing. */
const NONE =
  /^(?:[-–—?.]+|n\/?a\.?|#n\/[ab]|#nv|n\.?v\.?t\.?|nan|null|nil|none|unknown|onbekend|unbekannt|geen|niet van toepassing)$/i;

/** Whether a cell says nothing. */
export const isNone = (cell: Cell): boolean =>
  cell.kind === "empty" || (cell.kind === "text" && cell.text.length <= 20 && NONE.test(cell.text));

/** The text of a cell that may be a month or a time, in lower case with single spaces; null of any other cell. */
export const wordsOf = (cell: Cell): string | null =>
  cell.kind === "text" && cell.text.length <= MAX_VALUE ? cell.text.toLowerCase().replace(/\s+/g, " ") : null;

export type Row = {
  /** The number that the spreadsheet shows beside it, from 1. */
  sheet_row: number;
  /** From the first column on; cells after the last one that says something are left out. */
  cells: Cell[];
  /** Cells of a CSV row with the empty ones at its end, where there are some. */
  width?: number;
};

/** A sheet of a file, read as far as somebody asked. */
export type OpenSheet = {
  /** Its name; null for CSV. */
  name: string | null;
  /** Reads on until it has so many rows, or to its end. @throws {SheetError} */
  read(rows?: number): Promise<Sheet>;
};

/** What a file says, whatever its kind. Its first row is the header. */
export type Sheet = {
  kind: "csv" | "xlsx";
  /** How the text of a CSV file was written; null for XLSX. */
  encoding: "utf-8" | "utf-16" | "windows-1252" | null;
  /** Without blank rows; at most as many as were asked for, MAX_ROWS beside the header if nobody said. */
  rows: Row[];
  /** Rows beyond these, which were counted only. */
  more: number;
  /** What stands between the cells of a CSV file. */
  delimiter?: string;
};

/** Rows beside the header. */
export const MAX_ROWS = 5_000;
/** Rows among which the header is looked for. */
export const HEAD_ROWS = 20;
/** Columns of the header. */
export const MAX_COLUMNS = 500;
/** Cells of an XLSX sheet. */
export const MAX_CELLS = 200_000;
/** Characters of an XLSX cell, which is also what Excel takes. */
export const MAX_CELL = 32_767;
/** Characters of a text that may be a number, a month or a time. One sign may stand for 18. */
export const MAX_VALUE = 200;
/** Bytes of an XLSX file after inflating, all its parts together. */
export const MAX_INFLATED = 16 * 1024 * 1024;
/** Parts of an XLSX file, pictures included. */
export const MAX_PARTS = 2_000;

/** Why a file cannot be read, and what to do, as an English sentence. */
const WRONG = {
  // files of another kind
  xls: 'This is an Excel file of before 2007. Save it as "Excel workbook (.xlsx)", and send that.',
  encrypted: "This workbook has a password. Save it without one, and send that.",
  xlsb: 'This is a binary Excel workbook. Save it as "Excel workbook (.xlsx)", and send that.',
  ods: 'This is an OpenDocument file. Save it as "Excel workbook (.xlsx)", and send that.',
  numbers: "This is a Numbers file. Export it to Excel, and send that.",
  markup: "This is a web page or XML. Open it in Excel, save it as .xlsx, and send that.",
  other: 'This is no spreadsheet. Send an Excel workbook (.xlsx) or "CSV UTF-8" itself, not in a form.',
  // files of our kind
  broken: "This workbook is damaged. Open it in Excel, save it again, and send that.",
  too_many_parts: "This workbook has more than 2,000 parts. Remove its pictures, and send that.",
  declares: "This workbook has a document type (DOCTYPE) in its XML. Save it again in Excel, and send that.",
  too_slow: "This file takes more than 5 seconds to read. Send fewer rows or columns.",
  too_large: "This workbook unpacks to more than 16 MiB. Send fewer rows, without pictures.",
  too_many_cells: "This sheet has more than 200,000 cells. Send fewer rows, or remove columns.",
  too_many_columns: "This file has more than 500 columns. Remove columns.",
  cell_too_long: "This sheet has a cell of more than 32,767 characters.",
  no_sheet: "This workbook has no visible sheet.",
  tabs: 'The columns are separated by tabs. Save it as an Excel workbook (.xlsx) or as "CSV UTF-8".',
  open_quote: "A quote is opened and not closed. A quote inside a value is written twice.",
} as const;
const OTHER_KINDS: readonly string[] = ["xls", "encrypted", "xlsb", "ods", "numbers", "markup", "other"];

/** A file that cannot be read. */
export class SheetError extends Error {
  override name = "SheetError";
  readonly wrong: keyof typeof WRONG;

  constructor(wrong: keyof typeof WRONG) {
    super(WRONG[wrong]);
    this.wrong = wrong;
  }

  /** It is a file of a kind that we do not read. */
  get isOtherKind(): boolean {
    return OTHER_KINDS.includes(this.wrong);
  }
}

/** The same sheet. @throws {SheetError} its header has too many columns */
export function withFewColumns(sheet: Sheet): Sheet {
  if ((sheet.rows[0]?.cells.length ?? 0) > MAX_COLUMNS) throw new SheetError("too_many_columns");
  return sheet;
}
