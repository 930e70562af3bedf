// HTTP requests over sockets of our own, some 15 us each. Node's own client takes 30 to 40, on the same cores as what is measured, and
// would so flatter whatever is held against a floor.

import { connect, type Socket } from "node:net";

export type Outgoing = {
  method?: "GET" | "POST";
  path: string;
  headers?: Record<string, string>;
  body?: object | string;
};

/** A request as it goes over the wire. */
export function wire({ method = "GET", path, headers = {}, body }: Outgoing): Buffer {
  const text = body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body);
  const lines = Object.entries({
    host: "127.0.0.1",
    // who calls is in the address that the platform writes
    "x-forwarded-for": "192.0.2.1",
    ...(body === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(text) }),
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\n${text}`);
}

type Answer = { status: number; headers: string; body: Buffer };

type Connection = {
  /** Sends one request and waits for the whole answer. @throws when the connection is lost. */
  send(request: Buffer): Promise<Answer>;
  close(): void;
};

/** A connection that is kept alive, for one request at a time. */
export async function openConnection(url: string): Promise<Connection> {
  const { hostname, port } = new URL(url);
  const socket: Socket = connect(Number(port), hostname);
  socket.setNoDelay(true);
  await new Promise<void>((resolve, reject) => {
    socket.once("connect", resolve);
    socket.once("error", reject);
  });
  let waiting: PromiseWithResolvers<Answer> | undefined;
  let reading = newReading();
  socket.on("data", (chunk) => {
    const answer = reading.take(chunk);
    if (!answer) return;
    reading = newReading();
    waiting?.resolve(answer);
  });
  const lost = (error?: Error) => waiting?.reject(error ?? new Error(`${url} closed the connection`));
  socket.on("error", lost).on("close", () => lost());
  return {
    send(request) {
      waiting = Promise.withResolvers<Answer>();
      socket.write(request);
      return waiting.promise;
    },
    close: () => void socket.destroy(),
  };
}

/** One answer as its bytes come in: by its length, or in chunks (RFC 9112 section 7.1). */
function newReading(): { take(chunk: Buffer): Answer | undefined } {
  let head: { status: number; headers: string; length: number | undefined } | undefined;
  let begun: Buffer = Buffer.alloc(0);
  const parts: Buffer[] = [];
  let received = 0;
  const whole = (body: Buffer): Answer => ({ status: head?.status ?? 0, headers: head?.headers ?? "", body });
  return {
    take(chunk) {
      let rest = chunk;
      if (!head) {
        begun = begun.length === 0 ? chunk : Buffer.concat([begun, chunk]);
        const end = begun.indexOf("\r\n\r\n");
        if (end < 0) return undefined;
        const headers = begun.toString("latin1", 0, end);
        const length = /^content-length: (\d+)/im.exec(headers)?.[1];
        head = {
          status: Number(headers.slice(9, 12)),
          headers,
          length: length === undefined ? undefined : Number(length),
        };
        rest = begun.subarray(end + 4);
      }
      parts.push(rest);
      received += rest.length;
      if (head.length !== undefined) return received < head.length ? undefined : whole(Buffer.concat(parts));
      // the last chunk has no length and ends the answer
      const tail = rest.length >= 5 ? rest : Buffer.concat(parts);
      return tail.subarray(-5).toString("latin1") === "0\r\n\r\n" ? whole(unchunk(Buffer.concat(parts))) : undefined;
    },
  };
}

function unchunk(body: Buffer): Buffer {
  const chunks: Buffer[] = [];
  for (let at = 0; ; ) {
    const line = body.indexOf("\r\n", at);
    const length = Number.parseInt(body.toString("latin1", at, line), 16);
    if (length === 0) return Buffer.concat(chunks);
    chunks.push(body.subarray(line + 2, line + 2 + length));
    at = line + 2 + length + 2;
  }
}

export type Load = { url: string; next: () => Buffer; concurrency: number };

/**
 * Sends for so long, each connection its next request as soon as the last is answered. Gives what each request took, in
 * milliseconds. @throws when one is not answered 200: a figure over errors is none.
 */
export async function load(
  { url, next, concurrency }: Load,
  seconds: number,
): Promise<{ took: number[]; seconds: number }> {
  const connections = await Promise.all(Array.from({ length: concurrency }, () => openConnection(url)));
  const took: number[] = [];
  const started = performance.now();
  const deadline = started + seconds * 1000;
  try {
    await Promise.all(
      connections.map(async (connection) => {
        for (let begun = performance.now(); begun < deadline; ) {
          const { status, body } = await connection.send(next());
          if (status !== 200) throw new Error(`${url} answered ${status}: ${body}`);
          const now = performance.now();
          took.push(now - begun);
          begun = now;
        }
      }),
    );
    return { took, seconds: (performance.now() - started) / 1000 };
  } finally {
    for (const connection of connections) connection.close();
  }
}

/** One request by itself, and what it is answered as JSON. @throws when that is not 200. */
export async function ask<T>(url: string, request: Outgoing): Promise<T> {
  const connection = await openConnection(url);
  try {
    const { status, body } = await connection.send(wire(request));
    if (status !== 200) throw new Error(`${url}${request.path} answered ${status}: ${body}`);
    return JSON.parse(body.toString());
  } finally {
    connection.close();
  }
}
