// The secret of a webhook endpoint: shown once, and kept encrypted.

import { randomBytes, randomUUID } from "node:crypto";
import { open, type Sealed, seal } from "#shared/values/iban.ts";

type Keys = Parameters<typeof seal>[0];

/** As Standard Webhooks writes one: 32 random bytes. */
export const newWebhookSecret = () => `whsec_${randomBytes(32).toString("base64")}`;
export const newWebhookId = () => randomUUID();

const belongsTo = (webhook_id: string) => `webhook ${webhook_id}`;

export const sealWebhookSecret = (keys: Keys, webhook_id: string, secret: string): Sealed =>
  seal(keys, belongsTo(webhook_id), secret);

/** @throws {Error} when key, endpoint and ciphertext do not belong together. */
export const openWebhookSecret = (keys: Keys, webhook_id: string, sealed: Sealed): string =>
  open(keys, belongsTo(webhook_id), sealed);
