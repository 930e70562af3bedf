import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { lookAt, noBrowser, onPage, type Scene } from "../harness/browser.ts";
import type { SandboxWorld } from "../sandbox/sandbox_world.ts";
import { lend } from "./claimant.ts";
import { browserOf, createCustomerWorld, mijn, signInOn } from "./customer.ts";
import { type SignedCustomer, signedCustomer } from "./signatory_customer.ts";

const MONTHS = { "2026-03": 180, "2026-04": 250, "2026-05": 312.5, "2026-06": 2500, "2025-12": 40 };

describe.skipIf(noBrowser)(
  `contract §6 the pages of a CPO's customer in a browser${noBrowser ? ` (skipped: ${noBrowser})` : ""}`,
  () => {
    let world: SandboxWorld;
    let paid: SignedCustomer;
    let via: SignedCustomer;
    beforeAll(async () => {
      world = await createCustomerWorld();
      paid = await signedCustomer(world, { months: MONTHS, fields: { payout_handler: "service_pays_customer" } });
      via = await signedCustomer(world, {
        months: MONTHS,
        fields: { payout_handler: "via_cpo_invoicing", iban: null },
      });
    });
    afterAll(async () => {
      await world?.close();
    });

    const signIn = (page: Page, { email }: SignedCustomer, lang = "nl", path = "") =>
      signInOn(page, world, `${mijn(world, path)}?lang=${lang}`, email);

    test("by keyboard alone to another account number, by the code that was mailed: on a phone of 320, without script", () =>
      onPage({ viewport: { width: 320, height: 640 }, javaScriptEnabled: false }, async (page) => {
        await signIn(page, paid, "nl", "/earnings");
        const tabTo = async (label: string) => {
          for (let presses = 0; presses < 40; presses += 1) {
            await page.keyboard.press("Tab");
            if ((await page.locator(":focus").textContent())?.trim() === label) break;
          }
          await page.keyboard.press("Enter");
        };
        await tabTo("Wijzig uw rekeningnummer");
        await page.getByRole("button", { name: "Mail mij de code" }).waitFor();
        await tabTo("Mail mij de code");
        await page.locator("#iban").fill("NL02 ABNA 0123 4567 88");
        await page.locator("#code").fill("1");
        await page.keyboard.press("Enter");
        await page.locator("#iban[aria-invalid]").waitFor();
        expect(await page.locator("#iban").inputValue(), "what was typed is kept").toBe("NL02 ABNA 0123 4567 88");
        const { code } = await world.row(
          "select content ->> 'code' as code from core.mail_outbox where recipient = $1 and template = 'claim_code' order by created_at desc limit 1",
          paid.email,
        );
        await page.locator("#iban").fill("NL02 ABNA 0123 4567 89");
        await page.locator("#code").fill(code);
        await page.keyboard.press("Enter");
        await page.getByRole("status").waitFor();
        expect(await page.getByRole("status").textContent()).toContain("Uw rekeningnummer is gewijzigd");
        expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320);
      }));

    const at =
      (who: () => SignedCustomer, path: string | ((person: SignedCustomer) => string) = ""): Scene["go"] =>
      async (page, lang) => {
        await lend(page, await browserOf(world, who()));
        const url = new URL(mijn(world, typeof path === "string" ? path : path(who())));
        url.searchParams.set("lang", lang);
        await page.goto(url.href);
      };
    /** Has the code mailed that the page asks for first. */
    const withCode =
      (go: Scene["go"]): Scene["go"] =>
      async (page, lang) => {
        await go(page, lang);
        await page.locator("main form[action*='/code'] .button").first().click();
        await page.locator("#code").waitFor();
      };
    const account = ({ account_id }: SignedCustomer) => `/account/${account_id}`;
    const withdraw = ({ connection_id }: SignedCustomer) => `/withdraw/${connection_id}`;
    const scenes: Scene[] = [
      { name: "signatory", go: at(() => paid) },
      { name: "signatory-charging", go: at(() => paid, "/charging?year=2026") },
      { name: "signatory-earnings", go: at(() => paid, "/earnings") },
      { name: "signatory-mandate", go: at(() => paid, "/mandate") },
      { name: "signatory-sharing", go: at(() => paid, "/sharing") },
      { name: "signatory-account", go: at(() => paid, account) },
      { name: "signatory-account-change", go: withCode(at(() => paid, account)) },
      { name: "signatory-withdraw", go: at(() => paid, withdraw) },
      { name: "signatory-withdraw-code", go: withCode(at(() => paid, withdraw)) },
      { name: "signatory-via", go: at(() => via) },
      { name: "signatory-via-charging", go: at(() => via, "/charging?year=2025") },
      { name: "signatory-via-earnings", go: at(() => via, "/earnings") },
    ];

    test.each(scenes)("axe finds nothing on $name", (scene) => lookAt(scene));
  },
);
