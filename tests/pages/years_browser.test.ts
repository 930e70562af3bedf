// What a signatory is told before signing, the years they choose and renew, and the mails afterwards: in a browser, in November.

import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { writeMail } from "#shared/domain/mail/mail.ts";
import type { Notice, NoticeReader } from "#shared/domain/mail/notices.ts";
import { giveBooking } from "../harness/booked.ts";
import { lookAt, noBrowser, onPage, type Scene } from "../harness/browser.ts";
import { signMandate } from "../harness/mandate.ts";
import { createAccount } from "../harness/people.ts";
import {
  type ClaimWorld,
  createClaimWorld,
  type Draft,
  draftRow,
  mailedCode,
  newDraft,
  signedClaim,
} from "./claimant.ts";
import { issueLink, linkFor, mailedCode as mandateCode, pageClient, readyToSign } from "./signatory.ts";

if (noBrowser) console.warn(`The years of mandates are not tested in a browser: ${noBrowser}`);

const NOVEMBER = "2026-11-20T12:00:00Z";
const JUNE = "2026-06-15T12:00:00Z";

describe.skipIf(noBrowser)("the years of a mandate in a browser", () => {
  let world: ClaimWorld;

  beforeAll(async () => {
    world = await createClaimWorld({ limits: "lifted", now: NOVEMBER });
    // what ERE brought last, for a CPO's customers and for people: 0.42 euro
    const { account_id, connection_id } = await createAccount(world);
    await signMandate(world, account_id);
    await giveBooking(world.database.admin, connection_id);
    const { draft } = await signedClaim(world);
    const person = await world.row(
      "select id from core.connections where account_id = $1",
      (await draftRow(world, draft)).account_id,
    );
    await giveBooking(world.database.admin, person.id);
  });
  afterAll(async () => {
    await world?.close();
  });

  const phone = { viewport: { width: 390, height: 844 }, javaScriptEnabled: false };
  const heading = (page: Page) => page.getByRole("heading", { level: 1 }).textContent();
  const main = async (page: Page) => ((await page.locator("main").textContent()) ?? "").replace(/\s+/g, " ");

  /** Done in June, so that a mandate of one year ends this year. */
  async function inJune<T>(run: () => Promise<T>): Promise<T> {
    await world.travel(JUNE);
    return run().finally(() => world.travel(NOVEMBER));
  }
  /** A link by which somebody signed for this year. */
  const signedLink = (locale = "nl") =>
    inJune(async () => {
      const issued = await issueLink(world, {}, { locale });
      const form = await readyToSign(world, pageClient(world), issued);
      expect((await pageClient(world)(`${issued.link}/sign`, { form })).status).toBe(303);
      return issued;
    });
  /** A claim that was signed for this year. */
  const claimOf2026 = async (): Promise<Draft> => (await inJune(() => signedClaim(world))).draft;
  /** Opens a page of it: the session of June is over, so a code is asked for. */
  const openClaim = async (page: Page, draft: Draft, locale = "nl", path = "") => {
    await page.goto(`${draft.link}?lang=${locale}`);
    await page.locator("main form button").first().click();
    await page.locator("#code").fill(await mailedCode(world, draft));
    await page.locator("main form button").first().click();
    if (path) await page.goto(`${draft.link}${path}?lang=${locale}`);
  };

  test("choose the years, estimate what it yields, sign: on a phone, without script", () =>
    onPage(phone, async (page) => {
      const { link, connection_id } = await issueLink(world);
      await page.goto(link);
      expect(await main(page)).toContain("± € 279 per jaar voor u, bij 2.500 kWh");
      expect(await main(page)).toContain(
        "Opbrengst van uw ERE€ 349,33 Kosten van onze dienst (20%)\u2212 € 69,86 Voor u€ 279,47",
      );
      expect(await main(page)).toContain("20% van wat uw ERE opbrengen, inclusief btw.");
      expect(await page.locator("article").textContent()).toContain("31 december 2027");

      await page.getByLabel("Hoeveel kWh laadt u ongeveer per jaar?").fill("vier");
      await page.getByRole("button", { name: "Reken uit" }).click();
      expect(await page.title()).toMatch(/^Fout: /);
      await page.getByRole("link", { name: "Vul een aantal kWh in" }).click();
      expect(await page.evaluate(() => document.activeElement?.id)).toBe("kwh");
      expect(await page.getByLabel("Hoeveel kWh").inputValue()).toBe("vier");
      await page.getByLabel("Hoeveel kWh").fill("4.000");
      await page.getByRole("button", { name: "Reken uit" }).click();
      expect(await main(page)).toContain("± € 447 per jaar voor u, bij 4.000 kWh");

      await page.getByRole("link", { name: /^Tot en met 31 december 2028/ }).click();
      expect(await page.locator("[aria-current=true] strong").textContent()).toBe("Tot en met 31 december 2028");
      expect(await page.locator("article").textContent()).toContain("31 december 2028");
      expect(await page.getByLabel("Hoeveel kWh").inputValue(), "a choice loses nothing").toMatch(/^4\.?000$/);
      await page.getByRole("navigation").getByRole("link", { name: "English" }).click();
      expect(await page.locator("[aria-current=true] strong").textContent()).toBe(
        "Up to and including 31 December 2028",
      );
      await page.getByRole("navigation").getByRole("link", { name: "Nederlands" }).click();

      await page.getByRole("link", { name: "Verder naar ondertekenen" }).click();
      await page.getByRole("button", { name: "Mail mij de code" }).click();
      expect(await main(page)).toContain("U tekent voor de periode van 1 januari 2026 tot en met 31 december 2028.");
      await page.getByLabel("Code uit de mail").fill(await mandateCode(world, connection_id));
      await page.getByLabel("Uw naam").fill("Sanne de Vries");
      await page.getByLabel("Ik heb de machtiging gelezen").check();
      await page.getByRole("button", { name: "Onderteken", exact: true }).click();
      expect(await heading(page)).toBe("U heeft ondertekend");
      expect(await main(page)).toContain("Uw machtiging geldt tot en met 31 december 2028.");
    }));

  test("the first page of a claim has the amount, the field and the way in on the first screen, without script", () =>
    onPage(phone, async (page) => {
      const { link } = await newDraft(world);
      await page.goto(link);
      for (const part of [page.locator(".amount strong"), page.getByLabel("Hoeveel kWh"), page.getByRole("button")])
        for (const one of await part.all()) {
          const box = await one.boundingBox();
          expect((box?.y ?? Infinity) + (box?.height ?? 0)).toBeLessThan(844);
        }
      await page.getByLabel("Hoeveel kWh").fill("4000");
      await page.getByLabel("Hoeveel kWh").press("Enter");
      expect(await page.locator(".amount").textContent()).toContain("447");
    }));

  test("renew by the link of years ago: on a phone, without script", () =>
    onPage(phone, async (page) => {
      const { link, connection_id } = await signedLink();
      await page.goto(link);
      expect(await main(page)).toContain("Uw machtiging eindigt op 31 december 2026 en wordt niet vanzelf verlengd.");
      await page.getByRole("button", { name: "Lees en onderteken de nieuwe" }).click();
      expect(page.url()).not.toContain(link);
      expect(await heading(page)).toBe("Lees uw machtiging");
      expect(await main(page)).toContain(
        "Uw huidige machtiging geldt tot en met 31 december 2026. Daar verandert niets aan. Deze nieuwe begint op 1 januari 2027.",
      );
      await page.getByRole("link", { name: "Verder naar ondertekenen" }).click();
      await page.getByRole("button", { name: "Mail mij de code" }).click();
      await page.getByLabel("Code uit de mail").fill(await mandateCode(world, connection_id));
      await page.getByLabel("Uw naam").fill("Sanne de Vries");
      await page.getByLabel("Ik heb de machtiging gelezen").check();
      await page.getByRole("button", { name: "Onderteken", exact: true }).click();
      expect(await main(page)).toContain("Uw machtiging geldt tot en met 31 december 2027.");
      await page.goto(link);
      expect(await main(page), "the old link shows what was signed by it").toContain(
        "Uw machtiging geldt tot en met 31 december 2026. U heeft de machtiging al verlengd, tot en met 31 december 2027.",
      );
      expect(await page.getByRole("button", { name: "Lees en onderteken de nieuwe" }).count()).toBe(0);
    }));

  test("renew a claim, and withdraw it, told what is lost: on a phone, without script", () =>
    onPage(phone, async (page) => {
      const draft = await claimOf2026();
      await openClaim(page, draft);
      await page.getByRole("link", { name: "Lees en onderteken de nieuwe" }).click();
      await page.getByRole("link", { name: /5 kalenderjaren/ }).click();
      await page.getByRole("link", { name: "Verder naar ondertekenen" }).click();
      await page.getByRole("button", { name: "Mail mij de code" }).click();
      expect(await main(page)).toContain("van 1 januari 2027 tot en met 31 december 2031");
      await page.getByLabel("Code uit de mail").fill(await mailedCode(world, draft));
      await page.getByLabel("Uw naam").fill("Sanne de Vries");
      await page.getByLabel("Ik heb de machtiging gelezen").check();
      await page.getByRole("button", { name: "Onderteken", exact: true }).click();
      expect(await heading(page)).toBe("U bent aangemeld");
      expect(await main(page)).toContain("U heeft de machtiging al verlengd, tot en met 31 december 2031.");
      expect(await main(page)).toContain("Uw machtiging voor de jaren daarna");

      const { account_id } = await draftRow(world, draft);
      await world.row(
        `insert into core.delivered_months (partner_id, connection_id, owner_id, period, total_kwh, session_count, status, source, received_at)
         select partner_id, id, owner_id, m.period::date, 42.37, 1, 'staged', 'test', now() from core.connections c, (values ('2026-10-01'), ('2026-11-01')) m (period)
          where c.account_id = $1`,
        account_id,
      );
      await world.row(
        "update core.connections set registration_status = 'goedgekeurd' where account_id = $1 returning 1",
        account_id,
      );
      await page.getByRole("link", { name: "Machtiging intrekken" }).click();
      expect(await main(page)).toContain("Wat u tot en met 31 oktober 2026 laadde, telt nog mee.");
      expect(await main(page)).toContain("U verliest de 42 kWh van november 2026");
      expect(await main(page)).toContain("Ook uw verlenging tot en met 31 december 2031 vervalt.");
      await page.getByRole("button", { name: "Mail mij de code" }).click();
      await page.getByLabel("Code uit de mail").fill(await mailedCode(world, draft));
      await page.getByRole("button", { name: "Ja, trek mijn machtiging in" }).click();
      expect(await heading(page)).toBe("Uw machtiging is ingetrokken");
      expect(await main(page)).toContain("Wat u tot en met 31 oktober 2026 laadde, telt nog mee.");
      const { rows } = await world.database.admin.query(
        "select to_char(d.period, 'YYYY-MM') as period, d.status from core.delivered_months d join core.connections c on c.id = d.connection_id where c.account_id = $1 order by 1",
        [account_id],
      );
      expect(rows).toEqual([
        { period: "2026-10", status: "staged" },
        { period: "2026-11", status: "outside_mandate" },
      ]);
    }));

  // Every page -------------------------------------------------------------------------------------------------------

  const read = async (page: Page, locale: string, query = "") =>
    void (await page.goto(`${(await issueLink(world)).link}?lang=${locale}${query}`));
  const claimed = (path = "", moment = NOVEMBER): Scene["go"] => {
    return async (page, locale) => {
      const draft = await claimOf2026();
      await world.travel(moment);
      await openClaim(page, draft, locale, path).finally(() => world.travel(NOVEMBER));
    };
  };
  const renewing = async (page: Page, locale: string) => {
    const { account_id } = await signedLink();
    await page.goto(`${(await linkFor(world, account_id)).link}?lang=${locale}`);
  };
  const brand = { name: "Zonneveld", color: "#7a1fa2" };
  const reader: NoticeReader = {
    full_name: "Sanne de Vries",
    partner_name: "Zonneveld Laadpalen",
    brand,
    account: "own",
    link: "https://pages.example/claim/4f1c",
  };
  const cpo: NoticeReader = { ...reader, brand: null, account: "cpo" };
  const notices: [string, Notice, NoticeReader][] = [
    ["registration-approved", { kind: "registration_approved" }, reader],
    [
      "registration-rejected",
      { kind: "registration_rejected", grounds: ["ean_validated", "mid_charger_registered"] },
      reader,
    ],
    ["registration-rejected-cpo", { kind: "registration_rejected", grounds: [] }, cpo],
    ["something-missing", { kind: "something_missing", missing: ["iban", "charger"] }, reader],
    ["mandate-ending", { kind: "mandate_ending", valid_until: "2026-12-31", reminder: 1 }, reader],
    ["mandate-ending-again", { kind: "mandate_ending", valid_until: "2026-12-31", reminder: 2 }, cpo],
    ["mandate-ended", { kind: "mandate_ended", valid_until: "2026-12-31" }, reader],
    [
      "mandate-withdrawn",
      { kind: "mandate_withdrawn", by: "customer", covered_until: "2026-10-31", lost_kwh: 0 },
      reader,
    ],
    [
      "mandate-corrected",
      { kind: "mandate_withdrawn", by: "connection_updated", covered_until: null, lost_kwh: 0 },
      cpo,
    ],
    [
      "payout-sent",
      { kind: "payout_sent", amount_eur: 123.45, iban_last4: "4300", from: "2026-08-17", until: "2026-08-19" },
      reader,
    ],
    [
      "payout-paid",
      { kind: "payout_paid", amount_eur: 123.45, iban_last4: "4300", quarters: ["2026-04-01"], kwh: 900 },
      reader,
    ],
    ["payout-failed", { kind: "payout_failed", amount_eur: 123.45, iban_last4: "4300" }, reader],
  ];
  const scenes: Scene[] = [
    { name: "years-read", go: (page, locale) => read(page, locale) },
    { name: "years-read-three", go: (page, locale) => read(page, locale, "&years=3&kwh=4000") },
    { name: "years-read-error", go: (page, locale) => read(page, locale, "&kwh=veel") },
    {
      name: "years-read-via",
      go: async (page, locale) => {
        const { account_id } = await createAccount(world, world.partnerA, { payout_handler: "via_cpo_invoicing" });
        await page.goto(`${(await linkFor(world, account_id)).link}?lang=${locale}`);
      },
    },
    ...["", "&kwh=4000", "&kwh=veel", "&kwh=1.234"].map((query, index) => ({
      name: `years-claim-start-${index}`,
      go: async (page: Page, locale: "nl" | "en") =>
        void (await page.goto(`${(await newDraft(world)).link}?lang=${locale}${query}`)),
    })),
    {
      name: "years-read-unknown",
      go: async (page, locale) => {
        const { account_id } = await createAccount(world, world.partnerB);
        const { body } = await world.post("/v1/mandate-links", { account_id }, await world.partnerB.client.token());
        await page.goto(`${body.mandate_link}?lang=${locale}`);
      },
    },
    { name: "years-renew", go: renewing },
    {
      name: "years-signed-renewable",
      go: async (page, locale) => void (await page.goto(`${(await signedLink()).link}?lang=${locale}`)),
    },
    {
      name: "years-decline-renewal",
      go: async (page, locale) => {
        await renewing(page, locale);
        await page.locator('a[href*="/decline"]').click();
      },
    },
    {
      name: "years-declined-renewal",
      go: async (page, locale) => {
        await renewing(page, locale);
        await page.locator('a[href*="/decline"]').click();
        await page.locator("button").click();
      },
    },
    { name: "years-claim-renewable", go: claimed() },
    { name: "years-claim-renew", go: claimed("/mandate") },
    { name: "years-claim-expired", go: claimed("", "2027-01-02T12:00:00Z") },
    { name: "years-claim-revoke", go: claimed("/revoke") },
    ...notices.map(([name, notice, to]) => ({
      name: `mail-${name}`,
      go: async (page: Page, locale: "nl" | "en") => {
        const mail = { template: notice.kind, locale, content: { notice, reader: to } };
        await page.setContent(writeMail(world.environment.config, mail).html);
      },
    })),
  ];

  test.each(scenes)("axe finds nothing on $name", (scene) => lookAt(scene));
});
