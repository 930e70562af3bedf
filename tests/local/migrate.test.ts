import { afterAll, beforeAll, expect, test } from "vitest";
import { bootstrap, migrate } from "#local/migrate.ts";
import { cloneDatabase, type Database } from "../harness/database.ts";
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

test("what the command-line tool says reaches the person, without the password", async () => {
  await database.admin.query("insert into supabase_migrations.schema_migrations (version) values ('20990101000000')");
  const failure = migrate(database.url("postgres"), { seed: false });
  await expect(failure).rejects.toThrow(/supabase db push failed \(exit \d+\):.*20990101000000/s);
  await expect(failure).rejects.not.toThrow(/postgres:postgres@/);
});
