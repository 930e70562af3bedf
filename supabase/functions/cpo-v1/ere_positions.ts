import * as z from "zod";
import { endpoint } from "#shared/http/endpoint.ts";
import { filter, instant, limit, offset } from "#shared/values/fields.ts";
import { calendarDate, PayoutHandler, pageFields } from "#shared/values/models.ts";

const DeliveredMonth = z
  .object({
    period: calendarDate(),
    total_kwh: z.number(),
    session_count: z.int(),
    status: z
      .enum(["staged", "submitted", "registered", "outside_mandate", "rejected"])
      .meta({ description: "submitted and registered are locked; outside_mandate never counts" }),
    received_at: instant(),
    connection_id: z.guid(),
  })
  .meta({ id: "DeliveredMonth" });

const ErePosition = z
  .object({
    account_id: z.guid(),
    cpo_external_ref: z.string().nullable(),
    payout_handler: PayoutHandler,
    ere_eligible: z.boolean().meta({ description: "True exactly when all four gates of the checklist hold" }),
    mandate_valid_from: calendarDate().nullable(),
    checklist: z
      .object({
        mandate_signed: z.boolean(),
        ean_validated: z.boolean(),
        mid_charger_registered: z.boolean(),
        iban_present: z.boolean(),
      })
      .meta({
        id: "Checklist",
        description: "The four gates. With several connections, those of the one that is furthest.",
      }),
    delivered_months: z.array(DeliveredMonth),
    total_kwh_delivered: z.number().meta({ description: "kWh of the staged, submitted and registered months" }),
    ere: z
      .null()
      .meta({ description: "Null until monetary figures are published", override: { type: ["object", "null"] } }),
  })
  .meta({ id: "ErePosition" });

export const listErePositions = endpoint(
  {
    id: "listErePositions",
    method: "GET",
    path: "/v1/ere-positions",
    summary: "Read ERE positions: eligibility, the four gates and every delivered month, one per account",
    caller: { kind: "cpo", scope: "cpo:accounts:read" },
    limit: "cpo_read",
    sql: ["list_ere_positions"],
    query: z.object({
      limit: limit(50),
      offset: offset(),
      cpo_external_ref: filter(120).meta({ description: "Only the account with this reference" }),
    }),
    response: z.object({ positions: z.array(ErePosition), ...pageFields }).meta({ id: "ErePositionPage" }),
    errors: [],
    failure: "list_failed",
  },
  ({ query, call }) => call("list_ere_positions", query),
);
