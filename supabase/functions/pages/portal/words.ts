import type { Locale } from "#shared/values/locale.ts";
import { en } from "./en.ts";
import { nl, type PortalWords } from "./nl.ts";

export const WORDS: Readonly<Record<Locale, PortalWords>> = { nl, en };
