// Has axe look at every page in both languages and themes, at every width; npm test looks once.

import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ROOT } from "#local/checkout.ts";

const HELP = `Has axe look at every page in both languages, light and dark, on a phone, on a desk and at 200 %.
npm test looks at each page once, light and on a desk.

  npm run trial -- accessibility [options] [part of a test file's name …]

  --screenshots <folder>   keeps a PNG of every look
`;
/** In the title of every test that looks at a page. */
const TITLE = "axe finds nothing";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { screenshots: { type: "string" }, help: { type: "boolean", default: false } },
});
if (values.help) process.stdout.write(HELP);
else {
  const tests = join(ROOT, "tests");
  const files = readdirSync(tests, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".test.ts") && readFileSync(join(tests, name), "utf8").includes(TITLE))
    .map((name) => `tests/${name}`)
    .filter((name) => positionals.length === 0 || positionals.some((part) => name.includes(part)));
  const { status } = spawnSync(
    process.execPath,
    [join(ROOT, "node_modules/vitest/vitest.mjs"), "run", "-t", TITLE, ...files],
    {
      cwd: ROOT,
      stdio: "inherit",
      env: { ...process.env, LOOKS: "every", ...(values.screenshots ? { SCREENSHOTS: values.screenshots } : {}) },
    },
  );
  process.exitCode = status ?? 1;
}
