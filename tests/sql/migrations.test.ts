import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ROOT } from "#local/checkout.ts";
import { migrate } from "#local/migrate.ts";
import { driftBetween, factsOf } from "../../packages/tools/src/database_facts.ts";
import { difference, drift } from "../../packages/tools/src/migration.ts";
import { buildFromSchemas } from "../../packages/tools/src/schema_files.ts";
import { createDatabase, emptyDatabase, urlOf } from "../harness/database.ts";
import { type PASSWORDS, TEMPLATE } from "../harness/template.ts";
import { keptDatabases } from "./kept_databases.ts";

const url = (database: string) => urlOf(database, "postgres");
const keep = keptDatabases();

async function using<T>(
  name: string,
  role: keyof typeof PASSWORDS,
  use: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: urlOf(name, role) });
  await client.connect();
  return use(client).finally(() => client.end());
}

/**
 * One database made by the migrations, as the CLI applied them to an empty one for the template. One made by the schema files. Tests
 * that change something do so in a copy.
 */
let migrated: string;
let declared: string;
beforeAll(async () => {
  migrated = await keep(createDatabase(TEMPLATE));
  declared = await keep(emptyDatabase());
  await buildFromSchemas(url(declared), ROOT);
});

describe("supabase/migrations", () => {
  test("the owner is what it is hosted: it may make roles and databases and pass row-level security, and is no superuser", async () => {
    const { rows } = await using(migrated, "postgres", (owner) =>
      owner.query(
        `select rolname, rolsuper, rolcreaterole, rolcreatedb, rolbypassrls,
                (select count(*)::int from pg_auth_members m join pg_roles s on s.oid = m.roleid and s.rolsuper where m.member = r.oid) as superusers
           from pg_roles r where rolname = current_user`,
      ),
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

  test("it applied every migration to an empty database, once", async () => {
    const { rows } = await using(migrated, "postgres", (owner) =>
      owner.query("select version from supabase_migrations.schema_migrations order by version"),
    );
    const files = readdirSync(`${ROOT}supabase/migrations`).sort();
    expect(rows.map(({ version }) => version)).toEqual(files.map((file) => file.split("_")[0]));
    expect(await migrate(url(migrated), { seed: false })).toBe("up to date");
  });

  test("supabase db advisors finds no error, warns of what never uses a search_path, and hints at what deploy.md explains", async () => {
    const careless = await keep(createDatabase(migrated));
    const { parsed, closed, foreign } = await using(careless, "postgres", async (owner) => {
      await owner.query("create function private.careless() returns int language sql as 'select 1'");
      const names = async (query: string) => (await owner.query<{ name: string }>(query)).rows.map(({ name }) => name);
      return {
        // their bodies were parsed when they were made, of which the advisor does not know
        parsed: await names(`
          select p.oid::regproc::text as name from pg_proc p
           where p.prosqlbody is not null and p.pronamespace::regnamespace::text in ('core', 'api', 'ops', 'private')`),
        // reached by definers alone
        closed: await names(`
          select c.oid::regclass::text as name from pg_class c
           where c.relnamespace = 'core'::regnamespace and c.relkind in ('r', 'p') and not exists (select from pg_policy p where p.polrelid = c.oid)`),
        // no index begins with the id of the other row, or with its tenant and id; the advisor wants owner_id, which agrees with these, beside them
        foreign: await names(`
          select f.conname as name from pg_constraint f
           where f.contype = 'f' and f.connamespace = 'core'::regnamespace and f.conparentid = 0 and not exists (
             select from pg_index i
              cross join lateral (select a.attname from pg_attribute a where a.attrelid = i.indrelid and a.attnum = i.indkey[0]) one
               left join lateral (select a.attname from pg_attribute a where a.attrelid = i.indrelid and a.attnum = i.indkey[1]) two on true
              where i.indrelid = f.conrelid and i.indkey[0] = any (f.conkey)
                and (one.attname <> 'partner_id' or cardinality(f.conkey) = 1 or i.indkey[1] = any (f.conkey) and two.attname <> 'owner_id'))`),
      };
    });
    const { status, said } = advisors(careless);
    const found: Finding[] = JSON.parse(said.slice(said.indexOf("["), said.lastIndexOf("]") + 1));
    expect(status).toBe(1);
    const named = (name: string) =>
      found.filter((each) => each.name === name).map(({ metadata }) => `${metadata.schema}.${metadata.name}`);
    expect(new Set(found.map(({ name, level }) => `${level} ${name}`))).toEqual(
      new Set([
        "WARN function_search_path_mutable",
        "INFO rls_enabled_no_policy",
        "INFO unindexed_foreign_keys",
        // of a new database, all of them
        "INFO unused_index",
      ]),
    );
    expect(named("function_search_path_mutable").sort()).toEqual([...parsed, "private.careless"].sort());
    expect(named("rls_enabled_no_policy").sort()).toEqual(closed.sort());
    const hinted = found.flatMap(({ metadata }) => metadata.fkey_name ?? []);
    expect(hinted.filter((name) => foreign.includes(name)).sort()).toEqual([
      // what these refer to is never deleted
      "charger_vendor_aliases_brand_fkey",
      "chargers_catalog_charger_id_fkey",
      "figures_factor_fkey",
      "oauth_grants_client_id_fkey",
      "rate_limit_overrides_bucket_fkey",
    ]);
  });
});

type Finding = { name: string; level: string; metadata: { schema: string; name: string; fkey_name?: string } };

/** What `supabase db advisors` finds in security and performance. It fails with a warning. */
function advisors(name: string) {
  const args = ["db", "advisors", `--remote=${url(name)}`, "--level", "info", "--fail-on", "warn"];
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

describe("supabase/schemas", () => {
  test("makes the database that the migrations make: every object, owner, grant, policy, comment and seeded row", async () => {
    expect(await drift({ migrations: url(migrated), schemas: url(declared) })).toEqual([]);
  });

  test("differs from the migrations in nothing that the CLI sees", async () => {
    expect(await difference(url(migrated), url(declared))).toBe("");
  });

  /** What somebody may change, and how the comparison tells it. */
  const CHANGES: [change: string, told: string][] = [
    ["comment on table core.drafts is null", "only in the schema files: comment on table core.drafts"],
    ["comment on role edge is 'Anything.'", "not the same: comment on role edge"],
    [
      "comment on index core.audit_log_subject is 'x'",
      "only in the migrations: comment on index core.audit_log_subject",
    ],
    ["alter role edge set statement_timeout = '1s'", "not the same: role edge"],
    ["revoke usage on schema api from edge", "only in the schema files: grant to edge on schema api"],
    ["grant select on core.drafts to edge", "only in the migrations: grant to edge on table core.drafts"],
    [
      "grant update (id) on core.drafts to edge",
      "only in the migrations: grant to edge on table column core.drafts.id",
    ],
    ["alter view core.account_gates reset (security_invoker)", "not the same: view core.account_gates"],
    ["alter table core.drafts disable row level security", "not the same: table core.drafts"],
    ["alter table core.drafts alter status set default 'x'", "not the same: table column core.drafts.status"],
    [
      "alter table core.drafts add constraint odd check (true)",
      "only in the migrations: table constraint odd on core.drafts",
    ],
    ["drop index core.audit_log_subject", "only in the schema files: index core.audit_log_subject"],
    [
      "alter table core.chargers disable trigger charger_changed",
      "not the same: trigger charger_changed on core.chargers",
    ],
    [
      'alter policy "a tenant reaches its own rows" on core.drafts using (true)',
      'not the same: policy "a tenant reaches its own rows" on core.drafts',
    ],
    [
      "alter type private.judged_month add attribute odd text",
      "only in the migrations: composite type column private.judged_month.odd",
    ],
    ["alter function private.today() volatile", "not the same: function private.today()"],
    [
      "alter function private.retention_border() reset search_path",
      "not the same: function private.retention_border()",
    ],
    ["alter function private.today() owner to operator", "not the same: owner of function private.today()"],
    [
      "alter default privileges in schema core grant select on tables to edge",
      "only in the migrations: default acl for role supabase_admin in schema core on tables",
    ],
    ["create statistics core.odd on id, status from core.drafts", "only in the migrations: statistics object core.odd"],
    [
      "create operator core.=== (function = int4eq, leftarg = int, rightarg = int)",
      "only in the migrations: operator core.===(integer,integer)",
    ],
    ["create schema odd", "only in the migrations: schema odd"],
    [
      "alter table core.audit_log detach partition core.audit_log_default",
      "not the same: table core.audit_log_default",
    ],
    [
      "update core.rate_limits set quota = 1 where bucket = 'user'",
      'only in the migrations: row of core.rate_limits: {"quota": 1, "bucket": "user", "window_seconds": 60}',
    ],
  ];

  describe("is compared in all of it", () => {
    let owner: pg.Client;
    let before: Awaited<ReturnType<typeof factsOf>>;
    beforeAll(async () => {
      owner = new pg.Client({ connectionString: urlOf(migrated, "supabase_admin") });
      await owner.connect();
      before = await factsOf(owner);
    });
    afterAll(() => owner.end());

    test.each(CHANGES)("%s", async (change, told) => {
      await owner.query("begin");
      const after = await owner.query(change).then(() => factsOf(owner));
      await owner.query("rollback");
      expect(driftBetween(after, before)).toContain(told);
    });
  });
});
