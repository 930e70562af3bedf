import type { Html } from "../frame.ts";
import { html } from "../html.ts";

/** At the end of a long page what it comes to, and its one primary button; a phone keeps it in sight. */
export const bottomBar = (sum: Html | string, button: Html): Html =>
  html`<div class="actions bar">${sum ? html`<p>${sum}</p>` : ""}${button}</div>`;
