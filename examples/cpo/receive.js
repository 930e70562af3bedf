// Receives webhooks. A webhook only says that there is news: the log has it in order, and also what a webhook did not bring.

import { createServer } from "node:http";
import { verifyWebhook, WebhookError } from "@ere-api/client";
import { catchUp } from "./events.js";

const EVERY_MS = 5 * 60_000;

let asked = false;
let running = false;

/** One run at a time. What comes during a run is read by one run more. */
async function wake() {
  asked = true;
  if (running) return;
  running = true;
  while (asked) {
    asked = false;
    // the next webhook, or the clock, tries again
    await catchUp().catch((error) => console.error(error.message));
  }
  running = false;
}

const server = createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  try {
    const { type, id } = await verifyWebhook(request.headers, Buffer.concat(parts), process.env.WEBHOOK_SECRET);
    console.log(type, id);
    response.writeHead(204).end();
    void wake();
  } catch (error) {
    response.writeHead(error instanceof WebhookError ? 400 : 500).end();
    if (!(error instanceof WebhookError)) console.error(error);
  }
});

server.listen(Number(process.env.PORT ?? 3000), "127.0.0.1", () => console.log("listening"));
setInterval(wake, EVERY_MS);
void wake();
