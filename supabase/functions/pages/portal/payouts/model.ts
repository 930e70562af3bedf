import { Invoice } from "#shared/endpoints/responses/invoice.ts";
import { Payout } from "#shared/endpoints/responses/partner.ts";
import type { AnswersOf } from "#shared/foundation/answers.ts";
import { z } from "#shared/foundation/zod.ts";
import { InvoicesNeed, Who } from "../model.ts";

export type { Invoice, Payout };

/** How far a payment to the partner is: prepared, released to the bank, paid or failed. */
const PaymentStatus = z.enum(["pending", "approved", "paid", "failed"]);

/** A payment to the partner, and what is in it: its share, the VAT on it, and what its customers get from it. */
const Payment = z.object({
  payment_reference: z.string(),
  status: PaymentStatus,
  created_at: z.string(),
  paid_at: z.string().nullable(),
  amount_eur: z.number(),
  share_eur: z.number(),
  vat_eur: z.number(),
  customers_eur: z.number(),
});
export type Payment = z.output<typeof Payment>;

const Settlement = z.object({
  settlement_id: z.string(),
  account_id: z.string(),
  cpo_external_ref: z.string().nullable(),
  name: z.string().nullable(),
  amount_eur: z.number(),
  status: PaymentStatus,
  payment_reference: z.string(),
  /** The ten characters by which the bank and the PDFs name the payment. */
  reference: z.string(),
  created_at: z.string(),
  paid_at: z.string().nullable(),
});
export type Settlement = z.output<typeof Settlement>;

/** What api.read_portal_settlements answers. */
const Settlements = z.object({ who: Who, settlements: z.array(Settlement), has_more: z.boolean() });
export type Settlements = z.output<typeof Settlements>;

/** What api.read_portal_payouts answers. */
const Payouts = z.object({
  who: Who,
  payouts: z.array(Payout),
  /** The newest twenty. */
  payments: z.array(Payment),
  invoices: z.array(Invoice),
  fee_pct: z.number(),
  share_pct: z.number(),
  iban_last4: z.string().nullable(),
  iban_held_until: z.string().nullable(),
  invoices_need: InvoicesNeed,
});
export type Payouts = z.output<typeof Payouts>;

export const ANSWERS = { read_portal_payouts: Payouts, read_portal_settlements: Settlements };
declare module "#shared/foundation/answers.ts" {
  interface SqlAnswers extends AnswersOf<typeof ANSWERS> {}
}
