// A real browser in front of our functions: Chromium by playwright-core, and an HTTP server that hands its requests to `fetch`.

import { existsSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { type Browser, chromium } from "playwright-core";

const CHROMIUM = process.env.CHROMIUM_PATH ?? "/usr/bin/chromium";

/** Why there is no browser on this machine, or null: for `describe.skipIf`. */
export const noBrowser = existsSync(CHROMIUM) ? null : `${CHROMIUM} does not exist; CHROMIUM_PATH may name another`;

export function startBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: CHROMIUM,
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

export type Answerer = (request: Request) => Response | Promise<Response>;

/** Listens on a loopback port; what it answers with may be said later, when the port is part of the configuration. */
export async function serveHttp() {
  const state = { answer: (() => new Response(null, { status: 503 })) as Answerer };
  const server = createServer(async (incoming, outgoing) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const headers = new Headers({ "x-forwarded-for": "192.0.2.7" });
    for (const [name, value] of Object.entries(incoming.headersDistinct)) headers.set(name, (value ?? []).join(", "));
    const { method = "GET" } = incoming;
    const request = new Request(new URL(incoming.url ?? "/", `http://${incoming.headers.host}`), {
      method,
      headers,
      ...(method === "GET" || method === "HEAD" ? {} : { body: Buffer.concat(chunks) }),
    });
    const response = await state.answer(request);
    // flat, for there may be several cookies
    outgoing.writeHead(response.status, [...response.headers].flat());
    outgoing.end(Buffer.from(await response.arrayBuffer()));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return Object.assign(state, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}
