import { Buffer } from "node:buffer";
import { createCipheriv, randomBytes } from "node:crypto";
import type { Environment } from "#shared/foundation/environment.ts";

/** An IBAN as the database keeps it: SQL knows that there is one, and its last four characters. */
export type SealedIban = { ciphertext: string; key_id: string; last4: string };

/**
 * Encrypts an IBAN (AES-256-GCM) before it reaches the database, bound to its tenant: a ciphertext copied to another
 * partner's row does not open. `ciphertext` is nonce, ciphertext and tag in hex, apart by dots.
 */
export function sealIban({ config }: Environment, partnerId: string, iban: string): SealedIban {
  const { current, keys } = config.IBAN_KEYS;
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", Buffer.from(keys[current] ?? "", "base64"), nonce, {
    authTagLength: 16,
  });
  cipher.setAAD(Buffer.from(partnerId));
  const sealed = cipher.update(iban, "utf8", "hex") + cipher.final("hex");
  return {
    ciphertext: `${nonce.toString("hex")}.${sealed}.${cipher.getAuthTag().toString("hex")}`,
    key_id: current,
    last4: iban.slice(-4),
  };
}
