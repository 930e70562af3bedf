// npm run fonts: the letters of PDF documents, out of @fontsource/noto-sans, as a module. A function is deployed without any
// file that is not imported, so they travel as text.

import { readFileSync, writeFileSync } from "node:fs";
import { ROOT } from "../../local/src/checkout.ts";

export const FONT_MODULE = "supabase/functions/documents/font_data.ts";

/** Alphabets of one typeface, each a file of its own; of two that have a letter the first gives it. Bold is for our own words. */
const FILES = {
  regular: ["latin", "latin-ext", "greek", "cyrillic", "vietnamese"].map((subset) => `${subset}-400-normal`),
  bold: ["latin-700-normal"],
};

/** The module's text; the same packages give the same text. WOFF: Deno 2.1.4 cannot unpack what WOFF2 is packed with. */
export function fontModule(): string {
  const folder = `${ROOT}node_modules/@fontsource/noto-sans/`;
  const { name, version, license } = JSON.parse(readFileSync(`${folder}package.json`, "utf8"));
  const lists = Object.entries(FILES).map(([style, files]) => {
    const lines = files.map(
      (file) => `  "${readFileSync(`${folder}files/noto-sans-${file}.woff`).toString("base64")}",`,
    );
    return `  ${style}: [\n${lines.map((line) => `  ${line}`).join("\n")}\n  ],`;
  });
  return `// Written by npm run fonts from ${name} ${version} (${license}): Noto Sans, WOFF, base64.

export const FONT_DATA = {
${lists.join("\n")}
} as const;
`;
}

if (import.meta.main) writeFileSync(ROOT + FONT_MODULE, fontModule());
