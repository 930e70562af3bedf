import type { Caller } from "./caller.ts";
import type { Environment } from "./environment.ts";

/** Whatever runs SQL, with every api function that it may run: what `edge` is granted is the union of these. */
export type Declared<Name extends string = string> = { id: string; sql: readonly Name[] };

/**
 * Runs declared api functions for one caller, and gives their JSON text.
 * @throws {Error} for one that is not declared, of which the grants would not know.
 */
export function callFor<Name extends string>(
  { id, sql }: Declared<Name>,
  { db }: Pick<Environment, "db">,
  caller: Caller,
): (name: Name, ...input: (object | null)[]) => Promise<string> {
  return (name, ...input) => {
    if (!sql.includes(name)) throw new Error(`${id} does not declare api.${name}`);
    return db.call(name, caller, ...input);
  };
}
