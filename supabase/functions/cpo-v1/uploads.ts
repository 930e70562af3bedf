import { createHash, randomUUID } from "node:crypto";
import { KINDS } from "#shared/domain/charging_in/file/headings.ts";
import { oneAtATime } from "#shared/domain/charging_in/file/one_at_a_time.ts";
import {
  MAX_UPLOAD,
  type ReadUpload,
  readUpload,
  STATUSES,
  UploadFault,
} from "#shared/domain/charging_in/file/read_upload.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { instant, uuid } from "#shared/values/fields.ts";
import { flags, NotCounted } from "./charging_session_list.ts";

const CALLER = { kind: "cpo", scope: "cpo:sessions:write" } as const;

const ALL = [...new Set(Object.values(STATUSES).flat())];
const COUNT = (status: string) => `Number of rows with status ${status}`;

const RowResult = z
  .object({
    row: z.int().meta({ description: "The row below the header, from 1" }),
    sheet_row: z.int().meta({ description: "The number that the spreadsheet shows beside it" }),
    status: z.enum(ALL).meta({
      description: "As sessions:batch answers a month, or charging-sessions a session",
    }),
    reason: z
      .string()
      .optional()
      .meta({
        description:
          "Why it is invalid or parked. bad_ and the field: its cell cannot be read. duplicate_in_file: another row " +
          "has the same month or session. Of months: no_account (no customer is named), account_not_found, " +
          "ambiguous_connection (it means several connections), future_period. Of sessions: as charging-sessions",
      }),
    column: z.string().optional().meta({ description: "The file's own heading of the cell that cannot be read" }),
    period: z.string().optional().meta({ description: "The month", example: "2026-03" }),
    connection_id: z.guid().optional().meta({ description: "The connection of the month" }),
    session_id: z.string().optional().meta({ description: "The file's id of the session" }),
    charging_session_id: z.guid().optional().meta({ description: "Our id of the stored session" }),
    flags: flags().optional(),
    counted: z.boolean().optional().meta({ description: "Whether the session is in its month's total now" }),
    not_counted: NotCounted.optional(),
  })
  .meta({ id: "UploadRow" });

const Upload = z
  .object({
    upload_id: z
      .guid()
      .nullable()
      .meta({ description: "The upload; null for a dry run of a file that is not stored yet" }),
    kind: z.enum(KINDS).meta({ description: "What the file has" }),
    created_at: instant().nullable().meta({ description: "When it was stored; null if upload_id is null" }),
    rows: z.int().meta({ description: "Rows below the header" }),
    columns: z
      .array(
        z.object({
          header: z.string().meta({ description: "The file's heading" }),
          field: z.string().nullable().meta({ description: "What it was read as; null: it was ignored" }),
        }),
      )
      .meta({ description: "The columns of the file" }),
    counts: z
      .object(
        Object.fromEntries(
          ALL.map((status) => [
            status,
            z
              .int()
              .optional()
              .meta({ description: COUNT(status) }),
          ]),
        ),
      )
      .meta({ description: "Number of rows of each status of its kind" }),
    results: z.array(RowResult).meta({ description: "Each row, in the order of the file" }),
    idempotent: z
      .literal(true)
      .optional()
      .meta({ description: "The same file was your newest upload: nothing changed" }),
  })
  .meta({ id: "Upload" });

export const deliverUpload = endpoint(
  {
    id: "deliverUpload",
    summary: "Deliver a CSV or Excel file of months or sessions",
    description:
      "The body is the file itself: CSV or an Excel workbook (.xlsx), at most 4 MiB, 5,000 rows and 500 columns. The " +
      "headings say whether it has months or sessions, in Dutch or English, in any order. Each row is judged alone, as " +
      "`POST /v1/sessions:batch` and `POST /v1/charging-sessions` do. Sending your newest file again changes nothing, " +
      "unless a row was left out, parked or withdrawn and can be stored now. We keep its hash and results, not the file. " +
      "Send one file at a time: a second one is answered 429 with `reason: upload_running`.",
    caller: CALLER,
    idempotent: true,
    limit: "cpo_sessions",
    sql: ["deliver_upload"],
    slow: true,
    accepts: ["file"],
    maxBody: MAX_UPLOAD,
    query: z.object({
      dry_run: z.enum(["true", "false"]).default("false").meta({ description: "true: judge only, and store nothing" }),
      kind: z.enum(KINDS).optional().meta({ description: "What the file has, if its headings fit both" }),
      decimal: z.enum([",", "."]).optional().meta({ description: "The decimal sign, if no column tells it" }),
    }),
    body: z
      .custom<Uint8Array>((value) => value instanceof Uint8Array)
      .meta({ override: { type: "string", format: "binary" } }),
    response: Upload,
    errors: ["file_type", "unreadable_file", "unknown_columns", "ambiguous_decimals", "parked_limit"],
    failure: "ingest_failed",
  },
  async ({ body, query: { dry_run, kind, decimal }, admitted, call, fail }) => {
    const upload_id = randomUUID();
    const { client_id } = await admitted();
    return oneAtATime(client_id ?? "", upload_id, async () => {
      let read: ReadUpload;
      try {
        read = await readUpload(body, { kind, decimal });
      } catch (error) {
        if (!(error instanceof UploadFault)) throw error;
        return fail(error.code, error.fields);
      }
      const { table: _, ...told } = read;
      return call("deliver_upload", {
        ...told,
        upload_id,
        sha256: createHash("sha256").update(body).digest("hex"),
        decimal: decimal ?? null,
        file_name: null,
        dry_run: dry_run === "true",
      });
    });
  },
);

export const readStoredUpload = endpoint(
  {
    id: "readUpload",
    summary: "Read the results of an upload",
    description: "The results that the upload answered. They are kept seven years.",
    caller: CALLER,
    limit: "cpo_sessions",
    sql: ["get_upload"],
    params: { upload_id: "The upload" },
    response: Upload,
    errors: ["upload_not_found"],
    failure: "list_failed",
  },
  ({ param, call, fail }) =>
    call("get_upload", { upload_id: uuid().safeParse(param("upload_id")).data ?? fail("upload_not_found") }),
);
