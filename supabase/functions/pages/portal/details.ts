import type { Html } from "../kit/frame.ts";
import { html } from "../kit/html.ts";

/** A list of terms and values. Terms without a value are left out. */
export function details(rows: readonly (readonly [term: string, value: Html | string | null | undefined])[]): Html {
  return html`<dl>${rows.map(([term, value]) => (value ? html`<div><dt>${term}</dt><dd>${value}</dd></div>` : ""))}</dl>`;
}
