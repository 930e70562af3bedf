/** As long as what is looked for can be. */
const LONGEST = 254;

/** Text of an address as a row may have it: one line, without what a database cannot store. */
export function lineIn(value: string | undefined): string | undefined {
  const line = value
    ?.replace(/\p{C}+/gu, " ")
    .trim()
    .slice(0, LONGEST);
  return line || undefined;
}
