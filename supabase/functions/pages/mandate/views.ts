import { html } from "hono/html";
import { type Facts, longDate } from "#shared/domain/mandate_text/mandate_text.ts";
import { showDocument } from "../kit/document.ts";
import { type Frame, type Html, layout } from "../kit/frame.ts";
import { languageOf, type Signed, showSignature } from "../kit/signature.ts";
import { maskEmail, returnLink } from "../kit/views.ts";
import { WORDS } from "./words.ts";

/** Step 1: the mandate in full, before anything is asked. */
export function readPage(frame: Frame, facts: Facts, document: string, seen: string): Html {
  const { config, to } = frame;
  const { read: words, steps } = WORDS[frame.locale];
  return layout(frame, {
    title: words.title,
    place: { steps, step: 0 },
    body: html`<p class="lead"><strong>${words.who(facts.partner_name)}</strong></p>
<p>${words.why(facts.partner_name, config.SERVICE_NAME)}</p>
<p>${words.how(facts.email !== null)}</p>
${showDocument(document, frame.words.lang)}
<p class="quiet">${words.wrong(facts.partner_name)}</p>
<p class="save"><a class="link" href="${to("/document")}">${frame.words.read.save}</a></p>
<div class="actions">
<a class="button" href="${to("/sign", { seen })}">${frame.words.read.continue}</a>
<a class="link" href="${to("/decline")}">${frame.words.read.decline}</a>
</div>`,
  });
}

/** Step 3, and what the link shows from then on. */
export function signedPage(frame: Frame, signed: Signed, partner: string, return_url: string | null): Html {
  const { config, to } = frame;
  const { signed: words, steps } = WORDS[frame.locale];
  const kit = frame.words;
  const ended = signed.status === "signed" ? null : words.ended[signed.status];
  return layout(frame, {
    title: words.title,
    place: { steps, step: steps.length },
    body: html`<div class="panel">
<p class="lead">${words.thanks(longDate(signed.signed_at, kit))}</p>
${ended ? html`<p><strong>${ended}</strong></p>` : ""}
${!ended && signed.code_sent_to ? html`<p>${words.mailed(maskEmail(signed.code_sent_to))}</p>` : ""}
</div>
${
  ended
    ? ""
    : html`<h2>${kit.signed.next_title}</h2>
<ul>${words.next(partner, config.SERVICE_NAME).map((line) => html`<li>${line}</li>`)}</ul>`
}
${returnLink(kit, partner, return_url)}
<h2>${kit.signed.keep}</h2>
<p>${words.keep_help}</p>
<p class="save"><a class="link" href="${to("/document")}">${kit.read.save}</a></p>
${showDocument(signed.document, languageOf(signed.document))}
${showSignature(signed, kit)}`,
  });
}

export function declinePage(frame: Frame, partner: string): Html {
  const words = WORDS[frame.locale].decline;
  return layout(frame, {
    title: words.title,
    body: html`<p>${words.means(partner)}</p>
<p>${words.later}</p>
<form method="post" action="${frame.to("/decline")}">
<div class="actions">
<button class="button second">${words.confirm}</button>
<a class="link" href="${frame.to("")}">${words.back}</a>
</div>
</form>`,
  });
}

export function declinedPage(frame: Frame, partner: string, return_url: string | null): Html {
  const { title, text } = WORDS[frame.locale].declined;
  return layout(frame, {
    title,
    body: html`${text(partner)
      .split("\n")
      .map((line) => html`<p>${line}</p>`)}${returnLink(frame.words, partner, return_url)}`,
  });
}
