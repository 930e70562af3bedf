import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { faultsOf, listTests, trace } from "../../packages/tools/src/write_trace.ts";

const tests = listTests();

test("every section has a test, every test names a section that is there, or stands in a file that proves no rule", () => {
  expect(faultsOf(tests)).toEqual([]);
});

test("tests/TRACE.md is what the titles say: npm run trace", () => {
  expect(readFileSync(new URL("../TRACE.md", import.meta.url), "utf8")).toBe(trace(tests));
});
