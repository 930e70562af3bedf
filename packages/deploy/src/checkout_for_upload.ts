import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "../../local/src/checkout.ts";

/** What the CLI reads when it deploys functions. */
const PARTS = ["deno.json", "openapi.json", "package.json", "packages", "supabase"];

/** A copy of this checkout in a folder of its own, without what is not committed: packages, secrets, and which project the CLI was linked to. */
export function checkoutForUpload(): { folder: string; remove(): void } {
  const folder = mkdtempSync(join(tmpdir(), "ere-checkout-"));
  const left = /\/(node_modules|\.temp|dist|\.env[^/]*)$/;
  for (const part of PARTS)
    cpSync(ROOT + part, join(folder, part), { recursive: true, filter: (name) => !left.test(name) });
  return { folder, remove: () => rmSync(folder, { recursive: true }) };
}
