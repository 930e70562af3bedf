import { createRemoteJWKSet, errors, type JWTVerifyGetKey, jwtVerify } from "jose";
import { type Environment, oncePerEnvironment } from "#shared/foundation/environment.ts";
import { ApiError } from "#shared/foundation/errors.ts";

/** A person signed in with Supabase Auth. */
type SignInSession = { userId: string; sessionId: string | null };

/**
 * The public keys of Supabase Auth, fetched when a key is first needed and again when an unknown `kid` appears (at most once in
 * 30 seconds), so that a rotation there needs nothing here.
 */
const authKeys = oncePerEnvironment(
  ({ config }): JWTVerifyGetKey =>
    createRemoteJWKSet(new URL(`${config.SUPABASE_URL}/auth/v1/.well-known/jwks.json`), { timeoutDuration: 3_000 }),
);

/**
 * The session a bearer is, or null when it is none of this project's: wrong signature, issuer, audience or algorithm, expired,
 * anonymous. Algorithms are pinned to the asymmetric ones Supabase Auth signs with.
 * @throws {ApiError} `authentication_unavailable` when the keys cannot be had: the session may be good, so nobody is signed out.
 */
export async function readSignInSession(environment: Environment, bearer: string): Promise<SignInSession | null> {
  if (!claimsIssuer(bearer, `${environment.config.SUPABASE_URL}/auth/v1`)) return null;
  try {
    const { payload } = await jwtVerify(bearer, authKeys(environment), {
      algorithms: ["ES256", "RS256"],
      issuer: `${environment.config.SUPABASE_URL}/auth/v1`,
      audience: "authenticated",
      currentDate: environment.now(),
      requiredClaims: ["exp", "sub"],
    });
    if (payload.is_anonymous === true || typeof payload.sub !== "string") return null;
    return { userId: payload.sub, sessionId: typeof payload.session_id === "string" ? payload.session_id : null };
  } catch (error) {
    if (isNoVerdict(error)) throw new ApiError("authentication_unavailable", {}, error);
    return null;
  }
}

/** Whether an error says nothing about the token: jose names each fault of a token, so any other error means that the keys could not be fetched or read. */
function isNoVerdict(error: unknown): boolean {
  if (!(error instanceof errors.JOSEError)) return true;
  return ["ERR_JOSE_GENERIC", "ERR_JWKS_TIMEOUT", "ERR_JWKS_INVALID"].includes(error.code);
}

/** Whether a token says it is from this issuer: a look before the signature, so that garbage costs no request to Auth. */
function claimsIssuer(bearer: string, issuer: string): boolean {
  try {
    const [, claims = ""] = bearer.split(".");
    return JSON.parse(atob(claims.replaceAll("-", "+").replaceAll("_", "/"))).iss === issuer;
  } catch {
    return false;
  }
}
