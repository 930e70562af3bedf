import { unstorableAt } from "#shared/foundation/call.ts";
import { isDeeper } from "#shared/values/json.ts";
import { readCdr } from "./cdr.ts";

/** readCdr(), and refuses what PostgreSQL cannot store or nobody can walk: one CDR of a page must not stop the others. */
export function readSent(sent: unknown): ReturnType<typeof readCdr> {
  if (isDeeper(sent)) return { refused: "is nested too deeply" };
  const read = readCdr(sent);
  if (unstorableAt(read) === null) return read;
  return { refused: "a text must not contain NUL or half of a surrogate pair" };
}
