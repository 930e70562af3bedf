/** What answers are made of: the resources of specification section 2, as more than one endpoint shows them. */
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
      "What the EAN register says of EAN and address. matched, or manual by an operator, opens the gate ean_validated; " +
      "unverified is checked again about weekly once the customer has signed.",
  });

export const MandateStatus = z.enum(["pending", "signed", "revoked", "expired", "declined"]).meta({
  id: "MandateStatus",
  description: "Where the mandate (machtiging) stands. It covers whole calendar years, with no tacit renewal.",
});

export const RegistrationStatus = z.enum(["concept", "ingediend", "goedgekeurd", "afgekeurd"]).meta({
  id: "RegistrationStatus",
  description:
    "concept; ingediend by itself, an account of the CPO API once all four gates hold, a customer's own once there are a signature and a charger; goedgekeurd or " +
    "afgekeurd by review; after a correction of what was rejected ingediend again",
});

export const calendarDate = () => z.iso.date().meta({ example: "2026-01-01" });

/** A page's own fields, beside its list. */
export const pageFields = {
  limit: z.int().meta({ description: "Items a page holds at most" }),
  offset: z.int().meta({ description: "Items that were skipped" }),
  count: z.int().meta({ description: "Items on this page" }),
  has_more: z.boolean().meta({ description: "Whether another page exists" }),
};

export const CatalogCharger = z
  .object({
    catalog_charger_id: z.guid().meta({ description: "The model's id" }),
    brand: z.string().meta({ description: "The maker" }),
    model: z.string().meta({ description: "The model" }),
  })
  .meta({ id: "CatalogCharger", description: "A charger model with a MID meter" });
