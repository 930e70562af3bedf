// The whole product in a folder of its own, as `npm start` runs it, and gone afterwards.

import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { freePort } from "#local/postgres.ts";
import type { Identity } from "#local/processes.ts";
import { startStack } from "#local/runner.ts";
import { readJson, type Stack } from "#local/stack.ts";

export type Trial = {
  stack: Stack;
  /** As the owner of the tables. */
  db: pg.Pool;
  /** Process ids by what they do. */
  processes(): Record<"functions" | "postgres", number>;
  /** Lines of the functions' log that hold a text. */
  logged(text: string): string[];
};

/** Starts the stack, hands it to `use`, and removes all of it, also when the run fails or is interrupted. */
export async function withStack<T>(use: (trial: Trial) => Promise<T>): Promise<T> {
  const data_dir = mkdtempSync(join(tmpdir(), "ere-trial-"));
  const running = await startStack({ host: "sandbox", port: await freePort(), data_dir, fresh: false });
  const db = new pg.Pool({ connectionString: running.stack.database_url, max: 2 });
  db.on("error", () => {}); // a trial may end Postgres
  const stop = async () => {
    await db.end();
    await running.stop();
    rmSync(data_dir, { recursive: true, force: true });
  };
  const interrupted = () => stop().finally(() => process.exit(130));
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, interrupted);
  try {
    return await use({
      stack: running.stack,
      db,
      processes: () => ({
        functions: readJson<{ functions: Identity }>(join(data_dir, "running.json"))?.functions.pid ?? 0,
        postgres: Number(readFileSync(join(data_dir, "postgres/postmaster.pid"), "utf8").split("\n")[0]),
      }),
      logged: (text) =>
        readFileSync(join(data_dir, "functions.log"), "utf8")
          .split("\n")
          .filter((line) => line.includes(text)),
    });
  } finally {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.off(signal, interrupted);
    await stop();
  }
}

/** Resident memory of one process, in MiB. */
export const memoryOf = (pid: number): number =>
  (Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) * 4096) / 2 ** 20;
