// A bench from end to end, over so few rows that its figures say nothing: that it starts, measures and cleans up after itself.

import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { ROOT } from "#local/checkout.ts";

const folder = mkdtempSync(join(tmpdir(), "ere-bench-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (...args: string[]) =>
  promisify(execFile)(process.execPath, [join(ROOT, "trials/bench/main.ts"), ...args], {
    env: { ...process.env, TMPDIR: folder },
  });

test("npm run trial -- bench lists the benches, and refuses what it does not know", async () => {
  const { stdout } = await run();
  expect(stdout).toMatch(/^ {2}read +a position by its reference/m);
  await expect(run("nothing")).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining('no bench "nothing"'),
  });
  await expect(run("read", "--rounds", "1.5")).rejects.toMatchObject({
    code: 2,
    stderr: expect.stringContaining("--rounds is a whole number"),
  });
});

test("a bench answers one JSON document, with the machine and both sides of each figure, and leaves nothing behind", async () => {
  const { stdout } = await run("read", "--accounts", "100", "--rounds", "1", "--seconds", "0.1", "--json");
  const report = JSON.parse(stdout);
  expect(report).toMatchObject({
    bench: "read",
    machine: { cores: expect.any(Number), node: process.versions.node, deno: "2.1.4" },
    options: { accounts: 100, rounds: 1, seconds: 0.1 },
  });
  expect(report.findings).toHaveLength(6);
  for (const { ours, floor, ratio, target, met } of report.findings) {
    expect(ours).toBeGreaterThan(0);
    expect(ratio).toBeCloseTo(ours / floor.value);
    expect(met).toBe(target && ratio >= target.at_least);
  }
  expect(readdirSync(folder).filter((name) => name.startsWith("ere-"))).toEqual([]);
});
