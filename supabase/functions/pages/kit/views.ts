import { type Frame, type Html, layout } from "./frame.ts";
import { html } from "./html.ts";
import { icon } from "./parts/icons.ts";
import type { KitWords } from "./words.ts";

export { maskEmail } from "#shared/values/mask.ts";

/**
 * A page that only says what happened and what to do. It has no personal data, so anybody may read it. `after` is what
 * more there is to it.
 */
export function kindPage(
  frame: Frame,
  { title, text, help }: { title: string; text: string; help?: string },
  after: Html = html``,
): Html {
  return layout(frame, {
    title,
    body: html`<p>${text}</p>${help ? html`<p>${help}</p>` : ""}${after}`,
  });
}

/** Somebody asks for more codes than we mail. `href` leads to where a code is typed: an earlier one may still work. */
export function tooManyCodesPage(frame: Frame, seconds: number, href: string, label = frame.words.back): Html {
  const { too_many_codes, retry_in } = frame.words;
  return kindPage(frame, too_many_codes, html`<p>${retry_in(seconds)}</p>${onward(href, label)}`);
}

/** The last click of what cannot be undone, and beside it the way back: alike wherever somebody is asked once more. */
export const lastClick = (yes: string, back: string, no: string): Html =>
  html`<button class="button">${yes}</button><a class="link" href="${back}">${no}</a>`;

export const onward = (href: string, label: string): Html =>
  html`<div class="actions"><a class="button" href="${href}">${label}</a></div>`;

/** Back to the partner: a link, never a redirect; only to a web address, whatever was registered. */
export function returnLink(words: KitWords, partner: string, return_url: string | null): Html | "" {
  if (!return_url || !/^https?:\/\//i.test(return_url)) return "";
  return html`<div class="actions"><a class="button second" href="${return_url}" rel="noreferrer">${words.return_to(partner)}</a></div>`;
}

/** What was signed, to keep as PDF and as text. */
export const saveLinks = ({ to, words }: Frame, query: Record<string, string> = {}): Html =>
  html`<p class="save"><a class="link" href="${to("/pdf", query)}">${icon("pdf")} ${words.signed.save_pdf}</a> <a class="link" href="${to("/document", query)}">${icon("pdf")} ${words.read.save}</a></p>`;
