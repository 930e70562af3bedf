import * as z from "zod";
import type { ErrorCode } from "#shared/foundation/errors.ts";
import { type Context, endpoint } from "#shared/http/endpoint.ts";
import type { Surface } from "#shared/http/surface.ts";
import * as authorizationCode from "./authorization_code.ts";
import * as clientCredentials from "./client_credentials.ts";
import { metadata } from "./metadata.ts";
import * as refreshToken from "./refresh_token.ts";

// RFC 6749 appendix A: visible ASCII and spaces; anything else is no client of ours, and no text of the database's either
const parameter = z
  .string()
  .regex(/^[\x20-\x7e]*$/, "must be printable ASCII")
  .optional();
const TokenRequest = z
  .object({
    grant_type: parameter.meta({ example: "client_credentials" }),
    client_id: parameter.meta({ example: "cpo_4f1c09d2a7e8" }),
    client_secret: parameter,
    scope: parameter.meta({ description: "Space-separated; omitted: all granted", example: "cpo:accounts:read" }),
    code: parameter,
    redirect_uri: parameter.meta({ description: "The one that the code was asked for with" }),
    code_verifier: parameter.meta({ description: "43 to 128 characters (RFC 7636)" }),
    refresh_token: parameter,
  })
  // what is missing has an error of its own in RFC 6749, so zod asks for none of it
  .meta({ id: "TokenRequest", override: { required: ["grant_type", "client_id", "client_secret"] } });
type TokenRequest = z.output<typeof TokenRequest>;

const errors = [
  "invalid_request",
  "invalid_grant",
  "unsupported_grant_type",
  "unauthorized_client",
  "invalid_scope",
  "invalid_client",
  "too_many_requests",
] as const satisfies ErrorCode[];

const sql = ["grant_client_credentials", "grant_user_token"] as const;

/** A grant is a module of one shape: `grant` answers the token request. */
export type GrantContext = Context<TokenRequest, never, (typeof errors)[number], (typeof sql)[number]>;
const GRANTS = new Map([
  ["client_credentials", clientCredentials.grant],
  ["authorization_code", authorizationCode.grant],
  ["refresh_token", refreshToken.grant],
]);

const token = endpoint(
  {
    id: "token",
    method: "POST",
    path: "/oauth-token",
    summary: "Get an access token",
    description:
      "JSON or form body. HTTP Basic client authentication is not accepted.\n\n" +
      "`client_credentials` (a CPO client): omit `scope` for everything the client was granted. There is no refresh token: " +
      "request a new token when this one expires.\n\n" +
      "`authorization_code` (an application acting for a person): `code`, `redirect_uri` and `code_verifier` are required. A " +
      "code works once; used again it ends what it gave, unless within 30 seconds.\n\n" +
      "`refresh_token`: `refresh_token` is required, a narrower `scope` is not. Each refresh token has one successor. Shown " +
      "again within 30 seconds of its use it is refused and nothing else happens, so an application that races itself goes on " +
      "with the answer it got; later, or older than the last but one, it ends every token of its family.",
    caller: { kind: "anyone" },
    limit: null,
    sql,
    body: TokenRequest,
    accepts: ["form"],
    response: z
      .object({
        access_token: z.string(),
        token_type: z.literal("Bearer"),
        expires_in: z.int().meta({ description: "Seconds", example: 3600 }),
        refresh_token: z.string().optional().meta({ description: "Not for client credentials. Lives 30 days" }),
        scope: z.string().meta({ description: "Space-separated", example: "cpo:accounts:read cpo:sessions:write" }),
      })
      .meta({ id: "Token" }),
    errors,
    failure: "token_failed",
  },
  async (context) => {
    // a client must not use more than one way to authenticate (RFC 6749 section 2.3), and ours is the body
    if (/^basic/i.test(context.request.headers.get("authorization") ?? "")) context.fail("invalid_client");
    const grant = GRANTS.get(context.body.grant_type ?? "");
    return grant ? grant(context) : context.fail("unsupported_grant_type");
  },
);

export const surface: Surface = {
  slug: "oauth-token",
  about: "Access tokens (OAuth 2.0)",
  prefix: "",
  endpoints: [token, metadata],
  cors: true,
  errors: "oauth",
};
