import { z } from "#shared/foundation/zod.ts";
import { instant } from "#shared/values/fields.ts";
import { mailFailed } from "#shared/values/mail_failure.ts";
import { AccountType, calendarDate, RegistrationStatus } from "#shared/values/models.ts";

const disclosed = {
  naam: z.string().nullable().optional().meta({ description: "Name; only of customers you brought yourself" }),
  email: z
    .string()
    .nullable()
    .optional()
    .meta({ description: "E-mail address; only of customers you brought yourself" }),
  phone: z
    .string()
    .nullable()
    .optional()
    .meta({ description: "Telephone number; only of customers you brought yourself" }),
  postal_code: z
    .string()
    .nullable()
    .optional()
    .meta({ description: "Postal code; only of customers you brought yourself" }),
  street: z.string().nullable().optional().meta({ description: "Street; only of customers you brought yourself" }),
  house_number: z.string().nullable().optional().meta({ description: "With its addition" }),
  registration_status: RegistrationStatus.nullable().optional().meta({ description: "Status of the registration" }),
  mail_failed_at: mailFailed().mail_failed_at.optional(),
  mail_failed_reason: mailFailed().mail_failed_reason.optional(),
};

export const AttributedCustomer = z
  .object({
    customer_ref: z.string().meta({ description: "Opaque and stable; each partner sees a different one" }),
    external_ref: z.string().nullable().meta({ description: "Id of the draft; null for applications" }),
    ...disclosed,
    city: z.string().nullable().meta({ description: "Town of the connection" }),
    attached_month: calendarDate().meta({ description: "The first of the month" }),
    is_active: z.boolean().meta({ description: "Whether a mandate is signed for an active connection" }),
    effective_fee_pct: z.number().meta({ description: "Percent of the proceeds that is the service's fee" }),
    partner_share_pct: z.number().meta({ description: "Percent of that fee that is the partner's" }),
    source: z
      .enum(["partner_upload", "partner_invite", "referral_link", "referral_code", "oauth_consent", "manual"])
      .meta({ description: "How the customer came to the partner" }),
    type: AccountType,
    charger_brand: z
      .string()
      .nullable()
      .meta({ description: "Brand of the newest active charger; the next fields are about the same charger" }),
    charger_model: z.string().nullable().meta({ description: "Model of the newest active charger" }),
    charger_connection_type: z.string().nullable().meta({ description: "How that charger is connected" }),
    charger_mid_eligible: z.boolean().nullable().meta({ description: "Whether that charger's kWh may become ERE" }),
    charger_count: z.int().meta({ description: "Active chargers" }),
    has_charger: z.boolean().meta({ description: "Whether the customer has an active charger" }),
    brand_asked_at: instant()
      .nullable()
      .meta({ description: "When we asked the customer for the brand of the charger" }),
  })
  .meta({
    id: "AttributedCustomer",
    description:
      "naam, email, phone, postal_code, street, house_number, registration_status, mail_failed_at and " +
      "mail_failed_reason are present only for the sources partner_upload and partner_invite, and never for an application",
  });
