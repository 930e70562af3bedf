// Files with names, IBANs or amounts. Only the operator can read them, and git ignores the folder where they go.

import { chmodSync, existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Git ignores it. */
const FOLDER = "out";

/** Where a file or folder goes: a name without a folder is one in ./out, which is made where it is missing. */
export function placeOf(path: unknown): string {
  const typed = String(path);
  const isBare = dirname(typed) === "." && !typed.startsWith(".") && typed !== FOLDER;
  if (isBare) mkdirSync(FOLDER, { recursive: true, mode: 0o700 });
  return isBare ? join(FOLDER, typed) : typed;
}

export function writePrivate(file: string, content: unknown): void {
  // a mode applies only to a new file; an existing file is closed to others before anything is written
  if (existsSync(file) && statSync(file).isFile()) chmodSync(file, 0o600);
  writeFileSync(file, String(content), { mode: 0o600 });
}
