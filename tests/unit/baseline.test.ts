// Before the release, supabase/migrations is one file, written from supabase/schemas.

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ROOT } from "#local/checkout.ts";
import { changedMigrations } from "../../packages/tools/src/breaking_changes.ts";
import { main } from "../../packages/tools/src/migration.ts";
import { isReleased } from "../../packages/tools/src/released.ts";
import { BASELINE, baseline, baselineFault, UPGRADE_TEST } from "../../packages/tools/src/schema_files.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "ere-baseline-"));
  for (const path of ["CHANGELOG.md", "supabase/config.toml", "supabase/migrations", "supabase/schemas"])
    cpSync(join(ROOT, path), join(root, path), { recursive: true });
  change("CHANGELOG.md", () => "# Changelog\n\n## Unreleased\n");
  writeFileSync(join(root, BASELINE), baseline(root));
});
afterEach(() => rmSync(root, { recursive: true }));

const read = (file: string) => readFileSync(join(root, file), "utf8");
const change = (file: string, by: (text: string) => string) => writeFileSync(join(root, file), by(read(file)));
const release = () => change("CHANGELOG.md", () => "# Changelog\n\n## Unreleased\n\n## 1.0.0 (2027-01-31)\n");
const CLOCK = "supabase/schemas/foundation/clock.sql";

test("the baseline of this checkout is current, and the only migration until the release", () => {
  expect(baselineFault(ROOT)).toBeNull();
});

test("a schema file that changed is noticed, and the message names the command, which repairs it", async () => {
  change(CLOCK, (text) => `${text}-- more\n`);
  await expect(main(["--check"], root)).rejects.toThrow(/baseline\.sql is not what .* npm run migration -- --baseline/);
  await main(["--baseline"], root);
  await main(["--check"], root);
  expect(read(BASELINE)).toContain("-- more\n");
});

test("a second migration is refused until the release", async () => {
  writeFileSync(join(root, "supabase/migrations/20270101000000_more.sql"), "");
  await expect(main(["--check"], root)).rejects.toThrow("Delete 20270101000000_more.sql from supabase/migrations.");
});

test("before the release no migration is written: none is needed, which is said", async () => {
  change(CLOCK, (text) => `${text}-- more\n`);
  await expect(main(["add_note"], root)).rejects.toThrow(/No migration is needed before the release, because no/);
  expect(readdirSync(join(root, "supabase/migrations"))).toEqual([BASELINE.split("/").at(-1)]);
  expect(read(BASELINE)).not.toContain("-- more\n");
});

test("after the release the baseline stands, and more migrations may follow it", async () => {
  change(CLOCK, (text) => `${text}-- more\n`);
  writeFileSync(join(root, "supabase/migrations/20270101000000_more.sql"), "");
  expect([isReleased(root), baselineFault(root)]).toEqual([false, expect.any(String)]);
  release();
  expect(isReleased(root)).toBe(true);
  expect(baselineFault(root)).toBe(
    'The first migration after a release needs tests/sql/upgrade.test.ts: see CONTRIBUTING.md, "Release".',
  );
  mkdirSync(join(root, "tests/sql"), { recursive: true });
  writeFileSync(join(root, UPGRADE_TEST), "");
  expect(baselineFault(root)).toBeNull();
  await expect(main(["--baseline"], root)).rejects.toThrow("The service is released");
  expect(read(BASELINE)).not.toContain("-- more\n");
});

test("a schema file that no pattern of config.toml matches is named, and so is a pattern that matches none", () => {
  writeFileSync(join(root, "supabase/schemas/forgotten.sql"), "");
  change("supabase/config.toml", (text) => text.replace(/^schema_paths = \[/m, '$& "./schemas/nowhere/tables.sql",'));
  expect(() => baseline(root)).toThrow(
    "schema_paths in supabase/config.toml: supabase/schemas/forgotten.sql is missing there, supabase/schemas/nowhere/tables.sql matches no file.",
  );
});

test("after the release a migration that deployed databases ran is named if it changed, or is gone", () => {
  const git = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@example.com", ...args], { cwd: root });
  const commit = () => [git("add", "-A"), git("commit", "-qm", "a commit")];
  git("init", "-q");
  commit();
  change(BASELINE, (text) => `${text}-- more\n`);
  expect(changedMigrations("HEAD", root), "before the release the baseline is written again").toEqual([]);
  release();
  commit();
  writeFileSync(join(root, "supabase/migrations/20270101000000_more.sql"), "");
  expect(changedMigrations("HEAD", root)).toEqual([]);
  change(BASELINE, (text) => `${text}-- more\n`);
  expect(changedMigrations("HEAD", root)).toEqual([BASELINE]);
  rmSync(join(root, BASELINE));
  expect(changedMigrations("HEAD", root)).toEqual([BASELINE]);
});
