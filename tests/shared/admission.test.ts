// A request is admitted, done and charged in one statement (contract section 1): what remains of it after a refusal or a race.

import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import * as z from "zod";
import { connect } from "#shared/foundation/db.ts";
import { endpoint } from "#shared/http/endpoint.ts";
import { serve } from "#shared/http/serve.ts";
import { openIban } from "#shared/values/iban.ts";
import { BASE_URL } from "../harness/environment.ts";
import { accountBody, createAccount, newEan } from "../harness/people.ts";
import { createWorld, rowCounts, statementsOf, type World } from "../harness/world.ts";

let world: World;
let token: string;
let owned: Awaited<ReturnType<typeof createAccount>>;
beforeAll(async () => {
  world = await createWorld({ limits: "lifted", now: "2026-11-20T09:00:00Z" });
  owned = await createAccount(world);
});
afterAll(() => world.close());
beforeEach(async () => {
  // a client of its own, of which nothing has been counted
  token = await (await world.addClient(world.partnerA.id)).token();
});

const left = ({ headers }: { headers: Headers }) => Number(/;r=(\d+)/.exec(headers.get("ratelimit") ?? "")?.[1]);
const withoutIban = (fields = {}) => accountBody({ iban: undefined, ...fields });

test("contract §1 attack: of thirty writes at once with ten left, ten are done and twenty leave nothing behind", async () => {
  await world.limit("cpo_write", 10);
  const before = await rowCounts(world, "accounts", "connections", "locations", "signatories", "audit_log");
  const answers = await Promise.all(Array.from({ length: 30 }, () => world.post("/v1/accounts", withoutIban(), token)));
  await world.limit("cpo_write");
  expect(answers.map(({ status }) => status).sort()).toEqual([...Array(10).fill(200), ...Array(20).fill(429)]);
  for (const { status, headers } of answers) if (status === 429) expect(headers.get("retry-after")).toMatch(/^[1-9]/);
  const after = await rowCounts(world, "accounts", "connections");
  expect([after.accounts, after.connections]).toEqual([(before.accounts ?? 0) + 10, (before.connections ?? 0) + 10]);
});

test("contract §1 whatever refuses a request, and a success, each cost one of its quota", async () => {
  await world.limit("cpo_write", 10);
  const taken = newEan();
  const connection = { ean_code: taken, postal_code: "3818LH", house_number: 8 };
  const sent: [number, object | string][] = [
    [200, withoutIban({ connection })],
    [409, withoutIban({ connection })],
    [400, withoutIban({ connection: { ean_code: "x" } })],
    [400, {}],
    [400, "{"],
    [413, "x".repeat(1024 * 1024 + 1)],
  ];
  const said: [number, number][] = [];
  for (const [, body] of sent) {
    const answer = await world.send("/v1/accounts", {
      token,
      ...(typeof body === "string" ? { raw: body, method: "POST" } : { body }),
    });
    said.push([answer.status, left(answer)]);
  }
  await world.limit("cpo_write");
  expect(said).toEqual(sent.map(([status], n) => [status, 9 - n]));
});

test("contract §1 a request that is turned away costs nothing, and does nothing", async () => {
  await world.limit("cpo_write", 1);
  expect((await world.post("/v1/accounts", withoutIban(), token)).status).toBe(200);
  const before = await rowCounts(world, "accounts", "rate_limit_state");
  for (let n = 0; n < 3; n += 1) {
    const names = await statementsOf(world, async () => {
      const answer = await world.post("/v1/accounts", withoutIban(), token);
      expect([answer.status, answer.headers.get("retry-after")]).toEqual([429, "60"]);
    });
    expect(names).toEqual(["create_account"]);
  }
  await world.limit("cpo_write");
  expect(await rowCounts(world, "accounts", "rate_limit_state")).toEqual(before);
});

test("contract §1 attack: a client that is disabled, or its token revoked, is stopped by the next statement, with everything it asked for undone", async () => {
  const client = await world.addClient(world.partnerA.id);
  const its = await client.token();
  const ask = () => world.post("/v1/accounts", withoutIban(), its);
  expect((await ask()).status).toBe(200);
  const before = await rowCounts(world, "accounts");
  await world.row("update core.oauth_clients set disabled_at = now() where id = $1", client.id);
  expect((await ask()).status).toBe(401);
  await world.row("update core.oauth_clients set disabled_at = null where id = $1", client.id);
  const { jti, exp } = JSON.parse(Buffer.from(its.split(".")[1] ?? "", "base64url").toString());
  await world.row("insert into core.revoked_access_tokens (id, expires_at) values ($1, to_timestamp($2))", jti, exp);
  expect((await ask()).status).toBe(401);
  expect(await rowCounts(world, "accounts")).toEqual(before);
});

test("contract §9 the limit of a client is not locked while one of its requests waits or works: its others are answered meanwhile", async () => {
  const holder = await world.database.admin.connect();
  try {
    await holder.query("begin");
    await holder.query("select from core.connections where id = $1 for update", [owned.connection_id]);
    const its = await world.partnerA.client.token();
    const months = [{ period: "2026-01", total_kwh: 1 }];
    const waiting = world.post("/v1/sessions:batch", { account_id: owned.account_id, months }, its);
    const isWaiting = async () =>
      (
        await world.row(
          "select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
        )
      ).n;
    await expect.poll(isWaiting).toBe(1);
    const other = await createAccount(world);
    const answer = await world.post("/v1/sessions:batch", { account_id: other.account_id, months }, its);
    expect(answer.status).toBe(200);
    expect(await isWaiting(), "the first still waits").toBe(1);
    await holder.query("rollback");
    expect((await waiting).status).toBe(200);
  } finally {
    holder.release();
  }
});

test("contract §1 attack: of requests that were let in together with one left, one is done and the others are told when to come again", async () => {
  const holder = await world.database.admin.connect();
  const client = await world.addClient(world.partnerA.id);
  const its = await client.token();
  const { account_id, connection_id } = await createAccount(world, { ...world.partnerA, client });
  await world.limit("cpo_sessions", 1);
  try {
    await holder.query("begin");
    await holder.query("select from core.connections where id = $1 for update", [connection_id]);
    const months = [{ period: "2026-01", total_kwh: 1 }];
    const waiting =
      "select count(*)::int as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
    let answers: Awaited<ReturnType<typeof world.post>>[] = [];
    const names = await statementsOf(world, async () => {
      const sent = Array.from({ length: 3 }, () => world.post("/v1/sessions:batch", { account_id, months }, its));
      await expect.poll(async () => (await world.row(waiting)).n).toBe(3);
      await holder.query("rollback");
      answers = await Promise.all(sent);
    });
    expect(names, "none is charged again by itself").toEqual(Array(3).fill("ingest_months"));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 429, 429]);
    for (const { status, headers } of answers) if (status === 429) expect(headers.get("retry-after")).toMatch(/^[1-9]/);
  } finally {
    await world.limit("cpo_sessions");
    holder.release();
  }
});

test("§5 attack: a large body with a key that nobody made is refused before it is read", async () => {
  const rows = `{"consent": true, "rows": [${"{},".repeat(30_000)}{}]}`;
  const send = (bearer: string, headers = {}) =>
    world.send("/partner/drafts/import", { method: "POST", raw: rows, token: bearer, headers });
  for (const headers of [{}, { "content-length": "nonsense" }]) {
    const names = await statementsOf(world, async () => {
      expect((await send(`ere_test_${"A".repeat(43)}`, headers)).status).toBe(401);
    });
    expect(names).toEqual(["admit"]);
  }
});

test("contract §1 an IBAN is sealed for the partner that the process knows of; a client that was linked again is not admitted for the old one", async () => {
  const client = await world.addClient(world.partnerA.id);
  const its = await client.token();
  const ask = () => world.post("/v1/accounts", accountBody(), its);
  const known = await statementsOf(world, ask);
  expect(known, "asked who it is, then for what it wants").toEqual(["admit", "create_account"]);
  const again = await statementsOf(world, ask);
  expect(again).toEqual(["create_account"]);

  const moved = await world.addClient(world.partnerA.id);
  const moveds = await moved.token();
  expect((await world.get("/v1/accounts", moveds)).status).toBe(200);
  const before = await rowCounts(world, "accounts", "audit_log");
  await world.row("update core.oauth_clients set partner_id = $1 where id = $2", world.partnerB.id, moved.id);
  const askAnew = () => world.post("/v1/accounts", accountBody(), moveds);
  const refused = await askAnew();
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
  expect(await rowCounts(world, "accounts", "audit_log")).toEqual(before);
  const made = await askAnew();
  expect(made.status).toBe(200);
  const row = await world.row(
    "select partner_id, iban_ciphertext as sealed, iban_key_id as key_id from core.accounts where id = $1",
    made.body.account_id,
  );
  expect(row.partner_id).toBe(world.partnerB.id);
  expect(openIban(world.environment, row.partner_id, { ciphertext: row.sealed, key_id: row.key_id })).toBe(
    "NL91ABNA0417164300",
  );
});

test("contract §1 attack: requests that wait for a lock until they are ended cost their quota too", async () => {
  const holder = await world.database.admin.connect();
  const client = await world.addClient(world.partnerA.id);
  const its = await client.token();
  const { account_id, connection_id } = await createAccount(world, { ...world.partnerA, client });
  await world.limit("cpo_sessions", 2);
  try {
    await holder.query("begin");
    await holder.query("select from core.connections where id = $1 for update", [connection_id]);
    const months = [{ period: "2026-01", total_kwh: 1 }];
    const send = () => world.post("/v1/sessions:batch", { account_id, months }, its);
    const ended = await Promise.all([send(), send()]);
    expect(ended.map(({ status }) => status)).toEqual([503, 503]);
    expect(ended.map(left).sort()).toEqual([0, 1]);
    expect((await send()).status, "before it waits for anything").toBe(429);
  } finally {
    await holder.query("rollback");
    await world.limit("cpo_sessions");
    holder.release();
  }
});

test("contract §1 attack: nobody is answered who was not admitted, also by an endpoint that takes a refusal for an empty list", async () => {
  const careless = endpoint(
    {
      id: "careless",
      summary: "Answers whatever happens",
      caller: { kind: "cpo", scope: "cpo:accounts:read" },
      limit: "cpo_read",
      sql: ["list_accounts"],
      response: z.object({ accounts: z.array(z.unknown()) }),
      errors: [],
      failure: "list_failed",
    },
    async ({ call }) => ({ accounts: JSON.parse(await call("list_accounts", { limit: 1 }).catch(() => "[]")) }),
  );
  const { fetch } = serve(
    { slug: "cpo-v1", prefix: "/v1", endpoints: { "GET /v1/careless": async () => careless } },
    world.environment,
  );
  const ask = (bearer: string) =>
    fetch(new Request(new URL("/v1/careless", BASE_URL), { headers: { authorization: `Bearer ${bearer}` } }));
  const client = await world.addClient(world.partnerA.id);
  const its = await client.token();
  expect((await ask(its)).status).toBe(200);
  await world.row("update core.oauth_clients set disabled_at = now() where id = $1", client.id);
  expect((await ask(its)).status).toBe(401);
});

test("contract §1 attack: a ticket that leaves out what it should say admits nobody", async () => {
  const client = await world.addClient(world.partnerA.id);
  const credential = {
    kind: "cpo",
    client_id: client.client_id,
    token_id: "x",
    secret_number: 1,
    scopes: ["cpo:accounts:read"],
  };
  const demand = { kind: "cpo", scope: "cpo:accounts:read", key: false, bucket: "cpo_read" };
  const admit = (said: object, asked: object = {}) =>
    world.environment.db.call("admit", {
      credential: { ...credential, ...said },
      demand: { ...demand, ...asked },
      host: "sandbox",
      request_id: "1",
    } as object);
  const refusing = (code: string) => ({ refusal: { code } });
  await expect(admit({})).resolves.toContain(world.partnerA.id);
  await expect(admit({ scopes: undefined })).rejects.toMatchObject(refusing("insufficient_scope"));
  await expect(admit({}, { kind: undefined })).rejects.toMatchObject(refusing("wrong_kind"));
  await expect(admit({ secret_number: undefined })).rejects.toMatchObject(refusing("missing_or_invalid_token"));
  await expect(admit({ kind: undefined })).rejects.toMatchObject(refusing("missing_or_invalid_token"));
});

test("contract §1 attack: of a caller nothing stays on the connection for the next one's request, whatever became of theirs", async () => {
  const db = connect(world.database.url("edge"), { max: 1, patience_ms: 10_000 });
  const its = { ...world.environment, db };
  const { fetch } = serve((await import("../../supabase/functions/cpo-v1/app.ts")).surface, its);
  const ask = (path: string, body?: string, bearer = token) =>
    fetch(
      new Request(new URL(path, BASE_URL), {
        ...(body === undefined ? {} : { method: "POST", body }),
        headers: { authorization: `Bearer ${bearer}`, "content-type": "application/json" },
      }),
    );
  await world.database.admin.query(
    `create function api.leftovers(caller jsonb) returns json language sql as $$
       select json_object_agg(name, current_setting('app.' || name, true))
         from unnest(array['partner_id', 'client_id', 'user_id', 'caller_kind', 'admission']) name $$;
     grant execute on function api.leftovers(jsonb) to edge`,
  );
  try {
    for (const [status, path, body] of [
      [200, "/v1/accounts"],
      [
        404,
        "/v1/sessions:batch",
        JSON.stringify({ account_id: crypto.randomUUID(), months: [{ period: "2026-01", total_kwh: 1 }] }),
      ],
      [400, "/v1/accounts", "{"],
    ] as [number, string, string?][]) {
      expect((await ask(path, body)).status).toBe(status);
      const kept = Object.values(JSON.parse(await db.call("leftovers", {})));
      expect(kept.filter(Boolean), path).toEqual([]);
      await expect(db.call("charge"), "nor can it be charged to").rejects.toThrow(/json/);
    }
  } finally {
    await world.row("drop function api.leftovers(jsonb)");
    await db.end();
  }
});

test.each([
  ["reads does not wait for the disk", "select", "off"],
  [
    "writes waits for the disk",
    "insert into core.revoked_access_tokens (id, expires_at) values ('of-a-test', now())",
    "on",
  ],
])("contract §1 a request that %s", async (_, work, expected) => {
  const client = await world.database.admin.connect();
  try {
    await client.query("begin");
    await client.query("set local synchronous_commit = on");
    const admission = { subject: "client:of-a-test", bucket: "cpo_read", quota: 300, window_seconds: 60 };
    await client.query("select set_config('app.admission', $1, true)", [JSON.stringify(admission)]);
    await client.query(work);
    await client.query("select api.charge()");
    const { rows } = await client.query("show synchronous_commit");
    expect(rows).toEqual([{ synchronous_commit: expected }]);
  } finally {
    await client.query("rollback");
    client.release();
  }
});
