import * as z from "zod";
import { endpoint } from "../../../packages/shared/src/endpoint.ts";
import type { ErrorCode } from "../../../packages/shared/src/errors.ts";
import type { Surface } from "../../../packages/shared/src/surface.ts";
import * as clientCredentials from "./client_credentials.ts";

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
  })
  // what is missing has an error of its own in RFC 6749, so zod asks for none of it
  .meta({ id: "TokenRequest", override: { required: ["grant_type", "client_id", "client_secret"] } });
export type TokenRequest = z.output<typeof TokenRequest>;

const errors = [
  "unsupported_grant_type",
  "unauthorized_client",
  "invalid_scope",
  "invalid_client",
  "too_many_requests",
] as const satisfies ErrorCode[];
export type GrantErrors = (typeof errors)[number];

const sql = ["grant_client_credentials"] as const;
export type GrantFunctions = (typeof sql)[number];

/** A grant is a module of one shape: `grant` answers the token request. */
const GRANTS = new Map([["client_credentials", clientCredentials.grant]]);

const token = endpoint(
  {
    id: "token",
    method: "POST",
    path: "/oauth-token",
    summary: "Get an access token",
    description:
      "Client credentials (RFC 6749 section 4.4). JSON or form body. HTTP Basic client authentication is not accepted. " +
      "Omit `scope` for everything the client was granted. There is no refresh token: request a new token when this one expires.",
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
  endpoints: [token],
  cors: true,
  errors: "oauth",
};
