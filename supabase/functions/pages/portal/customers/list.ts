import { dayOf } from "#shared/values/dutch_clock.ts";
import { longMonth } from "../../kit/document.ts";
import { selectInput, textInput } from "../../kit/fields.ts";
import type { Html } from "../../kit/frame.ts";
import { html } from "../../kit/html.ts";
import { chip } from "../../kit/parts/chip.ts";
import { empty } from "../../kit/parts/empty.ts";
import { chipLinks, filterBar } from "../../kit/parts/filter_bar.ts";
import { icon } from "../../kit/parts/icons.ts";
import { rowList } from "../../kit/parts/rows.ts";
import { inNumbers } from "../../kit/signed_in_views.ts";
import { portalPage } from "../frame.ts";
import { rangeOf, waysOn } from "../paging.ts";
import type { PortalFrame } from "../request.ts";
import { WORDS } from "../words.ts";
import type { Customer, Customers } from "./model.ts";
import { BY, CHARGERS, type CustomerQuery, MAIL, NEEDS, REGISTRATIONS, SOURCES } from "./query.ts";

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

/** Chips that choose at once, a field to look for somebody, and further choices. */
function filters(frame: PortalFrame, asked: CustomerQuery, { counted, kinds }: Customers, now: Date): Html {
  const words = WORDS[frame.locale].customers;
  const { q, ...others } = asked;
  const choice = (id: keyof CustomerQuery, label: string, options: { value: string; label: string }[]) =>
    selectInput({ id, label, empty: words.any, options, value: asked[id] });
  const named = <Of extends string>(of: readonly Of[], names: Record<Of, string>) =>
    of.map((value) => ({ value, label: names[value] }));
  const choose = (chosen: CustomerQuery, label: string) => ({
    href: frame.to("/customers", { ...(q ? { q } : {}), ...chosen }),
    label,
    on: inOrder(chosen) === inOrder(others),
  });
  const by = asked.by ? { by: asked.by } : {};
  const all = choose({}, words.all);
  return html`<div class="top">${chipLinks(
    words.status,
    [
      all.on && !q && counted !== null ? { ...all, count: inNumbers(frame, counted) } : all,
      ...(kinds.brought && kinds.api ? BY.map((by) => ({ ...choose({ by }, words.by[by]), on: by === asked.by })) : []),
      choose({ ...by, charger: "without" }, words.chargers.without),
      choose({ ...by, charger: "without_mid" }, words.no_mid),
      choose({ ...by, registration: "afgekeurd" }, words.registrations.afgekeurd),
      choose({ ...by, active: "no" }, words.not_signed),
    ],
    "chips",
  )}
${filterBar({
  action: frame.to("/customers").split("?")[0] ?? "",
  kept: { lang: frame.locale, by: asked.by },
  label: words.search,
  hint: words.search_hint,
  value: q ?? "",
  submit: words.search,
  clear: Object.keys(asked).length > 0 ? { href: frame.to("/customers"), label: words.clear } : undefined,
  more: {
    label: words.more_filters,
    open: Object.keys(others).length > 0 && !isChip(others),
    fields: html`<div class="filters">
${textInput({ id: "city", label: words.city, value: asked.city ?? "", attributes: html` maxlength="120" autocomplete="off"` })}
${choice("active", words.mandate, named(["yes", "no"] as const, words.mandates))}
${choice("charger", words.charger, named(CHARGERS, words.chargers))}
${choice("mail", words.mail, named(MAIL, words.mails))}
${choice("registration", words.registration, named(REGISTRATIONS, words.registrations))}
${kinds.api ? choice("needs", words.need, named(NEEDS, words.needs)) : ""}
${choice("source", words.source, named(SOURCES, words.sources))}
${choice("month", words.month, monthsOf(frame, asked.month, now))}
</div>`,
  },
})}</div>`;
}

const inOrder = (query: CustomerQuery): string => JSON.stringify(Object.entries(query).sort());

/** Whether one of the chips says it all. */
function isChip({ charger, registration, active, by, ...others }: CustomerQuery): boolean {
  const chosen = [charger, registration, active].filter(Boolean).length;
  const chips = [charger && charger !== "with", registration === "afgekeurd", active === "no"].filter(Boolean).length;
  return Object.keys(others).length === 0 && chosen <= 1 && chips === chosen;
}

function monthsOf(frame: PortalFrame, chosen: string | undefined, now: Date): { value: string; label: string }[] {
  const [year, month] = dayOf(now.toISOString()).split("-").map(Number);
  const months = Array.from({ length: MONTHS }, (_, back) =>
    new Date(Date.UTC(year as number, (month as number) - 1 - back)).toISOString().slice(0, 7),
  );
  if (chosen && !months.includes(chosen)) months.push(chosen);
  return months.map((value) => ({ value, label: longMonth(`${value}-01`, frame.words) }));
}

/** What differs from one customer to the next: who, since when and what of them; and how they stand. */
function customerRows(frame: PortalFrame, customers: readonly Customer[]): Html {
  const words = WORDS[frame.locale].customers;
  const many = <Value>(of: (each: Customer) => Value) => new Set(customers.map(of)).size > 1;
  const sources = many(({ source }) => source);
  const chargers = many((each) => nameOfCharger(frame, each));
  return rowList(
    customers.map((each) => ({
      href: frame.to(`/customers/${each.customer_ref}`),
      what: each.naam ?? each.email ?? html`<code>${each.customer_ref.slice(0, 12)}…</code>`,
      when: [
        each.naam ? each.email : null,
        each.city,
        words.since(longMonth(each.attached_month, frame.words)),
        sources ? words.sources[each.source] : null,
        each.charger_count > 0 && chargers ? nameOfCharger(frame, each) : null,
        each.external_ref,
      ]
        .filter(Boolean)
        .join(" · "),
      chip: html`${chargerChip(frame, each)} ${stateChip(frame, each)}`,
    })),
  );
}

/** How far a customer is: the registration, where there is one, else the mandate. */
function stateChip(frame: PortalFrame, { is_active, registration_status }: Customer): Html {
  const words = WORDS[frame.locale].customers;
  if (!is_active) return chip("stopped", words.not_signed);
  if (!registration_status) return chip("done", words.signed);
  return registrationChip(frame, registration_status);
}

export function registrationChip(frame: PortalFrame, status: keyof typeof STATES): Html {
  return chip(STATES[status], WORDS[frame.locale].customers.registrations[status], { status });
}
const STATES = { concept: "quiet", ingediend: "way", goedgekeurd: "done", afgekeurd: "stopped" } as const;

/** What is wrong with the newest charger; nothing where it counts. */
function chargerChip(frame: PortalFrame, { charger_count, charger_mid_eligible }: Customer): Html | "" {
  const words = WORDS[frame.locale].customers;
  if (charger_count === 0) return chip("yours", words.chargers.without, { of: "charger" });
  if (charger_mid_eligible === false) return chip("yours", words.no_mid, { of: "charger" });
  return charger_mid_eligible === null ? chip("way", words.mid_unknown) : "";
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
