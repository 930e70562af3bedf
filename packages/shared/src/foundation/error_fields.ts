import { z } from "#shared/foundation/zod.ts";

/**
 * What the body of an error may carry beside `error`, `detail` and `request_id`. Each row of the error table names its own of these;
 * the `Error` schema of openapi.json lists them all.
 */
export const ERROR_FIELDS = {
  issues: z
    .array(
      z.object({
        path: z
          .string()
          .meta({ description: "The field, as a path from the top of the body", example: "person.full_name" }),
        message: z.string().meta({ description: "Its rule" }),
      }),
    )
    .meta({ description: "Each broken field rule" }),
  required_scope: z.string().meta({ description: "The scope that the credential lacks", example: "cpo:accounts:read" }),
  retry_after_seconds: z.int().meta({ description: "Seconds to wait; the same as Retry-After", example: 12 }),
  message: z.string().meta({ description: "The same as detail, for the person at the screen" }),
  suggestions: z
    .array(z.unknown().meta({ override: { $ref: "#/components/schemas/CatalogCharger" } }))
    .meta({ description: "The brand's models with a MID meter" }),
  status: z.string().meta({ description: "Status of the draft" }),
  reason: z
    .string()
    .meta({ description: "Why a draft cannot be claimed; upload_running: another file of the client is being stored" }),
  draft_status: z.string().meta({ description: "For the sandbox helpers: status of the draft" }),
  step: z.string().meta({ description: "For the sandbox helpers: the step that failed; earlier steps stay done" }),
  code: z.string().meta({ description: "When a draft is withdrawn: the same as error" }),
  unknown: z.array(z.string()).meta({ description: "What you asked for and does not exist" }),
  oldest_cursor: z.string().meta({ description: "The cursor to read on from: the start of the kept events" }),
  session_id: z.string().meta({ description: "The id that two chargers have" }),
  headers: z.array(z.string()).meta({ description: "The headings of the file, at most forty" }),
  column: z.string().meta({ description: "The heading of the column" }),
  sheet_row: z.int().meta({
    description: "The first such row, as the spreadsheet numbers it; of unknown_columns the row that comes nearest",
  }),
  value: z.string().meta({ description: "What the cell says", example: "1.234" }),
  columns: z.array(z.string()).meta({ description: "The headings of the columns that differ" }),
  units: z
    .array(z.string())
    .meta({ description: "The unit of the heading, and that of its cells", example: ["kWh", "Wh"] }),
  dmy: z.string().meta({ description: "The date read day first, if it can be", example: "3 April 2026" }),
  mdy: z.string().meta({ description: "The date read month first, if it can be", example: "4 March 2026" }),
  kind: z.string().meta({ description: "Which name it is: external_ref, evse_uid, evse_id or meter_id" }),
  started_at: z
    .string()
    .meta({ description: "When the last session by this name began", example: "2026-03-10T18:00:00Z" }),
  ocpp_identity: z.string().meta({ description: "The ocpp_identity that is taken" }),
  settled: z.array(z.string()).meta({ description: "Settled before" }),
  left_out: z.unknown().meta({ override: { $ref: "#/components/schemas/LeftOutMonths" } }),
  registration_status: z.unknown().meta({ override: { $ref: "#/components/schemas/RegistrationStatus" } }),
  closed_gates: z
    .array(z.string())
    .nullable()
    .meta({ description: "The gates of the checklist that are closed; null without a connection" }),
};

export type ErrorField = keyof typeof ERROR_FIELDS;

/** Values for some of the fields, by name; `detail` replaces the text that the error table has. */
export type ErrorFields<Name extends ErrorField = ErrorField> = Readonly<
  { [Field in Name]?: z.input<(typeof ERROR_FIELDS)[Field]> } & { detail?: string }
>;
