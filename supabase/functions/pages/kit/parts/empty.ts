import type { Html } from "../frame.ts";
import { html } from "../html.ts";
import { type IconName, icon } from "./icons.ts";

/** Shown instead of an empty list: why it is empty, and the next step. */
export function empty(of: IconName, sentence: string, next?: { href: string; label: string }): Html {
  return html`<div class="empty">${icon(of)}<p>${sentence}</p>${next ? html`<p><a class="button" href="${next.href}">${next.label}</a></p>` : ""}</div>`;
}
