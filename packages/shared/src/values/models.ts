/** The resources of specification section 2 that several endpoints share. */

import { z } from "#shared/foundation/zod.ts";

export const AccountType = z.enum(["particulier", "zakelijk", "vve"]).meta({
  id: "AccountType",
  description: "particulier: private household; zakelijk: business; vve: homeowners' association",
});
export type AccountType = z.infer<typeof AccountType>;

export const PayoutHandler = z.enum(["service_pays_customer", "via_cpo_invoicing"]).meta({
  id: "PayoutHandler",
  description:
    "service_pays_customer: the service pays the customer; via_cpo_invoicing: payout settles through the CPO",
});

export const EanValidationStatus = z
  .enum(["pending", "matched", "unverified", "mismatch", "not_found", "manual"])
  .nullable()
  .meta({
    id: "EanValidationStatus",
    description:
      "What the EAN register says about EAN and address. matched, or manual (by an operator), opens the gate " +
      "ean_validated. unverified is checked again about weekly once the customer has signed.",
  });

export const MandateStatus = z.enum(["pending", "signed", "revoked", "expired", "declined"]).meta({
  id: "MandateStatus",
  description: "Status of the mandate (machtiging). It covers whole calendar years and is never renewed tacitly.",
});

export const RegistrationStatus = z.enum(["concept", "ingediend", "goedgekeurd", "afgekeurd"]).meta({
  id: "RegistrationStatus",
  description:
    "concept: not submitted yet. ingediend: submitted automatically, for an account of the CPO API once all four " +
    "gates are open, for a customer's own account once it has a signature and a charger. goedgekeurd or afgekeurd: " +
    "reviewed. A correction after a rejection makes it ingediend again.",
});

export const calendarDate = () => z.iso.date().meta({ example: "2026-01-01" });

/** The fields of a page, next to its list. */
export const pageFields = {
  limit: z.int().meta({ description: "Maximum number of items on a page" }),
  offset: z.int().meta({ description: "Number of items skipped" }),
  count: z.int().meta({ description: "Number of items on this page" }),
  has_more: z.boolean().meta({ description: "Whether there is another page" }),
};

export const CatalogCharger = z
  .object({
    catalog_charger_id: z.guid().meta({ description: "The model's id" }),
    brand: z.string().meta({ description: "The maker" }),
    model: z.string().meta({ description: "The model" }),
  })
  .meta({ id: "CatalogCharger", description: "A charger model with a MID meter" });
