const UNSEEN = /[\u001c-\u001f\u00a0\u00ad\u200b\u200e\u200f\u202f\ufeff]/;

/**
 * A value without what exporters put around it to keep a spreadsheet from changing it: `="0012"`, an apostrophe before digits
 * or a formula, control signs; and with ordinary spaces. Without spaces around it.
 */
export function unguarded(value: string): string {
  let text = value.trim();
  if (UNSEEN.test(text))
    text = text
      .replace(/[\u00a0\u202f]/g, " ")
      .replace(/[\u001c-\u001f\u00ad\u200b\u200e\u200f\ufeff]/g, "")
      .trim();
  if (text.startsWith('="') && text.endsWith('"') && text.length > 2)
    return text.slice(2, -1).replaceAll('""', '"').trim();
  return text.startsWith("'") ? text.replace(/^'(?=[=+@\-\d])/, "") : text;
}
