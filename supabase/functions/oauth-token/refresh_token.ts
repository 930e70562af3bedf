import type { GrantContext } from "./grant.ts";
import { grantUserToken } from "./user_token.ts";

/** Refresh token (RFC 6749 section 6, RFC 9700 section 4.14.2; specification section 4.5): used once, for its one successor. */

export function grant(context: GrantContext) {
  const { refresh_token, scope } = context.body;
  return grantUserToken(context, "refresh_token", { refresh_token }, (hash, sent) => ({
    refresh_hash: hash(sent.refresh_token),
    scope: scope ?? "",
  }));
}
