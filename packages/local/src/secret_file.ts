import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

/** Writes a file that nobody but its owner may read; whoever reads it sees the old content or the new, never half of it. */
export function writeSecret(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true });
  const aside = `${path}.${process.pid}`;
  writeFileSync(aside, content, { mode: 0o600 });
  renameSync(aside, path);
}
