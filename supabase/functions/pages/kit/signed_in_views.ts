import { newSecret } from "#shared/auth/tokens.ts";
import { longMonth } from "./document.ts";
import { type Html, layout, type Page } from "./frame.ts";
import { html } from "./html.ts";
import { accountMenu } from "./parts/account_menu.ts";
import { chart } from "./parts/chart.ts";
import { secretBox } from "./parts/secret.ts";
import { formToken } from "./sign_in_views.ts";
import type { OwnFrame } from "./signed_in.ts";
import { lastClick } from "./views.ts";
import type { KitWords } from "./words.ts";

/** What an area calls its menu, and each section. */
type Menu<Section extends string> = { label: string } & Record<Section, string>;

/** The menu of an area. A phone of 360 shows `first` sections in a row; the others are under "more". */
export function sectionMenu<Section extends string>(
  sections: readonly Section[],
  menu: Menu<Section>,
  section: Section,
  to: (section: Section) => string,
  { more }: KitWords,
  first = 4,
): Html {
  const link = (each: Section) =>
    html`<a href="${to(each)}"${each === section ? html` aria-current="page"` : ""}>${menu[each]}</a>
`;
  const folded = sections.slice(first);
  return html`<nav class="menu" aria-label="${menu.label}">
${sections.slice(0, first).map(link)}
${folded.length > 0 ? html`<details><summary${folded.includes(section) ? html` class="here"` : ""}>${more}</summary>${folded.map(link)}</details>` : ""}
</nav>`;
}

/**
 * A page of somebody who is signed in: the menu above it, and in the header who they are and the way out.
 */
export function areaPage<Section extends string>(
  frame: OwnFrame,
  sections: readonly Section[],
  menu: Menu<Section>,
  section: Section,
  { name, said }: { name: string; said: string },
  { first, ...page }: Page & { first?: number },
): Html {
  return layout(frame, {
    ...page,
    menu: sectionMenu(sections, menu, section, frame.to, frame.words, first),
    who: accountMenu(
      name,
      said,
      html`<form method="post" action="${frame.to("/sign-out")}">${formToken(frame.form_token)}<button class="plain">${frame.words.sign_in.sign_out}</button></form>`,
    ),
  });
}

/** Numbers stand at the right, and text at the left. The cells of the first column name their rows. */
export type Column = {
  name: string;
  text?: boolean;
  /** The address that sorts by it, and how it is sorted now. */
  sort?: { href: string; is?: "ascending" | "descending" };
};

/** What stands in a column of a row; null where there is nothing. */
export type TableCell = Html | string | null;

/**
 * A table that may be wider than the screen: it scrolls by itself, by keyboard too. With `blocks` a phone shows it row
 * by row, each cell behind the name of its column. It then states its roles, because some browsers drop them from a
 * table that is not displayed as one. Screen readers read the names with the cells, and skip the head.
 */
export function table(
  label: string,
  columns: readonly Column[],
  rows: readonly (readonly TableCell[])[],
  { total, blocks = false }: { total?: readonly TableCell[]; blocks?: boolean } = {},
): Html {
  const role = (name: string) => (blocks ? html` role="${name}"` : "");
  const classOf = (...names: (string | false | undefined)[]) => {
    const all = names.filter(Boolean).join(" ");
    return all ? html` class="${all}"` : "";
  };
  // said once of the table, where each of its cells has it
  const texts = columns.slice(1).every(({ text }) => text);
  const rowOf = ([head = null, ...cells]: readonly TableCell[]) =>
    html`<tr${role("row")}><th scope="row"${role("rowheader")}>${head}</th>${cells.map((cell, index) => {
      const column = columns[index + 1];
      return html`<td${classOf(column?.text && !texts && "text", blocks && cell === null && "none")}${role("cell")}${blocks && cell !== null ? html` data-column="${column?.name}"` : ""}>${cell ?? "–"}</td>`;
    })}</tr>`;
  return html`<div class="scroll" role="region" aria-label="${label}" tabindex="0">
<table${classOf(blocks && "blocks", texts && "texts")}${role("table")}>
<thead${role("rowgroup")}><tr${role("row")}>${columns.map(({ name, text, sort }) => html`<th scope="col"${classOf(text && !texts && "text")}${role("columnheader")}${sort?.is ? html` aria-sort="${sort.is}"` : ""}>${sort ? html`<a href="${sort.href}">${name}</a>` : name}</th>`)}</tr></thead>
<tbody${role("rowgroup")}>${rows.map(rowOf)}</tbody>${total ? html`<tfoot${role("rowgroup")}>${rowOf(total)}</tfoot>` : ""}
</table>
</div>`;
}

/** Numbers as the reader writes them. */
export function inNumbers({ words }: OwnFrame, value: number, digits = 0): string {
  return new Intl.NumberFormat(words.date_locale, {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  }).format(value);
}

/** A number as short as a column has room for: 12K for more than four digits. */
function inShort({ words }: OwnFrame, value: number): string {
  return new Intl.NumberFormat(words.date_locale, {
    ...(value >= 10_000 ? { notation: "compact" } : {}),
    maximumFractionDigits: value > 0 && value < 10 ? 1 : 0,
  }).format(value);
}

/** Months, each by its first day, as columns under their short names; `said` has the numbers of one. */
export function chartOfMonths(
  frame: OwnFrame,
  title: string,
  months: readonly { day: string; value: number; said: string; href?: string | undefined }[],
): Html {
  const short = new Intl.DateTimeFormat(frame.words.date_locale, { month: "short", timeZone: "UTC" });
  const last = months.findLastIndex(({ value }) => value > 0);
  return chart({
    title,
    points: months.map(({ day, value, said, href }) => ({
      short: short.format(new Date(day)),
      value: value > 0 ? inShort(frame, value) : "–",
      said: `${longMonth(day, frame.words)}: ${said}`,
      values: [value],
      href,
    })),
    ...(last < 0 ? {} : { chosen: last }),
  });
}

/** What a form has just done. */
export const newsOf = (text: string | undefined): Html =>
  text ? html`<p class="panel done" role="status">${text}</p>` : html``;

/** Why a form did nothing. */
export const notDone = (text: string | undefined): Html =>
  text ? html`<p class="panel waits" role="status">${text}</p>` : html``;

/** What a form has just done, and what happens next: as newsOf, with a tick. */
export const doneOf = (text: string | undefined): Html =>
  text ? html`<div class="status done" role="status"><p>${text}</p></div>` : html``;

/** A secret that was just made, and is not shown again. */
export function shownOnce(title: string, once: string, secret: string | null): Html | "" {
  return secret
    ? html`<div class="panel done" role="status"><h2 class="first">${title}</h2>${secretBox(secret, once)}</div>`
    : "";
}

/** What a form that makes a secret sends along: SignedInRequest.secretOf() makes the same of it, however often it is sent. */
export const newOnce = (): string => newSecret(16);

export const onceField = (): Html => html`<input type="hidden" name="once" value="${newOnce()}">`;

/** A button that does something at once. `fields` say to what. */
export function doButton(
  frame: OwnFrame,
  page: string,
  fields: Record<string, string>,
  label: string,
  query: Record<string, string> = {},
): Html {
  return postForm(frame, page, fields, html`<button class="button second">${label}</button>`, query);
}

/** A form of buttons. `fields` say what they are about. */
export const postForm = (frame: OwnFrame, page: string, fields: Record<string, string>, buttons: Html, query = {}) =>
  html`<form class="actions" method="post" action="${frame.to(page, query)}">
${formToken(frame.form_token)}
${Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
${buttons}
</form>`;

/** What is asked once more, with what it means. */
export type AskedTwice = { title: string; means: readonly string[]; yes: string; no: string };

/** The body of a page that asks once more before `page` does it; `back` is where "no" leads. */
export function askTwiceBody(
  frame: OwnFrame,
  { means, yes, no }: AskedTwice,
  page: string,
  fields: Record<string, string>,
  back: string,
  query: Record<string, string> = {},
): Html {
  return html`<ul>${means.map((line) => html`<li>${line}</li>`)}</ul>
${postForm(frame, page, fields, lastClick(yes, frame.to(back, query), no), query)}`;
}
