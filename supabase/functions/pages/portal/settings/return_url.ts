import { inAsciiHost } from "#shared/values/return_root.ts";
import { storable } from "#shared/values/text.ts";
import { textInput } from "../../kit/fields.ts";
import type { Html } from "../../kit/frame.ts";
import { html } from "../../kit/html.ts";
import type { Returned } from "../../kit/returned.ts";
import { formToken } from "../../kit/sign_in_views.ts";
import { newsOf } from "../../kit/signed_in_views.ts";
import type { Settings } from "../model.ts";
import { type PortalFrame, signedIn } from "../request.ts";
import { WORDS } from "../words.ts";
import { codeFirst, settingPage } from "./frame.ts";

const PAGE = "/settings/return";

export const showReturn = signedIn(async (request) => {
  const news = request.news();
  return request.pageOf(returnPage(request.frame, await request.own("read_portal_settings"), news), news);
});

export const saveReturn = signedIn(async (request) => {
  const return_url = inAsciiHost(storable((request.form.get("return_url") ?? "").trim()));
  const setting = request.own("set_partner_return_url", { return_url });
  const { answer, refused } = await request.attempt(setting, ["recent_sign_in_required"]);
  if (refused) return request.codeBefore(PAGE);
  if (answer.ok) return request.told(PAGE, return_url ? "saved" : "cleared");
  return request.refuse(PAGE, { return_url: WORDS[request.locale].settings.return_url.errors.return_url });
});

function returnPage(frame: PortalFrame, settings: Settings, { typed, errors }: Returned): Html {
  const words = WORDS[frame.locale].settings.return_url;
  const { who, partner } = settings;
  const news = { saved: words.saved, cleared: words.cleared }[typed.get("news") ?? ""];
  return settingPage(frame, who, {
    title: words.title,
    errors,
    body: html`${newsOf(news)}
<p>${words.what}</p>
<p>${words.below}</p>
<dl><div><dt>${words.now}</dt><dd>${partner.return_url ?? words.none}</dd></div></dl>
${codeFirst(frame, settings)}
<form method="post" action="${frame.to(PAGE)}" novalidate>
${formToken(frame.form_token)}
${textInput({ id: "return_url", label: words.label, hint: words.hint, error: errors.return_url, value: typed.get("return_url") ?? partner.return_url, attributes: html` autocomplete="off" inputmode="url" autocapitalize="none" spellcheck="false" maxlength="500"` })}
<div class="actions"><button class="button">${words.submit}</button></div>
</form>`,
  });
}
