import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ROOT } from "#local/checkout.ts";
import { bootstrap, migrate, OtherMigrationsError } from "#local/migrate.ts";
import { connected } from "#local/postgres.ts";
import { cloneDatabase, type Database, dropDatabase, emptyDatabase, urlOf } from "../harness/database.ts";
import { PASSWORDS } from "../harness/template.ts";

let database: Database;
beforeAll(async () => {
  database = await cloneDatabase();
});
afterAll(() => database.drop());

test("a migrated database needs no command-line tool", async () => {
  expect(await migrate(database.url("postgres"), { seed: false })).toBe("up to date");
});

test("preparing a database twice changes nothing", async () => {
  const adminUrl = database.admin.options.connectionString ?? "";
  await bootstrap(adminUrl, PASSWORDS.postgres);
  expect(await migrate(database.url("postgres"), { seed: false })).toBe("up to date");
});

test("the role that migrates is no superuser, as hosted", async () => {
  const { rows } = await database.admin.query("select rolsuper from pg_roles where rolname = 'postgres'");
  expect(rows).toEqual([{ rolsuper: false }]);
});

describe("a database and the migrations of a checkout", () => {
  const root = mkdtempSync(join(tmpdir(), "ere-migrate-"));
  const file = (name: string, text: string) => writeFileSync(join(root, "supabase/migrations", name), text);
  const FIRST =
    "-- why\nbegin;\n\ncreate table private.odd (text text default 'a; b');\n  do $$ begin end; $$;\ncommit;\n-- the end\n";
  const migrateIt = () => migrate(url, { seed: false, root });
  let name: string;
  let url: string;
  beforeAll(async () => {
    mkdirSync(join(root, "supabase/migrations"), { recursive: true });
    cpSync(`${ROOT}supabase/config.toml`, join(root, "supabase/config.toml"));
    name = await emptyDatabase();
    url = urlOf(name, "postgres");
    file("20260101000000_schema.sql", "create schema private;");
    file("20260102000000_first.sql", FIRST);
  });
  afterAll(async () => {
    await dropDatabase(name);
    rmSync(root, { recursive: true });
  });

  test("are the same after it was migrated, however the command-line tool split the files", async () => {
    expect(await migrateIt()).toBe("changed");
    expect(await migrateIt()).toBe("up to date");
  });

  test("are told apart if a file changed or is gone, and nothing is applied", async () => {
    file("20260103000000_second.sql", "create table private.second ();");
    file("20260102000000_first.sql", FIRST.replace("a; b", "a;  b"));
    await expect(migrateIt()).rejects.toThrow("20260102000000_first.sql has changed since. Nothing was changed.");
    rmSync(join(root, "supabase/migrations/20260102000000_first.sql"));
    await expect(migrateIt()).rejects.toThrow("it has the migration 20260102000000, which is not there");
    await expect(migrateIt()).rejects.toBeInstanceOf(OtherMigrationsError);
    file("20260102000000_first.sql", FIRST);
    const client = await connected(url);
    const { rows } = await client.query("select to_regclass('private.second') as second");
    await client.end();
    expect(rows).toEqual([{ second: null }]);
  });

  test("of a migration that fails, what the command-line tool says reaches the person, without the password", async () => {
    file("20260103000000_second.sql", "select 1 / 0;");
    const failure = migrateIt();
    await expect(failure).rejects.toThrow(/supabase db push failed \(exit \d+\):.*division by zero/s);
    await expect(failure).rejects.not.toThrow(/postgres:postgres@/);
  });
});
