import type { ErrorCode } from "#shared/foundation/errors.ts";
import { z } from "#shared/foundation/zod.ts";
import type { Context } from "#shared/http/endpoint.ts";

// RFC 6749 appendix A: visible ASCII and spaces; anything else is no value of ours, and part of it could not be stored
const parameter = z
  .string()
  .regex(/^[\x20-\x7e]*$/, "must be printable ASCII")
  .optional();
export const TokenRequest = z
  .object({
    grant_type: parameter.meta({
      description: "client_credentials, authorization_code or refresh_token",
      example: "client_credentials",
    }),
    client_id: parameter.meta({ description: "The client or application", example: "cpo_4f1c09d2a7e8" }),
    client_secret: parameter.meta({ description: "Its secret" }),
    scope: parameter.meta({
      description: "Space-separated; if omitted, all granted scopes",
      example: "cpo:accounts:read",
    }),
    code: parameter.meta({ description: "The authorization code, as redirect_uri received it" }),
    redirect_uri: parameter.meta({ description: "The redirect_uri of the authorization request" }),
    code_verifier: parameter.meta({ description: "43 to 128 characters (RFC 7636)" }),
    refresh_token: parameter.meta({ description: "The newest refresh token" }),
  })
  // what is missing has an error of its own in RFC 6749, so zod asks for none of it
  .meta({ id: "TokenRequest", override: { required: ["grant_type", "client_id", "client_secret"] } });
type TokenRequest = z.output<typeof TokenRequest>;

export const TOKEN_ERRORS = [
  "invalid_request",
  "invalid_grant",
  "unsupported_grant_type",
  "unauthorized_client",
  "invalid_scope",
  "invalid_client",
  "too_many_requests",
] as const satisfies ErrorCode[];

export const TOKEN_SQL = ["grant_client_credentials", "grant_user_token"] as const;

/** What a grant is given. Each is a module of one shape: its function `grant` answers the token request. */
export type GrantContext = Context<TokenRequest, never, (typeof TOKEN_ERRORS)[number], (typeof TOKEN_SQL)[number]>;
