import { type Context, Hono, type MiddlewareHandler } from "hono";
import { matchedRoutes } from "hono/route";
import type { Environment } from "#shared/foundation/environment.ts";
import { ApiError, type ErrorCode } from "#shared/foundation/errors.ts";
import { logRequest } from "#shared/foundation/log.ts";
import { readText } from "#shared/http/body.ts";
import type { Pages } from "#shared/http/serve.ts";
import { FONT_NAME } from "#shared/look/font_name.ts";
import { readersLocale } from "#shared/values/locale.ts";
import { claim } from "./claim/claim.ts";
import { consent } from "./consent/consent.ts";
import { home } from "./home/home.ts";
import { html } from "./kit/html.ts";
import { type Flow, type PageAnswer, PageRequest, type PagesEnv } from "./kit/page_request.ts";
import { LEAF } from "./kit/parts/icons.ts";
import { SCRIPTS } from "./kit/script.ts";
import { brandStyle, STYLE, STYLE_VERSION } from "./kit/style.ts";
import { kindPage, onward } from "./kit/views.ts";
import { logo } from "./logo/logo.ts";
import { mandate } from "./mandate/mandate.ts";
import { mijn } from "./mijn/mijn.ts";
import { parts } from "./parts/parts.ts";
import { portal } from "./portal/portal.ts";

/** Every way through the pages. */
const FLOWS: readonly Flow[] = [home, mandate, consent, claim, mijn, portal, logo, parts];

/** Bytes of a form, and of the fields beside a file. */
const MAX_FORM = 16 * 1024;

/** The forms that send a file, by the path of their route: how many bytes of it are read. */
const UPLOADS = new Map(
  FLOWS.flatMap(({ routes }) => routes.flatMap(({ path, upload }) => (upload ? [[`/pages${path}`, upload]] : []))),
);

/** Nothing inline, nothing from elsewhere, in nobody's frame. The address holds the token, so no referrer leaves the page. */
const HEADERS = {
  "Content-Security-Policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "X-Robots-Tag": "noindex, nofollow",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cache-Control": "no-store",
};

/** The pages of one environment, at /pages as the function sees them. */
function routes(environment: Environment): Hono {
  const app = new Hono<PagesEnv>();
  app.use("/pages/*", observe(environment));
  // before the lock on forms
  for (const flow of FLOWS) add(app, environment, flow, true);
  app.use("/pages/*", async (c, next) => {
    if (c.req.method === "POST") {
      const upload = uploadOf(c);
      const type = upload ? "multipart/form-data" : "application/x-www-form-urlencoded";
      if (!isOurForm(c, type, new URL(environment.config.PAGES_URL).origin)) return refuse(c, environment, 403);
      if (upload) c.set("upload", upload + MAX_FORM);
      else c.set("form", new URLSearchParams(await readText(c.req.raw, MAX_FORM)));
    }
    return next();
  });

  app.get("/pages/style.css", (c) => style(c, STYLE, c.req.query("v") === STYLE_VERSION ? FOREVER : undefined));
  app.get("/pages/page.js", (c) => {
    const { text, path } = SCRIPTS[readersLocale(c.req.query("lang"), null, null)];
    const cached = path.endsWith(`v=${c.req.query("v")}`) ? FOREVER : HOUR;
    return c.body(text, 200, { "Content-Type": "text/javascript; charset=utf-8", "Cache-Control": cached });
  });
  app.get(`/pages/${FONT_NAME}`, async (c) => {
    const { FONT_DATA } = await import("#shared/look/font_data.ts");
    const data = Uint8Array.from(atob(FONT_DATA), (letter) => letter.charCodeAt(0));
    return c.body(data, 200, { "Content-Type": "font/woff2", "Cache-Control": FOREVER });
  });
  app.get(`/pages${LEAF.path}`, (c) =>
    c.body(LEAF.text, 200, { "Content-Type": "image/svg+xml", "Cache-Control": HOUR }),
  );
  app.get("/pages/brand.css", (c) => style(c, brandStyle(c.req.query())));
  for (const flow of FLOWS) add(app, environment, flow, false);
  // typed with a slash at the end, it is the page without
  app.get("/pages/*", async (c, next) => {
    const { pathname, search } = new URL(c.req.url);
    const page = pathname.slice(pathname.indexOf("/pages/") + "/pages".length).replace(/\/+$/, "");
    if (page === "" || !pathname.endsWith("/")) return next();
    return c.redirect(`${environment.config.PAGES_URL}${page}${search}`, 303);
  });
  app.all("/pages/*", (c) => {
    const request = bare(c, environment);
    const { not_found } = request.frame.words;
    return request.page(kindPage(request.frame, not_found, onward(request.frame.to(""), not_found.home)), 404);
  });
  app.onError((error, c) => failure(error, c, environment));
  return app as unknown as Hono;
}

export const pages: Pages = {
  sql: FLOWS.flatMap(({ sql }) => sql),
  slow: FLOWS.flatMap(({ slow_sql = [] }) => slow_sql),
  maxBody: Math.max(...UPLOADS.values()) + MAX_FORM,
  routes,
};

/** Adds the routes of a flow that accept a form from any origin, or the other routes. */
function add(app: Hono<PagesEnv>, environment: Environment, flow: Flow, fromAnywhere: boolean): void {
  for (const route of flow.routes) {
    if ((route.from_anywhere ?? false) !== fromAnywhere) continue;
    app.on(route.method, `/pages${route.path}`, (c) => route.run(new PageRequest(c, environment, flow)));
  }
}

/** How large a file the form of this path may send; undefined where it sends none. */
function uploadOf(c: Context<PagesEnv>): number | undefined {
  return matchedRoutes(c)
    .map(({ path }) => UPLOADS.get(path))
    .find((upload) => upload !== undefined);
}

/** A request that belongs to no flow: it runs no SQL. */
function bare(c: Context<PagesEnv>, environment: Environment): PageRequest {
  return new PageRequest(c, environment, { id: "no flow", sql: [] });
}

function refuse(c: Context<PagesEnv>, environment: Environment, status: 400 | 403 | 408 | 413): PageAnswer {
  const request = bare(c, environment);
  return request.page(kindPage(request.frame, request.frame.words.refused), status);
}

/** For a file whose address changes with its content. */
const FOREVER = "public, max-age=31536000, immutable";
const HOUR = "public, max-age=3600";

function style(c: Context<PagesEnv>, text: string, cached = HOUR): PageAnswer {
  return c.body(text, 200, { "Content-Type": "text/css; charset=utf-8", "Cache-Control": cached });
}

/** Ids, headers and the log line of every page; the line names the route, for the path holds the token. */
function observe(environment: Environment): MiddlewareHandler<PagesEnv> {
  const root = new URL(environment.config.PAGES_URL).pathname.replace(/\/$/, "");
  return async (c, next) => {
    const started = performance.now();
    c.set("request_id", crypto.randomUUID());
    c.set("root", root);
    c.set("form", new URLSearchParams());
    await next();
    for (const [name, value] of Object.entries(HEADERS)) if (!c.res.headers.has(name)) c.header(name, value);
    c.header("X-Request-Id", c.var.request_id);
    logRequest(
      environment.log,
      started,
      {
        request_id: c.var.request_id,
        function: "pages",
        method: c.req.method,
        route: matchedRoutes(c).findLast(({ method }) => method !== "ALL")?.path ?? "none",
        status: c.res.status,
        outcome: c.var.outcome,
      },
      c.error,
    );
  };
}

/**
 * Whether a form was sent by a page of ours. The token in the path guards a link: without it nobody can forge a form.
 * This is the second lock. Under no-referrer browsers send `Origin: null`, so Sec-Fetch-Site is asked first.
 */
function isOurForm(c: Context, type: string, origin: string): boolean {
  if (!c.req.header("content-type")?.startsWith(type)) return false;
  const site = c.req.header("sec-fetch-site");
  if (site !== undefined) return site === "same-origin";
  const from = c.req.header("origin");
  return from === undefined || from === "null" || from === origin;
}

/** What reading a form may end in. */
const UNREAD: { [code in ErrorCode]?: 400 | 408 | 413 } = {
  invalid_json: 400, // not UTF-8
  invalid_request: 400, // no multipart form
  request_timeout: 408,
  payload_too_large: 413,
};

function failure(error: Error, c: Context<PagesEnv>, environment: Environment): PageAnswer {
  const request = bare(c, environment);
  const { frame } = request;
  const { words } = frame;
  const said = (line: string) => html`<p>${line}</p>`;
  const code = error instanceof ApiError ? error.code : "internal_error";
  const wait = error instanceof ApiError ? (error.retryAfter ?? 1) : 1;
  if (code === "too_many_requests") {
    request.logOutcome(code);
    c.header("Retry-After", String(wait));
    return request.page(kindPage(frame, words.too_many_requests, said(words.retry_in(wait))), 429);
  }
  if (code === "payload_too_large" && uploadOf(c)) {
    request.logOutcome(code);
    return request.page(kindPage(frame, words.file_too_large), 413);
  }
  const unread = UNREAD[code];
  if (unread) return refuse(c, environment, unread);
  const unavailable = code === "service_unavailable" || code === "authentication_unavailable";
  if (unavailable) c.header("Retry-After", String(wait));
  const quote = said(`${words.failed.quote} ${c.var.request_id}`);
  return request.page(kindPage(frame, words.failed, quote), unavailable ? 503 : 500);
}
