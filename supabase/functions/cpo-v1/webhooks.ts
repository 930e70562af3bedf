import { typesOf } from "#shared/domain/events.ts";
import { webhookEndpoints } from "#shared/endpoints/webhooks.ts";

/** A client manages only its own endpoints. A person manages those of the partner's log. */
const caller = { kind: "cpo", scope: "cpo:webhooks" } as const;

export const {
  create: createClientWebhook,
  list: listClientWebhooks,
  read: readClientWebhook,
  attempts: readClientWebhookAttempts,
  update: updateClientWebhook,
  test: testClientWebhook,
  rotate: rotateClientWebhook,
  enable: enableClientWebhook,
  disable: disableClientWebhook,
  replay: replayClientWebhook,
  revoke: revokeClientWebhook,
} = webhookEndpoints({
  name: "Client",
  log: "this client's log",
  about:
    "It receives the events of `GET /v1/events`, as long as the client has `cpo:accounts:read`. A client has at " +
    "most ten endpoints.",
  types: typesOf("client"),
  read: { caller, limit: "cpo_read", failure: "list_failed" },
  write: { caller, limit: "cpo_write", failure: "update_failed" },
});
