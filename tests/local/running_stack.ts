// Starts the program that `npm start` runs, as a person does, and ends whatever is left of it.

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { freePort, stopLeftover } from "#local/postgres.ts";
import { end, type Identity, isRunning } from "#local/processes.ts";
import { readJson, type Stack } from "#local/stack.ts";
import { prepare } from "../harness/prepared.ts";

const MAIN = fileURLToPath(new URL("../../packages/local/src/main.ts", import.meta.url));

type Run = { child: ChildProcess; output(): string; exit: Promise<number | null> };

export function run(...args: string[]): Run {
  const child = spawn(process.execPath, [MAIN, ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    // as under npm: it ends when its parent is gone, also when the tests are killed
    env: { ...process.env, npm_lifecycle_event: "start" },
  });
  let output = "";
  child.stdout.on("data", (chunk) => (output += chunk));
  child.stderr.on("data", (chunk) => (output += chunk));
  return { child, output: () => output, exit: new Promise((resolve) => child.once("close", resolve)) };
}

/** One data folder and one port, over several starts; empty unless it is to hold a migrated database. */
export async function place({ prepared = false } = {}) {
  const data_dir = mkdtempSync(join(tmpdir(), "ere-stack-"));
  if (prepared) await prepare(data_dir);
  const port = await freePort();
  let latest: Run | undefined;
  const running = () => readJson<{ runner: Identity; functions: Identity }>(join(data_dir, "running.json"));
  return {
    data_dir,
    port,
    args: ["--port", String(port), "--data-dir", data_dir],
    /** Everything that works in this folder: the runner, its guard, Postgres, its replica and Deno. */
    processes() {
      const serverIn = (folder: string) => {
        const lock = join(data_dir, folder, "postmaster.pid");
        return existsSync(lock) ? Number(readFileSync(lock, "utf8").split("\n")[0]) : undefined;
      };
      const record = running();
      return {
        runner: record?.runner.pid,
        functions: record?.functions.pid,
        postmaster: serverIn("postgres"),
        replica: serverIn("replica"),
      };
    },
    async start(...args: string[]): Promise<{ run: Run; stack: Stack }> {
      const begun = run("--port", String(port), "--data-dir", data_dir, ...args);
      latest = begun;
      let exited = false;
      begun.exit.then(() => {
        exited = true;
      });
      for (;;) {
        const stack = readJson<Stack>(join(data_dir, "stack.json"));
        if (stack && stack.process.pid === begun.child.pid) return { run: begun, stack };
        if (exited) throw new Error(`did not start:\n${begun.output()}`);
        await sleep(10);
      }
    },
    async remove() {
      const record = running();
      latest?.child.kill("SIGKILL");
      if (record && isRunning(record.functions)) await end(record.functions, ["SIGKILL"], 2000);
      for (const folder of ["replica", "postgres"]) await stopLeftover(join(data_dir, folder));
      rmSync(data_dir, { recursive: true, force: true });
    },
  };
}
