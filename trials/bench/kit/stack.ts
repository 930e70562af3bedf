// What a bench measures: a migrated Postgres of its own in a temporary folder, and functions that are served as hosted, one process
// each. No scheduled jobs run meanwhile. Everything is gone afterwards.

import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { bootstrap, migrate, setPasswords } from "#local/migrate.ts";
import { type Postgres, startPostgres } from "#local/postgres.ts";
import { loadSecrets } from "#local/secrets.ts";
import { functionEntry, ownEntry, type Served, serveOnDeno, serveOnNode } from "./serve.ts";

type Role = "edge" | "edge_slow" | "supabase_admin";

export type Stack = {
  /** The superuser in the database `bench`: arranges and looks, past row-level security. */
  admin: pg.Pool;
  /** Connection string of a login role. */
  url(role: Role, database?: string): string;
  /** A database of its own beside it, migrated and empty, and what a function is told that is to work there. */
  another(name: string): Promise<{ admin: pg.Pool; variables: Record<string, string> }>;
  /** Starts a replica of the server. Gives its process and the connection string of `edge` there. */
  replica(): Promise<{ pid: number; url: string }>;
  database_port: number;
  postgres_pid: number;
  /** A folder that goes with the stack. */
  folder: string;
  /** One edge function, as hosted. */
  serve(slug: string, variables?: Record<string, string>): Promise<Served>;
  /** Any other entry for Deno. */
  serveEntry(entry: string, variables?: Record<string, string>): Promise<Served>;
  /** The floor: framework, driver, pool and runtime of a function, one bare statement a request. */
  serveFloor(statements: Record<string, string>): Promise<Served>;
  /** A server of another make, beside ours. */
  serveOther(name: string, variables: Record<string, string>): Promise<Served>;
};

const DATABASE = "bench";
/** What other databases are copied from. */
const EMPTY = "bench_empty";

/** Starts a stack, hands it to `use`, and removes all of it, also when the bench fails or is interrupted. */
export async function withStack<T>(use: (stack: Stack) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "ere-bench-"));
  chmodSync(folder, 0o711); // Postgres, which is not root, has to pass through
  const undo: (() => unknown)[] = [() => rmSync(folder, { recursive: true, force: true })];
  const stop = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  const interrupted = () => stop().finally(() => process.exit(130));
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, interrupted);
  try {
    return await use(await start(folder, undo));
  } finally {
    await stop();
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.off(signal, interrupted);
  }
}

const postmasterOf = ({ folder }: Postgres) =>
  Number(readFileSync(join(folder, "postmaster.pid"), "utf8").split("\n")[0]);

async function start(folder: string, undo: (() => unknown)[]): Promise<Stack> {
  const { passwords, functions } = loadSecrets(folder);
  const server = await startPostgres({
    folder: join(folder, "postgres"),
    password: passwords.supabase_admin,
    durable: true, // what is committed is on the disk, as hosted
    log_file: join(folder, "postgres.log"),
  });
  undo.push(() => server.stop());
  // a checkpoint for the size of the log would fall into somebody's turn
  await server.query("alter system set max_wal_size = '8GB'");
  await server.query("select pg_reload_conf()");
  await server.query(`create database ${DATABASE}`);
  await bootstrap(server.url(DATABASE), passwords.postgres);
  await migrate(server.url(DATABASE, "postgres", passwords.postgres), { seed: false });
  await setPasswords(server.url(DATABASE), { edge: passwords.edge, edge_slow: passwords.edge_slow });

  const url: Stack["url"] = (role, database = DATABASE) => server.url(database, role, passwords[role]);
  const open = async (database: string) => {
    const admin = new pg.Pool({ connectionString: url("supabase_admin", database), max: 2 });
    admin.on("error", () => {}); // idle connections end with the server
    undo.push(() => admin.end());
    await admin.query("insert into core.deployment (host) values ('sandbox')");
    await admin.query("create schema bench");
    return admin;
  };
  const databaseVariables = (database: string) => ({
    EDGE_DATABASE_URL: url("edge", database),
    EDGE_SLOW_DATABASE_URL: url("edge_slow", database),
  });
  await server.query(`create database ${EMPTY} template ${DATABASE}`);
  const admin = await open(DATABASE);

  const here = "http://bench.test";
  const environment = {
    API_HOST: "sandbox",
    ...{ BASE_URL: here, AUTH_URL: here, PAGES_URL: `${here}/pages`, SUPABASE_URL: here },
    CLIENT_ADDRESS: "x-forwarded-for:1",
    ...databaseVariables(DATABASE),
    ...functions,
  };
  const keep = async (starting: Promise<Served>) => {
    const served = await starting;
    undo.push(() => served.stop());
    return served;
  };
  const serveEntry: Stack["serveEntry"] = (entry, variables = {}) => keep(serveOnDeno(entry, variables, folder));
  return {
    admin,
    url,
    database_port: server.port,
    postgres_pid: postmasterOf(server),
    folder,
    async another(name) {
      await server.query(`create database ${name} template ${EMPTY}`);
      await bootstrap(server.url(name), passwords.postgres); // what is set for a database is not copied with it
      return { admin: await open(name), variables: databaseVariables(name) };
    },
    async replica() {
      const follower = await startPostgres({
        folder: join(folder, "replica"),
        password: passwords.supabase_admin,
        durable: true,
        log_file: join(folder, "replica.log"),
        replica_of: server,
      });
      undo.push(() => follower.stop());
      return { pid: postmasterOf(follower), url: follower.url(DATABASE, "edge", passwords.edge) };
    },
    serve: (slug, variables) => serveEntry(functionEntry(slug), { ...environment, ...variables }),
    serveEntry,
    serveFloor: (statements) =>
      serveEntry(ownEntry("deno/floor"), {
        EDGE_DATABASE_URL: url("supabase_admin"),
        STATEMENTS: JSON.stringify(statements),
      }),
    serveOther: (name, variables) => keep(serveOnNode(ownEntry(`node/${name}`), variables, folder)),
  };
}
