// Brings a database to the state of supabase/migrations with the real Supabase CLI: what works here works hosted.

import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import pg from "pg";

export const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const BOOTSTRAP = fileURLToPath(new URL("bootstrap.sql", import.meta.url));
const CLI = fileURLToPath(new URL("../../../node_modules/supabase/dist/supabase.js", import.meta.url));
const SEED = `${ROOT}supabase/seed.sql`;

/** The Supabase CLI failed; `message` is what it said. */
export class MigrationError extends Error {}

export type Migrated = "changed" | "up to date";

/** Roles and schemas of the platform. `admin_url` is the superuser in the database to prepare. */
export async function bootstrap(admin_url: string, postgres_password: string): Promise<void> {
  await withClient(admin_url, async (client) => {
    await client.query(readFileSync(BOOTSTRAP, "utf8"));
    await setPassword(client, "postgres", postgres_password);
  });
}

/** Gives login roles that migrations made the passwords of this machine. */
export async function setPasswords(admin_url: string, passwords: Record<string, string>): Promise<void> {
  await withClient(admin_url, async (client) => {
    for (const [role, password] of Object.entries(passwords)) await setPassword(client, role, password);
  });
}

/** Applies what is missing. `url` connects as `postgres`. Does not start the CLI (most of a second) when nothing is missing. */
export async function migrate(url: string, { seed }: { seed: boolean }): Promise<Migrated> {
  if (await upToDate(url, seed)) return "up to date";
  await push(url, seed && existsSync(SEED));
  return "changed";
}

async function setPassword(client: pg.Client, role: string, password: string) {
  await client.query(`alter role ${client.escapeIdentifier(role)} password ${client.escapeLiteral(password)}`);
}

async function upToDate(url: string, seed: boolean): Promise<boolean> {
  const wanted = readdirSync(`${ROOT}supabase/migrations`).flatMap((name) => name.match(/^(\d+)_.*\.sql$/)?.[1] ?? []);
  return withClient(url, async (client) => {
    const history = "supabase_migrations.schema_migrations";
    const seeds = "supabase_migrations.seed_files";
    const { rows } = await client.query("select to_regclass($1) as history, to_regclass($2) as seeds", [
      history,
      seeds,
    ]);
    if (!rows[0].history) return false;
    const { rows: applied } = await client.query<{ version: string }>(`select version from ${history}`);
    const versions = new Set(applied.map(({ version }) => version));
    // a version that is applied and has no file is the CLI's to explain
    if (versions.size !== wanted.length || !wanted.every((version) => versions.has(version))) return false;
    if (!seed || !existsSync(SEED)) return true;
    if (!rows[0].seeds) return false;
    const hash = createHash("sha256").update(readFileSync(SEED)).digest("hex");
    const { rowCount } = await client.query(`select from ${seeds} where hash = $1`, [hash]);
    return rowCount === 1;
  });
}

function push(url: string, seed: boolean): Promise<void> {
  const args = ["db", "push", `--remote=${url}`, "--yes", ...(seed ? ["--include-seed"] : [])];
  const child = spawn(process.execPath, [CLI, ...args, "--workdir", ROOT, "--agent", "no"], {
    cwd: ROOT,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...process.env,
      PGSSLMODE: "disable",
      SUPABASE_TELEMETRY_DISABLED: "1",
      DO_NOT_TRACK: "1",
      NO_COLOR: "1",
      CI: "true",
    },
  });
  let said = "";
  child.stdout.on("data", (chunk) => (said += chunk));
  child.stderr.on("data", (chunk) => (said += chunk));
  return new Promise((resolve, reject) => {
    child.once("error", (error) =>
      reject(new MigrationError(`The Supabase CLI could not be started: ${error.message}`)),
    );
    child.once("close", (code) => {
      if (code === 0) resolve();
      else
        reject(
          new MigrationError(`supabase db push failed (exit ${code}):\n${said.replaceAll(url, "<database>").trim()}`),
        );
    });
  });
}

async function withClient<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}
