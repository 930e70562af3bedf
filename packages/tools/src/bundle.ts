// How large a function is: everything it can load, and what it loads before its first request.

import { readdirSync } from "node:fs";
import { type OutputAsset, type OutputChunk, rolldown } from "rolldown";
import { ROOT } from "../../local/src/checkout.ts";

export type Bundle = {
  /** Bytes, bundled and minified, of what is loaded at the start. */
  start: number;
  /** The packages in that, sorted. */
  packages: string[];
  /** Bytes of everything, what is loaded late included. */
  whole: number;
};

/** The folders under supabase/functions, each a function. */
export const functionFolders = (): string[] => readdirSync(`${ROOT}supabase/functions`).sort();

/** Bundles a function for measuring only: what is deployed are its sources. */
export async function bundle(slug: string): Promise<Bundle> {
  const building = await rolldown({
    cwd: ROOT,
    input: `${ROOT}supabase/functions/${slug}/index.ts`,
    platform: "node",
    // of the driver's, for other runtimes: the platform has neither
    external: [/^node:/, "pg-native", "cloudflare:sockets"],
  });
  const { output } = await building.generate({ format: "esm", minify: true });
  await building.close();
  const chunks = new Map(output.flatMap((part) => (part.type === "chunk" ? [[part.fileName, part] as const] : [])));
  const started = new Set<OutputChunk>();
  const start = (chunk: OutputChunk | undefined) => {
    if (!chunk || started.has(chunk)) return;
    started.add(chunk);
    for (const name of chunk.imports) start(chunks.get(name));
  };
  start(output[0]);
  const modules = [...started].flatMap((chunk) => Object.keys(chunk.modules));
  const packages = modules.flatMap((path) => path.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1] ?? []);
  return { start: bytesOf([...started]), packages: [...new Set(packages)].sort(), whole: bytesOf(output) };
}

const bytesOf = (parts: readonly (OutputChunk | OutputAsset)[]): number =>
  parts.reduce((sum, part) => sum + Buffer.byteLength(part.type === "chunk" ? part.code : part.source), 0);
