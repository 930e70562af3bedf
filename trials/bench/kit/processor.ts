// Processor time of processes, from proc(5). Linux only: elsewhere nothing is said about it.

import { readdirSync, readFileSync } from "node:fs";
import { platform } from "node:os";

/** proc(5): clock ticks are a hundredth of a second on every Linux there is. */
const TICK_MS = 10;

/** User and system time of a process, in milliseconds; with that of its children, living and gone, where asked. Null elsewhere. */
export function processorTime(pid: number, { children = false } = {}): number | null {
  if (platform() !== "linux") return null;
  const own = read(pid);
  if (!own) return null;
  const ticks = children
    ? own.used + own.gone + childrenOf(pid).reduce((sum, child) => sum + (read(child)?.used ?? 0), 0)
    : own.used;
  return ticks * TICK_MS;
}

function read(pid: number): { parent: number; used: number; gone: number } | null {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /s, "")
      .split(" ")
      .map(Number);
    // `ppid` is the 4th field, `utime` to `cstime` the 14th to 17th; the first two are cut off
    const [parent = 0, utime = 0, stime = 0, cutime = 0, cstime = 0] = [fields[1], ...fields.slice(11, 15)];
    return { parent, used: utime + stime, gone: cutime + cstime };
  } catch {
    return null; // it is gone
  }
}

/** What a process started and still runs. @throws where there is no proc(5). */
export function childrenOf(pid: number): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((each) => read(each)?.parent === pid);
}
