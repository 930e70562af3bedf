import { CLAIM_SQL } from "#shared/domain/claim/model.ts";

/**
 * The api functions behind a claim, and the two links into and out of it. A page is one statement, a form two; where a login is
 * made, a call of Auth between them.
 */
export const SQL = [
  ...CLAIM_SQL,
  "open_sign_in_link",
  "use_sign_in_link",
  "opt_out",
  "read_claim_mandate",
  "read_claim_statement",
] as const;
export type Name = (typeof SQL)[number];
