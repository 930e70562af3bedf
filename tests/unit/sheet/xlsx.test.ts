// XLSX as Excel and other programs write it, and as nobody should (design: files).

import Excel from "exceljs";
import { strToU8, zipSync } from "fflate";
import { expect, test, vi } from "vitest";
import { readUpload } from "#shared/domain/charging_in/file/read_upload.ts";
import { type Cell, MAX_PARTS, MAX_ROWS, type Sheet, SheetError } from "#shared/domain/sheet/model.ts";
import { readSheet } from "#shared/domain/sheet/read_sheet.ts";
import { entryOf, formatsOf, listed, partsOf, relationsOf, workbookOf, zipOf } from "./workbook.ts";

async function refusal(file: Uint8Array): Promise<string> {
  try {
    await readSheet(file);
  } catch (error) {
    if (error instanceof SheetError) return error.wrong;
    throw error;
  }
  return "none";
}
async function fromExcel(write: (book: Excel.Workbook) => void): Promise<Sheet> {
  const book = new Excel.Workbook();
  write(book);
  return readSheet(new Uint8Array(await book.xlsx.writeBuffer()));
}
/** The cells of the first row, in short. */
const short = ({ rows }: Sheet) => rows[0]?.cells.map((cell) => [cell.kind, cell.text]);
const first = async (rows: string, more: object = {}): Promise<Cell | undefined> =>
  (await readSheet(workbookOf({ rows, ...more }))).rows[0]?.cells[0];

test("every kind of cell that exceljs writes is read as what it is", async () => {
  const sheet = await fromExcel((book) => {
    const page = book.addWorksheet("Blad1");
    page.addRow(["Naam", "Aantal"]);
    page.addRow([
      " Zoë & <Piet> 😀 ",
      12.5,
      true,
      false,
      new Date(Date.UTC(2026, 2, 1, 9, 30)),
      { richText: [{ text: "vet" }, { text: " en dun", font: { bold: true } }] },
      { formula: "B2*2", result: 25 },
      { formula: "A2", result: "tekst" },
      { error: "#N/A" },
      { formula: "1/0", result: { error: "#DIV/0!" } },
      null,
      { text: "klik", hyperlink: "https://voorbeeld.nl" },
    ] as Excel.CellValue[]);
    page.getCell("E2").numFmt = "dd-mm-yyyy hh:mm";
  });
  expect(sheet).toMatchObject({ kind: "xlsx", encoding: null, more: 0 });
  expect(sheet.rows.map(({ sheet_row }) => sheet_row)).toEqual([1, 2]);
  expect(sheet.rows[1]?.cells).toEqual([
    { kind: "text", text: "Zoë & <Piet> 😀" },
    { kind: "number", text: "12.5", value: 12.5 },
    { kind: "boolean", text: "TRUE", value: true },
    { kind: "boolean", text: "FALSE", value: false },
    { kind: "date", text: "2026-03-01 09:30:00", wall: Date.UTC(2026, 2, 1, 9, 30), shows: "moment" },
    { kind: "text", text: "vet en dun" },
    { kind: "number", text: "25", value: 25 },
    { kind: "text", text: "tekst" },
    { kind: "error", text: "#N/A" },
    { kind: "error", text: "#DIV/0!" },
    { kind: "empty", text: "" },
    { kind: "text", text: "klik" },
  ]);
});

test("the first visible sheet is read, and no other", async () => {
  const sheet = await fromExcel((book) => {
    book.addWorksheet("verborgen", { state: "hidden" }).addRow(["nee"]);
    book.addWorksheet("diep", { state: "veryHidden" }).addRow(["nee"]);
    book.addWorksheet("Klanten").addRow(["ja"]);
    book.addWorksheet("Later").addRow(["nee"]);
  });
  expect(short(sheet)).toEqual([["text", "ja"]]);
});

test("blank rows are left out, and each row keeps the number that the spreadsheet shows", async () => {
  const sheet = await fromExcel((book) => {
    const page = book.addWorksheet("Blad1");
    page.getCell("B3").value = "kop";
    page.getCell("A7").value = "  ";
    page.getCell("C9").value = 1;
    page.getCell("D9").numFmt = "0.00";
  });
  expect(sheet.rows).toEqual([
    {
      sheet_row: 3,
      cells: [
        { kind: "empty", text: "" },
        { kind: "text", text: "kop" },
      ],
    },
    {
      sheet_row: 9,
      cells: [
        { kind: "empty", text: "" },
        { kind: "empty", text: "" },
        { kind: "number", text: "1", value: 1 },
      ],
    },
  ]);
});

test.each([
  ["dd-mm-yyyy", "day", "2026-03-15"],
  ["d/m/yy", "day", "2026-03-15"],
  ["[$-413]d mmmm yyyy;@", "day", "2026-03-15"],
  ["mmm-yy", "month", "2026-03"],
  ["[$-413]mmmm\\ yyyy;@", "month", "2026-03"],
  ["yyyy", "day", "2026-03-15"],
  ["dd-mm-yyyy hh:mm", "moment", "2026-03-15 12:00:00"],
  ['d "dag" m h:mm AM/PM', "moment", "2026-03-15 12:00:00"],
  ["h:mm:ss", "time", "12:00:00"],
  ["[hh]:mm", "time", "12:00:00"],
  ["[Red]dd-mm-yyyy;[Blue]0", "day", "2026-03-15"],
])("a number with the format %s is a date that shows a %s", async (code, shows, text) => {
  const cell = await first('<row r="1"><c r="A1" s="1"><v>46096.5</v></c></row>', { styles: formatsOf(code) });
  expect(cell).toEqual({ kind: "date", text, wall: Date.UTC(2026, 2, 15, 12), shows });
});

test.each<[code: string, unit?: string]>([
  ["General"],
  ["0.00"],
  ["#,##0.00"],
  ['0.0 "kWh dag"', "kWh"],
  ['#,##0 "Wh"', "Wh"],
  ["0.0\\ \\k\\W\\h", "kWh"],
  ["0.00E+00"],
  ["[>=1000]#,##0;0"],
  ["@"],
  ["_-* #,##0.00_-"],
  ['€ #,##0.00;[Red]-€ "d"', "other"],
  ["[$€-413] #,##0.00", "other"],
  ["[$-413]0.00"],
  ['0.000 "€/kWh"', "other"],
  ["0.0%", "other"],
  ['0.0 "kW"', "other"],
])("a number with the format %s is a number of this unit: %s", async (code, unit) => {
  const cell = await first('<row r="1"><c r="A1" s="1"><v>46096.5</v></c></row>', { styles: formatsOf(code) });
  expect(cell).toEqual({ kind: "number", text: "46096.5", value: 46096.5, ...(unit ? { unit } : {}) });
});

test.each([
  [14, "day"],
  [17, "month"],
  [20, "time"],
  [22, "moment"],
  [31, "day"],
  [46, "time"],
])("the built-in format %i shows a %s", async (id, shows) => {
  const styles = `<cellXfs><xf numFmtId="0"/><xf numFmtId="${id}"/></cellXfs>`;
  expect(await first('<row r="1"><c s="1"><v>46096.5</v></c></row>', { styles })).toMatchObject({
    kind: "date",
    shows,
  });
});

const in1904 = { workbook: partsOf({})["xl/workbook.xml"]?.replace("<sheets>", '<workbookPr date1904="1"/><sheets>') };
test.each([
  ["1", {}, "1900-01-01"],
  ["59", {}, "1900-02-28"],
  ["61", {}, "1900-03-01"],
  ["46082", {}, "2026-03-01"],
  ["46082.999999", {}, "2026-03-02"],
  ["2958465", {}, "9999-12-31"],
  ["0", in1904, "1904-01-01"],
  ["44620", in1904, "2026-03-01"],
])("day %s of the calendar is %o: %s", async (serial, workbook, text) => {
  const cell = await first(`<row r="1"><c r="A1" s="1"><v>${serial}</v></c></row>`, {
    styles: formatsOf("dd-mm-yyyy"),
    ...workbook,
  });
  expect(cell).toMatchObject({ kind: "date", text });
});

test.each(["60", "60.5", "-1", "2958466"])("day %s is in no calendar, and stays a number", async (serial) => {
  const cell = await first(`<row r="1"><c r="A1" s="1"><v>${serial}</v></c></row>`, {
    styles: formatsOf("dd-mm-yyyy"),
  });
  expect(cell).toEqual({ kind: "number", text: serial, value: Number(serial) });
});

test("a time is read to the second, whatever its fraction was rounded to", async () => {
  const cell = await first('<row r="1"><c r="A1" s="1"><v>46082.416666666664</v></c></row>', {
    styles: formatsOf("dd-mm-yyyy hh:mm"),
  });
  expect(cell).toMatchObject({ text: "2026-03-01 10:00:00" });
});

test.each<[what: string, cell: string, is: Cell]>([
  ["a number that a formula left", "<c><f>A2+1</f><v>3</v></c>", { kind: "number", text: "3", value: 3 }],
  ["a formula without a stored value", "<c><f>A2+1</f></c>", { kind: "error", text: "#VALUE!" }],
  ["an error", '<c t="e"><v>#REF!</v></c>', { kind: "error", text: "#REF!" }],
  ["text that looks like a number", '<c t="str"><v>1.234</v></c>', { kind: "text", text: "1.234" }],
  ["text that looks like a formula", '<c t="str"><v>=1+1</v></c>', { kind: "text", text: "=1+1" }],
  ["inline text", '<c t="inlineStr"><is><t>een</t></is></c>', { kind: "text", text: "een" }],
  [
    "inline rich text, without its phonetic reading",
    '<c t="inlineStr"><is><r><t>een</t></r><r><t xml:space="preserve"> twee</t></r><rPh sb="0" eb="1"><t>no</t></rPh></is></c>',
    { kind: "text", text: "een twee" },
  ],
  ["a shared string that is not there", '<c t="s"><v>7</v></c>', { kind: "error", text: "#REF!" }],
  [
    "a date in ISO 8601",
    '<c t="d"><v>2026-03-01T10:00:00Z</v></c>',
    { kind: "date", text: "2026-03-01 10:00:00", wall: Date.UTC(2026, 2, 1, 10), shows: "moment" },
  ],
  ["a date that is none", '<c t="d"><v>gisteren</v></c>', { kind: "error", text: "gisteren" }],
  ["a number that is none", "<c><v>veel</v></c>", { kind: "error", text: "#NUM!" }],
  ["a value in CDATA", "<c><v><![CDATA[3]]></v></c>", { kind: "number", text: "3", value: 3 }],
  ["a value after a comment", "<c><v>1<!-- x -->2</v></c>", { kind: "number", text: "12", value: 12 }],
  ["17 digits of 15", "<c><v>0.50049999999999994</v></c>", { kind: "number", text: "0.5005", value: 0.5005 }],
  [
    "an EAN that the spreadsheet rounded",
    "<c><v>871687110000000018</v></c>",
    { kind: "number", text: "8.7168711e+17", value: 871687110000000000 },
  ],
  [
    "a numeric entity beyond 16 bits",
    '<c t="str"><v>&#128512;&#x41;&amp;&#38;amp;</v></c>',
    { kind: "text", text: "😀A&&amp;" },
  ],
  ["an entity that nobody defined", '<c t="str"><v>&boem;</v></c>', { kind: "text", text: "&boem;" }],
  ["what XML cannot write", '<c t="str"><v>a_x000a_b_x005F_x000a_</v></c>', { kind: "text", text: "a\nb_x000a_" }],
])("%s is read as it stands", async (_what, cell, is) => {
  expect(await first(`<row r="1">${cell}</row>`)).toEqual(is);
});

test("a number keeps the leading zeros that its format shows", async () => {
  const cell = await first('<row r="1"><c r="A1" s="1"><v>1234567</v></c></row>', { styles: formatsOf("00000000") });
  expect(cell).toEqual({ kind: "number", text: "01234567", value: 1234567 });
});

test("rows and cells without reference follow one another; prefixes and strict names are read too", async () => {
  const rows =
    '<x:row><x:c t="str"><x:v>a</x:v></x:c><x:c r="C1"><x:v>1</x:v></x:c></x:row><x:row r="5"><x:c><x:v>2</x:v></x:c></x:row>';
  const parts = partsOf({
    more: {
      "xl/worksheets/sheet1.xml": `<x:worksheet xmlns:x="http://purl.oclc.org/ooxml/spreadsheetml/main"><x:sheetData>${rows}</x:sheetData></x:worksheet>`,
    },
  });
  const sheet = await readSheet(zipOf(parts));
  expect(sheet.rows.map(({ sheet_row, cells }) => [sheet_row, cells.map(({ text }) => text)])).toEqual([
    [1, ["a", "", "1"]],
    [5, ["2"]],
  ]);
});

test("the parts of the zip may come in any order, and by any path that the workbook names", async () => {
  const parts = partsOf({
    rows: '<row r="1"><c r="A1" t="s"><v>0</v></c></row>',
    strings: "<si><t>ja</t></si>",
    relations: relationsOf({ rId1: ["worksheet", "/xl/worksheets/Sheet1.xml"] }),
  });
  for (const order of [Object.entries(parts), Object.entries(parts).reverse()]) {
    expect(short(await readSheet(zipOf(Object.fromEntries(order))))).toEqual([["text", "ja"]]);
  }
});

test("a chart, a macro sheet and a sheet outside the file are passed over", async () => {
  const names = ["rId1", "rId2", "rId3"];
  const workbook = partsOf({})["xl/workbook.xml"]?.replace(
    /<sheets>.*<\/sheets>/,
    `<sheets>${names.map((id) => `<sheet name="${id}" sheetId="1" r:id="${id}"/>`).join("")}</sheets>`,
  );
  const relations = relationsOf({
    rId1: ["chartsheet", "chartsheets/sheet1.xml"],
    rId2: ["worksheet", "https://voorbeeld.nl/sheet.xml", "External"],
    rId3: ["worksheet", "worksheets/sheet1.xml"],
  });
  expect(
    short(
      await readSheet(workbookOf({ rows: "<row><c><v>1</v></c></row>", relations, ...(workbook ? { workbook } : {}) })),
    ),
  ).toEqual([["number", "1"]]);
  const onlyOutside = relationsOf({ rId1: ["worksheet", "https://voorbeeld.nl/sheet.xml", "External"] });
  expect(await refusal(workbookOf({ relations: onlyOutside }))).toBe("no_sheet");
});

const compound = (content: string) =>
  Buffer.concat([Buffer.from("d0cf11e0a1b11ae1", "hex"), Buffer.alloc(512), Buffer.from(content, "utf16le")]);
test.each<[what: string, file: Uint8Array, wrong: string]>([
  ["an .xls", compound("Workbook"), "xls"],
  ["a workbook with a password", compound("EncryptedPackage"), "encrypted"],
  ["a binary workbook", zipOf({ "xl/workbook.bin": "" }), "xlsb"],
  [
    "an OpenDocument file",
    zipOf({ mimetype: "application/vnd.oasis.opendocument.spreadsheet", "content.xml": "<x/>" }),
    "ods",
  ],
  ["a Numbers file", zipOf({ "Index/Document.iwa": "x" }), "numbers"],
  ["a Numbers file of before", zipOf({ "index.zip": "x" }), "numbers"],
  ["a document", zipOf({ "word/document.xml": "<x/>" }), "other"],
  ["a picture", Buffer.from("89504e470d0a1a0a0000000d", "hex"), "other"],
  ["a web page that calls itself .xls", Buffer.from("\n<html><table></table></html>"), "markup"],
  ["a workbook in XML", Buffer.from('\ufeff<?xml version="1.0"?><Workbook/>'), "markup"],
])("%s is refused, and told what to do", async (_what, file, wrong) => {
  expect(await refusal(file)).toBe(wrong);
  expect(await readSheet(file).catch((error: SheetError) => [error.isOtherKind, error.message.length > 20])).toEqual([
    true,
    true,
  ]);
});

const SHEET = "xl/worksheets/sheet1.xml";
const whole = workbookOf({ rows: '<row r="1"><c r="A1"><v>1</v></c></row>' });
test.each<[what: string, file: Uint8Array]>([
  ["is cut off in the middle", whole.subarray(0, whole.length / 2)],
  ["has only its first bytes", whole.subarray(0, 4)],
  ["has a sheet that is no XML", workbookOf({ rows: "<row><c></row>" })],
  ["has a sheet that ends early", zipOf({ ...partsOf({}), "xl/worksheets/sheet1.xml": "<worksheet><sheetData>" })],
  [
    "lacks the sheet that it names",
    zipOf(Object.fromEntries(Object.entries(partsOf({})).filter(([name]) => !name.includes("sheet1")))),
  ],
  ["lacks its relations", zipOf({ "xl/workbook.xml": "<workbook/>" })],
  ["has a cell without a column", workbookOf({ rows: '<row r="1"><c r="1"><v>1</v></c></row>' })],
  ["has a row without a number", workbookOf({ rows: '<row r="x"><c><v>1</v></c></row>' })],
])("a workbook that %s is damaged", async (_what, file) => {
  expect(await refusal(file)).toMatch(/^(broken|other)$/);
});

test("a part that is twice in the zip makes the workbook damaged", async () => {
  const [one, two] = ["xl/worksheets/sheet1.xml", "xl/worksheets/sheet2.xml"];
  const file = Buffer.from(zipOf({ ...partsOf({ rows: "<row><c><v>1</v></c></row>" }), [two]: "<worksheet/>" }));
  const renamed = Buffer.from(file.toString("latin1").replaceAll(two, one), "latin1");
  expect(await refusal(renamed)).toBe("broken");
});

test("a zip that lies about the size of a part is refused whole", async () => {
  for (const by of [-1, 1, 1000]) {
    const file = Buffer.from(whole);
    const entry = entryOf(file, SHEET);
    entry.writeUInt32LE(entry.readUInt32LE(24) + by, 24);
    expect(await refusal(file)).toBe("broken");
  }
});

test("a zip that lists the bytes of one part twice is refused whole", async () => {
  const again = Buffer.from(entryOf(whole, SHEET));
  again.write("xl/worksheets/sheet2.xml", 46);
  expect(await refusal(listed(whole, again))).toBe("broken");
  // a zip within the zip, whose sheet is listed too
  const inner = zipSync({ "xl/a": strToU8("<a/>") });
  const outer = zipSync({ "xl/b": [inner, { level: 0 }] });
  const within = Buffer.from(entryOf(inner, "xl/a"));
  within.writeUInt32LE(Buffer.from(outer).indexOf(inner), 42);
  expect(await refusal(listed(outer, within))).toBe("broken");
});

test("a workbook that names one part as its sheet and its strings is damaged", async () => {
  const relations = relationsOf({
    rId1: ["worksheet", "worksheets/sheet1.xml"],
    rId2: ["sharedStrings", "worksheets/sheet1.xml"],
  });
  expect(await refusal(workbookOf({ relations }))).toBe("broken");
});

test("a zip of 83,884 parts, all of one name, is refused at once", async () => {
  const one = zipSync({ a: new Uint8Array() });
  const many = listed(one, ...Array<Buffer>(83_884).fill(entryOf(one, "a")));
  const unlisted = Buffer.concat(Array<Uint8Array>(83_884).fill(one.subarray(0, 31)));
  const before = process.cpuUsage();
  expect(await refusal(many)).toBe("too_many_parts");
  expect(await refusal(unlisted)).toBe("broken");
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1e6, "seconds of the processor").toBeLessThan(0.5);
});

test("a zip that writes its sizes in 64 bits, as Apache POI does, is read", async () => {
  const entry = entryOf(whole, SHEET);
  const extra = Buffer.alloc(20);
  extra.writeUInt16LE(1, 0);
  extra.writeUInt16LE(16, 2);
  extra.writeBigUInt64LE(BigInt(entry.readUInt32LE(24)), 4);
  extra.writeBigUInt64LE(BigInt(entry.readUInt32LE(20)), 12);
  const wide = Buffer.concat([entry, extra]);
  wide.fill(0xff, 20, 28);
  wide.writeUInt16LE(extra.length, 30);
  const at = Buffer.from(whole).indexOf(entry);
  const rest = Buffer.from(whole).subarray(at + entry.length);
  expect(short(await readSheet(Buffer.concat([whole.subarray(0, at), wide, rest])))).toEqual([["number", "1"]]);
});

test("a file that grows to 200 MB is stopped at 16 MiB, whatever size it names", async () => {
  const bomb = zipSync({
    ...Object.fromEntries(Object.entries(partsOf({})).map(([name, text]) => [name, strToU8(text)])),
    "xl/worksheets/sheet1.xml": new Uint8Array(200_000_000),
  });
  expect(bomb.length).toBeLessThan(250_000);
  const before = process.memoryUsage().arrayBuffers;
  expect(await refusal(bomb)).toBe("too_large");
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64_000_000);
  const lying = Buffer.from(bomb);
  entryOf(lying, SHEET).writeUInt32LE(100, 24);
  expect(await refusal(lying)).toBe("broken");
});

test("parts that nobody needs are not inflated", async () => {
  const parts = partsOf({ rows: "<row><c><v>1</v></c></row>" });
  const file = zipSync({
    ...Object.fromEntries(Object.entries(parts).map(([name, text]) => [name, strToU8(text)])),
    "xl/media/image1.png": new Uint8Array(30_000_000),
    "xl/vbaProject.bin": new Uint8Array(30_000_000),
  });
  expect(short(await readSheet(file))).toEqual([["number", "1"]]);
  const pictures = (count: number) =>
    zipOf({ ...parts, ...Object.fromEntries(Array.from({ length: count }, (_, i) => [`xl/media/${i}.png`, ""])) });
  expect(short(await readSheet(pictures(MAX_PARTS - 5)))).toEqual([["number", "1"]]);
  expect(await refusal(pictures(MAX_PARTS - 4))).toBe("too_many_parts");
});

test("a sheet has at most 200,000 cells, of at most 32,767 characters; one that says nothing is none", async () => {
  const far = '<row><c r="XFD1"><v>1</v></c></row>';
  expect((await readSheet(workbookOf({ rows: far.repeat(12) }))).rows).toHaveLength(12);
  expect(await refusal(workbookOf({ rows: far.repeat(13) }))).toBe("too_many_cells");
  expect(
    (await readSheet(workbookOf({ rows: '<row><c r="A1"><v>1</v></c><c r="XFD1" s="0"/></row>'.repeat(13) }))).rows,
  ).toHaveLength(13);
  const back = `<row><c r="XFD1"><v>1</v></c>${'<c r="A1"><v>1</v></c>'.repeat(9)}</row>`;
  expect(await refusal(workbookOf({ rows: back.repeat(13) }))).toBe("too_many_cells");
  const text = (length: number) => `<row><c t="str"><v>${"x".repeat(length)}</v></c></row>`;
  expect((await first(text(32_767)))?.text).toHaveLength(32_767);
  expect(await refusal(workbookOf({ rows: text(32_768) }))).toBe("cell_too_long");
});

test("rows beyond 5,000 are counted and not kept", async () => {
  const rows = (count: number) => workbookOf({ rows: "<row><c><v>1</v></c></row>".repeat(count) });
  expect(await readSheet(rows(MAX_ROWS + 1))).toMatchObject({ more: 0, rows: { length: MAX_ROWS + 1 } });
  expect(await readSheet(rows(MAX_ROWS + 301))).toMatchObject({ more: 300, rows: { length: MAX_ROWS + 1 } });
});

test("a workbook whose XML has a document type is refused, so no entity is defined", async () => {
  for (const type of ["<!DOCTYPE x>", `<!DOCTYPE x [<!ENTITY a "${"ha".repeat(1000)}">]>`, '<!ENTITY a "ha">']) {
    const sheet = `${type}<worksheet><sheetData><row><c t="str"><v>&a;</v></c></row></sheetData></worksheet>`;
    expect(await refusal(zipOf({ ...partsOf({}), [SHEET]: sheet }))).toBe("declares");
  }
});

test("a tag has at most 64 attributes, and millions cost nothing", async () => {
  const row = (count: number) =>
    workbookOf({
      rows: `<row ${Array.from({ length: count }, (_, n) => `a${n}=">"`).join(" ")}><c><v>1</v></c></row>`,
    });
  expect(short(await readSheet(row(64)))).toEqual([["number", "1"]]);
  expect(await refusal(row(65))).toBe("broken");
  const most = workbookOf({ rows: `<row ${'a="" '.repeat(3_000_000)}/>` });
  const before = process.cpuUsage();
  expect(await refusal(most)).toBe("broken");
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1e6, "seconds of the processor").toBeLessThan(0.5);
});

/** 200,000 cells below the headings. */
const large = workbookOf({
  rows: `<row>${["paal", "start", "eind", "kWh"].map((text) => `<c t="str"><v>${text}</v></c>`).join("")}</row>${`<row>${"<c><v>1</v></c>".repeat(39)}</row>`.repeat(5000)}`,
});
const largeCsv = Buffer.from(`paal;start;eind;kWh\n${"1;1-3-2026 0:00;1-3-2026 1:00;1,5\n".repeat(5000)}`);

test.each([
  ["a workbook", large],
  ["a CSV file", largeCsv],
])("while %s is read, others have their turns", async (_what, file) => {
  let turns = 0;
  const count = () => {
    turns += 1;
    next = setImmediate(count);
  };
  let next = setImmediate(count);
  await readUpload(file).catch(() => {});
  clearImmediate(next);
  expect(turns).toBeGreaterThan(1);
});

test.each([
  ["a workbook", large],
  ["a CSV file", largeCsv],
])("%s that takes more than five seconds to read is refused", async (_what, file) => {
  let now = 0;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => (now += 100));
  const fault = await readUpload(file).catch((error) => error);
  clock.mockRestore();
  expect(fault).toMatchObject({
    code: "unreadable_file",
    fields: { detail: "This file takes more than 5 seconds to read. Send fewer rows or columns." },
  });
});

test("a workbook without any row is read as one", async () => {
  expect(await readSheet(workbookOf({}))).toMatchObject({ rows: [], more: 0 });
});

test("a long text in every cell, of signs that stand for 18, costs no more than a short one", async () => {
  const headings = [
    "paal",
    "start",
    "eind",
    "kWh",
    "meterstand begin",
    "meterstand eind",
    "laadtype",
    "land",
    "sessie",
  ];
  const texts = [...headings, "\ufdfa".repeat(32_767)];
  const row = (place: (column: number) => number) =>
    `<row>${headings.map((_, column) => `<c t="s"><v>${place(column)}</v></c>`).join("")}</row>`;
  const file = workbookOf({
    strings: texts.map((text) => `<si><t>${text}</t></si>`).join(""),
    rows: row((column) => column) + row(() => headings.length).repeat(2000),
  });
  expect(file.length).toBeLessThan(8000);
  const before = process.cpuUsage();
  const { items, rejected } = await readUpload(file);
  const { user, system } = process.cpuUsage(before);
  expect([items.length, rejected.length]).toEqual([0, 2000]);
  // without a limit of length it is more than a minute
  expect((user + system) / 1e6, "seconds of the processor").toBeLessThan(10);
});
