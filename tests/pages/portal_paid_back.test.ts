// What comes to a partner, what came back from the bank, and what payments to it say before they are paid.

import { afterAll, beforeAll, expect, test } from "vitest";
import { MID_CHARGER } from "../harness/chargers.ts";
import { signMandate } from "../harness/mandate.ts";
import { createAccount, newEan } from "../harness/people.ts";
import { later, type SandboxWorld } from "../sandbox/sandbox_world.ts";
import { type Browser, heading } from "./claimant.ts";
import { createCustomerWorld } from "./customer.ts";
import { newManager, portal, portalBrowser } from "./manager.ts";

let world: SandboxWorld;
let ask: Browser;
let token: string;
/** Settled through the CPO, and paid by the service; 100 kWh of April of both were sold, and both payments came back. */
let via: Account;
let own: Account;

type Account = Awaited<ReturnType<typeof createAccount>>;

async function newAccount(fields: object): Promise<Account> {
  const connection = {
    ean_code: newEan(),
    postal_code: "3818 LH",
    house_number: "8",
    street: "Dorpsstraat",
    city: "Amersfoort",
  };
  const account = await createAccount(world, world.partnerA, { connection, ...fields });
  const { account_id, connection_id } = account;
  await world.post("/v1/chargers", { account_id, ...MID_CHARGER, serial_number: account_id }, token);
  await signMandate(world, account_id, world.partnerA);
  await world.row(
    "update core.connections set registration_status = 'goedgekeurd' where id = $1 returning 1",
    connection_id,
  );
  await world.post("/v1/sessions:batch", { account_id, months: [{ period: "2026-04", total_kwh: 100 }] }, token);
  return account;
}

beforeAll(async () => {
  world = await createCustomerWorld();
  token = await world.partnerA.client.token();
  ask = await portalBrowser(world, await newManager(world, world.partnerA));
  await world.row(
    `update core.partners set iban_ciphertext = 'x', iban_key_id = 'x', iban_last4 = '4300', iban_holder = 'x', vat_regime = 'none',
       company = '{"street": "Kade", "city": "Breda"}' where id = $1 returning 1`,
    world.partnerA.id,
  );
  // after the IBAN, whose trigger sets it
  await change("iban_changed_at = '2026-01-01'");
  via = await newAccount({ display_name: "Vera Via", payout_handler: "via_cpo_invoicing" });
  own = await newAccount({ display_name: "Otto Onbetaald" });
  const { status, body } = await world.send("/sandbox/v1/settle", {
    method: "POST",
    token: world.keyA,
    body: { quarter: "2026-Q2", fail: [via.account_id, own.account_id] },
  });
  expect([status, body.payments_failed?.length], JSON.stringify(body)).toEqual([200, 2]);
});
afterAll(() => world.close());

const words = (text: string) =>
  text
    .replace(/<[^>]+>/g, " ")
    .replaceAll("\u00a0", " ")
    .replace(/\s+/g, " ");
const page = async (path = "") => words((await ask(portal(world, path))).text);
const attention = async () => {
  const { text } = await ask(portal(world));
  const [list = ""] = /<section aria-labelledby="attention">.*?<\/section>/s.exec(text) ?? [];
  return words(list);
};
const change = (set: string) =>
  world.row(`update core.partners set ${set} where id = $1 returning 1`, world.partnerA.id);
const effect = (name: string) =>
  world.row("update core.payout_lines set failed_effect = $2 where payee_id = $1 returning 1", world.partnerA.id, name);

test("§4.2 the next payout is what the operator owes: also what customers get whom the CPO settles with", async () => {
  const { amount } = await world.row(
    "select sum(amount)::float8 as amount from private.payees(0) where partner_id = $1 and account_id is null",
    world.partnerA.id,
  );
  // of the customer € 10.65; of the two a quarter of the fee
  expect(amount).toBeGreaterThan(10.65);
  const said = `Volgende uitbetaling € ${amount.toFixed(2).replace(".", ",")}`;
  expect(await page()).toContain(said);
  expect(await page()).not.toContain("maken wij er niets naar over tot");
  await change(`iban_changed_at = '${later(-60)}'`);
  expect(await page()).toContain("maken wij er niets naar over tot");
  await change("iban_changed_at = '2026-01-01'");
});

test("§4.2 a payment that came back is not called paid", async () => {
  const { text } = await ask(portal(world, "/payouts/settlements"));
  expect(heading(text)).toBe("Voor uw klanten");
  expect(words(text)).toMatch(/de stand zegt of het betaald is\..*Vera Via KL-\S+ € 10,65 mislukt/);
  const payouts = await page("/payouts");
  expect(payouts).not.toContain("Betaald bedrag");
  // there are no invoices, so nothing differs from them
  expect(payouts).not.toContain("Daarom verschillen de bedragen.");
  expect(payouts).toContain("Alles per klant");
  expect(await page("/payouts/settlements?page=2")).toContain("Op deze pagina staat niets meer.");
});

test("§4.2 the account number is asked for only until another one is given", async () => {
  await effect("account");
  expect(await attention()).toContain("Controleer uw rekeningnummer houdt geld tegen");
  await change("iban_last4 = '9999'");
  expect(await attention()).not.toContain("betaling aan u");
  await change(`iban_last4 = '4300', iban_changed_at = '${later(86_400)}'`);
  expect(await attention()).not.toContain("betaling aan u");
  await effect("holder");
  expect(await attention()).toContain("Onze laatste betaling aan u is mislukt. Mail ons");
  await effect("none");
  expect(await attention()).toContain("Wij betalen het bedrag opnieuw");
});

test("§4.2 a customer whom the bank could not pay is found by the CPO, until it gives another IBAN", async () => {
  const line = "Bij 1 klant kon de bank onze betaling niet doen. Geef een ander rekeningnummer houdt geld tegen";
  expect(await attention()).toContain(line);
  const listed = async () =>
    (await ask(portal(world, "/customers?needs=payment"))).text.match(/<th scope="row"/g)?.length;
  expect([await listed(), (await page("/customers?needs=payment")).includes("Otto Onbetaald")]).toEqual([1, true]);
  const customer = await page(`/customers/${own.account_id}`);
  expect(customer).toContain("De bank kon onze laatste betaling aan deze klant niet doen");
  expect(customer).toMatch(/rekeningnummer bekend \(ontbreekt\)/);
  expect(await page(`/settings/clients/${world.partnerA.client.id}`)).toMatch(
    /Otto Onbetaald \S+ het rekeningnummer klopt niet/,
  );
  // the customer whom it settles with itself has no such line
  const settled = await page(`/customers/${via.account_id}`);
  expect(settled).not.toContain("De bank kon");
  expect(settled).toContain("Wij betalen u wat voor deze klant is verkocht, na de kosten. Naar de betalingen");
  await effect("holder");
  await world.row(
    "update core.payout_lines set failed_effect = 'holder' where payee_id = $1 returning 1",
    own.account_id,
  );
  expect(await attention(), "who died is not told").not.toContain("kon de bank");
  await world.row(
    "update core.payout_lines set failed_effect = 'account' where payee_id = $1 returning 1",
    own.account_id,
  );
  expect(await attention()).toContain(line);
  await world.row("update core.accounts set iban_last4 = '0001' where id = $1 returning 1", own.account_id);
  expect(await attention()).not.toContain("kon de bank");
  expect(await listed()).toBeUndefined();
  expect(await page(`/customers/${own.account_id}`)).not.toContain("De bank kon");
});

test("§4.1 GET /v1/accounts says when the bank sent a payment back, until another IBAN is given", async () => {
  const returned = async ({ account }: Account) =>
    (await world.get(`/v1/accounts?cpo_external_ref=${account.cpo_external_ref}`, token)).body.accounts[0]
      .payment_returned_on;
  const set = (fields: string) =>
    world.row(`update core.accounts set ${fields} where id = $1 returning 1`, own.account_id);
  await set("iban_last4 = (select l.iban_last4 from core.payout_lines l where l.payee_id = accounts.id)");
  expect([await returned(own), await returned(via)]).toEqual([expect.stringMatching(/^20\d\d-\d\d-\d\d$/), null]);
  const bank = (effect: string) =>
    world.row(
      "update core.payout_lines set failed_effect = $2 where payee_id = $1 returning 1",
      own.account_id,
      effect,
    );
  await bank("holder");
  expect(await returned(own), "who died is not told").toBe(null);
  await bank("account");
  await set("iban_last4 = '0001'");
  expect(await returned(own), "another IBAN").toBe(null);
});

test("§4.2 a kind of customers that was chosen is kept with what they need", async () => {
  await world.row(
    "update core.accounts set iban_last4 = (select iban_last4 from core.payout_lines where payee_id = $1) where id = $1 returning 1",
    own.account_id,
  );
  expect(await page("/customers?needs=payment")).toContain("Otto Onbetaald");
  const text = await page("/customers?by=brought&needs=payment");
  expect(text).toContain("Herkomst: Door u gebracht");
  expect(text).not.toContain("Otto Onbetaald");
  expect(text).toContain("Wat ontbreekt: Rekeningnummer waarop de bank kan betalen");
});
