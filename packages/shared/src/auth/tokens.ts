import { Buffer } from "node:buffer";
import { createHash, createHmac, randomBytes, randomInt, timingSafeEqual } from "node:crypto";
import { BoundedMap } from "#shared/foundation/bounded_map.ts";
import { secretsIn } from "#shared/foundation/configuration.ts";
import { type Environment, oncePerEnvironment } from "#shared/foundation/environment.ts";
import { linkKeys } from "./keys.ts";

/** Lifetime of an access token in seconds (specification section 8). */
export const ACCESS_TOKEN_SECONDS = 3600;

const ALGORITHM = "ES256";
const TYPE = "at+jwt";
/** What two of our own hosts may differ by when one reads what the other has just issued. */
const CLOCK_SKEW_SECONDS = 30;
const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** What an access token says, its signature, issuer, audience, type and lifetime having been checked. */
type AccessToken = {
  /** The client it was issued to. */
  clientId: string;
  /** The user it acts for, or the client itself under the client-credentials grant (RFC 9068 section 2.2). */
  subject: string;
  scopes: string[];
  /** Seconds since the epoch. */
  issuedAt: number;
  /** Which secret of the client bought it: the operator ends the tokens of earlier ones. */
  secretNumber: number;
  id: string;
  /** The grant a user's token belongs to; a client's own has none. */
  grantId: string | null;
};

const EC_P256 = { name: "ECDSA", namedCurve: "P-256" };
const ECDSA_SHA256 = { name: "ECDSA", hash: "SHA-256" };

// The first key signs; every key verifies, so a new key is put in front and the old one dropped an hour later.

/** What signs, and the first part of every token that it signs, encoded. */
const signerOf = oncePerEnvironment(async ({ config }) => {
  const [first] = config.TOKEN_KEYS.keys;
  if (!first) throw new Error("TOKEN_KEYS is empty");
  const { kty, crv, x, y, d, kid } = first;
  return {
    key: await crypto.subtle.importKey("jwk", { kty, crv, x, y, d }, EC_P256, false, ["sign"]),
    header: base64url(JSON.stringify({ alg: ALGORITHM, typ: TYPE, kid })),
  };
});

/** What verifies. jose is loaded with the first token that is read: who issues them only, or has other credentials, starts without. */
const verifierOf = oncePerEnvironment(async ({ config }) => {
  const { createLocalJWKSet, jwtVerify } = await import("jose");
  const publicKeys = config.TOKEN_KEYS.keys.map(({ d: _private, ...key }) => ({ ...key, alg: ALGORITHM, use: "sig" }));
  const keys = createLocalJWKSet({ keys: publicKeys });
  return (bearer: string, now: Date) =>
    jwtVerify(bearer, keys, {
      algorithms: [ALGORITHM],
      typ: TYPE,
      issuer: config.AUTH_URL,
      audience: config.BASE_URL,
      currentDate: now,
      requiredClaims: ["exp", "iat", "sub", "jti", "client_id"],
    });
});

/** A JWT access token for a client acting for itself (RFC 9068: issuer AUTH_URL, audience BASE_URL). */
export function issueClientToken(
  environment: Environment,
  { clientId, scope, secretNumber }: { clientId: string; scope: string; secretNumber: number },
): Promise<string> {
  return issue(environment, clientId, { client_id: clientId, scope, secret_number: secretNumber });
}

/** A JWT access token for a client acting for a person, within one grant. */
export function issueUserToken(
  environment: Environment,
  { userId, ...of }: { userId: string; clientId: string; scope: string; grantId: string; secretNumber: number },
): Promise<string> {
  const { clientId: client_id, scope, grantId: grant_id, secretNumber: secret_number } = of;
  return issue(environment, userId, { client_id, scope, grant_id, secret_number });
}

/** A JWS in compact form (RFC 7515 section 7.1); WebCrypto writes an ES256 signature as RFC 7518 section 3.4 wants it. */
async function issue(environment: Environment, subject: string, claims: Record<string, unknown>): Promise<string> {
  const { key, header } = await signerOf(environment);
  const iat = Math.floor(environment.now().getTime() / 1000);
  const payload = {
    ...claims,
    iss: environment.config.AUTH_URL,
    aud: environment.config.BASE_URL,
    sub: subject,
    iat,
    exp: iat + ACCESS_TOKEN_SECONDS,
    jti: crypto.randomUUID(),
  };
  const signed = `${header}.${base64url(JSON.stringify(payload))}`;
  const signature = await crypto.subtle.sign(ECDSA_SHA256, key, new TextEncoder().encode(signed));
  return `${signed}.${Buffer.from(signature).toString("base64url")}`;
}

const base64url = (text: string): string => Buffer.from(text).toString("base64url");

/**
 * Recently verified tokens, by the whole token. Checking a signature costs more than the statement that follows, and
 * its result changes only when the token expires. The database says every time whether a token was revoked or its
 * client disabled. A thousand tokens take about a megabyte; only tokens that we signed get in.
 */
const verifiedTokens = oncePerEnvironment(
  () => new BoundedMap<string, { token: AccessToken; expiresAt: number }>(1000),
);

/** The token's content, or null when it is not a good access token of ours: forged, foreign, expired, or no JWT at all. */
export async function readAccessToken(environment: Environment, bearer: string): Promise<AccessToken | null> {
  const remembered = verifiedTokens(environment);
  const known = remembered.get(bearer);
  if (known) {
    if (environment.now().getTime() < known.expiresAt * 1000) return known.token;
    remembered.delete(bearer);
    return null;
  }
  const verified = await verify(environment, bearer);
  if (!verified) return null;
  remembered.set(bearer, verified);
  return verified.token;
}

/** Printable ASCII, as all our claims are. */
const isText = (value: unknown): value is string => typeof value === "string" && /^[\x20-\x7e]+$/.test(value);
const isNatural = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;
const isUuid = (value: unknown): value is string =>
  isText(value) && /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(value);

async function verify(environment: Environment, bearer: string) {
  const verifier = await verifierOf(environment);
  try {
    const { payload } = await verifier(bearer, environment.now());
    const { client_id, sub, scope, iat, exp = 0, jti, grant_id, secret_number } = payload;
    if (!isText(client_id) || !isText(sub) || !isText(jti) || !isNatural(iat)) return null;
    if (!isNatural(secret_number)) return null;
    // the database reads these two as ids
    if (grant_id !== undefined && !isUuid(grant_id)) return null;
    if (sub !== client_id && !isUuid(sub)) return null;
    if (iat > environment.now().getTime() / 1000 + CLOCK_SKEW_SECONDS) return null;
    const token: AccessToken = {
      clientId: client_id,
      subject: sub,
      scopes: isText(scope) ? scope.split(" ") : [],
      issuedAt: iat,
      secretNumber: secret_number,
      id: jti,
      grantId: grant_id ?? null,
    };
    return { token, expiresAt: exp };
  } catch {
    return null;
  }
}

/** `bytes` random bytes in base62: safe in a URL, a shell and a double click. */
export function newSecret(bytes = 32): string {
  let value = BigInt(`0x${randomBytes(bytes).toString("hex")}`);
  const length = Math.ceil((bytes * 8) / Math.log2(62));
  let text = "";
  for (let digit = 0; digit < length; digit++) {
    text = BASE62.charAt(Number(value % 62n)) + text;
    value /= 62n;
  }
  return text;
}

/** A one-time code, as a person types it: six digits. Good for minutes and a few guesses, or it would be no secret. */
export function newCode(): string {
  return String(randomInt(1_000_000)).padStart(6, "0");
}

/** A partner API key: its prefix says the host it is for, so that a key in the wrong place can be told apart. */
export function newPartnerKey(
  config: { KEY_PREFIX: string; API_HOST: "sandbox" | "production" },
  secret = newSecret(),
) {
  const prefix = `${config.KEY_PREFIX}_${config.API_HOST === "sandbox" ? "test" : "live"}_`;
  const api_key = prefix + secret;
  return { api_key, stored: { key_hash: hashSecret(api_key), prefix, last4: api_key.slice(-4) } };
}

/**
 * SHA-256 in hex: how every secret of ours is stored. They are 256 random bits, so a slow hash would only cost us time
 * (RFC 6819 section 5.1.4.1.3).
 */
export function hashSecret(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}

/** Compares in constant time, so that how long it takes discloses nothing. */
export function sameSecret(given: string, expected: string): boolean {
  return timingSafeEqual(createHash("sha256").update(given).digest(), createHash("sha256").update(expected).digest());
}

/** Whether this is one of the secrets of a variable. */
export const opens = (given: string, secrets: string): boolean =>
  secretsIn(secrets).reduce((opened, secret) => sameSecret(given, secret) || opened, false);

/** Addresses hashed lately: a server of a client's sends all its requests from one. */
const hashedAddresses = oncePerEnvironment(() => new BoundedMap<string, string>(1000));

/** A keyed hash of a network address: enough to count by, not to read back. */
export function hashAddress(environment: Environment, address: string): string {
  const remembered = hashedAddresses(environment);
  let hash = remembered.get(address);
  if (hash === undefined) {
    hash = createHmac("sha256", linkKeys(environment, "addresses")[0]).update(address).digest("base64url").slice(0, 22);
    remembered.set(address, hash);
  }
  return hash;
}
