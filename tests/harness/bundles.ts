// The bundles of all functions: written once for every file of a process, because that takes six seconds of the processor.

import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkoutForUpload } from "../../packages/tools/src/deploy/checkout_for_upload.ts";

let written: ReturnType<typeof checkoutForUpload> | undefined;

/** A folder of its own, as checkoutForUpload() makes it. */
export async function bundledCheckout(): ReturnType<typeof checkoutForUpload> {
  written ??= checkoutForUpload().then((checkout) => {
    process.once("exit", checkout.remove);
    return checkout;
  });
  const folder = mkdtempSync(join(tmpdir(), "ere-checkout-"));
  cpSync((await written).folder, folder, { recursive: true });
  return { folder, remove: () => rmSync(folder, { recursive: true }) };
}
