import type { OpenFacts, Period } from "#shared/domain/answers.ts";
import type { Locale } from "#shared/values/locale.ts";
import { en } from "./en.ts";
import { type MandateWords, nl } from "./nl.ts";

export const MANDATE_WORDS: Readonly<Record<Locale, MandateWords>> = { nl, en };

/** The facts with the years that were chosen: the text is composed of nothing else, so that the same facts give the same text. */
export type Facts = OpenFacts & Period;

/** The service that is authorised, as the text names it. */
type Service = { name: string; email: string };

/**
 * The mandate as plain text. The signatory reads exactly this text; the pages only format it. It is stored and hashed
 * as evidence. It has a title and numbered sections; two spaces begin a detail, a dash a point.
 */
export function composeDocument(facts: Facts, service: Service, locale: Locale): string {
  const words = MANDATE_WORDS[locale].document;
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
        detail(words.from, longDate(facts.valid_from, MANDATE_WORDS[locale])),
        detail(words.until, longDate(facts.valid_until, MANDATE_WORDS[locale])),
        words.whole_years,
      ],
    ],
    [words.allow, words.allowed(service.name).map(point)],
    [words.declare, words.declared(company).map(point)],
    [words.stop, [words.stopping(service.name, service.email)]],
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

function addressOf(facts: Facts, words: MandateWords["document"]): string {
  const number = [facts.house_number, facts.house_number_addition].filter(Boolean).join(" ");
  const postal_code = `${facts.postal_code.slice(0, 4)} ${facts.postal_code.slice(4)}`;
  const place = [postal_code, facts.city].filter(Boolean).join(" ");
  return facts.street ? `${facts.street} ${number}, ${place}` : `${place}, ${words.house_number} ${number}`;
}

/** A moment as people in the Netherlands read it. */
export function longMoment(moment: string, { date_locale }: Pick<MandateWords, "date_locale">): string {
  return new Intl.DateTimeFormat(date_locale, {
    dateStyle: "long",
    timeStyle: "short",
    timeZone: "Europe/Amsterdam",
  }).format(new Date(moment));
}

/** A day, or the day of a moment in the Netherlands, as people write it. */
export function longDate(date: string, { date_locale }: Pick<MandateWords, "date_locale">): string {
  return new Intl.DateTimeFormat(date_locale, { dateStyle: "long", timeZone: "Europe/Amsterdam" }).format(
    new Date(date),
  );
}
