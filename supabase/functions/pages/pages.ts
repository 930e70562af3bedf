import { type Context, Hono, type MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { html } from "hono/html";
import { matchedRoutes } from "hono/route";
import type { Environment } from "#shared/foundation/environment.ts";
import { ApiError, RETRY_AFTER_UNAVAILABLE } from "#shared/foundation/errors.ts";
import { describeCause } from "#shared/foundation/log.ts";
import * as claim from "./claim.ts";
import * as consent from "./consent.ts";
import * as enter from "./enter.ts";
import { type Frame, type Html, layout } from "./layout.ts";
import * as mandate from "./mandate.ts";
import { kindPage } from "./mandate_views.ts";
import { acceptedLocale, isLocale, MESSAGES } from "./messages.ts";
import { brandStyle, STYLE } from "./style.ts";
import * as unsubscribe from "./unsubscribe.ts";

/** What a request for a page carries along. */
export type PagesEnv = {
  Variables: {
    request_id: string;
    /** The client's network address: hashed to count by, stored as evidence of a signature, never logged. */
    address: string;
    /** The public path of the pages' root, which behind a gateway is not the path the function sees. */
    root: string;
    form: URLSearchParams;
    /** For the log: what became of the request, where a status does not say it. */
    outcome?: string;
  };
};

const MAX_FORM = 16 * 1024;

/** Nothing inline, nothing from elsewhere, in nobody's frame. The address holds the token, so no referrer leaves the page. */
const HEADERS = {
  "Content-Security-Policy":
    "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  "Referrer-Policy": "no-referrer",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
  "X-Robots-Tag": "noindex, nofollow",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cache-Control": "no-store",
};

/** The pages of one environment, at /pages as the function sees them. */
export function pages(environment: Environment): Hono {
  const { PAGES_URL } = environment.config;
  const app = new Hono<PagesEnv>();
  app.use("/pages/*", observe(environment));
  app.use(
    "/pages/*",
    bodyLimit({
      maxSize: MAX_FORM,
      onError: (c: Context<PagesEnv>) => c.html(kindPage(frameOf(c, environment), "refused"), 413),
    }),
  );
  // before the lock on forms: mail programs post here in one click (RFC 8058), and the token is all the credential there is
  app.post(`/pages${unsubscribe.PATH}`, (c) => unsubscribe.optOut(c, environment));
  app.use("/pages/*", async (c, next) => {
    if (c.req.method === "POST") {
      if (!isOurForm(c, new URL(PAGES_URL).origin)) return c.html(kindPage(frameOf(c, environment), "refused"), 403);
      c.set("form", new URLSearchParams(await c.req.text()));
    }
    return next();
  });

  app.on("GET", ["/pages", "/pages/"], (c) => c.html(homePage(frameOf(c, environment))));
  app.get("/pages/style.css", (c) =>
    c.body(STYLE, 200, { "Content-Type": "text/css; charset=utf-8", "Cache-Control": "public, max-age=3600" }),
  );
  app.get("/pages/brand.css", (c) =>
    c.body(brandStyle(c.req.query()), 200, {
      "Content-Type": "text/css; charset=utf-8",
      "Cache-Control": "public, max-age=3600",
    }),
  );
  const MANDATE = `/pages${mandate.PATH}`;
  app.get(MANDATE, (c) => mandate.read(c, environment));
  app.get(`${MANDATE}/document`, (c) => mandate.download(c, environment));
  app.get(`${MANDATE}/sign`, (c) => mandate.showSign(c, environment));
  app.post(`${MANDATE}/sign`, (c) => mandate.sign(c, environment));
  app.post(`${MANDATE}/code`, (c) => mandate.sendCode(c, environment));
  app.get(`${MANDATE}/decline`, (c) => mandate.showDecline(c, environment));
  app.post(`${MANDATE}/decline`, (c) => mandate.decline(c, environment));
  const CONSENT = `/pages${consent.PATH}`;
  app.get(CONSENT, (c) => consent.show(c, environment));
  app.post(CONSENT, (c) => consent.allow(c, environment));
  app.post(`${CONSENT}/sign-in`, (c) => consent.signIn(c, environment));
  app.post(`${CONSENT}/mail-code`, (c) => consent.mailCode(c, environment));
  app.get(`${CONSENT}/code`, (c) => consent.showCode(c, environment));
  app.post(`${CONSENT}/code`, (c) => consent.signInByCode(c, environment));
  app.post(`${CONSENT}/sign-out`, (c) => consent.signOut(c, environment));
  const CLAIM = `/pages${claim.PATH}`;
  app.get(CLAIM, (c) => claim.start(c, environment));
  app.post(`${CLAIM}/code`, (c) => claim.sendCode(c, environment));
  app.get(`${CLAIM}/proof`, (c) => claim.showProof(c, environment));
  app.post(`${CLAIM}/proof`, (c) => claim.prove(c, environment));
  app.get(`${CLAIM}${claim.STEP_PATH}`, (c) => claim.showStep(c, environment));
  app.post(`${CLAIM}${claim.STEP_PATH}`, (c) => claim.saveStep(c, environment));
  app.get(`${CLAIM}/mandate`, (c) => claim.showMandate(c, environment));
  app.get(`${CLAIM}/sign`, (c) => claim.showSign(c, environment));
  app.post(`${CLAIM}/sign-code`, (c) => claim.sendSignCode(c, environment));
  app.post(`${CLAIM}/sign`, (c) => claim.sign(c, environment));
  app.get(`${CLAIM}/document`, (c) => claim.download(c, environment));
  app.get(`${CLAIM}/revoke`, (c) => claim.showRevoke(c, environment));
  app.post(`${CLAIM}/revoke`, (c) => claim.revoke(c, environment));
  app.get(`/pages${enter.PATH}`, (c) => enter.show(c, environment));
  app.post(`/pages${enter.PATH}`, (c) => enter.use(c, environment));
  app.get(`/pages${unsubscribe.PATH}`, (c) => unsubscribe.ask(c, environment));
  app.all("/pages/*", (c) => c.html(kindPage(frameOf(c, environment), "not_found"), 404));
  app.onError((error, c) => failure(error, c, environment));
  return app as unknown as Hono;
}

/** Ids, headers and the log line of every page; the line names the route, for the path holds the token. */
function observe(environment: Environment): MiddlewareHandler<PagesEnv> {
  const root = new URL(environment.config.PAGES_URL).pathname.replace(/\/$/, "");
  return async (c, next) => {
    const started = performance.now();
    c.set("request_id", crypto.randomUUID());
    // the first entry is the client as the platform's gateway saw it
    c.set("address", c.req.header("x-forwarded-for")?.split(",")[0]?.trim() || "unknown");
    c.set("root", root);
    c.set("form", new URLSearchParams());
    await next();
    for (const [name, value] of Object.entries(HEADERS)) if (!c.res.headers.has(name)) c.header(name, value);
    c.header("X-Request-Id", c.var.request_id);
    environment.log({
      level: c.res.status >= 500 ? "error" : "info",
      event: "request",
      request_id: c.var.request_id,
      function: "pages",
      method: c.req.method,
      route: matchedRoutes(c).findLast(({ method }) => method !== "ALL")?.path ?? "none",
      status: c.res.status,
      ms: Math.round((performance.now() - started) * 10) / 10,
      outcome: c.var.outcome,
      ...(c.error ? { cause: describeCause(c.error instanceof ApiError ? (c.error.cause ?? c.error) : c.error) } : {}),
    });
  };
}

/**
 * Whether a form was sent by a page of ours. The token in the path is what really guards a link: whoever does not hold it can
 * forge nothing. This is the second lock. Under no-referrer browsers send `Origin: null`, so Sec-Fetch-Site is asked first.
 */
function isOurForm(c: Context, origin: string): boolean {
  if (!c.req.header("content-type")?.startsWith("application/x-www-form-urlencoded")) return false;
  const site = c.req.header("sec-fetch-site");
  if (site !== undefined) return site === "same-origin";
  const from = c.req.header("origin");
  return from === undefined || from === "null" || from === origin;
}

function failure(error: Error, c: Context<PagesEnv>, environment: Environment): Response | Promise<Response> {
  const frame = frameOf(c, environment);
  if (error instanceof ApiError && error.code === "too_many_requests") {
    const { retry_after } = error.fields.rate as { retry_after: number };
    c.set("outcome", "too_many_requests");
    c.header("Retry-After", String(Math.max(retry_after, 1)));
    return c.html(kindPage(frame, "too_many_requests", frame.messages.retry_in(retry_after)), 429);
  }
  const unavailable = error instanceof ApiError && error.code === "service_unavailable";
  if (unavailable) c.header("Retry-After", String(RETRY_AFTER_UNAVAILABLE));
  const quote = `${frame.messages.failed.quote} ${c.var.request_id}`;
  return c.html(kindPage(frame, "failed", quote), unavailable ? 503 : 500);
}

/** The frame of a page that belongs to no link. */
function frameOf(c: Context<PagesEnv>, { config }: Environment): Frame {
  const wanted = c.req.query("lang");
  const locale = isLocale(wanted) ? wanted : acceptedLocale(c.req.header("accept-language"));
  const { root } = c.var;
  return { config, locale, messages: MESSAGES[locale], root, inLanguage: (other) => `?lang=${other}` };
}

function homePage(frame: Frame): Html {
  const { messages, config } = frame;
  const words = messages.home;
  return layout(frame, {
    title: words.title,
    body: html`<p class="lead">${words.text(config.SERVICE_NAME)}</p>
<p>${words.signatory}</p>
<h2>${words.developers}</h2>
<p><a class="link" href="${config.BASE_URL}/docs/openapi.json">${words.openapi}</a></p>`,
  });
}
