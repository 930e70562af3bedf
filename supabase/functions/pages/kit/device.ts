import type { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import { linkKeys } from "#shared/auth/keys.ts";
import { hashSecret, newSecret, sameSecret } from "#shared/auth/tokens.ts";
import type { Environment } from "#shared/foundation/environment.ts";

/**
 * A browser that signed in to an account before (OWASP, "Slow Down Online Guessing Attacks with Device Cookies"). Its
 * guesses are counted apart, so that strangers who guess elsewhere do not lock the owner out. The cookie is not a
 * credential: it signs nobody in and names nobody. It allows as many guesses as one network address. All cookies of an
 * account together allow as many as all strangers together.
 */

/** As long as browsers keep a cookie (RFC 6265bis). */
export const DEVICE_SECONDS = 400 * 24 * 3600;

const keysOf = (environment: Environment) => linkKeys(environment, "device cookies");

/** The cookie of a browser in which the owner of `email` has just signed in. */
export function newDevice(environment: Environment, email: string): string {
  const nonce = newSecret();
  return `${nonce}.${proofUnder(keysOf(environment)[0], email, nonce)}`;
}

/**
 * The hash by which guesses from a known browser are counted; null if the cookie is not ours, or belongs to another
 * account.
 */
export function deviceHash(environment: Environment, email: string, cookie = ""): string | null {
  const [nonce = "", proof = ""] = cookie.split(".");
  return keysOf(environment).some((key) => sameSecret(proof, proofUnder(key, email, nonce))) ? hashSecret(nonce) : null;
}

function proofUnder(key: Buffer, email: string, nonce: string): string {
  return createHmac("sha256", key).update(`${nonce}:${email.toLowerCase()}`).digest("base64url");
}
