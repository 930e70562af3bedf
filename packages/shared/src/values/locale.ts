/** The languages that people are spoken to in. Dutch is the original. */
export const LOCALES = ["nl", "en"] as const;
export type Locale = (typeof LOCALES)[number];

export function isLocale(value: unknown): value is Locale {
  return LOCALES.some((locale) => locale === value);
}

/** The language of what nobody asked for in another one. */
const DEFAULT_LOCALE: Locale = "nl";

/**
 * The language of a page. The reader's own choice on the page comes first, then what somebody chose for this reader,
 * then the browser's setting, then Dutch. Do not pass a default as `chosen`.
 */
export function readersLocale(
  asked: unknown,
  chosen: Locale | null | undefined,
  acceptLanguage: string | null | undefined,
): Locale {
  return isLocale(asked) ? asked : (chosen ?? acceptedLocale(acceptLanguage));
}

/** The first language of an Accept-Language header (RFC 9110 section 12.5.4) that we speak; else Dutch. */
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
  return wanted.map(({ language }) => language).find(isLocale) ?? DEFAULT_LOCALE;
}
