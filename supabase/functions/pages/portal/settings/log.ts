import { csvLines, toCsv } from "../../kit/csv.ts";
import { longMoment } from "../../kit/document.ts";
import { csvFile } from "../../kit/download.ts";
import type { Html } from "../../kit/frame.ts";
import { html } from "../../kit/html.ts";
import { inNumbers } from "../../kit/signed_in_views.ts";
import type { Change, Log } from "../model.ts";
import { type PortalFrame, type PortalVisit, signedIn } from "../visit.ts";
import { WORDS } from "../words.ts";
import { countOf, settingPage } from "./frame.ts";

const PAGE = "/settings/log";
const LIMIT = 50;
/** Changes that a file is written from in one go. */
const STRETCH = 1000;

const read = (visit: PortalVisit, before: string | null, limit: number) =>
  visit.own<Log>("read_portal_log", { before, limit });

export const showLog = signedIn(async (visit) => {
  const asked = visit.c.req.query("before") ?? "";
  const before = /^\d{1,18}$/.test(asked) ? asked : null;
  const shown = visit.c.req.query("shown") ?? "";
  const from = before && /^\d{1,7}$/.test(shown) ? Number(shown) : 0;
  return visit.page(logPage(visit.frame, await read(visit, before, LIMIT), from));
});

export const downloadLog = signedIn(async (visit) => {
  const { frame, locale } = visit;
  const words = WORDS[locale].settings.log;
  let next = await read(visit, null, STRETCH);
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(encoder.encode(toCsv(locale, [words.columns]))),
    async pull(controller) {
      const lines = next.changes.map((change) => [change.at, whatOf(frame, change), byWhom(frame, change)]);
      controller.enqueue(encoder.encode(csvLines(locale, lines)));
      if (next.before === null) return controller.close();
      next = await read(visit, next.before, STRETCH);
    },
  });
  return csvFile(visit, words.file, body);
});

/** `from`: how many are on the pages before. */
function logPage(frame: PortalFrame, { who, total, changes, before: next }: Log, from: number): Html {
  const words = WORDS[frame.locale].settings.log;
  const upTo = from + changes.length;
  return settingPage(frame, who, {
    title: words.title,
    body: html`<p>${words.what}</p>
${
  changes.length === 0
    ? html`<p>${words.none}</p>`
    : html`<p class="quiet" role="status">${WORDS[frame.locale].drafts.range(inNumbers(frame, from + 1), inNumbers(frame, upTo), countOf(frame, total))}</p>
<ul class="pages">${changes.map(
        (change) =>
          html`<li>${whatOf(frame, change)}<small>${longMoment(change.at, frame.words)}, ${byWhom(frame, change)}</small></li>`,
      )}</ul>`
}
<p>${from > 0 ? html`<a class="link" href="${frame.to(PAGE)}">${words.newest}</a> ` : ""}${next ? html`<a class="link" href="${frame.to(PAGE, { before: next, shown: String(upTo) })}">${words.older}</a>` : ""}</p>
${changes.length > 0 ? html`<p class="save"><a class="link" href="${frame.to(`${PAGE}.csv`)}">${words.download}</a></p>` : ""}`,
  });
}

/** What was done, in words; of a kind that there are no words for yet, its name. */
function whatOf({ locale }: PortalFrame, { action, about, details }: Change): string {
  const words = WORDS[locale].settings.log;
  const actions: Readonly<Record<string, string>> = words.actions;
  const fields: Readonly<Record<string, string>> = words.fields;
  const names = Array.isArray(details.fields)
    ? details.fields.map((field) => fields[String(field)] ?? String(field))
    : [];
  const what = actions[action] ?? words.other(action);
  return [what, ...(about ? [about] : []), ...(names.length > 0 ? [names.join(", ")] : [])].join(": ");
}

function byWhom({ locale }: PortalFrame, { by, email }: Change): string {
  const words = WORDS[locale].settings.log.by;
  return by === "person" ? (email ?? words.gone) : words[by];
}
