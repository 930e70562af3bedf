import { Ere } from "#shared/endpoints/responses/ere.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { filter, instant, limit, offset } from "#shared/values/fields.ts";
import { checklist } from "#shared/values/gates.ts";
import { calendarDate, PayoutHandler, pageFields } from "#shared/values/models.ts";

const DeliveredMonth = z
  .object({
    period: calendarDate().meta({ description: "The first of the month" }),
    total_kwh: z.number().meta({ description: "kWh in the month" }),
    session_count: z.int().meta({ description: "Charging sessions in the month" }),
    status: z.enum(["staged", "submitted", "registered", "outside_mandate", "rejected"]).meta({
      description:
        "submitted and registered are locked; outside_mandate does not count unless a later mandate covers the month",
    }),
    received_at: instant().meta({ description: "When the total was last delivered" }),
    connection_id: z.guid().meta({ description: "The connection: one metering point (EAN) of an account" }),
    accepted_kwh: z.number().nullable().meta({ description: "kWh that the register accepted; null unless registered" }),
    register_reason: z
      .string()
      .nullable()
      .meta({
        description:
          "Why the register rejected the month, or accepted less than you delivered, in its own words. Null for any other " +
          "month, and once you deliver it again",
      }),
  })
  .meta({ id: "DeliveredMonth" });

const ErePosition = z
  .object({
    account_id: z.guid().meta({ description: "The account" }),
    cpo_external_ref: z.string().nullable().meta({ description: "Your own customer number" }),
    payout_handler: PayoutHandler,
    ere_eligible: z.boolean().meta({ description: "True exactly if all four gates of the checklist are open" }),
    mandate_valid_from: calendarDate()
      .nullable()
      .meta({ description: "First day the mandate covers; null if none is signed" }),
    checklist: checklist().meta({
      id: "Checklist",
      description: "The four gates. With several connections: the gates of the connection with the most open.",
    }),
    delivered_months: z.array(DeliveredMonth).meta({ description: "Every delivered month, oldest first" }),
    total_kwh_delivered: z.number().meta({ description: "kWh of the staged, submitted and registered months" }),
    ere: Ere.nullable().meta({
      description:
        "Figures of the latest published year in which the account has months; null until a year is published",
    }),
  })
  .meta({ id: "ErePosition" });

export const listErePositions = endpoint(
  {
    id: "listErePositions",
    summary: "Read ERE positions: eligibility, the four gates and every delivered month, one per account",
    caller: { kind: "cpo", scope: "cpo:accounts:read" },
    limit: "cpo_read",
    sql: ["list_ere_positions"],
    query: z.object({
      limit: limit(50),
      offset: offset(),
      cpo_external_ref: filter(120).meta({ description: "Return only the account with this reference" }),
      delivery_year: z
        .string()
        .refine((text) => /^20\d\d$/.test(text), "must be a year such as 2026")
        .transform(Number)
        .optional()
        .meta({
          description: "Return ere of this year; null if its figures are not published",
          override: { type: "integer", minimum: 2000, maximum: 2099 },
        }),
    }),
    response: z
      .object({ positions: z.array(ErePosition).meta({ description: "This page of positions" }), ...pageFields })
      .meta({ id: "ErePositionPage" }),
    errors: ["invalid_request"],
    failure: "list_failed",
  },
  ({ query, call, list }) => (query.cpo_external_ref ? call : list)("list_ere_positions", query),
);
