import type { Locale } from "#shared/values/locale.ts";
import { en } from "./en.ts";
import { type MandateWords, nl } from "./nl.ts";

export const WORDS: Readonly<Record<Locale, MandateWords>> = { nl, en };
