import type { webhooks } from "./schema.ts";

/** A webhook whose signature is wrong, or more than five minutes away. */
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

/** Of `Request`, Node's `IncomingMessage`, or a framework: names in any case, values that came more than once as lists. */
export type WebhookHeaders =
  | { get: (name: string) => string | null | undefined }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

function headerOf(headers: WebhookHeaders, name: string): string {
  const value =
    // packages such as undici and node-fetch have a Headers of their own
    typeof headers.get === "function"
      ? headers.get(name)
      : Object.entries(headers).find(([key, said]) => key.toLowerCase() === name && said !== undefined)?.[1];
  const text = typeof value === "object" && value !== null ? value.join(" ") : value;
  if (!text) throw new WebhookError(`${name} is missing`);
  return text;
}

const importKey = (secret: string | undefined) =>
  crypto.subtle.importKey("raw", keyOf(secret), { name: "HMAC", hash: "SHA-256" }, false, ["sign", "verify"]);

const textOf = (id: string, timestamp: string, body: string) => new TextEncoder().encode(`${id}.${timestamp}.${body}`);

/** The headers of a webhook that is sent now, signed as the service signs (Standard Webhooks 1.0.0). */
export async function signWebhook(id: string, body: string, secret: string): Promise<Record<string, string>> {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const signature = await crypto.subtle.sign("HMAC", await importKey(secret), textOf(id, timestamp, body));
  const base64 = btoa(String.fromCharCode(...new Uint8Array(signature)));
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": `v1,${base64}` };
}

function keyOf(secret: string | undefined): Uint8Array<ArrayBuffer> {
  const base64 = secret?.trim().replace(/^whsec_/, "");
  if (!base64)
    throw new TypeError("The secret is empty: set it to the whsec_… that was shown when the endpoint was made.");
  try {
    return bytesOf(base64);
  } catch {
    throw new TypeError(
      "The secret is not one of an endpoint: whsec_ and base64, as it was shown when the endpoint was made.",
    );
  }
}

/**
 * The webhook in a request, once its signature and time are right (Standard Webhooks 1.0.0). `body` is the text as it came, or its bytes:
 * parsed and written again it is another. While a secret is being replaced a webhook carries a signature of each; one that fits is enough.
 * @throws {WebhookError} what is wrong with it: answer 400, and nothing more.
 * @throws {TypeError} what is wrong on your side, the secret or the body: answer 500, and it is sent again once you mended it.
 */
export async function verifyWebhook(
  headers: WebhookHeaders,
  body: string | Uint8Array,
  secret: string | undefined,
): Promise<Webhook> {
  const key = await importKey(secret);
  if (typeof body !== "string" && !(body instanceof Uint8Array))
    throw new TypeError("The body was parsed already: give the text as it came, such as await request.text().");
  const text = typeof body === "string" ? body : new TextDecoder().decode(body);
  const [id, timestamp, signatures] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) =>
    headerOf(headers, name),
  ) as [string, string, string];
  if (!/^\d+$/.test(timestamp) || Math.abs(Date.now() / 1000 - Number(timestamp)) > TOLERANCE_S)
    throw new WebhookError("webhook-timestamp is more than five minutes away");
  const signed = textOf(id, timestamp, text);
  for (const signature of signatures.split(" ")) {
    const [version, value = ""] = signature.split(",");
    if (version !== "v1" || !/^[A-Za-z0-9+/]{43}=$/.test(value)) continue;
    if (await crypto.subtle.verify("HMAC", key, bytesOf(value), signed)) return { ...JSON.parse(text), id };
  }
  throw new WebhookError("no signature fits: is this the secret of the endpoint, and the body as it came?");
}
