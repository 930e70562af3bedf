// What happened since the last time, from the event log. The file stands for your database: the work and the cursor are stored
// together, so no event is missed, and one is handled twice at most.

import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { ApiError, events, orThrow } from "@ere-api/client";
import { client } from "./client.js";

/** @typedef {{ cursor: string | null, statuses: Record<string, string> }} State */

const FILE = process.env.STATE_FILE ?? "state.json";

/** @returns {State | null} null the first time */
function load() {
  return existsSync(FILE) ? JSON.parse(readFileSync(FILE, "utf8")) : null;
}

/** All of it or nothing, also if the machine stops meanwhile. @param {State} state */
function save(state) {
  writeFileSync(`${FILE}.new`, JSON.stringify(state, null, 2), { flush: true });
  renameSync(`${FILE}.new`, FILE);
}

/** @param {import("@ere-api/client").Event<"/v1/events">} event @param {State} state */
async function handle(event, { statuses }) {
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

/** The end of the log, where the first run begins: what happened before it is in the accounts. */
async function begin() {
  let cursor = null;
  for await (const page of events(client, { limit: 1000 })) cursor = page.next_cursor;
  save({ cursor, statuses: {} });
}

/** Reads the log to its end. What could not be handled now is read again the next time. */
export async function catchUp() {
  const state = load();
  if (!state) return begin();
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

/** A request that is refused for good must not hold up the events behind it. @param {import("@ere-api/client").Event} event @param {unknown} error */
function skipRefused(event, error) {
  if (!(error instanceof ApiError) || error.status === 429 || error.status >= 500) throw error;
  console.error(event.type, event.id, error.message);
}
