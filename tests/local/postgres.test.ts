// A throwaway server, as the tests and `npm run migration` start it.

import { mkdtempSync } from "node:fs";
import { type AddressInfo, createServer, Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { freePort, startPostgres } from "#local/postgres.ts";

afterEach(() => vi.restoreAllMocks());

test("a port that is chosen beside others is none of them, unless it is preferred", async () => {
  const others = Array.from({ length: 12_000 }, (_, n) => 20_000 + n).filter((port) => port % 1000 !== 1);
  const chosen = await freePort(undefined, others);
  expect(chosen % 1000).toBe(1);
  expect(await freePort(chosen, [chosen])).toBe(chosen);
});

test("a free port that another program takes first: the server starts on another one", async () => {
  const other = createServer();
  const ports: number[] = [];
  const { close } = Server.prototype;
  // between the choice of the port and the start of the server
  vi.spyOn(Server.prototype, "close").mockImplementationOnce(function (this: Server, done) {
    const { port } = this.address() as AddressInfo;
    ports.push(port);
    return close.call(this, () => other.listen(port, "127.0.0.1", () => done?.()));
  });
  const folder = mkdtempSync(join(tmpdir(), "ere-postgres-"));
  const server = await startPostgres({ folder, password: "x", durable: false, log_file: `${folder}.log` });
  try {
    expect(ports).toEqual([(other.address() as AddressInfo).port]);
    expect(ports).not.toContain(server.port);
    await server.query("select 1");
  } finally {
    await server.stop();
    other.close();
  }
});
