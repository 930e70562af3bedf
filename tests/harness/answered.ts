// Which api functions a run of the tests held against their schema, as files: the tests run in processes of their own.

import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A folder of this run. Its set-up and its reporter share the process, and nothing else. */
const OWN = join(tmpdir(), `ere-answered-${process.pid}`);
/** Beside the functions that were answered: all that have a schema. */
const ALL = "all.json";

export function answeredFolder(): string {
  mkdirSync(OWN, { recursive: true });
  process.once("exit", () => rmSync(OWN, { recursive: true, force: true }));
  return OWN;
}

export function noteAnswered(folder: string, name: string, all: Iterable<string>): void {
  writeFileSync(join(folder, ALL), JSON.stringify([...all]));
  writeFileSync(join(folder, name), "");
}

/** The functions with a schema that no test has answered. */
export function unanswered(): string[] {
  const seen = new Set(readdirSync(OWN));
  const all: string[] = JSON.parse(readFileSync(join(OWN, ALL), "utf8"));
  return all.filter((name) => !seen.has(name));
}
