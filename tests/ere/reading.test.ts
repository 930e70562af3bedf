// What people and partners read of ERE and euro, from a month that counts to a payment that arrived.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import * as z from "zod";
import { ROOT } from "#local/checkout.ts";
import { newPartnerKey } from "#shared/auth/tokens.ts";
import { sealIban } from "#shared/values/iban.ts";
import { addConnection } from "../harness/connections.ts";
import { giveMandate } from "../harness/mandate.ts";
import { createPayoutWorld, type PayoutWorld } from "./payout_world.ts";
import { addChargingPerson, type Charging } from "./person.ts";

let world: PayoutWorld;
let key: string;
beforeEach(async () => {
  world = await createPayoutWorld();
  const { api_key, stored } = newPartnerKey(world.environment.config);
  key = api_key;
  await world.row(
    "insert into core.partner_keys (partner_id, key_hash, prefix, last4) values ($1, decode($2, 'hex'), $3, $4)",
    world.partnerA.id,
    stored.key_hash,
    stored.prefix,
    stored.last4,
  );
  const { ciphertext, key_id, last4 } = sealIban(world.environment, world.partnerA.id, "DE89370400440532013000");
  await world.row(
    "update core.partners set iban_ciphertext = $2, iban_key_id = $3, iban_last4 = $4, iban_holder = 'P' where id = $1",
    world.partnerA.id,
    ciphertext,
    key_id,
    last4,
  );
  await world.row("update core.partners set iban_changed_at = '2026-01-01'");
});
afterEach(() => world.close());

/** A person whom the partner brought in February, with an IBAN that they have had for long. */
async function person(): Promise<Charging> {
  const one = await addChargingPerson(world);
  await world.row("select private.reserve_customer($1, $2, 'manual')", one.id, world.partnerA.id);
  await world.row("update core.attributions set attached_month = '2026-02-01'");
  await world.setIban({ ...one, ean_code: "" }, "NL91ABNA0417164300");
  return one;
}
const position = async (one: Charging) => (await world.get("/ere-position", await one.token())).body;
const quarters = async (one: Charging) =>
  (await position(one)).quarters.map(({ quarter, ...rest }: { quarter: string }) => [quarter, rest]);
const payouts = async () => (await world.get("/partner/payouts", key)).body.payouts;
const book = async (quarter: string) => {
  for (const step of ["open", "submit", "credit"]) await world.done(`booking ${step} ${quarter} --partner service`);
};
const sell = (quarter: string, ere: number, price: number, reference: string) =>
  world.done(
    `sale record ${quarter} --partner service --ere ${ere} --price ${price} --buyer B --reference ${reference}`,
  );
const settle = async (...failed: string[]) => {
  const { batch_id } = await world.exported();
  expect(
    (await world.anna(["payout", "settle", batch_id, ...(failed.length ? ["--failed", ...failed] : [])])).code,
  ).toBe(0);
  return batch_id;
};

test("contract §6 a quarter is open, closed, sold once any of it is, and paid once all that was sold is", async () => {
  const one = await person();
  for (const period of ["2026-01", "2026-04", "2026-05", "2026-07"]) await one.charge(period, 100_000);
  const nothing = { sold_ere: 0, price_per_ere: null, revenue_eur: null, sold_at: null };
  expect(await position(one)).toMatchObject({ kwh: 400, reserved_ere: 0, sold_ere: 0 });
  expect(await quarters(one)).toEqual([
    ["2026-Q1", expect.objectContaining({ kwh: 100, ere_credits: 33.27, ...nothing, status: "closed" })],
    ["2026-Q2", expect.objectContaining({ kwh: 200, ere_credits: 66.54, ...nothing, status: "closed" })],
    ["2026-Q3", expect.objectContaining({ kwh: 100, ere_credits: 33.27, ...nothing, status: "open" })],
  ]);
  await book("2026-Q2");
  expect(await position(one)).toMatchObject({ reserved_ere: 66.54, sold_ere: 0 });

  await sell("2026-Q2", 20, 0.5, "R-1");
  // 10 euro less 20 %
  const sold = {
    kwh: 200,
    ere_credits: 66.54,
    sold_ere: 20,
    price_per_ere: 0.5,
    revenue_eur: 8,
    sold_at: "2026-08-14T22:00:00Z",
  };
  expect(await position(one)).toMatchObject({ reserved_ere: 46.54, sold_ere: 20 });
  const second = async () => (await position(one)).quarters[1];
  expect(await second()).toMatchObject({ quarter: "2026-Q2", ...sold, status: "sold" });
  const batch = await settle();
  expect(await second()).toMatchObject({ ...sold, status: "paid" });

  // more of it is sold, and not paid yet; at 0.50 and 0.60 for an ERE
  await sell("2026-Q2", 20, 0.6, "R-2");
  const more = { ...sold, sold_ere: 40, price_per_ere: 0.55, revenue_eur: 17.6 };
  expect(await second()).toMatchObject({ ...more, status: "sold" });
  await settle();
  expect(await second()).toMatchObject({ ...more, status: "paid" });
  // what came back from the bank is not paid
  const line = (await world.linesOf(batch)).find(({ payee }) => payee === one.account_id);
  expect((await world.anna(["payout", "settle", "--failed", String(line?.line_id)])).code).toBe(0);
  expect(await second()).toMatchObject({ ...more, status: "sold" });
  expect((await position(await person())).quarters).toMatchObject(Array(3).fill({ kwh: 0, sold_ere: 0 }));
});

test("contract §6 what is paid, payable and not sold, and what it may bring: each ERE and cent is in one place", async () => {
  const one = await person();
  for (const period of ["2026-01", "2026-04", "2026-05", "2026-07"]) await one.charge(period, 100_000);
  await book("2026-Q2");
  await sell("2026-Q2", 20, 0.5, "R-1");
  const paid = { ere: 20, net_eur: 8, price_per_ere: 0.5 };
  const none = { ere: 0, net_eur: 0, price_per_ere: null };
  // 400 kWh in seven months: 57.142857 in each of five more
  const ere = { ytd_ere: 113.08, future_ere: 95.06, ere: 208.13 };
  // the figures are not published
  expect(await position(one)).toMatchObject({
    ...{ paid: none, payable: paid, reserved: none, unsold: { ...ere, ytd_forecast_net_eur: null } },
    ...{ realized_avg_price: 0.5, indicative_price_per_ere: null, ytd_expected_eur: null, total_expected_eur: null },
  });
  await settle();
  await sell("2026-Q2", 20, 0.6, "R-2");
  await world.done("figures publish 2026");
  // the fee of what is not booked changes; what is booked keeps its own
  await world.row("update core.mandates set fee_pct = 10 where connection_id = $1", one.connection_id);
  expect(await position(one)).toMatchObject({
    effective_fee_pct: null,
    paid,
    payable: { ere: 20, net_eur: 9.6, price_per_ere: 0.6 },
    unsold: {
      ...{ ytd_ere: 93.08, future_ere: 95.06, ere: 188.13 },
      // by quarter: 33.2694 x 0.55 = 18.30 - 1.83, 26.5388 x 0.55 = 14.60 - 2.92, and as the first
      ytd_forecast_net_eur: 44.62,
      // 95.055429 x 0.55 = 52.28 - 5.22
      ...{ future_forecast_net_eur: 47.06, forecast_net_eur: 91.68 },
    },
    ...{ ytd_expected_eur: 62.22, total_expected_eur: 109.28 },
    ...{ realized_avg_price: 0.55, indicative_price_per_ere: 0.55 },
    // of Q1 and Q3
    ...{ allocatable_ere: 93.08, pending_ere: 66.54, pending_forecast_net_eur: 32.94 },
    ...{ forecast_is_projected: true, forecast_history_days: 212, forecast_confidence: null },
    quarters: [
      { ere: 33.27, unsold_ere: 33.27, realized_net_eur: 0, net_eur_by_status: { paid: 0, payable: 0 }, final: true },
      {
        ...{ ere: 66.54, unsold_ere: 26.54, realized_net_eur: 17.6 },
        ...{ net_eur_by_status: { paid: 8, payable: 9.6, reserved: 0 }, final: true },
      },
      { unsold_ere: 33.27, realized_net_eur: 0, final: false },
    ],
  });

  // what is to come is shared out as the past months were: a second connection without charging takes no part
  const connection_id = await addConnection(world, one.account_id);
  await giveMandate(world, { ...one, connection_id });
  const { unsold } = await position(one);
  expect(unsold).toMatchObject({ future_ere: 95.06, future_forecast_net_eur: 47.06 });

  // a sale that was paid is taken back: the next sale pays the debt first, and what it pays is settled
  await world.done("sale reverse R-1 --reason test --recover --yes");
  expect(await position(one)).toMatchObject({
    paid: { ere: 16.67, net_eur: 8, price_per_ere: 0.6 },
    payable: { ere: 3.33, net_eur: 1.6, price_per_ere: 0.6 },
  });
  // at the turn of the year in Amsterdam it starts again
  await world.freeze("2026-12-31T23:00:00Z");
  expect(await position(one)).toMatchObject({
    ...{ compliance_year: 2027, paid: none, payable: none, unsold: { ytd_ere: 0 }, quarters: [{ final: false }] },
  });
});

test("contract §6 of a credited month the kWh count that the register accepted", async () => {
  const one = await person();
  await one.charge("2026-04", 100_000);
  await world.done("booking open 2026-Q2 --partner service");
  await world.done("booking submit 2026-Q2 --partner service");
  const { id } = await world.row("select id from core.booking_rows");
  const { writeFileSync } = await import("node:fs");
  const file = join(world.folder, "credit.csv");
  writeFileSync(file, `row_id,accepted_kwh,reason\n${id},60,meter\n`);
  await world.done(["booking", "credit", "2026-Q2", "--partner", "service", "--file", file]);
  expect(await position(one)).toMatchObject({ kwh: 60, reserved_ere: 19.96 });
  expect((await world.get("/energy", await one.token())).body).toMatchObject({
    total_kwh: 100,
    total_ere_credits: 19.96,
  });
});

test("contract §4 a partner's payouts: a row a quarter from the first sale on, of its accounts and of the people it brought", async () => {
  const one = await person();
  // January is before the partner brought them
  for (const period of ["2026-01", "2026-02", "2026-04"]) await one.charge(period, 100_000);
  await book("2026-Q1");
  await book("2026-Q2");
  expect(await payouts()).toEqual([]);
  await sell("2026-Q1", 20, 1, "R-1");
  await world.sold([100]); // of its own account, April, 1 ERE of 10 kWh
  // fees of 2 and 20 euro, a quarter of them
  const q1 = { period: "2026-Q1", customers: 1, kwh: 100, ere_units: 10, partner_share_eur: 0.5 };
  const q2 = { period: "2026-Q2", customers: 1, kwh: 10, ere_units: 1, partner_share_eur: 5 };
  const open = { payout_id: expect.any(String), vat_eur: 0, paid_at: null, invoice_number: null, status: "pending" };
  const rows = await payouts();
  expect(rows).toEqual([
    { ...q2, ...open },
    { ...q1, ...open },
  ]);
  expect(new Set(rows.map(({ payout_id }: { payout_id: string }) => payout_id)).size).toBe(2);
  const { PartnerPayouts } = JSON.parse(readFileSync(join(ROOT, "openapi.json"), "utf8")).components.schemas;
  const described = z.fromJSONSchema(PartnerPayouts.properties.payouts);
  expect(described.safeParse(rows).error, "generated validators take what is answered").toBeUndefined();

  const prepared = (await world.anna("payout prepare")).json.batch.batch_id;
  expect(await payouts()).toMatchObject([{ status: "pending" }, { status: "pending" }]);
  await world.bram(["payout", "approve", prepared]);
  expect(await payouts()).toMatchObject([{ status: "approved" }, { status: "approved" }]);
  await world.anna(["payout", "export", prepared, "--out", join(world.folder, "p.xml")]);
  await world.freeze("2026-08-16T12:00:00Z");
  await world.anna(["payout", "settle", prepared]);
  const paid = { status: "paid", paid_at: "2026-08-16T12:00:00Z" };
  expect(await payouts()).toMatchObject([
    { ...q2, ...paid },
    { ...q1, ...paid },
  ]);

  // more is sold of the second quarter: that one is pending again
  await sell("2026-Q2", 10, 1, "R-2");
  expect(await payouts()).toMatchObject([
    {
      period: "2026-Q2",
      customers: 2,
      kwh: 110,
      ere_units: 11,
      partner_share_eur: 5.5,
      status: "pending",
      paid_at: null,
    },
    { ...q1, ...paid },
  ]);
  const line = (await world.linesOf(prepared)).find(({ payee }) => payee === world.partnerA.id);
  await world.anna(["payout", "settle", "--failed", String(line?.line_id)]);
  expect(await payouts()).toMatchObject([{ status: "failed" }, { status: "failed", paid_at: null }]);
  expect((await payouts()).map(({ payout_id }: { payout_id: string }) => payout_id)).toEqual(
    rows.map(({ payout_id }: { payout_id: string }) => payout_id),
  );
});

test("contract §4 the dashboard estimates the share in what is not sold yet, at the last average price, cut to the cent", async () => {
  const one = await person();
  for (const period of ["2026-01", "2026-04", "2026-07"]) await one.charge(period, 100_000);
  const share = async () => (await world.get("/partner/dashboard", key)).body.partner_share_estimated_eur;
  expect(await share()).toBe(0);
  await book("2026-Q2");
  await sell("2026-Q2", 10, 0.5, "R-1");
  expect(await share()).toBe(0);
  await world.done("figures publish 2026");
  // 66.5388 ERE since February, of which 10 are sold: 56.5388 x 0.50 x 20 % x 25 % = 1.41347
  expect(await share()).toBe(1.41);
  await sell("2026-Q2", 20, 0.8, "R-2");
  // 36.5388 left, at 21 euro for 30 ERE
  expect(await share()).toBe(1.27);
  // a later percentage changes nothing that was agreed
  await world.done("partner set partner-a --fee-pct 90 --share-pct 90");
  expect(await share()).toBe(1.27);
});
