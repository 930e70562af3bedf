import type { Farewell } from "#shared/domain/answers.ts";
import { farewellLines, inEuro, inKwh } from "#shared/domain/mail/notices.ts";
import { longDate } from "#shared/domain/mandate_text/mandate_text.ts";
import { clock, dayOf } from "#shared/values/dutch_clock.ts";
import { type Cell, toCsv } from "../kit/csv.ts";
import { longMonth } from "../kit/document.ts";
import { type Frame, type Html, layout } from "../kit/frame.ts";
import { html } from "../kit/html.ts";
import { rowList } from "../kit/parts/rows.ts";
import { postForm } from "../kit/signed_in_views.ts";
import { lastClick } from "../kit/views.ts";
import { ownPage } from "./frame.ts";
import { addressOf } from "./mandates.ts";
import type { End, Ending, OwnData } from "./model.ts";
import type { MijnFrame } from "./request.ts";
import { WORDS } from "./words.ts";

/** Everything in one file, and the way out. */
export function dataPage(frame: MijnFrame, { email }: Ending): Html {
  const words = WORDS[frame.locale].data;
  return ownPage(frame, "/data", email, {
    title: words.title,
    body: html`<div class="beside"><section><h2>${words.download_title}</h2>
<p>${words.download_what}</p>
${rowList([
  { href: frame.to("/data.csv"), what: words.download_table, opens: "csv", as: "csv" },
  { href: frame.to("/data.json"), what: words.download, opens: "csv", as: "json" },
])}</section>
<section><h2>${words.end_title}</h2>
<p>${words.end_what}</p>
${rowList([{ href: frame.to("/data/end"), what: words.end_link }])}</section></div>`,
  });
}

/** Before the account ends: what ends with it, what is still paid, and what must be kept until when. `lacksIban` refused it. */
export function endPage(frame: MijnFrame, { email, end }: Ending, lacksIban: boolean): Html {
  const words = WORDS[frame.locale].data;
  return ownPage(frame, "/data", email, {
    title: words.ask_title,
    body: html`${lacksIban ? html`<p class="panel waits" role="alert">${words.iban}</p>` : ""}
${frame.waited() && !lacksIban ? html`<p class="panel waits" role="status">${words.press_again}</p>` : ""}
<ul>${meaning(frame, end).map((line) => html`<li>${line}</li>`)}</ul>
<p>${words.first_download}<br><a href="${frame.to("/data.csv")}">${words.download_table}</a><br><a href="${frame.to("/data.json")}">${words.download}</a></p>
${postForm(frame, "/data/end", {}, lastClick(words.yes, frame.to("/data"), words.no))}`,
  });
}

/** After the account has ended: what was kept, lost and is still paid. Only the browser that ended it is told. */
export function closedPage(frame: Frame, end: Farewell | null): Html {
  const words = WORDS[frame.locale].data;
  return layout(frame, {
    title: words.closed,
    body: html`<div class="status done"><p class="lead">${words.closed_mailed}</p></div>
${end ? html`<ul>${farewellLines(end, frame.locale).map((line) => html`<li>${line}</li>`)}</ul>` : ""}
<p>${words.closed_again} <a href="mailto:${frame.config.SUPPORT_EMAIL}">${frame.config.SUPPORT_EMAIL}</a></p>`,
  });
}

/** Everything as a table that a spreadsheet opens: a line for each thing, the newest charging last. */
export function dataCsv(frame: MijnFrame, data: OwnData): string {
  const { table: words } = WORDS[frame.locale].data;
  const { login, accounts, chargers, charging_sessions, partner, applications, tokens } = data;
  const names = new Map(chargers.map(({ charger_id, name }) => [charger_id, name]));
  const rows: Cell[][] = [
    [words.email, dayOf(login.created_at), login.email],
    ...(partner ? [[words.partner, null, partner.name]] : []),
    ...accounts.flatMap(({ created_at, signatory, iban_last4, connections, payouts }) => [
      [words.name, dayOf(created_at), signatory?.full_name ?? login.name],
      [words.phone, null, signatory?.phone ?? null],
      [words.iban, null, iban_last4],
      ...connections.flatMap(({ ean_code, mandates, months, ...at }) => [
        [words.connection, null, `${ean_code}, ${addressOf(at)}`],
        ...mandates.map(({ signed_at, valid_from, valid_until }) => [
          words.mandate,
          dayOf(signed_at),
          words.holds(valid_from, valid_until),
        ]),
        ...months.map(({ month, kwh }) => [words.month, month, null, kwh, "kWh"]),
      ]),
      ...payouts.map(({ paid_at, amount_eur, iban_last4: to }) => [
        words.payout,
        dayOf(paid_at),
        words.to(to),
        { euro: amount_eur },
        "EUR",
      ]),
    ]),
    ...chargers.map(({ name, serial_number, created_at }) => [
      words.charger,
      dayOf(created_at),
      [name, serial_number].filter(Boolean).join(", "),
    ]),
    ...applications.map(({ name, allowed_at }) => [words.app, dayOf(allowed_at), name]),
    ...tokens.map(({ name, created_at }) => [words.token, dayOf(created_at), name]),
    ...charging_sessions.map(({ charger_id, started_at, ended_at, kwh, meter_start_kwh, meter_end_kwh, source }) => [
      words.session,
      clock(started_at),
      names.get(charger_id) ?? null,
      kwh,
      "kWh",
      clock(ended_at),
      meter_start_kwh,
      meter_end_kwh,
      source,
    ]),
  ];
  return toCsv(frame.locale, [words.head, ...rows.map((row) => words.head.map((_, place) => row[place] ?? null))]);
}

function meaning(
  frame: MijnFrame,
  { accounts, mandated, managed_alone, lost_kwh, month, month_kwh, balance_eur, kept_until }: End,
): string[] {
  const words = WORDS[frame.locale].data;
  return [
    ...(mandated ? [words.mandate_ends] : []),
    ...(month_kwh > 0
      ? [frame.words.withdrawal.means.lost(inKwh(month_kwh, frame.locale), longMonth(month, frame.words))]
      : []),
    ...(lost_kwh > 0 ? [words.lost(inKwh(lost_kwh, frame.locale))] : []),
    ...(managed_alone ? [words.managed_alone(managed_alone)] : []),
    words.access_ends,
    words.chargers_end,
    ...(balance_eur > 0 ? [words.paid(inEuro(balance_eur, frame.locale))] : accounts > 0 ? [words.paid_later] : []),
    kept_until ? words.kept(longDate(kept_until, frame.words)) : words.nothing_kept,
    words.gone,
  ];
}
