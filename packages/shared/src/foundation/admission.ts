// What the database says of who asks, and of itself. Only tests run these schemas; everything else takes their types.

import type { AnswersOf } from "./answers.ts";
import { z } from "./zod.ts";

/** How a rate limit stands: private.rate_json. */
export const Rate = z.object({
  /** Whether this request was let in. */
  allowed: z.boolean(),
  bucket: z.string(),
  /** Requests a window. */
  quota: z.number(),
  /** In seconds. */
  window: z.number(),
  /** Microseconds until the bucket is full again. */
  full_in: z.number(),
});
export type Rate = z.output<typeof Rate>;

/** Who was admitted. Null and absent are the same. */
const Caller = z.object({
  kind: z.string(),
  client_id: z.string().nullable().exactOptional(),
  user_id: z.string().nullable().exactOptional(),
  /** The person who acts for a partner; absent when an API key does. */
  manager_id: z.string().exactOptional(),
  /** The grant of the application through which that person acts, and the secret that bought its token. */
  grant_id: z.string().nullable().exactOptional(),
  secret_number: z.number().nullable().exactOptional(),
  /** The address of the signatory of a CPO's customers, on a person's own pages. */
  signatory: z.string().nullable().exactOptional(),
  partner_id: z.string().exactOptional(),
  /** When the person of a session signed in. */
  signed_in_at: z.string().exactOptional(),
});

/** What the database says of a ticket. `flushed`: how far its log was then, if admission had its own statement. */
const Admitted = z.object({ caller: Caller, rate: Rate.nullable() });
export type Admitted = z.output<typeof Admitted> & { flushed?: string };

export const ANSWERS = {
  charge: Admitted,
  admit: Admitted.extend({ flushed: z.string() }),
  read_health: z.object({
    schema_version: z.string().nullable(),
    worker_age_seconds: z.number().nullable(),
    jobs_failing: z.number(),
  }),
};
declare module "./answers.ts" {
  interface SqlAnswers extends AnswersOf<typeof ANSWERS> {}
}
