// The file for the bank, against the schema of the standard.

import { readFileSync } from "node:fs";
import { XmlDocument, XmlValidateError, XsdValidator } from "libxml2-wasm";
import { describe, expect, test } from "vitest";
import { creditTransfers, type Transfer } from "../../packages/operator/src/sepa_file.ts";

const BATCH = "0b0d1e00-0000-4000-8000-00000000000a";
const DEBTOR = { name: "ERE Service B.V.", iban: "NL91ABNA0417164300" };
const transfer = (fields: Partial<Transfer> = {}): Transfer => ({
  line_id: "0b0d1e00-0000-4000-8000-00000000000b",
  reference: "K7QM34ACDE",
  name: "Sanne de Vries",
  iban: "DE89370400440532013000",
  amount_eur: 12.34,
  ...fields,
});
const write = (transfers: Transfer[], debtor: Parameters<typeof creditTransfers>[2] = DEBTOR) =>
  creditTransfers(BATCH, "2026-08-15T14:00:00", debtor, transfers);

/** Why a file does not fit the schema; nothing where it does. */
function faults(xml: string): string[] {
  const path = new URL("../ere/pain.001.001.09.xsd", import.meta.url);
  const validator = XsdValidator.fromDoc(XmlDocument.fromBuffer(readFileSync(path)));
  const document = XmlDocument.fromString(xml);
  try {
    validator.validate(document);
    return [];
  } catch (error) {
    if (!(error instanceof XmlValidateError)) throw error;
    return error.details.map(({ message }) => message);
  } finally {
    document.dispose();
    validator.dispose();
  }
}
const texts = (xml: string, element: string) =>
  [...xml.matchAll(new RegExp(`<${element}[^>]*>([^<]*)</${element}>`, "g"))].map(([, text]) => text);

describe("contract §3 the file for the bank", () => {
  test("contract §3 fits the ISO schema of pain.001.001.09, with a BIC and without", () => {
    expect(faults(write([transfer()]))).toEqual([]);
    expect(write([transfer()])).not.toMatch(/schemaLocation|xmlns:xsi|<AdrLine>|<PstlAdr>/);
    expect(faults(write([transfer(), transfer({ name: "x".repeat(70) })], { ...DEBTOR, bic: "ABNANL2A" }))).toEqual([]);
  });

  test("contract §3 has the batch as MsgId, the line as EndToEndId, count and sum, and one payment each, in order", () => {
    const xml = write([transfer({ amount_eur: 0.1 }), transfer({ amount_eur: 0.2, name: "B" })]);
    expect(texts(xml, "MsgId")).toEqual(["0b0d1e0000004000800000000000000a"]);
    expect(texts(xml, "EndToEndId")).toEqual(Array(2).fill("0b0d1e0000004000800000000000000b"));
    expect(texts(xml, "InstrId")).toEqual(["1", "2"]);
    expect([texts(xml, "NbOfTxs"), texts(xml, "CtrlSum")]).toEqual([
      ["2", "2"],
      ["0.30", "0.30"],
    ]);
    expect(texts(xml, "InstdAmt")).toEqual(["0.10", "0.20"]);
    expect(xml).toContain('<InstdAmt Ccy="EUR">0.10</InstdAmt>');
    expect(texts(xml, "Nm")).toEqual([DEBTOR.name, DEBTOR.name, "Sanne de Vries", "B"]);
    expect([texts(xml, "CreDtTm"), texts(xml, "Dt"), texts(xml, "Ustrd")]).toEqual([
      ["2026-08-15T14:00:00"],
      ["2026-08-15"],
      Array(2).fill("ERE 2026-08-15 K7QM34ACDE"),
    ]);
  });

  test("contract §3 ten thousand payments add up to the cent", () => {
    const xml = write(Array.from({ length: 10_000 }, (_, n) => transfer({ amount_eur: ((n % 999) + 1) / 100 })));
    const cents = texts(xml, "InstdAmt").reduce((sum, amount) => sum + Math.round(Number(amount) * 100), 0);
    expect(texts(xml, "CtrlSum")[0]).toBe((cents / 100).toFixed(2));
    expect(faults(xml)).toEqual([]);
  });

  const xmlns = "urn:iso:std:iso:20022:tech:xsd:pain.001.001.09";
  test.each<[string, string | RegExp, string, RegExp]>([
    ["a name of 71 letters", "<Nm>Sanne de Vries</Nm>", `<Nm>${"x".repeat(71)}</Nm>`, /maxLength/],
    ["an empty name", "<Nm>Sanne de Vries</Nm>", "<Nm></Nm>", /minLength/],
    ["an IBAN that is too short", "DE89370400440532013000", "DE8937040044053201300", /pattern/],
    ["an IBAN that is too long", "DE89370400440532013000", "DE893704004405320130000", /pattern/],
    ["an IBAN of no country", "DE89370400440532013000", "8937040044053201300089", /pattern/],
    ["an IBAN of a country outside SEPA", "DE89370400440532013000", "US89370400440532013000", /pattern/],
    ["an amount of three decimals", ">12.34</InstdAmt>", ">12.345</InstdAmt>", /fractionDigits/],
    ["an amount of nothing", ">12.34</InstdAmt>", ">0.00</InstdAmt>", /minInclusive/],
    ["an amount with a comma", ">12.34</InstdAmt>", ">12,34</InstdAmt>", /not a valid/],
    ["an amount of twelve digits", ">12.34</InstdAmt>", ">1000000000.00</InstdAmt>", /maxInclusive/],
    ["an amount without currency", ' Ccy="EUR"', "", /Ccy.*required/],
    ["an amount in dollars", ' Ccy="EUR"', ' Ccy="USD"', /enumeration/],
    ["no EndToEndId", /<EndToEndId>.*?<\/EndToEndId>/, "", /PmtId.*Missing child/],
    ["an EndToEndId of 36 characters", /<EndToEndId>.*?</, `<EndToEndId>${"x".repeat(36)}<`, /maxLength/],
    [
      "an InstrId after the EndToEndId",
      /(<InstrId>.*?<\/InstrId>)(<EndToEndId>.*?<\/EndToEndId>)/,
      "$2$1",
      /not expected/,
    ],
    ["no creditor", /<Cdtr>.*?<\/Cdtr>/, "", /not expected/],
    ["no account of the creditor", /<CdtrAcct>.*?<\/CdtrAcct>/, "", /not expected/],
    ["no payment at all", /<CdtTrfTxInf>.*<\/CdtTrfTxInf>/, "", /Missing child/],
    ["an element that is none", "<ChrgBr>", "<Fee>1</Fee><ChrgBr>", /not expected/],
    ["a method that is no transfer", "<PmtMtd>TRF</PmtMtd>", "<PmtMtd>CHK</PmtMtd>", /enumeration/],
    ["costs for the receiver", "<ChrgBr>SLEV</ChrgBr>", "<ChrgBr>CRED</ChrgBr>", /enumeration/],
    ["a BIC that is none", "<BICFI>ABNANL2A</BICFI>", "<BICFI>ABNANL2</BICFI>", /pattern/],
    ["a day that is none", "<Dt>2026-08-15</Dt>", "<Dt>2026-02-30</Dt>", /not a valid/],
    ["a date before the id of the message", /(<MsgId>.*?<\/MsgId>)(<CreDtTm>.*?<\/CreDtTm>)/, "$2$1", /not expected/],
    [
      "the namespace of an older version",
      `xmlns="${xmlns}"`,
      `xmlns="${xmlns.slice(0, -1)}3"`,
      /No matching global declaration/,
    ],
    ["no namespace", ` xmlns="${xmlns}"`, "", /No matching global declaration/],
  ])("contract §3 the schema finds %s", (_what, from, to, fault) => {
    const good = write([transfer()], { ...DEBTOR, bic: "ABNANL2A" });
    expect(faults(good)).toEqual([]);
    const bad = good.replace(from, to);
    expect(bad).not.toBe(good);
    expect(faults(bad).join()).toMatch(fault);
  });

  test("contract §3 what no such file may hold is never written", () => {
    for (const fields of [
      { iban: "NL00ABNA0417164300" },
      { name: "x".repeat(71) },
      { amount_eur: 0 },
      { amount_eur: 1.234 },
    ])
      expect(() => write([transfer(fields)])).toThrow();
  });
});
