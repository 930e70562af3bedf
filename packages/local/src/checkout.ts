// This checkout of the repository: where it is, and the Deno that it brings along.

import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

// Node 22 and 23 run TypeScript too, but without import.meta.main a program would end without a word
if (Number.parseInt(process.versions.node, 10) < 24)
  throw new Error(`This needs Node 24, not ${process.versions.node}: start it by npm run, or by npx node <file>.`);

/** The root of the repository, with a slash at its end. */
export const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** Where the npm package keeps the program itself, which, unlike its wrapper, is one process. */
export function denoProgram(): string {
  return createRequire(import.meta.url)("deno/install_api.cjs").runInstall();
}
