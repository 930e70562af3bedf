/** Longer texts are no number: the expression takes the square of their length. */
const LONGEST = 64;
const DECIMAL = /^([+-]?)(?=\.?\d)0*(\d*)(?:\.(\d*))?(?:e([+-]?\d+))?$/i;

/**
 * Whole watt hours of a number that counts in ten to the power of `power` watt hours: 3 for kWh. Half a watt hour is rounded
 * away from zero. Reckoned on the digits, because 0.5005 * 1000 is less than 500.5. Null if the text is no number, has more
 * than 18 digits before the point, or more than 64 characters.
 */
export function wattHours(number: string, power: number): number | null {
  if (number.length > LONGEST) return null;
  const [, sign, whole = "", decimals = "", exponent = "0"] = DECIMAL.exec(number) ?? [];
  const point = whole.length + power + Number(exponent);
  if (sign === undefined || point > 18) return null;
  const digits = `${whole}${decimals}`;
  const down = Number(digits.slice(0, Math.max(point, 0)).padEnd(point, "0"));
  const wh = point >= 0 && Number(digits[point] ?? 0) >= 5 ? down + 1 : down;
  return sign === "-" && wh > 0 ? -wh : wh;
}
