import { unstorableAt } from "#shared/foundation/call.ts";
import { readCdr } from "./cdr.ts";

/** readCdr(), and refuses what PostgreSQL cannot store or nobody can walk: one CDR of a page must not stop the others. */
export function readSent(sent: unknown): ReturnType<typeof readCdr> {
  try {
    const read = readCdr(sent);
    if (unstorableAt(read) === null) return read;
    return { refused: "a text must not contain NUL or half of a surrogate pair" };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return { refused: "is nested too deeply" };
  }
}
