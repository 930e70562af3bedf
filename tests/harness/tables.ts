import type { World } from "./world.ts";

/** The tables of the database that hold a text anywhere in a row, whatever its case. */
export async function tablesWith(world: World, text: string): Promise<string[]> {
  const { rows } = await world.database.admin.query<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where c.relkind = 'r' and n.nspname !~ '^(pg_|information_schema)' order by 1`,
  );
  const found = await world.database.admin.query<{ name: string }>(
    rows
      .map(
        ({ name }, n) =>
          `select ${n} as n, '${name}' as name where exists (select from ${name} t where t::text ilike $1)`,
      )
      .join(" union all "),
    [`%${text}%`],
  );
  return found.rows.map(({ name }) => name);
}
