// What we write, and the samples of what we read, by the schemas of ISO 20022 themselves. We may not copy those: ISO_SCHEMAS is a folder with
// their .xsd files, for example from Debian's libhbci4j-core-java (in its jar) and tryton-modules-account-payment-sepa (in its tests).

import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { XmlDocument, XmlValidateError, XsdValidator } from "libxml2-wasm";
import { describe, expect, test } from "vitest";
import { creditTransfers } from "../../packages/operator/src/sepa_file.ts";
import { BATCH, bankEntry, camt, LINES, pain002, statusOf } from "../ere/bank_files.ts";

const FOLDER = process.env.ISO_SCHEMAS ?? "";
const [one = "", two = ""] = LINES;
const uuid = (n: number) => `0b0d1e00-0000-4000-8000-${String(n).padStart(12, "0")}`;

/** Why a file does not fit the schema of a message; nothing where it does. */
function faults(message: string, xml: string): string[] {
  const validator = XsdValidator.fromDoc(XmlDocument.fromBuffer(readFileSync(join(FOLDER, `${message}.xsd`))));
  const document = XmlDocument.fromString(xml.replace(/^<\?xml [^>]*\?>/, ""));
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

/** A statement or notification as the account report (camt.052) of the same version, whose entries have the same types. */
const asReport = (xml: string) =>
  xml
    .replace(/camt\.05[34]/, "camt.052")
    .replace(/BkToCstmr(?:Stmt|DbtCdtNtfctn)>/g, "BkToCstmrAcctRpt>")
    .replace(/(<\/?)(?:Stmt|Ntfctn)>/g, "$1Rpt>");

describe.skipIf(!FOLDER)(`contract §3 the schemas of ISO 20022${FOLDER ? "" : " (skipped: no ISO_SCHEMAS)"}`, () => {
  test.each([1, 5_000])("contract §3 a file of %i payments fits pain.001.001.09", (payments) => {
    const transfers = Array.from({ length: payments }, (_, n) => ({
      ...{ line_id: uuid(n), reference: "K7QM34ACDE", name: `Sanne de Vries-O'Neill (${n})` },
      ...{ iban: "DE89370400440532013000", amount_eur: (n + 1) / 100 },
    }));
    for (const bic of [undefined, "ABNANL2A"]) {
      const debtor = { name: "ERE Service B.V.", iban: "NL91ABNA0417164300", bic };
      const xml = creditTransfers(uuid(0), "2026-12-26T14:00:00", debtor, transfers, "2026-12-28");
      expect(faults("pain.001.001.09", xml)).toEqual([]);
      expect(faults("pain.001.001.09", xml.replace("</EndToEndId>", "</EndToEndId><Fee>1</Fee>"))).toHaveLength(1);
    }
  });

  test.each(["pain.002.001.03", "pain.002.001.10"])("contract §3 the samples of %s fit it", (message) => {
    const line = { line: one, amount: "1.00", ...statusOf("RJCT", "AC04") };
    // the package has the older one as German banks narrow it: they write only what was refused
    const inPart = {
      group: statusOf("PART"),
      batch: statusOf("ACSP"),
      lines: [line, { line: two, ...statusOf("ACSP") }],
    };
    for (const sample of [
      { group: statusOf("RJCT", "DT01") },
      { group: statusOf("RJCT"), batch: statusOf("RJCT", "TM01"), lines: [line] },
      ...(message === "pain.002.001.10" ? [inPart] : []),
    ]) {
      const xml = pain002(message, sample);
      expect(faults(message, xml)).toEqual([]);
      expect(faults(message, xml.replace("</OrgnlMsgNmId>", "</OrgnlMsgNmId><Fee>1</Fee>"))).toHaveLength(1);
    }
  });

  test.each(["camt.053.001.02", "camt.053.001.08", "camt.054.001.02", "camt.054.001.08"])(
    "contract §3 the samples of %s fit it",
    (message) => {
      const details = [{ line: one, amount: "1.00", reason: "AC04" }, { line: two }];
      const xml = camt(message, [
        bankEntry(message, { amount: "1.00", batch: BATCH }),
        bankEntry(message, { amount: "1.00", batch: BATCH, details }),
        bankEntry(message, { amount: "1.00", credit: true, details, status: "PDNG" }),
      ]);
      const own = existsSync(join(FOLDER, `${message}.xsd`));
      const of = (sample: string) =>
        own ? faults(message, sample) : faults(message.replace(/05[34]/, "052"), asReport(sample));
      expect(of(xml)).toEqual([]);
      expect(of(xml.replace("<BkTxCd>", "<Fee>1</Fee><BkTxCd>"))).toHaveLength(1);
    },
  );
});
