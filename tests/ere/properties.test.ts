// What must hold whatever happens, in whatever order, perhaps twice, perhaps two at once. Each test runs ERE_SEQUENCES sequences, or 8,
// with the seed ERE_SEED, or another each time.

import fc from "fast-check";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readBankAnswer, type Said } from "../../packages/operator/src/bank_answer.ts";
import { createWorld, type World } from "../harness/world.ts";
import { bankEntry, camt, OUR_IBAN, pain002, statusOf } from "./bank_files.ts";

const SEQUENCES = Number(process.env.ERE_SEQUENCES ?? 8);
const SEED = Number(process.env.ERE_SEED ?? Date.now() % 1_000_000_000);
const MONTHS = ["2026-01", "2026-02", "2026-03", "2026-04", "2026-05", "2026-06"];

let world: World;
/** A payout takes two people. */
const people: Record<"operator_anna" | "operator_bram", pg.Pool> = {} as never;
beforeAll(async () => {
  world = await createWorld({ now: "2026-08-15T12:00:00Z" });
  for (const login of ["operator_anna", "operator_bram"] as const) {
    people[login] = new pg.Pool({ connectionString: world.database.url(login), max: 4 });
    people[login].on("error", () => {}); // idle connections end with the database
  }
});
afterAll(async () => {
  process.stdout.write(`${SEQUENCES} sequences of each test; ERE_SEQUENCES says how many. ERE_SEED=${SEED}\n`);
  for (const pool of Object.values(people)) await pool.end();
  await world.close();
});

const rows = async (statement: string, ...values: unknown[]) =>
  (await world.database.admin.query(statement, values)).rows;

type Tenant = { id: string; client_id: string; connections: string[] /** Retention ran. */; forgot?: boolean };

/** A connection of a new account with everything it takes to be booked, with a new EAN or the one that is given. */
async function addConnection({ id, client_id }: Pick<Tenant, "id" | "client_id">, fee_pct: number, ean?: string) {
  const payout_handler = fee_pct === 17.5 ? "via_cpo_invoicing" : "service_pays_customer";
  const { connection_id } = await world.row(
    `with account as (
       insert into core.accounts (partner_id, client_id, type, display_name, payout_handler, iban_ciphertext, iban_key_id, iban_last4, iban_changed_at)
       values ($1, $2, 'particulier', 'S', $5, 'x', 'x', '4300', '2026-01-01') returning partner_id, id, owner_id),
     location as (
       insert into core.locations (partner_id, postal_code, house_number) values ($1, '3818LH', 8)
       on conflict on constraint locations_address_key do update set house_number = excluded.house_number returning id),
     connection as (
       insert into core.connections (partner_id, account_id, owner_id, location_id, ean_code, ean_validation_status, registration_status)
       select a.partner_id, a.id, a.owner_id, l.id, coalesce($4, lpad((random() * 1e17)::bigint::text, 18, '7')), 'matched', 'goedgekeurd'
         from account a, location l returning partner_id, id, account_id, owner_id),
     link as (
       insert into core.mandate_links (partner_id, connection_id, owner_id, token_hash, validity_years, expires_at, used_at)
       select partner_id, id, owner_id, sha256(id::text::bytea), 1, private.now(), private.now() from connection returning partner_id, connection_id, owner_id, id),
     mandate as (
       insert into core.mandates (partner_id, connection_id, owner_id, link_id, status, valid_from, valid_until, fee_pct, partner_share_pct,
                                  signed_name, signed_at, document, document_sha256)
       select partner_id, connection_id, owner_id, id, 'signed', '2026-01-01', '2026-12-31', $3, 33.33, 'S', private.now(), 'x', 'x' from link),
     charger as (
       insert into core.chargers (partner_id, account_id, connection_id, owner_id, catalog_charger_id, brand, mid_eligible)
       select c.partner_id, c.account_id, c.id, c.owner_id, m.id, m.brand, true
         from connection c, (select * from core.charger_models where mid_meter limit 1) m)
     select id as connection_id from connection`,
    id,
    client_id,
    fee_pct,
    ean,
    payout_handler,
  );
  return connection_id as string;
}

async function addTenant(): Promise<Tenant> {
  const { id, client } = await world.addPartner();
  await world.row(
    "update core.partners set iban_ciphertext = 'x', iban_key_id = 'x', iban_last4 = '4300', iban_holder = 'P', vat_regime = 'regular', company = $2 where id = $1",
    id,
    { name: "P", vat: "NL001234567B01", street: "Kade", city: "Breda" },
  );
  await world.row("update core.partners set iban_changed_at = '2026-01-01' where id = $1", id);
  const tenant = { id, client_id: client.id };
  const fees = [20, 17.5, 33.33];
  return { ...tenant, connections: await Promise.all(fees.map((fee) => addConnection(tenant, fee))) };
}

/** Runs an ops function as an operator. A refusal is an answer like any other; anything else that goes wrong is not. */
async function ops(name: string, input: object, login: keyof typeof people = "operator_anna") {
  try {
    const { rows } = await people[login].query(`select ops.${name}($1::jsonb) as answer`, [JSON.stringify(input)]);
    return rows[0].answer;
  } catch (error) {
    const { code, message } = error as pg.DatabaseError;
    expect([name, code, message]).toEqual([name, "RULES", expect.any(String)]);
    return { refused: message };
  }
}

const index = fc.nat(100);
const twice = fc.constantFrom("once", "once", "again", "at once");
const step = fc.record({
  twice,
  act: fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        what: fc.constant("deliver" as const),
        which: index,
        month: index,
        kwh: fc.integer({ min: 0, max: 9_000_000 }),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        what: fc.constantFrom("revoke" as const, "move" as const, "withdraw mandate" as const, "correct EAN" as const),
        which: index,
      }),
    },
    { weight: 2, arbitrary: fc.record({ what: fc.constant("sign" as const), which: index }) },
    {
      weight: 4,
      arbitrary: fc.record({ what: fc.constant("book" as const), quarter: fc.constantFrom("2026-Q1", "2026-Q2") }),
    },
    { weight: 1, arbitrary: fc.record({ what: fc.constant("withdraw" as const), which: index }) },
    {
      weight: 4,
      arbitrary: fc.record({
        what: fc.constant("credit" as const),
        which: index,
        parts: fc.array(fc.constantFrom(0, 0.3, 1, null), { minLength: 4, maxLength: 4 }),
        granted: fc.option(fc.integer({ min: 1, max: 2_000 })),
      }),
    },
    { weight: 1, arbitrary: fc.record({ what: fc.constant("reverse-credit" as const), which: index }) },
    {
      weight: 4,
      arbitrary: fc.record({
        what: fc.constant("sell" as const),
        which: index,
        part: fc.double({ min: 0.001, max: 1, noNaN: true }),
        price: fc.integer({ min: 1, max: 2_000_000 }),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ what: fc.constant("reverse-sale" as const), which: index, recover: fc.boolean() }),
    },
    { weight: 3, arbitrary: fc.record({ what: fc.constant("prepare" as const), which: index }) },
    { weight: 5, arbitrary: fc.record({ what: fc.constant("go on" as const), which: index }) },
    // lines that are at the bank, or were paid long ago
    {
      weight: 3,
      arbitrary: fc.record({
        what: fc.constant("fail" as const),
        which: index,
        reason: fc.constantFrom("closed", "AM04"),
      }),
    },
    // what a file of the bank says of a batch or a line, read by two people
    {
      weight: 4,
      arbitrary: fc.record({
        what: fc.constant("bank" as const),
        which: index,
        says: fc.constantFrom("booked", "a cent more", "paid", "AC04", "AM04", "MD07", "AC04 returned", "DT01 of all"),
        day: fc.constantFrom("2026-08-13", "2026-08-14"),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        what: fc.constantFrom(
          "cancel" as const,
          "release" as const,
          "another IBAN" as const,
          "unfail" as const,
          "undo" as const,
        ),
        which: index,
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({ what: fc.constant("invoice" as const), quarter: fc.constantFrom("2026-Q1", "2026-Q2") }),
    },
  ),
});
/** Retention, which nothing else runs beside. */
const forget = fc.record({
  twice: fc.constantFrom("once", "again"),
  act: fc.record({ what: fc.constant("forget" as const) }),
});
type Act = { what: string; which?: number; [key: string]: unknown };

const pick = <T>(list: T[], which = 0): T | undefined => list[which % list.length];
let causes = 0;

/** Runs statements in one transaction of a tenant, the connection locked as whoever signs and withdraws locks it. */
async function decide(tenant: Tenant, connection: string | undefined, ...statements: string[]) {
  const client = await world.database.admin.connect();
  try {
    await client.query("begin");
    await client.query("select private.set_tenant($1)", [tenant.id]);
    await client.query("select from core.connections where partner_id = $1 and id = $2 for update", [
      tenant.id,
      connection,
    ]);
    for (const statement of statements) await client.query(statement, [connection]);
    await client.query("commit");
  } finally {
    client.release(true);
  }
}

/** Signs for a connection: for this year where nothing holds, else for the year after what is signed. */
const SIGN = [
  `insert into core.mandate_links (partner_id, connection_id, owner_id, token_hash, validity_years, expires_at)
   select partner_id, id, owner_id, sha256(gen_random_uuid()::text::bytea), 1, private.now() + interval '1 day'
     from core.connections where partner_id = private.partner_id() and id = $1`,
  `select private.record_signature(l.connection_id, l.id, private.mandate_periods(l.connection_id, 1) -> 0, '{"signed_name": "S", "document": "x", "document_sha256": "x"}')
     from core.mandate_links l where l.partner_id = private.partner_id() and l.connection_id = $1 and l.used_at is null`,
  "update core.connections set registration_status = 'goedgekeurd' where partner_id = private.partner_id() and id = $1",
];

/** What a step comes to as things stand; it can be run twice, and at once. */
async function plan(tenant: Tenant, act: Act): Promise<() => Promise<unknown>> {
  const connection = pick(tenant.connections, act.which);
  /** One of what a query finds, by its id. */
  const one = async (statement: string) => pick(await rows(statement, tenant.id), act.which)?.id;
  const bookingWhere = (condition: string) =>
    one(`select b.id from core.bookings b where b.partner_id = $1 and ${condition} order by b.quarter, b.number`);
  causes += 1;
  const cause = causes;
  const caller = {
    ...{ kind: "cpo", host: "sandbox", request_id: "test" },
    ...{ partner_id: tenant.id, client_id: tenant.client_id },
  };
  switch (act.what) {
    case "deliver": {
      const { account_id } = await world.row("select account_id from core.connections where id = $1", connection);
      const input = {
        account_id,
        connection_id: connection,
        source: "test",
        periods: `{${pick(MONTHS, act.month as number)}-01}`,
        ...{ total_kwh: `{${(act.kwh as number) / 1000}}`, session_count: "{1}" },
        body: "x",
        body_sha256: "x",
      };
      // refused where the connection is archived at the same moment
      return () =>
        world.environment.db
          .call("ingest_months", caller, input)
          .catch(({ code }) => expect(code).toBe("no_connection"));
    }
    case "revoke":
      return () => ops("mandate_revoke", { connection });
    case "withdraw mandate":
      return () => decide(tenant, connection, "select private.end_mandate($1, 'revoked', 'customer')");
    case "sign":
      return () => decide(tenant, connection, ...SIGN);
    case "correct EAN": {
      const ean_code = `9${String(cause).padStart(17, "0")}`;
      const points = [{ ean_code, street: "Dorpsstraat", city: "Amersfoort" }];
      const input = {
        criteria: { connection_id: connection },
        connection: { ean_code },
        acknowledge_mandate_lapses: true,
        ean_register: { source: "external", outcome: "found", points },
      };
      return () =>
        world.environment.db
          .call("update_connection", caller, input)
          .catch(({ code }) => expect(code).toBe("connection_not_found"));
    }
    case "move": {
      const { ean_code } = await world.row("select ean_code from core.connections where id = $1", connection);
      await ops("connection_archive", { connection });
      tenant.connections[tenant.connections.indexOf(String(connection))] = await addConnection(tenant, 25, ean_code);
      return async () => undefined;
    }
    case "book":
      return async () => {
        const { bookings } = await ops("booking_open", { quarter: act.quarter, partner: tenant.id });
        // none where no month waits
        for (const { booking_id } of bookings) await ops("booking_submit", { booking: booking_id });
      };
    case "withdraw": {
      const booking = await bookingWhere("true");
      return () => ops("booking_withdraw", { booking });
    }
    case "credit": {
      const booking = await bookingWhere("b.status = 'submitted'");
      const waiting = await rows(
        "select id, kwh from core.booking_rows where booking_id = $1 and status = 'submitted' order by id",
        booking,
      );
      const lines = waiting.flatMap(({ id, kwh }, n) => {
        const part = pick(act.parts as (number | null)[], n);
        if (part === null || part === undefined) return [];
        const accepted_kwh = (Math.floor(Number(kwh) * part * 1000) / 1000).toFixed(3);
        return [{ row_id: id, accepted_kwh, reason: "said so" }];
      });
      const granted = act.granted === null ? {} : { granted: String(act.granted) };
      return () => ops("booking_credit", { booking, rows: lines, ...granted });
    }
    case "reverse-credit": {
      const row = await one(
        "select row_id as id from core.credits where partner_id = $1 and reversed_at is null order by row_id",
      );
      return () => ops("booking_reverse_credit", { row, reason: "wrong" });
    }
    case "sell": {
      const booking = await bookingWhere("private.sellable_ere(b) > 0");
      const { sellable } = (await world.row(
        "select private.sellable_ere(b)::float as sellable from core.bookings b where id = $1",
        booking,
      )) ?? { sellable: 0 };
      const ere = (sellable * (act.part as number)).toFixed(6);
      const price = ((act.price as number) / 1e6).toFixed(6);
      return () => ops("sale_record", { booking, ere, price, buyer: "B", reference: `S-${cause}` });
    }
    case "reverse-sale": {
      const sale = await one("select id from core.sales where partner_id = $1 order by arrival");
      return () => ops("sale_reverse", { sale, reason: "back", recover: act.recover });
    }
    case "prepare": {
      // a ciphertext stands for the IBAN in it
      const due = await rows(
        `select partner_id, account_id, iban_ciphertext as ciphertext, failed,
                case when failed @> jsonb_build_array(jsonb_build_object('ciphertext', iban_ciphertext)) then 'iban_failed' end as problem
           from private.payees(0) where partner_id = $1 and reason is null order by account_id`,
        tenant.id,
      );
      // all of them, or some
      const judged = due.filter((_, place) => ((act.which ?? 0) >> place) % 2 === 0);
      return () => ops("payout_prepare", { minimum: "0", judged });
    }
    case "go on": {
      const batch = await one(
        "select b.id from core.payout_batches b where exists (select from core.payout_lines l where l.partner_id = $1 and l.batch_id = b.id) and b.status in ('prepared', 'approved', 'exported') order by b.id",
      );
      const { status } = (await world.row("select status from core.payout_batches where id = $1", batch)) ?? {};
      if (status === "prepared") return () => ops("payout_approve", { batch }, "operator_bram");
      const file = { ciphertext: "x", key_id: "x" };
      if (status === "approved") return () => ops("payout_keep_file", { batch, file, sha256: "x" });
      return () => ops("payout_settle", { batch });
    }
    case "fail": {
      const line = await one(
        "select l.id from core.payout_lines l join core.payout_batches b on b.id = l.batch_id where l.partner_id = $1 and b.status in ('exported', 'settled') order by l.arrival",
      );
      return () => ops("payout_settle", { failed: [line ?? ""], reason: act.reason });
    }
    case "undo": {
      const batch = await one(
        "select b.id from core.payout_batches b where exists (select from core.payout_lines l where l.partner_id = $1 and l.batch_id = b.id) order by b.id",
      );
      return async () => {
        await ops("payout_reject", { batch, reason: "TM01" });
        await ops("payout_reject", { batch, reason: "x", undo: true }, "operator_bram");
      };
    }
    case "unfail": {
      const line = await one(
        "select id from core.payout_lines where partner_id = $1 and status = 'failed' order by arrival",
      );
      return () => ops("payout_settle", { booked: [line ?? ""] });
    }
    case "bank": {
      const line = await one(
        "select l.id from core.payout_lines l join core.payout_batches b on b.id = l.batch_id where l.partner_id = $1 and b.exported_at is not null order by l.arrival",
      );
      const { batch_id, sum, amount } = (await world.row(
        `select batch_id, (select sum(o.amount) from core.payout_lines o where o.batch_id = l.batch_id and o.status in ('pending', 'paid')) as sum, amount
           from core.payout_lines l where id = $1`,
        line,
      )) ?? { batch_id: cause, sum: 1, amount: 1 };
      const says = String(act.says);
      const batch = String(batch_id).replaceAll("-", "");
      const said =
        says === "booked" || says === "a cent more"
          ? { what: "booked", batch, amount: Number(sum ?? 0) + (says === "booked" ? 0 : 0.01), day: act.day }
          : says === "DT01 of all"
            ? { what: "rejected", batch, reasons: [says] }
            : {
                ...{ what: says === "paid" ? "paid" : "back", line: String(line).replaceAll("-", ""), amount },
                ...{ reasons: [says], returned: says === "AC04 returned", day: act.day },
              };
      return async () => {
        for (const login of ["operator_anna", "operator_bram"] as const)
          await ops("payout_answer", { said: [said] }, login);
      };
    }
    case "another IBAN": {
      const payee = await one("select payee_id as id from core.payout_lines where partner_id = $1 order by arrival");
      return async () => {
        for (const table of ["accounts", "partners"])
          await world.row(
            `update core.${table} set iban_ciphertext = $2, iban_changed_at = '2026-01-01' where id = $1`,
            payee,
            `x${cause % 3}`,
          );
      };
    }
    case "invoice":
      return () => ops("invoice_issue", { quarter: act.quarter, partner: tenant.id });
    case "forget":
      // as if it were 2033
      return async () => {
        const owed = await owedTo(tenant);
        for (const kind of ["bookings", "payouts", "invoices"])
          await world.row(`select private.hold_books(), private.forget_${kind}('2027-01-01', 1000000000)`);
        expect(await owedTo(tenant)).toEqual(owed);
      };
    case "cancel": {
      const batch = await one(
        "select b.id from core.payout_batches b join core.payout_lines l on l.batch_id = b.id where l.partner_id = $1 order by l.arrival",
      );
      return () => ops("payout_cancel", { batch, reason: "x" });
    }
    default: {
      const payee = await one("select payee_id as id from core.payout_lines where partner_id = $1 order by arrival");
      return () => ops("payout_release", { payee, reason: "x" });
    }
  }
}

/** How far what was sold is on its way to the bank when a sequence begins: not sold, in the balances, prepared, approved, exported, paid. */
const stage = fc.nat(5);

/** Three customers with months of the first quarter, booked and credited; their ERE sold, and as far as a stage says. */
async function begin(upTo = 0): Promise<Tenant> {
  const tenant = await addTenant();
  for (const n of [0, 1, 2, 3])
    await (await plan(tenant, { what: "deliver", which: n, month: n, kwh: 123_456 * (n + 1) }))();
  await (await plan(tenant, { what: "book", quarter: "2026-Q1" }))();
  await (await plan(tenant, { what: "credit", parts: [1], granted: null }))();
  const steps: Act[] = [
    { what: "sell", part: 1, price: 500_000 },
    { what: "prepare" },
    ...Array(3).fill({ what: "go on" }),
  ];
  for (const act of steps.slice(0, upTo)) await (await plan(tenant, act))();
  return tenant;
}

/** What is owed to each payee. */
const owedTo = (tenant: Tenant) =>
  rows(
    "select kind, owner, balance from core.ledger_balances where partner_id = $1 and kind in ('customer', 'partner', 'vat', 'service') and balance <> 0 order by 1, 2",
    tenant.id,
  );

/** What does not hold; nothing, ever. */
async function broken(tenant: Tenant): Promise<unknown[]> {
  const checks = await rows(
    "select what, expected, found, example from private.check_ledger($1) where wrong > 0 or expected <> found",
    tenant.id,
  );
  const twiceBooked = await rows(
    `select ean_code, period from core.booking_rows r where live and ean_exclusive and ean_code in (select ean_code from core.booking_rows where partner_id = $1)
      group by 1, 2 having count(*) > 1`,
    tenant.id,
  );
  // everything that any buyer owes has somebody who got it, to the cent
  const money = await rows(
    `select sum(balance) from core.ledger_balances where partner_id = $1 and unit = 'EUR' having sum(balance) <> 0
     union all
     select s.gross from (select coalesce(sum(gross), 0) as gross, coalesce(sum(net + partner_share + (fee - partner_share)), 0) as divided
                            from core.allocations where partner_id = $1 and reversal_id is null) s where s.gross <> s.divided`,
    tenant.id,
  );
  const oversold = await rows(
    `select a.row_id from core.allocations a
       left join core.credits c on c.partner_id = a.partner_id and c.row_id = a.row_id and c.reversed_at is null
      where a.partner_id = $1 and a.reversal_id is null group by a.row_id, c.ere having sum(a.ere) > coalesce(c.ere, 0)`,
    tenant.id,
  );
  // statements come to what was paid, and name each sale on the one payment that stands; what is on none is what is owed
  const statements = await rows(
    `select d.id, c.content from core.documents d
      cross join lateral (select private.statement_content(d) as content) c
      cross join lateral (select coalesce(sum((r ->> 'net')::numeric), 0) as net from json_array_elements(c.content -> 'rows') r) r
      where d.partner_id = $1 and num_nonnulls(d.line_id, d.part_id) = 1
        and (c.content ->> 'amount')::numeric <> r.net + (c.content ->> 'other')::numeric
     union all
     select e.allocation_id, json_agg(e.part_id)
       from core.payout_entries e
       join core.payout_parts p on p.partner_id = e.partner_id and p.id = e.part_id
       join core.payout_lines l on l.partner_id = p.partner_id and l.id = p.line_id and l.status in ('pending', 'paid')
      where e.partner_id = $1 and e.sold group by e.allocation_id, p.kind having count(*) > 1`,
    tenant.id,
  );
  const unpaid = tenant.forgot
    ? []
    : await rows(
        `select b.kind, b.owner, b.balance, e.due from core.ledger_balances b
          cross join lateral (select coalesce(sum(e.due - e.paid), 0) as due from private.earned_of(b.partner_id, b.kind, b.owner) e) e
          where b.partner_id = $1 and b.kind in ('customer', 'partner') and b.balance <> e.due`,
        tenant.id,
      );
  return [...checks, ...twiceBooked, ...money, ...oversold, ...statements, ...unpaid];
}

/** What is past: entries, parts of sales, credits, payments, and rows as they were submitted. */
const past = async (tenant: Tenant) =>
  new Map<string, string>(
    (
      await rows(
        `select 'entry ' || id as key, to_jsonb(e)::text as value from core.ledger_entries e where partner_id = $1
         union all select 'allocation ' || id, (to_jsonb(a) - 'reversal_id')::text from core.allocations a where partner_id = $1
         union all select 'credit ' || id, (to_jsonb(c) - 'reversed_at' - 'reversed_reason')::text from core.credits c where partner_id = $1
         union all select 'row ' || id, (to_jsonb(r) - 'status' - 'live')::text from core.booking_rows r where partner_id = $1
         union all select 'line ' || id, (to_jsonb(l) - '{status,paid_at,failed_at,failed_reason,failed_effect,failed_by,return_asked_by,return_asked_reason,returned,booked_on,booked_again,surplus_on,unfailed_at,released_at,released_reason}'::text[])::text from core.payout_lines l where partner_id = $1
         union all select 'part ' || id, to_jsonb(p)::text from core.payout_parts p where partner_id = $1
         union all select 'paid by ' || part_id || ' ' || allocation_id, to_jsonb(e)::text from core.payout_entries e where partner_id = $1
         union all select 'invoice ' || id, to_jsonb(i)::text from core.invoices i where partner_id = $1
         union all select 'statement ' || id, private.statement_content(d)::text from core.documents d where partner_id = $1 and num_nonnulls(line_id, part_id) = 1
         union all select 'export ' || id, md5(private.export_csv(b)) from core.bookings b where partner_id = $1 and submitted_at is not null`,
        tenant.id,
      )
    ).map(({ key, value }) => [key, value]),
  );

/** Takes everything back, the last first. */
async function unwind(tenant: Tenant): Promise<void> {
  for (const { id } of await rows("select id from core.sales where partner_id = $1", tenant.id))
    await ops("sale_reverse", { sale: id, reason: "all", recover: true });
  for (const { row_id } of await rows(
    "select row_id from core.credits where partner_id = $1 and reversed_at is null",
    tenant.id,
  ))
    await ops("booking_reverse_credit", { row: row_id, reason: "all" });
  for (const { id } of await rows("select id from core.bookings where partner_id = $1", tenant.id))
    await ops("booking_withdraw", { booking: id });
  for (const quarter of ["2026-Q1", "2026-Q2"]) await ops("invoice_issue", { quarter, partner: tenant.id });
}

/** What must stay as it is for as long as the law says: overviews, invoices and statements of these years. */
const whole = (tenant: Tenant, since: number) =>
  rows(
    `select 'overview ' || a.id || y as key, private.yearly_overview(a, y)::text as value
       from core.accounts a cross join generate_series($2::int, 2028) y where a.partner_id = $1
     union all select 'invoice ' || id, to_jsonb(i)::text from core.invoices i where partner_id = $1 and year >= $2
     union all select 'statement ' || d.id, private.statement_content(d)::text from core.documents d
       left join core.payout_parts p on p.partner_id = d.partner_id and p.id = d.part_id
       join core.payout_lines l on l.partner_id = d.partner_id and l.id in (d.line_id, p.line_id)
      where d.partner_id = $1 and extract(year from l.paid_at) >= $2
     order by 1`,
    tenant.id,
    since,
  );

test("contract §3 year by year retention deletes all but what is owed; what is kept stays whole, wherever it is interrupted", async () => {
  const years = ["2026-08-15", "2027-02-10", "2028-03-10"];
  await fc.assert(
    fc.asyncProperty(
      stage,
      fc.array(fc.tuple(step, fc.nat(3)), { minLength: 8, maxLength: 16 }),
      fc.integer({ min: 1, max: 40 }),
      async (upTo, sequence, size) => {
        await world.freeze(`${years[0]}T12:00:00Z`);
        const tenant = await begin(upTo);
        let year = 0;
        for (const [{ act }, later] of sequence) {
          if (later === 3 && year < 2) year += 1;
          await world.freeze(`${years[year]}T12:00:00Z`);
          await (await plan(tenant, act as Act))();
          expect(await broken(tenant), JSON.stringify(act)).toEqual([]);
        }
        // the bank has answered of every batch
        for (const { id, status } of await rows(
          "select distinct b.id, b.status from core.payout_batches b join core.payout_lines l on l.batch_id = b.id where l.partner_id = $1",
          tenant.id,
        )) {
          // what one person said and nobody repeated
          await ops("payout_reject", { batch: id, reason: "x", undo: true });
          await (status === "exported"
            ? ops("payout_settle", { batch: id })
            : ops("payout_cancel", { batch: id, reason: "x" }));
        }
        const owed = await owedTo(tenant);
        tenant.forgot = true;
        for (let now = 2033; now <= 2036; now += 1) {
          await world.freeze(`${now}-01-01T12:00:00Z`);
          const kept = await whole(tenant, now - 6);
          for (const kind of ["bookings", "payouts", "invoices", "ledger"]) {
            for (let deleted = 1; deleted > 0; ) {
              while ((await world.row("select private.chain_audit(1000) as answer")).answer.more);
              deleted = (await ops("retention_step", { kind, size })).rows;
              expect(await broken(tenant), `${kind} ${now}`).toEqual([]);
              expect(await owedTo(tenant)).toEqual(owed);
            }
          }
          expect(await whole(tenant, now - 6)).toEqual(kept);
        }
        for (const table of ["bookings", "sales", "payout_lines", "invoices"])
          expect([table, await rows(`select id from core.${table} where partner_id = $1`, tenant.id)]).toEqual([
            table,
            [],
          ]);
      },
    ),
    { numRuns: Math.ceil(SEQUENCES / 8), seed: SEED },
  );
  await world.freeze(`${years[0]}T12:00:00Z`);
}, 3_600_000);

const anyStep = fc.oneof({ weight: 30, arbitrary: step }, { weight: 1, arbitrary: forget });

test("contract §3 whatever happens, no kWh is counted twice or lost, each cent has one owner, and what is past stays", async () => {
  await fc.assert(
    fc.asyncProperty(stage, fc.array(anyStep, { minLength: 6, maxLength: 30 }), async (upTo, sequence) => {
      const tenant = await begin(upTo);
      let before = await past(tenant);
      for (const { act, twice } of sequence) {
        const run = await plan(tenant, act as Act);
        if (twice === "at once") await Promise.all([run(), run()]);
        else await run();
        if (twice === "again") await run();
        if (act.what === "forget") tenant.forgot = true;
        expect(await broken(tenant), JSON.stringify(act)).toEqual([]);
        const after = await past(tenant);
        for (const [key, value] of act.what === "forget" ? [] : before) {
          // of a payment that came back there is no statement any more
          if (key.startsWith("statement ") && !after.has(key)) continue;
          expect([key, after.get(key)]).toEqual([key, value]);
        }
        before = after;
      }
      await unwind(tenant);
      expect(await broken(tenant)).toEqual([]);
      // with every sale and credit reversed nobody has anything, but for what was paid out, which they owe
      const left = await rows(
        `select unit, kind, sum(balance) as balance from core.ledger_balances
          where partner_id = $1 and unit in ('ERE', 'EUR') and kind not in ('register', 'difference') group by 1, 2 having sum(balance) <> 0`,
        tenant.id,
      );
      // what was sold and is forgotten stays with who had it
      const owed = [
        "customer",
        "partner",
        "vat",
        "payout",
        "bank",
        ...(tenant.forgot ? ["service", "input_vat", "closed"] : []),
      ];
      const paid = left.filter(({ kind }) => owed.includes(kind));
      expect(left.filter((each) => !paid.includes(each))).toEqual([]);
      expect(paid.reduce((total, { balance }) => total + Math.round(Number(balance) * 100), 0)).toBe(0);
    }),
    { numRuns: SEQUENCES, seed: SEED },
  );
}, 3_600_000);

test("contract §3 two different steps at once leave everything agreeing", async () => {
  await fc.assert(
    fc.asyncProperty(stage, fc.array(fc.tuple(step, step), { minLength: 3, maxLength: 12 }), async (upTo, pairs) => {
      const tenant = await begin(upTo);
      for (const pair of pairs) {
        const runs = await Promise.all(pair.map(({ act }) => plan(tenant, act as Act)));
        await Promise.all(runs.map((run) => run()));
        expect(await broken(tenant), JSON.stringify(pair.map(({ act }) => act))).toEqual([]);
      }
    }),
    { numRuns: SEQUENCES, seed: SEED },
  );
}, 3_600_000);

/** What the bank does with a batch: `fates` of its lines, unless it refuses the file; how it books them. */
const verdict = fc.record({
  refuses: fc.constantFrom(false, false, false, true),
  // in one entry, payment by payment, or with what it refused and then sends back: in two entries, in one, or apart
  books: fc.constantFrom("whole", "halves", "lines", "gross", "apart"),
  fates: fc.array(fc.constantFrom("paid", "paid", "refused", "back"), { minLength: 4, maxLength: 4 }),
  reasons: fc.tuple(fc.constantFrom("AC04", "AM04", "XX13"), fc.constantFrom("AC04", "MD07", "AM05")),
});
const PARTED = ["halves", "apart"];
type Verdict = typeof verdict extends fc.Arbitrary<infer T> ? T : never;
type Truth = { line: string; amount: string; fate: string };

/** The files in which the bank says what it did, of which some say the same. */
function filesOf(id: string, lines: Truth[], { refuses, books, reasons }: Verdict, day: number): Said[][] {
  const message = "camt.053.001.08";
  const on = (n: number) => `2026-08-${day + n}`;
  const euro = (of: Truth[]) => (of.reduce((sum, { amount }) => sum + Number(amount) * 100, 0) / 100).toFixed(2);
  const debit = (of: Truth[], named: object) =>
    of.length > 0 ? [bankEntry(message, { amount: euro(of), day: on(0), ...named })] : [];
  const refused = lines.filter(({ fate }) => fate === "refused");
  const booked = ["gross", ...PARTED].includes(books) ? lines : lines.filter(({ fate }) => fate !== "refused");
  const came_back = booked.filter(({ fate }) => fate !== "paid");
  const listed = debit(booked, { details: booked });
  const halves =
    books === "halves"
      ? [booked.slice(0, 1), booked.slice(1)]
      : books === "apart"
        ? [booked.filter(({ fate }) => fate === "paid"), came_back]
        : [booked];
  const entries = books === "lines" ? listed : halves.flatMap((half) => debit(half, { batch: id }));
  const credits = came_back.map((each) => {
    const details = [{ ...each, reason: reasons[1] }];
    return bankEntry(message, { amount: each.amount, credit: true, day: on(1), details });
  });
  const status = refused.map(({ line }) => ({ line, ...statusOf("RJCT", reasons[0]) }));
  const files = refuses
    ? [pain002("pain.002.001.10", { id, group: statusOf("RJCT", "DT01") })]
    : [
        pain002("pain.002.001.10", { id, group: statusOf("PART"), lines: status }),
        // no file lists the payments of the halves
        ...[entries, credits, ...(PARTED.includes(books) ? [] : [listed]), [...entries, ...credits]].map((each) =>
          camt(message, each),
        ),
      ];
  return files.map((xml) => readBankAnswer(new TextEncoder().encode(xml), OUR_IBAN).said);
}

test("contract §3 in whatever order the files of a bank are read, by whom and how often: the books end as it says", async () => {
  const act = fc.oneof(
    { weight: 1, arbitrary: verdict },
    {
      weight: 4,
      arbitrary: fc.record({ file: fc.nat(100), login: fc.constantFrom("operator_anna", "operator_bram") }),
    },
  );
  await fc.assert(
    fc.asyncProperty(verdict, fc.array(act, { minLength: 4, maxLength: 25 }), async (first, acts) => {
      const tenant = await begin();
      const files: Said[][] = [];
      const truth = new Map<string, string>();
      const parted: string[] = [];
      const read = async (said: Said[], login: string) =>
        (await ops("payout_answer", { said }, login as keyof typeof people)).changed as boolean;
      for (const each of [first, ...acts]) {
        if ("file" in each) {
          const said = pick(files, each.file);
          if (said) await read(said, each.login);
        } else {
          await (await plan(tenant, { what: "sell", part: 0.4, price: 500_000 }))();
          await (await plan(tenant, { what: "prepare", which: 0 }))();
          const [batch] = await rows(
            "select b.id from core.payout_batches b where b.status = 'prepared' and exists (select from core.payout_lines l where l.batch_id = b.id and l.partner_id = $1)",
            tenant.id,
          );
          if (batch) {
            await ops("payout_approve", { batch: batch.id }, "operator_bram");
            await ops("payout_keep_file", { batch: batch.id, file: { ciphertext: "x", key_id: "x" }, sha256: "x" });
            const lines = (
              await rows("select id, amount from core.payout_lines where batch_id = $1 order by arrival", batch.id)
            ).map(({ id, amount }, at) => ({
              id,
              line: id.replaceAll("-", ""),
              amount,
              fate: pick(each.fates, at) ?? "",
            }));
            if (PARTED.includes(each.books) && !each.refuses) parted.push(batch.id);
            for (const { id, fate } of lines) truth.set(id, !each.refuses && fate === "paid" ? "paid" : "failed");
            files.push(...filesOf(batch.id.replaceAll("-", ""), lines, each, 16 + ((2 * files.length) % 10)));
          }
        }
        expect(await broken(tenant), JSON.stringify(each)).toEqual([]);
      }
      // in the end both have read all of them, and somebody settles what the bank booked in parts
      const readAll = async () => {
        for (let changes = true, n = 0; changes && n < 9; n += 1) {
          changes = false;
          for (const login of Object.keys(people))
            for (const said of files) changes = (await read(said, login)) || changes;
        }
      };
      await readAll();
      for (const batch of parted) await ops("payout_settle", { batch });
      await readAll();
      const ends = await rows("select id, status from core.payout_lines where partner_id = $1 order by id", tenant.id);
      expect(ends.map(({ id, status }) => [id, status])).toEqual([...truth].sort());
      // this bank pays once
      const twice = "partner_id = $1 and (booked_again is not null or surplus_on is not null)";
      expect(await rows(`select id from core.payout_lines where ${twice}`, tenant.id)).toEqual([]);
      expect(await broken(tenant)).toEqual([]);
    }),
    { numRuns: SEQUENCES, seed: SEED },
  );
}, 3_600_000);

/** Divides a whole number by weights: what the division leaves goes to the largest remainders, of equal ones to the first ids. */
function divide(total: bigint, weights: Map<string, bigint>): Map<string, bigint> {
  const sum = [...weights.values()].reduce((a, b) => a + b, 0n);
  const parts = [...weights].map(([id, weight]) => ({
    id,
    whole: (total * weight) / sum,
    rest: (total * weight) % sum,
  }));
  const left = total - parts.reduce((given, { whole }) => given + whole, 0n);
  const order = parts.toSorted((a, b) => (a.rest === b.rest ? (a.id < b.id ? -1 : 1) : a.rest > b.rest ? -1 : 1));
  return new Map(order.map(({ id, whole }, place) => [id, whole + (BigInt(place) < left ? 1n : 0n)]));
}

test("contract §3 every sale is split as whole numbers are by largest remainder", async () => {
  const share = fc.tuple(fc.double({ min: 0.000001, max: 1, noNaN: true }), fc.integer({ min: 1, max: 3_000_000 }));
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: 1, max: 2_000_000 }), { minLength: 1, maxLength: 9 }),
      fc.array(share, { minLength: 1, maxLength: 4 }),
      async (kwh, sales) => {
        const tenant = await addTenant();
        for (const [n, each] of kwh.entries())
          await (await plan(tenant, { what: "deliver", which: n % 3, month: Math.floor(n / 3), kwh: each }))();
        await (await plan(tenant, { what: "book", quarter: "2026-Q1" }))();
        await (await plan(tenant, { what: "credit", parts: [1], granted: null }))();
        for (const [part, price] of sales) {
          const held = await rows(
            `select r.id, ((c.ere - coalesce(sum(a.ere), 0)) * 1000000)::bigint as micro
               from core.booking_rows r join core.credits c on c.row_id = r.id left join core.allocations a on a.row_id = r.id
              where r.partner_id = $1 group by r.id, c.ere having c.ere > coalesce(sum(a.ere), 0)`,
            tenant.id,
          );
          const run = await plan(tenant, { what: "sell", which: 0, part, price });
          const { sale, refused } = (await run()) as { sale?: { sale_id: string }; refused?: string };
          if (!sale) {
            expect(["invalid_ere", "worth_nothing", "booking_not_found"]).toContain(refused);
            continue;
          }
          const [{ ere, cents }] = await rows(
            "select (ere * 1000000)::bigint as ere, (gross * 100)::bigint as cents from core.sales where id = $1",
            sale.sale_id,
          );
          const quantities = divide(BigInt(ere), new Map(held.map(({ id, micro }) => [id, BigInt(micro)])));
          const given = new Map([...quantities].filter(([, micro]) => micro > 0n));
          const money = divide(BigInt(cents), given);
          const stored = await rows(
            "select row_id, (ere * 1000000)::bigint as ere, (gross * 100)::bigint as cents from core.allocations where sale_id = $1 order by row_id",
            sale.sale_id,
          );
          expect(stored).toEqual(
            [...given.keys()]
              .sort()
              .map((row_id) => ({ row_id, ere: String(given.get(row_id)), cents: String(money.get(row_id)) })),
          );
        }
      },
    ),
    { numRuns: SEQUENCES, seed: SEED },
  );
}, 3_600_000);
