import { DARK, LIGHT } from "../../kit/style.ts";

/**
 * How a partner's colours look on both grounds, whichever the reader's page has: what stands in .on-light and .on-dark. Null is for
 * our own colour.
 */
export function previewStyle({ light = "", dark = "" }: Record<string, string>): string {
  const accent = (color: string) => (/^#[0-9a-f]{6}$/.test(color) ? `--accent: ${color};` : "");
  return `
.preview { max-width: 42rem; margin: 0 0 1rem; padding: 1.25rem 1.5rem; border: 1px solid var(--line); border-radius: 10px; background: var(--ground); color: var(--ink); }
.preview figcaption { margin-bottom: 1rem; color: var(--quiet); font-size: 1rem; }
.preview .letter { margin-top: 1.25rem; padding: 1.25rem 1.5rem; border: 1px solid var(--line); border-radius: 10px; background: var(--sheet); }
.preview .letter p:first-child { padding-bottom: .75rem; border-bottom: 3px solid var(--accent); font-weight: 650; }
.preview .letter p:last-child { margin: 0; }
.preview .button { cursor: default; }
.preview .button:hover { border-color: var(--accent); background: var(--accent); color: var(--on-accent); }
.on-light {${LIGHT} ${accent(light)} }
.on-light .logo { padding: 0; background: none; }
.on-dark {${DARK} ${accent(dark)} }
.on-dark .logo { padding: .35rem; border-radius: 6px; background: #fff; color: #17211c; }
`.trim();
}
