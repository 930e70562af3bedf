// What a customer changes or ends from their own pages: where it leads, what it says, and what the mail says.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SandboxWorld } from "../sandbox/sandbox_world.ts";
import { type Browser, formToken, heading, mailedCode } from "./claimant.ts";
import { browserOf, type Customer, createCustomerWorld, mijn, newCustomer, paidCustomer } from "./customer.ts";

let world: SandboxWorld;
beforeAll(async () => {
  world = await createCustomerWorld();
});
afterAll(() => world.close());

const IBAN = "NL20 INGB 0001 2345 67";
const main = (page: string) => (/<main[^>]*>([\s\S]*)<\/main>/.exec(page)?.[1] ?? "").replace(/<[^>]+>/g, " ");

/** Presses the button of an own page that leads to a claim page of theirs. */
async function open(ask: Browser, { account_id }: Customer, from: string, page: string, lang = "nl") {
  const form_token = formToken((await ask(mijn(world, `${from}?lang=${lang}`))).text);
  const form = { form_token, account: account_id, page };
  const { location } = await ask(mijn(world, `/open?lang=${lang}`), { form });
  return location ?? "";
}
const sent = (page: string, path: string) => page.replace(/\/(payout|revoke)\?/, `/${path}?`);
const codeFor = ({ draft_id, email }: Customer) => mailedCode(world, { id: draft_id, email, link: "" });

describe("contract §6 what is changed from the own pages ends there", () => {
  test.each([
    ["nl", "Uw rekeningnummer is gewijzigd.", "48 uur", "22 november 2026 om 13:00", "U bent aangemeld"],
    ["en", "Your account number was changed.", "48 hours", "22 November 2026 at 13:00", "You are registered"],
  ])(
    "another account number, with the hours that money waits and until when: %s",
    async (lang, said, hours, until, away) => {
      const customer = await paidCustomer(world);
      const ask = await browserOf(world, customer);
      const page = await open(ask, customer, "/earnings", "/payout", lang);
      const form_token = formToken((await ask(page)).text);
      const asked = await ask(sent(page, "iban-code"), { form: { form_token } });
      expect(asked.location).toBe(page);
      const wrong = await ask(page, { form: { form_token, iban: "NL00", code: await codeFor(customer) } });
      expect(wrong.text).toContain('value="NL00"');
      const saved = await ask(page, { form: { form_token, iban: IBAN, code: await codeFor(customer) } });
      const told = main(saved.text);
      expect(heading(saved.text)).toMatch(/^ERE .* in 2026$/);
      expect(told).not.toContain(away);
      const mail = await world.mail("where recipient = $1 and template = 'customer_iban_changed'", customer.email);
      for (const text of [told, mail.text]) for (const part of [hours, until]) expect(text).toContain(part);
      expect(told).toContain(said);
      expect(main((await ask(mijn(world, `/earnings?lang=${lang}`))).text), "once").not.toContain(said);
    },
  );

  test("the first account number too, without a code", async () => {
    const customer = await newCustomer(world);
    const ask = await browserOf(world, customer);
    const page = await open(ask, customer, "/earnings", "/payout");
    const saved = await ask(page, { form: { form_token: formToken((await ask(page)).text), iban: IBAN } });
    expect(heading(saved.text)).toBe("ERE en geld in 2026");
    expect(main(saved.text)).toContain("48 uur niets naar over");
  });

  test("a withdrawal; and whoever turns back is on their own pages", async () => {
    const customer = await newCustomer(world);
    const ask = await browserOf(world, customer);
    const page = await open(ask, customer, "/mandate", "/revoke");
    const { text } = await ask(page);
    expect(text).toContain('<a class="link" href="/pages/mijn?lang=nl">Terug</a>');
    const form_token = formToken(text);
    await ask(sent(page, "revoke-code"), { form: { form_token } });
    const after = await ask(page, { form: { form_token, code: await codeFor(customer) } });
    expect(heading(after.text)).toBe("Uw machtiging");
    expect(main(after.text)).toContain("Uw machtiging is ingetrokken.");
  });

  test("without a button of the own pages it ends on the page of the claim, whatever the address says", async () => {
    const customer = await newCustomer(world);
    const ask = await browserOf(world, customer);
    const page = (await open(ask, customer, "/earnings", "/payout")).replace("from=mijn", "from=elsewhere");
    const saved = await ask(page, { form: { form_token: formToken((await ask(page)).text), iban: IBAN } });
    expect(saved.location).toMatch(/^\/pages\/claim\/[^/]+\?lang=nl$/);
  });
});
