/** Scopes and what they grant (specification section 5, rule 2). SQL's list is private.scopes_of; a test compares the two. */
export const CPO_SCOPES = {
  "cpo:accounts:read": "Read accounts and ERE positions",
  "cpo:accounts:write": "Create accounts, correct connections",
  "cpo:mandates:write": "Issue mandate links",
  "cpo:chargers:write": "Register chargers",
  "cpo:sessions:write": "Deliver monthly kWh",
  "cpo:webhooks": "Manage this client's webhook endpoints; given by name only",
} as const;

export type CpoScope = keyof typeof CPO_SCOPES;

/** Scopes of a person's own data, and of a partner they manage (specification section 4.5). */
export const USER_SCOPES = {
  "chargers:read": "See your chargers and whether they are charging",
  "chargers:write": "Register chargers for you",
  "sessions:read": "See your charging sessions",
  "energy:read": "See your energy per month and your ERE position",
  "profile:read": "See your name and e-mail address",
  "partners:read": "See the figures of the partner you manage, its customers without their names",
  "partners:write": "Change the settings of the partner you manage and add customers",
} as const;

export type UserScope = keyof typeof USER_SCOPES;

/** What a personal token may do; never what concerns a partner. */
export const PERSONAL_SCOPES = [
  "chargers:read",
  "chargers:write",
  "sessions:read",
  "energy:read",
  "profile:read",
] as const satisfies UserScope[];
