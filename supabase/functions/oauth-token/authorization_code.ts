import { challengeOf } from "#shared/auth/authorize.ts";
import type { GrantContext } from "./grant.ts";
import { grantUserToken } from "./user_token.ts";

/** Authorization code (RFC 6749 section 4.1.3, RFC 7636 section 4.5; specification section 4.5): what a person allowed, once. */

export function grant(context: GrantContext) {
  const { code, redirect_uri, code_verifier } = context.body;
  return grantUserToken(context, "authorization_code", { code, redirect_uri, code_verifier }, (hash, sent) => ({
    code_hash: hash(sent.code),
    redirect_uri: sent.redirect_uri,
    // an invalid verifier matches no challenge
    code_challenge: challengeOf(sent.code_verifier) ?? "",
  }));
}
