import { html } from "hono/html";
import type { UserScope } from "#shared/values/scopes.ts";
import { codeInput, textInput } from "../kit/fields.ts";
import { type Frame, type Html, layout } from "../kit/frame.ts";
import { kindPage } from "../kit/views.ts";
import { WORDS } from "./words.ts";

/** An application that asks, as api.describe_authorization tells it. */
export type Asking = { name: string; operated_by: string | null; scopes: UserScope[] };

/** A page of one authorization request, which every page that `to` leads to is of. `refused` is where "no" leads: a link, for nothing changes by it. */
export type ConsentFrame = Frame & { refused: string };

export type SignInErrors = { email?: string | undefined; password?: string | undefined };

/** Without a client and a redirect URI that we know, nobody is sent anywhere. */
export function badRequestPage(frame: Frame): Html {
  return kindPage(frame, WORDS[frame.locale].bad_request);
}

export function signInPage(
  frame: ConsentFrame,
  { name }: Asking,
  form_token: string,
  email = "",
  errors: SignInErrors = {},
  again = false,
): Html {
  const { config, to, refused } = frame;
  const { sign_in: words, ask } = WORDS[frame.locale];
  return layout(frame, {
    title: words.title,
    errors,
    body: html`${again ? html`<p class="panel" role="alert">${words.again}</p>` : ""}
<p class="lead"><strong>${words.why(name, config.SERVICE_NAME)}</strong></p>
<p>${words.next(name)}</p>
<form method="post" action="${to("/sign-in")}" novalidate>
${formToken(form_token)}
${textInput({
  id: "email",
  type: "email",
  label: words.email,
  error: errors.email,
  value: email,
  required: true,
  attributes: html` autocomplete="username" maxlength="254" autocapitalize="none" spellcheck="false"`,
})}
${textInput({
  id: "password",
  type: "password",
  label: words.password,
  error: errors.password,
  required: true,
  attributes: html` autocomplete="current-password"`,
})}
<div class="actions">
<button class="button">${words.submit}</button>
<a class="link" href="${refused}" rel="noreferrer">${ask.refuse}</a>
</div>
<div class="sheet">
<h2>${words.no_password}</h2>
<p class="quiet">${words.no_password_help}</p>
<button class="button second" formaction="${to("/mail-code")}">${words.mail_code}</button>
</div>
</form>`,
  });
}

/** The same for every address: whether there is a login behind it is nobody's to know. */
export function codePage(frame: ConsentFrame, form_token: string, email: string, error?: string): Html {
  const { to } = frame;
  const { code: words } = WORDS[frame.locale];
  const { code } = frame.words;
  return layout(frame, {
    title: words.title,
    errors: { code: error },
    body: html`<p>${words.sent(email)}</p>
<form method="post" action="${to("/code")}" novalidate>
${formToken(form_token)}
${codeInput({ label: code.label, hint: words.hint, error })}
<div class="actions">
<button class="button">${words.submit}</button>
<a class="link" href="${to("")}">${words.back}</a>
</div>
</form>
<form class="sheet" method="post" action="${to("/mail-code")}">
<h2>${code.no_code}</h2>
<p class="quiet">${words.no_code_help}</p>
${formToken(form_token)}
<input type="hidden" name="email" value="${email}">
<button class="button second">${code.resend}</button>
</form>`,
  });
}

const formToken = (value: string) => html`<input type="hidden" name="form_token" value="${value}">`;

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
    body: html`${shown.again ? html`<p class="panel" role="alert">${words.again}</p>` : ""}
<p class="lead">${operated_by ? words.who(name, operated_by, service) : words.who_unknown(name, service)}</p>
<h2>${words.may(name)}</h2>
<ul>${scopes.map((scope) => html`<li>${words.scopes[scope]}</li>`)}</ul>
<p>${words.may_not(name)}</p>
<p>${words.stop(config.SUPPORT_EMAIL)}</p>
<p class="quiet">${words.back_to(shown.host)}</p>
<form method="post" action="${to("")}">
<input type="hidden" name="proof" value="${shown.proof}">
<div class="actions">
<button class="button">${words.allow}</button>
<a class="button second" href="${refused}" rel="noreferrer">${words.refuse}</a>
</div>
</form>
<form class="sheet" method="post" action="${to("/sign-out")}">
<p>${words.signed_in} <strong>${shown.email}</strong></p>
<button class="button second">${words.other}</button>
</form>`,
  });
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
