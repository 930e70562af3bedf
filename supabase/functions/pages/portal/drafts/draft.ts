import { longDate } from "#shared/domain/mandate_text/mandate_text.ts";
import { longMoment } from "../../kit/document.ts";
import type { Html } from "../../kit/frame.ts";
import { html } from "../../kit/html.ts";
import { askTwiceBody, doButton, newsOf, notDone } from "../../kit/signed_in_views.ts";
import { STATES } from "../../kit/states.ts";
import { details } from "../details.ts";
import { portalPage } from "../frame.ts";
import type { PortalFrame } from "../request.ts";
import { WORDS } from "../words.ts";
import type { Draft, OneDraft } from "./model.ts";
import { numberOf } from "./number.ts";

/** Where in the list the reader came from, as an address says it. */
type Here = Record<string, string>;

/** One draft: how far it is, what would help, and what can be done about it. */
export function draftPage(frame: PortalFrame, one: OneDraft, news: string | null, here: Here): Html {
  const { who, draft, customer_ref } = one;
  const words = WORDS[frame.locale].drafts;
  const on = (moment: string | null) => moment && longDate(moment, frame.words);
  const isOpen = draft.status === "invited" || draft.status === "claimed";
  return portalPage(frame, "/drafts", who, {
    title: draft.name ?? draft.email,
    up: { href: frame.to("/drafts", here), label: words.back },
    body: html`${newsOf(news === "sent" ? words.sent : undefined)}${notDone(news === "not_sent" ? words.not_sent : undefined)}
${news === "link" ? claimLink(frame, one) : ""}
<div class="beside"><section><p class="panel ${STATES.draft[draft.status]}"><strong>${words.statuses[draft.status]}.</strong> ${words.means[draft.status]}</p>
${draft.mail_failed_at && draft.mail_failed_reason && isOpen ? html`<p class="panel waits">${words.mail_failed(longDate(draft.mail_failed_at, frame.words), WORDS[frame.locale].mail_failures[draft.mail_failed_reason])}</p>` : ""}
${draft.status === "conflict" ? html`<ul>${words.conflict_help.map((line) => html`<li>${line}</li>`)}</ul>` : ""}
${customer_ref ? html`<p><a class="link" href="${frame.to(`/customers/${customer_ref}`)}">${words.to_customer}</a></p>` : ""}
${details([
  [words.email, draft.email],
  [words.reference, draft.external_ref],
  [words.number, html`<code data-copy>${numberOf(draft.draft_id)}</code>`],
  [words.city, draft.city],
  [words.made, on(draft.created_at)],
  [words.invited, on(draft.invited_at)],
  [words.claimed, on(draft.claimed_at)],
  [words.until, draft.status === "invited" ? on(draft.expires_at) : null],
])}
${isOpen ? html`<h2>${words.connection}</h2><p>${eanOf(draft, words)}</p>` : ""}</section>
<section>${isOpen ? invitation(frame, one, here) : ""}
${
  draft.status === "active"
    ? ""
    : html`<h2>${words.withdraw}</h2><p>${words.withdraw_what}</p>
<p><a class="link" href="${frame.to(`/drafts/${draft.draft_id}/withdraw`, here)}">${words.withdraw_do}</a></p>`
}</section></div>`,
  });
}

type Words = (typeof WORDS)["nl"]["drafts"];

const eanOf = ({ ean_status, ean_candidates }: Draft, words: Words): string =>
  ean_status === "ambiguous" ? words.ean_ambiguous(String(ean_candidates)) : words.ean[ean_status];

/** Mail the invitation once more, or pass the link on oneself. */
function invitation(frame: PortalFrame, { draft, mailing }: OneDraft, here: Here): Html {
  const words = WORDS[frame.locale].drafts;
  const page = `/drafts/${draft.draft_id}`;
  const { state, last_at, again_at } = mailing;
  return html`<h2>${words.help}</h2>
<p>${last_at ? words.mailed(longMoment(last_at, frame.words)) : draft.invited_at ? words.mailed_long_ago : words.never_mailed}</p>
${
  state === "may"
    ? doButton(frame, `${page}/invite`, {}, draft.invited_at ? words.invite_again : words.invite, here)
    : html`<p>${state === "too_soon" && again_at ? words.too_soon(longMoment(again_at, frame.words)) : words.why_not[state]}</p>`
}
<h3>${words.link}</h3>
<p>${words.link_what}</p>
${doButton(frame, `${page}/link`, {}, words.show_link, here)}`;
}

/** In a field, so that it can be copied without script. */
function claimLink(frame: PortalFrame, { claim_url }: OneDraft): Html {
  const words = WORDS[frame.locale].drafts;
  if (!claim_url) return notDone(words.no_link);
  return html`<div class="panel" role="status"><div class="field">
<label for="claim-link">${words.link_is}</label>
<p class="hint" id="claim-link-hint">${words.link_secret}</p>
<input type="text" id="claim-link" value="${claim_url}" readonly data-copy aria-describedby="claim-link-hint">
</div></div>`;
}

export function askWithdrawPage(frame: PortalFrame, { who, draft }: OneDraft, here: Here): Html {
  const words = WORDS[frame.locale].drafts;
  const page = `/drafts/${draft.draft_id}`;
  const means = [
    words.withdraw_link,
    words.withdraw_cap,
    ...(draft.status === "claimed" ? [words.withdraw_login] : []),
  ];
  const asked = {
    title: words.withdraw_ask(draft.name ?? draft.email),
    means,
    yes: words.withdraw_yes(1),
    no: words.withdraw_no,
  };
  return portalPage(frame, "/drafts", who, {
    title: asked.title,
    body: askTwiceBody(frame, asked, `${page}/withdraw`, {}, page, here),
  });
}
