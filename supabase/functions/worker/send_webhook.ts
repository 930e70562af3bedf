// One webhook on its way: signed, to a public address, and not for longer than ten seconds. Loaded when there is one to send.

import { lookup } from "node:dns/promises";
import { Webhook } from "standardwebhooks";
import { isPublicAddress } from "#shared/domain/webhooks/addresses.ts";
import { Agent, request } from "#shared/domain/webhooks/undici.js";
import { allowsLoopback, refusedUrl } from "#shared/domain/webhooks/url.ts";
import type { Configuration } from "#shared/foundation/configuration.ts";

const CALL_MS = 10_000;
const READ_BYTES = 64 * 1024;
/** The longest wait that a receiver may ask for. */
const MOST_RETRY_AFTER = 24 * 3600;

type Post = { event_id: string; body: object };
/** What came of it: the status of the answer, or why there was none. */
export type Sent = { status: number | null; error: string | null; ms: number; retry_after: number | null };

/** A name leads to an address that is not public. */
class AddressRefused extends Error {
  readonly code = "address_not_allowed";
}

type Found = { address: string; family: number };
/** Looks a name up; a test gives other answers. */
export type LookUp = (hostname: string) => Promise<Found[]>;
const lookUp: LookUp = (hostname) => lookup(hostname, { all: true, verbatim: true });

/** @throws {AddressRefused} where one of the addresses is not public: which of them is used is not for us to say. */
async function publicAddresses(hostname: string, mayBeLoopback: boolean, find: LookUp): Promise<Found[]> {
  const found = await find(hostname);
  const allowed = ({ address }: Found) =>
    mayBeLoopback ? address === "127.0.0.1" || address === "::1" : isPublicAddress(address);
  if (found.length === 0 || !found.every(allowed)) throw new AddressRefused(`${hostname} leads to a private address`);
  return found;
}

/** A line to one receiver, whose connections go to the very addresses that were judged. */
export class Line {
  readonly #agent: Agent;
  readonly #url: string;
  readonly #config: Configuration;

  constructor(url: string, config: Configuration, find: LookUp = lookUp) {
    this.#url = url;
    this.#config = config;
    this.#agent = new Agent({
      connections: 1,
      pipelining: 1,
      connect: {
        timeout: CALL_MS,
        // the only look-up: we connect to the address it answers, and check the certificate for the name
        lookup: (hostname, options, done) => {
          const mayBeLoopback = allowsLoopback(new URL(url), config);
          publicAddresses(hostname, mayBeLoopback, find).then(
            (found) => {
              const [first] = found as [Found];
              if (options.all) done(null, found);
              else done(null, first.address, first.family);
            },
            (error) => done(error, "", 0),
          );
        },
      },
    });
  }

  /** Sends one event, signed with each of the secrets, and waits `patience_ms` at most. Whatever goes wrong is in what it answers. */
  async send({ event_id, body }: Post, secrets: string[], now: Date, patienceMs = CALL_MS): Promise<Sent> {
    const began = performance.now();
    const took = () => Math.round(performance.now() - began);
    const refused = refusedUrl(this.#url, this.#config);
    if (refused) return { status: null, error: "url_not_allowed", ms: 0, retry_after: null };
    const text = JSON.stringify(body);
    const signal = AbortSignal.timeout(patienceMs);
    let status: number | null = null;
    try {
      const { origin, pathname, search } = new URL(this.#url);
      const answer = await request.call(this.#agent, {
        method: "POST",
        origin,
        path: pathname + search,
        signal,
        headersTimeout: CALL_MS,
        bodyTimeout: CALL_MS,
        headers: {
          "content-type": "application/json",
          "user-agent": "ERE-Webhooks/1",
          "webhook-id": event_id,
          "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
          "webhook-signature": secrets.map((secret) => new Webhook(secret).sign(event_id, now, text)).join(" "),
        },
        body: text,
      });
      status = answer.statusCode;
      await readSome(answer.body);
      const error = status >= 300 && status < 400 ? "redirect" : null;
      return { status, error, ms: took(), retry_after: readRetryAfter(status, answer.headers["retry-after"], now) };
    } catch (error) {
      // who began to answer and did not end has not said that all went well
      const failed = status !== null && status >= 200 && status < 300 ? null : status;
      return { status: failed, error: nameOf(error), ms: took(), retry_after: null };
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}

/** What is beyond the first 64 KiB of an answer is left where it is. */
async function readSome(body: AsyncIterable<Uint8Array> & { destroy(): unknown }): Promise<void> {
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes >= READ_BYTES) break;
  }
}

/** Seconds to wait, by `Retry-After` of 429 and 503 (RFC 9110 section 10.2.3). */
function readRetryAfter(status: number, header: string | string[] | undefined, now: Date): number | null {
  if ((status !== 429 && status !== 503) || typeof header !== "string") return null;
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - now.getTime()) / 1000;
  return Number.isFinite(seconds) && seconds >= 0 ? Math.min(Math.ceil(seconds), MOST_RETRY_AFTER) : null;
}

/** The reason in a word: what the receiver's name or machine says is not repeated. */
function nameOf(error: unknown): string {
  const { name, code, cause } = error as { name?: string; code?: string; cause?: { code?: string } };
  const known = code ?? cause?.code ?? "";
  if (name === "TimeoutError" || name === "AbortError" || /TIMEOUT|ETIMEDOUT/.test(known)) return "timeout";
  if (known === "address_not_allowed") return known;
  if (known === "ENOTFOUND" || known === "EAI_AGAIN") return "name_not_found";
  if (known === "ECONNREFUSED") return "connection_refused";
  if (/CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO/.test(known)) return "tls";
  return "connection_failed";
}
