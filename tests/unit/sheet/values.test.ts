// What cells mean: energy, months and moments (design: files).

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "#local/checkout.ts";
import { fieldsOf } from "#shared/domain/charging_in/file/columns.ts";
import { HEADINGS } from "#shared/domain/charging_in/file/headings.ts";
import { type Decimal, decideEnergy, readEnergy, unitOf } from "#shared/domain/sheet/decimals.ts";
import type { Cell } from "#shared/domain/sheet/model.ts";
import { readMonth } from "#shared/domain/sheet/months.ts";
import { readMoment } from "#shared/domain/sheet/times.ts";
import { withTables } from "../../../packages/docs/src/tables.ts";

const text = (text: string): Cell => ({ kind: "text", text });
const number = (value: number): Cell => ({ kind: "number", text: String(value), value });
const date = (iso: string, shows: "month" | "day" | "time" | "moment"): Cell => ({
  kind: "date",
  text: iso,
  wall: Date.parse(`${iso}Z`),
  shows,
});
const others: Cell[] = [
  { kind: "empty", text: "" },
  { kind: "boolean", text: "TRUE", value: true },
  { kind: "error", text: "#N/A" },
];

/** A column's cells in watt hours. */
function column(cells: (string | number)[], header = "kWh", sent: Decimal | null = null) {
  const typed = cells.map((cell) => (typeof cell === "number" ? number(cell) : text(cell)));
  const decided = decideEnergy(header, typed, sent);
  return { ...decided, wh: typed.map((cell) => readEnergy(cell, decided)) };
}

test.each<[what: string, cells: (string | number)[], wh: (number | null)[]]>([
  ["commas only", ["12,5", "0,5", "1200"], [12_500, 500, 1_200_000]],
  ["points only", ["12.5", "0.5", "1200"], [12_500, 500, 1_200_000]],
  ["points in groups and commas", ["1.234,5", "1.234", "2.500"], [1_234_500, 1_234_000, 2_500_000]],
  ["commas in groups and points", ["1,234.5", "1,234", "2,500"], [1_234_500, 1_234_000, 2_500_000]],
  ["groups alone, which leave the other sign for decimals", ["1.234.567", "1.234"], [1_234_567_000, 1_234_000]],
  ["three decimals beside others", ["1,234", "12,5"], [1_234, 12_500]],
  ["three decimals that cannot be a group", ["0,500", "1,234"], [500, 1_234]],
  ["four digits before three decimals", ["1234.567", "1.234"], [1_234_567, 1_234]],
  [
    "spaces and apostrophes in groups",
    ["1 234,5", "1\u00a0234,5", "1'234,5", "1’234"],
    [1_234_500, 1_234_500, 1_234_500, 1_234_000],
  ],
  ["numbers of the spreadsheet beside text", [1234.5, "12,5"], [1_234_500, 12_500]],
  ["whole numbers only", ["1234", 5], [1_234_000, 5_000]],
  ["full-width digits", ["１２,５"], [12_500]],
  ["no number at all", ["veel", "-5", "+5", "1e3", "1,2,3", "1.23.456", "12,", ",5", "12 5"], Array(9).fill(null)],
])("a column of %s is read", (_what, cells, wh) => {
  expect(column(cells)).toMatchObject({ ambiguous: null, wh });
});

test.each([
  [["1.234", "2.500"], 0],
  [["12", "1.234"], 1],
  [["7", "8", "2,500", "1.234"], 2],
  [[1234.5, "1.234"], 1],
])("a column of %j says nothing about its sign, and names its first such row", (cells, ambiguous) => {
  expect(column(cells as string[])).toMatchObject({ decimal: null, ambiguous });
  expect(column(cells as string[]).wh[ambiguous as number]).toBeNull();
});

test("the sign that the sender names decides, and a row that contradicts it is none", () => {
  expect(column(["1.234", "2.500"], "kWh", ".")).toMatchObject({ ambiguous: null, wh: [1_234, 2_500] });
  expect(column(["1.234", "2.500"], "kWh", ",")).toMatchObject({ ambiguous: null, wh: [1_234_000, 2_500_000] });
  expect(column(["12,5", "1.234"], "kWh", ".").wh).toEqual([null, 1_234]);
});

test("where some rows use one sign and some the other, each with a sign is none", () => {
  expect(column(["12,5", "12.5", "1.234", "7", 3])).toEqual({
    decimal: "mixed",
    ambiguous: null,
    unit: "kWh",
    named: [],
    isOther: false,
    wh: [null, null, null, 7_000, 3_000],
  });
});

test.each<[header: string, cells: (string | number)[], wh: (number | null)[]]>([
  ["energie", ["2,5", 2], [2_500, 2_000]],
  ["Energie (Wh)", ["2500", 2500.4], [2_500, 2_500]],
  ["MWh", ["1,5"], [1_500_000]],
  ["energy_kwh", ["2,5 kWh", "2,5"], [2_500, 2_500]],
  ["energie", ["2500 Wh", "100Wh"], [2_500, 100]],
  ["energie", ["2 kWh", "3"], [2_000, 3_000]],
  ["energie", ["2 kWh", "2000 Wh"], [null, null]],
  ["energie", ["2000", "2000 Wh", 5], [null, null, null]],
  ["kWh", ["2", "2000 Wh"], [null, null]],
])("a column %s of %j has the unit that header and cells name", (header, cells, wh) => {
  expect(column(cells, header).wh).toEqual(wh);
});

test.each([
  [0.5005, 501],
  [0.0005, 1],
  [0.00049, 0],
  [1.0005, 1_001],
  [1e-7, 0],
  [2.675, 2_675],
  [123456789.1235, 123_456_789_124],
  [1e21, null],
  [-1, null],
])("%d kWh are %d Wh, reckoned in decimals", (value, wh) => {
  expect(readEnergy(number(value), { decimal: null, unit: "kWh" })).toBe(wh);
  if (wh !== null && value > 1e-6) expect(readEnergy(text(String(value)), { decimal: ".", unit: "kWh" })).toBe(wh);
});

test("a cell of another kind is no energy", () => {
  for (const cell of [...others, date("2026-03-01", "day")])
    expect(readEnergy(cell, { decimal: null, unit: "kWh" })).toBeNull();
});

test.each([
  ["Energie (kWh)", "kWh", "Energie"],
  ["kwh", "kWh", ""],
  ["MWH totaal", "MWh", "totaal"],
  ["meterstand begin [Wh]", "Wh", "meterstand begin"],
  ["peakWh", "Wh", "peak"],
  ["networkWh", "Wh", "network"],
  ["totaalVerbruikWh", "Wh", "totaalVerbruik"],
  ["peakkWh", "kWh", "peak"],
  ["energykWh", "kWh", "energy"],
  ["kwhteller", null, "kwhteller"],
])("the unit of the header %s is %s", (header, unit, rest) => {
  expect(unitOf(header)).toEqual({ unit, rest });
});

test.each([
  ["2026-03", "2026-03"],
  ["2026-3", "2026-03"],
  ["2026/03", "2026-03"],
  ["03-2026", "2026-03"],
  ["3/2026", "2026-03"],
  ["mrt 2026", "2026-03"],
  ["Mrt. 2026", "2026-03"],
  ["maart-26", "2026-03"],
  ["maart 2026", "2026-03"],
  ["march 2026", "2026-03"],
  ["Mar-26", "2026-03"],
  ["mei '26", "2026-05"],
  ["may 2026", "2026-05"],
  ["okt 2026", "2026-10"],
  ["Oct 2026", "2026-10"],
  ["augustus 2026", "2026-08"],
  ["sept 2026", "2026-09"],
  ["2026-03-01", "2026-03"],
  ["01-03-2026", "2026-03"],
  ["1/3/2026", "2026-03"],
  ["1 maart 2026", "2026-03"],
  ["03-01-2026", null],
  ["2026-03-15", null],
  ["15-03-2026", null],
  ["13-2026", null],
  ["0-2026", null],
  ["2026", null],
  ["26-03", null],
  ["202603", null],
  ["maa 2026", null],
  ["mars 2026", null],
  ["janvier 2026", null],
  ["junk 2026", null],
  ["kwartaal 1 2026", null],
  ["maart", null],
  ["0000-01", null],
  ["9999-12", null],
])("the text %s is the month %s", (typed, month) => {
  expect(readMonth(text(typed))).toBe(month);
});

test("every month has its names in Dutch and English", () => {
  for (const locale of ["nl", "en"])
    for (const style of ["long", "short"] as const)
      for (let month = 1; month <= 12; month++) {
        const name = new Date(Date.UTC(2026, month - 1, 1)).toLocaleDateString(locale, {
          month: style,
          timeZone: "UTC",
        });
        expect([name, readMonth(text(`${name} 2026`))]).toEqual([name, `2026-${String(month).padStart(2, "0")}`]);
      }
});

test("a date cell is a month where it is the first of one, or shown without a day", () => {
  expect(readMonth(date("2026-03-01T00:00", "day"))).toBe("2026-03");
  expect(readMonth(date("2026-03-01T00:00", "moment"))).toBe("2026-03");
  expect(readMonth(date("2026-03-15T00:00", "month"))).toBe("2026-03");
  expect(readMonth(date("2026-03-15T00:00", "day"))).toBeNull();
  expect(readMonth(date("1899-12-31T10:00", "time"))).toBeNull();
  for (const cell of [...others, number(202603), number(46082)]) expect(readMonth(cell)).toBeNull();
});

const moment = (cell: Cell, notBefore?: string) => {
  const read = readMoment(cell, notBefore === undefined ? undefined : Date.parse(notBefore));
  return read === null ? null : new Date(read).toISOString().replace(".000Z", "Z");
};

test.each([
  ["2026-03-01 10:00", "2026-03-01T09:00:00Z"],
  ["2026-07-01 10:00:05", "2026-07-01T08:00:05Z"],
  ["2026-07-01T10:00", "2026-07-01T08:00:00Z"],
  ["2026-07-01T10:00:00.123", "2026-07-01T08:00:00Z"],
  ["2026-07-01T10:00:00Z", "2026-07-01T10:00:00Z"],
  ["2026-07-01T10:00:00+01:00", "2026-07-01T09:00:00Z"],
  ["2026-07-01 10:00 +0530", "2026-07-01T04:30:00Z"],
  ["2026-07-01T10:00:00-05:00", "2026-07-01T15:00:00Z"],
  ["01-07-2026 10:00", "2026-07-01T08:00:00Z"],
  ["1-7-2026 9:05", "2026-07-01T07:05:00Z"],
  ["01/07/2026 10:00:30", "2026-07-01T08:00:30Z"],
  ["01.07.2026 10:00", "2026-07-01T08:00:00Z"],
  ["01-07-2026, 10:00", "2026-07-01T08:00:00Z"],
  ["02/03/2026 10:00", "2026-03-02T09:00:00Z"],
  ["29-02-2028 00:00", "2028-02-28T23:00:00Z"],
  ["31-12-2026 23:59:59", "2026-12-31T22:59:59Z"],
  ["07/13/2026 10:00", null],
  ["31-02-2026 10:00", null],
  ["29-02-2026 10:00", null],
  ["01-07-2026", null],
  ["2026-07-01", null],
  ["10:00", null],
  ["01-07-26 10:00", null],
  ["01-07/2026 10:00", null],
  ["01-07-2026 24:00", null],
  ["01-07-2026 10:60", null],
  ["01-07-2026 10", null],
  ["01-07-2026 10:00 PM", "2026-07-01T20:00:00Z"],
  ["01/07/2026 12:05 a.m.", "2026-06-30T22:05:00Z"],
  ["01-07-2026 13:00 PM", null],
  ["2026/07/01 10:00", "2026-07-01T08:00:00Z"],
  ["2026-07-01 10:00 UTC", "2026-07-01T10:00:00Z"],
  ["2026-07-01 10:00:00+00", "2026-07-01T10:00:00Z"],
  ["2026-07-01T10:00+02:00[Europe/Amsterdam]", "2026-07-01T08:00:00Z"],
  ["2026-07-01 10:00 Europe/London", "2026-07-01T09:00:00Z"],
  ["2026-07-01 10:00 Mars/Olympus", null],
  ["1 juli 2026 10:00", "2026-07-01T08:00:00Z"],
  ["Jul 1, 2026 10:00 AM", "2026-07-01T08:00:00Z"],
  ["1772359200", null],
  ["gisteren", null],
])("the text %s is the moment %s", (typed, is) => {
  expect(moment(text(typed))).toBe(is);
});

test("a date cell is a moment of Amsterdam where it has a time", () => {
  expect(moment(date("2026-07-01T10:00", "moment"))).toBe("2026-07-01T08:00:00Z");
  expect(moment(date("2026-07-01T00:00", "moment"))).toBe("2026-06-30T22:00:00Z");
  expect(moment(date("2026-07-01T10:00", "day"))).toBe("2026-07-01T08:00:00Z");
  expect(moment(date("2026-07-01T00:00", "day"))).toBeNull();
  expect(moment(date("1899-12-31T10:00", "time"))).toBeNull();
  for (const cell of [...others, number(46082.5)]) expect(moment(cell)).toBeNull();
});

test("the hour that March skips has no moment, the hours beside it do", () => {
  expect(moment(text("29-03-2026 01:59:59"))).toBe("2026-03-29T00:59:59Z");
  expect(moment(text("29-03-2026 02:00"))).toBeNull();
  expect(moment(text("29-03-2026 02:59"))).toBeNull();
  expect(moment(date("2026-03-29T02:30", "moment"))).toBeNull();
  expect(moment(text("29-03-2026 03:00"))).toBe("2026-03-29T01:00:00Z");
});

test("of the hour that October has twice it is the first, for an end before its start the second", () => {
  expect(moment(text("25-10-2026 01:59"))).toBe("2026-10-24T23:59:00Z");
  expect(moment(text("25-10-2026 02:30"))).toBe("2026-10-25T00:30:00Z");
  expect(moment(text("25-10-2026 02:30"), "2026-10-25T00:10:00Z")).toBe("2026-10-25T00:30:00Z");
  expect(moment(text("25-10-2026 02:10"), "2026-10-25T00:50:00Z")).toBe("2026-10-25T01:10:00Z");
  expect(moment(text("25-10-2026 02:10"), "2026-10-25T02:00:00Z"), "an end before its start stays one").toBe(
    "2026-10-25T00:10:00Z",
  );
  expect(moment(text("25-10-2026 03:00"))).toBe("2026-10-25T02:00:00Z");
});

test("§4.1 the guide on sessions lists each heading that a file may have", () => {
  const source = readFileSync(join(ROOT, "docs/guides/sessions.md"), "utf8");
  const guide = withTables(source, { paths: {}, components: { responses: {} } });
  const rows = Object.entries(HEADINGS).flatMap(([kind, fields]) =>
    Object.entries(fields).map(
      ([field, names]) =>
        `| ${field === "kwh" ? "both" : kind} | \`${field}\` | ${names
          .split(" ")
          .map((name) => `\`${name}\``)
          .join(", ")} |`,
    ),
  );
  expect(rows.filter((row) => !guide.includes(row))).toEqual([]);
});

test.each([
  "Serienummer laadpaal=serial_number",
  "Charge point=external_ref",
  "Laadpunt ID=external_ref",
  "Station=external_ref",
  "Datum start=started_at",
  "Start datum/tijd=started_at",
  "Start laadsessie=started_at",
  "Tijdstip start=started_at",
  "Datum/tijd eind=ended_at",
  "Naam laadpunt=external_ref",
  "Stop charging=ended_at",
  "Total energy=kwh",
  "Volume (kWh)=kwh",
  "Hoeveelheid kWh=kwh",
])("§4.1 the heading and its field: %s", (pair) => {
  const [heading = "", field] = pair.split("=");
  expect(fieldsOf("sessions", [heading])).toEqual([field]);
});
