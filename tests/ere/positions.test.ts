// What a CPO reads of its customers' ERE and euros.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Partner } from "../harness/people.ts";
import { type Customer, createEreWorld, type EreWorld, rowsOf } from "./ere_world.ts";

let world: EreWorld;
let folder: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "ere-positions-"));
  world = await createEreWorld();
});
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await world.close();
});

/** `ere` of every account of a partner's client, by account. */
async function eres(query = "", partner: Partner = world.partnerA) {
  const { status, body } = await world.get(`/v1/ere-positions${query}`, await partner.client.token());
  expect(status).toBe(200);
  return new Map<string, unknown>(
    body.positions.map(({ account_id, ere }: { account_id: string; ere: unknown }) => [account_id, ere]),
  );
}
/** Of one account, by its page and by its reference: the same. */
async function ere({ account_id }: Customer, query = ""): Promise<unknown> {
  const { cpo_external_ref } = await world.row("select cpo_external_ref from core.accounts where id = $1", account_id);
  const one = await eres(`?cpo_external_ref=${cpo_external_ref}${query.replace("?", "&")}`);
  expect([...one]).toEqual([[account_id, (await eres(query)).get(account_id)]]);
  return one.get(account_id);
}

test("§2 contract §3 ere of a position: null, an estimate, credited in part, sold, taken back", async () => {
  const customer = await world.customer({ "2026-04": 100, "2026-05": 50, "2026-06": 0 });
  const other = await world.customer();
  await world.customer({ "2026-04": 999 }, world.partnerB);
  expect(await ere(customer)).toBeNull();

  await world.done("figures publish 2026");
  const zeros = {
    delivery_year: 2026,
    kwh_counted: 0,
    ere_estimated: 0,
    ere_registered: 0,
    ere_sold: 0,
    reserved_ere: 0,
    price_per_ere_eur: null,
    gross_eur: 0,
    fee_pct: null,
    net_eur: 0,
    renewable_share: 0.505,
    ere_per_kwh: 0.332694,
    currency: "EUR",
    updated_at: "2026-08-15T12:00:00Z",
  };
  const estimated = { ...zeros, kwh_counted: 150, ere_estimated: 49.9 };
  expect([await ere(customer), await ere(other)]).toEqual([estimated, zeros]);
  expect(await ere(customer, "?delivery_year=2025")).toBeNull();
  expect(await ere(customer, "?delivery_year=2026")).toEqual(estimated);

  const { slug } = await world.row("select slug from core.partners where id = $1", world.partnerA.id);
  const here = `--partner ${slug}`;
  await world.done(`booking open 2026-Q2 ${here}`);
  await world.done(`booking submit 2026-Q2 ${here}`);
  const { bookings } = await world.done(`booking list 2026-Q2 ${here}`);
  expect(await ere(customer)).toEqual({ ...estimated, fee_pct: 20 });

  // of May half is accepted: 125 kWh x 0.332694 = 41.58675
  const rows = await rowsOf(world, bookings[0].booking_id);
  const lines = rows.map(({ id, period }) => (period === "2026-05" ? `${id},25,meter` : `${id},100,`));
  const file = join(folder, "credit.csv");
  writeFileSync(file, `row_id,accepted_kwh,reason\n${lines.join("\n")}\n`);
  await world.done(`booking credit 2026-Q2 ${here} --file ${file}`);
  const credited = { ...zeros, kwh_counted: 125, ere_estimated: 41.59, ere_registered: 41.59, reserved_ere: 41.59 };
  expect(await ere(customer)).toEqual({ ...credited, fee_pct: 20 });

  const { body } = await world.get("/v1/ere-positions", await world.partnerA.client.token());
  const months = body.positions.flatMap(({ delivered_months }: { delivered_months: object[] }) => delivered_months);
  expect(months).toMatchObject([
    { period: "2026-04-01", total_kwh: 100, accepted_kwh: 100, status: "registered" },
    { period: "2026-05-01", total_kwh: 50, accepted_kwh: 25 },
    { period: "2026-06-01", total_kwh: 0, accepted_kwh: null },
  ]);

  const sale = (quantity: string, price: string, reference: string) =>
    world.done(`sale record 2026-Q2 ${here} --ere ${quantity} --price ${price} --buyer B --reference ${reference}`);
  await sale("10", "0.4", "R-1");
  await sale("20", "0.5", "R-2");
  const sold = (await ere(customer)) as Record<string, number>;
  // 14 euro for 30 ERE
  expect(sold).toMatchObject({ ere_sold: 30, reserved_ere: 11.59, price_per_ere_eur: 0.466667, gross_eur: 14 });
  const { net } = await world.row("select sum(net)::float as net from core.allocations");
  expect(sold.net_eur).toBe(net);
  expect(await ere(other)).toEqual({ ...zeros, price_per_ere_eur: 0.466667 });

  await world.done(["sale", "reverse", "R-2", "--reason", "back"]);
  expect(await ere(customer)).toMatchObject({ ere_sold: 10, price_per_ere_eur: 0.4, gross_eur: 4 });
  await world.done(["sale", "reverse", "R-1", "--reason", "back"]);
  expect(await ere(customer)).toEqual({ ...credited, fee_pct: 20 });
  expect([...(await eres("", world.partnerB)).values()]).toMatchObject([{ kwh_counted: 999, price_per_ere_eur: null }]);
});

test("contract §3 of several published years the latest in which there are months, or the one that is asked for", async () => {
  const customer = await world.customer({ "2026-07": 10 });
  await world.done("factor set 2027 --share 0.6");
  await world.done("figures publish 2027");
  expect(await ere(customer)).toMatchObject({ delivery_year: 2026, kwh_counted: 10 });
  expect(await ere(await world.customer())).toMatchObject({ delivery_year: 2027, kwh_counted: 0 });
  expect(await ere(customer, "?delivery_year=2027")).toMatchObject({ delivery_year: 2027, kwh_counted: 0 });

  const booked = await world.customer({ "2026-04": 20 });
  const { slug } = await world.row("select slug from core.partners where id = $1", world.partnerA.id);
  for (const step of ["open", "submit"]) await world.done(`booking ${step} 2026-Q2 --partner ${slug}`);
  expect(await ere(booked)).toMatchObject({ delivery_year: 2026, kwh_counted: 20, fee_pct: 20 });
});

test.each(["26", "x", "1999", "2026.5"])("§7 delivery_year=%s is no year", async (year) => {
  const answer = await world.get(`/v1/ere-positions?delivery_year=${year}`, await world.partnerA.client.token());
  expect([answer.status, answer.body.error]).toEqual([400, "invalid_request"]);
});

describe("contract §3 figures that are published while a sale is recorded have its price", () => {
  const sale = (reference: string) => ({ reference, ere: "10", price: "0.40", buyer: "B" });
  let here: { partner: string };
  beforeAll(async () => {
    const partner = await world.addPartner();
    await world.customer({ "2026-04": 100 }, partner);
    here = await world.row("select slug as partner from core.partners where id = $1", partner.id);
    await world.done(`booking open 2026-Q2 --partner ${here.partner}`);
    await world.done(`booking submit 2026-Q2 --partner ${here.partner}`);
    await world.done(`booking credit 2026-Q2 --partner ${here.partner}`);
  });

  test.each([
    ["the sale first", "R-3"],
    ["the figures first", "R-4"],
  ])("%s", async (order, reference) => {
    await world.database.admin.query(
      "delete from core.figures f using core.partners p where p.id = f.partner_id and p.slug = $1",
      [here.partner],
    );
    const record = `select ops.sale_record('${JSON.stringify({ ...here, booking: "2026-Q2", ...sale(reference) })}')`;
    const publish = `select ops.figures_publish('${JSON.stringify({ ...here, delivery_year: 2026 })}')`;
    const [first, second] = order === "the sale first" ? [record, publish] : [publish, record];
    const [one, other] = [await world.database.admin.connect(), await world.database.admin.connect()];
    try {
      await one.query("begin");
      await one.query(first);
      const later = other.query(second);
      await expect
        .poll(() => world.row("select count(*)::int as n from pg_locks where locktype = 'advisory' and not granted"))
        .toEqual({ n: 1 });
      await one.query("commit");
      await later;
    } finally {
      one.release();
      other.release();
    }
    const { price } = await world.row(
      "select f.price::float as price from core.figures f join core.partners p on p.id = f.partner_id where p.slug = $1",
      here.partner,
    );
    expect(price).toBe(0.4);
  });
});
