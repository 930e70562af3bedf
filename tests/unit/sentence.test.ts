import { expect, test } from "vitest";
import { en } from "#shared/domain/mail/en.ts";
import { nl } from "#shared/domain/mail/nl.ts";
import { inEuro } from "#shared/domain/mail/notices.ts";
import { ended } from "#shared/values/sentence.ts";

test.each([
  ["Laadpunt B.V.", "Laadpunt B.V."],
  ["Zonneveld", "Zonneveld."],
  ["Wie laadt?", "Wie laadt?"],
])("contract §6 a sentence that ends with %s has one full stop", (name, said) => {
  expect(ended(name)).toBe(said);
});

test.each([
  [-66.53, "nl", "\u2212\u00a0€\u00a066,53"],
  [-66.53, "en", "\u2212\u00a0€66.53"],
  [66.53, "nl", "€\u00a066,53"],
  [-0, "nl", "€\u00a00,00"],
] as const)("contract §6 %d euro in %s has its minus before the sign of the currency", (amount, locale, said) => {
  expect(inEuro(amount, locale)).toBe(said);
});

test.each([nl, en])("contract §6 the mail of a new account number ends once after the name of a company", (words) => {
  const [line] = words.iban_changed.lines("Zuid", "NL00", "Demo Laadpunten B.V.");
  expect(line).toMatch(/Demo Laadpunten B\.V\.$/);
});
