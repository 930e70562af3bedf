// Makes the keys of a deployment: for a local stack, or to be printed by packages/tools/src/new_keys.ts.

import { generateKeyPairSync, randomBytes } from "node:crypto";
import { newSecret } from "#shared/auth/tokens.ts";

type Name =
  | "TOKEN_KEYS"
  | "IBAN_KEYS"
  | "LINK_KEYS"
  | "OPT_OUT_KEYS"
  | "CUSTOMER_REF_KEYS"
  | "WORKER_SECRET"
  | "METRICS_SECRET"
  | "GATEWAY_SECRET";

/** Random keys. A ring's key carries the day it was made, so that a rotation can be read off it. */
export function newKeys(today = new Date().toISOString().slice(0, 10)): Record<Name, string> {
  const id = `${today}-${randomBytes(3).toString("hex")}`;
  const ring = () => JSON.stringify({ current: id, keys: { [id]: randomBytes(32).toString("base64") } });
  const signing = {
    ...generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" }),
    kid: id,
  };
  return {
    TOKEN_KEYS: JSON.stringify({ keys: [signing] }),
    IBAN_KEYS: ring(),
    LINK_KEYS: ring(),
    OPT_OUT_KEYS: ring(),
    CUSTOMER_REF_KEYS: ring(),
    WORKER_SECRET: newSecret(),
    METRICS_SECRET: newSecret(),
    GATEWAY_SECRET: newSecret(),
  };
}
