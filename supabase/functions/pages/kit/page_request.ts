import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { SqlAnswer } from "#shared/foundation/answers.ts";
import { type Attempt, attempt } from "#shared/foundation/attempt.ts";
import { callFor, type Declared } from "#shared/foundation/call.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import type { ApiError, ErrorCode } from "#shared/foundation/errors.ts";
import { readFormData } from "#shared/http/body.ts";
import { clientAddress, clientHash } from "#shared/http/client_address.ts";
import { type Locale, readersLocale } from "#shared/values/locale.ts";
import type { Errors, Frame, Html } from "./frame.ts";
import { askToKeep, browserOf, fieldsToKeep, putFlash, type Returned, takeFlash } from "./returned.ts";
import { kindPage, tooManyCodesPage } from "./views.ts";
import { WORDS } from "./words.ts";

/** What a request for a page carries along. */
export type PagesEnv = {
  Variables: {
    request_id: string;
    /** The public path of the pages' root, which behind a gateway is not the path the function sees. */
    root: string;
    form: URLSearchParams;
    /** Bytes that a form with a file may have: what readUpload() reads. */
    upload?: number;
    /** The file of a form that sends one, if one was chosen. */
    file?: File;
    /** For the log: the outcome of the request, where its status does not say it. */
    outcome?: string;
  };
};

export type PageAnswer = Response | Promise<Response>;
export type Handler<Name extends string = string> = (request: PageRequest<Name>) => PageAnswer;

type Route = {
  method: "GET" | "POST";
  /** Under the pages' root. A token in it is the credential, and never logged. */
  path: string;
  run: Handler;
  /** Whether a form may come from elsewhere than a page of ours. */
  from_anywhere?: true;
  /**
   * For a form with a file: how many bytes readUpload() reads, once we know who sends it. The handler decides whether
   * the file may be that large.
   */
  upload?: number;
};

/** One way through the pages: where it can be entered, and every api function that it may run. */
export type Flow = Declared & {
  routes: readonly Route[];
  /** Those of its functions that run as `edge_slow`. */
  slow_sql?: readonly string[];
};

/** All links that do not work answer alike, so that nobody learns whether a link ever existed. */
export const DEAD = 404;

/** A token of newSecret(): 256 bits in base62. Anything else is not looked up. */
const TOKEN = /^[0-9A-Za-z]{43}$/;

/** A request for a page. A flow's own request adds what was opened, and frames the page by it. */
export class PageRequest<Name extends string = string> {
  readonly c: Context<PagesEnv>;
  readonly environment: Environment;
  /** Of a flow, with its routes. */
  readonly declared: Declared & Partial<Pick<Flow, "routes">>;
  readonly frame: Frame;

  constructor(
    c: Context<PagesEnv>,
    environment: Environment,
    declared: PageRequest["declared"],
    about: FrameOptions = {},
  ) {
    this.c = c;
    this.environment = environment;
    this.declared = declared;
    this.frame = frameOf(c, environment, about);
  }

  get locale(): Locale {
    return this.frame.locale;
  }

  get form(): URLSearchParams {
    return this.c.var.form;
  }

  get file(): File | undefined {
    return this.c.var.file;
  }

  /**
   * Reads the form of a route that takes a file: its fields, and the first file in it. Reading it is expensive, so
   * check first who sends it.
   */
  async readUpload(): Promise<void> {
    const { c } = this;
    if (c.var.upload === undefined) return;
    const fields = new URLSearchParams();
    for (const [name, value] of await readFormData(c.req.raw, c.var.upload)) {
      if (typeof value === "string") fields.append(name, value);
      // a browser sends a file without a name if none was chosen
      else if (!c.var.file && (value.name || value.size)) c.set("file", value);
    }
    c.set("form", fields);
  }

  /** Where the request comes from, to count by. */
  get address_hash(): string {
    return clientHash(this.c.req.raw, this.environment);
  }

  /** The client's network address: stored as evidence of a signature, never logged. */
  get address(): string {
    return clientAddress(this.c.req.raw, this.environment.config);
  }

  /** The secret of a browser that keeps cookies, once it has been shown a form. */
  get browser(): string | undefined {
    return browserOf(this.c, this.environment);
  }

  /** A secret of ours in the path; null where it cannot be one. */
  get token(): string | null {
    const token = this.c.req.param("token") ?? "";
    return TOKEN.test(token) ? token : null;
  }

  /** Runs a declared api function for the holder of the link: the kind of caller is anyone. */
  async call<Called extends Name>(name: Called, input: object): Promise<SqlAnswer<Called>> {
    const { declared, environment, c } = this;
    const caller = { kind: "anyone", host: environment.config.API_HOST, request_id: c.var.request_id };
    return JSON.parse(await callFor(declared, environment, caller)(name, input));
  }

  /** Waits for an act of the visitor that may be refused with one of `codes`: the log names the refusal as the outcome. */
  async attempt<Result, const Code extends ErrorCode>(
    act: Promise<Result>,
    codes: readonly Code[],
  ): Promise<Attempt<Result, Code>> {
    const attempted = await attempt(act, codes);
    if (attempted.refused) this.logOutcome(attempted.refused.code);
    return attempted;
  }

  /** Names, for the log, what the request led to where its status does not say it. */
  logOutcome(outcome: string): void {
    this.c.set("outcome", outcome);
  }

  page(page: Html, status: ContentfulStatusCode = 200): PageAnswer {
    return this.c.html(page, status);
  }

  /** The page of a form: fresh, or as it came back from again(). */
  formPage(show: (returned: Returned | null) => Html): PageAnswer {
    const returned = this.returned();
    askToKeep(this.c, this.environment);
    return this.page(show(returned), Object.keys(returned?.errors ?? {}).length > 0 ? 422 : 200);
  }

  /** Who may see a returned form: on pages without signing in, the person at this browser. */
  protected get whose(): string {
    return "";
  }

  /** The form that came back to this page; it is told once. */
  returned(): Returned | null {
    const { c, environment } = this;
    const path = c.var.root + c.req.path.replace(/^\/pages/, "");
    this.#returned ??= takeFlash(c, environment, { path, whose: this.whose });
    return this.#returned;
  }
  #returned: Returned | null = null;

  /**
   * Something is wrong with a form: its page, at `to`, says what and keeps what was typed. A browser without cookies is told at
   * once, by `show`.
   */
  again(to: string, errors: Errors, show: (returned: Returned) => Html): PageAnswer {
    const returned = { typed: fieldsToKeep(this.form, errors), errors };
    if (!this.browser) return this.page(show(returned), 422);
    this.putFlash(to, returned);
    return this.c.redirect(to, 303);
  }

  /** Leaves a form for the page at `to`, and answers whether what was typed is in it. */
  protected putFlash(to: string, returned: Returned, seconds?: number): boolean {
    return putFlash(this.c, this.environment, { path: to.split("?")[0] ?? "", whose: this.whose }, returned, seconds);
  }

  /** See Other: what a form did is shown by a page of its own, which can be reloaded. */
  go(page: string, query?: Record<string, string>): Response {
    return this.c.redirect(this.frame.to(page, query), 303);
  }

  /** Answers a link that we did not make. */
  unknown(): PageAnswer {
    this.logOutcome("unknown");
    return this.page(kindPage(this.frame, this.frame.words.unknown), DEAD);
  }

  tooManyCodes(refused: ApiError, href: string, label?: string): PageAnswer {
    const retryAfter = refused.retryAfter ?? 1;
    this.c.header("Retry-After", String(retryAfter));
    return this.page(tooManyCodesPage(this.frame, retryAfter, href, label), 429);
  }
}

/** What a flow knows of its page: where its pages are under the root, and how it is addressed. */
type FrameOptions = {
  path?: string;
  /** The language that somebody chose for the reader. */
  locale?: Locale | null | undefined;
  inLanguage?: Frame["inLanguage"];
};

function frameOf(
  c: Context<PagesEnv>,
  { config }: Environment,
  { path = "", locale: chosen, inLanguage = (other) => `?lang=${other}` }: FrameOptions,
): Frame {
  const locale = readersLocale(c.req.query("lang"), chosen, c.req.header("accept-language"));
  const { root } = c.var;
  return {
    config,
    locale,
    words: WORDS[locale],
    root,
    to: (page, query = {}) => `${root}${path}${page}?${new URLSearchParams({ lang: locale, ...query })}`,
    inLanguage,
  };
}
