import {
  Brand,
  EanRegisterPoint,
  Locale,
  Offer,
  OpenFacts,
  Period,
  Signed,
  Withdrawal,
} from "#shared/domain/answers.ts";
import type { AnswersOf } from "#shared/foundation/answers.ts";
import { z } from "#shared/foundation/zod.ts";
import { checklist } from "#shared/values/gates.ts";
import { AccountType, RegistrationStatus } from "#shared/values/models.ts";
import { STEP_NAMES } from "./model.ts";

const OpenStep = z.enum(STEP_NAMES).nullable();

export const Answers = z.object({
  type: AccountType,
  full_name: z.string().nullable(),
  phone: z.string().nullable(),
  company_name: z.string().nullable(),
  kvk: z.string().nullable(),
  vat: z.string().nullable(),
  postal_code: z.string().nullable(),
  house_number: z.number().nullable(),
  house_number_addition: z.string().nullable(),
  street: z.string().nullable(),
  city: z.string().nullable(),
  ean_code: z.string().nullable(),
  brand: z.string().nullable(),
  catalog_charger_id: z.string().nullable().exactOptional(),
  serial_number: z.string().nullable(),
});

const Charger = z.object({
  name: z.string(),
  serial_number: z.string().nullable(),
  mid_eligible: z.boolean().nullable(),
});

/** private.claim_view. What lies below `email` only an open or active draft has, the rest only a proven one. */
export const Claim = z.object({
  state: z.enum(["open", "active", "expired", "conflict", "gone"]),
  status: z.enum(["invited", "by_link", "claimed", "active", "expired", "conflict"]).exactOptional(),
  locale: Locale.nullable().exactOptional(),
  /** Null once they stopped sharing. */
  brand: Brand.nullable().exactOptional(),
  partner_name: z.string().exactOptional(),
  email: z.string().exactOptional(),
  code_sent: z.boolean().exactOptional(),
  answers: Answers.partial().exactOptional(),
  confirmed: z.array(z.enum(STEP_NAMES)).exactOptional(),
  open_step: OpenStep.exactOptional(),
  candidates: z.array(EanRegisterPoint).exactOptional(),
  iban_last4: z.string().nullable().exactOptional(),
  /** What may be signed now, once every step is confirmed, and again in the last weeks of what was signed and after it. */
  facts: OpenFacts.nullable().exactOptional(),
  periods: z.array(Period).exactOptional(),
  /** What it yields: before the address is proven, and before signing. */
  offer: Offer.exactOptional(),
  /** The fee, before the address is proven; later it is in facts. */
  fee_pct: z.number().exactOptional(),
  charger: z.object({ name: z.string(), mid_meter: z.boolean().nullable() }).nullable().exactOptional(),
  brands: z.array(z.string()).exactOptional(),
  models: z
    .array(z.object({ id: z.string(), model: z.string(), mid_meter: z.boolean().nullable() }))
    .nullable()
    .exactOptional(),
  signed: Signed.exactOptional(),
  /** What is signed for the years after. */
  renewal: Signed.nullable().exactOptional(),
  /** The last day of what is signed. */
  held_until: z.string().nullable().exactOptional(),
  /** What a withdrawal would leave and lose; while the mandate holds. */
  withdrawal: Withdrawal.nullable().exactOptional(),
  checklist: checklist().exactOptional(),
  registration_status: RegistrationStatus.exactOptional(),
  may_still_book: z.boolean().exactOptional(),
  ean_validation_status: z.string().nullable().exactOptional(),
  chargers: z.array(Charger).exactOptional(),
  /** Newest first; the day as 2026-12-31. */
  payouts: z.array(z.object({ line_id: z.string(), paid_on: z.string(), amount_eur: z.number() })).exactOptional(),
  return_url: z.string().nullable().exactOptional(),
  /** The address of their login, where this browser may be signed in to it. */
  login: z.string().nullable().exactOptional(),
});
export type Claim = z.output<typeof Claim>;

export const ANSWERS = {
  open_claim: Claim,
  prove_claim: Claim,
  save_claim: z.object({ open_step: OpenStep }),
};
declare module "#shared/foundation/answers.ts" {
  interface SqlAnswers extends AnswersOf<typeof ANSWERS> {}
}
