import { z } from "#shared/foundation/zod.ts";
import { instant } from "#shared/values/fields.ts";

/** What a year yields for an account, as GET /v1/ere-positions answers it. */
export const Ere = z
  .object({
    delivery_year: z.int().meta({ description: "The year of charging" }),
    kwh_counted: z
      .number()
      .meta({ description: "kWh inside the mandate; for a credited month the kWh that the register accepted" }),
    renewable_share: z.number().meta({ description: "The renewable share of the year's electricity", example: 0.505 }),
    ere_per_kwh: z.number().meta({ description: "The factor of the year", example: 0.332694 }),
    ere_estimated: z.number().meta({ description: "kwh_counted times the factor of the year" }),
    ere_registered: z.number().meta({ description: "ERE that the register credited, including sold ERE" }),
    ere_sold: z.number().meta({ description: "ERE that were sold" }),
    reserved_ere: z.number().meta({ description: "ERE that were credited but not sold" }),
    price_per_ere_eur: z
      .number()
      .nullable()
      .meta({
        description:
          "What an ERE of the year was sold for on average, over all sales for all customers of the partner, before the fee; " +
          "six decimals. Amounts are rounded to cents, so it may differ from the price of a sale in the last decimals. " +
          "Null before the first sale",
      }),
    gross_eur: z.number().meta({ description: "Proceeds of this account's sold ERE" }),
    fee_pct: z
      .number()
      .nullable()
      .meta({ description: "Percent of gross_eur; null if nothing is booked or months have different fees" }),
    net_eur: z.number().meta({ description: "gross_eur minus the fee of each month" }),
    currency: z.literal("EUR").meta({ description: "The currency of every amount here" }),
    updated_at: instant().meta({
      description: "The last time figures were published or this account's data changed",
    }),
  })
  .meta({ id: "Ere", description: "ERE with two decimals" });
