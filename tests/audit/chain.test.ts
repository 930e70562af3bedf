// The audit log and the ledger are tamper-evident: whoever changes a row, as the owner of the database may, is found out.

import type pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createWorld, type World } from "../harness/world.ts";
import { operatorOf, type Ran } from "../operator/operator.ts";

let world: World;
let operator: (command: string) => Promise<Ran>;
beforeAll(async () => {
  world = await createWorld({ host: "production", now: "2026-08-15T12:00:00Z" });
  operator = operatorOf(world.database);
});
afterAll(() => world.close());

const admin = () => world.database.admin;
const tenant = () => world.partnerA.id;
/** The job of the worker: says how many rows it gave a link. */
const chain = async (size = 1000): Promise<number> =>
  (await world.row("select private.chain_audit($1) as answer", size)).answer.chained;
const verify = (more = "") => operator(`audit verify --partner ${tenant()}${more}`);
const wrong = async () => (await verify()).json.wrong;

/** So many rows of the audit log and of the ledger, each in a transaction of its own. */
async function write(rows: number, through: pg.Pool | pg.PoolClient = admin()) {
  for (let n = 0; n < rows; n += 1) {
    await through.query(
      "select set_config('app.partner_id', $1, false), private.audit('test.written', gen_random_uuid())",
      [tenant()],
    );
    await through.query(
      `select private.post($1, array[row('test:' || gen_random_uuid(), 'EUR', $2, 'buyer', $1, 'service', private.people_tenant())::private.posting])`,
      [tenant(), n + 1],
    );
  }
}

/** Everything of the tenant as it was: rows, links, chains, seals. */
const TABLES = ["audit_log", "ledger_entries", "ledger_accounts", "audit_chains", "audit_links", "audit_seals"];
async function keep() {
  for (const table of TABLES) await admin().query(`create table public.kept_${table} as select * from core.${table}`);
}
async function restore() {
  const columns = async (table: string) =>
    (
      await world.row(
        "select string_agg(quote_ident(attname), ', ') as names from pg_attribute where attrelid = $1::regclass and attnum > 0",
        `core.${table}`,
      )
    ).names;
  for (const table of ["ledger_entries", ...TABLES.filter((name) => name !== "ledger_entries")])
    await admin().query(`delete from core.${table}`);
  for (const table of ["ledger_accounts", ...TABLES.filter((name) => name !== "ledger_accounts")]) {
    const names = await columns(table);
    await admin().query(
      `insert into core.${table} (${names}) overriding system value select ${names} from public.kept_${table}`,
    );
  }
}

test("contract §3 audit verify: what the job has chained holds, and what it has not seen yet waits ten minutes", async () => {
  await write(5);
  const unseen = await verify();
  expect([unseen.code, unseen.json]).toEqual([0, expect.objectContaining({ ok: true, rows: 0, wrong: [] })]);
  expect(await chain()).toBeGreaterThanOrEqual(10);
  expect(await chain()).toBe(0);
  const { code, json } = await verify();
  expect([code, json.ok, json.rows]).toEqual([0, true, json.chains[0].links + json.chains[1].links]);
  expect(json.chains).toMatchObject([{ log: "audit" }, { log: "ledger", links: 5, position: 5 }]);

  await write(1);
  await world.freeze("2026-08-15T12:10:01Z");
  expect(await wrong()).toMatchObject([
    { log: "audit", fault: "not_chained", what: "test.written" },
    { log: "ledger", fault: "not_chained", what: expect.stringMatching(/^test:/) },
  ]);
  await chain();
  expect(await wrong()).toEqual([]);
});

test("contract §3 the chain follows commits: a row that commits after younger ones has its link after theirs", async () => {
  const late = await admin().connect();
  await late.query("begin");
  await write(1, late);
  await write(2);
  await chain();
  const before = (await verify()).json.chains[1].position;
  // however often the job runs, it does not pass what may still come
  for (const minute of ["12:20", "12:30"]) {
    await world.freeze(`2026-08-15T${minute}:00Z`);
    await chain();
  }
  await late.query("commit");
  late.release();
  expect(await chain()).toBe(2);
  expect((await verify()).json).toMatchObject({ ok: true, chains: [{}, { position: before + 1 }] });
  const { rows } = await admin().query(
    "select row_id from core.audit_links where partner_id = $1 and log = 'ledger' order by position desc limit 3",
    [tenant()],
  );
  expect(Number(rows[0].row_id)).toBeLessThan(Number(rows[1].row_id));
});

test("contract §3 eight jobs at once, with writers that commit and roll back, give each committed row one link", async () => {
  const writing = Array.from({ length: 4 }, async (_, n) => {
    const client = await admin().connect();
    for (let step = 0; step < 15; step += 1) {
      await client.query("begin");
      await write(1, client);
      await client.query((step + n) % 3 === 0 ? "rollback" : "commit");
    }
    client.release();
  });
  const chaining = Array.from({ length: 8 }, async () => {
    for (let step = 0; step < 8; step += 1) await chain(7);
  });
  await Promise.all([...writing, ...chaining]);
  while ((await chain()) > 0);
  const counts = await world.row(
    `select (select count(*) from core.audit_links)::int as links,
            (select count(*) from core.audit_log)::int + (select count(*) from core.ledger_entries)::int as rows`,
  );
  expect(counts.links).toBe(counts.rows);
  expect((await operator("audit verify")).json).toMatchObject({ ok: true, rows: counts.rows });
});

test("contract §3 once nobody can write before them any more, rows are settled, and the job looks at them no more", async () => {
  const settled = () =>
    world.row(
      "select settled_id = (select max(id) from core.ledger_entries where partner_id = $1) as yes from core.audit_chains where partner_id = $1 and log = 'ledger'",
      tenant(),
    );
  // transactions of other databases of this server are waited for as well
  for (let minute = 40; !(await settled()).yes; minute += 2) {
    await world.freeze(new Date(Date.UTC(2026, 7, 15, 12, minute)).toISOString());
    await chain();
  }
});

/** The row of the audit log, or of the ledger, that was written as the nth. */
const nth = (log: string, n: number) =>
  `(select id from core.${log === "audit" ? "audit_log" : "ledger_entries"} where partner_id = '${tenant()}' order by id offset ${n} limit 1)`;
const linkOf = (log: string, n: number) => `partner_id = '${tenant()}' and log = '${log}' and row_id = ${nth(log, n)}`;
/** An id that the sequence gave to a transaction that was rolled back. */
const unused = (table: string) =>
  `(select min(n) from generate_series(1, (select max(id) from core.${table})) n where not exists (select from core.${table} where id = n))`;

type Attack = [what: string, log: "audit" | "ledger", fault: string, statement: () => string];
const ATTACKS: Attack[] = [
  [
    "changes an amount",
    "ledger",
    "changed",
    () => `update core.ledger_entries set amount = 999 where id = ${nth("ledger", 3)}`,
  ],
  [
    "changes whose account it is",
    "ledger",
    "changed",
    () =>
      `update core.ledger_accounts set owner = gen_random_uuid() where id = (select credit from core.ledger_entries where id = ${nth("ledger", 3)})`,
  ],
  [
    "changes what was done",
    "audit",
    "changed",
    () => `update core.audit_log set action = 'test.other' where id = ${nth("audit", 3)}`,
  ],
  [
    "changes who did it",
    "audit",
    "changed",
    () => `update core.audit_log set actor = 'nobody' where id = ${nth("audit", 3)}`,
  ],
  [
    "changes when it was",
    "audit",
    "changed",
    () => `update core.audit_log set at = at + interval '1 microsecond' where id = ${nth("audit", 3)}`,
  ],
  [
    "changes the details",
    "audit",
    "changed",
    () => `update core.audit_log set details = '{"a": 1}' where id = ${nth("audit", 3)}`,
  ],
  ["deletes an entry", "ledger", "deleted", () => `delete from core.ledger_entries where id = ${nth("ledger", 3)}`],
  ["deletes a row", "audit", "deleted", () => `delete from core.audit_log where id = ${nth("audit", 3)}`],
  [
    "swaps two entries",
    "ledger",
    "changed",
    () => `update core.ledger_entries a set amount = b.amount from core.ledger_entries b
            where (a.id, b.id) in ((${nth("ledger", 3)}, ${nth("ledger", 4)}), (${nth("ledger", 4)}, ${nth("ledger", 3)}))`,
  ],
  [
    "swaps two rows",
    "audit",
    "changed",
    () => `update core.audit_log a set subject_id = b.subject_id from core.audit_log b
            where (a.id, b.id) in ((${nth("audit", 3)}, ${nth("audit", 4)}), (${nth("audit", 4)}, ${nth("audit", 3)}))`,
  ],
  [
    "swaps two entries and their links",
    "ledger",
    "reordered",
    () => `update core.audit_links set position = -1 where ${linkOf("ledger", 4)};
           update core.audit_links set position = position + 1 where ${linkOf("ledger", 3)};
           update core.audit_links a set position = b.position - 1 from core.audit_links b
            where b.${linkOf("ledger", 3).replaceAll(" and ", " and b.")} and a.${linkOf("ledger", 4).replaceAll(" and ", " and a.")}`,
  ],
  [
    "changes a row and its link",
    "audit",
    "reordered",
    () => `update core.audit_log set action = 'test.other' where id = ${nth("audit", 3)};
           update core.audit_links l set content = v.content from core.audit_content v where l.partner_id = v.partner_id and l.log = v.log and l.row_id = v.row_id and l.row_id = ${nth("audit", 3)} and l.log = 'audit'`,
  ],
];
const INSERTED: Attack[] = [
  [
    "inserts an entry among old ones",
    "ledger",
    "inserted",
    () => `insert into core.ledger_entries (partner_id, id, debit, credit, unit, amount, cause) overriding system value
           select partner_id, ${unused("ledger_entries")}, credit, debit, unit, amount, cause || ':mine' from core.ledger_entries where id = ${nth("ledger", 3)}`,
  ],
  [
    "inserts a row among old ones",
    "audit",
    "inserted",
    () =>
      `insert into core.audit_log (partner_id, id, actor, action) overriding system value values ('${tenant()}', ${unused("audit_log")}, 'me', 'test.inserted')`,
  ],
];

describe("contract §3 attack: somebody with the rights of the owner of the database", () => {
  beforeAll(keep);
  beforeEach(restore);

  test.each(ATTACKS)("contract §3 %s of the %s, and the row is named as %s", async (_what, log, fault, statement) => {
    const { id } = await world.row(`select ${nth(log, 3)} as id`);
    await admin().query(statement());
    const { code, json } = await verify();
    expect([code, json.ok]).toEqual([1, false]);
    const named = json.wrong.find((found: { log: string }) => found.log === log);
    expect(named).toMatchObject({ fault });
    if (!_what.includes("whose") && fault !== "reordered") expect(String(named.row)).toBe(id);
    if (fault === "reordered") expect(Number(named.position)).toBeLessThanOrEqual(5);
  });

  test.each(INSERTED)("contract §3 %s of the %s, and the row is named as %s", async (_what, log, fault, statement) => {
    await admin().query(statement());
    expect(await wrong()).toMatchObject([{ log, fault, what: expect.stringMatching(/mine|inserted/) }]);
    await chain();
    expect(await wrong(), "the job does not chain it afterwards").toHaveLength(1);
  });

  test("contract §3 takes the last rows away with their links, and the end of the chain no longer fits", async () => {
    await admin().query(
      `with gone as (delete from core.audit_links where partner_id = $1 and log = 'audit' and position > 3 returning row_id)
       delete from core.audit_log where id in (select row_id from gone)`,
      [tenant()],
    );
    expect((await wrong())[0]).toMatchObject({ log: "audit", fault: "cut_off", position: 4 });
  });

  test("contract §3 takes away the chain itself, and what is left of it is named", async () => {
    await admin().query("delete from core.audit_chains where partner_id = $1 and log = 'audit'", [tenant()]);
    expect(await wrong()).toMatchObject([{ log: "audit", fault: "reordered", position: 1 }]);
  });

  test("contract §3 makes the whole chain again, and the hash that was kept elsewhere is not there", async () => {
    await world.freeze("2026-08-16T00:05:00Z");
    const answer = await world.row("select private.chain_audit(1000) as answer");
    const { hash, day } = answer.answer.sealed;
    expect(day).toBe("2026-08-15");
    const kept = await verify(` --expect ${hash}`);
    expect([kept.code, kept.json]).toEqual([0, expect.objectContaining({ ok: true, expected: true, seals: 2 })]);
    const tail = kept.json.chains[0].hash;
    expect((await verify(` --expect ${tail}`)).json).toMatchObject({ ok: true, expected: true });
    expect((await verify(` --expect ${"0".repeat(64)}`)).json).toMatchObject({ ok: false, expected: false });

    await admin().query(`delete from core.audit_log where id = ${nth("audit", 3)}`);
    await admin().query("delete from core.audit_links where log = 'audit'");
    await admin().query("delete from core.audit_chains where log = 'audit'");
    await chain();
    expect(await wrong()).toMatchObject([{ fault: "seal_broken", log: "audit", partner_slug: "partner-a" }]);
    // and the seal too
    await admin().query("delete from core.audit_seals");
    await chain();
    expect((await verify()).json).toMatchObject({ ok: true });
    const found = await verify(` --expect ${hash}`);
    expect([found.code, found.json]).toEqual([1, expect.objectContaining({ ok: false, expected: false, wrong: [] })]);
  });
});
