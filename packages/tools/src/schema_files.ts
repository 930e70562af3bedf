// What the database is: the files of supabase/schemas, in the order of `schema_paths` in supabase/config.toml.

import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import pg from "pg";

/** The schema files do not make a database; `message` says which is at fault. */
export class SchemaError extends Error {}

/**
 * The schema files in their order, from `root`, the folder that holds supabase/.
 * @throws {SchemaError} naming the files that `schema_paths` leaves out, or names and that are gone
 */
function schemaFiles(root: string): string[] {
  const toml = readFileSync(join(root, "supabase/config.toml"), "utf8");
  const list = toml.match(/^schema_paths = \[([^\]]*)\]/m)?.[1] ?? "";
  const listed = [...list.matchAll(/"\.\/(.*?)"/g)].map(([, path]) => `supabase/${path}`);
  const found = readdirSync(join(root, "supabase/schemas"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
  const wrong = [
    ...found.filter((file) => !listed.includes(file)).map((file) => `${file} is missing there`),
    ...listed.filter((file) => !found.includes(file)).map((file) => `${file} does not exist`),
  ];
  if (wrong.length > 0) throw new SchemaError(`schema_paths in supabase/config.toml: ${wrong.join(", ")}.`);
  return listed;
}

/** Runs the schema files in an empty database, as the role that migrates. */
export async function buildFromSchemas(url: string, root: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    for (const file of schemaFiles(root)) {
      await client.query(readFileSync(join(root, file), "utf8")).catch((error: Error) => {
        throw new SchemaError(`${file}: ${error.message}`, { cause: error });
      });
    }
  } finally {
    await client.end();
  }
}

/**
 * Makes one transaction of the statements, because the Supabase CLI does not. A migration that fails leaves nothing behind.
 * Every request reads core.deployment first. So the migration waits for running requests, new requests wait for the migration, and no
 * request can deadlock with it. After two seconds of waiting it gives up; a request waits three.
 */
export const inTransaction = (statements: string) =>
  `begin;\nset local lock_timeout = '2s';\nlock table core.deployment in access exclusive mode;\n${statements.trimEnd()}\n\ncommit;\n`;
