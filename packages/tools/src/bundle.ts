// What is deployed of a function: its files and packages in a few files of plain JavaScript, so that the platform resolves nothing.

import { readdirSync, rmSync } from "node:fs";
import { isBuiltin } from "node:module";
import { type InputOptions, type OutputAsset, type OutputChunk, rolldown } from "rolldown";
import { ROOT } from "#local/checkout.ts";

/** Not committed. `entrypoint` in supabase/config.toml points into it. */
export const BUNDLES = "supabase/bundles";

type Weight = {
  /** Bytes, minified, of what is loaded at the start. */
  start: number;
  /** The packages in that, sorted. */
  packages: string[];
  /** Bytes of everything, what is loaded late included. */
  whole: number;
};

/** The folders under supabase/functions, each a function. Files may stand beside them, such as the .env of `supabase start`. */
export const functionFolders = (root = ROOT): string[] =>
  readdirSync(`${root}supabase/functions`, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name)
    .sort();

const entryOf = (folder: string) => `${ROOT}supabase/functions/${folder}/index.ts`;

/** undici calls unref() of its timers. Those of Deno are numbers, and of immediates it has none. */
const TIMERS = ["setImmediate", "clearImmediate", "setTimeout", "clearTimeout", "setInterval", "clearInterval"];

/** What a bundle has under another name than its source. */
export const INJECTED: Record<string, string | [module: string, name: string]> = {
  Buffer: ["node:buffer", "Buffer"],
  process: "node:process",
  ...Object.fromEntries(TIMERS.map((name) => [name, ["node:timers", name]])),
};

const inputOf = (entry: string): InputOptions => ({
  cwd: ROOT,
  input: { index: entry },
  platform: "node",
  // of an ES module only what is used is taken
  resolve: {
    mainFields: ["module", "main"],
    alias: { "brotli/decompress.js": `${ROOT}packages/tools/src/brotli.ts` },
  },
  // the driver loads these on other runtimes only
  external: ["pg-native", "cloudflare:sockets"],
  plugins: [
    {
      name: "node-prefix",
      // Deno knows "fs" as "node:fs" alone
      resolveId: (source) =>
        isBuiltin(source) ? { id: `node:${source.replace(/^node:/, "")}`, external: true } : null,
    },
  ],
  transform: {
    // packages expect the globals of Node, which Deno 2.1.4 has in npm packages only
    define: { global: "globalThis" },
    inject: INJECTED,
  },
});

/**
 * Writes index.js, a file for each part that is loaded late, and their source maps. Not minified, so that a stack trace names our
 * functions; `npm run stack` finds their lines.
 */
export async function writeBundle(entry: string, dir: string): Promise<void> {
  const building = await rolldown(inputOf(entry));
  await building.write({
    dir,
    format: "esm",
    sourcemap: true,
    // the CLI takes an import in a comment for one, and looks for its file
    comments: { jsdoc: false },
    entryFileNames: "[name].js",
    chunkFileNames: "[name].js",
  });
  await building.close();
}

/** Writes the bundle of every function under `root`, which ends with a slash. Bundles of before are removed. */
export async function writeBundles(root = ROOT): Promise<void> {
  rmSync(root + BUNDLES, { recursive: true, force: true });
  for (const folder of functionFolders()) await writeBundle(entryOf(folder), `${root}${BUNDLES}/${folder}`);
}

/** How large a function is: everything it can load, and what it loads before its first request. */
export async function weigh(folder: string): Promise<Weight> {
  const building = await rolldown(inputOf(entryOf(folder)));
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

if (import.meta.main) await writeBundles();
