import type { Brand } from "#shared/domain/answers.ts";
import { shadesOf } from "#shared/domain/brand.ts";
import { fileInput, textInput } from "../../kit/fields.ts";
import { type Html, showLogo, showSender } from "../../kit/frame.ts";
import { html } from "../../kit/html.ts";
import type { Returned } from "../../kit/returned.ts";
import { formToken } from "../../kit/sign_in_views.ts";
import { newsOf } from "../../kit/signed_in_views.ts";
import type { Branding, Who } from "../model.ts";
import type { PortalFrame } from "../request.ts";
import { askTwicePage, settingPage } from "../settings/frame.ts";
import { PATH } from "../sql.ts";
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
  // what was typed is previewed before it is saved
  const color = typed.get("primary_color") ?? branding.primary_color ?? "";
  const shown: Brand = { ...brand, name: typed.get("display_name") || brand.name };
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
    style: `${PATH}${BRANDING_PAGE}/preview.css?${new URLSearchParams({ color: colorOf(color) })}`,
    body: html`${newsOf(news && words[news])}
<p>${words.what(frame.config.SERVICE_NAME)}</p>
<div class="beside"><div><section aria-labelledby="look"><h2 id="look">${words.look}</h2>
<form method="post" action="${frame.to(BRANDING_PAGE)}" novalidate>
${formToken(frame.form_token)}
${input("display_name", words.hints.display_name(who.partner_name), html` autocomplete="organization" maxlength="120"`)}
${input("primary_color", words.hints.primary_color, html` autocomplete="off" maxlength="7" spellcheck="false" data-color="${words.pick}"`)}
${input("reply_to", words.hints.reply_to, html` autocomplete="email" maxlength="254" spellcheck="false"`, "email")}
<div class="actions"><button class="button">${words.submit}</button><button class="button second" name="look" value="yes">${words.try}</button></div>
</form></section>
<section aria-labelledby="logo-title"><h2 id="logo-title">${words.logo}</h2>
<p>${brand.logo ? words.has_logo : words.no_logo}</p>
<form method="post" action="${frame.to(`${BRANDING_PAGE}/logo`)}" enctype="multipart/form-data" novalidate>
${formToken(frame.form_token)}
${fileInput({ id: "logo", label: words.file, hint: words.file_hint, error: errors.logo, accept: "image/png,.png" })}
<div class="actions"><button class="button">${words.upload}</button>
${brand.logo ? html`<a class="link" href="${frame.to(`${BRANDING_PAGE}/logo/remove`)}">${words.remove}</a>` : ""}</div>
</form></section></div>
<section aria-labelledby="preview"><h2 id="preview">${words.preview}</h2>
<p data-color-said>${sayColor(frame, colorOf(color))}</p>
${preview(frame, shown, "light")}
${preview(frame, shown, "dark")}</section></div>`,
  });
}

/** How a color is used, in words. */
function sayColor(frame: PortalFrame, color: string): string {
  const words = WORDS[frame.locale].branding.colors;
  const shades = shadesOf(color);
  if (!shades) return words.none;
  const { light, dark } = shades;
  const links =
    light.accent === light.fill
      ? words.links.lighter_on_dark
      : dark.accent === dark.fill
        ? words.links.darker_on_light
        : words.links.both;
  return `${words.button[light.on_fill === "#ffffff" ? "white" : "black"]} ${links}`;
}

/** A color as people write it: without #, or with three digits. */
export function colorOf(typed: string): string {
  const [, digits = ""] = /^#?((?:[0-9a-f]{3}){1,2})$/i.exec(typed) ?? [];
  if (!digits) return typed;
  return `#${digits.length === 3 ? digits.replace(/./g, "$&$&") : digits}`;
}

/** The head, a button and a link of a page, and the head of a mail. */
function preview(frame: PortalFrame, brand: Brand, ground: "light" | "dark"): Html {
  const words = WORDS[frame.locale].branding;
  return html`<figure class="preview on-${ground}">
<figcaption>${words.on[ground]}</figcaption>
<p class="service">${showSender(brand, frame)}</p>
<p class="actions"><span class="button">${words.sample_button}</span><a class="link" href="#preview">${words.sample_link}</a></p>
<div class="letter"><p>${brand.logo ? showLogo(brand.name, brand.logo, frame.root) : brand.name}</p><p>${words.sample_letter}</p></div>
</figure>`;
}

export function removeLogoPage(frame: PortalFrame, who: Who): Html {
  const words = WORDS[frame.locale].branding.removing;
  return askTwicePage(frame, who, words, `${BRANDING_PAGE}/logo/remove`, {}, BRANDING_PAGE);
}
