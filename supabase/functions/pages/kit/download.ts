import { type Cell, csvLines, toCsv } from "./csv.ts";
import type { PageRequest } from "./page_request.ts";

/** The media type of a workbook (.xlsx). */
export const XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

/** What makes a browser save an answer under a name. */
const saved = (type: string, filename: string) => ({
  "Content-Type": type,
  "Content-Disposition": `attachment; filename="${filename}"`,
});

/** Answers with CSV, which the browser saves as `<name>.csv`. */
export const csvFile = ({ c }: PageRequest, name: string, csv: string | ReadableStream<Uint8Array>): Response =>
  c.body(csv, 200, saved("text/csv; charset=utf-8", `${name}.csv`));

/**
 * CSV of a long list, made part by part, so that neither side ever holds more. `next` reads the part after one; null is the
 * end. A file that breaks off is a download that failed.
 */
export function csvOfParts<Part>(
  request: PageRequest,
  name: string,
  head: Cell[],
  first: Part,
  linesOf: (part: Part) => Cell[][],
  next: (part: Part) => Promise<Part> | null,
): Response {
  let part = first;
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(encoder.encode(toCsv(request.locale, [head]))),
    async pull(controller) {
      controller.enqueue(encoder.encode(csvLines(request.locale, linesOf(part))));
      const reading = next(part);
      if (!reading) return controller.close();
      part = await reading;
    },
  });
  return csvFile(request, name, body);
}

/** Answers with a workbook of one sheet of text, which the browser saves as `<name>.xlsx`. */
export async function workbook({ c }: PageRequest, name: string, rows: string[][]): Promise<Response> {
  const { writeXlsx } = await import("#shared/domain/sheet/write_xlsx.ts");
  return c.body(writeXlsx(rows), 200, saved(XLSX, `${name}.xlsx`));
}
