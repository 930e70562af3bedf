// All rows of the database before and after: what is somebody's stays as it was, and shows in no answer.

import type pg from "pg";

/** Rows of `core` and of the logins, as `table {…}`. */
export type Rows = ReadonlySet<string>;

export async function rowsOf(admin: Pick<pg.Pool, "query">, only?: readonly string[]): Promise<Rows> {
  const names = only ?? (await tablesOf(admin));
  const each = names.map((name) => `select '${name} ' || to_jsonb(t)::text as row from ${name} t`);
  const { rows } = await admin.query<{ row: string }>(each.join(" union all "));
  return new Set(rows.map(({ row }) => row));
}

async function tablesOf(admin: Pick<pg.Pool, "query">): Promise<string[]> {
  const { rows } = await admin.query<{ name: string }>(
    `select oid::regclass::text as name from pg_class
      where (relnamespace = 'core'::regnamespace and relkind in ('r', 'p') and not relispartition)
         or oid in ('auth.users'::regclass, 'auth.sessions'::regclass)
      order by 1`,
  );
  return rows.map(({ name }) => name);
}

/** The rows that the others have not. */
export const without = (rows: Rows, others: Rows): Set<string> => new Set([...rows].filter((row) => !others.has(row)));

export const tableOf = (row: string): string => row.slice(0, row.indexOf(" "));
export const columnsOf = (row: string): Record<string, unknown> => JSON.parse(row.slice(row.indexOf(" ") + 1));

/** The texts in a row, however deep. */
function* textsIn(value: unknown): Generator<string> {
  if (typeof value === "string") yield value;
  else if (typeof value === "object" && value !== null) for (const inner of Object.values(value)) yield* textsIn(inner);
}

const TIME = /^\d{4}-\d\d-\d\d/;
/** Shorter texts, and those without a digit, are words of ours or stand in other texts by chance. */
const TELLING = 8;

/** Texts by which a row is recognized, each with a table that has it: all that stand in `whose` and in none of the others. */
export function tracesOf(whose: Iterable<string>, others: readonly Iterable<string>[]): Map<string, string> {
  const known = new Set<string>();
  for (const rows of others) for (const row of rows) for (const text of textsIn(columnsOf(row))) known.add(text);
  const traces = new Map<string, string>();
  for (const row of whose)
    for (const text of textsIn(columnsOf(row)))
      if (text.length >= TELLING && /\d/.test(text) && !TIME.test(text) && !known.has(text))
        traces.set(text, tableOf(row));
  return traces;
}
