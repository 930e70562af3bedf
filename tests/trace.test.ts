// Keeps TRACE.md true: what it names exists, and no test file is left out of it.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const folder = fileURLToPath(new URL(".", import.meta.url));
/** Every row of every table but its head and the line under it, as its cells. */
const rows = readFileSync(`${folder}TRACE.md`, "utf8")
  .split("\n")
  .filter((line) => line.startsWith("|") && !line.startsWith("| rule ") && !line.startsWith("|---"))
  .map((line) => line.split("|").slice(1, -1));
const references = rows.flatMap(([, tests = ""]) =>
  tests.split("<br>").map((one) => one.trim().replace(/^`+|`+$/g, "")),
);

/** Test files that prove no rule. */
const EXCEPTIONS: Record<string, string> = {
  "trace.test.ts": "proves this page",
  "docs/add_an_endpoint.test.ts": "proves the page of that name",
  "unit/links.test.ts": "proves the links of the pages",
  "unit/work_through.test.ts": "proves a helper",
  "sql/one_rule.test.ts": "compares the places that speak of one rule",
};

/** What is wrong with a reference, or nothing. */
function fault(reference: string): string | undefined {
  const [path = "", ...titles] = reference.split(" › ");
  if (!path.endsWith(".test.ts") || !existsSync(folder + path)) return "no such test file";
  if (titles.length === 0) return "no title";
  // a title is the first argument of a call; what a describe holds comes after it
  let calls = [...readFileSync(folder + path, "utf8").matchAll(/\(\s*["'`](?=(.*))/g)].map(([, rest = ""]) => rest);
  for (const [depth, title] of titles.entries()) {
    const begun = calls.filter((rest) => rest.startsWith(title)).length;
    if (title === "" || begun === 0) return `no title begins with "${title}"`;
    if (depth === 0 && begun > 1) return `${begun} titles begin with "${title}"`;
    calls = calls.slice(calls.findIndex((rest) => rest.startsWith(title)) + 1);
  }
}

test("TRACE.md: every row has a rule and its tests, and no empty cell", () => {
  expect(rows.length).toBeGreaterThan(100);
  expect(rows.filter((cells) => cells.length !== 2 || cells.some((cell) => cell.trim() === ""))).toEqual([]);
});

test("TRACE.md: every test it names is there, by one title only", () => {
  const faults = references.map((reference) => [reference, fault(reference)]).filter(([, what]) => what);
  expect(Object.fromEntries(faults)).toEqual({});
});

test("TRACE.md: every committed test file proves a rule, or is excepted with a reason", () => {
  const files = execFileSync("git", ["ls-files", "*.test.ts"], { cwd: folder, encoding: "utf8" }).trim().split("\n");
  const named = new Set(references.map((reference) => reference.split(" › ")[0]));
  expect(files.filter((file) => !named.has(file) && !(file in EXCEPTIONS))).toEqual([]);
  expect(
    Object.keys(EXCEPTIONS).filter((file) => named.has(file)),
    "no longer an exception",
  ).toEqual([]);
});
