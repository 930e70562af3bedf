import { type Frame, type Html, layout } from "../kit/frame.ts";
import { html } from "../kit/html.ts";
import { icon } from "../kit/parts/icons.ts";
import { type SignInShown, signInPage } from "../kit/sign_in_views.ts";
import { kindPage } from "../kit/views.ts";
import type { Asking } from "./model.ts";
import { WORDS } from "./words.ts";

/** A page of one authorization request, which every page that `to` leads to is of. `refused` is where "no" leads: a link, for nothing changes by it. */
export type ConsentFrame = Frame & { refused: string };

/** Without a client and a redirect URI that we know, nobody is sent anywhere. */
export function badRequestPage(frame: Frame, request_id: string): Html {
  const { bad_request } = WORDS[frame.locale];
  return kindPage(frame, bad_request, html`<p class="quiet">${bad_request.maker(request_id)}</p>`);
}

export function consentSignInPage(frame: ConsentFrame, { name }: Asking, shown: SignInShown): Html {
  const { sign_in: words, ask } = WORDS[frame.locale];
  const why = html`<p class="lead"><strong>${words.why(name, frame.config.SERVICE_NAME)}</strong></p>
<p>${words.next(name)}</p>`;
  return signInPage(
    frame,
    shown,
    why,
    html`<a class="link" href="${frame.refused}" rel="noreferrer">${ask.refuse}</a>`,
  );
}

/** `proof` ties the answer to this session and to what was shown. */
export function askPage(
  frame: ConsentFrame,
  { name, operated_by, scopes }: Asking,
  shown: { email: string; host: string; proof: string; again: boolean },
): Html {
  const { config, to, refused } = frame;
  const { ask: words } = WORDS[frame.locale];
  const service = config.SERVICE_NAME;
  return layout(frame, {
    title: words.title(name),
    body: html`${shown.again ? html`<p class="panel waits" role="alert">${words.again}</p>` : ""}
<p class="lead">${operated_by ? words.who(name, operated_by, service) : words.who_unknown(name, service)}</p>
<h2>${words.may(name)}</h2>
<ul class="may">${scopes.map((scope) => html`<li>${icon("check")}<span>${frame.words.scopes[scope]}</span></li>`)}</ul>
<p>${words.may_not(name)}</p>
<p>${words.stop(config.SUPPORT_EMAIL)}</p>
<form method="post" action="${to("")}">
<input type="hidden" name="proof" value="${shown.proof}">
<div class="actions">
<button class="button">${words.allow}</button>
<a class="button second" href="${refused}" rel="noreferrer">${words.refuse}</a>
</div>
</form>
<p class="quiet apart">${words.back_to(shown.host)}</p>
<form class="quiet" method="post" action="${to("/sign-out")}">${words.signed_in} <strong>${shown.email}</strong>. <button class="plain">${words.other}</button></form>`,
  });
}

/** The browser has allowed it before: the application has its answer. */
export function decidedPage(frame: Frame, { name }: Asking): Html {
  const { title, text } = WORDS[frame.locale].decided;
  return kindPage(frame, { title: title(name), text: text(name) });
}

/** The way back to the application, for a browser that does not take it by itself. */
export function donePage(frame: Frame, { name }: Asking, url: string): Html {
  const { done: words } = WORDS[frame.locale];
  return layout(frame, {
    title: words.title(name),
    body: html`<p>${words.text}</p>
<div class="actions"><a class="button" href="${url}" rel="noreferrer">${words.onward(name)}</a></div>`,
  });
}
