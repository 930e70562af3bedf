import { type Html, layout } from "../kit/frame.ts";
import { html } from "../kit/html.ts";
import { formToken } from "../kit/sign_in_views.ts";
import type { OwnFrame } from "../kit/signed_in.ts";
import { WORDS } from "./words.ts";

/** For who is signed in and manages no partner. */
export function notTheirsPage(frame: OwnFrame): Html {
  const words = WORDS[frame.locale].not_theirs;
  return layout(frame, {
    title: words.title,
    body: html`<p>${words.why}</p>
<form class="signed-in" method="post" action="${frame.to("/sign-out")}">
${formToken(frame.form_token)}
<button class="button second">${frame.words.sign_in.sign_out}</button>
</form>`,
  });
}
