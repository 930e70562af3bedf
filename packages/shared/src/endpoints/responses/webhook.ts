import { WebhookAttempt } from "#shared/domain/events.ts";
import { z } from "#shared/foundation/zod.ts";
import { instant } from "#shared/values/fields.ts";

const webhook = {
  id: z.guid().meta({ description: "Its id; it never changes" }),
  url: z.string().meta({
    description: "Where events are sent, as a normalized URL: lower-case host, no default port, encoded",
    example: "https://laadpunt-zuid.example.com/events",
  }),
  types: z.array(z.string()).meta({ description: 'Event types; ["*"] is all' }),
  pseudonymous: z.boolean().meta({
    description:
      "Whether a person created it through an application. It then receives the events that GET /partner/events " +
      "shows a person, without your references and registrations",
  }),
  status: z.enum(["enabled", "disabled"]).meta({ description: "Whether events are sent" }),
  disabled_reason: z
    .string()
    .nullable()
    .meta({
      description:
        "Who or what disabled it: manager, client, operator, gone (it answered 410) or failing (five days without a " +
        "success)",
    }),
  created_at: instant().meta({ description: "When it was created" }),
  delivered_to: z.int().meta({ description: "sequence of the last event that was sent, or that waits for a retry" }),
  failing_since: instant()
    .nullable()
    .meta({ description: "First failed attempt after the last success; null while deliveries succeed" }),
  last_error: z.string().nullable().meta({
    description: "Why the last attempt failed: `error` of the attempt, or http_ and the status; null after a success",
  }),
};
export const Webhook = z.object(webhook).meta({ id: "Webhook" });
export const WebhookWithSecret = z
  .object({
    ...webhook,
    secret: z.string().meta({ description: "whsec_…, returned only this once: Standard Webhooks" }),
  })
  .meta({ id: "WebhookWithSecret" });
export type Webhook = z.output<typeof Webhook>;

export const TestedWebhook = z
  .object({
    ok: z.boolean().meta({ description: "Whether the receiver accepted the ping" }),
    attempt: WebhookAttempt.nullable().meta({ description: "The attempt" }),
  })
  .meta({ id: "TestedWebhook" });
