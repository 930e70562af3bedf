// What pages add where a browser runs their script, and that they work where it does not.

import type { BrowserContext, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { noBrowser, onPage } from "../harness/browser.ts";
import type { SandboxWorld } from "../sandbox/sandbox_world.ts";
import { lend } from "./claimant.ts";
import { createCustomerWorld } from "./customer.ts";
import { earningPartner, type Manager, newManager, portal, portalBrowser } from "./manager.ts";

describe.skipIf(noBrowser)(`contract §6 the script of the pages${noBrowser ? ` (skipped: ${noBrowser})` : ""}`, () => {
  let world: SandboxWorld;
  let manager: Manager;
  let claim_url: string;
  let draft_id: string;
  beforeAll(async () => {
    world = await createCustomerWorld();
    await earningPartner(world, world.partnerA);
    // a plot of two quarters
    const settled = { method: "POST", token: world.keyA, body: { quarter: "2026-Q3" } } as const;
    await world.send("/sandbox/v1/settle", settled);
    ({ claim_url, draft_id } = await world.draft());
    manager = await newManager(world, world.partnerA);
  });
  afterAll(async () => {
    await world?.close();
  });

  const on = (run: (page: Page, context: BrowserContext) => Promise<void>, options = {}) =>
    onPage({ viewport: { width: 390, height: 844 }, ...options }, run);
  const posts = (page: Page) => {
    const sent: string[] = [];
    page.on("request", (request) => request.method() === "POST" && sent.push(new URL(request.url()).pathname));
    return sent;
  };

  test("is one file of at most 10 kB, of our own, that runs under the pages' policy and is kept by its version", () =>
    on(async (page) => {
      const said: string[] = [];
      page.on("console", (message) => said.push(message.text()));
      page.on("pageerror", (error) => said.push(String(error)));
      const loaded = page.waitForResponse(/page\.js/);
      const opened = await page.goto(claim_url);
      const script = await loaded;
      expect((await script.body()).length).toBeLessThanOrEqual(10_000);
      expect(script.headers()["cache-control"]).toBe("public, max-age=31536000, immutable");
      expect(opened?.headers()["content-security-policy"]).toContain("default-src 'none'; script-src 'self';");
      expect(said).toEqual([]);
      expect(await page.getByRole("button", { name: "Kopieer", includeHidden: true }).count()).toBe(0);
    }));

  test("a form is sent once, however often its button is pressed, and says so; after Back it can be sent again", () =>
    on(async (page) => {
      const sent = posts(page);
      await page.goto(claim_url);
      const button = page.getByRole("button", { name: "Mail mij de code" });
      const busy = await button.evaluate((element: HTMLButtonElement) => {
        for (let clicks = 0; clicks < 3; clicks++) element.click();
        return document.querySelector(".busy[role='status']")?.textContent;
      });
      expect(busy).toBe("Even geduld…");
      await page.waitForURL(/proof/);
      expect(sent).toHaveLength(1);
      await page.goBack();
      await button.click();
      await expect.poll(() => sent.length).toBe(2);
    }));

  test("a form without an answer is locked for a minute, and can then be sent again", () =>
    on(async (page) => {
      await page.clock.install();
      await page.goto(claim_url);
      const sent = posts(page);
      // an answer that keeps the page, as a download does
      await page.route("**/code*", (route) => route.fulfill({ status: 204 }));
      const button = page.getByRole("button", { name: "Mail mij de code" });
      const click = () => button.evaluate((element: HTMLButtonElement) => element.click());
      await click();
      await expect.poll(() => sent.length).toBe(1);
      // the clock goes on by itself too: on a busy machine a click takes seconds
      await page.clock.fastForward(50_000);
      await click();
      expect([sent.length, await page.locator(".busy").count()]).toEqual([1, 1]);
      await page.clock.fastForward(10_100);
      await expect.poll(() => page.locator(".busy").count()).toBe(0);
      expect(sent.length).toBe(1);
      await click();
      await expect.poll(() => sent.length).toBe(2);
    }));

  test.each([
    ["no-preference", true],
    ["reduce", false],
  ] as const)("an upload says that it is under way; where motion is wanted (%s) it moves: %s", (reducedMotion, moves) =>
    on(
      async (page) => {
        await lend(page, await portalBrowser(world, manager));
        await page.goto(`${portal(world, "/import")}?lang=nl`);
        const form = page.locator("form[enctype='multipart/form-data']");
        await form.locator("input[type=file]").setInputFiles({
          name: "klanten.csv",
          mimeType: "text/csv",
          buffer: Buffer.from("email;naam\nanna@example.nl;Anna\n"),
        });
        const seen = await form.evaluate((element: HTMLFormElement) => {
          element.querySelector("button")?.click();
          const busy = element.querySelector(".busy");
          return { said: busy?.textContent?.trim(), moves: busy?.querySelector("progress")?.checkVisibility() };
        });
        expect(seen).toEqual({ said: "Even geduld…", moves });
      },
      { reducedMotion },
    ),
  );

  test("an account number is shown in groups while it is typed, and the place where one types stays", () =>
    on(async (page) => {
      await lend(page, await portalBrowser(world, manager));
      await page.goto(`${portal(world)}/settings/account?lang=nl`);
      const field = page.locator("#iban");
      await field.pressSequentially("NL91ABNA0417164300");
      expect(await field.inputValue()).toBe("NL91 ABNA 0417 1643 00");
      for (let n = 0; n < 18; n++) await field.press("ArrowLeft");
      await field.press("Backspace");
      expect(await field.inputValue()).toBe("NL9A BNA0 4171 6430 0");
      await field.pressSequentially("1");
      expect(await field.inputValue()).toBe("NL91 ABNA 0417 1643 00");
    }));

  test("the estimate follows the kWh while they are typed, to the figures that the button gives; no amount stands beside what may become thousands", () =>
    on(async (page, context) => {
      await world.row(
        `insert into core.figures (partner_id, delivery_year, price) select id, 2026, 0.423457 from core.partners
         on conflict on constraint figures_pkey do update set price = excluded.price returning 1`,
      );
      const amount = page.locator(".amount");
      const field = page.locator("#kwh");
      for (const lang of ["nl", "en"]) {
        await context.clearCookies();
        await page.goto(`${claim_url}?lang=${lang}`);
        const typical = await amount.textContent();
        for (const typed of ["3.200,5", "12,3450", "999999"]) {
          await field.fill(typed);
          const computed = await amount.textContent();
          expect(computed).not.toBe(typical);
          await field.press("Enter");
          await page.waitForURL(({ searchParams }) => searchParams.get("kwh") === typed);
          expect(await amount.textContent(), typed).toBe(computed);
          await field.press("Enter");
          expect(await page.locator(".busy").count(), "the same once more leads nowhere").toBe(0);
        }
        for (const typed of ["3", "3.", "3.5", "3.50", "3.500", "0", "twee"]) {
          await field.fill(typed);
          const shown = (await amount.textContent()) ?? "";
          if (typed === "3.500") expect(shown, typed).toMatch(/€.*\s3[.,]500 kWh/);
          else if (typed === "3") expect(shown, typed).toMatch(/€.*\s3 kWh/);
          else expect(shown, typed).not.toMatch(/\d/);
        }
      }
    }));

  test("a link that is shown is copied by a button, also by keyboard, or it says that the browser refuses", () =>
    on(
      async (page) => {
        await lend(page, await portalBrowser(world, manager));
        await page.goto(`${portal(world)}/drafts/${draft_id}?lang=nl`);
        await page.getByRole("button", { name: /link/i }).first().click();
        await page.locator("#claim-link").waitFor();
        // our number of the sign-up can be copied too
        const copy = page.getByRole("status").getByRole("button", { name: "Kopieer" });
        await copy.press("Enter");
        await page.getByRole("button", { name: "Gekopieerd" }).waitFor();
        expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(
          await page.locator("#claim-link").inputValue(),
        );
        await page.evaluate(() => {
          navigator.clipboard.writeText = () => Promise.reject(new DOMException("no", "NotAllowedError"));
        });
        await copy.press("Enter");
        await page.getByRole("button", { name: "Kopiëren mag niet van uw browser: selecteer de tekst" }).waitFor();
      },
      { permissions: ["clipboard-read", "clipboard-write"] },
    ));

  test("a chart says the numbers of a column by a tap, the pointer and the arrow keys, and moves nothing; the table stays", () =>
    on(async (page) => {
      await lend(page, await portalBrowser(world, manager));
      await page.goto(`${portal(world)}?lang=nl`);
      const plot = page.locator(".chart.many");
      await plot.focus();
      const value = page.locator(".chart.many + .value");
      const height = () => page.evaluate(() => document.documentElement.scrollHeight);
      const [last, high] = [await value.textContent(), await height()];
      expect(last).toMatch(/^[a-z]+ \d{4}: [\d.]+ kWh, [\d.,]+ ERE, \d+ klant/);
      await plot.locator("li").nth(2).click();
      expect(await value.textContent()).toContain("maart");
      await plot.locator("li").nth(1).hover();
      expect(await value.textContent()).toContain("februari");
      expect(await height()).toBe(high);
      await page.mouse.move(0, 0);
      await plot.focus();
      for (let presses = 0; presses < 12; presses++) await page.keyboard.press("ArrowRight");
      expect(await value.textContent()).toBe(last);
      await page.keyboard.press("ArrowLeft");
      expect(await value.textContent()).not.toBe(last);
      await page.keyboard.press("ArrowRight");
      expect(await value.textContent()).toBe(last);
      const bars = await plot
        .locator("[data-value]")
        .evaluateAll((all) => all.map((bar) => bar.getAttribute("data-value")));
      for (const [key, end] of [
        ["ArrowRight", bars.at(-1)],
        ["ArrowLeft", bars[0]],
      ] as const) {
        for (let presses = 0; presses <= bars.length; presses++) await page.keyboard.press(key);
        expect(await value.textContent(), `${key} ends at the last bar`).toBe(end);
      }
      expect(await page.locator("table").count()).toBeGreaterThan(0);
    }));

  test("where the script is blocked, everything goes on without it", () =>
    on(async (page, context) => {
      await context.route("**/page.js*", (route) => route.abort());
      const sent = posts(page);
      await page.goto(claim_url);
      await page.getByRole("button", { name: "Mail mij de code" }).click();
      await page.waitForURL(/proof|code/);
      expect(sent.length).toBeGreaterThan(0);
      await lend(page, await portalBrowser(world, manager));
      await page.goto(`${portal(world)}/drafts/${draft_id}?lang=nl`);
      expect(await page.getByRole("button", { name: "Kopieer" }).count()).toBe(0);
    }));
});
