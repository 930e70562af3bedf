import type { EanRegisterPoint } from "#shared/domain/answers.ts";
import { checkDigit } from "#shared/values/ean.ts";
import { addressKey } from "./address.ts";
import type { EanRegisterAnswer, PartialAddress, UnavailableReason } from "./types.ts";

const testValues = "8716870000000000";
const cities = [
  "",
  "Amsterdam",
  "Den Haag",
  "Utrecht",
  "Breda",
  "Eindhoven",
  "Arnhem",
  "Enschede",
  "Zwolle",
  "Groningen",
];

/** With an EAN, its last two digits decide; without one, the house number. Both tables are part of the public contract. */
export function sandboxAnswer(address: PartialAddress, ean_code?: string): EanRegisterAnswer {
  if (ean_code !== undefined) {
    switch (ean_code.startsWith(testValues) ? ean_code.slice(testValues.length) : "") {
      case "23":
        return unavailable("silent");
      case "30":
        return points(address, eanOf(address, 1));
      case "47":
        return { source: "sandbox", outcome: "unknown_address" };
      case "61":
        return unavailable("timeout");
      default: // 16, 54 (refused later, when SQL finds the EAN taken) and every EAN that is not a test value
        return points(address, ean_code);
    }
  }
  switch (address.house_number) {
    case 47:
      return { source: "sandbox", outcome: "unknown_address" };
    case 61:
      return unavailable("timeout");
    case 78:
      return points(address, eanOf(address, 1), eanOf(address, 2));
    default:
      return points(address, eanOf(address, 1));
  }
}

function unavailable(reason: UnavailableReason): EanRegisterAnswer {
  return { source: "sandbox", outcome: "unavailable", reason };
}

function points(address: PartialAddress, ...ean_codes: string[]): EanRegisterAnswer {
  const place: Omit<EanRegisterPoint, "ean_code"> = {
    street: address.postal_code ? "Teststraat" : null,
    city: address.postal_code ? cities[Number(address.postal_code[0])] || "Teststad" : null,
    house_number_addition: address.house_number_addition ?? null,
  };
  return { source: "sandbox", outcome: "points", points: ean_codes.map((ean_code) => ({ ean_code, ...place })) };
}

/** An address has the same EAN on every machine and day; `nth` (1-9) separates it from the test values. */
function eanOf(address: PartialAddress, nth: number): string {
  let hash = 0;
  for (const character of addressKey(address)) hash = (hash * 131 + (character.codePointAt(0) ?? 0)) % 9_999_999_967;
  const digits = `871687${nth}${String(hash).padStart(10, "0")}`;
  return digits + checkDigit(digits);
}
