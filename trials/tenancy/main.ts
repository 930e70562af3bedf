// Every identifier with every credential of somebody else, at every endpoint and page: tests/tenancy in full.

import { spawnSync } from "node:child_process";
import { ROOT } from "#local/checkout.ts";

for (const TENANCY of ["every", "write"]) {
  const argv = [`${ROOT}node_modules/vitest/vitest.mjs`, "run", "tests/tenancy", ...process.argv.slice(2)];
  const { status } = spawnSync(process.execPath, argv, {
    cwd: ROOT,
    stdio: "inherit",
    env: { ...process.env, TENANCY },
  });
  if (status !== 0) process.exit(status ?? 1);
}
