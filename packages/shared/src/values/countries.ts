let byName: Map<string, string> | undefined;

const keyOf = (text: string): string =>
  text
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .toLowerCase()
    .replace(/[^a-z]/g, "");

/** The names of countries in Dutch, English, German and French, and what people write instead. */
function names(): Map<string, string> {
  const found = new Map([
    ["holland", "NL"],
    ["thenetherlands", "NL"],
    ["nederlands", "NL"],
  ]);
  const letters = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];
  for (const locale of ["nl", "en", "de", "fr"]) {
    const display = new Intl.DisplayNames(locale, { type: "region", fallback: "none" });
    for (const pair of letters.flatMap((one) => letters.map((other) => one + other))) {
      // DD is DE now
      const code = new Intl.Locale(`und-${pair}`).region ?? pair;
      const name = display.of(code);
      if (name && !found.has(keyOf(name))) found.set(keyOf(name), code);
    }
  }
  return found;
}

/** The code of a country, of two or three letters as it stands, or by its name: `NL` for Nederland. Null for none. */
export function countryCode(text: string): string | null {
  if (/^[a-z]{2,3}$/i.test(text)) return text.toUpperCase();
  byName ??= names();
  return byName.get(keyOf(text)) ?? null;
}
