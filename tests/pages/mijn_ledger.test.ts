// What a customer's first page says of money, against the ledger, also where a sale is taken back after it was paid.

import { afterAll, beforeAll, expect, test } from "vitest";
import { sealIban } from "#shared/values/iban.ts";
import type { Customer } from "../ere/ere_world.ts";
import { createPayoutWorld, type PayoutWorld } from "../ere/payout_world.ts";
import type { SandboxWorld } from "../sandbox/sandbox_world.ts";
import { type Browser, newBrowser } from "./claimant.ts";
import { mijn, signIn } from "./customer.ts";
import { newAddress } from "./signatory_customer.ts";

let world: PayoutWorld;
let customer: Customer;
let ask: Browser;
const email = newAddress();
const person = { full_name: "Willem Bakker", email, phone: "0612345678" };
beforeAll(async () => {
  world = await createPayoutWorld();
  Object.assign(world.environment.config, { SUPABASE_SECRET_KEY: "sb_secret_test" });
  [customer] = (await world.sold([100], { fields: { person } })) as [Customer];
  ask = newBrowser(world);
  expect((await signIn(world as unknown as SandboxWorld, ask, email)).status).toBe(303);
});
afterAll(() => world.close());

const earnings = async () =>
  (await ask(mijn(world as unknown as SandboxWorld, "/earnings"))).text
    .replaceAll("\u00a0", " ")
    .replace(/<[^>]+>/g, " ")
    .replace(/\s+/g, " ");

const inNumber = (euro = "0") => Number(euro.replaceAll(".", "").replace(",", "."));

/** What the page says: the text, and the euros of all quarters together by kind. The next payment is what waits or is on its way. */
async function shown(browser = ask) {
  const { status, text } = await browser(mijn(world as unknown as SandboxWorld));
  expect(status, text).toBe(200);
  const page = text.replaceAll("\u00a0", " ");
  const said = page.replace(/<[^>]+>/g, " ").replace(/\s+/g, " ");
  const bars = [...page.matchAll(/data-value="([^"]*)"/g)].map(([, value = ""]) => value);
  // one quarter is said, not drawn
  const [, one = ""] = /<p class="value">([^<]*)/.exec(page) ?? [];
  const of = (kind: string) =>
    (bars.length > 0 ? bars : [one]).reduce(
      (total, bar) => total + inNumber(new RegExp(`€ ([\\d.,]+) ${kind}`).exec(bar)?.[1]),
      0,
    );
  const [waits, sent] = [of("nog te betalen"), of("onderweg")];
  const [next, euro, when] = /Volgende betaling (?:€ ([\d.,]+) )?voor het .+? Wanneer (.+?\.) /.exec(said) ?? [];
  expect(inNumber(euro), next).toBe(waits + sent);
  expect(when === "Het geld is onderweg.", next).toBe(sent > 0);
  return { said, paid: of("betaald"), waits, sent };
}

test("contract §6 paid and on its way are to the cent what the ledger has, also after a sale was taken back that was paid", async () => {
  expect(await shown()).toMatchObject({ paid: 0, waits: 80, sent: 0 });
  const { batch } = (await world.anna("payout prepare")).json;
  expect(await shown(), "the bank was asked nothing yet").toMatchObject({ paid: 0, waits: 80, sent: 0 });
  expect((await world.anna(["payout", "cancel", batch.batch_id, "--reason", "a rehearsal"])).code).toBe(0);
  const { batch_id } = await world.exported();
  expect(await shown(), "sent to the bank").toMatchObject({ paid: 0, waits: 0, sent: 80 });
  expect((await world.anna(["payout", "settle", batch_id])).code).toBe(0);
  expect(await shown()).toMatchObject({ said: expect.stringContaining("€ 80,00 kreeg u in 2026"), paid: 80, waits: 0 });

  await world.done(["sale", "reverse", "V-1", "--reason", "the buyer withdrew", "--recover"]);
  const taken = await shown();
  expect(taken).toMatchObject({ said: expect.stringContaining("€ 80,00 kreeg u in 2026"), paid: 0, waits: 0 });
  const debt = "Daarom gaat € 80,00 van de volgende betaling af.";
  expect(taken.said).toContain(debt);
  expect(taken.said).not.toMatch(/Alles is geregeld|nog niet betaald/);
  const money = await earnings();
  expect(money).toContain(debt);
  expect(money).toMatch(/ 2e kwartaal verkoop teruggedraaid .* betaald, wordt verrekend /);

  await world.sell(customer, 110, "2026-05");
  const less = await shown();
  expect(less, "88 is earned, of which they have 80").toMatchObject({ paid: 80, waits: 8 });
  expect(less.said).not.toMatch(/niet doorging|niet door,/);
  expect(await earnings()).not.toMatch(/teruggedraaid|verrekend/);
  const second = await world.exported();
  expect(await shown()).toMatchObject({ paid: 80, waits: 0, sent: 8 });
  const [line] = await world.linesOf(second.batch_id);
  expect(line?.amount_eur, "what the bank is told").toBe(8);
  expect((await world.anna(["payout", "settle", second.batch_id])).code).toBe(0);
  expect(await shown()).toMatchObject({ said: expect.stringContaining("€ 88,00 kreeg u in 2026"), paid: 88, waits: 0 });

  // 2.32694 ERE at 10 are 23.27 - 4.65, beside 8 that were sold: the debt of 88 is of the first account only
  await world.done(["sale", "reverse", "V-2", "--reason", "the buyer withdrew", "--recover"]);
  await world.sold([10], { fields: { person } });
  const published = "insert into core.figures (partner_id, delivery_year, price) values ($1, 2026, 10) returning 1";
  await world.row(published, world.partnerA.id);
  const both = await shown();
  expect(both.waits).toBe(8);
  expect(both.said).toMatch(/Nog verwacht ± € 26,6[12] /);
  await world.agrees();
});

test("contract §6 a payment that did not arrive is told in its own words; another IBAN is asked for only if the account is wrong", async () => {
  const email = newAddress();
  const [customer] = await world.sold([100], { fields: { person: { ...person, email } } });
  const browser = newBrowser(world);
  expect((await signIn(world as unknown as SandboxWorld, browser, email)).status).toBe(303);
  const said = async (lang: "nl" | "en") => {
    const { text } = await browser(`${mijn(world as unknown as SandboxWorld, "/earnings")}?lang=${lang}`);
    return text.replaceAll("\u00a0", " ");
  };
  const first = await world.exported();
  expect(await said("nl")).not.toMatch(/kwam niet aan|kwam op/);
  for (const run of [world.anna, world.bram])
    expect((await run(["payout", "reject", first.batch_id, "--reason", "DT01", "--yes"])).code).toBe(0);
  expect(await said("nl")).toMatch(
    /Onze betaling van € 80,00 kwam niet aan\. Dat meldde de bank op 15 augustus 2026\. .*U hoeft niets te doen\./,
  );
  expect(await said("nl")).not.toContain("ander rekeningnummer");
  expect(await said("en")).toContain("Our payment of €80.00 did not arrive.");
  expect(await shown(browser)).toMatchObject({ waits: 80, sent: 0 });
  // on its way again, then sent back
  const { batch_id } = await world.exported();
  expect(await said("nl")).not.toContain("kwam niet aan");
  const line = (await world.linesOf(batch_id)).find(({ payee }) => payee === customer?.account_id)?.line_id ?? "";
  await world.anna(["payout", "settle", batch_id, "--failed", line, "--reason", "AC04"]);
  expect(await said("nl")).toMatch(
    /kwam op 15 augustus 2026 terug: de bank kan niets afleveren op de rekening die eindigt op 4300/,
  );
  await world.setIban(customer as Customer, "DE89370400440532013000", 0);
  expect(await said("nl")).not.toContain("kwam op");
});

test("contract §6 where a CPO settles, its customer's money is on its way while another payment to the CPO is prepared", async () => {
  const { ciphertext, key_id, last4 } = sealIban(world.environment, world.partnerB.id, "DE89370400440532013000");
  await world.row(
    `update core.partners set iban_ciphertext = $2, iban_key_id = $3, iban_last4 = $4, iban_holder = 'P' where id = $1`,
    world.partnerB.id,
    ciphertext,
    key_id,
    last4,
  );
  await world.row("update core.partners set iban_changed_at = '2026-01-01' returning 1");
  const email = newAddress();
  const via = (fields = {}) =>
    world.sold([100], { partner: world.partnerB, fields: { payout_handler: "via_cpo_invoicing", ...fields } });
  await via({ person: { ...person, email } });
  const browser = newBrowser(world);
  expect((await signIn(world as unknown as SandboxWorld, browser, email)).status).toBe(303);
  await world.exported();
  expect(await shown(browser)).toMatchObject({ waits: 0, sent: 80 });
  await via();
  expect((await world.anna("payout prepare")).code).toBe(0);
  expect(await shown(browser), "the next payment is not of this customer").toMatchObject({ waits: 0, sent: 80 });
});

test("contract §6 where all is sold and paid no payment is next, whatever ERE of more than six decimals leave", async () => {
  const email = newAddress();
  // 3.327272694 ERE, of which 3.327272 are credited
  const customer = await world.customer({ "2026-04": 10.001 }, world.partnerA, { person: { ...person, email } });
  await world.row("update core.accounts set iban_changed_at = '2026-01-01' returning 1");
  const { bookings } = await world.done(`booking open 2026-Q2 --partner ${world.partnerA.id}`);
  const [{ booking_id }] = bookings;
  await world.done(`booking submit ${booking_id}`);
  await world.done(`booking credit ${booking_id}`);
  await world.done(`sale record ${booking_id} --ere 3.327272 --price 100 --buyer B --reference V-whole`);
  const { batch_id } = await world.exported();
  expect((await world.anna(["payout", "settle", batch_id])).code).toBe(0);
  const browser = newBrowser(world);
  expect((await signIn(world as unknown as SandboxWorld, browser, email)).status).toBe(303);
  const page = async () => (await browser(mijn(world as unknown as SandboxWorld))).text;
  expect(await page()).not.toContain("Volgende betaling");
  await world.deliver(customer, { "2026-07": 10 });
  expect(await page()).toMatch(/Volgende betaling<.*voor het 3e kwartaal 2026</);
});
