// The bundles of all functions: written once a run, because that takes six seconds of the processor.

import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkoutForUpload } from "../../packages/tools/src/deploy/checkout_for_upload.ts";
import { onceARun } from "./once_a_run.ts";

/** A folder of its own, as checkoutForUpload() makes it. */
export async function bundledCheckout(): ReturnType<typeof checkoutForUpload> {
  const folder = mkdtempSync(join(tmpdir(), "ere-checkout-"));
  const written = await onceARun("bundles", async () => (await checkoutForUpload()).folder);
  cpSync(written, folder, { recursive: true });
  return { folder, remove: () => rmSync(folder, { recursive: true }) };
}
