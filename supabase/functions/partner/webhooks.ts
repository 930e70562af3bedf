import { typesOf } from "#shared/domain/events.ts";
import { webhookEndpoints } from "#shared/endpoints/webhooks.ts";

/** A person who manages the partner decides where data goes, never an API key (docs/decisions.md §4). */
export const {
  create: createWebhook,
  list: listWebhooks,
  read: readWebhook,
  attempts: readWebhookAttempts,
  update: updateWebhook,
  test: testWebhook,
  rotate: rotateWebhook,
  enable: enableWebhook,
  disable: disableWebhook,
  replay: replayWebhook,
  revoke: revokeWebhook,
} = webhookEndpoints({
  name: "",
  log: "the partner's log",
  about:
    "It receives the events that `GET /partner/events` shows a person, so no `registration.*`. The partner has at most " +
    "ten endpoints of its own.",
  types: typesOf("partner").filter((type) => !type.startsWith("registration.")),
  read: {
    caller: { kind: "partner", scope: "partners:read", key: false },
    limit: "partner_read",
    failure: "partner_read_failed",
  },
  write: {
    caller: { kind: "partner", scope: "partners:write", key: false },
    limit: "partner_write",
    failure: "partner_update_failed",
  },
});
