import { longDate } from "#shared/domain/mandate_text/mandate_text.ts";
import { selectInput, textInput } from "../../kit/fields.ts";
import type { Html } from "../../kit/frame.ts";
import { html } from "../../kit/html.ts";
import { newsOf, table } from "../../kit/signed_in_views.ts";
import { onward } from "../../kit/views.ts";
import { portalPage } from "../frame.ts";
import { waysOn } from "../paging.ts";
import type { PortalFrame } from "../visit.ts";
import { WORDS } from "../words.ts";
import type { Draft, Drafts } from "./model.ts";
import { type DraftQuery, NEEDS, STATUSES } from "./query.ts";

/** Everybody a partner signed up, newest first, and how far each is. */
export function draftsPage(
  frame: PortalFrame,
  { who, drafts, more_after }: Drafts,
  asked: DraftQuery,
  after: string | null,
  news: string | null,
): Html {
  const words = WORDS[frame.locale].drafts;
  const told = newsOf(news === "withdrawn" ? words.withdrawn : undefined);
  const filtered = Object.keys(asked).length > 0;
  if (drafts.length === 0 && !filtered && !after)
    return portalPage(frame, "/drafts", who, {
      title: words.title,
      body: html`${told}<p>${words.none}</p>${onward(frame.to("/import"), WORDS[frame.locale].menu["/import"])}`,
    });
  return portalPage(frame, "/drafts", who, {
    title: words.title,
    wide: true,
    body: html`${told}<p>${words.lead}</p>
${filterForm(frame, asked)}
${
  drafts.length === 0
    ? html`<p role="status">${more_after ? words.nobody_yet : words.nobody}</p>`
    : draftTable(frame, drafts)
}
${waysOn(words.pages, [
  ...(after ? [{ href: frame.to("/drafts", asked), label: words.first }] : []),
  ...(more_after
    ? [
        {
          href: frame.to("/drafts", { ...asked, after: more_after }),
          label: drafts.length === 0 ? words.go_on : words.next,
        },
      ]
    : []),
])}`,
  });
}

function filterForm(frame: PortalFrame, asked: DraftQuery): Html {
  const words = WORDS[frame.locale].drafts;
  return html`<form method="get" action="${frame.to("/drafts")}" role="search">
<input type="hidden" name="lang" value="${frame.locale}">
${textInput({ id: "q", label: words.search, hint: words.search_hint, value: asked.q ?? "", attributes: html` maxlength="254" autocomplete="off"` })}
<div class="filters">
${selectInput({ id: "status", label: words.status, empty: words.any, value: asked.status, options: STATUSES.map((value) => ({ value, label: words.statuses[value] })) })}
${selectInput({ id: "needs", label: words.needs, empty: words.any, value: asked.needs, options: NEEDS.map((value) => ({ value, label: words.needs_are[value] })) })}
</div>
<div class="actions"><button class="button">${words.find}</button>${Object.keys(asked).length > 0 ? html`<a class="link" href="${frame.to("/drafts")}">${words.clear}</a>` : ""}</div>
</form>`;
}

function draftTable(frame: PortalFrame, drafts: readonly Draft[]): Html {
  const words = WORDS[frame.locale].drafts;
  const day = (moment: string) => longDate(moment, frame.words);
  const { person, status, connection, made, until, city, reference } = words;
  return table(
    words.table,
    [person, status, connection, made, until, city, reference].map((name) => ({ name, text: true })),
    drafts.map((draft) => [
      html`<a href="${frame.to(`/drafts/${draft.draft_id}`)}">${draft.name ?? draft.email}</a>${draft.name ? html`<small>${draft.email}</small>` : ""}`,
      words.statuses[draft.status],
      draft.status === "invited" || draft.status === "claimed" ? words.ean_short[draft.ean_status] : null,
      html`${day(draft.created_at)}${draft.invited_at ? "" : html`<small>${words.not_mailed}</small>`}`,
      draft.status === "invited" ? day(draft.expires_at) : null,
      draft.city,
      draft.external_ref,
    ]),
    { blocks: true },
  );
}
