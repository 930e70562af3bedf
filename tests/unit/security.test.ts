// docs/attacks.md names a test for each attack: one whose title has those words, in the file that it says.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "#local/checkout.ts";
import { listTests } from "../../packages/tools/src/write_trace.ts";

/** `tests/a.test.ts`: words of a title; words of another; `tests/b.test.ts`: … */
const PLACE = /^(?:`tests\/(?<file>[^`]+)`: )?(?<words>.+)$/;

test("every attack of docs/attacks.md has its defence, and tests whose titles have the words it gives", () => {
  const page = readFileSync(join(ROOT, "docs/attacks.md"), "utf8");
  // the sections after them have tables of their own
  const [attacks = ""] = page.split("\n## Chargers\n");
  const rows = attacks.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| attack "));
  const titles = new Map<string, string[]>();
  for (const { file, titles: own } of listTests()) titles.set(file, [...(titles.get(file) ?? []), own.join(" > ")]);
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
