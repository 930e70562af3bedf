import { Dashboard, PartnerSelf, Payout } from "#shared/endpoints/responses/partner.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";

export const getPartner = endpoint(
  {
    id: "getPartner",
    summary: "Show the partner: settings, import cap, the active API key, the CPO clients",
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
        payouts: z.array(Payout).meta({ description: "The payouts, newest quarter first" }),
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
    response: Dashboard,
    errors: [],
    failure: "partner_read_failed",
  },
  ({ call }) => call("show_dashboard"),
);
