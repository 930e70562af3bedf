// The line on which requests of ours leave. tests/events/delivery.test.ts tries it with hostile receivers and names.

import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { Line } from "#shared/domain/outbound/line.ts";
import type { Configuration } from "#shared/foundation/configuration.ts";

const LOCAL = { API_HOST: "sandbox", WEBHOOK_ALLOW_LOOPBACK: "true" } as Configuration;
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** A line to a server of the test's. */
async function lineTo(handle: RequestListener, path = "/list?offset=2", config = LOCAL) {
  const server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const line = new Line(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, config);
  closing.push(
    () => line.close(),
    () => server.closeAllConnections(),
    () => server.close(),
  );
  return line;
}

const get = { method: "GET", headers: { accept: "application/json" }, mostBytes: 1000 } as const;

test("a GET is answered with status, headers and text", async () => {
  const line = await lineTo(({ method, url, headers }, response) =>
    response.setHeader("x-total-count", "7").end(JSON.stringify([method, url, headers.accept, "é"])),
  );
  const { status, error, headers, text } = await line.send(get);
  expect([status, error, headers["x-total-count"]]).toEqual([200, null, "7"]);
  expect(JSON.parse(text)).toEqual(["GET", "/list?offset=2", "application/json", "é"]);
});

test("of a long answer no more is read than was asked for", async () => {
  let written = 0;
  const line = await lineTo((_, response) => {
    const write = () => {
      while (!response.destroyed && response.write("x".repeat(1000))) written += 1;
      if (!response.destroyed) response.once("drain", write);
    };
    write();
  });
  const { status, text } = await line.send(get);
  expect(status).toBe(200);
  expect(text.length).toBeGreaterThanOrEqual(1000);
  expect(text.length).toBeLessThan(200_000);
  expect(written).toBeLessThan(100_000);
});

test("a redirect is not followed", async () => {
  let asked = 0;
  const line = await lineTo((_, response) => {
    asked += 1;
    response.writeHead(302, { location: "/elsewhere" }).end();
  });
  expect(await line.send(get)).toMatchObject({ status: 302, error: "redirect" });
  expect(asked).toBe(1);
});

test("who does not answer in time has not answered", async () => {
  const line = await lineTo(() => {});
  expect(await line.send({ ...get, patienceMs: 200 })).toMatchObject({ status: null, error: "timeout", text: "" });
});

test("nothing leaves for a URL that we would not store", async () => {
  let asked = 0;
  const count: RequestListener = (_, response) => {
    asked += 1;
    response.end();
  };
  const production = { API_HOST: "production", WEBHOOK_ALLOW_LOOPBACK: "true" } as Configuration;
  const line = await lineTo(count, "/", production);
  expect(await line.send(get)).toMatchObject({ status: null, error: "url_not_allowed", ms: 0 });
  expect(asked).toBe(0);
});
