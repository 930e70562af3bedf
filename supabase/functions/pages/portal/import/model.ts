import { Sealed } from "#shared/domain/answers.ts";
import { COUNTERS } from "#shared/domain/import/model.ts";
import type { AnswersOf } from "#shared/foundation/answers.ts";
import { z } from "#shared/foundation/zod.ts";
import { DraftEanStatus } from "#shared/values/draft_ean_status.ts";
import { Who } from "../model.ts";

const Cap = z.object({ rolling_days: z.number(), rolling_cap: z.number(), remaining: z.number() });
export type Cap = z.output<typeof Cap>;

/** How far an import is; send_invite is null until it was confirmed. */
const State = z.object({ row_count: z.number(), rows_done: z.number(), send_invite: z.boolean().nullable() });
export type State = z.output<typeof State>;

/** What became, or would become, of a row. */
const Verdict = z.object({
  row: z.number(),
  reason: z.enum(COUNTERS).nullable(),
  ean_status: z.string().nullable(),
  /** Of those who were not mailed, as long as they have not begun. */
  claim_url: z.string().nullable(),
});
/** Without what a first look does not tell. */
export type Verdict = Pick<z.output<typeof Verdict>, "row" | "reason"> & Partial<z.output<typeof Verdict>>;

/** The results of a file of months or sessions, which is kept in the same place and never shown here. */
const OfUpload = z.custom<never>(
  (outcomes) => Array.isArray(outcomes) && outcomes.some(({ reason }) => reason && !COUNTERS.includes(reason)),
);

export const ANSWERS = {
  read_portal_import: z.object({
    who: Who,
    cap: Cap,
    mailed_before: z.boolean().nullable(),
    import: z.object({ sealed: Sealed, state: State, outcomes: z.array(Verdict).or(OfUpload) }).nullable(),
  }),
  look_at_import: z.array(
    z.union([
      z.object({ row: z.number(), draft_id: z.null(), ean_status: DraftEanStatus }),
      z.object({ row: z.number(), reason: z.enum(COUNTERS) }),
    ]),
  ),
  invite_import: z.object({ ok: z.literal(true) }),
  /** All is null where it is kept no more. */
  import_stretch: z.union([State, z.object({ row_count: z.null(), rows_done: z.null(), send_invite: z.null() })]),
};
declare module "#shared/foundation/answers.ts" {
  interface SqlAnswers extends AnswersOf<typeof ANSWERS> {}
}
