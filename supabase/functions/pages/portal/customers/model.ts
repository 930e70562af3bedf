import { AttributedCustomer } from "#shared/endpoints/responses/customer.ts";
import type { AnswersOf } from "#shared/foundation/answers.ts";
import { z } from "#shared/foundation/zod.ts";
import { DraftStatus } from "../drafts/model.ts";
import { Who } from "../model.ts";

/** What the api functions of pages/partner/portal_customers.sql answer. */

export type Customer = z.output<typeof AttributedCustomer>;

const Customers = z.object({
  who: Who,
  /** Of all customers, or of those of a month; null where something else is looked for. */
  counted: z.object({ total: z.number(), before: z.number() }).nullable(),
  /** Customers on this page and the pages after it, as far as we searched. */
  found: z.number(),
  searched_all: z.boolean(),
  customers: z.array(AttributedCustomer),
  more_after: z.string().nullable(),
});
export type Customers = z.output<typeof Customers>;

const OneCustomer = z.object({
  who: Who,
  customer: AttributedCustomer,
  draft: z
    .object({
      draft_id: z.string(),
      status: DraftStatus,
      created_at: z.string(),
      invited_at: z.string().nullable(),
      claimed_at: z.string().nullable(),
    })
    .nullable(),
});
export type OneCustomer = z.output<typeof OneCustomer>;

export const ANSWERS = { read_portal_customers: Customers, read_portal_customer: OneCustomer };
declare module "#shared/foundation/answers.ts" {
  interface SqlAnswers extends AnswersOf<typeof ANSWERS> {}
}
