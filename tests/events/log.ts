// What the tests of events read: a log from its beginning, page by page, each event as its type is declared.

import { expect } from "vitest";
import * as z from "zod";
import { EVENTS, type EventType } from "#shared/domain/events.ts";
import type { World } from "../harness/world.ts";

export type LogEvent = {
  id: string;
  type: EventType;
  created_at: string;
  sequence: number;
  account_id: string | null;
  // biome-ignore lint/suspicious/noExplicitAny: a test names the fields it reads
  data: any;
};

const LOGS = { client: "/v1/events", partner: "/partner/events" } as const;

/** Every event behind a cursor, each exactly as its type is declared, and the cursor behind the last. */
export async function readLog(
  world: World,
  log: keyof typeof LOGS,
  token: string,
  { after = "", limit = 200, type = "" }: { after?: string; limit?: number; type?: string } = {},
): Promise<{ events: LogEvent[]; cursor: string }> {
  const events: LogEvent[] = [];
  let cursor = after;
  for (;;) {
    const query = new URLSearchParams({
      limit: String(limit),
      ...(cursor && { after: cursor }),
      ...(type && { type }),
    });
    const { status, body } = await world.get(`${LOGS[log]}?${query}`, token);
    expect(status, JSON.stringify([body, world.log.at(-1)])).toBe(200);
    events.push(...body.events);
    cursor = body.next_cursor;
    if (!body.has_more) break;
  }
  for (const event of events) {
    const shape = EVENTS[event.type][log];
    expect(shape, `${event.type} is no event of a ${log}'s log`).not.toBeNull();
    const { error } = z.strictObject(shape ?? {}).safeParse(event.data);
    expect(error, `${event.type} ${JSON.stringify(event.data)}`).toBeUndefined();
  }
  return { events, cursor };
}

export const typesIn = (events: LogEvent[]): EventType[] => events.map(({ type }) => type);
