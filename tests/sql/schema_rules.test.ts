// What every table and function must be like, asked of the catalogue of the migrated database. Each query answers the offenders.

import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ROOT } from "#local/checkout.ts";
import { READS } from "#shared/foundation/db.ts";
import { endpointsOf, type Surface } from "#shared/http/serve.ts";
import { cloneDatabase, type Database } from "../harness/database.ts";
import { TEMPLATE } from "../harness/template.ts";

const OURS = "('core', 'api', 'ops', 'private')";

let database: Database;
beforeAll(async () => {
  database = await cloneDatabase();
});
afterAll(() => database.drop());

/** The rows of a query, each written as one line. */
async function lines(query: string): Promise<string[]> {
  const { rows } = await database.admin.query({ text: query, rowMode: "array" });
  return rows.map((row: unknown[]) => row.join(" ")).sort();
}

/** Relations and functions of ours, as the rules below name them. */
const relations = `(
  select c.oid, n.nspname || '.' || c.relname as name, c.relname, c.relkind, c.relispartition, c.relrowsecurity, c.relowner, c.relacl, c.reloptions,
         exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'partner_id' and not a.attisdropped) as of_tenant
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
   where n.nspname in ${OURS}) as r`;
const functions = `(
  select p.oid, n.nspname as schema, n.nspname || '.' || p.proname as name, p.proname, p.prosecdef, p.proowner::regrole::text as owner,
         p.proacl, p.proconfig, p.proargtypes, p.prosqlbody
    from pg_proc p join pg_namespace n on n.oid = p.pronamespace
   where n.nspname in ${OURS}) as f`;

describe("roles", () => {
  test("edge and operator log in and can do nothing else; api_owner cannot even log in", async () => {
    const attributes = `concat_ws(' ', case when rolcanlogin then 'login' end, case when rolinherit then 'inherit' end,
      case when rolsuper then 'superuser' end, case when rolcreatedb then 'createdb' end, case when rolcreaterole then 'createrole' end,
      case when rolbypassrls then 'bypassrls' end, case when rolreplication then 'replication' end)`;
    expect(
      await lines(
        `select rolname, ${attributes} from pg_roles where rolname in ('edge', 'edge_slow', 'operator', 'api_owner')`,
      ),
    ).toEqual(["api_owner ", "edge login", "edge_slow login", "operator login"]);
  });

  test("a login of an operator is a member of operator and of nothing else, may do no more, and has its time limits", async () => {
    expect(
      await lines(`select distinct m.roleid::regrole, m.inherit_option, m.set_option from pg_auth_members m
                    where m.member::regrole::text ~ '^operator_' and not m.admin_option`),
    ).toEqual(["operator true false"]);
    expect(
      await lines(`select distinct r.rolcanlogin, r.rolsuper or r.rolcreatedb or r.rolcreaterole or r.rolbypassrls or r.rolreplication,
                          (select array_to_string(array(select unnest(s.setconfig) order by 1), ' ') from pg_db_role_setting s where s.setrole = r.oid)
                     from pg_roles r where r.rolname in ('operator_anna', 'operator_bram')`),
    ).toEqual(["true false jit=off lock_timeout=30s statement_timeout=10min"]);
  });

  test("none of them may make temporary objects, in the database as it was migrated", async () => {
    expect(
      await lines(`select r.rolname from pg_roles r where r.rolname ~ '^(edge|operator|api_owner)'
                      and has_database_privilege(r.oid, '${TEMPLATE}', 'temporary')`),
    ).toEqual([]);
  });

  test.each(["operator", "operator_anna", "edge", "edge_slow"] as const)(
    "%s runs nothing with the rights of a function's owner by a type of its own",
    async (login) => {
      const client = new pg.Client({ connectionString: database.url(login) });
      await client.connect();
      const allowed: string[] = [];
      // found before the types of the catalogue: each cast of a definer would run the check
      for (const statement of [
        `create function pg_temp.taken(value pg_catalog.text) returns boolean language plpgsql as $$
           begin perform set_config('attack.ran_as', current_user, false); return true; end $$`,
        "create domain pg_temp.uuid as pg_catalog.uuid check (pg_temp.taken(value::pg_catalog.text))",
        "create temporary table text (value int)",
      ]) {
        await client.query(statement).then(
          () => allowed.push(statement),
          ({ code }) => expect(code).toBe("42501"),
        );
      }
      await client.query(`select ops.booking_list('{"booking":"${randomUUID()}"}')`).catch(() => {});
      const { rows } = await client.query("select current_setting('attack.ran_as', true) as ran_as");
      await client.end();
      expect([allowed, rows]).toEqual([[], [{ ran_as: null }]]);
    },
  );

  test.each(["operator", "operator_anna", "edge", "edge_slow"] as const)(
    "%s makes, writes and reads no large object",
    async (login) => {
      const client = new pg.Client({ connectionString: database.url(login) });
      await client.connect();
      const codes: Record<string, string> = {};
      for (const call of [
        "lo_creat(-1)",
        "lo_create(0)",
        "lo_from_bytea(0, 'x')",
        "lo_put(1, 0, 'x')",
        "lo_open(1, 131072)",
        "lowrite(0, 'x')",
        "lo_get(1)",
        "lo_unlink(1)",
        "lo_import('/etc/hostname')",
      ])
        codes[call] = await client.query(`select ${call}`).then(
          () => "allowed",
          ({ code }) => code,
        );
      await client.end();
      expect(new Set(Object.values(codes)), JSON.stringify(codes)).toEqual(new Set(["42501"]));
    },
  );

  test("the schema closes large objects where it is migrated by their owner, and goes on where it is not", async () => {
    const schema = readFileSync(`${ROOT}supabase/schemas/foundation/schemas.sql`, "utf8");
    const block = schema.split(/^(?=do \$\$)/m).find((each) => each.includes("lo_.*")) ?? "";
    const statement = block.slice(0, block.indexOf("end $$;") + 7);
    const open = async () =>
      (await database.admin.query("select has_function_privilege('edge', 'lo_create(oid)', 'execute') as open")).rows[0]
        .open;
    await database.admin.query("grant execute on function pg_catalog.lo_create(oid) to public");
    const migrating = new pg.Client({ connectionString: database.url("postgres") });
    await migrating.connect();
    await migrating.query(statement).finally(() => migrating.end());
    expect(await open()).toBe(true);
    await database.admin.query(statement);
    expect(await open()).toBe(false);
  });

  test("none of them is a member of a role, and only who migrates is a member of theirs", async () => {
    const ours = "('edge', 'edge_slow', 'operator', 'api_owner')";
    expect(
      await lines(`select distinct m.member::regrole, 'in', m.roleid::regrole from pg_auth_members m
                    where (m.member::regrole::text in ${ours} or m.roleid::regrole::text in ${ours})
                      and m.member::regrole::text !~ '^operator_'`),
    ).toEqual(["postgres in api_owner", "postgres in edge", "postgres in edge_slow", "postgres in operator"]);
  });

  test("api_owner owns the api functions and nothing else", async () => {
    expect(
      await lines(`select pg_describe_object(d.classid, d.objid, 0) from pg_shdepend d
                    where d.deptype = 'o' and d.refobjid = 'api_owner'::regrole and d.dbid = (select oid from pg_database where datname = current_database())
                      and not exists (select from ${functions} where f.oid = d.objid and f.schema = 'api')`),
    ).toEqual([]);
  });
});

describe("schemas", () => {
  test("nothing lives in public", async () => {
    expect(
      await lines(`select pg_describe_object(d.classid, d.objid, 0) from pg_depend d
                    where d.refclassid = 'pg_namespace'::regclass and d.refobjid = 'public'::regnamespace`),
    ).toEqual([]);
  });

  test("each role enters its own schema only", async () => {
    expect(
      await lines(`select case when x.grantee = 0 then 'public' else x.grantee::regrole::text end, lower(x.privilege_type), n.nspname
                     from pg_namespace n, aclexplode(n.nspacl) x where n.nspname in ${OURS} and x.grantee <> n.nspowner`),
    ).toEqual([
      "api_owner create api",
      "api_owner usage api",
      "api_owner usage core",
      "api_owner usage private",
      "edge usage api",
      "edge_slow usage api",
      "operator usage ops",
    ]);
  });

  test("tables live in core", async () => {
    expect(
      await lines(
        `select r.name from ${relations} where r.relkind in ('r', 'p', 'v', 'm', 'f') and r.name not like 'core.%'`,
      ),
    ).toEqual([]);
  });
});

describe("tables", () => {
  test("have row-level security", async () => {
    expect(
      await lines(`select r.name from ${relations} where r.relkind in ('r', 'p') and not r.relrowsecurity`),
    ).toEqual([]);
  });

  test("views ask with the rights of who asks", async () => {
    expect(
      await lines(
        `select r.name from ${relations} where r.relkind in ('v', 'm') and not coalesce('security_invoker=true' = any (r.reloptions), false)`,
      ),
    ).toEqual([]);
  });

  test("are reached by api_owner alone, and without a policy by nobody", async () => {
    const held = `select r.name, x.grantee::regrole::text as grantee, r.relkind, r.oid from ${relations}
      cross join lateral (
        select * from aclexplode(r.relacl)
        union all select x.* from pg_attribute a, aclexplode(a.attacl) x where a.attrelid = r.oid) x
      where x.grantee <> r.relowner`;
    expect(await lines(`select h.name, h.grantee from (${held}) h where h.grantee <> 'api_owner'`)).toEqual([]);
    expect(
      await lines(`select h.name, h.grantee from (${held}) h
                    where h.relkind in ('r', 'p') and not exists (select from pg_policy p where p.polrelid = h.oid)`),
    ).toEqual([]);
  });

  test("have policies for api_owner alone; one that lets everybody in lets them read what belongs to no tenant", async () => {
    expect(
      await lines(
        `select p.polrelid::regclass, p.polname from pg_policy p where p.polroles <> array['api_owner'::regrole::oid]`,
      ),
    ).toEqual([]);
    expect(
      await lines(`select r.name, p.polname from pg_policy p join ${relations} on r.oid = p.polrelid
                    where 'true' in (pg_get_expr(p.polqual, p.polrelid), pg_get_expr(p.polwithcheck, p.polrelid))
                      and (r.of_tenant or p.polcmd <> 'r')`),
    ).toEqual([]);
  });

  test("say what a row is", async () => {
    expect(
      await lines(
        `select r.name from ${relations} where r.relkind in ('r', 'p', 'v', 'm') and obj_description(r.oid, 'pg_class') is null`,
      ),
    ).toEqual([]);
  });

  test("have constraints that a person named", async () => {
    const migrations = readdirSync(`${ROOT}supabase/migrations`).map((file) =>
      readFileSync(`${ROOT}supabase/migrations/${file}`, "utf8"),
    );
    const named = new Set(migrations.join("\n").match(/[a-z0-9_]+/g));
    const names = await lines(
      `select c.conname from pg_constraint c join pg_namespace n on n.oid = c.connamespace where n.nspname in ${OURS} and c.conparentid = 0`,
    );
    expect(names.length).toBeGreaterThan(50);
    expect(names.filter((name) => !named.has(name))).toEqual([]);
  });
});

describe("docs/retention.md", () => {
  /** Rows of its table: kind, tables, how long, what deletes it. */
  const rows = readFileSync(`${ROOT}docs/retention.md`, "utf8")
    .split("\n")
    .filter((line) => line.startsWith("| ") && !line.startsWith("| kind"))
    .map((line) => line.slice(2, -2).split(" | "));
  const namesIn = ([, tables = ""]: readonly string[]) =>
    [...tables.matchAll(/`([\w.]+)`/g)].map(([, name = ""]) => name);

  test("has every table in one row, which says how long and what deletes it", async () => {
    expect(rows.filter((cells) => cells.length !== 4 || cells.includes(""))).toEqual([]);
    const named = rows.flatMap(namesIn).filter((name) => !name.includes("."));
    expect(named.sort()).toEqual(
      await lines(
        `select r.relname from ${relations} where r.name like 'core.%' and r.relkind in ('r', 'p') and not r.relispartition`,
      ),
    );
  });

  test("keeps for good no owner, name or address of a person", async () => {
    const forGood = rows.filter(([, , howLong = ""]) => howLong.startsWith("for good")).flatMap(namesIn);
    expect(forGood.length).toBeGreaterThan(8);
    const personal = `(^|_)(owner_id|user_id|account_id|email|recipient|phone|full_name|holder|street|postal_code|ean_code|iban)(_|$)`;
    expect(
      await lines(`select r.relname, a.attname from ${relations} join pg_attribute a on a.attrelid = r.oid
                    where r.relname in ('${forGood.join("', '")}') and a.attnum > 0 and not a.attisdropped and a.attname ~ '${personal}'`),
    ).toEqual([
      // a metering point at an address, without who lives there
      ...["ean_code", "postal_code", "street"].map((column) => `ean_register_points ${column}`),
      // companies
      ...["changed_at", "ciphertext", "holder", "key_id", "last4"].map((column) => `partners iban_${column}`),
      // keyed: the address cannot be read from it
      "suppressions email_hash",
    ]);
  });
});

describe("tables of a tenant", () => {
  const isolating = "(partner_id = private.partner_id())";

  test("are isolated by partner_id in everything that is done with them", async () => {
    expect(
      await lines(`select r.name, p.polname from ${relations} join pg_policy p on p.polrelid = r.oid
                    where r.of_tenant and p.polpermissive
                      and (p.polcmd <> '*' or pg_get_expr(p.polqual, r.oid) <> '${isolating}' or pg_get_expr(p.polwithcheck, r.oid) <> '${isolating}')`),
    ).toEqual([
      // written by everybody, in their own name, and read by none
      "core.audit_log api functions append, and read nothing",
      // narrower than the tenant
      "core.oauth_clients a client sees itself",
    ]);
    expect(
      await lines(
        `select r.name from ${relations} where r.of_tenant and r.relkind in ('r', 'p') and not r.relispartition
           and not exists (select from pg_policy p where p.polrelid = r.oid)`,
      ),
    ).toEqual([]);
  });

  test("always have a tenant", async () => {
    expect(
      await lines(`select r.name from ${relations} join pg_attribute a on a.attrelid = r.oid
                    where r.relkind in ('r', 'p') and a.attname = 'partner_id' and not a.attnotnull`),
    ).toEqual([
      // not linked yet
      "core.oauth_clients",
    ]);
  });

  test("have the tenant in front of their primary key, but for what its id alone finds, or is looked up before the tenant is known", async () => {
    expect(
      await lines(`select r.relname from ${relations} join pg_constraint c on c.conrelid = r.oid and c.contype = 'p'
                     join pg_attribute a on a.attrelid = r.oid and a.attnum = c.conkey[1]
                    where r.of_tenant and a.attname <> 'partner_id'`),
    ).toEqual(["charging_sessions", "oauth_clients", "ocpp_transactions", "parked_charging"]);
  });

  test("refer to each other by tenant and key, because row-level security does not guard foreign keys", async () => {
    expect(
      await lines(`select c.conname from pg_constraint c
                     join (select oid as referring from ${relations} where r.of_tenant) a on a.referring = c.conrelid
                     join (select oid as referred from ${relations} where r.of_tenant) b on b.referred = c.confrelid
                    where c.contype = 'f' and not exists (
                      select from unnest(c.conkey, c.confkey) as pair (own, other)
                        join pg_attribute x on x.attrelid = c.conrelid and x.attnum = pair.own and x.attname = 'partner_id'
                        join pg_attribute y on y.attrelid = c.confrelid and y.attnum = pair.other and y.attname = 'partner_id')`),
    ).toEqual([]);
  });
});

/** Volatile functions whose name is of one that only reads, each with its reason. */
const READS_BUT_VOLATILE = {
  admit: "debits the rate limit, and must not wait for the writes of others",
  list_charging_sessions: "numbers what changed since; the rewrite of the room sessions renames it",
  read_ocpi_registration: "writes nothing; the rewrite of the room sources makes it stable",
  read_replica: "only reads, by a snapshot that is newer than its wait for the primary",
};

describe("functions", () => {
  test("find nothing by search_path: it is empty, or the body was parsed when the function was made", async () => {
    // The second kind, `language sql return …`, names what it uses by identity, as a view does. The planner writes it into the query
    // that calls it, which a search_path of its own would forbid; it is never a definer.
    expect(
      await lines(
        `select f.name from ${functions} where not coalesce('search_path=""' = any (f.proconfig), f.prosqlbody is not null and not f.prosecdef)`,
      ),
    ).toEqual([]);
  });

  test("are nobody's who was not named", async () => {
    // without an access list Postgres lets everybody execute
    expect(
      await lines(
        `select f.name from ${functions} where f.proacl is null or exists (select from aclexplode(f.proacl) x where x.grantee = 0)`,
      ),
    ).toEqual([]);
    expect(
      await lines(
        `select distinct x.grantee::regrole from ${functions}, aclexplode(f.proacl) x where x.grantee::regrole::text <> f.owner`,
      ),
    ).toEqual(["api_owner", "edge", "edge_slow", "operator"]);
  });

  test("of api run as api_owner", async () => {
    expect(
      await lines(
        `select f.name, f.owner from ${functions} where f.schema = 'api' and not (f.prosecdef and f.owner = 'api_owner')`,
      ),
    ).toEqual([]);
  });

  test("of api turn a caller of another kind away, whatever else they are given", async () => {
    const { rows } = await database.admin.query<{ name: string; call: string }>(
      `select f.name, format('select %s(%s)', f.name, (
                select string_agg(case when n = 1 then $$'{"kind": "nobody"}'$$ when type = 'jsonb'::regtype then $$'{"address_hash": "0a"}'$$ else 'null' end
                                  || '::' || format_type(type, null), ', ' order by n)
                  from unnest(f.proargtypes) with ordinality as a (type, n))) as call
         from ${functions} where f.schema = 'api' and f.name not in ('api.admit', 'api.charge', 'api.enter')`,
    );
    const refused = { code: "42501", message: "caller kind nobody may not run this function" };
    expect(rows.length).toBeGreaterThan(50);
    for (const { name, call } of rows) await expect(database.admin.query(call), name).rejects.toMatchObject(refused);
  });

  test("of api that only read have a name that says so, which the pool of connections goes by", async () => {
    const { rows } = await database.admin.query(
      "select proname, provolatile <> 'v' as reads from pg_proc where pronamespace = 'api'::regnamespace order by 1",
    );
    expect(rows.length).toBeGreaterThan(100);
    expect(rows.filter(({ proname, reads }) => READS.test(proname) !== reads)).toEqual(
      Object.keys(READS_BUT_VOLATILE).map((proname) => ({ proname, reads: false })),
    );
  });

  test("of api and ops say what they are for", async () => {
    expect(
      await lines(
        `select f.name from ${functions} where f.schema in ('api', 'ops') and obj_description(f.oid, 'pg_proc') is null`,
      ),
    ).toEqual([]);
  });

  test("of private that run with their owner's rights say why", async () => {
    expect(
      await lines(
        `select f.name from ${functions} where f.schema = 'private' and f.prosecdef and coalesce(obj_description(f.oid, 'pg_proc'), '') !~* 'definer'`,
      ),
    ).toEqual([]);
  });

  test("of private are called by another function, a policy, view, trigger or constraint, or by whoever migrates", async () => {
    const { rows } = await database.admin.query<{
      oid: string;
      name: string;
      source: string;
      mine: boolean;
      depended: boolean;
    }>(
      `select f.oid, f.proname as name, p.prosrc as source, f.schema = 'private' as mine,
              exists (select from pg_depend d where d.refclassid = 'pg_proc'::regclass and d.refobjid = f.oid and d.deptype = 'n') as depended
         from ${functions} join pg_proc p on p.oid = f.oid`,
    );
    const called = new Set(
      rows.flatMap(({ name, source, mine }) =>
        [...source.matchAll(/\bprivate\.(\w+)/g)]
          .map(([, callee]) => callee)
          .filter((callee) => !mine || callee !== name),
      ),
    );
    expect(rows.length).toBeGreaterThan(500);
    expect(
      await lines(
        `select f.name from ${functions} where f.schema = 'private'
            and f.proname = any (array['${rows
              .filter(({ name, depended }) => !depended && !called.has(name))
              .map(({ name }) => name)
              .join("', '")}'])`,
      ),
    ).toEqual([
      // whoever migrates, and the operator as the owner of the database
      "private.enable_tenant_policy",
      "private.login_create",
      "private.login_disable",
      "private.partition_by_year",
    ]);
  });

  const executableBy = (role: string) =>
    lines(
      `select f.name from ${functions} where has_function_privilege('${role}', f.oid, 'execute') and has_schema_privilege('${role}', f.schema, 'usage')`,
    );

  test("that edge and edge_slow may execute are those the endpoints declare, admission, and what health asks", async () => {
    const modules = readdirSync(`${ROOT}supabase/functions`, { recursive: true, encoding: "utf8" });
    const declared: Record<"edge" | "edge_slow", string[]> = {
      edge: ["admit", "charge", "enter", "read_health", "read_replica"],
      edge_slow: [],
    };
    for (const path of modules.filter((name) => name.endsWith("app.ts"))) {
      const { surface }: { surface?: Surface } = await import(`${ROOT}supabase/functions/${path}`);
      const { sql: ofPages = [], slow: slowOnes = [] } = (await surface?.pages?.load()) ?? {};
      for (const name of ofPages) declared[slowOnes.includes(name) ? "edge_slow" : "edge"].push(name);
      for (const { sql, slow } of surface ? await endpointsOf(surface) : [])
        declared[slow ? "edge_slow" : "edge"].push(...sql);
    }
    for (const role of ["edge", "edge_slow"] as const)
      expect(await executableBy(role)).toEqual([...new Set(declared[role])].map((name) => `api.${name}`).sort());
  });

  test("a statement of a login role, and its waiting for a lock, end by themselves: of edge before anybody asks twice", async () => {
    expect(
      await lines(`select r.rolname, array_to_string(array(select unnest(s.setconfig) order by 1), ' ')
                     from pg_db_role_setting s join pg_roles r on r.oid = s.setrole where r.rolname in ('edge', 'edge_slow', 'operator')`),
    ).toEqual([
      "edge jit=off lock_timeout=3s statement_timeout=8s",
      "edge_slow jit=off lock_timeout=1s statement_timeout=1min",
      "operator jit=off lock_timeout=30s statement_timeout=10min",
    ]);
  });

  test("of ops run as the owner of the tables, whose tenants they cross", async () => {
    expect(
      await lines(
        `select f.name, f.owner from ${functions} where f.schema = 'ops' and not (f.prosecdef and f.owner = 'postgres')`,
      ),
    ).toEqual([]);
  });

  test("that operator may execute are those of ops", async () => {
    expect(await executableBy("operator")).toEqual(
      await lines(`select f.name from ${functions} where f.schema = 'ops'`),
    );
  });

  test.each(["anon", "authenticated", "service_role"])("that %s may execute are none", async (role) => {
    expect(await executableBy(role)).toEqual([]);
  });
});
