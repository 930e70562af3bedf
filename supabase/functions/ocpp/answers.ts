import type { AnswersOf } from "#shared/foundation/answers.ts";
import { z } from "#shared/foundation/zod.ts";

export const ANSWERS = {
  /** For each thing that happened its transaction id, null for all but starts. */
  take_ocpp_messages: z.object({ ids: z.array(z.number().nullable()) }),
};
declare module "#shared/foundation/answers.ts" {
  interface SqlAnswers extends AnswersOf<typeof ANSWERS> {}
}
