import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readPdf, renderAll } from "../harness/pdf.ts";
import { giveKey } from "../partner/partner_world.ts";
import type { Customer } from "./ere_world.ts";
import { createPayoutWorld, type PayoutWorld } from "./payout_world.ts";

let world: PayoutWorld;
beforeEach(async () => {
  world = await createPayoutWorld();
});
afterEach(() => world.close());

const issue = (...more: string[]) => world.done(["invoice", "issue", "2026-Q2", ...more]);
const regime = (name: string, vat: string | null = "NL001234567B01", partner = "partner-a") =>
  Promise.all([
    world.done(`partner set ${partner} --vat-regime ${name}`),
    world.row(
      "update core.partners set company = company || $1 where slug = $2",
      { name: "Laadpunt B.V.", vat, street: "Kade", house_number: "1", city: "Breda" },
      partner,
    ),
  ]);
const reverse = (reference: string, ...more: string[]) =>
  world.done(["sale", "reverse", reference, "--reason", "x", ...more]);

describe("contract §3 invoice issue", () => {
  test("contract §3 an invoice is of the share in a quarter, with VAT on top, once; what is sold later has one of its own", async () => {
    // shares 5 and 1.67 euro
    const [customer] = await world.sold([100, 33.5]);
    await regime("regular");
    const { invoices, left_out } = await issue();
    expect([invoices, left_out]).toEqual([
      [
        {
          invoice_id: expect.any(String),
          number: "2026-0001",
          partner_slug: "partner-a",
          name: "Laadpunt B.V.",
          corrects: null,
          quarter: "2026-Q2",
          issued_on: "2026-08-15",
          issued_by: "operator",
          vat_regime: "regular",
          vat_rate: 21,
          net_eur: 6.67,
          vat_eur: 1.4, // 1.4007
          total_eur: 8.07,
        },
      ],
      [],
    ]);
    await world.agrees();
    expect(await issue()).toEqual({ changed: false, invoices: [], left_out: [] });
    await world.sold([50], { period: "2026-06" });
    await world.sold([50], { period: "2026-01" });
    expect((await issue()).invoices).toMatchObject([{ number: "2026-0002", net_eur: 2.5, vat_eur: 0.53 }]);
    expect((await world.done("invoice issue 2026-Q1")).invoices).toMatchObject([
      { number: "2026-0003", quarter: "2026-Q1" },
    ]);
    expect((await world.done("invoice list 2026-q2")).invoices.map(({ number }: { number: string }) => number)).toEqual(
      ["2026-0002", "2026-0001"],
    );
    expect((await world.done("invoice show partner-a 2026-0001")).months).toEqual([
      { period: "2026-04", customers: 2, ere: 2, fee_eur: 26.7, share_eur: 6.67 },
    ]);
    await world.refused("invoice show partner-a 2026-0009", "partner-a has no invoice 2026-0009");
    await world.agrees();
    // a year of issue begins again
    await world.freeze("2027-01-02T12:00:00Z");
    await world.sell(customer as Customer, 10, "2026-05");
    expect((await issue()).invoices).toMatchObject([{ number: "2027-0001", net_eur: 0.5 }]);
    await world.agrees();
  });

  test.each([
    ["none", null, 0],
    ["small_business", null, 0],
    ["reverse_charge", "DE123456789", 0],
    ["regular", "NL001234567B01", 1.05],
  ])("contract §3 VAT of the regime %s", async (name, vat, vat_eur) => {
    await world.sold([100]);
    await regime(name, vat);
    expect((await issue()).invoices).toMatchObject([{ vat_regime: name, vat_eur, total_eur: 5 + vat_eur }]);
    await world.agrees();
  });

  test("contract §3 a partner whose regime nobody knows, or whose VAT number is missing, is left out and named", async () => {
    await world.sold([100]);
    expect(await issue()).toEqual({
      changed: false,
      invoices: [],
      left_out: [{ partner_slug: "partner-a", net_eur: 5, reason: "vat_regime_missing" }],
    });
    const left_out = async () => (await issue()).left_out.map(({ reason }: { reason: string }) => reason);
    for (const [name, vat, reason] of [
      ["regular", null, "vat_number_missing"],
      ["regular", "DE123456789", "vat_number_not_dutch"],
      ["reverse_charge", "", "vat_number_missing"],
      ["reverse_charge", "nl 0012.34567.B01", "vat_number_dutch"],
    ] as const) {
      await regime(name, vat);
      expect(await left_out()).toEqual([reason]);
    }
    await regime("regular");
    await world.row("update core.partners set company = company - 'city' where slug = 'partner-a'");
    expect(await left_out()).toEqual(["address_missing"]);
    // the numbers begin where the first is issued
    await regime("regular", "NL 0012.34567.B01");
    expect((await issue()).invoices).toMatchObject([{ number: "2026-0001" }]);
    expect((await world.run("partner set partner-a --vat-regime sometimes")).code).toBe(2);
  });

  test("contract §3 what was invoiced and taken back comes as a credit note that mirrors it; without an invoice nothing is left", async () => {
    await world.sold([100, 50]);
    await regime("regular");
    await issue();
    await reverse("V-1");
    expect((await issue()).invoices).toMatchObject([
      { number: "2026-0002", corrects: "2026-0001", net_eur: -5, vat_eur: -1.05, total_eur: -6.05 },
    ]);
    await world.agrees();
    expect(await world.balances("vat")).toEqual({ [world.partnerA.id]: 0.53 });
    // sold and taken back between two invoices
    await world.sold([100], { period: "2026-05" });
    await reverse("V-3");
    expect((await issue()).changed).toBe(false);
    await world.agrees();
  });

  test("contract §3 the VAT of several credit notes comes to that of their invoice, to the cent", async () => {
    // shares of 3.35 each: 10.05 has 2.11 of VAT (2.1105), and 3.35 has 0.70 (0.7035)
    await world.sold([67, 67, 67]);
    await regime("regular");
    expect((await issue()).invoices).toMatchObject([{ net_eur: 10.05, vat_eur: 2.11 }]);
    const vat: number[] = [];
    for (const reference of ["V-1", "V-2", "V-3"]) {
      await reverse(reference);
      const [note] = (await issue()).invoices;
      expect(note).toMatchObject({ corrects: "2026-0001", net_eur: -3.35 });
      vat.push(note.vat_eur);
      await world.agrees();
    }
    expect(vat).toEqual([-0.7, -0.71, -0.7]);
    expect(await world.balances("vat")).toEqual({});
  });

  test("contract §3 a credit note has the rate of its invoice, whatever the regime is by now", async () => {
    const [customer] = await world.sold([100]);
    await regime("regular");
    await issue();
    await regime("none", null);
    await reverse("V-1");
    await world.sell(customer as Customer, 40, "2026-05");
    expect((await issue()).invoices).toMatchObject([
      { number: "2026-0002", corrects: "2026-0001", vat_regime: "regular", vat_rate: 21, vat_eur: -1.05 },
      { number: "2026-0003", corrects: null, vat_regime: "none", net_eur: 2, vat_eur: 0 },
    ]);
    await world.agrees();
    expect(await world.balances("vat")).toEqual({});
    expect((await issue()).changed).toBe(false);
  });

  test.each([
    ["of a quarter that runs", "2026-Q3", "2026-Q3 is not over"],
    ["of one to come", "2026-Q4", "2026-Q4 has not begun"],
    ["of no quarter", "2026-Q5", "A quarter is written"],
    ["before there were any", "2025-Q4", "A quarter is written"],
    ["of one to come in a year without a factor", "2031-Q1", "2031-Q1 has not begun"],
    ["of nobody", "2026-Q2 --partner nobody", "nobody"],
    ["of the house", "2026-Q2 --partner service", "service"],
  ])("contract §3 no invoice is issued %s", async (_, command, refusal) => {
    await world.refused(`invoice issue ${command}`, refusal);
    expect((await world.done("invoice list")).invoices).toEqual([]);
  });

  test.each(["2027-01-15", "2027-04-15"])(
    "contract §3 no invoice is issued of a year without a factor, on %s",
    async (day) => {
      await world.travel(`${day}T12:00:00Z`);
      await world.refused("invoice issue 2027-Q1", "There is no factor for 2027 yet");
      expect((await world.done("invoice list")).invoices).toEqual([]);
    },
  );

  test("contract §3 what is sold while an invoice is written is on the next one", async () => {
    const [customer] = await world.sold([100]);
    await regime("regular");
    await Promise.all([issue(), world.sell(customer as Customer, 40, "2026-05")]);
    await issue();
    const { invoices } = await world.done("invoice list");
    const nets = invoices.map(({ net_eur }: { net_eur: number }) => net_eur);
    expect(nets.reduce((sum: number, net: number) => sum + net, 0)).toBe(7);
    await world.agrees();
  });

  test("contract §3 VAT is paid with the next payout, and is no part of what sales brought", async () => {
    const [customer] = await world.sold([100]);
    await regime("regular");
    await issue();
    await world.row(
      "update core.partners set iban_ciphertext = a.iban_ciphertext, iban_key_id = a.iban_key_id, iban_last4 = '4300', iban_holder = 'P' from core.accounts a where partners.id = a.partner_id and a.id = $1",
      customer?.account_id,
    );
    await world.row("update core.partners set iban_changed_at = '2026-01-01'");
    const { batch_id } = await world.exported();
    const lines = await world.linesOf(batch_id);
    expect(lines.find(({ payee }) => payee === world.partnerA.id)).toMatchObject({ amount_eur: 6.05 });
    await world.anna(["payout", "settle", batch_id]);
    await world.agrees();
    // the share of another sale is not paid by the VAT of this one
    await world.sell(customer as Customer, 10, "2026-05");
    expect(await reverse("V-2")).toMatchObject({ reversed: 1, paid_out: 0 });
    await world.agrees();
  });

  test("contract §3 of ten at once one invoices; of ten quarters and partners the numbers have no gaps", async () => {
    await world.sold([100]);
    await world.sold([100], { period: "2026-01" });
    await world.sold([100], { partner: world.partnerB });
    await regime("regular");
    await regime("none", null, "partner-b");
    const ran = await Promise.all(
      Array.from({ length: 12 }, (_, n) => world.run(`invoice issue 2026-Q${(n % 2) + 1}`)),
    );
    expect(ran.map(({ code }) => code)).toEqual(Array(12).fill(0));
    const numbers = ran.flatMap(({ json }) =>
      json.invoices.map((i: Record<string, string>) => `${i.partner_slug} ${i.number}`),
    );
    expect(numbers.sort()).toEqual(["partner-a 2026-0001", "partner-a 2026-0002", "partner-b 2026-0001"]);
    await world.agrees();
  });

  test("contract §3 a rate of VAT is that of the day of issue; one that was used stays", async () => {
    await world.sold([100]);
    await regime("regular");
    await world.done("vat set 2026-08-15 22.5");
    expect((await issue()).invoices).toMatchObject([{ vat_rate: 22.5, vat_eur: 1.13 }]); // 1.125
    await world.refused("vat set 2026-08-15 21", "so that rate cannot change");
    await world.refused("vat set 2026-01-01 21", "so that rate cannot change");
    expect((await world.done("vat set 2026-08-15 22.5")).changed).toBe(false);
    await world.done("vat set 2027-01-01 23");
    expect((await world.done("vat list")).rates).toEqual([
      { valid_from: "2027-01-01", rate: 23 },
      { valid_from: "2026-08-15", rate: 22.5 },
      { valid_from: "2012-10-01", rate: 21 },
    ]);
    for (const wrong of ["2027-13-01 21", "soon 21", "2027-01-01 101", "2027-01-01 21.555"])
      await world.refused(`vat set ${wrong}`, "A rate of VAT is a percentage");
  });

  test("contract §4 the partner sees the number and the VAT of its quarter", async () => {
    await world.sold([100]);
    await regime("regular");
    const payouts = async () => {
      const { rows } = await world.database.admin.query("select private.partner_payouts($1) as payouts", [
        world.partnerA.id,
      ]);
      return rows[0].payouts;
    };
    expect(await payouts()).toMatchObject([{ vat_eur: 0, invoice_number: null }]);
    await issue();
    expect(await payouts()).toMatchObject([
      { period: "2026-Q2", partner_share_eur: 5, vat_eur: 1.05, invoice_number: "2026-0001" },
    ]);
  });
});

test("§4.2 contract §3 a quarter with a share of 0.00 is none_due: nothing is paid, and nothing told", async () => {
  // of 10 cents a fee of 2, and of that a quarter
  const [customer] = await world.sold([0.1]);
  const key = await giveKey(world, world.partnerA.id);
  const payouts = async () => (await world.get("/partner/payouts", key)).body.payouts;
  expect(await payouts()).toMatchObject([
    { period: "2026-Q2", customers: 1, ere_units: 1, partner_share_eur: 0, status: "none_due", paid_at: null },
  ]);
  const { batch_id } = await world.exported("--minimum 0");
  await world.anna(["payout", "settle", batch_id]);
  expect(await payouts()).toMatchObject([{ status: "none_due", paid_at: null }]);
  expect(await world.row("select count(*)::int as told from core.announced_payouts")).toEqual({ told: 0 });
  await world.sell(customer as Customer, 100, "2026-05");
  expect(await payouts()).toMatchObject([{ partner_share_eur: 5, status: "pending", paid_at: null }]);
});

test("§4.2 contract §3 a partner lists its invoices and saves them as PDF, and no other's", async () => {
  await world.sold([100, 33.5]);
  await regime("regular");
  await issue();
  await reverse("V-1");
  await issue();
  const [key, other] = [await giveKey(world, world.partnerA.id), await giveKey(world, world.partnerB.id)];
  const listed = await world.get("/partner/invoices", key);
  const note = { number: "2026-0002", corrects: "2026-0001", net_eur: -5, vat_eur: -1.05, total_eur: -6.05 };
  expect(listed.body.invoices).toEqual([
    { period: "2026-Q2", issued_on: "2026-08-15", vat_regime: "regular", vat_rate: 21, ...note },
    { ...listed.body.invoices[1], number: "2026-0001", corrects: null, net_eur: 6.67, vat_eur: 1.4, total_eur: 8.07 },
  ]);
  expect((await world.get("/partner/invoices", other)).body.invoices).toEqual([]);
  expect(await world.get("/partner/invoices/2026-0002", key)).toMatchObject({ status: 503 });
  await renderAll(world);
  const { status, headers, body } = await world.get("/partner/invoices/2026-0002", key);
  expect([status, headers.get("content-disposition")]).toEqual([200, 'inline; filename="invoice-2026-0002.pdf"']);
  const { text } = await readPdf(body);
  for (const said of ["Creditfactuur 2026-0002", "factuur 2026-0001", "\u2212 € 6,05", "april 2026", "Laadpunt B.V."])
    expect(text).toContain(said);
  for (const [number, bearer] of [
    ["2026-0003", key],
    ["2026-1", key],
    ["x", key],
    ["2026-0001", other],
  ])
    expect(await world.get(`/partner/invoices/${number}`, bearer)).toMatchObject({
      status: 404,
      body: { error: "invoice_not_found" },
    });
});

test("contract §3 a customer's year: what was sold in it, what was taken back, and what was paid", async () => {
  const [customer] = await world.sold([100]);
  const { batch_id } = await world.exported();
  await world.anna(["payout", "settle", batch_id]);
  await world.sell(customer as Customer, 50, "2026-05");
  await world.sell(customer as Customer, 10, "2026-01");
  await reverse("V-2");
  const { overview } = await world.done(`payout overview ${customer?.account_id} 2026`);
  expect(overview).toEqual({
    account_id: customer?.account_id,
    year: 2026,
    currency: "EUR",
    kwh_sold: 6.012, // at 0.332694 ERE a kWh
    ere_sold: 2,
    gross_eur: 110,
    fee_eur: 22,
    net_eur: 88,
    paid_eur: 80,
    sales: [
      {
        sold_on: "2026-08-15",
        quarter: "2026-Q1",
        price_per_ere_eur: 10,
        kwh: 3.006,
        ere: 1,
        gross_eur: 10,
        fee_eur: 2,
        net_eur: 8,
      },
      {
        sold_on: "2026-08-15",
        quarter: "2026-Q2",
        price_per_ere_eur: 50,
        kwh: 3.006,
        ere: 1,
        gross_eur: 50,
        fee_eur: 10,
        net_eur: 40,
      },
      {
        sold_on: "2026-08-15",
        quarter: "2026-Q2",
        price_per_ere_eur: 50,
        kwh: -3.006,
        ere: -1,
        gross_eur: -50,
        fee_eur: -10,
        net_eur: -40,
      },
      {
        sold_on: "2026-08-15",
        quarter: "2026-Q2",
        price_per_ere_eur: 100,
        kwh: 3.006,
        ere: 1,
        gross_eur: 100,
        fee_eur: 20,
        net_eur: 80,
      },
    ],
    payments: [
      {
        paid_on: "2026-08-15",
        amount_eur: 80,
        to: "customer",
        reference: expect.stringMatching(/^[0-9A-Z]{10}$/),
        iban: "**** 4300",
      },
    ],
  });
  expect((await world.done(`payout overview ${customer?.account_id} 2027`)).overview).toMatchObject({
    net_eur: 0,
    sales: [],
  });
  const { rows } = await world.database.admin.query("select cpo_external_ref from core.accounts where id = $1", [
    customer?.account_id,
  ]);
  expect((await world.done(`payout overview ${rows[0].cpo_external_ref} 2026`)).overview).toEqual(overview);
  await world.refused("payout overview nobody 2026", 'No account matches "nobody"');
});
