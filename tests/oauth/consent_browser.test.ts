import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Answerer, lookAt, noBrowser, onPage, type Scene, serveHttp } from "../harness/browser.ts";

import { type App, authorizationOf, createOAuthWorld, newVerifier, type OAuth, type Person } from "./oauth_world.ts";

describe.skipIf(noBrowser)(`§4.5 the consent page in a browser${noBrowser ? ` (skipped: ${noBrowser})` : ""}`, () => {
  let world: OAuth;
  let theirs: Awaited<ReturnType<typeof serveHttp>>;
  let app: App;
  let person: Person;
  /** What reached the application, on an origin of its own. */
  const arrived: Request[] = [];

  beforeAll(async () => {
    theirs = await serveHttp();
    theirs.answer = ((request) => {
      arrived.push(request);
      const body = request.url.endsWith("/start")
        ? `<a href="${link().replaceAll("&", "&amp;")}">Koppel</a>`
        : "<h1>Back in the app</h1>";
      return new Response(body, { headers: { "content-type": "text/html" } });
    }) as Answerer;
    world = await createOAuthWorld({ limits: "lifted" });
    app = await world.app({ redirect_uris: [`${theirs.url}/callback`] });
    person = await world.person({ email: "sanne@example.nl" });
  });
  afterAll(async () => {
    await theirs?.close();
    await world?.close();
  });

  const link = (fields: Record<string, string> = {}) => {
    const asked = authorizationOf(app, newVerifier(), { redirect_uri: `${theirs.url}/callback`, ...fields });
    return `${world.url}/pages/consent?${new URLSearchParams(asked as Record<string, string>)}`;
  };

  test("sign in, allow, and be back in the app: on a phone, without script, from a link of another site", () =>
    onPage({ viewport: { width: 390, height: 844 }, javaScriptEnabled: false, locale: "nl" }, async (page) => {
      arrived.length = 0;
      await page.goto(`${theirs.url}/start`);
      await page.getByRole("link", { name: "Koppel" }).click();
      await page.getByText("Log in met een wachtwoord").click();
      await page.locator("#login").fill(person.email);
      await page.getByLabel("Wachtwoord").fill("verkeerd");
      await page.getByRole("button", { name: "Log in" }).click();
      expect(await page.title()).toMatch(/^Fout: /);
      expect(await page.locator("#login").inputValue(), "what was typed is kept").toBe(person.email);
      expect(await page.getByLabel("Wachtwoord").inputValue(), "but not the password").toBe("");
      await page.getByLabel("Wachtwoord").fill(person.password);
      await page.getByRole("button", { name: "Log in" }).click();
      expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("Geeft u Laadapp toegang?");
      await page.reload();
      expect(await page.getByRole("heading", { level: 1 }).textContent()).toBe("Geeft u Laadapp toegang?");
      await page.getByRole("button", { name: "Ja, geef toegang" }).click();
      await page.getByRole("heading", { name: "Back in the app" }).waitFor();
      const first = arrived.find(({ url }) => url.includes("/callback"));
      expect(new URL(first?.url ?? "").searchParams.get("code")).toMatch(/^[0-9A-Za-z]{43}$/);
      expect(first?.headers.get("referer"), "RFC 9700 §4.2.4 no referrer").toBeNull();
      expect(first?.headers.get("cookie"), "and no session").toBeNull();
    }));

  const mailedCode = async () =>
    (
      await world.mail("where recipient = $1 order by created_at desc, age(xmin), ctid desc limit 1", person.email)
    ).subject.slice(0, 6);

  test("sign in by a mailed code, one wrong and one sent again: on a phone, without script, in either language", () =>
    onPage({ viewport: { width: 390, height: 844 }, javaScriptEnabled: false, locale: "nl" }, async (page) => {
      arrived.length = 0;
      const heading = () => page.getByRole("heading", { level: 1 }).textContent();
      await page.goto(`${theirs.url}/start`);
      await page.getByRole("link", { name: "Koppel" }).click();
      await page.getByRole("button", { name: "Mail mij een code" }).click();
      expect(await page.title()).toMatch(/^Fout: /);
      await page.locator("#email").fill(person.email);
      await page.getByRole("button", { name: "Mail mij een code" }).click();
      expect(await heading()).toBe("Vul de code in");
      await page.getByLabel("Code uit de mail").fill(await mailedCode());
      await page.getByRole("button", { name: "Mail mij een nieuwe code" }).click();
      expect(await heading(), "sent again").toBe("Vul de code in");
      const right = await mailedCode();
      await page.getByLabel("Code uit de mail").fill(right === "123456" ? "654321" : "123456");
      await page.getByRole("button", { name: "Log in" }).click();
      expect(await page.title()).toMatch(/^Fout: /);
      await page.reload();
      await page.getByRole("link", { name: "English" }).click();
      expect(await heading()).toBe("Enter the code");
      await page.getByRole("link", { name: "Sign in another way" }).click();
      expect(await page.locator("#email").inputValue(), "the address is kept").toBe(person.email);
      await page.goBack();
      await page.getByLabel("Code from the mail").fill(right);
      await page.getByRole("button", { name: "Sign in" }).click();
      expect(await heading()).toBe("Do you want to give Laadapp access?");
      await page.getByRole("button", { name: "Yes, give access" }).click();
      await page.getByRole("heading", { name: "Back in the app" }).waitFor();
      const first = arrived.find(({ url }) => url.includes("/callback"));
      expect(new URL(first?.url ?? "").searchParams.get("code")).toMatch(/^[0-9A-Za-z]{43}$/);
      expect(first?.headers.get("cookie")).toBeNull();
    }));

  test("refuse, by keyboard alone, in English", () =>
    onPage({ viewport: { width: 1280, height: 800 }, locale: "en" }, async (page) => {
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
      arrived.length = 0;
      await page.goto(link({ state: "xyz" }));
      await tabTo("Sign in with a password");
      await page.keyboard.press("Enter");
      await tabTo("E-mail address");
      await page.keyboard.type(person.email);
      await tabTo("Password");
      await page.keyboard.type(person.password);
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Do you want to give Laadapp access?" }).waitFor();
      await tabTo("No, do not give access");
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Back in the app" }).waitFor();
      const answer = new URL(arrived.find(({ url }) => url.includes("/callback"))?.url ?? "").searchParams;
      expect([answer.get("error"), answer.get("state"), answer.get("code")]).toEqual(["access_denied", "xyz", null]);
    }));

  test("scripts do not see the session, and the content security policy refuses nothing of ours", () =>
    onPage({ locale: "en" }, async (page) => {
      const broken: string[] = [];
      page.on("console", (message) => broken.push(message.text()));
      await signIn(page, "en");
      expect(await page.evaluate(() => document.cookie)).toBe("");
      await page.locator("form .button").first().click();
      await page.getByRole("heading", { name: "Back in the app" }).waitFor();
      expect(broken).toEqual([]);
    }));

  async function signIn(page: Page, lang: string, fields: Record<string, string> = {}) {
    await page.goto(link({ lang, ...fields }));
    await page.locator("summary").click();
    await page.locator("#login").fill(person.email);
    await page.locator("#password").fill(person.password);
    await page.locator("#password").press("Enter");
    await page.locator("[name=proof]").waitFor({ state: "attached" });
  }

  async function askCode(page: Page, lang: string) {
    await page.goto(link({ lang }));
    await page.locator("#email").fill(person.email);
    await page.locator("form[action*='/mail-code'] .button").click();
    await page.locator("#code").waitFor();
  }

  const scenes: Scene[] = [
    { name: "consent-sign-in", go: (page, lang) => page.goto(link({ lang })) },
    {
      name: "consent-sign-in-errors",
      go: async (page, lang) => {
        await page.goto(link({ lang }));
        await page.locator("summary").click();
        await page.locator("details .button").click();
        await page.locator("#password-error").waitFor();
      },
    },
    { name: "consent-code", go: (page, lang) => askCode(page, lang) },
    {
      name: "consent-code-errors",
      go: async (page, lang) => {
        await askCode(page, lang);
        await page.locator("#code").fill(String((Number(await mailedCode()) + 1) % 1_000_000).padStart(6, "0"));
        await page.locator(".actions .button").click();
        await page.locator("#code-error").waitFor();
      },
    },
    {
      name: "consent-too-many-codes",
      go: async (page, lang) => {
        await world.limit("sign_in_mail", 1);
        for (let asked = 0; asked < 2; asked++) {
          await page.goto(link({ lang }));
          await page.locator("#email").fill(person.email);
          await page.locator("form[action*='/mail-code'] .button").click();
        }
        await page.locator("main a.button").waitFor();
        await world.limit("sign_in_mail");
        await world.row("delete from core.rate_limit_state");
      },
    },
    { name: "consent", go: (page, lang) => signIn(page, lang) },
    {
      name: "consent-again",
      go: async (page, lang) => {
        await signIn(page, lang);
        await page.locator("[name=proof]").evaluate((field) => field.setAttribute("value", "another"));
        await page.locator("form .button").first().click();
        await page.locator("[role=alert]").waitFor();
      },
    },
    {
      name: "consent-done",
      go: async (page, lang) => {
        await signIn(page, lang);
        // a browser that does not go on by itself
        await page.route(`${world.url}/pages/consent?*`, async (route) => {
          const response = await route.fetch();
          const { refresh: _onward, ...headers } = response.headers();
          await route.fulfill({ response, headers });
        });
        await page.locator("form .button").first().click();
        await page.locator("main a.button").waitFor();
      },
    },
    { name: "consent-bad-request", go: (page, lang) => page.goto(link({ lang, client_id: "app_unknown" })) },
  ];

  test.each(scenes)("axe finds nothing on $name", (scene) => lookAt(scene));
});
