import { hashSecret } from "#shared/auth/tokens.ts";
import type { OpenFacts, Period, Signed } from "#shared/domain/answers.ts";
import { type Facts, longDate } from "#shared/domain/mandate_text/mandate_text.ts";
import { readMandateText } from "#shared/domain/mandate_text/read_text.ts";
import { signatoryName } from "#shared/values/fields.ts";
import type { Locale } from "#shared/values/locale.ts";
import { readCode } from "./code.ts";
import { longMoment, showDocument } from "./document.ts";
import { codeInput, textInput, tick } from "./fields.ts";
import { type Errors, type Frame, type Html, layout, type Place } from "./frame.ts";
import { html } from "./html.ts";
import type { PageAnswer, PageRequest } from "./page_request.ts";
import type { Returned } from "./returned.ts";
import { kindPage, maskEmail, onward } from "./views.ts";
import type { KitWords } from "./words.ts";

/**
 * Signing a mandate, whatever led to it: `to` knows the pages "" (the mandate), "/sign" and "/code". `within` is the claim that
 * signing is the last step of, where it is: its form token, and no declining but by going away. Without, there is "/decline".
 */
export type SigningFrame = Frame & { place: Place | undefined; within?: { form_token: string } };

/** What may be signed: the same facts for each of the periods. */
export function choicesOf(facts: OpenFacts, periods: readonly Period[]): Facts[] {
  return periods.map((period) => ({ ...facts, ...period }));
}

/** Which facts were read, whatever the language: they must still be the same when they are signed. */
export function versionOf(facts: Facts): string {
  return hashSecret(JSON.stringify(facts)).slice(0, 16);
}

/** Before a code was mailed: nothing is mailed until the signatory asks, for mail scanners open links too. */
export function askCodePage(frame: SigningFrame, facts: Facts, seen: string): Html {
  const { to, place, within } = frame;
  const words = frame.words.ask_code;
  return layout(frame, {
    title: words.title,
    place,
    body: html`<p>${words.to}</p>
<p class="panel address">${maskEmail(facts.email ?? "")}</p>
<p>${words.why}</p>
${within ? "" : html`<p class="quiet">${words.wrong(facts.partner_name)}</p>`}
<form method="post" action="${to("/code")}">
${hiddenFields(frame, seen)}
<div class="actions">
<button class="button">${words.send}</button>
<a class="link" href="${to("", { years: String(facts.validity_years) })}">${frame.words.back}</a>
</div>
</form>`,
  });
}

/** Code, name, tick. `returned` is what came in and could not be used yet. */
export function signPage(
  frame: SigningFrame,
  facts: Facts,
  document: string,
  seen: string,
  { typed, errors }: Returned = { typed: new URLSearchParams(), errors: {} },
): Html {
  const { to, place, within, words } = frame;
  const { sign, code } = words;
  const company = facts.type === "particulier" ? undefined : facts.company_name;
  return layout(frame, {
    title: sign.title,
    place,
    errors,
    body: html`<p><strong>${words.period.signs_for(longDate(facts.valid_from, words), longDate(facts.valid_until, words))}</strong></p>
${facts.email === null ? html`<p>${sign.no_email}</p>` : ""}
<details>
<summary>${sign.again}</summary>
${showDocument(document, words.lang)}
</details>
<form method="post" action="${to("/sign")}" novalidate>
${hiddenFields(frame, seen)}
${facts.email === null ? "" : codeInput({ label: code.label, hint: code.hint(maskEmail(facts.email)), error: errors.code, value: typed.get("code") })}
${textInput({
  id: "name",
  label: sign.name,
  hint: sign.name_hint,
  error: errors.name,
  value: typed.get("name"),
  required: true,
  attributes: html` autocomplete="name" maxlength="120" autocapitalize="words" spellcheck="false"`,
})}
${tick({ id: "agree", label: sign.agree, error: errors.agree, checked: typed.has("agree") })}
${company === undefined ? "" : tick({ id: "authority", label: sign.authority(company), error: errors.authority, checked: typed.has("authority") })}
<div class="actions">
<button class="button">${sign.submit}</button>
<a class="link" href="${to("", { years: String(facts.validity_years) })}">${words.back}</a>
${within ? "" : html`<a class="link" href="${to("/decline")}">${words.read.decline}</a>`}
</div>
</form>
${
  facts.email === null
    ? ""
    : html`<form class="sheet" method="post" action="${to("/code")}">
<h2>${code.no_code}</h2>
<p class="quiet">${code.no_code_help}</p>
${hiddenFields(frame, seen)}
<button class="button second">${code.resend}</button>
</form>`
}`,
  });
}

const hiddenFields = ({ within }: SigningFrame, seen: string) =>
  html`<input type="hidden" name="seen" value="${seen}">${within ? html`<input type="hidden" name="form_token" value="${within.form_token}">` : ""}`;

/** The facts have changed since the signatory read them. */
export function changedPage(frame: SigningFrame): Html {
  const { changed } = frame.words;
  return kindPage(frame, changed, onward(frame.to(""), changed.action));
}

/** The form of the signature, and what is wrong with it. */
export function readSignature(form: URLSearchParams, facts: OpenFacts, { sign, code: { errors } }: KitWords) {
  const code = readCode(form);
  const name = signatoryName().safeParse(form.get("name") ?? "");
  const wrong: Errors = {
    ...(facts.email !== null && code === null ? { code: errors.code_missing } : {}),
    ...(name.success ? {} : { name: sign.errors.name }),
    ...(form.has("agree") ? {} : { agree: sign.errors.agree }),
    ...(facts.type === "particulier" || form.has("authority") ? {} : { authority: sign.errors.authority }),
  };
  return { code: code ?? "", name: name.success ? name.data : null, errors: wrong };
}

/**
 * Until when the mandate holds, and what can be signed now: `action` renews a mandate that ends soon, or replaces one
 * that has ended.
 */
export function showValidity(
  { words }: Frame,
  signed: Signed,
  heldUntil: string | null,
  action: ((label: string) => Html) | null,
): Html {
  const { holds, renewed, renew, sign_again } = words.signed;
  const until = longDate(signed.valid_until, words);
  const said = signed.status === "signed" ? { ...renew, text: renew.text(until) } : sign_again;
  return html`${
    signed.status === "signed"
      ? html`<p>${holds(until)}${heldUntil && heldUntil > signed.valid_until ? html` ${renewed(longDate(heldUntil, words))}` : ""}</p>`
      : ""
  }${action ? html`<section class="sheet" aria-labelledby="renew"><h2 id="renew">${said.title}</h2><p>${said.text}</p>${action(said.action)}</section>` : ""}`;
}

/** Who signed, when, and how that was confirmed. */
function signatureOf({ signed_name, signed_at, code_sent_to }: Signed, words: KitWords): [string, string][] {
  const { signed } = words;
  return [
    [signed.signed_name, signed_name],
    [signed.signed_at, longMoment(signed_at, words)],
    [signed.confirmed, code_sent_to ? signed.by_code(maskEmail(code_sent_to)) : signed.by_name],
  ];
}

/** The signature under a text that was signed. */
function showSignature(signed: Signed, words: KitWords): Html {
  return html`<h2>${words.signed.signature}</h2>
<dl>${signatureOf(signed, words).map(([label, value]) => html`<div><dt>${label}</dt><dd>${value}</dd></div>`)}
<div><dt>${words.signed.fingerprint}</dt><dd class="fingerprint">${signed.document_sha256}</dd></div></dl>`;
}

/** What was signed, folded: its text with the signature under it. On paper it is unfolded. */
export function keptText({ words }: Frame, signed: Signed, label = words.sign.again): Html {
  return html`<details class="folded"><summary>${label}</summary>
${showDocument(signed.document, languageOf(signed.document))}
${showSignature(signed, words)}
</details>`;
}

/** The language somebody signed in, which need not be the language of the page. */
function languageOf(document: string): Locale {
  return readMandateText(document).locale;
}

/** The text as a file, to be kept: as it would be signed, or as it was, with the signature under it. */
export function asFile({ c, frame: { words } }: PageRequest, text: string | Signed): PageAnswer {
  const lines = typeof text === "string" ? text : signedText(text, words);
  return c.body(lines, 200, {
    "Content-Type": "text/plain; charset=utf-8",
    "Content-Disposition": `attachment; filename="${words.document.filename}"`,
  });
}

function signedText(signed: Signed, words: KitWords): string {
  const signature = [...signatureOf(signed, words), [words.signed.fingerprint, signed.document_sha256]];
  const lines = signature.map(([label, value]) => `${label}: ${value}`);
  return `${signed.document}\n\n----\n${lines.join("\n")}\n`;
}
