// Pages zoomed to 200 %, with letters twice as large, and on paper: one page of each kind.

import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { look, noBrowser, onPage, overflowOf, startBrowser } from "../harness/browser.ts";
import type { SandboxWorld } from "../sandbox/sandbox_world.ts";
import { createCustomerWorld, mijn, paidCustomer, signInOn } from "./customer.ts";
import { earningPartner, newManager, portal } from "./manager.ts";

describe.skipIf(noBrowser)(`contract §6 pages zoomed and printed${noBrowser ? ` (skipped: ${noBrowser})` : ""}`, () => {
  let world: SandboxWorld;
  let browser: Browser;
  /** Who signs in where; nobody, for pages that are open by their link. */
  let readers: { area: string; email: string | null; pages: Record<string, string> }[];

  beforeAll(async () => {
    world = await createCustomerWorld();
    const { email } = await paidCustomer(world);
    await earningPartner(world, world.partnerA);
    const manager = await newManager(world, world.partnerA);
    const { draft_id } = await world.draft();
    const { body } = await world.get("/partner/drafts", world.keyA);
    const { claim_url } = body.drafts.find((draft: { draft_id: string }) => draft.draft_id === draft_id);
    // colours of its own, which paper does not take
    await world.row(
      `update core.partners set branding = '{"primary_color": "#7a1fa2"}' where id = $1 returning 1`,
      world.partnerA.id,
    );
    readers = [
      { area: "", email: null, pages: { home: world.environment.config.PAGES_URL, claim: claim_url } },
      {
        area: mijn(world),
        email,
        pages: {
          mijn: mijn(world),
          charging: mijn(world, "/charging"),
          earnings: mijn(world, "/earnings"),
          mandate: mijn(world, "/mandate"),
        },
      },
      {
        area: portal(world),
        email: manager.email,
        pages: {
          portal: portal(world),
          customers: portal(world, "/customers"),
          import: portal(world, "/import"),
          settings: portal(world, "/settings"),
        },
      },
    ];
    browser = await startBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await world?.close();
  });

  /** Opens each of the pages, signed in where that is needed. */
  async function onEach(
    options: Parameters<Browser["newContext"]>[0],
    run: (page: Page, name: string) => Promise<void>,
  ): Promise<void> {
    for (const { area, email, pages } of readers) {
      await onPage(browser, { bypassCSP: true, ...options }, async (page) => {
        if (email) await signInOn(page, world, area, email);
        for (const [name, url] of Object.entries(pages)) {
          await page.goto(url);
          await run(page, name);
        }
      });
    }
  }

  test("at 200 % on a screen of 1280 everything is there, in one column, and axe finds nothing", () =>
    onEach({ viewport: { width: 640, height: 422 }, deviceScaleFactor: 2 }, (page, name) =>
      look(page, `zoomed-${name}`, "nl", [["light", 640]]),
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
        const seen = (selector: string) =>
          [...document.querySelectorAll(selector)].filter((element) => element.checkVisibility()).length;
        return {
          text: style("body")?.color,
          ground: style("body")?.backgroundColor,
          bars: style(".bars rect")?.fill ?? "rgb(0, 0, 0)",
          scrolls: style(".scroll")?.overflow ?? "visible",
          controls: seen("nav, button, .button"),
          tables:
            document.querySelectorAll("main > .scroll, main section > .scroll").length -
            seen("main > .scroll, main section > .scroll"),
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
      if (process.env.SCREENSHOTS)
        await page.screenshot({ path: `${process.env.SCREENSHOTS}/printed-${name}.png`, fullPage: true });
    }));
});
