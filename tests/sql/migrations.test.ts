import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bootstrap, migrate, ROOT } from "../../packages/local/src/migrate.ts";
import { urlOf } from "../harness/database.ts";
import { PASSWORDS } from "../harness/template.ts";

const name = `fresh_${randomBytes(6).toString("hex")}`;
const server = new pg.Client({ connectionString: urlOf("postgres", "supabase_admin") });
const owner = new pg.Pool({ connectionString: urlOf(name, "postgres"), max: 1 });
owner.on("error", () => {}); // an idle connection ends with the database

beforeAll(async () => {
  await server.connect();
  await server.query(`create database ${name}`);
  await bootstrap(urlOf(name, "supabase_admin"), PASSWORDS.postgres);
});
afterAll(async () => {
  await owner.end();
  await server.query(`drop database ${name} with (force)`);
  await server.end();
});

test("the owner is what it is hosted: it may make roles and databases and pass row-level security, and is no superuser", async () => {
  const { rows } = await owner.query(
    `select rolname, rolsuper, rolcreaterole, rolcreatedb, rolbypassrls,
            (select count(*)::int from pg_auth_members m join pg_roles s on s.oid = m.roleid and s.rolsuper where m.member = r.oid) as superusers
       from pg_roles r where rolname = current_user`,
  );
  expect(rows).toEqual([
    {
      rolname: "postgres",
      rolsuper: false,
      rolcreaterole: true,
      rolcreatedb: true,
      rolbypassrls: true,
      superusers: 0,
    },
  ]);
});

test("it applies every migration and the seed to an empty database, once", async () => {
  expect(await migrate(urlOf(name, "postgres"), { seed: true })).toBe("changed");
  const { rows } = await owner.query("select version from supabase_migrations.schema_migrations order by version");
  const files = readdirSync(`${ROOT}supabase/migrations`).sort();
  expect(rows.map(({ version }) => version)).toEqual(files.map((file) => file.split("_")[0]));
  expect(await migrate(urlOf(name, "postgres"), { seed: true })).toBe("up to date");
});

/** What `supabase db advisors` warns of in security and performance. Hints, such as an index nobody used yet, are left out. */
function advisors() {
  const args = ["db", "advisors", `--remote=${urlOf(name, "postgres")}`, "--level", "warn", "--fail-on", "warn"];
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [`${ROOT}node_modules/supabase/dist/supabase.js`, ...args, "--agent", "no", "--workdir", tmpdir()],
    {
      encoding: "utf8",
      env: { ...process.env, PGSSLMODE: "disable", SUPABASE_TELEMETRY_DISABLED: "1", NO_COLOR: "1" },
    },
  );
  return { status, said: stdout + stderr };
}

test("supabase db advisors has no warning", () => {
  expect(advisors()).toEqual({ status: 0, said: expect.stringContaining("No issues found") });
});

test("supabase db advisors warns of a function with an open search_path", async () => {
  await owner.query("create function private.careless() returns int language sql as 'select 1'");
  expect(advisors()).toEqual({ status: 1, said: expect.stringContaining("private.careless") });
});
