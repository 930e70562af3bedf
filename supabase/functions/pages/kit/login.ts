import type { Fetchers } from "#shared/foundation/call.ts";

/** What a code that proves an address may need first: the login of who has none. Loaded when it is. */
export const MAKING_LOGINS: Fetchers = {
  login: async (...wanted) => (await import("#shared/domain/claim/login.ts")).makeLogin(...(wanted as [never, never])),
};
