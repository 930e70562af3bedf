import type { Context } from "hono";
import { hashAddress, hashSecret } from "#shared/auth/tokens.ts";
import {
  CLAIM_SQL,
  ClaimFlow,
  type CompleteOutcome,
  type LaterStep,
  type ProveOutcome,
  type SaveOutcome,
  STEP_NAMES,
  type StepName,
} from "#shared/domain/claim/flow.ts";
import { claimToken, readClaimToken } from "#shared/domain/claim/links.ts";
import type { Facts } from "#shared/domain/mandate_text/mandate_text.ts";
import type { Environment } from "#shared/foundation/environment.ts";
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
  revokePage,
  STEP_VIEWS,
  startPage,
} from "./claim_views.ts";
import type { Html } from "./layout.ts";
import { asFile, readCode, readSignature, signedText } from "./mandate.ts";
import {
  askCodePage,
  changedPage,
  kindPage,
  type MandateFrame,
  type SignErrors,
  signPage,
  tooManyCodesPage,
} from "./mandate_views.ts";
import { acceptedLocale, isLocale, type Locale, MESSAGES } from "./messages.ts";
import type { PagesEnv } from "./pages.ts";

/** The api functions behind a claim. A page is one statement, a form two; where a login is made, a call of Auth between them. */
export const SQL = CLAIM_SQL;

/** The path of the claim pages under the pages' root. The token is the credential, and never logged. */
export const PATH = "/claim/:token";

/** Links that lead nowhere answer alike; the words differ, for a kind page says what to do. */
export const DEAD = 404;

type Handler = (c: Context<PagesEnv>, environment: Environment) => Promise<Response>;
type Purpose = "prove" | "sign";

/** A request for a page of one claim, the draft having been opened. */
class Visit {
  readonly c: Context<PagesEnv>;
  readonly flow: ClaimFlow;
  readonly session: ClaimSession | null;
  readonly claim: Claim;
  readonly locale: Locale;
  readonly frame: ClaimFrame;

  constructor(c: Context<PagesEnv>, flow: ClaimFlow, claim: Claim) {
    const { environment, token } = flow;
    this.c = c;
    this.flow = flow;
    this.session = readClaimSession(c, environment, flow.draft_id);
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
      signed: claim.signed !== undefined,
      // a page that only says how things are names nobody
      ...(claim.state === "open" || claim.signed ? { brand } : {}),
    };
  }

  /** Every visit counts against the address it comes from; a refused one throws. Forged tokens go no further than here. */
  static async open(c: Context<PagesEnv>, environment: Environment, about: object = {}): Promise<Visit | Response> {
    const flow = flowOf(c, environment);
    if (!flow) return unknown(c, environment);
    const claim = await flow.open<Claim>({
      address_hash: hashAddress(environment, c.var.address),
      proven: readClaimSession(c, environment, flow.draft_id) !== null,
      ...about,
    });
    return new Visit(c, flow, claim);
  }

  get version(): string {
    return hashSecret(JSON.stringify(this.claim.facts)).slice(0, 16);
  }

  get document(): string {
    return this.flow.document(this.claim.facts as Facts, this.locale);
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

/** The flow of the claim that the path's token is of, or null when the token is none of ours: forged ones go no further. */
function flowOf(c: Context<PagesEnv>, environment: Environment): ClaimFlow | null {
  const draft_id = readClaimToken(environment, c.req.param("token") ?? "");
  return draft_id ? new ClaimFlow(environment, c.var.request_id, draft_id) : null;
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
  const { claim, flow, locale } = visit;
  const { outcome, rate } = await flow.sendCode(purpose, locale, claim.brand ?? null);
  visit.c.set("outcome", outcome);
  if (outcome === "not_open") return visit.go("");
  if (outcome !== "too_many_codes") return then;
  const { retry_after = 60 } = rate ?? {};
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

/** The one form that does not open the draft first: the statement that judges the code tells all that the answer shows. */
export const prove: Handler = async (c, environment) => {
  const flow = flowOf(c, environment);
  if (!flow) return unknown(c, environment);
  const code = readCode(c.var.form);
  if (code === null) {
    const visit = await Visit.open(c, environment);
    if (visit instanceof Response) return visit;
    const { state, email = "" } = visit.claim;
    if (state !== "open" && state !== "active") return visit.go("");
    return visit.page(proofPage(visit.frame, email, visit.frame.messages.claim.proof.errors.code_missing), 422);
  }
  const answer = await flow.prove<Claim & { outcome: ProveOutcome }>(code, hashAddress(environment, c.var.address));
  c.set("outcome", answer.outcome);
  const visit = new Visit(c, flow, answer);
  switch (answer.outcome) {
    case "proven":
      return welcome(c, environment, flow.draft_id, `?lang=${visit.locale}`);
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

/**
 * A page of a claim, for the browser in which its address was proven; a form must be one of that browser's. `fits` says which
 * claims have the page; the others are led to where they are.
 */
function onClaim(
  fits: (claim: Claim, step: string | undefined) => boolean,
  run: (visit: Visit) => Response | Promise<Response>,
  about: (c: Context<PagesEnv>) => object = () => ({}),
): Handler {
  return async (c, environment) => {
    const visit = await Visit.open(c, environment, about(c));
    if (visit instanceof Response) return visit;
    const { claim, session, frame } = visit;
    if (!session || !fits(claim, c.req.param("step"))) return visit.go("");
    if (c.req.method === "POST" && !isFormOf(session, c.var.form.get("form_token")))
      return visit.page(kindPage(frame, "refused"), 403);
    return run(visit);
  };
}

const underWay = ({ state, status }: Claim) => state === "open" && status === "claimed";
const holds = ({ signed }: Claim) => signed?.status === "signed";

/** What can be given after the signature; a charger only while the mandate holds, an account number also for what it still pays. */
function isLater(claim: Claim, step: string | undefined): step is LaterStep {
  return step === "payout" ? claim.signed !== undefined : step === "charger" && holds(claim);
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

const hasStep = (claim: Claim, step: string | undefined) => underWay(claim) || isLater(claim, step);

export const showStep = onClaim(
  hasStep,
  (visit) => {
    const name = visit.c.req.param("step");
    if (!isStep(name)) return visit.go("");
    const { claim, frame, c } = visit;
    const known = shownValue(name, claim, null);
    const brand = c.req.query("brand");
    // the brand that was just chosen goes before the one that is known
    const value = (field: string) => (field === "brand" && brand ? brand : known(field));
    const words = frame.messages.claim;
    const errors = c.req.query("taken")
      ? refusalOf("charger_claimed", { form: c.var.form, words })
      : name === "charger" && brand === ""
        ? { brand: words.charger.errors.brand }
        : {};
    return visit.page(STEP_VIEWS[name](frame, claim, value, errors));
  },
  (c) => aboutStep(c),
);

export const saveStep = onClaim(
  hasStep,
  async (visit) => {
    const name = visit.c.req.param("step");
    if (!isStep(name)) return visit.go("");
    const { claim, frame, flow, locale, c } = visit;
    const { form } = c.var;
    const words = frame.messages.claim;
    const again = (errors: Errors) =>
      visit.page(STEP_VIEWS[name](frame, claim, shownValue(name, claim, form), errors), 422);
    const read = await STEPS[name].read({ environment: flow.environment, form, claim, words });
    if ("errors" in read) return again(read.errors);
    const later = isLater(claim, name);
    const { outcome, open_step }: { outcome: CompleteOutcome | SaveOutcome; open_step?: StepName | null } = later
      ? await flow.complete(name, read, locale, claim.brand ?? null)
      : await flow.save(name, read);
    c.set("outcome", outcome);
    if (outcome === "saved") return visit.go(later ? "" : `/${open_step ?? "mandate"}`);
    if (outcome === "not_open") return visit.go("");
    return again(refusalOf(outcome, { form, words }));
  },
  (c) => aboutStep(c),
);

/** A page of signing: every step before it is confirmed. */
function onFacts(run: (visit: Visit, facts: Facts) => Response | Promise<Response>): Handler {
  return onClaim(underWay, (visit) => (visit.claim.facts ? run(visit, visit.claim.facts) : visit.go("")));
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

export const sign = onFacts(async (visit, facts) => {
  const { c, flow, claim, frame, locale, document, signing } = visit;
  const { form } = c.var;
  const words = frame.messages.sign.errors;
  if (form.get("seen") !== visit.version) return visit.page(changedPage(signing), 409);
  const { code, name, typed, errors } = readSignature(form, facts, words);
  const again = (wrong: SignErrors) => visit.page(signPage(signing, facts, document, visit.version, typed, wrong), 422);
  if (name === null || Object.keys(errors).length > 0) return again(errors);

  const user_agent = c.req.header("user-agent") ?? null;
  const about = { facts, brand: claim.brand ?? null, locale, address: c.var.address, user_agent };
  const { outcome } = await flow.sign({ ...about, signed_name: name, code });
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

export const showRevoke = onClaim(holds, (visit) => visit.page(revokePage(visit.frame)));

export const revoke = onClaim(holds, async (visit) => {
  const { outcome } = await visit.flow.revoke();
  visit.c.set("outcome", outcome);
  return visit.go("");
});

/** The text, to be kept: as it would be signed, or as it was. */
export const download: Handler = async (c, environment) => {
  const visit = await Visit.open(c, environment);
  if (visit instanceof Response) return visit;
  const { signed, facts } = visit.claim;
  if (!signed && !facts) return visit.go("");
  return asFile(c, visit.frame.messages, signed ? signedText(signed, visit.frame.messages) : visit.document);
};
