// The whole product in a folder of its own, as `npm start` runs it, and gone afterwards.

import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { freePort, startPostgres } from "#local/postgres.ts";
import type { Identity } from "#local/processes.ts";
import { startStack } from "#local/runner.ts";
import { loadSecrets } from "#local/secrets.ts";
import { readJson, type Stack } from "#local/stack.ts";

export type Trial = {
  stack: Stack;
  /** As the owner of the tables. */
  db: pg.Pool;
  data_dir: string;
  /** Resolves when a part ended so often that it is not started again. */
  broken: Promise<Error>;
  /** Process ids by what they do. */
  processes(): Record<"functions" | "gateway" | "postgres", number>;
  /** Lines of the functions' log that hold a text. */
  logged(text: string): string[];
};

type Options = {
  host?: "sandbox" | "production";
  port?: number;
  /** Of the functions, over the usual ones. */
  variables?: Record<string, string>;
  /** Puts a migrated database into the folder, which spares the first start its migrations. */
  prepare?: (data_dir: string) => Promise<void>;
  /** A disk of this size for the database; needs root. */
  disk_mb?: number;
};

/** Starts the stack, hands it to `use`, and removes all of it, also when the run fails or is interrupted. */
export async function withStack<T>(
  use: (trial: Trial) => Promise<T>,
  { host = "sandbox", port, variables = {}, prepare, disk_mb }: Options = {},
): Promise<T> {
  const data_dir = mkdtempSync(join(tmpdir(), "ere-trial-"));
  const remove = () => {
    if (disk_mb && existsSync(join(data_dir, "postgres"))) spawnSync("umount", ["--lazy", join(data_dir, "postgres")]);
    rmSync(data_dir, { recursive: true, force: true });
  };
  const start = async () => {
    await prepare?.(data_dir);
    if (disk_mb) await giveDisk(data_dir, disk_mb);
    return startStack({ host, port: port ?? (await freePort()), data_dir, fresh: false, variables });
  };
  const running = await start().catch((error: unknown) => {
    remove();
    throw error;
  });
  const db = new pg.Pool({ connectionString: running.stack.database_url, max: 2 });
  db.on("error", () => {}); // a trial may end Postgres
  const stop = async () => {
    await db.end();
    await running.stop();
    remove();
  };
  const interrupted = () => stop().finally(() => process.exit(130));
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, interrupted);
  try {
    return await use({
      stack: running.stack,
      db,
      data_dir,
      broken: running.broken,
      processes: () => ({
        ...pidsOf(data_dir),
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

/** Moves the database of a folder to a small disk, and makes it first where there is none. */
async function giveDisk(data_dir: string, size_mb: number): Promise<void> {
  const folder = join(data_dir, "postgres");
  if (!existsSync(folder)) {
    const password = loadSecrets(data_dir).passwords.supabase_admin;
    const log_file = join(data_dir, "postgres.log");
    await (await startPostgres({ folder, password, durable: true, log_file })).stop();
  }
  const aside = `${folder}.aside`;
  renameSync(folder, aside);
  mkdirSync(folder);
  execFileSync("mount", ["-t", "tmpfs", "-o", `size=${size_mb}m`, "ere-trial", folder], { stdio: "pipe" });
  execFileSync("cp", ["-a", `${aside}/.`, folder]);
  rmSync(aside, { recursive: true });
}

function pidsOf(data_dir: string) {
  const record = readJson<Record<"functions" | "gateway", Identity | null>>(join(data_dir, "running.json"));
  return { functions: record?.functions?.pid ?? 0, gateway: record?.gateway?.pid ?? 0 };
}

/** Resident memory of one process, in MiB. */
export const memoryOf = (pid: number): number =>
  (Number(readFileSync(`/proc/${pid}/statm`, "utf8").split(" ")[1]) * 4096) / 2 ** 20;
