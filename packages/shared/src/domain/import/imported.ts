import { z } from "#shared/foundation/zod.ts";
import { DraftEanStatus } from "#shared/values/draft_ean_status.ts";
import { COUNTERS } from "./model.ts";

const Place = {
  row: z.int().meta({ description: "Number of the row, from 1, not counting the header and blank lines" }),
  sheet_row: z
    .int()
    .nullable()
    .meta({
      description:
        "The line number that a spreadsheet shows for the row of a CSV, counting the header and blank lines; null if " +
        "rows came as JSON",
    }),
};

/** The reason that each counter of `skipped` counts. */
const SKIPPED: Record<(typeof COUNTERS)[number], string> = {
  invalid: "A field is missing or cannot be read",
  reserved_domain: "No customer has an address at this domain",
  missing_kvk: "zakelijk without a KVK number of 8 digits",
  already_drafted: "An open draft for the address exists already",
  existing_user: "The address has an account already",
  suppressed: "The person opted out of our mail, or was your customer and ended the account",
  conflict: "The address or EAN is registered with us in another way",
  over_request_limit: "After the first 500 rows",
  over_cap: "Over the limit of drafts in 30 days",
  charger_brand_unsupported: "The catalogue does not have the charger's brand",
  charger_not_linked: "The partner has no link to the cloud of the charger's brand",
  charger_claimed: "The charger belongs to another account",
};

export const Imported = z
  .object({
    ok: z.literal(true).meta({ description: "Always true: the request succeeded" }),
    dry_run: z.boolean().meta({ description: "True: nothing was done, and this is what an import would answer now" }),
    added: z.int().meta({ description: "Number of drafts created, or of a dry run that would be created" }),
    batch_id: z.guid().nullable().meta({ description: "The request that created the drafts; null for a dry run" }),
    created: z
      .array(
        z.object({
          ...Place,
          draft_id: z.guid().nullable().meta({ description: "The draft; null for a dry run" }),
          email: z.string().meta({ description: "E-mail address" }),
          external_ref: z.string().nullable().meta({ description: "Your own customer number" }),
          claim_url: z.url().nullable().meta({
            description: "The link with which the customer claims the draft; null for a dry run",
          }),
          ean_status: DraftEanStatus,
          ean_candidates: z.int().meta({ description: "Number of metering points found at the address" }),
        }),
      )
      .meta({ description: "The drafts that were created. A dry run looks up no address, so ean_status is pending" }),
    address_ignored: z
      .array(
        z.object({
          email: z.string().meta({ description: "E-mail address" }),
          reason: z
            .enum(["invalid_postal_code", "invalid_house_number"])
            .meta({ description: "Which part of the address could not be read" }),
        }),
      )
      .meta({ description: "Drafts created without the address of their row" }),
    ean_ignored: z
      .array(
        z.object({
          email: z.string().meta({ description: "E-mail address" }),
          reason: z.enum(["invalid_ean"]).meta({ description: "What is wrong with the EAN" }),
        }),
      )
      .meta({
        description: "Drafts created without the EAN of their row; we still look up their address",
      }),
    invite_ignored: z
      .array(
        z.object({
          email: z.string().meta({ description: "E-mail address" }),
          reason: z
            .enum(["mail_limit"])
            .meta({ description: "The address reached its daily limit of invitations, from you or from others" }),
        }),
      )
      .meta({
        description: "Drafts created but not mailed, though send_invite is true; their claim_url is in created",
      }),
    claim_urls: z
      .array(
        z.object({
          email: z.string().meta({ description: "E-mail address" }),
          claim_url: z.url().meta({ description: "The link with which the customer claims the draft" }),
        }),
      )
      .meta({ description: "Filled only if send_invite is false" }),
    referral_codes: z
      .array(
        z.object({
          email: z.string().meta({ description: "E-mail address" }),
          code: z.string().meta({ description: "The code" }),
          matched: z.boolean().meta({ description: "Whether the code belongs to a partner" }),
        }),
      )
      .meta({ description: "The referral codes of the drafts that were created" }),
    rejected: z
      .array(
        z.object({
          email: z.string().nullable().meta({ description: "The e-mail address you sent" }),
          reason: z.enum(COUNTERS).meta({ description: "The name of the reason in skipped" }),
          ...Place,
          detail: z
            .string()
            .optional()
            .meta({ description: "What is wrong with the row, if more is known than the reason says" }),
        }),
      )
      .meta({ description: "The rows that created no draft" }),
    skipped: z
      .object(Object.fromEntries(COUNTERS.map((counter) => [counter, z.int().meta({ description: SKIPPED[counter] })])))
      .meta({
        id: "SkippedRows",
        description:
          "Number of rows that created no draft, by reason; rows over the limit of 500 are only counted here",
      }),
    cap: z
      .object({
        rolling_days: z.int().meta({ description: "Number of days of the window" }),
        rolling_cap: z.int().meta({ description: "Number of drafts allowed in that window" }),
        remaining_before: z.int().meta({ description: "Number of drafts left before this request" }),
      })
      .meta({ description: "How many drafts 30 days allow" }),
  })
  .refine(({ dry_run, batch_id, created, claim_urls }) =>
    dry_run
      ? batch_id === null && claim_urls.length === 0 && created.every((draft) => !draft.draft_id && !draft.claim_url)
      : batch_id !== null && created.every((draft) => draft.draft_id && draft.claim_url),
  )
  .meta({ id: "ImportedDrafts" });
export type Imported = z.output<typeof Imported>;
