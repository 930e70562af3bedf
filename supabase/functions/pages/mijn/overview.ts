import { inEuro } from "#shared/domain/mail/notices.ts";
import { estimateOf } from "../kit/estimate.ts";
import type { Html } from "../kit/frame.ts";
import { html } from "../kit/html.ts";
import { inNumbers } from "../kit/signed_in_views.ts";
import { claimButton, ownPage, renewButton } from "./frame.ts";
import type { Account, Overview, Position, Prices } from "./model.ts";
import { monthBars, monthTable } from "./months.ts";
import type { MijnFrame } from "./visit.ts";
import { WORDS } from "./words.ts";

/** Of a CPO's customers: private.signed_accounts finds no more. */
const MOST = 100;

/** What a person sees first: this year, what it earns, and what is still needed of them. */
export function overviewPage(frame: MijnFrame, overview: Overview): Html {
  const words = WORDS[frame.locale].overview;
  const { year, months, position, prices, accounts } = overview;
  const kwh = sum(months.map((month) => month.kwh));
  const sessions = sum(months.map((month) => month.sessions));
  const [first] = (overview.name ?? "").split(" ");
  return ownPage(frame, "", overview.email, {
    title: words.title(first || null),
    body: html`<section aria-labelledby="todo"><h2 id="todo" class="first">${words.todo}</h2>
${todo(frame, accounts)}</section>
${accounts.length < MOST ? "" : html`<p class="panel">${words.most(inNumbers(frame, MOST))}</p>`}
<section aria-labelledby="year"><h2 id="year">${words.year(year)}</h2>
${
  months.length === 0
    ? html`<p>${frame.is_signatory ? words.nothing_signed : words.nothing}</p>`
    : html`<dl class="figures">
<div><dt>${words.charged}</dt><dd>${inNumbers(frame, kwh)} kWh<small>${words.charged_in(inNumbers(frame, sessions), sessions)}</small></dd></div>
<div><dt>${words.ere}</dt><dd>${words.ere_is(inNumbers(frame, sum(months.map(({ ere_credits }) => ere_credits)), 2))}<small>${words.ere_hint}</small></dd></div>
${worth(frame, position, prices, settles(accounts))}
</dl>
${computed(frame, position, prices)}
${monthBars(frame, year, months)}
<details><summary>${words.table}</summary>
${monthTable(frame, year, months, words.table)}</details>
<p><a class="link" href="${frame.to("/charging")}">${frame.is_signatory ? words.more_months : words.more}</a></p>`
}</section>`,
  });
}

/** The CPO that settles with somebody all of whose accounts are of it; null where the service pays them for any. */
export function settles(accounts: readonly Account[]): string | null {
  const [first] = accounts;
  const via = accounts.every(({ payout_handler, cpo }) => payout_handler === "via_cpo_invoicing" && cpo === first?.cpo);
  return via ? (first?.cpo ?? null) : null;
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
const ereOf = ({ quarters }: Position) => sum(quarters.map(({ ere_credits }) => ere_credits));

/** What was sold is a fact, whatever comes of the rest. */
function worth(frame: MijnFrame, position: Position, prices: Prices, cpo: string | null): Html {
  const words = WORDS[frame.locale].overview;
  const sold = sum(position.quarters.map(({ revenue_eur }) => revenue_eur ?? 0));
  const estimate = expected(position, prices);
  return html`${sold > 0 ? html`<div><dt>${words.sold}</dt><dd>${inEuro(sold, frame.locale)}<small>${cpo ? words.sold_via(cpo) : words.sold_for_you}</small></dd></div>` : ""}
${estimate ? html`<div><dt>${words.estimate}</dt><dd>${inEuro(estimate.net, frame.locale)}<small>${words.estimate_hint}</small></dd></div>` : ""}`;
}

function computed(frame: MijnFrame, position: Position, prices: Prices): Html {
  const { locale } = frame;
  const words = WORDS[locale].overview;
  const estimate = expected(position, prices);
  if (!estimate) {
    const sold = position.quarters.some(({ sold_ere }) => sold_ere > 0);
    return prices.price_per_ere_eur === null ? html`<p>${sold ? words.unknown_rest : words.unknown}</p>` : html``;
  }
  const { ere, price, fee_pct, net } = estimate;
  const said = [inNumbers(frame, ere, 2), inEuro(price, locale), percent(frame, fee_pct), inEuro(net, locale)] as const;
  return html`<details><summary>${words.estimate_how}</summary>
<p>${words.estimate_computed(...said)}</p></details>`;
}

export const percent = ({ words }: MijnFrame, pct: number): string =>
  new Intl.NumberFormat(words.date_locale).format(pct);

/** What the ERE that are not sold yet may bring; null where nothing can be said. */
function expected(position: Position, { price_per_ere_eur: price, fee_pct }: Prices) {
  const ere = ereOf(position) - sum(position.quarters.map(({ sold_ere }) => sold_ere));
  if (price === null || fee_pct === null || ere < 0.01) return null;
  return { ere, price, fee_pct, net: estimateOf([ere, price], fee_pct).net };
}

/** What the person has yet to do, each with the way to it. */
function todo(frame: MijnFrame, accounts: readonly Account[]): Html {
  const words = WORDS[frame.locale].overview;
  if (accounts.length === 0) return html`<p>${words.no_account}</p>`;
  const items = accounts.flatMap((account) => todoOf(frame, account));
  return items.length === 0 ? html`<p>${words.todo_done}</p>` : html`<ul class="todo">${items}</ul>`;
}

function todoOf(frame: MijnFrame, account: Account): Html[] {
  const words = WORDS[frame.locale].overview;
  const { account_id, draft_id, cpo, checklist, chargers, connections } = account;
  const mail = html`<p><a class="link" href="mailto:${frame.config.SUPPORT_EMAIL}">${words.mail_us}</a></p>`;
  const item = ({ text, action }: { text: string; action: string }, page: string) =>
    html`<li><p>${text}</p>${draft_id ? claimButton(frame, account_id, page, action) : mail}</li>`;
  const charger = chargers.count === 0 ? "charger" : chargers.with_mid + chargers.waiting === 0 ? "mid_charger" : null;
  const pays = account.payout_handler === "service_pays_customer";
  const renewable = connections.filter(({ may_sign_again }) => may_sign_again);
  const wrongEan = connections.some(({ ean_validation_status: ean }) => ean === "mismatch" || ean === "not_found");
  if (cpo) {
    const { iban, sign_again } = words;
    return [
      ...renewable.map(
        ({ connection_id }) =>
          html`<li><p>${sign_again.text}</p>${renewButton(frame, account_id, connection_id, sign_again.action)}</li>`,
      ),
      ...(checklist.iban_present
        ? []
        : [
            pays
              ? html`<li><p>${iban.text}</p><p><a class="link" href="${frame.to(`/account/${account_id}`)}">${iban.action}</a></p></li>`
              : html`<li><p>${words.iban_via(cpo)}</p></li>`,
          ]),
      ...(charger && checklist.mandate_signed
        ? [html`<li><p>${words[charger].text} ${words.ask_cpo(cpo)}</p></li>`]
        : []),
      ...(wrongEan ? [html`<li><p>${words.ean_via(cpo)}</p></li>`] : []),
    ];
  }
  return [
    ...(renewable.length > 0 ? [item(words.sign_again, "/mandate")] : []),
    ...(connections.every(({ mandate_status }) => mandate_status === "pending" || mandate_status === "declined")
      ? [html`<li><p>${words.unsigned}</p></li>`]
      : []),
    ...(checklist.iban_present || !pays ? [] : [item(words.iban, "/payout")]),
    ...(charger && checklist.mandate_signed ? [item(words[charger], "/charger")] : []),
    ...(wrongEan ? [html`<li><p>${words.ean}</p>${mail}</li>`] : []),
  ];
}
