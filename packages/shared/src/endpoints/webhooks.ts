/**
 * The API's paths to manage webhook endpoints, the same for both owners of a log: a partner (`/partner/webhooks`) and a
 * CPO client (`/v1/webhooks`). What each may do with whose is in supabase/schemas/outbox/events/manage_webhooks.sql.
 */

import { EVENT_TYPES, type EventType, WebhookAttempt } from "#shared/domain/events.ts";
import { MAX_URL, refusedUrl } from "#shared/domain/outbound/url.ts";
import { awaitPing } from "#shared/domain/webhooks/ping.ts";
import { newWebhookId, newWebhookSecret, sealWebhookSecret } from "#shared/domain/webhooks/secret.ts";
import type { ErrorCode } from "#shared/foundation/errors.ts";
import { z } from "#shared/foundation/zod.ts";
import { type CallerRule, endpoint } from "#shared/http/endpoint.ts";
import { limit, moment, orNull, postgresTime, uuid } from "#shared/values/fields.ts";
import type { Bucket } from "#shared/values/rate_limits.ts";
import type {} from "./answers.ts";
import { TestedWebhook, Webhook, WebhookWithSecret } from "./responses/webhook.ts";

/** Whose endpoints they are. */
type WebhookSurface = {
  /** Part of the names of operations and schemas: nothing, or a word. */
  name: "" | "Client";
  /** Whose log it is, in a sentence. */
  log: string;
  /** What is sent, and how many there may be. */
  about: string;
  /** The types that can arrive. */
  types: readonly EventType[];
  read: { caller: CallerRule; limit: Bucket; failure: ErrorCode };
  write: { caller: CallerRule; limit: Bucket; failure: ErrorCode };
};

const PLACE = "must be a cursor, the id of an event, or a moment such as 2026-11-20T09:30:00Z";
const isPlace = (text: string) =>
  /^[\w-]{22}$/.test(text) ||
  [z.guid(), moment(), postgresTime(z.iso.date())].some((form) => form.safeParse(text).success);

/** Where to begin or to end. */
const place = (description: string) =>
  orNull(z.string().trim().refine(isPlace, PLACE)).meta({
    description: `${description}: a cursor, the id of an event, or a moment (a date is its midnight in UTC)`,
    override: { type: ["string", "null"] },
  });

const ALL = "*";
const typesAmong = (known: readonly EventType[]) => {
  const list = z
    .array(
      z.enum([ALL, ...known], {
        error: ({ input }) =>
          EVENT_TYPES.includes(input as EventType)
            ? "never arrives here; GET /openapi.json lists the types that may"
            : "is no event type; GET /openapi.json lists them under webhooks",
      }),
    )
    .min(1, "must name at least one type; leave it out for all");
  return list.transform((names) => (names.includes(ALL) ? null : [...new Set(names)]));
};

const urlField = () =>
  z
    .string()
    .max(5000)
    .meta({ description: "Where to send events", example: "https://laadpunt-zuid.example.com/events" });

const RotateWebhook = z
  .object({ now: z.boolean().default(false).meta({ description: "Whether the previous secret ends at once" }) })
  .meta({ id: "RotateWebhook" });
const ReplayedWebhook = z
  .object({
    ok: z.literal(true).meta({ description: "Always true: the request succeeded" }),
    from: z.int().nullable().meta({ description: "sequence of the first event; null with failed" }),
    to: z.int().nullable().meta({ description: "sequence of the last event; null with failed" }),
    events: z.int().meta({ description: "Number of events sent again" }),
  })
  .meta({ id: "ReplayedWebhook" });
const Webhooks = z
  .object({ webhooks: z.array(Webhook).meta({ description: "Oldest first" }) })
  .meta({ id: "Webhooks" });
const AttemptsOfWebhook = z
  .object({ attempts: z.array(WebhookAttempt).meta({ description: "Newest first" }) })
  .meta({ id: "AttemptsOfWebhook" });

const PARAMS = { webhook_id: "The id of the endpoint" };

/** The id in the path. A text that is no UUID is answered as an unknown endpoint. */
const named = (param: (name: string) => string, fail: (code: "webhook_not_found") => never) =>
  uuid().safeParse(param("webhook_id")).data ?? fail("webhook_not_found");

/** A URL as it is stored, or the refusal of one that nothing is sent to. */
function accepted(
  url: string,
  config: Parameters<typeof refusedUrl>[1],
  fail: (code: "url_not_allowed", fields: { detail: string }) => never,
): string {
  const detail = refusedUrl(url, config);
  return detail ? fail("url_not_allowed", { detail }) : new URL(url).href;
}

/** All of them for one surface, each declared once. */
export function webhookEndpoints({ name, log, about, types: known, read, write }: WebhookSurface) {
  const types = () => typesAmong(known).nullish();

  const create = endpoint(
    {
      id: `create${name}Webhook`,
      summary: `Create an endpoint for the events of ${log}; the secret is shown once`,
      description:
        "Events are signed as in Standard Webhooks (standardwebhooks.com). The address is https, of a public host, " +
        `at most ${MAX_URL} characters, on port 443 (on the sandbox also 1024 to 65535). Sending begins with the ` +
        `next event, or with \`from\`. ${about}`,
      ...write,
      sql: ["create_webhook"],
      body: z
        .object({
          url: urlField(),
          types: types()
            .transform((names) => names ?? null)
            .meta({ description: "Only these types; all if omitted" }),
          from: place("Begin earlier, with this event"),
        })
        .meta({ id: `Create${name}Webhook` }),
      response: WebhookWithSecret,
      errors: ["url_not_allowed", "endpoint_limit", "invalid_cursor", "cursor_expired", "event_not_found"],
    },
    async ({ body, call, environment, fail }) => {
      const url = accepted(body.url, environment.config, fail);
      const id = newWebhookId();
      const secret = newWebhookSecret();
      const made = await call("create_webhook", {
        ...body,
        url,
        id,
        secret: sealWebhookSecret(environment, id, secret),
      });
      return { ...JSON.parse(made), secret };
    },
  );

  const list = endpoint(
    {
      id: `list${name}Webhooks`,
      summary: `List the endpoints for the events of ${log}`,
      ...read,
      sql: ["list_webhooks"],
      response: Webhooks,
      errors: [],
    },
    ({ call }) => call("list_webhooks"),
  );

  const readOne = endpoint(
    {
      id: `read${name}Webhook`,
      summary: "Read one endpoint",
      params: PARAMS,
      ...read,
      sql: ["read_webhook"],
      response: Webhook,
      errors: ["webhook_not_found"],
    },
    ({ param, call, fail }) => call("read_webhook", { webhook_id: named(param, fail) }),
  );

  const attempts = endpoint(
    {
      id: `read${name}WebhookAttempts`,
      summary: "List the attempts to deliver to an endpoint, newest first",
      description: "Kept for 30 days, without bodies.",
      params: PARAMS,
      ...read,
      sql: ["read_webhook_attempts"],
      query: z.object({ limit: limit(20) }),
      response: AttemptsOfWebhook,
      errors: ["webhook_not_found"],
    },
    ({ param, query, call, fail }) => call("read_webhook_attempts", { webhook_id: named(param, fail), ...query }),
  );

  const update = endpoint(
    {
      id: `update${name}Webhook`,
      summary: "Change the address or the types of an endpoint",
      description:
        "Omitted fields stay the same. Deliveries continue where they were: waiting events go to the new address, " +
        "and its failures are counted from zero. The secret stays. Rotate it if the old receiver must not verify " +
        "any more.",
      params: PARAMS,
      ...write,
      sql: ["update_webhook"],
      body: z
        .object({
          url: urlField().optional(),
          types: types().meta({ description: 'Only these types from now on; null or ["*"] is all' }),
        })
        .refine(({ url, types: names }) => url !== undefined || names !== undefined, {
          path: ["url"],
          message: "must be sent, or types",
        })
        .meta({ id: `Update${name}Webhook` }),
      response: Webhook,
      errors: ["webhook_not_found", "url_not_allowed"],
    },
    async ({ param, body, call, environment, fail }) => {
      const url = body.url === undefined ? {} : { url: accepted(body.url, environment.config, fail) };
      const answer = await call("update_webhook", { webhook_id: named(param, fail), ...body, ...url });
      environment.kick();
      return answer;
    },
  );

  const revoke = endpoint(
    {
      id: `revoke${name}Webhook`,
      summary: "Delete an endpoint and its waiting events",
      params: PARAMS,
      ...write,
      sql: ["revoke_webhook"],
      response: z.object({ ok: z.literal(true).meta({ description: "Always true: the request succeeded" }) }),
      errors: ["webhook_not_found"],
    },
    ({ param, call, fail }) => call("revoke_webhook", { webhook_id: named(param, fail) }),
  );

  const rotate = endpoint(
    {
      id: `rotate${name}Webhook`,
      summary: "Replace the secret of an endpoint; the new one is shown once",
      description:
        "For 24 hours we sign everything with both secrets. With `now: true` the old secret ends at once. After two " +
        "rotations, the two newest secrets sign.",
      params: PARAMS,
      ...write,
      sql: ["rotate_webhook"],
      body: RotateWebhook,
      bodyOptional: true,
      response: WebhookWithSecret,
      errors: ["webhook_not_found"],
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
        id: `${enable ? "enable" : "disable"}${name}Webhook`,
        summary: enable
          ? "Enable an endpoint; sending continues where it stopped"
          : "Pause an endpoint; no event is lost",
        params: PARAMS,
        ...write,
        sql: ["switch_webhook"],
        response: Webhook,
        errors: ["webhook_not_found"],
      },
      async ({ param, call, environment, fail }) => {
        const answer = await call("switch_webhook", { webhook_id: named(param, fail), enable });
        environment.kick();
        return answer;
      },
    );

  const replay = endpoint(
    {
      id: `replay${name}Webhook`,
      summary: "Send events again, with their original ids",
      description:
        "Sends from `from` to `to`, both included. Each is a cursor, the id of an event, or a moment. A cursor " +
        "marks the end of its page: as `from` it begins with the next event, as `to` it ends with the page's last " +
        "event. With `failed: true` it sends the events that were given up after attempt 10. `types` chooses among " +
        "them. Receivers that drop repeated ids drop these too.",
      params: PARAMS,
      ...write,
      sql: ["replay_webhook"],
      body: z
        .object({
          from: place("The first event"),
          to: place("The last event; if omitted, the newest that was sent"),
          failed: z.boolean().default(false).meta({ description: "The events that were given up" }),
          types: types()
            .transform((names) => names ?? null)
            .meta({ description: "Send only events of these types; if omitted, all types of the endpoint" }),
        })
        .refine(({ from, failed }) => failed || from !== null, {
          path: ["from"],
          message: "must be sent, or failed: true",
        })
        .meta({ id: `Replay${name}Webhook` }),
      response: ReplayedWebhook,
      errors: ["webhook_not_found", "endpoint_disabled", "invalid_cursor", "cursor_expired", "event_not_found"],
    },
    async ({ param, body, call, environment, fail }) => {
      const answer = await call("replay_webhook", { webhook_id: named(param, fail), ...body });
      environment.kick();
      return answer;
    },
  );

  const test = endpoint(
    {
      id: `test${name}Webhook`,
      summary: "Send a ping to an endpoint and return the result",
      description:
        "A ping goes to every endpoint, whatever its types, and is in no log. `attempt` is null if the worker did " +
        "not get to it in time. The receiver has 10 seconds, as for an event; the response takes at most 13.",
      params: PARAMS,
      ...write,
      sql: ["ping_webhook", "read_ping"],
      response: TestedWebhook,
      errors: ["webhook_not_found", "endpoint_disabled"],
    },
    async ({ param, call, environment, fail }) => {
      const webhook_id = named(param, fail);
      const { ping } = JSON.parse(await call("ping_webhook", { webhook_id }));
      const look = async () => {
        const answer = await call("read_ping", { webhook_id, ping });
        return answer === "null" ? null : answer;
      };
      return (await awaitPing(environment, look)) ?? { ok: false, attempt: null };
    },
  );

  return {
    create,
    list,
    read: readOne,
    attempts,
    update,
    revoke,
    rotate,
    enable: switched(true),
    disable: switched(false),
    replay,
    test,
  };
}
