/** Helpers for text. */

/**
 * Signs that are not seen, break a line, or turn the direction of others: a text with one reads as another text. Joiners stay, and
 * so do the marks U+200E and U+200F: languages are written with them.
 */
export const UNSEEN =
  /[\p{Control}\p{Line_Separator}\p{Paragraph_Separator}\u00ad\u115f\u1160\u180e\u200b\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\u{e0000}-\u{e007f}]/u;

/** Whether a text has no such sign, and no half of a surrogate pair. PostgreSQL stores neither NUL nor half of a pair. */
export function isPlain(text: string): boolean {
  return text.isWellFormed() && !UNSEEN.test(text);
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
  // so many code points are at most twice as many units; a long text is not taken apart whole
  return value.length <= length
    ? value
    : Array.from(value.slice(0, 2 * length))
        .slice(0, length)
        .join("")
        .trimEnd();
}

/** The form in which additions are compared: upper case, no spaces or dashes around; null if there is none. */
export function houseNumberAddition(value: string | null | undefined): string | null {
  return (
    value
      ?.toUpperCase()
      .replace(/[\s-]+/g, " ")
      .trim() || null
  );
}
