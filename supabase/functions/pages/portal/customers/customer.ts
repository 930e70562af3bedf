import { longDate } from "#shared/domain/mandate_text/mandate_text.ts";
import { GATE_NAMES, GATES, type Gate } from "#shared/values/gates.ts";
import { longMoment, longMonth } from "../../kit/document.ts";
import type { Html } from "../../kit/frame.ts";
import { html } from "../../kit/html.ts";
import { chip } from "../../kit/parts/chip.ts";
import { secretBox } from "../../kit/parts/secret.ts";
import { inNumbers, table } from "../../kit/signed_in_views.ts";
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
${missing(frame, customer, account !== null)}
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
    ? [conditions, html`${GATE_NAMES.map((gate) => gateOf(frame, gate, account.checklist[gate]))}`]
    : [list.mandate, customer.is_active ? chip("done", list.signed) : chip("stopped", list.not_signed)],
  [words.charger, chargerOf(frame, customer)],
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
    ? html`<h2>${delivered.title}</h2>
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
function missing(frame: PortalFrame, customer: Customer, is_account: boolean): Html {
  const { missing: words } = WORDS[frame.locale].customer;
  const { is_active, charger_count, charger_mid_eligible, registration_status, mail_failed_reason } = customer;
  const lines = [
    // the partner's own software adds the rest
    ...(is_active || is_account ? [] : [words.mandate]),
    ...(is_account ? [] : charger_count === 0 ? [words.charger] : charger_mid_eligible === false ? [words.mid] : []),
    ...(registration_status === "afgekeurd" ? [words.rejected] : []),
    ...(mail_failed_reason ? [words.mail(WORDS[frame.locale].mail_failures[mail_failed_reason])] : []),
  ];
  return lines.length === 0 ? html`` : html`<ul class="todo">${lines.map((line) => html`<li>${line}</li>`)}</ul>`;
}

const gateOf = (frame: PortalFrame, gate: Gate, holds: boolean): Html =>
  html`<small>${chip(holds ? "done" : "stopped", GATES[gate][frame.locale], {
    status: WORDS[frame.locale].customer[holds ? "has" : "lacks"],
  })}</small>`;

type Months = NonNullable<OneCustomer["account"]>["months"];

/** Each month with what brought it: a file by its name, a request by its id. */
function monthsOf(frame: PortalFrame, months: Months): Html {
  const { delivered: words } = WORDS[frame.locale].customer;
  const { month, kwh, status, received } = words.columns;
  return table(
    words.title,
    [{ name: month }, { name: kwh }, { name: status, text: true }, { name: received, text: true }],
    months.map((each) => [
      html`${longMonth(`${each.period}-01`, frame.words)}${each.ean_end ? html`<small>EAN …${each.ean_end}</small>` : ""}`,
      inNumbers(frame, each.total_kwh, 1),
      chip(STATES[each.status], words.statuses[each.status], { status: each.status }),
      html`${longMoment(each.received_at, frame.words)}<small>${each.file ?? (each.request_id ? html`<code>${each.request_id}</code>` : words.sessions)}</small>`,
    ]),
    { blocks: true },
  );
}
const STATES = {
  staged: "way",
  outside_mandate: "stopped",
  submitted: "way",
  registered: "done",
  rejected: "stopped",
} as const;

function addressOf({ street, house_number, postal_code, city }: Customer): string {
  return [
    [street, house_number],
    [postal_code?.replace(/^(\d{4})/, "$1 "), city],
  ]
    .map((line) => line.filter(Boolean).join(" "))
    .filter(Boolean)
    .join(", ");
}
