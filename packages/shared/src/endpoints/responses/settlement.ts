import { z } from "#shared/foundation/zod.ts";
import { instant } from "#shared/values/fields.ts";

/** One account's part of a payment to its CPO, as GET /v1/settlements answers it. */
export const Settlement = z
  .object({
    settlement_id: z.guid().meta({ description: "The settlement: one account's part of one payment" }),
    account_id: z.guid().meta({ description: "The account" }),
    cpo_external_ref: z.string().nullable().meta({ description: "Your own customer number" }),
    amount_eur: z.number().meta({
      description: "This customer's part of the payment, after the fee; negative if money was taken back",
    }),
    status: z.enum(["pending", "approved", "paid", "failed"]).meta({
      description:
        "The payment to you: prepared; released to the bank; paid; or failed, and its amount comes with a later " +
        "payment",
    }),
    payment_reference: z.string().meta({
      description: "The EndToEndId of the payment, as your bank shows it",
      example: "0b0d1e0000004000800000000000000b",
    }),
    created_at: instant().meta({ description: "When it was created" }),
    paid_at: instant().nullable().meta({ description: "When the payment was made; null until then" }),
  })
  .meta({ id: "Settlement" });
