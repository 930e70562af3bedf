// The worked examples of docs/ere.md, to the cent.

import { afterAll, beforeAll, expect, test } from "vitest";
import { createEreWorld, type EreWorld, rowsOf } from "./ere_world.ts";

let world: EreWorld;
beforeAll(async () => {
  world = await createEreWorld();
});
afterAll(() => world.close());

test("contract §3 42.370 kWh of 2026 are 14.096244780 ERE, of which 14.096244 are credited and 14.10 shown", async () => {
  await world.customer({ "2026-01": 42.37 });
  const preview = await world.done("booking preview 2026-Q1");
  expect(preview.total).toEqual({ months: 1, kwh: 42.37, ere: 14.09624478 });
  const { bookings } = await world.done("booking open 2026-Q1");
  await world.done("booking submit 2026-Q1");
  await world.done("booking credit 2026-Q1");
  expect(await rowsOf(world, bookings[0].booking_id)).toMatchObject([{ kwh: "42.370", ere: "14.096244" }]);
  await world.agrees();
});

test("contract §3 three ERE of twelve rows at 0.42: 1.26 in parts of 0.11 and 0.10, fees of 0.02, no share of a cent", async () => {
  for (let n = 0; n < 12; n += 1) await world.customer({ "2026-06": 100 });
  await world.done("booking open 2026-Q2");
  await world.done("booking submit 2026-Q2");
  const { booking } = await world.done("booking credit 2026-Q2");
  expect(booking).toMatchObject({ rows: 12, registered: 12, accepted_kwh: 1200, ere: 399.2328 });
  const { sale } = await world.done([
    ..."sale record 2026-Q2 --ere 3 --price 0.42 --reference V-1".split(" "),
    "--buyer",
    "Brandstof N.V.",
  ]);
  expect(sale).toMatchObject({ gross_eur: 1.26, rows: 12, customers_eur: 1.02, partners_eur: 0, service_eur: 0.24 });

  const { allocations } = await world.done("sale show V-1");
  // by row id, and of equal remainders the first ids get the cents
  expect(allocations.map(({ gross_eur }: { gross_eur: number }) => gross_eur)).toEqual([
    ...Array(6).fill(0.11),
    ...Array(6).fill(0.1),
  ]);
  for (const { ere, fee_eur, partner_share_eur } of allocations)
    expect({ ere, fee_eur, partner_share_eur }).toEqual({ ere: 0.25, fee_eur: 0.02, partner_share_eur: 0 });
  await world.agrees();
});
