/**
 * The api functions behind a claim. Each is one statement. If a login is created, a call to Auth comes between two
 * statements.
 */
export const CLAIM_SQL = [
  "open_claim",
  "send_claim_code",
  "prove_claim",
  "save_claim",
  "sign_claim",
  "complete_claim",
  "revoke_claim",
] as const;

/** In the order of the pages, the same as private.claim_steps in SQL. private.claim_open_step returns the next step. */
export const STEP_NAMES = ["details", "company", "address", "ean", "payout", "charger"] as const;
export type StepName = (typeof STEP_NAMES)[number];
