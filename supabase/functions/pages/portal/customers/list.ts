import { dayOf } from "../../kit/csv.ts";
import { longMonth } from "../../kit/document.ts";
import { selectInput, textInput } from "../../kit/fields.ts";
import type { Html } from "../../kit/frame.ts";
import { html } from "../../kit/html.ts";
import { inNumbers, table } from "../../kit/signed_in_views.ts";
import { onward } from "../../kit/views.ts";
import { portalPage } from "../frame.ts";
import { rangeOf, waysOn } from "../paging.ts";
import type { PortalFrame } from "../request.ts";
import { WORDS } from "../words.ts";
import type { Customer, Customers } from "./model.ts";
import { CHARGERS, type CustomerQuery, REGISTRATIONS, SOURCES } from "./query.ts";

/** The months that may be chosen: a customer stays for years. */
const MONTHS = 60;

/** The customers of a partner, newest first: what they are looked for by, a page of them, and the file. */
export function customersPage(
  frame: PortalFrame,
  found: Customers,
  asked: CustomerQuery,
  { after, shown }: { after: string | null; shown: number },
  now: Date,
): Html {
  const { who, customers, more_after } = found;
  const words = WORDS[frame.locale].customers;
  const filtered = Object.keys(asked).length > 0;
  if (customers.length === 0 && !filtered && !after)
    return portalPage(frame, "/customers", who, {
      title: words.title,
      body: html`<p>${words.none}</p>${onward(frame.to("/import"), WORDS[frame.locale].menu["/import"])}`,
    });
  const pageAfter = (last: string) =>
    frame.to("/customers", { ...asked, after: last, shown: String(shown + customers.length) });
  return portalPage(frame, "/customers", who, {
    title: words.title,
    body: html`<p>${words.lead}</p>
${filterForm(frame, asked, now)}
${
  customers.length === 0
    ? html`<p role="status">${more_after ? words.nobody_yet : words.nobody}</p>`
    : html`${whereIn(frame, found, shown)}
${customerTable(frame, customers)}`
}
${waysOn(words.pages, [
  ...(after ? [{ href: frame.to("/customers", asked), label: words.first }] : []),
  ...(more_after ? [{ href: pageAfter(more_after), label: customers.length === 0 ? words.go_on : words.next }] : []),
])}
${customers.length === 0 && !more_after ? "" : html`<p class="save"><a class="link" href="${frame.to("/customers.csv", asked)}">${filtered ? words.download_found : words.download}</a></p>`}`,
  });
}

/** How many there are, and which of them are shown. What is looked for is counted as far as it was searched. */
function whereIn(frame: PortalFrame, { customers, counted, found, searched_all }: Customers, shown: number): Html {
  const { total, before } = counted ?? { total: shown + found, before: shown };
  const all = counted || searched_all ? total : WORDS[frame.locale].customers.at_least(inNumbers(frame, total));
  return html`<p class="quiet" role="status">${rangeOf(frame, before, customers.length, all)}</p>`;
}

/** A form that asks for the same page with what was chosen in its address. */
function filterForm(frame: PortalFrame, asked: CustomerQuery, now: Date): Html {
  const words = WORDS[frame.locale].customers;
  const { q, ...others } = asked;
  const choice = (id: keyof CustomerQuery, label: string, options: { value: string; label: string }[]) =>
    selectInput({ id, label, empty: words.any, options, value: asked[id] });
  const named = <Of extends string>(of: readonly Of[], names: Record<Of, string>) =>
    of.map((value) => ({ value, label: names[value] }));
  return html`<form method="get" action="${frame.to("/customers")}" role="search">
<input type="hidden" name="lang" value="${frame.locale}">
${textInput({ id: "q", label: words.search, hint: words.search_hint, value: q ?? "", attributes: html` maxlength="254" autocomplete="off"` })}
<details${Object.keys(others).length > 0 ? html` open` : ""}><summary>${words.more_filters}</summary>
<div class="filters">
${textInput({ id: "city", label: words.city, value: asked.city ?? "", attributes: html` maxlength="120" autocomplete="off"` })}
${choice("active", words.mandate, named(["yes", "no"] as const, words.mandates))}
${choice("charger", words.charger, named(CHARGERS, words.chargers))}
${choice("registration", words.registration, named(REGISTRATIONS, words.registrations))}
${choice("source", words.source, named(SOURCES, words.sources))}
${choice("month", words.month, monthsOf(frame, asked.month, now))}
</div></details>
<div class="actions"><button class="button">${words.search}</button>${Object.keys(asked).length > 0 ? html`<a class="link" href="${frame.to("/customers")}">${words.clear}</a>` : ""}</div>
</form>`;
}

function monthsOf(frame: PortalFrame, chosen: string | undefined, now: Date): { value: string; label: string }[] {
  const [year, month] = dayOf(now.toISOString()).split("-").map(Number);
  const months = Array.from({ length: MONTHS }, (_, back) =>
    new Date(Date.UTC(year as number, (month as number) - 1 - back)).toISOString().slice(0, 7),
  );
  if (chosen && !months.includes(chosen)) months.push(chosen);
  return months.map((value) => ({ value, label: longMonth(`${value}-01`, frame.words) }));
}

function customerTable(frame: PortalFrame, customers: readonly Customer[]): Html {
  const words = WORDS[frame.locale].customers;
  const { customer, mandate, charger, registration, month, city, reference } = words;
  return table(
    words.table,
    [customer, mandate, charger, registration, month, city, reference].map((name) => ({ name, text: true })),
    customers.map((each) => [
      nameOf(frame, each),
      each.is_active ? words.signed : words.not_signed,
      chargerOf(frame, each),
      each.registration_status ? words.registrations[each.registration_status] : null,
      html`${longMonth(each.attached_month, frame.words)}<small>${words.sources[each.source]}</small>`,
      each.city,
      each.external_ref,
    ]),
    { blocks: true },
  );
}

function nameOf(frame: PortalFrame, { customer_ref, naam, email }: Customer): Html {
  const href = frame.to(`/customers/${customer_ref}`);
  if (naam || email)
    return html`<a href="${href}">${naam ?? email}</a>${naam && email ? html`<small>${email}</small>` : ""}`;
  return html`<a href="${href}"><code>${customer_ref.slice(0, 12)}…</code></a>`;
}

/** The newest charger, and how many there are. */
export function chargerOf(frame: PortalFrame, customer: Customer): Html {
  const words = WORDS[frame.locale].customers;
  const { charger_count, charger_brand, charger_model, charger_mid_eligible: mid } = customer;
  if (charger_count === 0) return html`${words.no_charger}`;
  const newest = [charger_brand, charger_model].filter(Boolean).join(" ") || words.some_charger;
  const meter = mid === null ? words.mid_unknown : mid ? words.mid : words.no_mid;
  return html`${charger_count === 1 ? newest : words.chargers_are(inNumbers(frame, charger_count), newest)}<small>${meter}</small>`;
}
