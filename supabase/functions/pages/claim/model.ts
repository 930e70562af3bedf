import { KeptDocument } from "#shared/domain/answers.ts";
import { Claim } from "#shared/domain/claim/answers.ts";
import type { AnswersOf } from "#shared/foundation/answers.ts";
import { z } from "#shared/foundation/zod.ts";

/** What the link shows of the claim: no more than a claim link does before the address is proven. */
const SignInLink = Claim.pick({
  status: true,
  locale: true,
  brand: true,
  partner_name: true,
  code_sent: true,
  offer: true,
  fee_pct: true,
}).extend({
  state: z.enum([...Claim.shape.state.options, "used", "unknown"]),
  /** Of a link that is used. */
  draft_id: z.string().nullable().exactOptional(),
});

export const ANSWERS = {
  open_sign_in_link: SignInLink,
  use_sign_in_link: z.object({ draft_id: z.string(), stage: z.enum(["invited", "claimed", "active"]) }),
  read_claim_mandate: KeptDocument,
  read_claim_statement: KeptDocument,
};
declare module "#shared/foundation/answers.ts" {
  interface SqlAnswers extends AnswersOf<typeof ANSWERS> {}
}
