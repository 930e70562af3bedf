// One webhook on its way, signed. Loaded when there is one to send.

import { Webhook } from "standardwebhooks";
import type { Line } from "#shared/domain/outbound/line.ts";

export { Line } from "#shared/domain/outbound/line.ts";

const READ_BYTES = 64 * 1024;
/** The longest wait that a receiver may ask for. */
const MOST_RETRY_AFTER = 24 * 3600;

type Post = { event_id: string; body: object };
/** What came of it: the status of the answer, or why there was none. */
export type Sent = { status: number | null; error: string | null; ms: number; retry_after: number | null };

/** Sends one event, signed with each of the secrets. Whatever goes wrong is in the answer. */
export async function sendWebhook(line: Line, { event_id, body }: Post, secrets: string[], now: Date): Promise<Sent> {
  const text = JSON.stringify(body);
  const { status, error, ms, headers } = await line.send({
    method: "POST",
    headers: {
      "content-type": "application/json",
      "user-agent": "ERE-Webhooks/1",
      "webhook-id": event_id,
      "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
      "webhook-signature": secrets.map((secret) => new Webhook(secret).sign(event_id, now, text)).join(" "),
    },
    body: text,
    mostBytes: READ_BYTES,
  });
  return { status, error, ms, retry_after: readRetryAfter(status, headers["retry-after"], now) };
}

/** Seconds to wait, by `Retry-After` of 429 and 503 (RFC 9110 section 10.2.3). */
function readRetryAfter(status: number | null, header: string | string[] | undefined, now: Date): number | null {
  if ((status !== 429 && status !== 503) || typeof header !== "string") return null;
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - now.getTime()) / 1000;
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(Math.ceil(seconds), MOST_RETRY_AFTER) : null;
}
