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
 * What happened since, page by page, to the end of the log. Pages without events come too, because their `next_cursor` moves on: a
 * cursor that stays behind for 90 days expires. Keep `next_cursor` once a page is worked through, in one transaction with what came of
 * it where you can, and go on from it the next time: then no event is missed, and one is seen twice at most where you could not keep it.
 * @throws {ApiError | ConnectionError} where a page could not be read; `cursor` says after which. Of the code `cursor_expired`,
 *   `body.oldest_cursor` says where what is left begins.
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
