import { Token } from "#shared/endpoints/responses/token.ts";
import type { AnswersOf } from "#shared/foundation/answers.ts";
import { z } from "#shared/foundation/zod.ts";

export const ANSWERS = {
  register_own_charger: z.object({ id: z.string() }),
  renew_ocpp_password: z.object({ identity: z.string() }),
  create_personal_token: Token,
};
declare module "#shared/foundation/answers.ts" {
  interface SqlAnswers extends AnswersOf<typeof ANSWERS> {}
}
