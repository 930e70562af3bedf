import { Buffer } from "node:buffer";
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { Environment } from "#shared/foundation/environment.ts";

/** An IBAN as the database keeps it: SQL knows that there is one, and its last four characters. */
export type SealedIban = { ciphertext: string; key_id: string; last4: string };

const CIPHER = "aes-256-gcm";
const NONCE_BYTES = 12;
const TAG = { authTagLength: 16 };

/**
 * Encrypts an IBAN (AES-256-GCM) before it reaches the database, bound to its tenant: a ciphertext copied to another
 * partner's row does not open. `ciphertext` is nonce, ciphertext and tag in hex, apart by dots.
 */
export function sealIban({ config }: Environment, partnerId: string, iban: string): SealedIban {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(CIPHER, keyOf(config.IBAN_KEYS, config.IBAN_KEYS.current), nonce, TAG);
  cipher.setAAD(Buffer.from(partnerId));
  const sealed = cipher.update(iban, "utf8", "hex") + cipher.final("hex");
  return {
    ciphertext: `${nonce.toString("hex")}.${sealed}.${cipher.getAuthTag().toString("hex")}`,
    key_id: config.IBAN_KEYS.current,
    last4: iban.slice(-4),
  };
}

/** The IBAN in clear: for paying out. @throws when key, tenant or ciphertext do not belong together. */
export function openIban(
  { config }: Environment,
  partnerId: string,
  { ciphertext, key_id }: Pick<SealedIban, "ciphertext" | "key_id">,
): string {
  const [nonce = "", sealed = "", tag = ""] = ciphertext.split(".");
  const decipher = createDecipheriv(CIPHER, keyOf(config.IBAN_KEYS, key_id), Buffer.from(nonce, "hex"), TAG);
  decipher.setAAD(Buffer.from(partnerId));
  decipher.setAuthTag(Buffer.from(tag, "hex"));
  return decipher.update(sealed, "hex", "utf8") + decipher.final("utf8");
}

function keyOf(keys: { keys: Record<string, string> }, id: string): Buffer {
  const key = keys.keys[id];
  if (!key) throw new Error(`IBAN_KEYS has no key ${id}`);
  return Buffer.from(key, "base64");
}
