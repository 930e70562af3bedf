// What identifies an object, by the catalogue: columns of unique keys that refer to no other table, and texts that are looked up.

import type pg from "pg";
import { columnsOf, type Rows, tableOf } from "./rows.ts";

/** A kind of identifier, such as `accounts.id`, and its values of somebody. Of each tenant and owner there is one. */
export type Kind = { name: string; isId: boolean; values: string[] };

/** Every kind of identifier of the catalogue, with those values by which only somebody's rows are recognized. */
export async function kindsOf(
  admin: Pick<pg.Pool, "query">,
  whose: Rows,
  traces: ReadonlyMap<string, string>,
): Promise<Kind[]> {
  const { rows: columns } = await admin.query<{ table: string; column: string; is_id: boolean }>(
    `select c.oid::regclass::text as "table", a.attname as column, a.atttypid = 'uuid'::regtype as is_id
       from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
      where c.relnamespace = 'core'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
        and a.atttypid in ('uuid'::regtype, 'text'::regtype) and a.attname not in ('partner_id', 'owner_id')
        and not exists (select from pg_constraint k where k.conrelid = c.oid and k.contype = 'f' and a.attnum = any (k.conkey))
        and exists (select from pg_index i where i.indrelid = c.oid and a.attnum = any (i.indkey))
      order by a.attname <> 'id', 1, 2`,
  );
  const rows = [...whose].map((row) => ({ table: tableOf(row), columns: columnsOf(row) }));
  const seen = new Set<string>();
  const kinds: Kind[] = [];
  for (const { table, column, is_id: isId } of columns) {
    const byOwner = new Map<string, string>();
    for (const row of rows) {
      const value = row.columns[column];
      if (row.table !== table || typeof value !== "string" || seen.has(value) || !traces.has(value)) continue;
      byOwner.set(`${row.columns.partner_id} ${row.columns.owner_id ?? row.columns.user_id}`, value);
    }
    const values = [...byOwner.values()];
    // the same thing is named once: by its own table
    for (const row of rows) if (row.table === table && row.columns[column]) seen.add(String(row.columns[column]));
    kinds.push({ name: `${table.replace("core.", "")}.${column}`, isId, values });
  }
  return kinds;
}
