import { setTimeout as pause } from "node:timers/promises";
import { makeUser } from "#shared/auth/supabase_auth.ts";
import { newSecret } from "#shared/auth/tokens.ts";
import { aboutMail } from "#shared/domain/mail/about.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { ApiError } from "#shared/foundation/errors.ts";
import type { Locale } from "#shared/values/locale.ts";

/** What private.prove_login asks for: a login for an address without one, or a short wait after a login was secured. */
type LoginWanted = {
  email: string;
  /** The login that lost its password and its sessions. */
  secured?: string;
  /** The language of the mail about it; null if unknown. */
  locale?: Locale | null;
  /** Whose draft was claimed, and on the sandbox who invited: kept with the login, where only we can write it. Else null. */
  partner_id?: string | null;
  /** What the database may not do to a login that a stranger may have made; then nobody gets it. */
  refused?: string | null;
};

/** What private.prove_login is given for it. */
type LoginReady = { secured?: string; mail?: object };

/**
 * So long Supabase Auth may take between the password that it compared and the session that it writes. Sessions of that moment are
 * deleted after it.
 */
const UNDER_WAY_MS = 2_000;

/**
 * Makes the login of an address whose owner has just proven it. The next call uses up the code or link that proved it.
 * The password is random and stored nowhere: the owner signs in by a mailed code.
 * @throws {ApiError} when Supabase Auth does not make it, or the database may not secure a login. The code or link then
 * stays valid.
 */
export async function makeLogin(
  environment: Environment,
  { email, secured, locale, partner_id, refused }: LoginWanted,
): Promise<LoginReady> {
  if (refused) {
    const what = `the owner of our functions may not secure logins of Supabase Auth (docs/deploy.md): ${refused}`;
    throw new ApiError("service_unavailable", {}, new Error(what));
  }
  if (secured) {
    await pause(UNDER_WAY_MS);
    return { secured, mail: aboutMail(environment.config, "login_secured", locale ?? "nl", {}) };
  }
  // if it exists, a parallel request of the same person has just made it; the next call checks any other case
  const app_metadata = { proved_email: email, ...(partner_id ? { claimed_for: partner_id } : {}) };
  await makeUser(environment, { email, password: newSecret(), app_metadata });
  return {};
}
