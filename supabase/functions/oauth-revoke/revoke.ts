import { ACCESS_TOKEN_SECONDS, hashSecret, readAccessToken } from "#shared/auth/tokens.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { clientOf, OAUTH_CLIENT } from "#shared/http/oauth_client.ts";

// RFC 6749 appendix A
const parameter = z.string().regex(/^[\x20-\x7e]*$/, "must be printable ASCII");

export const revoke = endpoint(
  {
    id: "revoke",
    summary: "End an access token or a refresh token",
    description:
      "RFC 7009. JSON or form body, with `client_id` and `client_secret`, or HTTP Basic for both. An access token stops working at once; a refresh token ends with every token of " +
      "its family. An unknown or expired token, or a token of another client, gets the same response, because " +
      "nothing is left to revoke. `token_type_hint` is accepted but not needed.",
    caller: { kind: "anyone" },
    idempotent: true,
    limit: null,
    sql: ["revoke_token"],
    body: z
      .object({
        token: parameter.min(1).meta({ description: "The token to end" }),
        token_type_hint: parameter.optional().meta({ description: "access_token or refresh_token; not needed" }),
        client_id: parameter.optional().meta({ description: "The client or application" }),
        client_secret: parameter.optional().meta({ description: "Its secret" }),
      })
      .meta({ id: "RevocationRequest" }),
    ...OAUTH_CLIENT,
    maxBody: 16 * 1024,
    response: z
      .object({ ok: z.literal(true).meta({ description: "Always true: the request succeeded" }) })
      .meta({ id: "Revoked" }),
    errors: ["invalid_client", "too_many_requests"],
    failure: "revoke_failed",
  },
  async ({ body, request, address_hash, environment, call, rate, fail }) => {
    const client = clientOf(request, body) ?? fail("invalid_client");
    const access = await readAccessToken(environment, body.token);
    const answer = JSON.parse(
      await call("revoke_token", {
        client_id: client.client_id ?? "",
        secret_hash: hashSecret(client.client_secret ?? ""),
        address_hash,
        token_hash: hashSecret(body.token),
        access_token: access && {
          id: access.id,
          client_id: access.clientId,
          expires_at: access.issuedAt + ACCESS_TOKEN_SECONDS,
        },
      }),
    );
    rate(answer.rate);
    return { ok: true };
  },
);
