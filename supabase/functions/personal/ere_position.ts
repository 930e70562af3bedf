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
        year: z.int().meta({ example: 2026 }),
        kwh: z.number(),
        renewable_share: z
          .number()
          .nullable()
          .meta({ description: "Of the delivery year; null until it is published", example: 0.505 }),
        reserved_ere: z.number(),
        sold_ere: z.number(),
        forecast_ere: z.number(),
        quarters: z.array(
          z.object({
            quarter: z
              .string()
              .regex(/^\d{4}-Q[1-4]$/)
              .meta({ example: "2026-Q1" }),
            kwh: z.number(),
            ere_credits: z.number(),
            sold_ere: z.number(),
            price_per_ere: z.number().nullable(),
            revenue_eur: z.number().nullable(),
            status: z.enum(["open", "closed", "sold", "paid"]),
            sold_at: instant().nullable(),
          }),
        ),
      })
      .meta({ id: "PersonalErePosition" }),
    errors: [],
    failure: "internal_error",
  },
  ({ call }) => call("get_ere_position"),
);
