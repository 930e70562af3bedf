// Whether two databases are the same, in every object, owner, grant and comment, and in the rows that a fresh one holds.

import { readFileSync } from "node:fs";
import type { ClientBase } from "pg";

/** What a database holds: the name of each fact, and what it says. */
type Facts = ReadonlyMap<string, string>;

const CATALOGUE = readFileSync(new URL("database_facts.sql", import.meta.url), "utf8");

/** Reads every fact of a freshly built database. The connection belongs to the role that migrates and loses its search path. */
export async function factsOf(client: ClientBase): Promise<Facts> {
  await client.query("set search_path = ''"); // so that every name is written with its schema
  const { rows } = await client.query<{ key: string; value: string }>(CATALOGUE);
  const facts = new Map(rows.map(({ key, value }) => [key, value]));
  if (facts.size !== rows.length) throw new Error("two facts of a database have the same name");
  for (const row of await seedRows(client)) facts.set(row, "");
  return facts;
}

/** The rows of our own tables. A column that takes the time of day by itself is left out. */
async function seedRows(client: ClientBase): Promise<string[]> {
  const { rows: tables } = await client.query<{ name: string; clocks: string[] }>(
    `select c.oid::regclass::text as name,
            array(select attname::text from pg_catalog.pg_attrdef
                    join pg_catalog.pg_attribute on attrelid = adrelid and attnum = adnum
                   where adrelid = c.oid and pg_catalog.pg_get_expr(adbin, adrelid) like '%now()%') as clocks
       from pg_catalog.pg_class c
      where relkind = 'r' and relnamespace::regnamespace::text in ('core', 'api', 'ops', 'private')`,
  );
  const found: string[] = [];
  for (const { name, clocks } of tables) {
    const query = `select (to_jsonb(t) - $1::text[])::text as content from ${name} t`;
    const { rows } = await client.query<{ content: string }>(query, [clocks]);
    found.push(...rows.map(({ content }) => `row of ${name}: ${content}`));
  }
  return found;
}

/** The facts in which the two differ, a line each. Empty: they are the same. */
export function driftBetween(migrations: Facts, schemas: Facts): string[] {
  const names = [...new Set([...migrations.keys(), ...schemas.keys()])].sort();
  return names.flatMap((name) => {
    if (!migrations.has(name)) return `only in the schema files: ${name}`;
    if (!schemas.has(name)) return `only in the migrations: ${name}`;
    return migrations.get(name) === schemas.get(name) ? [] : `not the same: ${name}`;
  });
}
