import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { look, lookAt, noBrowser, onPage, type Scene, walk } from "../harness/browser.ts";
import type { SandboxWorld } from "../sandbox/sandbox_world.ts";
import { lend } from "./claimant.ts";
import {
  browserOf,
  type Customer,
  createCustomerWorld,
  mijn,
  newCustomer,
  paidCustomer,
  rowsOfMenu,
  signInCode,
  signInOn,
} from "./customer.ts";

describe.skipIf(noBrowser)(
  `contract §6 a person's own pages in a browser${noBrowser ? ` (skipped: ${noBrowser})` : ""}`,
  () => {
    let world: SandboxWorld;
    let paid: Customer;
    let fresh: Customer;
    let withdrawn: Customer;
    beforeAll(async () => {
      world = await createCustomerWorld();
      paid = await paidCustomer(world);
      fresh = await newCustomer(world);
      withdrawn = await newCustomer(world);
      await world.row(
        `update core.mandates m set status = 'revoked', ended_at = private.now(), ended_reason = 'customer'
           from core.connections c where c.id = m.connection_id and c.account_id = $1 returning 1`,
        withdrawn.account_id,
      );
    });
    afterAll(async () => {
      await world?.close();
    });

    const signIn = (page: Page, { email }: Customer, lang = "nl", path = "") =>
      signInOn(page, world, `${mijn(world, path)}?lang=${lang}`, email);

    test("sign in by a mailed code, look around, download and sign out: on a phone of 320, without script", () =>
      onPage({ viewport: { width: 320, height: 640 }, javaScriptEnabled: false }, async (page) => {
        const heading = () => page.getByRole("heading", { level: 1 }).textContent();
        await signIn(page, paid, "nl", "/charging");
        expect(await heading(), "where they wanted to go").toBe("Wat u laadde in 2026");
        const widest = async () => {
          await page.waitForLoadState();
          return page.evaluate(() => document.documentElement.scrollWidth);
        };
        await page.getByRole("link", { name: "mei", exact: true }).click();
        expect(await page.getByRole("heading", { level: 2 }).textContent()).toBe("Laadbeurten in mei 2026");
        const download = page.waitForEvent("download");
        await page.getByRole("link", { name: "Download deze laadbeurten als CSV" }).click();
        expect((await download).suggestedFilename()).toBe("laden-2026-05.csv");
        for (const name of ["Overzicht", "Geld", "Machtiging", "Laadpalen", "Wie ziet wat", "Eigen programma's"]) {
          const menu = page.getByRole("navigation", { name: "Mijn pagina's" });
          expect(await menu.getByRole("link").count(), "the others are under Meer").toBe(4);
          if (!(await menu.getByRole("link", { name }).isVisible())) await menu.getByText("Meer").click();
          await menu.getByRole("link", { name }).click();
          expect(await widest(), name).toBeLessThanOrEqual(320);
        }
        await page.locator(".signed-in summary").click();
        await page.getByRole("button", { name: "Log uit" }).click();
        expect(await page.getByRole("status").textContent()).toBe("U bent uitgelogd.");
        await page.goBack();
        await page.reload();
        expect(await heading(), "nothing is left behind").toBe("Log in");
      }));

    test.each([
      ["nl", 320],
      ["en", 320],
      ["nl", 390],
      ["en", 390],
    ])("the menu is one row on a phone, and so is each button of the timeline: %s, %i", (lang, width) =>
      onPage({ viewport: { width, height: 640 } }, async (page) => {
        await signIn(page, fresh, lang);
        const buttons = await page
          .locator(".timeline .button")
          .evaluateAll((all) => all.map((each) => each.clientHeight));
        expect(buttons.map((height) => height < 60)).toEqual([true, true]);
        for (const path of ["/mandate", "/tokens"]) {
          await page.goto(`${mijn(world, path)}?lang=${lang}`);
          expect(await rowsOfMenu(page), path).toBe(1);
        }
      }),
    );

    test("a year without charging has no plot, and leads to the chargers", () =>
      onPage({}, async (page) => {
        await signIn(page, fresh, "nl", "/charging");
        expect(await page.locator(".chart").count()).toBe(0);
        await page.getByRole("main").getByRole("link", { name: "Uw laadpalen" }).click();
        expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("Uw laadpalen");
      }));

    test("by keyboard alone to the account number's change, which asks for a code of its own", () =>
      onPage({ viewport: { width: 1280, height: 800 }, locale: "en" }, async (page) => {
        await signIn(page, paid, "en", "/earnings");
        for (let presses = 0; presses < 40; presses += 1) {
          await page.keyboard.press("Tab");
          if ((await page.locator(":focus").textContent())?.trim() === "Change your account number") break;
        }
        await page.keyboard.press("Enter");
        await page.getByRole("button", { name: "Mail me the code" }).waitFor();
        expect(new URL(page.url()).pathname).toMatch(/\/claim\/[^/]+\/payout$/);
      }));

    test("scripts do not see the session, and the content security policy refuses nothing of ours", () =>
      onPage({}, async (page) => {
        const broken: string[] = [];
        page.on("console", (message) => broken.push(message.text()));
        await signIn(page, paid);
        expect(await page.evaluate(() => document.cookie)).toBe("");
        expect(broken).toEqual([]);
      }));

    const at =
      (who: () => Customer, path = ""): Scene["go"] =>
      async (page, lang) => {
        await lend(page, await browserOf(world, who()));
        await page.goto(`${mijn(world, path)}${path.includes("?") ? "&" : "?"}lang=${lang}`);
      };
    const scenes: Scene[] = [
      { name: "mijn-sign-in", go: (page, lang) => page.goto(`${mijn(world)}?lang=${lang}`) },
      {
        name: "mijn-sign-in-password",
        go: async (page, lang) => {
          await page.goto(`${mijn(world)}?lang=${lang}`);
          await page.locator("summary").click();
        },
      },
      { name: "mijn", go: at(() => paid) },
      { name: "mijn-charging", go: at(() => paid, "/charging?month=2026-05") },
      { name: "mijn-earnings", go: at(() => paid, "/earnings") },
      { name: "mijn-mandate", go: at(() => paid, "/mandate") },
      { name: "mijn-chargers", go: at(() => paid, "/chargers") },
      { name: "mijn-sharing", go: at(() => paid, "/sharing") },
      { name: "mijn-sharing-stop", go: at(() => paid, "/sharing/stop") },
      { name: "mijn-tokens", go: at(() => paid, "/tokens") },
      { name: "mijn-data", go: at(() => paid, "/data") },
      { name: "mijn-data-end", go: at(() => paid, "/data/end") },
      { name: "mijn-new", go: at(() => fresh) },
      { name: "mijn-withdrawn", go: at(() => withdrawn) },
      { name: "mijn-new-charging", go: at(() => fresh, "/charging") },
      { name: "mijn-new-earnings", go: at(() => fresh, "/earnings") },
    ];

    test.each(scenes)("axe finds nothing on $name", (scene) => lookAt(scene));

    test("axe finds nothing in the menu that is unfolded on a phone, and on the pages that end an account", () =>
      walk(async (page, lang) => {
        const leaver = await newCustomer(world);
        await lend(page, await browserOf(world, leaver));
        await page.setViewportSize({ width: 320, height: 640 });
        await page.goto(`${mijn(world, "/data/end")}?lang=${lang}`);
        await page.locator(".menu summary").click();
        await look(page, "mijn-menu", lang, { looks: [["light", 320]] });
        await world.row(
          "update auth.sessions set created_at = private.now() - interval '16 minutes' where user_id = $1 returning 1",
          leaver.user_id,
        );
        const before = await world.rows("select id from core.mail_outbox where recipient = $1", leaver.email);
        await page.locator("form[action*='/data/end'] .button").click();
        await page.locator("#code").waitFor();
        await look(page, "mijn-code", lang);
        const known = before.map(({ id }) => id);
        await page.locator("#code").fill(await signInCode(world, leaver.email, known));
        await page.locator(".actions .button").click();
        await page.locator("form[action*='/data/end'] .button").click();
        await page.locator(".status.done").waitFor();
        expect(await page.locator("main li").count()).toBeGreaterThan(2);
        await look(page, "mijn-closed", lang);
      }));
  },
);
