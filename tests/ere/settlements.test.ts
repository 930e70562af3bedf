// What a CPO that settles with its customers itself reads of payments to it.

import Papa from "papaparse";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sealIban } from "#shared/values/iban.ts";
import { readPdf, renderAll } from "../harness/pdf.ts";
import { withoutIds } from "../harness/without_ids.ts";
import type { Customer } from "./ere_world.ts";
import { createPayoutWorld, type PayoutWorld } from "./payout_world.ts";

let world: PayoutWorld;
let token: string;
let customers: Customer[];
const VIA = { fields: { payout_handler: "via_cpo_invoicing" } };
beforeAll(async () => {
  world = await createPayoutWorld();
  token = await world.partnerA.client.token();
  customers = await world.sold([100, 50], VIA);
  await world.sold([70]); // whom the service pays itself
  const { ciphertext, key_id, last4 } = sealIban(world.environment, world.partnerA.id, "DE89370400440532013000");
  await world.row(
    "update core.partners set iban_ciphertext = $2, iban_key_id = $3, iban_last4 = $4, iban_holder = '=P' where id = $1",
    world.partnerA.id,
    ciphertext,
    key_id,
    last4,
  );
  await world.row("update core.partners set iban_changed_at = '2026-01-01'");
});
afterAll(() => world.close());

const read = async (query = "", bearer = token) => {
  const { status, body } = await world.get(`/v1/settlements${query}`, bearer);
  expect(status).toBe(200);
  return body;
};

test("§4.1 contract §3 GET /v1/settlements: one for each account and payment, from prepared to paid, and back", async () => {
  expect(await read()).toEqual({ settlements: [], limit: 50, offset: 0, count: 0, has_more: false });
  const { batch_id } = (await world.anna("payout prepare")).json.batch;
  const first = await read();
  expect(first.settlements).toHaveLength(2);
  expect(first.settlements).toContainEqual({
    settlement_id: expect.any(String),
    account_id: customers[0]?.account_id,
    cpo_external_ref: expect.stringMatching(/^KL-/),
    amount_eur: 80,
    status: "pending",
    payment_reference: expect.stringMatching(/^[0-9a-f]{32}$/),
    created_at: "2026-08-15T12:00:00Z",
    paid_at: null,
  });
  await world.bram(["payout", "approve", batch_id]);
  expect((await read()).settlements[0].status).toBe("approved");
  await world.anna(["payout", "export", batch_id, "--out", `${world.folder}/s.xml`]);
  await world.anna(["payout", "settle", batch_id]);
  expect((await read()).settlements[0]).toMatchObject({ status: "paid", paid_at: "2026-08-15T12:00:00Z" });

  // taken back after it was paid: the next payment is the less
  await world.done(["sale", "reverse", "V-2", "--reason", "x", "--recover"]);
  await world.sell(customers[0] as Customer, 100, "2026-05");
  await world.exported();
  const { settlements } = await read("?limit=2");
  expect(settlements.map(({ amount_eur }: { amount_eur: number }) => amount_eur).sort()).toEqual([-40, 80]);
  expect((await read()).settlements).toHaveLength(4);
  expect(await read("?limit=2")).toMatchObject({ count: 2, has_more: true });
  expect(await read("?limit=2&offset=2")).toMatchObject({ count: 2, has_more: false });
  // across payments, wherever a page begins
  const all = (await read()).settlements;
  for (const limit of [1, 2, 3])
    for (const offset of all.keys())
      expect((await read(`?limit=${limit}&offset=${offset}`)).settlements).toEqual(all.slice(offset, offset + limit));
  expect((await read(`?offset=${all.length}`)).settlements).toEqual([]);
  const { payment_reference, cpo_external_ref } = settlements[0];
  expect((await read(`?payment_reference=${payment_reference}`)).settlements).toEqual(settlements);
  expect((await read(`?payment_reference=${payment_reference}&cpo_external_ref=${cpo_external_ref}`)).count).toBe(1);
  for (const none of ["?payment_reference=x", "?cpo_external_ref=x"]) expect((await read(none)).count).toBe(0);

  await world.anna(["payout", "settle", "--failed", payment_reference]);
  expect((await read("?limit=1")).settlements[0]).toMatchObject({ status: "failed", paid_at: null });
});

test("§4.1 contract §3 GET /v1/settlements.csv has the same, and no formula", async () => {
  await world.row("update core.accounts set cpo_external_ref = '=1+1' where id = $1", customers[0]?.account_id);
  const { status, headers, body } = await world.get("/v1/settlements.csv", token);
  expect([status, headers.get("content-type")]).toEqual([200, "text/csv; charset=utf-8"]);
  const { data } = Papa.parse<Record<string, string>>(body.trimEnd(), { header: true });
  const { settlements } = await read("?limit=200");
  expect(data).toEqual(
    settlements.map((each: Record<string, unknown>) => ({
      ...each,
      cpo_external_ref: each.cpo_external_ref === "=1+1" ? "'=1+1" : each.cpo_external_ref,
      amount_eur: Number(each.amount_eur).toFixed(2),
      paid_at: each.paid_at ?? "",
    })),
  );
});

test("§5 contract §3 another client, also of the same partner, sees nothing of it", async () => {
  const colleague = await world.addClient(world.partnerA.id);
  for (const bearer of [await colleague.token(), await world.partnerB.client.token()])
    expect((await read("", bearer)).settlements).toEqual([]);
});

test("§4.1 contract §3 a settlement that was paid is a PDF for the customer, for nobody else; one that came back has none", async () => {
  const download = (id: string, bearer = token) => world.get(`/v1/settlements/${id}`, bearer);
  const { settlements } = await read();
  const paid = settlements.find(
    ({ status, amount_eur }: Record<string, unknown>) => status === "paid" && amount_eur === 80,
  );
  const failed = settlements.find(({ status }: Record<string, string>) => status === "failed");
  expect(await download(paid.settlement_id)).toMatchObject({ status: 503, body: { error: "document_not_ready" } });
  await world.row(
    "update core.partners set company = company || $1 where id = $2",
    { name: "Laadpunt B.V." },
    world.partnerA.id,
  );
  await renderAll(world);
  const { status, headers, body } = await download(paid.settlement_id);
  expect([status, headers.get("content-type")]).toEqual([200, "application/pdf"]);
  const { text, tagged } = await readPdf(body);
  expect(tagged).toBe(true);
  for (const said of ["Sanne de Vries", "Betaald aan uw laadpuntexploitant", "€ 80,00", "Laadpunt B.V.", "april 2026"])
    expect(text.replace(/\s+/g, " ")).toContain(said);
  // what the customer reads out finds the payment
  const reference = /Kenmerk van de betaling\s+([34679ACDEFGHJKMNPQRTWXY]{10})\s/.exec(text)?.[1] ?? "";
  for (const typed of [reference, reference.toLowerCase()])
    expect((await read(`?payment_reference=${typed}`)).settlements).toContainEqual(paid);
  expect(withoutIds(text)).not.toContain("3000"); // where the CPO was paid to is its own

  const colleague = await world.addClient(world.partnerA.id);
  for (const [id, bearer] of [
    [failed.settlement_id, token],
    [world.partnerA.id, token],
    ["x", token],
    [paid.settlement_id, await colleague.token()],
    [paid.settlement_id, await world.partnerB.client.token()],
  ])
    expect(await download(id, bearer)).toMatchObject({ status: 404, body: { error: "settlement_not_found" } });
});
