import { claimKey } from "#shared/domain/claim/links.ts";
import { inEuro } from "#shared/domain/mail/notices.ts";
import { longMoment, longMonth } from "../kit/document.ts";
import type { Html } from "../kit/frame.ts";
import { html } from "../kit/html.ts";
import { barsOfMonths, inNumbers, table } from "../kit/signed_in_views.ts";
import { portalPage } from "./frame.ts";
import type { Attention, Figures, Month, Start } from "./model.ts";
import { type PortalFrame, signedIn } from "./visit.ts";
import { WORDS } from "./words.ts";

/** Months that are shown: a year. */
const SHOWN = 12;

export const showStart = signedIn(async (visit) => {
  const start = await visit.own<Start>("read_portal_start", { key: claimKey(visit.environment) });
  return visit.page(startPage(visit.frame, start));
});

/** What a partner sees first: what needs attention, how many customers, what they charge, what it earns. */
function startPage(frame: PortalFrame, { who, figures, attention }: Start): Html {
  const words = WORDS[frame.locale].start;
  return portalPage(frame, "", who, {
    title: words.title(who.partner_name),
    body: html`${attentionTo(frame, attention)}
${allFigures(frame, figures)}`,
  });
}

function allFigures(frame: PortalFrame, figures: Figures): Html {
  const words = WORDS[frame.locale].start;
  const count = (value: number) => inNumbers(frame, value);
  return html`<dl class="figures">
<div><dt>${words.customers}</dt><dd>${count(figures.customers_total)}${figures.customers_total === 0 ? "" : html`<small>${words.customers_active(count(figures.customers_active))}</small>`}</dd></div>
<div><dt>${words.this_month}</dt><dd>${count(figures.kwh_this_month)} kWh</dd></div>
<div><dt>${words.share}</dt><dd>${inEuro(figures.partner_share_estimated_eur, frame.locale)}<small>${words.share_hint}</small></dd></div>
<div><dt>${words.total}</dt><dd>${count(figures.kwh_total)} kWh</dd></div>
<div><dt>${words.ere}</dt><dd>${inNumbers(frame, figures.ere_estimated, 2)}<small>${words.ere_hint}</small></dd></div>
<div><dt>${words.chargers}</dt><dd>${count(figures.chargers_total)}</dd></div>
</dl>
<p class="quiet">${words.as_of(longMoment(figures.as_of, frame.words))}</p>
<section aria-labelledby="by-month"><h2 id="by-month">${words.months}</h2>
${figures.months.length === 0 ? html`<p>${words.no_months}</p>` : byMonth(frame, figures.months.slice(0, SHOWN).reverse())}</section>
${drafts(frame, figures)}`;
}

/** Each thing with where it is dealt with; that there is nothing is said too. */
function attentionTo(frame: PortalFrame, attention: Attention): Html {
  const words = WORDS[frame.locale].start;
  const { drafts, customers, webhooks, invoices_need } = attention;
  const count = (value: number) => inNumbers(frame, value);
  const counted = (value: number, text: (count: string, one: boolean) => string, page: string, query = {}) =>
    value === 0 ? [] : [{ text: text(count(value), value === 1), href: frame.to(page, query) }];
  const lines = [
    ...counted(drafts.conflict, words.attention.conflict, "/drafts", { needs: "conflict" }),
    ...counted(drafts.ean, words.attention.ean, "/drafts", { needs: "ean" }),
    ...counted(drafts.expiring, words.attention.expiring, "/drafts", { needs: "expiring" }),
    ...counted(customers.rejected, words.attention.rejected, "/customers", { registration: "afgekeurd" }),
    ...counted(customers.without_charger, words.attention.without_charger, "/customers", { charger: "without" }),
    ...counted(customers.without_mid, words.attention.without_mid, "/customers", { charger: "without_mid" }),
    ...counted(webhooks.disabled, words.attention.disabled, "/settings/webhooks"),
    ...counted(webhooks.failing, words.attention.failing, "/settings/webhooks"),
    ...(attention.account_missing ? [{ text: words.attention.no_account, href: frame.to("/settings/account") }] : []),
    ...(invoices_need ? [{ text: words.attention.invoices, href: frame.to("/settings/company") }] : []),
    ...(attention.cap_left <= attention.cap / 10
      ? [{ text: words.attention.cap(count(attention.cap_left), count(attention.cap)), href: frame.to("/import") }]
      : []),
  ];
  const partly = [
    ...(drafts.all ? [] : [words.attention.newest_drafts(count(drafts.examined))]),
    ...(customers.all ? [] : [words.attention.newest_customers(count(customers.examined))]),
  ];
  return html`<section aria-labelledby="attention"><h2 class="first" id="attention">${words.attention.title}</h2>
${lines.length === 0 ? html`<p>${words.attention.nothing}</p>` : html`<ul class="attention">${lines.map(({ text, href }) => html`<li><a href="${href}">${text}</a></li>`)}</ul>`}
${partly.map((line) => html`<p class="quiet">${line}</p>`)}</section>`;
}

function drafts(frame: PortalFrame, { drafts: counts }: Figures): Html {
  const words = WORDS[frame.locale].start;
  const statuses = Object.keys(words.statuses) as (keyof typeof words.statuses)[];
  return html`<section aria-labelledby="drafts"><h2 id="drafts">${words.drafts}</h2>
<dl class="figures">
${statuses.map((status) => html`<div><dt><a href="${frame.to("/drafts", { status })}">${words.statuses[status]}</a></dt><dd>${inNumbers(frame, counts[status])}</dd></div>`)}
</dl></section>`;
}

/** The last months as bars, and the same numbers as a table. */
function byMonth(frame: PortalFrame, months: readonly Month[]): Html {
  const words = WORDS[frame.locale].start;
  const dayOf = ({ month }: Month) => `${month}-01`;
  const total = months.reduce((sum, { kwh }) => sum + kwh, 0);
  const ere = months.reduce((sum, { ere_credits }) => sum + ere_credits, 0);
  const most = months.reduce((best, month) => (month.kwh > best.kwh ? month : best));
  return html`${barsOfMonths(frame, {
    id: "months",
    title: words.months_title,
    description: words.months_description(inNumbers(frame, total), longMonth(dayOf(most), frame.words)),
    months: months.map((month) => ({ day: dayOf(month), value: month.kwh })),
    unit: "kWh",
  })}
${barsOfMonths(frame, {
  id: "months-ere",
  title: words.months_ere_title,
  description: words.months_ere_description(inNumbers(frame, ere, 2)),
  months: months.map((month) => ({ day: dayOf(month), value: month.ere_credits })),
  unit: "ERE",
})}
${table(
  words.table,
  [words.month, words.kwh, words.ere, words.active].map((name) => ({ name })),
  months
    .toReversed()
    .map((month) => [
      longMonth(dayOf(month), frame.words),
      inNumbers(frame, month.kwh),
      inNumbers(frame, month.ere_credits, 2),
      inNumbers(frame, month.active_customers),
    ]),
)}`;
}
