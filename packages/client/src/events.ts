import type { ApiClient } from "./api_client.ts";
import { at, orThrow } from "./error.ts";
import type { components } from "./schema.ts";

type Pages = {
  "/v1/events": components["schemas"]["EventPage"];
  "/partner/events": components["schemas"]["PartnerEventPage"];
};
/** Whose log: a CPO client's or a partner's. */
export type EventLog = keyof Pages;
/** A page of a log; an event of it says by `type` what its `data` is. */
export type EventPage<Log extends EventLog = EventLog> = Pages[Log];
export type Event<Log extends EventLog = EventLog> = EventPage<Log>["events"][number];

export type EventsFrom<Log extends EventLog = EventLog> = {
  /** `next_cursor` of the last page that was worked through; where absent, the oldest event there is. */
  after?: string | null;
  /** Only these types. */
  types?: readonly string[];
  /** Events a page. */
  limit?: number;
  /** Whose log: that of a CPO client, or a partner's. */
  log?: Log;
  signal?: AbortSignal;
};

/**
 * What happened since, page by page, to the end of the log. Pages without events come too, because their `next_cursor`
 * moves on: a cursor expires after 90 days. When you have handled a page, store its `next_cursor`, if you can in the
 * same transaction. Continue from it the next time: then you miss no event. You see an event twice only if the cursor
 * was not stored.
 * @throws {ApiError | ConnectionError} if a page could not be read; `cursor` says after which. With the code
 * `cursor_expired`, `body.oldest_cursor` is where the remaining events begin.
 */
export async function* events<Log extends EventLog = "/v1/events">(
  client: ApiClient,
  { after, types, limit, log = "/v1/events" as Log, signal }: EventsFrom<Log> = {},
): AsyncGenerator<EventPage<Log>, void, undefined> {
  let cursor = after ?? null;
  for (;;) {
    const query = {
      ...(cursor ? { after: cursor } : {}),
      ...(types ? { type: types.join(",") } : {}),
      ...(limit === undefined ? {} : { limit }),
    };
    const init = { params: { query }, ...(signal ? { signal } : {}) };
    const page = await at(
      { cursor },
      client.GET(log as EventLog, init).then((answer) => orThrow<EventPage>(answer)),
    );
    yield page as EventPage<Log>;
    if (!page.has_more) return;
    cursor = page.next_cursor;
  }
}
