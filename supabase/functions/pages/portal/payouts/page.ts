import { inEuro } from "#shared/domain/mail/notices.ts";
import { longDate } from "#shared/domain/mandate_text/mandate_text.ts";
import { longMoment } from "../../kit/document.ts";
import type { Html } from "../../kit/frame.ts";
import { html } from "../../kit/html.ts";
import { chip } from "../../kit/parts/chip.ts";
import { empty } from "../../kit/parts/empty.ts";
import { icon } from "../../kit/parts/icons.ts";
import { rowList } from "../../kit/parts/rows.ts";
import { inNumbers, type TableCell, table } from "../../kit/signed_in_views.ts";
import { STATES } from "../../kit/states.ts";
import { portalPage } from "../frame.ts";
import { percent } from "../percent.ts";
import type { PortalFrame } from "../request.ts";
import { WORDS } from "../words.ts";
import type { Invoice, Payment, Payout, Payouts } from "./model.ts";

/** What a partner earned by quarter, what was paid of it and when, its invoices, and how it is reckoned. */
export function payoutsPage(frame: PortalFrame, shown: Payouts): Html {
  const { who, payouts, payments, invoices, fee_pct, share_pct } = shown;
  const words = WORDS[frame.locale].payouts;
  return portalPage(frame, "/payouts", who, {
    title: words.title,
    body: html`${todo(frame, shown)}
<h2>${words.quarters}</h2>
${payouts.length === 0 ? empty("bank", words.nothing, { href: frame.to("/import"), label: WORDS[frame.locale].menu["/import"] }) : quarterTable(frame, payouts)}
${payouts.length === 0 ? "" : html`<p class="quiet">${words.quarters_are(payouts.length)}</p><p class="save"><a class="link" href="${frame.to("/payouts.csv")}">${icon("csv")} ${words.download}</a></p>`}
<p>${words.when}</p>
${payments.length === 0 ? "" : paymentTable(frame, payments)}
<div class="beside"><section><h2>${words.invoices}</h2>
${
  invoices.length === 0
    ? empty("pdf", words.no_invoices)
    : html`${invoiceRows(frame, invoices)}
<p class="quiet">${words.invoices_are(invoices.length)}</p>`
}
${payments.length === 0 || invoices.length === 0 ? "" : html`<p>${words.payments.differ}</p>`}</section>
<section><h2>${words.how}</h2>
<p>${words.share(percent(frame, fee_pct), percent(frame, share_pct))}</p>
<p>${words.example(percent(frame, (fee_pct * share_pct) / 100), inEuro((fee_pct * share_pct) / 100, frame.locale))}</p>
<p class="quiet">${words.signed_terms}</p></section></div>`,
  });
}

/** What keeps a payment from going out. */
function todo(frame: PortalFrame, { iban_last4, iban_held_until, invoices_need }: Payouts): Html {
  const words = WORDS[frame.locale];
  const lines = [
    ...(iban_last4
      ? []
      : [{ text: words.payouts.no_account, page: "/settings/account", label: words.payouts.to_account }]),
    ...(invoices_need
      ? [
          {
            text: words.settings.company.invoices_need[invoices_need],
            page: "/settings/company",
            label: words.payouts.to_company,
          },
        ]
      : []),
  ];
  return html`${
    lines.length === 0
      ? ""
      : html`<ul class="todo">${lines.map(({ text, page, label }) => html`<li><p>${text}</p><p><a class="link" href="${frame.to(page)}">${label}</a></p></li>`)}</ul>`
  }
${iban_last4 ? html`<p>${words.payouts.account(iban_last4)}</p>` : ""}
${iban_held_until ? html`<p class="panel waits">${words.payouts.held(longMoment(iban_held_until, frame.words))}</p>` : ""}`;
}

function quarterOf(frame: PortalFrame, period: string): string {
  const [year = "", number = ""] = period.split("-Q");
  return WORDS[frame.locale].payouts.quarter_name(number, year);
}

function quarterTable(frame: PortalFrame, payouts: readonly Payout[]): Html {
  const words = WORDS[frame.locale].payouts;
  return table(
    words.quarters,
    [
      { name: words.quarter },
      { name: words.status, text: true },
      ...[words.customers, words.kwh, words.ere, words.yours, words.vat].map((name) => ({ name })),
    ],
    payouts.map((payout) => [
      quarterOf(frame, payout.period),
      html`${chip(STATES.payment[payout.status], words.short[payout.status], { status: payout.status })}${payout.paid_at ? html`<small>${longDate(payout.paid_at, frame.words)}</small>` : ""}`,
      inNumbers(frame, payout.customers),
      inNumbers(frame, payout.kwh),
      inNumbers(frame, payout.ere_units, 2),
      inEuro(payout.partner_share_eur, frame.locale),
      inEuro(payout.vat_eur, frame.locale),
    ]),
    {
      blocks: true,
      ...(payouts.length > 1 ? { total: totalOf(frame, payouts) } : {}),
    },
  );
}

/** Payments to the partner, each with what is in it. What its customers get from it is listed by customer. */
function paymentTable(frame: PortalFrame, payments: readonly Payment[]): Html {
  const { payments: words, short, status, yours, vat } = WORDS[frame.locale].payouts;
  const euro = (amount: number) => inEuro(amount, frame.locale);
  return html`<h2 id="payments">${words.title}</h2>
<p>${words.what}</p>
${table(
  words.title,
  [
    { name: words.prepared },
    { name: status, text: true },
    ...[words.amount, yours, vat, words.customers].map((name) => ({ name })),
  ],
  payments.map((each) => [
    longDate(each.created_at, frame.words),
    html`${chip(STATES.payment[each.status], short[each.status], { status: each.status })}${each.paid_at ? html`<small>${longDate(each.paid_at, frame.words)}</small>` : ""}`,
    euro(each.amount_eur),
    euro(each.share_eur),
    euro(each.vat_eur),
    each.customers_eur === 0
      ? null
      : html`<a class="link" href="${frame.to("/payouts/settlements", { payment: each.payment_reference })}">${euro(each.customers_eur)}</a>`,
  ]),
  { blocks: true },
)}
${payments.every(({ customers_eur }) => customers_eur === 0) ? "" : html`<p class="save"><a class="link" href="${frame.to("/payouts/settlements")}">${words.by_customer}</a></p>`}`;
}

/** What the quarters come to; a customer is in several of them, so they are not added up. */
function totalOf(frame: PortalFrame, payouts: readonly Payout[]): TableCell[] {
  const sum = (of: "kwh" | "ere_units" | "partner_share_eur" | "vat_eur") =>
    payouts.reduce((all, payout) => all + payout[of], 0);
  return [
    WORDS[frame.locale].payouts.total,
    null,
    null,
    inNumbers(frame, sum("kwh")),
    inNumbers(frame, sum("ere_units"), 2),
    inEuro(sum("partner_share_eur"), frame.locale),
    inEuro(sum("vat_eur"), frame.locale),
  ];
}

/** Invoices as rows that open the document. */
function invoiceRows(frame: PortalFrame, invoices: readonly Invoice[]): Html {
  const words = WORDS[frame.locale].payouts;
  const euro = (amount: number) => inEuro(amount, frame.locale);
  return rowList(
    invoices.map((invoice) => ({
      href: frame.to(`/payouts/${invoice.number}`),
      what: `${invoice.number}, ${quarterOf(frame, invoice.period)}`,
      when: [
        longDate(invoice.issued_on, frame.words),
        words.net_and_vat(euro(invoice.net_eur), euro(invoice.vat_eur)),
        invoice.corrects ? words.corrects(invoice.corrects) : null,
      ]
        .filter(Boolean)
        .join(" · "),
      amount: euro(invoice.total_eur),
      opens: "pdf",
      as: words.pdf,
    })),
  );
}
