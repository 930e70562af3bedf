import { randomBytes } from "node:crypto";
import { ApiError, ConnectionError } from "../error.ts";
import { type Event, type EventLog, events } from "../events.ts";
import { sleep } from "../wait.ts";
import { signWebhook } from "../webhook.ts";
import { type Access, logOf, readerOf, UsageError } from "./account.ts";
import { endOf } from "./log.ts";

/** Milliseconds between two looks at the log. */
const POLL_MS = 2000;
/** How long the receiver may take, as in production. */
const CALL_MS = 10_000;
/** Milliseconds before the second attempt; each later one waits twice as long, up to the longest. */
const [FIRST_RETRY_MS, LONGEST_RETRY_MS] = [1000, 30_000];
/** Small pages: after a stop in the middle of one, its first events come a second time. */
const PAGE = 20;

export type Listening = Access & { "forward-to"?: string; after?: string; types?: string };

/** What happened, for `--json` a line each. */
export type Line =
  | { kind: "listening"; log: EventLog; forward_to: string; secret: string; after: string | null }
  | { kind: "delivered"; id: string; type: string; sequence: number; status: number; ms: number; attempt: number }
  | {
      kind: "failed";
      id: string;
      type: string;
      sequence: number;
      status: number | null;
      error: string | null;
      ms: number;
      attempt: number;
      retry_in_ms: number;
    }
  | { kind: "waiting"; error: string; retry_in_ms: number }
  | { kind: "cursor_expired"; oldest_cursor: string }
  | { kind: "stopped"; after: string | null };

const retryAfter = (attempt: number) => Math.min(FIRST_RETRY_MS * 2 ** (attempt - 1), LONGEST_RETRY_MS);

function receiverOf(url: string | undefined): string {
  if (!url) throw new UsageError("--forward-to is missing: give the URL of your receiver");
  const { protocol } = URL.canParse(url) ? new URL(url) : { protocol: "" };
  if (!["http:", "https:"].includes(protocol)) throw new UsageError(`--forward-to is no http or https URL: ${url}`);
  return url;
}

/** One attempt. A redirect is a failure, as it is for the service. */
async function post(url: string, { id, type, created_at, sequence, data }: Event, secret: string, signal: AbortSignal) {
  const body = JSON.stringify({ type, timestamp: created_at, sequence, data });
  const headers = { "content-type": "application/json", ...(await signWebhook(id, body, secret)) };
  const begun = performance.now();
  const limits = AbortSignal.any([signal, AbortSignal.timeout(CALL_MS)]);
  const took = () => Math.round(performance.now() - begun);
  try {
    const response = await fetch(url, { method: "POST", headers, body, redirect: "manual", signal: limits });
    await response.body?.cancel();
    return { status: response.status, error: null, ms: took() };
  } catch (error) {
    signal.throwIfAborted();
    const { message, name, cause } = error as Error & { cause?: { code?: string } };
    return { status: null, error: name === "TimeoutError" ? "timeout" : (cause?.code ?? message), ms: took() };
  }
}

/** Whether waiting may help: what is wrong with the credential or the command stays wrong. */
const passes = (error: unknown) =>
  error instanceof ConnectionError || (error instanceof ApiError && (error.status === 429 || error.status >= 500));

/**
 * Posts the events of a log to a receiver, in order, until the signal ends it. It skips none: an event that fails is sent until the
 * receiver takes it.
 * @throws {UsageError | ApiError} if the command or the credential is wrong.
 */
export async function listen(options: Listening, tell: (line: Line) => void, signal: AbortSignal): Promise<void> {
  const url = receiverOf(options["forward-to"]);
  const log = logOf(options);
  const secret = process.env.WEBHOOK_SECRET || `whsec_${randomBytes(32).toString("base64")}`;
  await signWebhook("", "", secret);
  const types = options.types?.split(",");
  // it repeats by itself, and says so
  const client = await readerOf(log, options, { retries: 0 });

  async function deliver(event: Event): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      const { status, error, ms } = await post(url, event, secret, signal);
      const about = { id: event.id, type: event.type, sequence: event.sequence, ms, attempt };
      if (status !== null && status >= 200 && status < 300) return tell({ kind: "delivered", ...about, status });
      const retry_in_ms = retryAfter(attempt);
      tell({ kind: "failed", ...about, status, error, retry_in_ms });
      await sleep(retry_in_ms, signal);
    }
  }

  let cursor = options.after ?? null;
  let begun = false;
  try {
    for (let failures = 0; ; ) {
      try {
        cursor ??= await endOf(client, log, signal);
        if (!begun) tell({ kind: "listening", log, forward_to: url, secret, after: cursor });
        begun = true;
        const news = { log, after: cursor, limit: PAGE, signal, ...(types ? { types } : {}) };
        for await (const page of events(client, news)) {
          for (const event of page.events) await deliver(event);
          cursor = page.next_cursor;
        }
        failures = 0;
        await sleep(POLL_MS, signal);
      } catch (error) {
        signal.throwIfAborted();
        const oldest = error instanceof ApiError && error.code === "cursor_expired" && error.body.oldest_cursor;
        if (typeof oldest === "string") {
          tell({ kind: "cursor_expired", oldest_cursor: oldest });
          cursor = oldest;
          continue;
        }
        if (!passes(error)) throw error;
        failures += 1;
        const retry_in_ms = retryAfter(failures);
        tell({ kind: "waiting", error: (error as Error).message, retry_in_ms });
        await sleep(retry_in_ms, signal);
      }
    }
  } catch (error) {
    if (!signal.aborted) throw error;
    tell({ kind: "stopped", after: cursor });
  }
}
