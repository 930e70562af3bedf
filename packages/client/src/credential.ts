import { ApiError } from "./error.ts";
import { sendPatiently } from "./patience.ts";
import type { components } from "./schema.ts";

/** Whom requests are sent as. */
export type Credential = {
  token: () => Promise<string>;
  /** Whether another token may be had in the place of one that was refused. */
  renew: (refused: string) => boolean;
};

/** A token that somebody else looks after: a partner key, a personal token, or what a function of yours gives for each request. */
export const given = (token: string | (() => string | Promise<string>)): Credential => ({
  token: async () => (typeof token === "string" ? token : token()),
  renew: () => false,
});

/** A token is replaced so many milliseconds before it expires, or when a tenth of its life is left, whichever is later. */
const MARGIN_MS = 60_000;

export type ClientCredentials = { authUrl: string; clientId: string; clientSecret: string; scope?: string | undefined };

/** Tokens of a CPO client: one is asked for when the first request needs it and before it expires, by one request at a time. */
export function clientCredentials(
  { authUrl, clientId, clientSecret, scope }: ClientCredentials,
  fetch: typeof globalThis.fetch,
): Credential {
  let current: { token: string; until: number } | null = null;
  let asking: Promise<string> | null = null;

  async function ask(): Promise<string> {
    const form = new URLSearchParams({
      grant_type: "client_credentials",
      client_id: clientId,
      client_secret: clientSecret,
    });
    if (scope !== undefined) form.set("scope", scope);
    const asked = Date.now();
    const response = await sendPatiently(new Request(`${authUrl}/oauth-token`, { method: "POST", body: form }), fetch);
    const body: unknown = await response.json().catch(() => null);
    if (!response.ok) throw new ApiError(response.status, body);
    const { access_token, expires_in } = body as components["schemas"]["Token"];
    const life = expires_in * 1000;
    current = { token: access_token, until: asked + life - Math.min(MARGIN_MS, life / 10) };
    return access_token;
  }

  return {
    async token() {
      if (current && Date.now() < current.until) return current.token;
      asking ??= ask().finally(() => {
        asking = null;
      });
      return asking;
    },
    renew(refused) {
      // another request may have replaced it already
      if (current?.token === refused) current = null;
      return true;
    },
  };
}
