import type { Context } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { decodeJwt } from "jose";
import { AuthorizationRequest, redirectUrl, surface } from "#shared/auth/authorize.ts";
import { readSession } from "#shared/auth/session.ts";
import { secretKey, signInByMail, signInByPassword } from "#shared/auth/supabase_auth.ts";
import { hashAddress, hashSecret, newCode, newSecret, sameSecret } from "#shared/auth/tokens.ts";
import { composeSignInCode } from "#shared/domain/mail/mail.ts";
import type { Caller } from "#shared/foundation/caller.ts";
import { ConfigurationError, type Environment, oncePerEnvironment } from "#shared/foundation/environment.ts";
import { ApiError } from "#shared/foundation/errors.ts";
import { serve } from "#shared/http/surface.ts";
import { email } from "#shared/values/fields.ts";
import {
  type Asking,
  askPage,
  badRequestPage,
  type CodeError,
  type ConsentFrame,
  codePage,
  donePage,
  type SignInErrors,
  signInPage,
} from "./consent_views.ts";
import type { Frame, Html } from "./layout.ts";
import { readCode } from "./mandate.ts";
import { tooManyCodesPage } from "./mandate_views.ts";
import { acceptedLocale, isLocale, MESSAGES } from "./messages.ts";
import type { PagesEnv } from "./pages.ts";

/**
 * The authorization endpoint of RFC 6749 for browsers: who asks, sign in with Supabase Auth, allow or refuse. Allowing is a call
 * of oauth-authorize with the person's session, in this process: the page has no rules of its own. Whoever has no password, as
 * after a claim, signs in by a mailed code, which only the browser that asked for it can use.
 */

export const SQL = ["describe_authorization", "count_sign_in", "send_sign_in_code", "redeem_sign_in_code"] as const;

export const PATH = "/consent";

/** Long enough to read and decide. The page keeps the session and nothing else keeps it: Auth's refresh token is dropped. */
const SESSION_SECONDS = 600;
/** Longer than the code works, so that whoever comes late is told so. */
const CODE_COOKIE_SECONDS = 3600;
/** What browsers keep of one cookie, with its name and attributes. */
const MAX_COOKIE = 4000;

type Handler = (c: Context<PagesEnv>, environment: Environment) => Promise<Response>;

/** oauth-authorize itself, admission and all. */
const authorization = oncePerEnvironment((environment) => serve(surface, environment));

/** A request for the page of one authorization request, whose client and redirect URI were found good. */
class Visit {
  readonly c: Context<PagesEnv>;
  readonly environment: Environment;
  readonly request: AuthorizationRequest;
  readonly asking: Asking;
  readonly frame: ConsentFrame;

  private constructor(
    c: Context<PagesEnv>,
    environment: Environment,
    request: AuthorizationRequest,
    asking: Asking,
    frame: Frame,
  ) {
    this.c = c;
    this.environment = environment;
    this.request = request;
    this.asking = asking;
    const query = new URLSearchParams({ ...request, lang: frame.locale });
    const { redirect_uri, state } = request;
    this.frame = {
      ...frame,
      to: (step) => `${c.var.root}${PATH}${step}?${query}`,
      refused: redirectUrl(redirect_uri, environment.config.AUTH_URL, { error: "access_denied", state }),
    };
  }

  /** The visit, or the answer to a request that cannot be one. Every one counts against the address it comes from. */
  static async open(c: Context<PagesEnv>, environment: Environment): Promise<Visit | Response> {
    const frame = frameOf(c, environment);
    const sent = new URL(c.req.url).searchParams;
    // a parameter that is repeated is none (RFC 6749 section 3.1)
    const once = (name: string) => (sent.getAll(name).length === 1 ? sent.get(name) : undefined);
    const { shape } = AuthorizationRequest;
    const given = Object.fromEntries(Object.keys(shape).map((name) => [name, once(name)]));
    const read = (name: keyof typeof shape) => shape[name].safeParse(given[name]).data as string | undefined;

    const [client_id, redirect_uri] = [read("client_id"), read("redirect_uri")];
    if (client_id === undefined || redirect_uri === undefined) return bad(c, frame);
    // RFC 6749 section 4.1.2.1: once both are good, the application is told what is wrong. A form cannot lead there, see allow()
    const tell = (error: string) => {
      if (c.req.method === "POST") return bad(c, frame);
      c.set("outcome", error);
      const state = read("state");
      return c.redirect(
        redirectUrl(redirect_uri, environment.config.AUTH_URL, { error, ...(state && { state }) }),
        303,
      );
    };
    try {
      const asking = await call(c, environment, "describe_authorization", {
        client_id,
        redirect_uri,
        scope: read("scope") ?? "",
        address_hash: hashAddress(environment, c.var.address),
      });
      const request = AuthorizationRequest.safeParse(given);
      if (!request.success) return tell("invalid_request");
      if (request.data.response_type !== "code") return tell("unsupported_response_type");
      return new Visit(c, environment, request.data, asking as Asking, frame);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.code === "invalid_client" || error.code === "invalid_redirect_uri") return bad(c, frame);
      if (error.code === "unauthorized_client" || error.code === "invalid_scope") return tell(error.code);
      throw error;
    }
  }

  /** The session JWT in the cookie and whose it is; null when there is none, or none that is still good. */
  async session(): Promise<{ jwt: string; email: string } | null> {
    const jwt = this.cookie("consent");
    if (!jwt || !(await read(this.environment, jwt))) return null;
    return { jwt, email: String(decodeJwt(jwt).email ?? "") };
  }

  /** The code this browser asked for: the secret it works with, and the address that was typed. */
  waiting(): { token: string; email: string } | null {
    const [token = "", address] = (this.cookie("consent-code") ?? "").split(" ");
    return address ? { token, email: address } : null;
  }

  cookie(name: CookieName): string | undefined {
    return getCookie(this.c, cookieOf(this.environment, name).name);
  }

  keep(name: CookieName, value: string, maxAge: number): void {
    const cookie = cookieOf(this.environment, name);
    setCookie(this.c, cookie.name, value, { ...cookie.attributes, maxAge });
  }

  forget(name: CookieName): void {
    const cookie = cookieOf(this.environment, name);
    if (this.cookie(name) !== undefined) deleteCookie(this.c, cookie.name, cookie.attributes);
  }

  page(page: Html, status: 200 | 401 | 409 | 422 | 429 = 200): Response | Promise<Response> {
    return this.c.html(page, status);
  }

  signIn(typed?: string, errors?: SignInErrors): Response | Promise<Response> {
    return this.page(signInPage(this.frame, this.asking, typed, errors), errors ? 422 : 200);
  }

  askCode(address: string, error?: CodeError): Response | Promise<Response> {
    return this.page(codePage(this.frame, address, error), error ? 422 : 200);
  }

  ask(session: { jwt: string; email: string }, again = false): Response | Promise<Response> {
    const { redirect_uri } = this.request;
    const shown = { email: session.email, host: new URL(redirect_uri).host, proof: this.proof(session.jwt), again };
    return this.page(askPage(this.frame, this.asking, shown), again ? 409 : 200);
  }

  /** Only who has the session can make it, and it fits no other request. */
  proof(jwt: string): string {
    return hashSecret(JSON.stringify([jwt, this.request, this.asking]));
  }

  /** However somebody signed in: their session is this browser's for now. */
  async begin(jwt: string): Promise<Response> {
    if (!(await read(this.environment, jwt))) {
      throw new ConfigurationError(
        "SUPABASE_URL: its Auth signs sessions in a way that is not accepted; use an asymmetric signing key (ES256 or RS256)",
      );
    }
    if (jwt.length > MAX_COOKIE) throw new Error("the session is larger than a cookie");
    this.keep("consent", jwt, SESSION_SECONDS);
    this.forget("consent-code");
    return this.go("");
  }

  /** See Other: what a form did is shown by a page of its own. */
  go(step: "" | "/code"): Response {
    return this.c.redirect(this.frame.to(step), 303);
  }
}

function frameOf(c: Context<PagesEnv>, { config }: Environment): Frame {
  const query = new URL(c.req.url).searchParams;
  const wanted = [query.get("lang"), ...(query.get("ui_locales") ?? "").split(" ")].find(isLocale);
  const locale = wanted ?? acceptedLocale(c.req.header("accept-language"));
  return {
    config,
    locale,
    messages: MESSAGES[locale],
    root: c.var.root,
    inLanguage: (other) => {
      const same = new URLSearchParams(query);
      same.set("lang", other);
      return `${c.var.root}${PATH}${c.req.path.endsWith("/code") ? "/code" : ""}?${same}`;
    },
  };
}

async function call(
  c: Context<PagesEnv>,
  { config, db }: Environment,
  name: (typeof SQL)[number],
  request: object,
): Promise<unknown> {
  const caller: Caller = { kind: "anyone", host: config.API_HOST, request_id: c.var.request_id };
  return JSON.parse(await db.call(name, caller, request));
}

function bad(c: Context<PagesEnv>, frame: Frame): Response | Promise<Response> {
  c.set("outcome", "bad_request");
  return c.html(badRequestPage(frame), 400);
}

type CookieName = "consent" | "consent-code";

/** For this page only, out of reach of scripts; sent along when an application leads here, and by no form of another site. */
function cookieOf({ config }: Environment, name: CookieName) {
  const url = new URL(config.PAGES_URL);
  const secure = url.protocol === "https:";
  return {
    name: secure ? `__Secure-${name}` : name,
    attributes: {
      path: `${url.pathname.replace(/\/$/, "")}${PATH}`,
      httpOnly: true,
      secure,
      sameSite: "Lax",
    } as const,
  };
}

/** A session that cannot be judged is for later, not refused. */
async function read(environment: Environment, jwt: string) {
  try {
    return await readSession(environment, jwt);
  } catch (error) {
    throw new ApiError("service_unavailable", {}, error);
  }
}

/** The address in a form, as typed and, if it can be one, as it is known. */
function addressIn(c: Context<PagesEnv>): { typed: string; address: string | undefined } {
  const typed = (c.var.form.get("email") ?? "").slice(0, 254);
  return { typed, address: email().safeParse(typed).data };
}

/** Whose sign-in is counted, and from where. */
function counted(c: Context<PagesEnv>, environment: Environment, address: string) {
  return { address_hash: hashAddress(environment, c.var.address), email_hash: hashAddress(environment, address) };
}

export const show: Handler = async (c, environment) => {
  const visit = await Visit.open(c, environment);
  if (visit instanceof Response) return visit;
  const session = await visit.session();
  return session ? visit.ask(session) : visit.signIn(visit.waiting()?.email);
};

export const signIn: Handler = async (c, environment) => {
  const visit = await Visit.open(c, environment);
  if (visit instanceof Response) return visit;
  const { errors: words } = visit.frame.messages.consent.sign_in;
  const { typed, address } = addressIn(c);
  const password = c.var.form.get("password") ?? "";
  if (!address || !password) {
    return visit.signIn(typed, {
      ...(address ? {} : { email: words.email }),
      ...(password ? {} : { password: words.password }),
    });
  }

  await call(c, environment, "count_sign_in", counted(c, environment, address));
  const jwt = await signInByPassword(environment, address, password);
  if (jwt === "wrong" || jwt === "unconfirmed") {
    c.set("outcome", jwt);
    return visit.signIn(typed, { password: words[jwt] });
  }
  return visit.begin(jwt);
};

/** Mails a code, if there is a login to sign in to. Nothing that is answered says whether there is. */
export const mailCode: Handler = async (c, environment) => {
  const visit = await Visit.open(c, environment);
  if (visit instanceof Response) return visit;
  const { frame, asking } = visit;
  const { typed, address } = addressIn(c);
  if (!address) return visit.signIn(typed, { email: frame.messages.consent.sign_in.errors.email });

  secretKey(environment); // without one the code would be mailed in vain
  const { config, locale } = frame;
  const [token, code] = [newSecret(), newCode()];
  const answer = await call(c, environment, "send_sign_in_code", {
    ...counted(c, environment, address),
    ...hashesOf(token, code),
    email: address,
    mail: composeSignInCode({ config, locale, code, app: asking.name }),
  });
  const { outcome, retry_after = 60 } = answer as { outcome: "sent" | "too_many_codes"; retry_after?: number };
  c.set("outcome", outcome);
  if (outcome === "too_many_codes") {
    c.header("Retry-After", String(retry_after));
    return visit.page(tooManyCodesPage(frame, retry_after, frame.to("/code")), 429);
  }
  visit.keep("consent-code", `${token} ${address}`, CODE_COOKIE_SECONDS);
  return visit.go("/code");
};

/** The token never leaves the browser it was given to; a code without it is worth nothing. */
function hashesOf(token: string, code: string) {
  return { token_hash: hashSecret(token), code_hash: hashSecret(`${token}:${code}`) };
}

export const showCode: Handler = async (c, environment) => {
  const visit = await Visit.open(c, environment);
  if (visit instanceof Response) return visit;
  const waiting = visit.waiting();
  return waiting ? visit.askCode(waiting.email) : visit.go("");
};

export const signInByCode: Handler = async (c, environment) => {
  const visit = await Visit.open(c, environment);
  if (visit instanceof Response) return visit;
  const waiting = visit.waiting();
  if (!waiting) return visit.go("");
  const code = readCode(c.var.form);
  if (code === null) return visit.askCode(waiting.email, "code_missing");

  const answer = await call(c, environment, "redeem_sign_in_code", hashesOf(waiting.token, code));
  const { outcome, email } = answer as { outcome: "right_code"; email: string } | { outcome: CodeError; email: null };
  c.set("outcome", outcome);
  if (outcome !== "right_code") return visit.askCode(waiting.email, outcome);
  const jwt = await signInByMail(environment, email);
  return jwt ? visit.begin(jwt) : visit.askCode(waiting.email, "code_expired");
};

export const signOut: Handler = async (c, environment) => {
  const visit = await Visit.open(c, environment);
  if (visit instanceof Response) return visit;
  visit.forget("consent");
  return visit.go("");
};

export const allow: Handler = async (c, environment) => {
  const visit = await Visit.open(c, environment);
  if (visit instanceof Response) return visit;
  const session = await visit.session();
  if (!session) return visit.signIn();
  if (!sameSecret(c.var.form.get("proof") ?? "", visit.proof(session.jwt))) {
    c.set("outcome", "changed");
    return visit.ask(session, true);
  }

  const answer = await authorization(environment).fetch(
    new Request(new URL("/oauth-authorize", environment.config.AUTH_URL), {
      method: "POST",
      headers: { Authorization: `Bearer ${session.jwt}`, "Content-Type": "application/json" },
      body: JSON.stringify(visit.request),
    }),
  );
  const body = await answer.json();
  if (answer.status === 401) return visit.signIn();
  if (answer.status === 429) {
    throw new ApiError("too_many_requests", { rate: { retry_after: body.retry_after_seconds } });
  }
  if (answer.status === 503) throw new ApiError("service_unavailable");
  if (!answer.ok) throw new Error(`oauth-authorize answered ${answer.status} ${body.error}`);

  // the session ends with the decision
  visit.forget("consent");
  c.set("outcome", "allowed");
  // Not a redirect: form-action 'self' would stop it in Chromium, wherever it leads. A page that leads on is a step of its own.
  c.header("Refresh", `0;url=${body.redirect_url}`);
  return visit.page(donePage(visit.frame, visit.asking, body.redirect_url));
};
