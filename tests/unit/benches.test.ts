// The benches that `npm run trial -- bench` lists, the files they are in, and the page that says what they found.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "#local/checkout.ts";
import { BENCHES } from "../../trials/bench/benches.ts";

const names = Object.keys(BENCHES).sort();

test("every bench that is listed has a file of its name, and every other file in that folder is what lists them", () => {
  const files = readdirSync(join(ROOT, "trials/bench"), { withFileTypes: true }).filter((entry) => entry.isFile());
  expect(files.map(({ name }) => name).sort()).toEqual(
    ["benches.ts", "main.ts", ...names.map((name) => `${name}.ts`)].sort(),
  );
});

test("each says in one line what it holds against what", () => {
  for (const { about } of Object.values(BENCHES)) {
    expect(about).not.toContain("\n");
    expect(about.length).toBeLessThan(120);
  }
});

test("docs/performance.md has a row for every bench, and for none that is gone", () => {
  const page = readFileSync(join(ROOT, "docs/performance.md"), "utf8");
  const rows = [...page.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name);
  expect([...new Set(rows)].sort()).toEqual(names);
});
