import type { oas31 } from "zod-openapi";
import { Imported } from "#shared/domain/import/imported.ts";
import { IMPORT_SQL, type Import, type ImportSql, MAX_IMPORT } from "#shared/domain/import/model.ts";
import type { ErrorCode } from "#shared/foundation/errors.ts";
import { z } from "#shared/foundation/zod.ts";
import { type Context, endpoint } from "#shared/http/endpoint.ts";
import { describedAs, linesOf, orNull } from "#shared/values/fields.ts";

const Consent = z
  .unknown()
  .optional()
  .meta({
    override: { type: "boolean" },
    description:
      "Must be exactly true: each customer agreed that you pass their data on, and the audit log records it. " +
      "Only a dry run may have false",
  });
const SendInvite = z
  .boolean()
  .default(true)
  .meta({ description: "True: we mail each customer the claim link; false: only the response has the links" });

const DRY_RUN_IS =
  "True: the response says what the import would do, and no draft is stored or mailed. Without consent we judge " +
  "each row only by itself and by your own drafts. The reasons existing_user, suppressed, conflict, charger_claimed " +
  "and invite_ignored depend on others and need consent. A dry run counts toward the rate limit, but not toward the " +
  "cap";
const DryRunAsked = z.boolean().default(false).meta({ description: DRY_RUN_IS });

const ROW_COLUMNS = {
  type: "particulier, zakelijk or vve; particulier if omitted",
  naam: "The customer's name; required for particulier",
  email: "The customer's e-mail address",
  ean: "EAN of the connection, 18 digits; looked up by the address if omitted",
  kvk: "KVK number, 8 digits; required for zakelijk",
  btw: "VAT number",
  bedrijfsnaam: "Name of the company or association",
  contactpersoon: "Who signs for the company or association",
  referral_code: "A partner's referral code",
  external_ref: "Your own customer number",
  postcode: "Dutch postal code",
  huisnummer: "House number; may include its addition. Numbers are taken too",
  toevoeging: "Addition to the house number",
  plaats: "Town",
  straat: "Street",
  phone: "Telephone number, Dutch or with its country code",
};

const ROW_FIELDS = {
  ...Object.fromEntries(
    Object.entries(ROW_COLUMNS).map(([name, description]) => [
      name,
      { type: ["string", "null"] as const, description },
    ]),
  ),
  charger: {
    type: ["object", "null"] as ("object" | "null")[],
    description: "The customer's charger, linked when they claim",
    required: ["brand", "serial_number"],
    properties: {
      brand: { type: "string" as const, description: "The brand, one that this partner's customers may have" },
      serial_number: { type: "string" as const, description: "Its serial number, 1 to 64 characters" },
    },
  },
};

/** For the document. Code reads each row by itself, so an unreadable row fails alone. */
const Row = z.unknown().meta({
  id: "CustomerRow",
  override: {
    type: "object",
    required: ["email"],
    properties: { ...ROW_FIELDS, email: { type: "string", description: ROW_COLUMNS.email } },
  },
  description:
    "email, and naam for particulier (the default type) or kvk for zakelijk. The CSV aliases also work as keys. " +
    "Values over 120 characters are cut. An ean or address that cannot be read is dropped and listed in ean_ignored " +
    "or address_ignored. A row that fails is listed in rejected.",
});
const Rows = z.array(Row).nullish();

/** For the document: a client always says whether there is consent, also of a dry run. */
function asksConsent({ jsonSchema }: { jsonSchema: oas31.SchemaObject }) {
  jsonSchema.required = ["consent"];
}

type ImportContext = Context<unknown, unknown, ErrorCode, ImportSql>;

/** Imports the code for rows only when rows arrive, so that other requests start faster. */
async function importRows({ call, environment }: ImportContext, asked: Import) {
  const importing = await import("#shared/domain/import/import_rows.ts");
  return importing.importRows(environment, call, asked);
}

/** The customers of a CSV text, or of a file. */
async function rowsOfFile(
  context: ImportContext,
  file: string | Uint8Array,
): Promise<Pick<Import, "rows" | "sheet_rows" | "more">> {
  const { isFileFault, readCsv, readFile } = await import("#shared/domain/import/table.ts");
  try {
    return typeof file === "string" ? await readCsv(file) : await readFile(file);
  } catch (error) {
    if (!isFileFault(error)) throw error;
    return context.fail("invalid_request", {
      detail: error.message,
      issues: [{ path: typeof file === "string" ? "csv" : "file", message: error.message }],
    });
  }
}

const IMPORT = {
  limit: "partner_import",
  sql: IMPORT_SQL,
  maxBody: MAX_IMPORT,
  response: Imported,
  failure: "drafts_create_failed",
} as const;

export const importDrafts = endpoint(
  {
    ...IMPORT,
    id: "importDrafts",
    summary: "Create claimable drafts from rows or CSV",
    description:
      "Creates one draft per row, at most 500 rows a request and 1,000 drafts in 30 days. The request succeeds even " +
      "if rows fail: `rejected` lists them and `skipped` counts them. CSV is UTF-8 with a header row, separated by " +
      "commas or semicolons. Every value is plain data, whatever it looks like. With `source: api`, addresses are " +
      "looked up in the EAN register during the request, for at most eight seconds; the rest are looked up " +
      "afterwards.",
    caller: { kind: "partner", scope: "partners:write", key: true },
    idempotent: true,
    body: z
      .object({
        consent: Consent,
        rows: Rows.meta({ description: "When present, csv is ignored; with neither, nothing is added" }),
        csv: z.string().nullish().meta({ description: "The CSV itself, with its header row" }),
        source: z
          .unknown()
          .optional()
          .meta({
            override: { type: "string", default: "csv" },
            description: "csv or api; any other value counts as csv",
          }),
        send_invite: SendInvite,
        dry_run: DryRunAsked,
      })
      .meta({ id: "ImportDrafts", override: asksConsent }),
    errors: ["consent_required"],
  },
  async (context) => {
    const { consent, rows, csv, source, send_invite, dry_run } = context.body;
    if (consent !== true && !dry_run) return context.fail("consent_required");
    const given = context as unknown as ImportContext;
    return importRows(given, {
      ...(!rows && csv ? await rowsOfFile(given, csv) : { rows: rows ?? [] }),
      source: source === "api" ? "api" : "csv",
      send_invite,
      dry_run,
      consent: consent === true,
    });
  },
);

export const addCustomers = endpoint(
  {
    ...IMPORT,
    id: "addCustomers",
    summary: "Create claimable drafts of customers, one or many",
    description:
      "The same as the import with `source: api`. Send `rows`, or the fields of one row next to `consent`. Each " +
      "customer turns their draft into an account by opening its claim link.",
    caller: { kind: "partner", scope: "partners:write", key: true },
    idempotent: true,
    body: z
      .looseObject({
        consent: Consent,
        send_invite: SendInvite,
        dry_run: DryRunAsked,
        rows: Rows.meta({ description: "The customers. Or send the fields of one row next to consent" }),
      })
      .meta({
        id: "AddCustomers",
        override({ jsonSchema }: { jsonSchema: oas31.SchemaObject }) {
          asksConsent({ jsonSchema });
          jsonSchema.properties = { ...jsonSchema.properties, ...ROW_FIELDS };
        },
      }),
    errors: ["consent_required"],
  },
  (context) => {
    const { consent, send_invite, dry_run, rows, ...row } = context.body;
    if (consent !== true && !dry_run) return context.fail("consent_required");
    const given = rows ?? (Object.keys(row).length > 0 ? [row] : []);
    return importRows(context as unknown as ImportContext, {
      rows: given,
      source: "api",
      send_invite,
      dry_run,
      consent: consent === true,
    });
  },
);

/** `true` in JSON or in a form field. */
const flag = (fallback: boolean) =>
  z
    .union([z.boolean(), z.enum(["true", "false"])])
    .meta(describedAs("boolean"))
    .default(fallback)
    .transform((value) => value === true || value === "true");

/** A field of a form may be a file. */
const textOrFile = z
  .custom<string | Uint8Array>((value) => typeof value === "string" || value instanceof Uint8Array)
  .meta({ override: { type: "string" } });

export const uploadDrafts = endpoint(
  {
    ...IMPORT,
    id: "uploadDrafts",
    summary: "Create claimable drafts from an Excel or CSV file",
    description:
      "The same as the import, for a person in the portal. Send multipart/form-data with file, consent, send_invite " +
      "and dry_run, or JSON {csv, consent}. Its first bytes say what kind of file it is. Of a workbook we read " +
      "the first visible sheet; formulas count by their stored value.",
    caller: { kind: "partner", scope: "partners:write", key: false },
    idempotent: true,
    accepts: ["multipart"],
    body: z
      .object({
        file: textOrFile.optional().meta({
          description: "The file: an Excel workbook (.xlsx), or CSV in UTF-8, UTF-16 with a mark or Windows-1252",
          override: { type: "string", format: "binary" },
        }),
        csv: textOrFile
          .optional()
          .meta({ description: "The CSV itself, if no file is sent", override: { type: "string" } }),
        consent: Consent,
        send_invite: flag(true).meta({
          description: "True: we mail each customer the claim link; false: only the response has the links",
        }),
        dry_run: flag(false).meta({ description: DRY_RUN_IS }),
      })
      .meta({ id: "UploadDrafts", override: asksConsent }),
    errors: ["consent_required"],
  },
  async (context) => {
    const { file, csv, consent, send_invite, dry_run } = context.body;
    // a form has no booleans
    const agreed = consent === true || (consent === "true" && csv === undefined);
    if (!dry_run && !agreed) return context.fail("consent_required");
    const given = context as unknown as ImportContext;
    const sent = file ?? csv;
    if (sent === undefined)
      return given.fail("invalid_request", {
        detail: "Send a workbook or CSV as file in a form, or CSV as csv in JSON.",
        issues: [{ path: "file", message: "is missing" }],
      });
    return importRows(given, {
      ...(await rowsOfFile(given, sent)),
      source: "csv",
      send_invite,
      dry_run,
      consent: agreed,
    });
  },
);

export const invitePeople = endpoint(
  {
    ...IMPORT,
    id: "invitePeople",
    summary: "Invite people by e-mail address alone",
    description:
      "Each address gets a draft without details and a mail with its claim link; the customer fills in the rest. " +
      "Caps and errors are the same as for the import.",
    caller: { kind: "partner", scope: "partners:write", key: false },
    idempotent: true,
    body: z
      .object({
        emails: z.array(z.string()).min(1).max(100).meta({ description: "The e-mail addresses, at most a hundred" }),
        message: orNull(linesOf(1, 1000)).meta({
          description: "Message in the mail, in the partner's name; line breaks are kept",
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
