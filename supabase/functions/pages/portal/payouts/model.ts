import { Invoice } from "#shared/endpoints/responses/invoice.ts";
import { Payout } from "#shared/endpoints/responses/partner.ts";
import type { AnswersOf } from "#shared/foundation/answers.ts";
import { z } from "#shared/foundation/zod.ts";
import { InvoicesNeed, Who } from "../model.ts";

export type { Invoice, Payout };

/** What api.read_portal_payouts answers. */
const Payouts = z.object({
  who: Who,
  payouts: z.array(Payout),
  invoices: z.array(Invoice),
  fee_pct: z.number(),
  share_pct: z.number(),
  iban_last4: z.string().nullable(),
  iban_held_until: z.string().nullable(),
  invoices_need: InvoicesNeed,
});
export type Payouts = z.output<typeof Payouts>;

export const ANSWERS = { read_portal_payouts: Payouts };
declare module "#shared/foundation/answers.ts" {
  interface SqlAnswers extends AnswersOf<typeof ANSWERS> {}
}
