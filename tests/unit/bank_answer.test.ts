// What is read of a bank's answers. Structure and order of elements are those of the definitions of ISO 20022:
// pain.002.001.03/.10 (CustomerPaymentStatusReport), camt.053.001.02/.08 (BankToCustomerStatement), camt.054.001.02/.08
// (BankToCustomerDebitCreditNotification).

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { XmlDocument, XmlElement } from "libxml2-wasm";
import { describe, expect, test } from "vitest";
import { readBankAnswer, readBankFile } from "../../packages/operator/src/bank_answer.ts";
import { BATCH, bankEntry, camt, LINES, OUR_IBAN, pain002, statusOf, structureFaults } from "../ere/bank_files.ts";

const read = (xml: string | Uint8Array, account = OUR_IBAN) =>
  readBankAnswer(typeof xml === "string" ? new TextEncoder().encode(xml) : xml, account);
const [one = "", two = ""] = LINES;

type Tree = { name: string; children: Tree[] };
function treeOf(element: XmlElement): Tree {
  const children: Tree[] = [];
  for (let node = element.firstChild; node; node = node.next)
    if (node instanceof XmlElement) children.push(treeOf(node));
  return { name: element.name, children };
}
function faultsOf(xml: string): string[] {
  const document = XmlDocument.fromString(xml);
  const { name, children } = treeOf(document.root);
  document.dispose();
  return structureFaults(name, children);
}

test("contract §3 the samples have what the definitions of their messages demand, in their order", () => {
  for (const message of ["pain.002.001.03", "pain.002.001.10"])
    expect(
      faultsOf(
        pain002(message, {
          group: statusOf("PART", "TM01"),
          batch: statusOf("RJCT", "TM01"),
          lines: [{ line: one, amount: "1.00", ...statusOf("RJCT", "AC04") }],
        }),
      ),
    ).toEqual([]);
  for (const message of ["camt.053.001.02", "camt.053.001.08", "camt.054.001.02", "camt.054.001.08"]) {
    const details = [{ line: one, amount: "1.00", reason: "AC04" }, { line: two }];
    const good = camt(message, [
      bankEntry(message, { amount: "1.00", batch: BATCH }),
      bankEntry(message, { amount: "1.00", credit: true, details }),
    ]);
    expect(faultsOf(good)).toEqual([]);
    expect(faultsOf(good.replace(/<BkTxCd>.*?<\/BkTxCd>/, ""))).toEqual(["Ntry: BkTxCd is missing"]);
    expect(faultsOf(good.replace(/(<Amt [^>]*>1.00<\/Amt>)(<CdtDbtInd>DBIT<\/CdtDbtInd>)/, "$2$1"))).toEqual([
      "Ntry: Amt comes too late",
    ]);
  }
});

describe("contract §3 what a bank answers", () => {
  test.each(["pain.002.001.03", "pain.002.001.10"])(
    "contract §3 %s: of the file, of the batch, of lines; a refusal of both is one",
    (message) => {
      const both = pain002(message, {
        group: statusOf("RJCT", "FF01"),
        batch: statusOf("RJCT", "TM01"),
        lines: [
          { line: one, amount: "80.00", ...statusOf("RJCT", "AC04") },
          { line: two, ...statusOf("ACSP") },
        ],
      });
      expect(read(both)).toEqual({
        message,
        said: [
          { what: "rejected", batch: BATCH, reasons: ["FF01", "TM01", "AC04"] },
          { what: "back", line: one, amount: "80.00", reasons: ["AC04"], besides: ["TM01", "FF01"] },
        ],
        left: { "payment of status ACSP, which changes nothing": 1 },
      });
      // a line without a reason of its own: the bank says nothing of its account
      const whole = pain002(message, { batch: statusOf("RJCT", "AC06"), lines: [{ line: one, ...statusOf("RJCT") }] });
      expect(read(whole).said[1]).toMatchObject({ reasons: ["NARR of the whole batch: AC06"], besides: ["AC06"] });
      expect(read(pain002(message, { group: statusOf("RJCT", "DT01") })).said).toEqual([
        { what: "rejected", batch: BATCH, reasons: ["DT01"] },
      ]);
      expect(read(pain002(message, { batch: statusOf("RJCT") })).said).toEqual([
        { what: "rejected", batch: BATCH, reasons: [] },
      ]);
      expect(read(pain002(message, { group: statusOf("ACCP") }))).toMatchObject({
        said: [],
        left: { "status ACCP, which changes nothing": 1 },
      });
    },
  );

  test.each(["camt.053.001.02", "camt.053.001.08", "camt.054.001.02", "camt.054.001.08"])(
    "contract §3 %s: a batch in one entry, lines by themselves, and what came back, with the bank's reason",
    (message) => {
      const xml = camt(message, [
        bankEntry(message, { amount: "120.00", batch: BATCH }),
        bankEntry(message, {
          amount: "120.00",
          details: [
            { line: one, amount: "80.00" },
            { line: two, amount: "40.00" },
          ],
        }),
        bankEntry(message, { amount: "80.00", credit: true, details: [{ line: one, reason: "MD07" }] }),
        bankEntry(message, { amount: "120.00", credit: true, batch: BATCH }),
        bankEntry(message, { amount: "9.99", details: [{ line: "huur augustus" }] }),
        bankEntry(message, { amount: "80.00", status: "PDNG", details: [{ line: one }] }),
      ]);
      expect(read(xml)).toEqual({
        message,
        said: [
          { what: "booked", batch: BATCH, amount: "120.00", day: "2026-08-17" },
          { what: "paid", line: one, amount: "80.00", day: "2026-08-17" },
          { what: "paid", line: two, amount: "40.00", day: "2026-08-17" },
          { what: "back", line: one, amount: "80.00", reasons: ["MD07"], returned: true, day: "2026-08-17" },
          { what: "back_batch", batch: BATCH, amount: "120.00" },
        ],
        left: { "entry about something else": 1, "entry that is not booked yet": 1 },
      });
      // with the time of day
      const of = (day: string) => read(xml.replaceAll("<Dt>2026-08-17</Dt></BookgDt>", `${day}</BookgDt>`)).said[0];
      expect(of("<DtTm>2026-12-31T23:30:00+01:00</DtTm>")).toMatchObject({ day: "2026-12-31" });
      expect(of("<DtTm>2026-08-17T22:30:00Z</DtTm>"), "a day is one in Amsterdam").toMatchObject({ day: "2026-08-18" });
      // the database names what has no day
      for (const day of ["", "<Dt>17-08-2026</Dt>", "<DtTm>soon</DtTm>"]) {
        const undated = read(xml.replaceAll("<Dt>2026-08-17</Dt></BookgDt>", `${day}</BookgDt>`));
        expect(undated.said.map(({ what, day }) => [what, day])).toEqual(
          ["booked", "paid", "paid", "back", "back_batch"].map((what) => [what, undefined]),
        );
        expect(undated.left).toEqual({ "entry about something else": 1, "entry that is not booked yet": 1 });
      }
      // of the account that we pay from, and no other
      expect(read(xml, "DE89370400440532013000")).toMatchObject({
        said: [],
        left: { "entry of account NL20INGB0001234567, which is not PAYOUT_ACCOUNT_IBAN": 6 },
      });
    },
  );

  test("contract §3 payments that do not come to their entry, in dollars, or without an amount say nothing of an amount", () => {
    const message = "camt.053.001.08";
    const details = [
      { line: one, amount: "80.00" },
      { line: two, amount: "40.01" },
    ];
    expect(read(camt(message, [bankEntry(message, { amount: "120.00", details })]))).toMatchObject({
      said: [],
      left: { "entry of 120.00 euro whose payments come to another sum, 120.01": 1 },
    });
    const dollars = bankEntry(message, { amount: "80.00", details: [{ line: one }] }).replaceAll('"EUR"', '"USD"');
    expect(read(camt(message, [dollars]))).toMatchObject({ said: [], left: { "entry without an amount in euro": 1 } });
  });

  test("attack: a credit that names a payment of ours is no return, unless the bank says so", () => {
    const entry = (inner: string) =>
      camt("camt.053.001.08", [
        bankEntry("camt.053.001.08", {
          amount: "0.20",
          credit: true,
          details: [{ line: one, amount: "0.20" }],
        }).replace("</TxDtls>", `${inner}</TxDtls>`),
      ]);
    const own = read(entry(""));
    expect([own.said, own.left]).toEqual([
      [],
      {
        [`credit of 0.20 euro that names our payment ${one}, and is no return: if the bank sent it back, run payout settle --failed`]: 1,
      },
    ]);
    const code = "<BkTxCd><Domn><Cd>PMNT</Cd><Fmly><Cd>ICDT</Cd><SubFmlyCd>RRTN</SubFmlyCd></Fmly></Domn></BkTxCd>";
    expect(read(entry(code)).said).toEqual([
      { what: "back", line: one, amount: "0.20", reasons: [], returned: true, day: "2026-08-17" },
    ]);
  });

  test("contract §3 a return that names no payment of ours, or that the bank takes back, is named with its amount", () => {
    const message = "camt.053.001.08";
    const back = bankEntry(message, {
      amount: "80.00",
      credit: true,
      details: [{ line: "NOTPROVIDED", amount: "80.00", reason: "AC04" }],
    });
    const undone = bankEntry(message, { amount: "40.00", details: [{ line: two, amount: "40.00" }] });
    expect(read(camt(message, [back, undone.replace("<Sts>", "<RvslInd>true</RvslInd><Sts>")]))).toEqual({
      message,
      said: [],
      left: {
        "return of 80.00 euro (AC04) that names no payment of ours: ask the bank": 1,
        "return of 40.00 euro that the bank took back, of a payment of ours: ask the bank": 1,
      },
    });
  });

  test("attack: of the bank's reasons only codes are kept: its words may have an IBAN or a name", () => {
    const message = "pain.002.001.10";
    const with_ = (inner: string) =>
      read(pain002(message, { lines: [{ line: one, status: `<TxSts>RJCT</TxSts><StsRsnInf>${inner}</StsRsnInf>` }] }))
        .said[0]?.reasons;
    const words = "<AddtlInf>/IBAN/NL91ABNA0417164300/NAME/J. Jansen</AddtlInf>";
    expect(with_(`<Rsn><Cd>AC04</Cd></Rsn>${words}`)).toEqual(["AC04"]);
    expect(with_(`<Rsn><Prtry>NL91ABNA0417164300</Prtry></Rsn>${words}`)).toEqual([]);
    const entry = bankEntry("camt.053.001.08", {
      amount: "80.00",
      credit: true,
      details: [{ line: one, amount: "80.00" }],
    })
      .replace("<Sts>", "<RvslInd>true</RvslInd><Sts>")
      .replace("</TxDtls>", "<AddtlTxInf>RETOUR AC04 NL91ABNA0417164300 J. Jansen</AddtlTxInf></TxDtls>")
      .replace("</Ntry>", "<AddtlNtryInf>/IBAN/NL91ABNA0417164300/NAME/J. Jansen</AddtlNtryInf></Ntry>");
    expect(read(camt("camt.053.001.08", [entry])).said).toMatchObject([
      { what: "back", line: one, reasons: [], returned: true },
    ]);
  });

  test("contract §3 CRLF, a BOM, prefixes, comments and foreign elements change nothing of it", () => {
    const message = "camt.054.001.08";
    const plain = camt(message, [bankEntry(message, { amount: "120.00", batch: BATCH })]);
    const prefixed = plain.replace(/<(\/?)([A-Z])/g, "<$1b:$2").replace("xmlns=", "xmlns:b=");
    const foreign = plain.replace("<Ntry>", '<!-- ours --><Ntry><Amt xmlns="urn:bank" Ccy="EUR">1.00</Amt>');
    for (const xml of [`\ufeff${plain}`, plain.replaceAll("><", ">\r\n  <"), prefixed, foreign])
      expect(read(xml)).toEqual(read(plain));
  });

  // ABN AMRO and ING Austria write ISO 8859 without declaring it (OCA/bank-payment#21), Sparkassen declare it
  // (actualbudget/actual#8912)
  test("contract §3 ISO 8859, declared or not, and UTF-16 are read", () => {
    const message = "camt.053.001.08";
    const credit = bankEntry(message, { amount: "80.00", credit: true, details: [{ line: one, reason: "AC04" }] });
    const words = camt(message, [credit.replace("</Rsn>", "</Rsn><AddtlInf>Konto geschlossen für Müller</AddtlInf>")]);
    const declared = words.replace("UTF-8", "ISO-8859-1");
    const big = Buffer.from(`\ufeff${words.replace("UTF-8", "UTF-16")}`, "utf16le");
    const expected = { said: [{ what: "back", reasons: ["AC04"] }] };
    for (const bytes of [
      Buffer.from(words, "latin1"),
      Buffer.from(declared, "latin1"),
      Buffer.from(declared),
      big,
      Buffer.from(big).swap16(),
    ])
      expect(read(new Uint8Array(bytes))).toMatchObject(expected);
  });

  test("contract §3 our account as another kind of number, amounts behind zeros (ABN AMRO), a batch with payments without amounts", () => {
    const message = "camt.053.001.02";
    const details = [{ line: one }, { line: two }];
    const entry = bankEntry(message, { amount: "000000000000120.00", batch: BATCH, details });
    const said = [{ what: "booked", batch: BATCH, amount: "120.00", day: "2026-08-17" }];
    expect(read(camt(message, [entry]))).toMatchObject({ said, left: {} });
    const other = camt(message, [entry], "NL20 INGB 0001 2345 67").replace(/(<\/?)IBAN>/g, "$1Othr>");
    expect(read(other.replace(/<Othr>(.*)<\/Othr>/, "<Othr><Id>$1</Id></Othr>"))).toMatchObject({ said, left: {} });
    const none = read(camt(message, [entry]).replace(/<IBAN>.*<\/IBAN>/, "<Othr><Id>0001234567</Id></Othr>"));
    expect(none.left).toEqual({ "entry of account 0001234567, which is not PAYOUT_ACCOUNT_IBAN": 1 });
  });

  test("attack: a payment that came back within the debit of its batch is not paid", () => {
    const message = "camt.053.001.08";
    const mixed = bankEntry(message, {
      amount: "40.00",
      details: [
        { line: one, amount: "80.00" },
        { line: two, amount: "40.00", reason: "AC04" },
      ],
    }).replace(/DBIT(<\/CdtDbtInd><RtrInf>)/, "CRDT$1");
    expect(read(camt(message, [mixed])).said).toEqual([
      { what: "paid", line: one, amount: "80.00", day: "2026-08-17" },
      { what: "back", line: two, amount: "40.00", reasons: ["AC04"], returned: true, day: "2026-08-17" },
    ]);
    // the bank takes a return back
    const debit = bankEntry(message, { amount: "40.00", details: [{ line: two, amount: "40.00", reason: "AC04" }] });
    expect(read(camt(message, [debit]))).toMatchObject({
      said: [],
      left: { "return of 40.00 euro that the bank took back, of a payment of ours: ask the bank": 1 },
    });
  });

  const twice = { "entry that the file has twice": 1 };
  const withRef = (ref: string, entry: Partial<Parameters<typeof bankEntry>[1]> = {}) =>
    bankEntry("camt.054.001.08", { amount: "80.00", details: [{ line: one, amount: "80.00" }], ...entry }).replace(
      "<BkTxCd>",
      `<AcctSvcrRef>${ref}</AcctSvcrRef><BkTxCd>`,
    );
  /** A file with these notices. */
  const notices = (...notices: { entries: string[]; account?: string }[]) =>
    notices
      .map(({ entries, account }) => camt("camt.054.001.08", entries, account).split(/(?=<Ntfctn>)|(?<=<\/Ntfctn>)/))
      .map(([head, notice, tail], at, { length }) => `${at ? "" : head}${notice}${at === length - 1 ? tail : ""}`)
      .join("");

  test("attack: statements of one file that overlap tell of one booking, by the bank's reference, amount, side and day", () => {
    const entry = withRef("R1");
    const second = (other: string) => read(notices({ entries: [entry] }, { entries: [other] }));
    // the number within the statement is another one
    expect(second(entry.replace("<Ntry>", "<Ntry><NtryRef>7</NtryRef>"))).toMatchObject({ said: [{}], left: twice });
    const others = [withRef("R2"), withRef("R1", { day: "2026-08-18" })];
    for (const other of others) expect(second(other)).toMatchObject({ said: [{}, {}], left: {} });
    expect(second(entry.replaceAll("80.00", "80.01")).said).toHaveLength(2);
    const credit = withRef("R1", { credit: true, details: [{ line: one, amount: "80.00", reason: "AC04" }] });
    expect(second(credit).said).toHaveLength(2);
    expect(read(camt("camt.054.001.08", [entry, entry])).said).toHaveLength(2);
  });

  test("attack: a payment that was debited twice is read twice where the bank's reference says nothing", () => {
    const none = withRef("R1").replace(/<AcctSvcrRef>R1<.AcctSvcrRef>/, "");
    for (const entry of [none, ...["NOTPROVIDED", "nonref", ""].map((ref) => withRef(ref))])
      expect(read(notices({ entries: [entry] }, { entries: [entry] }))).toMatchObject({ said: [{}, {}], left: {} });
  });

  test("attack: an entry is read though a statement of another account number has it too", () => {
    const entries = [withRef("R1", { credit: true, details: [{ line: one, amount: "80.00", reason: "AC04" }] })];
    for (const both of [
      [{ entries, account: "0001234567" }, { entries }],
      [{ entries }, { entries, account: "0001234567" }],
    ])
      expect(read(notices(...both))).toMatchObject({
        said: [{ what: "back", line: one }],
        left: { "entry of account 0001234567, which is not PAYOUT_ACCOUNT_IBAN": 1 },
      });
  });

  test("attack: a return whose detail has the side of the payment is a return", () => {
    const message = "camt.053.001.08";
    const details = [
      { line: one, amount: "80.00", reason: "AC04" },
      { line: two, amount: "40.00", reason: "AC04" },
    ];
    for (const [amount, of] of [
      ["80.00", details.slice(0, 1)],
      ["120.00", details],
    ] as const) {
      const entry = bankEntry(message, { amount, credit: true, details: [...of] });
      const sided = entry.replace(/CRDT(<\/CdtDbtInd><RtrInf>)/g, "DBIT$1");
      expect(read(camt(message, [sided]))).toEqual(read(camt(message, [entry])));
      expect(read(camt(message, [sided])).said).toHaveLength(of.length);
    }
  });

  const doctype = (entity: string) => `<?xml version="1.0"?><!DOCTYPE d [${entity}]><Document>&a;</Document>`;
  const wrong: [string, string | Uint8Array, RegExp][] = [
    ["an external entity", doctype('<!ENTITY a SYSTEM "file:///etc/passwd">'), /declares a document type/],
    ["a billion laughs", doctype('<!ENTITY b "ha"><!ENTITY a "&b;&b;&b;">'), /declares a document type/],
    [
      "an entity that nobody declared",
      `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.02">&a;</Document>`,
      /is not XML/,
    ],
    ["a zip", new Uint8Array(Buffer.from("504b0304140000000800", "hex")), /is not XML[\s\S]*Unpack a zip first/],
    ["MT940", ":20:940S150202\r\n:25:NL68RABO0123456789 EUR", /is not XML[\s\S]*ask the bank for camt\.053/],
    ["a file that is cut off", camt("camt.053.001.02", []).slice(0, -20), /is not XML, or is not whole/],
    ["nothing", "", /is not XML/],
    ["a CSV", "a;b\r\n1;2", /is not XML/],
    ["another namespace", camt("camt.053.001.08", []).replace("urn:iso:", "urn:is0:"), /not a message of ISO 20022/],
    [
      "a version that we do not read",
      camt("camt.053.001.13", []),
      /This is camt\.053\.001\.13\. Ask the bank for one of/,
    ],
    [
      "our own file",
      '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.001.001.09"/>',
      /This is pain\.001\.001\.09/,
    ],
    ["a recall", '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.056.001.08"/>', /This is a recall/],
    [
      "a pain.002 of nothing",
      '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.002.001.10"><CstmrPmtStsRpt/></Document>',
      /no whole pain\.002/,
    ],
  ];
  test.each(wrong)("contract §3 %s is refused by its own words", (_what, xml, sentence) => {
    expect(() => read(xml)).toThrow(sentence);
  });

  test("contract §3 a status of direct debits is somebody else's", () => {
    const xml = pain002("pain.002.001.03", { group: statusOf("RJCT", "AC04") }).replace(
      "pain.001.001.09",
      "pain.008.001.02",
    );
    expect(read(xml)).toMatchObject({ said: [], left: { "status of another kind of file (pain.008.001.02)": 1 } });
  });

  test("contract §3 5,000 payments are read within seconds; 50 MB are refused before they are", () => {
    const folder = mkdtempSync(join(tmpdir(), "ere-bank-"));
    try {
      const message = "camt.053.001.08";
      const lines = Array.from({ length: 5000 }, (_, n) => n.toString(16).padStart(32, "0"));
      const details = lines.map((line) => ({ line, amount: "0.10" }));
      const large = camt(message, [bankEntry(message, { amount: "500.00", details })]);
      const file = join(folder, "large.xml");
      writeFileSync(file, large);
      const before = performance.now();
      expect(readBankFile(file, OUR_IBAN).said).toHaveLength(5000);
      expect(performance.now() - before).toBeLessThan(10_000);
      writeFileSync(file, Buffer.alloc(50_000_000, " "));
      expect(() => readBankFile(file, OUR_IBAN)).toThrow(/larger than 32 MB/);
      expect(() => readBankFile(join(folder, "none"), OUR_IBAN)).toThrow(/cannot be read \(ENOENT\)/);
    } finally {
      rmSync(folder, { recursive: true });
    }
  }, 20_000);
});
