import { EVENT_TYPES, WebhookAttempt } from "#shared/domain/events.ts";
import { awaitPing } from "#shared/domain/webhooks/ping.ts";
import { newWebhookId, newWebhookSecret, sealWebhookSecret } from "#shared/domain/webhooks/secret.ts";
import { MAX_URL, refusedUrl } from "#shared/domain/webhooks/url.ts";
import { z } from "#shared/foundation/zod.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { instant, orNull, uuid } from "#shared/values/fields.ts";

/** Whoever manages the partner decides where data goes: never a key (docs/decisions.md §4). */
const MANAGER = { kind: "partner", scope: "partners:write", key: false } as const;
const READER = { kind: "partner", scope: "partners:read", key: false } as const;

const webhook = {
  id: z.guid(),
  url: z.string().meta({
    description: "Where events are sent, as URLs are normalised: lower-case host, no default port, encoded",
    example: "https://laadpunt-zuid.example.com/events",
  }),
  types: z.array(z.string()).meta({ description: 'Event types; ["*"] is all' }),
  pseudonymous: z.boolean().meta({
    description:
      "Whether a person made it: it is sent what GET /partner/events shows a person, no reference of a customer and no registration",
  }),
  status: z.enum(["enabled", "disabled"]).meta({ description: "Whether anything is sent" }),
  disabled_reason: z
    .string()
    .nullable()
    .meta({ description: "manager, operator, gone (it answered 410) or failing (five days without a success)" }),
  created_at: instant(),
  delivered_to: z.int().meta({ description: "sequence of the last event that was sent, or waits to be sent again" }),
  failing_since: instant()
    .nullable()
    .meta({ description: "When the first attempt failed after the last success; null while all is well" }),
  last_error: z.string().nullable().meta({
    description: "Why the last attempt failed, as `error` of an attempt, or http_ and the status; null after a success",
  }),
};
const Webhook = z.object(webhook).meta({ id: "Webhook" });
const WebhookWithSecret = z
  .object({ ...webhook, secret: z.string().meta({ description: "whsec_…, shown this once: Standard Webhooks" }) })
  .meta({ id: "WebhookWithSecret" });

/** Where to begin: a cursor of the log, the id of an event, or a moment. */
const place = (description: string) =>
  orNull(z.string().trim().max(64)).meta({ description, override: { type: ["string", "null"] } });

const ALL = "*";
const types = () =>
  z
    .array(z.enum([ALL, ...EVENT_TYPES], "is no event type; GET /openapi.json lists them under webhooks"))
    .min(1, "must name at least one type; leave it out for all")
    .nullish()
    .transform((names) => (!names || names.includes(ALL) ? null : [...new Set(names)]))
    .meta({ description: "Only these types; all where absent" });

export const createWebhook = endpoint(
  {
    id: "createWebhook",
    summary: "Have events of the partner's log sent to an address; the secret is shown once",
    description:
      `Signed as Standard Webhooks are (standardwebhooks.com). The address is https, of a public host, at most ${MAX_URL} characters, on port 443 ` +
      "(on the sandbox also 1024 to 65535). It begins with the next event, or from `from` on, and is sent what `GET /partner/events` shows a person. At most ten a partner.",
    caller: MANAGER,
    limit: "partner_write",
    sql: ["create_webhook"],
    body: z
      .object({
        url: z
          .string()
          .max(5000)
          .meta({ description: "Where to send events", example: "https://laadpunt-zuid.example.com/events" }),
        types: types(),
        from: place("Begin earlier: a cursor, the id of the first event, or a moment"),
      })
      .meta({ id: "CreateWebhook" }),
    response: WebhookWithSecret,
    errors: ["url_not_allowed", "endpoint_limit", "invalid_cursor", "cursor_expired", "event_not_found"],
    failure: "partner_update_failed",
  },
  async ({ body, call, environment, fail }) => {
    const detail = refusedUrl(body.url, environment.config);
    if (detail) return fail("url_not_allowed", { detail });
    const id = newWebhookId();
    const secret = newWebhookSecret();
    const { href: url } = new URL(body.url);
    const made = await call("create_webhook", { ...body, url, id, secret: sealWebhookSecret(environment, id, secret) });
    return { ...JSON.parse(made), secret };
  },
);

export const listWebhooks = endpoint(
  {
    id: "listWebhooks",
    summary: "List where the partner's events are sent",
    caller: READER,
    limit: "partner_read",
    sql: ["list_webhooks"],
    response: z.object({ webhooks: z.array(Webhook).meta({ description: "Oldest first" }) }).meta({ id: "Webhooks" }),
    errors: [],
    failure: "partner_read_failed",
  },
  ({ call }) => call("list_webhooks"),
);

/** The id in the path; what is none is nobody's endpoint. */
const named = (param: (name: string) => string, fail: (code: "webhook_not_found") => never) =>
  uuid().safeParse(param("webhook_id")).data ?? fail("webhook_not_found");

export const revokeWebhook = endpoint(
  {
    id: "revokeWebhook",
    summary: "Delete an endpoint, with what was still to be sent to it",
    caller: MANAGER,
    limit: "partner_write",
    sql: ["revoke_webhook"],
    response: z.object({ ok: z.literal(true) }),
    errors: ["webhook_not_found"],
    failure: "partner_update_failed",
  },
  ({ param, call, fail }) => call("revoke_webhook", { webhook_id: named(param, fail) }),
);

export const rotateWebhook = endpoint(
  {
    id: "rotateWebhook",
    summary: "Replace the secret of an endpoint; the new one is shown once",
    description:
      "For 24 hours everything is signed with both. With `now: true` the old one ends at once. Rotated twice, the two newest sign.",
    caller: MANAGER,
    limit: "partner_write",
    sql: ["rotate_webhook"],
    body: z.object({ now: z.boolean().default(false) }).meta({ id: "RotateWebhook" }),
    bodyOptional: true,
    response: WebhookWithSecret,
    errors: ["webhook_not_found"],
    failure: "partner_update_failed",
  },
  async ({ param, body, call, environment, fail }) => {
    const webhook_id = named(param, fail);
    const secret = newWebhookSecret();
    const sealed = sealWebhookSecret(environment, webhook_id, secret);
    return { ...JSON.parse(await call("rotate_webhook", { webhook_id, ...body, secret: sealed })), secret };
  },
);

const switched = (enable: boolean) =>
  endpoint(
    {
      id: enable ? "enableWebhook" : "disableWebhook",
      summary: enable
        ? "Send to an endpoint again, from where it stood"
        : "Send nothing to an endpoint for now; nothing is lost",
      caller: MANAGER,
      limit: "partner_write",
      sql: ["switch_webhook"],
      response: Webhook,
      errors: ["webhook_not_found"],
      failure: "partner_update_failed",
    },
    async ({ param, call, environment, fail }) => {
      const answer = await call("switch_webhook", { webhook_id: named(param, fail), enable });
      environment.kick();
      return answer;
    },
  );
export const enableWebhook = switched(true);
export const disableWebhook = switched(false);

export const replayWebhook = endpoint(
  {
    id: "replayWebhook",
    summary: "Send events again, with the ids they have",
    description:
      "From `from` to `to`, both included: each a cursor, the id of an event, or a moment. With `failed: true` those that were given up after the tenth attempt. " +
      "A receiver that leaves out what it has had leaves these out too.",
    caller: MANAGER,
    limit: "partner_write",
    sql: ["replay_webhook"],
    body: z
      .object({
        from: place("The first event"),
        to: place("The last event; the newest that was sent where absent"),
        failed: z.boolean().default(false),
      })
      .refine(({ from, failed }) => failed || from !== null, {
        path: ["from"],
        message: "must be sent, or failed: true",
      })
      .meta({ id: "ReplayWebhook" }),
    response: z
      .object({
        ok: z.literal(true),
        from: z.int().nullable().meta({ description: "sequence of the first event; null with failed" }),
        to: z.int().nullable().meta({ description: "sequence of the last event; null with failed" }),
        events: z.int().meta({ description: "How many are sent again" }),
      })
      .meta({ id: "ReplayedWebhook" }),
    errors: ["webhook_not_found", "endpoint_disabled", "invalid_cursor", "cursor_expired", "event_not_found"],
    failure: "partner_update_failed",
  },
  async ({ param, body, call, environment, fail }) => {
    const answer = await call("replay_webhook", { webhook_id: named(param, fail), ...body });
    environment.kick();
    return answer;
  },
);

export const testWebhook = endpoint(
  {
    id: "testWebhook",
    summary: "Send a ping to an endpoint and say what came of it",
    description:
      "A ping is sent whatever types it has, and is in no log. `attempt` is null where the worker did not come to it within 15 seconds.",
    caller: MANAGER,
    limit: "partner_write",
    sql: ["ping_webhook", "pinged_webhook"],
    response: z
      .object({ ok: z.boolean(), attempt: WebhookAttempt.nullable().meta({ description: "What came of the ping" }) })
      .meta({ id: "TestedWebhook" }),
    errors: ["webhook_not_found", "endpoint_disabled"],
    failure: "partner_update_failed",
  },
  async ({ param, call, environment, fail }) => {
    const webhook_id = named(param, fail);
    const { ping } = JSON.parse(await call("ping_webhook", { webhook_id }));
    const look = async () => {
      const answer = await call("pinged_webhook", { webhook_id, ping });
      return answer === "null" ? null : answer;
    };
    return (await awaitPing(environment, look)) ?? { ok: false, attempt: null };
  },
);
