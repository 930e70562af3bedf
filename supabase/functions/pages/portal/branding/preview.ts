import { shadesOf } from "#shared/domain/brand.ts";
import { DARK, LIGHT } from "#shared/look/palette.ts";
import { colorsOf } from "../../kit/style.ts";

/** How a partner's color looks on both backgrounds, whichever the reader's page has. No color shows our own. */
export function previewStyle({ color }: Record<string, string>): string {
  const shades = shadesOf(color);
  return `
.preview { max-width: 42rem; margin: 0 0 1rem; padding: 1.25rem 1.5rem; border: 1px solid var(--line); border-radius: 10px; background: var(--ground); color: var(--ink); }
.preview figcaption { margin-bottom: 1rem; color: var(--quiet); font-size: 1rem; }
.preview .letter { margin-top: 1.25rem; padding: 1.25rem 1.5rem; border: 1px solid var(--line); border-radius: 10px; background: var(--sheet); }
.preview .letter p:first-child { padding-bottom: .75rem; border-bottom: 3px solid var(--fill, var(--accent)); font-weight: 650; }
.preview .letter p:last-child { margin: 0; }
.preview .button { cursor: default; }
.preview .button:hover { border-color: var(--accent); background: var(--fill, var(--accent)); color: var(--on-fill, var(--on-accent)); }
.on-light {${LIGHT} ${shades ? colorsOf(shades.light, "black", "#ffffff") : ""} }
.on-light .logo { padding: 0; background: none; }
.on-dark {${DARK} ${shades ? colorsOf(shades.dark, "white", "#18211c") : ""} }
.on-dark .logo { padding: .35rem; border-radius: 6px; background: #fff; color: #17211c; }
.on-light a, .on-dark a { color: var(--accent); }
`.trim();
}
