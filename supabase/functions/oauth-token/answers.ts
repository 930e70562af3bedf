import { Rate } from "#shared/foundation/admission.ts";
import type { AnswersOf } from "#shared/foundation/answers.ts";
import { z } from "#shared/foundation/zod.ts";

const granted = { client_id: z.string(), scope: z.string(), secret_number: z.number(), rate: Rate };

export const ANSWERS = {
  grant_client_credentials: z.object(granted),
  grant_user_token: z.object({ user_id: z.string(), grant_id: z.string(), ...granted }),
};
declare module "#shared/foundation/answers.ts" {
  interface SqlAnswers extends AnswersOf<typeof ANSWERS> {}
}
