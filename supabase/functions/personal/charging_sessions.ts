import { ChargingSession } from "#shared/endpoints/responses/charging_session.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { limit, offset, postgresTime, uuid } from "#shared/values/fields.ts";
import { pageFields } from "#shared/values/models.ts";

const BORDER_RULE = "must be a date, or a date and time with its offset";
/** An unencoded plus in a query string means a space. */
const UNENCODED_PLUS = `${BORDER_RULE}; write the + of an offset as %2B`;

/** A date, read as the Dutch midnight at its start, or a moment with its offset. */
const border = (description: string) =>
  postgresTime(
    z.union([z.iso.date(), z.iso.datetime({ offset: true })], {
      error: ({ input }) => (/T\S+ \d\d:\d\d$/.test(String(input)) ? UNENCODED_PLUS : BORDER_RULE),
    }),
  )
    .optional()
    .meta({ description, example: "2026-03-01" });

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
