/** Scopes and what they grant (specification section 5, rule 2). */
export const CPO_SCOPES = {
  "cpo:accounts:read": "Read accounts and ERE positions",
  "cpo:accounts:write": "Create accounts, correct connections",
  "cpo:mandates:write": "Issue mandate links",
  "cpo:chargers:write": "Register chargers",
  "cpo:sessions:write": "Deliver monthly kWh",
} as const;

export type CpoScope = keyof typeof CPO_SCOPES;
