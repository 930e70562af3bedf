/** A typed client of the Charging Data and ERE Registration API: openapi-fetch with a token, patience, pages and events. */
import createFetchClient from "openapi-fetch";
import type { ApiClient } from "./api_client.ts";
import { BodyRequest, serialize } from "./body.ts";
import { type ClientCredentials, clientCredentials, given, required, type TokenSource } from "./credential.ts";
import { requireJson } from "./error.ts";
import { type SendOptions, sender } from "./patience.ts";
import type { paths } from "./schema.ts";
import { withoutSlash } from "./url.ts";

export type { ApiClient } from "./api_client.ts";
export {
  type ApplicationOptions,
  AuthorizationError,
  createApplication,
  type Pending,
  pkce,
  type UserTokens,
} from "./application.ts";
export { ApiError, ConnectionError, type ErrorBody, orThrow } from "./error.ts";
export { type Event, type EventLog, type EventPage, type EventsFrom, events } from "./events.ts";
export { type ItemOf, type PagedPath, paginate } from "./paginate.ts";
export type { SendOptions } from "./patience.ts";
export type { components, operations, paths, webhooks } from "./schema.ts";
export { verifyWebhook, type Webhook, WebhookError } from "./webhook.ts";

type Common = SendOptions & {
  /** The host, such as `https://api.example.com`. */
  baseUrl: string | undefined;
};

export type ClientOptions =
  /** A CPO client. `authUrl` is where its tokens come from, `baseUrl` unless told; `scope` narrows them. */
  | (Common & ClientCredentials & { authUrl?: string | undefined; token?: never })
  /** A partner key, a personal token, or an application's access token; a function is asked for each request. */
  | (Common & { token: TokenSource | undefined; clientId?: never })
  /** Nobody: for what needs no credential, such as `/oauth-token`. */
  | (Common & { token?: never; clientId?: never });

/**
 * A client. Make one for each credential and keep it: its calls share their tokens, and their pauses where a rate limit is used up.
 * The client requests tokens of a CPO client, keeps them, and replaces them a minute before they expire, with one request at a time. It
 * replaces a refused token once. The README says which requests it repeats.
 * @throws {TypeError} where something that it needs is missing or empty.
 */
export function createClient(options: ClientOptions): ApiClient {
  const baseUrl = withoutSlash(required("baseUrl", options.baseUrl, "give the host, such as https://api.example.com"));
  const authUrl = "authUrl" in options && options.authUrl ? withoutSlash(options.authUrl) : baseUrl;
  const send = sender(baseUrl, options);
  const credential =
    "clientId" in options
      ? clientCredentials(authUrl, options as ClientCredentials, authUrl === baseUrl ? send : sender(authUrl, options))
      : "token" in options
        ? given(options.token)
        : null;
  const client = createFetchClient<paths>({
    baseUrl,
    fetch: (request) => send(request, credential),
    bodySerializer: serialize,
    Request: BodyRequest,
  });
  client.use({
    onResponse({ request, schemaPath, response, options }) {
      if (options.parseAs === "json") requireJson(`${request.method} ${schemaPath}`, response);
    },
  });
  return client;
}
