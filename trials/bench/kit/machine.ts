// The machine and the programs that figures are of: of another machine only the ratios say something.

import { execFileSync } from "node:child_process";
import { availableParallelism, cpus, loadavg, release, totalmem, type } from "node:os";
import { denoProgram } from "#local/checkout.ts";

export type Machine = {
  cores: number;
  processor: string;
  memory_gib: number;
  os: string;
  /** Processes that wanted a core in the minute before: well below the cores, or the figures are of others too. */
  load: number;
  node: string;
  deno: string;
};

export function thisMachine(): Machine {
  return {
    cores: availableParallelism(),
    processor: cpus()[0]?.model.trim() ?? "unknown",
    memory_gib: Math.round(totalmem() / 2 ** 30),
    os: `${type()} ${release()}`,
    load: Math.round((loadavg()[0] ?? 0) * 10) / 10,
    node: process.versions.node,
    deno: /^deno (\S+)/.exec(execFileSync(denoProgram(), ["--version"], { encoding: "utf8" }))?.[1] ?? "unknown",
  };
}
