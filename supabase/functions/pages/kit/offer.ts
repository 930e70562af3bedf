import { inEuro } from "#shared/domain/mail/notices.ts";
import { type Facts, longDate, type Period } from "#shared/domain/mandate_text/mandate_text.ts";
import { textInput } from "./fields.ts";
import type { Errors, Frame, Html } from "./frame.ts";
import { html } from "./html.ts";
import type { Visit } from "./visit.ts";

/** What a mandate yields, as far as private.offer knows. */
export type Offer = {
  payout_handler: "service_pays_customer" | "via_cpo_invoicing";
  ere_per_kwh: number | null;
  /** What an ERE brought on average, last; null as long as nothing was sold. */
  price_per_ere_eur: number | null;
};

/** What of signing is in the address of its page, so that each choice is a link and a form without script. */
export type Wishes = {
  /** For how many years, where the signatory chooses. */
  years: number | null;
  /** The customer's estimate of what they charge in a year; null where what was typed is none. */
  kwh: number | null;
  typed: string | null;
};

/** About what an electric car charges at home in a year; the customer puts their own number in its place. */
const TYPICAL_KWH = 2500;
const MAX_KWH = 1_000_000;

export function wishesOf({ c }: Visit): Wishes {
  const years = Number(c.req.query("years")) || null;
  const typed = c.req.query("kwh") ?? null;
  const digits = (typed ?? "").replace(/[\s.,]/g, "");
  const kwh = /^\d{1,7}$/.test(digits) ? Number(digits) : null;
  if (typed === null) return { years, kwh: TYPICAL_KWH, typed };
  return { years, kwh: kwh !== null && kwh >= 1 && kwh <= MAX_KWH ? kwh : null, typed };
}

/** As they stand in the address. */
export function asQuery({ years, typed }: Wishes): Record<string, string> {
  return { ...(years ? { years: String(years) } : {}), ...(typed ? { kwh: typed } : {}) };
}

/** For how long: a link for each choice, so that what is shown is what is chosen. Nothing where there is no choice. */
export function choosePeriod(
  frame: Frame,
  page: string,
  periods: readonly Period[],
  chosen: Facts,
  wishes: Wishes,
): Html {
  const { words, to } = frame;
  if (periods.length < 2) return html``;
  const { title, hint, years, and_this_year, until } = words.period;
  /** Signed shortly before a year ends, a mandate has that year too. */
  const spanOf = ({ validity_years, valid_from, valid_until }: Period) => {
    const [first = "", last = ""] = [valid_from, valid_until].map((day) => day.slice(0, 4));
    const said = years(validity_years);
    return Number(last) - Number(first) + 1 > validity_years ? and_this_year(said, first) : said;
  };
  const query = (validity_years: number) => asQuery({ ...wishes, years: validity_years });
  return html`<section class="sheet" aria-labelledby="period">
<h2 id="period">${title}</h2>
<p class="quiet">${hint}</p>
<ul class="choices">${periods.map((period) => {
    const { validity_years, valid_from, valid_until } = period;
    const label = html`<strong>${spanOf(period)}</strong> <small>${until(longDate(valid_from, words), longDate(valid_until, words))}</small>`;
    return validity_years === chosen.validity_years
      ? html`<li aria-current="true">${label}</li>`
      : html`<li><a href="${to(page, query(validity_years))}#period">${label}</a></li>`;
  })}</ul>
</section>`;
}

/** What it yields, what it costs, when money comes, and who asks: before anything is signed. */
export function showOffer(
  frame: Frame,
  page: string,
  { fee_pct }: Pick<Facts, "fee_pct">,
  offer: Offer,
  partner: string,
  wishes: Wishes,
): Html {
  const { words, config, locale } = frame;
  const { offer: said } = words;
  const percent = new Intl.NumberFormat(words.date_locale).format(fee_pct);
  const via = offer.payout_handler === "via_cpo_invoicing";
  return html`<section class="offer" aria-labelledby="offer">
<h2 id="offer">${said.title}</h2>
${estimate(frame, page, fee_pct, offer, partner, wishes)}
<dl>
<div><dt>${said.fee}</dt><dd>${said.fee_is(percent)}</dd></div>
<div><dt>${said.when}</dt><dd>${via ? said.when_via(partner) : said.when_paid(inEuro(MIN_PAYOUT_EUR, locale))}</dd></div>
</dl>
<p>${said.read} <a href="${config.CONDITIONS_URL}">${said.conditions}</a> ${said.and} <a href="${config.PRIVACY_URL}">${said.privacy}</a>.</p>
<h3>${said.who(config.SERVICE_NAME)}</h3>
<p>${config.SERVICE_ADDRESS}<br>${said.kvk} ${config.SERVICE_KVK}<br>${said.phone} <a href="tel:${config.SERVICE_PHONE.replace(/[^\d+]/g, "")}">${config.SERVICE_PHONE}</a><br>${said.mail} <a href="mailto:${config.SUPPORT_EMAIL}">${config.SUPPORT_EMAIL}</a></p>
</section>`;
}

/** What is wrong with the customer's estimate, for the summary of the page. */
export function wishErrors({ words }: Frame, { kwh }: Wishes): Errors {
  return kwh === null ? { kwh: words.offer.kwh_error } : {};
}

/** Below it a balance waits: the least that operator payout prepare pays, unless told otherwise. */
const MIN_PAYOUT_EUR = 5;

function estimate(frame: Frame, page: string, fee_pct: number, offer: Offer, partner: string, wishes: Wishes): Html {
  const { words, to, locale } = frame;
  const { offer: said } = words;
  const { ere_per_kwh, price_per_ere_eur, payout_handler } = offer;
  if (ere_per_kwh === null || price_per_ere_eur === null) return html`<p>${said.unknown}</p>`;
  const { kwh, years, typed } = wishes;
  const via = payout_handler === "via_cpo_invoicing";
  const number = (value: number, digits = 0) =>
    new Intl.NumberFormat(words.date_locale, { maximumFractionDigits: digits }).format(value);
  return html`<form method="get" action="${to(page).split("?")[0]}#offer">
<input type="hidden" name="lang" value="${locale}">${years ? html`<input type="hidden" name="years" value="${years}">` : ""}
${textInput({
  id: "kwh",
  label: said.kwh,
  hint: said.kwh_hint(number(TYPICAL_KWH)),
  error: kwh === null ? said.kwh_error : undefined,
  value: typed ?? (kwh === null ? "" : number(kwh)),
  attributes: html` inputmode="numeric" maxlength="9" autocomplete="off"`,
})}
<button class="button second">${said.compute}</button>
</form>
${
  kwh === null
    ? ""
    : html`<p class="panel">${said[via ? "estimate_via" : "estimate"](number(kwh), ...amounts(kwh * ere_per_kwh * price_per_ere_eur, fee_pct, locale), partner)}</p>
<p class="quiet">${said.computed(number(kwh), number(ere_per_kwh, 6), inEuro(price_per_ere_eur, locale))}</p>`
}`;
}

/** Gross, fee and what is left of it, as they are divided: the fee is cut to the cent. */
function amounts(yielded: number, fee_pct: number, locale: Frame["locale"]): [string, string, string] {
  const cents = Math.round(yielded * 100);
  const fee = Math.floor((cents * fee_pct) / 100);
  return [inEuro(cents / 100, locale), inEuro(fee / 100, locale), inEuro((cents - fee) / 100, locale)];
}
