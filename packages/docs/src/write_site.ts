import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SiteOptions } from "./frame.ts";
import { buildSite } from "./site.ts";

/** Writes the site into a folder of its own, which is emptied first. Answers how many files it has. */
export function writeSite(folder: string, options: SiteOptions = {}): number {
  const site = buildSite(options);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const [name, content] of site) writeFileSync(join(folder, name), content);
  return site.size;
}
