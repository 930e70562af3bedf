/** What is done to texts, whoever judges them. */

/**
 * Whether a text has no control characters, no half of a surrogate pair, and nothing unseen that makes it look like another text:
 * what turns its direction (U+202A to U+202E, U+2066 to U+2069) and spaces without width. Joiners stay: languages are written with
 * them. PostgreSQL stores neither NUL nor half of a pair.
 */
export function isPlain(text: string): boolean {
  return !/[\u0000-\u001f\u007f\u200b\u202a-\u202e\u2060\u2066-\u2069\ufeff]|\p{Surrogate}/u.test(text);
}

/**
 * The text with U+FFFD for whatever PostgreSQL cannot store. For text that is to be looked for or judged in SQL rather than
 * refused beforehand: nothing stored is like it, so it matches nothing.
 */
export function storable(text: string): string {
  return text.toWellFormed().replaceAll("\u0000", "\ufffd");
}

/** Cuts by code point, so that no character is halved. */
export function cut(value: string, length: number): string {
  return value.length <= length ? value : Array.from(value).slice(0, length).join("").trimEnd();
}

/** The form additions are compared in: upper case, no spaces or dashes around; null when there is none. */
export function houseNumberAddition(value: string | null | undefined): string | null {
  return (
    value
      ?.toUpperCase()
      .replace(/[\s-]+/g, " ")
      .trim() || null
  );
}
