import { clock } from "#shared/values/dutch_clock.ts";
import { longMoment } from "../../kit/document.ts";
import { csvOfParts } from "../../kit/download.ts";
import type { Html } from "../../kit/frame.ts";
import { html } from "../../kit/html.ts";
import { icon } from "../../kit/parts/icons.ts";
import { numberOf } from "../drafts/number.ts";
import { listFilter, without } from "../filter.ts";
import { lineIn } from "../line.ts";
import type { Change, Log } from "../model.ts";
import { pageLinks, rangeOf } from "../paging.ts";
import { type PortalFrame, type PortalRequest, signedIn } from "../request.ts";
import { WORDS } from "../words.ts";
import { countOf, pagesOf, settingPage } from "./frame.ts";

const PAGE = "/settings/log";
const LIMIT = 25;
const BY = ["person", "key", "operator"] as const;
/** Changes that a file is written from in one go. */
const STRETCH = 1000;

export const showLog = signedIn(async (request) => {
  const page = request.pageAsked;
  const asked = askedOf(request);
  const log = await request.own("read_portal_log", {
    ...asked,
    ...(asked.q ? { actions: actionsOf(request, asked.q) } : {}),
    skip: (page - 1) * LIMIT,
    limit: LIMIT,
  });
  if (page > 1 && log.changes.length === 0) return request.go(PAGE, asked);
  return request.page(logPage(request.frame, log, asked, page));
});

/** Who did it, and what is looked for. */
type Asked = { by?: Change["by"]; q?: string };

function askedOf({ c }: PortalRequest): Asked {
  const by = BY.find((each) => each === c.req.query("by"));
  const q = lineIn(c.req.query("q"));
  return { ...(by ? { by } : {}), ...(q ? { q } : {}) };
}

/** The kinds of change whose words have what is looked for. */
function actionsOf({ locale }: PortalRequest, q: string): string[] {
  const { actions } = WORDS[locale].settings.log;
  return Object.entries(actions).flatMap(([action, words]) =>
    words.toLowerCase().includes(q.toLowerCase()) ? [action] : [],
  );
}

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

function logPage(frame: PortalFrame, { who, counts, changes, before: next }: Log, asked: Asked, page: number): Html {
  const { settings, bring } = WORDS[frame.locale];
  const words = settings.log;
  const from = (page - 1) * LIMIT;
  const all = BY.reduce((sum, by) => sum + (counts?.[by] ?? 0), 0);
  const total = asked.by ? (counts?.[asked.by] ?? 0) : all;
  const filtered = Object.keys(asked).length > 0;
  const chosen = asked.by;
  const chipOf = (by: (typeof BY)[number]) => ({
    href: frame.to(PAGE, { ...asked, by }),
    label: words.chips[by],
    count: countOf(frame, counts?.[by] ?? 0),
  });
  return settingPage(frame, who, {
    title: words.title,
    body: html`${
      changes.length === 0 && !filtered
        ? ""
        : listFilter(frame, PAGE, asked, words, {
            kept: { by: chosen },
            chosen: chosen ? [{ ...chipOf(chosen), href: without(frame, PAGE, asked, "by") }] : [],
            often: BY.filter((by) => by !== chosen && (counts?.[by] ?? 0) > 0).map(chipOf),
          })
    }
<div id="found">${
      changes.length === 0
        ? html`<p role="status">${filtered ? words.nothing : words.none}</p>`
        : html`<p class="quiet found-line" role="status">${rangeOf(frame, from, changes.length, countOf(frame, total))}</p>
<ul class="pages log">${changes.map(
            (change) =>
              html`<li>${whatOf(frame, change)}<small>${longMoment(change.at, frame.words)}, ${byWhom(frame, change)}</small></li>`,
          )}</ul>`
    }
${pageLinks(bring.table, pagesOf(page, LIMIT, total, next !== null), (to) => frame.to(PAGE, { ...asked, page: String(to) }))}</div>
${changes.length > 0 ? html`<p class="save"><a class="link" href="${frame.to(`${PAGE}.csv`)}">${icon("csv")} ${words.download}</a></p>` : ""}
<p class="quiet">${words.what}</p>`,
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
