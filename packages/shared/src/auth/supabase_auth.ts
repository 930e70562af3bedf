import { ConfigurationError } from "#shared/foundation/configuration.ts";
import type { Environment } from "#shared/foundation/environment.ts";
import { ApiError } from "#shared/foundation/errors.ts";

/**
 * The five calls of Supabase Auth that we make, by its HTTP API. Its client is made for browsers: of its 120 KB almost all keeps, refreshes
 * and shares a session, of which nothing is wanted here.
 */

/** After so long an answer is not waited for any more. */
const PATIENCE_MS = 8_000;

/** Why Supabase Auth did not do what it was asked to. */
class AuthError extends Error {
  override name = "AuthError";
  /** Of the answer; 0 where none came that can be read. */
  readonly status: number;
  /** What is wrong, such as `invalid_credentials`. */
  readonly code: string | undefined;

  constructor(status: number, code?: string, cause?: unknown) {
    super(code ?? `status ${status}`, { cause });
    this.status = status;
    this.code = code;
  }
}

type Asked = { body?: object; jwt?: string };

/** @param key one of the project's, by which Auth knows the project and what may be asked. @throws {AuthError} */
async function ask(
  { config }: Environment,
  key: string,
  path: string,
  { body, jwt = key }: Asked,
): Promise<Record<string, unknown>> {
  let status: number;
  let answer: Record<string, unknown>;
  try {
    const response = await fetch(`${config.SUPABASE_URL}/auth/v1${path}`, {
      method: "POST",
      headers: {
        apikey: key,
        Authorization: `Bearer ${jwt}`,
        "Content-Type": "application/json",
        // from this version on an error says its code in `code`
        "X-Supabase-Api-Version": "2024-01-01",
      },
      ...(body && { body: JSON.stringify(body) }),
      // elsewhere the key would be sent along: of another origin fetch leaves out Authorization, and nothing else
      redirect: "error",
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const text = await response.text();
    // null is JSON too
    answer = Object(text === "" ? {} : JSON.parse(text));
    status = response.status;
  } catch (cause) {
    throw new AuthError(0, undefined, cause);
  }
  if (status >= 200 && status < 300) return answer;
  const code = [answer.error_code, answer.code].find((each) => typeof each === "string");
  throw new AuthError(status, code as string | undefined);
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
  const key = publishableKey(environment);
  try {
    const session = await ask(environment, key, "/token?grant_type=password", { body: { email, password } });
    return textOf(session, "access_token");
  } catch (error) {
    return refusalOf(error, "PUBLISHABLE_KEY").code === "email_not_confirmed" ? "unconfirmed" : "wrong";
  }
}

/** A link of Supabase Auth replaces the one before it, so of two sign-ins at once one can lose its link to the other, and asks again. */
const LINKS = 3;

/**
 * A session JWT for the owner of an address, who has just proven it; null where its login ended meanwhile. Only for an address that
 * has a login: for another Supabase Auth would make one.
 */
export async function signInByMail(environment: Environment, email: string): Promise<string | null> {
  const key = secretKey(environment);
  for (let asked = 0; asked < LINKS; asked += 1) {
    const token_hash = await linkTo(environment, key, email);
    if (token_hash === null) return null;
    try {
      // "magiclink", not the newer "email": that would also take the token of a login made by the call above
      const session = await ask(environment, key, "/verify", { body: { type: "magiclink", token_hash } });
      return textOf(session, "access_token");
    } catch (error) {
      refusalOf(error, "SUPABASE_SECRET_KEY");
    }
  }
  return null;
}

/** What signs the owner of an address in, once; null where it has no login. */
async function linkTo(environment: Environment, key: string, email: string): Promise<string | null> {
  try {
    const link = await ask(environment, key, "/admin/generate_link", { body: { type: "magiclink", email } });
    return textOf(link, "hashed_token");
  } catch (error) {
    refusalOf(error, "SUPABASE_SECRET_KEY");
    return null;
  }
}

/** Ends the session of a JWT, and no other of that person; one that has ended already is no error. */
export async function signOut(environment: Environment, jwt: string): Promise<void> {
  try {
    await ask(environment, publishableKey(environment), "/logout?scope=local", { jwt });
  } catch (error) {
    refusalOf(error, "PUBLISHABLE_KEY");
  }
}

/**
 * Makes the login of an address that was proven, with a password that nobody knows. One that is there already is no error.
 * @throws {ApiError} `service_unavailable` when Supabase Auth does not do it.
 */
export async function makeUser(
  environment: Environment,
  user: { email: string; password: string; app_metadata: object },
): Promise<void> {
  const body = { ...user, email_confirm: true };
  await administer(environment, "/admin/users", { body }, ["email_exists", "user_already_exists"]);
}

async function administer(environment: Environment, path: string, asked: Asked, done: readonly string[]) {
  try {
    await ask(environment, secretKey(environment), path, asked);
  } catch (error) {
    if (!(error instanceof AuthError)) throw error;
    if (!done.includes(error.code ?? "")) throw new ApiError("service_unavailable", {}, error);
  }
}

/** @throws {AuthError} where an answer that says that all went well is without it: it is none of Supabase Auth's. */
function textOf(answer: Record<string, unknown>, field: string): string {
  const text = answer[field];
  if (typeof text === "string") return text;
  throw new AuthError(0);
}

/** Why Supabase Auth refused what was sent; throws where it is busy, unreachable or does not know our key. */
function refusalOf(error: unknown, key: string): AuthError {
  if (!(error instanceof AuthError)) throw error;
  if (error.status === 429) throw new ApiError("too_many_requests", { retry_after_seconds: 60 }, error);
  if (error.status === 0 || error.status >= 500) throw new ApiError("service_unavailable", {}, error);
  if (error.status === 401) throw new ConfigurationError(`${key}: Supabase Auth does not know it`);
  return error;
}
