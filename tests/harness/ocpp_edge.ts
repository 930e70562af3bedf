// The real edge function of the gateway, over HTTP.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { serve } from "#shared/http/serve.ts";
import type { Settings } from "../../packages/gateway/src/settings.ts";
import { surface } from "../../supabase/functions/ocpp/app.ts";
import type { World } from "./world.ts";

export type Edge = {
  settings: Pick<Settings, "functionUrl" | "secret" | "callMs">;
  /** Whether it answers nothing but 503. */
  isAway: boolean;
  close(): void;
};

export async function serveEdge({ environment }: World): Promise<Edge> {
  const { fetch } = serve(surface, environment);
  const server = createServer(async (request, response) => {
    const body = await new Response(request as unknown as ReadableStream).text();
    if (edge.isAway) return void response.writeHead(503).end();
    const headers = { ...(request.headers as Record<string, string>), "x-forwarded-for": "192.0.2.1" };
    const answer = await fetch(new Request(`http://edge.test${request.url}`, { method: "POST", body, headers }));
    response.writeHead(answer.status).end(await answer.text());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const functionUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/ocpp`;
  const edge: Edge = {
    settings: { functionUrl, secret: environment.config.GATEWAY_SECRET, callMs: 20_000 },
    isAway: false,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
  return edge;
}
