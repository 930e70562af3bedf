/** A cell: text, or a number or euro with two decimals, which are written as the language of the reader writes them. */
export type Cell = string | number | { euro: number | null } | null;

/** CSV as a spreadsheet of that language opens it by a double click: in Dutch with semicolons and decimal commas, UTF-8 with its mark. */
export const toCsv = (locale: "nl" | "en", rows: readonly (readonly Cell[])[]): string =>
  `\ufeff${csvLines(locale, rows)}`;

/**
 * What begins like a formula gets an apostrophe in front, also after each sign at which a spreadsheet of another language, or one that
 * was told another delimiter, begins a new cell.
 */
const FORMULA = /(^|[,;\t\r\n])([\s"']*)(?=[=+@＝＋＠－-])/g;

/** More of such a file. Every text is quoted. */
export function csvLines(locale: "nl" | "en", rows: readonly (readonly Cell[])[]): string {
  const separator = locale === "nl" ? ";" : ",";
  const number = (digits: string) => (locale === "nl" ? digits.replace(".", ",") : digits);
  const written = (cell: Cell): string => {
    if (cell === null || cell === "") return "";
    if (typeof cell === "object") return number(cell.euro?.toFixed(2) ?? "");
    if (typeof cell === "number") return number(String(cell));
    return `"${cell.replace(FORMULA, "$1$2'").replaceAll('"', '""')}"`;
  };
  return rows.map((row) => `${row.map(written).join(separator)}\r\n`).join("");
}
