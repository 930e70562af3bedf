import type { Html, Page } from "../../kit/frame.ts";
import { html } from "../../kit/html.ts";
import { type AskedTwice, askTwiceBody, inNumbers, newsOf } from "../../kit/signed_in_views.ts";
import { portalPage } from "../frame.ts";
import type { Who } from "../model.ts";
import type { PortalFrame } from "../request.ts";
import { WORDS } from "../words.ts";

/** One page of the settings, with the way back to all of them, or to the page above it. */
export function settingPage(frame: PortalFrame, who: Who, page: Page): Html {
  const up = { href: frame.to("/settings"), label: WORDS[frame.locale].settings.back };
  return portalPage(frame, "/settings", who, { up, ...page });
}

/** Asks once more before `page` does it; `back` is where "no" leads, and `before` stands above. */
export function askTwicePage(
  frame: PortalFrame,
  who: Who,
  asked: AskedTwice,
  page: string,
  fields: Record<string, string>,
  back: string,
  before = html``,
): Html {
  return portalPage(frame, "/settings", who, {
    title: asked.title,
    body: html`${before}${askTwiceBody(frame, asked, page, fields, back)}`,
  });
}

/** Said above a button that asks for a code first, and why; and once the code was given, that nothing was done yet. */
export function codeFirst(frame: PortalFrame, { signed_in_recently }: { signed_in_recently: boolean }): Html {
  const words = WORDS[frame.locale].settings;
  if (signed_in_recently) return newsOf(frame.waited() ? words.press_again : undefined);
  return html`<p class="panel way">${words.code_first}</p>`;
}

/** Rows that api.read_portal_log and api.read_portal_webhook count. */
const COUNTED = 10_000;

/** Where the reader is in such a list, and of how many pages, as far as they were counted. `more`: there are older ones. */
export const pagesOf = (at: number, size: number, total: number, more: boolean): { at: number; pages: number } => ({
  at,
  pages: Math.max(Math.ceil(total / size), at + Number(more)),
});

/** How many there are, as far as they were counted. */
export const countOf = (frame: PortalFrame, total: number): string =>
  total > COUNTED ? WORDS[frame.locale].settings.more_than(inNumbers(frame, COUNTED)) : inNumbers(frame, total);
