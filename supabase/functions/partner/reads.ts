import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { instant } from "#shared/values/fields.ts";

const text = () => z.string().nullable();

export const Company = z
  .object({
    name: text(),
    kvk: text(),
    vat: text(),
    street: text(),
    house_number: text(),
    postal_code: text(),
    city: text(),
  })
  .meta({ id: "PartnerCompany" });

export const Payout = z
  .object({ iban_masked: text().meta({ example: "**** 4300" }), account_holder: text() })
  .meta({ id: "PartnerPayoutAccount" });

export const Branding = z
  .object({ display_name: text(), logo_url: text(), primary_color: text(), reply_to: text() })
  .meta({ id: "PartnerBranding", description: "How pages and mail to the partner's customers look" });

const ApiKey = z
  .object({ prefix: z.string(), last4: z.string(), created_at: instant(), last_used_at: instant().nullable() })
  .meta({ id: "PartnerApiKey" });

const PartnerSelf = z
  .object({
    id: z.guid(),
    name: z.string(),
    slug: z.string(),
    is_active: z.boolean(),
    referral_code: text(),
    referral_url: text().meta({ description: "Null while referral links have no page of their own" }),
    return_url: text(),
    default_fee_pct: z.number(),
    partner_share_pct: z.number(),
    company: Company,
    payout: Payout,
    branding: Branding,
    cap: z.object({ rolling_days: z.int(), rolling_cap: z.int(), remaining: z.int() }),
    api_key: ApiKey.nullable(),
  })
  .meta({ id: "Partner" });

export const getPartner = endpoint(
  {
    id: "getPartner",
    summary: "Show the partner itself: settings, import cap, the active API key",
    caller: { kind: "partner", scope: "partners:read", key: true },
    limit: "partner_read",
    sql: ["get_partner"],
    response: z.object({ partner: PartnerSelf }).meta({ id: "PartnerMe" }),
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
        payouts: z.array(
          z.object({
            payout_id: z.guid(),
            period: z.string().meta({ example: "2026-Q1" }),
            status: z.enum(["pending", "approved", "paid", "failed", "none_due"]),
            customers: z.int(),
            kwh: z.number(),
            ere_units: z.number(),
            partner_share_eur: z.number(),
            vat_eur: z.number(),
            paid_at: instant().nullable(),
            invoice_number: text(),
          }),
        ),
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
      "the share in euros is yours in the fee on ERE that are not sold yet, at the last average price; 0 until there is one.",
    caller: { kind: "partner", scope: "partners:read", key: true },
    limit: "partner_read",
    sql: ["get_dashboard"],
    response: z
      .object({
        customers_total: z.int(),
        customers_active: z.int().meta({ description: "With a signed mandate for an active connection" }),
        drafts: z.object({
          invited: z.int(),
          claimed: z.int(),
          expired: z.int(),
          conflict: z.int(),
          active: z.int(),
        }),
        chargers_total: z.int(),
        kwh_total: z.number(),
        kwh_this_month: z.number(),
        ere_estimated: z.number(),
        partner_share_estimated_eur: z.number(),
        months: z.array(
          z.object({
            month: z.string().meta({ example: "2026-03" }),
            kwh: z.number(),
            ere_credits: z.number(),
            active_customers: z.int().meta({ description: "Customers with kWh in that month" }),
          }),
        ),
      })
      .meta({ id: "PartnerDashboard" }),
    errors: [],
    failure: "partner_read_failed",
  },
  ({ call }) => call("get_dashboard"),
);
