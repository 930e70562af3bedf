import fc from "fast-check";
import { expect, test } from "vitest";
import { readNumber } from "#shared/values/typed_number.ts";

test.each([
  // Dutch and English mean the same on every page
  ["3.200,5", [3200.5]],
  ["3,200.5", [3200.5]],
  ["3200,5", [3200.5]],
  ["3200.5", [3200.5]],
  ["3200,50", [3200.5]],
  ["3.200,50", [3200.5]],
  ["1.234.567", [1_234_567]],
  ["1,234,567", [1_234_567]],
  ["1.234.567,89", [1_234_567.89]],
  ["1,234.567", [1234.567]],
  ["2500", [2500]],
  ["02500", [2500]],
  ["25", [25]],
  // spaces: a no-break one, a narrow one, an ideographic one
  ["3 200", [3200]],
  [" 3\u00a0200,5 ", [3200.5]],
  ["3\u202f200.5", [3200.5]],
  ["1 234 567", [1_234_567]],
  ["1 234,567", [1234.567]],
  // a group of three or three decimals: both, to be asked
  ["1.234", [1234, 1.234]],
  ["1,234", [1234, 1.234]],
  ["4.000", [4000, 4]],
  ["500.000", [500_000, 500]],
  // no group begins with a zero, has four digits before it, or other than three in it
  ["0.500", [0.5]],
  ["3200,500", [3200.5]],
  ["1.2340", [1.234]],
  ["3.20", [3.2]],
  // the unit
  ["2500 kWh", [2500]],
  ["2500kwh", [2500]],
  ["3.200,5 KWH", [3200.5]],
  ["1.234 kWh", [1234, 1.234]],
  ["2500 MWh", []],
  ["kWh", []],
  // full-width characters
  ["２５００", [2500]],
  ["３．２００，５", [3200.5]],
  ["３　２００ｋＷｈ", [3200]],
  // not a number that we read
  ["", []],
  ["   ", []],
  ["vier", []],
  ["-2500", []],
  ["−2500", []],
  ["2500-", []],
  ["+2500", []],
  ["25e3", []],
  ["0x10", []],
  ["Infinity", []],
  ["10²", []],
  ["٣٢٠٠", []],
  ["3 20", []],
  ["32 00", []],
  ["1.23.4", []],
  ["12,34,567", []],
  ["3.200.5", []],
  ["3200.000,5", []],
  ["3,200,5", []],
  ["1.234 567", []],
  ["3200,", []],
  [",5", []],
  ["2500,-", []],
  ["± 2500", []],
  ["2500 2500", []],
])("contract §2 %j may mean %j", (typed, meant) => expect(readNumber(typed, "kWh")).toEqual(meant));

test("contract §2 a huge number is huge, and long text takes no time", () => {
  expect(readNumber("9".repeat(400), "kWh")).toEqual([Number.POSITIVE_INFINITY]);
  expect(readNumber(`${".123".repeat(50_000)}x`, "kWh")).toEqual([]);
  expect(readNumber(`1${".123".repeat(50_000)}x`, "kWh")).toEqual([]);
});

test("contract §2 what either language writes is read as it was meant, alone or as one of two", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 10_000_000_000 }).map((thousandths) => thousandths / 1000),
      fc.constantFrom("nl", "en"),
      fc.boolean(),
      (value, locale, useGrouping) => {
        const typed = new Intl.NumberFormat(locale, { useGrouping, maximumFractionDigits: 3 }).format(value);
        expect(readNumber(typed, "kWh")).toContain(value);
      },
    ),
  );
});
