import { oncePerEnvironment } from "#shared/foundation/environment.ts";
import { isWhole } from "./address.ts";
import { createCodeboek } from "./codeboek.ts";
import { sandboxAnswer } from "./sandbox.ts";
import type { EanRegister, EanRegisterConfig } from "./types.ts";

/** Keep one per process: it holds the cache, the requests under way and the state of the circuit. */
export function createEanRegister(config: EanRegisterConfig): EanRegister {
  if (config.host === "sandbox") return sandbox;
  if (config.driver === "table") return table;
  return createCodeboek(config);
}

/** The EAN register of an environment. */
export const eanRegisterOf = oncePerEnvironment(({ config }) =>
  createEanRegister({
    host: config.API_HOST,
    driver: config.EAN_REGISTER,
    url: config.EAN_REGISTER_URL ?? null,
    api_key: config.EAN_REGISTER_KEY ?? null,
  }),
);

/** The key is the EAN, or the address if there is no EAN. */
const sandbox: EanRegister = {
  known: (address, ean_code) => (ean_code === undefined && !isWhole(address) ? null : sandboxAnswer(address, ean_code)),
  lookup: async (address, ean_code) => sandboxAnswer(address, ean_code),
};

const table: EanRegister = { known: () => ({ source: "table" }), lookup: async () => ({ source: "table" }) };
