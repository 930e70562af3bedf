// npm run generate -- fonts: the letters of PDF documents, out of @fontsource/public-sans and @fontsource/noto-sans, and of pages,
// out of @fontsource-variable/public-sans, as modules. A function is deployed without any file that is not imported, so they travel as text.

import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { ROOT } from "#local/checkout.ts";

const FONT_MODULE = "supabase/functions/documents/font_data.ts";

/**
 * Alphabets, each a file of its own; of two that have a letter the first gives it. Public Sans is the font of the pages; Noto Sans
 * has the letters that it lacks. Bold is for our own words.
 */
const FILES = {
  regular: [
    "public-sans-latin-400-normal",
    "noto-sans-latin-ext-400-normal",
    "noto-sans-greek-400-normal",
    "noto-sans-cyrillic-400-normal",
    "noto-sans-vietnamese-400-normal",
  ],
  bold: ["public-sans-latin-700-normal"],
};

/** WOFF: Deno 2.1.4 cannot unpack what WOFF2 is packed with. */
function fontModule(): string {
  const packages = ["public-sans", "noto-sans"].map((font) => {
    const { name, version, license } = JSON.parse(
      readFileSync(`${ROOT}node_modules/@fontsource/${font}/package.json`, "utf8"),
    );
    return `${name} ${version} (${license})`;
  });
  const lists = Object.entries(FILES).map(([style, files]) => {
    const lines = files.map((file) => {
      const folder = `${ROOT}node_modules/@fontsource/${file.split("-", 2).join("-")}/files`;
      return `    "${readFileSync(`${folder}/${file}.woff`).toString("base64")}",`;
    });
    return `  ${style}: [\n${lines.join("\n")}\n  ],`;
  });
  return `// Written by npm run generate -- fonts from ${packages.join(" and ")}: WOFF, base64.

export const FONT_DATA = {
${lists.join("\n")}
} as const;
`;
}

const PAGE_FONT_MODULE = "packages/shared/src/look/font_data.ts";
const PAGE_FONT_NAME_MODULE = "packages/shared/src/look/font_name.ts";

/** Every weight in one file. WOFF2, for every browser that has the rest of the style sheet reads it; Latin, for the rest falls back. */
function pageFont() {
  const folder = `${ROOT}node_modules/@fontsource-variable/public-sans/`;
  const { name, version, license } = JSON.parse(readFileSync(`${folder}package.json`, "utf8"));
  const data = readFileSync(`${folder}files/public-sans-latin-wght-normal.woff2`);
  const written = `// Written by npm run generate -- fonts from ${name} ${version} (${license}): Public Sans, Latin, every weight, WOFF2`;
  return { data, written };
}

/** The letters; they are loaded where somebody asks for them. */
function pageFontModule(): string {
  const { data, written } = pageFont();
  return `${written}, base64.

export const FONT_DATA =
  "${data.toString("base64")}";
`;
}

/** The name that every page has, which changes with what is in the file. */
function pageFontNameModule(): string {
  const { data, written } = pageFont();
  const hash = createHash("sha256").update(data).digest("hex").slice(0, 12);
  return `${written}.

/** The file under the pages' root; its name changes with what is in it. */
export const FONT_NAME = "public-sans-${hash}.woff2";
`;
}

/** Each module and its text; the same packages give the same text. */
export const FONT_MODULES: Readonly<Record<string, () => string>> = {
  [FONT_MODULE]: fontModule,
  [PAGE_FONT_MODULE]: pageFontModule,
  [PAGE_FONT_NAME_MODULE]: pageFontNameModule,
};

if (import.meta.main) for (const [path, made] of Object.entries(FONT_MODULES)) writeFileSync(ROOT + path, made());
