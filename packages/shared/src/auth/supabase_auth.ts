import { ConfigurationError } from "#shared/foundation/configuration.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { ApiError } from "#shared/foundation/errors.ts";

/** After so long an answer of Supabase Auth is not waited for any more. */
const PATIENCE_MS = 8_000;

/** A client of Supabase Auth that keeps nothing between two calls. Loaded when it is needed, which on most pages is never. */
async function authAs({ config }: Environment, key: string) {
  const { createClient } = await import("./supabase_js.ts");
  return createClient(config.SUPABASE_URL, key, {
    auth: { persistSession: false, autoRefreshToken: false, detectSessionInUrl: false },
    global: { fetch: (input, init) => fetch(input, { ...init, signal: AbortSignal.timeout(PATIENCE_MS) }) },
  }).auth;
}

/** Supabase Auth with the secret key, which may do anything. */
export async function authAsAdmin(environment: Environment) {
  return authAs(environment, secretKey(environment));
}

/** @throws {ApiError} `service_unavailable` where there is none: nobody can claim, or sign in by mail. */
export function secretKey({ config }: Environment): string {
  const key = config.SUPABASE_SECRET_KEY ?? config.SUPABASE_SECRET_KEYS?.default;
  if (!key) throw new ApiError("service_unavailable", {}, new Error("SUPABASE_SECRET_KEY is not set"));
  return key;
}

function publishableKey({ config }: Environment): string {
  if (!config.PUBLISHABLE_KEY) throw new ConfigurationError("PUBLISHABLE_KEY: is needed to sign people in");
  return config.PUBLISHABLE_KEY;
}

/** A session JWT of Supabase Auth, or why not. */
export async function signInByPassword(
  environment: Environment,
  email: string,
  password: string,
): Promise<string | "wrong" | "unconfirmed"> {
  const auth = await authAs(environment, publishableKey(environment));
  const { data, error } = await auth.signInWithPassword({ email, password });
  if (!error && data.session) return data.session.access_token;
  throwUnlessRefused(error, "PUBLISHABLE_KEY");
  return error?.code === "email_not_confirmed" ? "unconfirmed" : "wrong";
}

/** A link of Supabase Auth replaces the one before it, so of two sign-ins at once one can lose its link to the other, and asks again. */
const LINKS = 3;

/**
 * A session JWT for the owner of an address, who has just proven it; null where its login ended meanwhile. Only for an address that
 * has a login: for another Supabase Auth would make one.
 */
export async function signInByMail(environment: Environment, email: string): Promise<string | null> {
  const auth = await authAsAdmin(environment);
  for (let asked = 0; asked < LINKS; asked += 1) {
    const link = await auth.admin.generateLink({ type: "magiclink", email });
    if (link.error) {
      throwUnlessRefused(link.error, "SUPABASE_SECRET_KEY");
      return null;
    }
    // "magiclink", not the newer "email": that would also take the token of a login made by the call above
    const { hashed_token: token_hash } = link.data.properties;
    const { data, error } = await auth.verifyOtp({ type: "magiclink", token_hash });
    if (!error && data.session) return data.session.access_token;
    throwUnlessRefused(error, "SUPABASE_SECRET_KEY");
  }
  return null;
}

/** Ends the session of a JWT, and no other of that person; one that has ended already is no error. */
export async function signOut(environment: Environment, jwt: string): Promise<void> {
  const { admin } = await authAs(environment, publishableKey(environment));
  const { error } = await admin.signOut(jwt, "local");
  if (error) throwUnlessRefused(error, "PUBLISHABLE_KEY");
}

/** Returns where Supabase Auth refused what was sent; throws where it is busy, unreachable or does not know our key. */
function throwUnlessRefused(error: { status?: number | undefined } | null, key: string): void {
  if (error?.status === 429) throw new ApiError("too_many_requests", { retry_after_seconds: 60 }, error);
  // status 0, or none, is an answer that did not come
  if (!error?.status || error.status >= 500) throw new ApiError("service_unavailable", {}, error);
  if (error.status === 401) throw new ConfigurationError(`${key}: Supabase Auth does not know it`);
}
