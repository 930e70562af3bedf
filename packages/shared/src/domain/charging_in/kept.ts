/** What is kept: a plain value, or of an object, or of each object of a list, what is kept of its fields. */
export type Kept = true | { readonly [name: string]: Kept };

/** @returns what is kept of a value; undefined if it is of another kind than the specification says. */
export function keep(sent: unknown, kept: Kept): unknown {
  if (typeof sent !== "object" || sent === null) return kept === true ? (sent ?? undefined) : undefined;
  if (kept === true) return undefined;
  if (Array.isArray(sent)) return sent.map((each) => keep(each, kept)).filter((each) => each !== undefined);
  return Object.fromEntries(
    Object.entries(kept).flatMap(([name, inner]) => {
      const value = keep((sent as Record<string, unknown>)[name], inner);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
