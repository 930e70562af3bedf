/** The check digit of GS1 behind these digits: weights 3, 1, 3, … from the right. */
export function checkDigit(digits: string): number {
  const sum = [...digits].reverse().reduce((total, digit, at) => total + Number(digit) * (at % 2 === 0 ? 3 : 1), 0);
  return (10 - (sum % 10)) % 10;
}

/**
 * Whether a spreadsheet rounded an EAN, which keeps 15 digits of a number: `8,71687E+17`, or one that ends in 000 and has a wrong check
 * digit.
 */
export function isRoundedEan(text: string): boolean {
  const digits = text.replace(/[\s.]/g, "");
  if (/^\d{15}000$/.test(digits)) return checkDigit(digits.slice(0, 17)) !== Number(digits[17]);
  return /^\d(?:[.,]\d+)?e\+?1[67]$/i.test(text.replace(/\s/g, ""));
}
