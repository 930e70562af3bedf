import { signInByMail } from "#shared/auth/supabase_auth.ts";
import { html } from "../kit/html.ts";
import { type Area, SignedInRequest } from "../kit/signed_in.ts";
import { isSigned, onClaim } from "./request.ts";

const AREA: Area<never> = {
  id: "on to a person's own pages",
  path: "/mijn",
  caller: { kind: "session" },
  sql: [],
};

/** The pages of the person who signed, as signing in to them begins. */
class OwnPages extends SignedInRequest<never> {
  protected why() {
    return html``;
  }
}

/**
 * Signs the browser that has just proved the address in to the own pages. Only a login whose owner typed our code is
 * opened. A login that somebody else made at the address, before or later, is not.
 */
export const openOwnPages = onClaim(isSigned, async (request) => {
  const { c, environment, claim, session, locale } = request;
  const jwt = session?.is_fresh && claim.login ? await signInByMail(environment, claim.login) : null;
  if (!jwt) return c.redirect(`${c.var.root}/mijn/sign-in?lang=${locale}`, 303);
  request.logOutcome("signed_in");
  return new OwnPages({ c, environment, declared: AREA }, AREA).begin(jwt);
});
