// The keys of a deployment, made anew: of a local stack, or printed by packages/tools/src/new_keys.ts.

import { generateKeyPairSync, randomBytes } from "node:crypto";

/** Keys carry the day they were made, so that a rotation can be read off them. */
export function newKeys(
  today = new Date().toISOString().slice(0, 10),
): Record<"TOKEN_KEYS" | "IBAN_KEYS" | "WORKER_SECRET", string> {
  const id = `${today}-${randomBytes(3).toString("hex")}`;
  const signing = {
    ...generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" }),
    kid: id,
  };
  return {
    TOKEN_KEYS: JSON.stringify({ keys: [signing] }),
    IBAN_KEYS: JSON.stringify({ current: id, keys: { [id]: randomBytes(32).toString("base64") } }),
    WORKER_SECRET: randomBytes(32).toString("base64url"),
  };
}
