import { html } from "hono/html";
import type { KitWords } from "./words.ts";

/** A moment as people in the Netherlands read it. */
export function longMoment(moment: string, { date_locale }: KitWords): string {
  return new Intl.DateTimeFormat(date_locale, {
    dateStyle: "long",
    timeStyle: "short",
    timeZone: "Europe/Amsterdam",
  }).format(new Date(moment));
}

/** The month of a day, as people write it. */
export function longMonth(day: string, { date_locale }: KitWords): string {
  return new Intl.DateTimeFormat(date_locale, { month: "long", year: "numeric", timeZone: "UTC" }).format(
    new Date(day),
  );
}

/** The text of a mandate, formatted. Every word of it, in its order, and no other. */
export function showDocument(text: string, lang: string) {
  const [title, ...sections] = text.split("\n\n");
  return html`<article class="document" lang="${lang}" aria-label="${title}">
<h2>${title}</h2>
${sections.map((section) => {
  const [heading, ...lines] = section.split("\n");
  const details = lines.filter((line) => line.startsWith("  "));
  const points = lines.filter((line) => line.startsWith("- "));
  const rest = lines.filter((line) => !line.startsWith("  ") && !line.startsWith("- "));
  return html`<section>
<h3>${heading}</h3>
${details.length > 0 ? html`<dl>${details.map(showDetail)}</dl>` : ""}
${points.length > 0 ? html`<ul>${points.map((line) => html`<li>${line.slice(2)}</li>`)}</ul>` : ""}
${rest.map((line) => html`<p>${line}</p>`)}
</section>`;
})}
</article>`;
}

function showDetail(line: string) {
  const colon = line.indexOf(": ");
  return html`<div><dt>${line.slice(2, colon)}</dt><dd>${line.slice(colon + 2)}</dd></div>`;
}
