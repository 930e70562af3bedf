// Every page in the repository leads somewhere: its links, their anchors, and the files it names.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const FILES = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
  cwd: ROOT,
  encoding: "utf8",
})
  .trim()
  .split("\n");
const FOLDERS = new Set(
  FILES.flatMap((file) => file.split("/").map((_, depth, parts) => parts.slice(0, depth).join("/"))),
);
const exists = (path: string) => FILES.includes(path) || FOLDERS.has(path.replace(/\/$/, ""));
const PAGES = FILES.filter((file) => file.endsWith(".md"));

const read = (page: string) => readFileSync(join(ROOT, page), "utf8");
/** What is prose: without code blocks, in which brackets and names are not ours. */
const prose = (page: string) => read(page).replace(/^```.*?^```/gms, "");

/** The anchors of a page, as GitHub makes them of its headings: a repeated one gets a number. */
function anchorsOf(page: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, heading = ""] of prose(page).matchAll(/^#{1,6} +(.*?) *$/gm)) {
    const words = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const slug = words.replace(/[^\p{L}\p{N}\-_ ]/gu, "").replaceAll(" ", "-");
    let anchor = slug;
    for (let count = 1; anchors.has(anchor); count++) anchor = `${slug}-${count}`;
    anchors.add(anchor);
  }
  return anchors;
}

/** Where a page's links point, images included, code spans not. */
const linksOf = (page: string) =>
  [
    ...prose(page)
      .replace(/`[^`\n]*`/g, "")
      .matchAll(/\]\(([^)\s]+)(?: "[^"]*")?\)/g),
  ].map(([, target = ""]) => target);

/** What is wrong with a link, or nothing. */
function fault(page: string, target: string): string | undefined {
  if (/^[a-z]+:/i.test(target)) return "leads out of the repository, where nobody checks it";
  const [path = "", anchor] = target.split("#");
  const file = path === "" ? page : normalize(join(dirname(page), path));
  if (!exists(file)) return `no ${file}`;
  if (anchor !== undefined && !anchorsOf(file).has(anchor)) return `no heading #${anchor} in ${file}`;
}

test.each(PAGES)("every link of %s leads to a file or a heading that is there", (page) => {
  const faults = linksOf(page).map((target) => [target, fault(page, target)]);
  expect(Object.fromEntries(faults.filter(([, what]) => what))).toEqual({});
});

/** A path from the root, without anything to be filled in. */
const PATH = /`((?:supabase|packages|tests|trials|docs|\.github)\/[\w./-]*)`/g;

test.each(PAGES)("every file and folder that %s names is there", (page) => {
  const named = [...prose(page).matchAll(PATH)].map(([, path = ""]) => path);
  expect(named.filter((path) => !exists(path))).toEqual([]);
});

test("every npm script, trial and generated file that a page, program or workflow names is there", () => {
  const { scripts } = JSON.parse(read("package.json"));
  const generated = [...read("packages/tools/src/generate.ts").matchAll(/^ {2}(\w+): \{/gm)].map(([, what]) => what);
  const known = (script: string, what?: string) =>
    script in scripts &&
    (what === undefined ||
      (script === "trial" && exists(`trials/${what}/main.ts`)) ||
      (script === "generate" && generated.includes(what)) ||
      !["trial", "generate"].includes(script));
  const faults = FILES.filter(
    (file) => /\.(?:md|ts|js|ya?ml|toml|sql|json)$/.test(file) && !/^(?:CHANGELOG|examples\/)/.test(file),
  ).flatMap((file) =>
    [...read(file).matchAll(/npm run (?:-s |--silent )?([a-z]+(?::[a-z]+)*)(?: -- (\w+))?/g)]
      .filter(([, script = "", what]) => !known(script, what))
      .map(([words]) => `${file}: ${words}`),
  );
  expect(faults).toEqual([]);
});

test("docs/decisions.md has every section that a test title cites", () => {
  const cited = FILES.filter((file) => file.endsWith(".test.ts")).flatMap((file) =>
    [...read(file).matchAll(/contract (§\d+)/g)].map(([, section = ""]) => section),
  );
  const headings = [...read("docs/decisions.md").matchAll(/^## contract (§\d+) /gm)].map(([, section]) => section);
  expect([...new Set(cited)].filter((section) => !headings.includes(section))).toEqual([]);
});
