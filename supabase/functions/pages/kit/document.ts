import { readMandateText } from "#shared/domain/mandate_text/read_text.ts";
import { html } from "./html.ts";
import type { KitWords } from "./words.ts";

export { longMoment } from "#shared/domain/mandate_text/mandate_text.ts";

/** The month of a day, as people write it. */
export function longMonth(day: string, { date_locale }: KitWords): string {
  return new Intl.DateTimeFormat(date_locale, { month: "long", year: "numeric", timeZone: "UTC" }).format(
    new Date(day),
  );
}

/** Sections that stand open where the others are folded: who authorizes whom. */
const OPEN = 2;

/** The text of a mandate, formatted. Every word of it, in its order, and no other; with `folded` behind its headings. */
export function showDocument(text: string, lang: string, folded = false) {
  const { title, sections } = readMandateText(text);
  return html`<article class="document" lang="${lang}" aria-label="${title}">
<h2>${title}</h2>
${sections.map(({ heading, details, points, rest }, at) => {
  const said = html`${details.length > 0 ? html`<dl>${details.map(([label, value]) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`)}</dl>` : ""}
${points.length > 0 ? html`<ul>${points.map((line) => html`<li>${line}</li>`)}</ul>` : ""}
${rest.map((line) => html`<p>${line}</p>`)}`;
  return folded
    ? html`<details${at < OPEN ? html` open` : ""}><summary><h3>${heading}</h3></summary>
${said}</details>`
    : html`<section>
<h3>${heading}</h3>
${said}
</section>`;
})}
</article>`;
}
