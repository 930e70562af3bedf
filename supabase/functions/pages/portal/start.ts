import { html } from "hono/html";
import { inEuro } from "#shared/domain/mail/notices.ts";
import { bars } from "../kit/bars.ts";
import { longMonth } from "../kit/document.ts";
import type { Html } from "../kit/frame.ts";
import { inNumbers, table } from "../kit/signed_in_views.ts";
import { portalPage } from "./frame.ts";
import type { Figures, Month, Start } from "./model.ts";
import { type PortalFrame, signedIn } from "./visit.ts";
import { WORDS } from "./words.ts";

/** Months that are shown: a year. */
const SHOWN = 12;

export const showStart = signedIn(async (visit) =>
  visit.page(startPage(visit.frame, await visit.own<Start>("read_portal_start"))),
);

/** What a partner sees first: how many customers, what they charge, what it earns. */
function startPage(frame: PortalFrame, { who, figures }: Start): Html {
  const words = WORDS[frame.locale].start;
  const count = (value: number) => inNumbers(frame, value);
  return portalPage(frame, "", who, {
    title: words.title(who.partner_name),
    body: html`<dl class="figures">
<div><dt>${words.customers}</dt><dd>${words.customers_is(count(figures.customers_total), count(figures.customers_active))}</dd></div>
<div><dt>${words.chargers}</dt><dd>${count(figures.chargers_total)}</dd></div>
<div><dt>${words.this_month}</dt><dd>${count(figures.kwh_this_month)} kWh</dd></div>
<div><dt>${words.total}</dt><dd>${count(figures.kwh_total)} kWh</dd></div>
<div><dt>${words.ere}</dt><dd>${inNumbers(frame, figures.ere_estimated, 2)}<small>${words.ere_hint}</small></dd></div>
<div><dt>${words.share}</dt><dd>${inEuro(figures.partner_share_estimated_eur, frame.locale)}<small>${words.share_hint}</small></dd></div>
</dl>
${drafts(frame, figures)}
<section aria-labelledby="by-month"><h2 id="by-month">${words.months}</h2>
${figures.months.length === 0 ? html`<p>${words.no_months}</p>` : byMonth(frame, figures.months.slice(0, SHOWN).reverse())}</section>`,
  });
}

function drafts(frame: PortalFrame, { drafts: counts }: Figures): Html {
  const words = WORDS[frame.locale].start;
  const statuses = Object.keys(words.statuses) as (keyof typeof words.statuses)[];
  return html`<section aria-labelledby="drafts"><h2 id="drafts">${words.drafts}</h2>
<dl class="figures">
${statuses.map((status) => html`<div><dt>${words.statuses[status]}</dt><dd>${inNumbers(frame, counts[status])}</dd></div>`)}
</dl></section>`;
}

/** The last months as bars, and the same numbers as a table. */
function byMonth(frame: PortalFrame, months: readonly Month[]): Html {
  const words = WORDS[frame.locale].start;
  const dayOf = ({ month }: Month) => `${month}-01`;
  const short = new Intl.DateTimeFormat(frame.words.date_locale, { month: "narrow", timeZone: "UTC" });
  const total = months.reduce((sum, { kwh }) => sum + kwh, 0);
  const most = months.reduce((best, month) => (month.kwh > best.kwh ? month : best));
  return html`${bars({
    id: "months",
    title: words.months_title,
    description: words.months_description(inNumbers(frame, total), longMonth(dayOf(most), frame.words)),
    points: months.map((month) => ({ short: short.format(new Date(dayOf(month))), value: month.kwh })),
    format: (value) => `${inNumbers(frame, value, Number.isInteger(value) ? 0 : 1)} kWh`,
  })}
${table(
  words.table,
  html`<th scope="col">${words.month}</th><th scope="col">${words.kwh}</th><th scope="col">${words.ere}</th><th scope="col">${words.active}</th>`,
  months
    .toReversed()
    .map(
      (month) =>
        html`<tr><th scope="row">${longMonth(dayOf(month), frame.words)}</th><td>${inNumbers(frame, month.kwh)}</td><td>${inNumbers(frame, month.ere_credits, 2)}</td><td>${inNumbers(frame, month.active_customers)}</td></tr>`,
    ),
)}`;
}
