import { ApiError, requireJson } from "./error.ts";
import type { Credential, Send } from "./patience.ts";
import type { components } from "./schema.ts";
import { orAborted } from "./wait.ts";

/** What the caller has to give; often read from the environment, where it may be missing. */
export function required(name: string, value: string | undefined, where: string): string {
  if (!value) throw new TypeError(`${name} is ${value === "" ? "empty" : "missing"}: ${where}`);
  return value;
}

const WHERE_TOKENS =
  "give a partner key, a personal token or an access token; leave the field out for calls that need none";

/** Gives a token for each request. After 401 `renew` says whether it will give another one; then the request is sent again, once. */
export interface TokenFunction {
  (): string | Promise<string>;
  renew?(refused: string): boolean;
}
export type TokenSource = string | TokenFunction;

/** A token that somebody else looks after: a partner key, a personal token, or what a function of yours gives for each request. */
export function given(source: TokenSource | undefined): Credential {
  const ask = typeof source === "function" ? source : undefined;
  const token = ask ? "" : required("token", source as string | undefined, WHERE_TOKENS);
  return {
    token: async (signal) =>
      ask ? required("token", await orAborted(Promise.resolve(ask()), signal), WHERE_TOKENS) : token,
    renew: (refused) => ask?.renew?.(refused) ?? false,
  };
}

/** A token is replaced so many milliseconds before it expires, or when a tenth of its life is left, whichever is later. */
const MARGIN_MS = 60_000;

export type Token = components["schemas"]["Token"];
/** A token, and when to replace it, in milliseconds since 1970. */
type Held = { token: string; until: number };

/** When to replace a token that was asked for at `asked`. */
export const replaceAt = (asked: number, life: number) => asked + life - Math.min(MARGIN_MS, life / 10);

/** A token that is asked for when a request needs it and before it expires, by one request at a time. */
export function held(ask: () => Promise<Held>, current: Held | null = null): Credential {
  let asking: Promise<string> | null = null;
  return {
    async token(signal) {
      if (current && Date.now() < current.until) return current.token;
      asking ??= ask()
        .then((fresh) => {
          current = fresh;
          return fresh.token;
        })
        .finally(() => {
          asking = null;
        });
      return orAborted(asking, signal);
    },
    renew(refused) {
      // another request may have replaced it already
      if (current?.token === refused) current = null;
      return true;
    },
  };
}

/** Asks the token endpoint. @throws {ApiError} why there is no token. */
export async function requestToken(
  authUrl: string,
  send: Send,
  fields: Record<string, string>,
  signal: AbortSignal | null = null,
): Promise<Token> {
  const body = new URLSearchParams(fields);
  const response = await send(new Request(`${authUrl}/oauth-token`, { method: "POST", body, signal }), null);
  requireJson("POST /oauth-token", response);
  const answer: unknown = await response.json().catch(() => null);
  if (!response.ok) throw new ApiError(response.status, answer, response.headers);
  return answer as Token;
}

export type ClientCredentials = {
  clientId: string | undefined;
  clientSecret: string | undefined;
  scope?: string | undefined;
};

/** Tokens of a CPO client. */
export function clientCredentials(authUrl: string, credentials: ClientCredentials, send: Send): Credential {
  const fields = {
    grant_type: "client_credentials",
    client_id: required("clientId", credentials.clientId, "give the id of your client"),
    client_secret: required("clientSecret", credentials.clientSecret, "give the secret of your client"),
    ...(credentials.scope === undefined ? {} : { scope: credentials.scope }),
  };
  return held(async () => {
    const asked = Date.now();
    const { access_token, expires_in } = await requestToken(authUrl, send, fields);
    return { token: access_token, until: replaceAt(asked, expires_in * 1000) };
  });
}
