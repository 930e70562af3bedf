import { AttributedCustomer } from "#shared/endpoints/responses/customer.ts";
import { Ere } from "#shared/endpoints/responses/ere.ts";
import type { AnswersOf } from "#shared/foundation/answers.ts";
import { z } from "#shared/foundation/zod.ts";
import { checklist } from "#shared/values/gates.ts";
import { EanValidationStatus, PayoutHandler } from "#shared/values/models.ts";
import { DraftStatus } from "../drafts/model.ts";
import { Who } from "../model.ts";

/** What the api functions of pages/partner/portal_customers.sql answer. */

/** Somebody whom the partner brought, or an account of its CPO client, whose customer_ref is its account_id. */
const ListedCustomer = AttributedCustomer.extend({
  source: z.enum([...AttributedCustomer.shape.source.options, "cpo_api"]),
});
export type Customer = z.output<typeof ListedCustomer>;

const Customers = z.object({
  who: Who,
  /** All, or those of a month or kind; null where something else is looked for. */
  counted: z.number().nullable(),
  /** Of which kinds there are any. */
  kinds: z.object({ brought: z.boolean(), api: z.boolean() }),
  /** Customers on this page and the pages after it, as far as we searched. */
  found: z.number(),
  searched_all: z.boolean(),
  customers: z.array(ListedCustomer),
  more_after: z.string().nullable(),
});
export type Customers = z.output<typeof Customers>;

const OneCustomer = z.object({
  who: Who,
  customer: ListedCustomer,
  draft: z
    .object({
      draft_id: z.string(),
      status: DraftStatus,
      created_at: z.string(),
      invited_at: z.string().nullable(),
      claimed_at: z.string().nullable(),
    })
    .nullable(),
  /** Of an account of a CPO client; its newest months, each with the request or the file that brought it. */
  account: z
    .object({
      client: z.object({ id: z.string(), name: z.string() }),
      checklist: checklist(),
      connections: z.array(z.object({ ean_code: z.string(), ean_validation_status: EanValidationStatus })),
      payout_handler: PayoutHandler,
      /** Null without an IBAN. */
      iban_checksum_ok: z.boolean().nullable(),
      /** Whether the bank sent our last payment back because of the IBAN, which nobody changed since. */
      paid_back: z.boolean(),
      /** Whether there is any payment to the partner. */
      has_payments: z.boolean(),
      /** As GET /v1/ere-positions answers them; ere is null until the figures of a year are published. */
      total_kwh: z.number(),
      ere: Ere.nullable(),
      months: z.array(
        z.object({
          period: z.string(),
          total_kwh: z.number(),
          status: z.enum(["staged", "outside_mandate", "submitted", "registered", "rejected"]),
          /** Why the register rejected it, or accepted less. */
          reason: z.string().nullable(),
          /** Whether it is more than the chargers can give; null without a charger. */
          beyond_power: z.boolean().nullable(),
          received_at: z.string(),
          request_id: z.string().nullable(),
          file: z.string().nullable(),
          upload_id: z.string().nullable(),
          /** Of several connections: the last digits of the EAN of this one. */
          ean_end: z.string().nullable(),
        }),
      ),
    })
    .nullable(),
});
export type OneCustomer = z.output<typeof OneCustomer>;

export const ANSWERS = { read_portal_customers: Customers, read_portal_customer: OneCustomer };
declare module "#shared/foundation/answers.ts" {
  interface SqlAnswers extends AnswersOf<typeof ANSWERS> {}
}
