import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { instant, limit, offset, uuid } from "#shared/values/fields.ts";
import { pageFields } from "#shared/values/models.ts";

const BORDER_RULE = "must be a date, or a date and time with its offset";
/** An unencoded plus in a query string means a space. */
const UNENCODED_PLUS = `${BORDER_RULE}; write the + of an offset as %2B`;

/** A date, read as the Dutch midnight at its start, or a moment with its offset. */
const border = (description: string) =>
  z
    .union([z.iso.date(), z.iso.datetime({ offset: true })], {
      error: ({ input }) => (/T\S+ \d\d:\d\d$/.test(String(input)) ? UNENCODED_PLUS : BORDER_RULE),
    })
    .refine((value) => !value.startsWith("0000"), "there is no year 0")
    .optional()
    .meta({ description, example: "2026-03-01" });

const ChargingSession = z
  .object({
    id: z.guid().meta({ description: "Its id; it never changes" }),
    charger_id: z.guid().meta({ description: "The charger" }),
    charger_nickname: z.string().meta({ description: "The name you gave the charger" }),
    started_at: instant().meta({ description: "When it began" }),
    ended_at: instant().nullable().meta({ description: "When it ended; null while it is running" }),
    kwh: z.number().meta({ description: "kWh" }),
    status: z
      .enum(["active", "charging", "completed"])
      .meta({ description: "active: connected without charging; charging; completed" }),
    ere_credits: z.number().nullable().meta({
      description: "Null if the session earns none: no MID meter, no mandate, not completed, or flagged",
    }),
    flags: z.array(z.string()).meta({
      description:
        "Why the session does not count: negative, ends_before_start, wrong_clock, too_long (31 days), " +
        "beyond_power, no_end, meter_disagrees, abroad, duplicate or overlapping (another session, received earlier). after_lock: it came or changed after its " +
        "month was booked, and counts as energy only",
    }),
  })
  .meta({ id: "Session" });

export const listChargingSessions = endpoint(
  {
    id: "listSessions",
    summary: "List your charging sessions, newest first",
    description:
      "`from` (inclusive) and `to` (exclusive) are compared with `started_at`; a date alone means midnight in the " +
      "Netherlands. If the charger is not yours, the list is empty.",
    caller: { kind: "user", scope: "sessions:read" },
    limit: "user",
    sql: ["list_own_charging_sessions"],
    query: z.object({
      limit: limit(20, 100),
      offset: offset(),
      charger_id: uuid().optional().meta({ description: "Return only sessions of this charger" }),
      from: border("Return only sessions that started at or after this"),
      to: border("Return only sessions that started before this"),
    }),
    response: z
      .object({ sessions: z.array(ChargingSession).meta({ description: "This page of sessions" }), ...pageFields })
      .meta({ id: "SessionPage" }),
    errors: ["invalid_request"],
    failure: "list_failed",
  },
  ({ query, call }) => call("list_own_charging_sessions", query),
);
