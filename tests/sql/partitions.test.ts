// Tables that only grow have a partition for each year: which rows are where, and the job that makes the next one in time.

import type { PoolClient } from "pg";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { runDueJobs } from "../harness/due_jobs.ts";
import { createWorld, type World } from "../harness/world.ts";

const worlds: World[] = [];
let world: World;
beforeEach(async () => {
  world = await createWorld();
  worlds.push(world);
});
afterAll(() => Promise.all(worlds.map((each) => each.close())));

const query = async (text: string, ...values: unknown[]) => (await world.database.admin.query(text, values)).rows;
const audit = (action: string) => query("select private.audit($1)", action);
const runJobs = async () => (await runDueJobs(world)).partitions_made ?? 0;

/** Each audit row in its order, with the partition it is in. */
const placed = async (): Promise<string[]> =>
  (await query("select action || ' in ' || tableoid::regclass as row from core.audit_log order by id")).map(
    ({ row }) => row,
  );
const partitions = async (table: string): Promise<string[]> =>
  (
    await query(
      "select inhrelid::regclass::text as name from pg_inherits where inhparent = $1::regclass order by 1",
      table,
    )
  ).map(({ name }) => name);

/** Something that another session does in a transaction that stays open. */
async function meanwhile(statement: string): Promise<PoolClient> {
  const client = await world.database.admin.connect();
  await client.query("begin");
  await client.query(statement);
  return client;
}
async function end(client: PoolClient): Promise<void> {
  await client.query("commit");
  client.release();
}

describe("years of the audit log", () => {
  test("a row is in the year in which it was written, by the Dutch calendar", async () => {
    for (const [at, action] of [
      ["2026-12-31T22:59:59Z", "old"],
      ["2026-12-31T23:00:00Z", "new"],
    ] as const) {
      await world.freeze(at);
      await audit(action);
    }
    expect(await placed()).toEqual(["old in core.audit_log_2026", "new in core.audit_log_2027"]);
  });

  test("the job makes next year's partition once the year has begun, and a row of each year finds its own", async () => {
    await world.freeze("2026-12-31T22:59:00Z");
    await runJobs();
    for (const year of [2027, 2028, 2029]) {
      await world.freeze(`${year - 1}-12-31T23:00:30Z`);
      await audit(`before the job of ${year}`);
      expect(await runJobs()).toBe(1);
      expect(await runJobs()).toBe(0);
      expect(await partitions("core.audit_log")).toContain(`core.audit_log_${year + 1}`);
    }
    expect(await placed()).toEqual(
      [2027, 2028, 2029].map((year) => `before the job of ${year} in core.audit_log_${year}`),
    );
  });

  test("a year without a partition loses no row: they wait in the default one and move when theirs is made", async () => {
    await world.freeze("2040-06-01T12:00:00Z");
    for (const action of ["a", "b"]) await audit(action);
    await world.freeze("2042-06-01T12:00:00Z");
    await audit("c");
    const before = await query("select * from core.audit_log order by id");
    expect(await placed()).toEqual(["a", "b", "c"].map((action) => `${action} in core.audit_log_default`));
    await world.freeze("2040-06-02T12:00:00Z");
    expect(await runJobs()).toBe(2);
    expect(await placed()).toEqual([
      "a in core.audit_log_2040",
      "b in core.audit_log_2040",
      "c in core.audit_log_default",
    ]);
    expect(await query("select * from core.audit_log order by id")).toEqual(before);
    await audit("d");
    expect((await placed()).at(-1)).toBe("d in core.audit_log_2040");
  });

  test("of two runs at once one makes it", async () => {
    await world.freeze("2035-01-01T12:00:00Z");
    const made = await Promise.all([runJobs(), runJobs()]);
    expect(made.reduce((sum, each) => sum + each)).toBeGreaterThan(0);
    await runJobs();
    expect(await partitions("core.audit_log")).toEqual(
      expect.arrayContaining(["core.audit_log_2035", "core.audit_log_2036"]),
    );
  });

  test("whoever writes is not kept waiting by the job, nor the job by them", async () => {
    await runJobs();
    const writer = await meanwhile("select private.audit('written')");
    const { year } = (await query("select extract(year from now())::int + 2 as year"))[0];
    await world.freeze(`${year - 1}-06-01T12:00:00Z`);
    const job = await meanwhile("select private.make_due_partitions()");
    await world.freeze(`${year - 2}-06-01T12:00:00Z`);
    await audit("meanwhile");
    await end(job);
    await end(writer);
    expect(await partitions("core.audit_log")).toContain(`core.audit_log_${year}`);
  });

  test("while somebody reads all partitions, as a dump does, the other jobs go on; the next run makes it", async () => {
    const dump = await meanwhile("lock table core.audit_log in access share mode");
    await world.freeze("2035-01-01T12:00:00Z");
    expect(await runJobs()).toBe(0);
    await end(dump);
    expect(await runJobs()).toBe(2);
  });
});

test("any table that only grows may have years: with foreign keys, policies and generated columns", async () => {
  await world.freeze("2026-11-20T09:00:00Z");
  // as the role that migrates, which owns the tables
  const owner = await meanwhile(`
    set local role postgres;
    create table core.readings (
      partner_id uuid        not null,
      id         bigint      generated always as identity,
      at         timestamptz not null default private.now(),
      kind       text        not null,
      upper_kind text        not null generated always as (upper(kind)) stored,
      constraint readings_pkey primary key (partner_id, id, at),
      constraint readings_partner_id_fkey foreign key (partner_id) references core.partners (id)
    ) partition by range (at);
    create index readings_kind on core.readings (partner_id, kind);
    select private.enable_tenant_policy('core.readings', 'select, insert');
    select private.partition_by_year('core.readings');`);
  await end(owner);
  expect(await partitions("core.readings")).toEqual([
    "core.readings_2026",
    "core.readings_2027",
    "core.readings_default",
  ]);
  const insert = "insert into core.readings (partner_id, kind, at) values ($1, $2, $3)";
  await query(insert, world.partnerA.id, "late", "2029-05-05T00:00:00Z");
  await query(insert, world.partnerB.id, "late", "2029-05-05T00:00:00Z");
  await world.freeze("2028-11-20T09:00:00Z");
  expect(await runJobs()).toBeGreaterThanOrEqual(2);
  expect(await query("select upper_kind, tableoid::regclass::text as place from core.readings")).toEqual(
    [1, 2].map(() => ({ upper_kind: "LATE", place: "core.readings_2029" })),
  );
  await expect(query(insert, "00000000-0000-4000-8000-00000000dead", "x", "2029-05-05T00:00:00Z")).rejects.toThrow(
    "readings_partner_id_fkey",
  );
  const asOwner = async (statement: string) => {
    const client = await meanwhile("set local role api_owner");
    await client.query("select set_config('app.partner_id', $1, true)", [world.partnerA.id]);
    const answer = await client.query(statement).then(
      ({ rowCount }) => rowCount,
      ({ code }) => code,
    );
    await client.query("rollback");
    client.release();
    return answer;
  };
  expect(await asOwner("select from core.readings")).toBe(1);
  expect(await asOwner("select from core.readings_2029")).toBe("42501");
});
