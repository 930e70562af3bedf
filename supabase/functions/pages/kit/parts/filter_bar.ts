import type { Html } from "../frame.ts";
import { html } from "../html.ts";
import { icon } from "./icons.ts";

/** A choice of a list by one click, with how many it leaves where that is known. `kind` says how they stand. */
export type FilterChip = { href: string; label: string; count?: string; on: boolean; kind?: string };

/** Chips that choose, each a link. */
export function chipLinks(label: string, chips: readonly FilterChip[], id?: string): Html {
  return html`<nav class="chips"${id ? html` id="${id}"` : ""} aria-label="${label}">${chips.map(
    (each) =>
      html`<a${each.kind ? html` class="${each.kind}"` : ""} href="${each.href}"${each.on ? html` aria-current="page"` : ""}>${each.label}${each.count === undefined ? "" : html` <strong>${each.count}</strong>`}</a>
`,
  )}</nav>`;
}

type FilterBar = {
  action: string;
  /** What the address says beside the fields: the language, and what was chosen elsewhere. */
  kept: Readonly<Record<string, string | undefined>>;
  label: string;
  hint: string;
  /** What was looked for. */
  value: string;
  submit: string;
  /** Where nothing is chosen; undefined where nothing is. */
  clear?: { href: string; label: string } | undefined;
  /** Further choices, folded under their name. */
  more?: { label: string; open: boolean; fields: Html } | undefined;
};

/** One line to look for something in a list: the field, its button, and further choices. A script shows results while one types. */
export function filterBar({ action, kept, label, hint, value, submit, clear, more }: FilterBar): Html {
  return html`<form class="filter" method="get" action="${action}" role="search" data-follow>
${Object.entries(kept).map(([name, text]) => (text ? html`<input type="hidden" name="${name}" value="${text}">` : ""))}
<div class="line">
<label class="hidden" for="q">${label}: ${hint}</label>
<span class="find">${icon("search")}<input type="text" id="q" name="q" value="${value}" placeholder="${hint}" maxlength="254" autocomplete="off" enterkeyhint="search"></span>
<button class="button second">${submit}</button>${clear ? html`<a class="link" href="${clear.href}">${clear.label}</a>` : ""}
</div>
${more ? html`<details${more.open ? html` open` : ""}><summary>${more.label}</summary>\n${more.fields}</details>` : ""}
</form>`;
}
