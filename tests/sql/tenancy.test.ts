// Every table of the catalogue that has a tenant: acting as partner B, the rows of partner A are neither seen nor touched.

import { afterAll, describe, expect, test } from "vitest";
import { giveEverything } from "../harness/everything.ts";
import type { Partner } from "../harness/people.ts";
import { createWorld } from "../harness/world.ts";

const world = await createWorld();
afterAll(() => world.close());
const { admin } = world.database;
const A = world.partnerA;
const B = world.partnerB;

await giveEverything(world, A);
await giveEverything(world, B);
await admin.query("select private.chain_audit(1000)");

const { rows: TABLES } = await admin.query<{ name: string; columns: string }>(
  `select c.oid::regclass::text as name,
          string_agg(quote_ident(a.attname), ', ') filter (where a.attgenerated = '') as columns
     from pg_class c join pg_namespace n on n.oid = c.relnamespace
     join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where n.nspname = 'core' and c.relkind in ('r', 'p') and not c.relispartition
    group by c.oid having bool_or(a.attname = 'partner_id') order by 1`,
);

/** What a statement comes to for the owner of the api functions, acting for a partner: rows, or the code of the refusal. */
async function acting(partner: Partner | null, table: string, statement: string, ...values: unknown[]) {
  const client = await admin.connect();
  try {
    await client.query("begin");
    // policies are to hold by themselves, whatever was granted
    await client.query(`grant all on ${table} to api_owner`);
    await client.query("set local role api_owner");
    await client.query(
      "select set_config('app.partner_id', $1, true), set_config('app.client_id', $2, true), set_config('app.sees_whole_tenant', 'true', true)",
      [partner?.id ?? "", partner?.client.id ?? ""],
    );
    return (await client.query(statement, values)).rowCount;
  } catch (error) {
    return (error as { code: string }).code;
  } finally {
    await client.query("rollback");
    client.release();
  }
}

const REFUSED = "42501";

describe.each(TABLES)("§2 tenancy: $name", ({ name, columns }) => {
  const rowsOf = async (partner: Partner) =>
    (await admin.query(`select to_jsonb(t) as row from ${name} t where partner_id = $1`, [partner.id])).rows;

  test("has rows of both partners, else this file proves nothing about it: see giveEverything()", async () => {
    for (const partner of [A, B]) expect(await rowsOf(partner)).not.toEqual([]);
  });

  test("shows a partner its own rows at most, and nobody's to nobody", async () => {
    const read = `select from ${name}`;
    const own = (await rowsOf(B)).length;
    // the audit log is written only
    expect(await acting(B, name, read)).toBe(name === "core.audit_log" ? 0 : own);
    expect(await acting(B, name, `${read} where partner_id = $1`, A.id)).toBe(0);
    expect(await acting(null, name, read)).toBe(0);
  });

  test.each([B, null])("lets no other partner, and not nobody, change or delete a row", async (other) => {
    expect(await acting(other, name, `update ${name} set partner_id = partner_id where partner_id = $1`, A.id)).toBe(0);
    expect(await acting(other, name, `delete from ${name} where partner_id = $1`, A.id)).toBe(0);
  });

  test("takes no row in the name of another partner", async () => {
    const [{ row }] = (await rowsOf(A)) as [{ row: object }];
    const insert = `insert into ${name} (${columns}) overriding system value
                    select ${columns} from jsonb_populate_record(null::${name}, $1)`;
    expect(await acting(B, name, insert, row)).toBe(REFUSED);
  });

  test("hands no row over to another partner", async () => {
    const moved = await acting(B, name, `update ${name} set partner_id = $1 where partner_id = $2`, A.id, B.id);
    // where rows may not be updated at all there is none to move
    expect([0, REFUSED]).toContain(moved);
  });

  test.each(["select from", "delete from", "truncate"])("refuses the role edge to %s", async (verb) => {
    await expect(admin.query(`set role edge; ${verb} ${name}`)).rejects.toMatchObject({ code: REFUSED });
  });
});
