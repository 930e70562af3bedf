import { createServer, connect as dial, type Socket } from "node:net";

/** A database that accepts connections and says nothing more, from one moment to the next. */
export async function freezable(url: string) {
  let frozen = false;
  const { hostname, port } = new URL(url);
  const open = new Set<Socket>();
  const server = createServer((inward) => {
    const outward = dial(Number(port), hostname);
    for (const [from, to] of [
      [inward, outward],
      [outward, inward],
    ] as const) {
      open.add(from);
      from.on("data", (chunk) => !frozen && to.write(chunk));
      from.on("close", () => to.destroy());
      from.on("error", () => to.destroy());
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const through = new URL(url);
  through.port = String((server.address() as { port: number }).port);
  return {
    url: through.href,
    freeze(now: boolean) {
      frozen = now;
    },
    close() {
      for (const socket of open) socket.destroy();
      server.close();
    },
  };
}
