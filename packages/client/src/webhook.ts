import type { webhooks } from "./schema.ts";

/** A webhook that is not ours, or not of now. */
export class WebhookError extends Error {
  override readonly name = "WebhookError";
}

/** What a webhook says: `type` tells what `data` is. `id` is the event's, the same on every attempt, so that a repeat can be told. */
export type Webhook = {
  [Type in keyof webhooks]: webhooks[Type]["post"] extends {
    requestBody: { content: { "application/json": infer Body } };
  }
    ? Body & { id: string }
    : never;
}[keyof webhooks];

/** So many seconds a webhook may be old, or its sender's clock be wrong. */
const TOLERANCE_S = 5 * 60;

const bytesOf = (base64: string) => Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));

/**
 * The webhook in a request, once its signature and time are right (Standard Webhooks 1.0.0). `body` is the text as it came: parsed and
 * written again it is another. While a secret is being replaced a webhook carries a signature of each; one that fits is enough.
 * @throws {WebhookError} what is wrong with it: answer 400, and nothing more.
 */
export async function verifyWebhook(
  headers: Headers | Readonly<Record<string, string | string[] | undefined>>,
  body: string,
  secret: string,
): Promise<Webhook> {
  const read = (name: string) => {
    const value = headers instanceof Headers ? headers.get(name) : headers[name];
    if (typeof value !== "string" || value === "") throw new WebhookError(`${name} is missing`);
    return value;
  };
  const [id, timestamp, signatures] = [read("webhook-id"), read("webhook-timestamp"), read("webhook-signature")];
  if (!/^\d+$/.test(timestamp) || Math.abs(Date.now() / 1000 - Number(timestamp)) > TOLERANCE_S)
    throw new WebhookError("webhook-timestamp is more than five minutes away");
  const key = await crypto.subtle.importKey(
    "raw",
    bytesOf(secret.replace(/^whsec_/, "")),
    { name: "HMAC", hash: "SHA-256" },
    false,
    ["verify"],
  );
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${body}`);
  for (const signature of signatures.split(" ")) {
    const [version, value = ""] = signature.split(",");
    if (version !== "v1" || !/^[A-Za-z0-9+/]{43}=$/.test(value)) continue;
    if (await crypto.subtle.verify("HMAC", key, bytesOf(value), signed)) return { ...JSON.parse(body), id };
  }
  throw new WebhookError("no signature fits");
}
