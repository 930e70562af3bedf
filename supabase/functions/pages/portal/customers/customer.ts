import { inEuro } from "#shared/domain/mail/notices.ts";
import { longDate } from "#shared/domain/mandate_text/mandate_text.ts";
import { GATE_NAMES, GATES, type Gate } from "#shared/values/gates.ts";
import { longMoment, longMonth } from "../../kit/document.ts";
import type { Html } from "../../kit/frame.ts";
import { html } from "../../kit/html.ts";
import { chip } from "../../kit/parts/chip.ts";
import { secretBox } from "../../kit/parts/secret.ts";
import { inNumbers, table } from "../../kit/signed_in_views.ts";
import { STATES } from "../../kit/states.ts";
import { details } from "../details.ts";
import { portalPage } from "../frame.ts";
import { percent } from "../percent.ts";
import type { PortalFrame } from "../request.ts";
import { WORDS } from "../words.ts";
import { chargerOf, registrationChip } from "./list.ts";
import type { Customer, OneCustomer } from "./model.ts";

/** One customer, as far as the partner may see them: what GET /partner/customers says, and the draft they came by. */
export function customerPage(frame: PortalFrame, { who, customer, draft, account }: OneCustomer): Html {
  const { customers: list, customer: words } = WORDS[frame.locale];
  const isDisclosed = customer.email !== undefined;
  const on = (moment: string | null) => moment && longDate(moment, frame.words);
  const { conditions, delivered } = words;
  return portalPage(frame, "/customers", who, {
    title: customer.naam ?? customer.email ?? words.hidden,
    up: { href: frame.to("/customers"), label: words.back },
    body: html`${isDisclosed ? "" : html`<p class="panel">${words.hidden_why}</p>`}
${missing(frame, customer, account)}
${
  isDisclosed
    ? html`<h2 class="first">${words.who}</h2>
${details([
  [words.name, customer.naam],
  [words.email, customer.email],
  [words.phone, customer.phone],
  [words.address, addressOf(customer)],
  [words.type, words.types[customer.type]],
])}`
    : ""
}
<h2${isDisclosed ? "" : html` class="first"`}>${words.stands}</h2>
${details([
  account
    ? [
        conditions,
        html`${GATE_NAMES.map((gate) => gateOf(frame, gate, account.checklist[gate] && (gate !== "iban_present" || canBePaid(account))))}`,
      ]
    : [list.mandate, customer.is_active ? chip("done", list.signed) : chip("stopped", list.not_signed)],
  [words.charger, chargerOf(frame, customer)],
  [words.ean, account && html`${account.connections.map((each) => eanOf(frame, each))}`],
  ...(isDisclosed
    ? [
        [
          list.registration,
          customer.registration_status ? registrationChip(frame, customer.registration_status) : words.unknown,
        ] as const,
      ]
    : [[list.city, customer.city ?? words.unknown] as const]),
])}
${
  account
    ? html`${yieldOf(frame, account)}
<h2>${delivered.title}</h2>
${account.months.length === 0 ? html`<p>${delivered.none}</p>` : monthsOf(frame, account.months)}`
    : html`<p class="quiet">${words.months}</p>`
}
<h2>${words.came}</h2>
${details([
  [words.since, longMonth(customer.attached_month, frame.words)],
  [words.source, list.sources[customer.source]],
  [
    words.client,
    account &&
      html`<a class="link" href="${frame.to(`/settings/clients/${account.client.id}`)}">${account.client.name}</a>`,
  ],
  [words.reference, customer.external_ref],
  [words.drafted, on(draft?.created_at ?? null)],
  [words.invited, on(draft?.invited_at ?? null)],
  [words.claimed, on(draft?.claimed_at ?? null)],
  [words.code, html`${secretBox(customer.customer_ref)}<small>${words.code_hint}</small>`],
])}
<h2>${words.earns}</h2>
<p>${words.fee(percent(frame, customer.effective_fee_pct), percent(frame, customer.partner_share_pct))}</p>`,
  });
}

/** What is not there, or not yet, and who can do something about it. */
function missing(frame: PortalFrame, customer: Customer, account: OneCustomer["account"]): Html {
  const { missing: words } = WORDS[frame.locale].customer;
  const { is_active, charger_count, charger_mid_eligible, registration_status, mail_failed_reason } = customer;
  const beyond = account?.months.filter((month) => month.beyond_power).length ?? 0;
  const rejected = account?.months.filter(({ status }) => status === "rejected").length ?? 0;
  const lines = [
    ...(account?.iban_checksum_ok === false ? [words.iban] : []),
    ...(account?.paid_back ? [words.payment] : []),
    ...(rejected > 0 ? [words.months(inNumbers(frame, rejected), rejected === 1)] : []),
    ...(beyond > 0 ? [words.beyond_power(inNumbers(frame, beyond), beyond === 1)] : []),
    // the partner's own software adds the rest
    ...(is_active || account ? [] : [words.mandate]),
    ...(account ? [] : charger_count === 0 ? [words.charger] : charger_mid_eligible === false ? [words.mid] : []),
    ...(registration_status === "afgekeurd" ? [words.rejected] : []),
    ...(mail_failed_reason ? [words.mail(WORDS[frame.locale].mail_failures[mail_failed_reason])] : []),
  ];
  return lines.length === 0 ? html`` : html`<ul class="todo">${lines.map((line) => html`<li>${line}</li>`)}</ul>`;
}

const gateOf = (frame: PortalFrame, gate: Gate, holds: boolean): Html =>
  html`<small>${chip(holds ? "done" : "stopped", GATES[gate][frame.locale], {
    status: WORDS[frame.locale].customer[holds ? "has" : "lacks"],
  })}</small>`;

type Account = NonNullable<OneCustomer["account"]>;
const canBePaid = ({ iban_checksum_ok, paid_back }: Account) => iban_checksum_ok !== false && !paid_back;
type Months = Account["months"];

/** A connection, and what the check of its EAN said. */
function eanOf(frame: PortalFrame, { ean_code, ean_validation_status: status }: Account["connections"][number]): Html {
  const { ean_checks: words } = WORDS[frame.locale].customer;
  const ok = status === "matched" || status === "manual";
  return html`<code>${ean_code}</code> <small>${chip(ok ? "done" : "yours", words[status ?? "pending"], { status: status ?? "pending" })}</small>`;
}

/** What a year yields and who is paid, as GET /v1/ere-positions says it. */
function yieldOf(frame: PortalFrame, { ere, total_kwh, payout_handler, has_payments, months }: Account): Html {
  const { yields: words } = WORDS[frame.locale].customer;
  if (months.length === 0) return html``;
  const euro = (amount: number) => inEuro(amount, frame.locale);
  const number = (value: number) => inNumbers(frame, value, 2);
  const viaCpo = payout_handler === "via_cpo_invoicing";
  return html`<h2>${ere ? words.title(ere.delivery_year) : words.unknown_title}</h2>
${
  ere
    ? details([
        [words.kwh, `${inNumbers(frame, ere.kwh_counted, 1)} kWh`],
        [
          words.ere,
          html`${number(ere.ere_estimated)}<small>${words.of_these(number(ere.ere_registered), number(ere.ere_sold))}</small>`,
        ],
        [words.gross, euro(ere.gross_eur)],
        [
          words.net,
          html`${euro(ere.net_eur)}<small>${ere.fee_pct === null ? words.fee_varies : words.fee(percent(frame, ere.fee_pct))}</small>`,
        ],
      ])
    : html`<p>${words.unknown(inNumbers(frame, total_kwh, 1))}</p>`
}
<p class="quiet">${viaCpo ? words.via_cpo : words.service_pays}${viaCpo && has_payments ? html` <a class="link" href="${frame.to("/payouts")}#payments">${words.to_payments}</a>` : ""}</p>`;
}

/** Each month with what brought it: a file by its name, which leads to it, a request by its id. */
function monthsOf(frame: PortalFrame, months: Months): Html {
  const { delivered: words } = WORDS[frame.locale].customer;
  const { month, kwh, status, received } = words.columns;
  return table(
    words.title,
    [{ name: month }, { name: kwh }, { name: status, text: true }, { name: received, text: true }],
    months.map((each) => [
      html`${longMonth(`${each.period}-01`, frame.words)}${each.ean_end ? html`<small>EAN …${each.ean_end}</small>` : ""}`,
      inNumbers(frame, each.total_kwh, 1),
      html`${chip(STATES.month[each.status], words.statuses[each.status], { status: each.status })}${each.beyond_power ? html`<small>${words.beyond_power}</small>` : ""}${each.reason ? html`<small>${words.reason(each.reason)}</small>` : ""}`,
      html`${longMoment(each.received_at, frame.words)}<small>${broughtBy(frame, each)}</small>`,
    ]),
    { blocks: true },
  );
}

function broughtBy(frame: PortalFrame, { upload_id, file, request_id }: Months[number]): Html {
  const { delivered: words } = WORDS[frame.locale].customer;
  if (upload_id)
    return html`<a class="link" href="${frame.to(`/uploads/${upload_id}`)}">${file ?? words.file}</a> ${words.upload} <code>${upload_id}</code>`;
  return request_id ? html`${words.request} <code>${request_id}</code>` : html`${words.sessions}`;
}

function addressOf({ street, house_number, postal_code, city }: Customer): string {
  return [
    [street, house_number],
    [postal_code?.replace(/^(\d{4})/, "$1 "), city],
  ]
    .map((line) => line.filter(Boolean).join(" "))
    .filter(Boolean)
    .join(", ");
}
