// Errors that nobody can make by the commands, planted: `ledger check` finds each kind and names the first.

import { afterAll, beforeAll, expect, test } from "vitest";
import { createPayoutWorld, type PayoutWorld } from "./payout_world.ts";

let world: PayoutWorld;
beforeAll(async () => {
  world = await createPayoutWorld();
  // of two customers: 10 kWh each, all of it credited, 1 ERE sold for 20 and 30 euro, and what is theirs on its way to the bank
  await world.sold([20, 30]);
  await world.exported();
  await world.agrees();
});
afterAll(() => world.close());

const UUID = "[0-9a-f-]{36}";
/** Keys of other tables are not looked at, which takes a superuser. */
const PAST_KEYS = "and set_config('session_replication_role', 'replica', true) <> ''";

test.each<[string, string, string, RegExp]>([
  [
    "an account that is gone",
    `delete from core.ledger_accounts where kind = 'buyer' ${PAST_KEYS}`,
    "EUR sums to zero",
    /^EUR$/,
  ],
  [
    "an entry that is gone",
    "delete from core.ledger_entries where cause like 'row:%'",
    "kWh in the ledger are those booked",
    /^booking UUID$/,
  ],
  [
    "a month that is open again",
    "update core.delivered_months set status = 'staged'",
    "kWh booked and left out are those delivered",
    /^UUID 2026-04$/,
  ],
  [
    "a month of other kWh",
    "update core.delivered_months set total_kwh = total_kwh + 1",
    "kWh booked and left out are those delivered",
    /^UUID 2026-04$/,
  ],
  [
    "a month of other accepted kWh",
    "update core.delivered_months set accepted_kwh = accepted_kwh + 1",
    "kWh booked and left out are those delivered",
    /^UUID 2026-04$/,
  ],
  [
    "a month that is gone",
    "delete from core.delivered_months",
    "kWh booked and left out are those delivered",
    /^UUID 2026-04$/,
  ],
  [
    "a row that is gone from its booking",
    "update core.booking_rows set status = 'withdrawn'",
    "kWh booked and left out are those delivered",
    /^UUID 2026-04$/,
  ],
  [
    "a credit of another factor",
    "update core.credits set ere = ere + 0.000001",
    "ERE credited are kWh by the factor",
    /^row UUID$/,
  ],
  [
    "ERE that nobody credited",
    "update core.ledger_entries set amount = amount + 1 where cause like 'credit:%:ere'",
    "ERE in the ledger are those credited",
    /^booking UUID$/,
  ],
  [
    "ERE that are sold in one place only",
    "update core.allocations set ere = ere + 1",
    "ERE sold are those allocated",
    /^booking UUID$/,
  ],
  [
    "more sold than granted",
    "update core.bookings set granted_ere = 0.5",
    "ERE from the register are those granted",
    /^booking UUID$/,
  ],
  [
    "a part of a sale that grew",
    "update core.allocations set gross = gross + 1, partner_share = trunc(trunc((gross + 1) * 0.2, 2) * 0.25, 2)",
    "parts of sales add up to them",
    /^sale V-\d$/,
  ],
  [
    "money that went elsewhere",
    "update core.ledger_entries set amount = amount - 0.01 where cause like 'allocation:%:net'",
    "customers, partners and the service got what was sold",
    /^row UUID$/,
  ],
  [
    "money that nobody earned",
    `select private.post(p.id, array[row('gift', 'EUR', 10, 'service', private.people_tenant(), 'customer', a.id)::private.posting])
       from core.partners p join core.accounts a on a.partner_id = p.id where p.slug = 'partner-a' limit 1`,
    "what is owed was earned, and not paid yet",
    /^owner UUID$/,
  ],
  [
    "money that somebody else earned",
    `update core.ledger_entries e set credit = (select a.id from core.ledger_accounts a where a.kind = 'customer' and a.id <> e.credit limit 1)
      where e.id = (select max(id) from core.ledger_entries where cause like 'allocation:%:net')`,
    "what is owed was earned, and not paid yet",
    /^owner UUID$/,
  ],
  [
    "an entry that no part of a sale has",
    "delete from core.ledger_entries where cause like 'allocation:%:share'",
    "customers, partners and the service got what was sold",
    /^row UUID$/,
  ],
  [
    "a buyer who owes less",
    "delete from core.ledger_entries where cause like 'allocation:%:fee'",
    "buyers owe what was sold",
    /^sale V-\d$/,
  ],
  [
    "a sum of a booking that grew",
    "update core.account_bookings set gross = gross + 0.01",
    "sums of bookings are those of their rows",
    /^booking UUID$/,
  ],
  [
    "a year that kept more than its bookings",
    "update core.account_years set gross = gross + 1",
    "sums of years are those of their bookings",
    /^account UUID 2026$/,
  ],
  [
    "a year that nobody added up",
    "delete from core.account_years",
    "sums of years are those of their bookings",
    /^account UUID 2026$/,
  ],
  [
    "a price that nobody paid",
    "insert into core.figures (partner_id, delivery_year, price) select p.id, 2026, 1 from core.partners p where p.slug = 'partner-a'",
    "prices of figures are those of their sales",
    /^year 2026$/,
  ],
  [
    "a payment that grew",
    "update core.payout_lines set amount = amount + 0.01",
    "lines of payouts are the sum of their parts",
    /^line UUID$/,
  ],
  [
    "a payment of another month than it has",
    "update core.payout_entries set amount = amount - 0.01",
    "parts of payouts are the sales they pay",
    /^part UUID$/,
  ],
  [
    "a sale that two payments have",
    "update core.payout_entries e set allocation_id = (select a.id from core.allocations a where a.net = e.amount limit 1), amount = amount * 2",
    "each part of a sale is paid once",
    /^allocation UUID$/,
  ],
  [
    "a credit note without its cents",
    `insert into core.invoices (partner_id, id, year, number, quarter, issued_on, issued_by, vat_regime, vat_rate, net, vat, corrects, name, company)
     select p.id, p.id, 2026, 1, '2026-04-01', '2026-08-15', 'x', 'regular', 21, -3.35, -0.71, p.id, 'P', '{}' from core.partners p where p.slug = 'partner-a'`,
    "VAT of credit notes is that of their sum",
    /^invoice UUID$/,
  ],
  [
    "a payment that left no trace",
    "delete from core.ledger_entries where cause like 'payout:%'",
    "what is on its way, and what was paid, are lines of payouts",
    /^payee UUID$/,
  ],
  [
    "a payment that arrived, and is on its way",
    "update core.payout_lines set status = 'paid', paid_at = now()",
    "what is on its way, and what was paid, are lines of payouts",
    /^payee UUID$/,
  ],
])("contract §3 finds %s, and names the first", async (_what, damage, check, named) => {
  const client = await world.database.admin.connect();
  try {
    await client.query("begin");
    const { rowCount } = await client.query(damage);
    expect(rowCount).toBeGreaterThan(0);
    const { rows } = await client.query("select ops.ledger_check('{}') as answer");
    const { ok, wrong } = rows[0].answer;
    expect(ok).toBe(false);
    const first = expect.stringMatching(named.source.replace("UUID", UUID));
    expect(wrong).toContainEqual(expect.objectContaining({ partner_slug: "partner-a", check, first }));
    expect(wrong.map((each: { partner_slug: string }) => each.partner_slug)).not.toContain("partner-b");
  } finally {
    await client.query("rollback");
    client.release();
  }
});

test("contract §3 with such an error the command ends with 1, of another partner with 0", async () => {
  await world.row("update core.credits set ere = ere + 0.000001");
  const { code, json } = await world.run("ledger check");
  expect([code, json.ok]).toEqual([1, false]);
  expect(json.wrong).toContainEqual(expect.objectContaining({ wrong: 2, first: expect.stringMatching(/^row /) }));
  expect((await world.run("ledger check --partner partner-b")).code).toBe(0);
});
