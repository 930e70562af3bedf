// What a function weighs, because that is what its first answer waits for.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { functionFolders, weigh } from "../../packages/tools/src/bundle.ts";

/** What each loads before its first request: packages, and thousands of bytes at most, minified; and how many it is with all it may load. */
const BUNDLES: Record<string, { packages: string[]; start: number; whole: number }> = {
  "cpo-v1": { packages: ["hono"], start: 65, whole: 480 },
  // with the description of the API
  // of which openapi.json, that it serves, is all but 150: examples of every webhook, and each event by its type
  docs: { packages: ["hono"], start: 65, whole: 750 },
  // with what writes PDF, and its letters; of these 486 are Brotli's, for which fontkit has no use here and cannot do without
  documents: { packages: ["hono"], start: 65, whole: 1410 },
  gateway: { packages: ["hono"], start: 65, whole: 285 },
  "oauth-authorize": { packages: ["hono"], start: 65, whole: 265 },
  "oauth-revoke": { packages: ["hono"], start: 65, whole: 265 },
  "oauth-token": { packages: ["hono"], start: 65, whole: 280 },
  // with what reads files of customers, 35 of it for workbooks, and logos; 94 are the Auth client of supabase-js, which is loaded when somebody signs in or
  // gets a login
  pages: { packages: ["hono"], start: 65, whole: 1115 },
  partner: { packages: ["hono"], start: 70, whole: 550 },
  personal: { packages: ["hono"], start: 65, whole: 285 },
  // with the Auth client as well, because it claims drafts
  sandbox: { packages: ["hono"], start: 65, whole: 585 },
  // with what sends webhooks and connects to nothing but what was judged
  worker: { packages: ["hono"], start: 65, whole: 900 },
};

test("every function is weighed", () => {
  expect(functionFolders()).toEqual(Object.keys(BUNDLES).sort());
});

test("a file beside the functions is none, such as the .env that npm run supabase:env writes", () => {
  const root = mkdtempSync(join(tmpdir(), "ere-functions-"));
  try {
    mkdirSync(join(root, "supabase/functions/partner"), { recursive: true });
    writeFileSync(join(root, "supabase/functions/.env"), "");
    expect(functionFolders(`${root}/`)).toEqual(["partner"]);
  } finally {
    rmSync(root, { recursive: true });
  }
});

test.each(Object.entries(BUNDLES))(
  "%s starts with what a request always needs, and is no larger than it says",
  async (slug, { packages, start, whole }) => {
    const built = await weigh(slug);
    expect(built.packages, "the rest is loaded where it is used").toEqual(packages);
    expect(built.start).toBeLessThan(start * 1000);
    expect(built.whole).toBeLessThan(whole * 1000);
  },
);
