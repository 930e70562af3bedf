import { deleteUser, makeUser } from "#shared/auth/supabase_auth.ts";
import { newSecret } from "#shared/auth/tokens.ts";
import type { Environment } from "#shared/foundation/environment.ts";

/** What private.ask_for_login and api.accept_invitation ask for when Supabase Auth does not know the address, or nobody ever confirmed it. */
type LoginWanted = {
  email: string;
  unconfirmed_user: string | null;
  /** Whose draft was claimed, and on the sandbox who invited: kept with the login, where only we can write it. Else null. */
  partner_id: string | null;
};

/**
 * Makes the login of an address whose owner has just proven it; what proved it is used up by the call after this one. Its password is random and kept by nobody: its owner signs in by a mailed code.
 * A login that was never confirmed may have been made by a stranger who knows its password, so it is replaced.
 * @throws {ApiError} `service_unavailable` when Supabase Auth does not do it; the code or link is not used up then.
 */
export async function makeLogin(
  environment: Environment,
  { email, unconfirmed_user, partner_id }: LoginWanted,
): Promise<true> {
  if (unconfirmed_user) await deleteUser(environment, unconfirmed_user);
  // where it is there already a parallel request of the same person made it a moment ago; what else it may be, the call after this one sees
  const app_metadata = partner_id ? { claimed_for: partner_id } : {};
  await makeUser(environment, { email, password: newSecret(), app_metadata });
  return true;
}
