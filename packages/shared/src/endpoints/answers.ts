import { WebhookAttempt } from "#shared/domain/events.ts";
import type { AnswersOf } from "#shared/foundation/answers.ts";
import { z } from "#shared/foundation/zod.ts";
import { TestedWebhook, Webhook } from "./responses/webhook.ts";

export const ANSWERS = {
  create_webhook: Webhook,
  rotate_webhook: Webhook,
  replay_webhook: z.object({
    ok: z.literal(true),
    from: z.number().nullable(),
    to: z.number().nullable(),
    events: z.number(),
  }),
  ping_webhook: z.object({ ping: z.string() }),
  /** Null until it was sent. */
  read_ping: TestedWebhook.extend({ attempt: WebhookAttempt }).nullable(),
  /** GET /v1/events/{event_id} and GET /partner/events/{event_id}, which have their own `data` for each type. */
  show_event: z.object({
    id: z.string(),
    type: z.string(),
    created_at: z.string(),
    sequence: z.number(),
    account_id: z.string().nullable(),
    data: z.record(z.string(), z.unknown()),
  }),
};
declare module "#shared/foundation/answers.ts" {
  interface SqlAnswers extends AnswersOf<typeof ANSWERS> {}
}
