import { strToU8, zipSync } from "fflate";

const ESCAPES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
const cellOf = (text: string): string =>
  `<c t="inlineStr" s="1"><is><t xml:space="preserve">${text.replace(/[&<>]/g, (sign) => ESCAPES[sign] ?? "")}</t></is></c>`;

const PACKAGE = "http://schemas.openxmlformats.org/package/2006";
const OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml";
const relations = (...to: [string, string][]): string =>
  `<Relationships xmlns="${PACKAGE}/relationships">${to.map(([type, target], index) => `<Relationship Id="rId${index + 1}" Type="${OFFICE}/${type}" Target="${target}"/>`).join("")}</Relationships>`;

/** A workbook of one sheet. Each cell is text, and so are the cells below it: Excel changes nothing that is typed there. */
export function writeXlsx(rows: readonly (readonly string[])[]): ArrayBuffer {
  const columns = Math.max(...rows.map(({ length }) => length));
  const parts = {
    "[Content_Types].xml": `<Types xmlns="${PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/xl/workbook.xml" ContentType="${TYPE}.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="${TYPE}.worksheet+xml"/><Override PartName="/xl/styles.xml" ContentType="${TYPE}.styles+xml"/></Types>`,
    "_rels/.rels": relations(["officeDocument", "xl/workbook.xml"]),
    "xl/workbook.xml": `<workbook xmlns="${MAIN}" xmlns:r="${OFFICE}"><sheets><sheet name="1" sheetId="1" r:id="rId1"/></sheets></workbook>`,
    "xl/_rels/workbook.xml.rels": relations(["worksheet", "worksheets/sheet1.xml"], ["styles", "styles.xml"]),
    // 49 is the built-in format of text
    "xl/styles.xml": `<styleSheet xmlns="${MAIN}"><fonts count="1"><font/></fonts><fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills><borders count="1"><border/></borders><cellStyleXfs count="1"><xf/></cellStyleXfs><cellXfs count="2"><xf xfId="0"/><xf xfId="0" numFmtId="49" applyNumberFormat="1"/></cellXfs></styleSheet>`,
    "xl/worksheets/sheet1.xml": `<worksheet xmlns="${MAIN}"><cols><col min="1" max="${columns}" width="20" customWidth="1" style="1"/></cols><sheetData>${rows.map((row) => `<row>${row.map(cellOf).join("")}</row>`).join("")}</sheetData></worksheet>`,
  };
  const head = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>';
  const zipped = zipSync(Object.fromEntries(Object.entries(parts).map(([name, text]) => [name, strToU8(head + text)])));
  return new Uint8Array(zipped).buffer;
}
