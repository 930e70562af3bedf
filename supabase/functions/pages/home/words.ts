import type { Locale } from "#shared/values/locale.ts";
import { en } from "./en.ts";
import { type HomeWords, nl } from "./nl.ts";

export const WORDS: Readonly<Record<Locale, HomeWords>> = { nl, en };
