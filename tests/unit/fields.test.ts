import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type * as z from "zod";
import {
  eanCode,
  email,
  filter,
  houseNumber,
  iban,
  limit,
  lineOf,
  linesOf,
  offset,
  orNull,
  postalCode,
  serialNumber,
  signatoryName,
  trimmedTo,
  typedEmail,
  uuid,
} from "#shared/values/fields.ts";
import { loadNumberingPlans, phone } from "#shared/values/phone.ts";
import { cut, houseNumberAddition, storable } from "#shared/values/text.ts";
import { anyText } from "../harness/any_text.ts";

/** The value as a handler sees it, or the word refused. */
function read(schema: z.ZodType, value: unknown): unknown {
  const result = schema.safeParse(value);
  return result.success ? result.data : "refused";
}

await loadNumberingPlans();

/** What is sent, and what a handler sees of it. */
type Case = [sent: unknown, seen: unknown];
const reads =
  (schema: z.ZodType) =>
  (...[sent, seen]: Case) =>
    expect(read(schema, sent)).toEqual(seen);

const NUL = "\u0000";
const HALF = "\ud83d";

describe("§8 limit", () => {
  const table = (fallback: number): Case[] => [
    [undefined, fallback],
    ["", fallback],
    ["0", fallback],
    ["-0", fallback],
    ["abc", fallback],
    ["10abc", fallback],
    ["NaN", fallback],
    ["null", fallback],
    ["1", 1],
    ["7", 7],
    [" 7 ", 7],
    ["7.9", 7],
    ["200", 200],
    ["201", 200],
    ["99999999999999999999999", 200],
    ["Infinity", 200],
    ["-1", 1],
    ["-99999", 1],
    ["-Infinity", 1],
  ];
  test.each<Case>(table(50))("§8 limit of accounts and positions: %j is read as %j", reads(limit(50)));
  test.each<Case>(table(100))("§8 limit of the catalog: %j is read as %j", reads(limit(100)));
});

test.each<Case>([
  [undefined, 0],
  ["", 0],
  ["abc", 0],
  ["-1", 0],
  ["-Infinity", 0],
  ["3", 3],
  ["3.9", 3],
  ["1e400", Number.MAX_SAFE_INTEGER],
  ["99999999999999999999999", Number.MAX_SAFE_INTEGER],
])("§8 offset: %j is read as %j", reads(offset()));

test("§8 any query string at all gives a limit and an offset a database takes", () => {
  const text = fc.option(fc.oneof(anyText(), fc.double().map(String), fc.bigInt().map(String)), { nil: undefined });
  fc.assert(
    fc.property(text, (value) => {
      const size = read(limit(50), value);
      expect(Number.isInteger(size) && Number(size) >= 1 && Number(size) <= 200).toBe(true);
      const skipped = read(offset(), value);
      expect(Number.isSafeInteger(skipped) && Number(skipped) >= 0).toBe(true);
    }),
  );
});

test.each<Case>([
  [undefined, null],
  ["", null],
  ["   ", null],
  [" KL-1 ", "KL-1"],
  ["KL-12345", "KL-12"],
  ["1234 5678", "1234"],
])("§8 a filter is trimmed, cut and never refused: %j is read as %j", reads(filter(5)));

test("contract §1 what a database cannot store becomes U+FFFD, and everything else stays as it is", () => {
  expect(storable(`a${NUL}b${HALF}c\u0001é⚡👍`)).toBe("a\ufffdb\ufffdc\u0001é⚡👍");
});

test.each<Case>([
  [" ace 0012 ", "ACE0012"],
  ["", null],
  ["   ", null],
  ["AB\u0085C", "refused"],
  ["x".repeat(64), "X".repeat(64)],
  ["x".repeat(65), "refused"],
  [`a${NUL}b`, "refused"],
  [HALF, "refused"],
  ["ACE\u202e2100", "refused"],
  ["ACE\u200b0012", "refused"],
  [12, "refused"],
])("§4.1 a serial number: %j is read as %j", reads(serialNumber()));

test.each<Case>([
  ["  abc  ", "abc"],
  ["abcdefgh", "abcde"],
  ["abcd efgh", "abcd"],
  ["", null],
  ["   ", null],
  ["⚡⚡⚡⚡⚡⚡", "⚡⚡⚡⚡⚡"],
  ["👍👍👍👍👍👍", "👍👍👍👍👍"],
  [`a${NUL}b`, "refused"],
  ["a\nb", "refused"],
  [HALF, "refused"],
  [5, "refused"],
  [null, "refused"],
])("§8 a text trimmed to 5: %j is read as %j", reads(trimmedTo(5)));

test("§8 cut: at most so many characters, never half of one, and what is short enough stays", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.nat(50), (text, length) => {
      const shortened = cut(text, length);
      expect(shortened.isWellFormed()).toBe(text.isWellFormed());
      expect(Array.from(shortened).length).toBeLessThanOrEqual(length);
      expect(text.startsWith(shortened)).toBe(true);
      if (text.length <= length) expect(shortened).toBe(text);
    }),
  );
});

test.each<Case>([
  [" ab ", "ab"],
  ["a", "refused"],
  ["abcdef", "refused"],
  ["  ", "refused"],
  ["Zoë", "Zoë"],
  [`ab${NUL}`, "refused"],
  [undefined, "refused"],
])("contract §2 a name of 2 to 5 characters: %j is read as %j", reads(lineOf(2, 5)));

/** What turns the direction of a text, is not seen in it, or breaks its line. */
const SIGNS = [
  ..."\u200b\u202a\u202b\u202c\u202d\u202e\u2060\u2066\u2067\u2068\u2069\ufeff",
  ..."\u0085\u009b\u2028\u2029\u115f\u1160\u180e\u2061\u2064\u206a\u206f\u3164\uffa0\ufff9\u{e0001}\u{e0041}",
];

test.each(SIGNS.map((sign) => [`U+${sign.codePointAt(0)?.toString(16)}`, sign]))(
  "contract §2 attack: %s in a name, which reads as another, is refused in every kind of text",
  (_number, sign) => {
    const rules = [lineOf(1, 9), trimmedTo(9), signatoryName(), linesOf(1, 9), orNull(lineOf(1, 9)), typedEmail()];
    for (const rule of rules) expect(read(rule, `ab${sign}cd`)).toBe("refused");
  },
);

test("contract §2 joiners stay in names, and a byte order mark around one is trimmed", () => {
  for (const name of ["نمی\u200cخواهم", "क्\u200dष", "👩\u200d👧"]) expect(read(signatoryName(), name)).toBe(name);
  expect(read(signatoryName(), "\ufeffJan\ufeff")).toBe("Jan");
});

test.each<Case>([
  [undefined, null],
  [null, null],
  ["", null],
  ["abc", "abc"],
  ["a", "refused"],
  [5, "refused"],
])("§4.1 optional: absent, null and empty are all null: %j is read as %j", reads(orNull(lineOf(2, 5))));

test("contract §1 what is wrong with an optional value is said as for a required one", () => {
  expect(orNull(uuid()).safeParse("x").error?.issues[0]?.message).toBe(uuid().safeParse("x").error?.issues[0]?.message);
});

test.each<Case>([
  ["8B1F6C1E-0000-4000-8000-000000000001", "8b1f6c1e-0000-4000-8000-000000000001"],
  ["00000000-0000-0000-0000-000000000000", "00000000-0000-0000-0000-000000000000"],
  ["{8b1f6c1e-0000-4000-8000-000000000001}", "refused"],
  ["8b1f6c1e00004000800000000000001", "refused"],
  ["' or true --", "refused"],
  [1, "refused"],
])("contract §1 an id, in lower case: %j is read as %j", reads(uuid()));

test.each<Case>([
  ["871687000000000016", "871687000000000016"],
  ["8716 8700 0000 0000 16", "871687000000000016"],
  ["871.687.000000000016", "871687000000000016"],
  ["87168700000000001", "refused"],
  ["8716870000000000160", "refused"],
  ["87168700000000001O", "refused"],
  ["٨٧١٦٨٧٠٠٠٠٠٠٠٠٠٠١٦", "refused"],
  [871687, "refused"],
])("contract §2 an EAN: %j is read as %j", reads(eanCode()));

test.each<Case>([
  ["1234AB", "1234AB"],
  ["1234 ab", "1234AB"],
  [" 1234ab ", "1234AB"],
  ["0123AB", "refused"],
  ["1234A", "refused"],
  ["B-1000", "refused"],
])("contract §2 a postal code: %j is read as %j", reads(postalCode()));

const house = (number: number, addition: string | null) => ({ number, addition });
test.each<Case>([
  [12, house(12, null)],
  ["12", house(12, null)],
  ["12a", house(12, "A")],
  ["12 A", house(12, "A")],
  ["12-2", house(12, "2")],
  ["12 bis", house(12, "BIS")],
  [" 12 ", house(12, null)],
  ["99999", house(99_999, null)],
  ["100000", "refused"],
  ["012", "refused"],
  [0, "refused"],
  [-1, "refused"],
  [12.5, "refused"],
  [100_000, "refused"],
  ["a12", "refused"],
  ["", "refused"],
  ["12/2", "refused"],
  [null, "refused"],
])("contract §2 a house number: %j is read as %j", reads(houseNumber()));

test.each([
  ["a", "A"],
  [" bis ", "BIS"],
  ["-2", "2"],
  ["1 - 2", "1 2"],
  ["", null],
  [" - ", null],
  [null, null],
  [undefined, null],
])("contract §2 the addition %j is compared as %j", (sent, seen) => {
  expect(houseNumberAddition(sent)).toBe(seen);
});

test.each<Case>([
  ["NL91ABNA0417164300", "NL91ABNA0417164300"],
  ["nl91 abna 0417 1643 00", "NL91ABNA0417164300"],
  ["NL00ABNA0000000000", "NL00ABNA0000000000"], // no checksum test
  ["A".repeat(15), "A".repeat(15)],
  ["A".repeat(34), "A".repeat(34)],
  ["A".repeat(14), "refused"],
  ["A".repeat(35), "refused"],
  ["NL91-ABNA-0417164300", "refused"],
  ["ÑL91ABNA0417164300", "refused"],
  [5, "refused"],
])("§4.1 an IBAN: %j is read as %j", reads(iban()));

test.each<Case>([
  ["Sanne@Example.NL", "sanne@example.nl"],
  [" sanne@example.nl ", "sanne@example.nl"],
  ["sanne", "refused"],
  ["sanne@", "refused"],
  [`${"a".repeat(250)}@b.nl`, "refused"],
])("contract §2 an e-mail address: %j is read as %j", reads(email()));

test.each<Case>([
  ["0612345678", "+31612345678"],
  ["06-12 34 56 78", "+31612345678"],
  ["+31 6 12345678", "+31612345678"],
  ["+49 30 123456", "+4930123456"],
  ["bel mij", "refused"],
  ["06", "refused"],
  ["06-123", "refused"],
  ["06 1234567", "refused"], // a digit too few
  ["088 123 45 67", "+31881234567"],
])("contract §2 a telephone number: %j is read as %j", reads(phone()));

test("contract §2 no field rule throws, whatever it is given", () => {
  const schemas = [
    uuid(),
    eanCode(),
    postalCode(),
    houseNumber(),
    iban(),
    email(),
    phone(),
    trimmedTo(5),
    lineOf(2, 5),
    orNull(uuid()),
  ];
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), anyText()), (value) => {
      for (const schema of schemas) schema.safeParse(value);
    }),
  );
});
