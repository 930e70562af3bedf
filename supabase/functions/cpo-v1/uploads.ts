import { createHash, randomUUID } from "node:crypto";
import { FIELDS, KINDS } from "#shared/domain/charging_in/file/headings.ts";
import { choicesOf } from "#shared/domain/charging_in/file/layout.ts";
import { oneAtATime } from "#shared/domain/charging_in/file/one_at_a_time.ts";
import {
  MAX_UPLOAD,
  type ReadUpload,
  readUpload,
  STATUSES,
  UploadFault,
} from "#shared/domain/charging_in/file/read_upload.ts";
import { ORDERS } from "#shared/domain/sheet/times.ts";
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
      description:
        "As sessions:batch answers a month, or charging-sessions a session. summary: a sum below the rows, or the headings again, left out",
    }),
    reason: z
      .string()
      .optional()
      .meta({
        description:
          "Why it is invalid or parked. bad_ and the field: its cell cannot be read. too_many_cells: it has more cells " +
          "than the headings. other_headings: it is in another table below. two_digit_year. duplicate_in_file: another row has the same month or session. Of months: " +
          "no_account (no customer is named), account_not_found, rounded_ean (Excel rounded it), ambiguous_connection " +
          "(it means several connections), future_period. Of sessions: as charging-sessions",
      }),
    detail: z.string().optional().meta({ description: "The reason in a sentence, where it says what to do" }),
    ignored: z
      .array(z.string())
      .optional()
      .meta({ description: "Fields of the row that cannot be read and are not needed: they are left out" }),
    column: z.string().optional().meta({ description: "The file's own heading of the cell that cannot be read" }),
    period: z.string().optional().meta({ description: "The month", example: "2026-03" }),
    connection_id: z.guid().optional().meta({ description: "The connection of the month" }),
    session_id: z.string().optional().meta({ description: "The file's id of the session" }),
    charging_session_id: z.guid().optional().meta({ description: "Our id of the stored session" }),
    flags: flags()
      .optional()
      .meta({
        description:
          "Of a session: why it is implausible, as charging-sessions. Of a month: as sessions:batch; it is stored all " +
          "the same",
      }),
    counted: z.boolean().optional().meta({ description: "Whether the session is in its month's total now" }),
    not_counted: NotCounted.optional(),
  })
  .meta({ id: "UploadRow" });

const Sums = z
  .object({
    kwh: z.number().meta({ description: "The kWh of all rows that can be read" }),
    sessions: z.int().meta({ description: "Their sessions; of months the sum of session_count" }),
    first_day: z.string().nullable().meta({ description: "Their first day, in Amsterdam", example: "2026-03-10" }),
    last_day: z.string().nullable().meta({ description: "Their last day" }),
    first_date: z
      .string()
      .nullable()
      .meta({ description: "The day of the first row in words", example: "10 March 2026" }),
    months: z
      .array(
        z.object({
          period: z.string().meta({ description: "The month", example: "2026-03" }),
          kwh: z.number().meta({ description: "Its kWh" }),
          sessions: z.int().meta({ description: "Its sessions" }),
        }),
      )
      .meta({ description: "The same by month" }),
  })
  .meta({ id: "UploadSums" });

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
    sheet: z.string().nullable().meta({ description: "The sheet that was read; null for CSV" }),
    header_row: z.int().meta({ description: "The row of the headings, as the spreadsheet numbers it" }),
    read_as: z
      .object(
        Object.fromEntries(
          FIELDS.map((field) => [
            field,
            z
              .string()
              .optional()
              .meta({ description: `The heading behind ${field}` }),
          ]),
        ),
      )
      .meta({ description: "The heading behind each field; two headings are joined by +" }),
    sums: Sums.meta({ description: "What all rows that can be read add up to" }),
    ids_ignored: z
      .boolean()
      .meta({ description: "An id of the file stands for two charges, so its rows are known by EVSE and start" }),
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
    evidence_over_quota: z
      .literal(true)
      .optional()
      .meta({ description: "It was over what we keep in a day: later the results are an empty list" }),
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
      "headings stand in one of the first 20 rows and say whether it has months or sessions, in Dutch, English or German, " +
      "in any order. Of a workbook we read the first visible sheet with sessions, or else with months. Each row is judged alone, as " +
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
      dates: z
        .enum(ORDERS)
        .optional()
        .meta({ description: "Whether day or month comes first in dates such as 3/4/2026, if nothing else tells it" }),
      columns: z
        .string()
        .max(120)
        .optional()
        .meta({ description: "The column of kWh if several may be it: its heading, or its place from 1" }),
    }),
    body: z
      .custom<Uint8Array>((value) => value instanceof Uint8Array)
      .meta({ override: { type: "string", format: "binary" } }),
    response: Upload,
    errors: [
      "file_type",
      "unreadable_file",
      "unknown_columns",
      "ambiguous_columns",
      "ambiguous_units",
      "ambiguous_decimals",
      "ambiguous_dates",
      "unknown_zone",
      "parked_limit",
    ],
    failure: "ingest_failed",
  },
  async ({ body, query: { dry_run, ...said }, admitted, call, fail }) => {
    const upload_id = randomUUID();
    const { client_id } = await admitted();
    return oneAtATime(client_id ?? "", upload_id, async () => {
      let read: ReadUpload;
      try {
        read = await readUpload(body, said);
      } catch (error) {
        if (!(error instanceof UploadFault)) throw error;
        return fail(error.code, error.fields);
      }
      const { table: _, ...told } = read;
      return call("deliver_upload", {
        ...told,
        upload_id,
        sha256: createHash("sha256").update(body).digest("hex"),
        said: choicesOf(said),
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
