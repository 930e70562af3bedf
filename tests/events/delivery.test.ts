// What is sent reaches its receiver: signed, in order, again where it failed, and never anywhere else.

import { Webhook as Standard } from "standardwebhooks";
import { Webhook as Svix } from "svix";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { LookUp } from "#shared/domain/outbound/line.ts";
import { newWebhookSecret, sealWebhookSecret } from "#shared/domain/webhooks/secret.ts";
import { deliverWebhooks, startDelivering } from "../../supabase/functions/worker/webhooks.ts";
import { createPartnerWorld, type PartnerWorld } from "../partner/partner_world.ts";
import { addEndpoint, type Received, type Receiver, startReceiver, status } from "./receiver.ts";

const START = "2026-06-15T12:00:00Z";
const later = (seconds: number) => new Date(Date.parse(START) + seconds * 1000).toISOString();
const HOUR = 3600;
const DAY = 24 * HOUR;

let world: PartnerWorld;
let receiver: Receiver;
beforeAll(async () => {
  world = await createPartnerWorld({ now: START, variables: { WEBHOOK_ALLOW_LOOPBACK: "true" } });
});
afterAll(() => world.close());
beforeEach(async () => {
  receiver = await startReceiver();
  await world.freeze(START);
  await world.database.admin.query(
    "delete from core.webhook_endpoints; delete from core.events; delete from core.event_heads; delete from core.mail_outbox",
  );
  world.log.length = 0;
});
afterEach(() => receiver.close());

type Endpoint = Awaited<ReturnType<typeof addEndpoint>>;
type Claimed = { partner_id: string; webhook_id: string; lease_id: string; posts: { body: string }[] };
const endpoint = (url = receiver.url, options: Parameters<typeof addEndpoint>[2] = {}) =>
  addEndpoint(world, url, options);
/** Events of partner A's log: drafts that were claimed. */
async function happen(count: number, { partner = world.partnerA.id, type = "draft.claimed" } = {}): Promise<void> {
  await world.row(
    'select private.append_event($1, $1, $3, gen_random_uuid(), \'{"status": "claimed"}\') from generate_series(1, $2)',
    partner,
    count,
    type,
  );
}
const call = (name: string, ...input: (object | null)[]) =>
  world.environment.slowDb.call(name, { kind: "worker", host: "sandbox", request_id: "test" }, ...input);
async function deliver({ budget = 30_000, lookUp }: { budget?: number; lookUp?: LookUp } = {}) {
  return deliverWebhooks(
    world.environment,
    call as Parameters<typeof deliverWebhooks>[1],
    Date.now() + budget,
    "test",
    lookUp,
  );
}
const state = ({ id }: Endpoint) => world.row("select * from core.webhook_endpoints where id = $1", id);
const attempts = async ({ id }: Endpoint) =>
  (
    await world.database.admin.query(
      "select attempt, status, error, next_attempt_at from core.webhook_attempts where endpoint_id = $1 order by id",
      [id],
    )
  ).rows;
const sequences = (received: Received[]) => received.map(({ body }) => body.sequence);
/** Ends the wait for retries and probes, without moving the clock. */
const hurry = () =>
  world.database.admin.query(
    "update core.webhook_retries set next_attempt_at = least(next_attempt_at, private.now()); update core.webhook_endpoints set probe_at = least(probe_at, private.now())",
  );

describe("§6 a webhook", () => {
  test("has the event of the log in it, its id, and a signature that standardwebhooks and svix verify", async () => {
    const made = await endpoint();
    await happen(1);
    expect(await deliver()).toEqual({ delivered: 1, failed: 0 });
    const [log] = (await world.get("/partner/events", world.keyA)).body.events;
    const [{ id, headers, text, body }] = receiver.received as [Received];
    expect([id, body]).toEqual([
      log.id,
      { type: log.type, timestamp: log.created_at, sequence: log.sequence, data: log.data },
    ]);
    expect(headers).toMatchObject({ "content-type": "application/json", "user-agent": "ERE-Webhooks/1" });
    // the clock of the test stands still, and both refuse what is five minutes old
    const { Webhook } = await import("standardwebhooks");
    const now = new Date();
    const fresh = {
      ...headers,
      "webhook-timestamp": String(Math.floor(now.getTime() / 1000)),
      "webhook-signature": new Webhook(made.secret).sign(id, now, text),
    };
    expect(new Standard(made.secret).verify(text, fresh)).toEqual(body);
    expect(new Svix(made.secret).verify(text, fresh)).toEqual(body);
    const signed = new Standard(made.secret).sign(id, new Date(Number(headers["webhook-timestamp"]) * 1000), text);
    expect(headers["webhook-signature"]).toBe(signed);
    expect(() => new Standard(newWebhookSecret()).verify(text, fresh)).toThrow();
    expect(await attempts(made)).toEqual([{ attempt: 1, status: 204, error: null, next_attempt_at: null }]);
  });

  test("as sent now verifies by both packages as it is", async () => {
    const { now } = world.environment;
    world.environment.now = () => new Date();
    const made = await endpoint();
    await happen(3);
    await deliver();
    world.environment.now = now;
    for (const { text, headers, body } of receiver.received) {
      expect(new Standard(made.secret).verify(text, headers)).toEqual(body);
      expect(new Svix(made.secret).verify(text, headers)).toEqual(body);
      expect(() => new Standard(made.secret).verify(`${text} `, headers)).toThrow();
    }
    expect(receiver.received).toHaveLength(3);
  });

  test("goes in order, once, and only of the types that are wanted; whoever else has an endpoint gets theirs", async () => {
    const all = await endpoint();
    const other = await startReceiver();
    const some = await endpoint(other.url, { types: ["draft.expired"] });
    for (let round = 0; round < 3; round++) {
      await happen(40);
      await happen(1, { type: "draft.expired" });
    }
    await happen(2, { partner: world.partnerB.id });
    await Promise.all([deliver(), deliver(), deliver()]);
    expect(sequences(receiver.received)).toEqual(Array.from({ length: 123 }, (_, index) => index + 1));
    expect(sequences(other.received)).toEqual([41, 82, 123]);
    expect([(await state(all)).delivered_to, (await state(some)).delivered_to]).toEqual(["123", "123"]);
    expect(await deliver()).toEqual({ delivered: 0, failed: 0 });
    await other.close();
  });

  test("is signed with both secrets for a day after a rotation, of two rotations with the two newest, and at once with one where that is asked", async () => {
    const made = await endpoint();
    const rotate = async (now: boolean) => {
      const secret = newWebhookSecret();
      const sealed = sealWebhookSecret(world.environment, made.id, secret);
      await world.row(
        "select private.set_tenant(e.partner_id), private.rotate_webhook(e, $2) from core.webhook_endpoints e where id = $1",
        made.id,
        { secret: sealed, now },
      );
      return secret;
    };
    const signers = async (secrets: string[]) => {
      await happen(1);
      receiver.received = [];
      await deliver();
      const [{ id, headers, text }] = receiver.received as [Received];
      const at = new Date(Number(headers["webhook-timestamp"]) * 1000);
      return headers["webhook-signature"]
        ?.split(" ")
        .map((one) => secrets.findIndex((secret) => new Standard(secret).sign(id, at, text) === one));
    };
    const second = await rotate(false);
    expect(await signers([made.secret, second])).toEqual([1, 0]);
    const third = await rotate(false);
    expect(await signers([made.secret, second, third])).toEqual([2, 1]);
    await world.freeze(later(DAY + 1));
    expect(await signers([made.secret, second, third])).toEqual([2]);
    const fourth = await rotate(true);
    expect(await signers([made.secret, second, third, fourth])).toEqual([3]);
  });
});

describe("§6 a receiver that fails", () => {
  test("is sent the event again after 5 s, 5 min, 30 min …, ten times in all, while the others go on in their order", async () => {
    const made = await endpoint();
    receiver.answer = (response, { body }) => status(body.sequence === 2 ? 500 : 204)(response, {} as Received);
    await happen(4);
    // after a failure the rest waits for the next turn, which comes at once
    await deliver();
    expect(sequences(receiver.received)).toEqual([1, 2, 3, 4]);
    const waits: number[] = [];
    let at = 0;
    for (let attempt = 2; attempt <= 10; attempt++) {
      const { next } = await world.row(
        "select extract(epoch from next_attempt_at - private.now())::float as next from core.webhook_retries",
      );
      waits.push(next);
      at += next;
      await world.freeze(later(at - 1));
      expect(await deliver()).toEqual({ delivered: 0, failed: 0 });
      await world.freeze(later(at + 1));
      at += 1;
      expect(await deliver()).toEqual({ delivered: 0, failed: 1 });
      // others arrive in between, so it never fails five times in a row
      await happen(1);
      await deliver();
    }
    const wanted = [5, 300, 1800, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR, 20 * HOUR, 24 * HOUR];
    for (const [index, wait] of waits.entries()) {
      expect(wait).toBeGreaterThanOrEqual((wanted[index] as number) * 0.9 - 1);
      expect(wait).toBeLessThanOrEqual((wanted[index] as number) * 1.1 + 1);
    }
    const failed = (await attempts(made)).filter(({ status }) => status === 500);
    expect(failed.map(({ attempt }) => attempt)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(await world.row("select attempts, next_attempt_at from core.webhook_retries")).toEqual({
      attempts: 10,
      next_attempt_at: null,
    });
    await world.freeze(later(at + 40 * DAY));
    expect(await deliver()).toEqual({ delivered: 0, failed: 0 });
    // still in the log, and sent again by who asks for it
    receiver.answer = status(204);
    await world.row(
      "select private.set_tenant(e.partner_id), private.replay_webhook(e, '{\"failed\": true}') from core.webhook_endpoints e",
    );
    receiver.received = [];
    await deliver();
    expect(sequences(receiver.received)).toEqual([2]);
  });

  test("five times in a row is tried one event at a time, and goes on with that one once it is healed: all arrive, in order", async () => {
    const made = await endpoint();
    receiver.answer = status(500);
    await happen(20);
    await deliver();
    // four went aside to be sent again, the fifth is where it stands
    expect(sequences(receiver.received)).toEqual([1, 2, 3, 4, 5]);
    expect(await state(made)).toMatchObject({ failures: 5, delivered_to: "4", status: "enabled" });
    receiver.received = [];
    for (let at = 1; at <= HOUR; at += 60) {
      await world.freeze(later(at));
      await deliver();
    }
    const probes = receiver.received.length;
    expect(probes).toBeGreaterThan(4);
    expect(probes).toBeLessThan(15);
    receiver.received = [];
    receiver.answer = status(204);
    await happen(5);
    await world.freeze(later(HOUR + 700));
    await deliver();
    const arrived = sequences(receiver.received);
    expect(new Set(arrived)).toEqual(new Set(Array.from({ length: 25 }, (_, index) => index + 1)));
    expect(arrived).toHaveLength(25);
    expect(arrived.filter((sequence) => Number(sequence) > 4)).toEqual(
      Array.from({ length: 21 }, (_, index) => index + 5),
    );
    expect(await state(made)).toMatchObject({ failures: 0, failing_since: null, delivered_to: "25" });
  });

  test("with Retry-After is left alone for so long, a day at most; only with 429 and 503", async () => {
    const made = await endpoint();
    const wait = async () =>
      (
        await world.row(
          "select extract(epoch from next_attempt_at - private.now())::int as s from core.webhook_retries",
        )
      ).s;
    for (const [code, header, seconds] of [
      [503, "120", 120],
      [429, "999999", DAY],
      [503, "Mon, 15 Jun 2026 12:10:00 GMT", 600],
      [503, "soon", 5],
      [500, "120", 5],
    ] as const) {
      await world.database.admin.query(
        "delete from core.webhook_retries; update core.webhook_endpoints set failures = 0",
      );
      receiver.answer = status(code, { "retry-after": header });
      await happen(1);
      await deliver();
      const got = await wait();
      expect(Math.abs(got - seconds), `${code} ${header}: ${got}`).toBeLessThanOrEqual(seconds === 5 ? 1 : 0);
    }
    expect(await state(made)).toMatchObject({ status: "enabled" });
  });

  test("that redirects, hangs, drips, breaks off or sends gigabytes has failed, or not, within ten seconds; nothing is followed", async () => {
    const elsewhere = await startReceiver();
    const cases: [string, Receiver["answer"], { status: number | null; error: string | null }][] = [
      ["redirects", status(302, { location: elsewhere.url }), { status: 302, error: "redirect" }],
      [
        "redirects to the metadata of a cloud",
        status(307, { location: "http://169.254.169.254/latest/meta-data/" }),
        { status: 307, error: "redirect" },
      ],
      ["never answers", () => {}, { status: null, error: "timeout" }],
      [
        "drips",
        (response) => {
          response.writeHead(200);
          const drip = setInterval(() => response.write("."), 100);
          response.on("close", () => clearInterval(drip));
        },
        { status: null, error: "timeout" },
      ],
      ["breaks off", (response) => response.destroy(), { status: null, error: "connection_failed" }],
      [
        "sends gigabytes",
        (response) => {
          response.writeHead(200);
          const chunk = Buffer.alloc(1024 * 1024);
          const pour = () => {
            while (!response.destroyed && response.write(chunk));
          };
          response.on("drain", pour);
          pour();
        },
        { status: 200, error: null },
      ],
    ];
    const made = await Promise.all(
      cases.map(async ([, answer]) => {
        const each = await startReceiver();
        each.answer = answer;
        return { each, endpoint: await endpoint(each.url) };
      }),
    );
    await happen(1);
    const began = performance.now();
    const before = process.memoryUsage().rss;
    await deliver();
    expect(performance.now() - began).toBeLessThan(14_000);
    expect(process.memoryUsage().rss - before).toBeLessThan(300 * 2 ** 20);
    for (const [index, [what, , wanted]] of cases.entries()) {
      const [first] = await attempts((made[index] as (typeof made)[0]).endpoint);
      expect({ status: first.status, error: first.error }, what).toEqual(wanted);
    }
    expect(elsewhere.received).toEqual([]);
    for (const { each } of made) await each.close();
    await elsewhere.close();
  });

  test("that hangs delays nobody else's", async () => {
    const hanging = await startReceiver();
    hanging.answer = () => {};
    await endpoint(hanging.url);
    await endpoint();
    await happen(200);
    const began = performance.now();
    receiver.answer = (response) => {
      response.writeHead(204).end();
      if (receiver.received.length < 200) return;
      // all of them are there while the other one still hangs, which ends now
      console.log(`200 events beside a receiver that hangs: ${Math.round(performance.now() - began)} ms`);
      expect(hanging.received).toHaveLength(1);
      void hanging.close();
    };
    await deliver();
    expect(receiver.received).toHaveLength(200);
  });

  test("that hangs keeps nobody who comes after the last look of a run waiting: the next run begins beside it", async () => {
    const hanging = await startReceiver();
    hanging.answer = () => {};
    await endpoint(hanging.url);
    await happen(1);
    // looks for a quarter of a second; a call may take its ten seconds after that
    const first = startDelivering(
      world.environment,
      call as Parameters<typeof startDelivering>[1],
      Date.now() + 11_250,
      "test",
    );
    await first.leased;
    await endpoint();
    await happen(1);
    expect(await deliver()).toEqual({ delivered: 2, failed: 0 });
    expect(hanging.received).toHaveLength(1);
    await hanging.close();
    expect(await first.sent).toEqual({ delivered: 0, failed: 1 });
  });

  test("with 410 is disabled at once; with nothing good for five days after mails at 24 and 96 hours; and nothing is lost", async () => {
    const made = await endpoint();
    receiver.answer = status(410);
    await happen(3);
    await deliver();
    expect(await state(made)).toMatchObject({ status: "disabled", disabled_reason: "gone", delivered_to: "0" });
    expect(receiver.received).toHaveLength(1);
    const enable = () =>
      world.row("select private.set_tenant(e.partner_id), private.enable_webhook(e) from core.webhook_endpoints e");
    await enable();
    receiver.answer = status(204);
    receiver.received = [];
    await deliver();
    // the fourth says that it was disabled
    expect(receiver.received.map(({ body }) => [body.sequence, body.type])).toEqual([
      [1, "draft.claimed"],
      [2, "draft.claimed"],
      [3, "draft.claimed"],
      [4, "webhook_endpoint.disabled"],
    ]);

    const { id: person } = await world.row(
      "insert into auth.users (id, email) values (gen_random_uuid(), 'beheer@voorbeeld.nl') returning id",
    );
    await world.row(
      "insert into core.partner_managers (partner_id, user_id) values ($1, $2)",
      world.partnerA.id,
      person,
    );
    await world.row("delete from core.mail_outbox");
    receiver.answer = status(500);
    await happen(10);
    const mails = () => world.mails("order by created_at, recipient");
    const seen: Record<string, number> = {};
    for (const hour of [0, 1, 23, 24, 25, 95, 96, 97, 119, 120, 121]) {
      await world.freeze(later(hour * HOUR));
      await deliver();
      seen[(await mails()).length] ??= hour;
    }
    const { email: operator } = { email: world.environment.config.SUPPORT_EMAIL };
    const written = await mails();
    expect(written.map(({ template, recipient }) => [template, recipient])).toEqual(
      ["webhook_failing", "webhook_failing", "webhook_disabled"].flatMap((template) =>
        ["beheer@voorbeeld.nl", operator].sort().map((to) => [template, to]),
      ),
    );
    expect(written[0].text).toContain(receiver.url);
    expect(seen).toEqual({ 0: 0, 2: 24, 4: 96, 6: 120 });
    expect(await state(made)).toMatchObject({ status: "disabled", disabled_reason: "failing", delivered_to: "8" });
    await enable();
    receiver.answer = status(204);
    receiver.received = [];
    await hurry();
    await deliver();
    expect(new Set(sequences(receiver.received))).toEqual(new Set([5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]));
  });
});

test("§6 what a receiver cannot take stands for nothing else: the probes are of what comes next in the log and of what failed, each in its turn", async () => {
  const made = await endpoint();
  receiver.answer = status(500);
  await happen(9);
  await deliver();
  expect(sequences(receiver.received)).toEqual([1, 2, 3, 4, 5]);
  receiver.received = [];
  let probes = 0;
  const probe = async () => {
    probes += 1;
    await world.freeze(later(probes * 700)); // longer than the longest wait for the next one
    await deliver();
  };
  for (let n = 0; n < 8; n++) await probe();
  const probed = sequences(receiver.received);
  expect(probed.filter((_, index) => index % 2 === 0)).toEqual([5, 5, 5, 5]);
  expect(probed.filter((_, index) => index % 2 === 1).sort()).toEqual([1, 2, 3, 4]);
  expect(await state(made)).toMatchObject({ failures: 13, delivered_to: "4" });

  // it is there again, but for some events
  const refused = [1, 2, 3, 5];
  receiver.answer = (response, { body }) =>
    status(refused.includes(Number(body.sequence)) ? 500 : 204)(response, {} as Received);
  receiver.received = [];
  for (let n = 0; n < 8; n++) await probe();
  const arrived = sequences(receiver.received).filter((sequence) => !refused.includes(Number(sequence)));
  expect(arrived).toEqual([4, 6, 7, 8, 9]);
  expect(await state(made)).toMatchObject({ status: "enabled", delivered_to: "9" });
});

describe("§6 a secret that does not open", () => {
  /** As this deployment is without the key that the secret of an endpoint was sealed with. */
  const withoutKey = async (run: () => Promise<unknown>) => {
    const { config } = world.environment;
    const other = { current: "other", keys: { other: Buffer.alloc(32, 7).toString("base64") } };
    world.environment.config = { ...config, IBAN_KEYS: other };
    await run().finally(() => {
      world.environment.config = config;
    });
  };
  const rotate = async ({ id }: Endpoint) => {
    const secret = newWebhookSecret();
    await world.row(
      "select private.set_tenant(e.partner_id), private.rotate_webhook(e, $2) from core.webhook_endpoints e where id = $1",
      id,
      { secret: sealWebhookSecret(world.environment, id, secret) },
    );
    return secret;
  };

  test("is seen: in the attempts, the endpoint, the log and the figures; and loses, gives up and disables nothing", async () => {
    const made = await endpoint();
    await happen(3);
    await withoutKey(async () => {
      expect(await deliver()).toEqual({ delivered: 0, failed: 1 });
      expect(await attempts(made)).toMatchObject([{ attempt: 1, status: null, error: "secret_unreadable" }]);
      expect(world.log).toContainEqual(
        expect.objectContaining({ event: "webhook_unsigned", level: "error", webhook_id: made.id }),
      );
      const manager = await world.manager(world.partnerA);
      expect((await world.get("/partner/webhooks", manager)).body.webhooks).toMatchObject([
        { last_error: "secret_unreadable", failing_since: START, status: "enabled", delivered_to: 0 },
      ]);
      const { value } = await world.row(
        "select value::int from private.metrics() where name = 'webhook_secrets_unreadable'",
      );
      expect(value).toBe(1);
      for (const day of [1, 4, 6, 20, 40]) {
        await world.freeze(later(day * DAY));
        await deliver();
      }
    });
    expect(await state(made)).toMatchObject({ status: "enabled", delivered_to: "0" });
    expect((await attempts(made)).map(({ attempt }) => attempt)).toEqual([1, 1, 1, 1, 1, 1]);
    expect(await world.row("select count(*)::int from core.mail_outbox where template like 'webhook%'")).toEqual({
      count: 0,
    });
    expect(receiver.received).toEqual([]);
    // the key is back; that the receiver itself fails counts from now on
    receiver.answer = status(500);
    await hurry();
    await deliver();
    expect(await state(made)).toMatchObject({ status: "enabled", last_error: "http_500" });
    receiver.answer = status(204);
    await hurry();
    await deliver();
    expect(sequences(receiver.received)).toEqual([1, 1, 2, 3]);
    expect(await state(made)).toMatchObject({ last_error: null, failing_since: null, failures: 0 });
  });

  test("is replaced by a rotation, which signs with the new one alone where the old one is lost", async () => {
    const made = await endpoint();
    await happen(2);
    await withoutKey(async () => {
      await deliver();
      const secret = await rotate(made);
      await hurry();
      expect(await deliver()).toEqual({ delivered: 2, failed: 0 });
      for (const { id, headers, text } of receiver.received)
        expect(headers["webhook-signature"]).toBe(
          new Standard(secret).sign(id, new Date(Number(headers["webhook-timestamp"]) * 1000), text),
        );
    });
  });
});

describe("§6 where a webhook goes", () => {
  test("every address of a name is public when it is sent, or nothing is; the one that was judged is the one that is connected to", async () => {
    const { port } = receiver;
    const made = await endpoint(`https://receiver.example.com:${port}/`);
    const asked: string[] = [];
    const answering =
      (...lists: string[][]): LookUp =>
      async (hostname) => {
        asked.push(hostname);
        const list = lists[Math.min(asked.length, lists.length) - 1] as string[];
        return list.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
      };
    const refused: string[][] = [
      ["127.0.0.1"],
      ["93.184.216.34", "10.0.0.1"],
      ["169.254.169.254"],
      ["::1"],
      ["::ffff:10.0.0.1"],
      ["::7f00:1"],
      ["64:ff9b::a00:1"],
      ["2002:a00:1::1"],
      ["2001:0:a00:1::1"],
      ["fec0::1"],
      ["fd00::1"],
      ["fe80::1"],
      ["100.64.0.1"],
      ["0.0.0.0"],
      ["255.255.255.255"],
      [],
    ];
    for (const list of refused) {
      await happen(1);
      await world.row("update core.webhook_endpoints set failures = 0, failing_since = null, probe_at = null");
      await deliver({ lookUp: answering(list) });
    }
    const told = await attempts(made);
    expect(told.map(({ error }) => error)).toEqual(refused.map(() => "address_not_allowed"));
    expect(receiver.received).toEqual([]);
    // public when it was judged, private at a second look: there is no second look
    asked.length = 0;
    await happen(1);
    await world.row("update core.webhook_endpoints set failures = 0, failing_since = null, probe_at = null");
    await world.row("delete from core.webhook_retries");
    await deliver({ lookUp: answering(["192.0.0.8"], ["127.0.0.1"]) });
    expect(asked).toEqual(["receiver.example.com"]);
    expect(receiver.received).toEqual([]);
  });

  test("what could be stored once is judged again before it is sent; loopback only where that is configured", async () => {
    const made = await endpoint("https://10.0.0.1/");
    const local = await endpoint();
    await happen(1);
    const { config } = world.environment;
    world.environment.config = { ...config, WEBHOOK_ALLOW_LOOPBACK: "false" };
    await deliver();
    world.environment.config = config;
    expect((await attempts(made))[0]).toMatchObject({ error: "url_not_allowed", status: null });
    expect((await attempts(local))[0]).toMatchObject({ error: "url_not_allowed" });
    expect(receiver.received).toEqual([]);
  });
});

describe("§6 the worker", () => {
  test("killed in the middle of a batch leaves nothing out: the next one sends it once more after a minute, with the same ids", async () => {
    await endpoint();
    await happen(10);
    const caller = { kind: "worker", host: "sandbox", request_id: "test" };
    const claimed = JSON.parse(await world.environment.slowDb.call("lease_webhooks", caller, { size: 5, key: "00" }));
    expect(claimed[0].posts).toHaveLength(10);
    expect(await deliver()).toEqual({ delivered: 0, failed: 0 });
    await world.freeze(later(61));
    expect(await deliver()).toEqual({ delivered: 10, failed: 0 });
    expect(receiver.received.map(({ id }) => id)).toEqual(
      claimed[0].posts.map(({ event_id }: { event_id: string }) => event_id),
    );
    // whoever comes too late settles nothing
    const late = {
      partner_id: claimed[0].partner_id,
      webhook_id: claimed[0].webhook_id,
      lease_id: claimed[0].lease_id,
      results: [],
      operator: null,
    };
    expect(JSON.parse(await world.environment.slowDb.call("settle_webhook", caller, late))).toEqual({ settled: false });
  });

  test("says nothing of an endpoint that was moved while it was sent to, disabled after that or not; of one that was only disabled it does", async () => {
    const manager = await world.manager(world.partnerA);
    const act = (id: string, verb: string, body = {}) =>
      world.send(`/partner/webhooks/${id}/${verb}`, { method: "POST", token: manager, body });
    const answered = async (status: number, ...meanwhile: [verb: string, body?: object][]) => {
      const made = await endpoint();
      await happen(1);
      const claimed = JSON.parse(await call("lease_webhooks", { size: 5, key: "00" })) as Claimed[];
      const { partner_id, webhook_id, lease_id, posts } = claimed.find(
        (each) => each.webhook_id === made.id,
      ) as Claimed;
      for (const [verb, body] of meanwhile) expect((await act(made.id, verb, body)).status).toBe(200);
      const results = posts.map((post) => ({ ...post, body: undefined, at: START, status, ms: 1 }));
      const { settled } = JSON.parse(
        await call("settle_webhook", { partner_id, webhook_id, lease_id, results, operator: null }),
      );
      const { failures, failing_since, last_error, delivered_to } = await state(made);
      return { settled, failures, failing_since, last_error, sent: Number(delivered_to) > 0 };
    };
    const elsewhere = ["update", { url: "https://elsewhere.example.com/" }] as [string, object];
    const untouched = { settled: false, failures: 0, failing_since: null, last_error: null, sent: false };
    expect(await answered(500, elsewhere)).toEqual(untouched);
    expect(await answered(500, elsewhere, ["disable"])).toEqual(untouched);
    expect(await answered(500, ["disable"], elsewhere)).toEqual(untouched);
    expect(await answered(204, ["disable"])).toEqual({ ...untouched, settled: true, sent: true });
    expect(await answered(500, ["disable"])).toMatchObject({ settled: true, last_error: "http_500" });
  });

  test("sends nothing for a partner that is not active, and all of it once it is again", async () => {
    await endpoint();
    await happen(2);
    await world.row("update core.partners set is_active = false where id = $1", world.partnerA.id);
    expect(await deliver()).toEqual({ delivered: 0, failed: 0 });
    await world.row("update core.partners set is_active = true where id = $1", world.partnerA.id);
    expect(await deliver()).toEqual({ delivered: 2, failed: 0 });
  });

  test("sends a thousand events to a fast receiver, in order", async () => {
    await endpoint();
    await happen(1000);
    const began = performance.now();
    await deliver();
    const seconds = (performance.now() - began) / 1000;
    expect(sequences(receiver.received)).toEqual(Array.from({ length: 1000 }, (_, index) => index + 1));
    console.log(`1000 events to one fast receiver: ${seconds.toFixed(2)} s, ${Math.round(1000 / seconds)} a second`);
  });
});
