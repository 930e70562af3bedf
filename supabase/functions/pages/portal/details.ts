import type { Html } from "../kit/frame.ts";
import { html } from "../kit/html.ts";

/** Terms and what they are, those that are known. */
export function details(rows: readonly (readonly [term: string, value: Html | string | null | undefined])[]): Html {
  return html`<dl>${rows.map(([term, value]) => (value ? html`<div><dt>${term}</dt><dd>${value}</dd></div>` : ""))}</dl>`;
}
