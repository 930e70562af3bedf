// The log and the endpoints, asked by hand as each role that somebody could have: nobody reads or writes past the functions they are given.

import { randomUUID } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createPartnerWorld, type PartnerWorld } from "../partner/partner_world.ts";

const TABLES = [
  "events",
  "event_heads",
  "webhook_endpoints",
  "webhook_retries",
  "webhook_attempts",
  "announced_payouts",
];
/** Logins, by their own connection; the roles of Supabase's own API, which have none, are taken on. */
const LOGINS = ["edge", "edge_slow", "operator", "operator_anna"] as const;
const TAKEN_ON = ["anon", "authenticated", "service_role"] as const;
type Role = (typeof LOGINS)[number] | (typeof TAKEN_ON)[number];

let world: PartnerWorld;
const clients = new Map<Role, pg.Client>();
let functions: { schema: string; name: string; types: string[]; may: string[] }[];
beforeAll(async () => {
  world = await createPartnerWorld();
  const { id } = world.partnerA;
  await world.database.admin.query(
    `insert into core.webhook_endpoints (partner_id, id, owner_id, url, secret_ciphertext, secret_key_id, delivered_to)
     values ('${id}', gen_random_uuid(), '${id}', 'https://receiver.example.com/', 'x', 'x', 0);
     select private.append_event('${id}', '${id}', 'draft.claimed', gen_random_uuid(), '{}'), private.sequence_events('${id}', '${id}');
     insert into core.webhook_retries (partner_id, endpoint_id, event_id, attempts)
     select e.partner_id, e.id, gen_random_uuid(), 1 from core.webhook_endpoints e;
     insert into core.webhook_attempts (partner_id, endpoint_id, event_id, type, attempt, at, ms)
     select e.partner_id, e.id, gen_random_uuid(), 'ping', 1, now(), 1 from core.webhook_endpoints e;
     insert into core.announced_payouts (partner_id, payout_id, period, status) values ('${id}', gen_random_uuid(), '2026-Q1', 'paid')`,
  );
  for (const role of LOGINS) clients.set(role, new pg.Client({ connectionString: world.database.url(role) }));
  for (const role of TAKEN_ON) clients.set(role, new pg.Client({ connectionString: world.database.url("postgres") }));
  for (const [role, client] of clients) {
    await client.connect();
    if (!LOGINS.some((login) => login === role)) await client.query(`set role ${role}`);
  }
  // every function that names one of the tables, and what these call themselves
  const { rows } = await world.database.admin.query({
    text: `select n.nspname, p.proname, (select array_agg(format_type(t, null)) from unnest(p.proargtypes) t),
                  array(select r.rolname::text from pg_roles r where r.rolname = any ($1) and has_schema_privilege(r.oid, n.oid, 'usage') and has_function_privilege(r.oid, p.oid, 'execute'))
             from pg_proc p join pg_namespace n on n.oid = p.pronamespace
            where n.nspname in ('api', 'ops', 'private') and p.prorettype <> 'trigger'::regtype
              and (p.prosrc || coalesce(pg_get_function_sqlbody(p.oid), '')) ~ $2 or n.nspname in ('api', 'ops') and p.proname ~ 'webhook|_event'
            order by 1, 2`,
    values: [[...LOGINS, ...TAKEN_ON], `core\\.(${TABLES.join("|")})`],
    rowMode: "array",
  });
  functions = rows.map(([schema, name, types, may]) => ({ schema, name, types: types ?? [], may }));
});
afterAll(async () => {
  for (const client of clients.values()) await client.end();
  await world.close();
});

/** What a statement comes to: rows, or the code it is refused with. */
const run = (role: Role, statement: string): Promise<string> =>
  (clients.get(role) as pg.Client).query(statement).then(
    ({ rowCount }) => `${rowCount} rows`,
    ({ code }) => code,
  );

describe.each([...LOGINS, ...TAKEN_ON])("contract §1 %s", (role) => {
  test.each(TABLES)("reads, adds, changes and deletes nothing of core.%s", async (table) => {
    for (const statement of [
      `select * from core.${table}`,
      `select count(*) from core.${table}`,
      `insert into core.${table} (partner_id) values ('${world.partnerA.id}')`,
      `update core.${table} set partner_id = partner_id`,
      `delete from core.${table}`,
      `truncate core.${table}`,
      `copy core.${table} to stdout`,
      `do $$ begin lock table core.${table}; end $$`,
    ])
      expect(await run(role, statement), statement).toBe("42501");
  });

  test("runs no helper behind them", async () => {
    const helpers = functions.filter(({ schema }) => schema === "private");
    expect(helpers.length).toBeGreaterThan(20);
    for (const { name, types } of helpers) {
      const statement = `select private.${name}(${types.map((type) => `null::${type}`).join(", ")})`;
      expect(await run(role, statement), statement).toBe("42501");
    }
  });

  test("runs of the functions around them those that are its own", () => {
    const own = functions.filter(({ schema, may }) => schema !== "private" && may.includes(role));
    expect([...new Set(own.map(({ schema }) => schema))]).toEqual(
      role.startsWith("edge") ? ["api"] : role.startsWith("operator") ? ["ops"] : [],
    );
    const worker = own.filter(({ name }) => ["lease_webhooks", "settle_webhook", "run_due_job"].includes(name));
    expect(worker.map(({ name }) => name)).toEqual(role === "edge_slow" ? ["lease_webhooks", "settle_webhook"] : []);
  });
});

describe("contract §1 what edge says of a caller is not enough", () => {
  const edge = (name: string, caller: object, input: object) =>
    (clients.get("edge") as pg.Client)
      .query(`select api.${name}($1, $2) as answer`, [caller, input])
      .then(({ rows }) => rows[0].answer);
  const host = { host: "sandbox", request_id: "test" };
  const partner = () => ({ kind: "partner", partner_id: world.partnerA.id, ...host });

  test("a worker, a person and an unknown kind read no log; a client reads its own, another partner none of it", async () => {
    const query = { limit: 10, key: "00" };
    for (const kind of ["worker", "user", "session", "anyone", "operator", ""])
      await expect(edge("show_events", { ...partner(), kind }, query), kind).rejects.toThrow();
    expect((await edge("show_events", partner(), query)).events).toHaveLength(1);
    expect((await edge("show_events", { ...partner(), partner_id: world.partnerB.id }, query)).events).toEqual([]);
    const client = { kind: "cpo", partner_id: world.partnerA.id, client_id: world.partnerA.client.id, ...host };
    expect((await edge("show_events", client, query)).events).toEqual([]);
  });

  test("a key makes and changes no endpoint, though edge let it", async () => {
    const { id } = await world.row("select id from core.webhook_endpoints");
    const secret = { ciphertext: "x", key_id: "x" };
    for (const [name, input] of [
      ["create_webhook", { id: randomUUID(), url: "https://receiver.example.com/", secret }],
      ["rotate_webhook", { webhook_id: id, secret }],
      ["switch_webhook", { webhook_id: id, enable: false }],
      ["revoke_webhook", { webhook_id: id }],
      ["replay_webhook", { webhook_id: id, from: "2020-01-01" }],
      ["ping_webhook", { webhook_id: id }],
    ] as const)
      await expect(edge(name, partner(), input), name).rejects.toThrow();
    const other = { ...partner(), partner_id: world.partnerB.id, manager_id: randomUUID() };
    await expect(edge("revoke_webhook", other, { webhook_id: id })).rejects.toThrow("no_partner_linked");
    const { id: manager_id } = await world.row("insert into auth.users (id) values (gen_random_uuid()) returning id");
    await world.row(
      "insert into core.partner_managers (partner_id, user_id) values ($1, $2)",
      world.partnerB.id,
      manager_id,
    );
    await expect(edge("revoke_webhook", { ...other, manager_id }, { webhook_id: id })).rejects.toThrow(
      "webhook_not_found",
    );
    expect(await world.row("select count(*)::int from core.webhook_endpoints")).toEqual({ count: 1 });
  });
});
