import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { instant } from "#shared/values/fields.ts";

export const getErePosition = endpoint(
  {
    id: "getErePosition",
    summary: "Read your ERE of this year: reserved, sold, forecast, by quarter",
    description:
      "The current calendar year in the Netherlands and its quarters so far. `kwh` is what counts toward ERE: metered by a MID " +
      "charger, on a connection under your mandate; once the register has credited a month, the kWh it accepted. `ere_credits` are the ERE " +
      "of those kWh, `reserved_ere` those the register has credited and that are not sold yet. `forecast_ere` " +
      "is the whole year: what counts already, and for what is left of this month and each month after it your own average of " +
      "the complete months before this one (since the first that counted, twelve at most). A quarter is `open` while it " +
      "lasts and `closed` after it, `sold` once any of it is, and `paid` once you have been paid for all that was sold. `revenue_eur` is " +
      "what you get of that, after the fee; `price_per_ere` what it brought before.",
    caller: { kind: "user", scope: "energy:read" },
    limit: "user",
    sql: ["get_ere_position"],
    response: z
      .object({
        year: z.int().meta({ description: "The year", example: 2026 }),
        kwh: z.number().meta({ description: "kWh" }),
        renewable_share: z
          .number()
          .nullable()
          .meta({ description: "Of the delivery year; null until it is published", example: 0.505 }),
        reserved_ere: z.number().meta({ description: "ERE the register has credited and that are not sold yet" }),
        sold_ere: z.number().meta({ description: "ERE that were sold" }),
        forecast_ere: z.number().meta({ description: "ERE of the whole year, as far as can be told" }),
        quarters: z
          .array(
            z.object({
              quarter: z
                .string()
                .regex(/^\d{4}-Q[1-4]$/)
                .meta({ description: "The quarter", example: "2026-Q1" }),
              kwh: z.number().meta({ description: "kWh" }),
              ere_credits: z.number().meta({ description: "ERE" }),
              sold_ere: z.number().meta({ description: "ERE that were sold" }),
              price_per_ere: z
                .number()
                .nullable()
                .meta({ description: "What an ERE brought in euros, before the fee; null until any is sold" }),
              revenue_eur: z
                .number()
                .nullable()
                .meta({ description: "What you get of it in euros, after the fee; null until any is sold" }),
              status: z.enum(["open", "closed", "sold", "paid"]).meta({ description: "open, closed, sold or paid" }),
              sold_at: instant().nullable().meta({ description: "When the last of it was sold; null until then" }),
            }),
          )
          .meta({ description: "The quarters so far" }),
      })
      .meta({ id: "PersonalErePosition" }),
    errors: [],
    failure: "internal_error",
  },
  ({ call }) => call("get_ere_position"),
);
