import { inKwh } from "#shared/domain/mail/notices.ts";
import { longDate } from "#shared/domain/mandate_text/mandate_text.ts";
import { longMonth } from "./document.ts";
import type { Frame } from "./frame.ts";

/** What private.withdrawal_means says of the month in which a mandate would end. */
type Lost = { month: string; lost_kwh: number };

/** A registration, and whether months before the end of the mandate may still be booked. */
type Registration = { registration_status?: string; may_still_book?: boolean };

/** What a withdrawal leaves. */
export function whatIsKept(
  { words }: Frame,
  until: string | null,
  { registration_status, may_still_book }: Registration,
  { kept, nothing_kept }: { kept: (until: string) => string; nothing_kept: string },
): string[] {
  const { means } = words.withdrawal;
  if (!until) return [nothing_kept];
  if (!may_still_book) return [means.unregistered];
  return [kept(longDate(until, words)), ...(registration_status === "ingediend" ? [means.if_approved] : [])];
}

/** What a withdrawal costs, in kWh, and what stops. It is the same for every kind of signatory. */
export function whatIsLost(
  { words, config, locale }: Frame,
  { month, lost_kwh }: Lost,
  renewedUntil: string | null,
): string[] {
  const { means } = words.withdrawal;
  return [
    lost_kwh > 0
      ? means.lost(inKwh(lost_kwh, locale), longMonth(month, words))
      : means.nothing_lost(longMonth(month, words)),
    means.from_now(config.SERVICE_NAME),
    ...(renewedUntil ? [means.renewal(longDate(renewedUntil, words))] : []),
  ];
}
