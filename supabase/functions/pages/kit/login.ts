import type { Needs } from "#shared/foundation/call.ts";

/** A login for an address without one, which a code that proves the address may need first. Loaded when it is. */
export const MAKING_LOGINS: Needs = {
  login: async (...wanted) => (await import("#shared/domain/claim/login.ts")).makeLogin(...(wanted as [never, never])),
};
