import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Partner } from "../harness/people.ts";
import { rowCounts } from "../harness/world.ts";
import { createEreWorld, type EreWorld } from "./ere_world.ts";

let world: EreWorld;
beforeEach(async () => {
  world = await createEreWorld();
});
afterEach(() => world.close());

/** Books and credits these kWh of April 2026, a customer each. */
async function credited(kwh: number[], partner: Partner = world.partnerA) {
  const customers = [];
  for (const each of kwh) customers.push(await world.customer({ "2026-04": each }, partner));
  const { bookings } = await world.done(`booking open 2026-Q2 --partner ${partner.id}`);
  await world.done(`booking submit ${bookings[0].booking_id}`);
  await world.done(`booking credit ${bookings[0].booking_id}`);
  return { booking_id: String(bookings[0].booking_id), customers };
}

const selling = (
  booking: string,
  ere: string | number,
  price: string | number,
  reference: string,
  ...more: string[]
) => [
  ..."sale record".split(" "),
  booking,
  "--ere",
  String(ere),
  "--price",
  String(price),
  "--buyer",
  "Brandstof N.V.",
  "--reference",
  reference,
  ...more,
];
const reversing = (reference: string, ...more: string[]) => [
  "sale",
  "reverse",
  reference,
  "--reason",
  "the buyer withdrew",
  ...more,
];
const partsOf = async (reference: string) =>
  (await world.done(["sale", "show", reference, "--limit", "1000"])).allocations;
const balances = async (kind: string) => {
  const { rows } = await world.database.admin.query(
    "select owner, balance::float from core.ledger_balances where kind = $1 and balance <> 0 order by owner",
    [kind],
  );
  return Object.fromEntries(rows.map(({ owner, balance }) => [owner, balance]));
};

/** Two steps in one transaction, as POST /sandbox/v1/settle; `other` begins after the first, and waits for the year. */
async function between<T>(first: [string, object], other: () => Promise<T>, second: [string, object]): Promise<T> {
  const client = await world.database.admin.connect();
  const step = ([name, input]: [string, object]) => client.query(`select ops.${name}($1)`, [input]);
  try {
    await client.query("begin");
    await step(first);
    const begun = other();
    const waiting = "select count(*)::int as n from pg_locks where locktype = 'advisory' and not granted";
    await expect.poll(async () => (await world.row(waiting)).n).toBe(1);
    await step(second);
    await client.query("commit");
    return await begun;
  } finally {
    await client.query("rollback");
    client.release();
  }
}

describe("contract §3 sale record", () => {
  test("contract §3 ERE and cents go by what of each row is credited and unsold, and add up to the sale", async () => {
    const { booking_id } = await credited([100, 200, 1]);
    await world.done(selling(booking_id, 50, 0.333333, "R-1"));
    const parts = await partsOf("R-1");
    // of 100.141... ERE in all: 16.611296, 33.222591, 0.166113; gross 16.67
    const sum = (key: string) =>
      parts.reduce((total: number, part: Record<string, number>) => total + Math.round((part[key] ?? 0) * 1e6), 0) /
      1e6;
    expect([sum("ere"), sum("gross_eur")]).toEqual([50, 16.67]);
    expect(parts.map(({ ere }: { ere: number }) => ere).sort()).toEqual([0.166113, 16.611296, 33.222591]);
    await world.agrees();
    // all the rest, to the last millionth
    const [{ ere }] = (await world.done(`booking list ${booking_id}`)).bookings;
    await world.done(selling(booking_id, Math.round((ere - 50) * 1e6) / 1e6, 0.2, "R-2"));
    await world.refused(selling(booking_id, "0.000001", 1000, "R-3"), "0.000001 ERE cannot be sold: 0 of the booking");
    await world.agrees();
  });

  test("contract §3 the fee and the share are cut to the cent, by the percentages of the signature", async () => {
    await world.done("partner set partner-a --fee-pct 17.5 --share-pct 33.33");
    const { booking_id, customers } = await credited([1000]);
    await world.done("partner set partner-a --fee-pct 99 --share-pct 99");
    const { sale } = await world.done(selling(booking_id, 100, "0.4321", "R-1"));
    // 43.21: fee 7.56175, share 2.519748
    expect(sale).toMatchObject({ gross_eur: 43.21, partners_eur: 2.51, service_eur: 5.05, customers_eur: 35.65 });
    expect(await balances("customer")).toEqual({ [String(customers[0]?.account_id)]: 35.65 });
    expect(await balances("partner")).toEqual({ [world.partnerA.id]: 2.51 });
    await world.agrees();
  });

  test("contract §3 where nobody brought the person the share stays with the service", async () => {
    const { booking_id } = await credited([100]);
    await world.row("update core.booking_rows set share_partner_id = null");
    const { sale } = await world.done(selling(booking_id, 10, 1, "R-1"));
    expect(sale).toMatchObject({ customers_eur: 8, partners_eur: 0, service_eur: 2 });
    await world.agrees();
  });

  test("contract §3 the same reference with the same values is a repeat, with others it is refused", async () => {
    const { booking_id } = await credited([100]);
    const other = await credited([100], world.partnerB);
    const command = selling(booking_id, 10, "0.5", "R-1", "--date", "2026-08-01");
    expect((await world.done(command)).changed).toBe(true);
    expect(await world.done(command)).toMatchObject({ changed: false, sale: { sold_on: "2026-08-01", ere: 10 } });
    expect((await world.done(selling(booking_id, "10.000", "0.500000", "R-1"))).changed).toBe(false);
    for (const differs of [
      selling(booking_id, 11, "0.5", "R-1"),
      selling(booking_id, 10, "0.51", "R-1"),
      [...command.slice(0, -1), "2026-08-02"],
      command.map((word) => (word === "Brandstof N.V." ? "Another" : word)),
    ])
      await world.refused(differs, "Another sale has the reference R-1");
    // another partner's references are its own; named alone it is neither
    await world.done(selling(other.booking_id, 10, "0.5", "R-1"));
    await world.refused("sale show R-1", 'Several partners have a sale "R-1"');
    expect((await world.done("sale show R-1 --partner partner-b")).sale.partner_slug).toBe("partner-b");
    expect((await world.done("sale list 2026-Q2 --partner partner-b")).sales).toHaveLength(1);
    await world.agrees();
  });

  test("contract §3 of ten at once with one reference one is recorded; of ten with their own as many as there are ERE for", async () => {
    const { booking_id } = await credited([100, 100, 100]);
    const same = await Promise.all(Array.from({ length: 10 }, () => world.done(selling(booking_id, 20, 1, "R-0"))));
    expect(same.filter(({ changed }) => changed)).toHaveLength(1);
    // 99.8082 - 20 = 79.8082, so 39 fit twice
    const own = await Promise.all(
      Array.from({ length: 10 }, (_, n) => world.run(selling(booking_id, 39, 1, `R-${n + 1}`))),
    );
    expect(own.map(({ code }) => code).sort()).toEqual([0, 0, 1, 1, 1, 1, 1, 1, 1, 1]);
    await world.agrees();
  });

  test("contract §3 the first sales of two quarters of a customer, one in a longer transaction: neither ends the other", async () => {
    await world.customer({ "2026-01": 100, "2026-04": 100 });
    const ids: string[] = [];
    for (const quarter of ["2026-Q1", "2026-Q2"]) {
      ids.push((await world.done(`booking open ${quarter}`)).bookings[0].booking_id);
      await world.done(`booking submit ${quarter}`);
    }
    const [first = "", booking] = ids;
    await world.done(`booking credit ${first}`);
    const other = await between(["booking_credit", { booking }], () => world.run(selling(first, 10, 1, "R-1")), [
      "sale_record",
      { booking, reference: "R-2", ere: "10", price: "1", buyer: "B" },
    ]);
    expect([other.code, other.err]).toEqual([0, ""]);
    await world.agrees();
  });

  test("contract §3 quantities and prices that are none, and more than there is, are refused, and nothing happens", async () => {
    const { booking_id } = await credited([100]);
    const tables = ["sales", "allocations", "ledger_entries", "audit_log"] as const;
    const before = await rowCounts(world, ...tables);
    for (const [ere, price, sentence] of [
      ["0", "1", "A number of ERE is"],
      ["-1", "1", "A number of ERE is"],
      ["1.0000001", "1", "A number of ERE is"],
      ["1e1", "1", "A number of ERE is"],
      ["ten", "1", "A number of ERE is"],
      ["1", "0", "A price is above zero"],
      ["1", "0.000000", "A price is above zero"],
      ["1", "-0.42", "A price is above zero"],
      ["1", "0.4200001", "A price is above zero"],
      ["1", "1000000", "A price is above zero"],
      ["1", "NaN", "A price is above zero"],
      ["0.01", "0.4", "comes to less than half a cent"],
      ["33.269401", "1", "33.269401 ERE cannot be sold: 33.2694 of the booking"],
      ["999999999999", "1", "A number of ERE is"],
    ] as const)
      await world.refused(selling(booking_id, ere, price, "R-1"), sentence);
    expect(await rowCounts(world, ...tables)).toEqual(before);
  });

  test("contract §3 a sale is of today or before, of a submitted booking, and has a reference and a buyer", async () => {
    const { booking_id } = await credited([100]);
    for (const date of ["2026-08-16", "2026-13-01", "tomorrow!", "yesterday", "-infinity", "epoch", "15-8-2026"])
      await world.refused(selling(booking_id, 1, 1, "R-1", `--date=${date}`), "a sale is of today or before");
    await world.refused(selling(booking_id, 1, 1, " "), "A name is 1 to 120 characters");
    await world.refused(selling(booking_id, 1, 1, "R".repeat(121)), "A name is 1 to 120 characters");
    await world.customer({ "2026-01": 5 });
    await world.done("booking open 2026-Q1");
    await world.refused(selling("2026-Q1", 1, 1, "R-1"), "is open; this command needs a submitted booking");
    await world.done("booking submit 2026-Q1");
    await world.refused(selling("2026-Q1", 1, 1, "R-1"), "0 of the booking are credited");
    await world.refused("sale show R-1", 'No sale has the id or reference "R-1"');
  });
});

describe("contract §3 sale reverse", () => {
  /** A payout of all that somebody is owed. */
  const pay = async (payee: string | undefined) => {
    await world.row(
      "update core.partners set iban_ciphertext = 'x', iban_key_id = 'x', iban_last4 = 'x', iban_holder = 'x' where id = $1",
      payee,
    );
    return world.row(
      "select private.make_batch(array(select y from private.payees(0) y where $1 in (y.account_id, y.partner_id) and (y.account_id is null) = ($1 = y.partner_id)), 0, 'test')",
      payee,
    );
  };
  /** What the bank could not pay of it comes back. */
  const fail = (payee: string | undefined) =>
    world.row("select private.fail_lines(array[l], 'test') from core.payout_lines l where l.payee_id = $1", payee);

  test("contract §3 every balance is as it was before; the ERE can be sold again, the reference not used again", async () => {
    const { booking_id } = await credited([100, 33, 7]);
    await world.done(selling(booking_id, 5, 0.77, "R-0"));
    const everything = async () =>
      (
        await world.database.admin.query(
          "select kind, owner, balance from core.ledger_balances where balance <> 0 order by 1, 2",
        )
      ).rows;
    const before = await everything();
    await world.done(selling(booking_id, 30, 0.4242, "R-1"));
    expect(await world.done(reversing("R-1"))).toMatchObject({
      changed: true,
      reversed: 3,
      paid_out: 0,
      sale: { rows: 0, customers_eur: 0, reversed_ere: 30, reversed_eur: 12.73 },
    });
    expect(await everything()).toEqual(before);
    await world.agrees();
    expect((await world.done(reversing("R-1"))).changed).toBe(false);
    expect((await world.done(selling(booking_id, 30, 0.4242, "R-1"))).changed).toBe(false);
    await world.refused(selling(booking_id, 30, 0.43, "R-1"), "Another sale has the reference R-1");
    await world.done(selling(booking_id, 30, 0.43, "R-2"));
    await world.agrees();
  });

  test("contract §3 what was paid out stays sold, the oldest first; with --recover it becomes a debt", async () => {
    const { booking_id, customers } = await credited([100, 100]);
    const [paid, unpaid] = customers.map(({ account_id }) => account_id);
    await world.done(selling(booking_id, 20, 1, "R-1"));
    // each: gross 10, fee 2, share 0.50, net 8
    await pay(paid);
    await world.done(selling(booking_id, 20, 1, "R-2"));
    expect((await world.done(reversing("R-2"))).reversed).toBe(2);
    await world.agrees();

    // of the first sale one part was paid out to its customer
    expect(await world.done(reversing("R-1"))).toMatchObject({ reversed: 1, paid_out: 1, sale: { rows: 1 } });
    expect(await balances("customer")).toEqual({});
    await world.refused(reversing("R-1"), "Everything from the sale R-1 has been paid out");
    await world.agrees();
    await world.done(reversing("R-1", "--recover"));
    expect(await balances("customer")).toEqual({ [String(paid)]: -8 });
    await world.agrees();

    // what is sold next fills the hole first, and so is paid out in part
    await world.done(selling(booking_id, 30, 1, "R-3"));
    expect(await balances("customer")).toEqual({ [String(paid)]: 4, [String(unpaid)]: 12 });
    expect(await world.done(reversing("R-3"))).toMatchObject({ reversed: 1, paid_out: 1 });
    await world.agrees();
  });

  test("contract §3 a share that was paid out to the partner holds its parts too; a payment that failed holds nothing", async () => {
    const { booking_id, customers } = await credited([100]);
    await world.done(selling(booking_id, 20, 1, "R-1"));
    await pay(customers[0]?.account_id);
    await pay(world.partnerA.id);
    await world.refused(reversing("R-1"), "has been paid out");
    await fail(customers[0]?.account_id);
    await world.refused(reversing("R-1"), "has been paid out");
    await fail(world.partnerA.id);
    expect((await world.done(reversing("R-1"))).reversed).toBe(1);
    await world.agrees();
  });

  test("contract §3 of ten at once one reverses", async () => {
    const { booking_id } = await credited([100, 50]);
    await world.done(selling(booking_id, 20, 1, "R-1"));
    const ran = await Promise.all(Array.from({ length: 10 }, () => world.done(reversing("R-1"))));
    expect(ran.filter(({ changed }) => changed)).toHaveLength(1);
    await world.agrees();
  });
});

describe("contract §3 factors and figures", () => {
  test("contract §3 a factor is set for a new year, and stays once something is booked by it", async () => {
    expect((await world.done("factor list")).factors).toEqual([
      { delivery_year: 2026, renewable_share: 0.505, ere_per_kwh: 0.332694, bookable_until: null },
    ]);
    expect((await world.done("factor set 2027 --share 0.52")).factor.ere_per_kwh).toBe(0.342576);
    expect((await world.done("factor set 2027 --share 0.52")).changed).toBe(false);
    await world.done("factor set 2027 --share 0.521 --bookable-until 2028-03-31");
    for (const wrong of [
      "2027 --share 1.1",
      "2027 --share 0.52001",
      "2027 --share -1",
      "2025 --share 0.5",
      "2027 --bookable-until soon",
      "2027 --bookable-until infinity",
    ])
      await world.refused(`factor set ${wrong}`, "A factor has a year from 2026 on");
    await world.refused("factor set 2028 --bookable-until 2029-01-01", "There is no factor for 2028 yet");

    await world.done("factor set 2026 --share 0.5");
    const { booking_id } = await credited([100]);
    await world.refused("factor set 2026 --share 0.505", "Months of 2026 are booked with the share 0.5");
    await world.done("factor set 2026 --bookable-until 2027-03-31");
    expect((await world.done(`booking list ${booking_id}`)).bookings[0].ere).toBe(32.94);
    await world.agrees();

    // what the register granted by it was said by it, also once all of it is rejected, and then withdrawn
    const { id } = await world.row("select id from core.booking_rows");
    const reverse = ["booking", "reverse-credit", id, "--reason", "wrong file"];
    const stays = () => world.refused("factor set 2026 --share 0.505", "Months of 2026 are booked with the share 0.5");
    await world.done(reverse);
    await world.row("select ops.booking_credit($1)", {
      booking: booking_id,
      rows: [{ row_id: id, accepted_kwh: "0", reason: "no meter" }],
    });
    expect((await world.row("select status from core.booking_rows")).status).toBe("rejected");
    await stays();
    await world.done(reverse);
    await world.done(`booking withdraw ${booking_id}`);
    await stays();
  });

  test("contract §3 a factor is not changed while months are being booked by it", async () => {
    await world.customer({ "2026-04": 100 });
    await world.done("booking open 2026-Q2");
    const [, { code }] = await Promise.all([
      world.done("booking submit 2026-Q2"),
      world.run("factor set 2026 --share 0.4"),
    ]);
    const { by } = await world.row(
      "select ere_per_kwh = (select ere_per_kwh from core.ere_factors) as by from core.booking_rows",
    );
    expect([by, code === 0 || code === 1]).toEqual([true, true]);
  });

  test("contract §3 figures that a longer transaction of the year publishes too: neither ends the other", async () => {
    await world.customer({ "2026-04": 100 });
    const { bookings } = await world.done("booking open 2026-Q2");
    const other = await between(
      ["booking_submit", { booking: bookings[0].booking_id }],
      () => world.run("figures publish 2026 --partner partner-a"),
      ["figures_publish", { partner: "partner-a", delivery_year: 2026 }],
    );
    expect([other.code, other.err, other.json?.changed]).toEqual([0, "", false]);
  });

  test("contract §3 figures are published once there is a factor, of one partner or of all; the price is that of what stands", async () => {
    await world.refused("figures publish 2027", "There is no factor for 2027 yet");
    await world.refused("figures publish 2025", "There are no ERE of 2025; the first year is 2026");
    await world.refused("figures publish 2026 --partner nobody", 'No partner has the id or slug "nobody"');
    const { booking_id } = await credited([100]);
    const published = await world.done("figures publish 2026 --partner partner-a");
    expect(published).toMatchObject({
      changed: true,
      figures: [{ partner_slug: "partner-a", delivery_year: 2026, ere_per_kwh: 0.332694, price_per_ere_eur: null }],
    });
    expect((await world.done("figures publish 2026 --partner partner-a")).changed).toBe(false);
    const all = await world.done("figures publish 2026");
    expect([all.changed, all.figures.map(({ partner_slug }: { partner_slug: string }) => partner_slug)]).toEqual([
      true,
      ["partner-a", "partner-b", "service"],
    ]);
    await world.done(selling(booking_id, 10, "0.4", "R-1"));
    await world.done(selling(booking_id, 20, "0.5", "R-2"));
    await world.done(selling(booking_id, 3, "9", "R-3"));
    await world.done(reversing("R-3"));
    const [figures] = (await world.done("figures list")).figures;
    expect(figures).toMatchObject({ partner_slug: "partner-a", price_per_ere_eur: 0.466667 });
  });
});
