// What pages and documentation have in common.

import { FONT_NAME } from "./font_name.ts";

/** The colors on a light ground, and on a dark one. */
export const LIGHT = `
  --ground: #f3f6f4; --sheet: #ffffff; --ink: #17211c; --quiet: #53605a; --line: #d8e0db; --edge: #7d8b83;
  --accent: #0b6b4f; --accent-strong: #084f3b; --on-accent: #ffffff; --tint: #e6f2ec;
  --wrong: #a3260f; --wrong-tint: #fdf0ed; --focus: #1a56c4;
  --wait: #8a5a00; --wait-tint: #fdf4e0; --way: #1a4fae; --way-tint: #e9f0fc;`;
export const DARK = `
    --ground: #0f1512; --sheet: #18211c; --ink: #e9efeb; --quiet: #a9b7af; --line: #33413a; --edge: #809088;
    --accent: #6fd3aa; --accent-strong: #93e2c1; --on-accent: #06281c; --tint: #1c2f27;
    --wrong: #ff9c88; --wrong-tint: #2d1b17; --focus: #9cc2ff;
    --wait: #f0c270; --wait-tint: #2c2415; --way: #9cc2ff; --way-tint: #1b2738;`;

/** A color on a light ground by its name, as #rrggbb: for documents, which have no style sheet. */
export function lightColor(name: string): string {
  const [, color] = new RegExp(`--${name}: (#[0-9a-f]{6});`).exec(LIGHT) ?? [];
  if (!color) throw new Error(`no color is named ${name}`);
  return color;
}

/** The colors of both; the documentation has them too. */
export const PALETTE = `
:root {
  color-scheme: light dark;${LIGHT}
}
@media (prefers-color-scheme: dark) {
  :root {${DARK}
  }
}
`.trim();

/** The letters of both, beside the style sheet that names them. */
export const LETTERS = `
@font-face { font-family: "Public Sans"; src: url("${FONT_NAME}") format("woff2"); font-weight: 100 900; font-display: swap; }
/* Arial in the measures of Public Sans, so that nothing moves when the letters arrive */
@font-face { font-family: "Public Sans Fallback"; src: local("Arial"), local("Liberation Sans"), local("Helvetica Neue"); size-adjust: 104%; ascent-override: 91.3%; descent-override: 21.6%; line-gap-override: 0%; }
`.trim();
export const FONT_STACK =
  '"Public Sans", "Public Sans Fallback", system-ui, -apple-system, "Segoe UI", Roboto, sans-serif';
