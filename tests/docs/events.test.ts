// The receiver of docs/events.md, run as it is written there.

import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ROOT } from "#local/checkout.ts";
import { freePort } from "#local/postgres.ts";
import { deliverWebhooks } from "../../supabase/functions/worker/webhooks.ts";
import { addEndpoint } from "../events/receiver.ts";
import { createWorld, type World } from "../harness/world.ts";

const page = readFileSync(join(ROOT, "docs/events.md"), "utf8");
const [, program = ""] = /```js\n([\s\S]*?)```/.exec(page) ?? [];
// beside the packages, where it finds the one it asks for
const folder = mkdtempSync(join(ROOT, "node_modules/.receiver-"));

let world: World;
let receiver: ChildProcess | undefined;
beforeAll(async () => {
  world = await createWorld({ variables: { WEBHOOK_ALLOW_LOOPBACK: "true" } });
});
afterAll(async () => {
  receiver?.kill();
  rmSync(folder, { recursive: true });
  await world.close();
});

test("§6 the receiver of the guide, fifteen lines, takes what is sent and refuses what is forged", async () => {
  expect(program.trimEnd().split("\n")).toHaveLength(15);
  writeFileSync(join(folder, "receiver.mjs"), program);
  const port = await freePort();
  const url = `http://127.0.0.1:${port}/`;
  const { secret } = await addEndpoint(world, url);
  receiver = spawn(process.execPath, [join(folder, "receiver.mjs")], {
    env: { PATH: process.env.PATH, PORT: String(port), WEBHOOK_SECRET: secret },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let printed = "";
  receiver.stdout?.on("data", (chunk) => {
    printed += chunk;
  });
  const forged = () => fetch(url, { method: "POST", body: "{}" }).then((response) => response.status);
  await expect.poll(() => forged().catch(() => null)).toBe(400);

  await world.row(
    "select private.append_event($1, $1, 'draft.active', gen_random_uuid(), '{\"status\": \"active\"}')",
    world.partnerA.id,
  );
  const caller = { kind: "worker", host: "sandbox", request_id: "test" };
  const call = (name: string, ...input: (object | null)[]) => world.environment.slowDb.call(name, caller, ...input);
  expect(
    await deliverWebhooks(
      world.environment,
      call as Parameters<typeof deliverWebhooks>[1],
      Date.now() + 20_000,
      "test",
    ),
  ).toEqual({ delivered: 1, failed: 0 });
  await expect.poll(() => printed).toMatch(/^[0-9a-f-]{36} draft\.active \{/);
});
