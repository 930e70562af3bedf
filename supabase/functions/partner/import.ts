import * as z from "zod";
import type { oas31 } from "zod-openapi";
import { claimLinks } from "#shared/domain/claim/links.ts";
import { composeClaim, type Mail } from "#shared/domain/mail/mail.ts";
import { type Configuration, type Environment, oncePerEnvironment } from "#shared/foundation/environment.ts";
import type { ErrorCode } from "#shared/foundation/errors.ts";
import { type Context, endpoint } from "#shared/http/endpoint.ts";
import { linesOf, orNull, requiring } from "#shared/values/fields.ts";
import type { Locale } from "#shared/values/locale.ts";
import { loadNumberingPlans } from "#shared/values/phone.ts";
import { EanStatus } from "./drafts.ts";
import { type DraftLookup, lookUp } from "./look_up.ts";
import type { DraftRow } from "./rows.ts";

/** Rows one request may bring; what comes after them is counted and left. */
const MAX_ROWS = 500;
const MAX_BODY = 2 * 1024 * 1024;

/** Why a row makes no draft, and what `skipped` counts, in its order. */
const COUNTERS = [
  "invalid",
  "reserved_domain",
  "missing_kvk",
  "already_drafted",
  "existing_user",
  "suppressed",
  "conflict",
  "over_request_limit",
  "over_cap",
  "charger_brand_unsupported",
  "charger_not_linked",
  "charger_claimed",
] as const;

const Imported = z
  .object({
    ok: z.literal(true),
    added: z.int(),
    batch_id: z.guid(),
    created: z.array(
      z.object({
        draft_id: z.guid(),
        email: z.string(),
        external_ref: z.string().nullable(),
        claim_url: z.url(),
        ean_status: EanStatus,
        ean_candidates: z.int(),
      }),
    ),
    address_ignored: z
      .array(z.object({ email: z.string(), reason: z.enum(["invalid_postal_code", "invalid_house_number"]) }))
      .meta({ description: "Drafts that were made without the address of their row" }),
    ean_ignored: z.array(z.object({ email: z.string(), reason: z.enum(["invalid_ean"]) })).meta({
      description: "Drafts that were made without the EAN of their row; their address is looked up all the same",
    }),
    claim_urls: z
      .array(z.object({ email: z.string(), claim_url: z.url() }))
      .meta({ description: "Filled only where send_invite is false" }),
    referral_codes: z.array(z.object({ email: z.string(), code: z.string(), matched: z.boolean() })),
    rejected: z.array(
      z.object({
        email: z.string().nullable().meta({ description: "As it was sent" }),
        reason: z.enum(COUNTERS),
        row: z.int().meta({ description: "Which row, from 1, the header and blank lines not counted" }),
        detail: z
          .string()
          .optional()
          .meta({ description: "What is wrong with the row, where more can be said than the reason does" }),
      }),
    ),
    skipped: z.object(Object.fromEntries(COUNTERS.map((counter) => [counter, z.int()]))).meta({
      description: "Rows that made no draft, by reason; those over the limit of 500 rows are only counted",
    }),
    cap: z.object({ rolling_days: z.int(), rolling_cap: z.int(), remaining_before: z.int() }),
  })
  .meta({ id: "ImportedDrafts" });
type Imported = z.input<typeof Imported>;

const Consent = z
  .unknown()
  .optional()
  .meta({
    override: { type: "boolean", const: true },
    description: "Must be exactly true: each customer agreed that their data is passed on",
  });
const SendInvite = z
  .boolean()
  .default(true)
  .meta({ description: "True: each customer is mailed the claim link; false: the links are only in the answer" });

const ROW_COLUMNS =
  "type naam email ean kvk btw bedrijfsnaam contactpersoon referral_code external_ref postcode huisnummer toevoeging plaats straat phone";

/** For the document: a row is read by itself, so that one which cannot be read fails no other. */
const Row = z.unknown().meta({
  id: "CustomerRow",
  override: {
    type: "object",
    required: ["email"],
    properties: {
      ...Object.fromEntries(ROW_COLUMNS.split(" ").map((name) => [name, { type: ["string", "null"] as const }])),
      email: { type: "string" },
      huisnummer: { type: ["string", "integer", "null"] },
      charger: {
        type: ["object", "null"],
        required: ["brand", "serial_number"],
        properties: { brand: { type: "string" }, serial_number: { type: "string" } },
      },
    },
  },
  description:
    "email, and naam for particulier (the default type) or kvk for zakelijk. The CSV aliases work as keys too. Longer than 120 is cut. An ean, or an address, that cannot be read is dropped and named in ean_ignored or address_ignored. A row that fails is named in rejected.",
});
const Rows = z.array(Row).nullish();

/** For the document: the two forms of a request that takes many rows, or the fields of one. */
function oneOrMany({ jsonSchema }: { jsonSchema: oas31.SchemaObject }) {
  const { consent, send_invite } = jsonSchema.properties ?? {};
  const both = { ...(consent ? { consent } : {}), ...(send_invite ? { send_invite } : {}) };
  delete jsonSchema.type;
  delete jsonSchema.properties;
  delete jsonSchema.additionalProperties;
  jsonSchema.anyOf = [
    {
      title: "Many customers",
      type: "object",
      required: ["consent", "rows"],
      properties: { ...both, rows: { type: "array", items: { $ref: "#/components/schemas/CustomerRow" } } },
    },
    {
      title: "One customer",
      allOf: [
        { $ref: "#/components/schemas/CustomerRow" },
        { type: "object", required: ["consent"], properties: both },
      ],
    },
  ];
}

type ImportContext = Context<unknown, unknown, ErrorCode, "import_drafts" | "record_draft_lookups">;
type Import = {
  rows: unknown[];
  source: "csv" | "api" | "invite";
  send_invite: boolean;
  /** A partner's own words, put into the invitation. */
  message?: string | null;
};

/** The invitation in each language: which of them is sent, the partner's settings say. */
function invitations({ config }: Environment, words?: string | null): Record<Locale, Mail> {
  const message = words ? { message: words } : {};
  return {
    nl: composeClaim({ config, locale: "nl", ...message }),
    en: composeClaim({ config, locale: "en", ...message }),
  };
}

/** Makes drafts of rows: reads each by itself, lets one statement judge and store them all, looks EANs up where asked to. */
async function importRows(context: ImportContext, { rows, source, send_invite, message }: Import): Promise<string> {
  const { call, environment } = context;
  const [{ readRow }] = await Promise.all([import("./rows.ts"), loadNumberingPlans()]);
  const rules = { named: source !== "invite", reserved: reservedDomains(environment) };
  const read = rows.slice(0, MAX_ROWS).map((row, index) => readRow(row, index + 1, rules));
  const answer = await call("import_drafts", {
    source,
    send_invite,
    rows: read,
    over_request_limit: Math.max(rows.length - MAX_ROWS, 0),
    counters: COUNTERS,
    links: claimLinks(environment),
    mails: send_invite ? invitations(environment, message) : null,
  });
  if (source !== "api") return answer;
  const imported = JSON.parse(answer) as Imported;
  const waiting = lookupsOf(read, imported);
  if (waiting.length === 0) return answer;
  const results = await lookUp(environment, waiting);
  type Recorded = { draft_id: string; ean_status: z.input<typeof EanStatus>; ean_candidates: number };
  const recorded = JSON.parse(await call("record_draft_lookups", results)) as (Recorded | null)[];
  const byDraft = new Map(recorded.flatMap((each) => (each ? [[each.draft_id, each]] : [])));
  for (const created of imported.created) Object.assign(created, byDraft.get(created.draft_id));
  return JSON.stringify(imported);
}

/** The addresses to look up, in the order of the rows: of the drafts that wait for it. */
function lookupsOf(rows: readonly DraftRow[], { created, rejected }: Imported): DraftLookup[] {
  const refused = new Set(rejected.map(({ row }) => row));
  // an e-mail address makes one draft at most, of the one row of it that was not rejected
  const byEmail = new Map(rows.filter(({ place }) => !refused.has(place)).map((row) => [row.email, row]));
  return created.flatMap(({ draft_id, email, ean_status }) => {
    const { postal_code, house_number, house_number_addition = null } = byEmail.get(email) ?? {};
    return ean_status === "pending" && postal_code && house_number
      ? [{ draft_id, postal_code, house_number, house_number_addition }]
      : [];
  });
}

/** Domains that no customer has: those of RFC 2606, and the service's own. The sandbox takes them: nothing is sent there. */
const reservedDomains = oncePerEnvironment(({ config }: Environment): ((domain: string) => boolean) => {
  if (config.API_HOST === "sandbox") return () => false;
  const reserved = [
    "test",
    "example",
    "invalid",
    "localhost",
    "example.com",
    "example.net",
    "example.org",
    ...ownDomains(config),
  ];
  return (domain) => reserved.some((each) => domain === each || domain.endsWith(`.${each}`));
});

function ownDomains({ MAIL_FROM, SUPPORT_EMAIL, BASE_URL }: Configuration): string[] {
  const domains = [MAIL_FROM, SUPPORT_EMAIL].flatMap((address) => /@([^@>\s]+)>?\s*$/.exec(address)?.[1] ?? []);
  return [...domains.map((domain) => domain.toLowerCase()), new URL(BASE_URL).hostname];
}

async function rowsOfCsv(context: ImportContext, csv: string): Promise<unknown[]> {
  const { CsvError, readCsv } = await import("./csv.ts");
  try {
    return readCsv(csv);
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    return context.fail("invalid_request", {
      detail: error.message,
      issues: [{ path: "csv", message: error.message }],
    });
  }
}

const IMPORT = {
  method: "POST",
  limit: "partner_import",
  sql: ["import_drafts", "record_draft_lookups"],
  maxBody: MAX_BODY,
  response: Imported,
  failure: "drafts_create_failed",
} as const;

export const importDrafts = endpoint(
  {
    ...IMPORT,
    id: "importDrafts",
    path: "/partner/drafts/import",
    summary: "Make claimable drafts from rows or CSV",
    description:
      "One draft per row, at most 500 rows a request and 1,000 drafts in 30 days. The request succeeds even where rows fail: those are named " +
      "in `rejected` and counted in `skipped`. CSV is UTF-8 with a header row, comma or semicolon separated; a value is data whatever it looks like. " +
      "With `source: api` addresses are looked up in the EAN register within the request, as far as eight seconds go; otherwise afterwards.",
    caller: { kind: "partner", scope: "partners:write", key: true },
    body: z
      .object({
        consent: Consent,
        rows: Rows.meta({ description: "When present, csv is ignored; with neither, nothing is added" }),
        csv: z.string().nullish(),
        source: z
          .unknown()
          .optional()
          .meta({
            override: { type: "string", default: "csv" },
            description: "csv or api; any other value counts as csv",
          }),
        send_invite: SendInvite,
      })
      .meta({ id: "ImportDrafts", override: requiring("consent") }),
    errors: ["consent_required"],
  },
  async (context) => {
    const { consent, rows, csv, source, send_invite } = context.body;
    if (consent !== true) return context.fail("consent_required");
    const given = context as unknown as ImportContext;
    return importRows(given, {
      rows: rows ?? (csv ? await rowsOfCsv(given, csv) : []),
      source: source === "api" ? "api" : "csv",
      send_invite,
    });
  },
);

export const addCustomers = endpoint(
  {
    ...IMPORT,
    id: "addCustomers",
    path: "/partner/customers",
    summary: "Make claimable drafts of customers, one or many",
    description:
      "The same as the import with `source: api`: `rows`, or the fields of one row beside `consent`. Each customer turns their draft into an account by opening its claim link.",
    caller: { kind: "partner", scope: "partners:write", key: true },
    body: z.looseObject({ consent: Consent, send_invite: SendInvite, rows: Rows }).meta({
      id: "AddCustomers",
      override: oneOrMany,
      description: "rows, or the fields of one row beside consent",
    }),
    errors: ["consent_required"],
  },
  (context) => {
    const { consent, send_invite, rows, ...row } = context.body;
    if (consent !== true) return context.fail("consent_required");
    const given = rows ?? (Object.keys(row).length > 0 ? [row] : []);
    return importRows(context as unknown as ImportContext, { rows: given, source: "api", send_invite });
  },
);

/** `true` as JSON or a form field has it. */
const flag = (fallback: boolean) =>
  z
    .union([z.boolean(), z.enum(["true", "false"])])
    .default(fallback)
    .transform((value) => value === true || value === "true");

export const uploadDrafts = endpoint(
  {
    ...IMPORT,
    id: "uploadDrafts",
    path: "/partner/uploads",
    summary: "Make claimable drafts from a CSV file",
    description:
      "As the import, for a person in the portal: multipart/form-data with file, consent and send_invite, or JSON {csv, consent}.",
    caller: { kind: "partner", scope: "partners:write", key: false },
    accepts: ["multipart"],
    body: z
      .object({
        file: z
          .string()
          .optional()
          .meta({ override: { type: "string", format: "binary" } }),
        csv: z.string().optional(),
        consent: Consent,
        send_invite: flag(true),
      })
      .meta({ id: "UploadDrafts", override: requiring("consent") }),
    errors: ["consent_required"],
  },
  async (context) => {
    const { file, csv, consent, send_invite } = context.body;
    // a form has no booleans
    if (consent !== true && !(consent === "true" && csv === undefined)) return context.fail("consent_required");
    const given = context as unknown as ImportContext;
    const text = file ?? csv;
    if (text === undefined)
      return given.fail("invalid_request", {
        detail: "Send the CSV as file in a form, or as csv in JSON.",
        issues: [{ path: "file", message: "is missing" }],
      });
    return importRows(given, { rows: await rowsOfCsv(given, text), source: "csv", send_invite });
  },
);

export const invitePeople = endpoint(
  {
    ...IMPORT,
    id: "invitePeople",
    path: "/partner/invites",
    summary: "Invite people by e-mail address alone",
    description:
      "Each gets a draft without details and a mail with its claim link; they fill in the rest. Caps and refusals are those of the import.",
    caller: { kind: "partner", scope: "partners:write", key: false },
    body: z
      .object({
        emails: z.array(z.string()).min(1).max(100),
        message: orNull(linesOf(1, 1000)).meta({
          description: "Put into the mail, in the partner's name; its lines are kept",
        }),
      })
      .meta({ id: "InvitePeople" }),
    errors: [],
  },
  (context) => {
    const { emails, message } = context.body;
    return importRows(context as unknown as ImportContext, {
      rows: emails.map((email) => ({ email })),
      source: "invite",
      send_invite: true,
      message,
    });
  },
);
