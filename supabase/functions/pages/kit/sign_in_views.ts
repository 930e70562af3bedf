import { codeInput, textInput } from "./fields.ts";
import { type Frame, type Html, layout } from "./frame.ts";
import { html } from "./html.ts";

/** By the ids of the fields; `login` is the address beside the password. */
export type SignInErrors = { email?: string | undefined; login?: string | undefined; password?: string | undefined };

/** What a page to sign in on shows of this browser; `notice`: what became of the form before, if it did not do what it should. */
export type SignInShown = { form_token: string; email: string; errors: SignInErrors; notice: "again" | "lost" | null };

/** `why` comes first; `instead` is what else one may do than sign in. */
export function signInPage(
  frame: Frame,
  { form_token, email, errors, notice }: SignInShown,
  why: Html,
  instead: Html = html``,
): Html {
  const { to } = frame;
  const { sign_in: words } = frame.words;
  return layout(frame, {
    title: words.title,
    errors,
    body: html`${notice ? html`<p class="panel waits" role="alert">${words[notice]}</p>` : ""}
${why}
<form method="post" action="${to("/mail-code")}" novalidate>
${formToken(form_token)}
${addressInput("email", words.email, words.how, email, errors.email)}
<div class="actions">
<button class="button">${words.mail_code}</button>
${instead}
</div>
</form>
<details${errors.login || errors.password ? html` open` : ""}>
<summary>${words.by_password}</summary>
<form method="post" action="${to("/sign-in")}" novalidate>
${formToken(form_token)}
${addressInput("login", words.email, undefined, email, errors.login)}
${textInput({
  id: "password",
  type: "password",
  label: words.password,
  error: errors.password,
  required: true,
  attributes: html` autocomplete="current-password"`,
})}
<button class="button second">${words.submit}</button>
</form>
</details>`,
  });
}

/** Two forms have it: in one form, Enter in the field of the password would press the button that mails a code. */
function addressInput(
  id: string,
  label: string,
  hint: string | undefined,
  value: string,
  error: string | undefined,
): Html {
  return textInput({
    id,
    name: "email",
    type: "email",
    label,
    hint,
    error,
    value,
    required: true,
    attributes: html` autocomplete="username" maxlength="254" autocapitalize="none" spellcheck="false"`,
  });
}

/** `why`: the reader is signed in, and told why a code is asked all the same. */
export type CodeShown = {
  form_token: string;
  email: string;
  error: string | undefined;
  back: string;
  why: string | null;
};

/** The same for every address: whether there is a login behind it is nobody's to know. */
export function codePage(frame: Frame, { form_token, email, error, back, why }: CodeShown): Html {
  const { to } = frame;
  const { code, sign_in } = frame.words;
  const words = sign_in.code;
  return layout(frame, {
    title: words.title,
    errors: { code: error },
    body: html`${why ? html`<p>${why}</p>` : html`<p>${words.sent(email)}</p>`}
<form method="post" action="${to("/code")}" novalidate>
${formToken(form_token)}
${codeInput({ label: code.label, hint: words.hint, error })}
<div class="actions">
<button class="button">${why ? words.confirm : sign_in.submit}</button>
<a class="link" href="${back}">${why ? frame.words.back : words.back}</a>
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

export const formToken = (value: string): Html => html`<input type="hidden" name="form_token" value="${value}">`;
