// A partner moves to another database, under load, while the command is killed again and again.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type Postgres, startPostgres } from "#local/postgres.ts";
import { type Open, openClient } from "../../packages/operator/src/database.ts";
import { giveEverything } from "../harness/everything.ts";
import { accountBody, createAccount, type Partner } from "../harness/people.ts";
import { PASSWORDS, TEMPLATE, templateFolder } from "../harness/template.ts";
import { createWorld, type World } from "../harness/world.ts";
import { auditOf, operate, type Ran } from "./operator.ts";

let world: World;
let folder: string;
let server: Postgres;
let there: pg.Pool;
let env: Record<string, string>;
let A: Partner;
let B: Partner;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "ere-move-"));
  const other = { folder: join(folder, "postgres"), log_file: join(folder, "postgres.log"), durable: false };
  [world, server] = await Promise.all([
    createWorld({ limits: "lifted" }),
    templateFolder().then((copy_of) => startPostgres({ ...other, copy_of, password: PASSWORDS.supabase_admin })),
  ]);
  A = world.partnerA;
  B = world.partnerB;
  there = new pg.Pool({ connectionString: server.url(TEMPLATE), max: 2 });
  there.on("error", () => {});
  // as hosted
  await there.query("grant set on parameter session_replication_role to postgres");
  await there.query("insert into core.deployment (host) values ('sandbox')");
  await giveEverything(world, A);
  await giveEverything(world, B);
  // the second makes the seal
  for (let run = 0; run < 2; run += 1) await world.database.admin.query("select private.chain_audit(1000)");
  await world.database.admin.query(
    "insert into core.rate_limit_overrides (subject, bucket, quota) select 'client:' || id, 'cpo_write', 5000 from core.oauth_clients",
  );
  const here = new URL(world.database.url("postgres"));
  here.username = "supabase_admin";
  here.password = PASSWORDS.supabase_admin;
  env = { OWNER_DATABASE_URL: here.href, MOVE_TO_DATABASE_URL: server.url(TEMPLATE, "postgres", PASSWORDS.postgres) };
});
afterAll(async () => {
  await there?.end();
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
  await world.close();
});

const move = (...more: string[]) => run(openClient, ...more);
const run = (open: Open, ...more: string[]): Promise<Ran> =>
  operate(["partner", "move", "partner-a", "--yes", "--json", ...more], env, { open });

/** The process is killed at a call of a function: before it is sent, or after its answer came. */
function killed(
  at: string,
  time: number,
  when: "before" | "after",
  onCall: (
    name: string,
    input: { table?: string; tables?: string[]; keys?: string[] },
  ) => Promise<void> = async () => {},
): Promise<Ran> {
  let times = 0;
  const streams: { destroy: () => void }[] = [];
  const kill = () => {
    for (const stream of streams) stream.destroy();
  };
  return run((url) => {
    const client = openClient(url);
    const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
    streams.push((client as unknown as { connection: { stream: { destroy: () => void } } }).connection.stream);
    client.query = (async (...args: unknown[]) => {
      const [, name] = /\.(move_\w+)\(/.exec(String(args[0])) ?? [];
      if (name) await onCall(name, JSON.parse((args[1] as string[])[0] as string));
      const hit = name === at && ++times === time;
      if (hit && when === "before") kill();
      const answer = await query(...args);
      if (hit) kill();
      return answer;
    }) as typeof client.query;
    return client;
  });
}

type Part = { name: string; key: string[]; condition: string };
const partsOf = async (pool: pg.Pool): Promise<Part[]> =>
  (
    await pool.query(
      "select name::text, key::text[], condition from private.partner_tables() where kind = 'own' order by place",
    )
  ).rows;

/** Every row of a partner, by table. */
async function rowsOf(pool: pg.Pool, partner: Partner): Promise<Record<string, string[]>> {
  const all: Record<string, string[]> = {};
  for (const { name, key, condition } of await partsOf(pool)) {
    const { rows } = await pool.query(
      `select row_to_json(t)::text as row from core.${name} t where ${condition} order by ${key.map((column) => `t."${column}"`)}`,
      [partner.id],
    );
    if (rows.length > 0) all[name] = rows.map(({ row }) => row);
  }
  return all;
}

const phases = async () =>
  (
    await Promise.all([world.database.admin, there].map((pool) => pool.query("select phase from core.partner_moves")))
  ).map(({ rows }) => rows[0]?.phase);
const guards = async () =>
  (
    await Promise.all(
      [world.database.admin, there].map((pool) =>
        pool.query("select from pg_trigger where tgname like 'move\\_%' and tgparentid = 0"),
      ),
    )
  ).map(({ rowCount }) => rowCount);

/** A client that delivers a month and makes an account, again and again; what was acknowledged is what it remembers. */
async function load(partner: Partner, goOn: () => boolean) {
  const token = await partner.client.token();
  const { account_id } = await createAccount(world, partner);
  const period = `${new Date().getUTCFullYear()}-01`;
  const answers = new Set<string>();
  const accounts: string[] = [account_id];
  let delivered = 0;
  for (let n = 1; goOn(); n += 1) {
    const month = await world.post("/v1/sessions:batch", { account_id, months: [{ period, total_kwh: n }] }, token);
    answers.add(`${month.status} ${month.body.error ?? month.body.results?.[0]?.status ?? ""}`);
    if (month.status === 200) delivered = n;
    if (month.status === 503) expect(Number(month.headers.get("retry-after"))).toBeGreaterThan(0);
    const made = await world.post("/v1/accounts", accountBody({ cpo_external_ref: `load-${n}` }), token);
    answers.add(`${made.status} ${made.body.error ?? ""}`);
    if (made.status === 200) accounts.push(made.body.account_id);
    if (![200, 503].includes(made.status)) break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return { account_id, delivered, accounts, answers };
}

describe("contract §8 partner move", () => {
  test("contract §8 partner move refuses a partner with people, payments under way, and a database that cannot take it", async () => {
    const refused = async (sentence: RegExp) => {
      const { code, err } = await move();
      expect([code, err]).toEqual([1, expect.stringMatching(sentence)]);
      expect(await phases()).toEqual([undefined, undefined]);
    };
    await refused(/brought people.* 2 rows .* cannot move until there is a directory/);
    const { admin } = world.database;
    await admin.query("delete from core.attributions; delete from core.ended_attributions");
    await refused(/A batch with a payment of partner-a is not settled/);
    await admin.query(
      "update core.payout_batches set status = 'cancelled', cancelled_by = 'x', cancelled_at = now(), cancelled_reason = 'x'",
    );
    await there.query("update core.deployment set host = 'production'");
    const { code, err } = await move();
    expect([code, err]).toEqual([1, expect.stringMatching(/belongs to the production host/)]);
    await there.query("update core.deployment set host = 'sandbox'");
    const { rows } = await there.query(
      "delete from supabase_migrations.schema_migrations where version = (select max(version) from supabase_migrations.schema_migrations) returning version",
    );
    expect((await move()).err).toMatch(/has other migrations/);
    await there.query("insert into supabase_migrations.schema_migrations (version) values ($1)", [rows[0].version]);
    await there.query("insert into core.partners (name, slug) values ('x', 'partner-a')");
    expect((await move()).err).toMatch(/has a partner partner-a already/);
    await there.query("delete from core.partners where slug = 'partner-a'");
    expect(
      (
        await operate(
          ["partner", "move", "partner-a", "--yes"],
          { OWNER_DATABASE_URL: String(env.OWNER_DATABASE_URL) },
          { open: openClient, line: "" },
        )
      ).err,
    ).toMatch(/is no URL/);
    expect((await move("--undo")).code).toBe(0);
  });

  test("contract §8 partner move that broke off is undone: all of it is here, and nothing there", async () => {
    const before = await rowsOf(world.database.admin, A);
    expect(Object.keys(before).length).toBeGreaterThan(55);
    expect((await killed("move_write", 20, "before")).code).toBe(1);
    expect(await phases()).toEqual(["leaving", "arriving"]);
    expect(Object.keys(await rowsOf(there, A)).length).toBeGreaterThan(10);
    // jobs there leave it out, and others are refused
    const touch = "select set_config('app.caller_kind', $1, false); ";
    const late = `update core.audit_chains set position = position where partner_id = '${A.id}'`;
    expect(await there.query(touch.replace("$1", "'worker'") + late)).toMatchObject([{}, { rowCount: 0 }]);
    await expect(there.query(touch.replace("$1", "''") + late)).rejects.toMatchObject({ code: "55P03" });
    const audit = await auditOf(world.database.admin, async () => {
      const { code, json } = await move("--undo");
      expect([code, json]).toEqual([0, { moved: false, partner: "partner-a" }]);
    });
    expect(await phases()).toEqual([undefined, undefined]);
    expect(await guards()).toEqual([0, 0]);
    expect(await rowsOf(there, A)).toEqual({});
    expect((await there.query("select from core.payout_batches")).rowCount).toBe(0);
    const { audit_log, ...rest } = await rowsOf(world.database.admin, A);
    const { audit_log: _, ...unchanged } = before;
    expect(rest).toEqual(unchanged);
    expect(audit_log?.at(-1)).toContain("partner.move_undone");
    expect(audit).toEqual([]); // of the owner's login
  });

  test("contract §8 partner move copies while writes wait only what was written since the last pass, and compares only tables that lost rows", async () => {
    const { admin } = world.database;
    let isHeld = false;
    const compared: string[] = [];
    const suppressed: unknown[] = [];
    // rows are new, changed, gone, or replaced by one with the same hash
    await admin.query("insert into core.draft_uploads (partner_id) values ($1)", [A.id]);
    const writes = `
      insert into core.manager_invitations (partner_id, email, token_hash) values ('${A.id}', 'sinds@example.nl', '\\x01');
      update core.accounts set display_name = 'since the last pass' where partner_id = '${A.id}';
      update core.partner_keys set id = gen_random_uuid() where partner_id = '${A.id}';
      delete from core.draft_uploads where id = (select max(id) from core.draft_uploads where partner_id = '${A.id}');
      insert into core.suppressions (email_hash) values ('\\x02');
      update core.payout_batches set status = 'settled', settled_by = 'x', settled_at = now() where status = 'approved'`;
    // a batch was approved after the move began, and is settled before its last rows
    const approve = `update core.payout_batches set status = 'approved', prepared_by = 'sandbox', approved_by = 'y', approved_at = now(),
      cancelled_by = null, cancelled_at = null, cancelled_reason = null where status = 'cancelled'`;
    const batches =
      "select id, status, settled_by from core.payout_batches where id in (select batch_id from core.payout_lines where partner_id = $1)";
    const ran = await killed("move_arrived", 1, "before", async (name, { table, tables, keys }) => {
      if (name === "move_tables") await admin.query(approve);
      if (name === "move_hold") {
        expect((await there.query("select from core.payout_batches where status = 'approved'")).rowCount).toBe(0);
        await admin.query(writes);
      }
      isHeld ||= name === "move_hold";
      if (name === "move_digests" && isHeld) compared.push(...(tables ?? ["every table"]));
      if (name === "move_read" && isHeld && table === "suppressions") suppressed.push(keys);
    });
    expect(ran.code).toBe(1);
    expect(await phases()).toEqual(["held", "arriving"]);
    expect([...new Set(compared)].toSorted()).toEqual(["draft_uploads", "partner_keys", "partners"]);
    expect(await rowsOf(there, A)).toEqual(await rowsOf(admin, A));
    const { rows: settled } = await there.query(batches, [A.id]);
    expect(settled).toEqual([expect.objectContaining({ status: "settled" })]);
    expect(settled).toEqual((await admin.query(batches, [A.id])).rows);
    expect(suppressed).toEqual([[["\\x02"]]]);
    expect((await there.query("select from core.suppressions where email_hash = '\\x02'")).rowCount).toBe(1);
    // a client may not leave the partner now, either
    const leave = "update core.oauth_clients set partner_id = $2 where partner_id = $1";
    await expect(admin.query(leave, [A.id, B.id])).rejects.toMatchObject({ code: "55P03" });
    expect((await move("--undo")).code).toBe(0);
    expect(await rowsOf(there, A)).toEqual({});
  });

  test("contract §8 partner move loses nothing under load, wherever it is killed", async () => {
    let on = true;
    onTestFinished(() => {
      on = false;
    });
    const loads = Promise.all([A, B].map((partner) => load(partner, () => on)));
    expect((await killed("move_write", 30, "after")).code).toBe(1);
    expect((await killed("move_hold", 1, "after")).code).toBe(1);
    expect(await phases()).toEqual(["held", "arriving"]);
    await new Promise((resolve) => setTimeout(resolve, 300));
    // nobody can write here now, so this is what has to be there
    const held = await rowsOf(world.database.admin, A);
    await expect(
      world.database.admin.query("insert into core.draft_uploads (partner_id) values ($1)", [A.id]),
    ).rejects.toMatchObject({ code: "55P03" });
    expect((await killed("move_arrived", 1, "after")).code).toBe(1);
    expect(await phases()).toEqual(["held", "arrived"]);
    // a person lets an application of the partner in, which nothing holds
    await world.database.admin.query(
      `with g as (insert into core.oauth_grants (user_id, client_id, scopes)
                  select m.user_id, c.id, '{}' from core.partner_managers m, core.oauth_clients c where c.partner_id = $1 limit 1 returning *),
            c as (insert into core.oauth_codes (code_hash, grant_id, redirect_uri, code_challenge, expires_at) select '\\x01', id, 'x', 'x', now() from g)
       insert into core.oauth_consents (user_id, client_id, scopes) select user_id, client_id, '{}' from g`,
      [A.id],
    );
    expect((await move("--undo")).err).toMatch(/has arrived there/);
    expect((await killed("move_clear", 9, "after")).code).toBe(1);
    expect(await phases()).toEqual(["left", "arrived"]);
    const last = await move();
    expect([last.code, last.json]).toEqual([0, { moved: true, partner: "partner-a" }]);
    expect((await move()).code).toBe(0); // again changes nothing
    on = false;
    const [ofA, ofB] = await loads;

    const { audit_log, ...rest } = await rowsOf(there, A);
    const { audit_log: logged, ...wanted } = held;
    expect(rest).toEqual(wanted);
    expect(audit_log?.slice(0, -1)).toEqual(logged);
    expect(audit_log?.at(-1)).toContain("partner.moved_here");
    const { rows } = await there.query(
      "select (select total_kwh::int from core.delivered_months m join core.connections c on c.id = m.connection_id where c.account_id = $1) as kwh, array(select id::text from core.accounts where cpo_external_ref like 'load-%' or id = $1 order by 1) as accounts",
      [ofA?.account_id],
    );
    expect(rows[0]).toEqual({ kwh: ofA?.delivered, accounts: ofA?.accounts.toSorted() });
    expect(ofA?.delivered).toBeGreaterThan(0);
    // what was done with it is there, and then it is nobody's
    const done = ["200 ", "200 ingested"];
    const unavailable = "503 Service is temporarily unavailable, try again shortly";
    expect([...(ofA?.answers ?? [])].sort()).toEqual([...done, "403 client_not_linked", unavailable]);
    expect([...(ofB?.answers ?? [])].sort()).toEqual(done);

    expect(await rowsOf(world.database.admin, A)).toEqual({});
    expect(await guards()).toEqual([0, 0]);
    const loose = await world.database.admin.query(
      "select from core.oauth_consents o where not exists (select from core.oauth_clients c where c.id = o.client_id)",
    );
    expect(loose.rowCount).toBe(0);
    const theirs = await rowsOf(world.database.admin, B);
    expect(Object.keys(theirs).sort()).toEqual(Object.keys(held).sort());
    expect(theirs.accounts).toHaveLength(1 + (ofB?.accounts.length ?? 0));
    // numbers there go on after those that came
    const { rows: numbers } = await there.query(
      "select nextval('core.audit_log_id_seq') > (select max(id) from core.audit_log where partner_id = $1) as after",
      [A.id],
    );
    expect(numbers).toEqual([{ after: true }]);
    for (const url of [world.database.url("operator"), server.url(TEMPLATE, "operator", PASSWORDS.operator)])
      expect((await operate(["audit", "verify", "--json"], { OPERATOR_DATABASE_URL: url })).json).toMatchObject({
        ok: true,
        wrong: [],
      });
  });
});
