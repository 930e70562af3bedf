import type { Html, Page } from "../../kit/frame.ts";
import { html } from "../../kit/html.ts";
import { type AskedTwice, askTwiceBody } from "../../kit/signed_in_views.ts";
import { portalPage } from "../frame.ts";
import type { Who } from "../model.ts";
import type { PortalFrame } from "../visit.ts";
import { WORDS } from "../words.ts";

/** One page of the settings, with the way back to all of them. */
export function settingPage(frame: PortalFrame, who: Who, { body, ...page }: Page): Html {
  return portalPage(frame, "/settings", who, {
    ...page,
    body: html`${body}
<p class="apart"><a class="link" href="${frame.to("/settings")}">${WORDS[frame.locale].settings.back}</a></p>`,
  });
}

/** Asks once more before `page` does it; `back` is where "no" leads. */
export function askTwicePage(
  frame: PortalFrame,
  who: Who,
  asked: AskedTwice,
  page: string,
  fields: Record<string, string>,
  back: string,
): Html {
  return portalPage(frame, "/settings", who, {
    title: asked.title,
    body: askTwiceBody(frame, asked, page, fields, back),
  });
}

/** Shown instead of a form that needs a recent sign-in: why, and where to sign in again. */
export function signInAgain(frame: PortalFrame, page: string): Html {
  const words = WORDS[frame.locale].settings.sign_in_again;
  return html`<div class="panel"><p>${words.why}</p>
<p><a class="link" href="${frame.to("/sign-in", { to: page })}">${words.link}</a></p></div>`;
}
