import { hashSecret, newSecret } from "#shared/auth/tokens.ts";
import type { SqlAnswer } from "#shared/foundation/answers.ts";
import { callFor, type Needs } from "#shared/foundation/call.ts";
import { ApiError } from "#shared/foundation/errors.ts";
import type { Replica } from "#shared/foundation/replica.ts";
import { Admission, readBearer, TenantChanged } from "#shared/http/admit.ts";
import type { CallerRule } from "#shared/http/endpoint.ts";
import { endClaimSession } from "./claim_session.ts";
import type { Errors, Frame, Html } from "./frame.ts";
import { html } from "./html.ts";
import type { Handler, PageAnswer, PageRequest } from "./page_request.ts";
import { fieldsToKeep, type Returned } from "./returned.ts";
import { pageAt } from "./routes.ts";
import { newSecretOf, ownerOf, type SignedIn, SignInRequest, tenantFormTokenOf, tenantOfForm } from "./sign_in.ts";
import { SESSION_SQL } from "./sign_in_sql.ts";
import { type SignInShown, signInPage } from "./sign_in_views.ts";
import { kindPage } from "./views.ts";
import type { KitWords } from "./words.ts";

/** Why somebody is asked to sign in, as `out` of the address says. */
export const whyOut = ({ sign_in }: KitWords, out: string | null): Html =>
  out === null
    ? html``
    : html`<p class="panel" role="status">${sign_in[out === "kept" || out === "lost" ? out : "signed_out"]}</p>`;

/** Pages that somebody comes back to, signed in: where they are, and what they run as whom. */
export type Area<Name extends string> = {
  id: string;
  /** Under the pages' root. */
  path: string;
  /** Where forms go, under the path, whose page shows again what was typed in them; and those pages. */
  forms?: RegExp;
  caller: CallerRule;
  sql: readonly Name[];
  /** Functions with a longer time limit. Another function admits the request first. */
  slow_sql?: readonly Name[];
  needs?: Needs;
};

/** To begin the session of a browser, and to end it: always as the person, whatever they act for in between. */
const SESSION = {
  id: "signing in to pages, and out",
  caller: { kind: "session" },
  limit: "page",
  sql: SESSION_SQL,
} as const;

/** Twelve hours, as long as the row of core.page_sessions. */
const SESSION_SECONDS = 12 * 3600;

/** The cookie outlives its session: it opens nothing then, but tells that a form that comes too late is this browser's own. */
export const COOKIE_SECONDS = 2 * SESSION_SECONDS;

/** What was typed waits this long for them to sign in again. */
const SIGN_IN_SECONDS = 15 * 60;

/** A page of somebody who is signed in. Each form sends the token, which says whose form it is and for which tenant. */
export type OwnFrame = Frame & {
  form_token: string;
  /** Whether the form of this page waited until they signed in: they have to send it again. */
  waited: () => boolean;
};

/** Kept with a form that waited until somebody signed in. */
const WAITED = "waited";

/** A page as an address names it; a file to download has a dot. */
const PAGE = /^(?:\/[\w-]+)+$/;

/** Of newOnce(), which the page of a form that makes a secret puts in it. */
const ONCE = /^[0-9A-Za-z]{22}$/;

/** A request for a page of an area, or for the page where people sign in to it. */
export abstract class SignedInRequest<Name extends string> extends SignInRequest<Name> {
  readonly area: Area<Name>;
  declare readonly frame: OwnFrame;
  protected override readonly signInPath = "/sign-in";
  #admission: Admission | undefined;

  constructor({ c, environment, declared }: Pick<PageRequest, "c" | "environment" | "declared">, area: Area<Name>) {
    // a name may stand in it more than once
    const query = new URL(c.req.url).searchParams;
    query.delete("lang");
    super(c, environment, declared, {
      path: area.path,
      inLanguage: (other) => `?${new URLSearchParams([...query, ["lang", other]])}`,
    });
    this.area = area;
    const { to } = this.frame;
    const wanted = this.#wanted;
    const secret = this.cookie("session");
    this.frame = {
      ...this.frame,
      form_token: secret ? tenantFormTokenOf(secret, "") : "",
      waited: () => this.news().typed.has(WAITED),
      to: (page, more = {}) => to(page, { ...(wanted ? { to: wanted } : {}), ...more }),
    };
  }

  get home(): string {
    return this.area.path;
  }

  /** Whoever signs in by the same address again. */
  protected override get whose(): string {
    return ownerOf(this.cookie("session"));
  }

  /** Where signing in leads on to, as the address says: a page, with what is looked for on it. */
  get #wanted(): string | undefined {
    const asked = this.c.req.query("to") ?? "";
    const [page = ""] = asked.split("?");
    return this.#pageAt(page) === page && page !== "" ? asked : undefined;
  }

  #addressOf(wanted = ""): string {
    const [page = "", query = ""] = wanted.split("?");
    const asked = new URLSearchParams(query);
    asked.set("lang", this.locale);
    return `${this.frame.root}${this.home}${page}?${asked}`;
  }

  /** The nearest page of the area at a path or above it; empty for the first page. */
  #pageAt(asked: string): string {
    const { routes } = this.declared;
    return routes && PAGE.test(asked) ? pageAt({ routes }, `${this.home}${asked}`).slice(this.home.length) : "";
  }

  /** On the way to a page, and signed in already. */
  protected override get askedAgain(): { why: string; back: string } | null {
    const waiting = this.waiting();
    const wanted = this.#wanted;
    if (!wanted || !waiting || !this.cookie("session")) return null;
    const why = this.frame.words.sign_in.code.again(waiting.email);
    return { why, back: this.#addressOf(wanted) };
  }

  protected get app(): null {
    return null;
  }

  /** What stands above the form to sign in; `out` is how the reader was signed out, null where they were not. */
  protected abstract why(out: string | null): Html;

  protected signInPage(shown: SignInShown): Html {
    return signInPage(this.frame, shown, this.why(this.c.req.query("out") ?? null));
  }

  /** The session JWT is used this once; what the browser keeps instead ends with the session, and after twelve hours. */
  protected async keepSession({ jwt, email, sessionId }: SignedIn, signatory: string | null): Promise<void> {
    const secret = newSecretOf(this.environment, email);
    const admission = await readBearer(SESSION, jwt, this.environment, this.c.var.request_id);
    const session = {
      token_hash: hashSecret(secret),
      sign_in_session_id: sessionId,
      signatory_hash: signatory && hashSecret(signatory),
      before_hash: hashSecret(this.cookie("session") ?? ""),
    };
    await callFor(SESSION, this.environment, admission)("begin_page_session", session);
    this.keep("session", secret, COOKIE_SECONDS);
  }

  protected override landing(): Response {
    return this.c.redirect(this.#addressOf(this.#wanted), 303);
  }

  /** The page of a long list that the address names. */
  get pageAsked(): number {
    const asked = this.c.req.query("page") ?? "";
    return /^[1-9]\d{0,3}$/.test(asked) ? Number(asked) : 1;
  }

  /** Runs a declared api function as who is signed in. @throws {ApiError} 401 where nobody is, or no longer. */
  own<Called extends Name>(name: Called, input?: object): Promise<SqlAnswer<Called>> {
    return this.#run(name, input);
  }

  /** As own(), for what a file is written from: read on the replica, if there is one and it has all that they wrote. */
  list<Called extends Name>(name: Called, input?: object): Promise<SqlAnswer<Called>> {
    return this.#run(name, input, this.environment.replica);
  }

  async #run<Called extends Name>(name: Called, input?: object, replica?: Replica): Promise<SqlAnswer<Called>> {
    const area = this.area.slow_sql?.includes(name) ? { ...this.area, slow: true as const } : this.area;
    const call = callFor(area, this.environment, this.#admitted(), replica);
    const answer = await call(name, ...(input ? [input] : []));
    this.frame.form_token = tenantFormTokenOf(this.cookie("session") ?? "", this.#actsFor ?? "");
    return JSON.parse(answer);
  }

  /** The tenant they were admitted for; undefined as long as they were not, or where they act for none. */
  get #actsFor(): string | undefined {
    return this.#admission?.admitted?.caller.partner_id;
  }

  /** Asks who is signed in, where that has to be known before anything is done. @throws {ApiError} as own(). */
  async admit(): Promise<void> {
    await this.#admitted().admit();
  }

  /** The tenant they act in, as which something is sealed before it is stored. @throws {ApiError} as own(). */
  tenant(): Promise<string> {
    return this.#admitted().tenant();
  }

  #admitted(): Admission {
    this.#admission ??= this.#admissionFor({ ...this.area, limit: "page" }, this.#formIsFor ?? undefined);
    return this.#admission;
  }

  /** On to the other pages of who is signed in, at `home`, in the same sign-in: what these open is for them to look up. */
  async goOn(home: string): Promise<Response> {
    const secret = `${newSecret()}.${this.whose}`;
    const sharing = callFor(SESSION, this.environment, this.#admissionFor(SESSION));
    await sharing("share_page_session", {
      token_hash: hashSecret(this.cookie("session") ?? ""),
      new_token_hash: hashSecret(secret),
    });
    this.keep("session", secret, COOKIE_SECONDS, home);
    return this.c.redirect(`${this.frame.root}${home}?lang=${this.locale}`, 303);
  }

  /** Signs this browser out: of the pages too that goOn() led to, and of the claims that it may have been led to. */
  async endSession(): Promise<void> {
    const token_hash = hashSecret(this.cookie("session") ?? "");
    const ending = callFor(SESSION, this.environment, this.#admissionFor(SESSION))("end_page_session", { token_hash });
    const { draft_ids }: SqlAnswer<"end_page_session"> = JSON.parse(await ending);
    this.forget("session");
    for (const draft_id of draft_ids) endClaimSession(this.c, this.environment, draft_id, this.c.var.root);
  }

  #admissionFor(rule: Parameters<typeof Admission.with>[2], tenant?: string): Admission {
    const secret = this.cookie("session");
    if (!secret) throw new ApiError("missing_or_invalid_token");
    const credential = { kind: "page_session", token_hash: hashSecret(secret) } as const;
    return Admission.with(credential, this.environment, rule, this.c.var.request_id, tenant);
  }

  get #formIsFor(): string | null {
    return tenantOfForm(this.cookie("session"), this.form.get("form_token"));
  }

  /**
   * Whether the form is one that this browser was shown while it was signed in as it is now.
   * @throws {TenantChanged} where it was shown for another tenant than they were admitted for; where they were not yet, own() does.
   */
  isOwn(): boolean {
    const tenant = this.#formIsFor;
    if (tenant && this.#actsFor && tenant !== this.#actsFor)
      throw new TenantChanged(new Error("a form for another tenant"));
    return tenant !== null;
  }

  /**
   * What a form did is told on the page at `page`, once. `shown` is what only this browser sees, and only now; `query` is what is
   * looked for on the page.
   */
  told(page: string, news: string, shown: Record<string, string> = {}, query: Record<string, string> = {}): Response {
    return this.#backTo(page, { typed: new URLSearchParams({ news, ...shown }), errors: {} }, query);
  }

  /** Back to the page of a form, which says what is wrong. */
  refuse(page: string, errors: Errors): Response {
    return this.#backTo(page, { typed: fieldsToKeep(this.form, errors), errors });
  }

  #backTo(page: string, returned: Returned, query: Record<string, string> = {}): Response {
    const to = this.frame.to(page, query);
    this.putFlash(to, returned);
    return this.c.redirect(to, 303);
  }

  /** What was typed in their form: whole, or not at all, for nothing says that a text was cut off. */
  #sent(): Returned {
    const typed = fieldsToKeep(this.form, {}, Number.POSITIVE_INFINITY);
    typed.set(WAITED, "yes");
    return { typed, errors: {} };
  }

  /** For a form that needs a recent sign-in: mails a code at once, which leads back to the page with what was typed. */
  codeFirst(page: string, email: string): Promise<Response> {
    this.putFlash(`${this.frame.root}${this.home}${page}`, this.#sent(), SIGN_IN_SECONDS);
    return this.mailCodeTo(email, { to: page });
  }

  /** What a form did, or what is wrong with it. */
  news(): Returned {
    return this.returned() ?? { typed: new URLSearchParams(), errors: {} };
  }

  /** A page with a form of its own; one that came back says what is wrong. */
  pageOf(page: Html, { errors }: Returned): PageAnswer {
    return this.page(page, Object.keys(errors).length > 0 ? 422 : 200);
  }

  /** A secret that a form makes: the same however often this browser sends it, and known to no other. Null for none of our forms. */
  secretOf(use: string): string | null {
    const once = this.form.get("once") ?? "";
    return ONCE.test(once) ? hashSecret([use, this.cookie("session"), once].join(":")) : null;
  }

  /** For a form that this browser was not shown in its current sign-in. */
  foreign(): PageAnswer {
    this.logOutcome("foreign_form");
    return this.page(kindPage(this.frame, this.frame.words.refused), 403);
  }

  /** A form that was shown for another tenant than they act for by now. */
  tenantChanged(): PageAnswer {
    return this.foreign();
  }

  /** Whoever is signed in has none of these pages. */
  notTheirs(): PageAnswer {
    return this.unknown();
  }

  /**
   * Nobody is signed in here, or no longer: to where they can, and then on to this page. A form of theirs waits for them there; of any
   * other form they are told that it was not sent.
   */
  toSignIn(): Response {
    this.logOutcome("signed_out");
    this.forget("session");
    const here = this.c.req.path.replace(/^\/pages/, "").slice(this.home.length);
    const page = this.#pageAt(here);
    const asked = new URL(this.c.req.url).searchParams;
    asked.delete("lang");
    const to = page ? { to: asked.size > 0 ? `${page}?${asked}` : page } : {};
    const isForm = this.c.req.method === "POST" && here !== "/sign-out";
    const form = isForm ? (this.isOwn() ? this.#sent() : null) : this.returned();
    if (form && this.area.forms?.test(here)) {
      const fits = this.putFlash(`${this.frame.root}${this.home}${page}`, form, SIGN_IN_SECONDS);
      return this.go("/sign-in", { ...to, out: fits ? "kept" : "lost" });
    }
    return this.go("/sign-in", { ...to, ...(isForm ? { out: "lost" } : {}) });
  }
}

/**
 * How the handlers of an area open its request. `onSignIn`: a page on which people sign in. `signedIn`: a page of somebody who is;
 * whoever is not is led to where they can, and a form must be one of this browser's.
 */
export function entrances<Name extends string, V extends SignedInRequest<Name>>(open: (bare: PageRequest<Name>) => V) {
  const onSignIn =
    (run: (request: V) => PageAnswer): Handler<Name> =>
    (bare) =>
      run(open(bare));
  const signedIn =
    (run: (request: V) => PageAnswer): Handler<Name> =>
    async (bare) => {
      const request = open(bare);
      if (!request.cookie("session")) return request.toSignIn();
      try {
        if (request.c.var.upload !== undefined) {
          await request.admit();
          await request.readUpload();
        }
        if (request.c.req.method === "POST" && !request.isOwn()) return request.foreign();
        return await run(request);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        if (error instanceof TenantChanged) return request.tenantChanged();
        if (error.code === "no_partner_linked") return request.notTheirs();
        if (error.status === 401) return request.toSignIn();
        throw error;
      }
    };
  return { onSignIn, signedIn };
}
