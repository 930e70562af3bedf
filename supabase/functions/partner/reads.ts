import { payoutId } from "#shared/domain/events.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
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

export const Payout = z
  .object({
    iban_masked: text().meta({ description: "The IBAN but for its last four characters", example: "**** 4300" }),
    account_holder: text().meta({ description: "In whose name the account is" }),
  })
  .meta({ id: "PartnerPayoutAccount" });

export const Branding = z
  .object({
    display_name: text().meta({ description: "The name that customers see" }),
    logo_url: text().meta({ description: "An https address of the logo" }),
    primary_color: text().meta({ description: "Colour of buttons and links, as #0b6b4f" }),
    reply_to: text().meta({ description: "Where answers to mail go" }),
  })
  .meta({ id: "PartnerBranding", description: "How pages and mail to the partner's customers look" });

const ApiKey = z
  .object({
    prefix: z.string().meta({ description: "What every key of this partner begins with" }),
    last4: z.string().meta({ description: "The last four characters, to tell keys apart" }),
    created_at: instant().meta({ description: "When it was made" }),
    last_used_at: instant().nullable().meta({ description: "When it was last used; null before that" }),
  })
  .meta({ id: "PartnerApiKey" });

const PartnerSelf = z
  .object({
    id: z.guid().meta({ description: "Its id, for good" }),
    name: z.string().meta({ description: "The partner's name" }),
    slug: z.string().meta({ description: "Its short name in addresses" }),
    is_active: z.boolean().meta({ description: "Whether its credentials work" }),
    referral_code: text().meta({ description: "The partner's own referral code" }),
    referral_url: text().meta({ description: "Null while referral links have no page of their own" }),
    return_url: text().meta({ description: "Where claims lead back to" }),
    default_fee_pct: z.number().meta({ description: "Percent of the proceeds that is the service's fee" }),
    partner_share_pct: z.number().meta({ description: "Percent of that fee that is the partner's" }),
    company: Company.meta({ description: "The partner's company data" }),
    payout: Payout.meta({ description: "Where the partner's share is paid to" }),
    branding: Branding,
    cap: z
      .object({
        rolling_days: z.int().meta({ description: "The days that count" }),
        rolling_cap: z.int().meta({ description: "Drafts that may be made in that many days" }),
        remaining: z.int().meta({ description: "What is left" }),
      })
      .meta({ description: "How many drafts 30 days allow" }),
    api_key: ApiKey.nullable().meta({ description: "The active API key; null where there is none" }),
  })
  .meta({ id: "Partner" });

export const getPartner = endpoint(
  {
    id: "getPartner",
    summary: "Show the partner itself: settings, import cap, the active API key",
    caller: { kind: "partner", scope: "partners:read", key: true },
    limit: "partner_read",
    sql: ["get_partner"],
    response: z.object({ partner: PartnerSelf.meta({ description: "The partner" }) }).meta({ id: "PartnerMe" }),
    errors: [],
    failure: "partner_read_failed",
  },
  ({ call }) => call("get_partner"),
);

export const listPayouts = endpoint(
  {
    id: "listPayouts",
    summary: "List the partner's payouts, newest quarter first",
    description:
      "Your share in the fees, by the quarter in which was charged, from the first sale of its ERE on: of your own accounts, and of the customers you brought from the month " +
      "of attachment. `kwh` are those of months of which ERE are sold, as the register accepted them. `pending` until everything is paid; `approved` while what is not paid is " +
      "on its way to your bank; `failed` where the last payment of something in it failed; `none_due` where the share comes to 0.00. `payout_id` never changes.",
    caller: { kind: "partner", scope: "partners:read", key: true },
    limit: "partner_read",
    sql: ["list_payouts"],
    response: z
      .object({
        payouts: z
          .array(
            z.object({
              payout_id: payoutId,
              period: z.string().meta({ description: "The quarter in which was charged", example: "2026-Q1" }),
              status: z.enum(["pending", "approved", "paid", "failed", "none_due"]).meta({
                description:
                  "pending, approved: on its way to the bank, paid, failed, none_due: the share comes to 0.00",
              }),
              customers: z.int().meta({ description: "Customers with ERE in it" }),
              kwh: z
                .number()
                .meta({ description: "kWh of months of which ERE are sold, as the register accepted them" }),
              ere_units: z.number().meta({ description: "ERE that were sold" }),
              partner_share_eur: z.number().meta({ description: "The partner's share in euros, without VAT" }),
              vat_eur: z.number().meta({ description: "VAT on it" }),
              paid_at: instant().nullable().meta({ description: "When it was paid; null until then" }),
              invoice_number: text().meta({ description: "The invoice it is on; null where there is none" }),
            }),
          )
          .meta({ description: "The payouts, newest quarter first" }),
      })
      .meta({ id: "PartnerPayouts" }),
    errors: [],
    failure: "partner_read_failed",
  },
  ({ call }) => call("list_payouts"),
);

export const getDashboard = endpoint(
  {
    id: "getDashboard",
    summary: "Sum up customers, drafts, chargers, kWh and ERE",
    description:
      "Customers count from the month they were attached. ERE are those of months inside a mandate, at the published factor of their year; " +
      "the share in euros is yours in the fee on ERE that are not sold yet, at the last average price; 0 until there is one. " +
      "Up to 1,000 customers the figures are of now. Above that they are of `as_of`: a request that finds them older than a minute has them counted again, which takes about a second.",
    caller: { kind: "partner", scope: "partners:read", key: true },
    limit: "partner_read",
    sql: ["get_dashboard"],
    response: z
      .object({
        as_of: instant().meta({ description: "The moment of these figures" }),
        customers_total: z.int().meta({ description: "Customers attributed to the partner" }),
        customers_active: z.int().meta({ description: "With a signed mandate for an active connection" }),
        drafts: z
          .object({
            invited: z.int().meta({ description: "Invited, not claimed yet" }),
            claimed: z.int().meta({ description: "Claimed, not signed yet" }),
            expired: z.int().meta({ description: "Not claimed in time" }),
            conflict: z.int().meta({ description: "Registered with us in another way" }),
            active: z.int().meta({ description: "Signed: a customer" }),
          })
          .meta({ description: "Drafts, by where they stand" }),
        chargers_total: z.int().meta({ description: "Active chargers of its customers" }),
        kwh_total: z.number().meta({ description: "kWh of its customers, since they were attached" }),
        kwh_this_month: z.number().meta({ description: "kWh of them in this month" }),
        ere_estimated: z.number().meta({ description: "ERE of those kWh, at the published factor of their year" }),
        partner_share_estimated_eur: z
          .number()
          .meta({ description: "The partner's share in the fee on ERE that are not sold yet" }),
        months: z
          .array(
            z.object({
              month: z.string().meta({ description: "The month", example: "2026-03" }),
              kwh: z.number().meta({ description: "kWh" }),
              ere_credits: z.number().meta({ description: "ERE" }),
              active_customers: z.int().meta({ description: "Customers with kWh in that month" }),
            }),
          )
          .meta({ description: "The months" }),
      })
      .meta({ id: "PartnerDashboard" }),
    errors: [],
    failure: "partner_read_failed",
  },
  ({ call }) => call("get_dashboard"),
);
