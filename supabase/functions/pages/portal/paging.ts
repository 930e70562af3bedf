import type { Html } from "../kit/frame.ts";
import { html } from "../kit/html.ts";

/** Links to the next pages of a list; nothing on the only page. */
export function waysOn(label: string, ways: readonly { href: string; label: string }[]): Html {
  if (ways.length === 0) return html``;
  return html`<nav class="years" aria-label="${label}">${ways.map((way) => html`<a href="${way.href}">${way.label}</a>`)}</nav>`;
}
