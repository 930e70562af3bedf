import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { serve } from "#shared/http/serve.ts";
import { surface } from "../../supabase/functions/pages/app.ts";
import { type Answerer, lookAt, noBrowser, onPage, type Scene, serveHttp } from "../harness/browser.ts";
import { createWorld, type World } from "../harness/world.ts";
import { issueLink, type Link, linkFor, mailedCode } from "./signatory.ts";

const SIGNATORY = "Sanne de Vries";
if (noBrowser) console.warn(`The signing page is not tested in a browser: ${noBrowser}`);

describe.skipIf(noBrowser)("§2 the signing page in a browser", () => {
  let world: World;
  let http: Awaited<ReturnType<typeof serveHttp>>;

  beforeAll(async () => {
    http = await serveHttp();
    world = await createWorld({
      limits: { lifted: ["page", "cpo_write"] },
      variables: { PAGES_URL: `${http.url}/pages` },
    });
    await world.database.admin.query("update core.partners set name = 'Zonneveld Laadpalen' where slug = 'partner-a'");
    http.answer = serve(surface, world.environment).fetch as Answerer;
  });
  afterAll(async () => {
    await http?.close();
    await world?.close();
  });

  const phone = { viewport: { width: 390, height: 844 }, javaScriptEnabled: false };

  async function mandateStatus(connection_id: string): Promise<string> {
    return (
      await world.row("select mandate_status from core.connection_mandates where connection_id = $1", connection_id)
    ).mandate_status;
  }

  test("read, ask for the code, type it wrong, sign: on a phone, without script", () =>
    onPage(phone, async (page) => {
      const { link, connection_id } = await issueLink(world);
      await page.goto(link);
      expect(await page.locator("html").getAttribute("lang")).toBe("nl");
      await page.getByRole("link", { name: "Verder naar ondertekenen" }).click();
      await page.getByRole("button", { name: "Mail mij de code" }).click();
      await page.getByLabel("Uw naam").fill(SIGNATORY);
      await page.getByLabel("Code uit de mail").fill("000 00");
      await page.getByRole("button", { name: "Onderteken", exact: true }).click();

      expect(await page.title()).toMatch(/^Fout: /);
      expect(await page.evaluate(() => document.activeElement?.className), "the summary takes the focus").toBe(
        "errors",
      );
      await page.getByRole("link", { name: "Vul de code van 6 cijfers in" }).click();
      expect(await page.evaluate(() => document.activeElement?.id)).toBe("code");
      expect(await page.getByLabel("Uw naam").inputValue(), "what was typed is kept").toBe(SIGNATORY);
      expect(await page.getByLabel("Code uit de mail").inputValue(), "but not the code").toBe("");

      await page.getByLabel("Code uit de mail").fill(await mailedCode(world, connection_id));
      await page.getByLabel("Ik heb de machtiging gelezen").check();
      await page.getByRole("button", { name: "Onderteken", exact: true }).click();
      expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("U heeft ondertekend");
      expect(page.url(), "a page of its own, that can be reloaded").toBe(`${link}?lang=nl`);
      await page.reload();
      expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("U heeft ondertekend");
      expect(await page.getByRole("link", { name: "Terug naar Zonneveld Laadpalen" }).getAttribute("href")).toBe(
        "https://partner-a.example/klaar",
      );
      expect(await mandateStatus(connection_id)).toBe("signed");
    }));

  test("by keyboard alone, in English", () =>
    onPage({ viewport: { width: 1280, height: 800 } }, async (page) => {
      const { link, connection_id } = await issueLink(world, {}, { locale: "en" });
      const tabTo = async (name: string) => {
        for (let presses = 0; presses < 40; presses++) {
          await page.keyboard.press("Tab");
          const focused = await page.evaluate(() => {
            const element = document.activeElement as HTMLInputElement | null;
            return element?.labels?.[0]?.textContent ?? element?.textContent ?? "";
          });
          if (focused.trim() === name) return;
        }
        throw new Error(`the keyboard does not reach ${name}`);
      };
      await page.goto(link);
      await tabTo("Continue to sign");
      await page.keyboard.press("Enter");
      await page.waitForURL(/\/sign/);
      await tabTo("Mail me the code");
      await page.keyboard.press("Enter");
      await page.getByLabel("Code from the mail").waitFor();
      await tabTo("Code from the mail");
      await page.keyboard.type(await mailedCode(world, connection_id));
      await tabTo("Your name");
      await page.keyboard.type(SIGNATORY);
      await tabTo("I have read the mandate and I agree.");
      await page.keyboard.press("Space");
      await tabTo("Sign");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { level: 1, name: "You have signed" }).waitFor();
      expect(await mandateStatus(connection_id)).toBe("signed");
    }));

  test("all of the mandate is printed, and what was folded is folded again after it", () =>
    onPage({}, async (page) => {
      await page.goto((await issueLink(world)).link);
      const folded = page.locator(".document details:not([open])");
      const before = await folded.count();
      expect(before).toBeGreaterThan(0);
      await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
      expect(await folded.count()).toBe(0);
      await page.evaluate(() => dispatchEvent(new Event("afterprint")));
      expect(await folded.count()).toBe(before);
    }));

  test("declining asks once more, and is final", () =>
    onPage(phone, async (page) => {
      const { link, connection_id } = await issueLink(world);
      await page.goto(link);
      await page.getByRole("link", { name: "Ik wil niet ondertekenen" }).click();
      await page.getByRole("link", { name: "Nee, terug naar de machtiging" }).click();
      expect(await mandateStatus(connection_id)).toBe("pending");
      await page.getByRole("link", { name: "Ik wil niet ondertekenen" }).click();
      await page.getByRole("button", { name: "Ja, ik onderteken niet" }).click();
      expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("U heeft niet ondertekend");
      expect(await mandateStatus(connection_id)).toBe("declined");
    }));

  test("an invalid field is red, in both colour schemes", () =>
    onPage(phone, async (page) => {
      const { link } = await issueLink(world);
      await page.goto(link);
      await page.getByRole("link", { name: "Verder naar ondertekenen" }).click();
      await page.getByRole("button", { name: "Mail mij de code" }).click();
      await page.getByRole("button", { name: "Onderteken", exact: true }).click();
      for (const [colorScheme, wrong] of [
        ["light", "rgb(163, 38, 15)"],
        ["dark", "rgb(255, 156, 136)"],
      ] as const) {
        await page.emulateMedia({ colorScheme });
        for (const id of ["code", "name"]) {
          const border = await page.locator(`#${id}`).evaluate((field) => {
            const { borderTopColor, borderTopWidth } = getComputedStyle(field);
            return [borderTopColor, borderTopWidth];
          });
          expect(border, id).toEqual([wrong, "2px"]);
        }
        const shadow = await page.locator("#agree").evaluate((tick) => getComputedStyle(tick).boxShadow);
        expect(shadow).toContain(wrong);
      }
    }));

  test("Back after a refused form shows the page before it, and a reload sends nothing again", () =>
    onPage(phone, async (page) => {
      const { link } = await issueLink(world);
      await page.goto(link);
      await page.getByRole("link", { name: "Verder naar ondertekenen" }).click();
      await page.getByRole("button", { name: "Mail mij de code" }).click();
      await page.getByLabel("Uw naam").fill(SIGNATORY);
      await page.getByRole("button", { name: "Onderteken", exact: true }).click();
      expect(await page.title()).toMatch(/^Fout: /);
      await page.getByRole("link", { name: "Terug" }).first().click();
      await page.goBack();
      expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("Onderteken de machtiging");
      const sent: string[] = [];
      page.on("request", (request) => sent.push(request.method()));
      await page.reload();
      expect(sent).not.toContain("POST");
      expect(await page.title(), "shown once").not.toMatch(/^Fout: /);
    }));

  test("a browser without cookies is told at once, and what was typed stays", () =>
    onPage(phone, async (page, context) => {
      const { link } = await issueLink(world);
      await page.goto(link);
      await page.getByRole("link", { name: "Verder naar ondertekenen" }).click();
      await page.getByRole("button", { name: "Mail mij de code" }).click();
      await context.clearCookies();
      await page.getByLabel("Uw naam").fill(SIGNATORY);
      const [answered] = await Promise.all([
        page.waitForResponse((response) => response.request().method() === "POST"),
        page.getByRole("button", { name: "Onderteken", exact: true }).click(),
      ]);
      expect(answered.status()).toBe(422);
      expect(await page.title()).toMatch(/^Fout: /);
      expect(await page.getByLabel("Uw naam").inputValue()).toBe(SIGNATORY);
    }));

  test("the language switch works on every step and loses nothing", () =>
    onPage(phone, async (page) => {
      const { link } = await issueLink(world);
      const switchTo = (language: string) => page.getByRole("navigation").getByRole("link", { name: language }).click();
      const heading = () => page.getByRole("heading", { level: 1 }).textContent();
      await page.goto(link);
      await switchTo("English");
      expect(await heading()).toBe("Read your mandate");
      await page.getByRole("link", { name: "Continue to sign" }).click();
      await switchTo("Nederlands");
      expect(await heading()).toBe("Vraag een code aan");
      await page.getByRole("button", { name: "Mail mij de code" }).click();
      await page.getByRole("button", { name: "Onderteken", exact: true }).click();
      expect(await page.title()).toMatch(/^Fout: /);
      await switchTo("English");
      expect(await heading()).toBe("Sign the mandate");
      await page.getByRole("link", { name: "I do not want to sign" }).click();
      await switchTo("Nederlands");
      expect(await heading()).toBe("Wilt u niet ondertekenen?");
    }));

  test("a page that does not exist leads to the start page, and that to the pages that do", () =>
    onPage(phone, async (page) => {
      await page.goto(`${http.url}/pages/machtigingen`);
      await page.getByRole("link", { name: "Naar het begin" }).click();
      await page.getByRole("link", { name: "Mijn pagina's" }).click();
      expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("Log in");
    }));

  test("what is read is the text that is signed, word for word", () =>
    onPage(phone, async (page) => {
      const { link, token } = await issueLink(world, {
        type: "zakelijk",
        company: { name: "<b>Bakkerij</b> & Zn.", kvk: "12345678", vat: null },
      });
      const words = (text: string) =>
        text
          .replace(/^- |:(?= )/gm, "")
          .split(/\s+/)
          .join(" ")
          .trim();
      await page.goto(link);
      const shown = await page.locator("article").evaluate((article) => {
        const parts = article.querySelectorAll("h2, h3, dt, dd, li, p");
        return Array.from(parts, (part) => part.textContent).join(" ");
      });
      const kept = await (await fetch(`${http.url}/pages/mandate/${token}/document`)).text();
      expect(words(shown)).toBe(words(kept));
      expect(kept).toContain("  Bedrijf: <b>Bakkerij</b> & Zn.");
    }));

  test("nothing is asked of another origin, and no address leaves with the link in it", () =>
    onPage({ viewport: { width: 1280, height: 800 } }, async (page) => {
      const { link } = await issueLink(world);
      const asked: string[] = [];
      const broken: string[] = [];
      page.on("request", (request) => asked.push(new URL(request.url()).origin));
      page.on("console", (message) => broken.push(message.text()));
      await page.goto(link);
      expect(new Set(asked.filter((origin) => origin !== "null"))).toEqual(new Set([http.url]));
      expect(broken, "the content security policy refuses nothing").toEqual([]);
      expect(await page.evaluate(() => document.styleSheets[0]?.cssRules.length)).toBeGreaterThan(20);
      await page.getByRole("link", { name: "Verder naar ondertekenen" }).click();
      expect(await page.evaluate(() => document.referrer)).toBe("");
    }));

  // Every page -------------------------------------------------------------------------------------------------------

  const business = { type: "zakelijk", company: { name: "Bakkerij De Korenaar B.V.", kvk: "12345678", vat: null } };
  const open = async (page: Page, locale: string, account = {}): Promise<Link> => {
    const issued = await issueLink(world, account, { locale, validity_years: 3 });
    await page.goto(issued.link);
    return issued;
  };
  const toForm = async (page: Page, locale: string, account = {}): Promise<Link> => {
    const issued = await open(page, locale, account);
    await page.locator("main a.button").click();
    if (await page.locator("form .button").count()) await page.locator("form .button").first().click();
    return issued;
  };
  const fill = async (page: Page, { connection_id }: Link) => {
    await page.locator("#code").fill(await mailedCode(world, connection_id));
    await page.locator("#name").fill(SIGNATORY);
    await page.locator("#agree").check();
  };
  const scenes: Scene[] = [
    { name: "read", go: open },
    { name: "read-business", go: (page, locale) => open(page, locale, business) },
    {
      name: "ask-code",
      go: async (page, locale) => {
        await open(page, locale);
        await page.locator("main a.button").click();
      },
    },
    { name: "sign", go: toForm },
    {
      name: "sign-errors",
      go: async (page, locale) => {
        await toForm(page, locale, business);
        await page.locator("form .button").first().click();
      },
    },
    {
      name: "sign-no-email",
      go: async (page, locale) => {
        await open(page, locale, { person: { full_name: "Sanne de Vries" } });
        await page.locator("main a.button").click();
        await page.locator("summary").click();
      },
    },
    {
      name: "signed",
      go: async (page, locale) => {
        await fill(page, await toForm(page, locale));
        await page.locator("form .button").first().click();
        // folded with the text that it is of
        await page.locator(".fingerprint").waitFor({ state: "attached" });
      },
    },
    {
      name: "decline",
      go: async (page, locale) => {
        await open(page, locale);
        await page.locator('main a.link[href*="/decline"]').click();
      },
    },
    {
      name: "declined",
      go: async (page, locale) => {
        await open(page, locale);
        await page.locator('main a.link[href*="/decline"]').click();
        await page.locator("button").click();
      },
    },
    {
      name: "changed",
      go: async (page, locale) => {
        await open(page, locale);
        const href = await page.locator("main a.button").evaluate((link: HTMLAnchorElement) => link.href);
        await page.goto(href.replace(/seen=\w+/, "seen=0"));
      },
    },
    {
      name: "voided",
      go: async (page, locale) => {
        const { account_id, link } = await issueLink(world, {}, { locale });
        await linkFor(world, account_id);
        await page.goto(link);
      },
    },
    {
      name: "expired",
      go: async (page, locale) => {
        const { link, connection_id } = await issueLink(world, {}, { locale });
        await world.row(
          "update core.mandate_links set expires_at = private.now() where connection_id = $1",
          connection_id,
        );
        await page.goto(link);
      },
    },
    { name: "unknown", go: (page, locale) => page.goto(`${http.url}/pages/mandate/x?lang=${locale}`) },
    { name: "not-found", go: (page, locale) => page.goto(`${http.url}/pages/x?lang=${locale}`) },
    { name: "home", go: (page, locale) => page.goto(`${http.url}/pages?lang=${locale}`) },
    {
      name: "mail",
      go: async (page, locale) => {
        const { connection_id } = await issueLink(world, {}, { locale, send_email: true });
        const { html } = await world.mail(
          "where cause = 'mandate_link:' || (select id from core.mandate_links where connection_id = $1)",
          connection_id,
        );
        await page.setContent(html);
      },
    },
    {
      name: "mail-code",
      go: async (page, locale) => {
        const { connection_id } = await toForm(page, locale);
        const { html } = await world.mail(
          `join core.mandate_links l on m.cause like 'mandate_code:' || l.id || ':%' where l.connection_id = $1`,
          connection_id,
        );
        await page.setContent(html);
      },
    },
  ];

  test.each(scenes)("axe finds nothing on $name", (scene) => lookAt(scene));
});
