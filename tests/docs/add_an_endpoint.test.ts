// docs/add_an_endpoint.md, done: its code is put into a copy of the repository, compiled, and its test runs there.

import { execFile } from "node:child_process";
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { extendTemplate } from "../harness/template.ts";

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PAGE = readFileSync(join(ROOT, "docs/add_an_endpoint.md"), "utf8");

const OWN_TEST = "tests/cpo-v1/list_account_chargers.test.ts";

/** The code blocks of the page under the line that says which file each is, or changes. */
const BLOCKS = [...PAGE.matchAll(/^(New|Changed): \*\*(\S+)\*\*\n\n```\w+\n(.*?)^```$/gms)].map(
  ([, kind, path = "", code = ""]) => ({ kind, path, code }),
);

/** A text in which the lines of a diff stand as they were, as it reads afterwards. */
function changed(text: string, diff: string): string {
  const lines = diff.trimEnd().split("\n");
  const side = (other: string) =>
    lines.flatMap((line) => (line.startsWith(other) ? [] : [`${line.slice(1)}\n`])).join("");
  const before = side("+");
  expect(text.split(before).length, `stands in the file, once:\n${before}`).toBe(2);
  return text.replace(before, () => side("-"));
}

const folder = mkdtempSync(join(tmpdir(), "ere-example-"));
const at = (path: string) => join(folder, path);

beforeAll(async () => {
  chmodSync(folder, 0o755); // Postgres, which is not root, has to get in
  for (const path of [
    "supabase",
    "packages",
    "tests",
    "trials",
    "docs",
    "deno.json",
    "openapi.json",
    "package.json",
    "tsconfig.json",
    "vitest.config.ts",
  ])
    cpSync(join(ROOT, path), at(path), { recursive: true, filter: (name) => !name.endsWith("/node_modules") });
  // package by package, because the copy keeps databases of its own beside them
  mkdirSync(at("node_modules"));
  for (const name of readdirSync(join(ROOT, "node_modules")))
    if (name !== ".cache") symlinkSync(join(ROOT, "node_modules", name), at(`node_modules/${name}`));
  symlinkSync(join(ROOT, "packages/client/node_modules"), at("packages/client/node_modules"));
  for (const { kind, path, code } of BLOCKS) {
    mkdirSync(dirname(at(path)), { recursive: true });
    writeFileSync(at(path), kind === "New" ? code : changed(readFileSync(at(path), "utf8"), code));
  }
  // npm run migration has a test of its own: a database that lacks the function gets it by these two files
  const files = ["chargers/list_account_chargers.sql", "last.sql"];
  await extendTemplate(folder, files.map((file) => readFileSync(at(`supabase/schemas/${file}`), "utf8")).join("\n"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A program of a package, run in the copy; what it said where it failed. */
const program = (path: string, ...args: string[]) =>
  run(process.execPath, [path, ...args], { cwd: folder, env: { ...process.env, NO_COLOR: "1" } }).catch((error) => {
    throw new Error(`${path} ${args.join(" ")}:\n${error.stdout}${error.stderr}`);
  });

test("docs/add_an_endpoint.md names a rule, a declaration, a test, and what they change", () => {
  expect(BLOCKS.map(({ kind, path }) => `${kind} ${path}`)).toEqual([
    "New supabase/schemas/chargers/list_account_chargers.sql",
    "New supabase/functions/cpo-v1/list_account_chargers.ts",
    "Changed supabase/functions/cpo-v1/app.ts",
    "New tests/cpo-v1/list_account_chargers.test.ts",
    "Changed tests/contract/samples.ts",
  ]);
});

test("docs/add_an_endpoint.md: the code compiles, and npm run openapi describes the endpoint", async () => {
  await run("npm", ["run", "openapi"], { cwd: folder });
  // what it adds and changes, what is made of that, and the tests it names: npm run types compiles the rest
  const written = BLOCKS.flatMap(({ path }) => (path.endsWith(".ts") ? [path] : []));
  const files = [
    ...written,
    "packages/client/src/index.ts",
    "tests/contract/every_endpoint.test.ts",
    "tests/harness/global_setup.ts",
  ];
  writeFileSync(at("tsconfig.page.json"), JSON.stringify({ extends: "./tsconfig.json", include: [], files }));
  await program("node_modules/typescript/bin/tsc", "--project", "tsconfig.page.json", "--singleThreaded");
  const { paths } = JSON.parse(readFileSync(at("openapi.json"), "utf8"));
  expect(paths["/v1/accounts/{account_id}/chargers"].get.operationId).toBe("listAccountChargers");
});

test("docs/add_an_endpoint.md: the endpoint answers, and the tests that cover every endpoint and function take it", async () => {
  const own = BLOCKS.find(({ path }) => path === OWN_TEST)?.code ?? "";
  const titles = [...own.matchAll(/^test\("(.*?)"/gm)].map(([, title = ""]) => title);
  const derived = ["GET /v1/accounts/.account_id./chargers", "functions of api"];
  const pattern = [...titles, ...derived].map((title) => title.replace(/[()]/g, ".")).join("|");
  await program(
    "node_modules/vitest/vitest.mjs",
    ...["run", OWN_TEST, "tests/sql/schema_rules.test.ts", "tests/contract/every_endpoint.test.ts"],
    ...["-t", pattern, "--reporter", "json", "--outputFile", at("report.json")],
  );
  const { testResults, numFailedTests } = JSON.parse(readFileSync(at("report.json"), "utf8"));
  const passed: number[] = testResults.map(
    ({ assertionResults }: { assertionResults: { status: string }[] }) =>
      assertionResults.filter(({ status }) => status === "passed").length,
  );
  expect([numFailedTests, passed.length, Math.min(...passed)]).toEqual([0, 3, titles.length]);
});
