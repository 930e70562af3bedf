import { ended } from "#shared/values/sentence.ts";
import { icon } from "../../kit/parts/icons.ts";
// What somebody brought, row by row: what would happen, the confirmation, and what then happened.

import { claimLinks } from "#shared/domain/claim/links.ts";
import { MAX_ROWS } from "#shared/domain/import/model.ts";
import type { DraftRow } from "#shared/domain/import/rows.ts";
import type { Customers } from "#shared/domain/import/table.ts";
import { type Cell, toCsv } from "../../kit/csv.ts";
import { csvFile } from "../../kit/download.ts";
import type { Html } from "../../kit/frame.ts";
import { html } from "../../kit/html.ts";
import type { PageAnswer } from "../../kit/page_request.ts";
import { bottomBar } from "../../kit/parts/bottom_bar.ts";
import { secretBox } from "../../kit/parts/secret.ts";
import type { Returned } from "../../kit/returned.ts";
import { formToken } from "../../kit/sign_in_views.ts";
import { doButton, inNumbers, type TableCell } from "../../kit/signed_in_views.ts";
import { type Kind, kindLinks, type RowsQuery, rowsAsked, rowTable } from "../file_rows.ts";
import { portalPage } from "../frame.ts";
import type { Who } from "../model.ts";
import { type PortalFrame, type PortalRequest, signedIn } from "../request.ts";
import { WORDS } from "../words.ts";
import { agreed, COLUMNS, consentTick, mailOf, mailRadios, unanswered } from "./bring.ts";
import { type Kept, keep, readKept } from "./kept.ts";
import type { Cap, State, Verdict } from "./model.ts";

/** How long one click works; what is left waits for the next. */
const CONFIRM_MS = 15_000;

export const showImport = signedIn(async (request) => {
  const { who, cap, mailed_before, kept } = await readKept(request);
  if (!kept) return gone(request, who);
  const news = request.news();
  const asked = rowsAsked(request);
  if (kept.state.send_invite !== null) return request.page(donePage(request.frame, who, kept, asked));
  if (isUnagreed(kept)) return request.page(consentPage(request.frame, who, kept, mailed_before, news), 422);
  if (lacksEmail(kept)) return request.page(mappingPage(request.frame, who, kept, news));
  return request.pageOf(lookPage(request.frame, who, cap, kept, await wouldBe(request, kept), asked, news), news);
});

/**
 * What the import would do with all rows at once, as of the first look; importing in stretches gives the same result. Who
 * brought them ticked the consent.
 */
async function wouldBe(request: PortalRequest, { id, brought, read, outcomes }: Kept): Promise<Verdict[]> {
  if (outcomes.length > 0) return outcomes;
  const { importInput } = await import("#shared/domain/import/import_rows.ts");
  const { source } = brought;
  const rows = importInput(request.environment, read, { source, send_invite: false, dry_run: true, consent: true });
  const found = await request.own("look_at_import", { id, ...rows });
  return found.map((verdict): Verdict => ({ reason: null, ...verdict })).toSorted((one, other) => one.row - other.row);
}

/** Nobody can be signed up before somebody says which column has the addresses. */
const lacksEmail = ({ brought, customers }: Kept): boolean =>
  "table" in brought && !customers.columns.some(({ column }) => column === "email");

const mails = ({ source, mail }: Kept["brought"]): boolean => source === "invite" || mail === true;

const isUnagreed = ({ brought }: Kept): boolean => "unagreed" in brought;

/** Takes the confirmation that was forgotten when the file was chosen, and shows what would happen. */
export const agreeImport = signedIn(async (request) => {
  const { who, kept } = await readKept(request);
  if (!kept || !("table" in kept.brought)) return gone(request, who);
  const missing = unanswered(request, WORDS[request.locale].bring.consent.missing_file);
  if (Object.keys(missing).length > 0) return request.refuse(`/import/${kept.id}`, missing);
  const { unagreed: _confirmed, ...brought } = kept.brought;
  return keep(request, { ...brought, ...mailOf(request.form) }, kept.brought.table.rows.length);
});

/** Reads the same file by other columns: it is kept once more, and looked at afresh. */
export const chooseColumns = signedIn(async (request) => {
  const { who, kept } = await readKept(request);
  if (!kept || !("table" in kept.brought)) return gone(request, who);
  const chosen = kept.brought.table.header.map((_header, place) => {
    const asked = request.form.get(`column-${place}`);
    if (asked === null) return kept.customers.columns[place]?.column ?? null;
    return COLUMNS.find((each) => each === asked) ?? null;
  });
  return keep(request, { ...kept.brought, chosen }, kept.brought.table.rows.length);
});

export const confirmImport = signedIn(async (request) => {
  const { who, kept } = await readKept(request);
  if (!kept) return gone(request, who);
  if (isUnagreed(kept) || lacksEmail(kept)) return request.go(`/import/${kept.id}`);
  const { id, brought, read } = kept;
  const page = `/import/${id}`;
  let state: State = kept.state;
  const wished = mails(brought);
  const { importInput } = await import("#shared/domain/import/import_rows.ts");
  const deadline = Date.now() + CONFIRM_MS;
  // each stretch is a transaction that runs once, so a second click continues where the first one is
  while (state.rows_done < state.row_count && Date.now() < deadline) {
    const from = state.rows_done;
    const send_invite = state.send_invite ?? wished;
    const rows = read.slice(from, from + MAX_ROWS);
    const { source, message } = brought;
    const input = importInput(request.environment, rows, { source, send_invite, message });
    const stretch = request.own("import_stretch", { id, from, ...input });
    const { answer, refused } = await request.attempt(stretch, ["service_unavailable"]);
    // somebody else is at it, or the database is busy: nothing of this stretch is done, and the page says how far it is
    if (refused) return request.told(page, "busy");
    if (answer.rows_done === null) return gone(request, who);
    state = answer;
  }
  return request.go(page);
});

/** Everybody of an import in which nobody was mailed is mailed after all. */
export const mailImport = signedIn(async (request) => {
  const { who, kept } = await readKept(request);
  if (!kept) return gone(request, who);
  await request.own("invite_import", { id: kept.id, links: claimLinks(request.environment) });
  return request.go(`/import/${kept.id}`);
});

export const downloadImport = signedIn(async (request) => {
  const { who, kept } = await readKept(request);
  if (!kept) return gone(request, who);
  const { bring: words } = WORDS[request.locale];
  const head: Cell[] = [words.table.row, words.one.email, words.one.naam, words.table.outcome, words.table.link];
  const rows = kept.outcomes.map((verdict): Cell[] => {
    const read = kept.read[verdict.row - 1];
    const { label, notes } = said(request.frame, kept, verdict);
    return [
      kept.customers.sheet_rows[verdict.row - 1] ?? verdict.row,
      read?.email ?? null,
      nameOf(read),
      [label, ...notes].join(" "),
      verdict.claim_url ?? null,
    ];
  });
  return csvFile(
    request,
    request.locale === "nl" ? "aanmeldingen" : "sign-ups",
    toCsv(request.locale, [head, ...rows]),
  );
});

/** The rows that are not signed up, as they stand in the file, and why: to mend and to bring again. */
export const downloadBad = signedIn(async (request) => {
  const { who, kept } = await readKept(request);
  if (!kept || !("table" in kept.brought) || isUnagreed(kept) || lacksEmail(kept)) return gone(request, who);
  const { bring: words } = WORDS[request.locale];
  const { header, rows } = kept.brought.table;
  const verdicts = kept.state.send_invite === null ? await wouldBe(request, kept) : kept.outcomes;
  const bad = verdicts.filter((verdict) => kindOf(kept, verdict) === "bad");
  const body = bad.map((verdict): Cell[] => {
    const { label, notes } = said(request.frame, kept, verdict);
    const cells = rows[verdict.row - 1]?.cells ?? [];
    return [...header.map((_name, place) => textOf(cells[place])), [label, ...notes].map(ended).join(" ")];
  });
  return csvFile(
    request,
    request.locale === "nl" ? "verbeteren" : "to-mend",
    toCsv(request.locale, [[...header, words.table.outcome], ...body]),
  );
});

const textOf = (cell: string | { error: string } | undefined): string =>
  typeof cell === "object" ? cell.error : (cell ?? "");

function gone(request: PortalRequest, who: Who): PageAnswer {
  const { gone: words } = WORDS[request.locale].bring;
  request.logOutcome("gone");
  const body = html`<p>${words.text}</p>
<div class="actions"><a class="button" href="${request.frame.to("/import")}">${words.again}</a></div>`;
  return request.page(portalPage(request.frame, "/import", who, { title: words.title, body }), 404);
}

const nameOf = (read: DraftRow | undefined): string => String(read?.name ?? read?.company_name ?? "");

/** What would happen to a row, or happened, in the reader's language. */
function said(
  frame: PortalFrame,
  { brought, customers, read, firstRows, state }: Kept,
  verdict: Verdict,
): { label: string; notes: string[] } {
  const { bring: words } = WORDS[frame.locale];
  const row = read[verdict.row - 1];
  if (verdict.reason) {
    const notes: string[] = [];
    const header = waitsFor(customers, row, verdict);
    if (header !== null) return { label: words.look.waits(shortened(header)), notes };
    if (row?.wrong) notes.push(`${headingOf(customers, words, row.wrong.column)} ${words.wrong[row.wrong.what]}.`);
    const first = firstRows.get(row?.email ?? "") ?? verdict.row;
    if (verdict.reason === "already_drafted" && first < verdict.row)
      return { label: words.table.twice(String(customers.sheet_rows[first - 1] ?? first)), notes };
    return { label: words.reason[verdict.reason], notes };
  }
  const { drafted, was_drafted, invited } = words.table;
  const ignored = [row?.ean_ignored, row?.address_ignored].map(
    (what) => words.ignored[what as keyof typeof words.ignored],
  );
  const ean = state.send_invite === null && words.ean_status[verdict.ean_status as keyof typeof words.ean_status];
  const notMailed = state.send_invite && verdict.claim_url ? words.table.not_mailed : undefined;
  return {
    label: state.send_invite !== null ? was_drafted : brought.source === "invite" ? invited : drafted,
    notes: [...ignored, ean, notMailed].filter((note) => typeof note === "string"),
  };
}

/** A column by its heading in the file, or by our name for it where the file has none. */
function headingOf({ columns }: Customers, words: (typeof WORDS)["nl"]["bring"], column: string): string {
  const heading = columns.find((each) => each.column === column)?.header;
  return heading ? shortened(heading) : nameOfColumn(words, column);
}

/** The heading that may have what a row lacks, while they have not chosen yet; null where there is none. */
function waitsFor({ columns }: Customers, row: DraftRow | undefined, { reason }: Verdict): string | null {
  const lacks = row?.wrong?.column ?? (reason === "missing_kvk" ? "kvk" : null);
  return columns.find(({ suggestion }) => suggestion !== null && suggestion === lacks)?.header ?? null;
}

/** What becomes of a row: something of it is left out, or all of it. */
function kindOf({ customers, read }: Kept, verdict: Verdict): Kind {
  const of = read[verdict.row - 1];
  if (verdict.reason) return waitsFor(customers, of, verdict) === null ? "bad" : "check";
  return of?.ean_ignored || of?.address_ignored ? "check" : "good";
}

/** Green says that it went well, which it did not where half of it failed. */
const panelOf = (bad: number, all: number): string => (bad > 0 && bad * 2 >= all ? "panel waits" : "panel");

function lookPage(
  frame: PortalFrame,
  who: Who,
  cap: Cap,
  kept: Kept,
  verdicts: Verdict[],
  asked: RowsQuery,
  { typed }: Returned,
): Html {
  const { bring: words } = WORDS[frame.locale];
  const count = (value: number) => inNumbers(frame, value);
  const added = verdicts.filter(({ reason }) => reason === null).length;
  const bad = verdicts.filter((verdict) => kindOf(kept, verdict) === "bad");
  // no row can go on before somebody says what is in a column
  const choose = added === 0 && bad.length < verdicts.length;
  return portalPage(frame, "/import", who, {
    title: words.look.title,
    body: html`<p class="${panelOf(verdicts.length - added, verdicts.length)}" role="status">${choose ? words.look.guessed : words.look.sum(inNumbers(frame, added), inNumbers(frame, verdicts.length))} ${words.look.nothing_yet}${typed.get("news") === "busy" ? html` <strong>${words.look.busy}</strong>` : ""}</p>
${kindLinks(frame, rowsOf(frame, kept, verdicts), asked)}
${toMend(frame, kept, bad)}
${verdicts.some(({ reason }) => reason === "over_cap") ? html`<p>${words.cap(count(cap.remaining), count(cap.rolling_cap), cap.rolling_days)}</p>` : ""}
${encodingOf(frame, kept)}
${columns(frame, kept, typed, choose)}
${rowTable(frame, rowsOf(frame, kept, verdicts), asked, words.table.what, (verdict) => oneRow(frame, kept, verdict))}
<p class="apart"><a class="link" href="${frame.to("/import")}">${words.look.back}</a></p>
${added > 0 ? confirmForm(frame, kept, added) : choose ? "" : html`<p>${words.look.none_would}</p>`}`,
  });
}

/** The rows, and how to count and show them. */
function rowsOf(frame: PortalFrame, kept: Kept, rows: readonly Verdict[]) {
  const { table: words, look } = WORDS[frame.locale].bring;
  return {
    here: `/import/${kept.id}`,
    label: kept.state.send_invite === null ? words.label : words.label_done,
    kinds: look.kinds,
    rows,
    kindOf: (verdict: Verdict) => kindOf(kept, verdict),
  };
}

/** Why rows are not signed up, and the file in which they can be mended. */
function toMend(frame: PortalFrame, kept: Kept, verdicts: readonly Verdict[]): Html {
  const { look: words } = WORDS[frame.locale].bring;
  const reasons = leftOut(frame, verdicts);
  if (reasons === null) return html``;
  return html`<details><summary>${words.left_out}</summary>${reasons}</details>
${"table" in kept.brought ? html`<p class="save"><a class="link" href="${frame.to(`/import/${kept.id}/mend.csv`)}">${icon("csv")} ${words.mend}</a></p>` : ""}`;
}

/** Of a file that is not in UTF-8, a name by which they see whether we read its letters right. */
function encodingOf(frame: PortalFrame, { brought, read }: Kept): Html {
  const { look: words } = WORDS[frame.locale].bring;
  if (!("table" in brought) || brought.table.encoding !== "windows-1252") return html``;
  const name = read.map(nameOf).find((each) => /[^\x20-\x7e]/.test(each));
  return name ? html`<p>${words.letters} <strong>${name}</strong></p>` : html``;
}

/** How many rows make no draft, by why. */
function leftOut(frame: PortalFrame, verdicts: readonly Verdict[]): Html | null {
  const { bring: words } = WORDS[frame.locale];
  const counts = new Map<NonNullable<Verdict["reason"]>, number>();
  for (const { reason } of verdicts) if (reason) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  if (counts.size === 0) return null;
  return html`<dl class="figures">${[...counts].map(([reason, count]) => html`<div><dt>${words.reason[reason]}</dt><dd>${inNumbers(frame, count)}</dd></div>`)}</dl>`;
}

/** What the reader calls a column. */
const nameOfColumn = ({ column_names }: (typeof WORDS)["nl"]["bring"], column: string): string =>
  column_names[column as keyof typeof column_names] ?? column;

/** Headers that are shown with a choice. */
const MOST_COLUMNS = 40;
const shortened = (text: string): string => (text.length > 60 ? `${text.slice(0, 60)}…` : text);

/** What each column was read as, and a choice where it is not as it is meant. `first` where nothing else can be done. */
function columns(frame: PortalFrame, { id, brought, customers }: Kept, typed: URLSearchParams, first = false): Html {
  const { bring: words } = WORDS[frame.locale];
  if (!("table" in brought)) return html``;
  const { rows } = brought.table;
  const nameOf = (place: number) => `column-${place}`;
  const open =
    customers.columns.some((_each, place) => typed.has(nameOf(place))) ||
    customers.columns.some(({ suggestion }) => suggestion) ||
    !customers.columns.some(({ column }) => column === "email");
  const shown = customers.columns
    .map((each, place) => ({
      ...each,
      place,
      sample: textOf(rows.find(({ cells }) => cells[place])?.cells[place]),
    }))
    .filter(({ header, sample }) => header || sample)
    .slice(0, MOST_COLUMNS);
  // where nothing was read yet, what is chosen below stands for it
  const read = customers.columns.filter(({ column, suggestion }) => column || (first && suggestion)).length;
  const choice = ({ header, column, suggestion, place, sample }: (typeof shown)[number]) => html`<div class="field">
<label for="${nameOf(place)}">${shortened(header) || words.look.no_header}</label>
<p class="hint" id="${nameOf(place)}-hint">${suggestion ? html`<strong>${words.look.do_you_mean(nameOfColumn(words, suggestion))}</strong> ` : ""}${sample ? words.look.such_as(shortened(sample)) : words.look.empty_column}</p>
<select id="${nameOf(place)}" name="${nameOf(place)}" aria-describedby="${nameOf(place)}-hint">
<option value="">${words.look.skip}</option>
${COLUMNS.map((name) => html`<option value="${name}"${name === (typed.get(nameOf(place)) ?? column ?? suggestion) ? html` selected` : ""}>${words.column_names[name]}</option>`)}
</select>
</div>`;
  return html`<details${open ? html` open` : ""}><summary>${words.look.columns(String(read), String(customers.columns.length - read))}</summary>
<form method="post" action="${frame.to(`/import/${id}/columns`)}" novalidate>
${formToken(frame.form_token)}
<p>${words.look.columns_what}</p>
<div class="filters">${shown.map(choice)}</div>
${bottomBar("", html`<button class="button${first ? "" : " second"}">${words.look.read_again}</button>`)}
</form></details>`;
}

/** A file that was brought without the confirmation that its customers agreed: nothing of it is shown before. */
function consentPage(
  frame: PortalFrame,
  who: Who,
  { id, brought }: Kept,
  mailed_before: boolean | null,
  { typed }: Returned,
): Html {
  const { consent: words, file, look, mail } = WORDS[frame.locale].bring;
  const rows = "table" in brought ? brought.table.rows.length : 0;
  const chosen = brought.mail ?? mailOf(typed).mail;
  const errors = {
    ...(chosen === undefined ? { mail: mail.missing } : {}),
    ...(agreed(typed) ? {} : { consent: words.missing_file }),
  };
  const news = { typed, errors };
  return portalPage(frame, "/import", who, {
    title: words.title,
    errors: news.errors,
    body: html`<p>${words.file_kept(inNumbers(frame, rows))}</p>
<form method="post" action="${frame.to(`/import/${id}/consent`)}" novalidate>
${formToken(frame.form_token)}
${mailRadios(frame, news, chosen ?? mailed_before)}
${consentTick(frame, news, "all")}
<div class="actions"><button class="button">${file.submit}</button></div>
</form>
<p class="apart"><a class="link" href="${frame.to("/import")}">${look.back}</a></p>`,
  });
}

/** A file of which we do not know the column of addresses. */
function mappingPage(frame: PortalFrame, who: Who, kept: Kept, { typed }: Returned): Html {
  const { look: words } = WORDS[frame.locale].bring;
  const guessed = kept.customers.columns.some(({ suggestion }) => suggestion === "email");
  return portalPage(frame, "/import", who, {
    title: words.which_columns,
    body: html`<p class="panel waits" role="status">${guessed ? words.guessed : words.no_email}</p>
${columns(frame, kept, typed, true)}
<p class="apart"><a class="link" href="${frame.to("/import")}">${words.back}</a></p>`,
  });
}

/** All of it in one cell, so that it is read on a phone without scrolling. */
function oneRow(frame: PortalFrame, kept: Kept, verdict: Verdict): TableCell[] {
  const { table: words } = WORDS[frame.locale].bring;
  const read = kept.read[verdict.row - 1];
  const { label, notes } = said(frame, kept, verdict);
  const name = nameOf(read);
  return [
    String(kept.customers.sheet_rows[verdict.row - 1] ?? verdict.row),
    html`${read?.email ?? words.no_email}${name ? html` <span class="quiet">${name}</span>` : ""}<br>
${verdict.reason ? html`<strong>${label}</strong>` : label}${notes.map((note) => html`<small>${note}</small>`)}${verdict.claim_url ? html`<details><summary>${words.show_link}</summary>${secretBox(verdict.claim_url)}</details>` : ""}`,
  ];
}

function confirmForm(frame: PortalFrame, { id, brought }: Kept, added: number): Html {
  const { confirm: words } = WORDS[frame.locale].bring;
  const invites = brought.source === "invite";
  const count = inNumbers(frame, added);
  const [one, many] = invites ? [words.invite_one, words.invite(count)] : [words.submit_one, words.submit(count)];
  return html`<form class="confirm" method="post" action="${frame.to(`/import/${id}`)}" novalidate>
${formToken(frame.form_token)}
${invites ? "" : html`<p>${mails(brought) ? words.mailed : words.not_mailed}</p>`}
<div class="actions"><button class="button">${added === 1 ? one : many}</button></div>
</form>`;
}

/** How far it is, what became of each row, and the links of those who were not mailed. */
function donePage(frame: PortalFrame, who: Who, kept: Kept, asked: RowsQuery): Html {
  const { bring: words } = WORDS[frame.locale];
  const { id, state, outcomes } = kept;
  const count = (value: number) => inNumbers(frame, value);
  const added = outcomes.filter(({ reason }) => reason === null).length;
  const going = state.rows_done < state.row_count;
  const title = going ? words.going.title : added > 0 ? words.done.title : words.done.title_none;
  return portalPage(frame, "/import", who, {
    title,
    body: html`<p class="${panelOf(state.rows_done - added, state.rows_done)}" role="status">${words.done.sum(count(added), count(state.rows_done))}${added > 0 ? ` ${state.send_invite ? words.done.mailed : words.done.not_mailed}` : ""}</p>
${
  going
    ? html`<p>${words.going.text(count(state.rows_done), count(state.row_count))}</p>
<progress value="${state.rows_done}" max="${state.row_count}" aria-label="${words.going.text(count(state.rows_done), count(state.row_count))}"></progress>
<form method="post" action="${frame.to(`/import/${id}`)}">
${formToken(frame.form_token)}
<div class="actions"><button class="button">${words.going.submit}</button></div>
</form>`
    : ""
}
${going || state.send_invite ? "" : mailAll(frame, id, outcomes.filter(({ claim_url }) => claim_url).length)}
${kindLinks(frame, rowsOf(frame, kept, outcomes), asked)}
${toMend(frame, kept, outcomes)}
<p class="save"><a class="link" href="${frame.to(`/import/${id}/result.csv`)}">${icon("csv")} ${words.done.download}</a></p>
${rowTable(frame, rowsOf(frame, kept, outcomes), asked, words.table.what, (verdict) => oneRow(frame, kept, verdict))}
<p class="quiet">${words.done.until}</p>
<p><a class="link" href="${frame.to("/import")}">${words.done.more}</a></p>`,
  });
}

/** A button that mails all who have only their link so far. */
function mailAll(frame: PortalFrame, id: string, waiting: number): Html {
  const { done: words } = WORDS[frame.locale].bring;
  if (waiting === 0) return html``;
  return doButton(
    frame,
    `/import/${id}/mail`,
    {},
    waiting === 1 ? words.mail_one : words.mail(inNumbers(frame, waiting)),
  );
}
