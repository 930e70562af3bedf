// A neighbor of the functions, such as Supabase Auth or a mail server, with a wire in between that can be broken.

import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** refuse: nobody listens. hang: no byte comes back. drip: a byte comes now and then. */
export const MODES = ["refuse", "hang", "error", "garbage", "drip"] as const;
export type Mode = (typeof MODES)[number] | "pass";

const DRIP_MS = 200;
const ERRORS = {
  http: 'HTTP/1.1 500 Internal Server Error\r\nContent-Type: application/json\r\nContent-Length: 16\r\nConnection: close\r\n\r\n{"error":"down"}',
  smtp: "421 4.3.2 Not now\r\n",
};

export async function startNeighbor(speaks: keyof typeof ERRORS, upstream: () => number) {
  let mode: Mode = "pass";
  let broken = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket)).on("error", () => socket.destroy());
    if (mode !== "pass") broken += 1;
    if (mode === "refuse") socket.resetAndDestroy();
    else if (mode === "hang") socket.resume();
    else if (mode === "error" && speaks === "smtp") socket.end(ERRORS.smtp);
    else if (mode === "error") socket.once("data", () => socket.end(ERRORS.http));
    else if (mode === "garbage" && speaks === "smtp") socket.end("\u0000\u00ff{}]]>\r\n\r\n");
    else if (mode === "garbage")
      socket.once("data", () => socket.end(`HTTP/1.1 200 OK\r\nContent-Length: 24\r\n\r\n\u0000<html>]}{"a":"\u00ff`));
    else {
      const line = connect(upstream(), "127.0.0.1");
      sockets.add(line);
      line.on("close", () => sockets.delete(line)).on("error", () => socket.destroy());
      socket.on("close", () => line.destroy());
      socket.pipe(line);
      if (mode === "pass") line.pipe(socket);
      else drip(line, socket);
    }
  });
  const port = await new Promise<number>((resolve) =>
    server.listen(0, "127.0.0.1", () => resolve((server.address() as AddressInfo).port)),
  );
  return {
    port,
    /** Connections that met it broken since the last time it was asked. */
    met: () => {
      const count = broken;
      broken = 0;
      return count;
    },
    /** Connections of before end, as a wire that breaks ends them. */
    become(next: Mode) {
      mode = next;
      for (const socket of sockets) socket.destroy();
    },
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
export type Neighbor = Awaited<ReturnType<typeof startNeighbor>>;

function drip(from: Socket, to: Socket): void {
  let waiting = Buffer.alloc(0);
  from.on("data", (chunk) => {
    waiting = Buffer.concat([waiting, chunk]);
  });
  const timer = setInterval(() => {
    if (waiting.length === 0) return;
    to.write(waiting.subarray(0, 1));
    waiting = waiting.subarray(1);
  }, DRIP_MS);
  to.on("close", () => clearInterval(timer));
}
