import type { components } from "./schema.ts";

/** What every error of the API has: its code in `error`, what to do in `detail`, and a `request_id` to quote. */
export type ErrorBody = components["schemas"]["Error"];

/** An error of a call. `paginate` and `events` say where they were, so that you can go on from there. */
abstract class CallError extends Error {
  /** Of `paginate`: the `offset` of the page that could not be read. */
  offset?: number;
  /** For `events`: the cursor after which the log could not be read; null at the beginning. */
  cursor?: string | null;
}

/** An answer that is an error, thrown by what cannot hand it back: `orThrow`, `paginate`, `events`, and getting a token. */
export class ApiError extends CallError {
  readonly status: number;
  /** Which error it is; never renamed. `not_json`: something in between answered 2xx with something else, such as a page. */
  readonly code: string;
  /** Quote it when you ask us; null where the answer did not come from the API, but from a proxy before it. */
  readonly requestId: string | null;
  readonly body: Partial<ErrorBody>;

  constructor(status: number, body: unknown, headers?: Headers) {
    const said = (typeof body === "object" && body !== null ? body : {}) as Partial<ErrorBody>;
    const code = said.error ?? `HTTP ${status}`;
    const requestId = said.request_id ?? headers?.get("x-request-id") ?? null;
    const detail = said.detail ?? said.error_description;
    super([detail ? `${code}: ${detail}` : code, requestId && `(${requestId})`].filter(Boolean).join(" "));
    this.name = "ApiError";
    this.status = status;
    this.code = code;
    this.requestId = requestId;
    this.body = said;
  }
}

/**
 * Refuses a success that is not JSON, such as the sign-in page of a proxy.
 * @throws {ApiError} with the code `not_json`; the detail names the content type.
 */
export function requireJson(call: string, { ok, status, headers }: Response): void {
  const type = headers.get("content-type");
  if (!ok || type === null || /\bjson\b/i.test(type)) return;
  const detail = `${call} was answered with ${type}. Check that baseUrl leads to the API, and what stands between.`;
  throw new ApiError(status, { error: "not_json", detail }, headers);
}

/** No answer came: the connection broke, or it took longer than `timeoutMs`. What `fetch` said is in `cause`. */
export class ConnectionError extends CallError {
  /** How often the request was sent. */
  readonly attempts: number;
  /** Whether the same call may be made again without a look at what is there. */
  readonly safeToRepeat: boolean;

  constructor(call: string, attempts: number, safeToRepeat: boolean, cause: unknown) {
    const { message = String(cause), cause: deeper } = cause as { message?: string; cause?: { code?: string } };
    const times = attempts === 1 ? "" : ` after ${attempts} attempts`;
    const advice = safeToRepeat
      ? "Check baseUrl and your network; the call is safe to repeat."
      : "It may have been done: look before you send it again.";
    super(`${call}: no answer${times} (${deeper?.code ?? message}). ${advice}`, { cause });
    this.name = "ConnectionError";
    this.attempts = attempts;
    this.safeToRepeat = safeToRepeat;
  }
}

/** Says in an error of a call where a list or a log was. */
export async function at<Value>(place: { offset: number } | { cursor: string | null }, call: Promise<Value>) {
  try {
    return await call;
  } catch (error) {
    if (error instanceof CallError) Object.assign(error, place);
    throw error;
  }
}

/**
 * The data of an answer: `const page = orThrow(await client.GET("/v1/accounts"))`.
 * @throws {ApiError} where the answer is an error.
 */
export function orThrow<Data>(answer: { data?: Data; error?: unknown; response: Response }): Data {
  const { data, error, response } = answer;
  if (!response.ok || data === undefined) throw new ApiError(response.status, error, response.headers);
  return data;
}
