// A database of its own for each test file, copied from the migrated template.

import { randomBytes } from "node:crypto";
import pg from "pg";
import { expect, inject } from "vitest";
import { bootstrap } from "#local/migrate.ts";
import type { Db } from "#shared/foundation/db.ts";
import { type Origin, originOf, renew } from "./renew.ts";
import { PASSWORDS, TEMPLATE } from "./template.ts";

type Role = keyof typeof PASSWORDS;

export type Database = {
  /** Connection string of a login role, as the edge functions, the operator or the migrations have it. */
  url(role: Exclude<Role, "supabase_admin">): string;
  /** Superuser: sees every row, past row-level security. To arrange and to look, never to prove a rule about access. */
  admin: pg.Pool;
  /** How the edge functions reach it, for as long as it is there. */
  edges?: { db: Db; slowDb: Db; kick: () => void };
  drop(): Promise<void>;
};

type Host = "sandbox" | "production";

/** Connection string of a role in a database of the test server. */
export function urlOf(database: string, role: Role): string {
  const server = inject("test_server");
  if (!server)
    throw new Error("This test needs a database, and tests/unit has none: it belongs into another folder of tests.");
  if ("broken" in server) throw new Error(server.broken);
  return `postgresql://${role}:${PASSWORDS[role]}@127.0.0.1:${server.port}/${database}`;
}

async function onServer(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: urlOf("postgres", "supabase_admin") });
  client.on("error", () => {}); // the statement that waits says it
  await client.connect();
  await client.query(statement).finally(() => client.end());
}

/** A copy of a database, and its name. */
export async function createDatabase(template: string): Promise<string> {
  const name = `test_${randomBytes(6).toString("hex")}`;
  // copied as files, which takes half the work of a copy through the log
  await onServer(`create database ${name} template ${template} owner postgres strategy file_copy`);
  return name;
}

/** A database as the platform hands it over, before the first migration, and its name. */
export async function emptyDatabase(): Promise<string> {
  const name = await createDatabase("template1");
  await bootstrap(urlOf(name, "supabase_admin"), PASSWORDS.postgres);
  return name;
}

export const dropDatabase = (name: string) => onServer(`drop database ${name} with (force)`);

/** Databases of tests that have ended: the next test gets one again, and the next file the last one. */
const ended: Kept[] = [];
/** Rows that are gone leave their place in indexes: after so many tests a new copy is cheaper. */
const LIVES = 30;
let origin: Origin | undefined;

type Kept = Database & { name: string; file: string | undefined; lives: number; clients: Set<pg.PoolClient> };

/** With the host it belongs to; null for a database that was migrated and not yet told. Its clock stands still at `now`. */
export async function cloneDatabase(host: Host | null = "sandbox", now?: string): Promise<Database> {
  const database = (await endedDatabase(now !== undefined)) ?? (await newDatabase());
  if (host) await database.admin.query("insert into core.deployment (host) values ($1)", [host]);
  if (now) await freezeClock(database.admin, now);
  return database;
}

/**
 * private.lock, which here refuses a lock that a statement takes after one that comes later: supabase/schemas/foundation/locks.sql.
 * A request is one statement. A test may play several of them in one transaction.
 */
const CHECKED_LOCK = `
  create or replace function private.lock(kind private.lock_kind, key text default '', shared boolean default false) returns void
  language plpgsql set search_path = '' as $$
  declare
    wanted constant text   := pg_catalog.concat_ws(' ', kind, key);
    begun  constant text   := pg_catalog.statement_timestamp();
    held            text[] := coalesce(nullif(pg_catalog.current_setting('test.locks', true), ''), '{}');
    last            text;
  begin
    if key is null then
      return;
    elsif held[1] is distinct from begun then
      held := array[begun];
    elsif cardinality(held) > 1 then
      last := held[cardinality(held)];
    end if;
    if wanted <> all (held) then
      if split_part(last, ' ', 1)::private.lock_kind > kind then
        raise exception 'lock "%" is taken after "%"', wanted, last;
      end if;
      perform pg_catalog.set_config('test.locks', (held || wanted)::text, true);
    end if;
    if shared then
      perform pg_catalog.pg_advisory_xact_lock_shared(pg_catalog.hashtextextended(wanted, 0));
    else
      perform pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtextextended(wanted, 0));
    end if;
  end $$`;

async function newDatabase(): Promise<Kept> {
  const name = await createDatabase(TEMPLATE);
  const url = (role: Role) => urlOf(name, role);
  // what may be done with a database is not copied with it: as in schemas/foundation/schemas.sql, which a test asks the template of
  await onServer(`revoke temporary on database ${name} from public`);
  const clients: Kept["clients"] = new Set();
  const admin = new pg.Pool({ connectionString: url("supabase_admin"), max: 12, idleTimeoutMillis: 60_000 });
  admin.on("error", () => {}); // idle connections end with the database
  admin.on("connect", (client) => clients.add(client.on("error", () => {})));
  admin.on("remove", (client) => clients.delete(client));
  await admin.query(CHECKED_LOCK);
  origin ??= await originOf(admin);
  const database: Kept = {
    ...{ name, file: expect.getState().testPath, lives: LIVES, clients, url, admin },
    async drop() {
      ended.push(database);
    },
  };
  return database;
}

async function endedDatabase(keepClock: boolean): Promise<Kept | undefined> {
  const { testPath } = expect.getState();
  for (const other of ended.filter(({ file }) => file !== testPath).slice(0, -1)) {
    ended.splice(ended.indexOf(other), 1);
    await end(other);
  }
  if (!origin) return undefined;
  for (let database = ended.pop(); database; database = ended.pop()) {
    const { admin, clients } = database;
    database.lives -= 1;
    // a connection that nobody used for a minute may be closing: then a new copy
    const asNew = async (from: Origin) =>
      (await renew(admin, from, keepClock)) &&
      (await Promise.all(
        [...clients].map((client) => client.query("reset session authorization; reset role; reset all")),
      ));
    if (database.lives > 0 && (await asNew(origin).catch(() => false))) {
      database.file = testPath;
      return database;
    }
    await end(database);
  }
  return undefined;
}

async function end({ name, admin, edges }: Kept): Promise<void> {
  await Promise.all([edges?.db.end(), edges?.slowDb.end()]);
  // not waited for: a test that failed may still hold a connection, and Postgres looks every 100 ms whether the last one is gone
  void admin.end();
  void dropDatabase(name).catch(() => {});
}

/** Stops the clock of this database at a moment, for every connection; thawed by thawClock. */
export async function freezeClock(admin: pg.Pool, moment: string): Promise<void> {
  await setClock(admin, `${pg.escapeLiteral(new Date(moment).toISOString())}::timestamptz`);
}

export async function thawClock(admin: pg.Pool): Promise<void> {
  await setClock(admin, "pg_catalog.now()");
}

async function setClock(admin: pg.Pool, expression: string) {
  const { rows } = await admin.query("select prosrc from pg_catalog.pg_proc where oid = 'private.now()'::regprocedure");
  // to replace it makes every connection plan anew
  if (rows[0].prosrc.trim() === `select ${expression}`) return;
  await admin.query(
    `create or replace function private.now() returns timestamptz language sql stable set search_path = '' as $$ select ${expression} $$`,
  );
}
