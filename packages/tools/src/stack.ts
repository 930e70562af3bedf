// npm run stack: reads a log of a deployed function and names our files and lines in its stack traces. Run it at the commit that is
// deployed: the same sources make the same bundles.

import { existsSync, readFileSync } from "node:fs";
import { SourceMap } from "node:module";
import { dirname, join, relative } from "node:path";
import { text } from "node:stream/consumers";
import { ROOT } from "#local/checkout.ts";
import { BUNDLES, writeBundles } from "./bundle.ts";

/** `…/supabase/bundles/cpo-v1/accounts.js:57:9`, whatever folder the platform keeps it in. */
const PLACE = new RegExp(`[^\\s("]*${BUNDLES}/([\\w-]+)/([\\w.-]+\\.js):(\\d+):(\\d+)`, "g");

/** The text with each place in a bundle under `root` replaced by `path:line:column` of the source. */
export function named(log: string, root = ROOT): string {
  const maps = new Map<string, SourceMap>();
  return log.replace(PLACE, (place, folder: string, file: string, line: string, column: string) => {
    const path = join(root, BUNDLES, folder, `${file}.map`);
    if (!existsSync(path)) return place;
    const map = maps.get(path) ?? new SourceMap(JSON.parse(readFileSync(path, "utf8")));
    maps.set(path, map);
    const found = map.findEntry(Number(line) - 1, Number(column) - 1);
    if (!("originalSource" in found)) return place;
    const source = relative(ROOT, join(dirname(path), found.originalSource));
    return `${source}:${found.originalLine + 1}:${found.originalColumn + 1}`;
  });
}

if (import.meta.main) {
  await writeBundles();
  process.stdout.write(named(await text(process.stdin)));
}
