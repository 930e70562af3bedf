// Files of variables (.env), which hold secrets: read, and added to without touching what somebody wrote.

import { existsSync, readFileSync } from "node:fs";
import { parseEnv } from "node:util";
import { writeSecret } from "#local/secret_file.ts";

export type Variables = Record<string, string>;

/** A file that cannot be read as what it should be, or a value that cannot be written; `message` says where, and never a value. */
export class EnvFileError extends Error {}

/**
 * The variables of a file; none where there is no file.
 * @throws {EnvFileError} naming the first line that is neither a comment nor `NAME=value`. Another program could read
 * such a line differently, and an addition could change what it means.
 */
export function readEnv(path: string): Variables {
  if (!existsSync(path)) return {};
  const text = readFileSync(path, "utf8");
  const odd = text.split(/\r?\n/).findIndex((line) => !LINE.test(line));
  if (odd >= 0) throw new EnvFileError(`${path}, line ${odd + 1}: is no comment, and no NAME=value on one line.`);
  return parseEnv(text) as Variables;
}

const LINE = /^\s*(?:#.*|(?:export\s+)?[A-Za-z_]\w*\s*=\s*(?:'[^']*'|"[^"]*"|[^'"]*)\s*(?:#.*)?)?$/;

/**
 * Adds the variables that a file lacks, and fills in empty ones. Everything else in the file stays, letter for letter.
 * Nobody but its owner may read the file.
 * @returns the names that were added
 * @throws {EnvFileError} as readEnv(), before anything is written
 */
export function addToEnv(path: string, values: Variables, heading: string): string[] {
  const present = readEnv(path);
  const missing = Object.entries(values).filter(([name, value]) =>
    value === "" ? !(name in present) : !present[name],
  );
  if (missing.length === 0) return [];
  let text = existsSync(path) ? readFileSync(path, "utf8") : heading.replace(/^/gm, "# ").concat("\n");
  if (!text.endsWith("\n")) text += "\n";
  for (const [name, value] of missing) {
    const line = assignment(name, value);
    // a function, for a value may hold $ signs
    if (name in present) text = text.replace(new RegExp(`^\\s*(?:export\\s+)?${name}\\s*=.*$`, "m"), () => line);
    else text += `${line}\n`;
  }
  writeSecret(path, text);
  return missing.map(([name]) => name);
}

/** `NAME=value` as a shell, Node and the Supabase CLI read it alike. */
function assignment(name: string, value: string): string {
  if (/^[\w:/.@+=-]*$/.test(value)) return `${name}=${value}`;
  if (!/['\r\n]/.test(value)) return `${name}='${value}'`;
  if (!/["$`\\\r\n]/.test(value)) return `${name}="${value}"`;
  throw new EnvFileError(
    `${name} holds signs that no file of variables can hold: two kinds of quotes, or more than one line.`,
  );
}
