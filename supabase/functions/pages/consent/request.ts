import { AuthorizationRequest } from "#shared/auth/authorization_request.ts";
import { refusalUrl } from "#shared/auth/authorize.ts";
import { signOut } from "#shared/auth/supabase_auth.ts";
import { hashSecret } from "#shared/auth/tokens.ts";
import { ApiError, ERRORS, type ErrorCode } from "#shared/foundation/errors.ts";
import { describeCause } from "#shared/foundation/log.ts";
import { ruleText } from "#shared/http/rules.ts";
import { isLocale } from "#shared/values/locale.ts";
import type { Html } from "../kit/frame.ts";
import { type Handler, type PageAnswer, PageRequest } from "../kit/page_request.ts";
import { type SignedIn, SignInRequest } from "../kit/sign_in.ts";
import type { SignInShown } from "../kit/sign_in_views.ts";
import type { Asking } from "./model.ts";
import { PATH, type SQL } from "./sql.ts";
import { askPage, badRequestPage, type ConsentFrame, consentSignInPage } from "./views.ts";

type Name = (typeof SQL)[number];

/** Long enough to read and decide. The page keeps the session and nothing else keeps it: Auth's refresh token is dropped. */
export const SESSION_SECONDS = 600;
/** What browsers keep of one cookie, with its name and attributes. */
const MAX_COOKIE = 4000;

/** A request for the page of one authorization request, whose client and redirect URI were found good. */
export class ConsentRequest extends SignInRequest<Name> {
  readonly home = PATH;
  protected override readonly strangers = true;
  declare readonly frame: ConsentFrame;
  readonly params: AuthorizationRequest;
  readonly asking: Asking;

  private constructor(
    { c, environment, declared, frame }: PageRequest<Name>,
    params: AuthorizationRequest,
    asking: Asking,
  ) {
    super(c, environment, declared);
    this.params = params;
    this.asking = asking;
    const query = new URLSearchParams({ ...params, lang: frame.locale });
    const { redirect_uri, state } = params;
    this.frame = {
      ...frame,
      to: (page) => `${frame.root}${PATH}${page}?${query}`,
      refused: refusalUrl(redirect_uri, environment.config.AUTH_URL, {
        error: "access_denied",
        description: "The person did not allow it.",
        state,
      }),
    };
  }

  /** The request, or the answer to a request that cannot be one. Every one counts against the address it comes from. */
  static async open({ c, environment, declared }: PageRequest<Name>): Promise<ConsentRequest | Response> {
    const sent = new URL(c.req.url).searchParams;
    const request = new PageRequest(c, environment, declared, {
      locale: (sent.get("ui_locales") ?? "").split(" ").find(isLocale),
      inLanguage: (other) => {
        const same = new URLSearchParams(sent);
        same.set("lang", other);
        return `${c.var.root}${PATH}${c.req.path.endsWith("/code") ? "/code" : ""}?${same}`;
      },
    });
    // a repeated parameter is ignored (RFC 6749 section 3.1)
    const once = (name: string) => (sent.getAll(name).length === 1 ? sent.get(name) : undefined);
    const { shape } = AuthorizationRequest;
    const given = Object.fromEntries(Object.keys(shape).map((name) => [name, once(name)]));
    const read = (name: keyof typeof shape) => shape[name].safeParse(given[name]).data as string | undefined;

    const [client_id, redirect_uri] = [read("client_id"), read("redirect_uri")];
    if (client_id === undefined || redirect_uri === undefined) return bad(request);
    // RFC 6749 section 4.1.2.1: once both are good, the application is told what is wrong. A form cannot lead there, see allow()
    const tell = (error: ErrorCode, description = ERRORS[error].detail) => {
      if (c.req.method === "POST") return bad(request);
      request.logOutcome(error);
      const refusal = { error, description, state: read("state") };
      return c.redirect(refusalUrl(redirect_uri, environment.config.AUTH_URL, refusal), 303);
    };
    try {
      const scope = read("scope") ?? "";
      const { address_hash } = request;
      const asking = await request.call("describe_authorization", {
        client_id,
        redirect_uri,
        scope,
        address_hash,
      });
      const params = AuthorizationRequest.safeParse(given, { error: ruleText });
      if (!params.success) {
        const [issue] = params.error.issues;
        return tell("invalid_request", `${issue?.path.join(".")}: ${issue?.message}`);
      }
      if (params.data.response_type !== "code") return tell("unsupported_response_type");
      return new ConsentRequest(request, params.data, asking);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.code === "invalid_client" || error.code === "invalid_redirect_uri") return bad(request);
      if (error.code === "unauthorized_client" || error.code === "invalid_scope") return tell(error.code);
      throw error;
    }
  }

  protected get app(): string {
    return this.asking.name;
  }

  protected signInPage(shown: SignInShown): Html {
    return consentSignInPage(this.frame, this.asking, shown);
  }

  /** The session JWT in the cookie and its person; null if there is none, or it has ended. */
  async session(): Promise<SignedIn | null> {
    const jwt = this.cookie("session");
    return jwt ? this.read(jwt) : null;
  }

  ask(session: { jwt: string; email: string }, again = false): PageAnswer {
    const { redirect_uri } = this.params;
    const shown = { email: session.email, host: new URL(redirect_uri).host, proof: this.proof(session.jwt), again };
    return this.page(askPage(this.frame, this.asking, shown), again ? 409 : 200);
  }

  /** Only who has the session can make it, and it fits no other request. */
  proof(jwt: string): string {
    return hashSecret(JSON.stringify([jwt, this.params, this.asking]));
  }

  protected keepSession({ jwt }: SignedIn): void {
    if (jwt.length > MAX_COOKIE) throw new Error("the session is larger than a cookie");
    this.keep("session", jwt, SESSION_SECONDS);
  }

  /** Signs out, here and at Supabase Auth. Where Auth cannot be asked the session runs out by itself: nobody has it any more. */
  async end(): Promise<void> {
    const jwt = this.cookie("session");
    this.forget("session");
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
export function onRequest(run: (request: ConsentRequest) => PageAnswer): Handler<Name> {
  return async (bare) => {
    const request = await ConsentRequest.open(bare);
    return request instanceof Response ? request : run(request);
  };
}

function bad(request: PageRequest): PageAnswer {
  request.logOutcome("bad_request");
  return request.page(badRequestPage(request.frame, request.c.var.request_id), 400);
}
