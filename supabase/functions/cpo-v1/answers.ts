import { KeptDocument } from "#shared/domain/answers.ts";
import type { AnswersOf } from "#shared/foundation/answers.ts";
import { z } from "#shared/foundation/zod.ts";
import { SessionResult, WithdrawnSession } from "./charging_sessions.ts";
import { MonthResult } from "./months.ts";
import { Connection } from "./ocpi.ts";

const { status, reason, change } = MonthResult.shape;

export const ANSWERS = {
  store_charging_sessions: z.array(SessionResult.omit({ session_id: true }).extend({ place: z.number() })),
  withdraw_charging_sessions: z.array(WithdrawnSession),
  read_connection_mandate: KeptDocument,
  /** By the first day of a month; null without months that could be judged, or stored. */
  ingest_months: z.object({
    connection_id: z.string(),
    verdicts: z.record(z.string(), z.union([status.exclude(["invalid"]), reason.unwrap()])).nullable(),
    changes: z.record(z.string(), change.unwrap()).nullable(),
    beyond_power: z.array(z.string()).nullable(),
  }),
  get_ocpi: Connection.omit({ versions_url: true }),
  export_settlements: z.object({ csv: z.string() }),
  read_settlement: KeptDocument,
};
declare module "#shared/foundation/answers.ts" {
  interface SqlAnswers extends AnswersOf<typeof ANSWERS> {}
}
