import { expect, test } from "vitest";
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
