/** The api functions behind a claim. Each is one statement; where a login is made, a call of Auth stands between two. */
export const CLAIM_SQL = [
  "open_claim",
  "send_claim_code",
  "prove_claim",
  "save_claim",
  "sign_claim",
  "complete_claim",
  "revoke_claim",
] as const;

/** In the order of the pages, which is that of private.claim_steps in SQL; private.claim_open_step says which comes next. */
export const STEP_NAMES = ["details", "company", "address", "ean", "payout", "charger"] as const;
export type StepName = (typeof STEP_NAMES)[number];
