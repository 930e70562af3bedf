import type { Offer, Signed } from "#shared/domain/answers.ts";
import { type Facts, longDate } from "#shared/domain/mandate_text/mandate_text.ts";
import { showDocument } from "../kit/document.ts";
import { type Frame, type Html, layout } from "../kit/frame.ts";
import { html } from "../kit/html.ts";
import { asQuery, choosePeriod, showOffer, sumOf, type Wishes, wishErrors } from "../kit/offer.ts";
import { bottomBar, skipToBar } from "../kit/parts/bottom_bar.ts";
import { keptText, showValidity, versionOf } from "../kit/signature.ts";
import { lastClick, maskEmail, returnLink, saveLinks } from "../kit/views.ts";
import type { Opened } from "./model.ts";
import { WORDS } from "./words.ts";

/** Step 1: what it yields and the mandate in full, before anything is asked. */
export function readPage(frame: Frame, opened: Opened, facts: Facts, document: string, wishes: Wishes): Html {
  const { config, to, words: kit } = frame;
  const { read: words, steps } = WORDS[frame.locale];
  const { held_until, periods, offer } = opened;
  return layout(frame, {
    title: words.title,
    place: { steps, step: 0 },
    errors: wishErrors(frame, wishes, offer as Offer),
    body: html`${skipToBar(kit.read.to_button)}<p class="lead"><strong>${words.who(facts.partner_name)}</strong></p>
<p>${words.why(facts.partner_name, config.SERVICE_NAME)}</p>
<p>${words.how(facts.email !== null)}</p>
${held_until ? html`<p class="panel">${kit.period.renews(longDate(held_until, kit), longDate(facts.valid_from, kit))}</p>` : ""}
${showOffer(frame, "", facts, offer as Offer, facts.partner_name, wishes)}
${choosePeriod(frame, "", periods ?? [], facts, wishes)}
${showDocument(document, kit.lang, true)}
<p class="quiet">${words.wrong(facts.partner_name)}</p>
<p class="save" data-print><a class="link" href="${to("/document", asQuery({ ...wishes, typed: null }))}">${kit.read.save}</a></p>
${bottomBar(
  sumOf(frame, offer as Offer, facts.fee_pct, facts.partner_name, wishes),
  html`<a class="button" href="${to("/sign", { seen: versionOf(facts) })}">${kit.read.continue}</a>`,
  true,
)}
<p><a class="link" href="${to("/decline")}">${kit.read.decline}</a></p>`,
  });
}

/** Step 3, and what the link shows from then on. */
export function signedPage(
  frame: Frame,
  signed: Signed,
  {
    partner_name: partner,
    return_url,
    held_until,
    may_sign_again,
  }: { partner_name: string; return_url: string | null; held_until: string | null; may_sign_again: boolean },
): Html {
  const { config, to } = frame;
  const { signed: words } = WORDS[frame.locale];
  const kit = frame.words;
  const ended = signed.status === "signed" ? null : words.ended[signed.status];
  return layout(frame, {
    title: ended ? ended.title : words.title,
    body: html`<div class="status ${signed.status === "signed" ? "done" : signed.status === "revoked" ? "withdrawn" : "ended"}">
${ended ? html`<p class="lead">${ended.text}</p>` : ""}
<p${ended ? "" : html` class="lead"`}>${words.thanks(longDate(signed.signed_at, kit))}</p>
${!ended && signed.code_sent_to ? html`<p>${words.mailed(maskEmail(signed.code_sent_to))}</p>` : ""}
</div>
${showValidity(
  frame,
  signed,
  held_until,
  may_sign_again
    ? (label) => html`<form method="post" action="${to("/renew")}"><button class="button">${label}</button></form>`
    : null,
)}
${
  ended
    ? ""
    : html`<h2>${kit.signed.next_title}</h2>
<ul>${words.next(partner, config.SERVICE_NAME).map((line) => html`<li>${line}</li>`)}</ul>`
}
${signed.code_sent_to ? html`<p class="save"><a class="link" href="${frame.root}/mijn?lang=${frame.locale}">${words.own_pages}</a></p>` : ""}
${returnLink(kit, partner, return_url)}
<h2>${kit.signed.keep}</h2>
<p>${words.keep_help}</p>
${saveLinks(frame)}
${keptText(frame, signed)}`,
  });
}

export function declinePage(frame: Frame, partner: string, heldUntil: string | null): Html {
  const words = WORDS[frame.locale].decline;
  return layout(frame, {
    title: words.title,
    body: html`<p>${heldUntil ? words.means_renewal(longDate(heldUntil, frame.words)) : words.means(partner)}</p>
<p>${words.later}</p>
<form method="post" action="${frame.to("/decline")}">
<div class="actions">${lastClick(words.confirm, frame.to(""), words.back)}</div>
</form>`,
  });
}

export function declinedPage(frame: Frame, partner: string, return_url: string | null, heldUntil: string | null): Html {
  const { title, text, text_renewal } = WORDS[frame.locale].declined;
  const said = heldUntil ? text_renewal(partner, longDate(heldUntil, frame.words)) : text(partner);
  return layout(frame, {
    title,
    body: html`${said.split("\n").map((line) => html`<p>${line}</p>`)}${returnLink(frame.words, partner, return_url)}`,
  });
}
