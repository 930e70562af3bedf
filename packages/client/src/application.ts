import { held, replaceAt, requestToken, required, type Token, type TokenFunction } from "./credential.ts";
import { ApiError, ConnectionError, requireJson } from "./error.ts";
import { type SendOptions, sender } from "./patience.ts";
import type { components } from "./schema.ts";
import { withoutSlash } from "./url.ts";
import { after, sleep } from "./wait.ts";

export type ApplicationOptions = SendOptions & {
  /** Where tokens come from, such as `https://api.example.com`. */
  authUrl: string | undefined;
  clientId: string | undefined;
  /** Keep it on a server: an application in a browser or on a phone has no secret to keep. */
  clientSecret: string | undefined;
  /** Where the person comes back to: one of those you registered, letter for letter. */
  redirectUri: string | undefined;
};

/** What a person allowed. Keep it like a password. */
export type UserTokens = {
  accessToken: string;
  /** Works once: replace these tokens by what `refresh` returns. */
  refreshToken: string;
  /** When to refresh, in milliseconds since 1970: a minute before the access token expires. */
  refreshAt: number;
  /** What the person allowed, apart by spaces. */
  scope: string;
};

/** What to keep in the person's session on your side until they come back. */
export type Pending = { state: string; codeVerifier: string };

/** The person did not allow it, or came back from somewhere else. */
export class AuthorizationError extends Error {
  override readonly name = "AuthorizationError";
  /** `access_denied` where the person declined; `invalid_state` and `invalid_issuer` where the answer is not to your question. */
  readonly code: string;
  constructor(code: string, detail: string) {
    super(`${code} ${detail}`.trim());
    this.code = code;
  }
}

/**
 * For how long one code or refresh token is sent, in milliseconds, and how long one attempt takes. The service ends the grant of a token
 * that comes again 30 seconds after its use.
 */
const [SENT_MS, ATTEMPT_MS] = [20_000, 6_000];
/** Milliseconds after which another process that has just refreshed has stored its tokens. */
const STORED_AFTER = [0, 250, 500, 1000, 2000];

const base64url = (bytes: Uint8Array) =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
const random = () => base64url(crypto.getRandomValues(new Uint8Array(32)));

/** A verifier and its challenge, by S256 (RFC 7636 section 4). */
export async function pkce(codeVerifier = random()): Promise<{ codeVerifier: string; codeChallenge: string }> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(codeVerifier));
  return { codeVerifier, codeChallenge: base64url(new Uint8Array(digest)) };
}

/** An application that acts for people who agreed: the authorization code flow with PKCE. */
export function createApplication(options: ApplicationOptions) {
  const authUrl = withoutSlash(required("authUrl", options.authUrl, "give the address that tokens come from"));
  const client = {
    client_id: required("clientId", options.clientId, "give the id of your application"),
    client_secret: required("clientSecret", options.clientSecret, "give the secret of your application"),
  };
  const redirect_uri = required("redirectUri", options.redirectUri, "give the address a person comes back to");
  const send = sender(authUrl, options);

  type Metadata = components["schemas"]["AuthorizationServerMetadata"];
  let described: Promise<Metadata> | null = null;
  /** The server's description of itself (RFC 8414), where a platform without paths that begin with a dot has it too. */
  const metadata = (): Promise<Metadata> => {
    described ??= send(new Request(`${authUrl}/oauth-token/.well-known/oauth-authorization-server`), null).then(
      async (response) => {
        requireJson("GET /oauth-token/.well-known/oauth-authorization-server", response);
        const body: unknown = await response.json().catch(() => null);
        if (response.ok) return body as Metadata;
        throw new ApiError(response.status, body, response.headers);
      },
    );
    described.catch(() => {
      described = null;
    });
    return described;
  };

  const { fetch = globalThis.fetch, maxWaitMs = SENT_MS, timeoutMs = ATTEMPT_MS } = options;
  const lost = (attempts: number, cause: unknown) => new ConnectionError("POST /oauth-token", attempts, false, cause);

  const ask = async (fields: Record<string, string>): Promise<Token> => {
    let attempts = 0;
    // a sender of its own, because the limit counts by person
    const sendOnce = sender(authUrl, {
      ...options,
      maxWaitMs: Math.min(maxWaitMs, SENT_MS),
      timeoutMs: Math.min(timeoutMs, ATTEMPT_MS),
      fetch: (...request) => {
        attempts += 1;
        return fetch(...request);
      },
    });
    const end = new AbortController();
    const timer = after(SENT_MS, () => end.abort(lost(attempts, new Error(`more than ${SENT_MS} ms`))));
    try {
      return await requestToken(authUrl, sendOnce, { ...client, ...fields }, end.signal);
    } catch (error) {
      throw error instanceof ConnectionError ? lost(error.attempts, error.cause) : error;
    } finally {
      clearTimeout(timer);
    }
  };
  const tokens = async (fields: Record<string, string>): Promise<UserTokens> => {
    const asked = Date.now();
    const answer = await ask(fields);
    return {
      accessToken: answer.access_token,
      refreshToken: answer.refresh_token ?? "",
      refreshAt: replaceAt(asked, answer.expires_in * 1000),
      scope: answer.scope,
    };
  };
  /** The next tokens; the refresh token that was given ends. `invalid_grant` means: ask the person again. @throws {ApiError} */
  const refresh = (refreshToken: string) => tokens({ grant_type: "refresh_token", refresh_token: refreshToken });

  return {
    /** Where to send the person, and what to keep until they come back. */
    async authorize(scope: readonly string[]): Promise<Pending & { url: string }> {
      const { codeVerifier, codeChallenge } = await pkce();
      const state = random();
      const url = new URL((await metadata()).authorization_endpoint);
      const query = {
        response_type: "code",
        client_id: client.client_id,
        redirect_uri,
        scope: scope.join(" "),
        state,
        code_challenge: codeChallenge,
        code_challenge_method: "S256",
      };
      for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
      return { url: url.href, state, codeVerifier };
    },

    /**
     * The tokens, from the whole address at which the person came back.
     * @throws {AuthorizationError} where the person declined, or the answer is not to your question.
     * @throws {ApiError} where the code does not work, or no more.
     */
    async exchange(cameBackAt: string | URL, { state, codeVerifier }: Pending): Promise<UserTokens> {
      const said = new URL(cameBackAt, redirect_uri).searchParams;
      if (!state || said.get("state") !== state)
        throw new AuthorizationError("invalid_state", "This is not the answer to what was asked: begin again.");
      if (said.get("iss") !== (await metadata()).issuer)
        throw new AuthorizationError("invalid_issuer", "This answer came from another server: begin again.");
      const code = said.get("code");
      if (!code)
        throw new AuthorizationError(said.get("error") ?? "invalid_request", said.get("error_description") ?? "");
      return tokens({ grant_type: "authorization_code", code, redirect_uri, code_verifier: codeVerifier });
    },

    refresh,

    /**
     * A `token` for createClient, refreshed when it is time and after a 401, by one request at a time. `keep` is given the new tokens
     * before the first of them is used, because the old refresh token no longer works. Give `load`, which reads what `keep` stored, if
     * several clients or processes share these tokens.
     */
    tokenOf(
      current: UserTokens,
      keep: (tokens: UserTokens) => unknown,
      load?: (() => UserTokens | null | undefined | Promise<UserTokens | null | undefined>) | undefined,
    ): TokenFunction & (() => Promise<string>) {
      const never = new AbortController().signal;
      let last = current;
      /** What somebody else stored since: a refresh token that we used ourselves would end the grant. */
      const stored = async (): Promise<boolean> => {
        const found = await load?.();
        if (!found || found.refreshAt <= last.refreshAt) return false;
        last = found;
        return true;
      };
      const renewed = async (): Promise<void> => {
        if ((await stored()) && Date.now() < last.refreshAt) return;
        try {
          last = await refresh(last.refreshToken);
        } catch (error) {
          if (!load || !(error instanceof ApiError && error.code === "invalid_grant")) throw error;
          for (const ms of STORED_AFTER) {
            await sleep(ms, never);
            if (await stored()) return;
          }
          throw error;
        }
        await keep(last);
      };
      const heldOf = ({ accessToken, refreshAt }: UserTokens) => ({ token: accessToken, until: refreshAt });
      const credential = held(() => renewed().then(() => heldOf(last)), heldOf(current));
      return Object.assign(() => credential.token(never), { renew: credential.renew });
    },

    /** Ends a token, and with a refresh token all that were made of it. @throws {ApiError} */
    async revoke(token: string): Promise<void> {
      const body = new URLSearchParams({ ...client, token });
      const response = await send(new Request(`${authUrl}/oauth-revoke`, { method: "POST", body }), null);
      if (!response.ok) throw new ApiError(response.status, await response.json().catch(() => null), response.headers);
    },
  };
}
