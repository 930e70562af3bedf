import { z } from "#shared/foundation/zod.ts";
import { instant } from "#shared/values/fields.ts";

export const Month = z.object({
  month: z
    .string()
    .regex(/^\d{4}-\d{2}$/)
    .meta({ example: "2026-03", description: "The month" }),
  kwh: z.number().meta({ description: "kWh" }),
  ere_credits: z.number().meta({ description: "ERE" }),
  sessions: z.int().meta({ description: "Completed sessions in the month" }),
});
export type Month = z.output<typeof Month>;

export const ErePosition = z
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
  .meta({ id: "PersonalErePosition" });
