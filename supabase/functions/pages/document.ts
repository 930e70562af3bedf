import { html } from "hono/html";
import type { Messages } from "./messages.ts";

/** What private.mandate_facts gives: the text is composed of nothing else, so that the same facts give the same text. */
export type Facts = {
  partner_name: string;
  type: "particulier" | "zakelijk" | "vve";
  company_name: string | null;
  kvk: string | null;
  full_name: string;
  email: string | null;
  ean_code: string;
  street: string | null;
  house_number: number;
  house_number_addition: string | null;
  postal_code: string;
  city: string | null;
  valid_from: string;
  valid_until: string;
};

/** The service that is authorised, as the text names it. */
export type Service = { name: string; email: string };

/**
 * The mandate as plain text: what the signatory reads is this text and no other (`showDocument` only formats it), and this text
 * is what is stored and hashed as evidence. Its form: a title, then numbered sections; two spaces begin a detail, a dash a point.
 */
export function composeDocument(facts: Facts, service: Service, messages: Messages): string {
  const words = messages.document;
  const company = facts.type === "particulier" ? null : (facts.company_name ?? words.the_company);
  const sections: [string, string[]][] = [
    [words.who, [detail(words.service, service.name), detail(words.on_request_of, facts.partner_name)]],
    [
      words.holder,
      [
        ...(facts.type !== "particulier" && facts.company_name
          ? [detail(words.company[facts.type], facts.company_name)]
          : []),
        ...(facts.kvk ? [detail(words.kvk, facts.kvk)] : []),
        detail(words.full_name, facts.full_name),
      ],
    ],
    [words.connection, [detail(words.ean, inGroups(facts.ean_code)), detail(words.address, addressOf(facts, words))]],
    [
      words.validity,
      [
        detail(words.from, longDate(facts.valid_from, messages)),
        detail(words.until, longDate(facts.valid_until, messages)),
        words.whole_years,
      ],
    ],
    [words.allow, words.allowed(service.name).map(point)],
    [words.declare, words.declared(company).map(point)],
    [words.stop, [words.stopping(service.email)]],
  ];
  return [
    words.title,
    ...sections.map(([title, lines], index) => [`${index + 1}. ${title}`, ...lines.map(oneLine)].join("\n")),
  ].join("\n\n");
}

const detail = (label: string, value: string) => `  ${label}: ${value}`;
const point = (sentence: string) => `- ${sentence}`;

/** A name must not pass for a line or a direction of its own: breaks become spaces, bidirectional overrides go. */
function oneLine(line: string): string {
  const indent = line.startsWith("  ") ? "  " : "";
  return (
    indent +
    line
      .replace(/[\u202a-\u202e\u2066-\u2069]/g, "")
      .replace(/[\s\p{Cc}]+/gu, " ")
      .trim()
  );
}

export function inGroups(ean: string): string {
  return ean.replace(/(\d{4})(?=\d)/g, "$1 ");
}

function addressOf(facts: Facts, words: Messages["document"]): string {
  const number = [facts.house_number, facts.house_number_addition].filter(Boolean).join(" ");
  const postal_code = `${facts.postal_code.slice(0, 4)} ${facts.postal_code.slice(4)}`;
  const place = [postal_code, facts.city].filter(Boolean).join(" ");
  return facts.street ? `${facts.street} ${number}, ${place}` : `${place}, ${words.house_number} ${number}`;
}

/** A day, or the day of a moment in the Netherlands, as people write it. */
export function longDate(date: string, { date_locale }: Messages): string {
  return new Intl.DateTimeFormat(date_locale, { dateStyle: "long", timeZone: "Europe/Amsterdam" }).format(
    new Date(date),
  );
}

/** A moment as people in the Netherlands read it. */
export function longMoment(moment: string, { date_locale }: Messages): string {
  return new Intl.DateTimeFormat(date_locale, {
    dateStyle: "long",
    timeStyle: "short",
    timeZone: "Europe/Amsterdam",
  }).format(new Date(moment));
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
