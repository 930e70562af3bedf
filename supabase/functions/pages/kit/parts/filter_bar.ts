import type { Html } from "../frame.ts";
import { html } from "../html.ts";
import { icon } from "./icons.ts";

/** A choice of a list by one click, with how many it leaves where that is known. `kind` says how they stand. */
export type FilterChip = { href: string; label: string; count?: string; on: boolean; kind?: string };

/** Chips that choose, each a link. */
export function chipLinks(label: string, chips: readonly FilterChip[]): Html {
  return html`<nav class="chips" aria-label="${label}">${chips.map(
    (each) =>
      html`<a${each.kind ? html` class="${each.kind}"` : ""} href="${each.href}"${each.on ? html` aria-current="page"` : ""}>${each.label}${counted(each)}</a>
`,
  )}</nav>`;
}

const counted = ({ count }: { count?: string | undefined }) =>
  count === undefined ? "" : html` <strong>${count}</strong>`;

type FilterBar = {
  action: string;
  /** What the address says beside the fields: the language. */
  kept: Readonly<Record<string, string | undefined>>;
  label: string;
  hint: string;
  /** What was looked for. */
  value: string;
  submit: string;
  /** What the chips are called together, and what one says that takes its choice back. */
  chips: { label: string; without: string };
  /** What was chosen; each leads to the list without it. */
  chosen: readonly { href: string; label: string; count?: string }[];
  /** What is often chosen, by one click. */
  often: readonly { href: string; label: string; count?: string }[];
  /** Where nothing is chosen; shown where more than one thing is. */
  clear: { href: string; label: string };
  /** All choices, folded under their name. */
  more?: { label: string; fields: Html };
};

/**
 * One line to look for something in a list: the field with its button, all choices folded, and chips. What is chosen comes first and is
 * taken back by its cross. A script shows results while one types.
 */
export function filterBar({
  action,
  kept,
  label,
  hint,
  value,
  submit,
  chips,
  chosen,
  often,
  clear,
  more,
}: FilterBar): Html {
  return html`<form class="filter" method="get" action="${action}" role="search" data-follow>
${Object.entries(kept).map(([name, text]) => (text ? html`<input type="hidden" name="${name}" value="${text}">` : ""))}
<label class="hidden" for="q">${label}: ${hint}</label>
<span class="find"><input type="text" id="q" name="q" value="${value}" placeholder="${hint}" maxlength="254" autocomplete="off" enterkeyhint="search"><button>${icon("search")}<span class="hidden">${submit}</span></button></span>
${more ? html`<details><summary>${icon("filter")}${more.label}</summary><div>${more.fields}<button class="button second">${submit}</button></div></details>` : ""}
<nav class="chips" id="chips" aria-label="${chips.label}">${chosen.map(
    (each) =>
      html`<a class="chosen" href="${each.href}">${each.label}${counted(each)}${icon("close")}<span class="hidden">: ${chips.without}</span></a>
`,
  )}${chosen.length > 1 ? html`<a class="clear" href="${clear.href}">${clear.label}</a>` : ""}${often.map(
    (each) => html`<a href="${each.href}">${each.label}${counted(each)}</a>
`,
  )}</nav>
</form>`;
}
