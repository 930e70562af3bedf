import { cut } from "#shared/values/text.ts";

/** Who may call the helpers. */
export const CALLER = { kind: "sandbox", scope: "partner_api_key", key: true } as const;

/** The path's customer_ref, account id or reference: cut, because none of them is longer. */
export const named = (param: (name: string) => string) => cut(param("id"), 120);
