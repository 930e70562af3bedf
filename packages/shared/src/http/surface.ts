import { Hono } from "hono";
import { getPath } from "hono/utils/url";
import type * as z from "zod";
import { callFor } from "#shared/foundation/call.ts";
import type { Caller } from "#shared/foundation/caller.ts";
import { type Environment, readEnvironment } from "#shared/foundation/environment.ts";
import { ApiError, type ErrorCode } from "#shared/foundation/errors.ts";
import { consoleLog, describeCause } from "#shared/foundation/log.ts";
import { type Rate, remaining, resetsIn } from "#shared/foundation/rate.ts";
import { storable } from "#shared/values/text.ts";
import { readVisitor, type Visitor } from "./admit.ts";
import { dropBody, MAX_BODY, parseJson, readBytes, readMultipart, readParameters, readText } from "./body.ts";
import { clientAddress, clientHash } from "./client_address.ts";
import { type Context, type Endpoint, errorsOf, isFile, type Result } from "./endpoint.ts";
import { ruleText } from "./rules.ts";

type Method = "GET" | "POST" | "DELETE";
type Route = `${Method} /${string}`;

/** The routes of one edge function, as plain data: documents, tests and tools can read them without running it. */
export type Surface = {
  /** The function's name; hosted, it is the first segment of every path. */
  slug: string;
  /** A heading and a sentence about it, for the document. */
  title?: string;
  about?: string;
  /** The prefix of the specification's paths of this surface; hosted paths may omit it (`/cpo-v1/accounts`). */
  prefix: `/${string}` | "";
  /**
   * Its endpoints by route, in the order of the document: method, and the specification's path, in which `{name}` is
   * one segment. The first request for an endpoint loads it with its rules, so requests do not wait for the rules of
   * others.
   */
  endpoints: Readonly<Record<Route, () => Promise<Endpoint>>>;
  /** The only host where it exists; on the other host its routes return 404. */
  host?: Caller["host"];
  /** Whether browsers of other origins may read the answers: safe where nothing reads a cookie (docs/security.md). */
  cors?: boolean;
  /** `oauth` writes error bodies as RFC 6749 section 5.2 does, and forbids storing every answer. */
  errors?: "oauth";
  /** Pages under a path, for people. The first request loads them. */
  pages?: { under: `/${string}`; load: () => Promise<Pages> };
};

/** They set X-Request-Id and write their log line themselves. */
export type Pages = {
  /** The api functions they may run, and those of them that are slow by nature and run as `edge_slow`. */
  sql: readonly string[];
  slow: readonly string[];
  /** The largest body of a form, in bytes. */
  maxBody: number;
  routes: (environment: Environment) => Hono;
};

/** A year, for this host only: we do not decide for other hosts of its domain. */
const HSTS = [["Strict-Transport-Security", "max-age=31536000"]] as const;

const NO_STORE = ["Cache-Control", "no-store"] as const;

/**
 * Browsers of other origins may read the whole response and every header (Fetch standard, section 3.3). A list of
 * names would cost microseconds per check.
 */
const READABLE_ANYWHERE = { "Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "*" };

/** The preflight response: any header is allowed, because the answer is the same for all. */
const preflight = (request: Request) =>
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

/** Data for the request's one log line, filled in along the way, and how much of an unread body we read. */
type Note = {
  request_id: string;
  endpoint?: string;
  caller?: Caller;
  readOn?: "replica" | undefined;
  refusal?: ApiError;
  max_body: number;
};
type App = Hono<{ Bindings: Note }>;

/** The function itself: `Deno.serve(serve(surface).fetch)`. The environment is read at the first request, not at import. */
export function serve(surface: Surface, given?: Environment): { fetch: (request: Request) => Promise<Response> } {
  let environment = given;
  let app: App | undefined;
  const always = Object.entries({
    "X-Content-Type-Options": "nosniff",
    ...(surface.cors ? READABLE_ANYWHERE : {}),
    ...(surface.errors === "oauth" ? { "Cache-Control": "no-store", Pragma: "no-cache" } : {}),
  });
  return {
    async fetch(request) {
      const started = performance.now();
      const note: Note = { request_id: crypto.randomUUID(), max_body: MAX_BODY };
      let response: Response;
      try {
        environment ??= readEnvironment();
        app ??= build(surface, environment);
        response = await app.fetch(request, note);
        await dropBody(request, note.max_body);
        if (environment.config.BASE_URL.startsWith("https:")) response = withHeaders(response, HSTS);
        if (response.headers.has("X-Request-Id")) return response; // a page sets its headers and writes its log line itself
      } catch (error) {
        note.refusal = new ApiError("service_unavailable", {}, error);
        response = errorResponse(surface, note);
      }
      // responses are personal and may have secrets; a response that may be cached sets its own header
      response = withHeaders(response, response.headers.has("Cache-Control") ? always : [...always, NO_STORE]);
      response.headers.set("X-Request-Id", note.request_id);
      const log = environment?.log ?? consoleLog("all");
      log({
        level: response.status >= 500 ? "error" : "info",
        event: "request",
        request_id: note.request_id,
        function: surface.slug,
        endpoint: note.endpoint,
        method: request.method,
        status: response.status,
        ms: Math.round((performance.now() - started) * 10) / 10,
        caller: note.caller?.kind,
        client_id: note.caller?.client_id,
        partner_id: note.caller?.partner_id,
        read_on: note.readOn,
        error: note.refusal?.code,
        // our own failures always log their cause
        ...(note.refusal && (note.refusal.cause || response.status === 500)
          ? { cause: describeCause(note.refusal.cause ?? note.refusal) }
          : {}),
      });
      return response;
    },
  };
}

/**
 * The response with these headers added. Some responses have immutable headers: those are copied, which is slow
 * because the body becomes a stream.
 */
function withHeaders(answer: Response, headers: readonly (readonly [string, string])[]): Response {
  try {
    for (const [name, value] of headers) answer.headers.set(name, value);
    return answer;
  } catch {
    return withHeaders(new Response(answer.body, answer), headers);
  }
}

/** An endpoint and where it is. */
export type Routed = Endpoint & { method: Method; path: string };

/** All endpoints of a surface, loaded. */
export function endpointsOf({ endpoints }: Surface): Promise<Routed[]> {
  return Promise.all(routesOf(endpoints).map(async ({ method, path, load }) => ({ ...(await load()), method, path })));
}

function routesOf(endpoints: Surface["endpoints"]) {
  return Object.entries(endpoints).map(([route, load]) => {
    const [method, path] = route.split(" ") as [Method, string];
    return { method, path, load };
  });
}

/** All paths at which a specification's path is served: itself, and its two forms behind the function's slug. */
export function pathsOf(surface: Surface, path: string): string[] {
  const bare = path.startsWith(surface.prefix) ? path.slice(surface.prefix.length) : path;
  return [...new Set([path, `/${surface.slug}${path}`, `/${surface.slug}${bare}`])];
}

function build(surface: Surface, environment: Environment): App {
  // an encoded colon is the same path (RFC 3986 section 2.2): some clients encode the one in /v1/connections:update
  const app: App = new Hono({ getPath: (request) => getPath(request).replace(/%3A/gi, ":") });
  if (surface.cors) app.options("*", (c) => preflight(c.req.raw));
  // also at the root, which leads to one of the functions (routes.ts)
  for (const root of ["", `/${surface.slug}`]) {
    app.get(`${root}/health`, (c) => c.json({ ok: true, function: surface.slug }));
    app.get(`${root}/health/ready`, async (c) =>
      (await import("./health.ts")).answerReady(surface.slug, environment, c.env),
    );
  }
  const here = !surface.host || surface.host === environment.config.API_HOST;
  for (const { method, path, load } of here ? routesOf(surface.endpoints) : []) {
    const paths = pathsOf(surface, path).map((each) => each.replace(/\{(\w+)\}/g, ":$1"));
    let endpoint: Endpoint | undefined;
    app.on(method, paths, async (c) => {
      endpoint ??= await load();
      return handle(surface, endpoint, c.req.raw, c.req.param(), environment, c.env);
    });
  }
  if (surface.pages) {
    const { under, load } = surface.pages;
    let pages: { app: Hono; maxBody: number } | undefined;
    app.all(`${under}/*`, async (c) => {
      if (!pages) {
        const { routes, maxBody } = await load();
        pages = { app: routes(environment), maxBody };
      }
      c.env.max_body = pages.maxBody;
      return pages.app.fetch(c.req.raw);
    });
  }
  app.notFound((c) => {
    c.env.refusal = new ApiError("not_found");
    return errorResponse(surface, c.env);
  });
  app.onError((error, c) => {
    c.env.refusal = new ApiError("internal_error", {}, error);
    return errorResponse(surface, c.env);
  });
  return app;
}

async function handle(
  surface: Surface,
  endpoint: Endpoint,
  request: Request,
  params: Record<string, string>,
  environment: Environment,
  note: Note,
): Promise<Response> {
  note.endpoint = endpoint.id;
  note.max_body = Math.max(MAX_BODY, endpoint.maxBody ?? 0);
  let debited: Rate | null = null;
  let visitor: Visitor | undefined;
  let response: Response;
  try {
    visitor = await readVisitor(endpoint, request, environment, note.request_id);
    const context = contextOf(endpoint, request, params, environment, visitor, (rate) => {
      debited = rate;
    });
    try {
      if (isAdmittedFirst(endpoint, request)) await visitor.admit();
      response = toResponse(await answer(endpoint, context), endpoint.status);
    } catch (error) {
      // the rollback undid the admission and its debit; count the request anyway
      if (visitor.isWaiting) await visitor.admit();
      throw error;
    }
    // nobody gets a response without admission; usually an earlier call admitted them
    await visitor.admit();
  } catch (error) {
    note.refusal = declared(endpoint, error);
    debited = note.refusal.rate ?? debited;
    response = errorResponse(surface, note);
  }
  if (visitor?.admission) note.caller = visitor.admission.caller;
  note.readOn = visitor?.readOn;
  setRateHeaders(response.headers, debited ?? visitor?.admission?.rate ?? null);
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
  visitor: Visitor,
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
    admitted: async () => (await visitor.admit()).caller,
    tenant: () => visitor.tenant(),
    environment,
    param: (name) => {
      const value = params[name];
      if (value === undefined) throw new Error(`${endpoint.id} has no {${name}} in its path`);
      return storable(value);
    },
    call: callFor(endpoint, environment, visitor),
    list: callFor(endpoint, environment, visitor, environment.replica),
    fail: (code, fields) => {
      throw new ApiError(code, fields);
    },
    rate,
  };
}

async function answer(endpoint: Endpoint, context: AnyContext): Promise<Result> {
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
  context.rawBody = await readText(request, max);
  return parseBody(endpoint, request, context.rawBody);
}

const contentType = (request: Request) => request.headers.get("content-type") ?? "";

const MULTIPART = /^multipart\/form-data\b/i;

function parseBody(endpoint: Endpoint, request: Request, text: string): unknown {
  const type = contentType(request);
  if (endpoint.accepts?.includes("form") && /^application\/x-www-form-urlencoded\b/i.test(type))
    return readParameters(text);
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

function errorResponse(surface: Surface, { request_id, refusal }: Note): Response {
  const error = refusal ?? new ApiError("internal_error");
  const { error: text, detail, ...fields } = error.body();
  const body = {
    error: text,
    [surface.errors === "oauth" ? "error_description" : "detail"]: detail,
    ...fields,
    request_id,
  };
  const headers = new Headers({ "Content-Type": "application/json" });
  if (error.retryAfter !== null) headers.set("Retry-After", String(error.retryAfter));
  // RFC 6750 section 3
  if (error.code === "missing_or_invalid_token") headers.set("WWW-Authenticate", 'Bearer error="invalid_token"');
  if (error.code === "insufficient_scope")
    headers.set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="${error.fields.required_scope}"`);
  return new Response(JSON.stringify(body), { status: error.status, headers });
}

/** `RateLimit` and `RateLimit-Policy` as draft-ietf-httpapi-ratelimit-headers writes them. */
function setRateHeaders(headers: Headers, rate: Rate | null): void {
  if (!rate) return;
  headers.set("RateLimit-Policy", `"${rate.bucket}";q=${rate.quota};w=${rate.window}`);
  headers.set("RateLimit", `"${rate.bucket}";r=${remaining(rate)};t=${resetsIn(rate)}`);
}
