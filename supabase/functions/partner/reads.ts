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

const PartnerSelf = z
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
    payout: Payout.meta({ description: "Where we pay the partner's share" }),
    branding: Branding,
    cap: z
      .object({
        rolling_days: z.int().meta({ description: "Number of days of the window" }),
        rolling_cap: z.int().meta({ description: "Number of drafts allowed in that window" }),
        remaining: z.int().meta({ description: "What is left" }),
      })
      .meta({ description: "Number of drafts allowed in 30 days" }),
    api_key: ApiKey.nullable().meta({ description: "The active API key; null if there is none" }),
  })
  .meta({ id: "Partner" });

export const getPartner = endpoint(
  {
    id: "getPartner",
    summary: "Show the partner: settings, import cap, the active API key",
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
      "Your share in the fees by quarter of charging. A quarter appears with the first sale of its ERE. The share " +
      "covers your own accounts, and customers you brought, from the month they were attached. `kwh` counts the " +
      "months whose ERE are sold, as the register accepted them. `status` is `pending` until everything is paid, " +
      "and `approved` while the unpaid part is on its way to your bank. It is `failed` if the last payment of any " +
      "part failed, and `none_due` if the share is 0.00. `payout_id` never changes.",
    caller: { kind: "partner", scope: "partners:read", key: true },
    limit: "partner_read",
    sql: ["list_payouts"],
    response: z
      .object({
        payouts: z
          .array(
            z.object({
              payout_id: payoutId,
              period: z.string().meta({ description: "The quarter of charging", example: "2026-Q1" }),
              status: z.enum(["pending", "approved", "paid", "failed", "none_due"]).meta({
                description: "pending, approved: on its way to the bank, paid, failed, or none_due: the share is 0.00",
              }),
              customers: z.int().meta({ description: "Number of customers with ERE in it" }),
              kwh: z
                .number()
                .meta({ description: "kWh of the months whose ERE are sold, as the register accepted them" }),
              ere_units: z.number().meta({ description: "ERE that were sold" }),
              partner_share_eur: z.number().meta({ description: "The partner's share in euros, without VAT" }),
              vat_eur: z.number().meta({ description: "VAT on it" }),
              paid_at: instant().nullable().meta({ description: "When it was paid; null until then" }),
              invoice_number: text().meta({ description: "The number of its invoice; null if there is none" }),
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
      "Customers count from the month they were attached. ERE counts months inside a mandate, at the published " +
      "factor of their year. The share in euros is your part of the fee on unsold ERE, at the last average price, or " +
      "0 without a price. Up to 1,000 customers the figures are current. With more customers the figures are from " +
      "`as_of`. If they are over a minute old, a request starts a recount, which takes about a second. The first " +
      "request above 1,000 counts them, if it has the time. Until they are counted, requests answer 503.",
    caller: { kind: "partner", scope: "partners:read", key: true },
    limit: "partner_read",
    sql: ["show_dashboard"],
    response: z
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
      .meta({ id: "PartnerDashboard" }),
    errors: [],
    failure: "partner_read_failed",
  },
  ({ call }) => call("show_dashboard"),
);
