// A data folder of npm start in which the database is already migrated: copied from what the tests keep, it costs a tenth of a first
// start. tests/local/start.test.ts proves the first start itself.

import { execFileSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { connected, freePort, startPostgres } from "#local/postgres.ts";
import { startStack } from "#local/runner.ts";
import { loadSecrets } from "#local/secrets.ts";
import { onceARun } from "./once_a_run.ts";
import { PASSWORDS, SEEDED, TEMPLATE, templateFolder } from "./template.ts";

/** Makes the folder, for either host. A stack that starts in it gives every role its own password. */
export async function prepare(data_dir: string): Promise<void> {
  mkdirSync(data_dir, { recursive: true, mode: 0o711 });
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

/**
 * The same for the sandbox, as its first start leaves it, with the demo's customer of a year. Only once a run is that year charged,
 * booked and paid, and its documents rendered.
 */
export async function prepareSandbox(data_dir: string): Promise<void> {
  const started = await onceARun("sandbox", startOnce);
  // belongs to whom it belonged; chosen ports would be those of every other copy
  execFileSync("cp", ["-a", `${started}/.`, data_dir]);
}

async function startOnce(): Promise<string> {
  const data_dir = mkdtempSync(join(tmpdir(), "ere-sandbox-"));
  chmodSync(data_dir, 0o711);
  await prepare(data_dir);
  const running = await startStack({ host: "sandbox", port: await freePort(), data_dir, fresh: false });
  try {
    const url = new URL(running.stack.database_url);
    Object.assign(url, { username: "supabase_admin", password: loadSecrets(data_dir).passwords.supabase_admin });
    const client = await connected(url.href);
    const due = "select from core.documents where rendered_at is null and due_at <= now()";
    while ((await client.query(due)).rowCount) await sleep(200);
    await client.end();
  } finally {
    await running.stop();
  }
  for (const name of ["ports.json", "functions.log", "gateway.log", "postgres.log"])
    rmSync(join(data_dir, name), { force: true });
  return data_dir;
}
