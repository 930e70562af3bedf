// The whole of bringing customers in a real Chromium: a file from Dutch Excel, looked at, confirmed, and what came of it.

import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { look, noBrowser, onPage, walk } from "../harness/browser.ts";
import type { SandboxWorld } from "../sandbox/sandbox_world.ts";
import { lend } from "./claimant.ts";
import { createCustomerWorld } from "./customer.ts";
import { type Manager, newManager, portal, portalBrowser } from "./manager.ts";

const EXCEL = fileURLToPath(new URL("../partner/fixtures/excel_nl.csv", import.meta.url));

describe.skipIf(noBrowser)(
  `contract §4 bringing customers in a browser${noBrowser ? ` (skipped: ${noBrowser})` : ""}`,
  () => {
    let world: SandboxWorld;
    let manager: Manager;
    beforeAll(async () => {
      world = await createCustomerWorld();
      manager = await newManager(world, world.partnerA);
    });
    afterAll(async () => {
      await world?.close();
    });
    beforeEach(async () => {
      await world.row("delete from core.drafts");
      await world.row("delete from core.one_time_codes");
    });

    test("contract §4 axe finds nothing on any page of it", () =>
      walk(async (page, lang) => {
        // the walk in the other language brought the same people in
        await world.row("delete from core.drafts");
        await lend(page, await portalBrowser(world, manager));
        await page.goto(`${portal(world, "/import")}?lang=${lang}`);
        await page.locator("main .button").first().click();
        await page.locator("#file-error").waitFor();
        await look(page, "portal-import-wrong", lang);
        await page.locator("#file").setInputFiles(EXCEL);
        await page.locator("main .button").first().click();
        await page.locator("#consent-error").waitFor();
        await look(page, "portal-import-consent", lang);
        await page.locator("#consent").check();
        await page.locator("[name=mail][value=no]").check();
        await page.locator("main .button").first().click();
        await page.locator(".confirm").waitFor();
        await page.locator("main summary").first().click();
        await look(page, "portal-import-look", lang);
        await page.locator(".confirm .button").click();
        await page.locator("td summary").first().waitFor();
        await look(page, "portal-import-done", lang);
        await page.goto(`${portal(world, "/import")}?lang=${lang}`);
        const buffer = Buffer.from("Klantnaam;Postadres elektronisch;Huisnr\nJan;jan@example.nl;8\n");
        await page.locator("#file").setInputFiles({ name: "klanten.csv", mimeType: "text/csv", buffer });
        await page.locator("#consent").check();
        await page.locator("[name=mail][value=yes]").check();
        await page.locator("main .button").first().click();
        await page.locator("#column-1").waitFor();
        await look(page, "portal-import-mapping", lang);
        await page.goto(`${portal(world, "/uploads")}?lang=${lang}`);
        const months = Buffer.from("Klantnummer;Maand;kWh\nKL-niemand;mrt 2026;312,5\n");
        await page.locator("#file").setInputFiles({ name: "maanden.csv", mimeType: "text/csv", buffer: months });
        await page.locator("main .button").first().click();
        await page.locator("#rows").waitFor();
        await look(page, "portal-upload-look", lang);
        await page.goto(`${portal(world, "/import/00000000-0000-4000-8000-000000000000")}?lang=${lang}`);
        await look(page, "portal-import-gone", lang);
      }));

    test("contract §4 without script, by keyboard alone, on a phone of 320: the file is looked at, confirmed, and imported once", () =>
      onPage({ viewport: { width: 320, height: 640 }, javaScriptEnabled: false }, async (page) => {
        const fits = async () =>
          expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(320);
        /** Tabs on until the element has the focus. */
        const tabTo = async (selector: string) => {
          for (let presses = 0; presses < 60; presses++) {
            await page.keyboard.press("Tab");
            if (
              await page
                .locator(selector)
                .first()
                .evaluate((element) => element === document.activeElement)
            )
              return;
          }
          throw new Error(`${selector} is not reached by Tab`);
        };
        await lend(page, await portalBrowser(world, manager));
        await page.goto(portal(world, "/import"));
        await fits();
        await page.locator("#file").setInputFiles(EXCEL);
        expect(await page.locator("#consent").isChecked()).toBe(false);
        expect(await page.locator("[name=mail]:checked").count()).toBe(0);
        await tabTo("#mail");
        await page.keyboard.press("ArrowDown");
        await tabTo("#consent");
        await page.keyboard.press("Space");
        await tabTo("main .actions .button");
        await page.keyboard.press("Enter");
        await page.locator(".confirm").waitFor();
        await fits();
        expect(await page.locator("tbody tr").count()).toBe(4);
        const looked = page.url();
        await tabTo(".confirm .button");
        await page.keyboard.press("Enter");
        await page.locator("td summary").first().waitFor();
        await fits();
        expect(await page.locator("td code").count()).toBe(3);
        const drafts = async () => (await world.row("select count(*)::int as n from core.drafts")).n;
        expect(await drafts()).toBe(3);
        // Back, and the same page again: it tells what was done
        await page.goBack();
        await page.goto(looked);
        expect(await page.locator("td code").count()).toBe(3);
        expect(await page.locator("#consent").count()).toBe(0);
        expect(await drafts()).toBe(3);
      }));
  },
);
