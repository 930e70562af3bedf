import { clock } from "#shared/values/dutch_clock.ts";
import { longMoment } from "../../kit/document.ts";
import { csvOfParts } from "../../kit/download.ts";
import type { Html } from "../../kit/frame.ts";
import { html } from "../../kit/html.ts";
import { icon } from "../../kit/parts/icons.ts";
import { numberOf } from "../drafts/number.ts";
import type { Change, Log } from "../model.ts";
import { pageLinks, rangeOf } from "../paging.ts";
import { type PortalFrame, signedIn } from "../request.ts";
import { WORDS } from "../words.ts";
import { countOf, pagesOf, settingPage } from "./frame.ts";

const PAGE = "/settings/log";
const LIMIT = 50;
/** Changes that a file is written from in one go. */
const STRETCH = 1000;

export const showLog = signedIn(async (request) => {
  const page = request.pageAsked;
  const log = await request.own("read_portal_log", { skip: (page - 1) * LIMIT, limit: LIMIT });
  if (page > 1 && log.changes.length === 0) return request.go(PAGE);
  return request.page(logPage(request.frame, log, page));
});

export const downloadLog = signedIn(async (request) => {
  const { frame, locale } = request;
  const words = WORDS[locale].settings.log;
  const read = (before: string | null) => request.own("read_portal_log", { before, limit: STRETCH });
  return csvOfParts(
    request,
    words.file,
    words.columns,
    await read(null),
    ({ changes }) => changes.map((change) => [clock(change.at), whatOf(frame, change), byWhom(frame, change)]),
    ({ before }) => (before === null ? null : read(before)),
  );
});

function logPage(frame: PortalFrame, { who, total, changes, before: next }: Log, page: number): Html {
  const { settings, bring } = WORDS[frame.locale];
  const words = settings.log;
  const from = (page - 1) * LIMIT;
  return settingPage(frame, who, {
    title: words.title,
    body: html`<p>${words.what}</p>
${
  changes.length === 0
    ? html`<p>${words.none}</p>`
    : html`<p class="quiet" role="status">${rangeOf(frame, from, changes.length, countOf(frame, total ?? 0))}</p>
<ul class="pages">${changes.map(
        (change) =>
          html`<li>${whatOf(frame, change)}<small>${longMoment(change.at, frame.words)}, ${byWhom(frame, change)}</small></li>`,
      )}</ul>`
}
${pageLinks(bring.table, pagesOf(page, LIMIT, total ?? 0, next !== null), (to) => frame.to(PAGE, { page: String(to) }))}
${changes.length > 0 ? html`<p class="save"><a class="link" href="${frame.to(`${PAGE}.csv`)}">${icon("csv")} ${words.download}</a></p>` : ""}`,
  });
}

/** What was done, and to what, in words; of a kind that there are no words for yet, its name. */
function whatOf({ locale }: PortalFrame, { action, about, subject_id, details }: Change): string {
  const words = WORDS[locale].settings.log;
  const actions: Readonly<Record<string, string>> = words.actions;
  const fields: Readonly<Record<string, string>> = words.fields;
  const names = Array.isArray(details.fields)
    ? details.fields.map((field) => fields[String(field)] ?? String(field))
    : [];
  const what = actions[action] ?? words.other(action);
  const draft = action.startsWith("draft.") && !about && subject_id ? words.draft(numberOf(subject_id)) : null;
  const { number, reference, added, rows } = details;
  const which = about ?? draft ?? number ?? reference ?? added ?? (typeof rows === "number" ? words.rows(rows) : null);
  return [what, ...(which ? [String(which)] : []), ...(names.length > 0 ? [names.join(", ")] : [])].join(": ");
}

function byWhom({ locale }: PortalFrame, { by, email }: Change): string {
  const words = WORDS[locale].settings.log.by;
  return by === "person" ? (email ?? words.gone) : words[by];
}
