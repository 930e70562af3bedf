import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "#local/checkout.ts";
import { writeBundles } from "../bundle.ts";

/**
 * What the CLI reads when it deploys functions, in a folder of its own: its settings, and the bundles. From the checkout the CLI would
 * write down which project it talked to, and later commands would follow that.
 */
export async function checkoutForUpload(): Promise<{ folder: string; remove(): void }> {
  const folder = mkdtempSync(join(tmpdir(), "ere-checkout-"));
  cpSync(`${ROOT}supabase/config.toml`, join(folder, "supabase/config.toml"));
  await writeBundles(`${folder}/`);
  return { folder, remove: () => rmSync(folder, { recursive: true }) };
}
