// Nobody waits for a schedule: what a request puts in the outbox leaves as soon as it has committed.

import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { kicker } from "#shared/foundation/environment.ts";
import { addEndpoint } from "../events/receiver.ts";
import { serveHttp } from "../harness/browser.ts";
import { runOnKick } from "../harness/kicked.ts";
import { createAccount } from "../harness/people.ts";
import { startSmtp } from "../harness/smtp.ts";
import { createWorld, statementsOf, type World } from "../harness/world.ts";
import { linkFor, pageClient } from "../pages/signatory.ts";

let smtp: Awaited<ReturnType<typeof startSmtp>>;
let world: World;
let kicks = 0;
beforeAll(async () => {
  smtp = await startSmtp();
  world = await createWorld({
    host: "production",
    limits: "lifted",
    variables: { SMTP_URL: smtp.url, MAIL_FROM: "ERE Dienst <no-reply@ere.example>" },
  });
});
afterAll(async () => {
  await world.close();
  await smtp.close();
});
beforeEach(() => {
  kicks = 0;
  world.environment.kick = () => {
    kicks += 1;
  };
});

const kickWorker = () => world.send("/worker/kick", { method: "POST", token: world.environment.config.WORKER_SECRET });

describe("§6 the worker is kicked", () => {
  test("by a request that put a mail in the outbox, once it has committed, and by no other", async () => {
    const token = await world.partnerA.client.token();
    await createAccount(world);
    await world.get("/v1/accounts", token);
    await world.get("/v1/events", token);
    expect(kicks).toBe(0);
    const { account_id } = await createAccount(world);
    const { token: link } = await linkFor(world, account_id, { send_email: true });
    const before = kicks;
    await pageClient(world)(`/pages/mandate/${link}/code`, { form: {} });
    expect(kicks).toBe(before + 1);
  });

  test("by an event only where somebody is sent it", async () => {
    await createAccount(world);
    expect(kicks).toBe(0);
    await addEndpoint(world, "https://10.0.0.1/", { owner: world.partnerA.client.id });
    await createAccount(world);
    expect(kicks).toBe(1);
    await createAccount(world, world.partnerB);
    expect(kicks).toBe(1);
    await world.row("update core.webhook_endpoints set status = 'disabled', disabled_reason = 'operator'");
    await createAccount(world);
    expect(kicks).toBe(1);
  });

  test("ten times at once, and runs once", async () => {
    const names = await statementsOf(world, async () => {
      await Promise.all(Array.from({ length: 10 }, kickWorker));
      await world.idle();
    });
    // each run asks for notices once. The first may have begun before the last came: then there is one more, which sees what came meanwhile
    const runs = names.filter((name) => name === "due_notices").length;
    expect(runs).toBeGreaterThanOrEqual(1);
    expect(runs).toBeLessThanOrEqual(2);
  });

  test("over HTTP with its secret, once for many at once; a worker that is away or hangs delays nobody", async () => {
    const http = await serveHttp();
    const seen: string[] = [];
    http.answer = async (request) => {
      seen.push(`${request.method} ${new URL(request.url).pathname} ${request.headers.get("authorization")}`);
      await sleep(30);
      return Response.json({ ok: true });
    };
    const kick = kicker({ SUPABASE_URL: http.url, WORKER_SECRET: `${"x".repeat(32)},${"o".repeat(32)}` });
    for (let n = 0; n < 10; n++) kick();
    expect(seen, "nobody waits for it").toEqual([]);
    await expect.poll(() => seen.length).toBeGreaterThan(0);
    await sleep(100);
    expect(seen).toEqual([`POST /functions/v1/worker/kick Bearer ${"x".repeat(32)}`]);
    await http.close();
    // nobody answers there any more
    kick();
    await sleep(20);
  });

  test("so that a code is at the mail server within a second of being asked for", async () => {
    runOnKick(world);
    const took: number[] = [];
    for (let n = 0; n < 5; n++) {
      const { account_id } = await createAccount(world);
      const { token: link } = await linkFor(world, account_id);
      await world.idle();
      const { length } = smtp.received;
      const began = performance.now();
      await pageClient(world)(`/pages/mandate/${link}/code`, { form: {} });
      for (let patience = 0; smtp.received.length === length && patience < 6000; patience++) await sleep(10);
      took.push(Math.round(performance.now() - began));
      expect(smtp.received.length).toBe(length + 1);
    }
    console.log(`from asking for a code to its arrival at the mail server: ${took.join(", ")} ms`);
  });
});
