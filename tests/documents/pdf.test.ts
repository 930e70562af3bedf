import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, test } from "vitest";
import { ROOT } from "#local/checkout.ts";
import { hashSecret } from "#shared/auth/tokens.ts";
import { composeDocument, type Facts } from "#shared/domain/mandate_text/mandate_text.ts";
import { LOCALES, type Locale } from "#shared/values/locale.ts";
import { FONT_MODULES } from "../../packages/tools/src/write_fonts.ts";
import type { Invoice, SignedMandate, Statement, YearOverview } from "../../supabase/functions/documents/answers.ts";
import { composeInvoice } from "../../supabase/functions/documents/invoice.ts";
import { composeMandate } from "../../supabase/functions/documents/mandate.ts";
import { composeOverview } from "../../supabase/functions/documents/overview.ts";
import { writePdf } from "../../supabase/functions/documents/pdf.ts";
import { composeStatement } from "../../supabase/functions/documents/statement.ts";
import { ask, hasTool, readPdf, type Tag } from "../harness/pdf.ts";
import { png } from "../harness/png.ts";

const CREATED = new Date("2026-11-20T09:30:00Z");

const facts: Facts = {
  partner_name: "Laadpunt Zuid",
  type: "particulier",
  company_name: null,
  kvk: null,
  full_name: "Sanne de Vries",
  email: "sanne@example.nl",
  ean_code: "871687110000000018",
  street: "Kerkstraat",
  house_number: 8,
  house_number_addition: null,
  postal_code: "3818LH",
  city: "Amersfoort",
  fee_pct: 20,
  validity_years: 1,
  valid_from: "2026-01-01",
  valid_until: "2026-12-31",
};

function mandate(change: Partial<Facts> = {}, locale: Locale = "nl"): SignedMandate {
  const text = { ...facts, ...change };
  const document = composeDocument(text, { name: "ERE Service", email: "support@example.com" }, locale);
  return {
    document,
    document_sha256: hashSecret(document),
    signed_name: text.full_name,
    signed_at: "2026-11-20T09:30:00Z",
    code_sent_to: text.email,
    valid_from: text.valid_from,
    valid_until: text.valid_until,
    mandate_id: "3f5f1b1e-6e27-4b3c-8a55-0c8d0f4a2c11",
    connection_id: "9a0e6f0c-50d9-4f0a-8b0c-5f8f6ad3b7d1",
  };
}
const pdfOf = (signed: SignedMandate) => writePdf(composeMandate(signed), CREATED);

const month = (period: string, ean_code = facts.ean_code) => ({
  period,
  ean_code,
  kwh: "312.500",
  ere: "103.966875",
  price: "0.420000",
  gross: "43.67",
  fee: "8.73",
  net: "34.94",
});
const statement = (change: Partial<Statement> = {}): Statement => ({
  locale: "nl",
  customer: "Sanne de Vries",
  logo: null,
  reference: "ERE-7GQ2-0001",
  paid_on: "2026-11-20",
  iban_last4: "4300",
  paid_to: null,
  rows: [month("2026-04"), month("2026-05"), month("2026-06")],
  totals: { kwh: "937.500", ere: "311.900625", gross: "131.01", fee: "26.19", net: "104.82" },
  other: "0.00",
  amount: "104.82",
  ...change,
});

const yearOf = (change?: Partial<YearOverview>): YearOverview => ({
  locale: "nl",
  customer: "Sanne de Vries",
  logo: null,
  cpo: null,
  overview: {
    account_id: "0d4f3a52-1c1f-4a53-9d1b-7f1f0c1c2b3a",
    year: 2026,
    currency: "EUR",
    kwh_sold: 3710.789,
    ere_sold: 1234.567891,
    gross_eur: 518.52,
    fee_eur: 103.7,
    net_eur: 414.82,
    paid_eur: 400,
    sales: [
      {
        sold_on: "2026-11-30",
        quarter: "2026-Q2",
        price_per_ere_eur: 0.42,
        kwh: 3907.462,
        ere: 1300,
        gross_eur: 546,
        fee_eur: 109.2,
        net_eur: 436.8,
      },
      {
        sold_on: "2026-12-31",
        quarter: "2026-Q2",
        price_per_ere_eur: 0.42,
        kwh: -196.673,
        ere: -65.432109,
        gross_eur: -27.48,
        fee_eur: -5.5,
        net_eur: -21.98,
      },
    ],
    payments: [{ paid_on: "2026-12-15", amount_eur: 400, to: "customer", iban: "**** 4300", reference: "37ACDEFGHJ" }],
  },
  ...change,
});
const logo = (colour = 2) => ({
  name: "Laadpunt Zuid",
  png: png({ width: 200, height: 48, colour }).toString("base64"),
  width: 200,
  height: 48,
});
const stated = (change?: Partial<Statement>) => composeStatement(statement(change), SERVICE);

const invoice = (change: Partial<Invoice> = {}): Invoice => ({
  locale: "nl",
  number: "2026-0001",
  issued_on: "2026-11-20",
  quarter: "2026-Q2",
  corrects: null,
  supplier: {
    name: "Laadpunt Zuid B.V.",
    kvk: "12345678",
    vat: "NL001234567B01",
    street: "Kade",
    house_number: "1",
    city: "Breda",
  },
  vat_regime: "regular",
  vat_rate: "21.00",
  net: "1006.67",
  vat: "211.40",
  total: "1218.07",
  months: [{ period: "2026-04", customers: 12, ere: "399.232800", fee: "4026.68", share: "1006.67" }],
  ...change,
});
const SERVICE = {
  SERVICE_NAME: "ERE Service",
  SERVICE_ADDRESS: "Teststraat 1",
  SERVICE_KVK: "87654321",
  SERVICE_VAT: "NL009876543B01",
};
const invoiced = (change?: Partial<Invoice>) => writePdf(composeInvoice(invoice(change), SERVICE), CREATED);

const roles = (tags: Tag[]) => [
  ...new Set(
    tags.flatMap(function all({ role, children }): string[] {
      return [role, ...children.flatMap(all)];
    }),
  ),
];
const spaceless = (text: string) => text.replace(/\s+/g, "");

/** Every kind of document there is, in both languages, with letters and lengths that go wrong first. */
const DOCUMENTS: [string, () => Promise<Uint8Array>][] = LOCALES.flatMap(
  (locale): [string, () => Promise<Uint8Array>][] => [
    [`a mandate (${locale})`, () => pdfOf(mandate({}, locale))],
    [
      `a mandate of a company with letters of many alphabets (${locale})`,
      () => pdfOf(mandate({ type: "zakelijk", company_name: "Łódź & Νίκος <Жанна> 李 ☺", kvk: "12345678" }, locale)),
    ],
    [
      `a settlement (${locale})`,
      () => writePdf(stated({ locale, iban_last4: null, paid_to: "Laadpunt Zuid" }), CREATED),
    ],
    [`an invoice (${locale})`, () => invoiced({ locale })],
    [
      `a credit note (${locale})`,
      () =>
        invoiced({
          locale,
          corrects: { number: "2026-0001", issued_on: "2026-08-15" },
          supplier: { name: "Łódź <Жанна> 李" },
          vat_regime: "reverse_charge",
          vat_rate: "0.00",
          net: "-1006.67",
          vat: "0.00",
          total: "-1006.67",
        }),
    ],
    [`a year (${locale})`, () => writePdf(composeOverview(yearOf({ locale }), SERVICE), CREATED)],
    [
      `a year without money (${locale})`,
      () =>
        writePdf(
          composeOverview(
            yearOf({ locale, cpo: "Łódź <Жанна> 李", overview: { ...yearOf().overview, sales: [], payments: [] } }),
            SERVICE,
          ),
          CREATED,
        ),
    ],
    [`a statement with a logo (${locale})`, () => writePdf(stated({ locale, logo: logo() }), CREATED)],
    [
      `a year with a transparent logo (${locale})`,
      () => writePdf(composeOverview(yearOf({ locale, logo: logo(6) }), SERVICE), CREATED),
    ],
    [`a statement (${locale})`, () => writePdf(stated({ locale }), CREATED)],
    [
      `a statement of sixty months (${locale})`,
      () =>
        writePdf(
          stated({
            locale,
            rows: Array.from({ length: 60 }, (_, index) =>
              month("2026-04", `8716871100000${String(index % 3).padStart(5, "0")}`),
            ),
          }),
          CREATED,
        ),
    ],
  ],
);

describe.each(DOCUMENTS)("%s", (_, write) => {
  let written: Uint8Array;
  beforeAll(async () => {
    written = await write();
  });

  test("contract §2 is the same, byte for byte, each time it is written", async () => {
    expect(Buffer.compare(written, await write())).toBe(0);
  });

  test("contract §2 is PDF/UA: tagged, with title, language, one H1, and no text outside the structure but the foot", async () => {
    const pdf = await readPdf(written);
    expect(pdf).toMatchObject({ tagged: true, created: "D:20261120093000Z" });
    expect(pdf.metadata).toContain("<pdfuaid:part>1</pdfuaid:part>");
    expect(pdf.metadata).toContain(pdf.title);
    expect(pdf.tags.filter(({ role }) => role === "H1").map(({ text }) => spaceless(text))).toEqual([
      spaceless(pdf.title),
    ]);
    const known = ["H1", "H2", "P", "Figure", "L", "LI", "Lbl", "LBody", "Table", "TR", "TH", "TD"];
    expect(roles(pdf.tags).filter((role) => !known.includes(role))).toEqual([]);
  });

  test.skipIf(!hasTool("qpdf"))(
    "contract §2 stands up to qpdf --check (skipped where qpdf is not installed)",
    async () => {
      expect(ask("qpdf", ["--check"], written)).toContain("No syntax or stream encoding errors found");
    },
  );

  test.skipIf(!hasTool("pdfinfo"))(
    "contract §2 has a structure that pdfinfo reads (skipped where poppler-utils is not installed)",
    async () => {
      expect(ask("pdfinfo", ["-struct-text"], written)).toMatch(/^Document\n {2}H1 \(block\)\n/);
      expect(
        ask("pdffonts", [], written)
          .split("\n")
          .slice(2, -1)
          .filter((line) => !/ yes yes yes /.test(line)),
      ).toEqual([]);
    },
  );
});

describe("a mandate", () => {
  test.each(LOCALES)(
    "contract §2 says every word that was signed, in its order, and takes the text along (%s)",
    async (locale) => {
      const signed = mandate({}, locale);
      const { tags, attachments, lang } = await readPdf(await pdfOf(signed));
      const shown = spaceless(tags.map(({ text }) => text).join(""));
      const words = signed.document.replace(/^ {2}([^:]*): /gm, "$1 ").replace(/^- /gm, "• ");
      expect(shown.startsWith(spaceless(words))).toBe(true);
      expect(lang).toBe(locale);
      expect(attachments.map(({ text }) => [text, hashSecret(text)])).toEqual([
        [signed.document, signed.document_sha256],
      ]);
    },
  );

  test("contract §2 says who signed and when, for which connection and EAN, and where the evidence is; no whole address", async () => {
    const signed = mandate();
    const { text, tags } = await readPdf(await pdfOf(signed));
    for (const said of [
      "Sanne de Vries",
      "20 november 2026 om 10:30",
      signed.connection_id,
      signed.mandate_id,
      signed.document_sha256,
      "8716 8711 0000 0000 18",
    ])
      expect(text).toContain(said);
    expect(text).toContain("s•••@example.nl");
    expect(text).not.toContain("sanne@example.nl");
    expect(tags.filter(({ role }) => role === "H2").map(({ text: heading }) => heading)).toEqual([
      "1. Ik machtig",
      "2. Wie ik ben",
      "3. Voor deze aansluiting",
      "4. Voor deze periode",
      "5. Wat ik toesta",
      "6. Wat ik verklaar",
      "7. Stoppen",
      "Handtekening",
      "Bewijs",
    ]);
  });

  test("contract §2 says that nothing but the name confirmed it", async () => {
    const { text } = await readPdf(await pdfOf({ ...mandate(), code_sent_to: null }));
    expect(text).toContain("alleen de naam");
  });

  test.each([
    "Ġużè Çelik-Şimşek van der Łódź",
    "Dvořák Ångström Þórður Đorđević Ǎ ẞ Œuvre",
    "Nguyễn Thị Ngọc Hạnh",
    "Νίκος Παπαδόπουλος",
    "Жанна Щёлкина",
    "D’Artagnan “de Oude” – O‘Neil…",
    "Zoe\u0308 Jose\u0301",
  ])("contract §2 has the letters of %s", async (full_name) => {
    const { text } = await readPdf(await pdfOf(mandate({ full_name })));
    // which letters with two marks are written as one code point is the reader's choice
    expect(spaceless(text).normalize("NFC")).toContain(spaceless(full_name).normalize("NFC"));
    expect(text).not.toContain("[U+");
  });

  test("contract §2 writes by its number what it has no letter for, and attaches it as it is", async () => {
    const { text, attachments } = await readPdf(await pdfOf(mandate({ full_name: "李 娜 😀" })));
    expect(text).toContain("[U+674E] [U+5A1C] [U+1F600]");
    expect(attachments[0]?.text).toContain("李 娜 😀");
  });

  test.each([
    "Vondelingenplaatvandergracht".repeat(5).slice(0, 120),
    "W".repeat(120),
    `${"de Vries ".repeat(14)}.`.slice(0, 120),
  ])("contract §2 shows a name of 120 letters whole: %s", async (full_name) => {
    const { text, pages } = await readPdf(await pdfOf(mandate({ full_name })));
    expect(spaceless(text)).toContain(spaceless(full_name));
    expect(pages).toBe(2);
  });

  test("contract §2 shows an addition to the house number, and an address without a street", async () => {
    expect((await readPdf(await pdfOf(mandate({ house_number_addition: "A-bis 3" })))).text).toContain(
      "Kerkstraat 8 A-bis 3",
    );
    expect((await readPdf(await pdfOf(mandate({ street: null, city: null })))).text).toContain("3818 LH, huisnummer 8");
  });

  test("contract §2 goes on to as many pages as its text takes", async () => {
    const signed = mandate();
    const document = `${signed.document}\n\n8. Meer\n${"- Dit is een zin die steeds terugkomt, om te zien of alles er staat.\n".repeat(200).trim()}`;
    const { pages, tags, text } = await readPdf(await pdfOf({ ...signed, document }));
    expect(pages).toBeGreaterThan(5);
    expect(text.match(/Dit is een zin/g)).toHaveLength(200);
    expect(text).toContain(`Pagina ${pages} van ${pages}`);
    expect(tags.map(({ text: said }) => said).join(" ")).not.toContain("Pagina 1 van");
  });
});

describe("a statement", () => {
  test("contract §3 says for which months, what they yielded, the fee, what was paid and where to", async () => {
    const { text, tags } = await readPdf(await writePdf(stated(), CREATED));
    for (const said of [
      "Sanne de Vries",
      "104,82",
      "20 november 2026",
      "rekening die eindigt op 4300",
      "ERE-7GQ2-0001",
      "inclusief btw",
    ])
      expect(spaceless(text)).toContain(spaceless(said));
    const tables = tags
      .filter(({ role }) => role === "Table")
      .map(({ children }) => children.map((row) => row.children.map((cell) => cell.text.trim())));
    expect(tables).toEqual([
      [
        ["Maand", "kWh", "ERE", "Per ERE", "Opbrengst", "Kosten", "Voor u"],
        ["april 2026", "312,5", "103,97", "€ 0,42", "€ 43,67", "€ 8,73", "€ 34,94"],
        ["mei 2026", "312,5", "103,97", "€ 0,42", "€ 43,67", "€ 8,73", "€ 34,94"],
        ["juni 2026", "312,5", "103,97", "€ 0,42", "€ 43,67", "€ 8,73", "€ 34,94"],
        ["Totaal", "937,5", "311,90", "", "€ 131,01", "€ 26,19", "€ 104,82"],
      ],
    ]);
  });

  test("contract §3 begins with how much was paid, when, and to which account", async () => {
    const first = async (change?: Partial<Statement>) => {
      const { tags } = await readPdf(await writePdf(stated(change), CREATED));
      const at = tags.findIndex(({ text }) => text.includes("104,82"));
      return tags.slice(at - 1, at + 2).map(({ text }) => text.replace(/\s+/g, " ").trim());
    };
    expect(await first()).toEqual([
      "Uitbetaald",
      "€ 104,82",
      "op 20 november 2026, naar de rekening die eindigt op 4300",
    ]);
    expect(await first({ iban_last4: null, paid_to: "Laadpunt Zuid" })).toEqual([
      "Betaald aan uw laadpuntexploitant",
      "€ 104,82",
      "op 20 november 2026, naar Laadpunt Zuid",
    ]);
  });

  test("contract §3 adds up several connections in a table of its own", async () => {
    const rows = [month("2026-04"), month("2026-04", "871687110000000025")];
    const { tags } = await readPdf(await writePdf(stated({ rows }), CREATED));
    expect(tags.filter(({ role }) => role === "H2").map(({ text }) => text)).toContain("Alle aansluitingen samen");
    const firsts = tags
      .filter(({ role }) => role === "Table")
      .map(({ children }) => children.at(-1)?.children[0]?.text);
    expect(firsts).toEqual(["april 2026", "april 2026", "Totaal"]);
  });

  test("contract §3 writes no kWh that read as thousands", async () => {
    const rows = [{ ...month("2026-04"), kwh: "204.000" }];
    const { text } = await readPdf(await writePdf(stated({ rows }), CREATED));
    expect(text).toContain("204,0");
    expect(text).not.toContain("204,000");
  });

  test("contract §3 names the service with its address and numbers, and shows the partner's logo by its name", async () => {
    const pdf = await writePdf(stated({ logo: logo() }), CREATED);
    const { tags } = await readPdf(pdf);
    expect(tags.slice(0, 6).map(({ role, text }) => [role, text.trim()])).toEqual([
      ["H1", "Overzicht van uw uitbetaling"],
      ["Figure", ""],
      ["P", "ERE Service"],
      ["P", "Teststraat 1"],
      ["P", "KvK-nummer 87654321"],
      ["P", "Btw-nummer NL009876543B01"],
    ]);
    expect(Buffer.from(pdf).toString("latin1")).toContain("/Alt (Laadpunt Zuid)");
    const without = composeStatement(statement(), { ...SERVICE, SERVICE_VAT: undefined });
    expect(without.sender?.lines, "a service without a VAT number").toEqual([
      "ERE Service",
      "Teststraat 1",
      "KvK-nummer 87654321",
    ]);
    expect(roles((await readPdf(await writePdf(stated(), CREATED))).tags)).not.toContain("Figure");
  });

  test("contract §3 says what was settled with earlier payouts, where that is anything", async () => {
    const said = async (other: string) => (await readPdf(await writePdf(stated({ other }), CREATED))).text;
    expect(await said("-12.30")).toContain("Verrekend met eerdere uitbetalingen: \u2212 € 12,30");
    expect(await said("0.00")).not.toContain("Verrekend");
  });

  test("contract §3 keeps large amounts exact", async () => {
    const totals = {
      kwh: "9007199254740993.125",
      ere: "1.000000",
      gross: "9007199254740993.01",
      fee: "0.00",
      net: "9007199254740993.01",
    };
    const { text } = await readPdf(await writePdf(stated({ rows: [], totals }), CREATED));
    expect(text).toContain("9.007.199.254.740.993,01");
  });

  test("contract §3 shows amounts of millions beside each other, not over each other", async () => {
    const large = { ...month("2026-04"), gross: "1234567.89", fee: "246913.57", net: "987654.32" };
    const { cells } = await readPdf(await writePdf(stated({ rows: [large] }), CREATED));
    const line = cells.filter(({ text }) => /^(april|312,|103,|€ (1\.234|246|987)\.)/.test(text));
    expect(line.map(({ text }) => text)).toEqual([
      "april 2026",
      "312,5",
      "103,97",
      "€ 1.234.567,89",
      "€ 246.913,57",
      "€ 987.654,32",
    ]);
    for (const [index, { left }] of line.entries()) expect(left).toBeGreaterThan(line[index - 1]?.right ?? 0);
  });
});

test.each(Object.entries(FONT_MODULES))(
  "contract §2 the letters of %s are those of the package that package.json names",
  (path, made) => expect(readFileSync(ROOT + path, "utf8")).toBe(made()),
);

test("contract §3 an invoice has what the law asks of one, each regime its own words", async () => {
  const { text } = await readPdf(await invoiced());
  for (const said of [
    "Factuur 2026-0001",
    "20 november 2026",
    "Laadpunt Zuid B.V.",
    "Kade 1, Breda",
    "NL001234567B01",
    "ERE Service",
    "NL009876543B01",
    "april 2026",
    "€ 1.006,67",
    "Btw 21%",
    "€ 211,40",
    "€ 1.218,07",
    "Factuur uitgereikt door afnemer.",
  ])
    expect(text).toContain(said);
  for (const [vat_regime, said] of [
    ["none", "geen ondernemer voor de btw"],
    ["small_business", "kleineondernemersregeling"],
    ["reverse_charge", "Btw verlegd."],
  ] as const) {
    const { text } = await readPdf(await invoiced({ vat_regime, vat_rate: "0.00", vat: "0.00" }));
    expect(text).toContain(said);
    expect(text).not.toContain("21%");
  }
  const note = await readPdf(
    await invoiced({ corrects: { number: "2026-0001", issued_on: "2026-08-15" }, number: "2026-0002" }),
  );
  for (const said of ["Creditfactuur 2026-0002", "factuur 2026-0001 van 15 augustus 2026"])
    expect(note.text).toContain(said);
});
