import { longDate } from "#shared/domain/mandate_text/mandate_text.ts";
import { longMonth } from "../../kit/document.ts";
import type { Html } from "../../kit/frame.ts";
import { html } from "../../kit/html.ts";
import { chip } from "../../kit/parts/chip.ts";
import { secretBox } from "../../kit/parts/secret.ts";
import { details } from "../details.ts";
import { portalPage } from "../frame.ts";
import { percent } from "../percent.ts";
import type { PortalFrame } from "../request.ts";
import { WORDS } from "../words.ts";
import { chargerOf, registrationChip } from "./list.ts";
import type { Customer, OneCustomer } from "./model.ts";

/** One customer, as far as the partner may see them: what GET /partner/customers says, and the draft they came by. */
export function customerPage(frame: PortalFrame, { who, customer, draft }: OneCustomer): Html {
  const { customers: list, customer: words } = WORDS[frame.locale];
  const isDisclosed = customer.email !== undefined;
  const on = (moment: string | null) => moment && longDate(moment, frame.words);
  return portalPage(frame, "/customers", who, {
    title: customer.naam ?? customer.email ?? words.hidden,
    up: { href: frame.to("/customers"), label: words.back },
    body: html`${isDisclosed ? "" : html`<p class="panel">${words.hidden_why}</p>`}
${missing(frame, customer)}
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
  [list.mandate, customer.is_active ? chip("done", list.signed) : chip("stopped", list.not_signed)],
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
<p class="quiet">${words.months}</p>
<h2>${words.came}</h2>
${details([
  [words.since, longMonth(customer.attached_month, frame.words)],
  [words.source, list.sources[customer.source]],
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
function missing(frame: PortalFrame, customer: Customer): Html {
  const { missing: words } = WORDS[frame.locale].customer;
  const { is_active, charger_count, charger_mid_eligible, registration_status, mail_failed_reason } = customer;
  const lines = [
    ...(is_active ? [] : [words.mandate]),
    ...(charger_count === 0 ? [words.charger] : charger_mid_eligible === false ? [words.mid] : []),
    ...(registration_status === "afgekeurd" ? [words.rejected] : []),
    ...(mail_failed_reason ? [words.mail(WORDS[frame.locale].mail_failures[mail_failed_reason])] : []),
  ];
  return lines.length === 0 ? html`` : html`<ul class="todo">${lines.map((line) => html`<li>${line}</li>`)}</ul>`;
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
