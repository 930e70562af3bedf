import { longDate } from "#shared/domain/mandate_text/mandate_text.ts";
import { longMonth } from "./document.ts";
import type { Frame } from "./frame.ts";

/** What private.withdrawal_means says of the month in which a mandate would end. */
type Lost = { month: string; lost_kwh: number };

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
