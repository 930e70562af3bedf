import type { AnswersOf } from "#shared/foundation/answers.ts";
import { z } from "#shared/foundation/zod.ts";
import { USER_SCOPES, type UserScope } from "#shared/values/scopes.ts";

/** An application that asks, as api.describe_authorization tells it. */
const Asking = z.object({
  name: z.string(),
  operated_by: z.string().nullable(),
  scopes: z.array(z.enum(Object.keys(USER_SCOPES) as UserScope[])),
});
export type Asking = z.output<typeof Asking>;

export const ANSWERS = { describe_authorization: Asking };
declare module "#shared/foundation/answers.ts" {
  interface SqlAnswers extends AnswersOf<typeof ANSWERS> {}
}
