import { Buffer } from "node:buffer";
import { createHmac, hkdfSync } from "node:crypto";
import { hashSecret, newSecret, sameSecret } from "#shared/auth/tokens.ts";
import { type Environment, oncePerEnvironment } from "#shared/foundation/environment.ts";

/**
 * A browser that signed in to an account before, after OWASP's "Slow Down Online Guessing Attacks with Device Cookies": it is counted
 * alone, so that strangers who guess elsewhere do not lock the owner out. The cookie is no credential. It signs nobody in, names
 * nobody, and is worth as many guesses as one address; all of an account's together as many as strangers have.
 */

/** As long as browsers keep a cookie (RFC 6265bis). */
export const DEVICE_SECONDS = 400 * 24 * 3600;

const keyOf = oncePerEnvironment(({ config }) =>
  Buffer.from(hkdfSync("sha256", config.WORKER_SECRET, "", "device cookies", 32)),
);

/** The cookie of a browser in which the owner of `email` has just signed in. */
export function newDevice(environment: Environment, email: string): string {
  const nonce = newSecret();
  return `${nonce}.${proofOf(environment, email, nonce)}`;
}

/** The browser that a cookie makes known to an account, to count by; null where it is none of ours, or another account's. */
export function deviceHash(environment: Environment, email: string, cookie = ""): string | null {
  const [nonce = "", proof = ""] = cookie.split(".");
  return sameSecret(proof, proofOf(environment, email, nonce)) ? hashSecret(nonce) : null;
}

function proofOf(environment: Environment, email: string, nonce: string): string {
  return createHmac("sha256", keyOf(environment)).update(`${nonce}:${email.toLowerCase()}`).digest("base64url");
}
