import type { Configuration } from "#shared/foundation/configuration.ts";
import { type Environment, oncePerEnvironment } from "#shared/foundation/environment.ts";
import { ApiError } from "#shared/foundation/errors.ts";

/** A person signed in with Supabase Auth. `email` is empty where Auth keeps none. */
type SignInSession = { userId: string; sessionId: string | null; email: string };

/**
 * The public keys of Supabase Auth, fetched for the first token, and again for an unknown `kid`, at most once in 30
 * seconds. So a rotation there needs nothing here.
 */
const verifierOf = oncePerEnvironment(async ({ config }) => {
  // loaded with the first session that is read: most requests carry other credentials
  const { createRemoteJWKSet, errors, jwtVerify } = await import("jose");
  const issuer = issuerOf(config);
  const keys = createRemoteJWKSet(new URL(`${config.SUPABASE_URL}/auth/v1/.well-known/jwks.json`), {
    timeoutDuration: 3_000,
  });
  return {
    verify: (bearer: string, now: Date) =>
      jwtVerify(bearer, keys, {
        algorithms: ["ES256", "RS256"],
        issuer,
        audience: "authenticated",
        currentDate: now,
        requiredClaims: ["exp", "sub"],
      }),
    /**
     * Whether an error is not about the token. jose names each fault of a token, so any other error means that the keys
     * could not be fetched or read.
     */
    isNoVerdict: (error: unknown) =>
      !(error instanceof errors.JOSEError) ||
      ["ERR_JOSE_GENERIC", "ERR_JWKS_TIMEOUT", "ERR_JWKS_INVALID"].includes(error.code),
  };
});

/**
 * The session of a bearer, or null if it is not a session of this project: wrong signature, issuer, audience or
 * algorithm, expired, anonymous. Algorithms are pinned to the asymmetric ones Supabase Auth signs with.
 * @throws {ApiError} `authentication_unavailable` when the keys cannot be had: the session may be good, so nobody is
 * signed out.
 */
export async function readSignInSession(environment: Environment, bearer: string): Promise<SignInSession | null> {
  if (!claimsIssuer(bearer, issuerOf(environment.config))) return null;
  const { verify, isNoVerdict } = await verifierOf(environment);
  try {
    const { payload } = await verify(bearer, environment.now());
    if (payload.is_anonymous === true || typeof payload.sub !== "string") return null;
    const { sub: userId, session_id, email } = payload;
    return { userId, sessionId: typeof session_id === "string" ? session_id : null, email: String(email ?? "") };
  } catch (error) {
    if (isNoVerdict(error)) throw new ApiError("authentication_unavailable", {}, error);
    return null;
  }
}

/** Whom sessions say they are from, which may be an address that leads nowhere from inside a container. */
const issuerOf = ({ SIGN_IN_ISSUER, SUPABASE_URL }: Configuration) => SIGN_IN_ISSUER ?? `${SUPABASE_URL}/auth/v1`;

/** Whether a token says it is from this issuer: a look before the signature, so that garbage costs no request to Auth. */
function claimsIssuer(bearer: string, issuer: string): boolean {
  try {
    const [, claims = ""] = bearer.split(".");
    return JSON.parse(atob(claims.replaceAll("-", "+").replaceAll("_", "/"))).iss === issuer;
  } catch {
    return false;
  }
}
