import type { AnswersOf } from "#shared/foundation/answers.ts";
import { z } from "#shared/foundation/zod.ts";

/** What a code opened: a login, pages as the signatory of a CPO's customer, or both. */
const Redeemed = z.object({ email: z.string(), login: z.boolean(), signatory: z.boolean() });

export const ANSWERS = {
  redeem_sign_in_code: Redeemed,
  end_page_session: z.object({ draft_ids: z.array(z.string()) }),
};
declare module "#shared/foundation/answers.ts" {
  interface SqlAnswers extends AnswersOf<typeof ANSWERS> {}
}
