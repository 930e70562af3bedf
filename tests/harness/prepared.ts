// A data folder of npm start in which the database is already migrated and the functions are compiled: copied from what the tests keep,
// it costs a tenth of a first start. tests/local/start.test.ts proves the first start itself.

import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { ROOT } from "#local/checkout.ts";
import { connected, startPostgres } from "#local/postgres.ts";
import { loadSecrets } from "#local/secrets.ts";
import { PASSWORDS, SEEDED, TEMPLATE, templateFolder } from "./template.ts";

/** What Deno compiled of this checkout: it keeps it by path and content, and stacks may share it. */
const COMPILED = join(ROOT, "node_modules/.cache/deno-stack");

/** Makes the folder, for either host. A stack that starts in it gives every role its own password. */
export async function prepare(data_dir: string): Promise<void> {
  mkdirSync(data_dir, { recursive: true, mode: 0o711 });
  mkdirSync(COMPILED, { recursive: true });
  symlinkSync(COMPILED, join(data_dir, "deno"));
  const { passwords } = loadSecrets(data_dir);
  const server = await startPostgres({
    folder: join(data_dir, "postgres"),
    password: PASSWORDS.supabase_admin,
    log_file: join(data_dir, "postgres.log"),
    durable: true,
    copy_of: await templateFolder(),
  });
  try {
    const client = await connected(server.url("template1"));
    for (const statement of [
      "drop database postgres",
      `drop database ${TEMPLATE}`,
      `alter database ${SEEDED} rename to postgres`,
      `alter role supabase_admin password ${pg.escapeLiteral(passwords.supabase_admin)}`,
    ])
      await client.query(statement);
    await client.end();
  } finally {
    await server.stop();
  }
}
