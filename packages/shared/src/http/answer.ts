import type * as z from "zod";
import { callFor } from "#shared/foundation/call.ts";
import type { Caller } from "#shared/foundation/caller.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { ApiError, type ErrorCode } from "#shared/foundation/errors.ts";
import type { Rate } from "#shared/foundation/rate.ts";
import { storable } from "#shared/values/text.ts";
import { type Admission, admissionOf } from "./admit.ts";
import { MAX_BODY, parseJson, readBytes, readMultipart, readText } from "./body.ts";
import { clientAddress, clientHash } from "./client_address.ts";
import { type Context, type Endpoint, errorsOf, isFile, type Result } from "./endpoint.ts";
import { errorResponse, type Heads, setRateHeaders } from "./headers.ts";
import { ruleText } from "./rules.ts";

/** Data for the request's one log line, filled in along the way, and how much of an unread body we read. */
export type Note = {
  request_id: string;
  endpoint?: string;
  caller?: Caller;
  readOn?: "replica" | undefined;
  refusal?: ApiError;
  /** Where the documentation of this host is, if it has one. */
  docs_url?: string | undefined;
  max_body: number;
};
/** Answers a request for an endpoint: admits its caller, reads and checks what was sent, and runs it. */
export async function answer(
  surface: Heads,
  endpoint: Endpoint,
  request: Request,
  params: Record<string, string>,
  environment: Environment,
  note: Note,
): Promise<Response> {
  note.endpoint = endpoint.id;
  note.max_body = Math.max(MAX_BODY, endpoint.maxBody ?? 0);
  let debited: Rate | null = null;
  let admission: Admission | undefined;
  let response: Response;
  try {
    admission = await admissionOf(endpoint, request, environment, note.request_id);
    const context = contextOf(endpoint, request, params, environment, admission, (rate) => {
      debited = rate;
    });
    try {
      if (isAdmittedFirst(endpoint, request)) await admission.admit();
      response = toResponse(await run(endpoint, context), endpoint.status);
    } catch (error) {
      // the rollback undid the admission and its debit; count the request anyway
      if (admission.isWaiting) await admission.admit();
      throw error;
    }
    // nobody gets a response without admission; usually an earlier call admitted them
    await admission.admit();
  } catch (error) {
    note.refusal = declared(endpoint, error);
    debited = note.refusal.rate ?? debited;
    response = errorResponse(surface, note);
    const challenge = endpoint.challenge?.(request, note.refusal);
    if (challenge) response.headers.set("WWW-Authenticate", challenge);
  }
  const admitted = admission?.admitted;
  if (admitted) note.caller = admitted.caller;
  note.readOn = admission?.readOn;
  setRateHeaders(response.headers, debited ?? admitted?.rate ?? null);
  return response;
}

/** Bytes that we read before admission: about a millisecond's work. */
const SMALL = 64 * 1024;

/**
 * When admission needs its own statement: bodies too large to read before it, slow functions, or steps that each name
 * their failures.
 */
function isAdmittedFirst({ caller, slow }: Endpoint, { body, headers }: Request): boolean {
  const isSmall = body === null || Number(headers.get("content-length") ?? Infinity) <= SMALL;
  return !isSmall || slow === true || caller.kind === "sandbox";
}

type AnyContext = Context<unknown, unknown, ErrorCode, string>;

function contextOf(
  endpoint: Endpoint,
  request: Request,
  params: Record<string, string>,
  environment: Environment,
  admission: Admission,
  rate: (rate: Rate) => void,
): AnyContext {
  return {
    body: undefined,
    query: undefined,
    rawBody: "",
    // read when asked for: an endpoint that needs neither answers without
    get address() {
      return clientAddress(request, environment.config);
    },
    get address_hash() {
      return clientHash(request, environment);
    },
    request,
    admitted: async () => (await admission.admit()).caller,
    tenant: () => admission.tenant(),
    environment,
    param: (name) => {
      const value = params[name];
      if (value === undefined) throw new Error(`${endpoint.id} has no {${name}} in its path`);
      return storable(value);
    },
    call: callFor(endpoint, environment, admission),
    list: callFor(endpoint, environment, admission, environment.replica),
    fail: (code, fields) => {
      throw new ApiError(code, fields);
    },
    rate,
  };
}

async function run(endpoint: Endpoint, context: AnyContext): Promise<Result> {
  if (endpoint.query) {
    const { url } = context.request;
    const query = url.includes("?") ? url.slice(url.indexOf("?")) : "";
    context.query = check(endpoint.query, Object.fromEntries(new URLSearchParams(query)));
  }
  if (endpoint.body) {
    const max = endpoint.maxBody ?? MAX_BODY;
    const raw = await readBody(endpoint, context, max);
    await endpoint.prepare?.();
    try {
      context.body = check(endpoint.body, raw);
    } catch (error) {
      const salvaged = await endpoint.salvage?.(raw, context as Context<never, never, ErrorCode, string>);
      if (salvaged == null) throw error;
      return salvaged;
    }
  }
  return endpoint.run(context);
}

async function readBody(endpoint: Endpoint, context: AnyContext, max: number): Promise<unknown> {
  const { request } = context;
  if (isFile(endpoint)) return readBytes(request, max);
  if (endpoint.accepts?.includes("multipart") && MULTIPART.test(contentType(request)))
    return readMultipart(request, max);
  if (endpoint.read) return endpoint.read(request, max);
  context.rawBody = await readText(request, max);
  return parseBody(endpoint, context.rawBody);
}

const contentType = (request: Request) => request.headers.get("content-type") ?? "";

const MULTIPART = /^multipart\/form-data\b/i;

function parseBody(endpoint: Endpoint, text: string): unknown {
  if (endpoint.bodyOptional && text.trim() === "") return {};
  return parseJson(text, endpoint.levels);
}

function check<T extends z.ZodType>(schema: T, value: unknown): z.output<T> {
  const result = schema.safeParse(value, { error: ruleText });
  if (result.success) return result.data;
  const issues = result.error.issues
    .slice(0, 20)
    .map((issue) => ({ path: issue.path.join("."), message: issue.message }));
  const [first] = issues;
  const detail = first ? `${first.path || "The body"}: ${first.message}` : undefined;
  throw new ApiError("invalid_request", { ...(detail ? { detail } : {}), issues });
}

/** Only declared errors reach the client. Any other error becomes the endpoint's failure, with its cause in the log. */
function declared(endpoint: Endpoint, error: unknown): ApiError {
  if (error instanceof ApiError && errorsOf(endpoint).has(error.code)) return error;
  return new ApiError(
    endpoint.failure,
    {},
    error instanceof ApiError ? new Error(`undeclared error ${error.code}`) : error,
  );
}

/**
 * SQL writes `"ok" : true` where we write `"ok":true`. Short text is rewritten in microseconds; longer text is passed
 * on as it is. Rewriting a position with twelve months took a fifth of the function's time.
 */
const SHORT = 1024;

function toResponse(answer: Result, status = 200): Response {
  if (answer instanceof Response) return answer;
  const text =
    typeof answer !== "string"
      ? JSON.stringify(answer)
      : answer.length > SHORT
        ? answer
        : JSON.stringify(JSON.parse(answer));
  return new Response(text, { status, headers: { "Content-Type": "application/json" } });
}
