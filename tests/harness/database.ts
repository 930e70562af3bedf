// A database of its own for each test file, copied from the migrated template.

import { randomBytes } from "node:crypto";
import pg from "pg";
import { inject } from "vitest";

export type Database = {
  /** Connection string of a login role, as the edge functions, the operator or the migrations have it. */
  url(role: "edge" | "operator" | "postgres"): string;
  /** Superuser: sees every row, past row-level security. To arrange and to look, never to prove a rule about access. */
  admin: pg.Pool;
  drop(): Promise<void>;
};

export async function cloneDatabase(): Promise<Database> {
  const { port, template, passwords, broken } = inject("test_server");
  if (broken) throw new Error(broken);
  const name = `test_${randomBytes(6).toString("hex")}`;
  const url = (role: keyof typeof passwords, database = name) =>
    `postgresql://${role}:${passwords[role]}@127.0.0.1:${port}/${database}`;
  const run = async (statement: string) => {
    const client = new pg.Client({ connectionString: url("supabase_admin", "postgres") });
    await client.connect();
    await client.query(statement).finally(() => client.end());
  };
  await run(`create database ${name} template ${template} owner postgres`);
  const admin = new pg.Pool({ connectionString: url("supabase_admin"), max: 12 });
  admin.on("error", () => {}); // idle connections end with the database
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
