import type { AnswersOf } from "#shared/foundation/answers.ts";
import { z } from "#shared/foundation/zod.ts";

export const ANSWERS = {
  take_cdr: z.discriminatedUnion("status", [
    z.object({ place: z.literal(0), status: z.enum(["taken", "unchanged"]) }),
    z.object({ place: z.literal(0), status: z.literal("refused"), reason: z.string() }),
  ]),
  /** What readCdr() kept. */
  get_cdr: z.looseObject({ cdr_location: z.looseObject({}) }),
  read_ocpi_registration: z.object({ owner_id: z.string(), origins: z.array(z.string()) }),
};
declare module "#shared/foundation/answers.ts" {
  interface SqlAnswers extends AnswersOf<typeof ANSWERS> {}
}
