import { claimKey } from "#shared/domain/claim/links.ts";
import { inEuro } from "#shared/domain/mail/notices.ts";
import { bars } from "../kit/bars.ts";
import { longMoment, longMonth } from "../kit/document.ts";
import type { Html } from "../kit/frame.ts";
import { html } from "../kit/html.ts";
import { barsOfMonths, inNumbers, table } from "../kit/signed_in_views.ts";
import { portalPage } from "./frame.ts";
import type { Attention, Figures, Month, Start } from "./model.ts";
import type { Payout } from "./payouts/model.ts";
import { type PortalFrame, signedIn } from "./request.ts";
import { WORDS } from "./words.ts";

/** Months that are shown: a year. */
const SHOWN = 12;

type StartAndPayouts = Start & { payouts: Payout[] };

export const showStart = signedIn(async (request) => {
  const start = await request.own("show_portal_start", { key: claimKey(request.environment) });
  return request.page(startPage(request.frame, start));
});

/** What a partner sees first: what needs attention, how far its customers are, what it earns, what they charge. */
function startPage(frame: PortalFrame, { who, figures, payouts, attention }: StartAndPayouts): Html {
  const words = WORDS[frame.locale].start;
  return portalPage(frame, "", who, {
    title: words.title(who.partner_name),
    body: html`${attentionTo(frame, attention)}
<div class="beside">${figures ? funnel(frame, figures) : html`<p class="panel waits" role="status">${words.counting}</p>`}
${byQuarter(frame, payouts, figures?.partner_share_estimated_eur ?? 0)}</div>
${figures ? allFigures(frame, figures) : ""}`,
  });
}

/** From everybody who was signed up to those who signed and whose mandate holds, each step with its share of the first. */
function funnel(frame: PortalFrame, { drafts, customers_total, customers_active }: Figures): Html {
  const words = WORDS[frame.locale].start;
  const all = Object.values(drafts).reduce((sum, count) => sum + count, 0);
  const most = Math.max(all, customers_active, 1);
  const step = (id: "invited" | "claimed" | "signed" | "active", count: number, page: string, query = {}) => {
    const of =
      all === 0 || id === "invited" || id === "active" ? "" : words.funnel.of(inNumbers(frame, (count / all) * 100));
    const small =
      id === "active" ? words.funnel.all_customers(inNumbers(frame, customers_total), customers_total === 1) : of;
    return html`<li><span><strong>${inNumbers(frame, count)}</strong> <a href="${frame.to(page, query)}">${words.funnel[id]}</a></span>
<svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true"><rect width="${Math.round((count / most) * 1000) / 10}" height="1"/></svg>${small ? html`<small>${small}</small>` : ""}</li>`;
  };
  return html`<section aria-labelledby="funnel"><h2 id="funnel">${words.funnel.title}</h2>
<ol class="funnel">
${step("invited", all, "/drafts")}
${step("claimed", drafts.claimed + drafts.active, "/drafts", { status: "claimed" })}
${step("signed", drafts.active, "/drafts", { status: "active" })}
${step("active", customers_active, "/customers", { active: "yes" })}
</ol></section>`;
}

/** Quarters that are shown: two years. */
const QUARTERS = 8;

/** What the partner earned in all and by quarter, of what was sold, and what may still come. */
function byQuarter(frame: PortalFrame, payouts: readonly Payout[], estimated: number): Html {
  const words = WORDS[frame.locale];
  const { quarters } = words.start;
  const shown = payouts.toSorted((one, other) => one.period.localeCompare(other.period)).slice(-QUARTERS);
  const total = shown.reduce((sum, { partner_share_eur }) => sum + partner_share_eur, 0);
  const euro = (value: number) => inEuro(value, frame.locale);
  const toCome = estimated > 0 ? html`<span class="quiet">${quarters.to_come(euro(estimated))}</span>` : "";
  return html`<section aria-labelledby="by-quarter"><h2 id="by-quarter">${quarters.title}</h2>
${
  shown.length === 0
    ? html`<p>${words.payouts.nothing}</p>${toCome && html`<p>${toCome}</p>`}`
    : html`<p class="amount"><strong>${euro(total)}</strong> ${quarters.earned(shown.length)}${toCome && html`<br>${toCome}`}</p>
${bars({
  id: "quarters",
  title: quarters.plot,
  description: `${euro(total)} ${quarters.earned(shown.length)}`,
  points: shown.map(({ period, status, partner_share_eur }) => {
    const [year = "", quarter = ""] = period.split("-Q");
    return {
      short: words.payouts.quarter_short(quarter),
      below: year,
      said: `${words.payouts.quarter_name(quarter, year)}: ${euro(partner_share_eur)}, ${words.payouts.statuses[status].toLowerCase()}`,
      values: [Math.max(partner_share_eur, 0)],
    };
  }),
  format: (value) => inEuro(value, frame.locale),
})}
<p><a class="link" href="${frame.to("/payouts")}">${quarters.all}</a></p>`
}</section>`;
}

function allFigures(frame: PortalFrame, figures: Figures): Html {
  const words = WORDS[frame.locale].start;
  const count = (value: number) => inNumbers(frame, value);
  return html`<section aria-labelledby="figures"><h2 id="figures">${words.figures}</h2>
<dl class="figures">
<div><dt>${words.this_month}</dt><dd>${count(figures.kwh_this_month)} kWh</dd></div>
<div><dt>${words.total}</dt><dd>${count(figures.kwh_total)} kWh</dd></div>
<div><dt>${words.ere}</dt><dd>${inNumbers(frame, figures.ere_estimated, 2)}<small>${words.ere_hint}</small></dd></div>
<div><dt>${words.chargers}</dt><dd>${count(figures.chargers_total)}</dd></div>
</dl>
<p class="quiet">${words.as_of(longMoment(figures.as_of, frame.words))}</p></section>
<section aria-labelledby="by-month"><h2 id="by-month">${words.months}</h2>
${figures.months.length === 0 ? html`<p>${words.no_months}</p>` : byMonth(frame, figures.months.slice(0, SHOWN).reverse())}</section>`;
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
    ...counted(drafts.mail, words.attention.draft_mail, "/drafts", { needs: "mail" }),
    ...counted(drafts.ean, words.attention.ean, "/drafts", { needs: "ean" }),
    ...counted(drafts.expiring, words.attention.expiring, "/drafts", { needs: "expiring" }),
    ...counted(customers.rejected, words.attention.rejected, "/customers", { registration: "afgekeurd" }),
    ...counted(customers.mail, words.attention.customer_mail, "/customers", { mail: "failed" }),
    ...counted(customers.without_charger, words.attention.without_charger, "/customers", { charger: "without" }),
    ...counted(customers.without_mid, words.attention.without_mid, "/customers", { charger: "without_mid" }),
    ...counted(webhooks.disabled, words.attention.disabled, "/settings/webhooks"),
    ...counted(webhooks.failing, words.attention.failing, "/settings/webhooks"),
    ...counted(attention.iban_wrong, words.attention.iban_wrong, "/payouts"),
    ...counted(attention.mail_failed, words.attention.account_mail, "/settings/webhooks"),
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

/** The last months as bars, and the same numbers as a table. */
function byMonth(frame: PortalFrame, months: readonly Month[]): Html {
  const words = WORDS[frame.locale].start;
  const dayOf = ({ month }: Month) => `${month}-01`;
  const total = months.reduce((sum, { kwh }) => sum + kwh, 0);
  const most = months.reduce((best, month) => (month.kwh > best.kwh ? month : best));
  return html`${barsOfMonths(frame, {
    id: "months",
    title: words.months_title,
    description: words.months_description(inNumbers(frame, total), longMonth(dayOf(most), frame.words)),
    months: months.map((month) => ({ day: dayOf(month), value: month.kwh })),
    unit: "kWh",
  })}
<details><summary>${words.table}</summary>
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
)}</details>`;
}
