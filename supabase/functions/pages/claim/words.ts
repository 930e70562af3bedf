import type { Locale } from "#shared/values/locale.ts";
import { en } from "./en.ts";
import { type ClaimWords, nl } from "./nl.ts";

export type { ClaimWords };

export const WORDS: Readonly<Record<Locale, ClaimWords>> = { nl, en };
