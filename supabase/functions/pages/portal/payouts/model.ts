import { KeptDocument } from "#shared/domain/answers.ts";
import { Invoice } from "#shared/endpoints/responses/invoice.ts";
import { Payout } from "#shared/endpoints/responses/partner.ts";
import { Settlement as CpoSettlement } from "#shared/endpoints/responses/settlement.ts";
import type { AnswersOf } from "#shared/foundation/answers.ts";
import { z } from "#shared/foundation/zod.ts";
import { InvoicesNeed, Who } from "../model.ts";

export type { Invoice, Payout };

/** A payment to the partner, and what is in it: its share, the VAT on it, and what its customers get from it. */
const Payment = CpoSettlement.pick({
  payment_reference: true,
  status: true,
  created_at: true,
  paid_at: true,
  amount_eur: true,
}).extend({ share_eur: z.number(), vat_eur: z.number(), customers_eur: z.number() });
export type Payment = z.output<typeof Payment>;

/** With the name of the customer. */
const Settlement = CpoSettlement.extend({
  name: z.string().nullable(),
  /** The ten characters by which the bank and the PDFs name the payment. */
  reference: z.string(),
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

export const ANSWERS = {
  read_portal_payouts: Payouts,
  read_portal_settlements: Settlements,
  read_portal_settlement: KeptDocument,
};
declare module "#shared/foundation/answers.ts" {
  interface SqlAnswers extends AnswersOf<typeof ANSWERS> {}
}
