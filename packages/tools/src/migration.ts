// Writes the migration that leads from supabase/migrations to supabase/schemas, and says whether one is missing.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { ROOT } from "#local/checkout.ts";
import { bootstrap, MigrationError, migrate, runSupabase } from "#local/migrate.ts";
import { PostgresError, startPostgres } from "#local/postgres.ts";
import { driftBetween, factsOf } from "./database_facts.ts";
import { isReleased } from "./released.ts";
import {
  BASELINE,
  baseline,
  baselineFault,
  buildFromSchemas,
  inTransaction,
  migrationFiles,
  SchemaError,
} from "./schema_files.ts";

const USAGE = `npm run migration -- --baseline   before the release: writes the one migration, the files of supabase/schemas in order
npm run migration -- <name>       after the release: writes supabase/migrations/<time>_<name>.sql, what changed in supabase/schemas
npm run migration -- --check      says whether the migrations make what the schema files say, and changes nothing

A name is of small letters, digits and underscores: add_note_to_drafts.
The Supabase CLI writes the statements; read them before you commit. It repeats grants, which you may drop. It sees neither rows nor
roles: a row that a schema file inserts, changes or no longer inserts needs a statement that you write, and so does a role. What is
missing is listed at the top of the file.`;

/** What a person has to do differently; `message` says what. */
class Refusal extends Error {}

const KNOWN = [Refusal, MigrationError, PostgresError, SchemaError];

/** Two databases as the role that migrates sees them: one made by the migrations, one by the schema files. */
type Pair = { migrations: string; schemas: string };

/** The statements that lead from one database to another, written by the CLI. Empty: it sees no difference. */
export async function difference(from: string, to: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "ere-diff-"));
  const file = join(folder, "difference.sql");
  try {
    const schemas = ["core", "api", "private", "ops"].flatMap((schema) => ["-s", schema]);
    const options = ["--use-pg-delta", "--strict-coverage", "--output", file];
    await runSupabase(["db", "diff", "--from", from, "--to", to, ...schemas, ...options], folder);
    return readFileSync(file, "utf8");
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * Changes the statements so that an index of a partitioned table is made on the table, and so on every partition. The
 * CLI makes it on each partition that it sees and attaches these. A deployed database has partitions of other years.
 */
function onEveryPartition(statements: string): string {
  const attached = new Set<string>();
  return statements
    .replace(/^ALTER INDEX \S+ ATTACH PARTITION "\w+"\."(\w+)";\n+/gm, (_, name: string) => {
      attached.add(name);
      return "";
    })
    .replace(/^CREATE (?:UNIQUE )?INDEX (\w+) ON [^;]*;\n+/gm, (statement, name: string) =>
      attached.has(name) ? "" : statement.replace(" ON ONLY ", " ON "),
    );
}

/** The facts in which the two databases differ. */
export async function drift({ migrations, schemas }: Pair): Promise<string[]> {
  const [made, wanted] = await Promise.all([facts(migrations), facts(schemas)]);
  return driftBetween(made, wanted);
}

async function facts(url: string) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return factsOf(client).finally(() => client.end());
}

/**
 * Writes the migration into supabase/migrations of `root` and applies it to the database of the migrations.
 * @returns the file, from `root`, and what it leaves to be written by hand; nothing where there is no difference
 */
export async function writeMigration(
  name: string,
  pair: Pair,
  root: string,
): Promise<{ file: string; by_hand: string[] } | undefined> {
  const file = `supabase/migrations/${nextVersion(root)}_${checked(name)}.sql`;
  if ((await drift(pair)).length === 0) return;
  const statements = inTransaction(onEveryPartition(await difference(pair.migrations, pair.schemas)));
  writeFileSync(join(root, file), statements);
  await migrate(pair.migrations, { seed: false, root }).catch((error: Error) => {
    throw new Refusal(`${file} is written, and does not apply as it stands.\n${error.message}`, { cause: error });
  });
  const by_hand = await drift(pair);
  if (by_hand.length > 0) {
    const list = by_hand.map((line) => `--   ${line}\n`).join("");
    writeFileSync(join(root, file), `-- To be written by hand, in place of this list:\n${list}\n${statements}`);
  }
  return { file, by_hand };
}

function checked(name: string): string {
  if (/^[a-z][a-z0-9_]{2,59}$/.test(name)) return name;
  throw new Refusal(`${JSON.stringify(name)} is no name for a migration.\n\n${USAGE}`);
}

/** The time. Migrations run in the order of their versions, so whatever the clock says, a new one comes after all others. */
function nextVersion(root: string): string {
  const now = new Date().toISOString().replace(/\D/g, "").slice(0, 14);
  const last = migrationFiles(root).at(-1)?.slice(0, 14) ?? "";
  return last < now ? now : String(Number(last) + 1);
}

/** Builds both databases, each on a server of its own, because roles belong to a server. */
async function withPair<T>(use: (pair: Pair) => Promise<T>): Promise<T> {
  const first = await throwawayDatabase();
  const second = await throwawayDatabase().catch(async (error: unknown) => {
    await first.stop();
    throw error;
  });
  try {
    const pair = { migrations: first.url, schemas: second.url };
    await Promise.all([migrate(pair.migrations, { seed: false }), buildFromSchemas(pair.schemas, ROOT)]);
    return await use(pair);
  } finally {
    await Promise.all([first.stop(), second.stop()]);
  }
}

/** An empty database as the platform hands it over, and the URL of the role that migrates. */
async function throwawayDatabase(): Promise<{ url: string; stop(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), "ere-migration-"));
  const password = "throwaway"; // reachable from this machine only, for seconds
  const log_file = join(folder, "postgres.log");
  const server = await startPostgres({ folder, password, durable: false, log_file });
  await bootstrap(server.url(), password);
  return { url: server.url("postgres", "postgres", password), stop: () => server.stop() };
}

async function check(pair: Pair): Promise<boolean> {
  const [lines, forth, back] = await Promise.all([
    drift(pair),
    difference(pair.migrations, pair.schemas),
    difference(pair.schemas, pair.migrations),
  ]);
  if (lines.length === 0 && !forth && !back) {
    console.log("The migrations make what the schema files say.");
    return true;
  }
  console.error(
    [
      "The migrations do not make what the schema files say.",
      "Run npm run migration -- <name>.",
      ...["", ...lines, ""],
      ...(forth ? ["From the migrations to the schema files:", forth] : []),
      ...(back ? ["And back:", back] : []),
    ].join("\n"),
  );
  return false;
}

async function write(name: string, pair: Pair): Promise<void> {
  const written = await writeMigration(name, pair, ROOT);
  if (!written) console.log("The migrations make what the schema files say: nothing to write.");
  else if (written.by_hand.length === 0) console.log(`${written.file}: read it before you commit.`);
  else console.log(`${written.file}: write by hand what stands at its top:\n${written.by_hand.join("\n")}`);
}

/** @throws {Refusal} what the person has to do differently; nothing was changed. */
export async function main([argument, ...rest]: readonly string[], root = ROOT): Promise<void> {
  if (argument === undefined || rest.length > 0) throw new Refusal(USAGE);
  if (argument === "--help") return console.log(USAGE);
  if (!isReleased(root)) return mainBeforeRelease(argument, root);
  if (argument === "--baseline")
    throw new Refusal(`The service is released: deployed databases have ${BASELINE}. Run npm run migration -- <name>.`);
  if (argument === "--check") {
    if (!(await withPair(check))) process.exitCode = 1;
    return;
  }
  checked(argument);
  await withPair((pair) => write(argument, pair));
}

function mainBeforeRelease(argument: string, root: string): void {
  if (argument === "--baseline") {
    writeFileSync(join(root, BASELINE), baseline(root));
  } else if (argument === "--check") {
    const fault = baselineFault(root);
    if (fault) throw new Refusal(fault);
    console.log("The baseline is current.");
  } else {
    throw new Refusal(
      `No migration is needed before the release, because no deployed database exists. Nothing was written.
Change supabase/schemas, and run npm run migration -- --baseline.`,
    );
  }
}

if (import.meta.main) {
  await main(process.argv.slice(2)).catch((error: unknown) => {
    console.error(KNOWN.some((kind) => error instanceof kind) ? (error as Error).message : error);
    process.exitCode = 1;
  });
}
