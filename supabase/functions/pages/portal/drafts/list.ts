import { selectInput } from "../../kit/fields.ts";
import type { Html } from "../../kit/frame.ts";
import { html } from "../../kit/html.ts";
import { chip } from "../../kit/parts/chip.ts";
import { empty } from "../../kit/parts/empty.ts";
import { icon } from "../../kit/parts/icons.ts";
import { records } from "../../kit/parts/records.ts";
import { formToken } from "../../kit/sign_in_views.ts";
import { inNumbers, newsOf, notDone } from "../../kit/signed_in_views.ts";
import { STATES } from "../../kit/states.ts";
import { lastClick } from "../../kit/views.ts";
import { shortDay } from "../days.ts";
import { listFilter, optionsOf, without } from "../filter.ts";
import { portalPage } from "../frame.ts";
import type { Who } from "../model.ts";
import { pageLinks, rangeOf, waysOn } from "../paging.ts";
import type { PortalFrame } from "../request.ts";
import { WORDS } from "../words.ts";
import type { Draft, Drafts } from "./model.ts";
import { type DraftQuery, NEEDS, PAGE, SORTS, STAGES, STATUSES, type Stage, stagesOf } from "./query.ts";

/** Where in the list the reader is: in which stretch of it, and on which page of that. */
export type Place = { after: string | null; page: number };

/** Where the reader is, as an address says it. */
export const hereOf = (asked: DraftQuery, { after, page }: Place): Record<string, string> => ({
  ...asked,
  ...(after ? { after } : {}),
  ...(page > 1 ? { page: String(page) } : {}),
});

/** Everybody a partner signed up, newest first, and how far each is. */
export function draftsPage(
  frame: PortalFrame,
  { who, drafts, total, counts, more_after }: Drafts,
  asked: DraftQuery,
  { after, page }: Place,
  news: URLSearchParams,
  all_ticked: boolean,
): Html {
  const words = WORDS[frame.locale].drafts;
  const told = newsTold(frame, news);
  const { sort: _sort, ...looked } = asked;
  const filtered = Object.keys(looked).length > 0;
  if (drafts.length === 0 && !filtered && !after && page === 1)
    return portalPage(frame, "/drafts", who, {
      title: words.title,
      body: html`${told}${empty("person", words.none, { href: frame.to("/import"), label: WORDS[frame.locale].menu["/import"] })}`,
    });
  const from = (page - 1) * PAGE;
  const to = (place: Record<string, string>) =>
    frame.to("/drafts", { ...asked, ...(after ? { after } : {}), ...place });
  return portalPage(frame, "/drafts", who, {
    title: words.title,
    body: html`${told}${filters(frame, asked, counts)}
<div id="found">${
      drafts.length === 0
        ? html`<p role="status">${more_after ? words.nobody_yet : words.nobody}</p>`
        : html`<p class="quiet found-line" role="status">${rangeOf(frame, from, drafts.length, total)}${after || more_after ? ` ${words.of_these}` : ""}${drafts.every(({ invited_at }) => invited_at === null) ? `. ${words.none_mailed}` : ""}${all_ticked ? "" : html` <a href="${to({ ...(page > 1 ? { page: String(page) } : {}), tick: "all" })}">${words.tick_all(drafts.length)}</a>`}</p>
<form method="post" action="${frame.to("/drafts/act", hereOf(asked, { after, page }))}">
${formToken(frame.form_token)}
${draftRows(frame, drafts, asked, hereOf(asked, { after, page }), all_ticked ? drafts.map(({ draft_id }) => draft_id) : news.getAll("draft"))}
<div class="confirm ticked" id="ticked" tabindex="-1"><div class="actions"><button class="button second" name="act" value="remind">${words.remind_ticked}</button><button class="button second" name="act" value="withdraw">${words.withdraw_ticked}</button></div></div>
</form>`
    }
${pageLinks(WORDS[frame.locale].bring.table, { at: page, pages: Math.ceil(total / PAGE) }, (page) => to({ page: String(page) }))}
${waysOn(words.pages, [
  ...(after ? [{ href: frame.to("/drafts", asked), label: words.first }] : []),
  ...(more_after ? [{ href: frame.to("/drafts", { ...asked, after: more_after }), label: words.go_on }] : []),
])}
<p class="save"><a class="link" href="${frame.to("/drafts.csv", asked)}">${icon("csv")} ${filtered ? words.download_found : words.download}</a></p></div>
<p class="quiet">${words.lead}</p>`,
  });
}

function newsTold(frame: PortalFrame, news: URLSearchParams): Html {
  const words = WORDS[frame.locale].drafts;
  const count = (name: string) => Number(news.get(name) ?? 0);
  const done: Record<string, string> = {
    withdrawn: words.withdrawn,
    reminded: words.reminded(count("done"), count("left")),
    withdrawn_all: words.withdrawn_all(count("done"), count("left"), count("before")),
  };
  const not_done: Record<string, string> = { withdrawn_before: words.withdrawn_before, none_ticked: words.none_ticked };
  const told = news.get("news") ?? "";
  return html`${newsOf(done[told])}${notDone(not_done[told])}`;
}

/** A field to look for somebody, all choices, and how many are at each stage, where each count leads to them. */
function filters(frame: PortalFrame, asked: DraftQuery, counts: Drafts["counts"]): Html {
  const words = WORDS[frame.locale].drafts;
  const back = (id: keyof DraftQuery) => without(frame, "/drafts", asked, id);
  const countOf = (status: Stage) => stagesOf(status).reduce((sum, each) => sum + (counts[each] ?? 0), 0);
  const stageOf = (status: Stage) => (status === "begun" ? words.begun : words.statuses[status]);
  const chipOf = (status: Stage) => ({
    href: frame.to("/drafts", { ...asked, status }),
    label: stageOf(status),
    count: inNumbers(frame, countOf(status)),
  });
  return listFilter(frame, "/drafts", asked, words, {
    chosen: [
      ...(asked.status ? [{ ...chipOf(asked.status), href: back("status") }] : []),
      ...(asked.needs ? [{ href: back("needs"), label: words.needs_are[asked.needs] }] : []),
    ],
    // a stage in which nobody is leads nowhere
    often: STATUSES.filter((status) => status !== asked.status && countOf(status) > 0).map(chipOf),
    fields: html`<div class="filters">
${selectInput({ id: "status", label: words.status, empty: words.any, value: asked.status, options: STAGES.map((value) => ({ value, label: stageOf(value) })) })}
${selectInput({ id: "needs", label: words.needs, empty: words.any, value: asked.needs, options: optionsOf(NEEDS, words.needs_are) })}
${selectInput({ id: "sort", label: words.sort, empty: words.newest, value: asked.sort, options: optionsOf(SORTS, words.sorts) })}
</div>`,
  });
}

/** A line for each sign-up; a phone shows who, the stage, the connection and since when. */
function draftRows(
  frame: PortalFrame,
  drafts: readonly Draft[],
  asked: DraftQuery,
  here: Record<string, string>,
  ticked: readonly string[],
): Html {
  const words = WORDS[frame.locale].drafts;
  const day = (moment: string) => shortDay(frame, moment);
  const sortable = (name: string, sort: (typeof SORTS)[number]) => ({
    name,
    sort: {
      href: frame.to("/drafts", { ...asked, sort }),
      ...(asked.sort === sort ? { is: "ascending" as const } : {}),
    },
  });
  const byDate = {
    name: words.made,
    place: "date" as const,
    sort: {
      href: frame.to("/drafts", { ...asked, sort: asked.sort ? "" : "oldest" }),
      ...(asked.sort && asked.sort !== "oldest"
        ? {}
        : { is: asked.sort ? ("ascending" as const) : ("descending" as const) }),
    },
  };
  const mixed = drafts.some(({ invited_at }) => invited_at !== null);
  return records(
    words.table,
    [
      sortable(words.person, "name"),
      { ...sortable(words.status, "status"), place: "state" },
      { name: words.connection, place: "figure" },
      sortable(words.city, "city"),
      { name: words.reference },
      byDate,
      { name: words.mail },
      { ...sortable(words.until, "until"), place: "day" },
    ],
    drafts.map((draft) => {
      const name = draft.name ?? draft.email;
      return [
        html`<label class="pick"><input type="checkbox" name="draft" value="${draft.draft_id}"${ticked.includes(draft.draft_id) ? html` checked` : ""} aria-label="${words.tick(name)}"></label><a class="skip" href="#ticked">${words.to_buttons}</a><a href="${frame.to(`/drafts/${draft.draft_id}`, here)}">${name}</a>`,
        chip(STATES.draft[draft.status], words.statuses[draft.status], { status: draft.status }),
        draft.status === "invited" || draft.status === "claimed" ? words.ean_short[draft.ean_status] : null,
        draft.city,
        draft.external_ref,
        day(draft.created_at),
        mixed && !draft.invited_at ? words.not_mailed : null,
        draft.status === "invited" ? day(draft.expires_at) : null,
      ];
    }),
  );
}

/** Where several drafts are withdrawn, and where in the list the reader was. */
export const withdrawalOf = (frame: PortalFrame, here: Record<string, string>, draft_ids: readonly string[]): string =>
  `${frame.to("/drafts/withdraw", here)}&${new URLSearchParams(draft_ids.map((id) => ["draft", id]))}`;

/** Names of a long list that are shown. */
const NAMED = 5;

/** Asks once more before several drafts are withdrawn, and names whose they are. */
export function askWithdrawDraftsPage(
  frame: PortalFrame,
  who: Who,
  drafts: readonly Draft[],
  here: Record<string, string>,
): Html {
  const words = WORDS[frame.locale].drafts;
  const names = drafts.map(({ name, email }) => name ?? email);
  // it never says "1 other"
  const shown = names.length > NAMED + 1 ? [...names.slice(0, NAMED), words.others(names.length - NAMED)] : names;
  const draft_ids = drafts.map(({ draft_id }) => draft_id);
  return portalPage(frame, "/drafts", who, {
    title: words.withdraw_these(drafts.length),
    body: html`<p>${new Intl.ListFormat(frame.locale).format(shown)}.</p>
<ul>${[words.withdraw_link, words.withdraw_cap, ...(drafts.some(({ claimed_at }) => claimed_at) ? [words.withdraw_begun] : [])].map((line) => html`<li>${line}</li>`)}</ul>
<form method="post" action="${withdrawalOf(frame, here, draft_ids)}">
${formToken(frame.form_token)}
<div class="actions">${lastClick(words.withdraw_yes(drafts.length), frame.to("/drafts", here), words.withdraw_no)}</div>
</form>`,
  });
}
