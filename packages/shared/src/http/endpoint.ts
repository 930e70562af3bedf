import type * as z from "zod";
import type { Call, Json } from "#shared/foundation/answers.ts";
import type { Needs } from "#shared/foundation/call.ts";
import type { Caller } from "#shared/foundation/caller.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import type { ApiError, ErrorCode, FieldsOf } from "#shared/foundation/errors.ts";
import type { Rate } from "#shared/foundation/rate.ts";
import type { Bucket } from "#shared/values/rate_limits.ts";
import type { CpoScope, UserScope } from "#shared/values/scopes.ts";

/** Who may call an endpoint. `scope: null` is any credential of that kind, whatever its scopes. */
export type CallerRule =
  | { kind: "cpo"; scope: CpoScope | null }
  /** A person's token, or the token of an application that acts for them. */
  | { kind: "user"; scope: UserScope }
  /**
   * A partner's API key if `key` is set, or a person who manages the partner, through an application with the scope.
   */
  | { kind: "partner"; scope: "partners:read" | "partners:write"; key: boolean }
  /** A partner's API key, and nothing else. */
  | { kind: "sandbox"; scope: "partner_api_key"; key: true }
  /** The person themselves, signed in with Supabase Auth. */
  | { kind: "session" }
  /** No admission: the endpoint authenticates the body itself, or is public. */
  | { kind: "anyone" }
  /** One of our own machines, with its own secret. */
  | { kind: "worker"; secret: "WORKER_SECRET" | "METRICS_SECRET" | "GATEWAY_SECRET" };

export type Context<Body, Query, Errors extends ErrorCode, Functions extends string> = {
  body: Body;
  query: Query;
  /** The body as it was sent, decoded. */
  rawBody: string;
  /** The client's network address, personal data: evidence of a signature, never logged. */
  readonly address: string;
  /** Where the request comes from, to count by. */
  readonly address_hash: string;
  request: Request;
  /**
   * The caller. The first `call` admits them. Before it, this runs its own statement, for code that must know earlier.
   * @throws {ApiError} why they are not admitted
   */
  admitted: () => Promise<Caller>;
  /**
   * The partner that the caller acts for, usually known without a statement.
   * @throws like admitted()
   */
  tenant: () => Promise<string>;
  environment: Environment;
  /** The path parameter `{name}`. */
  param: (name: string) => string;
  /**
   * Runs one declared SQL function for the admitted caller and returns its JSON text. If it needs something first,
   * `needs` fetches it.
   */
  call: Call<Functions>;
  /** As `call`, for a long list that `api.read_replica` knows: read on the replica, if there is one and it has all that the caller wrote. */
  list: Call<Functions>;
  /** Ends the request with a declared error. */
  fail: <Code extends Errors>(code: Code, fields?: FieldsOf<Code>) => never;
  /** Rate-limit headers for an endpoint whose own SQL function debits. */
  rate: (rate: Rate) => void;
};

/** JSON text from SQL, passed on unchanged; or an object of the response to write as JSON; or the endpoint's own Response. */
export type Result<Answer = object> = Json<unknown> | Extract<Answer, object> | Response;

export type EndpointSpec<
  Body extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
  Errors extends ErrorCode = ErrorCode,
  Functions extends string = string,
  Answer extends z.ZodType = z.ZodType,
> = {
  id: string;
  summary: string;
  description?: string;
  caller: CallerRule;
  /**
   * The rate-limit bucket that admission debits; null if the endpoint's own SQL function debits, or there is no
   * limit.
   */
  limit: Bucket | null;
  /** The api functions it may run. `edge` and `edge_slow` are granted the union of these. */
  sql: readonly Functions[];
  /** Whether those functions are slow by nature, and run as `edge_slow`. */
  slow?: true;
  /** Fetches what those functions may need, by kind. */
  needs?: Needs;
  /** Description of each path parameter, by name. */
  params?: Readonly<Record<string, string>>;
  query?: Query;
  body?: Body;
  /** Loads modules that the body's rules need, too heavy to load at start. */
  prepare?: () => Promise<void>;
  /** For a POST: whether a second, equal request does nothing; always, or if the body has the named field. */
  idempotent?: true | string;
  /** Whether the body may be empty: it is then read as {}. */
  bodyOptional?: true;
  /** Body encodings beside JSON. `file`: the body is a file and nothing else, told by its first bytes. */
  accepts?: readonly ("form" | "multipart" | "file")[];
  /** Reads a body of this many bytes at most in its own way; its errors are declared. */
  read?: (request: Request, max: number) => Promise<unknown>;
  /** `WWW-Authenticate` of a refusal; null for none. */
  challenge?: (request: Request, refusal: ApiError) => string | null;
  /** Largest body in bytes; 1 MiB by default. */
  maxBody?: number;
  /** Most levels of objects and arrays in the body; any number by default. */
  levels?: number;
  response: Answer;
  /** The media type of the response, if it is not JSON: the endpoint returns its own Response. */
  produces?: "application/pdf" | "text/csv" | "text/plain";
  /** The status of success; 200 by default. */
  status?: 201;
  /** Errors that do not follow from caller, limit and body. */
  errors: readonly Errors[];
  /** The error of an unexpected failure. */
  failure: ErrorCode;
  /**
   * A second chance for a body that breaks a field rule: it gets the unchecked JSON and may still answer. For `POST
   * /v1/accounts`, which recognizes a known reference before judging the rest of the body.
   */
  salvage?: (
    raw: unknown,
    context: Context<never, never, Errors, Functions>,
  ) => Promise<Result<z.output<Answer>> | null>;
};

export type Endpoint = EndpointSpec & {
  run: (context: Context<unknown, unknown, ErrorCode, string>) => Promise<Result>;
};

/** Declares an endpoint once. Routes, guard, limits, OpenAPI, grants and contract tests are derived from it. */
export function endpoint<
  const Errors extends ErrorCode,
  const Functions extends string,
  Body extends z.ZodType = z.ZodNever,
  Query extends z.ZodType = z.ZodNever,
  Answer extends z.ZodType = z.ZodType,
>(
  spec: EndpointSpec<Body, Query, Errors, Functions, Answer>,
  run: (context: Context<z.output<Body>, z.output<Query>, Errors, Functions>) => Promise<Result<z.output<Answer>>>,
): Endpoint {
  return { ...spec, run } as unknown as Endpoint;
}

/** Errors of admission, by the kind of caller. */
const ADMISSION_ERRORS: Record<CallerRule["kind"], readonly ErrorCode[]> = {
  cpo: ["missing_or_invalid_token", "cpo_token_required", "client_not_linked", "authentication_unavailable"],
  user: ["missing_or_invalid_token", "authentication_unavailable"],
  session: ["missing_or_invalid_token", "authentication_unavailable"],
  partner: ["missing_or_invalid_token", "no_partner_linked", "authentication_unavailable"],
  sandbox: ["missing_or_invalid_token", "no_partner_linked", "authentication_unavailable"],
  worker: ["missing_or_invalid_token"],
  anyone: [],
};

/** Errors of reading a body. Only JSON can be invalid_json. */
const BODY_ERRORS: readonly ErrorCode[] = ["invalid_request", "request_timeout", "payload_too_large"];

/** Whether the body is a file and nothing else. */
export const isFile = ({ accepts }: Pick<EndpointSpec, "accepts">): boolean => accepts?.includes("file") === true;

/** Every error an endpoint can answer: the declared errors, and the errors that follow from caller, limit and body. */
export function errorsOf(spec: EndpointSpec): Set<ErrorCode> {
  const errors = new Set<ErrorCode>([...spec.errors, spec.failure, "service_unavailable"]);
  for (const code of ADMISSION_ERRORS[spec.caller.kind]) errors.add(code);
  if ("scope" in spec.caller && spec.caller.scope) errors.add("insufficient_scope");
  // a partner key, if it cannot lack a scope
  else if (spec.caller.kind === "cpo" || spec.caller.kind === "session") errors.add("partner_api_key_scope");
  if (spec.limit) errors.add("too_many_requests");
  if (spec.body) for (const code of BODY_ERRORS) errors.add(code);
  if (spec.body && !isFile(spec) && !spec.read) errors.add("invalid_json");
  return errors;
}

/**
 * The bucket that counts a request, or null. If admission debits none, the endpoint's own SQL function debits the
 * client's.
 */
export function bucketOf({ limit, errors }: Pick<EndpointSpec, "limit" | "errors">): Bucket | null {
  return limit ?? (errors.includes("too_many_requests") ? "token" : null);
}
