import { ACCESS_TOKEN_SECONDS, hashSecret, issueUserToken, newSecret } from "#shared/auth/tokens.ts";
import type { GrantContext } from "./grant.ts";

/** What both grants of a person's tokens share: parameters that must be there, one statement, an access and a refresh token. */
export async function grantUserToken<Name extends string>(
  { body, address_hash, environment, call, rate, fail }: GrantContext,
  grant_type: "authorization_code" | "refresh_token",
  sent: Record<Name, string | undefined>,
  presented: (hash: typeof hashSecret, sent: Record<Name, string>) => Record<string, string>,
) {
  const missing = (Object.keys(sent) as Name[]).filter((name) => !sent[name]);
  if (missing.length > 0) {
    fail("invalid_request", {
      detail: `${missing[0]}: required`,
      issues: missing.map((path) => ({ path, message: "required" })),
    });
  }
  const refresh_token = newSecret();
  const answer = JSON.parse(
    await call("grant_user_token", {
      grant_type,
      client_id: body.client_id ?? "",
      secret_hash: hashSecret(body.client_secret ?? ""),
      address_hash,
      new_refresh_hash: hashSecret(refresh_token),
      ...presented(hashSecret, sent as Record<Name, string>),
    }),
  );
  rate(answer.rate);
  const { user_id: userId, client_id: clientId, grant_id: grantId, scope, secret_number: secretNumber } = answer;
  return {
    access_token: await issueUserToken(environment, { userId, clientId, scope, grantId, secretNumber }),
    token_type: "Bearer" as const,
    expires_in: ACCESS_TOKEN_SECONDS,
    refresh_token,
    scope,
  };
}
