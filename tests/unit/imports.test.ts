// What may know what: read from the imports themselves, because it is the arrangement of the files that is asked about.

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { ROOT } from "../../packages/tools/src/functions.ts";

const PAGES = "supabase/functions/pages";
const SHARED = "packages/shared/src";

/** Every TypeScript file under a folder, from the root of the repository. */
function filesUnder(folder: string): string[] {
  return readdirSync(ROOT + folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(folder, name));
}

/** The files of ours that a file imports. */
function importsOf(file: string): string[] {
  const source = readFileSync(ROOT + file, "utf8");
  const named = [...source.matchAll(/(?:\bfrom|\bimport\() ?"((?:#shared|\.{1,2})\/[^"]+)"/g)].map(
    ([, name = ""]) => name,
  );
  return named.map((name) => (name.startsWith("#") ? name.replace("#shared", SHARED) : join(dirname(file), name)));
}

/** Which folder of `root` knows which other one. */
function folderImports(root: string): Map<string, Set<string>> {
  const folderOf = (file: string) => file.slice(root.length + 1).split("/")[0] ?? "";
  const known = new Map<string, Set<string>>();
  for (const file of filesUnder(root)) {
    const from = folderOf(file);
    const others = importsOf(file).filter((each) => each.startsWith(`${root}/`) && folderOf(each) !== from);
    known.set(from, new Set([...(known.get(from) ?? []), ...others.map(folderOf)]));
  }
  return known;
}

describe("pages", () => {
  test("a flow knows kit and never another flow; kit knows none", () => {
    const known = folderImports(PAGES);
    const folders = readdirSync(ROOT + PAGES, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(folders.map(({ name }) => name).sort()).toEqual(["claim", "consent", "home", "kit", "mandate"]);
    for (const { name } of folders)
      expect([name, [...(known.get(name) ?? [])]]).toEqual([name, name === "kit" ? [] : ["kit"]]);
  });

  test("no file is in a circle of imports", () => {
    const imports = new Map(
      filesUnder(PAGES).map((file) => [file, importsOf(file).filter((each) => each.startsWith(PAGES))]),
    );
    // a file is on the floor above the highest it imports; what finds no floor is in a circle, or above one
    const placed = new Set<string>();
    for (let before = -1; before !== placed.size; ) {
      before = placed.size;
      for (const [file, needed] of imports) if (needed.every((each) => placed.has(each))) placed.add(file);
    }
    expect([...imports.keys()].filter((file) => !placed.has(file))).toEqual([]);
  });
});

test("what is shared knows only what lies below it: foundation, values, auth, then http and domain, which know nothing of each other", () => {
  const known = folderImports(SHARED);
  const allowed: Record<string, string[]> = {
    foundation: [],
    values: ["foundation"],
    auth: ["foundation", "values"],
    http: ["foundation", "values", "auth"],
    domain: ["foundation", "values", "auth"],
  };
  for (const [folder, others] of known)
    expect([folder, [...others].filter((each) => !allowed[folder]?.includes(each))]).toEqual([folder, []]);
});
