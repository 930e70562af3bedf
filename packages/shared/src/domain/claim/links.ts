import type { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import { keysOf, linkKeys, sqlKeys } from "#shared/auth/keys.ts";
import { sameSecret } from "#shared/auth/tokens.ts";
import { type Environment, oncePerEnvironment } from "#shared/foundation/environment.ts";

/** The tenant of a partner's customers once they have accounts: private.people_tenant() in SQL. */
export const PEOPLE_TENANT = "00000000-0000-4000-8000-000000000000";

/** The keys with which SQL makes claim links, unsubscribe links and references of customers. */
export const claimKey: (environment: Environment) => string = oncePerEnvironment(sqlKeys);

/** The input SQL needs to write a link into a mail: `mails` of drafts, the import, the list of drafts. */
export function claimLinks(environment: Environment): { key: string; pages_url: string } {
  return { key: claimKey(environment), pages_url: environment.config.PAGES_URL };
}

/** The tokens of a draft's claim link, the newest first: the draft's id, 32 hex digits, and its HMAC. */
export function claimTokens(environment: Environment, draft_id: string): string[] {
  const head = `${draft_id.replaceAll("-", "")}-`;
  return linkKeys(environment, "claim links").map((key) => head + macUnder(key, `claim:${draft_id}`));
}

/** The token of the claim link that is handed out now. */
export const claimToken = (environment: Environment, draft_id: string): string =>
  claimTokens(environment, draft_id)[0] as string;

/** Where a sign-in link opens (`POST /partner/drafts/auth-link`); the token is random and stored as its SHA-256. */
export function signInLink({ config }: Pick<Environment, "config">, token: string): string {
  return `${config.PAGES_URL}/enter/${token}`;
}

/** The id of the draft in a token, or null if the token is not ours: forged tokens never reach the database. */
export function readClaimToken(environment: Environment, token: string): string | null {
  const [, ...parts] = /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})-/.exec(token) ?? [];
  const draft_id = parts.join("-");
  return draft_id && claimTokens(environment, draft_id).some((each) => sameSecret(token, each)) ? draft_id : null;
}

/**
 * The hash of the address in an unsubscribe link, hex, or null. It outlives the draft, because an opt-out never ends.
 */
export function readUnsubscribeToken(environment: Environment, token: string): string | null {
  const [head = "", email_hash] = /^([0-9a-f]{64})-/.exec(token) ?? [];
  if (!email_hash) return null;
  const made = keysOf(environment.config.OPT_OUT_KEYS).map((key) => macUnder(key, `unsubscribe:${email_hash}`));
  return made.some((each) => sameSecret(token.slice(head.length), each)) ? email_hash : null;
}

/** An HMAC for something bound to a claim: a link, a session, a form. */
export function mac(environment: Environment, message: string, key = linkKeys(environment, "claim links")[0]): string {
  return macUnder(key, message);
}

/** The key with which mac() made the value, current or previous; undefined if none did. */
export function keyOfMac(environment: Environment, message: string, given: string): Buffer | undefined {
  return linkKeys(environment, "claim links").find((key) => sameSecret(given, macUnder(key, message)));
}

function macUnder(key: Buffer, message: string): string {
  return createHmac("sha256", key).update(message).digest("base64url");
}
