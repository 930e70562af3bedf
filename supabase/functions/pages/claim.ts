import { randomInt } from "node:crypto";
import type { Context } from "hono";
import { claimToken, readClaimToken } from "../../../packages/shared/src/claim.ts";
import type { Environment } from "../../../packages/shared/src/environment.ts";
import { composeClaimCode, composeMandateSigned } from "../../../packages/shared/src/mail.ts";
import { hashAddress, hashSecret } from "../../../packages/shared/src/tokens.ts";
import { type AskLogin, makeLogin } from "./claim_login.ts";
import { beginClaimSession, type ClaimSession, isFormOf, readClaimSession } from "./claim_session.ts";
import { refusalOf, STEPS, shownValue } from "./claim_steps.ts";
import {
  type Claim,
  type ClaimFrame,
  claimKindPage,
  donePage,
  type Errors,
  mandatePage,
  mandateSteps,
  proofPage,
  STEP_NAMES,
  STEP_VIEWS,
  type StepName,
  startPage,
  tooManyCodesPage,
} from "./claim_views.ts";
import { composeDocument, type Facts } from "./document.ts";
import type { Html } from "./layout.ts";
import { asFile, callerOf, readSignature, signedText } from "./mandate.ts";
import { askCodePage, changedPage, kindPage, type MandateFrame, type SignErrors, signPage } from "./mandate_views.ts";
import { acceptedLocale, isLocale, type Locale, MESSAGES } from "./messages.ts";
import type { PagesEnv } from "./pages.ts";

/** The api functions behind a claim. A page is one statement, a form two; where a login is made, a call of Auth between them. */
export const SQL = ["open_claim", "send_claim_code", "prove_claim", "save_claim", "sign_claim"] as const;

/** The path of the claim pages under the pages' root. The token is the credential, and never logged. */
export const PATH = "/claim/:token";

/** Links that lead nowhere answer alike; the words differ, for a kind page says what to do. */
export const DEAD = 404;

type Handler = (c: Context<PagesEnv>, environment: Environment) => Promise<Response>;
type Purpose = "prove" | "sign";

/** A request for a page of one claim, the draft having been opened. */
class Visit {
  readonly c: Context<PagesEnv>;
  readonly environment: Environment;
  readonly token: string;
  readonly draft_id: string;
  readonly session: ClaimSession | null;
  readonly claim: Claim;
  readonly locale: Locale;
  readonly frame: ClaimFrame;

  constructor(c: Context<PagesEnv>, environment: Environment, token: string, draft_id: string, claim: Claim) {
    this.c = c;
    this.environment = environment;
    this.token = token;
    this.draft_id = draft_id;
    this.session = readClaimSession(c, environment, draft_id);
    this.claim = claim;
    const wanted = c.req.query("lang");
    this.locale = isLocale(wanted) ? wanted : (claim.locale ?? acceptedLocale(c.req.header("accept-language")));
    const base = pathOf(c, token);
    const { brand } = claim;
    this.frame = {
      config: environment.config,
      locale: this.locale,
      messages: MESSAGES[this.locale],
      root: c.var.root,
      to: (page, query = {}) => `${base}${page}?${new URLSearchParams({ lang: this.locale, ...query })}`,
      inLanguage: (other) => {
        const { lang: _now, ...query } = c.req.query();
        const seen = c.var.form.get("seen");
        const page = c.req.path.endsWith("/sign-code") ? "sign" : c.req.path.endsWith("/code") ? "proof" : "";
        return `${page}?${new URLSearchParams({ ...query, ...(seen ? { seen } : {}), lang: other })}`;
      },
      form_token: this.session?.form_token ?? "",
      // a page that only says how things are names nobody
      ...(claim.state === "open" || claim.signed ? { brand } : {}),
    };
  }

  /** Every visit counts against the address it comes from; a refused one throws. Forged tokens go no further than here. */
  static async open(c: Context<PagesEnv>, environment: Environment, about: object = {}): Promise<Visit | Response> {
    const token = c.req.param("token") ?? "";
    const draft_id = readClaimToken(environment, token);
    if (!draft_id) return unknown(c, environment);
    const request = {
      draft_id,
      address_hash: hashAddress(environment, c.var.address),
      proven: readClaimSession(c, environment, draft_id) !== null,
      ...about,
    };
    const claim = JSON.parse(await environment.db.call("open_claim", callerOf(c, environment), request));
    return new Visit(c, environment, token, draft_id, claim);
  }

  async call<Answer>(name: (typeof SQL)[number], request: object): Promise<Answer> {
    return JSON.parse(
      await this.environment.db.call(name, callerOf(this.c, this.environment), { draft_id: this.draft_id, ...request }),
    );
  }

  get version(): string {
    return hashSecret(JSON.stringify(this.claim.facts)).slice(0, 16);
  }

  get document(): string {
    const { config, messages } = this.frame;
    const service = { name: config.SERVICE_NAME, email: config.SUPPORT_EMAIL };
    return composeDocument(this.claim.facts as Facts, service, messages);
  }

  /** Hashed with the token, which the database does not hold, and with what the code is for: one that proves cannot sign. */
  hashCode(code: string, purpose: Purpose): string {
    return hashSecret(`${this.token}:${purpose}:${code}`);
  }

  page(page: Html, status: 200 | 403 | 404 | 409 | 422 | 429 = 200): Response | Promise<Response> {
    return this.c.html(page, status);
  }

  go(page: string, query?: Record<string, string>): Response {
    return this.c.redirect(this.frame.to(page, query), 303);
  }

  /** The page of a draft that cannot be claimed, or that this browser may not see; null where there is more to do. */
  closed(): Response | Promise<Response> | null {
    const { state, signed } = this.claim;
    if (state === "open") return null;
    this.c.set("outcome", state);
    if (state !== "active") return this.page(claimKindPage(this.frame, state), DEAD);
    if (signed) return this.page(donePage(this.frame, this.claim, signed));
    const action = { href: this.frame.to("/code"), label: this.frame.messages.claim.start.send };
    return this.page(claimKindPage(this.frame, "used", action), DEAD);
  }

  /** Frames the pages of signing, which mandates of every origin share. */
  get signing(): MandateFrame {
    const pages = {
      "": "/mandate",
      "/sign": "/sign",
      "/code": "/sign-code",
      "/decline": "/mandate",
      "/document": "/document",
    };
    return {
      ...this.frame,
      to: (step, query) => this.frame.to(pages[step], query),
      within: mandateSteps(this.frame),
    };
  }
}

function pathOf(c: Context<PagesEnv>, token: string): string {
  return `${c.var.root}/claim/${token}`;
}

/** A token that is none of ours. */
export function unknown(c: Context<PagesEnv>, { config }: Environment): Response | Promise<Response> {
  c.set("outcome", "unknown");
  const wanted = c.req.query("lang");
  const locale = isLocale(wanted) ? wanted : acceptedLocale(c.req.header("accept-language"));
  const inLanguage = (other: Locale) => `?lang=${other}`;
  return c.html(
    kindPage({ config, locale, messages: MESSAGES[locale], root: c.var.root, inLanguage }, "unknown"),
    DEAD,
  );
}

/** Begins the session of a draft whose address was proven, and leads to its pages. */
export function welcome(c: Context<PagesEnv>, environment: Environment, draft_id: string, query = ""): Response {
  const path = pathOf(c, claimToken(environment, draft_id));
  beginClaimSession(c, environment, draft_id, path);
  return c.redirect(path + query, 303);
}

/** The start, or where the customer left off. */
export const start: Handler = async (c, environment) => {
  const visit = await Visit.open(c, environment);
  if (visit instanceof Response) return visit;
  const { claim, session } = visit;
  const closed = visit.closed();
  if (closed) return closed;
  if (session && claim.status === "claimed") return visit.go(`/${claim.open_step ?? "mandate"}`);
  return visit.page(startPage(visit.frame, claim));
};

async function mailCode(visit: Visit, purpose: Purpose, then: Response, back: string): Promise<Response> {
  const code = String(randomInt(1_000_000)).padStart(6, "0");
  const { config } = visit.environment;
  const brand = visit.claim.brand ?? { name: config.SERVICE_NAME };
  const { outcome, retry_after = 60 } = await visit.call<{ outcome: string; retry_after?: number }>("send_claim_code", {
    code_hash: visit.hashCode(code, purpose),
    mail: composeClaimCode({ config, locale: visit.locale, code, purpose, brand }),
  });
  visit.c.set("outcome", outcome);
  if (outcome === "not_open") return visit.go("");
  if (outcome !== "too_many_codes") return then;
  visit.c.header("Retry-After", String(retry_after));
  return visit.page(tooManyCodesPage(visit.frame, retry_after, back), 429);
}

export const sendCode: Handler = async (c, environment) => {
  const visit = await Visit.open(c, environment);
  if (visit instanceof Response) return visit;
  const { state } = visit.claim;
  if (state !== "open" && state !== "active") return visit.closed() ?? visit.go("");
  return mailCode(visit, "prove", visit.go("/proof"), visit.frame.to("/proof"));
};

export const showProof: Handler = async (c, environment) => {
  const visit = await Visit.open(c, environment);
  if (visit instanceof Response) return visit;
  const { state, email, code_sent } = visit.claim;
  if ((state !== "open" && state !== "active") || !code_sent) return visit.go("");
  return visit.page(proofPage(visit.frame, email ?? ""));
};

type Proof = Claim & {
  outcome: "proven" | "conflict" | "not_open" | "wrong_code" | "code_expired" | "too_many_attempts";
};

/** The one form that does not open the draft first: the statement that judges the code tells all that the answer shows. */
export const prove: Handler = async (c, environment) => {
  const token = c.req.param("token") ?? "";
  const draft_id = readClaimToken(environment, token);
  if (!draft_id) return unknown(c, environment);
  const code = (c.var.form.get("code") ?? "").replace(/[\s.-]/g, "");
  if (!/^\d{6}$/.test(code)) {
    const visit = await Visit.open(c, environment);
    if (visit instanceof Response) return visit;
    const { state, email = "" } = visit.claim;
    if (state !== "open" && state !== "active") return visit.go("");
    return visit.page(proofPage(visit.frame, email, visit.frame.messages.claim.proof.errors.code_missing), 422);
  }
  const request = {
    draft_id,
    address_hash: hashAddress(environment, c.var.address),
    code_hash: hashSecret(`${token}:prove:${code}`),
    proven: false,
  };
  const answer = await withLogin<Proof>(environment, async () =>
    JSON.parse(await environment.db.call("prove_claim", callerOf(c, environment), request)),
  );
  c.set("outcome", answer.outcome);
  const visit = new Visit(c, environment, token, draft_id, answer);
  switch (answer.outcome) {
    case "proven":
      return welcome(c, environment, draft_id, `?lang=${visit.locale}`);
    case "conflict":
    case "not_open":
      return visit.go("");
    default:
      return visit.page(
        proofPage(visit.frame, answer.email ?? "", visit.frame.messages.claim.proof.errors[answer.outcome]),
        422,
      );
  }
};

/** Asks, makes the login where it is asked for, and asks again: what proves the address is used up by the second asking only. */
export async function withLogin<Answer extends { outcome: string }>(
  environment: Environment,
  ask: () => Promise<Answer | AskLogin>,
): Promise<Answer> {
  const first = await ask();
  if (first.outcome !== "ask_login") return first as Answer;
  await makeLogin(environment, first as AskLogin);
  const second = await ask();
  if (second.outcome === "ask_login") throw new Error("Supabase Auth made a login that the database does not see");
  return second as Answer;
}

/** A page of a claimed draft, for the browser in which its address was proven; a form must be one of that browser's. */
function onClaim(
  run: (visit: Visit) => Response | Promise<Response>,
  about: (c: Context<PagesEnv>) => object = () => ({}),
): Handler {
  return async (c, environment) => {
    const visit = await Visit.open(c, environment, about(c));
    if (visit instanceof Response) return visit;
    const { claim, session, frame } = visit;
    if (claim.state !== "open" || claim.status !== "claimed" || !session) return visit.go("");
    if (c.req.method === "POST" && !isFormOf(session, c.var.form.get("form_token")))
      return visit.page(kindPage(frame, "refused"), 403);
    return run(visit);
  };
}

/** The charger's step shows the catalogue: its brands, and the models of one. */
function aboutStep(c: Context<PagesEnv>): object {
  // an empty brand is none: the customer wants to choose another than the one that is known
  const brand = c.var.form.get("brand") ?? c.req.query("brand") ?? (c.req.query("other") ? "" : null);
  return { step: c.req.param("step"), brand };
}

function isStep(name: string | undefined): name is StepName {
  return STEP_NAMES.some((step) => step === name);
}

export const STEP_PATH = `/:step{${STEP_NAMES.join("|")}}`;

export const showStep = onClaim(
  (visit) => {
    const name = visit.c.req.param("step");
    if (!isStep(name)) return visit.go("");
    const { claim, frame, c } = visit;
    const known = shownValue(name, claim, null);
    const brand = c.req.query("brand");
    // the brand that was just chosen goes before the one that is known
    const value = (field: string) => (field === "brand" && brand ? brand : known(field));
    const errors = c.req.query("taken")
      ? refusalOf("charger_claimed", { form: c.var.form, words: frame.messages.claim })
      : {};
    return visit.page(STEP_VIEWS[name](frame, claim, value, errors));
  },
  (c) => aboutStep(c),
);

export const saveStep = onClaim(
  async (visit) => {
    const name = visit.c.req.param("step");
    if (!isStep(name)) return visit.go("");
    const { claim, frame, environment, c } = visit;
    const { form } = c.var;
    const words = frame.messages.claim;
    const again = (errors: Errors) =>
      visit.page(STEP_VIEWS[name](frame, claim, shownValue(name, claim, form), errors), 422);
    const read = await STEPS[name].read({ environment, form, claim, words });
    if ("errors" in read) return again(read.errors);
    const { outcome, open_step } = await visit.call<{ outcome: string; open_step?: StepName | null }>("save_claim", {
      step: name,
      ...read,
    });
    c.set("outcome", outcome);
    if (outcome === "saved") return visit.go(`/${open_step ?? "mandate"}`);
    if (outcome === "not_open") return visit.go("");
    return again(refusalOf(outcome, { form, words }));
  },
  (c) => aboutStep(c),
);

/** A page of signing: every step before it is confirmed. */
function onFacts(run: (visit: Visit, facts: Facts) => Response | Promise<Response>): Handler {
  return onClaim((visit) => (visit.claim.facts ? run(visit, visit.claim.facts) : visit.go("")));
}

export const showMandate = onFacts((visit) =>
  visit.page(mandatePage(visit.frame, visit.claim, visit.document, visit.version)),
);

export const showSign = onFacts((visit, facts) => {
  const seen = visit.c.req.query("seen");
  if (!seen) return visit.go("/mandate");
  if (seen !== visit.version) return visit.page(changedPage(visit.signing), 409);
  return visit.page(
    visit.claim.code_sent
      ? signPage(visit.signing, facts, visit.document, seen)
      : askCodePage(visit.signing, facts, seen),
  );
});

export const sendSignCode = onFacts((visit) => {
  const seen = visit.c.var.form.get("seen") ?? "";
  return mailCode(visit, "sign", visit.go("/sign", { seen }), visit.frame.to("/sign", { seen }));
});

type SignOutcome =
  | "signed"
  | "changed"
  | "conflict"
  | "charger_claimed"
  | "not_open"
  | "wrong_code"
  | "code_expired"
  | "too_many_attempts";

export const sign = onFacts(async (visit, facts) => {
  const { c, frame, environment, document, signing } = visit;
  const { form } = c.var;
  const words = frame.messages.sign.errors;
  if (form.get("seen") !== visit.version) return visit.page(changedPage(signing), 409);
  const { code, name, typed, errors } = readSignature(form, facts, words);
  const again = (wrong: SignErrors) => visit.page(signPage(signing, facts, document, visit.version, typed, wrong), 422);
  if (name === null || Object.keys(errors).length > 0) return again(errors);

  const { config } = environment;
  const { full_name, partner_name } = facts;
  const link = `${config.PAGES_URL}/claim/${visit.token}`;
  const { outcome } = await visit.call<{ outcome: SignOutcome }>("sign_claim", {
    facts,
    signed_name: name,
    code_hash: visit.hashCode(code, "sign"),
    document,
    document_sha256: hashSecret(document),
    address: c.var.address,
    user_agent: c.req.header("user-agent") ?? null,
    mail: composeMandateSigned({ config, locale: visit.locale, link, full_name, partner_name, document }),
  });
  c.set("outcome", outcome);
  switch (outcome) {
    case "signed":
    case "conflict":
    case "not_open":
      return visit.go("");
    case "changed":
      return visit.page(changedPage(signing), 409);
    case "charger_claimed":
      return visit.go("/charger", { taken: "1" });
    default:
      return again({ code: words[outcome] });
  }
});

/** The text, to be kept: as it would be signed, or as it was. */
export const download: Handler = async (c, environment) => {
  const visit = await Visit.open(c, environment);
  if (visit instanceof Response) return visit;
  const { signed, facts } = visit.claim;
  if (!signed && !facts) return visit.go("");
  return asFile(c, visit.frame.messages, signed ? signedText(signed, visit.frame.messages) : visit.document);
};
