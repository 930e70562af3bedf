// Opens a sealed IBAN, to see what was stored. The service itself only seals: nothing in it reads an IBAN yet.

import { createDecipheriv } from "node:crypto";
import type { Environment } from "#shared/foundation/environment.ts";

/** @throws when key, tenant or ciphertext do not belong together. */
export function openIban(
  { config }: Environment,
  partner_id: string,
  { ciphertext, key_id }: { ciphertext: string; key_id: string },
): string {
  const key = config.IBAN_KEYS.keys[key_id];
  if (!key) throw new Error(`IBAN_KEYS has no key ${key_id}`);
  const [nonce = "", sealed = "", tag = ""] = ciphertext.split(".");
  const decipher = createDecipheriv("aes-256-gcm", Buffer.from(key, "base64"), Buffer.from(nonce, "hex"), {
    authTagLength: 16,
  });
  decipher.setAAD(Buffer.from(partner_id));
  decipher.setAuthTag(Buffer.from(tag, "hex"));
  return decipher.update(sealed, "hex", "utf8") + decipher.final("utf8");
}
