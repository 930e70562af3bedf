import { claimKey } from "#shared/domain/claim/links.ts";
import { inEuro } from "#shared/domain/mail/notices.ts";
import { dayOf } from "#shared/values/dutch_clock.ts";
import { estimateOf } from "#shared/values/estimate.ts";
import { longMoment, longMonth } from "../kit/document.ts";
import type { Html } from "../kit/frame.ts";
import { html } from "../kit/html.ts";
import { chart } from "../kit/parts/chart.ts";
import { chip } from "../kit/parts/chip.ts";
import { empty } from "../kit/parts/empty.ts";
import { figure, figures as tiles } from "../kit/parts/figure.ts";
import { chipLinks } from "../kit/parts/filter_bar.ts";
import { rowList } from "../kit/parts/rows.ts";
import { chartOfMonths, doButton, inNumbers, table } from "../kit/signed_in_views.ts";
import type { DraftQuery } from "./drafts/query.ts";
import { portalPage } from "./frame.ts";
import type { Attention, Figures, Month, Start } from "./model.ts";
import type { Payout } from "./payouts/model.ts";
import { type PortalFrame, signedIn } from "./request.ts";
import { WORDS } from "./words.ts";

/** What is summed up: a year, or this month where none was chosen. */
type Period = { year: number | null; today: string };

export const showStart = signedIn(async (request) => {
  const today = dayOf(request.environment.now().toISOString());
  const [typed, last] = [Number(request.c.req.query("year")), Number(today.slice(0, 4))];
  const year = Number.isInteger(typed) && typed >= FIRST_YEAR && typed <= last ? typed : null;
  const asked = { key: claimKey(request.environment), ...(year ? { year } : {}) };
  return request.page(startPage(request.frame, await request.own("show_portal_start", asked), { year, today }));
});

/** ERE began in this year (private.first_delivery_month). */
const FIRST_YEAR = 2026;

/** What a partner sees first: this month, what needs attention, how far its customers are, what it earns, what they charge. */
function startPage(frame: PortalFrame, start: Start, period: Period): Html {
  const { who, own_pages, payouts, attention } = start;
  const figures = start.figures && start.accounts && together(start.figures, start.accounts);
  const words = WORDS[frame.locale].start;
  // without a price of theirs, what accounts or people bring is missing from the sum
  const isPriced =
    start.figures &&
    start.accounts &&
    shareOf(start, start.figures.ere_estimated, start.accounts.ere_estimated) !== null;
  return portalPage(frame, "", who, {
    title: words.title(who.partner_name),
    body: html`${figures ? summary(frame, start, figures, period) : html`<p class="panel waits" role="status">${words.counting}</p>`}
${attentionTo(frame, attention, (start.accounts?.customers_total ?? 0) > 0)}
<div class="beside">${figures ? funnel(frame, figures) : ""}
${payouts ? byQuarter(frame, payouts, figures && isPriced ? figures.partner_share_estimated_eur : 0) : ""}</div>
${figures ? allFigures(frame, figures, period) : ""}
${own_pages ? doButton(frame, "/mijn", {}, words.own_pages) : ""}`,
  });
}

/** Adds the figures of a partner's CPO clients to those of the people whom it brought. */
function together(brought: Figures, accounts: NonNullable<Start["accounts"]>): Figures {
  const sum = (of: Exclude<keyof Figures, "as_of" | "drafts" | "months">) => brought[of] + accounts[of];
  const months = new Map<string, Month>();
  for (const each of [...brought.months, ...accounts.months]) {
    const { kwh = 0, ere_credits = 0, active_customers = 0 } = months.get(each.month) ?? {};
    months.set(each.month, {
      month: each.month,
      kwh: kwh + each.kwh,
      ere_credits: ere_credits + each.ere_credits,
      active_customers: active_customers + each.active_customers,
    });
  }
  return {
    as_of: brought.as_of,
    drafts: brought.drafts,
    customers_total: sum("customers_total"),
    customers_active: sum("customers_active"),
    chargers_total: sum("chargers_total"),
    kwh_total: sum("kwh_total"),
    kwh_this_month: sum("kwh_this_month"),
    ere_estimated: sum("ere_estimated"),
    partner_share_estimated_eur: sum("partner_share_estimated_eur"),
    months: [...months.values()],
  };
}

/** A period with what it brought, each beside the one before; and the next payout. */
function summary(frame: PortalFrame, start: Start, { months }: Figures, { year, today }: Period): Html {
  const { locale } = frame;
  const { start: words } = WORDS[locale];
  const { won, won_before, has_factor } = start.period;
  const [from, before] = year ? [String(year), String(year - 1)] : [today.slice(0, 7), monthBefore(today.slice(0, 7))];
  const month = new Intl.DateTimeFormat(frame.words.date_locale, { month: "long", timeZone: "UTC" });
  const name = year ? before : month.format(new Date(`${before}-01`));
  const sumOf = (prefix: string, of: "kwh" | "ere_credits", among: readonly Month[] = months) =>
    among.filter(({ month }) => month.startsWith(prefix)).reduce((all, each) => all + each[of], 0);
  const euroOf = (prefix: string) =>
    shareOf(
      start,
      sumOf(prefix, "ere_credits", start.figures?.months),
      sumOf(prefix, "ere_credits", start.accounts?.months),
    );
  // in its first week a period is always less than a whole one
  const begins = today.slice(8) <= "07" && (!year || today.startsWith(`${year}-01`));
  const change = (now: number, then: number, said: (value: number) => string) =>
    now === then
      ? now === 0
        ? null
        : words.period.same(name)
      : now > then
        ? words.period.more(said(now - then), name)
        : begins
          ? null
          : words.period.less(said(then - now), name);
  const many = (value: number) => inNumbers(frame, value);
  const kwh = (value: number) => `${inNumbers(frame, value)} kWh`;
  const [now, then] = [euroOf(from), euroOf(before)];
  const years = [...new Set([today.slice(0, 4), ...months.map(({ month }) => month.slice(0, 4))])].sort().reverse();
  return html`${chipLinks(words.period.choose, [
    { href: frame.to(""), label: words.period.month, on: year === null },
    ...years.map((each) => ({ href: frame.to("", { year: each }), label: each, on: String(year) === each })),
  ])}
${tiles([
  {
    name: words.period.customers,
    value: won.at_least ? words.period.at_least(many(won.customers)) : many(won.customers),
    // who was not counted cannot be compared
    small: won.at_least || won_before.at_least ? null : change(won.customers, won_before.customers, many),
  },
  {
    name: words.period.charged,
    value: kwh(sumOf(from, "kwh")),
    small: change(Math.round(sumOf(from, "kwh")), Math.round(sumOf(before, "kwh")), kwh),
  },
  !has_factor && sumOf(from, "kwh") > 0
    ? { name: words.period.euro, value: words.period.unknown, small: words.period.no_factor }
    : now === null || then === null
      ? { name: words.period.euro, value: words.period.unknown, small: words.period.unknown_why }
      : {
          name: words.period.euro,
          value: `± ${inEuro(now, locale)}`,
          small: change(now, then, (value) => inEuro(value, locale)),
        },
  nextPayout(frame, start),
])}`;
}

const monthBefore = (month: string): string => {
  const [year = 0, number = 1] = month.split("-").map(Number);
  return new Date(Date.UTC(year, number - 2)).toISOString().slice(0, 7);
};

/**
 * What the partner may earn in EUR by these ERE, at the terms for its new customers. ERE of people whom it brought and
 * of its accounts have prices of their own. Null if a price that it needs is not known.
 */
function shareOf({ terms }: Start, brought: number, accounts: number): number | null {
  const { fee_pct, share_pct, price_per_ere_eur: price, accounts_price_per_ere_eur: own } = terms;
  if ((price ?? own) === null || (brought > 0 && price === null) || (accounts > 0 && own === null)) return null;
  const worth = (ere: number, each: number | null) =>
    estimateOf([ere, each ?? 0, fee_pct / 100, share_pct / 100], 0).net;
  return worth(brought, price) + worth(accounts, own);
}

/** What is paid next, when, and to which account. */
function nextPayout(frame: PortalFrame, { payouts, coming_eur, terms: { iban_last4, iban_held_until } }: Start) {
  const { start: words, payouts: paid } = WORDS[frame.locale];
  const open = (payouts ?? []).filter(
    ({ status }) => status === "pending" || status === "approved" || status === "failed",
  );
  const account = iban_last4 ? words.next.to(iban_last4) : paid.no_account;
  const to = iban_held_until ? `${account} ${paid.held(longMoment(iban_held_until, frame.words))}` : account;
  if (coming_eur === null) return { name: words.next.title, value: words.period.unknown };
  if (coming_eur <= 0) return { name: words.next.title, value: words.next.none, small: words.next.none_why };
  const [status] = ["failed", "approved", "pending"].filter((each) => open.some((one) => one.status === each));
  return {
    name: words.next.title,
    value: inEuro(coming_eur, frame.locale),
    // what nobody counted yet has no status
    small: payouts ? `${paid.statuses[(status ?? "pending") as Payout["status"]]}. ${to}` : to,
  };
}

/** From everybody who was signed up to those who signed: each step with its share of the first, and a way to who came so far. */
function funnel(frame: PortalFrame, { drafts, customers_total, customers_active }: Figures): Html {
  const words = WORDS[frame.locale].start;
  const count = (value: number) => inNumbers(frame, value);
  const all = Object.values(drafts).reduce((sum, each) => sum + each, 0);
  if (all + customers_total === 0)
    return html`<section aria-labelledby="funnel"><h2 id="funnel">${words.funnel.title}</h2>
${empty("person", WORDS[frame.locale].drafts.none, { href: frame.to("/import"), label: WORDS[frame.locale].menu["/import"] })}</section>`;
  const step = (id: "invited" | "claimed" | "signed", came: number, query: DraftQuery = {}) => {
    const share = (came / all) * 100;
    return html`<li><span><strong>${count(came)}</strong> <a href="${frame.to("/drafts", query)}">${words.funnel[id]}</a></span>
<svg viewBox="0 0 100 1" preserveAspectRatio="none" aria-hidden="true"><rect width="${Math.round(share * 10) / 10}" height="1"/></svg><small>${words.funnel.of(count(share))}</small></li>`;
  };
  return html`<section aria-labelledby="funnel"><h2 id="funnel">${words.funnel.title}</h2>
${
  all === 0
    ? ""
    : html`<ol class="funnel">${step("invited", all)}
${step("claimed", drafts.claimed + drafts.active, { status: "begun" })}
${step("signed", drafts.active, { status: "active" })}</ol>`
}
<p><a class="link" href="${frame.to("/customers")}">${words.funnel.customers(count(customers_total), customers_total === 1, count(customers_active))}</a></p></section>`;
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
  const toCome = estimated > 0 ? quarters.to_come(euro(estimated)) : null;
  return html`<section aria-labelledby="by-quarter"><h2 id="by-quarter">${quarters.title}</h2>
${
  shown.length === 0
    ? html`${empty("bank", words.payouts.nothing)}${toCome ? html`<p class="quiet">${toCome}</p>` : ""}`
    : html`${figure(euro(total), quarters.earned(shown.length), toCome)}
${chart({
  title: quarters.plot,
  points: shown.map(({ period, status, kwh, partner_share_eur }) => {
    const [year = "", quarter = ""] = period.split("-Q");
    return {
      short: words.payouts.quarter_short(quarter),
      below: year,
      value: inEuro(partner_share_eur, frame.locale).replace(/[.,]00$/, ""),
      said: `${words.payouts.quarter_name(quarter, year)}: ${euro(partner_share_eur)}, ${inNumbers(frame, kwh)} kWh, ${words.payouts.statuses[status].toLowerCase()}`,
      values: [Math.max(partner_share_eur, 0)],
    };
  }),
})}
${rowList([{ href: frame.to("/payouts"), what: quarters.all }])}`
}</section>`;
}

function allFigures(frame: PortalFrame, figures: Figures, { year, today }: Period): Html {
  const words = WORDS[frame.locale].start;
  const count = (value: number) => inNumbers(frame, value);
  const shown = year ?? Number(today.slice(0, 4));
  const until = String(shown) === today.slice(0, 4) ? Number(today.slice(5, 7)) : 12;
  const months = Array.from({ length: until }, (_, index): Month => {
    const month = `${shown}-${String(index + 1).padStart(2, "0")}`;
    const none = { month, kwh: 0, ere_credits: 0, active_customers: 0 };
    return figures.months.find((known) => known.month === month) ?? none;
  });
  return html`<section aria-labelledby="by-month"><h2 id="by-month">${words.months_of(shown)}</h2>
${months.every(({ kwh }) => kwh === 0) ? empty("bolt", figures.kwh_total > 0 ? words.no_months_in(shown, until < 12) : words.no_months, { href: frame.to("/uploads"), label: WORDS[frame.locale].menu["/uploads"] }) : byMonth(frame, months)}</section>
<section aria-labelledby="figures"><h2 id="figures">${words.figures}</h2>
${tiles([
  { name: words.total, value: `${count(figures.kwh_total)} kWh` },
  { name: words.ere, value: inNumbers(frame, figures.ere_estimated, 2), small: words.ere_hint },
  { name: words.chargers, value: count(figures.chargers_total) },
])}
<p class="quiet">${words.as_of(longMoment(figures.as_of, frame.words))}</p></section>`;
}

/** Up to how many the attention list counts. */
const COUNTED = 1000;

/** Each thing with where it is dealt with; that there is nothing is said too. */
function attentionTo(frame: PortalFrame, attention: Attention, has_accounts: boolean): Html {
  const words = WORDS[frame.locale].start;
  const { drafts, customers, webhooks, clients, payment_failed, invoices_need } = attention;
  const count = (value: number) => inNumbers(frame, value);
  // the accounts of its clients are in the list too, and counted on their own
  const brought = has_accounts ? { by: "brought" } : {};
  const holds = chip("stopped", words.attention.holds);
  const counted = (
    value: number,
    text: (count: string, one: boolean) => string,
    page: string,
    query = {},
    { at_least = value > COUNTED, ...more }: { at_least?: boolean; chip?: Html } = {},
  ) => {
    if (value === 0) return [];
    const all = at_least ? words.period.at_least(count(Math.min(value, COUNTED))) : count(value);
    return [{ text: text(all, value === 1), href: frame.to(page, query), ...more }];
  };
  const lines: { text: string; href: string; chip?: Html }[] = [
    // what keeps money back stands first
    ...(attention.account_missing
      ? [{ text: words.attention.no_account, href: frame.to("/settings/account"), chip: holds }]
      : []),
    ...(invoices_need ? [{ text: words.attention.invoices, href: frame.to("/settings/company"), chip: holds }] : []),
    ...(payment_failed
      ? [
          {
            text: words.attention.payment_back[payment_failed],
            href: frame.to(payment_failed === "account" ? "/settings/account" : "/payouts"),
            chip: holds,
          },
        ]
      : []),
    ...counted(attention.iban_wrong, words.attention.iban_wrong, "/customers", { needs: "iban" }, { chip: holds }),
    ...counted(attention.paid_back, words.attention.paid_back, "/customers", { needs: "payment" }, { chip: holds }),
    ...counted(
      customers?.months_rejected.customers ?? 0,
      words.attention.months_rejected,
      "/customers",
      { needs: "months" },
      { at_least: customers?.months_rejected.at_least ?? false, chip: holds },
    ),
    ...counted(drafts.conflict, words.attention.conflict, "/drafts", { needs: "conflict" }),
    ...counted(drafts.mail, words.attention.draft_mail, "/drafts", { needs: "mail" }),
    ...counted(drafts.ean, words.attention.ean, "/drafts", { needs: "ean" }),
    ...counted(drafts.expiring, words.attention.expiring, "/drafts", { needs: "expiring" }),
    ...counted(customers?.rejected ?? 0, words.attention.rejected, "/customers", {
      registration: "afgekeurd",
    }),
    ...counted(customers?.mail ?? 0, words.attention.customer_mail, "/customers", { mail: "failed", ...brought }),
    ...counted(customers?.without_charger ?? 0, words.attention.without_charger, "/customers", {
      charger: "without",
    }),
    ...counted(customers?.without_mid ?? 0, words.attention.without_mid, "/customers", {
      charger: "without_mid",
    }),
    ...counted(webhooks.disabled, words.attention.disabled, "/settings/webhooks"),
    ...counted(webhooks.failing, words.attention.failing, "/settings/webhooks"),
    ...clients.flatMap(({ id, name, disabled, failing, parked }) => {
      const page = `/settings/clients/${id}`;
      const { of_client } = words.attention;
      return [
        {
          said: counted(disabled, (all, one) => of_client(name, words.attention.disabled(all, one)), page),
          at: "webhooks",
        },
        {
          said: counted(failing, (all, one) => of_client(name, words.attention.failing(all, one)), page),
          at: "webhooks",
        },
        { said: counted(parked, (all, one) => of_client(name, words.attention.parked(all, one)), page), at: "parked" },
      ].flatMap(({ said, at }) => said.map((line) => ({ ...line, href: `${line.href}#${at}` })));
    }),
    ...counted(customers?.unsigned ?? 0, words.attention.unsigned, "/customers", { needs: "signature" }),
    ...counted(customers?.ean ?? 0, words.attention.account_ean, "/customers", { needs: "ean" }),
    ...counted(attention.mail_failed, words.attention.account_mail, "/customers", { by: "api", mail: "failed" }),
    ...(attention.cap_left <= attention.cap / 10
      ? [{ text: words.attention.cap(count(attention.cap_left), count(attention.cap)), href: frame.to("/import") }]
      : []),
  ];
  const partly = [
    ...(drafts.all ? [] : [words.attention.newest_drafts(count(drafts.examined))]),
    ...(customers === null || customers.all ? [] : [words.attention.newest_customers(count(customers.examined))]),
  ];
  return html`<section aria-labelledby="attention"><h2 id="attention">${words.attention.title}</h2>
${lines.length === 0 ? (customers ? html`<p>${chip("done", words.attention.nothing)}</p>` : html`<p class="quiet">${words.counting}</p>`) : rowList(lines.map(({ text, ...line }) => ({ ...line, what: text, as: words.attention.look })))}
${partly.map((line) => html`<p class="quiet">${line}</p>`)}</section>`;
}

/** The months of a year as columns, and the same numbers as a table. */
function byMonth(frame: PortalFrame, months: readonly Month[]): Html {
  const words = WORDS[frame.locale].start;
  const firstOf = ({ month }: Month) => `${month}-01`;
  const total = months.reduce((sum, { kwh }) => sum + kwh, 0);
  const most = months.reduce((best, month) => (month.kwh > best.kwh ? month : best));
  return html`${chartOfMonths(
    frame,
    `${words.months_title}. ${words.months_description(inNumbers(frame, total), longMonth(firstOf(most), frame.words))}`,
    months.map((month) => ({
      day: firstOf(month),
      value: month.kwh,
      said: words.months_said(
        inNumbers(frame, month.kwh),
        inNumbers(frame, month.ere_credits, 2),
        inNumbers(frame, month.active_customers),
        month.active_customers === 1,
      ),
    })),
  )}
<details><summary>${words.table}</summary>
${table(
  words.table,
  [words.month, words.kwh, words.ere, words.active].map((name) => ({ name })),
  months
    .toReversed()
    .filter(({ kwh }) => kwh > 0)
    .map((month) => [
      longMonth(firstOf(month), frame.words),
      inNumbers(frame, month.kwh),
      inNumbers(frame, month.ere_credits, 2),
      inNumbers(frame, month.active_customers),
    ]),
  {
    total: [
      words.all_months,
      inNumbers(frame, total),
      inNumbers(
        frame,
        months.reduce((all, { ere_credits }) => all + ere_credits, 0),
        2,
      ),
      null,
    ],
  },
)}</details>`;
}
