import { claimKey } from "#shared/domain/claim/links.ts";
import { EVENT_QUERY, eventLog, LOG_DESCRIPTION } from "#shared/domain/events.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { uuid } from "#shared/values/fields.ts";

const READER = { kind: "partner", scope: "partners:read", key: true } as const;
const Log = eventLog("partner");

export const listPartnerEvents = endpoint(
  {
    id: "listPartnerEvents",
    summary: "Read what happened to drafts, customers and payouts, oldest first",
    description: `${LOG_DESCRIPTION} About a customer it says no more than GET /partner/customers does to the same caller.`,
    caller: READER,
    limit: "partner_read",
    sql: ["show_events"],
    query: z.object(EVENT_QUERY),
    response: Log.Page,
    errors: ["invalid_request", "invalid_cursor", "cursor_expired"],
    failure: "partner_read_failed",
  },
  ({ query, call, environment }) => call("show_events", { ...query, key: claimKey(environment) }),
);

export const getPartnerEvent = endpoint(
  {
    id: "getPartnerEvent",
    summary: "Read one event",
    params: { event_id: "The event's id" },
    caller: READER,
    limit: "partner_read",
    sql: ["show_event"],
    response: Log.Event,
    errors: ["event_not_found"],
    failure: "partner_read_failed",
  },
  ({ param, call, fail, environment }) =>
    call("show_event", {
      event_id: uuid().safeParse(param("event_id")).data ?? fail("event_not_found"),
      key: claimKey(environment),
    }),
);
