import type { AnswersOf } from "#shared/foundation/answers.ts";
import { z } from "#shared/foundation/zod.ts";
import { DraftEanStatus } from "#shared/values/draft_ean_status.ts";
import { Imported } from "./imported.ts";

export const ANSWERS = {
  import_drafts: Imported,
  /** Null for a draft that waits for no look-up any more. */
  record_draft_lookups: z.array(
    z.object({ draft_id: z.string(), ean_status: DraftEanStatus, ean_candidates: z.number() }).nullable(),
  ),
};
declare module "#shared/foundation/answers.ts" {
  interface SqlAnswers extends AnswersOf<typeof ANSWERS> {}
}
