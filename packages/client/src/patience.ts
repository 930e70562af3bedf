import { ConnectionError } from "./error.ts";
import { isIdempotent } from "./idempotent.ts";
import { Lane, limitStateOf } from "./lane.ts";
import { withoutSlash } from "./url.ts";
import { after, orAborted, sleep } from "./wait.ts";

/** How requests are sent, and how long for. */
export type SendOptions = {
  /** Sends the requests; the runtime's own unless told. */
  fetch?: typeof globalThis.fetch;
  /** How many milliseconds a call waits in all, for its turn and between attempts: 60,000 unless told. 0 waits for nothing. */
  maxWaitMs?: number;
  /** How often a call that is safe to repeat is sent again after a lost connection, 408, 500, 502, 503 or 504: 4 unless told. */
  retries?: number;
  /** How many milliseconds one attempt may take, to the last byte of its answer: 60,000 unless told. */
  timeoutMs?: number;
};

/** Whom requests are sent as. */
export type Credential = {
  token: (signal: AbortSignal) => Promise<string>;
  /** Whether the client can get a new token after one was refused. */
  renew: (refused: string) => boolean;
};

export type Send = (request: Request, credential: Credential | null) => Promise<Response>;

/**
 * The largest body that any route takes, in bytes. The service closes the connection of a larger one before it has read
 * it, and its refusal may be lost.
 */
const LARGEST = 4 * 1024 * 1024;
const tooLarge = () =>
  Response.json(
    { error: "payload_too_large", detail: "The body is larger than any route accepts, and was not sent. Send less." },
    { status: 413 },
  );

/** After these a request may have been done or not. */
const UNSURE = new Set([408, 500, 502, 503, 504]);
/** Answers that have no body (Fetch standard, section 2.2.3). */
const EMPTY = new Set([204, 205, 304]);
/** Milliseconds before the first repeat; each later one waits twice as long, up to the longest. */
const [FIRST_BACKOFF, LONGEST_BACKOFF] = [500, 10_000];

/**
 * Milliseconds to wait, from `Retry-After` in either of its forms (RFC 9110 section 10.2.3); null if there is none.
 * Zero and past dates count as none: otherwise a call would be repeated without a pause and without end.
 */
function retryAfter(headers: Headers | undefined): number | null {
  const said = headers?.get("retry-after")?.trim();
  if (!said) return null;
  const ms = /^\d+$/.test(said) ? Number(said) * 1000 : Date.parse(said) - Date.now();
  return ms > 0 ? ms : null;
}

/** Half of it at least, and the rest by chance, so that calls that failed together do not come back together. */
const backoff = (attempt: number) =>
  (Math.min(FIRST_BACKOFF * 2 ** attempt, LONGEST_BACKOFF) * (1 + Math.random())) / 2;

/** A 429: for how many milliseconds, and whether its limit is used up, so that others have to wait too. */
type Refusal = { pause: number; shared: boolean };

function refusalOf({ status, headers }: Response, attempt: number): Refusal | null {
  if (status !== 429) return null;
  return { pause: retryAfter(headers) ?? backoff(attempt), shared: !limitStateOf(headers)?.room };
}

/** A path without its ids, as far as can be seen: what is counted together is mostly one such route. */
const routeOf = (method: string, path: string) => `${method} ${path.replace(/\/(?!v1\/)[^/]*\d[^/]*/g, "/{id}")}`;

/**
 * What sends the requests of one client: in turn where a rate limit is used up, and again where that is safe. After 429 every request
 * is sent again, because it was refused before anything was done, until `maxWaitMs` is over. Any other failure is returned as it is.
 */
export function sender(baseUrl: string, options: SendOptions): Send {
  const { fetch = globalThis.fetch, maxWaitMs = 60_000, retries = 4, timeoutMs = 60_000 } = options;
  const root = withoutSlash(new URL(baseUrl).pathname);
  const lanes = new Map<string, Lane>();
  /** The limit that a route counts in, once an answer has said it. */
  const buckets = new Map<string, string>();
  let tickets = 0;

  function laneOf(route: string): Lane {
    const name = buckets.get(route) ?? route;
    const lane = lanes.get(name) ?? new Lane();
    lanes.set(name, lane);
    return lane;
  }

  /** Tells the lane of a route what an answer says of its limit; `pause` is how long the call was told to wait, where it was refused. */
  function note(route: string, lane: Lane, { headers }: Response, pause: number | null): void {
    const state = limitStateOf(headers);
    if (state) {
      buckets.set(route, state.bucket);
      if (!lanes.has(state.bucket)) lanes.set(state.bucket, lane);
      laneOf(route).learn(state);
    }
    if (pause !== null) laneOf(route).pause(pause);
  }

  /** One attempt, with its whole answer: a connection that breaks halfway is a lost one too. */
  async function attempt(request: Request, body: ArrayBuffer | undefined, token: string | undefined) {
    const headers = new Headers(request.headers);
    if (token !== undefined) headers.set("Authorization", `Bearer ${token}`);
    const limit = new AbortController();
    const late = () => limit.abort(new DOMException(`more than timeoutMs, ${timeoutMs} ms`, "TimeoutError"));
    const timer = after(timeoutMs, late);
    const abort = () => limit.abort(request.signal.reason);
    request.signal.addEventListener("abort", abort, { once: true });
    try {
      const init = { headers, signal: limit.signal, ...(body ? { body } : {}) };
      // some fetches end later than their signal, or never
      const answer = async () => {
        const response = await fetch(new Request(request, init));
        const content = EMPTY.has(response.status) ? null : await response.arrayBuffer();
        return Object.defineProperty(new Response(content, response), "url", { value: response.url });
      };
      return await orAborted(answer(), limit.signal);
    } finally {
      clearTimeout(timer);
      request.signal.removeEventListener("abort", abort);
    }
  }

  return async (request, credential) => {
    const { method, signal } = request;
    const path = new URL(request.url).pathname.slice(root.length).replace(/%3A/gi, ":");
    const route = routeOf(method, path);
    // in whole, also of a stream, so that it can be sent again; of a copy, because Bun forgets the type of what was read
    const body = request.body ? await request.clone().arrayBuffer() : undefined;
    if (body && body.byteLength > LARGEST) return tooLarge();
    const repeatable = isIdempotent(method, path, body);
    tickets += 1;
    const ticket = tickets;
    let waited = 0;
    const wait = async (pause: Promise<void>) => {
      const begun = performance.now();
      await pause;
      waited += performance.now() - begun;
    };

    for (let failures = 0, attempts = 1, renewed = false; ; attempts += 1) {
      const lane = laneOf(route);
      await wait(lane.enter(ticket, maxWaitMs - waited, signal));
      const left = maxWaitMs - waited;
      let token: string | undefined;
      let response: Response | undefined;
      let refusal: Refusal | null = null;
      let failure: unknown;
      try {
        token = await credential?.token(signal);
        response = await attempt(request, body, token).catch((error) => {
          signal.throwIfAborted();
          failure = error;
          return undefined;
        });
        refusal = response ? refusalOf(response, attempts) : null;
        // before the next call's turn comes by leaving
        if (response) note(route, lane, response, refusal?.shared && refusal.pause <= left ? refusal.pause : null);
      } finally {
        lane.leave();
      }
      if (response && refusal) {
        if (refusal.pause > left) return response;
        // else it waits in the lane
        if (!refusal.shared) await wait(sleep(refusal.pause, signal));
        continue;
      }
      if (response?.status === 401 && !renewed && credential?.renew(token ?? "")) {
        // refused before anything was done
        renewed = true;
        continue;
      }
      if (response && !UNSURE.has(response.status)) return response;
      const pause = (retryAfter(response?.headers) ?? 0) + backoff(failures);
      failures += 1;
      if (repeatable && failures <= retries && pause <= left) await wait(sleep(pause, signal));
      else if (response) return response;
      else throw new ConnectionError(`${method} ${path}`, attempts, repeatable, failure);
    }
  };
}
