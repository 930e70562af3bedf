// The files of the pages, as programs of any language open them.

import fc from "fast-check";
import { expect, test } from "vitest";
import { toCsv } from "../../supabase/functions/pages/kit/csv.ts";
import { FORMULAS, formulasIn } from "../harness/csv_cells.ts";

test("contract §1 attack: a name that a spreadsheet would compute, whichever delimiter splits the file", () => {
  expect(formulasIn("a,=1"), "the check finds one").not.toEqual([]);
  const text = fc.oneof(
    fc.constantFrom(...FORMULAS),
    fc.string({ unit: fc.constantFrom(..."=+-@,;\t\r\n\"' a1＝"), maxLength: 12 }),
  );
  fc.assert(
    fc.property(
      fc.constantFrom("nl" as const, "en" as const),
      fc.array(fc.array(text, { minLength: 1, maxLength: 3 })),
      (locale, rows) => {
        expect(formulasIn(toCsv(locale, rows))).toEqual([]);
      },
    ),
    { numRuns: 500 },
  );
  expect(toCsv("nl", [["Jan;=1+1;x", -12.5, null, ""]])).toBe(`\ufeff"Jan;'=1+1;x";-12,5;;\r\n`);
});

test("§4.2 euro have two decimals, as in the files of the API", () => {
  const row = [{ euro: 8.8 }, { euro: 0 }, { euro: null }, 8.8];
  expect(toCsv("nl", [row])).toBe("\ufeff8,80;0,00;;8,8\r\n");
  expect(toCsv("en", [row])).toBe("\ufeff8.80,0.00,,8.8\r\n");
});
