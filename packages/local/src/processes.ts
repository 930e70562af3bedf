// Processes that outlive the one that started them, told apart from strangers that were given the same number later.

import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { platform } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";

export type Identity = { pid: number; started: string };

/** Null when no such process runs. */
export function identify(pid: number): Identity | null {
  if (platform() !== "linux") {
    const started = spawnSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8" }).stdout?.trim();
    return started ? { pid, started } : null;
  }
  try {
    // proc(5): the second field, the name, may itself hold spaces and brackets; `state` is the 3rd, `starttime` the 22nd
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ");
    const [state, started] = [fields[0], fields[19]];
    return started && state !== "Z" ? { pid, started } : null;
  } catch {
    return null;
  }
}

export function isRunning(process: Identity): boolean {
  return identify(process.pid)?.started === process.started;
}

/** Sends the signals in turn, each with some time to take effect, until the process is gone. */
export async function end(target: Identity, signals: NodeJS.Signals[], patienceMs: number): Promise<void> {
  for (const signal of signals) {
    if (!isRunning(target)) return;
    try {
      process.kill(target.pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error; // it ended by itself in between
    }
    const deadline = Date.now() + patienceMs;
    while (isRunning(target) && Date.now() < deadline) await sleep(20);
  }
}
