import { hashAddress } from "#shared/auth/tokens.ts";
import type { Claim } from "#shared/domain/claim/answers.ts";
import { ClaimFlow, type ClaimProof, type CodePurpose, type LaterStep, REFUSALS } from "#shared/domain/claim/flow.ts";
import { readClaimToken } from "#shared/domain/claim/links.ts";
import type { Facts } from "#shared/domain/mandate_text/mandate_text.ts";
import {
  beginClaimSession,
  type ClaimSession,
  claimPath,
  isFormOf,
  isLateForm,
  readClaimSession,
} from "../kit/claim_session.ts";
import type { Frame, Html } from "../kit/frame.ts";
import { html } from "../kit/html.ts";
import { wishesOf } from "../kit/offer.ts";
import { OWN_SECTIONS, type OwnSection } from "../kit/own_sections.ts";
import { DEAD, type Handler, type PageAnswer, PageRequest } from "../kit/page_request.ts";
import { accountMenu } from "../kit/parts/account_menu.ts";
import { fieldsToKeep, putFlash } from "../kit/returned.ts";
import { choicesOf, versionOf } from "../kit/signature.ts";
import { sectionMenu } from "../kit/signed_in_views.ts";
import { kindPage } from "../kit/views.ts";
import type { ClaimFrame } from "./frame.ts";
import type {} from "./model.ts";
import { donePage } from "./signed_views.ts";
import type { Name } from "./sql.ts";
import { claimKindPage } from "./start_views.ts";
import { WORDS } from "./words.ts";

/** What was typed waits this long for a code. */
const LOST_SECONDS = 15 * 60;

/** Where each code is typed that is asked for at a path of its own. */
const CODE_PAGES: Readonly<Record<string, string>> = {
  code: "proof",
  "sign-code": "sign",
  "iban-code": "payout",
  "revoke-code": "revoke",
};

/** A request for a page of one claim, the draft having been opened. */
export class ClaimRequest extends PageRequest<Name> {
  declare readonly frame: ClaimFrame;
  readonly flow: ClaimFlow;
  readonly session: ClaimSession | null;
  readonly claim: Claim;

  constructor({ c, environment, declared }: PageRequest<Name>, flow: ClaimFlow, claim: Claim) {
    super(c, environment, declared, {
      path: `/claim/${flow.token}`,
      locale: claim.locale,
      inLanguage: (other) => {
        const { lang: _now, ...query } = c.req.query();
        const seen = c.var.form.get("seen");
        const page = CODE_PAGES[c.req.path.split("/").at(-1) ?? ""] ?? "";
        return `${page}?${new URLSearchParams({ ...query, ...(seen ? { seen } : {}), lang: other })}`;
      },
    });
    this.flow = flow;
    this.session = readClaimSession(c, environment, flow.draft_id);
    this.claim = claim;
    const { to } = this.frame;
    this.frame = {
      ...this.frame,
      ...(this.isFromMijn
        ? {
            to: (page, query = {}) => (page ? to(page, { ...query, from: "mijn" }) : this.#mijn(this.#section)),
            around: this.#around,
          }
        : {}),
      form_token: this.session?.form_token ?? "",
      signed: claim.signed !== undefined,
      opens_own: Boolean(this.session?.is_fresh && claim.login),
      // a page that only says how things are names nobody, and the person's own pages are the service's
      ...(!this.isFromMijn && (claim.state === "open" || claim.signed) ? { brand: claim.brand } : {}),
    };
  }

  /** Every request counts against the address it comes from; a refused one throws. Forged tokens go no further than here. */
  static async open(request: PageRequest<Name>, about: object = {}): Promise<ClaimRequest | Response> {
    const flow = flowOf(request);
    if (!flow) return request.unknown();
    const { c, environment, address_hash } = request;
    const session = readClaimSession(c, environment, flow.draft_id);
    return new ClaimRequest(request, flow, await flow.open({ address_hash, session, ...about }));
  }

  /** The person's own page that led here. */
  get #section(): OwnSection {
    const page = this.c.req.path.split("/").at(-1) ?? "";
    return page === "charger" ? "/chargers" : page === "payout" || page === "iban-code" ? "/earnings" : "/mandate";
  }

  /** The menu of the person's own pages; signing out is for those. */
  get #around(): Frame["around"] {
    const { own } = this.frame.words;
    const email = this.claim.email ?? "";
    const back = html`<a href="${this.#mijn("")}">${own.menu[""]}</a>`;
    return {
      menu: sectionMenu(OWN_SECTIONS, own.menu, this.#section, (each) => this.#mijn(each), this.frame.words),
      who: accountMenu(email, own.signed_in(email), back),
    };
  }

  /** Whether a button of the person's own pages led here: what they do then ends there. */
  get isFromMijn(): boolean {
    return this.c.req.query("from") === "mijn" && this.claim.signed !== undefined;
  }

  #mijn(section: string): string {
    return `${this.c.var.root}/mijn${section}?lang=${this.locale}`;
  }

  /** Something was done: told on a page of the person's own if one led here, or shown by the page of the claim. */
  done(section: OwnSection, news: string): Response {
    const { c, environment, claim } = this;
    if (!this.isFromMijn) return this.go("");
    const place = { path: `${c.var.root}/mijn${section}`, whose: hashAddress(environment, claim.email ?? "") };
    putFlash(c, environment, place, { typed: new URLSearchParams({ news }), errors: {} });
    return c.redirect(this.#mijn(section), 303);
  }

  /** What may be signed: for each of the periods, the shortest first. */
  get choices(): Facts[] {
    const { facts, periods } = this.claim;
    return facts && periods ? choicesOf(facts, periods) : [];
  }

  /** The facts for the years in the address; for the shortest time where there are none. */
  get wanted(): Facts {
    const { years } = wishesOf(this);
    return this.choices.find(({ validity_years }) => validity_years === years) ?? (this.choices[0] as Facts);
  }

  /** The facts that were read; undefined where they are no longer what may be signed. */
  read(seen: string | null | undefined): Facts | undefined {
    return this.choices.find((facts) => versionOf(facts) === seen);
  }

  documentOf(facts: Facts): string {
    return this.flow.document(facts, this.locale);
  }

  /** The page of a draft that cannot be claimed, or that this browser may not see; null where there is more to do. */
  closed(): PageAnswer | null {
    const { state, signed } = this.claim;
    if (state === "open") return null;
    this.logOutcome(state);
    if (state !== "active") return this.page(claimKindPage(this.frame, state), DEAD);
    if (signed) return this.page(donePage(this.frame, this.claim, signed));
    const action = { href: this.frame.to("/code"), label: WORDS[this.locale].start.send };
    return this.page(claimKindPage(this.frame, "used", action, this.notice), DEAD);
  }

  /**
   * A form of a session that has ended: asked for a code, and told what became of the form. A step and a signature wait on their page,
   * in this browser and for a while, where this browser was shown it.
   */
  lost(): Response {
    const { c, environment, claim, flow, form } = this;
    const page = c.req.param("step") ?? (c.req.path.endsWith("/sign") ? "sign" : null);
    const keeps = page && claim.state === "open" && isLateForm(c, environment, flow.draft_id, form.get("form_token"));
    const typed = fieldsToKeep(form, {}, Number.POSITIVE_INFINITY);
    // it proves nothing any more
    typed.delete("code");
    const waits = keeps && this.putFlash(this.frame.to(`/${page}`), { typed, errors: {} }, LOST_SECONDS);
    this.logOutcome("signed_out");
    return this.go("", { out: waits ? "kept" : "lost" });
  }

  /** Why the page asks for a code again. */
  get notice(): Html {
    const out = this.c.req.query("out");
    return out === "kept" || out === "lost"
      ? html`<p class="panel" role="status">${WORDS[this.locale].out[out]}</p>`
      : html``;
  }

  /** Mails a code, and leads on; `back` is where it is typed, should there be no more of them. */
  async mailCode(purpose: CodePurpose, then: Response, back: string): Promise<Response> {
    const sending = this.flow.sendCode(purpose, this.locale, this.claim.brand ?? null, {
      proved_by: this.session?.proved_by,
    });
    const { refused } = await this.attempt(sending, REFUSALS.sendCode);
    if (refused) return refused.code === "too_many_codes" ? this.tooManyCodes(refused, back) : this.go("");
    this.logOutcome("sent");
    return then;
  }
}

/** The flow of the claim for the path's token, or null if we did not make the token. */
export function flowOf({ c, environment }: PageRequest): ClaimFlow | null {
  const token = c.req.param("token") ?? "";
  const draft_id = readClaimToken(environment, token);
  return draft_id ? new ClaimFlow(environment, c.var.request_id, draft_id, { token }) : null;
}

/** A page of a claim, for any visitor. */
export function onDraft(run: (request: ClaimRequest) => PageAnswer): Handler<Name> {
  return async (bare) => {
    const request = await ClaimRequest.open(bare);
    return request instanceof Response ? request : run(request);
  };
}

/**
 * A page of a claim, for the browser in which its address was proven; a form must be one of that browser's. `fits` says which
 * claims have the page; the others are led to where they are.
 */
export function onClaim(
  fits: (claim: Claim, step: string | undefined) => boolean,
  run: (request: ClaimRequest) => PageAnswer,
  about: (request: PageRequest) => object = () => ({}),
): Handler<Name> {
  return async (bare) => {
    const request = await ClaimRequest.open(bare, about(bare));
    if (request instanceof Response) return request;
    const { c, claim, session, frame, form } = request;
    if (c.req.method === "POST" && (!session || claim.answers === undefined)) return request.lost();
    if (!session || !fits(claim, c.req.param("step"))) return request.go("");
    if (c.req.method === "POST" && !isFormOf(session, form.get("form_token")))
      return request.page(kindPage(frame, frame.words.refused), 403);
    return run(request);
  };
}

/** Whether there is something to sign: the last step of a claim, or the years after. */
export const signable = (claim: Claim) => Boolean(claim.facts) && (underWay(claim) || claim.signed !== undefined);
/** Answers are shown to a session that proves the address alone. */
export const underWay = ({ state, status, answers }: Claim) =>
  state === "open" && status === "claimed" && answers !== undefined;
export const isSigned = ({ signed }: Claim) => signed !== undefined;
export const holds = ({ signed }: Claim) => signed?.status === "signed";

/** What can be given after the signature; a charger only while the mandate holds, an account number also for what it still pays. */
export function isLater(claim: Claim, step: string | undefined): step is LaterStep {
  return step === "payout" ? claim.signed !== undefined : step === "charger" && holds(claim);
}

/** Begins the session of a draft whose address was proven, and leads to its pages. */
export function welcome(
  { c, environment }: PageRequest,
  claim: Parameters<typeof beginClaimSession>[2],
  how: ClaimProof,
  query = "",
): Response {
  beginClaimSession(c, environment, claim, how, c.var.root);
  return c.redirect(claimPath(c.var.root, environment, claim) + query, 303);
}
