import { Rate } from "#shared/foundation/admission.ts";
import type { AnswersOf } from "#shared/foundation/answers.ts";
import { z } from "#shared/foundation/zod.ts";

export const ANSWERS = { revoke_token: z.object({ rate: Rate }) };
declare module "#shared/foundation/answers.ts" {
  interface SqlAnswers extends AnswersOf<typeof ANSWERS> {}
}
