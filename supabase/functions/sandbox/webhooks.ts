import { WebhookAttempt } from "#shared/domain/events.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { limit } from "#shared/values/fields.ts";
import { CALLER } from "./caller.ts";

export const listWebhookAttempts = endpoint(
  {
    id: "listWebhookAttempts",
    summary: "Read what was sent to the endpoints of the partner and of its clients, newest first",
    description: "The real attempts: the sandbox sends webhooks as production does. Kept for 30 days, without bodies.",
    caller: CALLER,
    limit: "sandbox",
    sql: ["list_webhook_attempts"],
    query: z.object({ limit: limit(20) }),
    response: z
      .object({
        attempts: z
          .array(
            WebhookAttempt.extend({
              webhook_id: z.guid().meta({ description: "The endpoint" }),
              url: z.string().meta({ description: "The URL it was sent to" }),
            }),
          )
          .meta({ description: "Newest first" }),
      })
      .meta({ id: "WebhookAttempts" }),
    errors: [],
    failure: "list_failed",
  },
  ({ query, call }) => call("list_webhook_attempts", query),
);
