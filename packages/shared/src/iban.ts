import { Buffer } from "node:buffer";
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { Environment } from "./environment.ts";

/** An IBAN as the database keeps it: SQL knows that there is one, and its last four characters. */
export type SealedIban = { ciphertext: string; key_id: string; last4: string };

const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts an IBAN (AES-256-GCM) before it reaches the database, bound to its tenant: a ciphertext copied to another
 * partner's row does not open.
 */
export function sealIban({ config }: Environment, partnerId: string, iban: string): SealedIban {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, keyOf(config.IBAN_KEYS, config.IBAN_KEYS.current), nonce).setAAD(
    Buffer.from(partnerId),
  );
  const sealed = Buffer.concat([nonce, cipher.update(iban, "utf8"), cipher.final(), cipher.getAuthTag()]);
  return { ciphertext: sealed.toString("base64"), key_id: config.IBAN_KEYS.current, last4: iban.slice(-4) };
}

/** The IBAN in clear: for paying out. @throws when key, tenant or ciphertext do not belong together. */
export function openIban(
  { config }: Environment,
  partnerId: string,
  sealed: Pick<SealedIban, "ciphertext" | "key_id">,
): string {
  const bytes = Buffer.from(sealed.ciphertext, "base64");
  const decipher = createDecipheriv(CIPHER, keyOf(config.IBAN_KEYS, sealed.key_id), bytes.subarray(0, NONCE_BYTES));
  decipher.setAAD(Buffer.from(partnerId)).setAuthTag(bytes.subarray(-TAG_BYTES));
  return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]).toString("utf8");
}

function keyOf(keys: { keys: Record<string, string> }, id: string): Buffer {
  const key = keys.keys[id];
  if (!key) throw new Error(`IBAN_KEYS has no key ${id}`);
  return Buffer.from(key, "base64");
}
