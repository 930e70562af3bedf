// What a reset of the sandbox takes out of the books.

import { afterAll, beforeAll, expect, test } from "vitest";
import type { User } from "../harness/people.ts";
import { rowCounts } from "../harness/world.ts";
import { createEreWorld, type EreWorld } from "./ere_world.ts";
import { addChargingPerson } from "./person.ts";

let world: EreWorld;
beforeAll(async () => {
  world = await createEreWorld();
});
afterAll(() => world.close());

/** A person who charged this much in April 2026 and can be booked. */
async function person(wh: number): Promise<User> {
  const user = await addChargingPerson(world);
  await user.charge("2026-04", wh);
  return user;
}

/** Pays everybody all they are owed. */
const payAll = () =>
  world.row(
    `with batch as (
       select private.make_batch(array(
         select (jsonb_populate_record(y, '{"name": "N", "iban_ciphertext": "x", "iban_key_id": "x", "iban_last4": "x"}')) from private.payees(0) y
          where y.amount > 0), 0, 'test') as id)
     select private.pay_lines(private.lines_of(id)) from batch`,
  );
const erase = (user: User) =>
  world.row(
    "select private.erase_accounts(array[$1::uuid], array(select id from core.chargers where account_id = $1), array[$2::uuid])",
    user.account_id,
    user.connection_id,
  );
const sell = (ere: number, reference: string) =>
  world.done([
    "sale",
    "record",
    "2026-Q2",
    "--ere",
    String(ere),
    "--price",
    "0.4321",
    "--buyer",
    "B",
    "--reference",
    reference,
  ]);

test("contract §5 a reset takes a customer out of bookings, sales and the ledger, and what others have still agrees", async () => {
  const [goes, stays] = [await person(40_000), await person(60_000)];
  for (const { id } of [goes, stays])
    await world.row("select private.reserve_customer($1, $2, 'manual')", id, world.partnerA.id);
  await world.row("update core.attributions set attached_month = '2026-01-01'");
  await world.done("booking open 2026-Q2");
  await world.done("booking submit 2026-Q2");
  await world.done("booking credit 2026-Q2 --granted 30");
  await sell(7, "R-1");
  await sell(5, "R-2");
  await world.done(["sale", "reverse", "R-2", "--reason", "back"]);
  await payAll();
  expect(await rowCounts(world, "payout_lines")).toEqual({ payout_lines: 3 });
  // failed by mistake, and taken back
  await world.row("select private.fail_lines(array(select l from core.payout_lines l), 'AC04')");
  await world.row("select private.unfail_line(l) from core.payout_lines l");
  await world.agrees();

  await erase(goes);
  await world.agrees();
  // of the partner's share what is left is to be paid again
  expect(await rowCounts(world, "payout_lines", "payout_parts", "payout_batches")).toEqual({
    payout_lines: 1,
    payout_parts: 1,
    payout_batches: 1,
  });
  const { bookings } = await world.done("booking list 2026-Q2");
  expect(bookings).toMatchObject([{ rows: 1, kwh: 60 }]);
  const { sales } = await world.done("sale list");
  expect(sales).toMatchObject([
    { reference: "R-2", ere: 3, rows: 0 },
    { reference: "R-1", ere: 4.2, rows: 1 },
  ]);

  await erase(stays);
  const tables = [
    "bookings",
    "booking_rows",
    "account_bookings",
    "account_years",
    "credits",
    "sales",
    "sale_reversals",
    "allocations",
    "ledger_entries",
    "payout_batches",
    "payout_lines",
    "payout_parts",
  ] as const;
  expect(Object.values(await rowCounts(world, ...tables))).toEqual(tables.map(() => 0));
  expect(
    await world.row("select kind from core.ledger_accounts where kind not in ('service', 'partner', 'payout', 'bank')"),
  ).toBeUndefined();
  await world.agrees();
});

test("contract §5 on production nothing of the books is ever deleted", async () => {
  await world.row("update core.deployment set host = 'production'");
  await expect(world.row("select private.erase_bookings(private.people_tenant(), '{}')")).rejects.toThrow(
    "on the sandbox only",
  );
  await world.row("update core.deployment set host = 'sandbox'");
});
