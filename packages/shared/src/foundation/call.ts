import type { Call, Json, SqlAnswer } from "./answers.ts";
import type { Caller } from "./caller.ts";
import { type Db, UnmetNeed } from "./db.ts";
import type { Environment } from "./environment.ts";
import { ApiError } from "./errors.ts";
import type { Replica } from "./replica.ts";

/**
 * Fetches what an api function needs, by kind; each fetcher gets what it is about. What it brings joins the fields of
 * the function's last argument under the name of the kind, and the function is called again.
 *
 * needs: { login: makeLogin }
 */
export type Needs = Readonly<Record<string, (environment: Environment, about: never) => Promise<unknown>>>;

/** Whatever runs SQL, with every api function that it may run: what `edge` is granted is the union of these. */
export type Declared<Name extends string = string> = {
  id: string;
  sql: readonly Name[];
  /** Whether those functions take long by their nature: they run as edge_slow, which has longer limits and may run nothing else. */
  slow?: true;
  /** Fetches what those functions may need first. */
  needs?: Needs;
};

/** Somebody who is admitted by the first statement they have run: see Admission of http/admit.ts. */
export type Entering = {
  enter(db: Db, name: string, input: (object | null)[], replica?: Replica): Promise<string>;
};

/**
 * Runs declared api functions for one caller, or for a ticket that the first of them admits, and gives their JSON text. With a replica,
 * they run there if they can.
 * @throws {Error} if a function is not declared, because the grants would miss it. Also if a function needs
 * something that nobody fetches, or asks twice.
 * @throws {ApiError} invalid_request for a text that PostgreSQL cannot store, whichever field it came in.
 */
export function callFor<Name extends string>(
  { id, sql, slow, needs = {} }: Declared<Name>,
  environment: Environment,
  who: Caller | Entering,
  replica?: Replica,
): Call<Name> {
  const run = async (name: Name, input: (object | null)[]): Promise<string> => {
    const fetched: Record<string, unknown> = {};
    const begun = performance.now();
    let db = slow ? environment.slowDb : environment.db;
    for (;;) {
      try {
        return await ("enter" in who ? who.enter(db, name, input, replica) : db.call(name, who, ...input));
      } catch (error) {
        if (!(error instanceof UnmetNeed)) throw error;
        const { need, about, message } = error;
        const fetch = Object.hasOwn(needs, need) ? needs[need] : undefined;
        if (!fetch) throw new Error(`${message}, which ${id} does not declare`);
        if (Object.hasOwn(fetched, need)) throw new Error(`${message} again`);
        // the statement that asked has ended, so no lock is held meanwhile
        fetched[need] = await fetch(environment, about as never);
        input.push({ ...input.pop(), ...fetched });
        db = db.withDeadlineFrom(begun);
      }
    }
  };
  return <Called extends Name>(name: Called, ...input: (object | null)[]) => {
    if (!sql.includes(name)) throw new Error(`${id} does not declare api.${name}`);
    const path = unstorableAt(input.at(-1));
    if (path !== null) {
      const message = "must not contain NUL or half of a surrogate pair";
      throw new ApiError("invalid_request", { detail: `${path}: ${message}`, issues: [{ path, message }] });
    }
    return run(name, input) as Promise<Json<SqlAnswer<Called>>>;
  };
}

/** Where in a value PostgreSQL cannot store a text, as a path such as `rows.0.email`; null if it can store all of it. */
function unstorableAt(value: unknown, path = ""): string | null {
  if (typeof value === "string") return value.isWellFormed() && !value.includes("\u0000") ? null : path;
  if (typeof value !== "object" || value === null) return null;
  for (const [key, each] of Object.entries(value)) {
    const at = path ? `${path}.${key}` : key;
    const found = unstorableAt(key, path) ?? unstorableAt(each, at);
    if (found !== null) return found;
  }
  return null;
}
