// docs/retention.md says of every table how long its rows are kept and what deletes them.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "#local/checkout.ts";

const folder = join(ROOT, "supabase/schemas");
const sql = readdirSync(folder, { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".sql"))
  .map((name) => readFileSync(join(folder, name), "utf8"))
  .join("\n");
const tables = [...sql.matchAll(/^create (?:unlogged )?table core\.(\w+)/gm)].map(([, name = ""]) => name);

test("every table stands in one row of docs/retention.md, which says how long and what deletes it", () => {
  const rows = readFileSync(join(ROOT, "docs/retention.md"), "utf8")
    .split("\n")
    .filter((line) => line.startsWith("| ") && !line.startsWith("| kind"))
    .map((line) => line.slice(2, -2).split(" | "));
  expect(rows.filter((cells) => cells.length !== 4 || cells.includes(""))).toEqual([]);
  const named = rows.flatMap(([, names = ""]) => [...names.matchAll(/`([\w.]+)`/g)].map(([, name = ""]) => name));
  expect(named.filter((name) => !name.includes(".")).sort()).toEqual(tables.sort());
});

test("what the comment of a table calls personal data is not kept for good", () => {
  const page = readFileSync(join(ROOT, "docs/retention.md"), "utf8");
  const personal = [...sql.matchAll(/^comment on table core\.(\w+) is\s+((?:'[^']*'\s*)+)/gm)].flatMap(
    ([, name = "", text = ""]) =>
      /(?<!No )Personal data/i.test(text) && !/no personal data/i.test(text) ? [name] : [],
  );
  expect(personal.length).toBeGreaterThan(8);
  const forGood = page.split("\n").filter((line) => line.includes("| for good"));
  expect(personal.filter((name) => forGood.some((line) => line.includes(`\`${name}\``)))).toEqual([]);
});
