import fc from "fast-check";

const SURROGATES = { from: 0xd800, count: 0x800 };

/** Any code point. As `unit: "binary"` of fast-check, which spends a second in each file on a table of them all. */
const codePoint = fc
  .integer({ min: 0, max: 0x10ffff - SURROGATES.count })
  .map((n) => String.fromCodePoint(n < SURROGATES.from ? n : n + SURROGATES.count));

export const anyText = (limits: { maxLength?: number } = {}): fc.Arbitrary<string> =>
  fc.string({ unit: codePoint, ...limits });
