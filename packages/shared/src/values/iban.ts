import { Buffer } from "node:buffer";
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { Configuration } from "#shared/foundation/configuration.ts";

/** `ciphertext` is nonce, ciphertext and tag in hex, apart by dots. */
export type Sealed = { ciphertext: string; key_id: string };

/** An IBAN as the database keeps it: SQL knows that there is one, and its last four characters. */
export type SealedIban = Sealed & { last4: string };

/** Whether a text is an IBAN, by the length of its country and its checksum. */
export async function isIban(text: string): Promise<boolean> {
  const { isValidIBAN } = await import("ibantools");
  return isValidIBAN(text);
}

/** Whoever has the keys: the functions, and the operator who pays. */
type Keys = { config: Pick<Configuration, "IBAN_KEYS"> };

const TAG_BYTES = 16;

/** Encrypts (AES-256-GCM) under the current key, bound to what it belongs to: elsewhere the ciphertext does not open. */
export function seal({ config }: Keys, belongsTo: string, clear: string): Sealed {
  const { current, keys } = config.IBAN_KEYS;
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", Buffer.from(keys[current] ?? "", "base64"), nonce, {
    authTagLength: TAG_BYTES,
  });
  cipher.setAAD(Buffer.from(belongsTo));
  const sealed = cipher.update(clear, "utf8", "hex") + cipher.final("hex");
  return {
    ciphertext: `${nonce.toString("hex")}.${sealed}.${cipher.getAuthTag().toString("hex")}`,
    key_id: current,
  };
}

/** @throws {Error} when key, owner and ciphertext do not belong together, or the key is not among the keys. */
export function open({ config }: Keys, belongsTo: string, { ciphertext, key_id }: Sealed): string {
  const key = config.IBAN_KEYS.keys[key_id];
  if (!key) throw new Error(`IBAN_KEYS has no key ${key_id}`);
  const [nonce = "", sealed = "", tag = ""] = ciphertext.split(".");
  const decipher = createDecipheriv("aes-256-gcm", Buffer.from(key, "base64"), Buffer.from(nonce, "hex"), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(Buffer.from(belongsTo));
  decipher.setAuthTag(Buffer.from(tag, "hex"));
  return decipher.update(sealed, "hex", "utf8") + decipher.final("utf8");
}

/** Encrypts an IBAN before it reaches the database, bound to its tenant: a ciphertext copied to another partner's row does not open. */
export function sealIban(keys: Keys, partnerId: string, iban: string): SealedIban {
  return { ...seal(keys, partnerId, iban), last4: iban.slice(-4) };
}

/** @throws {Error} when key, tenant and ciphertext do not belong together. */
export function openIban(keys: Keys, partnerId: string, sealed: Sealed): string {
  return open(keys, partnerId, sealed);
}

/**
 * Fetches what SQL asks of two ciphertexts of a tenant: whether they are of one IBAN, and which was compared. One that does not open
 * with these keys is another.
 */
export async function compareIbans(
  keys: Keys,
  { partner_id, stored, sent }: { partner_id: string; stored: Sealed; sent: Sealed },
): Promise<{ as: string; same: boolean }> {
  const read = (sealed: Sealed) => {
    try {
      return openIban(keys, partner_id, sealed);
    } catch {
      return null; // what was thrown may quote it
    }
  };
  const there = read(stored);
  return { as: stored.ciphertext, same: there !== null && there === read(sent) };
}
