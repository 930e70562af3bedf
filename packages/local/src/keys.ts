// Makes the keys of a deployment: for a local stack, or to be printed by packages/tools/src/new_keys.ts.

import { generateKeyPairSync, randomBytes } from "node:crypto";
import { derive } from "#shared/auth/keys.ts";
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

/** What WORKER_SECRET did too, until 0.9.0. Where one of them is set, a missing one must not be made from it again. */
const SPLIT = ["LINK_KEYS", "OPT_OUT_KEYS", "CUSTOMER_REF_KEYS", "METRICS_SECRET", "GATEWAY_SECRET"] as const;

/**
 * Keys carry the day they were made, so that a rotation can be read off them. `kept` has the variables of the
 * deployment. Until 0.9.0 a key derived from WORKER_SECRET made links, opt-outs and references. If a deployment has
 * only that secret, the new keys continue from it. Otherwise they are random.
 */
export function newKeys(
  kept: Record<string, string | undefined> = {},
  today = new Date().toISOString().slice(0, 10),
): Record<Name, string> {
  const id = `${today}-${randomBytes(3).toString("hex")}`;
  const ring = (more: { before?: string } = {}) =>
    JSON.stringify({ current: id, keys: { [id]: randomBytes(32).toString("base64") }, ...more });
  const signing = {
    ...generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ format: "jwk" }),
    kid: id,
  };
  const isUpgraded = SPLIT.some((name) => kept[name]);
  const before = kept.WORKER_SECRET && !isUpgraded && derive(kept.WORKER_SECRET, "claim links").toString("base64");
  const onward = before ? JSON.stringify({ current: "before", keys: { before } }) : undefined;
  return {
    TOKEN_KEYS: JSON.stringify({ keys: [signing] }),
    IBAN_KEYS: ring(),
    LINK_KEYS: ring(before ? { before } : {}),
    OPT_OUT_KEYS: onward ?? ring(),
    CUSTOMER_REF_KEYS: onward ?? ring(),
    WORKER_SECRET: newSecret(),
    METRICS_SECRET: newSecret(),
    GATEWAY_SECRET: newSecret(),
  };
}
