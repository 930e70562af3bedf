// What a function weighs, because that is what its first answer waits for. A replica takes 0.7 kB of each, one time limit for all that a call waits for 0.2.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { denoProgram, ROOT } from "#local/checkout.ts";
import { functionFolders, INJECTED, weigh, writeBundle } from "../../packages/tools/src/bundle.ts";
import { SCRIPTS } from "../../supabase/functions/pages/kit/script.ts";

/** What each loads before its first request: packages, and thousands of bytes at most, minified; and how many it is with all it may load, about 2 % above its size when the bound was set. */
const BUNDLES: Record<string, { packages: string[]; start: number; whole: number }> = {
  // 38 routes, each with what loads it; 50 of the whole read CSV and workbooks
  "cpo-v1": { packages: ["hono"], start: 73, whole: 562 },
  // with the description of the API
  // of which openapi.json, that it serves, is all but 150: examples of every webhook, and each event by its type
  docs: { packages: ["hono"], start: 68, whole: 826 },
  // with what writes PDF, and its letters
  documents: { packages: ["hono"], start: 68, whole: 886 },
  ocpp: { packages: ["hono"], start: 68, whole: 281 },
  // with what asks platforms for their endpoints
  ocpi: { packages: ["hono"], start: 69, whole: 591 },
  "oauth-authorize": { packages: ["hono"], start: 69, whole: 261 },
  "oauth-revoke": { packages: ["hono"], start: 68, whole: 262 },
  "oauth-token": { packages: ["hono"], start: 69, whole: 274 },
  // with what reads files of customers and of charging data, 35 of it for workbooks, 5 to write an empty one, and logos; 94 are the Auth client of supabase-js, which is loaded when somebody signs in or
  // gets a login
  pages: { packages: ["hono"], start: 70, whole: 1305 },
  partner: { packages: ["hono"], start: 72, whole: 543 },
  personal: { packages: ["hono"], start: 69, whole: 290 },
  // with the Auth client as well, because it claims drafts
  sandbox: { packages: ["hono"], start: 71, whole: 594 },
  // with what sends webhooks, reads CDRs of platforms, and connects to nothing but what was judged
  worker: { packages: ["hono"], start: 70, whole: 921 },
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
    expect(built.whole, "load the new code late, or raise `whole` and say why in the commit").toBeLessThan(
      whole * 1000,
    );
  },
);

test("the script of the pages names nothing that a bundle renames", () => {
  const names = new RegExp(`(?<![.\\w])(?:${Object.keys(INJECTED).join("|")})\\b`);
  expect("a; setTimeout(b)").toMatch(names);
  expect(SCRIPTS.nl.text).not.toMatch(names);
});

test("a bundle reads WOFF2 with the Brotli of the runtime, as fontkit does with its own", async () => {
  // within the checkout, where its imports are found; a fresh `npm ci` has no folder for caches
  mkdirSync(join(ROOT, "node_modules/.cache"), { recursive: true });
  const folder = mkdtempSync(join(ROOT, "node_modules/.cache/woff2-"));
  try {
    const entry = join(folder, "entry.ts");
    writeFileSync(
      entry,
      `import { readFileSync } from "node:fs";
       import { create } from "fontkit";
       const widths = process.argv.slice(2).map((file) => {
         const font = create(readFileSync(file));
         return [font.postscriptName, font.layout("Sanne de Vries").advanceWidth, font.glyphForCodePoint(83).path.toSVG()];
       });
       console.log(JSON.stringify(widths));`,
    );
    await writeBundle(entry, join(folder, "bundle"));
    const fonts = ["woff", "woff2"].map((kind) =>
      join(ROOT, `node_modules/@fontsource/noto-sans/files/noto-sans-latin-400-normal.${kind}`),
    );
    const bundle = join(folder, "bundle/index.js");
    const [woff, woff2] = JSON.parse(
      execFileSync(denoProgram(), ["run", "--quiet", "--no-prompt", "--allow-read", bundle, ...fonts], {
        encoding: "utf8",
      }),
    );
    expect(woff[1]).toBeGreaterThan(1000);
    expect(woff2).toEqual(woff);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
