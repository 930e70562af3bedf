// What the titles of tests say: which rule each proves (tests/sections.ts), and the test of each attack in docs/attacks.md.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "#local/checkout.ts";
import { listTests, type Titled, trace } from "../../packages/tools/src/write_trace.ts";
import { BESIDE, SECTIONS } from "../sections.ts";

const tests = listTests();

test("every section has a test, every test names a section that is there, or stands in a file that proves no rule", () => {
  expect(faultsOf(tests)).toEqual([]);
});

test("the page of npm run generate -- trace has every section, and below each the files that prove it", () => {
  const parts = trace(tests).split(/^## /m).slice(1);
  expect(parts.map((part) => part.slice(0, part.indexOf("\n")))).toEqual([
    ...Object.keys(SECTIONS),
    "Beside the specification",
  ]);
  for (const [section] of Object.entries(SECTIONS)) {
    const files = new Set(tests.filter(({ sections }) => sections.includes(section)).map(({ file }) => file));
    const part = parts.find((each) => each.startsWith(`${section}\n`)) ?? "";
    expect([...part.matchAll(/^- \*\*(.*)\*\*$/gm)].map(([, file]) => file)).toEqual([...files].sort());
  }
});

/** `tests/a.test.ts`: words of a title; words of another; `tests/b.test.ts`: … */
const PLACE = /^(?:`tests\/(?<file>[^`]+)`: )?(?<words>.+)$/;

test("every attack of docs/attacks.md has its defence, and tests whose titles have the words it gives", () => {
  const page = readFileSync(join(ROOT, "docs/attacks.md"), "utf8");
  // the sections after them have tables of their own
  const [attacks = ""] = page.split("\n## Chargers\n");
  const rows = attacks.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| attack "));
  const titles = new Map<string, string[]>();
  for (const { file, titles: own } of tests) titles.set(file, [...(titles.get(file) ?? []), own.join(" > ")]);
  const missing = rows.flatMap((row) => {
    const [attack = "", defence = "", places = "", ...more] = row.slice(2, -2).split(" | ");
    if (!attack || !defence || !places || more.length > 0) return [row];
    let file = "";
    return places.split("; ").filter((place) => {
      const { file: named, words = "" } = PLACE.exec(place)?.groups ?? {};
      file = named ?? file;
      return !titles.get(file)?.some((title) => title.includes(words));
    });
  });
  expect(rows.length).toBeGreaterThan(30);
  expect(missing).toEqual([]);
});

/** What is wrong with the titles, in a sentence each. */
function faultsOf(tests: readonly Titled[]): string[] {
  const proved = new Set(tests.flatMap(({ sections }) => sections));
  const known = (section: string) => section in SECTIONS;
  return [
    ...Object.keys(SECTIONS)
      .filter((section) => !proved.has(section))
      .map((section) => `${section} has no test`),
    ...[...proved].filter((section) => !known(section)).map((section) => `${section} is not in tests/sections.ts`),
    ...tests
      .filter(({ file, sections }) => sections.length === 0 && !BESIDE.includes(file))
      .map(({ file, titles }) => `${file}: "${titles.join(" > ")}" begins with no section`),
    ...BESIDE.filter((file) => !tests.some((each) => each.file === file)).map((file) => `${file} has no tests`),
  ];
}
