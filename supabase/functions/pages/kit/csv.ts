/** A cell: text, or a number, which is written as the language of the reader writes it. */
export type Cell = string | number | null;

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
  const written = (cell: Cell): string => {
    if (cell === null || cell === "") return "";
    if (typeof cell === "number") return locale === "nl" ? String(cell).replace(".", ",") : String(cell);
    return `"${cell.replace(FORMULA, "$1$2'").replaceAll('"', '""')}"`;
  };
  return rows.map((row) => `${row.map(written).join(separator)}\r\n`).join("");
}
