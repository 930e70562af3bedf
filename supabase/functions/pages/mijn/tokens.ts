import { longDate } from "#shared/domain/mandate_text/mandate_text.ts";
import { PERSONAL_SCOPES } from "#shared/values/scopes.ts";
import { radios, textInput } from "../kit/fields.ts";
import type { Html } from "../kit/frame.ts";
import { html } from "../kit/html.ts";
import { empty } from "../kit/parts/empty.ts";
import type { Returned } from "../kit/returned.ts";
import { formToken } from "../kit/sign_in_views.ts";
import { doButton, doneOf, onceField, shownOnce } from "../kit/signed_in_views.ts";
import { ownPage } from "./frame.ts";
import type { Token, Tokens } from "./model.ts";
import type { MijnFrame } from "./request.ts";
import { WORDS } from "./words.ts";

/** How long a token may last, in days. */
export const LASTS = ["30", "365", "never"] as const;

/** The tokens, and a form for one more. `typed` has the new one, once. */
export function tokensPage(frame: MijnFrame, { email, tokens }: Tokens, { typed, errors }: Returned): Html {
  const words = WORDS[frame.locale].tokens;
  const secret = typed.get("secret");
  return ownPage(frame, "/tokens", email, {
    title: words.title,
    errors,
    body: html`${doneOf(typed.get("news") === "revoked" ? words.revoked : undefined)}
${shownOnce(words.new_title, words.new_once, secret)}
<p>${words.what}</p>
<div class="beside"><section><h2>${words.yours}</h2>
${tokens.length === 0 ? empty("gear", words.none) : html`<div class="cards">${tokens.map((token) => one(frame, token))}</div>`}</section>
<section><h2>${words.create}</h2>
<form method="post" action="${frame.to("/tokens")}" novalidate>
${formToken(frame.form_token)}${onceField()}
${textInput({ id: "name", label: words.name, hint: words.name_hint, error: errors.name, value: typed.get("name"), required: true, attributes: html` maxlength="100" autocomplete="off"` })}
<fieldset${errors.scopes ? html` aria-describedby="scopes-error"` : ""}>
<legend>${words.scopes}</legend>
${errors.scopes ? html`<p class="wrong" id="scopes-error">${errors.scopes}</p>` : ""}
${PERSONAL_SCOPES.map(
  (scope, index) =>
    html`<label class="choice"><input type="checkbox"${index === 0 ? html` id="scopes"` : ""} name="scope" value="${scope}"${typed.getAll("scope").includes(scope) ? html` checked` : ""}><span>${frame.words.scopes[scope]}</span></label>`,
)}
</fieldset>
${radios({
  id: "expires",
  label: words.expires,
  error: errors.expires,
  value: typed.get("expires") ?? "365",
  options: LASTS.map((value) => ({
    value,
    label: words.lasts[value],
    ...(value === "never" ? { hint: words.never_hint } : {}),
  })),
})}
<div class="actions"><button class="button">${words.submit}</button></div>
</form></section></div>`,
  });
}

function one(frame: MijnFrame, token: Token): Html {
  const words = WORDS[frame.locale].tokens;
  const day = (moment: string | null, otherwise: string) => (moment ? longDate(moment, frame.words) : otherwise);
  return html`<section class="sheet" aria-label="${token.name}"><h3>${token.name} <small class="quiet">${words.ends_in(token.last4)}</small></h3>
<dl>
<div><dt>${words.may}</dt><dd>${token.scopes.map((scope) => html`${frame.words.scopes[scope]}<br>`)}</dd></div>
<div><dt>${words.made}</dt><dd>${day(token.created_at, "")}</dd></div>
<div><dt>${words.used}</dt><dd>${day(token.last_used_at, words.never_used)}</dd></div>
<div><dt>${words.until}</dt><dd>${day(token.expires_at, words.forever)}</dd></div>
</dl>
${doButton(frame, "/tokens/revoke", { token: token.id }, words.revoke(token.name))}</section>`;
}
