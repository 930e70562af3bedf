import type { Offer } from "#shared/domain/answers.ts";
import type { Claim } from "#shared/domain/claim/answers.ts";
import { codeInput } from "../kit/fields.ts";
import { type Frame, type Html, layout } from "../kit/frame.ts";
import { html } from "../kit/html.ts";
import { showYield, type Wishes, wishErrors } from "../kit/offer.ts";
import { kindPage, maskEmail, onward } from "../kit/views.ts";
import { type ClaimFrame, placeOf } from "./frame.ts";
import { WORDS } from "./words.ts";

/** What it yields and the way in, on the first screen of a phone; then why, what happens next, how to stop. Nothing is mailed until the customer asks. */
export function startPage(frame: ClaimFrame, claim: Claim, wishes: Wishes, notice: Html): Html {
  const { config, to } = frame;
  const words = WORDS[frame.locale].start;
  const partner = frame.brand?.name ?? "";
  const offer = claim.offer as Offer;
  return layout(frame, {
    title: words.title,
    place: placeOf(frame, "proof"),
    errors: wishErrors(frame, wishes, offer),
    body: html`${notice}<p class="lead">${words.benefit(partner)}</p>
${showYield(frame, "", claim.fee_pct as number, offer, wishes)}
<form method="post" action="${to("/code")}">
<p>${words.to} <strong>${maskEmail(claim.email ?? "")}</strong>.</p>
<div class="actions">
<button class="button">${words.send}</button>
${claim.code_sent ? html`<a class="link" href="${to("/proof")}">${words.have_code}</a>` : ""}
</div>
</form>
<h2>${words.why_title}</h2>
<p>${words.why(config.SERVICE_NAME)}</p>
<p>${words.given(partner)}</p>
<h2>${words.how_title}</h2>
<p>${words.how}</p>
<p>${words.need}</p>
<ul>${words.needed.map((thing) => html`<li>${thing}</li>`)}</ul>
<p class="quiet apart">${words.stop}</p>
${frame.brand?.reply_to ? html`<p class="quiet">${words.contact(partner)} <a href="mailto:${frame.brand.reply_to}">${frame.brand.reply_to}</a></p>` : ""}`,
  });
}

export function proofPage(frame: ClaimFrame, email: string, error?: string): Html {
  const { words: kit, to } = frame;
  const words = WORDS[frame.locale].proof;
  return layout(frame, {
    title: words.title,
    place: placeOf(frame, "proof"),
    errors: { code: error },
    body: html`<form method="post" action="${to("/proof")}" novalidate>
${codeInput({ label: kit.code.label, hint: kit.code.hint(maskEmail(email)), error })}
<div class="actions">
<button class="button">${words.submit}</button>
<a class="link" href="${to("")}">${kit.back}</a>
</div>
</form>
<form class="sheet" method="post" action="${to("/code")}">
<h2>${kit.code.no_code}</h2>
<p class="quiet">${kit.code.no_code_help}</p>
<button class="button second">${kit.code.resend}</button>
</form>`,
  });
}

/** A sign-in link, opened: the button uses it up, not the request, which may be a mail scanner's. */
export function enterPage(frame: Frame, action: string): Html {
  const words = WORDS[frame.locale].enter;
  return layout(frame, {
    title: words.title,
    body: html`<p>${words.text(frame.brand?.name ?? "")}</p>
<form method="post" action="${action}"><div class="actions"><button class="button">${words.submit}</button></div></form>`,
  });
}

type ClaimKind = "used" | "gone" | "expired" | "conflict" | "link_used" | "link_expired" | "unsubscribed";

/** A kind page of a claim; the words differ, for they say what to do. */
export function claimKindPage(
  frame: Frame,
  kind: ClaimKind,
  action?: { href: string; label: string },
  notice: Html = html``,
): Html {
  const words = WORDS[frame.locale][kind];
  if ("sign_in" in words)
    return kindPage(frame, words, onward(`${frame.root}/mijn?lang=${frame.locale}`, words.sign_in));
  return kindPage(
    frame,
    words,
    action &&
      html`${notice}<form method="post" action="${action.href}"><div class="actions"><button class="button second">${action.label}</button></div></form>`,
  );
}

export function unsubscribePage(frame: Frame): Html {
  const words = WORDS[frame.locale].unsubscribe;
  return layout(frame, {
    title: words.title,
    body: html`<p>${words.text}</p><p>${words.kept}</p>
<form method="post"><div class="actions"><button class="button">${words.submit}</button></div></form>`,
  });
}
