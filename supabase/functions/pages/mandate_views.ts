import { html } from "hono/html";
import { type Facts, longDate } from "#shared/domain/mandate_text/mandate_text.ts";
import { longMoment, showDocument } from "./document.ts";
import { type Frame, type Html, layout, type Page } from "./layout.ts";
import { type Locale, MESSAGES, type Messages } from "./messages.ts";

/**
 * A page of one mandate link: `to` gives the path of another step, in the same language. `within` is the claim that signing is
 * the last step of, where it is: its own steps, its form token, and no declining but by going away.
 */
export type MandateFrame = Frame & {
  to: (step: Step, query?: Record<string, string>) => string;
  within?: { steps: readonly string[]; step: number; form_token: string };
};
export type Step = "" | "/sign" | "/code" | "/decline" | "/document";

/** What was signed, as api.open_mandate_link tells it. */
export type Signed = {
  status: "signed" | "revoked" | "expired";
  document: string;
  document_sha256: string;
  signed_name: string;
  signed_at: string;
  code_sent_to: string | null;
  valid_from: string;
  valid_until: string;
};

export type SignErrors = { [field in "code" | "name" | "agree" | "authority"]?: string };
export type Typed = { name: string; agree: boolean; authority: boolean };

/** Step 1: the mandate in full, before anything is asked. */
export function readPage(frame: MandateFrame, facts: Facts, document: string, seen: string): Html {
  const { messages, config, to } = frame;
  const words = messages.read;
  return layout(frame, {
    title: words.title,
    step: 0,
    body: html`<p class="lead"><strong>${words.who(facts.partner_name)}</strong></p>
<p>${words.why(facts.partner_name, config.SERVICE_NAME)}</p>
<p>${words.how(facts.email !== null)}</p>
${showDocument(document, messages.lang)}
<p class="quiet">${words.wrong(facts.partner_name)}</p>
<p class="save"><a class="link" href="${to("/document")}">${words.save}</a></p>
<div class="actions">
<a class="button" href="${to("/sign", { seen })}">${words.continue}</a>
<a class="link" href="${to("/decline")}">${words.decline}</a>
</div>`,
  });
}

/** Step 2, first half: nothing is mailed until the signatory asks, for mail scanners open links too. */
export function askCodePage(frame: MandateFrame, facts: Facts, seen: string): Html {
  const { messages, to } = frame;
  const words = messages.ask_code;
  return layout(frame, {
    title: words.title,
    ...(frame.within ?? { step: 1 }),
    body: html`<p>${words.to}</p>
<p class="panel address">${maskEmail(facts.email ?? "")}</p>
<p>${words.why}</p>
${frame.within ? "" : html`<p class="quiet">${words.wrong(facts.partner_name)}</p>`}
<form method="post" action="${to("/code")}">
${hiddenFields(frame, seen)}
<div class="actions">
<button class="button">${words.send}</button>
<a class="link" href="${to("")}">${messages.back}</a>
</div>
</form>`,
  });
}

/** Step 2, second half: code, name, tick. `typed` is what came in and could not be used yet. */
export function signPage(
  frame: MandateFrame,
  facts: Facts,
  document: string,
  seen: string,
  typed: Typed = { name: "", agree: false, authority: false },
  errors: SignErrors = {},
): Html {
  const { messages, to } = frame;
  const words = messages.sign;
  const company = facts.type === "particulier" ? undefined : facts.company_name;
  return layout(frame, {
    title: words.title,
    ...(frame.within ?? { step: 1 }),
    errors: (["code", "name", "agree", "authority"] as const).flatMap((id) => {
      const message = errors[id];
      return message ? [{ id, message }] : [];
    }),
    body: html`${facts.email === null ? html`<p>${words.no_email}</p>` : ""}
<details>
<summary>${words.again}</summary>
${showDocument(document, messages.lang)}
</details>
<form method="post" action="${to("/sign")}" novalidate>
${hiddenFields(frame, seen)}
${
  facts.email === null
    ? ""
    : textField({
        id: "code",
        label: words.code,
        hint: words.code_hint(maskEmail(facts.email)),
        error: errors.code,
        attributes: html` class="code" autocomplete="one-time-code" inputmode="numeric" maxlength="9" spellcheck="false"`,
      })
}
${textField({
  id: "name",
  label: words.name,
  hint: words.name_hint,
  error: errors.name,
  attributes: html` autocomplete="name" maxlength="120" autocapitalize="words" spellcheck="false" value="${typed.name}"`,
})}
${tick({ id: "agree", label: words.agree, error: errors.agree, checked: typed.agree })}
${company === undefined ? "" : tick({ id: "authority", label: words.authority(company), error: errors.authority, checked: typed.authority })}
<div class="actions">
<button class="button">${words.submit}</button>
<a class="link" href="${to("")}">${messages.back}</a>
${frame.within ? "" : html`<a class="link" href="${to("/decline")}">${messages.read.decline}</a>`}
</div>
</form>
${
  facts.email === null
    ? ""
    : html`<form class="sheet" method="post" action="${to("/code")}">
<h2>${words.no_code}</h2>
<p class="quiet">${words.no_code_help}</p>
${hiddenFields(frame, seen)}
<button class="button second">${words.resend}</button>
</form>`
}`,
  });
}

/** Step 3, and what the link shows from then on. */
export function signedPage(frame: MandateFrame, signed: Signed, partner: string, return_url: string | null): Html {
  const { messages, config, to } = frame;
  const words = messages.signed;
  const ended = signed.status === "signed" ? null : words.ended[signed.status];
  return layout(frame, {
    title: words.title,
    step: 3,
    body: html`<div class="panel">
<p class="lead">${words.thanks(longDate(signed.signed_at, messages))}</p>
${ended ? html`<p><strong>${ended}</strong></p>` : ""}
${!ended && signed.code_sent_to ? html`<p>${words.mailed(maskEmail(signed.code_sent_to))}</p>` : ""}
</div>
${
  ended
    ? ""
    : html`<h2>${words.next_title}</h2>
<ul>${words.next(partner, config.SERVICE_NAME).map((line) => html`<li>${line}</li>`)}</ul>`
}
${returnLink(messages, partner, return_url)}
<h2>${words.keep}</h2>
<p>${words.keep_help}</p>
<p class="save"><a class="link" href="${to("/document")}">${messages.read.save}</a></p>
${showDocument(signed.document, languageOf(signed.document))}
<h2>${words.signature}</h2>
<dl>${signatureOf(signed, messages).map(([label, value]) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`)}
<div><dt>${words.fingerprint}</dt><dd class="fingerprint">${signed.document_sha256}</dd></div></dl>`,
  });
}

/** The language somebody signed in, which need not be the language of the page. */
export function languageOf(document: string): Locale {
  return document.startsWith(MESSAGES.en.document.title) ? "en" : "nl";
}

/** Who signed, when, and how that was confirmed. */
export function signatureOf(signed: Signed, messages: Messages): [string, string][] {
  const words = messages.signed;
  return [
    [words.signed_name, signed.signed_name],
    [words.signed_at, longMoment(signed.signed_at, messages)],
    [words.confirmed, signed.code_sent_to ? words.by_code(maskEmail(signed.code_sent_to)) : words.by_name],
  ];
}

export function declinePage(frame: MandateFrame, partner: string): Html {
  const { messages, to } = frame;
  const words = messages.decline;
  return layout(frame, {
    title: words.title,
    body: html`<p>${words.means(partner)}</p>
<p>${words.later}</p>
<form method="post" action="${to("/decline")}">
<div class="actions">
<button class="button second">${words.confirm}</button>
<a class="link" href="${to("")}">${words.back}</a>
</div>
</form>`,
  });
}

export function declinedPage(frame: MandateFrame, partner: string, return_url: string | null): Html {
  const { title, text } = frame.messages.declined;
  return layout(frame, {
    title,
    body: html`${paragraphs(text(partner))}${returnLink(frame.messages, partner, return_url)}`,
  });
}

type Kind = "unknown" | "expired" | "voided" | "too_many_requests" | "refused" | "failed" | "not_found";

/** A page that only says how things are and what to do: no personal data, whoever reads it. */
export function kindPage(frame: Frame, kind: Kind, more?: string): Html {
  const words: Page & { [word: string]: unknown } = { ...frame.messages[kind], body: html`` };
  return layout(frame, {
    title: words.title,
    body: html`${[words.text, words.help, more].map((line) => (typeof line === "string" ? html`<p>${line}</p>` : ""))}`,
  });
}

/** The facts are no longer those that were read. */
export function changedPage(frame: MandateFrame): Html {
  const { title, text, help, action } = frame.messages.changed;
  return layout(frame, { title, body: html`<p>${text}</p><p>${help}</p>${onward(frame.to(""), action)}` });
}

/** `href` leads to where a code is typed: an earlier one may still work. */
export function tooManyCodesPage(frame: Frame, seconds: number, href: string, label = frame.messages.back): Html {
  const { title, text } = frame.messages.too_many_codes;
  return layout(frame, {
    title,
    body: html`<p>${text}</p><p>${frame.messages.retry_in(seconds)}</p>${onward(href, label)}`,
  });
}

const hiddenFields = ({ within }: MandateFrame, seen: string) =>
  html`<input type="hidden" name="seen" value="${seen}">${within ? html`<input type="hidden" name="form_token" value="${within.form_token}">` : ""}`;

const onward = (href: string, label: string) =>
  html`<div class="actions"><a class="button" href="${href}">${label}</a></div>`;

const paragraphs = (text: string) => text.split("\n").map((line) => html`<p>${line}</p>`);

/** A link, never a redirect; only to a web address, whatever was registered. */
export function returnLink(messages: Messages, partner: string, return_url: string | null): Html | "" {
  if (!return_url || !/^https?:\/\//i.test(return_url)) return "";
  return html`<div class="actions"><a class="button second" href="${return_url}" rel="noreferrer">${messages.return_to(partner)}</a></div>`;
}

export function textField({
  id,
  label,
  hint,
  error,
  type = "text",
  attributes,
}: {
  id: string;
  label: string;
  hint?: string;
  error: string | undefined;
  type?: "text" | "email" | "password";
  attributes: Html;
}): Html {
  const described = [...(hint ? [`${id}-hint`] : []), ...(error ? [`${id}-error`] : [])].join(" ");
  return html`<div class="field">
<label for="${id}">${label}</label>
${hint ? html`<p class="hint" id="${id}-hint">${hint}</p>` : ""}
${error ? html`<p class="wrong" id="${id}-error">${error}</p>` : ""}
<input type="${type}" id="${id}" name="${id}" required${described ? html` aria-describedby="${described}"` : ""}${error ? html` aria-invalid="true"` : ""}${attributes}>
</div>`;
}

function tick({
  id,
  label,
  error,
  checked,
}: {
  id: string;
  label: string;
  error: string | undefined;
  checked: boolean;
}): Html {
  return html`<div class="tick">
${error ? html`<p class="wrong" id="${id}-error">${error}</p>` : ""}
<label for="${id}"><input type="checkbox" id="${id}" name="${id}" value="yes" required${checked ? html` checked` : ""}${error ? html` aria-invalid="true" aria-describedby="${id}-error"` : ""}><span>${label}</span></label>
</div>`;
}

/** Enough of an address to recognise it by. */
export function maskEmail(email: string): string {
  const at = email.lastIndexOf("@");
  return `${Array.from(email)[0] ?? ""}•••${email.slice(at)}`;
}
