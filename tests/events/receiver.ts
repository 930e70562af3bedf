// A receiver of webhooks on this machine, which answers as a test says.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { EventType } from "#shared/domain/events.ts";
import { newWebhookId, newWebhookSecret, sealWebhookSecret } from "#shared/domain/webhooks/secret.ts";
import type { World } from "../harness/world.ts";

export type Received = {
  id: string;
  headers: Record<string, string>;
  text: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test names the fields it reads
  body: { type: EventType | "ping"; timestamp: string; sequence?: number; data: any };
};
type Answering = (response: ServerResponse, received: Received) => unknown;

export type Receiver = {
  url: string;
  port: number;
  received: Received[];
  /** How the next ones are answered; 204 unless told. */
  answer: Answering;
  close: () => Promise<void>;
};

export const status =
  (code: number, headers: Record<string, string> = {}): Answering =>
  (response) =>
    response.writeHead(code, headers).end();

export async function startReceiver(at = 0): Promise<Receiver> {
  const handle = (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString();
      const headers = request.headers as Record<string, string>;
      const received = { id: headers["webhook-id"] ?? "", headers, text, body: JSON.parse(text) };
      receiver.received.push(received);
      receiver.answer(response, received);
    });
  };
  const server: Server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(at, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = {
    url: `http://127.0.0.1:${port}/events`,
    port,
    received: [],
    answer: status(204),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
  return receiver;
}

/** An endpoint of partner A's log, or of whoever is told, without the checks of its route. */
export async function addEndpoint(
  world: World,
  url: string,
  { partner = world.partnerA.id, owner = partner, types = null }: EndpointOptions = {},
): Promise<{ id: string; secret: string }> {
  const id = newWebhookId();
  const secret = newWebhookSecret();
  const { ciphertext, key_id } = sealWebhookSecret(world.environment, id, secret);
  await world.row(
    `insert into core.webhook_endpoints (partner_id, id, owner_id, url, types, secret_ciphertext, secret_key_id, delivered_to)
     values ($1, $2, $3, $4, $5, $6, $7, 0)`,
    ...[partner, id, owner, url, types, ciphertext, key_id],
  );
  return { id, secret };
}
type EndpointOptions = { partner?: string; owner?: string; types?: readonly string[] | null };
