// Workbooks by hand, for what no program writes.

import { strToU8, type Zippable, zipSync } from "fflate";

const MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const RELATED = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";

type Parts = {
  /** The rows of the first sheet. */
  rows?: string;
  strings?: string;
  styles?: string;
  workbook?: string;
  relations?: string;
  /** Other parts, by their path. */
  more?: Record<string, string>;
};

/** The parts of a workbook with one sheet, in the order in which Excel writes them. */
export function partsOf({
  rows = "",
  strings = "",
  styles = "",
  workbook,
  relations,
  more = {},
}: Parts): Record<string, string> {
  return {
    "xl/workbook.xml":
      workbook ??
      `<workbook xmlns="${MAIN}" xmlns:r="${RELATED}"><sheets><sheet name="Blad1" sheetId="1" r:id="rId1"/></sheets></workbook>`,
    "xl/_rels/workbook.xml.rels": relations ?? relationsOf({ rId1: ["worksheet", "worksheets/sheet1.xml"] }),
    "xl/worksheets/sheet1.xml": `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n<worksheet xmlns="${MAIN}"><sheetData>${rows}</sheetData></worksheet>`,
    "xl/styles.xml": `<styleSheet xmlns="${MAIN}">${styles}</styleSheet>`,
    "xl/sharedStrings.xml": `<sst xmlns="${MAIN}">${strings}</sst>`,
    ...more,
  };
}

export function relationsOf(sheets: Record<string, [type: string, target: string, mode?: string]>): string {
  const all: typeof sheets = {
    ...sheets,
    rId98: ["styles", "styles.xml"],
    rId99: ["sharedStrings", "sharedStrings.xml"],
  };
  return `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${Object.entries(all)
    .map(
      ([id, [type, target, mode]]) =>
        `<Relationship Id="${id}" Type="${RELATED}/${type}" Target="${target}"${mode ? ` TargetMode="${mode}"` : ""}/>`,
    )
    .join("")}</Relationships>`;
}

export const zipOf = (parts: Record<string, string>): Uint8Array =>
  zipSync(Object.fromEntries(Object.entries(parts).map(([name, text]) => [name, strToU8(text)])) as Zippable);

/** The entry of a part in the directory at the end of a zip, in place. */
export function entryOf(zip: Uint8Array, name: string): Buffer {
  const file = Buffer.from(zip.buffer, zip.byteOffset, zip.length);
  const at = file.lastIndexOf(name) - 46;
  return file.subarray(at, at + 46 + name.length);
}

/** The zip with more entries in its directory. */
export function listed(zip: Uint8Array, ...entries: Buffer[]): Buffer {
  const end = Buffer.from(zip.slice(-22));
  const more = Buffer.concat(entries);
  end.writeUInt16LE((end.readUInt16LE(10) + entries.length) % 65_536, 10);
  end.writeUInt32LE(end.readUInt32LE(12) + more.length, 12);
  return Buffer.concat([zip.slice(0, -22), more, end]);
}

export const workbookOf = (parts: Parts): Uint8Array => zipOf(partsOf(parts));

/** Styles whose formats are these, from style 1 on. */
export const formatsOf = (...codes: string[]): string =>
  `<numFmts>${codes.map((code, index) => `<numFmt numFmtId="${200 + index}" formatCode="${code.replaceAll("&", "&amp;").replaceAll('"', "&quot;")}"/>`).join("")}</numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/>${codes.map((_code, index) => `<xf numFmtId="${200 + index}"/>`).join("")}</cellXfs>`;
