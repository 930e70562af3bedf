import { codeInput, textInput } from "../../kit/fields.ts";
import { type Html, layout } from "../../kit/frame.ts";
import { html } from "../../kit/html.ts";
import type { Returned } from "../../kit/returned.ts";
import { formToken } from "../../kit/sign_in_views.ts";
import { newsOf, onceField, postForm, table } from "../../kit/signed_in_views.ts";
import { kindPage, onward } from "../../kit/views.ts";
import { shortDay } from "../days.ts";
import type { PortalFrame } from "../request.ts";
import { askTwicePage, codeFirst, settingPage } from "../settings/frame.ts";
import { WORDS } from "../words.ts";
import type { Colleagues, Invitation } from "./model.ts";

export const COLLEAGUES = "/settings/colleagues";

/** Who manages the partner, who was invited to, and the form that invites. */
export function colleaguesPage(frame: PortalFrame, colleagues: Colleagues, { typed, errors }: Returned): Html {
  const { who, own_id, managers, invitations } = colleagues;
  const words = WORDS[frame.locale].colleagues;
  const news = Object.entries(words.news).find(([name]) => name === typed.get("news"))?.[1];
  const alone = managers.length === 1;
  return settingPage(frame, who, {
    title: words.title,
    errors,
    body: html`${newsOf(news)}
<p>${words.what}</p>
${table(
  words.table,
  [words.email, words.since, words.last].map((name) => ({ name, text: true })),
  managers.map(({ user_id, email, since, last_sign_in_at }) => [
    html`${email}<small>${user_id === own_id ? words.you : ""} ${
      alone
        ? ""
        : html`<a href="${frame.to(`${COLLEAGUES}/${user_id}/remove`)}"${user_id === own_id ? "" : html` aria-label="${words.remove_whom(email)}"`}>${user_id === own_id ? words.leave : words.remove}</a>`
    }</small>`,
    shortDay(frame, since),
    last_sign_in_at ? shortDay(frame, last_sign_in_at) : words.never,
  ]),
  { blocks: true },
)}
<p class="quiet">${alone ? words.last_one : words.how_many(managers.length)}</p>
<div class="beside">${
      invitations.length > 0
        ? html`<section aria-labelledby="invited"><h2 id="invited">${words.invitations}</h2>
<ul class="pages">${invitations.map(
            ({ id, email, expires_at }) =>
              html`<li>${email}<small>${words.until(shortDay(frame, expires_at))}</small>${postForm(frame, `${COLLEAGUES}/withdraw`, { id }, html`<button class="button second" aria-label="${words.withdraw_whom(email)}">${words.withdraw}</button>`)}</li>`,
          )}</ul></section>`
        : ""
    }
<section aria-labelledby="invite"><h2 id="invite">${words.invite}</h2>
${codeFirst(frame, colleagues)}
<form method="post" action="${frame.to(COLLEAGUES)}" novalidate>
${formToken(frame.form_token)}${onceField()}
${textInput({
  id: "email",
  type: "email",
  label: words.email,
  hint: words.hint,
  error: errors.email,
  value: typed.get("email"),
  required: true,
  attributes: html` autocomplete="off" maxlength="254" autocapitalize="none" spellcheck="false"`,
})}
<div class="actions"><button class="button">${words.submit}</button></div>
</form></section></div>`,
  });
}

/** Asks whether somebody is to go. */
export function removePage(frame: PortalFrame, colleagues: Colleagues, id: string): Html {
  const { who, own_id, managers } = colleagues;
  const words = WORDS[frame.locale].colleagues;
  const email = managers.find(({ user_id }) => user_id === id)?.email ?? "";
  const asked = id === own_id ? words.leaving : { ...words.removing, title: words.removing.title(email) };
  const before = codeFirst(frame, colleagues);
  return askTwicePage(frame, who, asked, `${COLLEAGUES}/${id}/remove`, {}, COLLEAGUES, before);
}

/** What an open invitation is, and the button that mails a code; `other`: somebody is signed in here already. */
export function invitationPage(
  frame: PortalFrame,
  path: string,
  opened: Invitation,
  form_token: string,
  other: boolean,
): Html {
  const words = WORDS[frame.locale].invitation;
  return layout(frame, {
    title: words.title(opened.partner_name),
    body: html`<p class="lead">${words.invited(opened.partner_name, frame.config.SERVICE_NAME)}</p>
<p>${words.for(opened.email)}</p>
${other ? html`<p class="panel">${words.other}</p>` : ""}
<form method="post" action="${frame.to(`${path}/mail-code`)}">
${formToken(form_token)}
<div class="actions"><button class="button">${words.mail_code}</button></div>
</form>`,
  });
}

export function invitationCodePage(
  frame: PortalFrame,
  path: string,
  { email }: Invitation,
  form_token: string,
  error: string | undefined,
): Html {
  const { code } = frame.words;
  const words = WORDS[frame.locale].invitation;
  return layout(frame, {
    title: words.code_title,
    errors: { code: error },
    body: html`<p>${words.code_sent(email)}</p>
<form method="post" action="${frame.to(`${path}/code`)}" novalidate>
${formToken(form_token)}
${codeInput({ label: code.label, hint: words.code_hint, error })}
<div class="actions"><button class="button">${words.accept}</button></div>
</form>
<form class="sheet" method="post" action="${frame.to(`${path}/mail-code`)}">
<h2>${code.no_code}</h2>
${formToken(form_token)}
<button class="button second">${code.resend}</button>
</form>`,
  });
}

/** An invitation that does not work, or no longer. */
export function closedInvitationPage(frame: PortalFrame, state: "used" | "withdrawn" | "expired" | "elsewhere"): Html {
  const words = WORDS[frame.locale].invitation;
  return kindPage(frame, words[state], state === "used" ? onward(frame.to("/sign-in"), words.sign_in) : html``);
}
