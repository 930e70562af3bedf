import type { ApiClient } from "../api_client.ts";
import { type EventLog, events } from "../events.ts";

/** A rare type of both logs: the service skips ten thousand events a page in search of it. */
const RARE = ["webhook_endpoint.disabled"];

/** The cursor after the newest event of a log. */
export async function endOf(client: ApiClient, log: EventLog, signal?: AbortSignal): Promise<string | null> {
  let cursor: string | null = null;
  const places = events(client, { log, types: RARE, limit: 200, ...(signal ? { signal } : {}) });
  for await (const page of places) cursor = page.next_cursor;
  return cursor;
}
