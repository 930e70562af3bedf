import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { claimLinks } from "#shared/domain/claim/links.ts";
import { type StoredMail, writeMail } from "#shared/domain/mail/mail.ts";
import { lookAt, noBrowser, onPage, overflowOf, type Scene } from "../harness/browser.ts";
import {
  ANSWERS,
  answer,
  type Browser as BrowserWithoutScript,
  type ClaimWorld,
  createClaimWorld,
  type Draft,
  draftRow,
  fill,
  lend,
  mailedCode,
  newBrowser,
  newDraft,
  newSignInLink,
  prove,
  signedClaim,
} from "./claimant.ts";

if (noBrowser) console.warn(`The claim pages are not tested in a browser: ${noBrowser}`);

describe.skipIf(noBrowser)("the claim pages in a browser", () => {
  let world: ClaimWorld;
  let house = 200;

  beforeAll(async () => {
    world = await createClaimWorld();
  });
  afterAll(async () => {
    await world?.close();
  });

  const phone = { viewport: { width: 390, height: 844 }, javaScriptEnabled: false };
  const heading = (page: Page) => page.getByRole("heading", { level: 1 }).textContent();
  const submit = (page: Page) => page.locator("main form .button").first().click();

  /** An address of its own has a connection of its own. */
  const draftAt = (fields: Record<string, unknown> = {}) => {
    house += 1;
    return newDraft(world, { house_number: house, ...fields });
  };
  const proveIn = async (page: Page, draft: Draft, locale = "nl") => {
    await page.goto(`${draft.link}?lang=${locale}`);
    await submit(page);
    await page.locator("#code").fill(await mailedCode(world, draft));
    await submit(page);
  };
  /** To the step of that name, every one before it answered with what the partner uploaded. */
  const to = async (page: Page, step: string) => {
    for (let pages = 0; pages < 8 && !new URL(page.url()).pathname.endsWith(`/${step}`); pages++) {
      await (/\/(payout|charger)\b/.test(page.url())
        ? page.locator("main .sheet .button")
        : page.locator("main form .button").first()
      ).click();
    }
    expect(new URL(page.url()).pathname).toMatch(new RegExp(`/${step}$`));
  };

  type Claim = { draft: Draft; ask: BrowserWithoutScript };
  type Steps = Parameters<typeof answer>[2];
  /** A claim whose address is proved and whose steps are answered, up to the one told. */
  const claimOf = async (fields: Record<string, unknown> = {}, steps: Steps = {}): Promise<Claim> => {
    const draft = await draftAt(fields);
    const ask = newBrowser(world);
    await prove(world, ask, draft);
    const address = { ...ANSWERS.address, house_number: String(fields.house_number ?? house) };
    await answer(ask, draft, { address, payout: { later: "yes" }, ...steps });
    return { draft, ask };
  };

  test("from the mail to done: on a phone, without script, with mistakes on the way", () =>
    onPage(phone, async (page) => {
      const draft = await draftAt({ charger: { brand: "Alfen" } });
      await page.goto(draft.link);
      expect(await page.locator("html").getAttribute("lang")).toBe("nl");
      expect(await page.locator("header").textContent()).toContain("Zonneveld via ERE Service");
      await page.getByRole("button", { name: "Mail mij de code" }).click();
      await page.getByLabel("Code uit de mail").fill("12");
      await page.getByRole("button", { name: "Verder" }).click();
      expect(await page.title()).toMatch(/^Fout: /);
      await page.getByLabel("Code uit de mail").fill(await mailedCode(world, draft));
      await page.getByRole("button", { name: "Verder" }).click();

      expect(await heading(page)).toBe("Wie bent u?");
      expect(await page.getByLabel("Uw naam").inputValue()).toBe("Sanne de Vries");
      await page.getByLabel("Uw naam").fill("S");
      await page.getByRole("button", { name: "Verder" }).click();
      expect(await page.title()).toMatch(/^Fout: /);
      expect(await page.evaluate(() => document.activeElement?.className), "the summary takes the focus").toBe(
        "errors",
      );
      await page.getByRole("link", { name: "Vul uw voornaam en achternaam in" }).click();
      expect(await page.evaluate(() => document.activeElement?.id)).toBe("full_name");
      expect(await page.getByLabel("Uw naam").inputValue()).toBe("S");
      await page.getByLabel("Uw naam").fill("Sanne de Vries");
      await page.getByRole("button", { name: "Verder" }).click();

      expect(await heading(page)).toBe("Waar staat de laadpaal?");
      await page.getByRole("link", { name: "Terug" }).click();
      expect(await page.getByLabel("Uw naam").inputValue(), "Back loses nothing").toBe("Sanne de Vries");
      await page.goto(draft.link);
      expect(await heading(page), "the link leads to where one was").toBe("Waar staat de laadpaal?");
      await page.getByRole("button", { name: "Verder" }).click();

      expect(await heading(page)).toBe("Welke aansluiting is het?");
      await page.getByRole("button", { name: "Verder" }).click();
      await page.getByLabel("IBAN").fill("NL91 ABNA 0417 1643 01");
      await page.getByRole("button", { name: "Verder" }).click();
      expect(await page.getByLabel("IBAN").inputValue()).toBe("NL91 ABNA 0417 1643 01");
      await page.getByLabel("IBAN").fill("NL91 ABNA 0417 1643 00");
      await page.getByRole("button", { name: "Verder" }).click();

      expect(await heading(page)).toBe("Welke laadpaal heeft u?");
      await page.getByRole("link", { name: "Een ander merk kiezen" }).click();
      await page.getByLabel("Merk").selectOption("Easee");
      await page.getByRole("button", { name: "Verder" }).click();
      await page.getByLabel("Model").selectOption({ index: 1 });
      await page.getByRole("button", { name: "Verder" }).click();

      expect(await heading(page)).toBe("Controleer en lees uw machtiging");
      await page.getByRole("link", { name: "Verder naar ondertekenen" }).click();
      await page.getByRole("button", { name: "Mail mij de code" }).click();
      await page.getByLabel("Code uit de mail").fill(await mailedCode(world, draft));
      await page.getByLabel("Uw naam").fill("Sanne de Vries");
      await page.getByLabel("Ik heb de machtiging gelezen").check();
      await page.getByRole("button", { name: "Onderteken", exact: true }).click();
      expect(await heading(page)).toBe("U bent aangemeld");
      expect(new URL(page.url()).pathname).toBe(new URL(draft.link).pathname);
      await page.reload();
      expect(await heading(page)).toBe("U bent aangemeld");
      expect((await draftRow(world, draft)).status).toBe("active");
    }));

  test("after the signature: on a phone, without script, what was put off is given, changed and the mandate ended", () =>
    onPage(phone, async (page) => {
      const { draft, ask } = await signedClaim(world);
      await lend(page, ask);
      await page.goto(draft.link);
      expect(await heading(page)).toBe("U bent aangemeld");
      await page.getByRole("link", { name: "Rekeningnummer doorgeven" }).click();
      await page.getByLabel("IBAN").fill("NL91 ABNA 0417 1643 01");
      await page.getByRole("button", { name: "Opslaan" }).click();
      expect(await page.title()).toMatch(/^Fout: /);
      await page.getByRole("link", { name: "Dit is geen geldig IBAN" }).click();
      expect(await page.evaluate(() => document.activeElement?.id)).toBe("iban");
      expect(await page.getByLabel("IBAN").inputValue()).toBe("NL91 ABNA 0417 1643 01");
      await page.getByLabel("IBAN").fill("NL91 ABNA 0417 1643 00");
      await page.getByRole("button", { name: "Opslaan" }).click();
      expect(await heading(page)).toBe("U bent aangemeld");
      expect(await page.getByRole("link", { name: "Rekeningnummer doorgeven" }).count()).toBe(0);

      await page.getByRole("link", { name: "Laadpaal doorgeven" }).click();
      await page.getByRole("link", { name: "Terug" }).click();
      expect(await heading(page), "Back leads to where one was").toBe("U bent aangemeld");
      await page.getByRole("link", { name: "Laadpaal doorgeven" }).click();
      const choose = async (brand: string) => {
        await page.getByLabel("Merk").selectOption(brand);
        await page.getByRole("button", { name: "Verder" }).click();
        await page.getByLabel("Model").selectOption({ index: 1 });
      };
      await choose("Easee");
      await page.getByRole("button", { name: "Opslaan" }).click();
      expect(await page.locator("main").textContent()).toContain("heeft geen geijkte meter (MID)");
      await page.getByRole("link", { name: "Laadpaal met MID-meter doorgeven" }).click();
      await choose("Alfen");
      await page.getByRole("button", { name: "Opslaan" }).click();
      expect(await page.title(), "the second one needs its number").toMatch(/^Fout: /);
      await page.getByLabel("Serienummer").fill("ace 77");
      await page.getByRole("button", { name: "Opslaan" }).click();
      expect(await heading(page)).toBe("U bent aangemeld");
      expect(await page.getByRole("heading", { name: "Wat u nog moet doen" }).count()).toBe(0);
      await page.reload();
      expect(await page.locator("main").textContent()).toContain("Uw registratie is ingediend.");

      await page.getByRole("link", { name: "Rekeningnummer wijzigen" }).click();
      await page.getByRole("button", { name: "Mail mij de code" }).press("Enter");
      await page.getByLabel("Code uit de mail").fill(await mailedCode(world, draft));
      await page.getByLabel("IBAN").fill("NL20 INGB 0001 2345 67");
      await page.getByRole("button", { name: "Opslaan" }).click();
      expect(await page.locator("main").textContent()).toContain("eindigt op 4567");

      await page.getByRole("link", { name: "Machtiging intrekken" }).click();
      await page.getByRole("link", { name: "Terug" }).click();
      expect(await heading(page)).toBe("U bent aangemeld");
      await page.getByRole("link", { name: "Machtiging intrekken" }).click();
      await page.getByRole("button", { name: "Mail mij de code" }).press("Enter");
      await page.getByRole("button", { name: "Ja, trek mijn machtiging in" }).click();
      expect(await page.title(), "without the code").toMatch(/^Fout: /);
      await page.getByLabel("Code uit de mail").fill(await mailedCode(world, draft));
      await page.getByRole("button", { name: "Ja, trek mijn machtiging in" }).click();
      expect(await heading(page)).toBe("Uw machtiging is ingetrokken");
      await page.getByRole("navigation").getByRole("link", { name: "English" }).click();
      expect(await heading(page)).toBe("Your mandate was withdrawn");
    }));

  test("the start of a claim: what it yields and the button stand on the first screen of a phone", () =>
    onPage(phone, async (page) => {
      const draft = await newDraft(world);
      for (const lang of ["nl", "en"]) {
        await page.goto(`${draft.link}?lang=${lang}`);
        await page.evaluate(() => document.fonts.ready);
        const box = await page.locator("main .button").first().boundingBox();
        expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThan(844);
        const [benefit] = await page.locator("main p.lead").all();
        expect((await benefit?.boundingBox())?.y).toBeLessThan(box?.y ?? 0);
        expect(await page.locator(".steps p").textContent()).toBe(
          lang === "nl" ? "Stap 1 van 6: E-mail" : "Step 1 of 6: E-mail",
        );
      }
    }));

  test("the page before signing is at most 2,600 px on a phone of 390, with the sum, the years and the whole mandate", () =>
    onPage({ viewport: { width: 390, height: 844 } }, async (page) => {
      const { draft, ask } = await claimOf();
      await lend(page, ask);
      await world.row(
        "insert into core.figures (partner_id, delivery_year, price) select id, 2026, 0.42 from core.partners returning 1",
      );
      for (const lang of ["nl", "en"]) {
        await page.goto(`${draft.link}/mandate?lang=${lang}`);
        await page.evaluate(() => document.fonts.ready);
        for (const part of [".sum", ".choices", ".document"]) expect(await page.locator(part).count(), part).toBe(1);
        expect(await page.evaluate(() => document.documentElement.scrollHeight)).toBeLessThanOrEqual(2600);
      }
      await world.row("delete from core.figures returning 1");
    }));

  test("the letters come from our own origin, and are kept for as long as they do not change", () =>
    onPage({ viewport: { width: 1280, height: 800 } }, async (page) => {
      const draft = await newDraft(world);
      const asked: string[] = [];
      page.on("request", (request) => asked.push(request.url()));
      await page.goto(draft.link);
      expect(await page.evaluate(() => document.fonts.ready.then((fonts) => fonts.check('1rem "Public Sans"')))).toBe(
        true,
      );
      const [letters, ...more] = asked.filter((url) => url.endsWith(".woff2"));
      expect(more, "once, by what is loaded ahead and the style sheet alike").toEqual([]);
      const style = asked.find((url) => url.includes("/style.css")) ?? "";
      for (const url of [letters ?? "", style]) {
        const answer = await fetch(url);
        expect(answer.status).toBe(200);
        expect(answer.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
      }
      const other = await fetch(style.replace(/v=.*/, "v=0"));
      expect(other.headers.get("cache-control"), "of another version").toBe("public, max-age=3600");
    }));

  test("by keyboard alone, in English, through a sign-in link", () =>
    onPage({ viewport: { width: 1280, height: 800 } }, async (page) => {
      const draft = await draftAt();
      const tabTo = async (name: string) => {
        for (let presses = 0; presses < 40; presses++) {
          await page.keyboard.press("Tab");
          const focused = await page.evaluate(() => {
            const element = document.activeElement as HTMLInputElement | null;
            return (
              element?.labels?.[0]?.querySelector("span")?.firstChild?.textContent ??
              element?.labels?.[0]?.textContent ??
              element?.textContent ??
              ""
            );
          });
          if (focused.trim() === name) return;
        }
        throw new Error(`the keyboard does not reach ${name}`);
      };
      const press = async (name: string, next: string) => {
        await tabTo(name);
        await page.keyboard.press("Enter");
        await page.getByRole("heading", { level: 1, name: next }).waitFor();
      };
      await page.goto(`${await newSignInLink(world, draft)}?lang=en`);
      await press("Continue", "Who are you?");
      await press("Continue", "Where is the charger?");
      await press("Continue", "Which connection is it?");
      await press("Continue", "Where should we send the money?");
      await press("I will give it later", "Which charger do you have?");
      await press("I do not know yet", "Check and read your mandate");
      await press("Continue to sign", "Ask for a code");
      await press("Mail me the code", "Sign the mandate");
      await tabTo("Code from the mail");
      await page.keyboard.type(await mailedCode(world, draft));
      await tabTo("Your name");
      await page.keyboard.type("Sanne de Vries");
      await tabTo("I have read the mandate and I agree.");
      await page.keyboard.press("Space");
      await press("Sign", "You are registered");
    }));

  test("the session reaches only this claim, and no script; nothing is asked of another origin", () =>
    onPage({ viewport: { width: 1280, height: 800 } }, async (page, context) => {
      const draft = await draftAt();
      const asked: string[] = [];
      const broken: string[] = [];
      page.on("request", (request) => asked.push(new URL(request.url()).origin));
      page.on("console", (message) => broken.push(message.text()));
      await proveIn(page, draft);
      const [cookie] = await context.cookies(page.url());
      expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Lax", path: new URL(draft.link).pathname });
      expect(await context.cookies(world.url)).toEqual([]);
      expect(await page.evaluate(() => document.cookie)).toBe("");
      expect(new Set(asked.filter((origin) => origin !== "null"))).toEqual(new Set([world.url]));
      expect(broken).toEqual([]);
      const accent = await page
        .locator(".button")
        .first()
        .evaluate((button) => getComputedStyle(button).backgroundColor);
      expect(accent, "the partner's colour").toBe("rgb(122, 31, 162)");
      await page.emulateMedia({ colorScheme: "dark" });
      const dark = await page
        .locator(".button")
        .first()
        .evaluate((button) => getComputedStyle(button).backgroundColor);
      expect(dark, "in the dark too").toBe("rgb(122, 31, 162)");
    }));

  test("the language switch loses nothing that was kept, on every step", () =>
    onPage(phone, async (page) => {
      const draft = await draftAt();
      const switchTo = (language: string) => page.getByRole("navigation").getByRole("link", { name: language }).click();
      await page.goto(draft.link);
      await switchTo("English");
      expect(await heading(page)).toBe("Get paid for charging your car");
      await page.getByRole("button", { name: "Mail me the code" }).click();
      await page.getByRole("button", { name: "Continue" }).click();
      expect(await page.title()).toMatch(/^Error: /);
      await switchTo("Nederlands");
      await page.getByLabel("Code uit de mail").fill(await mailedCode(world, draft));
      await page.getByRole("button", { name: "Verder" }).click();
      await switchTo("English");
      expect(await heading(page)).toBe("Who are you?");
      await to(page, "charger");
      await page.getByLabel("Brand").selectOption("Alfen");
      await page.getByRole("button", { name: "Continue" }).click();
      await switchTo("Nederlands");
      expect(await page.locator(".panel").textContent()).toContain("Alfen");
      await page.getByRole("button", { name: "Ik weet het nog niet" }).click();
      await page.getByRole("link", { name: "Verder naar ondertekenen" }).click();
      await switchTo("English");
      await page.getByRole("button", { name: "Mail me the code" }).click();
      await page.getByRole("button", { name: "Sign", exact: true }).click();
      expect(await page.title()).toMatch(/^Error: /);
      await switchTo("Nederlands");
      expect(await heading(page)).toBe("Onderteken de machtiging");
    }));

  test("a partner whose name is one long word sticks out nowhere on a small phone", () =>
    onPage({ bypassCSP: true, viewport: { width: 320, height: 700 } }, async (page) => {
      await world.row(
        "update core.partners set branding = jsonb_build_object('display_name', repeat('Laadpunten', 12)) where id = $1",
        world.partnerB.id,
      );
      const draft = await newDraft(world, {}, world.partnerB);
      await page.goto(draft.link);
      expect(await overflowOf(page)).toBeLessThanOrEqual(0);
      await submit(page);
      const { html } = await world.mail("where recipient = $1", draft.email);
      await page.setContent(html);
      expect(await overflowOf(page)).toBeLessThanOrEqual(0);
    }));

  // Every page -------------------------------------------------------------------------------------------------------

  /** One for each language, for all pages that leave it as it is. */
  const shared = <T>(make: () => Promise<T>) => {
    const made: Record<string, Promise<T>> = {};
    return (lang: string) => {
      made[lang] ??= make();
      return made[lang];
    };
  };
  const business = {
    type: "zakelijk",
    company_name: "Bakkerij De Korenaar B.V.",
    kvk: "12345678",
    contact_name: "Jan Jansen",
    name: null,
  };
  const answered = shared(() => claimOf());
  const ofBusiness = shared(() =>
    claimOf(business, {
      details: { full_name: "Jan Jansen", type: "zakelijk", phone: "" },
      company: { company_name: business.company_name, kvk: business.kvk, vat: "" },
    }),
  );
  /** IBAN and charger were put off. */
  const signed = shared(() => signedClaim(world));
  /** With an IBAN and two chargers, given afterwards. */
  const complete = shared(async () => {
    const { draft, ask } = await signedClaim(world);
    const give = async (step: string, form: Record<string, string>, query = "") =>
      expect((await fill(ask, draft, step, form, query)).status, step).toBe(303);
    await give("payout", { iban: "NL91 ABNA 0417 1643 00" });
    const { text } = await ask(`${draft.link}/charger?brand=Alfen`);
    const [, catalog_charger_id = ""] = /<option value="([0-9a-f-]{36})"/.exec(text) ?? [];
    house += 1;
    for (const serial_number of ["", `ACE${house}`])
      await give("charger", { brand: "Alfen", catalog_charger_id, serial_number }, "?brand=Alfen");
    return { draft, ask };
  });
  /** A step of a claim, or the page of a signed one, and what is done on it. */
  const at = (
    claim: (lang: string) => Promise<Claim>,
    step = "",
    then: (page: Page, draft: Draft) => Promise<unknown> = async () => {},
  ): Scene["go"] => {
    return async (page, lang) => {
      const { draft, ask } = await claim(lang);
      await lend(page, ask);
      const url = `${draft.link}${step && `/${step}`}`;
      await page.goto(`${url}?lang=${lang}`);
      expect(page.url().split("?")[0], "the page that was asked for").toBe(url);
      await then(page, draft);
    };
  };
  const kind = (prepare: (draft: Draft) => Promise<unknown>): Scene["go"] => {
    return async (page, lang) => {
      const draft = await draftAt();
      await prepare(draft);
      await page.goto(`${draft.link}?lang=${lang}`);
    };
  };
  const set = (change: string) =>
    kind((draft) => world.row(`update core.drafts set ${change} where id = $1`, draft.id));
  const letter = async ({ id }: Draft, template: string, locale: string, more = {}): Promise<string> => {
    const { content } = await world.row(
      `select private.letter_content(d, private.partner_brand(p) || '{"name": "Zonneveld"}', $2) as content
         from core.drafts d join core.partners p on p.id = d.partner_id where d.id = $1`,
      id,
      claimLinks(world.environment),
    );
    const mail = { template, locale, content: { ...content, ...more } };
    return writeMail(world.environment.config, mail as StoredMail).html;
  };
  const unsubscribeUrl = async ({ email }: Draft): Promise<string> =>
    (await world.row("select private.unsubscribe_url($1, $2) as url", email, claimLinks(world.environment))).url;

  test("what belongs to a choice is asked once it is made, without script", () =>
    onPage({ javaScriptEnabled: false }, async (page) => {
      await at(answered, "ean")(page, "nl");
      expect(await page.locator("#ean_code").isVisible()).toBe(false);
      await page.locator("[name=point][value=other]").check();
      expect(await page.locator("#ean_code").isVisible()).toBe(true);
    }));

  const scenes: Scene[] = [
    { name: "claim-start", go: async (page, lang) => page.goto(`${(await draftAt()).link}?lang=${lang}`) },
    {
      name: "claim-proof-error",
      async go(page, lang) {
        await page.goto(`${(await draftAt()).link}?lang=${lang}`);
        await submit(page);
        await page.locator("#code").fill("12");
        await submit(page);
      },
    },
    { name: "claim-details", go: at(answered, "details") },
    {
      name: "claim-details-error",
      go: at(answered, "details", async (page) => {
        await page.locator("#full_name").fill("");
        await page.locator("#phone").fill("bel me");
        await submit(page);
      }),
    },
    { name: "claim-company", go: at(ofBusiness, "company") },
    { name: "claim-address", go: at(answered, "address") },
    { name: "claim-ean-one", go: at(answered, "ean") },
    { name: "claim-ean-several-error", go: at(() => claimOf({ house_number: 78 }, { until: "ean" }), "ean", submit) },
    { name: "claim-ean-none", go: at(() => claimOf({ house_number: 47 }, { until: "ean" }), "ean") },
    { name: "claim-payout", go: at(answered, "payout") },
    {
      name: "claim-payout-error",
      go: at(answered, "payout", async (page) => {
        await page.locator("#iban").fill("NL00");
        await submit(page);
      }),
    },
    { name: "claim-charger-brand", go: at(answered, "charger") },
    {
      name: "claim-charger-model-error",
      go: at(() => claimOf({ charger: { brand: "Alfen" } }, { until: "charger" }), "charger", submit),
    },
    {
      name: "claim-mandate",
      go: at(answered, "mandate", async (page) => {
        for (const folded of await page.locator("summary").all()) await folded.click();
      }),
    },
    {
      name: "claim-sign-error",
      go: at(ofBusiness, "mandate", async (page) => {
        await page.locator("main a.button").click();
        await submit(page);
        await submit(page);
      }),
    },
    { name: "claim-done", go: at(signed, "", (page) => page.locator("summary").click()) },
    {
      name: "claim-done-payout-error",
      go: at(signed, "payout", async (page) => {
        await page.locator("#iban").fill("NL00");
        await submit(page);
      }),
    },
    { name: "claim-done-charger-brand", go: at(signed, "charger") },
    {
      name: "claim-done-charger-error",
      go: at(signed, "charger", async (page) => {
        await page.locator("#brand").selectOption("Alfen");
        await submit(page);
        await page.locator("#serial_number").fill("x".repeat(70));
        await submit(page);
      }),
    },
    { name: "claim-revoke", go: at(signed, "revoke") },
    { name: "claim-revoke-code", go: at(signed, "revoke", submit) },
    { name: "claim-done-complete", go: at(complete) },
    { name: "claim-iban-ask-code", go: at(complete, "payout") },
    { name: "claim-iban-code", go: at(complete, "payout", submit) },
    {
      name: "claim-revoked",
      // nothing comes after it
      go: at(complete, "revoke", async (page, draft) => {
        await submit(page);
        await page.locator("#code").fill(await mailedCode(world, draft));
        await submit(page);
      }),
    },
    { name: "claim-used", go: set("status = 'active'") },
    { name: "claim-expired", go: set("status = 'expired'") },
    { name: "claim-conflict", go: set("status = 'conflict'") },
    { name: "claim-gone", go: kind((draft) => world.row("delete from core.drafts where id = $1", draft.id)) },
    {
      name: "claim-enter",
      go: async (page, lang) => page.goto(`${await newSignInLink(world, await draftAt())}?lang=${lang}`),
    },
    {
      name: "claim-enter-expired",
      async go(page, lang) {
        const draft = await draftAt();
        const link = await newSignInLink(world, draft);
        await world.row("update core.draft_links set expires_at = private.now() where draft_id = $1", draft.id);
        await page.goto(`${link}?lang=${lang}`);
      },
    },
    {
      name: "unsubscribe",
      go: async (page, lang) => page.goto(`${await unsubscribeUrl(await draftAt())}?lang=${lang}`),
    },
    {
      name: "unsubscribed",
      async go(page, lang) {
        await page.goto(`${await unsubscribeUrl(await draftAt())}?lang=${lang}`);
        await submit(page);
      },
    },
    { name: "mail-claim", go: async (page, lang) => page.setContent(await letter(await draftAt(), "claim", lang)) },
    {
      name: "mail-sign-in",
      async go(page, lang) {
        const link = `${world.url}/pages/enter/${"x".repeat(43)}`;
        await page.setContent(await letter(await draftAt(), "sign_in", lang, { link }));
      },
    },
    {
      name: "mail-customer-iban-changed",
      async go(page, locale) {
        const brand = { name: "Zonneveld", color: "#7a1fa2" };
        const content = { brand, iban_masked: "**** 4567", held_until: "2026-11-22T12:00:00Z" };
        const mail = { template: "customer_iban_changed", locale, content };
        await page.setContent(writeMail(world.environment.config, mail as StoredMail).html);
      },
    },
    {
      name: "mail-claim-code",
      async go(page, lang) {
        const draft = await draftAt();
        await page.goto(`${draft.link}?lang=${lang}`);
        await submit(page);
        const { html } = await world.mail("where cause like 'claim_code:' || $1 || '%'", draft.id);
        await page.setContent(html);
      },
    },
  ];

  test.each(scenes)("axe finds nothing on $name", (scene) => lookAt(scene));
});
