import { ApiError } from "#shared/foundation/errors.ts";
import { type Rate, remaining, resetsIn } from "#shared/foundation/rate.ts";

/** What of a surface decides about headers and the form of errors. */
export type Heads = {
  /** Whether browsers of other origins may read the answers: safe where nothing reads a cookie (docs/security.md). */
  cors?: boolean;
  /** `oauth` writes error bodies as RFC 6749 section 5.2 does, and forbids storing every answer. */
  errors?: "oauth";
};

/** A year, for this host only: we do not decide for other hosts of its domain. */
export const HSTS = ["Strict-Transport-Security", "max-age=31536000"] as const;

export const NO_STORE = ["Cache-Control", "no-store"] as const;

/**
 * Browsers of other origins may read the whole response and every header (Fetch standard, section 3.3). A list of
 * names would cost microseconds per check.
 */
const READABLE_ANYWHERE = { "Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "*" };

/** The preflight response: any header is allowed, because the answer is the same for all. */
export const preflight = (request: Request) =>
  new Response(null, {
    status: 204,
    headers: {
      "Access-Control-Allow-Methods": "GET,POST,DELETE",
      "Access-Control-Allow-Headers": request.headers.get("access-control-request-headers") ?? "",
      // browsers keep it no longer than a day
      "Access-Control-Max-Age": "86400",
      Vary: "Access-Control-Request-Headers",
    },
  });

/** The headers of every answer of a surface. */
export const headersOf = ({ cors, errors }: Heads): readonly (readonly [string, string])[] =>
  Object.entries({
    "X-Content-Type-Options": "nosniff",
    ...(cors ? READABLE_ANYWHERE : {}),
    ...(errors === "oauth" ? { "Cache-Control": "no-store", Pragma: "no-cache" } : {}),
  });

/**
 * The response with these headers added. Some responses have immutable headers: those are copied, which is slow
 * because the body becomes a stream.
 */
export function withHeaders(answer: Response, headers: readonly (readonly [string, string])[]): Response {
  try {
    for (const [name, value] of headers) answer.headers.set(name, value);
    return answer;
  } catch {
    return withHeaders(new Response(answer.body, answer), headers);
  }
}

/** The answer to a refused request: the body of the error table, and the headers that go with its code. */
export function errorResponse(
  surface: Heads,
  { request_id, refusal, docs_url }: { request_id: string; refusal?: ApiError; docs_url?: string | undefined },
): Response {
  const error = refusal ?? new ApiError("internal_error");
  const { error: text, detail, ...fields } = error.body();
  const body = {
    error: text,
    [surface.errors === "oauth" ? "error_description" : "detail"]: detail,
    ...fields,
    // a row of the table of errors, packages/docs/src/tables.ts
    ...(docs_url ? { doc_url: `${docs_url}/errors.html#${error.code}` } : {}),
    request_id,
  };
  const headers = new Headers({ "Content-Type": "application/json" });
  if (error.retryAfter !== null) headers.set("Retry-After", String(error.retryAfter));
  // RFC 6750 section 3
  const challenge =
    error.code === "missing_or_invalid_token"
      ? `"invalid_token"`
      : error.code === "insufficient_scope" && `"insufficient_scope", scope="${error.fields.required_scope}"`;
  if (challenge) headers.set("WWW-Authenticate", `Bearer error=${challenge}`);
  return new Response(JSON.stringify(body), { status: error.status, headers });
}

/** `RateLimit` and `RateLimit-Policy` as draft-ietf-httpapi-ratelimit-headers writes them. */
export function setRateHeaders(headers: Headers, rate: Rate | null): void {
  if (!rate) return;
  headers.set("RateLimit-Policy", `"${rate.bucket}";q=${rate.quota};w=${rate.window}`);
  headers.set("RateLimit", `"${rate.bucket}";r=${remaining(rate)};t=${resetsIn(rate)}`);
}
