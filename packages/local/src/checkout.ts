// This checkout of the repository: where it is, and the Deno that it brings along.

import { createRequire } from "node:module";
import { fileURLToPath } from "node:url";

/** The root of the repository, with a slash at its end. */
export const ROOT = fileURLToPath(new URL("../../../", import.meta.url));

/** Where the npm package keeps the program itself, which, unlike its wrapper, is one process. */
export function denoProgram(): string {
  return createRequire(import.meta.url)("deno/install_api.cjs").runInstall();
}
