import { inEuro, inKwh } from "#shared/domain/mail/notices.ts";
import type { Html } from "../kit/frame.ts";
import { html } from "../kit/html.ts";
import { empty } from "../kit/parts/empty.ts";
import { rowList } from "../kit/parts/rows.ts";
import { doButton, doneOf, inNumbers } from "../kit/signed_in_views.ts";
import { payoutRows } from "./earnings.ts";
import { ownPage } from "./frame.ts";
import type { Overview } from "./model.ts";
import { byQuarter, money, toComeOf } from "./money.ts";
import { leftOut } from "./months.ts";
import { nextPayout } from "./next_payout.ts";
import { progressOf } from "./progress.ts";
import type { MijnFrame } from "./request.ts";
import { WORDS } from "./words.ts";

/** Of a CPO's customers: private.signed_accounts finds no more. */
const MOST = 100;

/** A first name in a heading. */
const LONGEST = 30;

/** What a person sees first: what they got and may expect, how far they are and who must act, and euro by quarter. */
export function overviewPage(frame: MijnFrame, overview: Overview, withdrawn: boolean): Html {
  const words = WORDS[frame.locale].overview;
  const { accounts, quarters } = overview;
  const [first = ""] = (overview.name ?? "").split(" ");
  const { shown, asks } = progressOf(frame, overview);
  const progress = html`<section aria-labelledby="progress"><h2 id="progress">${words.progress}</h2>
${accounts.length === 0 ? empty("charger", words.no_account) : shown}</section>`;
  const plot = quarters.length === 0 ? "" : byQuarter(frame, overview);
  return ownPage(frame, "", overview.email, {
    title: words.title(first.length <= LONGEST ? first || null : null),
    body: html`${withdrawn ? doneOf(afterWithdrawal(frame, overview)) : ""}
${accounts.length < MOST ? "" : html`<p class="panel">${words.most(inNumbers(frame, MOST))}</p>`}
<div class="beside">${money(frame, overview, nextPayout(frame, overview))}
${/* what a person must do stands before what they may look at */ asks ? html`${progress}${plot}` : html`${plot}${progress}`}
<div>${payments(frame, overview)}
${rowList([
  { href: frame.to("/charging"), what: frame.is_signatory ? words.more_months : words.more },
  { href: frame.to("/earnings"), what: words.more_money },
])}</div></div>
${leftOut(frame, overview)}
${overview.manages ? doButton(frame, "/portal", {}, words.portal_of(overview.manages)) : ""}`,
  });
}

/** A mandate was just withdrawn: the sum that still comes, and the kWh that it is for. Of several accounts nobody's sum is known. */
function afterWithdrawal({ locale }: MijnFrame, overview: Overview): string {
  const words = WORDS[locale].overview.withdrawn;
  if (overview.accounts.length > 1) return words.done;
  const { left, kwh, estimated, unknown } = toComeOf(overview);
  // months of a year without a factor are in no quarter
  const waits = overview.left_out.some(({ why }) => why === "no_factor");
  const rest =
    left > 0 && !unknown
      ? words.kept(`${estimated > 0 ? "± " : ""}${inEuro(left, locale)}`, inKwh(kwh, locale))
      : unknown && kwh > 0
        ? words.kept_unknown(inKwh(kwh, locale))
        : waits
          ? WORDS[locale].progress.withdrawn_kept
          : words.nothing;
  return `${words.done} ${rest}`;
}

/** Payments that are shown; the page about money has all. */
const NEWEST = 4;

/** The newest payments of this year; nothing before the first. */
function payments(frame: MijnFrame, { payouts, quarters }: Overview): Html {
  if (payouts.length === 0) return html``;
  return html`<section aria-labelledby="payments"><h2 id="payments">${WORDS[frame.locale].overview.payments}</h2>
${payoutRows(frame, { quarters, payouts: payouts.slice(0, NEWEST) })}</section>`;
}
