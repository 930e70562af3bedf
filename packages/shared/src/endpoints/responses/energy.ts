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

const ere = (description: string) => z.number().meta({ description });
const euro = (description: string) => z.number().meta({ description: `${description}, in euros after the fee` });
/** What ERE may bring that are not sold. */
const forecastEuro = (description: string) =>
  z
    .number()
    .nullable()
    .meta({ description: `${description}, in euros after the fee; null if no price is known` });
const price = (description: string) => z.number().nullable().meta({ description });

/** A part of the ERE that were sold. */
const sold = (description: string) =>
  z
    .object({
      ere: ere("ERE of it"),
      net_eur: euro("What you get for them"),
      price_per_ere: price("Euros per ERE, before the fee; null if there are none"),
    })
    .meta({ description });

export const ErePosition = z
  .object({
    year: z.int().meta({ description: "The year", example: 2026 }),
    compliance_year: z.int().meta({ description: "The same as `year`", example: 2026 }),
    kwh: z.number().meta({ description: "kWh" }),
    renewable_share: z
      .number()
      .nullable()
      .meta({ description: "ERE per kWh in the delivery year; null until it is published", example: 0.505 }),
    effective_fee_pct: z.number().nullable().meta({
      description:
        "The fee in percent of what counted this year, or of your mandates if nothing did; null if they differ",
      example: 20,
    }),
    reserved_ere: z.number().meta({ description: "ERE that the register has credited and that are not sold yet" }),
    sold_ere: z.number().meta({ description: "ERE that were sold" }),
    forecast_ere: z.number().meta({ description: "Forecast of the ERE of the whole year" }),
    paid: sold("Sold and settled"),
    payable: sold("Sold and not settled yet"),
    reserved: sold("Always 0: we have no such state. `reserved_ere` means something else, and its ERE are in `unsold`"),
    unsold: z
      .object({
        ere: ere("ERE so far that are not sold, and those still to come this year"),
        ytd_ere: ere("ERE so far that are not sold"),
        future_ere: ere("ERE still to come this year, as in `forecast_ere`"),
        forecast_net_eur: forecastEuro("What `ere` may bring"),
        ytd_forecast_net_eur: forecastEuro("What `ytd_ere` may bring"),
        future_forecast_net_eur: forecastEuro("What `future_ere` may bring"),
      })
      .meta({ description: "What counts and is not sold, at `indicative_price_per_ere` less the fee of each mandate" }),
    ytd_expected_eur: forecastEuro("`paid`, `payable` and what `unsold.ytd_ere` may bring"),
    total_expected_eur: forecastEuro("`ytd_expected_eur` and what `unsold.future_ere` may bring"),
    realized_avg_price: price("Euros per ERE that was sold this year, before the fee; null until any is sold"),
    indicative_price_per_ere: price(
      "Euros per ERE, before the fee: the last average price that we published. It is no market price. Null if none " +
        "was published, or if your accounts have different ones",
    ),
    allocatable_ere: ere("The same as `unsold.ytd_ere`"),
    pending_ere: ere("ERE that count and that the register has not credited yet; part of `unsold.ytd_ere`"),
    pending_forecast_net_eur: forecastEuro("What `pending_ere` may bring"),
    forecast_is_projected: z
      .boolean()
      .meta({ description: "Whether the forecast adds anything to what counts so far" }),
    forecast_history_days: z.int().meta({
      description: "Days of the complete months whose average the forecast adds; 0 if there is none",
      example: 184,
    }),
    forecast_confidence: z.null().meta({ description: "Always null: we do not estimate it" }),
    quarters: z
      .array(
        z.object({
          quarter: z
            .string()
            .regex(/^\d{4}-Q[1-4]$/)
            .meta({ description: "The quarter", example: "2026-Q1" }),
          kwh: z.number().meta({ description: "kWh" }),
          ere_credits: z.number().meta({ description: "ERE" }),
          ere: ere("The same as `ere_credits`"),
          sold_ere: z.number().meta({ description: "ERE that were sold" }),
          unsold_ere: ere("ERE that are not sold"),
          price_per_ere: z
            .number()
            .nullable()
            .meta({ description: "Euros per ERE, before the fee; null until any is sold" }),
          revenue_eur: z
            .number()
            .nullable()
            .meta({ description: "Your part in euros, after the fee; null until any is sold" }),
          realized_net_eur: euro("Your part of what was sold, 0 until any is"),
          net_eur_by_status: z
            .object({
              paid: euro("Settled"),
              payable: euro("Not settled yet"),
              reserved: z.number().meta({ description: "Always 0" }),
            })
            .meta({ description: "`realized_net_eur` in parts" }),
          status: z.enum(["open", "closed", "sold", "paid"]).meta({ description: "open, closed, sold or paid" }),
          final: z.boolean().meta({
            description: "Whether the quarter is over. The first that is not is the current one",
          }),
          sold_at: instant().nullable().meta({ description: "When the last of it was sold; null until then" }),
        }),
      )
      .meta({ description: "The quarters so far" }),
  })
  .meta({ id: "PersonalErePosition" });
