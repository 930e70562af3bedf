import { longDate } from "#shared/domain/mandate_text/mandate_text.ts";
import { longMonth } from "./document.ts";
import type { Frame } from "./frame.ts";

/** What private.withdrawal_means says of the month in which a mandate would end. */
type Lost = { month: string; lost_kwh: number };

/** Whether months before the end of a mandate may still be booked: not if the registration was rejected or never submitted. */
export const isSubmitted = (registration: string): boolean =>
  registration === "ingediend" || registration === "goedgekeurd";

/** What a withdrawal leaves. */
export function whatIsKept(
  { words }: Frame,
  until: string | null,
  registration: string,
  { kept, nothing_kept }: { kept: (until: string) => string; nothing_kept: string },
): string[] {
  const { means } = words.withdrawal;
  if (!until) return [nothing_kept];
  if (!isSubmitted(registration)) return [means.unregistered];
  return [kept(longDate(until, words)), ...(registration === "ingediend" ? [means.if_approved] : [])];
}

/** What a withdrawal costs, in kWh, and what stops. It is the same for every kind of signatory. */
export function whatIsLost({ words, config }: Frame, { month, lost_kwh }: Lost, renewedUntil: string | null): string[] {
  const { means } = words.withdrawal;
  const kwh = new Intl.NumberFormat(words.date_locale, { maximumFractionDigits: 3 }).format(lost_kwh);
  return [
    lost_kwh > 0 ? means.lost(kwh, longMonth(month, words)) : means.nothing_lost(longMonth(month, words)),
    means.from_now(config.SERVICE_NAME),
    ...(renewedUntil ? [means.renewal(longDate(renewedUntil, words))] : []),
  ];
}
