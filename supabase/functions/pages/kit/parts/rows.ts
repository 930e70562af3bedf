import type { Html } from "../frame.ts";
import { html } from "../html.ts";
import { type IconName, icon } from "./icons.ts";

/** What a row is about and when; at its right an amount, a chip, and the icon of what it opens. */
export type Row = {
  href: string;
  what: Html | string;
  when?: Html | string | null | undefined;
  amount?: string | null | undefined;
  chip?: Html | null | undefined;
  opens?: IconName;
  /** What the icon says, where it opens a document. */
  as?: string;
};

/** Rows that one opens: the same on a phone. */
export function rowList(rows: readonly Row[]): Html {
  return html`<ul class="rows">${rows.map(
    ({ href, what, when, amount, chip, opens = "arrow", as }) =>
      html`<li><a href="${href}"><span class="what"><strong>${what}</strong>${when ? html` <small>${when}</small>` : ""}</span>${amount || chip ? html` <span class="side">${amount ? html`<b>${amount}</b>` : ""} ${chip ?? ""}</span>` : ""}${as ? html` <span class="as">${opens === "arrow" ? html`${as}${icon(opens)}` : html`${icon(opens)}${as}`}</span>` : icon(opens)}</a></li>`,
  )}</ul>`;
}
