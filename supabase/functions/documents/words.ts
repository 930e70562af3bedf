import type { Locale } from "#shared/values/locale.ts";
import { en } from "./en.ts";
import { type DocumentWords, nl } from "./nl.ts";

export const WORDS: Readonly<Record<Locale, DocumentWords>> = { nl, en };

/** A moment as people in the Netherlands read it. */
export function longMoment(moment: string, locale: Locale): string {
  return new Intl.DateTimeFormat(WORDS[locale].date_locale, {
    dateStyle: "long",
    timeStyle: "short",
    timeZone: "Europe/Amsterdam",
  }).format(new Date(moment));
}
