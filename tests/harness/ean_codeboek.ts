import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A metering point as the EAN-codeboek writes it (its OpenAPI document, version 1). */
export type CodeboekPoint = {
  ean: string;
  address: {
    postalCode: string;
    streetNumber: number;
    streetNumberAddition?: string;
    street?: string;
    city?: string;
  } | null;
  product: "ELK" | "GAS" | "H2";
  organisation?: string;
  gridOperatorEan: string;
  linkedPrimaryAccessPoint?: string;
  specialMeteringPoint?: boolean;
  gridArea?: string;
  bagId?: string;
};

/** What happens to one request instead of its answer; `answer` sends that answer after all. */
export type Fault = (response: ServerResponse, answer: () => void) => void;

export const faults = {
  hang: () => {},
  slow:
    (ms: number): Fault =>
    (_response, answer) =>
      void setTimeout(answer, ms),
  reset: (response: ServerResponse) => void response.socket?.resetAndDestroy(),
  status:
    (status: number, headers: Record<string, string> = {}): Fault =>
    (response) =>
      sendJson(response, status, { status, title: "Not this time" }, headers),
  html: (response: ServerResponse) =>
    void response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>Onderhoud</title>"),
  /** A complete answer that holds half a document. */
  truncated: (response: ServerResponse) => void response.writeHead(200).end('{"meteringPoints": [{"ean": "8716'),
  /** The connection ends before the announced length. */
  cut: (response: ServerResponse) => {
    response.writeHead(200, { "content-length": "1000" });
    response.write('{"meteringPoints": [', () => response.socket?.destroy());
  },
  endless: (response: ServerResponse) => {
    response.writeHead(200, { "content-type": "application/json" });
    const chunk = " ".repeat(64 * 1024);
    const more = () => {
      while (!response.destroyed && response.write(chunk));
    };
    response.on("drain", more);
    more();
  },
  json:
    (body: unknown): Fault =>
    (response) =>
      sendJson(response, 200, body),
};

/** A loopback EAN-codeboek. Requests meet the faults of `queue` one by one, then `always`, then the register's own answer. */
export async function startEanCodeboek(points: CodeboekPoint[], api_key?: string) {
  const state = { requests: [] as URL[], queue: [] as Fault[], always: null as Fault | null, aborted: 0 };
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://register");
    state.requests.push(url);
    response.on("close", () => {
      if (!response.writableFinished) state.aborted += 1;
    });
    const answer = () => respond(request, response, url, points, api_key);
    const fault = state.queue.shift() ?? state.always;
    if (fault) fault(response, answer);
    else answer();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return Object.assign(state, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/eancodeboek`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

const allowed = [
  "postalCode product",
  "postalCode product streetNumber",
  "postalCode product streetNumber streetNumberAddition",
];

function respond(
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
  points: CodeboekPoint[],
  api_key?: string,
) {
  if (api_key && request.headers["x-api-key"] !== api_key) return sendJson(response, 403, { title: "Forbidden" });
  if (url.pathname !== "/eancodeboek/v1/ecbinfoset") return sendJson(response, 404, { title: "Not Found" });
  const { limit = "100", offset = "0", ...asked } = Object.fromEntries(url.searchParams);
  const combination = Object.keys(asked).sort().join(" ");
  const readable = [limit, offset, asked.streetNumber ?? "1"].every((value) => /^\d{1,9}$/.test(value));
  if (!allowed.includes(combination) || !readable || Number(limit) < 1 || Number(limit) > 100) {
    return sendJson(response, 400, { title: "Invalid input" });
  }
  const found = points.filter(
    ({ address, product }) =>
      product === asked.product &&
      (address === null ||
        (address.postalCode === asked.postalCode &&
          (asked.streetNumber === undefined || address.streetNumber === Number(asked.streetNumber)) &&
          (asked.streetNumberAddition === undefined || address.streetNumberAddition === asked.streetNumberAddition))),
  );
  const start = Number(offset);
  sendJson(response, 200, { meteringPoints: found.slice(start, start + Number(limit)) });
}

function sendJson(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  const type = status === 200 ? "application/json" : "application/problem+json";
  response.writeHead(status, { "content-type": type, ...headers }).end(JSON.stringify(body));
}
