import type { Brand } from "#shared/domain/brand.ts";
import { fileInput, textInput } from "../../kit/fields.ts";
import { type Html, showLogo, showSender } from "../../kit/frame.ts";
import { html } from "../../kit/html.ts";
import type { Returned } from "../../kit/returned.ts";
import { formToken } from "../../kit/sign_in_views.ts";
import { newsOf } from "../../kit/signed_in_views.ts";
import type { Branding, Who } from "../model.ts";
import { askTwicePage, settingPage } from "../settings/frame.ts";
import { PATH } from "../sql.ts";
import type { PortalFrame } from "../visit.ts";
import { WORDS } from "../words.ts";

export const BRANDING_PAGE = "/settings/branding";
/** What is typed; the logo is a form of its own. */
export const FIELDS = ["display_name", "primary_color", "reply_to"] as const;

const NEWS = ["saved", "logo_saved", "removed"] as const;

/** How a partner looks to its customers, and the forms that change it. */
export function brandingPage(
  frame: PortalFrame,
  { who, branding, brand }: Branding,
  { typed, errors }: Returned,
): Html {
  const words = WORDS[frame.locale].branding;
  const news = NEWS.find((each) => each === typed.get("news"));
  const input = (id: (typeof FIELDS)[number], hint: string, attributes: Html, type: "text" | "email" = "text") =>
    textInput({
      id,
      type,
      label: words.fields[id],
      hint,
      error: errors[id],
      value: typed.get(id) ?? branding[id],
      attributes,
    });
  return settingPage(frame, who, {
    title: words.title,
    errors,
    style: `${PATH}${BRANDING_PAGE}/preview.css?${new URLSearchParams({ light: brand.light ?? "", dark: brand.dark ?? "" })}`,
    body: html`${newsOf(news && words[news])}
<p>${words.what(frame.config.SERVICE_NAME)}</p>
<section aria-labelledby="preview"><h2 id="preview">${words.preview}</h2>
<p>${words.colours[usedOn(branding.primary_color, brand)]}</p>
${preview(frame, brand, "light")}
${preview(frame, brand, "dark")}</section>
<section aria-labelledby="logo-title"><h2 id="logo-title">${words.logo}</h2>
<p>${brand.logo ? words.has_logo : words.no_logo}</p>
<form method="post" action="${frame.to(`${BRANDING_PAGE}/logo`)}" enctype="multipart/form-data" novalidate>
${formToken(frame.form_token)}
${fileInput({ id: "logo", label: words.file, hint: words.file_hint, error: errors.logo, accept: "image/png,.png" })}
<div class="actions"><button class="button">${words.upload}</button>
${brand.logo ? html`<a class="link" href="${frame.to(`${BRANDING_PAGE}/logo/remove`)}">${words.remove}</a>` : ""}</div>
</form></section>
<section aria-labelledby="look"><h2 id="look">${words.look}</h2>
<form method="post" action="${frame.to(BRANDING_PAGE)}" novalidate>
${formToken(frame.form_token)}
${input("display_name", words.hints.display_name(who.partner_name), html` autocomplete="organization" maxlength="120"`)}
${input("primary_color", words.hints.primary_color, html` autocomplete="off" maxlength="7" spellcheck="false"`)}
${input("reply_to", words.hints.reply_to, html` autocomplete="email" maxlength="254" spellcheck="false"`, "email")}
<div class="actions"><button class="button">${words.submit}</button></div>
</form></section>`,
  });
}

/** On which grounds a colour is used. */
function usedOn(color: string | null, { light, dark }: Brand): "none" | "both" | "light" | "dark" | "neither" {
  if (!color) return "none";
  if (light && dark) return "both";
  if (light) return "light";
  return dark ? "dark" : "neither";
}

/** The head and a button of a page, and the head of a mail. */
function preview(frame: PortalFrame, brand: Brand, ground: "light" | "dark"): Html {
  const words = WORDS[frame.locale].branding;
  return html`<figure class="preview on-${ground}">
<figcaption>${words.on[ground]}</figcaption>
<p class="service">${showSender(brand, frame)}</p>
<p class="actions"><span class="button">${words.sample_button}</span></p>
<div class="letter"><p>${brand.logo ? showLogo(brand.name, brand.logo, frame.root) : brand.name}</p><p>${words.sample_letter}</p></div>
</figure>`;
}

export function removeLogoPage(frame: PortalFrame, who: Who): Html {
  const words = WORDS[frame.locale].branding.removing;
  return askTwicePage(frame, who, words, `${BRANDING_PAGE}/logo/remove`, {}, BRANDING_PAGE);
}
