import { describe, expect, test } from "vitest";
import { typesOf } from "#shared/domain/events.ts";
import { MAIL_MESSAGES } from "#shared/domain/mail/layout.ts";
import { writeMail } from "#shared/domain/mail/mail.ts";
import type { Notice, NoticeReader } from "#shared/domain/mail/notices.ts";
import { composeDocument, type Facts, inGroups } from "#shared/domain/mandate_text/mandate_text.ts";
import { acceptedLocale, LOCALES } from "#shared/values/locale.ts";
import { WORDS as DOCUMENTS } from "../../supabase/functions/documents/words.ts";
import { WORDS as CLAIM } from "../../supabase/functions/pages/claim/words.ts";
import { WORDS as CONSENT } from "../../supabase/functions/pages/consent/words.ts";
import { WORDS as HOME } from "../../supabase/functions/pages/home/words.ts";
import { maskEmail } from "../../supabase/functions/pages/kit/views.ts";
import { WORDS as KIT } from "../../supabase/functions/pages/kit/words.ts";
import { WORDS as MANDATE } from "../../supabase/functions/pages/mandate/words.ts";
import { WORDS as MIJN } from "../../supabase/functions/pages/mijn/words.ts";
import { WORDS as PORTAL } from "../../supabase/functions/pages/portal/words.ts";

/** Every leaf of a tree of messages: where it is, and what kind of thing. */
function shape(value: unknown, path = ""): string[] {
  if (typeof value === "object" && value !== null)
    return Object.entries(value).flatMap(([key, inner]) => shape(inner, `${path}.${key}`));
  return [`${path}: ${typeof value}${typeof value === "function" ? `(${value.length})` : ""}`];
}

/** Every text in a tree of messages, functions called with their own parameter names. */
function texts(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value === "function")
    return [true, false, "{a}", null].flatMap((argument) => texts(value(argument, "{b}")));
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(texts) : [];
}

describe.each([
  ["every page", KIT],
  ["the pages of a claim", CLAIM],
  ["the pages of a mandate", MANDATE],
  ["the pages of consent", CONSENT],
  ["the front page", HOME],
  ["a person's own pages", MIJN],
  ["a partner's pages", PORTAL],
  ["the mails", MAIL_MESSAGES],
])("contract §2 the words of %s", (_name, words) => {
  const { nl, en } = words;
  test("every sentence exists in both languages, and there is no third", () => {
    expect(Object.keys(words)).toEqual(LOCALES);
    expect(shape(en)).toEqual(shape(nl));
    expect(shape(nl).length).toBeGreaterThanOrEqual(5);
  });
  test("no sentence is empty, and the Dutch says u", () => {
    for (const text of [...texts(nl), ...texts(en)]) expect(text.trim()).not.toBe("");
    expect(texts(nl).join(" ")).not.toMatch(/\b(je|jij|jouw|jullie)\b/i);
  });
  test("no sentence was left untranslated", () => {
    const dutch = new Set(texts(nl).filter((text) => text.split(" ").length > 3));
    expect(texts(en).filter((text) => dutch.has(text))).toEqual([]);
  });
});

describe("contract §2 words with one meaning", () => {
  const ALL = { KIT, CLAIM, MANDATE, CONSENT, HOME, MIJN, PORTAL, DOCUMENTS, MAIL: MAIL_MESSAGES };
  const said = (locale: "nl" | "en") => Object.values(ALL).flatMap((words) => texts(words[locale]));
  /** Texts that name what the service keeps: of a field that is called so, wherever it stands. */
  const ofFees = (value: unknown, inside = false): string[] =>
    typeof value === "object" && value !== null
      ? Object.entries(value).flatMap(([key, inner]) => ofFees(inner, inside || /(^|_)fee(_|$)/.test(key)))
      : inside
        ? texts(value)
        : [];

  test("what the customer gets is 'vergoeding' and compensation; what the service keeps is 'kosten' and a fee or costs", () => {
    const fees = {
      nl: Object.values(ALL).flatMap(({ nl }) => ofFees(nl)),
      en: Object.values(ALL).flatMap(({ en }) => ofFees(en)),
    };
    expect(fees.nl.length).toBeGreaterThan(5);
    for (const text of fees.nl) expect(text).not.toMatch(/vergoeding/i);
    for (const text of fees.en) expect(text).not.toMatch(/compensation/i);
    for (const text of said("nl"))
      expect(text).not.toMatch(
        /(onze|na|die|als|van) vergoeding(?! (van|voor|daarvan))|vergoeding (in %|houden)|vergoedingen/i,
      );
    for (const text of said("en")) expect(text).not.toMatch(/\bour compensation|\byour fee\b/i);
    expect(said("nl").filter((text) => /vergoeding/i.test(text)).length).toBeGreaterThan(20);
  });
});

const facts: Facts = {
  partner_name: "Zonneveld",
  type: "particulier",
  company_name: null,
  kvk: null,
  full_name: "Sanne de Vries",
  email: "sanne@example.nl",
  ean_code: "871687000000000016",
  street: "Dorpsstraat",
  house_number: 8,
  house_number_addition: "A",
  postal_code: "3818LH",
  city: "Amersfoort",
  fee_pct: 20,
  validity_years: 3,
  valid_from: "2026-01-01",
  valid_until: "2028-12-31",
};
const service = { name: "ERE Service", email: "hulp@example.nl" };

describe("§2 the text of the mandate", () => {
  test.each(["nl", "en"] as const)("says everything it has to, in %s", (locale) => {
    const text = composeDocument(facts, service, locale);
    const december = locale === "nl" ? "31 december 2028" : "31 December 2028";
    for (const part of [
      "Sanne de Vries",
      "8716 8700 0000 0000 16",
      "Dorpsstraat 8 A, 3818 LH Amersfoort",
      december,
      "NEa",
      "Zonneveld",
      "ERE Service",
      locale === "nl" ? "netbeheerder" : "grid operator",
      locale === "nl" ? "verificateur" : "verifier",
    ])
      expect(text).toContain(part);
    expect(text).not.toMatch(/undefined|null|\[object/);
  });
  test.each(["zakelijk", "vve"] as const)(
    "for %s it names the company, its KvK number and the authority to sign",
    (type) => {
      const named = composeDocument(
        { ...facts, type, company_name: "De Korenaar B.V.", kvk: "12345678" },
        service,
        "nl",
      );
      expect(named).toContain("De Korenaar B.V.");
      expect(named).toContain("KvK-nummer: 12345678");
      expect(named).toContain("- Ik mag namens De Korenaar B.V. ondertekenen.");
      expect(composeDocument({ ...facts, type }, service, "nl")).toContain("namens het bedrijf of de vereniging");
    },
  );
  test("an address without a street still says where", () => {
    const text = composeDocument({ ...facts, street: null, city: null }, service, "nl");
    expect(text).toContain("Adres: 3818 LH, huisnummer 8 A");
  });
  test("a name cannot pass for a line of the text", () => {
    const full_name = "Sanne\n\n8. Ook dit\n- alles\u2028\u202emoc.elpmaxe";
    const text = composeDocument({ ...facts, full_name }, service, "nl");
    expect(text).toContain("  Naam: Sanne 8. Ook dit - alles moc.elpmaxe\n");
    expect(text.match(/\n\n\d\. /g)).toHaveLength(7);
  });
  test("the same facts give the same text", () => {
    expect(composeDocument(facts, service, "en")).toBe(composeDocument({ ...facts }, service, "en"));
  });
});

test("contract §2 an EAN is shown in groups of four", () => {
  expect(inGroups("871687000000000016")).toBe("8716 8700 0000 0000 16");
});

test.each([
  ["sanne@example.nl", "s•••@example.nl"],
  ["é@x.nl", "é•••@x.nl"],
  ["😀smile@x.nl", "😀•••@x.nl"],
])("contract §4 the address %s is shown as %s", (email, masked) => expect(maskEmail(email)).toBe(masked));

test.each([
  [undefined, "nl"],
  ["", "nl"],
  ["en-GB,en;q=0.9", "en"],
  ["de, en;q=0.5, nl;q=0.4", "en"],
  ["nl;q=0.1, en;q=0", "nl"],
  ["fr, de", "nl"],
  ["q=,;;,,en", "en"],
])("contract §2 Accept-Language %s is answered in %s", (header, locale) => expect(acceptedLocale(header)).toBe(locale));

describe("§6 mail", () => {
  const config = { SERVICE_NAME: "ERE & Co", SUPPORT_EMAIL: "hulp@example.nl", PAGES_URL: "https://api.test/pages" };
  const hostile = "<img src=x onerror=alert(1)>\"'&";

  test.each(["nl", "en"] as const)("the link, twice in HTML and once in text, with the names (%s)", (locale) => {
    const link = "https://pages.example/mandate/abc?x=1&y=2";
    const content = { link, full_name: "Sanne de Vries", partner_name: "Laadpunt Zuid" };
    const mail = writeMail(config, { template: "mandate_link", locale, content });
    expect(mail.links).toEqual([link]);
    expect(mail.text).toContain(link);
    expect(mail.html).toContain('href="https://pages.example/mandate/abc?x=1&amp;y=2"');
    for (const body of [mail.text, mail.html]) {
      expect(body).toContain("Sanne de Vries");
      expect(body).toContain("Laadpunt Zuid");
    }
    expect(mail.html).toContain("ERE &amp; Co");
  });
  test("the code begins the subject and stands in both bodies; its mail has no link", () => {
    const content = { code: "012345", full_name: hostile, partner_name: hostile };
    const mail = writeMail(config, { template: "mandate_code", locale: "nl", content });
    expect(mail.subject).toMatch(/^012345 /);
    expect(mail.text).toContain("\n    012345\n");
    expect(mail.html).toContain(">012345<");
    expect(mail.links).toEqual([]);
    expect(mail.html).not.toContain("<img");
  });
  test("the copy holds the text as signed", () => {
    const document = `Machtiging\n\n1. Wie\n  Naam: ${hostile}`;
    const content = { link: "https://x", full_name: "S", partner_name: "P", document };
    const mail = writeMail(config, { template: "mandate_signed", locale: "en", content });
    expect(mail.text).toContain(document);
    expect(mail.html).not.toContain("<img");
    expect(mail.html).toContain("Naam: &lt;img");
  });

  const notices: Notice[] = [
    { kind: "registration_approved" },
    { kind: "registration_rejected", grounds: ["mandate_signed", "ean_validated", "mid_charger_registered"] },
    { kind: "something_missing", missing: ["iban", "charger"] },
    { kind: "mandate_ending", valid_until: "2026-12-31", reminder: 1 },
    { kind: "mandate_ending", valid_until: "2026-12-31", reminder: 2 },
    { kind: "mandate_ended", valid_until: "2026-12-31" },
    { kind: "mandate_withdrawn", by: "customer", covered_until: "2026-05-31", lost_kwh: 0 },
    { kind: "mandate_withdrawn", by: "connection_updated", covered_until: null, lost_kwh: 12 },
    { kind: "payout_sent", amount_eur: 1234.5, iban_last4: "4300", from: "2026-08-17", until: "2026-08-19" },
    { kind: "payout_paid", amount_eur: 1234.5, iban_last4: "4300", quarters: [], kwh: 0 },
    { kind: "payout_failed", amount_eur: 12.3, iban_last4: "4300" },
    { kind: "payout_iban_changed", iban_last4: "4300" },
  ];
  const own: NoticeReader = {
    full_name: hostile,
    partner_name: "Zonneveld Laadpalen",
    brand: { name: "Zonneveld", reply_to: "hulp@zonneveld.example" },
    account: "own",
    link: "https://pages.example/claim/abc",
  };
  const cpo: NoticeReader = { ...own, brand: null, account: "cpo", link: null };

  test.each(notices)("after signing: $kind in both languages, to a person and to a CPO's customer", (notice) => {
    for (const locale of ["nl", "en"] as const) {
      for (const reader of [own, cpo]) {
        const mail = writeMail(config, { template: notice.kind, locale, content: { notice, reader } });
        expect(mail.links.every((link) => link === own.link)).toBe(true);
        for (const text of [mail.subject, mail.text, mail.html])
          expect(text).not.toMatch(/undefined|null|\{\{|\[object/);
        expect(mail.html).not.toContain("<img");
        expect(mail.text, "a service mail cannot be opted out of").not.toMatch(/Geen berichten meer|no more messages/);
        expect(mail.reply_to).toBe(reader.brand?.reply_to ?? undefined);
      }
    }
  });
  test("what is missing is a list to screen readers too; the sum of a payment stands in large", () => {
    const html = (notice: Notice) =>
      writeMail(config, { template: notice.kind, locale: "nl", content: { notice, reader: own } }).html;
    const [missing, paid] = notices.filter(({ kind }) => kind === "something_missing" || kind === "payout_paid");
    expect(html(missing as Notice).match(/<li>uw /g)).toHaveLength(2);
    expect(html(paid as Notice)).toMatch(/<p style="[^"]*font-size: 32px[^"]*">€.1\.234,50</);
  });
  test("who is approved reads where to see whether the charger delivers, and not that nothing is needed", () => {
    const text = (locale: "nl" | "en") =>
      writeMail(config, {
        template: "registration_approved",
        locale,
        content: { notice: { kind: "registration_approved" }, reader: own },
      }).text;
    expect(text("nl")).toContain("Op uw eigen pagina's ziet u of uw laadpaal ons laadstroom doorgeeft.");
    expect(text("nl")).not.toContain("U hoeft niets te doen");
    expect(text("en")).toContain("On your own pages you see whether your charger reports to us.");
    expect(text("en")).not.toContain("nothing you need to do");
  });
  test.each(["nl", "en"] as const)("every event that a webhook may be sent has words: %s", (locale) => {
    const { types } = PORTAL[locale].settings.webhooks;
    expect(typesOf("partner").filter((type) => !(type in types))).toEqual([]);
  });
  test("a connection is an address, and not whether a charger is connected", () => {
    expect(MIJN.en.mandate.connection).toBe("Connection");
    expect(MIJN.en.chargers.status).not.toBe("Connection");
  });
  test("amounts and days are written as the language does", () => {
    const text = (locale: "nl" | "en", notice: Notice) =>
      writeMail(config, { template: notice.kind, locale, content: { notice, reader: own } }).text.replaceAll(
        "\u00a0",
        " ",
      );
    const paid: Notice = { kind: "payout_paid", amount_eur: 1234.5, iban_last4: "4300", quarters: [], kwh: 0 };
    expect(text("nl", paid)).toContain("€ 1.234,50");
    expect(text("en", paid)).toContain("€1,234.50");
    const ended: Notice = { kind: "mandate_withdrawn", by: "customer", covered_until: null, lost_kwh: 0.4 };
    expect(text("nl", ended), "never 0 kWh").toContain("U verliest 0,4 kWh");
  });
  test("a payment is on its way when the bank is asked for it, and transferred once the bank has paid", () => {
    const text = (locale: "nl" | "en", notice: Notice) => {
      const mail = writeMail(config, { template: notice.kind, locale, content: { notice, reader: own } });
      return `${mail.subject}\n${mail.text}`;
    };
    const sent: Notice = {
      kind: "payout_sent",
      amount_eur: 80,
      iban_last4: "4300",
      from: "2026-08-17",
      until: "2026-08-19",
    };
    expect(text("nl", sent)).toContain("tussen 17 augustus 2026 en 19 augustus 2026");
    expect(text("en", sent)).toContain("between 17 August 2026 and 19 August 2026");
    expect(text("nl", sent)).toContain("is onderweg");
    expect(text("nl", sent)).not.toContain("Wij hebben");
    expect(text("en", sent)).not.toContain("We have transferred");
    const paid: Notice = {
      kind: "payout_paid",
      amount_eur: 80,
      iban_last4: "4300",
      quarters: ["2025-10-01", "2026-01-01"],
      kwh: 1250.4,
    };
    expect(text("nl", paid)).toContain(
      "Het is voor het 4e kwartaal van 2025 en het 1e kwartaal van 2026: de 1.250 kWh die u toen laadde.",
    );
    expect(text("en", paid)).toContain("It is for quarter 4 of 2025 and quarter 1 of 2026: the 1,250 kWh");
    expect(text("nl", paid)).toContain("overgemaakt naar de rekening die eindigt op 4300");
    expect(text("en", paid)).toContain("We have transferred");
    const ending: Notice = { kind: "mandate_ending", valid_until: "2026-12-31", reminder: 1 };
    expect(text("nl", ending)).toContain("31 december 2026");
    expect(text("en", ending)).toContain("31 December 2026");
  });
});
