// A folder that takes long to make: one process of a run makes it for all of them.

import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { inject } from "vitest";

/** Where it is: in the folder of this run, and it ends with it. */
export async function onceARun(name: string, make: () => Promise<string>): Promise<string> {
  const made = join(inject("answered") ?? "", name);
  const turn = `${made}.turn`;
  while (!existsSync(made)) {
    if (!taken(turn)) {
      await sleep(50);
      continue;
    }
    try {
      if (!existsSync(made)) renameSync(await make(), made);
    } finally {
      rmSync(turn, { recursive: true });
    }
  }
  return made;
}

/** Whether the turn is ours now. */
function taken(turn: string): boolean {
  try {
    mkdirSync(turn);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}
