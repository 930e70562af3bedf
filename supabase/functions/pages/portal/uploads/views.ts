import { FIELD_NAMES, type Field } from "#shared/domain/charging_in/file/headings.ts";
import type { ReadUpload } from "#shared/domain/charging_in/file/read_upload.ts";
import { longDate } from "#shared/domain/mandate_text/mandate_text.ts";
import { dayInAmsterdam } from "#shared/domain/sheet/zones.ts";
import type { Locale } from "#shared/values/locale.ts";
import { longMonth } from "../../kit/document.ts";
import { XLSX } from "../../kit/download.ts";
import { fileInput, selectInput, textInput } from "../../kit/fields.ts";
import type { Html, Page } from "../../kit/frame.ts";
import { html } from "../../kit/html.ts";
import { icon } from "../../kit/parts/icons.ts";
import { rowList } from "../../kit/parts/rows.ts";
import type { Returned } from "../../kit/returned.ts";
import { formToken } from "../../kit/sign_in_views.ts";
import { inNumbers, type TableCell, table } from "../../kit/signed_in_views.ts";
import { type Kind, kindLinks, type RowsQuery, rowTable } from "../file_rows.ts";
import { portalPage } from "../frame.ts";
import type { Who } from "../model.ts";
import type { PortalFrame } from "../request.ts";
import { WORDS } from "../words.ts";
import type { RowResult, Shown, Upload } from "./model.ts";
import type { UploadWords } from "./nl.ts";

export const PAGE = "/uploads";
const ACCEPT = `.xlsx,.csv,text/csv,${XLSX}`;

const isBad = ({ status }: RowResult): boolean => status === "invalid";
/** Neither stored nor waiting: a month that is booked, a session that a later row has too, and a sum change nothing. */
const isStored = (status: string): boolean =>
  !["invalid", "parked", "locked", "superseded", "summary"].includes(status);
/** Not stored, or stored and impossible. */
export const isToMend = (result: RowResult): boolean => isBad(result) || result.not_counted === "flagged";

/** A month that is stored, and more than the chargers can give. */
const isDoubtful = ({ period, flags = [] }: RowResult): boolean =>
  period !== undefined && flags.includes("beyond_power");

/** Good rows count. Rows to check do not count, or not yet. Bad rows are not stored. */
const kindOf = (result: RowResult): Kind =>
  isBad(result)
    ? "bad"
    : ["parked", "superseded", "locked", "outside_mandate"].includes(result.status) ||
        result.counted === false ||
        isDoubtful(result) ||
        result.reason
      ? "check"
      : "good";

/** What happens to a row, in the reader's language, and why. */
export function said(locale: Locale, result: RowResult): string[] {
  const words = WORDS[locale].uploads;
  const { status, reason, column, not_counted, flags = [], ignored = [] } = result;
  const why = reason
    ? (words.reason[reason as keyof typeof words.reason] ??
      (column ? `${words.unreadable(column)}.` : words.reason.other))
    : not_counted === "flagged"
      ? words.flagged(words.flags[flags[0] as keyof typeof words.flags])
      : isDoubtful(result)
        ? words.beyond_power
        : words.not_counted[not_counted as keyof typeof words.not_counted];
  const left = ignored.map((field) => FIELD_NAMES[field as Field][locale]).join(", ");
  return [
    `${words.status[status as keyof typeof words.status]}.`,
    ...(why ? [why] : []),
    ...(left ? [words.left_out(left)] : []),
  ];
}

export function formPage(frame: PortalFrame, { who, clients }: Shown, { typed, errors }: Returned): Html {
  const words = WORDS[frame.locale].uploads;
  const options = (named: Record<string, string>) => Object.entries(named).map(([value, label]) => ({ value, label }));
  const form = html`<form method="post" action="${frame.to(PAGE)}" enctype="multipart/form-data" novalidate>
${formToken(frame.form_token)}
${
  clients.length > 1
    ? selectInput({
        id: "client",
        label: words.client,
        empty: words.choose,
        error: errors.client,
        value: typed.get("client"),
        options: clients.map(({ id, name }) => ({ value: id, label: name })),
      })
    : ""
}
${fileInput({ id: "file", label: words.file, hint: words.hint, error: errors.file, accept: ACCEPT })}
<details${errors.file ? html` open` : ""}><summary>${words.more}</summary>
${selectInput({ id: "kind", label: words.kind, empty: words.by_header, value: typed.get("kind"), options: options(words.kinds) })}
${selectInput({ id: "decimal", label: words.decimal, empty: words.by_column, value: typed.get("decimal"), options: options(words.decimals) })}
${selectInput({ id: "dates", label: words.dates, empty: words.by_dates, value: typed.get("dates"), options: options(words.orders) })}
${textInput({ id: "columns", label: words.kwh_column, hint: words.kwh_column_hint, value: typed.get("columns") })}
</details>
<p class="quiet">${words.kept}</p>
<div class="actions"><button class="button">${words.submit}</button></div>
</form>`;
  return portalPage(frame, PAGE, who, {
    title: words.title,
    errors,
    body: html`<p class="lead">${words.what}</p>
<div class="beside"><section>${clients.length === 0 ? html`<p class="panel waits">${words.no_client}</p>` : form}</section>
<section>${rowList(
      words.examples.flatMap(({ name, label }) =>
        ["xlsx", "csv"].map((as) => ({
          href: frame.to(`${PAGE}/example/${name}.${as}`),
          what: label,
          opens: "csv" as const,
          as,
        })),
      ),
    )}
<details><summary>${words.columns}</summary>
<p>${words.columns_what.months}</p>
<p>${words.columns_what.sessions}</p>
</details></section></div>`,
  });
}

export function gonePage(frame: PortalFrame): Page {
  const words = WORDS[frame.locale].uploads;
  return {
    title: words.gone.title,
    body: html`<p>${words.gone.text}</p>
<div class="actions"><a class="button" href="${frame.to(PAGE)}">${words.look.other}</a></div>`,
  };
}

type Looked = { id: string; upload: Upload; read: ReadUpload | null };

/** What would happen to each row, with a button at the bottom; or what happened. */
export function resultPage(frame: PortalFrame, who: Who, looked: Looked, asked: RowsQuery, { typed }: Returned): Html {
  const words = WORDS[frame.locale].uploads;
  const { id, upload, read } = looked;
  const count = (value: number) => inNumbers(frame, value);
  // of a file that was over the quota there are no results
  const good = Object.entries(upload.counts).reduce((sum, [status, rows]) => sum + (isStored(status) ? rows : 0), 0);
  const waiting = upload.counts.parked ?? 0;
  const taken = good + waiting;
  const stored = upload.upload_id !== null;
  const { look, done } = words;
  const told = { busy: WORDS[frame.locale].bring.look.busy, known: done.known }[typed.get("news") ?? ""];
  const ignored = upload.columns.flatMap(({ header, field }) => (header && !field ? [header] : []));
  const mend = read && upload.results.some(isToMend);
  return portalPage(frame, PAGE, who, {
    title: stored ? (taken > 0 ? done.title : done.title_none) : look.title,
    body: html`<p class="${good * 2 > upload.rows ? "panel" : "panel waits"}" role="status">${(stored ? done : look).sum(count(good), count(upload.rows))}${waiting > 0 ? ` ${words.waiting(count(waiting))}` : ""}${told ? html` <strong>${told}</strong>` : ""}</p>
${upload.evidence_over_quota ? html`<p class="panel waits">${words.over_quota}</p>` : ""}
${wasRead(frame, words, looked)}
${kindLinks(frame, rowsOf(frame, looked), asked)}
${mend ? html`<p class="save"><a class="link" href="${frame.to(`${PAGE}/${id}/mend.csv`)}">${icon("csv")} ${words.mend}</a></p>` : ""}
${ignored.length > 0 ? html`<p>${words.ignored(ignored.join(", ").slice(0, 300))}</p>` : ""}
${rowTable(frame, rowsOf(frame, looked), asked, words.outcome, (result) => oneRow(frame.locale, looked, result))}
<p class="apart"><a class="link" href="${frame.to(PAGE)}">${stored ? done.more : look.other}</a></p>
${
  stored
    ? ""
    : taken === 0
      ? html`<p>${look.none}</p>`
      : html`<form class="confirm" method="post" action="${frame.to(`${PAGE}/${id}`)}" novalidate>
${formToken(frame.form_token)}
<div class="actions"><button class="button">${taken === 1 ? look.confirm_one : look.confirm(count(taken))}</button></div>
</form>`
}`,
  });
}

/** What becomes of the kWh of a row. */
type Fate = "stored" | "waiting" | "left";
const NONE: Readonly<Record<Fate, number>> = { stored: 0, waiting: 0, left: 0 };
const plus = (one: Readonly<Record<Fate, number>>, other: Readonly<Record<Fate, number>>): Record<Fate, number> => ({
  stored: one.stored + other.stored,
  waiting: one.waiting + other.waiting,
  left: one.left + other.left,
});

/** What becomes of the Wh of each month; null where the file, or what became of its rows, is not kept. */
function fatesOf({ upload, read }: Looked): Map<string, Record<Fate, number>> | null {
  if (!read || upload.results.length === 0) return null;
  const statuses = new Map(upload.results.map(({ row, status }) => [row, status]));
  const months = new Map<string, Record<Fate, number>>();
  for (const { place, period, total_kwh, started_at, wh } of read.items) {
    const status = statuses.get(place) ?? "invalid";
    const fate = status === "parked" ? "waiting" : isStored(status) ? "stored" : "left";
    const [day, amount] =
      upload.kind === "months"
        ? [String(period), Math.round(Number(total_kwh) * 1000)]
        : [new Date(dayInAmsterdam(Date.parse(String(started_at)))).toISOString(), Number(wh)];
    const month = day.slice(0, 7);
    months.set(month, plus(months.get(month) ?? NONE, { ...NONE, [fate]: amount }));
  }
  return months;
}

/** What was read of the file, and what becomes of its kWh, to look at before it counts. */
function wasRead(frame: PortalFrame, words: UploadWords, looked: Looked): Html {
  const { upload } = looked;
  const fates = fatesOf(looked);
  const { sums, read_as, sheet, header_row, kind, ids_ignored } = upload;
  const number = (value: number) =>
    new Intl.NumberFormat(frame.words.date_locale, { maximumFractionDigits: 3 }).format(value);
  const inWords = (day: string) => longDate(day, frame.words);
  const { first_day, last_day, first_date } = sums;
  const { read } = words;
  const together =
    first_day === null || last_day === null
      ? []
      : fates
        ? [read.span(kind === "months" ? null : number(sums.sessions), inWords(first_day), inWords(last_day))]
        : kind === "months"
          ? [read.sum_months(number(sums.kwh), inWords(first_day), inWords(last_day))]
          : [read.sum(number(sums.kwh), number(sums.sessions), inWords(first_day), inWords(last_day))];
  const first =
    first_date && kind === "sessions"
      ? [read.first(inWords(new Date(`${first_date} UTC`).toISOString().slice(0, 10)))]
      : [];
  const columns = Object.entries(read_as).map(([field, heading]) => [
    FIELD_NAMES[field as Field][frame.locale],
    heading,
  ]);
  const months = sums.months.map(({ period, kwh }) => [longMonth(`${period}-01`, frame.words), number(kwh)]);
  return html`${fates ? tableOfFates(frame, words, fates, upload.upload_id !== null) : ""}
<h2>${read.title}</h2>
<p>${[...together, ...first, read.where(sheet, number(header_row))].join(" ")}</p>
${ids_ignored ? html`<p class="panel waits">${read.ids_ignored}</p>` : ""}
${table(
  read.title,
  [
    { name: read.column, text: true },
    { name: read.heading, text: true },
  ],
  columns,
)}
${!fates && months.length > 0 ? table(read.month, [{ name: read.month, text: true }, { name: read.kwh }], months) : ""}`;
}

/** The kWh of each month by what becomes of them; a column that is empty is left out. */
function tableOfFates(
  frame: PortalFrame,
  words: UploadWords,
  fates: Map<string, Record<Fate, number>>,
  stored: boolean,
): Html {
  const { read } = words;
  const all = [...fates.values()].reduce(plus, NONE);
  const shown = (["stored", "waiting", "left"] as const).filter((fate) => fate === "stored" || all[fate] > 0);
  const number = (wh: number) =>
    new Intl.NumberFormat(frame.words.date_locale, { maximumFractionDigits: 3 }).format(wh / 1000);
  const rowOf = (head: string, of: Record<Fate, number>) => [head, ...shown.map((fate) => number(of[fate]))];
  return table(
    read.month,
    [{ name: read.month, text: true }, ...shown.map((fate) => ({ name: read.fates[stored ? "done" : "look"][fate] }))],
    [...fates]
      .sort(([one], [other]) => one.localeCompare(other))
      .map(([month, of]) => rowOf(longMonth(`${month}-01`, frame.words), of)),
    fates.size > 1 ? { total: rowOf(read.total, all) } : {},
  );
}

/** The rows, and how to count and show them. */
function rowsOf(frame: PortalFrame, { id, upload }: Looked) {
  const words = WORDS[frame.locale].uploads;
  return { here: `${PAGE}/${id}`, label: words.rows, kinds: words, rows: upload.results, kindOf };
}

/** A row as it stands in the file, and what happens to it. */
function oneRow(locale: Locale, { read }: Looked, result: RowResult): TableCell[] {
  const cells = (read?.columns ?? []).flatMap(({ field }, place) => {
    const text = field ? read?.table[result.row - 1]?.cells[place]?.text : "";
    return text ? [text.slice(0, 60)] : [];
  });
  const [label, ...notes] = said(locale, result);
  return [
    String(result.sheet_row),
    html`${cells.length > 0 ? html`<span class="quiet">${cells.join(" · ")}</span><br>` : ""}${isBad(result) ? html`<strong>${label}</strong>` : label}${notes.map((note) => html`<small>${note}</small>`)}`,
  ];
}
