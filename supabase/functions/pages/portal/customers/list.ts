import { dayOf } from "#shared/values/dutch_clock.ts";
import { longMonth } from "../../kit/document.ts";
import { selectInput, textInput } from "../../kit/fields.ts";
import type { Html } from "../../kit/frame.ts";
import { html } from "../../kit/html.ts";
import { chip } from "../../kit/parts/chip.ts";
import { empty } from "../../kit/parts/empty.ts";
import { icon } from "../../kit/parts/icons.ts";
import { records } from "../../kit/parts/records.ts";
import { inNumbers } from "../../kit/signed_in_views.ts";
import { STATES } from "../../kit/states.ts";
import { listFilter, optionsOf, without } from "../filter.ts";
import { portalPage } from "../frame.ts";
import { rangeOf, waysOn } from "../paging.ts";
import type { PortalFrame } from "../request.ts";
import { WORDS } from "../words.ts";
import type { Customer, Customers } from "./model.ts";
import { ACTIVE, BY, CHARGERS, type CustomerQuery, MAIL, NEEDS, REGISTRATIONS, SOURCES } from "./query.ts";

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
      body: empty("person", words.none, { href: frame.to("/import"), label: WORDS[frame.locale].menu["/import"] }),
    });
  const pageAfter = (last: string) =>
    frame.to("/customers", { ...asked, after: last, shown: String(shown + customers.length) });
  return portalPage(frame, "/customers", who, {
    title: words.title,
    body: html`${filters(frame, asked, found, now)}
<div id="found">${
      customers.length === 0
        ? html`<p role="status">${more_after ? words.nobody_yet : words.nobody}</p>`
        : html`${whereIn(frame, found, shown)}
${customerRows(frame, customers)}`
    }
${waysOn(words.pages, [
  ...(after ? [{ href: frame.to("/customers", asked), label: words.first }] : []),
  ...(more_after ? [{ href: pageAfter(more_after), label: customers.length === 0 ? words.go_on : words.next }] : []),
])}
${customers.length === 0 && !more_after ? "" : html`<p class="save"><a class="link" href="${frame.to("/customers.csv", asked)}">${icon("csv")} ${filtered ? words.download_found : words.download}</a></p>`}</div>
<p class="quiet">${words.lead}</p>`,
  });
}

/** How many there are, and which of them are shown. What is looked for is counted as far as it was searched. */
function whereIn(frame: PortalFrame, { customers, counted, found, searched_all }: Customers, shown: number): Html {
  const total = counted ?? shown + found;
  const all =
    counted !== null || searched_all ? total : WORDS[frame.locale].customers.at_least(inNumbers(frame, total));
  return html`<p class="quiet found-line" role="status">${rangeOf(frame, shown, customers.length, all)}</p>`;
}

/** A field to look for somebody, all choices, and chips for what is chosen and what often is. */
function filters(frame: PortalFrame, asked: CustomerQuery, { kinds }: Customers, now: Date): Html {
  const words = WORDS[frame.locale].customers;
  const choices: Choice[] = [
    { id: "active", label: words.mandate, options: optionsOf(ACTIVE, words.mandates) },
    { id: "charger", label: words.charger, options: optionsOf(CHARGERS, words.chargers) },
    { id: "registration", label: words.registration, options: optionsOf(REGISTRATIONS, words.registrations) },
    { id: "mail", label: words.mail, options: optionsOf(MAIL, words.mails) },
    { id: "source", label: words.source, options: optionsOf(SOURCES, words.sources) },
    { id: "month", label: words.month, options: monthsOf(frame, asked.month, now) },
  ];
  if (asked.needs || kinds.api)
    choices.push({ id: "needs", label: words.need, options: optionsOf(NEEDS, words.needs) });
  // a choice only where there are both
  if (asked.by || (kinds.brought && kinds.api))
    choices.push({ id: "by", label: words.origin, options: optionsOf(BY, words.by) });
  const labelOf = ({ id, label, options }: Choice) =>
    `${label}: ${options.find(({ value }) => value === asked[id])?.label}`;
  const back = (id: keyof CustomerQuery) => without(frame, "/customers", asked, id);
  const often: (CustomerQuery & { label: string })[] = [
    ...(kinds.brought && kinds.api ? BY.map((by) => ({ by, label: words.by[by] })) : []),
    { charger: "without", label: words.chargers.without },
    { charger: "without_mid", label: words.no_mid },
    { registration: "afgekeurd", label: words.registrations.afgekeurd },
    { active: "no", label: words.not_signed },
  ];
  return listFilter(frame, "/customers", asked, words, {
    chosen: [
      ...(asked.city ? [{ href: back("city"), label: `${words.city}: ${asked.city}` }] : []),
      ...choices.filter(({ id }) => asked[id]).map((choice) => ({ href: back(choice.id), label: labelOf(choice) })),
    ],
    often: often
      .filter(({ label: _, ...chosen }) => Object.keys(chosen).every((id) => !asked[id as keyof CustomerQuery]))
      .map(({ label, ...chosen }) => ({ href: frame.to("/customers", { ...asked, ...chosen }), label })),
    fields: html`<div class="filters">
${textInput({ id: "city", label: words.city, value: asked.city ?? "", attributes: html` maxlength="120" autocomplete="off"` })}
${choices.map((choice) => selectInput({ ...choice, empty: words.any, value: asked[choice.id] }))}
</div>`,
  });
}

type Choice = { id: keyof CustomerQuery; label: string; options: { value: string; label: string }[] };

function monthsOf(frame: PortalFrame, chosen: string | undefined, now: Date): { value: string; label: string }[] {
  const [year, month] = dayOf(now.toISOString()).split("-").map(Number);
  const months = Array.from({ length: MONTHS }, (_, back) =>
    new Date(Date.UTC(year as number, (month as number) - 1 - back)).toISOString().slice(0, 7),
  );
  if (chosen && !months.includes(chosen)) months.push(chosen);
  return months.map((value) => ({ value, label: longMonth(`${value}-01`, frame.words) }));
}

/** A line for each customer; a phone shows who, how they stand, the charger and since when. */
function customerRows(frame: PortalFrame, customers: readonly Customer[]): Html {
  const words = WORDS[frame.locale].customers;
  const sources = new Set(customers.map(({ source }) => source)).size > 1;
  return records(
    words.title,
    [
      { name: words.customer },
      { name: words.status, place: "state" },
      { name: words.charger, place: "figure" },
      { name: words.city },
      { name: words.month, place: "date" },
      ...(sources ? [{ name: words.source }] : []),
      { name: words.reference },
    ],
    customers.map((each) => [
      html`<a href="${frame.to(`/customers/${each.customer_ref}`)}">${each.naam ?? each.email ?? html`<code>${each.customer_ref.slice(0, 12)}…</code>`}</a>`,
      stateChip(frame, each),
      chargerCell(frame, each),
      each.city,
      longMonth(each.attached_month, frame.words),
      ...(sources ? [words.sources[each.source]] : []),
      each.external_ref,
    ]),
  );
}

/** How far a customer is: the registration, where there is one, else the mandate. */
function stateChip(frame: PortalFrame, { is_active, registration_status }: Customer): Html {
  const words = WORDS[frame.locale].customers;
  if (!is_active) return chip("stopped", words.not_signed);
  if (!registration_status) return chip("done", words.signed);
  return registrationChip(frame, registration_status);
}

export function registrationChip(frame: PortalFrame, status: keyof typeof STATES.registration): Html {
  return chip(STATES.registration[status], WORDS[frame.locale].customers.registrations[status], { status });
}

/** The newest charger, or what is wrong with it. */
function chargerCell(frame: PortalFrame, customer: Customer): Html | string {
  const words = WORDS[frame.locale].customers;
  const { charger_count, charger_mid_eligible } = customer;
  if (charger_count === 0) return chip("yours", words.chargers.without, { of: "charger" });
  if (charger_mid_eligible === false) return chip("yours", words.no_mid, { of: "charger" });
  if (charger_mid_eligible === null) return chip("way", words.mid_unknown);
  return charger_count > 1 ? words.many_chargers(inNumbers(frame, charger_count)) : nameOfCharger(frame, customer);
}

/** The newest charger, and how many there are. */
export function chargerOf(frame: PortalFrame, customer: Customer): Html {
  const words = WORDS[frame.locale].customers;
  const { charger_count, charger_mid_eligible: mid } = customer;
  if (charger_count === 0) return html`${words.no_charger}`;
  const meter = mid === null ? words.mid_unknown : mid ? words.mid : words.no_mid;
  return html`${nameOfCharger(frame, customer)}<small>${meter}</small>`;
}

function nameOfCharger(frame: PortalFrame, { charger_count, charger_brand, charger_model }: Customer): string {
  const words = WORDS[frame.locale].customers;
  const newest = [charger_brand, charger_model].filter(Boolean).join(" ") || words.some_charger;
  return charger_count === 1 ? newest : words.chargers_are(inNumbers(frame, charger_count), newest);
}
