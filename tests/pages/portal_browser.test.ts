import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hashSecret, newSecret } from "#shared/auth/tokens.ts";
import { ID, pageAt } from "../../supabase/functions/pages/kit/routes.ts";
import { portal as portalFlow } from "../../supabase/functions/pages/portal/portal.ts";
import { look, lookAt, noBrowser, onPage, overflowOf, walk } from "../harness/browser.ts";
import { MID_CHARGER } from "../harness/chargers.ts";
import { signMandate } from "../harness/mandate.ts";
import { createAccount } from "../harness/people.ts";
import { png, striped } from "../harness/png.ts";
import { addCustomer } from "../partner/partner_world.ts";
import type { SandboxWorld } from "../sandbox/sandbox_world.ts";
import { type Browser, lend } from "./claimant.ts";
import { createCustomerWorld, rowsOfMenu, signInCode, signInOn } from "./customer.ts";
import { earningPartner, keepLogo, type Manager, newManager, portal, portalBrowser } from "./manager.ts";

const WEBHOOK = "8c0f9a4e-53d1-4a08-9a0e-6d1c8c3f0b11";

/** An endpoint that something arrived at, and nothing since; and an account number that money waits for. */
async function failingWebhook(world: SandboxWorld, { id }: { id: string }): Promise<void> {
  await world.row(
    `insert into core.webhook_endpoints (partner_id, id, owner_id, url, secret_ciphertext, secret_key_id, delivered_to, failing_since, last_error)
     values ($1, $2, $1, 'https://gebeurtenissen.laadpunt-zuid.example.com/ere', 'x', 'x', 0, private.now(), 'timeout') returning 1`,
    id,
    WEBHOOK,
  );
  for (const [type, attempt, code, error] of [
    ["draft.active", 1, 204, null],
    ["ping", 1, 500, null],
    ["mandate.signed", 2, null, "timeout"],
  ])
    await world.row(
      `insert into core.webhook_attempts (partner_id, endpoint_id, event_id, type, attempt, at, status, ms, error, next_attempt_at)
       values ($1, $2, gen_random_uuid(), $3, $4, private.now(), $5, 12, $6, case when $6::text is not null then private.now() + interval '5 minutes' end) returning 1`,
      id,
      WEBHOOK,
      type,
      attempt,
      code,
      error,
    );
  await world.row(
    "update core.partners set iban_ciphertext = 'x', iban_key_id = 'x', iban_last4 = '4300', iban_holder = 'Laadpunt Zuid B.V.' where id = $1 returning 1",
    id,
  );
}

/** A customer of a CPO, who was paid through it: 100 kWh of July. */
async function settleThrough(world: SandboxWorld): Promise<void> {
  const { partnerA } = world;
  const token = await partnerA.client.token();
  const { account_id, connection_id } = await createAccount(world, partnerA, { payout_handler: "via_cpo_invoicing" });
  await world.post("/v1/chargers", { account_id, ...MID_CHARGER }, token);
  await signMandate(world, account_id, partnerA);
  await world.row(
    "update core.connections set registration_status = 'goedgekeurd' where id = $1 returning 1",
    connection_id,
  );
  await world.post("/v1/sessions:batch", { account_id, months: [{ period: "2026-07", total_kwh: 100 }] }, token);
  await world.send("/sandbox/v1/settle", { method: "POST", token: world.keyA, body: { quarter: "2026-Q3" } });
  expect((await world.get("/v1/settlements", token)).body.settlements).toHaveLength(1);
}

describe.skipIf(noBrowser)(
  `contract §6 a partner's pages in a browser${noBrowser ? ` (skipped: ${noBrowser})` : ""}`,
  () => {
    let world: SandboxWorld;
    let full: Manager;
    let empty: Manager;
    let disclosed: string;
    let hidden: string;
    let event: string;
    let client: string;
    const [invitation, usedInvitation] = [newSecret(), newSecret()];
    /** By their status. */
    const drafts: Record<string, string> = {};
    beforeAll(async () => {
      world = await createCustomerWorld();
      await earningPartner(world, world.partnerA);
      const { partnerA } = world;
      await addCustomer(world, partnerA, "partner_upload", { full_name: "Sanne de Vries", external_ref: "KLANT-0007" });
      await addCustomer(world, partnerA, "oauth_consent", { postal_code: "1234AB" });
      for (const status of ["invited", "conflict"]) {
        const { draft_id } = await world.draft({ naam: "Jan-Willem van der Meulen", external_ref: "KLANT-0042" });
        await world.row("update core.drafts set status = $2 where id = $1 returning 1", draft_id, status);
        drafts[status] = draft_id;
      }
      const { body } = await world.get("/partner/customers", world.keyA);
      for (const { customer_ref, source } of body.customers) {
        if (source === "oauth_consent") hidden = customer_ref;
        else disclosed = customer_ref;
      }
      await failingWebhook(world, partnerA);
      await settleThrough(world);
      await world.rows("select private.append_event($1, $1, 'draft.claimed', $2, '{}')", partnerA.id, drafts.invited);
      event = (await world.row("select id from core.events where type = 'draft.claimed'")).id;
      client = (await world.row("select id from core.oauth_clients where partner_id = $1 limit 1", partnerA.id)).id;
      full = await newManager(world, world.partnerA);
      empty = await newManager(world, world.partnerB);
      await keepLogo(world, world.partnerA.id, png({ width: 240, height: 80, colour: 2, raw: striped(240, 80) }));
      await world.database.admin.query(
        `insert into core.manager_invitations (partner_id, email, token_hash, used_at)
         values ($1, 'bram@example.nl', decode($2, 'hex'), null), ($1, 'eva@example.nl', decode($3, 'hex'), private.now())`,
        [partnerA.id, hashSecret(invitation), hashSecret(usedInvitation)],
      );
    });
    afterAll(async () => {
      await world?.close();
    });

    /** Every page, of a partner with customers and of one without. */
    const at = (path: string | (() => string)) => (typeof path === "string" ? path : path());
    const scenes: { name: string; who: () => Manager; path: string | (() => string) }[] = [
      { name: "portal", who: () => full, path: "" },
      { name: "portal-new", who: () => empty, path: "" },
      { name: "portal-import", who: () => full, path: "/import" },
      { name: "portal-uploads", who: () => full, path: "/uploads" },
      { name: "portal-import-customer", who: () => full, path: "/import/customer" },
      { name: "portal-import-invite", who: () => full, path: "/import/invite" },
      { name: "portal-settings", who: () => full, path: "/settings" },
      { name: "portal-settings-company", who: () => full, path: "/settings/company" },
      { name: "portal-payouts", who: () => full, path: "/payouts" },
      { name: "portal-payouts-new", who: () => empty, path: "/payouts" },
      { name: "portal-payouts-settlements", who: () => full, path: "/payouts/settlements" },
      { name: "portal-payouts-settlements-none", who: () => empty, path: "/payouts/settlements" },
      { name: "portal-settings-clients", who: () => full, path: "/settings/clients" },
      { name: "portal-settings-client", who: () => full, path: () => `/settings/clients/${client}` },
      { name: "portal-settings-client-rotate", who: () => full, path: () => `/settings/clients/${client}/rotate` },
      { name: "portal-drafts", who: () => full, path: "/drafts" },
      { name: "portal-drafts-new", who: () => empty, path: "/drafts" },
      { name: "portal-draft", who: () => full, path: () => `/drafts/${drafts.invited}` },
      { name: "portal-draft-conflict", who: () => full, path: () => `/drafts/${drafts.conflict}` },
      { name: "portal-draft-withdraw", who: () => full, path: () => `/drafts/${drafts.invited}/withdraw` },
      {
        name: "portal-drafts-withdraw",
        who: () => full,
        path: () => `/drafts/withdraw?draft=${drafts.invited}&draft=${drafts.conflict}`,
      },
      { name: "portal-customers", who: () => full, path: "/customers" },
      { name: "portal-customers-nobody", who: () => full, path: "/customers?active=no&city=Rhenen" },
      { name: "portal-customers-new", who: () => empty, path: "/customers" },
      { name: "portal-customer", who: () => full, path: () => `/customers/${disclosed}` },
      { name: "portal-customer-hidden", who: () => full, path: () => `/customers/${hidden}` },
      { name: "portal-settings-account", who: () => full, path: "/settings/account" },
      { name: "portal-settings-return", who: () => full, path: "/settings/return" },
      { name: "portal-settings-keys", who: () => full, path: "/settings/keys" },
      { name: "portal-settings-keys-rotate", who: () => full, path: "/settings/keys/rotate" },
      { name: "portal-settings-keys-revoke", who: () => full, path: "/settings/keys/revoke" },
      { name: "portal-settings-webhooks", who: () => full, path: "/settings/webhooks" },
      { name: "portal-settings-webhook", who: () => full, path: `/settings/webhooks/${WEBHOOK}` },
      { name: "portal-settings-webhook-change", who: () => full, path: `/settings/webhooks/${WEBHOOK}/change` },
      { name: "portal-settings-event", who: () => full, path: () => `/settings/webhooks/${WEBHOOK}/event/${event}` },
      { name: "portal-settings-webhook-rotate", who: () => full, path: `/settings/webhooks/${WEBHOOK}/rotate` },
      { name: "portal-settings-webhook-remove", who: () => full, path: `/settings/webhooks/${WEBHOOK}/remove` },
      { name: "portal-settings-log", who: () => full, path: "/settings/log" },
      { name: "portal-colleagues", who: () => full, path: "/settings/colleagues" },
      { name: "portal-colleagues-alone", who: () => empty, path: "/settings/colleagues" },
      { name: "portal-colleague-remove", who: () => full, path: () => `/settings/colleagues/${full.user_id}/remove` },
      { name: "portal-invitation", who: () => full, path: () => `/invitation/${invitation}` },
      { name: "portal-invitation-code", who: () => full, path: () => `/invitation/${invitation}/code` },
      { name: "portal-invitation-used", who: () => full, path: () => `/invitation/${usedInvitation}` },
      { name: "portal-branding", who: () => full, path: "/settings/branding" },
      { name: "portal-branding-remove", who: () => full, path: "/settings/branding/logo/remove" },
      { name: "portal-branding-new", who: () => empty, path: "/settings/branding" },
    ];

    const enter = async (page: Page, who: Manager) => lend(page, await portalBrowser(world, who));
    /** One for each manager, for all pages that are only looked at. */
    const looking = new Map<Manager, Promise<Browser>>();
    const lookIn = async (page: Page, who: Manager) => {
      const ask = looking.get(who) ?? portalBrowser(world, who);
      looking.set(who, ask);
      await lend(page, await ask);
    };
    const urlOf = (path: string | (() => string), lang: string) => {
      const url = new URL(portal(world, at(path)));
      url.searchParams.set("lang", lang);
      return url.href;
    };

    test("every page of a partner is one of them, or has a test of its own", () => {
      const pages = portalFlow.routes.filter(
        ({ method, path }) => method === "GET" && !/[.]|payouts\/:number/.test(path),
      );
      const matches = (route: string) =>
        scenes.some(
          ({ path }) =>
            pageAt(
              { routes: [{ method: "GET", path: route, run: () => new Response() }] },
              `/portal${at(path).split("?")[0]}`,
            ) !== "",
        );
      expect(pages.map(({ path }) => path).filter((path) => !matches(path))).toEqual([
        // below; its code as that of a customer
        "/portal/sign-in",
        "/portal/code",
        // portal_import_browser.test.ts
        `/portal/uploads/${ID}`,
        // a PDF: portal_money.test.ts
        `/portal/payouts/settlements/${ID}`,
      ]);
    });

    test("a long name stands beside its box on a phone, not below it", () =>
      onPage({ viewport: { width: 320, height: 640 }, javaScriptEnabled: false }, async (page) => {
        await world.draft({ naam: "Willem-Alexander van der Meulen-Oosterhuis" });
        await enter(page, full);
        await page.goto(`${portal(world, "/drafts")}?q=Oosterhuis`);
        const [box, name] = await Promise.all(
          [".pick input", ".pick ~ a:last-of-type"].map((each) => page.locator(each).boundingBox()),
        );
        expect(box?.y).toBeGreaterThan(name?.y ?? 0);
        expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThan((name?.y ?? 0) + (name?.height ?? 0));
      }));

    test.each([1280, 320])("a name of 120 signs without a space leaves the other columns in sight: %i", (width) =>
      onPage({ viewport: { width, height: 844 } }, async (page) => {
        const { draft_id } = await world.draft({ naam: "Q".repeat(120) });
        await enter(page, full);
        for (const path of ["/drafts", `/drafts/${draft_id}`]) {
          await page.goto(portal(world, path));
          expect(await overflowOf(page), path).toBeLessThanOrEqual(0);
        }
        await page.goto(portal(world, "/drafts"));
        for (const chip of await page.locator("tbody .chip").all()) {
          const { x = 0, width: wide = 0, height = 0 } = (await chip.boundingBox()) ?? {};
          expect([x + wide <= width, height < 60]).toEqual([true, true]);
        }
        await world.row("delete from core.drafts where id = $1 returning 1", draft_id);
      }),
    );

    test.each(["nl", "en"])(
      "the menu is one row on a phone of 360, and nothing of it is folded on a desk, in %s",
      (lang) =>
        onPage({ viewport: { width: 360, height: 640 } }, async (page) => {
          await enter(page, full);
          for (const path of ["/drafts", "/settings"]) {
            await page.goto(`${portal(world, path)}?lang=${lang}`);
            expect(await rowsOfMenu(page), path).toBe(1);
          }
          expect(await page.locator(".menu a:visible").count()).toBe(3);
          await page.setViewportSize({ width: 1280, height: 640 });
          expect(await rowsOfMenu(page)).toBe(1);
          expect(await page.locator(".menu a:visible").count()).toBe(7);
          expect(await page.locator(".menu summary:visible").count()).toBe(0);
          await page.locator(".menu a").nth(2).focus();
          await page.keyboard.press("Tab");
          expect(await page.locator(".menu details a:focus").count(), "by keyboard too").toBe(1);
        }),
    );

    test("what is done with ticked sign-ups is in sight as soon as one is ticked, on a phone", () =>
      onPage({ viewport: { width: 360, height: 480 } }, async (page) => {
        await enter(page, full);
        await page.goto(portal(world, "/drafts"));
        const below = async () => ((await page.locator(".ticked").boundingBox())?.y ?? 0) > 480;
        const first = page.locator("[name=draft]").first();
        await first.scrollIntoViewIfNeeded();
        expect(await below()).toBe(true);
        await first.check();
        expect(await below()).toBe(false);
      }));

    test("a list begins at most 200 px below its heading on a desk, and 260 on a phone; no page is narrower than another", () =>
      onPage({}, async (page) => {
        await lend(page, await portalBrowser(world, full));
        const widths = new Set<number | undefined>();
        for (const [width, most] of [
          [1280, 200],
          [390, 260],
        ] as const) {
          await page.setViewportSize({ width, height: 844 });
          for (const path of ["/customers", "/drafts"]) {
            await page.goto(portal(world, path));
            await page.evaluate(() => document.fonts.ready);
            const [heading, row] = [page.locator("h1"), page.locator(".rows li, tbody tr").first()];
            const [above, below] = [await heading.boundingBox(), await row.boundingBox()];
            const far = (below?.y ?? 0) - (above?.y ?? 0) - (above?.height ?? 0);
            expect(far, `${path}, ${width} px wide`).toBeLessThanOrEqual(most);
          }
        }
        await page.setViewportSize({ width: 1280, height: 844 });
        await lend(page, await portalBrowser(world, empty));
        for (const path of ["", "/payouts", "/settings", "/drafts"]) {
          await page.goto(portal(world, path));
          widths.add((await page.locator("main").boundingBox())?.width);
        }
        expect([...widths]).toHaveLength(1);
      }));

    test("axe finds nothing where a sign-up is ticked, and by keyboard the buttons are next after it", () =>
      walk(async (page, lang) => {
        // style sheets alone do it
        await page.route("**/page.js*", (route) => route.abort());
        await enter(page, full);
        await page.goto(urlOf("/drafts", lang));
        await page.locator("[name=draft]").first().focus();
        await page.keyboard.press("Tab");
        expect(await page.locator("a[href*='/drafts/']:focus").count(), "nothing is ticked").toBe(1);
        await page.keyboard.press("Shift+Tab");
        await page.keyboard.press("Space");
        await page.keyboard.press("Tab");
        await look(page, "portal-drafts-ticked", lang);
        await page.locator(".pick + .skip:focus").press("Enter");
        await page.keyboard.press("Tab");
        expect(await page.locator(":focus").getAttribute("value")).toBe("remind");
      }));

    test("a wide table is read row by row on a phone, each cell behind the name of its column; on a desk as a table", () =>
      onPage({ viewport: { width: 390, height: 844 } }, async (page) => {
        await enter(page, full);
        await page.goto(portal(world, "/payouts"));
        const row = page.getByRole("row").filter({ hasText: "2e kwartaal 2026" }).first();
        await row.getByRole("rowheader", { name: "2e kwartaal 2026" }).waitFor();
        await row.getByRole("cell", { name: /^Klanten 1$/ }).waitFor();
        expect(await page.getByRole("columnheader").count(), "not read twice").toBe(0);
        expect(await page.getByRole("cell", { name: "–" }).count(), "what is not there").toBe(0);
        const outside = await row
          .locator("td[data-column]")
          .evaluateAll((cells) =>
            cells
              .map((cell) => [getComputedStyle(cell).paddingLeft, getComputedStyle(cell, "::before").marginLeft])
              .filter(([inside = "", moved = ""]) => parseFloat(inside) + parseFloat(moved) < 0),
          );
        expect(outside, "names that are left of the page").toEqual([]);
        await page.setViewportSize({ width: 1280, height: 844 });
        await row.getByRole("cell", { name: "1", exact: true }).waitFor();
        const quarters = page.getByRole("table").filter({ hasText: "2e kwartaal 2026" });
        expect(await quarters.getByRole("columnheader").count()).toBe(7);
      }));

    test("a sign-up is two lines on a phone, which are heard with the names of their columns, and one line on a desk under a head that stays in sight", () =>
      onPage({ viewport: { width: 390, height: 844 } }, async (page) => {
        await enter(page, full);
        await page.goto(portal(world, "/drafts"));
        const row = page.getByRole("row").filter({ hasText: "KLANT-0042" }).first();
        await row.getByRole("rowheader", { name: "Jan-Willem van der Meulen" }).waitFor();
        await row.getByRole("cell", { name: /^Stand (Uitgenodigd|Al bij ons bekend)/ }).waitFor();
        await row.getByRole("cell", { name: /^Aangemeld op \d+ nov/ }).waitFor();
        expect(await page.getByRole("columnheader").count(), "not read twice").toBe(0);
        for (const each of await page.locator("tbody tr").all())
          expect((await each.boundingBox())?.height, "a name may take three lines").toBeLessThan(125);
        await page.setViewportSize({ width: 1280, height: 300 });
        await row.getByRole("cell", { name: "KLANT-0042", exact: true }).waitFor();
        expect(await page.getByRole("columnheader").allInnerTexts(), "the town of nobody is known").toEqual(
          expect.arrayContaining(["Wie", "Stand", "Aansluiting", "Uw referentie", "Aangemeld op", "Werkt tot"]),
        );
        for (const each of await page.locator("tbody tr").all())
          expect((await each.boundingBox())?.height).toBeLessThan(50);
        await page.locator("table").evaluate((table) => scrollTo(0, table.getBoundingClientRect().top + scrollY + 60));
        expect(Math.round((await page.locator("thead th").first().boundingBox())?.y ?? -1)).toBe(0);
        // anywhere on the line, for its link covers it
        const date = await page.locator("tbody tr").last().locator(".date").boundingBox();
        await page.mouse.click((date?.x ?? 0) + 10, (date?.y ?? 0) + 10);
        await page.waitForURL(/\/drafts\/[0-9a-f-]{36}/);
      }));

    test("filters stand on one line on a desk; what is chosen is taken back by its cross, one by one or all at once, without script", () =>
      onPage({ javaScriptEnabled: false }, async (page) => {
        await enter(page, full);
        await page.goto(portal(world, "/drafts"));
        const heights = await page
          .locator(".filter > :not(input, .hidden)")
          .evaluateAll((all) =>
            all.map((each) => each.getBoundingClientRect()).map(({ top, bottom }) => [top, bottom]),
          );
        const middles = heights.map(([top = 0, bottom = 0]) => (top + bottom) / 2);
        expect(Math.max(...middles) - Math.min(...middles), "one line").toBeLessThan(8);
        await page.locator("#q").fill("Meulen");
        await page.locator(".find button").click();
        await page.locator(".filter summary").click();
        await page.locator("#status").selectOption("conflict");
        await page.locator(".filter details .button").click();
        const chosen = () => page.locator(".chips .chosen").allInnerTexts();
        expect((await chosen()).map((text) => text.replace(/\s+/g, " ").split(":")[0]?.trim())).toEqual([
          "“Meulen”",
          "Al bij ons bekend 1",
        ]);
        expect(await page.locator("tbody tr").count()).toBe(1);
        await page.getByRole("link", { name: /^“Meulen”/ }).click();
        expect(await page.locator("#q").inputValue()).toBe("");
        expect(await chosen()).toHaveLength(1);
        await page.locator("#q").fill("niemand");
        await page.locator("#q").press("Enter");
        expect(await chosen(), "the stage stays while one searches on").toHaveLength(2);
        await page.getByRole("link", { name: "Wis alles" }).click();
        expect(await chosen()).toEqual([]);
        expect(await page.locator("tbody tr").count()).toBeGreaterThan(1);
      }));

    test("the settings are changed by keyboard alone, without script; Back and a reload send nothing again", () =>
      onPage({ javaScriptEnabled: false }, async (page) => {
        await enter(page, empty);
        await page.goto(portal(world, "/settings"));
        /** Goes on by Tab until what is meant has the focus. */
        const tabTo = async (selector: string) => {
          for (let presses = 0; presses < 60; presses++) {
            await page.keyboard.press("Tab");
            if (await page.locator(`${selector}:focus`).count()) return;
          }
          throw new Error(`no Tab leads to ${selector}`);
        };
        await tabTo(".skip");
        await page.keyboard.press("Enter");
        await page.keyboard.press("Tab");
        expect(await page.locator("main a:focus").count(), "past the menu").toBe(1);
        await page.reload();
        await tabTo('.rows a[href*="/settings/company"]');
        await page.keyboard.press("Enter");
        await tabTo("#kvk");
        await page.keyboard.type("1234");
        await page.keyboard.press("Enter");
        await page.locator(".errors").waitFor();
        await tabTo('.errors a[href="#kvk"]');
        await page.keyboard.press("Enter");
        await page.locator("#kvk").fill("");
        await page.locator("#kvk").focus();
        await page.keyboard.type("12345678");
        await page.keyboard.press("Enter");
        await page.locator("[role=status]").waitFor();
        expect(await page.locator("#kvk").inputValue()).toBe("12345678");
        await page.reload();
        expect(await page.locator("[role=status]").count()).toBe(0);
        await page.goBack();
        await page.goto(portal(world, "/settings/log"));
        expect(await page.locator(".pages li").count()).toBe(1);
      }));

    test("a session that ends in the middle of a form: after signing in again, what was typed is there, once", () =>
      onPage({ viewport: { width: 390, height: 844 }, javaScriptEnabled: false }, async (page) => {
        await signInOn(page, world, portal(world), empty.email);
        // every_form.test.ts sends each form; here a browser sends one line, and many
        for (const [path, field, value] of [
          ["/import/customer", "#naam", "Jan-Willem van der Meulen"],
          ["/import/invite", "#emails", "eva@voorbeeld.nl\nbram@voorbeeld.nl\n".repeat(20)],
        ] as const) {
          await page.goto(portal(world, path));
          await page.locator(field).fill(value);
          await world.row("delete from core.page_sessions where user_id = $1 returning 1", empty.user_id);
          await page.locator("main form .button").first().click();
          expect(await page.getByRole("status").textContent()).toContain("Wat u invulde, staat daarna weer klaar");
          await page.locator("#email").fill(empty.email);
          await page.locator("form[action*='/mail-code'] .button").click();
          await page.locator("#code").fill(await signInCode(world, empty.email));
          await page.locator(".actions .button").click();
          await page.locator(".signed-in").waitFor();
          expect(new URL(page.url()).pathname).toMatch(new RegExp(`${path}$`));
          expect(await page.locator(field).inputValue()).toBe(value);
          await page.reload();
          expect(await page.locator(field).inputValue(), "told once").not.toBe(value);
        }
      }));

    test("a color is picked and shown at once; saved, its button has letters that can be read", () =>
      onPage({}, async (page) => {
        await enter(page, empty);
        await page.goto(portal(world, "/settings/branding"));
        const button = page.locator(".on-light .button");
        const looks = () =>
          button.evaluate((element) => [getComputedStyle(element).backgroundColor, getComputedStyle(element).color]);
        expect(await looks()).toEqual(["rgb(11, 107, 79)", "rgb(255, 255, 255)"]);
        const yellow = ["rgb(255, 212, 0)", "rgb(0, 0, 0)"];
        await page.getByLabel("Kies een kleur").fill("#ffd400");
        expect(await page.locator("#primary_color").inputValue()).toBe("#ffd400");
        await expect.poll(looks).toEqual(yellow);
        await page.locator("#primary_color").fill("#7a1fa2");
        expect(await page.getByLabel("Kies een kleur").inputValue()).toBe("#7a1fa2");
        await expect.poll(looks).toEqual(["rgb(122, 31, 162)", "rgb(255, 255, 255)"]);
        await page.locator("#primary_color").fill("#ffd400");
        await page.getByRole("button", { name: "Bewaar", exact: true }).click();
        await page.getByText("Uw naam en kleur zijn bewaard.").waitFor();
        expect(await looks()).toEqual(yellow);
        await page.locator("#primary_color").fill("");
        await expect.poll(looks).toEqual(["rgb(11, 107, 79)", "rgb(255, 255, 255)"]);
        await page.getByRole("button", { name: "Bewaar", exact: true }).click();
        await page.getByText("geen eigen kleur gekozen").waitFor();
      }));

    test("whoever else signs in on that browser does not see it", () =>
      onPage({ javaScriptEnabled: false }, async (page) => {
        await enter(page, empty);
        await page.goto(portal(world, "/settings/company"));
        await page.locator("#street").fill("Havenkade");
        await world.row("delete from core.page_sessions where user_id = $1 returning 1", empty.user_id);
        await page.locator("main form .button").first().click();
        await page.locator("#email").fill(full.email);
        await page.locator("form[action*='/mail-code'] .button").click();
        await page.locator("#code").fill(await signInCode(world, full.email));
        await page.locator(".actions .button").click();
        await page.locator(".signed-in").waitFor();
        expect(new URL(page.url()).pathname).toMatch(/\/settings\/company$/);
        expect(await page.locator("#street").inputValue()).not.toBe("Havenkade");
      }));

    test("axe finds nothing on portal-sign-in", () =>
      lookAt({ name: "portal-sign-in", go: (page, lang) => page.goto(urlOf("", lang)) }));

    test.each(scenes)("axe finds nothing on $name", ({ name, who, path }) =>
      lookAt({
        name,
        tables: "fit",
        async go(page, lang) {
          await lookIn(page, who());
          await page.goto(urlOf(path, lang));
        },
      }),
    );

    test("axe finds nothing on the link of a draft, which is asked for by keyboard and copied from a field", () =>
      walk(async (page, lang) => {
        await enter(page, full);
        await page.goto(urlOf(`/drafts/${drafts.invited}`, lang));
        await page.locator("form[action*='/link'] button").press("Enter");
        const link = page.locator("#claim-link");
        expect(await link.inputValue()).toContain("/claim/");
        expect(await link.isEditable()).toBe(false);
        await look(page, "portal-draft-link", lang);
      }));
  },
);
