// The examples of openapi.json: tests/contract/examples.json is what a world answers. `npm run generate -- examples` writes it again.

import { readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createOAuthWorld } from "../oauth/oauth_world.ts";
import { recordExamples } from "./record_examples.ts";

const FILE = new URL("examples.json", import.meta.url);

/** One example a line: openapi.json has them to read. */
const inLines = (kinds: object) =>
  `{\n${Object.entries(kinds)
    .map(([kind, examples]) => {
      const lines = Object.entries(examples).map((named) => named.map((each) => JSON.stringify(each)).join(": "));
      return `${JSON.stringify(kind)}: {\n${lines.join(",\n")}\n}`;
    })
    .join(",\n")}\n}\n`;

test("§9.5 tests/contract/examples.json is what every endpoint answers, and every error: npm run generate -- examples", async () => {
  const world = await createOAuthWorld({ limits: "lifted" });
  try {
    const recorded = inLines(await recordExamples(world));
    if (process.env.RECORD_EXAMPLES) writeFileSync(FILE, recorded);
    expect(JSON.parse(readFileSync(FILE, "utf8"))).toEqual(JSON.parse(recorded));
  } finally {
    await world.close();
  }
});
