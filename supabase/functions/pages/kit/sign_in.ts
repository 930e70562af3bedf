import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { readSignInSession } from "#shared/auth/sign_in_session.ts";
import { secretKey, signInByMail, signInByPassword } from "#shared/auth/supabase_auth.ts";
import { hashAddress, hashSecret, newCode, newSecret, sameSecret } from "#shared/auth/tokens.ts";
import { claimKey } from "#shared/domain/claim/links.ts";
import { aboutMail } from "#shared/domain/mail/about.ts";
import { CODE_REFUSALS } from "#shared/foundation/attempt.ts";
import { ConfigurationError } from "#shared/foundation/configuration.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { ApiError } from "#shared/foundation/errors.ts";
import { email } from "#shared/values/fields.ts";
import { type CodeError, readCode } from "./code.ts";
import { DEVICE_SECONDS, deviceHash, newDevice } from "./device.ts";
import type { Html } from "./frame.ts";
import type {} from "./model.ts";
import { type Handler, type PageAnswer, PageRequest } from "./page_request.ts";
import type { Returned } from "./returned.ts";
import type { SIGN_IN_SQL } from "./sign_in_sql.ts";
import { type CodeShown, codePage, type SignInErrors, type SignInShown } from "./sign_in_views.ts";

type SignInName = (typeof SIGN_IN_SQL)[number];

/** Longer than the code works, so that the page can say that the code has expired. */
const CODE_COOKIE_SECONDS = 3600;

/** The secret of a browser that is signed in without a login begins with it. */
const SIGNATORY = "signatory.";

type Kept = "session" | "code" | "form" | "device" | "decided";

/** A session of Supabase Auth that has just begun, or that a browser holds. */
export type SignedIn = { jwt: string; email: string; sessionId: string | null };

/** The secret of a browser that is signed in. Behind its dot stands by which address, as a hash: a session that ended says so still. */
export function newSecretOf(environment: Environment, address: string): string {
  return `${newSecret()}.${hashAddress(environment, address)}`;
}

/** By which address a browser is signed in, or was, as a hash; empty where it never was. */
export function ownerOf(secret: string | undefined): string {
  return secret?.split(".").at(-1) ?? "";
}

/**
 * A page on which people sign in with Supabase Auth, by password or by a code that is mailed. Whoever has no password, as after a
 * claim, signs in by the code, which only the browser that asked for it can use. Nothing that is answered says whether an address
 * has a login.
 */
export abstract class SignInRequest<Name extends string = never> extends PageRequest<Name | SignInName> {
  /** Where the pages are under the root. The cookies are theirs alone, and named after them. */
  abstract readonly home: string;

  /** Who asks for access by it, for the mail; null where nobody does. */
  protected abstract get app(): string | null;

  protected abstract signInPage(shown: SignInShown): Html;

  /** Keeps a session that has just begun; `signatory` is the secret of a signatory's, which it takes the place of. */
  protected abstract keepSession(session: SignedIn, signatory: string | null): void | Promise<void>;

  /** Why a code is asked of somebody who is signed in, and where they were; null of anybody else. */
  protected get askedAgain(): { why: string; back: string } | null {
    return null;
  }

  /**
   * Seconds to keep the cookie of a signatory of a CPO's customer, who signs in by a code without a login. Null if
   * these pages are not for them.
   */
  protected readonly signatorySeconds: number | null = null;

  /** Whether who types the code of an address without a login gets one. */
  protected readonly strangers: boolean = false;

  /** The first page that it opens. */
  protected landing(): Response {
    return this.go("");
  }

  /** The code this browser asked for: the secret it works with, and the address that was typed. */
  waiting(): { token: string; email: string } | null {
    const [token = "", address] = (this.cookie("code") ?? "").split(" ");
    return address ? { token, email: address } : null;
  }

  cookie(name: Kept): string | undefined {
    return getCookie(this.c, this.#cookieOf(name).name);
  }

  /** Until the browser ends, unless told how long; for the pages at `home`. */
  keep(name: Kept, value: string, maxAge?: number, home = this.home): void {
    const cookie = this.#cookieOf(name, home);
    setCookie(this.c, cookie.name, value, { ...cookie.attributes, ...(maxAge === undefined ? {} : { maxAge }) });
  }

  forget(name: Kept): void {
    const cookie = this.#cookieOf(name);
    if (this.cookie(name) !== undefined) deleteCookie(this.c, cookie.name, cookie.attributes);
  }

  /** For these pages only, out of reach of scripts; sent along by a link from elsewhere, and by no form of another site. */
  #cookieOf(kept: Kept, home = this.home) {
    const url = new URL(this.environment.config.PAGES_URL);
    const secure = url.protocol === "https:";
    const name = [home.slice(1), ...(kept === "session" ? [] : [kept])].join("-");
    return {
      name: secure ? `__Secure-${name}` : name,
      attributes: {
        path: `${url.pathname.replace(/\/$/, "")}${home}`,
        httpOnly: true,
        secure,
        sameSite: "Lax",
      } as const,
    };
  }

  /** The page to sign in on; `address` is whom this browser mailed a code to. */
  signIn(address?: string, notice: SignInShown["notice"] = null): PageAnswer {
    return this.formPage((returned) =>
      returned ? this.#signInAgain(returned) : this.#signInPage(address, {}, notice),
    );
  }

  /** Signing in was refused: the address is kept, the password never is. */
  refuseSignIn(errors: SignInErrors): PageAnswer {
    return this.again(this.frame.to(this.signInPath), errors, (returned) => this.#signInAgain(returned));
  }

  /** The page to sign in on, from the home of the flow. */
  protected readonly signInPath: string = "";

  #signInAgain({ typed, errors }: Returned): Html {
    return this.#signInPage(typed.get("email") ?? "", errors);
  }

  #signInPage(address = "", errors: SignInErrors = {}, notice: SignInShown["notice"] = null): Html {
    return this.signInPage({ form_token: this.formToken(), email: address, errors, notice });
  }

  askCode(address: string): PageAnswer {
    return this.formPage((returned) => codePage(this.frame, this.#codeShown(address, returned?.errors.code)));
  }

  refuseCode(address: string, error: CodeError): PageAnswer {
    const code = this.frame.words.code.errors[error];
    return this.again(this.frame.to("/code"), { code }, () => codePage(this.frame, this.#codeShown(address, code)));
  }

  #codeShown(address: string, error?: string): CodeShown {
    const again = this.askedAgain;
    return {
      form_token: this.formToken(),
      email: address,
      error,
      back: again?.back ?? this.frame.to(this.signInPath),
      why: again?.why ?? null,
    };
  }

  /** A form that signs in, but is no form of a page this browser was shown. */
  signInAgain(): PageAnswer {
    this.logOutcome("foreign_form");
    return this.page(this.#signInPage(undefined, undefined, "again"), 403);
  }

  /**
   * The token that every sign-in form sends, bound to a cookie. Without it another site could sign its visitors in as
   * somebody else, if the browser sends neither Sec-Fetch-Site nor Origin. Under no-referrer our own forms send
   * `Origin: null` too.
   */
  formToken(): string {
    const kept = this.cookie("form");
    if (kept) return formTokenOf(kept);
    const secret = newSecret();
    this.keep("form", secret);
    return formTokenOf(secret);
  }

  isOwnForm(): boolean {
    return isFormOf(this.cookie("form"), this.form.get("form_token"));
  }

  /**
   * The session of a JWT; null if it is invalid or has ended.
   * @throws {ApiError} where it cannot be judged: that is for later, not refused.
   */
  protected async read(jwt: string): Promise<SignedIn | null> {
    try {
      const session = await readSignInSession(this.environment, jwt);
      return session && { jwt, email: session.email, sessionId: session.sessionId };
    } catch (error) {
      throw new ApiError("service_unavailable", {}, error);
    }
  }

  /** However somebody signed in: their session is this browser's from now on. */
  async begin(jwt: string, signatory: string | null = null): Promise<Response> {
    const session = await this.read(jwt);
    if (!session) {
      throw new ConfigurationError(
        "SUPABASE_URL: its Auth signs sessions in a way that is not accepted; use an asymmetric signing key (ES256 or RS256)",
      );
    }
    await this.keepSession(session, signatory);
    return this.#land(session.email);
  }

  #land(address: string): Response {
    this.forget("code");
    if (!deviceHash(this.environment, address, this.cookie("device")))
      this.keep("device", newDevice(this.environment, address), DEVICE_SECONDS);
    return this.landing();
  }

  /** Whose sign-in is counted, and from where; by the browser alone where its owner signed in before. */
  #counted(address: string) {
    const { environment, address_hash } = this;
    const device_hash = deviceHash(environment, address, this.cookie("device"));
    return { address_hash, email_hash: hashAddress(environment, address), device_hash };
  }

  /** The address in the form, as it is known; undefined where it can be none. */
  #address(): string | undefined {
    return email().safeParse((this.form.get("email") ?? "").slice(0, 254)).data;
  }

  async byPassword(): Promise<Response> {
    const words = this.frame.words.sign_in.errors;
    const address = this.#address();
    const password = this.form.get("password") ?? "";
    if (!address || !password) {
      return this.refuseSignIn({
        ...(address ? {} : { login: words.email }),
        ...(password ? {} : { password: words.password }),
      });
    }

    await this.call("count_sign_in", this.#counted(address));
    const jwt = await signInByPassword(this.environment, address, password);
    if (jwt === "wrong" || jwt === "unconfirmed") {
      this.logOutcome(jwt);
      return this.refuseSignIn({ password: words[jwt] });
    }
    return this.begin(jwt);
  }

  /** Mails a code, if it opens anything. Nothing that is answered says whether it does. */
  async mailCode(): Promise<Response> {
    const address = this.#address();
    return address ? this.mailCodeTo(address) : this.refuseSignIn({ email: this.frame.words.sign_in.errors.email });
  }

  /** As mailCode(), to an address that is known; `query` says where the code leads, and why it is asked. */
  protected async mailCodeTo(address: string, query: Record<string, string> = {}): Promise<Response> {
    const { frame, environment, app } = this;
    secretKey(environment); // without one the code would be mailed in vain
    const { locale } = frame;
    const [token, code] = [newSecret(), newCode()];
    const sending = this.call("send_sign_in_code", {
      ...this.#counted(address),
      ...hashesOf(token, code),
      email: address,
      mail: aboutMail(environment.config, "sign_in", locale, { code, app }),
      signatories: this.signatorySeconds !== null,
      strangers: this.strangers,
    });
    const { refused } = await this.attempt(sending, ["too_many_codes"]);
    if (refused) return this.tooManyCodes(refused, frame.to("/code", query));
    this.logOutcome("sent");
    this.keep("code", `${token} ${address}`, CODE_COOKIE_SECONDS);
    return this.go("/code", query);
  }

  showCode(): PageAnswer {
    const waiting = this.waiting();
    if (waiting) return this.askCode(waiting.email);
    return this.#signedIn() ?? this.go(this.signInPath);
  }

  /** Back, in a browser that a code let in. */
  #signedIn(): Response | null {
    return this.cookie("session") ? this.landing() : null;
  }

  async byCode(): Promise<Response> {
    const waiting = this.waiting();
    if (!waiting) return this.#signedIn() ?? this.refuseSignIn({ email: this.frame.words.code.errors.code_expired });
    const code = readCode(this.form);
    if (code === null) return this.refuseCode(waiting.email, "code_missing");

    const secret =
      this.signatorySeconds === null ? null : `${SIGNATORY}${newSecretOf(this.environment, waiting.email)}`;
    const redeeming = this.call("redeem_sign_in_code", {
      ...hashesOf(waiting.token, code),
      ...this.#counted(waiting.email),
      email: waiting.email,
      key: claimKey(this.environment),
      signatory_hash: secret && hashSecret(secret),
      strangers: this.strangers,
    });
    const { answer, refused } = await this.attempt(redeeming, CODE_REFUSALS);
    if (refused) return this.refuseCode(waiting.email, refused.code);
    this.logOutcome("right_code");
    const { email: address, login, signatory } = answer;
    const jwt = login ? await signInByMail(this.environment, address) : null;
    if (jwt) return this.begin(jwt, signatory ? secret : null);
    if (login || !signatory || !secret) return this.refuseCode(waiting.email, "code_expired");
    this.keep("session", secret, this.signatorySeconds ?? 0);
    return this.#land(address);
  }

  /** Whether this browser is signed in as a signatory of a CPO's customer, without a login. What that opens is for the database to say. */
  get isSignatory(): boolean {
    return this.cookie("session")?.startsWith(SIGNATORY) ?? false;
  }
}

/** What the pages at `/sign-in`, `/mail-code` and `/code` of a flow do. `on` opens the request that the flow has for them. */
export function signInHandlers<V extends SignInRequest>(on: (run: (request: V) => PageAnswer) => Handler) {
  /** Sent from a page that this browser was shown. */
  const onForm = (run: (request: V) => PageAnswer) =>
    on((request: V) => (request.isOwnForm() ? run(request) : request.signInAgain()));
  return {
    signInByPassword: onForm((request) => request.byPassword()),
    mailCode: onForm((request) => request.mailCode()),
    showCode: on((request) => request.showCode()),
    signInByCode: onForm((request) => request.byCode()),
  };
}

/** What a page may show of the secret in a cookie that scripts cannot read. */
export function formTokenOf(secret: string): string {
  return hashSecret(`form:${secret}`);
}

function isFormOf(secret: string | undefined, form_token: string | null): boolean {
  return secret !== undefined && secret !== "" && sameSecret(form_token ?? "", formTokenOf(secret));
}

/** As formTokenOf, for a form that is about a tenant: it says which, and cannot be made to say another. */
export function tenantFormTokenOf(secret: string, tenant: string): string {
  return `${tenant}.${hashSecret(`form:${secret}:${tenant}`)}`;
}

/** The tenant that a form is about; null if the holder of the secret was not shown this form. */
export function tenantOfForm(secret: string | undefined, form_token: string | null): string | null {
  const [tenant = ""] = (form_token ?? "").split(".", 1);
  const isTheirs =
    secret !== undefined && secret !== "" && sameSecret(form_token ?? "", tenantFormTokenOf(secret, tenant));
  return isTheirs ? tenant : null;
}

/** The token never leaves the browser it was given to; a code without it is worth nothing. */
function hashesOf(token: string, code: string) {
  return { token_hash: hashSecret(token), code_hash: hashSecret(`${token}:${code}`) };
}
