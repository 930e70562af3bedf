// What retention deletes, and when; and that the ledger and the chains agree with what is left.

import { afterAll, beforeAll, expect, test } from "vitest";
import { sealIban } from "#shared/values/iban.ts";
import { createPayoutWorld, type PayoutWorld } from "../ere/payout_world.ts";
import { addChargingPerson } from "../ere/person.ts";
import { ingest, MID_CHARGER } from "../harness/chargers.ts";
import { rowCounts } from "../harness/world.ts";

let world: PayoutWorld;
beforeAll(async () => {
  world = await createPayoutWorld();
});
afterAll(() => world.close());

const BOOKS = [
  "booking_rows",
  "bookings",
  "credits",
  "sales",
  "allocations",
  "payout_lines",
  "payout_parts",
  "payout_batches",
] as const;
const KEPT = [
  ...BOOKS,
  "delivered_months",
  "deliveries",
  "mandates",
  "documents",
  "ledger_entries",
  "audit_log",
] as const;
const chain = async (of = world) => {
  while ((await of.row("select private.chain_audit(1000) as answer")).answer.more);
};
const holds = async () => {
  await chain();
  expect((await world.done("audit verify")).wrong).toEqual([]);
  await world.agrees();
};
const dryRun = async (): Promise<Record<string, number>> => {
  const { kinds } = await world.done("retention run --dry-run");
  return Object.fromEntries(kinds.map(({ kind, rows }: { kind: string; rows: number }) => [kind, rows]));
};
const run = () => world.done("retention run --yes");
/** Lets partner A have invoices. */
async function withCompany(other: PayoutWorld): Promise<void> {
  await other.done("partner set partner-a --vat-regime regular");
  await other.row("update core.partners set company = company || $1 where slug = 'partner-a'", {
    name: "Laadpunt B.V.",
    vat: "NL001234567B01",
    street: "Kade",
    house_number: "1",
    city: "Breda",
  });
}

test("contract §3 nothing of 2026 is deleted until 1 January 2033, and what was is named before it is", async () => {
  await world.sold([10, 20, 4]);
  await world.exported().then(({ batch_id }) => world.anna(`payout settle ${batch_id}`));
  await holds();
  const before = await rowCounts(world, ...KEPT);
  await world.freeze("2032-12-31T22:59:59Z");
  const nothing = await dryRun();
  expect(Object.values(nothing).every((rows) => rows === 0)).toBe(true);
  await run();
  expect(await rowCounts(world, ...KEPT)).toEqual(before);

  await world.freeze("2032-12-31T23:00:00Z");
  const due = await dryRun();
  expect(due).toMatchObject({ payouts: 2, bookings: 6, months: 0, deliveries: 3, mandates: 3 });
  expect(due.audit_log).toBeGreaterThan(0);
  expect(due.ledger).toBeGreaterThan(0);
  // the worker, which asks nobody, deletes none of it
  for (const kind of ["months", "deliveries", "ean_checks"])
    expect((await world.row("select private.sweep($1) as rows", kind)).rows).toBe(0);
  // of a partitioned table nothing would be deleted
  const apart =
    "select of_table from core.deletions join pg_class c on c.oid = ('core.' || of_table)::regclass where c.relkind <> 'r'";
  expect((await world.database.admin.query(apart)).rows).toEqual([]);
  expect(await rowCounts(world, ...KEPT)).toEqual(before);
  await holds();
});

test("contract §3 nothing is deleted while the books do not agree, or are not as they were written; nor by a step alone", async () => {
  const before = await rowCounts(world, ...KEPT);
  const one = "(select max(id) from core.ledger_entries where cause like 'allocation:%:net')";
  const steps = async (...kinds: string[]) =>
    Promise.all(
      kinds.map((kind) =>
        world.row("select ops.retention_step($1)", { kind, size: 1000 }).then(
          () => "done",
          (error: Error) => error.message,
        ),
      ),
    );
  await world.row(`update core.ledger_entries set amount = amount + 10 where id = ${one}`);
  for (const command of ["retention run --yes", "retention run --dry-run"])
    await world.refused(command, "Nothing was deleted: the books do not agree");
  expect(await steps("bookings", "ledger")).toEqual(["ledger_disagrees", "ledger_disagrees"]);
  await world.row(`update core.ledger_entries set amount = amount - 10 where id = ${one}`);

  // what ledger check does not see, the chain does
  await world.row(`update core.ledger_entries set at = at + interval '1 day' where id = ${one}`);
  await world.agrees();
  await world.refused("retention run --yes", "Nothing was deleted: some rows were changed");
  expect(await steps("ledger")).toEqual(["audit_disagrees"]);
  await world.row(`update core.ledger_entries set at = at - interval '1 day' where id = ${one}`);
  await world.row(
    "update core.audit_log set action = action || '.' where id = (select min(id) from core.audit_log where partner_id is not null)",
  );
  expect(await steps("audit_log")).toEqual(["audit_disagrees"]);
  await world.row("update core.audit_log set action = rtrim(action, '.')");
  expect(await rowCounts(world, ...KEPT)).toEqual(before);
  await holds();
});

test("contract §3 interrupted after any step, the ledger agrees and the chains hold, and the next run goes on", async () => {
  // a payment goes once the sales are gone that it paid
  for (const kind of ["bookings", "bookings", "payouts", "deliveries", "audit_log"]) {
    const { step } = await world.row("select ops.retention_step($1) as step", { kind, size: 1 });
    expect([kind, step.rows]).toEqual([kind, expect.any(Number)]);
    expect(step.rows).toBeGreaterThan(0);
    await holds();
  }
});

test("contract §3 two runs at once delete each row once; balances stay, the ledger agrees and the chains hold", async () => {
  const owed = await world.balances("customer");
  const due = await dryRun();
  const ran = await Promise.all([run(), run()]);
  const deleted = (kind: string) =>
    ran.reduce((sum, { kinds }) => sum + kinds.find((one: { kind: string }) => one.kind === kind).rows, 0);
  for (const kind of ["payouts", "bookings", "months", "deliveries", "mandates", "accounts"])
    expect([kind, deleted(kind)]).toEqual([kind, due[kind]]);
  const left = await rowCounts(world, ...BOOKS, "delivered_months", "deliveries", "mandates", "documents");
  expect(Object.entries(left).filter(([, rows]) => rows > 0)).toEqual([]);
  expect(await world.balances("customer")).toEqual(owed);
  // two customers were paid and are gone; the third is still owed 3.20
  expect((await rowCounts(world, "accounts")).accounts).toBe(1);
  expect(Object.values(owed)).toEqual([3.2]);
  await holds();
  const { rows } = await world.database.admin.query(
    "select details ->> 'kind' as kind from core.audit_log where action = 'retention.deleted' group by 1",
  );
  expect(rows.map(({ kind }) => kind)).toEqual(expect.arrayContaining(["bookings", "ledger", "audit_log", "accounts"]));
  expect(Object.values(await dryRun()).every((n) => n === 0)).toBe(true);
});

test("contract §3 what a partner's own accounts and the people it brought had in one quarter is deleted together", async () => {
  const other = await createPayoutWorld();
  try {
    const person = await addChargingPerson(other);
    await other.row("select private.reserve_customer($1, $2, 'manual')", person.id, other.partnerA.id);
    await other.row("update core.attributions set attached_month = '2026-02-01'");
    await person.charge("2026-04", 100_000);
    for (const step of ["open", "submit", "credit"]) await other.done(`booking ${step} 2026-Q2 --partner service`);
    await other.done("sale record 2026-Q2 --partner service --ere 1 --price 10 --buyer B --reference P-1");
    await other.sold([100]);
    await other.exported().then(({ batch_id }) => other.anna(`payout settle ${batch_id}`));
    await chain(other);
    await other.freeze("2033-01-01T12:00:00Z");
    const deleted = async (more: string) => {
      const { kinds } = await other.done(`retention run ${more}`);
      return kinds.find(({ kind }: { kind: string }) => kind === "bookings").rows;
    };
    // two bookings of a row each
    expect([await deleted("--dry-run"), await deleted("--yes")]).toEqual([4, 4]);
    await other.agrees();
  } finally {
    await other.close();
  }
});

test("contract §3 what is kept stays whole: a later sale of the year with its overview, an invoice with its lines, a share to invoice", async () => {
  const other = await createPayoutWorld();
  try {
    const years = (ran: { kinds: { kind: string; rows: number }[] }) =>
      Object.fromEntries(ran.kinds.map(({ kind, rows }) => [kind, rows]));
    await withCompany(other);
    const [customer] = await other.sold([100]);
    const pay = async () => {
      const { batch_id } = await other.exported();
      await other.done(`payout settle ${batch_id}`);
    };
    const issue = (quarter: string) => other.done(`invoice issue ${quarter}`);
    const overview = (year: number) => other.done(`payout overview ${customer?.account_id} ${year}`);
    const books = () => rowCounts(other, "bookings", "sales", "invoices", "payout_lines");
    await issue("2026-Q2");
    await pay();
    // months of 2026 that are sold, invoiced and paid in 2027, and one of which a share is sold in 2032
    await other.freeze("2027-02-01T12:00:00Z");
    await other.sell(customer as never, 200, "2026-10");
    await issue("2026-Q4");
    await pay();
    await other.freeze("2032-06-01T12:00:00Z");
    await other.done("sale record 2026-Q4 --partner partner-a --ere 1 --price 40 --buyer B --reference late");
    const [first, second] = [await overview(2027), await overview(2032)];
    const invoice = await other.done("invoice show partner-a 2027-0001");
    const owed = [await other.balances("customer"), await other.balances("partner"), await other.balances("vat")];
    await other.freeze("2033-01-01T12:00:00Z");
    for (let more = true; more; ) {
      const { step } = await other.row('select ops.retention_step(\'{"kind": "bookings", "size": 1}\') as step');
      await chain(other);
      expect((await other.done("audit verify")).wrong).toEqual([]);
      await other.agrees();
      more = step.rows > 0;
    }
    // before the invoice is deleted, and after: its share is not invoiced again
    expect((await issue("2026-Q2")).invoices).toEqual([]);
    expect(years(await other.done("retention run --yes"))).toMatchObject({ invoices: 1, payouts: 1 });
    expect(await books()).toEqual({ bookings: 1, sales: 2, invoices: 1, payout_lines: 1 });
    expect([await overview(2027), await overview(2032)]).toEqual([first, second]);
    expect(await other.done("invoice show partner-a 2027-0001")).toEqual(invoice);
    expect(invoice.months).toMatchObject([{ period: "2026-10", share_eur: 10 }]);
    expect([await other.balances("customer"), await other.balances("partner"), await other.balances("vat")]).toEqual(
      owed,
    );
    expect(await issue("2026-Q2")).toMatchObject({ changed: false });
    expect((await issue("2026-Q4")).invoices).toMatchObject([{ number: "2033-0001", net_eur: 2 }]);
    await other.agrees();
    for (const year of [2034, 2035, 2036, 2037, 2038, 2039, 2040]) {
      await other.freeze(`${year}-01-01T12:00:00Z`);
      await chain(other);
      await other.done("retention run --yes");
      await chain(other);
      expect((await other.done("audit verify")).wrong).toEqual([]);
      await other.agrees();
    }
    expect(await books()).toEqual({ bookings: 0, sales: 0, invoices: 0, payout_lines: 0 });
    // what was never paid is still owed
    expect(await other.balances("customer")).toEqual(owed[0]);
  } finally {
    await other.close();
  }
});

test("contract §3 an invoice keeps both its credit notes, and a quarter that is kept is not told again", async () => {
  const other = await createPayoutWorld();
  try {
    await withCompany(other);
    const { id } = other.partnerA;
    const iban = sealIban(other.environment, id, "NL20INGB0001234567");
    await other.row(
      `update core.partners set iban_ciphertext = $2, iban_key_id = $3, iban_last4 = $4, iban_holder = 'Partner A',
              iban_changed_at = '2026-01-01' where id = $1`,
      id,
      iban.ciphertext,
      iban.key_id,
      iban.last4,
    );
    const [customer] = await other.sold([22.4, 22.4]);
    await other.done("invoice issue 2026-Q2");
    for (const [sale, year] of [
      ["V-1", 2027],
      ["V-2", 2028],
    ]) {
      await other.freeze(`${year}-02-01T12:00:00Z`);
      await other.done(["sale", "reverse", String(sale), "--reason", "the buyer withdrew", "--yes"]);
      await other.done("invoice issue 2026-Q2");
    }
    const vat = async () =>
      (await other.row("select array_agg(vat::float order by year) as vat from core.invoices")).vat;
    expect(await vat()).toEqual([0.47, -0.24, -0.23]);
    await other.sell(customer as never, 200, "2026-11");
    const { batch_id } = await other.exported();
    await other.done(`payout settle ${batch_id}`);
    const told = async () => {
      await other.row("select private.announce_payouts(array[$1::uuid])", id);
      return (
        await other.row(
          "select count(*)::int as n from core.events where type = 'payout.paid' and subject_id = private.payout_id($1, '2026-10-01')",
          id,
        )
      ).n;
    };
    expect(await told()).toBe(1);
    const left: unknown[] = [];
    for (const year of [2034, 2035, 2036]) {
      await other.freeze(`${year}-01-01T12:00:00Z`);
      await chain(other);
      await other.done("retention run --yes");
      await other.agrees();
      left.push([await vat(), await told()]);
    }
    expect(left).toEqual([
      [[0.47, -0.24, -0.23], 1],
      [null, 1],
      [null, 1],
    ]);
    expect((await rowCounts(other, "announced_payouts")).announced_payouts).toBe(0);
  } finally {
    await other.close();
  }
});

test("contract §3 what a booking rests on is kept with it; what a customer owes goes with the customer, and the books agree", async () => {
  const other = await createPayoutWorld();
  try {
    const person = await addChargingPerson(other);
    await other.row("update core.chargers set created_at = '2026-01-01Z' where account_id = $1", person.account_id);
    await person.charge("2026-04", 100_000);
    for (const step of ["open", "submit", "credit"]) await other.done(`booking ${step} 2026-Q2 --partner service`);
    const [debtor] = await other.sold([100, 60]);
    const { batch_id } = await other.exported();
    // sold in 2026, paid in 2027
    await other.freeze("2027-01-15T12:00:00Z");
    await other.done(`payout settle ${batch_id}`);
    await other.done(["sale", "reverse", "V-1", "--reason", "the buyer withdrew", "--recover", "--yes"]);
    const statements = async () =>
      (
        await other.row(
          "select json_agg(private.statement_content(d) order by d.id) as said from core.documents d where d.line_id is not null",
        )
      ).said;
    const said = await statements();
    expect(said.map(({ rows }: { rows: unknown[] }) => rows.length)).toEqual([1, 1]);
    const owes = { [String(debtor?.account_id)]: -80 };
    expect(await other.balances("customer")).toEqual(owes);
    await other.freeze("2032-06-01T12:00:00Z");
    await other.done("sale record 2026-Q2 --partner service --ere 1 --price 10 --buyer B --reference late");
    await chain(other);
    const kept = async (at: string) => {
      await other.freeze(at);
      await chain(other);
      await other.done("retention run --yes");
      await other.agrees();
      const { charging_sessions, accounts } = await rowCounts(other, "charging_sessions", "accounts");
      return [charging_sessions, accounts, await other.balances("customer")];
    };
    const [sessions] = await kept("2032-12-31T12:00:00Z");
    expect(sessions).toBeGreaterThan(0);
    const owed = { [String(person.account_id)]: expect.any(Number) };
    expect(await kept("2033-01-01T12:00:00Z")).toEqual([sessions, 3, { ...owes, ...owed }]);
    expect(await statements(), "of payments that are kept").toEqual(said);
    expect(await kept("2034-01-01T12:00:00Z")).toEqual([sessions, 1, owed]);
    expect(await statements()).toBeNull();
    expect(await kept("2039-01-01T12:00:00Z")).toEqual([0, 1, owed]);
  } finally {
    await other.close();
  }
});

test("contract §3 a tenant whose only document is one invoice agrees after it is gone", async () => {
  const other = await createPayoutWorld();
  try {
    await withCompany(other);
    const person = await addChargingPerson(other);
    await other.row("select private.reserve_customer($1, $2, 'manual')", person.id, other.partnerA.id);
    await other.row("update core.attributions set attached_month = '2026-02-01'");
    await person.charge("2026-04", 100_000);
    for (const step of ["open", "submit", "credit"]) await other.done(`booking ${step} 2026-Q2 --partner service`);
    await other.done("sale record 2026-Q2 --partner service --ere 10 --price 10 --buyer B --reference P-1");
    expect((await other.done("invoice issue 2026-Q2")).invoices).toHaveLength(1);
    const owed = [await other.balances("partner"), await other.balances("vat")];
    expect(Object.values(owed[1] ?? {})).toEqual([expect.any(Number)]);
    await other.freeze("2033-01-01T12:00:00Z");
    await chain(other);
    await other.done("retention run --yes");
    expect((await rowCounts(other, "invoices")).invoices).toBe(0);
    expect(await other.balances("input_vat")).toEqual({});
    expect([await other.balances("partner"), await other.balances("vat")]).toEqual(owed);
    await chain(other);
    expect((await other.done("audit verify")).wrong).toEqual([]);
    await other.agrees();
  } finally {
    await other.close();
  }
});

test("contract §3 a person's sessions go by their month, and a later year stays with everything under it", async () => {
  await world.freeze("2032-06-01T12:00:00Z");
  const person = await addChargingPerson(world);
  await world.row("update core.chargers set created_at = '2026-01-01Z' where account_id = $1", person.account_id);
  await person.charge("2026-04", 40_000);
  await person.charge("2027-04", 40_000);
  await holds();
  await world.freeze("2033-01-01T12:00:00Z");
  expect(await dryRun()).toMatchObject({ sessions: expect.any(Number), accounts: 0 });
  await run();
  const { months } = await world.row(
    `select array_agg(distinct to_char(month, 'YYYY-MM')) as months from core.charging_sessions where charger_id in (select id from core.chargers where account_id = $1)`,
    person.account_id,
  );
  expect(months).toEqual(["2027-04"]);
  const left = await world.row(
    `select (select array_agg(to_char(period, 'YYYY-MM')) from core.delivered_months where connection_id = $1) as delivered,
            (select array_agg(to_char(month, 'YYYY-MM')) from core.charger_months m join core.chargers h on h.id = m.charger_id where h.connection_id = $1) as totals`,
    person.connection_id,
  );
  expect(left).toEqual({ delivered: ["2027-04"], totals: ["2027-04"] });
  await holds();
});

test("contract §4 a draft that was claimed and never signed is deleted after 180 days, by the worker, with what waits to be mailed", async () => {
  const draft = async (claimed_at: string) => {
    const { id } = await world.row(
      `insert into core.drafts (partner_id, batch_id, source, type, email, ean_status, send_invite, status, claimed_at, expires_at)
       values ($1, gen_random_uuid(), 'api', 'particulier', gen_random_uuid() || '@example.nl', 'no_address', false, 'claimed', $2, '2040-01-01') returning id`,
      world.partnerA.id,
      claimed_at,
    );
    await world.row(
      `insert into core.mail_outbox (partner_id, cause, template, locale, recipient, content, status)
       values ($1, $2, 'test', 'nl', 'a@example.nl', '{}', 'queued')`,
      world.partnerA.id,
      `claim_reminder:${id}:1`,
    );
    return id;
  };
  await world.freeze("2033-07-01T12:00:00Z");
  const [old, young] = [await draft("2033-01-02T12:00:00Z"), await draft("2033-01-02T12:00:01Z")];
  expect((await world.row("select purged::int from private.expire_drafts()")).purged).toBe(1);
  const left = async (id: string) => [
    (await world.row("select count(*)::int as n from core.drafts where id = $1", id)).n,
    (await world.row("select count(*)::int as n from core.mail_outbox where cause like '%' || $1 || '%'", id)).n,
  ];
  expect([await left(old), await left(young)]).toEqual([
    [0, 0],
    [1, 1],
  ]);
});

test("contract §3 after a deletion somebody who deletes more is found out", async () => {
  await chain();
  await world.row(
    "delete from core.audit_log where id = (select row_id from core.audit_links where log = 'audit' order by position offset 1 limit 1)",
  );
  const { code, json } = await world.run("audit verify");
  expect([code, json.wrong[0].fault]).toEqual([1, "deleted"]);
});

test("contract §3 the files and the CDRs of what is kept are kept with it", async () => {
  const other = await createPayoutWorld();
  try {
    const { id: partner, client } = other.partnerA;
    await other.freeze("2027-02-15T12:00:00Z");
    const customer = await other.customer({ "2027-01": 10 });
    const charger = { account_id: customer.account_id, ...MID_CHARGER, serial_number: "1" };
    const { charger_id } = (await other.post("/v1/chargers", charger, await client.token())).body;
    const times = { started_at: "2027-02-10T10:00:00Z", ended_at: "2027-02-10T12:00:00Z" };
    await ingest(other, { charger_id, source: "ocpi", external_id: "NL-TNM:TAKEN", ...times, wh: 5000 });
    // they came in the year before; of each kind one brought nothing
    for (const file of ["months", "sessions", "nothing"])
      await other.row(
        `insert into core.uploads (partner_id, owner_id, id, sha256, said, kind, file_name, rows, columns, read, counts, results, created_at)
         values ($1, $2, md5($3)::uuid, '', '{}', 'months', $3, 1, '[]', '{}', '{}', '[]', '2026-12-31')`,
        ...[partner, client.id, file],
      );
    await other.row("update core.deliveries set upload_id = md5('months')::uuid");
    await other.row(
      `insert into core.charging_evidence (partner_id, charger_id, session_id, owner_id, source, external_id, upload_id, document_sha256, received_at)
       select partner_id, charger_id, id, owner_id, source, external_id, md5('sessions')::uuid, '', private.now() from core.charging_sessions`,
    );
    await other.row(
      "insert into core.ocpi_connections (partner_id, owner_id, status) values ($1, $2, 'disabled')",
      ...[partner, client.id],
    );
    for (const [cdr, status, credit_of] of [
      ["TAKEN", "credited", null],
      ["CREDIT", "credit", "TAKEN"],
      ["EMPTY", "nothing", null],
    ])
      await other.row(
        `insert into core.ocpi_cdrs (partner_id, owner_id, party, cdr_id, kept_sha256, status, credit_of, document_sha256, received_at)
         values ($1, $2, 'NL-TNM', $3, '', $4, $5, '', '2026-12-31')`,
        ...[partner, client.id, cdr, status, credit_of],
      );
    const kept = async (at: string) => {
      await other.freeze(at);
      await chain(other);
      await other.done("retention run --yes");
      return other.row(
        `select (select array_agg(file_name order by file_name) from core.uploads) as files,
                (select array_agg(cdr_id order by cdr_id) from core.ocpi_cdrs) as cdrs`,
      );
    };
    expect(await kept("2033-01-01T12:00:00Z")).toEqual({ files: ["months", "sessions"], cdrs: ["CREDIT", "TAKEN"] });
    expect(await kept("2034-01-01T12:00:00Z")).toEqual({ files: null, cdrs: null });
  } finally {
    await other.close();
  }
});
