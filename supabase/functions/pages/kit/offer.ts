import { getCookie, setCookie } from "hono/cookie";
import type { Offer, Period } from "#shared/domain/answers.ts";
import { inEuro } from "#shared/domain/mail/notices.ts";
import { type Facts, longDate } from "#shared/domain/mandate_text/mandate_text.ts";
import { estimateOf, kwhOf, shownYield, TYPICAL_KWH, type YieldFacts } from "#shared/values/estimate.ts";
import { readNumber } from "#shared/values/typed_number.ts";
import { textInput } from "./fields.ts";
import type { Errors, Frame, Html } from "./frame.ts";
import { html } from "./html.ts";
import type { PageAnswer, PageRequest } from "./page_request.ts";
import type { KitWords } from "./words.ts";

/** What of signing is in the address of its page, so that each choice is a link and a form without script. */
export type Wishes = {
  /** For how many years, where the signatory chooses. */
  years: number | null;
  /** The customer's estimate of kWh in a year; null if the text is not a number. */
  kwh: number | null;
  typed: string | null;
};

/** The kWh of the first page, for the last one: of this browser, until it closes. */
const COOKIE = "kwh";

const isSecure = ({ environment }: PageRequest) => environment.config.PAGES_URL.startsWith("https:");

export function wishesOf(request: PageRequest): Wishes {
  const { c } = request;
  const years = Number(c.req.query("years")) || null;
  const kept = isSecure(request) ? getCookie(c, COOKIE, "secure") : getCookie(c, COOKIE);
  const typed = c.req.query("kwh") ?? kept ?? null;
  return { years, kwh: kwhOf(readNumber, typed ?? String(TYPICAL_KWH)), typed };
}

/** Keeps the kWh that were typed for the other pages of the same link. */
function keepKwh(request: PageRequest, { kwh }: Wishes): void {
  const { c, frame } = request;
  if (kwh === null || c.req.query("kwh") === undefined) return;
  const secure = isSecure(request);
  const attributes = { path: frame.to("").split("?")[0] ?? "/", httpOnly: true, secure, sameSite: "Lax" } as const;
  setCookie(c, COOKIE, unambiguous(kwh), secure ? { ...attributes, prefix: "secure" } : attributes);
}

/** As readNumber reads it in one way: four decimals are no group of three. */
const unambiguous = (kwh: number) => (Number.isInteger(kwh) ? String(kwh) : kwh.toFixed(4));

/** As they stand in the address. */
export function asQuery({ years, typed }: Wishes): Record<string, string> {
  return { ...(years ? { years: String(years) } : {}), ...(typed ? { kwh: typed } : {}) };
}

/**
 * The choice of years: a link for each, so that the page always shows the chosen one. Nothing where there is no choice.
 */
export function choosePeriod(
  frame: Frame,
  page: string,
  periods: readonly Period[],
  chosen: Facts,
  wishes: Wishes,
): Html {
  const { words, to } = frame;
  if (periods.length < 2) return html``;
  const { title, hint, until, calendar_years } = words.period;
  const query = (validity_years: number) => asQuery({ ...wishes, years: validity_years });
  return html`<section class="sheet" aria-labelledby="period">
<h2 id="period">${title}</h2>
<p class="quiet">${hint}</p>
<ul class="choices">${periods.map((period) => {
    const { validity_years, valid_from, valid_until } = period;
    const [first, last] = [Number(valid_from.slice(0, 4)), Number(valid_until.slice(0, 4))];
    const label = html`<strong>${until(longDate(valid_until, words))}</strong> <small>${calendar_years(last - first + 1, first, last)}</small>`;
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
  const percent = inNumber(words, fee_pct);
  const via = offer.payout_handler === "via_cpo_invoicing";
  return html`<section class="offer" aria-labelledby="offer">
<h2 id="offer">${said.title}</h2>
${estimate(frame, page, fee_pct, offer, partner, wishes)}
${isPriced(offer) && wishes.kwh !== null ? "" : html`<p>${said.fee}: ${said.fee_is(percent)}</p>`}
<details><summary>${said.when}</summary>
<p>${via ? said.when_via(partner) : said.when_paid(inEuro(MIN_PAYOUT_EUR, locale))}</p></details>
<p>${said.read} <a href="${config.CONDITIONS_URL}">${said.conditions}</a> ${said.and} <a href="${config.PRIVACY_URL}">${said.privacy}</a>.</p>
<details><summary>${said.who(config.SERVICE_NAME)}</summary>
<p>${config.SERVICE_ADDRESS}<br>${said.kvk} ${config.SERVICE_KVK}<br>${said.phone} <a href="tel:${config.SERVICE_PHONE.replace(/[^\d+]/g, "")}">${config.SERVICE_PHONE}</a><br>${said.mail} <a href="mailto:${config.SUPPORT_EMAIL}">${config.SUPPORT_EMAIL}</a></p></details>
</section>`;
}

type Priced = { ere_per_kwh: number; price_per_ere_eur: number };
const isPriced = (offer: Offer): offer is Offer & Priced =>
  offer.ere_per_kwh !== null && offer.price_per_ere_eur !== null;

/** What is wrong with the customer's estimate, for the summary of the page. Nothing is asked where nothing can be estimated. */
export const wishErrors = ({ words }: Frame, { kwh }: Wishes, offer: Offer): Errors =>
  kwh !== null || !isPriced(offer) ? {} : { kwh: words.offer.kwh_error };

/** The page of these wishes, which may have to be asked again; what was typed well is kept for the other pages. */
export function wishedPage(request: PageRequest, page: Html, wishes: Wishes, offer: Offer): PageAnswer {
  keepKwh(request, wishes);
  return request.page(page, wishErrors(request.frame, wishes, offer).kwh ? 422 : 200);
}

/** Below it a balance waits: the least that operator payout prepare pays, unless told otherwise. */
export const MIN_PAYOUT_EUR = 5;

/** The figure alone, and the field: for a first page. Nothing where nothing is published. */
export function showYield(frame: Frame, page: string, fee_pct: number, offer: Offer, wishes: Wishes): Html | "" {
  if (!isPriced(offer)) return "";
  const { words } = frame;
  const { kwh } = wishes;
  return html`<div class="offer" id="offer">
${kwh === null ? "" : figure(frame, yieldOf(frame, offer, fee_pct, kwh), null)}
${askKwh(frame, page, offer, fee_pct, wishes)}
${kwh === null ? "" : html`<p class="quiet">${words.offer.fee_is_off(inNumber(words, fee_pct))}</p>`}
</div>`;
}

/** The figure alone, of a typical driver: for who has not charged yet. Nothing where nothing is published. */
export function typicalYield(frame: Frame, fee_pct: number, offer: Offer, partner: string | null): Html | "" {
  if (!isPriced(offer)) return "";
  return html`${figure(frame, yieldOf(frame, offer, fee_pct, TYPICAL_KWH), partner)}
<p class="quiet">${frame.words.offer.fee_is_off(inNumber(frame.words, fee_pct))}</p>`;
}

function estimate(frame: Frame, page: string, fee_pct: number, offer: Offer, partner: string, wishes: Wishes): Html {
  const { words } = frame;
  const { offer: said } = words;
  if (!isPriced(offer)) return html`<p>${said.unknown}</p>`;
  const { kwh } = wishes;
  if (kwh === null) return askKwh(frame, page, offer, fee_pct, wishes);
  const { ere_per_kwh, price_per_ere_eur, payout_handler } = offer;
  const via = payout_handler === "via_cpo_invoicing";
  const shown = yieldOf(frame, offer, fee_pct, kwh);
  const row = (label: string, name: "gross" | "fee" | "net") =>
    html`<tr><th scope="row">${label}</th><td data-yield="${name}">${shown[name]}</td></tr>`;
  const price = new Intl.NumberFormat(words.date_locale, {
    style: "currency",
    currency: "EUR",
    maximumFractionDigits: 6,
  });
  return html`${figure(frame, shown, via ? partner : null)}
<table class="sum" aria-label="${said.sum}">
<tbody>${row(said.gross, "gross")}
${row(said.costs(inNumber(words, fee_pct)), "fee")}</tbody>
<tfoot>${row(via ? said.for_partner(partner) : said.for_you, "net")}</tfoot>
</table>
${via ? html`<p>${said.ask_partner(partner)}</p>` : ""}
${askKwh(frame, page, offer, fee_pct, wishes)}
<details><summary>${said.how}</summary>
<p>${sayKwh((saidKwh) => said.computed(saidKwh, inNumber(words, ere_per_kwh), price.format(price_per_ere_eur)), shown.kwh)}</p>
<p>${said.fee_is(inNumber(words, fee_pct))}</p></details>`;
}

/** What the script of the page estimates with, too. */
const factsOf = (offer: Priced, fee_pct: number): YieldFacts => [offer.ere_per_kwh, offer.price_per_ere_eur, fee_pct];

const yieldOf = ({ words }: Frame, offer: Priced, fee_pct: number, kwh: number) =>
  shownYield(estimateOf, kwh, factsOf(offer, fee_pct), words.date_locale);

/** About what comes of it in a year, in large. */
function figure({ words }: Frame, { about, kwh }: Record<"about" | "kwh", string>, partner: string | null): Html {
  const { a_year, a_year_to } = words.offer;
  return html`<p class="amount"><strong data-yield="about">${about}</strong> ${sayKwh((said) => (partner === null ? a_year(said) : a_year_to(said, partner)), kwh)}</p>`;
}

/** The same at the end of the page, beside its button; nothing where nothing can be estimated. */
export function sumOf(frame: Frame, offer: Offer, fee_pct: number, partner: string, { kwh }: Wishes): Html | "" {
  if (!isPriced(offer) || kwh === null) return "";
  const { a_year, a_year_to } = frame.words.offer;
  const via = offer.payout_handler === "via_cpo_invoicing";
  const shown = yieldOf(frame, offer, fee_pct, kwh);
  return html`<strong data-yield="about">${shown.about}</strong> ${sayKwh((said) => (via ? a_year_to(said, partner) : a_year(said)), shown.kwh)}`;
}

/** A sentence in which the script finds the kWh. No name holds a line break. */
function sayKwh(sentence: (kwh: string) => string, kwh: string): Html {
  const [before, after] = sentence("\n").split("\n");
  return html`${before}<span data-yield="kwh">${kwh}</span>${after}`;
}

/** The customer's own number. */
function askKwh(frame: Frame, page: string, offer: Priced & Offer, fee_pct: number, wishes: Wishes): Html {
  const { words, to, locale } = frame;
  const { offer: said } = words;
  const { years, typed } = wishes;
  return html`<form method="get" action="${to(page).split("?")[0]}#offer" data-yields="${JSON.stringify(factsOf(offer, fee_pct))}">
<input type="hidden" name="lang" value="${locale}">${years ? html`<input type="hidden" name="years" value="${years}">` : ""}
${textInput({
  id: "kwh",
  label: said.kwh,
  hint: said.kwh_hint(inNumber(words, TYPICAL_KWH)),
  error: wishErrors(frame, wishes, offer).kwh,
  value: typed ?? String(TYPICAL_KWH),
  attributes: html` inputmode="decimal" maxlength="30" autocomplete="off"`,
})}
<button class="button second">${said.compute}</button>
</form>`;
}

const inNumber = ({ date_locale }: KitWords, value: number) =>
  new Intl.NumberFormat(date_locale, { maximumFractionDigits: 6 }).format(value);
