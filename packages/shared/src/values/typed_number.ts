/**
 * The values that a typed number may have, in Dutch or in English, whatever the language of the page. The list is empty
 * for other text. "1.234" gives two values, the larger first: it may be a group of three or three decimals, so the page
 * asks which. Signs and exponents are refused; spaces, full-width characters and `unit` after it are accepted. The
 * function uses nothing outside itself, because the script of the pages runs it too.
 */
export function readNumber(text: string, unit: string): number[] {
  // in groups of three, apart by the same sign, then decimals after another one
  const GROUPED = /^\d{1,3}(?:([ .,])\d{3})(?:\1\d{3})*(?:(?!\1)[.,](\d+))?$/;
  const PLAIN = /^\d+(?:[.,]\d+)?$/;
  // a group of three, or three decimals
  const EITHER = /^[1-9]\d{0,2}[.,]\d{3}$/;
  const withoutGroups = (digits: string, decimals = "") => {
    const whole = digits.slice(0, decimals ? -decimals.length - 1 : undefined);
    return Number(`${whole.replace(/\D/g, "")}.${decimals || 0}`);
  };
  const ascii = text.replace(/[\uff01-\uff5e]/g, (wide) => String.fromCharCode(wide.charCodeAt(0) - 0xfee0));
  const typed = ascii.replace(/\s/g, " ").trim().toLowerCase();
  const digits = typed.endsWith(unit.toLowerCase()) ? typed.slice(0, typed.length - unit.length).trimEnd() : typed;
  const grouped = GROUPED.exec(digits);
  return [
    ...(grouped && (EITHER.test(digits) || !PLAIN.test(digits)) ? [withoutGroups(digits, grouped[2])] : []),
    ...(PLAIN.test(digits) ? [Number(digits.replace(",", "."))] : []),
  ];
}
