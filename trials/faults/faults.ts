// What is broken, one after the other.

import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "../kit/random.ts";
import type { Trial } from "../kit/stack.ts";

export type Scene = { trial: Trial; random: Random };
export type Fault = {
  name: string;
  /** The part of the stack that ends by it, if one does. */
  ends?: "functions" | "gateway" | "postgres";
  /** Breaks something, and resolves when it is no longer broken. */
  happen: (scene: Scene) => Promise<void>;
};

const kill =
  (part: "functions" | "gateway" | "postgres"): Fault["happen"] =>
  async ({ trial }) => {
    process.kill(trial.processes()[part], "SIGKILL");
  };

/** Processes of a Postgres server, itself included. */
export function processesOf(postmaster: number): number[] {
  const children = readdirSync("/proc").filter((name) => {
    if (!/^\d+$/.test(name)) return false;
    try {
      const [, parent] = readFileSync(`/proc/${name}/stat`, "utf8")
        .replace(/^.*\) /s, "")
        .split(" ");
      return Number(parent) === postmaster;
    } catch {
      return false; // it has just ended
    }
  });
  return [postmaster, ...children.map(Number)];
}

function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids)
    try {
      process.kill(pid, name);
    } catch {
      // it has just ended
    }
}

const FROZEN_MS = 10_000;

export const FAULTS: readonly Fault[] = [
  { name: "Postgres is killed", ends: "postgres", happen: kill("postgres") },
  {
    name: "a backend of Postgres is killed",
    async happen({ trial, random }) {
      const { rows } = await trial.db.query<{ pid: number }>(
        "select pid from pg_stat_activity where usename like 'edge%' order by state = 'active' desc, pid",
      );
      if (rows.length > 0) process.kill(random.pick(rows).pid, "SIGKILL");
    },
  },
  { name: "the functions are killed", ends: "functions", happen: kill("functions") },
  { name: "the OCPP gateway is killed", ends: "gateway", happen: kill("gateway") },
  {
    name: "Postgres is frozen for 10 s",
    async happen({ trial }) {
      const pids = processesOf(trial.processes().postgres);
      signal(pids, "SIGSTOP");
      await sleep(FROZEN_MS);
      signal(pids, "SIGCONT");
    },
  },
];
