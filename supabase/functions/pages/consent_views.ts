import { html } from "hono/html";
import type { UserScope } from "#shared/values/scopes.ts";
import { type Frame, type Html, layout } from "./layout.ts";
import { textField } from "./mandate_views.ts";

/** An application that asks, as api.describe_authorization tells it. */
export type Asking = { name: string; operated_by: string | null; scopes: UserScope[] };

/** A page of one authorization request: `to` gives the path of another step with the same request. */
export type ConsentFrame = Frame & {
  to: (step: "" | "/sign-in" | "/mail-code" | "/code" | "/sign-out") => string;
  /** Where "no" leads: a link, for nothing changes by it. */
  refused: string;
};

export type SignInErrors = { email?: string; password?: string };
export type CodeError = "code_missing" | "wrong_code" | "code_expired" | "too_many_attempts";

/** Without a client and a redirect URI that we know, nobody is sent anywhere. */
export function badRequestPage(frame: Frame): Html {
  const { title, text, help } = frame.messages.consent.bad_request;
  return layout(frame, { title, body: html`<p>${text}</p><p>${help}</p>` });
}

export function signInPage(frame: ConsentFrame, { name }: Asking, email = "", errors: SignInErrors = {}): Html {
  const { messages, config, to, refused } = frame;
  const words = messages.consent.sign_in;
  return layout(frame, {
    title: words.title,
    errors: (["email", "password"] as const).flatMap((id) => {
      const message = errors[id];
      return message ? [{ id, message }] : [];
    }),
    body: html`<p class="lead"><strong>${words.why(name, config.SERVICE_NAME)}</strong></p>
<p>${words.next(name)}</p>
<form method="post" action="${to("/sign-in")}" novalidate>
${textField({
  id: "email",
  label: words.email,
  error: errors.email,
  type: "email",
  attributes: html` autocomplete="username" maxlength="254" autocapitalize="none" spellcheck="false" value="${email}"`,
})}
${textField({
  id: "password",
  label: words.password,
  error: errors.password,
  type: "password",
  attributes: html` autocomplete="current-password"`,
})}
<div class="actions">
<button class="button">${words.submit}</button>
<a class="link" href="${refused}" rel="noreferrer">${messages.consent.ask.refuse}</a>
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
export function codePage(frame: ConsentFrame, email: string, error?: CodeError): Html {
  const { messages, to } = frame;
  const words = messages.consent.code;
  const message = error && messages.sign.errors[error];
  return layout(frame, {
    title: words.title,
    errors: message ? [{ id: "code", message }] : [],
    body: html`<p>${words.sent(email)}</p>
<form method="post" action="${to("/code")}" novalidate>
${textField({
  id: "code",
  label: messages.sign.code,
  hint: words.hint,
  error: message,
  attributes: html` class="code" autocomplete="one-time-code" inputmode="numeric" maxlength="9" spellcheck="false"`,
})}
<div class="actions">
<button class="button">${words.submit}</button>
<a class="link" href="${to("")}">${words.back}</a>
</div>
</form>
<form class="sheet" method="post" action="${to("/mail-code")}">
<h2>${messages.sign.no_code}</h2>
<p class="quiet">${words.no_code_help}</p>
<input type="hidden" name="email" value="${email}">
<button class="button second">${messages.sign.resend}</button>
</form>`,
  });
}

/** `proof` ties the answer to this session and to what was shown. */
export function askPage(
  frame: ConsentFrame,
  { name, operated_by, scopes }: Asking,
  shown: { email: string; host: string; proof: string; again: boolean },
): Html {
  const { messages, config, to, refused } = frame;
  const words = messages.consent.ask;
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
  const words = frame.messages.consent.done;
  return layout(frame, {
    title: words.title(name),
    body: html`<p>${words.text}</p>
<div class="actions"><a class="button" href="${url}" rel="noreferrer">${words.onward(name)}</a></div>`,
  });
}
