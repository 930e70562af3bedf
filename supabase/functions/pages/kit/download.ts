import type { Visit } from "./visit.ts";

/** The media type of a workbook (.xlsx). */
export const XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

/** What makes a browser save an answer under a name. */
const saved = (type: string, filename: string) => ({
  "Content-Type": type,
  "Content-Disposition": `attachment; filename="${filename}"`,
});

/** Answers with CSV, which the browser saves as `<name>.csv`. */
export const csvFile = ({ c }: Visit, name: string, csv: string | ReadableStream<Uint8Array>): Response =>
  c.body(csv, 200, saved("text/csv; charset=utf-8", `${name}.csv`));

/** Answers with a workbook of one sheet of text, which the browser saves as `<name>.xlsx`. */
export async function workbook({ c }: Visit, name: string, rows: string[][]): Promise<Response> {
  const { writeXlsx } = await import("#shared/domain/sheet/write_xlsx.ts");
  return c.body(writeXlsx(rows), 200, saved(XLSX, `${name}.xlsx`));
}
