// What the database is: the files of supabase/schemas, in the order of `schema_paths` in supabase/config.toml.

import { existsSync, readdirSync, readFileSync } from "node:fs";
import { basename, join, relative } from "node:path";
import pg from "pg";
import { isReleased } from "./released.ts";

/** The schema files do not make a database; `message` says which is at fault. */
export class SchemaError extends Error {}

/**
 * The schema files in their order, from `root`, the folder that holds supabase/. As the Supabase CLI reads `schema_paths`: the files of a
 * pattern by name, each file once.
 * @throws {SchemaError} naming the files that no pattern matches, and the patterns that match no file
 */
function schemaFiles(root: string): string[] {
  const toml = readFileSync(join(root, "supabase/config.toml"), "utf8");
  const list = toml.match(/^schema_paths = \[([^\]]*)\]/m)?.[1] ?? "";
  const patterns = [...list.matchAll(/"\.\/(.*?)"/g)].map(([, pattern]) => `supabase/${pattern}`);
  const found = readdirSync(join(root, "supabase/schemas"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .sort();
  const matching = (pattern: string) => {
    const expression = new RegExp(`^${pattern.replaceAll(".", "\\.").replaceAll("*", "[^/]*")}$`);
    return found.filter((file) => expression.test(file));
  };
  const files = new Set(patterns.flatMap(matching));
  const wrong = [
    ...found.filter((file) => !files.has(file)).map((file) => `${file} is missing there`),
    ...patterns.filter((pattern) => matching(pattern).length === 0).map((pattern) => `${pattern} matches no file`),
  ];
  if (wrong.length > 0) throw new SchemaError(`schema_paths in supabase/config.toml: ${wrong.join(", ")}.`);
  return [...files];
}

/** Where the baseline stands, from the folder that holds supabase/. Its version does not change with its content. */
export const BASELINE = "supabase/migrations/20261120000000_baseline.sql";

/** Migrates a database of the last release that holds booked, sold and paid months. */
export const UPGRADE_TEST = "tests/sql/upgrade.test.ts";

/** The one migration until the release: the schema files in their order. */
export function baseline(root: string): string {
  const parts = schemaFiles(root).map((file) => `-- ${file}\n\n${readFileSync(join(root, file), "utf8").trimEnd()}\n`);
  return `-- Written by npm run migration -- --baseline. Change the files that it names instead.\n\nbegin;\n\n${parts.join("\n")}\ncommit;\n`;
}

export const migrationFiles = (root: string) =>
  readdirSync(join(root, "supabase/migrations"))
    .filter((file) => file.endsWith(".sql"))
    .sort();

/** What is wrong with the files of supabase/migrations, and what repairs it. Null if nothing is. */
export function baselineFault(root: string): string | null {
  const others = migrationFiles(root).filter((file) => file !== basename(BASELINE));
  if (isReleased(root)) {
    if (others.length === 0 || existsSync(join(root, UPGRADE_TEST))) return null;
    return `The first migration after a release needs ${UPGRADE_TEST}: see CONTRIBUTING.md, "Release".`;
  }
  if (others.length > 0)
    return `Until the release, the baseline is the only migration. Delete ${others.join(", ")} from supabase/migrations.`;
  if (readFileSync(join(root, BASELINE), "utf8") === baseline(root)) return null;
  return `${BASELINE} is not what the schema files say. Run npm run migration -- --baseline.`;
}

/** Runs the schema files in an empty database, as the role that migrates. */
export async function buildFromSchemas(url: string, root: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const run = (file: string, statements: string) =>
    client.query(statements).catch((error: Error) => {
      throw new SchemaError(`${file}: ${error.message}`, { cause: error });
    });
  try {
    for (const file of schemaFiles(root)) await run(file, readFileSync(join(root, file), "utf8"));
    await client.query("set check_function_bodies = on");
    const { rows } = await client.query<{ name: string; definition: string }>(FUNCTIONS);
    for (const { name, definition } of rows) await run(name, definition);
  } finally {
    await client.end();
  }
}

const FUNCTIONS = `
  select p.oid::regprocedure::text as name, pg_get_functiondef(p.oid) as definition
    from pg_proc p where p.pronamespace::regnamespace::text in ('core', 'private', 'api', 'ops') and p.prosqlbody is null`;

/**
 * Makes one transaction of the statements, because the Supabase CLI does not. A migration that fails leaves nothing behind.
 * Every request reads core.deployment first. So the migration waits for running requests, new requests wait for the migration, and no
 * request can deadlock with it. After two seconds of waiting it gives up; a request waits three.
 */
export const inTransaction = (statements: string) =>
  `begin;\nset local lock_timeout = '2s';\nlock table core.deployment in access exclusive mode;\n${statements.trimEnd()}\n\ncommit;\n`;
