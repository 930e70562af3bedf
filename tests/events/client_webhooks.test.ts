// A CPO client manages its own endpoints, and no others.

import { Webhook as Standard } from "standardwebhooks";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { typesOf } from "#shared/domain/events.ts";
import { runOnKick } from "../harness/kicked.ts";
import { accountBody, type Client } from "../harness/people.ts";
import { operatorOf, type Ran } from "../operator/operator.ts";
import { createPartnerWorld, type PartnerWorld } from "../partner/partner_world.ts";
import { type Received, type Receiver, startReceiver } from "./receiver.ts";

let world: PartnerWorld;
let receiver: Receiver;
let client: Client;
let token: string;
let operator: (command: string) => Promise<Ran>;
beforeAll(async () => {
  receiver = await startReceiver();
  world = await createPartnerWorld({ variables: { WEBHOOK_ALLOW_LOOPBACK: "true" } });
  operator = operatorOf(world.database, "operator", {
    IBAN_KEYS: JSON.stringify(world.environment.config.IBAN_KEYS),
    WEBHOOK_ALLOW_LOOPBACK: "true",
  });
  client = await world.addClient(world.partnerA.id);
  token = await client.token();
  runOnKick(world);
});
afterAll(async () => {
  await world.close();
  await receiver.close();
});

const create = (body: unknown = { url: receiver.url }, as = token) => world.post("/v1/webhooks", body, as);
const act = (id: string, verb: string, body?: unknown, as = token) =>
  world.send(`/v1/webhooks/${id}/${verb}`, { method: "POST", token: as, ...(body === undefined ? {} : { body }) });
afterEach(() => world.row("delete from core.webhook_endpoints"));

test("§6 a client with cpo:webhooks makes, reads, moves, tests, rotates, pauses, replays and deletes its own endpoint", async () => {
  const { status, body, headers } = await create({ url: receiver.url, types: ["account.created", "mandate.signed"] });
  expect([status, headers.get("cache-control")]).toEqual([200, "no-store"]);
  const { secret, ...made } = body;
  expect(made).toMatchObject({ types: ["account.created", "mandate.signed"], pseudonymous: false, status: "enabled" });
  expect((await world.get("/v1/webhooks", token)).body).toEqual({ webhooks: [made] });
  expect((await world.get(`/v1/webhooks/${made.id}`, token)).body).toEqual(made);

  receiver.received = [];
  const tested = await act(made.id, "test");
  expect(tested.body).toMatchObject({ ok: true, attempt: { type: "ping", status: 204 } });
  const [{ headers: signed, text }] = receiver.received as [Received];
  expect(new Standard(secret).verify(text, signed)).toMatchObject({ type: "ping" });

  const account = accountBody();
  const { account_id } = (await world.post("/v1/accounts", account, token)).body;
  world.environment.kick();
  await expect.poll(() => receiver.received.length).toBe(2);
  expect(receiver.received[1]?.body).toMatchObject({
    type: "account.created",
    data: { account_id, cpo_external_ref: account.cpo_external_ref },
  });
  // an attempt is stored after its answer came
  const tried = async () => (await world.get(`/v1/webhooks/${made.id}/attempts?limit=5`, token)).body.attempts;
  const types = async () => (await tried()).map(({ type }: { type: string }) => type);
  await expect.poll(types).toEqual(["account.created", "ping"]);
  expect(JSON.stringify(await tried())).not.toContain(account_id);

  const rotated = await act(made.id, "rotate", { now: true });
  expect(rotated.body.secret).toMatch(/^whsec_/);
  expect(rotated.headers.get("cache-control")).toBe("no-store");
  expect((await act(made.id, "update", { types: null })).body).toMatchObject({ types: ["*"], pseudonymous: false });
  const replayed = await act(made.id, "replay", { from: "2020-01-01", to: receiver.received[1]?.id });
  expect(replayed.body).toEqual({ ok: true, from: 1, to: 1, events: 1 });
  expect((await act(made.id, "disable")).body).toMatchObject({ status: "disabled", disabled_reason: "client" });
  expect((await act(made.id, "test")).body.error).toBe("endpoint_disabled");
  expect((await act(made.id, "enable")).body).toMatchObject({ status: "enabled", disabled_reason: null });
  const audited = await world.database.admin.query(
    "select action from core.audit_log where subject_id = $1 order by id",
    [made.id],
  );
  expect(audited.rows.map(({ action }) => action)).toEqual(
    ["added", "rotated", "updated", "replayed", "disabled", "enabled"].map((done) => `webhook.${done}`),
  );
  expect((await act(made.id, "revoke")).body).toEqual({ ok: true });
  expect((await world.get("/v1/webhooks", token)).body).toEqual({ webhooks: [] });
});

test("§6 neither another client of the partner, nor its key, nor a person, nor another partner's client reaches a client's endpoint", async () => {
  const { id } = (await create()).body;
  const manager = await world.manager(world.partnerA);
  const ofPartner = (await world.post("/partner/webhooks", { url: receiver.url }, manager)).body.id;
  const other = await (await world.addClient(world.partnerA.id)).token();
  const stranger = await world.partnerB.client.token();
  const gone = { status: 404, body: { error: "webhook_not_found" } };
  const verbs = [
    ["update", { types: null }],
    ["rotate"],
    ["test"],
    ["enable"],
    ["disable"],
    ["replay", { failed: true }],
    ["revoke"],
  ] as const;
  for (const as of [other, stranger]) {
    expect((await world.get("/v1/webhooks", as)).body).toEqual({ webhooks: [] });
    for (const path of ["", "/attempts"]) expect(await world.get(`/v1/webhooks/${id}${path}`, as)).toMatchObject(gone);
    for (const [verb, body] of verbs) expect(await act(id, verb, body, as), verb).toMatchObject(gone);
  }
  // the partner's own is no client's, and a client's is no person's to manage
  for (const [verb, body] of verbs) {
    expect(await act(ofPartner, verb, body), verb).toMatchObject(gone);
    const path = `/partner/webhooks/${id}/${verb}`;
    expect(await world.send(path, { method: "POST", token: manager, ...(body ? { body } : {}) }), verb).toMatchObject(
      gone,
    );
  }
  for (const path of ["", "/attempts"]) {
    expect(await world.get(`/v1/webhooks/${ofPartner}${path}`, token)).toMatchObject(gone);
    expect(await world.get(`/partner/webhooks/${id}${path}`, manager)).toMatchObject(gone);
  }
  for (const as of [world.keyA, manager]) {
    expect((await world.get("/v1/webhooks", as)).status).toBe(403);
    expect((await create({ url: receiver.url }, as)).status).toBe(403);
  }
  // all that was refused changed nothing
  expect((await world.get(`/v1/webhooks/${id}`, token)).body).toMatchObject({ status: "enabled", last_error: null });
  const left = await world.database.admin.query("select id from core.webhook_endpoints order by created_at");
  expect(left.rows.map((row) => row.id)).toEqual([id, ofPartner]);
});

test("§6 a client has ten endpoints of its own, however many its partner and other clients have; of many at once too", async () => {
  const other = await (await world.addClient(world.partnerA.id)).token();
  expect((await create({ url: receiver.url }, other)).status).toBe(200);
  const answers = await Promise.all(Array.from({ length: 12 }, () => create()));
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
  expect(answers.find(({ status }) => status !== 200)).toMatchObject({
    status: 409,
    body: { error: "endpoint_limit" },
  });
  expect((await create({ url: receiver.url }, other)).status).toBe(200);
});

test("§6 a client's endpoint takes the types of its own log, and no draft or customer of the partner", async () => {
  for (const type of ["draft.claimed", "customer.sharing_ended", "charger.registered"])
    expect((await create({ url: receiver.url, types: [type] })).body, type).toMatchObject({
      error: "invalid_request",
      issues: [{ path: "types.0", message: "never arrives here; GET /openapi.json lists the types that may" }],
    });
  expect((await create({ url: receiver.url, types: typesOf("client") })).status).toBe(200);
});

test("§5 cpo:webhooks is given by name only: a new client has it not, nor does its token ask for it", async () => {
  const made = (await operator("client create Zuid --partner partner-a")).json;
  expect(made.client.scopes).not.toContain("webhooks");
  const asking = {
    grant_type: "client_credentials",
    client_id: made.client.client_id,
    client_secret: made.client_secret,
  };
  const granted = (await world.post("/oauth-token", asking)).body;
  expect(granted.scope).not.toContain("cpo:webhooks");
  expect(await world.get("/v1/webhooks", granted.access_token)).toMatchObject({
    status: 403,
    body: { error: "Insufficient scope", required_scope: "cpo:webhooks" },
  });
  expect((await world.post("/oauth-token", { ...asking, scope: "cpo:webhooks" })).body.error).toBe("invalid_scope");
  await operator(`client set-scopes ${made.client.client_id} cpo:accounts:read cpo:webhooks`);
  const now = (await world.post("/oauth-token", asking)).body;
  expect(now.scope).toBe("cpo:accounts:read cpo:webhooks");
  expect((await world.get("/v1/webhooks", now.access_token)).status).toBe(200);
  // taken away, it stops in issued tokens too
  await operator(`client set-scopes ${made.client.client_id} cpo:accounts:read`);
  expect((await world.get("/v1/webhooks", now.access_token)).status).toBe(403);
});
