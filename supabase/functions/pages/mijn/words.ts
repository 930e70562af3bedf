import type { Locale } from "#shared/values/locale.ts";
import { en } from "./en.ts";
import { type MijnWords, nl } from "./nl.ts";

export const WORDS: Readonly<Record<Locale, MijnWords>> = { nl, en };
