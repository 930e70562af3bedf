import { ACCOUNT_HOLDER, payoutAccount } from "#shared/domain/partner_settings.ts";
import { longMoment } from "../../kit/document.ts";
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

const PAGE = "/settings/account";

export const showAccount = signedIn(async (request) => {
  const news = request.news();
  return request.pageOf(accountPage(request.frame, await request.own("read_portal_settings"), news), news);
});

export const saveAccount = signedIn(async (request) => {
  const { form, environment, locale } = request;
  const words = WORDS[locale].settings.account.errors;
  const holder = ACCOUNT_HOLDER.safeParse(form.get("account_holder") ?? "");
  const sent = { iban: form.get("iban") ?? "", account_holder: holder.data ?? "" };
  const account = await payoutAccount(environment, sent, () => request.tenant());
  if (!account || !holder.success) {
    return request.refuse(PAGE, {
      ...(account ? {} : { iban: words.iban }),
      ...(holder.success ? {} : { account_holder: words.account_holder }),
    });
  }
  const { refused } = await request.attempt(request.own("set_partner_iban", account), ["recent_sign_in_required"]);
  return refused ? request.codeBefore(PAGE) : request.told(PAGE, "saved");
});

function accountPage(frame: PortalFrame, settings: Settings, { typed, errors }: Returned): Html {
  const words = WORDS[frame.locale].settings.account;
  const { who, partner, iban_held_until } = settings;
  const { iban_masked, account_holder } = partner.payout;
  return settingPage(frame, who, {
    title: words.title,
    errors,
    body: html`${newsOf(typed.get("news") === "saved" ? words.saved : undefined)}
<div class="beside"><section>${
      iban_masked
        ? html`<dl>
<div><dt>${words.iban}</dt><dd>${iban_masked}</dd></div>
<div><dt>${words.account_holder}</dt><dd>${account_holder}</dd></div>
</dl>`
        : html`<p>${words.none}</p>`
    }
${iban_held_until ? html`<p class="panel waits">${words.held(longMoment(iban_held_until, frame.words))}</p>` : ""}
<p>${words.what}</p></section>
<section><h2>${iban_masked ? words.change : words.add}</h2>
${codeFirst(frame, settings)}
<form method="post" action="${frame.to(PAGE)}" novalidate>
${formToken(frame.form_token)}
${textInput({ id: "iban", label: words.iban, hint: words.iban_hint, error: errors.iban, value: typed.get("iban"), required: true, attributes: html` autocomplete="off" maxlength="42" autocapitalize="characters" spellcheck="false" data-group="4"` })}
${textInput({ id: "account_holder", label: words.account_holder, hint: words.account_holder_hint, error: errors.account_holder, value: typed.get("account_holder") ?? account_holder, required: true, attributes: html` autocomplete="off" maxlength="120"` })}
<div class="actions"><button class="button">${words.submit}</button></div>
</form></section></div>`,
  });
}
