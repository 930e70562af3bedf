import { EVENT_QUERY, eventLog, LOG_DESCRIPTION } from "#shared/domain/events.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { uuid } from "#shared/values/fields.ts";

const READER = { kind: "cpo", scope: "cpo:accounts:read" } as const;
const Log = eventLog("client");

export const listEvents = endpoint(
  {
    id: "listEvents",
    summary: "Read what happened to this client's accounts, oldest first",
    description:
      `${LOG_DESCRIPTION} Your own requests are not events, because you have their responses; what follows from ` +
      "them is.",
    caller: READER,
    limit: "cpo_read",
    sql: ["show_events"],
    query: z.object({
      ...EVENT_QUERY,
      account_id: uuid().optional().meta({ description: "Return only events of this account" }),
    }),
    response: Log.Page,
    errors: ["invalid_request", "invalid_cursor", "cursor_expired"],
    failure: "list_failed",
  },
  ({ query, call }) => call("show_events", query),
);

export const getEvent = endpoint(
  {
    id: "getEvent",
    summary: "Read one event",
    params: { event_id: "The event's id" },
    caller: READER,
    limit: "cpo_read",
    sql: ["show_event"],
    response: Log.Event,
    errors: ["event_not_found"],
    failure: "list_failed",
  },
  ({ param, call, fail }) =>
    call("show_event", { event_id: uuid().safeParse(param("event_id")).data ?? fail("event_not_found") }),
);
