import { html } from "hono/html";
import { type Html, layout, type Page } from "../kit/frame.ts";
import { formToken } from "../kit/sign_in_views.ts";
import { type MijnFrame, SECTIONS, type Section } from "./visit.ts";
import { WORDS } from "./words.ts";

/** One of a person's own pages: the menu above it, and the way out below. */
export function ownPage(frame: MijnFrame, section: Section, email: string, { body, ...page }: Page): Html {
  const words = WORDS[frame.locale];
  return layout(frame, {
    ...page,
    menu: html`<nav class="menu" aria-label="${words.menu.label}">
${SECTIONS.map((each) => html`<a href="${frame.to(each)}"${each === section ? html` aria-current="page"` : ""}>${words.menu[each]}</a>`)}
</nav>`,
    body: html`${body}
<form class="signed-in" method="post" action="${frame.to("/sign-out")}">
${formToken(frame.form_token)}
<p>${words.signed_in(email)}</p>
<button class="button second">${words.sign_out}</button>
</form>`,
  });
}

/** A button to the claim pages of an account, where what it says is done. */
export function claimButton(frame: MijnFrame, account_id: string, page: string, label: string, second = false): Html {
  return html`<form class="actions" method="post" action="${frame.to("/open")}">
${formToken(frame.form_token)}
<input type="hidden" name="account" value="${account_id}"><input type="hidden" name="page" value="${page}">
<button class="button${second ? " second" : ""}">${label}</button>
</form>`;
}

/** A table that may be wider than a phone: it scrolls by itself, by keyboard too. */
export function table(label: string, head: Html, rows: Html | Html[], foot: Html = html``): Html {
  return html`<div class="scroll" role="region" aria-label="${label}" tabindex="0">
<table>
<thead><tr>${head}</tr></thead>
<tbody>${rows}</tbody>${foot}
</table>
</div>`;
}

/** Numbers as the reader writes them. */
export function inNumbers(frame: MijnFrame, value: number, digits = 0): string {
  return new Intl.NumberFormat(frame.words.date_locale, {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  }).format(value);
}

/** What a form has just done. */
export const newsOf = (text: string | undefined): Html =>
  text ? html`<p class="panel" role="status">${text}</p>` : html``;

/** A button that does something at once. `fields` say to what. */
export function doButton(frame: MijnFrame, page: string, fields: Record<string, string>, label: string): Html {
  return html`<form class="actions" method="post" action="${frame.to(page)}">
${formToken(frame.form_token)}
${Object.entries(fields).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<button class="button second">${label}</button>
</form>`;
}

/** Asked once more, with what it means. */
export function askTwice(
  frame: MijnFrame,
  section: Section,
  email: string,
  asked: { title: string; means: readonly string[]; yes: string; no: string },
  page: string,
  fields: Record<string, string>,
): Html {
  return ownPage(frame, section, email, {
    title: asked.title,
    body: html`<ul>${asked.means.map((line) => html`<li>${line}</li>`)}</ul>
${doButton(frame, page, fields, asked.yes)}
<p><a class="link" href="${frame.to(section)}">${asked.no}</a></p>`,
  });
}
