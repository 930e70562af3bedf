import { claimKey } from "#shared/domain/claim/links.ts";
import type { LookUp } from "#shared/domain/outbound/line.ts";
import { openWebhookSecrets } from "#shared/domain/webhooks/secret.ts";
import type { Call } from "#shared/foundation/answers.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { describeCause } from "#shared/foundation/log.ts";
import type { LeasedWebhook, Post } from "./answers.ts";
import type { Sent } from "./send_webhook.ts";

/** Receivers that are sent to at the same time: one that hangs takes one of these places for ten seconds. */
const AT_ONCE = 20;
/** How often it is looked for others while some are being sent to. */
const LOOK_MS = 250;
/** What one receiver may take of a run before the others' turn comes again. Its lease lasts a minute. */
const TURN_MS = 10_000;
/** What one call may take, and time to settle it. */
const RESERVE_MS = 11_000;

type Result = Omit<Post, "body"> & Sent & { at: string };
type WebhookResult = { delivered: number; failed: number };

/**
 * Sends waiting events to their endpoints, in the order of each log, until none waits. A run leases an endpoint before
 * it sends, and settles it right after. If a worker dies in between, the next one sends the same events again: at least
 * once, with the same id.
 */
export function deliverWebhooks(...to: Parameters<typeof startDelivering>): Promise<WebhookResult> {
  return startDelivering(...to).sent;
}

/** The same, and reports when it looks for no more endpoints: then the next run need not wait for a slow receiver. */
export function startDelivering(
  environment: Environment,
  call: Call<"lease_webhooks" | "settle_webhook">,
  deadline: number,
  request_id: string,
  lookUp?: LookUp,
): { leased: Promise<void>; sent: Promise<WebhookResult> } {
  const { config, log } = environment;
  const result: WebhookResult = { delivered: 0, failed: 0 };
  const deliver = async (endpoint: LeasedWebhook) => {
    const { partner_id, webhook_id, lease_id } = endpoint;
    try {
      const results = await sendTo(endpoint, environment, deadline, request_id, lookUp);
      for (const { status } of results) result[isSuccess(status) ? "delivered" : "failed"] += 1;
      await call("settle_webhook", { partner_id, webhook_id, lease_id, results, operator: config.SUPPORT_EMAIL });
    } catch (error) {
      // its lease ends by itself
      log({ level: "error", event: "webhook_failed", request_id, webhook_id, ...describeCause(error) });
    }
  };
  const running = new Set<Promise<void>>();
  const lease = async () => {
    while (Date.now() < deadline - RESERVE_MS) {
      const free = AT_ONCE - running.size;
      // one that ends while it is asked may have more to be sent
      const idle = running.size === 0;
      const due = free > 0 ? JSON.parse(await call("lease_webhooks", { size: free, key: claimKey(environment) })) : [];
      for (const endpoint of due) {
        const sending = deliver(endpoint).finally(() => running.delete(sending));
        running.add(sending);
      }
      if (idle && due.length === 0) break;
      if (due.length === 0) await Promise.race([...running, pause(LOOK_MS)]);
    }
  };
  const leased = lease();
  const sent = leased.finally(() => Promise.all(running)).then(() => result);
  return { leased, sent };
}

const isSuccess = (status: number | null) => status !== null && status >= 200 && status < 300;
const pause = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Sends to one endpoint in order. After a failure the rest waits: it would likely fail too, and keep others waiting. */
async function sendTo(
  { webhook_id, url, secrets, posts }: LeasedWebhook,
  environment: Environment,
  deadline: number,
  request_id: string,
  lookUp?: LookUp,
): Promise<Result[]> {
  const { Line, sendWebhook } = await import("./send_webhook.ts");
  let clear: string[];
  try {
    clear = openWebhookSecrets(environment, webhook_id, secrets);
  } catch (error) {
    environment.log({ level: "error", event: "webhook_unsigned", request_id, webhook_id, ...describeCause(error) });
    const at = environment.now().toISOString();
    const unsigned = { status: null, error: "secret_unreadable", ms: 0, retry_after: null, at };
    return posts.slice(0, 1).map(({ body: _, ...post }) => ({ ...post, ...unsigned }));
  }
  const line = new Line(url, environment.config, lookUp);
  const until = Math.min(Date.now() + TURN_MS, deadline - RESERVE_MS);
  const results: Result[] = [];
  try {
    for (const { body, ...post } of posts) {
      const sent = await sendWebhook(line, { event_id: post.event_id, body }, clear, environment.now());
      results.push({ ...post, ...sent, at: environment.now().toISOString() });
      if (!isSuccess(sent.status) || Date.now() > until) break;
    }
  } finally {
    await line.close();
  }
  return results;
}
