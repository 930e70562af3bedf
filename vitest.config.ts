import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

const UNIT = "tests/unit/**/*.test.ts";

export default defineConfig({
  test: {
    reporters: ["default", "./tests/harness/summary_reporter.ts"],
    pool: "forks",
    // files share the modules of their process: loading them anew takes half a second of processor time for each file
    isolate: false,
    // four files at a time on two cores: a test also waits for timers, other programs and time limits, and a percentage ends at 100
    maxWorkers: availableParallelism() * 2,
    // a test waits for a real database, sometimes for real processes; these limits end one that hangs, not one on a slow machine
    testTimeout: 600_000,
    hookTimeout: 600_000,
    // what is waited for comes at once or a little later, however busy the machine is
    expect: { poll: { timeout: 120_000 } },
    // the shell of the person who runs the tests must not change what they prove
    env: { TZ: "UTC" },
    projects: [
      { extends: true, test: { name: "unit", include: [UNIT] } },
      {
        extends: true,
        test: {
          name: "database",
          include: ["tests/**/*.test.ts"],
          exclude: [UNIT],
          globalSetup: "tests/harness/global_setup.ts",
        },
      },
    ],
  },
});
