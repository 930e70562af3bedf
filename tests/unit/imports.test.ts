// What may know what: read from the imports themselves, because it is the arrangement of the files that is asked about.

import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { ROOT } from "#local/checkout.ts";

const FUNCTIONS = "supabase/functions";
const PAGES = `${FUNCTIONS}/pages`;
const SHARED = "packages/shared/src";

/** Every TypeScript file under a folder, from the root of the repository. */
function filesUnder(folder: string): string[] {
  return readdirSync(ROOT + folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts") && !/(?:^|\/)(?:node_modules|dist)\//.test(name))
    .map((name) => join(folder, name));
}

/** The files of ours that a file imports, types included. */
function importsOf(file: string, source = readFileSync(ROOT + file, "utf8")): string[] {
  const named = [...source.matchAll(/(?:\bfrom|\bimport\() ?"((?:#shared|#local|\.{1,2})\/[^"]+)"/g)].map(
    ([, name = ""]) => name,
  );
  return named.map((name) =>
    name.startsWith("#") ? name.replace(/^#(\w+)/, "packages/$1/src") : join(dirname(file), name),
  );
}

type Graph = ReadonlyMap<string, readonly string[]>;

/** What of `files` knows what else of them, by the name that `nameOf` gives each. */
function graphOf(files: readonly string[], nameOf: (file: string) => string = (file) => file): Graph {
  const graph = new Map<string, string[]>();
  for (const file of files) {
    const known = importsOf(file)
      .map(nameOf)
      .filter((name) => name !== nameOf(file));
    graph.set(nameOf(file), [...new Set([...(graph.get(nameOf(file)) ?? []), ...known])]);
  }
  return graph;
}

/** Names that are in a circle, or know one that is. */
function circling(graph: Graph): string[] {
  // a name is on the floor above the highest it knows; what finds no floor is in a circle, or above one
  const placed = new Set<string>();
  for (let before = -1; before !== placed.size; ) {
    before = placed.size;
    for (const [name, known] of graph)
      if (known.every((each) => placed.has(each) || !graph.has(each))) placed.add(name);
  }
  return [...graph.keys()].filter((name) => !placed.has(name));
}

/** `packages/shared/src/auth`, `supabase/functions/partner`, `packages/local`: what belongs together. */
function folderOf(file: string): string {
  const depth = file.startsWith(`${SHARED}/`) ? 4 : file.startsWith(`${FUNCTIONS}/`) ? 3 : 2;
  return file.split("/").slice(0, depth).join("/");
}

const everything = ["packages", FUNCTIONS].flatMap(filesUnder);

test("a circle is found where there is one", () => {
  const graph = new Map([
    ["a", ["b", "c"]],
    ["b", []],
    ["c", ["d"]],
    ["d", ["c"]],
  ]);
  expect(circling(graph)).toEqual(["a", "c", "d"]);
});

test("no file is in a circle of imports, and no folder is", () => {
  expect(everything.length).toBeGreaterThan(100);
  expect(circling(graphOf(everything))).toEqual([]);
  expect(circling(graphOf(everything, folderOf))).toEqual([]);
});

test("a function is deployed by itself: it imports what is shared, and nothing of another function or package", () => {
  const others = [...graphOf(filesUnder(FUNCTIONS), folderOf)].map(([folder, known]) => [
    folder,
    known.filter((each) => !each.startsWith(`${SHARED}/`) && each !== "openapi.json"),
  ]);
  expect(others).toEqual(others.map(([folder]) => [folder, []]));
});

test("tools and documentation know no function; the endpoints of openapi.json are loaded by the name of their folder", () => {
  const known = ["tools", "docs"]
    .flatMap((name) => filesUnder(`packages/${name}/src`))
    .flatMap((file) => importsOf(file));
  expect(known.filter((file) => file.startsWith("supabase/"))).toEqual([]);
});

describe("pages", () => {
  test("a flow knows kit and never another flow; kit knows none", () => {
    const flowOf = (file: string) => file.slice(PAGES.length + 1).split("/")[0] ?? "";
    const folders = readdirSync(ROOT + PAGES, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    expect(folders.map(({ name }) => name).sort()).toEqual([
      "claim",
      "consent",
      "home",
      "kit",
      "logo",
      "mandate",
      "mijn",
      "parts",
      "portal",
    ]);
    const inFolders = filesUnder(PAGES).filter((file) => folders.some(({ name }) => flowOf(file) === name));
    const known = graphOf(inFolders, (file) => (file.startsWith(`${PAGES}/`) ? flowOf(file) : ""));
    for (const { name } of folders)
      expect([name, known.get(name)?.filter((each) => each !== "")]).toEqual([name, name === "kit" ? [] : ["kit"]]);
  });
});

test("what is shared knows only what lies below it: foundation, look, values, auth, then http and domain, which know nothing of each other, then endpoints of two functions", () => {
  const allowed: Record<string, string[]> = {
    foundation: [],
    look: [],
    values: ["foundation"],
    auth: ["foundation", "values"],
    http: ["foundation", "values", "auth"],
    domain: ["foundation", "values", "auth"],
    endpoints: ["foundation", "values", "auth", "http", "domain"],
  };
  const known = graphOf(filesUnder(SHARED), (file) => (file.startsWith(`${SHARED}/`) ? folderOf(file) : file));
  expect([...known.keys()].sort()).toEqual(
    Object.keys(allowed)
      .sort()
      .map((name) => `${SHARED}/${name}`),
  );
  for (const [folder, others] of known)
    expect([
      folder,
      others.filter((each) => !allowed[folder.slice(SHARED.length + 1)]?.includes(each.slice(SHARED.length + 1))),
    ]).toEqual([folder, []]);
});

test("a package that many files need is named by one of ours: Deno looks it up again for each file that names it", () => {
  const naming = (name: string) =>
    everything.filter(
      (file) =>
        /^(?:supabase\/functions|packages\/shared)\//.test(file) &&
        new RegExp(`^(?:import (?!type)|export).* from "${name}"`, "m").test(readFileSync(ROOT + file, "utf8")),
    );
  expect(naming("zod")).toEqual([`${SHARED}/foundation/zod.ts`]);
  expect(naming("hono/html").filter((file) => file.startsWith(`${PAGES}/`))).toEqual([`${PAGES}/kit/html.ts`]);
});

test("the schemas of what SQL answers are for the tests: everything else takes their types, and starts without them", () => {
  const source = (file: string) => readFileSync(ROOT + file, "utf8");
  const schemas = [
    ...everything.filter((file) => source(file).includes("interface SqlAnswers extends")),
    ...["answers", "mail/answers"].map((name) => `${SHARED}/domain/${name}.ts`),
  ];
  expect(schemas.length).toBeGreaterThan(20);
  const running = everything.filter((file) => !schemas.includes(file));
  const taken = running.flatMap((file) =>
    [...source(file).matchAll(/^(?:import (?!type )|export (?!type )\{)[^;]*? from ("[^"]+");/gms)]
      .flatMap(([, name]) => importsOf(file, `from ${name}`))
      .filter((name) => schemas.includes(name))
      .map((name) => `${file} imports ${name}`),
  );
  expect(taken).toEqual([]);
});

test("nothing asserts what SQL answered: a schema says it", () => {
  const asserted = /JSON\.parse\(\s*await (?:this\.#run|\w*[cC]all)\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\s*\) as /;
  expect("const due = JSON.parse(await call('lease', { key: keyOf(environment) })) as Due[];").toMatch(asserted);
  expect(everything.filter((file) => asserted.test(readFileSync(ROOT + file, "utf8")))).toEqual([]);
});

test("what writes PDF is in the function that does, and in no other: it is the largest of all packages", () => {
  const importing = everything.filter((file) =>
    /(?:\bfrom|\bimport\(?) ?"(?:pdfkit|fontkit)\b/.test(readFileSync(ROOT + file, "utf8")),
  );
  expect(importing.map(folderOf)).not.toEqual([]);
  expect(importing.filter((file) => folderOf(file) !== `${FUNCTIONS}/documents`)).toEqual([]);
});

test("every exported function, constant and class is named by a file that imports it", () => {
  const readers = [...everything, ...["tests", "examples", "trials"].flatMap(filesUnder)];
  const importers = new Map<string, Set<string>[]>();
  for (const reader of readers) {
    const words = new Set(readFileSync(ROOT + reader, "utf8").match(/\w+/g));
    for (const file of new Set(importsOf(reader))) importers.set(file, [...(importers.get(file) ?? []), words]);
  }
  // what write_fonts.ts exports is mostly the text of other modules
  const sources = everything.filter((file) => !file.endsWith(".d.ts") && !file.endsWith("/write_fonts.ts"));
  const exported = sources.flatMap((file) =>
    [...readFileSync(ROOT + file, "utf8").matchAll(/^export (?:async )?(?:function|const|class) (\w+)/gm)].map(
      ([, name = ""]) => ({ file, name }),
    ),
  );
  expect(exported.length).toBeGreaterThan(1_000);
  expect(
    exported
      .filter(({ file, name }) => !importers.get(file)?.some((words) => words.has(name)))
      .map(({ file, name }) => `${file} ${name}`),
  ).toEqual([]);
});
