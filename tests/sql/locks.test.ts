// Locks that belong to no row: taken by two functions alone, in the order of their kinds.

import { afterAll, beforeAll, expect, test } from "vitest";
import { cloneDatabase, type Database } from "../harness/database.ts";

let database: Database;
/** The kinds in the order in which a transaction takes them. */
let kinds: string[];
/** What each function calls and locks, in the order of its body. */
let bodies: Map<string, string[]>;

beforeAll(async () => {
  database = await cloneDatabase();
  const { rows } = await database.admin.query(`
    select p.pronamespace::regnamespace || '.' || p.proname as name,
           regexp_replace(coalesce(pg_get_function_sqlbody(p.oid), p.prosrc), '--[^\\n]*', '', 'g') as source
      from pg_proc p where p.pronamespace::regnamespace::text in ('core', 'api', 'ops', 'private')`);
  kinds = (await database.admin.query("select unnest(enum_range(null::private.lock_kind))::text as kind")).rows.map(
    ({ kind }) => kind,
  );
  bodies = new Map(
    rows.map(({ name, source }) => [
      name,
      [...source.matchAll(/private\.(?:try_)?lock\(('\w+')|((?:api|ops|private)\.\w+)\s*\(/g)].map(
        ([, kind, callee]) => kind ?? callee,
      ),
    ]),
  );
});
afterAll(() => database.drop());

test("no function takes an advisory lock but private.lock and private.try_lock", async () => {
  const { rows } = await database.admin.query(`
    select p.oid::regproc::text as name from pg_proc p
     where p.pronamespace::regnamespace::text in ('core', 'api', 'ops', 'private')
       and coalesce(pg_get_function_sqlbody(p.oid), p.prosrc) like '%advisory%'
     order by 1`);
  expect(rows.map(({ name }) => name)).toEqual(["private.lock", "private.try_lock"]);
});

test("every kind of lock is taken somewhere", () => {
  const taken = new Set([...bodies.values()].flat());
  expect(kinds.filter((kind) => !taken.has(`'${kind}'`))).toEqual([]);
});

test("no function takes a lock, itself or by what it calls, after one that comes later", () => {
  /** The kinds that a function takes, with those of the functions it calls. */
  const takenBy = (name: string, callers: string[] = []): Set<string> =>
    callers.includes(name)
      ? new Set()
      : new Set(
          (bodies.get(name) ?? []).flatMap((each) =>
            each.startsWith("'") ? [each.slice(1, -1)] : [...takenBy(each, [...callers, name])],
          ),
        );
  const rank = (kind: string) => kinds.indexOf(kind);
  const wrong = [...bodies].flatMap(([name, steps]) => {
    const held = new Set<string>();
    return steps.flatMap((step) => {
      const next = step.startsWith("'") ? [step.slice(1, -1)] : [...takenBy(step, [name])];
      const late = next.flatMap((kind) =>
        held.has(kind)
          ? []
          : [...held].filter((other) => rank(other) > rank(kind)).map((other) => `${kind} after ${other}`),
      );
      for (const kind of next) held.add(kind);
      return late.map((each) => `${name}: ${each}`);
    });
  });
  expect(wrong).toEqual([]);
});

test("a lock taken out of order at run time is named", async () => {
  const taking = (...locks: string[]) =>
    database.admin.query(`select ${locks.map((lock) => `private.lock(${lock})`).join(", ")}`);
  await taking("'ean', 'b'", "'year', 'b'", "'ean', 'b'");
  await expect(taking("'year', 'b'", "'ean', 'b'")).rejects.toThrow('lock "ean b" is taken after "year b"');
});
