// Brings a database to the state of supabase/migrations with the real Supabase CLI: what works here works hosted.

import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type pg from "pg";
import { ROOT } from "./checkout.ts";
import { connected } from "./postgres.ts";

const BOOTSTRAP = fileURLToPath(new URL("bootstrap.sql", import.meta.url));
const CLI = `${ROOT}node_modules/supabase/dist/supabase.js`;
const seedFile = (root: string) => join(root, "supabase/seed.sql");

/** The Supabase CLI failed; `message` is what it said. */
export class MigrationError extends Error {}

type Migrated = "changed" | "up to date";

/** Roles and schemas of the platform. `admin_url` is the superuser in the database to prepare. */
export async function bootstrap(adminUrl: string, postgresPassword: string): Promise<void> {
  await withClient(adminUrl, async (client) => {
    await client.query(readFileSync(BOOTSTRAP, "utf8"));
    await setPassword(client, "postgres", postgresPassword);
  });
}

/** Gives login roles that migrations made the passwords of this machine. */
export async function setPasswords(adminUrl: string, passwords: Record<string, string>): Promise<void> {
  await withClient(adminUrl, async (client) => {
    for (const [role, password] of Object.entries(passwords)) await setPassword(client, role, password);
  });
}

/** Operators with a login of their own, where they are missing: as `login create` makes them. `url` connects as `postgres`. */
export async function makeOperatorLogins(url: string, names: readonly string[]): Promise<void> {
  await withClient(url, async (client) => {
    const { rows } = await client.query("select rolname from pg_roles where rolname like 'operator!_%' escape '!'");
    const known = rows.map(({ rolname }) => rolname);
    for (const name of names.filter((each) => !known.includes(`operator_${each}`)))
      await client.query("select private.login_create($1)", [{ operator: "npm start", name, verifier: "" }]);
  });
}

/**
 * Applies what is missing of supabase/ in `root`. `url` connects as `postgres`. Does not start the CLI (most of a second) when
 * nothing is missing.
 */
export async function migrate(url: string, { seed, root = ROOT }: { seed: boolean; root?: string }): Promise<Migrated> {
  if (await upToDate(url, seed, root)) return "up to date";
  const withSeed = seed && existsSync(seedFile(root)) ? ["--include-seed"] : [];
  await runSupabase(["db", "push", `--remote=${url}`, "--yes", ...withSeed], root);
  return "changed";
}

async function setPassword(client: pg.Client, role: string, password: string) {
  await client.query(`alter role ${client.escapeIdentifier(role)} password ${client.escapeLiteral(password)}`);
}

async function upToDate(url: string, seed: boolean, root: string): Promise<boolean> {
  const files = readdirSync(join(root, "supabase/migrations"));
  const wanted = files.flatMap((name) => name.match(/^(\d+)_.*\.sql$/)?.[1] ?? []);
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
    if (!seed || !existsSync(seedFile(root))) return true;
    if (!rows[0].seeds) return false;
    const hash = createHash("sha256")
      .update(readFileSync(seedFile(root)))
      .digest("hex");
    const { rowCount } = await client.query(`select from ${seeds} where hash = $1`, [hash]);
    return rowCount === 1;
  });
}

/**
 * Runs a command of the Supabase CLI in the folder that holds supabase/, with `variables` in its environment beside this process's.
 * @throws {MigrationError} with what it said, without the URLs of databases
 */
export function runSupabase(
  args: readonly string[],
  root = ROOT,
  variables: Readonly<Record<string, string>> = {},
): Promise<void> {
  const child = spawn(process.execPath, [CLI, ...args, "--workdir", root, "--agent", "no"], {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...process.env,
      PGSSLMODE: "disable",
      SUPABASE_TELEMETRY_DISABLED: "1",
      DO_NOT_TRACK: "1",
      NO_COLOR: "1",
      CI: "true",
      ...variables,
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
      if (code === 0) return resolve();
      const reason = said.replaceAll(/postgresql:\/\/\S+/g, "<database>").trim();
      reject(new MigrationError(`supabase ${args.slice(0, 2).join(" ")} failed (exit ${code}):\n${reason}`));
    });
  });
}

async function withClient<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = await connected(url);
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}
