// What `supabase functions deploy` deploys: the function blocks of supabase/config.toml, and the files each is made of.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { denoProgram, ROOT } from "#local/checkout.ts";

/** One `[functions.<slug>]` block. An alias has the folder of another function. */
type DeployedFunction = {
  slug: string;
  /** Under supabase/functions. */
  folder: string;
  settings: Readonly<Record<string, string>>;
};

/** Reads the one form of TOML that our own blocks are written in: `key = "text"` and `key = literal`, a line each. */
export function deployedFunctions(
  toml = readFileSync(`${ROOT}supabase/config.toml`, "utf8"),
): readonly DeployedFunction[] {
  return [...toml.matchAll(/^\[functions\.([^\]]+)\]\n((?:[^[\n].*\n|\n)*)/gm)].map(([, slug = "", block = ""]) => {
    const lines = [...block.matchAll(/^(\w+) = (?:"(.*)"|(.*))$/gm)];
    const settings = Object.fromEntries(lines.map(([, key, text, literal]) => [key, text ?? literal ?? ""]));
    return { slug, folder: settings.entrypoint?.split("/").at(-2) ?? slug, settings };
  });
}

const modules = new Map<string, string[]>();

/**
 * Our own files that a function is bundled from, from the root of the repository and sorted; Deno is asked once for each.
 * @throws {Error} naming the import that leads nowhere.
 */
export function modulesOf(folder: string): string[] {
  const known = modules.get(folder) ?? askDeno(folder);
  modules.set(folder, known);
  return known;
}

function askDeno(folder: string): string[] {
  const json = execFileSync(denoProgram(), ["info", "--json", `${ROOT}supabase/functions/${folder}/index.ts`], {
    cwd: ROOT,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
    env: { ...process.env, DENO_NO_UPDATE_CHECK: "1" },
  });
  const { modules: found } = JSON.parse(json) as { modules: { specifier: string; error?: string }[] };
  return found
    .filter(({ specifier }) => specifier.startsWith("file:") && !specifier.includes("/node_modules/"))
    .map(({ specifier, error }) => {
      if (error) throw new Error(`${folder}: ${error}`);
      return relative(ROOT, fileURLToPath(specifier));
    })
    .sort();
}
