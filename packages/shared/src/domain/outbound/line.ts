// A request of ours to somebody else's server: https to a public address that we checked, no redirect, a time limit and a size limit.
// Loaded when there is something to send.

import { lookup } from "node:dns/promises";
import type { IncomingHttpHeaders } from "node:http";
import { isPublicAddress } from "./addresses.ts";
import { Agent, request } from "./undici.js";
import { allowsLoopback, type Host, refusedUrl } from "./url.ts";

const CALL_MS = 10_000;

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

type Outgoing = {
  method: "GET" | "POST";
  headers: Record<string, string>;
  body?: string;
  /** We read no more bytes than these of an answer. */
  mostBytes: number;
  /** Milliseconds for the whole call: 10,000 at most. */
  patienceMs?: number;
};
/** `status` is null if no answer came, or none that ended well. `error` says in a word why the answer is no success. */
type Answered = {
  status: number | null;
  error: string | null;
  /** Milliseconds that the call took. */
  ms: number;
  headers: IncomingHttpHeaders;
  /** What came of the body, in UTF-8. */
  text: string;
};

/** A line to one URL, whose connections go to the very addresses that were judged. */
export class Line {
  readonly #agent: Agent;
  readonly #url: string;
  readonly #config: Host;

  constructor(url: string, config: Host, find: LookUp = lookUp) {
    this.#url = url;
    this.#config = config;
    this.#agent = new Agent({
      connections: 1,
      pipelining: 1,
      connect: {
        timeout: CALL_MS,
        // the one look-up there is: what it answers is connected to, and the name stays that of the certificate
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

  /** Sends one request. Whatever goes wrong is in the answer. */
  async send({ method, headers, body, mostBytes, patienceMs = CALL_MS }: Outgoing): Promise<Answered> {
    const began = performance.now();
    const took = () => Math.round(performance.now() - began);
    const nothing = { status: null, headers: {}, text: "" };
    if (refusedUrl(this.#url, this.#config)) return { ...nothing, error: "url_not_allowed", ms: 0 };
    let status: number | null = null;
    try {
      const { origin, pathname, search } = new URL(this.#url);
      const answer = await request.call(this.#agent, {
        method,
        origin,
        path: pathname + search,
        signal: AbortSignal.timeout(patienceMs),
        headersTimeout: CALL_MS,
        bodyTimeout: CALL_MS,
        headers,
        ...(body === undefined ? {} : { body }),
      });
      status = answer.statusCode;
      const text = await readSome(answer.body, mostBytes);
      return {
        status,
        error: status >= 300 && status < 400 ? "redirect" : null,
        ms: took(),
        headers: answer.headers,
        text,
      };
    } catch (error) {
      // who began to answer and did not end has not said that all went well
      const failed = status !== null && status >= 200 && status < 300 ? null : status;
      return { ...nothing, status: failed, error: nameOf(error), ms: took() };
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}

/** What is beyond the limit is left where it is. */
async function readSome(body: AsyncIterable<Uint8Array> & { destroy(): unknown }, most: number): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    text += decoder.decode(chunk, { stream: true });
    if (bytes >= most) break;
  }
  return text;
}

/** The reason in a word: what the other side's name or machine says is not repeated. */
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
