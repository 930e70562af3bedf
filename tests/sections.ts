// What test titles refer to: `§4.1` is a section of the API specification, `contract §2` one of docs/decisions.md.

/** Each section with what it rules, in the order of tests/TRACE.md. Every one of them has a test. */
export const SECTIONS: Readonly<Record<string, string>> = {
  "§1": "The main job: an account, a mandate, a charger with a MID meter and delivered months make a position; four gates decide whether it counts.",
  "§2": "What an account, a connection, a month, a position, a charger and a model have in them, and whose they are.",
  "§3": "The states of a mandate, a month, a registration and a draft, and what moves them.",
  "§4": "Every endpoint answers at its path and by its method.",
  "§4.1": "The CPO API: a token, accounts, corrections, mandate links, chargers, the catalogue, months and positions.",
  "§4.2": "The Partner API: imports of customers, drafts, sign-in links, the list of customers, settings.",
  "§4.3": "The sandbox helpers: captured mail, claims, virtual chargers, months, reviews, fixtures, reset.",
  "§4.4": "The personal API: a person's profile, chargers, sessions, energy and position.",
  "§4.5": "OAuth for applications: consent, codes, tokens, refreshing, revoking, and whom an application brought.",
  "§5": "Who is let in, by which credential, for how long, and what ends it.",
  "§5.1": "A route whose scope the token lacks is refused and says which; an unknown route is missing.",
  "§5.2": "Which route takes which scope; the catalogue takes any CPO token.",
  "§5.3": "A token may ask for less than its client has, never for more.",
  "§5.4": "/v1 refuses the tokens of people.",
  "§5.5": "A partner key belongs to one host and to the Partner API.",
  "§5.6":
    "PKCE, one use of a code, registered redirect URIs, rotating refresh tokens; no answer of a token endpoint is stored.",
  "§6": "There are no webhooks. Mail is sent once, is tried again while the other side is away, and on the sandbox is kept to be read.",
  "§7": "Every refusal has its status, its text and what to do about it.",
  "§8": "How much, how long, how often: lengths, sizes, page limits, rate limits, days.",
  "§9.1": "The CPO API is under /v1, the personal API at the root, hosted or not.",
  "§9.2": "An addition breaks nobody, and every answer may get one.",
  "§9.3": "A breaking change is named and announced first.",
  "§9.5": "One machine-readable description, which is what the code declares.",
  "§9.6": "The changes of 23 September 2026.",
  "contract §1":
    "The form of requests and answers, the order of checks, statuses, tenants, limits, and what the log never holds.",
  "contract §2": "CPO API: field rules, EAN checks, mandates and their years, chargers, months, IBANs, registrations.",
  "contract §3": "Factors, bookings, credits, sales and figures, and the ledger that proves them.",
  "contract §4": "Partner API: drafts, imports row by row, claims, reminders, keys, brands, attribution.",
  "contract §5": "Sandbox helpers: test values, virtual chargers, the review that comes by itself, captured mail.",
  "contract §6": "Personal API: tokens, statuses of a charger, quarters and forecasts.",
  "contract §7":
    "OAuth: reuse of codes and refresh tokens, revocation, metadata, attribution, signing in by a mailed code.",
  "contract §8": "The operator's command line.",
  "contract §9": "What a second reading settled.",
};

/** Test files that prove the tree and its tools rather than a rule: their titles need no section. */
export const BESIDE: readonly string[] = [
  "deno/deploy.test.ts",
  "docs/add_an_endpoint.test.ts",
  "local/auth.test.ts",
  "local/migrate.test.ts",
  "local/start.test.ts",
  "sql/migrations.test.ts",
  "sql/schema_rules.test.ts",
  "shared/attacks.test.ts",
  "shared/db.test.ts",
  "unit/answers.test.ts",
  "unit/call.test.ts",
  "unit/environment.test.ts",
  "unit/imports.test.ts",
  "unit/links.test.ts",
  "unit/packages.test.ts",
  "unit/schemas.test.ts",
  "unit/trace.test.ts",
  "unit/work_through.test.ts",
];
