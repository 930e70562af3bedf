import { inEuro } from "#shared/domain/mail/notices.ts";
import { longDate } from "#shared/domain/mandate_text/mandate_text.ts";
import { longMoment } from "../kit/document.ts";
import type { Html } from "../kit/frame.ts";
import { html } from "../kit/html.ts";
import { MIN_PAYOUT_EUR } from "../kit/offer.ts";
import type { Account, Earned, Overview } from "./model.ts";
import { barredBy, LEAST_ERE, partsOf, quarterNames, settles, sum, toComeOf } from "./money.ts";
import type { MijnFrame } from "./request.ts";
import { WORDS } from "./words.ts";

/** What is paid next: for which quarter, how much, when and where to. Nothing where nothing is to come. */
export function nextPayout(frame: MijnFrame, overview: Overview): Html {
  const { locale } = frame;
  const words = WORDS[locale].next_payout;
  const { quarters, accounts } = overview;
  const { waits, kept, left, ...all } = toComeOf(overview);
  // debts take all of it
  if (left <= 0 && !all.unknown) return html``;
  const unpaid = quarters.filter(({ unpaid_eur }) => unpaid_eur > 0);
  const unsold = quarters.filter(({ ere, sold_ere }) => ere - sold_ere >= LEAST_ERE);
  const first = unpaid[0] ?? unsold.find((each) => isBooked(overview, each)) ?? unsold[0];
  if (!first) return html``;
  const of = unpaid.length > 0 ? unpaid : [first];
  const { estimated, unknown } = partsOf([first]);
  const estimate = unknown || estimated <= kept ? null : `± ${inEuro(sum([estimated, -kept]), locale)}`;
  const amount = unpaid.length > 0 ? inEuro(waits, locale) : estimate;
  const name = quarterNames(
    frame,
    of.map(({ quarter }) => quarter),
  );
  const when = unpaid.length > 0 ? whenSold(frame, accounts, waits) : whenUnsold(frame, overview, first);
  const rows: [string, Html | string | null][] = [
    [words.title, html`${amount ? html`<strong>${amount}</strong> ` : ""}${words.of(name)}`],
    [words.when, when],
    [words.to, accounts.some(barredBy) ? null : whereTo(frame, accounts)],
  ];
  return html`<dl class="next">${rows.map(([label, said]) => (said === null ? "" : html`<div><dt>${label}</dt><dd>${said}</dd></div>`))}</dl>`;
}

/** What keeps money that was earned from being paid, or that it is on its way. */
function whenSold(frame: MijnFrame, accounts: readonly Account[], waits: number): Html | string {
  const { next_payout: words, overview, progress } = WORDS[frame.locale];
  const [back, ...more] = accounts.map(barredBy);
  if (back && more.every((each) => each?.because === back.because)) {
    const { text, action } = overview.back[back.because];
    const href = back.because === "holder" ? `mailto:${frame.config.SUPPORT_EMAIL}` : frame.to("/earnings");
    return html`${text(back.iban_last4)} <a href="${href}">${action}</a>`;
  }
  const ours = accounts.filter(({ payout_handler }) => payout_handler === "service_pays_customer");
  if (accounts.every(({ sent }) => sent)) return words.sent;
  const by = settles(accounts);
  if (typeof by === "object") return by.cpo ? progress.paying_via(by.cpo) : words.sold_via;
  const [only, ...others] = ours;
  if (!only || others.length > 0) return words.sold;
  if (only.iban_last4 === null) return words.no_account;
  if (waits < MIN_PAYOUT_EUR) return words.least(inEuro(MIN_PAYOUT_EUR, frame.locale));
  return only.iban_held_until ? words.held(longMoment(only.iban_held_until, frame.words)) : words.sold;
}

/** What is booked is sold first. */
const isBooked = ({ progress }: Overview, { quarter }: Earned): boolean =>
  Object.values(progress).some(({ booked_quarters }) => booked_quarters.includes(quarter));

function whenUnsold(frame: MijnFrame, overview: Overview, earned: Earned): string {
  const words = WORDS[frame.locale].next_payout;
  const [year = 0, from = 1] = earned.quarter.split("-").map(Number);
  const last = new Date(Date.UTC(year, from + 2, 0)).toISOString().slice(0, 10);
  if (overview.month <= last) return words.running(longDate(last, frame.words));
  return isBooked(overview, earned) ? words.booked : words.over;
}

/** One account, or one CPO; nothing is said where they differ. */
function whereTo(frame: MijnFrame, accounts: readonly Account[]): Html | string | null {
  const { next_payout: words, earnings } = WORDS[frame.locale];
  const places = new Set(
    accounts.map(({ payout_handler, cpo, iban_last4 }) =>
      payout_handler === "via_cpo_invoicing" ? words.cpo(cpo ?? "") : iban_last4 ? words.account(iban_last4) : null,
    ),
  );
  const [place, ...others] = places;
  if (place === undefined || others.length > 0) return null;
  return place ?? html`<a href="${frame.to("/earnings")}">${earnings.add}</a>`;
}
