// A database of its own for each test file, copied from the migrated template.

import { randomBytes } from "node:crypto";
import pg from "pg";
import { inject } from "vitest";
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

/** With the host it belongs to; null for a database that was migrated and not yet told. */
export async function cloneDatabase(host: "sandbox" | "production" | null = "sandbox"): Promise<Database> {
  const name = `test_${randomBytes(6).toString("hex")}`;
  const url = (role: Role) => urlOf(name, role);
  const run = async (statement: string) => {
    const client = new pg.Client({ connectionString: urlOf("postgres", "supabase_admin") });
    await client.connect();
    await client.query(statement).finally(() => client.end());
  };
  await run(`create database ${name} template ${TEMPLATE} owner postgres`);
  // what may be done with a database is not copied with it: as in schemas/foundation/schemas.sql, which a test asks the template of
  await run(`revoke temporary on database ${name} from public`);
  const admin = new pg.Pool({ connectionString: url("supabase_admin"), max: 12 });
  admin.on("error", () => {}); // idle connections end with the database
  if (host) await admin.query("insert into core.deployment (host) values ($1)", [host]);
  return {
    url,
    admin,
    async drop() {
      await admin.end();
      await run(`drop database ${name} with (force)`);
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
