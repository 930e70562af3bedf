import { Buffer } from "node:buffer";
import { createHmac, hkdfSync } from "node:crypto";
import { sameSecret } from "#shared/auth/tokens.ts";
import { type Environment, oncePerEnvironment } from "#shared/foundation/environment.ts";

/** Where a partner's customers are at home once they are accounts: private.house() in SQL. */
export const HOUSE = "00000000-0000-4000-8000-000000000000";

/**
 * The key that claim links, unsubscribe links and the opt-out list are made with, as SQL takes it (hex). Links are derived,
 * not stored, so that they can be shown again; SQL derives the same in private.claim_token and private.unsubscribe_token.
 */
export const claimKey: (environment: Environment) => string = oncePerEnvironment(({ config }) =>
  claimKeyOf(config.WORKER_SECRET),
);

/** As claimKey, for who has the configuration alone. */
export function claimKeyOf(secret: string): string {
  return Buffer.from(hkdfSync("sha256", secret, "", "claim links", 32)).toString("hex");
}

/** What SQL needs to write a link of its own into a mail: `mails` of drafts, the import, the list of drafts. */
export function claimLinks(environment: Environment): { key: string; pages_url: string } {
  return { key: claimKey(environment), pages_url: environment.config.PAGES_URL };
}

/** The token of a draft's claim link: the draft's id, 32 hex digits, and its HMAC. */
export function claimToken(environment: Environment, draft_id: string): string {
  return `${draft_id.replaceAll("-", "")}-${mac(environment, `claim:${draft_id}`)}`;
}

/** Where a sign-in link opens (`POST /partner/drafts/auth-link`); the token is random and stored as its SHA-256. */
export function signInLink({ config }: Pick<Environment, "config">, token: string): string {
  return `${config.PAGES_URL}/enter/${token}`;
}

/** The id of the draft a token is of, or null when the token is none of ours: nothing forged reaches the database. */
export function readClaimToken(environment: Environment, token: string): string | null {
  const [, ...parts] = /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})-/.exec(token) ?? [];
  const draft_id = parts.join("-");
  return draft_id && sameSecret(token, claimToken(environment, draft_id)) ? draft_id : null;
}

/** The address's own hash in an unsubscribe link, hex, or null. It outlives the draft: opting out must work for good. */
export function readUnsubscribeToken(environment: Environment, token: string): string | null {
  const email_hash = /^([0-9a-f]{64})-/.exec(token)?.[1];
  return email_hash && sameSecret(token, `${email_hash}-${mac(environment, `unsubscribe:${email_hash}`)}`)
    ? email_hash
    : null;
}

/** An HMAC under the claim key, for what is bound to a claim: a session, a form. */
export function mac(environment: Environment, message: string): string {
  return createHmac("sha256", Buffer.from(claimKey(environment), "hex"))
    .update(message)
    .digest("base64url");
}
