// Encrypts what the database keeps but must not read: IBANs, secrets of webhooks and platforms, files that wait for an answer.

import { Buffer } from "node:buffer";
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import type { Configuration } from "#shared/foundation/configuration.ts";

/** `ciphertext` is nonce, ciphertext and tag in hex, apart by dots. */
export type Sealed = { ciphertext: string; key_id: string };

/** Whoever has the keys: the functions, and the operator who pays. */
export type Keys = { config: Pick<Configuration, "IBAN_KEYS"> };

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
