import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { clientOf, OAUTH_CLIENT } from "#shared/http/oauth_client.ts";
import * as authorizationCode from "./authorization_code.ts";
import * as clientCredentials from "./client_credentials.ts";
import { TOKEN_ERRORS, TOKEN_SQL, TokenRequest } from "./grant.ts";
import * as refreshToken from "./refresh_token.ts";

const GRANTS = new Map([
  ["client_credentials", clientCredentials.grant],
  ["authorization_code", authorizationCode.grant],
  ["refresh_token", refreshToken.grant],
]);

export const token = endpoint(
  {
    id: "token",
    summary: "Get an access token",
    description:
      "JSON or form body, with `client_id` and `client_secret`.\n\n`client_credentials` (a CPO client): HTTP Basic " +
      "client authentication is not accepted. Omit `scope` to get every scope the client has. There is no refresh token: request a new token when this one " +
      "expires.\n\n`authorization_code` (an application acting for a person): `code`, `redirect_uri` and " +
      "`code_verifier` are required. HTTP Basic may stand for id and secret, as for `refresh_token`. A code works once. If it is used again after 30 seconds, all its tokens " +
      "end.\n\n`refresh_token`: `refresh_token` is required, a narrower `scope` is optional. Each refresh token has " +
      "one successor. If a token is used again within 30 seconds, the call refuses it and changes nothing: an " +
      "application with parallel requests keeps the response it got. If it is used again later, or is older than " +
      "the last but one, every token of its family ends.",
    caller: { kind: "anyone" },
    idempotent: true,
    limit: null,
    sql: TOKEN_SQL,
    body: TokenRequest,
    ...OAUTH_CLIENT,
    maxBody: 16 * 1024,
    response: z
      .object({
        access_token: z.string().meta({ description: "Send it as Authorization: Bearer" }),
        token_type: z.literal("Bearer").meta({ description: "Always Bearer" }),
        expires_in: z.int().meta({ description: "Seconds", example: 3600 }),
        refresh_token: z.string().optional().meta({ description: "Absent for client credentials. Lives 30 days" }),
        scope: z.string().meta({ description: "Space-separated", example: "cpo:accounts:read cpo:sessions:write" }),
      })
      .meta({ id: "Token" }),
    errors: TOKEN_ERRORS,
    failure: "token_failed",
  },
  async (context) => {
    const { request, body, fail } = context;
    const client = clientOf(request, body, body.grant_type !== "client_credentials") ?? fail("invalid_client");
    const grant = GRANTS.get(body.grant_type ?? "");
    return grant ? grant({ ...context, body: { ...body, ...client } }) : fail("unsupported_grant_type");
  },
);
