import type { AuthError, GoTrueClient } from "@supabase/supabase-js";
import { ConfigurationError } from "#shared/foundation/configuration.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { ApiError } from "#shared/foundation/errors.ts";

/** How long we wait for an answer. */
const PATIENCE_MS = 8_000;

/** The variable that holds the key of a call. */
type Key = "PUBLISHABLE_KEY" | "SUPABASE_SECRET_KEY";

/** A refusal that nobody expected. It leaves out the message of Supabase Auth, which can quote an address. */
class AuthRefusal extends Error {
  override name = "AuthRefusal";
}

/**
 * Makes one call of Supabase Auth.
 * @param read takes the result from the data; undefined where the data cannot be Supabase Auth's
 * @param expected the result for each error code that says something about the person
 * @throws {ApiError} `too_many_requests`; `service_unavailable` where no answer comes, and for every other error code
 * @throws {ConfigurationError} where Supabase Auth does not know our key
 */
async function ask<Answer extends { data: unknown; error: AuthError | null }, Result>(
  environment: Environment,
  key: Key,
  call: (auth: GoTrueClient) => Promise<Answer>,
  read: (data: Answer["data"]) => Result | undefined,
  expected: Record<string, Result>,
): Promise<Result> {
  const apikey = key === "PUBLISHABLE_KEY" ? publishableKey(environment) : secretKey(environment);
  const { GoTrueClient } = await import("@supabase/supabase-js");
  let lost: unknown;
  // one client a call: the session that it keeps in memory goes with it
  const auth = new GoTrueClient({
    url: `${environment.config.SUPABASE_URL}/auth/v1`,
    headers: { apikey, Authorization: `Bearer ${apikey}` },
    persistSession: false,
    autoRefreshToken: false,
    detectSessionInUrl: false,
    skipAutoInitialize: true,
    // a redirect would take the key along: to another origin fetch leaves out Authorization, and nothing else
    fetch: (input, init) =>
      fetch(input, { ...init, redirect: "error", signal: AbortSignal.timeout(PATIENCE_MS) }).catch((cause) => {
        // the client would print what fetch throws, and lose it
        lost = cause;
        return new Response(null, { status: 503 });
      }),
  });

  let error: AuthError | null = null;
  try {
    const answer = await call(auth);
    error = answer.error;
    const result = error ? undefined : read(answer.data);
    if (result !== undefined) return result;
  } catch (cause) {
    // the answer has another shape, and the client reads a missing field
    lost = cause;
  }
  // the client takes this code out of the error
  const code = error?.name === "AuthSessionMissingError" ? "session_not_found" : error?.code;
  if (code !== undefined && Object.hasOwn(expected, code)) return expected[code] as Result;
  if (error?.status === 401 || code === "not_admin" || code === "bad_jwt")
    throw new ConfigurationError(`${key}: Supabase Auth does not know it`);
  const cause = lost ?? new AuthRefusal(`status ${error?.status}, code ${code}`);
  if (error?.status === 429) throw new ApiError("too_many_requests", { retry_after_seconds: 60 }, cause);
  throw new ApiError("service_unavailable", {}, cause);
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
export function signInByPassword(
  environment: Environment,
  email: string,
  password: string,
): Promise<string | "wrong" | "unconfirmed"> {
  return ask(
    environment,
    "PUBLISHABLE_KEY",
    (auth) => auth.signInWithPassword({ email, password }),
    ({ session }) => textOf(session?.access_token),
    // Supabase Auth says that a login is banned before it looks at the password, so it must read like a wrong one
    { invalid_credentials: "wrong", user_banned: "wrong", email_not_confirmed: "unconfirmed" },
  );
}

/**
 * A new link of Supabase Auth replaces the previous link. Of two sign-ins at once one may lose its link, and requests
 * another.
 */
const LINKS = 3;

/**
 * A session JWT for the owner of an address, who has just proven it; null where its login ended meanwhile. Only for an address that
 * has a login: for another Supabase Auth would make one.
 */
export async function signInByMail(environment: Environment, email: string): Promise<string | null> {
  for (let asked = 0; asked < LINKS; asked += 1) {
    const token_hash = await ask(
      environment,
      "SUPABASE_SECRET_KEY",
      (auth) => auth.admin.generateLink({ type: "magiclink", email }),
      ({ properties }) => textOf(properties?.hashed_token),
      { user_not_found: null },
    );
    if (token_hash === null) return null;
    const jwt = await ask(
      environment,
      "SUPABASE_SECRET_KEY",
      // "magiclink", not the newer "email": that would also take the token of a login made by the call above
      (auth) => auth.verifyOtp({ type: "magiclink", token_hash }),
      ({ session }) => textOf(session?.access_token),
      { otp_expired: "again", user_not_found: null, user_banned: null },
    );
    if (jwt !== "again") return jwt;
  }
  return null;
}

/** Ends the session of a JWT, and no other of that person; one that has ended already is no error. */
export async function signOut(environment: Environment, jwt: string): Promise<void> {
  await ask(environment, "PUBLISHABLE_KEY", (auth) => auth.admin.signOut(jwt, "local"), done, {
    session_not_found: null,
    user_not_found: null,
    // of the JWT, which has expired
    bad_jwt: null,
  });
}

/**
 * Makes the login of an address that was proven, with a password that nobody knows. One that is there already is no error.
 * @throws {ApiError} when Supabase Auth does not do it.
 */
export async function makeUser(
  environment: Environment,
  user: { email: string; password: string; app_metadata: object },
): Promise<void> {
  await ask(
    environment,
    "SUPABASE_SECRET_KEY",
    (auth) => auth.admin.createUser({ ...user, email_confirm: true }),
    done,
    { email_exists: null, user_already_exists: null },
  );
}

const done = () => null;

const textOf = (value: unknown) => (typeof value === "string" ? value : undefined);
