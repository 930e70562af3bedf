import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { LOCALES } from "#shared/values/locale.ts";
import { CPO_SCOPES, USER_SCOPES } from "#shared/values/scopes.ts";

const url = z.string().meta({ format: "uri" });

/** Where a standard client finds the rest (RFC 8414 section 3). Derived from the configuration; touches no database. */
export const metadata = endpoint(
  {
    id: "authorizationServerMetadata",
    summary: "Describe the authorization server",
    description:
      "RFC 8414; the issuer is {auth_url}. Some platforms do not allow paths that begin with a dot. There the " +
      "document is at `/oauth-token/.well-known/oauth-authorization-server`. Put a proxy in front, or configure the " +
      "client with that URL.",
    caller: { kind: "anyone" },
    limit: null,
    sql: [],
    response: z
      .object({
        issuer: url.meta({ description: "Who issues the tokens" }),
        authorization_endpoint: url.meta({ description: "The consent page, in a browser" }),
        token_endpoint: url.meta({ description: "The token endpoint" }),
        revocation_endpoint: url.meta({ description: "The revocation endpoint" }),
        scopes_supported: z.array(z.string()).meta({ description: "All scopes" }),
        response_types_supported: z.array(z.string()).meta({ description: "How an authorization request is answered" }),
        response_modes_supported: z.array(z.string()).meta({ description: "Which part of the URL carries the answer" }),
        grant_types_supported: z.array(z.string()).meta({ description: "The grant types of the token endpoint" }),
        token_endpoint_auth_methods_supported: z
          .array(z.string())
          .meta({ description: "How a client authenticates at the token endpoint" }),
        revocation_endpoint_auth_methods_supported: z
          .array(z.string())
          .meta({ description: "How a client authenticates at the revocation endpoint" }),
        code_challenge_methods_supported: z.array(z.string()).meta({ description: "The methods of PKCE" }),
        authorization_response_iss_parameter_supported: z
          .boolean()
          .meta({ description: "Whether the authorization response names its issuer (RFC 9207)" }),
        ui_locales_supported: z.array(z.string()).meta({ description: "The languages of the consent page" }),
      })
      .meta({ id: "AuthorizationServerMetadata" }),
    errors: [],
    failure: "internal_error",
  },
  async ({ environment: { config } }) => ({
    issuer: config.AUTH_URL,
    authorization_endpoint: `${config.PAGES_URL}/consent`,
    token_endpoint: `${config.AUTH_URL}/oauth-token`,
    revocation_endpoint: `${config.AUTH_URL}/oauth-revoke`,
    scopes_supported: [...Object.keys(USER_SCOPES), ...Object.keys(CPO_SCOPES)],
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token", "client_credentials"],
    token_endpoint_auth_methods_supported: ["client_secret_post"],
    revocation_endpoint_auth_methods_supported: ["client_secret_post"],
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: true,
    ui_locales_supported: [...LOCALES],
  }),
);
