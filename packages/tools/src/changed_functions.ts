// Which functions a push has to deploy: `node changed_functions.ts <commit>|all` prints the slugs, separated by spaces.

import { execFileSync } from "node:child_process";
import { ROOT } from "#local/checkout.ts";
import { deployedFunctions, modulesOf } from "./functions.ts";

/** Decides about every function: its settings, the versions of its packages, how it is bundled. */
const COMMON = ["supabase/config.toml", "package-lock.json", "packages/tools/src/bundle.ts"];

/**
 * The slugs whose bundle has at least one of the files in it. An alias is deployed with its function.
 */
export function functionsTouchedBy(files: ReadonlySet<string>): string[] {
  const functions = deployedFunctions();
  if (COMMON.some((file) => files.has(file))) return functions.map(({ slug }) => slug);
  return functions.filter(({ folder }) => modulesOf(folder).some((file) => files.has(file))).map(({ slug }) => slug);
}

function filesChangedSince(commit: string): Set<string> {
  const names = execFileSync("git", ["diff", "--name-only", "-z", commit, "HEAD"], { cwd: ROOT, encoding: "utf8" });
  return new Set(names.split("\0").filter(Boolean));
}

if (import.meta.main) {
  const [since] = process.argv.slice(2);
  if (!since) throw new Error("usage: changed_functions.ts <commit>|all");
  console.log(functionsTouchedBy(since === "all" ? new Set(COMMON) : filesChangedSince(since)).join(" "));
}
