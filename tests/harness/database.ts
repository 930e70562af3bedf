// A database of its own for each test file, copied from the migrated template.

import { randomBytes } from "node:crypto";
import pg from "pg";
import { inject } from "vitest";
import { bootstrap } from "#local/migrate.ts";
import { PASSWORDS, TEMPLATE } from "./template.ts";

type Role = keyof typeof PASSWORDS;

export type Database = {
  /** Connection string of a login role, as the edge functions, the operator or the migrations have it. */
  url(role: Exclude<Role, "supabase_admin">): string;
  /** Superuser: sees every row, past row-level security. To arrange and to look, never to prove a rule about access. */
  admin: pg.Pool;
  drop(): Promise<void>;
};

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

/** With the host it belongs to; null for a database that was migrated and not yet told. */
export async function cloneDatabase(host: "sandbox" | "production" | null = "sandbox"): Promise<Database> {
  const name = await createDatabase(TEMPLATE);
  const url = (role: Role) => urlOf(name, role);
  // what may be done with a database is not copied with it: as in schemas/foundation/schemas.sql, which a test asks the template of
  await onServer(`revoke temporary on database ${name} from public`);
  const admin = new pg.Pool({ connectionString: url("supabase_admin"), max: 12 });
  admin.on("error", () => {}); // idle connections end with the database
  if (host) await admin.query("insert into core.deployment (host) values ($1)", [host]);
  return {
    url,
    admin,
    async drop() {
      await admin.end();
      // not waited for: Postgres looks every 100 ms whether the last connection is gone
      void dropDatabase(name).catch(() => {});
    },
  };
}

/** Stops the clock of this database at a moment, for every connection; thawed by thawClock. */
export async function freezeClock(admin: pg.Pool, moment: string): Promise<void> {
  await setClock(admin, `${pg.escapeLiteral(new Date(moment).toISOString())}::timestamptz`);
}

export async function thawClock(admin: pg.Pool): Promise<void> {
  await setClock(admin, "pg_catalog.now()");
}

async function setClock(admin: pg.Pool, expression: string) {
  await admin.query(
    `create or replace function private.now() returns timestamptz language sql stable set search_path = '' as $$ select ${expression} $$`,
  );
}
