import type { Locale } from "#shared/values/locale.ts";
import { en } from "./en.ts";
import { type KitWords, nl } from "./nl.ts";

export type { KitWords };

export const WORDS: Readonly<Record<Locale, KitWords>> = { nl, en };

/** What each language calls itself. */
export const LANGUAGES: Readonly<Record<Locale, string>> = { nl: "Nederlands", en: "English" };
