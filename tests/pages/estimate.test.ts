// What the pages say that a year yields, and for how long somebody signs, as they read it before they sign.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { claimLinks } from "#shared/domain/claim/links.ts";
import { writeMail } from "#shared/domain/mail/mail.ts";
import { createAccount } from "../harness/people.ts";
import {
  type Ask,
  answer,
  type ClaimWorld,
  createClaimWorld,
  freshAddress,
  heading,
  newBrowser,
  newDraft,
  prove,
} from "./claimant.ts";
import { linkFor } from "./signatory.ts";

const JUNE = "2026-06-15T12:00:00Z";
const NOVEMBER = "2026-11-20T12:00:00Z";

let world: ClaimWorld;
beforeAll(async () => {
  world = await createClaimWorld({ now: JUNE, limits: "lifted" });
});
afterAll(() => world?.close());
beforeEach(() => publish("0.42"));

/** What an ERE brought on average, as everybody's figures of this year say it. */
async function publish(price: string | null) {
  await world.row(
    `insert into core.figures (partner_id, delivery_year, price) select id, 2026, $1::numeric from core.partners
     on conflict on constraint figures_pkey do update set price = excluded.price returning 1`,
    price,
  );
}

/** The text of a page's main part, without its tags. */
const main = (page: string) =>
  (/<main[^>]*>([\s\S]*)<\/main>/.exec(page)?.[1] ?? "")
    .replace(/<[^>]+>/g, " ")
    .replaceAll("&#39;", "'")
    .replace(/\s+/g, " ");
const amountOf = (page: string) =>
  main(`<main>${/<p class="amount">[\s\S]*?<\/p>/.exec(page)?.[0] ?? ""}</main>`).trim();
/** Of the three rows, as numbers. */
const rowsOf = (page: string, locale: "nl" | "en") =>
  [...page.matchAll(/<tr><th scope="row">[^<]*<\/th><td[^>]*>([^<]*)<\/td><\/tr>/g)].map(([, cell = ""]) => {
    const digits = cell.replace("\u2212", "-").replace(/[^\d.,-]/g, "");
    return Number(locale === "nl" ? digits.replaceAll(".", "").replace(",", ".") : digits.replaceAll(",", ""));
  });
const typedIn = (page: string) => /id="kwh" name="kwh" value="([^"]*)"/.exec(page)?.[1];

/** A draft with every step answered, in the browser that is about to sign it. */
async function aboutToSign(fields: Record<string, unknown> = {}) {
  const [draft, ask] = [await newDraft(world, fields), newBrowser(world)];
  await prove(world, ask, draft);
  await answer(ask, draft, { address: freshAddress() });
  return { draft, ask };
}
const read = (ask: Ask, address: string, kwh: string, lang = "nl") =>
  ask(`${address}?${new URLSearchParams({ lang, kwh })}`);

/** The invitation to a draft, as plain text. */
async function invitation({ id }: { id: string }, locale: "nl" | "en"): Promise<string> {
  const { content } = await world.row(
    `select private.letter_content(d, private.partner_brand(p), $2) as content
       from core.drafts d join core.partners p on p.id = d.partner_id where d.id = $1`,
    id,
    claimLinks(world.environment),
  );
  return writeMail(world.environment.config, { template: "claim", locale, content }).text.replaceAll("\u00a0", " ");
}

describe("contract §2 the first page, and the mail that leads there, say what a year yields", () => {
  test("net, for a typical driver, in both languages", async () => {
    const draft = await newDraft(world);
    const { link } = draft;
    const dutch = await newBrowser(world)(`${link}?lang=nl`);
    expect(amountOf(dutch.text)).toBe("± € 279 per jaar voor u, bij 2.500 kWh");
    expect(await invitation(draft, "nl")).toContain("Wat het u oplevert: ± € 279 per jaar, bij 2.500 kWh.");
    expect(await invitation(draft, "en")).toContain("What it brings you: ± €279 a year, at 2,500 kWh.");
    expect(main(dutch.text)).toContain("De kosten van onze dienst (20%) zijn er al af.");
    const english = await newBrowser(world)(`${link}?lang=en`);
    expect(amountOf(english.text)).toBe("± €279 a year for you, at 2,500 kWh");
  });

  test("nothing where no price is published", async () => {
    await publish(null);
    const draft = await newDraft(world);
    const { link } = draft;
    expect(await invitation(draft, "nl")).not.toMatch(/€|kWh/);
    for (const query of ["", "&kwh=4000", "&kwh=veel"]) {
      const { status, text } = await newBrowser(world)(`${link}?lang=nl${query}`);
      expect(status).toBe(200);
      expect(main(text)).not.toMatch(/€|kWh/);
    }
  });

  test("for the kWh of the customer, which the last page knows in this browser", async () => {
    const [draft, ask] = [await newDraft(world), newBrowser(world)];
    const { text } = await read(ask, draft.link, "4000,5");
    expect(amountOf(text)).toBe("± € 447 per jaar voor u, bij 4.000,5 kWh");
    await prove(world, ask, draft);
    await answer(ask, draft, { address: freshAddress() });
    const signing = await ask(`${draft.link}/mandate`);
    expect(amountOf(signing.text)).toBe("± € 447 per jaar voor u, bij 4.000,5 kWh");
    const again = await read(ask, `${draft.link}/mandate`, "1000");
    expect(amountOf(again.text)).toContain("bij 1.000 kWh");
    expect(amountOf((await ask(`${draft.link}/mandate?years=3`)).text), "and after Back").toContain("bij 1.000 kWh");
    expect(amountOf((await newBrowser(world)((await newDraft(world)).link)).text)).toContain("bij 2.500 kWh");
  });

  test("nothing once the link has expired", async () => {
    const { link } = await newDraft(world, { expires_at: "2026-06-01T00:00:00Z" });
    const { text } = await newBrowser(world)(link);
    expect(heading(text)).toBe("Deze aanmelding is verlopen");
    expect(main(text)).not.toMatch(/€|kWh/);
  });
});

describe("contract §2 the last page before signing", () => {
  test.each(["nl", "en"] as const)("sums up kWh × published figures to the cent: %s", async (locale) => {
    const { draft, ask } = await aboutToSign();
    const { account_id } = await createAccount(world);
    const { link } = await linkFor(world, account_id);
    const cases = [
      ["0.42", "2500"],
      ["0.42", "3200,5"],
      ["0.423457", "3.200,5"],
      ["0.123456", "999999"],
      ["1.5", "1"],
      ["3.7", "12,3450"],
      // halfway between two cents: 831.735
      ["0.005", "500000"],
    ] as const;
    for (const [price, kwh] of cases) {
      await publish(price);
      const { gross, fee, net } = await world.row(
        `select g.gross::float8, g.fee::float8, (g.gross - g.fee)::float8 as net
           from core.ere_factors f,
                lateral (select round($1::numeric * f.ere_per_kwh * $2::numeric, 2) as gross) r,
                lateral (select r.gross, trunc(r.gross * 20 * 0.01, 2) as fee) g
          where f.delivery_year = 2026`,
        kwh.replace(/\.(?=\d{3})/, "").replace(",", "."),
        price,
      );
      for (const page of [
        await read(ask, `${draft.link}/mandate`, kwh, locale),
        await read(newBrowser(world), link, kwh, locale),
      ]) {
        expect(page.status).toBe(200);
        expect(rowsOf(page.text, locale), `${kwh} kWh at ${price}`).toEqual([gross, 0 - fee, net]);
      }
    }
  });

  test("names the rows, shows the price it used, and one large figure", async () => {
    const { draft, ask } = await aboutToSign();
    await publish("0.423457");
    const dutch = main((await read(ask, `${draft.link}/mandate`, "2500")).text);
    expect(dutch).toContain("± € 282 per jaar voor u, bij 2.500 kWh");
    expect(dutch).toContain(
      "Opbrengst van uw ERE € 352,20 Kosten van onze dienst (20%) \u2212 € 70,44 Voor u € 281,76",
    );
    expect(dutch).toContain("2.500 kWh × 0,332694 ERE per kWh × € 0,423457 per ERE");
    const english = main((await read(ask, `${draft.link}/mandate`, "2500", "en")).text);
    expect(english).toContain("What your ERE earn €352.20 Cost of our service (20%) \u2212 €70.44 For you €281.76");
  });
});

describe("contract §2 kWh are read alike in both languages, and never ten times too much", () => {
  test.each([
    ["3.200,5", "3.200,5", "3,200.5"],
    ["3,200.5", "3.200,5", "3,200.5"],
    ["3200,5", "3.200,5", "3,200.5"],
    ["3 200", "3.200", "3,200"],
    ["2500 kWh", "2.500", "2,500"],
    ["２５００", "2.500", "2,500"],
    ["1.000.000", "1.000.000", "1,000,000"],
  ])("%s", async (typed, dutch, english) => {
    const { link } = await newDraft(world);
    const [nl, en] = [await read(newBrowser(world), link, typed), await read(newBrowser(world), link, typed, "en")];
    expect([nl.status, en.status]).toEqual([200, 200]);
    expect(amountOf(nl.text)).toContain(`bij ${dutch} kWh`);
    expect(amountOf(en.text)).toContain(`at ${english} kWh`);
    expect(typedIn(nl.text)).toBe(typed);
  });

  test.each(["3.500", "3,500", "3.500 kWh"])("%s is 3500 in both languages, and never 3.5", async (typed) => {
    const { draft, ask } = await aboutToSign();
    for (const [lang, shown] of [
      ["nl", "bij 3.500 kWh"],
      ["en", "at 3,500 kWh"],
    ] as const)
      for (const address of [draft.link, `${draft.link}/mandate`]) {
        const { status, text } = await read(address === draft.link ? newBrowser(world) : ask, address, typed, lang);
        expect(status).toBe(200);
        expect(amountOf(text)).toContain(shown);
        expect(typedIn(text)).toBe(typed);
      }
  });

  test.each(["", "vier", "-2500", "0", "0,5", "1000001", "9".repeat(400), "25e3", "32 00", "1.23.4"])(
    "%s is refused, and kept",
    async (typed) => {
      const { link } = await newDraft(world);
      const { status, text, headers } = await read(newBrowser(world), link, typed);
      expect(status).toBe(422);
      expect(main(text)).toContain("Vul een aantal kWh in, van 1 tot 1.000.000");
      expect(main(text)).not.toContain("±");
      expect(typedIn(text)).toBe(typed);
      expect(headers.getSetCookie()).toEqual([]);
      expect(heading(text)).toBe("Geld voor uw laadstroom");
    },
  );

  test("the cookie holds a number, of this link alone", async () => {
    const { link } = await newDraft(world);
    const { headers } = await read(newBrowser(world), link, "1.2340");
    expect(headers.getSetCookie()).toEqual([`kwh=1.2340; Path=${new URL(link).pathname}; HttpOnly; SameSite=Lax`]);
    const forged = await newBrowser(world)(link, { headers: { cookie: "kwh=%3Cscript%3E" } });
    expect(forged.status).toBe(422);
    expect(forged.text).not.toContain("<script>");
  });
});

describe("contract §2 a choice of years names its last day", () => {
  const choices = async (lang: string) => {
    const { account_id } = await createAccount(world);
    const { link } = await linkFor(world, account_id);
    const { text } = await newBrowser(world)(`${link}?lang=${lang}`);
    return [...text.matchAll(/<strong>((?:Tot|Up)[^<]*)<\/strong> <small>([^<]*)<\/small>/g)].map(
      ([, ...said]) => said,
    );
  };

  test("in June", async () => {
    expect(await choices("nl")).toEqual([
      ["Tot en met 31 december 2026", "1 kalenderjaar: 2026"],
      ["Tot en met 31 december 2028", "3 kalenderjaren: 2026 tot en met 2028"],
      ["Tot en met 31 december 2030", "5 kalenderjaren: 2026 tot en met 2030"],
    ]);
  });

  test("in November, when the shortest lasts the next year too: counted as the others are", async () => {
    await world.travel(NOVEMBER);
    try {
      expect(await choices("nl")).toEqual([
        ["Tot en met 31 december 2027", "2 kalenderjaren: 2026 tot en met 2027"],
        ["Tot en met 31 december 2028", "3 kalenderjaren: 2026 tot en met 2028"],
        ["Tot en met 31 december 2030", "5 kalenderjaren: 2026 tot en met 2030"],
      ]);
      expect((await choices("en"))[0]).toEqual([
        "Up to and including 31 December 2027",
        "2 calendar years: 2026 up to and including 2027",
      ]);
    } finally {
      await world.travel(JUNE);
    }
  });
});
