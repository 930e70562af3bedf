import { Sealed } from "#shared/domain/answers.ts";
import { KINDS, type Kind } from "#shared/domain/charging_in/file/headings.ts";
import type { Order } from "#shared/domain/sheet/times.ts";
import type { AnswersOf } from "#shared/foundation/answers.ts";
import { z } from "#shared/foundation/zod.ts";
import { Who } from "../model.ts";

/** What the api functions of pages/partner/portal_uploads.sql answer. */

const RowResult = z.object({
  row: z.number(),
  sheet_row: z.number(),
  status: z.string(),
  period: z.string().exactOptional(),
  connection_id: z.string().exactOptional(),
  session_id: z.string().exactOptional(),
  charging_session_id: z.string().exactOptional(),
  reason: z.string().exactOptional(),
  detail: z.string().exactOptional(),
  ignored: z.array(z.string()).exactOptional(),
  column: z.string().exactOptional(),
  counted: z.boolean().exactOptional(),
  not_counted: z.string().exactOptional(),
  flags: z.array(z.string()).exactOptional(),
});
export type RowResult = z.output<typeof RowResult>;

/** As POST /v1/uploads. */
const Upload = z.object({
  upload_id: z.string().nullable(),
  kind: z.enum(KINDS),
  created_at: z.string().nullable(),
  rows: z.number(),
  columns: z.array(z.object({ header: z.string(), field: z.string().nullable() })),
  counts: z.record(z.string(), z.number()),
  results: z.array(RowResult),
  sheet: z.string().nullable(),
  header_row: z.number(),
  read_as: z.record(z.string(), z.string()),
  ids_ignored: z.boolean(),
  sums: z.object({
    kwh: z.number(),
    sessions: z.number(),
    first_day: z.string().nullable(),
    last_day: z.string().nullable(),
    first_date: z.string().nullable(),
    months: z.array(z.object({ period: z.string(), kwh: z.number(), sessions: z.number() })),
  }),
  /** Its results were answered once, and not kept. */
  evidence_over_quota: z.literal(true).exactOptional(),
  idempotent: z.literal(true).exactOptional(),
});
/** What a page shows of a file, once it is judged or stored. */
export type Upload = Omit<z.output<typeof Upload>, "created_at" | "idempotent">;

/** The outcomes of a file of customers, which is kept in the same place and never shown here. */
const OfImport = z.custom<never>(
  (outcomes) => Array.isArray(outcomes) && outcomes.every((outcome) => !("sheet_row" in outcome)),
);

const Shown = z.object({
  who: Who,
  clients: z.array(z.object({ id: z.string(), name: z.string() })),
  sealed: Sealed.nullable(),
  /** Of the first look at a kept file. */
  judged: z.array(RowResult).or(OfImport).nullable(),
  upload: Upload.extend({ file_name: z.string().nullable() }).nullable(),
});
export type Shown = z.output<typeof Shown>;

/** A file as it is kept for an hour. */
export type Kept = {
  file: string;
  file_name: string;
  client: string;
  kind: Kind | "";
  decimal: "," | "." | "";
  dates: Order | "";
  columns: string;
};

export const ANSWERS = { read_portal_uploads: Shown, portal_upload: Upload };
declare module "#shared/foundation/answers.ts" {
  interface SqlAnswers extends AnswersOf<typeof ANSWERS> {}
}
