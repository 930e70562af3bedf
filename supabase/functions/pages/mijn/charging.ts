import { clock } from "#shared/values/dutch_clock.ts";
import { toCsv } from "../kit/csv.ts";
import { longMonth } from "../kit/document.ts";
import type { Html } from "../kit/frame.ts";
import { html } from "../kit/html.ts";
import { icon } from "../kit/parts/icons.ts";
import { inNumbers, table } from "../kit/signed_in_views.ts";
import { ownPage } from "./frame.ts";
import type { Charging, ChargingSession } from "./model.ts";
import { leftOut, monthBars, monthTable, yearFigure } from "./months.ts";
import type { MijnFrame } from "./request.ts";
import { WORDS } from "./words.ts";

/** What the address asks for: a year, a month of it as 2026-03, and which page of that month's sessions, from 1. */
export type ChargingQuery = { year: number | null; month: string | null; page: number };

/** A year by months, as a plot and as a table, and the sessions of the month that was chosen. */
export function chargingPage(frame: MijnFrame, charging: Charging, asked: ChargingQuery): Html {
  const { year, months } = charging;
  const words = WORDS[frame.locale];
  return ownPage(frame, "/charging", charging.email, {
    title: words.charging.title(year),
    body: html`${chooseYear(frame, charging, "/charging", words.charging.years)}
${
  months.length === 0
    ? html`<p>${words.months.none}</p>${frame.is_signatory ? "" : html`<p><a class="link" href="${frame.to("/chargers")}">${words.chargers.title}</a></p>`}`
    : html`${yearFigure(frame, months)}${monthBars(frame, year, months)}
<details class="folded"${months.length === 1 ? html` open` : ""}><summary>${words.charging.as_table}</summary>
${monthTable(frame, year, months, words.charging.table(year))}</details>
<p class="save"><a class="link" href="${frame.to("/charging.csv", { year: String(year) })}">${icon("csv")} ${words.charging.download_months}</a></p>`
}
${leftOut(frame, charging)}
${asked.month && !frame.is_signatory ? sessionsOf(frame, charging, asked.month, asked.page) : ""}`,
  });
}

/** Nothing to choose where there is one year. */
export function chooseYear(
  frame: MijnFrame,
  { year, years }: { year: number; years: number[] },
  page: string,
  label: string,
): Html {
  if (years.length < 2) return html``;
  return html`<nav class="years" aria-label="${label}">
${years.map((each) => html`<a href="${frame.to(page, { year: String(each) })}"${each === year ? html` aria-current="page"` : ""}>${String(each)}</a>`)}
</nav>`;
}

function sessionsOf(frame: MijnFrame, { year, sessions, has_more }: Charging, month: string, page: number): Html {
  const words = WORDS[frame.locale].charging;
  const at = (number: number) =>
    `${frame.to("/charging", { year: String(year), month, page: String(number) })}#sessions`;
  const uncounted = sessions.some(isUncounted);
  const without = sessions.some((session) => session.ere_credits === null && !isUncounted(session));
  return html`<section aria-labelledby="sessions"><h2 id="sessions">${words.sessions(longMonth(`${month}-01`, frame.words))}</h2>
${
  sessions.length === 0
    ? html`<p>${words.no_sessions}</p>`
    : html`${sessionTable(frame, sessions)}
${uncounted ? html`<p class="quiet">${words.not_counted_why}</p>` : ""}
${without ? html`<p class="quiet">${words.no_ere}</p>` : ""}
${
  page > 1 || has_more
    ? html`<nav class="years" aria-label="${words.pages}">
${page > 1 ? html`<a href="${at(page - 1)}">${words.newer}</a>` : ""}${has_more ? html`<a href="${at(page + 1)}">${words.older}</a>` : ""}
</nav>`
    : ""
}
<p class="save"><a class="link" href="${frame.to("/charging.csv", { year: String(year), month })}">${icon("csv")} ${words.download_sessions}</a></p>`
}</section>`;
}

/** Over, and kept out of every total. */
const isUncounted = ({ flags }: ChargingSession) => flags.some((flag) => flag !== "after_lock");

function sessionTable(frame: MijnFrame, sessions: readonly ChargingSession[]): Html {
  const { charging: words, months } = WORDS[frame.locale];
  const moment = new Intl.DateTimeFormat(frame.words.date_locale, {
    day: "numeric",
    month: "short",
    hour: "2-digit",
    minute: "2-digit",
    timeZone: "Europe/Amsterdam",
  });
  return table(
    words.session_table,
    [{ name: words.start }, { name: words.charger, text: true }, { name: months.kwh }, { name: months.ere }],
    sessions.map((session) => {
      const state = session.ended_at === null ? words.going_on : isUncounted(session) ? words.not_counted : null;
      return [
        html`${moment.format(new Date(session.started_at))}${state ? html`<small>${state}</small>` : ""}`,
        session.charger_nickname,
        inNumbers(frame, session.kwh, 2),
        session.ere_credits === null ? null : inNumbers(frame, session.ere_credits, 2),
      ];
    }),
  );
}

/** The months of a year as a file: whole numbers of the same table. */
export function monthsCsv(frame: MijnFrame, { months }: Charging): string {
  const { months: words } = WORDS[frame.locale];
  return toCsv(frame.locale, [
    [words.month, words.kwh, words.sessions, words.ere],
    ...months.map(({ month, kwh, sessions, ere_credits }) => [month.slice(0, 7), kwh, sessions, round(ere_credits)]),
  ]);
}

/** The sessions of a month as a file, by the clock of the Netherlands. */
export function sessionsCsv(frame: MijnFrame, { sessions }: Charging): string {
  const { charging: words, months } = WORDS[frame.locale];
  return toCsv(frame.locale, [
    [words.start, words.end, words.charger, months.kwh, months.ere],
    ...sessions.map((session) => [
      clock(session.started_at),
      clock(session.ended_at),
      session.charger_nickname,
      session.kwh,
      session.ere_credits,
    ]),
  ]);
}

const round = (value: number) => Math.round(value * 100) / 100;
