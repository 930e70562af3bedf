import { payoutId } from "#shared/domain/events.ts";
import { z } from "#shared/foundation/zod.ts";
import { instant } from "#shared/values/fields.ts";

const text = () => z.string().nullable();

export const Company = z
  .object({
    name: text().meta({ description: "The company's name" }),
    kvk: text().meta({ description: "KVK number, 8 digits" }),
    vat: text().meta({ description: "VAT number" }),
    street: text().meta({ description: "Street" }),
    house_number: text().meta({ description: "House number" }),
    postal_code: text().meta({ description: "Dutch postal code" }),
    city: text().meta({ description: "Town" }),
  })
  .meta({ id: "PartnerCompany" });
export type Company = z.output<typeof Company>;

export const PayoutAccount = z
  .object({
    iban_masked: text().meta({ description: "The IBAN, masked except its last four characters", example: "**** 4300" }),
    account_holder: text().meta({ description: "Name of the account holder" }),
  })
  .meta({ id: "PartnerPayoutAccount" });

export const Branding = z
  .object({
    display_name: text().meta({ description: "The name that customers see" }),
    logo_url: text().meta({ description: "An https address of the logo" }),
    primary_color: text().meta({ description: "Colour of buttons and links, as #0b6b4f" }),
    reply_to: text().meta({ description: "Reply-to address of mail" }),
  })
  .meta({ id: "PartnerBranding", description: "How pages and mail look to the partner's customers" });

const ApiKey = z
  .object({
    prefix: z.string().meta({ description: "Prefix of every key of this partner" }),
    last4: z.string().meta({ description: "The last four characters, to tell keys apart" }),
    created_at: instant().meta({ description: "When it was created" }),
    last_used_at: instant().nullable().meta({ description: "When it was last used; null before that" }),
  })
  .meta({ id: "PartnerApiKey" });

const PartnerClient = z
  .object({
    client_id: z.string().meta({ description: "The client's id, as at the token endpoint" }),
    name: z.string().meta({ description: "Its name" }),
    scopes: z.array(z.string()).meta({ description: "What its tokens may do" }),
    secret_rotated_at: instant().meta({ description: "When its secret was created" }),
    last_used_at: instant().nullable().meta({
      description: "When a request with a token of it was last admitted, to the minute; null before the first",
    }),
  })
  .meta({ id: "PartnerClient" });

export const PartnerSelf = z
  .object({
    id: z.guid().meta({ description: "Its id; it never changes" }),
    name: z.string().meta({ description: "The partner's name" }),
    slug: z.string().meta({ description: "Short name, used in URLs" }),
    is_active: z.boolean().meta({ description: "Whether its credentials work" }),
    referral_code: text().meta({ description: "The partner's own referral code" }),
    referral_url: text().meta({ description: "Null until referral links have a page of their own" }),
    return_url: text().meta({ description: "The URL that claims lead back to" }),
    default_fee_pct: z.number().meta({ description: "Percent of the proceeds that is the service's fee" }),
    partner_share_pct: z.number().meta({ description: "Percent of that fee that is the partner's" }),
    company: Company.meta({ description: "The partner's company data" }),
    payout: PayoutAccount.meta({ description: "Where we pay the partner's share" }),
    branding: Branding,
    cap: z
      .object({
        rolling_days: z.int().meta({ description: "Number of days of the window" }),
        rolling_cap: z.int().meta({ description: "Number of drafts allowed in that window" }),
        remaining: z.int().meta({ description: "What is left" }),
      })
      .meta({ description: "Number of drafts allowed in 30 days" }),
    api_key: ApiKey.nullable().meta({ description: "The active API key; null if there is none" }),
    clients: z.array(PartnerClient).meta({
      description: "The clients by which the partner reaches the CPO API, oldest first; a disabled one is left out",
    }),
  })
  .meta({ id: "Partner" });

export const Payout = z.object({
  payout_id: payoutId,
  period: z.string().meta({ description: "The quarter of charging", example: "2026-Q1" }),
  status: z.enum(["pending", "approved", "paid", "failed", "none_due"]).meta({
    description: "pending, approved: on its way to the bank, paid, failed, or none_due: the share is 0.00",
  }),
  customers: z.int().meta({ description: "Number of customers with ERE in it" }),
  kwh: z.number().meta({ description: "kWh of the months whose ERE are sold, as the register accepted them" }),
  ere_units: z.number().meta({ description: "ERE that were sold" }),
  partner_share_eur: z.number().meta({ description: "The partner's share in euros, without VAT" }),
  vat_eur: z.number().meta({ description: "VAT on it" }),
  paid_at: instant().nullable().meta({ description: "When it was paid; null until then" }),
  invoice_number: text().meta({ description: "The number of its invoice; null if there is none" }),
});
export type Payout = z.output<typeof Payout>;

export const Dashboard = z
  .object({
    as_of: instant().meta({ description: "The moment these figures were counted" }),
    customers_total: z.int().meta({ description: "Customers attributed to the partner" }),
    customers_active: z.int().meta({ description: "Customers with a signed mandate for an active connection" }),
    drafts: z
      .object({
        invited: z.int().meta({ description: "Invited, not claimed yet" }),
        claimed: z.int().meta({ description: "Claimed, not signed yet" }),
        expired: z.int().meta({ description: "Not claimed in time" }),
        conflict: z.int().meta({ description: "Already registered with us in another way" }),
        active: z.int().meta({ description: "Signed: a customer" }),
      })
      .meta({ description: "Number of drafts by status" }),
    chargers_total: z.int().meta({ description: "Active chargers of its customers" }),
    kwh_total: z.number().meta({ description: "kWh of its customers since they were attached" }),
    kwh_this_month: z.number().meta({ description: "kWh of its customers in this month" }),
    ere_estimated: z.number().meta({ description: "ERE of those kWh, at the published factor of their year" }),
    partner_share_estimated_eur: z
      .number()
      .meta({ description: "The partner's part of the fee on ERE that are not sold yet" }),
    months: z
      .array(
        z.object({
          month: z.string().meta({ description: "The month", example: "2026-03" }),
          kwh: z.number().meta({ description: "kWh" }),
          ere_credits: z.number().meta({ description: "ERE" }),
          active_customers: z.int().meta({ description: "Number of customers with kWh in that month" }),
        }),
      )
      .meta({ description: "The months" }),
  })
  .meta({ id: "PartnerDashboard" });
