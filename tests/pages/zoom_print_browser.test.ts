// Pages zoomed to 200 %, with letters twice as large, and on paper: one page of each kind.

import type { BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { noBrowser, onPage, overflowOf } from "../harness/browser.ts";
import type { SandboxWorld } from "../sandbox/sandbox_world.ts";
import { type Browser, lend } from "./claimant.ts";
import { browserOf, createCustomerWorld, mijn, paidCustomer } from "./customer.ts";
import { earningPartner, newManager, portal, portalBrowser } from "./manager.ts";

describe.skipIf(noBrowser)(`contract §6 pages zoomed and printed${noBrowser ? ` (skipped: ${noBrowser})` : ""}`, () => {
  let world: SandboxWorld;
  /** Who reads what; nobody is signed in for pages that are open by their link. */
  let readers: { ask?: Browser; pages: Record<string, string> }[];

  beforeAll(async () => {
    world = await createCustomerWorld();
    const customer = await paidCustomer(world);
    await earningPartner(world, world.partnerA);
    const { draft_id } = await world.draft();
    const { body } = await world.get("/partner/drafts", world.keyA);
    const { claim_url } = body.drafts.find((draft: { draft_id: string }) => draft.draft_id === draft_id);
    // colours of its own, which paper does not take
    await world.row(
      `update core.partners set branding = '{"primary_color": "#7a1fa2"}' where id = $1 returning 1`,
      world.partnerA.id,
    );
    readers = [
      { pages: { home: world.environment.config.PAGES_URL, claim: claim_url } },
      {
        ask: await browserOf(world, customer),
        pages: {
          mijn: mijn(world),
          charging: mijn(world, "/charging"),
          earnings: mijn(world, "/earnings"),
          mandate: mijn(world, "/mandate"),
        },
      },
      {
        ask: await portalBrowser(world, await newManager(world, world.partnerA)),
        pages: {
          portal: portal(world),
          customers: portal(world, "/customers"),
          import: portal(world, "/import"),
          settings: portal(world, "/settings"),
        },
      },
    ];
  });
  afterAll(async () => {
    await world?.close();
  });

  /** Opens each of the pages, signed in where that is needed. */
  async function onEach(options: BrowserContextOptions, run: (page: Page, name: string) => Promise<void>) {
    for (const { ask, pages } of readers)
      await onPage(options, async (page) => {
        if (ask) await lend(page, ask);
        for (const [name, url] of Object.entries(pages)) {
          await page.goto(url);
          await run(page, name);
        }
      });
  }

  test("at 200 % on a screen of 1280 nothing sticks out", () =>
    onEach({ viewport: { width: 640, height: 422 }, deviceScaleFactor: 2 }, async (page, name) =>
      expect(await overflowOf(page), name).toBeLessThanOrEqual(0),
    ));

  test.each([390, 1280])("with letters twice as large nothing sticks out or is cut off, at %i", (width) =>
    onEach({ viewport: { width, height: 844 } }, async (page, name) => {
      const devtools = await page.context().newCDPSession(page);
      await devtools.send("Page.setFontSizes", { fontSizes: { standard: 32, fixed: 26 } });
      expect(await page.evaluate(() => getComputedStyle(document.documentElement).fontSize)).toBe("32px");
      expect(await overflowOf(page), name).toBeLessThanOrEqual(0);
      const cut = await page.evaluate(() =>
        [...document.querySelectorAll("h1, h2, p, a, button, dd, label")]
          .filter((element) => getComputedStyle(element).overflow === "hidden" && !element.closest(".hidden"))
          .map((element) => element.outerHTML),
      );
      expect(cut, name).toEqual([]);
    }),
  );

  test("on paper: black on white in the dark too, without menu and buttons, tables and plots whole", () =>
    onEach({ viewport: { width: 718, height: 1000 } }, async (page, name) => {
      await page.emulateMedia({ media: "print", colorScheme: "dark" });
      expect(await overflowOf(page), name).toBeLessThanOrEqual(0);
      const printed = await page.evaluate(() => {
        const style = (selector: string) => {
          const element = document.querySelector(selector);
          return element ? getComputedStyle(element) : null;
        };
        const TABLES = "main > .scroll, main section > .scroll, .folded .scroll";
        const seen = (selector: string) =>
          [...document.querySelectorAll(selector)].filter((element) => element.checkVisibility()).length;
        return {
          text: style("body")?.color,
          ground: style("body")?.backgroundColor,
          bars: style(".bars rect")?.fill ?? "rgb(0, 0, 0)",
          scrolls: style(".scroll")?.overflow ?? "visible",
          controls: seen("nav, button, .button"),
          tables: document.querySelectorAll(TABLES).length - seen(TABLES),
        };
      });
      expect(printed, name).toEqual({
        text: "rgb(0, 0, 0)",
        ground: "rgb(255, 255, 255)",
        bars: "rgb(0, 0, 0)",
        scrolls: "visible",
        controls: 0,
        tables: 0,
      });
      const pdf = await page.pdf({ format: "A4" });
      expect(pdf.subarray(0, 5).toString()).toBe("%PDF-");
    }));
});
