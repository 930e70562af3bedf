// Endpoints are managed by people, never by a key; what is refused is refused before anything is stored.

import { Webhook as Standard } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { runOnKick } from "../harness/kicked.ts";
import { operatorOf, type Ran } from "../operator/operator.ts";
import { createPartnerWorld, type PartnerWorld } from "../partner/partner_world.ts";
import { type Received, type Receiver, startReceiver, status } from "./receiver.ts";

let world: PartnerWorld;
let receiver: Receiver;
let manager: string;
let operator: (command: string) => Promise<Ran>;
beforeAll(async () => {
  receiver = await startReceiver();
  world = await createPartnerWorld({ variables: { WEBHOOK_ALLOW_LOOPBACK: "true" } });
  manager = await world.manager(world.partnerA);
  operator = operatorOf(world.database, "operator", {
    IBAN_KEYS: JSON.stringify(world.environment.config.IBAN_KEYS),
    WEBHOOK_ALLOW_LOOPBACK: "true",
  });
  runOnKick(world);
});
afterAll(async () => {
  await world.close();
  await receiver.close();
});

const create = (body: unknown = { url: receiver.url }, token = manager) => world.post("/partner/webhooks", body, token);
const act = (id: string, verb: string, body?: unknown, token = manager) =>
  world.send(`/partner/webhooks/${id}/${verb}`, { method: "POST", token, ...(body === undefined ? {} : { body }) });
const list = async (token = manager) => (await world.get("/partner/webhooks", token)).body.webhooks;
const clear = () => world.row("delete from core.webhook_endpoints");
const happen = (count = 1) =>
  world.row(
    "select private.append_event($1, $1, 'draft.claimed', gen_random_uuid(), '{\"status\": \"claimed\"}') from generate_series(1, $2)",
    world.partnerA.id,
    count,
  );
/** Waits until something is so. */
async function until(so: () => boolean): Promise<void> {
  for (let patience = 0; !so(); patience++) {
    if (patience > 1200) throw new Error("it never was");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

describe("§6 POST /partner/webhooks", () => {
  test("makes an endpoint whose secret is shown once, and stored as ciphertext bound to it", async () => {
    const { status: code, body } = await create({
      url: receiver.url,
      types: ["draft.claimed", "draft.active", "draft.claimed"],
    });
    expect([code, body]).toEqual([
      200,
      {
        id: expect.any(String),
        url: receiver.url,
        types: ["draft.claimed", "draft.active"],
        pseudonymous: true,
        status: "enabled",
        disabled_reason: null,
        created_at: expect.any(String),
        delivered_to: 0,
        failing_since: null,
        last_error: null,
        secret: expect.stringMatching(/^whsec_[\w+/]{43}=$/),
      },
    ]);
    const { secret, ...shown } = body;
    expect(await list()).toEqual([shown]);
    const stored = await world.row("select to_jsonb(e)::text as text from core.webhook_endpoints e");
    expect(stored.text).not.toContain(secret.slice(6, 20));
    expect(JSON.stringify(world.log)).not.toContain(secret.slice(6, 20));
    await clear();
  });

  test("a place that no database can store is a 400 that names the field, on making and on sending again", async () => {
    const { body: made } = await create();
    for (const odd of ["\ud800", "x\udc00", "a\u0000b"])
      for (const [field, answer] of [
        ["from", await create({ url: receiver.url, from: odd })],
        ["from", await act(made.id, "replay", { from: odd })],
        ["to", await act(made.id, "replay", { from: "2020-01-01", to: odd })],
      ] as const)
        expect(answer, `${field} ${JSON.stringify(odd)}`).toMatchObject({
          status: 400,
          body: { error: "invalid_request", issues: [{ path: field }] },
        });
    await clear();
  });

  test("refuses what is no public https address, and says why", async () => {
    for (const url of [
      "http://laadpunt.example.com",
      "https://127.0.0.1",
      "https://0x7f.1",
      "https://[::ffff:10.0.0.1]",
      "https://[::7f00:1]",
      "https://user:x@laadpunt.example.com",
      "https://laadpunt.example.com:22",
      "https://laadpunt.example.com.",
      "https://printer.local",
      "https://laadpunt.example.com/#a",
      `https://laadpunt.example.com/${"x".repeat(500)}`,
      "x",
    ]) {
      const { status: code, body } = await create({ url });
      expect([code, body.error, typeof body.detail], url).toEqual([422, "url_not_allowed", "string"]);
    }
    for (const body of [
      {},
      { url: 1 },
      { url: null },
      { url: "x".repeat(6000) },
      { url: receiver.url, types: [] },
      { url: receiver.url, types: ["mandate.sign"] },
      { url: receiver.url, types: "all" },
      { url: receiver.url, from: 7 },
    ])
      expect(await create(body), JSON.stringify(body)).toMatchObject({
        status: 400,
        body: { error: "invalid_request" },
      });
    expect(await list()).toEqual([]);
  });

  test("keeps a URL as URLs are normalised, so that one address has one spelling, the operator's too", async () => {
    const wanted = "https://xn--bcher-kva.example.com/b%20c?d=%C3%A9";
    for (const url of [
      wanted,
      "HTTPS://B\u00fccher.Example.COM:443/a/../b%20c?d=\u00e9",
      "https://bücher.example.com/./b%20c?d=%C3%A9",
    ]) {
      const { status: code, body } = await create({ url });
      expect([code, body.url], url).toEqual([200, wanted]);
      const added = await operator(`webhook add ${url} --partner partner-a`);
      expect(added.json.webhook.url).toBe(wanted);
    }
    expect(new Set((await list()).map(({ url }: { url: string }) => url))).toEqual(new Set([wanted]));
    expect((await create({ url: "https://laadpunt.example.com" })).body.url).toBe("https://laadpunt.example.com/");
    // as long as it may be, until it is encoded
    const long = await create({ url: `https://laadpunt.example.com/${"é".repeat(200)}` });
    expect([long.status, long.body.error, long.body.detail]).toEqual([
      422,
      "url_not_allowed",
      "Encoded, the URL is longer than 500 characters.",
    ]);
    await clear();
  });

  test("takes ten of a partner's own, however many its clients have; of many at once too", async () => {
    for (let n = 0; n < 3; n++)
      expect((await operator(`webhook add ${receiver.url} --client ${world.partnerA.client.client_id}`)).code).toBe(0);
    const answers = await Promise.all(Array.from({ length: 12 }, () => create()));
    expect(answers.filter(({ status: code }) => code === 200)).toHaveLength(10);
    expect(answers.find(({ status: code }) => code !== 200)).toMatchObject({
      status: 409,
      body: { error: "endpoint_limit" },
    });
    // those of a client are the client's to manage
    expect(await list()).toHaveLength(10);
    expect((await operator(`webhook list --partner partner-a`)).json.webhooks).toHaveLength(13);
    await clear();
  });

  test("is for people who manage the partner, and for no key, reader, client or other partner's manager", async () => {
    const { body } = await create();
    const other = await world.manager(world.partnerB);
    const reader = await world.manager(world.partnerA, "partners:read");
    const client = await world.partnerA.client.token();
    for (const token of [world.keyA, reader, client])
      expect((await create({ url: receiver.url }, token)).status).toBe(403);
    expect((await world.get("/partner/webhooks", world.keyA)).status).toBe(403);
    expect(await list(reader)).toHaveLength(1);
    expect(await list(other)).toEqual([]);
    const [ofClient] = [
      (await operator(`webhook add ${receiver.url} --client ${world.partnerA.client.client_id}`)).json.webhook
        .webhook_id,
    ];
    for (const verb of ["rotate", "test", "enable", "disable", "revoke"]) {
      expect((await act(body.id, verb, undefined, world.keyA)).status).toBe(403);
      for (const id of [ofClient, "x", "00000000-0000-4000-8000-000000000001"])
        expect(await act(id, verb)).toMatchObject({ status: 404, body: { error: "webhook_not_found" } });
      expect(await act(body.id, verb, undefined, other)).toMatchObject({
        status: 404,
        body: { error: "webhook_not_found" },
      });
    }
    await clear();
  });

  test("begins now, or where from says: a cursor, an event, a moment", async () => {
    await happen(3);
    const { events, next_cursor } = (await world.get("/partner/events", world.keyA)).body;
    const { next_cursor: first } = (await world.get("/partner/events?limit=1", world.keyA)).body;
    expect((await create()).body.delivered_to).toBe(3);
    expect((await create({ url: receiver.url, from: first })).body.delivered_to).toBe(1);
    expect((await create({ url: receiver.url, from: events[1].id })).body.delivered_to).toBe(1);
    expect((await create({ url: receiver.url, from: "2020-01-01" })).body.delivered_to).toBe(0);
    expect((await create({ url: receiver.url, from: "2099-01-01T00:00:00Z" })).body.delivered_to).toBe(3);
    expect((await create({ url: receiver.url, from: next_cursor })).body.delivered_to).toBe(3);
    for (const [from, error] of [
      ["00000000-0000-4000-8000-000000000001", "event_not_found"],
      ["B".repeat(22), "invalid_cursor"],
    ] as const) {
      const { body } = await create({ url: receiver.url, from });
      expect([body.error, body.detail], from).toEqual([error, expect.stringMatching(/^from/)]);
    }
    await clear();
  });

  test("says of a place in the log that is none which field it is, and what it takes", async () => {
    const { body } = await create();
    const forms = "must be a cursor, the id of an event, or a moment such as 2026-11-20T09:30:00Z";
    for (const place of ["x", "2026-99-99", "2026-02-30T00:00:00Z", "20 November", "now", "\ud800", "0".repeat(65)]) {
      expect(await create({ url: receiver.url, from: place }), place).toMatchObject({
        status: 400,
        body: { error: "invalid_request", issues: [{ path: "from", message: forms }] },
      });
      expect(await act(body.id, "replay", { from: "2020-01-01", to: place }), place).toMatchObject({
        status: 400,
        body: { error: "invalid_request", detail: `to: ${forms}` },
      });
    }
    for (const [to, error] of [
      ["00000000-0000-4000-8000-000000000001", "event_not_found"],
      ["B".repeat(22), "invalid_cursor"],
    ] as const)
      expect((await act(body.id, "replay", { from: "2020-01-01", to })).body, to).toMatchObject({
        error,
        detail: expect.stringMatching(/^to/),
      });
    await clear();
  });

  test("takes no type that never arrives: of a client's log, or a registration, which no application is shown", async () => {
    const never = "never arrives here; GET /openapi.json lists the types that may";
    for (const type of ["account.created", "mandate.declined", "registration.approved"])
      expect((await create({ url: receiver.url, types: ["draft.active", type] })).body, type).toMatchObject({
        error: "invalid_request",
        issues: [{ path: "types.1", message: never }],
      });
    expect((await create({ url: receiver.url, types: ["mandate.sign"] })).body.issues[0].message).toMatch(
      /no event type/,
    );
    expect((await operator(`webhook add ${receiver.url} --partner partner-a --types account.created`)).err).toMatch(
      /The log of a partner has no account.created/,
    );
    const ofClient = `--client ${world.partnerA.client.client_id} --types draft.active`;
    expect((await operator(`webhook add ${receiver.url} ${ofClient}`)).err).toMatch(
      /The log of a client has no draft.active/,
    );
    // what the operator makes discloses, so a registration does arrive
    expect((await operator(`webhook add ${receiver.url} --partner partner-a --types registration.approved`)).code).toBe(
      0,
    );
    await clear();
  });
});

describe("§6 an endpoint", () => {
  test("is tested with a ping, which is signed, and is in no log; what came of it is the answer", async () => {
    const { body } = await create({ url: receiver.url, types: ["draft.expired"] });
    receiver.received = [];
    const tested = await act(body.id, "test");
    expect(tested.body).toMatchObject({
      ok: true,
      attempt: { type: "ping", attempt: 1, status: 204, error: null, next_attempt_at: null },
    });
    const [{ headers, text, body: ping, id }] = receiver.received as [Received];
    expect(ping).toEqual({ type: "ping", timestamp: expect.any(String), data: {} });
    expect(new Standard(body.secret).verify(text, headers)).toEqual(ping);
    expect(tested.body.attempt.event_id).toBe(id);
    receiver.answer = status(500);
    expect((await act(body.id, "test")).body).toMatchObject({ ok: false, attempt: { status: 500 } });
    receiver.answer = status(204);
    expect(
      (await world.get("/partner/events?type=draft.claimed", world.keyA)).body.events.every(
        ({ type }: { type: string }) => type !== "ping",
      ),
    ).toBe(true);
    // the operator's command waits for the schedule
    const schedule = setTimeout(() => world.environment.kick(), 500);
    expect((await operator(`webhook test ${body.id}`)).json).toMatchObject({
      ok: true,
      attempt: { type: "ping", status: 204 },
    });
    clearTimeout(schedule);
    await clear();
  });

  // a worker on a busy machine may come too late once
  test("is tested within 13 seconds where its receiver hangs for ten, and where no worker comes", {
    retry: 2,
  }, async () => {
    const { body } = await create();
    const { answer } = receiver;
    const { kick } = world.environment;
    onTestFinished(async () => {
      world.environment.kick = kick;
      receiver.answer = answer;
      await clear();
    });
    const timed = async () => {
      const begun = performance.now();
      const { status, body: said } = await act(body.id, "test");
      return { status, said, ms: performance.now() - begun };
    };
    receiver.answer = () => {};
    const hanging = await timed();
    expect([hanging.status, hanging.said]).toMatchObject([
      200,
      { ok: false, attempt: { status: null, error: "timeout" } },
    ]);
    // as long as a delivery
    expect(hanging.said.attempt.ms).toBeGreaterThan(9_900);
    expect(hanging.ms).toBeLessThan(13_000);
    // a worker that still looks for endpoints would find the next ping
    await world.idle();
    world.environment.kick = () => {};
    const alone = await timed();
    expect([alone.status, alone.said]).toEqual([200, { ok: false, attempt: null }]);
    expect(alone.ms).toBeLessThan(13_000);
  });

  test("is rotated, disabled, enabled and revoked; what was not sent meanwhile is sent, and that it was disabled is an event", async () => {
    const { body } = await create();
    const rotated = await act(body.id, "rotate");
    expect([rotated.status, rotated.body.secret === body.secret]).toEqual([200, false]);
    expect((await act(body.id, "rotate", { now: true })).status).toBe(200);
    expect((await act(body.id, "rotate", { now: "yes" })).status).toBe(400);
    expect((await act(body.id, "disable")).body).toMatchObject({ status: "disabled", disabled_reason: "manager" });
    expect((await act(body.id, "disable")).body).toMatchObject({ disabled_reason: "manager" });
    for (const [verb, sent] of [
      ["test", undefined],
      ["replay", { from: "2020-01-01" }],
    ] as const)
      expect(await act(body.id, verb, sent)).toMatchObject({ status: 409, body: { error: "endpoint_disabled" } });
    receiver.received = [];
    await happen(2);
    expect((await act(body.id, "enable")).body).toMatchObject({ status: "enabled", disabled_reason: null });
    await until(() => receiver.received.length === 3);
    expect(receiver.received.map(({ body: { type } }) => type)).toEqual([
      "webhook_endpoint.disabled",
      "draft.claimed",
      "draft.claimed",
    ]);
    expect(receiver.received[0]?.body.data).toEqual({ webhook_id: body.id, disabled_reason: "manager" });
    expect((await act(body.id, "revoke")).body).toEqual({ ok: true });
    expect(await list()).toEqual([]);
    expect((await act(body.id, "revoke")).status).toBe(404);
  });

  test("is sent events again, with the ids they had", async () => {
    const { body } = await create({ url: receiver.url, from: "2020-01-01" });
    receiver.received = [];
    await happen(1);
    world.environment.kick();
    const all = (await world.get("/partner/events", world.keyA)).body.events;
    await until(() => receiver.received.length === all.length);
    // what was received is delivered once its answer is written down
    await expect
      .poll(() => world.row("select delivered_to::int as upto from core.webhook_endpoints where id = $1", body.id))
      .toEqual({ upto: all.length });
    const [first, second, third] = all;
    receiver.received = [];
    expect((await act(body.id, "replay", { from: second.id, to: third.id })).body).toEqual({
      ok: true,
      from: 2,
      to: 3,
      events: 2,
    });
    await until(() => receiver.received.length === 2);
    expect(receiver.received.map(({ id }) => id)).toEqual([second.id, third.id]);
    expect((await act(body.id, "replay", { from: first.created_at })).body).toMatchObject({
      from: 1,
      to: all.length,
      events: all.length,
    });
    await until(() => receiver.received.length === 2 + all.length);
    // both ends are included, in whatever form; a cursor stands behind the last event of its answer
    const { next_cursor } = (await world.get("/partner/events?limit=2", world.keyA)).body;
    await world.row(
      "update core.events set created_at = created_at + sequence * interval '1 hour' + interval '300 milliseconds' where owner_id = $1",
      world.partnerA.id,
    );
    const moment = (await world.get("/partner/events", world.keyA)).body.events[1].created_at;
    const later = new Date(Date.parse(moment) + 60_000).toISOString();
    for (const to of [second.id, next_cursor, moment, later])
      expect((await act(body.id, "replay", { from: first.id, to })).body, to).toEqual({
        ok: true,
        from: 1,
        to: 2,
        events: 2,
      });
    expect((await act(body.id, "replay", { from: first.id, to: "2020-01-01" })).body).toMatchObject({ events: 0 });
    expect((await act(body.id, "replay", { from: next_cursor, to: third.id })).body).toMatchObject({ from: 3, to: 3 });
    expect((await act(body.id, "replay", { failed: true })).body).toEqual({
      ok: true,
      from: null,
      to: null,
      events: 0,
    });
    // only these types, of what it gets
    const types = [...new Set(all.map(({ type }: { type: string }) => type))] as string[];
    const count = (wanted: string) => all.filter(({ type }: { type: string }) => type === wanted).length;
    for (const type of [...types, "draft.mail_failed"])
      expect((await act(body.id, "replay", { from: first.id, types: [type] })).body, type).toMatchObject({
        events: count(type),
      });
    // what is still delivered would take its failure away
    await world.idle();
    await world.row(
      `insert into core.webhook_retries (partner_id, endpoint_id, event_id, attempts)
       select partner_id, $1, id, 10 from core.events where owner_id = $2
       on conflict on constraint webhook_retries_pkey do update set attempts = 10, next_attempt_at = null`,
      body.id,
      world.partnerA.id,
    );
    const [type = ""] = types;
    expect((await act(body.id, "replay", { failed: true, types: [type] })).body).toMatchObject({ events: count(type) });
    for (const wrong of [
      {},
      { from: "x" },
      { to: second.id },
      { from: first.id, types: ["x"] },
      { from: first.id, types: [] },
    ])
      expect((await act(body.id, "replay", wrong)).status).toBe(400);
    await clear();
  });

  test("is read, is moved and has its types changed; a person's application makes it pseudonymous by moving it", async () => {
    const { secret: _, ...made } = (await create({ url: receiver.url, types: ["draft.active"] })).body;
    const read = async (id = made.id, token = manager) => world.get(`/partner/webhooks/${id}`, token);
    expect((await read()).body).toEqual(made);
    expect((await act(made.id, "update", { types: null })).body).toEqual({ ...made, types: ["*"] });
    expect((await act(made.id, "update", { types: ["draft.expired"] })).body).toEqual({
      ...made,
      types: ["draft.expired"],
    });
    // what fails is tried at the new address at once, and what waits goes there
    await world.row(
      "update core.webhook_endpoints set url = 'https://gone.example.com/', types = null, pseudonymous = false, failures = 7, failing_since = private.now(), last_error = 'timeout', probe_at = private.now() + interval '1 hour'",
    );
    receiver.received = [];
    await happen(1);
    const moved = await act(made.id, "update", { url: receiver.url });
    expect(moved.body).toMatchObject({
      url: receiver.url,
      types: ["*"],
      pseudonymous: true,
      failing_since: null,
      last_error: null,
    });
    await until(() => receiver.received.length === 1);
    // an attempt is stored after its answer came
    const tried = async () => (await world.get(`/partner/webhooks/${made.id}/attempts?limit=1`, manager)).body;
    await expect
      .poll(tried)
      .toEqual({ attempts: [expect.objectContaining({ type: "draft.claimed", status: 204, attempt: 1 })] });
    expect(JSON.stringify(await tried())).not.toMatch(/draft_id|secret/);
    expect((await act(made.id, "update", { url: "https://10.0.0.1" })).body.error).toBe("url_not_allowed");
    for (const nothing of [{}, { url: null }, { types: [] }, { types: ["account.created"] }])
      expect((await act(made.id, "update", nothing)).status, JSON.stringify(nothing)).toBe(400);
    // nothing changed: no row in the audit log
    const { n } = await world.row("select count(*)::int as n from core.audit_log where action = 'webhook.updated'");
    await act(made.id, "update", { url: receiver.url });
    expect(await world.row("select count(*)::int as n from core.audit_log where action = 'webhook.updated'")).toEqual({
      n,
    });
    const other = await world.manager(world.partnerB);
    for (const path of ["", "/attempts"])
      expect((await read(`${made.id}${path}`, other)).body.error).toBe("webhook_not_found");
    expect((await act(made.id, "update", { types: null }, other)).body.error).toBe("webhook_not_found");
    expect((await act(made.id, "update", { types: null }, world.keyA)).status).toBe(403);
    await clear();
  });

  test("shows its attempts on the sandbox, the client's too", async () => {
    const { body } = await create();
    const added = await operator(`webhook add ${receiver.url} --client ${world.partnerA.client.client_id}`);
    expect(added.json.secret).toMatch(/^whsec_/);
    await act(body.id, "test");
    const { status: code, body: shown } = await world.get("/sandbox/v1/webhooks?limit=1", world.keyA);
    expect([code, shown.attempts]).toEqual([
      200,
      [expect.objectContaining({ webhook_id: body.id, url: receiver.url, type: "ping", status: 204 })],
    ]);
    expect((await world.get("/sandbox/v1/webhooks", world.keyB)).body).toEqual({ attempts: [] });
    await clear();
  });
});

describe("contract §8 operator webhook", () => {
  test("adds, lists, rotates, disables, enables and replays, and says what is wrong", async () => {
    const added = await operator(`webhook add ${receiver.url} --partner partner-a --types draft.claimed`);
    expect([added.code, added.err]).toEqual([0, ""]);
    const id = added.json.webhook.webhook_id;
    expect(added.json.webhook).toMatchObject({
      partner_slug: "partner-a",
      client_id: null,
      url: receiver.url,
      types: "draft.claimed",
      status: "enabled",
    });
    const rotated = await operator(`webhook rotate ${id} --now --yes`);
    expect(rotated.json.secret).not.toBe(added.json.secret);
    expect((await operator(`webhook disable ${id}`)).json).toMatchObject({
      changed: true,
      webhook: { status: "disabled", disabled_reason: "operator" },
    });
    expect((await operator(`webhook disable ${id}`)).json.changed).toBe(false);
    expect((await operator(`webhook list --failing`)).json.webhooks).toHaveLength(1);
    expect((await operator(`webhook replay ${id} --failed`)).err).toMatch(/enable it first/);
    expect((await operator(`webhook enable ${id}`)).json).toMatchObject({ changed: true });
    expect((await operator(`webhook replay ${id} --from 2020-01-01`)).json).toMatchObject({ ok: true });
    expect((await operator(`webhook replay ${id}`)).err).toMatch(/--from, or --failed/);
    expect((await operator(`webhook add https://10.0.0.1 --partner partner-a`)).err).toMatch(/must name a host/);
    expect((await operator(`webhook add ${receiver.url}`)).err).toMatch(/Name the log/);
    expect((await operator(`webhook enable x`)).err).toMatch(/No endpoint has that id/);
    expect((await operator(`webhook revoke ${id} --yes`)).json).toEqual({ ok: true });
    expect((await operator("webhook list")).json.webhooks).toEqual([]);
  });
});
