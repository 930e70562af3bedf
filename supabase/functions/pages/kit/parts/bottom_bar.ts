import type { Html } from "../frame.ts";
import { html } from "../html.ts";

/** For who goes by keyboard: past all that is folded and linked above the bar. */
export const skipToBar = (label: string): Html => html`<a class="skip" href="#bar">${label}</a>`;

/** At the end of a long page what it comes to, and its one primary button; a phone keeps it in sight. With `skipped` skipToBar() leads to it. */
export const bottomBar = (sum: Html | string, button: Html, skipped = false): Html =>
  html`<div class="actions bar"${skipped ? html` id="bar" tabindex="-1"` : ""}>${sum ? html`<p>${sum}</p>` : ""}${button}</div>`;
