import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EVERY_LOOK, lookInTurn, noBrowser, onPage, startBrowser } from "../harness/browser.ts";
import type { SandboxWorld } from "../sandbox/sandbox_world.ts";
import { createCustomerWorld, mijn, signInOn } from "./customer.ts";
import { type SignedCustomer, signedCustomer } from "./signatory_customer.ts";

const MONTHS = { "2026-03": 180, "2026-04": 250, "2026-05": 312.5, "2026-06": 2500, "2025-12": 40 };

describe.skipIf(noBrowser)(
  `contract §6 the pages of a CPO's customer in a browser${noBrowser ? ` (skipped: ${noBrowser})` : ""}`,
  () => {
    let world: SandboxWorld;
    let browser: Browser;
    let paid: SignedCustomer;
    let via: SignedCustomer;
    beforeAll(async () => {
      world = await createCustomerWorld();
      paid = await signedCustomer(world, { months: MONTHS, fields: { payout_handler: "service_pays_customer" } });
      via = await signedCustomer(world, {
        months: MONTHS,
        fields: { payout_handler: "via_cpo_invoicing", iban: null },
      });
      browser = await startBrowser();
    });
    afterAll(async () => {
      await browser?.close();
      await world?.close();
    });

    const signIn = (page: Page, { email }: SignedCustomer, lang = "nl", path = "") =>
      signInOn(page, world, `${mijn(world, path)}?lang=${lang}`, email);

    test("by keyboard alone to another account number, by the code that was mailed: on a phone of 320, without script", () =>
      onPage(browser, { viewport: { width: 320, height: 640 }, javaScriptEnabled: false }, async (page) => {
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

    const scenes: { name: string; who: () => SignedCustomer; path: (account_id: string) => string }[] = [
      { name: "signatory", who: () => paid, path: () => "" },
      { name: "signatory-charging", who: () => paid, path: () => "/charging?year=2026" },
      { name: "signatory-earnings", who: () => paid, path: () => "/earnings" },
      { name: "signatory-mandate", who: () => paid, path: () => "/mandate" },
      { name: "signatory-sharing", who: () => paid, path: () => "/sharing" },
      { name: "signatory-account", who: () => paid, path: (account_id) => `/account/${account_id}` },
      { name: "signatory-via", who: () => via, path: () => "" },
      { name: "signatory-via-charging", who: () => via, path: () => "/charging?year=2025" },
      { name: "signatory-via-earnings", who: () => via, path: () => "/earnings" },
    ];

    test.each(["nl", "en"])(
      "axe finds nothing on any of them, in %s, light and dark, at 390 and 1280",
      async (lang) => {
        for (const who of [paid, via])
          await onPage(browser, { bypassCSP: true }, async (page) => {
            await signIn(page, who, lang);
            for (const { name, path } of scenes.filter((scene) => scene.who() === who)) {
              const at = path(who.account_id);
              await page.goto(`${mijn(world, at)}${at.includes("?") ? "&" : "?"}lang=${lang}`);
              await lookInTurn(page, name, lang, EVERY_LOOK);
            }
            if (who === paid) {
              await page.goto(`${mijn(world, `/account/${who.account_id}`)}?lang=${lang}`);
              const ask = page.locator("main form[action*='/code'] .button").first();
              await ask.click();
              await page.locator("#iban").waitFor();
              await lookInTurn(page, "signatory-account-change", lang, EVERY_LOOK);
              await page.goto(`${mijn(world, `/withdraw/${who.connection_id}`)}?lang=${lang}`);
              await lookInTurn(page, "signatory-withdraw", lang, EVERY_LOOK);
              await page.locator("main form[action*='/code'] .button").first().click();
              await page.locator("#code").waitFor();
              await lookInTurn(page, "signatory-withdraw-code", lang, EVERY_LOOK);
            }
          });
      },
    );
  },
);
