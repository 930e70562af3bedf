import type { Buffer } from "node:buffer";
// @ts-types="npm:@types/fontkit@2.0.9"
import { create, type Font } from "fontkit";
import { FONT_DATA } from "./font_data.ts";
import { trueTypeOf } from "./woff.ts";

export type Style = keyof typeof FONT_DATA;
export type Run = { font: string; text: string };
type Alphabet = { name: string; data: Uint8Array; font: Font };

/** The alphabets of a style, read once a process. */
const read: Partial<Record<Style, readonly Alphabet[]>> = {};

export function alphabets(style: Style): readonly Alphabet[] {
  read[style] ??= FONT_DATA[style].map((base64, index) => {
    const data = trueTypeOf(Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0)));
    // its types ask for a Buffer, and it reads any bytes
    return { name: `${style} ${index}`, data, font: create(data as unknown as Buffer) as Font };
  });
  return read[style];
}

/**
 * Text by the alphabets that have its letters. What none has (another script, an emoji) is written by its number, `[U+674E]`:
 * an empty box would say nothing, and PDF/UA forbids it.
 */
export function runsOf(text: string, style: Style): Run[] {
  const known = alphabets(style);
  const runs: Run[] = [];
  const add = (font: string, letters: string) => {
    const last = runs.at(-1);
    if (last?.font === font) last.text += letters;
    else runs.push({ font, text: letters });
  };
  for (const letter of text.normalize("NFC")) {
    const code = letter.codePointAt(0) ?? 0;
    const alphabet = known.find(({ font }) => font.hasGlyphForCodePoint(code));
    if (alphabet) add(alphabet.name, letter);
    else add(`${style} 0`, `[U+${code.toString(16).toUpperCase().padStart(4, "0")}]`);
  }
  return runs;
}
