import type { Locale } from "#shared/domain/mail/mail.ts";
import { en } from "./messages/en.ts";
import { type Messages, nl } from "./messages/nl.ts";

export type { Locale, Messages };

export const MESSAGES: Readonly<Record<Locale, Messages>> = { nl, en };

/** What each language calls itself. */
export const LANGUAGES: Readonly<Record<Locale, string>> = { nl: "Nederlands", en: "English" };

export function isLocale(value: unknown): value is Locale {
  return typeof value === "string" && Object.hasOwn(MESSAGES, value);
}

/** The first language of an Accept-Language header (RFC 9110 section 12.5.4) that the pages speak; else Dutch. */
export function acceptedLocale(header: string | null | undefined): Locale {
  const wanted = (header ?? "")
    .split(",")
    .map((part) => {
      const [tag = "", ...parameters] = part.trim().toLowerCase().split(";");
      const q = parameters.map((parameter) => /^\s*q=([\d.]+)$/.exec(parameter)?.[1]).find(Boolean);
      return { language: tag.split("-")[0], q: q === undefined ? 1 : Number(q) };
    })
    .filter(({ q }) => q > 0)
    .sort((a, b) => b.q - a.q);
  return wanted.map(({ language }) => language).find(isLocale) ?? "nl";
}
