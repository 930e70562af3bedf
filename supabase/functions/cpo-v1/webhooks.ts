import { typesOf } from "#shared/domain/events.ts";
import { webhookEndpoints } from "#shared/endpoints/webhooks.ts";

/** A client manages its own endpoints and no others: those of the partner's log are a person's to manage. */
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
    "It is sent what `GET /v1/events` answers, as long as the client has `cpo:accounts:read`. At most ten of this client.",
  types: typesOf("client"),
  read: { caller, limit: "cpo_read", failure: "list_failed" },
  write: { caller, limit: "cpo_write", failure: "update_failed" },
});
