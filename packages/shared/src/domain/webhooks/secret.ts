// The secret of a webhook endpoint: shown once, and kept encrypted.

import type { Buffer } from "node:buffer";
import { randomBytes, randomUUID } from "node:crypto";
import { open, type Sealed, seal } from "#shared/values/sealed.ts";

type Keys = Parameters<typeof seal>[0];

/** As Standard Webhooks writes one: 32 random bytes. */
export const newWebhookSecret = (bytes: Buffer = randomBytes(32)) => `whsec_${bytes.toString("base64")}`;
export const newWebhookId = () => randomUUID();

const belongsTo = (webhook_id: string) => `webhook ${webhook_id}`;

export const sealWebhookSecret = (keys: Keys, webhook_id: string, secret: string): Sealed =>
  seal(keys, belongsTo(webhook_id), secret);

/**
 * The secrets that sign: the one that holds, and the one before it for as long as that signs too. A previous secret
 * that cannot be decrypted is left out, so that a rotation repairs the endpoint.
 * @throws {Error} when key, endpoint and ciphertext of the one that holds do not belong together.
 */
export function openWebhookSecrets(keys: Keys, webhook_id: string, [current, previous]: Sealed[]): string[] {
  const read = (sealed: Sealed) => open(keys, belongsTo(webhook_id), sealed);
  const secrets = [read(current as Sealed)];
  try {
    if (previous) secrets.push(read(previous));
  } catch {
    // its key is gone; what was thrown says no more
  }
  return secrets;
}
