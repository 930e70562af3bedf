import { Brand, KeptDocument, Locale, Offer, OpenFacts, Period, Signed } from "#shared/domain/answers.ts";
import type { AnswersOf } from "#shared/foundation/answers.ts";
import { z } from "#shared/foundation/zod.ts";

/** What api.open_mandate_link tells; what lies below `locale` only where the link is open, or was used. */
const Opened = z.object({
  state: z.enum(["open", "signed", "declined", "voided", "expired", "unknown"]),
  locale: Locale.nullable(),
  code_sent: z.boolean().exactOptional(),
  partner_name: z.string().exactOptional(),
  brand: Brand.nullable().exactOptional(),
  return_url: z.string().nullable().exactOptional(),
  facts: OpenFacts.nullable().exactOptional(),
  periods: z.array(Period).nullable().exactOptional(),
  offer: Offer.nullable().exactOptional(),
  /** The last day of what is signed for already. */
  held_until: z.string().nullable().exactOptional(),
  signed: Signed.nullable().exactOptional(),
  may_sign_again: z.boolean().exactOptional(),
});
export type Opened = z.output<typeof Opened>;

export const ANSWERS = { open_mandate_link: Opened, read_link_mandate: KeptDocument };
declare module "#shared/foundation/answers.ts" {
  interface SqlAnswers extends AnswersOf<typeof ANSWERS> {}
}
