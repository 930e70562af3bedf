import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { instant } from "#shared/values/fields.ts";

export const getErePosition = endpoint(
  {
    id: "getErePosition",
    summary: "Read your ERE of this year: reserved, sold, forecast, by quarter",
    description:
      "The current calendar year in the Netherlands and its quarters so far. `kwh` is the energy that counts toward " +
      "ERE: metered by a MID charger, on a connection under your mandate. Once the register has credited a month, " +
      "it is the kWh that the register accepted. `ere_credits` is the ERE of those kWh. `reserved_ere` is the ERE " +
      "that the register has credited and that are not sold yet. `forecast_ere` covers the whole year: the ERE so " +
      "far, plus your own monthly average for the rest of this month and each later month. The average is over the " +
      "complete months before this one, since the first that counted, at most twelve, of connections whose mandate " +
      "is still in force. A quarter is `open` while it " +
      "lasts and `closed` after it. It is `sold` once any of it is sold, and `paid` once we have paid you for " +
      "everything sold. `revenue_eur` is your part of the sales, after the fee; `price_per_ere` is the price before " +
      "the fee.",
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
          .meta({ description: "ERE per kWh in the delivery year; null until it is published", example: 0.505 }),
        reserved_ere: z.number().meta({ description: "ERE that the register has credited and that are not sold yet" }),
        sold_ere: z.number().meta({ description: "ERE that were sold" }),
        forecast_ere: z.number().meta({ description: "Forecast of the ERE of the whole year" }),
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
                .meta({ description: "Euros per ERE, before the fee; null until any is sold" }),
              revenue_eur: z
                .number()
                .nullable()
                .meta({ description: "Your part in euros, after the fee; null until any is sold" }),
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
