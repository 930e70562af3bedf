// The bundles of all functions: written by one process of a run for all of them, because that takes six seconds of the processor.

import { cpSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { inject } from "vitest";
import { checkoutForUpload } from "../../packages/tools/src/deploy/checkout_for_upload.ts";

/** A folder of its own, as checkoutForUpload() makes it. */
export async function bundledCheckout(): ReturnType<typeof checkoutForUpload> {
  const folder = mkdtempSync(join(tmpdir(), "ere-checkout-"));
  cpSync(await written(), folder, { recursive: true });
  return { folder, remove: () => rmSync(folder, { recursive: true }) };
}

/** In the folder of this run, which ends with it. */
async function written(): Promise<string> {
  const bundles = join(inject("answered") ?? "", "bundles");
  const turn = `${bundles}.turn`;
  while (!existsSync(bundles)) {
    if (!taken(turn)) {
      await sleep(50);
      continue;
    }
    try {
      if (!existsSync(bundles)) renameSync((await checkoutForUpload()).folder, bundles);
    } finally {
      rmSync(turn, { recursive: true });
    }
  }
  return bundles;
}

/** Whether the turn is ours now: of several processes one makes the folder. */
function taken(turn: string): boolean {
  try {
    mkdirSync(turn);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}
