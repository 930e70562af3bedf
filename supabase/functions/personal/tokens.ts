import { hashSecret, newSecret } from "#shared/auth/tokens.ts";
import { Scope, Token } from "#shared/endpoints/responses/token.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { lineOf, moment, orNull } from "#shared/values/fields.ts";

export const listTokens = endpoint(
  {
    id: "listTokens",
    summary: "List your personal API tokens, newest first",
    description: "Requires the session of a signed-in person. The tokens themselves are never shown again.",
    caller: { kind: "session" },
    limit: "user",
    sql: ["list_personal_tokens"],
    response: z.object({
      tokens: z.array(Token).meta({ description: "Your tokens, newest first" }),
    }),
    errors: [],
    failure: "list_failed",
  },
  ({ call }) => call("list_personal_tokens"),
);

export const createToken = endpoint(
  {
    id: "createToken",
    summary: "Create a personal API token",
    description: "Only this response shows the token.",
    caller: { kind: "session" },
    limit: "user",
    sql: ["create_personal_token"],
    body: z
      .object({
        name: lineOf(1, 100).meta({ description: "A name for the token", example: "Home Assistant" }),
        scopes: z.array(Scope).min(1).max(20).meta({ description: "The scopes it gets" }),
        expires_at: orNull(moment()).meta({
          description:
            "A moment in the future; absent or null: never expires. If it is over a year away or null, you must " +
            "have signed in within the last 15 minutes",
        }),
      })
      .meta({ id: "CreateToken" }),
    response: z
      .object({
        ok: z.literal(true).meta({ description: "Always true: the request succeeded" }),
        token: z.string().meta({ description: "Shown once" }),
        ...Token.shape,
      })
      .meta({ id: "CreatedToken" }),
    errors: ["token_limit_reached", "recent_sign_in_required"],
    failure: "token_failed",
  },
  async ({ body, call, environment }) => {
    const secret = `${environment.config.KEY_PREFIX}_pat_${newSecret()}`;
    const row = await call("create_personal_token", {
      ...body,
      token_hash: hashSecret(secret),
      last4: secret.slice(-4),
    });
    return { ok: true, token: secret, ...JSON.parse(row) };
  },
);

export const revokeToken = endpoint(
  {
    id: "revokeToken",
    summary: "Revoke a personal API token; it stops working at once",
    params: { id: "The token's id, from GET /tokens" },
    caller: { kind: "session" },
    limit: "user",
    sql: ["revoke_personal_token"],
    response: z.object({ ok: z.literal(true).meta({ description: "Always true: the request succeeded" }) }),
    errors: ["token_not_found"],
    failure: "internal_error",
  },
  ({ param, call }) => call("revoke_personal_token", { id: param("id") }),
);
