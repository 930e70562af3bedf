import { storable } from "#shared/values/text.ts";

/** What is kept: a plain value, or of an object, or of each object of a list, what is kept of its fields. */
export type Kept = true | { readonly [name: string]: Kept };

/** A number that nobody measures is none: the database writes out each of the 308 digits of 1e308. Noise such as 5.6e-17 is one. */
const isMeasured = (size: number) => size === 0 || (size >= 1e-30 && size <= 1e15);

function plain(value: unknown): unknown {
  if (typeof value === "number") return isMeasured(Math.abs(value)) ? value : undefined;
  return typeof value === "string" && storable(value) !== value ? undefined : (value ?? undefined);
}

/** @returns what is kept of a value; undefined if it is of another kind than the specification says, or cannot be stored. */
export function keep(sent: unknown, kept: Kept): unknown {
  if (typeof sent !== "object" || sent === null) return kept === true ? plain(sent) : undefined;
  if (kept === true) return undefined;
  if (Array.isArray(sent))
    return sent.flatMap((each) => (Array.isArray(each) ? [] : [keep(each, kept)])).filter((each) => each !== undefined);
  return Object.fromEntries(
    Object.entries(kept).flatMap(([name, inner]) => {
      const value = keep((sent as Record<string, unknown>)[name], inner);
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
