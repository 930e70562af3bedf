import type { Locale } from "#shared/values/locale.ts";
import { en } from "./en.ts";
import { nl, type PartsWords } from "./nl.ts";

export const WORDS: Readonly<Record<Locale, PartsWords>> = { nl, en };
