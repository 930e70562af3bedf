// A quarter from kWh to euro, as an integrator rehearses it.

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { MID_CHARGER } from "../harness/chargers.ts";
import { giveMandate, signMandate } from "../harness/mandate.ts";
import { createAccount, type Partner } from "../harness/people.ts";
import { operatorOf } from "../operator/operator.ts";
import { createSandboxWorld, later, type SandboxWorld, START } from "./sandbox_world.ts";

let world: SandboxWorld;
let empty: Record<string, number>;
beforeAll(async () => {
  world = await createSandboxWorld({ limits: "lifted" });
  empty = await books();
});
afterEach(async () => {
  await agrees();
  await world.travel(START);
  for (const key of [world.keyA, world.keyB]) expect((await world.reset(key)).status).toBe(200);
  expect(await books()).toEqual(empty);
  // a reset leaves the months of CPO accounts, and a test counts its own
  await world.row("delete from core.delivered_months where delivery_id is not null");
});
afterAll(() => world.close());

const settle = (body: unknown = { quarter: "2026-Q2" }, key = world.keyA) =>
  world.send("/sandbox/v1/settle", { method: "POST", token: key, body });

/** How many rows there are of whatever a settlement writes. */
async function books(): Promise<Record<string, number>> {
  const [counts] = await world.rows(
    `select (select count(*)::int from core.bookings) as bookings, (select count(*)::int from core.booking_rows) as rows,
            (select count(*)::int from core.credits) as credits, (select count(*)::int from core.sales) as sales,
            (select count(*)::int from core.allocations) as allocations, (select count(*)::int from core.ledger_entries) as entries,
            (select count(*)::int from core.payout_lines) as payments, (select count(*)::int from core.payout_batches) as batches,
            (select count(*)::int from core.figures) as figures, (select count(*)::int from core.delivered_months where locked) as locked`,
  );
  return counts;
}

/** Why the operator cannot pay an account now, as `quarter` names it. */
async function unpayable(account_id: string): Promise<string[]> {
  const { json } = await operatorOf(world.database)("quarter 2026-Q2");
  return json.unpayable
    .filter(({ payee }: { payee: string }) => payee === account_id)
    .map(({ reason }: { reason: string }) => reason);
}

async function agrees(): Promise<void> {
  const { json } = await operatorOf(world.database)("ledger check");
  expect(json).toMatchObject({ ok: true, wrong: [] });
}

/** A customer whom the partner uploaded, approved, with 12 kWh four times a week since January. */
async function customer(key = world.keyA): Promise<string> {
  const { account_id } = await world.customer({}, { submit: true }, key);
  expect((await world.play(account_id, "review", { outcome: "goedgekeurd" }, key)).status).toBe(200);
  return account_id;
}

/** A CPO's customer with these months; approved unless told. */
async function cpoAccount(months: Record<string, number>, partner: Partner = world.partnerA, approved = true) {
  const { account_id, connection_id } = await createAccount(world, partner);
  const token = await partner.client.token();
  await world.post("/v1/chargers", { account_id, ...MID_CHARGER, serial_number: account_id }, token);
  await signMandate(world, account_id, partner);
  if (approved)
    await world.row("update core.connections set registration_status = 'goedgekeurd' where id = $1", connection_id);
  const items = Object.entries(months).map(([period, total_kwh]) => ({ period, total_kwh, session_count: 9 }));
  expect((await world.post("/v1/sessions:batch", { account_id, months: items }, token)).status).toBe(200);
  return account_id;
}

describe("§4.3 contract §5 POST /sandbox/v1/settle", () => {
  test("a quarter that has not begun is refused as such", async () => {
    const { status, body } = await settle({ quarter: "2027-Q1" });
    expect([status, body.error, body.left_out, body.detail]).toEqual([
      409,
      "nothing_to_settle",
      [],
      "2027-Q1 has not begun: nothing is delivered for it yet.",
    ]);
  });

  test("books, credits and sells the quarter of the customers that were uploaded", async () => {
    const account_id = await customer();
    const { status, body } = await settle();
    expect([status, body], JSON.stringify(world.log.at(-1))).toEqual([
      200,
      {
        ok: true,
        quarter: "2026-Q2",
        booking_id: expect.any(String),
        accounts: 1,
        kwh: expect.any(Number),
        ere: expect.any(Number),
        gross_eur: expect.any(Number),
        net_eur: expect.any(Number),
        accounts_left: 0,
        payments_failed: [],
        left_out: [],
      },
    ]);
    expect(body.kwh).toBeGreaterThan(500);
    expect(body.ere).toBeCloseTo(body.kwh * 0.332694, 1);
    expect(body.gross_eur).toBeCloseTo(body.ere * 0.4, 1);
    expect(body.net_eur).toBeLessThan(body.gross_eur);
    const rows = await world.rows("select distinct account_id, status, share_partner_id from core.booking_rows");
    // the partner brought the customer in November: of what was charged before it has no share
    expect(rows).toEqual([{ account_id, status: "registered", share_partner_id: null }]);
  });

  test("of CPO accounts and people at once; what cannot be booked is left out, and why", async () => {
    await customer();
    const good = await cpoAccount({ "2026-04": 100, "2026-05": 50, "2026-07": 999 });
    const waits = await cpoAccount({ "2026-06": 10 }, world.partnerA, false);
    const { body } = await settle({ quarter: "2026-Q2", price_per_ere: 0.123456 });
    expect([body.accounts, body.left_out]).toEqual([
      2,
      [{ account_id: waits, period: "2026-06", reason: "registration_open" }],
    ]);
    const [booking] = await world.rows("select partner_id from core.bookings where id = $1", body.booking_id);
    expect(booking).toEqual({ partner_id: world.partnerA.id });
    const [sold] = await world.rows(
      "select sum(a.ere)::float as ere, sum(a.gross)::float as gross from core.allocations a where a.account_id = $1",
      good,
    );
    // 150 kWh x 0.332694 = 49.9041 ERE; at 0.123456 that is 6.16 euro
    expect(sold).toEqual({ ere: 49.9041, gross: 6.16 });
  });

  test("a repeat changes nothing; a later one takes in what is new, at its own price", async () => {
    const account_id = await cpoAccount({ "2026-04": 100 });
    const first = await settle();
    expect(first.body).toMatchObject({ accounts: 1, kwh: 100, ere: 33.27, gross_eur: 13.31 });
    expect(await settle({ quarter: "2026-Q2", price_per_ere: 9 })).toMatchObject({ status: 200, body: first.body });
    const token = await world.partnerA.client.token();
    await world.post("/v1/sessions:batch", { account_id, months: [{ period: "2026-05", total_kwh: 100 }] }, token);
    const { body } = await settle({ quarter: "2026-Q2", price_per_ere: 1 });
    // 33.2694 ERE at 0.40 and as many at 1
    expect(body).toMatchObject({ accounts: 1, kwh: 200, ere: 66.54, gross_eur: 46.58, left_out: [] });
    expect(body.booking_id).not.toBe(first.body.booking_id);
    expect(
      (await world.rows("select distinct price::float from core.sales order by 1")).map(({ price }) => price),
    ).toEqual([0.4, 1]);
  });

  test("more accounts than a call settles are settled by repeating it", async () => {
    const [kept] = await world.rows(
      "select pg_get_functiondef('private.settled_at_once()'::regprocedure) as definition",
    );
    // a thousand accounts would settle for a minute
    await world.database.admin.query(
      "create or replace function private.settled_at_once() returns int language sql immutable return 2",
    );
    await customer();
    for (const kwh of [100, 200, 300, 400]) await cpoAccount({ "2026-04": kwh });
    const calls = [];
    do calls.push((await settle()).body);
    while (calls.at(-1).accounts_left > 0 && calls.length < 9);
    expect(calls.map(({ accounts, accounts_left }) => [accounts, accounts_left])).toEqual([
      [2, 3],
      [4, 1],
      [5, 0],
    ]);
    expect((await settle()).body).toEqual(calls.at(-1));
    await world.database.admin.query(kept.definition);
  });

  test("pays at once whoever has an IBAN: people, CPO accounts, and the partner for those it settles with itself", async () => {
    await world.row(
      "update core.partners set iban_ciphertext = 'x', iban_key_id = 'x', iban_last4 = '1', iban_holder = 'Laadpunt' where id = $1",
      world.partnerA.id,
    );
    const person = await customer();
    const own = await cpoAccount({ "2026-04": 100 });
    const through = await cpoAccount({ "2026-04": 50 });
    const waits = await cpoAccount({ "2026-04": 10 }, world.partnerB);
    await world.row("update core.accounts set payout_handler = 'via_cpo_invoicing' where id = $1", through);
    await settle();
    await settle();
    const lines = await world.rows(
      "select payee_id, status, amount::float, (select count(*)::int from core.payout_parts p where p.line_id = l.id) as parts from core.payout_lines l order by amount",
    );
    // 13.31 and 6.65 euro: fees of 2.66 and 1.33, of which the partner has 0.66 and 0.33
    expect(lines).toEqual([
      { payee_id: world.partnerA.id, status: "paid", amount: 6.31, parts: 2 },
      { payee_id: own, status: "paid", amount: 10.65, parts: 1 },
      { payee_id: person, status: "paid", amount: expect.any(Number), parts: 1 },
    ]);
    expect(await world.rows("select 1 from core.booking_rows where account_id = $1", waits)).toEqual([]);
    await world.row(
      "update core.partners set iban_ciphertext = null, iban_key_id = null, iban_last4 = null, iban_holder = null where id = $1",
      world.partnerA.id,
    );
  });

  test("reject: the register rejects a month, which is delivered again and settled later", async () => {
    const account_id = await cpoAccount({ "2026-04": 100, "2026-05": 50 });
    const { body } = await settle({ quarter: "2026-Q2", reject: ["2026-05"] });
    expect(body).toMatchObject({
      kwh: 100,
      left_out: [{ account_id, period: "2026-05", reason: "rejected_by_register" }],
    });
    const statuses = () =>
      world.rows(
        "select d.status from core.delivered_months d join core.connections c on c.id = d.connection_id where c.account_id = $1 order by d.period",
        account_id,
      );
    expect(await statuses()).toEqual([{ status: "registered" }, { status: "rejected" }]);
    expect(
      (
        await world.rows(
          "select data -> 'periods' as periods from core.events where account_id = $1 and type = 'account.months_rejected'",
          account_id,
        )
      ).map(({ periods }) => periods),
    ).toEqual([["2026-05-01"]]);
    expect((await settle({ quarter: "2026-Q2", reject: ["2026-05"] })).body, "a repeat changes nothing").toEqual(body);
    const token = await world.partnerA.client.token();
    const reasons = async () =>
      (await world.get("/v1/ere-positions?limit=200", token)).body.positions
        .find((position: { account_id: string }) => position.account_id === account_id)
        .delivered_months.map(({ register_reason }: { register_reason: string | null }) => register_reason);
    expect(await reasons(), "why, in the position").toEqual([null, "rejected in a rehearsal"]);
    const { events } = (await world.get(`/v1/events?limit=100&account_id=${account_id}`, token)).body;
    expect(events.find(({ type }: { type: string }) => type === "account.months_rejected").data).toMatchObject({
      months: [{ period: "2026-05-01", connection_id: expect.any(String), reason: "rejected in a rehearsal" }],
    });
    const months = [{ period: "2026-05", total_kwh: 40 }];
    await world.post("/v1/sessions:batch", { account_id, months }, token);
    expect(await reasons(), "delivered again").toEqual([null, null]);
    const { body: settled } = await settle();
    expect(settled).toMatchObject({ kwh: 140, left_out: [] });
    // what is credited cannot be rejected by asking later, and what is paid cannot fail: neither is ignored in silence
    for (const [asked, before] of [
      [{ reject: ["2026-05"] }, ["2026-05"]],
      [{ fail: [account_id] }, [account_id]],
      [{ reject: ["2026-06", "2026-04"], fail: [account_id] }, ["2026-04", account_id]],
    ]) {
      const refused = await settle({ quarter: "2026-Q2", ...asked });
      expect([refused.status, refused.body.error, refused.body.settled]).toEqual([409, "already_settled", before]);
    }
    expect((await settle()).body, "nothing was changed").toEqual(settled);
  });

  test("reject: all months of the quarter, so that nothing is sold", async () => {
    const account_id = await cpoAccount({ "2026-04": 100 });
    const { status, body } = await settle({ quarter: "2026-Q2", reject: ["2026-04"] });
    expect([status, body]).toEqual([
      200,
      expect.objectContaining({ accounts: 0, kwh: 0, gross_eur: 0, booking_id: expect.any(String) }),
    ]);
    expect(body.left_out).toEqual([{ account_id, period: "2026-04", reason: "rejected_by_register" }]);
  });

  test.each([
    ["a new session", { session: "another" }],
    ["from_sessions", { from_sessions: true }],
    ["a typed total", { total_kwh: 9, session_count: 1 }],
  ])(
    "reject: a month of sessions stays rejected if they come again; %s opens it",
    async (_, { session, ...month }: Record<string, unknown>) => {
      const account_id = await cpoAccount({ "2026-07": 1 });
      const token = await world.partnerA.client.token();
      const deliver = async (name: string, day: string) => {
        const times = { started_at: `2026-04-${day}T18:00:00Z`, ended_at: `2026-04-${day}T19:00:00Z` };
        const sessions = [{ session_id: `${account_id} ${name}`, serial_number: account_id, ...times, kwh: 9 }];
        return (await world.post("/v1/charging-sessions", { sessions }, token)).body.results;
      };
      const april = () =>
        world.rows(
          `select d.status from core.delivered_months d join core.connections c on c.id = d.connection_id
          where c.account_id = $1 and d.period = '2026-04-01'`,
          account_id,
        );
      expect(await deliver("first", "10")).toMatchObject([{ status: "created", flags: [] }]);
      await settle({ quarter: "2026-Q2", reject: ["2026-04"] });
      expect(await deliver("first", "10")).toMatchObject([{ status: "unchanged" }]);
      expect(await april()).toEqual([{ status: "rejected" }]);
      if (session) await deliver(String(session), "11");
      else await world.post("/v1/sessions:batch", { account_id, months: [{ period: "2026-04", ...month }] }, token);
      expect(await april()).toEqual([{ status: "staged" }]);
      expect((await settle()).body).toMatchObject({ kwh: session ? 18 : 9, left_out: [] });
      await world.reset();
      await world.row("delete from core.delivered_months where period = '2026-04-01' and source = 'sessions'");
    },
  );

  test("fail: the payment of an account comes back, and its IBAN gets nothing until there is another one", async () => {
    const [fails, good] = [await cpoAccount({ "2026-04": 100 }), await cpoAccount({ "2026-04": 50 })];
    const { body } = await settle({ quarter: "2026-Q2", fail: [fails.toUpperCase()] });
    expect(body.payments_failed).toEqual([fails]);
    const lines = () =>
      world.rows("select account_id, status, failed_reason from core.payout_lines order by amount desc, arrival");
    expect(await lines()).toEqual([
      { account_id: fails, status: "failed", failed_reason: "AC04" },
      { account_id: good, status: "paid", failed_reason: null },
    ]);
    const [notice] = await world.rows(
      "select kind from core.notices where account_id = $1 and kind like 'payout_%'",
      fails,
    );
    expect(notice).toEqual({ kind: "payout_failed" });
    expect((await settle({ quarter: "2026-Q2", fail: [fails] })).body.payments_failed).toEqual([]);
    expect(
      (await lines()).map(({ status }) => status),
      "the number is barred",
    ).toEqual(["failed", "paid"]);
    expect(await unpayable(fails), "though it was given less than 48 hours ago").toEqual(["iban_failed"]);

    const { cpo_external_ref } = await world.row("select cpo_external_ref from core.accounts where id = $1", fails);
    await world.post(
      "/v1/accounts",
      { cpo_external_ref, iban: "NL20INGB0001234567" },
      await world.partnerA.client.token(),
    );
    await settle();
    expect((await lines()).map(({ status }) => status).sort()).toEqual(["failed", "paid", "paid"]);
  });

  test("an IBAN with a wrong checksum gets nothing and no mail of a payment, until there is a good one", async () => {
    const [wrong, good] = [await cpoAccount({ "2026-04": 100 }), await cpoAccount({ "2026-04": 50 })];
    const { cpo_external_ref } = await world.row("select cpo_external_ref from core.accounts where id = $1", wrong);
    const giveIban = async (iban: string) =>
      world.post("/v1/accounts", { cpo_external_ref, iban }, await world.partnerA.client.token());
    expect((await giveIban("NL20INGB0001234568")).body.iban_checksum_ok).toBe(false);
    expect((await settle()).body).toMatchObject({ accounts: 2, kwh: 150, payments_failed: [], left_out: [] });
    const paid = async () =>
      (await world.rows("select account_id from core.payout_lines where status = 'paid' order by arrival")).map(
        ({ account_id }) => account_id,
      );
    const mailed = () =>
      world.rows("select from core.notices where account_id = $1 and kind in ('payout_sent', 'payout_paid')", wrong);
    expect([await paid(), await mailed()]).toEqual([[good], []]);
    expect(await unpayable(wrong), "though it was changed less than 48 hours ago").toEqual(["iban_invalid"]);
    expect((await giveIban("NL20INGB0001234567")).body.iban_checksum_ok).toBe(true);
    await settle();
    expect([await paid(), (await mailed()).length]).toEqual([[good, wrong], 1]);
  });

  test("fail: of an account that is settled through the CPO, the partner's payment comes back", async () => {
    await world.row(
      "update core.partners set iban_ciphertext = 'x', iban_key_id = 'x', iban_last4 = '1', iban_holder = 'Laadpunt' where id = $1",
      world.partnerA.id,
    );
    const through = await cpoAccount({ "2026-04": 100 });
    await world.row("update core.accounts set payout_handler = 'via_cpo_invoicing' where id = $1", through);
    expect((await settle({ quarter: "2026-Q2", fail: [through] })).body.payments_failed).toEqual([through]);
    const types = await world.rows(
      "select type from core.events where account_id = $1 and type like 'payout.%'",
      through,
    );
    expect(types).toEqual([{ type: "payout.failed" }]);
    expect((await settle({ quarter: "2026-Q2", fail: [through] })).body.payments_failed).toEqual([]);
    const paid = () => world.rows("select status from core.payout_lines order by arrival");
    expect(await paid(), "a repeat pays and fails nothing").toEqual([{ status: "failed" }]);
    await settle();
    expect(await paid()).toEqual([{ status: "failed" }, { status: "paid" }]);
    await world.row(
      "update core.partners set iban_ciphertext = null, iban_key_id = null, iban_last4 = null, iban_holder = null where id = $1",
      world.partnerA.id,
    );
  });

  test("attack: an account of another partner fails nothing, and nothing is settled", async () => {
    const foreign = await cpoAccount({ "2026-04": 100 }, world.partnerB);
    const own = await cpoAccount({ "2026-04": 100 });
    const refused = await settle({ quarter: "2026-Q2", fail: [own, foreign] });
    expect([refused.status, refused.body.error]).toEqual([404, "customer_not_found"]);
    expect(await books()).toEqual(empty);
  });

  test.each([
    ["a month of another quarter", { reject: ["2026-07"] }],
    ["a month that there is not", { reject: ["2026-13"] }],
    ["an account id that is none", { fail: ["KL-1"] }],
  ])("%s is invalid", async (_, more) => {
    expect((await settle({ quarter: "2026-Q2", ...more })).body.error).toBe("invalid_request");
  });

  test("of the running quarter the months that are over", async () => {
    const account_id = await cpoAccount({ "2026-10": 10, "2026-11": 20 });
    const { body } = await settle({ quarter: "2026-Q4" });
    expect(body).toMatchObject({ kwh: 10, left_out: [{ account_id, period: "2026-11", reason: "month_not_over" }] });
    await world.travel(later(14 * 86_400));
    expect((await settle({ quarter: "2026-Q4" })).body).toMatchObject({ kwh: 30, left_out: [] });
  });

  test("in January, when no month of the year is over, January too; a year without a factor takes the one of the year before", async () => {
    await world.travel("2027-01-20T12:00:00Z");
    await cpoAccount({ "2026-12": 40, "2027-01": 100 });
    const factors = () => world.rows("select delivery_year, ere_per_kwh::float from core.ere_factors order by 1");
    expect(await factors()).toEqual([{ delivery_year: 2026, ere_per_kwh: 0.332694 }]);
    // signed in January: the mandate covers nothing of last year
    expect(await settle({ quarter: "2026-Q4" })).toMatchObject({
      status: 409,
      body: { left_out: [{ period: "2026-12", reason: "outside_mandate" }] },
    });
    const { status, body } = await settle({ quarter: "2027-Q1" });
    expect([status, body]).toEqual([
      200,
      expect.objectContaining({ kwh: 100, ere: 33.27, gross_eur: 13.31, left_out: [] }),
    ]);
    expect(await factors()).toHaveLength(2);
    // in February the running month waits until it is over
    await world.travel("2027-02-20T12:00:00Z");
    const account_id = await cpoAccount({ "2027-01": 30, "2027-02": 20 });
    expect((await settle({ quarter: "2027-Q1" })).body).toMatchObject({
      kwh: 130,
      left_out: [{ account_id, period: "2027-02", reason: "month_not_over" }],
    });
    await world.row("delete from core.figures where delivery_year = 2027");
  });

  test("what is worth no cent is credited and not sold", async () => {
    await cpoAccount({ "2026-04": 0.01 });
    expect(await settle()).toMatchObject({ status: 200, body: { kwh: 0.01, ere: 0, gross_eur: 0, net_eur: 0 } });
  });

  test("nothing to settle: without customers, of a quarter to come, of a year without a factor; and why of each month", async () => {
    const nothing = { status: 409, body: { error: "nothing_to_settle", left_out: [] } };
    expect(await settle()).toMatchObject(nothing);
    const account_id = await cpoAccount({ "2026-04": 0 });
    for (const quarter of ["2027-Q1", "2019-Q4", "2099-Q4"]) expect(await settle({ quarter })).toMatchObject(nothing);
    expect((await settle()).body.left_out).toEqual([{ account_id, period: "2026-04", reason: "zero_kwh" }]);
    expect(await books()).toEqual(empty);
  });

  test.each([
    ["no body", null],
    ["no quarter", {}],
    ["a quarter that is none", { quarter: "2026-Q5" }],
    ["a price of nothing", { quarter: "2026-Q2", price_per_ere: 0 }],
    ["a negative price", { quarter: "2026-Q2", price_per_ere: -1 }],
    ["seven decimals", { quarter: "2026-Q2", price_per_ere: 0.1234567 }],
    ["a price beyond all reason", { quarter: "2026-Q2", price_per_ere: 1001 }],
  ])("refuses %s", async (_, body) => {
    const { status, body: answer } = await settle(body);
    expect([status, answer.error]).toEqual([400, "invalid_request"]);
  });

  test("a quarter that is none is told how one is written", async () => {
    expect((await settle({ quarter: "2026-03" })).body.issues).toEqual([
      { path: "quarter", message: "must be a quarter such as 2026-Q2" },
    ]);
  });

  test("another partner's customers, and people who only share with an application, stay as they are", async () => {
    await customer();
    await customer(world.keyB);
    await cpoAccount({ "2026-04": 70 }, world.partnerB);
    const consenting = await world.addUser();
    await giveMandate(world, consenting);
    await world.row(
      "insert into core.attributions (partner_id, user_id, source, attached_month) values ($1, $2, 'oauth_consent', '2026-01-01')",
      world.partnerA.id,
      consenting.id,
    );
    expect((await settle()).body.accounts).toBe(1);
    expect(await world.rows("select partner_id from core.figures")).toEqual([{ partner_id: world.partnerA.id }]);
    const theirs = await settle(undefined, world.keyB);
    expect([theirs.body.accounts, theirs.body.kwh > 70]).toEqual([2, true]);
    await world.reset();
    const { body } = await settle(undefined, world.keyB);
    expect(body).toEqual(theirs.body);
  });

  test("after a reset a partner settles again, though another settled after it", async () => {
    await customer();
    await settle();
    await customer(world.keyB);
    await settle(undefined, world.keyB);
    await world.reset();
    await customer();
    expect((await settle()).status, JSON.stringify(world.log.at(-1))).toBe(200);
  });

  test("ten at once settle it once; with resets in between nothing fails and nothing is left over", async () => {
    await Promise.all([customer(), customer(), cpoAccount({ "2026-04": 100, "2026-06": 5 })]);
    const answers = await Promise.all(Array.from({ length: 10 }, () => settle()));
    expect(new Set(answers.map(({ status, body }) => JSON.stringify([status, body]))).size).toBe(1);
    expect(await books()).toMatchObject({ bookings: 2, sales: 2 });
    await agrees();
    const mixed = await Promise.all([
      settle(),
      world.reset(),
      settle(),
      world.reset(),
      settle(),
      settle(undefined, world.keyB),
    ]);
    expect(mixed.filter(({ status }) => status !== 200 && status !== 409)).toEqual([]);
  });

  test("a reset during which the operator books more months: they open again, or stay booked", async () => {
    const booked = await cpoAccount({ "2026-04": 100 });
    await settle();
    await cpoAccount({ "2026-07": 50 });
    const operator = operatorOf(world.database);
    const { json } = await operator(`booking open 2026-Q3 --partner ${world.partnerA.id}`);
    const holder = await world.database.admin.connect();
    const waiting = async () =>
      (await world.rows("select from pg_stat_activity where wait_event_type = 'Lock'")).length;
    try {
      await holder.query("begin");
      await holder.query("select from core.connections where account_id = $1 for update", [booked]);
      const reset = world.reset();
      await expect.poll(waiting).toBe(1);
      let isSubmitted = false;
      const submit = operator(`booking submit ${json?.bookings[0].booking_id}`).then(() => {
        isSubmitted = true;
      });
      await expect.poll(async () => isSubmitted || (await waiting()) === 2).toBe(true);
      await holder.query("commit");
      expect((await reset).status).toBe(200);
      await submit;
    } finally {
      await holder.query("rollback");
      holder.release();
    }
    const open = "select period from core.delivered_months where locked and partner_id = $1";
    const rows = "select period from core.booking_rows where live and partner_id = $1";
    expect(await world.rows(open, world.partnerA.id)).toEqual(await world.rows(rows, world.partnerA.id));
  });

  test("a reset opens months of sessions again: a correction that waited for its booking counts", async () => {
    const account_id = await cpoAccount({ "2026-07": 1 });
    const token = await world.partnerA.client.token();
    const deliver = async (kwh: number) => {
      const times = { started_at: "2026-04-10T18:00:00Z", ended_at: "2026-04-10T19:00:00Z" };
      const sessions = [{ session_id: account_id, serial_number: account_id, ...times, kwh }];
      return (await world.post("/v1/charging-sessions", { sessions }, token)).body.results;
    };
    const april = () =>
      world.rows(
        `select s.flags, d.total_kwh::float8 as kwh from core.charging_sessions s join core.delivered_months d using (connection_id)
          where s.external_id = $1 and d.period = s.month`,
        account_id,
      );
    expect(await deliver(10)).toMatchObject([{ status: "created", flags: [] }]);
    expect((await settle()).body.kwh).toBe(10);
    expect(await deliver(9)).toMatchObject([{ status: "updated", flags: ["after_lock"] }]);
    await world.reset();
    expect(await april()).toEqual([{ flags: [], kwh: 9 }]);
    await world.row("delete from core.delivered_months where period = '2026-04-01' and source = 'sessions'");
  });

  test("a reset opens the months of CPO accounts again, and settling begins again", async () => {
    const account_id = await cpoAccount({ "2026-04": 100 });
    const months = [{ period: "2026-04", total_kwh: 40 }];
    const deliver = async () =>
      (await world.post("/v1/sessions:batch", { account_id, months }, await world.partnerA.client.token())).body
        .results;
    expect((await settle()).body.kwh).toBe(100);
    expect(await deliver()).toEqual([{ period: "2026-04", status: "locked" }]);
    await world.reset();
    expect(await deliver()).toEqual([{ period: "2026-04", status: "ingested", change: "changed" }]);
    expect((await settle()).body).toMatchObject({ kwh: 40, accounts: 1 });
  });
});
