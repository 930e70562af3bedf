import { inEuro, inKwh } from "#shared/domain/mail/notices.ts";
import { longDate } from "#shared/domain/mandate_text/mandate_text.ts";
import { longMoment } from "../kit/document.ts";
import type { Html } from "../kit/frame.ts";
import { html } from "../kit/html.ts";
import { chip } from "../kit/parts/chip.ts";
import { empty } from "../kit/parts/empty.ts";
import { figure } from "../kit/parts/figure.ts";
import { rowList } from "../kit/parts/rows.ts";
import { doneOf, inNumbers, table } from "../kit/signed_in_views.ts";
import { chooseYear } from "./charging.ts";
import { claimButton, ownPage } from "./frame.ts";
import { addressOf, nameOf } from "./mandates.ts";
import type { Account, Earned, Earnings, Overview } from "./model.ts";
import { kindsOf, partsOf, percent, quarterName, reversedOf, settles, sum, takenBack } from "./money.ts";
import { leftOut } from "./months.ts";
import type { MijnFrame } from "./request.ts";
import { WORDS } from "./words.ts";

/** What a year brings, its quarters from open to paid, what was paid, where to, and what the service keeps. */
export function earningsPage(frame: MijnFrame, earnings: Earnings, news: string | null): Html {
  const { locale } = frame;
  const words = WORDS[locale].earnings;
  const { year, accounts, payouts, quarters } = earnings;
  const by = settles(accounts);
  const [held = null] = accounts
    .flatMap(({ iban_held_until }) => iban_held_until ?? [])
    .sort()
    .reverse();
  return ownPage(frame, "/earnings", earnings.email, {
    title: words.title(year),
    body: html`${doneOf(news === "account_changed" && held ? words.changed(longMoment(held, frame.words)) : undefined)}
${chooseYear(frame, earnings, "/earnings", WORDS[locale].charging.years)}
${takenBack(frame, earnings.debts)}
<div class="beside"><section>${broughtBy(frame, earnings, by !== "we")}
<h2>${words.quarters}</h2>
${
  quarters.length === 0
    ? empty("clock", words.nothing_counts(year))
    : html`${quarterTable(frame, earnings, by !== "we")}
<p class="quiet">${words.steps}${quarters.length > 1 ? ` ${words.rounded}` : ""}</p>`
}
${forecast(frame, earnings)}
${leftOut(frame, earnings)}</section>
<section><h2>${by === "we" ? words.paid(year) : by === "both" ? words.paid_any(year) : words.paid_via(by.cpo, year)}</h2>
${payouts.length === 0 ? empty("bank", words.nothing_paid(year)) : payoutRows(frame, earnings)}
${yearOverviews(frame, earnings)}
${accounts.length > 0 ? html`<h2>${words.account}</h2>${accounts.map((account) => payout(frame, account, news === "account_changed" ? held : null))}` : ""}
<h2>${words.fee}</h2>
${fees(frame, accounts)}</section></div>`,
  });
}

/** What the service keeps; by account where it differs. */
function fees(frame: MijnFrame, accounts: readonly Account[]): Html {
  const words = WORDS[frame.locale].earnings;
  const known = accounts.flatMap((account) =>
    account.fee_pct === null ? [] : { name: nameOf(account), fee: percent(frame, account.fee_pct) },
  );
  const [fee, ...others] = new Set(known.map(({ fee }) => fee));
  if (fee === undefined) return html`<p>${words.fee_unknown}</p>`;
  if (others.length === 0) return html`<p>${words.fee_is(fee)}</p>`;
  return html`<ul>${known.map(({ name, fee }) => html`<li>${name}: ${fee}%</li>`)}</ul><p>${words.fee_differs}</p>`;
}

/** Payments as rows: for which quarters and kWh, when, how much, and the document. */
export function payoutRows(frame: MijnFrame, shown: Pick<Overview, "payouts" | "quarters">): Html {
  const words = WORDS[frame.locale].earnings;
  const name = (first: string) => quarterName(frame, first);
  const reversed = reversedOf(shown);
  return rowList(
    shown.payouts.map(({ paid_on, amount_eur, quarters, kwh, ...of }) => ({
      href: frame.to(of.part_id === null ? `/statement/${of.line_id}` : `/settlement/${of.part_id}`),
      what: quarters.length > 0 ? new Intl.ListFormat(frame.locale).format(quarters.map(name)) : words.payment,
      when: [
        longDate(paid_on, frame.words),
        ...(kwh > 0 ? [inKwh(kwh, frame.locale)] : []),
        ...(of.cpo ? [words.paid_to(of.cpo)] : []),
      ].join(" · "),
      amount: inEuro(amount_eur, frame.locale),
      chip: quarters.some((first) => reversed.has(first))
        ? chip("yours", words.settled_later)
        : chip("done", WORDS[frame.locale].overview.kinds.paid),
      opens: "pdf",
      as: words.pdf,
    })),
  );
}

/** A document for each year that is over; with several accounts, of each of them. */
function yearOverviews(frame: MijnFrame, { accounts, overviews }: Earnings): Html {
  const words = WORDS[frame.locale].earnings;
  if (overviews.length === 0) return html``;
  const name = (account_id: string) => {
    const account = accounts.find((each) => each.account_id === account_id);
    return accounts.length > 1 && account ? account.connections.map(addressOf).join("; ") : null;
  };
  return html`<h2>${words.overviews}</h2>
${rowList(overviews.map(({ account_id, year }) => ({ href: frame.to(`/overview/${account_id}/${year}`), what: words.overview(year, name(account_id)), opens: "pdf", as: words.pdf })))}`;
}

/** Euro, and that some of them are an estimate; null where there are none. */
function shownEuro({ locale }: MijnFrame, quarters: readonly Earned[]): string | null {
  const { paid, waits, estimated } = partsOf(quarters);
  const total = sum([paid, waits, estimated]);
  return total > 0 ? `${estimated > 0 ? "±\u00a0" : ""}${inEuro(total, locale)}` : null;
}

/** One large figure, what the kWh of the year bring; then how much of it is paid, still to be paid and estimated. */
function broughtBy(frame: MijnFrame, { year, quarters, accounts }: Earnings, via: boolean): Html {
  const { earnings: words, overview } = WORDS[frame.locale];
  const all = shownEuro(frame, quarters);
  if (!all) return html``;
  const { paid, waits, estimated, unknown } = partsOf(quarters);
  const kinds = kindsOf(frame, accounts);
  const parts = [paid, waits, estimated].flatMap((euro, kind) =>
    euro > 0 ? `${inEuro(euro, frame.locale)} ${kinds[kind]}` : [],
  );
  return figure(
    all,
    via ? words.brought_net(year) : words.brought(year),
    [...parts, ...(unknown ? [overview.unknown_rest] : [])].join(", "),
  );
}

/** What the year may bring in all, in euro where a price is known. */
function forecast(
  frame: MijnFrame,
  { year, position: { forecast_ere, total_expected_eur }, accounts }: Earnings,
): Html {
  if (!forecast_ere || !accounts.some(({ checklist }) => checklist.mandate_signed)) return html``;
  const words = WORDS[frame.locale].earnings;
  const euro = total_expected_eur === null ? null : inEuro(Math.round(total_expected_eur), frame.locale);
  return html`<p>${words.forecast(inNumbers(frame, forecast_ere), year, euro?.replace(/[.,]00$/, "") ?? null)}</p>`;
}

/** The state of a quarter. A sold quarter has the word of the chart: on its way, or still to be paid. */
function statusOf(frame: MijnFrame, accounts: readonly Account[], status: keyof typeof CHIPS): Html {
  const words = WORDS[frame.locale].earnings.status;
  return chip(CHIPS[status], status === "sold" ? kindsOf(frame, accounts)[1] : words[status]);
}
const CHIPS = { open: "quiet", closed: "way", reversed: "stopped", empty: "quiet", sold: "way", paid: "done" } as const;

function quarterTable(frame: MijnFrame, { position, ...earnings }: Earnings, via: boolean): Html {
  const { quarters, accounts } = earnings;
  const reversed = reversedOf(earnings);
  const { earnings: words, overview, months } = WORDS[frame.locale];
  const kwhAndEre = (kwh: number, ere: number) =>
    html`${inNumbers(frame, kwh)}<small>${overview.ere(inNumbers(frame, ere, 2))}</small>`;
  // exact, as the first page adds them
  const all = (of: "kwh" | "ere") => quarters.reduce((total, quarter) => total + quarter[of], 0);
  return table(
    words.quarters,
    [words.quarter, words.kwh, via ? words.net : words.you].map((name) => ({ name })),
    position.quarters.map(({ quarter, kwh, ere_credits, price_per_ere, status }) => {
      const [year, number = ""] = quarter.split("-Q");
      const first = `${year}-${String(Number(number) * 3 - 2).padStart(2, "0")}-01`;
      const euro = shownEuro(
        frame,
        quarters.filter((earned) => earned.quarter === first),
      );
      const by = price_per_ere === null ? overview.kinds.estimated : words.price(inEuro(price_per_ere, frame.locale));
      const is = status !== "closed" ? status : reversed.has(first) ? "reversed" : kwh === 0 ? "empty" : status;
      return [
        html`${words.in_year(number)}<small>${statusOf(frame, accounts, is)}</small>`,
        kwhAndEre(kwh, ere_credits),
        euro && html`${euro}<small>${by}</small>`,
      ];
    }),
    { total: [months.total, kwhAndEre(all("kwh"), all("ere")), shownEuro(frame, quarters)] },
  );
}

/**
 * Where the money of an account goes. To change it takes a mailed code: on the claim pages, or on those of a CPO's customer. `told` is
 * until when it is held, where the page says that already.
 */
function payout(frame: MijnFrame, account: Account, told: string | null): Html {
  const words = WORDS[frame.locale].earnings;
  const { account_id, draft_id, cpo, iban_last4, iban_held_until, payment_back, payout_handler, connections } = account;
  const which = cpo ? html`<h3>${words.at(cpo, connections.map(addressOf).join("; "))}</h3>` : html``;
  if (payout_handler !== "service_pays_customer")
    return html`${which}<p>${cpo ? words.via_cpo(cpo) : words.via}</p>
${iban_last4 ? html`<p class="quiet">${words.via_iban(iban_last4)}</p>` : html`<p>${words.via_no_iban(cpo)}</p>`}`;
  const label = iban_last4 ? words.change : words.add;
  const how = html`<p class="quiet">${words.change_how}${iban_held_until ? "" : ` ${words.change_wait}`}</p>`;
  return html`${which}<p>${iban_last4 ? html`<strong>${words.iban_is(iban_last4)}</strong>` : words.no_iban}</p>
${payment_back ? html`<p class="panel ${payment_back.because === "none" ? "way" : "waits"}">${words.back[payment_back.because](inEuro(payment_back.amount_eur, frame.locale), payment_back.iban_last4, longDate(payment_back.day, frame.words))}</p>` : ""}
${iban_held_until && iban_held_until !== told ? html`<p class="panel way">${words.held(longMoment(iban_held_until, frame.words))}</p>` : ""}
${
  cpo
    ? html`${how}<p><a class="link" href="${frame.to(`/account/${account_id}`)}">${label}</a></p>`
    : draft_id
      ? html`${how}${claimButton(frame, account_id, "/payout", label, true)}`
      : html`<p>${words.by_mail} <a href="mailto:${frame.config.SUPPORT_EMAIL}">${frame.config.SUPPORT_EMAIL}</a></p>`
}`;
}
