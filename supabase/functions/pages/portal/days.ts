import type { PortalFrame } from "./request.ts";

/** A day as a column has room for it, on the Dutch clock: "3 nov 2026". */
export const shortDay = ({ words }: PortalFrame, moment: string): string =>
  new Intl.DateTimeFormat(words.date_locale, { dateStyle: "medium", timeZone: "Europe/Amsterdam" }).format(
    new Date(moment),
  );
