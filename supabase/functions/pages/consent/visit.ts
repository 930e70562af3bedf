import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { AuthorizationRequest, redirectUrl } from "#shared/auth/authorize.ts";
import { readSignInSession } from "#shared/auth/sign_in_session.ts";
import { signOut } from "#shared/auth/supabase_auth.ts";
import { hashSecret, newSecret, sameSecret } from "#shared/auth/tokens.ts";
import { ConfigurationError, type Environment } from "#shared/foundation/environment.ts";
import { ApiError } from "#shared/foundation/errors.ts";
import { describeCause } from "#shared/foundation/log.ts";
import { isLocale } from "#shared/values/locale.ts";
import type { CodeError } from "../kit/code.ts";
import type { Html } from "../kit/frame.ts";
import type { Returned } from "../kit/returned.ts";
import { type Answer, type Handler, Visit } from "../kit/visit.ts";
import { DEVICE_SECONDS, deviceHash, newDevice } from "./device.ts";
import {
  type Asking,
  askPage,
  badRequestPage,
  type ConsentFrame,
  codePage,
  type SignInErrors,
  signInPage,
} from "./views.ts";

/** The api functions behind the pages. A form that allows then runs those of AUTHORIZE, in the name of who is signed in. */
export const SQL = ["describe_authorization", "count_sign_in", "send_sign_in_code", "redeem_sign_in_code"] as const;
type Name = (typeof SQL)[number];

/** Where the pages are under the root, and the cookies of their visitors with them. */
export const PATH = "/consent";

/** Long enough to read and decide. The page keeps the session and nothing else keeps it: Auth's refresh token is dropped. */
const SESSION_SECONDS = 600;
/** What browsers keep of one cookie, with its name and attributes. */
const MAX_COOKIE = 4000;

/** A request for the page of one authorization request, whose client and redirect URI were found good. */
export class ConsentVisit extends Visit<Name> {
  declare readonly frame: ConsentFrame;
  readonly request: AuthorizationRequest;
  readonly asking: Asking;

  private constructor({ c, environment, declared, frame }: Visit<Name>, request: AuthorizationRequest, asking: Asking) {
    super(c, environment, declared);
    this.request = request;
    this.asking = asking;
    const query = new URLSearchParams({ ...request, lang: frame.locale });
    const { redirect_uri, state } = request;
    this.frame = {
      ...frame,
      to: (page) => `${frame.root}${PATH}${page}?${query}`,
      refused: redirectUrl(redirect_uri, environment.config.AUTH_URL, { error: "access_denied", state }),
    };
  }

  /** The visit, or the answer to a request that cannot be one. Every one counts against the address it comes from. */
  static async open({ c, environment, declared }: Visit<Name>): Promise<ConsentVisit | Response> {
    const sent = new URL(c.req.url).searchParams;
    const visit = new Visit(c, environment, declared, {
      locale: (sent.get("ui_locales") ?? "").split(" ").find(isLocale),
      inLanguage: (other) => {
        const same = new URLSearchParams(sent);
        same.set("lang", other);
        return `${c.var.root}${PATH}${c.req.path.endsWith("/code") ? "/code" : ""}?${same}`;
      },
    });
    // a parameter that is repeated is none (RFC 6749 section 3.1)
    const once = (name: string) => (sent.getAll(name).length === 1 ? sent.get(name) : undefined);
    const { shape } = AuthorizationRequest;
    const given = Object.fromEntries(Object.keys(shape).map((name) => [name, once(name)]));
    const read = (name: keyof typeof shape) => shape[name].safeParse(given[name]).data as string | undefined;

    const [client_id, redirect_uri] = [read("client_id"), read("redirect_uri")];
    if (client_id === undefined || redirect_uri === undefined) return bad(visit);
    // RFC 6749 section 4.1.2.1: once both are good, the application is told what is wrong. A form cannot lead there, see allow()
    const tell = (error: string) => {
      if (c.req.method === "POST") return bad(visit);
      visit.became(error);
      const state = read("state");
      return c.redirect(
        redirectUrl(redirect_uri, environment.config.AUTH_URL, { error, ...(state && { state }) }),
        303,
      );
    };
    try {
      const scope = read("scope") ?? "";
      const { address_hash } = visit;
      const asking = await visit.call<Asking>("describe_authorization", {
        client_id,
        redirect_uri,
        scope,
        address_hash,
      });
      const request = AuthorizationRequest.safeParse(given);
      if (!request.success) return tell("invalid_request");
      if (request.data.response_type !== "code") return tell("unsupported_response_type");
      return new ConsentVisit(visit, request.data, asking);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.code === "invalid_client" || error.code === "invalid_redirect_uri") return bad(visit);
      if (error.code === "unauthorized_client" || error.code === "invalid_scope") return tell(error.code);
      throw error;
    }
  }

  /** The session JWT in the cookie and whose it is; null when there is none, or none that is still good. */
  async session(): Promise<{ jwt: string; email: string } | null> {
    const jwt = this.cookie("consent");
    const session = jwt && (await read(this.environment, jwt));
    return session ? { jwt, email: session.email } : null;
  }

  /** The code this browser asked for: the secret it works with, and the address that was typed. */
  waiting(): { token: string; email: string } | null {
    const [token = "", address] = (this.cookie("consent-code") ?? "").split(" ");
    return address ? { token, email: address } : null;
  }

  cookie(name: CookieName): string | undefined {
    return getCookie(this.c, cookieOf(this.environment, name).name);
  }

  /** Until the browser ends, unless told how long. */
  keep(name: CookieName, value: string, maxAge?: number): void {
    const cookie = cookieOf(this.environment, name);
    setCookie(this.c, cookie.name, value, { ...cookie.attributes, ...(maxAge === undefined ? {} : { maxAge }) });
  }

  forget(name: CookieName): void {
    const cookie = cookieOf(this.environment, name);
    if (this.cookie(name) !== undefined) deleteCookie(this.c, cookie.name, cookie.attributes);
  }

  /** The page to sign in on; `email` is whom this browser mailed a code to. */
  signIn(email?: string): Answer {
    return this.formPage((returned) => (returned ? this.#signInAgain(returned) : this.#signInPage(email)));
  }

  /** Signing in was refused: the address is kept, the password never is. */
  refuseSignIn(errors: SignInErrors): Answer {
    return this.again(this.frame.to(""), errors, (returned) => this.#signInAgain(returned));
  }

  #signInAgain({ typed, errors }: Returned): Html {
    return this.#signInPage(typed.get("email") ?? "", errors);
  }

  #signInPage(email?: string, errors?: SignInErrors): Html {
    return signInPage(this.frame, this.asking, this.formToken(), email, errors);
  }

  askCode(address: string): Answer {
    return this.formPage((returned) => this.#codePage(address, returned?.errors.code));
  }

  refuseCode(address: string, error: CodeError): Answer {
    const code = this.frame.words.code.errors[error];
    return this.again(this.frame.to("/code"), { code }, () => this.#codePage(address, code));
  }

  #codePage(address: string, error?: string): Html {
    return codePage(this.frame, this.formToken(), address, error);
  }

  /** A form that signs in, but is no form of a page this browser was shown. */
  signInAgain(): Answer {
    this.became("foreign_form");
    return this.page(signInPage(this.frame, this.asking, this.formToken(), undefined, undefined, true), 403);
  }

  /**
   * What every form that signs in sends along, by a cookie from before. Without it another site could sign its visitors in as
   * somebody else, where the browser says neither Sec-Fetch-Site nor Origin; under no-referrer ours says `Origin: null` too.
   */
  formToken(): string {
    const kept = this.cookie("consent-form");
    if (kept) return formTokenOf(kept);
    const secret = newSecret();
    this.keep("consent-form", secret);
    return formTokenOf(secret);
  }

  isOwnForm(): boolean {
    const kept = this.cookie("consent-form");
    return !!kept && sameSecret(this.form.get("form_token") ?? "", formTokenOf(kept));
  }

  ask(session: { jwt: string; email: string }, again = false): Answer {
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
    const session = await read(this.environment, jwt);
    if (!session) {
      throw new ConfigurationError(
        "SUPABASE_URL: its Auth signs sessions in a way that is not accepted; use an asymmetric signing key (ES256 or RS256)",
      );
    }
    if (jwt.length > MAX_COOKIE) throw new Error("the session is larger than a cookie");
    this.keep("consent", jwt, SESSION_SECONDS);
    this.forget("consent-code");
    if (!deviceHash(this.environment, session.email, this.cookie("consent-device")))
      this.keep("consent-device", newDevice(this.environment, session.email), DEVICE_SECONDS);
    return this.go("");
  }

  /** Signs out, here and at Supabase Auth. Where Auth cannot be asked the session runs out by itself: nobody has it any more. */
  async end(): Promise<void> {
    const jwt = this.cookie("consent");
    this.forget("consent");
    if (!jwt) return;
    try {
      await signOut(this.environment, jwt);
    } catch (cause) {
      const { environment, c } = this;
      environment.log({
        level: "warn",
        event: "session_not_ended",
        request_id: c.var.request_id,
        cause: describeCause(cause),
      });
    }
  }
}

/** A page of an authorization request that can be one. */
export function onRequest(run: (visit: ConsentVisit) => Answer): Handler<Name> {
  return async (request) => {
    const visit = await ConsentVisit.open(request);
    return visit instanceof Response ? visit : run(visit);
  };
}

/** A form that signs in, sent from a page that this browser was shown. */
export function onSignInForm(run: (visit: ConsentVisit) => Answer): Handler<Name> {
  return onRequest((visit) => (visit.isOwnForm() ? run(visit) : visit.signInAgain()));
}

/** What a page may show of the secret in a cookie that scripts cannot read. */
export function formTokenOf(secret: string): string {
  return hashSecret(`form:${secret}`);
}

function bad(visit: Visit): Answer {
  visit.became("bad_request");
  return visit.page(badRequestPage(visit.frame), 400);
}

type CookieName = "consent" | "consent-code" | "consent-form" | "consent-device";

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
    return await readSignInSession(environment, jwt);
  } catch (error) {
    throw new ApiError("service_unavailable", {}, error);
  }
}
