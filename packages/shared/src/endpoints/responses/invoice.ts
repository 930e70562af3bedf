import { z } from "#shared/foundation/zod.ts";

export const Invoice = z.object({
  number: z.string().meta({
    example: "2026-0001",
    description: "Invoice number by year of issue, without gaps among your invoices",
  }),
  period: z.string().meta({ example: "2026-Q1", description: "The quarter of delivery" }),
  issued_on: z.iso.date().meta({ description: "The day it was issued" }),
  corrects: z.string().nullable().meta({ description: "For a credit note: the number of the invoice it corrects" }),
  vat_regime: z.enum(["none", "small_business", "regular", "reverse_charge"]).meta({
    description:
      "none: not a business for VAT; small_business: exempt (KOR); regular: the standard rate; " +
      "reverse_charge: the service declares the VAT",
  }),
  vat_rate: z.number().meta({ description: "Percent", example: 21 }),
  net_eur: z.number().meta({ description: "Your share, without VAT" }),
  vat_eur: z.number().meta({ description: "VAT on net_eur, rounded half up once" }),
  total_eur: z.number().meta({ description: "Both together" }),
});
export type Invoice = z.output<typeof Invoice>;
