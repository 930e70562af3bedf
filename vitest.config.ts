import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const UNIT = "tests/unit/**/*.test.ts";
/**
 * Whole programs, started as people and platforms start them: a stack, the guides, a deployment, a container, the client. They take
 * longest, and Vitest begins with the project whose name comes first.
 */
const COMMANDS = [
  ...["bench", "client", "deno", "deploy", "docs", "local", "trials"].map((folder) => `tests/${folder}/**/*.test.ts`),
  ...["oauth/npm_start", "ocpp/container", "unit/bundles"].map((file) => `tests/${file}.test.ts`),
];
const DATABASE = "tests/harness/global_setup.ts";

export default defineConfig({
  test: {
    reporters: ["default", "./tests/harness/summary_reporter.ts"],
    pool: "forks",
    // Node runs the TypeScript itself, as it does under npm start
    experimental: { viteModuleRunner: false },
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
    env: {
      TZ: "UTC",
      // the programs that tests start are the same few, and more than half of their start is reading our TypeScript
      NODE_COMPILE_CACHE: fileURLToPath(new URL("node_modules/.cache/node", import.meta.url)),
    },
    projects: [
      { extends: true, test: { name: "unit", include: [UNIT], exclude: COMMANDS } },
      {
        extends: true,
        test: {
          name: "database",
          include: ["tests/**/*.test.ts"],
          exclude: [UNIT, ...COMMANDS],
          globalSetup: DATABASE,
        },
      },
      { extends: true, test: { name: "commands", include: COMMANDS, globalSetup: DATABASE } },
    ],
  },
});
