// CSV as spreadsheets write it, in every encoding that they use (design: files).

import { expect, test } from "vitest";
import { readUpload } from "#shared/domain/charging_in/file/read_upload.ts";
import { MOST_CELLS } from "#shared/domain/sheet/csv.ts";
import { MAX_ROWS, SheetError } from "#shared/domain/sheet/model.ts";
import { readSheet } from "#shared/domain/sheet/read_sheet.ts";

const bytes = (text: string, encoding: BufferEncoding = "utf8") => new Uint8Array(Buffer.from(text, encoding));
const big = (text: string) => new Uint8Array(Buffer.from(text, "utf16le").swap16());
const isColumn = (header: string) => ["email", "naam"].includes(header.trim().toLowerCase());
const texts = async (file: Uint8Array) =>
  (await readSheet(file, isColumn)).rows.map(({ cells }) => cells.map(({ text }) => text));
async function refusal(file: Uint8Array): Promise<string> {
  try {
    await readSheet(file, isColumn);
  } catch (error) {
    if (error instanceof SheetError) return error.wrong;
    throw error;
  }
  return "none";
}

const rows = [
  ["naam", "email"],
  ["Zoë", "z@voorbeeld.nl"],
];
test.each<[what: string, file: Uint8Array, encoding: string]>([
  ["UTF-8", bytes("naam;email\r\nZoë;z@voorbeeld.nl\r\n"), "utf-8"],
  ["UTF-8 with a mark", bytes("\ufeffnaam;email\r\nZoë;z@voorbeeld.nl\r\n"), "utf-8"],
  ["UTF-16 with a mark and tabs", bytes("\ufeffnaam\temail\r\nZoë\tz@voorbeeld.nl\r\n", "utf16le"), "utf-16"],
  ["UTF-16 with a mark and semicolons", bytes("\ufeffnaam;email\nZoë;z@voorbeeld.nl", "utf16le"), "utf-16"],
  ["UTF-16 that begins with its high byte", big("\ufeffnaam\temail\nZoë\tz@voorbeeld.nl"), "utf-16"],
  ["Windows-1252", bytes("naam;email\r\nZoë;z@voorbeeld.nl\r\n", "latin1"), "windows-1252"],
])("a file in %s is read, and its encoding named", async (_what, file, encoding) => {
  expect(await texts(file)).toEqual(rows);
  expect(await readSheet(file)).toMatchObject({ kind: "csv", encoding, more: 0 });
});

test("Windows-1252 has quotes and the euro where Latin-1 has controls", async () => {
  const file = new Uint8Array([...bytes("naam\n"), 0x80, 0x91, 0x92, 0x8a, 0xe9]);
  expect(await texts(file)).toEqual([["naam"], ["€‘’Šé"]]);
});

test("a byte that is no UTF-8 after a mark spoils its own row only", async () => {
  const file = new Uint8Array([...bytes("\ufeffnaam;email\nZo"), 0xeb, ...bytes(";a\nZoë;b")]);
  expect(await texts(file)).toEqual([
    ["naam", "email"],
    ["Zo\ufffd", "a"],
    ["Zoë", "b"],
  ]);
});

test.each([
  [
    "commas in the names of a semicolon file",
    "naam;email\nVries, Jan de, Dr.;a@b.nl",
    [
      ["naam", "email"],
      ["Vries, Jan de, Dr.", "a@b.nl"],
    ],
  ],
  [
    "a comma in a header of a semicolon file",
    "naam, voluit;email\nJan;a@b.nl",
    [
      ["naam, voluit", "email"],
      ["Jan", "a@b.nl"],
    ],
  ],
  [
    "headers that nobody knows",
    "Kolom 1;Kolom 2;Kolom, 3\n1;2;3",
    [
      ["Kolom 1", "Kolom 2", "Kolom, 3"],
      ["1", "2", "3"],
    ],
  ],
  [
    "a sep line",
    "sep=;\nnaam;email\nJan;a@b.nl",
    [
      ["naam", "email"],
      ["Jan", "a@b.nl"],
    ],
  ],
  [
    "a sep line of another delimiter than most",
    "sep=,\nemail,a;b;c\nx,y",
    [
      ["email", "a;b;c"],
      ["x", "y"],
    ],
  ],
  [
    "quotes with delimiters, quotes and line ends in them",
    'naam;email\n"Jan; ""de"" Vries\nlang";a',
    [
      ["naam", "email"],
      ['Jan; "de" Vries\nlang', "a"],
    ],
  ],
  [
    "spaces after a quote, quotes within a value, and a delimiter at its end",
    'naam;email\n"Jan"  ;5" pijp\n"";"b"\nc;',
    [["naam", "email"], ["Jan", '5" pijp'], ["", "b"], ["c"]],
  ],
  ["one column", "email\na@b.nl", [["email"], ["a@b.nl"]]],
  ["rows longer than the header, and empty ends", "email\na@b.nl;;x;;", [["email"], ["a@b.nl", "", "x"]]],
])("a file with %s is read as it is meant", async (_what, csv, read) => {
  expect(await texts(bytes(csv))).toEqual(read);
});

test("blank lines are left out, and each row keeps the number that the spreadsheet shows", async () => {
  const sheet = await readSheet(bytes('\n;;\nnaam;email\n\n;\n"a\nb";c\n\nd;e\n'));
  expect(sheet.rows.map(({ sheet_row }) => sheet_row)).toEqual([3, 6, 8]);
});

test("every value is text, whatever it looks like; a value of spaces is empty", async () => {
  const sheet = await readSheet(bytes("a;b;c;d;e;f\n1.234; ;=1+1;01-03-2026;'@x;'s Hertog"));
  expect(sheet.rows[1]?.cells).toEqual([
    { kind: "text", text: "1.234" },
    { kind: "empty", text: "" },
    { kind: "text", text: "=1+1" },
    { kind: "text", text: "01-03-2026" },
    // as we write what a spreadsheet would take for a formula
    { kind: "text", text: "@x" },
    { kind: "text", text: "'s Hertog" },
  ]);
});

test.each([
  ["tabs in UTF-8", bytes("naam\temail\nJan\ta@b.nl"), "tabs"],
  ["tabs in Windows-1252", bytes("naam\temail\nZoë\ta@b.nl", "latin1"), "tabs"],
  ["a sep line that names a tab", bytes("sep=\t\nnaam\temail\nJan\ta@b.nl"), "tabs"],
  ["a quote that is not closed", bytes('naam;email\n"Jan;a@b.nl'), "open_quote"],
  ["text after a closing quote", bytes('naam;email\n"Jan" de;a@b.nl'), "open_quote"],
  ["UTF-16 without a mark", bytes("naam;email\nJan;a@b.nl", "utf16le"), "other"],
  ["a PDF without a zero", bytes("%PDF-1.7\n1 0 obj"), "other"],
  ["JSON", bytes(' {"sessions": []}'), "other"],
  ["bytes of a picture", new Uint8Array([0xff, 0xd8, 0xff, 0xe0, 0, 16]), "other"],
])("a file with %s is refused", async (_what, file, wrong) => {
  expect(await refusal(file)).toBe(wrong);
});

test("a million quotes that nothing follows, before two million spaces, cost no more than other text", async () => {
  const file = bytes(`naam;email\n"${'x"'.repeat(1_000_000)}${" ".repeat(2_000_000)};`);
  const before = process.cpuUsage();
  expect(await refusal(file)).toBe("open_quote");
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1e6, "seconds of the processor").toBeLessThan(1);
});

test("an empty file has no rows", async () => {
  for (const file of [bytes(""), bytes(" \n;;\n"), bytes("\ufeff")])
    expect(await readSheet(file)).toMatchObject({ rows: [], more: 0 });
});

test("rows beyond 5,000 are counted and not kept", async () => {
  const sheet = await readSheet(bytes(`email\n${"a\n".repeat(MAX_ROWS + 40)}`));
  expect([sheet.rows.length, sheet.more]).toEqual([MAX_ROWS + 1, 40]);
});

test("of a row of 100,000 cells, 20,000 are kept", async () => {
  const [header, wide] = (await readSheet(bytes(`naam;email\n${"a;".repeat(100_000)}`))).rows;
  expect([header?.cells.length, wide?.cells.length]).toEqual([2, MOST_CELLS]);
});

test("§4.1 attack: while a file of 5,000 rows is read, the process answers others", async () => {
  const rows = Array.from({ length: 5_000 }, (_, n) => `S-${n};PAAL-1;2026-03-10 18:00;2026-03-10 19:00;7,5`);
  const file = new TextEncoder().encode(["sessie;laadpaal;start;eind;kWh", ...rows].join("\n"));
  const waited: number[] = [];
  let isRead = false;
  const others = async () => {
    while (!isRead) {
      const asked = performance.now();
      await new Promise((resolve) => setTimeout(resolve));
      waited.push(performance.now() - asked);
    }
  };
  const all = others();
  expect((await readUpload(file)).items).toHaveLength(5_000);
  isRead = true;
  await all;
  // a slice is 10 ms of work; read in one go, nobody was answered before the end
  expect(waited.length).toBeGreaterThan(4);
});
