import type { Context } from "hono";
import { hashAddress, hashSecret, newCode } from "#shared/auth/tokens.ts";
import { composeMandateCode, composeMandateSigned } from "#shared/domain/mail/mail.ts";
import { composeDocument, type Facts } from "#shared/domain/mandate_text/mandate_text.ts";
import type { Caller } from "#shared/foundation/caller.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { lineOf } from "#shared/values/fields.ts";
import type { Html } from "./layout.ts";
import {
  askCodePage,
  changedPage,
  declinedPage,
  declinePage,
  kindPage,
  type MandateFrame,
  readPage,
  type SignErrors,
  type Signed,
  type Step,
  signatureOf,
  signedPage,
  signPage,
  type Typed,
  tooManyCodesPage,
} from "./mandate_views.ts";
import { acceptedLocale, isLocale, type Locale, MESSAGES, type Messages } from "./messages.ts";
import type { PagesEnv } from "./pages.ts";

/** The api functions behind the signing page. Opening and acting are two statements: at most two round trips a request. */
export const SQL = ["open_mandate_link", "send_mandate_code", "sign_mandate", "decline_mandate"] as const;

/** The path of the mandate pages under the pages' root. The token is the credential, and never logged. */
export const PATH = "/mandate/:token";

/** A token of newSecret(): 256 bits in base62. Anything else is not looked up. */
const TOKEN = /^[0-9A-Za-z]{43}$/;

/** Links that lead nowhere answer alike: whether one ever existed is nobody's business. */
const DEAD = 404;

type Opened = {
  state: "open" | "signed" | "declined" | "voided" | "expired" | "unknown";
  locale: Locale | null;
  code_sent: boolean;
  partner_name: string | null;
  return_url: string | null;
  facts: Facts | null;
  signed: Signed | null;
};

const UNKNOWN: Opened = {
  state: "unknown",
  locale: null,
  code_sent: false,
  partner_name: null,
  return_url: null,
  facts: null,
  signed: null,
};

/** A request for a page of one link, the link having been opened. */
class Visit {
  readonly c: Context<PagesEnv>;
  readonly environment: Environment;
  readonly token: string;
  readonly opened: Opened;
  readonly locale: Locale;
  readonly frame: MandateFrame;

  private constructor(c: Context<PagesEnv>, environment: Environment, token: string, opened: Opened) {
    this.c = c;
    this.environment = environment;
    this.token = token;
    this.opened = opened;
    const wanted = c.req.query("lang");
    this.locale = isLocale(wanted) ? wanted : (opened.locale ?? acceptedLocale(c.req.header("accept-language")));
    const base = `${c.var.root}/mandate/${token}`;
    const address = (step: string, query: Record<string, string>) => `${base}${step}?${new URLSearchParams(query)}`;
    const seen = c.req.query("seen") ?? c.var.form.get("seen");
    const { config } = environment;
    this.frame = {
      config,
      locale: this.locale,
      messages: MESSAGES[this.locale],
      root: c.var.root,
      to: (step, query = {}) => address(step, { lang: this.locale, ...query }),
      // the same page; one that answers a form is left for the page of that form
      inLanguage: (other) =>
        `${c.req.path.endsWith("/code") ? "sign" : ""}?${new URLSearchParams({ lang: other, ...(seen ? { seen } : {}) })}`,
    };
  }

  /** Every visit counts against the address it comes from; a refused one throws. */
  static async open(c: Context<PagesEnv>, environment: Environment): Promise<Visit> {
    const token = c.req.param("token") ?? "";
    if (!TOKEN.test(token)) return new Visit(c, environment, "unknown", UNKNOWN);
    const request = { token_hash: hashSecret(token), address_hash: hashAddress(environment, c.var.address) };
    const answer = await environment.db.call(SQL[0], callerOf(c, environment), request);
    return new Visit(c, environment, token, JSON.parse(answer));
  }

  async call<Answer>(name: (typeof SQL)[number], request: object): Promise<Answer> {
    const answer = await this.environment.db.call(name, callerOf(this.c, this.environment), {
      token_hash: hashSecret(this.token),
      ...request,
    });
    return JSON.parse(answer);
  }

  /** Which facts were read, whatever the language: they must still be the same when they are signed. */
  get version(): string {
    return hashSecret(JSON.stringify(this.opened.facts)).slice(0, 16);
  }

  /** The code is hashed with the token, which the database does not hold: its million values cannot be tried out there. */
  hashCode(code: string): string {
    return hashSecret(`${this.token}:${code}`);
  }

  page(page: Html, status: 200 | 404 | 409 | 422 | 429 = 200): Response | Promise<Response> {
    return this.c.html(page, status);
  }

  /** See Other: what a form did is shown by a page of its own, which can be reloaded. */
  go(step: Step, query?: Record<string, string>): Response {
    return this.c.redirect(this.frame.to(step, query), 303);
  }

  /** The page of a link that is no longer, or was never, open; null when it is. */
  closed(): Response | Promise<Response> | null {
    const { state, signed, partner_name, return_url } = this.opened;
    if (state === "open") return null;
    this.c.set("outcome", state);
    if (state === "signed" && signed) return this.page(signedPage(this.frame, signed, partner_name ?? "", return_url));
    if (state === "declined") return this.page(declinedPage(this.frame, partner_name ?? "", return_url));
    return this.page(kindPage(this.frame, state === "signed" ? "unknown" : state), DEAD);
  }
}

export function callerOf(c: Context<PagesEnv>, { config }: Environment): Caller {
  return { kind: "anyone", host: config.API_HOST, request_id: c.var.request_id };
}

type Handler = (c: Context<PagesEnv>, environment: Environment) => Promise<Response>;
type OpenHandler = (visit: Visit, facts: Facts, document: string) => Response | Promise<Response>;

/** A step that only an open link has. A link that was signed or declined elsewhere meanwhile leads to what became of it. */
function onOpenLink(run: OpenHandler): Handler {
  return async (c, environment) => {
    const visit = await Visit.open(c, environment);
    const { state, facts } = visit.opened;
    if (state === "signed" || state === "declined") return visit.go("");
    return visit.closed() ?? run(visit, facts as Facts, documentOf(visit, facts as Facts));
  };
}

function documentOf({ environment: { config }, locale }: Visit, facts: Facts): string {
  return composeDocument(facts, { name: config.SERVICE_NAME, email: config.SUPPORT_EMAIL }, locale);
}

/** Step 1, and afterwards what became of it. */
export const read: Handler = async (c, environment) => {
  const visit = await Visit.open(c, environment);
  const { facts } = visit.opened;
  return (
    visit.closed() ??
    visit.page(readPage(visit.frame, facts as Facts, documentOf(visit, facts as Facts), visit.version))
  );
};

/** The text, to be kept: as it would be signed, or as it was. */
export const download: Handler = async (c, environment) => {
  const visit = await Visit.open(c, environment);
  const { facts, signed } = visit.opened;
  if (!facts && !signed) return visit.closed() as Response | Promise<Response>;
  const { messages } = visit.frame;
  return asFile(c, messages, signed ? signedText(signed, messages) : documentOf(visit, facts as Facts));
};

/** What was signed, with the signature under it. */
export function signedText(signed: Signed, messages: Messages): string {
  const lines = [...signatureOf(signed, messages), [messages.signed.fingerprint, signed.document_sha256]];
  return `${signed.document}\n\n----\n${lines.map(([label, value]) => `${label}: ${value}`).join("\n")}\n`;
}

export function asFile(c: Context<PagesEnv>, messages: Messages, text: string): Response {
  return c.body(text, 200, {
    "Content-Type": "text/plain; charset=utf-8",
    "Content-Disposition": `attachment; filename="${messages.document.filename}"`,
  });
}

/** Step 2. Who has not read step 1 as it is now goes back to it. */
export const showSign = onOpenLink((visit, facts, document) => {
  const seen = visit.c.req.query("seen");
  if (!seen) return visit.go("");
  if (seen !== visit.version) return visit.page(changedPage(visit.frame), 409);
  return visit.page(
    facts.email === null || visit.opened.code_sent
      ? signPage(visit.frame, facts, document, seen)
      : askCodePage(visit.frame, facts, seen),
  );
});

export const sendCode = onOpenLink(async (visit, facts) => {
  const seen = visit.c.var.form.get("seen") ?? "";
  const code = newCode();
  const { partner_name, full_name } = facts;
  const { config } = visit.environment;
  const { outcome, retry_after } = await visit.call<{ outcome: string; retry_after?: number }>("send_mandate_code", {
    code_hash: visit.hashCode(code),
    mail: composeMandateCode({ config, locale: visit.locale, code, full_name, partner_name }),
  });
  visit.c.set("outcome", outcome);
  if (outcome !== "too_many_codes") return visit.go(outcome === "not_open" ? "" : "/sign", { seen });
  visit.c.header("Retry-After", String(retry_after));
  const { frame } = visit;
  const { action } = frame.messages.too_many_codes;
  return visit.page(tooManyCodesPage(frame, retry_after ?? 60, frame.to("/sign", { seen }), action), 429);
});

/** A one-time code as it was typed, spaces, dots and dashes forgiven; null where it is none. */
export function readCode(form: URLSearchParams): string | null {
  const code = (form.get("code") ?? "").replace(/[\s.-]/g, "");
  return /^\d{6}$/.test(code) ? code : null;
}

/** The form of the signature: what was typed, as it is shown again, and what is wrong with it. */
export function readSignature(form: URLSearchParams, facts: Facts, words: Messages["sign"]["errors"]) {
  const code = readCode(form);
  const name = lineOf(2, 120).safeParse(form.get("name") ?? "");
  const typed: Typed = {
    name: (form.get("name") ?? "").slice(0, 200),
    agree: form.has("agree"),
    authority: form.has("authority"),
  };
  const errors: SignErrors = {
    ...(facts.email !== null && code === null ? { code: words.code_missing } : {}),
    ...(name.success ? {} : { name: words.name }),
    ...(typed.agree ? {} : { agree: words.agree }),
    ...(facts.type === "particulier" || typed.authority ? {} : { authority: words.authority }),
  };
  return { code: code ?? "", name: name.success ? name.data : null, typed, errors };
}

type SignOutcome = "signed" | "changed" | "wrong_code" | "code_expired" | "too_many_attempts" | "not_open";

export const sign = onOpenLink(async (visit, facts, document) => {
  const { frame, c } = visit;
  const { form } = c.var;
  const { errors: words } = frame.messages.sign;
  if (form.get("seen") !== visit.version) return visit.page(changedPage(frame), 409);

  const { code, name, typed, errors } = readSignature(form, facts, words);
  const again = (wrong: SignErrors) => visit.page(signPage(frame, facts, document, visit.version, typed, wrong), 422);
  if (name === null || Object.keys(errors).length > 0) return again(errors);

  const { config } = visit.environment;
  const { full_name, partner_name } = facts;
  const link = `${config.PAGES_URL}/mandate/${visit.token}`;
  const { outcome } = await visit.call<{ outcome: SignOutcome }>("sign_mandate", {
    facts,
    signed_name: name,
    code_hash: visit.hashCode(code),
    document,
    document_sha256: hashSecret(document),
    address: c.var.address,
    user_agent: c.req.header("user-agent") ?? null,
    mail: composeMandateSigned({ config, locale: visit.locale, link, full_name, partner_name, document }),
  });
  c.set("outcome", outcome);
  switch (outcome) {
    case "signed":
    case "not_open":
      return visit.go("");
    case "changed":
      return visit.page(changedPage(frame), 409);
    default:
      return again({ code: words[outcome] });
  }
});

export const showDecline = onOpenLink((visit, facts) => visit.page(declinePage(visit.frame, facts.partner_name)));

export const decline = onOpenLink(async (visit) => {
  const { outcome } = await visit.call<{ outcome: string }>("decline_mandate", {
    address: visit.c.var.address,
    user_agent: visit.c.req.header("user-agent") ?? null,
  });
  visit.c.set("outcome", outcome);
  return visit.go("");
});
