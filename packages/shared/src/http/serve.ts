import { type Context, Hono } from "hono";
import { getPath } from "hono/utils/url";
import type { Caller } from "#shared/foundation/caller.ts";
import { type Environment, readEnvironment } from "#shared/foundation/environment.ts";
import { ApiError } from "#shared/foundation/errors.ts";
import { consoleLog, logRequest } from "#shared/foundation/log.ts";
import { answer, type Note } from "./answer.ts";
import { dropBody, MAX_BODY } from "./body.ts";
import type { Endpoint } from "./endpoint.ts";
import { errorResponse, type Heads, HSTS, headersOf, NO_STORE, preflight, withHeaders } from "./headers.ts";

type Method = "GET" | "POST" | "DELETE";
type Route = `${Method} /${string}`;

/** The routes of one edge function, as plain data: documents, tests and tools can read them without running it. */
export type Surface = Heads & {
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
  /** Pages under a path, for people. The first request loads them. */
  pages?: { under: `/${string}`; load: () => Promise<Pages> };
};

/** They set X-Request-Id and write their log line themselves, with logRequest(). */
export type Pages = {
  /** The api functions they may run, and those of them that are slow by nature and run as `edge_slow`. */
  sql: readonly string[];
  slow: readonly string[];
  /** The largest body of a form, in bytes. */
  maxBody: number;
  routes: (environment: Environment) => Hono;
};

type Env = { Variables: { note: Note; environment: Environment } };

/** The function itself: `Deno.serve(serve(surface).fetch)`. The environment is read at the first request, not at import. */
export function serve(surface: Surface, given?: Environment): { fetch: (request: Request) => Promise<Response> } {
  let environment = given;
  const { slug } = surface;
  const always = headersOf(surface);
  const refuse = (c: Context<Env>, refusal: ApiError) => {
    const note = c.get("note");
    note.refusal = refusal;
    return errorResponse(surface, note);
  };
  // an encoded colon is the same path (RFC 3986 section 2.2): some clients encode the one in /v1/connections:update
  const app = new Hono<Env>({ getPath: (request) => getPath(request).replace(/%3A/gi, ":") });
  app.use(async (c, next) => {
    const started = performance.now();
    const { raw } = c.req;
    const note: Note = { request_id: crypto.randomUUID(), max_body: MAX_BODY };
    c.set("note", note);
    let isHttps = false;
    try {
      environment ??= readEnvironment();
      c.set("environment", environment);
      note.docs_url = environment.config.DOCS_URL;
      await next();
      await dropBody(raw, note.max_body);
      isHttps = environment.config.BASE_URL.startsWith("https:");
    } catch (error) {
      c.res = refuse(c, new ApiError("service_unavailable", {}, error));
    }
    let response = c.res;
    const { headers } = response;
    // a page sets the others itself, and writes its log line
    const isPage = headers.has("X-Request-Id");
    response = withHeaders(response, [
      ...(isHttps ? [HSTS] : []),
      // responses are personal and may have secrets; a response that may be cached sets its own header
      ...(isPage
        ? []
        : [...always, ...(headers.has("Cache-Control") ? [] : [NO_STORE]), ["X-Request-Id", note.request_id] as const]),
    ]);
    if (response !== c.res) {
      // Hono would copy the headers and the body of a response that replaces another
      c.res = undefined;
      c.res = response;
    }
    if (isPage) return;
    const { endpoint, caller, readOn, refusal } = note;
    logRequest(
      environment?.log ?? consoleLog("all"),
      started,
      {
        request_id: note.request_id,
        function: slug,
        endpoint,
        method: raw.method,
        status: response.status,
        caller: caller?.kind,
        client_id: caller?.client_id,
        partner_id: caller?.partner_id,
        read_on: readOn,
        error: refusal?.code,
      },
      refusal,
    );
  });
  if (surface.cors) app.options("*", (c) => preflight(c.req.raw));
  // also at the root, which leads to one of the functions (routes.ts)
  for (const root of ["", `/${slug}`]) {
    app.get(`${root}/health`, (c) => c.json({ ok: true, function: slug }));
    app.get(`${root}/health/ready`, async (c) =>
      (await import("./health.ts")).answerReady(slug, c.req.raw, c.get("environment"), c.get("note")),
    );
  }
  for (const { method, path, load } of routesOf(surface.endpoints)) {
    const paths = pathsOf(surface, path).map((each) => each.replace(/\{(\w+)\}/g, ":$1"));
    let endpoint: Endpoint | undefined;
    app.on(method, paths, async (c) => {
      const environment = c.get("environment");
      if (surface.host && surface.host !== environment.config.API_HOST) return c.notFound();
      endpoint ??= await load();
      return answer(surface, endpoint, c.req.raw, c.req.param(), environment, c.get("note"));
    });
  }
  if (surface.pages) {
    const { under, load } = surface.pages;
    let pages: { app: Hono; maxBody: number } | undefined;
    app.all(`${under}/*`, async (c) => {
      if (!pages) {
        const { routes, maxBody } = await load();
        pages = { app: routes(c.get("environment")), maxBody };
      }
      c.get("note").max_body = pages.maxBody;
      return pages.app.fetch(c.req.raw);
    });
  }
  app.notFound(async (c) => {
    const { notFound } = await import("./explain.ts");
    return refuse(
      c,
      notFound(routesOf(surface.endpoints), (path) => pathsOf(surface, path), c.req),
    );
  });
  app.onError((error, c) => refuse(c, new ApiError("internal_error", {}, error)));
  return { fetch: async (request) => app.fetch(request) };
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
