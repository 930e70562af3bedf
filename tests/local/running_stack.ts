// Starts the program that `npm start` runs, as a person does, and ends whatever is left of it.

import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { freePort, stopLeftover } from "#local/postgres.ts";
import { end, type Identity, identify, isRunning } from "#local/processes.ts";
import { readJson, type Stack } from "#local/stack.ts";
import { prepare, prepareSandbox } from "../harness/prepared.ts";

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

/** One data folder and one port, over several starts; empty unless it is to hold a migrated database, or that of a sandbox that was started. */
export async function place({ prepared }: { prepared?: "migrated" | "sandbox" } = {}) {
  const data_dir = mkdtempSync(join(tmpdir(), "ere-stack-"));
  if (prepared) await (prepared === "sandbox" ? prepareSandbox : prepare)(data_dir);
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

/** As the demo's client of the API. */
export async function token({ auth_url, demo }: Stack): Promise<Response> {
  const { client_id, client_secret } = demo.cpo;
  return fetch(`${auth_url}/oauth-token`, {
    method: "POST",
    body: new URLSearchParams({ grant_type: "client_credentials", client_id, client_secret }),
  });
}

function account({ auth }: Stack, path: string, email: string): Promise<Response> {
  return fetch(`${auth.url}/auth/v1${path}`, {
    method: "POST",
    headers: { apikey: auth.publishable_key, "Content-Type": "application/json" },
    body: JSON.stringify({ email, password: "long enough" }),
  });
}

export const signUp = (stack: Stack, email: string) => account(stack, "/signup", email);
export const signIn = (stack: Stack, email: string) => account(stack, "/token?grant_type=password", email);

/** Whether all of these have ended, after a minute at most. */
export async function gone(...pids: (number | undefined)[]) {
  const deadline = Date.now() + 60_000;
  while (pids.some((pid) => pid !== undefined && identify(pid)) && Date.now() < deadline) await sleep(20);
  return pids.every((pid) => pid === undefined || !identify(pid));
}
