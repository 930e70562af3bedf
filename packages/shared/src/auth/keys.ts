import { Buffer } from "node:buffer";
import { hkdfSync } from "node:crypto";
import type { Configuration, KeyRing } from "#shared/foundation/configuration.ts";

/** What LINK_KEYS makes. Each purpose has keys of its own, so that nothing of one opens anything of another. */
type LinkPurpose = "claim links" | "returned forms" | "device cookies" | "addresses" | "mail limits";

/** The keys of a ring, in base64. The first makes, all of them verify. */
const textsOf = ({ current, keys }: KeyRing) => [...new Set([keys[current] as string, ...Object.values(keys)])];

export const keysOf = (ring: KeyRing): Buffer[] => textsOf(ring).map((key) => Buffer.from(key, "base64"));

/** The key of one purpose under a secret. */
const derive = (secret: string, purpose: string): Buffer => Buffer.from(hkdfSync("sha256", secret, "", purpose, 32));

/** The keys of one purpose of LINK_KEYS. The first makes, all of them verify. */
export const linkKeys = (
  { config }: { config: Pick<Configuration, "LINK_KEYS"> },
  purpose: LinkPurpose,
): [Buffer, ...Buffer[]] => textsOf(config.LINK_KEYS).map((secret) => derive(secret, purpose)) as [Buffer, ...Buffer[]];

type Rings = { config: Pick<Configuration, "LINK_KEYS" | "OPT_OUT_KEYS" | "CUSTOMER_REF_KEYS"> };

/**
 * The keys by which SQL derives links, hashes and references, as private.keys_for reads them: for each purpose keys in
 * hex, separated by commas. The first key makes new values. Links are derived, not stored, so that they can be shown
 * again. The database stores none of these keys.
 */
export function sqlKeys(environment: Rings): string {
  const hex = (keys: Buffer[]) => keys.map((key) => key.toString("hex")).join(",");
  const { OPT_OUT_KEYS, CUSTOMER_REF_KEYS } = environment.config;
  return JSON.stringify({
    claim: hex([linkKeys(environment, "claim links")[0]]),
    mail: hex([linkKeys(environment, "mail limits")[0]]),
    opt_out: hex(keysOf(OPT_OUT_KEYS)),
    customer: hex(keysOf(CUSTOMER_REF_KEYS)),
  });
}
