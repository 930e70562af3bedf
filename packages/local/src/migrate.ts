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

/** The database was made by other migrations than ours. The CLI compares versions only, and would take an edited one for applied. */
export class OtherMigrationsError extends MigrationError {
  constructor(difference: string) {
    super(
      `The database was made by other migrations than those in supabase/migrations: ${difference}. Nothing was changed.`,
    );
  }
}

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
 * Compares what a database has applied with the files of supabase/migrations in `root`, by content.
 * @returns how many of these it lacks
 * @throws {OtherMigrationsError} naming the first that it has and `root` has not, or not any more
 */
export async function missingMigrations(client: pg.Client, root = ROOT): Promise<number> {
  const files = readdirSync(join(root, "supabase/migrations")).filter((name) => /^\d+_.*\.sql$/.test(name));
  const history = "supabase_migrations.schema_migrations";
  const { rows: found } = await client.query("select to_regclass($1) as history", [history]);
  if (!found[0].history) return files.length;
  const { rows } = await client.query<{ version: string; statements: string[] }>(
    // as JSON, which is read ten times as fast as an array of a megabyte
    `select version, to_json(coalesce(statements, '{}')) as statements from ${history} order by version`,
  );
  for (const { version, statements } of rows) {
    const file = files.find((name) => name.startsWith(`${version}_`));
    if (file === undefined) throw new OtherMigrationsError(`it has the migration ${version}, which is not there`);
    if (!consistsOf(readFileSync(join(root, "supabase/migrations", file), "utf8"), statements))
      throw new OtherMigrationsError(`${file} has changed since`);
  }
  return files.length - rows.length;
}

/** Whether a text is these statements, with only space and semicolons between them, as the CLI splits it. */
function consistsOf(text: string, statements: readonly string[]): boolean {
  const between = /[\s;]*/y;
  let at = 0;
  const skip = () => {
    between.lastIndex = at;
    between.exec(text);
    at = between.lastIndex;
  };
  for (const statement of statements) {
    skip();
    if (!text.startsWith(statement, at)) return false;
    at += statement.length;
  }
  skip();
  return at === text.length;
}

/**
 * Applies what is missing of supabase/ in `root`. `url` connects as `postgres`. Does not start the CLI (most of a second) when
 * nothing is missing.
 * @throws {OtherMigrationsError} and {MigrationError}
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
  return withClient(url, async (client) => {
    if ((await missingMigrations(client, root)) > 0) return false;
    if (!seed || !existsSync(seedFile(root))) return true;
    const seeds = "supabase_migrations.seed_files";
    const { rows } = await client.query("select to_regclass($1) as seeds", [seeds]);
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
