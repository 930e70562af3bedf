// What a step of a year reads, in blocks of 8 kB, while no table has statistics and after they were analyzed. Without statistics the
// planner may read a table whole for each row. Each planner setting and each fence (`offset 0`, `materialized`) of the schema stands
// in GUARDS beside the step that reads too much without it.

import type pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { addCustomers } from "../../trials/bench/kit/people.ts";
import { type Client, seed } from "../../trials/bench/kit/seed.ts";
import { completeAccounts } from "../../trials/bench/kit/year.ts";
import { cloneDatabase, type Database } from "../harness/database.ts";

let database: Database;
let admin: pg.Pool;
let client: Client;

beforeAll(async () => {
  database = await cloneDatabase("sandbox", "2027-01-10T12:00:00Z");
  admin = database.admin;
  await fill();
});
afterAll(() => database.drop());

/** A year of 200 accounts of a CPO and of 100 people whom it brought, in tables that nobody ever analyzed. */
async function fill(): Promise<void> {
  await admin.query(
    `do $$ declare held regclass; begin
       for held in select oid from pg_class where relnamespace = 'core'::regnamespace and relkind = 'r' loop
         execute format('alter table %s set (autovacuum_enabled = off)', held);
       end loop; end $$`,
  );
  await admin.query("create schema bench");
  const { clients } = await seed(admin, 1, 200, { booked: false });
  client = clients[0] as Client;
  await addCustomers(admin, client.partner_id, 100);
  await completeAccounts(admin, "x");
  await admin.query("update core.attributions set attached_month = '2025-12-01'");
  await admin.query(
    `insert into core.delivered_months (partner_id, connection_id, owner_id, period, total_kwh, session_count, source, status, received_at)
     select c.partner_id, c.id, c.owner_id, p.period::date, 100, 20, 'test', 'staged', now()
       from core.connections c cross join generate_series(timestamp '2026-01-01', '2026-12-01', '1 month') p (period)
      where c.partner_id = private.people_tenant()`,
  );
  await admin.query(
    `update core.partners set vat_regime = 'regular', company = '{"name": "P", "street": "S 1", "city": "A", "vat": "NL123456789B01"}'
      where id = $1`,
    [client.partner_id],
  );
  await admin.query("select private.publish_figures(p.id, 2026) from core.partners p");
  await admin.query(
    "delete from pg_statistic where starelid in (select oid from pg_class where relnamespace = 'core'::regnamespace)",
  );
  await admin.query(
    `update pg_class set relpages = 0, reltuples = case relkind when 'i' then 0 else -1 end, relallvisible = 0
      where relnamespace = 'core'::regnamespace and relkind in ('r', 'i')`,
  );
  // an empty table that was analyzed costs nothing to read, as a session goes on to believe
  await admin.query("analyze core.payout_batches, core.payout_lines, core.payout_parts, core.payout_entries");
}

const BOOKING = "core.bookings b where b.partner_id = $1 and b.quarter = $2";
const LINES = `array(select row(0, r.id, r.kwh, null, null)::private.credit_line from core.booking_rows r
                      where r.partner_id = b.partner_id and r.booking_id = b.id)`;
const CPO = "jsonb_build_object('kind', 'cpo', 'partner_id', $1, 'client_id', $3, 'host', 'sandbox')";

/** The steps of a quarter in their order. $1 is the tenant, $2 the first day of the quarter, $3 the client. */
const STEPS: { step: string; sql: string; people?: true }[] = [
  { step: "judge", sql: "select count(*) from private.judge_quarter($1, $2)" },
  {
    step: "submit",
    sql: `select private.set_tenant($1), private.submit_booking($1, (private.open_booking($1, $2, gen_random_uuid())).id)`,
    people: true,
  },
  {
    step: "credit",
    sql: `select private.set_tenant($1), private.credit_booking(b, ${LINES}, null) from ${BOOKING}`,
    people: true,
  },
  {
    // the register took each row back once, and granted it again
    step: "reversed credits",
    sql: `insert into core.credits (partner_id, row_id, owner_id, accepted_kwh, ere, reversed_at, reversed_reason)
          select c.partner_id, c.row_id, c.owner_id, c.accepted_kwh, c.ere, now(), 'test'
            from core.booking_rows r join core.credits c on c.partner_id = r.partner_id and c.row_id = r.id
           where r.partner_id = $1 and r.booking_id = (select b.id from ${BOOKING})`,
  },
  {
    step: "sell",
    sql: `select private.set_tenant($1), private.record_sale(b, $2::text, 'Buyer', round(private.sellable_ere(b) / 2, 6), 0.42, private.today())
            from ${BOOKING}`,
    people: true,
  },
  { step: "show a booking", sql: `select private.booking_row(b) from ${BOOKING}` },
  {
    step: "pay",
    sql: `select private.make_batch(array(select y from private.payees(0) y where y.partner_id = $1 and y.account_id is not null and y.amount > 0), 0, 'test')`,
  },
  {
    step: "settle",
    sql: `select private.pay_lines(array(select l from core.payout_lines l where l.partner_id = $1 and l.status = 'pending'))`,
  },
  { step: "invoice", sql: "select private.issue_invoices(p, $2, 'test') from core.partners p where p.id = $1" },
  {
    step: "show an invoice",
    sql: "select private.invoice_months(i) from core.invoices i where i.partner_id = $1 and i.quarter = $2",
  },
  // of all accounts: fifty at random read more or less by chance
  { step: "positions", sql: `select api.list_ere_positions(${CPO}, '{"limit": 200, "offset": 0}')` },
  { step: "check", sql: "select count(*), sum(k.wrong) from private.check_ledger($1) k" },
];

/** Blocks that a statement touched in memory or on the disk, of nested statements too. */
async function blocksOf(connection: pg.PoolClient, sql: string): Promise<number> {
  const { rows } = await connection.query(`explain (analyze, buffers, timing off, format json) ${sql}`);
  const [{ Plan }] = rows[0]["QUERY PLAN"];
  return Plan["Shared Hit Blocks"] + Plan["Shared Read Blocks"];
}

/** Waits for what other tests have begun: until no transaction of the server is older, dead versions of rows are read. */
async function olderOnesEnd(): Promise<void> {
  const { rows } = await admin.query("select clock_timestamp()::text as now");
  const older = async () =>
    (
      await admin.query("select from pg_stat_activity where backend_xmin is not null and xact_start < $1", [
        rows[0].now,
      ])
    ).rowCount;
  await expect.poll(older).toBe(0);
}

/** Runs the steps of a quarter for the CPO's tenant, and what both tenants do for the people's as well. */
async function quarter(connection: pg.PoolClient, first_day: string): Promise<Record<string, number>> {
  const { rows } = await admin.query("select private.people_tenant() as id");
  const seen: Record<string, number> = {};
  for (const { step, sql, people } of STEPS)
    for (const tenant of people ? [client.partner_id, rows[0].id] : [client.partner_id]) {
      const values = { $1: `'${tenant}'::uuid`, $2: `'${first_day}'::date`, $3: `'${client.id}'::uuid` };
      if (step === "positions") await olderOnesEnd();
      const blocks = await blocksOf(
        connection,
        sql.replaceAll(/\$[123]/g, (name) => values[name as keyof typeof values]),
      );
      if (tenant === client.partner_id) seen[step] = blocks;
    }
  return seen;
}

/** At most so many blocks, a quarter above what it was measured to read: of two quarters without statistics, and of the next one analyzed. */
const MOST: Record<string, [first: number, second: number, analyzed: number]> = {
  judge: [110_000, 110_000, 22_000],
  submit: [470_000, 500_000, 115_000],
  credit: [90_000, 94_000, 80_000],
  sell: [145_000, 152_000, 120_000],
  "show a booking": [3_700, 3_800, 2_400],
  pay: [40_000, 93_000, 51_000],
  settle: [78_000, 124_000, 35_000],
  invoice: [61_000, 101_000, 123_000],
  "show an invoice": [35_000, 10_200, 4_000],
  positions: [100_000, 100_000, 100_000],
  // also what dashboards show of the accounts of clients
  check: [225_000, 260_000, 70_000],
};

/** How many planner settings and fences each function or view has, and the step that reads too much without them. */
const GUARDS: Record<string, { fences: number; step: string }> = {
  "core.earned_months": { fences: 1, step: "credit" },
  "private.admit": { fences: 1, step: "admission" },
  "private.booking_row": { fences: 1, step: "show a booking" },
  "private.check_books": { fences: 2, step: "check" },
  "private.invoice_months": { fences: 1, step: "show an invoice" },
  "private.judge_quarter": { fences: 2, step: "judge" },
  "private.paid_of": { fences: 1, step: "pay" },
  "private.paid_for": { fences: 1, step: "settle" },
  "private.positions": { fences: 1, step: "positions" },
  "private.post": { fences: 2, step: "sell" },
  "private.reserve_months": { fences: 1, step: "submit" },
  "private.split_sale": { fences: 1, step: "sell" },
};

test("every planner setting and fence is there for a step below", async () => {
  const { rows } = await admin.query<{ name: string; fences: number }>(
    `select name, count(*)::int as fences
       from (select n.nspname || '.' || p.proname as name, pg_get_functiondef(p.oid) as body
               from pg_proc p join pg_namespace n on n.oid = p.pronamespace
              where n.nspname in ('api', 'ops', 'private') and p.prokind = 'f'
             union all
             select c.oid::regclass::text, pg_get_viewdef(c.oid) from pg_class c
              where c.relnamespace = 'core'::regnamespace and c.relkind = 'v') b,
            regexp_matches(regexp_replace(body, '--[^\n]*', '', 'g'),
                           '\n SET (?!search_path)[a-z_]+ TO|offset 0|as materialized', 'gi')
      group by name order by name`,
  );
  const guarded = Object.entries(GUARDS).map(([name, { fences }]): [string, number] => [name, fences]);
  expect(Object.fromEntries(rows.map(({ name, fences }) => [name, fences]))).toEqual(
    Object.fromEntries([...guarded, ...Object.entries(TIMED)]),
  );
  for (const { step } of Object.values(GUARDS)) expect([...Object.keys(MOST), "admission"]).toContain(step);
});

/** Those that save processor time rather than blocks; `bench charging_in`, `ocpi` and `list` show it. */
const TIMED: Record<string, number> = {
  "api.list_charging_sessions": 1,
  "api.take_ocpp_messages": 1,
  "api.withdraw_charging_sessions": 1,
  "private.can_store_again": 1,
  // tests/partner/customers.test.ts shows it
  "private.customer_page": 1,
  "private.judge_sessions": 2,
  // of one account: without it, all chargers of its partner
  "private.portal_account": 1,
  "private.read_sessions": 1,
  "private.resolve_chargers": 2,
  "private.retry_parked": 3,
  "private.reused_ids": 3,
  "private.store_months_of_file": 2,
  "private.store_sessions": 3,
  "private.total_sessions": 1,
  "private.withdraw_charging_sessions": 1,
};

test("the steps of a year, of tables without statistics and of analyzed ones", async () => {
  const seen: Record<string, number>[] = [];
  for (const analyzed of [false, true]) {
    if (analyzed) await admin.query("analyze");
    const connection = await admin.connect();
    for (const first_day of analyzed ? ["2026-07-01"] : ["2026-01-01", "2026-04-01"])
      seen.push(await quarter(connection, first_day));
    connection.release(true);
  }
  for (const [step, most] of Object.entries(MOST)) {
    const blocks = seen.map((each) => each[step] ?? Infinity);
    const within = blocks.map((read, at) => read <= (most[at] ?? 0));
    expect({ step, blocks, within }).toEqual({ step, blocks, within: [true, true, true] });
  }
});

test("admission, on a connection that planned it while few limits were taken", async () => {
  const limits = (from: number, to: number) =>
    admin.query(
      "insert into core.rate_limit_state (subject, bucket, full_at) select 'test' || n, 'cpo_read', now() from generate_series($1::int, $2::int) n",
      [from, to],
    );
  await limits(1, 40);
  await admin.query("vacuum analyze core.rate_limit_state");
  const credential = { kind: "cpo", client_id: client.client_id, secret_number: 1, token_id: "x", scopes: [] };
  const ticket = { host: "sandbox", credential, demand: { kind: "cpo", bucket: "cpo_read" } };
  const admit = `select api.admit('${JSON.stringify(ticket)}')`;
  const connection = await admin.connect();
  try {
    for (let n = 0; n < 12; n++) await connection.query(admit);
    await limits(41, 20_000);
    expect(await blocksOf(connection, admit)).toBeLessThan(60);
  } finally {
    connection.release(true);
  }
});

test("storing a session, on a connection that planned it while few were stored", async () => {
  const { rows } = await admin.query<{ partner_id: string; id: string; owner_id: string }>(
    "select partner_id, id, owner_id from core.chargers where user_id is null order by id limit 2",
  );
  const [ours, other] = rows;
  const store = (n: number) =>
    `select private.set_tenant('${ours?.partner_id}'), private.store_sessions('[{"charger_id": "${ours?.id}", "source": "api",
       "external_id": "${n}", "started_at": "2026-03-${n + 10}T10:00:00Z", "ended_at": "2026-03-${n + 10}T11:00:00Z", "wh": 5000}]')`;
  const others = (from: number, to: number) =>
    admin.query(
      `insert into core.charging_sessions (partner_id, charger_id, id, owner_id, source, external_id, started_at, busy_from, ended_at, wh, status, received_at)
       select $1, $2, gen_random_uuid(), $3, 'api', 'o' || n, t, t, t, 0, 'completed', now()
         from generate_series($4::int, $5::int) n cross join lateral (select '2025-01-01Z'::timestamptz + n * interval '1 minute') x (t)`,
      [other?.partner_id, other?.id, other?.owner_id, from, to],
    );
  await others(1, 60);
  await admin.query("vacuum analyze core.charging_sessions");
  const connection = await admin.connect();
  try {
    for (let n = 1; n <= 6; n++) await connection.query(store(n));
    await others(61, 20_000);
    expect(await blocksOf(connection, store(7))).toBeLessThan(400);
  } finally {
    connection.release(true);
  }
});

test("taking an OCPP charge, on a connection that planned it while few were stored", async () => {
  const { rows } = await admin.query<{ partner_id: string; id: string; owner_id: string }>(
    "select partner_id, id, owner_id from core.chargers where user_id is null order by id limit 4",
  );
  const [, , ours, other] = rows;
  await admin.query(
    "insert into core.ocpp_links (partner_id, charger_id, owner_id, generation, connected_at) values ($1, $2, $3, 1, now())",
    [ours?.partner_id, ours?.id, ours?.owner_id],
  );
  const event = (type: string, n: number, hour: number, wh: number) => {
    const at = `2027-01-0${n}T${hour}:00:00Z`;
    const readings = { [type === "Started" ? "first" : "end"]: { at, wh } };
    return { kind: "event", type, transaction: `plan ${n}`, at, connector: 1, clock: "charger", readings };
  };
  const take = (n: number) =>
    `select api.take_ocpp_messages('{"kind": "gateway", "host": "sandbox"}', '${JSON.stringify({
      ...{ charger_id: ours?.id, generation: 1, protocol: "ocpp2.0.1" },
      happened: [event("Started", n, 10, n * 5000), event("Ended", n, 11, n * 5000 + 5000)],
    })}')`;
  const others = (from: number, to: number) =>
    admin.query(
      `insert into core.ocpp_transactions (partner_id, charger_id, owner_id, source_id, connector, started_at, first_at, ended_at, clock)
       select $1, $2, $3, 'o' || n, 1, t, t, t, 'charger'
         from generate_series($4::int, $5::int) n cross join lateral (select '2025-01-01Z'::timestamptz + n * interval '1 minute') x (t)`,
      [other?.partner_id, other?.id, other?.owner_id, from, to],
    );
  await others(1, 60);
  await admin.query("vacuum analyze core.ocpp_transactions");
  const connection = await admin.connect();
  try {
    for (let n = 1; n <= 7; n++) await connection.query(take(n));
    await others(61, 20_000);
    expect(await blocksOf(connection, take(8))).toBeLessThan(700);
  } finally {
    connection.release(true);
    // the next test begins with a table that nobody analyzed
    await admin.query("truncate core.ocpp_transactions");
    await admin.query("delete from pg_statistic where starelid = 'core.ocpp_transactions'::regclass");
  }
});

test("parking, storing, listing and taking back sessions, and taking CDRs, beside 20,000 of each that nobody analyzed", async () => {
  const { rows } = await admin.query<{ partner_id: string; id: string; owner_id: string }>(
    "select partner_id, id, owner_id from core.chargers where user_id is null order by id limit 1",
  );
  const [{ partner_id, id, owner_id } = { partner_id: "", id: "", owner_id: "" }] = rows;
  await admin.query(
    "delete from pg_statistic where starelid in ('core.charging_sessions'::regclass, 'core.parked_charging'::regclass)",
  );
  await admin.query(
    `insert into core.parked_charging (partner_id, owner_id, source, known_as, external_id, names, item, reason)
     select $1, $2, 'api', 'p' || n, 'p' || n, array['evse_uid:P' || n], jsonb_build_object('started_at', '2026-03-10T10:00:00Z', 'evse_uid', 'P' || n), 'unknown_charger'
       from generate_series(1, 20000) n`,
    [partner_id, owner_id],
  );
  await admin.query(
    `insert into core.charging_sessions (partner_id, charger_id, id, owner_id, source, external_id, started_at, busy_from, ended_at, wh, status, received_at)
     select $1, $2, gen_random_uuid(), $3, 'api', 't' || n, t, t, t, 0, 'completed', now()
       from generate_series(1, 20000) n cross join lateral (select '2024-01-01Z'::timestamptz + n * interval '1 hour') x (t)`,
    [partner_id, id, owner_id],
  );
  await admin.query(
    `insert into core.charger_names (partner_id, owner_id, kind, value, since, charger_id, evse_no)
     select $1, $3, 'evse_uid', 'N' || n, now(), $2, 1 from generate_series(1, 20000) n`,
    [partner_id, id, owner_id],
  );
  await admin.query(
    `insert into core.charging_changes (partner_id, owner_id, charger_id, session_id, position)
     select $1, $3, $2, gen_random_uuid(), n from generate_series(1, 20000) n`,
    [partner_id, id, owner_id],
  );
  await admin.query(
    `insert into core.charging_heads (partner_id, owner_id, position) values ($1, $2, 20000)
     on conflict on constraint charging_heads_pkey do update set position = 20000`,
    [partner_id, owner_id],
  );
  await admin.query(
    "insert into core.ocpi_connections (partner_id, owner_id, status, parties) values ($1, $2, 'disabled', '{NL-TNM}')",
    [partner_id, owner_id],
  );
  await admin.query(
    `insert into core.ocpi_cdrs (partner_id, owner_id, party, cdr_id, kept_sha256, status, document_sha256)
     select $1, $2, 'NL-TNM', 'C' || n, '', 'taken', '' from generate_series(1, 20000) n`,
    [partner_id, owner_id],
  );
  await admin.query(
    "insert into core.ocpp_links (partner_id, charger_id, owner_id, generation, connected_at) values ($1, $2, $3, 1, now())",
    [partner_id, id, owner_id],
  );
  await admin.query(
    `insert into core.ocpp_transactions (partner_id, charger_id, owner_id, connector, source_started_at, started_at, first_at, meter_start_wh, ended_at, end_wh, clock)
     select $1, $2, $3, 1, t, t, t, n * 5000, t + interval '1 hour', n * 5000 + 5000, 'charger'
       from generate_series(1, 20000) n cross join lateral (select '2020-01-01Z'::timestamptz + n * interval '3 hours' as t) x`,
    [partner_id, id, owner_id],
  );
  const happens = (...happened: object[]) =>
    `select api.take_ocpp_messages('{"kind": "gateway", "host": "sandbox", "request_id": "r1"}', '${JSON.stringify({ charger_id: id, generation: 1, protocol: "ocpp1.6", happened })}')`;
  const at = (time: string) => ({ at: `2027-01-09T${time}:00Z`, told: `2027-01-09T${time}:00Z`, clock: "charger" });
  const start = { kind: "start", connector: 1, meter_wh: 200_000_000, id_tag: null, ...at("10:00") };
  const values = {
    kind: "values",
    connector: 1,
    transaction: "77",
    readings: { last: { at: at("10:30").at, wh: 200_005_000 } },
    ...at("10:30"),
  };
  const stop = { kind: "stop", transaction: "77", meter_wh: 200_009_000, readings: {}, ...at("11:00") };
  const caller = JSON.stringify({ kind: "cpo", partner_id, client_id: owner_id, host: "sandbox", request_id: "r1" });
  const sent_sha256 = "ab".repeat(32);
  const ten = Array.from({ length: 10 }, (_, n) => n + 1);
  const items = JSON.stringify(
    ten.map((n) => ({
      place: n,
      source: "api",
      external_id: `p${n}`,
      evse_uid: `P${n}`,
      started_at: "2026-03-10T10:00:00Z",
      wh: 5,
    })),
  );
  const withdrawn = JSON.stringify({ session_ids: ten.flatMap((n) => [`t${n}`, `p${n}`]), sent_sha256 });
  const connection = await admin.connect();
  const named = JSON.stringify(
    ten.map((n) => ({
      place: n,
      source: "api",
      external_id: `n${n}`,
      evse_uid: `N${n}`,
      started_at: `2027-01-0${(n % 9) + 1}T10:00:00Z`,
      ended_at: `2027-01-0${(n % 9) + 1}T10:30:00Z`,
      wh: 5,
    })),
  );
  const cdrs = JSON.stringify(
    ten.map((n) => ({
      place: n,
      party: "NL-TNM",
      id: `D${n}`,
      kept_sha256: "",
      document: {},
      kind: "credit",
      credit_of: `C${n}`,
    })),
  );
  const told = (wh: number) =>
    JSON.stringify([
      {
        place: 1,
        source: "api",
        external_id: "again",
        charger_id: id,
        started_at: "2027-01-10T10:00:00Z",
        ended_at: "2027-01-10T11:00:00Z",
        wh,
      },
    ]);
  // each with the most blocks that it may read, a quarter or more above what it was measured to
  const statements: [string, number][] = [
    [`select count(*) from private.store_client_sessions('${owner_id}', '${items}')`, 2_500],
    [
      `select private.retry_parked('${owner_id}', private.parked_by_name('${owner_id}', '{${ten.map((n) => `evse_uid:P${n}`)}}', 1000))`,
      1_500,
    ],
    [`select api.withdraw_charging_sessions('${caller}', '${withdrawn}')`, 3_800],
    [`select count(*) from private.store_sessions('${told(6000)}')`, 400],
    [`select count(*) from private.store_client_sessions('${owner_id}', '${named}')`, 2_500],
    [`select api.list_charging_sessions('${caller}', '${JSON.stringify({ limit: 100, after: null })}')`, 4_500],
    [`select private.take_cdrs(c, '${cdrs}') from core.ocpi_connections c where c.owner_id = '${owner_id}'`, 1_200],
    [happens(start), 500],
    [happens(start, values), 700],
    [happens(start, values, stop), 900],
  ];
  const run = async (what: string) => {
    await connection.query("begin; set local role api_owner");
    await connection.query("select private.act_as($1, 'cpo')", [caller]);
    const read = await blocksOf(connection, what);
    await connection.query("rollback");
    return read;
  };
  await run(`select count(*) from private.store_sessions('${told(5000)}')`);
  for (const [what, most] of statements) {
    // the first time plans and fills the caches of this connection
    await run(what);
    const blocks = await run(what);
    expect({ what, blocks, within: blocks <= most }).toEqual({ what, blocks, within: true });
  }
  connection.release(true);
});

test("ending charges that have no stop and dropping cards, beside 20,000 that ended so and that nobody analyzed", async () => {
  const { rows } = await admin.query<{ partner_id: string; id: string; owner_id: string }>(
    "select partner_id, id, owner_id from core.chargers where user_id is null order by id desc limit 1",
  );
  const [{ partner_id, id, owner_id } = { partner_id: "", id: "", owner_id: "" }] = rows;
  await admin.query(
    "delete from pg_statistic where starelid in ('core.charging_sessions'::regclass, 'core.ocpp_transactions'::regclass)",
  );
  // the last of them began without a reading, and nothing ended it yet
  await admin.query(
    `with told as (
       insert into core.ocpp_transactions (partner_id, charger_id, owner_id, connector, started_at, first_at, meter_start_wh, last_at, last_wh, clock, is_over, created_at)
       select $1, $2, $3, 1, t, t, n * 5000, t + interval '1 hour', n * 5000 + 5000, 'charger', true, t
         from generate_series(1, 20000) n cross join lateral (select '2020-01-01Z'::timestamptz + n * interval '3 hours' as t) x
       returning *)
     insert into core.charging_sessions (partner_id, charger_id, id, owner_id, source, external_id, started_at, busy_from, ended_at, wh, status, received_at)
     select $1, $2, gen_random_uuid(), $3, 'ocpp', '1.6:' || t.id, t.first_at, t.first_at, e.ended_at, 5000,
            case when e.ended_at is null then 'active' else 'completed' end, t.first_at
       from told t cross join lateral (select case when t.meter_start_wh <> 99995000 then t.last_at end) e (ended_at)`,
    [partner_id, id, owner_id],
  );
  const connection = await admin.connect();
  const jobs: [sql: string, most: number, rows?: number][] = [
    ["select private.give_up_charges() as rows", 150, 1],
    ["select private.forget_silent_cards() as rows", 60],
    ["select count(*) from private.owners_of_silent_charges()", 60],
  ];
  for (const [sql, most, count] of jobs) {
    for (const round of ["plans", "reads"]) {
      await connection.query("begin");
      const blocks = await blocksOf(connection, sql);
      await connection.query("rollback");
      if (round === "reads") expect({ sql, blocks, within: blocks <= most }).toEqual({ sql, blocks, within: true });
    }
    if (count !== undefined) expect((await connection.query(sql)).rows).toEqual([{ rows: count }]);
  }
  connection.release(true);
});
