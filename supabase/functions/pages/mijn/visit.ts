import { html } from "hono/html";
import { hashSecret, newSecret } from "#shared/auth/tokens.ts";
import { callFor } from "#shared/foundation/call.ts";
import { ApiError } from "#shared/foundation/errors.ts";
import { readBearer, Visitor } from "#shared/http/admit.ts";
import type { Frame, Html } from "../kit/frame.ts";
import { leave, type Returned } from "../kit/returned.ts";
import { formTokenOf, isFormOf, type SignedIn, SignInVisit } from "../kit/sign_in.ts";
import { type SignInShown, signInPage } from "../kit/sign_in_views.ts";
import { kindPage } from "../kit/views.ts";
import type { Answer, Handler, Visit } from "../kit/visit.ts";
import { OWN_SQL, PATH, type SQL } from "./sql.ts";
import { WORDS } from "./words.ts";

/** The pages that the menu leads to, under PATH. */
export const SECTIONS = [
  "",
  "/charging",
  "/earnings",
  "/mandate",
  "/chargers",
  "/sharing",
  "/tokens",
  "/data",
] as const;
export type Section = (typeof SECTIONS)[number];

type OwnName = (typeof OWN_SQL)[number];
type Name = (typeof SQL)[number];

const rule = { caller: { kind: "session" }, limit: "page" } as const;
/** A person who has just signed in. */
const BEGIN = { ...rule, id: "signing in to the pages of a person", sql: ["begin_page_session"] } as const;
/** A browser in which they are signed in. */
const OWN = { ...rule, id: "the pages of a person", sql: OWN_SQL } as const;

/** Twelve hours, as long as the row of core.page_sessions. */
const SESSION_SECONDS = 12 * 3600;

/** A page of a person's own: what each form of it sends along, and whose it is. */
export type MijnFrame = Frame & { form_token: string };

/** Of newSecret(16), which the page of a form that makes a secret puts in it. */
const ONCE = /^[0-9A-Za-z]{22}$/;

/** A request for a person's own pages, or for the page where they sign in to them. */
export class MijnVisit extends SignInVisit<Name> {
  readonly home = PATH;
  declare readonly frame: MijnFrame;
  protected override readonly signInPath = "/sign-in";
  #visitor: Visitor | undefined;

  constructor({ c, environment, declared }: Visit<Name>) {
    const { lang: _now, ...query } = c.req.query();
    super(c, environment, declared, {
      path: PATH,
      inLanguage: (other) => `?${new URLSearchParams({ ...query, lang: other })}`,
    });
    const { to } = this.frame;
    const wanted = this.#wanted;
    const secret = this.cookie("session");
    this.frame = {
      ...this.frame,
      form_token: secret ? formTokenOf(secret) : "",
      to: (page, more = {}) => to(page, { ...(wanted ? { to: wanted } : {}), ...more }),
    };
  }

  /** Where signing in leads on to, as the address says. */
  get #wanted(): Section | undefined {
    return SECTIONS.find((section) => section !== "" && section === this.c.req.query("to"));
  }

  protected get app(): null {
    return null;
  }

  protected signInPage(shown: SignInShown): Html {
    const { sign_in: words, data } = WORDS[this.locale];
    const out = this.c.req.query("out");
    const why = html`${out === undefined ? "" : html`<p class="panel" role="status">${out === "closed" ? data.closed : words.signed_out}</p>`}
<p class="lead">${words.why(this.frame.config.SERVICE_NAME)}</p>
<p>${words.which}</p>`;
    return signInPage(this.frame, shown, why);
  }

  /** The session JWT is used this once; what the browser keeps instead ends with the session, and after twelve hours. */
  protected async keepSession({ jwt, sessionId }: SignedIn): Promise<void> {
    const secret = newSecret();
    const visitor = await readBearer(BEGIN, jwt, this.environment, this.c.var.request_id);
    const request = { token_hash: hashSecret(secret), sign_in_session_id: sessionId };
    await callFor(BEGIN, this.environment, visitor)("begin_page_session", request);
    this.keep("session", secret, SESSION_SECONDS);
  }

  protected override landing(): Response {
    const page = this.#wanted ?? "";
    return this.c.redirect(`${this.frame.root}${PATH}${page}?${new URLSearchParams({ lang: this.locale })}`, 303);
  }

  /** Runs a declared api function as the person who is signed in. @throws {ApiError} 401 where nobody is, or no longer. */
  async own<Result>(name: OwnName, request?: object): Promise<Result> {
    const secret = this.cookie("session");
    if (!secret) throw new ApiError("missing_or_invalid_token");
    this.#visitor ??= Visitor.with(
      { kind: "page_session", token_hash: hashSecret(secret) },
      this.environment,
      OWN,
      this.c.var.request_id,
    );
    const input = request ? [request] : [];
    return JSON.parse(await callFor(OWN, this.environment, this.#visitor)(name, ...input));
  }

  /** Whether the form is one that this browser was shown while it was signed in as it is now. */
  isOwn(): boolean {
    return isFormOf(this.cookie("session"), this.form.get("form_token"));
  }

  /** What a form did is told on the page at `page`, once. `shown` is what only this browser sees, and only now. */
  told(page: Section | "/data/end", news: string, shown: Record<string, string> = {}): Response {
    const to = this.frame.to(page);
    const typed = new URLSearchParams({ news, ...shown });
    leave(this.c, this.environment, to.split("?")[0] ?? "", { typed, errors: {} });
    return this.c.redirect(to, 303);
  }

  /** What a form did, or what is wrong with it. */
  news(): Returned {
    return this.returned() ?? { typed: new URLSearchParams(), errors: {} };
  }

  /** A secret that a form makes: the same however often this browser sends it, and known to no other. Null for none of our forms. */
  secretOf(use: string): string | null {
    const once = this.form.get("once") ?? "";
    return ONCE.test(once) ? hashSecret([use, this.cookie("session"), once].join(":")) : null;
  }

  /** A form that is none this browser was shown while it was signed in as it is now. */
  foreign(): Answer {
    this.became("foreign_form");
    return this.page(kindPage(this.frame, this.frame.words.refused), 403);
  }

  /** Nobody is signed in here: to where they can, and then on to this page. */
  toSignIn(): Response {
    this.became("signed_out");
    this.forget("session");
    const here = this.c.req.path.replace(/^\/pages\/mijn/, "");
    const to = SECTIONS.find((section) => section !== "" && section === here);
    return this.go("/sign-in", to ? { to } : {});
  }
}

/** A page on which a person signs in. */
export function onSignIn(run: (visit: MijnVisit) => Answer): Handler<Name> {
  return (request) => run(new MijnVisit(request));
}

/** A page of somebody who is signed in; whoever is not is led to where they can. A form must be one of this browser's. */
export function signedIn(run: (visit: MijnVisit) => Answer): Handler<Name> {
  return async (request) => {
    const visit = new MijnVisit(request);
    if (!visit.cookie("session")) return visit.toSignIn();
    if (visit.c.req.method === "POST" && !visit.isOwn()) return visit.foreign();
    try {
      return await run(visit);
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) return visit.toSignIn();
      throw error;
    }
  };
}
