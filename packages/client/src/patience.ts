/** How often a request is sent again after 429 or 503, and for how many seconds it waits in all. */
const WAITS = 3;
const SECONDS = 60;

const has = (body: unknown, field: string) =>
  typeof (body as Record<string, unknown> | null)?.[field] === "string" &&
  (body as Record<string, string>)[field] !== "";

/** POST requests that may be sent twice: what is there once already is answered again, or replaced by the same. */
const REPEATABLE: Readonly<Record<string, (body: unknown) => boolean>> = {
  "/v1/accounts": (body) => has(body, "cpo_external_ref"),
  "/v1/chargers": (body) => has(body, "serial_number"),
  "/v1/sessions:batch": () => true,
  "/v1/connections:update": () => true,
  "/partner/company": () => true,
  "/partner/branding": () => true,
  "/oauth-token": () => true,
};

/**
 * Whether a request may be sent again. After 429 every one: it was refused before anything was done. After 503 it may have been done
 * and the answer lost, so only what changes nothing when it is repeated: GET, DELETE, and the POST requests above.
 */
async function maySendAgain(request: Request, status: number): Promise<boolean> {
  if (status === 429 || request.method === "GET" || request.method === "DELETE") return true;
  const { pathname } = new URL(request.url);
  const path = Object.keys(REPEATABLE).find((known) => pathname.replace(/%3A/gi, ":").endsWith(known));
  if (!path) return false;
  const body: unknown = await request
    .clone()
    .json()
    .catch(() => null);
  return REPEATABLE[path]?.(body) ?? false;
}

/** Seconds to wait, from `Retry-After` in either of its forms (RFC 9110 section 10.2.3); null where it says nothing. */
function retryAfter(headers: Headers): number | null {
  const said = headers.get("retry-after")?.trim();
  if (!said) return null;
  const seconds = /^\d+$/.test(said) ? Number(said) : (Date.parse(said) - Date.now()) / 1000;
  return Number.isNaN(seconds) ? null : Math.max(seconds, 0);
}

function sleep(seconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", end);
      resolve();
    }, seconds * 1000);
    if (signal.aborted) end();
    else signal.addEventListener("abort", end, { once: true });
  });
}

/**
 * Sends a request, and sends it again after 429 and 503 as `Retry-After` says: three times at most, a minute in all, and only what is
 * safe to repeat. What is still refused then is answered as it is.
 */
export async function sendPatiently(request: Request, fetch: typeof globalThis.fetch): Promise<Response> {
  let waited = 0;
  for (let waits = 0; ; waits += 1) {
    const response = await fetch(request.clone());
    if ((response.status !== 429 && response.status !== 503) || waits === WAITS) return response;
    const seconds = retryAfter(response.headers);
    if (seconds === null || waited + seconds > SECONDS || !(await maySendAgain(request, response.status)))
      return response;
    await response.body?.cancel();
    await sleep(seconds, request.signal);
    waited += seconds;
  }
}
