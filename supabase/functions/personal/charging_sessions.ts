import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { instant, limit, offset, uuid } from "#shared/values/fields.ts";
import { pageFields } from "#shared/values/models.ts";

const BORDER_RULE = "must be a date, or a date and time with its offset";
/** In a query string a plus is a space, unless it is encoded. */
const UNENCODED_PLUS = `${BORDER_RULE}; write the + of an offset as %2B`;

/** A date, which is the Dutch midnight it begins with, or a moment with its offset. */
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
    id: z.guid().meta({ description: "Its id, for good" }),
    charger_id: z.guid().meta({ description: "The charger" }),
    charger_nickname: z.string().meta({ description: "What you call the charger" }),
    started_at: instant().meta({ description: "When it began" }),
    ended_at: instant().nullable().meta({ description: "When it ended; null while it goes on" }),
    kwh: z.number().meta({ description: "kWh" }),
    status: z
      .enum(["active", "charging", "completed"])
      .meta({ description: "active: connected without charging; charging; completed" }),
    ere_credits: z.number().nullable().meta({
      description: "Null where the session earns none: no MID meter, no mandate, not completed, flagged",
    }),
    flags: z.array(z.string()).meta({
      description:
        "Why it is not counted: negative, ends_before_start, wrong_clock, too_long (31 days), beyond_power, overlapping (an " +
        "earlier received one); after_lock: it came or changed after its month was booked, and counts as energy only",
    }),
  })
  .meta({ id: "Session" });

export const listChargingSessions = endpoint(
  {
    id: "listSessions",
    summary: "List your charging sessions, newest first",
    description:
      "`from` (inclusive) and `to` (exclusive) are compared with `started_at`; a date alone means midnight in the Netherlands. " +
      "A charger that is not yours has no sessions.",
    caller: { kind: "user", scope: "sessions:read" },
    limit: "user",
    sql: ["list_own_charging_sessions"],
    query: z.object({
      limit: limit(20, 100),
      offset: offset(),
      charger_id: uuid().optional().meta({ description: "Only sessions of this charger" }),
      from: border("Sessions that started at or after this"),
      to: border("Sessions that started before this"),
    }),
    response: z
      .object({ sessions: z.array(ChargingSession).meta({ description: "This page of sessions" }), ...pageFields })
      .meta({ id: "SessionPage" }),
    errors: ["invalid_request"],
    failure: "list_failed",
  },
  ({ query, call }) => call("list_own_charging_sessions", query),
);
