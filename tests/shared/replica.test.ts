// Long lists on a read replica: a real one, which streams from the database of the world.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { connect } from "#shared/foundation/db.ts";
import { connectReplica } from "#shared/foundation/replica.ts";
import { openClient } from "../../packages/operator/src/database.ts";
import { giveBooking } from "../harness/booked.ts";
import { freezable } from "../harness/freezable.ts";
import { accountBody } from "../harness/people.ts";
import { type Replicated, replicated } from "../harness/replicated.ts";
import { statementsOf } from "../harness/world.ts";
import { operate } from "../operator/operator.ts";
import { newManager, portal, portalBrowser } from "../pages/manager.ts";
import { addCustomer } from "../partner/partner_world.ts";
import { createSandboxWorld, type SandboxWorld } from "../sandbox/sandbox_world.ts";

const READ = "cpo:accounts:read";

let servers: Replicated;
let world: SandboxWorld;
let proxy: Awaited<ReturnType<typeof freezable>>;
/** The lists that the replica answered. */
let onReplica: string[] = [];
beforeAll(async () => {
  servers = await replicated();
  world = await createSandboxWorld({ limits: "lifted", database: servers.database });
  proxy = await freezable(servers.replica.url("edge"));
  useReplica(proxy.url);
});
afterAll(async () => {
  proxy.close();
  await world.environment.replica?.end();
  await world.close();
});

/** As a process that just began. */
function useReplica(url = proxy.url, limits?: Parameters<typeof connectReplica>[2]) {
  void world.environment.replica?.end();
  const replica = connectReplica(url, world.environment.log, limits);
  world.environment.replica = {
    ...replica,
    get isTried() {
      return replica.isTried;
    },
    async read(list, ...rest) {
      const answer = await replica.read(list, ...rest);
      if (answer !== null) onReplica.push(list);
      return answer;
    },
  };
  onReplica = [];
}
const paused = (now: boolean) => servers.replica.admin.query(`select pg_wal_replay_${now ? "pause" : "resume"}()`);
const away = () => world.log.filter(({ event }) => event === "replica_away").length;

test("contract §1 long lists and files are admitted by the primary and read on the replica, as the primary reads them", async () => {
  await addCustomer(world, world.partnerA, "partner_upload");
  await world.draft();
  const token = await world.partnerA.client.token();
  await world.post("/v1/accounts", accountBody({ cpo_external_ref: "KL-1" }), token);
  const browse = await portalBrowser(world, await newManager(world, world.partnerA));
  const lists: [string, () => Promise<unknown>][] = [
    ["list_accounts", async () => (await world.get("/v1/accounts", token)).body],
    ["list_ere_positions", async () => (await world.get("/v1/ere-positions", token)).body],
    ["list_customers", async () => (await world.get("/partner/customers", world.keyA)).body],
    ["read_portal_customers", async () => (await browse(portal(world, "/customers.csv"))).text],
    ["read_portal_drafts", async () => (await browse(portal(world, "/drafts.csv"))).text],
    ["read_portal_payouts", async () => (await browse(portal(world, "/payouts.csv"))).text],
  ];
  for (const [name, list] of lists) {
    const answers: unknown[] = [];
    const ask = async () => void answers.push(await list());
    useReplica();
    expect(await statementsOf(world, ask), "on the primary").toEqual(["admit"]);
    expect(onReplica).toEqual([name]);
    delete world.environment.replica;
    expect(await statementsOf(world, ask), "without a replica").toEqual([name]);
    expect(answers[0]).toEqual(answers[1]);
  }
  expect(world.log.find(({ endpoint }) => endpoint === "listAccounts")).toMatchObject({ read_on: "replica" });
  useReplica();
  const looked = await statementsOf(world, () => world.get("/v1/accounts?cpo_external_ref=KL-1", token));
  expect([looked, onReplica], "one account stays on the primary").toEqual([["list_accounts"], []]);
});

/** Writes the evidence of the first booking, and answers the file, what was said, and the servers that were asked. */
async function evidence() {
  const folder = mkdtempSync(join(tmpdir(), "ere-evidence-"));
  const asked = new Set<number>();
  const { id } = await world.row("select id from core.bookings");
  const urls = {
    OPERATOR_DATABASE_URL: servers.database.url("operator"),
    OPERATOR_REPLICA_DATABASE_URL: servers.replica.url("operator"),
  };
  const open = (url: string) => {
    asked.add(Number(new URL(url).port));
    return openClient(url);
  };
  const { err } = await operate(["audit", "evidence", id, "--out", join(folder, "of.zip")], urls, { open });
  const file = readFileSync(join(folder, "of.zip"));
  rmSync(folder, { recursive: true });
  return { file, err, asked: asked.size };
}

test("contract §3 the evidence of a booking is read on the replica, and is the same file from the primary", async () => {
  const { connection_id } = await world.row("select connection_id from core.mandates");
  await giveBooking(servers.database.admin, connection_id);
  const onReplica = await evidence();
  expect([onReplica.err, onReplica.asked]).toEqual(["", 2]);
  await paused(true);
  // what comes is in the log of the primary only
  await world.row("update core.bookings set submitted_at = submitted_at - interval '1 second'");
  const behind = await evidence();
  await paused(false);
  expect(behind.err).toMatch(/away or behind, so the primary is read/);
  expect(await evidence()).toEqual({ ...behind, err: "" });
});

test("§5 attack: the replica admits nobody, and shows whom the primary admitted nothing of another tenant", async () => {
  const theirs = await world.partnerB.client.token();
  expect((await world.get("/v1/accounts", theirs)).body.accounts).toEqual([]);
  expect((await world.get("/partner/customers", world.keyB)).body.customers).toEqual([]);
  expect(onReplica).toEqual(["list_accounts", "list_customers"]);
  useReplica();
  expect((await world.get("/v1/accounts", `${theirs}x`)).status).toBe(401);
  expect((await world.get("/partner/customers", theirs)).status).toBe(403);
  expect(onReplica).toEqual([]);

  const db = connect(servers.replica.url("edge"));
  const { id, client } = world.partnerA;
  const place = { list: "list_accounts", flushed: "0/0" };
  const caller = { kind: "cpo", partner_id: id, client_id: client.id, host: "sandbox", request_id: "1" };
  const credential = {
    kind: "cpo",
    client_id: client.client_id,
    token_id: "x",
    secret_number: 1,
    scopes: READ.split(" "),
  };
  const demand = { kind: "cpo", scope: READ, key: false, bucket: "cpo_read" };
  const ask = (who: object) => db.call("read_replica", who, place, { limit: 1, offset: 0 });
  expect(JSON.parse(await ask(caller)).count, "whom the primary admitted").toBe(1);
  expect(
    JSON.parse(await ask({ ...caller, partner_id: world.partnerB.id })).count,
    "one tenant's client in another",
  ).toBe(0);
  const ticket = { credential, demand, host: "sandbox" as const, request_id: "1" };
  await expect(db.open("read_replica", ticket, place, { limit: 1, offset: 0 })).rejects.toThrow(/recovery/);
  await expect(ask(ticket)).rejects.toMatchObject({ code: "42501" });
  await expect(ask({ ...caller, kind: "anyone" })).rejects.toMatchObject({ code: "42501" });
  await expect(ask({ ...caller, host: "production" })).rejects.toMatchObject({ code: "service_unavailable" });
  await expect(db.call("create_account", caller, accountBody()), "a write").rejects.toThrow();
  await db.end();
});

test("contract §1 attack: sixteen clients write and list at once while the replica stands still now and then, and none misses what it wrote", async () => {
  useReplica();
  const begun = performance.now();
  let lists = 0;
  // at least four seconds, and on a slow machine until both have answered
  const goesOn = () =>
    performance.now() < begun + 4_000 ||
    ((onReplica.length === 0 || lists === onReplica.length) && performance.now() < begun + 60_000);
  const client = async () => {
    const token = await (await world.addClient(world.partnerA.id)).token();
    while (goesOn()) {
      const made = await world.post("/v1/accounts", accountBody(), token);
      const { accounts } = (await world.get("/v1/accounts?limit=200", token)).body;
      expect(accounts.map(({ id }: { id: string }) => id)).toContain(made.body.account_id);
      lists += 1;
    }
  };
  const pause = async () => {
    while (goesOn()) {
      await paused(true);
      await sleep(300 + Math.random() * 500);
      await paused(false);
      await sleep(Math.random() * 600);
    }
  };
  await Promise.all([pause(), ...Array.from({ length: 16 }, client)]);
  expect(onReplica.length).toBeGreaterThan(0);
  expect(lists - onReplica.length, "those of the primary").toBeGreaterThan(0);
});

test("contract §1 a replica that stays behind is left alone for a second, and then read again", async () => {
  useReplica();
  const token = await world.partnerA.client.token();
  const list = () => statementsOf(world, () => world.get("/v1/accounts", token));
  const before = away();
  await paused(true);
  await world.post("/v1/accounts", accountBody(), token);
  expect(await list()).toEqual(["admit", "list_accounts"]);
  expect(await list(), "as if there were none").toEqual(["list_accounts"]);
  await paused(false);
  await expect.poll(async () => (await list()).join()).toBe("admit");
  expect([away() - before, onReplica]).toEqual([1, ["list_accounts"]]);
});

test("contract §1 attack: a list that the replica cancels, to replay a lock of the primary, is answered nevertheless", async () => {
  useReplica();
  const token = await world.partnerA.client.token();
  const { replica, database } = servers;
  await replica.admin.query("alter system set max_standby_streaming_delay = 0");
  await replica.admin.query("select pg_reload_conf()");
  const { made } = await world.row("select pg_get_functiondef('api.list_accounts'::regproc) as made");
  await world.row(
    `create or replace function api.list_accounts(caller jsonb, query jsonb) returns json language plpgsql stable security definer set search_path = '' as $$
     begin
       perform private.act_as(caller, 'cpo'), (select count(*) from core.accounts), pg_sleep(case when pg_is_in_recovery() then 0.5 else 0 end);
       return private.page_answer('accounts', '[]', '{}', query);
     end $$`,
  );
  try {
    const listing = world.get("/v1/accounts", token);
    await sleep(300);
    await database.admin.query("begin; lock table core.accounts in access exclusive mode; commit");
    expect((await listing).status).toBe(200);
    expect(replica.log()).toContain("canceling statement due to conflict with recovery");
  } finally {
    await world.row(made);
  }
});

test("contract §1 attack: a replica that hangs costs one request at a time its patience, and no other anything", async () => {
  useReplica(proxy.url, { max: 4, patience_ms: 1_500 });
  const token = await world.partnerA.client.token();
  const list = async () => {
    const begun = performance.now();
    expect((await world.get("/v1/accounts", token)).status).toBe(200);
    return performance.now() - begun;
  };
  await list();
  expect(onReplica).toEqual(["list_accounts"]);
  proxy.freeze(true);
  expect(await list(), "who finds out").toBeGreaterThan(1_490);
  expect(await list(), "who comes next").toBeLessThan(1_000);
  await sleep(1_000);
  const look = list();
  await sleep(50);
  for (let more = 0; more < 3; more += 1) expect(await list(), "while one looks").toBeLessThan(1_000);
  expect(await look, "who looks").toBeGreaterThan(1_490);
  proxy.freeze(false);
});

test("contract §1 attack: a replica that was promoted, or is gone, is read no more, whatever was written there", async () => {
  useReplica(servers.replica.url("edge"));
  const token = await world.partnerA.client.token();
  const alone = async () => {
    const { status, body } = await world.get("/v1/accounts", token);
    expect([status, body.count > 0, onReplica]).toEqual([200, true, []]);
  };
  await servers.replica.admin.query("select pg_promote()");
  await servers.replica.admin.query("truncate core.accounts cascade");
  await alone();
  const caller = { kind: "cpo", partner_id: world.partnerA.id, client_id: world.partnerA.client.id, host: "sandbox" };
  const place = { list: "list_accounts", flushed: "0/0" };
  const { rows } = await servers.replica.admin.query("select api.read_replica($1, $2, '{\"limit\": 1}') as answer", [
    caller,
    place,
  ]);
  expect(rows).toEqual([{ answer: null }]);
  await servers.replica.stop();
  useReplica(servers.replica.url("edge"));
  await alone();
  expect(world.log.at(-2)).toMatchObject({ event: "replica_away", cause: { code: "ECONNREFUSED" } });
});
