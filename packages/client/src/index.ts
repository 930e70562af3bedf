/** A typed client of the Charging Data and ERE Registration API: openapi-fetch with a token, patience, pages and events. */
import createFetchClient from "openapi-fetch";
import type { ApiClient } from "./api_client.ts";
import { type Credential, clientCredentials, given } from "./credential.ts";
import { sendPatiently } from "./patience.ts";
import type { paths } from "./schema.ts";

export type { ApiClient } from "./api_client.ts";
export { ApiError, type ErrorBody, orThrow } from "./error.ts";
export { type Event, type EventLog, type EventPage, type EventsFrom, events } from "./events.ts";
export { type ItemOf, type PagedPath, paginate } from "./paginate.ts";
export type { components, operations, paths, webhooks } from "./schema.ts";
export { verifyWebhook, type Webhook, WebhookError } from "./webhook.ts";

type Common = {
  /** The host, such as `https://api.example.com`. */
  baseUrl: string;
  /** Sends the requests; the runtime's own unless told. */
  fetch?: typeof globalThis.fetch;
};

export type ClientOptions =
  /** A CPO client. `authUrl` is where its tokens come from, `baseUrl` unless told; `scope` narrows them. */
  | (Common & { clientId: string; clientSecret: string; authUrl?: string; scope?: string })
  /** A partner key, a personal token, or an application's access token; a function is asked for each request. */
  | (Common & { token: string | (() => string | Promise<string>) });

const withoutSlash = (url: string) => url.replace(/\/+$/, "");

/**
 * A client. Tokens of a CPO client are asked for, kept, and replaced a minute before they expire, by one request at a time; one that is
 * refused is replaced once. 429 and 503 are waited for as `Retry-After` says: three times, a minute in all, and after 503 only what is
 * safe to repeat (see the README).
 */
export function createClient(options: ClientOptions): ApiClient {
  const { fetch = globalThis.fetch } = options;
  const baseUrl = withoutSlash(options.baseUrl);
  const credential =
    "token" in options
      ? given(options.token)
      : clientCredentials({ ...options, authUrl: withoutSlash(options.authUrl ?? baseUrl) }, fetch);
  return createFetchClient<paths>({ baseUrl, fetch: (request) => sendAs(credential, request, fetch) });
}

async function sendAs(credential: Credential, request: Request, fetch: typeof globalThis.fetch): Promise<Response> {
  const send = async (token: string) => {
    const attempt = request.clone();
    attempt.headers.set("Authorization", `Bearer ${token}`);
    return sendPatiently(attempt, fetch);
  };
  const token = await credential.token();
  const response = await send(token);
  // refused before anything was done: whatever it asks for may be asked for again
  if (response.status !== 401 || !credential.renew(token)) return response;
  await response.body?.cancel();
  return send(await credential.token());
}
