import { inEuro } from "#shared/domain/mail/notices.ts";
import type { Html } from "../kit/frame.ts";
import { html } from "../kit/html.ts";
import { typicalYield } from "../kit/offer.ts";
import { chart } from "../kit/parts/chart.ts";
import { figure, figures } from "../kit/parts/figure.ts";
import { inNumbers, table } from "../kit/signed_in_views.ts";
import type { Account, Earned, Overview, Unsold } from "./model.ts";
import type { MijnFrame } from "./request.ts";
import { WORDS } from "./words.ts";

/** Who pays somebody: we, CPOs of theirs (the name of one, null for several), or we for some accounts and CPOs for others. */
export function settles(accounts: readonly Account[]): "we" | "both" | { cpo: string | null } {
  const via = accounts.filter(({ payout_handler }) => payout_handler === "via_cpo_invoicing");
  if (via.length === 0) return "we";
  if (via.length < accounts.length) return "both";
  const [cpo = null, ...others] = new Set(via.map((account) => account.cpo));
  return { cpo: others.length > 0 ? null : cpo };
}

export const percent = ({ words }: MijnFrame, pct: number): string =>
  new Intl.NumberFormat(words.date_locale).format(pct);

export const sum = (values: readonly number[]) =>
  Math.round(values.reduce((total, value) => total + value, 0) * 100) / 100;

/** Of months that are sold less may be left than is shown: they are credited to six decimals. */
export const LEAST_ERE = 0.01;

const estimateFor = (unsold: readonly Unsold[]): number => sum(unsold.map(({ net_eur }) => net_eur ?? 0));

/** The euro of quarters, and whether some of it is not known yet. */
export function partsOf(quarters: readonly Earned[]) {
  const estimates = quarters.flatMap(({ unsold }) => unsold.map(({ net_eur }) => net_eur));
  return {
    paid: sum(quarters.flatMap(({ net_eur, unpaid_eur }) => [net_eur, -unpaid_eur])),
    waits: sum(quarters.map(({ unpaid_eur }) => unpaid_eur)),
    estimated: sum(estimates.map((estimate) => estimate ?? 0)),
    unknown: estimates.includes(null),
  };
}

/** A quarter by its first day. */
export const quarterName = ({ locale }: MijnFrame, first: string): string =>
  WORDS[locale].earnings.quarter_name(quarterNumber(first), first.slice(0, 4));

/** "1" to "4", of a quarter by its first day. */
const quarterNumber = (first: string): string => String((Number(first.slice(5, 7)) + 2) / 3);

/** Quarters by their first days, in a sentence: those of a year together. */
export function quarterNames({ locale }: MijnFrame, firsts: readonly string[]): string {
  const { next_payout: words } = WORDS[locale];
  const list = new Intl.ListFormat(locale);
  const number = (first: string) => words.quarter(quarterNumber(first));
  const years = [...new Set(firsts.map((first) => first.slice(0, 4)))];
  return list.format(
    years.map((year) =>
      words.quarters(list.format(firsts.filter((first) => first.startsWith(year)).map(number)), year),
    ),
  );
}

/** The quarters that a payment was for and of which nothing is sold now: the sale was reversed. */
export const reversedOf = ({ payouts, quarters }: Pick<Overview, "payouts" | "quarters">): ReadonlySet<string> => {
  const unsold = new Set(quarters.flatMap(({ quarter, sold_ere }) => (sold_ere > 0 ? [] : quarter)));
  return new Set(payouts.flatMap(({ quarters }) => quarters.filter((first) => unsold.has(first))));
};

/** That what was paid for a reversed sale comes off the next payment; nothing without a debt. */
export function takenBack({ locale }: MijnFrame, debts: Overview["paid"]["debts"]): Html {
  const owed = sum(debts.map(({ eur }) => eur));
  return owed > 0
    ? html`<p class="panel waits">${WORDS[locale].overview.taken_back(inEuro(owed, locale))}</p>`
    : html``;
}

/** What is still to come, debts taken off, and the kWh that it is for; null where that is nothing. */
export function toComeOf({ quarters, paid }: Pick<Overview, "quarters" | "paid">) {
  const { waits, estimated, unknown } = partsOf(quarters);
  // each account is paid by itself: its debt comes off nothing that another will be paid
  const kept = sum(paid.debts.map(({ eur, unsold }) => Math.min(eur, estimateFor(unsold))));
  const left = sum([waits, estimated, -kept]);
  const kwh = quarters.reduce((all, { kwh, ere, sold_ere, net_eur, unpaid_eur }) => {
    const open = ere - sold_ere + (net_eur > 0 ? (sold_ere * unpaid_eur) / net_eur : 0);
    return all + (ere > 0 ? (kwh * open) / ere : 0);
  }, 0);
  return { waits, estimated, unknown, kept, left, kwh };
}

/** One large figure, what they got; then what is paid `next`, what is still to come, and what that is computed from. Nothing where nothing counts yet. */
export function money(frame: MijnFrame, overview: Overview, next: Html): Html {
  const { locale } = frame;
  const words = WORDS[locale].overview;
  const { year, quarters, paid, accounts, charged_kwh } = overview;
  if (quarters.length === 0 && paid.all_eur === 0) {
    if (charged_kwh > 0) return html`<p>${words.charged_only(inNumbers(frame, charged_kwh), year)}</p>`;
    return typical(frame, overview);
  }
  const by = settles(accounts);
  const { waits, estimated, kept, left, ...more } = toComeOf(overview);
  // months of a year without a factor are in no quarter
  const unknown = more.unknown || overview.left_out.some(({ why }) => why === "no_factor");
  const [, waiting] = kindsOf(frame, accounts);
  const euro = (amount: number) => inEuro(amount, locale);
  const counted = quarters.filter(({ quarter }) => quarter.startsWith(String(year)));
  const of = (field: "kwh" | "ere") => counted.reduce((total, each) => total + each[field], 0);
  const toCome = left > 0 ? `${estimated > 0 ? "± " : ""}${euro(left)}` : null;
  const debt = toCome ? kept : 0;
  const why = [
    waits > 0 ? (estimated > 0 ? `${euro(waits)} ${waiting}` : waiting) : null,
    estimated > 0 ? words.estimated(waits + debt > 0 ? euro(estimated) : null) : null,
    debt > 0 ? words.debt(euro(debt)) : null,
    unknown ? words.unknown_rest : null,
  ].filter((part) => part !== null);
  const because = toCome && why.length > 0 ? why.join(", ") : null;
  // a new year begins with what there was before
  const [shown, since] = paid.year_eur > 0 ? [paid.year_eur, year] : [paid.all_eur, null];
  const before = since && paid.all_eur > paid.year_eur;
  const large =
    paid.all_eur > 0
      ? figure(
          euro(shown),
          by === "we" ? words.got(since) : by === "both" ? words.got_any(since) : words.got_via(by.cpo, since),
          before ? words.got_ever(euro(paid.all_eur)) : null,
        )
      : toCome
        ? figure(
            toCome,
            by === "we" ? words.to_come : by === "both" ? words.to_come_any : words.to_come_via(by.cpo),
            unknown ? words.unknown_rest : null,
          )
        : "";
  return html`<div class="money">
${large}
${takenBack(frame, paid.debts)}
${next}
${figures([
  paid.all_eur > 0 || !toCome
    ? { name: words.expected, value: toCome ?? (unknown ? words.unknown : euro(0)), small: because }
    : { name: words.so_far, value: euro(0) },
  ...thisMonth(frame, overview),
  {
    name: words.charged(year),
    value: `${inNumbers(frame, charged_kwh)} kWh`,
    small: words.counted(inNumbers(frame, of("kwh")), inNumbers(frame, of("ere"), 2)),
  },
])}
${computed(frame, overview)}
</div>`;
}

/** What was charged this month so far, beside the whole month before; nothing where both are without. */
function thisMonth(frame: MijnFrame, { month, month_kwh, month_before_kwh }: Overview) {
  if (month_kwh + month_before_kwh === 0) return [];
  const words = WORDS[frame.locale].overview;
  const day = new Date(month);
  const name = new Intl.DateTimeFormat(frame.words.date_locale, { month: "long", timeZone: "UTC" });
  const kwh = (value: number) => `${inNumbers(frame, value)} kWh`;
  const before = name.format(new Date(Date.UTC(day.getUTCFullYear(), day.getUTCMonth() - 1)));
  return [
    {
      name: words.charged(name.format(day)),
      value: kwh(month_kwh),
      small: words.before(kwh(month_before_kwh), before),
    },
  ];
}

/** What a year may bring, to who signed and has not charged yet. */
function typical(frame: MijnFrame, { accounts: [account, ...others], offer }: Overview): Html {
  if (!account?.checklist.mandate_signed || account.fee_pct === null || others.length > 0 || !offer) return html``;
  const shown = typicalYield(
    frame,
    account.fee_pct,
    offer,
    offer.payout_handler === "via_cpo_invoicing" ? account.cpo : null,
  );
  return shown ? html`<div class="money">${shown}</div>` : html``;
}

/** How what may come is estimated, for each price and fee, and what ERE are. */
function computed(frame: MijnFrame, { quarters }: Overview): Html {
  const { locale } = frame;
  const words = WORDS[locale].overview;
  const unsold = quarters.flatMap((quarter) => quarter.unsold).filter(({ ere }) => ere >= LEAST_ERE);
  const alike = new Map<string, Unsold[]>();
  for (const each of unsold) {
    const key = `${each.price_per_ere_eur} ${each.fee_pct}`;
    alike.set(key, [...(alike.get(key) ?? []), each]);
  }
  const lines = [...alike.values()].flatMap((group) => {
    const [first] = group;
    if (!first || first.price_per_ere_eur === null) return [];
    return words.estimate_computed(
      inNumbers(frame, sum(group.map(({ ere }) => ere)), 2),
      inEuro(first.price_per_ere_eur, locale),
      percent(frame, first.fee_pct),
      inEuro(estimateFor(group), locale),
    );
  });
  if (unsold.some(({ price_per_ere_eur }) => price_per_ere_eur === null)) lines.push(words.unknown_why);
  return html`<details><summary>${words.estimate_how}</summary>${[words.ere_hint, ...lines].map((line) => html`<p>${line}</p>`)}</details>`;
}

/** The last payment of an account, if it came back and the person must act before another. */
export const barredBy = ({ payout_handler, payment_back: back }: Account) =>
  payout_handler === "service_pays_customer" && back && back.because !== "none"
    ? { ...back, because: back.because }
    : null;

/** The names of the three kinds of euro, as partsOf() has them. */
export function kindsOf({ locale }: MijnFrame, accounts: readonly Account[]): readonly [string, string, string] {
  const { kinds } = WORDS[locale].overview;
  const by = settles(accounts);
  const paid = typeof by === "object" && by.cpo ? kinds.paid_via(by.cpo) : kinds.paid;
  return [paid, accounts.every(({ sent }) => sent) ? kinds.sent : kinds.waits, kinds.estimated];
}

/**
 * This year and, where something counted before it, the last one: euro by quarter in three kinds, and a table. What is
 * still to come of earlier years is said beside the plot, because the figure above it has it.
 */
export function byQuarter(frame: MijnFrame, { year, month, quarters, accounts }: Overview): Html {
  const { locale } = frame;
  const { overview: words, earnings } = WORDS[locale];
  const first = quarters.some(({ quarter }) => quarter < `${year}`) ? year - 1 : year;
  const kinds = kindsOf(frame, accounts);
  const euro = (amount: number) => inEuro(amount, locale);
  // after last year, no quarter that did not begin
  const length = first < year ? 4 + Math.ceil(Number(month.slice(5, 7)) / 3) : 4;
  const all = Array.from({ length }, (_, index) => {
    const [of, number] = [first + Math.floor(index / 4), (index % 4) + 1];
    const day = `${of}-${String(number * 3 - 2).padStart(2, "0")}-01`;
    const quarter = quarters.find((known) => known.quarter === day);
    const { paid, waits, estimated } = partsOf(quarter ? [quarter] : []);
    const { kwh = 0, ere = 0 } = quarter ?? {};
    return { kwh, ere, number: String(number), of: String(of), euros: [paid, waits, estimated] as const };
  });
  const before = quarters.filter(({ quarter }) => quarter < `${first}`);
  const earlier = partsOf(before);
  const toCome = sum([earlier.waits, earlier.estimated]);
  const ofEarlier = (field: "kwh" | "ere") => before.reduce((all, quarter) => all + quarter[field], 0);
  const total = sum(all.flatMap(({ euros }) => euros));
  // one column is not drawn, and needs no legend
  const drawn = all.filter(({ euros }) => sum(euros) > 0).length;
  const last = all.findLastIndex(({ euros }) => sum(euros) > 0);
  const plot = chart({
    title: `${words.plot(kinds[1])}. ${words.plot_total(euro(total))}`,
    points: all.map(({ number, of, kwh, ere, euros }) => ({
      short: words.quarter_short(number, of.slice(2)),
      value: sum(euros) > 0 ? inEuro(Math.round(sum(euros)), locale).replace(/[.,]00$/, "") : "–",
      said: `${earnings.quarter_name(number, of)}: ${[...euros.flatMap((value, kind) => (value > 0 ? `${euro(value)} ${kinds[kind]}` : [])), `${inNumbers(frame, kwh)} kWh`, words.ere(inNumbers(frame, ere, 2))].join(", ")}`,
      values: euros,
    })),
    ...(last < 0 ? {} : { chosen: last }),
  });
  return html`<section aria-labelledby="by-quarter"><h2 id="by-quarter">${words.by_quarter}</h2>
${
  total === 0
    ? html`<p>${words.unknown_why}</p>`
    : html`${drawn < 2 ? "" : html`<ul class="kinds" aria-hidden="true">${kinds.map((kind, index) => html`<li class="kind-${index}">${kind}</li>`)}</ul>`}
${plot}`
}
${toCome > 0 ? html`<p>${words.of_earlier(first, `${earlier.estimated > 0 ? "± " : ""}${euro(toCome)}`)}</p>` : ""}
<details><summary>${words.quarter_table}</summary>
${table(
  words.quarter_table,
  [earnings.quarter, ...kinds, words.kwh].map((name) => ({ name })),
  [
    ...(before.length > 0
      ? [
          {
            name: words.earlier(first),
            kwh: ofEarlier("kwh"),
            ere: ofEarlier("ere"),
            euros: [earlier.paid, earlier.waits, earlier.estimated],
          },
        ]
      : []),
    ...all.map(({ number, of, ...quarter }) => ({ name: earnings.quarter_name(number, of), ...quarter })),
  ]
    .filter(({ kwh }) => kwh > 0)
    .map(({ name, kwh, ere, euros }) => [
      html`${name}<small>${words.ere(inNumbers(frame, ere, 2))}</small>`,
      ...euros.map((value) => (value > 0 ? euro(value) : null)),
      inNumbers(frame, kwh),
    ]),
)}</details>
</section>`;
}
