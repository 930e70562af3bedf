// What happened since the last time, from the event log. The file stands for your database: the work and the cursor are stored
// together, so no event is missed, and one is handled twice at most.

import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { ApiError, type Event, events, orThrow } from "@ere-api/client";
import { client } from "./client.ts";

type State = { cursor: string | null; statuses: Record<string, string> };

const FILE = process.env.STATE_FILE ?? "state.json";

function load(): State {
  try {
    return JSON.parse(readFileSync(FILE, "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return { cursor: null, statuses: {} };
  }
}

/** All of it or nothing, also if the machine stops meanwhile. */
function save(state: State): void {
  writeFileSync(`${FILE}.new`, JSON.stringify(state, null, 2), { flush: true });
  renameSync(`${FILE}.new`, FILE);
}

async function handle(event: Event<"/v1/events">, { statuses }: State): Promise<void> {
  switch (event.type) {
    case "account.created":
      // the customer gets a mail with the link to the mandate
      orThrow(
        await client.POST("/v1/mandate-links", { body: { account_id: event.data.account_id, send_email: true } }),
      );
      break;
    case "mandate.signed":
    case "mandate.declined":
    case "mandate.revoked":
      statuses[String(event.data.cpo_external_ref)] = `mandate ${event.data.mandate_status}`;
      break;
    case "registration.approved":
    case "registration.rejected":
      statuses[String(event.data.cpo_external_ref)] = `registration ${event.data.registration_status}`;
      break;
  }
}

/** Reads the log to its end. What could not be handled now is read again the next time. */
export async function catchUp(): Promise<void> {
  const state = load();
  try {
    for await (const page of events(client, { after: state.cursor })) {
      for (const event of page.events) await handle(event, state).catch((error) => skipRefused(event, error));
      state.cursor = page.next_cursor;
      save(state);
    }
  } catch (error) {
    if (!(error instanceof ApiError && error.code === "cursor_expired")) throw error;
    // after 90 days without a look: read what you may have missed from the accounts, and continue with what is kept
    console.error(error.message);
    save({ ...state, cursor: error.body.oldest_cursor ?? null });
  }
}

/** A request that is refused for good must not hold up the events behind it. */
function skipRefused(event: Event, error: unknown): void {
  if (!(error instanceof ApiError) || error.status === 429 || error.status >= 500) throw error;
  console.error(event.type, event.id, error.message);
}
