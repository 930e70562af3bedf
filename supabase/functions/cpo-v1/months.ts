import { createHash } from "node:crypto";
import * as z from "zod";
import type { oas31 } from "zod-openapi";
import { endpoint } from "#shared/http/endpoint.ts";
import { orNull, trimmedTo, uuid } from "#shared/values/fields.ts";
import { storable } from "#shared/values/text.ts";

/** An item of `months`, for the document only: SQL judges each on its own, so that a malformed one fails nothing but itself. */
const MONTH: oas31.SchemaObject = {
  type: "object",
  required: ["period", "total_kwh"],
  properties: {
    period: { type: "string", description: "YYYY-MM, or YYYY-MM-01; not after the current month", example: "2026-03" },
    total_kwh: {
      type: "number",
      minimum: 0,
      maximum: 1_000_000,
      description: "kWh; three decimals are kept",
      example: 312.5,
    },
    session_count: { type: "integer", minimum: 0, maximum: 1_000_000, default: 0, example: 24 },
  },
};

const MonthResult = z
  .object({
    period: z.string().nullable().meta({ description: "As it was sent" }),
    status: z.enum(["ingested", "outside_mandate", "locked", "invalid"]),
    reason: z
      .enum(["bad_period", "bad_kwh", "bad_session_count", "future_period", "duplicate_in_batch"])
      .optional()
      .meta({ description: "Why the month is invalid" }),
  })
  .meta({ id: "MonthResult" });

/** An item on its way to SQL, which judges it: text that cannot be stored makes that item invalid, and no other. */
function readable(item: unknown): object {
  const { period, total_kwh, session_count } = (item ?? {}) as Record<string, unknown>;
  return {
    period: typeof period === "string" ? storable(period.slice(0, 40)) : null,
    total_kwh: typeof total_kwh === "number" ? total_kwh : "invalid",
    session_count: session_count == null || typeof session_count === "number" ? (session_count ?? null) : "invalid",
  };
}

export const deliverMonths = endpoint(
  {
    id: "deliverMonths",
    summary: "Deliver monthly kWh totals of one connection",
    description:
      "A repeat for the same month replaces the stored total, unless the month is registered as ERE (`locked`). A malformed month is reported " +
      "as `invalid` and does not fail the batch; a month sent twice in one batch is invalid each time. Without a signed mandate months are " +
      "stored and count once a mandate covers them; outside a signed mandate they are stored and never count.",
    caller: { kind: "cpo", scope: "cpo:sessions:write" },
    limit: "cpo_sessions",
    sql: ["ingest_months"],
    body: z
      .object({
        account_id: uuid(),
        connection_id: orNull(uuid()).meta({
          description: "Picks the connection when several are active; otherwise the first one",
        }),
        source: orNull(trimmedTo(40)).transform((value) => value ?? "cpo_api"),
        months: z
          .array(z.unknown())
          .min(1)
          .max(240)
          .meta({
            override: { type: "array", minItems: 1, maxItems: 240, items: MONTH },
          }),
      })
      .meta({ id: "DeliverMonths" }),
    response: z
      .object({
        ok: z.literal(true),
        account_id: z.guid(),
        connection_id: z.guid(),
        accepted: z.int(),
        outside_mandate: z.int(),
        locked: z.int(),
        invalid: z.int(),
        results: z.array(MonthResult).meta({ description: "In the order of months" }),
      })
      .meta({ id: "DeliveredBatch" }),
    errors: ["account_not_found", "no_connection"],
    failure: "ingest_failed",
  },
  ({ body, rawBody, call }) =>
    call("ingest_months", {
      ...body,
      months: body.months.map(readable),
      body: rawBody,
      body_sha256: createHash("sha256").update(rawBody).digest("hex"),
    }),
);
