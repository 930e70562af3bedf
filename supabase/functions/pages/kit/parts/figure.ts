import type { Html } from "../frame.ts";
import { html } from "../html.ts";

/** One large number, the words for it, and how it changed against the period before, or what else is small beneath it. */
export function figure(value: string, word: Html | string, change?: Html | string | null): Html {
  return html`<p class="amount"><strong>${value}</strong> ${word}${change ? html`<br><span class="quiet">${change}</span>` : ""}</p>`;
}

/** Numbers beside each other, each with its name and a change or a word beneath. */
export function figures(
  all: readonly { name: string; value: string; small?: Html | string | null | undefined }[],
): Html {
  return html`<dl class="figures">
${all.map(({ name, value, small }) => html`<div><dt>${name}</dt><dd>${value}${small ? html`<small>${small}</small>` : ""}</dd></div>`)}
</dl>`;
}
