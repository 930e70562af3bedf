// One account's story, as an auditor asks for it.

import { afterAll, beforeAll, expect, test } from "vitest";
import type { Customer } from "../ere/ere_world.ts";
import { createPayoutWorld, type PayoutWorld } from "../ere/payout_world.ts";
import { auditOf } from "../operator/operator.ts";

let world: PayoutWorld;
let customer: Customer;
beforeAll(async () => {
  world = await createPayoutWorld();
  customer = await world.customer({ "2026-04": 5 }, world.partnerA, {
    person: { full_name: "Anna Audit", email: "anna@example.nl" },
  });
  await world.sell(customer, 40, "2026-04"); // delivers 10 kWh in the place of 5
  await world.row("update core.accounts set iban_changed_at = '2026-01-01'");
  const { batch_id } = await world.exported();
  expect((await world.anna(`payout settle ${batch_id}`)).code).toBe(0);
});
afterAll(() => world.close());

test("contract §3 audit show tells an account's story in order: made, signed, delivered, replaced, booked, credited, sold, paid", async () => {
  const { account_id, events, balance_eur } = await world.done(`audit show ${customer.account_id}`);
  expect([account_id, balance_eur]).toEqual([customer.account_id, 0]);
  const told = events.map(({ what, period, kwh, eur }: Record<string, unknown>) => [what, period, kwh, eur]);
  for (const one of [
    ["account.created", null, null, null],
    ["mandate signed", null, null, null],
    ["month delivered, replaced since", "2026-04", 5, null],
    ["month delivered", "2026-04", 10, null],
    ["booked", "2026-04", 10, null],
    ["credited", "2026-04", 10, null],
    ["sold", "2026-04", null, 32],
    ["payment prepared", null, null, 32],
    ["paid", null, null, 32],
  ])
    expect(told).toContainEqual(one);
  const moments = events.map(({ at }: { at: string }) => at);
  expect(moments).toEqual(moments.toSorted());
  expect(events.find(({ what }: { what: string }) => what === "paid")).toMatchObject({
    by: "operator_anna",
    note: expect.stringMatching(/^to …\d{4}$/),
  });
});

test("contract §3 the account is meant by its EAN or its e-mail address too, and each look leaves an audit row", async () => {
  const byId = await world.done(`audit show ${customer.account_id}`);
  for (const named of [customer.ean_code, "Anna@example.nl"]) {
    const rows = await auditOf(world.database.admin, async () => {
      expect(await world.done(["audit", "show", named])).toEqual(byId);
    });
    expect(rows).toMatchObject([{ action: "account.story_shown", subject_id: customer.account_id }]);
  }
  const table = await world.done(`audit show ${customer.ean_code}`);
  expect(table.events.length).toBeGreaterThan(8);
});

test("contract §3 who is unknown, or several, is told so", async () => {
  await world.refused("audit show nobody@example.nl", /No account matches "nobody@example.nl"/);
  await world.customer({}, world.partnerA, { person: { full_name: "Anna Audit", email: "anna@example.nl" } });
  await world.refused(
    "audit show anna@example.nl",
    /matches several accounts; name one by its id: [0-9a-f-]{36}, [0-9a-f-]{36}\.$/m,
  );
});
