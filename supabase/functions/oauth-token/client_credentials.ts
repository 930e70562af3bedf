import { ACCESS_TOKEN_SECONDS, hashSecret, issueClientToken } from "#shared/auth/tokens.ts";
import type { GrantContext } from "./grant.ts";

/** Client credentials (RFC 6749 section 4.4; specification section 4.1): a CPO client gets a token for its partner. */

export async function grant({ body, address_hash, environment, call, rate }: GrantContext) {
  const answer = JSON.parse(
    await call("grant_client_credentials", {
      client_id: body.client_id ?? "",
      secret_hash: hashSecret(body.client_secret ?? ""),
      scope: body.scope ?? "",
      address_hash,
    }),
  );
  rate(answer.rate);
  const { client_id: clientId, scope, secret_number: secretNumber } = answer;
  return {
    access_token: await issueClientToken(environment, { clientId, scope, secretNumber }),
    token_type: "Bearer" as const,
    expires_in: ACCESS_TOKEN_SECONDS,
    scope,
  };
}
