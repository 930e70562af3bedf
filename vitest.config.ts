import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["tests/**/*.test.ts"],
    globalSetup: "tests/harness/global_setup.ts",
    reporters: ["default", "./tests/harness/summary_reporter.ts"],
    pool: "forks",
    // a test waits for a real database, sometimes for a real process
    testTimeout: 15_000,
    hookTimeout: 30_000,
    // the shell of the person who runs the tests must not change what they prove
    env: { TZ: "UTC" },
  },
});
