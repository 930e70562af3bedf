// What the documentation has, in the order of its menu.

/** A page of the site, made of a Markdown file of the repository. */
export type Page = {
  /** The Markdown file, from the root of the repository. */
  source: string;
  /** What it is called on the site, without an ending. */
  name: string;
  /** What the menu calls it; its heading unless told. */
  menu?: string;
  /** One sentence of what is on it, for llms.txt and the front page. */
  about: string;
};

type Chapter = { title: string; pages: readonly Page[] };

const guide = (name: string, about: string): Page => ({ source: `docs/guides/${name}.md`, name, about });

export const CHAPTERS: readonly Chapter[] = [
  {
    title: "Start",
    pages: [
      {
        source: "docs/guides/index.md",
        name: "index",
        menu: "Overview",
        about: "What the API does, and where to begin.",
      },
      guide("first_call", "From a token to an ERE position, in six calls."),
      guide("first_euro", "Keep the mandate, settle a quarter on the sandbox, and read what was sold and paid."),
      guide("rehearse", "Play the customer, the charger, the reviewer and the mailbox, up to the first euro."),
      guide("go_live", "What is different on production, and what to check before."),
    ],
  },
  {
    title: "Connect",
    pages: [
      guide("customers", "Bring customers with a partner key; each claims a draft and signs."),
      guide(
        "sessions",
        "Charging sessions with meter readings: names of chargers, evidence, what counts, reading back.",
      ),
      guide("ocpp", "A homeowner's charger connects by itself: address, password, what to see."),
      guide(
        "home_automation",
        "A person's charger, kWh and ERE in Home Assistant or any program, and what each number means.",
      ),
      guide("ocpi", "A CPO's platform sends its CDRs by OCPI 2.2.1, or lets us read them."),
      guide("oauth", "Act for a person: consent, codes, tokens, scopes; and a person's own tokens."),
      {
        source: "packages/client/README.md",
        name: "client",
        menu: "The typed client",
        about: "TypeScript: tokens, retries, pagination, events, webhooks and OAuth; commands to try webhooks.",
      },
      { source: "docs/events.md", name: "events", about: "A log that loses nothing, and signed webhooks." },
    ],
  },
  {
    title: "Understand",
    pages: [
      guide("months", "Which months count, what a mandate covers, and when a month is locked."),
      guide("eligibility", "The gates, and how each opens."),
      guide("ere", "How kWh become ERE, how ERE become euro, and who is paid."),
    ],
  },
  {
    title: "Rely on",
    pages: [
      guide("errors", "The form of an error, every code, and what to do."),
      guide("limits", "How many requests, how large, how long."),
      { ...guide("idempotency", "What may be sent again, and what the second call does."), menu: "Idempotency" },
      {
        source: "docs/versioning.md",
        name: "versioning",
        menu: "What changes",
        about: "Which changes break, which come unannounced.",
      },
      {
        source: "CHANGELOG.md",
        name: "changelog",
        menu: "Changelog",
        about: "Everything an integrator can notice, newest first.",
      },
    ],
  },
];

export const PAGES: readonly Page[] = CHAPTERS.flatMap(({ pages }) => pages);
